"""A pandas DataFrame as a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpstats.errors import SchemaError
from dpstats.frame.arrow_table import arrow_cells, arrow_codes, arrow_kind, coded_kind
from dpstats.frame.keys import BYTES, NUMBERS, TEXTS, TRUTHS, keys_of, texts_of
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

_PLAIN = TEXTS | BYTES | TRUTHS | NUMBERS


class PandasTable:
    """A pandas DataFrame; its index plays no part."""

    lists_names = True

    def __init__(self, frame: pd.DataFrame) -> None:
        self._frame = frame
        self.n = len(frame)
        self.names = tuple(frame.columns)
        self._columns: dict[str, pd.Series[Any]] = {}
        self._arrays: dict[str, npt.NDArray[Any]] = {}
        self._types: dict[str, ColumnType] = {}

    def _column(self, name: str) -> pd.Series[Any]:
        if name not in self._columns:
            if self.names.count(name) > 1:
                raise SchemaError(f"the table has several columns called `{name}`; rename them.")
            self._columns[name] = self._frame[name]
        return self._columns[name]

    def type_of(self, name: str) -> ColumnType:
        if name not in self._types:
            self._types[name] = self._type_of(name)
        return self._types[name]

    def _type_of(self, name: str) -> ColumnType:
        dtype = self._column(name).dtype
        if isinstance(dtype, np.dtype):
            return _numpy_type(dtype)
        values: Kind | None = None
        if isinstance(dtype, pd.CategoricalDtype):
            values = _pandas_kind(dtype.categories.dtype) if len(dtype.categories) else "missing"
        elif isinstance(dtype, pd.ArrowDtype):
            values = coded_kind(dtype.pyarrow_dtype)
        return ColumnType(
            _pandas_kind(dtype), str(dtype), values, bool(getattr(dtype, "ordered", False))
        )

    def declared_levels(self, name: str) -> Levels | None:
        dtype = self._column(name).dtype
        if isinstance(dtype, pd.CategoricalDtype):
            return check_levels(name, dtype.categories)
        return None

    def observed_levels(self, name: str) -> Levels:
        values = self._column(name).to_numpy(object)
        present = [v for v, missing in zip(values, pd.isna(values), strict=True) if not missing]
        if not all(isinstance(v, str | bool | np.bool_) for v in present):
            raise SchemaError(
                f"the public column `{name}` holds Python objects other than text; use "
                "pd.to_numeric(column) if they are numbers, column.astype(str) if they are names."
            )
        levels = check_levels(name, set(present))
        return tuple(sorted(levels))

    def numbers(self, name: str, start: int, stop: int) -> Array:
        values = self._arrays.get(name)
        if values is None:
            column = self._column(name)
            if not isinstance(column.dtype, np.dtype):
                return column.iloc[start:stop].to_numpy(dtype=np.float64, na_value=np.nan)
            values = self._arrays[name] = column.to_numpy()
        if values.dtype == np.float64:
            return values[start:stop]
        with np.errstate(all="ignore"):
            return values[start:stop].astype(np.float64)

    def keys(self, name: str, start: int, stop: int) -> npt.NDArray[Any]:
        part = self._column(name).iloc[start:stop]
        dtype = part.dtype
        if isinstance(dtype, np.dtype) and dtype.kind in "iu":  # each number is named once
            codes, numbers = pd.factorize(part.to_numpy())
            return np.asarray(keys_of(numbers, typed=True)[codes])
        named = dtype.categories.dtype if isinstance(dtype, pd.CategoricalDtype) else dtype
        return keys_of(_pandas_cells(part), typed=not pd.api.types.is_object_dtype(named))

    def texts(self, name: str, start: int, stop: int) -> npt.NDArray[Any]:
        part = self._column(name).iloc[start:stop]
        dtype = part.dtype
        named = dtype.categories.dtype if isinstance(dtype, pd.CategoricalDtype) else dtype
        return texts_of(_pandas_cells(part), encoded=_held_by_arrow(named))

    def part(self, names: Sequence[str], start: int, stop: int) -> PandasTable:
        # no label of a row, and no cell that is an object, goes on a journey: it may not survive one
        cells = {name: _portable(self._column(name).iloc[start:stop]) for name in names}
        columns = {name: pd.Series(c, dtype=c.dtype, copy=False) for name, c in cells.items()}
        return PandasTable(pd.DataFrame(columns, pd.RangeIndex(stop - start), copy=False))

    def codes(self, name: str, levels: Levels, start: int, stop: int) -> Codes:
        column = self._column(name)
        dtype = column.dtype
        part = column.iloc[start:stop]
        if isinstance(dtype, pd.CategoricalDtype):
            position = np.append(positions_of(dtype.categories.to_numpy(object), levels), -1)
            return np.asarray(position[part.cat.codes.to_numpy()], dtype=np.intp)
        kind = _pandas_kind(dtype)
        if kind == "bool":
            values = part.to_numpy(dtype=np.float64, na_value=np.nan)
            return bool_codes(values)
        if kind == "number":
            return number_codes(self.numbers(name, start, stop), levels)
        if _held_by_arrow(dtype):
            return arrow_codes([part.array.__arrow_array__().combine_chunks()], levels)
        return positions_of(part.to_numpy(object), levels)


def _held_by_arrow(dtype: Any) -> bool:
    """Whether a pandas column keeps its cells in Arrow's memory."""
    pyarrow_text = isinstance(dtype, pd.StringDtype) and dtype.storage == "pyarrow"
    return pyarrow_text or isinstance(dtype, pd.ArrowDtype)


def _pandas_cells(part: pd.Series[Any]) -> Sequence[Any] | npt.NDArray[Any]:
    """The cells of a column; floats in the column's own type, which determines their precision."""
    dtype = part.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        values = [*_pandas_cells(pd.Series(dtype.categories)), None]
        return [values[code] for code in part.cat.codes]
    if _held_by_arrow(dtype):
        return arrow_cells(part.array.__arrow_array__().combine_chunks())
    if pd.api.types.is_float_dtype(dtype):
        own: Any = getattr(dtype, "numpy_dtype", getattr(dtype, "subtype", dtype))
        return list(part.to_numpy(dtype=own, na_value=np.nan))
    return part.to_numpy(object)


def _portable(column: Any) -> Any:
    """An array of the type of a column or an index, which any process can unpickle.

    A cell that is of no type of levels or of names of persons is missing there, as it is where it
    counts.
    """
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        cells = _portable(dtype.categories)
        levels = pd.Index(cells, dtype=cells.dtype)
        kept = levels.notna()
        position = np.append(np.where(kept, np.cumsum(kept) - 1, -1), -1)
        plain = pd.CategoricalDtype(levels[kept], dtype.ordered)
        return pd.Categorical.from_codes(position[column.array.codes], dtype=plain)
    if pd.api.types.is_object_dtype(dtype):
        return _plain(column.to_numpy(object), _PLAIN)
    if isinstance(dtype, pd.StringDtype) and not _held_by_arrow(dtype):
        return pd.array(_plain(column.to_numpy(object), TEXTS), dtype=dtype)
    return column.array


def _plain(cells: Iterable[Any], kinds: frozenset[int]) -> npt.NDArray[Any]:
    """Cells of these types and finite decimal numbers, and None for all others."""
    known = [
        cell if id(type(cell)) in kinds or (type(cell) is Decimal and cell.is_finite()) else None
        for cell in cells
    ]
    plain = np.empty(len(known), dtype=object)
    plain[:] = known
    return plain


@lru_cache(maxsize=64)
def _numpy_type(dtype: np.dtype[Any]) -> ColumnType:
    """One of a few, which most columns of most tables have."""
    return ColumnType(_pandas_kind(dtype), str(dtype), None, False)


def _pandas_kind(dtype: Any) -> Kind:
    types = pd.api.types
    if isinstance(dtype, pd.CategoricalDtype):
        return "category"
    if types.is_bool_dtype(dtype):
        return "bool"
    if types.is_numeric_dtype(dtype):
        return "other" if types.is_complex_dtype(dtype) else "number"
    if types.is_object_dtype(dtype):
        return "object"
    if isinstance(dtype, pd.ArrowDtype):
        return arrow_kind(dtype.pyarrow_dtype)
    if types.is_string_dtype(dtype):
        return "category"
    return "datetime" if getattr(dtype, "kind", "") in "mM" else "other"
