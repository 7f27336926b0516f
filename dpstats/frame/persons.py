"""The first rows of every person, where a column names the person.

Which rows of a person count depends on the rows of that person alone: the first k in the order of the
table. All others become rows with missing values, which count nowhere; so do rows whose person is
missing, or is no text and no number. (What that does for privacy: `dpstats.mechanism.unit`.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpstats.errors import ArgumentError, SchemaError
from dpstats.frame.schema import require_column
from dpstats.frame.source import Check, DaskPartitions, Source, other_rows
from dpstats.frame.table import WORDS, Array, Codes, ColumnType, Levels, Table

Mask = npt.NDArray[np.bool_]

_NAMES = ("number", "bool", "category", "object", "missing")


@dataclass(frozen=True)
class FirstRows:
    """How many rows of a person count, and the column that names the person."""

    column: str
    rows: int

    def check(self, table: Table) -> None:
        """Raise unless the table has the column, and it can name persons."""
        require_column(table, self.column, "person=")
        kind = table.type_of(self.column).kind
        if kind not in _NAMES:
            raise SchemaError(
                f"person='{self.column}' holds {WORDS[kind]}; persons are named by text or whole "
                "numbers: use column.astype(str)."
            )

    def ordered(self, source: Source | DaskPartitions) -> Source:
        """The source, if its rows have an order that can be followed here."""
        if isinstance(source, DaskPartitions):
            raise ArgumentError(
                "person= counts the rows of a person in their order, which a Dask DataFrame does not "
                "keep: give the Parquet path itself; or see to it in Dask, "
                "groupby(person).head(k), and say rows_per_person=k alone."
            )
        return source

    def of(self, source: Source, n: int) -> OfPersons:
        """The source with those rows; reads the column once."""
        seen: dict[Any, int] = {}
        kept = [np.zeros(0, dtype=np.bool_)]
        kinds: set[bool] = set()
        for part in source.parts([self.column]):
            for table in part.tables([self.column]):
                kinds.add(table.type_of(self.column).kind in ("number", "bool"))
                if len(kinds) > 1:
                    raise SchemaError(
                        f"person='{self.column}' holds numbers in one block and text in another, which "
                        "would make two of one person: fix its type when reading."
                    )
                kept.append(self._first(table, seen))
        keep = np.concatenate(kept)
        if len(keep) != n:
            raise other_rows(n, len(keep))
        return OfPersons(source, keep)

    def _first(self, table: Table, seen: dict[Any, int]) -> Mask:
        """Rows that are among the first of their person; ``seen`` counts those of earlier tables."""
        codes, names = pd.factorize(table.keys(self.column, 0, table.n))
        before = np.array([seen.get(name, 0) for name in names], dtype=np.int64)
        # rank within the person: position among rows sorted stably by person
        order = np.argsort(codes, kind="stable")
        ranked = codes[order]
        start = np.searchsorted(ranked, ranked)
        rank = np.empty(len(codes), dtype=np.int64)
        rank[order] = np.arange(len(codes)) - start
        named = codes >= 0
        total = np.zeros(len(codes), dtype=np.int64)
        total[named] = rank[named] + before[codes[named]]
        for name, more in zip(names, np.bincount(codes[named], minlength=len(names)), strict=True):
            seen[name] = seen.get(name, 0) + int(more)
        return np.asarray(named & (total < self.rows))


@dataclass(frozen=True, repr=False, eq=False)
class OfPersons:
    """A source of which some rows are made missing."""

    source: Source
    keep: Mask

    def size(self, check: Check, seen: Callable[[int], None]) -> int:
        return self.source.size(check, seen)

    def tables(self, columns: Sequence[str]) -> Iterator[Table]:
        for part in self.parts(columns):
            yield from part._tables(columns)

    def _tables(self, columns: Sequence[str]) -> Iterator[Table]:
        start = 0
        for table in self.source.tables(columns):
            yield Kept(table, self.keep[start : start + table.n])
            start += table.n

    def parts(self, columns: Sequence[str]) -> Iterator[OfPersons]:
        start = 0
        for part in self.source.parts(columns):
            rows = part.size(lambda table: None, lambda rows: None)
            yield OfPersons(part, self.keep[start : start + rows])
            start += rows

    def whole(self) -> Table:
        raise TypeError("a public table has no persons")

    def __repr__(self) -> str:
        return "<first rows of persons>"


@dataclass(frozen=True, repr=False, eq=False)
class Kept:
    """A table of which some rows are missing in every column."""

    table: Table
    keep: Mask

    @property
    def n(self) -> int:
        return self.table.n

    @property
    def names(self) -> tuple[str, ...]:
        return self.table.names

    def type_of(self, name: str) -> ColumnType:
        return self.table.type_of(name)

    def declared_levels(self, name: str) -> Levels | None:
        return self.table.declared_levels(name)

    def observed_levels(self, name: str) -> Levels:
        return self.table.observed_levels(name)

    def numbers(self, name: str, start: int, stop: int) -> Array:
        return np.where(self.keep[start:stop], self.table.numbers(name, start, stop), np.nan)

    def codes(self, name: str, levels: Levels, start: int, stop: int) -> Codes:
        return np.where(self.keep[start:stop], self.table.codes(name, levels, start, stop), -1)

    def keys(self, name: str, start: int, stop: int) -> npt.NDArray[Any]:
        return self.table.keys(name, start, stop)

    def part(self, names: Sequence[str], start: int, stop: int) -> Kept:
        return Kept(self.table.part(names, start, stop), self.keep[start:stop])
