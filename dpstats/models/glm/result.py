"""A fitted private generalised linear model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd

from dpstats.arguments import one_of, shown, spelled
from dpstats.arrays import Floats
from dpstats.errors import ArgumentError
from dpstats.frame import new_rows
from dpstats.margins.lines import ResponseScale
from dpstats.margins.rows import slope_of
from dpstats.margins.verbs import MarginalModel
from dpstats.models.glm.bounds import GlmFacts, glm_bounds, last_step_bounds
from dpstats.models.glm.estimate import left_by_one_step
from dpstats.models.glm.family import Family
from dpstats.models.glm.page import GlmPage, ratio_page, summary_page
from dpstats.numerics.matrices import symmetric_whitening
from dpstats.public_input import public_rows
from dpstats.report.bound import Bound
from dpstats.report.frames import WholeFrame, predicted
from dpstats.report.model import privacy_line
from dpstats.report.result import limit_names, quantile
from dpstats.report.table import Page
from dpstats.score_rounds.estimate import Estimate, without_errors
from dpstats.score_rounds.result import coefficients_of

_MISSED = 1.0
"""Standard errors that one step to a sub-model may miss, by a bound about twice what it misses."""
_REFIT = (
    "Standard errors are not given: what is left out matters so much that one Newton step from the "
    "larger model may miss the sub-model by more than its errors. Call dp_glm again for it."
)
_RATIOS = {("binomial", "logit"): "odds_ratio", ("gamma", "log"): "mean_ratio"}


@dataclass(frozen=True, repr=False, eq=False)
class GlmModel(MarginalModel):
    """A private generalised linear model; everything in it is released or computed from releases.

    Attributes
    ----------
    privacy : PrivacyStatement
        ``.mu``, ``.rho``, ``.epsilon(delta)``, ``.delta(epsilon)``, ``.unit``, ``.mechanisms``.
    formula : str
    family : Family
        ``.name`` and ``.link``.
    dispersion : float
        1 where the family fixes it, else the released Pearson estimate.
    nobs, iterations : int
    call, method : str
        The call as it was typed, and the method that it used.
    n, m : int or None
        Private rows (or persons) and public rows; both numbers are public.
    notes : tuple of str
        What a reader must know before the numbers.

    See Also
    --------
    dp_glm : What makes one.

    Examples
    --------
    >>> from dpstats import dp_glm
    >>> from dpstats.datasets import fair
    >>> public, private = (t.assign(affair=t.affairs > 0) for t in fair())
    >>> fit = dp_glm("affair ~ age + religious", private, public=public, mu=1, seed=1)
    >>> fit.odds_ratios().columns.tolist()
    ['odds_ratio', '2.5%', '97.5%', 'p_value']
    >>> bool(fit.predict(public, type="response").between(0, 1).all())
    True
    """

    _other_names: ClassVar[dict[str, str]] = MarginalModel._other_names | {
        **dict.fromkeys(
            ("odds_ratio", "exp_coef", "rate_ratios", "rate_ratio", "irr"),
            "odds_ratios(), of a logit or log link: odds ratios, rate ratios",
        ),
        "sigma": "glance().dispersion[0] ** 0.5",
        "scale": "glance().dispersion[0]",
    }
    family: Family
    dispersion_source: str
    pearson: float | None
    pearson_sd: float | None
    iterations: int
    limits: tuple[float, float] | None  # c1 and c2 of the papers' bounds
    design_moments: Floats | None  # second moments as released, where no public rows have them

    _submodel_note = (
        "One Newton step from the release of the larger model: no further privacy spent. What is left "
        "out should matter little; else call dp_glm again."
    )

    @property
    def _fixed_dispersion(self) -> bool:
        return not self.family.dispersed

    def _restricted(self, call: str, text: str, kept: list[int]) -> Self:
        """The sub-model, without errors where one step from the larger model may miss it."""
        made = super()._restricted(call, text, kept)
        if self.design_moments is not None:
            made = replace(made, design_moments=self.design_moments[np.ix_(kept, kept)])
        if not self._misses(made.estimate, kept) and _REFIT not in self.notes:
            return made
        estimate = without_errors(made.estimate)
        return replace(
            made,
            estimate=estimate,
            coefficients=coefficients_of(made.coefficients.terms, estimate),
            notes=(_REFIT, *made.notes),
        )

    def _misses(self, smaller: Estimate, kept: Sequence[int]) -> bool:
        missed = left_by_one_step(self.estimate, smaller, kept, *self._curvature())
        errors = np.sqrt(np.diag(smaller.vcov))
        given = np.isfinite(errors)
        return bool((missed[given] > _MISSED * errors[given]).any())

    def _design_moments(self) -> Floats | None:
        """Second moments of the rows, not the information, which weighs rows by the fit."""
        return self.design_moments if self.public is None else self.public

    def _curvature(self) -> tuple[float, float]:
        """Mean curvature of a row, and how fast it changes with the linear predictor, relatively.

        A logit's changes by 1 - 2p, whose mean square is 1 - 4h.
        """
        moments, constant = self.estimate.moments, self.design.constant
        if self.family.linear:
            return 1.0, 0.0
        if constant is not None:
            level = float(moments[constant, constant])
        elif self.public is not None:
            level = float(np.trace(np.linalg.solve(self.public, moments))) / len(moments)
        else:
            return 0.0, 1.0
        if self.family.link == "logit" and self.design.weights is None:
            return level, math.sqrt(min(max(1 - 4 * level, 0.0), 1.0))
        return level, 1.0

    @property
    def dispersion(self) -> float:
        """Dispersion that the standard errors were computed with."""
        found = self.estimate.dispersion
        return math.nan if found is None else found

    def _page(self, with_bounds: bool) -> GlmPage:
        return GlmPage(
            **self._page_items(with_bounds),
            family=str(self.family),
            link=self.family.link,
            dispersion=self.dispersion,
            dispersion_source=self.dispersion_source,
            pearson=self.pearson,
            pearson_sd=self.pearson_sd,
            pearson_range=self.estimate.dispersion_range,
            wald=self._wald(),
            iterations=self.iterations,
            response=self._response(),
        )

    def _response(self) -> str | None:
        """Which of two levels is modelled, where the response has levels."""
        levels = self.design.response_levels
        if not levels:
            return None
        return f"Response: {self.design.response} is {levels[1]!s}, rather than {levels[0]!s}"

    def _summary(self) -> Page:
        """R's summary.glm, with the privacy spent, error bounds and diagnostics."""
        return summary_page(self._page(with_bounds=True))

    def table_facts(self) -> dict[str, str | float]:
        """What a table of several fits shows below the coefficients, beside rows and privacy."""
        facts: dict[str, str | float] = {"Family": f"{self.family}, {self.family.link}"}
        return facts | ({"Dispersion": self.dispersion} if self.family.dispersed else {})

    @np.errstate(all="ignore")  # distances in odd units are no numbers
    def _bounds(self) -> tuple[Bound, ...]:
        if self.system is None:
            return ()
        if self.public is None:
            return last_step_bounds(self.system, self.eta)
        back = symmetric_whitening(self.public).back
        c1, c2 = self.limits or (None, None)
        facts = GlmFacts(
            n=self.estimate.n,
            d=len(self.coefficients.coef),
            m=self.m,
            mu=self.privacy.mu,
            eta=self.eta,
            ridge=self.estimate.ridge,
            steps=self.iterations,
            public=self.public,
            released=self.estimate.moments,
            whitened=back.T @ self.estimate.moments @ back,
            c1=c1,
            c2=c2,
        )
        return glm_bounds(facts, self.system)

    def glance(self) -> pd.DataFrame:
        """One row: family, link, dispersion, Pearson dispersion, n, m, privacy in its units, method."""
        first = {
            "family": [self.family.name],
            "link": [self.family.link],
            "dispersion": [self.dispersion],
            "pearson": [math.nan if self.pearson is None else self.pearson],
            "iterations": [self.iterations],
        }
        return WholeFrame(first | self._glance_items())

    @np.errstate(all="ignore")  # what overflows is not finite, and shown as such
    @spelled
    def predict(
        self,
        newdata: Any = None,
        type: str = "link",
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
        type : {"link", "response"}
            Linear predictor (R's default), or mean of the response.
        interval : {None, "confidence"}
            None gives a Series; otherwise a frame with R's columns fit, lwr, upr. Limits on the scale of
            the response are those of the linear predictor, transformed.
        level : float
            Coverage of the interval.
        se_fit : bool
            Whether a column ``se_fit`` has the standard errors, of the mean by the delta method.
        """
        if not one_of(type, ("link", "response")):
            raise ArgumentError(f"type must be 'link' or 'response', not {shown(type)}.")
        if interval is not None and not one_of(interval, ("none", "confidence")):
            raise ArgumentError(
                f"interval must be None or 'confidence', not {shown(interval)}: intervals for single "
                "responses are offered for linear models only."
            )
        fit, variance, freedom, index = self._predictor(newdata)
        scale = self.family.mean if type == "response" else np.asarray
        error = np.sqrt(variance) * np.abs(slope_of(scale, fit)) if se_fit else None
        if interval in (None, "none"):
            return predicted(scale(fit), None, error, index)
        half = quantile(level, freedom) * np.sqrt(variance)
        return predicted(scale(fit), (scale(fit - half), scale(fit + half)), error, index)

    def _scale(self) -> ResponseScale:
        return ResponseScale(self.family.mean, self.family.link, self.family.binary)

    def _law(self) -> tuple[str, float, float | None]:
        return self.family.name, self.dispersion, self.family.alpha

    def odds_ratios(self, level: float = 0.95) -> pd.DataFrame:
        """Exponentiated coefficients with intervals: odds ratios (logit), rate or mean ratios (log).

        The column is named after what it holds; `ratio_table` is the same for a report.
        """
        name = self._ratio_name()
        c = self.coefficients
        low, high = c.interval(level)
        names = limit_names(level)
        with np.errstate(over="ignore"):
            columns = {name: np.exp(c.coef), names[0]: np.exp(low), names[1]: np.exp(high)}
        return WholeFrame(columns | {"p_value": c.p_value}, index=list(c.terms))

    @spelled
    def confusion(self, newdata: Any, threshold: float = 0.5) -> pd.DataFrame:
        """Outcomes (rows) against predicted ones, counted on rows that you may show.

        Never call it on the private rows for release: the counts are exact.

        Parameters
        ----------
        newdata : table or dict
            Rows with the response, such as public ones that the fit did not use.
        threshold : float
            Probability from which the second outcome is predicted.

        Examples
        --------
        >>> from dpstats import dp_glm
        >>> from dpstats.datasets import fair
        >>> public, private = (t.assign(affair=t.affairs > 0) for t in fair())
        >>> fit = dp_glm("affair ~ rate_marriage + age", private, public=public, mu=1, seed=1)
        >>> int(fit.confusion(public).to_numpy().sum())
        318
        """
        if not self.family.binary:
            raise ArgumentError(
                f"confusion() counts two outcomes, and the {self.family.name} family has others: "
                "predict(newdata) has their means."
            )
        rows = public_rows(self.design, new_rows(newdata, "confusion"))
        likely = self.family.mean(rows.x @ self.coefficients.coef + rows.offset) > threshold
        table = np.zeros((2, 2), dtype=int)
        np.add.at(table, ((rows.y > 0.5).astype(int), likely.astype(int)), 1)
        names = list(self.design.response_levels or (0, 1))
        index, columns = (pd.Index(names, name=name) for name in ("true", "predicted"))
        return pd.DataFrame(table, index=index, columns=columns)

    def ratio_table(self, level: float = 0.95) -> Page:
        """`odds_ratios` as a page: text, HTML, ``.to_markdown()``, ``.to_latex()``, ``.to_csv()``."""
        frame = self.odds_ratios(level)
        columns = [frame[name].to_list() for name in frame]
        title = self._ratio_name().replace("_", " ").capitalize()
        ratio, low, high, p_value = columns
        notes = [privacy_line(self.privacy), f"Unit of privacy: {self.privacy.unit}"]
        notes += [f"Note: {note}" for note in self.notes]
        return ratio_page(
            title, list(frame.index), ratio, low, high, limit_names(level), p_value, notes
        )

    def _ratio_name(self) -> str:
        link, name = self.family.link, self.family.name.removeprefix("quasi")
        if link not in ("log", "logit"):
            raise ArgumentError(
                "odds_ratios() is for the logit and log links, whose coefficients are logarithms of "
                f"odds and rate ratios; this fit has the {link} link."
                + (" Here exp(coef()) are hazard ratios." if link == "cloglog" else "")
            )
        return _RATIOS.get((name, link), "rate_ratio")
