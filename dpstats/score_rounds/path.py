"""Coefficients along a penalty, and the choice of one, from the release of a fit alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dpstats.arguments import one_of, shown
from dpstats.errors import ArgumentError, NotReleasedError
from dpstats.frame import terms_named
from dpstats.report.coefficients import plot_path
from dpstats.report.format import format_scalar
from dpstats.report.result import Coefficients
from dpstats.report.table import Column, Page, Printed, Table
from dpstats.report.wald import WaldTest

_SHOWN_PENALTIES = 10


@dataclass(frozen=True, repr=False, eq=False)
class Path(Printed):
    """Coefficients along a penalty, computed from one release.

    Attributes
    ----------
    penalty : str
    coef : DataFrame
        One row per penalty: its size, then the coefficients.
    derived : str
        What the page says of their origin.

    See Also
    --------
    LinearModel.path : What makes one.

    Examples
    --------
    >>> from dpstats import dp_lm
    >>> from dpstats.datasets import fair
    >>> public, private = fair()
    >>> fit = dp_lm("rate_marriage ~ age + religious", private, public=public, mu=1, seed=1)
    >>> fit.path("lasso").coef.columns.tolist()
    ['lambda', 'Intercept', 'age', 'religious']
    """

    penalty: str
    coef: pd.DataFrame
    derived: str
    unpenalised: Coefficients | None = None
    n: float = math.nan
    constant: int | None = None

    def best(self, criterion: str = "BIC") -> BestPenalty:
        """The penalty whose choice of columns has the smallest criterion.

        The Wald statistic of the columns that a penalty leaves out, by standard errors that hold the
        sampling and the noise of all that was released, and log(n) ("BIC") or 2 ("AIC") for each column
        that it keeps: the least-squares approximation of Wang and Leng (2007). Of penalties with
        the same columns the smallest is taken, which shrinks the least. Standard errors after a
        choice ignore it.

        Examples
        --------
        >>> from dpstats import dp_lm
        >>> from dpstats.datasets import fair
        >>> public, private = fair()
        >>> fit = dp_lm("rate_marriage ~ age + religious", private, public=public, mu=1, seed=1)
        >>> fit.path("lasso").best("BIC").kept
        ('Intercept', 'age', 'religious')
        """
        if not one_of(criterion, ("BIC", "AIC", "bic", "aic")):
            raise ArgumentError(f"criterion must be 'BIC' or 'AIC', not {shown(criterion)}.")
        if self.penalty == "ridge":
            raise ArgumentError(
                "a ridge keeps every column, and a criterion chooses columns: path('lasso')."
            )
        c = self.unpenalised
        if c is None or not c.known:
            raise NotReleasedError("noise hides the standard errors that a criterion needs.")
        each = math.log(self.n) if criterion.upper() == "BIC" else 2.0
        coef = self.coef.iloc[:, 1:].to_numpy(dtype=float)
        found = []
        for row in coef:
            out = [int(j) for j in np.flatnonzero((row == 0) & ~c.left_out) if j != self.constant]
            lost = WaldTest.that_are_zero(c, out).chi2 if out else 0.0
            found.append(lost + each * (len(row) - len(out)))
        values = np.array(found)
        lambdas = self.coef["lambda"].to_numpy()
        at = min(np.flatnonzero(values == values.min()), key=lambda k: float(lambdas[k]))
        series = pd.Series(coef[at], index=list(c.terms), name="estimate")
        return BestPenalty(
            criterion.upper(), float(lambdas[at]), float(values[at]), series, self.derived
        )

    def plot(
        self, terms: Sequence[str] | None = None, intercept: bool = False, ax: Any = None
    ) -> Any:
        """Coefficients against the penalty, which grows to the right on a log scale.

        Needs matplotlib (``pip install "dpstats[plot]"``).

        Parameters
        ----------
        terms : sequence of str, optional
            Which ones; by default all but the intercept, which is not penalised.
        intercept : bool
            Whether the intercept is shown when no terms are named.
        ax : matplotlib Axes, optional

        Returns
        -------
        matplotlib Axes
        """
        lambdas, coef = self.coef["lambda"].to_numpy(), self.coef.iloc[:, 1:]
        names = [str(name) for name in coef.columns]
        values = coef.to_numpy(dtype=float)
        terms = terms_named(terms, names)
        return plot_path(names, lambdas, values, self.penalty, terms, intercept, ax)

    def _printed(self) -> Page:
        """Some of the penalties; numbers with four digits, and a dot for a coefficient of zero."""
        rows = len(self.coef)
        places = np.unique(
            np.linspace(0, rows - 1, min(rows, _SHOWN_PENALTIES)).round().astype(int)
        )
        shown = self.coef.iloc[places]
        columns = [
            Column(str(name), [format_scalar(v, 4) if v else "." for v in shown[name]], shown[name])
            for name in shown.columns
        ]
        more = f", {len(places)} of {rows} penalties: .coef has all" if rows > len(places) else ""
        note = f"{self.penalty} path{more}. {self.derived}"
        return Page((Table.from_columns(columns, notes=(note,)),))


@dataclass(frozen=True, repr=False, eq=False)
class BestPenalty:
    """The choice of a criterion along a path; see `Path.best`.

    Attributes
    ----------
    criterion : str
    penalty : float
        Its size, lambda.
    value : float
        Of the criterion.
    estimate : Series
        The coefficients there, which are drawn towards zero.
    derived : str
        What the page says of their origin.

    See Also
    --------
    Path : Whose method `best` makes one.
    """

    criterion: str
    penalty: float
    value: float
    estimate: pd.Series
    derived: str

    def coef(self) -> pd.Series:
        """Coefficients at this penalty, indexed by the columns of the design."""
        return self.estimate.copy()

    @property
    def kept(self) -> tuple[str, ...]:
        """Columns that are not left out."""
        return tuple(self.estimate.index[self.estimate != 0])

    @property
    def left_out(self) -> tuple[str, ...]:
        """Columns that are left out: ``fit.update("~ . - x")`` refits the others, at no cost."""
        return tuple(self.estimate.index[self.estimate == 0])

    def __repr__(self) -> str:
        head = f"Smallest {self.criterion} at lambda = {self.penalty:.4g}:"
        out = ", ".join(self.left_out)
        lines = [head, self.estimate.to_string(), *([f"Left out: {out}"] if out else [])]
        return "\n".join([*lines, self.derived])
