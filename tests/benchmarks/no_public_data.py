"""Fits of private rows alone: without public rows, without limits, in any units.

    python -m tests.benchmarks.no_public_data --part simulated --repeats 25
    python -m tests.benchmarks.no_public_data --part units --repeats 25
    python -m tests.benchmarks.no_public_data --part logit --repeats 25
    python -m tests.benchmarks.no_public_data --part buys --repeats 40

Errors are medians over seeds, over those of the fit without privacy of the same rows; the last
number of a line is the largest such ratio of a single draw. Coverage is of 95 % intervals, and a
coefficient without a standard error counts as not covered.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import statsmodels.api as sm

from dpstats import dp_glm, dp_lm
from dpstats.errors import ArgumentError
from tests.benchmarks import competitors, settings
from tests.benchmarks.linear_accuracy import FORMULA
from tests.benchmarks.settings import Array, distance, formula_of, frame

_DELTA = 1e-6
_Z = 1.959964
_MODELS = (250, 500, 800, 1000, 2000)


@dataclass
class Tally:
    """Errors of a method over draws, those without privacy, and which intervals cover."""

    errors: list[float] = field(default_factory=list)
    plain: list[float] = field(default_factory=list)
    covered: list[Array] = field(default_factory=list)
    without: list[float] = field(default_factory=list)

    def add(self, fit: Any, truth: Array, plain: Array, unit: Array | float = 1.0) -> None:
        """One fit; ``unit``: what coefficients are measured in."""
        coef, se = fit.coef().to_numpy(), fit.se().to_numpy()
        self.errors.append(distance(coef / unit, truth / unit))
        self.plain.append(distance(plain / unit, truth / unit))
        self.covered.append(np.abs(coef - truth) < _Z * se)
        self.without.append(float(np.isnan(se).mean()))

    def __str__(self) -> str:
        ratio = np.median(self.errors) / np.median(self.plain)
        worst = np.max(np.array(self.errors) / self.plain)
        return (
            f"error {ratio:7.3f}   cover {np.mean(self.covered):.3f}   "
            f"without errors {np.mean(self.without):.3f}   largest {worst:.2f}"
        )


# The ridge paper's design -------------------------------------------------------------------------


def wide_limits() -> dict[str, tuple[float, float]]:
    """Limits a hundred times as wide as four standard deviations about the mean."""
    mean, covariance = settings.population()
    far = 100 * (np.abs(mean) + 4 * np.sqrt(np.diag(covariance)))
    columns = {f"x{j}": (-float(f), float(f)) for j, f in enumerate(far)}
    return {**columns, "y": (-float(far.sum()), float(far.sum()))}


def simulated(repeats: int, start: int) -> None:
    """d = 10, no constant; delta = 1e-6. TukeyEM releases nothing where it says inf."""
    for n, epsilon in ((10_000, 1.0), (10_000, 4.0), (100_000, 1.0), (3_000, 4.0)):
        asked: dict[str, Any] = {"epsilon": epsilon, "delta": _DELTA}
        alone, boxed = Tally(), Tally()
        others: dict[int, list[float]] = {m: [] for m in _MODELS if n // m >= settings.DIMENSION}
        for seed in range(start, start + repeats):
            s = settings.simulated(seed, n, 10)
            table, plain = frame(s.x, s.y), competitors.ols(s.x, s.y)
            fit = dp_lm(FORMULA, table, seed=seed + 7, **asked)
            alone.add(fit, s.beta, plain)
            fit = dp_lm(FORMULA, table, limits=wide_limits(), seed=seed + 7, **asked)
            boxed.add(fit, s.beta, plain)
            rng = np.random.default_rng(seed + 99)
            for models, errors in others.items():
                found = competitors.tukey_em(s.x, s.y, epsilon, _DELTA, models, rng)
                errors.append(np.inf if found is None else distance(found, s.beta))
        line = "  ".join(
            f"{m} {np.median(e) / np.median(alone.plain):.2f}" for m, e in others.items()
        )
        print(f"n = {n}, epsilon = {epsilon:g}")
        print(f"    private rows alone    {alone}\n    limits, 100 x too wide {boxed}")
        print(f"    TukeyEM, by number of models: {line}", flush=True)


# Units --------------------------------------------------------------------------------------------


def units(repeats: int, start: int) -> None:
    """n = 10 000, mu = 1: columns in other units, with a constant; errors in those of the first."""
    sizes = 10.0 ** np.linspace(-9, 9, settings.DIMENSION)
    cases: dict[str, tuple[Array | float, float]] = {
        "as they are": (1.0, 0.0),
        "times 1e-9 to 1e9": (sizes, 0.0),
        "shifted by 1e6 sd": (1.0, 1e6),
        "both": (sizes, 1e6),
    }
    formula = FORMULA.replace("~ 0 +", "~")
    for name, (size, shift) in cases.items():
        errors, plain, covered = [], [], []
        for seed in range(start, start + repeats):
            s = settings.simulated(seed, 10_000, 10)
            moved = (s.x + shift * s.x.std(axis=0)) * size
            fit = dp_lm(formula, frame(moved, s.y), mu=1, seed=seed + 7)
            coef, se = (v.to_numpy()[1:] * size for v in (fit.coef(), fit.se()))
            errors.append(distance(coef, s.beta))
            covered.append(np.abs(coef - s.beta) < _Z * se)
            rows = np.column_stack([np.ones(len(s.x)), s.x])
            plain.append(distance(competitors.ols(rows, s.y)[1:], s.beta))
        ratio = np.median(errors) / np.median(plain)
        worst = np.max(np.array(errors) / plain)
        print(
            f"{name:20s} error {ratio:.3f}   cover {np.mean(covered):.3f}   largest {worst:.2f}",
            flush=True,
        )


# Generalised linear models ------------------------------------------------------------------------

_FAMILIES = {
    "binomial": sm.families.Binomial(),
    "poisson": sm.families.Poisson(),
    "gamma": sm.families.Gamma(sm.families.links.Log()),
}


def logit(repeats: int, start: int) -> None:
    """d = 8, n = 10 000; mu = .24 is about epsilon = 1 at delta = 1e-6."""
    cases = (("binomial", 1.0), ("binomial", 0.24), ("poisson", 1.0), ("gamma", 1.0))
    for family, mu in cases:
        tally = Tally()
        for seed in range(start, start + repeats):
            s = settings.simulated_glm(seed, 10_000, 10, family)
            fit = dp_glm(formula_of(s.x), frame(s.x, s.y), family=family, mu=mu, seed=seed + 7)
            tally.add(fit, s.beta, sm.GLM(s.y, s.x, family=_FAMILIES[family]).fit().params)
        print(f"{family:10s} mu = {mu:<5g} {tally}", flush=True)


# What public rows buy -----------------------------------------------------------------------------

_REGIONS = {"north": 0.4, "south": 0.3, "east": 0.2, "west": 0.07, "isles": 0.03}
_LEVELS = {"region": list(_REGIONS)}
_WAGES = "log_wage ~ age + tenure + hours + female + married + region"
_WAGES_TRUTH = np.array([1.8, 0.008, 0.012, 0.004, -0.12, 0.05, 0.1, -0.05, 0.05, -0.15])
"""The constant, age, tenure, hours, female, married, and the regions beside the first."""


def wages(seed: int, n: int, m: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Private and public rows of a survey of wages: skewed tenure, a text column, two rare levels."""

    def rows(rng: np.random.Generator, count: int) -> pd.DataFrame:
        age = rng.integers(20, 65, count)
        table = pd.DataFrame(
            {
                "age": age,
                "tenure": np.minimum(rng.exponential(7, count), age - 18).round(),
                "hours": np.clip(rng.normal(37, 8, count), 5, 70).round(),
                "female": (rng.random(count) < 0.47).astype(int),
                "married": (rng.random(count) < 0.55).astype(int),
                "region": rng.choice(list(_REGIONS), count, p=list(_REGIONS.values())),
            }
        )
        error = 0.4 * rng.standard_t(6, count)
        return table.assign(log_wage=wages_design(table) @ _WAGES_TRUTH + error)

    private, public = (np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(2))
    return rows(private, n), rows(public, m)


def wages_design(table: pd.DataFrame) -> Array:
    """The columns of the formula, in its order."""
    others = [(table.region == level).to_numpy(dtype=float) for level in list(_REGIONS)[1:]]
    numbers = table[["age", "tenure", "hours", "female", "married"]].to_numpy(dtype=float)
    return np.column_stack([np.ones(len(table)), numbers, *others])


def ridge_draw(seed: int, n: int, m: int, asked: Mapping[str, Any], tally: Tally) -> None:
    s = settings.simulated(seed, n, 300)
    public = frame(s.public_x[:m], s.public_y[:m]) if m else None
    fit = dp_lm(FORMULA, frame(s.x, s.y), public=public, seed=seed + 7, **asked)
    tally.add(fit, s.beta, competitors.ols(s.x, s.y))


def wages_draw(seed: int, n: int, m: int, asked: Mapping[str, Any], tally: Tally) -> None:
    private, public = wages(seed, n, 300)
    given = public.head(m) if m else None
    fit = dp_lm(_WAGES, private, public=given, limits=_LEVELS, seed=seed + 7, **asked)
    x, y = wages_design(private), private.log_wage.to_numpy()
    unit = np.sqrt(np.diag(np.linalg.inv(x.T @ x)))
    tally.add(fit, _WAGES_TRUTH, competitors.ols(x, y), unit)


def buys(repeats: int, start: int) -> None:
    """d = 10, with 0, 30 and 300 public rows of the same population.

    Coefficients of the survey are measured in least-squares standard errors.
    """
    draws: dict[str, Callable[..., None]] = {"ridge paper": ridge_draw, "survey": wages_draw}
    low: dict[str, Any] = {"epsilon": 1.0, "delta": _DELTA}
    cases: dict[str, tuple[int, dict[str, Any]]] = {
        "n = 10 000, mu = 1": (10_000, {"mu": 1.0}),
        "n = 10 000, epsilon = 1": (10_000, low),
        "n = 2000, epsilon = 1": (2_000, low),
    }
    for name, draw in draws.items():
        for case, (n, asked) in cases.items():
            for m in (0, 30, 300):
                tally, refused = Tally(), 0
                for seed in range(start, start + repeats):
                    try:
                        draw(seed, n, m, asked, tally)
                    except ArgumentError:
                        refused += 1
                made = [str(tally)] if tally.errors else []
                made += [f"refused in {refused}"] if refused else []
                print(f"{name:12s} {case:24s} {m:3d} public   {'; '.join(made)}", flush=True)


_PARTS = {"simulated": simulated, "units": units, "logit": logit, "buys": buys}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=list(_PARTS))
    parser.add_argument("--repeats", type=int, default=25)
    parser.add_argument("--start", type=int, default=0, help="first seed")
    given = parser.parse_args()
    for name, part in _PARTS.items():
        if given.part in (None, name):
            part(given.repeats, given.start)
