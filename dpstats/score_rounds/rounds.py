"""Score rounds: the way from a first anchor to a private fit, for every model fitted by score steps.

A model says how rows are seen (a `Family`), where rounds begin, what each may spend and where it cuts.
`ScoreRounds.run` makes the rounds: each releases the mean cut score at the present anchor, and what else
its shares pay for, and takes a Newton step. `solution` turns what the last round leaves into an estimate
with its covariances.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from dpstats.arrays import Floats
from dpstats.numerics.matrices import (
    Curvature,
    Whitening,
    quadratic_forms,
    shrink_second_moment,
    spectral_norm,
    with_inverse,
)
from dpstats.report.diagnostics import ROWS
from dpstats.report.released import Diagnostic
from dpstats.score_rounds.bounds import ReleasedSystem
from dpstats.score_rounds.cuts import Cut
from dpstats.score_rounds.estimate import (
    Estimate,
    Moved,
    Pooled,
    Step,
    filled_share,
    in_user_units,
    matrix_noise_covariance,
    residual_variance,
)
from dpstats.score_rounds.leaning import SHARE, Leaning, LongScores, long_from
from dpstats.score_rounds.releases import (
    PersonCounts,
    Round,
    RowSummary,
    ScoreSession,
    Shares,
    Window,
)
from dpstats.score_rounds.rows import RoundCuts
from dpstats.score_rounds.tails import Tail

PERSONS = 0.02
"""Share of the total that tells how many rows persons have, where scores are summed up over these."""


@dataclass(frozen=True)
class Coordinates:
    """Where rounds compute: rows are whitened, and perhaps turned once the curvature is known.

    Attributes
    ----------
    whitening : Whitening
        In these coordinates the curvature is released: z = back' x.
    turn : (d, d) array
        Symmetric T: scores are those of T z. There their noise is alike in all directions.
    """

    whitening: Whitening
    turn: Floats

    @classmethod
    def plain(cls, whitening: Whitening) -> Coordinates:
        """One set of coordinates for both curvature and scores."""
        return cls(whitening, np.eye(len(whitening.back)))

    @property
    def back(self) -> Floats:
        """From coefficients of T z to the user's."""
        return self.whitening.back @ self.turn

    @property
    def root(self) -> Floats:
        """From the user's coefficients to those of T z."""
        return np.linalg.solve(self.turn, self.whitening.root)

    def with_back(self, back: Floats) -> Coordinates:
        """These coordinates, where scores are those of another matrix, as it was rounded."""
        return Coordinates(self.whitening, self.whitening.root @ back)

    def turned(self, turn: Floats) -> Coordinates:
        """These coordinates, with scores of A T z."""
        return Coordinates(self.whitening, self.turn @ turn)


@dataclass(frozen=True)
class RoundPlan:
    """What a round will do.

    Attributes
    ----------
    shares : Shares
    cut : Cut
        Of the scores.
    radius : float or None
        Of information rows.
    square, square_lost : float
        Of residuals, and what it takes off their mean square at most, with 95 % of what tails may be.
    last : bool
    pooled : bool
        Whether its estimate counts beside that of the last round.
    lean : Leaning or None
        Where long scores point one way, and are cut farther out.
    kept : (d, d) array or None
        Symmetric K: of the change of scores cuts leave K times ``cut.slope``; None: the identity.
    """

    shares: Shares
    cut: Cut
    radius: float | None = None
    square: float = 1.0
    square_lost: float = 0.0
    last: bool = False
    pooled: bool = True
    lean: Leaning | None = None
    kept: Floats | None = None


def window_about(guess: float | None) -> Window:
    """Octaves that a histogram of lengths looks at: all, or those about what they are expected to be."""
    return (-64, 160) if guess is None else (math.frexp(guess)[1] - 24, 48)


def quartered(guess: float | None, window: Window) -> int | None:
    """Octaves of a window to be counted by quarters: up to twice the expected length."""
    return None if guess is None else math.frexp(guess)[1] + 2 - window[0]


class HasStep(Protocol):
    """What a model makes of a round: a Newton step, perhaps with more that is known of it."""

    @property
    def step(self) -> Step: ...


_S = TypeVar("_S", bound=HasStep)


@dataclass(kw_only=True)
class ScoreRounds(ABC, Generic[_S]):
    """The rounds of one fit.

    Attributes
    ----------
    session : ScoreSession
    coordinates : Coordinates
    anchor : (d,) array
        Where the next round computes its scores, as coefficients of T z. So are all steps; but that of
        a round whose scores lean, which are those of A T z, is in coefficients of these.
    carried : (d,) array
        The anchor whose linear predictor the rows carry.
    steps : list
        One for each round.
    plans : list of RoundPlan
    """

    session: ScoreSession
    coordinates: Coordinates
    anchor: Floats
    carried: Floats
    steps: list[_S] = field(default_factory=list, init=False)
    plans: list[RoundPlan] = field(default_factory=list, init=False)

    @property
    def lean(self) -> Leaning | None:
        """Where scores of the last round lean."""
        return self.plans[-1].lean

    def far_scores(self, tail: Tail, expected: bool = True) -> LongScores:
        """What of scores at the anchor is as far out as noise can count them.

        Less what the family expects of it, if that is to be ``expected``.
        """
        session, share = self.session, self.session.left * SHARE
        paid = session.total.mu * math.sqrt(share)
        length = long_from(tail, session.n, len(self.anchor), paid)
        at = self.anchor - self.carried
        return LongScores(session.long_scores(share, at, length, expected), length)

    @abstractmethod
    def plan(self) -> RoundPlan:
        """The next round: from the plan of the fit, and from what was released."""

    @abstractmethod
    def newton(self, made: Round, plan: RoundPlan) -> _S:
        """The step that a round's releases give."""

    def next_anchor(self, step: _S) -> Floats:
        """Where the next round computes its scores; in other coordinates, if these change."""
        return step.step.anchor + step.step.move

    def run(self) -> Round:
        """Make the rounds, and return what the last one has released."""
        while True:
            made = self.one_round()
            if made is not None:
                return made

    def one_round(self) -> Round | None:
        """Make the next round; what it has released, if it is the last one."""
        plan = self.plan()
        less = plan.lean.less if plan.lean and plan.lean.stretch > 1 else None
        cuts = RoundCuts(plan.cut.length, plan.radius, plan.square, less=less)
        made = self.session.round(plan.shares, self.anchor - self.carried, cuts)
        step = self.newton(made, plan)
        self.plans.append(plan)
        self.steps.append(step)
        if plan.last:
            return made
        self.anchor = self.next_anchor(step)
        return None


@dataclass(frozen=True)
class Solution:
    """What the rounds of a fit come to.

    Attributes
    ----------
    estimate : Estimate
    system : ReleasedSystem
    square : float or None
        Mean squared residual at the estimate, on its degrees of freedom.
    square_range : (float, float) or None
        Where it lies by its noise (two standard deviations) and by what its cut may have taken off.
    moved : Moved
    leaning : (d,) array or None
        What the errors of coefficients allow for scores that lean.
    """

    estimate: Estimate
    system: ReleasedSystem
    square: float | None
    square_range: tuple[float, float] | None
    moved: Moved
    leaning: Floats | None


def solution(
    rounds: ScoreRounds[Any],
    curvature: Curvature,
    pooled: Pooled,
    step: Step,
    made: Round,
    *,
    dispersion: float | None,
    widening: float,
    ridge: float,
    square_floor: float,
    persons: PersonCounts | None,
) -> Solution:
    """Estimate and covariances from a pooled solution and from what the last round has released.

    In coordinates of T z, with H the curvature there: the error of the solution is H^-1 (g/kappa - G
    move + what was left of the way + what was cut), g the noise of the score, G that of the curvature.
    Sampling leaves H^-1 S H^-1/(n kappa^2), S the mean of the outer products of the cut scores where
    these were released, else dispersion times H; kappa is the share of rows whose score is not cut.
    Where scores vary most, most is cut: what cutting may have moved is taken to spread over directions
    as S does.

    Parameters
    ----------
    curvature : Curvature
        In coordinates of the whitening; ``pooled`` and ``step`` are where the last scores were cut.
    step, made : Step, Round
        Those of the last round.
    dispersion : float or None
        Where the family fixes it.
    widening : float
        Share of what cuts took off the scores that is counted as an error.
    persons : PersonCounts or None
        How many rows persons have, where sums have one term for each of these.
    """
    at, plan, lean = rounds.coordinates, rounds.plans[-1], rounds.lean
    cut, n, within = plan.cut, rounds.session.n, rounds.session.within
    before = np.linalg.inv(at.turn).T  # from scores of T z to those of z
    turn = at.turn if lean is None else at.turned(lean.turn).turn
    back = np.linalg.inv(turn).T  # and from those that were cut
    d = len(turn)
    whitening = at.whitening
    summary = summary_of(made)
    full = filled_share(summary.empty_share, summary.share_sd)
    rows = None if persons is None else max(persons.rows, d + 1.0)
    filled = full if rows is None else rows / n  # rows that count for each term of a sum
    penalty = ridge * whitening.back.T @ whitening.back
    if rows is not None:
        penalty = filled * penalty
    hessian, inverse = with_inverse(curvature.used + penalty)
    move = turn @ pooled.move
    noise = pooled.noise_sd**2 * back @ back.T + matrix_noise_covariance(move, curvature.used_sd)
    leans = np.zeros(d) if lean is None else before @ lean.direction
    allowed, beyond = (0.0, 0.0) if lean is None else (lean.allowed, lean.left)
    far = np.zeros(d) if pooled.far is None else back @ pooled.far
    for one in (*(back @ one for one in pooled.left), far, allowed * leans):
        noise = noise + np.outer(one, one)
    square, square_range = None, None
    if summary.mean_square is not None:
        square = residual_variance(
            summary.mean_square,
            filled,
            curvature.used,
            turn @ (pooled.coef - step.anchor),
            inverse @ noise @ inverse,
            n,
            floor=square_floor / max(filled, 1.0),
            absorbed=full * n if within else 0.0,
        )
        each = 1.0 if rows is None else filled  # rows behind a term of the sum of squares
        unsure = 2 * summary.mean_square_sd / each
        square_range = max(square - unsure, 0.0), square + unsure + plan.square_lost / each
    spread = dispersion if dispersion is not None else square
    assert spread is not None
    meat: Floats | None = None
    along: Floats = np.eye(d)
    if made.outer is not None:
        inner = turn.T @ curvature.used @ turn
        outer, sd = made.outer.value / cut.slope**2, made.outer.noise_sd / cut.slope**2
        if plan.kept is not None:
            raised = np.linalg.inv(plan.kept)
            outer = raised @ outer @ raised
        asked = whitening.back @ inverse @ back
        meat = shrunk_meat(outer, sd, inner, square or spread, asked)
        meat = back @ meat @ back.T
        along = at.turn.T @ meat @ at.turn
        along = along * d / float(np.trace(along))
        meat = meat * degrees_of_freedom(filled * n, d + within, None if rows is None else full * n)
    noise = noise + (widening * pooled.excess) ** 2 * before @ along @ before.T
    estimate = in_user_units(
        turn @ pooled.coef,
        hessian,
        curvature.used,
        noise,
        spread,
        cut.efficiency / cut.slope**2,
        whitening,
        curvature.used_sd,
        n,
        ridge if rows is None else filled * ridge,
        filled,
        meat=meat,
    )
    solve = whitening.back @ inverse
    out, of_cut = solve @ before, solve @ back
    reach = np.sqrt(quadratic_forms(out, along))
    left = math.hypot(
        *(float(np.linalg.norm(of_cut @ one)) for one in pooled.left),
        float(np.linalg.norm(solve @ far)),
        beyond * float(np.linalg.norm(solve @ leans)),
    )
    system = ReleasedSystem(
        curvature.released,
        curvature.used,
        curvature.released_sd,
        True,
        penalty,
        move,
        pooled.noise_sd,
        whitening.back,
        back,
        pooled.excess * spectral_norm(out) + left,
    )
    error = np.sqrt(np.maximum(np.diag(estimate.vcov), 1e-300))
    moved, most = pooled.excess * reach / error, pooled.most * reach / error
    leaning = None if lean is None else np.hypot(solve @ far, allowed * (solve @ leans))
    return Solution(estimate, system, square, square_range, Moved(moved, most), leaning)


def degrees_of_freedom(rows: float, d: int, persons: float | None) -> float:
    """The factor of R's HC1; for sums over persons that of Stata and fixest."""
    if persons is None:
        return rows / max(rows - d, 1.0)
    return persons / max(persons - 1, 1.0) * (rows - 1) / max(rows - d, 1.0)


def shrunk_meat(released: Floats, sd: float, inner: Floats, spread: float, asked: Floats) -> Floats:
    """The outer products of the scores, moved towards spread * inner as far as their noise goes.

    Constant variance of errors would make them a multiple of the curvature ``inner``; in coordinates
    where that is the identity, `shrink_second_moment` weighs the departure from it. The variance of a
    coefficient is u'Mu for a row u of ``asked``; there the release is kept but for its noise.
    """
    values, vectors = np.linalg.eigh(inner)
    root = (vectors * np.sqrt(values)) @ vectors.T
    straight = (vectors / np.sqrt(values)) @ vectors.T
    there = straight @ released @ straight
    used = shrink_second_moment(there, sd * float(np.mean(1 / values)), spread).used
    along = asked @ root
    length = np.linalg.norm(along, axis=1, keepdims=True)
    along = along / np.where(length > 0, length, 1.0)
    noise = sd * ((along @ straight) ** 2).sum(axis=1)
    return np.asarray(root @ (used + _kept_along(there, used, along, noise)) @ root)


def _kept_along(released: Floats, used: Floats, along: Floats, noise: Floats) -> Floats:
    """What a shrunk matrix lacks of a released one in some directions, but for the noise there.

    One factor for all directions is right on average, and wrong for the few in which the release departs
    by far more than its noise. Of each unit row u of ``along`` the shrunk u'Mu is raised to the released
    one less its noise (Efron and Morris 1972: no estimate is moved by more than one standard deviation),
    the farthest first; what is added along one direction counts for the others.
    """
    lacking = quadratic_forms(along, released - used) - noise
    if not np.isfinite(lacking).all():
        return np.zeros_like(used)
    shared = (along @ along.T) ** 2
    added = np.zeros(len(along))
    for _ in range(len(along)):
        k = int(np.argmax(lacking))
        if not lacking[k] > 0:
            break
        added[k] += lacking[k]
        lacking = lacking - lacking[k] * shared[k]
    return (along.T * added) @ along


def summary_of(made: Round) -> RowSummary:
    """What the last round says of the rows."""
    assert made.summary is not None
    return made.summary


def rows_of_each(persons: PersonCounts | None, n: int) -> float:
    """Rows behind each of the n terms of a sum: 1, or how many a person has on average."""
    return 1.0 if persons is None else max(persons.rows / n, 1e-3)


def rows_line(persons: PersonCounts | None) -> tuple[Diagnostic, ...]:
    """How many rows all persons have, where that was released."""
    if persons is None:
        return ()
    note = f"of all persons, counting at most {persons.most} for each"
    return (Diagnostic(ROWS, persons.rows, persons.rows_sd, note),)
