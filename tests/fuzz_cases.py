"""Hostile calls of every public function, as lists of changes to a call that works.

A case is a function and a few changes to a plain call of it: an argument, the kind of a column of a
table, the number of rows, a quirk of a table, or an argument of what is asked of the result. A case
prints as what it changes, and becomes smaller by leaving changes out. `run` says what went wrong:

- an exception that is not the package's own, anywhere;
- a warning that is not a `PlanWarning`;
- a private value in anything that is said: errors with their causes, warnings, pages;
- another outcome for another private table with the same names, kinds and number of rows;
- a call that takes long, or a lot of memory.
"""

from __future__ import annotations

import math
import pickle
import re
import resource
import signal
import time
import traceback
import types
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from hypothesis import strategies as st

import dpstats
from dpstats import PublicMoments
from dpstats.errors import DPStatsError, PlanWarning

CANARIES = ("918273", "zqxcanary")
NUMBER, TEXT = 918273.5, "zqxcanary"
SECONDS, PATIENCE, MEGABYTES = 2.0, 20, 1000
_ROWS, _PUBLIC_ROWS = 12, 24
_SHOWN = 300


class Rude:
    """A cell that refuses whatever is asked of it, and says what it holds."""

    def _refuse(self, *_: object) -> Any:
        raise RuntimeError(f"{TEXT} {NUMBER}")

    __float__ = __int__ = __bool__ = __len__ = __hash__ = __eq__ = __lt__ = _refuse
    __str__ = __repr__ = __array__ = __iter__ = __format__ = _refuse  # type: ignore[assignment]


class Thing:
    """An object of no use, which prints the same each time."""

    def __repr__(self) -> str:
        return "<a thing>"


def shout(*seen: object) -> Any:
    """A function of the data that fails with what it saw."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what printing a table warns of is its library's
        text = repr(seen)
    raise ValueError(f"seen: {text}")


# ---------------------------------------------------------------------------------------------
# values


class Code:
    """A value by the text that makes it, anew each time; equal and printed as that text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def make(self) -> Any:
        return eval(self.text, dict(_NAMESPACE))

    def __repr__(self) -> str:
        return self.text if len(self.text) < _SHOWN else f"{self.text[:_SHOWN]}..."

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Code) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)


_NAMESPACE: dict[str, Any] = {
    "np": np,
    "pd": pd,
    "pl": pl,
    "pa": pa,
    "math": math,
    "nan": math.nan,
    "inf": math.inf,
    "Decimal": Decimal,
    "Fraction": Fraction,
    "date": date,
    "types": types,
    "shout": shout,
    "dpstats": dpstats,
    "Rude": Rude,
    "Thing": Thing,
}


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


def alike(params: Any, bse: Any, **more: Any) -> Any:
    """What looks like a fit of statsmodels."""
    return types.SimpleNamespace(params=params, bse=bse, **more)


_NAMESPACE |= {"fitted": fitted, "alike": alike}


def codes(*texts: str) -> st.SearchStrategy[Any]:
    """One of these values."""
    return st.sampled_from([Code(text) for text in texts])


def made(value: Any) -> Any:
    return value.make() if isinstance(value, Code) else value


# ---------------------------------------------------------------------------------------------
# columns and tables


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
    n: int = _ROWS
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


# ---------------------------------------------------------------------------------------------
# arguments

ODD_NUMBERS = codes(
    "0.5",
    "0",
    "-1",
    "nan",
    "inf",
    "-inf",
    "1e300",
    "1e-300",
    "5e-324",
    "1e-12",
    "1e9",
    "2",
    "1",
    "'1'",
    "''",
    "None",
    "True",
    "False",
    "10**400",
    "np.float64(0.5)",
    "np.float32(0.5)",
    "np.float64(np.nan)",
    "np.int64(1)",
    "np.uint8(1)",
    "np.bool_(True)",
    "np.array(0.5)",
    "np.array([0.5])",
    "np.array([0.5, 1.0])",
    "np.array([])",
    "1 + 1j",
    "Decimal('0.5')",
    "Fraction(1, 2)",
    "[1]",
    "(0.5,)",
    "{}",
    "b'1'",
    "pd.NA",
    "pd.NaT",
    "pd.Series([1.0])",
    "pd.DataFrame({'a': [1.0]})",
    "np.datetime64('NaT')",
    "Thing()",
    "float",
    "shout",
    "lambda k: 1.0",
) | st.floats().filter(lambda v: not any(canary in repr(v) for canary in CANARIES))
SEEDS = codes("-1", "2**70", "1.5", "'a'", "True", "None", "np.int64(3)", "[1]", "nan", "10**400")
_NOT_NAMES = (
    "['zqxcanary']",
    "pd.Series(['zqxcanary', 918273.5])",
    "None",
    "''",
    "'x'",
    "3",
    "nan",
    "True",
    "[]",
    "['ptr']",
    "('a', 'b')",
    "{}",
    "{'a'}",
    "b'ptr'",
    "np.array(['ptr', 'b'])",
    "np.str_('ptr')",
    "Thing()",
    "pd.NA",
    "pd.Series(['ptr'])",
)


def names(*valid: str) -> st.SearchStrategy[Any]:
    """The names that there are, and what is none."""
    return st.sampled_from(valid) | codes(*_NOT_NAMES)


COLUMN_NAMES = codes(
    "'w'",
    "'x'",
    "'my col'",
    "'g'",
    "'y'",
    "'b'",
    "'nowhere'",
    "''",
    "'Intercept'",
    "'`x`'",
    "'a`b'",
    "'new\\nline'",
    "'x + z'",
    "\"__import__('os')\"",
    "'1'",
    "'\\ud800'",
    "'(weights)'",
    "3",
    "nan",
    "True",
    "['w']",
    "{}",
    "np.array(['w', 'x'])",
    "np.str_('w')",
    "b'w'",
)
_ALL = "'y': (0, 1), 'x': (0, 1), 'z': (0, 5), 'g': ['a', 'b'], 'b': bool, 'my col': (0, 1)"
ODD_LIMITS = codes(
    f"{{{_ALL}}}",
    f"{{{_ALL}, '(coef)': 5}}",
    "{'y': (0, 1), 'x': (0, 1), '(coef)': 5}",
    "{'y': (0, 1), 'x': (0, 1)}",
    "{'y': ['a', 'b'], 'x': (0, 1), 'z': (0, 5)}",
    "{'g': ['a', 'b'], 'x': (0, 1)}",
    "{'x': (0, 1), 'z': (0, 5)}",
    "{'g': ['a', 'b']}",
    "{'(weights)': (0, 2)}",
    "{'(weights)': -1}",
    "{'(weights)': nan}",
    "{'(weights)': 'a'}",
    "{'(weights)': (0, 10**400)}",
    "{'(weights)': 1e-320}",
    "{'y': (0, 1), 'x': (0, 1), '(weights)': (0, 1e300)}",
    *(
        f"{{'y': (0, 1), 'x': (0, 1), '(norm)': {v}, '(coef)': 1}}"
        for v in ("0", "nan", "'a'", "1e-320", "1e308")
    ),
    *(
        f"{{'y': (0, 1), 'x': (0, 1), '(norm)': {v}}}"
        for v in ("inf", "True", "[1]", "10**400", "1e-300", "1e300")
    ),
    *(
        f"{{'y': (0, 1), 'x': (0, 1), '(coef)': {v}}}"
        for v in ("0", "nan", "'a'", "1e-320", "1e308", "[1]", "10**400")
    ),
    *(
        f"{{'y': (0, 1), 'x': {v}, '(coef)': 1}}"
        for v in (
            "(1, 0)",
            "(nan, 1)",
            "(0, inf)",
            "(0,)",
            "(0, 1, 2)",
            "'a'",
            "None",
            "3",
            "float",
            "str",
            "bool",
            "[]",
            "[1]",
            "[1, 1]",
            "['a', 1]",
            "['a', None]",
            "[[1], [2]]",
            "[nan, 1.0]",
            "[inf, 1.0]",
            "[True, False]",
            "[2, 1, 3]",
            "np.array([0, 1])",
            "(0, 10**400)",
            "(0, 1e308)",
            "(-1e308, 1e308)",
            "(0, 1e-320)",
            "(1e15, 1e15 + 1)",
            "('0', '1')",
            "(0, True)",
            "[10**400, 1]",
            "['\\ud800', 'b']",
            "[Decimal('1'), Decimal('2')]",
            "[1j, 2j]",
            "list(range(5000))",
        )
    ),
    "{'y': (0, 1e308), 'x': (0, 1e308), '(coef)': 1e308}",
    "{'y': (0, 1e-300), 'x': (0, 1e-300), '(coef)': 1e-300}",
    "{'y': (0, 1e150), 'x': (0, 1e-150)}",
    "{3: (0, 1)}",
    "{None: (0, 1), 'x': (0, 1)}",
    "{('a', 'b'): 1}",
    "{'nowhere': (0, 1)}",
    "{}",
    "[]",
    "[('x', (0, 1))]",
    "3",
    "'x'",
    "np.array([1, 2])",
    "pd.Series({'x': (0, 1)})",
    "types.MappingProxyType({'y': (0, 1), 'x': (0, 1)})",
)
ODD_TEXTS = (
    "''",
    "' '",
    "'~'",
    "'y'",
    "'y ~'",
    "'~ x'",
    "'y ~ 1'",
    "'y ~ 0'",
    "'y ~ -1'",
    "'1 ~ x'",
    "'y ~ .'",
    "'. ~ x'",
    "'~ .'",
    "'y ~ . - x'",
    "'y ~ .^2'",
    "'y ~ x + x + x'",
    "'y ~ y'",
    "'y ~ x + y'",
    "'y ~ x ~ z'",
    "'y ~ x | z'",
    "'y + x ~ z'",
    "'y ~ x %in% z'",
    "'y ~ x / z'",
    "'y ~ x - x'",
    "'y ~ nowhere'",
    "'y ~ x + offset(z)'",
    "'y ~ x + offset(x) + offset(x)'",
    "'y ~ x:offset(z)'",
    "'y ~ x**1000'",
    "'y ~ x^1000000000'",
    "'y ~ (x + z + b)^9'",
    "'y ~ (x + z + b + g + w)^5'",
    "'y ~ (x + z)^1.5'",
    "'y ~ (x + z)^-1'",
    "'y ~ (x + z)^0'",
    "'y ~ (x + z)^x'",
    "'y ~ ' + '*'.join(f'I(x + {i})' for i in range(40))",
    "'y ~ (' + '+'.join(f'I(x + {i})' for i in range(30)) + ')^8'",
    "'y ~ (' + '+'.join(f'I(x + {i})' for i in range(60)) + ')^3'",
    "'y ~ ' + ' + '.join(f'I(x + {i})' for i in range(300))",
    "'y ~ ' + '(' * 500 + 'x' + ')' * 500",
    "'y ~ ' + '(' * 50 + 'x' + ')' * 50",
    "'y ~ I(' + '(' * 300 + 'x' + ')' * 300 + ')'",
    "'y ~ I(' + '-' * 2000 + 'x)'",
    "'y ~ I(' + 'x + ' * 3000 + 'x)'",
    "'y ~ ' + '-' * 3000 + 'x'",
    "'y ~ ' + 'log(' * 200 + 'x' + ')' * 200",
    "'y ~ ' + 'x' * 100000",
    "'y ~ x' + ' ' * 100000",
    "'y' * 100000 + ' ~ x'",
    "'y ~ I(x ** 1000)'",
    "'y ~ I(x ** x ** x ** 99)'",
    "'y ~ I(9 ** 9 ** 9 ** 9 * x)'",
    "'y ~ I(x * 1e400)'",
    "'y ~ I(x * ' + '9' * 5000 + ')'",
    "'y ~ ' + '9' * 5000 + ':x'",
    "'y ~ 2:x'",
    "'y ~ 0:x'",
    "'y ~ x:0'",
    "'y ~ 1e400'",
    "'y ~ I(x / 0)'",
    "'y ~ I(x % 0)'",
    "'y ~ I(x // 0)'",
    "'y ~ log(0 * x)'",
    "'y ~ exp(1000 * x + 1000)'",
    "'y ~ poly(x, 500)'",
    "'y ~ poly(x, 0)'",
    "'y ~ poly(x, -1)'",
    "'y ~ poly(x, 1.5)'",
    "'y ~ poly(x, 10**9)'",
    "'y ~ poly(x, 1000000000, raw=True)'",
    "'y ~ poly(x, 3, raw=True)'",
    "'y ~ poly(x, 3)'",
    "'y ~ poly(z, 20)'",
    "'y ~ poly(x, z)'",
    "\"y ~ poly(x, 'a')\"",
    "'y ~ poly(x, None)'",
    "'y ~ bs(x, df=1e9)'",
    "'y ~ bs(x, df=1000000000)'",
    "'y ~ bs(x, df=0)'",
    "'y ~ bs(x, df=-3)'",
    "'y ~ bs(x, df=4)'",
    "'y ~ bs(x, df=4, degree=100)'",
    "'y ~ bs(x, df=4, degree=-1)'",
    "'y ~ bs(x, df=4, degree=1000000000)'",
    "'y ~ bs(x, knots=[0.5])'",
    "'y ~ bs(x, knots=[5, nan])'",
    "\"y ~ bs(x, knots=['a'])\"",
    "'y ~ bs(x, knots=[[0.5]])'",
    "'y ~ bs(x, knots=3)'",
    "'y ~ bs(x, df=4, lower_bound=1, upper_bound=0)'",
    "\"y ~ bs(x, df=4, lower_bound='a')\"",
    "\"y ~ bs(x, df=4, extrapolation='x')\"",
    "'y ~ bs(x, df=None)'",
    "'y ~ bs(x)'",
    "'y ~ cr(x, df=4)'",
    "'y ~ cr(x, df=1000000000)'",
    "'y ~ cr(x, df=0)'",
    "'y ~ cr(x)'",
    "\"y ~ cr(x, df=4, constraints='x')\"",
    "'y ~ cr(x, df=4, constraints=[[1]])'",
    "\"y ~ cr(x, df=4, constraints='center')\"",
    "'y ~ cc(x, df=4)'",
    "'y ~ cc(x, df=1)'",
    "'y ~ cc(x, knots=[])'",
    "'y ~ center(x) + scale(z)'",
    "'y ~ scale(x, ddof=100)'",
    "\"y ~ scale(x, scale='a')\"",
    "'y ~ scale(x, center=[1, 2])'",
    "'y ~ center(center(scale(x)))'",
    "'y ~ C(g)'",
    "'y ~ C(z)'",
    "'y ~ C(x)'",
    "'y ~ C(b)'",
    "'y ~ C(g, contr.sum)'",
    "'y ~ C(g, contr.poly(scores=[1]))'",
    "'y ~ C(g, contr.poly(scores=[1, 1]))'",
    "\"y ~ C(g, contr.treatment('nowhere'))\"",
    "'y ~ C(g, contr.helmert(scale=3))'",
    "'y ~ C(g, contr.nothing)'",
    "'y ~ C(g, contrasts={})'",
    "'y ~ C(g, levels=[])'",
    "\"y ~ C(g, levels=['a'])\"",
    "\"y ~ C(g, levels=['b', 'a'])\"",
    "\"y ~ C(g, levels=['a', 'zz'])\"",
    "'y ~ C(g, levels=3)'",
    "'y ~ C(g, levels=[[1], [2]])'",
    "'y ~ C(z, levels=[1, 2])'",
    "'y ~ C(C(g))'",
    "'y ~ g * z'",
    "'y ~ 0 + g:x'",
    "\"y ~ I(g == 'a')\"",
    "\"y ~ I(g == 'nowhere')\"",
    "'y ~ I(g == 1)'",
    "'y ~ I(x^2 > 1 & !(z < 0)) + ifelse(x > 0, z, 1)'",
    "'y ~ cut(x, c(-Inf, 0, Inf)) * factor(g)'",
    "'y ~ cut(x, c(0, 1e-300, 1e300), right=FALSE)'",
    "'y ~ relevel(g, ref=\"nowhere\") + ordered(g)'",
    '\'y ~ pmin(x, z) + I(g %in% c("a", "b")) + I(x %in% 1:5)\'',
    "'y ~ log(x, 2) + log1p(x) + expm1(x) + trunc(z)'",
    "'y ~ I(x == x)'",
    "'y ~ I(g)'",
    "'y ~ I(g + 1)'",
    "'y ~ log(g)'",
    "'y ~ x > 0'",
    "'y ~ I(x > 0 > 1)'",
    "'y ~ {x}'",
    "'y ~ {x + z}'",
    "'y ~ {'",
    "'y ~ }'",
    "'y ~ `my col`'",
    "'y ~ `x`'",
    "'y ~ ``'",
    "'y ~ `'",
    "'y ~ `Intercept`'",
    "'y ~ Intercept'",
    "'y ~ `a`b`'",
    "'y ~ `new\\nline`'",
    "'y ~ x\\n+ z'",
    "'y ~ `x:z`'",
    "'y ~ `x[T.a]` + x'",
    "'`my col` ~ x'",
    "'log(y) ~ x'",
    "'I(y / z) ~ x'",
    "'g ~ x'",
    "'C(g) ~ x'",
    "'b ~ x'",
    "'z ~ x'",
    "'poly(y, 2) ~ x'",
    "'offset(y) ~ x'",
    "\"y ~ __import__('os')\"",
    "\"y ~ {__import__('os').system('true')}\"",
    "'y ~ (lambda: x)()'",
    "'y ~ I(lambda: x)'",
    "'y ~ x.mean()'",
    "'y ~ I(x.mean())'",
    "'y ~ np.log(x)'",
    "'y ~ I(x[0])'",
    "'y ~ I([x for x in x])'",
    "'y ~ I(x if x else x)'",
    "'y ~ I((x := z))'",
    "'y ~ I(x, z)'",
    "'y ~ I(*x)'",
    "'y ~ I(x=x)'",
    "'y ~ I()'",
    "'y ~ I(1)'",
    "'y ~ I(True)'",
    "'y ~ I(x and z)'",
    "\"y ~ I(f'{x}')\"",
    "'y ~ I(x; z)'",
    "'y ~ I(x\\nimport os)'",
    "'y ~ I(\\x00)'",
    "'y ~ \\x00'",
    "'y ~ x\\x00'",
    "'y ~ \\ud800'",
    "'y ~ I(\\ud800)'",
    "'\\ud800 ~ x'",
    "'y ~ 変数'",
    "'y ~ 😀'",
    "'y ~ \"x\"'",
    "\"y ~ 'x'\"",
    "'y ~ x\\\\'",
    "'y ~ x # comment'",
    "'y ~ x;'",
    "'y ~ x,'",
    "'y ~ x, z'",
    "'y ~ [x]'",
    "'y ~ x[0]'",
    "'y ~ x @ z'",
    "'y ~ x ? z'",
    "'y ~ ++x'",
    "'y ~ + '",
    "'y ~ x +'",
    "'y ~ * x'",
    "'y ~ x ** '",
    "'y ~ ('",
    "'y ~ )'",
    "'y ~ ()'",
    "'y ~ f(x)'",
    "'y ~ s(x)'",
    "'y ~ log(x, z)'",
    "'y ~ log()'",
    "'y ~ log'",
    "'y ~ log(x)(z)'",
    "'y ~ (1 | g)'",
    "'y ~ inf'",
    "'y ~ nan'",
    "'y ~ None'",
    "'y ~ True'",
    "'y ~ 0x10:x'",
    "'y ~ 1_000:x'",
    "'y ~ 1j:x'",
    "'y ~ I(x * 1j)'",
    "'y ~ %'",
    "'=='",
)
NOT_FORMULAS = (
    "None",
    "3",
    "nan",
    "b'y ~ x'",
    "['x', 'z']",
    "['x', 'x']",
    "[]",
    "['nowhere']",
    "['']",
    "['x', 3]",
    "[None]",
    "('x',)",
    "{'x'}",
    "['a`b']",
    "['x + z']",
    "['log(x)']",
    "['g', 'x']",
    "['Intercept', 'x']",
    "[['x']]",
    "Thing()",
    "np.str_('y ~ x')",
    "np.array(['x', 'z'])",
    "pd.Index(['x', 'z'])",
    "lambda: 'y ~ x'",
    "str",
    "True",
    "{}",
)
_ATOMS = st.sampled_from(
    [
        "x",
        "z",
        "g",
        "b",
        "y",
        "`my col`",
        "1",
        "0",
        ".",
        "2",
        "log(x)",
        "poly(x, 2)",
        "C(z)",
        "offset(z)",
        "I(x > 0.5)",
        "scale(x)",
        "bs(x, df=4)",
        "nowhere",
        "w",
        "I(x * z)",
    ]
)
_TREES = st.recursive(
    _ATOMS,
    lambda inner: st.builds(
        lambda a, op, b: f"({a}{op}{b})",
        inner,
        st.sampled_from([" + ", " - ", ":", "*", "/", "^", "**", " %in% "]),
        inner,
    ),
    max_leaves=5,
)
FORMULAS = (
    codes(*ODD_TEXTS)
    | codes(*NOT_FORMULAS)
    | _TREES.map(lambda right: f"y ~ {right}")
    | _TREES.map(lambda right: f"~ {right}")
    | st.text("yxzg~+-*:^().,`'\"{}[]<>=| \n019\\%", max_size=12)
    | st.text(max_size=8)
)
UPDATES = (
    codes(
        "'~ . - x'",
        "'~ . - z'",
        "'~ .'",
        "'. ~ . - 1'",
        "'~ 1'",
        "'~ x'",
        "'~ 0'",
        "'~ . + nowhere'",
        "'~ . - nowhere'",
        "'log(y) ~ .'",
        "'~ .^2'",
        "'~ . - .'",
        "'~ . : .'",
        "'z ~ .'",
        "'.'",
        "'. ~ .'",
        "'~ . . .'",
    )
    | FORMULAS
)
NO_REPLIES = codes(
    "1.0",
    "[1.0, 2.0]",
    "nan",
    "inf",
    "'a'",
    "[]",
    "shout",
    "lambda: 1.0",
    "lambda: 'a'",
    "lambda: None",
    "lambda x: 1.0",
    "types.SimpleNamespace(rvs=shout)",
    "types.SimpleNamespace(rvs=3)",
    "types.SimpleNamespace(rvs=lambda size: [1.0])",
    "types.SimpleNamespace(rvs=lambda size: None)",
    "1 + 1j",
    "{}",
    "Thing()",
    "np.array([[1.0]])",
    "np.array([1 + 1j])",
    "10**400",
    "[[1.0], [1.0, 2.0]]",
    "pd.DataFrame({'a': [1.0]})",
    "Decimal('1')",
)
OWN_FUNCTIONS = codes(
    "lambda d: 1.0",
    "shout",
    "lambda d: 'zqxcanary'",
    "lambda d: None",
    "lambda d: nan",
    "lambda d: [1.0, 2.0]",
    "lambda d: []",
    "lambda d: 10**400",
    "lambda d: 1j",
    "lambda d: np.asarray(d) * 0.0",
    "lambda d: np.zeros(10**5)",
    "lambda d: {}",
    "lambda d: Rude()",
    "lambda d: -1.0",
    "lambda d: np.array([1 + 1j])",
    "lambda d: np.float64(1) / 0",
    "lambda d: __import__('sys').exit(3)",
    "lambda d: d.clear()",
    "lambda: 1.0",
    "3.0",
    "nan",
    "inf",
    "-1.0",
    "4.5",
    "'zqxcanary'",
    "[1.0, 2.0]",
    "[]",
    "None",
    "10**400",
    "[[1.0], [1.0, 2.0]]",
    "1j",
    "True",
    "Decimal('918273.5')",
    "Thing()",
    "Rude()",
    "[918273.5, 'zqxcanary']",
    "pd.DataFrame({'a': [1.0]})",
    "np.array(['zqxcanary'])",
)
ALPHAS = (
    codes(
        "lambda k: 1 / k",
        "lambda k: k",
        "lambda k: 'a'",
        "lambda k: nan",
        "lambda k: None",
        "lambda k: 1 / (k - 3)",
        "lambda k: 10.0 ** -k",
        "lambda: 1.0",
        "lambda k: __import__('sys').exit(3)",
        "lambda k: [1.0]",
        "lambda k: np.array([1.0, 2.0])",
    )
    | ODD_NUMBERS
)
OWN_DATA = codes(
    "[918273.5, 2.0, 3.0]",
    "None",
    "np.array([918273.5, 1.0])",
    "np.array(918273.5)",
    "pd.DataFrame({'y': [918273.5, 1.0]})",
    "3",
    "'zqxcanary'",
    "b'zqxcanary'",
    "Rude()",
    "Thing()",
    "(1, [Rude()])",
    "{'a': 918273.5}",
    "(i for i in [918273.5])",
    "lambda: 918273.5",
    "pd.DataFrame",
    "types.SimpleNamespace(copy=shout)",
    "[]",
    "pd.Series([918273.5])",
    "pl.DataFrame({'y': [918273.5]})",
    "[[918273.5, [1.0]]]",
)
PUBLIC_OWN_DATA = codes(
    "[0.5, 2.0, 3.0]",
    "np.array([0.25, 1.0, 2.0])",
    "np.zeros((4, 2))",
    "np.array(1.0)",
    "pd.DataFrame({'y': [0.5, 1.0, 2.0], 'g': ['a', 'b', None]})",
    "pd.DataFrame({'y': [0.5, 1.0, 2.0], 'k': [1, 2, 3], 'b': [True, False, True]})",
    "pd.DataFrame({'y': pd.array([1, 2, None], dtype='Int8')})",
    "pd.DataFrame({'y': np.array([1, 2, 3], dtype=np.int8)})",
    "pd.DataFrame({'y': np.array([1, 2, 3], dtype=np.float16), 'c': [1j, 2j, 3j]})",
    "pd.DataFrame({'t': pd.date_range('2000-01-01', periods=3)})",
    "pd.DataFrame([[1.0, 2.0]] * 3, columns=['a', 'a'])",
    "pd.DataFrame()",
    "pd.DataFrame({'y': []})",
    "None",
    "3",
    "'ab'",
    "b'ab'",
    "{}",
    "{1, 2}",
    "[]",
    "[1.0]",
    "[[1.0], [1.0, 2.0]]",
    "['a', 'b']",
    "[None, None]",
    "(i for i in [0.5])",
    "pl.DataFrame({'y': [0.5, 1.0]})",
    "pa.table({'y': [0.5, 1.0]})",
    "pd.Series([0.5, 1.0, nan])",
    "np.array([0.5, nan, inf])",
    "np.array(['a', 'b'], dtype=object)",
    "np.zeros((0, 3))",
    "np.zeros((3, 0))",
    "np.zeros((2, 2, 2))",
    "np.array([1, 2, 3], dtype=np.float16)",
    "np.ma.masked_array([1.0, 2.0], mask=[0, 1])",
    "Thing()",
    "range(5)",
    "lambda: 1",
)
COVARIANCES = (
    codes(
        "'identity'",
        "'public'",
        "'diagonal'",
        "1.0",
        "[1.0, 2.0]",
        "[1.0, -2.0]",
        "[1.0, nan]",
        "np.eye(2)",
        "np.zeros((2, 2))",
        "np.ones((2, 2))",
        "[[1.0, 2.0], [2.0, 1.0]]",
        "[[1.0, 0.5], [0.4, 1.0]]",
        "np.eye(3)",
        "np.full((2, 2), nan)",
        "1e300 * np.eye(2)",
        "1e-300 * np.eye(2)",
        "np.diag([1e150, 1e-150])",
        "np.zeros((2, 2, 2))",
        "[[1.0], [1.0, 2.0]]",
        "pd.DataFrame(np.eye(2), index=['x', 'z'], columns=['x', 'z'])",
        "pd.DataFrame(np.eye(2), index=['z', 'x'], columns=['x', 'z'])",
        "pd.DataFrame(np.eye(2))",
        "pd.DataFrame(np.eye(2), index=['x', 'x'], columns=['x', 'x'])",
        "pd.DataFrame([['a', 'b'], ['c', 'd']], index=['x', 'z'], columns=['x', 'z'])",
        "pd.Series([1.0, 2.0], index=['x', 'z'])",
        "pd.Series([1.0, 2.0], index=['z', 'q'])",
        "np.eye(2) * 1j",
        "np.array(['a', 'b'])",
        "{'x': 1.0, 'z': 1.0}",
    )
    | ODD_NUMBERS
)
POINTS = codes(
    "[0.5]",
    "0.5",
    "[0.1, 0.2]",
    "np.linspace(0, 1, 5)",
    "np.linspace(0, 1, 3000)",
    "np.zeros((2, 2))",
    "np.zeros((0, 1))",
    "[]",
    "[nan]",
    "[inf]",
    "[1e308]",
    "['a']",
    "[[0.5], [0.1, 0.2]]",
    "{'x': [0.1, 0.2]}",
    "{'x': 0.5}",
    "{'x': 'a'}",
    "{'x': []}",
    "{'x': [nan]}",
    "{'z': [0.5]}",
    "{}",
    "{'x': np.zeros((2, 2))}",
    "{'x': range(10**7)}",
    "{3: [0.5]}",
    "pd.DataFrame({'x': [0.5]})",
    "pd.DataFrame({'x': ['a']})",
    "pd.DataFrame({'q': [0.5]})",
    "pd.DataFrame({'x': []})",
    "pd.DataFrame([[1.0, 2.0]], columns=['x', 'x'])",
    "pl.DataFrame({'x': [0.5]})",
    "pd.Series([0.5])",
    "3",
    "'x'",
    "None",
    "True",
    "1 + 1j",
    "[1j]",
    "Thing()",
    "10**400",
    "(i for i in [0.5])",
    "np.zeros((1, 1, 1))",
    "[None]",
    "[Decimal('0.5')]",
    "[10**400]",
)
BANDWIDTHS = (
    codes(
        "0.1",
        "1e-9",
        "1e9",
        "[0.1]",
        "[0.1, 0.2]",
        "{'x': 0.1}",
        "{'x': 'a'}",
        "{'x': nan}",
        "{'q': 0.1}",
        "{3: 0.1}",
        "pd.Series({'x': 0.1})",
        "pd.Series([0.1, 0.2], index=['x', 'x'])",
        "pd.DataFrame({'x': [0.1]})",
        "['a']",
        "[[0.1]]",
        "{0.1}",
        "(i for i in [0.1])",
    )
    | ODD_NUMBERS
)
LAMBDAS = (
    codes(
        "[0.1, 1.0]",
        "[]",
        "[-1.0]",
        "[nan]",
        "[inf]",
        "['a']",
        "[[0.1]]",
        "[0.0]",
        "[1e300]",
        "range(5)",
        "{}",
        "'abc'",
        "np.zeros((2, 2))",
        "[None]",
        "[1j]",
        "[10**400]",
        "(i for i in [1.0])",
    )
    | ODD_NUMBERS
)
HOW_MANY = codes(
    "3",
    "0",
    "-1",
    "2.5",
    "10**9",
    "10**30",
    "'a'",
    "None",
    "True",
    "nan",
    "np.int64(2)",
    "[1]",
    "inf",
    "1",
    "2",
    "5",
)
EXECUTORS = codes(
    "3", "'a'", "Thing()", "shout", "True", "[]", "types.SimpleNamespace(submit=shout)", "dict"
)
PROGRESS = codes("False", "None", "3", "'a'", "nan", "[]", "np.bool_(False)", "np.array([1, 2])")
LEDGERS = codes(
    "dpstats.Budget(mu=50)",
    "dpstats.Budget(mu=0.01)",
    "dpstats.Budget(mu=50, slack=0.5)",
    "dpstats.Budget(rho=3, slack=0)",
    "dpstats.Budget(epsilon=9, delta=0.1)",
    "dpstats.Budget(epsilon=1, delta=1e-9)",
    "dpstats.Budget(epsilon=2)",
    "dpstats.Budget(mu=50, rows_per_person=3)",
    "dpstats.Budget",
    "3",
    "'study.budget'",
    "Rude()",
    "[]",
    "np.zeros(2)",
)
PERSON_ROWS = codes(
    "2",
    "3",
    "10**4",
    "10**6",
    "0",
    "-1",
    "1.5",
    "True",
    "'a'",
    "None",
    "nan",
    "10**400",
    "np.int64(4)",
    "[1]",
)
PATHS = codes(
    "''",
    "'/'",
    "'/nowhere/at/all'",
    "'\\ud800'",
    "'a\\0b'",
    "b'x'",
    "3",
    "[]",
    "Rude()",
    "'/dev/null'",
    "'x' * 5000",
)
NEIGHBOURS = codes(
    "None", "3", "[1, 2]", "([0.0],)", "(1, 2, 3)", "'ab'", "Rude()", "{}", "([9.0], None)"
)
CLAIMS = codes(
    "dpstats.accounting.privacy.Privacy(1.0)",
    "dpstats.accounting.privacy.PurePrivacy(1.0)",
    "dpstats.accounting.privacy.ApproximatePrivacy(1.0, 0.1)",
    "3",
    "'a'",
    "Thing()",
    "Rude()",
)
FAMILIES = (
    "binomial",
    "binomial(probit)",
    "binomial(cloglog)",
    "poisson",
    "gamma",
    "gaussian",
    "quasibinomial",
    "quasipoisson",
)
ODD_FAMILIES = names(*FAMILIES) | codes(
    "'binomial()'",
    "'binomial(x)'",
    "'poisson(log)'",
    "'gamma(log'",
    "'Binomial'",
    "' '",
    "__import__('statsmodels.api').api.families.NegativeBinomial(alpha=0.5)",
    "__import__('statsmodels.api').api.families.Binomial",
    "__import__('statsmodels.api').api.families.Poisson()",
    "__import__('statsmodels.api').api.families.Tweedie()",
    "__import__('statsmodels.api').api.families.InverseGaussian()",
    "types.SimpleNamespace(link=3)",
    "types.SimpleNamespace(link=None, alpha='a')",
)
GRAMS = codes(
    "[[1.0, 0.5], [0.5, 1.0]]",
    "np.eye(2)",
    "np.eye(3)",
    "[[1.0, nan], [nan, 1.0]]",
    "[[1.0, 2.0], [2.0, 1.0]]",
    "[[1.0, 0.0], [0.5, 1.0]]",
    "[[2.0, 0.5], [0.5, 1.0]]",
    "[[1.0, 0.0], [0.0, 0.0]]",
    "[[1.0, 0.0], [0.0, -1.0]]",
    "[[1.0, 1e200], [1e200, 1e308]]",
    "[[1.0, 0.0], [0.0, 1e-320]]",
    "[[1.0], [1.0, 2.0]]",
    "[]",
    "None",
    "'a'",
    "3",
    "[['a', 'b'], ['c', 'd']]",
    "np.eye(2) * 1j",
    "pd.DataFrame(np.eye(2), index=['Intercept', 'x'], columns=['Intercept', 'x'])",
    "pd.DataFrame(np.eye(2), index=['x', 'x'], columns=['x', 'x'])",
    "pd.DataFrame(np.eye(2))",
    "pd.DataFrame([['a', 1], [2, 3]], index=['Intercept', 'x'], columns=['Intercept', 'x'])",
    "{'x': 1}",
    "[[10**400, 1], [1, 1]]",
    "np.full((2, 2), inf)",
    "Thing()",
)
CROSSES = codes(
    "[0.5, 0.5]",
    "[0.5]",
    "None",
    "'a'",
    "3",
    "[nan, 1.0]",
    "[1e200, 1e200]",
    "pd.Series([1.0, 2.0], index=['x', 'Intercept'])",
    "pd.Series([1.0, 2.0])",
    "[[0.5, 0.5]]",
    "[1j, 1j]",
    "{}",
    "[None, None]",
)
TABLE_SIZES = codes(
    "10**12",
    "10**12 + 1",
    "10**7",
    "10**5",
    "1",
    "2",
    "3",
    "4",
    "30",
    "0",
    "-1",
    "2.5",
    "10**400",
    "'a'",
    "None",
    "True",
    "nan",
    "np.int64(70)",
    "np.uint8(255)",
    "[500]",
)
SEVERAL_BUDGETS = (
    codes(
        "[0.5, 1.0]",
        "[1.0, 1.0]",
        "list(np.geomspace(0.01, 100, 20))",
        "list(range(1, 22))",
        "range(1, 4)",
        "np.array([0.1, 2.0])",
        "np.array([[0.1, 2.0]])",
        "np.arange(10**6)",
        "[1e-9, 1e9]",
        "1e-8",
        "1e8",
        "1e-9",
        "(1e-3, None)",
        "[nan]",
        "['a']",
        "[[1.0]]",
        "[]",
        "'12'",
        "b'12'",
        "{0.5, 1.0}",
        "{0.5: 1}",
        "(v for v in [0.5])",
        "pd.Series([0.5, 1.0])",
        "range(10**12)",
        "[Rude()]",
    )
    | ODD_NUMBERS
)
TARGETS = (
    codes(
        *(f"{{'x': {v}}}" for v in ("0.1", "1e-9", "1e9", "0", "nan", "'a'", "None", "[0.1]")),
        "0.1",
        "0.01",
        "1e-6",
        "1e-50",
        "1e50",
        "1e99",
        "{'x': 0.1, 'Intercept': 1e-8}",
        "{'Intercept': 0.1}",
        "{'nowhere': 0.1}",
        "{3: 0.1}",
        "{}",
        "pd.Series({'x': 0.1})",
        "types.MappingProxyType({'x': 0.1})",
    )
    | ODD_NUMBERS
)
_FITS = ("fitted()", "fitted('dp_glm')", "fitted('eptr_lm')", "fitted('moments')", "fitted('open')")
_ALIKE = (
    "fitted().update('~ . - x')",
    "alike(1.0, 2.0)",
    "alike(pd.Series([1.0]), pd.Series([2.0]))",
    "alike(pd.Series([1.0], ['x']), pd.Series([nan], ['x']))",
    "alike(pd.Series([nan, inf], ['x', 'z']), pd.Series([1.0, 2.0]))",
    "alike(pd.Series([1e308, -1e308], ['x', 'z']), pd.Series([1e308, 1e-308]), nobs=1e308)",
    "alike(pd.Series([0.0, 1.0], ['x', 'z']), pd.Series([0.0, inf]), nobs=inf, scale=nan)",
    "alike(pd.Series([0.0, 5e-324], ['x', 'z']), pd.Series([5e-324, 5e-324]), rsquared=nan)",
    "alike(pd.Series([1.0], ['x']), pd.Series([-1.0], ['x']), nobs=-3, rsquared=inf, scale=inf)",
    "alike(pd.Series([1.0, 2.0], ['x', 'x']), pd.Series([1.0, 2.0]))",
    "alike(pd.Series([1.0, 2.0], ['x', 'z']), pd.Series([1.0]))",
    "alike(pd.Series([], dtype=float), pd.Series([], dtype=float))",
    "alike(pd.Series(['a'], ['x']), pd.Series([1.0]))",
    "alike(pd.Series([1j], ['x']), pd.Series([1.0]))",
    "alike(pd.DataFrame({'a': [1.0]}), pd.DataFrame({'a': [1.0]}))",
    "alike(pd.Series([1.0], [Rude()]), pd.Series([1.0]))",
    "alike(pd.Series([1.0], pd.Index(['\\ud800\\n|&'], dtype=object)), pd.Series([1.0]), nobs=nan)",
    "alike(pd.Series([1.0], ['x']), pd.Series([1.0]), model=types.SimpleNamespace(endog_names=Rude()))",
    "alike(pd.Series([1.0], ['x']), pd.Series([1.0]), model=3, nobs='a', rsquared=[], scale={})",
    "alike(pd.Series(np.ones(3000), range(3000)), pd.Series(np.ones(3000)))",
    "fitted().summary()",
    "dpstats.dp_lm",
)
_FIT_LISTS = tuple(f"[{fit}, {other}]" for fit in _FITS for other in (*_FITS[::-1], *_ALIKE))
FIT_LISTS = codes(
    *_FITS,
    *_ALIKE,
    *_FIT_LISTS,
    "{'a': fitted(), 'b': fitted('open')}",
    "{1: fitted(), '1': fitted()}",
    "{Rude: fitted()}",
    "{'\\ud800': fitted()}",
    "{'': fitted(), 'x' * 5000: fitted()}",
    "{}",
    "[]",
    "[fitted()] * 60",
    "[[fitted()]]",
    "(fitted(), None)",
    "(v for v in [fitted()])",
    "pd.Series([fitted()])",
    "np.array([fitted(), fitted()])",
    "{'a': None}",
    "None",
    "3",
    "'fit'",
    "Rude()",
    "Thing()",
    "pd.DataFrame({'a': [1.0]})",
)
HEADINGS = codes(
    "['A']",
    "['A', 'B']",
    "('A', 'A')",
    "np.array(['A', 'B'])",
    "pd.Index(['A'])",
    "['x' * 5000, '\\ud800\\n|&<b>']",
    "['']",
    "['A', 3]",
    "[None]",
    "[]",
    "'A'",
    "'AB'",
    "b'A'",
    "3",
    "True",
    "{'A': 1}",
    "{'A'}",
    "(v for v in ['A'])",
    "[Rude()]",
    "Rude()",
    "Thing()",
    "str",
)
STARS = (
    codes(
        "(0.1, 0.05)",
        "[0.05, 0.05]",
        "[]",
        "()",
        "(0.1, 0.05, 0.01, 1e-3, 1e-4, 1e-5)",
        "(0, 1)",
        "[nan]",
        "[0.05, 'a']",
        "'*'",
        "b'*'",
        "range(3)",
        "[1e-300]",
        "np.array([0.1, 0.05])",
        "pd.Series([0.1])",
        "{0.05}",
        "(v for v in [0.1])",
        "range(10**12)",
    )
    | ODD_NUMBERS
)
FEW_DIGITS = codes("1", "3", "15", "16", "0", "-1", "2.5", "'3'", "True", "nan", "[3]", "10**400")
SWITCHES = codes(
    "True", "False", "None", "1", "'a'", "np.bool_(True)", "np.array([1, 2])", "Rude()"
)
SOME_TERMS = codes(
    "'x'",
    "['x']",
    "['x', 'x']",
    "('Intercept', 'x')",
    "'nowhere'",
    "['x', 3]",
    "[]",
    "3",
    "b'x'",
    "nan",
    "{'x'}",
    "{'x': 1}",
    "pd.Index(['x'])",
    "(v for v in ['x'])",
    "[None]",
    "[['x']]",
    "[Rude()]",
    "Rude()",
    "Thing()",
    "shout",
    "np.array('x')",
    "str",
)
AXES = codes(
    "dpstats.report.plot.axes(None)",
    "dpstats.report.plot.axes(None, 1.5)",
    "dpstats.report.plot.axes(None).figure",
    "dpstats.report.plot.axes(None).figure.subplots(2)",
    "dpstats.report.plot.axes(None).figure.add_subplot(projection='polar')",
    "dpstats.report.plot.axes(None).figure.add_subplot(projection='3d')",
    "dpstats.report.plot.axes(None).inset_axes([0, 0, 1e-3, 1e-3])",
    "3",
    "'ax'",
    "[]",
    "True",
    "Thing()",
    "Rude()",
    "types.SimpleNamespace(set_xlabel=1)",
    "__import__('matplotlib.pyplot').pyplot",
)
DELTAS = (
    codes(
        "[1e-3, 1e-6]",
        "1e-9",
        "[1e-300]",
        "[0.999999]",
        "[]",
        "[0]",
        "[1]",
        "'a'",
        "b'ab'",
        "np.array([0.1, 0.01])",
        "np.array(0.1)",
        "{0.1: 1}",
        "(v for v in [0.1])",
        "[[0.1]]",
        "np.full(1000, 0.1)",
        "list(np.geomspace(1e-9, 0.1, 300))",
        "[Rude()]",
        "Rude()",
    )
    | ODD_NUMBERS
)
ATTRIBUTES = st.sampled_from(
    ["resid", "fitted", "aic", "params", "nowhere", "data", "rsquared", "augment", "terms", "scale"]
)


def _json_texts() -> st.SearchStrategy[Any]:
    """What `to_json` has written, with one entry replaced or taken out; and other texts."""
    paths = st.sampled_from(
        [
            "version",
            "design",
            "m",
            "gram",
            "cross",
            "yy",
            "dropped",
            "spent",
            "design.formula",
            "design.response",
            "design.columns",
            "design.rhs",
            "design.factors",
            "design.program",
            "design.states",
            "design.offsets",
            "design.weights",
            "design.weight_bound",
            "design.response_kind",
            "design.response_levels",
            "design.columns.x",
            "design.columns.x.kind",
            "design.columns.x.levels",
            "design.factors.0",
            "design.factors.0.text",
            "design.factors.0.kind",
            "design.factors.0.full",
            "design.factors.0.coding",
            "design.factors.0.spans",
            "design.program.0",
            "design.program.1",
            "design.program.1.0",
            "design.program.1.1",
            "design.program.1.2",
            "design.program.1.2.0",
            "design.program.1.2.0.0",
            "design.rhs.0",
            "design.rhs.1",
            "design.rhs.1.0",
            "design.version",
            "gram.0",
            "gram.0.0",
            "cross.0",
            "design.response.0",
            "design.response.1",
            "design.columns.g.levels",
            "design.factors.1.coding",
            "design.factors.1.coding.0.1",
            "design.states.poly(z, 2)",
        ]
    )
    values = codes(
        "None",
        "0",
        "-1",
        "1e308",
        "nan",
        "inf",
        "True",
        "''",
        "'x'",
        "'nowhere'",
        "'x.mean()'",
        "\"__import__('os')\"",
        "'\\ud800'",
        "[]",
        "[1]",
        "[[]]",
        "{}",
        "{'a': 1}",
        "['a', 'b']",
        "10**400",
        "'9' * 10000",
        "[[1, 2], [3]]",
        "'category'",
        "'number'",
        "'bool'",
        "'y ~ ('",
        "'DROP'",
    )
    return st.tuples(st.just("edit"), paths, values) | codes(
        "''",
        "'{}'",
        "'[]'",
        "'null'",
        "'3'",
        "'\"a\"'",
        "'{'",
        "'{\"design\": 3}'",
        "'{\"design\": {}}'",
        "'[' * 100000",
        "'{\"a\":' * 100000",
        "'1' * 10000",
        "'NaN'",
        "'\\x00'",
        "'\\ud800'",
        "None",
        "3",
        "b'{}'",
        "b'\\xff'",
        "Thing()",
        "[]",
        "'no/such/file.json'",
    )


def _edited(edit: Any) -> Any:
    import json

    if not isinstance(edit, tuple):
        return made(edit)
    _, path, value = edit
    public = Table(n=_PUBLIC_ROWS).build("public")
    saved = json.loads(dpstats.public_moments("y ~ x + g + poly(z, 2)", public).to_json())
    at: Any = saved
    *way, last = path.split(".")
    try:
        for step in way:
            at = at[int(step) if step.isdigit() else step]
        key: Any = int(last) if last.isdigit() else last
        if made(value) == "DROP":
            del at[key]
        else:
            at[key] = made(value)
    except (KeyError, IndexError, TypeError):
        pass
    return json.dumps(saved)


# ---------------------------------------------------------------------------------------------
# plain calls, and what may be changed in them

_BUDGET = {"mu": 1.0, "rho": None, "epsilon": None, "delta": None}
_TESTED = {"mu": None, "rho": None, "epsilon": 1.0, "delta": 0.01}
_BUDGETS = st.sampled_from(
    [
        {"mu": None, "rho": None, "epsilon": 1.0, "delta": 0.01},
        {"mu": 1.0, "rho": None, "epsilon": None, "delta": None},
        {"mu": None, "rho": 0.5, "epsilon": None, "delta": None},
        {"mu": None, "rho": None, "epsilon": 1.0, "delta": None},
        {"mu": None, "rho": None, "epsilon": 8.0, "delta": 1e-5},
        {"mu": 50.0, "rho": None, "epsilon": None, "delta": None},
        {"mu": 1e-3, "rho": None, "epsilon": None, "delta": None},
        {"mu": None, "rho": None, "epsilon": 20.0, "delta": 1e-6},
    ]
)
_COMMON = {"limits": None, "eta": 0.05, "seed": 1, "executor": None, "progress": False}
_COMMON |= {"budget": None, "rows_per_person": 1, "person": None}
_SEVERAL = {**_BUDGET, "target_se": None, "rows_per_person": 1}
_PLANNED = {"method": "anchored", "ridge": 0.0, "eta": 0.05, "limits": None}
_PLANNED |= {"weights": None, "offset": None}
PLAIN_CALLS: dict[str, dict[str, Any]] = {
    "dp_lm": {"formula": "y ~ x + g", **_BUDGET, **_COMMON, "method": None, "ridge": 0.0}
    | {"weights": None, "offset": None},
    "dp_glm": {"formula": "y ~ x + g", **_BUDGET, **_COMMON, "method": None, "ridge": 0.0}
    | {"weights": None, "offset": None, "family": "binomial", "iterations": None},
    "eptr_lm": {"formula": "y ~ x + z", **_TESTED, **_COMMON, "method": None, "target": None}
    | {"calibration": "gdp", "allow_unproved": False},
    "eptr_bayes": {"formula": "g ~ x + z", **_TESTED, **_COMMON, "method": None, "target": None}
    | {"calibration": "gdp", "allow_unproved": False, "covariance": None},
    "eptr_nw": {"formula": "y ~ x", **_TESTED, **_COMMON, "method": None, "at": None}
    | {"calibration": "gdp", "allow_unproved": False, "bandwidth": None, "degree": None},
    "dp_mean": {"formula": ["x", "z"], **_BUDGET, **_COMMON, "method": None, "gamma": 0.0}
    | {"covariance": None},
    "dp_mvnorm": {"formula": ["x", "z"], **_BUDGET, **_COMMON, "method": None, "gamma": 0.0}
    | {"cond": None, "pool": False},
    "dp_mixture": {"formula": ["x", "z"], **_BUDGET, **_COMMON, "k": None, "regime": "auto"}
    | {"w_min": None, "pool": True, "covariance": "full"},
    "eptr": {"epsilon": 1.0, "delta": 0.01, "calibration": "gdp", "target": None, "beta": 1e-3}
    | {
        "share": 0.9,
        "no_reply": None,
        "size": None,
        "allow_unproved": False,
        "eta": 0.05,
        "seed": 1,
        "budget": None,
        "rows_per_person": 1,
    }
    | {"own": Code("[918273.5, 2.0, 3.0]"), "estimate": Code("lambda d: 1.0"), "alpha": 0.1}
    | {"safety": Code("lambda d: 500.0"), "own_public": None},
    "check_safety": {
        "estimate": Code("lambda d: 1.0"),
        "safety": Code("lambda d: 5.0"),
        "alpha": 0.1,
    }
    | {
        "own_public": Code("[0.5, 2.0, 3.0]"),
        "rows": None,
        "hostile": False,
        "trials": 20,
        "seed": 0,
    },
    "public_moments": {"formula": "y ~ x + g", "weights": None, "offset": None, "limits": None},
    "PublicMoments.declare": {"formula": "~ x", "limits": Code("{'x': float, 'y': float}")}
    | {
        "gram": Code("np.eye(2)"),
        "m": None,
        "cross": None,
        "yy": None,
        "weights": None,
        "offset": None,
    },
    "PublicMoments.from_json": {"text": ("edit", "m", 24)},
    "anova": {"formula": "y ~ x + g", "update": "~ . - x", "other": None},
    "Budget": {"mu": 1.0, "rho": None, "epsilon": None, "delta": None, "path": None}
    | {"slack": None, "rows_per_person": 1},
    "audit": {"neighbours": Code("([0.0], [1.0])"), "mu": None, "epsilon": None, "delta": None}
    | {"claim": None, "trials": 40, "confidence": 0.99},
    "plan_lm": {"formula": "y ~ z + g", "n": 500, **_SEVERAL, **_PLANNED, "sigma": 0.5},
    "plan_glm": {"formula": "y ~ x + g", "n": 500, **_SEVERAL, **_PLANNED, "iterations": None}
    | {"family": "binomial"},
    "etable": {"fits": Code("[fitted(), fitted('dp_glm')]"), "names": None, "digits": None}
    | {"stars": None, "interval": False, "level": 0.95, "with_public": False, "nonprivate": None},
    "options": {"digits": None, "stars": True, "option": "digits"},
    "plot": {"model": "dp_lm", "formula": None, "level": 0.95, "wanted": None, "intercept": False}
    | {"ax": None, "deltas": None, "penalty": "lasso", "lambdas": None, "family": "binomial"},
}
FUNCTIONS = tuple(PLAIN_CALLS)
_MODELS = FUNCTIONS[:8]
_PUBLIC = ("check_safety", "public_moments", "PublicMoments.declare", "PublicMoments.from_json")
_PLANS = ("plan_lm", "plan_glm")
_PUBLIC += ("Budget", "audit", "etable", "options", *_PLANS)
_POOLS: dict[str, st.SearchStrategy[Any]] = {
    "formula": FORMULAS,
    **dict.fromkeys(
        ("mu", "rho", "epsilon", "delta", "eta", "ridge", "gamma", "cond"), ODD_NUMBERS
    ),
    **dict.fromkeys(("beta", "share", "w_min", "yy"), ODD_NUMBERS),
    "target": ODD_NUMBERS | codes("5", "100", "1e6", "10**9"),
    "degree": ODD_NUMBERS | LAMBDAS,
    "seed": SEEDS,
    "limits": ODD_LIMITS,
    "weights": COLUMN_NAMES,
    "offset": COLUMN_NAMES,
    "executor": EXECUTORS,
    "budget": LEDGERS,
    "rows_per_person": PERSON_ROWS,
    "person": COLUMN_NAMES | codes("'z'"),
    "path": PATHS,
    "slack": ODD_NUMBERS,
    "neighbours": NEIGHBOURS,
    "claim": CLAIMS,
    "confidence": ODD_NUMBERS,
    "progress": PROGRESS,
    "family": ODD_FAMILIES,
    "iterations": HOW_MANY,
    "calibration": names("gdp", "dp", "paper"),
    "allow_unproved": codes("True", "'a'", "None", "np.array([1, 2])", "nan"),
    "at": POINTS,
    "bandwidth": BANDWIDTHS,
    "covariance": COVARIANCES,
    "pool": codes("True", "False", "None", "'a'", "1", "np.bool_(True)", "np.array([1, 2])"),
    "k": HOW_MANY,
    "m": HOW_MANY,
    "size": HOW_MANY,
    "regime": names("auto", "public", "private"),
    "no_reply": NO_REPLIES,
    "own": OWN_DATA,
    "own_public": PUBLIC_OWN_DATA,
    "rows": PUBLIC_OWN_DATA,
    "estimate": OWN_FUNCTIONS,
    "safety": OWN_FUNCTIONS,
    "alpha": ALPHAS,
    "hostile": codes("True", "'a'", "np.array([1, 2])"),
    "trials": codes("10", "0", "-1", "2.5", "'a'", "None", "nan", "True", "[1]", "np.int64(3)"),
    "gram": GRAMS,
    "cross": CROSSES,
    "text": _json_texts(),
    "update": UPDATES,
    "other": codes("3", "'a'", "dpstats", "Rude()", "np.zeros(2)"),
    "n": TABLE_SIZES,
    "target_se": TARGETS,
    "sigma": ODD_NUMBERS | codes("None"),
    "fits": FIT_LISTS,
    "nonprivate": FIT_LISTS,
    "names": HEADINGS,
    "digits": FEW_DIGITS,
    "stars": STARS,
    "interval": SWITCHES,
    "with_public": SWITCHES,
    "option": codes("'stars'", "'nowhere'", "''", "'_digits'", "'\\ud800'"),
    "level": ODD_NUMBERS,
    "model": st.sampled_from([*_MODELS, "plan_lm", "plan_glm", "audit"]),
    "wanted": SOME_TERMS,
    "intercept": SWITCHES,
    "ax": AXES,
    "deltas": DELTAS,
    "penalty": names("lasso", "ridge", "elasticnet"),
    "lambdas": LAMBDAS,
}
_METHODS = {
    "dp_lm": ("anchored", "pmt", "ssp"),
    "dp_glm": ("anchored", "pmt", "ssp"),
    "eptr_lm": ("rounds", "adaptive", "ptr", "adassp", "paper"),
    "eptr_bayes": ("sums", "ptr", "paper"),
    "eptr_nw": ("gp", "adaptive", "ptr", "paper"),
    "dp_mean": ("refined", "paper"),
    "dp_mvnorm": ("refined", "paper"),
    "plan_lm": ("anchored", "pmt"),
    "plan_glm": ("anchored", "pmt"),
}
_AFTER: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {
    "level": (0.95, ODD_NUMBERS),
    "interval": (None, names("confidence", "prediction", "none")),
    "type": (None, names("response", "link", "class", "prob")),
    "newdata": (Table(n=4), codes(*NO_TABLES)),
    "change": ("~ . - x", UPDATES),
    "penalty": ("lasso", names("lasso", "ridge", "elasticnet")),
    "lambdas": (None, LAMBDAS),
    "mixing": (0.5, ODD_NUMBERS),
    "part": ("total", names("total", "sampling", "privacy")),
    "at_delta": (1e-5, ODD_NUMBERS),
    "draws": (2, codes("0", "-1", "2.5", "'a'", "None", "True", "nan", "np.int64(2)", "[1]")),
    "draw_seed": (1, SEEDS),
    "moments": (None, FORMULAS),
    "ridge_share": (0.1, ODD_NUMBERS),
    "attribute": ("resid", ATTRIBUTES),
}
_KINDS = st.sampled_from(list(COLUMNS))
_SIZES = st.sampled_from([_ROWS, 0, 1, 2, 3, 5, 30])


@dataclass(frozen=True)
class Change:
    """One change: to an argument, ``data.x`` (the kind of a column), ``data.n``, ``data.quirk``."""

    what: str
    value: Any

    def __repr__(self) -> str:
        value = self.value
        shown = repr(value)
        return f"{self.what}: {shown if len(shown) < _SHOWN else shown[:_SHOWN] + '...'}"


@dataclass(frozen=True)
class Case:
    """A plain call of a function, with changes."""

    function: str
    changes: tuple[Change, ...] = ()

    def __repr__(self) -> str:
        return f"{self.function}({'; '.join(map(repr, self.changes))})"

    def arguments(self) -> dict[str, Any]:
        """All arguments, tables as recipes."""
        given: dict[str, Any] = dict(PLAIN_CALLS[self.function])
        given = {name: default for name, (default, _) in _AFTER.items()} | given
        tables = {"data": Table(), "public": Table(n=_PUBLIC_ROWS), "newdata": Table(n=4)}
        if self.function in ("dp_glm", "plan_glm"):
            kinds = tuple({**PLAIN, "y": "zero_one"}.items())
            tables = {role: Table(kinds, table.n) for role, table in tables.items()}
        given |= tables
        for change in self.changes:
            role, _, part = change.what.partition(".")
            if change.what == "total":
                given |= {k: v for k, v in change.value.items() if k in given}
            elif not part:
                given[role] = change.value
            elif isinstance(given[role], Table):
                table = given[role]
                if part in ("n", "quirk", "library"):
                    values = {"kinds": table.kinds, "n": table.n, "quirk": table.quirk}
                    values |= {"library": table.library, part: change.value}
                    given[role] = Table(**values)
                else:
                    kinds = tuple({**dict(table.kinds), part: change.value}.items())
                    given[role] = Table(kinds, table.n, table.quirk, table.library)
        return given


def changes_to(function: str) -> st.SearchStrategy[Change]:
    """One change to a call of the function."""
    plain = PLAIN_CALLS[function]
    pools = {name: _POOLS[name] for name in plain if name in _POOLS}
    if function in _METHODS:
        pools["method"] = names(*_METHODS[function])
        pools["total"] = _BUDGETS
    if function in _PLANS:
        pools |= dict.fromkeys(("mu", "rho", "epsilon"), SEVERAL_BUDGETS)
    if function == "eptr_bayes":
        pools["covariance"] = names("diagonal", "full", "identity", "naive", "lda", "qda")
    tables = []
    if function == "plot":
        tables = ["data", "public"]
        pools["formula"] = FORMULAS
    elif function in _PLANS:
        tables = ["public"]
    elif function in _MODELS or function == "anova":
        tables = ["data", "public", "newdata"]
        pools |= {name: pool for name, (_, pool) in _AFTER.items()}
    elif function == "public_moments":
        tables = ["public"]
        pools["ridge_share"] = ODD_NUMBERS
    elif function == "Budget":
        pools |= {name: _AFTER[name][1] for name in ("level", "change", "at_delta")}
    for role in tables:
        pools[role] = codes(*NO_TABLES)
        pools[f"{role}.n"] = _SIZES
        pools[f"{role}.quirk"] = st.sampled_from(QUIRKS)
        pools[f"{role}.library"] = st.sampled_from(["polars", "pyarrow", "function", "list"])
        for name in PLAIN if role != "newdata" else ("x", "z", "g"):
            pools[f"{role}.{name}"] = _KINDS
    if function in (
        *_MODELS,
        *_PLANS,
    ):  # as often as all others together: they decide what comes after
        ways = ("method", "total", "family", "regime", "limits", "n", "target_se")
        ways = [name for name in ways if name in pools]
        first = st.one_of([st.builds(Change, st.just(n), pools[n]) for n in ways])
        rest = st.one_of([st.builds(Change, st.just(n), pool) for n, pool in pools.items()])
        return st.one_of(rest, first, rest)
    return st.one_of([st.builds(Change, st.just(n), pool) for n, pool in pools.items()])


def cases(function: str, *before: Change) -> st.SearchStrategy[Case]:
    """Calls of a function with these changes, and up to five more."""
    lists = st.lists(changes_to(function), max_size=5, unique_by=lambda change: change.what)
    return st.builds(Case, st.just(function), lists.map(lambda more: (*before, *more)))


ALONE = (
    Change("public", None),
    Change("formula", "y ~ x + z"),
    Change("total", {**_BUDGET, "mu": 50.0}),
)
"""A call without public rows, and with a budget that suffices for a dozen rows."""


# ---------------------------------------------------------------------------------------------
# running a case


@dataclass
class Outcome:
    """What became of a case; ``findings`` is what should not have been."""

    kind: str = "result"
    message: str = ""
    findings: list[str] = field(default_factory=list)
    where: list[str] = field(default_factory=list)
    """Key of each finding: kind of error and place in the package."""
    public: bool = False
    """Whether all that the call was given is public."""


class TooLongError(BaseException):
    """Not an Exception: nobody catches it by chance."""


def run(case: Case) -> Outcome:
    """Run a case, twice with different private rows, and what can be asked of its result."""
    outcome = Outcome(public=case.function in _PUBLIC)
    first = _one_run(case, "private", outcome, True)
    if case.function in (*_MODELS, "anova") and not outcome.findings:
        second = _one_run(case, "other", outcome, False)
        if not _same(first, second) and not outcome.findings:
            outcome.findings.append(f"depends on private values: {first!r} or {second!r}")
            outcome.where.append(f"private: {case.function}")
    outcome.kind, outcome.message = first[0], first[1]
    return outcome


def _same(first: Any, second: Any) -> bool:
    """The same words, but for addresses."""
    return re.sub("0x[0-9a-f]+", "", repr(first)) == re.sub("0x[0-9a-f]+", "", repr(second))


def _one_run(
    case: Case, role: str, outcome: Outcome, ask: bool
) -> tuple[str, str, tuple[str, ...]]:
    given = case.arguments()
    result, ended = None, ("result", "")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    data, public, newdata = (
        _built(given[name], r)
        for name, r in (("data", role), ("public", "public"), ("newdata", "public"))
    )
    values = {name: made(value) for name, value in given.items() if not isinstance(value, Table)}
    start = time.process_time()
    with warnings.catch_warnings(record=True) as said, _limited():
        warnings.simplefilter("always")
        try:
            result = _called(case.function, values, data, public)
        except DPStatsError as error:
            ended = (type(error).__name__, str(error))
            _listen(outcome, "".join(_told(error)), "error", error)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            ended = ("foreign", type(error).__name__)
            _found(outcome, error, "call")
        if result is not None and ask:
            for name, asked in _questions(case.function, result, values, public, newdata):
                try:
                    answer = asked()
                    _listen(
                        outcome, answer if isinstance(answer, str) else repr(answer), name, None
                    )
                except DPStatsError as error:
                    _listen(outcome, "".join(_told(error)), name, error)
                except BaseException as error:
                    if isinstance(error, KeyboardInterrupt):
                        raise
                    _found(outcome, error, name)
    spent = time.process_time() - start
    for warning in said:
        # what the user's own functions warn of on public data is theirs
        if not issubclass(warning.category, PlanWarning) and warning.filename != "<string>":
            place = f"{warning.filename}:{warning.lineno}"
            outcome.findings.append(f"{warning.category.__name__} at {place}: {warning.message}")
            outcome.where.append(f"{warning.category.__name__} {place}")
        _listen(outcome, str(warning.message), "warning", None)
    if spent > SECONDS:
        outcome.findings.append(f"{spent:.1f} seconds")
        outcome.where.append(f"slow {case.function}")
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    if grown > MEGABYTES:
        outcome.findings.append(f"{grown:.0f} MiB")
        outcome.where.append(f"memory {case.function}")
    planned = tuple(str(w.message) for w in said if issubclass(w.category, PlanWarning))
    return (*ended, planned)


def _built(value: Any, role: str) -> Any:
    return value.build(role) if isinstance(value, Table) else made(value)


def _called(function: str, values: Mapping[str, Any], data: Any, public: Any) -> Any:
    def given(*left_out: str) -> dict[str, Any]:
        names = PLAIN_CALLS[function].keys() - set(left_out)
        method = {"method": values["method"]} if "method" in values else {}
        return {name: values[name] for name in names} | (method if function in _METHODS else {})

    if function in _MODELS:
        return getattr(dpstats, function)(values["formula"], data, public, **given("formula"))
    if function == "eptr":
        return dpstats.eptr(
            values["own"],
            values["estimate"],
            values["safety"],
            values["alpha"],
            public=values["own_public"],
            **given("own", "own_public", "estimate", "safety", "alpha"),
        )
    if function == "check_safety":
        rest = given("estimate", "safety", "alpha", "own_public")
        own = values["estimate"], values["safety"], values["alpha"], values["own_public"]
        return dpstats.check_safety(*own, **rest)
    if function == "public_moments":
        return dpstats.public_moments(values["formula"], public, **given("formula"))
    if function == "PublicMoments.declare":
        rest = given("formula", "limits", "gram")
        return PublicMoments.declare(values["formula"], values["limits"], values["gram"], **rest)
    if function == "PublicMoments.from_json":
        return PublicMoments.from_json(_edited(values["text"]))
    if function == "Budget":
        return dpstats.Budget(**given())
    if function == "audit":
        turns = iter(range(10**9))
        return dpstats.audit(lambda rows: next(turns) % 7, **given())
    if function in _PLANS:
        return getattr(dpstats, function)(
            values["formula"], public, values["n"], **given("formula", "n")
        )
    if function == "etable":
        rest = given("fits", "with_public")
        return dpstats.etable(values["fits"], public=values["with_public"], **rest)
    if function == "options":
        return _with_options(values)
    if function == "plot":
        return _drawable(values["model"], values, data, public)
    fit = dpstats.dp_lm(values["formula"], data, public, mu=1, seed=1)
    other = values["other"]
    return dpstats.anova(fit, fit.update(values["update"]) if other is None else other)


def _with_options(values: Mapping[str, Any]) -> list[str]:
    """What pages say under these options."""
    with dpstats.options(digits=values["digits"], stars=values["stars"]):
        said = [repr(dpstats.options), repr(fitted().summary()), repr(dpstats.etable(fitted()))]
    with dpstats.options(**{values["option"]: values.get(values["option"], 3)}):  # may be no option
        return [*said, repr(fitted("dp_glm").summary())]


def _drawable(model: str, values: Mapping[str, Any], data: Any, public: Any) -> Any:
    """What is to be drawn: a plain call of these tables."""
    if model == "audit":
        turns = iter(range(10**9))
        return dpstats.audit(lambda rows: next(turns) % 7, ([0.0], [1.0]), mu=1, trials=40)
    plain = dict(PLAIN_CALLS[model])
    formula = plain.pop("formula") if values["formula"] is None else values["formula"]
    plain |= {"formula": formula, "public": public}
    plain |= {"family": values["family"]} if "family" in plain else {}
    plain |= {} if model in _PLANS else {"data": data}
    return getattr(dpstats, model)(**plain)


def _drawn(plot: Callable[[], Any]) -> str:
    """What a plot says when it is put on paper."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.text import Text

    try:
        figure = plot().figure
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            figure.canvas.draw()
        for warning in said:  # which letters there are is for the user's font to say
            if not str(warning.message).startswith("Glyph"):
                warnings.warn_explicit(
                    warning.message, warning.category, warning.filename, warning.lineno
                )
        return repr([text.get_text() for text in figure.findobj(Text)])
    finally:
        pyplot.close("all")


def _plots(result: Any, values: Mapping[str, Any]) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Every plot that a result has, with arguments of its own."""
    has, ax, model = _knows(result), values["ax"], values["model"]
    if has("plot"):
        own = {"terms": values["wanted"], "intercept": values["intercept"]}
        if model not in (*_PLANS, "dp_lm", "dp_glm", "eptr_lm"):
            own = {"x": values["wanted"]} if model in ("dp_mvnorm", "dp_mixture") else {}
        if model not in (*_PLANS, "audit"):
            own["level"] = values["level"]
        yield "plot", lambda: _drawn(lambda: result.plot(**own, ax=ax))
    if has("plot_privacy"):
        yield "plot_privacy", lambda: _drawn(lambda: result.plot_privacy(ax, values["deltas"]))
    if has("path"):
        own = {"terms": values["wanted"], "intercept": values["intercept"], "ax": ax}
        way = values["penalty"], values["lambdas"]
        yield "path.plot", lambda: _drawn(lambda: result.path(*way).plot(**own))


def _questions(
    function: str, result: Any, values: Mapping[str, Any], public: Any, newdata: Any
) -> Iterator[tuple[str, Callable[[], Any]]]:
    """What is asked of a result."""
    has = _knows(result)
    if function == "plot":
        yield from _plots(result, values)
        return
    yield "repr", lambda: repr(result)
    yield "html", lambda: result._repr_html_() if hasattr(type(result), "_repr_html_") else ""
    if isinstance(result, PublicMoments):
        plain = Table().build("other")
        yield "to_json", lambda: result.to_json()
        yield "from_json", lambda: PublicMoments.from_json(result.to_json())
        yield "with_ridge", lambda: result.with_ridge(values["ridge_share"])
        yield "full rank", lambda: result.require_full_rank()
        formula = "y ~ x + g + poly(z, 2)" if function.endswith("json") else values["formula"]
        yield "dp_lm", lambda: dpstats.dp_lm(formula, plain, result, mu=1, seed=1)
        yield (
            "dp_glm",
            lambda: dpstats.dp_glm(formula, plain, result, family="gaussian", mu=1, seed=1),
        )
        return
    if isinstance(result, dpstats.Budget):
        cost = values["level"]
        for unit in ("mu", "rho", "epsilon"):
            yield f"charge {unit}", lambda unit=unit: result.charge("a", **{unit: cost})
        yield "charge", lambda: result.charge(values["change"], epsilon=0.1, delta=cost)
        yield "tidy", lambda: repr(result.tidy())
        for part in (result.spent, result.remaining):
            yield "epsilon", lambda part=part: part.epsilon(values["at_delta"])
            yield "delta", lambda part=part: part.delta(values["at_delta"])
        for form in ("to_text", "to_markdown", "to_latex", "to_html", "to_csv"):
            yield f"table {form}", lambda form=form: getattr(result.table(), form)()
        return
    for form in ("to_text", "to_markdown", "to_latex", "to_html", "to_csv"):
        if has(form):
            yield form, lambda form=form: getattr(result, form)()
    if has("smallest_n"):
        yield "smallest", lambda: repr((result.smallest_mu, result.smallest_n()))
        yield "std_error", lambda: repr(result.std_error())
    if has("summary"):
        for form in ("to_text", "to_markdown", "to_latex", "to_html", "to_csv", "__repr__"):
            yield f"summary {form}", lambda form=form: getattr(result.summary(), form)()
    for name in ("tidy", "glance", "bounds", "diagnostics", "coef", "se", "to_json", "nobs"):
        if has(name):
            yield name, lambda name=name: _asked(getattr(result, name))
    if has("privacy"):
        spent = result.privacy
        yield "privacy", lambda: repr(spent) + spent.line() + repr(spent.mechanisms)
        yield "privacy.for_group", lambda: repr(spent.for_group(values["draws"]))
        yield "privacy.epsilon", lambda: spent.epsilon(values["at_delta"])
        yield "privacy.delta", lambda: spent.delta(values["at_delta"])
    if function in _MODELS:
        level, change = values["level"], values["change"]
        for name in ("confint", "tidy", "odds_ratios", "ratio_table"):
            if has(name) and (name != "tidy" or has("confint")):
                yield f"{name}(level)", lambda name=name: getattr(result, name)(level)
        if has("vcov"):
            yield "vcov", lambda: result.vcov(values["part"])
        if has("update"):
            yield "update", lambda: repr(result.update(change).summary())
            yield "anova", lambda: dpstats.anova(result, result.update(change))
            yield (
                "path",
                lambda: result.path(values["penalty"], values["lambdas"], values["mixing"]),
            )
        if has("predict"):
            options = {} if values["type"] is None else {"type": values["type"]}
            if function not in ("dp_glm", "eptr_bayes", "dp_mixture"):
                options = {}
            if values["interval"] is not None and function not in ("eptr_bayes", "dp_mixture"):
                options |= {"interval": values["interval"], "level": level}
            yield "predict", lambda: repr(result.predict(newdata, **options))
            yield "predict public", lambda: repr(result.predict(public, **options))
            yield (
                "predict plain",
                lambda: repr(result.predict(Table(n=3).build("public"), **options)),
            )
        if has("confusion"):
            yield "confusion", lambda: result.confusion(newdata)
            yield "balanced_error", lambda: result.balanced_error(newdata)
        if has("sample"):
            yield "sample", lambda: result.sample(values["draws"], seed=values["draw_seed"])
        if has("to_moments"):
            yield "to_moments", lambda: result.to_moments(values["moments"])
        for name in ("mean", "cov", "corr", "cov_se", "condition", "priors", "means", "weights"):
            if has(name):
                yield name, lambda name=name: getattr(result, name)
        for name in ("covariances", "curve", "bandwidth", "complete", "dispersion", "sigma"):
            if has(name):
                yield name, lambda name=name: getattr(result, name)
        yield "pickle", lambda: repr(pickle.loads(pickle.dumps(result)))
        yield "attribute", lambda: _attribute(result, values["attribute"])


def _knows(result: Any) -> Callable[[str], bool]:
    """Whether a result knows a name; its class is asked, or its own attributes."""
    return lambda name: hasattr(type(result), name) or name in getattr(result, "__dict__", {})


def _asked(what: Any) -> Any:
    return what() if callable(what) else what


def _attribute(result: Any, name: str) -> Any:
    try:
        return getattr(result, name)
    except AttributeError as error:
        return str(error)


def _told(error: BaseException | None) -> list[str]:
    """What an error and those behind it say."""
    told: list[str] = []
    while error is not None:
        told += [
            type(error).__name__,
            str(error),
            repr(error),
            *map(str, error.__dict__.get("__notes__", [])),
        ]
        following = error.__cause__ or error.__context__
        error = following
    return told


def _listen(outcome: Outcome, text: str, where: str, error: BaseException | None) -> None:
    for canary in () if outcome.public else CANARIES:
        if canary in text:
            at = text.index(canary)
            shown = text[max(at - 100, 0) : at + 40]
            outcome.findings.append(f"a private value shows in {where}: {shown!r}")
            outcome.where.append(f"shown {where} {type(error).__name__}")


def _found(outcome: Outcome, error: BaseException, where: str) -> None:
    if isinstance(error, SystemExit):  # the user's own function asks for it
        return
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if "/dpstats/" in f.filename and "/tests/" not in f.filename]
    place = f"{ours[-1].filename.rsplit('/dpstats/', 1)[-1]}:{ours[-1].lineno}" if ours else "?"
    try:
        said = str(error)
    except BaseException:
        said = "(cannot be said)"
    last = f" (in {frames[-1].filename.rsplit('/', 1)[-1]}:{frames[-1].lineno})" if frames else ""
    outcome.findings.append(f"{type(error).__name__} from {where} at {place}{last}: {said[:200]}")
    outcome.where.append(f"{type(error).__name__} {place}")
    for told in _told_safely(error):
        _listen(outcome, told, where, error)


def _told_safely(error: BaseException) -> list[str]:
    try:
        return _told(error)
    except BaseException:
        return []


@contextmanager
def _limited() -> Iterator[None]:
    """An end to what takes for ever, or all memory."""

    def stop(*_: object) -> None:
        raise TooLongError(f"more than {PATIENCE} seconds")

    old_alarm = signal.signal(signal.SIGALRM, stop)
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm") as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    signal.alarm(PATIENCE)
    resource.setrlimit(resource.RLIMIT_AS, (now + 2 * MEGABYTES * 2**20, hard))
    try:
        yield
    finally:
        signal.alarm(0)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        signal.signal(signal.SIGALRM, old_alarm)


def smaller(case: Case, same: Callable[[Outcome], bool]) -> Case:
    """The case without the changes that are not needed for the same outcome."""
    changes = list(case.changes)
    k = 0
    while k < len(changes):
        fewer = Case(case.function, tuple(changes[:k] + changes[k + 1 :]))
        if same(run(fewer)):
            del changes[k]
        else:
            k += 1
    return Case(case.function, tuple(changes))
