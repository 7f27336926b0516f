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


def _laplace_masses(scale: float, largest: int) -> tuple[np.ndarray, np.ndarray]:
    """Values -largest..largest and their masses; those of the ends are of all beyond as well."""
    values = np.arange(-largest, largest + 1)
    masses = np.tanh(0.5 / scale) * np.exp(-np.abs(values) / scale)
    masses[[0, -1]] /= -np.expm1(-1 / scale)
    return values, masses


@pytest.mark.parametrize("noise", [SecureNoise(), SeededNoise(8)], ids=["secure", "seeded"])
@pytest.mark.parametrize("scale", [0.4, 1.7, 6.0])
def test_laplace_has_the_masses_of_its_definition(noise: Noise, scale: float) -> None:
    largest = round(6 * scale)
    values, masses = _laplace_masses(scale, largest)
    assert masses.sum() == pytest.approx(1)
    drawn = np.clip(noise.laplace(scale, _DRAWS).astype(int), -largest, largest)
    counts = (drawn[:, None] == values).sum(axis=0)
    assert stats.chisquare(counts, _DRAWS * masses).pvalue > 1e-7
    assert stats.chisquare(counts, _DRAWS * _laplace_masses(1.2 * scale, largest)[1]).pvalue < 1e-7


@pytest.mark.parametrize("noise", [SecureNoise(), SeededNoise(9)], ids=["secure", "seeded"])
@pytest.mark.parametrize("scale", [2.0**22 / 3, 2.0**50])
def test_laplace_of_large_scale_is_that_of_the_reals(noise: Noise, scale: float) -> None:
    drawn = noise.laplace(scale, _DRAWS).astype(float) / scale
    assert stats.kstest(drawn, "laplace").pvalue > 1e-7
    assert stats.kstest(1.3 * drawn, "laplace").pvalue < 1e-7


@pytest.mark.parametrize("scale", [0.0, -1.0, np.nan, np.inf, 2.0**58])
def test_laplace_scales_beyond_64_bits_are_refused(scale: float) -> None:
    for noise in (SecureNoise(), SeededNoise(1)):
        with pytest.raises(PrivacyError, match="larger epsilon"):
            noise.laplace(scale, 1)


def test_a_seed_repeats_and_secure_noise_does_not() -> None:
    again = [make_noise(3).integers(2.0**20, 4).tolist() for _ in range(2)]
    assert again[0] == again[1]
    for kind in (lambda n: n.laplace(1e6, 4), lambda n: n.spherical(1e6, np.ones(4), 1.0)[0]):
        assert np.array_equal(*[kind(make_noise(3)) for _ in range(2)])
        assert not np.array_equal(*[kind(make_noise(None)) for _ in range(2)])
    assert make_noise(3).seeded
    secure = [make_noise(None).integers(2.0**40, 4).tolist() for _ in range(2)]
    assert secure[0] != secure[1]
    assert not make_noise(None).seeded


@pytest.mark.parametrize("sd", [SMALLEST_SD / 2, 2.0**60])
def test_scales_beyond_the_lattice_statement_are_refused(sd: float) -> None:
    for noise in (SecureNoise(), SeededNoise(1)):
        with pytest.raises(PrivacyError, match="larger mu"):
            noise.integers(sd, 1)
