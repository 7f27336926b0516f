"""Rows of a kernel regression: their weights at public nodes, and sums of these.

A row (x, y) passes through maps that depend on that row and on public numbers only:

1. scaling: z = x / h, column by column; a row farther than one unit from a public box counts nowhere;
2. the response less a public fit, e = y - centre(z); r = e - M cut to [-R, R] and measured in R; and
   w = min((e / C)^2, 1), where squares are asked for;
3. weights at the nodes q: K(q, z) = exp(-|z - q|^2 / 2), at most 1, all of them multiplied by min(1,
   B / |K(., z)|) where a bound B on their length is given;
4. rounding: K r, K w and K to the nearest multiples of 2^-36.

The first column of a row is 1; a row that is missing has 0 there and contributes nothing.

The rounded K is what counts as the row's weight in the proofs: |rint(K r)| <= rint(K) because |r| <=
1 and rounding is monotone, so that the ratio of two sums is an average of numbers in [-1, 1].
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpstats.arrays import Floats
from dpstats.mechanism.passes import Block, Integers, RowSource, WhitenedRows, one_pass
from dpstats.mechanism.session import clamp_to_safe_range

_CHUNK_NUMBERS = 2**17
_SHORTEST = 8


class Centre(Protocol):
    """A public function of scaled rows, computed entry by entry."""

    def __call__(self, z: Floats) -> Floats: ...


@dataclass(frozen=True)
class _Slab:
    """Scaled rows (d, b), residuals, the same cut to [-1, 1], and which rows count."""

    z: Floats
    e: Floats
    r: Floats
    alive: NDArray[np.bool_]

    def __repr__(self) -> str:
        return "<slab of private rows>"


@dataclass(frozen=True)
class KernelPlan:
    """The public numbers of a kernel regression.

    Attributes
    ----------
    bandwidth : (d,) array
    low, high : (d,) arrays
        The box of scaled rows.
    nodes : (m, d) array
        In scaled units.
    centre : Centre
    radius : float
        R.
    longest : float or None
        B, a bound on the length of a row's weights.
    middle : float
        M.
    square : float
        C.
    """

    bandwidth: Floats
    low: Floats
    high: Floats
    nodes: Floats
    centre: Centre
    radius: float
    longest: float | None = None
    middle: float = 0.0
    square: float = 1.0

    def __post_init__(self) -> None:
        for name in ("radius", "square"):
            object.__setattr__(self, name, clamp_to_safe_range(getattr(self, name)))


class KernelRows(WhitenedRows[_Slab]):
    """Rows of a kernel regression; see the module's docstring and `WhitenedRows`."""

    def __init__(self, source: RowSource, plan: KernelPlan) -> None:
        super().__init__(source, np.diag(1 / plan.bandwidth), np.zeros(len(plan.bandwidth)))
        self._plan = plan

    def _encode(self, block: Block) -> tuple[Floats, tuple[Any, ...]]:
        return block.x[:, 1:], (block.y, block.x[:, 0] > 0)

    def _slab(
        self,
        z: Floats,
        exponent: NDArray[np.int32],
        norm: Floats,
        fitted: Floats,
        columns: tuple[Floats, ...],
    ) -> _Slab:
        plan = self._plan
        alive = np.array(columns[1], dtype=np.bool_)
        scaled = np.ldexp(z, exponent)
        near = (scaled >= plan.low[:, None] - 1) & (scaled <= plan.high[:, None] + 1)
        alive &= near.all(axis=0)
        scaled = np.where(alive, scaled, plan.low[:, None])
        e = columns[0] - plan.centre(scaled)
        r = np.clip((e - plan.middle) / plan.radius, -1.0, 1.0)
        alive &= np.isfinite(r)
        return _Slab(scaled, np.where(alive, e, 0.0), np.where(alive, r, 0.0), alive)

    @one_pass
    def lengths(self, lowest: int, octaves: int) -> Integers:
        """Counts of e > 0 and then of e < 0, in the bins of `octave_bins` for their sizes.

        A row is in one of the counts at most; one that is missing, or without a residual, in none.
        """
        window = lowest, octaves
        above, below = self._histograms(_both_sides, window, window)
        return np.concatenate([above, below])

    @one_pass
    def totals(self, squares: bool = False) -> tuple[Integers, ...]:
        """Sums over the rows of K r and of K (and of K w) at every node (m,), in units of 2^-36."""
        m = len(self._plan.nodes)
        return tuple(self._sums(partial(self._work, squares=squares), *((m,),) * (2 + squares)))

    def _work(self, slab: _Slab, squares: bool) -> tuple[Floats, ...]:
        """All sums of a slab.

        Every partial sum is an integer of at most 2^36 per row, 2^52 per slab: exact in any order.
        """
        nodes, fine = self._plan.nodes, float(self.grid.fine)
        kept = np.flatnonzero(slab.alive)
        above, below, square = np.zeros((3, len(nodes)))
        width = max(_CHUNK_NUMBERS // len(nodes), _SHORTEST) // _SHORTEST * _SHORTEST
        weights, scratch = np.empty((len(nodes), width)), np.empty((len(nodes), width))
        for a in range(0, len(kept), width):
            rows = kept[a : a + width]
            r = slab.r[rows]
            # whole vectors of the processor: the last rows of a chunk go the way of the others
            size = -(-len(rows) // _SHORTEST) * _SHORTEST
            z = np.zeros((len(slab.z), size))
            z[:, : len(rows)] = slab.z[:, rows]
            k = kernel(nodes, z, weights[:, :size], scratch[:, :size])[:, : len(rows)]
            if self._plan.longest is not None:
                _shorten(k, self._plan.longest)
            k *= fine
            above += np.rint(np.multiply(k, r, out=scratch[:, : len(rows)])).sum(axis=1)
            if squares:
                w = np.minimum(np.abs(slab.e[rows]) / self._plan.square, 1.0) ** 2
                square += np.rint(np.multiply(k, w, out=scratch[:, : len(rows)])).sum(axis=1)
            below += np.rint(k, out=k).sum(axis=1)
        return (above, below, square) if squares else (above, below)


def _both_sides(slab: _Slab) -> tuple[Floats, Floats]:
    """Sizes of the residuals above and of those below 0; the others are 0 and count nowhere."""
    return np.maximum(slab.e, 0.0), np.maximum(-slab.e, 0.0)


def kernel(
    nodes: Floats, z: Floats, out: Floats | None = None, scratch: Floats | None = None
) -> Floats:
    """exp(-|q - z|^2 / 2) for nodes (m, d) and columns z (d, b), coordinate by coordinate."""
    k = np.empty((len(nodes), z.shape[1])) if out is None else out
    t = np.empty_like(k) if scratch is None else scratch
    k[...] = 0.0
    for node, column in zip(nodes.T, z, strict=True):
        np.subtract(node[:, None], column[None, :], out=t)
        np.multiply(t, t, out=t)
        k += t
    k *= -0.5
    return np.exp(k, out=k)


def _shorten(k: Floats, longest: float) -> None:
    """Scale the columns of ``k`` that are longer than ``longest``, rows added in one fixed order."""
    total = np.zeros(k.shape[1])
    for row in k:
        total += row * row
    longest = longest * (1 - 1e-9)
    over = total > longest**2
    if over.any():
        k[:, over] *= longest / np.sqrt(total[over])
