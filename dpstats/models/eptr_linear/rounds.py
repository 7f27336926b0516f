"""Score rounds of a linear fit whose last step is released by efficient Propose-Test-Release.

The rounds before it tell what public rows cannot: how rows are whitened, how far the fit is, where
scores are cut and how they spread. The last step needs no released matrix, only a bound on its smallest
eigenvalue; its noise is that of a data set as well conditioned as this one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
from scipy import special

from dpstats.accounting.privacy import Privacy, Total
from dpstats.arguments import in_prose
from dpstats.frame import Design, PublicMoments
from dpstats.mechanism.noise import Noise
from dpstats.mechanism.passes import RowSource
from dpstats.mechanism.release import Release
from dpstats.models.eptr_linear.fit import UNBOUNDED, EptrFit, eigenvalue_lines
from dpstats.models.eptr_linear.planning import eigenvalue_share
from dpstats.models.eptr_linear.releases import StepCuts, StepSession
from dpstats.models.linear.fit import solved_by_rounds, through_rounds
from dpstats.models.linear.prepare import Prepared
from dpstats.models.linear.rounds import LinearRounds, LinearStep
from dpstats.propose_test.outcome import Outcome
from dpstats.score_rounds.estimate import Pooled, Step
from dpstats.score_rounds.leaning import Leaning
from dpstats.score_rounds.releases import Round
from dpstats.score_rounds.rounds import RoundPlan, RoundsTask

_REACH = 2.0
"""Times what the noise of the step before lets expect: how far the last step may go."""
_BENT = 5.0
"""Residuals of rows that are cut, over the usual one, where scores lean as where a mean bends."""
_DEARER = 1.2
"""Times the error with a mean score at the same cost, from which a note names dp_lm."""


@dataclass(frozen=True)
class LastStep:
    """What the last step rests on: released numbers, and the cuts they were released at."""

    cuts: StepCuts
    eigenvalue: Release
    certain: float
    step: Release
    dearer: float
    """Expected error over that with a mean score at the same cost, in place of both."""


@dataclass(kw_only=True)
class SolutionRounds(LinearRounds):
    """Rounds of a linear fit, the last of which releases its step instead of a mean score."""

    session: StepSession
    last: LastStep | None = field(default=None, init=False)
    leans: Leaning | None = field(default=None, init=False)

    def plan(self) -> RoundPlan:
        """As that of a linear fit; what its last score would cost is left to the step.

        That step has bounds of its own, and does not cut scores farther out where they lean.
        """
        plan = super().plan()
        if not plan.last:
            return plan
        self.leans = plan.lean
        return replace(plan, shares=replace(plan.shares, score=0.0), lean=None)

    def pooled(self) -> Pooled:
        """That of a linear fit, with what the last step leaves where scores lean."""
        found, leans = super().pooled(), self.leans
        if leans is None:
            return found
        assert self.ready.radius is not None
        rows, unit = self.ready.longer, self.plans[-1].cut.unit
        beyond = float(np.interp(self.ready.radius, rows.lengths, rows.excess()))
        left = leans.left + _BENT * unit * beyond
        return replace(found, left=(*found.left, left * leans.direction))

    def newton(self, made: Round, plan: RoundPlan) -> LinearStep:
        """The last step, as it is released; of others the step that their score gives."""
        if not plan.last:
            return super().newton(made, plan)
        session, anchor, radius = self.session, self.anchor - self.carried, self.ready.radius
        assert radius is not None
        n, d, mu = session.n, len(anchor), session.total.mu * math.sqrt(session.left)
        before = self.steps[-1].step
        expected = math.sqrt(d * before.variance + d * plan.cut.unit**2 / n)
        cuts = StepCuts(plan.cut.length, radius, _REACH * expected)
        z = -float(special.ndtri(session.granted.slack))
        share = session.left * eigenvalue_share(z, n / radius**2, mu)
        eigenvalue = session.smallest_eigenvalue(share, anchor, cuts)
        step = session.bounded_step(session.left, anchor, cuts, eigenvalue)
        certain = session.lower_bound(eigenvalue, cuts)
        sd = step.noise_sd / plan.cut.slope
        move = step.value / plan.cut.slope
        left = 0.02**2 / d * float(move @ move)
        sampling = plan.cut.unit**2 / n
        score_sd = 2 * cuts.score / (n * mu) / plan.cut.slope
        dearer = math.sqrt((sampling + sd**2) / (sampling + score_sd**2))
        self.last = LastStep(cuts, eigenvalue, certain, step, dearer)
        return LinearStep(Step(self.anchor, move, sd, sd * math.sqrt(d), sd**2 + left), move)


def by_rounds(
    design: Design, moments: PublicMoments | None, rows: RowSource, total: Total, noise: Noise
) -> tuple[EptrFit, StepSession]:
    """Score rounds from the public fit, and a last step behind a private bound on the eigenvalue.

    Without public rows they begin as those of a linear model do.
    """
    assert isinstance(total, Privacy)
    task = RoundsTask(design=design, moments=moments)
    return through_rounds(StepSession, task, rows, total, noise, _solved)


def _solved(session: StepSession, ready: Prepared) -> EptrFit:
    limits = replace(ready.plan, one_round=False)
    rounds = SolutionRounds.of(session, replace(ready, plan=limits), 0.0)
    fit = solved_by_rounds(rounds)
    last, n = rounds.last, session.n
    assert last is not None
    diagnostics = (
        *fit.diagnostics,
        *eigenvalue_lines(last.eigenvalue, last.certain, n),
    )
    return EptrFit(
        fit.estimate,
        Outcome(True, (), diagnostics, fit.notes + _notes(last)),
        moments_released=True,
        system=fit.system,
        cautions=fit.cautions,
    )


def _notes(last: LastStep) -> tuple[str, ...]:
    notes: tuple[str, ...] = ()
    if last.certain <= 0:
        notes += (UNBOUNDED,)
    if last.dearer > _DEARER:
        notes += (
            f"The last step has {in_prose(last.dearer)} times the error of dp_lm at the same cost: "
            "there are too few rows to bound their smallest eigenvalue well. dp_lm is more "
            "accurate here.",
        )
    value, sd = last.step.value, last.step.noise_sd
    if float(value @ value) - len(value) * sd**2 > (0.95 * last.cuts.length) ** 2:
        notes += (
            "The last step was as long as allowed: the rounds before it had not converged. The "
            "estimates may be off; ask for a larger budget, or use dp_lm.",
        )
    return notes
