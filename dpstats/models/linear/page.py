"""The page of a private linear model: R's summary.lm."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpstats.report.format import format_c, format_scalar
from dpstats.report.model import ModelPage, Ranges, model_summary, ranges_line, row_lines
from dpstats.report.options import shown_digits
from dpstats.report.table import Page
from dpstats.report.texts import Lines
from dpstats.report.wald import WaldTest, wald_lines

METHODS = {
    "anchored": "anchored score rounds on public moments",
    "pmt": "public-moment-guided truncation (Algorithm 2 of the ridge paper)",
    "ssp": "sufficient statistics within declared limits",
}

EPTR_METHODS = {
    "rounds": "score rounds, the last step with noise for a private bound on its design",
    "adaptive": "least squares with noise for a private bound on its design",
    "ptr": "least squares behind a private test of its design",
    "adassp": "noisy moments with a ridge (AdaSSP), from the public fit",
    "paper": "ePTR-OLS (Algorithm 4 of the ePTR paper)",
}
_SHOWN = METHODS | EPTR_METHODS | {"alone": "score rounds, from private rows alone"}


@dataclass(frozen=True)
class LinearPage(ModelPage):
    """What the pages of a linear model show beyond those of every model.

    ``ranges`` are those of sigma and of R-squared, where the noise of a released square and what its cut
    may have taken off are known. With an offset R-squared is that of the response less the offset, whose
    own variance is not released.
    """

    sigma: float | None
    sigma_source: str
    r_squared: tuple[float, float] | None
    ranges: Ranges | None = None
    answer: str = ""
    wald: WaldTest | None = None
    offset: bool = False


def summary_page(page: LinearPage) -> Page:
    """R's summary.lm, followed by the privacy, bounds and diagnostics blocks."""
    head: tuple[tuple[str, str], ...] = (("Method", _SHOWN[page.method]),)
    if page.answer:
        head += (("Answer", page.answer),)
    fit = Lines("\n".join(row_lines(page) + _fit_lines(page)))
    return model_summary(page, head, [fit])


def _fit_lines(page: LinearPage) -> list[str]:
    lines, digits = [], shown_digits(4)
    if page.sigma is None:
        lines.append("Residual standard error: not released by this method")
    elif math.isnan(page.sigma):
        lines.append("Residual standard error: not given where no coefficient has an error")
    else:
        df = page.filled - len(page.coefficients.coef)
        lines.append(
            f"Residual standard error: {format_scalar(page.sigma, digits)} on about {df} "
            f"degrees of freedom ({page.sigma_source})"
        )
    if page.r_squared is not None:
        plain, adjusted = page.r_squared
        lines.append(
            f"Multiple R-squared: {format_c(plain, digits)}, "
            f"Adjusted R-squared: {format_c(adjusted, digits)}"
        )
        if page.offset:
            lines.append("R-squared is that of the response less the offset")
    if page.ranges is not None:
        lines.append(ranges_line(page.ranges))
    return lines + wald_lines(page.wald)
