"""Products of rows are exact sums: no order of the coordinates changes a bit of them."""

from __future__ import annotations

import numpy as np
import pytest

from dpstats.mechanism.grid import ExactMatrix, exact_product, scaled_product


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
