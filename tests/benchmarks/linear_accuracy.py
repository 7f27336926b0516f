"""Accuracy of dp_lm beside the papers' algorithms, other competitors and no privacy at all.

    python -m tests.benchmarks.linear_accuracy --part simulated --repeats 100
    python -m tests.benchmarks.linear_accuracy --part competitors --repeats 20
    python -m tests.benchmarks.linear_accuracy --part coverage --repeats 400
    python -m tests.benchmarks.linear_accuracy --part real --repeats 40 --data ../shared/data

Every figure is a ratio to the non-private fit of the same private rows, median over seeds.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np

from dpstats import dp_lm, public_moments
from tests.benchmarks import competitors, settings
from tests.benchmarks.settings import distance, formula_of, frame

FORMULA = "y ~ 0 + " + " + ".join(f"x{j}" for j in range(10))


def simulated(repeats: int, start: int) -> None:
    """The ridge paper's setting, n = 10^4: ratios to OLS and to Algorithm 2 at the same total."""
    low = competitors.gdp_mu(1.0, 1e-5)
    cases: list[tuple[str, float, bool, bool]] = [
        ("100 public rows, mu = 1", 1.0, False, True),
        ("moments of x only, mu = 1", 1.0, False, False),
        ("shifted public data, mu = 1", 1.0, True, True),
        ("100 public rows, eps = 1, delta = 1e-5", low, False, True),
    ]
    for name, mu, shifted, response in cases:
        ours, ols, pmt = [], [], []
        for seed in range(start, start + repeats):
            s = settings.simulated(seed, 10_000, 100, shifted)
            public = frame(s.public_x, s.public_y)
            given = public if response else public_moments(FORMULA.replace("y ", ""), public)
            fit = dp_lm(FORMULA, frame(s.x, s.y), public=given, mu=mu, seed=seed + 7)
            ours.append(distance(fit.coef().to_numpy(), s.beta))
            ols.append(distance(competitors.ols(s.x, s.y), s.beta))
            fit = dp_lm(FORMULA, frame(s.x, s.y), public=public, mu=mu, method="pmt", seed=seed)
            pmt.append(distance(fit.coef().to_numpy(), s.beta))
        a, b, c = np.median(ours), np.median(ols), np.median(pmt)
        print(f"{name:42s} / OLS {a / b:6.3f}   Algorithm 2 / ours {c / a:8.1f}", flush=True)


def contenders(
    s: settings.Setting, epsilon: float, seed: int
) -> Iterator[tuple[str, np.ndarray | None]]:
    """Every method on one data set; None where it refuses to release."""
    rng = np.random.default_rng(seed + 99)
    public = frame(s.public_x, s.public_y)
    fit = dp_lm(FORMULA, frame(s.x, s.y), public=public, epsilon=epsilon, delta=1e-5, seed=seed)
    yield "OLS", competitors.ols(s.x, s.y)
    yield "dpstats", fit.coef().to_numpy()
    yield "public OLS", competitors.public_ols(s.public_x, s.public_y)
    for kind in ("gdp", "published"):
        found = competitors.adassp_oracle_bounds(s.x, s.y, epsilon, 1e-5, rng, accounting=kind)
        yield f"AdaSSP {kind}", found
    for models in (250, 500, 800, 1000, 2000):
        if len(s.x) // models >= s.x.shape[1]:
            yield (
                f"TukeyEM {models}",
                competitors.tukey_em(s.x, s.y, epsilon, 1e-5, models, rng),
            )


def versus(repeats: int, start: int) -> None:
    """Competitors at eps = 1 and 4, delta = 1e-5, 100 public rows: error / OLS error."""
    for n in (3_000, 10_000, 100_000):
        for epsilon in (1.0, 4.0):
            errors: dict[str, list[float]] = {}
            for seed in range(start, start + repeats):
                s = settings.simulated(seed, n, 100)
                for name, found in contenders(s, epsilon, seed):
                    error = np.inf if found is None else distance(found, s.beta)
                    errors.setdefault(name, []).append(error)
            base = np.median(errors["OLS"])
            line = "  ".join(f"{k} {np.median(v) / base:.2f}" for k, v in errors.items())
            print(f"n = {n}, eps = {epsilon:g}: {line}", flush=True)


def coverage(repeats: int, start: int) -> None:
    """Share of 95 % intervals that cover the true coefficients, and their width over OLS's.

    A fit that gives no standard errors counts as not covering.
    """
    for n, mu in ((3_000, 2.0), (10_000, 1.0), (100_000, 1.0)):
        for m in (20, 100):
            hits, width = [], []
            for seed in range(start, start + (repeats if n < 100_000 else repeats // 4)):
                s = settings.simulated(seed, n, m)
                fit = dp_lm(
                    FORMULA,
                    frame(s.x, s.y),
                    public=frame(s.public_x, s.public_y),
                    mu=mu,
                    seed=seed + 11,
                )
                z = np.abs(fit.coef().to_numpy() - s.beta) / fit.se().to_numpy()
                hits.append(z < 1.959964)
                ols = 0.05 * np.sqrt(np.diag(np.linalg.inv(s.x.T @ s.x)))
                width.append(np.median(fit.se().to_numpy() / ols))
            print(
                f"n = {n}, m = {m}, mu = {mu:g}: coverage {np.mean(hits):.4f} "
                f"width / OLS {np.nanmedian(width):.3f}, without errors {np.isnan(width).mean():.3f}",
                flush=True,
            )


def real(repeats: int, start: int, data: str) -> None:
    """Distance to the private rows' OLS over OLS's own sampling error, mu = 1."""
    for name, load in (("wine", settings.wine), ("power plant", settings.power_plant)):
        ours, pmt = [], []
        for seed in range(start, start + repeats):
            s = load(data, seed=seed)
            n, d = s.x.shape
            rest = s.y - s.x @ s.beta
            cov = rest @ rest / (n - d) * np.linalg.inv(s.x.T @ s.x)
            unit = np.sqrt(np.trace(cov))
            tables = frame(s.x, s.y), frame(s.public_x, s.public_y)
            for method, out in (("anchored", ours), ("pmt", pmt)):
                fit = dp_lm(
                    formula_of(s.x), tables[0], public=tables[1], mu=1, method=method, seed=seed + 5
                )
                out.append(distance(fit.coef().to_numpy(), s.beta) / unit)
        print(f"{name}: anchored {np.median(ours):.3f}, Algorithm 2 {np.median(pmt):.1f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=["simulated", "competitors", "coverage", "real"])
    parser.add_argument("--repeats", type=int, default=40)
    parser.add_argument("--start", type=int, default=0, help="first seed")
    settings.add_data_option(parser)
    asked = parser.parse_args()
    if asked.part in (None, "simulated"):
        simulated(asked.repeats, asked.start)
    if asked.part in (None, "competitors"):
        versus(asked.repeats, asked.start)
    if asked.part in (None, "coverage"):
        coverage(asked.repeats, asked.start)
    if asked.part in (None, "real"):
        real(asked.repeats, asked.start, asked.data)
