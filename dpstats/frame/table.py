"""Tables in memory as columns of numbers and codes, a slab of rows at a time.

What a table may be: a pandas DataFrame, or anything with ``__arrow_c_stream__`` (polars, pyarrow,
DuckDB). Only names and types of columns are looked at when a table is opened; every reader of
values is total, so that no cell of a private row can raise. (What a call may read from, tables in memory
among it, is in `source`.)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpstats.arguments import number, numbers
from dpstats.errors import SchemaError
from dpstats.frame.keys import NUMPY_NUMBERS, keys_of, spelled_keys, texts_of

Array = npt.NDArray[np.float64]
Codes = npt.NDArray[np.intp]
Levels = tuple[Any, ...]
Kind = Literal["number", "bool", "category", "object", "missing", "datetime", "other"]

WORDS = {
    "number": "numbers",
    "bool": "True/False",
    "category": "categories",
    "object": "Python objects",
    "missing": "only missing values",
    "datetime": "dates or times",
    "other": "values of a type that has no place in a formula",
}
AS_READ = "text of a folder or file"
"""Label of a column that folders name, or of a text file: its kind is what the design reads there."""
_NUMBERS = (
    "turn it into numbers first, e.g. pd.to_numeric(column), after column.str.replace(',', '') where "
    "thousands are separated"
)
ADVICE = {
    "datetime": "turn it into a number first, e.g. (t - pd.Timestamp('2020-01-01')).dt.days",
    "object": _NUMBERS,
    "category": _NUMBERS,
    "other": "turn it into numbers, booleans or strings first",
}


def advice_on_levels(levels: Sequence[Any]) -> str:
    """A sentence where all levels, which are public or released, are numbers written as text."""
    texts = bool(levels) and all(isinstance(level, str) for level in levels)
    if not texts or numbers(list(levels)) is None:
        return ""
    return f" Its levels are numbers written as text: {ADVICE['category']}."


class Opaque:
    """What is shown by its kind alone, because its fields hold rows."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


@dataclass(frozen=True)
class ColumnType:
    """The type of a column, from the schema of its table."""

    kind: Kind
    label: str  # the type as the table's library writes it
    values: Kind | None = field(default=None, repr=False)
    """Of categories: the kind of the values that they stand for."""
    ordered: bool = field(default=False, repr=False)
    """Whether the type says that its levels have an order, as R's ordered() does."""


class Table(Protocol):
    """A table of n rows, readable by position as often as one likes."""

    @property
    def n(self) -> int: ...

    @property
    def names(self) -> tuple[str, ...]: ...

    @property
    def lists_names(self) -> bool:
        """Whether a message may list the names: not where they may be the cells of a first row."""

    def type_of(self, name: str) -> ColumnType: ...

    def declared_levels(self, name: str) -> Levels | None:
        """Levels that the type itself declares, in its order. For public tables only."""

    def observed_levels(self, name: str) -> Levels:
        """Sorted levels among the rows. For public tables only."""

    def numbers(self, name: str, start: int, stop: int) -> Array:
        """Rows start:stop as float64, NaN where missing; possibly a view: do not write to it."""

    def codes(self, name: str, levels: Levels, start: int, stop: int) -> Codes:
        """Rows start:stop as positions in ``levels``, -1 where missing or unknown."""

    def keys(self, name: str, start: int, stop: int) -> npt.NDArray[Any]:
        """Rows start:stop as names of persons, in bytes; None where a cell names nobody."""

    def texts(self, name: str, start: int, stop: int) -> npt.NDArray[Any]:
        """Rows start:stop as text, in bytes; None where a cell is none, as `codes` sees it."""

    def part(self, names: Sequence[str], start: int, stop: int) -> Table:
        """Rows start:stop of some columns, as a table that can be pickled without the others."""


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


def is_table(data: Any) -> bool:
    """Whether it is one of this module's tables."""
    return isinstance(data, PandasTable | ArrowTable | FolderTable)


def is_arrow(data: Any) -> bool:
    """Whether an object hands out Arrow data."""
    return not isinstance(data, type) and hasattr(data, "__arrow_c_stream__")


def slices(n: int, size: int) -> Iterator[tuple[int, int]]:
    """Consecutive (start, stop) that cover n rows."""
    for start in range(0, n, size):
        yield start, min(start + size, n)


def _finite(value: Any) -> bool:
    size = number(value)
    return size is not None and math.isfinite(size)


def check_levels(name: str, levels: Iterable[Any]) -> Levels:
    """Levels as plain Python values, all text, all numbers, or all True/False."""
    plain = tuple(v.item() if isinstance(v, np.generic) else v for v in levels)
    groups = {str if isinstance(v, str) else bool if isinstance(v, bool) else float for v in plain}
    known = all(isinstance(v, str | bool) or _finite(v) for v in plain)
    if len(groups) > 1 or not known or len(set(plain)) < len(plain):
        raise SchemaError(
            f"the levels of `{name}` must be distinct and all text, all numbers or all True/False; "
            f"use {name}.astype(str)."
        )
    return plain


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
            values = _coded(dtype.pyarrow_dtype)
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
        frame = self._frame.iloc[start:stop][list(names)]
        # cells that are objects count nowhere, and need not survive a journey
        # (as a Series of objects: pandas would look for text, and fail on what is none)
        odd = {
            name: pd.Series(_plain(frame[name].to_numpy()), frame.index, dtype=object)
            for name in names
            if frame[name].dtype == object
        }
        return PandasTable(frame.assign(**odd) if odd else frame)

    def codes(self, name: str, levels: Levels, start: int, stop: int) -> Codes:
        column = self._column(name)
        dtype = column.dtype
        part = column.iloc[start:stop]
        if isinstance(dtype, pd.CategoricalDtype):
            position = np.append(_positions(dtype.categories.to_numpy(object), levels), -1)
            return np.asarray(position[part.cat.codes.to_numpy()], dtype=np.intp)
        if _pandas_kind(dtype) == "bool":
            values = part.to_numpy(dtype=np.float64, na_value=np.nan)
            return _bool_codes(values)
        if _held_by_arrow(dtype):
            return _arrow_codes([part.array.__arrow_array__().combine_chunks()], levels)
        return _positions(part.to_numpy(object), levels)


"""How a text spells a number, in the words of Python's expressions and of Arrow's."""


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
        return _cells(part.array.__arrow_array__().combine_chunks())
    if pd.api.types.is_float_dtype(dtype):
        own: Any = getattr(dtype, "numpy_dtype", getattr(dtype, "subtype", dtype))
        return list(part.to_numpy(dtype=own, na_value=np.nan))
    return part.to_numpy(object)


def _plain(cells: Iterable[Any]) -> npt.NDArray[Any]:
    """Cells of the types that levels or names of persons may have, and None for all others."""
    known = [
        cell if type(cell) in _PLAIN_TYPES or (type(cell) is Decimal and cell.is_finite()) else None
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
        return _arrow_kind(dtype.pyarrow_dtype)
    if types.is_string_dtype(dtype):
        return "category"
    return "datetime" if getattr(dtype, "kind", "") in "mM" else "other"


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
        table = None
        try:
            table = pa.table(data)
        except Exception:
            table = None
        if table is None:
            # raised outside the handler: an engine's error may quote the cell that it stumbled over
            raise SchemaError(
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
        return ColumnType(_arrow_kind(type_), str(type_), _coded(type_), ordered)

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
        return [cell for chunk in chunks for cell in _cells(chunk)]

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
            return _bool_codes(self.numbers(name, start, stop))
        return _arrow_codes(part.chunks, levels)


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
            text == level if isinstance(level, str) else text.lower() == str(level).lower()
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


def _cells(array: Any) -> list[Any]:
    """The cells of an array; text as bytes, because a cell that is not valid text must not raise.

    Floats come in the array's own type, which determines their precision.
    """
    import pyarrow as pa

    if pa.types.is_dictionary(array.type):
        values = [*_cells(array.dictionary), None]
        return [values[i] for i in array.indices.cast(pa.int64()).fill_null(-1).to_numpy()]
    if pa.types.is_floating(array.type):
        return list(array.to_numpy(zero_copy_only=False))
    text = _arrow_kind(array.type) == "category"
    cells: list[Any] = (array.cast(pa.large_binary()) if text else array).to_pylist()
    return cells


def _arrow_codes(chunks: Iterable[Any], levels: Levels) -> Codes:
    """Positions in ``levels`` of Arrow text or dictionaries."""
    import pyarrow as pa

    codes = [np.empty(0, dtype=np.intp)]
    for chunk in chunks:
        if not pa.types.is_dictionary(chunk.type):
            chunk = chunk.cast(pa.large_binary()).dictionary_encode()
        values, keys = chunk.dictionary, levels
        if _arrow_kind(values.type) == "category":
            # as bytes: a cell that is not valid text must not raise
            values = values.cast(pa.large_binary())
        if isinstance(levels[0], str):
            keys = tuple(level.encode("utf-8", "surrogatepass") for level in levels)
        position = np.append(_positions(values.to_pylist(), keys), -1)
        codes.append(position[chunk.indices.cast(pa.int64()).fill_null(-1).to_numpy()])
    return np.asarray(np.concatenate(codes), dtype=np.intp)


def _coded(type_: Any) -> Kind | None:
    """The kind of what the codes of a dictionary stand for; None where there are none."""
    import pyarrow as pa

    return _arrow_kind(type_.value_type) if pa.types.is_dictionary(type_) else None


def _arrow_kind(type_: Any) -> Kind:
    import pyarrow as pa

    types = pa.types
    if types.is_boolean(type_):
        return "bool"
    if types.is_integer(type_) or types.is_floating(type_) or types.is_decimal(type_):
        return "number"
    if types.is_dictionary(type_):
        inner = _arrow_kind(type_.value_type)
        return "category" if inner in ("number", "bool", "category") else inner
    if types.is_string(type_) or types.is_large_string(type_) or types.is_string_view(type_):
        return "category"
    if types.is_null(type_):
        return "missing"
    return "datetime" if types.is_temporal(type_) else "other"


_PLAIN_TYPES = {str, np.str_, bytes, bool, np.bool_, int, float, *NUMPY_NUMBERS}


def _positions(values: Sequence[Any] | npt.NDArray[Any], levels: Levels) -> Codes:
    """Position of each value in ``levels``, -1 when it is none of them.

    Only values of the levels' own type are looked up: 1 is not True, and a cell that cannot be
    hashed or compared is simply unknown.
    """
    known: set[Any]
    if isinstance(levels[0], str):
        known = {str, np.str_}
    elif isinstance(levels[0], bool):
        known = {bool, np.bool_}
    elif isinstance(levels[0], bytes):
        known = {bytes}
    else:
        known = {int, float, *NUMPY_NUMBERS}
    get = {level: i for i, level in enumerate(levels)}.get
    return np.fromiter(
        (get(v, -1) if type(v) in known else -1 for v in values), dtype=np.intp, count=len(values)
    )


def _bool_codes(values: Array) -> Codes:
    missing = np.isnan(values)
    return np.where(missing, -1, np.where(missing, 0.0, values) != 0).astype(np.intp)
