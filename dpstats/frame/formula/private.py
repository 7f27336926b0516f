"""Designs without public rows: kinds of columns are known from their types, levels are declared."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dpstats.arguments import mapping
from dpstats.errors import ArgumentError, SchemaError
from dpstats.frame.design import ColumnSpec, Design
from dpstats.frame.formula.learn import WEIGHTS, declare_design
from dpstats.frame.formula.reads import (
    categories_written,
    held_by,
    used_columns,
    with_levels_written,
)
from dpstats.frame.schema import (
    Declared,
    declared_spec,
    nearest,
    require_column,
    require_plain_levels,
)
from dpstats.frame.source import column_types
from dpstats.frame.table import ADVICE, AS_READ, Table, check_levels


def private_design(
    formula: str,
    data: Any,
    limits: Mapping[str, Any] | None = None,
    weights: str | None = None,
    offset: str | None = None,
    *,
    releases_levels: bool = True,
    numbers: bool = False,
) -> Design:
    """The design of a formula from the kinds of a table's columns, which are public, and limits.

    No value of a row is looked at: levels of categories are those of ``limits``. Whether the function
    can release others is what the advice depends on; ``numbers``: all columns must be numbers anyway.
    """
    table = column_types(data)
    limits = with_levels_written(mapping("limits", limits), formula, table.names, weights, offset)
    needed = used_columns(formula, table.names, weights, offset)
    written = categories_written(formula, table.names, weights, offset)
    _require_names(limits, [name for name in needed if name not in limits], table)
    if not numbers and not table.lists_names:
        _require_declared(
            [n for n in needed if n not in limits and n not in written], table, formula
        )
    kinds = {
        name: _private_kind(table, name, formula, limits.get(name), name in written)
        for name in needed
    }
    unknown = [name for name, kind in kinds.items() if kind is None]
    if unknown:
        raise SchemaError(_undeclared(unknown, table, releases_levels, written))
    schema: dict[str, Any] = dict(kinds)
    if WEIGHTS in limits:
        schema[WEIGHTS] = limits[WEIGHTS]
    ordered = frozenset(name for name in needed if table.type_of(name).ordered)
    design = declare_design(formula, schema, weights=weights, offset=offset, ordered=ordered)
    return boxed(design, schema)


def _require_names(limits: Mapping[str, Any], others: Sequence[str], table: Table) -> None:
    """Raise where limits misspell the name of a column that a formula uses."""
    for name in limits:
        meant = None if name in table.names else nearest(name, others)
        if meant is not None:
            raise ArgumentError(_no_such_limits(name, meant))


def _no_such_limits(name: str, meant: str | None) -> str:
    end = "." if meant is None else f"; did you mean {meant!r}?"
    return f"limits[{name!r}] has no effect here: no column has this name{end}"


def require_known_limits(names: Sequence[str], data: Any, used: Sequence[str]) -> None:
    """Raise for the first of these names of limits that is no column of a table.

    ``used``: the columns of the formula, of which one may be meant.
    """
    table = column_types(data)
    for name in names:
        if name not in table.names:
            known = table.names if table.lists_names else used
            raise ArgumentError(_no_such_limits(name, nearest(str(name), known)))


def require_readable_limits(limits: Mapping[str, Any]) -> None:
    """Raise unless every entry is one of a column, or in brackets, as the bound of weights is."""
    for name, value in limits.items():
        if not str(name).startswith("("):
            declared_spec(name, value)


def _require_declared(names: Sequence[str], table: Table, formula: str) -> None:
    """Raise where a text file has columns of which nobody has said what they hold."""
    for name in names:
        require_column(table, name, f"'{formula}'")
        table.type_of(name)  # raises where two columns have the name
    if names:
        kinds = ", ".join(f"'{name}': float" for name in names)
        raise SchemaError(
            "column types of a text file are not guessed from its cells: without public rows "
            f"declare them, limits={{{kinds}}} for numbers, a list of levels for categories, bool "
            "for True and False; or write factor(g) in the formula."
        )


def boxed(design: Design, schema: Mapping[str, Any]) -> Design:
    """A design by which private numbers are cut to declared limits.

    Those of weights are cut by their own bound, and levels are levels.
    """
    boxes = {}
    for name, spec in design.columns.items():
        one = declared_spec(name, schema[name]) if name in schema else None
        if one is not None and one.span is not None and spec.levels is None:
            boxes[name] = one.span
    boxes.pop(design.weights or "", None)
    return replace(design, boxes=boxes)


def _private_kind(table: Table, name: str, formula: str, limit: Any, written: bool) -> Any:
    """How a column of private rows is declared: by its type, or as the user says; None: not yet.

    One that folders name is a number, unless the formula takes it for a category (``written``): their
    texts are values of rows, and one of them would change what is guessed from all.
    """
    require_column(table, name, f"'{formula}'")
    if limit is not None:
        return _by_type(table, name, limit)
    kind = table.type_of(name).kind
    require_plain_levels(name, table.type_of(name))
    if table.type_of(name).label == AS_READ:
        kind = "category" if written else "number"
    if kind in ("number", "bool"):
        return float if kind == "number" else bool
    if kind in ("category", "object"):
        return None
    raise SchemaError(f"the column {held_by(table, name, kind, formula)}")


def _by_type(table: Table, name: str, limit: Any) -> Any:
    """Limits of a column whose type says what a list of numbers, or of True and False, cannot.

    Categories may be numbers; and of True and False no level is declared but that it is they.
    """
    if not isinstance(limit, list) or not table.lists_names:
        return limit
    type_, levels = table.type_of(name), check_levels(name, limit)
    if type_.kind == "category" and type_.label != AS_READ:
        return Declared(ColumnSpec("category", levels))
    if type_.kind == "bool" and all(isinstance(level, bool) for level in levels):
        if levels != (False, True):
            raise SchemaError(
                f"`{name}` holds True and False, of which False is the baseline: "
                f"limits={{'{name}': bool}}. For True write relevel(factor({name}), ref='True')."
            )
        return bool
    return limit


def _undeclared(
    names: Sequence[str], table: Table, releases_levels: bool, written: Collection[str]
) -> str:
    """What to type for columns of text, or of objects, whose levels nobody has declared.

    Those that the formula takes for categories (``written``) are not meant to be numbers.
    """
    kinds = {table.type_of(name).kind for name in names}
    held = "text or categories" if kinds == {"category"} else "text or Python objects"
    verb, whose = ("holds", "its") if len(names) == 1 else ("hold", "their")
    example = {"number": "[1, 2]", "bool": "[False, True]"}
    values = {name: table.type_of(name).values or "" for name in names}
    declared = ", ".join(f"{name!r}: {example.get(values[name], ['a', 'b'])}" for name in names)
    no_text = [f"{name}.astype(str)" for name in names if values[name] in example]
    as_text = f"; make it text for that, {', '.join(no_text)}" if no_text else ""
    truths = "; of True and False: column.astype('boolean')" if "object" in kinds else ""
    as_numbers = (
        " Where a column should be numbers, make it so first: "
        f"{ADVICE['object'].partition('e.g. ')[2]}{truths}."
    )
    return (
        f"{', '.join(f'`{name}`' for name in names)} {verb} {held}. Without public rows, {whose} levels "
        f"must be declared, without looking at the private rows, limits={{{declared}}}"
        + (
            "; or state the privacy as epsilon=1, delta=1e-6: text levels that many rows have are "
            f"then released{as_text}."
            if releases_levels
            else "."
        )
        + ("" if {*names} <= {*written} else as_numbers)
    )
