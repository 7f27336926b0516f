"""What a test of class sizes assumes of neighbours holds for the rows that the session makes."""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import optimize, special, stats

from dpstats.accounting.privacy import ApproximatePrivacy, Privacy
from dpstats.mechanism.conditional import WIDENED
from dpstats.mechanism.noise import Noise, SeededNoise
from dpstats.models.eptr_bayes.releases import ClassSession, count_levels, means_move
from dpstats.propose_test.curve import gdp_split
from dpstats.propose_test.paper import papers_plan
from dpstats.propose_test.plan import ReleasePlan, plan_release
from dpstats.propose_test.safety import PapersSafety, SafetyLevels, SafetyTest
from tests.mechanism.sources import Arrays, NonPrivateCoins, NonPrivateSilence

_BUDGET = 1.0, 1e-2


def _tested(radius: float, scale: float, last: float) -> tuple[np.ndarray, float]:
    """Scaled priors and means without noise, and their claimed sensitivity."""
    x = np.zeros((400, 4))
    x[:200, 0] = x[200:, 1] = x[:, 2] = 1.0
    x[-1, 2] = last
    levels = count_levels(150, radius, scale, 400)
    plan = plan_release(levels.levels, *_BUDGET, target=levels.target)
    with ClassSession(
        Arrays(x, np.zeros(400)),
        np.eye(2),
        np.zeros((2, 2)),
        radius,
        ApproximatePrivacy(*_BUDGET),
        NonPrivateSilence(),
    ) as session:
        tested = session.tested_means(SafetyTest(plan, levels), scale)[0]
    return tested.release.value, tested.release.sensitivity


@pytest.mark.parametrize(
    ("radius", "scale"),
    [(1.0, 1.0), (2.0**-190, 1e-62), (1e-70, 1e-75), (1e70, 1e60)],
)
def test_tested_means_move_by_what_was_planned_for_a_radius_of_any_size(
    radius: float, scale: float
) -> None:
    (one, claimed), (two, _) = (_tested(radius, scale, last) for last in (1e10, -1e10))
    assert np.linalg.norm(one - two) <= claimed


# --- replacing a row of a session ---------------------------------------------------------------

_K, _P, _N = 3, 2, 14
_RNG = np.random.default_rng(5)
_WHITENING = np.array([[1.0, 0.4], [-0.2, 2.0]])
_CENTRES = np.array([[0.0, 0.0], [1.0, -1.0], [30.0, 0.5]])
_hostile = st.one_of(
    st.floats(-5, 5),
    st.sampled_from(
        [0.0, math.nan, math.inf, -math.inf, 1e308, -1e308, 1e-308, 5e-324, 2.0**70, 63.9, 64.1]
    ),
)
# the class of a row (the last: none of them) and its features
_row = st.tuples(st.integers(0, _K), st.lists(_hostile, min_size=_P, max_size=_P))
_Row = tuple[int, list[float]]


def _table(rows: list[_Row]) -> np.ndarray:
    out = np.zeros((len(rows), _K + _P))
    for k, (member, features) in enumerate(rows):
        if member < _K:
            out[k, member] = 1.0
        out[k, _K:] = features
    return out


def _others(kind: str) -> list[_Row]:
    if kind == "ordinary":
        return [(k % _K, list(_RNG.normal(size=_P))) for k in range(_N)]
    if kind == "one class":
        return [(0, [9.0, 0.0])] * _N
    if kind == "opposite rows":
        return [(k % 2, [1e9 * (-1) ** k, 0.0]) for k in range(_N)] + [(2, [0.0, 0.0])] * 2
    if kind == "hostile":
        return [(k % (_K + 1), [math.nan, 1e308][:: 1 - 2 * (k % 2)]) for k in range(_N)]
    return []


_TABLES = {
    kind: _others(kind) for kind in ("ordinary", "one class", "opposite rows", "hostile", "one row")
}


def _session(
    table: np.ndarray,
    radius: float,
    total: Privacy | ApproximatePrivacy,
    noise: Noise | None = None,
    *,
    plain: bool = False,
    size: int | None = None,
    products: bool = False,
) -> ClassSession:
    whitening, centres = (np.eye(_P), 0 * _CENTRES) if plain else (_WHITENING, _CENTRES)
    source = Arrays(table, np.zeros(len(table)), size)
    noise = NonPrivateSilence() if noise is None else noise
    return ClassSession(source, whitening, centres, radius, total, noise, products=products)


@cache
def _levels(radius: float, scale: float, n: int) -> tuple[SafetyLevels, ReleasePlan]:
    levels = count_levels(4, radius, scale, n)
    return levels, plan_release(levels.levels, *_BUDGET, noise_sd=radius)


def _check_pair(
    one: np.ndarray, two: np.ndarray, radius: float, scale: float, plain: bool = False
) -> float:
    """Nothing moves by more than is claimed; the move of the sums, in their sensitivity."""
    sums, means, levels_at = [], [], []
    levels, plan = _levels(radius, scale, len(one))
    for table in (one, two):
        with _session(table, radius, Privacy(1.0), plain=plain) as session:
            found = session.sums(1.0)
            (release,) = session.releases
            sums.append(np.append(found.sums.ravel(), radius * found.counts))
            assert (found.counts == session._rows.totals()[1].astype(float)).all()
            assert np.isfinite(found.sums).all()
            levels_at.append(levels.at(int(found.counts.min())))
        noise = NonPrivateCoins()
        with _session(table, radius, ApproximatePrivacy(*_BUDGET), noise, plain=plain) as session:
            tested, prior, shift = session.tested_means(SafetyTest(plan, levels), scale)
            means.append(tested.release.value)
            step = tested.release.step
            assert prior.sum() <= 1 + _K * step / scale
            assert (np.linalg.norm(shift, axis=1) <= radius + _P * step).all()
        assert noise.coins == [plan.probability(levels_at[-1])]
    assert release.sensitivity == 2 * radius
    moved = float(np.linalg.norm(sums[0] - sums[1]))
    assert moved <= 2 * radius * (1 + 1e-12)
    low, high = sorted(levels_at)
    assert high - low <= 1
    bound = levels.levels.same_at(low) if low == high else levels.levels.up_at(low)
    assert np.linalg.norm(means[0] - means[1]) <= bound
    return moved / (2 * radius)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    st.sampled_from(sorted(_TABLES)),
    _row,
    _row,
    st.sampled_from([1e-3, 1.0, 3.0, 1e5]),
    st.sampled_from([1e-3, 1.0, 50.0]),
)
@example("one row", (0, [1e9, 0.0]), (1, [0.0, 1e9]), 1.0, 1.0)
@example("ordinary", (0, [math.nan, 0.0]), (2, [1e308, -1e308]), 1.0, 50.0)
@example("opposite rows", (0, [-1e9, 0.0]), (1, [1e9, 0.0]), 1.0, 1.0)
@example("hostile", (3, [math.nan, math.inf]), (3, [1e308, 1e308]), 3.0, 1.0)
@example("one class", (3, [0.0, 0.0]), (0, [-1e9, 0.0]), 3.0, 1.0)
def test_replacing_a_row_moves_nothing_by_more_than_is_claimed(
    table: str, first: _Row, second: _Row, radius: float, scale: float
) -> None:
    rows = _TABLES[table]
    _check_pair(_table([*rows, first]), _table([*rows, second]), radius, scale)


def test_directed_pairs_move_nothing_by_more_than_is_claimed() -> None:
    rng = np.random.default_rng(3)
    edge = [[1e9, 0.0], [-1e9, 0.0], [0.0, 1e9], [7e8, 7e8], [0.0, 0.0]]
    for _ in range(80):
        sizes = rng.integers(0, 9, _K)
        signs = rng.choice(5, _K)
        rows = [(k, edge[signs[k]]) for k in range(_K) for _ in range(sizes[k])]
        pair = [(int(rng.integers(0, _K + 1)), edge[rng.integers(5)]) for _ in range(2)]
        one, two = (_table([*rows, row]) for row in pair)
        _check_pair(one, two, 1.0, float(rng.choice([0.01, 1.0, 20.0])), plain=True)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((0, [1e9, 0.0]), (0, [-1e9, 0.0])),  # within a class
        ((0, [1e9, 0.0]), (1, [1e9, 0.0])),  # between two
        ((2, [0.6e9, 0.8e9]), (1, [0.0, -1e9])),
    ],
)
def test_the_sensitivity_of_the_sums_is_attained(first: _Row, second: _Row) -> None:
    rows = _TABLES["ordinary"]
    one, two = _table([*rows, first]), _table([*rows, second])
    assert _check_pair(one, two, 2.5, 1.0, plain=True) == pytest.approx(1.0, rel=1e-6)


def test_a_row_of_no_class_is_nowhere_and_a_broken_one_is_at_its_centre() -> None:
    rows = _TABLES["ordinary"]
    found = []
    for last in (
        (_K, [1.0, 2.0]),
        (_K, [math.nan, 1e308]),
        (1, [math.nan, 0.0]),
        (1, [0, -math.inf]),
    ):
        with _session(_table([*rows, last]), 1.0, Privacy(1.0)) as session:
            found.append([v.tolist() for v in session._rows.totals()])
    assert found[0] == found[1]
    assert found[2] == found[3]
    assert found[2][0] == found[0][0]
    assert np.subtract(found[2][1], found[0][1]).tolist() == [0, 1, 0]


def test_huge_rows_are_cut_in_their_own_direction() -> None:
    sums = []
    for size in (1e3, 1e150, 1e307):
        with _session(_table([(2, [3 * size, 4 * size])]), 2.0, Privacy(1.0), plain=True) as s:
            sums.append(s.sums(1.0).sums[2])
    for found in sums:
        assert found == pytest.approx([1.2, 1.6], rel=1e-9)


# --- second moments ------------------------------------------------------------------------------

_edge = st.sampled_from([[1e9, 0.0], [-1e9, 0.0], [0.0, 1e9], [7e8, 7e8], [7e8, -7e8], [0.0, 0.0]])
_any_row = st.one_of(_row, st.tuples(st.integers(0, _K), _edge))


def _moments_move(
    one: np.ndarray, two: np.ndarray, radius: float, ratio: float, by_class: bool
) -> float:
    """The move of a release of moments in its sensitivity, wider coordinates divided by sqrt(2)."""
    values = []
    groups = _K if by_class else 1
    for table in (one, two):
        with _session(table, radius, Privacy(1.0), products=True) as session:
            session.moments(1.0, by_class, ratio)
            (release,) = session.releases
        values.append(release.value)
        assert np.isfinite(release.value).all()
    off, on, linear = groups * _P * (_P - 1) // 2, groups * _P, _K * _P
    wider = np.repeat([False, True, False, True], [off, on, linear, _K])
    moved = np.abs(values[0] - values[1]) / np.where(wider, math.sqrt(2), 1.0)
    assert release.sensitivity == pytest.approx(1 + ratio**2, rel=1e-6)
    return float(np.linalg.norm(moved)) / release.sensitivity


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.sampled_from(sorted(_TABLES)),
    _any_row,
    _any_row,
    st.sampled_from([1e-3, 1.0, 3.0, 1e5]),
    st.sampled_from([0.1, 0.75, 1.0]),
    st.booleans(),
)
@example("one row", (0, [1e9, 0.0]), (1, [0.0, 1e9]), 1.0, 1.0, True)
@example("one row", (0, [1e9, 0.0]), (1, [1e9, 0.0]), 1.0, 0.1, False)
@example("hostile", (3, [math.nan, math.inf]), (0, [1e308, 1e308]), 3.0, 1.0, False)
def test_replacing_a_row_moves_no_moment_by_more_than_is_claimed(
    table: str, first: _Row, second: _Row, radius: float, ratio: float, by_class: bool
) -> None:
    one, two = (_table([*_TABLES[table], row]) for row in (first, second))
    assert _moments_move(one, two, radius, ratio, by_class) <= 1 + 1e-12


def _sizes(table: np.ndarray) -> tuple[np.ndarray, float]:
    with _session(table, 1.0, Privacy(1.0), products=True) as session:
        sizes = session.sizes(0.5, -10, 32)
        claimed = session.releases[-1].sensitivity
    return np.array([one.counts for one in sizes]), claimed


@given(st.sampled_from(list(_TABLES)), _any_row, _any_row)
@example("one row", (0, [1e9, 0.5]), (1, [0.1, 1e9]))
@example("hostile", (3, [math.nan, math.inf]), (0, [1e308, 1e308]))
def test_replacing_a_row_moves_two_counts_of_each_feature_at_most(
    table: str, first: _Row, second: _Row
) -> None:
    (one, claimed), (two, _) = (_sizes(_table([*_TABLES[table], row])) for row in (first, second))
    assert np.linalg.norm(one - two) <= claimed * (1 + 1e-6)
    assert claimed == pytest.approx(math.sqrt(2 * _P), rel=1e-6)
    assert np.abs(one.sum(axis=1) - two.sum(axis=1)).max() < 1.5
    both = _sizes(_table([(0, [3.0, 70.0])]))[0] - _sizes(_table([(0, [9.0, 5.0])]))[0]
    assert np.linalg.norm(both) == pytest.approx(claimed, rel=1e-6)


@pytest.mark.parametrize(
    ("second", "ratio", "by_class"),
    [
        ((0, [-1e9, 0.0]), 1.0, True),  # within a class, at b = R
        ((0, [-1e9, 0.0]), 1.0, False),
        ((1, [1e9, 0.0]), 0.75, True),  # between two, whatever b is
        ((1, [0.0, 1e9]), 0.75, False),  # all together: between directions
    ],
)
def test_the_sensitivity_of_moments_is_attained(second: _Row, ratio: float, by_class: bool) -> None:
    found = []
    for row in ((0, [1e9, 0.0]), second):
        source = Arrays(_table([row]), np.zeros(1))
        with ClassSession(
            source,
            np.eye(_P),
            np.zeros((_K, _P)),
            1.0,
            Privacy(1.0),
            NonPrivateSilence(),
            products=True,
        ) as session:
            moments = session.moments(1.0, by_class, ratio)
        b = ratio
        squares = np.linalg.norm(moments.squares)
        assert squares == pytest.approx(1.0, rel=1e-5)
        found.append((moments.squares, math.sqrt(2) * b * moments.sums, b**2 * moments.counts))
    parts = [a - c for a, c in zip(*found, strict=True)]
    moved = math.sqrt(sum(float((part**2).sum()) for part in parts) / 2)
    assert moved == pytest.approx(1 + ratio**2, rel=1e-5)


@pytest.mark.parametrize("by_class", [True, False])
def test_moments_are_those_of_the_rounded_rows(by_class: bool) -> None:
    rng = np.random.default_rng(9)
    table = _table([(int(k), list(rng.normal(size=_P))) for k in rng.integers(0, _K + 1, 300)])
    with _session(table, 1.3, Privacy(1.0), products=True) as session:
        found = session.moments(1.0, by_class, 0.75)
        counts = session._rows.products(by_class)[2]
    z = table[:, _K:] @ _WHITENING - table[:, :_K] @ _CENTRES
    z *= np.minimum(1, 1.3 / np.linalg.norm(z, axis=1))[:, None]
    rows = [z[table[:, k] > 0] for k in range(_K)]
    squares = np.array([r.T @ r for r in rows])
    assert found.counts == pytest.approx([len(r) for r in rows])
    assert counts.tolist() == [len(r) for r in rows]
    assert found.sums == pytest.approx(np.array([r.sum(axis=0) for r in rows]), abs=1e-3)
    expected = squares if by_class else squares.sum(axis=0, keepdims=True)
    assert found.squares == pytest.approx(expected, abs=1e-3)


def test_noise_of_moments_is_wider_where_the_proof_divides() -> None:
    # 400 seeds: quantiles at 1e-8 of chi-squares of their normal errors, twelve of them
    table = _table(_TABLES["ordinary"])
    with _session(table, 1.0, Privacy(1.0), products=True) as session:
        exact = session.moments(1.0, True, 0.75)
    errors = []
    for seed in range(400):
        with _session(table, 1.0, Privacy(1.0), SeededNoise(seed), products=True) as session:
            found = session.moments(1.0, True, 0.75)
        squares = (found.squares - exact.squares)[0] / found.squares_sd
        errors.append(
            [
                squares[0, 1],
                squares[0, 0] / math.sqrt(2),
                (found.sums - exact.sums)[1, 0] / found.sums_sd,
                (found.counts - exact.counts)[2] / found.counts_sd,
            ]
        )
    low, high = stats.chi2.ppf([1e-8, 1 - 1e-8], 400)
    spread = (np.array(errors) ** 2).sum(axis=0)
    assert (low < spread).all()
    assert (spread < high).all()
    b, unit = 0.75, 1 + 0.75**2
    assert found.squares_sd == pytest.approx(unit, rel=1e-6)
    assert found.sums_sd == pytest.approx(unit / b, rel=1e-6)
    assert found.counts_sd == pytest.approx(math.sqrt(2) * unit / b**2, rel=1e-6)


def test_moments_need_rows_that_were_rounded_for_them() -> None:
    table = _table(_TABLES["ordinary"])
    with _session(table, 1.0, Privacy(1.0)) as session:
        with pytest.raises(ValueError, match="not rounded for products"):
            session.moments(1.0, True, 0.75)
        assert session.releases == []
    with _session(table, 1.0, Privacy(1.0), products=True) as session:
        with pytest.raises(ValueError, match="rounded for products"):
            session.sums(0.5)
        session.moments(0.4, False, 0.75)
        with pytest.raises(ValueError, match="exceed"):
            session.moments(0.7, False, 0.75)


# --- the change of means -------------------------------------------------------------------------


def _means_changes(
    counts: np.ndarray, ends: np.ndarray, rows: np.ndarray, scale: float, n: int
) -> np.ndarray:
    """Change of (scale priors, means) when a row leaves class 0 for class 1, in one dimension, R = 1.

    ``counts`` (2,) before; the other rows of the classes sum to their number times ``ends`` (.., 2).
    """
    out = np.zeros(np.broadcast_shapes(ends.shape[:-1], rows.shape[:-1]))
    for k, (before, after) in enumerate(((counts[0], counts[0] - 1), (counts[1], counts[1] + 1))):
        rest = min(before, after)
        total = rest * ends[..., k]
        small = total / rest if rest else np.zeros_like(total)
        large = (total + rows[..., k]) / (rest + 1)
        out = out + (small - large) ** 2
    return np.sqrt(out + 2 * (scale / n) ** 2)


@pytest.mark.parametrize("count", [1, 2, 3, 10, 400])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 300.0])
def test_the_change_of_means_is_an_exact_supremum(count: int, scale: float) -> None:
    n = 4 * count + 7
    bound = means_move(count, 1.0, scale, n) / WIDENED
    rng = np.random.default_rng(count)
    best = 0.0
    ends, rows = rng.uniform(-1, 1, (4000, 2)), rng.uniform(-1, 1, (4000, 2))
    ends[:2000], rows[1000:3000] = np.sign(ends[:2000]), np.sign(rows[1000:3000])
    for before in range(max(count - 1, 1), count + 4):
        for into in range(max(count - 2, 0), count + 4):
            counts = np.array([before, into])
            if max(min(before, into), min(before - 1, into + 1)) < count:
                continue  # N is the smallest class of that neighbour whose smallest is larger
            best = max(best, float(_means_changes(counts, ends, rows, scale, n).max()))
    assert best <= bound * (1 + 1e-12)
    if count > 1:  # a class of one row that loses it moves by R, not by 2 R
        assert best >= bound * (1 - 1e-9)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.integers(0, 2**31), st.integers(2, 4), st.integers(1, 3))
def test_no_search_moves_means_further(seed: int, k: int, p: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(k, 30))
    label = rng.integers(0, k, n)
    x = rng.normal(size=(n, p)) * 10.0 ** rng.integers(-1, 2)
    x /= np.maximum(np.linalg.norm(x, axis=1), 1.0)[:, None]
    scale = float(rng.choice([0.0, 1.0, 10.0]))

    def statistic(label: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, int]:
        sums = np.array([x[label == c].sum(axis=0) for c in range(k)])
        counts = np.array([(label == c).sum() for c in range(k)])
        means = sums / np.maximum(counts, 1)[:, None]
        return np.append(means.ravel(), scale * counts / n), int(counts.min())

    one, low = statistic(label, x)
    for _ in range(20):
        i = rng.integers(n)
        other, y = label.copy(), x.copy()
        other[i] = rng.integers(0, k)
        mean = x[label == label[i]].mean(axis=0)
        direction = rng.normal(size=p) if rng.random() < 0.5 else -mean
        y[i] = direction / max(float(np.linalg.norm(direction)), 1e-9)
        two, high = statistic(other, y)
        assert np.linalg.norm(one - two) <= means_move(max(low, high), 1.0, scale, n)


def test_the_change_falls_with_the_count_and_never_above_two_means() -> None:
    moves = [means_move(count, 2.0, 0.5, 100) for count in range(60)]
    assert (np.diff(moves) <= 0).all()
    assert moves[0] == pytest.approx(math.sqrt(8 * 4 + 2 * (0.5 / 100) ** 2), rel=1e-5)

    def change(v: np.ndarray) -> float:
        two = np.clip(v, -1, 1)
        return -math.sqrt((two[0] - two[1]) ** 2 + (two[2] - two[3]) ** 2) * 2

    ends = optimize.minimize(change, np.array([0.2, -0.1, 0.3, -0.2]), method="Nelder-Mead")
    assert -ends.fun == pytest.approx(math.sqrt(8 * 4), rel=1e-6)


def test_levels_hold_what_counts_promise() -> None:
    for target in (1, 2, 7, 300, 301, 5000):
        levels = count_levels(target, 1.5, 2.0, 20_000)
        assert levels.at(target) == levels.target
        assert levels.value(levels.target) == target
        for count in [*range(max(target - 310, 0), target + 320), 10**9]:
            level = levels.at(count)
            assert levels.at(count + 1) - level in (0, 1)
            assert level == 0 or count == levels.value(level)
            # both at this level; at this one and the next: N is the larger count
            exact = means_move(count if level else 0, 1.5, 2.0, 20_000)
            assert levels.levels.same_at(level) >= exact
            exact = means_move(count + 1, 1.5, 2.0, 20_000)
            if count >= levels.first - 1:
                assert levels.levels.up_at(level) >= exact


def test_the_shift_of_the_means_is_attained_by_rows_of_a_session() -> None:
    count = 40
    rows = [(0, [1e9, 0.0])] * (count - 1) + [(1, [1e9, 0.0])] * count + [(2, [0.0, 0.0])] * count
    one, two = _table([*rows, (0, [-1e9, 0.0])]), _table([*rows, (1, [-1e9, 0.0])])
    levels = count_levels(count, 1.0, 3.0, len(one))
    plan = plan_release(levels.levels, *_BUDGET, noise_sd=1.0)
    found = []
    for table in (one, two):
        with _session(table, 1.0, ApproximatePrivacy(*_BUDGET), plain=True) as session:
            found.append(session.tested_means(SafetyTest(plan, levels), 3.0)[0].release.value)
    bound = levels.levels.up_at(levels.at(count - 1))
    moved = float(np.linalg.norm(found[0] - found[1]))
    assert bound * (1 - 2e-6) < moved <= bound


# --- exact arithmetic, order, spending -----------------------------------------------------------


def test_means_and_priors_are_those_of_the_rounded_rows() -> None:
    rng = np.random.default_rng(8)
    table = _table([(int(k), list(rng.normal(size=_P))) for k in rng.integers(0, _K + 1, 200)])
    levels, plan = _levels(1.3, 0.7, 200)
    with _session(table, 1.3, ApproximatePrivacy(*_BUDGET)) as session:
        tested, prior, shift = session.tested_means(SafetyTest(plan, levels), 0.7)
        sums, counts = session._rows.totals()
        fine = session._rows.grid.fine
    step = tested.release.step
    for k in range(_K):
        assert abs(Fraction(float(prior[k])) - Fraction(int(counts[k]), 200)) <= Fraction(step) * 2
        for j in range(_P):
            exact = Fraction(int(sums[k, j]), int(counts[k])) * Fraction(1.3) / fine
            assert abs(Fraction(float(shift[k, j])) - exact) <= Fraction(step)
    z = table[:, _K:] @ _WHITENING - table[:, :_K] @ _CENTRES
    z *= np.minimum(1, 1.3 / np.linalg.norm(z, axis=1))[:, None]
    for k in range(_K):
        expected = z[table[:, k] > 0].mean(axis=0)
        assert shift[k] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("n", [1, 700, 140_000])
def test_results_are_the_same_bits_for_any_order_and_block(n: int) -> None:
    rng = np.random.default_rng(2)
    table = np.zeros((n, _K + _P))
    member = rng.integers(0, _K + 1, n)
    for k in range(_K):
        table[member == k, k] = 1.0
    table[:, _K:] = rng.standard_t(2, size=(n, _P)) * [1.0, 30.0]
    levels, plan = _levels(1.5, 2.0, n)

    def results(table: np.ndarray, size: int | None) -> list[object]:
        with _session(table, 1.5, Privacy(1.0), size=size) as session:
            found = session.sums(1.0)
            out: list[object] = [found.sums, found.counts, *session._rows.totals()]
        with _session(table, 1.5, Privacy(1.0), size=size, products=True) as session:
            moments = session.moments(0.5, True, 0.75)
            out += [moments.squares, moments.sums, *session._rows.products(False)]
        with _session(table, 1.5, ApproximatePrivacy(*_BUDGET), size=size) as session:
            out += session.tested_means(SafetyTest(plan, levels), 2.0)[1:]
        return [np.asarray(v).tolist() for v in out]

    whole = results(table, None)
    order = rng.permutation(n)
    assert results(np.asfortranarray(table[order]), None) == whole
    for size in (1, 7, 333) if n <= 700 else (9973,):
        assert results(table[order[::-1]], size) == whole


def _sized(total: Privacy | ApproximatePrivacy) -> ClassSession:
    rng = np.random.default_rng(0)
    table = _table([(k % _K, list(rng.normal(size=_P))) for k in range(300)])
    return _session(table, 1.0, total, SeededNoise(1))


def test_sums_spend_their_share_and_are_recorded() -> None:
    with _sized(Privacy(0.8)) as session:
        session.sums(0.36)
        session.sums(0.64)
        assert [r.cost.mu for r in session.releases] == pytest.approx([0.48, 0.64])
        for release in session.releases:
            assert release.noise_sd == pytest.approx(2.0 / release.cost.mu)
        with pytest.raises(ValueError, match="exceed"):
            session.sums(1e-6)
        assert len(session.releases) == 2
    for share in (0.0, -0.5, math.nan, 1.1):
        with _sized(Privacy(0.8)) as session, pytest.raises(ValueError, match="exceed"):
            session.sums(share)


def test_tested_means_refuse_other_totals_and_anything_beside_them() -> None:
    levels = count_levels(80, 1.0, 1.0, 300)
    gdp = plan_release(levels.levels, *_BUDGET, target=levels.target)
    dp = plan_release(levels.levels, *_BUDGET, calibration="dp", target=levels.target)
    paper = papers_plan(0.2, *_BUDGET)
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
                session.tested_means(SafetyTest(plan, levels), 1.0)
            assert session.releases == []
    with _sized(own) as session, pytest.raises(ValueError, match="another total"):
        session.tested_means(SafetyTest(paper, PapersSafety(80, 1, 0.2)))
    ways: list[tuple[Privacy | ApproximatePrivacy, Callable[[ClassSession], object]]] = [
        (own, lambda s: s.tested_means(SafetyTest(gdp, levels), 1.0)[0]),
        (other, lambda s: s.tested_means(SafetyTest(dp, levels), 1.0)[0]),
        (other, lambda s: s.tested_means(SafetyTest(paper, PapersSafety(80, 1, 0.2)))[0]),
    ]
    for total, way in ways:
        with _sized(total) as session:
            tested = way(session)
            assert session.releases == [tested.release]  # type: ignore[attr-defined]
            assert session.releases[0].cost == total
            for again in (way, lambda s: s.sums(1e-9)):
                with pytest.raises(ValueError, match="exceed"):
                    again(session)
            assert len(session.releases) == 1
    with _sized(own) as session:
        session.sums(1e-6)
        with pytest.raises(ValueError, match="exceed"):
            session.tested_means(SafetyTest(gdp, levels), 1.0)
    with _sized(other) as session, pytest.raises(ValueError, match="one release"):
        session.sums(0.5)


@pytest.mark.parametrize("spare", [-5, 0, 1, 2, 30])
def test_the_papers_safety_is_the_smallest_count_to_spare(spare: int) -> None:
    plan, target = papers_plan(0.2, *_BUDGET), 5
    count = max(target + spare, 0)
    rows = [(0, [1.0, 0.0])] * count + [(1, [0.0, 1.0])] * 40 + [(2, [0.0, 1.0])] * 40
    noise = NonPrivateCoins()
    with _session(_table(rows), 1.0, ApproximatePrivacy(*_BUDGET), noise) as session:
        session.tested_means(SafetyTest(plan, PapersSafety(target, 1, 0.2)))
    safety = 2 * special.logit(noise.coins[0]) + plan.margin
    assert safety == pytest.approx(max(spare - 1.0, 0.0), abs=1e-9)


def test_private_objects_print_no_numbers() -> None:
    with _session(np.full((4, _K + _P), 777.125), 1.0, Privacy(1.0)) as session:
        slabs = list(session._rows._over(lambda s: s))
        for thing in (session, session._rows, slabs):
            assert "777" not in repr(thing)
            assert "array" not in repr(thing)
