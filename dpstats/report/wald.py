"""Wald tests of released coefficients: the numbers, and how they print."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy import special

from dpstats.arguments import in_prose
from dpstats.arrays import Floats
from dpstats.report.format import LEGEND, format_pval, format_scalar, gaps, stars
from dpstats.report.options import options, p_digits, shown_digits
from dpstats.report.result import Coefficients
from dpstats.report.table import Column, Page, Table
from dpstats.report.texts import Paragraph, Preformatted

UNKNOWN = "NA: a coefficient that is tested has no standard error; the summary of the fit says why."


@dataclass(frozen=True)
class WaldTest:
    """A test that a vector has mean zero.

    Attributes
    ----------
    chi2 : float
    df : int
    below : float
        Degrees of freedom of the denominator, of an F test; infinite where the test is a chi-square.
    """

    chi2: float
    df: int
    below: float = math.inf

    @classmethod
    def that_is_zero(cls, value: Floats, sampling: Floats, privacy: Floats, freedom: float) -> Self:
        """Of a vector and the two parts of its covariance.

        The degrees of freedom of the denominator are those of the sampling part, and the more the
        smaller its mean share of the variance is.
        """
        total = sampling + privacy
        try:
            chi2, below = float(value @ np.linalg.solve(total, value)), math.inf
            if math.isfinite(freedom):
                share = float(np.trace(np.linalg.solve(total, sampling))) / len(total)
                below = freedom / share**2 if share > 0 else math.inf
        except np.linalg.LinAlgError:  # numbers of 1e-300 are none
            chi2, below = math.nan, math.inf
        return cls(chi2, len(value), below)

    @classmethod
    def that_are_zero(cls, c: Coefficients, where: Sequence[int]) -> Self:
        """Of some of the coefficients."""
        at = np.ix_(where, where)
        return cls.that_is_zero(c.coef[list(where)], c.sampling[at], c.privacy[at], c.freedom)

    @classmethod
    def that_hold(cls, c: Coefficients, matrix: Floats, values: Floats | float = 0.0) -> Self:
        """Of equations R b = r, in which coefficients that R has nothing of may have no errors."""
        asked = np.flatnonzero(matrix.any(axis=0))
        block, matrix = np.ix_(asked, asked), matrix[:, asked]
        off = matrix @ c.coef[asked] - values
        sampling, privacy = (matrix @ part[block] @ matrix.T for part in (c.sampling, c.privacy))
        return cls.that_is_zero(off, sampling, privacy, c.freedom)

    @property
    def law(self) -> str:
        return "Chisq" if math.isinf(self.below) else "F"

    @property
    def statistic(self) -> float:
        return self.chi2 if math.isinf(self.below) else self.chi2 / self.df

    @property
    def p_value(self) -> float:
        if math.isinf(self.below):
            return float(special.chdtrc(self.df, self.chi2))
        return float(special.fdtrc(self.df, self.below, self.chi2 / self.df))


def wald_lines(test: WaldTest | None) -> list[str]:
    """The test of all terms but the intercept, where standard errors are known."""
    if test is None:
        return []
    p = format_pval([test.p_value], p_digits())[0]
    shown = f"< {p[1:].strip()}" if p.startswith("<") else f"= {p}"
    name, freedom = "chi2", f"{test.df}"
    if math.isfinite(test.below):
        name, freedom = "F", f"{test.df} and {in_prose(test.below, 4)}"
    value = format_scalar(test.statistic, shown_digits(4))
    return [f"Wald test of all terms: {name} = {value} on {freedom} df, p {shown}"]


def terms_page(
    names: Sequence[str],
    tests: Sequence[WaldTest],
    title: str,
    derived: str,
    why: str = UNKNOWN,
) -> Page:
    """Wald tests, a line for each, and what they are ``derived`` from; F is by the degree of freedom.

    ``why`` a test is NA.
    """
    few = any(test.law == "F" for test in tests)
    law, values = "F" if few else "Chisq", [t.chi2 / t.df if few else t.chi2 for t in tests]
    df, p = [test.df for test in tests], [test.p_value for test in tests]
    table = Table.from_columns(
        [
            Column("", names, align="l", csv_name="term"),
            Column("Df", [str(k) for k in df], df),
            *_denominator([test.below for test in tests]),
            Column(law, [format_scalar(v, shown_digits(5)) for v in gaps(values)], gaps(values)),
            *_p_values(law, p),
        ],
        title=title,
        notes=_legend(p, why),
        main=True,
    )
    return Page((table, Paragraph(derived)))


def nested_page(models: Sequence[str], test: WaldTest, derived: str | None) -> Page:
    """R's anova of two nested models, as a Wald test; ``derived`` where both are from one release."""
    law, value, p = test.law, test.statistic, test.p_value
    lines = "\n".join(f"Model {i + 1}: {text}" for i, text in enumerate(models))
    table = Table.from_columns(
        [
            Column("", ("1", "2"), align="l", csv_name="model"),
            Column("Df", ("", str(test.df)), (None, test.df)),
            *_denominator([math.inf, test.below]),
            Column(law, ("", format_scalar(gaps([value])[0], shown_digits(5))), (None, value)),
            *_p_values(law, [None, p]),
        ],
        title="Wald test of nested models",
        notes=_legend([p]),
        main=True,
    )
    parts = [table] if derived is None else [table, Paragraph(derived)]
    return Page((Preformatted(lines), *parts))


def _p_values(law: str, values: Sequence[float | None]) -> list[Column]:
    """p values and their stars; a line of None is empty, one of NaN is NA."""
    known = [None if v is None or math.isnan(v) else v for v in values]
    pairs = zip(values, format_pval(known, p_digits()), strict=True)
    shown = Column(f"Pr(>{law})", ["" if v is None else text for v, text in pairs], known)
    starred = [Column("", stars(known), align="l", in_csv=False)] if options.stars else []
    return [shown, *starred]


def _legend(values: Sequence[float], why: str = UNKNOWN) -> list[str]:
    """What stars stand for where there are some, and what NA stands for."""
    legend = [LEGEND] if options.stars and any(v < 0.1 for v in values) else []
    return legend + ([why] if any(math.isnan(v) for v in values) else [])


def _denominator(below: Sequence[float]) -> list[Column]:
    """Degrees of freedom of the denominator, of F tests."""
    if not any(map(math.isfinite, below)):
        return []
    shown = [format_scalar(v, 4) if math.isfinite(v) else "" for v in below]
    return [Column("Den. Df", shown, [v if math.isfinite(v) else None for v in below])]
