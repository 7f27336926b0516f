"""Draws of whole numbers have the masses of their definition, and are kept by exact coins.

A right sampler fails a question with probability below 1e-7.
"""

import math
import secrets
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import opendp.prelude as opendp
import pytest
from numpy.typing import NDArray
from scipy import stats

from dpstats.mechanism import integers
from dpstats.mechanism.integers import draw, draw_one, happens, happens_exp
from dpstats.mechanism.noise import SecureNoise
from tests.mechanism.laws import fits

_SURE = 1e-7
_CASES = [(0.4, 1), (2.0, 1), (6.0, 1), (0.5, 2), (2.3, 2), (7.0, 2)]


def _counts_and_masses(drawn: Any, scale: float, power: int) -> tuple[Any, NDArray[Any]]:
    """Of every value up to where next to nothing is left, and of all beyond in the last."""
    largest = math.ceil(scale * (4 if power == 2 else 9))
    every = np.arange(-40 * largest, 40 * largest + 1)
    masses = np.exp(-((np.abs(every) / scale) ** power) / power)
    ends = np.clip(every, -largest, largest) + largest
    seen = np.clip(np.array([int(k) for k in drawn]), -largest, largest) + largest
    return np.bincount(seen, minlength=2 * largest + 1), np.bincount(ends, masses)


@pytest.mark.parametrize("x", [Fraction(0), Fraction(1, 3), Fraction(1), Fraction(17, 7)])
def test_coin_of_an_exponential(x: Fraction) -> None:
    draws = 8_000
    heads = sum(happens_exp(x) for _ in range(draws))
    assert stats.binomtest(heads, draws, math.exp(-x)).pvalue > _SURE
    heads = sum(happens_exp(x + 3, 2) for _ in range(draws))
    assert stats.binomtest(heads, draws, 4 * math.exp(-x - 3)).pvalue > _SURE


@pytest.mark.parametrize("x", [Fraction(10**30), Fraction(7**60, 3), Fraction(200)])
def test_coin_of_next_to_nothing(x: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    """Falls on the wrong side without a number as long as x; its first 64 bits may be zero."""
    assert not any(happens_exp(x) for _ in range(50))
    assert not happens_exp(x, 30, 0, 64)
    monkeypatch.setattr(secrets, "randbits", lambda _: 0)
    assert happens_exp(Fraction(200))


def test_coin_of_a_fraction() -> None:
    assert happens(3, 3)
    assert not happens(0, 3)
    heads = sum(happens(2, 7) for _ in range(20_000))
    assert stats.binomtest(heads, 20_000, 2 / 7).pvalue > _SURE


def _exactly(x: Fraction, doublings: int) -> Fraction:
    with localcontext(prec=80):
        return Fraction((-Decimal(x.numerator) / x.denominator).exp()) * 2**doublings


@pytest.mark.parametrize(("x", "doublings"), [(Fraction(5, 3), 1), (Fraction(10**6, 10**6 - 1), 0)])
def test_coin_whose_first_bits_are_known(x: Fraction, doublings: int) -> None:
    whole, rest = divmod(_exactly(x, doublings) * 2**64, 1)
    assert all(happens_exp(x, doublings, int(whole) - 1, 64) for _ in range(20))
    assert not any(happens_exp(x, doublings, int(whole) + 1, 64) for _ in range(20))
    heads = sum(happens_exp(x, doublings, int(whole), 64) for _ in range(1000))
    assert stats.binomtest(heads, 1000, float(rest)).pvalue > _SURE


@pytest.mark.parametrize(("scale", "power"), _CASES)
@pytest.mark.parametrize("path", ["floats", "decimals", "many blocks"])
def test_masses_are_those_of_the_definition(
    scale: float, power: int, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if path == "decimals":
        monkeypatch.setattr(integers, "_UNSURE", 2.0)
    if path == "many blocks":
        monkeypatch.setattr(integers, "_BLOCKS", 1)
    drawn = draw(scale, 20_000 if path == "floats" else 3_000, power)
    assert fits(*_counts_and_masses(drawn, scale, power))
    wrong = 1.4 if power == 2 else 1.6
    assert not fits(*_counts_and_masses(draw(wrong * scale, 3_000, power), scale, power))


@pytest.mark.parametrize(("scale", "power"), _CASES)
def test_one_by_one_masses_are_the_same(scale: float, power: int) -> None:
    drawn = [draw_one(Fraction(scale), power) for _ in range(3_000)]
    assert fits(*_counts_and_masses(drawn, scale, power))


@pytest.mark.parametrize(("scale", "power"), [(3.7, 2), (0.4, 1), (2.0**30 / 3, 2), (2.0**57, 1)])
def test_every_try_is_kept_or_refused_as_the_proof_says(
    scale: float, power: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tries from known bits, and each of them again in fractions."""
    rng = np.random.default_rng(8)
    words = rng.integers(0, 2**64, (3, 3008), dtype=np.uint64)
    place, coins, uniform = words
    coins[:900] |= np.uint64(2**14 - 1)  # far out, where few are kept
    uniform[:900] >>= np.uint64(12)
    place[::3] %= np.uint64(3)
    known = words.tobytes()
    monkeypatch.setattr(secrets, "token_bytes", lambda n: known if n == len(known) else bytes(n))
    width = math.floor({1: 0.6932, 2: 1.1775}[power] * scale) + 1
    assert (width / Fraction(scale)) ** power / power >= Fraction(math.log(2)) + Fraction(1, 10**9)
    expected = []
    for j, coin, u in zip(*words.tolist(), strict=True):
        if j >= 2**64 // width * width:
            continue
        block = next(b for b in range(64) if not coin >> b & 1)
        size, negative = block * width + j % width, coin >> 63
        height = _exactly((size / Fraction(scale)) ** power / power, block)
        assert height <= 1
        assert abs(height * 2**64 - u) > 2  # no further bits decide
        if u < height * 2**64 and not (negative and size == 0):
            expected.append(-size if negative else size)
    assert len(expected) > 500
    drawn = draw(scale, 1500, power).tolist()  # by so many tries at first
    assert drawn[: len(expected)] == expected[:1500]


@pytest.mark.parametrize("power", [1, 2])
def test_masses_are_those_that_opendp_draws(power: int) -> None:
    opendp.enable_features("contrib")
    metric = opendp.l1_distance(T="i64") if power == 1 else opendp.l2_distance(T="f64")
    make = opendp.m.make_laplace if power == 1 else opendp.m.make_gaussian
    sampler = make(opendp.vector_domain(opendp.atom_domain(T="i64")), metric, scale=1e6)
    theirs = np.array(sampler([0] * 4_000), dtype=float)
    assert stats.ks_2samp(theirs, draw(1e6, 20_000, power).astype(float)).pvalue > _SURE
    assert stats.ks_2samp(theirs, draw(1.6e6, 20_000, power).astype(float)).pvalue < _SURE


def test_numbers_beyond_64_bits_are_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(integers, "_block", lambda: 40)
    monkeypatch.setattr(integers, "happens_exp", lambda *_: True)
    monkeypatch.setattr(integers, "_BLOCKS", 2)
    drawn = draw(2.0**57, 300, 1).tolist()
    assert max(map(abs, drawn)) > 2**61
    assert all(type(k) is int for k in drawn)


def test_noise_beyond_64_bits_is_not_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise that is cut before it is added would tell totals apart, however rarely."""
    beyond = np.array([2**70, -(2**70), 5], dtype=object)
    monkeypatch.setattr("dpstats.mechanism.noise.draw", lambda *_: beyond)
    assert SecureNoise().integers(2.0**40, 3).tolist() == beyond.tolist()


@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, math.inf, 2.0**58])
def test_scales_that_are_none_are_refused(scale: float) -> None:
    with pytest.raises(ValueError, match="scale"):
        draw(scale, 1, 2)
