"""Accuracy of eptr_lm, eptr_bayes and eptr_nw beside the ePTR paper's algorithms and no privacy.

    python -m tests.benchmarks.eptr_accuracy --part ols --repeats 100
    python -m tests.benchmarks.eptr_accuracy --part bayes --repeats 40
    python -m tests.benchmarks.eptr_accuracy --part credit --repeats 20 --data ../shared/data
    python -m tests.benchmarks.eptr_accuracy --part nw --repeats 50
    python -m tests.benchmarks.eptr_accuracy --part nw2 --repeats 20
    python -m tests.benchmarks.eptr_accuracy --part housing --repeats 5 --data ../shared/data
    python -m tests.benchmarks.eptr_accuracy --part wine --repeats 50 --data ../shared/data

Each line: the mean error over seeds, the ratio of means and the ratio of medians to the non-private
fit, the share of runs without a reply (of a curve: at most of its points), and the target where
there is one. With ``--references`` the
package's functions are left out.

Algorithm 5 of the paper protects ONE point. Its curves here use it once for each of m points, which
costs m epsilon and m delta: lines that say "not private" spend that, lines that say "composed" give
each point epsilon / m and delta / m.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tests.benchmarks import competitors, eptr_settings, settings
from tests.benchmarks import eptr_competitors as ec
from tests.benchmarks.eptr_settings import Labels, Rows, Task
from tests.benchmarks.settings import Array, Setting, formula_of, frame, with_constant

BASE = "non-private"
DELTA = 0.01
EPSILONS = 1.0, 2.0, 4.0, 8.0

Found = Iterator[tuple[str, float, bool]]
"""Name of a method, its error, and whether it replied."""


# Printing -----------------------------------------------------------------------------------------


class Errors:
    """Errors of every method over the seeds of one case."""

    def __init__(self) -> None:
        self.values: dict[str, list[float]] = {}
        self.replies: dict[str, list[bool]] = {}

    def add(self, found: Iterable[tuple[str, float, bool]]) -> None:
        """One seed."""
        for name, error, replied in found:
            self.values.setdefault(name, []).append(error)
            self.replies.setdefault(name, []).append(replied)

    def show(self, title: str, targets: Mapping[str, str] | None = None) -> None:
        """Print the case."""
        mean, median = np.mean(self.values[BASE]), np.median(self.values[BASE])
        print(title)
        for name, errors in self.values.items():
            line = f"  {name:44s} {np.mean(errors):10.4g}"
            line += f"   / {BASE} {np.mean(errors) / mean:10.3f}"
            line += f"   of medians {np.median(errors) / median:10.3f}"
            silent = 1 - np.mean(self.replies[name])
            line += f"   no reply {silent:.2f}" if silent else ""
            aim = (targets or {}).get(name)
            print(line + (f"   target {aim}" if aim else ""), flush=True)


def package() -> Any:
    """The package, imported only where its functions are called."""
    import dpstats

    return dpstats


# Least squares ------------------------------------------------------------------------------------


def ols(repeats: int, start: int, references: bool) -> None:
    """Section 4.3: squared distance to the true coefficients, n = 8000 and 2000."""
    aims = {(8000, 1.0, DELTA): "1.6", (8000, 4.0, DELTA): "1.15", (8000, 1.0, 1e-5): "2.2"}
    for n in (8000, 2000):
        for delta in (DELTA, 1e-5):
            for epsilon in EPSILONS:
                errors = Errors()
                for seed in range(start, start + repeats):
                    s = eptr_settings.simulated_ols(seed, n)
                    errors.add(ols_errors(s, epsilon, delta, seed, references))
                aim = aims.get((n, epsilon, delta))
                title = f"OLS, n = {n}, epsilon = {epsilon:g}, delta = {delta:g}"
                errors.show(
                    title,
                    {"eptr_lm rounds": f"<= {aim}", "eptr_lm adaptive": f"<= {aim}"}
                    if aim
                    else None,
                )


def ols_errors(s: Setting, epsilon: float, delta: float, seed: int, references: bool) -> Found:
    """Squared distances; a missing reply of the paper's algorithm is answered by zero."""

    def squared(coef: Array | None) -> float:
        rest = (0.0 if coef is None else coef) - s.beta
        return float(rest @ rest)

    n, p = s.x.shape
    rng = np.random.default_rng(seed + 99)
    yield BASE, squared(competitors.ols(s.x, s.y)), True
    if not references:
        for method in ("rounds", "adaptive", "ptr", "adassp"):
            fit = package().eptr_lm(
                formula_of(s.x),
                frame(s.x, s.y),
                public=frame(s.public_x, s.public_y),
                epsilon=epsilon,
                delta=delta,
                method=method,
                seed=seed + 7,
            )
            yield f"eptr_lm {method}", squared(fit.coef().to_numpy()), bool(fit.released)
        fit = package().dp_lm(
            formula_of(s.x),
            frame(s.x, s.y),
            public=frame(s.public_x, s.public_y),
            epsilon=epsilon,
            delta=delta,
            seed=seed + 7,
        )
        yield "dp_lm", squared(fit.coef().to_numpy()), True
    tuned = ec.tuned_ols_limits(p)
    for name, limits in (("tuned", tuned), ("theory", ec.theory_ols_limits(n, p))):
        found = ec.paper_ols(s.x, s.y, limits, epsilon, delta, rng)
        yield f"Algorithm 4, {name} limits", squared(found), found is not None
    found = ec.adassp_published(s.x, s.y, tuned.x, tuned.x * tuned.theta, epsilon, delta, rng)
    yield "AdaSSP as published, tuned limits", squared(found), True
    yield "public rows alone", squared(competitors.public_ols(s.public_x, s.public_y)), True


def wine(repeats: int, start: int, references: bool, data: Path) -> None:
    """Section 4.4, white wines: mean squared error on the test rows, and its logarithm."""
    for epsilon in EPSILONS:
        errors = Errors()
        for seed in range(start, start + repeats):
            t = eptr_settings.wine(data, seed=seed)
            errors.add(wine_errors(t, epsilon, seed, references))
        errors.show(f"white wine, epsilon = {epsilon:g}, delta = {DELTA:g}")
        logs = (f"{name} {np.mean(np.log(v)):.3f}" for name, v in errors.values.items())
        print("  mean log: " + "; ".join(logs), flush=True)


def wine_errors(t: Task[Array], epsilon: float, seed: int, references: bool) -> Found:
    """Test errors. No reply means a quality of 5, as in the paper."""
    x, public_x, test_x = (with_constant(part.x) for part in (t.private, t.public, t.test))
    rng = np.random.default_rng(seed + 99)

    def squared(predicted: Any) -> float:
        return float(np.mean((np.asarray(predicted, dtype=np.float64) - t.test.y) ** 2))

    yield BASE, squared(test_x @ competitors.ols(x, t.private.y)), True
    tables = [t.frame(part) for part in (t.private, t.public, t.test)]
    given = {"public": tables[1], "epsilon": epsilon, "delta": DELTA, "seed": seed + 7}
    if not references:
        for method in ("rounds", "adaptive", "ptr", "adassp"):
            fit = package().eptr_lm(t.formula, tables[0], method=method, **given)
            yield f"eptr_lm {method}", squared(fit.predict(tables[2])), bool(fit.released)
        fit = package().dp_lm(t.formula, tables[0], **given)
        yield "dp_lm", squared(fit.predict(tables[2])), True
    public_fit = competitors.public_ols(public_x, t.public.y)
    # The limits that the public rows suggest; the paper does not say which it used.
    limits = ec.OlsLimits(
        float(np.quantile(np.linalg.norm(public_x, axis=1), 0.98)),
        1.1 * float(np.linalg.norm(public_fit)),
        0.5 * float(np.linalg.eigvalsh(public_x.T @ public_x)[0]) / len(public_x),
    )
    coef = ec.paper_ols(x, t.private.y, limits, epsilon, DELTA, rng)
    predicted = 5.0 if coef is None else test_x @ coef
    yield "Algorithm 4, public limits", squared(predicted), coef is not None
    bounds = limits.x, float(np.max(np.abs(t.public.y)))
    coef = ec.adassp_published(x, t.private.y, *bounds, epsilon, DELTA, rng)
    yield "AdaSSP as published, public limits", squared(test_x @ coef), True
    yield "public rows alone", squared(test_x @ public_fit), True


# Bayes' classifier --------------------------------------------------------------------------------


def bayes(repeats: int, start: int, references: bool) -> None:
    """Section 3.3: balanced error, n = 2000 and 8000; Algorithm 3 has R_x = 8 and c0 = 0.05."""
    for n in (2000, 8000):
        for delta, epsilons in ((DELTA, EPSILONS), (1e-5, (1.0,))):
            for epsilon in epsilons:
                errors = Errors()
                for seed in range(start, start + repeats):
                    t = eptr_settings.simulated_bayes(seed, n)
                    errors.add(bayes_errors(t, epsilon, delta, seed, references, 8.0, 0.05))
                aimed = n == 2000 and epsilon == 1 and delta == DELTA
                aim = {"eptr_bayes sums, identity": "<= 1.2"} if aimed else None
                title = f"Bayes, n = {n}, epsilon = {epsilon:g}, delta = {delta:g}"
                errors.show(title, aim)


def credit(repeats: int, start: int, references: bool, data: Path) -> None:
    """Section 3.4: balanced error on the test rows; Algorithm 3 has public R_x and c0 = 0.1."""
    for epsilon in EPSILONS:
        errors = Errors()
        for seed in range(start, start + repeats):
            t = eptr_settings.credit(data, seed=seed)
            radius = float(np.quantile(np.linalg.norm(t.public.x, axis=1), 0.98))
            errors.add(bayes_errors(t, epsilon, DELTA, seed, references, radius, 0.1))
        middle = {name: float(np.mean(found)) for name, found in errors.values.items()}
        aims = {
            f"eptr_bayes sums, {kind}": f"<= {middle[f'{BASE}, {kind}'] + 0.02:.4f}"
            for kind in ("identity", "diagonal", "full")
        }
        errors.show(f"credit default, epsilon = {epsilon:g}, delta = {DELTA:g}", aims)


def bayes_errors(
    t: Task[Labels],
    epsilon: float,
    delta: float,
    seed: int,
    references: bool,
    radius: float,
    level: float,
) -> Found:
    """Balanced errors. No reply of Algorithm 3 means that all rows go to the first class.

    The base has the identity covariance of the paper and its clipping radius.
    """
    private, public, test = t.private, t.public, t.test
    rng = np.random.default_rng(seed + 99)
    classes = np.unique(public.y)

    def error(predicted: Any) -> float:
        return ec.balanced_error(test.y, np.asarray(predicted, dtype=str))

    def nonprivate(rows: Rows[Labels], kind: ec.CovarianceKind, equal: bool = False) -> float:
        fit = ec.nonprivate_bayes(rows.x, rows.y, kind, equal_priors=equal)
        return error(fit.predict(test.x))

    kinds: tuple[ec.CovarianceKind, ...] = "identity", "diagonal", "full"
    clipped = ec.nonprivate_bayes(ec.into_ball(private.x, radius), private.y)
    yield BASE, error(clipped.predict(test.x)), True
    for kind in kinds:
        yield f"{BASE}, {kind}", nonprivate(private, kind), True
        yield f"{BASE}, {kind}, equal priors", nonprivate(private, kind, True), True
    if not references:
        tables = [t.frame(part) for part in (private, public, test)]
        calls: list[tuple[str, ec.CovarianceKind]] = [("sums", kind) for kind in kinds]
        for method, kind in [*calls, ("ptr", "identity")]:
            fit = package().eptr_bayes(
                t.formula,
                tables[0],
                public=tables[1],
                epsilon=epsilon,
                delta=delta,
                method=method,
                covariance=kind,
                seed=seed + 7,
            )
            replied = bool(getattr(fit, "released", True))
            predicted = fit.predict(tables[2], type="class")
            yield f"eptr_bayes {method}, {kind}", error(predicted), replied
    found = ec.paper_bayes(private.x, private.y, classes, radius, level, epsilon, delta, rng)
    predicted = np.full(len(test), classes[0]) if found is None else found.predict(test.x)
    yield "Algorithm 3", error(predicted), found is not None
    same = np.eye(private.x.shape[1])
    sums = ec.sums_bayes(private.x, private.y, classes, radius, epsilon, delta, rng, same)
    yield "reference sums, same radius, identity", error(sums.predict(test.x)), True
    for kind in kinds:
        yield f"public rows alone, {kind}", nonprivate(public, kind), True


# Kernel regression --------------------------------------------------------------------------------


def nw(repeats: int, start: int, references: bool) -> None:
    """A sine of one covariate, n = 5000, bandwidth 0.02: mean squared error over 51 nodes."""
    curve(1, 5000, 0.02, repeats, start, references)


def nw2(repeats: int, start: int, references: bool) -> None:
    """A surface over the unit square, n = 10000, bandwidth 0.06, 18 x 18 nodes."""
    curve(2, 10_000, 0.06, repeats, start, references)


def curve(d: int, n: int, bandwidth: float, repeats: int, start: int, references: bool) -> None:
    """Every method on simulated curves."""
    for epsilon in EPSILONS:
        errors = Errors()
        for seed in range(start, start + repeats):
            t = eptr_settings.simulated_nw(seed, n, d=d)
            errors.add(curve_errors(t, epsilon, bandwidth, seed, references))
        aim = {1.0: "<= 3", 4.0: "<= 1.3"}.get(epsilon) if d == 1 else None
        title = f"NW, d = {d}, n = {n}, h = {bandwidth:g}, epsilon = {epsilon:g}, delta = {DELTA:g}"
        errors.show(title, {"eptr_nw gp": aim} if aim else None)


def curve_errors(
    t: Task[Array], epsilon: float, bandwidth: float, seed: int, references: bool
) -> Found:
    """Mean squared errors over the nodes; Algorithm 5 has R_f = 1.5, c0 = 0.5^d.

    That is the expected degree of a corner. It answers 0 where it gives no reply.
    """
    nodes, (x, y) = t.test.x, (t.private.x, t.private.y)
    n, d = x.shape
    rng = np.random.default_rng(seed + 99)

    def squared(predicted: Any) -> float:
        return float(np.mean((np.asarray(predicted, dtype=np.float64) - t.test.y) ** 2))

    yield BASE, squared(ec.nonprivate_nw(nodes, x, y, bandwidth)), True
    if not references:
        table, at = t.frame(t.private), t.frame(t.test)[list(t.names)]
        for method in ("gp", "adaptive", "ptr"):
            fit = package().eptr_nw(
                t.formula,
                table,
                public=t.frame(t.public),
                epsilon=epsilon,
                delta=DELTA,
                at=at,
                bandwidth=bandwidth,
                method=method,
                seed=seed + 7,
            )
            replied = bool(getattr(fit, "released", True))
            yield f"eptr_nw {method}", squared(fit.predict(within(t.frame(t.public), at))), replied
    limit = 1.5
    num, den = ec.kernel_sums(nodes, x, np.clip(y, -limit, limit), bandwidth)
    limits = ec.NwLimits(limit, ec.paper_degree(0.5**d, n, bandwidth, d))
    m = len(nodes)
    for compose in (False, True):
        found, replies = ec.paper_nw(num, den, limits, epsilon, DELTA, rng, compose=compose)
        name = f"Algorithm 5, composed over {m}" if compose else f"{m} x Algorithm 5, not private"
        yield name, squared(np.where(replies, found, 0.0)), bool(np.mean(replies) > 0.5)
    sums = ec.sums_nw_marginals(num, den, limit, epsilon, DELTA, rng)
    yield "reference sums, process noise", squared(sums), True
    public = ec.nonprivate_nw(nodes, t.public.x, t.public.y, bandwidth)
    yield "public rows alone, same bandwidth", squared(public), True
    own = ec.nonprivate_bandwidth(t.public.x, t.public.y, np.geomspace(0.01, 0.5, 12).tolist())
    public = ec.nonprivate_nw(nodes, t.public.x, t.public.y, own)
    yield "public rows alone, own bandwidth", squared(public), True


HOUSING_BANDWIDTHS = 0.1, 0.12, 0.15, 0.18, 0.22, 0.27, 0.33, 0.4, 0.5, 0.6, 0.8, 1.0
"""In standard deviations of the public covariates."""
HOUSING_SHAPES = [
    np.array([income, place, place, age])
    for income in (0.25, 0.4, 0.6, 0.9, 1.3)
    for place in (0.02, 0.03, 0.06, 0.1, 0.15, 0.25, 0.4)
    for age in (0.8, 1.5, 3.0)
]
"""Bandwidths of income, latitude, longitude and age."""


def housing(repeats: int, start: int, references: bool, data: Path) -> None:
    """Section 5.2: test error in (100 000 dollars)^2 of ONE release that predicts all test rows.

    The base is the kernel fit with its own leave-one-out bandwidth, the same for all standardised
    covariates; beside it the fit with one bandwidth per covariate.
    """
    cases = {epsilon: Errors() for epsilon in EPSILONS}
    for seed in range(start, start + repeats):
        t = eptr_settings.housing(data, seed=seed)
        x, y = t.private.x, t.private.y
        common = list(housing_common(t))
        own = ec.nonprivate_bandwidth(x, y, HOUSING_BANDWIDTHS)
        each = ec.nonprivate_bandwidths(x, y, own)
        print(f"seed {seed}: own bandwidth {own:g}; per covariate {np.round(each, 3)}", flush=True)
        for bandwidth, name in ((own, BASE), (each, f"{BASE}, a bandwidth per covariate")):
            found = ec.nonprivate_nw(t.test.x, x, y, bandwidth)
            common.insert(0, (name, float(np.mean((found - t.test.y) ** 2)), True))
        others = HousingReferences(t)
        for epsilon, errors in cases.items():
            errors.add(common)
            if not references:
                errors.add(housing_package(t, own, epsilon, seed))
            errors.add(others.errors(epsilon, np.random.default_rng(seed + 99)))
    aim = {
        "eptr_nw gp, default bandwidth": "<= 1.1",
        "eptr_nw gp, base's bandwidth": "<= 1.1",
    }
    for epsilon, errors in cases.items():
        errors.show(f"California housing, epsilon = {epsilon:g}, delta = {DELTA:g}", aim)


def housing_common(t: Task[Array]) -> Found:
    """Errors that do not depend on the budget."""
    train, public, test = (with_constant(part.x) for part in (t.private, t.public, t.test))

    def squared(predicted: Array) -> float:
        return float(np.mean((predicted - t.test.y) ** 2))

    yield f"{BASE}, least squares", squared(test @ competitors.ols(train, t.private.y)), True
    coef = competitors.public_ols(public, t.public.y)
    yield "public rows alone, least squares", squared(test @ coef), True
    own = ec.nonprivate_bandwidth(t.public.x, t.public.y, HOUSING_BANDWIDTHS)
    found = ec.nonprivate_nw(t.test.x, t.public.x, t.public.y, own)
    yield "public rows alone, kernel", squared(found), True


def housing_package(t: Task[Array], own: float, epsilon: float, seed: int) -> Found:
    """One release each, at the package's bandwidth and at that of the non-private fit.

    Where there is no curve, beyond the public rows, the public line answers.
    """
    line = with_constant(t.test.x) @ competitors.public_ols(with_constant(t.public.x), t.public.y)
    table, test = t.frame(t.private), t.frame(t.test)[list(t.names)]
    given: list[tuple[str, float | None]] = [("default bandwidth", None), ("base's bandwidth", own)]
    for name, bandwidth in given:
        fit = package().eptr_nw(
            t.formula,
            table,
            public=t.frame(t.public),
            epsilon=epsilon,
            delta=DELTA,
            bandwidth=bandwidth,
            seed=seed + 7,
        )
        found = np.asarray(fit.predict(test), dtype=np.float64)
        found = np.where(np.isfinite(found), found, line)
        yield f"eptr_nw gp, {name}", float(np.mean((found - t.test.y) ** 2)), True
        if bandwidth is None:
            used = bandwidths_of(fit, t.names)
            found = ec.nonprivate_nw(t.test.x, t.private.x, t.private.y, used)
            error = float(np.mean((found - t.test.y) ** 2))
            yield f"{BASE}, eptr_nw's bandwidth", error, True


def within(public: pd.DataFrame, points: pd.DataFrame) -> pd.DataFrame:
    """Points moved into the range of the public rows, beyond which a curve has no value."""
    seen = public[list(points.columns)]
    return points.clip(seen.min(), seen.max(), axis=1)


def bandwidths_of(fit: Any, names: tuple[str, ...]) -> Array:
    """Bandwidths of a fit, shape (d,), whether it keeps one or one per covariate."""
    kept = fit.bandwidth
    if isinstance(kept, Mapping | pd.Series):
        return np.array([float(kept[name]) for name in names])
    return np.broadcast_to(np.asarray(kept, dtype=np.float64), len(names)).copy()


class HousingReferences:
    """Algorithm 5 and noisy sums on one split.

    Algorithm 5 and the plain sums have the best of several limits and bandwidths: oracles.
    Responses are centred at the mean of the public ones, which also answers for no reply, and R_f
    is the largest distance of a public response. The last reference smooths what the public
    least-squares fit leaves, with bandwidths chosen on the public rows: no oracle.
    """

    def __init__(self, t: Task[Array]) -> None:
        self.truth = t.test.y
        self.centre = float(np.mean(t.public.y))
        self.limit = float(np.max(np.abs(t.public.y - self.centre)))
        self.sums: list[tuple[Array, Array]] = []
        y = np.clip(t.private.y - self.centre, -self.limit, self.limit)
        for bandwidth in HOUSING_BANDWIDTHS[2::3]:
            num, den = ec.kernel_sums(t.test.x, t.private.x, y, bandwidth)
            self.sums.append((num, den))
        self.task = t
        public_x, public_y = with_constant(t.public.x), t.public.y
        coef = competitors.public_ols(public_x, public_y)
        inverse = np.linalg.inv(public_x.T @ public_x)
        leverage = np.sum((public_x @ inverse) * public_x, axis=1)
        self.rest = (public_y - public_x @ coef) / (1 - leverage)
        self.bound = float(np.quantile(np.abs(self.rest), 0.98))
        self.line = with_constant(t.test.x) @ coef
        rest = t.private.y - with_constant(t.private.x) @ coef
        self.private_rest = np.clip(rest, -self.bound, self.bound)

    def errors(self, epsilon: float, rng: np.random.Generator) -> Found:
        """Smallest test errors over bandwidths and degree limits."""

        def squared(predicted: Array) -> float:
            return float(np.mean((predicted + self.centre - self.truth) ** 2))

        m = len(self.truth)
        best: dict[bool, tuple[float, bool]] = {}
        for compose in (False, True):
            trials = []
            for num, den in self.sums:
                for share in (0.02, 0.05, 0.1, 0.2, 0.4, 0.6):
                    limits = ec.NwLimits(self.limit, max(1.0, float(np.quantile(den, share))))
                    found, reply = ec.paper_nw(
                        num, den, limits, epsilon, DELTA, rng, compose=compose
                    )
                    error = squared(np.where(reply, found, 0.0))
                    trials.append((error, bool(np.mean(reply) > 0.5)))
            best[compose] = min(trials)
        yield f"{m} x Algorithm 5, not private, oracle limits", *best[False]
        yield f"Algorithm 5, composed over {m}, oracle limits", *best[True]
        sums = [
            squared(ec.sums_nw_marginals(num, den, self.limit, epsilon, DELTA, rng))
            for num, den in self.sums
        ]
        yield "reference sums, process noise, oracle h", min(sums), True
        t, mu = self.task, competitors.gdp_mu(epsilon, DELTA)
        plan = ec.public_kernel_plan(
            t.public.x, self.rest, len(t.private), self.bound, mu, HOUSING_SHAPES
        )
        num, den = ec.kernel_sums(t.test.x, t.private.x, self.private_rest, plan.bandwidth)
        found = ec.sums_nw_ridge_marginals(num, den, self.bound, plan.ridge, epsilon, DELTA, rng)
        error = float(np.mean((self.line + found - self.truth) ** 2))
        yield "reference sums around the public line", error, True


PARTS = "ols", "bayes", "credit", "nw", "nw2", "housing", "wine"


def main() -> None:
    """Run the parts that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=PARTS)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--start", type=int, default=0, help="first seed")
    parser.add_argument("--references", action="store_true", help="nothing of the package")
    parser.add_argument(
        "--data",
        type=Path,
        default=settings.DATA,
        help="folder of credit_default.csv.gz, california_housing_statlib.csv.gz and "
        "wine_white.csv (default: ../shared/data, seen from the project root)",
    )
    asked = parser.parse_args()
    simulations = {"ols": ols, "bayes": bayes, "nw": nw, "nw2": nw2}
    real = {"credit": credit, "housing": housing, "wine": wine}
    for part in PARTS if asked.part is None else (asked.part,):
        if part in simulations:
            simulations[part](asked.repeats, asked.start, asked.references)
        else:
            real[part](asked.repeats, asked.start, asked.references, asked.data)


if __name__ == "__main__":
    main()
