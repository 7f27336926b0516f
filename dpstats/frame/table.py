"""What a table in memory is: columns of numbers and codes, a slab of rows at a time.

Only names and types of columns are looked at when a table is opened; every reader of values is total,
so that no cell of a private row can raise. (`tables` opens one; what else a call may read from, is in
`source`.)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from dpstats.arguments import number, numbers
from dpstats.errors import SchemaError
from dpstats.frame.keys import BYTES, NUMBERS, TEXTS, TRUTHS

Array = npt.NDArray[np.float64]
Codes = npt.NDArray[np.intp]
Levels = tuple[Any, ...]
Kind = Literal["number", "bool", "category", "object", "missing", "datetime", "other"]

WORDS = {
    "number": "numbers",
    "bool": "True/False",
    "category": "categories",
    "object": "Python objects",
    "missing": "only missing values",
    "datetime": "dates or times",
    "other": "values of a type that has no place in a formula",
}
AS_READ = "text of a folder or file"
"""Label of a column that folders name, or of a text file: its kind is what the design reads there."""
_NUMBERS = (
    "turn it into numbers first, e.g. pd.to_numeric(column), after column.str.replace(',', '') where "
    "thousands are separated"
)
ADVICE = {
    "datetime": "turn it into a number first, e.g. (t - pd.Timestamp('2020-01-01')).dt.days, or into "
    "text for levels, t.astype(str)",
    "object": _NUMBERS,
    "category": _NUMBERS,
    "other": "turn it into numbers, booleans or strings first",
}


def advice_on_levels(levels: Sequence[Any]) -> str:
    """A sentence where all levels, which are public or released, are numbers written as text."""
    texts = bool(levels) and all(isinstance(level, str) for level in levels)
    if not texts or numbers(list(levels)) is None:
        return ""
    return f" Its levels are numbers written as text: {ADVICE['category']}."


class Opaque:
    """What is shown by its kind alone, because its fields hold rows."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


@dataclass(frozen=True)
class ColumnType:
    """The type of a column, from the schema of its table."""

    kind: Kind
    label: str  # the type as the table's library writes it
    values: Kind | None = field(default=None, repr=False)
    """For categories, the kind of the values that they stand for."""
    ordered: bool = field(default=False, repr=False)
    """Whether the type says that its levels have an order, as R's ordered() does."""


class Table(Protocol):
    """A table of n rows, readable by position as often as one likes."""

    @property
    def n(self) -> int: ...

    @property
    def names(self) -> tuple[str, ...]: ...

    @property
    def lists_names(self) -> bool:
        """Whether a message may list the names: not where they may be the cells of a first row."""

    def type_of(self, name: str) -> ColumnType: ...

    def declared_levels(self, name: str) -> Levels | None:
        """Levels that the type itself declares, in its order. For public tables only."""

    def observed_levels(self, name: str) -> Levels:
        """Sorted levels among the rows. For public tables only."""

    def numbers(self, name: str, start: int, stop: int) -> Array:
        """Rows start:stop as float64, NaN where missing; possibly a view: do not write to it."""

    def codes(self, name: str, levels: Levels, start: int, stop: int) -> Codes:
        """Rows start:stop as positions in ``levels``, -1 where missing or unknown."""

    def keys(self, name: str, start: int, stop: int) -> npt.NDArray[Any]:
        """Rows start:stop as names of persons, in bytes; None where a cell names nobody."""

    def texts(self, name: str, start: int, stop: int) -> npt.NDArray[Any]:
        """Rows start:stop as text, in bytes; None where a cell is none, as `codes` sees it."""

    def part(self, names: Sequence[str], start: int, stop: int) -> Table:
        """Rows start:stop of some columns, as a table that can be pickled without the others."""


def is_arrow(data: Any) -> bool:
    """Whether an object hands out Arrow data."""
    return not isinstance(data, type) and hasattr(data, "__arrow_c_stream__")


def slices(n: int, size: int) -> Iterator[tuple[int, int]]:
    """Consecutive (start, stop) that cover n rows."""
    for start in range(0, n, size):
        yield start, min(start + size, n)


def _finite(value: Any) -> bool:
    size = number(value)
    return size is not None and math.isfinite(size)


def check_levels(name: str, levels: Iterable[Any]) -> Levels:
    """Levels as plain Python values, all text, all numbers, or all True/False."""
    plain = tuple(v.item() if isinstance(v, np.generic) else v for v in levels)
    groups = {str if isinstance(v, str) else bool if isinstance(v, bool) else float for v in plain}
    known = all(isinstance(v, str | bool) or _finite(v) for v in plain)
    if len(groups) > 1 or not known or len(set(plain)) < len(plain):
        raise SchemaError(
            f"the levels of `{name}` must be distinct and all text, all numbers or all True/False; "
            f"use {name}.astype(str)."
        )
    return plain


def positions_of(values: Sequence[Any] | npt.NDArray[Any], levels: Levels) -> Codes:
    """Position of each value in ``levels``, -1 when it is none of them.

    Only values of the levels' own type are looked up: 1 is not True, and a cell that cannot be
    hashed or compared is simply unknown.
    """
    first = levels[0]
    if isinstance(first, str | bytes):
        known = TEXTS if isinstance(first, str) else BYTES
    else:
        known = TRUTHS if isinstance(first, bool) else NUMBERS
    get = {level: i for i, level in enumerate(levels)}.get
    found = (get(v, -1) if id(type(v)) in known else -1 for v in values)
    return np.fromiter(found, dtype=np.intp, count=len(values))


def number_codes(values: Array, levels: Levels) -> Codes:
    """Positions of numbers in levels that are numbers, in any order; -1 where one is none of them.

    Examples
    --------
    >>> number_codes(np.array([1.0, 3.0, np.nan, 2.0]), (3, 1, 2)).tolist()
    [1, 0, -1, 2]
    """
    known = np.array(levels, dtype=np.float64)
    order = np.argsort(known)
    place = order[np.minimum(np.searchsorted(known[order], values), len(known) - 1)]
    return np.where(known[place] == values, place, -1)


def bool_codes(values: Array) -> Codes:
    """Positions of numbers in (False, True), -1 where missing."""
    missing = np.isnan(values)
    return np.where(missing, -1, np.where(missing, 0.0, values) != 0).astype(np.intp)
