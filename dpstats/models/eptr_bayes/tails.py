"""What a cut takes off the means of classes where no public row tells: from released counts of sizes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpstats.arrays import Floats
from dpstats.models.eptr_bayes.planning import MomentCut
from dpstats.models.eptr_bayes.releases import ClassMoments
from dpstats.numerics.histogram import LogHistogram
from dpstats.score_rounds.notes import MEAN_FAR, MEAN_MOSTLY, out_of_sight
from dpstats.score_rounds.tails import median_excess, most_excess, tail_of

WINDOW = -10, 32
"""Lowest octave of sizes, in scales, and how many there are."""
_LEAST_ROWS = 20
_NEAREST = 0.7
"""Share of the radius from which rows are cut at least, however many other features they have."""


@dataclass(frozen=True)
class CutTails:
    """What lies beyond a cut, by feature.

    Attributes
    ----------
    lost, most : (p,) arrays
        Mean over rows of size - R, where positive: expected, and hardly exceeded.
    squares : (p,) array
        The same of squares.
    hidden : bool
        Whether noise hides tails.
    counts_sd : float
        Noise of the counts.
    """

    lost: Floats
    most: Floats
    squares: Floats
    hidden: bool
    counts_sd: float

    @classmethod
    def of(cls, sizes: Sequence[LogHistogram], radius: float, n: int) -> CutTails:
        """From a histogram for each feature; the other features of a long row are of usual size."""
        p = len(sizes)
        cut = max(math.sqrt(max(radius**2 - (p - 1), 0.0)), _NEAREST * radius)
        lost, most, squares = np.array([_beyond(one, cut, max(n, _LEAST_ROWS)) for one in sizes]).T
        noise = sizes[0].noise_sd
        return cls(lost, most, squares, out_of_sight(noise, n), noise)


def _beyond(sizes: LogHistogram, cut: float, n: int) -> tuple[float, float, float]:
    first, second = (tail_of(sizes, cut, n, power=power) for power in (1, 2))
    lost = float(np.interp(cut, first.lengths, first.excess()))
    most = max(most_excess(first, n, cut, power=1), lost)
    return lost, most, median_excess(second, n, cut)


@dataclass(frozen=True)
class Allowance:
    """What errors of means (K, p) allow for: what cuts may take off them, or hardly more.

    ``variance``: what they take off the variance of a row.
    """

    lost: Floats
    most: Floats
    variance: Floats


def allowance(tails: CutTails, released: ClassMoments, rows: Floats, cut: MomentCut) -> Allowance:
    """Each feature is cut where it is long itself, and drawn along where another one is.

    Of what all classes lose together, each has a part like that of second moments, if these were
    released by class; else all lose alike.
    """
    shift = released.sums / rows[:, None]
    part = np.ones_like(shift)
    if cut.by_class:
        second = np.diagonal(released.squares, axis1=1, axis2=2) / rows[:, None]
        noise = math.sqrt(2) * released.squares_sd / rows[:, None]
        second = np.maximum(second, 0.0) + noise
        part = rows.sum() * second / (rows @ second)
    lost, most, squares = (part * one for one in (tails.lost, tails.most, tails.squares))
    beside = np.abs(shift) / cut.radius
    along, further = (beside * (one.sum(axis=1, keepdims=True) - one) for one in (lost, most))
    return Allowance(lost + along, most + further, squares)


def tail_notes(allowed: Allowance, tails: CutTails, variance: Floats) -> tuple[str, ...]:
    """``variance``: of means (K, p), without what is allowed for."""
    lost2 = allowed.lost**2
    if (lost2 > MEAN_MOSTLY * (lost2 + variance)).any():
        return (
            "Most of the error of some class mean allows for what cutting rows may have taken off it, "
            "and it may be more. Public rows or a larger budget help; where features have long tails, a "
            "transformation, such as log.",
        )
    if tails.hidden and (allowed.most > MEAN_FAR * np.sqrt(lost2 + variance)).any():
        return (
            "The budget is too small to see how long the tails of the features are in each class: means "
            "of skewed features may be too small in size by more than their errors say. A "
            "transformation, such as log, public rows, or a larger budget, helps.",
        )
    return ()
