"""What score rounds come to: an estimate with its covariances, and how far cuts may have moved it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpstats.arrays import Floats
from dpstats.numerics.matrices import (
    Curvature,
    kept_within,
    quadratic_forms,
    shrink_second_moment,
    spectral_norm,
    with_inverse,
)
from dpstats.score_rounds.bounds import ReleasedSystem
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
from dpstats.score_rounds.releases import PersonCounts, Round, RowSummary, ScoreSession
from dpstats.score_rounds.rounds import ScoreRounds, summary_of


@dataclass(frozen=True)
class Solution:
    """What the rounds of a fit come to.

    Attributes
    ----------
    estimate : Estimate
    system : ReleasedSystem
    square : float or None
        Mean squared residual at the estimate, on its degrees of freedom.
    moved : Moved
    leaning : (d,) array or None
        What the errors of coefficients allow for scores that lean.
    """

    estimate: Estimate
    system: ReleasedSystem
    square: float | None
    moved: Moved
    leaning: Floats | None


@dataclass(frozen=True)
class UsedRows:
    """How many rows a fit can use. A sum has a term for each row, or for each person.

    Attributes
    ----------
    n : int
        Terms of a sum; those of rows that cannot be used are zero.
    terms : float
        Share of them that can be used.
    rows : float
        Rows that can be used, over n: the same share; of persons, who may have many, it may exceed 1.
    by_person, within : bool
        Whether terms are those of persons, and whether their effects were taken out.
    """

    n: int
    terms: float
    rows: float
    by_person: bool
    within: bool

    @classmethod
    def of(
        cls, session: ScoreSession, summary: RowSummary, persons: PersonCounts | None, d: int
    ) -> UsedRows:
        """By what the last round says of rows, for a fit of d coefficients."""
        n, terms = session.n, filled_share(summary.empty_share, summary.share_sd)
        rows = terms if persons is None else max(persons.rows, d + 1.0) / n
        return cls(n, terms, rows, persons is not None, session.within)

    @property
    def each(self) -> float:
        """Rows behind each of the n terms."""
        return self.rows if self.by_person else 1.0

    @property
    def absorbed(self) -> float:
        """Effects that were taken out."""
        return self.terms * self.n if self.within else 0.0

    def hc1_factor(self, d: int) -> float:
        """By which R's HC1 raises the sandwich of d coefficients; of persons, Stata and fixest."""
        rows, d = self.rows * self.n, d + self.within
        if not self.by_person:
            return rows / max(rows - d, 1.0)
        persons = self.terms * self.n
        return persons / max(persons - 1, 1.0) * (rows - 1) / max(rows - d, 1.0)


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
    at, cut, lean = rounds.coordinates, rounds.plans[-1].cut, rounds.lean
    before = np.linalg.inv(at.turn).T  # from scores of T z to those of z
    turn = at.turn if lean is None else at.turned(lean.turn).turn
    back = np.linalg.inv(turn).T  # and from those that were cut
    d, n, whitening = len(turn), rounds.session.n, at.whitening
    used = UsedRows.of(rounds.session, summary_of(made), persons, d)
    penalty = used.each * (ridge * whitening.back.T @ whitening.back)
    hessian, inverse = with_inverse(curvature.used + penalty)
    solve = whitening.back @ inverse
    move = turn @ pooled.move
    noise = pooled.noise_sd**2 * back @ back.T + matrix_noise_covariance(move, curvature.used_sd)
    leans = np.zeros(d) if lean is None else before @ lean.direction
    allowed, beyond = (0.0, 0.0) if lean is None else (lean.allowed, lean.left)
    far = np.zeros(d) if pooled.far is None else back @ pooled.far
    for one in (*(back @ one for one in pooled.left), far, allowed * leans):
        noise = noise + np.outer(one, one)
    away = turn @ (pooled.coef - step.anchor)
    square, square_range = _mean_square(
        rounds, made, used, curvature.used, away, inverse @ noise @ inverse, square_floor
    )
    spread = dispersion if dispersion is not None else square
    assert spread is not None
    meat = _meat(rounds, made, turn, curvature.used, solve, square or spread)
    along: Floats = np.eye(d)
    if meat is not None:
        along = at.turn.T @ meat @ at.turn
        along = along * d / float(np.trace(along))
        meat = meat * used.hc1_factor(d)
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
        used.each * ridge,
        used.rows,
        meat=meat,
    )
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
    estimate = replace(estimate, dispersion_range=square_range)
    return Solution(estimate, system, square, Moved(moved, most), leaning)


def _mean_square(
    rounds: ScoreRounds[Any],
    made: Round,
    used: UsedRows,
    curvature: Floats,
    away: Floats,
    covariance: Floats,
    floor: float,
) -> tuple[float | None, tuple[float, float] | None]:
    """`Solution.square`: the last round released it at its anchor.

    And where it lies by its noise (two standard deviations) and by what its cut may have taken off.

    The estimate is ``away`` from there, by a move whose noise has this ``covariance``.
    """
    summary = summary_of(made)
    if summary.mean_square is None:
        return None, None
    square = residual_variance(
        summary.mean_square,
        used.rows,
        curvature,
        away,
        covariance,
        used.n,
        floor=floor / max(used.rows, 1.0),
        absorbed=used.absorbed,
    )
    unsure = 2 * summary.mean_square_sd / used.each
    lost = rounds.plans[-1].square_lost / used.each
    return square, (max(square - unsure, 0.0), square + unsure + lost)


def _meat(
    rounds: ScoreRounds[Any],
    made: Round,
    turn: Floats,
    curvature: Floats,
    solve: Floats,
    spread: float,
) -> Floats | None:
    """S of scores of z, as if none were cut; None where outer products were not released.

    They are those of scores of ``turn`` z; ``solve`` turns scores of z into coefficients.
    """
    if made.outer is None:
        return None
    plan, back = rounds.plans[-1], np.linalg.inv(turn).T
    outer, sd = made.outer.value / plan.cut.slope**2, made.outer.noise_sd / plan.cut.slope**2
    if plan.kept is not None:
        raised = np.linalg.inv(plan.kept)
        outer = raised @ outer @ raised
    meat = shrunk_meat(outer, sd, turn.T @ curvature @ turn, spread, solve @ back)
    return np.asarray(back @ meat @ back.T)


def shrunk_meat(released: Floats, sd: float, inner: Floats, spread: float, asked: Floats) -> Floats:
    """The outer products of the scores, moved towards spread * inner as far as their noise goes.

    Constant variance of errors would make them a multiple of the curvature ``inner``; in coordinates
    where that is the identity, `shrink_second_moment` weighs the departure from it. One factor for all
    directions is right on average, and wrong for the few in which the release departs by far more than
    its noise. The variance of a coefficient is u'Mu for a row u of ``asked``; there it is raised to the
    release less its noise (Efron and Morris 1972: no estimate is moved by more than one standard
    deviation).
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
    low = quadratic_forms(along, there) - noise
    return np.asarray(root @ kept_within(used, along, low, np.full(len(low), np.inf)) @ root)
