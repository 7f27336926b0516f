"""The samplers have the law that the proofs assume.

Every question to a sampler is one that a right one misses with probability below 1e-7, and one with
0.7 or 1.3 times its scale passes as rarely; see `laws`.
"""

import math

import numpy as np
import pytest
from scipy import special, stats

from dpstats.errors import PrivacyError
from dpstats.mechanism.noise import (
    LARGEST_SD,
    SMALLEST_SD,
    Noise,
    SecureNoise,
    SeededNoise,
    make_noise,
)
from tests.mechanism.laws import (
    ALARM,
    WRONG,
    independent_signs,
    independent_sizes,
    laplace_scale,
    normal_scale,
)

_DRAWS = 20_000


@pytest.mark.parametrize("noise", [SecureNoise(), SeededNoise(5)], ids=["secure", "seeded"])
@pytest.mark.parametrize("sd", [SMALLEST_SD, 1e6 / 3, 2.0**44, LARGEST_SD])
def test_standard_deviation_is_accepted_and_wrong_ones_are_refused(noise: Noise, sd: float) -> None:
    drawn = noise.integers(sd, _DRAWS)
    assert drawn.dtype == np.int64
    normal_scale(drawn, sd)
    # one at a time, as releases of one number draw it
    normal_scale(np.concatenate([noise.integers(sd, 1) for _ in range(1500)]), sd)


@pytest.mark.parametrize("noise", [SecureNoise(), SeededNoise(6)], ids=["secure", "seeded"])
def test_law_is_normal_and_centred(noise: Noise) -> None:
    values = noise.integers(2.0**30, _DRAWS) / 2.0**30
    assert abs(values.mean()) < 5.4 / np.sqrt(_DRAWS)
    assert stats.kstest(values, "norm").pvalue > 1e-7


@pytest.mark.parametrize("noise", [SecureNoise(), SeededNoise(7)], ids=["secure", "seeded"])
@pytest.mark.parametrize("law", ["normal", "Laplace"])
def test_draws_are_independent_within_a_call_and_from_call_to_call(noise: Noise, law: str) -> None:
    def draw(size: int) -> np.ndarray:
        drawn = noise.integers(2.0**20, size) if law == "normal" else noise.laplace(2.0**20, size)
        return drawn.astype(float)

    within = draw(3 * 4000).reshape(-1, 3)
    calls = np.array([draw(2) for _ in range(4000)])
    for values in (within, calls):
        independent_signs(values)
        independent_sizes(values[:, 0], values[:, 1])
        independent_sizes(values[1:, 0], values[:-1, 1])
        independent_sizes(values[1:, 0], values[:-1, 0])


@pytest.mark.parametrize("noise", [SecureNoise(), SeededNoise(10)], ids=["secure", "seeded"])
def test_both_parities_are_as_likely(noise: Noise) -> None:
    # a sampler on a coarser lattice would have the right law up to its spacing, and another privacy
    for sd in (SMALLEST_SD, 2.0**40):
        odd = int((noise.integers(sd, _DRAWS) & 1).sum())
        assert stats.binomtest(odd, _DRAWS).pvalue > ALARM


def test_rounded_normals_are_the_discrete_law_up_to_what_is_said() -> None:
    # seeded noise; the two laws point by point, by formula: no draws
    for sd in (2.0**10, 3.7 * 2.0**10):  # from 2^16 on this sum loses what it looks for
        k = np.arange(0.0, 12 * sd)
        discrete = np.exp(-(k**2) / (2 * sd**2)) / (math.sqrt(2 * math.pi) * sd)
        rounded = special.ndtr(-(k - 0.5) / sd) - special.ndtr(-(k + 0.5) / sd)
        distance = np.abs(discrete - rounded).sum() - np.abs(discrete - rounded)[0] / 2
        assert distance < 1 / (24 * sd**2)


@pytest.mark.parametrize("sd", [8.0, 50.3, 2.0**10])
def test_the_discrete_law_is_near_the_rounded_one_as_the_proof_says(sd: float) -> None:
    """The inequalities of `noise` for one number, from masses that are summed, not approximated."""
    k = np.arange(-math.floor(14 * sd), math.floor(14 * sd) + 1.0)
    z, s = k / sd, 1 / (24 * sd**2)
    density = np.exp(-(z**2) / 2)
    discrete = density / density.sum()
    # r_k by Gauss's rule, exact for polynomials of degree 79
    u, weight = np.polynomial.legendre.leggauss(40)
    shape = np.exp(-(u[:, None] ** 2) / (8 * sd**2)) * np.cosh(u[:, None] * z / (2 * sd))
    r = weight @ shape / 2
    rounded = r * density / (math.sqrt(2 * math.pi) * sd)
    assert rounded.sum() == pytest.approx(1.0, abs=1e-12)
    x = s * (z**2 - 1) - 1.8 * s**2 * z**2
    assert (r >= 1 + x - 1e-15).all()
    assert (np.log(r) >= -1.01 * s - 1e-15).all()
    near = np.abs(z) <= sd / 5
    assert (np.log(r)[near] <= 1.01 * s * z[near] ** 2 + 1e-15).all()
    assert float(discrete @ np.log(discrete / rounded)) <= 4 * s**2 + 1e-15
    assert np.abs(discrete - rounded).sum() / 2 <= math.sqrt(2) * s


@pytest.mark.parametrize("mu", [0.5, 1.0, 2.0, 8.0])
def test_errors_at_the_floor_lie_within_1e_8_of_the_continuous_curve(mu: float) -> None:
    """The errors of every test of one number, at the smallest noise that is ever drawn."""
    sd = SMALLEST_SD
    change = round(mu * sd)
    k = np.arange(-math.floor(9 * sd), math.floor((9 + mu) * sd) + 1.0)
    mass = np.exp(-(k**2) / (2 * sd**2))
    mass /= mass.sum()
    first = np.cumsum(mass[::-1])[::-1]  # P[X >= k]
    below = np.concatenate([np.zeros(1), np.cumsum(mass)])
    second = below[np.maximum(np.arange(len(k)) - change, 0)]  # P[X < k - change]
    curve = special.ndtr(-special.ndtri(np.minimum(first, 1.0)) - change / sd)
    assert np.max(curve - second) < 1e-8
    for numbers in (1, 500_000):
        assert math.sqrt(2 * numbers) / (24 * SMALLEST_SD**2) < 1e-8


def test_secure_noise_is_wholly_integer_at_its_largest() -> None:
    # the last bits of 64 are there: a float of this size has none
    for drawn in (SecureNoise().integers(LARGEST_SD, 400), SecureNoise().laplace(LARGEST_SD, 400)):
        assert all(float(int(k)) != int(k) for k in drawn[np.abs(drawn) > 2**56] if int(k) & 1)
        odd = sum(int(k) & 1 for k in drawn)
        assert stats.binomtest(odd, 400).pvalue > ALARM


@pytest.mark.parametrize("noise", [SecureNoise(), SeededNoise(1)], ids=["secure", "seeded"])
def test_nothing_is_drawn_for_nothing(noise: Noise) -> None:
    assert noise.integers(SMALLEST_SD, 0).shape == (0,)
    assert noise.laplace(1.0, 0).shape == (0,)


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


@pytest.mark.parametrize("noise", [SecureNoise(), SeededNoise(11)], ids=["secure", "seeded"])
@pytest.mark.parametrize("scale", [0.4, 2.0, 40.0, 1e4])
def test_laplace_scale_is_accepted_and_wrong_ones_are_refused(noise: Noise, scale: float) -> None:
    # max(X, -1 - X) is geometric, and the sum of geometric variables negative binomial: exactly
    drawn = noise.laplace(scale, _DRAWS)
    assert all(type(k) is int for k in drawn)
    total = int(sum(max(k, -1 - k) for k in drawn))

    def ends(scale: float) -> tuple[float, float]:
        law = stats.nbinom(_DRAWS, -math.expm1(-1 / scale))
        return float(law.ppf(ALARM / 2)), float(law.isf(ALARM / 2))

    low, high = ends(scale)
    assert low <= total <= high
    for wrong in WRONG:
        other = ends(wrong * scale)
        # what a right sampler gives lies outside with all but this probability
        law = stats.nbinom(_DRAWS, -math.expm1(-1 / scale))
        assert law.cdf(other[1]) - law.cdf(other[0] - 1) < ALARM
        assert not other[0] <= total <= other[1]


@pytest.mark.parametrize("noise", [SecureNoise(), SeededNoise(9)], ids=["secure", "seeded"])
@pytest.mark.parametrize("scale", [2.0**22 / 3, 2.0**50, LARGEST_SD])
def test_laplace_of_large_scale_is_that_of_the_reals(noise: Noise, scale: float) -> None:
    whole = noise.laplace(scale, _DRAWS)
    assert all(type(k) is int for k in whole)
    laplace_scale(whole, scale)
    drawn = whole.astype(float) / scale
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
