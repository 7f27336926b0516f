"""How the cost of a fit grows with rows and columns: time, memory and passes over the rows.

    python -m tests.benchmarks.scaling --table scaling.csv --picture scaling.png
    python -m tests.benchmarks.scaling --models lm glm --rows 1000 10000 --columns 5 10

Every fit runs in a process of its own, three times; the fastest run counts, in seconds on the clock and
in those of all processors together. Memory is the peak above the table. Beside them stand statsmodels'
formula fit and X'X of the same columns. Exponents are those of time ~ n^a at the columns that most
sizes have, and of time ~ d^b likewise, least squares of logarithms over the larger half of the sizes.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

ROWS = (10**3, 10**4, 10**5, 10**6, 10**7)
COLUMNS = (2, 5, 10, 20, 50, 100, 200, 500)
MODELS = ("lm", "glm", "mvnorm", "feols", "ols", "logit", "gram")
_AT_ROWS, _AT_COLUMNS = 10**5, 10
_SLOW = {"ols": 2 * 10**7, "logit": 2 * 10**7}
"""Numbers of a table beyond which statsmodels would need more memory than most machines have."""
_MOST = 1.2e8
"""Numbers of a table that are held in memory here."""
_RUNS = 3


def sizes(rows: Sequence[int], columns: Sequence[int]) -> list[tuple[int, int]]:
    """All rows at 10 columns, and all columns at 10^5 rows, as far as they are asked for."""
    d = _AT_COLUMNS if _AT_COLUMNS in columns else columns[0]
    n = _AT_ROWS if _AT_ROWS in rows else rows[-1]
    found = [(k, d) for k in rows] + [(n, k) for k in columns if k != d]
    return [size for size in found if size[0] * size[1] <= _MOST]


def table(n: int, d: int) -> tuple[pd.DataFrame, str]:
    """Independent normal columns, a normal and a binary response, firms; and the right-hand side."""
    rng = np.random.default_rng(0)
    names = [f"x{j}" for j in range(d)]
    frame = pd.DataFrame({name: rng.normal(size=n) for name in names})
    linear = sum(
        frame[name].to_numpy() * b for name, b in zip(names, rng.normal(size=d), strict=True)
    )
    linear = linear / np.sqrt(d)
    frame["y"] = linear + rng.normal(size=n)
    frame["won"] = (rng.random(n) < 1 / (1 + np.exp(-linear))).astype(np.float64)
    frame["firm"] = np.arange(n) // 5
    return frame, " + ".join(names)


def fit_of(model: str, frame: pd.DataFrame, right: str) -> Callable[[], Any]:
    """The fit to be timed; what it needs is imported before."""
    import statsmodels.api as sm
    import statsmodels.formula.api as smf

    import dpstats

    public = frame.iloc[: max(200, 3 * (right.count("+") + 1))]
    with_public: dict[str, Any] = {"data": frame, "public": public, "mu": 1}
    names = right.split(" + ")
    matrix = np.asfortranarray(frame[names].to_numpy()) if model == "gram" else np.empty(0)
    return {
        "lm": lambda: dpstats.dp_lm(f"y ~ {right}", **with_public),
        "glm": lambda: dpstats.dp_glm(f"won ~ {right}", **with_public),
        "mvnorm": lambda: dpstats.dp_mvnorm(f"~ {right}", **with_public),
        "feols": lambda: dpstats.dp_feols(
            f"y ~ {right} | firm", **with_public, person="firm", rows_per_person=5
        ),
        "ols": lambda: smf.ols(f"y ~ {right}", frame).fit(),
        "logit": lambda: smf.glm(f"won ~ {right}", frame, family=sm.families.Binomial()).fit(),
        "gram": lambda: matrix.T @ matrix,
    }[model]


def measure(model: str, n: int, d: int) -> dict[str, Any]:
    """One line of the table, measured in this process."""
    from tests.benchmarks.linear_speed import peak_above

    frame, right = table(n, d)
    run = fit_of(model, frame, right)
    memory = peak_above(run)
    clock, busy, found = [], [], None
    for _ in range(_RUNS):
        began, used = time.perf_counter(), time.process_time()
        found = run()
        clock.append(time.perf_counter() - began)
        busy.append(time.process_time() - used)
    passes = None
    if model in ("lm", "glm", "feols"):
        assert found is not None
        passes = float(found.diagnostics().loc["passes", "value"])
    return {
        "model": model,
        "n": n,
        "d": d,
        "seconds": min(clock),
        "processor_seconds": min(busy),
        "memory_mib": memory,
        "passes": passes,
    }


def exponent(lines: pd.DataFrame, by: str) -> float:
    """Slope of log processor seconds over the larger half of the sizes; NaN for fewer than two."""
    used = lines.sort_values(by).iloc[len(lines) // 2 :]
    if len(used) < 2:
        return float("nan")
    return float(np.polyfit(np.log(used[by]), np.log(used.processor_seconds), 1)[0])


def exponents(lines: pd.DataFrame) -> pd.DataFrame:
    """a of n^a and b of d^b by model."""
    d, n = lines.d.mode().iloc[0], lines.n.mode().iloc[0]
    rows = {
        model: (exponent(part[part.d == d], "n"), exponent(part[part.n == n], "d"))
        for model, part in lines.groupby("model", sort=False)
    }
    return pd.DataFrame.from_dict(rows, orient="index", columns=["of rows", "of columns"])


def draw(lines: pd.DataFrame, path: Path) -> None:
    """Processor seconds over rows and over columns."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    d, n = lines.d.mode().iloc[0], lines.n.mode().iloc[0]
    figure, axes = pyplot.subplots(1, 2, figsize=(9, 4), sharey=True)
    for axis, by, part, at in (
        (axes[0], "n", lines[lines.d == d], f"{d} columns"),
        (axes[1], "d", lines[lines.n == n], f"{n} rows"),
    ):
        for model, some in part.sort_values(by).groupby("model", sort=False):
            axis.loglog(some[by], some.processor_seconds, marker="o", label=model)
        axis.set_xlabel(f"{'rows' if by == 'n' else 'columns'}, at {at}")
    axes[0].set_ylabel("seconds of all processors")
    axes[0].legend()
    figure.tight_layout()
    figure.savefig(path)


def main(asked: argparse.Namespace) -> None:
    found = []
    for n, d in sizes(asked.rows, asked.columns):
        for model in asked.models:
            if n * d > _SLOW.get(model, _MOST):
                continue
            one = ["--one", model, str(n), str(d)]
            command = [sys.executable, "-m", "tests.benchmarks.scaling", *one]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                reason = done.stderr.strip().splitlines()[-1:]
                print(f"{model} {n} x {d}: {' '.join(reason)}", flush=True)
                continue
            found.append(json.loads(done.stdout))
            print(found[-1], flush=True)
    lines = pd.DataFrame(found)
    print(lines.round(4).to_string(index=False))
    print(exponents(lines).round(2).to_string())
    if asked.table:
        lines.to_csv(asked.table, index=False)
    if asked.picture:
        draw(lines, asked.picture)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=list(ROWS))
    parser.add_argument("--columns", type=int, nargs="+", default=list(COLUMNS))
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--table", type=Path)
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measure(given.one[0], int(given.one[1]), int(given.one[2]))))
    else:
        main(given)
