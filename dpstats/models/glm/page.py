"""The pages of a private generalised linear model: R's summary.glm, and the ratios."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from dpstats.report.format import format_numbers, format_pval, format_scalar, gaps
from dpstats.report.model import ModelPage, model_summary, row_lines
from dpstats.report.options import p_digits, shown_digits
from dpstats.report.table import Column, Page, Table
from dpstats.report.texts import Lines, Paragraph
from dpstats.report.wald import WaldTest, wald_lines

GLM_METHODS = {
    "anchored": "private Newton steps from a public anchor",
    "pmt": "public-moment-guided truncation (Algorithms 3 and 4 of the papers)",
    "ssp": "private Newton steps within declared limits",
}
_SHOWN = GLM_METHODS | {"alone": "private Newton steps, from private rows alone"}
_DISPERSION = {
    "fixed": "taken to be {}",
    "private": "estimated as {}, private",
    "public rows": "estimated as {}, public rows",
    "not released": "not released",
}
_FAR = 3.0
"""Times a dispersion, from where its upper end says little."""


@dataclass(frozen=True)
class GlmPage(ModelPage):
    """What the pages of a generalised linear model show beyond those of every model.

    Attributes
    ----------
    family, link : str
        R's names, such as "binomial" and "logit".
    dispersion : float
        What the standard errors were computed with; nan where it is not released.
    dispersion_source : {"fixed", "private", "public rows", "not released"}
    pearson, pearson_sd : float or None
        A released Pearson dispersion and its noise. It is shown where the family fixes the
        dispersion, so that over-dispersion is seen.
    pearson_range : pair of float or None
        Where it lies, by its noise and by what the cut of residuals may take off.
    wald : WaldTest or None
        Chi-square of all terms but the intercept, from the release, and its degrees of freedom.
    iterations : int
        Private Newton steps.
    response : str or None
        Which of two levels is modelled.
    """

    family: str
    link: str
    dispersion: float
    dispersion_source: str
    pearson: float | None
    pearson_sd: float | None
    pearson_range: tuple[float, float] | None
    wald: WaldTest | None
    iterations: int
    response: str | None = None
    variance: ClassVar[str] = "the family's variance"


def summary_page(page: GlmPage) -> Page:
    """R's summary.glm, followed by the privacy, bounds and diagnostics blocks."""
    head = (
        ("Method", _SHOWN[page.method]),
        ("Family", f"{page.family}, link: {page.link}"),
    )
    fit = (Paragraph(_dispersion_line(page)), Lines("\n".join(_fit_lines(page))))
    return model_summary(page, head, fit)


def _dispersion_line(page: GlmPage) -> str:
    value = _DISPERSION[page.dispersion_source].format(
        format_scalar(page.dispersion, shown_digits(4))
    )
    lies = _range_of(page) if page.dispersion_source == "private" else ""
    return f"(Dispersion parameter for {page.family} family {value}{lies})"


def _range_of(page: GlmPage) -> str:
    """Where the dispersion lies: no upper end where few residuals that were cut may make most of it."""
    if page.pearson_range is None or page.pearson is None:
        noise = page.pearson_sd
        return "" if noise is None else f"; noise sd {format_scalar(noise, 2)}"
    low, high = page.pearson_range
    if high > _FAR * page.pearson:
        return f"; at least {format_scalar(low, 3)}, as long residuals were cut"
    ends = f"{format_scalar(low, 3)} to {format_scalar(high, 3)}"
    return f"; {ends} with noise and cuts"


def _fit_lines(page: GlmPage) -> list[str]:
    lines = [] if page.response is None else [page.response]
    lines += row_lines(page, "missing, infinite or impossible")
    if page.dispersion_source == "fixed" and page.pearson is not None:
        value = format_scalar(page.pearson, shown_digits(4))
        lines.append(f"Pearson dispersion: {value} (private{_range_of(page)})")
    lines.append("Null and residual deviance: not released (each needs its own pass over the rows)")
    return [*lines, *wald_lines(page.wald), f"Number of private Newton steps: {page.iterations}"]


def ratio_page(
    title: str,
    terms: Sequence[str],
    ratio: Iterable[float],
    low: Iterable[float],
    high: Iterable[float],
    limit_names: tuple[str, str],
    p_value: Iterable[float],
    notes: Sequence[str],
) -> Page:
    """Exponentiated coefficients with their limits, one row per term.

    Parameters
    ----------
    title : str
        Heading of the ratios: "Odds ratio", "Rate ratio", "Mean ratio".
    terms : sequence of str
        The terms.
    ratio, low, high, p_value : iterable of float
        One number per term; nan prints as NA.
    limit_names : (str, str)
        Headings of the limits.
    notes : sequence of str
        Lines below the table, in every form but CSV.

    Examples
    --------
    >>> ratio_page(
    ...     "Odds ratio", ["age"], [1.0123], [1.0101], [1.0145], ("2.5%", "97.5%"), [1e-20], []
    ... )
        Odds ratio   2.5%  97.5% Pr(>|z|)
    age     1.0123 1.0101 1.0145   <2e-16
    """
    ratios, lows, highs, p = gaps(ratio), gaps(low), gaps(high), gaps(p_value)
    texts = [_ratio_texts(*row) for row in zip(ratios, lows, highs, strict=True)]
    table = Table.from_columns(
        [
            Column("", terms, align="l", csv_name="term"),
            Column(title, [t[0] for t in texts], ratios, csv_name="ratio"),
            Column(limit_names[0], [t[1] for t in texts], lows, csv_name="conf_low"),
            Column(limit_names[1], [t[2] for t in texts], highs, csv_name="conf_high"),
            Column("Pr(>|z|)", format_pval(p, p_digits()), p, csv_name="p_value"),
        ],
        notes=notes,
        main=True,
    )
    return Page((table,))


def _ratio_texts(ratio: float | None, low: float | None, high: float | None) -> list[str]:
    """One row in one format: three digits, or more where the interval is narrow.

    Not one format per column as in R: the intercept's ratio is often of another size than the rest,
    and three digits of a ratio near one would print it and both its limits as 1.
    """
    digits = shown_digits(3)
    if ratio and low is not None and high is not None and 0 < high - low < math.inf:
        narrow = math.floor(math.log10(ratio)) - math.floor(math.log10(high - low))
        digits = min(max(digits, narrow + 2), 15)
    return format_numbers([ratio, low, high], digits, pad=False)
