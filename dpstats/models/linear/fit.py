"""How a linear fit spends its total: score rounds from a public anchor.

`fit_rows` opens a session over the rows and hands it to `anchored`, which makes its releases there and
turns them into a `LinearFit` by pure functions of arrays; `papers` has the other two methods. Radii,
cuts, shares and stopping depend on public and on released numbers only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dpstats.accounting.privacy import Privacy
from dpstats.arrays import Floats
from dpstats.frame import Design, PublicMoments
from dpstats.mechanism.lattice import ExactMatrix
from dpstats.mechanism.noise import Noise
from dpstats.mechanism.passes import RowSource
from dpstats.mechanism.session import Session
from dpstats.models.linear.estimate import (
    DeclaredBounds,
    LinearFit,
    condition_lines,
    explained,
    matrix_warnings,
)
from dpstats.models.linear.papers import pmt, ssp
from dpstats.models.linear.planning import LinearPlan, plan_alone, plan_linear
from dpstats.models.linear.releases import LinearSession
from dpstats.models.linear.rows import WithResponse
from dpstats.numerics.matrices import (
    Curvature,
    Whitening,
    equilibrated_whitening,
    shrink_second_moment,
    symmetric_whitening,
)
from dpstats.report.diagnostics import row_diagnostics
from dpstats.report.released import Diagnostic
from dpstats.score_rounds.bounds import ReleasedSystem
from dpstats.score_rounds.coarse import coarse_map
from dpstats.score_rounds.cuts import (
    PRODUCT_QUANTILE,
    cut_for_intervals,
    cut_of_moments,
    cut_of_squares,
)
from dpstats.score_rounds.estimate import (
    Estimate,
    Pooled,
    Step,
    newton_step,
    pool_steps,
    pool_weighed,
    without_columns,
    without_errors,
)
from dpstats.score_rounds.first_look import FirstLook, first_look
from dpstats.score_rounds.notes import (
    TOO_LITTLE,
    hidden_note,
    leverage_note,
    outside_note,
    ridge_note,
    tail_note,
    unseen_note,
    unused_note,
)
from dpstats.score_rounds.releases import PersonCounts, Round, ScoreSession, Shares, Windows
from dpstats.score_rounds.rounds import (
    PERSONS,
    Coordinates,
    RoundPlan,
    ScoreRounds,
    quartered,
    rows_line,
    rows_of_each,
    solution,
    summary_of,
    window_about,
)
from dpstats.score_rounds.rows import LeastSquares, RoundCuts
from dpstats.score_rounds.tails import median_excess, tail_of

_CARE, _FAR_CARE = 0.4, 0.1
"""Share of what is cut that is weighed as bias: near the fit, and far from it."""
_NOTED = 1.75
"""Standard errors that cutting may move a coefficient by, from which a note is printed."""
_NOISELESS, _STILL = 0.03, 1e-4
"""Of an error of sampling: noise that is next to nothing, and steps that are."""
_SLIGHT = 0.25
"""Of a residual standard deviation: a step that no fit is lost by."""
_EXPLAINED = 0.1
"""Share of the information lost to cut rows that may explain a long last step."""
LOST = (
    "The fit has lost its way: its last step was longer than noise and sampling explain. The estimates "
    "may be far off, and no standard errors are given. More rows, a larger budget, or a few public rows "
    "help.",
)
WIDENING = 0.3
"""Share of what is cut that standard errors count."""


@dataclass(frozen=True)
class LinearTask:
    """What a linear fit is told before it meets a row; all of it public.

    Attributes
    ----------
    method : {"anchored", "pmt", "ssp"}
    design : Design
    moments : PublicMoments or None
        None for "ssp".
    extent : DeclaredBounds or None
        For "ssp".
    ridge, eta : float
    errors : {"hetero", "iid"}
    persons : {"all", "within"} or None
        Scores are summed up over the rows of persons: all of it, or what is left within persons.
    alone : bool
        There are no public rows, or too few to determine all columns.
    """

    method: str
    design: Design
    moments: PublicMoments | None
    extent: DeclaredBounds | None
    ridge: float
    eta: float
    errors: str = "hetero"
    persons: str | None = None
    alone: bool = False


def fit_rows(
    task: LinearTask,
    rows: RowSource,
    total: Privacy,
    noise: Noise,
    after: Session[Any] | None = None,
) -> tuple[LinearFit, Session[Any]]:
    """Spend a total on a fit of these rows; the session tells what was released for it."""
    if task.alone:
        return alone(task, rows, total, noise, after)
    if task.moments is None:
        assert task.extent is not None
        width = task.extent
        scale = np.concatenate([1 / width.columns, [width.radius / width.response]])
        source = WithResponse(rows)
        with LinearSession(source, np.diag(scale), 0 * scale, total, noise) as joint:
            return ssp(joint, task.design, width, task.ridge, task.eta), joint
    if task.method == "pmt":
        root = symmetric_whitening(task.moments.gram)
        with LinearSession(rows, root.back, np.zeros(rows.d), total, noise) as papers:
            return pmt(papers, task.moments, root, task.ridge, task.eta), papers
    seen = View.of(task.moments, rows)
    with ScoreSession(
        rows, LeastSquares(), *seen.map, total, noise, **seen.how(task.persons)
    ) as session:
        return anchored(session, task.moments, seen, task.ridge, task.errors), session


@dataclass(frozen=True)
class View:
    """How rows are seen: whitened, and less the fit of public coefficients.

    ``prepared`` are both as rows of large tables see them, ``residual`` is the public size of residuals.
    """

    whitening: Whitening
    shift: Floats
    residual: float
    prepared: ExactMatrix | None = None

    @classmethod
    def of(cls, moments: PublicMoments, rows: RowSource, start: Floats | None = None) -> View:
        """From public moments and the size of the table; ``start`` in place of the public fit."""
        whitening = equilibrated_whitening(moments.gram)
        back = whitening.back
        shift: Floats = np.zeros(len(moments.terms))
        residual = math.inf
        if moments.cross is not None:
            shift = back @ (back.T @ moments.cross)
            rest = max((moments.yy or 0.0) - explained(moments.cross, back), 0.0)
            residual = math.sqrt(rest)
        shift = shift if start is None else start
        coarse = coarse_map(rows, back, shift, residual)
        if coarse is None:
            return cls(whitening, shift, residual)
        back, shift = coarse.high[:, :-1], coarse.high[:, -1]
        return cls(Whitening(back, np.linalg.inv(back)), shift, residual, coarse)

    @property
    def map(self) -> tuple[Floats, Floats]:
        """What a session applies to every row."""
        return self.whitening.back, self.shift

    def how(self, persons: str | None) -> dict[str, Any]:
        """The rest of what a session of a linear model is told."""
        return {"prepared": self.prepared, "linear": True, "persons": persons}

    def for_persons(self, rows: float) -> View:
        """Persons with so many rows as a row was seen: sums over them are as large."""
        root = math.sqrt(rows)
        return View(
            Whitening(self.whitening.back / root, self.whitening.root * root),
            self.shift,
            self.residual,
        )


@dataclass(frozen=True)
class Prepared:
    """What is known before the first round: how rows are seen, their second moments, the plan.

    Attributes
    ----------
    design : Design
    seen : View
    at : Coordinates
    curvature : Curvature
        In coordinates of the whitening.
    plan : LinearPlan
    expected : float or None
        Length of scores at the first anchor.
    persons : PersonCounts or None
    lines : tuple of Diagnostic
        What is said of the moments and of the plan.
    arrived : bool
        Whether the first anchor is a fit, of public rows.
    lost : float
        Share of the information that was cut off long rows.
    enough : bool
        Whether the first look at private rows found enough of them.
    radius : float or None
        Length to which rows were cut for these moments.
    hidden : (d,) array or None
        Coefficients of which that look saw too little for an error.
    nothing : (d,) array or None
        Columns in which hardly any row differs.
    """

    design: Design
    seen: View
    at: Coordinates
    curvature: Curvature
    plan: LinearPlan
    expected: float | None
    persons: PersonCounts | None
    lines: tuple[Diagnostic, ...]
    arrived: bool = True
    lost: float = 0.0
    enough: bool = True
    radius: float | None = None
    hidden: NDArray[np.bool_] | None = None
    nothing: NDArray[np.bool_] | None = None

    def _turned_curvature(self) -> Curvature:
        """The second moments where rounds compute: the identity, where rows were turned by them."""
        turn, seen = self.at.turn, self.curvature
        if not self.arrived:
            return seen
        return Curvature(
            turn.T @ seen.released @ turn,
            seen.released_sd,
            np.eye(len(turn)),
            seen.used_sd * float(np.linalg.norm(turn, 2)) ** 2,
            1.0,
        )

    def rounds(
        self,
        session: ScoreSession,
        ridge: float,
        made_by: Callable[..., LinearRounds] | None = None,
    ) -> LinearRounds:
        """The rounds, still to be made; ``made_by`` another maker of them."""
        at, n = self.at, session.n
        carried = at.root @ self.seen.shift
        each = rows_of_each(self.persons, n)
        return (made_by or LinearRounds)(
            session=session,
            coordinates=at,
            anchor=carried,
            carried=carried,
            curvature=self._turned_curvature(),
            penalty=each * ridge * at.back.T @ at.back,
            limits=self.plan,
            expected=self.expected,
            rows=max(each, 1.0),
            arrived=self.arrived,
            weighed=not self.arrived,
            hidden=self.hidden is not None and bool(self.hidden.any()),
            lost=self.lost,
        )


def anchored(
    session: ScoreSession,
    moments: PublicMoments,
    seen: View,
    ridge: float,
    errors: str,
) -> LinearFit:
    """Score rounds from a public anchor.

    1. a private histogram of row lengths says where rows are cut for their second moments, which are
       released once (twice where public rows are few: the first says how to whiten them);
    2. rows are whitened again, by the released moments;
    3. each round measures the scale of the scores at the present anchor, releases the mean cut score of
       the whole rows there and takes a Newton step. Rounds go on while the scale falls; the last one
       takes what is left of the total, and is accompanied by the outer products of the scores, the
       mean squared residual and the shares of cut and of empty rows;
    4. the estimates of the rounds that began near the fit are averaged by inverse variance.
    """
    ready = prepared(session, moments, seen, errors)
    return solved_by_rounds(ready.rounds(session, ridge), ready, ridge)


def solved_by_rounds(rounds: LinearRounds, ready: Prepared, ridge: float) -> LinearFit:
    """The rounds of a fit, and what they come to."""
    session = rounds.session
    made = rounds.run()
    cut, terms = rounds.plans[-1].cut, ready.design.terms
    counts, d = ready.persons, len(terms)
    solved = solution(
        ready.at,
        ready.curvature,
        rounds.pooled(),
        rounds.steps[-1].step,
        made,
        cut,
        dispersion=None,
        widening=WIDENING,
        n=session.n,
        ridge=ridge,
        square_floor=0.1 * cut.unit**2,
        square_lost=rounds.plans[-1].square_lost,
        rows=None if counts is None else max(counts.rows, d + 1.0),
        within=session.within,
    )
    estimate = replace(solved.estimate, dispersion_range=solved.square_range)
    lost = not ready.arrived and not (ready.enough and rounds.settled())
    if not ready.enough:
        estimate = without_columns(estimate)
    elif lost:
        estimate = without_errors(estimate)
    elif not ready.arrived:
        estimate = without_columns(without_errors(estimate, ready.hidden), ready.nothing)
    elif not ready.curvature.resolved:
        estimate = without_errors(estimate)
    moved = terms, solved.moved
    fit = reported(ready, rounds, made, estimate, solved.system, moved, ridge)
    if not lost:
        return fit
    unused = unused_note(summary_of(made), ready.design.formula, session.persons, alone=True)
    why = LOST if ready.enough else TOO_LITTLE
    return replace(fit, notes=why + unused + ridge_note(ridge), cautions=(), system=None)


@np.errstate(all="ignore")  # what noise makes of rows may be of any size
def alone(
    task: LinearTask,
    rows: RowSource,
    total: Privacy,
    noise: Noise,
    after: Session[Any] | None,
) -> tuple[LinearFit, ScoreSession]:
    """Score rounds of private rows of which nothing is known but how many there are.

    What public rows would tell is found first (`score_rounds.first_look`). Rounds begin at the location
    of the response. Rows that were cut for the second moments weigh less in all rounds but the last,
    so that scores and curvature belong together far from the fit; the last round counts all rows alike.
    """
    design = task.design
    look, before = first_look(
        design, rows, total, noise, response=True, public=task.moments, after=after
    )
    back, shift = look.rows.whitening.back, look.start(design)
    with ScoreSession(
        rows, LeastSquares(), back, shift, total, noise, linear=True, after=before
    ) as session:
        ready = prepared_alone(session, design, look, shift, task.errors)
        return solved_by_rounds(ready.rounds(session, task.ridge), ready, task.ridge), session


def prepared_alone(
    session: ScoreSession, design: Design, look: FirstLook, shift: Floats, errors: str
) -> Prepared:
    """The rows as a first look has whitened them, and the plan of rounds from there."""
    d, curvature = len(shift), look.rows.curvature
    back, shift = session.whiten(look.rows.whitening.back, shift, look.scale)
    session.weigh(look.rows.radius)
    whitening = Whitening(back, np.linalg.inv(back))
    return Prepared(
        design=design,
        seen=View(whitening, shift, look.scale),
        at=Coordinates.plain(whitening),
        curvature=curvature,
        plan=plan_alone(session.n, d, session.total.mu, curvature.released_sd, errors),
        expected=math.sqrt(d) * look.scale,
        persons=None,
        lines=(),
        arrived=False,
        lost=look.rows.lost,
        enough=look.enough,
        radius=look.rows.radius,
        hidden=look.rows.hidden,
        nothing=look.rows.nothing,
    )


def prepared(session: ScoreSession, moments: PublicMoments, seen: View, errors: str) -> Prepared:
    """Release the second moments of the rows, and turn them so that they are the identity."""
    n, d, mu = session.n, len(moments.terms), session.total.mu
    plan = plan_linear(n, d, mu, moments.m, moments.cross is not None, errors)
    session.require(plan.keep * min(plan.squares, plan.counts))
    persons = None
    if session.by_person:
        persons = session.rows_of_persons(PERSONS)
        seen = seen.for_persons(rows_of_each(persons, n))
        session.whiten(seen.whitening.back, seen.shift)
    expected = _public_scale(moments, seen.whitening.back, d)
    for lengths, gram in plan.stages:
        curvature, radius = _curvature(session, d, moments, lengths, gram)
        at = turned(seen.whitening, curvature)
        back, shift = session.whiten(at.back, seen.shift, seen.residual)
        at = replace(at, turn=at.whitening.root @ back)
        seen = replace(seen, whitening=Whitening(back, np.linalg.inv(back)), shift=shift)
    lines = condition_lines(moments.gram, curvature.released) + _planned(plan, moments)
    return Prepared(
        moments.design, seen, at, curvature, plan, expected, persons, lines, radius=radius
    )


def _curvature(
    session: ScoreSession, d: int, moments: PublicMoments, lengths_share: float, share: float
) -> tuple[Curvature, float]:
    """Second moments of the rows, as they are whitened now, and where rows are cut for them."""
    n, mu = session.n, session.total.mu
    zero = np.zeros(d)
    octave = math.floor(math.log2(math.sqrt(d)))
    windows = (octave - 12, 32), (-1, 1)
    lengths = session.information_lengths(lengths_share, zero, windows, fine=14)
    quantile = lengths.quantile(0.9) or math.sqrt(d)
    radius = cut_of_moments(tail_of(lengths, quantile, n, 2), d, n, mu * math.sqrt(share))
    made = session.round(Shares(information=share), zero, RoundCuts(None, radius))
    assert made.information is not None
    found = made.information.value, made.information.noise_sd
    return shrink_second_moment(*found, known=not moments.ridged), radius


def turned(whitening: Whitening, curvature: Curvature) -> Coordinates:
    """Coordinates in which the released curvature is the identity."""
    values, vectors = np.linalg.eigh(curvature.used)
    return Coordinates(whitening, (vectors / np.sqrt(values)) @ vectors.T)


@dataclass(frozen=True)
class LinearStep:
    """A step, and the mean score that it follows from, of rows as if none were cut."""

    step: Step
    score: Floats


@dataclass(kw_only=True)
class LinearRounds(ScoreRounds[LinearStep]):
    """Rounds of a linear fit: its curvature is known before them.

    ``oblique``, of instruments: what a score is multiplied by, where the curvature is the identity.
    """

    curvature: Curvature
    penalty: Floats
    limits: LinearPlan
    expected: float | None
    rows: float = 1.0  # of a person
    arrived: bool = True
    weighed: bool = False
    hidden: bool = False
    lost: float = 0.0
    measured: bool = True
    noise_sd: float = 0.0
    before: float | None = None
    oblique: Floats | None = None

    def pooled(self) -> Pooled:
        """The average of the rounds that began near the fit."""
        used = [one.step for one, how in zip(self.steps, self.plans, strict=True) if how.pooled]
        if not self.weighed:
            return pool_steps(used)
        return pool_weighed(used, self.curvature.used, self.lost)

    def settled(self) -> bool:
        """Whether the last round began near the fit, and went no farther than noise and rows explain.

        A step that is longer than noise at a chance of one in a thousand, than twice what noise and
        sampling leave, and than a quarter of a residual, was not the last one; unless it counts long
        rows that weighed less before.
        """
        used = [one.step for one, how in zip(self.steps, self.plans, strict=True) if how.pooled]
        if len(used) < 2:
            return False
        last, d = used[-1], len(used[-1].move)
        noise = last.noise_length**2 + used[-2].noise_length ** 2
        square = float(last.move @ last.move)
        if (
            self.lost > _EXPLAINED
            or square < noise * 2 * float(special.gammaincinv(d / 2, 0.999)) / d
        ):
            return True
        residual = d * self.plans[-1].cut.unit ** 2
        return square - noise < max(4 * (noise + residual / self.session.n), _SLIGHT**2 * residual)

    def pooled_score(self, coef: Floats) -> Floats:
        """The mean score at some coefficients, by the rounds that are averaged, with their weights.

        Scores are linear in the coefficients, and fall by as much as these move.
        """
        made = zip(self.steps, self.plans, strict=True)
        used = [one for one, how in made if how.pooled]
        weight = np.array([1 / one.step.variance for one in used])
        at = np.array([one.score + one.step.anchor for one in used])
        return np.asarray(weight @ at / weight.sum() - coef)

    def plan(self) -> RoundPlan:
        n, d, mu = self.session.n, len(self.anchor), self.session.total.mu
        limits, made = self.limits, len(self.steps)
        guess = self.before or self.expected
        window = window_about(guess)
        windows: Windows = (-1, 1), window
        fine = None if made == 0 else quartered(guess, window)
        share = limits.scale if made == 0 else limits.later_scale
        whole = sum(plan.pooled for plan in self.plans) >= limits.middle
        if whole and limits.middle and not self.hidden:
            self.session.weigh(None)
        histogram = self.session.score_lengths(share, self.anchor - self.carried, windows, fine)
        quantile = histogram.quantile(0.9)
        self.measured, self.noise_sd = quantile is not None, histogram.noise_sd
        scale = quantile or guess or histogram.peak()
        near = _near(scale, self.before, self.expected if self.arrived else None)
        last = self._is_last(scale)
        self.before = scale
        left = self.session.left
        if last:
            shares = Shares(
                outer=left * limits.outer,
                squares=left * limits.squares,
                counts=left * limits.counts,
                score=left * (1 - limits.outer - limits.squares - limits.counts),
            )
        else:
            shares = Shares(score=limits.near if near else limits.far)
        tail = tail_of(histogram, scale, n)
        care = _CARE if near or last else _FAR_CARE
        cut = cut_for_intervals(tail, scale, n, d, mu * math.sqrt(shares.score), care)
        square, lost = 1.0, 0.0
        if last:
            square = math.sqrt(self.rows) * cut_of_squares(
                tail_of(histogram, scale, n, 2), d, n, mu * math.sqrt(shares.squares)
            )
            own = square / math.sqrt(self.rows)  # as scores of that length are cut
            lost = self.rows * median_excess(histogram, scale, n, own * math.sqrt(d)) / d
        return RoundPlan(shares, cut, None, square, lost, last, near or last)

    def _is_last(self, scale: float) -> bool:
        """Whether this round is the last: from the plan and released scales only.

        The first may be it when the plan allows and the residuals are as small as the public ones, so
        that the public anchor is as good as it looked.
        """
        limits, made = self.limits, len(self.steps)
        cost = limits.near + limits.later_scale
        if made + 1 >= limits.most_rounds or self.session.left - cost < limits.keep:
            return True
        if made + 1 < limits.least_rounds:
            return False
        if sum(plan.pooled for plan in self.plans) < limits.middle:
            return False
        if self.before is None:
            return _near(scale, None, self.expected)
        return scale > limits.fall * self.before and not self._still_moving()

    def _still_moving(self) -> bool:
        """Whether steps can be seen where noise is next to nothing beside the errors of sampling.

        Another round costs nothing there, and goes on to the fit without privacy.
        """
        step, error = self.steps[-1].step, self.plans[-1].cut.unit / math.sqrt(self.session.n)
        moved = float(np.linalg.norm(step.move)) / math.sqrt(len(step.move))
        return step.noise_sd < _NOISELESS * error and moved > _STILL * error

    def newton(self, made: Round, plan: RoundPlan) -> LinearStep:
        assert made.score is not None
        how = made.score.value, made.score.noise_sd, plan.cut.slope
        step = newton_step(self.curvature, self.penalty, self.anchor, *how)
        if self.oblique is not None:
            longer = float(np.linalg.norm(self.oblique))
            step = replace(step, move=self.oblique @ step.move, noise_length=step.noise_sd * longer)
        return LinearStep(step, made.score.value / plan.cut.slope)


def _near(scale: float, before: float | None, expected: float | None) -> bool:
    """Whether a round begins near the fit, by the scales of the scores."""
    if before is None:
        return expected is not None and scale <= 1.5 * PRODUCT_QUANTILE * expected
    return scale > 0.6 * before


def reported(
    ready: Prepared,
    rounds: LinearRounds,
    made: Round,
    estimate: Estimate,
    system: ReleasedSystem | None,
    moved: tuple[Sequence[str], Floats],
    ridge: float,
) -> LinearFit:
    """The fit with its diagnostics and notes; ``moved``: terms, and what cuts may have moved them."""
    summary, curvature = summary_of(made), ready.curvature
    bound, cut = ready.design.weight_bound, rounds.plans[-1].cut
    diagnostics = (
        *row_diagnostics(
            (summary.cut_share, summary.share_sd),
            (summary.empty_share, summary.share_sd),
            "share whose score was cut in the last round"
            + ("" if bound is None else ", or whose weight was above the public bound"),
            persons=rounds.session.persons,
        ),
        *rows_line(ready.persons),
        *ready.lines[:2],
        Diagnostic("rounds", len(rounds.steps), None, "score rounds, chosen from releases"),
        *ready.lines[2:],
    )
    if ready.arrived:
        notes = matrix_warnings(curvature.positive_definite, curvature.resolved, ridge)
    else:
        unknown = np.isnan(np.diag(estimate.sampling))
        notes = hidden_note(ready.design.terms, unknown, ready.nothing)
        notes += leverage_note(ready.lost) + ridge_note(ridge)
    notes += unused_note(summary, ready.design.formula, rounds.session.persons, not ready.arrived)
    notes += outside_note(ready.design, summary, 1 - cut.slope)
    cautions: tuple[str, ...] = ()
    if rounds.measured:
        cautions = unseen_note(rounds.noise_sd, rounds.session.n)
        cautions += tail_note(*moved, summary.cut_share, _NOTED)
    return LinearFit(estimate, system, "private", diagnostics, notes + cautions, cautions)


def _planned(plan: LinearPlan, moments: PublicMoments) -> tuple[Diagnostic, ...]:
    """What the plan expected; without the number of public rows it expects the worst of them."""
    if moments.m is None:
        return ()
    note = "for normal errors, over least squares without privacy; longer tails cost more"
    return (Diagnostic("planned error", plan.predicted_ratio, None, note),)


def _public_scale(moments: PublicMoments, back: Floats, d: int) -> float | None:
    """Expected length of a score at the public anchor: sqrt(d) public residual sd; None unknown."""
    if moments.yy is None or not moments.yy > 0:
        return None
    if moments.cross is None:
        return math.sqrt(d * moments.yy)
    rest = moments.yy - explained(moments.cross, back)
    return math.sqrt(d * max(rest, 1e-6 * moments.yy))
