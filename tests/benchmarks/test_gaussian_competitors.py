"""The Gaussian competitors are what their papers say, and the simulations have the stated truth."""

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2

from . import gaussian_accuracy, settings
from . import gaussian_competitors as gc
from . import gaussian_settings as gs

HUGE = 1e12


def plausible(draws: settings.Array, alarm: float = 1e-6) -> bool:
    """Whether the sum of squares is that of standard normal draws; wrong at rate ``alarm``."""
    low, high = (float(chi2.ppf(q, draws.size)) for q in (alarm / 2, 1 - alarm / 2))
    return low < float(np.sum(draws**2)) < high


# Settings


def test_rows_have_the_stated_law() -> None:
    setting = gs.Gaussian(4, 20_000, 20_000, cond=1e4, norm=1e5, ratio=9.0, shift=2.0)
    s = gs.simulate(setting, 1)
    values = np.linalg.eigvalsh(s.cov)
    np.testing.assert_allclose(values, np.geomspace(1, 1e4, 4), rtol=1e-9)
    assert np.linalg.norm(s.mean) == pytest.approx(1e5)
    found = gc.nonprivate(s.private)
    assert gc.covariance_error(found.cov, s.cov) < 0.06
    assert gc.mean_error(found.mean, s.mean, s.cov) < 0.04
    away = gc.public_only(s.public)
    assert gc.mean_error(away.mean, s.mean, s.cov) == pytest.approx(2, abs=0.15)
    white = gc.root_and_inverse(s.cov)[1]
    ratios = np.linalg.eigvalsh(white @ away.cov @ white)
    assert 0.9 / 9 < ratios[0] < ratios[-1] < 9 * 1.1
    assert ratios[-1] / ratios[0] > 2


def test_another_condition_transforms_the_same_rows() -> None:
    plain = gs.simulate(gs.Gaussian(3, 40, 5, cond=1.0, norm=0.0), 2)
    hard = gs.simulate(gs.Gaussian(3, 40, 8, cond=1e6, norm=1e3, ratio=4.0), 2)
    errors = [gc.covariance_error(gc.nonprivate(s.private).cov, s.cov) for s in (plain, hard)]
    assert errors[0] == pytest.approx(errors[1], rel=1e-6)
    more = gs.simulate(gs.Gaussian(3, 40, 9, cond=1e6, norm=1e3), 2)
    np.testing.assert_array_equal(hard.private, more.private)
    known = gs.simulate_known(3, 10, 1, 50.0, 0)
    np.testing.assert_allclose(known.cov, np.eye(3), atol=1e-12)


@pytest.mark.parametrize(
    "setting",
    [
        gs.Mixture(5, 4, 20_000),
        gs.Mixture(5, 4, 20_000, "few", scales=10.0, cond=100.0),
        gs.Mixture(5, 4, 20_000, superclusters=1e5),
        gs.Mixture(5, 1, 20_000),
    ],
)
def test_mixtures_have_the_stated_truth(setting: gs.Mixture) -> None:
    s = gs.simulate_mixture(setting, 3)
    k = setting.k
    assert s.weights.min() >= 0.5 / k
    assert np.sum(s.weights) == pytest.approx(1)
    expected = gs.public_rows(setting.rows, 5, k, s.weights.min())
    assert len(s.public) == len(s.public_labels) == expected
    spread = np.sqrt([np.linalg.eigvalsh(cov)[-1] for cov in s.covariances])
    apart = [
        np.linalg.norm(s.means[a] - s.means[b]) / max(spread[a], spread[b])
        for a in range(k)
        for b in range(a)
        if setting.superclusters == 0 or (a < k // 2) == (b < k // 2)
    ]
    assert not apart or min(apart) >= 8 * (1 - 1e-6)
    if setting.superclusters:
        assert np.linalg.norm(s.means[0] - s.means[3]) == pytest.approx(1e5, rel=1e-2)
    truth = gc.Components(s.weights, s.means, s.covariances)
    found = gc.mixture_errors(gc.labelled_oracle_not_private(s.private, s.labels, k), truth)
    assert found.found
    assert found.mean < 0.1
    assert found.cov < 0.25
    assert found.weight < 0.02
    other = gs.simulate_mixture(replace(setting, rows="fewer"), 3)
    np.testing.assert_array_equal(s.private, other.private)


def test_public_rows_of_the_private_regime_do_not_depend_on_the_dimension() -> None:
    assert gs.public_rows("few", 10, 4, 0.125) == gs.public_rows("few", 50, 4, 0.125)
    assert gs.public_rows("fewer", 10, 4, 0.125) == 120
    assert list(gs.frame(np.zeros((2, 3))).columns) == gs.names(3) == ["x1", "x2", "x3"]


# Errors


def test_errors_do_not_depend_on_units() -> None:
    rng = np.random.default_rng(4)
    A = rng.standard_normal((3, 3)) * [1, 10, 1e3]
    cov, found = np.diag([1.0, 2.0, 3.0]), np.diag([1.5, 2.0, 3.0])
    assert gc.covariance_error(found, cov) == pytest.approx(0.5)
    assert gc.covariance_error(A.T @ found @ A, A.T @ cov @ A) == pytest.approx(0.5, rel=1e-6)
    delta = np.array([0.0, 0.0, 3.0])
    assert gc.mean_error(delta, np.zeros(3), cov) == pytest.approx(math.sqrt(3))
    moved = gc.mean_error(delta @ A, np.zeros(3), A.T @ cov @ A)
    assert moved == pytest.approx(math.sqrt(3), rel=1e-6)


def test_total_variation_is_right_where_it_is_known() -> None:
    same = gc.Estimate(np.zeros(2), np.diag([1.0, 4.0]))
    moved = gc.Estimate(np.array([0.0, 2.0]), np.diag([1.0, 4.0]))
    assert gc.total_variation(same, same, 1000) == pytest.approx(0, abs=1e-12)
    # 2 Phi(1 / 2) - 1
    assert gc.total_variation(moved, same, 100_000) == pytest.approx(0.3829, abs=0.006)
    flat = gc.Estimate(np.zeros(2), np.diag([1.0, 0.0]))
    assert gc.total_variation(flat, same, 1000) == 1


def test_matching_pairs_components_whatever_their_order() -> None:
    rng = np.random.default_rng(5)
    means = 10 * rng.standard_normal((4, 3))
    truth = gc.Components(np.array([0.1, 0.2, 0.3, 0.4]), means, np.array([np.eye(3)] * 4))
    order = np.array([2, 0, 3, 1])
    shuffled = gc.Components(*(part[order] for part in truth))
    errors = gc.mixture_errors(shuffled, truth)
    assert errors.found
    assert max(errors[1:]) == pytest.approx(0, abs=1e-9)
    extra = np.vstack([means[order], means[0] + 0.5])
    assert [i for _, i, _ in gc.match(extra, truth)] == [1, 3, 0, 2]


def test_a_component_without_an_estimate_of_its_own_is_missed() -> None:
    truth = gc.Components(np.ones(2) / 2, np.array([[0.0, 0], [9, 0]]), np.array([np.eye(2)] * 2))
    twice = truth._replace(means=np.array([[0.0, 0], [0.1, 0]]))
    fewer = gc.Components(np.ones(1), truth.means[:1], truth.covariances[:1])
    for found in twice, fewer:
        errors = gc.mixture_errors(found, truth)
        assert not errors.found
        assert math.isnan(errors.cov)
    # The hit is kept even where another pairing has the smaller sum of distances.
    near = np.array([[0.9, 0.0], [-11.0, 0.0]])
    assert gc.match(near, truth)[0][:2] == (0, 0)


# The lifted release with the truth


def test_lifted_noise_has_the_stated_deviations() -> None:
    lift, rho, n, d = gc.Lift(3.0, 1.5), 0.5, 20, 4
    sd = (9 + 2.25) / (n * math.sqrt(rho))
    rng = np.random.default_rng(6)
    runs = [gc.lifted_release(np.zeros((n, d)), rho, lift, rng) for _ in range(2000)]
    upper = np.triu_indices(d, 1)
    moments = np.array([run.cov for run in runs])
    assert plausible(np.array([run.mean for run in runs]) * math.sqrt(2) * 1.5 / sd)
    assert plausible(np.diagonal(moments, axis1=1, axis2=2) / sd)
    assert plausible(moments[:, upper[0], upper[1]] * math.sqrt(2) / sd)
    np.testing.assert_array_equal(moments, moments.transpose(0, 2, 1))


def test_lifted_sensitivity_is_reached_and_never_passed() -> None:
    lift, d = gc.Lift(2.0, 1.0), 3
    rng = np.random.default_rng(7)

    def released(row: settings.Array) -> settings.Array:
        # The noise at this budget is below rounding.
        found = gc.lifted_release(row[None], 1e40, lift, rng)
        entries = [math.sqrt(2) * lift.constant * found.mean, found.cov.ravel()]
        return np.concatenate(entries)

    largest = 0.0
    for trial in range(200):
        rows = rng.standard_normal((2, d)) * rng.choice([0.1, 1, 10], (2, 1))
        if trial % 2:
            # Both of length g, at the angle where the lifted rows are orthogonal.
            rows = 2 * np.array([[1.0, 0, 0], [-0.25, math.sqrt(1 - 0.25**2), 0]])
        largest = max(largest, float(np.linalg.norm(released(rows[0]) - released(rows[1]))))
    limit = math.sqrt(2) * (4 + 1)
    assert largest == pytest.approx(limit, rel=1e-6)


def test_oracle_release_is_near_the_sample_when_the_budget_is_huge() -> None:
    s = gs.simulate(gs.Gaussian(3, 5000, 4), 8)
    rng = np.random.default_rng(0)
    found = gc.oracle_release_not_private(s.private, s.mean, s.cov, HUGE, rng)
    exact = gc.nonprivate(s.private)
    assert gc.mean_error(found.mean, exact.mean, s.cov) < 0.01
    assert gc.covariance_error(found.cov, exact.cov) < 0.02
    rough = gc.oracle_release_not_private(s.private, s.mean, s.cov, 1e-4, rng)
    assert gc.covariance_error(rough.cov, exact.cov) > 0.1
    assert np.linalg.eigvalsh(rough.cov)[0] > 0


# CoinPress


@pytest.mark.parametrize("steps", [1, 2, 4, 10])
def test_coinpress_spends_its_budget(steps: int) -> None:
    budgets = gc.coinpress_budgets(0.7, steps)
    assert len(budgets) == steps
    assert sum(budgets) == pytest.approx(0.7)
    assert steps == 1 or budgets[-1] == pytest.approx(0.525)


@pytest.mark.parametrize("steps", [3, 6, 10])
def test_coinpress_recovers_any_covariance_when_the_budget_is_huge(steps: int) -> None:
    """Condition 1e4, range 10 times too large; a wrong order of matrices fails from 3 rounds on."""
    s = gs.simulate(gs.Gaussian(4, 40_000, 5, cond=1e4, norm=1e3), 9)
    rng = np.random.default_rng(0)
    cov = gc.coinpress_covariance(s.private, HUGE, 1e5, steps, rng, eta=1e-9)
    exact = gc.paired_differences(s.private)
    second = exact.T @ exact / len(exact)
    assert gc.covariance_error(cov, second) < (0.02 if steps > 3 else 0.3)
    assert gc.covariance_error(gc.nonprivate(exact).cov, s.cov) < 0.05
    both = gc.coinpress(s.private, HUGE, 1e4, 1e5, max(steps, 6), rng)
    assert gc.mean_error(both.mean, s.mean, s.cov) < 0.05
    assert gc.covariance_error(both.cov, s.cov) < 0.2


@pytest.mark.parametrize("steps", [4, 8])
def test_coinpress_has_its_matrices_in_order_under_noise(steps: int) -> None:
    """With noise the rounds' matrices do not commute, so a wrong order shows in the answer."""
    s = gs.simulate(gs.Gaussian(4, 20_000, 5, cond=1e4, norm=0.0), 18)
    rng = np.random.default_rng(0)
    cov = gc.coinpress_covariance(s.private, 0.5, 1e4, steps, rng, centred=True)
    assert gc.covariance_error(cov, s.cov) < 0.25


def test_coinpress_mean_finds_a_far_mean() -> None:
    s = gs.simulate_known(5, 2000, 1, 1e4, 10)
    before = s.private.copy()
    found = gc.coinpress_mean(s.private, HUGE, 1e5, 4, np.random.default_rng(0))
    np.testing.assert_array_equal(s.private, before)
    assert gc.mean_error(found, gc.nonprivate_mean(s.private), s.cov) < 0.02
    rough = gc.coinpress_mean(s.private, 0.5, 1e8, 1, np.random.default_rng(0))
    assert gc.mean_error(rough, s.mean, s.cov) > 1e4


@pytest.mark.slow
def test_coinpress_noise_scales_with_range_budget_and_rows() -> None:
    n, d, rho = 50, 3, 0.5
    rng = np.random.default_rng(11)
    zeros = np.zeros((n, d))
    means = [gc.coinpress_mean(zeros, rho, 1e3, 1, rng) for _ in range(1000)]
    length = gc.norm_limit(d, 0.01)
    limit = math.sqrt(1e6 + 2e3 * math.sqrt(2 * math.log(100)) + length**2)
    assert plausible(np.array(means) / (2 * limit / (n * math.sqrt(2 * rho))))
    # One round without rows: the part of the noise above 0, in units of K gamma^2 / (n sqrt(rho)).
    for K, budget in ((1.0, 0.5), (1e4, 0.5), (1.0, 50.0)):
        unit = K * gc.norm_limit(1, 0.1) ** 2 / (n * math.sqrt(budget))
        draws = [
            gc.coinpress_covariance(np.zeros((n, 1)), budget, K, 1, rng, centred=True)[0, 0]
            for _ in range(4000)
        ]
        positive = np.array(draws)[np.array(draws) > 0]
        assert len(positive) == pytest.approx(2000, abs=160)
        assert plausible(positive / unit)


def test_paired_differences_forget_the_mean() -> None:
    x = np.random.default_rng(12).standard_normal((9, 2))
    pairs = gc.paired_differences(x + 1e3)
    assert pairs.shape == (4, 2)
    np.testing.assert_allclose(pairs[1], (x[2] - x[3]) / math.sqrt(2), atol=1e-9)


# The paper


def test_the_papers_range_has_the_closed_form_at_the_fewest_rows() -> None:
    d, eta = 4, 0.05
    public = np.random.default_rng(13).standard_normal((d + 1, d))
    found = gc.paper_preconditioner(public, eta)
    log = math.log(3 / eta)
    assert found.low == pytest.approx(d / (2 * math.sqrt(d) + math.sqrt(2 * log)) ** 2)
    assert found.high == 9 * d**2 / eta**2
    more = gc.paper_preconditioner(np.random.default_rng(0).standard_normal((12, d)), eta)
    assert found.low < more.low < 1 < more.high < found.high / 100


def test_simulated_ranges_contain_the_covariance() -> None:
    inside = 0
    for seed in range(60):
        s = gs.simulate(gs.Gaussian(4, 1, 8), seed)
        found = gc.paper_preconditioner(s.public, 0.05)
        white = gc.root_and_inverse(found.cov)[1]
        values = np.linalg.eigvalsh(white @ s.cov @ white)
        inside += found.low < values[0] and values[-1] < found.high
    assert inside >= 53


@pytest.mark.parametrize("m", [5, 12])
def test_the_papers_pipeline_undoes_its_transform(m: int) -> None:
    s = gs.simulate(gs.Gaussian(4, 20_000, m), 14)
    rng = np.random.default_rng(0)
    found = gc.papers_pipeline(s.private, s.public, HUGE, 10, 0.05, rng)
    assert gc.covariance_error(found.cov, s.cov) < 0.2
    assert gc.mean_error(found.mean, s.mean, s.cov) < 0.05


def test_means_with_a_public_row_have_the_stated_noise() -> None:
    n, d, rng = 400, 3, np.random.default_rng(15)
    x, public = np.full((n, d), 7.0), np.full((1, d), 7.0)
    log, logn = math.log(40), math.log(40 * n)
    radius = math.sqrt(d + 2 * math.sqrt(d * log) + 2 * log)
    radius += math.sqrt(d + 2 * math.sqrt(d * logn) + 2 * logn)
    normal = [gc.paper_mean(x, public, 0.5, 0.05, rng) - 7 for _ in range(1000)]
    assert plausible(np.array(normal) / (2 * radius / n))
    laplace = np.abs([gc.laplace_mean(x, public, 2.0, 0.05, rng) - 7 for _ in range(1000)])
    assert np.mean(laplace) == pytest.approx(math.sqrt(d) * radius / n, rel=0.1)


# Mixtures and the script


@pytest.mark.parametrize("n_init", [1, 5])
def test_gaussian_mixture_finds_what_is_far_apart(n_init: int) -> None:
    pytest.importorskip("sklearn")
    s = gs.simulate_mixture(gs.Mixture(3, 2, 2000), 16)
    found = gc.gaussian_mixture_not_private(s.private, 2, n_init)
    assert gc.mixture_errors(found, gc.Components(s.weights, s.means, s.covariances)).found


def test_best_trials_are_chosen_for_each_column() -> None:
    table = gaussian_accuracy.Table("cov", "mean")
    for cov, mean in ((1.0, 9.0), (2.0, 9.0), (3.0, 9.0)):
        table.add("a", cov, mean)
        table.add("b", cov + 1, 5.0)
    table.keep_best("best", {"a": "t = 2", "b": "t = 4"})
    assert table.medians("best, t = 2 and t = 4") == [2.0, 5.0]


class StandIn:
    """The package's functions without privacy: what the script expects of their answers."""

    def dp_mvnorm(self, columns: list[str], data: pd.DataFrame, **_: Any) -> SimpleNamespace:
        return SimpleNamespace(mean=data[columns].mean(), cov=data[columns].cov())

    def dp_mixture(
        self, columns: list[str], data: pd.DataFrame, k: int, **_: Any
    ) -> SimpleNamespace:
        labels = np.arange(len(data)) % k
        found = gc.labelled_oracle_not_private(data[columns].to_numpy(), labels, k)
        return SimpleNamespace(
            weights=pd.Series(found.weights),
            means=pd.DataFrame(found.means, columns=columns),
            covariances=list(found.covariances),
            complete=True,
        )


def test_the_script_reads_the_packages_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gaussian_accuracy, "package", StandIn)
    s = gs.simulate(gs.Gaussian(3, 500, 5), 17)
    found = gaussian_accuracy.mvnorm(s, 0, rho=0.5)
    exact = gaussian_accuracy.errors_of(gc.nonprivate(s.private), s)
    assert gaussian_accuracy.errors_of(found, s) == pytest.approx(exact)
    t = gs.simulate_mixture(gs.Mixture(3, 2, 500), 17)
    fit = gaussian_accuracy.call("dp_mixture", t.private, t.public, 0, k=2, rho=0.5)
    parts = gaussian_accuracy.components_of(fit)
    assert [part.shape for part in parts] == [(2,), (2, 3), (2, 3, 3)]
