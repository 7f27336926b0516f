"""Rows in memory as a source, and reading whose errors are not shown: they may quote a cell."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from dpstats.errors import PassError, silently
from dpstats.frame.table import Opaque, Table, slices

T = TypeVar("T")
Check = Callable[[Table], None]

_PART_NUMBERS = 2**20


@dataclass(frozen=True, repr=False, eq=False)
class OneTable(Opaque):
    """A table in memory."""

    table: Table

    def size(self, check: Check, advance: Callable[[int], None]) -> int:
        check(self.table)
        return self.table.n

    def tables(self, columns: Sequence[str]) -> Iterator[Table]:
        yield self.table

    def parts(self, columns: Sequence[str]) -> Iterator[OneTable]:
        # some megabytes each: they are sent through pipes
        rows = max(_PART_NUMBERS // max(len(columns), 1), 1)
        for start, stop in slices(self.table.n, rows):
            yield OneTable(self.table.part(columns, start, stop))

    def read_all(self) -> Table:
        return self.table


def guarded(read: Callable[[], T]) -> T:
    """What is read, without warnings and errors: they may quote a cell."""
    result = silently(lambda: (read(),))
    if result is None:
        raise unreadable()
    return result[0]


def steps(blocks: Iterable[T]) -> Iterator[T]:
    """The blocks, whose own errors are not shown."""
    walk = guarded(lambda: iter(blocks))
    end: Any = object()
    while (step := guarded(lambda: next(walk, end))) is not end:
        yield step


def unreadable() -> PassError:
    """Raised where the reading of rows fails, in whatever way."""
    return PassError(
        "the data could not be read to their end; the reason is withheld, because it may quote a "
        "private cell. To find it, loop over the blocks where you may see them: "
        "for block in data(): pass."
    )


def other_rows(counted: int, read: int) -> PassError:
    """Raised where a pass reads another number of rows than the first: n is public."""
    return PassError(
        f"the data had {counted} rows when they were counted, and {read} in a later pass. A function "
        "given as data must start afresh each time it is called, and return the same rows."
    )
