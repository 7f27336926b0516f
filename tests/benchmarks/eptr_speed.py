"""Time of eptr_nw beside the two kernel sums it protects, and of planning a tested release.

    python -m tests.benchmarks.eptr_speed --rows 20000 --points 2000 --repeats 5

Ratios of medians over interleaved repeats, in one process.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import pandas as pd

from dpstats.propose_test import plan as ptr
from dpstats.propose_test.curve import Calibration, Levels
from tests.benchmarks import eptr_competitors as ec
from tests.benchmarks import eptr_settings

BANDWIDTH = 0.05
SUMS = "kernel sums"


def seconds(work: Callable[[], object]) -> float:
    """Time of one call."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def curves(n: int, m: int, repeats: int) -> None:
    """Print the seconds of eptr_nw for ``m`` points of the unit square, over the plain sums."""
    import dpstats

    t = eptr_settings.simulated_nw(0, n, d=2)
    points = np.random.default_rng(1).random((m, 2))
    at = pd.DataFrame(points, columns=list(t.names))
    private, public = t.frame(t.private), t.frame(t.public)

    def release(method: str) -> Callable[[], object]:
        return lambda: dpstats.eptr_nw(
            t.formula,
            private,
            public=public,
            epsilon=1.0,
            delta=0.01,
            at=at,
            bandwidth=BANDWIDTH,
            method=method,
        )

    runs: dict[str, Callable[[], object]] = {
        SUMS: lambda: ec.kernel_sums(points, t.private.x, t.private.y, BANDWIDTH)
    }
    runs |= {method: release(method) for method in ("gp", "adaptive")}
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(repeats):
        for name, run in runs.items():
            times[name].append(seconds(run))
    middle = {name: float(np.median(found)) for name, found in times.items()}
    print(f"n = {n}, {m} points: {SUMS} {middle[SUMS]:.3f} s")
    for name in list(runs)[1:]:
        first = times[name][0]
        print(
            f"  eptr_nw {name:9s} {middle[name]:.3f} s, first call {first:.3f} s, "
            f"/ {SUMS} {middle[name] / middle[SUMS]:.2f}",
            flush=True,
        )


def plans() -> None:
    """Print the seconds of calibrating tested releases, none of them met before.

    "flat" has one sensitivity at all levels and a target just above the smallest possible one;
    "falling" has the sensitivity 1 / (20 + level) of a kernel degree or an eigenvalue, and 400.
    """
    # Budget, and the levels of a noise at 0.9 of the largest mu.
    flat = {(1.0, 0.01): 16, (1.0, 1e-5): 44, (4.0, 0.01): 6, (4.0, 1e-5): 14}
    falling = 1 / (20 + np.arange(401.0))
    falling[0] = 1.0
    shapes = {"flat": Levels.flat(1.0), "falling": Levels(falling, falling)}
    calibrations: tuple[Calibration, ...] = "gdp", "dp"
    for calibration in calibrations:
        for (epsilon, delta), least in flat.items():
            line = f"plan, {calibration}, epsilon = {epsilon:g}, delta = {delta:g}:"
            for name, levels in shapes.items():
                began = time.perf_counter()
                ptr.plan_release(
                    levels,
                    epsilon,
                    delta,
                    calibration=calibration,
                    target=least if name == "flat" else 400,
                )
                line += f"  {name} {time.perf_counter() - began:.2f} s"
            print(line, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=["curves", "plans"])
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--points", type=int, default=2000)
    parser.add_argument("--repeats", type=int, default=5)
    asked = parser.parse_args()
    if asked.part in (None, "curves"):
        curves(asked.rows, asked.points, asked.repeats)
    if asked.part in (None, "plans"):
        plans()
