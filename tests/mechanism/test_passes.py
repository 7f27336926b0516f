"""Rows worked on elsewhere: the totals of the parts are those of the whole, and no row travels."""

from __future__ import annotations

import math
import pickle
import struct
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from dpstats.errors import PassError
from dpstats.mechanism.passes import PrivateRows, RowSource, added_up, squared_lengths
from dpstats.models.eptr_bayes.rows import ClassRows
from dpstats.models.eptr_nw.rows import KernelPlan, KernelRows
from dpstats.models.gaussian.rows import CellCoordinates, CellRows, Zones
from dpstats.models.glm.family import resolve_family
from dpstats.models.linear.rows import JointRows, LinearRows
from dpstats.models.mixture.clustering import Split, nearest, number_of_zones, zone_of
from dpstats.score_rounds.rows import LeastSquares, RoundCuts, ScoreRows
from tests.mechanism.sources import Arrays, Slab

T = TypeVar("T")

_N, _D = 600, 3
_MARK = 1234.5678912345678
_WHITENING = np.array([[1.0, 0.2, 0.0], [0.0, 1.5, -0.3], [0.1, 0.0, 0.7]])
_SHIFT, _ANCHOR = np.array([0.3, -1.0, 0.0]), np.array([0.5, -0.2, 0.1])


class _Elsewhere(Arrays):
    """Rows that fall into parts; tasks, and what they find, are pickled on their way."""

    def __init__(self, table: Arrays, order: Sequence[Sequence[int]]) -> None:
        super().__init__(table.x, table.y, table.size, table.weight)
        self._parts = order

    def map_parts(self, task: Callable[[RowSource], T]) -> Iterator[T]:
        sent = pickle.dumps(task)
        for rows in self._parts:
            found = pickle.loads(sent)(_some(self, rows))
            yield pickle.loads(pickle.dumps(found))


def _some(table: Arrays, rows: Sequence[int]) -> Arrays:
    picked = np.asarray(rows, dtype=int)
    weight = None if table.weight is None else table.weight[picked]
    return Arrays(table.x[picked], table.y[picked], table.size, weight)


@dataclass(frozen=True)
class _Case:
    """A class of rows: a table for it, how it is made, and all that is ever summed of it."""

    table: Callable[[int, int], Arrays]
    make: Callable[[RowSource], Any]
    totals: Callable[[Any], Any]

    def of(self, source: RowSource) -> Any:
        rows = self.make(source)
        found = self.totals(rows)
        rows.close()
        return found


def _plain(n: int, seed: int) -> Arrays:
    """Ordinary rows, among them some of the worst."""
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(n, _D)), rng.integers(0, 2, n).astype(float)
    x[0] = _MARK
    worst = [math.nan, math.inf, -1e308, 5e-324, 2.0**70, 64.1, 1e200]
    for k, value in enumerate(worst[: max(n - 2, 0)], start=1):
        x[k, k % _D] = value
    y[-1] = math.nan
    return Arrays(x, y, None, rng.uniform(0, 2, n))


def _ones(n: int, seed: int) -> Arrays:
    """The same rows behind a column that says whether they are there at all."""
    table = _plain(n, seed)
    alive = np.arange(n) % 7 != 3
    return Arrays(np.column_stack([alive, table.x]), table.x[:, 0] - 0.5)


def _members(n: int, seed: int) -> Arrays:
    """The same rows behind indicators of two classes; some are of none."""
    table, code = _plain(n, seed), np.arange(n) % 3
    return Arrays(np.column_stack([code == 0, code == 1, table.x]), np.zeros(n))


def _linear(rows: LinearRows) -> list[Any]:
    rows.cut(1.5)
    return [rows.gram(), rows.cross(2.0), *rows.gram_and_cross(2.0, whole=False)]


def _joint(rows: LinearRows) -> list[Any]:
    rows.cut(1.5)
    return [rows.gram()]


def _family(rows: ScoreRows) -> list[Any]:
    return [
        rows.length_counts(_ANCHOR, ((-8, 16), (-9, 17))),
        rows.response_counts(-8, 16),
        rows.long_scores(_ANCHOR, 0.4),
        rows.moments(1.2),
        rows.sums(_ANCHOR, RoundCuts(clip=0.7, radius=1.1, square=3.0, outer=True, excess=True)),
        rows.sums(_ANCHOR, RoundCuts(clip=0.7, radius=None)),
        rows.sums(_ANCHOR, RoundCuts(clip=0.7, radius=None, outer=True, less=_ANCHOR / 2)),
    ]


def _fitted(z: Any) -> Any:
    """A public fit; entries of a row only, one operation at a time."""
    return z[0] + z[1] / 2 - z[2]


_CENTRES = np.array([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [-2.0, 0.0, 0.5]])
_SPLITS = (
    Split(0, nearest(_CENTRES, np.zeros(_D), np.ones(_D)), (0, 1, 2)),
    Split(1, nearest(_CENTRES[1:] / 3, np.zeros(_D), np.ones(_D)), (1, 0)),
)
_FRAMES = [CellCoordinates(centre, _WHITENING) for centre in _CENTRES]
_ENDS = np.array([[-1.0], [1.5]])
_ZONES = Zones(
    0,
    _CENTRES[0],
    np.eye(_D)[:, :1],
    np.ones(_D),
    partial(zone_of, centroids=_ENDS),
    number_of_zones(len(_ENDS)),
)


def _cells(rows: CellRows) -> list[Any]:
    return [
        rows.counts(_SPLITS, 3),
        rows.lengths(_SPLITS, _FRAMES, -8, 16),
        rows.zones(_SPLITS, [_ZONES, _ZONES]),
        rows.lifted(_SPLITS, _FRAMES, [1.0, 0.5, 2.0], 7),
        rows.sums(_FRAMES[1], 0.9),
        rows.long(_FRAMES[1], 0.9),
    ]


def _kernel(longest: float | None) -> Callable[[RowSource], KernelRows]:
    nodes = np.random.default_rng(1).uniform(-2, 2, (11, _D))
    bandwidth, low, high = np.array([0.5, 3.0, 1.7]), nodes.min(axis=0), nodes.max(axis=0)
    return lambda source: KernelRows(
        source, KernelPlan(bandwidth, low, high, nodes, _fitted, 1.5, longest)
    )


def _families(name: str, truncation: float | None) -> Callable[[RowSource], ScoreRows]:
    family = resolve_family(name)
    return lambda source: ScoreRows(source, family, _WHITENING, _SHIFT, truncation)


_CASES = {
    "linear": _Case(_plain, lambda source: LinearRows(source, _WHITENING, _SHIFT), _linear),
    "with response": _Case(
        _plain,
        lambda source: JointRows(source, np.eye(_D + 1), np.zeros(_D + 1)),
        _joint,
    ),
    "least squares": _Case(
        _plain, lambda source: ScoreRows(source, LeastSquares(), _WHITENING, _SHIFT), _family
    ),
    "binomial": _Case(_plain, _families("binomial", None), _family),
    "poisson": _Case(_plain, _families("poisson", 1.7), _family),
    "classes": _Case(
        _members,
        lambda source: ClassRows(source, _WHITENING, _CENTRES[:2], 1.3),
        lambda rows: rows.totals(),
    ),
    "kernel": _Case(_ones, _kernel(None), lambda rows: rows.totals()),
    "short kernel": _Case(_ones, _kernel(1.1), lambda rows: rows.totals()),
    "cells": _Case(
        _ones, lambda source: CellRows(source, np.full(_D, 0.1), np.full(_D, 1.5)), _cells
    ),
}


def _flat(total: Any) -> Any:
    """Totals as nested lists of integers, with the kinds of what they stand in."""
    if total is None:
        return None
    if isinstance(total, np.ndarray):
        assert all(type(value) is int for value in total.ravel())
        return total.tolist()
    if is_dataclass(total):
        return type(total).__name__, [_flat(getattr(total, field.name)) for field in fields(total)]
    return type(total).__name__, [_flat(value) for value in total]


@st.composite
def _parted(draw: st.DrawFn) -> list[list[int]]:
    """All rows in parts, of which some may be empty, in any order."""
    order = draw(st.permutations(range(_N))) if draw(st.booleans()) else list(range(_N))
    cuts = [0, *sorted(draw(st.lists(st.integers(0, _N), max_size=6))), _N]
    parts = [list(order[a:b]) for a, b in pairwise(cuts)]
    return list(draw(st.permutations(parts)))


_LOCAL = {name: _flat(case.of(case.table(_N, 1))) for name, case in _CASES.items()}


@pytest.mark.parametrize("name", _CASES)
@settings(max_examples=12, deadline=None, derandomize=True)
@given(_parted())
def test_totals_of_parts_are_those_of_the_whole(name: str, parts: list[list[int]]) -> None:
    case = _CASES[name]
    assert _flat(case.of(_Elsewhere(case.table(_N, 1), parts))) == _LOCAL[name]


@pytest.mark.parametrize("name", _CASES)
def test_totals_tell_rows_apart(name: str) -> None:
    case = _CASES[name]
    assert _flat(case.of(_some(case.table(_N, 1), range(_N - 9)))) != _LOCAL[name]


def test_parts_are_on_the_grid_of_the_whole() -> None:
    n = 2**17 + 100
    rng = np.random.default_rng(2)
    table = Arrays(rng.normal(size=(n, _D)), rng.normal(size=n))
    case, half = _CASES["linear"], n // 2
    parts = [range(half, n), range(100), range(100, half)]
    assert _flat(case.of(_Elsewhere(table, parts))) == _flat(case.of(table))


@pytest.mark.parametrize("name", _CASES)
def test_what_travels_holds_no_row(name: str) -> None:
    case, sizes = _CASES[name], []
    for n in (_N, 9 * _N):
        table = case.table(n, 1)
        rows = case.make(table)
        case.totals(rows)
        assert rows._cached
        sent = pickle.dumps(rows)
        rows.close()
        sizes.append(len(sent))
        for value in [_MARK, *table.x[20:60].ravel(), *table.y[20:60]]:
            if value not in (0.0, 1.0):
                assert struct.pack("<d", value) not in sent
                assert struct.pack(">d", value) not in sent
    assert abs(sizes[1] - sizes[0]) < 30


@pytest.mark.parametrize("name", _CASES)
def test_the_maps_of_rows_apply_to_others(name: str) -> None:
    case = _CASES[name]
    other = case.table(_N, 2)
    expected = _flat(case.of(other))
    rows = case.make(case.table(_N, 1))
    there = pickle.loads(pickle.dumps(rows)).over(other)
    beside = rows.over(other)
    assert _flat(case.totals(there)) == expected != _LOCAL[name]
    assert _flat(case.totals(beside)) == expected
    for others in (there, beside):
        assert others._cached is None
        others.close()
    assert _flat(case.totals(rows)) == _LOCAL[name]
    rows.close()


@pytest.mark.parametrize("size", [None, 100, 250])
def test_rows_seen_anew_are_the_same_in_the_memory_of_others(size: int | None) -> None:
    table, other = _plain(_N, 1), 2 * _WHITENING.T
    before, fresh, anew = (
        ScoreRows(table, LeastSquares(), whitening, _SHIFT)
        for whitening in (_WHITENING, other, other)
    )
    expected = _flat(_family(fresh))
    assert _flat(_family(before)) != expected
    table.size = size  # blocks may be others in a later pass
    anew.instead_of(before)
    assert before._cached is None
    assert _flat(_family(anew)) == expected
    for rows in (fresh, anew):
        rows.close()
        assert rows._memory is None


def test_rows_elsewhere_are_cut_where_they_are_cut_here() -> None:
    case = _CASES["linear"]
    rows = case.make(_Elsewhere(case.table(_N, 1), [range(100), range(100, _N)]))
    rows.cut(1.5)
    with pytest.raises(ValueError, match="once"):
        rows.cut(1.0)
    assert _flat(rows.gram()) == _LOCAL["linear"][1][0]
    rows.close()


def test_an_error_elsewhere_ends_the_pass() -> None:
    class Lost(Arrays):
        def map_parts(self, task: Callable[[RowSource], T]) -> Iterator[T]:
            yield task(_some(self, range(5)))
            raise PassError("lost")

    table = _plain(_N, 1)
    rows = ScoreRows(Lost(table.x, table.y), LeastSquares(), _WHITENING, _SHIFT)
    with pytest.raises(PassError, match="lost"):
        rows.moments(1.0)
    rows.close()


def test_nothing_is_shown_of_a_task() -> None:
    shown: list[str] = []

    class Looking(Arrays):
        def map_parts(self, task: Callable[[RowSource], T]) -> Iterator[T]:
            shown.extend([repr(task), str(task)])
            yield task(self)

    table = _plain(_N, 1)
    rows = ScoreRows(Looking(table.x, table.y), LeastSquares(), _WHITENING, _SHIFT)
    rows.moments(1.0)
    rows.close()
    assert shown == 2 * ["<pass over private rows>"]


def test_threads_of_the_caller_are_used_and_kept() -> None:
    class Counting(ThreadPoolExecutor):
        count = 0

        def submit(self, *args: Any, **options: Any) -> Any:
            self.count += 1
            return super().submit(*args, **options)

    with Counting(2) as threads:
        table = _CASES["linear"].table(_N, 1)
        table.size, table.threads = 50, threads  # type: ignore[assignment]
        assert _flat(_CASES["linear"].of(table)) == _LOCAL["linear"]
        assert threads.count >= _N // 50
        assert threads.submit(pow, 2, 3).result() == 8


def test_a_block_that_cannot_be_read_ends_the_pass_without_saying_why() -> None:
    class Broken(Arrays):
        def _slab(self, part: slice) -> Slab:
            if part.start:
                raise ValueError("secret")
            return super()._slab(part)

    table = _plain(_N, 1)
    rows: PrivateRows[Any] = ScoreRows(
        Broken(table.x, table.y, 50), LeastSquares(), _WHITENING, _SHIFT
    )
    with pytest.raises(PassError, match="withheld") as caught:
        rows.moments(1.0)  # type: ignore[attr-defined]
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    rows.close()


def test_the_callers_ways_with_odd_numbers_are_not_asked() -> None:
    """Of a row that is missing scipy computes what overflows: it would raise an error, or warn."""

    class Odd(Arrays):
        def _slab(self, part: slice) -> Slab:
            special.loggamma(0.0)
            np.log(np.zeros(1))
            return super()._slab(part)

    table = _plain(_N, 1)
    usual = ScoreRows(Odd(table.x, table.y), LeastSquares(), _WHITENING, _SHIFT).moments(1.0)
    with np.errstate(all="raise"), special.errstate(all="raise"):
        with pytest.raises(special.SpecialFunctionError):
            special.loggamma(0.0)
        found = ScoreRows(Odd(table.x, table.y), LeastSquares(), _WHITENING, _SHIFT).moments(1.0)
    assert (found == usual).all()


@pytest.mark.parametrize("columns", [1, 2, 3, 8, 9, 1000])
@pytest.mark.parametrize("d", [0, 1, 2, 8, 9, 33, 129])
def test_lengths_are_added_up_in_one_order_whatever_lies_beside(d: int, columns: int) -> None:
    rng = np.random.default_rng(d)
    wide = rng.normal(size=(d, 1003)) * 10.0 ** rng.integers(-5, 5, (d, 1))
    expected = np.zeros(1003)
    for coordinate in wide:
        expected += coordinate**2
    part = wide[:, :columns]
    for z in (part, np.ascontiguousarray(part), np.asfortranarray(part)):
        assert (squared_lengths(z) == expected[:columns]).all()
    every = range(0, 1003, columns)
    beside = np.concatenate([added_up((wide[:, a : a + columns] ** 2).copy()) for a in every])
    assert (beside == expected).all()
