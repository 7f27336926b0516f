"""Hostile calls of every public function, as many as asked.

    python -m tests.benchmarks.fuzz --cases 50000 [--seed 1] [--functions dp_lm dp_glm]

Prints, by function, how many calls had a result, how many an error of the package, and how many a
finding (see `tests.fuzzing`): another exception, a warning, a private value that shows, an outcome
that depends on private values, or a call that takes long; and the smallest example of each finding.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

from hypothesis import HealthCheck, given, settings
from hypothesis import seed as with_seed

from tests.fuzzing.calls import FUNCTIONS, Case, cases
from tests.fuzzing.running import run, smaller


def fuzz(function: str, count: int, seed: int) -> tuple[Counter[str], dict[str, tuple[Case, str]]]:
    """Outcomes of so many calls, and an example of each kind of finding."""
    kinds: Counter[str] = Counter()
    found: dict[str, tuple[Case, str]] = {}

    @with_seed(seed)
    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        phases=[phase for phase in settings().phases if phase.name == "generate"],
        suppress_health_check=list(HealthCheck),
    )
    @given(cases(function))
    def one(case: Case) -> None:
        if kinds.total() >= count:
            return
        outcome = run(case)
        ended = "result" if outcome.kind == "result" else "error"
        kinds["finding" if outcome.findings else ended] += 1
        for key, said in zip(outcome.where, outcome.findings, strict=True):
            old = found.get(key)
            if old is None or len(repr(case)) < len(repr(old[0])):
                found[key] = case, said

    one()
    return kinds, found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--functions", nargs="*", default=list(FUNCTIONS), choices=FUNCTIONS)
    asked = parser.parse_args()
    each = max(asked.cases // len(asked.functions), 1)
    bad = 0
    print(
        f"{'function':24} {'calls':>7} {'results':>8} {'errors':>8} {'findings':>9} {'calls/s':>8}"
    )
    for function in asked.functions:
        start = time.perf_counter()
        kinds, found = fuzz(function, each, asked.seed)
        rate = kinds.total() / (time.perf_counter() - start)
        print(
            f"{function:24} {kinds.total():7} {kinds['result']:8} {kinds['error']:8} "
            f"{kinds['finding']:9} {rate:8.1f}",
            flush=True,
        )
        for key, (case, said) in found.items():
            least = smaller(case, lambda outcome, key=key: key in outcome.where)
            print(f"  {said}\n    {least!r}", flush=True)
        bad += len(found)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
