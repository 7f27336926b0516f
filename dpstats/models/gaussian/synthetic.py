"""Synthetic rows from released distributions: post-processing, which costs no privacy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpstats.arguments import as_int, check_seed, shown
from dpstats.arrays import Floats
from dpstats.errors import ArgumentError
from dpstats.numerics.matrices import symmetric_power


def check_size(n: object) -> int:
    size = as_int(n, 1)
    if size is None:
        raise ArgumentError(f"n must be the number of rows to draw, 1 or more, not {shown(n)}.")
    return size


def draw_normal(n: int, mean: Floats, covariance: Floats, seed: int | None) -> Floats:
    """n rows of N(mean, covariance)."""
    return draw_mixture(n, np.ones(1), mean[None], covariance[None], seed)[0]


def draw_mixture(
    n: int,
    weights: Floats,
    means: Floats,
    covariances: Floats,
    seed: int | None,
) -> tuple[Floats, NDArray[np.int64]]:
    """n rows of a mixture in random order, and the component of each."""
    check_seed(seed)
    generator = np.random.default_rng(seed)
    component = generator.choice(len(weights), size=n, p=weights / weights.sum())
    rows = np.empty((n, len(means[0])))
    for j, (mean, covariance) in enumerate(zip(means, covariances, strict=True)):
        mine = component == j
        size = np.sqrt(np.diag(covariance))
        root = symmetric_power(covariance / np.outer(size, size), 0.5) * size
        rows[mine] = mean + generator.normal(size=(int(mine.sum()), len(mean))) @ root
    return rows, component
