"""Test-and-release is exactly as private as it says, and as generous as that allows."""

import itertools
import math

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from scipy import integrate, optimize, special

from dpstats.accounting.privacy import Privacy
from dpstats.errors import ArgumentError, PrivacyError
from dpstats.propose_test.curve import Levels, gdp_split, release_curve
from dpstats.propose_test.pair import divergence, gaussian_mu, log_gaussian_delta
from dpstats.propose_test.paper import papers_delta, papers_plan
from dpstats.propose_test.plan import ReleasePlan, plan_release
from tests.propose_test.exact_delta import exact_delta

_BUDGETS = [(0.5, 1e-2), (1.0, 1e-5), (4.0, 1e-2), (8.0, 1e-6), (20.0, 1e-12), (0.1, 1e-8)]


def _target(mu0: float, slack: float, orders: np.ndarray) -> np.ndarray:
    return slack + (1 - slack) * np.exp(log_gaussian_delta(mu0, orders))


def _profile(seed: int) -> tuple[Levels, float, float, float]:
    """A random profile of sensitivities, a budget and a noise."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 30))
    same = np.sort(np.exp(rng.normal(size=size) * rng.uniform(0, 1)))[::-1].copy()
    up = same * rng.uniform(0.3, 1.0, size)
    if seed % 3:
        same[0] = math.inf
    if seed % 3 == 1:
        up[0] = math.inf
    epsilon, delta = math.exp(rng.uniform(-2, 3)), 10 ** rng.uniform(-12, -1)
    sd = float(same[-1] / gaussian_mu(epsilon, delta) * np.exp(rng.uniform(-0.3, 2)))
    return Levels(same, up), epsilon, delta, sd


# --- h and the exact divergence ---------------------------------------------------------------


@pytest.mark.parametrize("mu", [1e-3, 0.2, 1.0, 5.0])
@pytest.mark.parametrize("order", [-30.0, -2.0, -1e-3, 0.0, 1e-3, 0.7, 6.0])
def test_h_is_the_integral_that_defines_it(mu: float, order: float) -> None:
    # where N exceeds exp(a) N': to the right of the point at which mu z + mu^2/2 = a, z under N
    cut = order / mu - mu / 2

    def part(z: float) -> float:
        return math.exp(-z * z / 2) * -math.expm1(order - mu * z - mu * mu / 2)

    low, high = max(cut, -40.0), max(cut, -40.0) + 80.0
    inside = sorted({min(max(v, low), high) for v in (low, cut + 1, 0.0, 8.0, high)})
    whole = sum(
        integrate.quad(part, a, b, epsabs=0, epsrel=1e-12, limit=200)[0]
        for a, b in itertools.pairwise(inside)
    ) / math.sqrt(2 * math.pi)
    if whole > 1e-290:
        assert math.exp(log_gaussian_delta(mu, order)) == pytest.approx(whole, rel=1e-7)
    else:
        assert log_gaussian_delta(mu, order) < -650


def test_h_agrees_with_the_package_and_handles_its_limits() -> None:
    for mu in (0.05, 0.3, 2.0):
        for order in (0.0, 0.5, 3.0):
            expected = Privacy(mu).delta(order)
            assert math.exp(log_gaussian_delta(mu, order)) == pytest.approx(expected, rel=1e-10)
    assert log_gaussian_delta(0.0, 1.0) == -math.inf
    assert math.exp(log_gaussian_delta(0.0, -1.0)) == pytest.approx(1 - math.exp(-1))
    assert log_gaussian_delta(math.inf, 3.0) == 0.0
    assert log_gaussian_delta(1.0, -math.inf) == 0.0
    assert log_gaussian_delta(1.0, math.inf) == -math.inf
    table = log_gaussian_delta(np.array([[0.0], [1.0], [math.inf]]), np.array([-1.0, 0.0, 2.0]))
    assert table.shape == (3, 3)
    assert not np.isnan(table).any()


@pytest.mark.parametrize("p", [0.0, 1e-12, 0.3, 0.99, 1.0])
@pytest.mark.parametrize("q", [0.0, 1e-5, 0.4, 0.9999, 1.0])
@pytest.mark.parametrize(("mu", "epsilon"), [(0.3, 0.0), (1.0, 1.0), (2.5, 0.4), (0.1, 3.0)])
def test_divergence_is_the_integral_of_the_positive_part(
    p: float, q: float, mu: float, epsilon: float
) -> None:
    z = np.linspace(-12, 12 + mu, 400_001)
    near, far = np.exp(-(z**2) / 2), np.exp(-((z - mu) ** 2) / 2)
    width = (z[1] - z[0]) / math.sqrt(2 * math.pi)
    worst = 0.0
    for one, two in ((p, q), (q, p)):
        heard = np.maximum(one * near - math.exp(epsilon) * two * far, 0).sum() * width
        worst = max(worst, heard + max(0.0, 1 - one - math.exp(epsilon) * (1 - two)))
    assert divergence(p, q, mu, epsilon) == pytest.approx(worst, rel=1e-6, abs=1e-13)


def test_divergence_without_shift_or_with_an_unbounded_one() -> None:
    assert divergence(0.0, 1e-7, 0.5, 1.0) == pytest.approx(1e-7)
    assert divergence(0.25, 0.25, math.inf, 2.0) == pytest.approx(0.25)
    assert divergence(0.25, 0.25, 0.0, 2.0) == 0.0
    assert divergence(1.0, 1.0, 0.5, 1.0) == pytest.approx(Privacy(0.5).delta(1.0))
    assert divergence(0.5, 0.1, 0.0, 0.0) == pytest.approx(0.4)


# --- reference values -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("epsilon", "delta", "mu"),
    [
        (1, 0.01, 0.532517),
        (1, 1e-5, 0.268051),
        (4, 0.01, 1.494676),
        (4, 1e-5, 0.924931),
        (8, 1e-5, 1.666031),
        (0.1, 1e-6, 0.027545),
    ],
)
def test_gaussian_mu_has_its_reference_values(epsilon: float, delta: float, mu: float) -> None:
    assert gaussian_mu(epsilon, delta) == pytest.approx(mu, abs=5.1e-7)


def test_dp_curve_has_its_reference_values_at_a_small_delta() -> None:
    curve = release_curve(Levels.flat(0.24124601), 1.0, 1.0, 1e-5, "dp")
    expected = [1e-5, 3.6803531e-5, 1.0075539e-4, 2.3593031e-4, 4.9628185e-4]
    assert curve[:5] == pytest.approx(expected, rel=5e-8)
    assert curve[15] == pytest.approx(0.063209502, rel=5e-8)
    assert curve[30] == pytest.approx(0.93377653, rel=5e-8)
    assert len(curve) == 41
    assert curve[39] < curve[40] == 1.0


def test_dp_curve_has_its_reference_values_at_a_large_delta() -> None:
    curve = release_curve(Levels.flat(0.47926498), 1.0, 1.0, 1e-2, "dp")
    expected = [0.01, 0.03425247, 0.078625191, 0.14567998, 0.23466485, 0.34215292]
    assert curve[:6] == pytest.approx(expected, rel=5e-8)
    assert len(curve) == 14
    assert curve[13] == 1.0


@pytest.mark.parametrize(("epsilon", "delta"), _BUDGETS)
def test_a_free_payload_gives_partition_selection(epsilon: float, delta: float) -> None:
    for levels, sd in ((Levels.flat(0.0), 1.0), (Levels.flat(3.0), math.inf)):
        curve = release_curve(levels, sd, epsilon, delta, "dp")
        p = delta
        for level in range(len(curve)):
            assert curve[level] == pytest.approx(p, rel=1e-6)
            p = min(math.exp(epsilon) * p + delta, 1 - math.exp(-epsilon) * (1 - p - delta), 1)
        assert curve[-1] == 1.0


# level for p >= .999 of: "dp" with the paper's noise, "dp" and "gdp" at payload .9 mu,
# "dp" at .99 mu; noise over alpha of the second and third; the paper's M, gamma for .999, noise
_TABLE = [
    (0.5, 1e-2, 14, 21, 25, 34, 3.50, 3.57, 19.4, 47.0, 12.43),
    (0.5, 1e-5, 36, 64, 80, 115, 7.81, 7.87, 47.1, 74.7, 19.38),
    (1.0, 1e-2, 9, 13, 16, 22, 2.09, 2.12, 10.2, 24.0, 6.22),
    (1.0, 1e-5, 19, 35, 44, 63, 4.15, 4.17, 24.0, 37.8, 9.69),
    (2.0, 1e-5, 10, 19, 24, 35, 2.22, 2.23, 12.5, 19.4, 4.84),
    (4.0, 1e-2, 3, 5, 6, 9, 0.74, 0.75, 3.3, 6.8, 1.55),
    (8.0, 1e-5, 3, 6, 8, 12, 0.67, 0.67, 3.9, 5.6, 1.21),
]


@pytest.mark.parametrize("row", _TABLE, ids=lambda row: f"{row[0]}-{row[1]}")
def test_levels_and_noise_are_those_of_the_comparison_with_the_paper(row: tuple) -> None:
    epsilon, delta, papers, dp, gdp, dp99, sd_dp, sd_gdp, margin, far, sd_paper = row
    unit = Levels.flat(1.0)

    def level(sd: float, calibration: str) -> int | None:
        return plan_release(unit, epsilon, delta, calibration=calibration, noise_sd=sd).level_for(
            0.999
        )

    mu, (mu0, _) = gaussian_mu(epsilon, delta), gdp_split(epsilon, delta)
    paper = papers_plan(1.0, epsilon, delta, allow_unproved=True)
    assert paper.noise_sd == pytest.approx(sd_paper, abs=0.0051)
    assert paper.margin == pytest.approx(margin, abs=0.051)
    assert paper.probability(far + 0.05) >= 0.999 >= paper.probability(far - 0.06)
    assert 1 / (0.9 * mu) == pytest.approx(sd_dp, abs=0.0051)
    # the additive split of gdp_split and that of the table differ in the third digit
    assert 1 / (0.9 * mu0) == pytest.approx(sd_gdp, abs=0.011)
    assert level(paper.noise_sd, "dp") == papers
    assert level(1 / (0.9 * mu), "dp") == dp
    assert level(1 / (0.99 * mu), "dp") == dp99
    found = level(1 / (0.9 * mu0), "gdp")  # our grid of orders loses less than the table's
    assert found is not None
    assert 0.97 * gdp - 1 <= found <= gdp


# --- curves: private, monotone, and none is higher ---------------------------------------------


@pytest.mark.parametrize("calibration", ["dp", "gdp"])
@pytest.mark.parametrize("seed", range(30))
def test_curves_of_random_profiles_keep_delta_and_do_not_fall(seed: int, calibration: str) -> None:
    levels, epsilon, delta, sd = _profile(seed)
    curve = release_curve(levels, sd, epsilon, delta, calibration)
    assert (np.diff(curve) >= 0).all()
    assert curve[0] > 0
    assert curve[-1] <= 1
    assert exact_delta(curve, levels, sd, epsilon) <= delta
    if calibration == "dp" and curve[-1] > delta * (1 + 1e-6) and not math.isfinite(levels.same[0]):
        assert exact_delta(curve, levels, sd, epsilon) == pytest.approx(delta, rel=1e-6)


@pytest.mark.parametrize(("epsilon", "delta"), _BUDGETS)
def test_gdp_curve_is_below_its_target_at_6000_orders(epsilon: float, delta: float) -> None:
    mu0, slack = gdp_split(epsilon, delta)
    levels = Levels(np.array([math.inf, 1.2, 1.1, 1.0]), np.array([1.2, 1.15, 1.0, 1.0]))
    sd = 1.0 / (0.85 * mu0)
    curve = release_curve(levels, sd, epsilon, delta, "gdp")
    assert curve[0] == pytest.approx(slack, rel=1e-8)
    assert curve[-1] == 1.0
    end = 1.5 * optimize.brentq(
        lambda e: log_gaussian_delta(mu0, e) - math.log(slack / 1000), 0, 10 * epsilon + 50
    )
    orders = np.linspace(0, end, 6000)
    # (1), written out once more
    p, q = curve[1:, None], curve[:-1, None]
    up = np.array([levels.up_at(k) for k in range(len(curve) - 1)])[:, None] / sd
    same = np.array([levels.same_at(k) for k in range(1, len(curve))])[:, None] / sd
    if len(curve) > 60:  # of a long curve every tenth level
        p, q, up, same = p[::10], q[::10], up[::10], same[::10]
    target = _target(mu0, slack, orders)
    for one, two in ((p, q), (q, p)):
        heard = one * np.exp(log_gaussian_delta(up, orders - np.log(one / two)))
        worst = np.maximum(0, (two - one) - np.expm1(orders) * (1 - two)) + heard
        assert (worst / target).max() <= 1
    assert (p * np.exp(log_gaussian_delta(same, orders)) / target).max() <= 1


@pytest.mark.parametrize("seed", [1, 2, 4, 5, 7, 9])
def test_no_probability_of_a_dp_curve_can_be_raised(seed: int) -> None:
    levels, epsilon, delta, sd = _profile(seed)
    curve = release_curve(levels, sd, epsilon, delta, "dp")
    for k, p in enumerate(curve):
        higher = p * (1 + 1e-6)
        if higher > 1:
            continue
        worst = divergence(higher, higher, levels.same_at(k) / sd, epsilon)
        if k:
            worst = max(worst, divergence(higher, curve[k - 1], levels.up_at(k - 1) / sd, epsilon))
        assert worst > delta


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-5), (4.0, 1e-2), (8.0, 1e-6)])
def test_no_probability_of_a_gdp_curve_can_be_raised_by_one_percent(
    epsilon: float, delta: float
) -> None:
    mu0, slack = gdp_split(epsilon, delta)
    levels, sd = Levels.flat(1.0), 1 / (0.9 * mu0)
    curve = release_curve(levels, sd, epsilon, delta, "gdp")
    orders = np.arange(0, 3 * epsilon + 2, 1 / 30)
    target = _target(mu0, slack, orders)
    for k in range(1, len(curve)):
        higher = min(curve[k] + 0.01 * min(curve[k], 1 - curve[k]), 1.0)
        if curve[k] == 1.0:
            continue
        exact = [divergence(higher, curve[k - 1], 1 / sd, e) for e in orders]
        assert (np.array(exact) > target).any()


def test_with_finite_sensitivity_in_the_unsafe_level_no_delta_is_wasted() -> None:
    levels = Levels(np.array([2.0, 0.5]), np.array([0.5, 0.5]))
    curve = release_curve(levels, 1.0, 1.0, 1e-3, "dp")
    assert curve[0] == pytest.approx(1e-3 / Privacy(2.0).delta(1.0), rel=1e-8)
    assert curve[0] > 1e-3


@pytest.mark.parametrize("sd", [1e2, 1e3, 9e3, 1e4, 1e6])
@pytest.mark.parametrize(("epsilon", "delta"), _BUDGETS)
def test_very_small_shifts_neither_break_nor_lower_the_curve(
    epsilon: float, delta: float, sd: float
) -> None:
    levels = Levels.flat(1.0)
    for calibration in ("dp", "gdp"):
        curve = release_curve(levels, sd, epsilon, delta, calibration)
        less = release_curve(levels, sd / 2, epsilon, delta, calibration)[: len(curve)]
        assert curve[-1] == 1.0
        assert (curve[: len(less)] >= less * (1 - 1e-6)).all()
        assert exact_delta(curve, levels, sd, epsilon) <= delta


def test_noise_that_is_too_small_stops_the_curve_below_one() -> None:
    levels = Levels.flat(1.0)
    for calibration in ("dp", "gdp"):
        curve = release_curve(levels, 1.0, 1.0, 1e-5, calibration)
        assert curve[-1] < 0.5
        assert len(curve) < 500
        assert exact_delta(curve, levels, 1.0, 1.0) <= 1e-5


def test_the_exact_delta_finds_what_is_wrong_with_a_curve() -> None:
    levels = Levels.flat(0.24124601)
    curve = release_curve(levels, 1.0, 1.0, 1e-5, "dp")
    assert exact_delta(curve[::-1], levels, 1.0, 1.0) > 0.5
    assert exact_delta(curve[1:], levels, 1.0, 1.0) == pytest.approx(curve[1])
    assert exact_delta(curve, levels, 0.5, 1.0) > 1e-4
    wrong = np.array(curve)
    wrong[20] *= 1.001
    assert exact_delta(wrong, levels, 1.0, 1.0) > 1e-5


# --- composition -----------------------------------------------------------------------------


def test_the_split_of_delta_is_additive() -> None:
    for epsilon, delta in _BUDGETS:
        mu0, slack = gdp_split(epsilon, delta)
        assert slack == pytest.approx(delta / 10)
        assert slack + Privacy(mu0).delta(epsilon) <= delta
        assert slack + Privacy(mu0).delta(epsilon) == pytest.approx(delta, rel=1e-6)


def _orders_of_two(p: float, q: float, mu: float, orders: np.ndarray) -> np.ndarray:
    """Exact divergence of two runs: the second one's at the order that the first one leaves."""

    def once(e: np.ndarray) -> np.ndarray:
        heard = p * np.exp(log_gaussian_delta(mu, e - math.log(p / q)))
        return np.maximum(0, (1 - p) - np.exp(e) * (1 - q)) + heard

    z = np.linspace(-9, 9, 1801)
    weight = np.exp(-(z**2) / 2)
    weight /= weight.sum()
    loss = math.log(p / q) + mu * z + mu * mu / 2
    silent = math.log((1 - p) / (1 - q))
    return np.array(
        [(1 - p) * once(np.array(e - silent)) + p * (weight * once(e - loss)).sum() for e in orders]
    )


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-2), (4.0, 1e-3)])
def test_two_gdp_releases_compose_like_gaussian_ones(epsilon: float, delta: float) -> None:
    mu0, slack = gdp_split(epsilon, delta)
    mu = 0.9 * mu0
    curve = release_curve(Levels.flat(1.0), 1 / mu, epsilon, delta, "gdp")
    orders = np.linspace(0, 2 * epsilon, 15)
    both = 1 - (1 - slack) ** 2
    bound = _target(math.sqrt(2) * mu0, both, orders)
    cautious = 2 * slack + np.exp(log_gaussian_delta(math.sqrt(2) * mu0, orders))
    for k in range(len(curve) - 2):
        for p, q in ((curve[k], curve[k + 1]), (curve[k + 1], curve[k])):
            # the sum over z stands for an integral of a function with a kink: 1e-5 is its error
            exact = _orders_of_two(float(p), float(q), mu, orders)
            assert (exact <= bound * (1 + 1e-5)).all()
            assert (exact <= cautious * (1 + 1e-5)).all()


def test_sixteen_gdp_releases_compose_by_an_independent_accountant() -> None:
    epsilon, delta, times = 1.0, 1e-3, 16
    mu0, slack = gdp_split(epsilon, delta)
    mu = 0.9 * mu0
    curve = release_curve(Levels.flat(1.0), 1 / mu, epsilon, delta, "gdp")
    edges = np.linspace(-9, 9, 721)
    for k in (2, len(curve) // 2, len(curve) - 5):
        laws = []
        for p, centre in ((curve[k], 0.0), (curve[k + 1], mu)):
            cells = np.diff(special.ndtr(np.append(edges, math.inf) - centre), prepend=0.0)
            laws.append(
                {-1: math.log1p(-p)} | {j: math.log(p * c) for j, c in enumerate(cells) if c}
            )
        shared = laws[0].keys() & laws[1].keys()
        laws = [{j: v for j, v in law.items() if j in shared} for law in laws]
        # binning the answers is post-processing; rounding of losses is taken on the low side
        one = pld.from_two_probability_mass_functions(
            laws[0], laws[1], pessimistic_estimate=False, value_discretization_interval=1e-3
        )
        composed = one.self_compose(times)
        for order in (0.0, 1.0, 3.0, 6.0):
            cautious = times * slack + Privacy(math.sqrt(times) * mu0).delta(order)
            assert composed.get_delta_for_epsilon(order) <= cautious


def test_a_dp_curve_composes_badly_which_is_why_gdp_is_the_default() -> None:
    mu = 0.9 * gaussian_mu(1.0, 1e-5)
    curve = release_curve(Levels.flat(1.0), 1 / mu, 1.0, 1e-5, "dp")
    assert exact_delta(curve, Levels.flat(1.0), 1 / mu, 0.75) == pytest.approx(0.026, abs=5e-4)
    assert Privacy(mu).delta(0.75) == pytest.approx(9e-5, abs=5e-7)


# --- plans -----------------------------------------------------------------------------------


def _decreasing(start: float, length: int) -> Levels:
    """The profile of a least-squares coefficient: D / (start + k - 1) from level 1 on."""
    safe = 2.6 / (start + np.arange(length))
    return Levels(np.append(2.6 / start * 2, safe), np.append(2.6 / start, safe))


@pytest.mark.parametrize("calibration", ["dp", "gdp"])
@pytest.mark.parametrize(
    ("epsilon", "delta", "levels", "target"),
    [
        (1.0, 1e-5, Levels.flat(1.0), 60),
        (4.0, 1e-2, Levels.flat(2.5), 6),
        (2.0, 1e-6, _decreasing(20.0, 200), 150),
    ],
)
def test_the_planned_noise_is_enough_and_less_is_not(
    calibration: str, epsilon: float, delta: float, levels: Levels, target: int
) -> None:
    plan = plan_release(levels, epsilon, delta, calibration=calibration, target=target)
    assert plan.probability(target) >= 0.999
    assert plan.probability(target) == pytest.approx(0.999, abs=1e-4)
    assert plan.level_for(0.999) == target
    assert exact_delta(plan.curve, levels, plan.noise_sd, epsilon) <= delta
    less = plan_release(
        levels, epsilon, delta, calibration=calibration, noise_sd=plan.noise_sd * (1 - 1e-5)
    )
    assert less.probability(target) < 0.999
    assert (plan.mu, plan.slack) == (
        gdp_split(epsilon, delta) if calibration == "gdp" else (None, None)
    )
    assert plan is plan_release(levels, epsilon, delta, calibration=calibration, target=target)


@pytest.mark.parametrize("calibration", ["dp", "gdp"])
def test_merging_the_bottom_levels_is_private_and_costs_almost_no_noise(calibration: str) -> None:
    levels, target = _decreasing(50.0, 3000), 2000
    plan = plan_release(levels, 1.0, 1e-5, calibration=calibration, target=target)
    mu = gaussian_mu(1.0, 1e-5) if plan.mu is None else plan.mu
    assert plan.probability(target) >= 0.999
    assert plan.probability(0) == plan.probability(1000) <= 1e-5 * 1.1
    assert exact_delta(plan.curve, levels, plan.noise_sd, 1.0) <= 1e-5
    assert plan.noise_sd == pytest.approx(levels.same_at(target) / mu, rel=0.02)


@pytest.mark.parametrize("calibration", ["dp", "gdp"])
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-5), (0.5, 1e-2), (8.0, 1e-6)])
def test_a_target_too_low_is_refused_with_the_smallest_that_works(
    calibration: str, epsilon: float, delta: float
) -> None:
    levels = Levels.flat(1.0)
    with pytest.raises(PrivacyError, match="target=1 is too close") as refused:
        plan_release(levels, epsilon, delta, calibration=calibration, target=1)
    works = int(str(refused.value).removesuffix(".").split()[-1])
    plan = plan_release(levels, epsilon, delta, calibration=calibration, target=works)
    assert plan.probability(works) >= 0.999
    with pytest.raises(PrivacyError, match=f"smallest that works is {works}"):
        plan_release(levels, epsilon, delta, calibration=calibration, target=works - 1)


def test_the_probability_of_a_private_level_is_defined_everywhere() -> None:
    plan = plan_release(Levels.flat(1.0), 1.0, 1e-2, target=16)
    assert isinstance(plan, ReleasePlan)
    assert plan.probability(-3) == plan.probability(0) == plan.probability(math.nan)
    assert plan.probability(10**9) == plan.probability(math.inf) == plan.curve[-1] == 1.0
    assert plan.probability(np.array([0, 5, 99])).tolist() == [plan.curve[0], plan.curve[5], 1.0]
    assert plan.level_for(1.0) == len(plan.curve) - 1
    short = plan_release(Levels.flat(1.0), 1.0, 1e-2, noise_sd=0.5)
    assert short.level_for(0.999) is None
    assert not plan.curve.flags.writeable


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        ({"target": 0}, ArgumentError, "target must be an integer >= 1"),
        ({"target": 2.5}, ArgumentError, "target must be an integer"),
        ({"target": True}, ArgumentError, "target must be an integer"),
        ({}, ArgumentError, "target="),
        ({"target": 20, "beta": 0.0}, ArgumentError, "beta must lie"),
        ({"target": 20, "calibration": "paper"}, ArgumentError, "papers_plan"),
        ({"target": 20, "calibration": "best"}, ArgumentError, "calibration must be"),
        ({"noise_sd": 0.0}, ArgumentError, "noise_sd must be"),
        ({"noise_sd": math.inf}, ArgumentError, "finite"),
        ({"noise_sd": math.nan}, ArgumentError, "noise_sd must be"),
        ({"target": 20, "epsilon": 0.0}, PrivacyError, "epsilon must be"),
        ({"target": 20, "epsilon": 1e4}, PrivacyError, "protects nobody"),
        ({"target": 20, "delta": 1.0}, PrivacyError, "delta must lie"),
        ({"target": 20, "levels": Levels.flat(0.0)}, ArgumentError, "needs no noise"),
    ],
)
def test_bad_plans_say_what_to_do(arguments: dict, error: type[Exception], said: str) -> None:
    given = {"levels": Levels.flat(1.0), "epsilon": 1.0, "delta": 1e-5} | arguments
    with pytest.raises(error, match=said):
        plan_release(given.pop("levels"), given.pop("epsilon"), given.pop("delta"), **given)


@pytest.mark.parametrize(
    ("same", "up", "said"),
    [
        ([math.inf, 1.0], [1.0], "one entry per level"),
        ([math.inf, 1.0, 2.0], [1.0, 1.0, 1.0], "must not increase"),
        ([2.0, 1.0], [2.0, 1.5], "must not exceed"),
        ([math.inf, math.inf], [1.0, 1.0], "finite from level 1"),
        ([math.inf], [1.0], "entry for level 1"),
        ([math.nan, 1.0], [1.0, 1.0], "sensitivities"),
        ([2.0, -1.0], [1.0, -1.0], "sensitivities"),
        ([], [], "sensitivities"),
    ],
)
def test_profiles_that_the_proof_does_not_cover_are_refused(
    same: list[float], up: list[float], said: str
) -> None:
    with pytest.raises(ArgumentError, match=said):
        Levels(np.array(same), np.array(up))


def test_a_profile_holds_its_last_entry_beyond_its_end() -> None:
    levels = Levels(np.array([math.inf, 2.0, 1.0]), np.array([2.0, 1.5, 0.5]))
    assert (levels.same_at(0), levels.same_at(2), levels.same_at(99)) == (math.inf, 1.0, 1.0)
    assert (levels.up_at(1), levels.up_at(99)) == (1.5, 0.5)
    low = levels.merged(1)
    assert low.same.tolist() == [math.inf, 1.0]
    assert low.up.tolist() == [1.5, 0.5]


# --- the paper -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("delta", "half"), [(0.1, 5.75), (0.01, 6.78), (1e-5, 8.42), (1e-6, 8.78), (1e-10, 9.85)]
)
def test_the_classical_gaussian_theorem_fails_where_it_was_found_to(
    delta: float, half: float
) -> None:
    def excess(e: float) -> float:
        mu = e / math.sqrt(2 * math.log(1.25 / delta))
        return log_gaussian_delta(mu, e) - math.log(delta)

    assert optimize.brentq(excess, 1, 20) == pytest.approx(half, abs=0.011)


@pytest.mark.parametrize(
    ("delta", "first"),
    [(0.1, 15.87), (0.05, 16.96), (0.01, 18.94), (1e-3, 21.01), (1e-5, 23.90), (1e-8, 26.81)],
)
def test_the_papers_claim_first_fails_where_its_exact_delta_says(
    delta: float, first: float
) -> None:
    assert papers_delta(first - 0.02, delta) <= delta < papers_delta(first + 0.02, delta)


def test_the_papers_exact_delta_is_attained_by_a_pair() -> None:
    # epsilon = 19, delta = .01: gamma = .513 and 1.513, computed from the laws themselves
    epsilon, delta = 19.0, 0.01
    plan = papers_plan(1.0, 2.0, delta)
    margin = 1 + 2 / epsilon * math.log(1 / delta)
    sd = 2 / epsilon * math.sqrt(2 * math.log(1.25 / delta))
    q, p = (1 / (1 + math.exp(-epsilon / 2 * (g - margin))) for g in (0.513, 1.513))
    z = np.linspace(-8, 8, 2_000_001)
    density = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    shifted = np.exp(-((z + 1 / sd) ** 2) / 2) / math.sqrt(2 * math.pi)
    heard = np.maximum(p * density - math.exp(epsilon) * q * shifted, 0).sum() * (z[1] - z[0])
    assert heard > delta
    assert papers_delta(epsilon, delta) == pytest.approx(heard, rel=2e-3)
    assert plan.noise_sd == pytest.approx(math.sqrt(2 * math.log(1.25 / delta)))


def test_the_papers_plan_works_on_real_safety() -> None:
    plan = papers_plan(2.0, 1.0, 1e-2)
    assert plan.calibration == "paper"
    assert plan.probability(plan.margin) == pytest.approx(0.5)
    assert plan.probability(0.0) <= 1e-2 * math.exp(-0.5) * (1 + 1e-12)
    assert plan.probability(-1.0) == plan.probability(math.nan) == plan.probability(0)
    assert plan.probability(math.inf) == 1.0
    gamma = np.array([0.0, 3.7, 24.0])
    assert plan.probability(gamma) == pytest.approx([plan.probability(float(g)) for g in gamma])
    assert plan.curve[3] == pytest.approx(plan.probability(3.0))
    assert plan.level_for(0.999) == 25
    assert plan.level_for(0.0) == 0
    assert plan.level_for(1.0) is None


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.0])
@pytest.mark.parametrize("delta", [0.5, 1e-2, 1e-6, 1e-10])
def test_the_papers_calibration_is_private_up_to_epsilon_two(epsilon: float, delta: float) -> None:
    papers_plan(1.0, epsilon, delta)
    assert papers_delta(epsilon, delta) <= delta


def test_the_papers_calibration_is_refused_beyond_its_proof_and_where_it_is_false() -> None:
    with pytest.raises(PrivacyError, match="proved for epsilon <= 2 only: at epsilon=4"):
        papers_plan(1.0, 4.0, 0.01)
    assert papers_plan(1.0, 18.0, 0.01, allow_unproved=True).epsilon == 18.0
    with pytest.raises(PrivacyError, match=r"false at epsilon=20, delta=0\.01.*=0\.013 > 0\.01"):
        papers_plan(1.0, 20.0, 0.01, allow_unproved=True)
    with pytest.raises(ArgumentError, match="alpha must be"):
        papers_plan(0.0, 1.0, 0.01)
