"""K-means of public points, and what clustering needs besides: units of columns, principal axes.

Nothing here is random from call to call.
"""

from __future__ import annotations

import math

import numpy as np
import scipy
from scipy import special

from dpstats.arrays import Floats

_SEED = 20221
_FEWEST = 12  # points in a shortest interval, if there are enough
_STARTS_FROM = 2000  # points on which the starts of k-means are compared
_RESTARTS = 30
_SHORT, _LONG = 6, 20  # steps of each start, and of the best one


def sample(points: Floats, most: int) -> Floats:
    """The points, or that many of them, always the same."""
    if len(points) <= most:
        return points
    chosen = np.random.default_rng(_SEED).choice(len(points), most, replace=False)
    return points[np.sort(chosen)]


def column_units(points: Floats, share: float) -> Floats:
    """A unit (d,) per column: its standard deviation, or the spread within clusters if far smaller.

    Clusters far apart in one column would look near if it were divided by its standard deviation: they
    come out about one unit apart whatever the distance, beside the spread of the other columns. The
    spread within clusters is told by the shortest interval with a share of the points, as a multiple of
    what it is for a normal column of unit variance; it counts if it is well below the standard
    deviation. A column without spread keeps its unit.

    Parameters
    ----------
    points : (m, d) array
    share : float
        For k clusters about 1 / (2 k): no more than the points of one of them.

    Examples
    --------
    >>> points = np.random.default_rng(0).normal(size=(400, 2)) * 3
    >>> points[:200, 1] += 1e6
    >>> column_units(points, 0.25).round(0).tolist()
    [3.0, 6.0]
    """
    m = len(points)
    sd = points.std(axis=0)
    if m > 1:
        step = min(max(math.ceil(share * m), min(_FEWEST, m // 3), 4), m - 1)
        ordered = np.sort(points, axis=0)
        length = (ordered[step:] - ordered[: m - step]).min(axis=0)
        within = length / (2 * float(special.ndtri(0.5 + min(step / m, 0.9) / 2)))
        # rounding of equal values is no spread
        sd = np.where((within > 1e-12 * sd) & (within < _below(step) * sd), within, sd)
    result: Floats = np.where(sd > 1e-14 * np.abs(points).max(axis=0), sd, 1.0)
    return result


def _below(step: int) -> float:
    """How small the shortest interval must be to count: the fewer points, the more it varies."""
    return 0.7 if step >= 40 else 0.55 if step >= 15 else 0.4


def principal_axes(points: Floats, most: int) -> Floats:
    """Orthonormal directions (d, r) of largest variance about the mean, r <= most."""
    rest = points - points.mean(axis=0)
    _, vectors = np.linalg.eigh(rest.T @ rest / max(len(rest), 1))
    result: Floats = vectors[:, ::-1][:, : max(most, 1)]
    return result


def first_centroids(y: Floats, q: int, rng: np.random.Generator) -> Floats | None:
    """Starting centroids by k-means++; None with fewer than q distinct points."""
    chosen = [int(rng.integers(len(y)))]
    away = ((y - y[chosen[0]]) ** 2).sum(axis=1)
    for _ in range(q - 1):
        total = float(away.sum())
        if not total > 0:
            return None
        chosen.append(int(rng.choice(len(y), p=away / total)))
        away = np.minimum(away, ((y - y[chosen[-1]]) ** 2).sum(axis=1))
    start: Floats = y[chosen]
    return start


def k_means(y: Floats, q: int, least: float, restarts: int = _RESTARTS) -> Floats | None:
    """Centroids (q, r) with the least sum of squares among those whose parts all have enough points.

    Starts are compared on a sample after a few steps, and the best is finished on all points.
    Centroids are sorted by their first coordinate.
    """
    rng = np.random.default_rng(_SEED)
    some = sample(y, _STARTS_FROM)
    needed = least * len(some) / len(y)
    best, least_sum = None, np.inf
    for _ in range(restarts):
        start = first_centroids(some, q, rng)
        if start is None:
            return None
        centroids, total = _lloyd(some, start, needed, _SHORT)
        if total < least_sum:
            best, least_sum = centroids, total
    if best is not None:
        best, _ = _lloyd(y, best, least, _LONG)
    return None if best is None else best[np.lexsort(best.T[::-1])]


def _lloyd(y: Floats, start: Floats, least: float, steps: int) -> tuple[Floats | None, float]:
    """Lloyd's iterations from a start; no centroids if a part is left with too few points."""
    try:
        centroids, _ = scipy.cluster.vq.kmeans2(
            y, start, iter=steps, minit="matrix", missing="raise"
        )
    except scipy.cluster.vq.ClusterError:
        return None, np.inf
    distance = scipy.spatial.distance.cdist(y, centroids, "sqeuclidean")
    sizes = np.bincount(distance.argmin(axis=1), minlength=len(start))
    if sizes.min() < least:
        return None, np.inf
    return centroids, float(distance.min(axis=1).sum())
