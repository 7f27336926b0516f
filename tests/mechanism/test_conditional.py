"""Rounding to a lattice is exact where it must be, coins are fair, and a refusal shows nothing."""

import math
import secrets
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

from dpstats.accounting.privacy import Privacy
from dpstats.mechanism.conditional import (
    WIDENED,
    frequent_threshold,
    lattice_unit,
    on_lattice,
    ratio_on_lattice,
    release_frequent,
    release_if_safe,
)
from dpstats.mechanism.noise import SecureNoise, SeededNoise
from tests.mechanism.laws import fair_signs
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
    assert unit * math.sqrt(size) <= 1e-9 * sensitivity * (1 + 1e-12)
    assert unit * math.sqrt(size) >= 0.49e-9 * sensitivity
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


_TOSSES = 40_000


def _ends(p: float, tosses: int) -> tuple[float, float]:
    """Heads outside of these have probability 2e-8 at most."""
    law = stats.binom(tosses, min(p, 1.0))
    return float(law.ppf(1e-8)), float(law.isf(1e-8))


@pytest.mark.parametrize("noise", [SecureNoise(), SeededNoise(3)], ids=["secure", "seeded"])
@pytest.mark.parametrize("p", [0.0625, 0.1, 1 / 3, 0.5, 0.7, 0.9])
def test_a_coin_has_its_probability_and_no_other(
    noise: SecureNoise | SeededNoise, p: float
) -> None:
    heads = sum(noise.coin(p) for _ in range(_TOSSES))
    low, high = _ends(p, _TOSSES)
    assert low <= heads <= high
    law = stats.binom(_TOSSES, p)
    for wrong in (0.7 * p, 1.3 * p, 1 - 0.7 * (1 - p), 1 - 1.3 * (1 - p)):
        if not 0 < wrong < 1:
            continue
        low, high = _ends(wrong, _TOSSES)
        assert law.cdf(high) - law.cdf(low - 1) < 1e-7, "more tosses are needed"
        assert not low <= heads <= high


@pytest.mark.parametrize("noise", [SecureNoise(), SeededNoise(4)], ids=["secure", "seeded"])
@pytest.mark.parametrize("p", [2.0**-60, 5e-324, 1 - 2.0**-53, 0.0, 1.0])
def test_rare_sides_of_a_coin_are_rare(noise: SecureNoise | SeededNoise, p: float) -> None:
    # a seeded coin has 53 bits: 2^-53 a toss at most for what is less; all tosses below 1e-11
    heads = sum(noise.coin(p) for _ in range(_TOSSES))
    assert heads == round(p) * _TOSSES


class _Counter:
    """Outcomes of the generator one after the other; counts how far it came."""

    def __init__(self, first: int) -> None:
        self.next, self.sizes = first, set[int]()

    def __call__(self, size: int) -> int:
        self.sizes.add(size)
        self.next += 1
        return self.next - 1


@pytest.mark.parametrize("p", [3 * 2.0**-1074, 5 * 2.0**-80, 1 - 3 * 2.0**-53, 1 - 2.0**-20])
def test_a_secure_coin_wins_on_exactly_as_many_outcomes_as_it_should(
    p: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = Fraction(p)
    edge = part.numerator
    first = max(edge - 40, 0)
    counter = _Counter(first)
    monkeypatch.setattr(secrets, "randbelow", counter)
    sides = [SecureNoise().coin(p) for _ in range(80)]
    assert sides == [k < edge for k in range(first, first + 80)]
    assert counter.sizes == {part.denominator}


@pytest.mark.parametrize("noise", [SecureNoise(), SeededNoise(8)], ids=["secure", "seeded"])
def test_coins_know_nothing_of_each_other_or_of_the_noise(
    noise: SecureNoise | SeededNoise,
) -> None:
    rows = [(noise.coin(0.5), *noise.integers(2.0**20, 1), noise.coin(0.25)) for _ in range(3000)]
    table = np.array(rows, dtype=float) - [0.5, 0.0, 0.25]
    assert fair_signs(table[:, 0] * table[:, 2])
    assert fair_signs(table[:, 0] * table[:, 1])
    assert fair_signs(table[1:, 0] * table[:-1, 0])
    assert fair_signs(table[1:, 0] * table[:-1, 1])
    assert fair_signs(table[:, 1] * table[:, 2])
    assert fair_signs(table[1:, 0] * table[:-1, 2])


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


@pytest.mark.parametrize("sd", [1e-3, 1.0, 40.0, 1e6])
@pytest.mark.parametrize("chance", [0.4, 1e-3, 1e-8, 1e-200])
def test_a_name_of_one_row_is_shown_with_no_larger_a_chance(sd: float, chance: float) -> None:
    least = frequent_threshold(sd, chance)
    assert stats.norm.logsf((least - 1) / sd) <= math.log(chance)
    assert frequent_threshold(sd, 0.0) == math.inf


def test_names_above_the_threshold_are_released_and_nothing_of_the_others() -> None:
    counts = {"rare": 1, "b": 10**6, "one more": 2, "a": 10**5}
    found, names = release_frequent("levels", counts, 1e-6, Privacy(1.0), NonPrivateSilence())
    assert names == ("a", "b")
    assert found.value.tolist() == [1e5, 1e6]
    assert found.sensitivity == math.sqrt(2)
    assert found.noise_sd == pytest.approx(math.sqrt(2), rel=1e-9)
    least = frequent_threshold(found.noise_sd, 1e-6)
    for count in (math.floor(least), math.ceil(least)):
        shown = release_frequent("levels", {"x": count}, 1e-6, Privacy(1.0), NonPrivateSilence())
        assert shown[1] == (("x",) if count > least else ())
    nothing, none = release_frequent("levels", {}, 1e-6, Privacy(1.0), SecureNoise())
    assert (nothing.value.size, none) == (0, ())


def test_names_and_their_counts_are_as_private_as_is_stated() -> None:
    """Neighbours of which each has a name of its own, at every epsilon, by integrating the laws.

    An outcome is whether "own" is shown, and a count of "both", which the row that is replaced changes.
    """
    mu, chance = 1.3, 0.02
    found, _ = release_frequent("levels", {"x": 1}, chance, Privacy(mu), NonPrivateSilence())
    sd, own = (
        found.noise_sd,
        1 - stats.norm.cdf((frequent_threshold(found.noise_sd, chance) - 1) / found.noise_sd),
    )
    at = np.linspace(-12 * sd, 12 * sd, 40001)
    width = at[1] - at[0]
    one, other = (stats.norm.pdf(at, centre, sd) * width for centre in (0.0, math.sqrt(2)))
    for epsilon in (0.0, 0.5, 2.0, 5.0):
        stated = Privacy(mu, chance).delta(epsilon)
        unseen = np.maximum((1 - own) * (one - math.exp(epsilon) * other), 0).sum()
        assert own + unseen <= stated + 1e-9
        only_the_other = np.maximum(one - math.exp(epsilon) * (1 - own) * other, 0).sum()
        assert only_the_other <= stated + 1e-9
