"""Rows as a fit sees them: means of the response, what a change does to them, and their gradients.

A row passes through maps that depend on it and on public or released numbers only:

1. encodings x of the row as it is and changed (`dpstats.frame.Changes`); eta = x'b + offset with the
   released b, added up coordinate by coordinate in one fixed order;
2. for each line k a value: the mean of the response at eta, or the difference of two such means divided
   by the width of the change; and its gradient by b, times a released root of the covariance of b;
3. a value, less a centre and over a half-width, is cut to [-1, 1] and rounded to the grid 1/fine; its
   square likewise; each line's gradient is cut to a length of its own and rounded.

A row that cannot be encoded in every way, or has a value or gradient that is not finite, is a row of
zeros and counts nowhere. What the mean of a family returns is trusted to depend on eta alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpstats.arrays import Floats
from dpstats.mechanism.passes import (
    Block,
    Integers,
    PrivateRows,
    RowSource,
    cut_to_grid,
    one_pass,
    squared_lengths,
)

_T = TypeVar("_T")
Mean = Callable[[Floats], Floats]


def identity(eta: Floats) -> Floats:
    """The mean of a linear model."""
    return eta


def slope_of(mean: Mean, eta: Floats) -> Floats:
    """The derivative of the mean by the linear predictor."""
    if mean is identity:  # exactly: a gradient that is zero stays so
        return np.ones(np.shape(eta))
    step = 1e-6 * (1 + np.abs(eta))
    return (mean(eta + step) - mean(eta - step)) / (2 * step)


@dataclass(frozen=True)
class Lines:
    """What is computed of a row, all public or released.

    Attributes
    ----------
    coef : (d,) array
    root : (d, d) array
        A root of the covariance of the coefficients.
    mean : callable
        From linear predictors to means, entry by entry.
    pairs : tuple of (low, high, width)
        For each line, numbers of two encodings, and twice which width divides the difference of their
        means; low = None: the mean at ``high`` itself; width = None: the difference itself.
    encodings : int
    """

    coef: Floats
    root: Floats
    mean: Mean
    pairs: tuple[tuple[int | None, int, int | None], ...]
    encodings: int

    @property
    def d(self) -> int:
        """Numbers that a row becomes: a value for each line, then gradients."""
        return len(self.pairs) * (1 + len(self.coef))

    def of(self, block: Block) -> Values:
        """Values and gradients of a block of encodings; see `dpstats.frame.Changes`."""
        d, rows = len(self.coef), len(block.y)
        with np.errstate(all="ignore"):
            means = [self._at(block.x, k) for k in range(self.encodings)]
            out = np.zeros((rows, self.d), order="F")
            for k, (low, high, width) in enumerate(self.pairs):
                value, slope, x = means[high]
                gradient = [slope * x[:, j] for j in range(d)]
                if low is not None:
                    base, other, before = means[low]
                    at = self.encodings * (d + 1) + (width or 0)
                    over = np.ones(rows) if width is None else 2 * block.x[:, at]
                    value = (value - base) / over
                    gradient = [(gradient[j] - other * before[:, j]) / over for j in range(d)]
                out[:, k] = value
                first = len(self.pairs) + k * d
                for i in range(d):
                    for j in range(d):
                        out[:, first + i] += self.root[j, i] * gradient[j]
        used = (block.y > 0) & np.isfinite(out).all(axis=1)
        out[~used] = 0.0
        return Values(out, used.astype(np.float64))

    def _at(self, x: Floats, which: int) -> tuple[Floats, Floats, Floats]:
        """The mean, its slope and the design at one encoding."""
        d = len(self.coef)
        first = which * (d + 1)
        eta = x[:, first + d].copy()
        for j in range(d):
            eta += x[:, first + j] * self.coef[j]
        return self.mean(eta), slope_of(self.mean, eta), x[:, first : first + d]


@dataclass(frozen=True, repr=False)
class Values:
    """A block of values and gradients; ``y`` is 1 in rows that are used."""

    x: Floats
    y: Floats
    offset: Floats | None = None
    weight: Floats | None = None
    above: Floats | None = None
    usable: NDArray[np.bool_] | None = None

    def __repr__(self) -> str:
        return "<values of private rows>"


class ValueSource:
    """A table of encodings that is read as values and gradients."""

    def __init__(self, lines: Lines, rows: RowSource) -> None:
        self.n, self.d = rows.n, lines.d
        self._lines, self._rows = lines, rows

    def __repr__(self) -> str:
        return f"<values of {self.n} private rows>"

    @property
    def threads(self) -> Executor | None:
        """Threads for the work in this process."""
        return self._rows.threads

    def pieces(self, size: int) -> Iterator[Callable[[], Values]]:
        """Blocks of at most ``size`` rows."""
        for read in self._rows.pieces(size):
            yield partial(_values, self._lines, read)

    def map_parts(self, task: Callable[[Any], _T]) -> Iterator[_T] | None:
        """Results of ``task`` on the values of every part of the rows."""
        return self._rows.map_parts(_OnValues(self._lines, task))


def _values(lines: Lines, read: Callable[[], Block]) -> Values:
    return lines.of(read())


@dataclass(frozen=True)
class _OnValues:
    lines: Lines
    task: Callable[[Any], Any]

    def __call__(self, rows: RowSource) -> Any:
        return self.task(ValueSource(self.lines, rows))


@dataclass(frozen=True)
class ValueSlab:
    """Values (k, b), gradients (k d, b) and which rows are used."""

    values: Floats
    gradients: Floats
    used: NDArray[np.bool_]

    def __repr__(self) -> str:
        return "<slab of private rows>"


@dataclass(frozen=True)
class Cuts:
    """Where each line's values and gradients are cut, all public or released numbers."""

    centre: Floats
    half: Floats
    lengths: Floats


@dataclass(frozen=True)
class Totals:
    """Exact totals of one pass; see `AverageRows.sums`."""

    values: Integers
    squares: Integers
    gradients: Integers
    counts: Integers

    def __repr__(self) -> str:
        return "<private totals>"


class AverageRows(PrivateRows[ValueSlab]):
    """Values and gradients of private rows; see the module's docstring.

    Parameters
    ----------
    source : RowSource
        Whose blocks are `Values`.
    lines : int
        How many values a row has.
    """

    def __init__(self, source: RowSource, lines: int) -> None:
        super().__init__(source, source.d)
        self._lines = lines

    def _encode(self, block: Block) -> tuple[Floats, tuple[Floats, ...]]:
        return block.x, (block.y,)

    def _keep(self, x: Floats, columns: tuple[Floats, ...], space: Floats) -> ValueSlab:
        held = np.array(x.T)
        return ValueSlab(held[: self._lines], held[self._lines :], columns[0] > 0)

    def _by_line(self, gradients: Floats) -> list[Floats]:
        """The gradient of each line, a part (d, b) of what is given."""
        return np.split(gradients, self._lines)

    @one_pass
    def lengths(
        self, centre: Floats, scale: Floats, which: list[int], windows: list[tuple[int, int]]
    ) -> list[Integers]:
        """Histograms of each line's gradients' lengths, and of |v - centre| / scale of some values.

        Replacing a row moves it from one bin to another in each of them.
        """

        def sizes(slab: ValueSlab) -> tuple[Floats, ...]:
            found = [np.sqrt(squared_lengths(one)) for one in self._by_line(slab.gradients)]
            for k in which:
                away = np.abs(slab.values[k] - centre[k]) / scale[k]
                found.append(np.where(slab.used & np.isfinite(away), away, 0.0))
            return tuple(found)

        return self._histograms(sizes, *windows)

    @one_pass
    def sums(self, cuts: Cuts) -> Totals:
        """Totals of values, of their squares, of gradients, and of used and of cut rows.

        In steps 1/fine of the half-widths, of their squares and of each line's gradients' length. When a
        row is replaced, each value moves by 2 fine at most (it lies in [-fine, fine]), each square by
        fine (in [0, fine]), each line's gradient by 2 fine in length (no longer than fine, after the
        rounding too), and each count by 1.
        """
        fine = self.grid.fine

        def work(slab: ValueSlab) -> tuple[Floats, ...]:
            away = (slab.values - cuts.centre[:, None]) / cuts.half[:, None]
            away = np.where(slab.used & np.isfinite(away), away, 0.0)
            inside = np.clip(away, -1.0, 1.0)
            gradients = slab.gradients.copy()
            long = np.zeros(len(slab.used), dtype=np.bool_)
            for one, most in zip(self._by_line(gradients), cuts.lengths, strict=True):
                length = np.sqrt(squared_lengths(one))
                long |= cut_to_grid(one, np.zeros(len(length), np.int32), length, float(most), fine)
            cut = slab.used & ((np.abs(away) > 1 + 1e-6).any(axis=0) | long)
            counts = np.array([np.count_nonzero(slab.used), np.count_nonzero(cut)])
            return (
                np.rint(inside * fine).sum(axis=1),
                np.rint(inside**2 * fine).sum(axis=1),
                gradients.sum(axis=1),
                counts.astype(np.float64),
            )

        k, g = self._lines, self.d - self._lines
        return Totals(*self._sums(work, (k,), (k,), (g,), (2,)))
