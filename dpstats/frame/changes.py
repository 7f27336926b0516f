"""Rows of a table encoded several times: as they are, and with one column changed in every row.

What a change makes of a row depends on that row alone, and on public numbers. A row that cannot be
encoded in one of these ways is not used in any.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

import numpy as np

from dpstats.errors import SchemaError, suppress_private_errors
from dpstats.frame.design import Design
from dpstats.frame.executors import Reading, arithmetic
from dpstats.frame.persons import FirstRows, OfPersons
from dpstats.frame.reading import OneTable, other_rows
from dpstats.frame.rows import Block, Rows, encode
from dpstats.frame.schema import check_table
from dpstats.frame.source import DaskPartitions, Source, open_source
from dpstats.frame.table import Array, Codes, ColumnType, Levels, Opaque, Table, is_table, slices

T = TypeVar("T")
_ROLES = ("offset",)
_RELATIVE = 1e-3
"""Of the spread of a column: numbers below it are moved as if they were as large."""


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
    """A table in which one column is changed."""

    table: Table
    change: Change

    @property
    def n(self) -> int:
        return self.table.n

    @property
    def names(self) -> tuple[str, ...]:
        return self.table.names

    def type_of(self, name: str) -> ColumnType:
        return self.table.type_of(name)

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
            block = encode(self.design, one, start, stop, _ROLES)
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


@dataclass(frozen=True, repr=False, eq=False)
class _Pending(Opaque):
    """Rows start:stop, encoded when called; never fails because of a cell."""

    changes: Changes
    table: Table
    start: int
    stop: int

    def __call__(self) -> Block:
        return self._block(self.start, self.stop)

    def _block(self, start: int, stop: int) -> Block:
        block = suppress_private_errors(lambda: self.changes.block(self.table, start, stop))
        if block is not None:
            return block
        if stop - start == 1:
            nothing = np.zeros((1, self.changes.d))
            return Block(nothing, np.zeros(1), None, None, None, np.zeros(1, dtype=np.bool_))
        middle = (start + stop) // 2
        first, second = self._block(start, middle), self._block(middle, stop)
        return Block(
            np.asfortranarray(np.concatenate([first.x, second.x])),
            np.concatenate([first.y, second.y]),
            None,
            None,
        )


class ChangedRows(Rows):
    """A table whose rows are encoded with changes, read as often as one likes."""

    def __init__(
        self, changes: Changes, source: Source | DaskPartitions, reading: Reading, n: int
    ) -> None:
        super().__init__(changes.design, source, reading, n)
        self.changes = changes
        self.d = changes.d
        self._columns = changes.design.columns_for(_ROLES)

    def pieces(self, size: int = 65536) -> Iterator[Callable[[], Block]]:
        """Blocks that are still to be encoded; see `Rows`."""
        assert not isinstance(self._source, DaskPartitions)
        read = 0
        with self._bar() as bar:
            for table in self._source.tables(self._columns):
                check_table(self.design, table, _ROLES)
                for start, stop in slices(table.n, size):
                    yield _Pending(self.changes, table, start, stop)
                    bar.advance(stop - start)
                read += table.n
        if read != self.n:
            raise other_rows(self.n, read)

    def map_parts(self, task: Callable[[Any], T]) -> Iterator[T] | None:
        """Results of ``task`` on every part of the rows, by workers; None: in this process."""
        work = _OnPart(self.changes, task)
        results = self._reading.map_parts(self._source, self._columns, work)
        return None if results is None else self._counted(results)


@dataclass(frozen=True)
class _OnPart(Generic[T]):
    """A task for the changed rows of a part; their number, the arithmetic and the result."""

    changes: Changes
    task: Callable[[Any], T]

    def __call__(self, part: Source) -> tuple[int, str, T]:
        check = partial(check_table, self.changes.design, roles=_ROLES)
        n = part.size(check, lambda rows: None)
        return n, arithmetic(), self.task(ChangedRows(self.changes, part, Reading(), n))


def open_changed(
    changes: Changes, data: Any, reading: Reading, first: FirstRows | None = None
) -> ChangedRows:
    """Check a table's columns against a design; its values are read when iterated, with changes."""
    source: Source | DaskPartitions = OneTable(data) if is_table(data) else open_source(data)
    if first is not None:
        source = OfPersons(first.ordered(source), first)
    check = partial(check_table, changes.design, roles=_ROLES)
    n = reading.size(source, check, changes.design.columns_for(_ROLES))
    if n == 0:
        raise SchemaError("the table has no rows.")
    return ChangedRows(changes, source, reading, n)
