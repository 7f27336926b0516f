"""Columns of private rows, and how many of their values lie below given points.

A row that cannot be used (missing, not finite, an unknown level, a weight of zero) is a row of zeros
and is counted nowhere. Each column is read as it is; a response is less its offset.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpstats.arrays import Floats
from dpstats.mechanism.passes import Block, Integers, PrivateRows, RowSource, one_pass


@dataclass(frozen=True)
class ColumnSlab:
    """The columns that are looked at (k, b), and zeros; NaN in rows that are not used."""

    values: Floats

    def __repr__(self) -> str:
        return "<slab of private rows>"


@dataclass(frozen=True)
class Points:
    """Rising points for one column; distances from ``about`` are counted, where it is a number."""

    column: int
    about: float | None
    at: Floats


class ColumnRows(PrivateRows[ColumnSlab]):
    """Some columns of the design, and perhaps the response; see the module's docstring.

    Parameters
    ----------
    source : RowSource
    columns : sequence of int
        Of the design.
    response : bool
        Whether the response, less its offset, is a column too.

    A last column is zero in every row that is used, so that these can be counted.
    """

    def __init__(self, source: RowSource, columns: Sequence[int], response: bool) -> None:
        super().__init__(source, source.d)
        self._columns = list(columns)
        self._response = response

    def _encode(self, block: Block) -> tuple[Floats, tuple[Any, ...]]:
        y = block.y if block.offset is None else block.y - block.offset
        used: NDArray[np.bool_] = np.isfinite(y)
        if block.usable is not None:
            used &= block.usable
        if block.weight is not None:
            used &= block.weight > 0
        return block.x, (y, used)

    def _keep(self, x: Floats, columns: tuple[Floats, ...], space: Floats) -> ColumnSlab:
        y, used = columns
        chosen = [x[:, j] for j in self._columns] + [y] * self._response + [np.zeros(len(y))]
        values = np.empty((len(chosen), len(x)))
        for k, column in enumerate(chosen):
            values[k] = np.where(used, column, np.nan)
        return ColumnSlab(values)

    @one_pass
    def counts(self, asked: Sequence[Points]) -> list[Integers]:
        """How many values of a column are at most each point; infinity counts all used rows.

        A row is in a count or is not: when one is replaced, each count moves by one at most.
        """

        def work(slab: ColumnSlab) -> tuple[Floats, ...]:
            found = []
            for points in asked:
                values = slab.values[points.column]
                if points.about is not None:
                    values = np.abs(values - points.about)
                # a NaN is sorted behind infinity: it is above every point
                first = np.searchsorted(points.at, values)
                held = np.bincount(first, minlength=len(points.at) + 1)
                found.append(np.cumsum(held[:-1]).astype(np.float64))
            return tuple(found)

        return self._sums(work, *((len(points.at),) for points in asked))
