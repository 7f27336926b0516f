"""Clustering of public points, and the map from rows to cells that comes of it.

The map is a sequence of splits, each of which divides one cell by the largest of some scores. It is
made of public points alone: nothing here is private, and nothing is random from call to call.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from dpstats.arrays import Floats
from dpstats.numerics.k_means import k_means, sample

Labels = NDArray[np.integer[Any]]

_NEIGHBOURS_FROM = 3000  # points among which neighbours are looked for; more are sampled
_CENTRE, _MID = 0.15, 0.35  # zones on the segment from a centroid to the next: |s| < .15, s > .35


@dataclass(frozen=True)
class Scores:
    """Scores of k options for a row x: (x - origin)'matrix_a + constant_a.

    With targets: constant_a - |matrix_a'(x - origin) - target_a|^2 / 2.

    Attributes
    ----------
    origin : (d,) array
    matrix : (d, k) array, or (d, k r) with targets
        Blocks of r columns per option.
    constants : (k,) array
    scale : (d,) array
        Public size of x - origin per coordinate, positive.
    targets : (k, r) array or None
    """

    origin: Floats
    matrix: Floats
    constants: Floats
    scale: Floats
    targets: Floats | None = None


@dataclass(frozen=True)
class Split:
    """Rows of a cell go to the cell ``labels[a]``, a the option with the largest score.

    Attributes
    ----------
    cell : int
    scores : Scores
    labels : tuple of int
        One per option; several options may share a label.
    """

    cell: int
    scores: Scores
    labels: tuple[int, ...]


Partition = tuple[Split, ...]  # applied in order; all rows start in cell 0


def evaluate(scores: Scores, x: Floats) -> Floats:
    """Scores (n, k) of the rows of x."""
    affine: Floats = (x - scores.origin) @ scores.matrix
    if scores.targets is None:
        return affine + scores.constants
    rest = affine.reshape(len(x), *scores.targets.shape) - scores.targets
    result: Floats = scores.constants - (rest**2).sum(axis=2) / 2
    return result


def assign(partition: Partition, x: Floats) -> Labels:
    """Cell of each public row.

    Examples
    --------
    >>> centres = np.array([[0.0], [10.0]])
    >>> split = Split(0, nearest(centres, np.zeros(1), np.ones(1)), (0, 1))
    >>> assign((split,), np.array([[1.0], [9.0], [-3.0]])).tolist()
    [0, 1, 0]
    """
    cell = np.zeros(len(x), dtype=np.intp)
    for split in partition:
        inside = np.flatnonzero(cell == split.cell)
        labels = np.array(split.labels)
        step = max(10**7 // max(split.scores.matrix.shape[1], 1), 1)  # the scores fill memory
        for start in range(0, len(inside), step):
            rows = inside[start : start + step]
            cell[rows] = labels[evaluate(split.scores, x[rows]).argmax(axis=1)]
    return cell


def number_of_cells(partition: Partition) -> int:
    """Cells that rows can be sorted into, whether or not any row is.

    >>> number_of_cells(())
    1
    """
    return 1 + max((label for split in partition for label in split.labels), default=0)


@dataclass(frozen=True)
class Cells:
    """The map from rows to cells, and how it was made; public or released.

    Attributes
    ----------
    partition : Partition
    labels : (m,) array
        Cells of the public points.
    how : str
        How it was made, in words.
    levels : int
        Levels of a private tree for which the budget paid.
    projection_noise : float or None
        Noise of a leaf's released covariance (spectral norm, at most), the largest over leaves.
    """

    partition: Partition
    labels: Labels
    how: str
    levels: int = 0
    projection_noise: float | None = None

    @property
    def fewest(self) -> int:
        """Public points of the cell with the fewest."""
        return int(np.bincount(self.labels, minlength=number_of_cells(self.partition)).min())


def size_about(points: Floats, origin: Floats) -> Floats:
    """Root mean square of points - origin per coordinate; 1 where they all agree with it."""
    size = np.sqrt(((points - origin) ** 2).mean(axis=0))
    result: Floats = np.where(size > 0, size, 1.0)
    return result


def nearest(centres: Floats, origin: Floats, scale: Floats) -> Scores:
    """Scores that are largest for the nearest centre: -|x - centre|^2 / 2 less what all share."""
    moved = centres - origin
    return Scores(origin, moved.T, -(moved**2).sum(axis=1) / 2, scale)


def nearest_projected(basis: Floats, centroids: Floats, origin: Floats, scale: Floats) -> Scores:
    """As `nearest`, for the coordinates basis'(x - origin) and centroids (q, r) among them."""
    return Scores(origin, basis @ centroids.T, -(centroids**2).sum(axis=1) / 2, scale)


def split_labels(cell: int, cells: int, parts: int) -> tuple[int, ...]:
    """Labels of the parts of a cell when there are ``cells`` of them: its own, then new ones.

    >>> split_labels(1, 4, 3)
    (1, 4, 5)
    """
    return (cell, *range(cells, cells + parts - 1))


@dataclass(frozen=True)
class Superclusters:
    """Groups of public points so far apart that no doubt is possible.

    Attributes
    ----------
    labels : (m,) array
        Of the points.
    number : int
    split : Split or None
        Nearest public point, or nearest of a few centres that tell the groups apart as clearly;
        None for one group.
    core : (m,) array of bool
        Points that are not alone.
    """

    labels: Labels
    number: int
    split: Split | None
    core: NDArray[np.bool_]


def superclusters(points: Floats, k: int, w_min: float) -> Superclusters:
    """Connected components of the points at 1.5 times the largest distance to the q-th neighbour.

    Every component of weight w_min has more than q = floor(w_min m / 2) - 1 points, so that it is not
    torn apart. More than k components: one group. Points whose q-th neighbour is more than five times
    as far as it is for all but w_min / 2 of the points are alone: too few for a component, and one of
    them would join everything.

    Parameters
    ----------
    points : (m, d) array
    k : int
        Components at most.
    w_min : float
        Least weight of a component.

    Examples
    --------
    >>> points = np.array([0.0, 1.0, 2.0, 3.0, 50.0, 51.0, 52.0, 53.0])[:, None]
    >>> superclusters(points, 2, 0.5).labels.tolist()
    [0, 0, 0, 0, 1, 1, 1, 1]
    """
    seen = sample(points, _NEIGHBOURS_FROM)
    near = max(1, int(w_min * len(seen) / 2) - 1)
    one = Superclusters(np.zeros(len(points), np.intp), 1, None, np.ones(len(points), np.bool_))
    if len(seen) <= near + 1:
        return one
    between = scipy.spatial.distance.cdist(seen, seen)
    reach = np.partition(between, near, axis=1)[:, near]  # the point itself is the 0-th
    limit = 5 * float(np.quantile(reach, 1 - w_min / 2, method="higher"))
    inner = reach <= limit
    if len(seen) == len(points):
        core = inner
    else:
        core = np.concatenate(
            [
                np.partition(scipy.spatial.distance.cdist(part, seen), near, axis=1)[:, near]
                <= limit
                for part in np.array_split(points, len(points) // 1000 + 1)
            ]
        )
    seen, between = seen[inner], between[np.ix_(inner, inner)]
    number, group = scipy.sparse.csgraph.connected_components(
        between <= 1.5 * reach[inner].max(), directed=False
    )
    if not 1 < number <= k:
        return Superclusters(one.labels, 1, None, core)
    split = _group_split(seen, group, number)
    return Superclusters(assign((split,), points), number, split, core)


def _group_split(seen: Floats, group: Labels, number: int) -> Split:
    """Nearest of the fewest centres to which every point is twice as near as to another group's."""
    origin = seen.mean(axis=0)
    scale = size_about(seen, origin)
    for parts in (1, 2, 4, 8):
        centres = [_means(seen[group == g], parts) for g in range(number)]
        owner = np.repeat(np.arange(number), [len(c) for c in centres])
        distance = scipy.spatial.distance.cdist(seen, np.concatenate(centres))
        own = owner == group[:, None]
        inside = np.where(own, distance, np.inf).min(axis=1)
        outside = np.where(own, np.inf, distance).min(axis=1)
        if (2 * inside <= outside).all():
            scores = nearest(np.concatenate(centres), origin, scale)
            return Split(0, scores, tuple(int(g) for g in owner))
    return Split(0, nearest(seen, origin, scale), tuple(int(g) for g in group))


def _means(points: Floats, parts: int) -> Floats:
    """Centroids of k-means with that many parts, or the points when they are few or alike."""
    if parts == 1:
        mean: Floats = points.mean(axis=0, keepdims=True)
        return mean
    centroids = k_means(points, parts, 1, restarts=5) if len(points) > parts else None
    return points if centroids is None else centroids


def split_candidates(projected: Floats, most: int, least: float) -> dict[int, Floats]:
    """Centroids (q, r) of k-means for q = 2..most, where every part has ``least`` points.

    Examples
    --------
    >>> points = np.array([0.0, 0.1, 0.2, 5.0, 5.1, 5.2])[:, None]
    >>> {q: c.round(2).ravel().tolist() for q, c in split_candidates(points, 3, 3).items()}
    {2: [0.1, 5.1]}
    """
    candidates = {}
    for q in range(2, most + 1):
        if q * least > len(projected) or q > len(projected):
            break
        centroids = k_means(projected, q, least)
        if centroids is not None:
            candidates[q] = centroids
    return candidates


def number_of_zones(q: int) -> int:
    """Zones of the test for a valley between every two of q centroids.

    Zones 0..q-1 are the centres: a the nearest centroid, b the second nearest, s the position of the
    row's projection on the segment from a (s = 0) to b (s = 1): |s| < .15. Zones q.. are the middles
    of the unordered pairs, in the order of `itertools.combinations`: .35 < s <= .5; the nearest centroid
    is a, so that s does not exceed .5. All have width .3 along a segment.
    """
    return q * (q + 1) // 2


def zone_of(y: Floats, centroids: Floats) -> Labels:
    """Zone of each row of y (n, r) as numbered by `number_of_zones`, -1 for none.

    Coordinate by coordinate in a fixed order: the zone of a row does not depend on the other rows.
    Rows that are not finite are in no zone.

    Examples
    --------
    >>> y = np.array([[0.1], [1.0], [2.1], [-1.0], [3.9]])
    >>> zone_of(y, np.array([[0.0], [4.0]])).tolist()
    [0, -1, 2, -1, 1]
    """
    q, r = centroids.shape
    with np.errstate(all="ignore"):
        distance = np.zeros((len(y), q))
        for j in range(r):
            distance += (y[:, j, None] - centroids[None, :, j]) ** 2
        first = distance.argmin(axis=1)
        distance[np.arange(len(y)), first] = np.inf
        second = distance.argmin(axis=1)
        along, length = np.zeros(len(y)), np.zeros(len(y))
        for j in range(r):
            step = centroids[second, j] - centroids[first, j]
            along += (y[:, j] - centroids[first, j]) * step
            length += step * step
        s = along / length
        low, high = np.minimum(first, second), np.maximum(first, second)
        pair = q + low * (2 * q - low - 1) // 2 + high - low - 1
        zone: Labels = np.where(np.abs(s) < _CENTRE, first, np.where(s > _MID, pair, -1))
    return zone


def zone_counts(y: Floats, centroids: Floats) -> Labels:
    """Public points in each zone."""
    zone = zone_of(y, centroids)
    return np.bincount(zone[zone >= 0], minlength=number_of_zones(len(centroids)))


def accepted(counts: Floats | Labels, q: int, sd: float, least: float, sigmas: float = 3.0) -> bool:
    """Whether (noisy) counts show a valley between every two of q centroids.

    Every centre must have ``least`` rows, and every middle at most half as many as the lesser of its
    two centres. One Gaussian has as many in the middle as in the lesser centre, the zones being
    equally wide: the middle must fall short of it by ``sigmas`` standard deviations of noise and
    sampling together.

    Parameters
    ----------
    counts : array
        By zone, see `number_of_zones`.
    q : int
    sd : float
        Of the noise in each count; 0 for public points.
    least : float
    sigmas : float

    Examples
    --------
    >>> counts = np.array([50.0, 40.0, 3.0])
    >>> accepted(counts, 2, sd=0.0, least=5), accepted(counts, 2, sd=20.0, least=5)
    (True, False)
    """
    if min(counts[:q]) < least:
        return False
    for (a, b), middle in zip(itertools.combinations(range(q), 2), counts[q:], strict=True):
        lesser = min(counts[a], counts[b])
        spread = math.sqrt(2 * sd**2 + max(lesser, 0.0) + max(middle, 0.0))
        if middle > lesser / 2 or lesser - middle < sigmas * spread:
            return False
    return True
