"""The ways of a generalised linear fit: from public rows, from private ones alone, and the papers'."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpstats.accounting.privacy import Privacy
from dpstats.errors import PublicDataError
from dpstats.mechanism.lattice import ExactMatrix
from dpstats.mechanism.noise import Noise
from dpstats.mechanism.passes import RowSource
from dpstats.mechanism.session import Session
from dpstats.models.glm.family import Family
from dpstats.models.glm.fit import LEAST, GlmFit, anchored, anchored_if_near
from dpstats.models.glm.papers import Constrained, ScoreBounds, papers_limits, pmt
from dpstats.models.glm.public import StartingPoint, declared_start, private_start, public_start
from dpstats.models.glm.task import GlmTask
from dpstats.numerics.matrices import Whitening, equilibrated_inverse, symmetric_whitening
from dpstats.report.diagnostics import as_share
from dpstats.score_rounds.coarse import coarse_map
from dpstats.score_rounds.estimate import Estimate, not_private, without_columns
from dpstats.score_rounds.first_look import first_look
from dpstats.score_rounds.notes import few_have, left_out_note
from dpstats.score_rounds.releases import ScoreSession

_PAPERS_STEPS = 5
_MOST = 0.5
"""Share of the rows."""


def least_share(task: GlmTask) -> float:
    """The smallest share of the total that a release of this task gets."""
    return 1 / (4 * (task.iterations or _PAPERS_STEPS)) if task.method == "pmt" else LEAST


@dataclass(frozen=True)
class GlmTaskForN:
    """A task for a table of known size.

    Attributes
    ----------
    task : GlmTask
    limits : ScoreBounds or None
        c1 and c2 of the papers' bounds.
    start : StartingPoint or None
        Where "anchored" begins.
    log_factor : float
        1 + log(2n/eta) of the papers' radii.
    """

    task: GlmTask
    limits: ScoreBounds | None
    start: StartingPoint | None
    log_factor: float

    @classmethod
    def of(cls, task: GlmTask, n: int) -> GlmTaskForN:
        """What public facts say of a fit of n rows; raises where they do not suffice."""
        log_factor, start = 1 + math.log(2 * n / task.eta), None
        rows = task.known if task.method == "pmt" else None
        limits = papers_limits(task.family, rows, log_factor)
        if task.method == "pmt":
            limits = _require_limits(limits, task.family)
        elif task.moments is not None and not task.alone:
            start = public_start(task.family, task.moments, task.known)
        return cls(task, limits, start, log_factor)

    def fit_rows(
        self,
        rows: RowSource,
        total: Privacy,
        noise: Noise,
        after: Session[Any] | None = None,
    ) -> tuple[GlmFit, ScoreSession]:
        """Spend a total on a fit of these rows; the session tells what was released for it."""
        fit, session = self._fit_rows(rows, total, noise, after)
        return (_without_rows(fit, self.task.family) if _hardly_any(fit) else fit), session

    def _fit_rows(
        self, rows: RowSource, total: Privacy, noise: Noise, after: Session[Any] | None
    ) -> tuple[GlmFit, ScoreSession]:
        task, zero = self.task, np.zeros(rows.d)
        family, design = task.family, task.design
        assert after is None or task.alone, "other fits do not go on from a session"
        if task.columns is not None:
            scale = np.diag(1 / task.columns)
            with ScoreSession(
                rows, family, scale, zero, total, noise, limited=design.limited
            ) as session:
                begin = declared_start(session, family, task.columns)
                return anchored(session, begin, task), session
        if task.alone:
            return from_private_rows(task, rows, total, noise, after)
        if task.thin is not None:
            why = left_out_note(task.design, few_have(task.thin))
            return _without_public(task, rows, total, noise, why, None)
        if self.start is not None:
            start, coarse = self.start, None
            if task.persons is None:
                start, coarse = _coarse(rows, family, start)
            seen = start.whitening.back, start.coef
            told: dict[str, Any] = {"persons": task.persons, "limited": design.limited}
            with ScoreSession(rows, family, *seen, total, noise, coarse=coarse, **told) as session:
                guided = anchored_if_near(session, start, task)
            if isinstance(guided, GlmFit):
                return guided, session
            return _without_public(task, rows, total, noise, guided, session)
        assert task.moments is not None
        assert self.limits is not None
        radius = math.sqrt(rows.d * self.log_factor)
        at, bounded = symmetric_whitening(task.moments.gram), Constrained(family, self.limits)
        with ScoreSession(rows, bounded, at.back, zero, total, noise, radius) as session:
            steps = task.iterations or _PAPERS_STEPS
            return pmt(session, task, at, self.limits, radius, steps), session

    def public_fit(self) -> Estimate | None:
        """The fit of the public rows alone, under a weak prior that keeps it finite."""
        task = self.task
        if task.known is None or task.moments is None or task.alone:
            return None
        m, d = len(task.known.y), len(task.design.terms)
        start = self.start or public_start(task.family, task.moments, task.known)
        coef = start.coef
        information = task.known.information(task.family, coef)
        residual = task.known.working(task.family, coef)[2]
        free = task.family.dispersed
        dispersion = float((residual**2).sum()) / max(m - d, 1) if free else 1.0
        sampling = dispersion / m * equilibrated_inverse(information)
        return not_private(coef, sampling, dispersion, information, m)


def _hardly_any(fit: GlmFit) -> bool:
    """Whether coefficients are given, though the rows that count cannot be told from none.

    That is told by the released share of those that do not. Most rows must surely not count: with a
    small budget the noise of the share hides all rows as well.
    """
    given = bool(np.isfinite(fit.estimate.coef).any())
    if not given or fit.summary is None:
        return False  # the papers' algorithm does not count them
    empty, noise = as_share(fit.summary.empty_share), 3 * fit.summary.share_sd
    return 1 - empty < noise and empty - noise > _MOST


def _without_public(
    task: GlmTask,
    rows: RowSource,
    total: Privacy,
    noise: Noise,
    why: tuple[str, ...],
    after: ScoreSession | None,
) -> tuple[GlmFit, ScoreSession]:
    """A fit of private rows alone, with notes why public ones were left out."""
    task = replace(task, moments=None, alone=True)
    fit, session = from_private_rows(task, rows, total, noise, after)
    return replace(fit, notes=(*why, *fit.notes), left_out=True), session


def _without_rows(fit: GlmFit, family: Family) -> GlmFit:
    """A fit of hardly any row: its coefficients would be made of noise, and of any size."""
    note = (
        f"Hardly any row can be used, and no coefficients are given: the {family} family needs "
        f"responses that are {family.domain}. Look at missing values and at levels too."
    )
    estimate = without_columns(fit.estimate)
    return replace(fit, estimate=estimate, system=None, notes=(note,))  # says all of theirs


def from_private_rows(
    task: GlmTask, rows: RowSource, total: Privacy, noise: Noise, after: Session[Any] | None
) -> tuple[GlmFit, ScoreSession]:
    """What public rows would tell is found first (`score_rounds.first_look`)."""
    family, design, persons, moments = task.family, task.design, task.persons, task.moments
    look, before = first_look(
        design, rows, total, noise, response=False, public=moments, persons=persons, after=after
    )
    start = private_start(family, design, look, rows.n)
    seen = start.whitening.back, start.coef
    told: dict[str, Any] = {"persons": persons, "after": before, "limited": design.limited}
    with ScoreSession(rows, family, *seen, total, noise, **told) as session:
        return anchored(session, start, task), session


def _coarse(
    rows: RowSource, family: Family, start: StartingPoint
) -> tuple[StartingPoint, ExactMatrix | None]:
    """A start in coordinates that products are fast in, where the table has many numbers."""
    if family.linear:  # whose residuals may be of any size
        return start, None
    back, coef, coarse = coarse_map(rows, start.whitening.back, start.coef, 1.0)
    if coarse is None:
        return start, None
    return replace(start, whitening=Whitening.of(back), coef=coef), coarse


def _require_limits(limits: ScoreBounds | None, family: Family) -> ScoreBounds:
    if limits is None:
        raise PublicDataError(
            f"method='pmt' for the {family} family takes the range of responses and of linear "
            "predictors from public rows: give public=frame with the response, or use "
            "method='anchored', which can do without."
        )
    return limits
