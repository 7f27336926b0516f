"""Wald tests as they are returned and print."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import pandas as pd

from dpstats.report.table import OnPage, Page
from dpstats.report.wald import WaldTest


@dataclass(frozen=True, repr=False, eq=False)
class Anova(OnPage):
    """A Wald test of two nested models.

    Attributes
    ----------
    df : int
        Coefficients that the smaller model leaves out.
    chi2, p_value : float
    page : Page
        The test as it prints.
    df_denominator : float
        Of an F test, F = chi2 / df; infinite of a chi-square test.

    See Also
    --------
    anova : What makes one.

    Examples
    --------
    >>> from dpstats import anova
    >>> from dpstats import dp_lm
    >>> from dpstats.datasets import fair
    >>> public, private = fair()
    >>> fit = dp_lm("rate_marriage ~ age + religious", private, public=public, mu=1, seed=1)
    >>> test = anova(fit, fit.update("~ . - age"))
    >>> test.df, test.p_value < 0.001
    (1, True)
    """

    df: int
    chi2: float
    p_value: float
    page: Page
    df_denominator: float = math.inf

    @classmethod
    def of(cls, test: WaldTest, page: Page) -> Self:
        """A test as it is returned."""
        return cls(test.df, test.chi2, test.p_value, page, test.below)


@dataclass(frozen=True, repr=False, eq=False)
class TermTests(OnPage):
    """Wald tests of the terms of one model.

    Attributes
    ----------
    frame : DataFrame
        A line for each term: its name, degrees of freedom, statistic and p value, and degrees of freedom
        of the denominator of an F test.
    page : Page
        The tests as they print.

    See Also
    --------
    anova : What makes one.

    Examples
    --------
    >>> from dpstats import anova
    >>> from dpstats import dp_lm
    >>> from dpstats.datasets import fair
    >>> public, private = fair()
    >>> fit = dp_lm("rate_marriage ~ age + religious", private, public=public, mu=1, seed=1)
    >>> anova(fit).frame.columns.tolist()
    ['term', 'df', 'chi2', 'p_value', 'df_denominator']
    """

    frame: pd.DataFrame
    page: Page
