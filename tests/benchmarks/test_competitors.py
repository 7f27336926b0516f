"""The competitors are what their papers say: limits, sensitivities, noise and refusals."""

import math
from typing import Literal

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.special import expit
from scipy.stats import chi2

from . import competitors as c
from . import settings

HUGE = 1e14
NO_TRUNCATION = 1e-300
FAMILIES = "binomial", "poisson", "gamma"


def error(estimate: settings.Array | None, beta: settings.Array) -> float:
    """Euclidean distance; infinite without a release."""
    return math.inf if estimate is None else float(np.linalg.norm(estimate - beta))


def moments(setting: settings.Setting) -> tuple[settings.Array, float]:
    """Public second moments of design and response."""
    x, y = setting.public_x, setting.public_y
    return x.T @ x / len(y), float(np.mean(y**2))


# Settings


def test_population_is_as_ill_conditioned_as_in_the_papers() -> None:
    mean, covariance = settings.population()
    values = np.linalg.eigvalsh(covariance + np.outer(mean, mean))
    assert values[0] == pytest.approx(0.18, abs=0.001)
    assert np.mean(values) / values[0] == pytest.approx(15.3, abs=0.01)


def test_simulated_rows_have_the_stated_moments() -> None:
    setting = settings.simulated(1, 200_000, 50)
    mean, covariance = settings.population()
    target = covariance + np.outer(mean, mean)
    np.testing.assert_allclose(setting.x.T @ setting.x / len(setting.y), target, atol=0.05)
    residual = setting.y - setting.x @ setting.beta
    assert np.std(residual) == pytest.approx(settings.NOISE_SD, rel=0.01)


def test_shift_changes_the_public_rows_only() -> None:
    plain, shifted = settings.simulated(3, 100, 400), settings.simulated(3, 100, 400, shifted=True)
    np.testing.assert_array_equal(plain.x, shifted.x)
    np.testing.assert_array_equal(plain.y, shifted.y)
    np.testing.assert_allclose(shifted.public_x, 1.3 * plain.public_x)
    distance = c.public_ols(shifted.public_x, shifted.public_y) - plain.beta
    assert 0.3 < np.linalg.norm(distance) < 2


@pytest.mark.skipif(not settings.DATA.is_dir(), reason="needs the real data sets")
def test_real_data_have_unit_columns_and_the_stated_split() -> None:
    for load, n, m, d in (settings.wine, 4898, 245, 11), (settings.power_plant, 9568, 192, 4):
        setting = load(settings.DATA, seed=1)
        assert setting.x.shape == (n - m, d)
        assert setting.public_x.shape == (m, d)
        everything = np.vstack([setting.x, setting.public_x])
        np.testing.assert_allclose(np.mean(everything**2, axis=0), 1)
    assert np.mean(np.append(setting.y, setting.public_y)) == pytest.approx(454.365009)


def test_the_glm_population_is_as_ill_conditioned_as_stated() -> None:
    moment = settings.glm_population()
    values = np.linalg.eigvalsh(moment)
    stated = [0.0553, 0.0646, 0.0852, 0.132, 0.260, 0.806, 1, 5.60]
    np.testing.assert_allclose(values, stated, rtol=0.004)
    assert np.mean(values) / values[0] == pytest.approx(18.1, abs=0.05)
    assert values[-1] / values[0] == pytest.approx(101, abs=0.5)
    x = settings.simulated_glm(1, 200_000, 10, "binomial").x
    np.testing.assert_array_equal(x[:, 0], 1)
    np.testing.assert_allclose(x.T @ x / len(x), moment, atol=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_simulated_glm_responses_follow_their_family(family: str) -> None:
    setting = settings.simulated_glm(2, 100_000, 10, family)
    fit = c.glm_fit(setting.x, setting.y, family)
    errors = fit.coef - setting.beta
    # Wald's statistic is chi-squared with 8 degrees of freedom: false alarm below 1e-6.
    statistic = errors @ fit.information @ errors / fit.dispersion
    assert statistic < chi2.isf(1e-6, 8)
    dispersion = {"binomial": 1, "poisson": 1, "gamma": 1 / settings.GAMMA_SHAPE}
    assert fit.dispersion == pytest.approx(dispersion[family], rel=0.05)


@pytest.mark.parametrize("family", FAMILIES)
def test_glm_shift_changes_the_public_rows_only(family: str) -> None:
    plain = settings.simulated_glm(3, 100, 20, family)
    shifted = settings.simulated_glm(3, 100, 30, family, shifted=True)
    np.testing.assert_array_equal(plain.x, shifted.x)
    np.testing.assert_array_equal(plain.y, shifted.y)
    np.testing.assert_array_equal(plain.beta, shifted.beta)
    np.testing.assert_array_equal(shifted.public_x[:, 0], 1)
    np.testing.assert_allclose(shifted.public_x[:20, 1:], 1.3 * plain.public_x[:, 1:])


@pytest.mark.skipif(not settings.DATA.is_dir(), reason="needs the real data sets")
@pytest.mark.parametrize(("dummies", "d"), [(True, 43), (False, 17)])
def test_bank_has_unit_columns_and_the_stated_split(dummies: bool, d: int) -> None:
    setting = settings.bank(settings.DATA, 1, dummies)
    assert setting.x.shape == (45211 - 4521, d)
    check_split(setting, 4521, "binomial")
    assert np.mean(np.append(setting.y, setting.public_y)) == pytest.approx(0.116985, abs=1e-6)


def test_randhie_has_unit_columns_and_the_stated_split() -> None:
    setting = settings.randhie(1)
    assert setting.x.shape == (20190 - 1010, 10)
    check_split(setting, 1010, "poisson")
    y = np.append(setting.y, setting.public_y)
    assert np.mean(y) == pytest.approx(2.86, abs=0.005)
    assert np.var(y) == pytest.approx(20.3, abs=0.05)


def check_split(setting: settings.Setting, m: int, family: str) -> None:
    """Unit columns, a constant first, ``m`` public rows, and the private rows' own fit."""
    everything = np.vstack([setting.x, setting.public_x])
    np.testing.assert_allclose(np.mean(everything**2, axis=0), 1)
    np.testing.assert_array_equal(everything[:, 0], 1)
    assert setting.public_x.shape == (m, setting.x.shape[1])
    mean = c.family_of(family).link.inverse(setting.x @ setting.beta)
    score = setting.x.T @ (setting.y - mean) / len(setting.y)
    np.testing.assert_allclose(score, 0, atol=1e-9)


# Privacy units


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0, 4.0, 20.0, 1000.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-5, 0.1])
def test_gdp_mu_inverts_the_exact_curve(epsilon: float, delta: float) -> None:
    assert c.gdp_delta(c.gdp_mu(epsilon, delta), epsilon) == pytest.approx(delta, rel=1e-6)


def test_gdp_mu_agrees_with_an_independent_accountant() -> None:
    accounting = pytest.importorskip("dp_accounting")
    for epsilon in 0.5, 1.0, 4.0:
        sd = accounting.get_sigma_gaussian(epsilon, 1e-5)
        assert 1 / sd == pytest.approx(c.gdp_mu(epsilon, 1e-5), rel=1e-3)


# Limits without noise


def test_everything_is_least_squares_when_the_budget_is_huge() -> None:
    setting = settings.simulated(0, 2000, 100)
    x, y = setting.x, setting.y
    S, s2 = moments(setting)
    rng = np.random.default_rng(0)
    fit = c.ols(x, y)
    estimates = {
        "pmt, GDP": c.pmt(x, y, S, s2, mu_each=HUGE, rng=rng),
        "pmt, zCDP": c.pmt(x, y, S, s2, rho_each=HUGE**2, rng=rng),
        "DP-RR": c.dp_rr_nonprivate_oracle(x, y, mu_each=HUGE, eta=NO_TRUNCATION, rng=rng),
        "DP-OLSE": c.dp_olse_nonprivate_oracle(x, y, rho_each=HUGE**2, eta=NO_TRUNCATION, rng=rng),
        "AdaSSP, published": c.adassp_oracle_bounds(x, y, HUGE, 1e-5, rng, accounting="published"),
        "AdaSSP, GDP": c.adassp_oracle_bounds(x, y, HUGE, 1e-5, rng),
    }
    for name, estimate in estimates.items():
        tolerance = 1e-4 if name.startswith("AdaSSP") else 1e-6
        assert error(estimate, fit) < tolerance, name


def test_pmt_and_the_private_only_comparator_are_ridge_regression_when_the_budget_is_huge() -> None:
    setting = settings.simulated(4, 2000, 100)
    S, s2 = moments(setting)
    rng = np.random.default_rng(0)
    fit = c.ridge_fit(setting.x, setting.y, 0.3)
    assert error(fit, c.ols(setting.x, setting.y)) > 0.1
    private = c.pmt(setting.x, setting.y, S, s2, mu_each=HUGE, ridge=0.3, rng=rng)
    assert error(private, fit) < 1e-6
    oracle = c.dp_rr_nonprivate_oracle(
        setting.x, setting.y, mu_each=HUGE, ridge=0.3, eta=NO_TRUNCATION, rng=rng
    )
    assert error(oracle, fit) < 1e-6


def test_the_logistic_comparator_is_newton_on_rows_truncated_at_its_own_radius() -> None:
    setting = settings.simulated_logistic(2, 3000, 50)
    x, y, mu, steps, ridge, eta = setting.x, setting.y, 20.0, 4, 0.01, 0.05
    n, d = x.shape
    radius = math.sqrt(float(np.sum(x**2)) / n + d * math.log(2 * n / eta))
    rows = c.truncate(x, radius)
    rng = np.random.default_rng(6)
    beta = np.zeros(d)
    for _ in range(steps):
        hessian = (rows.T * c.logistic_weight(rows @ beta)) @ rows / n + ridge * np.eye(d)
        hessian += c.symmetric_noise(d, math.sqrt(steps) * radius**2 / (2 * mu * n), rng)
        gradient = rows.T @ (expit(rows @ beta) - y) / n + ridge * beta
        gradient += rng.normal(0.0, 2 * math.sqrt(steps) * radius / (mu * n), d)
        beta = beta - c.solve(hessian, gradient)
    found = c.dp_lr_nonprivate_oracle(
        x, y, mu_each=mu, iterations=steps, ridge=ridge, eta=eta, rng=np.random.default_rng(6)
    )
    np.testing.assert_allclose(found, beta, rtol=1e-8)


def test_exactly_one_budget() -> None:
    setting = settings.simulated(0, 100, 30)
    S, s2 = moments(setting)
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="exactly one"):
        c.pmt(setting.x, setting.y, S, s2, rng=rng)
    with pytest.raises(ValueError, match="exactly one"):
        c.pmt(setting.x, setting.y, S, s2, mu_each=1.0, rho_each=1.0, rng=rng)


# Sensitivity and noise of the papers' algorithm


def test_replacing_one_row_moves_the_moments_by_at_most_the_stated_sensitivities() -> None:
    setting = settings.simulated(5, 60, 40)
    S, s2 = moments(setting)
    n, d, eta = 60, 10, 0.05
    level = 1 + math.log(2 * n / eta)
    rng = np.random.default_rng(1)
    root = np.linalg.inv(c.inverse_root(S))
    largest_gram = largest_cross = 0.0
    for trial in range(200):
        # Two rows that truncation brings to the radius, in chosen directions.
        first, second = np.eye(d)[rng.permutation(d)[:2]] if trial % 2 else rng.normal(size=(2, d))
        if trial % 4 == 0:
            second = -first
        x, y = setting.x.copy(), setting.y.copy()
        x[7], y[7] = 1e3 * root @ first, 1e3
        before = c.pmt_moments(x, y, S, s2, eta)
        x[7], y[7] = 1e3 * root @ second, 1e3
        after = c.pmt_moments(x, y, S, s2, eta)
        upper = np.triu_indices(d)
        largest_gram = max(largest_gram, float(np.linalg.norm((before[0] - after[0])[upper])))
        largest_cross = max(largest_cross, float(np.linalg.norm(before[1] - after[1])))
    # The Gram matrix cannot reach the papers' bound 2 d L/n, only sqrt(2) d L/n.
    assert largest_gram <= math.sqrt(2) * d * level / n * (1 + 1e-9)
    assert largest_gram > 0.99 * math.sqrt(2) * d * level / n
    assert largest_cross <= 2 * math.sqrt(d) * level / n * (1 + 1e-9)
    assert largest_cross > 0.99 * 2 * math.sqrt(d) * level / n


def test_noise_matrix_is_symmetric_with_equal_deviations() -> None:
    rng = np.random.default_rng(2)
    draws = np.array([c.symmetric_noise(3, 2.0, rng) for _ in range(20_000)])
    np.testing.assert_array_equal(draws, draws.transpose(0, 2, 1))
    np.testing.assert_allclose(np.std(draws, axis=0), 2.0, rtol=0.03)
    assert abs(np.corrcoef(draws[:, 0, 1], draws[:, 0, 2])[0, 1]) < 0.03


def test_pmt_uses_the_papers_noise_scales(monkeypatch: pytest.MonkeyPatch) -> None:
    setting = settings.simulated(6, 500, 40)
    S, s2 = moments(setting)
    seen: list[float] = []

    def record(d: int, sd: float, rng: np.random.Generator) -> settings.Array:
        seen.append(sd)
        return np.zeros((d, d))

    monkeypatch.setattr(c, "symmetric_noise", record)
    level = 1 + math.log(2 * 500 / 0.05)
    rng = np.random.default_rng(0)
    c.pmt(setting.x, setting.y, S, s2, mu_each=0.5, rng=rng)
    c.pmt(setting.x, setting.y, S, s2, rho_each=0.125, rng=rng)
    assert seen == pytest.approx([2 * 10 * level / (0.5 * 500)] * 2)


# Generalised linear models without privacy


@pytest.mark.parametrize("family", FAMILIES)
def test_glm_fit_gives_the_covariance_of_statsmodels(family: str) -> None:
    setting = settings.simulated_glm(0, 2000, 10, family)
    fit = c.glm_fit(setting.x, setting.y, family)
    reference = sm.GLM(setting.y, setting.x, family=c.family_of(family)).fit(scale="X2")
    np.testing.assert_allclose(fit.coef, reference.params, atol=1e-6)
    covariance = fit.dispersion * np.linalg.inv(fit.information)
    np.testing.assert_allclose(covariance, reference.cov_params(), rtol=1e-4, atol=1e-9)


@pytest.mark.parametrize("family", FAMILIES)
def test_public_fit_is_near_maximum_likelihood_and_solves_its_equation(family: str) -> None:
    many = settings.simulated_glm(1, 10, 50_000, family)
    found = c.public_glm(many.public_x, many.public_y, family)
    assert error(found, c.glm_fit(many.public_x, many.public_y, family).coef) < 0.005
    few = settings.simulated_glm(1, 10, 40, family)
    x, y = few.public_x, few.public_y
    found = c.public_glm(x, y, family)
    mean = c.family_of(family).link.inverse(x @ found)
    residual = (y - mean) / mean if family == "gamma" else y - mean
    np.testing.assert_allclose(x.T @ residual, x.T @ x @ found / 40, atol=1e-8)


def test_public_fit_is_finite_when_the_rows_can_be_separated() -> None:
    x = np.column_stack([np.ones(20), np.linspace(-1, 1, 20)])
    found = c.public_glm(x, (x[:, 1] > 0).astype(float), "binomial")
    assert 1 < found[1] < 20


def test_public_fit_survives_a_first_step_that_overshoots() -> None:
    # From 0 a full step goes to about 290, from where full steps come back by 1 each.
    found = c.public_glm(np.ones((50, 1)), np.full(50, 300.0), "poisson")
    assert found == pytest.approx([math.log(300)], abs=0.01)


# The papers' algorithm for generalised linear models


def bernoulli_curvature(linear: settings.Array) -> settings.Array:
    return np.asarray(expit(linear) * expit(-linear))


@pytest.mark.parametrize("ridge", [0.0, 0.1])
@pytest.mark.parametrize("family", ["binomial", "poisson"])
def test_newton_iterates_do_not_depend_on_the_whitening(family: str, ridge: float) -> None:
    """Theorem 9, and Corollary 5.1 of the preprint."""
    setting = settings.simulated_glm(0, 2000, 50, family)
    x, y = setting.x, setting.y
    n, d = x.shape
    S = moments(setting)[0]
    mean, weight = (np.exp, np.exp) if family == "poisson" else (expit, bernoulli_curvature)
    found = c.pmt_glm(
        x,
        y,
        S,
        mu_each=1.0,
        iterations=8,
        ridge=ridge,
        eta=NO_TRUNCATION,
        rng=np.random.default_rng(0),
        mean=mean,
        weight=weight,
        noise=False,
        iterates=True,
    )
    beta = np.zeros(d)
    for iterate in found:
        hessian = (x.T * weight(x @ beta)) @ x / n + ridge * np.eye(d)
        gradient = x.T @ (mean(x @ beta) - y) / n + ridge * beta
        beta = beta - np.linalg.solve(hessian, gradient)
        np.testing.assert_allclose(iterate, beta, rtol=0, atol=1e-8)
    reached = error(found[-1], c.glm_fit(x, y, family).coef)
    assert reached < 1e-8 if ridge == 0 else reached > 0.01


def test_logistic_algorithm_is_maximum_likelihood_when_the_budget_is_huge() -> None:
    setting = settings.simulated_glm(0, 2000, 50, "binomial")
    found = c.pmt_glm(
        setting.x,
        setting.y,
        moments(setting)[0],
        mu_each=HUGE,
        iterations=10,
        rng=np.random.default_rng(0),
        eta=NO_TRUNCATION,
    )
    assert error(found, c.glm_fit(setting.x, setting.y, "binomial").coef) < 1e-6


def test_logistic_noise_has_the_papers_deviations(monkeypatch: pytest.MonkeyPatch) -> None:
    setting = settings.simulated_glm(6, 500, 40, "binomial")
    n, d, T, mu = 500, 8, 400, 0.5
    seen: list[tuple[settings.Array, settings.Array]] = []

    def stay(hessian: settings.Array, gradient: settings.Array) -> settings.Array:
        """Solution 0: every step sees the same rows at the same point, under fresh noise."""
        seen.append((hessian, gradient))
        return np.zeros(d)

    monkeypatch.setattr(c, "solve", stay)
    for noise in False, True:
        c.pmt_glm(
            setting.x,
            setting.y,
            moments(setting)[0],
            mu_each=mu,
            iterations=T,
            rng=np.random.default_rng(7),
            noise=noise,
        )
    exact, noisy = seen[0], seen[T:]
    level = 1 + math.log(2 * n / 0.05)
    G = np.array([hessian - exact[0] for hessian, _ in noisy]) / (
        math.sqrt(T) * d * level / (2 * mu * n)
    )
    g = np.array([gradient - exact[1] for _, gradient in noisy]) / (
        2 * math.sqrt(T * d * level) / (mu * n)
    )
    np.testing.assert_allclose(G, G.transpose(0, 2, 1), atol=1e-9)
    upper = np.triu_indices(d, 1)
    for draws in (np.diagonal(G, axis1=1, axis2=2), G[:, upper[0], upper[1]], g):
        # Three sums of squares, each outside its two limits with probability 2e-7.
        low, high = chi2.ppf([1e-7, 1 - 1e-7], draws.size)
        assert low < np.sum(draws**2) < high


def test_replacing_one_row_moves_a_newton_step_by_at_most_the_stated_sensitivities(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    setting = settings.simulated_glm(5, 60, 40, "binomial")
    S = moments(setting)[0]
    n, d = 60, 8
    # With one step and mu = 1 the deviations are the sensitivities themselves.
    hessian_limit, gradient_limit = c.pmt_glm_scales(
        n, d, mu_each=1.0, iterations=1, eta=0.05, c1=1.0, c2=0.25
    )
    rng = np.random.default_rng(1)
    root = np.linalg.inv(c.inverse_root(S))
    seen: list[tuple[settings.Array, settings.Array]] = []

    def parts(
        start: settings.Array, row: settings.Array, response: float
    ) -> tuple[settings.Array, settings.Array]:
        """Hessian and gradient at the whitened point ``start`` when row 7 is as given."""
        x, y = setting.x.copy(), setting.y.copy()
        x[7], y[7] = 1e3 * root @ row, response

        def move(hessian: settings.Array, gradient: settings.Array) -> settings.Array:
            seen.append((hessian, gradient))
            return -start

        monkeypatch.setattr(c, "solve", move)
        c.pmt_glm(x, y, S, mu_each=1.0, iterations=2, rng=rng, noise=False)
        return seen[-1]

    largest_hessian = largest_gradient = 0.0
    axes, upper = np.eye(d), np.triu_indices(d)
    for trial in range(60):
        if trial % 3 == 0:  # two orthogonal rows at weight 1/4: the Hessian's worst case
            start, first, second = np.zeros(d), *axes[rng.permutation(d)[:2]]
        elif trial % 3 == 1:  # both rows predicted wrongly with certainty: the gradient's
            along, across = axes[rng.permutation(d)[:2]]
            start, first, second = 1e4 * along, across + 0.01 * along, across - 0.01 * along
        else:
            start, first, second = rng.normal(size=(3, d))
        before, after = parts(start, first, 0.0), parts(start, second, 1.0)
        moved = float(np.linalg.norm((before[0] - after[0])[upper]))
        largest_hessian = max(largest_hessian, moved)
        largest_gradient = max(largest_gradient, float(np.linalg.norm(before[1] - after[1])))
    # As in the linear model, the Hessian can only reach the papers' bound over sqrt(2).
    assert largest_hessian <= hessian_limit / math.sqrt(2) * (1 + 1e-9)
    assert largest_hessian > 0.99 * hessian_limit / math.sqrt(2)
    assert largest_gradient <= gradient_limit * (1 + 1e-9)
    assert largest_gradient > 0.99 * gradient_limit


# TukeyEM


def test_tukey_refuses_a_tiny_sample() -> None:
    setting = settings.simulated(0, 400, 20)
    rng = np.random.default_rng(0)
    for _ in range(20):
        assert c.tukey_em(setting.x, setting.y, 1.0, 1e-5, 40, rng) is None
    with pytest.raises(ValueError, match="at least 10"):
        c.tukey_em(setting.x, setting.y, 1.0, 1e-5, 41, rng)


def test_tukey_finds_the_coordinatewise_median_when_the_budget_is_huge() -> None:
    points = np.random.default_rng(0).normal(size=(400, 3))
    found = c.deep_point(points, 1e4, 1e-5, np.random.default_rng(1))
    assert found is not None
    assert np.all(np.sum(points < found, axis=0) == 200)


def test_distance_to_unsafety_follows_its_definition_and_moves_by_at_most_one() -> None:
    rng = np.random.default_rng(3)
    epsilon, delta, count = 1.0, 1e-3, 200
    points = rng.normal(size=(count, 2))

    def distance(sample: settings.Array) -> int:
        ordered = np.sort(sample, axis=0)
        volume = np.prod(ordered[::-1][: count // 2] - ordered[: count // 2], axis=1)
        t, limit = count // 4, delta / (8 * math.exp(epsilon))
        slow = -1
        while slow + 1 <= t - 2 and any(
            volume[t - slow - 3] / volume[t + slow + 1 + g] * math.exp(-epsilon * g / 2) <= limit
            for g in range(1, count // 2 - t - slow - 1)
        ):
            slow += 1
        assert c.distance_to_unsafety(np.log(volume), epsilon, delta, t) == slow
        return slow

    start = distance(points)
    assert start > 5
    for _ in range(20):
        moved = points.copy()
        moved[rng.integers(count)] = rng.choice([-1e6, 0.0, 1e6], size=2)
        assert abs(distance(moved) - start) <= 1


@pytest.mark.slow
def test_shell_draws_are_uniform_between_the_boxes() -> None:
    rng = np.random.default_rng(4)
    low, high = np.zeros(2), np.array([4.0, 2.0])
    inner_low, inner_high = np.array([1.0, 0.5]), np.array([2.0, 1.5])
    draws = np.array(
        [c.uniform_in_shell(low, high, inner_low, inner_high, rng) for _ in range(20_000)]
    )
    assert np.all((draws >= low) & (draws <= high))
    assert not np.any(np.all((draws > inner_low) & (draws < inner_high), axis=1))
    # Areas: shell 7; left of x = 1 it is 2; below y = 0.5 it is 2; right of x = 2 it is 4.
    for share, area in (
        (draws[:, 0] < 1, 2),
        (draws[:, 1] < 0.5, 2),
        (draws[:, 0] > 2, 4),
        ((draws[:, 0] < 1) & (draws[:, 1] < 0.5), 0.5),
    ):
        assert np.mean(share) == pytest.approx(area / 7, abs=0.015)


@pytest.mark.slow
def test_depths_are_drawn_with_the_exponential_weights() -> None:
    # Forty evenly spaced points: all shells have the same length, so depth h has weight exp(c h).
    points = np.arange(40.0)[:, None]
    rng = np.random.default_rng(5)
    epsilon = 1.0
    weights: list[tuple[Literal["reference", "replace-one"], float]] = [
        ("reference", 0.5),
        ("replace-one", 0.25),
    ]
    for weight, constant in weights:
        drawn = []
        for _ in range(4000):
            # delta = 0.5 sets the threshold of the noisy test to 0; refusals are drawn again.
            found = c.deep_point(points, epsilon, 0.5, rng, weight=weight)
            if found is not None:
                below = int(np.sum(points[:, 0] < found[0]))
                drawn.append(min(below, 40 - below))
        assert len(drawn) > 500
        depths = np.arange(10, 21)
        lengths = np.where(depths == 20, 1.0, 2.0)
        expected = lengths * np.exp(constant * depths)
        expected /= np.sum(expected)
        observed = np.array([np.mean(np.array(drawn) == depth) for depth in depths])
        np.testing.assert_allclose(observed, expected, atol=0.04)


@pytest.mark.slow
def test_tukey_is_near_least_squares_on_a_large_sample() -> None:
    ratios = []
    for seed in range(5):
        setting = settings.simulated(seed, 100_000, 20)
        rng = np.random.default_rng(seed)
        estimate = c.tukey_em(setting.x, setting.y, 4.0, 1e-5, 500, rng)
        fit = c.ols(setting.x, setting.y)
        ratios.append(error(estimate, setting.beta) / error(fit, setting.beta))
    print(f"TukeyEM, 500 models, epsilon = 4: {np.median(ratios):.2f} times the error of OLS")
    assert 0.9 < np.median(ratios) < 3
