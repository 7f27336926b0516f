"""How the budget of a generalised linear model is divided, and where information rows are cut."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpstats.arrays import Floats
from dpstats.score_rounds.releases import Shares
from dpstats.score_rounds.tail_laws import mean_excess

INFORMATION, COUNTS = 0.12, 0.02
"""Information, and shares of cut and of empty rows: parts of what the last round has left."""


@dataclass(frozen=True)
class RoundShares:
    """Shares of a round: its two histograms of lengths, its information, its score."""

    lengths: float
    information: float
    score: float

    @property
    def total(self) -> float:
        """Share of the whole round."""
        return self.lengths + self.information + self.score

    def before_last(self) -> Shares:
        """What a round spends beside its histograms, if it is not the last."""
        return Shares(information=self.information, score=self.score)

    def scaled(self, factor: float) -> RoundShares:
        """This round at ``factor`` times its price."""
        return RoundShares(factor * self.lengths, factor * self.information, factor * self.score)


@dataclass(frozen=True)
class GlmPlan:
    """Shares of the total's mu^2; the last score takes all that is left.

    Attributes
    ----------
    far, near : RoundShares
        Of a round before the last one: while what a step leaves behind exceeds its noise, and after.
    outer, squares : float
        Of the last round, as fractions of what it has left, beside `INFORMATION` and `COUNTS`.
    least_rounds, most_rounds : int
    keep : float
        The last round is left at least this share.
    """

    far: RoundShares
    near: RoundShares
    outer: float
    squares: float
    least_rounds: int
    most_rounds: int
    keep: float

    def last_round(self, left: float) -> Shares:
        """What the last round spends: all that is ``left``."""
        rest = INFORMATION + self.outer + self.squares + COUNTS
        return Shares(
            information=left * INFORMATION,
            score=left * (1 - rest),
            outer=left * self.outer,
            squares=left * self.squares,
            counts=left * COUNTS,
        )


def plan_glm_rounds(
    iterations: int | None, start: float, squares: bool, outer: bool = True
) -> GlmPlan:
    """The plan of a fit that has spent ``start``; with ``iterations`` exactly as many rounds.

    Examples
    --------
    >>> plan_glm_rounds(None, 0.0, True).most_rounds
    8
    >>> round(plan_glm_rounds(11, 0.0, True).far.total, 3)
    0.065
    """
    far, near = RoundShares(0.02, 0.02, 0.03), RoundShares(0.05, 0.05, 0.08)
    least, most, keep = 2, 8, 0.3
    if iterations is not None:
        least = most = iterations
        room = (1 - start - keep - near.lengths) / max(iterations - 1, 1)
        far = near = near.scaled(min(1.0, room / near.total))
        keep = 0.0
    return GlmPlan(
        far=far,
        near=near,
        outer=0.08 if outer else 0.0,
        squares=0.05 if squares else 0.0,
        least_rounds=least,
        most_rounds=most,
        keep=keep,
    )


def coarse_enough(n: int, d: int, mu: float, shares: RoundShares) -> bool:
    """Whether a round at these shares would see more than noise: 1.5 standard errors per coefficient.

    The cut is taken at 2.5 root mean squares, so that the noise is 5 sqrt(d) / (mu n) per coordinate.
    """
    return 5 * math.sqrt(d / n) / (mu * math.sqrt(shares.score)) < 1.5


def choose_information_radius(
    quantile90: float, above: Callable[[Floats], Floats], n: int, d: int, mu: float
) -> float:
    """Length at which information rows are cut, from what is known of their lengths.

    ``above`` tells how many of the n lengths surely exceed a threshold (`LogHistogram.surely_above`).

    The noise of the matrix grows as R^2; what is lost of the information is the mean of
    (length^2 - R^2) over the longer rows, and may all lie in one direction. R balances the two squares.
    """
    radius = quantile90 * np.geomspace(0.6, 16.0, 120)
    counted = above(radius / 1.25)  # bins are up to a quarter wide: count those that may be longer
    share = np.minimum.accumulate(np.clip(counted / n, 0.0, 1.0))
    noise = math.sqrt(d + 1) * radius**2 / (n * mu)
    best = int(np.argmin(noise**2 + mean_excess(radius, share[None], 2)[0] ** 2))
    return float(radius[best])
