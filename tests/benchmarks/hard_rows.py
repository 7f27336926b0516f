"""Do intervals hold on simulated rows that are hard to cut?

Skewed errors, counts and outcomes that are rare, columns that are mostly zeros, missing values, rows of
one length, public columns of another spread, weights. The truth is known; a line per case:
``error`` the root mean square distance to the fit without privacy, in its standard errors, ``width``
the printed errors over those (median), ``cover`` of 95 % intervals for the truth and ``plain`` that of
the fit without privacy, ``far`` the share of fits with a number beyond 3.29 printed errors of the
fit without privacy, ``silent`` those of them without a note, ``noted`` all fits with a note, and
``none`` numbers without an error.

    python -m tests.benchmarks.hard_rows [--only rare,zeros] [--repeats 40] [--first 0] [--jobs 2]
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any

import numpy as np
import pandas as pd
import statsmodels.api as sm
import statsmodels.formula.api as smf
from scipy.special import expit

from dpstats import dp_glm, dp_lm, dp_mean

Array = np.ndarray[Any, np.dtype[np.float64]]
Draw = Callable[[np.random.Generator, int], pd.DataFrame]
Errors = Callable[[np.random.Generator, int], Array]
_FAR = 3.29
_EPSILON_1 = {"epsilon": 1, "delta": 1e-6}


@dataclass(frozen=True)
class Case:
    """Rows to draw, and the fit; ``truth``: coefficients, or one mean.

    Attributes
    ----------
    kind : str
        "lm", a family of dp_glm, or "mean" of the column y.
    public : int
        Public rows, 0 for none; ``other`` draws them, where they are of another kind.
    """

    draw: Draw
    kind: str
    truth: tuple[float, ...]
    n: int
    total: Mapping[str, float]
    public: int = 0
    other: Draw | None = None


def _columns(rng: np.random.Generator, n: int) -> pd.DataFrame:
    return pd.DataFrame({"x": rng.normal(size=n), "t": 1.0 * (rng.random(n) < 0.5)})


def _linear(errors: Errors, missing: float = 0.0, spread: float = 1.0) -> Draw:
    """y = 1 + x + t and errors of mean zero."""

    def draw(rng: np.random.Generator, n: int) -> pd.DataFrame:
        rows = _columns(rng, n)
        rows["x"] *= spread
        rows["y"] = 1 + rows.x + rows.t + errors(rng, n)
        return rows.mask(np.outer(rng.random(n) < missing, [False, False, True]))

    return draw


def _outcomes(at: float) -> Draw:
    def draw(rng: np.random.Generator, n: int) -> pd.DataFrame:
        rows = _columns(rng, n)
        chance = 1 / (1 + np.exp(-(at + 0.5 * rows.x + 0.4 * rows.t)))
        return rows.assign(y=1.0 * (rng.random(n) < chance))

    return draw


def _outcomes_by_level(share: float) -> Draw:
    """t is a level that a share of the rows has."""

    def draw(rng: np.random.Generator, n: int) -> pd.DataFrame:
        rows = _columns(rng, n).assign(t=1.0 * (rng.random(n) < share))
        chance = 1 / (1 + np.exp(-(0.2 + 0.4 * rows.x + rows.t)))
        return rows.assign(y=1.0 * (rng.random(n) < chance))

    return draw


def _counts(at: float) -> Draw:
    def draw(rng: np.random.Generator, n: int) -> pd.DataFrame:
        rows = _columns(rng, n)
        return rows.assign(y=rng.poisson(np.exp(at + 0.3 * rows.x + 0.3 * rows.t)).astype(float))

    return draw


def _averages(counts: bool) -> Draw:
    """Shares of ones among up to 29 trials, or rates over as much exposure; both are the weights."""

    def draw(rng: np.random.Generator, n: int) -> pd.DataFrame:
        rows = _columns(rng, n).assign(w=1.0 * rng.integers(1, 30, n))
        mean = np.exp(-1 + 0.5 * rows.x + 0.4 * rows.t)
        if counts:
            return rows.assign(y=rng.poisson(rows.w * mean) / rows.w)
        return rows.assign(y=rng.binomial(rows.w.astype(int), mean / (1 + mean)) / rows.w)

    return draw


def _weighted(drawn: Draw, scale: float) -> Draw:
    """Survey weights of this size."""

    def draw(rng: np.random.Generator, n: int) -> pd.DataFrame:
        rows = drawn(rng, n)
        return rows.assign(w=scale * rng.uniform(0.2, 3, n))

    return draw


def _survey(drawn: Draw) -> Draw:
    """Survey weights with a long tail."""

    def draw(rng: np.random.Generator, n: int) -> pd.DataFrame:
        return drawn(rng, n).assign(w=np.minimum(np.exp(rng.normal(size=n)), 50))

    return draw


def _strong(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Ones that a column decides, beside twelve levels that say nothing."""
    rows = pd.DataFrame({"x": rng.normal(size=n)})
    level = rng.integers(0, 12, n)
    rows = rows.assign(**{f"g{k}": 1.0 * (level == k) for k in range(1, 12)})
    return rows.assign(y=1.0 * (rng.random(n) < expit(3 * rows.x - 3)))


def _ones(share: float) -> Draw:
    """Zeros and ones for least squares; half as many more ones where t is one."""

    def draw(rng: np.random.Generator, n: int) -> pd.DataFrame:
        rows = _columns(rng, n)
        return rows.assign(y=1.0 * (rng.random(n) < share * (1 + 0.5 * rows.t)))

    return draw


def _ones_by_level(share: float) -> Draw:
    """Zeros and ones for least squares; more ones in a level t that a share of the rows has."""

    def draw(rng: np.random.Generator, n: int) -> pd.DataFrame:
        rows = _columns(rng, n).assign(t=1.0 * (rng.random(n) < share))
        return rows.assign(y=1.0 * (rng.random(n) < 0.5 + 0.02 * rows.x + 0.3 * rows.t))

    return draw


def _bent(what: str) -> Draw:
    """A mean, or odds, or a rate, that is not linear in a column with a long tail."""

    def draw(rng: np.random.Generator, n: int) -> pd.DataFrame:
        t = rng.normal(size=n)
        x = rng.standard_t(3, size=n) if what == "tanh of t3" else rng.exponential(size=n)
        if what in ("ones", "odds", "log of a lognormal"):
            x = rng.lognormal(size=n)
        if what in ("ones", "odds"):
            y = 1.0 * (rng.random(n) < expit(-1 + 0.7 * np.log(x) + 0.3 * t))
        elif what == "log of a lognormal":
            y = np.log(x) + t + rng.normal(size=n)
        elif what == "tanh of t3":
            y = 1 + 2 * np.tanh(x) + t + rng.normal(size=n)
        elif what == "counts":
            y = rng.poisson(np.exp(-1 + 0.32 * x + 0.3 * t)).astype(float)
        elif what == "a rate":
            y = rng.poisson((1 + 0.8 * x) * np.exp(0.3 * t)).astype(float)
        elif what == "capped":
            x = rng.gamma(3, 1.3, n)
            y = np.minimum(x / 4, 2) + 0.1 * t + 0.35 * rng.normal(size=n)
        elif what == "square":
            y = 0.2 * x**2 + 0.5 * t + rng.normal(size=n)
        else:
            x = 10 * x
            y = np.log1p(x) + 0.5 * t + rng.normal(size=n)
        return pd.DataFrame({"y": y, "x": x, "t": t})

    return draw


def _spending(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """A column that is mostly zero, with a long tail, and a mean that grows as its logarithm."""
    t, some = rng.normal(size=n), rng.random(n) < 0.4
    x = np.where(some, rng.lognormal(1, 1.2, n), 0.0)
    return pd.DataFrame({"y": np.log1p(x) + 0.5 * t + rng.normal(size=n), "x": x, "t": t})


def _with_far_rows(what: str) -> Draw:
    """Half a percent of the rows lie far out: codes, or large values on the same line as others."""

    def draw(rng: np.random.Generator, n: int) -> pd.DataFrame:
        t, x, far = rng.normal(size=n), rng.normal(50, 15, n), rng.random(n) < 0.005
        if what == "large":
            x = np.where(far, 20 * x, x)
        y = 1 + 0.02 * x + 0.5 * t + rng.normal(size=n)
        return pd.DataFrame({"y": y, "x": np.where(far & (what == "codes"), -999.0, x), "t": t})

    return draw


def _mostly_zero(share: float) -> Draw:
    def draw(rng: np.random.Generator, n: int) -> pd.DataFrame:
        return pd.DataFrame({"y": np.where(rng.random(n) < share, rng.lognormal(3, 1, n), 0.0)})

    return draw


def _alike(columns: int, tails: bool = True, higher: float = 0.0) -> Draw:
    """Columns that are alike; with ``tails`` rows as long as those of a t law of five degrees."""

    def draw(rng: np.random.Generator, n: int) -> pd.DataFrame:
        x = rng.normal(size=(n, columns)) + rng.normal(size=(n, 1)) / 2
        if tails:
            x /= np.sqrt(rng.chisquare(5, size=(n, 1)) / 5)
        rows = pd.DataFrame(x, columns=[f"x{j}" for j in range(columns)])
        return rows.assign(y=1 + higher + x.sum(axis=1) + rng.normal(size=n))

    return draw


def _lognormal(rng: np.random.Generator, n: int) -> Array:
    return np.asarray(rng.lognormal(size=n) - np.exp(0.5))


def _normal(rng: np.random.Generator, n: int) -> Array:
    return np.asarray(rng.normal(size=n))


def _treated(rng: np.random.Generator, n: int) -> pd.DataFrame:
    rows = _columns(rng, n)[["t"]]
    return rows.assign(y=1 + rows.t + rng.normal(size=n))


_THREE = (1.0, 1.0, 1.0)
_ZERO_MEAN = float(np.exp(3.5))

CASES: dict[str, Case] = {
    **{
        f"skewed errors, n={n}, mu={mu}": Case(
            _linear(_lognormal), "lm", _THREE, n, {"mu": mu}, 100
        )
        for n in (2000, 20_000)
        for mu in (1, 3)
    },
    **{
        f"half missing, {where}": Case(
            _linear(_normal, 0.5), "lm", _THREE, 10_000, {"mu": 1}, public
        )
        for where, public in (("public rows", 200), ("alone", 0))
    },
    "y ~ treated, alone": Case(_treated, "lm", (1.0, 1.0), 5000, {"mu": 1}),
    "columns of another spread": Case(
        _linear(_normal), "lm", _THREE, 5000, {"mu": 1}, 200, _linear(_normal, spread=0.3)
    ),
    **{
        f"public responses higher, n={n}, mu={mu}": Case(
            _alike(d), "lm", (1.0,) * (d + 1), n, {"mu": mu}, 2000, _alike(d, False, 0.3)
        )
        for n, d, mu in ((10_000, 6, 0.3), (10_000, 6, 1), (50_000, 12, 1), (150_000, 12, 1))
    },
    **{
        f"rare ones for lm, {share:.3g}, n={n}": Case(
            _ones(share), "lm", (share, 0.0, 0.5 * share), n, _EPSILON_1
        )
        for share, n in ((0.05, 20_000), (0.05, 50_000), (0.1, 5000), (0.125, 2000))
    },
    **{
        f"few ones for lm, {share:.2g}, n={n}{said}": Case(
            _ones(share), "lm", (share, 0.0, 0.5 * share), n, {"mu": 1, **limits}
        )
        for share, n in ((0.01, 5000), (0.05, 1000))
        for said, limits in (("", {}), (", declared", {"limits": {"y": (0, 1)}}))
    },
    **{  # least squares of the whole population: x^2 is 4 x - 2 there
        f"curved mean, n={n}, {where}": Case(
            _bent("square"), "lm", (-0.4, 0.8, 0.5), n, {"mu": 1}, public
        )
        for n in (5000, 20_000)
        for where, public in (("public rows", 250), ("alone", 0))
    },
    **{  # little of a budget: noise may hide that the mean bends
        f"capped mean, n={n}, mu={mu}, {public} public": Case(
            _bent("capped"), "lm", (0.110892, 0.215501, 0.1), n, {"mu": mu}, public
        )
        for n, mu, few in ((2000, 1, 200), (5000, 0.3, 200), (18_000, 0.1, 300), (5000, 1, 200))
        for public in (few, 1000)
    },
    **{  # least squares of 40 million rows
        f"curved mean, {what}, n=5000, {where}": Case(
            _bent(what), "lm", truth, 5000, {"mu": 1}, public
        )
        for what, truth in (
            ("ones", (0.2078, 0.05048, 0.05568)),
            ("log", (1.2161, 0.07986, 0.5)),
            ("counts", (0.2997, 0.26616, 0.16981)),
        )
        for where, public in (("public rows", 250), ("alone", 0))
    },
    **{  # there is no end to how far such rows may lie
        f"curved mean, {what}, n=20000, {where}": Case(
            _bent(what), "lm", truth, 20_000, {"mu": 1}, public
        )
        for what, truth in (
            ("log of a lognormal", (-0.581977, 0.352987, 1.0)),
            ("tanh of t3", (1.0, 0.619908, 1.0)),
        )
        for where, public in (("public rows", 250), ("alone", 0))
    },
    **{  # least squares of 40 million rows
        f"curved mean, spending, n={n}, {where}": Case(
            _spending, "lm", (0.36756, 0.094269, 0.5), n, {"mu": 1}, public
        )
        for n in (5000, 20_000)
        for where, public in (("public rows", 300), ("alone", 0))
    },
    **{
        f"far rows, {what}, n={n}, alone": Case(_with_far_rows(what), "lm", truth, n, {"mu": 1})
        for what, truth in (("codes", (1.965062, 0.000784, 0.5)), ("large", (1.0, 0.02, 0.5)))
        for n in (20_000, 50_000)
    },
    **{  # maximum likelihood of 40 million rows
        f"bent, {what}, n={n}, {where}": Case(_bent(what), family, truth, n, {"mu": 1}, public)
        for what, family, truth in (
            ("odds", "binomial", (-1.4011, 0.28679, 0.29363)),
            ("a rate", "quasipoisson", (0.2199, 0.3077, 0.29983)),
        )
        for n in (5000, 20_000)
        for where, public in (("public rows", 250), ("alone", 0))
    },
    **{
        f"rare level for lm, {share:.2g}, n={n}, {where}": Case(
            _ones_by_level(share), "lm", (0.5, 0.02, 0.3), n, {"mu": 1}, public
        )
        for share, n in ((0.03, 5000), (0.02, 20_000))
        for where, public in (("public rows", 300), ("alone", 0))
    },
    **{
        f"rare outcomes, logit {at}, n={n}, {where}": Case(
            _outcomes(at), "binomial", (at, 0.5, 0.4), n, {"mu": 1}, public
        )
        for at, n in ((-4, 10_000), (-5, 50_000))
        for where, public in (("public rows", 500), ("alone", 0))
    },
    **{
        f"strong column, n={n}, {where}": Case(
            _strong, "binomial", (-3.0, 3.0, *[0.0] * 11), n, {"mu": 1}, public
        )
        for n in (5000, 10_000, 20_000)
        for where, public in (("public rows", 300), ("alone", 0))
    },
    **{
        f"rare level, {share:.2g}, n={n}, {where}": Case(
            _outcomes_by_level(share), "binomial", (0.2, 0.4, 1.0), n, {"mu": 1}, public
        )
        for share, n in ((0.03, 5000), (0.03, 20_000), (0.1, 5000))
        for where, public in (("public rows", 300), ("alone", 0))
    },
    **{
        f"rare counts, log {at}, n={n}, {where}": Case(
            _counts(at), "poisson", (at, 0.3, 0.3), n, {"mu": 1}, public
        )
        for at, n in ((-2, 2000), (-3, 2000), (-3, 10_000), (-3, 50_000))
        for where, public in (("public rows", 500), ("alone", 0))
    },
    **{
        f"weights, {what}, n=3000, {where}": Case(drawn, family, truth, 3000, {"mu": 1}, public)
        for what, family, drawn, truth in (
            ("shares of trials", "binomial", _averages(False), (-1.0, 0.5, 0.4)),
            ("rates", "poisson", _averages(True), (-1.0, 0.5, 0.4)),
            ("ones, long tail", "binomial", _survey(_outcomes(-1)), (-1.0, 0.5, 0.4)),
            ("ones, 1e-4", "binomial", _weighted(_outcomes(-1), 1e-4), (-1.0, 0.5, 0.4)),
            ("ones, 1e4", "binomial", _weighted(_outcomes(-1), 1e4), (-1.0, 0.5, 0.4)),
            ("counts, 1e4", "poisson", _weighted(_counts(0), 1e4), (0.0, 0.3, 0.3)),
        )
        for where, public in (("public rows", 300), ("alone", 0))
    },
    **{
        f"large counts, log {at}, n=10000, alone": Case(
            _counts(at), "poisson", (at, 0.3, 0.3), 10_000, {"mu": 1}
        )
        for at in (3, 6)
    },
    **{
        f"mostly zeros, {share:.2g}, n={n}": Case(
            _mostly_zero(share), "mean", (share * _ZERO_MEAN,), n, _EPSILON_1
        )
        for share, n in ((0.05, 20_000), (0.05, 50_000), (0.1, 10_000))
    },
}


def _plain(case: Case, rows: pd.DataFrame, formula: str) -> tuple[Array, Array]:
    """The estimate without privacy and its errors."""
    if case.kind == "mean":
        return np.array([rows.y.mean()]), np.array([rows.y.std() / len(rows) ** 0.5])
    if case.kind == "lm":
        fit = smf.ols(formula, rows).fit(cov_type="HC1")
    else:
        family = sm.families.Binomial if case.kind == "binomial" else sm.families.Poisson
        if "w" in rows:
            return _weighted_plain(rows, formula, family())
        fit = smf.glm(formula, rows, family=family()).fit(cov_type="HC1")
    return fit.params.to_numpy(), fit.bse.to_numpy()


def _weighted_plain(rows: pd.DataFrame, formula: str, family: Any) -> tuple[Array, Array]:
    """With sandwich errors, of a canonical link."""
    fit = smf.glm(formula, rows, family=family, var_weights=rows.w).fit()
    x, w = fit.model.exog, rows.w.to_numpy()
    score = x * (w * (rows.y - fit.fittedvalues).to_numpy())[:, None]
    curvature = (x * (w * family.variance(fit.fittedvalues.to_numpy()))[:, None]).T @ x
    inverse = np.linalg.inv(curvature)
    return fit.params.to_numpy(), np.sqrt(np.diag(inverse @ (score.T @ score) @ inverse))


def one(name: str, seed: int) -> dict[str, Any]:
    """The figures of one fit."""
    warnings.simplefilter("ignore")
    case = CASES[name]
    rng = np.random.default_rng([seed, 5])
    rows = case.draw(rng, case.n)
    public = (case.other or case.draw)(rng, case.public) if case.public else None
    formula = "y ~ " + " + ".join(c for c in rows if c not in ("y", "w"))
    given: dict[str, Any] = {**case.total, "seed": seed}
    if "w" in rows:
        given |= {"weights": "w", "limits": {"(weights)": (0, 1.2 * float(rows.w.max()))}}
    if case.kind == "mean":
        found: Any = dp_mean(["y"], rows, public, **given)
        estimate = found.mean.to_numpy()
    else:
        more = {} if case.kind == "lm" else {"family": case.kind}
        found = (dp_glm if more else dp_lm)(formula, rows, public, **more, **given)
        estimate = found.coef().to_numpy()
    error = found.se().to_numpy()
    plain, plain_error = _plain(case, rows, formula)
    truth, known = np.array(case.truth), np.isfinite(error)
    return {
        "case": name,
        "error": float(np.mean(((estimate - plain) / plain_error)[known] ** 2)),
        "width": float(np.median((error / plain_error)[known])) if known.any() else np.nan,
        "cover": float(np.mean((np.abs(estimate - truth) <= 1.96 * error)[known])),
        "plain": float(np.mean(np.abs(plain - truth) <= 1.96 * plain_error)),
        "far": bool((np.abs(estimate - plain) > _FAR * error)[known].any()),
        "noted": bool(found.notes),
        "none": float(1 - known.mean()),
    }


def summary(lines: pd.DataFrame) -> pd.DataFrame:
    """A line for every case."""
    lines = lines.assign(silent=lines.far & ~lines.noted)
    means = lines.groupby("case", sort=False).mean()
    means["error"] **= 0.5
    means["width"] = lines.groupby("case", sort=False).width.median()
    order = ["error", "width", "cover", "plain", "far", "silent", "noted", "none"]
    return means[order].round(3).reset_index()


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--only", default="", help="parts of names")
    arguments.add_argument("--repeats", type=int, default=40)
    arguments.add_argument("--first", type=int, default=0, help="the first seed")
    arguments.add_argument("--jobs", type=int, default=2)
    asked = arguments.parse_args()
    parts = [part for part in asked.only.split(",") if part]
    names = [name for name in CASES if not parts or any(part in name for part in parts)]
    seeds = range(asked.first, asked.first + asked.repeats)
    tasks = [(name, seed) for name in names for seed in seeds]
    with ProcessPoolExecutor(asked.jobs, mp_context=get_context("spawn")) as pool:
        lines = list(pool.map(one, *zip(*tasks, strict=True), chunksize=4))
    print(summary(pd.DataFrame(lines)).to_string(index=False))


if __name__ == "__main__":
    main()
