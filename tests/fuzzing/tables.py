"""Columns of every kind, tables with quirks, and fits of plain ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

import dpstats
from tests.fuzzing.values import NAMESPACE, NUMBER, TEXT, Rude

ROWS, PUBLIC_ROWS = 12, 24


def _numbers(role: str, n: int) -> np.ndarray:
    """Public: spread over [0, 1]. Private: all that a float can be; "other": nothing special."""
    state = np.random.Generator(np.random.PCG64(n + len(role)))
    values = np.asarray(state.random(n))
    if role == "private":
        odd = [NUMBER, math.nan, math.inf, -math.inf, 5e-324, 1e308, -0.0, -NUMBER, -1e308, 1e-310]
        values[: len(odd)] = odd[:n]
    return values


def _wild(role: str, n: int) -> np.ndarray:
    odd = [math.nan, math.inf, 1e308, -1e308, 5e-324, -0.0, 1.0]
    return np.resize(np.array(odd if role == "public" else [NUMBER, *odd]), n)


def _whole(role: str, n: int) -> np.ndarray:
    top = 918273 if role == "private" else 5
    return np.arange(n) * 7 % 5 + (top if role == "private" else 0)


def _texts(role: str, n: int) -> list[Any]:
    some = ["a", "b", "a", "b"] if role != "private" else [TEXT, "", "a", None, "b", "\n", "ä"]
    return [some[i % len(some)] for i in range(n)]


def _mixed(role: str, n: int) -> list[Any]:
    own: list[Any] = ["a", 1, None, 2.5, True]
    if role == "private":
        own = [TEXT, NUMBER, None, [TEXT], b"zqxcanary", Decimal("918273.5"), 918273.5j, Rude(), {}]
    return [own[i % len(own)] for i in range(n)]


def _objects(cells: list[Any]) -> pd.Series:
    values = np.empty(len(cells), dtype=object)
    for i, cell in enumerate(cells):
        values[i] = cell
    return pd.Series(values, dtype=object)


def _small(role: str, n: int, dtype: Any) -> pd.Series:
    with np.errstate(all="ignore"):
        return pd.Series((_whole(role, n) % 100).astype(dtype))


def _dates(role: str, n: int) -> pd.DatetimeIndex:
    return pd.date_range("1991-08-27" if role == "private" else "2000-01-01", periods=n)


COLUMNS: dict[str, Callable[[str, int], Any]] = {
    "float": lambda r, n: pd.Series(_numbers(r, n)),
    "zero_one": lambda r, n: pd.Series(np.arange(n) % 2.0 if r != "private" else _numbers(r, n)),
    "text": lambda r, n: pd.Series(_texts(r, n), dtype=object),
    "bool": lambda r, n: pd.Series(np.arange(n) % (2 if r == "public" else 3) == 0),
    "int64": lambda r, n: pd.Series(_whole(r, n)),
    "wild": lambda r, n: pd.Series(_wild(r, n)),
    "nans": lambda r, n: pd.Series(np.full(n, math.nan)),
    "zeros": lambda r, n: pd.Series(np.zeros(n)),
    "ones": lambda r, n: pd.Series(np.ones(n)),
    "negative": lambda r, n: pd.Series(-1.0 - _numbers("public", n)),
    "huge": lambda r, n: pd.Series(1e300 * (1 + _numbers("public", n))),
    "large": lambda r, n: pd.Series(1e150 * (1 + _numbers("public", n))),
    "far": lambda r, n: pd.Series(1e9 + _numbers("public", n)),
    "tiny": lambda r, n: pd.Series(1e-300 * (1 + _numbers("public", n))),
    "small": lambda r, n: pd.Series(1e-150 * (1 + _numbers("public", n))),
    "subnormal": lambda r, n: pd.Series(5e-324 * np.arange(n)),
    "outlier": lambda r, n: pd.Series(np.where(np.arange(n) == 1, 1e100, _numbers("public", n))),
    "minus_zero": lambda r, n: pd.Series(np.full(n, -0.0)),
    "int8": lambda r, n: _small(r, n, np.int8),
    "uint64": lambda r, n: pd.Series(np.arange(n, dtype=np.uint64) + np.uint64(2**64 - n - 1)),
    "float16": lambda r, n: _small(r, n, np.float16),
    "float32": lambda r, n: _small(r, n, np.float32),
    "longdouble": lambda r, n: _small(r, n, np.longdouble),
    "complex": lambda r, n: pd.Series(np.full(n, 918273.5j if r == "private" else 1j)),
    "Int64": lambda r, n: _small(r, n, np.int64).astype("Int64").mask(np.arange(n) == 1),
    "Float64": lambda r, n: _small(r, n, np.float64).astype("Float64").mask(np.arange(n) == 1),
    "boolean": lambda r, n: pd.Series(np.arange(n) % 2 == 0).astype("boolean"),
    "string": lambda r, n: pd.Series(_texts(r, n), dtype="string"),
    "arrow_text": lambda r, n: pd.Series(_texts(r, n), dtype=pd.ArrowDtype(pa.string())),
    "arrow_list": lambda r, n: pd.Series(
        [[NUMBER]] * n, dtype=pd.ArrowDtype(pa.list_(pa.float64()))
    ),
    "category": lambda r, n: pd.Series(pd.Categorical(_texts(r, n))),
    "ordered": lambda r, n: pd.Series(pd.Categorical(_texts(r, n), ordered=True)),
    "category_numbers": lambda r, n: pd.Series(pd.Categorical(_whole(r, n))),
    "category_dates": lambda r, n: pd.Series(pd.Categorical(_dates(r, n))),
    "category_mixed": lambda r, n: pd.Series(
        pd.Categorical(([TEXT, 1] if r == "private" else ["a", 1]) * (n // 2) + ["a"] * (n % 2))
    ),
    "many_levels": lambda r, n: pd.Series([f"level {i}" for i in range(n)], dtype=object),
    "thousand_levels": lambda r, n: pd.Series(
        pd.Categorical(["0"] * n, categories=[str(i) for i in range(600)])
    ),
    "one_level": lambda r, n: pd.Series(["a"] * n, dtype=object),
    "empty_text": lambda r, n: pd.Series(([""] + ["  ", "\t"] * n)[:n], dtype=object),
    "huge_text": lambda r, n: pd.Series(["x" * 100_000, "y" * 100_000] * n, dtype=object)[:n],
    "unicode": lambda r, n: pd.Series(
        (["\ud800", "\U0001f600", "\x00", "\u202e"] * n)[:n], dtype=object
    ),
    "numbers_as_text": lambda r, n: pd.Series([str(v) for v in _whole(r, n)], dtype=object),
    "bytes": lambda r, n: _objects([b"zqxcanary" if r == "private" else b"a"] * n),
    "mixed": lambda r, n: _objects(_mixed(r, n)),
    "objects_bool": lambda r, n: _objects(([True, False, None] * n)[:n]),
    "rude": lambda r, n: _objects([Rude() for _ in range(n)]),
    "nones": lambda r, n: _objects([None] * n),
    "datetime": lambda r, n: pd.Series(_dates(r, n)),
    "datetime_tz": lambda r, n: pd.Series(_dates(r, n).tz_localize("UTC")),
    "timedelta": lambda r, n: pd.Series(pd.to_timedelta(np.arange(n), unit="D")),
    "period": lambda r, n: pd.Series(_dates(r, n).to_period("D")),
    "interval": lambda r, n: pd.Series(pd.interval_range(0, n, periods=n) if n else []),
    "sparse": lambda r, n: pd.Series(pd.arrays.SparseArray(_numbers(r, n))),
    "sparse_int": lambda r, n: pd.Series(pd.arrays.SparseArray(_whole(r, n))),
}
PLAIN = {
    "y": "float",
    "x": "float",
    "z": "int64",
    "g": "text",
    "b": "bool",
    "w": "ones",
    "my col": "float",
}
ODD_NAMES = [
    "Intercept",
    "a`b",
    'q"q',
    "new\nline",
    "",
    "offset",
    "C",
    "x:z",
    "x[T.a]",
    "_quoted0_",
    "(weights)",
    "1",
]
QUIRKS = (
    "",
    "duplicate_names",
    "multiindex_columns",
    "number_names",
    "duplicate_index",
    "multiindex_rows",
    "no_columns",
    "no_x",
    "no_y",
    "odd_names",
    "collinear",
    "rude_index",
    "wide",
    "datetime_names",
    "read_only",
)
NO_TABLES = (
    "None",
    "3",
    "''",
    "'no/such/file.parquet'",
    "'\\x00'",
    "'x' * 5000",
    "b'zqxcanary'",
    "{'y': [918273.5]}",
    "[[1.0, 918273.5]]",
    "[]",
    "()",
    "(i for i in [918273.5])",
    "np.array([918273.5, 2.0])",
    "np.zeros((3, 3))",
    "np.array(918273.5)",
    "pd.Series([918273.5, 1.0], name='x')",
    "pd.Index([918273.5])",
    "pd.DataFrame",
    "shout",
    "lambda: 3",
    "lambda: None",
    "lambda: [918273.5]",
    "lambda: []",
    "lambda x: x",
    "lambda: (shout() for i in range(2))",
    "[pd.DataFrame({'y': [918273.5]}), pd.DataFrame({'x': ['zqxcanary']})]",
    "[pd.DataFrame(), pd.DataFrame()]",
    "[None, None]",
    "['no/such.parquet']",
    "['', '']",
    "'*'",
    "'**'",
    "'s3://'",
    "'/dev/null'",
    "'~'",
    "Thing()",
    "Rude()",
    "math",
    "pl.DataFrame({'y': [918273.5]}).lazy()",
    "pl.Series('x', [918273.5])",
    "pa.array([918273.5])",
    "pa.chunked_array([[918273.5]])",
    "pa.record_batch({'y': [918273.5]})",
    "pa.table({'y': [918273.5]}).to_reader()",
    "types.SimpleNamespace(to_delayed=1, npartitions=1, columns=1)",
    "types.SimpleNamespace(__arrow_c_stream__=shout)",
    "types.SimpleNamespace(__arrow_c_stream__=1)",
    "float('nan')",
    "True",
    "range(3)",
    "{1, 2}",
)


@dataclass(frozen=True)
class Table:
    """A table by the kinds of its columns."""

    kinds: tuple[tuple[str, str], ...] = tuple(PLAIN.items())
    n: int = ROWS
    quirk: str = ""
    library: str = "pandas"

    def build(self, role: str) -> Any:
        kinds = dict(self.kinds)
        if self.quirk in ("no_x", "no_y"):
            kinds.pop(self.quirk[3:])
        columns = {name: COLUMNS[kind](role, self.n) for name, kind in kinds.items()}
        index = pd.RangeIndex(self.n)
        frame = pd.DataFrame(
            {name: column.set_axis(index) for name, column in columns.items()}, index=index
        )
        frame = _quirky(frame, self.quirk, TEXT if role != "public" else "row")
        if self.library == "pandas":
            return frame
        if self.library == "function":
            return lambda: [frame.iloc[: self.n // 2], frame.iloc[self.n // 2 :]]
        if self.library == "list":
            return [frame, frame]
        try:
            arrow = pa.Table.from_pandas(frame, preserve_index=False)
            return arrow if self.library == "pyarrow" else pl.from_arrow(arrow)
        except BaseException:  # a kind that the library does not have; polars panics
            return frame


def _quirky(frame: pd.DataFrame, quirk: str, label: str) -> pd.DataFrame:
    n = len(frame)
    if quirk == "duplicate_names":
        return pd.concat([frame, frame[["x"]]], axis=1)
    if quirk == "multiindex_columns":
        return frame.set_axis(pd.MultiIndex.from_product([["t"], frame.columns]), axis=1)
    if quirk == "number_names":
        return frame.set_axis(range(frame.shape[1]), axis=1)
    if quirk == "datetime_names":
        return frame.set_axis(pd.date_range("2000-01-01", periods=frame.shape[1]), axis=1)
    if quirk == "duplicate_index":
        return frame.set_axis(np.zeros(n, dtype=int), axis=0)
    if quirk == "multiindex_rows":
        return frame.set_axis(pd.MultiIndex.from_arrays([np.arange(n), [label] * n]), axis=0)
    if quirk == "rude_index":
        return frame.set_axis(pd.Index([label] * n, name=label), axis=0)
    if quirk == "no_columns":
        return frame[[]]
    if quirk == "odd_names":
        return pd.concat([frame, *[frame["x"].rename(name) for name in ODD_NAMES]], axis=1)
    if quirk == "collinear":
        return frame.assign(z=frame["x"], w=frame["x"])
    if quirk == "wide":
        return pd.concat([frame, *[frame["x"].rename(f"v{i}") for i in range(300)]], axis=1)
    return frame


@cache
def fitted(kind: str = "dp_lm") -> Any:
    """A fit of plain tables, or one of statsmodels: what may stand in a table of fits."""
    public, data = Table(n=60).build("public"), Table(n=60).build("other")
    if kind == "open":
        import statsmodels.formula.api as smf

        return smf.ols("y ~ x + z", public).fit()
    if kind == "dp_glm":
        return dpstats.dp_glm("b ~ x", data, public, mu=1, seed=1)
    if kind == "eptr_lm":
        return dpstats.eptr_lm("y ~ x", data, public, epsilon=1, delta=0.01, seed=1)
    if kind == "moments":
        moments = dpstats.public_moments("~ x + g", public)
        return dpstats.dp_lm("y ~ x + g", data, moments, mu=1, seed=1)
    return dpstats.dp_lm("y ~ x + g", data, public, mu=1, seed=1)


NAMESPACE["fitted"] = fitted
