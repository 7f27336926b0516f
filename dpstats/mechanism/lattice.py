"""Fixed-point arithmetic whose results do not depend on who adds first.

Floating-point sums depend on the order of the rows, on the block size, on the BLAS kernel and on
the number of threads, and the last bits of such a sum can tell what a proof over the real numbers
says cannot be told. Everything that is summed over private rows is therefore an integer:

* `exact_product` applies a public matrix to rows so that the result for a row depends on that row
  alone, bit for bit (`scaled_product` for rows of extreme size);
* `Grid` holds the number of steps per radius and the rows of a sum, chosen so that every partial
  sum of products stays below 2^53: float64 BLAS then adds integers, exactly, in any order;
* `exact_gram` adds such sums as 64-bit integers;
* `ExactSum` adds the slabs' integers without overflow.
"""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpstats.arrays import Floats

_SMALL_TABLE = 2**17
_COARSE_BITS = 16
_MANY_COLUMNS = 2**11


@dataclass(frozen=True)
class Grid:
    """Steps per radius and rows of a sum with ``rows * steps^2 <= 2^52``, for sums of products.

    A float64 holds the products of so many rows; `exact_gram` adds as many at a time.

    Sums of rows themselves may be taken on a finer grid, `fine` steps per radius: their noise is then
    far above the lattice however large the budget, and still fits 64-bit integers however small.
    """

    rows: int
    steps: int

    @property
    def fine(self) -> int:
        """Steps per radius of sums of rows; of 2^14 rows, the most in a slab, these reach 2^50."""
        return 2**36

    @classmethod
    def for_rows(cls, n: int) -> Grid:
        """Sums of 2^14 rows for speed; small tables afford short ones and so a finer grid."""
        log_rows = 14 if n > _SMALL_TABLE else 8
        return cls(2**log_rows, 2 ** ((52 - log_rows) // 2))


def _rounded(values: Floats, unit: Floats, out: Floats) -> Floats:
    """Nearest multiples of ``unit`` (powers of two) for values below 2^51 units: adding rounds."""
    constant = 1.5 * 2.0**52 * unit
    np.add(values, constant, out=out)
    out -= constant
    return out


@dataclass(frozen=True)
class ExactMatrix:
    """A public d x k matrix M prepared for `exact_product`.

    Attributes
    ----------
    high, low : (d, k) arrays
        M = high + low up to 2^-(2 bits + 1) of each column's largest entry; low is None for a `coarse`
        matrix.
    bits : int
        Significant bits of ``high``, of ``low`` and of each half of a row; of a row, if M is coarse.
    unit : (d,) array
        A power of two per entry of a row: the size at which `exact_product` splits it.
    """

    high: Floats
    low: Floats | None
    bits: int
    unit: Floats

    @cached_property
    def both(self) -> Floats:
        """Rows of high' and below them those of low'."""
        assert self.low is not None
        return np.hstack([self.high, self.low]).T

    @classmethod
    def split(cls, matrix: Floats, typical: Floats) -> ExactMatrix:
        """Split ``matrix``; ``typical`` is the public size of each entry of a row."""
        d = matrix.shape[0]
        bits = (52 - math.ceil(math.log2(2 * d))) // 2
        unit = np.ldexp(1.0, np.frexp(typical)[1])
        sized = matrix * unit[:, None]  # what multiplies rows measured in units
        grain = np.ldexp(1.0, np.frexp(np.abs(sized).max(axis=0))[1] - bits)
        high = _rounded(sized, grain, np.empty_like(sized))
        low = _rounded(sized - high, grain * 2.0 ** -(bits + 1), np.empty_like(sized))
        return cls(high / unit[:, None], low / unit[:, None], bits, unit)

    @classmethod
    def coarse(cls, matrix: Floats, typical: Floats) -> ExactMatrix:
        """A matrix near ``matrix`` whose products take a third of the work; it is ``high``.

        Each column is rounded to 2^-16 of its largest entry (in the units of the rows), so that all
        other bits of a product are left to the rows: 2^-24 of the unit or finer up to 16 columns.
        """
        d = matrix.shape[0]
        unit = np.ldexp(1.0, np.frexp(typical)[1])
        sized = matrix * unit[:, None]
        grain = np.ldexp(1.0, np.frexp(np.abs(sized).max(axis=0))[1] - _COARSE_BITS)
        high = _rounded(sized, grain, np.empty_like(sized))
        bits = 52 - _COARSE_BITS - math.ceil(math.log2(d))
        return cls(high / unit[:, None], None, bits, unit)

    def lost(self) -> Floats:
        """1.7 sd (k,) of what rounding the entries of a row takes off its products, if coarse."""
        sizes = self.high * self.unit[:, None]
        return np.asarray(2.0 ** (7 - self.bits) * np.linalg.norm(sizes, axis=0))


class _Workspace(threading.local):
    def __init__(self) -> None:
        self.memory: dict[str, Floats] = {}


_workspace = _Workspace()


def scratch_space(name: str, *shape: int) -> Floats:
    """Memory of this thread, for what lasts until it asks for the same name again.

    Fresh memory for every slab costs three times as much as the arithmetic done in it.
    """
    memory, size = _workspace.memory, math.prod(shape)
    if name not in memory or memory[name].size < size:
        memory[name] = np.empty(size)
    return memory[name][:size].reshape(shape)


def forget_scratch() -> None:
    """Let go of what all threads have left in their scratch arrays."""
    global _workspace
    _workspace = _Workspace()


def exact_product(rows: Floats, matrix: ExactMatrix, out: Floats | None = None) -> Floats:
    """Products M'x of rows with a public matrix, free of rounding order.

    Parameters
    ----------
    rows : (b, d) array
        Every entry at most 2^8 of its unit; for larger entries the result is still accurate, but
        its last bits may depend on the BLAS kernel (see `scaled_product`).

    Returns
    -------
    (k, b) array, one column per row.

    Notes
    -----
    Measure each entry in its unit. A row is split into x = h + l with h a multiple of 2^(8-p), |h|
    <= 2^8, and l a multiple of 2^(7-2p), |l| <= 2^(7-p), p = bits; each column of M (scaled to
    magnitude 1) into H + L with H a multiple of 2^-p, L of 2^-(2p+1), |L| <= 2^-(p+1). Products h H
    are multiples of 2^(8-2p) and d of them sum to at most d 2^8: 2p + log2(d) <= 52 bits. Products
    h L and l H are multiples of 2^(7-3p) and 2d of them sum to at most 2d 2^(7-p): 2p + log2(2d) <=
    52 bits. So every partial sum is a float64 without rounding, whatever the order, the blocking
    or the use of fused operations. The two exact sums are then added, one rounding. What is left
    out, l L, is below d 2^(6-2p), about 2^-36 of the largest product.

    A coarse M is H alone, a multiple of 2^-16, and x is rounded to h, a multiple of 2^(8-p): d products
    h H are multiples of 2^(8-p-16) and sum to at most d 2^8, p + 16 + log2(d) <= 52 bits.
    """
    (b, d), k = rows.shape, matrix.high.shape[1]
    product = np.empty((k, b)) if out is None else out
    grain = (matrix.unit * 2.0 ** (8 - matrix.bits))[:, None]
    high = _rounded(rows.T, grain, scratch_space("step", d, b))
    if matrix.low is None:
        return np.matmul(matrix.high.T, high, out=product)
    low, both = scratch_space("low", d, b), scratch_space("both", 2 * k, b)
    np.subtract(rows.T, high, out=low)
    _rounded(low, grain * 2.0 ** -(matrix.bits + 1), low)
    # both halves of M at once: fewer and larger products
    np.matmul(matrix.both, high, out=both)
    # small = high' low + low' high is one exact sum: the two halves may be added in any order
    small = np.matmul(matrix.high.T, low, out=scratch_space("cross", k, b))
    small += both[k:]
    return np.add(both[:k], small, out=product)


def scaled_product(rows: Floats, matrix: ExactMatrix) -> tuple[Floats, NDArray[np.int32]]:
    """`exact_product` for rows of any size: each is scaled by its own power of two first.

    Returns the products of the scaled rows and the exponents, so that nothing overflows: the
    product of row i is ``product[:, i] * 2**exponent[i]``.
    """
    largest = np.abs(rows / matrix.unit).max(axis=1, initial=0.0)
    exponent = np.maximum(np.frexp(largest)[1], -1000)
    return exact_product(rows * np.ldexp(1.0, -exponent)[:, None], matrix), exponent


def exact_gram(rows: Floats, at_once: int, other: Floats | None = None) -> NDArray[np.int64]:
    """Sum over columns of rows x other' (d, k), or of rows x rows', of whole numbers.

    ``at_once`` columns, `Grid.rows`, add up to less than 2^53, as floats; up to 2^14 columns to less
    than 2^59, as 64-bit integers. Of rows x rows' more are tried: sums of squares that come out below
    2^53 are (rounding is monotone), and so is what any of these columns add up to (Cauchy-Schwarz).
    """
    right, many = (rows, max(at_once, _MANY_COLUMNS)) if other is None else (other, at_once)
    sums = _added(rows, right, many)
    if many > at_once and not np.einsum("kii->ki", sums).max(initial=0.0) < 2.0**53:  # NaN is not
        sums = _added(rows, right, at_once)
    return np.asarray(sums.astype(np.int64).sum(axis=0))


def _added(left: Floats, right: Floats, at_once: int) -> Floats:
    """Sums (parts, d, k) over so many columns each."""
    parts = left.shape[1] // at_once if left.shape[1] > at_once else 0
    whole = parts * at_once
    a, b = (m[:, :whole].reshape(len(m), parts, at_once).transpose(1, 0, 2) for m in (left, right))
    # np.dot lets other threads work, which matmul does not where the product is small
    rest = np.dot(left[:, whole:], right[:, whole:].T)[None]
    return np.concatenate([np.matmul(a, b.transpose(0, 2, 1)), rest]) if whole else rest


class ExactSum:
    """Running sum of whole numbers: floats below 2^53 or 64-bit integers below 2^59; exact."""

    _room = 2**63 - 1

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._small = np.zeros(shape, dtype=np.int64)
        self._total = np.zeros(shape, dtype=object)

    def add(self, values: Floats | NDArray[np.int64]) -> None:
        least, most = values.min(initial=0), values.max(initial=0)
        if values.shape != self._small.shape or not -(2**59) < least <= most < 2**59:
            raise ArithmeticError("only whole numbers below 2^59 are summed, of one shape")
        size = max(-int(least), int(most))
        if size > self._room:
            self._spill()
        self._room -= size  # no entry of the running sum is larger than what was taken of its room
        self._small += values.astype(np.int64, copy=False)

    def _spill(self) -> None:
        self._total = self._total + self._small.astype(object)
        self._small[...] = 0
        self._room = ExactSum._room

    def value(self) -> NDArray[np.object_]:
        """The sum as an object array of Python integers."""
        self._spill()
        return self._total
