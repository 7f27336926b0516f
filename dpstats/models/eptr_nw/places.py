"""Where rows lie, as the released sums of a kernel say; computed from released numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpstats.arrays import Floats
from dpstats.models.eptr_nw.bands import sharpened
from dpstats.models.eptr_nw.public import CurveSetting
from dpstats.models.eptr_nw.result import SumsCurve
from dpstats.models.eptr_nw.rows import kernel

_SURE, _THERE = 4.0, 1.0
"""Standard deviations of its noise by which a sum of the kernel tells of rows: for a local mean (of 2000
that are noise, one in 30 curves has one), and for the rows that such a mean is of."""
_AT_AN_END, _BESIDE = 0.8, 1.5
"""Bandwidths from a point to the mean of its rows: at an end of even rows, sqrt(2 / pi); and from where
they lie beyond an end, so that how a mean of far rows is weighed is hardly known."""
_SHARPER = 100


@dataclass(frozen=True)
class Places:
    """Points near which there are rows, and how many; and what a curve's cover has of them.

    Attributes
    ----------
    points : (l, d) array
    rows : (l,) array
        At each of them.
    cover : (k, d) array
        Points at which the sums are looked at.
    weights : (l, k) array
        Of the rows in the mean at each point of the cover.
    from_rows : (k,) array
        Bandwidths from a point of the cover to the mean of its rows.
    sure : (k,) array of bool
        Whether it has rows for sure.
    """

    points: Floats
    rows: Floats
    cover: Floats
    weights: Floats
    from_rows: Floats
    sure: NDArray[np.bool_]

    @classmethod
    def of(cls, curve: SumsCurve, setting: CurveSetting) -> Places:
        cover, sd = setting.cover[0], curve.sums.below_sd
        degree = curve.local_sums(cover, setting.nodes, False)[1]
        there = degree > _THERE * sd
        z = cover[there]
        spread = kernel(z, np.ascontiguousarray(z.T)).sum(axis=0)
        rows = sharpened(z, degree[there] / spread, _SHARPER)
        weights = kernel(z, np.ascontiguousarray(cover.T)) * rows[:, None]
        weights /= np.maximum(weights.sum(axis=0), 1e-300)
        from_rows = np.linalg.norm(weights.T @ z - cover, axis=1)
        return cls(z, rows, cover, weights, from_rows, degree > _SURE * sd + 1)

    @property
    def near_rows(self) -> NDArray[np.bool_]:
        """Which points of the cover surely have rows, whose mean is not far from them."""
        return self.sure & (self.from_rows < _BESIDE)

    @property
    def beside(self) -> Floats:
        """Points of the cover near rows."""
        return self.cover[self.near_rows]

    @property
    def among(self) -> Floats:
        """Points of the cover that lie among rows, or at their end."""
        return self.cover[self.sure & (self.from_rows < _AT_AN_END)]
