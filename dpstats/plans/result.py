"""A plan: what several budgets are expected to buy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from dpstats.plans.page import Predictions, plan_csv, plan_page, plot_plan
from dpstats.report.released import bounds_frame
from dpstats.report.table import Page, Printed


class Plan(Printed, Predictions):
    """Expected standard errors of a fit at several budgets, from public data alone.

    Prints as a table. What it holds: see `Predictions`, whose attributes it has.
    """

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

    def _printed(self) -> Page:
        return plan_page(self)

    def to_markdown(self) -> str:
        """The page as Markdown."""
        return self._printed().to_markdown()

    def to_latex(self) -> str:
        """The page as LaTeX."""
        return self._printed().to_latex()

    def to_html(self) -> str:
        """The page as HTML."""
        return self._printed().to_html()

    def to_csv(self) -> str:
        """The table of standard errors as CSV."""
        return plan_csv(self)

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
        return plot_plan(self, terms, intercept, ax)
