"""The first rows of every person, where a column names the person.

Which rows of a person count depends on the rows of that person alone: the first k in the order of the
table. All others become rows with missing values, which count nowhere; so do rows whose person is
missing, or is no text and no whole number. (What that does for privacy: `dpstats.accounting.unit`.)

A column of Python objects may hold 17 in some rows and "017" in others, of one person. There only text
that no reader can have read as another value names a person; `OBJECTS` says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpstats.errors import ArgumentError, SchemaError, suppress_private_errors
from dpstats.frame.reading import other_rows
from dpstats.frame.schema import require_column
from dpstats.frame.source import Check, DaskPartitions, Source
from dpstats.frame.table import AS_READ, WORDS, Array, Codes, Levels, Opaque, Table

Mask = npt.NDArray[np.bool_]
Lots = npt.NDArray[np.uint64]

OBJECTS = (
    "The column `{0}`, which names persons, holds Python objects: text in it that reads as a "
    "number in another spelling ('0012', '12.0') or as a truth value names nobody, and such rows "
    "are not used. data['{0}'].astype('string') takes every text as it is."
)
_NAMES = ("number", "category", "object", "missing")


@dataclass(frozen=True)
class FirstRows:
    """How many rows of a person count (None: all), and the column that names the person."""

    column: str
    rows: int | None
    kinds: set[str] = field(default_factory=set, compare=False)
    """Kinds of the column in the blocks that were looked at."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on names in a column of this type."""
        return (OBJECTS.format(self.column),) if "object" in self.kinds else ()

    def ordered(self, source: Source | DaskPartitions) -> Source:
        """The source, if its rows have an order that can be followed here."""
        if isinstance(source, DaskPartitions):
            raise ArgumentError(
                "person= counts the rows of a person in their order, which a Dask DataFrame does "
                "not keep: give the Parquet path itself; or do it in Dask, "
                "groupby(person).head(k), and give only rows_per_person=k."
            )
        return source


class Walk:
    """One walk through the rows: how often each person was met, and what kind the column is of."""

    def __init__(self, first: FirstRows) -> None:
        self._column, self._most = first.column, first.rows or 0
        self._met: Counter[bytes] = Counter()
        self._kinds = first.kinds

    def check(self, table: Table) -> None:
        """Raise unless the column is there, can name persons, and is of the kind of those before.

        17 in one block and "017" in another would make two persons of one; so would "017" in a file
        and in the name of a folder, which `spelled_keys` reads as 17.
        """
        require_column(table, self._column, "person=")
        type_ = table.type_of(self._column)
        kind = type_.kind
        named: str = AS_READ if type_.label == AS_READ else type_.values or kind
        if named == "bool":
            raise SchemaError(
                f"person='{self._column}' holds True/False, which names two persons at most; persons "
                "are named by text or whole numbers."
            )
        if kind not in _NAMES:
            raise SchemaError(
                f"person='{self._column}' holds {WORDS[kind]}; persons are named by text or whole "
                "numbers: use column.astype(str) (polars: .cast(pl.String), pyarrow: .cast('string'))."
            )
        if named != "missing":
            self._kinds.add(named)
        if len(kinds := self._kinds) > 1:
            raise SchemaError(
                f"person='{self._column}' is of one kind in one block and of another in a later "
                "one, which could split one person in two "
                f"({' and '.join(sorted(WORDS.get(k, k) for k in kinds))}): give it one type "
                "throughout, text in one spelling or whole numbers."
            )

    def names(self, table: Table) -> tuple[Codes, npt.NDArray[Any]]:
        """Names of persons in the next table, and for each row which it has; -1 for none."""
        self.check(table)
        codes, names = pd.factorize(readable(partial(table.keys, self._column), 0, table.n))
        return codes, names

    def among(self, table: Table) -> Mask:
        """Rows of the next table that are among the first of their person."""
        codes, names = self.names(table)
        named = codes >= 0
        before = np.array([self._met[name] for name in names], dtype=np.int64)
        # rank within the person: position among rows sorted stably by person
        order = np.argsort(codes, kind="stable")
        ranked = codes[order]
        rank = np.empty(len(codes), dtype=np.int64)
        rank[order] = np.arange(len(codes)) - np.searchsorted(ranked, ranked)
        total = np.full(len(codes), self._most, dtype=np.int64)
        total[named] = rank[named] + before[codes[named]]
        for name, more in zip(names, np.bincount(codes[named], minlength=len(names)), strict=True):
            self._met[name] += int(more)
        return np.asarray(total < self._most)


class Census:
    """Persons as one walk meets them: each has a number, in the order of the table, and a lot.

    The lot follows from the name alone; see `by_lot`.
    """

    def __init__(self, first: FirstRows) -> None:
        self._walk, self._known = Walk(first), dict[bytes, int]()

    def __len__(self) -> int:
        return len(self._known)

    def check(self, table: Table) -> None:
        """See `Walk.check`."""
        self._walk.check(table)

    def numbers(self, table: Table) -> npt.NDArray[np.int64]:
        """For each row of the next table the number of its person; -1 for nobody."""
        codes, names = self._walk.names(table)
        known = [self._known.setdefault(name, len(self._known)) for name in names]
        return np.where(codes < 0, -1, np.array([*known, -1], dtype=np.int64)[codes])

    @property
    def lots(self) -> Lots:
        """Lots of all persons, by the numbers of these."""
        return np.array([_hash_of(name) for name in self._known], dtype=np.uint64)


def by_person(
    person: npt.NDArray[np.int64], persons: int
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.int64]]:
    """Rows sorted by person, those of nobody left out, and where each person's begin among them.

    Examples
    --------
    >>> order, starts = by_person(np.array([1, -1, 0, 1]), 2)
    >>> order.tolist(), starts.tolist()
    ([2, 0, 3], [0, 1])
    """
    order = np.argsort(person, kind="stable")
    order = order[np.searchsorted(person[order], 0) :]
    return order, np.searchsorted(person[order], np.arange(persons)).astype(np.int64)


def by_lot(
    counted: Mask, starts: npt.NDArray[np.int64], lots: Lots, contents: Lots
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.int64]]:
    """Rows that are sorted by person, those of each drawn by lot; and how many count of each person.

    Those that are ``counted`` come first, in an order that follows from what rows hold and from the
    name: so the first, which speaks for a person, depends on the rows of that person alone, wherever
    they stand, and all are as likely to be it.

    Examples
    --------
    >>> counted, starts = np.array([True, False, True, True, False]), np.array([0, 3, 4])
    >>> lots, contents = np.arange(3, dtype=np.uint64), np.arange(5, dtype=np.uint64)
    >>> order, counts = by_lot(counted, starts, lots, contents)
    >>> sorted(order[:2].tolist()), order[2:].tolist(), counts.tolist()
    ([0, 2], [1, 3, 4], [2, 1, 0])
    """
    person = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(counted))))
    order = np.lexsort((mixed(contents ^ mixed(lots)[person]), ~counted, person))
    return order, np.bincount(person[counted], minlength=len(starts)).astype(np.int64)


def contents_of(*columns: npt.NDArray[np.float64]) -> Lots:
    """A number for each row that follows from the numbers in it."""
    found = np.zeros(len(columns[0]), dtype=np.uint64)
    for column in columns:
        found = mixed(found ^ np.ascontiguousarray(column + 0.0).view(np.uint64))  # one zero
    return found


def contents_of_texts(texts: npt.NDArray[Any]) -> Lots:
    """A number for each text that follows from its bytes."""
    codes, known = pd.factorize(texts)
    return np.array([*map(_hash_of, known), 0], dtype=np.uint64)[codes]


def mixed(values: Lots) -> Lots:
    """Each number as another, one to one, all of whose bits depend on all bits (splitmix64)."""
    out = values + np.uint64(0x9E3779B97F4A7C15)
    out = (out ^ (out >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    out = (out ^ (out >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(out ^ (out >> np.uint64(31)))


def _hash_of(text: bytes) -> int:
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "little")


def readable(
    read: Callable[[int, int], npt.NDArray[Any]], start: int, stop: int
) -> npt.NDArray[Any]:
    """Cells start:stop as ``read`` gives them; None where one cannot be read, whatever it raises."""
    cells = suppress_private_errors(lambda: read(start, stop))
    if cells is not None:
        return cells
    if stop - start == 1:
        return np.array([None], dtype=object)
    middle = (start + stop) // 2
    halves = (start, middle), (middle, stop)
    return np.concatenate([readable(read, *half) for half in halves])


@dataclass(frozen=True, repr=False, eq=False)
class OfPersons(Opaque):
    """A source of which the first rows of every person count, those after them are missing.

    They are determined anew in every pass, in the order of that pass: a source that yields its rows in
    another order each time has, in each pass, as few rows of a person as any other.
    """

    source: Source
    first: FirstRows

    def size(self, check: Check, advance: Callable[[int], None]) -> int:
        walk = Walk(self.first)

        def both(table: Table) -> None:
            check(table)
            walk.check(table)

        return self.source.size(both, advance)

    def tables(self, columns: Sequence[str]) -> Iterator[Table]:
        walk = Walk(self.first)
        for table in self.source.tables(self._with_names(columns)):
            yield Kept(table, walk.among(table))

    def parts(self, columns: Sequence[str]) -> Iterator[SomeRows]:
        walk = Walk(self.first)
        for part in self.source.parts(self._with_names(columns)):
            keep = [walk.among(table) for table in part.tables([self.first.column])]
            yield SomeRows(part, np.concatenate([np.zeros(0, dtype=np.bool_), *keep]))

    def _with_names(self, columns: Sequence[str]) -> list[str]:
        return list(dict.fromkeys([*columns, self.first.column]))


@dataclass(frozen=True, repr=False, eq=False)
class SomeRows(Opaque):
    """A part of a source, of which some rows are made missing; it travels to a worker."""

    source: Source
    keep: Mask

    def size(self, check: Check, advance: Callable[[int], None]) -> int:
        n = self.source.size(check, advance)
        if n != len(self.keep):
            raise other_rows(len(self.keep), n)
        return n

    def tables(self, columns: Sequence[str]) -> Iterator[Table]:
        start = 0
        for table in self.source.tables(columns):
            yield Kept(table, self.keep[start : start + table.n])
            start += table.n

    def parts(self, columns: Sequence[str]) -> Iterator[SomeRows]:
        yield self


class Kept(Opaque):
    """A table of which some rows are missing in every column."""

    def __init__(self, table: Table, keep: Mask) -> None:
        self.table, self.keep = table, keep
        self.n, self.names, self.lists_names = table.n, table.names, table.lists_names
        self.type_of, self.keys = table.type_of, table.keys
        self.declared_levels, self.observed_levels = table.declared_levels, table.observed_levels

    def numbers(self, name: str, start: int, stop: int) -> Array:
        return np.where(self.keep[start:stop], self.table.numbers(name, start, stop), np.nan)

    def codes(self, name: str, levels: Levels, start: int, stop: int) -> Codes:
        return np.where(self.keep[start:stop], self.table.codes(name, levels, start, stop), -1)

    def texts(self, name: str, start: int, stop: int) -> npt.NDArray[Any]:
        texts = self.table.texts(name, start, stop)
        texts[~self.keep[start:stop]] = None
        return texts

    def part(self, names: Sequence[str], start: int, stop: int) -> Kept:
        return Kept(self.table.part(names, start, stop), self.keep[start:stop])
