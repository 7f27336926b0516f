"""Second moments of far rows that were cut for the released ones: changes of scores tell them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from dpstats.arrays import Floats
from dpstats.score_rounds.estimate import Step
from dpstats.score_rounds.leaning import Leaning

_SURE, _MORE = 4.0, 0.5
"""Times its noise that a score changes more than second moments foresee, and at least as a share of
what these do."""


@dataclass(frozen=True)
class Look:
    """A score as of all rows, and where; and whether long rows weighed as much as others.

    ``lost``: what its cut is expected to take off, if all of it has one direction.
    """

    anchor: Floats
    score: Floats
    noise_sd: float
    lost: float
    all_alike: bool


@dataclass(frozen=True)
class Unforeseen:
    """Second moments of rows that were cut before these were released.

    ``matrix`` is all of it, in one direction ``times`` what was released. ``rest`` is what the last
    change of the score had beyond the other second moments, ``along`` its product with the change of the
    anchor, and ``noise_sd`` that of the score before.
    """

    matrix: Floats
    times: float
    rest: Floats
    along: float
    noise_sd: float

    def with_noise(self, step: Step, lean: Leaning | None) -> Step:
        """A step with what the noise of the score before it adds."""
        move = step.move if lean is None else lean.turn @ step.move
        more = self.noise_sd * abs(float(self.rest @ move)) / self.along
        times = math.hypot(1.0, more / step.noise_sd)
        return replace(
            step,
            noise_sd=times * step.noise_sd,
            noise_length=times * step.noise_length,
            variance=step.variance + more**2,
        )


def unforeseen(
    before: Look, now: Look, used: Floats, known: Unforeseen | None
) -> Unforeseen | None:
    """What a score that changed by more than second moments foresee tells of them; None if it did not.

    Scores of uncut rows change by K times the move of the anchor, K being their second moments. Of a
    cluster of far rows, which is cut where second moments are released, K has a matrix of rank one more
    than these, m z z'. What is more in the change of the score is m z (z'move): the matrix is its square
    over its product with the move.

    Examples
    --------
    Far rows along the first column were cut: of their second moments, 1.45, 0.8 are known.

    >>> whole, there = np.diag([1.45, 1.0]), np.array([1.0, 0.5])
    >>> at = np.zeros(2), np.array([2.0, 0.5])
    >>> looks = [Look(b, whole @ (there - b), 0.001, 0.0, True) for b in at]
    >>> found = unforeseen(*looks, np.diag([0.8, 1.0]), None)
    >>> found.matrix.round(2).tolist(), round(found.times, 2)
    ([[0.65, 0.0], [0.0, 0.0]], 1.81)
    """
    moved = now.anchor - before.anchor
    rest = before.score - now.score - used @ moved
    noise, along = math.hypot(before.noise_sd, now.noise_sd), float(rest @ moved)
    foreseen, size = float(moved @ used @ moved), float(np.linalg.norm(moved))
    own, spread = _own_noise(used, before.noise_sd)
    # scores may also differ by what the one cut takes off and the other does not; and of a move that
    # followed noise that noise comes back
    surely = math.hypot(_SURE * noise * size, _SURE * spread) + max(before.lost, now.lost) * size
    if not along > max(surely + min(own, foreseen), _MORE * foreseen):
        return None
    whole = used + np.outer(rest, rest) / along
    released = used if known is None else used - known.matrix
    times = float(rest @ whole @ rest) / float(rest @ released @ rest)
    return Unforeseen(whole - released, times, rest, along, before.noise_sd)


def _own_noise(used: Floats, noise_sd: float) -> tuple[float, float]:
    """Mean and standard deviation of e'K^-1 e, e being the noise of the score of a step K^-1 (s + e)."""
    inverse = np.linalg.inv(used)
    spread = math.sqrt(2) * float(np.linalg.norm(inverse))
    return noise_sd**2 * float(np.trace(inverse)), noise_sd**2 * spread
