"""The tree of splits of public points at the gaps that they show.

Nothing here is private, and nothing is random from call to call. Columns should have comparable units
(`column_units`): principal axes and distances are taken as they are.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from dpstats.arrays import Floats
from dpstats.models.mixture.clustering import (
    Labels,
    Partition,
    Scores,
    Split,
    accepted,
    assign,
    nearest_projected,
    size_about,
    split_labels,
    superclusters,
    zone_counts,
)
from dpstats.numerics.k_means import k_means, principal_axes, sample

_SEED = 20222
MOST_LEAVES = 10
_LEVELS = 3
_SIGMAS = 1.5  # of the valley test; what looks like a valley by chance is left to the comparison
_COMPARISONS = 59  # single Gaussians that a split is compared with
_COMPARED_ON = 500


@dataclass(frozen=True)
class PublicTree:
    """Splits of public points at visible gaps.

    Attributes
    ----------
    partition : Partition
    labels : (m,) array
        Cells of the points.
    leaves : int
    complete : bool
        Whether there are as many leaves as asked for; true if no number was given.
    core : (m,) array of bool
        Points that are not alone, on which the tree was built.
    """

    partition: Partition
    labels: Labels
    leaves: int
    complete: bool
    core: NDArray[np.bool_]


def public_tree(
    points: Floats,
    k: int | None,
    w_min: float | None = None,
    most: int = MOST_LEAVES,
) -> PublicTree:
    """Superclusters, then splits of leaves at the gaps that the points themselves show.

    In each level every leaf is projected on its first principal axes and divided by k-means in 2, 3,
    ... parts; it is split into the largest number of parts between every two of which there is a valley
    and which are tighter than parts of one Gaussian.

    Parameters
    ----------
    points : (m, d) array
    k : int or None
        Leaves wanted; None: as many as there are, at most ``most``, in any number of levels.
    w_min : float or None
        Least weight of a component, default half the mean weight.
    most : int

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> points = rng.normal(size=(60, 2)) + np.repeat([[0, 0], [9, 0], [0, 9]], 20, axis=0)
    >>> public_tree(points, None).leaves, np.bincount(public_tree(points, 3).labels).tolist()
    (3, [20, 20, 20])
    """
    limit = most if k is None else k
    weight = 0.5 / limit if w_min is None else w_min
    groups = superclusters(points, limit, weight)
    partition: Partition = () if groups.split is None else (groups.split,)
    leaves, labels = groups.number, groups.labels
    for _ in range(limit if k is None else _LEVELS):
        before = leaves
        for leaf in range(before):
            if leaves == limit:
                break
            inside = points[groups.core & (labels == leaf)]
            scores = _leaf_split(inside, limit - leaves + 1, weight * len(points))
            if scores is not None:
                parts = len(scores.constants)
                partition = (*partition, Split(leaf, scores, split_labels(leaf, leaves, parts)))
                leaves += parts - 1
        if leaves == before:
            break
        labels = assign(partition, points)
    return PublicTree(partition, labels, leaves, k is None or leaves == k, groups.core)


def _leaf_split(inside: Floats, most: int, component: float) -> Scores | None:
    """Scores that split the points of a leaf into the largest accepted number of parts.

    Parts q are looked for on q - 1 axes: as many as their centres span, and few points in more
    directions have gaps everywhere. ``component`` is the least number of points of a component.
    """
    if len(inside) < 4:
        return None
    origin = inside.mean(axis=0)
    axes = principal_axes(inside, min(most - 1, max(len(inside) // 5, 1)))
    least = max(2.0, 0.3 * component)
    for q in range(min(most, int(len(inside) / least)), 1, -1):
        basis = axes[:, : q - 1]
        y = (inside - origin) @ basis
        centroids = k_means(y, q, least)
        if centroids is None:
            continue
        counts = zone_counts(y, centroids)
        if accepted(counts, q, 0.0, 0.1 * component, _SIGMAS) and _tighter(y, centroids):
            return nearest_projected(basis, centroids, origin, size_about(inside, origin))
    return None


def _tighter(y: Floats, centroids: Floats) -> bool:
    """Whether every two parts are tighter than k-means makes the halves of one Gaussian.

    The Gaussian has the covariance of the two parts together; two clusters give it one long axis.
    """
    part = scipy.spatial.distance.cdist(y, centroids).argmin(axis=1)
    rng = np.random.default_rng(_SEED)
    for a, b in itertools.combinations(range(len(centroids)), 2):
        both = sample(y[(part == a) | (part == b)], _COMPARED_ON)
        rest = both - both.mean(axis=0)
        values, vectors = np.linalg.eigh(rest.T @ rest / len(rest))
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        seen = _share_within(both, centroids[[a, b]])
        for _ in range(_COMPARISONS):
            one = rng.standard_normal(both.shape) @ root.T
            halves = k_means(one, 2, 1, restarts=2)
            if halves is not None and _share_within(one, halves) <= seen:
                return False
    return True


def _share_within(y: Floats, centroids: Floats) -> float:
    """Sum of squares about the nearest centroid as a share of that about the mean."""
    total = float(((y - y.mean(axis=0)) ** 2).sum())
    within = float(scipy.spatial.distance.cdist(y, centroids, "sqeuclidean").min(axis=1).sum())
    return within / total if total > 0 else 1.0
