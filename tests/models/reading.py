"""Which values of a private table a call looks at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dpstats.frame.pandas_table import PandasTable


def values_read(monkeypatch: pytest.MonkeyPatch, rows: int) -> list[str]:
    """Grows when a value of a table of so many rows is looked at; its schema may be seen."""
    seen: list[str] = []
    for name in ("numbers", "codes", "observed_levels"):
        real: Callable[..., Any] = getattr(PandasTable, name)

        def read(
            self: PandasTable, column: str, *args: Any, real: Callable[..., Any] = real
        ) -> Any:
            if self.n == rows:
                seen.append(column)
            return real(self, column, *args)

        monkeypatch.setattr(PandasTable, name, read)
    return seen
