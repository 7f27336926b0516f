"""Rows of a table encoded several times: as they are, and with one column changed in every row.

What a change makes of a row depends on that row alone, and on public numbers. A row that cannot be
encoded in one of these ways is not used in any.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpstats.frame.design import Design
from dpstats.frame.rows import Block, encode
from dpstats.frame.table import Array, Codes, Levels, Opaque, Table

_RELATIVE = 1e-3
"""Share of the spread of a column: numbers below it are moved as if they were as large."""


@dataclass(frozen=True)
class Change:
    """What is done to one column of a row.

    Attributes
    ----------
    name : str
    level : int or None
        The column takes this one of its levels...
    value : float
        ...which is this number, where the levels are numbers.
    add : float
        A number is raised by so much...
    relative : float
        ...and by so much of its size, which is ``unit`` / 1000 at least.
    unit : float
        A public or released spread of the column.
    """

    name: str
    level: int | None = None
    value: float = 0.0
    add: float = 0.0
    relative: float = 0.0
    unit: float = 1.0

    def moved(self, values: Array) -> Array:
        """By how much numbers are raised."""
        size = np.maximum(np.abs(values), _RELATIVE * self.unit)
        return np.asarray(self.add + self.relative * size)


@dataclass(frozen=True, repr=False, eq=False)
class _Changed(Opaque):
    """A table in which one column is changed, as far as rows are encoded from it."""

    table: Table
    change: Change

    def numbers(self, name: str, start: int, stop: int) -> Array:
        values = self.table.numbers(name, start, stop)
        if name != self.change.name:
            return values
        if self.change.level is not None:
            return np.where(np.isfinite(values), self.change.value, np.nan)
        return np.asarray(values + self.change.moved(values))

    def codes(self, name: str, levels: Levels, start: int, stop: int) -> Codes:
        found = self.table.codes(name, levels, start, stop)
        if name != self.change.name or self.change.level is None:
            return found
        return np.where(found < 0, found, self.change.level).astype(found.dtype)


@dataclass(frozen=True)
class Changes:
    """Which encodings of a row are made: the first is that of the row as it is.

    ``widths``: of these changes, by how much they raise a number is told as well.
    """

    design: Design
    every: tuple[Change, ...] = ()
    widths: tuple[int, ...] = ()
    roles: tuple[str, ...] = ("offset",)

    @property
    def d(self) -> int:
        """Numbers that a row becomes."""
        return (1 + len(self.every)) * (len(self.design.terms) + 1) + len(self.widths)

    def block(self, table: Table, start: int, stop: int) -> Block:
        """Encodings beside each other, the offset behind each, then widths; y is 1 where usable."""
        rows, d = stop - start, len(self.design.terms)
        x = np.zeros((rows, self.d), order="F")
        usable = np.ones(rows, dtype=np.bool_)
        tables: list[Any] = [table, *(_Changed(table, change) for change in self.every)]
        for k, one in enumerate(tables):
            block = encode(self.design, one, start, stop, self.roles)
            at = k * (d + 1)
            x[:, at : at + d] = block.x
            if block.offset is not None:
                x[:, at + d] = block.offset
            assert block.usable is not None
            usable &= block.usable
        for k, which in enumerate(self.widths, start=self.d - len(self.widths)):
            change = self.every[which]
            with np.errstate(all="ignore"):
                x[:, k] = change.moved(table.numbers(change.name, start, stop))
        usable &= np.isfinite(x).all(axis=1)
        x[~usable] = 0.0
        return Block(x, usable.astype(np.float64), None, None, None, usable)

    def empty_row(self) -> Block:
        """A row that is not used."""
        nothing = np.zeros((1, self.d))
        return Block(nothing, np.zeros(1), None, None, None, np.zeros(1, dtype=np.bool_))
