"""A search for two neighbouring data sets between which a release differs most."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dpstats.arguments import as_int, items, shown
from dpstats.arrays import Floats
from dpstats.audit.attack import distance
from dpstats.audit.runs import Columns, Run, draw, shown_once
from dpstats.audit.same import same_data
from dpstats.budget.charge import require_no_budget
from dpstats.errors import ArgumentError

_HUGE = 1e6  # ranges of a column
_ROWS = 3
_COPIES = 24
_FINALISTS = 5
_MOST_CANDIDATES = 10_000
_NEW_LEVEL = "a level of no other row"


@dataclass(frozen=True)
class _Extent:
    """Where the numbers of one column lie."""

    low: float
    middle: float
    high: float

    @classmethod
    def of(cls, column: Floats) -> _Extent:
        finite = column[np.isfinite(column)]
        if not finite.size:
            return cls(0.0, 0.0, 0.0)
        return cls(float(finite.min()), float(np.median(finite)), float(finite.max()))

    @property
    def far(self) -> float:
        width = self.high - self.low
        return _HUGE * min(width or max(abs(self.high), 1.0), 1e300)


class _Table:
    """Rows of a DataFrame or of an array, one of which can be replaced; kinds of columns stay."""

    def __init__(self, data: Any) -> None:
        self.frame = isinstance(data, pd.DataFrame)
        if not self.frame and not (
            isinstance(data, np.ndarray) and data.ndim in (1, 2) and data.dtype.kind in "fiu"
        ):
            raise ArgumentError("data must be a DataFrame, or an array of numbers with rows.")
        self.flat = not self.frame and data.ndim == 1
        self.data = data
        self.wide: Any = data[:, None] if self.flat else data
        if not len(data) or not self.wide.shape[1]:
            raise ArgumentError("data must have a row and a column.")
        self.columns = [
            data.iloc[:, j] if self.frame else pd.Series(self.wide[:, j])
            for j in range(self.wide.shape[1])
        ]

    def numeric(self, j: int) -> bool:
        kind = self.columns[j].dtype
        return pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_bool_dtype(kind)

    def numbers(self, j: int) -> Floats:
        return self.columns[j].to_numpy(dtype=float, na_value=math.nan)

    def row(self, i: int) -> list[Any]:
        return [column.iloc[i] for column in self.columns]

    def replaced(self, i: int, row: list[Any]) -> Any:
        """The data with another row in this place; NaN where an integer would be missing stays out."""
        if self.frame:
            columns = []
            for j, column in enumerate(self.columns):
                values = column.array.copy()
                values[i] = self._fitting(j, row[j], i)
                columns.append(pd.Series(values, index=column.index, name=column.name))
            out = pd.concat(columns, axis=1)
            out.columns = self.data.columns
            return out
        array = self.wide.copy()
        array[i] = [self._fitting(j, value, i) for j, value in enumerate(row)]
        return array[:, 0] if self.flat else array

    def changed(self, other: Any, i: int) -> bool:
        """Whether a row of other data is not what it is here."""
        if self.frame:
            return not same_data(self.data.iloc[[i]], other.iloc[[i]])
        return not same_data(self.data[[i]], other[[i]])

    def _fitting(self, j: int, value: Any, i: int) -> Any:
        """A value that a column can hold."""
        column = self.columns[j]
        if not pd.api.types.is_integer_dtype(column.dtype):
            return value
        if pd.isna(value):
            return pd.NA if pd.api.types.is_extension_array_dtype(column.dtype) else column.iloc[i]
        kind = getattr(column.dtype, "numpy_dtype", column.dtype)
        limits = np.iinfo(kind)
        return int(min(max(int(value), int(limits.min)), int(limits.max)))


def _levels(column: pd.Series[Any]) -> tuple[Any, Any]:
    """The rarest and the most frequent level."""
    counts = column.value_counts()
    counts = counts[counts > 0]
    if not len(counts):
        return None, None
    return counts.index[-1], counts.index[0]


def _new_level(column: pd.Series[Any], own: Any) -> Any:
    """A level of no other row, where the column can hold one; categories are public and stay."""
    kind = column.dtype
    return (
        _NEW_LEVEL
        if pd.api.types.is_object_dtype(kind) or isinstance(kind, pd.StringDtype)
        else own
    )


def _missing(column: pd.Series[Any], own: Any) -> Any:
    kind = column.dtype
    if pd.api.types.is_bool_dtype(kind) and not pd.api.types.is_extension_array_dtype(kind):
        return own
    return kind.na_value if hasattr(kind, "na_value") else math.nan


def _odd_rows(table: _Table, i: int) -> Iterator[tuple[str, list[Any]]]:
    """Rows to put in the place of row i."""
    own = table.row(i)
    size = range(len(own))
    numeric = [table.numeric(j) for j in size]
    extents = {j: _Extent.of(table.numbers(j)) for j in size if numeric[j]}
    levels = [None if numeric[j] else _levels(table.columns[j]) for j in size]
    new = [own[j] if numeric[j] else _new_level(table.columns[j], own[j]) for j in size]
    rarest = [own[j] if pair is None else pair[0] for j, pair in enumerate(levels)]
    usual = [own[j] if pair is None else pair[1] for j, pair in enumerate(levels)]

    def with_numbers(value: Callable[[int, _Extent], Any], others: list[Any]) -> list[Any]:
        return [value(j, extents[j]) if numeric[j] else others[j] for j in size]

    def opposite(j: int, at: _Extent) -> Any:
        value = float(table.numbers(j)[i])
        return 2 * at.middle - value if math.isfinite(value) else at.high

    if extents:
        yield "the opposite row", with_numbers(opposite, own)
        yield "all huge", with_numbers(lambda j, at: at.middle + at.far, own)
        yield "all huge and negative", with_numbers(lambda j, at: at.middle - at.far, own)
        if len(extents) > 1:
            sign = {j: (-1) ** k for k, j in enumerate(extents)}
            for turn in (1, -1):
                row = with_numbers(lambda j, at, t=turn: at.middle + t * sign[j] * at.far, own)  # type: ignore[misc]
                yield "huge in alternating signs", row
        yield "all smallest", with_numbers(lambda j, at: at.low, rarest)
        yield "all largest", with_numbers(lambda j, at: at.high, usual)
        yield "zeros", with_numbers(lambda j, at: 0.0, own)
    if not all(numeric):
        yield "a new level", new
        yield "the rarest level", rarest
        yield "the most frequent level", usual
    yield (
        "a missing row",
        [math.nan if numeric[j] else _missing(table.columns[j], own[j]) for j in size],
    )


def _spread(ordered: list[int]) -> list[int]:
    """Some of all rows, inner ones and extreme ones."""
    return [ordered[k] for k in np.unique(np.linspace(0, len(ordered) - 1, _COPIES).astype(int))]


def _copies(table: _Table, ordered: list[int]) -> Iterator[tuple[str, list[Any]]]:
    """Rows that the data have already, and the values that occur most often."""
    yield "the most frequent values", [_levels(column)[1] for column in table.columns]
    for k in _spread(ordered[::-1]):
        yield f"a copy of row {k}", table.row(k)


def _inner_rows(table: _Table, ordered: list[int]) -> Iterator[tuple[str, int, list[Any]]]:
    """Rows that go, one by one; what comes in their place lies near."""
    after = dict(zip(ordered, [*ordered[1:], ordered[0]], strict=True))
    for i in _spread(ordered):
        yield f"a copy of row {after[i]}", i, table.row(after[i])


def _by_extremeness(table: _Table) -> list[int]:
    """All rows: first those that are farthest from the middle, or of the rarest levels."""
    away = np.zeros(len(table.data))
    for j, column in enumerate(table.columns):
        if table.numeric(j):
            values = table.numbers(j)
            finite = np.isfinite(values)
            at = _Extent.of(values)
            scale = float(np.median(np.abs(values[finite] - at.middle))) if finite.any() else 0.0
            scale = scale or (at.high - at.low) or 1.0
            with np.errstate(all="ignore"):
                away += np.where(finite, np.minimum(np.abs(values - at.middle) / scale, 1e6), 0.0)
        else:
            share = column.map(column.value_counts(normalize=True)).astype(float)
            away += -np.log(share.fillna(1.0).to_numpy())
    return [int(i) for i in np.argsort(-away, kind="stable")]


def _positions(rows: Any, n: int) -> list[int]:
    positions = [as_int(i, -n) for i in items(rows, n) or []]
    inside = [i for i in positions if i is not None and i < n]
    if not inside or len(inside) < len(positions):
        raise ArgumentError(f"rows must be a list of positions of rows of data, which has {n}.")
    return inside


def _given_rows(table: _Table, candidates: Any) -> list[tuple[str, list[Any]]]:
    """Rows of the user's own."""
    width = len(table.columns)
    if isinstance(candidates, pd.DataFrame):
        if table.frame and set(table.data.columns) <= set(candidates.columns):
            candidates = candidates[list(table.data.columns)]
        rows = [list(row) for row in candidates.itertuples(index=False, name=None)]
    else:
        rows = []
        given = items(candidates, _MOST_CANDIDATES)
        if given is None:
            raise ArgumentError(
                f"candidates must be a list of up to {_MOST_CANDIDATES} rows, an array or a DataFrame, "
                f"not {shown(candidates)}."
            )
        for row in given:
            if isinstance(row, pd.Series | dict) and table.frame:
                row = [row.get(name) for name in table.data.columns]
            rows.append([row] if np.ndim(row) == 0 else list(row))
    if not rows or any(len(row) != width for row in rows):
        raise ArgumentError(f"candidates must be rows of {width} values, as data has columns.")
    for row in rows:
        for j, value in enumerate(row):
            if table.numeric(j) and isinstance(value, str | bytes):
                raise ArgumentError(
                    f"candidates has {shown(value)} where data have numbers, in column {j}."
                )
    return [(f"candidate {k}", row) for k, row in enumerate(rows)]


def _replacements(
    table: _Table, candidates: Any, rows: Iterable[int] | None
) -> Iterator[tuple[str, int, list[Any]]]:
    """What is put where, in words, as a position and as a row."""
    ordered = _by_extremeness(table)
    positions = ordered[:_ROWS] if rows is None else _positions(rows, len(table.data))
    own = None if candidates is None else _given_rows(table, candidates)
    for i in positions:
        yield from ((name, i, row) for name, row in (_odd_rows(table, i) if own is None else own))
    if own is None:
        yield from ((name, positions[0], row) for name, row in _copies(table, ordered))
        yield from () if rows is not None else _inner_rows(table, ordered)


@shown_once()
def worst_neighbours(
    release: Callable[[Any], Any],
    data: Any,
    candidates: Any = None,
    *,
    rows: Iterable[int] | None = None,
    trials: int = 50,
    statistic: Callable[[Any], Any] | None = None,
) -> tuple[Any, Any]:
    """Search for the replacement of one row that a release shows most clearly.

    A search, not a proof: it tries rows that break many releases and returns a pair for `audit`. It
    looks at the data as they are and its answer shows rows of them: use test data, or keep the
    answer to yourself.

    Parameters
    ----------
    release : function of one data set
        As for `audit`. Its errors are passed on, with a note of the row that was put in.
    data : DataFrame or array
        Rows of numbers, or also of text and categories in a DataFrame.
    candidates : DataFrame, array or list of rows, optional
        What to put in the place of a row. By default: the opposite of the row about the medians, all
        numbers huge (a million ranges) in the same and in alternating signs, the smallest and the
        largest numbers, zeros, levels that no other row has, the rarest and the most frequent ones, and
        a missing row; in one place also the most frequent values and copies of up to 24 rows of the
        data, for a release that does something special at one value. With more rows than that,
        ``candidates=data`` tries a copy of every one. Columns keep their kinds: no integer goes
        missing, no category is added.
    rows : iterable of int, optional
        Positions of the rows to replace; by default the three most extreme ones, and up to 24
        others by a row that lies near.
    trials : int
        Runs for each of the data sets, of which there are about 90; 10 or more.
    statistic : function, optional
        As for `audit`.

    Returns
    -------
    (data, other)
        The data as given, and with one row replaced.

    Raises
    ------
    ArgumentError
        If the rows are not a table or array, or an argument is out of range.

    See Also
    --------
    audit : The audit of a pair.

    Notes
    -----
    Scores that distinguish the runs on data from those on other are learnt on half of the runs; on the
    other half, distances in robust standard deviations (and by ranks) are compared, less what
    chance alone would give the best score. The five clearest pairs run again, twice as often, and
    the clearest then is the answer. A few runs do not detect laws that differ only in rare events,
    nor what a release does at a value that no row has: put such rows into candidates.

    References
    ----------
    Ding, Wang, Wang, Zhang and Kifer (2018), "Detecting Violations of Differential Privacy", CCS.

    Examples
    --------
    >>> import numpy as np
    >>> noise = np.random.default_rng(1)
    >>> def unclipped(rows):
    ...     return np.nansum(rows) / 20 + noise.normal(scale=0.05)
    >>> data, other = worst_neighbours(unclipped, np.linspace(0, 1, 20), trials=20)
    >>> int((data != other).sum()), bool(abs(other).max() > 1e5)
    (1, True)
    """
    require_no_budget()
    if not callable(release):
        raise ArgumentError("release must be a function of a data set; each call is one run.")
    if as_int(trials, 10) is None:
        raise ArgumentError(f"trials must be a whole number >= 10, not {shown(trials)}.")
    table = _Table(data)

    def runs_on(data: Any, trials: int, put_in: str = "") -> list[Run]:
        try:
            return [draw(release, data, statistic)[1] for _ in range(trials)]
        except Exception as error:
            if put_in:
                error.add_note(
                    f"worst_neighbours had put {put_in}. If no data set can hold that, give candidates= "
                    "of your own; if one can, the error itself gives it away."
                )
            raise

    before: list[Run] = []
    best: list[tuple[float, str, Any]] = []
    for name, i, row in list(_replacements(table, candidates, rows)):
        words, other = f"{name} in the place of row {i}", table.replaced(i, row)
        if not table.changed(other, i):
            continue
        before = before or runs_on(data, trials)
        after = runs_on(other, trials, words)
        best.append((_distance(before, after), words, other))
        best = sorted(best, key=lambda one: -one[0])[:_FINALISTS]
    if not best:
        raise ArgumentError(
            "every candidate equals the row that it would replace: give candidates=, a list of "
            "rows that data could have and that differ from those they replace."
        )
    # among so many some look clear by chance: fresh runs, and more of them, decide
    before = runs_on(data, 2 * trials)
    again = [_distance(before, runs_on(other, 2 * trials, words)) for _, words, other in best]
    return data, best[max(range(len(best)), key=again.__getitem__)][2]


def _distance(before: list[Run], after: list[Run]) -> float:
    """How clearly runs differ: learnt on every other one, measured on the rest."""
    columns = Columns.of(before[::2] + after[::2])
    first, second = columns.table(before), columns.table(after)
    scores = columns.scores(first[::2], second[::2])
    return distance(scores, first[1::2], second[1::2])
