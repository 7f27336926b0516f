"""The search for a column's scale: by exact counts it finds it, by wrong ones it ends all the same."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpstats.column_search.releases import Question
from dpstats.column_search.scales import ENOUGH
from dpstats.column_search.search import (
    MOST,
    ColumnScale,
    SoFar,
    float_at,
    order,
    search,
)
from tests.grids import thinned

Floats = np.ndarray
Answer = Callable[[Question], tuple[float, float]]
_N = 20_000


def _found(
    answer: Answer,
    used: float,
    box: tuple[float, float] | None = None,
    *,
    closely: bool = False,
) -> tuple[ColumnScale, float]:
    """What a search finds, and the price of its questions."""
    asking, price = search(0, used, box, closely=closely), 0.0
    question = next(asking)
    while True:
        assert question.point in question.ahead, "what is asked is counted"
        assert (np.diff(question.ahead) > 0).all(), "points rise"
        price += question.price
        assert price < 400, "a search ends"
        try:
            question = asking.send(answer(question))
        except StopIteration as end:
            return end.value, price


def _counted(values: Floats, noise: float = 0.0, seed: int = 0) -> Answer:
    """Counts of these values, with noise of so many rows at the price of a plain question."""
    rng = np.random.default_rng(seed)

    def answer(question: Question) -> tuple[float, float]:
        at = values if question.about is None else np.abs(values - question.about)
        sd = noise / math.sqrt(question.price)
        return float((at <= question.point).sum()) + sd * rng.normal(), sd

    return answer


def test_what_was_found_is_known_where_a_search_is_broken_off() -> None:
    """Of a column of which most values are alike that they are, and not that its scale is 1."""
    values = np.where(np.arange(_N) < 600, 500.0, 0.0)
    so_far, answer = SoFar(), _counted(values)
    asking = search(0, _N, so_far=so_far)
    question = next(asking)
    while question.about is None:
        assert so_far.found == ColumnScale(0.0, 1.0)
        question = asking.send(answer(question))
    assert so_far.found == ColumnScale(0.0, None)


def _columns() -> dict[str, Floats]:
    rng = np.random.default_rng(1)
    z = rng.normal(size=_N)

    def dummy(share: float) -> Floats:
        return (rng.random(_N) < share).astype(float)

    return {
        "normal": z,
        "shifted by 1e6 standard deviations": 1e6 + z,
        "far below zero": -5e4 + z,
        "year": rng.integers(1990, 2021, _N).astype(float),
        "lognormal": np.exp(2 * z),
        "coin": dummy(0.5),
        "dummy of 5 %": dummy(0.05),
        "dummy of 1 %": dummy(0.01),
        "dummy of 95 %": dummy(0.95),
        "codes 1 and 2": 1 + dummy(0.5),
        "codes 1 and 2, few": 1 + dummy(0.1),
        "Cauchy": rng.standard_cauchy(_N),
        "zero-inflated": np.where(rng.random(_N) < 0.6, 0.0, np.exp(z)),
        "some zeros": np.where(rng.random(_N) < 0.2, 0.0, np.exp(z)),
        "negative": -np.exp(z),
    }


_COLUMNS = _columns()


@pytest.mark.parametrize("unit", [1.0, 1e-12, 1e12])
@pytest.mark.parametrize("name", _COLUMNS)
def test_exact_counts_show_location_and_scale(name: str, unit: float) -> None:
    values = _COLUMNS[name] * unit
    found, price = _found(_counted(values), _N)
    assert found.scale is not None
    sd, middle = float(values.std()), float(np.median(values))
    far = np.abs(values - found.location) > 8 * found.scale
    assert far.mean() <= 0.025, "next to all rows lie within eight scales"
    most = float(np.ptp(np.quantile(values, [0.02, 0.98]))) or sd
    assert 0.02 * min(sd, most) < found.scale < 8 * max(sd, float(np.ptp(values)) / 8)
    assert abs(found.location - middle) <= 3 * found.scale
    assert price + 2 <= ENOUGH * MOST, "no search by itself is broken off"


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", _COLUMNS)
def test_noisy_counts_show_them_as_well(name: str, seed: int) -> None:
    """At noise of one row of a hundred, as at the least budget.

    A count must be wrong by ten standard deviations to mislead a search here by a factor of four;
    the seeds are fixed.
    """
    values = _COLUMNS[name]
    exact, _ = _found(_counted(values), _N)
    found, _ = _found(_counted(values, 0.01 * _N / 4, seed), _N)
    assert exact.scale is not None
    if name == "dummy of 1 %":
        assert found.scale is None or found.scale > 0.1  # noise may hide so few rows
        return
    assert found.scale is not None
    assert abs(found.location - exact.location) < 2 * exact.scale
    assert 1 / 4 < found.scale / exact.scale < 4


def test_a_constant_has_a_location_and_no_scale() -> None:
    for value in (0.0, 3.0, -1e9, 1e-7):
        found, _ = _found(_counted(np.full(_N, value), 1.0), _N)
        assert found.scale is None
        assert found.location == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize(("name", "power"), thinned(list(_COLUMNS), [-40, -7, 3, 40], of=3))
def test_powers_of_two_change_nothing_but_the_unit(name: str, power: int) -> None:
    """In another unit brackets are halved elsewhere, and end at most one halving apart."""
    one, _ = _found(_counted(_COLUMNS[name]), _N)
    two, _ = _found(_counted(_COLUMNS[name] * 2.0**power), _N)
    assert one.scale is not None
    assert two.scale is not None
    assert 1 / 2 < two.scale / one.scale / 2.0**power < 2
    assert abs(two.location - one.location * 2.0**power) <= two.scale


def test_a_mirrored_column_has_a_mirrored_location() -> None:
    for name, values in _COLUMNS.items():
        one, two = (_found(_counted(side * values), _N)[0] for side in (1.0, -1.0))
        assert one.scale is not None, name
        assert two.scale is not None, name
        assert 1 / 2 < two.scale / one.scale < 2, name
        assert abs(two.location + one.location) <= 2 * one.scale, name


@pytest.mark.parametrize("rough", [-250, -200, 0])
@pytest.mark.parametrize("size", [1.0, 50.0, -1.0])
def test_few_values_are_looked_at_closely(size: float, rough: float) -> None:
    """However rough the count of all rows is: as many as have the value that most have, or fewer."""
    values = np.where(np.arange(_N) < 250, size, 0.0)
    for seed in range(3):
        found, price = _found(_counted(values, 80.0, seed), _N + rough, closely=True)
        assert found.scale is not None
        assert 0.6 < found.scale / abs(size) < 1.6
        assert found.mark == (abs(size) == 1)
        assert 0.7 < found.others * _N / 250 < 1.3
        assert price + 2 <= ENOUGH * MOST or not found.mark
    declared, less = _found(_counted(values, 80.0), _N + rough, (0, 1), closely=True)
    assert less <= price
    assert declared.scale == 1


@pytest.mark.parametrize("box", [(-1.0, 1.0), (0.0, 100.0), (1900.0, 2100.0), (-1e9, 1e9)])
def test_declared_limits_save_questions_and_change_little(box: tuple[float, float]) -> None:
    for name in ("year", "normal", "coin", "shifted by 1e6 standard deviations"):
        values = np.clip(_COLUMNS[name], *box)
        plain, price = _found(_counted(values, 1.0), _N)
        found, less = _found(_counted(values, 1.0), _N, box)
        assert less <= price + 2
        assert (found.scale is None) == (plain.scale is None)
        if found.scale is not None and plain.scale is not None:
            assert 1 / 2 < found.scale / plain.scale < 2
            assert abs(found.location - plain.location) < found.scale


_odd = st.one_of(
    st.floats(-1e6, 1e6),
    st.sampled_from([-1e300, 1e300, 0.0, -1.0, float(_N), _N / 4, 3 * _N / 4, _N / 2]),
)
_tiny = float_at(1)


@pytest.mark.slow
@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(
    st.lists(_odd, min_size=1, max_size=90),
    st.floats(1e-3, 1e9),
    st.sampled_from(
        [
            None,
            (0.0, 10.0),
            (5.0, 10.0),
            (-7.0, -2.0),
            (0.0, _tiny),
            (-_tiny, _tiny),
            (0.0, 1e-310),
            (1e300, 1e301),
            (-1e301, 1e301),
        ]
    ),
    st.floats(1.0, 1e9),
    st.booleans(),
)
def test_a_search_ends_with_numbers_whatever_is_answered(
    answers: list[float],
    noise: float,
    box: tuple[float, float] | None,
    used: float,
    closely: bool,
) -> None:
    """Wrong answers cost accuracy: nothing is raised, and nothing goes on for ever."""
    given = iter(answers * 90)
    found, _ = _found(lambda _: (next(given), noise), used, box, closely=closely)
    assert math.isfinite(found.location)
    # rows are divided by it, and their products are summed
    assert found.scale is None or 2.0**-201 < found.scale < math.inf


@given(st.floats(allow_nan=False), st.floats(allow_nan=False))
@settings(max_examples=300, deadline=None, derandomize=True, database=None)
def test_places_have_the_order_of_floats(one: float, two: float) -> None:
    assert (order(one) < order(two)) == (one < two)
    assert float_at(order(one)) == one
    assert order(-one) == -order(one)


def test_zero_has_one_place_and_neighbours_are_one_apart() -> None:
    assert order(-0.0) == order(0.0) == 0
    for value in (1.0, -3.5, 1e-310, 2.0**200, 0.0):
        assert float_at(order(value) + 1) == np.nextafter(value, math.inf)
        assert float_at(order(value) - 1) == np.nextafter(value, -math.inf)
