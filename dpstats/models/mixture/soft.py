"""Mixtures whose components share points: the EM algorithm on public or synthetic points.

Nothing here is private, and nothing is random from call to call.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy

from dpstats.arrays import Floats
from dpstats.models.gaussian.estimate import log_densities
from dpstats.models.gaussian.rows import CellCoordinates
from dpstats.models.mixture.rows import SoftCells
from dpstats.numerics.k_means import first_centroids, sample
from dpstats.numerics.matrices import Whitening, equilibrated_whitening

Covariance = Literal["full", "tied", "diagonal"]
COVARIANCES: tuple[Covariance, ...] = ("full", "tied", "diagonal")

_SEED = 20244
_RUNS, _SHORT, _LONG = 24, 10, 60
_LONGER = 3  # runs that go on after the first steps
_COMPARED_ON, _FITTED_ON = 1000, 4000
_FOLDS, _RUNS_OF_FOLD = 5, 6


@dataclass(frozen=True)
class Mixture:
    """Weights (k,), means (k, d) and covariances (k, d, d)."""

    weights: Floats
    means: Floats
    covariances: Floats

    @property
    def k(self) -> int:
        return len(self.weights)

    @property
    def d(self) -> int:
        return int(self.means.shape[1])


def whitenings_of(mixture: Mixture) -> list[Whitening]:
    """What makes every component round."""
    return [equilibrated_whitening(matrix) for matrix in mixture.covariances]


def cells_of(mixture: Mixture, whitenings: Sequence[Whitening] | None = None) -> SoftCells:
    """The coordinates in which every component is standard normal; ``whitenings``: where known."""
    whitenings = whitenings_of(mixture) if whitenings is None else whitenings
    volumes = np.linalg.slogdet(mixture.covariances)[1]
    frames = tuple(
        CellCoordinates(mean, w.back, w.root)
        for mean, w in zip(mixture.means, whitenings, strict=True)
    )
    constants = np.log(mixture.weights) - volumes / 2
    return SoftCells(frames, tuple(float(c) for c in constants))


def prior_rows(d: int) -> int:
    """Rows that the shape shared by all components weighs as, in each covariance."""
    return 3 * (d + 2)


def steadied(x: Floats, share: Floats, least: float) -> tuple[Floats, Floats, Floats]:
    """The M step: numbers, means, and covariances shrunk to the shape that all share, at their own size.

    The shared shape weighs as `prior_rows`: free covariances of a dozen points each make the likelihood
    prefer spurious components. The own size lets narrow components lie beside wide ones. ``least`` is
    added to the shape's variances, so that it has an inverse.
    """
    m, d = x.shape
    number = share.sum(axis=0) + 1e-9
    means = share.T @ x / number[:, None]
    rest = x - means[:, None]
    scatter = (share.T[:, :, None] * rest).transpose(0, 2, 1) @ rest
    shape = scatter.sum(axis=0) / m
    shape += (1e-6 * float(np.trace(shape)) / d + least) * np.eye(d)
    size = np.trace(np.linalg.solve(shape, scatter), axis1=1, axis2=2) / d
    size = (size + 5) / (number + 5)
    weight = prior_rows(d)
    covariances = scatter + weight * size[:, None, None] * shape
    covariances /= (number + weight)[:, None, None]
    return number, means, covariances


def number_of_parameters(k: int, d: int, kind: Covariance) -> int:
    """Free numbers of a mixture.

    >>> [number_of_parameters(3, 4, kind) for kind in ("full", "tied", "diagonal")]
    [44, 24, 26]
    """
    shape = {"full": k * d * (d + 1) // 2, "tied": d * (d + 1) // 2, "diagonal": k * d}[kind]
    return k - 1 + k * d + shape


def of_kind(kind: Covariance, covariances: Floats, weights: Floats) -> Floats:
    """Covariances as the kind has them: their mean, their diagonals, or as they are."""
    if kind == "tied":
        mean = np.einsum("k,kij->ij", weights / weights.sum(), covariances)
        return np.repeat(mean[None], len(covariances), axis=0)
    if kind == "diagonal":
        result: Floats = covariances * np.eye(covariances.shape[1])
        return result
    return covariances


def log_likelihoods(mixture: Mixture, x: Floats) -> tuple[Floats, Floats]:
    """Log-density (n,) of every row, up to a constant, and its shares (n, k) in the components.

    Examples
    --------
    >>> two = Mixture(np.full(2, 0.5), np.array([[0.0], [4.0]]), np.ones((2, 1, 1)))
    >>> log_likelihoods(two, np.array([[0.0], [2.0]]))[1].round(3).tolist()
    [[1.0, 0.0], [0.5, 0.5]]
    """
    logs = log_densities(x, mixture.weights, mixture.means, mixture.covariances)
    top = logs.max(axis=1)
    each = np.exp(logs - top[:, None])
    total = each.sum(axis=1)
    return top + np.log(total), each / total[:, None]


def maximised(x: Floats, share: Floats, kind: Covariance) -> Mixture:
    """The M step, with covariances of a kind."""
    number, means, covariances = steadied(x, share, 1e-12)
    return Mixture(number / number.sum(), means, of_kind(kind, covariances, number))


def em(x: Floats, start: Mixture, steps: int, kind: Covariance) -> tuple[Mixture, float]:
    """EM from a start until it gains little; the mixture and its mean log-likelihood."""
    mixture, before, likelihood = start, -math.inf, -math.inf
    for _ in range(steps):
        logs, share = log_likelihoods(mixture, x)
        likelihood = float(logs.mean())
        mixture = maximised(x, share, kind)
        if likelihood - before < 3e-5:
            break
        before = likelihood
    return mixture, likelihood


def public_em(points: Floats, k: int, kind: Covariance, runs: int = _RUNS) -> Mixture:
    """The best of runs of EM from k-means++; k components at most, fewer distinct points make fewer.

    Runs start from groups of the points as they are, along one column, or along a direction at random:
    groups that differ in one column among several are no k-means of all of them.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> points = rng.normal(size=(60, 2)) + np.repeat([[0, 0], [9, 0], [0, 9]], 20, axis=0)
    >>> public_em(points, 3, "full").weights.round(2).tolist()
    [0.33, 0.33, 0.33]
    """
    some, d = sample(points, _COMPARED_ON), points.shape[1]
    rng = np.random.default_rng(_SEED)
    found = []
    for run in range(runs if k > 1 else 1):
        if run % 3 == 0:
            seen = some
        elif run % 3 == 1:
            seen = some[:, [run // 3 % d]]
        else:
            seen = some @ rng.standard_normal((d, 1))
        first = first_centroids(seen, k, rng)
        if first is not None:
            nearest = scipy.spatial.distance.cdist(seen, first).argmin(axis=1)
            found.append(em(some, maximised(some, np.eye(k)[nearest], kind), _SHORT, kind))
    if not found:
        return public_em(points, k - 1, kind, runs)
    best = sorted(found, key=lambda one: -one[1])[:_LONGER]
    again = [em(some, mixture, _LONG, kind) for mixture, _ in best]
    start = max(again, key=lambda one: one[1])[0]
    return em(sample(points, _FITTED_ON), start, _LONG, kind)[0]


def merged(mixture: Mixture) -> Mixture:
    """The two components made one that lose the least likelihood by it, at most (Runnalls 2007).

    Examples
    --------
    >>> three = Mixture(np.full(3, 1 / 3), np.array([[0.0], [1.0], [9.0]]), np.ones((3, 1, 1)))
    >>> merged(three).means.round(2).ravel().tolist()
    [9.0, 0.5]
    """
    w, means, covariances = mixture.weights, mixture.means, mixture.covariances
    volume = np.linalg.slogdet(covariances)[1]
    least, found = math.inf, None
    for a in range(mixture.k):
        for b in range(a):
            weight, apart = w[a] + w[b], means[a] - means[b]
            mean = (w[a] * means[a] + w[b] * means[b]) / weight
            one = (w[a] * covariances[a] + w[b] * covariances[b]) / weight
            one = one + w[a] * w[b] / weight**2 * np.outer(apart, apart)
            lost = weight * np.linalg.slogdet(one)[1] - w[a] * volume[a] - w[b] * volume[b]
            if lost < least or found is None:
                least, found = lost, (a, b, weight, mean, one)
    assert found is not None
    kept = [j for j in range(mixture.k) if j not in found[:2]]
    return Mixture(
        np.append(w[kept], found[2]),
        np.vstack([means[kept], found[3]]),
        np.concatenate([covariances[kept], found[4][None]]),
    )


def shorter_and_shorter(mixture: Mixture, x: Floats, kind: Covariance) -> tuple[Mixture, ...]:
    """Mixtures of 1 to k components: each from the next by a merger, and EM on the points."""
    found = [mixture]
    while found[-1].k > 1:
        found.append(em(x, merged(found[-1]), _LONG, kind)[0])
    return tuple(found[::-1])


def synthetic(mixture: Mixture, n: int) -> Floats:
    """Rows drawn from a mixture, always the same ones."""
    rng = np.random.default_rng(_SEED + 1)
    component = rng.choice(mixture.k, n, p=mixture.weights)
    roots = np.linalg.cholesky(mixture.covariances)[component]
    away = np.einsum("nij,nj->ni", roots, rng.standard_normal((n, mixture.d)))
    return np.asarray(mixture.means[component] + away)


def held_out(points: Floats, k: int, kind: Covariance) -> Floats:
    """Log-densities (m, k) of public points under mixtures of 1 to k components of the other folds."""
    fold = np.random.default_rng(_SEED + 2).permutation(len(points)) % _FOLDS
    logs = np.zeros((len(points), k))
    for one in range(_FOLDS):
        rest, out = points[fold != one], fold == one
        mixtures = shorter_and_shorter(public_em(rest, k, kind, _RUNS_OF_FOLD), rest, kind)
        for j in range(k):
            logs[out, j] = log_likelihoods(mixtures[min(j, len(mixtures) - 1)], points[out])[0]
    return logs


def centred(logs: Floats) -> Floats:
    """Log-densities (n, k) less their mean over mixtures."""
    result: Floats = logs - logs.mean(axis=1, keepdims=True)
    return result
