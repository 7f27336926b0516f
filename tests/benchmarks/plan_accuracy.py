"""What plan_lm and plan_glm predict, over what fits then deliver.

    python -m tests.benchmarks.plan_accuracy --repeats 10 --data ../shared/data

For each setting and budget: the ratio predicted / delivered standard error, per coefficient, over
splits into public and private rows (or simulated tables); median, and the range that 90 % of the ratios
lie in. Beside it what the plan itself says of its accuracy ("known to"), and the seconds of a plan.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from dpstats import dp_glm, dp_lm, plan_glm, plan_lm
from dpstats.datasets import fair, randhie
from tests.benchmarks import settings
from tests.benchmarks.settings import formula_of, frame

MUS = (0.25, 0.5, 1.0, 2.0, 4.0)
LINEAR = "rate_marriage ~ age + yrs_married + children + religious + educ"
LOGISTIC = "I(affairs > 0) ~ age + yrs_married + children + religious"
COUNTS = "mdvis ~ lncoins + idp + physlm + disea + hlthg + hlthf"


class Case(NamedTuple):
    """A formula with public and private rows, for `plan` and `fit`."""

    plan: Callable[..., Any]
    fit: Callable[..., Any]
    formula: str
    public: pd.DataFrame
    private: pd.DataFrame
    options: dict[str, Any]


def split(
    tables: tuple[pd.DataFrame, pd.DataFrame], seed: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Another public sample of the same size."""
    whole = pd.concat(tables, ignore_index=True).sample(frac=1, random_state=seed)
    m = len(tables[0])
    return whole.iloc[:m].reset_index(drop=True), whole.iloc[m:].reset_index(drop=True)


def cases(seed: int, data: str) -> Iterator[tuple[str, Case]]:
    """One of each setting."""
    public, private = split(fair(), seed)
    yield "Fair, linear, 318 public", Case(plan_lm, dp_lm, LINEAR, public, private, {})
    yield "Fair, logistic, 318 public", Case(plan_glm, dp_glm, LOGISTIC, public, private, {})
    public, private = split(randhie(), seed)
    family = {"family": "quasipoisson"}
    yield "RAND, counts, 1010 public", Case(plan_glm, dp_glm, COUNTS, public, private, family)
    s = settings.simulated(seed, 10_000, 100)
    terms = " + ".join(f"x{j}" for j in range(10))
    tables = frame(s.public_x, s.public_y), frame(s.x, s.y)
    yield "simulated, 10 columns, 100 public", Case(plan_lm, dp_lm, f"y ~ 0 + {terms}", *tables, {})
    s = settings.simulated_logistic(seed, 10_000, 200, centred=True)
    tables = frame(s.public_x, s.public_y), frame(s.x, s.y)
    yield (
        "simulated logistic, 8 columns, 200 public",
        Case(plan_glm, dp_glm, formula_of(s.x), *tables, {}),
    )
    s = settings.wine(data, seed=seed)
    tables = frame(s.public_x, s.public_y), frame(s.x, s.y)
    yield "white wine, 245 public", Case(plan_lm, dp_lm, formula_of(s.x), *tables, {})


def ratios(case: Case, seed: int) -> tuple[np.ndarray, float, float]:
    """Predicted over delivered, budgets by coefficients; the plan's own error; its seconds."""
    began = time.perf_counter()
    plan = case.plan(case.formula, case.public, len(case.private), list(MUS), **case.options)
    seconds = time.perf_counter() - began
    rows = []
    for mu, predicted in zip(MUS, plan.std_errors, strict=True):
        fit = case.fit(
            case.formula, case.private, public=case.public, mu=mu, seed=seed, **case.options
        )
        rows.append(predicted / fit.se().to_numpy())
    return np.array(rows), float(np.median(plan.relative_error)), seconds


def main() -> None:
    """Print a line for every setting and budget."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=10)
    settings.add_data_option(parser)
    given = parser.parse_args()
    found: dict[str, list[tuple[np.ndarray, float, float]]] = {}
    for seed in range(given.repeats):
        for name, case in cases(seed, given.data):
            found.setdefault(name, []).append(ratios(case, seed))
    print(
        f"{'setting':42s} {'mu':>5s} {'median':>7s} {'90 %':>14s} {'NA':>4s} {'known':>6s} {'s':>5s}"
    )
    for name, several in found.items():
        known = np.median([k for _, k, _ in several])
        seconds = np.median([s for _, _, s in several])
        for j, mu in enumerate(MUS):
            all_of = np.concatenate([r[j] for r, _, _ in several])
            low, middle, high = np.nanquantile(all_of, [0.05, 0.5, 0.95])
            print(
                f"{name:42s} {mu:5g} {middle:7.2f}   {low:.2f} to {high:.2f}"
                f" {np.isnan(all_of).mean():4.0%} {known:6.0%} {seconds:5.2f}"
            )


if __name__ == "__main__":
    main()
