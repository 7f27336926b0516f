"""A plan: what several budgets are expected to buy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dpstats.bounds.bound import Bound
from dpstats.estimate.matrices import Floats
from dpstats.mechanism.privacy import Privacy
from dpstats.report.plan import PlanPage, plan_page, plot_plan
from dpstats.report.released import bounds_frame
from dpstats.report.table import Page


@dataclass(frozen=True)
class Reached:
    """What it takes to reach wanted standard errors.

    Attributes
    ----------
    target : mapping from term to float
        Infinite where nothing is asked for.
    mu : float or None
        The smallest for the rows of the plan; None where no budget does.
    rows : tuple of int or None
        For every budget of the plan, the smallest number of rows.
    rows_nonprivate : int or None
        The same without privacy.
    """

    target: Mapping[str, float]
    mu: float | None
    rows: tuple[int | None, ...]
    rows_nonprivate: int | None


@dataclass(frozen=True, repr=False, eq=False)
class Plan:
    """Expected standard errors of a fit at several budgets, from public data alone.

    Attributes
    ----------
    terms : tuple of str
    n : int
        Private rows.
    m : int or None
        Public rows.
    labels : tuple of str
        The budgets as they were given.
    totals : tuple of Privacy
    std_errors : tuple of (d,) arrays
        NaN where most fits would give none.
    silent : tuple of float
        Share of the rehearsed fits that gave no standard errors, for every budget.
    nonprivate : (d,) array
        Standard errors without privacy.
    relative_error : (d,) array
        How well the standard errors of each coefficient are known from so many public rows.
    bound_sets : tuple of tuple of Bound
        For every budget, those that one rehearsed fit states.
    reached : Reached or None
    shown_delta : float
    share : float
        Of the rows, that is expected to count.
    """

    call: str
    method: str
    terms: tuple[str, ...]
    n: int
    m: int | None
    labels: tuple[str, ...]
    totals: tuple[Privacy, ...]
    std_errors: tuple[Floats, ...]
    silent: tuple[float, ...]
    nonprivate: Floats
    relative_error: Floats
    bound_sets: tuple[tuple[Bound, ...], ...]
    reached: Reached | None
    shown_delta: float
    share: float

    def tidy(self) -> pd.DataFrame:
        """One row per coefficient and budget: term, mu, std_error, std_error_nonprivate."""
        d, k = len(self.terms), len(self.totals)
        return pd.DataFrame(
            {
                "term": list(self.terms) * k,
                "mu": np.repeat([t.mu for t in self.totals], d),
                "std_error": np.concatenate(self.std_errors),
                "std_error_nonprivate": np.tile(self.nonprivate, k),
            }
        )

    def std_error(self) -> pd.DataFrame:
        """The same side by side: a column for every budget, and one without privacy."""
        columns = {"no privacy": self.nonprivate} | dict(
            zip(self.labels, self.std_errors, strict=True)
        )
        return pd.DataFrame(columns, index=list(self.terms))

    @property
    def smallest_mu(self) -> float | None:
        """The smallest mu that is expected to reach ``target_se``; None where none was asked or does."""
        return None if self.reached is None else self.reached.mu

    def smallest_n(self) -> pd.Series:
        """For every budget the smallest number of rows that is expected to reach ``target_se``."""
        rows = [None] * len(self.labels) if self.reached is None else list(self.reached.rows)
        return pd.Series(rows, index=list(self.labels), name="n", dtype="Int64")

    def bounds(self) -> pd.DataFrame:
        """The bounds that the fits would state, for every budget, with their premises met or not.

        Numbers are those of one rehearsal; the same table of a fit is `LinearModel.bounds`.
        """
        flat = [bound for bounds in self.bound_sets for bound in bounds]
        frame = bounds_frame(flat)
        sizes = [len(bounds) for bounds in self.bound_sets]
        frame.insert(0, "mu", np.repeat([t.mu for t in self.totals], sizes))
        return frame

    def _content(self) -> PlanPage:
        reached = self.reached
        return PlanPage(
            call=self.call,
            method=self.method,
            terms=self.terms,
            n=self.n,
            m=self.m,
            labels=self.labels,
            epsilons=tuple(t.epsilon(self.shown_delta) for t in self.totals),
            delta=self.shown_delta,
            nonprivate=self.nonprivate,
            relative_error=self.relative_error,
            std_errors=self.std_errors,
            silent=self.silent,
            bounds=self.bound_sets,
            target=None if reached is None else dict(reached.target),
            smallest_mu=None if reached is None else reached.mu,
            smallest_rows=None if reached is None else reached.rows,
            rows_nonprivate=None if reached is None else reached.rows_nonprivate,
            share=self.share,
        )

    def _page(self) -> Page:
        return plan_page(self._content())

    def __repr__(self) -> str:
        return self._page().to_text()

    def _repr_html_(self) -> str:
        return self._page().to_html()

    def to_markdown(self) -> str:
        """The page as Markdown."""
        return self._page().to_markdown()

    def to_latex(self) -> str:
        """The page as LaTeX."""
        return self._page().to_latex()

    def to_html(self) -> str:
        """The page as HTML."""
        return self._page().to_html()

    def to_csv(self) -> str:
        """The table of standard errors as CSV."""
        return self._page().to_csv()

    def plot(self, terms: Any = None, intercept: bool = False, ax: Any = None) -> Any:
        """Standard errors against the budget, over those without privacy; returns the axes.

        One line where all coefficients pay alike.

        Parameters
        ----------
        terms : str or list of str, optional
            Which coefficients; all by default.
        intercept : bool
            Whether the constant is among them.
        ax : matplotlib axes, optional
        """
        mus = np.array([t.mu for t in self.totals])
        return plot_plan(self._content(), mus, terms, intercept, ax)
