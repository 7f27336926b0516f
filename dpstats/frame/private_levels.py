"""Levels of text columns among private rows, for their release by a test of how many rows have them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from dpstats.errors import SchemaError
from dpstats.frame.formula.reads import categories_written, levels_written, used_columns
from dpstats.frame.persons import FirstRows, OfPersons, readable
from dpstats.frame.source import BLOCK_ROWS, DaskPartitions, column_types, open_source
from dpstats.frame.table import AS_READ, ColumnType, Opaque, slices


class LevelCells(Opaque):
    """The cells of text columns of private rows; ``n`` rows, which is public.

    ``first``: that only so many rows of every person count, where a column names the person.
    """

    def __init__(self, data: Any, first: FirstRows | None = None) -> None:
        source: Any = open_source(data)
        self._source = source if first is None else OfPersons(first.ordered(source), first)
        self.n = self._source.size(lambda table: None, lambda rows: None)

    def counts(self, name: str) -> dict[str, int]:
        """How many rows have each text. A cell that is no text, or no valid one, counts nowhere.

        A row has one text at most: where it is replaced, two counts move by one at most.
        """
        found: Counter[bytes | None] = Counter()
        for table in self._source.tables([name]):
            for start, stop in slices(table.n, BLOCK_ROWS):
                found.update(readable(partial(table.texts, name), start, stop).tolist())
        texts: Counter[str] = Counter()
        for cell, count in found.items():
            with suppress(UnicodeDecodeError):
                if cell is not None:
                    texts[str(cell, "utf-8")] += count
        return dict(texts)

    def close(self) -> None:
        """Forget the rows."""
        self._source = None


def undeclared_levels(
    formula: str,
    data: Any,
    limits: Mapping[str, Any] | None,
    weights: str | None,
    offset: str | None,
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
