"""Products of rows are exact sums, and coins of the noise have exact probabilities."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpstats.mechanism import ball as spherical
from dpstats.mechanism.ball import SphericalLaw
from dpstats.mechanism.lattice import ExactMatrix, exact_product, scaled_product


@pytest.mark.parametrize("d", [2, 5, 16, 40])
@pytest.mark.parametrize("coarse", [False, True])
def test_the_order_of_coordinates_changes_no_bit(d: int, coarse: bool) -> None:
    """Entries are as large as they may be, so that no bit is to spare."""
    rng = np.random.default_rng(d)
    rows = rng.uniform(-511.0, 511.0, (400, d))
    matrix = rng.normal(size=(d, 3)) + 1.0
    make = ExactMatrix.coarse if coarse else ExactMatrix.split
    found = exact_product(rows, make(matrix, np.ones(d)))
    for order in [np.arange(d)[::-1], *(rng.permutation(d) for _ in range(5))]:
        again = exact_product(rows[:, order], make(matrix[order], np.ones(d)))
        assert (found == again).all()
    one_by_one = np.zeros_like(found)
    prepared = make(matrix, np.ones(d))
    for k, row in enumerate(rows):
        one_by_one[:, k] = exact_product(row[None, :], prepared)[:, 0]
    assert (found == one_by_one).all()


def test_the_order_of_coordinates_changes_no_bit_of_rows_of_any_size() -> None:
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(200, 7)) * 2.0 ** rng.integers(-300, 300, (200, 1))
    matrix, order = rng.normal(size=(7, 3)), rng.permutation(7)
    product, exponent = scaled_product(rows, ExactMatrix.split(matrix, np.ones(7)))
    permuted = ExactMatrix.split(matrix[order], np.ones(7))
    again, same = scaled_product(rows[:, order], permuted)
    assert (product == again).all()
    assert (exponent == same).all()


def test_a_point_of_a_ball_is_kept_with_the_probability_that_makes_it_uniform(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Q - q/2 of the proof, as an exact fraction: coins that fail are tries that begin anew."""
    ball, level = SphericalLaw(np.array([3.0, 1.5]), 1, 2.0, 1.0), 4
    tries = iter([[30, 1], [10, -3], [-6, 4], [11, 2]])  # the first lies outside
    asked: list[Fraction] = []

    def coin(x: Fraction) -> bool:
        asked.append(x)
        return len(asked) == 3

    given: list[int] = []

    def integers(sd: float, size: int) -> np.ndarray:
        if not given:
            given.extend(next(tries))
        # coordinates come in the order of their steps, 1.5 before 3
        assert sd == level * (1.5 if len(given) == 2 else 3.0)
        return np.array([given.pop() for _ in range(size)])

    monkeypatch.setattr(spherical, "_geometric_sum", lambda *_: level)
    monkeypatch.setattr(spherical, "happens", lambda *_: True)
    monkeypatch.setattr(spherical, "happens_exp", coin)
    drawn = spherical.exact_draw(ball, integers, integers)
    assert drawn.tolist() == [11, 2]
    kept = [(10, -3), (-6, 4), (11, 2)]
    squares = [Fraction(a * a, 144) + Fraction(b * b, 36) for a, b in kept]
    assert asked == [(2 - square) / 2 for square in squares]
