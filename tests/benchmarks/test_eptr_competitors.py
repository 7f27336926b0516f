"""The ePTR paper's algorithms and the fits without privacy are what they are said to be."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

from . import competitors, settings
from . import eptr_competitors as ec
from . import eptr_settings as es

HUGE = 1e9
needs_data = pytest.mark.skipif(not settings.DATA.is_dir(), reason="needs the real data sets")


def plausible(draws: settings.Array, alarm: float = 1e-6) -> bool:
    """Whether the sum of squares is that of standard normal draws; wrong at rate ``alarm``."""
    low, high = (float(chi2.ppf(q, draws.size)) for q in (alarm / 2, 1 - alarm / 2))
    return low < float(np.sum(draws**2)) < high


# Settings


def test_simulations_follow_the_paper() -> None:
    s = es.simulated_ols(0, 50_000)
    assert np.linalg.norm(s.beta) == pytest.approx(1)
    np.testing.assert_allclose(s.beta / s.beta[0], 1 / np.arange(1, 6))
    np.testing.assert_allclose(s.x.T @ s.x / len(s.y), np.eye(5), atol=0.05)
    assert np.std(s.y - s.x @ s.beta) == pytest.approx(1, rel=0.03)
    t = es.simulated_bayes(0, 50_000)
    counts, centres = ec.class_moments(t.private.x, t.private.y, np.unique(t.private.y))
    np.testing.assert_allclose(counts / 50_000, es.PRIORS, atol=0.015)
    np.testing.assert_allclose(centres, 3 * np.eye(3, 10), atol=0.1)
    for d in 1, 2:
        curve = es.simulated_nw(0, 20_000, d=d)
        truth = es.sine if d == 1 else es.surface
        assert np.std(curve.private.y - truth(curve.private.x)) == pytest.approx(0.3, rel=0.05)
        assert curve.test.x.min() == 0
        assert curve.test.x.max() == 1


def test_the_number_of_public_rows_leaves_the_private_ones() -> None:
    for few, many in (
        (es.simulated_bayes(1, 50, 20), es.simulated_bayes(1, 50, 30)),
        (es.simulated_nw(1, 50, 20), es.simulated_nw(1, 50, 30)),
    ):
        np.testing.assert_array_equal(few.private.x, many.private.x)
        np.testing.assert_array_equal(few.private.y, many.private.y)


@needs_data
@pytest.mark.parametrize(
    ("load", "total", "d"), [(es.credit, 30_000, 23), (es.housing, 20_640, 4), (es.wine, 4898, 4)]
)
def test_real_data_have_the_stated_split(load: Callable[..., Any], total: int, d: int) -> None:
    t = load(settings.DATA, seed=1, m=150)
    training = total // 5
    assert [len(part) for part in (t.private, t.public, t.test)] == [
        training - 150,
        150,
        total - training,
    ]
    assert t.private.x.shape == (training - 150, d)
    assert len(t.names) == d
    np.testing.assert_allclose(np.mean(t.public.x, axis=0), 0, atol=1e-9)
    spread = np.std(t.public.x, axis=0)
    assert np.all((np.abs(spread - 1) < 1e-9) | (spread < 1e-9))
    together = np.concatenate([t.private.y, t.public.y, t.test.y])
    expected = {23: 0.2212, 4: 2.06855816909 if total == 20_640 else 5.877909}[d]
    found = np.mean(together == "yes") if d == 23 else np.mean(together)
    assert found == pytest.approx(expected, abs=1e-6)


# Algorithm 2


@pytest.mark.parametrize(
    ("epsilon", "delta", "shift", "certain", "noise"),
    [
        (0.5, 1e-2, 19.4, 47.0, 12.43),
        (1.0, 1e-2, 10.2, 24.0, 6.22),
        (1.0, 1e-5, 24.0, 37.8, 9.69),
        (4.0, 1e-2, 3.3, 6.8, 1.55),
        (8.0, 1e-5, 3.9, 5.6, 1.21),
    ],
)
def test_levels_and_noise_of_the_paper(
    epsilon: float, delta: float, shift: float, certain: float, noise: float
) -> None:
    assert ec.paper_shift(epsilon, delta) == pytest.approx(shift, abs=0.06)
    found = 2 / epsilon * math.log(999) + ec.paper_shift(epsilon, delta)
    assert found == pytest.approx(certain, abs=0.06)
    assert ec.paper_pass_probability(found, epsilon, delta) == pytest.approx(0.999, abs=1e-9)
    assert ec.paper_pass_probability(shift, epsilon, delta) == pytest.approx(0.5, abs=0.06)
    assert ec.paper_noise(1.0, epsilon, delta) == pytest.approx(noise, abs=0.006)


def test_the_unsafe_pass_with_at_most_delta() -> None:
    for epsilon in 0.1, 1.0, 8.0:
        for delta in 1e-2, 1e-8:
            most = delta * math.exp(-epsilon / 2)
            assert ec.paper_pass_probability(0.0, epsilon, delta) <= most
    assert ec.paper_pass_probability(1e6, 1.0, 0.01) == 1.0


def test_replies_have_the_stated_noise_and_rate() -> None:
    rng = np.random.default_rng(0)
    draws = [ec.paper_eptr(np.ones(2), 9.0, 0.5, 1.0, 0.01, rng) for _ in range(4000)]
    replies = np.array([found for found in draws if found is not None])
    rate = float(ec.paper_pass_probability(9.0, 1.0, 0.01))
    # Five standard errors: false alarm below 1e-6.
    assert abs(len(replies) - 4000 * rate) < 5 * math.sqrt(4000 * rate * (1 - rate))
    assert plausible((replies - 1) / ec.paper_noise(0.5, 1.0, 0.01))


# Least squares


def test_limits_of_algorithm_4_are_the_specified_ones() -> None:
    assert ec.tuned_ols_limits() == pytest.approx((3.88, 1, 0.75), abs=0.005)
    assert ec.theory_ols_limits(8000).x == pytest.approx(2 * math.sqrt(5 * math.log(8000)))


def test_algorithm_4_is_least_squares_when_the_budget_is_huge() -> None:
    s = es.simulated_ols(0, 2000)
    rng = np.random.default_rng(0)
    limits = ec.OlsLimits(100.0, 3.0, 0.01)
    assert ec.paper_ols(s.x, s.y, limits, 1.0, 0.01, rng) is None
    limits = ec.OlsLimits(10.0, 3.0, 0.5)
    found = ec.paper_ols(s.x, s.y, limits, HUGE, 0.01, rng)
    assert found is not None
    np.testing.assert_allclose(found, competitors.ols(s.x, s.y), atol=1e-6)


def test_algorithm_4_has_the_specified_error() -> None:
    errors = []
    for seed in range(40):
        s = es.simulated_ols(seed, 8000)
        rng = np.random.default_rng(seed + 99)
        found = ec.paper_ols(s.x, s.y, ec.tuned_ols_limits(), 1.0, 0.01, rng)
        assert found is not None
        errors.append(found - s.beta)
    # Noise alone: 5 squared deviations of 0.0625; the specification measured 31.9 times 5/8000.
    noise = 5 * ec.paper_noise(4 * 3.8841**2 / (0.75 * 8000), 1.0, 0.01) ** 2
    assert noise * 8000 / 5 == pytest.approx(31.3, abs=0.1)
    assert plausible(np.array(errors) / math.sqrt(noise / 5 + 1 / 8000))


def test_published_adassp_is_least_squares_when_the_budget_is_huge() -> None:
    s = es.simulated_ols(1, 2000)
    rng = np.random.default_rng(0)
    found = ec.adassp_published(s.x, s.y, 100.0, 100.0, HUGE, 0.01, rng)
    np.testing.assert_allclose(found, competitors.ols(s.x, s.y), atol=1e-3)


def test_published_adassp_has_the_papers_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    n, epsilon, delta = 300, 2.0, 1e-3
    s = es.simulated_ols(2, n)
    seen: list[tuple[settings.Array, settings.Array]] = []

    def stay(gram: settings.Array, cross: settings.Array) -> settings.Array:
        seen.append((gram, cross))
        return np.zeros(5)

    monkeypatch.setattr(ec, "solve", stay)
    for seed in range(300):
        rng = np.random.default_rng(seed)
        ec.adassp_published(s.x, s.y, 3.0, 2.0, epsilon, delta, rng)
    unit = math.sqrt(math.log(6 / delta)) / (epsilon / 3)
    x, y = ec.into_ball(s.x, 3.0), np.clip(s.y, -2, 2)
    cross = np.array([(c - x.T @ y) / (12 * unit) for _, c in seen])
    off = np.array([g[np.triu_indices(5, 1)] for g, _ in seen])
    gram = (off - (x.T @ x)[np.triu_indices(5, 1)]) / (9 * math.sqrt(2) * unit)
    for draws in cross, gram:
        assert plausible(draws, 5e-7)


# Bayes' classifier


def test_classifier_maximises_the_gaussian_posterior() -> None:
    t = es.simulated_bayes(3, 400)
    for kind in ("identity", "diagonal", "full"):
        fit = ec.nonprivate_bayes(t.private.x, t.private.y, kind)
        inverse = np.linalg.inv(fit.covariance)
        scores = [
            math.log(prior) - np.einsum("ni,ij,nj->n", t.test.x - m, inverse, t.test.x - m) / 2
            for prior, m in zip(fit.priors, fit.centres, strict=True)
        ]
        best = fit.classes[np.argmax(scores, axis=0)]
        np.testing.assert_array_equal(fit.predict(t.test.x), best)
    means = [np.mean(t.private.x[t.private.y == k], axis=0) for k in fit.classes]
    np.testing.assert_allclose(fit.centres, means)


def test_balanced_error_weighs_classes_equally() -> None:
    truth = np.array(["a"] * 8 + ["b"] * 2)
    assert ec.balanced_error(truth, np.full(10, "a")) == 0.5
    assert ec.balanced_error(truth, np.array(["b"] * 2 + ["a"] * 6 + ["b", "a"])) == 0.375


def test_algorithm_3_finds_frequencies_and_means_when_the_budget_is_huge() -> None:
    t = es.simulated_bayes(4, 2000)
    rng = np.random.default_rng(0)
    classes = np.unique(t.private.y)
    arguments = t.private.x, t.private.y, classes
    best = ec.nonprivate_bayes(t.private.x, t.private.y)
    for found in (
        ec.paper_bayes(*arguments, 50.0, 0.05, HUGE, 0.01, rng),
        ec.sums_bayes(*arguments, 50.0, HUGE, 0.01, rng, np.eye(10)),
    ):
        assert found is not None
        np.testing.assert_allclose(found.priors, best.priors, atol=1e-2)
        np.testing.assert_allclose(found.centres, best.centres, atol=1e-1)
    assert ec.paper_bayes(*arguments, 8.0, 0.3, 1.0, 1e-12, rng) is None


def test_noise_of_algorithm_3_on_a_probability() -> None:
    # The specification: 1.41 at n = 2000, epsilon = 1, delta = 0.01, c0 = 0.05, R_x = 8.
    alpha = 2 / 2000 * math.sqrt(2 * 64 / 0.05**2 + 2)
    assert ec.paper_noise(alpha, 1.0, 0.01) == pytest.approx(1.41, abs=0.005)


# Kernel regression


@pytest.mark.parametrize("bandwidth", [0.1, np.array([0.05, 0.3])])
def test_kernel_fit_is_the_direct_formula(bandwidth: Any) -> None:
    t = es.simulated_nw(5, 300, d=2)
    x, y, points = t.private.x, t.private.y, t.test.x[:50]
    squares = np.sum(((points[:, None, :] - x) / bandwidth) ** 2, axis=2)
    weight = np.exp(-squares / 2)
    num, den = ec.kernel_sums(points, x, y, bandwidth)
    np.testing.assert_allclose(num, weight @ y, atol=1e-10)
    np.testing.assert_allclose(den, np.sum(weight, axis=1), atol=1e-10)
    np.testing.assert_allclose(ec.nonprivate_nw(points, x, y, bandwidth), num / den, rtol=1e-8)
    left_out = []
    for i in range(len(y)):
        keep = np.arange(len(y)) != i
        left_out.append(ec.nonprivate_nw(x[i : i + 1], x[keep], y[keep], bandwidth)[0] - y[i])
    found = ec.nonprivate_left_out_error(x, y, bandwidth)
    assert found == pytest.approx(np.mean(np.square(left_out)), rel=1e-9)


def test_blocks_do_not_change_kernel_sums() -> None:
    rng = np.random.default_rng(0)
    points, x = rng.random((50, 3)), rng.random((20, 3))
    whole = np.vstack([half for _, half in ec.exponents(points, x, 0.1)])
    parts = np.vstack([half for _, half in ec.exponents(points, x, 0.1, block=7)])
    np.testing.assert_allclose(whole, parts, atol=1e-9)


def test_far_points_get_their_nearest_row() -> None:
    x, y = np.array([[0.0], [1.0]]), np.array([3.0, 5.0])
    found = ec.nonprivate_nw(np.array([[-50.0], [50.0], [0.5]]), x, y, 0.01)
    np.testing.assert_allclose(found, [3, 5, 4])


def test_bandwidths_minimise_the_left_out_error() -> None:
    t = es.simulated_nw(6, 400)
    x, y = t.private.x, t.private.y
    candidates = [0.01, 0.05, 0.3]
    errors = [ec.nonprivate_left_out_error(x, y, h) for h in candidates]
    assert ec.nonprivate_bandwidth(x, y, candidates) == candidates[int(np.argmin(errors))] == 0.05
    two = np.column_stack([x, np.random.default_rng(0).random(len(y))])
    each = ec.nonprivate_bandwidths(two, y, 0.2)
    assert each[0] < 0.15 < 0.4 < each[1]
    least = ec.nonprivate_left_out_error(two, y, each)
    for j in 0, 1:
        for step in 1.5, 1 / 1.5:
            trial = each.copy()
            trial[j] *= step
            assert ec.nonprivate_left_out_error(two, y, trial) >= least * (1 - 1e-6)


def test_algorithm_5_in_units_of_a_unit_kernel_is_the_papers() -> None:
    n, h, level, response, epsilon, delta = 2000, 0.05, 0.3, 1.5, 1.0, 0.01
    constant = 1 / math.sqrt(2 * math.pi)  # C_K of the Gaussian density, d = 1
    alpha = 4 * response * constant / (h * level * n)
    limits = ec.NwLimits(response, ec.paper_degree(level, n, h, 1))
    assert 4 * response / limits.degree == pytest.approx(alpha)
    den = np.array([90.0])
    density = den[0] * constant / h
    safety = (density - level * n - 2 * constant / h) / (2 * constant / h)
    assert (den[0] - limits.degree - 2) / 2 == pytest.approx(safety)
    rng = np.random.default_rng(0)
    many = np.full(20_000, 90.0)
    found, reply = ec.paper_nw(many * 0.5, many, limits, epsilon, delta, rng)
    rate = float(ec.paper_pass_probability(safety, epsilon, delta))
    assert abs(np.mean(reply) - rate) < 5 * math.sqrt(rate * (1 - rate) / 20_000)
    assert np.array_equal(np.isnan(found), ~reply)
    assert plausible((found[reply] - 0.5) / ec.paper_noise(alpha, epsilon, delta))


def test_composition_divides_the_budget_among_the_points() -> None:
    m = 20
    den = np.full(m, 200.0)
    limits = ec.NwLimits(1.0, 20.0)
    given = np.random.default_rng(3), np.random.default_rng(3)
    composed = ec.paper_nw(den, den, limits, 2.0, 0.01, given[0], compose=True)
    small = ec.paper_nw(den, den, limits, 2.0 / m, 0.01 / m, given[1])
    np.testing.assert_array_equal(composed[0], small[0])


def test_process_noise_has_the_stated_deviations() -> None:
    rng = np.random.default_rng(0)
    den = np.full(20_000, 1e7)
    mu = competitors.gdp_mu(1.0, 0.01)
    assert mu == pytest.approx(0.532517, abs=1e-6)
    found = ec.sums_nw_marginals(0.4 * den, den, 1.5, 1.0, 0.01, rng)
    # To first order the error is (noise of num - 0.4 noise of den) / den.
    assert plausible((found - 0.4) * 1e7 / (2 / mu * math.hypot(1.5, 0.4)))


def test_the_public_plan_smooths_more_under_more_noise() -> None:
    t = es.simulated_nw(7, 10, 400)
    choices = [np.array([h]) for h in (0.01, 0.03, 0.1, 0.3)]
    wide, narrow = (
        ec.public_kernel_plan(t.public.x, t.public.y, 2000, 1.5, mu, choices) for mu in (0.01, 50.0)
    )
    assert narrow.bandwidth[0] < wide.bandwidth[0]
    assert narrow.ridge < wide.ridge


def test_ridge_pulls_to_zero_where_there_are_no_rows() -> None:
    rng = np.random.default_rng(0)
    none = np.zeros(5000)
    found = ec.sums_nw_ridge_marginals(none, none, 1.5, 1e4, 1.0, 0.01, rng)
    assert np.max(np.abs(found)) < 0.01
    many = np.full(5000, 1e7)
    found = ec.sums_nw_ridge_marginals(0.4 * many, many, 1.5, 0.0, 1.0, 0.01, rng)
    np.testing.assert_allclose(found, 0.4, atol=1e-5)


def test_baselines_are_the_fit_without_privacy_at_a_huge_budget() -> None:
    s = es.simulated_ols(0, 2000)
    rng = np.random.default_rng(0)
    limits = ec.OlsLimits(100.0, 1.2, 0.1)
    base = competitors.ols(s.x, s.y)
    found = ec.functional_mechanism(s.x, s.y, 100.0, 120.0, 1e12, rng)
    np.testing.assert_allclose(found, base, atol=1e-4)
    found = ec.noisy_descent(s.x, s.y, limits, 1e12, 0.01, rng)
    np.testing.assert_allclose(found, base, atol=1e-3)
    t = es.simulated_bayes(0, 2000, test=300)
    classes = np.unique(t.private.y)
    fit = ec.laplace_bayes(t.private.x, t.private.y, classes, 100.0, 1e12, rng)
    base_fit = ec.nonprivate_bayes(t.private.x, t.private.y)
    np.testing.assert_allclose(fit.centres, base_fit.centres, atol=1e-6)
    np.testing.assert_allclose(fit.priors, base_fit.priors, atol=1e-6)
