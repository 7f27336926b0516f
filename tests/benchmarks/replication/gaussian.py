"""Pictures of what Bie, Kamath and Singhal (2022), "Private Estimation with Public Data", claim.

The paper's figures are in an appendix that was not at hand. These pictures are of our own design,
one for each theorem of its main text; grids and repetitions are ours too.

Series: `dp_mvnorm`, `dp_mean` and `dp_mixture` as they are by default; the paper's algorithms with
``method="paper"``, for which "Lemma A.22" inside Algorithm 2 is the package's; and Algorithm 2 with
CoinPress inside, which the paper names for its experiments. CoinPress, here and alone, has the best
of 2, 4, 6 and 10 rounds in each repetition, judged by the truth: an oracle in its favour. "Ranges x
1000" means that it is told bounds that are 1000 times too wide.

Gaussians have condition number 1e6 and a mean of length 1e6 unless the picture says otherwise.
Mixtures have four components. The paper's algorithms for mixtures are not implemented to the letter:
`dp_mixture` has its two regimes, "private" for a number of public rows that is free of the dimension
(Theorems 1.3 and 1.4), "public" for one that is linear in it (1.5 and 1.6).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from dpstats.errors import DPStatsError
from tests.benchmarks import gaussian_competitors as gc
from tests.benchmarks import gaussian_settings as gs
from tests.benchmarks.gaussian_accuracy import (
    ETA,
    STEPS,
    call,
    components_of,
    errors_of,
    mvnorm,
    truth_of,
)
from tests.benchmarks.gaussian_competitors import Components, Estimate
from tests.benchmarks.gaussian_settings import Gaussian, Mixture, Sample
from tests.benchmarks.replication.curves import at_most, curve, first, listed, ratio, reached, told
from tests.benchmarks.replication.figure import Claim, Figure, Finding, Point, Sizes
from tests.benchmarks.settings import Array

RHO = 0.5
DRAWS = 2000
K = 4

BASE = "non-private"
PUBLIC = "public rows alone"
OURS = "dp_mvnorm"
PAPER = "paper's method (in dpstats)"
PIPELINE = "paper's Algorithm 2, CoinPress inside"
COINPRESS = "CoinPress, right ranges"
COINPRESS_WIDE = "CoinPress, ranges x 1000"
OURS_MEAN = "dp_mean"
PAPER_MEAN = "paper's clip-and-noise"
LABELLED = "labels known, not private"
EM = "GaussianMixture, not private"
PUBLIC_EM = "GaussianMixture, public rows alone"
FEW_REGIME = "dp_mixture, private regime"
MANY_REGIME = "dp_mixture, public regime"


def _grid(sizes: Sizes, *values: float) -> tuple[float, ...]:
    """The grid, or its ends."""
    return (values[0], values[-1]) if sizes.fast else values


def _distance(found: Estimate, sample: Sample) -> float:
    """Total variation distance from the truth."""
    return gc.total_variation(found, Estimate(sample.mean, sample.cov), DRAWS)


def _best(seed: int, rounds: Callable[[int, np.random.Generator], float]) -> float:
    """The smallest error over the numbers of rounds."""
    return min(rounds(t, np.random.default_rng([seed, t, 99])) for t in STEPS)


# Gaussians ----------------------------------------------------------------------------------------

_SIZES = {
    "d = 5, rho = 0.5": (5, 0.5),
    "d = 10, rho = 0.5": (10, 0.5),
    "d = 20, rho = 0.5": (20, 0.5),
    "d = 10, rho = 0.05": (10, 0.05),
}


def gaussian_size(seed: int, sizes: Sizes) -> Iterator[Point]:
    """Theorem 1.1: d + 1 public rows, and a number of private ones in units of the dimension squared."""
    for panel, (d, rho) in _SIZES.items():
        for x in _grid(sizes, 10, 20, 50, 100, 200):
            n = int(x) * d**2 // (8 if sizes.fast else 1)
            s = gs.simulate(Gaussian(d, n, d + 1), seed)
            yield Point(panel, BASE, x, _distance(gc.nonprivate(s.private), s))
            yield Point(panel, OURS, x, _distance(mvnorm(s, seed, rho=rho), s))
            paper = mvnorm(s, seed, rho=rho, method="paper")
            yield Point(panel, PAPER, x, _distance(paper, s))

            def pipeline(
                t: int, rng: np.random.Generator, s: Sample = s, rho: float = rho
            ) -> float:
                found = gc.papers_pipeline(s.private, s.public, rho, t, ETA, rng)
                return _distance(found, s)

            yield Point(panel, PIPELINE, x, _best(seed, pipeline))


def gaussian_range(seed: int, sizes: Sizes) -> Iterator[Point]:
    """Theorem 1.1: condition number and mean do not matter; d = 10, n = 10 000, 11 public rows."""
    d, n = 10, 1000 if sizes.fast else 10_000
    for x in _grid(sizes, 1.0, 1e2, 1e4, 1e6, 1e8):
        s = gs.simulate(Gaussian(d, n, d + 1, cond=x, norm=x), seed)
        radius = max(gc.mean_error(s.mean, np.zeros(d), s.cov), 1.0)
        found = {
            BASE: gc.nonprivate(s.private),
            OURS: mvnorm(s, seed, rho=RHO),
            PAPER: mvnorm(s, seed, rho=RHO, method="paper"),
        }
        errors = {name: errors_of(estimate, s) for name, estimate in found.items()}
        for name, factor in ((COINPRESS, 1), (COINPRESS_WIDE, 1000)):
            runs = []
            for t in STEPS:
                rng = np.random.default_rng([seed, t, 99])
                estimate = gc.coinpress(s.private, RHO, factor * radius, factor * x, t, rng)
                runs.append(errors_of(estimate, s))
            errors[name] = min(cov for cov, _ in runs), min(mean for _, mean in runs)
        errors[PUBLIC] = errors_of(gc.public_only(s.public), s)
        for name, (cov, mean) in errors.items():
            yield Point("covariance", name, x, cov)
            yield Point("mean", name, x, mean)


_POPULATIONS = {"same population": (1.0, 0.0), "another population": (100.0, 10.0)}


def gaussian_public(seed: int, sizes: Sizes) -> Iterator[Point]:
    """Theorem 1.2 and the number d + 1: d = 10, n = 10 000.

    The other population has variances up to 100 times larger or smaller, and a mean 10 standard
    deviations away: a total variation distance of almost 1, of which neither method is told. With d
    public rows or fewer only dp_mvnorm runs.
    """
    d, n = 10, 1000 if sizes.fast else 10_000
    for panel, (spread, away) in _POPULATIONS.items():
        for x in _grid(sizes, 3, 6, 11, 15, 20, 50, 100):
            s = gs.simulate(Gaussian(d, n, int(x), ratio=spread, shift=away), seed)
            yield Point(panel, BASE, x, _distance(gc.nonprivate(s.private), s))
            yield Point(panel, OURS, x, _distance(mvnorm(s, seed, rho=RHO), s))
            if x > d:
                paper = mvnorm(s, seed, rho=RHO, method="paper")
                yield Point(panel, PAPER, x, _distance(paper, s))
                yield Point(panel, PUBLIC, x, _distance(gc.public_only(s.public), s))


def mean_range(seed: int, sizes: Sizes) -> Iterator[Point]:
    """Section 2.1: one public row, identity covariance; d = 50, n = 1000."""
    d, n = 50, 1000
    for x in _grid(sizes, 1.0, 1e2, 1e4, 1e6, 1e8):
        s = gs.simulate_known(d, n, 1, x, seed)

        def error(found: Array, s: Sample = s) -> float:
            return gc.mean_error(found, s.mean, s.cov)

        yield Point("", BASE, x, error(gc.nonprivate_mean(s.private)))
        ours = call("dp_mean", s.private, s.public, seed, rho=RHO)
        yield Point("", OURS_MEAN, x, error(ours.mean.to_numpy()))
        paper = call("dp_mean", s.private, s.public, seed, rho=RHO, method="paper")
        yield Point("", PAPER_MEAN, x, error(paper.mean.to_numpy()))
        for name, factor in ((COINPRESS, 1), (COINPRESS_WIDE, 1000)):

            def coinpress(
                t: int, rng: np.random.Generator, s: Sample = s, radius: float = factor * x
            ) -> float:
                return gc.mean_error(
                    gc.coinpress_mean(s.private, RHO, radius, t, rng), s.mean, s.cov
                )

            yield Point("", name, x, _best(seed, coinpress))
        yield Point("", PUBLIC, x, error(s.public[0]))


# Mixtures -----------------------------------------------------------------------------------------


def _mixture(s: gs.MixtureSample, seed: int, regime: str) -> gc.MixtureErrors:
    """Errors of dp_mixture; nothing is found where it refuses too few public rows."""
    try:
        fit: Any = call("dp_mixture", s.private, s.public, seed, k=K, rho=RHO, regime=regime)
    except DPStatsError:
        return gc.MixtureErrors(False, *[math.nan] * 4)
    return gc.mixture_errors(components_of(fit), truth_of(s))


def _em(x: Array, seed: int, truth: Components) -> gc.MixtureErrors:
    """Errors of maximum likelihood, the best of five starts."""
    return gc.mixture_errors(gc.gaussian_mixture_not_private(x, K, 5, seed), truth)


_MOST_PUBLIC = 96


def mixture_public(seed: int, sizes: Sizes) -> Iterator[Point]:
    """Theorems 1.3 to 1.6: how many public rows find all components, in two dimensions.

    n = 500 d, means 8 standard deviations apart. More public rows contain the fewer.
    """
    for panel, d in (("d = 5", 5), ("d = 20", 20)):
        n = (100 if sizes.fast else 500) * d
        s = gs.simulate_mixture(Mixture(d, K, n + _MOST_PUBLIC), seed)
        for x in _grid(sizes, 12, 24, 48, _MOST_PUBLIC):
            part = replace(s, private=s.private[:n], public=s.private[n : n + int(x)])
            for name, regime in ((FEW_REGIME, "private"), (MANY_REGIME, "public")):
                yield Point(panel, name, x, float(_mixture(part, seed, regime).found))
            yield Point(panel, PUBLIC_EM, x, float(_em(part.public, seed, truth_of(s)).found))


_FOUND = "share of runs with all components found"
_WORST = "worst component's total variation distance, where all were found"


def mixture_separation(seed: int, sizes: Sizes) -> Iterator[Point]:
    """Condition (1): how far apart the means must be; d = 10, n = 10 000."""
    n = 2000 if sizes.fast else 10_000
    for x in _grid(sizes, 2, 3, 4, 5, 6, 8):
        few = gs.simulate_mixture(Mixture(10, K, n, "few", separation=x), seed)
        many = gs.simulate_mixture(Mixture(10, K, n, "many", separation=x), seed)
        truth = truth_of(few)
        labelled = gc.labelled_oracle_not_private(few.private, few.labels, K)
        runs = {
            LABELLED: gc.mixture_errors(labelled, truth),
            EM: _em(few.private, seed, truth),
            FEW_REGIME: _mixture(few, seed, "private"),
            MANY_REGIME: _mixture(many, seed, "public"),
        }
        for name, errors in runs.items():
            yield Point(_FOUND, name, x, float(errors.found))
            yield Point(_WORST, name, x, errors.tv)


_PAPER = "Bie, Kamath and Singhal (2022)"

FIGURES: tuple[Figure, ...] = (
    Figure(
        "gaussian-1",
        f"{_PAPER}, Theorem 1.1: d + 1 public rows, error against private rows",
        "n / d^2",
        "total variation distance",
        gaussian_size,
        30,
        panels=tuple(_SIZES),
        log_x=True,
    ),
    Figure(
        "gaussian-2",
        f"{_PAPER}, Theorem 1.1: range parameters; d = 10, n = 10 000, rho = 0.5, 11 public rows",
        "condition number, and length of the mean",
        "error",
        gaussian_range,
        50,
        panels=("covariance", "mean"),
        log_x=True,
    ),
    Figure(
        "gaussian-3",
        f"{_PAPER}, Theorem 1.2: other public populations; d = 10, n = 10 000, rho = 0.5",
        "public rows",
        "total variation distance",
        gaussian_public,
        50,
        panels=tuple(_POPULATIONS),
        log_x=True,
    ),
    Figure(
        "gaussian-4",
        f"{_PAPER}, section 2.1: one public row, known covariance; d = 50, n = 1000, rho = 0.5",
        "length of the mean",
        "error of the mean",
        mean_range,
        50,
        log_x=True,
    ),
    Figure(
        "gaussian-5",
        f"{_PAPER}, Theorems 1.3 to 1.6: public rows for mixtures; k = 4, n = 500 d, rho = 0.5",
        "public rows",
        "share of runs with all components found",
        mixture_public,
        24,
        panels=("d = 5", "d = 20"),
        log_x=True,
        log_y=False,
        needs="sklearn",
    ),
    Figure(
        "gaussian-6",
        f"{_PAPER}, condition (1): separation of mixtures; d = 10, k = 4, n = 10 000, rho = 0.5",
        "distance of the nearest means in standard deviations",
        "share, or distance",
        mixture_separation,
        30,
        panels=(_FOUND, _WORST),
        log_y=False,
        needs="sklearn",
    ),
)


# Claims -------------------------------------------------------------------------------------------


def _one_law_in_n(table: pd.DataFrame) -> Finding:
    panels = [panel for panel in _SIZES if panel.endswith("rho = 0.5")]
    needed = {}
    for name in (OURS, PAPER):
        curves = [ratio(table, name, BASE, panel) for panel in panels]
        needed[name] = [reached(values, 1.5) for values in curves]
    words = "; ".join(f"{name}: {', '.join(map(told, found))}" for name, found in needed.items())
    spread = max(needed[PAPER]) / min(needed[PAPER])
    last = max(float(ratio(table, OURS, BASE, panel).iloc[-1]) for panel in panels)
    return Finding(
        f"n / d^2 at which the distance is 1.5 times that without privacy, d = 5, 10, 20: {words}; "
        f"at the largest n {OURS} has {last:.3g} times the distance without privacy",
        at_most(spread, 1.5, 6.0),
    )


def _price_of_rho(table: pd.DataFrame) -> Finding:
    found = {}
    for name in (OURS, PAPER):
        loose, strict = (
            reached(ratio(table, name, BASE, panel), 1.5)
            for panel in ("d = 10, rho = 0.5", "d = 10, rho = 0.05")
        )
        found[name] = strict / loose
    return Finding(
        "rows for 1.5 times the distance without privacy grow, from rho = 0.5 to 0.05, "
        + " and ".join(f"by a factor {told(value)} ({name})" for name, value in found.items())
        + "; 1 / sqrt(rho) grows by 3.16",
        at_most(abs(found[OURS] / math.sqrt(10) - 1), 0.4, 1.0),
    )


def _no_ranges(table: pd.DataFrame) -> Finding:
    spread = {}
    for name in (OURS, PAPER):
        values = curve(table, name, "covariance")
        spread[name] = float(values.max() / values.min())
    private = ratio(table, OURS, BASE, "covariance")
    return Finding(
        "largest over smallest covariance error over all condition numbers: "
        + ", ".join(f"{value:.5g} ({name})" for name, value in spread.items())
        + f"; {OURS} has {private.max():.3g} times the error without privacy at most",
        at_most(max(spread.values()), 1.02, 1.2),
    )


def _ranges_cost(table: pd.DataFrame) -> Finding:
    right = curve(table, COINPRESS, "covariance")
    wide = curve(table, COINPRESS_WIDE, "covariance")
    ours = curve(table, OURS, "covariance")
    growth = float(wide.iloc[-1] / right.iloc[0])
    return Finding(
        f"CoinPress's covariance error with right ranges: {listed(right)}; with ranges x 1000: "
        f"{listed(wide)}; {OURS}: {listed(ours)}",
        "yes" if growth > 1.5 else "partly" if growth > 1.1 else "no",
    )


def _enough_public_rows(table: pd.DataFrame) -> Finding:
    panel = "same population"
    ours, paper = (ratio(table, name, BASE, panel) for name in (OURS, PAPER))
    alone = curve(table, PUBLIC, panel)
    return Finding(
        f"distance over that without privacy: {OURS} {listed(ours)} public rows, {PAPER} "
        f"{listed(paper)}; public rows alone have distance {listed(alone)}",
        at_most(float(ours[ours.index > 10].max()), 1.2, 2.0),
    )


def _other_population(table: pd.DataFrame) -> Finding:
    ours, paper = (ratio(table, name, BASE, "another population") for name in (OURS, PAPER))
    return Finding(
        f"distance over that without privacy, public rows of another population: {OURS} "
        f"{listed(ours)}; {PAPER} {listed(paper)}",
        at_most(float(ours.max()), 1.2, 2.0),
    )


def _one_public_row(table: pd.DataFrame) -> Finding:
    ours, paper, wide = (
        ratio(table, name, BASE) for name in (OURS_MEAN, PAPER_MEAN, COINPRESS_WIDE)
    )
    spread = max(float(values.max() / values.min()) for values in (ours, paper))
    return Finding(
        f"error over that without privacy: {OURS_MEAN} {listed(ours)}; {PAPER_MEAN} {listed(paper)}; "
        f"{COINPRESS_WIDE} {listed(wide)}",
        at_most(spread, 1.02, 1.2),
    )


def _public_rows_for_mixtures(table: pd.DataFrame, name: str) -> tuple[str, list[float]]:
    panels = "d = 5", "d = 20"
    rows = [first(curve(table, name, panel), 0.9) for panel in panels]
    words = "; ".join(
        f"{panel}: {listed(curve(table, name, panel))} public rows" for panel in panels
    )
    return f"share of runs with all components found, {words}", rows


def _few_public_rows(table: pd.DataFrame) -> Finding:
    words, rows = _public_rows_for_mixtures(table, FEW_REGIME)
    return Finding(words, at_most(rows[1] / rows[0], 1.0, 2.0))


def _public_rows_that_find(table: pd.DataFrame) -> Finding:
    words, rows = _public_rows_for_mixtures(table, MANY_REGIME)
    alone, _ = _public_rows_for_mixtures(table, PUBLIC_EM)
    return Finding(f"{words}. {PUBLIC_EM}: {alone}", at_most(rows[1] / rows[0], 4.0, 8.0))


def _far_enough(table: pd.DataFrame) -> Finding:
    needed = {name: first(curve(table, name, _FOUND), 0.95) for name in (FEW_REGIME, MANY_REGIME)}
    return Finding(
        "distance from which on all components are found in 95 % of the runs: "
        + ", ".join(f"{x:g} ({name})" for name, x in needed.items())
        + "; sqrt(k) + 1 / sqrt(w_i) + 1 / sqrt(w_j) is 6 at equal weights",
        at_most(max(needed.values()), 6.0, 8.0),
    )


def _as_good_as_labels(table: pd.DataFrame) -> Finding:
    found = {
        name: float(ratio(table, name, LABELLED, _WORST).iloc[-1])
        for name in (FEW_REGIME, MANY_REGIME, EM)
    }
    return Finding(
        "worst component's distance at the widest separation over that with known labels: "
        + ", ".join(f"{told(value)} ({name})" for name, value in found.items()),
        at_most(max(found[FEW_REGIME], found[MANY_REGIME]), 1.2, 1.5),
    )


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "gaussian-1",
        "d + 1 public and n = O(d^2 / alpha^2 + d^2 / (alpha epsilon)) polylog private rows suffice.",
        _one_law_in_n,
        "The rate holds for both methods from some n on. The ranges U / L of Algorithm 1, with "
        "9 d^2 / beta^2, cost the paper's method rows that a private search for the radius "
        "saves; this part grows more slowly than d^2, and weighs most at d = 5.",
    ),
    Claim(
        "gaussian-1",
        "The price of privacy falls as 1 / sqrt(rho) (d^2 / (alpha sqrt(rho)) in Theorem 2.4).",
        _price_of_rho,
        "Where sampling is the larger part, excess is a quadratic term of the noise, and its "
        "rows grow as 1 / sqrt(rho), as stated; the first, rough rounds need the same.",
    ),
    Claim(
        "gaussian-2",
        "d + 1 public rows remove any dependence on the range parameters.",
        _no_ranges,
        "Rows are whitened by the public ones, and everything after that is the same numbers "
        "for every condition number and mean, up to rounding.",
    ),
    Claim(
        "gaussian-2",
        "Without public data the private sample complexity scales logarithmically in the range "
        "parameters; the cost could be arbitrarily large given poor a priori knowledge.",
        _ranges_cost,
        "CoinPress's first balls and ellipsoids are as wide as the ranges that it is told, and "
        "each round can only shrink them by a factor. At this n its rounds can make up for "
        "right ranges, not for ranges that are far too wide. It also estimates from half as "
        "many differences of rows.",
    ),
    Claim(
        "gaussian-3",
        "Exactly d + 1 public rows are sufficient, far fewer than estimation without privacy needs.",
        _enough_public_rows,
        "The private rounds correct the whitening, so that more public rows save little. Fewer "
        "than d + 1 are enough for dp_mvnorm, which then uses their scales alone; the theorem "
        "says enough, not needed.",
    ),
    Claim(
        "gaussian-3",
        "The public rows may come from a distribution that bears almost no similarity to the "
        "private one (total variation distance gamma < 1).",
        _other_population,
        "Whitening may be wrong by any factor that the private rounds can undo; here it is "
        "wrong by up to 100 in variance and 10 deviations in the mean, of which nothing is "
        "told. With many public rows dp_mvnorm plans few rounds, unless gamma says that the "
        "populations differ, and then stays above.",
    ),
    Claim(
        "gaussian-4",
        "For mean estimation just one public row removes all dependence on range parameters.",
        _one_public_row,
        "All methods work on rows minus the public row. CoinPress must be told a ball that "
        "holds the mean.",
    ),
    Claim(
        "gaussian-5",
        "O(log(k / beta) / w_min) public rows, free of the dimension, suffice for mixtures.",
        _few_public_rows,
        "In the private regime public rows only propose where to look, so that their number "
        "need not grow with the dimension, only with the chance that every component is among "
        "them.",
    ),
    Claim(
        "gaussian-5",
        "O(d log(k / beta) / w_min) public rows find the components without the private ones.",
        _public_rows_that_find,
        "Components that are well separated show themselves in distances between few public "
        "rows, long before maximum likelihood on the same rows can fit covariances.",
    ),
    Claim(
        "gaussian-6",
        "Components are told apart under separation (1), of the order sqrt(k) + 1 / sqrt(w_i) + "
        "1 / sqrt(w_j) standard deviations.",
        _far_enough,
        "The constants in (1) are modest in practice at k = 4. The private regime refuses to "
        "split where private counts show no valley, so it needs a wider gap than the public "
        "one.",
    ),
    Claim(
        "gaussian-6",
        "Every component is then learnt as well as a Gaussian of its own rows.",
        _as_good_as_labels,
        "All rows of a component get its own mechanism without a division of the budget; what "
        "is left is noise for n w rows, and in the private regime what finding the components "
        "has cost.",
    ),
)
