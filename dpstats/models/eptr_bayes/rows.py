"""Rows of a classification: features centred by class, cut, and summed with their products by class.

The first K columns of a row say which of the K public classes it belongs to (one of them is 1; a row
of none, because it is missing or of an unknown class, contributes nothing); the others are features.

1. whitening of the features: z = W'x with a public matrix W;
2. centring: z <- z - c_k with the public centre of the row's class;
3. cut: z <- min(1, R / |z|) z;
4. rounding to the grid R/2^36, for sums of products the coarser R/steps, R shrunk by half a grid
   diagonal first, so that |z| <= R after it.

A row whose features are not finite after step 1 counts in its class with features at the centre.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpstats.arrays import Floats
from dpstats.mechanism.lattice import exact_gram
from dpstats.mechanism.passes import (
    Block,
    Integers,
    RowSource,
    WhitenedRows,
    Whole,
    cut_to_grid,
    octave_bins,
    one_pass,
    squared_lengths,
)


@dataclass(frozen=True)
class _Slab:
    """Features (p, b) in grid steps, indicators (b, K) of the classes, and lengths before the cut."""

    z: Floats
    member: Floats
    length: Floats

    def __repr__(self) -> str:
        return "<slab of private rows>"


class ClassRows(WhitenedRows[_Slab]):
    """Rows of K classes; see the module's docstring and `WhitenedRows`.

    Parameters
    ----------
    whitening : (p, p) array
        Public matrix applied to the features.
    centres : (K, p) array
        Public centres of the whitened features.
    radius : float
    products : bool
        Whether products of features are summed too, which takes a coarser grid.
    """

    def __init__(
        self,
        source: RowSource,
        whitening: Floats,
        centres: Floats,
        radius: float,
        products: bool = False,
    ) -> None:
        super().__init__(source, whitening, np.zeros(len(whitening)))
        self.classes = len(centres)
        self._centres = centres
        self._radius = radius
        self.steps = self.grid.steps if products else self.grid.fine

    def _encode(self, block: Block) -> tuple[Floats, tuple[Any, ...]]:
        classes = block.x[:, : self.classes] > 0
        classes &= np.cumsum(classes, axis=1) == 1  # the proofs count a row in one class
        return block.x[:, self.classes :], tuple(classes.T)

    def _slab(
        self,
        z: Floats,
        exponent: NDArray[np.int32],
        norm: Floats,
        fitted: Floats,
        columns: tuple[Floats, ...],
    ) -> _Slab:
        member = np.column_stack(columns).astype(np.float64)
        # a long row is z 2^e: the centre is brought to its scale, not the row to the centre's
        shrunk = np.ldexp(1.0, -exponent)
        features = z - (member @ self._centres).T * shrunk
        length = np.sqrt(squared_lengths(features))
        cut_to_grid(features, exponent, length, self._radius, self.steps)
        # of a row that is not finite it is zero by now, and counted nowhere
        return _Slab(features, member, np.ldexp(length, exponent))

    @one_pass
    def sizes(self, lowest: int, octaves: int) -> Integers:
        """Histograms (p, bins) of sizes before the cut. A row is in one bin of each feature at most."""
        shape = len(self._centres[0]), 4 * octaves

        def work(slab: _Slab) -> tuple[Floats]:
            bins, known = np.zeros(shape), slab.member.any(axis=1)
            kept = np.sqrt(squared_lengths(slab.z))
            size = np.abs(slab.z) * (slab.length / np.where(kept > 0, kept, 1.0))
            for j, one in enumerate(size[:, known]):
                bins[j] = octave_bins(np.ascontiguousarray(one), lowest, octaves)
            return (bins,)

        return self._sums(work, shape)[0]

    @one_pass
    def totals(self) -> tuple[Integers, Integers]:
        """Sums (K, p) of the features in grid steps, and counts (K,), class by class."""
        shape = self._centres.shape

        def work(slab: _Slab) -> tuple[Floats, Floats]:
            return (slab.z @ slab.member).T, slab.member.sum(axis=0)

        sums, counts = self._sums(work, shape, (self.classes,))
        return sums, counts

    @one_pass
    def products(self, by_class: bool) -> tuple[Integers, Integers, Integers]:
        """Sums of zz', (K, p, p) by class or (1, p, p) of all classes together, and `totals`.

        In squared grid steps, in grid steps, and counts; the rows must be on the grid for products.
        """
        classes, p = self._centres.shape
        groups = classes if by_class else 1

        def work(slab: _Slab) -> tuple[Whole, Floats, Floats]:
            member = slab.member if by_class else slab.member.sum(axis=1, keepdims=True)
            at_once = self.grid.rows
            squares = np.array([exact_gram(slab.z * some, at_once, slab.z) for some in member.T])
            return squares, (slab.z @ slab.member).T, slab.member.sum(axis=0)

        squares, sums, counts = self._sums(work, (groups, p, p), (classes, p), (classes,))
        return squares, sums, counts
