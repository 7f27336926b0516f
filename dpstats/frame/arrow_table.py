"""A table that exports the Arrow C stream: polars, pyarrow, DuckDB."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dpstats.errors import PassError, SchemaError, silently
from dpstats.frame.keys import keys_of, texts_of
from dpstats.frame.table import (
    Array,
    Codes,
    ColumnType,
    Kind,
    Levels,
    bool_codes,
    check_levels,
    number_codes,
    positions_of,
)


class ArrowTable:
    """Any table that exports the Arrow C stream."""

    lists_names = True

    def __init__(self, data: Any) -> None:
        try:
            import pyarrow as pa
        except ImportError:
            raise SchemaError(
                f"reading {type(data).__name__} needs pyarrow: pip install pyarrow."
            ) from None
        self._pa = pa
        # rows may be computed here: what is raised, a panic too, or warned of may quote a cell
        table = silently(lambda: pa.table(data))
        if table is None:
            # charged, since a stream or a query reads its rows here
            raise PassError(
                f"the {type(data).__name__} could not be read as an Arrow table; the reason is "
                "withheld because it may show data. Materialise lazy queries and streams first; a "
                "connection must be open, and have no unfinished query."
            )
        self._open(table)

    def _open(self, table: Any) -> None:
        self._table = table
        self.n = int(table.num_rows)
        self.names = tuple(table.column_names)

    def type_of(self, name: str) -> ColumnType:
        if self.names.count(name) > 1:
            raise SchemaError(f"the table has several columns called `{name}`; rename them.")
        field = self._table.schema.field(name)
        type_ = field.type
        # what polars calls ordered is a matter of sorting
        foreign = any(key.startswith(b"_PL_") for key in field.metadata or {})
        ordered = self._pa.types.is_dictionary(type_) and type_.ordered and not foreign
        return ColumnType(arrow_kind(type_), str(type_), coded_kind(type_), ordered)

    def declared_levels(self, name: str) -> Levels | None:
        field = self._table.schema.field(name)
        # a polars Categorical carries every name that the process has seen, in order of arrival
        grown = any(key.startswith(b"_PL_CATEGORICAL") for key in field.metadata or {})
        if not self._pa.types.is_dictionary(field.type) or grown:
            return None
        levels: list[Any] = []
        for chunk in self._table.column(name).chunks:
            levels += chunk.dictionary.to_pylist()
        return check_levels(name, dict.fromkeys(level for level in levels if level is not None))

    def observed_levels(self, name: str) -> Levels:
        values = set(self._table.column(name).to_pylist()) - {None}
        return tuple(sorted(check_levels(name, values)))

    def numbers(self, name: str, start: int, stop: int) -> Array:
        part = self._table.column(name).slice(start, stop - start)
        values = part.cast(self._pa.float64(), safe=False).to_numpy()
        return np.asarray(values, dtype=np.float64)

    def keys(self, name: str, start: int, stop: int) -> npt.NDArray[Any]:
        return keys_of(self._part_cells(name, start, stop), typed=True)

    def texts(self, name: str, start: int, stop: int) -> npt.NDArray[Any]:
        return texts_of(self._part_cells(name, start, stop), encoded=True)

    def _part_cells(self, name: str, start: int, stop: int) -> list[Any]:
        chunks = self._table.column(name).slice(start, stop - start).chunks
        return [cell for chunk in chunks for cell in arrow_cells(chunk)]

    def part(self, names: Sequence[str], start: int, stop: int) -> ArrowTable:
        pa, part = self._pa, self._table.select(list(names)).slice(start, stop - start)
        for k, column in enumerate(part.schema):
            # a slice of text views would travel with all texts of its table
            if pa.types.is_string_view(column.type):
                part = part.set_column(k, column.name, part.column(k).cast(pa.large_string()))
        return ArrowTable(part)

    def __getstate__(self) -> bytes:
        # as a stream: a slice then travels without the rest of its table
        sink = self._pa.BufferOutputStream()
        with self._pa.ipc.new_stream(sink, self._table.schema) as writer:
            writer.write_table(self._table)
        return bytes(sink.getvalue())

    def __setstate__(self, state: bytes) -> None:
        import pyarrow as pa

        self._pa = pa
        self._open(pa.ipc.open_stream(state).read_all())

    def codes(self, name: str, levels: Levels, start: int, stop: int) -> Codes:
        pa = self._pa
        part = self._table.column(name).slice(start, stop - start)
        if pa.types.is_boolean(part.type) or pa.types.is_null(part.type):
            return bool_codes(self.numbers(name, start, stop))
        if arrow_kind(part.type) == "number":
            return number_codes(self.numbers(name, start, stop), levels)
        return arrow_codes(part.chunks, levels)


def arrow_cells(array: Any) -> list[Any]:
    """The cells of an array; text as bytes, because a cell that is not valid text must not raise.

    Floats come in the array's own type, which determines their precision.
    """
    import pyarrow as pa

    if pa.types.is_dictionary(array.type):
        values = [*arrow_cells(array.dictionary), None]
        return [values[i] for i in array.indices.cast(pa.int64()).fill_null(-1).to_numpy()]
    if pa.types.is_floating(array.type):
        return list(array.to_numpy(zero_copy_only=False))
    text = arrow_kind(array.type) == "category"
    cells: list[Any] = (array.cast(pa.large_binary()) if text else array).to_pylist()
    return cells


def arrow_codes(chunks: Iterable[Any], levels: Levels) -> Codes:
    """Positions in ``levels`` of Arrow text or dictionaries."""
    import pyarrow as pa

    codes = [np.empty(0, dtype=np.intp)]
    for chunk in chunks:
        if not pa.types.is_dictionary(chunk.type):
            chunk = chunk.cast(pa.large_binary()).dictionary_encode()
        values, keys = chunk.dictionary, levels
        if arrow_kind(values.type) == "category":
            # as bytes: a cell that is not valid text must not raise
            values = values.cast(pa.large_binary())
        if isinstance(levels[0], str):
            keys = tuple(level.encode("utf-8", "surrogatepass") for level in levels)
        position = np.append(positions_of(values.to_pylist(), keys), -1)
        codes.append(position[chunk.indices.cast(pa.int64()).fill_null(-1).to_numpy()])
    return np.asarray(np.concatenate(codes), dtype=np.intp)


def coded_kind(type_: Any) -> Kind | None:
    """The kind of what the codes of a dictionary stand for; None where there are none."""
    import pyarrow as pa

    return arrow_kind(type_.value_type) if pa.types.is_dictionary(type_) else None


def arrow_kind(type_: Any) -> Kind:
    """The kind of a column of this type."""
    import pyarrow as pa

    types = pa.types
    if types.is_boolean(type_):
        return "bool"
    if types.is_integer(type_) or types.is_floating(type_) or types.is_decimal(type_):
        return "number"
    if types.is_dictionary(type_):
        inner = arrow_kind(type_.value_type)
        return "category" if inner in ("number", "bool", "category") else inner
    if types.is_string(type_) or types.is_large_string(type_) or types.is_string_view(type_):
        return "category"
    if types.is_null(type_):
        return "missing"
    return "datetime" if types.is_temporal(type_) else "other"
