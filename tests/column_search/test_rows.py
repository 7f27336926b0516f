"""Counts of values below points: exact, and moved by one at most by a row."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpstats.column_search.rows import ColumnRows, Points

Floats = np.ndarray


@dataclass(frozen=True)
class _Table:
    """Rows in arrays, in blocks of three."""

    x: Floats
    y: Floats
    offset: Floats | None = None
    weight: Floats | None = None
    above: Floats | None = None
    usable: np.ndarray | None = None
    threads: Any = None

    @property
    def n(self) -> int:
        return len(self.x)

    @property
    def d(self) -> int:
        return self.x.shape[1]

    def pieces(self, size: int) -> Iterator[Callable[[], _Table]]:
        def part(start: int) -> _Table:
            rows = slice(start, start + 3)
            more = {
                name: None if (column := getattr(self, name)) is None else column[rows]
                for name in ("offset", "weight", "above", "usable")
            }
            return replace(self, x=self.x[rows], y=self.y[rows], **more)

        return iter([lambda start=start: part(start) for start in range(0, self.n, 3)])

    def map_parts(self, task: Any) -> None:
        return None


_POINTS = np.array([-math.inf, -1e308, -1.0, -5e-324, 0.0, 0.5, 1.0, 1e308, math.inf])


def _counts(table: _Table, *asked: Points) -> list[list[int]]:
    rows = ColumnRows(table, range(table.d), response=True)
    found = [[int(k) for k in counts] for counts in rows.counts(asked)]
    rows.close()
    return found


def test_values_at_most_a_point_are_counted() -> None:
    x = np.array([[0.0], [-0.0], [1.0], [-1.0], [np.nextafter(1.0, 2)]])
    x = np.hstack([np.ones((5, 1)), x])
    below, about, of_y = _counts(
        _Table(x, np.arange(5.0)),
        Points(1, None, np.array([-1.0, -5e-324, 0.0, 1.0, math.inf])),
        Points(1, 1.0, np.array([0.0, 0.5, 1.0, 2.0])),
        Points(2, None, np.array([-1.0, 2.0, 9.0])),
    )
    assert below == [1, 1, 3, 4, 5], "-0 is 0, and a float above 1 is above it"
    assert about == [1, 2, 4, 5]
    assert of_y == [0, 3, 5]


def test_rows_that_are_not_used_count_nowhere() -> None:
    """Those with a missing value, a response or offset that is not finite, or no weight; zeros do."""
    x = np.ones((6, 2))
    x[1:3] = 0.0
    x[5] = 0.0
    y = np.array([0.0, 0.0, math.nan, 0.0, 0.0, 0.0])
    offset = np.array([0.0, 0.0, 0.0, math.inf, 0.0, 0.0])
    weight = np.array([1.0, 1.0, 1.0, 1.0, 0.0, 1.0])
    ends = np.array([-math.inf, math.inf])
    usable = np.arange(6) != 1
    table = _Table(x, y, offset, weight, usable=usable)
    found = _counts(table, *(Points(k, None, ends) for k in range(3)))
    assert found == [[0, 2]] * 3


def test_a_response_is_counted_less_its_offset() -> None:
    table = _Table(np.ones((2, 1)), np.array([3.0, 5.0]), np.array([1.0, 1.0]))
    assert _counts(table, Points(1, None, np.array([2.0, 3.0, 4.0]))) == [[1, 1, 2]]


_number = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.0, -0.0, 5e-324, -5e-324, 1.0, -1.0, 1e308, -1e308, 2.0**200]),
)
_response = st.one_of(_number, st.sampled_from([math.nan, math.inf, -math.inf]))
_row = st.tuples(_number, _number, _response, _response, st.sampled_from([0.0, 0.5, 3.0]))


def _table(rows: list[tuple[float, ...]]) -> _Table:
    columns = np.array(rows).T
    x = np.column_stack([columns[0], columns[1]])
    return _Table(x, columns[2], columns[3], columns[4])


@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(
    st.lists(_row, min_size=2, max_size=8),
    _row,
    st.lists(_number, min_size=1, max_size=6),
    st.one_of(st.none(), _number),
)
def test_a_row_that_is_replaced_moves_each_count_by_one_at_most(
    rows: list[tuple[float, ...]],
    other: tuple[float, ...],
    points: list[float],
    about: float | None,
) -> None:
    at = np.unique(np.array([*points, math.inf]))
    asked = [Points(k, about if k < 2 else None, at) for k in range(3)]
    one, two = (_counts(_table(table), *asked) for table in (rows, [*rows[:-1], other]))
    for first, second in zip(one, two, strict=True):
        moved = np.array(first) - np.array(second)
        assert np.abs(moved).max() <= 1
        assert sorted(first) == first
        assert first[0] >= 0
        assert first[-1] <= len(rows)
    for counts, question in zip(one, asked, strict=True):
        assert counts == _by_hand(_table(rows), question)


def _by_hand(table: _Table, asked: Points) -> list[int]:
    """Row after row."""
    found = [0] * len(asked.at)
    for x, y, offset, weight in zip(table.x, table.y, table.offset, table.weight, strict=True):
        with np.errstate(all="ignore"):
            response = np.float64(y) - np.float64(offset)
            if not (np.isfinite(response) and weight > 0):
                continue
            value = [*x, response][asked.column]
            value = value if asked.about is None else abs(value - asked.about)
        for k, point in enumerate(asked.at):
            found[k] += bool(value <= point)
    return found


@pytest.mark.parametrize("thing", [ColumnRows(_table([(1.0, 1, 1, 1, 1)] * 3), [0], True)])
def test_rows_are_not_shown(thing: ColumnRows) -> None:
    assert "1.0" not in repr(thing)
    for slab in thing._over(lambda slab: slab):
        assert repr(slab) == "<slab of private rows>"
    thing.close()
