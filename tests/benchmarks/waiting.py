"""How long one waits: every call on 10^4 rows and 10 columns, and what is asked of a fit afterwards.

Seconds of wall time, the least of three runs, each call by itself; the first run of all is not counted.

    python -m tests.benchmarks.waiting [--rows 10000] [--columns 10]
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from dpstats import (
    anova,
    dp_feols,
    dp_glm,
    dp_lm,
    dp_mean,
    dp_mixture,
    dp_mvnorm,
    eptr_bayes,
    eptr_lm,
    eptr_nw,
    plan_feols,
    plan_glm,
    plan_lm,
)


def rows(n: int, d: int) -> pd.DataFrame:
    """Normal columns, and responses of every kind."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, d))
    y = x @ np.linspace(-1, 1, d) + rng.normal(size=n)
    return pd.DataFrame(x, columns=[f"x{j}" for j in range(d)]).assign(
        y=y,
        b=rng.random(n) < 1 / (1 + np.exp(-y / 2)),
        c=rng.poisson(np.exp(0.3 * x[:, 0])),
        g=rng.choice(list("ab"), n),
        who=rng.integers(0, max(n // 5, 1), n),
    )


def calls(n: int, d: int) -> Mapping[str, Callable[[], Any]]:
    """Every function, by default and as it is asked most."""
    table = rows(n + 300, d)
    public, private = table[:300], table[300:].reset_index(drop=True)
    columns = [f"x{j}" for j in range(d)]
    right = " + ".join(columns)
    linear, budgets = f"y ~ {right}", [0.1, 0.3, 0.5, 1, 3]
    with_public: dict[str, Any] = {"public": public, "mu": 1}
    pure: dict[str, Any] = {"epsilon": 1, "delta": 1e-5}
    fit = dp_lm(linear, private, **with_public)
    logit = dp_glm(f"b ~ {right}", private, family="binomial", **with_public)

    def glm(left: str, family: str, **given: Any) -> Callable[[], Any]:
        return lambda: dp_glm(f"{left} ~ {right}", private, family=family, **given)

    def plan(**given: Any) -> Callable[[], Any]:
        return lambda: plan_lm(linear, public, n, budgets, **given)

    return {
        "dp_lm": lambda: dp_lm(linear, private, **with_public),
        "dp_lm, no public rows": lambda: dp_lm(linear, private, mu=1),
        "dp_lm, persons": lambda: dp_lm(linear, private, person="who", **with_public),
        "dp_glm, logit": glm("b", "binomial", **with_public),
        "dp_glm, logit, no public rows": glm("b", "binomial", mu=1),
        "dp_glm, Poisson": glm("c", "poisson", **with_public),
        "dp_feols": lambda: dp_feols(f"{linear} | who", private, person="who", **with_public),
        "dp_mvnorm": lambda: dp_mvnorm(columns, private, **with_public),
        "dp_mean": lambda: dp_mean(columns, private, **with_public),
        "dp_mixture, k = 2": lambda: dp_mixture(columns, private, public=public, k=2, rho=0.5),
        "dp_mixture": lambda: dp_mixture(columns, private, public=public, rho=0.5),
        "eptr_lm": lambda: eptr_lm(linear, private, public, **pure),
        "eptr_bayes": lambda: eptr_bayes(f"g ~ {right}", private, public, **pure),
        "eptr_nw": lambda: eptr_nw("y ~ x0", private, public, **pure),
        "plan_lm, 5 budgets": plan(),
        "plan_lm, 5 budgets, a target": plan(target_se={"x0": 0.011}),
        "plan_lm, 5 budgets, an unreachable target": plan(target_se={"x0": 1e-6}),
        "plan_lm, no public rows": lambda: plan_lm(linear, n=n, mu=1),
        "plan_glm, logit, a target": lambda: plan_glm(
            f"b ~ {right}", public, n, [0.1, 0.5, 1], family="binomial", target_se={"x0": 0.03}
        ),
        "plan_glm, Poisson, an unreachable target": lambda: plan_glm(
            f"c ~ {right}", public, n, [0.1, 0.5, 1], family="poisson", target_se={"x0": 1e-6}
        ),
        "plan_feols": lambda: plan_feols("y ~ x0 + x1 | who", public, n=n, mu=1, person="who"),
        "summary": lambda: str(fit.summary()),
        "summary as HTML": lambda: fit.summary().to_html(),
        "path().best()": lambda: fit.path("lasso").best("BIC"),
        "anova, type 2": lambda: anova(fit, type=2),
        "slopes over private rows": lambda: logit.slopes(data=private, mu=0.3),
        "comparisons over private rows": lambda: logit.comparisons(data=private, mu=0.3),
        "update": lambda: fit.update("~ . - x1"),
    }


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("--rows", type=int, default=10_000)
    ask.add_argument("--columns", type=int, default=10)
    given = ask.parse_args()
    warnings.simplefilter("ignore")
    for name, run in calls(given.rows, given.columns).items():
        run()
        found = []
        for _ in range(3):
            start = time.perf_counter()
            run()
            found.append(time.perf_counter() - start)
        print(f"{name:45s} {min(found):.2f}", flush=True)


if __name__ == "__main__":
    main()
