"""Rows that may be shown to anybody, in whatever form they are given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from dpstats.errors import ArgumentError


def new_rows(newdata: Any) -> pd.DataFrame:
    """New rows as a data frame: of a dict, or of a table of another library."""
    if isinstance(newdata, pd.DataFrame):
        return newdata.reset_index(drop=True)
    if newdata is None:
        raise ArgumentError(
            "give rows that you may show, such as public rows: slopes(newdata); a fit holds none. "
            "Averages over private rows have a budget of their own: slopes(data=private, mu=0.5)."
        )
    if hasattr(newdata, "to_pandas"):
        return new_rows(newdata.to_pandas())
    try:
        plain = newdata if not isinstance(newdata, dict) else _as_columns(newdata)
        return pd.DataFrame(plain)
    except (ValueError, TypeError) as error:
        raise ArgumentError(f"newdata cannot be read as a table: {error}") from None


def _as_columns(values: dict[str, Any]) -> dict[str, Any]:
    """Single values as columns of one row, where all are single."""
    single = all(np.ndim(value) == 0 for value in values.values())
    return {name: [value] if single else value for name, value in values.items()}
