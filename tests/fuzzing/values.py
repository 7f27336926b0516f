"""Values that arguments may be given, by the texts that make them; numbers, seeds and names."""

from __future__ import annotations

import math
import types
import warnings
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from hypothesis import strategies as st

import dpstats

CANARIES = ("918273", "zqxcanary")
NUMBER, TEXT = 918273.5, "zqxcanary"
SHOWN = 300


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


def alike(params: Any, bse: Any, **more: Any) -> Any:
    """What looks like a fit of statsmodels."""
    return types.SimpleNamespace(params=params, bse=bse, **more)


class Code:
    """A value by the text that makes it, anew each time; equal and printed as that text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def make(self) -> Any:
        return eval(self.text, dict(NAMESPACE))

    def __repr__(self) -> str:
        return self.text if len(self.text) < SHOWN else f"{self.text[:SHOWN]}..."

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Code) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)


NAMESPACE: dict[str, Any] = {
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
    "alike": alike,
    "dpstats": dpstats,
    "Rude": Rude,
    "Thing": Thing,
}


def codes(*texts: str) -> st.SearchStrategy[Any]:
    """One of these values."""
    return st.sampled_from([Code(text) for text in texts])


def made(value: Any) -> Any:
    return value.make() if isinstance(value, Code) else value


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
