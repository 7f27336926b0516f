"""What an attacker finds in every public function, by every method, on every pair of neighbours.

    python -m tests.benchmarks.privacy_audit --trials 20000 --out audit.csv [--only NAME] [--part k/m]

The attacker knows both tables and sees all that a session releases; see `tests.audits.watched`. A row of
the file says what surely is given away, in the unit of the claim, with 99 % confidence for the row by
itself: a claim that holds is refuted with probability 0.01 at most (at the sharpest of claims with about
10^-4, because two limits must fail together). Rows are added as they are found, and cases that the file
has are not run again. Each case has a seed of its own, from its name.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests.audits.adversaries import Name, cases
from tests.audits.verdict import Verdict, judge

_COLUMNS = (
    "function",
    "method",
    "pair",
    "unit",
    "claim",
    "slack",
    "found",
    "fraction",
    "refuted",
    "alpha",
    "power",
    "trials",
    "seconds",
    "noise",
)
_SLOW = (
    ("dp_lm", "anchored"),
    ("dp_mvnorm", ""),
    ("dp_glm", "pmt"),
    ("dp_glm", ""),
    ("dp_feols", ""),
    ("dp_mixture", "public"),
    ("dp_mixture", "private"),
)
"""Functions, and how the names of methods begin, whose releases take about a millisecond or more."""

Judge = Callable[[tuple[np.ndarray, np.ndarray], Any], Verdict]


@dataclass(frozen=True)
class Finding:
    """A row of the file."""

    name: Name
    verdict: Verdict
    trials: int
    seconds: float
    noise: float

    def row(self) -> dict[str, Any]:
        v = self.verdict
        numbers = v.unit, v.claim, v.slack, v.found, v.fraction, int(v.refuted), v.alpha, v.power
        shown = [f"{n:.6g}" if isinstance(n, float) else n for n in numbers]
        rest = [self.trials, f"{self.seconds:.1f}", self.noise]
        return dict(zip(_COLUMNS, [*self.name, *shown, *rest], strict=True))


def seed_of(name: Name) -> int:
    return zlib.crc32("/".join(name).encode())


def slow(name: Name) -> int:
    """0 for fast cases; slower ones have larger numbers."""
    fits = [name[0] == function and name[1].startswith(start) for function, start in _SLOW]
    return 1 + fits.index(True) if any(fits) else 0


def audit(
    name: Name, trials: int, many: int, noise: float = 1.0, verdict: Judge = judge
) -> Finding:
    """One case: so many releases in all, or ``many`` where they are fast."""
    start = time.process_time()
    case, count = cases()[name](), (trials if slow(name) else many) // 2
    found = verdict(case.ratios(count, seed_of(name), noise), case.total)
    return Finding(name, found, 2 * count, time.process_time() - start, noise)


def known(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def _asked(only: str | None, part: str) -> list[Name]:
    k, m = (int(v) for v in part.split("/"))
    names = [name for name in cases() if only is None or only in ", ".join(name)]
    return sorted(names[k - 1 :: m], key=slow)  # fast ones first


def _run(names: list[Name], path: Path, trials: int, many: int, noise: float) -> Iterator[Finding]:
    done = {(row["function"], row["method"], row["pair"]) for row in known(path)}
    for name in names:
        if name in done:
            continue
        found = audit(name, trials, many, noise)
        new = not path.exists()
        with path.open("a", newline="") as file:
            writer = csv.DictWriter(file, _COLUMNS)
            if new:
                writer.writeheader()
            writer.writerow(found.row())
        yield found


def summary(rows: list[dict[str, str]]) -> str:
    """By function and method: the claim, and the pair that comes closest to it."""
    groups: dict[tuple[str, str], list[dict[str, str]]] = {}
    for row in rows:
        groups.setdefault((row["function"], row["method"]), []).append(row)
    head = f"{'function':12}{'method':28}{'claim':>7}  {'unit':18}{'found':>7}{'share':>7}  pair"
    lines = [head]
    for (function, method), group in groups.items():
        best = max(group, key=lambda row: float(row["fraction"]))
        lines.append(
            f"{function:12}{method:28}{float(best['claim']):7.3f}  {best['unit']:18}"
            f"{float(best['found']):7.3f}{float(best['fraction']):7.2f}  {best['pair']}"
        )
    refuted = [row for row in rows if row["refuted"] == "1"]
    lines.append(f"{len(rows)} cases, {len(refuted)} claims refuted")
    lines += [f"REFUTED: {r['function']}, {r['method']}, {r['pair']}" for r in refuted]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--trials", type=int, default=20_000)
    parser.add_argument(
        "--many", type=int, default=None, help="where a release is fast; default: 10 times"
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", default=None, help="cases with this in their names")
    parser.add_argument("--part", default="1/1", help="every m-th case from the k-th on")
    parser.add_argument("--noise", type=float, default=1.0, help="part of the noise that is left")
    given = parser.parse_args()
    many = 10 * given.trials if given.many is None else given.many
    for found in _run(_asked(given.only, given.part), given.out, given.trials, many, given.noise):
        v = found.verdict
        print(
            f"{', '.join(found.name):55} {v.unit} {v.claim:.3f}: found {v.found:.3f}"
            f" ({found.trials} trials, {found.seconds:.0f} s){'  REFUTED' * v.refuted}",
            flush=True,
        )
    rows = known(given.out)
    print(summary(rows))
    return int(any(row["refuted"] == "1" for row in rows))


if __name__ == "__main__":
    sys.exit(main())
