"""The numbers that a release returns, one row for each run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from dpstats.arrays import Floats
from dpstats.audit.forms import as_float
from dpstats.errors import ArgumentError

NO_REPLY = "no reply"
_PARTS = ("value", "weights", "means", "covariances", "priors", "cov", "curve")

Numbers = float | Floats | dict[str, float] | None


def numbers_of(outcome: Any) -> Numbers:
    """The numbers of one outcome, with names where it has any.

    Numbers stay as they are, arrays are read in their order, Series, frames, lists and dicts by
    their labels; None, NA and NaN are missing. Of a result its `coef()` (or `mean`), `value`,
    `weights`, `means`, `covariances`, `priors`, `cov` and `curve` count, as far as it has them, and
    whether there was a reply.

    Examples
    --------
    >>> numbers_of(3), numbers_of(None), numbers_of({"a": 1, "b": [2, None]})
    (3.0, None, {'a': 1.0, 'b[0]': 2.0, 'b[1]': nan})
    """
    if isinstance(outcome, float | int | np.floating | np.integer | np.bool_):
        return as_float(outcome)
    if outcome is None:
        return None
    if isinstance(outcome, np.ndarray) and outcome.dtype.kind in "biuf":
        return np.array(outcome, dtype=float).ravel()
    return dict(_named(outcome, ""))


def _named(value: Any, name: str) -> Iterator[tuple[str, float]]:
    if value is None or value is pd.NA or value is pd.NaT:
        yield name or "value", math.nan
    elif isinstance(value, str | bytes | complex | np.complexfloating):
        raise _unreadable(value, name)
    elif isinstance(value, float | int | np.floating | np.integer | np.bool_):
        yield name or "value", as_float(value)
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield from _named(part, f"{name}[{key}]" if name else str(key))
    elif isinstance(value, pd.Series):
        labels = value.index if value.index.is_unique else range(len(value))
        for label, part in zip(labels, value.tolist(), strict=True):
            yield from _named(part, f"{name}[{label}]")
    elif isinstance(value, pd.DataFrame):
        for j, column in enumerate(value.columns):
            label = column if value.columns.is_unique else j
            yield from _named(value.iloc[:, j], f"{name}[{label}]")
    elif isinstance(value, list | tuple | np.ndarray):
        items = value.ravel().tolist() if isinstance(value, np.ndarray) else value
        for position, part in enumerate(items):
            yield from _named(part, f"{name}[{position}]")
    else:
        yield from _of_object(value, name)


def _of_object(value: Any, name: str) -> Iterator[tuple[str, float]]:
    """Numbers of a result, or of whatever knows how to become numbers."""
    parts = {part: getattr(value, part, None) for part in ("mean", *_PARTS)}
    coefficients = getattr(value, "coef", None)
    if callable(coefficients):  # which of a mean is the mean
        parts["mean"], parts["coef"] = None, coefficients()
    held = {k: v for k, v in parts.items() if v is not None and not callable(v)}
    if held:
        for part, numbers in held.items():
            yield from _named(numbers, f"{name}.{part}" if name else part)
    elif not hasattr(value, "released"):
        if hasattr(value, "__array__"):
            yield from _named(np.asarray(value), name)
        elif hasattr(value, "__float__"):
            yield name or "value", as_float(value)
        else:
            raise _unreadable(value, name)
    if isinstance(getattr(value, "released", None), bool):
        yield f"{name}.{NO_REPLY}" if name else NO_REPLY, float(not value.released)


def _unreadable(value: Any, name: str) -> ArgumentError:
    place = f" at {name}" if name else ""
    parts = ", ".join(f".{part}" for part in ("mean", *_PARTS))
    return ArgumentError(
        f"release returned something of type {type(value).__name__}{place}, which holds no numbers. "
        "Numbers are read from the value itself, from the items of a list, tuple, dict, array or table, "
        f"and of any other object from {parts} or .coef(). statistic= selects something else: a "
        "function of what release returns that gives numbers."
    )


def columns_of(outcomes: Sequence[Numbers]) -> tuple[str, ...]:
    """Names of all numbers that occur, in the order of their first occurrence."""
    names: dict[str, None] = {}
    widest = 0
    for one in outcomes:
        if isinstance(one, float):
            names["value"] = None
        elif isinstance(one, np.ndarray):
            widest = max(widest, one.size)
        elif one is not None:
            names |= dict.fromkeys(one)
    positions = dict.fromkeys(f"[{j}]" for j in range(widest))
    return (NO_REPLY, *(name for name in {**names, **positions} if name != NO_REPLY))


def matrix_of(outcomes: Sequence[Numbers], columns: Sequence[str]) -> Floats:
    """One row per outcome: NaN in columns that it lacks; numbers of no column are left out.

    Examples
    --------
    >>> matrix_of([2.0, None], ["no reply", "value"]).tolist()
    [[0.0, 2.0], [1.0, nan]]
    """
    out = np.full((len(outcomes), len(columns)), math.nan)
    positions = [f"[{j}]" for j in range(len(columns) - 1)]
    plain = list(columns[1:])
    if plain == ["value"] and all(one is None or isinstance(one, float) for one in outcomes):
        out[:, 1] = np.array(outcomes, dtype=float)
    else:
        where = {name: j for j, name in enumerate(columns)}
        for i, one in enumerate(outcomes):
            if isinstance(one, np.ndarray) and plain == positions:
                out[i, 1 : one.size + 1] = one[: len(plain)]
                continue
            for name, value in _items(one):
                if name in where:
                    out[i, where[name]] = value
    missing = np.isnan(out[:, 1:]).all(axis=1)
    out[:, 0] = np.where(missing, 1.0, np.nan_to_num(out[:, 0], nan=0.0))
    return out


def _items(outcome: Numbers) -> Iterator[tuple[str, float]]:
    if isinstance(outcome, float):
        yield "value", outcome
    elif isinstance(outcome, np.ndarray):
        yield from ((f"[{j}]", float(value)) for j, value in enumerate(outcome))
    elif outcome is not None:
        yield from outcome.items()
