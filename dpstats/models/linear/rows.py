"""Rows for moments of design and response: whitened, cut to a radius, rounded; and what is summed.

The papers' methods and `eptr_lm` sum them; score rounds have `score_rounds.rows`.

A row (x, y) passes through the following maps, each of which depends on that row and on public or
released numbers only, so that replacing a row changes one term of every sum:

1. weights and offset: (x, y) <- sqrt(w) (x, y - offset);
2. whitening: z = W'x with a public matrix W, and y <- y - x'b with public coefficients b
   (`lattice.exact_product`, in full precision before anything is rounded);
3. cut: f = min(1, R / |z|), (z, y) <- f (z, y). Scaling the response along with the row keeps
   y = z't exact for a cut row (a weighted least-squares row), so that cutting leverage does not
   bias a correctly specified model;
4. rounding: z to the nearest point of the grid R/steps. R is shrunk by half a grid diagonal,
   sqrt(d)/2 steps, first, so that |z| <= R holds after the rounding too.

A row that is not finite after step 2 is replaced by zeros.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpstats.arrays import Floats
from dpstats.mechanism.lattice import exact_gram
from dpstats.mechanism.passes import Block, RowSource, WhitenedRows, Whole, one_pass, scaled_to_grid


@dataclass
class _Slab:
    """Rows: z (d, b) in grid steps once cut, y and |z|, f, all per row."""

    z: Floats
    exponent: NDArray[np.int32]
    y: Floats
    norm: Floats
    factor: Floats
    cut: bool = False

    def __repr__(self) -> str:
        return "<slab of private rows>"


class LinearRows(WhitenedRows[_Slab]):
    """Rows (z, y) of a linear model; see the module's docstring and `WhitenedRows`."""

    def __init__(
        self,
        source: RowSource,
        whitening: Floats,
        shift: Floats,
    ) -> None:
        super().__init__(source, whitening, shift)
        self._radius: float | None = None

    def _encode(self, block: Block) -> tuple[Floats, tuple[Floats, ...]]:
        x, y = _response_scaled(block)
        return x, (y,)

    def _slab(
        self,
        z: Floats,
        exponent: NDArray[np.int32],
        norm: Floats,
        fitted: Floats,
        columns: tuple[Floats, ...],
    ) -> _Slab:
        y = columns[0] - fitted
        bad = ~(np.isfinite(norm) & np.isfinite(y))
        if bad.any():
            z[:, bad] = 0.0
            norm[bad] = 0.0
            y = np.where(bad, 0.0, y)
        return _Slab(z, exponent, y, norm, np.ones(len(y)))

    def _prepare(self, slab: _Slab) -> None:
        if self._radius is not None and not slab.cut:
            self._cut_slab(slab, self._radius)

    # -- cut and round ----------------------------------------------------------------------------

    def cut(self, radius: float) -> None:
        """Cut the rows to ``radius`` (public or released) and round them, at the next pass."""
        if self._radius is not None:
            raise ValueError("the rows are cut once")
        self._radius = radius

    def _cut_slab(self, slab: _Slab, radius: float) -> None:
        scale = scaled_to_grid(slab.z, slab.exponent, slab.norm, radius, self.grid.steps)
        # of rows that are not finite the exponent may be one that no float has
        slab.factor = np.where(slab.norm > 0, np.ldexp(scale, -slab.exponent), 1.0)
        slab.y = slab.y * slab.factor
        slab.cut = True

    @property
    def radius(self) -> float:
        """The radius to which the rows were cut."""
        if self._radius is None:
            raise ValueError("rows are summed only after they were cut")
        return self._radius

    # -- sums -------------------------------------------------------------------------------------

    @one_pass
    def gram(self) -> NDArray[np.object_]:
        """Sum of z z' in squared grid steps.

        Sensitivity: with |z|, |v| <= Q steps, |zz' - vv'|_F^2 = |z|^4 + |v|^4 - 2 (z.v)^2 <= 2 Q^4.
        """
        (total,) = self._sums(lambda slab: (self._gram_of(slab),), (self.d, self.d))
        return total

    @one_pass
    def cross(self, response_clip: float) -> NDArray[np.object_]:
        """Sum of z y with y, as it was before the row was cut, cut to ``response_clip``.

        Sensitivity: |z| <= steps and |y| <= steps as integers, so 2 steps^2.
        """
        (total,) = self._sums(lambda slab: (self._cross_of(slab, response_clip, True),), (self.d,))
        return total

    @one_pass
    def gram_and_cross(
        self, response_clip: float, *, whole: bool
    ) -> tuple[NDArray[np.object_], NDArray[np.object_]]:
        """`gram` and `cross` by one reading of the rows.

        Without ``whole`` the response is scaled along with its row before it is cut.
        """

        def work(slab: _Slab) -> tuple[Whole, Whole]:
            return self._gram_of(slab), self._cross_of(slab, response_clip, whole)

        total, cross = self._sums(work, (self.d, self.d), (self.d,))
        return total, cross

    def _gram_of(self, slab: _Slab) -> Whole:
        return exact_gram(slab.z, self.grid.rows)

    def _cross_of(self, slab: _Slab, response_clip: float, whole: bool) -> Whole:
        y = slab.y / np.where(slab.factor > 0, slab.factor, 1.0) if whole else slab.y
        response = np.rint(np.clip(y / response_clip, -1.0, 1.0) * self.grid.steps)
        return exact_gram(slab.z, self.grid.rows, response[None])[:, 0]


class JointRows(LinearRows):
    """Rows (x, y), of which the response is one more column: for joint moments of both."""

    def _encode(self, block: Block) -> tuple[Floats, tuple[Floats, ...]]:
        x, y = _response_scaled(block)
        return np.asfortranarray(np.column_stack([x, y])), (np.zeros(len(y)),)


def _response_scaled(block: Block) -> tuple[Floats, Floats]:
    """Step 1 of the module's docstring."""
    x, y = block.x, block.y
    with np.errstate(all="ignore"):
        if block.offset is not None:
            y = y - block.offset
        if block.weight is not None:
            root = np.sqrt(block.weight)
            x, y = x * root[:, None], y * root
    return x, y
