"""Sources of rows: one table after another, as often as a call likes.

A pandas DataFrame; anything with ``__arrow_c_stream__`` (polars, pyarrow, DuckDB); the path of a Parquet
file or folder, or of a CSV file, or a list of paths; a list of tables, or a function that returns them
block by block, anew each time; a Dask DataFrame. A source knows its size and the types of its columns,
yields its tables, and can be divided into parts that are pickled and read by other processes.

Rows that are named twice would count twice, and have half the protection that is stated: files that are
the same, by whatever names and links, and tables that are one object, are refused. (Copies and slices
cannot be recognised, and the origin of a Dask DataFrame is not checked.)

An error may show that a block cannot be read, or that blocks differ in type; it may not show why, or
what is in them: messages of other libraries quote cells, and are withheld.
"""

from __future__ import annotations

import inspect
import os
import posixpath
import weakref
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Protocol
from urllib.parse import unquote

import pandas as pd

from dpstats.arguments import called, is_path, naming
from dpstats.errors import SchemaError, suppress_private_errors
from dpstats.frame.paths import TWICE, local_file, named_files
from dpstats.frame.reading import OneTable, guarded, steps
from dpstats.frame.table import Opaque, Table, is_arrow
from dpstats.frame.tables import FolderTable, as_table, is_table
from dpstats.frame.text_files import TextFiles, names_text

Check = Callable[[Table], None]
Folders = tuple[tuple[str, str | None], ...]
"""Columns that folders name, each with its text, or None where values are missing."""

BLOCK_ROWS = 65536
_BATCH_NUMBERS = 2**22
_FEWEST_ROWS = 16384
_BUFFER = 2**20
_MISSING_FOLDER = "__HIVE_DEFAULT_PARTITION__"
_LISTS: tuple[type, ...] = (list, tuple, deque, type({}.values()))
"""Types that run no foreign code when they are looped over."""
ONE_SHOT = (
    "can be read once only, and a fit reads its rows several times. Give a list of tables, the "
    "path of a Parquet file or folder, or a function that starts afresh each time: "
    "lambda: pd.read_csv(path, chunksize=100_000, dtype=...)."
)
NO_BLOCK = "the data are an empty list: there is no block of rows in them."


class Source(Protocol):
    """Rows in one or several tables."""

    def size(self, check: Check, advance: Callable[[int], None]) -> int:
        """Number of rows (public); ``check`` is called with every table, ``advance`` with its rows."""

    def tables(self, columns: Sequence[str]) -> Iterator[Table]:
        """All rows, one table after another; at least the columns that are named."""

    def parts(self, columns: Sequence[str]) -> Iterator[Source]:
        """The rows of the source, shared out to several sources that can be pickled."""


_IN_MEMORY = ("polars", "DataFrame"), ("pyarrow", "Table"), ("pyarrow", "RecordBatch")
"""Tables of Arrow data that are no streams."""


def open_source(data: Any) -> OneTable | Blocks | ParquetFiles | TextFiles | DaskPartitions:
    """See the module's docstring; reads nothing of a source that is not in memory.

    Raises
    ------
    SchemaError
        If ``data`` is nothing of the kind, or can be read once only.
    """
    if is_table(data):  # one that was opened before
        return OneTable(data)
    if isinstance(data, pd.DataFrame) or (is_arrow(data) and not hasattr(data, "dtype")):
        return OneTable(as_table(data))
    if is_path(data) or (isinstance(data, list | tuple) and data and all(map(is_path, data))):
        paths = [data] if is_path(data) else list(data)
        return (TextFiles if all(map(names_text, paths)) else ParquetFiles).open(paths)
    if _is_dask(data):
        return DaskPartitions(data)
    if hasattr(data, "to_batches") and hasattr(data, "get_fragments"):  # a pyarrow Dataset
        _refuse_same_rows(guarded(lambda: list(data.get_fragments())))
        return Blocks(data.to_batches)
    if isinstance(data, Iterator):
        raise SchemaError(f"{called(data)} {ONE_SHOT}")
    if hasattr(data, "collect") and hasattr(data, "collect_schema"):
        raise SchemaError(
            "a polars LazyFrame is read by collecting it: data.collect(); or, for more rows than fit "
            "in memory, by lambda: data.collect_batches(), or written once with "
            "data.sink_parquet(path), and the path given."
        )
    if callable(data) and not isinstance(data, type):
        _require_no_arguments(data)
        return Blocks(data)
    if isinstance(data, list | tuple) or (isinstance(data, Iterable) and _reusable(data)):
        return Blocks(lambda: data)
    if isinstance(data, dict):
        raise SchemaError("a dict is no table yet: pd.DataFrame(data) makes one of its columns.")
    raise SchemaError(
        "a table is a pandas, polars or pyarrow DataFrame/Table, a Dask DataFrame, the path of a "
        "Parquet file or folder or of a CSV file, a list of tables, or a function that returns tables "
        "block by block; not "
        f"{called(data)}."
    )


def _is_dask(data: Any) -> bool:
    """Whether an object is a Dask DataFrame. To ask it how many partitions it has may compute rows."""
    names = ("to_delayed", "npartitions", "columns", "compute", "_meta")
    missing = object()
    return not isinstance(data, type) and all(
        inspect.getattr_static(data, name, missing) is not missing for name in names
    )


def public_table(data: Any) -> Table:
    """A public table of any kind, in memory: public rows are few."""
    if type(data).__name__ == "RecordBatchReader":
        raise SchemaError("a RecordBatchReader can be read once only; give reader.read_all().")
    return open_source(data).read_all()


def column_types(data: Any) -> Table:
    """A table that shows names and types of the columns: of blocks the first one."""
    source = open_source(data)
    if isinstance(source, DaskPartitions | TextFiles):
        return source.schema
    if isinstance(source, ParquetFiles):
        schema, folders, _ = source.schemas[0]
        return FolderTable(as_table(schema.empty_table()), dict(folders))
    if isinstance(source, OneTable):
        return source.table
    first = next(source.tables(()), None)
    if first is None:
        raise SchemaError(NO_BLOCK)
    return first


def shows_types(data: Any) -> bool:
    """Whether names and types of the columns are there without reading a row, of which there may be one
    reading only, and which a function or a stream may charge for, or refuse.

    Examples
    --------
    >>> shows_types(pd.DataFrame({"x": [1.0]})), shows_types(lambda: pd.DataFrame({"x": [1.0]}))
    (True, False)
    """
    if is_table(data) or isinstance(data, pd.DataFrame) or is_path(data) or _is_dask(data):
        return True
    if isinstance(data, list | tuple):
        return all(map(shows_types, data))
    kind = type(data)
    return (kind.__module__.partition(".")[0], kind.__name__) in _IN_MEMORY


def opened(data: Any) -> Any:
    """A stream of Arrow data as a table in memory, because it may be read once only; else the data."""
    stream = is_arrow(data) and not (isinstance(data, pd.DataFrame) or hasattr(data, "dtype"))
    return as_table(data) if stream else data


def _require_no_arguments(make: Callable[..., Any]) -> None:
    try:
        inspect.signature(make).bind()
    except TypeError:
        raise SchemaError("the function given as data must take no arguments.") from None
    except ValueError:  # not known
        return


def _reusable(data: Any) -> bool:
    """Whether a second loop starts again. Numbers, text, dicts and arrays are no blocks."""
    return not isinstance(data, dict | set | bytes) and not hasattr(data, "dtype")


@dataclass(frozen=True, repr=False, eq=False)
class Blocks(Opaque):
    """Tables that a function returns anew at every call; the first of them fixes the types of columns.

    A pass that reads another number of rows than was counted at first is stopped: it is public.
    """

    make: Callable[[], Any]

    def size(self, check: Check, advance: Callable[[int], None]) -> int:
        n, k = 0, 0
        for k, table in enumerate(self._read(), start=1):
            try:
                check(table)
            except SchemaError as error:
                message = str(error)
            else:
                n += table.n
                advance(table.n)
                continue
            raise SchemaError(
                f"in {'the first' if k == 1 else 'a later'} block: {message} Blocks must agree: fix the "
                "types when reading, e.g. "
                "pd.read_csv(..., dtype={'x': float, 'g': str})."
            )
        if k == 0:
            raise SchemaError(NO_BLOCK)
        return n

    def tables(self, columns: Sequence[str]) -> Iterator[Table]:
        return self._read()

    def parts(self, columns: Sequence[str]) -> Iterator[OneTable]:
        for table in self._read():
            yield from OneTable(table).parts(columns)

    def read_all(self) -> Table:
        return _together([checked for _, checked in self._blocks()])

    def _read(self) -> Iterator[Table]:
        for table, _ in self._blocks():
            yield table

    def _blocks(self) -> Iterator[tuple[Table, Any]]:
        """Every block, opened and as it is."""
        before: dict[int, Any] = {}
        for block in self._raw():
            # numbers of objects that are gone are given again
            if id(block) in before and before[id(block)]() is block:
                raise SchemaError(f"a table occurs twice in the data{TWICE}")
            with suppress(TypeError):
                before[id(block)] = weakref.ref(block)
            if not (isinstance(block, pd.DataFrame) or is_arrow(block)) or hasattr(block, "dtype"):
                raise SchemaError(
                    f"a block of the data is {called(block)}; each must be a pandas, polars or "
                    "pyarrow table."
                )
            yield as_table(block), block

    def _raw(self) -> Iterator[Any]:
        made = self._made()
        if isinstance(made, pd.DataFrame):
            yield made
            return
        if type(made) in _LISTS and len({id(block) for block in made}) < len(made):
            raise SchemaError(
                f"a table occurs twice in the data{TWICE} If it is meant to count twice, give a "
                "copy and set rows_per_person=2."
            )
        if is_arrow(made):
            import pyarrow as pa

            stream = guarded(lambda: pa.RecordBatchReader.from_stream(made))
            yield from steps(stream)
            return
        if not isinstance(made, Iterable) or isinstance(made, str | dict) or _is_dask(made):
            raise SchemaError(
                f"the function given as data returned {called(made)}; it must return a table, or "
                "tables one after another."
                + (" Give the Dask DataFrame itself." if _is_dask(made) else "")
            )
        yield from steps(made)

    def _made(self) -> Any:
        """What the function returns; it may have read all rows, of which one may have made it fail."""
        return guarded(self.make)


@dataclass(frozen=True, repr=False, eq=False)
class _RowGroups:
    """Consecutive row groups of a Parquet file; ``folders`` are columns that folders name."""

    path: str
    groups: tuple[int, ...]
    rows: int
    folders: Folders
    files: Any


@dataclass(frozen=True, repr=False, eq=False)
class ParquetFiles(Opaque):
    """A Parquet file, or a folder of them (with folders such as ``year=2020`` as columns).

    Whether a folder's text is a number or a level depends on the formula: types that are guessed
    from all texts would change with one of them.

    Only the columns that are needed are read, some tens of thousands of rows at a time.
    """

    pieces: tuple[_RowGroups, ...]
    schemas: tuple[tuple[Any, Folders, str], ...]
    """Of files that are alike that of one, with the folders on the way to it and its path."""

    @classmethod
    def open(cls, paths: Sequence[str | os.PathLike[str]]) -> ParquetFiles:
        try:
            import pyarrow as pa
            import pyarrow.dataset as pads
        except ImportError:
            raise SchemaError("reading Parquet needs pyarrow: pip install pyarrow.") from None
        names = [name for path in paths for name in named_files(os.fspath(path))]
        at, parts = names[0], list[Any]()

        def look() -> ParquetFiles:
            nonlocal at
            pieces: list[_RowGroups] = []
            schemas: dict[str, tuple[Any, Folders, str]] = {}
            for at in names:
                # with a schema of its own no file is opened yet
                found = pads.dataset(at, format="parquet", schema=pa.schema([]))
                fragments = list(found.get_fragments())
                # a folder may hold notes as well
                parquet = [f for f in fragments if f.path.endswith((".parquet", ".parq", ".pq"))]
                for fragment in parquet or fragments:
                    at, folders = fragment.path, _folders(fragment.path)
                    parts.append(fragment)
                    schema = fragment.physical_schema.remove_metadata()
                    schemas[f"{schema} {[name for name, _ in folders]}"] = schema, folders, at
                    for group in fragment.row_groups:
                        where = fragment.path, (group.id,), group.num_rows
                        pieces.append(_RowGroups(*where, folders, fragment.filesystem))
            return cls(tuple(pieces), tuple(schemas.values()))

        files = suppress_private_errors(look)
        if files is None:
            raise SchemaError(
                f"'{at}' "
                + (
                    "cannot be reached, or is not Parquet: check address, region and credentials."
                    if "://" in at
                    else "cannot be read as Parquet. For text files give a function that reads them in "
                    "blocks: lambda: pd.read_csv(path, chunksize=100_000, dtype=...)."
                )
            )
        if not files.schemas:
            raise SchemaError(
                f"there is no Parquet file in '{names[0]}': give a file, or a folder with names "
                "that end in .parquet."
            )
        _refuse_same_rows(parts)
        return files

    def size(self, check: Check, advance: Callable[[int], None]) -> int:
        for schema, folders, path in self.schemas:
            with naming(f"'{path}'") if len(self.schemas) > 1 else nullcontext():
                check(FolderTable(as_table(schema.empty_table()), dict(folders)))
        return sum(piece.rows for piece in self.pieces)

    def tables(self, columns: Sequence[str]) -> Iterator[Table]:
        for piece in self._joined():
            yield from steps(self._batches(piece, columns))

    def parts(self, columns: Sequence[str]) -> Iterator[ParquetFiles]:
        for pieces in self._by_file():
            for piece in pieces:
                yield ParquetFiles((piece,), self.schemas)

    def read_all(self) -> Table:
        names = list(dict.fromkeys(name for schema, *_ in self.schemas for name in schema.names))
        read = [
            _spelled(batch, piece.folders)
            for piece in self._joined()
            for batch in self._arrow(piece, names)
        ]
        return _together(read or [self.schemas[0][0].empty_table()])

    def _joined(self) -> Iterator[_RowGroups]:
        """Row groups of one file together: it is opened once."""
        for pieces in self._by_file():
            path = pieces[0].path
            groups = tuple(g for piece in pieces for g in piece.groups)
            rows = sum(piece.rows for piece in pieces)
            yield _RowGroups(path, groups, rows, pieces[0].folders, pieces[0].files)

    def _by_file(self) -> Collection[list[_RowGroups]]:
        """Row groups by their files, in the order in which all readers see them."""
        together: dict[str, list[_RowGroups]] = {}
        for piece in self.pieces:
            together.setdefault(piece.path, []).append(piece)
        return together.values()

    def _batches(self, piece: _RowGroups, columns: Sequence[str]) -> Iterator[Table]:
        for table in self._arrow(piece, columns):
            yield FolderTable(as_table(table), dict(piece.folders))

    def _arrow(self, piece: _RowGroups, columns: Sequence[str]) -> Iterator[Any]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        # buffered: otherwise whole columns of a row group are read ahead, however long they are
        with pq.ParquetFile(
            piece.path, filesystem=piece.files, pre_buffer=False, buffer_size=_BUFFER
        ) as file:
            present = [name for name in columns if name in file.schema_arrow.names]
            rows = max(_BATCH_NUMBERS // max(len(present), 1), _FEWEST_ROWS)
            for batch in file.iter_batches(rows, list(piece.groups), present):
                yield pa.Table.from_batches([batch])


def _together(tables: list[Any]) -> Table:
    """Public tables, one under the other."""
    if not tables:
        raise SchemaError("the table has no rows: look at what was read or filtered before.")

    def joined() -> Any:
        if not any(isinstance(table, pd.DataFrame) for table in tables):
            import pyarrow as pa

            arrow = [pa.table(table) for table in tables]
            if all(table.schema.equals(arrow[0].schema) for table in arrow):
                return pa.concat_tables(arrow)
        frames = [t if isinstance(t, pd.DataFrame) else _pandas(t) for t in tables]
        return pd.concat(frames, ignore_index=True)

    return as_table(guarded(joined))


def _pandas(table: Any) -> pd.DataFrame:
    import pyarrow as pa

    frame: pd.DataFrame = pa.table(table).to_pandas()
    return frame


def _same_file(path: str, files: Any) -> Any:
    """What is equal for two names of one file: a file has one number, whatever leads to it."""
    while hasattr(files, "base_fs"):
        path, files = posixpath.join(files.base_path, path), files.base_fs
    kind = getattr(files, "type_name", "")
    known = local_file(path) if kind == "local" else None
    return known or (kind, posixpath.normpath(path))


def _groups_of(fragment: Any) -> list[int]:
    """The groups of rows of a part of a file; -1 where it has none by itself."""
    return [group.id for group in getattr(fragment, "row_groups", None) or ()] or [-1]


def _refuse_same_rows(fragments: Iterable[Any]) -> None:
    """Raise where parts of a dataset name rows of a file twice: by equal paths, folders or links.

    Which groups of rows a part has is looked at only where a file has several parts.
    """
    parts: dict[Any, list[Any]] = {}
    for fragment in fragments:
        if path := getattr(fragment, "path", None):  # None of a table in memory
            parts.setdefault(_same_file(path, fragment.filesystem), []).append(fragment)
    for several in parts.values():
        first: dict[int, str] = {}
        for fragment in several if len(several) > 1 else ():
            path = fragment.path
            for group in guarded(partial(_groups_of, fragment)):
                if group in first:
                    other = "" if first[group] == path else f" (once as '{first[group]}')"
                    raise SchemaError(f"'{path}' occurs twice in the data{other}{TWICE}")
                first[group] = path


def _folders(path: str) -> Folders:
    """Folders such as ``year=2020`` on the way to a file: names of columns and their texts.

    None where the name says that values are missing.
    """
    steps_down = [step.partition("=") for step in path.replace(os.sep, "/").split("/")[:-1]]
    return tuple(
        (name, None if text == _MISSING_FOLDER else unquote(text))
        for name, sign, text in steps_down
        if sign and name
    )


def _spelled(table: Any, folders: Folders) -> Any:
    """A public table with the columns that its folders name, as text."""
    import pyarrow as pa

    for name, text in folders:
        if name not in table.column_names:
            table = table.append_column(name, pa.array([text] * table.num_rows, pa.string()))
    return table


@dataclass(frozen=True, repr=False, eq=False)
class DaskPartitions(Opaque):
    """A Dask DataFrame; its partitions are read where Dask computes them (`executors`)."""

    frame: Any

    @cached_property
    def schema(self) -> Table:
        """A table without rows that shows the columns."""
        return as_table(self.frame._meta)

    def delayed(self, columns: Sequence[str]) -> list[Any]:
        """The partitions as Dask's promises, of these columns alone."""
        return list(self.frame[list(columns)].to_delayed())

    def read_all(self) -> Table:
        return as_table(self.frame.compute())
