"""Time and memory of a logistic dp_glm beside statsmodels, in one process.

    python -m tests.benchmarks.glm_speed --rows 1000000 --columns 20

Ratio of medians over interleaved repeats; memory is the peak of resident memory above the frame.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import pandas as pd
import statsmodels.api as sm
import statsmodels.formula.api as smf
from scipy.special import expit

import dpstats
from tests.benchmarks.linear_speed import peak_above


def logistic_frame(n: int, d: int) -> tuple[pd.DataFrame, str]:
    """Rows with independent normal covariates, and the formula of all of them.

    Linear predictors have variance about 1 at any ``d``, so no fit comes near separation.
    """
    rng = np.random.default_rng(0)
    names = [f"x{j}" for j in range(d)]
    frame = pd.DataFrame({name: rng.normal(size=n) for name in names})
    linear = frame[names].to_numpy() @ (rng.normal(size=d) / np.sqrt(d))
    frame["y"] = (rng.random(n) < expit(linear)).astype(np.float64)
    return frame, "y ~ " + " + ".join(names)


def main(n: int, d: int, repeats: int) -> None:
    """Print the memory of dp_glm, the seconds of both fits and their ratio."""
    frame, formula = logistic_frame(n, d)
    public = frame.iloc[:1000].copy()
    runs: dict[str, Callable[[], object]] = {
        "dp_glm": lambda: dpstats.dp_glm(formula, frame, public=public, mu=1, family="binomial"),
        "statsmodels": lambda: smf.glm(formula, frame, family=sm.families.Binomial()).fit(),
    }
    # Measured first: what statsmodels leaves allocated would be counted as resident before.
    print(f"dp_glm: {peak_above(runs['dp_glm']):.0f} MiB above the frame (first call)", flush=True)
    times: dict[str, list[float]] = {name: [] for name in runs}
    for k in range(repeats):
        for name, run in runs.items():
            if name == "statsmodels" and k >= 3:
                continue
            began = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - began)
    middle = {name: float(np.median(t)) for name, t in times.items()}
    print("  ".join(f"{name} {t:.3f} s" for name, t in middle.items()))
    print(f"dp_glm / statsmodels {middle['dp_glm'] / middle['statsmodels']:.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=9)
    asked = parser.parse_args()
    main(asked.rows, asked.columns, asked.repeats)
