"""A fitted private linear model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from dpstats.arguments import one_of, shown, spelled
from dpstats.arrays import Floats
from dpstats.errors import ArgumentError, warn_at_call
from dpstats.frame import new_rows
from dpstats.margins.verbs import MarginalModel
from dpstats.models.linear.bounds import LinearFacts, linear_bounds
from dpstats.models.linear.page import LinearPage, summary_page
from dpstats.report.bound import Bound
from dpstats.report.frames import WholeFrame, predicted
from dpstats.report.model import Ranges
from dpstats.report.result import quantile
from dpstats.report.table import Page
from dpstats.score_rounds.bounds import noise_bounds
from dpstats.score_rounds.estimate import r_squared, r_squared_range


@dataclass(frozen=True, repr=False, eq=False)
class LinearModel(MarginalModel):
    """A private linear model; what every method returns is released or computed from releases.

    Attributes
    ----------
    privacy : PrivacyStatement
        ``.mu``, ``.rho``, ``.epsilon(delta)``, ``.delta(epsilon)``, ``.unit``, ``.mechanisms``.
    formula : str
    sigma : float
    nobs : int
    call, method : str
        The call as it was typed, and the method that it used.
    n, m : int or None
        Private rows (or persons) and public rows; both numbers are public.
    notes : tuple of str
        What a reader must know before the numbers.

    See Also
    --------
    dp_lm : What makes one.

    Examples
    --------
    >>> from dpstats import dp_lm
    >>> from dpstats.datasets import fair
    >>> public, private = fair()
    >>> fit = dp_lm("rate_marriage ~ age + religious", private, public=public, mu=1, seed=1)
    >>> fit.confint(0.9).columns.tolist()
    ['5%', '95%']
    >>> fit.update("~ . - age").coef().index.tolist()
    ['Intercept', 'religious']
    """

    _other_names: ClassVar[dict[str, str]] = MarginalModel._other_names | {
        **dict.fromkeys(("rsquared", "r_squared", "r2", "rsq"), "glance().r_squared"),
        **dict.fromkeys(("rsquared_adj", "adj_r_squared"), "summary(), beside R-squared"),
        **dict.fromkeys(("mse_resid", "rse"), "sigma, the residual standard error"),
    }
    sigma_source: str

    def _page(self, with_bounds: bool) -> LinearPage:
        return LinearPage(
            **self._page_items(with_bounds),
            sigma=None if self.estimate.dispersion is None else self.sigma,
            sigma_source=self.sigma_source,
            r_squared=self._r_squared(),
            ranges=self._ranges(),
            wald=self._wald(),
            offset=bool(self.design.offsets),
        )

    def _summary(self) -> Page:
        """R's summary.lm, with the privacy spent, error bounds and diagnostics."""
        return summary_page(self._page(with_bounds=True))

    @property
    def sigma(self) -> float:
        """Residual standard error."""
        dispersion = self.estimate.dispersion
        return math.nan if dispersion is None or not self._told else math.sqrt(dispersion)

    @property
    def _told(self) -> bool:
        """Whether the rows tell anything: where no coefficient has an error, residuals say nothing."""
        return not bool(np.isnan(np.diag(self.estimate.privacy)).all())

    def _r_squared(self) -> tuple[float, float] | None:
        return r_squared(self.estimate, self.design.constant) if self._told else None

    def _ranges(self) -> Ranges | None:
        """Ranges of sigma and R^2, by their noise and by what the cut of squares may take off."""
        limits = self.estimate.dispersion_range
        if limits is None or not self._told:
            return None
        explained = r_squared_range(self.estimate, self.design.constant)
        return (math.sqrt(limits[0]), math.sqrt(limits[1])), explained

    def table_facts(self) -> dict[str, str | float]:
        """What a table of several fits shows below the coefficients, beside rows and privacy."""
        facts: dict[str, str | float] = {}
        if not math.isnan(self.sigma):
            facts["Residual std. error"] = self.sigma
        if (found := self._r_squared()) is not None:
            facts["R-squared"] = found[0]
        return facts

    def _bounds(self) -> tuple[Bound, ...]:
        if self.system is None:
            return ()
        if self.public is None:
            return noise_bounds(self.system, self.eta)
        facts = LinearFacts(
            n=self.estimate.n,
            d=len(self.coefficients.coef),
            m=self.m,
            mu=self.privacy.mu,
            eta=self.eta,
            ridge=self.estimate.ridge,
            public=self.public,
            released=self.estimate.moments,
            coef=self.coefficients.coef,
        )
        return linear_bounds(facts, self.system)

    def glance(self) -> pd.DataFrame:
        """One row: R^2, sigma and where they lie, n, m, privacy in its units, method."""
        unknown = math.nan, math.nan
        plain, adjusted = self._r_squared() or unknown
        of_sigma, of_share = self._ranges() or (unknown, None)
        first = {"r_squared": [plain], "adj_r_squared": [adjusted], "sigma": [self.sigma]}
        first |= {"sigma_low": [of_sigma[0]], "sigma_high": [of_sigma[1]]}
        of_share = of_share or unknown
        first |= {"r_squared_low": [of_share[0]], "r_squared_high": [of_share[1]]}
        return WholeFrame(first | self._glance_items())

    @np.errstate(all="ignore")  # what overflows is not finite, and shown as such
    @spelled
    def predict(
        self,
        newdata: Any = None,
        interval: str | None = None,
        level: float = 0.95,
        se_fit: bool = False,
    ) -> pd.Series | pd.DataFrame:
        """Predictions for rows that you may show; free of privacy cost.

        Parameters
        ----------
        newdata : table or dict
            Rows with the formula's columns. A row that cannot be encoded gets NaN; a
            warning names levels that are new.
        interval : {None, "confidence", "prediction"}
            None gives a Series; otherwise a frame with R's columns fit, lwr, upr. Of a weighted fit
            the variance of a row is sigma^2 over its weight, where ``newdata`` has that column, and
            else that of a row of weight 1, with a warning.
        level : float
            Coverage of the interval.
        se_fit : bool
            Whether a column ``se_fit`` has the standard errors of the mean, as R's ``se.fit``.
        """
        if interval is not None and not one_of(interval, ("none", "confidence", "prediction")):
            raise ArgumentError(
                f"interval must be None, 'confidence' or 'prediction', not {shown(interval)}."
            )
        fit, variance, freedom, index = self._predictor(newdata)
        error = np.sqrt(variance) if se_fit else None
        if interval in (None, "none"):
            return predicted(fit, None, error, index)
        if interval == "prediction":  # whose freedom is that of sigma
            variance = variance + self.sigma**2 / self._weights(newdata)
            freedom = np.full(len(variance), self.coefficients.freedom)
        half = quantile(level, freedom) * np.sqrt(variance)
        return predicted(fit, (fit - half, fit + half), error, index)

    def _weights(self, newdata: Any) -> Floats | float:
        """What new rows weigh, for the variance of their responses."""
        name = self.design.weights
        if name is None:
            return 1.0
        rows = newdata if isinstance(newdata, pd.DataFrame) else new_rows(newdata, "predict")
        if list(rows).count(name) == 1:
            weight = pd.to_numeric(rows[name], errors="coerce").to_numpy(dtype=float)
            return np.where(weight > 0, weight, np.nan)
        warn_at_call(
            f"the fit is weighted, and newdata has no column `{name}`: prediction intervals are those "
            "of rows of weight 1. Give their weights in that column.",
            UserWarning,
        )
        return 1.0
