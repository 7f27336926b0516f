"""Rows that tests of sources read, and the files that hold them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from dpstats.frame import source
from dpstats.frame.table import Table

open_source: Callable[[Any], Any] = source.open_source

N = 1000
IDS = np.arange(N)
FRAME = pd.DataFrame(
    {
        "id": IDS.astype(float),
        "long": [f"a long text of row {i:04d}" for i in IDS],
        "short": [f"row {i:04d}" for i in IDS],
        "hidden": [f"hidden in row {i:04d}" for i in IDS],
        "year": 2020 + IDS // 400,
    }
)
BLOCKS = [FRAME.iloc[a : a + 300] for a in range(0, N, 300)]
ARROW = pa.Table.from_pandas(FRAME, preserve_index=False)
NAMES = ("id", "long", "short", "year")


def one_file(folder: Path) -> Path:
    FRAME.to_parquet(folder / "a.parquet", row_group_size=150)
    return folder / "a.parquet"


def one_folder(folder: Path) -> Path:
    FRAME.to_parquet(folder / "parts", partition_cols=["year"], row_group_size=150)
    return folder / "parts"


def several_files(folder: Path) -> list[str]:
    for k, block in enumerate(BLOCKS):
        block.to_parquet(folder / f"{k}.parquet")
    return [str(folder / f"{k}.parquet") for k in range(len(BLOCKS))]


def size_of(data: Any) -> tuple[int, list[Table]]:
    """Rows of a source, and the tables whose kinds were checked."""
    checked: list[Table] = []
    return open_source(data).size(checked.append, lambda rows: None), checked


def ids_of(tables: Iterator[Table]) -> Any:
    return np.concatenate([table.numbers("id", 0, table.n) for table in tables])
