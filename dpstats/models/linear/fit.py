"""How a linear fit spends its total: score rounds from a public anchor, or from private rows alone.

`fit_rows` opens a session over the rows and hands it to `anchored_if_near`, or, where no public rows
guide, to `from_private_rows`. These make the releases and turn them into a `LinearFit` by pure functions
of arrays; `papers` has the other two methods. Radii, cuts, shares and stopping depend on public and on
released numbers only. Models that build on this one go `through_rounds`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from dpstats.accounting.privacy import Privacy
from dpstats.arrays import Floats
from dpstats.frame import PublicMoments
from dpstats.mechanism.noise import Noise
from dpstats.mechanism.passes import RowSource
from dpstats.mechanism.session import Session
from dpstats.models.linear.estimate import DeclaredBounds, LinearFit, matrix_warnings
from dpstats.models.linear.papers import pmt, ssp
from dpstats.models.linear.prepare import (
    SHORTENED,
    Prepared,
    lengths_by_public,
    planned,
    prepared,
    prepared_alone,
)
from dpstats.models.linear.releases import LinearSession
from dpstats.models.linear.rounds import LinearRounds
from dpstats.models.linear.view import View
from dpstats.numerics.matrices import symmetric_whitening
from dpstats.report.diagnostics import row_diagnostics
from dpstats.report.released import Diagnostic
from dpstats.score_rounds.bounds import ReleasedSystem
from dpstats.score_rounds.cuts import WIDENING
from dpstats.score_rounds.estimate import (
    Estimate,
    Moved,
    where_given,
    without_columns,
    without_errors,
    without_hidden,
)
from dpstats.score_rounds.first_look import first_look
from dpstats.score_rounds.least_budget import few_rows_note, suffices
from dpstats.score_rounds.levels import of_few, rarest
from dpstats.score_rounds.notes import (
    FAR_FROM_PUBLIC,
    FEW_DIFFER,
    FEW_FAR,
    TOO_LITTLE,
    all_alike,
    allowance_line,
    coordinates_note,
    few_have,
    hardly_seen_note,
    hidden_note,
    leaning_line,
    left_out_note,
    more_cut_note,
    out_of_sight,
    outside_note,
    ridge_note,
    size_note,
    tail_note,
    unseen_line,
    unseen_note,
    unused_note,
)
from dpstats.score_rounds.public_guide import elsewhere, thin
from dpstats.score_rounds.releases import Round, ScoreSession
from dpstats.score_rounds.rounds import RoundsTask, rows_line, summary_of
from dpstats.score_rounds.rows import LeastSquares
from dpstats.score_rounds.solution import solution

_Session = TypeVar("_Session", bound=ScoreSession)
_Fit = TypeVar("_Fit")
_NOTED = 16.0
"""Standard errors that what was cut hardly exceeds, from which a note is printed: a tenth of it moves a
coefficient, in real tables. From 10 to 16 fewer sound fits have a note, and few others lack one."""
_RARE = 0.2
"""Share of ones, below which a mark may be rarer in private rows by chance."""
LOST = (
    "The fit did not converge: its last step was longer than noise and sampling explain. The "
    "estimates may be far off, and no standard errors are given. More rows, a larger budget, or "
    "a few public rows help; of a response of zeros and few ones, dp_glm(family='binomial') or dp_mean.",
)
LOST_FROM_PUBLIC = (
    "The fit did not converge: its last step was longer than noise and sampling explain, as where "
    "private columns are in other units than public ones, or hardly any public row differs in one. The "
    "estimates may be far off, and no standard errors are given. Check the units, codes for missing "
    "values such as -999, and how many public rows have each level; else use a public sample that is "
    "larger or more like the private rows, or none.",
)


@dataclass(frozen=True, kw_only=True)
class LinearTask(RoundsTask):
    """What a linear fit is told.

    Attributes
    ----------
    method : {"anchored", "pmt", "ssp"}
    extent : DeclaredBounds or None
        For "ssp".
    ridge, eta : float
    """

    method: str
    extent: DeclaredBounds | None = None
    ridge: float
    eta: float


def fit_rows(
    task: LinearTask,
    rows: RowSource,
    total: Privacy,
    noise: Noise,
    after: Session[Any] | None = None,
) -> tuple[LinearFit, Session[Any]]:
    """Spend a total on a fit of these rows; the session tells what was released for it."""
    if task.alone:
        return from_private_rows(task, rows, total, noise, after)
    assert after is None, "only a fit without public rows goes on from another session"
    if task.moments is None:
        assert task.extent is not None
        width = task.extent
        scale = np.concatenate([1 / width.columns, [width.radius / width.response]])
        with LinearSession(rows, np.diag(scale), 0 * scale, total, noise, joint=True) as joint:
            return ssp(joint, task.design, width, task.ridge, task.eta), joint
    if task.method == "pmt":
        root = symmetric_whitening(task.moments.gram)
        with LinearSession(rows, root.back, np.zeros(rows.d), total, noise) as papers:
            return pmt(papers, task.moments, root, task.ridge, task.eta), papers
    seen = View.of(task.moments, rows)
    with ScoreSession(
        rows, LeastSquares(), *seen.map, total, noise, **seen.how(task.persons, task.design.limited)
    ) as session:
        guided = anchored_if_near(session, task.moments, seen, task.ridge, task.errors)
        if isinstance(guided, LinearFit):
            return guided, session
    squares = np.diag(task.moments.gram)
    task = replace(task, moments=None, alone=True)
    fit, session = from_private_rows(task, rows, total, noise, session)
    if guided[:1] == FAR_FROM_PUBLIC:
        times = np.sqrt(np.maximum(np.diag(fit.estimate.moments), 0.0) / squares)
        guided = (*guided, *size_note(task.design.terms, times))
    return replace(fit, notes=(*guided, *fit.notes), left_out=True), session


def anchored_if_near(
    session: ScoreSession,
    moments: PublicMoments,
    seen: View,
    ridge: float,
    errors: str,
) -> LinearFit | tuple[str, ...]:
    """Score rounds from a public anchor; or why rows lie too far from public ones to be guided by them.

    As those of a level do, along a slope of its own, in which few public rows hardly differ. Else:

    1. a private histogram of row lengths says where rows are cut for their second moments, which are
       released once (twice where public rows are few: the first says how to whiten them);
    2. rows are whitened again, by the released moments;
    3. each round measures the scale of the scores at the present anchor, releases the mean cut score of
       the whole rows there and takes a Newton step. Rounds go on while the scale falls; the last one
       takes what is left of the total, and is accompanied by the outer products of the scores, the
       mean squared residual and the shares of cut and of empty rows;
    4. before the last round the mean of long scores tells whether these point one way; if they do, rows
       are turned, so that the last cut lies farther out in that direction;
    5. the estimates of the rounds that began near the fit are averaged by inverse variance; where scores
       lean it is the last one alone.
    """
    plan = planned(session, moments, errors)
    if session.by_person:
        ready = prepared(session, moments, seen, plan)
        return solved_by_rounds(LinearRounds.of(session, ready, ridge))
    first = lengths_by_public(session, plan, moments, seen.residual)
    if first is None:
        return left_out_note(moments.design)
    n, mu = session.n, session.total.mu
    mark = thin(moments) if suffices(n, len(moments.terms), mu) else None
    ready = prepared(session, moments, seen, plan, first, again=mark is None, stays=True)
    if mark is not None and ready.taken > SHORTENED:
        return left_out_note(moments.design, few_have(mark))
    few = rarest(moments) < _RARE
    back = ready.at.whitening.back
    unlike = elsewhere(ready.curvature, back, moments.design, n, mu, moments.m, few=few)
    if unlike and suffices(n, len(moments.terms), mu):
        heavy = moments.few.decide(back @ ready.curvature.narrowest, moments.gram)
        return left_out_note(moments.design, FEW_FAR if heavy else FAR_FROM_PUBLIC)
    return solved_by_rounds(LinearRounds.of(session, ready, ridge))


def solved_by_rounds(
    rounds: LinearRounds, effects: Sequence[int] = (), *, families: bool = True
) -> LinearFit:
    """The rounds of a fit, and what they come to.

    No note speaks of ``effects``, columns that no table shows. ``families``: see `tail_note`.
    """
    ready, ridge = rounds.ready, rounds.ridge
    made = rounds.run()
    design, terms = ready.design, ready.design.terms
    solved = solution(
        rounds,
        rounds.curvature_of_rows,
        rounds.pooled(),
        rounds.steps[-1].step,
        made,
        dispersion=None,
        widening=WIDENING,
        ridge=ridge,
        square_floor=rounds.square_floor,
        persons=ready.persons,
    )
    estimate = solved.estimate
    lost = not (ready.enough and rounds.settled())
    if not ready.enough:
        estimate = without_columns(estimate)
    elif lost:
        estimate = without_errors(estimate)
    elif not ready.arrived:
        estimate = without_columns(without_errors(estimate, ready.without_errors), ready.nothing)
    elif ready.hardly_seen:
        estimate = without_errors(estimate)
    elif not ready.curvature.resolved:
        back = ready.at.whitening.back
        estimate = without_hidden(estimate, back, ready.curvature, of_few(design))
    spoken_of = without_errors(estimate, np.isin(np.arange(len(terms)), effects))
    given = solved.moved.of(lambda values: where_given(values, spoken_of))
    leaning = None if solved.leaning is None else where_given(solved.leaning, spoken_of)
    cuts = terms, given
    fit = reported(rounds, made, estimate, solved.system, cuts, leaning, families=families)
    if not lost:
        return fit
    alone, persons = not ready.arrived, rounds.session.persons
    unused = unused_note(summary_of(made), design, persons, alone=alone)
    why = LOST_FROM_PUBLIC if ready.arrived else LOST if ready.enough else _too_little(ready)
    return replace(fit, notes=why + unused + ridge_note(ridge), cautions=(), system=None)


def _too_little(ready: Prepared) -> tuple[str, ...]:
    """Why the first look at private rows was the last."""
    one = None if ready.look is None else ready.look.response
    if one is None or one.scale is not None:
        return TOO_LITTLE
    return all_alike(one.location, one.others, ready.design.response)


def from_private_rows(
    task: LinearTask,
    rows: RowSource,
    total: Privacy,
    noise: Noise,
    after: Session[Any] | None,
) -> tuple[LinearFit, ScoreSession]:
    """Score rounds of private rows of which nothing is known but how many there are."""

    def solve(session: ScoreSession, ready: Prepared) -> LinearFit:
        return solved_by_rounds(LinearRounds.of(session, ready, task.ridge))

    return through_rounds(ScoreSession, task, rows, total, noise, solve, after)


def through_rounds(
    kind: type[_Session],
    task: RoundsTask,
    rows: RowSource,
    total: Privacy,
    noise: Noise,
    solve: Callable[[_Session, Prepared], _Fit],
    after: Session[Any] | None = None,
    *,
    start: Floats | None = None,
    instruments: bool = False,
) -> tuple[_Fit, _Session]:
    """What ``solve`` makes of an open session of this kind, and of rows as rounds will see them.

    Rounds begin at ``start``, or at the public fit. Without public rows, or where these do not determine
    all columns, what they would tell is found first (`first_look`), and rounds begin at the location of
    the response. Rows that were cut for the second moments weigh less in all rounds but the last, so
    that scores and curvature belong together far from the fit; the last round counts all rows alike.

    ``instruments``: whether steps are those of two stages.
    """
    design, moments, persons = task.design, task.moments, task.persons
    if task.alone or moments is None:
        look, before = first_look(
            design, rows, total, noise, response=True, public=moments, persons=persons, after=after
        )
        back, shift = look.rows.whitening.back, look.start(design)
        told: dict[str, Any] = {"persons": persons, "after": before, "limited": design.limited}
        with kind(rows, LeastSquares(), back, shift, total, noise, **told) as session:
            ready = prepared_alone(session, design, look, shift, task.errors, turns=instruments)
            return solve(session, ready), session
    assert after is None, "only a fit without public rows goes on from another session"
    seen = View.of(moments, rows, start)
    told = seen.how(persons, design.limited)
    with kind(rows, LeastSquares(), *seen.map, total, noise, **told) as session:
        plan = planned(session, moments, task.errors, instruments=instruments)
        return solve(session, prepared(session, moments, seen, plan)), session


def _rounds_note(rounds: LinearRounds) -> str:
    """What the number of rounds follows from, and whether the last score was released in two parts."""
    again = ""
    if rounds.plans[-1].rest is not None:
        again = "; the score of the last one was released in two parts"
    return f"score rounds, chosen from releases{again}"


def _far_rows_line(rounds: LinearRounds) -> tuple[Diagnostic, ...]:
    """By how much scores changed more than second moments foresaw, if they did."""
    if rounds.unforeseen is None:
        return ()
    what = "times the released second moments in one direction: what far rows have, as scores tell"
    return (Diagnostic("far rows", rounds.unforeseen.times, None, what),)


def reported(
    rounds: LinearRounds,
    made: Round,
    estimate: Estimate,
    system: ReleasedSystem | None,
    cuts: tuple[Sequence[str], Moved],
    leaning: Floats | None = None,
    *,
    families: bool = True,
) -> LinearFit:
    """The fit with its diagnostics and notes.

    ``cuts``: terms, and what cuts may have moved them; ``leaning``: see `Solution`; ``families``: see
    `tail_note`.
    """
    (terms, moved), ready, session, ridge = cuts, rounds.ready, rounds.session, rounds.ridge
    design, n, persons = ready.design, session.n, session.persons
    summary, curvature = summary_of(made), ready.curvature
    diagnostics = (
        *row_diagnostics(
            (summary.cut_share, summary.share_sd),
            (summary.empty_share, summary.share_sd),
            "share whose score was cut in the last round",
            persons=persons,
            outside=summary.outside,
            partly=summary.partly,
        ),
        *rows_line(ready.persons),
        *ready.conditions,
        Diagnostic("rounds", len(rounds.steps), None, _rounds_note(rounds)),
        *ready.planned_error,
        *_far_rows_line(rounds),
        *allowance_line(terms, moved.expected, WIDENING),
        *leaning_line(terms, leaning, estimate),
        *unseen_line(rounds.counts_sd, persons),
    )
    unknown, within = np.isnan(np.diag(estimate.sampling)), session.within
    if ready.arrived:
        notes = few_rows_note(n, len(design.terms), session.total.mu, persons)
        if ready.hardly_seen:
            notes += hardly_seen_note(ready.hardly_seen) + ridge_note(ridge)
        elif unknown.any() and not unknown.all():
            notes += hidden_note(terms, unknown, None, within=within) + ridge_note(ridge)
        else:
            notes += matrix_warnings(curvature.positive_definite, curvature.resolved, ridge)
        if curvature.resolved and not ready.hardly_seen:
            _, after = ready.conditions
            notes += coordinates_note(after.value)
    else:
        at = [design.terms.index(term) for term in terms]
        hidden, nothing = (None if v is None else v[at] for v in (ready.hidden, ready.nothing))
        unknown = unknown if hidden is None else unknown & hidden
        notes = hidden_note(terms, unknown, nothing, within=within) + ridge_note(ridge)
    notes = unused_note(summary, design, persons, not ready.arrived) + notes
    notes += outside_note(design, summary.outside, summary.share_sd)
    cautions: tuple[str, ...] = ()
    if rounds.measured:
        formula = design.formula
        seen = not out_of_sight(rounds.counts_sd, n)
        tail = tail_note(
            terms, moved, summary.cut_share, _NOTED, formula, in_sight=seen, families=families
        )
        cautions = tail or unseen_note(rounds.counts_sd, n, formula)
        if not cautions:
            cautions = more_cut_note(summary, rounds.foreseen(), formula)
        if not cautions and rounds.rests_on_few():
            cautions = FEW_DIFFER
    return LinearFit(
        estimate, system, "private", diagnostics, notes + cautions, cautions, summary=summary
    )
