"""The papers' figures again: tables, pictures and what became of their claims.

    python -m tests.benchmarks.replication                             # everything, at full size
    python -m tests.benchmarks.replication --figures ridge ols-1       # a paper, a figure
    python -m tests.benchmarks.replication --fast --repeats 2 --out coarse
    python -m tests.benchmarks.replication --claims-only               # from the tables that are there

Writes ``<name>.csv`` and ``<name>.svg`` for each figure and ``claims.csv`` for all whose table is in
the folder. Repetitions are seeds 0, 1, ...: two runs give the same files.
"""

from __future__ import annotations

import argparse
import time
from importlib.util import find_spec
from pathlib import Path

import pandas as pd

from tests.benchmarks import settings
from tests.benchmarks.replication import draw, eptr, gaussian, logistic, ols, ridge
from tests.benchmarks.replication.figure import Claim, Figure, Sizes, run

PAPERS = (ridge, logistic, ols, eptr, gaussian)
"""Modules with FIGURES and CLAIMS."""

FIGURES: tuple[Figure, ...] = tuple(figure for paper in PAPERS for figure in paper.FIGURES)
CLAIMS: tuple[Claim, ...] = tuple(claim for paper in PAPERS for claim in paper.CLAIMS)

ORIGINALS = (
    "white wine https://doi.org/10.24432/C56S3T, power plant https://doi.org/10.24432/C5002N, "
    "Bank Marketing https://doi.org/10.24432/C5K306, credit default https://doi.org/10.24432/C55S3H, "
    "California housing https://lib.stat.cmu.edu/datasets/houses.zip"
)


def chosen(names: list[str] | None) -> list[Figure]:
    """The figures whose name is, or begins with, one of ``names``; all of them without names."""
    if names is None:
        return list(FIGURES)
    unknown = [n for n in names if not any(f.name.startswith(n) for f in FIGURES)]
    if unknown:
        known = ", ".join(f.name for f in FIGURES)
        raise SystemExit(f"no figure begins with {', '.join(unknown)}; there are {known}")
    return [f for f in FIGURES if any(f.name.startswith(n) for n in names)]


def write_table(table: pd.DataFrame, path: Path) -> None:
    """Six significant digits: more say nothing over a few hundred repetitions."""
    table.to_csv(path, index=False, float_format="%.6g", lineterminator="\n")


def read_table(path: Path) -> pd.DataFrame:
    """A table as it was written; a figure without panels has one of the empty name."""
    table = pd.read_csv(path, dtype={"panel": str})
    return table.assign(panel=table.panel.fillna(""), x=table.x.astype(float))


def write_claims(out: Path) -> None:
    """What became of the claims about every figure whose table is in the folder."""
    rows = []
    for claim in CLAIMS:
        path = out / f"{claim.figure}.csv"
        if path.exists():
            found = claim.check(read_table(path))
            rows.append((claim.figure, claim.claim, found.measured, found.agrees, claim.why))
    names = ["figure", "claim", "measured", "agrees", "why"]
    pd.DataFrame(rows, columns=names).to_csv(out / "claims.csv", index=False, lineterminator="\n")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--figures", nargs="+", help="names, or what names begin with")
    parser.add_argument("--repeats", type=int, help="default: as in the paper")
    parser.add_argument("--fast", action="store_true", help="a coarse grid")
    settings.add_data_option(parser)
    parser.add_argument("--out", type=Path, default=Path("vignettes/replication"))
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--claims-only", action="store_true", help="draw and check, run nothing")
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    sizes = Sizes(asked.data if asked.data.is_dir() else None, asked.fast)
    for figure in chosen(asked.figures):
        path = asked.out / f"{figure.name}.csv"
        if not asked.claims_only:
            if figure.real and sizes.data is None:
                print(f"{figure.name}: skipped, no folder {asked.data}; originals: {ORIGINALS}")
                continue
            if figure.needs and find_spec(figure.needs) is None:
                print(f"{figure.name}: skipped, needs {figure.needs} (pip install '.[bench]')")
                continue
            start = time.perf_counter()
            write_table(run(figure, sizes, asked.repeats or figure.repeats, asked.workers), path)
            print(f"{figure.name}: {time.perf_counter() - start:.0f} s", flush=True)
        if path.exists():
            draw.save(draw.draw(figure, read_table(path)), path.with_suffix(".svg"))
    write_claims(asked.out)


if __name__ == "__main__":
    main()
