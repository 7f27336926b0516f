"""Scales, cuts, shrinkage and posteriors of the classifier agree with direct computations."""

import numpy as np
import pytest
from scipy import stats

from dpstats.models.eptr_bayes.estimate import (
    choose_class_radius,
    feature_scaling,
    log_posterior,
    pooled_covariance,
    priors_from_counts,
    shrunk_shift,
    smallest_class,
)

_RNG = np.random.default_rng(0)
_CODE = np.arange(300) % 3
_MIX = np.array([[1.0, 0.5, 0.0], [0.0, 2.0, 0.3], [0.0, 0.0, 10.0]])
_X = (_RNG.normal(size=(300, 3)) + 2 * np.eye(3)[_CODE]) @ _MIX


def test_the_covariance_is_pooled_within_classes() -> None:
    means, covariance = pooled_covariance(_X, _CODE, 3)
    parts = [np.cov(_X[k == _CODE].T, bias=True) * 100 for k in range(3)]
    assert covariance == pytest.approx(sum(parts) / 297)
    assert means == pytest.approx(np.array([_X[k == _CODE].mean(axis=0) for k in range(3)]))


def test_scaling_makes_classes_round() -> None:
    _, covariance = pooled_covariance(_X, _CODE, 3)
    assert feature_scaling(covariance, "identity", 300) == pytest.approx(np.eye(3))
    w = feature_scaling(covariance, "diagonal", 300)
    assert np.diag(w.T @ covariance @ w) == pytest.approx(np.ones(3))
    w = feature_scaling(covariance, "full", 10**9)
    assert w.T @ covariance @ w == pytest.approx(np.eye(3), abs=1e-6)
    shrunk = feature_scaling(covariance, "full", 300)
    assert shrunk.T @ covariance @ shrunk == pytest.approx(np.eye(3), abs=0.05)


def test_a_feature_without_spread_keeps_its_unit() -> None:
    flat = np.diag([4.0, 0.0])
    for kind in ("diagonal", "full"):
        w = feature_scaling(flat, kind, 100)
        assert np.isfinite(w).all()
        assert w[1, 1] == pytest.approx(1)
        assert w[0, 0] == pytest.approx(0.5)


def test_the_radius_follows_the_noise() -> None:
    z = _RNG.normal(size=(600, 5))
    code = np.arange(600) % 3
    loud = choose_class_radius(z, code, 3, 500, 0.05)
    quiet = choose_class_radius(z, code, 3, 10**6, 50.0)
    assert loud[0] < quiet[0]
    assert loud[1] < quiet[1] <= 1
    assert quiet[0] >= np.quantile(np.linalg.norm(z, axis=1), 0.9)
    assert min(loud[2], quiet[2]) >= 0
    same = choose_class_radius(np.zeros((30, 2)), np.arange(30) % 3, 3, 500, 1.0)
    assert np.isfinite(same).all()
    assert same[0] > 0


def test_the_slope_is_the_share_of_a_shift_that_cut_rows_follow() -> None:
    z, code = np.random.default_rng(1).normal(size=(4000, 4)), np.zeros(4000, dtype=int)
    radius, slope, _ = choose_class_radius(z, code, 1, 2000, 0.05)
    rows = np.random.default_rng(2).normal(size=(200_000, 4)) + np.array([0.1, 0, 0, 0])
    length = np.linalg.norm(rows, axis=1)
    mean = (rows * np.minimum(1, radius / length)[:, None]).mean(axis=0)
    assert slope < 0.95
    assert mean[0] / slope == pytest.approx(0.1, abs=0.02)


def test_shrinkage_is_james_and_steins() -> None:
    shift = np.array([1.0, 2.0, 2.0])
    moved, factor = shrunk_shift(shift, 0.5)
    assert factor == pytest.approx(1 - 0.25 / 9)
    assert moved == pytest.approx(factor * shift)
    assert shrunk_shift(shift, 100.0)[1] == 0
    assert shrunk_shift(shift[:2], 100.0)[1] == 1
    assert shrunk_shift(np.zeros(3), 1.0)[0] == pytest.approx(np.zeros(3))


def test_priors_are_probabilities_whatever_the_counts() -> None:
    assert priors_from_counts(np.array([30.0, 70.0]), 100) == pytest.approx([0.3, 0.7])
    for counts in ([-50.0, 20.0], [0.0, 0.0], [1e9, 1.0], [-1.0, -2.0]):
        priors = priors_from_counts(np.array(counts), 100)
        assert priors.sum() == pytest.approx(1)
        assert (priors >= 1 / 200).all()


def test_posteriors_are_bayes_formula() -> None:
    z, means = _RNG.normal(size=(20, 3)), 2 * _RNG.normal(size=(4, 3))
    priors = np.array([0.1, 0.2, 0.3, 0.4])
    density = np.array([stats.multivariate_normal(m).pdf(z) for m in means]).T * priors
    expected = density / density.sum(axis=1, keepdims=True)
    assert np.exp(log_posterior(z, means, priors)) == pytest.approx(expected)
    far = np.exp(log_posterior(1e6 * z, means, priors))
    assert far.sum(axis=1) == pytest.approx(np.ones(20))


def test_the_expected_smallest_class_is_nearly_always_there() -> None:
    # public and private rows of one law: below the guess with probability 2 beta at most
    rng, n, m, beta = np.random.default_rng(3), 2000, 200, 0.02
    below = 0
    for _ in range(500):
        seen = rng.binomial(m, 0.1)
        below += rng.binomial(n, 0.1) < smallest_class(n, seen / m, m, beta)
    # more than 45 of 500 at 0.04 have probability below 1e-6
    assert stats.binom.sf(45, 500, 2 * beta) < 1e-6
    assert below <= 45
    assert smallest_class(2000, 0.0, 200, 1e-3) == 0
    assert smallest_class(2000, 0.5, 2000, 1e-3) > smallest_class(2000, 0.5, 20, 1e-3)
