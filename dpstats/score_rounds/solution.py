"""What score rounds come to: an estimate with its covariances, and how far cuts may have moved it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpstats.arrays import Floats
from dpstats.numerics.matrices import (
    Curvature,
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
from dpstats.score_rounds.releases import PersonCounts, Round
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
