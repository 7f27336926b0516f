"""Levels of text columns among private rows, for their release by a test of how many rows have them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from dpstats.errors import SchemaError
from dpstats.frame.formula.reads import categories_written, levels_written, used_columns
from dpstats.frame.persons import (
    Census,
    FirstRows,
    OfPersons,
    by_lot,
    by_person,
    contents_of_texts,
    readable,
)
from dpstats.frame.source import BLOCK_ROWS, DaskPartitions, column_types, open_source
from dpstats.frame.table import AS_READ, ColumnType, Opaque, slices


class LevelCells(Opaque):
    """The cells of text columns of ``n`` private rows, or persons; either number is public.

    ``first``: that only so many rows of every person count, where a column names the person.
    ``persons``: how many there are, where one cell of each counts, whatever rows they have.
    """

    def __init__(
        self, data: Any, first: FirstRows | None = None, *, persons: int | None = None
    ) -> None:
        source: Any = open_source(data)
        if first is not None and first.rows is not None:
            source = OfPersons(first.ordered(source), first)
        self._source, self._persons = source, None if persons is None else first
        self.n = source.size(lambda _: None, lambda _: None) if persons is None else persons

    def counts(self, name: str) -> dict[str, int]:
        """How many rows have each text. A cell that is no text, or no valid one, counts nowhere.

        A row has one text at most: where it is replaced, two counts move by one at most. So it is where
        a person is who has one cell.
        """
        found: Counter[bytes | None] = Counter()
        for cells in self._cells(name) if self._persons is None else [self._one_of_each(name)]:
            found.update(cells.tolist())
        texts = {cell: _text(cell) for cell in found}
        return {text: found[cell] for cell, text in texts.items() if text is not None}

    def _cells(self, name: str) -> Iterator[npt.NDArray[Any]]:
        for table in self._source.tables([name]):
            for start, stop in slices(table.n, BLOCK_ROWS):
                yield readable(partial(table.texts, name), start, stop)

    def _one_of_each(self, name: str) -> npt.NDArray[Any]:
        """A text of every person who has any."""
        assert self._persons is not None
        seen, persons, texts = Census(self._persons), [], []
        for table in self._source.tables([self._persons.column, name]):
            persons.append(seen.numbers(table))
            texts.append(readable(partial(table.texts, name), 0, table.n))
        person, cells = np.concatenate(persons), np.concatenate(texts)
        order, starts = by_person(person, len(seen))
        cells = cells[order]
        written = np.array([_text(cell) is not None for cell in cells], dtype=np.bool_)
        order, counts = by_lot(written, starts, seen.lots, contents_of_texts(cells))
        return np.asarray(cells[order[starts[counts > 0]]])

    def close(self) -> None:
        """Forget the rows."""
        self._source = None


def _text(cell: bytes | None) -> str | None:
    with suppress(UnicodeDecodeError):
        return None if cell is None else str(cell, "utf-8")
    return None


def undeclared_levels(
    formula: str,
    data: Any,
    weights: str | None,
    offset: str | None,
    limits: Mapping[str, Any] | None,
) -> tuple[str, ...]:
    """Columns of text that a formula uses and whose levels nobody has declared, by names and types."""
    table = column_types(data)
    written = categories_written(formula, table.names, weights, offset)
    declared = {*(limits or {}), *levels_written(formula, table.names, weights, offset)}
    names = tuple(
        name
        for name in used_columns(formula, table.names, weights, offset)
        if name not in declared
        and name in table.names
        and _of_text(table.type_of(name), name in written)
    )
    if names and isinstance(open_source(data), DaskPartitions):
        raise SchemaError(
            "levels of a Dask DataFrame are not searched: declare them, "
            f"limits={{'{names[0]}': ['a', 'b']}}."
        )
    return names


def _of_text(type_: ColumnType, written: bool) -> bool:
    """Whether a column may hold text; categories may stand for numbers.

    One that folders name does where the formula takes it for a category.
    """
    if type_.label == AS_READ:
        return written
    return type_.kind in ("category", "object") and type_.values in (None, "category", "object")
