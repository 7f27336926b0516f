"""Densities of Gaussians and how far two of them are apart."""

from __future__ import annotations

import math

import numpy as np
import scipy

from dpstats.arrays import Floats


def log_densities(x: Floats, weights: Floats, means: Floats, covariances: Floats) -> Floats:
    """Logarithms (n, k) of weight times density at every row of x (n, d), up to a constant.

    Examples
    --------
    >>> one = np.ones(1)
    >>> log_densities(np.array([[0.0], [2.0]]), one, np.zeros((1, 1)), np.ones((1, 1, 1))).tolist()
    [[0.0], [-2.0]]
    """
    with np.errstate(all="ignore"):
        size = np.sqrt(np.diagonal(covariances, axis1=1, axis2=2))
        root = np.linalg.cholesky(covariances / (size[:, :, None] * size[:, None]))
        white = np.linalg.inv(root) / size[:, None]
        volume = np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1) + np.log(size).sum(axis=1)
        logs: Floats = np.tile(np.log(weights) - volume, (len(x), 1))
        for j, mean in enumerate(means):
            away = (x - mean) @ white[j].T
            logs[:, j] -= np.einsum("nj,nj->n", away, away) / 2
    return logs


def overlap(
    mean: Floats, covariance: Floats, other_mean: Floats, other_covariance: Floats
) -> float:
    """Share of either Gaussian beyond the plane that best tells two apart: 2 Phi(-gap / (s + t)).

    s and t are their standard deviations across the plane, gap the distance of the means.

    Examples
    --------
    >>> round(overlap(np.zeros(1), np.eye(1), np.full(1, 8.0), np.eye(1)), 6)
    6.3e-05
    """
    direction = np.linalg.solve(covariance + other_covariance, other_mean - mean)
    gap = float(direction @ (other_mean - mean))
    spread = math.sqrt(float(direction @ covariance @ direction)) + math.sqrt(
        float(direction @ other_covariance @ direction)
    )
    return float(2 * scipy.stats.norm.sf(gap / spread)) if spread > 0 else 1.0
