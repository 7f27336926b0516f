"""Where rows are cut before their second moments are released, and what the cut changes: public."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from dpstats.arrays import Floats

LIFT = 0.75
"""b / R: 4 % more noise in the means than at b = R, and 22 % less in second moments."""
QUANTILES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 1.0)
_BEYOND = 1.25 * math.sqrt(2) ** np.arange(21)
"""Radii beyond the longest public row, in its lengths."""
_ROOMS = (3.0, 4.0, 6.0, 8.0, 12.0, 16.0)
"""Radii in units of sqrt(p), where there are no public rows."""
_UNSEEN = 1.5
"""Length of the row that m public ones of a class have not shown yet, in that of their longest; for
second moments, whose errors are not printed."""
_INDEX = (2.5, 20.0)
"""Least and largest index of the tail of row lengths: shares beyond r fall as its power of 1/r."""


@dataclass(frozen=True)
class MomentCut:
    """A cut, and what public rows say it does to means and covariances.

    Attributes
    ----------
    radius : float
    by_class : bool
        Whether second moments are released class by class, or of all classes together.
    slope : float
        Share of a shift of a class mean that cut rows follow.
    moved : (K, p) array
        By how much the cut moves the mean of a class.
    moved_variance : (K,) array
        How well that is known: a variance per coordinate, after the division by the slope.
    lost : (K, p, p) array
        What the cut takes off second moments about the centre.
    doubt : (K,) array
        How well that is known: a variance per entry.
    """

    radius: float
    by_class: bool
    slope: float
    moved: Floats
    moved_variance: Floats
    lost: Floats
    doubt: Floats


def moment_noise(radius: float, mu: float) -> tuple[float, float, float]:
    """Noise of sums, of second moments off the diagonal, and of counts; see `ClassSession.moments`."""
    lifted = (1 + LIFT**2) / mu
    return lifted / LIFT * radius, lifted * radius**2, math.sqrt(2) * lifted / LIFT**2


def plan_moments(z: Floats, code: np.ndarray, classes: int, n: int, mu: float) -> MomentCut:
    """The radius with the least expected error of class means and covariances together.

    Parameters
    ----------
    z : (m, p) array
        Public rows less the centre of their class, scaled.
    n : int
        Private rows.
    mu : float

    Notes
    -----
    A mean that is wrong by a costs |a|^2, a covariance that is wrong by A |A|^2 / 2 (Frobenius), in
    twice the Kullback-Leibler divergence. Noise is known; what the cut changes is estimated on public
    rows and taken off, so that the error of that estimate is left.
    """
    m, p = z.shape
    share = np.bincount(code, minlength=classes) / m
    length = np.linalg.norm(z, axis=1)
    longest = float(length.max()) or 1.0
    radii = [float(r) for r in np.quantile(length, QUANTILES) if r > 0]
    index = tail_index(length)
    best, least = _effect(z, length, code, classes, longest, index), math.inf
    for radius in dict.fromkeys([*radii, *(longest * _BEYOND)]):
        cut = _effect(z, length, code, classes, float(radius), index)
        sums, squares, _ = moment_noise(cut.radius, mu)
        cut = replace(cut, by_class=_by_class(squares, n * share, p))
        rows = n * share if cut.by_class else np.full(classes, n)
        means = p * ((sums / (n * share * cut.slope)) ** 2 + cut.moved_variance).sum()
        spread = p * (p + 1) / 2 * ((squares / rows) ** 2 + cut.doubt).sum()
        if means + spread < least:
            best, least = cut, float(means + spread)
    return best


def tail_index(length: Floats) -> float:
    """How fast shares of longer rows fall: Hill's estimate less a standard error, from sqrt(m) rows.

    Examples
    --------
    >>> u = (np.arange(400) + 0.5) / 400
    >>> round(tail_index(u ** (-1 / 3)), 1), tail_index(np.ones(400))
    (2.5, 20.0)
    """
    count = min(math.ceil(math.sqrt(len(length))), len(length) - 1)
    top = np.sort(length)[::-1][: count + 1]
    if not (count and top[-1] > 0):
        return _INDEX[0]
    mean = float(np.log(top[:-1] / top[-1]).mean())
    found = 1 / max(mean, 1e-9) / (1 + 1 / math.sqrt(count))
    return min(max(found, _INDEX[0]), _INDEX[1])


def unseen_beyond(radius: float, longest: float, index: float) -> float:
    """Mean of (length - R)+ over rows longer than any of m public ones, times m.

    One row of m is longer, and shares fall from there by the tail's index.

    Examples
    --------
    >>> unseen_beyond(2.0, 1.0, 3.0), unseen_beyond(0.5, 1.0, 3.0)
    (0.125, 1.0)
    """
    farther = max(radius, longest)
    share = (longest / farther) ** index if farther > 0 else 0.0
    return share * (farther * index / (index - 1) - radius)


def _effect(
    z: Floats, length: Floats, code: np.ndarray, classes: int, radius: float, index: float
) -> MomentCut:
    """What a cut does to public rows, and to rows of each class that are longer than they are.

    What it does to these is not known, and may all have one direction.
    """
    p = z.shape[1]
    out = length > radius
    scale = np.where(out, radius / np.where(out, length, 1.0), 1.0)
    slope = max(float(np.where(out, scale * (p - 1) / p, 1.0).mean()), 0.05)
    moved, lost = np.zeros((classes, p)), np.zeros((classes, p, p))
    variance, doubt = np.zeros(classes), np.zeros(classes)
    for k in range(classes):
        rows, s = z[code == k], scale[code == k]
        size = length[code == k]
        longest = float(size.max())
        moves = rows * (s - 1)[:, None]
        moved[k] = moves.mean(axis=0)
        lost[k] = (rows * (1 - s**2)[:, None]).T @ rows / len(rows)
        apart = float((moves**2).sum()) / p + unseen_beyond(radius, longest, index) ** 2
        variance[k] = apart / (len(rows) * slope) ** 2
        apart = float((((1 - s**2) * size**2) ** 2).sum())
        apart += max((_UNSEEN * longest) ** 2 - radius**2, 0.0) ** 2
        doubt[k] = apart / (p * (p + 1) * len(rows) ** 2)
    return MomentCut(radius, True, slope, moved, variance, lost, doubt)


def _by_class(noise_sd: float, rows: Floats, p: int) -> bool:
    """Whether a covariance of a typical class would be worth more rows than it has columns."""
    kept = np.maximum(rows, 1.0)
    return bool(np.median(1 / ((noise_sd / kept) ** 2 + 1 / kept)) > p)


def blind_cut(p: int, classes: int, n: int, mu: float) -> MomentCut:
    """A cut without public rows: features in units of their scale, rarely longer than three of them.

    What it changes is not known, and nothing is taken off; so it is wider where noise is then still
    smaller than sampling.
    """
    rows = np.full(classes, n / classes)
    free = [
        room for room in _ROOMS if moment_noise(room * math.sqrt(p), mu)[1] ** 2 <= float(rows[0])
    ]
    radius = max(free, default=_ROOMS[0]) * math.sqrt(p)
    by_class = _by_class(moment_noise(radius, mu)[1], rows, p)
    nothing, squares = np.zeros((classes, p)), np.zeros((classes, p, p))
    zero = np.zeros(classes)
    return MomentCut(radius, by_class, 1.0, nothing, zero, squares, zero)
