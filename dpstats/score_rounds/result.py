"""What every fitted model answers from its release, without touching a row again.

Sub-models, penalised paths, tests and predictions are computed from released moments
(`submodel.py`, `path.py`, `anova.py`) and cost no further privacy.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import pandas as pd

from dpstats.accounting.unit import PrivacyUnit
from dpstats.arguments import check_vcov, one_of, spelled
from dpstats.arrays import Floats
from dpstats.errors import ArgumentError, NotReleasedError
from dpstats.frame import (
    Design,
    PublicMoments,
    SpentOn,
    columns_of,
    predicted_rows,
    subset_design,
    term_named,
    terms_named,
    warn_of_left_out,
)
from dpstats.mechanism.session import Session
from dpstats.report.coefficients import plot_coefficients
from dpstats.report.diagnostics import with_person_note
from dpstats.report.model import ERROR_NAMES, ModelPage, errors_name, print_page
from dpstats.report.privacy import PrivacyStatement
from dpstats.report.released import Diagnostic
from dpstats.report.result import Coefficients, Result
from dpstats.report.table import Page
from dpstats.report.wald import WaldTest, terms_page
from dpstats.score_rounds.bounds import ReleasedSystem
from dpstats.score_rounds.estimate import Estimate, public_least_squares
from dpstats.score_rounds.hypotheses import columns_by_term, constraints
from dpstats.score_rounds.inflation import variance_inflation
from dpstats.score_rounds.notes import CUT_ALLOWANCE, unclustered
from dpstats.score_rounds.path import Path, penalised_path
from dpstats.score_rounds.releases import ScoreSession
from dpstats.score_rounds.submodel import restrict
from dpstats.score_rounds.wald_tests import Anova

_OF_LARGER = "Of the larger model: "
_MANY = 1000.0
"""Degrees of freedom from which on a t distribution is taken to be normal: 95 % intervals are then wider
by 0.13 % at most."""
PASSES = "passes"
_SHOWN = 3
_ALIKE = 3.0
"""Times that what is left out adds to a sandwich, over what it adds by chance: of products of normal
columns. Where sums run over persons, as often again as these have rows."""
_MATTERS = 0.15
"""So much of the variance of errors, by that, from which the sandwich of a sub-model is not known."""
_OWN_SANDWICH = (
    "Standard errors are not given: what is left out matters, and the sandwich was released for the "
    "errors of the larger model. Fit the smaller one with a budget of its own; or, where the variance "
    'of errors is constant, update(..., vcov="iid").'
)

_LEAVES_HIDDEN = (
    "Standard errors are not given: what is left out has coefficients whose errors noise hides, and the "
    "others would take these on. Fit the smaller model with a budget of its own."
)


def _growth(larger: Estimate, smaller: Estimate) -> float:
    """Growth of the variance of errors by what is left out, where errors allow for any variance."""
    if larger.errors == "iid" or not larger.dispersion or smaller.dispersion is None:
        return 1.0
    return smaller.dispersion / larger.dispersion


def _of_larger(notes: Sequence[str]) -> tuple[str, ...]:
    """Notes of a model as those of a sub-model of it say them."""
    return tuple(note if note.startswith(_OF_LARGER) else _OF_LARGER + note for note in notes)


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
    @property
    def left_out(self) -> bool:
        """Whether public rows were given, and were no guide."""


def model_items(
    fit: Fit,
    design: Design,
    moments: PublicMoments | None,
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
        "public": None if moments is None or fit.left_out else moments.gram,
        "public_fit": public_fit,
        "public_spent": None if moments is None else moments.spent,
        "n": session.n,
        "m": None if moments is None else moments.m,
        "dropped": 0 if moments is None else moments.dropped,
        "left_out": fit.left_out,
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


_WALD = "wald_test('x1 = 0')"


def least_squares_of(moments: PublicMoments | None) -> Estimate | None:
    """Least squares of the public data alone, where they say that much."""
    if moments is None:
        return None
    return public_least_squares(moments.gram, moments.cross, moments.yy, moments.m)


@dataclass(frozen=True, repr=False, eq=False)
class Model(Result):
    """A fit of a formula: coefficients, the moments they came from, and what was spent."""

    _other_names: ClassVar[dict[str, str]] = Result._other_names | {
        **dict.fromkeys(("df_resid", "df_residual"), "glance().df_residual"),
        "scale": "glance()",
        **dict.fromkeys(("plot_coef", "coefplot", "plot_coefficients"), "plot()"),
        "exposure": "offset(log(time)) in the formula",
        **dict.fromkeys(("anova", "fvalue"), "anova(fit)"),
        **dict.fromkeys(("drop1", "step"), "anova(fit, type=3), and path()"),
        **dict.fromkeys(("f_test", "t_test", "wald", "test", "lincom"), _WALD),
        **dict.fromkeys(
            ("linear_hypothesis", "linearHypothesis", "hypothesis", "hypotheses"), _WALD
        ),
        **dict.fromkeys(
            ("nlcom", "delta_method", "deltaMethod"),
            "coef() and vcov(), of which a function of coefficients has g' V g",
        ),
        **dict.fromkeys(("coeftest", "get_robustcov_results"), "summary(), and vcov= of the call"),
    }
    _instead_of_likelihood = (
        " Compare nested models by anova(fit, fit.update(...)), which spends nothing; "
        "path() has a choice of columns, by BIC."
    )
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
    left_out: bool
    eta: float
    details: tuple[Diagnostic, ...]
    notes: tuple[str, ...]
    qualified: tuple[str, ...]
    """The notes that qualify the guarantee: whatever is made of the fit keeps them."""
    cautions: tuple[str, ...]
    """The notes which say that cutting may have moved coefficients."""

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

    def _term_name(self, term: str) -> str:
        """A term of the design as its user wrote it."""
        return term

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
            "left_out": self.left_out,
            "errors": self.estimate.errors,
            "notes": self.notes,
        }

    def _printed(self) -> Page:
        return print_page(self._page(with_bounds=False))

    def _repr_html_(self) -> str:
        return print_page(self._page(with_bounds=False), as_table=True).to_html()

    @spelled
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
        known = self.coefficients.terms
        return plot_coefficients(self.coefficients, terms_named(terms, known), level, intercept, ax)

    def _named(self, name: Any) -> Any:
        return term_named(name, self.coefficients.terms)

    @property
    def formula(self) -> str:
        """The formula that was fitted."""
        return self.design.formula

    @property
    def nobs(self) -> Any:
        """Private rows that the fit uses: about so many, where some surely cannot be used."""
        return self.estimate.n

    def _glance_items(self) -> dict[str, list[Any]]:
        """What every one-row description holds."""
        df: dict[str, list[Any]] = {"df_residual": [self.estimate.n - len(self.coefficients.coef)]}
        vcov = self.estimate.errors
        if self.privacy.protected.jointly:
            df["persons"] = [self.n]
            vcov = errors_name(vcov, self.privacy)
        return df | super()._glance_items() | {"vcov": [vcov]}

    def _predictor(self, newdata: Any) -> tuple[Floats, Floats, Floats, pd.Index | None]:
        """Linear predictor with offset, its variance and degrees of freedom, and the index."""
        if newdata is None:
            raise NotReleasedError(
                "predict() needs newdata: fitted values of the private rows are not released."
            )
        x, offset, index = predicted_rows(self.design, newdata)
        c = self.coefficients
        warn_of_left_out(c.terms, c.left_out, x)
        error = c.error_of(x, averages=False)
        return x @ c.coef + offset, error**2, c.freedom_of(x), index

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

        Of a linear model coefficients are exact, and so are errors of constant variance, ``vcov="iid"``.
        The sandwich is that of the larger fit: where a term that matters is left out errors are not
        given, and a note says so. Of a generalised linear model it is a single Newton step from the
        larger fit, and the same holds of all errors. Fit again then, with a budget of its own.
        """
        if vcov is not None:
            vcov = check_vcov(vcov)
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
        coefficients = coefficients_of(self.coefficients.terms, estimate)
        more = tuple(n for n in unclustered(self.privacy.protected, "iid") if n not in self.notes)
        notes = (*more, *self.notes)
        return replace(self, estimate=estimate, coefficients=coefficients, notes=notes)

    def _misses(self, smaller: Estimate, kept: Sequence[int]) -> bool:
        """Whether the estimate of a sub-model may be off by more than its errors."""
        return False

    def _restricted(self, call: str, text: str, kept: list[int]) -> Self:
        if not kept:
            raise ArgumentError("the sub-model has no columns left: '~ 1' keeps a constant.")
        alike = _ALIKE * max(self.nobs / self.n, 1.0)
        estimate = restrict(self.estimate, kept, self._fixed_dispersion, alike)
        doubts = _of_larger(self.doubts)
        if alike * (_growth(self.estimate, estimate) - 1) > _MATTERS:
            unknown = np.full_like(estimate.sampling, np.nan)  # that of the noise is as it was
            estimate = replace(estimate, sampling=unknown)
            doubts = (_OWN_SANDWICH, *doubts)
        elif np.isnan(estimate.privacy).all() and not np.isnan(self.estimate.privacy).all():
            doubts = (_LEAVES_HIDDEN, *doubts)
        terms = [self.coefficients.terms[k] for k in kept]
        alone = self.public_fit
        if alone is not None:
            alone = restrict(alone, kept, self._fixed_dispersion)
        return replace(
            self,
            call=call,
            design=subset_design(self.design, text, kept),
            coefficients=coefficients_of(terms, estimate),
            estimate=estimate,
            public=None if self.public is None else self.public[np.ix_(kept, kept)],
            public_fit=alone,
            system=None,
            notes=(
                self._submodel_note,
                *unclustered(self.privacy.protected, estimate.errors),
                *doubts,
                *self.qualified,
            ),
            details=tuple(line for line in self.details if line.name != CUT_ALLOWANCE),
            cautions=_of_larger(self.cautions),
        )

    @property
    def doubts(self) -> tuple[str, ...]:
        """The notes that bear on coefficients: sub-models keep them too."""
        asked = (self._submodel_note, *self.qualified)
        return tuple(note for note in self.notes if note not in asked)

    @spelled
    def wald_test(self, hypothesis: Any) -> Anova:
        """Wald test of linear hypotheses together; no further privacy spent.

        Its p value is that of a chi-square, or of an F test where `confint` has a t distribution. Linear
        combinations one by one, with their intervals, are ``fit.hypotheses()``.

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
        self._require_no_factor(hypothesis)
        matrix, values, text = constraints(hypothesis, terms)
        test = WaldTest.that_hold(self.coefficients, matrix, values)
        return Anova.of(test, terms_page([text], [test], "Wald test", self.privacy.derived))

    def _require_no_factor(self, hypothesis: Any) -> None:
        """Raise where a hypothesis is the name of a term, and not that of its one coefficient."""
        for _, name, at in columns_by_term(self.design):
            named = [self.coefficients.terms[k] for k in at]
            if one_of(hypothesis, (name,)) and named != [name]:
                has = "a coefficient" if len(at) == 1 else f"{len(at)} coefficients"
                several = ", ".join(f"'{one} = 0'" for one in named[:_SHOWN])
                more = ", ..." if len(at) > _SHOWN else ""
                raise ArgumentError(
                    f"`{name}` has {has} for its levels: anova(fit, type=3) tests each term as a whole, "
                    f"and wald_test([{several}{more}]) what you write."
                )

    def _wald(self) -> WaldTest | None:
        """Of all terms but the intercept."""
        c = self.coefficients
        where = [int(k) for k in np.flatnonzero(~c.left_out) if k != self.design.constant]
        if not where or not c.known:
            return None
        return WaldTest.that_are_zero(c, where)

    @spelled
    def vif(self) -> pd.DataFrame:
        """Variance inflation of each term, as R's ``car::vif``; no further privacy spent.

        By how much the variance of a coefficient is larger than if no other column said the same, by
        the released second moments or information. Of a term with several columns it is that of
        their confidence ellipsoid (Fox and Monette 1992), and ``scaled`` its root per dimension.

        Examples
        --------
        >>> from dpstats import dp_lm
        >>> from dpstats.datasets import fair
        >>> public, private = fair()
        >>> fit = dp_lm("rate_marriage ~ age + yrs_married", private, public=public, mu=1, seed=1)
        >>> bool((fit.vif().vif > 3).all())
        True
        """
        terms = [(self._term_name(name), at) for _, name, at in columns_by_term(self.design)]
        return variance_inflation(self.estimate, terms)

    @spelled
    def path(
        self, penalty: str = "lasso", lambdas: Sequence[float] | None = None, alpha: float = 0.5
    ) -> Path:
        """Coefficients along a penalty: "ridge", "lasso" or "elasticnet"; no further privacy spent.

        The whole path is post-processing. The loss is ``(1/2)(b - fit)'M(b - fit)`` plus the penalty
        ``lambda (alpha |b|_1 + (1 - alpha)/2 |b|^2)`` on columns scaled to a standard deviation of 1,
        by M, the released second moments or information: for a linear model that is the penalised
        least-squares loss, for others its quadratic approximation at the fit. The intercept is not
        penalised; without one, columns are scaled by their root mean squares. One penalty is chosen
        by ``path().best("BIC")``.
        """
        if not np.isfinite(self.estimate.coef).all():
            raise NotReleasedError("the fit gives no coefficients, and so no path of them.")
        out, constant = self.coefficients.left_out, self.design.constant
        grid, coef = penalised_path(self.estimate, constant, penalty, lambdas, alpha, out)
        frame = pd.DataFrame(coef, columns=list(self.coefficients.terms))
        frame.insert(0, "lambda", grid)
        c, derived = self.coefficients, self.privacy.derived
        return Path(penalty, frame, derived, c, float(self.nobs), self.design.constant)
