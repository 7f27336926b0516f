"""Releases carry the noise and the cost that they claim.

Laws: each question errs with probability below 1e-7 on either side; see `laws`.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dpstats.accounting.privacy import ApproximatePrivacy, Privacy, PurePrivacy
from dpstats.mechanism.noise import SMALLEST_SD, Noise, SecureNoise, SeededNoise
from dpstats.mechanism.release import (
    Release,
    release_counts,
    release_symmetric,
    release_vector,
)
from tests.grids import thinned
from tests.mechanism.laws import (
    gamma_lengths,
    independent_signs,
    laplace_scale,
    normal_scale,
)
from tests.mechanism.sources import NonPrivateSilence

_NOISES = [SecureNoise, lambda: SeededNoise(4)]
_noises = pytest.mark.parametrize("make", _NOISES, ids=["secure", "seeded"])
Make = Callable[[], Noise]


def _whole(*shape: int) -> np.ndarray:
    """Symmetric totals beyond 64 bits, as Python's integers."""
    d = shape[-1]
    some = np.arange(math.prod(shape)).reshape(shape).astype(object) * 3**45
    return some + np.swapaxes(some, -1, -2) if len(shape) > 1 and shape[-2] == d else some


def _rest(release: Release, total: np.ndarray) -> np.ndarray:
    """What was added, in noise_sd; the totals are so small beside it that floats lose nothing."""
    return np.asarray(release.value / release.step - total.astype(float)) * (
        release.step / release.noise_sd
    )


# --- symmetric matrices ---------------------------------------------------------------------------


@_noises
@pytest.mark.parametrize("isometric", [True, False], ids=["svec", "papers"])
@pytest.mark.parametrize("shape", [(9, 9), (3, 5, 5), (1, 1)])
def test_symmetric_noise_has_sd_on_the_diagonal_and_what_is_said_off_it(
    make: Make, isometric: bool, shape: tuple[int, ...]
) -> None:
    noise, total = make(), np.zeros(shape, dtype=int).astype(object)
    d, draws = shape[-1], 1200 // math.prod(shape[:-1]) + 1
    upper = np.triu_indices(d, 1)
    diagonal, off = [], []
    for _ in range(draws):
        out = release_symmetric("m", total, 2.0**30, 0.5, Privacy(2.0), noise, isometric=isometric)
        assert out.noise_sd == pytest.approx(2.0**30 / 2 * 0.5)
        rest = _rest(out, total).reshape(-1, d, d)
        assert (rest == rest.transpose(0, 2, 1)).all()
        diagonal.append(np.diagonal(rest, axis1=1, axis2=2))
        off.append(rest[:, upper[0], upper[1]])
    normal_scale(np.array(diagonal), 1.0)
    if d > 1:
        normal_scale(np.array(off), 1 / math.sqrt(2) if isometric else 1.0)


@pytest.mark.parametrize(
    ("make", "pure"),
    [
        (_NOISES[0], False),
        pytest.param(_NOISES[0], True, marks=pytest.mark.slow),
        (_NOISES[1], False),
        (_NOISES[1], True),
    ],
)
def test_entries_of_symmetric_noise_are_independent_across_places_and_matrices(
    make: Make, pure: bool
) -> None:
    noise, total = make(), np.zeros((2, 2, 2), dtype=object)
    cost = PurePrivacy(1.0) if pure else Privacy(1.0)
    draws = 2500
    rows = [
        release_symmetric("m", total, 2.0**30, 1.0, cost, noise).value[
            [0, 0, 0, 1, 1, 1], [0, 0, 1, 0, 0, 1], [0, 1, 1, 0, 1, 1]
        ]
        for _ in range(draws)
    ]
    # signs, given the sizes: entries of spherical noise share their length
    independent_signs(np.array(rows), lags=(1,))


@pytest.mark.parametrize(("make", "shape"), thinned(_NOISES, [(8, 8), (3, 4, 4)], of=2))
def test_pure_symmetric_noise_is_a_ball_in_the_frobenius_norm(
    make: Make, shape: tuple[int, ...]
) -> None:
    noise, total, epsilon = make(), np.zeros(shape, dtype=object), 0.7
    d, k = shape[-1], math.prod(shape[:-2])
    q, draws = k * d * (d + 1) // 2, 1120 // (k * d)
    upper = np.triu_indices(d, 1)
    lengths, diagonal, off = [], [], []
    radius = np.sqrt(np.random.default_rng(0).chisquare(q, draws))
    for r in radius:
        out = release_symmetric("m", total, 2.0**30, 0.25, PurePrivacy(epsilon), noise)
        assert out.noise_sd == pytest.approx(2.0**28 * math.sqrt(q + 1) / epsilon, rel=1e-3)
        value = out.value.reshape(k, d, d)
        assert (value == value.transpose(0, 2, 1)).all()
        length = float(np.linalg.norm(value))
        lengths.append(length * epsilon / 2.0**28)
        # a uniform direction with the length of normals is normal, coordinate by coordinate
        direction = value / length * r
        diagonal.append(np.diagonal(direction, axis1=1, axis2=2))
        off.append(direction[:, upper[0], upper[1]])
    gamma_lengths(np.array(lengths), q)
    normal_scale(np.array(off), 1 / math.sqrt(2))
    normal_scale(np.array(diagonal), 1.0)


# --- vectors and counts ---------------------------------------------------------------------------


@_noises
def test_wider_coordinates_have_root_two_times_the_noise(make: Make) -> None:
    noise, total, wider = make(), _whole(5), np.array([True, False, True, False, False])
    rests = []
    for _ in range(1600):
        # a vector without totals, so that floats keep all bits
        out = release_vector("v", 0 * total, 2.0**30, 2.0, Privacy(0.5), noise, wider)
        assert out.noise_sd == pytest.approx(2.0**30 / 0.5 * 2.0)
        rests.append(_rest(out, 0 * total))
    z = np.array(rests)
    for column, wide in zip(z.T, wider, strict=True):
        normal_scale(column, math.sqrt(2) if wide else 1.0)
    independent_signs(z, lags=(1,))


def test_spherical_noise_is_alike_in_all_coordinates() -> None:
    with pytest.raises(ValueError, match="alike"):
        release_vector(
            "v", _whole(2), 2.0**30, 1.0, PurePrivacy(1.0), SeededNoise(1), np.ones(2, dtype=bool)
        )


@_noises
def test_pure_vectors_have_gamma_lengths_and_the_sd_that_is_stated(make: Make) -> None:
    q, draws = 5, 440
    noise, total = make(), np.zeros(q, dtype=object)
    out = [
        release_vector("v", total, 2.0**30, 2.0**-9, PurePrivacy(3.0), noise) for _ in range(draws)
    ]
    gamma_lengths(np.array([np.linalg.norm(r.value) * 3.0 / 2.0**21 for r in out]), q)
    # E |v|^2 = q (q + 1): what is stated per coordinate
    assert out[0].noise_sd == pytest.approx(2.0**21 / 3.0 * math.sqrt(q + 1), rel=1e-3)


@_noises
@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 4.0])
def test_counts_have_the_laplace_scale_of_their_sensitivity(make: Make, epsilon: float) -> None:
    noise, total, scale = make(), _whole(3000) // 3**45, 4.0 / epsilon
    out = release_counts("c", total, 4.0, 0.25, PurePrivacy(epsilon), noise)
    drawn = np.array([int(k) for k in out.value / 0.25]) - total.astype(int)
    # of geometric variables max(X, -1 - X); for a large scale their sum is that of the reals
    whole = np.maximum(drawn, -1 - drawn)
    law = stats.nbinom(3000, -math.expm1(-1 / scale))
    assert law.ppf(5e-9) <= whole.sum() <= law.isf(5e-9)
    if scale > 100:
        laplace_scale(drawn, scale)
    for wrong in (0.7, 1.3):
        other = stats.nbinom(3000, -math.expm1(-1 / (wrong * scale)))
        low, high = other.ppf(5e-9), other.isf(5e-9)
        assert law.cdf(high) - law.cdf(low - 1) < 1e-7
        assert not low <= whole.sum() <= high
    # the statement is that of the reals: never below the truth, and near it where noise is
    exact = 1 / (math.sqrt(2) * math.sinh(1 / (2 * scale)))
    assert exact <= out.noise_sd / 0.25 <= exact * (1 + 1 / (20 * scale**2))


# --- budgets, integers and the grid ---------------------------------------------------------------


def test_a_budget_too_large_for_the_lattice_is_not_used_up() -> None:
    total = np.zeros(3, dtype=int).astype(object)
    out = release_vector("v", total, 5.0, 1.0, Privacy(100.0), SeededNoise(1))
    assert out.noise_sd == SMALLEST_SD
    assert out.cost.mu == pytest.approx(5 / SMALLEST_SD)


@pytest.mark.parametrize("mu", [1.0, 4.7, 1e4, 1e9])
@pytest.mark.parametrize("isometric", [True, False])
def test_matrices_find_their_smallest_noise_at_every_budget(mu: float, isometric: bool) -> None:
    total = np.zeros((3, 3), dtype=object)
    out = release_symmetric("m", total, 4e3, 1.0, Privacy(mu), SeededNoise(1), isometric=isometric)
    assert out.noise_sd * (1 - 1e-9) <= 4e3 / out.cost.mu <= out.noise_sd
    assert out.cost.mu <= mu


@pytest.mark.parametrize(
    ("sensitivity", "cost"),
    [
        (math.nan, Privacy(1.0)),
        (-1.0, Privacy(1.0)),
        (2.0**30, Privacy(math.nan)),
        (2.0**30, Privacy(-1.0)),
        (2.0**30, ApproximatePrivacy(1.0, 1e-5)),
        (math.nan, PurePrivacy(1.0)),
        (2.0**30, PurePrivacy(math.nan)),
    ],
)
def test_what_is_no_number_does_not_pass_for_small_noise(sensitivity: float, cost: Any) -> None:
    for call in (release_vector, release_symmetric):
        with pytest.raises(ValueError, match="number"):
            call("v", _whole(3, 3), sensitivity, 1.0, cost, NonPrivateSilence())
    if isinstance(cost, PurePrivacy):
        with pytest.raises(ValueError, match="noise beyond"):
            release_counts("c", _whole(3), sensitivity, 1.0, cost, SeededNoise(1))


_FALSE: list[Callable[[Any], Any]] = [
    float,
    np.float64,
    np.int64,
    lambda k: k + 0.0,
    lambda k: Fraction(k, 3),
]


@pytest.mark.parametrize("false", _FALSE)
@pytest.mark.parametrize("where", ["total", "noise"])
def test_nothing_but_integers_is_released(false: Callable[[Any], Any], where: str) -> None:
    """A float among the totals, or in the noise, is an error of this package and stops the call."""

    def odd(size: int) -> np.ndarray:
        out = np.zeros(size, dtype=object)
        out[size // 2] = false(5)
        return out

    class Spoiled(NonPrivateSilence):
        def integers(self, sd: float, size: int) -> Any:
            return odd(size)

        def laplace(self, scale: float, size: int) -> Any:
            return odd(size)

        def spherical(self, sensitivity: float, weights: Any, epsilon: float) -> Any:
            return odd(len(weights)), 1.0

    noise = Spoiled() if where == "noise" else NonPrivateSilence()
    vector = odd(4) if where == "total" else np.zeros(4, dtype=object)
    matrix = vector.reshape(2, 2)
    for cost in (Privacy(1.0), PurePrivacy(1.0)):
        with pytest.raises(TypeError, match="integers"):
            release_vector("v", vector, 2.0**30, 1.0, cost, noise)
        with pytest.raises(TypeError, match="integers"):
            release_symmetric("m", matrix, 2.0**30, 1.0, cost, noise)
    with pytest.raises(TypeError, match="integers"):
        release_counts("c", vector, 2.0, 1.0, PurePrivacy(1.0), noise)


def test_integers_beyond_64_bits_are_added_exactly() -> None:
    total = np.array([3 * 2**70 + 1, -(2**69)], dtype=object)
    first = release_vector("v", total, 2.0**20, 1.0, Privacy(1.0), SeededNoise(9))
    second = release_vector("v", 0 * total, 2.0**20, 1.0, Privacy(1.0), SeededNoise(9))
    assert first.value[0] == float(3 * 2**70 + 1 + int(second.value[0]))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.lists(st.integers(-(2**90), 2**90), min_size=3, max_size=3),
    st.floats(1e-12, 1e12),
    st.sampled_from([Privacy(1.0), PurePrivacy(1.0)]),
    st.integers(0, 10**6),
)
def test_released_values_are_rounded_once_from_an_integer_of_steps(
    whole: list[int], unit: float, cost: Any, seed: int
) -> None:
    total = np.array([[whole[0], whole[1]], [whole[1], whole[2]]], dtype=object)
    for release in (release_vector, release_symmetric, release_counts):
        if release is release_counts and not isinstance(cost, PurePrivacy):
            continue
        out, bare = (
            release("v", t, 2.0**24, unit, cost, SeededNoise(seed)).value
            for t in (total, 0 * total)
        )
        # the noise of the seed, read off zeros, is added to the total before anything is rounded
        drawn = np.array([round(v / unit) for v in bare.ravel()], dtype=object)
        expected = [float(int(k)) * unit for k in total.ravel() + drawn]
        assert out.ravel().tolist() == expected


def test_a_total_that_is_not_symmetric_is_not_released() -> None:
    total = np.array([[1, 5], [0, 1]], dtype=object)
    for cost in (Privacy(1.0), PurePrivacy(1.0)):
        with pytest.raises(ValueError, match="symmetry"):
            release_symmetric("m", total, 1.0, 1.0, cost, SeededNoise(1))
