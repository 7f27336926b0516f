"""The map from rows to the cells of a mixture: by public rows alone, or with private help."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from dpstats.arguments import in_prose
from dpstats.arrays import Floats
from dpstats.models.gaussian.cuts import NoiseLevel
from dpstats.models.gaussian.planning import plan_gaussian
from dpstats.models.gaussian.releases import CellSession
from dpstats.models.mixture.clustering import Cells
from dpstats.models.mixture.public_mixture import public_mixture
from dpstats.models.mixture.tree import private_tree


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
        return Cells((), np.zeros(len(points), dtype=np.intp), "one was asked for")
    if regime == "public":
        found = public_mixture(points, k, w_min, most)
    else:
        found = private_tree(session, points, k or most, w_min, k)
    if found.fewest:
        return found
    # a cell without a public row has nothing to start from
    how = f"{found.how}; public rows left a cell empty"
    return replace(found, partition=(), labels=np.zeros_like(found.labels), how=how)


def few_rows_warning(
    n: int, d: int, m: int, k: int, w_min: float, noise: NoiseLevel
) -> tuple[str, ...]:
    """Warnings from public numbers that the smallest component can hardly be estimated."""
    rows = max(int(2 * w_min * n), 2)
    plan = plan_gaussian(rows, d, max(int(2 * w_min * m), 2), noise, eta=0.5)
    out = []
    if plan.error >= 1:
        out.append(
            f"A component of {in_prose(2 * w_min)} of the n = {n} rows is small for {d} columns at this "
            f"budget: its covariance may be off by more than itself. More rows, a larger budget or "
            "fewer columns help."
        )
    needed = math.ceil(math.log(k / 0.05) / w_min)
    if m < needed:
        out.append(
            f"{m} public rows may miss a component of weight {in_prose(w_min)}: {needed} or more would "
            f"show each of {k} with some rows."
        )
    return tuple(out)
