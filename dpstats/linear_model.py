"""A fitted private linear model: what it answers, without touching a row again.

Sub-models, penalised paths, tests and predictions are computed from the released moments
(`dpstats.estimate.submodel`) and cost no further privacy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from dpstats.bounds.bound import Bound
from dpstats.bounds.linear import (
    LinearFacts,
    ReleasedSystem,
    distance_to_noiseless_fit,
    linear_bounds,
    simulated_distance,
)
from dpstats.errors import ArgumentError, NotReleasedError, naming
from dpstats.estimate.linear import LinearEstimate, r_squared
from dpstats.estimate.matrices import Floats
from dpstats.estimate.submodel import penalised_path, restrict, wald
from dpstats.frame import Design
from dpstats.report.linear import Diagnostic, LinearPage, print_page, summary_page, wald_page
from dpstats.report.privacy import PrivacyStatement
from dpstats.report.result import Coefficients, Result, z_quantile
from dpstats.report.table import Page


def coefficients_of(terms: Sequence[str], estimate: LinearEstimate) -> Coefficients:
    """Named coefficients with their two covariances."""
    return Coefficients(tuple(terms), estimate.coef, estimate.sampling, estimate.privacy)


@dataclass(frozen=True, repr=False, eq=False)
class LinearModel(Result):
    """A private linear model; what every method returns is released or computed from releases.

    Attributes
    ----------
    privacy : PrivacyStatement
        ``.mu``, ``.rho``, ``.epsilon(delta)``, ``.delta(epsilon)``, ``.unit``, ``.mechanisms``.
    formula : str
    sigma : float
    nobs : int

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

    call: str
    method: str
    design: Design
    coefficients: Coefficients
    privacy: PrivacyStatement
    estimate: LinearEstimate
    system: ReleasedSystem | None
    public: Floats | None
    n: int
    m: int | None
    dropped: int
    eta: float
    sigma_source: str
    details: tuple[Diagnostic, ...]
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return print_page(self._page(with_bounds=False)).to_text()

    def _repr_html_(self) -> str:
        return print_page(self._page(with_bounds=False), as_table=True).to_html()

    def summary(self) -> Page:
        """R's summary.lm, with the privacy spent, error bounds and diagnostics."""
        return summary_page(self._page(with_bounds=True))

    def _page(self, with_bounds: bool) -> LinearPage:
        sigma2 = self.estimate.sigma2
        return LinearPage(
            call=self.call,
            method=self.method,
            coefficients=self.coefficients,
            privacy=self.privacy,
            bounds=self._bounds() if with_bounds else (),
            diagnostics=self.details,
            sigma=None if sigma2 is None else math.sqrt(sigma2),
            sigma_source=self.sigma_source,
            r_squared=self._r_squared(),
            n=self.n,
            filled=self.estimate.n,
            m=self.m,
            dropped=self.dropped,
            notes=self.notes,
        )

    @property
    def formula(self) -> str:
        """The formula that was fitted."""
        return self.design.formula

    @property
    def nobs(self) -> int:
        """Number of private rows, a public number."""
        return self.n

    @property
    def sigma(self) -> float:
        """Residual standard error."""
        return math.nan if self.estimate.sigma2 is None else math.sqrt(self.estimate.sigma2)

    def _intercept(self) -> int | None:
        terms = self.coefficients.terms
        return terms.index("Intercept") if "Intercept" in terms else None

    def _r_squared(self) -> tuple[float, float] | None:
        return r_squared(self.estimate, self._intercept())

    def _bounds(self) -> tuple[Bound, ...]:
        if self.system is None:
            return ()
        if self.public is None:
            return (
                distance_to_noiseless_fit(self.system, self.eta),
                simulated_distance(self.system, self.eta),
            )
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
        """One row: R^2, sigma, n, m, privacy in its units, method."""
        plain, adjusted = self._r_squared() or (math.nan, math.nan)
        return pd.DataFrame(
            {
                "r_squared": [plain],
                "adj_r_squared": [adjusted],
                "sigma": [self.sigma],
                "df_residual": [self.estimate.n - len(self.coefficients.coef)],
                "nobs": [self.nobs],
                "n_public": [self.m],
                "mu": [self.privacy.mu],
                "rho": [self.privacy.rho],
                "epsilon": [self.privacy.epsilon(self.privacy.shown_delta)],
                "delta": [self.privacy.shown_delta],
                "method": [self.method],
                "seeded": [self.privacy.seeded],
            }
        )

    def diagnostics(self) -> pd.DataFrame:
        """Private shares of truncated and empty rows with their noise, conditioning, rounds."""
        return pd.DataFrame(
            {
                "value": [d.value for d in self.details],
                "noise_sd": [d.noise_sd for d in self.details],
                "note": [d.note for d in self.details],
            },
            index=[d.name for d in self.details],
        )

    def predict(
        self, newdata: Any = None, interval: str | None = None, level: float = 0.95
    ) -> pd.Series | pd.DataFrame:
        """Predictions for rows that you may show; free of privacy cost.

        Parameters
        ----------
        newdata : table
            Rows with the formula's columns. A row that cannot be encoded gets NaN.
        interval : {None, "confidence", "prediction"}
            None gives a Series; otherwise a frame with R's columns fit, lwr, upr.
        level : float
            Coverage of the interval.
        """
        if newdata is None:
            raise NotReleasedError(
                "predict() needs newdata: fitted values of the private rows are not released."
            )
        if interval not in (None, "none", "confidence", "prediction"):
            raise ArgumentError(
                f"interval must be None, 'confidence' or 'prediction', not {interval!r}."
            )
        with naming("newdata"):
            x, offset = self.design.matrix(newdata)
        index = newdata.index if isinstance(newdata, pd.DataFrame) else None
        fit = x @ self.coefficients.coef + offset
        if interval in (None, "none"):
            return pd.Series(fit, index=index, name="fit")
        variance = np.einsum("ij,jk,ik->i", x, self.coefficients.vcov, x)
        if interval == "prediction":
            variance = variance + self.sigma**2
        half = z_quantile(level) * np.sqrt(variance)
        return pd.DataFrame({"fit": fit, "lwr": fit - half, "upr": fit + half}, index=index)

    def update(self, formula: str) -> LinearModel:
        """A sub-model from the same release, as R's update: ``fit.update("~ . - x2")``.

        Post-processing of the released moments: no further privacy spent. A term that was not in the
        fit needs the rows again, and so a new call.
        """
        text, kept = self.design.columns_of(formula)
        if not kept:
            raise ArgumentError("the sub-model has no columns left.")
        estimate = restrict(self.estimate, kept)
        terms = [self.coefficients.terms[k] for k in kept]
        return replace(
            self,
            call=f'update({self.call}, "{formula}")',
            design=self.design.subset(text, kept),
            coefficients=coefficients_of(terms, estimate),
            estimate=estimate,
            system=None,
            details=self.details,
            notes=("Computed from the release of the larger model: no further privacy spent.",),
        )

    def path(
        self, penalty: str = "lasso", lambdas: Sequence[float] | None = None, alpha: float = 0.5
    ) -> Path:
        """Coefficients along a penalty: "ridge", "lasso" or "elasticnet"; no further privacy spent.

        The released moments are a private sufficient statistic, so the whole path is
        post-processing. The loss is (1/2n)|y - Xb|^2 + lambda (alpha |b|_1 + (1 - alpha)/2 |b|^2)
        on columns scaled to unit root mean square; the intercept is not penalised.
        """
        grid, coef = penalised_path(self.estimate, self._intercept(), penalty, lambdas, alpha)
        frame = pd.DataFrame(coef, columns=list(self.coefficients.terms))
        frame.insert(0, "lambda", grid)
        return Path(penalty, frame)


@dataclass(frozen=True, repr=False, eq=False)
class Path:
    """Coefficients along a penalty, computed from one release."""

    penalty: str
    coef: pd.DataFrame

    def __repr__(self) -> str:
        head = f"{self.penalty} path from the released moments: no further privacy spent"
        return f"{head}\n{self.coef.to_string(index=False)}"

    def _repr_html_(self) -> str:
        head = f"<p>{self.penalty} path from the released moments: no further privacy spent</p>"
        return head + str(self.coef.to_html(index=False))


@dataclass(frozen=True, repr=False, eq=False)
class Anova:
    """A Wald test of two nested models."""

    df: int
    chi2: float
    p_value: float
    page: Page

    def __repr__(self) -> str:
        return self.page.to_text()

    def _repr_html_(self) -> str:
        return self.page.to_html()

    def to_markdown(self) -> str:
        """The test as Markdown; `page` has the other forms."""
        return self.page.to_markdown()


def anova(fit1: LinearModel, fit2: LinearModel) -> Anova:
    """Wald test of nested models; costs nothing, the larger fit has all that it needs.

    Examples
    --------
    >>> from dpstats import dp_lm
    >>> from dpstats.datasets import fair
    >>> public, private = fair()
    >>> fit = dp_lm("rate_marriage ~ age + religious", private, public=public, mu=1, seed=1)
    >>> anova(fit, fit.update("~ . - age")).df
    1
    """
    if not (isinstance(fit1, LinearModel) and isinstance(fit2, LinearModel)):
        raise ArgumentError("anova compares two fitted models: anova(fit, fit.update('~ . - x')).")
    if fit1.coefficients.terms == fit2.coefficients.terms:
        raise ArgumentError("the two models are the same; anova compares nested models.")
    if len(fit1.coefficients.terms) < len(fit2.coefficients.terms):
        small, large = fit1, fit2
    else:
        small, large = fit2, fit1
    extra = [t for t in large.coefficients.terms if t not in small.coefficients.terms]
    same = small.design.response == large.design.response
    if not same or not extra or not set(small.coefficients.terms) < set(large.coefficients.terms):
        raise ArgumentError(
            "anova compares nested models of one response: every column of one fit must be in the "
            f"other. Columns here: {list(fit1.coefficients.terms)} and "
            f"{list(fit2.coefficients.terms)}."
        )
    where = [large.coefficients.terms.index(t) for t in extra]
    chi2 = wald(large.coefficients.coef, large.coefficients.vcov, where)
    p = float(stats.chi2.sf(chi2, len(extra)))
    free = small.privacy is large.privacy
    page = wald_page([small.formula, large.formula], len(extra), chi2, p, free)
    return Anova(len(extra), chi2, p, page)
