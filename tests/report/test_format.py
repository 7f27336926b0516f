"""R's own output is the reference; the literals below were printed by R."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpstats.errors import ArgumentError
from dpstats.report.format import (
    LEGEND,
    format_c,
    format_coefficients,
    format_full,
    format_numbers,
    format_pval,
    format_scalar,
    stars,
)

NAN, INF = math.nan, math.inf
finite = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize(
    ("values", "digits", "expected"),
    [
        ([0.15, 2.5, 0.25], 1, ["0.1", "2.5", "0.2"]),
        ([9996.0], 3, ["9996"]),
        ([1.0, None, NAN, INF, -INF], 7, ["   1", "  NA", " NaN", " Inf", "-Inf"]),
        ([99999.5], 5, ["1e+05"]),
        ([99999.5], 6, ["99999.5"]),
        ([0.99999], 3, ["1"]),
        ([-1e-20, 1.0], 7, ["-1e-20", " 1e+00"]),
        ([1e5], 7, ["1e+05"]),
        ([123456789.0], 7, ["123456789"]),
        ([1e5 + 0.1], 7, ["100000.1"]),
        ([-0.0], 7, ["0"]),
        ([NAN], 7, ["NaN"]),
        ([None, None], 7, ["NA", "NA"]),
        ([], 7, []),
        # R reserves a place for a sign even where the widest number has none.
        ([-47.0, 2.1547248522599892e124], 3, [" -4.70e+01", " 2.15e+124"]),
        ([-34.90654454854721, 81.7769519805409, 99999.5], 5, ["   -34.907", "    81.777", " 99999.500"]),
    ],
)  # fmt: skip
def test_format_prints_as_r(values: list[float | None], digits: int, expected: list[str]) -> None:
    assert format_numbers(values, digits) == expected


def test_integers_print_all_digits_and_numpy_counts_as_python() -> None:
    assert format_numbers([100000, None, -5]) == ["100000", "    NA", "    -5"]
    assert format_numbers(np.array([100000, 2])) == ["100000", "     2"]
    assert format_numbers(np.array([0.5, 2.0])) == ["0.5", "2.0"]


def test_numbers_need_not_be_padded() -> None:
    assert format_numbers([2.0, 10.0], pad=False) == ["2", "10"]


@pytest.mark.parametrize("digits", [0, -1, 23])
def test_digits_out_of_range_are_refused(digits: int) -> None:
    with pytest.raises(ArgumentError, match="digits"):
        format_numbers([1.0], digits)


@given(finite)
def test_seventeen_digits_read_back(x: float) -> None:
    assert float(format_scalar(x, 17)) == x
    assert float(format_full(x)) == x


@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=5), st.integers(1, 15))
def test_every_number_keeps_its_leading_digits_where_one_needs_them(
    values: list[float], digits: int
) -> None:
    shown = format_numbers(values, digits)
    assert len({len(s) for s in shown}) == 1
    largest = max(values, key=abs)
    text = shown[values.index(largest)]
    assert float(text) == pytest.approx(largest, rel=0.51 * 10.0 ** (1 - digits))


@pytest.mark.parametrize(
    ("p", "digits", "expected"),
    [
        ([0.00012, 0.5, 1e-20, None, 0.0], 3, ["0.00012", "0.50000", "< 2e-16", "NA", "< 2e-16"]),
        ([0.0, 1e-17], 3, ["<2e-16", "<2e-16"]),
        ([0.0], 5, ["< 2.22e-16"]),
        ([0.0123], 1, ["0.01"]),
        ([0.0, 0.5], 1, ["<2e-16", "0.5"]),
        ([0.0, 0.5], 3, ["<2e-16", "0.5"]),
        ([0.0, 0.5], 5, ["<2e-16", "0.5"]),
        ([NAN, None], 3, ["NA", "NA"]),
        ([], 3, []),
    ],
)
def test_pval_prints_as_r(p: list[float | None], digits: int, expected: list[str]) -> None:
    assert format_pval(p, digits) == expected


def test_stars_give_a_bound_to_the_stronger_mark() -> None:
    p = [0, 0.001, 0.0010001, 0.01, 0.05, 0.1, 1, NAN, None]
    assert stars(p) == ["***", "***", "**", "**", "*", ".", "", "", ""]
    assert LEGEND.isascii()


def test_coefficients_of_cars() -> None:
    shown = format_coefficients(
        [-17.5790948905109, 3.93240875912409],
        [6.75844016937922, 0.41551277665712],
        [-2.60105800037601, 9.46398999020148],
        [0.0123188161533809, 1.48983649629509e-12],
    )
    assert shown.estimate == ["-17.5791", "  3.9324"]
    assert shown.std_error == ["  6.7584", "  0.4155"]
    assert shown.statistic == ["-2.601", " 9.464"]
    assert shown.p_value == ["0.0123", "1.49e-12"]


def test_coefficients_of_mtcars() -> None:
    shown = format_coefficients(
        [37.285126167342, -5.34447157272268],
        [1.87762733731156, 0.559101045066939],
        [19.8575750229168, -9.55904419979466],
        [8.24179888694213e-19, 1.29395870135053e-10],
    )
    assert shown.estimate == ["37.2851", "-5.3445"]
    assert shown.std_error == [" 1.8776", " 0.5591"]
    assert shown.statistic == ["19.858", "-9.559"]
    assert shown.p_value == ["< 2e-16", "1.29e-10"]


def test_coefficients_with_missing_zero_and_tiny_rows() -> None:
    shown = format_coefficients(
        [1.0, None, 2e-9, 0.0], [0.5, None, 1e-10, 0.3], [2.0, None, 20.0, 0.0],
        [0.04, None, 1e-30, 1.0],
    )  # fmt: skip
    assert shown.estimate == ["1e+00", "NA", "2e-09", "0e+00"]
    assert shown.std_error == ["5e-01", "NA", "1e-10", "3e-01"]
    assert [s.strip() for s in shown.statistic] == ["2", "NA", "20", "0"]
    assert shown.p_value == ["0.04", "NA", "<2e-16", "1.00"]


def test_coefficients_with_nan() -> None:
    shown = format_coefficients([1.5, NAN], [0.25, INF], [6.0, NAN], [0.5, NAN])
    assert [s.strip() for s in shown.estimate] == ["1.50", "NaN"]
    assert [s.strip() for s in shown.std_error] == ["0.25", "Inf"]
    assert shown.p_value == ["0.5", "NaN"]


def test_coefficients_of_unequal_length_are_refused() -> None:
    with pytest.raises(ArgumentError, match="differ in length"):
        format_coefficients([1.0], [1.0, 2.0], [1.0], [0.5])


def test_scalars() -> None:
    assert format_scalar(None) == "NA"
    assert format_scalar(2.0) == "2"
    assert [format_c(x, 4) for x in (0.65107938, 89.5671, 2.0, None, -INF)] == [
        "0.6511", "89.57", "2", "NA", "-Inf",
    ]  # fmt: skip


def test_full_precision_of_every_kind() -> None:
    kinds = (np.float64(0.1), np.int64(7), np.bool_(True), False, None, NAN, INF, "a,b")
    assert [format_full(x) for x in kinds] == [
        "0.1", "7", "TRUE", "FALSE", "NA", "NaN", "Inf", "a,b",
    ]  # fmt: skip
