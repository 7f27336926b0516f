"""A fitted linear model with effects of persons, or with instruments."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
import pandas as pd

from dpstats.arguments import check_vcov, listed, one_of, shown, spelled
from dpstats.arrays import Floats
from dpstats.errors import ArgumentError, NotReleasedError
from dpstats.frame import Design, columns_of, level_name, term_name
from dpstats.margins.verbs import MarginalModel
from dpstats.models.feols.estimate import InstrumentTest
from dpstats.models.feols.fit import SecondStage
from dpstats.models.feols.page import PanelPage, summary_page
from dpstats.report.bound import Bound
from dpstats.report.coefficients import plot_event_study
from dpstats.report.format import format_scalar
from dpstats.report.frames import WholeFrame, predicted
from dpstats.report.model import Ranges
from dpstats.report.result import coverage, quantile
from dpstats.report.table import Page
from dpstats.score_rounds.estimate import Estimate, r_squared, r_squared_range


@dataclass(frozen=True, repr=False, eq=False)
class PanelModel(MarginalModel):
    """A private fit of `dp_feols`; what is here is released or computed from releases.

    Attributes
    ----------
    n : int
        Persons, or rows where no column names persons.
    nobs : int
        Rows, about as many as was released where persons are counted.
    fixed_effects : tuple of (str, str)
        Columns, and how their effects were taken out.
    endogenous, instruments : tuple of str
    sigma : float
        Residual standard error.
    call, method : str
        The call as it was typed, and the method that it used.
    m : int or None
        Public rows.
    notes : tuple of str
        What a reader must know before the numbers.
    privacy : PrivacyStatement
        What was spent, in all units, and what was released for it.

    See Also
    --------
    dp_feols : What makes one.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from dpstats import dp_feols
    >>> rng = np.random.default_rng(1)
    >>> def panel(persons):
    ...     who = np.repeat(np.arange(persons), 4)
    ...     x = rng.normal(size=len(who)) + rng.normal(size=persons)[who]
    ...     y = 0.5 * x + 2 * rng.normal(size=persons)[who] + rng.normal(size=len(who))
    ...     return pd.DataFrame({"who": who, "x": x, "y": y})
    >>> fit = dp_feols("y ~ x | who", panel(2000), panel(50), mu=1, person="who", seed=1)
    >>> bool(abs(fit.coef()["x"] - 0.5) < 0.1)
    True
    """

    _other_names: ClassVar[dict[str, str]] = MarginalModel._other_names | {
        **dict.fromkeys(("rsquared", "r_squared"), "glance()"),
        **dict.fromkeys(
            ("first_stage", "fitstat", "sargan", "overid", "wu_hausman"),
            "summary(), with the tests of instruments",
        ),
        "get_prediction": "predict(newdata)",
    }
    text: str
    fixed_effects: tuple[tuple[str, str], ...]
    endogenous: tuple[str, ...]
    instruments: tuple[str, ...]
    reference: str | None
    parameters: float
    full_design: Design
    second: SecondStage | None

    def __getattr__(self, name: str) -> NoReturn:
        if name in ("fixef", "ranef"):
            raise NotReleasedError(self._why_no_effects())
        super().__getattr__(name)

    def _why_no_effects(self) -> str:
        """Where the effects are that were asked for."""
        person, text = self.privacy.protected.person, self.text
        if not self.fixed_effects:
            return f"'{text}' has no effects: those of groups stand behind '|'."
        dummies = [column for column in self._absorbed() if column != person]
        why = []
        if len(dummies) < len(self.fixed_effects):
            why.append(
                f"effects of persons, by `{person}`, are not released: they would be the rows "
                "themselves."
            )
        if dummies:
            written = " + ".join(f"C({column})" for column in dummies)
            named = ", ".join(f"`{column}`" for column in dummies)
            why.append(
                f"effects of {named} are coefficients of dummies, which dp_feols does not show: coef() "
                f"has them where they are terms of the formula, '... + {written}', and no effects."
            )
        return " ".join(why)

    def _freedom(self) -> float:
        rows = max(self.estimate.n - self.parameters, 1.0)
        return super()._freedom() if self.privacy.protected.jointly else float(rows)

    @property
    def formula(self) -> str:
        """The formula that was fitted."""
        return self.text

    def _term_name(self, term: str) -> str:
        return term_name(term) if "i(" in self.text else term

    def _page(self, with_bounds: bool) -> PanelPage:
        return PanelPage(
            **self._page_items(with_bounds),
            response=self.design.response or "",
            effects=self.fixed_effects,
            endogenous=self.endogenous,
            instruments=self.instruments,
            sigma=self.sigma,
            within=self._within(),
            ranges=self._ranges(),
            tests=self._tests(),
            weak=self._weak_line(),
        )

    def _bounds(self) -> tuple[Bound, ...]:
        return ()

    def _summary(self) -> Page:
        """fixest's summary, with the privacy spent and diagnostics."""
        return summary_page(self._page(with_bounds=True))

    @property
    def sigma(self) -> float:
        """Residual standard error."""
        return math.nan if self.estimate.dispersion is None else math.sqrt(self.estimate.dispersion)

    def _within(self) -> float | None:
        """R^2 of what effects leave; none with instruments, or where noise drowns the design."""
        if self.instruments or not np.isfinite(self.estimate.privacy).all():
            return None
        found = r_squared(self._of_effects(), self._centre)
        return None if found is None else found[0]

    def _ranges(self) -> Ranges | None:
        """Ranges of sigma and of R^2, by their noise and by what the cut of squares may take off."""
        limits = self.estimate.dispersion_range
        if limits is None or not np.isfinite(self.estimate.privacy).all():
            return None
        explained = r_squared_range(self._of_effects(), self._centre)
        return (math.sqrt(limits[0]), math.sqrt(limits[1])), explained

    @property
    def _centre(self) -> int | None:
        """The constant, about which responses vary where no effects stand for their means."""
        return None if self.fixed_effects else self.design.constant

    def _of_effects(self) -> Estimate:
        """The estimate with the mean square of residuals as variance: effects take degrees too."""
        n, d, found = self.estimate.n, len(self.coefficients.coef), self.estimate
        share = max(n - self.parameters, 1.0) / max(n - d, 1)
        limits, variance = found.dispersion_range, found.dispersion
        return replace(
            found,
            dispersion=None if variance is None else share * variance,
            dispersion_range=None if limits is None else (share * limits[0], share * limits[1]),
        )

    def _tests(self) -> tuple[tuple[str, InstrumentTest], ...]:
        """Tests of the instruments, by the names that they are shown with."""
        if self.second is None:
            return ()
        lines = [
            (f"first stage of {name}: F (iid errors, and noise)", test)
            for name, test in self.second.first_stages
        ]
        if self.second.agreement is not None:
            name = "Sargan" if self.estimate.errors == "iid" else "Hansen J"
            lines.append((f"instruments agree: {name}", self.second.agreement))
        return tuple(lines)

    def _weak_line(self) -> str:
        if self.second is None or self.second.weak is None:
            return ""
        found = " and ".join(_interval(*ends) for ends in self._weak_set(0.95)) or "empty"
        return f"Anderson-Rubin 95% set of {self.endogenous[0]}, whatever the first stage: {found}"

    def anderson_rubin(self, level: float = 0.95) -> pd.DataFrame:
        """Where the endogenous coefficient may lie, however weak the instruments are.

        One row for each interval: one, or two that go to infinity, or the whole line. Sampling and
        the noise for privacy are counted. Where the variance of errors is not constant, it is
        assumed to change with the coefficient as a constant one would.
        """
        if self.second is None or self.second.weak is None:
            raise NotReleasedError(
                "the Anderson-Rubin set is for one endogenous column with instruments: "
                "dp_feols('y ~ x | d ~ z', ...)."
            )
        found = self._weak_set(coverage(level))
        return pd.DataFrame(found, columns=["lower", "upper"], dtype=np.float64)

    def _weak_set(self, level: float) -> list[tuple[float, float]]:
        assert self.second is not None
        assert self.second.weak is not None
        unit = float(np.sqrt(self.estimate.vcov[0, 0]))
        return self.second.weak.intervals(level, unit) if math.isfinite(unit) else []

    def _absorbed(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.fixed_effects)

    def _lacking(self) -> str:
        names = ", ".join(self._absorbed())
        return f" without the effects of {names}" if names else ""

    def _design_moments(self) -> Floats | None:
        if self.fixed_effects:
            raise NotReleasedError(
                "effects were not released, and marginal means need them. Levels beside one another are "
                "coefficients, or comparisons(newdata)."
            )
        return super()._design_moments()

    def simulate(self, *args: Any, **named: Any) -> NoReturn:
        """Not for panels: effects are not released."""
        if self.fixed_effects:
            raise NotReleasedError("effects were not released, so no responses can be drawn.")
        raise ArgumentError(f"simulate() is for fits of dp_lm and dp_glm.{self._instead}")

    def _averages(self, what: str, *args: Any) -> NoReturn:
        raise ArgumentError(
            f"averages of {what} over private rows are for fits of dp_lm and dp_glm.{self._instead} "
            f"Rows that you may show are given by position: {what}(rows)."
        )

    @property
    def _instead(self) -> str:
        """What there is in place of what other linear fits have."""
        if self.fixed_effects:
            return " Effects are not released, and slopes are coefficients."
        if self.instruments:
            return " Of instruments there are coefficients, and predictions for rows that you may show."
        return f" dp_lm({self.text!r}, ...) fits the same model, at its own cost."

    def table_facts(self) -> dict[str, str | float]:
        """What a table of several fits shows below the coefficients, beside rows and privacy."""
        facts: dict[str, str | float] = {}
        if self.fixed_effects:
            facts["Fixed effects"] = " + ".join(name for name, _ in self.fixed_effects)
        if self.second is not None:
            facts["Estimator"] = "2SLS"
            facts["Endogenous"] = ", ".join(self.endogenous)
            facts["First-stage F (iid, with noise)"] = ", ".join(
                format_scalar(test.value, 4) for _, test in self.second.first_stages
            )
        facts["Residual std. error"] = self.sigma
        within = self._within()
        if within is not None:
            facts["Within R-squared" if self.fixed_effects else "R-squared"] = float(within)
        return facts

    def glance(self) -> pd.DataFrame:
        """One row: R^2, within effects if there are some, and sigma, where both lie, n, and privacy."""
        name, within = "within_r_squared" if self.fixed_effects else "r_squared", self._within()
        of_sigma, of_share = self._ranges() or ((math.nan, math.nan), None)
        of_share = of_share or (math.nan, math.nan)
        first = {name: [math.nan if within is None else within]}
        first |= {f"{name}_low": [of_share[0]], f"{name}_high": [of_share[1]]}
        items = self._glance_items() | {"df_residual": [round(self.estimate.n - self.parameters)]}
        first |= {"sigma": [self.sigma], "sigma_low": [of_sigma[0]], "sigma_high": [of_sigma[1]]}
        return WholeFrame(first | items)

    @spelled
    def predict(
        self,
        newdata: Any = None,
        interval: str | None = None,
        level: float = 0.95,
        se_fit: bool = False,
    ) -> pd.Series | pd.DataFrame:
        """x'b for rows that you may show, without the effects, which were not released.

        ``interval="confidence"`` and ``se_fit`` as for `dp_lm`: errors of x'b, without those of effects.
        """
        if interval is not None and not one_of(interval, ("none", "confidence")):
            raise ArgumentError(
                f"interval must be None or 'confidence', not {shown(interval)}: what is predicted is "
                "x'b, and no response."
            )
        fit, variance, freedom, index = self._predictor(newdata)
        error, limits = np.sqrt(variance), None
        if interval == "confidence":
            half = quantile(level, freedom) * error
            limits = fit - half, fit + half
        name = "fit" + self._lacking()
        return predicted(fit, limits, error if se_fit else None, index, name)

    def update(self, formula: str = "~ .", *, vcov: str | None = None) -> Self:
        """A smaller fit from the same release: ``fit.update("~ . - x2")``; effects stay.

        Not with instruments, whose first stage would differ. ``vcov="iid"``: as for `dp_lm`.
        """
        if vcov is not None:
            vcov = check_vcov(vcov)
        if self.instruments:
            raise ArgumentError(
                "a fit with instruments contains no smaller fit: call dp_feols again, at its own "
                "cost."
            )
        if isinstance(formula, str) and "|" in formula:
            raise ArgumentError(
                "update() takes the first part of a formula alone, and keeps effects as they are: "
                f"update({formula.partition('|')[0].strip()!r})."
            )
        _, left = columns_of(self.full_design, formula)
        names = {level_name(self.full_design.terms[j]) for j in left}
        terms = self.coefficients.terms
        kept = [j for j, term in enumerate(terms) if term in names]
        fit = self if vcov in (None, self.estimate.errors) else self._with_classical_errors(vcov)
        call = f'update({self.call}, "{formula}"' + (f', vcov="{vcov}")' if vcov else ")")
        if len(kept) == len(terms):
            return replace(fit, call=call)
        written = " + ".join(terms[j] for j in kept if terms[j] != "Intercept") or "1"
        effects = self.text.partition("|")[2].strip()
        text = f"{self.design.response} ~ {written}" + (f" | {effects}" if effects else "")
        return replace(fit._restricted(call, self.design.formula, kept), text=text)

    @spelled
    def iplot(self, term: str | None = None, ax: Any = None, level: float = 0.95) -> Any:
        """Plot coefficients of ``i(f, ...)`` against the levels of f: an event study.

        Thick bars are intervals of each level by itself; thin ones hold all levels at once. The
        reference level stands at zero; a hollow point has no interval, and a level that was left out no
        point. Needs matplotlib (``pip install "dpstats[plot]"``).

        Parameters
        ----------
        term : str, optional
            Which ``i()``, where there are several, as `event_study` names them: the first.
        ax : matplotlib Axes, optional
        level : float
            Of the intervals.

        Returns
        -------
        matplotlib Axes
        """
        frame = self.event_study(level)
        names = list(dict.fromkeys(frame.term))
        if term is not None and not one_of(term, names):
            raise ArgumentError(f"no such term {shown(term)}; the terms are {listed(names)}.")
        frame = frame[frame.term == (term or names[0])]
        columns = (frame[name].tolist() for name in ("level", "estimate", "alone", "together"))
        levels, estimate, alone, together = columns
        label = f"{term or names[0]}, {100 * level:.4g} % interval"
        return plot_event_study(levels, estimate, alone, together, label, ax)

    @spelled
    def event_study(self, level: float = 0.95) -> pd.DataFrame:
        """Coefficients of ``i(f, ...)`` by level: estimates, their errors, and how far intervals reach.

        ``conf_low`` and ``conf_high`` are the interval of a level by itself, and ``alone`` is half of
        its length; ``together`` is that of intervals which hold all levels of a term at once with the
        probability ``level`` (Sidak): estimate -+ together. A level that was left out has no numbers.
        """
        terms: dict[str, list[tuple[str, int]]] = {}
        for j, name in enumerate(self.coefficients.terms):
            column, found, rest = name.partition("::")
            value, _, other = rest.partition(":")
            if found:
                key = f"{column}:{other}" if other else column
                terms.setdefault(key, []).append((value, j))
        if not terms:
            raise ArgumentError(
                "an event study needs a term such as i(year, treat, ref=2010) in the formula."
            )
        c = self.coefficients
        error, coef = c.std_error, np.where(c.left_out, np.nan, c.coef)
        rows = []
        for term, levels in terms.items():
            both = level, level ** (1 / len(levels))
            alone, together = (quantile(v, c.freedom) for v in both)
            own = [
                (value, coef[j], error[j], alone * error[j], together * error[j])
                for value, j in levels
            ]
            if self.reference is not None:
                own.append((self.reference.strip("'\""), 0.0, 0.0, 0.0, 0.0))
            rows += [(term, *row) for row in sorted(own, key=lambda row: _as_number(row[0]))]
        names = ["term", "level", "estimate", "std_error", "alone", "together"]
        frame = pd.DataFrame(rows, columns=names)
        frame.insert(4, "conf_low", frame.estimate - frame.alone)
        frame.insert(5, "conf_high", frame.estimate + frame.alone)
        return WholeFrame(frame)


def _as_number(level: str) -> tuple[float, str]:
    try:
        return float(level), level
    except ValueError:
        return math.inf, level


def _interval(low: float, high: float) -> str:
    left = "(-inf" if math.isinf(low) else f"[{format_scalar(low, 4)}"
    right = "inf)" if math.isinf(high) else f"{format_scalar(high, 4)}]"
    return f"{left}, {right}"
