"""Checks of a table's columns against a design, by names and types alone."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np

from dpstats.arguments import LARGEST, SMALLEST, computable, number
from dpstats.errors import SchemaError
from dpstats.frame.design import ROLES, ColumnSpec, Design
from dpstats.frame.table import ADVICE, AS_READ, WORDS, ColumnType, Kind, Table, check_levels

_ACCEPTED: Mapping[str, tuple[str, ...]] = {
    "number": ("number", "missing"),
    "bool": ("bool", "object", "missing"),
    "category": ("category", "object", "missing"),
}


@dataclass(frozen=True)
class Declared:
    """A column as the user declares it; ``span`` is None when its range is unknown."""

    spec: ColumnSpec
    span: tuple[float, float] | None = None


def declared_spec(name: str, value: Any) -> Declared:
    """Read one entry of a schema, unless it is read.

    Examples
    --------
    >>> declared_spec("age", (18, 99)).span
    (18.0, 99.0)
    """
    if isinstance(value, Declared):
        return value
    if value is bool:
        return Declared(ColumnSpec("bool", (False, True)))
    if value is float or value is int:
        return Declared(ColumnSpec("number"))
    if isinstance(value, tuple) and len(value) == 2 and all(_is_number(v) for v in value):
        low, high = (number(v) for v in value)
        if low is None or high is None or not -math.inf < low < high < math.inf:
            raise SchemaError(f"'{name}': (low, high) must be two finite numbers, low < high.")
        if computable(max(abs(low), abs(high))) is None:
            raise SchemaError(
                f"'{name}': limits must be numbers of {SMALLEST:g} to {LARGEST:g} in size, or 0; use "
                "another unit."
            )
        return Declared(ColumnSpec("number", mark=(low, high) == (0, 1)), (low, high))
    if isinstance(value, list) and value:
        levels = check_levels(name, value)
        if all(_is_number(level) for level in levels):
            if len(levels) == 1:
                raise SchemaError(
                    f"'{name}': one number is no range, which is (low, high), nor two or more levels."
                )
            span = float(min(levels)), float(max(levels))
            return Declared(ColumnSpec("number", levels, declared=True), span)
        return Declared(ColumnSpec("category", levels, declared=True))
    raise SchemaError(
        f"'{name}' must be declared as (low, high) or float for a number, as a list of levels for "
        f"a category, or as bool{_meant(value)}."
    )


def _meant(value: Any) -> str:
    """What to write for levels that are no list."""
    if isinstance(value, set | frozenset | dict):
        return f"; a {type(value).__name__} has no first level: write the levels in square brackets"
    if value is str or isinstance(value, tuple | np.ndarray):
        return "; write the levels in square brackets, as in ['a', 'b']"
    return ""


def check_table(design: Design, table: Table, roles: Collection[str] = ROLES) -> None:
    """Raise unless the table has every column that is read, each of a kind that fits."""
    for name in design.columns_for(roles):
        require_column(table, name, "weights=" if name == design.weights else f"'{design.formula}'")
        type_ = table.type_of(name)
        needed = design.columns[name].kind
        accepted = _ACCEPTED[needed]
        if needed == "number" and name not in design.entering:
            # True and False are 1 and 0 in a response, an offset or a weight
            accepted += ("bool",)
        if needed == "category" and design.columns[name].numbered:
            accepted += ("number",)
        if needed == type_.kind == "category" and type_.label != AS_READ:
            require_plain_levels(name, type_)
            _require_same_values(name, design.columns[name], type_.values)
        if type_.kind not in accepted:
            advice = ADVICE.get(type_.kind, "") if needed == "number" else ""
            if type_.kind == "bool" and needed == "number":
                advice = f"turn it into 0 and 1 first, {name}.astype(int)"
            if type_.kind == "number":
                advice = (
                    f"give the public column as numbers, or this one as text, {name}.astype(str)"
                )
                if needed == "bool":
                    advice = f"turn it into booleans first, e.g. {name} == 1"
            raise SchemaError(
                f"column `{name}` holds {WORDS[type_.kind]} ({type_.label}), but public "
                f"rows or limits declare {WORDS[needed]}" + (f"; {advice}." if advice else ".")
            )


def require_plain_levels(name: str, type_: ColumnType) -> None:
    """Raise for a category of intervals, dates and their like: none of its levels can be declared."""
    if type_.kind == "category" and type_.values in ("datetime", "other"):
        raise SchemaError(
            f"`{name}` is a category of values that are neither text nor numbers: make it text in all "
            f"tables, {name}.astype(str)."
        )


def _require_same_values(name: str, spec: ColumnSpec, values: Kind | None) -> None:
    """Raise where a category stands for numbers and its known levels are text, or the other way."""
    text = all(isinstance(level, str) for level in spec.levels or ())
    if values == "bool" and not all(isinstance(level, bool) for level in spec.levels or ()):
        raise SchemaError(
            f"`{name}` is a category of True and False, but public rows or limits declare other levels: "
            f"declare limits={{'{name}': [False, True]}}, or make both text, {name}.astype(str)."
        )
    if (values == "number" and text) or (values == "category" and spec.numbered):
        own, known, like = ("numbers", "text", [1, 2]) if text else ("text", "numbers", ["1", "2"])
        raise SchemaError(
            f"`{name}` is a category of {own}, but public rows or limits declare {known} as levels: "
            f"declare {own}, limits={{'{name}': {like}}}, or make both text, {name}.astype(str)."
        )


_CONSTANTS = {
    "T": "write TRUE",
    "F": "write FALSE",
    "pi": "write the number, 3.14159265",
    "NA": "a formula makes no missing values: make the column in both tables beforehand",
}
"""Constants of R that formulas do not know beside columns, which may have such names."""


def nearest(name: str, names: Sequence[str]) -> str | None:
    """The name that was probably meant."""
    same = [n for n in names if n.lower() == name.lower()]
    return next(iter(same or get_close_matches(name, names, 1)), None)


def require_column(table: Table, name: str, why: str) -> None:
    """Raise unless the table has the column."""
    if name not in table.names and not table.lists_names:
        raise SchemaError(
            f"the first line of the file does not name a column `{name}`, which {why} needs: it must "
            "hold the names of the columns, separated by commas. Of other files: "
            "data=pd.read_csv(path, sep=';')."
        )
    if name not in table.names:
        near = nearest(name, table.names)
        constant = "" if near or name not in _CONSTANTS else f"; {_CONSTANTS[name]}"
        odd = [n for n in table.names if name in n and n in why and not n.isidentifier()]
        if odd and odd[0] == odd[0].strip():
            near, constant = None, f"; write the column '{odd[0]}' between backticks, `{odd[0]}`"
        has = ", ".join(table.names[:20]) + (", ..." if len(table.names) > 20 else "")
        raise SchemaError(
            f"the table has no column `{name}`, which {why} needs"
            + (f"; did you mean `{near}`?" if near else f"{constant}.")
            + f" Its columns are: {has}."
        )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
