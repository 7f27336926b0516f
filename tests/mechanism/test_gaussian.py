"""Releases carry the noise and the cost that they claim."""

import math

import numpy as np
import pytest

from dpstats.mechanism.gaussian import release_symmetric, release_vector
from dpstats.mechanism.noise import SMALLEST_SD, SeededNoise
from dpstats.mechanism.privacy import Privacy

_ZERO = np.zeros((40, 40), dtype=int).astype(object)


def _parts(isometric: bool) -> tuple[np.ndarray, np.ndarray, float]:
    noise = SeededNoise(4)
    diagonal, off, sd = [], [], 0.0
    for _ in range(60):
        out = release_symmetric("m", _ZERO, 2.0**30, 0.5, Privacy(2.0), noise, isometric=isometric)
        assert (out.value == out.value.T).all()
        diagonal.append(np.diag(out.value))
        off.append(out.value[np.triu_indices(40, 1)])
        sd = out.noise_sd
    return np.concatenate(diagonal), np.concatenate(off), sd


def test_svec_noise_has_sd_on_the_diagonal_and_its_half_variance_off_it() -> None:
    # 2400 and 46800 draws: five standard errors of a standard deviation, false alarm below 1e-6
    diagonal, off, sd = _parts(isometric=True)
    assert sd == pytest.approx(2.0**30 / 2 * 0.5)
    assert diagonal.std() == pytest.approx(sd, rel=5 / math.sqrt(2 * 2400))
    assert off.std() == pytest.approx(sd / math.sqrt(2), rel=5 / math.sqrt(2 * 46800))


def test_the_papers_noise_is_the_same_everywhere() -> None:
    diagonal, off, sd = _parts(isometric=False)
    assert diagonal.std() == pytest.approx(sd, rel=5 / math.sqrt(2 * 2400))
    assert off.std() == pytest.approx(sd, rel=5 / math.sqrt(2 * 46800))


def test_a_budget_too_large_for_the_lattice_is_not_used_up() -> None:
    total = np.zeros(3, dtype=int).astype(object)
    out = release_vector("v", total, 5.0, 1.0, Privacy(100.0), SeededNoise(1))
    assert out.noise_sd == SMALLEST_SD
    assert out.cost.mu == pytest.approx(5 / SMALLEST_SD)


def test_integers_beyond_64_bits_are_added_exactly() -> None:
    total = np.array([3 * 2**70 + 1, -(2**69)], dtype=object)
    first = release_vector("v", total, 2.0**20, 1.0, Privacy(1.0), SeededNoise(9))
    second = release_vector("v", 0 * total, 2.0**20, 1.0, Privacy(1.0), SeededNoise(9))
    assert first.value[0] == float(3 * 2**70 + 1 + int(second.value[0]))


def test_released_values_lie_on_their_grid() -> None:
    total = np.array([12345, -678], dtype=object)
    out = release_vector("v", total, 2.0**20, 2.0**-10, Privacy(1.0), SeededNoise(2))
    assert (out.value / out.step == np.rint(out.value / out.step)).all()
