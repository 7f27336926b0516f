"""Private Newton steps from a public anchor: how a generalised linear fit spends its total.

`anchored` takes an open `ScoreSession` over the private rows, makes its releases there, and turns them
into a `GlmFit` by pure functions of arrays. Radii, clips, shares, steps and stopping
depend on public and on released numbers only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dpstats.arrays import Floats
from dpstats.mechanism.lattice import Grid
from dpstats.models.glm.estimate import GlmStep
from dpstats.models.glm.family import Family
from dpstats.models.glm.lengths import ROW_LENGTHS, RowsSeen, row_lengths
from dpstats.models.glm.notes import (
    SEPARATED,
    few_events_note,
    one_outcome_note,
    overdispersed_note,
    separated,
    step_notes,
    stray_note,
    unbounded_note,
)
from dpstats.models.glm.planning import coarse_enough, plan_glm_rounds
from dpstats.models.glm.public import NULL_SHARE, StartingPoint, released_null
from dpstats.models.glm.rounds import GlmRounds
from dpstats.models.glm.task import GlmTask
from dpstats.numerics.histogram import SURE
from dpstats.numerics.matrices import Curvature, with_inverse
from dpstats.report.diagnostics import row_diagnostics
from dpstats.report.released import Diagnostic
from dpstats.score_rounds.bounds import ReleasedSystem
from dpstats.score_rounds.cuts import WIDENING
from dpstats.score_rounds.estimate import (
    Estimate,
    where_given,
    without_columns,
    without_errors,
    without_hidden,
)
from dpstats.score_rounds.least_budget import few_rows_note, suffices
from dpstats.score_rounds.levels import effects_of_few, of_few
from dpstats.score_rounds.notes import (
    TOO_LITTLE,
    allowance_line,
    average_condition,
    hardly_seen_note,
    hidden_note,
    leaning_line,
    left_out_note,
    outside_note,
    ridge_note,
    unseen_line,
    unseen_note,
    unused_note,
)
from dpstats.score_rounds.public_guide import elsewhere, hardly_seen
from dpstats.score_rounds.releases import Round, RowSummary, ScoreSession, require_share
from dpstats.score_rounds.rounds import PERSONS, Coordinates, rows_line, rows_of_each, summary_of
from dpstats.score_rounds.solution import Solution, solution

_STILL = 0.1
"""Of an error of sampling: steps from which a fit may not have settled."""
LEAST = 1e-3
"""Of all shares of a total the smallest, of counts in a last round that has little left."""
_LEFT = 0.2
"""Of a total, what a first look at private rows leaves at least, after a round from public ones too."""


@dataclass(frozen=True)
class GlmFit:
    """What a method hands over: released and computed numbers, no rows.

    Attributes
    ----------
    dispersion_source : str
        "fixed", "private" or "public rows".
    pearson, pearson_sd : float or None
        Released Pearson dispersion and its noise; the estimate has its range.
    steps : int
        Private Newton steps.
    """

    estimate: Estimate
    system: ReleasedSystem | None
    dispersion_source: str
    pearson: float | None
    pearson_sd: float | None
    steps: int
    diagnostics: tuple[Diagnostic, ...]
    notes: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()
    """Those of the notes that say that cutting may have moved coefficients."""
    design_moments: Floats | None = None
    """Second moments of the design, as they were released before the first step."""
    left_out: bool = False
    """Whether public rows were given, and were no guide."""
    summary: RowSummary | None = None
    """What the last round says of the rows; None where there was none."""


def check_room(n: int, mu: float) -> None:
    """Refuse, before anything is released, a total of which a first look would leave too little."""
    require_share(Grid.for_rows(n), mu, LEAST * _LEFT)


def anchored_if_near(
    session: ScoreSession, start: StartingPoint, task: GlmTask
) -> GlmFit | tuple[str, ...]:
    """`anchored`; or notes why public rows are no guide to the private ones.

    As where one column has other units. Lengths of rows tell it, and a first round that sees nothing in
    a direction where public rows vary; not those of persons, who need public rows.
    """
    design, n, mu, seen = task.design, session.n, session.total.mu, None
    d = len(design.terms)
    if session.by_person or not suffices(n, d, mu) or not session.allows(LEAST * _LEFT):
        return anchored(session, start, task)
    expected = start.information_lengths(task.family)
    comparable = start.rows is not None or not (design.weights or design.offsets)
    if comparable and expected is not None:
        seen = _row_lengths(session, task.family, start)
        start = replace(start, spent=start.spent + ROW_LENGTHS)
        if seen.elsewhere(expected, start.m, d, mu):
            return left_out_note(design)
    rounds = _rounds(session, start, task, seen)
    made = rounds.one_round()
    if made is None:
        curvature, back = rounds.curvature, rounds.coordinates.back
        assert curvature is not None

        def unlike(turn: Floats) -> bool:
            """Whether rows T z hardly vary in a direction in which public ones do."""
            grown = float(np.linalg.norm(turn, 2)) ** 2
            seen = replace(curvature.turned(turn), released_sd=grown * curvature.released_sd)
            few = start.few_along(turn @ seen.narrowest)
            return elsewhere(seen, back @ turn, design, n, mu, start.m, few=few)

        # not so where few rows decide a direction, which are long there, and cut
        if unlike(np.eye(d)) and unlike(rounds.like_cut_public_rows()):
            return left_out_note(design)
        made = rounds.run()
    return _finished(rounds, made, task)


def anchored(session: ScoreSession, start: StartingPoint, task: GlmTask) -> GlmFit:
    """Private Newton steps from a public anchor.

    Each round measures the lengths of information rows and of scores at the present anchor, releases
    the mean cut score and the mean information there, and takes a Newton step on the information pooled
    over the rounds, damped where the step would leave the region in which a quadratic is believed. A
    round is the last when, by released scales, it leaves next to nothing behind; it takes what is left
    of the total, and shares it with the outer products of the scores, the mean squared Pearson residual
    and the shares of cut and of empty rows.
    """
    rounds = _rounds(session, start, task)
    return _finished(rounds, rounds.run(), task)


def _row_lengths(session: ScoreSession, family: Family, start: StartingPoint) -> RowsSeen:
    return row_lengths(session, family, -start.whitening.root @ start.coef)


def _rounds(
    session: ScoreSession, start: StartingPoint, task: GlmTask, seen: RowsSeen | None = None
) -> GlmRounds:
    """The rounds of a fit, still to be made. ``seen``: how long rows are, where that was released."""
    family, design, terms = task.family, task.design, task.design.terms
    n, d, mu = session.n, len(terms), session.total.mu
    session.require(LEAST)
    coef, spent, persons = start.coef, start.spent, start.persons
    weighted, whole = design.weights is not None, family.binary or family.counts
    if session.by_person and persons is None:
        persons = session.rows_of_persons(PERSONS)
        spent += PERSONS
        start = start.for_persons(rows_of_each(persons, n))
        session.whiten(start.whitening.back, start.coef)
    if _needs_level(start, family, terms):
        spent += NULL_SHARE
        constant = terms.index("Intercept")
        coef = released_null(session, family, d, constant)
        start = replace(start, level=family.information(coef[constant]))
    squares = not family.binary or family.dispersed
    told = start.rows is not None and (weighted or persons is not None)
    if family.binary and start.longer is None and not told:
        if seen is None:
            seen = _row_lengths(session, family, start)
            spent += ROW_LENGTHS
        start = start.measured(seen)
    plan = plan_glm_rounds(task.iterations, spent, squares, task.errors == "hetero")
    at = Coordinates.plain(start.whitening)
    session.weigh(start.leverage)
    return GlmRounds(
        session=session,
        coordinates=at,
        anchor=at.root @ coef,
        carried=at.root @ start.coef,  # the rows carry its linear predictor
        family=family,
        start=start,
        shares=plan,
        price=plan.far if coarse_enough(n, d, mu, plan.far) else plan.near,
        penalty=rows_of_each(persons, n) * task.ridge * at.back.T @ at.back,
        guesses=(start.information, start.score),
        scoring=0.0 if family.canonical else 4 * math.sqrt(d / n),
        persons=persons,
        longest=start.longest(family) if persons is None and not weighted else None,
        weighs=weighted or bool(design.offsets and start.rows is None),
        bounded=family.binary and not (weighted or start.shares(family)) and persons is None,
        few=effects_of_few(design) & (not family.linear),
        trials=weighted and whole and (start.rows is None or start.rows.averages()),
    )


def _needs_level(start: StartingPoint, family: Family, terms: Sequence[str]) -> bool:
    """Nothing is known of the size of responses whose mean is the exponential of the predictor."""
    return family.link == "log" and not start.coef.any() and "Intercept" in terms


def _finished(rounds: GlmRounds, made: Round, task: GlmTask) -> GlmFit:
    """Coefficients, covariances and diagnostics from what was released."""
    family, start, last = rounds.family, rounds.start, rounds.steps[-1]
    curvature = rounds.curvature
    assert curvature is not None
    summary = summary_of(made)
    pooled, step = rounds.pooled()
    solved = solution(
        rounds,
        curvature,
        pooled,
        step,
        made,
        dispersion=None if family.dispersed else 1.0,
        widening=_widening(rounds),
        ridge=task.ridge,
        square_floor=1e-3 * summary.mean_square_sd,
        persons=rounds.persons,
    )
    coef = solved.estimate.coef
    _, inverse = with_inverse(curvature.used + rounds.penalty)
    sampling2 = (solved.estimate.dispersion or 1.0) / rounds.session.n * float(np.trace(inverse))
    flatter = rounds.flatter(rounds.coordinates.root @ coef)
    unsettled = flatter or _unsettled(curvature, last, sampling2)
    n, mu, root = rounds.session.n, rounds.session.total.mu, rounds.coordinates.root
    apart: tuple[str, ...] = ()
    if rounds.persons is None:
        rates = n * root.T @ curvature.used @ root
        apart = one_outcome_note(family, task.design, rates, rounds.counts_sd, n)
    if family.binary and start.rows is not None:
        known = family.mean(start.rows.x @ coef + start.rows.offset)
        apart = SEPARATED if separated(known, n, mu, len(coef)) else apart
    ended = _Ended(rounds, made, task, curvature, solved, unsettled, apart)
    estimate, cautions = ended.estimate(), ended.cautions()
    sd = summary.mean_square_sd / rows_of_each(rounds.persons, rounds.session.n)
    return GlmFit(
        estimate,
        None if last.damped else solved.system,  # the bounds are of full Newton steps
        dispersion_source="private" if family.dispersed else "fixed",
        pearson=solved.square,
        pearson_sd=None if solved.square is None else sd,
        steps=len(rounds.steps),
        diagnostics=ended.diagnostics(estimate),
        notes=ended.notes(estimate, cautions, sd),
        cautions=cautions,
        design_moments=start.design_moments(),
        summary=summary,
    )


@dataclass(frozen=True)
class _Ended:
    """Rounds that were made, what they come to, and what is to be said of it.

    ``unsettled``: the way is not at its end; ``apart``: why there are no errors at such coefficients.
    """

    rounds: GlmRounds
    made: Round
    task: GlmTask
    curvature: Curvature
    solved: Solution
    unsettled: bool
    apart: tuple[str, ...]

    def estimate(self) -> Estimate:
        """The estimate, with errors of what can be seen only."""
        start = self.rounds.start
        estimate = self.solved.estimate
        if not start.enough:
            return without_columns(estimate)
        if self.apart or self.unsettled or self.hardly:
            return without_errors(estimate)
        if not self.curvature.resolved:
            # without public rows no column is in other units than these
            few = of_few(self.task.design) | (start.rows is None)
            back = self.rounds.coordinates.back
            estimate = without_hidden(estimate, back, self.curvature, few)
        if start.hidden is not None:
            estimate = without_columns(without_errors(estimate, start.hidden), start.nothing)
        return estimate

    @cached_property
    def hardly(self) -> tuple[str, ...]:
        """Columns that public rows have far more of than is seen of private ones."""
        rounds = self.rounds
        known = rounds.start.known and self.task.columns is None  # by public rows
        if not known or self.apart or self.unsettled:
            return ()
        back, uneven = rounds.coordinates.back, not rounds.family.linear
        return hardly_seen(self.curvature, back, self.task.design, uneven=uneven)

    def diagnostics(self, estimate: Estimate) -> tuple[Diagnostic, ...]:
        rounds, summary, terms = self.rounds, summary_of(self.made), self.task.design.terms
        expected = where_given(self.solved.moved.expected, estimate)
        return (
            *row_diagnostics(
                (summary.cut_share, summary.share_sd),
                (summary.empty_share, summary.share_sd),
                "share whose score or information was cut in the last round",
                "share that is missing, or has an unknown level or an impossible response",
                rounds.session.persons,
                summary.outside,
                summary.partly,
            ),
            *rows_line(rounds.persons),
            condition_line(self.curvature.released),
            *self._steps(),
            *allowance_line(terms, expected, _widening(rounds)),
            *leaning_line(terms, self.solved.leaning, estimate),
            *unseen_line(rounds.counts_sd, rounds.session.persons),
        )

    def _steps(self) -> list[Diagnostic]:
        """Lines of the steps, which were written at unit dispersion.

        And as if a response had the variance that its weight says, which it has of trials alone.
        """
        estimate = self.solved.estimate
        unit = math.sqrt(estimate.dispersion or 1.0)
        if self.rounds.weighs and estimate.classical is not None:
            more = np.diag(estimate.sampling) / np.diag(estimate.classical)
            if math.isfinite(mean := float(more.mean())) and mean > 0:
                unit *= math.sqrt(mean)
        return [
            replace(line, value=line.value / unit, noise_sd=line.noise_sd / unit)
            for line in self.rounds.lines
            if line.value is not None and line.noise_sd is not None
        ]

    def cautions(self) -> tuple[str, ...]:
        """Notes that say that cutting may have moved coefficients."""
        rounds, family, curvature = self.rounds, self.rounds.family, self.curvature
        if not curvature.resolved or family.binary:
            return ()
        n, root = rounds.session.n, rounds.coordinates.root
        unseen = unseen_note(rounds.counts_sd, n)
        known = rounds.start.enough and not self.apart and not self.unsettled
        if unseen or not known or rounds.persons is not None:
            return unseen
        rates = n * root.T @ curvature.used @ root
        return few_events_note(family, self.task.design, rates, SURE * rounds.counts_sd)

    def notes(
        self, estimate: Estimate, cautions: tuple[str, ...], pearson_sd: float
    ) -> tuple[str, ...]:
        rounds, family, start = self.rounds, self.rounds.family, self.rounds.start
        design, ridge, summary = self.task.design, self.task.ridge, summary_of(self.made)
        n, terms, alone = rounds.session.n, design.terms, self.task.alone
        curvature = self.curvature
        mu, persons = rounds.session.total.mu, rounds.session.persons
        domain = None if family.linear else family.domain
        unknown = np.isnan(np.diag(estimate.sampling))
        partly = bool(unknown.any() and not unknown.all()) and not curvature.resolved
        if start.hidden is not None and not partly:
            unknown = start.hidden
        notes: tuple[str, ...] = () if start.enough else TOO_LITTLE
        notes += unused_note(summary, design, persons, alone, domain)
        notes += () if alone else few_rows_note(n, len(terms), mu, persons)
        if partly or start.hidden is not None:
            notes += hidden_note(terms, unknown, start.nothing)
        if self.hardly:
            notes += hardly_seen_note(self.hardly) + ridge_note(ridge)
        else:
            notes += ridge_note(ridge) if partly else step_notes(curvature, self.unsettled, ridge)
        if self.apart:
            notes += self.apart
        else:
            notes += unbounded_note(design, estimate, start.design_moments(), family, alone)
        if start.rows is not None:
            notes += stray_note(rounds.stray, rounds.counts_sd, n)
        notes += outside_note(design, summary.outside, summary.share_sd) + cautions
        if self.made.outer is None:
            notes += overdispersed_note(family, self.solved.square, pearson_sd)
        return notes


def _widening(rounds: GlmRounds) -> float:
    """Share of what cuts took off the scores that is counted as an error."""
    return 0.0 if rounds.bounded else WIDENING


def condition_line(released: Floats) -> Diagnostic:
    """Average condition number of the information."""
    found = average_condition(released)
    return Diagnostic("condition", found, None, "average, of the released information")


def _unsettled(curvature: Curvature, last: GlmStep, sampling2: float) -> bool:
    """Whether the last step was long beside its noise, so that what is left of the way is not known.

    Less than `_STILL` of the error of sampling, ``sampling2`` squared, is no matter.
    """
    least = max(2 * last.noise, _STILL * math.sqrt(max(sampling2, 0.0)))
    return last.damped or (curvature.resolved and last.bend > least)
