"""Design from public rows or a schema: types and levels of columns, and states of transforms."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dpstats.arguments import computable, mapping
from dpstats.errors import ArgumentError, FormulaError, PublicDataError, SchemaError
from dpstats.frame.design import BoundFactor, ColumnSpec, Design
from dpstats.frame.formula import engine
from dpstats.frame.formula.bind import bind, response_of
from dpstats.frame.formula.evaluate import State, learn_states, resolve
from dpstats.frame.formula.grammar import Expr, Factor, parse_factor
from dpstats.frame.formula.parse import Parsed, formula_text, parse, split_sides
from dpstats.frame.formula.r_spelling import in_python
from dpstats.frame.schema import Declared, declared_spec, nearest, require_column
from dpstats.frame.source import column_types, public_table
from dpstats.frame.table import ADVICE, AS_READ, WORDS, Array, Levels, Table, check_levels

Mask = npt.NDArray[np.bool_]

WEIGHTS = "(weights)"
_CALCULATED = frozenset("()*/+^")  # in what is no column, signs of an expression
# a prime, so that i -> i * k mod 101 visits every grid point: no two columns move together
_GRID = 101


def learn_design(
    formula: str,
    public: Any,
    *,
    weights: str | None = None,
    offset: str | None = None,
    limits: Mapping[str, Any] | None = None,
) -> Design:
    """The design of a formula, with kinds, levels and the state of transforms from public rows.

    Parameters
    ----------
    formula : str
        ``"y ~ x1 + x2"`` or, without a response, ``"~ x1 + x2"``.
    public : table
        pandas, polars or pyarrow.
    weights, offset : str, optional
        Names of columns.
    limits : dict, optional
        ``{"(weights)": (0, upper)}`` bounds the weights; a list of levels for a category
        replaces the public ones.

    Examples
    --------
    >>> import pandas as pd
    >>> public = pd.DataFrame({"y": [1.0, 2.0, 4.0], "g": ["a", "b", "b"]})
    >>> learn_design("y ~ g", public).terms
    ('Intercept', 'g[T.b]')
    """
    limits = mapping("limits", limits)
    table = public_table(public)
    parsed, offsets = _parse(formula, table.names, weights, offset)
    factors = _all_factors(parsed, offsets)
    needed = dict.fromkeys(name for factor in factors for name in factor.columns)
    optional = _optional_columns(parsed, offsets, weights)
    if weights is not None:
        needed[weights] = None
    columns: dict[str, ColumnSpec] = {}
    raw: dict[str, Array] = {}
    for name in needed:
        if name in optional and name not in table.names:
            columns[name] = ColumnSpec("number")
            continue
        require_column(table, name, f"'{formula}'")
        columns[name] = _public_spec(table, name, limits.get(name), formula)
        raw[name] = _read(table, name, columns[name])
    clean = _clean(raw, columns, table.n)
    coded = {name for f in factors if f.op == "C" for name in f.columns}
    for name in raw:
        columns[name] = _with_used_levels(
            table, name, columns[name], raw[name][clean], coded, limits
        )
    rows = {name: _read(table, name, columns[name])[clean] for name in raw}
    states = _states(factors, columns, rows, frozenset(set(columns) - set(rows)))
    unbound = weights not in table.names and _limit_of_weights(weights, limits) is None
    if weights is not None and unbound:
        near = nearest(weights, table.names)
        if near:
            raise SchemaError(
                f"the public rows have no column `{weights}` for weights=; did you mean `{near}`?"
            )
    bound = _weight_bound(weights, rows, limits)
    return _build(parsed, columns, states, weights=weights, weight_bound=bound, offsets=offsets)


def formula_columns(formula: str) -> dict[str, bool]:
    """The columns that a formula reads, and whether it takes a logarithm or a root of them.

    Examples
    --------
    >>> formula_columns("y ~ x + log(z)")
    {'y': False, 'x': False, 'z': True}
    """
    parsed, offsets = _parse(formula, (), None, None)
    factors = sorted(_all_factors(parsed, offsets), key=lambda f: formula.find(f.columns[0]))
    nodes = [node for factor in factors for node in factor.walk()]
    logged = {
        name
        for node in nodes
        if node.op in ("log", "log2", "log10", "sqrt")
        for name in node.columns
    }
    return {node.value: node.value in logged for node in nodes if node.op == "column"}


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
    limits = _with_levels_written(mapping("limits", limits), formula, table.names, weights, offset)
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


def used_columns(
    formula: str, names: Sequence[str], weights: str | None, offset: str | None
) -> tuple[str, ...]:
    """The columns that a formula, its weights and its offset read, of a table with these names."""
    parsed, offsets = _parse(formula, names, weights, offset)
    needed = dict.fromkeys(n for f in _all_factors(parsed, offsets) for n in f.columns)
    return tuple(needed | ({} if weights is None else {weights: None}))


def categories_written(
    formula: str, names: Sequence[str], weights: str | None, offset: str | None
) -> frozenset[str]:
    """The columns that a formula itself takes for categories: factor(g), g == 'a'."""
    parsed, offsets = _parse(formula, names, weights, offset)
    nodes = (node for factor in _all_factors(parsed, offsets) for node in factor.walk())
    return frozenset(arg.value for n in nodes if n.op in ("C", "is", "is not") for arg in n.args)


def levels_written(
    formula: str, names: Sequence[str], weights: str | None, offset: str | None
) -> dict[str, list[Any]]:
    """The levels that a formula itself declares, factor(g, levels=c('a', 'b')), by column."""
    parsed, offsets = _parse(formula, names, weights, offset)
    out: dict[str, list[Any]] = {}
    for factor in _all_factors(parsed, offsets):
        levels = factor.value.get("levels") if factor.op == "C" and factor.value else None
        if isinstance(levels, list) and len(factor.columns) == 1:
            own = out.setdefault(factor.columns[0], [])
            own += [level for level in levels if level not in own]
    return out


def _with_levels_written(
    limits: Mapping[str, Any],
    formula: str,
    names: Sequence[str],
    weights: str | None,
    offset: str | None,
) -> dict[str, Any]:
    """Limits with the levels that a formula declares: lists of others come first, ranges do not."""
    out = dict(limits)
    for name, levels in levels_written(formula, names, weights, offset).items():
        if not isinstance(out.get(name), list):
            out[name] = levels
    return out


def boxed(design: Design, schema: Mapping[str, Any]) -> Design:
    """The same design, by which private numbers are cut to declared limits.

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
        return limit
    kind = table.type_of(name).kind
    if table.type_of(name).label == AS_READ:
        kind = "category" if written else "number"
    if kind in ("number", "bool"):
        return float if kind == "number" else bool
    if kind in ("category", "object"):
        return None
    raise SchemaError(f"the column {_held(table, name, kind, formula)}")


def _held(table: Table, name: str, kind: str, formula: str) -> str:
    """What a column holds that no formula can use, and what to type instead."""
    advice = [ADVICE[kind]] if kind in ADVICE else []
    dot = any(text == "." for text, _, _ in engine.tokens(in_python(formula)))
    if dot and name not in formula:
        advice.append(f"or leave it out: '. - {Factor(name, 'column').code}' in place of '.'")
    return "; ".join([f"`{name}` holds {WORDS[kind]} ({table.type_of(name).label})", *advice]) + "."


def _undeclared(
    names: Sequence[str], table: Table, releases_levels: bool, written: Collection[str]
) -> str:
    """What to type for columns of text, or of objects, whose levels nobody has declared.

    Those that the formula takes for categories (``written``) are not meant to be numbers.
    """
    kinds = {table.type_of(name).kind for name in names}
    held = "text or categories" if kinds == {"category"} else "text or Python objects"
    verb, whose = ("holds", "its") if len(names) == 1 else ("hold", "their")
    declared = ", ".join(f"{name!r}: ['a', 'b']" for name in names)
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
            "then released."
            if releases_levels
            else "."
        )
        + ("" if {*names} <= {*written} else as_numbers)
    )


def declare_design(
    formula: str,
    schema: Mapping[str, Any],
    *,
    weights: str | None = None,
    offset: str | None = None,
    ordered: Collection[str] = (),
) -> Design:
    """The design of a declared schema; no row is needed.

    Parameters
    ----------
    schema : dict
        Column to ``(low, high)`` or ``float`` for a number, a list of levels for a category,
        ``bool``; ``"(weights)": (0, upper)`` for weights. Transforms learn their state on an
        equally spaced grid over the declared ranges.
    ordered : collection of str
        Columns whose type says that their levels have an order: coded as by R's ordered().

    Examples
    --------
    >>> schema = {"y": float, "x": (0, 10), "g": ["a", "b"]}
    >>> declare_design("y ~ center(x) + g", schema).terms
    ('Intercept', 'center(x)', 'g[T.b]')
    """
    schema = mapping("the schema", schema)
    named = tuple(name for name in schema if name != WEIGHTS)
    schema = _with_levels_written(schema, formula, named, weights, offset)
    declared = {
        name: declared_spec(name, value) for name, value in schema.items() if name != WEIGHTS
    }
    parsed, offsets = _parse(formula, tuple(declared), weights, offset)
    factors = _all_factors(parsed, offsets)
    for factor in factors:
        for name in factor.columns:
            if name not in declared:
                near = nearest(name, tuple(declared))
                meant = "" if near is None else f"did you mean `{near}`? Else "
                raise SchemaError(
                    f"nothing is declared of `{name}`, which '{formula}' needs; {meant}add "
                    f"'{name}': (low, high) for a number (float if its range is unknown), a list "
                    "of levels for a category, or bool."
                )
    if weights is not None:
        declared.setdefault(weights, Declared(ColumnSpec("number")))
    columns = {
        name: replace(one.spec, ordered=name in ordered and one.spec.kind == "category")
        for name, one in declared.items()
    }
    for factor in factors:
        for name in factor.columns if factor.op == "C" else ():
            if columns[name].levels is None:
                raise SchemaError(
                    f"`{factor.text or name}` needs the levels of `{name}`: declare them as a list, "
                    f"limits={{'{name}': [1, 2, 3]}}."
                )
    used = {name for factor in factors for name in factor.columns} | {weights}
    columns = {name: spec for name, spec in columns.items() if name in used}
    grid = _grid({name: declared[name] for name in columns})
    unknown = frozenset(set(columns) - set(grid))
    states = _states(factors, columns, grid, unknown)
    bound = _weight_bound(weights, {}, schema)
    return _build(parsed, columns, states, weights=weights, weight_bound=bound, offsets=offsets)


def _build(
    parsed: Parsed,
    columns: Mapping[str, ColumnSpec],
    states: Mapping[str, State],
    *,
    weights: str | None,
    weight_bound: float | None,
    offsets: tuple[str, ...],
) -> Design:
    """Put a design together from its parsed formula and what was learnt of its columns."""
    levels = {name: spec.code_levels for name, spec in columns.items()}
    for name in (weights, *(n for text in offsets for n in parse_factor(text).columns)):
        if name is not None and columns[name].kind == "category":
            raise SchemaError(f"`{name}` is a category; weights and offsets are numbers.")
    factors: dict[str, BoundFactor] = {}
    for term in parsed.terms:
        for factor in term:
            if factor.kind != "literal" and factor.text not in factors:
                factors[factor.text] = bind(factor, columns, states)
    fields = {text: factor.fields for text, factor in factors.items()}
    program = engine.structure(parsed.terms, fields)
    response = None if parsed.response is None else parsed.response.code
    own = tuple(text for text in offsets if text.startswith("offset("))
    formula = formula_text(response, parsed.terms, own)
    if not program:
        raise FormulaError(f"'{formula}' has no column on its right-hand side: write '~ x1 + x2'.")
    return Design(
        formula=formula,
        terms=tuple(column.name for column in program),
        weights=weights,
        weight_bound=weight_bound,
        offsets=offsets,
        columns=columns,
        rhs=parsed.terms,
        factors=factors,
        program=program,
        states=states,
        offset_factors=tuple(resolve(parse_factor(text), levels) for text in offsets),
        **response_of(parsed.response, columns),
    )


def check_written(formula: str, weights: str | None, offset: str | None) -> None:
    """Raise unless they are text that reads as a formula, and names; no table is needed for that."""
    split_sides(formula)
    for role, name in (("weights", weights), ("offset", offset)):
        if name is not None and not isinstance(name, str):
            raise SchemaError(f"{role}= takes the name of a column, not {type(name).__name__}.")


def _parse(
    formula: str, names: Sequence[str], weights: str | None, offset: str | None
) -> tuple[Parsed, tuple[str, ...]]:
    check_written(formula, weights, offset)
    hidden = [name for name in (weights, offset) if name is not None]
    for role, name in (("weights", weights), ("offset", offset)):
        if name is not None and name not in names and not _CALCULATED.isdisjoint(name):
            raise SchemaError(_calculated(formula, role, name))
    parsed = parse(formula, names, hidden)
    response = parsed.response
    if response is not None and any(response.text == f.text for t in parsed.terms for f in t):
        raise FormulaError(
            f"`{response.text}` is the response of '{formula}' and also on its right-hand side: "
            "leave it out there."
        )
    given = () if offset is None else (f"`{offset}`",)
    return parsed, (*parsed.offsets, *given)


def _calculated(formula: str, role: str, text: str) -> str:
    """What to type where an argument is an expression, and not the name of a column."""
    if role == "offset":
        term = re.sub(r"\b(np|numpy)\.", "", text)
        return f"offset= takes the name of a column; write '{formula} + offset({term})' instead."
    return f"weights= takes the name of a column: make one that holds {text}, in both tables."


def _factors(parsed: Parsed) -> list[Expr]:
    written: dict[Factor, None] = dict.fromkeys(
        factor for term in parsed.terms for factor in term if factor.kind != "literal"
    )
    return [factor.parse() for factor in written]


def _all_factors(parsed: Parsed, offsets: Iterable[str]) -> list[Expr]:
    """Those of the right-hand side, the response and the offsets."""
    response = [] if parsed.response is None else [parsed.response.parse()]
    return [*_factors(parsed), *response, *map(parse_factor, offsets)]


def _optional_columns(
    parsed: Parsed, offsets: Iterable[str], weights: str | None
) -> frozenset[str]:
    """Columns that a public table may lack: weights, and offsets when it has no response."""
    names = {weights} if weights is not None else set()
    if parsed.response is None:
        names |= {name for text in offsets for name in parse_factor(text).columns}
    return frozenset(names - {name for factor in _factors(parsed) for name in factor.columns})


def _public_spec(table: Table, name: str, limit: Any, formula: str) -> ColumnSpec:
    type_ = table.type_of(name)
    kind = type_.kind
    if kind == "number":
        if isinstance(limit, list) and declared_spec(name, limit).spec.kind != "number":
            raise SchemaError(
                f"`{name}` holds numbers, and so must its levels: limits={{'{name}': [1, 2, 3]}}."
            )
        return ColumnSpec("number")
    if kind == "bool":
        return ColumnSpec("bool", (False, True))
    if kind in ("category", "object"):
        declared = table.declared_levels(name)
        if isinstance(limit, list):
            levels = check_levels(name, limit)
        else:
            levels = table.observed_levels(name) if declared is None else declared
        if kind == "object" and levels and set(levels) <= {False, True}:
            return ColumnSpec("bool", (False, True))
        if levels:
            return ColumnSpec("category", levels, type_.ordered)
        kind = "missing"
    raise SchemaError(f"the public column {_held(table, name, kind, formula)}")


def _read(table: Table, name: str, spec: ColumnSpec) -> Array:
    """All of a public column as numbers; a category as positions of levels, NaN where missing."""
    if spec.kind == "number":
        return np.ascontiguousarray(table.numbers(name, 0, table.n))
    assert spec.levels is not None
    codes = table.codes(name, spec.levels, 0, table.n)
    return np.where(codes < 0, np.nan, codes.astype(np.float64))


def _clean(raw: Mapping[str, Array], columns: Mapping[str, ColumnSpec], n: int) -> Mask:
    clean = np.ones(n, dtype=np.bool_)
    for values in raw.values():
        clean &= np.isfinite(values)
    if not clean.any():
        raise PublicDataError(
            f"none of the {n} public rows has a usable value in every one of: {', '.join(columns)}."
            + _without_values(raw, columns)
        )
    return clean


def _without_values(raw: Mapping[str, Array], columns: Mapping[str, ColumnSpec]) -> str:
    """Sentences on columns of which no public value can be used."""
    said = ""
    for name, values in raw.items():
        if not np.isfinite(values).any():
            levels = columns[name].levels or ()
            of = f" of its levels {', '.join(map(str, levels))} (case and blanks count)"
            said += f" `{name}` has none{of if levels else ''}."
    return said


def _with_used_levels(
    table: Table,
    name: str,
    spec: ColumnSpec,
    values: Array,
    coded: Collection[str],
    limits: Mapping[str, Any],
) -> ColumnSpec:
    """Levels that count: the declared ones, or those of the usable public rows.

    ``coded`` are the columns in calls of C(), whose numbers are levels.
    """
    limit = limits.get(name)
    if spec.kind == "number":
        if name not in coded:
            return spec
        numbers = np.unique(values) if not isinstance(limit, list) else np.array(sorted(limit))
        integer = "int" in table.type_of(name).label.lower()
        plain = tuple(int(v) if integer else float(v) for v in numbers)
        return ColumnSpec("number", check_levels(name, plain))
    if spec.kind == "bool" or isinstance(limit, list) or table.declared_levels(name) is not None:
        return spec
    assert spec.levels is not None
    kept = set(np.unique(values).astype(int).tolist())
    levels: Levels = tuple(level for i, level in enumerate(spec.levels) if i in kept)
    return replace(spec, levels=levels)


def _states(
    factors: Iterable[Expr],
    columns: Mapping[str, ColumnSpec],
    rows: Mapping[str, Array],
    unknown: frozenset[str],
) -> dict[str, State]:
    levels = {name: spec.code_levels for name, spec in columns.items()}
    states: dict[str, State] = {}
    for factor in factors:
        learn_states(resolve(factor, levels), rows, states, unknown)
    return states


def _limit_of_weights(weights: str | None, limits: Mapping[str, Any]) -> Any:
    """What limits say of weights: under their own key, or as the range of their column."""
    if WEIGHTS in limits:
        return limits[WEIGHTS]
    own = limits.get(weights or "")
    return own if isinstance(own, tuple) else None


def _weight_bound(
    weights: str | None, rows: Mapping[str, Array], limits: Mapping[str, Any]
) -> float | None:
    if weights is None:
        return None
    if weights in rows and float(rows[weights].min()) < 0:
        raise PublicDataError(
            f"the public weights in `{weights}` include negative ones: weights are 0 or more."
        )
    limit = _limit_of_weights(weights, limits)
    if limit is not None:
        upper = limit[1] if isinstance(limit, tuple) and len(limit) == 2 else limit
        bound = computable(upper)
        if bound is not None:
            return bound
        raise SchemaError("'(weights)' must be declared as (0, upper) with a finite upper > 0.")
    if weights in rows and float(rows[weights].max()) > 0:
        return float(rows[weights].max())
    raise PublicDataError(
        f"the weights `{weights}` need an upper bound: either the public rows have the column "
        "(their largest weight is then the bound), or declare it, e.g. "
        "limits={'(weights)': (0, 10)}."
    )


def _grid(declared: Mapping[str, Declared]) -> dict[str, Array]:
    """Rows that stand for a schema: each range in equal steps, the levels in turn."""
    grid: dict[str, Array] = {}
    for k, (name, one) in enumerate(declared.items(), start=1):
        index = np.arange(_GRID) * (k % _GRID or 1) % _GRID
        if one.span is not None:
            grid[name] = np.linspace(*one.span, _GRID)[index]
        elif one.spec.kind != "number" and one.spec.levels is not None:
            grid[name] = (index % len(one.spec.levels)).astype(np.float64)
    return grid
