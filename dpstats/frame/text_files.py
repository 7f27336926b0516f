"""Text files of rows (CSV), read by pyarrow some megabytes at a time.

Cells are text, and what a cell stands for is decided cell by cell from what the design reads there: a
number, a level, a truth value. Types that are guessed from all cells would change with one of them.
Whether a file can be read (quotes that end, rows of one length, none of them longer than `_BLOCK`) is
public, as for every source. So is its number of rows: in a file of one column that ends without a line
end, a last cell that is empty is no row. No message lists the names of columns: where a file has none,
they are those of a row.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpstats.errors import SchemaError, suppress_private_errors
from dpstats.frame.arrow_table import ArrowTable
from dpstats.frame.keys import NUMBER, TRUTH, spelled_keys
from dpstats.frame.paths import TWICE, local_file, named_files
from dpstats.frame.reading import OneTable, steps
from dpstats.frame.table import (
    AS_READ,
    Array,
    Codes,
    ColumnType,
    Levels,
    Opaque,
    Table,
    number_codes,
)
from dpstats.frame.tables import as_table

ENDINGS = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")
_BLOCK = 2**24  # bytes of a file at a time
_NUMBER = rf"^[ \t]*{NUMBER}[ \t]*$"
_MISSING = (
    *("", "NA", "N/A", "n/a", "NaN", "nan", "-NaN", "-nan", "<NA>", "#N/A", "#NA", "#N/A N/A"),
    *("NULL", "null", "None", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
)
"""Cells that are missing values, as for pandas' read_csv."""


def names_text(path: Any) -> bool:
    """Whether a path, or a pattern of paths, ends as a text file of rows does."""
    return str(os.fspath(path)).lower().endswith(ENDINGS)


class TextTable(ArrowTable):
    """Rows whose cells are text, in bytes; a cell that is not what the design reads is missing."""

    lists_names = False

    def type_of(self, name: str) -> ColumnType:
        super().type_of(name)  # which refuses a name that several columns have
        return ColumnType("missing", AS_READ, "category")

    def declared_levels(self, name: str) -> Levels | None:
        return None

    def numbers(self, name: str, start: int, stop: int) -> Array:
        import pyarrow.compute as pc

        cells = self._table.column(name).slice(start, stop - start)
        number = pc.match_substring_regex(cells, _NUMBER)
        kept = pc.if_else(number, cells, None).cast(self._pa.string())
        plain = pc.utf8_ltrim(pc.utf8_trim_whitespace(kept), "+")
        return np.asarray(plain.cast(self._pa.float64()).to_numpy(), dtype=np.float64)

    def codes(self, name: str, levels: Levels, start: int, stop: int) -> Codes:
        if isinstance(levels[0], bool):
            cells = self._part_cells(name, start, stop)
            spelled = {t.encode(): k for k, level in enumerate(levels) for t in TRUTH[bool(level)]}
            found = (
                -1 if cell is None else spelled.get(cell.strip().lower(), -1) for cell in cells
            )
            return np.fromiter(found, dtype=np.intp, count=len(cells))
        if not isinstance(levels[0], str):
            return number_codes(self.numbers(name, start, stop), levels)
        return super().codes(name, levels, start, stop)

    def keys(self, name: str, start: int, stop: int) -> npt.NDArray[Any]:
        return spelled_keys(self._part_cells(name, start, stop))

    def part(self, names: Sequence[str], start: int, stop: int) -> TextTable:
        return TextTable(self._table.select(list(names)).slice(start, stop - start))


@dataclass(frozen=True, repr=False, eq=False)
class TextFiles(Opaque):
    """Text files with a line of names; those of the first file are the columns."""

    paths: tuple[str, ...]
    names: tuple[str, ...]

    @classmethod
    def open(cls, paths: Sequence[str | os.PathLike[str]]) -> TextFiles:
        try:
            import pyarrow.csv  # noqa: F401
        except ImportError:
            raise SchemaError(
                "reading text files in blocks needs pyarrow: pip install pyarrow. Or read the file "
                "whole: data=pd.read_csv(path)."
            ) from None
        found = [path for one in paths for path in named_files(os.fspath(one))]
        for path in found:
            if "://" in path:
                raise SchemaError(
                    f"'{path}' is an address, and text files are read from this machine: download the "
                    "file, or read it, data=pd.read_csv(address)."
                )
        if len({local_file(path) or path for path in found}) < len(found):
            raise SchemaError(f"a file is named twice in the data{TWICE}")
        heads: list[tuple[str, ...]] = []
        for path in found:
            head = suppress_private_errors(partial(_names, path))
            if head == ():
                raise SchemaError(
                    f"'{path}' is empty, or its first line is: it must hold the names of the columns."
                )
            if head is None or any(name != _as_utf8(name) for name in head):
                raise SchemaError(
                    f"'{path}' cannot be read as a text file with column names in its first line. It "
                    "must be UTF-8: convert it, or read it, data=pd.read_csv(path, encoding='latin1')."
                )
            if any(not name.strip() or re.fullmatch(NUMBER, name.strip()) for name in head):
                raise SchemaError(
                    f"the first line of '{path}' holds a number or an empty cell; it must hold the "
                    "names of the columns: write them above the rows. A file with row names or an index "
                    "is read as data=pd.read_csv(path, index_col=0)."
                )
            heads.append(head)
        for path, head in zip(found, heads, strict=True):
            if set(head) != set(heads[0]):
                raise SchemaError(f"'{path}' and '{found[0]}' have different columns.")
        return cls(tuple(found), heads[0])

    @property
    def schema(self) -> TextTable:
        """A table without rows that shows the columns."""
        import pyarrow as pa

        nothing = [pa.array([], pa.binary())] * len(self.names)
        return TextTable(pa.table(nothing, names=list(self.names)))

    def size(self, check: Callable[[Table], None], advance: Callable[[int], None]) -> int:
        check(self.schema)
        n = 0
        for table in self.tables(self.names[:1]):
            n += table.n
            advance(table.n)
        return n

    def tables(self, columns: Sequence[str]) -> Iterator[Table]:
        for path in self.paths:
            yield from steps(self._blocks(path, columns))

    def parts(self, columns: Sequence[str]) -> Iterator[OneTable]:
        for table in self.tables(columns):
            yield OneTable(table)

    def read_all(self) -> Table:
        """Public rows, with the types that pandas finds."""
        frames = suppress_private_errors(
            lambda: [pd.read_csv(path, sep=_separator(path)) for path in self.paths]
        )
        if frames is None:
            raise SchemaError(
                "the public file cannot be read by pandas: give pd.read_csv(path, ...)."
            )
        return as_table(pd.concat(frames, ignore_index=True))

    def _blocks(self, path: str, columns: Sequence[str]) -> Iterator[Table]:
        import pyarrow as pa
        import pyarrow.compute as pc
        import pyarrow.csv as pacsv

        missing = pa.array([text.encode() for text in _MISSING], pa.binary())
        wanted = [name for name in self.names if name in columns] or [self.names[0]]
        read = pacsv.ConvertOptions(
            column_types=dict.fromkeys(self.names, pa.binary()),
            include_columns=wanted,
            strings_can_be_null=False,
            check_utf8=False,
        )
        parse = pacsv.ParseOptions(
            delimiter=_separator(path),
            newlines_in_values=True,
            # of one column an empty line is a row whose cell is missing
            ignore_empty_lines=len(self.names) > 1,
        )
        size = pacsv.ReadOptions(block_size=_BLOCK)
        for batch in pacsv.open_csv(path, size, parse, read):
            cells = [
                pc.if_else(pc.is_in(column, missing), pa.scalar(None, pa.binary()), column)
                for column in batch.columns
            ]
            yield TextTable(pa.table(cells, names=batch.schema.names))


def _names(path: str) -> tuple[str, ...]:
    """The first line alone: no row is read for it."""
    import pyarrow as pa

    with pa.input_stream(path, compression="detect") as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="surrogateescape", newline="")
        return tuple(next(csv.reader(text, delimiter=_separator(path)), ()))


def _as_utf8(name: str) -> str:
    """The name without what is no UTF-8."""
    return name.encode("utf-8", "ignore").decode("utf-8")


def _separator(path: str) -> str:
    return "\t" if ".tsv" in os.path.basename(path).lower() else ","
