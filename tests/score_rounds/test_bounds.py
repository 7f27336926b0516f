"""The exact bound on the distance to the noiseless fit holds over the noise."""

import math

import numpy as np
import pytest
from scipy import stats

from dpstats.score_rounds.bounds import (
    ReleasedSystem,
    distance_to_noiseless_fit,
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
