"""The exact bound on the distance to the noiseless fit holds over the noise."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from dpstats.score_rounds.bounds import (
    ReleasedSystem,
    distance_to_noiseless_fit,
    estimated_distance,
    simulated_distance,
)
from tests.score_rounds.systems import noisy_system


@pytest.mark.parametrize("isometric", [True, False])
@pytest.mark.parametrize("d", [1, 3, 12])
def test_the_exact_bound_covers_the_distance(d: int, isometric: bool) -> None:
    # P(fail) <= 0.05 each; more than 40 failures of 300 have probability below 1e-6
    assert stats.binom.sf(40, 300, 0.05) < 1e-6
    rng, missed = np.random.default_rng(d), 0
    for _ in range(300):
        system, distance = noisy_system(rng, d, isometric)
        missed += distance > distance_to_noiseless_fit(system, 0.05).value
    assert missed <= 40


def test_without_room_the_exact_bound_says_nothing() -> None:
    system, _ = noisy_system(np.random.default_rng(0), 3, True)
    loud = ReleasedSystem(**{**system.__dict__, "moments_sd": 10.0})
    bound = distance_to_noiseless_fit(loud, 0.05)
    assert bound.value == math.inf
    assert bound.premises[0].met is False


def test_the_simulated_quantile_is_sharper_and_repeats() -> None:
    system, _ = noisy_system(np.random.default_rng(0), 6, True)
    assert simulated_distance(system, 0.05).value < distance_to_noiseless_fit(system, 0.05).value
    assert simulated_distance(system, 0.05) == simulated_distance(system, 0.05)


@pytest.mark.parametrize("isometric", [True, False])
def test_the_simulated_noise_of_the_moments_has_the_law_of_a_noisy_matrix(isometric: bool) -> None:
    rng, draws, d = np.random.default_rng(3), 40_000, 3
    move = np.array([2.0, 0.5, -1.0])
    still = np.zeros((d, d))
    system = ReleasedSystem(
        np.eye(d), np.eye(d), 0.3, isometric, still, move, 0.0, np.diag([1.0, 3.0, 0.2])
    )
    off = 0.3 / (math.sqrt(2) if isometric else 1.0)
    noise = np.triu(rng.normal(size=(draws, d, d)), 1) * off
    noise += noise.transpose(0, 2, 1)
    noise[:, np.arange(d), np.arange(d)] = 0.3 * rng.normal(size=(draws, d))
    lengths = np.linalg.norm(noise @ move @ system.back, axis=1)
    for eta in (0.5, 0.05):
        # a quantile is off by 1 % of itself in either sample, about, as one standard deviation
        found = simulated_distance(system, eta, draws=draws).value
        assert found == pytest.approx(np.quantile(lengths, 1 - eta), rel=0.06)


def test_the_distance_to_the_fit_without_cuts_is_called_an_estimate_and_counts_them() -> None:
    rng, missed = np.random.default_rng(7), 0
    for _ in range(100):
        system, distance = noisy_system(rng, 4, True)
        noise = simulated_distance(system, 0.05, draws=400)
        assert estimated_distance(system, noise) == ()  # no tail was released
        shift = 3.0 * noise.value
        (bound,) = estimated_distance(replace(system, moved=shift), noise)
        assert (bound.kind, bound.probability) == ("estimated", None)
        assert bound.value == noise.value + shift
        missed += distance + shift > bound.value
    assert missed <= 30  # 5 expected; binomial, below 1e-6
    assert bound.statement != noise.statement
    assert "without cuts" in bound.statement
