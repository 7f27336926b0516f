"""What an object holds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa


def held_rows(thing: Any, n: int, seen: set[int] | None = None, path: str = "") -> list[str]:
    """Paths of arrays of length n and of tables inside an object, found by a recursive walk."""
    seen = set() if seen is None else seen
    if id(thing) in seen or isinstance(thing, str | bytes | int | float | bool | type(None) | type):
        return []
    seen.add(id(thing))
    if isinstance(thing, np.ndarray) and thing.dtype != object:
        return [path] if n in thing.shape else []
    if isinstance(thing, pd.DataFrame | pd.Series | pl.DataFrame | pa.Table):
        return [path] if len(thing) == n else []
    out = []
    if isinstance(thing, dict):
        for key, value in thing.items():
            out += held_rows(value, n, seen, f"{path}[{key!r}]")
    elif isinstance(thing, list | tuple | set | frozenset | np.ndarray):
        if len(thing) == n:
            out.append(path)
        for k, value in enumerate(thing):
            out += held_rows(value, n, seen, f"{path}[{k}]")
    else:
        for name in [*getattr(thing, "__dict__", {}), *getattr(thing, "__slots__", ())]:
            out += held_rows(getattr(thing, name, None), n, seen, f"{path}.{name}")
        if callable(thing) and getattr(thing, "__closure__", None):
            for cell in thing.__closure__:
                out += held_rows(cell.cell_contents, n, seen, f"{path}.closure")
    return out
