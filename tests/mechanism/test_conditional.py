"""Rounding to a lattice is exact where it must be, coins are fair, and a refusal shows nothing."""

import math
import secrets
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

from dpstats.mechanism.conditional import (
    WIDENED,
    lattice_unit,
    on_lattice,
    ratio_on_lattice,
    release_if_safe,
)
from dpstats.mechanism.noise import SecureNoise, SeededNoise
from dpstats.mechanism.privacy import Privacy
from tests.mechanism.sources import NonPrivateSilence

_numbers = st.floats(allow_nan=False, allow_infinity=False)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.floats(1e-290, 1e290), st.integers(1, 5000))
def test_a_lattice_moves_a_vector_by_less_than_what_the_widening_covers(
    sensitivity: float, size: int
) -> None:
    unit = lattice_unit(sensitivity, size)
    assert math.frexp(unit)[0] == 0.5
    # half a unit per coordinate in each of two neighbours
    assert unit * math.sqrt(size) <= 1e-7 * sensitivity * (1 + 1e-12)
    assert unit * math.sqrt(size) >= 0.49e-7 * sensitivity
    assert sensitivity + unit * math.sqrt(size) <= sensitivity * WIDENED


@settings(max_examples=400, deadline=None, derandomize=True)
@given(st.lists(_numbers, min_size=1, max_size=4), st.integers(-300, 300))
@example([1e308, -1e308, 5e-324, -0.0], -30)
@example([0.5, 1.5, 2.5, -0.5], 0)
def test_on_lattice_gives_the_nearest_multiples_exactly(values: list[float], power: int) -> None:
    unit = 2.0**power
    found = on_lattice(np.array(values), unit)
    for value, whole in zip(values, found, strict=True):
        assert type(whole) is int
        exact = Fraction(value) / Fraction(unit)
        if abs(exact) < 2**1023:
            assert abs(exact - whole) <= Fraction(1, 2)
        else:
            assert whole == 0 or abs(exact - whole) <= Fraction(1, 2)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_on_lattice_takes_what_is_not_finite_for_zero(bad: float) -> None:
    found = on_lattice(np.array([[bad, 3.0], [1e308, bad]]), 2.0**-60)
    assert found.tolist() == [0, 3 * 2**60, 0, 0]


_whole = st.one_of(st.integers(-(2**100), 2**100), st.integers(-9, 9))


@settings(max_examples=400, deadline=None, derandomize=True)
@given(_whole, st.integers(1, 2**60), st.floats(1e-300, 1e300))
@example(1, 2, 1.0)
@example(3, 2, 1.0)
@example(-(2**90) - 1, 3, 2.0**-40)
@example(2**53 + 1, 1, 0.1)
def test_ratios_are_rounded_from_exact_fractions(above: int, below: int, unit: float) -> None:
    found = ratio_on_lattice(above, below, unit)
    rest = Fraction(above, below) / Fraction(unit) - found
    assert type(found) is int
    assert abs(rest) < Fraction(1, 2) or (abs(rest) == Fraction(1, 2) and found % 2 == 0)


# --- coins ------------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [0.0, 1.0, 0.5, 0.25, 0.75, 3 / 64, 1 - 2**-10, 1023 / 4096])
def test_a_secure_coin_has_exactly_its_probability(
    p: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    # every outcome of the generator once: they are equally likely
    asked: list[int] = []
    monkeypatch.setattr(secrets, "randbelow", lambda size: asked.append(size) or 0)
    SecureNoise().coin(p)
    (size,) = asked
    assert size <= 2**12
    heads = 0
    for outcome in range(size):
        monkeypatch.setattr(secrets, "randbelow", lambda _, outcome=outcome: outcome)
        heads += SecureNoise().coin(p)
    assert Fraction(heads, size) == Fraction(p)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.floats(0.0, 1.0))
@example(5e-324)
@example(1e-300)
@example(2.0**-1074)
@example(1 - 2.0**-53)
@example(0.1)
@example(0.0)
@example(1.0)
def test_the_last_winning_outcome_of_a_secure_coin_is_where_it_belongs(p: float) -> None:
    part = Fraction(p)
    with pytest.MonkeyPatch.context() as patch:
        for outcome in {0, part.numerator - 1, part.numerator, part.denominator - 1}:
            if not 0 <= outcome < part.denominator:
                continue
            patch.setattr(
                secrets,
                "randbelow",
                lambda size, outcome=outcome: outcome if size == part.denominator else size // 0,
            )
            assert SecureNoise().coin(p) is (outcome < part.numerator)


@pytest.mark.parametrize("noise", [SecureNoise(), SeededNoise(3)], ids=["secure", "seeded"])
@pytest.mark.parametrize("p", [0.0, 2.0**-60, 0.3, 1 - 2.0**-53, 1.0])
def test_coins_fall_as_often_as_they_should(noise: SecureNoise | SeededNoise, p: float) -> None:
    # the binomial tail that raises an alarm has probability 1e-7; sure things must be sure
    count = 4000
    heads = sum(noise.coin(p) for _ in range(count))
    if p in (0.0, 1.0):
        assert heads == p * count
    assert stats.binomtest(heads, count, p).pvalue > 1e-7


def test_seeded_coins_and_noise_repeat() -> None:
    def draws(seed: int) -> list[object]:
        noise = SeededNoise(seed)
        return [
            noise.coin(0.5) if k % 3 else noise.integers(2.0**20, 2).tolist() for k in range(99)
        ]

    assert draws(4) == draws(4)
    assert draws(4) != draws(5)


# --- the release ------------------------------------------------------------------------------


class _Watched(NonPrivateSilence):
    """Notes what it is asked for; tosses the side it was told to."""

    def __init__(self, side: bool) -> None:
        self.side = side
        self.asked: list[tuple[float, int]] = []
        self.coins: list[float] = []

    def integers(self, sd: float, size: int) -> np.ndarray:
        self.asked.append((sd, size))
        return super().integers(sd, size)

    def coin(self, probability: float) -> bool:
        self.coins.append(probability)
        return self.side


@pytest.mark.parametrize("side", [True, False])
def test_a_release_is_all_or_nothing_and_its_noise_is_the_plans(side: bool) -> None:
    noise = _Watched(side)
    unit = 2.0**-24
    tested = release_if_safe(
        "numbers",
        on_lattice(np.array([1.5, -2.25, 0.0]), unit),
        unit,
        probability=0.125,
        noise_sd=0.75,
        sensitivity=0.5,
        cost=Privacy(0.3, 1e-6),
        noise=noise,
    )
    assert tested.passed is side
    assert noise.coins == [0.125]
    # noise is drawn whatever the coin says
    assert noise.asked == [(pytest.approx(0.75 / unit, rel=1e-11), 3)]
    assert noise.asked[0][0] >= 0.75 / unit
    expected = [1.5, -2.25, 0.0] if side else [math.nan] * 3
    assert np.array_equal(tested.release.value, expected, equal_nan=True)
    assert (tested.release.sensitivity, tested.release.step) == (0.5, unit)
    assert tested.release.cost == Privacy(0.3, 1e-6)
    assert tested.release.noise_sd == pytest.approx(0.75, rel=1e-11)
