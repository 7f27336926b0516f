"""Bounds for Gaussians hold in simulation, and the rates solve the paper's formulas."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from dpstats.models.gaussian.bounds import (
    GaussianFacts,
    ReleasedMoments,
    error_law,
    gaussian_bounds,
    papers_ranges,
    papers_rates,
    planned_errors,
    public_only,
    released_errors,
    weighted_quantile,
    whitening_ranges,
)
from dpstats.models.gaussian.mean_bounds import (
    MeanFacts,
    known_covariance_error,
    mean_bounds,
    papers_mean_rate,
)
from dpstats.models.gaussian.public_range import PublicRange

FACTS = GaussianFacts(
    n=10_000,
    d=5,
    m=20,
    eta=0.05,
    rho=0.5,
    epsilon=None,
    gamma=0.0,
    range=PublicRange(0.3, 20.0, 3.0, "simulated Wishart matrices"),
    planned_noise=0.02,
    planned_mean_noise=0.002,
)
MEAN = MeanFacts(2000, 6, 1, 0.05, 0.5, None, 0.0, 0.01)


def _wishart(rng: np.random.Generator, rows: int, d: int) -> np.ndarray:
    """Z'Z of so many normal rows, by its Bartlett factor."""
    factor = np.tril(rng.normal(size=(d, d)), -1)
    factor += np.diag(np.sqrt(rng.chisquare(rows - np.arange(d))))
    return factor @ factor.T


def _release(
    rng: np.random.Generator, n: int, truth: np.ndarray, s: float, mean_sd: float
) -> tuple[ReleasedMoments, np.ndarray, np.ndarray]:
    """A release of N(0, diag(truth)) rows, and its errors in units of the truth."""
    d = truth.size
    root = np.sqrt(truth)
    g = rng.normal(size=(d, d)) * s
    sampled = rng.normal(size=d) * root / math.sqrt(n)
    noise = rng.normal(size=d) * mean_sd
    released = root[:, None] * _wishart(rng, n - 1, d) / n * root + (g + g.T) / 2
    # E (mean + noise)(mean + noise)' is taken off where only mean mean' belongs
    released -= np.outer(sampled, noise) + np.outer(noise, sampled) + np.outer(noise, noise)
    values, vectors = np.linalg.eigh(released)
    values = np.maximum(values, 0.5 * s)
    released = (vectors * values) @ vectors.T
    error = released / np.outer(root, root) - np.eye(d)
    return ReleasedMoments(n, tuple(values), s, mean_sd), error, (sampled + noise) / root


# ---- quantiles ----------------------------------------------------------------------------------


def test_equal_weights_give_the_chi_square() -> None:
    for d, eta in ((1, 0.05), (7, 0.01), (300, 0.5)):
        found = weighted_quantile(np.full(d, 0.2), eta)
        assert found == pytest.approx(0.2 * stats.chi2.isf(eta, d))
    assert weighted_quantile(np.zeros(3), 0.05) == 0.0
    assert weighted_quantile(np.array([1.0, math.inf]), 0.05) == math.inf


@pytest.mark.parametrize("offset", [0.0, 2.0])
def test_unequal_weights_by_simulation(offset: float) -> None:
    rng, weights = np.random.default_rng(0), np.geomspace(0.05, 1.0, 10)
    z = rng.normal(size=(400_000, 10)) * np.sqrt(weights)
    typical = int(np.argmin(np.abs(weights - weights.mean())))
    z[:, typical] += offset
    square = (z**2).sum(axis=1)
    for eta in (0.1, 0.025):
        value = weighted_quantile(weights, eta, offset**2)
        assert value == pytest.approx(np.quantile(square, 1 - eta), rel=0.03)


# ---- one Gaussian -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("d", "n", "s", "least"),
    [
        (1, 500, 0.05, 1.0),
        (2, 500, 0.02, 1.0),
        (5, 1000, 0.001, 1.0),
        (5, 1000, 0.1, 0.5),
        (10, 1000, 0.03, 0.3),
        (10, 1000, 0.15, 1.0),
        (20, 2000, 0.05, 0.5),
    ],
)
def test_released_errors_are_covered_and_not_far_off(
    d: int, n: int, s: float, least: float
) -> None:
    runs, eta = 250, 0.05
    allowed = stats.binom.isf(1e-7, runs, eta)
    rng, truth = np.random.default_rng(d), np.geomspace(least, 1.0, d)
    missed, ratios = np.zeros(3), []
    for _ in range(runs):
        found, error, mean = _release(rng, n, truth, s, s / 3)
        facts = replace(FACTS, n=n, d=d, released=found)
        bounds = released_errors(facts)
        covariance, length = float(np.linalg.norm(error)), float(np.linalg.norm(mean))
        # the divergence at the true error bounds what the third statement bounds
        x = np.linalg.eigvalsh(error)
        divergence = (np.sum(x - np.log1p(x)) + length**2) / 2
        actual = min(math.sqrt(divergence / 2), math.sqrt(-math.expm1(-divergence)), 1.0)
        values = [b.value for b in bounds]
        missed += np.array([covariance, length, actual]) > values
        ratios.append((values[0] / covariance, values[1] / length))
    assert missed.max() <= allowed
    if d >= 5:
        assert np.median(ratios, axis=0) == pytest.approx([1.5, 1.5], abs=0.5)  # at most 2


def test_without_noise_the_bounds_are_those_of_the_sample() -> None:
    found = ReleasedMoments(10_000, (1.0,) * 6, 1e-12, 1e-12)
    law = error_law(found, 0.05)
    assert law.mean_radius == pytest.approx(math.sqrt(stats.chi2.isf(0.05, 6) / 1e4))
    plain = math.sqrt(2 / 1e4 * stats.chi2.isf(0.05, 21))
    assert law.covariance_radius == pytest.approx(plain, rel=1e-3)


def test_pure_noise_and_bias_widen_the_bounds() -> None:
    found = ReleasedMoments(5000, (0.9, 1.0, 1.1), 0.02, 0.01)
    law, pure = (error_law(found, 0.05, pure=pure) for pure in (False, True))
    assert pure.covariance_radius > law.covariance_radius
    assert pure.mean_radius > law.mean_radius
    biased = error_law(replace(found, bias=0.05), 0.05)
    assert 0 < biased.covariance_radius - law.covariance_radius < 0.05


def test_pure_noise_is_covered() -> None:
    runs, d, n, s, b = 400, 3, 1000, 0.08, 1.5
    q = (d + 1) * (d + 2) // 2
    rng, missed = np.random.default_rng(4), 0
    at = np.triu_indices(d + 1, 1)
    for _ in range(runs):
        v = rng.normal(size=q)
        v *= rng.gamma(q, s / math.sqrt(q + 1)) / np.linalg.norm(v)
        lifted = np.diag(v[: d + 1])
        lifted[at] = v[d + 1 :] / math.sqrt(2)
        lifted += np.triu(lifted, 1).T
        released = _wishart(rng, n - 1, d) / n + lifted[1:, 1:]
        values = np.linalg.eigvalsh(released)
        found = ReleasedMoments(n, tuple(np.maximum(values, s / 2)), s, s / (math.sqrt(2) * b))
        radius = error_law(found, 0.05, pure=True).covariance_radius
        missed += np.linalg.norm(released - np.eye(d)) > radius
    assert missed <= stats.binom.isf(1e-7, runs, 0.05)


def test_total_variation_where_only_the_spectral_norm_is_small() -> None:
    found = ReleasedMoments(20_000, (1.0,) * 100, 1e-3, 1e-4)
    assert error_law(found, 0.05).covariance_radius > 0.7
    assert error_law(found, 0.05).distance < 0.4
    assert error_law(replace(found, n=200.0), 0.05).distance == 1.0


def test_hidden_directions_are_named() -> None:
    for smallest, met in ((0.5, True), (0.02, False)):
        found = ReleasedMoments(1000, (smallest, 1.0), 0.02, 0.01)
        bound = released_errors(replace(FACTS, d=2, released=found))[0]
        assert [p.met for p in bound.premises if "hidden" in p.condition] == [met]
        assert math.isfinite(bound.value)


def test_planned_errors_cover_a_release_as_planned() -> None:
    d, n, s, runs = 5, 2000, 0.05, 300
    coordinates = d * (d + 1) / 2
    facts = replace(FACTS, n=n, planned_noise=s * math.sqrt(coordinates), planned_mean_noise=s / 3)
    covariance, mean, both = planned_errors(facts)
    rng, missed = np.random.default_rng(6), 0
    for _ in range(runs):
        _, error, away = _release(rng, n, np.ones(d), s, s / 3)
        missed += np.linalg.norm(error) > covariance.value or np.linalg.norm(away) > mean.value
    assert missed <= stats.binom.isf(1e-7, runs, 0.05)
    assert covariance.value < 2 * math.sqrt(coordinates * (2 / n + s**2))
    assert 0 < both.value < 1
    assert planned_errors(replace(facts, planned_noise=1e30))[2].value == 1.0


@pytest.mark.parametrize(("d", "m"), [(1, 3), (2, 4), (5, 6), (10, 20), (20, 100)])
def test_public_rows_alone(d: int, m: int) -> None:
    runs, rng = 1000, np.random.default_rng(m)
    errors = [np.linalg.norm(_wishart(rng, m - 1, d) / (m - 1) - np.eye(d)) for _ in range(runs)]
    bound = public_only(replace(FACTS, d=d, m=m)).value
    assert (np.array(errors) > bound).sum() <= stats.binom.isf(1e-7, runs, 0.05)
    assert bound < 2.2 * np.median(errors) or d < 5
    assert public_only(replace(FACTS, d=d, m=d)).value == math.inf


def test_whitening_ranges_are_handed_on() -> None:
    bounds = whitening_ranges(FACTS)
    assert [b.value for b in bounds] == pytest.approx([0.3, 20.0, 20 / 0.3, 3.0])
    assert {b.kind for b in bounds} == {"range"}
    assert bounds[2].probability == pytest.approx(1 - 2 * 0.05 / 3)
    nothing = replace(FACTS, m=4, range=PublicRange(0.0, math.inf, math.inf, "none"))
    assert [b.value for b in whitening_ranges(nothing)] == [0.0, math.inf, math.inf, math.inf]
    assert all(p.met is False for b in whitening_ranges(nothing) for p in b.premises[1:2])


def test_the_papers_ranges() -> None:
    condition, mean = papers_ranges(replace(FACTS, d=10, m=11))
    assert condition.value == pytest.approx(3.04e6, rel=1e-3)
    assert mean.value == pytest.approx(7886, rel=1e-3)
    (shifted,) = papers_ranges(replace(FACTS, d=10, m=11, gamma=0.5))
    assert shifted.value == pytest.approx(condition.value * 16 * 2**8)
    assert papers_ranges(replace(FACTS, d=10, m=10))[0].value == math.inf


def test_theorem_2_4_is_solved_for_alpha() -> None:
    facts = replace(FACTS, n=10**6, d=10, rho=0.3, gamma=0.2)
    rate, short = papers_rates(facts)
    a, root = rate.value, math.sqrt(0.3)
    fine, coarse = math.log(10 / (a * 0.05 * 0.3)), math.log(10 / (a * 0.05 * 0.3 * 0.8))
    rows = (100 + math.log(20)) / a**2 + (100 * fine + 10 * coarse) / (a * root)
    rows += 10**1.5 * math.log(10 / (0.05 * 0.3 * 0.8)) / root
    assert rows == pytest.approx(10**6)
    assert (rate.kind, rate.source, short.source) == ("rate", "Theorem 2.4", "Theorem 1.2")
    pure, short = papers_rates(replace(facts, rho=None, epsilon=0.7))
    a = pure.value
    rows = (100 + math.log(20)) / a**2 + 100 * math.log(10 / (a * 0.05 * 0.8)) / (a * 0.7)
    assert rows == pytest.approx(10**6)
    a = short.value
    rows = (100 / a**2 + 100 / (a * 0.7)) * math.log(10 / (a * 0.05 * 0.8))
    assert rows == pytest.approx(10**6)
    assert papers_rates(replace(facts, gamma=0.0))[1].source == "Theorem 1.1"


def test_rates_improve_with_rows_and_say_when_they_say_nothing() -> None:
    values = [papers_rates(replace(FACTS, n=n))[0].value for n in (2, 10**3, 10**5, 10**9)]
    assert values == sorted(values, reverse=True)
    assert values[0] == 1.0
    few = papers_rates(replace(FACTS, n=2))[0]
    assert few.premises[-1].met is False
    for rho in (1e-8, 1e12):
        assert 0 < papers_rates(replace(FACTS, rho=rho))[0].value <= 1


def test_all_bounds_of_a_gaussian() -> None:
    for facts in (
        FACTS,
        replace(FACTS, released=ReleasedMoments(1e4, (1.0,) * 5, 0.001, 0.001)),
        replace(FACTS, rho=None, epsilon=2.0, gamma=0.999),
        replace(FACTS, n=2, d=1, m=2, rho=1e-8, planned_noise=1e20, planned_mean_noise=1e20),
    ):
        bounds = gaussian_bounds(facts)
        assert all(not math.isnan(b.value) and b.value >= 0 for b in bounds)
        assert all(b.kind in ("bound", "range", "rate") for b in bounds)


# ---- a mean -------------------------------------------------------------------------------------


@pytest.mark.parametrize("pure", [False, True])
def test_a_mean_is_covered(pure: bool) -> None:
    facts = replace(MEAN, rho=None, epsilon=1.0) if pure else MEAN
    n, d, sd, runs = facts.n, facts.d, facts.sd, 40_000
    rng = np.random.default_rng(7)
    errors = rng.normal(size=(runs, d)) / math.sqrt(n)
    noise = rng.normal(size=(runs, d + 1))
    if pure:
        lengths = rng.gamma(d + 1, sd / math.sqrt(d + 2), size=runs)
        noise *= (lengths / np.linalg.norm(noise, axis=1))[:, None]
    else:
        noise *= sd
    lengths = np.linalg.norm(errors + noise[:, :d], axis=1)
    bound, distance = known_covariance_error(facts)
    # eta/2: the other half is for rows that were cut
    assert (lengths > bound.value).sum() <= stats.binom.isf(1e-7, runs, 0.025)
    assert bound.value < 2 * np.median(lengths)
    assert distance.value == pytest.approx(2 * stats.norm.cdf(bound.value / 2) - 1)


def test_theorem_2_3_is_solved_for_alpha() -> None:
    (rate,) = papers_mean_rate(MEAN)
    a, log_term = rate.value, math.log(20)
    rows = (6 + log_term) / a**2 + 6 * log_term**1.5 / (a * math.sqrt(0.5))
    assert rows == pytest.approx(2000)
    assert [p.met for p in rate.premises] == [None, True, None, True]
    assert papers_mean_rate(replace(MEAN, rho=None, epsilon=1.0)) == ()
    assert len(mean_bounds(replace(MEAN, gamma=0.5))) == 3


def test_far_means_of_pure_noise_are_finite() -> None:
    loud = replace(MEAN, rho=None, epsilon=1e-6, sd=1e7)
    assert known_covariance_error(loud)[1].value == pytest.approx(1.0)
