"""Do curves, classifiers, Gaussians and mixtures tell the truth on real tables?

The population is a table: private rows are drawn from it with replacement, public ones without, and
the truth is the same estimator on the whole table, without privacy. A line per case and epsilon:
``ratio`` the error over that without privacy, ``over public`` the error over that of public rows
alone (medians over repetitions), ``cover`` of 95 % intervals, ``silent`` the share of fits with a
number beyond 3.29 printed errors and no note, ``noisy`` the share of notes among the others, and
``behind`` the share of fits more than 5 % worse than public rows alone without a note.

    python -m tests.benchmarks.real_others --real FOLDER --data FOLDER [--part curves] [--only a,b]
                                           [--repeats 4] [--epsilon 1,4] [--jobs 2]

Tables of scikit-learn (iris, digits) are used where it is installed.
"""

from __future__ import annotations

import argparse
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pandas as pd

from dpstats.errors import DPStatsError
from tests.benchmarks.others.tables import Case, Folders

_PARTS = ("curves", "curves_alone", "classes", "classes_alone", "lines", "moments", "groups")
_DELTA = 1e-5


def cases(part: str) -> dict[str, Case]:
    """What a part measures, by name."""
    found: dict[str, Case] = import_module(f"tests.benchmarks.others.{part}").CASES
    return found


def one(part: str, name: str, folders: Folders, seed: int, epsilon: float) -> dict[str, Any]:
    """The figures of one fit, or why there is none."""
    warnings.simplefilter("ignore")
    line: dict[str, Any] = {"part": part, "case": name, "epsilon": epsilon, "seed": seed}
    start = time.perf_counter()
    try:
        line |= cases(part)[name](folders, seed, epsilon, _DELTA)
    except (FileNotFoundError, ImportError) as missing:
        line["missing"] = str(missing)
    except DPStatsError as error:
        line["refused"] = str(error)[:100]
    return line | {"seconds": line.get("seconds", time.perf_counter() - start)}


def summary(lines: pd.DataFrame) -> pd.DataFrame:
    """A line for every case and epsilon."""
    wanted = ("error", "plain", "public", "cover", "far", "noted", "refused")
    lines = lines.reindex(columns=[*dict.fromkeys([*lines.columns, *wanted])])
    far, said = lines.far.eq(True), lines.noted.eq(True)
    lines = lines.assign(
        ratio=lines.error / lines.plain,
        over_public=lines.error / lines.public,
        silent=(far & ~said).where(lines.error.notna()),
        noisy=said.where(~far & lines.error.notna()),
        behind=((lines.error > 1.05 * lines.public) & ~said).where(lines.public.notna()),
        refused=lines.refused.notna(),
    )
    known = {
        "part",
        "case",
        "epsilon",
        "seed",
        "error",
        "plain",
        "public",
        "far",
        "noted",
        "missing",
    }
    medians = ["ratio", "over_public", "seconds"]
    means = [c for c in lines.columns if c not in known | set(medians)]
    by = lines.groupby(["part", "case", "epsilon"], sort=False)
    return pd.concat([by[medians].median(), by[means].mean()], axis=1).reset_index()


def main() -> None:
    """Run what is asked for, and print it."""
    ask = argparse.ArgumentParser()
    ask.add_argument("--real", type=Path, required=True)
    ask.add_argument("--data", type=Path, required=True)
    ask.add_argument("--part", default=",".join(_PARTS))
    ask.add_argument("--only", default="")
    ask.add_argument("--repeats", type=int, default=4)
    ask.add_argument("--epsilon", default="1,4")
    ask.add_argument("--jobs", type=int, default=2)
    given = ask.parse_args()
    folders = Folders(given.real, given.data)
    only = set(filter(None, given.only.split(",")))
    tasks = [
        (part, name, folders, seed, float(epsilon))
        for part in given.part.split(",")
        for name in cases(part)
        if not only or name in only
        for epsilon in given.epsilon.split(",")
        for seed in range(given.repeats)
    ]
    with ProcessPoolExecutor(given.jobs, mp_context=get_context("spawn")) as pool:
        lines = pd.DataFrame(list(pool.map(one, *zip(*tasks, strict=True))))
    pd.set_option("display.width", 200, "display.max_columns", 30, "display.max_rows", 500)
    table = summary(lines)
    print(table.round(3).to_string(index=False))
    for part, some in table.groupby("part", sort=False):
        figures = [f"{k} {some[k].median():.3f}" for k in ("ratio", "over_public")]
        figures += [f"{k} {some[k].mean():.3f}" for k in ("cover", "silent", "noisy", "behind")]
        print(f"{part}: {', '.join(figures)}, least cover {some.cover.min():.3f}")


if __name__ == "__main__":
    main()
