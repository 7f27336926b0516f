"""Cells of a mixture found with few public points: public gaps, private principal axes, private valleys.

Leaves are split level by level. The private rows of all leaves give their second moments by one
release; along their principal axes the public points propose splits; one release of counts at the
centres of the proposed parts and half way between them decides. Superclusters that public points
show by themselves cost nothing.

What a principal axis is depends on the units of the columns. Total standard deviations come first; they
hide clusters that differ in one column among many, so that a level without a split is followed by one
in units of the spread within clusters, as public points show it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from dpstats.arrays import Floats
from dpstats.models.gaussian.releases import AugmentedMoments, CellSession
from dpstats.models.gaussian.rounds import COARSE_LIFT
from dpstats.models.gaussian.rows import CellCoordinates, Codes, Zones
from dpstats.models.mixture.clustering import (
    Cells,
    Partition,
    Scores,
    Split,
    accepted,
    assign,
    nearest_projected,
    number_of_zones,
    size_about,
    split_candidates,
    split_labels,
    superclusters,
    zone_of,
)
from dpstats.numerics.k_means import column_units

_SHARE = 0.3
"""Of the total, that all levels together may take."""
_LEVELS = 3
_MOMENTS = 0.8  # of a level's share; the rest pays for the valley test
_REACH = 1.2  # rows are cut at this multiple of the farthest public point of a leaf


@dataclass(frozen=True)
class _Proposal:
    """A split of the zones' cell, and the zones that decide it."""

    scores: Scores
    parts: int
    zones: Zones


def private_tree(
    session: CellSession, points: Floats, most: int, w_min: float, goal: int | None
) -> Cells:
    """Split the points, and private rows along with them, until ``goal`` leaves or no valley is left.

    Parameters
    ----------
    points : (m, d) array
        In the coordinates in which the session's rows come.
    most : int
        Leaves at most.
    goal : int or None
        Leaves after which nothing more is spent; None: as many as there are valleys.
    """
    groups = superclusters(points, most, w_min)
    partition: Partition = () if groups.split is None else (groups.split,)
    labels, leaves, noise = groups.labels, groups.number, None
    metrics = [np.ones(points.shape[1]), column_units(points, w_min)]
    level = 0
    while metrics and leaves < most and leaves != goal and level < _LEVELS:
        inner = [groups.core & (labels == leaf) for leaf in range(leaves)]
        frames, radii = _balls(points, inner, metrics[0])
        each = _SHARE / _LEVELS
        lifted, _ = session.lifted(each * _MOMENTS, partition, frames, radii, COARSE_LIFT)
        noise = max(noise or 0.0, _spectral_noise(lifted))
        proposals = []
        for leaf in range(leaves):
            axes = frames[leaf].back @ _principal_axes(
                lifted, leaf, min(most - leaves, points.shape[1])
            )
            proposals += _proposals(
                points[inner[leaf]],
                axes,
                frames[leaf].centre,
                leaf,
                leaves,
                most,
                w_min,
                len(points),
            )
        level += 1
        if not proposals:
            del metrics[0]
            continue
        counts, sd = session.zones(each * (1 - _MOMENTS), partition, [p.zones for p in proposals])
        before = leaves
        for proposal in _chosen(proposals, counts, sd, 0.1 * w_min * session.n, most - leaves):
            leaf = proposal.zones.cell
            parts = split_labels(leaf, leaves, proposal.parts)
            partition = (*partition, Split(leaf, proposal.scores, parts))
            leaves += proposal.parts - 1
        if leaves == before:
            del metrics[0]
            continue
        labels = assign(partition, points)
    how = f"{groups.number} group(s) apart among public rows"
    if level:
        valleys = leaves - groups.number
        how += f"; {valleys} split(s) at private valleys, {level} of {_LEVELS} levels tried"
    return Cells(partition, labels, how, level, noise)


def _balls(
    points: Floats, inner: list[Codes], units: Floats
) -> tuple[list[CellCoordinates], list[float]]:
    """A ball about the public points of each leaf, in some units."""
    frames, radii = [], []
    for mine in inner:
        own = points[mine] if mine.any() else points
        centre = own.mean(axis=0)
        farthest = float(np.sqrt((((own - centre) / units) ** 2).sum(axis=1).max()))
        frames.append(CellCoordinates(centre, np.diag(1 / units), np.diag(units)))
        radii.append(_REACH * farthest or 1.0)
    return frames, radii


def _spectral_noise(lifted: AugmentedMoments) -> float:
    """Largest singular value, at most and with probability 0.95, of the noise in a leaf's covariance."""
    d = lifted.squares.shape[-1]
    factor = math.sqrt(2 * d) + math.sqrt(2 * math.log(2 / 0.05))
    return float((lifted.squares_sd / np.maximum(lifted.counts, 1.0)).max()) * factor


def _principal_axes(lifted: AugmentedMoments, leaf: int, most: int) -> Floats:
    n = max(float(lifted.counts[leaf]), 1.0)
    mean = lifted.sums[leaf] / n
    spread = lifted.squares[leaf] / n - np.outer(mean, mean)
    vectors = np.linalg.eigh((spread + spread.T) / 2)[1]
    return np.asarray(vectors[:, ::-1][:, : max(most, 1)])


def _proposals(
    own: Floats,
    axes: Floats,
    centre: Floats,
    leaf: int,
    leaves: int,
    most: int,
    w_min: float,
    m: int,
) -> list[_Proposal]:
    """Splits that the public points of a leaf propose along private axes."""
    if len(own) < 4:
        return []
    projected = (own - centre) @ axes
    candidates = split_candidates(projected, most - leaves + 1, max(2.0, 0.3 * w_min * m))
    scale = size_about(own, centre)
    out = []
    for parts, centroids in candidates.items():
        scores = nearest_projected(axes, centroids, centre, scale)
        size = number_of_zones(len(centroids))

        place = partial(zone_of, centroids=centroids)
        zones = Zones(leaf, centre, axes, scale, place, size)
        out.append(_Proposal(scores, parts, zones))
    return out


def _chosen(
    proposals: list[_Proposal], counts: list[Floats], sd: float, least: float, room: int
) -> list[_Proposal]:
    """Accepted proposals, at most one per leaf, the ones with most parts first, while there is room."""
    passed = [
        p for p, seen in zip(proposals, counts, strict=True) if accepted(seen, p.parts, sd, least)
    ]
    out: list[_Proposal] = []
    for proposal in sorted(passed, key=lambda p: -p.parts):
        taken = any(proposal.zones.cell == other.zones.cell for other in out)
        if not taken and proposal.parts - 1 <= room:
            out.append(proposal)
            room -= proposal.parts - 1
    return out
