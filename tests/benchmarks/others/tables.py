"""Real tables as populations: the whole table is the truth, rows are drawn from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

LARGEST = 25_000
FAR = 3.29


@dataclass(frozen=True)
class Folders:
    """Where tables are: ``real`` has NAME.csv.gz of regressions, ``data`` other tables."""

    real: Path
    data: Path

    def table(self, name: str) -> pd.DataFrame:
        """A table by its name, without rows that lack a value; some of scikit-learn too."""
        if name in ("iris", "digits", "wine", "breast_cancer"):
            from sklearn import datasets  # type: ignore

            loaded = getattr(datasets, f"load_{name}")(as_frame=True)
            kinds = loaded.target_names[loaded.target]
            return loaded.data.assign(kind=kinds.astype(str)).rename(columns=_plain_name)
        for folder in (self.real, self.data):
            for end in (".csv.gz", ".csv"):
                if (path := folder / f"{name}{end}").exists():
                    return pd.read_csv(path).dropna(ignore_index=True).rename(columns=_plain_name)
        raise FileNotFoundError(name)


def _plain_name(name: str) -> str:
    return name.replace(" (cm)", "").replace(" ", "_")


@dataclass(frozen=True)
class Draw:
    """Rows of one repetition, and the population they come from."""

    population: pd.DataFrame
    private: pd.DataFrame
    public: pd.DataFrame
    seed: int


def draw(table: pd.DataFrame, m: int, seed: int) -> Draw:
    """Private rows with replacement, as many as the table has or 25 000; m public rows without."""
    rng = np.random.default_rng([seed, m, 77])
    public = table.iloc[rng.choice(len(table), min(m, len(table)), replace=False)]
    private = table.iloc[rng.integers(0, len(table), min(len(table), LARGEST))]
    return Draw(table, private.reset_index(drop=True), public.reset_index(drop=True), seed)


def noted(fit: Any) -> bool:
    """Whether a fit has a note besides those on seeds."""
    return any("seed" not in note for note in fit.notes)


Case = Callable[[Folders, int, float, float], Mapping[str, Any]]
"""What a part measures of a table: folders, seed, epsilon and delta, to figures of one fit.

Figures by name: ``error`` and ``plain`` (those of the fit and of the fit without privacy, in one unit),
``public`` (that of public rows alone), ``cover`` (share of intervals that hold the truth), ``far``
(whether a printed number is beyond 3.29 of its errors), ``noted``, ``seconds``; others as they are.
"""
