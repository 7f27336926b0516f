"""Rows that belong to several components at once, each by its own share.

A mixture of public or released numbers gives every row its shares r_j, and beside `CellRows` there are:

1. moments: w_j = T_j'(x - c_j), cut to the radius g_j and divided by it, below a constant b; all of
   them stacked, v = (sqrt(r_1) (b, w_1), sqrt(r_2) (b, w_2), ...). v is cut to the length
   sqrt(1 + b^2), which no row exceeds but by rounding, and rounded to the grid; a row adds the blocks
   v_j v_j' of its own matrix vv';
2. likelihoods: log-densities under several mixtures, less their mean, cut to a radius;
3. shapes: by component, the share times whether w is long, 1 or -1, and on which side of the mean every
   column is, cut to a radius;
4. densities: how many rows have a log-density between two edges.

Nothing is claimed of shares or densities: what bounds a row is the cut at the end, so that the proofs
need not know what came before it; and a row has one density at most.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpstats.arrays import Floats
from dpstats.mechanism.lattice import ExactMatrix, exact_gram
from dpstats.mechanism.passes import Integers, Whole, cut_to_grid, one_pass, squared_lengths
from dpstats.models.gaussian.rows import (
    CellCoordinates,
    CellRows,
    CellSlab,
    LiftedSums,
    cell_maps,
    coordinates,
    ends_of,
)

_AT_ONCE = 4096


@dataclass(frozen=True)
class SoftCells:
    """Components that share rows: coordinates, and log weight less half the log determinant."""

    frames: tuple[CellCoordinates, ...]
    constants: tuple[float, ...]


@dataclass(frozen=True)
class _Belonging:
    """Rows (b) in the coordinates of k components.

    Attributes
    ----------
    z, exponent, norm : lists of k arrays
        As `whitened` gives them.
    logs : (b,) array
        Log-densities of the mixture; not finite where a row counts nowhere.
    share : (k, b) array
        0 in such rows.
    """

    z: list[Floats]
    exponent: list[NDArray[np.int32]]
    norm: list[Floats]
    logs: Floats
    share: Floats


class MixtureRows(CellRows):
    """Rows in cells, and in components that share them; see the module's docstring."""

    @one_pass
    def soft(self, cells: SoftCells, radii: Sequence[float], lift: float) -> LiftedSums:
        """Sums of v_j v_j' by component, v in steps of sqrt(1 + b^2) / steps, b = ``lift``.

        A row's blocks are part of vv' with |v| <= R = steps: their Frobenius norm is |v|^2 at most, and
        those of two rows have the inner product sum_j (v_j.u_j)^2 >= 0. So replacing a row changes
        the sums by sqrt(2) R^2 at most, however shares were computed.
        """
        maps, steps = cell_maps(cells.frames), self.grid.steps
        k, longest = len(maps), math.sqrt(1 + lift**2)

        def of(x: Floats) -> tuple[Whole, Whole]:
            seen, cut = _belonging(x, cells, maps), np.zeros(1, dtype=np.int64)
            v = np.empty((k, self.d + 1, len(x)))
            for j in range(k):
                root = np.sqrt(seen.share[j])
                inside, beyond = _cut(seen, j, radii[j])
                v[j, 0] = lift * root
                v[j, 1:] = inside * root
                cut += np.count_nonzero(beyond & (seen.share[j] > 0.5))
            stacked = v.reshape(k * (self.d + 1), len(x))
            stacked[:, ~np.isfinite(stacked).all(axis=0)] = 0.0
            _to_grid(stacked, longest, steps)
            return np.array([exact_gram(one, self.grid.rows) for one in v]), cut

        return LiftedSums(*self._by_chunks(of, (k, self.d + 1, self.d + 1), (1,)))

    @one_pass
    def likelihoods(self, mixtures: Sequence[SoftCells], clip: float) -> Integers:
        """Sums (K,) of log-densities less their mean over mixtures, in steps of clip/fine.

        A row adds a vector that is no longer than ``fine`` steps: replacing it moves the sum by twice
        that at most.
        """
        maps, fine = [cell_maps(cells.frames) for cells in mixtures], self.grid.fine

        def of(x: Floats) -> tuple[Floats]:
            logs = np.empty((len(mixtures), len(x)))
            mean = np.zeros(len(x))
            for one, cells, exact in zip(logs, mixtures, maps, strict=True):
                one[:] = _belonging(x, cells, exact).logs
                mean += one / len(mixtures)
            logs -= mean
            logs[:, ~np.isfinite(logs).all(axis=0)] = 0.0
            _to_grid(logs, clip, fine)
            return (logs.sum(axis=1),)

        return self._by_chunks(of, (len(mixtures),))[0]

    @one_pass
    def shapes(self, cells: SoftCells, far: float) -> Integers:
        """Sums (k (1 + d),) of shares with the sign of |w| - far, and with those of x - c.

        In steps of sqrt(1 + d) / fine. A row adds a vector that is no longer than ``fine`` steps:
        replacing it moves the sum by twice that at most.
        """
        maps, fine = cell_maps(cells.frames), self.grid.fine
        k, longest = len(maps), math.sqrt(1 + self.d)

        def of(x: Floats) -> tuple[Floats]:
            seen = _belonging(x, cells, maps)
            h = np.empty((k, self.d + 1, len(x)))
            for j, frame in enumerate(cells.frames):
                h[j, 0] = np.where(_beyond(seen, j, far), seen.share[j], -seen.share[j])
                h[j, 1:] = seen.share[j] * np.sign(x - frame.centre).T
            stacked = h.reshape(k * (self.d + 1), len(x))
            _to_grid(stacked, longest, fine)
            return (stacked.sum(axis=1),)

        return self._by_chunks(of, (k * (self.d + 1),))[0]

    @one_pass
    def densities(self, cells: SoftCells, edges: Floats) -> Integers:
        """Rows by log-density: below the first edge, between two of them, above the last.

        A replaced row leaves one of these and enters another; one without a density is in none.
        """
        maps = cell_maps(cells.frames)

        def of(x: Floats) -> tuple[Whole]:
            logs = _belonging(x, cells, maps).logs
            place = np.searchsorted(edges, logs[np.isfinite(logs)])
            return (np.bincount(place, minlength=len(edges) + 1),)

        return self._by_chunks(of, (len(edges) + 1,))[0]

    def _by_chunks(
        self, of: Callable[[Floats], tuple[Floats | Whole, ...]], *shapes: tuple[int, ...]
    ) -> list[Integers]:
        """Sums over rows that count, some thousands at a time: stacks of all would fill memory."""

        def work(slab: CellSlab) -> tuple[Floats | Whole, ...]:
            x = slab.x[slab.alive]
            totals: list[Floats | Whole] = [np.zeros(shape, dtype=np.int64) for shape in shapes]
            for a in range(0, len(x), _AT_ONCE):
                totals = [b + c for b, c in zip(totals, of(x[a : a + _AT_ONCE]), strict=True)]
            return tuple(totals)

        return self._sums(work, *shapes)


def _belonging(x: Floats, cells: SoftCells, maps: list[ExactMatrix]) -> _Belonging:
    """Shares of rows (b, d) in components, entry by entry in one fixed order."""
    z: list[Floats] = []
    exponents, norms = [], []
    each, ends = np.empty((len(maps), len(x))), ends_of(x)
    for j, (frame, matrix) in enumerate(zip(cells.frames, maps, strict=True)):
        product = np.empty(x.T.shape)
        exponent, norm = coordinates(x, ends, frame, matrix, product)
        each[j] = cells.constants[j] - np.ldexp(norm, exponent) ** 2 / 2
        z.append(product)
        exponents.append(exponent)
        norms.append(norm)
    top = each.max(axis=0)
    bad = ~np.isfinite(top)
    top[bad] = 0.0
    share = np.exp(each - top)
    share[:, bad] = 0.0
    total = np.zeros(len(x))
    for one in share:
        total += one
    logs = np.where(bad, np.nan, top + np.log(total))
    share /= np.where(bad, 1.0, total)
    return _Belonging(z, exponents, norms, logs, share)


def _beyond(seen: _Belonging, j: int, radius: float) -> NDArray[np.bool_]:
    return np.ldexp(seen.norm[j], seen.exponent[j]) > radius


def _cut(seen: _Belonging, j: int, radius: float) -> tuple[Floats, NDArray[np.bool_]]:
    """w of component j in units of the radius, cut to length 1, and which rows were cut."""
    beyond = _beyond(seen, j, radius)
    with np.errstate(all="ignore"):
        scale = np.where(beyond, 1 / seen.norm[j], np.ldexp(1 / radius, seen.exponent[j]))
    return seen.z[j] * scale, beyond


def _to_grid(stacked: Floats, radius: float, steps: int) -> None:
    """Cut columns to a radius and round them to whole steps of radius/steps, in place."""
    length = np.sqrt(squared_lengths(stacked))
    cut_to_grid(stacked, np.zeros(stacked.shape[1], dtype=np.int32), length, radius, steps)
