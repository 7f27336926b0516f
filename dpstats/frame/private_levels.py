"""Levels of text columns among private rows, for their release by a test of how many rows have them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from dpstats.errors import SchemaError
from dpstats.frame.formula.learn import used_columns
from dpstats.frame.source import (
    BLOCK_ROWS,
    DaskPartitions,
    OneTable,
    column_types,
    open_source,
)
from dpstats.frame.table import Opaque, is_table, slices


class LevelCells(Opaque):
    """The cells of text columns of private rows; ``n`` rows, which is public."""

    def __init__(self, data: Any) -> None:
        source = OneTable(data) if is_table(data) else open_source(data)
        if isinstance(source, DaskPartitions):
            raise SchemaError(
                "levels of a Dask DataFrame are not searched: declare them, limits={'g': ['a', 'b']}."
            )
        self._source = source
        self.n = source.size(lambda table: None, lambda rows: None)

    def counts(self, name: str) -> dict[str, int]:
        """How many rows have each text. A cell that is no text counts nowhere."""
        found: Counter[bytes | None] = Counter()
        for table in self._source.tables([name]):
            for start, stop in slices(table.n, BLOCK_ROWS):
                found.update(table.keys(name, start, stop).tolist())
        texts: Counter[str] = Counter()
        for cell, count in found.items():
            if cell is not None:
                texts[str(cell, "utf-8", "replace")] += count
        return dict(texts)

    def close(self) -> None:
        """Forget the rows."""
        self._source = None  # type: ignore[assignment]


def undeclared_levels(
    formula: str,
    data: Any,
    limits: Mapping[str, Any] | None,
    weights: str | None,
    offset: str | None,
) -> tuple[str, ...]:
    """Columns of text that a formula uses and whose levels nobody has declared, by names and types."""
    table = column_types(data)
    return tuple(
        name
        for name in used_columns(formula, table.names, weights, offset)
        if name not in (limits or {})
        and name in table.names
        and table.type_of(name).kind in ("category", "object")
    )
