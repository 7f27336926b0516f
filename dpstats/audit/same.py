"""Equality of two data sets to the bit."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pandas as pd


def same_data(one: Any, other: Any) -> bool:
    """Whether two things are of one type and hold the same; False where that cannot be decided.

    Examples
    --------
    >>> same_data([1, np.array([np.nan])], [1, np.array([np.nan])]), same_data([0.0], [-0.0])
    (True, False)
    >>> same_data(pd.DataFrame({"a": [1]}), pd.DataFrame({"a": [1.0]}))
    False
    """
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, float):
        return struct.pack("d", one) == struct.pack("d", other)
    if isinstance(one, np.ndarray):
        if one.dtype != other.dtype or one.shape != other.shape:
            return False
        if one.dtype.hasobject:
            return same_data(one.ravel().tolist(), other.ravel().tolist())
        return bool(one.tobytes() == other.tobytes())
    if isinstance(one, pd.DataFrame):
        if not (one.columns.equals(other.columns) and one.index.equals(other.index)):
            return False
        size = range(one.shape[1])
        return all(same_data(one.iloc[:, j], other.iloc[:, j]) for j in size)
    if isinstance(one, pd.Series):
        alike = one.dtype == other.dtype and one.index.equals(other.index) and one.equals(other)
        plain = isinstance(one.dtype, np.dtype)
        return bool(alike and (not plain or same_data(one.to_numpy(), other.to_numpy())))
    if isinstance(one, dict):
        return list(one) == list(other) and same_data(list(one.values()), list(other.values()))
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same_data, one, other))
    equals = getattr(one, "equals", None)  # tables of polars and pyarrow
    try:
        return bool(equals(other)) if callable(equals) else bool(one == other)
    except Exception:
        return False
