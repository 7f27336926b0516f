"""Whether rows look like draws from a released mixture: tails and skewness, and densities of rows."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy

from dpstats.arrays import Floats
from dpstats.models.mixture.fit import Component
from dpstats.models.mixture.releases import MixtureSession
from dpstats.models.mixture.soft import Mixture, cells_of, log_likelihoods

_FAR = 0.05  # of a Gaussian's rows are called long
_TAILED, _SKEWED, _SURE = 1.5, 0.1, 4.0
_LEVELS = np.array([0.002, 0.01, 0.03, 0.08, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.97])
"""Parts of a mixture's own rows that have lower densities than the edges of counts."""
_ROUNDING = 1e-6
"""Log-densities that differ by less are taken to be equal."""
_MISFIT = 1e-4
"""Share of mixtures that are said not to fit although rows are drawn from them."""


@dataclass(frozen=True)
class ShapeOf:
    """What is seen of one component beside its moments: long tails, and columns that are skewed."""

    tailed: bool
    skewed: tuple[int, ...]


@dataclass(frozen=True)
class Misfit:
    """Where rows are, beside where the mixture has its density.

    Attributes
    ----------
    share, sd : float
        Of the rows, that had to be moved to be as dense as the mixture's own, beyond what noise and
        sampling make; and its noise.
    sure : bool
        Whether rows are surely not drawn from the mixture.
    """

    share: float
    sd: float
    sure: bool


def shapes_of(
    session: MixtureSession, share: float, mixture: Mixture, components: tuple[Component, ...]
) -> tuple[ShapeOf, ...]:
    """Tails and skewness that are surely beyond a Gaussian's, of every component."""
    far = math.sqrt(float(scipy.stats.chi2.isf(_FAR, mixture.d)))
    seen = session.shapes(share, cells_of(mixture), far)
    out = []
    for j, c in enumerate(components):
        rows = max(c.rows, 1.0)
        noise = math.hypot(seen.noise_sd, c.rows_sd) / (2 * rows)
        long = (float(seen.beyond[j]) / rows + 1) / 2
        tailed = long > _TAILED * _FAR + _SURE * math.hypot(noise, math.sqrt(_FAR / rows))
        away = np.hypot(1 / math.sqrt(rows), c.moments.mean_sd)
        side = np.abs(seen.signs[j]) / rows
        skewed = side > _SKEWED + _SURE * math.hypot(seen.noise_sd / rows, float(away))
        out.append(ShapeOf(bool(tailed), tuple(int(a) for a in np.flatnonzero(skewed))))
    return tuple(out)


def misfit_of(
    session: MixtureSession, share: float, mixture: Mixture, own: Floats, alike: float
) -> Misfit:
    """Whether rows have the densities that the mixture's ``own`` rows have.

    Components that are long-tailed, skewed or too few, and fits that have not arrived, show here
    though every component by itself may look like a Gaussian. ``alike``: rows that may be alike, those
    of a person; counts of them vary as many times as much.
    """
    logs = np.sort(log_likelihoods(mixture, own)[0])
    at = logs[(_LEVELS * len(logs)).astype(int)]
    # between two densities: rows in steps have few, and the same ones but for rounding
    above = np.append(logs, logs[-1] + 1)[np.searchsorted(logs, at + _ROUNDING)]
    edges = (at + above) / 2
    part = np.diff(np.searchsorted(logs, edges), prepend=0, append=len(logs)) / len(logs)
    counts, noise = session.densities(share, cells_of(mixture), edges)
    rows = max(float(counts.sum()), 1.0)
    # counts vary, and so do those of the mixture's own rows that edges were read from
    variance = rows * part * (alike + rows / len(own)) + noise**2
    away = np.abs(counts - rows * part)
    seen = np.maximum(away - np.sqrt(variance), 0.0)
    far = float((away**2 / variance).sum())
    sd = noise * math.sqrt(len(part)) / (2 * rows)
    return Misfit(
        min(float(seen.sum()) / (2 * rows), 1.0),
        min(sd, 1.0),
        far > float(scipy.stats.chi2.isf(_MISFIT, len(_LEVELS))),
    )
