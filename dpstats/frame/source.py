"""What a call may read its rows from: one table after another, as often as it likes.

A pandas DataFrame; anything with ``__arrow_c_stream__`` (polars, pyarrow, DuckDB); the path of a Parquet
file or folder, or a list of paths; a list of tables, or a function that returns them block by block,
anew each time; a Dask DataFrame. A source tells its size and the kinds of its columns, hands out its
tables, and falls into parts that can be pickled and read elsewhere.

That a block cannot be read, or that blocks differ in kind, may be learnt from an error; why, or what is
in them, may not: the texts of other libraries' errors quote cells, and are withheld.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeVar

import pandas as pd

from dpstats.errors import PassError, SchemaError, unheard
from dpstats.frame.table import Table, as_table, is_arrow, slices

T = TypeVar("T")
Check = Callable[[Table], None]

BLOCK_ROWS = 65536
_PART_NUMBERS = 2**20
_BUFFER = 2**20
ONE_SHOT = (
    "can be read once only, and a fit reads its rows several times. Give a list of tables, the "
    "path of a Parquet file or folder, or a function that starts afresh each time: "
    "lambda: pd.read_csv(path, chunksize=100_000, dtype=...)."
)


class Source(Protocol):
    """Rows in one or several tables."""

    def size(self, check: Check, seen: Callable[[int], None]) -> int:
        """Number of rows (public); ``check`` is called with every table, ``seen`` with its rows."""

    def tables(self, columns: Sequence[str]) -> Iterator[Table]:
        """All rows, one table after another; at least the columns that are named."""

    def parts(self, columns: Sequence[str]) -> Iterator[Source]:
        """The same rows in several sources that can be pickled."""

    def whole(self) -> Table:
        """All rows in one table in memory."""


def open_source(data: Any) -> Source | DaskPartitions:
    """See the module's docstring; reads nothing of a source that is not in memory.

    Raises
    ------
    SchemaError
        If ``data`` is nothing of the kind, or can be read once only.
    """
    if isinstance(data, pd.DataFrame) or is_arrow(data):
        return OneTable(as_table(data))
    if is_path(data):
        return ParquetFiles.found([data])
    if isinstance(data, list | tuple) and data and all(is_path(item) for item in data):
        return ParquetFiles.found(data)
    if hasattr(data, "to_delayed") and hasattr(data, "npartitions"):
        return DaskPartitions(data)
    if isinstance(data, Iterator):
        raise SchemaError(f"{_called(data)} {ONE_SHOT}")
    if hasattr(data, "collect") and hasattr(data, "collect_schema"):
        raise SchemaError(
            "a polars LazyFrame is read by collecting it: data.collect(); or, for more rows than fit "
            "in memory, write it once with data.sink_parquet(path) and give the path."
        )
    if callable(data) and not isinstance(data, type):
        return Blocks(data)
    if isinstance(data, list | tuple) or (isinstance(data, Iterable) and _reusable(data)):
        return Blocks(lambda: data)
    raise SchemaError(
        "a table is a pandas, polars or pyarrow DataFrame/Table, a Dask DataFrame, the path of a "
        "Parquet file or folder, a list of tables, or a function that returns tables block by "
        "block; not "
        f"{_called(data)}."
    )


def is_path(data: Any) -> bool:
    """Whether something names a file or a folder."""
    return isinstance(data, str | os.PathLike)


def public_table(data: Any) -> Table:
    """A public table of any kind, in memory: public rows are few."""
    if isinstance(data, pd.DataFrame):
        return as_table(data)
    if type(data).__name__ == "RecordBatchReader":
        raise SchemaError(
            "a RecordBatchReader can be read once only; give public=reader.read_all()."
        )
    if is_arrow(data):
        return as_table(data)
    return open_source(data).whole()


def _called(data: Any) -> str:
    name = type(data).__name__
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def _reusable(data: Any) -> bool:
    """Whether a second loop starts again. Numbers, text, dicts and arrays are no blocks."""
    return not isinstance(data, dict | set | bytes) and not hasattr(data, "dtype")


@dataclass(frozen=True, repr=False, eq=False)
class OneTable:
    """A table in memory."""

    table: Table

    def size(self, check: Check, seen: Callable[[int], None]) -> int:
        check(self.table)
        return self.table.n

    def tables(self, columns: Sequence[str]) -> Iterator[Table]:
        yield self.table

    def parts(self, columns: Sequence[str]) -> Iterator[OneTable]:
        # some megabytes each: they are sent through pipes
        rows = max(_PART_NUMBERS // max(len(columns), 1), 1)
        for start, stop in slices(self.table.n, rows):
            yield OneTable(self.table.part(columns, start, stop))

    def whole(self) -> Table:
        return self.table

    def __repr__(self) -> str:
        return "<table>"


@dataclass(frozen=True, repr=False, eq=False)
class Blocks:
    """Tables that a function returns anew at every call; the first of them tells the kinds.

    A pass that finds other rows than were counted at first is stopped: their number is public.
    """

    make: Callable[[], Any]

    def size(self, check: Check, seen: Callable[[int], None]) -> int:
        n = 0
        for k, table in enumerate(self._read(), start=1):
            try:
                check(table)
            except SchemaError as error:
                said = str(error)
            else:
                n += table.n
                seen(table.n)
                continue
            raise SchemaError(
                f"in block {k}: {said} Blocks must agree: fix the types when reading, e.g. "
                "pd.read_csv(..., dtype={'x': float, 'g': str})."
            )
        return n

    def tables(self, columns: Sequence[str]) -> Iterator[Table]:
        return self._read()

    def parts(self, columns: Sequence[str]) -> Iterator[OneTable]:
        for table in self._read():
            yield from OneTable(table).parts(columns)

    def whole(self) -> Table:
        blocks = list(self._raw())
        if blocks and all(isinstance(block, pd.DataFrame) for block in blocks):
            return as_table(pd.concat(blocks, ignore_index=True))
        import pyarrow as pa

        return as_table(pa.concat_tables([pa.table(b) for b in blocks], promote_options="default"))

    def _read(self) -> Iterator[Table]:
        for block in self._raw():
            if not (isinstance(block, pd.DataFrame) or is_arrow(block)):
                raise SchemaError(
                    f"a block of the data is {_called(block)}; each must be a pandas, polars or "
                    "pyarrow table."
                )
            yield as_table(block)

    def _raw(self) -> Iterator[Any]:
        made = _guarded(self.make)
        if isinstance(made, pd.DataFrame):
            yield made
            return
        if is_arrow(made):
            import pyarrow as pa

            stream = _guarded(lambda: pa.RecordBatchReader.from_stream(made))
            yield from _steps(stream)
            return
        if not isinstance(made, Iterable) or isinstance(made, str | dict):
            raise SchemaError(
                f"the function given as data returned {_called(made)}; it must return a table, or "
                "tables one after another."
            )
        yield from _steps(made)

    def __repr__(self) -> str:
        return "<blocks>"


@dataclass(frozen=True, repr=False, eq=False)
class _RowGroups:
    """Consecutive row groups of a Parquet file; ``constants`` are columns named by folders."""

    path: str
    groups: tuple[int, ...]
    rows: int
    constants: tuple[tuple[str, Any], ...]
    files: Any


@dataclass(frozen=True, repr=False, eq=False)
class ParquetFiles:
    """A Parquet file, or a folder of them (with folders such as ``year=2020`` as columns).

    Only the columns that are needed are read, some tens of thousands of rows at a time.
    """

    pieces: tuple[_RowGroups, ...]
    schemas: tuple[Any, ...]

    @classmethod
    def found(cls, paths: Sequence[str | os.PathLike[str]]) -> ParquetFiles:
        try:
            import pyarrow.dataset as pads
        except ImportError:
            raise SchemaError("reading Parquet needs pyarrow: pip install pyarrow.") from None
        names = [os.path.expanduser(os.fspath(path)) for path in paths]
        for name in names:
            if "://" not in name and not os.path.exists(name):
                raise SchemaError(f"there is no file or folder '{name}'.")
        said = names[0] if len(names) == 1 else f"{names[0]}', '..."

        def look() -> ParquetFiles:
            pieces: list[_RowGroups] = []
            schemas: dict[str, Any] = {}
            sets = [pads.dataset(name, format="parquet", partitioning="hive") for name in names]
            for fragment in (f for dataset in sets for f in dataset.get_fragments()):
                keys = pads.get_partition_keys(fragment.partition_expression)
                schema = _with_constants(fragment.physical_schema.empty_table(), keys.items())
                schemas[str(schema.schema)] = schema
                for group in fragment.row_groups:
                    where = fragment.path, (group.id,), group.num_rows
                    pieces.append(_RowGroups(*where, tuple(keys.items()), fragment.filesystem))
            return cls(tuple(pieces), tuple(schemas.values()))

        found = unheard(look)
        if found is None:
            raise SchemaError(
                f"'{said}' cannot be read as Parquet. For text files give a function that reads them in "
                "blocks: lambda: pd.read_csv(path, chunksize=100_000, dtype=...)."
            )
        if not found.schemas:
            raise SchemaError(f"there is no Parquet file in '{said}'.")
        return found

    def size(self, check: Check, seen: Callable[[int], None]) -> int:
        for schema in self.schemas:
            check(as_table(schema))
        return sum(piece.rows for piece in self.pieces)

    def tables(self, columns: Sequence[str]) -> Iterator[Table]:
        for piece in self._joined():
            yield from _steps(self._batches(piece, columns))

    def parts(self, columns: Sequence[str]) -> Iterator[ParquetFiles]:
        for piece in self.pieces:
            yield ParquetFiles((piece,), self.schemas)

    def whole(self) -> Table:
        import pyarrow as pa

        names = list(dict.fromkeys(name for schema in self.schemas for name in schema.column_names))
        read = [batch for piece in self._joined() for batch in self._arrow(piece, names)]
        return as_table(pa.concat_tables([*self.schemas[:1], *read], promote_options="default"))

    def _joined(self) -> Iterator[_RowGroups]:
        """Row groups of one file together: it is opened once."""
        together: dict[str, list[_RowGroups]] = {}
        for piece in self.pieces:
            together.setdefault(piece.path, []).append(piece)
        for path, pieces in together.items():
            groups = tuple(g for piece in pieces for g in piece.groups)
            rows = sum(piece.rows for piece in pieces)
            yield _RowGroups(path, groups, rows, pieces[0].constants, pieces[0].files)

    def _batches(self, piece: _RowGroups, columns: Sequence[str]) -> Iterator[Table]:
        for table in self._arrow(piece, columns):
            yield as_table(table)

    def _arrow(self, piece: _RowGroups, columns: Sequence[str]) -> Iterator[Any]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        # buffered: otherwise whole columns of a row group are read ahead, however long they are
        with pq.ParquetFile(
            piece.path, filesystem=piece.files, pre_buffer=False, buffer_size=_BUFFER
        ) as file:
            wanted = [name for name in columns if name in file.schema_arrow.names]
            for batch in file.iter_batches(BLOCK_ROWS, list(piece.groups), wanted):
                yield _with_constants(pa.Table.from_batches([batch]), piece.constants)

    def __repr__(self) -> str:
        return "<Parquet>"


def _with_constants(table: Any, constants: Iterable[tuple[str, Any]]) -> Any:
    """Folders that say ``year=2020`` add a column to their files."""
    import pyarrow as pa

    for name, value in constants:
        if name not in table.column_names:
            table = table.append_column(
                name, pa.array([value] * table.num_rows, pa.scalar(value).type)
            )
    return table


@dataclass(frozen=True, repr=False, eq=False)
class DaskPartitions:
    """A Dask DataFrame; its partitions are read where Dask computes them (`reading`)."""

    frame: Any

    @cached_property
    def schema(self) -> Table:
        """A table without rows that shows the columns."""
        return as_table(self.frame._meta)

    def delayed(self, columns: Sequence[str]) -> list[Any]:
        """The partitions as Dask's promises, of these columns alone."""
        return list(self.frame[list(columns)].to_delayed())

    def whole(self) -> Table:
        return as_table(self.frame.compute())

    def __repr__(self) -> str:
        return "<Dask>"


def _guarded(read: Callable[[], T]) -> T:
    found = unheard(lambda: (read(),))
    if found is None:
        raise unreadable()
    return found[0]


def _steps(blocks: Iterable[T]) -> Iterator[T]:
    """The blocks, whose own errors are not shown."""
    walk = _guarded(lambda: iter(blocks))
    end: Any = object()
    while (step := _guarded(lambda: next(walk, end))) is not end:
        yield step


def unreadable() -> PassError:
    """Said where the reading of rows fails, in whatever way."""
    return PassError(
        "the data could not be read to their end; the reason is withheld, because it may quote a "
        "private cell. Loop over the blocks yourself, where you may see them, to find it."
    )


def other_rows(counted: int, read: int) -> PassError:
    """Said where a pass finds another number of rows than the first: n is public."""
    return PassError(
        f"the data had {counted} rows when they were counted, and {read} in a later pass. A function "
        "given as data must start afresh each time it is called, and return the same rows."
    )
