"""How the budget of a generalised linear model is divided, and where information rows are cut."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpstats.estimate.matrices import Floats


@dataclass(frozen=True)
class GlmPlan:
    """Shares of the total's mu^2; the last score takes all that is left.

    Attributes
    ----------
    start : float
        What is released before the first round (a response histogram, moments), 0 if nothing.
    lengths : float
        The two histograms of a round.
    information, score : float
        Of a round before the last one.
    last_information, squares, counts : float
        Of the last round, as fractions of what it has left.
    least_rounds, most_rounds : int
    keep : float
        The last round is left at least this share.
    """

    start: float
    lengths: float
    information: float
    score: float
    last_information: float
    squares: float
    counts: float
    least_rounds: int
    most_rounds: int
    keep: float

    @property
    def early(self) -> float:
        """Share of a round before the last one."""
        return self.lengths + self.information + self.score


def plan_glm_rounds(iterations: int | None, start: float, squares: bool) -> GlmPlan:
    """The plan of a fit; with ``iterations`` exactly as many rounds, each as dear as it can be.

    Examples
    --------
    >>> plan_glm_rounds(None, 0.0, True).most_rounds
    6
    >>> round(plan_glm_rounds(11, 0.0, True).early, 3)
    0.065
    """
    early = (0.05, 0.05, 0.08)
    least, most, keep = 2, 6, 0.3
    if iterations is not None:
        least = most = iterations
        room = (1 - start - keep - early[0]) / max(iterations - 1, 1)
        shrunk = min(1.0, room / sum(early))
        early = (early[0] * shrunk, early[1] * shrunk, early[2] * shrunk)
        keep = 0.0
    return GlmPlan(start, *early, 0.12, 0.05 if squares else 0.0, 0.02, least, most, keep)


def choose_information_radius(
    quantile90: float, above: Callable[[Floats], Floats], n: int, d: int, mu: float
) -> float:
    """Length at which information rows are cut, from what is known of their lengths.

    ``above`` tells how many of the n lengths surely exceed a threshold (`LogHistogram.count_above`).

    The noise of the matrix grows as R^2; what is lost of the information is the mean of
    (length^2 - R^2) over the longer rows, and may all lie in one direction. R balances the two squares.
    """
    radius = quantile90 * np.geomspace(0.6, 16.0, 120)
    share = np.minimum.accumulate(np.clip(above(radius) / n, 0.0, 1.0))
    noise = math.sqrt(d + 1) * radius**2 / (n * mu)
    best = int(np.argmin(noise**2 + _lost(radius, share) ** 2))
    return float(radius[best])


def _lost(radius: Floats, share: Floats) -> Floats:
    """Integral of 2 t P(length > t) from each radius on: the mean of (length^2 - radius^2)+."""
    density = 2 * radius * share
    pieces = (density[1:] + density[:-1]) / 2 * np.diff(radius)
    return np.append(np.cumsum(pieces[::-1])[::-1], 0.0)
