"""Means of skewed columns of real tables: do the intervals of `dp_mean` hold them?

Every numeric column of the tables in some folders (csv or csv.gz) with more than ten values and a
skewness beyond 2 is a population, from which rows are drawn. For each size and budget a line over all
columns: ``cover`` of 95 % intervals for the mean of the column (mean and worst, and of how many columns
it is below 0.85), ``plain`` that of the sample's mean and standard error, ``missed`` the share of
intervals that miss without a note, ``noted`` that of all fits with one, ``error`` the root mean square
error in errors of sampling (median, worst) and ``width`` the printed errors over these (median).

    python -m tests.benchmarks.skewed_means --tables FOLDER [FOLDER ...] [--repeats 16] [--each]
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy

from dpstats import dp_mean
from dpstats.arrays import Floats

_SETTINGS: tuple[tuple[int, dict[str, float]], ...] = (
    (2000, {"mu": 1}),
    (5000, {"mu": 1}),
    (20_000, {"epsilon": 1, "delta": 1e-5}),
)


def skewed_columns(folders: list[Path]) -> dict[str, Floats]:
    """The values of columns, by table and name; those that several tables share once."""
    found: dict[tuple[str, int], tuple[str, Floats]] = {}
    for path in sorted(p for folder in folders for p in folder.glob("*.csv*")):
        table = pd.read_csv(path)
        for name in table.select_dtypes("number"):
            values = table[name].dropna().to_numpy(dtype=float)
            few = len(values) < 300 or len(np.unique(values)) <= 10
            if not few and abs(float(scipy.stats.skew(values))) > 2:
                key = str(name), len(values)
                found.setdefault(key, (f"{path.name.split('.')[0]}: {name}", values))
    return dict(found.values())


def measured(values: Floats, n: int, total: dict[str, Any], repeats: int) -> dict[str, float]:
    """What intervals of a mean do over some draws."""
    truth, unit = values.mean(), values.std() / np.sqrt(n)
    away, error, quiet, plain = (np.full(repeats, np.nan) for _ in range(4))
    for seed in range(repeats):
        rows = np.random.default_rng(seed).choice(values, n)
        fit = dp_mean(["y"], pd.DataFrame({"y": rows}), seed=seed, **total)
        away[seed] = (fit.mean["y"] - truth) / unit
        error[seed] = fit.se()["y"] / unit
        quiet[seed] = not [note for note in fit.notes if "seed" not in note]
        plain[seed] = abs(rows.mean() - truth) < 1.96 * rows.std() / np.sqrt(n)
    known = np.isfinite(error)
    held = np.abs(away[known]) < 1.96 * error[known]
    return {
        "cover": held.mean() if known.any() else np.nan,
        "plain": plain.mean(),
        "missed": float((~held & (quiet[known] > 0)).sum()) / repeats,
        "noted": 1 - quiet.mean(),
        "error": float(np.sqrt(np.nanmean(away**2))),
        "width": float(np.nanmedian(error)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--tables", type=Path, nargs="+", required=True)
    parser.add_argument("--repeats", type=int, default=16)
    parser.add_argument("--each", action="store_true", help="a line for every column too")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    columns = skewed_columns(given.tables)
    for n, total in _SETTINGS:
        lines = {name: measured(v, n, total, given.repeats) for name, v in columns.items()}
        found = pd.DataFrame(lines).T
        if given.each:
            print(found.round(3).to_string())
        print(
            f"{len(found)} columns, n = {n}, {total}: cover {found.cover.mean():.3f}, worst "
            f"{found.cover.min():.2f}, below 0.85 {int((found.cover < 0.85).sum())}; plain "
            f"{found.plain.mean():.3f}; missed {found.missed.mean():.3f}; noted "
            f"{found.noted.mean():.2f}; error {found.error.median():.2f}, worst "
            f"{found.error.max():.1f}; width {found.width.median():.2f}"
        )


if __name__ == "__main__":
    main()
