"""What a test assumes of neighbours holds for the rows and solutions that the session makes."""

import math
from functools import cache

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import linalg, optimize, special

from dpstats.accounting.privacy import ApproximatePrivacy, Privacy
from dpstats.mechanism.noise import SeededNoise
from dpstats.mechanism.release import Release
from dpstats.models.eptr_linear.releases import (
    CutLimits,
    LeastSquaresSession,
    StepCuts,
    StepSession,
    diameter_with_floats,
    eigenvalue_levels,
    lower_eigenvalue,
    score_diameter,
)
from dpstats.propose_test.curve import gdp_split
from dpstats.propose_test.paper import papers_plan
from dpstats.propose_test.plan import ReleasePlan, plan_release
from dpstats.propose_test.safety import PapersSafety, SafetyLevels, SafetyTest
from dpstats.score_rounds.rows import LeastSquares
from tests.mechanism.sources import Arrays, NonPrivateCoins, NonPrivateSilence

_BUDGET = 1.0, 1e-2


def _tested(limits: CutLimits, last: tuple[float, float, float]) -> tuple[np.ndarray, float, float]:
    """The solution that a tested release adds noise to, its noise and its claimed sensitivity."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(1000, 2)), rng.normal(size=1000)
    x[-1], y[-1] = last[:2], last[2]
    levels = eigenvalue_levels(50.0 * limits.radius**2, 1000, 2, limits)
    assert levels is not None
    plan = plan_release(levels.levels, *_BUDGET, target=levels.target)
    with LeastSquaresSession(
        Arrays(x, y),
        np.eye(2),
        np.zeros(2),
        limits,
        ApproximatePrivacy(*_BUDGET),
        NonPrivateSilence(),
    ) as session:
        release = session.tested_solution(SafetyTest(plan, levels)).release
    return release.value, release.noise_sd, release.sensitivity


@pytest.mark.parametrize(
    "limits",
    [
        CutLimits(1.0, 1.0, 1.0),
        CutLimits(1.0, 2.0**-190, 2.0**-190),
        CutLimits(1.0, 1e-70, 1e-70),
        CutLimits(1.0, 1e-140, 1e-140),
        CutLimits(1.0, 1e70, 1e70),
    ],
)
def test_a_tested_solution_moves_by_what_was_planned_for_limits_of_any_size(
    limits: CutLimits,
) -> None:
    (one, sd, claimed), (two, _, _) = (_tested(limits, (0.7, 0.7, y)) for y in (1e80, -1e80))
    assert np.linalg.norm(one - two) <= claimed
    assert sd >= claimed / 2


@pytest.mark.parametrize("radius", [1.0, 2.0**-190, 1e-61, 1e-62])
def test_levels_of_neighbours_differ_by_one_at_most_for_a_radius_of_any_size(radius: float) -> None:
    limits = CutLimits(radius, 1.0, 1.0)
    cut = limits.radius
    levels = eigenvalue_levels(300 * cut**2, 1000, 1, limits)
    assert levels is not None
    found = []
    for last in (1.0, 0.0):
        x = np.zeros((1000, 1))
        x[:299], x[-1] = 1.0, last
        with LeastSquaresSession(
            Arrays(x, np.zeros(1000)),
            np.eye(1),
            np.zeros(1),
            limits,
            ApproximatePrivacy(*_BUDGET),
            NonPrivateSilence(),
        ) as session:
            found.append(levels.at(session._solved()[1]))
    assert abs(found[0] - found[1]) <= 1


# --- the diameter of the scores ----------------------------------------------------------------

_SETTINGS = [(1.0, 1.0, 1.0), (2.0, 0.5, 0.7), (1.0, 3.0, 1.0), (0.5, 0.1, 2.0), (3.0, 4.0, 0.05)]


def test_the_diameter_has_its_reference_values() -> None:
    assert score_diameter(2, 1, 1, 1) == pytest.approx(2.598076211, abs=1e-9)
    assert score_diameter(2, 1, 1, 1) == pytest.approx(1.5 * math.sqrt(3), rel=1e-14)
    assert score_diameter(1, 1, 1, 1) == pytest.approx(2.25, rel=1e-14)
    assert score_diameter(2, 2, 0.5, 0.7) == pytest.approx(4.293461, abs=1e-6)
    assert score_diameter(2, 1, 3, 1) == pytest.approx(6.297603, abs=1e-6)
    # few coefficients: twice the longest row times response; it never falls as limits grow
    assert score_diameter(5, 2.0, 3.0, 1e-9) == pytest.approx(12.0, rel=1e-8)
    for d in (1, 2):
        values = [score_diameter(d, 1.0, 1.0, c) for c in np.geomspace(1e-6, 1e6, 200)]
        assert (np.diff(values) >= 0).all()


def _ball(points: np.ndarray, radius: float) -> np.ndarray:
    """Points of a space into a ball: those outside to its edge."""
    size = np.linalg.norm(points, axis=-1, keepdims=True)
    return points * np.minimum(1.0, radius / np.maximum(size, 1e-300))


def _score_distance(
    free: np.ndarray, d: int, radius: float, response: float, coef: float
) -> np.ndarray:
    """|z (z't - y) - v (v't - w)| at free parameters (.., 3 d + 2), brought inside the limits."""
    z, v = _ball(free[..., :d], radius), _ball(free[..., d : 2 * d], radius)
    t = _ball(free[..., 2 * d : 3 * d], coef)
    y, w = (np.clip(free[..., k], -response, response) for k in (-2, -1))
    one = z * ((z * t).sum(-1) - y)[..., None]
    two = v * ((v * t).sum(-1) - w)[..., None]
    return np.asarray(np.linalg.norm(one - two, axis=-1))


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize(("radius", "response", "coef"), _SETTINGS)
def test_the_diameter_is_the_supremum_of_a_search(
    d: int, radius: float, response: float, coef: float
) -> None:
    rng = np.random.default_rng(d)
    bound = score_diameter(d, radius, response, coef)
    # rows on the edge and inside it, coefficients and responses inside their limits and at them
    scale = np.repeat([radius, radius, coef, response], [d, d, d, 2])
    free = rng.normal(size=(20_000, 3 * d + 2)) * scale * rng.choice([0.3, 1.0, 4.0], (20_000, 1))
    found = _score_distance(free, d, radius, response, coef)
    assert found.max() <= bound * (1 + 1e-12)
    best = 0.0
    for start in free[np.argsort(found)[-3:]]:
        ends = optimize.minimize(
            lambda v: -float(_score_distance(v, d, radius, response, coef)),
            start,
            method="Nelder-Mead",
            options={"maxiter": 3000, "xatol": 1e-9, "fatol": 1e-12, "adaptive": True},
        )
        best = max(best, -float(ends.fun))
    assert best <= bound * (1 + 1e-12)
    assert best >= bound * (1 - 1e-3)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_projected_solutions_move_by_the_diameter_over_the_eigenvalue(d: int) -> None:
    rng = np.random.default_rng(d)
    largest, both_outside = 0.0, 0
    for radius, response, coef in _SETTINGS:
        bound = score_diameter(d, radius, response, coef)
        for rows in (1, 2, 5, 25):
            k = 2000
            x = rng.normal(size=(k, rows + 2, d)) * rng.choice([0.1, 1.0, 9.0], (k, rows + 2, 1))
            x = _ball(x * radius, radius)
            x[: k // 4, :rows, -1] *= 0.1  # a direction that few rows know
            y = response * rng.choice([-1.0, 1.0, 0.5, 0.0], (k, rows + 2))
            steep = k // 4, k // 2
            y[steep[0] : steep[1], :rows] = np.sign(x[steep[0] : steep[1], :rows, 0]) * response
            common = np.einsum("kmi,kmj->kij", x[:, :rows], x[:, :rows])
            moments = np.einsum("kmi,km->ki", x[:, :rows], y[:, :rows])
            solved, smallest = [], []
            for new in (rows, rows + 1):
                z = x[:, new]
                gram = common + z[:, :, None] * z[:, None, :]
                smallest.append(np.linalg.eigvalsh(gram)[:, 0])
                gram = gram + (1e-12 * radius**2) * np.eye(d)
                right = moments + z * y[:, new, None]
                solved.append(np.linalg.solve(gram, right[..., None])[..., 0])
            least = np.minimum(*smallest)
            sure = least > 1e-6 * radius**2
            moved = np.linalg.norm(_ball(solved[0], coef) - _ball(solved[1], coef), axis=1)
            assert (moved <= 2 * coef * (1 + 1e-9)).all()
            ratio = (moved * least / bound)[sure]
            assert (ratio <= 1 + 1e-5).all()
            largest = max(largest, float(ratio.max(initial=0.0)))
            outside = [np.linalg.norm(s, axis=1) > coef for s in solved]
            both_outside += int((outside[0] & outside[1] & sure).sum())
    assert both_outside > 2000
    assert largest > 0.5


# --- replacing a row of a session ---------------------------------------------------------------

_WHITENING = np.array([[1.0, 0.2], [0.1, 0.7]])
_SHIFT = np.array([0.3, -1.0])
_RNG = np.random.default_rng(7)
_EDGE = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0], [0.7, 0.7]]) * 1e3
# rows (x1, x2, y) of the other members of the table
_TABLES = {
    "ordinary": np.column_stack([_RNG.normal(size=(30, 2)), _RNG.normal(size=30)]),
    "one row": np.zeros((0, 3)),
    "tiny": np.array([[0.1, 0.0, 1.0], [0.0, 0.2, -1.0]]),
    "singular": np.column_stack([np.ones((9, 2)), np.arange(9.0)]),
    "zeros": np.zeros((5, 3)),
    "duplicates": np.repeat([[0.9, 0.3, 2.0], [-0.5, 1.5, -2.0]], 8, axis=0),
    "at the edge": np.column_stack([_EDGE, [9.0, -9.0, 9.0, -9.0, 1e9]]),
    "hostile": np.array([[math.nan, 1, 1], [1e308, -1e308, 1e308], [math.inf, 0, 0], [1, 2, 3]]),
    "nearly singular": np.column_stack(
        [np.ones(12), 1 + 1e-7 * np.arange(12.0), _RNG.normal(size=12)]
    ),
}
_hostile = st.one_of(
    st.floats(-5, 5),
    st.sampled_from(
        [0.0, math.nan, math.inf, -math.inf, 1e308, -1e308, 1e-308, 5e-324, 2.0**70, 63.9, 64.1]
    ),
)
_row = st.lists(_hostile, min_size=3, max_size=3)


def _session(
    table: np.ndarray,
    limits: CutLimits,
    total: Privacy | ApproximatePrivacy,
    *,
    whole: bool = False,
    plain: bool = False,
    size: int | None = None,
) -> LeastSquaresSession:
    d = table.shape[1] - 1
    return LeastSquaresSession(
        Arrays(table[:, :d], table[:, d], size),
        np.eye(d) if plain else _WHITENING,
        np.zeros(d) if plain else _SHIFT,
        limits,
        total,
        NonPrivateSilence(),
        whole=whole,
    )


@cache
def _levels(limits: CutLimits, n: int, d: int) -> tuple[SafetyLevels, ReleasePlan]:
    levels = eigenvalue_levels(4.0 * limits.radius**2, n, d, limits)
    assert levels is not None
    return levels, plan_release(levels.levels, *_BUDGET, noise_sd=1.0)


def _scaled_moments(session: LeastSquaresSession, limits: CutLimits, share: float) -> np.ndarray:
    """Joint moments in the norm of their proof: sums, the diagonal over sqrt(2), R and B as units."""
    found = session.joint_moments(share)
    release = session.releases[-1]
    assert release.sensitivity == 2.0
    assert release.noise_sd == pytest.approx(2.0 / release.cost.mu)
    n, d = session.n, len(found.cross)
    gram, cross = found.gram * n / limits.radius**2, found.cross * n
    assert (gram == gram.T).all()
    cross = cross / (limits.radius * limits.response)
    upper = gram[np.triu_indices(d, 1)]
    return np.concatenate([np.diag(gram) / math.sqrt(2), upper, cross])


def _everything(
    table: np.ndarray, limits: CutLimits, whole: bool, plain: bool = False
) -> tuple[list[Release], np.ndarray, Release, int, float]:
    # a total of thousands of mu and a large slack make the private lower bound a sharp one
    with _session(table, limits, Privacy(4e3, 0.4), whole=whole, plain=plain) as session:
        eigenvalue = session.smallest_eigenvalue(0.1)
        moments = _scaled_moments(session, limits, 0.1)
        session.bounded_solution(0.5, eigenvalue)
        first = session.releases
    d = table.shape[1] - 1
    levels, plan = _levels(limits, len(table), d)
    with _session(table, limits, ApproximatePrivacy(*_BUDGET), whole=whole, plain=plain) as session:
        solution = session.tested_solution(SafetyTest(plan, levels)).release
        smallest = session._solved()[1]
    return first, moments, solution, levels.at(smallest), smallest


def _check_pair(
    one: np.ndarray, two: np.ndarray, limits: CutLimits, whole: bool, plain: bool
) -> None:
    pair = [_everything(t, limits, whole, plain) for t in (one, two)]
    (first, moments, solution, level, smallest), other = pair
    n, d = len(one), one.shape[1] - 1
    eigenvalue, again = first[0], other[0][0]
    assert eigenvalue.sensitivity == again.sensitivity
    moved = float(abs(eigenvalue.value - again.value)[0])
    assert moved <= eigenvalue.sensitivity
    assert np.linalg.norm(moments - other[1]) <= 2 * (1 + 1e-9)
    # the noise of the bounded solution is made for the bound of either neighbour
    one_bounded, two_bounded = first[2], other[0][2]
    moved = float(np.linalg.norm(one_bounded.value - two_bounded.value))
    for found in (one_bounded, two_bounded):
        assert np.isfinite(found.value).all()
        assert moved <= found.sensitivity * (1 + 1e-6)
    # levels
    assert abs(level - other[3]) <= 1
    levels, _ = _levels(limits, n, d)
    lower = min(level, other[3])
    bound = levels.levels.same_at(lower) if level == other[3] else levels.levels.up_at(lower)
    moved = float(np.linalg.norm(solution.value - other[2].value))
    assert moved <= bound
    assert np.linalg.norm(solution.value) <= limits.coef * (1 + 1e-6)
    exact = score_diameter(d, limits.radius, limits.response, limits.coef)
    least = min(smallest, other[4])
    if least > 0.01 * limits.radius**2:
        assert moved <= exact / least * (1 + 1e-5)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.sampled_from(sorted(_TABLES)),
    _row,
    _row,
    st.sampled_from([0.5, 1.0, 2.5]),
    st.sampled_from([0.1, 1.0, 30.0]),
    st.sampled_from([0.05, 1.0, 40.0]),
    st.booleans(),
)
@example("ordinary", [50.0, 0, 1e9], [0, 50.0, -1e9], 1.0, 1.0, 1.0, True)
@example("ordinary", [1e308, 1e308, 1e308], [math.nan, 0, 0], 1.0, 1.0, 1.0, False)
@example("one row", [1e3, 0, 1e9], [-1e3, 0, 1e9], 1.0, 1.0, 1.0, False)
@example("singular", [1.0, -1.0, 9.0], [1.0, 1.0, -9.0], 1.0, 1.0, 40.0, True)
@example("nearly singular", [1e3, -1e3, 30.0], [-1e3, 1e3, 30.0], 2.5, 30.0, 40.0, False)
@example("at the edge", [1e3, 0.0, 9.0], [0.0, 1e3, 9.0], 1.0, 1.0, 40.0, True)
def test_replacing_a_row_moves_nothing_by_more_than_is_claimed(
    table: str,
    first: list[float],
    second: list[float],
    radius: float,
    response: float,
    coef: float,
    whole: bool,
) -> None:
    rows = _TABLES[table]
    one, two = np.vstack([rows, first]), np.vstack([rows, second])
    _check_pair(one, two, CutLimits(radius, response, coef), whole, False)


def test_directed_pairs_move_nothing_by_more_than_is_claimed() -> None:
    limits = CutLimits(1.0, 1.0, 1.0)
    rng = np.random.default_rng(3)
    c = 0.5  # the sine of the worst angle at B = R C
    worst = np.array([c, math.sqrt(1 - c**2)])
    for trial in range(60):
        count = int(rng.integers(0, 12))
        rows = rng.choice([-1.0, 0.0, 1.0], size=(count, 3)) * rng.choice([0.3, 1.0, 5.0])
        turn = rng.uniform(0, 2 * math.pi)
        spin = np.array([[math.cos(turn), -math.sin(turn)], [math.sin(turn), math.cos(turn)]])
        row = worst if trial % 2 else rng.normal(size=2)
        pair = [np.append(spin @ row * 9, -9.0), np.append(spin @ (row * [1, -1]) * 9, -9.0)]
        if trial % 3 == 0:  # the opposite response, or the opposite row
            pair[1] = pair[0] * [1, 1, -1]
        one, two = (np.vstack([rows, p]) for p in pair)
        _check_pair(one, two, limits, bool(trial % 2), True)


def _mirrored(short: float) -> tuple[np.ndarray, np.ndarray]:
    """The worst pair: solutions on the edge of the ball and a row mirrored at it.

    Many rows fix the first coefficient at C = 1, ``short`` (in rows) the second at 0. The row (c,
    sqrt(1 - c^2)) with response -B, B = 2, is mirrored to (c, -sqrt(1 - c^2)): the scores differ by
    the diameter, along the direction that is known least.
    """
    b = 2.0
    c = 2 / (math.sqrt(b * b + 8) + b)
    many = 20_000
    fixed = np.tile([1e3, 0.0, 1.001 * 1e3], (many, 1))
    few = np.tile([0.0, 1e3, 0.0], (int(short), 1))
    rest = np.array([[0.0, math.sqrt(short - int(short)), 0.0]])
    worst = np.array([c, math.sqrt(1 - c * c), -10.0])
    rows = np.vstack([fixed, few, rest])
    return np.vstack([rows, worst]), np.vstack([rows, worst * [1, -1, 1]])


def test_the_shift_of_a_solution_is_attained() -> None:
    limits = CutLimits(1.0, 2.0, 1.0)
    found = []
    for table in _mirrored(400.0):
        with _session(table, limits, Privacy(4e3, 0.4), plain=True) as session:
            found.append(session._solved())
    moved = float(np.linalg.norm(found[0][0] - found[1][0]))
    bound = diameter_with_floats(20_402, 2, limits) / min(found[0][1], found[1][1])
    assert 0.995 * bound < moved <= bound


def test_the_sensitivity_of_the_joint_moments_is_attained() -> None:
    limits = CutLimits(2.0, 3.0, 1.0)
    found = []
    for y in (1e9, -1e9):
        table = np.array([[1e9, 0.0, 0.0], [0.0, 5.0, 1.0], [3e8, 4e8, y]])
        with _session(table, limits, Privacy(1.0), plain=True, whole=True) as session:
            found.append(_scaled_moments(session, limits, 1.0))
    assert np.linalg.norm(found[0] - found[1]) == pytest.approx(2.0, rel=1e-6)


def test_the_noise_of_the_joint_moments_is_that_of_their_norm() -> None:
    limits = CutLimits(2.0, 3.0, 1.0)
    rng = np.random.default_rng(0)
    table = rng.normal(size=(50, 4))
    with _session(table, limits, Privacy(1.5), plain=True) as session:
        silent = session.joint_moments(1.0)
    noises = []
    for seed in range(400):
        source = Arrays(table[:, :3], table[:, 3])
        with LeastSquaresSession(
            source, np.eye(3), np.zeros(3), limits, Privacy(1.5), SeededNoise(seed)
        ) as session:
            found = session.joint_moments(1.0)
        gram, cross = found.gram - silent.gram, found.cross - silent.cross
        noises.append([*np.diag(gram), *gram[np.triu_indices(3, 1)], *cross])
    # in the norm of the sensitivity, 2, the noise is the same everywhere: sd 2 / mu
    unit = np.repeat([math.sqrt(2) * 4.0, 4.0, 6.0], 3) / 50
    sizes = (np.array(noises) / unit).std(axis=0)
    # 400 draws: a ratio outside (0.8, 1.2) has probability below 1e-7
    assert (np.abs(sizes / (2 / 1.5) - 1) < 0.2).all()
    assert found.gram_sd == pytest.approx(unit[0] * 2 / 1.5)
    assert found.cross_sd == pytest.approx(unit[-1] * 2 / 1.5)


def test_the_sensitivity_of_the_eigenvalue_is_attained() -> None:
    limits = CutLimits(2.0, 3.0, 1.0)
    found = []
    for x in (1e9, 0.0):
        table = np.array([[1e9, 0.0, 0.0]] * 20 + [[0.0, 1e9, 1.0]] * 5 + [[0.0, x, 1.0]])
        with _session(table, limits, Privacy(1.0), plain=True) as session:
            found.append(session.smallest_eigenvalue(1.0))
    moved = float((found[0].value - found[1].value)[0])
    assert found[0].sensitivity * (1 - 1e-4) < moved <= found[0].sensitivity


@pytest.mark.parametrize("short", [9.0, 9.3, 9.999, 10.0])
def test_levels_bound_the_worst_pairs(short: float) -> None:
    limits = CutLimits(1.0, 2.0, 1.0)
    n = 20_000 + int(short) + 2
    levels = eigenvalue_levels(12.0, n, 2, limits)
    assert levels is not None
    one, mirrored = _mirrored(short)
    emptied, turned = one.copy(), one.copy()
    emptied[-1], turned[-1] = 0.0, [0.0, 1e3, 1e3]
    for two in (mirrored, emptied, turned):
        found = []
        for table in (one, two):
            with _session(table, limits, Privacy(4e3, 0.4), plain=True) as session:
                found.append(session._solved())
        at = [levels.at(smallest) for _, smallest in found]
        assert abs(at[0] - at[1]) <= 1
        moved = float(np.linalg.norm(found[0][0] - found[1][0]))
        bounds = levels.levels
        assert moved <= (bounds.same_at(at[0]) if at[0] == at[1] else bounds.up_at(min(at)))


def test_levels_and_their_edges() -> None:
    limits = CutLimits(2.0, 1.0, 3.0)
    target = 300.0
    levels = eigenvalue_levels(target, 10_000, 3, limits)
    assert levels is not None
    assert levels.at(target) == levels.target
    assert levels.at(target * (1 - 1e-6)) == levels.target - 1
    for bad in (math.nan, -1.0, 0.0, -math.inf, levels.first * (1 - 1e-12)):
        assert levels.at(bad) == 0
    assert levels.at(math.inf) >= len(levels.levels.same)
    diameter = diameter_with_floats(10_000, 3, limits)
    for smallest in np.linspace(levels.first, 8 * target, 999):
        level = levels.at(float(smallest))
        promised = levels.levels.same_at(level)
        # the bound of a level is at least that of any eigenvalue in it
        assert promised >= min(diameter / smallest, 6.0) * (1 - 1e-12)
        assert levels.at(float(smallest) + limits.radius**2) - level in (0, 1)
    assert eigenvalue_levels(1.9 * limits.radius**2, 100, 3, limits) is None


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, 2**31), st.integers(1, 8), st.floats(0, 7))
def test_floats_lose_less_than_what_is_added_for_them(seed: int, d: int, bad: float) -> None:
    # eigenvalue and solution against twice the digits: the normal equations refined from exact rows
    rng = np.random.default_rng(seed)
    n = 4 * d
    x = rng.normal(size=(n, d)) * np.geomspace(1, 10.0**-bad, d)
    x = x @ linalg.qr(rng.normal(size=(d, d)))[0]
    table = np.column_stack([x / np.linalg.norm(x, axis=1).max(), rng.uniform(-1, 1, n)])
    limits = CutLimits(1.0, 1.0, 1.0)
    with _session(table, limits, Privacy(1.0), plain=True) as session:
        coef, smallest = session._solved()
        gram, cross = session._totals()
        scale = session._rows.grid.steps**2
    error = 32 * (d + 1) ** 2 * 2.0**-53 * n
    exact = _least(gram, scale)
    assert abs(smallest - exact) <= error + 1e-15
    if exact > 1e3 * error:
        refined = _refined(gram, cross)
        refined = _ball(refined, 1.0)
        assert np.linalg.norm(coef - refined) <= 2 * error / exact + 1e-14


def _least(gram: np.ndarray, scale: int) -> float:
    """The smallest eigenvalue: singular values of a factor have twice the digits."""
    whole = np.array(gram / scale, dtype=np.float64)
    value, vector = np.linalg.eigh(whole)
    v = vector[:, 0]
    exact = [[int(g) for g in row] for row in gram]
    steps = [round(float(c) * 2**60) for c in v]
    top = sum(exact[i][j] * steps[i] * steps[j] for i in range(len(v)) for j in range(len(v)))
    assert abs(float(value[0])) < 1e300
    return float(top / scale / sum(s * s for s in steps))


def _refined(gram: np.ndarray, cross: np.ndarray) -> np.ndarray:
    """The solution by refinement with residuals from exact integers."""
    d = len(cross)
    factor = linalg.cho_factor(np.array(gram, dtype=np.float64))
    total = [0] * d  # in units of 2^-80
    for _ in range(30):
        residual = [
            int(cross[i]) * 2**80 - sum(int(gram[i][j]) * total[j] for j in range(d))
            for i in range(d)
        ]
        step = linalg.cho_solve(factor, np.array([float(r) for r in residual]))
        total = [t + int(s) for t, s in zip(total, step, strict=True)]
    return np.array([t / 2**80 for t in total])


# --- order, spending, records -------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 700, 140_000])
def test_results_are_the_same_bits_for_any_order_and_block(n: int) -> None:
    rng = np.random.default_rng(2)
    table = rng.standard_t(2, size=(n, 3)) * [1.0, 30.0, 1.0]
    limits = CutLimits(1.5, 1.0, 2.0)

    def results(table: np.ndarray, size: int | None) -> list[object]:
        out: list[object] = []
        with _session(table, limits, Privacy(1.0, 1e-6), size=size) as session:
            eigenvalue = session.smallest_eigenvalue(0.2)
            moments = session.joint_moments(0.2)
            solution = session.bounded_solution(0.6, eigenvalue)
            out += [eigenvalue.value, moments.gram, moments.cross, solution.value]
            coef, smallest = session._solved()
            out += [coef, smallest, *session._totals()]
        return [np.asarray(v).tolist() for v in out]

    whole = results(table, None)
    order = rng.permutation(n)
    assert results(np.asfortranarray(table[order]), None) == whole
    for size in (1, 7, 333) if n <= 700 else (9973,):
        assert results(table[order[::-1]], size) == whole


def _sized(total: Privacy | ApproximatePrivacy, seed: int | None = None) -> LeastSquaresSession:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 2))
    noise = NonPrivateSilence() if seed is None else SeededNoise(seed)
    source = Arrays(x, x @ [0.3, 0.2] + rng.normal(size=400))
    return LeastSquaresSession(
        source, np.eye(2), np.zeros(2), CutLimits(1.0, 1.0, 1.0), total, noise, whole=True
    )


def test_a_bounded_solution_is_recorded_and_uses_its_slack_once() -> None:
    with _sized(Privacy(1.0, 1e-3), 1) as session:
        eigenvalue = session.smallest_eigenvalue(0.25)
        solution = session.bounded_solution(0.25, eigenvalue)
        assert session.releases == [eigenvalue, solution]
        assert [r.cost.mu for r in session.releases] == pytest.approx([0.5, 0.5])
        for release in session.releases:
            assert release.noise_sd == pytest.approx(release.sensitivity / 0.5)
        with pytest.raises(ValueError, match="slack"):
            session.bounded_solution(0.25, eigenvalue)
        with pytest.raises(ValueError, match="exceed"):
            session.joint_moments(0.6)
        assert len(session.releases) == 2


def test_the_bound_of_a_bounded_solution_is_that_of_its_proof() -> None:
    limits = CutLimits(1.0, 1.0, 1.0)
    with _sized(Privacy(3.0, 1e-3)) as session:
        eigenvalue = session.smallest_eigenvalue(0.5)
        solution = session.bounded_solution(0.5, eigenvalue)
        smallest = session._solved()[1]
    z = -float(special.ndtri(1e-3))
    bound = smallest - z * eigenvalue.noise_sd - 1.0
    lower = lower_eigenvalue(float(eigenvalue.value[0]), eigenvalue, 1e-3, 400, 2, 1.0)
    assert lower == pytest.approx(bound, rel=1e-4)
    assert lower <= bound
    assert solution.sensitivity == pytest.approx(
        min(diameter_with_floats(400, 2, limits) / lower, 2.0), rel=1e-9
    )
    assert solution.noise_sd == pytest.approx(solution.sensitivity / (3 * math.sqrt(0.5)), rel=1e-9)


@pytest.mark.parametrize("slack", [0.0, 1e-300])
def test_without_a_usable_slack_the_noise_covers_the_ball(slack: float) -> None:
    with _sized(Privacy(1.0, slack)) as session:
        solution = session.bounded_solution(0.5, session.smallest_eigenvalue(0.01))
    assert solution.sensitivity == pytest.approx(2.0, rel=1e-5)


def test_tested_solutions_refuse_other_totals_and_anything_beside_them() -> None:
    limits = CutLimits(1.0, 1.0, 1.0)
    levels = eigenvalue_levels(100.0, 400, 2, limits)
    assert levels is not None
    gdp = plan_release(levels.levels, *_BUDGET, target=levels.target)
    dp = plan_release(levels.levels, *_BUDGET, calibration="dp", target=levels.target)
    paper = papers_plan(0.04, *_BUDGET)
    own = Privacy(*gdp_split(*_BUDGET))
    refused = [
        (gdp, Privacy(1.0, 1e-3)),
        (gdp, Privacy(own.mu)),
        (gdp, ApproximatePrivacy(1.0, 1e-3)),
        (dp, own),
        (dp, ApproximatePrivacy(0.5, 1e-2)),
    ]
    for plan, total in refused:
        with _sized(total) as session:
            with pytest.raises(ValueError, match="another total"):
                session.tested_solution(SafetyTest(plan, levels))
            assert session.releases == []
    with _sized(own) as session, pytest.raises(ValueError, match="another total"):
        session.tested_solution(SafetyTest(paper, PapersSafety(100.0, 2.0, 0.04)))
    for plan, total in ((gdp, own), (gdp, ApproximatePrivacy(*_BUDGET)), (dp, _approximate())):
        with _sized(total, 1) as session:
            tested = session.tested_solution(SafetyTest(plan, levels))
            assert session.releases == [tested.release]
            assert tested.release.cost == total
            for again in (
                lambda s=session, p=plan: s.tested_solution(SafetyTest(p, levels)),
                lambda s=session: s.tested_solution(
                    SafetyTest(paper, PapersSafety(100.0, 2.0, 0.04))
                ),
                lambda s=session: s.smallest_eigenvalue(1e-9),
                lambda s=session: s.joint_moments(1e-9),
            ):
                with pytest.raises(ValueError, match="exceed"):
                    again()
            assert len(session.releases) == 1
    with _sized(own) as session:
        session.smallest_eigenvalue(1e-6)
        with pytest.raises(ValueError, match="exceed"):
            session.tested_solution(SafetyTest(gdp, levels))
    with _sized(_approximate()) as session, pytest.raises(ValueError, match="one release"):
        session.smallest_eigenvalue(0.5)


def _approximate() -> ApproximatePrivacy:
    return ApproximatePrivacy(*_BUDGET)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(_row, _row)
def test_the_papers_safety_changes_by_half_at_most(first: list[float], second: list[float]) -> None:
    limits, plan = CutLimits(1.0, 1.0, 1.0), papers_plan(0.4, *_BUDGET)
    probabilities = []
    for row in (first, second):
        noise = NonPrivateCoins()
        with LeastSquaresSession(
            Arrays(*_split(np.vstack([_TABLES["ordinary"], row]))),
            _WHITENING,
            _SHIFT,
            limits,
            _approximate(),
            noise,
            whole=True,
        ) as session:
            session.tested_solution(SafetyTest(plan, PapersSafety(2.0, 2.0, 0.4)))
        probabilities += noise.coins
    safety = special.logit(np.array(probabilities)) * 2
    assert abs(safety[0] - safety[1]) <= 0.5 * (1 + 1e-6)


def _split(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return table[:, :-1], table[:, -1]


def test_private_objects_print_no_numbers() -> None:
    with _session(np.full((4, 3), 777.125), CutLimits(1.0, 1.0, 1.0), Privacy(1.0)) as session:
        session._solved()
        for thing in (session, session._rows):
            assert "777" not in repr(thing)
            assert "array" not in repr(thing)


# --- the last step of rounds ---------------------------------------------------------------------


def _stepping(x: np.ndarray, y: np.ndarray, total: Privacy | None = None) -> StepSession:
    d = x.shape[1]
    how = Arrays(x, y), LeastSquares(), np.eye(d), np.zeros(d)
    return StepSession(*how, total or Privacy(1.0, 1e-3), NonPrivateSilence())


def _check_step(x: np.ndarray, y: np.ndarray, row: np.ndarray, cuts: StepCuts) -> float:
    """The part of its bound by which a step moves when the last row is replaced by ``row``."""
    n, d = x.shape
    anchor = np.linspace(-0.3, 0.3, d)
    found = []
    for last in (None, row):
        z, r = x.copy(), y.copy()
        if last is not None:
            z[-1], r[-1] = last[:-1], last[-1]
        with _stepping(z, r) as session:
            found.append(session._step(anchor, cuts))
    (one, low), (two, high) = found
    assert max(np.linalg.norm(one), np.linalg.norm(two)) <= cuts.length * (1 + 1e-12)
    assert abs(low - high) <= cuts.radius**2 * (1 + 1e-9)
    bound = 2 * cuts.length * (1 + 1e-9)
    if min(low, high) > 0:
        bound = min(bound, cuts.diameter(n, d) / min(low, high))
    moved = float(np.linalg.norm(one - two))
    assert moved <= bound
    return moved / bound


@settings(max_examples=150)
@given(
    st.integers(0, 10**6),
    st.integers(1, 4),
    st.sampled_from([0.1, 1.0, 10.0]),
    st.sampled_from([0.1, 1.0, 10.0, 1e4]),
    st.sampled_from([1e-3, 0.1, 1.0, 30.0]),
)
def test_replacing_a_row_moves_a_step_by_no_more_than_is_claimed(
    seed: int, d: int, score: float, size: float, length: float
) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(d, 12))
    x, y = rng.normal(size=(n, d)) * rng.choice([0.1, 1, 5], (n, 1)), rng.normal(size=n)
    row = rng.normal(size=d + 1) * size
    x[-1] *= rng.choice([1e-3, 1.0, 1e3])
    _check_step(x, y, row, StepCuts(score, 1.0, length))


def test_the_bound_of_a_step_is_nearly_attained() -> None:
    """Short rows with long scores make a long step, which a long row with no score cuts down."""
    most = 0.0
    for size in (0.1, 0.2, 0.4):
        x, y = np.full((200, 1), size), np.full(200, 1e3)
        step = 1 / size**2  # of scores of length 1
        for row in ([1.0, -1e3], [1.0, 0.0]):
            found = _check_step(x, y, np.array(row), StepCuts(1.0, 1.0, 1.01 * step))
            most = max(most, found)
    assert most > 0.8


def test_a_step_rests_on_a_bound_and_uses_the_slack_of_its_call_once() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(400, 2)), rng.normal(size=400)
    cuts, anchor = StepCuts(1.0, 2.0, 0.5), np.zeros(2)
    with _stepping(x, y, Privacy(3.0, 1e-3)) as session:
        eigenvalue = session.smallest_eigenvalue(0.5, anchor, cuts)
        smallest = session._step(anchor, cuts)[1]
        step = session.bounded_step(0.25, anchor, cuts, eigenvalue)
        with pytest.raises(ValueError, match="slack"):
            session.bounded_step(0.25, anchor, cuts, eigenvalue)
    z = -float(special.ndtri(1e-3))
    lower = smallest - z * eigenvalue.noise_sd - cuts.radius**2
    assert eigenvalue.sensitivity == pytest.approx(cuts.radius**2, rel=1e-5)
    expected = min((2 * cuts.score + cuts.radius**2 * cuts.length) / lower, 2 * cuts.length)
    assert step.sensitivity == pytest.approx(expected, rel=1e-4)
    assert step.sensitivity >= expected
    assert step.noise_sd == pytest.approx(step.sensitivity / 1.5, rel=1e-9)
    later = Privacy(3.0, 1e-3)
    with _stepping(x, y, later) as first:
        first.smallest_eigenvalue(0.5, anchor, cuts)
    how = Arrays(x, y), LeastSquares(), np.eye(2), np.zeros(2), later, NonPrivateSilence()
    with StepSession(*how, after=first) as session:
        eigenvalue = session.smallest_eigenvalue(0.5, anchor, cuts)
        bound = session.lower_bound(eigenvalue, cuts)
    assert bound == pytest.approx(smallest - z * eigenvalue.noise_sd - cuts.radius**2, rel=1e-4)
    # what the first session left is taken once, and bounds are those of this session and this step
    with StepSession(*how, after=first) as again, pytest.raises(ValueError, match="mu is one > 0"):
        again.smallest_eigenvalue(0.5, anchor, cuts)
    with _stepping(x, y, later) as other, pytest.raises(ValueError, match="not made by this"):
        other.bounded_step(0.5, anchor, cuts, eigenvalue)
    with _stepping(x, y, later) as other:
        elsewhere = other.smallest_eigenvalue(0.5, anchor + 1, cuts)
        with pytest.raises(ValueError, match="another step"):
            other.bounded_step(0.5, anchor, cuts, elsewhere)
