"""Rows in cells: how far a replaced row can move exact totals, and that nothing else moves with it.

Totals are integers, and so are the squares of the sensitivities: comparisons are exact.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpstats.models.gaussian.rows import CellCoordinates, CellRows, Partition, Zones
from dpstats.models.mixture.clustering import Scores, Split, nearest, number_of_zones, zone_of
from tests.mechanism.sources import Arrays

Floats = np.ndarray
Row = tuple[bool, list[float]]
Totals = dict[str, Any]

_LOWEST, _OCTAVES = -10, 32
_CELLS = 4
_N = 18


@dataclass(frozen=True)
class _World:
    """Public numbers: four cells, coordinates and radii of each, and tests, two of them in one cell."""

    origin: Floats
    units: Floats
    partition: Partition
    frames: tuple[CellCoordinates, ...]
    radii: tuple[float, ...]
    tests: tuple[Zones, ...]

    @property
    def d(self) -> int:
        return len(self.origin)


def _zones(cell: int, origin: Floats, basis: Floats, centroids: Floats, size: float) -> Zones:
    return Zones(
        cell,
        origin,
        basis,
        np.full(len(origin), size),
        lambda y: zone_of(y, centroids),
        number_of_zones(len(centroids)),
    )


def _world(d: int, size: float = 1.0) -> _World:
    """Affine scores of which two share a cell, then quadratic ones; ``size`` of rows is public."""
    rng = np.random.default_rng(d)
    along = np.eye(d)[0]
    centres = np.array([0.0, 4.0, 8.0, -6.0])[:, None] * along + 0.1 * rng.normal(size=(4, d))
    first = Split(0, nearest(centres, 0.2 * along, np.full(d, size)), (0, 1, 2, 0))
    quadratic = Scores(
        centres[1],
        rng.normal(size=(d, 2 * d)),
        np.array([0.3, 0.0]),
        np.full(d, size),
        0.5 * rng.normal(size=(2, d)),
    )
    frames = [
        CellCoordinates(c, np.eye(d) * [1.0, 0.3, 2.0, 1.0][j] + 0.2 * rng.normal(size=(d, d)))
        for j, c in enumerate([np.zeros(d), centres[1], centres[2], centres[1] + 0.5])
    ]
    ends = np.array([[-2.0], [0.5], [2.0]])
    tests = (
        _zones(0, np.zeros(d), np.eye(d)[:, :1], ends, size),
        _zones(0, 0.1 * along, rng.normal(size=(d, 1)), ends[1:], size),
        _zones(3, centres[1], np.eye(d)[:, :1], ends[:2], size),
    )
    partition = (first, Split(1, quadratic, (1, 3)))
    origin, units = rng.normal(size=d), rng.uniform(1, 3, d)
    return _World(origin, units, partition, tuple(frames), (1.0, 0.2, 3.0, 1.5), tests)


def _table(rows: list[Row], d: int) -> Floats:
    return np.array([[float(alive), *x[:d]] for alive, x in rows])


def _rows(world: _World, table: Floats, size: int | None = None) -> CellRows:
    weights = np.where(table[:, -1] > 1, 3.0, 1.0)  # some rows lie outside limits
    source = Arrays(table, np.zeros(len(table)), size, weights)
    return CellRows(source, world.origin, world.units)


def _all(rows: CellRows, world: _World, lift: int, scale: float = 1.0) -> Totals:
    """Everything that is ever summed, as exact integers."""
    radii = [scale * g for g in world.radii]
    lifted = rows.lifted(world.partition, world.frames, radii, lift)
    one, number, cut = rows.sums(world.frames[0], radii[0])
    return {
        "counts": rows.counts(world.partition, _CELLS),
        "lengths": rows.lengths(world.partition, world.frames, _LOWEST, _OCTAVES),
        "zones": np.concatenate(rows.zones(world.partition, world.tests)),
        "lifted": lifted.total,
        "lifted, cut": lifted.cut,
        "sum": one,
        "sum, number": number,
        "sum, cut": cut,
        "long": rows.long(world.frames[0], radii[0]),
    }


def _totals(world: _World, table: Floats, lift: int, scale: float = 1.0) -> Totals:
    rows = _rows(world, table)
    found = _all(rows, world, lift, scale)
    rows.close()
    return found


def _square(change: Any) -> int:
    return sum(int(v) ** 2 for v in np.ravel(change))


def _size(change: Any) -> int:
    return sum(abs(int(v)) for v in np.ravel(change))


def _check_move(one: Totals, two: Totals, steps: int, fine: int, lift: int) -> dict[str, float]:
    """Nothing moves by more than the docstrings say; each move as a part of what it may be."""
    moved = {name: one[name] - two[name] for name in one}
    for name in ("counts", "lengths"):
        assert _size(moved[name]) <= 2
    assert _size(moved["zones"]) <= 4  # two tests in one cell: l1 2t, and l2 sqrt(2t)
    assert _square(moved["zones"]) <= 4
    for name in ("lifted, cut", "sum, cut"):  # two classes of rows that no row is in at once
        assert _size(moved[name]) <= 2
    assert _size(moved["sum, number"]) <= 1
    bound = 2 * (steps**2 + lift**2) ** 2
    assert _square(moved["lifted"]) <= bound
    weight = math.isqrt(3 * fine**2)
    joint = _square(moved["sum"]) + _square(weight * moved["sum, number"])
    assert joint <= (2 * fine) ** 2
    return {
        "counts": math.sqrt(_square(moved["counts"]) / 2),
        "lengths": math.sqrt(_square(moved["lengths"]) / 2),
        "zones": math.sqrt(_square(moved["zones"]) / 4),
        "lifted": math.sqrt(_square(moved["lifted"]) / bound),
        "sum": math.sqrt(joint) / (2 * fine),
    }


def _grid(n: int) -> tuple[int, int]:
    grid = CellRows(Arrays(np.ones((n, 2)), np.zeros(n)), np.zeros(1), np.ones(1)).grid
    return grid.steps, grid.fine


_WORLDS = {d: _world(d) for d in (1, 2, 3)}
_STEPS, _FINE = _grid(_N)
_LIFTS = [1, _STEPS // 3, _STEPS // 2, _STEPS]

_hostile = st.one_of(
    st.floats(-9, 9),
    st.floats(-1e3, 1e3),
    st.sampled_from([0.0, math.nan, math.inf, -math.inf, 1e308, -1e308, 1e-308, 5e-324, -5e-324]),
    st.sampled_from([2.0**70, 63.9, 64.1, 2.0**300, -(2.0**300), 1e89, -1e89, 3e90, -3e90]),
)
_row = st.tuples(st.booleans(), st.lists(_hostile, min_size=3, max_size=3))


def _others(kind: str, d: int) -> list[Row]:
    rng = np.random.default_rng(7)
    world = _WORLDS[d]
    if kind == "ordinary":
        x = world.origin + world.units * (rng.normal(size=(_N - 1, d)) + 2)
        return [(bool(k % 5), list(row)) for k, row in enumerate(x)]
    if kind == "hostile":
        values = [math.nan, 1e308, -1e308, 5e-324, -1e200, 1e89, -1e89, 0.0]
        return [(True, list(rng.choice(values, size=d))) for _ in range(_N - 1)]
    if kind == "one place":
        return [(True, [5.0] * d)] * (_N - 1)
    return [(False, [0.0] * d)] * (_N - 1)  # "missing"


_KINDS = ("ordinary", "hostile", "one place", "missing")


@settings(max_examples=80, deadline=None, derandomize=True)
@given(
    st.sampled_from(sorted(_WORLDS)),
    st.sampled_from(_KINDS),
    _row,
    _row,
    st.sampled_from(_LIFTS),
    st.sampled_from([1e-3, 1.0, 1e5, 2.0**-200, 2.0**200]),
)
@example(2, "ordinary", (True, [1e89, 0, 0]), (True, [-1e89, 0, 0]), _STEPS // 2, 1.0)
@example(2, "ordinary", (True, [1e308, 0, 0]), (True, [2.0**300, 0, 0]), _STEPS // 2, 1.0)
@example(3, "hostile", (True, [0.0, 1e9, 0]), (False, [0.0, 0, 0]), _STEPS, 1.0)
@example(1, "missing", (True, [math.nan] * 3), (True, [9.0] * 3), 1, 1e5)
def test_replacing_a_row_moves_no_total_by_more_than_is_claimed(
    d: int, kind: str, first: Row, second: Row, lift: int, scale: float
) -> None:
    one, two = (
        _totals(_WORLDS[d], _table([*_others(kind, d), row], d), lift, scale)
        for row in (first, second)
    )
    _check_move(one, two, _STEPS, _FINE, lift)


def _directed(world: _World, rng: np.random.Generator, lift: int) -> tuple[Row, Row]:
    """Two rows that are as bad as can be: in the coordinates of their cells, then as the user's."""

    def away(size: float) -> Floats:
        v = rng.normal(size=world.d)
        return size * v / np.linalg.norm(v)

    def placed(cell: int, w: Floats) -> list[float]:
        frame = world.frames[cell]
        x = frame.centre + np.linalg.solve(frame.back.T, w * world.radii[cell])
        return list(world.origin + world.units * x)

    first = away(1.0)
    aside = away(1.0)
    aside -= (aside @ first) * first
    aside /= float(np.linalg.norm(aside)) or 1.0
    cosine = (lift / _STEPS) ** 2  # lifted rows are orthogonal at -b^2/g^2
    kind, size = rng.integers(8), float(rng.choice([1.0, 1 + 1e-7, 1 - 1e-7, 2.0, 1e6]))
    cells = rng.integers(0, _CELLS, 2)
    second = {
        0: -first,
        1: aside,
        2: math.sqrt(max(1 - cosine**2, 0.0)) * aside - cosine * first,
        3: 0 * first,
        4: 1e-300 * first,
        5: away(1.0),
        6: first * rng.uniform(),
    }.get(int(kind), first)
    other = placed(cells[int(rng.integers(2))], size * second)
    return (True, placed(cells[0], size * first)), (bool(rng.random() < 0.9), other)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_directed_pairs_move_no_total_by_more_than_is_claimed(d: int) -> None:
    rng, world = np.random.default_rng(d), _WORLDS[d]
    rest = _others("ordinary", d)
    for _ in range(40):
        lift = int(rng.choice(_LIFTS))
        pair = _directed(world, rng, lift)
        one, two = (_totals(world, _table([*rest, row], d), lift) for row in pair)
        _check_move(one, two, _STEPS, _FINE, lift)


# --- what is claimed is attained -----------------------------------------------------------------


def _plain(d: int, cells: int = 1) -> _World:
    """Cells of which each is half a line or more; all coordinates are the user's."""
    centres = np.outer(np.arange(cells) * 1e3, np.eye(d)[0])
    split = Split(0, nearest(centres, np.zeros(d), np.full(d, 1e3)), tuple(range(cells)))
    frames = tuple(CellCoordinates(c, np.eye(d)) for c in centres)
    tests = tuple(
        _zones(j, centres[j], np.eye(d)[:, :1], np.array([[-2.0], [0.0], [2.0]]), 1.0)
        for j in range(cells)
        for _ in range(2)
    )
    return _World(np.zeros(d), np.ones(d), (split,), frames, (1.0,) * cells, tests)


def _moved(world: _World, first: Row, second: Row, lift: int) -> dict[str, float]:
    rest: list[Row] = [(True, [0.3] * world.d)] * 5
    found = []
    for row in (first, second):
        rows = _rows(world, _table([*rest, row], world.d))
        found.append(_all(rows, replace(world, radii=(1.0,) * _CELLS), lift))
        rows.close()
    return _check_move(found[0], found[1], _STEPS, _FINE, lift)


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("ratio", [0.02, 0.5, 1.0])
def test_lifted_rows_at_right_angles_attain_the_sensitivity(d: int, ratio: float) -> None:
    angle = math.acos(-(ratio**2))
    first = [1e4, *[0.0] * (d - 1)]
    second = [1e4 * math.cos(angle), 1e4 * math.sin(angle), *[0.0] * (d - 2)]
    moved = _moved(_plain(d), (True, first), (True, second), round(ratio * _STEPS))
    assert moved["lifted"] > 1 - 1e-3


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("ratio", [0.02, 0.5, 1.0])
def test_a_row_that_changes_its_cell_attains_every_sensitivity_of_cells(
    d: int, ratio: float
) -> None:
    world = _plain(d, _CELLS)
    rows = [(True, [1e3 * cell + 2.0, *[0.0] * (d - 1)]) for cell in (1, 3)]
    moved = _moved(world, rows[0], rows[1], round(ratio * _STEPS))
    for name in ("counts", "lengths", "zones", "lifted"):
        assert 1 - 1e-3 < moved[name] <= 1


def test_a_row_that_changes_its_length_attains_the_sensitivity_of_lengths() -> None:
    assert _moved(_plain(2), (True, [1.0, 0.0]), (True, [64.0, 0.0]), _STEPS)["lengths"] == 1


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("missing", [False, True])
def test_opposite_rows_and_missing_ones_attain_the_sensitivity_of_a_sum(
    d: int, missing: bool
) -> None:
    row = [1e9, *[0.0] * (d - 1)]
    other = (False, [0.0] * d) if missing else (True, [-v for v in row])
    assert _moved(_plain(d), (True, row), other, _STEPS)["sum"] > 1 - 1e-3


def test_a_missing_row_moves_a_lifted_matrix_by_less_than_two_rows_can() -> None:
    moved = _moved(_plain(2), (True, [1e9, 0.0]), (False, [0.0, 0.0]), _STEPS // 2)
    assert moved["lifted"] == pytest.approx(math.sqrt(1 / 2), rel=1e-3)


# --- a row's contribution is its own -------------------------------------------------------------


def _mixed(n: int, d: int, seed: int) -> Floats:
    """Ordinary, far, tiny, missing and broken rows."""
    rng = np.random.default_rng(seed)
    x = rng.standard_t(2, size=(n, d)) * 10.0 ** rng.integers(-2, 3, (n, 1)) + 2
    kind = rng.integers(0, 40, n)
    x[kind == 0] = 1e89 * rng.choice([-1.0, 1.0], (int((kind == 0).sum()), d))
    x[kind == 1] = 5e-324
    x[kind == 2] *= 1e60
    x[kind == 6] = 1e308 * rng.choice([-1.0, 1.0], (int((kind == 6).sum()), d))
    x[kind == 3, 0] = math.nan
    x[kind == 4, -1] = math.inf
    return np.column_stack([(kind != 5).astype(float), x])


def _same(one: Totals, two: Totals) -> bool:
    return all(np.array_equal(one[name], two[name]) for name in one)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_totals_are_the_sums_of_what_rows_alone_give(d: int) -> None:
    table, lift = _mixed(60, d, d), _STEPS // 2
    whole = _totals(_WORLDS[d], table, lift)
    alone = [_totals(_WORLDS[d], row[None], lift) for row in table]
    assert _same(whole, {name: sum(part[name] for part in alone) for name in whole})


@pytest.mark.parametrize("condition", [1e6, 1e11, 1e16])
def test_what_a_row_gives_is_its_own_in_coordinates_of_any_condition(condition: float) -> None:
    rng, d = np.random.default_rng(int(math.log10(condition))), 4
    turns = [np.linalg.qr(rng.normal(size=(d, d)))[0] for _ in range(2)]
    back = turns[0] @ np.diag(np.geomspace(1.0, condition, d)) @ turns[1]
    frames = tuple(replace(frame, back=back) for frame in _world(d).frames)
    world = replace(_world(d), frames=frames, radii=(1.0, 40.0, 1e3, 1e-3))
    table = _mixed(50, d, 5)
    table[::2, 1:] = world.origin + 1e-3 * rng.normal(size=(25, d)) / math.sqrt(condition)
    whole = _totals(world, table, _STEPS)
    alone = [_totals(world, row[None], _STEPS) for row in table]
    assert _same(whole, {name: sum(part[name] for part in alone) for name in whole})


def _places(world: _World, table: Floats) -> Any:
    """How many rows of a table are in each cell and in each zone."""
    rows = _rows(world, table)
    zones = rows.zones(world.partition, world.tests)
    found = np.concatenate([rows.counts(world.partition, _CELLS), *zones])
    rows.close()
    return found


@pytest.mark.parametrize("d", [2, pytest.param(5, marks=pytest.mark.slow), 8])
@pytest.mark.parametrize("size", [1.0, pytest.param(0.2, marks=pytest.mark.slow), 1e-3, 1e-30])
@pytest.mark.parametrize("largest", [2.0**300, 1.7e308])
def test_cells_and_zones_of_the_largest_rows_are_their_own(
    d: int, size: float, largest: float
) -> None:
    # measured in small public units, or summed, they could be larger than floats can be
    rng = np.random.default_rng(d)
    world = replace(_world(d, size), origin=np.zeros(d), units=np.ones(d))
    for _ in range(6):
        x = largest * rng.choice([0.6, -0.6, 1.0, -0.4], (3, d)) * rng.choice([1.0, 0.3], (3, d))
        table = np.insert(x, 0, 1.0, axis=1)
        assert (_places(world, table) == sum(_places(world, row[None]) for row in table)).all()


@pytest.mark.parametrize("size", [1e91, 1e200, 1.7e308, math.inf, math.nan])
def test_a_row_that_is_too_far_out_counts_as_missing(size: float) -> None:
    world, rest = _plain(2), _others("ordinary", 2)
    found = [
        _totals(replace(world, radii=(1.0,) * _CELLS), _table([*rest, row], 2), _STEPS // 2)
        for row in ((True, [1.0, size]), (True, [-size, 0.0]), (False, [0.0, 0.0]))
    ]
    assert _same(found[0], found[2])
    assert _same(found[1], found[2])


def test_a_replaced_row_changes_nothing_else() -> None:
    world, lift = _WORLDS[3], _STEPS // 2
    table, other = _mixed(300, 3, 1), _mixed(300, 3, 2)
    whole = _totals(world, table, lift)
    for k in (0, 1, 150, 299):
        changed = table.copy()
        changed[k] = other[k]
        found = _totals(world, changed, lift)
        before, after = (_totals(world, rows[k][None], lift) for rows in (table, other))
        expected = {name: whole[name] - before[name] + after[name] for name in whole}
        assert _same(found, expected)


@pytest.mark.parametrize("n", [1, 900, 140_000])
def test_totals_are_the_same_bits_for_any_order_block_slab_cache_and_threads(n: int) -> None:
    world, table = _WORLDS[3], _mixed(n, 3, 3)
    order = np.random.default_rng(1).permutation(n)
    rows = _rows(world, table)
    lift = rows.grid.steps // 2
    whole = _all(rows, world, lift)
    rows.close()

    def again(table: Floats, **change: int) -> bool:
        rows = _rows(world, table, change.get("block"))
        rows._cache_fits = "uncached" not in change
        rows.grid = replace(rows.grid, rows=change.get("slab", rows.grid.rows))
        rows._pool = ThreadPoolExecutor(change.get("threads", 2))
        found = _all(rows, world, lift)
        rows.close()
        return _same(found, whole)

    assert again(np.asfortranarray(table[order]), threads=5)
    assert again(table, uncached=1, slab=2**10, threads=1)
    for block, slab in ((1, 7), (7, 3), (333, 64)) if n <= 900 else ((9973, 2**12),):
        assert again(table[order[::-1]], block=block, slab=slab)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.sampled_from(sorted(_WORLDS)), _row, st.sampled_from(_LIFTS), st.floats(1e-3, 1e3))
def test_no_lifted_row_is_longer_than_its_bound(d: int, row: Row, lift: int, scale: float) -> None:
    world = _WORLDS[d]
    one = _totals(world, _table([row], d), lift, scale)
    traces = [sum(int(matrix[i, i]) for i in range(d + 1)) for matrix in one["lifted"]]
    assert sum(t > 0 for t in traces) <= 1
    assert sum(traces) <= _STEPS**2 + lift**2
    assert _square(one["sum"]) <= _FINE**2
    assert _square(one["long"]) <= _FINE**2


def test_rows_of_any_size_keep_their_direction() -> None:
    world = _plain(2)
    for size in (1e1, 1e50, 1e89):
        rows = _rows(world, _table([(True, [3 * size, 4 * size])], 2))
        found = np.array(rows.sums(world.frames[0], 1.0)[0], dtype=float) / _FINE
        rows.close()
        assert found == pytest.approx([0.6, 0.8], rel=1e-9)


# --- what is left behind -------------------------------------------------------------------------


def test_the_arrays_of_the_source_are_not_changed() -> None:
    table = _mixed(500, 3, 4)
    before = table.copy()
    _totals(_WORLDS[3], table, _STEPS // 2)
    assert np.array_equal(table, before, equal_nan=True)


def test_private_objects_print_no_numbers() -> None:
    world = _WORLDS[2]
    rows = _rows(world, np.column_stack([np.ones(4), np.full((4, 2), 777.125)]))
    found = rows.lifted(world.partition, world.frames, world.radii, 7)
    slabs = list(rows._over(lambda slab: slab))
    for thing in (rows, slabs, slabs[0], found):
        for number in ("777", "array", "True"):
            assert number not in repr(thing)
    rows.close()


def test_a_row_outside_limits_is_not_counted_among_cut_ones() -> None:
    table = np.column_stack([np.ones(6), [9.0, 9.0, 9.0, 0.0, 0.0, 0.0]])
    source = Arrays(table, np.zeros(6), weight=np.array([3.0, 3.0, 1.0, 1.0, 1.0, 3.0]))
    rows, frame = CellRows(source, np.zeros(1), np.ones(1)), CellCoordinates(np.zeros(1), np.eye(1))
    assert rows.sums(frame, 1.0)[2].tolist() == [3, 1]
    assert rows.lifted((), [frame], [1.0], 1).cut.tolist() == [3, 1]
    rows.close()
