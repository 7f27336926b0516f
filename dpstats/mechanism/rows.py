"""Private rows, whitened, cut to a radius and rounded to the grid. What is summed is decided here.

`WhitenedRows` is the only object of the package that holds numbers of private rows, and it gives
none of them away: its methods return exact integer totals to `release`, which adds the noise.

A row (x, y) passes through the following maps, each of which depends on that row and on public or
released numbers only, so that replacing a row changes one term of every sum:

1. weights and offset: (x, y) <- sqrt(w) (x, y - offset);
2. whitening: z = W'x with a public matrix W, and y <- y - x'b with public coefficients b
   (`grid.exact_product`, in full precision before anything is rounded);
3. cut: f = min(1, R / |z|), (z, y) <- f (z, y). Scaling the response along with the row keeps
   y = z't exact for a cut row (a weighted least-squares row), so that cutting leverage does not
   bias a correctly specified model;
4. rounding: z to the nearest point of the grid R/steps. R is shrunk by half a grid diagonal,
   sqrt(d)/2 steps, first, so that |z| <= R holds after the rounding too.

A row that is not finite after step 1 is replaced by zeros. Every step is arithmetic of IEEE floats
element by element, or exact, so the result for a row does not depend on where it stands.
"""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from dpstats.mechanism.grid import ExactMatrix, ExactSum, Grid, exact_product, scaled_product

Floats = NDArray[np.floating[Any]]
_T = TypeVar("_T")

# Slabs run in parallel, so BLAS inside a slab must not: two layers of threads on the same cores
# are twice as slow (measured at 10^6 x 20), whatever the result, which is exact either way.
_blas = ThreadpoolController()

_SOURCE_ROWS = 65536
_CACHE_BYTES = 256 * 2**20
_CHUNK_ROWS = 4096
_LONG_ROW = 2.0**6


class Block(Protocol):
    """A slab of encoded rows, as `dpstats.frame` makes them."""

    @property
    def x(self) -> Floats: ...
    @property
    def y(self) -> Floats: ...
    @property
    def offset(self) -> Floats | None: ...
    @property
    def weight(self) -> Floats | None: ...


class RowSource(Protocol):
    """A table that can be read several times, block by block."""

    @property
    def n(self) -> int: ...
    @property
    def d(self) -> int: ...
    def blocks(self, size: int) -> Iterator[Block]: ...


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


def octave_bins(values: Floats, lowest: int, octaves: int) -> NDArray[np.int64]:
    """Counts of non-negative values in bins of a quarter octave, from 2**lowest upwards.

    The bin is read off the bits of the float (exponent and two leading mantissa bits): edges are
    2^k (1, 1.25, 1.5, 1.75), no logarithm is computed and no rounding can move a value. Values below
    or above the range count in the first or last bin; zeros count nowhere.
    """
    code = (values.view(np.int64) >> 50) - ((lowest + 1023) << 2)
    last = 4 * octaves - 1
    inside = np.clip(code, 0, last)[values > 0]
    return np.bincount(inside, minlength=last + 1)


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

    def blocks(self, size: int) -> Iterator[_Joined]:
        for block in self._source.blocks(size):
            x, y = _response_scaled(block)
            yield _Joined(np.asfortranarray(np.column_stack([x, y])), np.zeros(len(y)))


class WhitenedRows:
    """Private rows behind the privacy boundary; see the module's docstring.

    Parameters
    ----------
    source : RowSource
        The encoded table; read once per pass, or once altogether when it fits the cache.
    whitening : (d, d) array
        Public matrix W; rows become W'x.
    shift : (d,) array
        Public coefficients b; responses become y - x'b.
    """

    def __init__(self, source: RowSource, whitening: Floats, shift: Floats) -> None:
        self.n = source.n
        self.d = source.d
        self._source = source
        # x = (W^-1)' z, so that column j of W^-1 bounds |x_j| / |z|
        typical = np.linalg.norm(np.linalg.inv(whitening), axis=0)
        self._whitening = ExactMatrix.split(np.column_stack([whitening, shift]), typical)
        self.grid = Grid.for_rows(source.n)
        self._pool = ThreadPoolExecutor(os.cpu_count() or 1)
        self._cached: list[_Slab] | None = None
        self._cache_fits = 8 * source.n * source.d <= _CACHE_BYTES
        self._radius: float | None = None

    def __repr__(self) -> str:
        return f"<private rows, n = {self.n}, d = {self.d}>"

    def close(self) -> None:
        """Forget the rows."""
        self._cached = None
        self._pool.shutdown(wait=False)

    # -- passes ---------------------------------------------------------------------------------

    def _whiten(self, x: Floats, y: Floats, space: Floats) -> _Slab:
        """z = W'x, by the exact path; rows that turn out long go through the scaled one.

        |x_j| is at most |z| times the norm of column j of W^-1, the unit of x_j: a row with |z| <=
        2^7 has entries below 2^8 units, was exact, and so was the decision to leave it. A longer
        row is above 2^6 in any rounding, and is computed again by itself.
        """
        product = space[:, : len(y)]
        for a in range(0, len(y), _CHUNK_ROWS):  # temporaries stay in the processor's cache
            part = slice(a, a + _CHUNK_ROWS)
            exact_product(x[part], self._whitening, product[:, part])
        z, fitted = product[:-1], product[-1]
        norm = np.sqrt(_squared_lengths(z))
        exponent = np.zeros(len(y), dtype=np.int32)
        apart = np.flatnonzero(~(norm <= _LONG_ROW))
        if apart.size:
            product[:, apart], exponent[apart] = scaled_product(x[apart], self._whitening)
            norm[apart] = np.sqrt(_squared_lengths(z[:, apart]))
            fitted[apart] = np.ldexp(fitted[apart], exponent[apart])
        y = y - fitted
        bad = ~(np.isfinite(norm) & np.isfinite(y))
        if bad.any():
            z[:, bad] = 0.0
            norm[bad] = 0.0
            y = np.where(bad, 0.0, y)
        return _Slab(z, exponent, y, norm, np.ones(len(y)))

    def _read(self) -> Iterator[Future[_Slab]]:
        """Slabs as they are whitened; the next block is encoded while the pool works on one."""
        waiting: deque[Future[_Slab]] = deque()
        rows = self.grid.rows
        for block in self._source.blocks(_SOURCE_ROWS):
            x, y = _response_scaled(block)
            # one large piece of memory for the block: the system hands it out faster
            space = np.empty((-(-len(y) // rows), self.d + 1, rows))
            for k, a in enumerate(range(0, len(y), rows)):
                part = x[a : a + rows], y[a : a + rows], space[k]
                waiting.append(self._pool.submit(_quiet(self._whiten), *part))
            while len(waiting) > 2 * _SOURCE_ROWS // rows:
                yield waiting.popleft()
        yield from waiting

    def _slabs(self, work: Callable[[_Slab], _T]) -> Iterator[_T]:
        """Apply ``work`` to every slab, cut once the radius is known.

        The slabs are kept when they fit the cache, and read again at every pass when they do not.
        """

        def prepared(slab: _Slab) -> _T:
            if self._radius is not None and not slab.cut:
                self._cut_slab(slab, self._radius)
            return work(slab)

        with _blas.limit(limits=1, user_api="blas"):
            if self._cached is not None:
                yield from self._pool.map(_quiet(prepared), self._cached)
                return
            kept: list[_Slab] = []
            waiting: deque[Future[_T]] = deque()
            for read in self._read():
                slab = read.result()
                if self._cache_fits:
                    kept.append(slab)
                waiting.append(self._pool.submit(_quiet(prepared), slab))
                while len(waiting) > 4:
                    yield waiting.popleft().result()
            for done in waiting:
                yield done.result()
            if self._cache_fits:
                self._cached = kept

    # -- the length of the rows -------------------------------------------------------------------

    def norm_counts(self, lowest: int, octaves: int) -> NDArray[np.object_]:
        """Histogram of |z| before any cut. Replacing a row moves one count to another bin."""

        def work(slab: _Slab) -> NDArray[np.int64]:
            return octave_bins(np.ldexp(slab.norm, slab.exponent), lowest, octaves)

        return sum(self._slabs(work), np.zeros(4 * octaves, dtype=np.int64)).astype(object)

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
        for a in range(0, len(scale), _CHUNK_ROWS):
            part = slab.z[:, a : a + _CHUNK_ROWS]
            part *= scale[a : a + _CHUNK_ROWS] / step
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

    def gram(self) -> NDArray[np.object_]:
        """Sum of z z' in squared grid steps.

        Sensitivity: with |z|, |v| <= Q steps, |zz' - vv'|_F^2 = |z|^4 + |v|^4 - 2 (z.v)^2 <= 2 Q^4.
        """
        total = ExactSum((self.d, self.d))
        for part in self._slabs(lambda slab: slab.z @ slab.z.T):
            total.add(part)
        return total.value()

    def cross(self, response_clip: float) -> NDArray[np.object_]:
        """Sum of z y with y as it was before the cut, itself cut to ``response_clip``.

        Sensitivity: |z| <= steps and |y| <= steps as integers, so 2 steps^2.
        """
        steps = self.grid.steps

        def work(slab: _Slab) -> Floats:
            y = slab.y / np.where(slab.factor > 0, slab.factor, 1.0)
            whole = np.rint(np.clip(y / response_clip, -1.0, 1.0) * steps)
            return np.asarray(slab.z @ whole)

        total = ExactSum((self.d,))
        for part in self._slabs(work):
            total.add(part)
        return total.value()

    def _residual(self, slab: _Slab, anchor: Floats) -> Floats:
        """e = y - z't for a cut row: |z| <= steps and |t| <= 2^51/steps as integers, z't exact."""
        step = self.radius / self.grid.steps
        size = float(np.linalg.norm(anchor))
        if size == 0.0:
            return slab.y
        unit = size * self.grid.steps / 2.0**51
        whole = np.rint(anchor / unit)
        fitted: Floats = (whole @ slab.z) * (unit * step)
        return slab.y - fitted

    def score_counts(self, anchor: Floats, lowest: int, octaves: int) -> NDArray[np.object_]:
        """Histogram of |z e|, e the residual at ``anchor``: one count moves when a row changes."""
        step = self.radius / self.grid.steps

        def work(slab: _Slab) -> NDArray[np.int64]:
            return octave_bins(
                slab.norm * step * np.abs(self._residual(slab, anchor)), lowest, octaves
            )

        return sum(self._slabs(work), np.zeros(4 * octaves, dtype=np.int64)).astype(object)

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

        totals = tuple(ExactSum((k,)) for k in (self.d, 1, 1, 1))
        for parts in self._slabs(work):
            for total, part in zip(totals, parts, strict=True):
                total.add(part)
        return ScoreSums(*(total.value() for total in totals))


def _quiet(work: Callable[..., _T]) -> Callable[..., _T]:
    """The same work without numpy's warnings, which would speak of private values."""

    def silent(*parts: object) -> _T:
        with np.errstate(all="ignore"):
            return work(*parts)

    return silent


def _squared_lengths(z: Floats) -> Floats:
    """Squared length of every column, added coordinate by coordinate in one fixed order."""
    total = np.zeros(z.shape[1])
    square = np.empty_like(total)
    for coordinate in z:
        np.multiply(coordinate, coordinate, out=square)
        total += square
    return total


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
