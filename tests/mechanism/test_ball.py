"""Spherical noise has the law that its proof of epsilon-DP assumes, and that law is epsilon-DP.

Every bound on a statistic is one that a right sampler misses with probability below 1e-6.
"""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from dpstats.errors import PrivacyError
from dpstats.mechanism import ball as spherical
from dpstats.mechanism.ball import SphericalLaw, exact_draw
from dpstats.mechanism.integers import draw
from dpstats.mechanism.noise import SMALLEST_SD, Noise, SecureNoise, SeededNoise
from tests.mechanism.laws import (
    fair_signs,
    fits,
    gamma_lengths,
    independent_signs,
    independent_sizes,
    normal_scale,
)

_NOISES = [SecureNoise(), SeededNoise(31)]
_NAMES = ["secure", "seeded"]
_SURE = 1e-7


def _gaussian(sd: float, size: int) -> NDArray[Any]:
    """The sampler of `SecureNoise`, without its floor."""
    return draw(sd, size, 2)


def _level(ball: SphericalLaw, k: NDArray[np.object_]) -> int:
    """Smallest r >= r0 with sum_j (k_j / v_j)^2 <= q r^2, in whole numbers."""
    parts = [Fraction(int(x)) / Fraction(v) for x, v in zip(k, ball.steps, strict=True)]
    square = sum((x**2 for x in parts), Fraction(0)) / len(parts)
    root = math.isqrt(square.numerator // square.denominator)
    return max(ball.lowest, root if root**2 == square else root + 1)


def _lengths(
    noise: Noise, sensitivity: float, weights: NDArray[Any], epsilon: float, draws: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Lengths times epsilon / sensitivity, and directions, in the norm of the weights."""
    drawn = [noise.spherical(sensitivity, weights, epsilon)[0].astype(float) for _ in range(draws)]
    sized = np.array(drawn) * np.sqrt(weights) * epsilon / sensitivity
    length = np.sqrt((sized**2).sum(axis=1))
    return length, sized / length[:, None]


# --- integers of any size --------------------------------------------------------------------------


def test_what_64_bits_cannot_hold_is_drawn_slowly() -> None:
    def never(sd: float, size: int) -> NDArray[Any]:
        raise AssertionError

    ball = SphericalLaw(np.array([0.75, 1.5]), 2**12, 1.0, 1.0)
    for r, v in ((2**38, 0.75), (2**60, 1.5), (2**200, 0.75)):
        drawn = spherical._gaussians(ball, r, v, 300, never)
        ratio = sum((k / (r * v)) ** 2 for k in drawn)
        assert stats.chi2.ppf(_SURE, 300) < ratio < stats.chi2.isf(_SURE, 300)


@pytest.mark.parametrize("scale", [0.4, 2.0, 6.0])
def test_levels_are_sums_of_geometric_variables(scale: float) -> None:
    noise = SecureNoise()
    sums = np.array([spherical._geometric_sum(noise.laplace, scale, 3) for _ in range(4_000)])
    law = stats.nbinom(3, -math.expm1(-1 / scale))
    edges = np.unique(law.ppf(np.linspace(0.05, 0.95, 15)))
    cells = np.diff(np.concatenate([[0.0], law.cdf(edges), [1.0]]))
    assert fits(np.bincount(np.searchsorted(edges, sums), minlength=len(cells)), cells)


# --- the law on a coarse lattice -------------------------------------------------------------------


_COARSE = {
    "line": ([3.0], 1, 3.0),
    "plane": ([2.0, 1.5], 2, 1.0),
    "round": ([1.5, 1.5], 2, 0.7),
}


@pytest.mark.parametrize(
    ("steps", "lowest", "scale", "slow"),
    [
        pytest.param(
            *law,
            slow,
            marks=[pytest.mark.slow] if name == "plane" or (slow and name == "round") else [],
            id=f"{name}-{'slow' if slow else 'fast'}",
        )
        for name, law in _COARSE.items()
        for slow in (False, True)
    ],
)
def test_masses_on_a_coarse_lattice(
    steps: list[float], lowest: int, scale: float, slow: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # r v >= 3 makes the normaliser of the Gaussian right up to exp(-170)
    ball, draws, q = SphericalLaw(np.array(steps), lowest, scale, 1.0), 1_200, len(steps)
    if slow:
        monkeypatch.setattr(spherical, "_LARGEST_LEVEL", 0)
    laplace = SeededNoise(14).laplace
    drawn = [exact_draw(ball, _gaussian, laplace).tolist() for _ in range(draws)]
    # all vectors up to where less than 1e-9 is left, with their masses
    most = lowest + round(scale * 30)
    sides = [np.arange(-reach, reach + 1) for reach in (np.sqrt(q) * most * ball.steps).astype(int)]
    k = np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1).reshape(-1, q)
    level = np.ceil(np.sqrt(((k / ball.steps) ** 2).sum(axis=1) / q) - 1e-12)
    masses = np.exp(-np.maximum(level, lowest) / scale)
    place = {tuple(vector): i for i, vector in enumerate(k.tolist())}
    counts = np.bincount([place[tuple(vector)] for vector in drawn], minlength=len(k))
    order = np.lexsort([*k.T, level])
    assert fits(counts[order], masses[order])
    flatter = np.exp(-np.maximum(level, lowest) / (1.6 * scale))
    assert not fits(counts[order], flatter[order])


# --- the law at the scale of releases --------------------------------------------------------------


@pytest.mark.parametrize("noise", _NOISES, ids=_NAMES)
@pytest.mark.parametrize("epsilon", [pytest.param(1e-3, marks=pytest.mark.slow), 40.0])
@pytest.mark.parametrize("weights", [[1.0], [2.0, 1.0], [1.0, 2.0, 2.0, 1.0, 2.0, 1.0]])
def test_length_is_gamma_and_direction_uniform(
    noise: Noise, epsilon: float, weights: list[float]
) -> None:
    q, draws = len(weights), 200 if not noise.seeded else 2_000
    length, direction = _lengths(noise, 2.0**25 / 3, np.array(weights), epsilon, draws)
    assert stats.kstest(length, stats.gamma(q).cdf).pvalue > _SURE
    assert stats.kstest(3 * length, stats.gamma(q).cdf).pvalue < _SURE
    if q == 1:
        assert stats.binomtest(int((direction > 0).sum()), draws).pvalue > _SURE
        return
    marginal = stats.beta((q - 1) / 2, (q - 1) / 2).cdf
    for coordinate in direction.T:
        assert stats.kstest((1 + coordinate) / 2, marginal).pvalue > _SURE / q
    moments = direction.T @ direction / draws - np.eye(q) / q
    assert np.abs(moments).max() < 6 * math.sqrt(3 / (q * (q + 2) * draws))


_WEIGHTS = {1: [1.0], 2: [2.0, 1.0], 4: [0.5, 1.0, 2.0, 8.0], 21: [2.0] * 15 + [1.0] * 6}


@pytest.mark.parametrize(
    ("noise", "epsilon", "weights"),
    [
        pytest.param(
            noise,
            epsilon,
            weights,
            # a thousand secure draws take seconds
            marks=[pytest.mark.slow] if noise is _NOISES[0] and (q < 21 or epsilon < 1) else [],
            id=f"{name}-{epsilon}-{q}",
        )
        for noise, name in zip(_NOISES, _NAMES, strict=True)
        for epsilon in (1e-3, 2.0)
        for q, weights in _WEIGHTS.items()
    ],
)
def test_lengths_and_every_coordinate_have_their_scale_and_no_other(
    noise: Noise, epsilon: float, weights: list[float]
) -> None:
    """The radius by its sum, the direction with the length of normals in place of its own."""
    q = len(weights)
    draws = max(2200 // q + 1, 1100 if noise.seeded else 90)
    length, direction = _lengths(noise, 2.0**25 / 3, np.array(weights), epsilon, draws)
    gamma_lengths(length, q)
    radius = np.sqrt(np.random.default_rng(0).chisquare(q, draws))
    if q > 1:
        normals = direction * radius[:, None]
        normal_scale(normals, 1.0)
        # of one coordinate the scale beside the others; of a coordinate among many, its own
        for column in normals.T if draws >= 1100 else ():
            normal_scale(column, 1.0)
        for weight in set(weights):
            same = normals[:, np.array(weights) == weight]
            if same.size >= 1100:
                normal_scale(same, 1.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("noise", "draws"),
    [pytest.param(_NOISES[0], 2010, marks=pytest.mark.slow), (_NOISES[1], 6000)],
    ids=_NAMES,
)
def test_directions_have_no_preference_and_draws_no_memory(noise: Noise, draws: int) -> None:
    length, direction = _lengths(noise, 2.0**25, np.array([1.0, 2.0, 1.0]), 1.0, draws)
    # given the lengths of all coordinates, the signs are fair
    independent_signs(direction * length[:, None])
    # lengths of one draw and of the next, a direction and the next: nothing goes together
    centred = length - np.median(length)
    assert fair_signs(np.sign(direction[:, 0]) * centred)
    assert fair_signs(direction[1:, 0] * centred[:-1])
    independent_sizes(length[1:], length[:-1])
    # a direction says nothing of its own length
    independent_sizes(length, direction[:, 1])
    independent_sizes(direction[1:, 1], direction[:-1, 1])


@pytest.mark.parametrize("q", [3, 40])
def test_the_largest_noise_that_is_accepted_has_its_law(q: int) -> None:
    # levels near 2^37 and coordinates near 2^62 are drawn by either sampler of normals
    low, high, weights = 1e-14, 1.0, np.ones(q)
    for _ in range(50):
        middle = math.sqrt(low * high)
        try:
            SphericalLaw.fitting(2.0**27, weights, middle, SMALLEST_SD)
            high = middle
        except PrivacyError:
            low = middle
    for noise in _NOISES:
        length, direction = _lengths(noise, 2.0**27, weights, high, 2200 // q + 1)
        gamma_lengths(length, q)
        assert fair_signs(direction)


def test_a_secure_draw_in_many_dimensions() -> None:
    weights = np.repeat([2.0, 1.0], [45, 21])
    length, direction = _lengths(SecureNoise(), 2.0**25, weights, 0.5, 12)
    assert stats.gamma(66).ppf(_SURE / 24) < length.min()
    assert length.max() < stats.gamma(66).isf(_SURE / 24)
    split = stats.beta(45 / 2, 21 / 2)
    share = (direction[:, :45] ** 2).sum(axis=1)
    assert split.ppf(_SURE / 24) < share.min() < share.max() < split.isf(_SURE / 24)


@pytest.mark.parametrize("weights", [[1.0], [1.0, 2.0], [2.0, 2.0], [1.0] * 300 + [2.0] * 300])
@pytest.mark.parametrize("epsilon", [1e-6, 0.3, 10.0])
def test_standard_deviation_is_that_of_the_reals(weights: list[float], epsilon: float) -> None:
    ball = SphericalLaw.fitting(2.0**27, np.array(weights), epsilon, SMALLEST_SD)
    assert ball.sd * epsilon / (2.0**27 * math.sqrt(len(weights) + 1)) == pytest.approx(1, rel=2e-4)


@pytest.mark.parametrize(("sensitivity", "epsilon"), [(1.0, 2.0), (0.0, 1.0), (2.0**20, 1e5)])
def test_a_budget_too_large_for_the_lattice_is_not_used_up(
    sensitivity: float, epsilon: float
) -> None:
    weights = np.array([1.0, 2.0, 1.0])
    noise, draws = SeededNoise(15), 1_500
    drawn = [noise.spherical(sensitivity, weights, epsilon) for _ in range(draws)]
    sd = drawn[0][1]
    assert 2 * SMALLEST_SD < sd < 16 * SMALLEST_SD
    squares = (np.array([k for k, _ in drawn], dtype=float) ** 2 * weights).mean(axis=1)
    assert abs(squares.mean() - sd**2) < 6 * squares.std() / math.sqrt(draws)
    secure = [SecureNoise().spherical(sensitivity, weights, epsilon)[0] for _ in range(200)]
    again = (np.array(secure, dtype=float) ** 2 * weights).mean(axis=1)
    assert stats.ks_2samp(squares, again).pvalue > _SURE


# --- privacy ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [1e-5, 0.7, 12.0, 1e4])
@pytest.mark.parametrize("weights", [[1.0], [2.0, 1.0, 1.0], [1.0, 2.0] * 12])
@pytest.mark.parametrize("sensitivity", [3.0, 2.0**23 + 0.3, 2.0**37 / 3])
def test_masses_of_neighbours_differ_by_at_most_epsilon(
    sensitivity: float, weights: list[float], epsilon: float
) -> None:
    w, q, rng = np.array(weights), len(weights), np.random.default_rng(16)
    try:
        ball = SphericalLaw.fitting(sensitivity, w, epsilon, SMALLEST_SD)
    except PrivacyError:
        pytest.fail("64 bits are enough here")
    largest = Fraction(0)
    for _ in range(15):
        k = spherical.rough_draw(ball, rng) + rng.integers(-3, 4, q).astype(object)
        along = k.astype(float) * np.sqrt(w)
        for direction in (along, -along, rng.normal(size=q), np.eye(q)[rng.integers(q)]):
            whole = direction / np.linalg.norm(direction) * sensitivity / np.sqrt(w)
            x = np.array([int(a) for a in whole], dtype=object)  # towards zero
            if (
                sum(Fraction(b) * int(a) ** 2 for a, b in zip(x, weights, strict=True))
                > Fraction(sensitivity) ** 2
            ):
                continue
            change = abs(_level(ball, k + x) - _level(ball, k)) / Fraction(ball.scale)
            assert change <= Fraction(epsilon)
            largest = max(largest, change)
    if sensitivity > 2.0**20 and ball.sd > 40 * SMALLEST_SD:
        assert largest > 0.99 * epsilon


@pytest.mark.parametrize("weights", [[1.0], [1.0, 2.0, 1.0], [0.1, 0.7, 3.0] * 2])
def test_steps_are_short_floats_that_cover_the_sensitivity(weights: list[float]) -> None:
    rng = np.random.default_rng(17)
    for _ in range(30):
        sensitivity, epsilon = float(2 ** rng.uniform(26, 36)), float(10 ** rng.uniform(-4, 2))
        ball = SphericalLaw.fitting(sensitivity, np.array(weights), epsilon, SMALLEST_SD)
        parts = math.floor(Fraction(ball.scale) * Fraction(epsilon))  # the M of the proof
        assert parts & (parts - 1) == 0
        for v, w in zip(ball.steps, weights, strict=True):
            need = Fraction(sensitivity) ** 2 / (parts**2 * len(weights) * Fraction(w))
            assert need <= Fraction(float(v)) ** 2 <= need * Fraction(10001, 10000)
            assert ball.lowest * Fraction(float(v)) >= SMALLEST_SD
            r = int(rng.integers(2**36, 2**37))
            assert r * Fraction(float(v)) == Fraction(r * float(v))


# --- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", _NOISES, ids=_NAMES)
@pytest.mark.parametrize(
    ("sensitivity", "epsilon"), [(2.0**60, 1.0), (2.0**30, 1e-9), (1.0, 1e-300)]
)
def test_noise_beyond_64_bits_is_refused(noise: Noise, sensitivity: float, epsilon: float) -> None:
    with pytest.raises(PrivacyError, match="larger epsilon"):
        noise.spherical(sensitivity, np.ones(3), epsilon)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, math.inf])
def test_what_is_no_epsilon_is_refused(epsilon: float) -> None:
    with pytest.raises(PrivacyError, match="epsilon must be"):
        SecureNoise().spherical(1e6, np.ones(3), epsilon)


@pytest.mark.parametrize(
    ("sensitivity", "weights"),
    [(1e6, [0.0, 1.0]), (1e6, [-1.0]), (1e6, [math.inf]), (-1.0, [1.0]), (math.nan, [1.0])],
)
def test_what_is_no_norm_is_refused(sensitivity: float, weights: list[float]) -> None:
    with pytest.raises(ValueError, match="must be numbers > 0"):
        SecureNoise().spherical(sensitivity, np.array(weights), 1.0)


@pytest.mark.slow
@pytest.mark.parametrize("q", [66, 1326])
def test_success_per_try_is_what_the_module_says(q: int) -> None:
    tries, draws, source = 0, 200 if q == 66 else 8, SecureNoise()
    ball = SphericalLaw.fitting(2.0**25, np.ones(q), 1.0, SMALLEST_SD)

    def counted(sd: float, size: int) -> NDArray[Any]:
        nonlocal tries
        tries += 1
        return source.integers(sd, size)

    for _ in range(draws):
        exact_draw(ball, counted, source.laplace)
    low, high = stats.nbinom(draws, 1 / math.sqrt(math.pi * q)).ppf([_SURE, 1 - _SURE])
    assert 0.9 * low < tries - draws < 1.1 * high
