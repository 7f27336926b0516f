"""Private rows read block by block and kept in slabs for the passes of a call.

`Passes` reads an encoded table and lets a function of one slab run over all of them in parallel;
`Slabs` applies one public matrix to every row as it is read. What a row becomes, and what is summed
of it, is decided by their children (`linear_rows`, `family_rows`, `cell_rows`, ...). They are the only
objects of the package that hold numbers of private rows, and they give none of them away: their
methods return exact integer totals to a session, which adds the noise.

Every step is arithmetic of IEEE floats element by element, or exact, so that the result for a row
depends on that row alone and not on where it stands.
"""

from __future__ import annotations

import math
import os
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from dpstats.errors import PassError, unheard
from dpstats.mechanism.grid import ExactMatrix, ExactSum, Grid, exact_product, scaled_product

Floats = NDArray[np.floating[Any]]
Integers = NDArray[np.object_]
_T = TypeVar("_T")
_S = TypeVar("_S")

# Slabs run in parallel, so BLAS inside a slab must not: two layers of threads on the same cores
# are twice as slow (measured at 10^6 x 20), whatever the result, which is exact either way.
_blas = ThreadpoolController()

_SOURCE_ROWS = 65536
_CACHE_BYTES = 256 * 2**20
CHUNK_ROWS = 4096
_LONG_ROW = 2.0**6
_LONG_ENTRY = 2.0**8


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


class Passes(Generic[_S]):
    """Private rows behind the privacy boundary; see the module's docstring.

    Parameters
    ----------
    source : RowSource
        The encoded table; read once per pass, or once altogether when it fits the cache.
    d : int
        Numbers of a row.
    """

    def __init__(self, source: RowSource, d: int) -> None:
        self.n = source.n
        self.d = d
        self._source = source
        self.grid = Grid.for_rows(source.n)
        self._pool = ThreadPoolExecutor(os.cpu_count() or 1)
        self._cached: list[_S] | None = None
        self._cache_fits = 8 * source.n * source.d <= _CACHE_BYTES

    def __repr__(self) -> str:
        return f"<private rows, n = {self.n}, d = {self.d}>"

    def close(self) -> None:
        """Forget the rows."""
        self._cached = None
        self._pool.shutdown(wait=False)

    @abstractmethod
    def _encode(self, block: Block) -> tuple[Floats, tuple[Any, ...]]:
        """The design of a block, and what else is known of its rows."""

    @abstractmethod
    def _keep(self, x: Floats, columns: tuple[Any, ...], space: Floats) -> _S:
        """A slab from rows as `_encode` gave them; ``space`` is (d + 1, rows) of memory."""

    def _prepare(self, slab: _S) -> None:
        """What is done to every slab once, before the work of a pass."""

    def _read(self) -> Iterator[Future[_S]]:
        """Slabs as they are whitened; the next block is encoded while the pool works on one."""
        waiting: deque[Future[_S]] = deque()
        rows = self.grid.rows
        for block in self._source.blocks(_SOURCE_ROWS):
            x, columns = self._encode(block)
            # one large piece of memory for the block: the system hands it out faster
            space = np.empty((-(-len(x) // rows), self.d + 1, rows))
            for k, a in enumerate(range(0, len(x), rows)):
                part = tuple(column[a : a + rows] for column in columns)
                work = _quiet(self._keep)
                waiting.append(self._pool.submit(work, x[a : a + rows], part, space[k]))
            while len(waiting) > 2 * _SOURCE_ROWS // rows:
                yield waiting.popleft()
        yield from waiting

    def _over(self, work: Callable[[_S], _T]) -> Iterator[_T]:
        """Apply ``work`` to every slab.

        The slabs are kept when they fit the cache, and read again at every pass when they do not.
        """

        def prepared(slab: _S) -> _T:
            self._prepare(slab)
            return work(slab)

        with _blas.limit(limits=1, user_api="blas"):
            if self._cached is not None:
                yield from self._pool.map(_quiet(prepared), self._cached)
                return
            kept: list[_S] = []
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

    def _histograms(
        self, lengths: Callable[[_S], tuple[Floats, ...]], *windows: tuple[int, int]
    ) -> list[Integers]:
        """A histogram of `octave_bins` for each of the lengths that a row has."""

        def work(slab: _S) -> tuple[Floats, ...]:
            return tuple(
                octave_bins(values, *window).astype(np.float64)
                for values, window in zip(lengths(slab), windows, strict=True)
            )

        return self._sums(work, *((4 * octaves,) for _, octaves in windows))

    def _sums(
        self, work: Callable[[_S], tuple[Floats, ...]], *shapes: tuple[int, ...]
    ) -> list[Integers]:
        """Exact totals over the slabs of what ``work`` returns: integer-valued floats."""
        totals = [ExactSum(shape) for shape in shapes]
        for parts in self._over(work):
            for total, part in zip(totals, parts, strict=True):
                total.add(part)
        return [total.value() for total in totals]


class Slabs(Passes[_S]):
    """Rows to which one public matrix is applied as they are read.

    Parameters
    ----------
    source : RowSource
    whitening : (d, d) array
        Public matrix W; rows x, as the child encodes them, become z = W'x.
    shift : (d,) array
        Public coefficients b; x'b comes in full precision beside z.
    """

    def __init__(self, source: RowSource, whitening: Floats, shift: Floats) -> None:
        super().__init__(source, len(whitening))
        self._whitening = exact_map(whitening, shift)

    @abstractmethod
    def _slab(
        self,
        z: Floats,
        exponent: NDArray[np.int32],
        norm: Floats,
        fitted: Floats,
        columns: tuple[Floats, ...],
    ) -> _S:
        """A slab from whitened rows: row i is z[:, i] 2^exponent[i], |z[:, i]| = norm[i]."""

    def _keep(self, x: Floats, columns: tuple[Any, ...], space: Floats) -> _S:
        """z = W'x and x'b."""
        product = space[:, : len(x)]
        exponent, norm = whitened(x, self._whitening, self.d, product)
        fitted = np.ldexp(product[-1], exponent)
        return self._slab(product[:-1], exponent, norm, fitted, columns)


def exact_map(
    whitening: Floats, shift: Floats | None = None, root: Floats | None = None
) -> ExactMatrix:
    """A public whitening W, and coefficients beside it, prepared for exact products; root = W^-1."""
    # x = (W^-1)' z, so that column j of W^-1 bounds |x_j| / |z|
    typical = np.linalg.norm(np.linalg.inv(whitening) if root is None else root, axis=0)
    full = whitening if shift is None else np.column_stack([whitening, shift])
    return ExactMatrix.split(full, typical)


def whitened(
    x: Floats, matrix: ExactMatrix, d: int, product: Floats, *, any_size: bool = False
) -> tuple[NDArray[np.int32], Floats]:
    """Fill ``product`` (k, b) with W'x by the exact path; rows that turn out long take the scaled one.

    Returns exponents and norms: row i is z = product[:d, i] 2^exponent[i], |product[:d, i]| = norm[i].

    |x_j| is at most |z| times the norm of column j of W^-1, the unit of x_j: a row with |z| <= 2^7
    has entries below 2^8 units, was exact, and so was the decision to leave it. A longer row is above
    2^6 in any rounding, and is computed again by itself. ``any_size``: entries are looked at as well,
    for a W that is too ill-conditioned for that argument in floats.
    """
    for a in range(0, len(x), CHUNK_ROWS):  # temporaries stay in the processor's cache
        part = slice(a, a + CHUNK_ROWS)
        exact_product(x[part], matrix, product[:, part])
    norm = np.sqrt(squared_lengths(product[:d]))
    exponent = np.zeros(len(x), dtype=np.int32)
    long = ~(norm <= _LONG_ROW)
    if any_size:
        long |= ~(np.abs(x) <= _LONG_ENTRY * matrix.unit).all(axis=1)
    apart = np.flatnonzero(long)
    if apart.size:
        product[:, apart], exponent[apart] = scaled_product(x[apart], matrix)
        norm[apart] = np.sqrt(squared_lengths(product[:d, apart]))
    return exponent, norm


def cut_to_grid(
    z: Floats, exponent: NDArray[np.int32], length: Floats, radius: float, steps: int
) -> NDArray[np.bool_]:
    """Cut rows z 2^exponent, |z| = length, to a radius and round them, in place; which were cut.

    Rows become whole multiples of radius/steps of length at most ``steps``: the radius is shrunk by
    half a grid diagonal (and a step for what the floats lose) first. Rows that are not finite become
    zero.
    """
    bad = ~np.isfinite(length)
    z[:, bad], length[bad] = 0.0, 0.0
    step = radius / steps
    inner = (radius - step * (math.sqrt(len(z)) / 2 + 1)) * (1 - 1e-12)
    longest = np.divide(inner, length, out=np.full_like(length, np.inf), where=length > 0)
    whole = np.ldexp(1.0, exponent)
    scale = np.minimum(whole, longest)
    z *= np.where(length > 0, scale, 0.0) / step
    np.rint(z, out=z)
    return np.asarray(longest < whole)


def _quiet(work: Callable[..., _T]) -> Callable[..., _T]:
    """The same work without numpy's warnings and errors, which would speak of private values.

    An allocation that fails says how many rows it was for, and in some passes that is a private count.
    """

    def silent(*parts: object) -> _T:
        with np.errstate(all="ignore"):
            done = unheard(lambda: work(*parts))
        if done is None:
            raise PassError(
                "a pass over the private rows could not be finished; most likely memory ran out. The "
                "cause is withheld, because it may hold private values. What the call had released "
                "until then counts as spent."
            )
        return done

    return silent


def squared_lengths(z: Floats) -> Floats:
    """Squared length of every column, added coordinate by coordinate in one fixed order."""
    total = np.zeros(z.shape[1])
    square = np.empty_like(total)
    for coordinate in z:
        np.multiply(coordinate, coordinate, out=square)
        total += square
    return total
