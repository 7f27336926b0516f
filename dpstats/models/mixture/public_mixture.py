"""A mixture of Gaussians found in public points: the tree of visible gaps, else the EM algorithm.

Nothing here is private, and nothing is random from call to call. Columns should have comparable units
(`column_units`): principal axes and distances are taken as they are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from dpstats.arrays import Floats
from dpstats.models.mixture.clustering import Cells, Labels, Scores, Split, assign, size_about
from dpstats.models.mixture.public_tree import MOST_LEAVES, public_tree
from dpstats.models.mixture.soft import steadied
from dpstats.numerics.k_means import first_centroids, principal_axes, sample

_SEED = 20223
_RUNS = 16
_RUNS_ON = 2000  # points on which the runs of EM are compared
_FITTED_ON = 20000
_FISHER_ROUNDS = 2


def public_mixture(
    points: Floats,
    k: int | None,
    w_min: float | None = None,
    most: int = MOST_LEAVES,
) -> Cells:
    """Cells of k components: the tree's, else those of EM on principal axes; then sharpened.

    With 3 d points beyond k, the axes are taken anew twice so as to separate the components best, and
    EM in these coordinates draws the borders between them by the components' own covariances.

    Parameters
    ----------
    As in `public_tree`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> points = rng.normal(size=(60, 2)) + np.repeat([[0, 0], [9, 0], [0, 9]], 20, axis=0)
    >>> found = public_mixture(points, 3)
    >>> found.fewest, found.how
    (20, 'gaps between public rows, then discriminant axes')
    """
    tree = public_tree(points, k, w_min, most=most)
    components = tree.leaves if k is None else k
    weight = 0.5 / components if w_min is None else w_min
    inner, labels = points[tree.core], tree.labels[tree.core]
    least = max(2.0, 0.3 * weight * len(points))
    partition, how = tree.partition, "gaps between public rows"
    if not tree.complete:
        split = _principal_split(inner, components, least)
        if split is None:
            return Cells(partition, assign(partition, points), how)
        partition, how = (split,), "EM on principal axes"
        labels = assign(partition, inner)
    if components > 1 and len(inner) - components >= 3 * points.shape[1]:
        for _ in range(_FISHER_ROUNDS):
            split = _fisher_split(inner, labels, components, least)
            if split is None:
                break
            partition, labels = (split,), assign((split,), inner)
        else:
            how += ", then discriminant axes"
    return Cells(partition, assign(partition, points), how)


@dataclass(frozen=True)
class _Mixture:
    """Components of a mixture in r dimensions.

    Attributes
    ----------
    constants : (k,) array
        Log weight and half the log determinant of the precision.
    means : (k, r) array
    roots : (k, r, r) array
        L with L L' the precision.
    """

    constants: Floats
    means: Floats
    roots: Floats


def _log_densities(mixture: _Mixture, y: Floats) -> Floats:
    """Log of weight times density (m, k), less what all components share."""
    columns = [
        constant - (((y - mean) @ root) ** 2).sum(axis=1) / 2
        for constant, mean, root in zip(
            mixture.constants, mixture.means, mixture.roots, strict=True
        )
    ]
    return np.stack(columns, axis=1)


def _maximised(y: Floats, share: Floats) -> _Mixture:
    """The M step."""
    number, means, covariance = steadied(y, share, 1e-15 * float(y.var()) + 1e-200)
    values, vectors = np.linalg.eigh(covariance)
    roots = vectors / np.sqrt(values)[:, None, :]
    return _Mixture(np.log(number / len(y)) - np.log(values).sum(axis=1) / 2, means, roots)


def _em(y: Floats, start: _Mixture, steps: int) -> tuple[_Mixture, float]:
    """EM from a start until it gains little; the mixture and its mean log-likelihood."""
    mixture, before = start, -np.inf
    for _ in range(steps):
        density = _log_densities(mixture, y)
        top = density.max(axis=1)
        share = np.exp(density - top[:, None])
        total = share.sum(axis=1)
        likelihood = float((top + np.log(total)).mean())
        mixture = _maximised(y, share / total[:, None])
        if likelihood - before < 1e-6:
            break
        before = likelihood
    return mixture, likelihood


def _from_labels(y: Floats, labels: Labels, k: int) -> _Mixture:
    return _maximised(y, np.eye(k)[labels])


def _enough(y: Floats, mixture: _Mixture, least: float) -> bool:
    """Whether every component is the most likely one of ``least`` points."""
    labels = _log_densities(mixture, y).argmax(axis=1)
    return bool(np.bincount(labels, minlength=len(mixture.means)).min() >= least)


def _posterior_split(points: Floats, basis: Floats, origin: Floats, mixture: _Mixture) -> Split:
    """The split into most likely components, for coordinates basis'(x - origin)."""
    k, r = mixture.means.shape
    targets = np.einsum("kr,krs->ks", mixture.means, mixture.roots)
    matrix = np.einsum("dr,krs->dks", basis, mixture.roots).reshape(len(basis), k * r)
    scores = Scores(origin, matrix, mixture.constants, size_about(points, origin), targets)
    return Split(0, scores, tuple(range(k)))


def _principal_split(points: Floats, k: int, least: float) -> Split | None:
    """The best of runs of EM from k-means++ on the k first principal axes.

    Runs that leave a component with few points are dropped, unless there is no other.
    """
    origin = points.mean(axis=0)
    basis = principal_axes(points, k)
    y = (points - origin) @ basis
    some = sample(y, _RUNS_ON)
    rng = np.random.default_rng(_SEED)
    best, value = None, (False, -np.inf)
    for _ in range(_RUNS):
        first = first_centroids(some, k, rng)
        if first is None:
            return None
        start = _from_labels(some, scipy.spatial.distance.cdist(some, first).argmin(axis=1), k)
        mixture, likelihood = _em(some, start, 40)
        reached = (_enough(some, mixture, least * len(some) / len(y)), likelihood)
        if reached > value:
            best, value = mixture, reached
    if best is None:
        return None
    if len(some) < len(y):
        best, _ = _em(sample(y, _FITTED_ON), best, 40)
    return _posterior_split(points, basis, origin, best)


def _fisher_split(points: Floats, labels: Labels, k: int, least: float) -> Split | None:
    """EM from the labels on the k - 1 axes that separate them best; None if it loses a component."""
    counts = np.bincount(labels, minlength=k)
    if counts.min() < 2:
        return None
    origin = points.mean(axis=0)
    means = np.array([points[labels == j].mean(axis=0) for j in range(k)])
    rest = points - means[labels]
    within = rest.T @ rest / (len(points) - k)
    size = np.sqrt(np.diag(within))
    size = np.where(size > 0, size, 1.0)
    values, vectors = np.linalg.eigh(within / np.outer(size, size))
    # a direction without spread within components is not trusted beyond rounding
    back = vectors / np.sqrt(np.maximum(values, 1e-8)) / size[:, None]
    between = np.sqrt(counts)[:, None] * ((means - origin) @ back)
    axes = np.linalg.svd(between, full_matrices=False)[2][: min(k - 1, points.shape[1])]
    basis = back @ axes.T
    y = (points - origin) @ basis
    chosen = np.random.default_rng(_SEED).permutation(len(y))[:_FITTED_ON]
    mixture, _ = _em(y[chosen], _from_labels(y[chosen], labels[chosen], k), 60)
    if not _enough(y, mixture, least):
        return None
    return _posterior_split(points, basis, origin, mixture)
