"""Weights, means and covariances of the cells of a mixture, all of them by one mechanism per round."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from dpstats.arrays import Floats
from dpstats.models.gaussian.cuts import NoiseLevel
from dpstats.models.gaussian.moments import Moments, cell_at
from dpstats.models.gaussian.planning import plan_cells
from dpstats.models.gaussian.releases import CellSession
from dpstats.models.gaussian.rounds import Rounds, Schedule, pooled, refine
from dpstats.models.gaussian.rows import Codes
from dpstats.models.mixture.clustering import Partition, number_of_cells
from dpstats.models.mixture.overlap import overlap_matters, without_overlap
from dpstats.numerics.matrices import Whitening, equivariant_whitening, symmetric

Borders = Literal["clear", "undone", "kept"]

_COUNTS = 0.02
_SEARCH = 0.03
_TAILS = 0.02
_CUT_SHARE = 0.003
_FEWEST = 10.0


@dataclass(frozen=True)
class Component:
    """One component in the measured coordinates.

    Attributes
    ----------
    weight, weight_sd : float
        The standard deviation covers sampling and noise.
    rows, rows_sd : float
        Private rows behind it, released, and their noise.
    m : int
        Public rows of its cell.
    moments : Moments
    mean_error : (d, d) array or None
        Covariance of the mean's error as measured, where it is more than one number in the moments.
    """

    weight: float
    weight_sd: float
    rows: float
    rows_sd: float
    m: int
    moments: Moments
    mean_error: Floats | None = None

    @property
    def hardly_there(self) -> bool:
        """Whether its cell cannot be distinguished from an empty one."""
        return self.rows < 4 * self.rows_sd


@dataclass(frozen=True)
class MixtureFit:
    """Estimates of all cells.

    ``borders``: whether what sorting rows into cells does to components is negligible, was undone,
    or is too much to be undone.
    """

    components: tuple[Component, ...]
    rounds: Rounds
    borders: Borders


def fit_cells(
    session: CellSession,
    partition: Partition,
    points: Floats,
    labels: Codes,
    noise: NoiseLevel,
    pool: bool,
    eta: float,
) -> MixtureFit:
    """Estimate every cell from what is left of the total.

    1. noisy counts of the rows of each cell;
    2. one plan for all cells: rounds, shares, where rows are cut;
    3. private re-whitening of all cells together, see `gaussian.rounds.refine`;
    4. counts of both releases are averaged; means and covariances with those of the cell's own public
       rows where ``pool``;
    5. where components overlap so much that it matters, what sorting does to them is taken off.
    """
    leaves = number_of_cells(partition)
    counts, counts_sd = session.counts(_COUNTS, partition, leaves)
    rows = np.maximum(counts, _FEWEST)
    own = [points[labels == j] for j in range(leaves)]
    left = session.left - _SEARCH - _TAILS - _CUT_SHARE
    plan = plan_cells(
        tuple(float(round(v)) for v in rows),
        tuple(len(x) for x in own),
        points.shape[1],
        noise,
        eta=eta,
        available=left,
    )
    schedule = Schedule(
        noise, _SEARCH, _TAILS, plan.rounds, plan.share * left, _CUT_SHARE, plan.cuts, False
    )
    cells = [cell_at(*_start(x, points), n) for x, n in zip(own, rows, strict=True)]
    rounds = refine(session, partition, cells, schedule, n_known=False)
    rounds = replace(
        rounds,
        moments=tuple(
            replace(m, bias=bias) for m, bias in zip(rounds.moments, plan.bias, strict=True)
        ),
    )
    components = _components(rounds, counts, counts_sd, own, pool, session.n)
    components, borders = _without_overlap(partition, components)
    return MixtureFit(components, rounds, borders)


def _start(own: Floats, points: Floats) -> tuple[Floats, Whitening]:
    """Centre and whitening of a cell from its public rows: their shape, or their scale alone."""
    d = points.shape[1]
    centre = own.mean(axis=0)
    spread = own - centre
    if len(own) > d and np.linalg.matrix_rank(spread) == d:
        return centre, equivariant_whitening(spread)
    scale = math.sqrt(float((spread**2).sum()) / (d * (len(own) - 1))) if len(own) > 1 else 1.0
    scale = scale or 1.0
    return centre, Whitening(np.eye(d) / scale, np.eye(d) * scale)


def _components(
    rounds: Rounds,
    counts: Floats,
    counts_sd: float,
    own: Sequence[Floats],
    pool: bool,
    n: int,
) -> tuple[Component, ...]:
    rows, rows_sd = [], []
    for first, moments in zip(counts, rounds.moments, strict=True):
        each = np.array([counts_sd, moments.count_sd]) ** -2.0
        rows.append(float((each @ [first, moments.count]) / each.sum()))
        rows_sd.append(1 / math.sqrt(each.sum()))
    rows = [max(v, 1.0) for v in rows]
    total = sum(rows)
    out = []
    for v, sd, moments, x in zip(rows, rows_sd, rounds.moments, own, strict=True):
        weight = v / total
        weight_sd = math.sqrt(weight * (1 - weight) / min(total, n) + (sd / total) ** 2)
        # moments were divided by the first count; both counts together know the number better
        better = replace(moments.of_rows(v), mean_rows=v)
        if pool:
            better, _ = pooled(better, x, v)
        out.append(Component(weight, weight_sd, v, sd, len(x), better))
    return tuple(out)


def separation(components: Sequence[Component]) -> float | None:
    """The least distance of two means, in standard deviations along the line of both."""
    gaps = []
    for a, b in itertools.combinations(components, 2):
        away = b.moments.centre - a.moments.centre
        length = float(np.linalg.norm(away)) or 1.0
        along = away / length
        widest = max(float(along @ c.moments.covariance @ along) for c in (a, b))
        gaps.append(length / math.sqrt(widest))
    return min(gaps, default=None)


def _without_overlap(
    partition: Partition, components: tuple[Component, ...]
) -> tuple[tuple[Component, ...], Borders]:
    """Components from their cells, where the overlap is no small part of the standard errors."""
    clear = all(c.moments.resolved for c in components)
    if not clear or not overlap_matters(separation(components), max(c.rows for c in components)):
        return components, "clear"
    weights = np.array([c.weight for c in components])
    means = np.array([c.moments.centre for c in components])
    covariances = np.array([c.moments.covariance for c in components])
    solved = without_overlap(partition, weights, means, covariances)
    if solved is None:
        return components, "kept"
    weight, mean, spread = solved
    out = []
    for c, w, m, s in zip(components, weight, mean, spread, strict=True):
        cell = c.moments.cell
        moments = replace(
            c.moments,
            mean=cell.back.T @ (m - cell.centre),
            spread=symmetric(cell.back.T @ s @ cell.back),
        )
        out.append(replace(c, weight=float(w), moments=moments))
    return tuple(out), "undone"
