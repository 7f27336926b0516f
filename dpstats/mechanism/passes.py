"""Private rows read block by block and kept in slabs for the passes of a call.

`PrivateRows` reads an encoded table and lets a function of one slab run over all of them in
parallel; `WhitenedRows` applies one public matrix to every row as it is read. What a row becomes,
and what is summed of it, is decided by their children. They alone hold numbers of private rows, and
give none of them away: methods return exact integer totals to a session, which adds the noise.

Every step is arithmetic of IEEE floats element by element, or exact, so that the result for a row
depends on that row alone and not on where it stands.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from copy import copy
from dataclasses import dataclass, fields
from functools import reduce, wraps
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dpstats.arrays import Floats
from dpstats.errors import PassError, suppress_private_errors
from dpstats.mechanism.lattice import (
    ExactMatrix,
    ExactSum,
    Grid,
    exact_product,
    forget_scratch,
    scaled_product,
    scratch_space,
)
from dpstats.mechanism.threads import InTurn, one_blas_thread, processors

Integers = NDArray[np.object_]
Whole = NDArray[np.int64]
Exponents = NDArray[np.int32]
Mask = NDArray[np.bool_]
_A = TypeVar("_A")
_T = TypeVar("_T")
_S = TypeVar("_S")
_P = TypeVar("_P", bound="PrivateRows[Any]")
_Q = ParamSpec("_Q")

_PIECE_ROWS, _PIECE_NUMBERS = 2**16, 2**20
_SLAB_ROWS, _SLAB_NUMBERS = (2**10, 2**14), 2**19
_NARROW, _FEW_ROWS, _CACHE_BYTES = 16, 2**18, 2**30
_LONG_ROW, _LONG_ENTRY = 2.0**6, 2.0**8


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
    @property
    def above(self) -> Floats | None: ...
    @property
    def usable(self) -> Mask | None: ...


class RowSource(Protocol):
    """A table that can be read several times, block by block."""

    @property
    def n(self) -> int: ...
    @property
    def d(self) -> int: ...
    @property
    def threads(self) -> Executor | None:
        """Threads for the work in this process; None: as many as there are processors."""

    def pieces(self, size: int) -> Iterator[Callable[[], Block]]:
        """Blocks of at most ``size`` rows, encoded when they are called for."""

    def map_parts(self, task: Callable[[Any], _T]) -> Iterator[_T] | None:
        """What ``task`` finds in every part of the rows, a RowSource each; None: do it here."""


def octave_bins(values: Floats, lowest: int, octaves: int) -> Whole:
    """Counts of non-negative values in bins of a quarter octave, from 2**lowest upwards.

    Edges are 2^k (1, 1.25, 1.5, 1.75): the bin is read off the bits of the float, and no rounding moves
    a value. Those below or above the range count in the first or last bin; zeros count nowhere.
    """
    code, last = (values.view(np.int64) >> 50) - ((lowest + 1023) << 2), 4 * octaves - 1
    np.minimum(np.maximum(code, 0, out=code), last, out=code)
    counted = values > 0
    return np.bincount(code if counted.all() else code[counted], minlength=last + 1)


class PrivateRows(Generic[_S]):
    """Private rows behind the privacy boundary; see the module's docstring.

    A child's methods that are marked `one_pass` return exact totals over the rows. Where the source has
    its rows worked on elsewhere, the same method runs there on every part, and the totals of the parts
    are added: sums of integers, whoever adds first. What travels is this object without any row.

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
        self.grid = Grid.for_rows(source.n)
        self._source: RowSource | None = source
        self._own_threads = source.threads is None
        # not the same work for two; or steps so short that threads wait for one another
        alone = self.n < 2 * self._piece_rows() or (d < _NARROW and self.n < _FEW_ROWS)
        self._threads = source.threads or (InTurn() if alone else ThreadPoolExecutor(processors()))
        self._cached: list[list[_S]] | None = None
        self._cache_fits = fits_cache(source)
        pieces = -(-self.n // self._piece_rows()) if self._cache_fits else 0
        self._memory: Floats | None = np.empty(pieces * self._piece_rows() * self._kept_numbers())

    def __repr__(self) -> str:
        return f"<private rows, n = {self.n}, d = {self.d}>"

    def close(self) -> None:
        """Forget the rows."""
        self._cached = self._memory = None
        if self._own_threads:
            self._threads.shutdown(wait=False, cancel_futures=True)
        forget_scratch()

    def instead_of(self, before: PrivateRows[Any]) -> None:
        """Forget other rows of the same table and shape, and work in their memory and their threads."""
        self._memory, self._threads = before._memory, before._threads
        before._cached = None

    @abstractmethod
    def _encode(self, block: Block) -> tuple[Floats, tuple[Any, ...]]:
        """The design of a block, and what else is known of its rows."""

    @abstractmethod
    def _keep(self, x: Floats, columns: tuple[Any, ...], space: Floats) -> _S:
        """A slab from rows as `_encode` gave them; ``space`` is memory, `_kept_numbers` by rows."""

    def _kept_numbers(self) -> int:
        """Floats of memory for each row."""
        return self.d + 1

    def _prepare(self, slab: _S) -> None:
        """What is done to every slab once, before the work of a pass."""

    # -- elsewhere --------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        """All but rows, where they come from, and what holds them."""
        private = ("_source", "_cached", "_memory", "_threads")
        return {name: value for name, value in vars(self).items() if name not in private}

    def over(self, source: RowSource) -> Self:
        """The maps of this pass over other rows, worked on in the thread that asks."""
        there = copy(self)
        there._source, there._cached, there._cache_fits = source, None, False
        there._memory, there._threads, there._own_threads = None, InTurn(), False
        return there

    # -- here -------------------------------------------------------------------------------------

    def _slabs(self, block: Block, k: int) -> Iterator[_S]:
        """Slabs of a block, the k-th, prepared for the work of a pass."""
        x, columns = self._encode(block)
        rows = self._slab_rows()
        space = self._space(k, -(-len(x) // rows), self._kept_numbers(), rows)
        for a, part in zip(range(0, len(x), rows), space, strict=False):
            yield self._keep(x[a : a + rows], tuple(c[a : a + rows] for c in columns), part)

    def _space(self, k: int, *shape: int) -> Floats:
        """Memory for the k-th block: its part of one piece, which the system hands out fast."""
        if not self._cache_fits or self._memory is None:
            return scratch_space("rows", *shape)
        size, part = math.prod(shape), self._piece_rows() * self._kept_numbers()
        fits = size <= part and (k + 1) * part <= self._memory.size  # unless there are more blocks
        return self._memory[k * part :][:size].reshape(shape) if fits else np.empty(shape)

    def _over(self, work: Callable[[_S], _T]) -> Iterator[_T]:
        """Apply ``work`` to every slab; slabs that do not fit the cache are read again at every pass."""

        def done(slabs: Iterable[_S]) -> tuple[list[_T], list[_S]]:
            found, kept = [], []
            for slab in slabs:
                self._prepare(slab)
                found.append(work(slab))
                if self._cache_fits:
                    kept.append(slab)
            return found, kept

        assert self._source is not None
        with one_blas_thread():
            if self._cached is None:
                pieces = enumerate(self._source.pieces(self._piece_rows()))
                passed = self._in_turn(
                    lambda piece: done(self._slabs(piece[1](), piece[0])), pieces
                )
            else:
                passed = self._in_turn(done, self._cached)
            cached: list[list[_S]] = []
            for results, slabs in passed:
                yield from results
                cached.append(slabs)
            if self._cache_fits:
                self._cached = cached

    def _slab_rows(self) -> int:
        """A power of two: so many rows that threads rarely wait for one another between steps."""
        fitting = _SLAB_NUMBERS // (self.d + 1)
        return min(max(1 << fitting.bit_length() >> 1, _SLAB_ROWS[0]), _SLAB_ROWS[1])

    def _piece_rows(self) -> int:
        """Whole slabs of some megabytes; of small tables few, so that all threads have some."""
        rows = self._slab_rows()
        most = min(_PIECE_NUMBERS // (self.d + 1), _PIECE_ROWS, self.n // (2 * processors()))
        return max(most // rows, 1) * rows

    def _in_turn(self, work: Callable[[_A], _T], items: Iterable[_A]) -> Iterator[_T]:
        """``work`` on every item, in their order; a few of them are in hand at a time."""
        waiting: deque[Future[_T]] = deque()
        prefetch = getattr(self._threads, "_max_workers", 0) + 1
        try:
            for item in items:
                try:
                    waiting.append(self._threads.submit(_quiet(work), item))
                except RuntimeError:  # the caller's threads; nothing private is in it
                    raise PassError(
                        "the executor accepts no work; it may have been shut down: make a new "
                        "one, or leave executor= out."
                    ) from None
                if len(waiting) > prefetch:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
            waiting.clear()  # an error that is kept would keep what was found

    def _histograms(
        self, lengths: Callable[[_S], tuple[Floats, ...]], *windows: tuple[int, int]
    ) -> list[Integers]:
        """A histogram of `octave_bins` for each of the lengths that a row has."""

        def work(slab: _S) -> tuple[Whole, ...]:
            pairs = zip(lengths(slab), windows, strict=True)
            return tuple(octave_bins(values, *window) for values, window in pairs)

        return self._sums(work, *((4 * octaves,) for _, octaves in windows))

    def _sums(
        self, work: Callable[[_S], tuple[Floats | Whole, ...]], *shapes: tuple[int, ...]
    ) -> list[Integers]:
        """Exact totals over the slabs of what ``work`` returns, as `ExactSum` takes it."""
        totals = [ExactSum(shape) for shape in shapes]
        for parts in self._over(work):
            for total, part in zip(totals, parts, strict=True):
                total.add(part)
        return [total.value() for total in totals]


def one_pass(method: Callable[Concatenate[_P, _Q], _T]) -> Callable[Concatenate[_P, _Q], _T]:
    """A method of `PrivateRows` that returns exact totals, wherever the rows are; see there."""

    @wraps(method)
    def everywhere(self: _P, /, *args: _Q.args, **options: _Q.kwargs) -> _T:
        source = self._source
        assert source is not None
        found = source.map_parts(RemotePass(self, method.__name__, args, options))
        return method(self, *args, **options) if found is None else reduce(_sum, found)

    return everywhere


@dataclass(frozen=True)
class RemotePass:
    """A pass as it travels: the maps of the rows, and the name of the method with its arguments."""

    rows: PrivateRows[Any]
    method: str
    args: tuple[Any, ...]
    options: dict[str, Any]

    def __repr__(self) -> str:
        return "<pass over private rows>"

    def __call__(self, source: RowSource) -> Any:
        here = self.rows.over(source)
        try:
            return getattr(type(here), self.method).__wrapped__(here, *self.args, **self.options)
        finally:
            forget_scratch()


def _sum(a: Any, b: Any) -> Any:
    """Entry by entry: arrays, tuples, lists or dataclasses of integers; None where nothing was asked."""
    if a is None and b is None:
        return None
    if isinstance(a, np.ndarray):
        return a + b
    if isinstance(a, tuple | list):
        return type(a)(_sum(x, y) for x, y in zip(a, b, strict=True))
    return type(a)(*(_sum(getattr(a, f.name), getattr(b, f.name)) for f in fields(a)))


class WhitenedRows(PrivateRows[_S]):
    """Rows to which one public matrix is applied as they are read.

    Parameters
    ----------
    source : RowSource
    whitening : (d, d) array
        Public matrix W; rows x, as the child encodes them, become z = W'x.
    shift : (d,) array
        Public coefficients b; x'b comes in full precision beside z.
    coarse : ExactMatrix, optional
        Both of them as rounded for a coarse product.
    """

    def __init__(
        self, source: RowSource, whitening: Floats, shift: Floats, coarse: ExactMatrix | None = None
    ) -> None:
        super().__init__(source, len(whitening))
        self._whitening = exact_map(whitening, shift) if coarse is None else coarse

    @abstractmethod
    def _slab(
        self,
        z: Floats,
        exponent: Exponents,
        norm: Floats,
        fitted: Floats,
        columns: tuple[Floats, ...],
    ) -> _S:
        """A slab from whitened rows: row i is z[:, i] 2^exponent[i], |z[:, i]| = norm[i]."""

    def _keep(self, x: Floats, columns: tuple[Any, ...], space: Floats) -> _S:
        """z = W'x and x'b."""
        product = space[:, : len(x)]
        exponent, norm = whitened(x, self._whitening, self.d, product)
        fitted = np.ldexp(product[-1], exponent, out=product[-1])
        return self._slab(product[:-1], exponent, norm, fitted, columns)


def exact_map(
    whitening: Floats, shift: Floats | None = None, root: Floats | None = None
) -> ExactMatrix:
    """A public whitening W, and coefficients beside it, prepared for exact products; root = W^-1."""
    # x = (W^-1)' z, so that column j of W^-1 bounds |x_j| / |z|
    typical = np.linalg.norm(np.linalg.inv(whitening) if root is None else root, axis=0)
    full = whitening if shift is None else np.column_stack([whitening, shift])
    return ExactMatrix.split(full, typical)


def fits_cache(source: RowSource) -> bool:
    """Whether a table is read once altogether; from public numbers, the same for every engine."""
    return 8 * source.n * source.d <= _CACHE_BYTES


def whitened(
    x: Floats, matrix: ExactMatrix, d: int, product: Floats, most: Floats | None = None
) -> tuple[Exponents, Floats]:
    """Fill ``product`` (k, b) with W'x by the exact path; rows that turn out long take the scaled one.

    Returns exponents and norms: row i is z = product[:d, i] 2^exponent[i], |product[:d, i]| = norm[i].

    |x_j| is at most |z| times the norm of column j of W^-1, 3.9 units of x_j at most (`coarse_map`): a
    row with |z| <= 2^8/3.9 has entries up to 2^8 units, was exact, and so was the decision to leave it.
    A longer row is above 2^6 in any rounding, and is computed again by itself. Entries, of
    size ``most`` (d,) at most, are looked at as well for a W that is too ill-conditioned for that.
    """
    exact_product(x, matrix, product)
    norm = np.sqrt(squared_lengths(product[:d]))
    exponent = np.zeros(len(x), dtype=np.int32)
    long = ~(norm <= _LONG_ROW)
    if most is not None and not (most <= _LONG_ENTRY * matrix.unit).all():
        long |= ~(np.abs(x) <= _LONG_ENTRY * matrix.unit).all(axis=1)
    apart = np.flatnonzero(long)
    if apart.size:
        product[:, apart], exponent[apart] = scaled_product(x[apart], matrix)
        norm[apart] = np.sqrt(squared_lengths(product[:d, apart]))
    return exponent, norm


def cut_to_grid(z: Floats, exponent: Exponents, length: Floats, radius: float, steps: int) -> Mask:
    """Cut rows as `scaled_to_grid` does, and say which were cut."""
    return np.asarray(scaled_to_grid(z, exponent, length, radius, steps) < np.ldexp(1.0, exponent))


def scaled_to_grid(
    z: Floats, exponent: Exponents, length: Floats, radius: float, steps: int
) -> Floats:
    """Cut rows z 2^exponent, |z| = length, to a radius and round them, in place; what scaled each z.

    Rows become whole multiples of radius/steps of length at most ``steps``: the radius is shrunk by
    half a grid diagonal (and a step for what the floats lose) first. Rows that are not finite become 0.
    """
    bad = ~np.isfinite(length)
    z[:, bad], length[bad] = 0.0, 0.0
    step, whole = radius / steps, np.ldexp(1.0, exponent)
    inner = (radius - step * (math.sqrt(len(z)) / 2 + 1)) * (1 - 1e-12)
    longest = np.divide(inner, length, out=np.full_like(length, np.inf), where=length > 0)
    scale = np.minimum(whole, longest)
    z *= np.where(length > 0, scale, 0.0) / step
    np.rint(z, out=z)
    return np.asarray(scale)


def _quiet(work: Callable[..., _T]) -> Callable[..., _T]:
    """``work`` without warnings and errors of numpy and scipy, which would speak of private values.

    An allocation that fails says how many rows it was for, and in some passes that is a private count.
    """

    def silent(*parts: object) -> _T:
        with np.errstate(all="ignore"), special.errstate(all="ignore"):  # type: ignore[arg-type]
            done = suppress_private_errors(lambda: work(*parts))
        if done is None:
            raise PassError(
                "a pass over the private rows could not be finished; most likely memory ran out. The "
                "cause is withheld, because it may hold private values."
            )
        return done

    return silent


def squared_lengths(z: Floats) -> Floats:
    """Squared length of every column, added coordinate by coordinate in one fixed order."""
    return added_up(np.multiply(z, z, out=scratch_space("step", *z.shape)))


def added_up(terms: Floats) -> Floats:
    """Sum (b,) of the rows of a C-contiguous matrix (d, b), one row after the other whatever b is."""
    if len(terms) and terms.shape[1] == 1:  # numpy would add those of a single column in pairs
        return np.asarray(np.cumsum(terms, axis=0)[-1])
    return np.asarray(np.add.reduce(terms, axis=0))
