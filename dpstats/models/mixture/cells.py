"""The map from rows to the cells of a mixture: by public rows alone, or with private help."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpstats.arrays import Floats
from dpstats.models.gaussian.planning import (
    NoiseLevel,
    plan_gaussian,
)
from dpstats.models.gaussian.releases import CellSession
from dpstats.models.gaussian.rows import Codes
from dpstats.models.mixture.clustering import Partition, number_of_cells
from dpstats.models.mixture.public_mixture import public_mixture
from dpstats.models.mixture.tree import LEVELS, private_tree

_TREE_SHARE = 0.3
"""Of the total, at most, for finding the components in the regime "private"."""


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
        Private levels of the tree that were paid for.
    projection_noise : float or None
        See `mixture_tree.Tree`.
    """

    partition: Partition
    labels: Codes
    how: str
    levels: int
    projection_noise: float | None


def find_cells(
    session: CellSession, points: Floats, k: int | None, w_min: float, most: int, regime: str
) -> Cells:
    """Cells of a regime.

    Parameters
    ----------
    points : (m, d) array
        Public points in the coordinates of the session's rows.
    k : int or None
        None: as many as valleys tell apart, ``most`` at most.
    """
    if k == 1:
        return Cells((), np.zeros(len(points), dtype=np.intp), "one was asked for", 0, None)
    if regime == "public":
        mixture = public_mixture(points, k, w_min, most=most)
        return _without_empty(mixture.partition, mixture.labels, mixture.how, 0, None)
    tree = private_tree(session, points, session.n, k or most, w_min, _TREE_SHARE, k)
    valleys = tree.leaves - tree.superclusters
    steps = [f"{tree.superclusters} group(s) apart among public rows"]
    if tree.levels:
        steps.append(
            f"{valleys} split(s) at private valleys, {tree.levels} of {LEVELS} levels tried"
        )
    return _without_empty(
        tree.partition, tree.labels, "; ".join(steps), tree.levels, tree.projection_noise
    )


def _without_empty(
    partition: Partition, labels: Codes, how: str, levels: int, noise: float | None
) -> Cells:
    """The cells, of which every one has a public row: else rows have nothing to start from."""
    counts = np.bincount(labels, minlength=number_of_cells(partition))
    if (counts > 0).all():
        return Cells(partition, labels, how, levels, noise)
    return Cells((), np.zeros_like(labels), f"{how}; public rows left a cell empty", levels, noise)


def few_rows_warning(
    n: int, d: int, m: int, k: int, w_min: float, noise: NoiseLevel
) -> tuple[str, ...]:
    """Warnings from public numbers that the smallest component can hardly be estimated."""
    rows = max(int(2 * w_min * n), 2)
    plan = plan_gaussian(rows, d, max(int(2 * w_min * m), 2), noise, eta=0.5)
    out = []
    if plan.error >= 1:
        out.append(
            f"A component of {2 * w_min:.2g} of the n = {n} rows is small for {d} columns at this "
            f"budget: its covariance is expected to be off by {plan.error:.3g} of itself. More "
            "rows, a larger budget or fewer columns help."
        )
    needed = math.ceil(math.log(k / 0.05) / w_min)
    if m < needed:
        out.append(
            f"{m} public rows may miss a component of weight {w_min:.2g}: {needed} or more would "
            f"show each of {k} with some rows."
        )
    return tuple(out)
