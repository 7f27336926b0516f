"""Ranges after public whitening, cuts and plans agree with simulation and with the paper's numbers."""

import itertools
import math

import numpy as np
import pytest
from scipy import integrate, stats

from dpstats.models.gaussian.cuts import (
    FinalCut,
    NoiseLevel,
    choose_final_cut,
    clipping_loss,
    coarse_cut,
    final_cut,
    whitening_update,
    widened_cut,
)
from dpstats.models.gaussian.mean_planning import papers_mean_cut, plan_mean
from dpstats.models.gaussian.planning import plan_cells, plan_gaussian, simulated_noise
from dpstats.models.gaussian.public_range import (
    mean_shift,
    papers_range,
    public_range,
    spectrum,
    variance_ratio,
)

ZCDP, PURE = NoiseLevel(rho=0.5), NoiseLevel(epsilon=1.0)


# ---- noise --------------------------------------------------------------------------------------


def test_exactly_one_measure_of_privacy() -> None:
    for rho, epsilon in ((None, None), (1.0, 1.0)):
        with pytest.raises(ValueError, match="either"):
            NoiseLevel(rho, epsilon)


def test_gaussian_noise_is_sensitivity_over_root_two_rho() -> None:
    rho, share, n, d, size2 = 0.3, 0.7, 500, 6, 9.0
    noise = NoiseLevel(rho=rho)
    root = math.sqrt(2 * share * rho)
    assert noise.second(size2, share, n, d) == pytest.approx(math.sqrt(2) * size2 / n / root)
    assert noise.second(size2, share, n, d, cells=5) == noise.second(size2, share, n, d)
    assert noise.vector(3.0, share, n, d) == pytest.approx(6.0 / n / root)


@pytest.mark.parametrize(("d", "cells"), [(1, 1), (4, 1), (4, 3)])
def test_pure_noise_has_the_spread_of_a_gamma_length(d: int, cells: int) -> None:
    epsilon, share, n = 0.8, 0.5, 300
    noise = NoiseLevel(epsilon=epsilon)
    for coordinates, sensitivity, sd in (
        (
            cells * (d + 1) * (d + 2) // 2,
            math.sqrt(2) * 9 / n,
            noise.second(9.0, share, n, d, cells),
        ),
        (d + 1, 6.0 / n, noise.vector(3.0, share, n, d)),
    ):
        length = stats.gamma(coordinates, scale=sensitivity / (share * epsilon))
        assert sd**2 * coordinates == pytest.approx(length.var() + length.mean() ** 2)


# ---- what public rows tell ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gamma", "ratio"),
    [(0.0, 1), (0.1, 1.51), (0.3, 3.60), (0.5, 9.82), (0.7, 37.8), (0.9, 517), (0.99, 8.45e4)],
)
def test_variance_ratio_table(gamma: float, ratio: float) -> None:
    assert variance_ratio(gamma) == pytest.approx(ratio, rel=5e-3)
    assert variance_ratio(gamma) <= 4 / (1 - gamma) ** 4  # the paper's


@pytest.mark.parametrize("gamma", [1e-6, 0.01, 0.4999, 0.5, 0.8, 0.999, 0.999999])
def test_variance_ratio_has_that_distance(gamma: float) -> None:
    k = math.sqrt(variance_ratio(gamma))
    x = math.sqrt(2 * k**2 * math.log(k) / (k**2 - 1))
    overlap = 2 * stats.norm.sf(x) + math.erf(x / k / math.sqrt(2))
    assert overlap == pytest.approx(1 - gamma, rel=1e-9)


def test_means_apart_only_lower_the_ratio() -> None:
    ratio = variance_ratio(0.5)
    wide = stats.norm(1.0, math.sqrt(ratio))
    grid = np.linspace(-60, 60, 200_001)
    overlap = integrate.trapezoid(np.minimum(stats.norm.pdf(grid), wide.pdf(grid)), grid)
    assert 1 - overlap > 0.5


def test_mean_shift_is_exact() -> None:
    assert mean_shift(0.0) == 0.0
    for gamma in (0.1, 0.9, 0.9999):
        assert 2 * stats.norm.cdf(mean_shift(gamma) / 2) - 1 == pytest.approx(gamma)


@pytest.mark.parametrize(
    ("d", "m", "lower", "upper", "mean_range"),
    [
        (10, 20, 0.28, 26, 3.7),
        (10, 50, 0.42, 4.3, 1.2),
        (50, 100, 0.32, 15, 2.4),
        (50, 250, 0.45, 3.6, 0.93),
    ],
)
def test_public_range_table(d: int, m: int, lower: float, upper: float, mean_range: float) -> None:
    found = public_range(d, m, 0.05)
    assert found.lower == pytest.approx(lower, rel=0.05)
    assert found.upper == pytest.approx(upper, rel=0.1)
    assert found.mean_range == pytest.approx(mean_range, rel=0.05)
    assert found.condition == found.upper / found.lower


@pytest.mark.parametrize(
    ("d", "lower", "mean_range", "papers", "papers_mean"),
    [(10, 0.20, 313, 3.0e6, 7.9e3), (50, 0.23, 694, 5.2e7, 3.3e4)],
)
def test_barely_enough_public_rows(
    d: int, lower: float, mean_range: float, papers: float, papers_mean: float
) -> None:
    found, printed = public_range(d, d + 1, 0.05), papers_range(d, 0.05)
    assert found.lower == pytest.approx(lower, rel=0.05)
    assert found.mean_range == pytest.approx(mean_range, rel=0.05)
    assert printed.condition == pytest.approx(papers, rel=0.02)
    assert printed.mean_range == pytest.approx(papers_mean, rel=0.02)
    # never worse than the paper's closed forms, and close to them where those are sharp
    assert 0.9 * printed.upper < found.upper <= printed.upper
    assert found.lower >= printed.lower


@pytest.mark.parametrize(("d", "m"), [(1, 2), (1, 6), (2, 3), (3, 6), (5, 6), (5, 30)])
def test_each_public_range_fails_as_rarely_as_it_says(d: int, m: int) -> None:
    eta, draws = 0.15, 20_000
    allowed = stats.binom.isf(1e-7, draws, eta / 3)
    rng = np.random.default_rng(d * 100 + m)
    z = rng.normal(size=(draws, m, d))
    mean = z.mean(axis=1)
    z -= mean[:, None]
    covariance = np.einsum("kmi,kmj->kij", z, z) / (m - 1)
    values = np.linalg.eigvalsh(covariance)
    hotelling = np.einsum("ki,ki->k", mean, np.linalg.solve(covariance, mean[:, :, None])[:, :, 0])
    found = public_range(d, m, eta)
    failures = (
        (1 / values[:, -1] < found.lower).sum(),
        (1 / values[:, 0] > found.upper).sum(),
        (hotelling > found.centre**2).sum(),
    )
    assert max(failures) <= allowed
    assert failures[2] >= stats.binom.ppf(1e-7, draws, eta / 3)  # and is exact
    assert min(failures[:2]) >= 0.4 * eta / 3 * draws  # and not needlessly wide


def test_ranges_without_enough_public_rows_say_nothing() -> None:
    found = public_range(5, 5, 0.05)
    assert (found.lower, found.upper, found.centre) == (0.0, math.inf, math.inf)
    assert found.condition == math.inf == found.mean_range


def test_ranges_with_a_small_eta_fall_back_on_closed_forms() -> None:
    usual, rare = public_range(5, 12, 0.05), public_range(5, 12, 1e-9)
    assert rare.lower < usual.lower
    assert usual.upper < rare.upper < math.inf


def test_another_law_widens_the_range() -> None:
    same, other = public_range(5, 20, 0.05), public_range(5, 20, 0.05, 0.9)
    kappa = variance_ratio(0.9)
    assert other.lower == pytest.approx(same.lower / kappa)
    assert other.upper == pytest.approx(same.upper * kappa)
    apart = 2 * math.sqrt(math.log(10) * same.upper * (1 + kappa))
    assert other.centre == pytest.approx(same.centre + apart)


def test_the_expected_spectrum() -> None:
    rng, d, m = np.random.default_rng(0), 4, 12
    z = rng.normal(size=(4000, m - 1, d))
    values = np.sort((m - 1) / np.linalg.eigvalsh(np.einsum("kmi,kmj->kij", z, z)), axis=1)
    found = spectrum(d, m, 0.05, 0.0, None)
    assert found[:-1] == pytest.approx(np.median(values, axis=0)[:-1], rel=0.15)
    assert found[-1] == pytest.approx(np.quantile(values[:, -1], 0.95), rel=0.25)
    kappa = variance_ratio(0.5)
    assert spectrum(d, m, 0.05, 0.5, None) == pytest.approx(
        found * np.repeat([1 / kappa, kappa], 2)
    )
    assert spectrum(d, m, 0.05, 0.0, 1e6)[[0, -1]] == pytest.approx([found[0], 1e6 * found[0]])
    assert spectrum(3, 3, 0.05, 0.0, None) == pytest.approx([1, 100, 1e4])


# ---- where rows are cut -------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 10, 50])
def test_clipping_loss_by_quadrature(d: int) -> None:
    for g2 in (0.1 * d, d, 2 * d + 5):
        beyond = integrate.quad(lambda x: stats.chi2.sf(x, d), g2, math.inf, epsabs=1e-13)[0]
        assert float(clipping_loss(g2, d)) == pytest.approx(beyond / d, rel=1e-6, abs=1e-12)


def test_clipping_loss_by_simulation() -> None:
    z = np.random.default_rng(1).normal(size=(200_000, 3))
    cut = z * np.minimum(1, 2 / np.linalg.norm(z, axis=1))[:, None]
    assert np.eye(3) * (1 - clipping_loss(4.0, 3)) == pytest.approx(cut.T @ cut / 2e5, abs=0.02)


def test_the_final_cut_follows_the_noise() -> None:
    cuts = [choose_final_cut(n, 10, ZCDP) for n in (300, 3000, 30_000, 3_000_000)]
    sizes = [cut.size2 for cut in cuts]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1]
    assert all(0.02 <= cut.ratio <= 1 for cut in cuts)


def test_next_cuts() -> None:
    d, cut = 10, FinalCut(35.0, 7.0)
    assert coarse_cut(10.0, d) == pytest.approx(stats.chi2.isf(0.01, d))
    assert coarse_cut(20.0, d) == pytest.approx(2 * stats.chi2.isf(0.01, d))
    log_term = math.log(100)
    assert coarse_cut(1.0, d) == pytest.approx(1 + 2 * math.sqrt(log_term) + 2 * log_term)
    assert final_cut(10.0, d, 10_000, cut) == 35.0
    assert final_cut(0.5, d, 50, cut) < 35.0


def test_an_update_whitens_and_can_be_undone() -> None:
    root = np.random.default_rng(2).normal(size=(6, 6))
    released = root @ root.T
    update = whitening_update(released, 1e-9)
    assert update.left @ released @ update.left == pytest.approx(np.eye(6), abs=1e-5)
    assert update.left @ update.right == pytest.approx(np.eye(6), abs=1e-8)
    assert update.tau == pytest.approx(6.0, rel=1e-4)
    assert update.smallest == pytest.approx(np.linalg.eigvalsh(released)[0])


@pytest.mark.parametrize("s", [0.02, 0.1])
def test_the_trace_estimate_is_unbiased(s: float) -> None:
    truth, rng, draws = np.diag([2.0, 1.0, 0.3, 0.1]), np.random.default_rng(3), 4000
    off = []
    for _ in range(draws):
        g = rng.normal(size=(4, 4)) * s
        update = whitening_update(truth + (g + g.T) / 2, s)
        if 1 < update.tau < 8:
            off.append(update.tau - np.trace(update.left @ truth @ update.left))
    assert len(off) > 0.97 * draws
    assert abs(np.mean(off)) < 5.5 * np.std(off) / math.sqrt(len(off)) + 0.02


def test_an_update_from_nothing_is_finite() -> None:
    for released, s in ((np.zeros((3, 3)), 0.0), (-np.eye(3), 0.1), (np.eye(3), 0.0)):
        update = whitening_update(released, s)
        assert np.isfinite(update.left).all()
        assert np.isfinite(update.right).all()
        assert 1 <= update.tau <= 6


# ---- plans --------------------------------------------------------------------------------------

_NOISES = (NoiseLevel(rho=1e-8), ZCDP, NoiseLevel(rho=1e12), NoiseLevel(epsilon=1e-3), PURE)


@pytest.mark.parametrize("noise", _NOISES)
@pytest.mark.parametrize("gamma", [0.0, 0.999])
def test_plans_at_the_extremes(noise: NoiseLevel, gamma: float) -> None:
    for d, n in itertools.product((1, 3, 20), (2, 1000, 10**7)):
        for m in {2, d + 1, 5 * d + 5}:
            plan = plan_gaussian(n, d, m, noise, gamma=gamma)
            assert plan.final >= 0.2 - 1e-9
            total = plan.search + plan.counts + plan.rounds * plan.share + plan.final
            assert total == pytest.approx(1.0, abs=1e-12)
            assert (plan.share > 0) == (plan.rounds > 0)
            assert math.isfinite(plan.error)
            assert plan.error >= math.sqrt(d * (d + 1) / n)
            assert plan.mean_noise > 0
            mean = plan_mean(n, d, m, noise, gamma=gamma)
            assert math.isfinite(mean.sd)
            assert mean.sd > 0


def test_more_rows_and_more_budget_promise_less_error() -> None:
    for d, m in ((2, 3), (10, 20), (50, 100)):
        by_n = [plan_gaussian(n, d, m, ZCDP).error for n in (10**3, 10**4, 10**5, 10**6)]
        assert by_n == sorted(by_n, reverse=True)
        by_rho = [plan_gaussian(10**4, d, m, NoiseLevel(rho=r)).error for r in (0.01, 0.1, 1, 10)]
        assert by_rho == sorted(by_rho, reverse=True)
        cleaner = [plan_gaussian(10**4, d, rows, ZCDP).noise for rows in (d + 1, 2 * d, 20 * d)]
        assert cleaner == sorted(cleaner, reverse=True)


def test_public_rows_of_another_law_ask_for_rounds() -> None:
    near, far = (plan_gaussian(20_000, 10, 30, ZCDP, gamma=g) for g in (0.0, 0.9))
    assert far.rounds > near.rounds
    assert far.error < 1.5 * near.error


def test_a_plan_says_what_its_own_error_is() -> None:
    plan = plan_gaussian(10_000, 10, 20, ZCDP)
    assert plan.error**2 == pytest.approx(110 / 10_000 + plan.noise**2 + plan.bias**2)
    assert plan.error == pytest.approx(0.109, rel=0.05)  # measured .105 to .109
    assert plan.search == pytest.approx(0.03)
    assert plan.counts == pytest.approx(0.005)


def test_large_tables_are_not_cut_at_one_row_in_a_hundred() -> None:
    plan = plan_gaussian(10**8, 10, 10_000, ZCDP)
    assert plan.rounds >= 1
    assert plan.bias < 0.1 * math.sqrt(110 / 10**8)


def test_cells_share_rounds_and_lift() -> None:
    plan = plan_cells((500.0, 20_000.0, 3000.0), (8, 90, 12), 6, ZCDP, available=0.6)
    assert 1 - plan.rounds * plan.share >= 0.2 - 1e-12
    assert len(plan.cuts) == 3
    assert plan.bias[1] < plan.bias[0] < 0.1
    assert [cut.ratio for cut in plan.cuts] == pytest.approx([plan.cuts[0].ratio] * 3)


def test_cells_make_no_rounds_unless_much_is_gained() -> None:
    known = plan_cells((5000.0,) * 3, (5000,) * 3, 4, ZCDP)
    assert known.rounds == known.share == 0
    assert plan_cells((5000.0,) * 3, (1, 2, 3), 4, ZCDP).rounds > 0


# ---- means --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "d", "rho"), [(200, 3, 0.01), (2000, 20, 0.5)])
def test_a_mean_plan_cuts_no_row(n: int, d: int, rho: float) -> None:
    plan = plan_mean(n, d, 2, NoiseLevel(rho=rho), eta=0.2)
    rng, runs, each = np.random.default_rng(n), 300, 0.2 / 4 / plan.rounds
    lost, centre = 0, math.sqrt(stats.chi2.isf(each, d) / 2)  # is farther off with this chance
    for _ in range(runs):
        c = rng.normal(size=d) / math.sqrt(2)
        x = rng.normal(size=(n, d))
        away = c / np.linalg.norm(c) * centre
        lost += np.linalg.norm(x - away, axis=1).max() > plan.cut1
        if plan.cut2 is not None:
            first = x.mean(axis=0) + rng.normal(size=d) * NoiseLevel(rho=rho).vector(
                plan.cut1, plan.share, n, d
            )
            lost += np.linalg.norm(x - first, axis=1).max() > plan.cut2
    assert lost <= stats.binom.isf(1e-7, runs, (2 * plan.rounds - 1) * each)


def test_two_rounds_where_rows_are_many() -> None:
    few, many = plan_mean(100, 50, 1, NoiseLevel(rho=0.01)), plan_mean(10_000, 50, 1, ZCDP)
    assert (few.rounds, few.share, few.cut2) == (1, 1.0, None)
    assert many.rounds == 2
    assert many.cut2 is not None
    assert many.cut2 < many.cut1 < papers_mean_cut(10_000, 50, 0.05)
    # measured medians .555 and .265 at n = 1000
    for rho, median in ((0.05, 0.555), (0.5, 0.265)):
        plan = plan_mean(1000, 50, 1, NoiseLevel(rho=rho))
        error = math.sqrt(1e-3 + plan.sd**2)
        assert error * math.sqrt(49.3) == pytest.approx(median, rel=0.1)


def test_a_mean_elsewhere_widens_the_first_cut() -> None:
    near, far = plan_mean(1000, 5, 1, PURE), plan_mean(1000, 5, 1, PURE, gamma=0.999)
    assert far.cut1 > near.cut1
    assert far.sd >= near.sd


def test_the_papers_cut() -> None:
    d, log_terms = 7, (math.log(40), math.log(2 * 400 / 0.05))
    expected = sum(math.sqrt(d + 2 * math.sqrt(d * t) + 2 * t) for t in log_terms)
    assert papers_mean_cut(400, d, 0.05) == pytest.approx(expected)


# ---- tails and simulated runs ------------------------------------------------------------------


def test_gaussian_rows_leave_the_cut_where_it_was() -> None:
    d, n = 5, 20_000
    expected = lambda r: n * stats.chi2.sf(np.asarray(r) ** 2, d)  # noqa: E731
    tail = widened_cut(4.0, d, n, 1e-4, expected, 1.0)
    assert tail.radius == 4.0
    assert tail.lost == pytest.approx(0.0, abs=1e-12)
    assert tail.excess == pytest.approx(0.0, abs=1e-12)


def test_long_tails_widen_the_cut_as_far_as_noise_allows() -> None:
    n = 20_000

    def above(r: np.ndarray) -> np.ndarray:
        return n * 0.01 * (4.0 / r) ** 3

    wide = [widened_cut(4.0, 5, n, unit, above, 1.0).radius for unit in (1e-6, 1e-3, 1e-1)]
    assert wide == sorted(wide, reverse=True)
    assert wide[0] > 8.0
    assert wide[-1] == 4.0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "m"),
    [
        (1000, 11),
        *(pytest.param(*sizes, marks=pytest.mark.slow) for sizes in ((1000, 20), (10_000, 11))),
    ],
)
def test_simulated_noise_is_at_most_what_the_plan_predicts(n: int, m: int) -> None:
    plan = plan_gaussian(n, 10, m, ZCDP)
    simulated = simulated_noise(plan, m, ZCDP, 0.975)
    assert 0 < simulated[0] <= plan.noise
    assert simulated == simulated_noise(plan, m, ZCDP, 0.975)
    assert simulated_noise(plan, m, ZCDP, 0.5)[0] < simulated[0]
