"""A table read person by person: all rows of one, wherever they stand, come together.

The rows are encoded once, sorted by person (rows of one person keep their order), and held in memory
until the call ends: 8 bytes for each column of the design and each row. That is where the rows of a
person that lie in several blocks or files meet.

How many persons there are is public. How many rows there are is not, unless it is stated how many a
person has at most: no size, message or bar tells it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from dpstats.errors import DPStatsError, PassError, SchemaError, silently, suppress_private_errors
from dpstats.frame.design import ROLES, Design
from dpstats.frame.executors import Reading
from dpstats.frame.persons import Census, FirstRows, Lots, OfPersons, by_lot, by_person, contents_of
from dpstats.frame.reading import OneTable
from dpstats.frame.rows import Block, Mask, PendingBlock, Plain
from dpstats.frame.schema import check_table
from dpstats.frame.source import BLOCK_ROWS, DaskPartitions, Source, open_source, public_table
from dpstats.frame.table import Array, Opaque, Table, slices
from dpstats.frame.tables import as_table

T = TypeVar("T")
_NOBODY = (
    "no row names a person: `{}` is missing everywhere, or holds neither text nor whole numbers."
)
_LOST = (
    "the rows of persons could not be brought together; most likely memory ran out. The cause is "
    "withheld, because it may tell how many rows there are."
)
_OTHERS = (
    "the data named different persons when they were counted and when they were read. A function "
    "given as data must start afresh each time it is called, and return the same rows."
)


@dataclass(frozen=True, repr=False, eq=False)
class PersonsBlock(Opaque):
    """Encoded rows of whole persons; see `dpstats.frame.rows.Block`.

    ``starts`` and ``lots`` are those of each person (`persons.Census`).
    """

    x: Array
    y: Array
    offset: Array | None
    weight: Array | None
    above: Array | None
    usable: Mask
    starts: npt.NDArray[np.int64]
    lots: Lots


class PersonsTable:
    """An encoded table, read person by person.

    Attributes
    ----------
    n, d : int
        Persons (public) and columns of the design.
    """

    def __init__(self, design: Design, source: Source, reading: Reading, names: FirstRows) -> None:
        self.design = design
        self.d = len(design.terms)
        self._source, self._reading, self._names = source, reading, names
        self._columns = [*dict.fromkeys([*design.columns_for(ROLES), names.column])]
        self._sorted: PersonsBlock | None = None
        self.n = _quietly(self._count)

    def __repr__(self) -> str:
        return f"<table of {self.n} persons, d = {self.d}>"

    @property
    def threads(self) -> Executor | None:
        """Threads that the caller has given for the work in this process."""
        return self._reading.threads

    def map_parts(self, task: Callable[[Any], T]) -> Iterator[T] | None:
        """None: persons are put together in this process."""
        return None

    def pieces(self, size: int = BLOCK_ROWS) -> Iterator[Callable[[], PersonsBlock]]:
        """Blocks of whole persons: of at most ``size`` rows, or of one person who has more."""
        if self._sorted is None:
            self._sorted = _quietly(self.read)
        held = self._sorted
        edges = np.append(held.starts, len(held.y))
        first = 0
        while first < self.n:
            last = int(np.searchsorted(edges, edges[first] + size, "right")) - 1
            last = max(last, first + 1)
            yield partial(_part, held, first, last)
            first = last

    def forget(self) -> None:
        """Forget the rows, which are read again if somebody asks."""
        self._sorted = None

    def one_of_each(self, *, differences: bool) -> OneOfEach:
        """One row of every person; or differences of two, in which effects of persons are not."""
        return OneOfEach(self, differences)

    def _count(self) -> int:
        seen = Census(self._names)

        def check(table: Table) -> None:
            check_table(self.design, table)
            seen.check(table)

        with self._reading.bar_without_size("counting persons") as bar:
            self._source.size(check, bar.advance)
            for table in self._source.tables([self._names.column]):
                seen.numbers(table)
        if not len(seen):
            raise SchemaError(_NOBODY.format(self._names.column))
        return len(seen)

    def read(self) -> PersonsBlock:
        """All rows of somebody, sorted by person."""
        seen = Census(self._names)
        blocks: list[Block] = []
        persons = []
        with self._reading.bar_without_size("reading persons") as bar:
            for table in self._source.tables(self._columns):
                check_table(self.design, table)
                persons.append(seen.numbers(table))
                for start, stop in slices(table.n, BLOCK_ROWS):
                    blocks.append(PendingBlock(Plain(self.design), table, start, stop)())
                    bar.advance(stop - start)
        if len(seen) != self.n:
            raise PassError(_OTHERS)
        person = np.concatenate(persons)
        order, starts = by_person(person, self.n)
        x = np.empty((len(order), self.d), order="F")
        for j in range(self.d):
            x[:, j] = np.concatenate([b.x[:, j] for b in blocks])[order]

        def column(name: str) -> Any:
            parts = [getattr(block, name) for block in blocks]
            return None if parts[0] is None else np.concatenate(parts)[order]

        of_rows = {name: column(name) for name in ("y", "offset", "weight", "above", "usable")}
        return PersonsBlock(x=x, starts=starts, lots=seen.lots, **of_rows)


@dataclass(frozen=True, repr=False, eq=False)
class OneOfEach(Opaque):
    """One row of every person as a table: a row of it depends on the rows and the name of one person.

    So where a person is replaced by another, one of its rows is. It is one of those that can be used
    (`persons.by_lot`); of ``differences`` that less the next one, for persons who have two.
    """

    persons: PersonsTable
    differences: bool

    @property
    def n(self) -> int:
        """How many persons there are; public."""
        return self.persons.n

    @property
    def d(self) -> int:
        """Columns of the design."""
        return self.persons.d

    @property
    def threads(self) -> Executor | None:
        """See `PersonsTable.threads`."""
        return self.persons.threads

    def map_parts(self, task: Callable[[Any], T]) -> Iterator[T] | None:
        """None: persons are put together in this process."""
        return None

    def pieces(self, size: int = BLOCK_ROWS) -> Iterator[Callable[[], Block]]:
        """Blocks of at most ``size`` rows."""
        for piece in self.persons.pieces(size):
            yield partial(_one_of_each, piece, self.differences)


@np.errstate(all="ignore")
def _one_of_each(piece: Callable[[], PersonsBlock], differences: bool) -> Block:
    held = piece()
    y = held.y if held.offset is None else held.y - held.offset
    counted = held.usable & np.isfinite(y)
    if held.weight is not None:
        counted &= held.weight > 0
    order, counts = by_lot(counted, held.starts, held.lots, contents_of(y, *held.x.T))
    at, used = order[held.starts], counts > differences
    x, one = held.x[at], y[at]
    if differences:
        other = order[np.minimum(held.starts + 1, len(order) - 1)]
        x, one = x - held.x[other], one - y[other]
    x[~used], one[~used] = 0.0, 0.0
    return Block(x=np.asfortranarray(x), y=one, offset=None, weight=None, usable=used)


def _quietly(work: Callable[[], T]) -> T:
    """What ``work`` returns, or an error of the package: any other may tell how many rows there are."""
    found: list[T] = []
    refused: list[tuple[type[DPStatsError], str]] = []

    def guarded() -> None:
        try:
            found.append(work())
        except DPStatsError as error:
            refused.append((type(error), str(error)))

    silently(guarded)
    if refused:
        kind, message = refused[0]
        raise kind(message)
    if not found:
        raise PassError(_LOST)
    return found[0]


def _part(held: PersonsBlock, first: int, last: int) -> PersonsBlock:
    edges = np.append(held.starts, len(held.y))
    part = slice(int(edges[first]), int(edges[last]))
    starts, lots = held.starts[first:last] - part.start, held.lots[first:last]
    of_rows = {name: value for name, value in vars(held).items() if name not in ("starts", "lots")}
    cut: dict[str, Any] = {k: None if v is None else v[part] for k, v in of_rows.items()}
    return PersonsBlock(starts=starts, lots=lots, **cut)


@dataclass(frozen=True, repr=False, eq=False)
class _InTurn(Opaque):
    """A Dask DataFrame whose partitions come to this process one after another."""

    partitions: DaskPartitions

    def size(self, check: Callable[[Table], None], advance: Callable[[int], None]) -> int:
        check(self.partitions.schema)
        return 0

    def tables(self, columns: Sequence[str]) -> Iterator[Table]:
        for part in self.partitions.delayed(columns):
            frame = suppress_private_errors(part.compute)
            if frame is None:
                raise PassError(
                    "a partition of the Dask DataFrame could not be read. The cause is withheld, "
                    "because it may hold private values."
                )
            yield as_table(frame)

    def parts(self, columns: Sequence[str]) -> Iterator[Source]:
        raise NotImplementedError("persons are put together in this process")


def public_persons(design: Design, public: Any, column: str) -> PersonsBlock | None:
    """The rows of a public table, sorted by person; None where the column is not there."""
    table = public_table(public)
    if column not in table.names:
        return None
    return PersonsTable(design, OneTable(table), Reading(), FirstRows(column, None)).read()


def open_persons(design: Design, data: Any, reading: Reading, names: FirstRows) -> PersonsTable:
    """Check a table's columns against a design, and count its persons.

    Raises
    ------
    SchemaError
        If a column is missing or of another kind, or nobody is named.
    """
    found = open_source(data)
    if names.rows is not None:
        return PersonsTable(design, OfPersons(names.ordered(found), names), reading, names)
    source = _InTurn(found) if isinstance(found, DaskPartitions) else found
    return PersonsTable(design, source, reading, names)
