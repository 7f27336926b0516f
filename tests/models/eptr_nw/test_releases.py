"""Curves, degrees and values at nodes move by what is claimed when a row is replaced, and no more."""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import optimize, special

from dpstats.accounting.privacy import ApproximatePrivacy, Privacy
from dpstats.mechanism.conditional import WIDENED
from dpstats.mechanism.noise import Noise, SeededNoise
from dpstats.mechanism.release import Release
from dpstats.models.eptr_nw.releases import (
    CURVE_MOVES,
    Features,
    KernelSession,
    degree_levels,
    weighted_move,
)
from dpstats.models.eptr_nw.rows import KernelPlan, kernel
from dpstats.propose_test.curve import gdp_split
from dpstats.propose_test.paper import papers_plan
from dpstats.propose_test.plan import ReleasePlan, plan_release
from dpstats.propose_test.safety import PapersSafety, SafetyLevels, SafetyTest
from tests.mechanism.sources import Arrays, NonPrivateCoins, NonPrivateSilence

_BUDGET = 1.0, 1e-2
_FINE = 2**36


def _grid(*axes: np.ndarray) -> np.ndarray:
    return np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, len(axes))


_RNG = np.random.default_rng(11)
# nodes in scaled units
_NODES = {
    "one": np.array([[1.5]]),
    "a bandwidth apart": _grid(np.arange(6.0)),
    "close": _grid(np.linspace(0, 3, 50)),
    "twins": np.repeat([[0.5], [2.5]], 4, axis=0),
    "apart": np.array([[0.0], [40.0], [80.0]]),
    "plane": _grid(np.arange(4.0), np.arange(3.0)),
    "scattered": _RNG.uniform(0, 3, (30, 3)),
}


@dataclass(frozen=True)
class _Centre:
    """Another public fit: entries of a row only, one operation at a time."""

    slope: float

    def __call__(self, z: np.ndarray) -> np.ndarray:
        out = np.zeros(z.shape[1])
        for row in z:
            out = out + self.slope * row
        return out


@cache
def _features(nodes: str) -> Features:
    return Features.of(_NODES[nodes])


def _phi(nodes: str, points: np.ndarray) -> np.ndarray:
    """Features (m, k) of k points, as a row there enters the curve."""
    found: np.ndarray = _features(nodes).matrix @ kernel(_NODES[nodes], points.T.copy())
    return found


def _longest(nodes: np.ndarray) -> float:
    k = kernel(nodes, np.ascontiguousarray(nodes.T))
    return float(np.sqrt((k**2).sum(axis=0)).max())


def _plan(nodes: np.ndarray, *, longest: float | None = None, slope: float = 0.3) -> KernelPlan:
    d = nodes.shape[1]
    h = np.array([0.5, 3.0, 1.7])[:d]
    low, high = nodes.min(axis=0) - 0.5, nodes.max(axis=0) + 0.5
    return KernelPlan(h, low, high, nodes, _Centre(slope), 1.5, longest)


def _session(
    rows: np.ndarray,
    plan: KernelPlan,
    total: Privacy | ApproximatePrivacy,
    noise: Noise | None = None,
    size: int | None = None,
) -> KernelSession:
    """Rows (alive, x, y) with x in scaled units."""
    x = rows[:, :-1].copy()
    with np.errstate(all="ignore"):
        x[:, 1:] *= plan.bandwidth
    source = Arrays(x, rows[:, -1].copy(), size)
    return KernelSession(source, plan, total, NonPrivateSilence() if noise is None else noise)


_hostile = st.one_of(
    st.floats(-2, 6),
    st.sampled_from(
        [0.0, math.nan, math.inf, -math.inf, 1e308, -1e308, 1e-308, 5e-324, 2.0**70, 63.9, 64.1]
    ),
)
_row = st.tuples(
    st.sampled_from([1.0, 1.0, 1.0, 0.0, math.nan]), st.lists(_hostile, min_size=4, max_size=4)
)
_Row = tuple[float, list[float]]


def _table(kind: str, nodes: np.ndarray, row: _Row) -> np.ndarray:
    d = nodes.shape[1]
    rng = np.random.default_rng(4)
    others = {
        "nobody": np.zeros((0, d + 2)),
        "ordinary": np.column_stack(
            [np.ones(25), nodes[rng.integers(0, len(nodes), 25)], rng.normal(size=25)]
        ),
        "at a node": np.tile([1.0, *nodes[0], 1e9], (7, 1)),
        "hostile": np.tile([1.0, *[1e308, math.nan, -math.inf][:d], 1e308], (5, 1)),
    }[kind]
    alive, values = row
    return np.vstack([others, [alive, *values[:d], values[-1]]])


@cache
def _levels(nodes: str, each: float) -> tuple[np.ndarray, SafetyLevels, ReleasePlan]:
    degree = np.full(len(_NODES[nodes]), each) * np.linspace(1, 1.7, len(_NODES[nodes]))
    levels = degree_levels(degree, _longest(_NODES[nodes]))
    assert levels is not None
    return degree, levels, plan_release(levels.levels, *_BUDGET, noise_sd=1.0)


def _bounded(rows: np.ndarray, plan: KernelPlan, bound: np.ndarray) -> list[Release]:
    """Values at the nodes at given bounds on the degrees: a released degree and no noise of it."""
    with _session(rows, plan, Privacy(1.0, 0.4)) as session:
        released = Release("degrees", bound, 1.0, 1e-12, Privacy(0.5), 0.0)
        session.releases.append(released)
        session.bounded_values(0.5, released, 1e-3)
        return session.releases[1:]


def _check_pair(one: np.ndarray, two: np.ndarray, nodes: str) -> dict[str, float]:
    """Nothing moves by more than is claimed; how much of it was used."""
    plan, features = _plan(_NODES[nodes]), _features(nodes)
    cut = replace(plan, longest=_longest(_NODES[nodes]))
    expected, levels, release_plan = _levels(nodes, 3.0)
    curves, degrees, ratios, values = [], [], [], []
    for rows in (one, two):
        with _session(rows, plan, Privacy(1.0)) as session:
            session.curve(1.0, features)
            above, below, squares = session._rows.totals(squares=True)
            assert (abs(above) <= below).all()
            assert (squares >= 0).all()
            assert (squares <= below).all()
            curves += session.releases
        with _session(rows, cut, Privacy(1.0)) as session:
            session.degrees(1.0)
            degrees += session.releases
        with _session(rows, cut, ApproximatePrivacy(*_BUDGET)) as session:
            tested, found = session.tested_values(SafetyTest(release_plan, levels), expected)
            assert (abs(found.value) <= 1 + 1e-5).all()
            values.append(tested.release)
            below = session._rows.totals()[1]
            ratios.append(float(np.min(below.astype(float) / _FINE / expected)))
    used = {}
    for name, pair in (("curve", curves), ("degrees", degrees)):
        assert pair[0].sensitivity == pair[1].sensitivity
        assert np.isfinite(pair[0].value).all()
        moved = float(np.linalg.norm(pair[0].value - pair[1].value))
        assert moved <= pair[0].sensitivity
        used[name] = moved / pair[0].sensitivity
    at = sorted(levels.at(ratio) for ratio in ratios)
    assert at[1] - at[0] <= 1
    bound = levels.levels.same_at(at[0]) if at[0] == at[1] else levels.levels.up_at(at[0])
    moved = float(np.linalg.norm(values[0].value - values[1].value))
    assert moved <= bound
    exact = weighted_move(_longest(_NODES[nodes]), expected, max(ratios))
    assert moved <= exact * (1 + 1e-6)
    used["tested"] = moved / exact
    # bounds that hold for one of the two, node by node
    lower = np.maximum(degrees[0].value, degrees[1].value)
    if (lower > 1e-3).any():
        found = [_bounded(rows, cut, lower * (1 - 1e-9)) for rows in (one, two)]
        if found[0]:
            moved = float(np.linalg.norm(found[0][0].value - found[1][0].value))
            assert moved <= found[0][0].sensitivity
            used["bounded"] = moved / found[0][0].sensitivity
    return used


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.sampled_from(sorted(_NODES)),
    st.sampled_from(["nobody", "ordinary", "at a node", "hostile"]),
    _row,
    _row,
)
@example("one", "nobody", (1.0, [1.5, 0, 0, 1e9]), (1.0, [1.5, 0, 0, -1e9]))
@example("close", "ordinary", (1.0, [1.5, 0, 0, 1e9]), (1.0, [1e308, 0, 0, -1e9]))
@example("plane", "at a node", (1.0, [1e308, 1e308, 0, 1e9]), (0.0, [1.0, 1.0, 0, -1e9]))
@example("scattered", "hostile", (1.0, [math.nan, 1, 1, 1]), (1.0, [math.inf, 1, 1, 1]))
@example("twins", "nobody", (1.0, [0.5, 0, 0, math.inf]), (1.0, [2.5, 0, 0, math.nan]))
def test_replacing_a_row_moves_nothing_by_more_than_is_claimed(
    nodes: str, others: str, first: _Row, second: _Row
) -> None:
    one, two = (_table(others, _NODES[nodes], row) for row in (first, second))
    _check_pair(one, two, nodes)


@pytest.mark.parametrize("nodes", sorted(_NODES))
def test_directed_pairs_move_nothing_by_more_than_is_claimed(nodes: str) -> None:
    points = _NODES[nodes]
    rng = np.random.default_rng(6)
    most: dict[str, float] = {}
    for trial in range(30):
        count = int(rng.integers(0, 6))
        at = points[rng.integers(0, len(points), count)]
        sign = rng.choice([-1e9, 1e9])  # everyone else on one side, the row on the other
        rows = np.column_stack([np.ones(count), at, np.full(count, sign)])
        x, y = points[rng.integers(0, len(points), 2)]
        other = {0: (x, sign), 1: (y, -sign), 2: (y, sign), 3: (x + 0.01, -sign), 4: (x, sign)}
        alive = float(trial % 5 < 4)
        pair = [[1.0, *x, -sign], [alive, *other[trial % 5][0], other[trial % 5][1]]]
        one, two = (np.vstack([rows, p]) for p in pair)
        for name, ratio in _check_pair(one, two, nodes).items():
            most[name] = max(most.get(name, 0.0), ratio)
    # the opposite response at a node: the price of the jitter is all that is left
    assert most["curve"] > 0.9
    assert most["degrees"] > 0.65


def test_the_curve_comes_as_the_image_of_the_sums_and_a_row_attains_its_sensitivity() -> None:
    nodes = _NODES["a bandwidth apart"]
    features = _features("a bandwidth apart")
    # cut to [0, 3], and squares at 3: the lowest response has square 0, the highest 1
    plan = replace(_plan(nodes, slope=0.0), middle=1.5, square=3.0)
    sums = []
    for y in (1e9, 0.0):
        rows = np.array([[1.0, 2.3, 0.4], [1.0, 3.0, y]])
        with _session(rows, plan, Privacy(1.0)) as session:
            curve = session.curve(1.0, features)
            sensitivity = session.releases[0].sensitivity
        k = kernel(nodes, rows[:, 1][None, :])
        above = features.matrix @ (k @ np.clip((rows[:, 2] - 1.5) / 1.5, -1, 1))
        squares = features.matrix @ (k @ np.minimum(rows[:, 2] / 3, 1) ** 2)
        assert curve.above == pytest.approx(above, abs=1e-8)
        assert curve.below == pytest.approx(features.matrix @ k.sum(axis=1), abs=1e-8)
        assert curve.squares == pytest.approx(squares, abs=1e-8)
        sums.append(np.concatenate([curve.above, 61 / 64 * curve.below, 3 / 8 * curve.squares]))
    moved = float(np.linalg.norm(sums[0] - sums[1]))
    assert 0.999 * sensitivity < moved <= sensitivity


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.sampled_from(["nobody", "ordinary", "hostile"]), _row, _row, st.integers(-1060, 990))
@example("nobody", (1.0, [1.0, 0, 0, 3.0]), (1.0, [1.0, 0, 0, -3.0]), 0)
@example("ordinary", (1.0, [1.0, 0, 0, math.inf]), (1.0, [1.0, 0, 0, math.nan]), 0)
def test_a_row_is_in_one_bin_of_residuals_at_most(
    others: str, first: _Row, second: _Row, lowest: int
) -> None:
    nodes = _NODES["a bandwidth apart"]
    found = []
    for row in (first, second):
        rows = _table(others, nodes, row)
        with _session(rows, _plan(nodes), Privacy(1.0)) as session:
            release = session.lengths(1.0, lowest, 20, 4)
            counts = np.rint(release.value)
        assert release.value == pytest.approx(counts, abs=1e-6)
        assert counts.sum() <= len(rows)
        found.append(counts)
    away = found[0] - found[1]
    assert np.abs(away).sum() <= 2
    assert np.linalg.norm(away) <= release.sensitivity * (1 + 1e-9)


def test_residuals_are_counted_by_sign_and_size() -> None:
    nodes = _NODES["one"]
    values = [0.0, 1.1, -1.1, -1.3, 5.0, 1e300, -1e-300]
    rows = np.array([[1.0, 1.5, y] for y in values])
    with _session(rows, replace(_plan(nodes, slope=0.0), middle=7.0), Privacy(1.0)) as session:
        above, below = np.rint(session.lengths(1.0, 0, 4, 2).value).reshape(2, -1)
    assert above.tolist() == [1, 0, 0, 0, 0, 0, 0, 0, 1, 1]
    assert below.tolist() == [2, 1, 0, 0, 0, 0, 0, 0, 0, 0]


# --- features ---------------------------------------------------------------------------------


@pytest.mark.parametrize("nodes", sorted(_NODES))
def test_no_point_has_longer_features_than_is_claimed(nodes: str) -> None:
    points, features = _NODES[nodes], _features(nodes)
    rng = np.random.default_rng(1)
    low, high = points.min(axis=0), points.max(axis=0)
    x = rng.uniform(low - 4, high + 4, (3000, points.shape[1]))
    x = np.vstack(
        [x, points, points + 1e-6, points + 0.5, (points + points[::-1]) / 2, 0 * low + 1e3]
    )
    image = np.linalg.norm(_phi(nodes, x), axis=0)
    assert image.max() <= features.length

    def length(v: np.ndarray) -> float:
        return -float(np.linalg.norm(_phi(nodes, v[None, :])))

    best = optimize.minimize(length, x[int(np.argmax(image))], method="Nelder-Mead")
    assert -best.fun <= features.length
    # near 1: what the length loses at a node is the jitter's part
    assert features.length <= 1 + 1e-6
    assert -best.fun > 0.999


@pytest.mark.parametrize("nodes", sorted(_NODES))
def test_pairs_of_rows_are_within_the_sensitivity_of_the_curve(nodes: str) -> None:
    points, features = _NODES[nodes], _features(nodes)
    rng = np.random.default_rng(2)
    low, high = points.min(axis=0) - 0.5, points.max(axis=0) + 0.5
    k = 4000
    x, y = rng.uniform(low, high, (2, k, points.shape[1]))
    x[: k // 2] = points[rng.integers(0, len(points), k // 2)]
    y[: k // 4] = x[: k // 4] + rng.normal(size=(k // 4, points.shape[1])) * 0.1
    r, s = rng.choice([-1.0, 1.0, 0.0, 0.5], (2, k))
    one, two = _phi(nodes, x), _phi(nodes, y)
    v, w = rng.choice([0.0, 1.0, 0.6], (2, k))
    parts = ((r, s), (61 / 64, 61 / 64), (3 / 8 * v, 3 / 8 * w))
    moved = np.sqrt(sum(((a * one - b * two) ** 2).sum(axis=0) for a, b in parts))
    assert moved.max() <= CURVE_MOVES * features.length


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.integers(0, 2**31), st.sampled_from(sorted(_NODES)), st.integers(0, 95))
def test_exact_is_the_arithmetic_of_integers(seed: int, nodes: str, bits: int) -> None:
    features = _features(nodes)
    rng = np.random.default_rng(seed)
    m = len(features.matrix)
    totals = np.array(
        [
            int(rng.integers(0, 2**62)) * int(rng.integers(-(2**33), 2**33)) >> (95 - bits)
            for _ in range(m)
        ],
        dtype=object,
    )
    if seed % 3 == 0:
        totals[:] = (1 << bits) - 1  # every limb full
    whole = [[int(Fraction(float(v)) * 2**40) for v in row] for row in features.matrix]
    expected = [sum(a * b for a, b in zip(row, totals, strict=True)) for row in whole]
    assert features.exact(totals).tolist() == expected
    assert features.exact(-totals).tolist() == [-v for v in expected]


def test_the_matrix_lies_on_its_grid() -> None:
    for nodes in _NODES:
        entries = _features(nodes).matrix * 2.0**40
        assert (entries == np.rint(entries)).all()
        assert np.abs(entries).max() < 2.0**60


# --- degrees and weights -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("d", "step", "expected"),
    [(1, 1.0, 1.33140), (2, 1.0, 1.77264), (3, 1.0, 2.36010), (1, 0.5, 1.88279)],
)
def test_the_length_of_weights_on_a_grid_has_its_reference_values(
    d: int, step: float, expected: float
) -> None:
    axis = np.arange(-6.0, 6.0 + step / 2, step)
    nodes = _grid(*[axis] * d)
    rng = np.random.default_rng(d)
    points = np.vstack([np.zeros(d), np.full(d, step / 2), rng.uniform(-3, 3, (200, d))])
    lengths = np.linalg.norm(kernel(nodes, np.ascontiguousarray(points.T)), axis=0)
    assert lengths[0] == pytest.approx(expected, abs=5.1e-6)
    assert lengths.max() <= lengths[0] * (1 + 1e-12)  # the supremum is at a node
    theta = sum(math.exp(-((j * step) ** 2)) for j in range(-40, 41))
    assert lengths[0] == pytest.approx(theta ** (d / 2), rel=1e-9)


@pytest.mark.parametrize("longest", [0.3, 1.0, 1.2])
def test_weights_are_cut_to_the_length_that_is_claimed(longest: float) -> None:
    nodes = _NODES["a bandwidth apart"]
    rng = np.random.default_rng(9)
    for x in [*rng.uniform(-1, 7, 30), *nodes[:, 0]]:
        with _session(
            np.array([[1.0, x, 0.7]]), _plan(nodes, longest=longest), Privacy(1.0)
        ) as session:
            weights = session.degrees(1.0).value
            assert np.linalg.norm(weights) <= session._longest
            inside = -1.5 <= x <= 6.5  # the box and one unit more; beyond rows count nowhere
            full = kernel(nodes, np.array([[x]]))[:, 0] * inside
            cut = full * min(1.0, longest / max(float(np.linalg.norm(full)), 1e-9))
            assert weights == pytest.approx(cut, abs=1e-8)


def test_the_sensitivity_of_degrees_is_attained() -> None:
    for nodes, least in (("one", 0.9999), ("apart", 0.9999), ("a bandwidth apart", 0.85)):
        points = _NODES[nodes]
        plan = _plan(points, longest=_longest(points))
        found = []
        for row in ([1.0, *points[0], 0.0], [float(len(points) > 1), *points[-1], 0.0]):
            with _session(np.array([row]), plan, Privacy(1.0)) as session:
                found.append(session.degrees(1.0))
        moved = float(np.linalg.norm(found[0].value - found[1].value))
        assert least * found[0].sensitivity < moved <= found[0].sensitivity


def test_degrees_of_several_nodes_need_a_bound() -> None:
    rows = np.array([[1.0, 0.5, 0.3]])
    with _session(rows, _plan(_NODES["apart"]), Privacy(1.0)) as session:
        with pytest.raises(ValueError, match="bound"):
            session.degrees(0.5)
        assert session.releases == []
    with _session(rows, _plan(_NODES["one"]), Privacy(1.0)) as session:
        assert session.degrees(0.5).sensitivity == pytest.approx(1.0, rel=2e-6)


def _ratio_moves(
    k: np.ndarray, r: np.ndarray, less: np.ndarray, signed: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """f for two rows with weights ``k`` (2, .., m) beside sums of the others; their degrees."""
    degree = less + k
    with np.errstate(all="ignore"):
        f = np.where(degree > 0, (signed * less + k * r[..., None]) / degree, 0.0)
    return f[0] - f[1], degree[0], degree[1]


@pytest.mark.parametrize("m", [1, 2, 5])
def test_no_search_moves_weighted_values_further(m: int) -> None:
    rng = np.random.default_rng(m)
    most = 0.0
    for _ in range(40):
        size = 2000
        k = rng.uniform(0, 1, (2, size, m)) ** rng.choice([0.1, 1.0, 6.0])
        if m > 1:  # rows far apart weigh at different nodes
            k[0, : size // 2, m // 2 :] *= 1e-3
            k[1, : size // 2, : m // 2] *= 1e-3
        longest = float(np.sqrt((k**2).sum(axis=-1)).max())
        r = rng.choice([-1.0, 1.0, 0.3], (2, size))
        less = rng.uniform(0, 1, (size, m)) * rng.choice([0.0, 0.5, 3.0, 50.0], (size, m))
        signed = rng.choice([-1.0, 1.0, 0.0], (size, m))
        degree = rng.uniform(0.2, 3.0, m)
        move, one, two = _ratio_moves(k, r, less, signed)
        ratios = np.maximum((one / degree).min(axis=1), (two / degree).min(axis=1))
        moved = np.linalg.norm(move * degree, axis=1)
        for ratio, found in zip(ratios, moved, strict=True):
            bound = weighted_move(longest, degree, float(ratio)) / WIDENED
            assert found <= bound * (1 + 1e-12)
            most = max(most, found / bound)
    assert most > (0.95 if m == 1 else 0.4)


@pytest.mark.parametrize("count", [1, 5, 300])
def test_the_move_of_weighted_values_is_attained(count: int) -> None:
    # one node: count - 1 others at +1, the row from +1 to -1
    less, k = np.array([[count - 1.0]]), np.ones((2, 1, 1))
    move = _ratio_moves(k, np.array([[1.0], [-1.0]]), less, np.ones((1, 1)))[0]
    bound = weighted_move(1.0, np.array([1.0]), float(count)) / WIDENED
    assert abs(float(move[0, 0])) == pytest.approx(bound, rel=1e-12)
    # two nodes far apart: the row goes from one to the other, against everyone there
    less = np.array([[count - 1.0, count]])
    k = np.array([[[1.0, 0.0]], [[0.0, 1.0]]])
    move, degree, _ = _ratio_moves(k, np.array([[-1.0], [1.0]]), less, np.array([[1.0, -1.0]]))
    assert degree.tolist() == [[count, count]]
    bound = weighted_move(1.0, np.ones(2), float(count)) / WIDENED
    found = float(np.linalg.norm(move))
    assert found <= bound * (1 + 1e-12)
    if count > 1:  # the replacement meets one row more
        assert found >= bound * count / (count + 1)


def test_levels_hold_what_ratios_promise() -> None:
    degree = np.array([12.0, 30.0, 900.0])
    levels = degree_levels(degree, 1.33)
    assert levels is not None
    assert levels.at(1.0) == levels.target
    assert levels.at(1 - 1e-7) == levels.target - 1
    for bad in (math.nan, -1.0, 0.0, -math.inf, levels.first * (1 - 1e-12)):
        assert levels.at(bad) == 0
    assert levels.at(math.inf) >= len(levels.levels.same)
    for ratio in np.linspace(0, 40, 999):
        level = levels.at(float(ratio))
        above = levels.at(float(ratio) + 1 / 12)
        assert above - level in (0, 1)
        if level:
            assert levels.levels.same_at(level) >= weighted_move(1.33, degree, float(ratio))
        if above > level:
            up = weighted_move(1.33, degree, float(ratio) + 1 / 12)
            assert levels.levels.up_at(level) >= up
    assert levels.levels.same_at(0) >= 2 * np.linalg.norm(degree)
    assert degree_levels(np.array([1.5, 40.0]), 1.33) is None


# --- order, spending, records -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "nodes"),
    [(1, "close"), (700, "one"), (700, "close"), (700, "plane"), (140_000, "plane")],
)
def test_results_are_the_same_bits_for_any_order_and_block(n: int, nodes: str) -> None:
    rng = np.random.default_rng(2)
    points, features = _NODES[nodes], _features(nodes)
    d = points.shape[1]
    rows = np.column_stack(
        [rng.random(n) < 0.9, 2 + rng.standard_t(2, (n, d)) * 2, rng.standard_t(2, n)]
    ).astype(float)
    plan = _plan(points, longest=_longest(points) * 0.8)

    def results(rows: np.ndarray, size: int | None) -> list[object]:
        with _session(rows, plan, Privacy(1.0, 1e-3), size=size) as session:
            curve = session.curve(0.5, features)
            degrees = session.degrees(0.2)
            found = session.bounded_values(0.3, degrees, 0.1)
            out = [curve.above, curve.below, degrees.value, found.value, found.noise_sd]
            out += session._rows.totals()
        return [np.asarray(v).tolist() for v in out]

    whole = [repr(v) for v in results(rows, None)]
    order = rng.permutation(n)
    assert [repr(v) for v in results(rows[order], None)] == whole
    for size in (1, 7, 333) if n <= 700 else (9973,):
        assert [repr(v) for v in results(rows[order[::-1]], size)] == whole


def test_rows_that_are_missing_or_broken_count_nowhere() -> None:
    nodes = _NODES["plane"]
    good = np.array([[1.0, 0.5, 0.5, 0.2], [1.0, 1.5, 0.7, -0.4]])
    with _session(good, _plan(nodes), Privacy(1.0)) as session:
        expected = [v.tolist() for v in session._rows.totals()]
    for bad in ([0.0, 0.5, 0.5, 0.3], [1.0, math.nan, 0.5, 0.3], [1.0, 0.5, 0.5, math.nan]):
        with _session(np.vstack([good, bad]), _plan(nodes), Privacy(1.0)) as session:
            assert [v.tolist() for v in session._rows.totals()] == expected


def _sized(total: Privacy | ApproximatePrivacy, nodes: str = "a bandwidth apart") -> KernelSession:
    rng = np.random.default_rng(0)
    points = _NODES[nodes]
    rows = np.column_stack([np.ones(900), rng.uniform(0, 5, 900), rng.normal(size=900)])
    return _session(rows, _plan(points, longest=_longest(points)), total, SeededNoise(1))


def test_bounded_values_are_recorded_and_use_their_slack_once() -> None:
    with _sized(Privacy(2.0, 1e-3)) as session:
        degrees = session.degrees(0.25)
        found = session.bounded_values(0.25, degrees, 1.0)
        assert [r.cost.mu for r in session.releases] == pytest.approx([1.0, 1.0])
        for release in session.releases:
            assert release.noise_sd == pytest.approx(release.sensitivity)
        z = -float(special.ndtri(1e-3 / 6))
        lower = degrees.value - z * degrees.noise_sd
        assert found.noise_sd == pytest.approx(session.releases[1].noise_sd / lower, rel=1e-4)
        assert found.degree is degrees.value
        with pytest.raises(ValueError, match="slack"):
            session.bounded_values(0.25, degrees, 1.0)
        with pytest.raises(ValueError, match="exceed"):
            session.degrees(0.6)
        assert len(session.releases) == 2


def test_nodes_without_rows_are_left_out() -> None:
    rows = np.tile([1.0, 0.0, 0.5], (900, 1))
    points = _NODES["apart"]
    plan = _plan(points, longest=1.0)
    for slack, kept in ((1e-3, [True, False, False]), (0.0, [False] * 3)):
        with _session(rows, plan, Privacy(2.0, slack)) as session:
            found = session.bounded_values(0.5, session.degrees(0.5), 5.0)
            assert (~np.isnan(found.value)).tolist() == kept
            assert (~np.isnan(found.noise_sd)).tolist() == kept
            assert len(session.releases) == 1 + any(kept)


def test_a_curve_spends_its_share() -> None:
    with _sized(Privacy(0.8)) as session:
        features = _features("a bandwidth apart")
        curve = session.curve(0.36, features)
        (release,) = session.releases
        assert release.cost.mu == pytest.approx(0.48)
        assert curve.noise_sd == release.noise_sd
        assert release.noise_sd == pytest.approx(CURVE_MOVES * features.length / 0.48, rel=1e-6)
        assert curve.below_sd == pytest.approx(curve.noise_sd * 64 / 61)
        assert curve.squares_sd == pytest.approx(curve.noise_sd * 8 / 3)
        for share in (0.7, 0.0, math.nan):
            with pytest.raises(ValueError, match="exceed"):
                session.curve(share, features)
        assert len(session.releases) == 1


def test_tested_values_refuse_other_totals_and_anything_beside_them() -> None:
    degree = np.full(6, 200.0)
    levels = degree_levels(degree, 1.33140)
    assert levels is not None
    gdp = plan_release(levels.levels, *_BUDGET, target=levels.target)
    dp = plan_release(levels.levels, *_BUDGET, calibration="dp", target=levels.target)
    paper = papers_plan(0.02, *_BUDGET)
    own, other = Privacy(*gdp_split(*_BUDGET)), ApproximatePrivacy(*_BUDGET)
    refused = [
        (gdp, Privacy(1.0, 1e-3)),
        (gdp, ApproximatePrivacy(1.0, 1e-3)),
        (dp, own),
        (dp, ApproximatePrivacy(0.5, 1e-2)),
    ]
    for plan, total in refused:
        with _sized(total) as session:
            with pytest.raises(ValueError, match="another total"):
                session.tested_values(SafetyTest(plan, levels), degree)
            assert session.releases == []
    with _sized(own, "one") as session, pytest.raises(ValueError, match="another total"):
        session.tested_values(SafetyTest(paper, PapersSafety(200.0, 2, 0.02)))
    ways: list[tuple[str, Privacy | ApproximatePrivacy, Callable[[KernelSession], object]]] = [
        ("a bandwidth apart", own, lambda s: s.tested_values(SafetyTest(gdp, levels), degree)[0]),
        ("a bandwidth apart", other, lambda s: s.tested_values(SafetyTest(dp, levels), degree)[0]),
        (
            "one",
            other,
            lambda s: s.tested_values(SafetyTest(paper, PapersSafety(200.0, 2, 0.02)))[0],
        ),
    ]
    for nodes, total, way in ways:
        with _sized(total, nodes) as session:
            tested = way(session)
            assert session.releases == [tested.release]  # type: ignore[attr-defined]
            assert session.releases[0].cost == total
            for again in (way, lambda s: s.degrees(1e-9)):
                with pytest.raises(ValueError, match="exceed"):
                    again(session)
            assert len(session.releases) == 1
    with _sized(own) as session:
        session.degrees(1e-6)
        with pytest.raises(ValueError, match="exceed"):
            session.tested_values(SafetyTest(gdp, levels), degree)
    with _sized(other) as session, pytest.raises(ValueError, match="one release"):
        session.degrees(0.5)


@pytest.mark.parametrize("count", [0, 5, 7, 8, 30])
def test_the_papers_safety_is_half_the_degree_to_spare(count: int) -> None:
    plan, target = papers_plan(0.8, *_BUDGET), 5.0
    rows = np.tile([1.0, 1.5, 0.9], (count + 1, 1))
    rows[-1, 0] = 0.0
    noise = NonPrivateCoins()
    total = ApproximatePrivacy(*_BUDGET)
    with _session(rows, _plan(_NODES["one"]), total, noise) as session:
        session.tested_values(SafetyTest(plan, PapersSafety(target, 2, 0.8)))
    safety = 2 * special.logit(noise.coins[0]) + plan.margin
    assert safety == pytest.approx(max(count - target - 2, 0.0) / 2, abs=1e-8)


def test_private_objects_print_no_numbers() -> None:
    rows = np.full((4, 3), 777.125)
    with _session(rows, _plan(_NODES["one"]), Privacy(1.0)) as session:
        slabs = list(session._rows._over(lambda s: s))
        for thing in (session, session._rows, slabs):
            assert "777" not in repr(thing)
            assert "array" not in repr(thing)


def test_a_cut_of_squares_at_nothing_leaves_no_row_unbounded() -> None:
    """Residuals of 0 were divided by a cut of 0: one row moved the squares by 10^6 times their noise."""
    nodes = _NODES["one"]
    plan = replace(_plan(nodes), square=0.0)
    rows = np.column_stack([np.ones(60), np.full(60, float(nodes[0, 0])), np.ones(60)])
    for first in (1.0, plan.centre(rows[:1, 1:2].T)[0]):  # a residual, and one of 0
        rows[0, -1] = first
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with _session(rows, plan, Privacy(1.0)) as session:
                curve = session.curve(session.left, Features.of(nodes))
        assert np.isfinite(curve.squares).all()
        assert np.abs(curve.squares).max() < 61
