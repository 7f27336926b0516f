"""Rows of a linear model: whitened, cut to a radius and rounded to the grid. What is summed of them.

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

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpstats.arrays import Floats
from dpstats.mechanism.lattice import ExactMatrix
from dpstats.mechanism.passes import (
    CHUNK_ROWS,
    Block,
    RowSource,
    WhitenedRows,
    octave_bins,
    one_pass,
)

_T = TypeVar("_T")


@dataclass
class _Slab:
    """Up to `Grid.rows` rows: z (d, b) in grid steps once cut, y and |z|, f, all per row."""

    z: Floats
    exponent: NDArray[np.int32]
    y: Floats
    norm: Floats
    factor: Floats
    cut: bool = False

    def __repr__(self) -> str:
        return "<slab of private rows>"


@dataclass(frozen=True)
class ScoreSums:
    """Exact totals of one pass over the scores (see `WhitenedRows.score_sums`)."""

    score: NDArray[np.object_]
    squares: NDArray[np.object_]
    cut: NDArray[np.object_]
    empty: NDArray[np.object_]

    def __repr__(self) -> str:
        return "<private totals>"


@dataclass(frozen=True)
class _Joined:
    """A slab whose design has the response as a last column."""

    x: Floats
    y: Floats
    offset: None = None
    weight: None = None


class WithResponse:
    """A table in which the response is one more column, for joint moments of (x, y)."""

    def __init__(self, source: RowSource) -> None:
        self._source = source
        self.n = source.n
        self.d = source.d + 1
        self.threads = source.threads

    def pieces(self, size: int) -> Iterator[Callable[[], _Joined]]:
        for piece in self._source.pieces(size):
            yield partial(_joined, piece)

    def map_parts(self, task: Callable[[WithResponse], _T]) -> Iterator[_T] | None:
        return self._source.map_parts(_Joining(task))


@dataclass(frozen=True)
class _Joining(Generic[_T]):
    """A task for tables with their response."""

    task: Callable[[WithResponse], _T]

    def __call__(self, source: RowSource) -> _T:
        return self.task(WithResponse(source))


def _joined(piece: Callable[[], Block]) -> _Joined:
    x, y = _response_scaled(piece())
    return _Joined(np.asfortranarray(np.column_stack([x, y])), np.zeros(len(y)))


class LinearRows(WhitenedRows[_Slab]):
    """Rows (z, y) of a linear model; see the module's docstring and `WhitenedRows`."""

    def __init__(
        self,
        source: RowSource,
        whitening: Floats,
        shift: Floats,
        prepared: ExactMatrix | None = None,
    ) -> None:
        super().__init__(source, whitening, shift, prepared)
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

    # -- the length of the rows -------------------------------------------------------------------

    @one_pass
    def norm_counts(self, lowest: int, octaves: int) -> NDArray[np.object_]:
        """Histogram of |z| before any cut. Replacing a row moves one count to another bin."""

        def lengths(slab: _Slab) -> tuple[Floats]:
            return (np.ldexp(slab.norm, slab.exponent),)

        return self._histograms(lengths, (lowest, octaves))[0]

    # -- cut and round ----------------------------------------------------------------------------

    def cut(self, radius: float) -> None:
        """Cut the rows to ``radius`` (public or released) and round them, at the next pass."""
        if self._radius is not None:
            raise ValueError("the rows are cut once")
        self._radius = radius

    def _cut_slab(self, slab: _Slab, radius: float) -> None:
        steps = self.grid.steps
        step = radius / steps
        inner = (radius - step * (math.sqrt(self.d) / 2 + 1)) * (1 - 1e-12)
        filled = slab.norm > 0
        longest = np.divide(inner, slab.norm, out=np.full_like(slab.norm, np.inf), where=filled)
        scale = np.where(filled, np.minimum(np.ldexp(1.0, slab.exponent), longest), 1.0)
        for a in range(0, len(scale), CHUNK_ROWS):
            part = slab.z[:, a : a + CHUNK_ROWS]
            part *= scale[a : a + CHUNK_ROWS] / step
            np.rint(part, out=part)
        slab.factor = np.ldexp(scale, -slab.exponent)
        slab.y = slab.y * slab.factor
        # an upper bound of the rounded length: rounding moves a row by at most half a diagonal
        rounded = slab.norm * (scale / step) + (math.sqrt(self.d) / 2 + 0.01)
        slab.norm = np.where(filled, np.minimum(rounded, steps), 0.0)
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
        (total,) = self._sums(lambda slab: (slab.z @ slab.z.T,), (self.d, self.d))
        return total

    @one_pass
    def gram_and_score_counts(
        self, anchor: Floats, lowest: int, octaves: int
    ) -> tuple[NDArray[np.object_], NDArray[np.object_]]:
        """`gram` and `score_counts` by one reading of the rows."""

        def work(slab: _Slab) -> tuple[Floats, Floats]:
            bins = octave_bins(self._score_length(slab, anchor), lowest, octaves)
            return slab.z @ slab.z.T, bins.astype(np.float64)

        total, counts = self._sums(work, (self.d, self.d), (4 * octaves,))
        return total, counts

    @one_pass
    def cross(self, response_clip: float, *, whole: bool = True) -> NDArray[np.object_]:
        """Sum of z y with y cut to ``response_clip``: as it was before the cut, or scaled with z.

        Sensitivity: |z| <= steps and |y| <= steps as integers, so 2 steps^2.
        """
        (total,) = self._sums(lambda slab: (self._cross_of(slab, response_clip, whole),), (self.d,))
        return total

    @one_pass
    def gram_and_cross(
        self, response_clip: float, *, whole: bool
    ) -> tuple[NDArray[np.object_], NDArray[np.object_]]:
        """`gram` and `cross` by one reading of the rows."""

        def work(slab: _Slab) -> tuple[Floats, Floats]:
            return slab.z @ slab.z.T, self._cross_of(slab, response_clip, whole)

        total, cross = self._sums(work, (self.d, self.d), (self.d,))
        return total, cross

    def _cross_of(self, slab: _Slab, response_clip: float, whole: bool) -> Floats:
        y = slab.y / np.where(slab.factor > 0, slab.factor, 1.0) if whole else slab.y
        product: Floats = slab.z @ np.rint(np.clip(y / response_clip, -1.0, 1.0) * self.grid.steps)
        return product

    def _residual(self, slab: _Slab, anchor: Floats) -> Floats:
        """e = y - z't for a cut row: |z| <= steps and |t| <= 2^51/steps as integers, z't exact."""
        step = self.radius / self.grid.steps
        size = float(np.linalg.norm(anchor))
        if size == 0.0:
            return slab.y
        unit = size * self.grid.steps / 2.0**51
        whole = np.rint(anchor / unit)
        fitted: Floats = (whole @ slab.z) * (unit * step)
        # every number below must be one: a row for which it is none has a fit of 0, by itself
        return slab.y - np.where(np.isfinite(fitted), fitted, 0.0)

    @one_pass
    def score_counts(self, anchor: Floats, lowest: int, octaves: int) -> NDArray[np.object_]:
        """Histogram of |z e|, e the residual at ``anchor``: one count moves when a row changes."""

        def lengths(slab: _Slab) -> tuple[Floats]:
            return (self._score_length(slab, anchor),)

        return self._histograms(lengths, (lowest, octaves))[0]

    def _score_length(self, slab: _Slab, anchor: Floats) -> Floats:
        step = self.radius / self.grid.steps
        length: Floats = slab.norm * step * np.abs(self._residual(slab, anchor))
        return length

    @one_pass
    def score_sums(
        self, anchor: Floats, clip: float, residual_clip: float, square_clip: float
    ) -> ScoreSums:
        """Totals of z u, of squared residuals, of cut rows and of empty rows.

        u is the residual e cut to |u| <= min(clip/|z|, residual_clip) and rounded to
        residual_clip/steps (the bound shrunk by half a step first), so that |z u| <= clip for every
        row. Squared residuals are those of the row before step 3, cut at square_clip^2 and rounded
        to square_clip^2/steps^2. A row counts as cut when its length or its residual was, and as
        empty when z = 0.

        Sensitivities when a row is replaced, in steps: 2 clip / (R/steps) / (residual_clip/steps) for
        the score; ``steps^2`` for the squares; 1 for each count.
        """
        steps = self.grid.steps
        step = self.radius / steps
        unit = residual_clip / steps

        def work(slab: _Slab) -> tuple[Floats, Floats, Floats, Floats]:
            e = self._residual(slab, anchor)
            length = slab.norm * step
            bound = np.divide(
                clip, length, out=np.full_like(length, residual_clip), where=length > 0
            )
            bound = np.minimum(bound, residual_clip) * (1 - 1e-12) - unit / 2
            u = np.rint(np.clip(e, -bound, bound) / unit)
            u[bound <= 0] = 0.0
            full = np.abs(e) / np.where(slab.factor > 0, slab.factor, 1.0)
            empty = slab.norm == 0
            share = np.minimum(full / square_clip, 1.0)
            squares = np.where(empty, 0.0, np.rint((share * steps) ** 2))
            cut = (slab.factor < 1) | (np.abs(e) > bound)
            return (
                slab.z @ u,
                np.array([squares.sum()]),
                np.array([float(np.count_nonzero(cut & ~empty))]),
                np.array([float(np.count_nonzero(empty))]),
            )

        return ScoreSums(*self._sums(work, (self.d,), (1,), (1,), (1,)))


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
