"""Time and memory of dp_lm beside statsmodels and beside X'X, in one process.

    python -m tests.benchmarks.linear_speed --rows 1000000 --columns 20

Ratios of medians over interleaved repeats; memory is the peak of resident memory above the frame.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import statsmodels.formula.api as smf

from dpstats import dp_lm

GRAM = "X'X"
_REST, _SHORT = 0.1, 0.2
"""Seconds between runs, in which threads of BLAS from the run before end their waiting in a loop; and
of a fit that is repeated as often as others."""


def resident(name: str) -> float:
    """VmRSS or VmHWM of this process in MiB (Linux)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"no {name}")


def peak_above(work: Callable[[], object]) -> float:
    """Peak resident memory during ``work`` above what was resident before it, in MiB."""
    before = resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")
    work()
    return resident("VmHWM") - before


def main(n: int, d: int, repeats: int) -> None:
    rng = np.random.default_rng(0)
    names = [f"x{j}" for j in range(d)]
    frame = pd.DataFrame({name: rng.normal(size=n) for name in names})
    frame["y"] = frame[names].to_numpy() @ rng.normal(size=d) + rng.normal(size=n)
    public = frame.iloc[:1000].copy()
    matrix = np.asfortranarray(frame[names].to_numpy())
    formula = "y ~ " + " + ".join(names)
    runs: dict[str, Callable[[], object]] = {
        "dp_lm": lambda: dp_lm(formula, frame, public=public, mu=1),
        GRAM: lambda: matrix.T @ matrix,
        "statsmodels": lambda: smf.ols(formula, frame).fit(),
    }
    print(f"dp_lm: {peak_above(runs['dp_lm']):.0f} MiB above the frame (first call)", flush=True)
    times: dict[str, list[float]] = {name: [] for name in runs}
    for k in range(repeats):
        for name, run in runs.items():
            if name == "statsmodels" and k >= 3 and times[name][0] > _SHORT:
                continue
            time.sleep(_REST)
            began = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - began)
    middle = {name: float(np.median(t)) for name, t in times.items()}
    print("  ".join(f"{name} {t:.3f} s" for name, t in middle.items()))
    print(
        f"dp_lm / statsmodels {middle['dp_lm'] / middle['statsmodels']:.3f}, "
        f"dp_lm / X'X {middle['dp_lm'] / middle[GRAM]:.1f}"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=9)
    asked = parser.parse_args()
    main(asked.rows, asked.columns, asked.repeats)
