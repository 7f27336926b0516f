"""Accuracy of dp_mean, dp_mvnorm and dp_mixture beside no privacy, CoinPress and the paper.

    python -m tests.benchmarks.gaussian_accuracy --part gaussian --repeats 20
    python -m tests.benchmarks.gaussian_accuracy --part range --repeats 24
    python -m tests.benchmarks.gaussian_accuracy --part coinpress --repeats 10 --d 10
    python -m tests.benchmarks.gaussian_accuracy --part shift --repeats 20
    python -m tests.benchmarks.gaussian_accuracy --part mean --repeats 40
    python -m tests.benchmarks.gaussian_accuracy --part pure --repeats 20
    python -m tests.benchmarks.gaussian_accuracy --part bounds --repeats 200
    python -m tests.benchmarks.gaussian_accuracy --part mixture --repeats 10 --d 10
    python -m tests.benchmarks.gaussian_accuracy --part stress --repeats 12

Errors of Gaussians: ``cov`` is ``|Sigma^-1/2 S Sigma^-1/2 - I|`` in the Frobenius norm, ``mean``
the Mahalanobis distance from the true mean. Errors of mixtures are the worst component's, over the
runs where all components were found, that is where each is matched by an estimate of its own with
a ``mean`` error below 1. Each line: medians over seeds, their ratios to the non-private fit, and
the target where there is one. CoinPress has the number of rounds with the smallest median, chosen
for each of its errors with the truth in sight, and ranges that are 1, 10 or 1000 times the truth.
With ``--references`` the package's functions are left out; with ``--d`` only that dimension runs.
"""

from __future__ import annotations

import argparse
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tests.benchmarks import gaussian_competitors as gc
from tests.benchmarks import gaussian_settings as gs
from tests.benchmarks.gaussian_competitors import Components, Estimate
from tests.benchmarks.gaussian_settings import Gaussian, Mixture, MixtureSample, Sample
from tests.benchmarks.settings import Array

BASE = "non-private"
LABELLED = "labels known, not private"
ETA = 0.05
STEPS = 2, 4, 6, 10
FACTORS = 1, 10, 1000


@dataclass(frozen=True)
class ChargeRequest:
    """What the command line asked for."""

    repeats: int
    seed: int
    d: int | None
    references: bool

    @property
    def seeds(self) -> range:
        """Seeds of the repetitions."""
        return range(self.seed, self.seed + self.repeats)

    def dimension(self, d: int) -> bool:
        """Whether this dimension runs."""
        return self.d is None or self.d == d


# Printing -----------------------------------------------------------------------------------------


def middle(values: Array) -> float:
    """Median of what is not nan; nan if nothing is left."""
    values = values[~np.isnan(values)]
    return float(np.median(values)) if len(values) else float("nan")


class Table:
    """Errors of every method over the seeds of one case."""

    def __init__(self, *columns: str, base: str = BASE, shares: Sequence[str] = ()) -> None:
        self.columns = columns
        self.base = base
        self.shares = shares
        """Columns that are averaged and not compared."""
        self.values: dict[str, list[Sequence[float]]] = {}

    def add(self, name: str, *errors: float) -> None:
        """One method at one seed."""
        self.values.setdefault(name, []).append(errors)

    def medians(self, name: str) -> list[float]:
        """One number for each column."""
        found = np.array(self.values[name], dtype=np.float64).T
        return [
            float(np.mean(values)) if column in self.shares else middle(values)
            for column, values in zip(self.columns, found, strict=True)
        ]

    def keep_best(self, name: str, trials: Mapping[str, str]) -> None:
        """Replace ``trials`` by ``name``: each column from the trial with the best median."""
        runs = {
            label: (self.medians(trial), np.array(self.values.pop(trial)))
            for trial, label in trials.items()
        }
        best = [
            min(runs, key=lambda label: (np.isnan(runs[label][0][j]), runs[label][0][j]))
            for j in range(len(self.columns))
        ]
        columns = [runs[label][1][:, j] for j, label in enumerate(best)]
        self.values[f"{name}, {' and '.join(dict.fromkeys(best))}"] = list(np.column_stack(columns))

    def show(self, title: str, targets: Mapping[str, str] | None = None) -> None:
        """Print the case."""
        base = self.medians(self.base) if self.base in self.values else None
        print(f"{title}  ({', '.join(self.columns)})")
        for name in self.values:
            numbers = self.medians(name)
            line = f"  {name:48s}" + "".join(f" {number:10.4g}" for number in numbers)
            if base is not None:
                compared = [
                    f"{a / b if b else float('nan'):8.3g}"
                    for a, b, column in zip(numbers, base, self.columns, strict=True)
                    if column not in self.shares
                ]
                line += f"   / {self.base}: " + " ".join(compared)
            aim = (targets or {}).get(name)
            print(line + (f"   target {aim}" if aim else ""), flush=True)


# The package's functions --------------------------------------------------------------------------


def package() -> Any:
    """The package, imported only where its functions are called."""
    import dpstats

    return dpstats


def call(name: str, private: Array, public: Array, seed: int, **options: Any) -> Any:
    """One of the package's fits; its warnings about small budgets are expected here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return getattr(package(), name)(
            gs.names(private.shape[1]),
            gs.frame(private),
            public=gs.frame(public),
            seed=seed + 7,
            **options,
        )


def mvnorm(sample: Sample, seed: int, **options: Any) -> Estimate:
    """Mean and covariance from dp_mvnorm."""
    fit = call("dp_mvnorm", sample.private, sample.public, seed, **options)
    return Estimate(fit.mean.to_numpy(), fit.cov.to_numpy())


def errors_of(found: Estimate, sample: Sample) -> tuple[float, float]:
    """Errors of covariance and mean."""
    return (
        gc.covariance_error(found.cov, sample.cov),
        gc.mean_error(found.mean, sample.mean, sample.cov),
    )


def add_references(table: Table, sample: Sample, rho: float, rng: np.random.Generator) -> None:
    """Without privacy, and our release with the truth to whiten with."""
    table.add(BASE, *errors_of(gc.nonprivate(sample.private), sample))
    oracle = gc.oracle_release_not_private(sample.private, sample.mean, sample.cov, rho, rng)
    table.add("oracle release, not private", *errors_of(oracle, sample))


def trials(name: str) -> dict[str, str]:
    """Names of one competitor's runs with different numbers of rounds."""
    return {f"{name}, t = {t}": f"t = {t}" for t in STEPS}


def add_coinpress(table: Table, sample: Sample, rho: float, factor: float, seed: int) -> None:
    """CoinPress at ranges that are ``factor`` times the truth, for every number of rounds."""
    values = np.linalg.eigvalsh(sample.cov)
    radius = gc.mean_error(sample.mean, np.zeros_like(sample.mean), sample.cov)
    K = float(values[-1] / values[0])
    for t in STEPS:
        rng = np.random.default_rng([seed, t, 99])
        found = gc.coinpress(sample.private, rho, factor * max(radius, 1), factor * K, t, rng)
        table.add(f"CoinPress x{factor:g}, t = {t}", *errors_of(found, sample))


def add_pipeline(table: Table, sample: Sample, rho: float, seed: int) -> None:
    """The paper's algorithm with CoinPress inside, for every number of rounds."""
    for t in STEPS:
        rng = np.random.default_rng([seed, t, 98])
        found = gc.papers_pipeline(sample.private, sample.public, rho, t, ETA, rng)
        table.add(f"paper with CoinPress inside, t = {t}", *errors_of(found, sample))


# One Gaussian -------------------------------------------------------------------------------------


def gaussian(asked: ChargeRequest) -> None:
    """Condition number 1e6 and a mean 1e6 away, with as few public rows as there can be."""
    for d, n, rho, m, aim in (
        (10, 10_000, 0.5, 11, "<= 1.15"),
        (10, 1_000, 0.5, 20, "<= 1.6"),
        (50, 100_000, 0.5, 51, "<= 1.15"),
    ):
        if not asked.dimension(d):
            continue
        table = Table("cov", "mean")
        for seed in asked.seeds:
            s = gs.simulate(Gaussian(d, n, m), seed)
            add_references(table, s, rho, np.random.default_rng([seed, 99]))
            if not asked.references:
                table.add("dp_mvnorm", *errors_of(mvnorm(s, seed, rho=rho), s))
                pooled = mvnorm(s, seed, rho=rho, pool=True)
                table.add("dp_mvnorm, pooled", *errors_of(pooled, s))
                paper = mvnorm(s, seed, rho=rho, method="paper")
                table.add("dp_mvnorm, the paper's method", *errors_of(paper, s))
            add_pipeline(table, s, rho, seed)
            table.add("public rows alone", *errors_of(gc.public_only(s.public), s))
        name = "paper with CoinPress inside"
        table.keep_best(name, trials(name))
        table.show(f"Gaussian, d = {d}, n = {n}, rho = {rho:g}, m = {m}", {"dp_mvnorm": aim})


def ranges(asked: ChargeRequest) -> None:
    """Condition number and mean must not matter: the same seeds, transformed."""
    d, n, rho = 10, 10_000, 0.5
    cases = [(1.0, 0.0), (1e2, 1e2), (1e4, 1e4), (1e6, 1e6), (1e6, 1e9)]
    tables = {case: Table("cov", "mean") for case in cases}
    methods = [] if asked.references else [f"dp_mvnorm, m = {m}" for m in (11, 50)]
    for (cond, norm), table in tables.items():
        for seed in asked.seeds:
            s = gs.simulate(Gaussian(d, n, 11, cond=cond, norm=norm), seed)
            add_references(table, s, rho, np.random.default_rng([seed, 99]))
            if not asked.references:
                for m in 11, 50:
                    s = gs.simulate(Gaussian(d, n, m, cond=cond, norm=norm), seed)
                    table.add(f"dp_mvnorm, m = {m}", *errors_of(mvnorm(s, seed, rho=rho), s))
            for factor in 1, 1000:
                add_coinpress(table, s, rho, factor, seed)
        for factor in 1, 1000:
            table.keep_best(f"CoinPress x{factor}", trials(f"CoinPress x{factor}"))
        table.show(f"ranges, d = {d}, n = {n}, rho = {rho:g}, condition {cond:g}, |mean| {norm:g}")
    for name in [BASE, *methods]:
        found = np.array([table.medians(name) for table in tables.values()])
        spread = np.max(found, axis=0) / np.min(found, axis=0) - 1
        print(f"  {name:48s} largest over smallest median - 1: {spread}   target <= 0.01")


def coinpress(asked: ChargeRequest) -> None:
    """Condition number 1e6, mean 1e6, m = 2 d, against CoinPress at three guesses of its ranges."""
    for d in 10, 50:
        for n in 1_000, 10_000, 100_000:
            for rho in 0.05, 0.5, 5.0:
                if asked.dimension(d):
                    coinpress_case(d, n, rho, asked)


def coinpress_case(d: int, n: int, rho: float, asked: ChargeRequest) -> None:
    """One cell of the grid."""
    table = Table("cov", "mean")
    for seed in asked.seeds:
        s = gs.simulate(Gaussian(d, n, 2 * d), seed)
        add_references(table, s, rho, np.random.default_rng([seed, 99]))
        if not asked.references:
            table.add("dp_mvnorm", *errors_of(mvnorm(s, seed, rho=rho), s))
        for factor in FACTORS:
            add_coinpress(table, s, rho, factor, seed)
        table.add("public rows alone", *errors_of(gc.public_only(s.public), s))
    for factor in FACTORS:
        table.keep_best(f"CoinPress x{factor}", trials(f"CoinPress x{factor}"))
    table.show(f"CoinPress, d = {d}, n = {n}, rho = {rho:g}, m = {2 * d}")


def shift(asked: ChargeRequest) -> None:
    """Public rows of another law, and then fewer public rows than dimensions."""
    d, n, rho = 10, 20_000, 0.5
    if not asked.dimension(d):
        return
    for ratio, away, gammas in (
        (10.0, 3.0, (0.0,)),
        (100.0, 10.0, (0.0,)),
        (1e4, 100.0, (0.0, 0.999)),
    ):
        table = Table("cov", "mean")
        for seed in asked.seeds:
            s = gs.simulate(Gaussian(d, n, 30, ratio=ratio, shift=away), seed)
            add_references(table, s, rho, np.random.default_rng([seed, 99]))
            if not asked.references:
                for gamma in gammas:
                    found = mvnorm(s, seed, rho=rho, gamma=gamma)
                    table.add(f"dp_mvnorm, gamma = {gamma:g}", *errors_of(found, s))
            add_pipeline(table, s, rho, seed)
            table.add("public rows alone", *errors_of(gc.public_only(s.public), s))
        name = "paper with CoinPress inside"
        table.keep_best(name, trials(name))
        aims = {f"dp_mvnorm, gamma = {gammas[-1]:g}": "<= 1.15"}
        table.show(f"shift, variance ratio {ratio:g}, {away:g} sd, d = {d}, n = {n}, m = 30", aims)
    for m, cond, guess in (
        (5, 1e2, 1e2),
        (5, 1e4, 1e2),
        (5, 1e6, 1e2),
        (5, 1e8, 1e1),
        (2, 1e6, 1e4),
    ):
        table = Table("cov", "mean")
        for seed in asked.seeds:
            s = gs.simulate(Gaussian(d, n, m, cond=cond), seed)
            add_references(table, s, rho, np.random.default_rng([seed, 99]))
            if not asked.references:
                guessed = mvnorm(s, seed, rho=rho, cond=guess)
                table.add("dp_mvnorm", *errors_of(guessed, s))
        title = f"few public rows, m = {m}, d = {d}, n = {n}, condition {cond:g}, guess {guess:g}"
        table.show(title, {"dp_mvnorm": "<= 1.15"})


def mean(asked: ChargeRequest) -> None:
    """Identity covariance, a mean 1e6 away and one public row."""
    norm = 1e6
    for d, n, rho, aim in (
        (50, 1_000, 0.05, "0.555"),
        (50, 1_000, 0.5, "0.265"),
        (50, 10_000, 0.05, "0.087"),
        (10, 1_000, 0.05, "0.181"),
    ):
        if not asked.dimension(d):
            continue
        table = Table("mean")
        for seed in asked.seeds:
            s = gs.simulate_known(d, n, 1, norm, seed)
            rng = np.random.default_rng([seed, 99])
            runs = {BASE: gc.nonprivate_mean(s.private)}
            if not asked.references:
                for name, method in (("dp_mean", None), ("dp_mean, the paper's method", "paper")):
                    fit = call("dp_mean", s.private, s.public, seed, rho=rho, method=method)
                    runs[name] = fit.mean.to_numpy()
            runs["paper, one round"] = gc.paper_mean(s.private, s.public, rho, ETA, rng)
            for factor in FACTORS:
                for t in STEPS:
                    found = gc.coinpress_mean(s.private, rho, factor * norm, t, rng)
                    runs[f"CoinPress x{factor}, t = {t}"] = found
            runs["public row alone"] = s.public[0]
            for name, found in runs.items():
                table.add(name, gc.mean_error(found, s.mean, s.cov))
        for factor in FACTORS:
            table.keep_best(f"CoinPress x{factor}", trials(f"CoinPress x{factor}"))
        aims = {"dp_mean": f"about {aim}"}
        table.show(f"mean, d = {d}, n = {n}, rho = {rho:g}, one public row", aims)


def pure(asked: ChargeRequest) -> None:
    """Pure epsilon beside the rho that it implies, and the mean alone beside Laplace noise."""
    for d, n, epsilon, aim in (
        (10, 1_000, 1.0, "0.178"),
        (50, 10_000, 1.0, "0.139"),
    ):
        if not asked.dimension(d):
            continue
        table = Table("mean")
        for seed in asked.seeds:
            s = gs.simulate_known(d, n, 1, 1e6, seed)
            rng = np.random.default_rng([seed, 99])
            runs = {BASE: gc.nonprivate_mean(s.private)}
            if not asked.references:
                fit = call("dp_mean", s.private, s.public, seed, epsilon=epsilon)
                runs["dp_mean"] = fit.mean.to_numpy()
            runs["paper, Laplace noise"] = gc.laplace_mean(s.private, s.public, epsilon, ETA, rng)
            for name, found in runs.items():
                table.add(name, gc.mean_error(found, s.mean, s.cov))
        title = f"pure mean, d = {d}, n = {n}, epsilon = {epsilon:g}, one public row"
        table.show(title, {"dp_mean": f"about {aim}"})
    for d, n, epsilon, aim in (
        (2, 10_000, 1.0, "0.026"),
        (5, 10_000, 1.0, "0.082"),
        (10, 10_000, 1.0, "0.347"),
        (10, 10_000, 3.0, "0.140"),
        (10, 100_000, 1.0, "0.044"),
    ):
        if not asked.dimension(d):
            continue
        table = Table("cov", "mean")
        rho = epsilon**2 / 2
        for seed in asked.seeds:
            s = gs.simulate(Gaussian(d, n, 2 * d), seed)
            add_references(table, s, rho, np.random.default_rng([seed, 99]))
            if not asked.references:
                strict = mvnorm(s, seed, epsilon=epsilon)
                table.add("dp_mvnorm, pure", *errors_of(strict, s))
                table.add(f"dp_mvnorm, rho = {rho:g}", *errors_of(mvnorm(s, seed, rho=rho), s))
        aims = {"dp_mvnorm, pure": f"cov about {aim}"}
        table.show(f"pure, d = {d}, n = {n}, epsilon = {epsilon:g}, m = {2 * d}", aims)


# Bounds -------------------------------------------------------------------------------------------


def bounded(statement: str, norm: str, errors: Mapping[str, float]) -> float | None:
    """The error that a bound speaks of; None if its words name none."""
    words = f"{statement} {norm}".lower()
    for key, error in errors.items():
        if key in words:
            return error
    return None


def bounds(asked: ChargeRequest) -> None:
    """How often each bound holds, and how far it is from the error."""
    for d, n, rho, m in (
        (10, 1_000, 0.5, 20),
        (10, 1_000, 0.5, 50),
        (10, 10_000, 0.05, 11),
        (10, 10_000, 0.5, 11),
        (10, 1_000, 0.5, 11),
        (2, 1_000, 0.5, 3),
        (50, 10_000, 0.5, 100),
    ):
        if not asked.dimension(d):
            continue
        print(f"bounds, d = {d}, n = {n}, rho = {rho:g}, m = {m}")
        if asked.references:
            table = Table("cov", "mean")
            for seed in asked.seeds:
                s = gs.simulate(Gaussian(d, n, m), seed)
                add_references(table, s, rho, np.random.default_rng([seed, 99]))
            table.show("  references")
            continue
        found: dict[str, list[tuple[float, float, float]]] = {}
        silent: set[str] = set()
        for seed in asked.seeds:
            s = gs.simulate(Gaussian(d, n, m), seed)
            fit = call("dp_mvnorm", s.private, s.public, seed, rho=rho)
            estimate = Estimate(fit.mean.to_numpy(), fit.cov.to_numpy())
            cov, from_mean = errors_of(estimate, s)
            tv = gc.total_variation(estimate, Estimate(s.mean, s.cov), 10_000, seed)
            errors = {
                "total variation": tv,
                "tv": tv,
                "frobenius": cov,
                "spectral": gc.covariance_error(estimate.cov, s.cov, 2),
                "mahalanobis": from_mean,
                "covariance": cov,
                "mean": from_mean,
            }
            for row in fit.bounds().to_dict("records"):
                # Numbers of one run, such as a radius, do not make another bound.
                statement = re.sub(r"\d[\d.e+-]*", "#", f"{row['statement']}")
                name = f"{statement} [{row['norm']}, {row['kind']}, {row['source']}]"
                error = bounded(statement, str(row["norm"]), errors)
                about_start = statement.startswith("after") or row["kind"] == "rate"
                if error is None or about_start:
                    silent.add(name)
                    continue
                claim = row["probability"]
                claim = float("nan") if claim is None else float(claim)
                found.setdefault(name, []).append((float(row["value"]), error, claim))
        for name, runs in found.items():
            value, error, claim = np.array(runs).T
            print(
                f"  {name}\n    coverage {np.mean(error <= value):.3f} of {claim[0]:.3f}, "
                f"median bound {np.median(value):.4g}, median error {np.median(error):.4g}, "
                f"95 % error {np.quantile(error, 0.95):.4g}, "
                f"median ratio {np.median(value / error):.3g}",
                flush=True,
            )
        for name in sorted(silent):
            print(f"  not checked: {name}")


# Mixtures -----------------------------------------------------------------------------------------

COLUMNS = "found", "mean", "cov", "tv", "weight"


def components_of(fit: Any) -> Components:
    """Weights, means and covariances from dp_mixture."""
    covariances = fit.covariances
    values = covariances.values() if isinstance(covariances, Mapping) else covariances
    return Components(
        np.asarray(fit.weights, dtype=np.float64),
        np.asarray(fit.means, dtype=np.float64),
        np.array([np.asarray(cov, dtype=np.float64) for cov in values]),
    )


def truth_of(sample: MixtureSample) -> Components:
    """The true mixture."""
    return Components(sample.weights, sample.means, sample.covariances)


def add_mixture_references(
    table: Table, s: MixtureSample, seed: int, starts: Sequence[int]
) -> None:
    """Labels known, and scikit-learn."""
    truth, k = truth_of(s), len(s.weights)
    labelled = gc.labelled_oracle_not_private(s.private, s.labels, k)
    table.add(LABELLED, *map(float, gc.mixture_errors(labelled, truth)))
    for n_init in starts:
        fit = gc.gaussian_mixture_not_private(s.private, k, n_init, seed)
        name = f"GaussianMixture, n_init = {n_init}, not private"
        table.add(name, *map(float, gc.mixture_errors(fit, truth)))


def mixture(asked: ChargeRequest) -> None:
    """Means 8 standard deviations apart, both regimes with their numbers of public rows."""
    rho = 0.5
    for d, n in ((10, 30_000), (50, 100_000)):
        for k in 2, 3, 4, 5:
            if not asked.dimension(d):
                continue
            table = Table(*COLUMNS, base=LABELLED, shares=("found",))
            counts: dict[str, list[int]] = {"few": [], "many": []}
            for seed in asked.seeds:
                s = gs.simulate_mixture(Mixture(d, k, n), seed)
                add_mixture_references(table, s, seed, (1, 5))
                regimes: tuple[tuple[gs.PublicRows, str], ...] = (
                    ("many", "public"),
                    ("few", "private"),
                )
                for rows, regime in regimes:
                    s = gs.simulate_mixture(Mixture(d, k, n, rows), seed)
                    counts[rows].append(len(s.public))
                    if asked.references:
                        continue
                    fit = call("dp_mixture", s.private, s.public, seed, k=k, rho=rho, regime=regime)
                    errors = gc.mixture_errors(components_of(fit), truth_of(s))
                    table.add(f"dp_mixture, {regime} regime", *map(float, errors))
            m = " and ".join(f"{np.median(found):g} ({rows})" for rows, found in counts.items())
            aims = {
                f"dp_mixture, {regime} regime": "found 1, errors <= 1.5"
                for regime in ("public", "private")
            }
            table.show(f"mixture, d = {d}, k = {k}, n = {n}, rho = {rho:g}, m = {m}", aims)


def stress_cases(d: int) -> dict[str, tuple[Mixture, int, float]]:
    """Titles, settings, the k that is asked for, and rho."""
    n = 30_000 if d == 10 else 50_000
    plain = Mixture(d, 4, n)
    found: dict[str, tuple[Mixture, int, float]] = {}
    for separation in (3.0, 4.0, 5.0) if d == 10 else (3.0, 4.0, 6.0):
        found[f"separation {separation:g}"] = replace(plain, separation=separation), 4, 0.5
    found["scales 1 to 10"] = replace(plain, scales=10.0), 4, 0.5
    found["condition 100 within components"] = replace(plain, cond=100.0), 4, 0.5
    found["two superclusters 1e5 apart"] = replace(plain, superclusters=1e5), 4, 0.5
    for k in 2, 1:
        found[f"k = 3 asked, {k} there"] = replace(plain, k=k), 3, 0.5
    small = ((500, 0.5), (2_000, 0.05)) if d == 10 else ((5_000, 0.05), (5_000, 0.5))
    for n, rho in small:
        found[f"n = {n}, rho = {rho:g}"] = replace(plain, n=n), 4, rho
    return found


STRESS: tuple[tuple[gs.PublicRows, str], ...] = (
    ("many", "public"),
    ("fewer", "public"),
    ("few", "private"),
    ("fewest", "private"),
)


def stress(asked: ChargeRequest) -> None:
    """Hard mixtures: how often all components are found, and whether the fit says so."""
    for d in 10, 50:
        if not asked.dimension(d):
            continue
        for title, (setting, k, rho) in stress_cases(d).items():
            table = Table(
                *COLUMNS, "complete", "parts", base=LABELLED, shares=("found", "complete", "parts")
            )
            for seed in asked.seeds:
                s = gs.simulate_mixture(setting, seed)
                references = Table(*COLUMNS)
                add_mixture_references(references, s, seed, (1,))
                for name, (errors,) in references.values.items():
                    table.add(name, *errors, 1.0, float(setting.k))
                if asked.references:
                    continue
                for rows, regime in STRESS:
                    s = gs.simulate_mixture(replace(setting, rows=rows), seed)
                    fit = call("dp_mixture", s.private, s.public, seed, k=k, rho=rho, regime=regime)
                    parts = components_of(fit)
                    found = map(float, gc.mixture_errors(parts, truth_of(s)))
                    rest = float(fit.complete), float(len(parts.weights))
                    table.add(f"dp_mixture, {regime} regime, {rows} rows", *found, *rest)
            table.show(f"stress, d = {d}, n = {setting.n}, k = {setting.k}: {title}")


PARTS: dict[str, Callable[[ChargeRequest], None]] = {
    "gaussian": gaussian,
    "range": ranges,
    "coinpress": coinpress,
    "shift": shift,
    "mean": mean,
    "pure": pure,
    "bounds": bounds,
    "mixture": mixture,
    "stress": stress,
}


def main() -> None:
    """Run the parts that were asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--part", choices=list(PARTS))
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--d", type=int, help="only this dimension")
    parser.add_argument("--seed", type=int, default=0, help="first seed")
    parser.add_argument("--references", action="store_true", help="nothing of the package")
    given = parser.parse_args()
    asked = ChargeRequest(given.repeats, given.seed, given.d, given.references)
    for part in PARTS if given.part is None else (given.part,):
        PARTS[part](asked)


if __name__ == "__main__":
    main()
