"""Which table an object is; and that of a file, with the columns that folders name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpstats.errors import SchemaError
from dpstats.frame.arrow_table import ArrowTable
from dpstats.frame.keys import TRUTH, spelled_keys, texts_of
from dpstats.frame.pandas_table import PandasTable
from dpstats.frame.table import AS_READ, Array, Codes, ColumnType, Levels, Table, is_arrow


def as_table(data: Any) -> Table:
    """Open a table.

    Raises
    ------
    SchemaError
        If ``data`` is no table, has no row, or has columns of several levels.

    Examples
    --------
    >>> as_table(pd.DataFrame({"x": [1, 2]})).type_of("x")
    ColumnType(kind='number', label='int64')
    """
    if isinstance(data, pd.DataFrame):
        if isinstance(data.columns, pd.MultiIndex):
            raise SchemaError(
                "the table's columns are a MultiIndex; flatten them to one level of names first, "
                "e.g. data.columns = ['_'.join(c) for c in data.columns]."
            )
        if not all(isinstance(name, str) for name in data.columns):
            raise SchemaError(
                "the names of columns must be text; use data.columns = data.columns.map(str)."
            )
        return PandasTable(data)
    if is_arrow(data):
        return ArrowTable(data)
    raise SchemaError(
        f"a table is a pandas, polars or pyarrow DataFrame/Table, not {type(data).__name__}: "
        "write pandas.DataFrame(data)."
    )


def is_table(data: Any) -> TypeGuard[Table]:
    """Whether it is one of these tables already."""
    return isinstance(data, PandasTable | ArrowTable | FolderTable)


class FolderTable:
    """A table of one file, with the columns that the folders on the way to it name."""

    lists_names = True

    def __init__(self, table: Table, folders: Mapping[str, str | None]) -> None:
        self._table = table
        self._folders = {k: v for k, v in folders.items() if k not in table.names}
        self.n = table.n
        self.names = (*table.names, *self._folders)

    def type_of(self, name: str) -> ColumnType:
        # a text that may stand for a number, a level or True: whatever the design reads there
        if self._has(name):
            return ColumnType("missing", AS_READ, "category")
        return self._table.type_of(name)

    def declared_levels(self, name: str) -> Levels | None:
        return None if self._has(name) else self._table.declared_levels(name)

    def observed_levels(self, name: str) -> Levels:
        if not self._has(name):
            return self._table.observed_levels(name)
        text = self._folders[name]
        return () if text is None else (text,)

    def numbers(self, name: str, start: int, stop: int) -> Array:
        if not self._has(name):
            return self._table.numbers(name, start, stop)
        try:
            value = float(self._folders[name] or "nan")
        except ValueError:
            value = np.nan
        return np.full(stop - start, value)

    def codes(self, name: str, levels: Levels, start: int, stop: int) -> Codes:
        if not self._has(name):
            return self._table.codes(name, levels, start, stop)
        text = self._folders[name]
        if text is None:
            return np.full(stop - start, -1, dtype=np.intp)
        spelled = [
            text.lower() in TRUTH[level] if isinstance(level, bool) else text == str(level)
            for level in levels
        ]
        return np.full(stop - start, spelled.index(True) if any(spelled) else -1, dtype=np.intp)

    def keys(self, name: str, start: int, stop: int) -> npt.NDArray[Any]:
        if not self._has(name):
            return self._table.keys(name, start, stop)
        text = self._folders[name]
        key = None if text is None else text.encode("utf-8", "surrogatepass")
        return spelled_keys([key] * (stop - start))

    def texts(self, name: str, start: int, stop: int) -> npt.NDArray[Any]:
        if not self._has(name):
            return self._table.texts(name, start, stop)
        return texts_of([self._folders[name]] * (stop - start), encoded=False)

    def part(self, names: Sequence[str], start: int, stop: int) -> FolderTable:
        own = [name for name in names if not self._has(name)]
        return FolderTable(self._table.part(own, start, stop), self._folders)

    def _has(self, name: str) -> bool:
        return name in self._folders
