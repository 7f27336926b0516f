"""Accuracy of dp_glm beside the papers' Algorithm 3 and no privacy at all.

    python -m tests.benchmarks.glm_accuracy --part simulated --repeats 40
    python -m tests.benchmarks.glm_accuracy --part coverage --repeats 400
    python -m tests.benchmarks.glm_accuracy --part rare --repeats 20
    python -m tests.benchmarks.glm_accuracy --part real --repeats 20 --data ../shared/data

Estimates are compared with the maximum likelihood fit of the same private rows, median over seeds.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import dpstats
from tests.benchmarks import competitors, settings
from tests.benchmarks.settings import Array, Setting, distance, formula_of, frame

STEPS = 5
"""Newton steps of Algorithm 3."""

Estimates = Iterator[tuple[str, Array]]


def family_argument(name: str) -> Any:
    """The family as dp_glm takes it; an object for gamma, where a name leaves the link open."""
    return competitors.family_of(name) if name == "gamma" else name


def private_fit(s: Setting, family: str, mu: float, seed: int, **arguments: Any) -> Any:
    """dp_glm on a setting, its public rows given unless ``public`` is among the arguments."""
    given = {"public": frame(s.public_x, s.public_y)} | arguments
    return dpstats.dp_glm(
        formula_of(s.x),
        frame(s.x, s.y),
        mu=mu,
        family=family_argument(family),
        seed=seed,
        **given,
    )


def algorithm_3(s: Setting, mu: float, seed: int) -> Estimates:
    """Algorithm 3 at the total ``mu``: the package's, and the reference with half of mu^2 each."""
    yield (
        "pmt",
        private_fit(s, "binomial", mu, seed, method="pmt", iterations=STEPS).coef().to_numpy(),
    )
    moment = s.public_x.T @ s.public_x / len(s.public_y)
    rng = np.random.default_rng(seed + 99)
    each = mu / math.sqrt(2)
    found = competitors.pmt_glm(s.x, s.y, moment, mu_each=each, iterations=STEPS, rng=rng)
    yield "reference", found


def simulated(repeats: int, start: int) -> None:
    """Logistic, d = 8, n = 10^4, m = 100: distances to the MLE, and to the truth over the MLE's."""
    n, m = 10_000, 100

    def ill(seed: int) -> Setting:
        return settings.simulated_glm(seed, n, m, "binomial")

    def shifted(seed: int) -> Setting:
        return settings.simulated_glm(seed, n, m, "binomial", shifted=True)

    def papers(seed: int) -> Setting:
        return settings.simulated_logistic(seed, n, m)

    def centred(seed: int) -> Setting:
        return settings.simulated_logistic(seed, n, m, centred=True)

    cases: list[tuple[str, Callable[[int], Setting], float, bool]] = [
        ("the papers' rows, mu = 1", papers, 1.0, True),
        ("the papers' rows, mu = 3", papers, 3.0, True),
        ("the papers' rows, centred, mu = 1", centred, 1.0, True),
        ("the papers' rows, centred, mu = 3", centred, 3.0, True),
        ("ill-conditioned, mu = 1", ill, 1.0, True),
        ("ill-conditioned, mu = 3", ill, 3.0, True),
        ("ill-conditioned, shifted public data, mu = 1", shifted, 1.0, True),
        ("ill-conditioned, moments of x only, mu = 1", ill, 1.0, False),
    ]
    for name, draw, mu, response in cases:
        near: dict[str, list[float]] = {}
        total: dict[str, list[float]] = {}
        for seed in range(start, start + repeats):
            s = draw(seed)
            mle = competitors.glm_fit(s.x, s.y, "binomial").coef
            for method, found in [("MLE", mle), *simulated_estimates(s, mu, seed, response)]:
                near.setdefault(method, []).append(distance(found, mle))
                total.setdefault(method, []).append(distance(found, s.beta))
        to_mle = {method: float(np.median(errors)) for method, errors in near.items()}
        to_truth = {method: float(np.median(errors)) for method, errors in total.items()}
        print(f"{name} (MLE to the truth {to_truth['MLE']:.4f})")
        for method in list(to_mle)[1:]:
            print(
                f"  {method:10s} to the MLE {to_mle[method]:8.4f}   over anchored "
                f"{to_mle[method] / to_mle['anchored']:7.2f}   to the truth / MLE "
                f"{to_truth[method] / to_truth['MLE']:7.3f}",
                flush=True,
            )


def simulated_estimates(s: Setting, mu: float, seed: int, response: bool) -> Estimates:
    """Every method on one logistic data set; without ``response`` ours sees no public response."""
    public = frame(s.public_x, s.public_y)
    # Without public responses there is no anchor to start from, only the moments that whiten.
    one_sided = formula_of(s.x).removeprefix("y ")
    given = public if response else dpstats.public_moments(one_sided, public)
    fit = private_fit(s, "binomial", mu, seed + 7, public=given)
    yield "anchored", fit.coef().to_numpy()
    yield from algorithm_3(s, mu, seed)
    yield "public fit", competitors.public_glm(s.public_x, s.public_y, "binomial")


def coverage(repeats: int, start: int) -> None:
    """Share of 95 % intervals that cover the true coefficients, and their width over the MLE's.

    A fit that gives no standard errors counts as not covering.
    """
    for family in ("binomial", "poisson", "gamma"):
        for n, m, mu in ((10_000, 100, 1.0), (3_000, 40, 1.0), (10_000, 100, 3.0)):
            hits, width, bare = [], [], []
            for seed in range(start, start + repeats):
                s = settings.simulated_glm(seed, n, m, family)
                fit = private_fit(s, family, mu, seed + 11)
                se = fit.se().to_numpy()
                hits.append(np.abs(fit.coef().to_numpy() - s.beta) < 1.959964 * se)
                width.append(np.median(se / mle_errors(s, family)))
                bare.append(bool(np.isnan(se).any()))
            each = np.mean(hits, axis=0)
            middle = math.nan if all(bare) else float(np.nanmedian(width))
            print(
                f"{family}, n = {n}, m = {m}, mu = {mu:g}: coverage {np.mean(each):.4f}, "
                f"least of a coefficient {np.min(each):.4f}, width / MLE {middle:.3f}, "
                f"without errors {np.mean(bare):.3f}",
                flush=True,
            )


def mle_errors(s: Setting, family: str) -> Array:
    """Standard errors without privacy; the dispersion is estimated for the gamma family only."""
    fit = competitors.glm_fit(s.x, s.y, family)
    dispersion = fit.dispersion if family == "gamma" else 1.0
    return np.asarray(np.sqrt(dispersion * np.diag(np.linalg.inv(fit.information))))


def real(repeats: int, start: int, data: Path) -> None:
    """Distance to the private rows' MLE in its own standard errors, mu = 1.

    ``sqrt((b - mle)' X'HX (b - mle) / (d phi))``: 1 is as far as the MLE is from the truth. ``phi``
    is 1 for the bank and Pearson's dispersion for the visits, which are far from Poisson. It is
    not estimated for the bank: Pearson's statistic there is the work of a few rows whose fitted
    probability is all but zero.
    """
    cases: list[tuple[str, str, Callable[[int], Setting]]] = [
        ("bank, dummies", "binomial", lambda seed: settings.bank(data, seed)),
        ("bank, integer codes", "binomial", lambda seed: settings.bank(data, seed, False)),
        ("randhie", "poisson", settings.randhie),
    ]
    for name, family, load in cases:
        errors: dict[str, list[float]] = {}
        for seed in range(start, start + repeats):
            s = load(seed)
            fit = competitors.glm_fit(s.x, s.y, family)
            metric = (
                fit.information / (fit.dispersion if family == "poisson" else 1.0) / s.x.shape[1]
            )
            for method, found in real_estimates(s, family, seed):
                rest = found - fit.coef
                errors.setdefault(method, []).append(math.sqrt(rest @ metric @ rest))
        print(name)
        for method, found_errors in errors.items():
            low, middle, high = np.quantile(found_errors, [0.25, 0.5, 0.75])
            print(f"  {method:10s} {middle:9.3f}   quartiles {low:.3f} {high:.3f}", flush=True)


def real_estimates(s: Setting, family: str, seed: int) -> Estimates:
    """Every method on one real data set, mu = 1; Algorithm 3 is for the logistic model only."""
    yield "anchored", private_fit(s, family, 1.0, seed + 5).coef().to_numpy()
    if family == "binomial":
        yield from algorithm_3(s, 1.0, seed)
    yield "public fit", competitors.public_glm(s.public_x, s.public_y, family)


def rare(repeats: int, start: int) -> None:
    """Rare outcomes and levels, mu = 1: distance to the MLE in its standard errors, coverage."""
    cases = [
        ("1.3 % of outcomes, n = 50 000, m = 1000", 50_000, 1000, -4.3, 0.3),
        ("0.5 % of outcomes, n = 50 000, m = 1000", 50_000, 1000, -5.3, 0.3),
        ("a level of 1 % of the rows, n = 30 000, m = 1000", 30_000, 1000, -1.4, 0.01),
    ]
    for name, n, m, base, level in cases:
        near, hits, width = [], [], []
        for seed in range(start, start + repeats):
            s = settings.rare(seed, n, m, base, level)
            best = competitors.glm_fit(s.x, s.y, "binomial")
            error = np.sqrt(np.diag(np.linalg.inv(best.information)))
            fit = private_fit(s, "binomial", 1.0, seed + 7)
            found, se = fit.coef().to_numpy(), fit.se().to_numpy()
            near.append(np.abs(found - best.coef) / error)
            hits.append(np.abs(found - s.beta) < 1.959964 * se)
            width.append(np.median(se / error))
        print(
            f"{name}: distance to the MLE {np.round(np.median(near, axis=0), 2)} standard errors, "
            f"coverage {np.mean(hits, axis=0).round(3)}, width / MLE {np.median(width):.3f}",
            flush=True,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=["simulated", "coverage", "rare", "real"])
    parser.add_argument("--repeats", type=int, default=40)
    parser.add_argument("--start", type=int, default=0, help="first seed")
    settings.add_data_option(parser)
    asked = parser.parse_args()
    if asked.part in (None, "simulated"):
        simulated(asked.repeats, asked.start)
    if asked.part in (None, "coverage"):
        coverage(asked.repeats, asked.start)
    if asked.part in (None, "rare"):
        rare(asked.repeats, asked.start)
    if asked.part in (None, "real"):
        real(asked.repeats, asked.start, asked.data)
