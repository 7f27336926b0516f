"""The bias of cells of overlapping components, and its correction.

A cell loses the rows of its component that lie beyond its border, and has those of others. Both follow
from the mixture itself: rows simulated from estimated parameters, sorted by the same map, show how far
the moments of cells are from those of components; the difference is taken off. Nothing private is
needed.
"""

from __future__ import annotations

import math

import numpy as np
import scipy

from dpstats.arrays import Floats
from dpstats.models.mixture.clustering import Partition, assign
from dpstats.numerics.matrices import equilibrated_whitening, floored, symmetric, symmetric_power

_SEED = 20241
_ROWS = 200_000
_ROUNDS, _SETTLED, _NEARLY = 25, 2e-4, 0.01
_MATTERS = 0.05
_FARTHEST = 1.0
"""How far, in sd of its cell, a component may be from its cell's mean."""


def border_bias(gap: float) -> float:
    """How far two equal Gaussians' cells are from them, in sd, when their means are ``gap`` sd apart.

    2 (phi(h) - h Phi(-h)), h half the gap: rows lost beyond the border, and rows won from there.

    Examples
    --------
    >>> round(border_bias(4.0), 3), round(border_bias(8.0), 6)
    (0.017, 1.4e-05)
    """
    half = gap / 2
    return float(2 * (scipy.stats.norm.pdf(half) - half * scipy.stats.norm.sf(half)))


def overlap_matters(gap: float | None, rows: float) -> bool:
    """Whether that bias is more than a small part of a mean's standard error."""
    return gap is not None and border_bias(gap) * math.sqrt(rows) > _MATTERS


def without_overlap(
    partition: Partition, weights: Floats, means: Floats, covariances: Floats
) -> tuple[Floats, Floats, Floats] | None:
    """Weights, means and covariances of components, from those of their cells.

    Solves cells(parameters) = what was released by fixed-point steps, with common random numbers: the
    differences come from misplaced rows alone, and have little noise. None where the steps do not
    settle, or lead far away: such cells are not those of a mixture, as when one component was split in
    two.

    Parameters
    ----------
    partition : Partition
        Of k cells.
    weights, means, covariances : (k,), (k, d), (k, d, d) arrays
        Of the cells.

    Examples
    --------
    >>> from dpstats.models.mixture.clustering import Split, nearest
    >>> middle = nearest(np.array([[0.0], [3.0]]), np.zeros(1), np.ones(1))
    >>> far = np.array([[-0.06], [3.06]])  # what cells of N(0, 1) and N(3, 1) have
    >>> cells = np.array([0.5, 0.5]), far, np.full((2, 1, 1), 0.82)
    >>> found = without_overlap((Split(0, middle, (0, 1)),), *cells)
    >>> found[1].round(2).ravel().tolist()
    [-0.01, 2.99]
    """
    target = weights / weights.sum(), means, covariances
    now = target
    sd = np.sqrt(np.diagonal(covariances, axis1=1, axis2=2))
    for _ in range(_ROUNDS):
        moved = _moved(partition, *now)
        if moved is None:
            return None
        weight = np.maximum(target[0] - moved[0], 1e-6)
        mean, spread = target[1] - moved[1], target[2] - moved[2]
        step = np.abs(mean - now[1]) / sd
        now = (
            weight / weight.sum(),
            mean,
            np.array([_positive(s, c) for s, c in zip(spread, covariances, strict=True)]),
        )
        if not (np.abs(mean - means) <= _FARTHEST * sd).all():
            return None
        if float(step.max()) < _SETTLED:
            break
    return now if float(step.max()) < _NEARLY else None


def _positive(matrix: Floats, like: Floats) -> Floats:
    """The matrix with no direction smaller than a tenth of what it is in another one."""
    whitening = equilibrated_whitening(like)
    relative = whitening.back.T @ matrix @ whitening.back
    kept: Floats = whitening.root.T @ floored(symmetric(relative), 0.1) @ whitening.root
    return symmetric(kept)


def _moved(
    partition: Partition, weights: Floats, means: Floats, covariances: Floats
) -> tuple[Floats, Floats, Floats] | None:
    """Moments of cells less those of components, simulated; None where a cell stays empty."""
    rng = np.random.default_rng(_SEED)
    k, d = means.shape
    sizes = np.maximum((weights * _ROWS).astype(int), 2000)
    parts = []
    for mean, covariance, size in zip(means, covariances, sizes, strict=True):
        scale = np.sqrt(np.diag(covariance))
        root = symmetric_power(covariance / np.outer(scale, scale), 0.5) * scale
        parts.append(mean + rng.standard_normal((size, d)) @ root)
    rows, owner = np.concatenate(parts), np.repeat(np.arange(k), sizes)
    share = (weights / sizes)[owner]  # every component simulated in its own number
    cell = assign(partition, rows)
    out = []
    for j in range(k):
        pair = [_weighted(rows[of == j], share[of == j]) for of in (cell, owner)]
        if pair[0] is None or pair[1] is None:
            return None
        out.append(pair[0] - pair[1])
    moved = np.array(out)
    return moved[:, 0], moved[:, 1 : d + 1], moved[:, d + 1 :].reshape(k, d, d)


def _weighted(rows: Floats, share: Floats) -> Floats | None:
    """Weight, mean and covariance of weighted rows, in one vector."""
    if len(rows) <= rows.shape[1]:
        return None
    total = float(share.sum())
    mean = share @ rows / total
    rest = rows - mean
    spread = (rest * share[:, None]).T @ rest / total
    return np.concatenate([[total], mean, spread.ravel()])
