"""A released mean, with the covariance that was released beside it or is public."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpstats.arrays import Floats
from dpstats.errors import ArgumentError, FormulaError, SchemaError
from dpstats.frame import Design, PublicMoments, SpentOn, declare_design
from dpstats.models.gaussian.ellipses import Ellipse, plot_ellipses
from dpstats.models.gaussian.fit import CovarianceNoise
from dpstats.models.gaussian.page import (
    ALONE,
    MEAN_METHODS,
    MVNORM_METHODS,
    matrix_parts,
    mean_table,
    rows_fact,
    summary_page,
)
from dpstats.models.gaussian.synthetic import check_size, draw_normal
from dpstats.report.format import format_scalar
from dpstats.report.frames import WholeFrame
from dpstats.report.model import printed, unwarned
from dpstats.report.privacy import PrivacyStatement
from dpstats.report.released import Diagnostic
from dpstats.report.result import Coefficients, Result
from dpstats.report.table import Page, Part
from dpstats.report.texts import Heading


@dataclass(frozen=True, repr=False, eq=False)
class GaussianModel(Result):
    """A private mean and covariance; what it returns is released, public, or computed from these.

    Attributes
    ----------
    mean : Series
    cov : DataFrame
        Released, or the public one that `dp_mean` was given: see `cov_source`.
    cov_source : str
        Where the covariance comes from.
    privacy : PrivacyStatement
    nobs : int
    call, method : str
        The call as it was typed, and the method that it used.
    n, m : int or None
        Private rows (or persons) and public rows; both numbers are public.
    notes : tuple of str
        What a reader must know before the numbers.

    See Also
    --------
    dp_mean, dp_mvnorm : What makes one.

    Examples
    --------
    >>> from dpstats import dp_mvnorm
    >>> from dpstats.datasets import fair
    >>> public, private = fair()
    >>> fit = dp_mvnorm("~ age + educ", private, public=public, rho=0.5, seed=1)
    >>> fit.mean.index.tolist(), fit.cov.shape
    (['age', 'educ'], (2, 2))
    >>> fit.sample(3, seed=1).columns.tolist()
    ['age', 'educ']
    """

    _other_names: ClassVar[dict[str, str]] = Result._other_names | {
        **dict.fromkeys(("estimate", "estimate_", "location_", "means_", "means"), "mean"),
        "mu": "mean, and privacy.mu for the budget",
        **dict.fromkeys(("sd", "stddev"), "cov.to_numpy().diagonal() ** 0.5"),
        "std": "cov.to_numpy().diagonal() ** 0.5, or summary()",
        **dict.fromkeys(("covariance_", "covariances_", "covariance", "covariances"), "cov"),
        "predict": "to_moments('y ~ x') and dp_lm, for a regression; sample(n) draws rows",
    }
    _instead_of_rows = "sample(n) draws synthetic ones; "
    call: str
    method: str
    formula: str
    design: Design
    coefficients: Coefficients
    matrix: Floats
    cov_source: str
    noise: CovarianceNoise | None
    relative_error: float | None
    privacy: PrivacyStatement
    n: int
    m: int | None
    dropped: int
    error: tuple[Any, ...]
    details: tuple[Diagnostic, ...]
    notes: tuple[str, ...]
    public_points: Floats | None
    warned: tuple[str, ...] = ()

    @property
    def terms(self) -> tuple[str, ...]:
        """Names of the columns."""
        return self.coefficients.terms

    @property
    def mean(self) -> pd.Series:
        """The mean of every column."""
        return pd.Series(self.coefficients.coef, index=list(self.terms), name="mean")

    @property
    def cov(self) -> pd.DataFrame:
        """The covariance matrix."""
        return self._frame(self.matrix)

    @property
    def corr(self) -> pd.DataFrame:
        """The correlation matrix."""
        size = np.sqrt(np.diag(self.matrix))
        return self._frame(self.matrix / np.outer(size, size))

    @property
    def cov_se(self) -> pd.DataFrame:
        """Standard errors of the entries of the covariance, sampling and privacy together.

        They are those of Gaussian rows, and allow for longer tails as far as counts of lengths show
        them. Where a column is skewed, and noise hides how far, its variance may be too small by
        several of them, as 5 % for gamma(2) with 10 000 rows and mu = 0.3: take a logarithm first.
        """
        if self.noise is None:
            raise ArgumentError(
                f"no errors are known of the covariance ({self.cov_source}); dp_mvnorm releases it "
                "with its errors."
            )
        return self._frame(self.noise.std_error(self.matrix))

    @property
    def condition(self) -> float:
        """Condition number of the covariance."""
        seen = self._seen
        if not seen.any():
            return float("nan")
        values = np.linalg.eigvalsh(self.matrix[np.ix_(seen, seen)])
        return float(values[-1] / max(values[0], 1e-17 * values[-1]))  # beyond, floats end

    @property
    def _seen(self) -> NDArray[np.bool_]:
        """Columns of which something is known: not those that the noise hides."""
        return np.isfinite(np.diag(self.matrix))

    def _frame(self, values: Floats) -> pd.DataFrame:
        return pd.DataFrame(values, index=list(self.terms), columns=list(self.terms))

    def _covariance_parts(self) -> list[Part]:
        released = self.noise is not None
        title = "Covariance" if released else f"Covariance ({self.cov_source})"
        return matrix_parts(title, self.terms, self.matrix, released=released)

    def _printed(self) -> Page:
        means = mean_table(self.coefficients, self.matrix, self.cov_source, brief=True)
        parts = [Heading("Mean"), means, *self._covariance_parts()]
        return printed(self.call, parts, self.privacy, unwarned(self.notes, self.warned))

    def _summary(self) -> Page:
        """Means and covariance with their errors, the privacy spent, bounds and diagnostics."""
        methods = MEAN_METHODS if self.noise is None else MVNORM_METHODS
        method = methods[self.method]
        if self.m is None:
            method = ALONE["dp_mean" if self.noise is None else "dp_mvnorm"]
        facts = [
            ("Method", method),
            ("Covariance", self.cov_source),
            rows_fact(self, self.dropped, len(self.terms)),
            ("Condition number of the covariance", format_scalar(self.condition, 4)),
        ]
        if self.relative_error is not None:
            error = f"{format_scalar(self.relative_error, 3)} (relative, Frobenius norm)"
            facts.append(("Expected error of the covariance", error))
        means = mean_table(self.coefficients, self.matrix, self.cov_source)
        parts = [Heading("Means"), means, *self._covariance_parts()]
        if self.noise is not None:
            title = "Standard errors of the covariance (Gaussian rows)"
            parts += matrix_parts(title, self.terms, self.noise.std_error(self.matrix))
        return summary_page(self, facts, parts, rates=self.method == "paper")

    def glance(self) -> pd.DataFrame:
        """One row that describes the fit as a whole."""
        first: dict[str, list[Any]] = {
            "columns": [len(self.terms)],
            "covariance": [self.cov_source],
            "condition": [self.condition],
            "relative_error": [self.relative_error],
        }
        return WholeFrame(first | self._glance_items())

    def sample(self, n: int, seed: int | None = None) -> pd.DataFrame:
        """Synthetic rows of the released Gaussian; free of privacy cost.

        Parameters
        ----------
        n : int
            Rows to draw.
        seed : int, optional
            For rows that can be drawn again; any seed may be shown.
        """
        seen, size = self._seen, check_size(n)
        rows = np.full((size, len(seen)), np.nan)
        mean, matrix = self.coefficients.coef[seen], self.matrix[np.ix_(seen, seen)]
        rows[:, seen] = draw_normal(size, mean, matrix, seed)
        return pd.DataFrame(rows, columns=list(self.terms))

    def to_moments(self, formula: str | None = None) -> PublicMoments:
        """The release as public moments for `dp_lm` or `dp_glm`, which then start from it.

        Parameters
        ----------
        formula : str, optional
            Such as ``"y ~ x1 + x2"`` in columns of this fit; by default one-sided, in all of them.

        Returns
        -------
        PublicMoments
            They record what was spent on them. Used with the same private rows, both calls count.
        """
        if self.noise is None:
            raise ArgumentError(
                "to_moments() needs a released covariance: use dp_mvnorm on the columns of the formula."
            )
        terms = list(self.terms)
        text = formula or "~ " + " + ".join(self.design.formula.removeprefix("~ ").split(" + "))
        plain: dict[str, Any] = {"number": float, "bool": bool}
        schema = {
            name: plain.get(spec.kind, list(spec.levels or ()))
            for name, spec in self.design.columns.items()
        }
        try:
            design = declare_design(text, schema)
        except SchemaError as error:
            reason = str(error).split(";")[0].replace("the schema has", "this fit has")
            raise FormulaError(f"{reason}; it holds {', '.join(terms)}.") from None
        if design.offset_factors:
            raise FormulaError("to_moments() takes no offset: subtract it from the response first.")
        if design.response in design.terms:
            raise FormulaError(
                f"`{design.response}` is the response and also on the right-hand side: leave it "
                "out there."
            )
        terms = [t for t, seen in zip(terms, self._seen, strict=True) if seen]
        needed = [t for t in (*design.terms, design.response) if t not in (None, "Intercept")]
        unknown = [str(t) for t in needed if t not in terms]
        if unknown:
            raise FormulaError(
                f"'{text}' needs `{unknown[0]}`, which this fit does not hold; it holds "
                f"{', '.join(terms)}."
            )
        seen = self._seen
        augmented = np.concatenate([[1.0], self.coefficients.coef[seen]])
        full = np.outer(augmented, augmented)
        full[1:, 1:] += self.matrix[np.ix_(seen, seen)]
        place = [0 if t == "Intercept" else 1 + terms.index(t) for t in design.terms]
        gram = full[np.ix_(place, place)]
        cross, yy = None, None
        if design.response is not None:
            y = 1 + terms.index(design.response)
            cross, yy = full[place, y], float(full[y, y])
        moments = PublicMoments.declare(text, schema, gram, m=self._worth(), cross=cross, yy=yy)
        unit = self.privacy.protected
        spent = SpentOn(self.privacy.mu, unit.times, unit.person, self.privacy.seeded)
        return replace(moments, spent=spent)

    def _worth(self) -> int:
        """The number of rows whose sample covariance would be as exact as the released one.

        In columns whose covariance has errors; if there are none, one row.
        """
        assert self.noise is not None
        known = np.isfinite(np.diag(self.noise.shape))
        if not known.any():
            return 1
        at = np.ix_(known, known)
        shape = np.linalg.solve(self.matrix[at], self.noise.shape[at])
        unit = float(np.trace(shape)) / len(shape)
        return max(int(2 / (2 / self.n + (self.noise.sd * unit) ** 2)), 1)

    def plot(
        self, x: str | None = None, y: str | None = None, level: float = 0.95, ax: Any = None
    ) -> Any:
        """The ellipse that holds ``level`` of the released Gaussian in two columns, and public points.

        Parameters
        ----------
        x, y : str, optional
            Columns; by default the first two.
        level : float
        ax : matplotlib axes, optional

        Returns
        -------
        matplotlib axes
        """
        name = "released Gaussian"
        if self.cov_source == "public rows":
            name = f"released mean, covariance: {self.cov_source}"
        ellipse = Ellipse(name, self.coefficients.coef, self.matrix)
        return plot_ellipses(self.terms, [ellipse], self.public_points, x, y, level, ax)
