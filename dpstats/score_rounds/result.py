"""What every fitted model answers from its release, without touching a row again.

Sub-models, penalised paths, tests and predictions are computed from released moments
(`dpstats.score_rounds.submodel`) and cost no further privacy.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import numpy as np
import pandas as pd

from dpstats.accounting.unit import PrivacyUnit
from dpstats.arguments import check_vcov, naming, one_of, shown, spelled
from dpstats.arrays import Floats
from dpstats.errors import ArgumentError, NotReleasedError
from dpstats.frame import (
    Design,
    PublicMoments,
    SpentOn,
    columns_of,
    design_matrix,
    subset_design,
)
from dpstats.mechanism.session import Session
from dpstats.report.coefficients import plot_coefficients, plot_path
from dpstats.report.diagnostics import with_person_note
from dpstats.report.format import format_scalar
from dpstats.report.model import ERROR_NAMES, ModelPage, print_page, terms_page, wald_page
from dpstats.report.privacy import PrivacyStatement
from dpstats.report.released import Diagnostic
from dpstats.report.result import Coefficients, Result
from dpstats.report.table import Column, OnPage, Page, Printed, Table
from dpstats.score_rounds.bounds import ReleasedSystem
from dpstats.score_rounds.estimate import Estimate, public_least_squares
from dpstats.score_rounds.hypotheses import (
    columns_by_term,
    constraints,
    denominator,
    kept_beside,
    wald_of,
    wald_p,
)
from dpstats.score_rounds.releases import ScoreSession
from dpstats.score_rounds.submodel import penalised_path, restrict, wald

_OF_LARGER = "Of the larger model: "
_MANY = 1000.0
"""Degrees of freedom from which on a t distribution is taken to be normal: 95 % intervals are then wider
by 0.13 % at most."""
PASSES = "passes"


def coefficients_of(terms: Sequence[str], estimate: Estimate) -> Coefficients:
    """Named coefficients with their two covariances."""
    return Coefficients(tuple(terms), estimate.coef, estimate.sampling, estimate.privacy)


class Fit(Protocol):
    """What a method hands over, whatever the model."""

    @property
    def estimate(self) -> Estimate: ...
    @property
    def system(self) -> ReleasedSystem | None: ...
    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]: ...
    @property
    def cautions(self) -> tuple[str, ...]: ...


def model_items(
    fit: Fit,
    design: Design,
    moments: PublicMoments | None,
    n: int,
    session: Session[Any],
    unit: PrivacyUnit,
    delta: float | None,
    public_fit: Estimate | None,
) -> dict[str, Any]:
    """What every model takes from a fit, its public data and the session that it has spent.

    ``public_fit`` is that of the public rows alone. What is made of moments that came from seeded noise
    is seeded too.
    """
    return {
        "design": design,
        "coefficients": coefficients_of(design.terms, fit.estimate),
        "privacy": PrivacyStatement.of(
            session.granted, session.releases, session.seeded or _seeded(moments), delta, unit
        ),
        "estimate": fit.estimate,
        "system": fit.system,
        "public": None if moments is None else moments.gram,
        "public_fit": public_fit,
        "public_spent": None if moments is None else moments.spent,
        "n": n,
        "m": None if moments is None else moments.m,
        "dropped": 0 if moments is None else moments.dropped,
        "details": with_person_note(fit.diagnostics, unit) + _passes_line(session),
        "cautions": fit.cautions,
    }


def _passes_line(session: Session[Any]) -> tuple[Diagnostic, ...]:
    """How often a fit by score steps goes over the rows."""
    if not isinstance(session, ScoreSession):
        return ()
    return (Diagnostic(PASSES, session.passes, None, "over the rows, which follow from releases"),)


def _seeded(moments: PublicMoments | None) -> bool:
    return moments is not None and moments.spent is not None and moments.spent.seeded


def least_squares_of(moments: PublicMoments | None) -> Estimate | None:
    """Least squares of the public data alone, where they say that much."""
    if moments is None:
        return None
    return public_least_squares(moments.gram, moments.cross, moments.yy, moments.m)


@dataclass(frozen=True, repr=False, eq=False)
class Model(Result):
    """A fit of a formula: coefficients, the moments they came from, and what was spent."""

    call: str
    method: str
    design: Design
    coefficients: Coefficients
    privacy: PrivacyStatement
    estimate: Estimate
    system: ReleasedSystem | None
    public: Floats | None
    public_fit: Estimate | None
    public_spent: SpentOn | None
    n: int
    m: int | None
    dropped: int
    eta: float
    details: tuple[Diagnostic, ...]
    notes: tuple[str, ...]
    qualified: tuple[str, ...]
    """Those of the notes that qualify the guarantee: whatever is made of the fit keeps them."""
    cautions: tuple[str, ...]
    """Those of the notes that say that cutting may have moved coefficients: sub-models keep them too."""

    def __post_init__(self) -> None:
        freedom = self._freedom()
        named = replace(self.coefficients, freedom=freedom if freedom < _MANY else math.inf)
        object.__setattr__(self, "coefficients", named)

    def _freedom(self) -> float:
        """Degrees of freedom of the variance in the standard errors; infinite where it is known.

        Of rows, as R's; of persons, by whom errors are clustered, one less than there are, as fixest's.
        """
        if self._fixed_dispersion:
            return math.inf
        if self.privacy.protected.jointly:
            return max(self.n - 1.0, 1.0)
        return max(float(self.estimate.n) - len(self.coefficients.coef), 1.0)

    @abstractmethod
    def _page(self, with_bounds: bool) -> ModelPage:
        """What the pages of the model show."""

    def _page_items(self, with_bounds: bool) -> dict[str, Any]:
        """What every page shows."""
        alone = self.method == "anchored" and self.public is None
        return {
            "call": self.call,
            "method": "alone" if alone else self.method,
            "coefficients": self.coefficients,
            "privacy": self.privacy,
            "bounds": self._bounds() if with_bounds else (),
            "diagnostics": tuple(line for line in self.details if line.name != PASSES),
            "n": self.n,
            "filled": self.estimate.n,
            "m": None if self.public_spent is not None else self.m,
            "dropped": self.dropped,
            "errors": self.estimate.errors,
            "notes": self.notes,
        }

    def _printed(self) -> Page:
        return print_page(self._page(with_bounds=False))

    def _repr_html_(self) -> str:
        return print_page(self._page(with_bounds=False), as_table=True).to_html()

    def plot(
        self,
        terms: Sequence[str] | None = None,
        level: float = 0.95,
        intercept: bool = False,
        ax: Any = None,
    ) -> Any:
        """Coefficients with their intervals, the first on top.

        The thick bar is the interval that sampling alone would give; the thin line is that of
        `confint`, with the noise for privacy. Needs matplotlib (``pip install "dpstats[plot]"``).

        Parameters
        ----------
        terms : sequence of str, optional
            Which ones, and in which order; by default all but the intercept.
        level : float
            Of the intervals.
        intercept : bool
            Whether the intercept is shown when no terms are named.
        ax : matplotlib Axes, optional

        Returns
        -------
        matplotlib Axes
        """
        return plot_coefficients(self.coefficients, terms, level, intercept, ax)

    @property
    def formula(self) -> str:
        """The formula that was fitted."""
        return self.design.formula

    @property
    def nobs(self) -> Any:
        """Private rows: all of them, or about how many `n` persons have, as was released."""
        return self.estimate.n if self.privacy.protected.jointly else self.n

    def _glance_items(self) -> dict[str, list[Any]]:
        """What every one-row description holds."""
        df: dict[str, list[Any]] = {"df_residual": [self.estimate.n - len(self.coefficients.coef)]}
        if self.privacy.protected.jointly:
            df["persons"] = [self.n]
        return df | super()._glance_items() | {"vcov": [self.estimate.errors]}

    def _predictor(self, newdata: Any) -> tuple[Floats, Floats, Floats, pd.Index | None]:
        """Linear predictor with offset, its variance and degrees of freedom, and the index."""
        if newdata is None:
            raise NotReleasedError(
                "predict() needs newdata: fitted values of the private rows are not released."
            )
        with naming("newdata"):
            x, offset = design_matrix(self.design, newdata)
        index = newdata.index if isinstance(newdata, pd.DataFrame) else None
        c = self.coefficients
        return x @ c.coef + offset, c.error_of(x) ** 2, c.freedom_of(x), index

    def table_facts(self) -> dict[str, str | float]:
        """What a table of several fits shows below the coefficients, beside rows and privacy."""
        return {}

    @property
    def __maketables_coef_table__(self) -> pd.DataFrame:
        """For the package maketables: coefficients by its names."""
        frame = self.tidy().set_index("term").rename_axis("Coefficient")
        names = {"estimate": "b", "std_error": "se", "statistic": "t", "p_value": "p"}
        more = {"conf_low": "ci95l", "conf_high": "ci95u"}
        return frame[[*names, *more]].rename(columns=names | more)

    @property
    def __maketables_depvar__(self) -> str:
        """For maketables: the response."""
        return self.design.response or ""

    def __maketables_stat__(self, key: str) -> Any:
        """For maketables: one number about the fit; None for what there is not."""
        others = {"N": "nobs", "r2": "r_squared", "adj_r2": "adj_r_squared", "rmse": "sigma"}
        glance = self.glance().iloc[0].to_dict()
        if key == "se_type":
            return f"{ERROR_NAMES[self.estimate.errors]}, with the noise for privacy"
        return glance.get(others.get(key, key))

    @property
    def __maketables_stat_labels__(self) -> dict[str, str]:
        """For maketables: labels of what it does not know."""
        return {
            "mu": "mu (GDP)",
            "slack": "mu holds up to delta0",
            "epsilon": "epsilon",
            "delta": "delta",
            "unit": "Unit of privacy",
            "seeded": "Seeded: not for release",
            "method": "Method",
        }

    @property
    def __maketables_default_stat_keys__(self) -> list[str]:
        """For maketables: what a table shows unless told otherwise."""
        glance = self.glance().iloc[0].to_dict()
        some = ["r2"] if "r_squared" in glance else []
        slack = ["slack"] if glance["slack"] else []
        seeded = ["seeded"] if glance["seeded"] else []
        return ["N", *some, "mu", *slack, "epsilon", "delta", "unit", *seeded]

    @property
    def __maketables_vcov_info__(self) -> dict[str, Any]:
        """For maketables: what standard errors cover."""
        return {"vcov_type": self.__maketables_stat__("se_type"), "clustervar": None}

    @property
    def _fixed_dispersion(self) -> bool:
        """Whether the dispersion is known, whatever the terms."""
        return False

    _submodel_note = "Computed from the release of the larger model: no further privacy spent."

    @spelled
    def update(self, formula: str = "~ .", *, vcov: str | None = None) -> Self:
        """A sub-model from the same release, as R's update: ``fit.update("~ . - x2")``.

        Post-processing of the released moments: no further privacy spent. A term that was not in the
        fit needs the rows again, and so a new call; so does the sandwich, where it was not released.
        ``vcov="iid"`` gives the errors of constant variance of a fit that has the sandwich.
        """
        if vcov is not None:
            check_vcov(vcov)
        fit = self if vcov in (None, self.estimate.errors) else self._with_classical_errors(vcov)
        asked = "" if vcov is None else f', vcov="{vcov}"'
        call = f'update({self.call}, "{formula}"{asked})'
        text, kept = columns_of(self.design, formula)
        if vcov is not None and len(kept) == len(self.coefficients.terms):
            return replace(fit, call=call)
        return fit._restricted(call, text, kept)

    def _with_classical_errors(self, vcov: str | None) -> Self:
        classical = self.estimate.classical
        if vcov == "hetero" or classical is None:
            raise NotReleasedError(
                "the sandwich is a release of its own, which this fit does not have: call again with "
                "vcov='hetero'."
            )
        estimate = replace(self.estimate, sampling=classical, errors="iid", classical=None)
        terms = self.coefficients.terms
        return replace(self, estimate=estimate, coefficients=coefficients_of(terms, estimate))

    def _restricted(self, call: str, text: str, kept: list[int]) -> Self:
        if not kept:
            raise ArgumentError("the sub-model has no columns left: '~ 1' keeps a constant.")
        estimate = restrict(self.estimate, kept, self._fixed_dispersion)
        terms = [self.coefficients.terms[k] for k in kept]
        alone = self.public_fit
        if alone is not None:
            alone = restrict(alone, kept, self._fixed_dispersion)
        cautions = tuple(
            note if note.startswith(_OF_LARGER) else _OF_LARGER + note for note in self.cautions
        )
        return replace(
            self,
            call=call,
            design=subset_design(self.design, text, kept),
            coefficients=coefficients_of(terms, estimate),
            estimate=estimate,
            public_fit=alone,
            system=None,
            notes=(self._submodel_note, *cautions, *self.qualified),
            cautions=cautions,
        )

    @spelled
    def wald_test(self, hypothesis: Any) -> Anova:
        """Wald test of linear hypotheses; no further privacy spent.

        Its p value is that of a chi-square, or of an F test where `confint` has a t distribution.

        Parameters
        ----------
        hypothesis : str, list of str, or matrix
            ``"x1 = x2"``, ``["x1 = 0", "g[T.b] = 1"]`` (tested together), or R of R b = 0.

        Examples
        --------
        >>> from dpstats import dp_lm
        >>> from dpstats.datasets import fair
        >>> public, private = fair()
        >>> fit = dp_lm("rate_marriage ~ age + religious", private, public=public, mu=1, seed=1)
        >>> fit.wald_test("age = religious").df
        1
        """
        terms = self.coefficients.terms
        matrix, values, text = constraints(hypothesis, terms)
        c = self.coefficients
        chi2 = wald_of(c.coef, c.vcov, matrix, values)
        total, sampling = (matrix @ part @ matrix.T for part in (c.vcov, c.sampling))
        below = denominator(total, sampling, c.freedom)
        p = wald_p(chi2, len(matrix), below)
        lines = [(text, len(matrix), chi2, p)]
        return Anova(len(matrix), chi2, p, terms_page(lines, "Wald test", math.isfinite(below)))

    def _wald(self) -> tuple[float, int, float] | None:
        """Chi-square of all terms but the intercept, their number, and the denominator's freedom."""
        c = self.coefficients
        where = [k for k in range(len(c.terms)) if k != self.design.constant]
        if not where or not np.isfinite(c.vcov).all():
            return None
        return wald(c.coef, c.vcov, where), len(where), self._denominator(where)

    def _denominator(self, where: Sequence[int]) -> float:
        """Degrees of freedom below a test that these coefficients are zero."""
        c, at = self.coefficients, np.ix_(where, where)
        return denominator(c.vcov[at], c.sampling[at], c.freedom)

    @spelled
    def path(
        self, penalty: str = "lasso", lambdas: Sequence[float] | None = None, alpha: float = 0.5
    ) -> Path:
        """Coefficients along a penalty: "ridge", "lasso" or "elasticnet"; no further privacy spent.

        The whole path is post-processing. The loss is ``(1/2)(b - fit)'M(b - fit)`` plus the penalty
        ``lambda (alpha |b|_1 + (1 - alpha)/2 |b|^2)`` on columns scaled to unit diagonal of M, the
        released second moments or information: for a linear model that is the penalised least-squares
        loss, for others its quadratic approximation at the fit. The intercept is not penalised. One
        penalty is chosen by ``path().best("BIC")``.
        """
        grid, coef = penalised_path(self.estimate, self.design.constant, penalty, lambdas, alpha)
        frame = pd.DataFrame(coef, columns=list(self.coefficients.terms))
        frame.insert(0, "lambda", grid)
        return Path(penalty, frame, self.coefficients, float(self.nobs), self.design.constant)


_SHOWN_PENALTIES = 10


@dataclass(frozen=True, repr=False, eq=False)
class Path(Printed):
    """Coefficients along a penalty, computed from one release.

    Attributes
    ----------
    penalty : str
    coef : DataFrame
        One row per penalty: its size, then the coefficients.

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
    unpenalised: Coefficients | None = None
    n: float = math.nan
    constant: int | None = None

    def best(self, criterion: str = "BIC") -> BestPenalty:
        """The penalty whose choice of columns has the smallest criterion.

        The Wald statistic of the columns that a penalty leaves out, by standard errors that hold the
        sampling and the noise of all that was released, and log(n) ("BIC") or 2 ("AIC") for each column
        that it keeps: the least-squares approximation of Wang and Leng (2007). Of penalties with the
        same columns the smallest is taken, which shrinks the least. Standard errors after a choice take
        it for granted.

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
        if c is None or not np.isfinite(c.vcov).all():
            raise NotReleasedError("noise hides the standard errors that a criterion needs.")
        each = math.log(self.n) if criterion.upper() == "BIC" else 2.0
        coef = self.coef.iloc[:, 1:].to_numpy(dtype=float)
        found = []
        for row in coef:
            out = [int(j) for j in np.flatnonzero(row == 0) if j != self.constant]
            lost = wald(c.coef, c.vcov, out) if out else 0.0
            found.append(lost + each * (len(row) - len(out)))
        values = np.array(found)
        lambdas = self.coef["lambda"].to_numpy()
        at = min(np.flatnonzero(values == values.min()), key=lambda k: float(lambdas[k]))
        series = pd.Series(coef[at], index=list(c.terms), name="estimate")
        return BestPenalty(criterion.upper(), float(lambdas[at]), float(values[at]), series)

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
        more = f"; {len(places)} of {rows} penalties, .coef has all" if rows > len(places) else ""
        note = f"{self.penalty} path from the released moments: no further privacy spent{more}"
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

    See Also
    --------
    Path : Whose method `best` makes one.
    """

    criterion: str
    penalty: float
    value: float
    estimate: pd.Series

    def coef(self) -> pd.Series:
        """Coefficients at this penalty, indexed by the columns of the design."""
        return self.estimate.copy()

    @property
    def kept(self) -> tuple[str, ...]:
        """Columns that are not left out."""
        return tuple(self.estimate.index[self.estimate != 0])

    @property
    def left_out(self) -> tuple[str, ...]:
        """Columns that are: ``fit.update("~ . - x")`` fits the others again, at no cost."""
        return tuple(self.estimate.index[self.estimate == 0])

    def __repr__(self) -> str:
        head = f"Smallest {self.criterion} at lambda = {self.penalty:.4g}: no further privacy spent"
        out = ", ".join(self.left_out)
        return f"{head}\n{self.estimate.to_string()}" + (f"\nLeft out: {out}" if out else "")


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


@dataclass(frozen=True, repr=False, eq=False)
class TermTests(OnPage):
    """Wald tests of the terms of one model.

    Attributes
    ----------
    frame : DataFrame
        A line for each term: its name, degrees of freedom, statistic and p value.
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
    ['term', 'df', 'chi2', 'p_value']
    """

    frame: pd.DataFrame
    page: Page


def _terms_tested(fit: Model, type: int) -> TermTests:
    """Every term of a fit, in the sub-model that the type of test asks for."""
    lines = []
    for k, (_, name, at) in enumerate(columns_by_term(fit.design)):
        kept = kept_beside(fit.design, k, type)
        # with the variance of the whole model, as R's table has it
        part = restrict(fit.estimate, kept, fixed_dispersion=True)
        where = [kept.index(j) for j in at]
        total = part.sampling + part.privacy
        chi2, block = wald(part.coef, total, where), np.ix_(where, where)
        below = denominator(total[block], part.sampling[block], fit.coefficients.freedom)
        lines.append((name, len(at), chi2, wald_p(chi2, len(at), below)))
    how = {1: "in the order of the formula", 2: "each beside those that do not contain it"}
    title = f"Wald tests of the terms, {how.get(type, 'each beside all others')}"
    frame = pd.DataFrame(lines, columns=["term", "df", "chi2", "p_value"])
    return TermTests(frame, terms_page(lines, title, math.isfinite(fit.coefficients.freedom)))


@spelled
def anova(fit1: Model, fit2: Model | None = None, *, type: int | str = 1) -> Anova | TermTests:
    """Wald test of nested models, or of the terms of one; costs nothing, the fit has all it needs.

    Parameters
    ----------
    fit1, fit2 : models
        Two nested ones; or one, whose terms are tested one by one.
    type : {1, 2, 3}, or {"I", "II", "III"}
        Of one model: each term after those before it, as R's ``anova``; beside all terms that do not
        contain it, as ``car::Anova`` and (for the last terms) ``drop1``; or beside all others.

    Returns
    -------
    Anova or TermTests
        ``.df``, ``.chi2``, ``.p_value`` of two models; ``.frame`` of the terms of one. Both print.

    Raises
    ------
    ArgumentError
        If the two are the same, or neither is nested in the other; or of a wrong ``type``.

    See Also
    --------
    LinearModel.wald_test : Hypotheses about coefficients.
    etable : Models side by side.

    References
    ----------
    Wald (1943), "Tests of Statistical Hypotheses Concerning Several Parameters When the Number of
    Observations is Large", Transactions of the AMS 54.

    Examples
    --------
    >>> from dpstats import dp_lm
    >>> from dpstats.datasets import fair
    >>> public, private = fair()
    >>> fit = dp_lm("rate_marriage ~ age + religious", private, public=public, mu=1, seed=1)
    >>> anova(fit, fit.update("~ . - age")).df
    1
    >>> list(anova(fit).frame.term)
    ['age', 'religious']
    """
    if fit2 is None and isinstance(fit1, Model):
        which = {"I": 1, "II": 2, "III": 3}.get(type, type) if isinstance(type, str) else type
        if which not in (1, 2, 3):
            raise ArgumentError(f"type must be 1, 2 or 3, not {shown(type)}.")
        return _terms_tested(fit1, int(which))
    if not (isinstance(fit1, Model) and fit1.__class__ is fit2.__class__):
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
    below = large._denominator(where)
    p, few = wald_p(chi2, len(extra), below), math.isfinite(below)
    free = small.privacy is large.privacy
    page = wald_page([small.formula, large.formula], len(extra), chi2, p, free, few)
    return Anova(len(extra), chi2, p, page)
