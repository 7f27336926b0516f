"""Whitening and sums do not depend on order, blocks or threads, to the last bit."""

import math
from fractions import Fraction

import numpy as np
import pytest

from dpstats.mechanism.lattice import (
    ExactMatrix,
    ExactSum,
    Grid,
    exact_gram,
    exact_product,
    scaled_product,
)


def _setting(d: int, n: int = 1500) -> tuple[np.ndarray, np.ndarray, ExactMatrix]:
    rng = np.random.default_rng(d)
    size = 10.0 ** rng.uniform(-6, 6, d)
    x = rng.normal(size=(n, d)) * size
    matrix = np.linalg.inv(np.cov(x.T).reshape(d, d) + np.diag(size**2)) * size
    return x, matrix, ExactMatrix.split(matrix, size)


@pytest.mark.parametrize("d", [1, 2, 7, 20, 65, 130])
def test_a_row_gets_the_same_bits_in_any_block(d: int) -> None:
    x, _, prepared = _setting(d)
    whole = exact_product(x, prepared)
    for size in (1, 7, 777):
        parts = [exact_product(x[a : a + size], prepared) for a in range(0, len(x), size)]
        assert (np.concatenate(parts, axis=1) == whole).all()
    order = np.random.default_rng(0).permutation(len(x))
    assert (exact_product(np.asfortranarray(x[order]), prepared) == whole[:, order]).all()


@pytest.mark.parametrize("d", [1, 7, 65])
def test_products_are_as_accurate_as_floats_need(d: int) -> None:
    x, matrix, prepared = _setting(d)
    expected = (x @ matrix).T
    size = np.abs(x) @ np.abs(matrix)
    assert (np.abs(exact_product(x, prepared) - expected) <= 1e-9 * size.T).all()
    product, exponent = scaled_product(x, prepared)
    assert (np.abs(np.ldexp(product, exponent) - expected) <= 1e-9 * size.T).all()


@pytest.mark.parametrize("size", [1e-300, 1e-30, 1e30, 1e305])
def test_rows_of_extreme_size_neither_overflow_nor_depend_on_the_block(size: float) -> None:
    x, matrix, prepared = _setting(5)
    rows = x * (size / np.abs(x).max())
    product, exponent = scaled_product(rows, prepared)
    assert np.isfinite(product).all()
    alone = [scaled_product(row[None], prepared) for row in rows[:50]]
    assert all((p[:, 0] == product[:, i]).all() for i, (p, _) in enumerate(alone))
    scaled = rows * np.ldexp(1.0, -exponent)[:, None]
    assert np.allclose(product, (scaled @ matrix).T, rtol=1e-8, atol=1e-8 * np.abs(matrix).max())


@pytest.mark.parametrize("n", [1, 1000, 10**5, 10**7, 10**10])
def test_sums_of_products_stay_within_float_integers(n: int) -> None:
    grid = Grid.for_rows(n)
    assert grid.rows * grid.steps**2 <= 2**52


def test_exact_sums_do_not_overflow() -> None:
    total = ExactSum((2,))
    for _ in range(5000):
        total.add(np.array([2.0**52, -(2.0**52) + 1]))
    assert total.value().tolist() == [5000 * 2**52, 5000 * (1 - 2**52)]


@pytest.mark.parametrize("b", [1, 255, 256, 1000, 2**14])
@pytest.mark.parametrize("n", [1000, 10**6])
def test_sums_of_products_are_those_of_integers(n: int, b: int) -> None:
    grid = Grid.for_rows(n)
    rng = np.random.default_rng(b)
    # no entry is smaller than the largest by more than a few steps: sums end in odd digits
    rows = float(grid.steps) - rng.integers(0, 9, (2, b))
    other = float(grid.steps) - rng.integers(0, 9, (3, b))
    exact = [[sum(int(p) * int(q) for p, q in zip(x, y, strict=True)) for y in other] for x in rows]
    assert exact_gram(rows, grid.rows, other).tolist() == exact
    assert (exact_gram(rows, grid.rows) == exact_gram(rows, grid.rows, rows)).all()


@pytest.mark.parametrize("b", [1, 511, 513, 2**14])
@pytest.mark.parametrize("d", [1, 2, 7, 30, 31])
@pytest.mark.parametrize("n", [1000, 10**6])
def test_sums_of_squares_are_those_of_integers_however_many_columns(n: int, d: int, b: int) -> None:
    grid = Grid.for_rows(n)
    rows = float(grid.steps) - np.random.default_rng(b).integers(0, 9, (d, b))
    whole = rows.astype(np.int64)
    assert (exact_gram(rows, grid.rows) == whole @ whole.T).all()


@pytest.mark.parametrize("size", [2**15, 2**21 - 9, 2**21, 2**21 + 9])
@pytest.mark.parametrize("d", [1, 3, 40])
def test_many_columns_are_added_up_at_once_only_where_floats_hold_their_sums(
    size: int, d: int
) -> None:
    """2^11 squares of 2^21 are 2^53."""
    rng = np.random.default_rng(size)
    rows = (size - rng.integers(0, 2, (d, 2**11))) * rng.choice([-1.0, 1.0], (d, 1))
    whole = rows.astype(np.int64)
    assert (exact_gram(rows, Grid.for_rows(1000).rows) == whole @ whole.T).all()


def test_exact_sums_of_integers_do_not_overflow() -> None:
    total = ExactSum((1,))
    for _ in range(100):
        total.add(np.array([2**59 - 1]))
    assert total.value().tolist() == [100 * (2**59 - 1)]
    for _ in range(100):
        total.add(np.array([1 - 2**59]))
    assert total.value().tolist() == [0]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_or_has_another_shape_is_not_summed(value: float) -> None:
    total = ExactSum((2,))
    for bad in (
        np.array([1.0, value]),
        np.array([1.0]),
        np.array([2**60, 1]),
        np.array([-(2**63), 0]),
    ):
        with pytest.raises(ArithmeticError, match="whole numbers"):
            total.add(bad)
    assert total.value().tolist() == [0, 0]


@pytest.mark.parametrize("d", [1, 3, 13, 60])
def test_a_coarse_matrix_gives_exact_products_of_rounded_rows(d: int) -> None:
    rng = np.random.default_rng(d)
    units = np.ldexp(1.0, rng.integers(-20, 20, d))
    matrix = ExactMatrix.coarse(rng.normal(size=(d, d + 1)) / units[:, None], units)
    rows = rng.uniform(-250, 250, (500, d)) * units
    step = matrix.unit * 2.0 ** (8 - matrix.bits)
    whole = np.rint(rows / step)
    product = exact_product(rows, matrix)
    for k in range(d + 1):
        weights = [Fraction(float(v)) for v in matrix.high[:, k] * step]
        for i in range(0, 500, 50):
            exact = sum(int(v) * w for v, w in zip(whole[i], weights, strict=True))
            assert Fraction(float(product[k, i])) == exact
    some = [exact_product(rows[a : a + 77], matrix) for a in range(0, 500, 77)]
    assert (np.concatenate(some, axis=1) == product).all()


def test_a_coarse_matrix_is_near_and_says_what_it_loses() -> None:
    rng = np.random.default_rng(0)
    wanted = rng.normal(size=(9, 4))
    matrix = ExactMatrix.coarse(wanted, np.ones(9))
    assert (np.abs(matrix.high - wanted) <= 2.0**-16 * np.abs(wanted).max(axis=0)).all()
    rows = rng.uniform(-4, 4, (10_000, 9))
    loss = (exact_product(rows, matrix) - (rows @ matrix.high).T).std(axis=1)
    assert np.abs(loss * np.sqrt(3) / matrix.lost() - 1).max() < 0.1
    assert (matrix.lost() < 1e-5).all()
