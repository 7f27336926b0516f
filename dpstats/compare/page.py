"""Fits side by side, as in the tables of reports."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dpstats.compare.terms import Terms
from dpstats.report.format import format_estimates, format_scalar
from dpstats.report.options import STARS
from dpstats.report.result import Coefficients, quantile
from dpstats.report.table import Column, Page, Table
from dpstats.report.texts import KeyValues

_DIGITS = 3
FACTS = (
    "Persons",
    "Rows",
    "Public rows",
    "Fixed effects",
    "Estimator",
    "Endogenous",
    "First-stage F (iid, with noise)",
    "Family",
    "Dispersion",
    "Residual std. error",
    "R-squared",
    "Within R-squared",
    "Errors",
    "mu (GDP)",
    "epsilon (delta)",
    "Unit of privacy",
    "Method",
)
"""What stands below the coefficients, in this order."""
MARK = "!"
"""Marks a column with a note that its coefficients may be off."""


@dataclass(frozen=True)
class Entry:
    """One fit of a table: the heading of its column, and some of `FACTS`.

    Of a fit without privacy the privacy part of the coefficients is zero. A ``marked`` one has a note
    that says what may be wrong with its coefficients. Means are not ``tested`` against zero.
    """

    name: str
    response: str
    coefficients: Coefficients
    facts: Mapping[str, str | float | int]
    marked: bool = False
    tested: bool = True


@dataclass(frozen=True)
class Style:
    """How a table of fits is printed.

    ``digits`` are significant digits of an estimate and its standard error, of the smaller one;
    ``stars`` the levels of one, two, ... stars; ``level`` that of intervals, None for standard errors.
    ``ratios``: exponentials of estimates and of their intervals are shown.
    """

    digits: int
    stars: tuple[float, ...]
    level: float | None
    ratios: bool = False

    @classmethod
    def of(
        cls,
        digits: int | None,
        stars: bool | tuple[float, ...],
        level: float | None,
        ratios: bool = False,
    ) -> Style:
        """From the arguments of a table; None and True are the defaults."""
        levels = (STARS if stars else ()) if isinstance(stars, bool) else stars
        return cls(_DIGITS if digits is None else digits, levels, level, ratios)


def fits_page(entries: Sequence[Entry], style: Style, notes: Sequence[str], shown: Terms) -> Page:
    """Coefficients over standard errors or intervals, a column for each fit; facts below."""
    terms = shown.chosen(list(dict.fromkeys(t for e in entries for t in e.coefficients.terms)))
    facts = sorted({key for e in entries for key in e.facts}, key=FACTS.index)
    responses = list(dict.fromkeys(shown.label(e.response) for e in entries))
    several = len(responses) > 1
    second = "std. error" if style.level is None else "interval"
    labels = [label for term in terms for label in (shown.label(term), "")]
    names = [label for term in terms for label in (term, f"{term} ({second})")]
    head = ["Response"] if several else []
    columns = [
        Column("", [*head, *labels, *facts], [*head, *names, *facts], align="l", csv_name="term")
    ]
    for entry in entries:
        above: list[str] = [shown.label(entry.response)] if several else []
        own = style if entry.tested else replace(style, stars=())
        cells, raw = _pairs(entry.coefficients, terms, own)
        below = [entry.facts.get(key, "") for key in facts]
        columns.append(
            Column(
                f"{entry.name} {MARK}" if entry.marked else entry.name,
                [*above, *cells, *map(_fact, below)],
                [*above, *raw, *below],
                csv_name=entry.name,
            )
        )
    legend = [*_legend(entries, style), *_without_errors(entries, terms)]
    table = Table.from_columns(columns, notes=[*legend, *notes], main=True)
    rules = (len(head), len(head) + len(labels)) if head else (len(labels),)
    above_it = () if several or not responses[0] else (KeyValues((("Response", responses[0]),)),)
    return Page((*above_it, replace(table.ruled(rules), folds=False)))


def _fact(value: str | float) -> str:
    return value if isinstance(value, str) else format_scalar(value, 4)


def _pairs(c: Coefficients, terms: Sequence[str], style: Style) -> tuple[list[str], list[object]]:
    """Two cells for every term of the table: the estimate, and its standard error or interval."""
    cells: list[str] = []
    raw: list[object] = []
    ends = None if style.level is None else np.transpose(c.interval(style.level)).tolist()
    errors, p_values, places = c.std_error, c.p_value, {t: j for j, t in enumerate(c.terms)}
    values = c.coef
    if style.ratios and ends is not None:
        with np.errstate(over="ignore"):
            values, ends = np.exp(values), np.exp(ends).tolist()
            errors = errors * values  # of an exponential, for its digits
    for term in terms:
        if term not in places:
            cells += ["", ""]
            raw += [None, None]
            continue
        j = places[term]
        value, error = float(values[j]), float(errors[j])
        if math.isnan(error):
            cells += [format_scalar(value, style.digits), "(NA)" if ends is None else "[NA]"]
            raw += [value, None]
            continue
        marks = "*" * sum(float(p_values[j]) <= level for level in style.stars)
        if ends is None:
            middle, below = _alike([value, error], error, style.digits)
            cells += [middle + marks, f"({below})"]
            raw += [value, error]
        else:
            middle, left, right = _alike([value, *ends[j]], error, style.digits)
            cells += [middle + marks, f"[{left}, {right}]"]
            raw += [value, str(ends[j])]
    return cells, raw


def _alike(values: Sequence[float], error: float, digits: int) -> list[str]:
    """Numbers to the place of the last of so many digits of their standard error; as R where it is 0."""
    if not (error > 0 and math.isfinite(error)):
        return [text.strip() for text in format_estimates([*values, error], digits)[:-1]]
    places = digits - 1 - math.floor(math.log10(error))
    if places <= 8 and max(map(abs, values)) < 1e7:
        return [f"{value:.{max(places, 0)}f}" for value in values]
    return [_scientific(value, places) if value else "0" for value in values]


def _scientific(value: float, places: int) -> str:
    """A number to so many places, as far as a double has digits."""
    exponent = math.floor(math.log10(abs(value))) if math.isfinite(value) else 0
    return f"{value:.{min(max(places + exponent, 0), 15)}e}"


def _legend(entries: Sequence[Entry], style: Style) -> list[str]:
    lines = []
    if style.stars and any(entry.tested for entry in entries):
        levels = list(enumerate(style.stars, 1))[::-1]
        lines.append(", ".join(f"{'*' * k} p < {format_scalar(level, 3)}" for k, level in levels))
    what = (
        "Standard errors in parentheses"
        if style.level is None
        else f"{format_scalar(100 * style.level, 4)} % intervals in brackets"
    )
    private = any((e.coefficients.privacy != 0).any() for e in entries)
    return [*lines, what + ("; they cover sampling and privacy noise." if private else ".")]


def _without_errors(entries: Sequence[Entry], terms: Sequence[str]) -> list[str]:
    """What NA stands for, where a term of the table has no standard error."""
    fits = [entry.coefficients for entry in entries]
    if not any(np.isnan(c.std_error[np.isin(c.terms, terms)]).any() for c in fits):
        return []
    return ["NA: the fit gives no standard error; its summary says why."]


def check_level(level: float) -> float:
    """A level strictly between 0 and 1."""
    quantile(level)
    return float(level)
