"""The samplers have the law that the proofs assume.

Every bound below is one that a right sampler misses with probability below 1e-6.
"""

import numpy as np
import pytest
from scipy import stats

from dpstats.errors import PrivacyError
from dpstats.mechanism.noise import SMALLEST_SD, Noise, SecureNoise, SeededNoise, make_noise

_DRAWS = 20_000


def _variance_is_that_of(values: np.ndarray, sd: float) -> bool:
    ratio = float((values / sd) @ (values / sd))
    low, high = stats.chi2.ppf([2e-7, 1 - 2e-7], len(values))
    return low < ratio < high


@pytest.mark.parametrize("noise", [SecureNoise(), SeededNoise(5)], ids=["secure", "seeded"])
@pytest.mark.parametrize("sd", [SMALLEST_SD, 2.0**44])
def test_standard_deviation_is_accepted_and_wrong_ones_are_refused(noise: Noise, sd: float) -> None:
    values = noise.integers(sd, _DRAWS).astype(float)
    assert _variance_is_that_of(values, sd)
    assert not _variance_is_that_of(values, 0.7 * sd)
    assert not _variance_is_that_of(values, 1.3 * sd)


@pytest.mark.parametrize("noise", [SecureNoise(), SeededNoise(6)], ids=["secure", "seeded"])
def test_law_is_normal_and_centred(noise: Noise) -> None:
    values = noise.integers(2.0**30, _DRAWS) / 2.0**30
    assert abs(values.mean()) < 5 / np.sqrt(_DRAWS)
    assert stats.kstest(values, "norm").pvalue > 1e-7


@pytest.mark.parametrize("noise", [SecureNoise(), SeededNoise(7)], ids=["secure", "seeded"])
def test_coordinates_are_independent(noise: Noise) -> None:
    values = noise.integers(2.0**20, 2 * _DRAWS).reshape(-1, 2) / 2.0**20
    correlation = float((values[:, 0] * values[:, 1]).mean())
    assert abs(correlation) < 5.5 / np.sqrt(_DRAWS)
    lagged = float((values[:-1, 1] * values[1:, 0]).mean())
    assert abs(lagged) < 5.5 / np.sqrt(_DRAWS)


def test_a_seed_repeats_and_secure_noise_does_not() -> None:
    again = [make_noise(3).integers(2.0**20, 4).tolist() for _ in range(2)]
    assert again[0] == again[1]
    assert make_noise(3).seeded
    secure = [make_noise(None).integers(2.0**40, 4).tolist() for _ in range(2)]
    assert secure[0] != secure[1]
    assert not make_noise(None).seeded


@pytest.mark.parametrize("sd", [SMALLEST_SD / 2, 2.0**60])
def test_scales_beyond_the_lattice_statement_are_refused(sd: float) -> None:
    for noise in (SecureNoise(), SeededNoise(1)):
        with pytest.raises(PrivacyError, match="larger mu"):
            noise.integers(sd, 1)
