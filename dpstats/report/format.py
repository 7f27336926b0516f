"""Numbers to text by R's printing rules: the one place of the package where that happens.

R prints a vector with the fewest digits that show its most demanding element to the given number
of significant digits, gives every element the same number of decimals, and takes scientific
notation only where that is narrower. The functions here follow `format`, `format.pval`,
`formatC`, `round` and `printCoefmat` of R, so a table of estimates reads exactly as its
counterpart in R does.

A missing value is ``None`` (printed ``NA``); ``nan`` is a number that is not one (``NaN``).
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, SupportsFloat

from dpstats.errors import ArgumentError

LEGEND = "Signif. codes:  0 '***' 0.001 '**' 0.01 '*' 0.05 '.' 0.1 ' ' 1"
NA = "NA"
DIGITS = 7
"""Significant digits by default: R's ``options(digits = 7)``."""
EPS_PVALUE = 2.220446e-16
"""The p-value below which only "less than" is printed: R's ``.Machine$double.eps``."""

_CUTS = ((0.001, "***"), (0.01, "**"), (0.05, "*"), (0.1, "."))
_MAX_DIGITS = 22  # R's own ceiling; beyond it every double has long been exact
_DOUBLE_DIGITS = 15


@dataclass(frozen=True, slots=True)
class _Style:
    """How every number of one vector is printed."""

    decimals: int
    scientific: bool
    width: int

    def text(self, x: float) -> str:
        if not math.isfinite(x):
            return _non_finite(x)
        x = x or 0.0  # R prints a negative zero without its sign
        return f"{x:.{self.decimals}{'e' if self.scientific else 'f'}}"


class CoefficientColumns(NamedTuple):
    """The printed columns of a table of coefficients."""

    estimate: list[str]
    std_error: list[str]
    statistic: list[str]
    p_value: list[str]


def _non_finite(x: float) -> str:
    if math.isnan(x):
        return "NaN"
    return "Inf" if x > 0 else "-Inf"


def _check_digits(digits: int) -> None:
    if not 1 <= digits <= _MAX_DIGITS:
        raise ArgumentError(f"digits must lie in 1..{_MAX_DIGITS}, not {digits}")


def _floats(values: Iterable[SupportsFloat | None]) -> list[float | None]:
    return [None if v is None else float(v) for v in values]


def _round(x: float, places: int) -> float:
    """R's `round` (since 4.0) for a positive number of places.

    Of the two decimal neighbours the nearer one is taken, and the even one only where both are
    equally near as doubles; Python's own `round` decides on the exact binary value instead.
    """
    if not math.isfinite(x) or x == 0:
        return x
    size = abs(x)
    if places + math.log10(2) * (math.frexp(size)[1] - 0.5) > _DOUBLE_DIGITS:
        return x  # as precise as a double is already: scaling would only add noise
    if places > 300:  # the power of ten would overflow: let the decimal conversion round
        return float(f"{x:.{places}f}")
    power = 10.0**places
    scaled = math.floor(size * power)
    down, up = scaled / power, math.ceil(size * power) / power
    below, above = size - down, up - size
    take_down = below < above or (below == above and scaled % 2 == 0)
    return math.copysign(down if take_down else up, x)


def _scientific(x: float, digits: int) -> tuple[int, int]:
    """The decimal exponent and the significant digits x needs, rounded to at most `digits`."""
    mantissa, exponent = f"{abs(x):.{digits - 1}e}".split("e")
    return int(exponent), max(1, len(mantissa.replace(".", "").rstrip("0")))


def _integer_digits(x: float, exponent: int, digits: int) -> int:
    """Digits left of the point in fixed notation (zero or less for a number below one).

    9996 with three digits is 1e+04, whose exponent promises five digits, but fixed notation
    still prints the four of 9996.
    """
    if not 0 < exponent <= _MAX_DIGITS:
        return exponent + 1
    fuzz = 0.5 / 10.0 ** max(0, digits - exponent)
    return exponent + (0 if abs(x) + fuzz < 10.0**exponent else 1)


def _common_style(values: Iterable[float | None], digits: int) -> _Style:
    """Choose the decimals and the notation for a vector (R's `formatReal`)."""
    finite = [x for x in values if x is not None and math.isfinite(x)]
    if not finite:
        return _Style(0, scientific=False, width=0)
    parts = [_scientific(x, digits) for x in finite]
    lefts = [_integer_digits(x, e, digits) for x, (e, _) in zip(finite, parts, strict=True)]
    needed = max(n - left for left, (_, n) in zip(lefts, parts, strict=True))
    decimals = min(max(0, needed), 350)
    integer = max(max(1, left) + (x < 0) for x, left in zip(finite, lefts, strict=True))
    fixed_width = integer + decimals + (decimals > 0)
    sci_decimals = max(n for _, n in parts) - 1
    long_exponent = any(abs(e) >= 100 for e, _ in parts)
    sci_width = (
        any(x < 0 for x in finite) + 1 + (sci_decimals > 0) + sci_decimals + 4 + long_exponent
    )
    if fixed_width <= sci_width:
        return _Style(decimals, scientific=False, width=fixed_width)
    return _Style(sci_decimals, scientific=True, width=sci_width)


def format_numbers(
    values: Iterable[SupportsFloat | None], digits: int = DIGITS, *, pad: bool = True
) -> list[str]:
    """A vector as R's `format` prints it, padded on the left to a common width where ``pad``.

    ``digits`` are significant digits of the most demanding element. Integers (of Python or NumPy
    alone) are printed with all digits, as in R.

    Examples
    --------
    >>> format_numbers([3.14159265, -200, None])
    ['   3.141593', '-200.000000', '         NA']
    >>> format_numbers([1e-10, 1])
    ['1e-10', '1e+00']
    >>> format_numbers([100000]), format_numbers([100000.0])
    (['100000'], ['1e+05'])
    """
    _check_digits(digits)
    given = list(values)
    present = [v for v in given if v is not None]
    width = 0
    if present and all(isinstance(v, numbers.Integral) for v in present):
        texts = [NA if v is None else str(int(v)) for v in given]  # type: ignore[call-overload]
    else:
        floats = _floats(given)
        style = _common_style(floats, digits)
        texts = [NA if x is None else style.text(x) for x in floats]
        width = style.width  # R reserves a sign's place even where the widest number has none
    width = max([width, *map(len, texts)])
    return [text.rjust(width) for text in texts] if pad else texts


def gaps(values: Iterable[float]) -> list[float | None]:
    """Numbers of which those that are not known are missing, so that they print as NA."""
    return [None if math.isnan(v) else float(v) for v in values]


def format_scalar(x: SupportsFloat | None, digits: int = DIGITS) -> str:
    """One number as R's `format` prints it: so many significant digits, less trailing zeros.

    Examples
    --------
    >>> format_scalar(15.379587, 4), format_scalar(1.4898e-12, 4), format_scalar(2.0)
    ('15.38', '1.49e-12', '2')
    """
    return format_numbers([x], digits, pad=False)[0]


def format_c(x: SupportsFloat | None, digits: int = DIGITS) -> str:
    """One number as R's `formatC` prints it, that is by C's ``%g``.

    R prints R-squared and the F statistic so: it goes to scientific notation only below 1e-4, or
    when there are more integer digits than `digits`.

    Examples
    --------
    >>> format_c(0.65107938, 4), format_c(89.5671, 4), format_c(123456, 4)
    ('0.6511', '89.57', '1.235e+05')
    """
    _check_digits(digits)
    if x is None:
        return NA
    value = float(x)
    return f"{value:.{digits}g}" if math.isfinite(value) else _non_finite(value)


def format_full(x: object) -> str:
    """A value in full, for a file that another program reads.

    The shortest text that reads back as the same double; ``NA``, ``NaN``, ``Inf``, ``TRUE`` and
    ``FALSE`` as R writes and both R and pandas read them.

    Examples
    --------
    >>> [format_full(x) for x in (0.1, 1 / 3, 2, None, float("-inf"), True, "speed")]
    ['0.1', '0.3333333333333333', '2', 'NA', '-Inf', 'TRUE', 'speed']
    """
    if x is None:
        return NA
    if type(x).__name__ in ("bool", "bool_"):  # NumPy's truth value is not Python's
        return "TRUE" if x else "FALSE"
    if isinstance(x, numbers.Integral):
        return str(int(x))
    if isinstance(x, numbers.Real):
        value = float(x)
        return repr(value) if math.isfinite(value) else _non_finite(value)
    return str(x)


def format_pval(p: Iterable[SupportsFloat | None], digits: int = DIGITS - 2) -> list[str]:
    """P-values as R's `format.pval` prints them; ``NA`` stands for None and nan.

    Those of 0.0001 and more share one fixed format, the smaller ones another, each with so many
    digits; of those below `EPS_PVALUE` only that is printed.

    Examples
    --------
    >>> format_pval([0.0123, 1.49e-12], digits=3), format_pval([1e-20, 1.29e-10], digits=3)
    (['0.0123', '1.49e-12'], ['< 2e-16', '1.29e-10'])
    >>> format_pval([0.0], digits=3), format_pval([0.0])
    (['<2e-16'], ['< 2.22e-16'])
    """
    _check_digits(digits)
    given = [math.nan if x is None else x for x in _floats(p)]
    exponents = [math.floor(math.log10(x)) if x > 0 else -50 for x in given]
    coarse = [e >= -3 or (e == -4 and digits > 1) for e in exponents]
    texts: dict[int, str] = {}
    for group in (True, False):
        where = [i for i, x in enumerate(given) if x >= EPS_PVALUE and coarse[i] is group]
        texts |= zip(where, format_numbers([given[i] for i in where], digits), strict=True)
    below = _below_eps(digits, list(texts.values()))
    return [
        NA if math.isnan(x) else below if x < EPS_PVALUE else texts[i] for i, x in enumerate(given)
    ]


def _below_eps(digits: int, others: Sequence[str]) -> str:
    """What is printed below `EPS_PVALUE`: no wider than the p-values beside it, if that can be had."""
    digits = max(1, digits - 2)
    widest = max(map(len, others), default=0)
    if others and digits > 1 and digits + 6 > widest:
        digits = max(1, widest - 7)
    tight = digits == 1 and widest <= 6
    return "<" + ("" if tight else " ") + format_scalar(EPS_PVALUE, digits)


def stars(p: Iterable[SupportsFloat | None]) -> list[str]:
    """R's significance codes (see `LEGEND`); a p-value on a bound has the stronger mark.

    Examples
    --------
    >>> stars([0.001, 0.0123, 0.05, 0.07, 0.5, None])
    ['***', '*', '*', '.', '', '']
    """
    return [
        next((mark for cut, mark in _CUTS if x is not None and x <= cut), "") for x in _floats(p)
    ]


def format_coefficients(
    estimates: Iterable[SupportsFloat | None],
    std_errors: Iterable[SupportsFloat | None],
    statistics: Iterable[SupportsFloat | None],
    p_values: Iterable[SupportsFloat | None],
    digits: int = DIGITS - 3,
) -> CoefficientColumns:
    """The columns of a table of coefficients as R's `printCoefmat` prints and pads them.

    Estimates and standard errors share one format: the smallest of them gets `digits` significant
    digits, as far as that does not cost more decimals than it needs.

    Raises
    ------
    ArgumentError
        If the columns differ in length.

    Examples
    --------
    >>> columns = format_coefficients(
    ...     [-17.579095, 3.932409], [6.758440, 0.415513], [-2.601058, 9.463990], [0.012319, 1.49e-12]
    ... )
    >>> columns.estimate, columns.std_error
    (['-17.5791', '  3.9324'], ['  6.7584', '  0.4155'])
    >>> columns.statistic, columns.p_value
    (['-2.601', ' 9.464'], ['0.0123', '1.49e-12'])
    """
    _check_digits(digits)
    columns = (estimates, std_errors, statistics, p_values)
    estimate, error, tests, p = (_floats(column) for column in columns)
    if {len(column) for column in (error, tests, p)} != {len(estimate)}:
        raise ArgumentError("the columns of a table of coefficients differ in length")
    test_digits = max(1, min(5, digits - 1))
    both = format_estimates(estimate + error, digits)
    return CoefficientColumns(
        both[: len(estimate)],
        both[len(estimate) :],
        _statistic_texts(tests, test_digits, digits),
        _p_value_texts(p, test_digits),
    )


def format_estimates(values: list[float | None], digits: int) -> list[str]:
    """Estimates and standard errors in one format, as R's `printCoefmat` prints and pads them."""
    sizes = [abs(x) for x in values if x is not None and math.isfinite(x) and x != 0]
    smallest = 1 + math.floor(math.log10(min(sizes))) if sizes else 1
    places = max(1, digits - smallest)
    rounded = [None if x is None else _round(x, places) for x in values]
    texts = format_numbers(rounded, digits)
    # Rounding must not turn a small number into a printed zero: such ones get their own format.
    lost = [i for i, x in enumerate(values) if x and not math.isnan(x) and float(texts[i]) == 0]
    own = format_numbers([values[i] for i in lost], max(1, digits - 1))
    for i, text in zip(lost, own, strict=True):
        texts[i] = text
    return _unpad_missing(texts, values)


def _statistic_texts(values: list[float | None], places: int, digits: int) -> list[str]:
    rounded = [None if x is None else _round(x, places) for x in values]
    return _unpad_missing(format_numbers(rounded, digits), values)


def _p_value_texts(values: list[float | None], digits: int) -> list[str]:
    """P-values where nan, unlike in `format_pval`, is distinguished from a missing value."""
    texts = format_pval(values, digits)
    return [
        "NaN" if x is not None and math.isnan(x) else text
        for x, text in zip(values, texts, strict=True)
    ]


def _unpad_missing(texts: list[str], values: list[float | None]) -> list[str]:
    """R overwrites missing cells after the others were padded, so these carry no padding."""
    return [
        text.strip() if x is None or math.isnan(x) else text
        for text, x in zip(texts, values, strict=True)
    ]
