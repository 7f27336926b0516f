"""Other programs on the same rows: how far each is from the fit without privacy.

Linear regression: dp_lm with and without public rows; diffprivlib's LinearRegression (functional
mechanism) with the exact bounds of the private rows, which it would have to be told; AdaSSP with exact
bounds as well; TukeyEM with the best number of models. Logistic regression: dp_glm; diffprivlib's
LogisticRegression (objective perturbation) with the exact norm of the longest row. What peers are given
for nothing is not private. diffprivlib is epsilon-private without delta, the others with delta = 1e-6.

Figures: root mean square over coefficients of the distance to the fit without privacy, in its standard
errors, medians over seeds; "none" where nothing is released.

    pip install diffprivlib "scikit-learn<1.6"
    python -m tests.benchmarks.peers --real FOLDER [--repeats 10] [--epsilon 1,4]

FOLDER has tables of numbers (NAME.csv.gz), as for real_others.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import statsmodels.api as sm

from dpstats import dp_glm, dp_lm, public_moments
from dpstats.errors import DPStatsError
from tests.benchmarks import competitors

_DELTA = 1e-6
_MODELS = (20, 50, 100, 200, 400)
_LARGEST = 25_000
_LINEAR = {
    "diamonds_log": "lm_diamonds_log",
    "cps1988_log": "lm_cps1988_log",
    "twoyear": "lm_twoyear",
    "budgetfood": "lm_budgetfood",
}
Array = Any


def simulated(seed: int, logistic: bool) -> pd.DataFrame:
    rng = np.random.default_rng([seed, 5])
    x = rng.normal(size=(10_000, 8))
    eta = x @ np.linspace(-1, 1, 8) + 0.5
    y = (
        rng.random(len(eta)) < 1 / (1 + np.exp(-eta))
        if logistic
        else eta + rng.normal(size=len(eta))
    )
    return pd.DataFrame(x, columns=[f"x{j}" for j in range(8)]).assign(y=y.astype(float))


def _away(coef: Array, plain: Any) -> float:
    return float(np.sqrt(np.mean(((coef - plain.params) / plain.bse) ** 2)))


def _diffprivlib_linear(x: Array, y: Array, epsilon: float, seed: int) -> Array:
    from diffprivlib.models import LinearRegression  # type: ignore

    inner = x[:, 1:]
    model = LinearRegression(
        epsilon=epsilon,
        bounds_X=(inner.min(axis=0), inner.max(axis=0)),
        bounds_y=(y.min(), y.max()),
        random_state=seed,
    ).fit(inner, y)
    return np.append(model.intercept_, model.coef_)


def _diffprivlib_logistic(x: Array, y: Array, epsilon: float, seed: int) -> Array:
    from diffprivlib.models import LogisticRegression  # type: ignore

    inner = x[:, 1:]
    model = LogisticRegression(
        epsilon=epsilon,
        data_norm=float(np.linalg.norm(inner, axis=1).max()),
        C=1e6,
        random_state=seed,
    ).fit(inner, y)
    return np.append(model.intercept_, model.coef_[0])


def _linear(
    formula: str, private: pd.DataFrame, public: pd.DataFrame, epsilon: float, seed: int
) -> dict[str, float]:
    levels = {
        c: sorted(private[c].unique()) for c in private if private[c].dtype.kind not in "fiub"
    }
    x, y = _matrix(formula, private, levels)
    plain = sm.OLS(y, x).fit(cov_type="HC1")
    rng = np.random.default_rng(seed)
    given: dict[str, Any] = {"epsilon": epsilon, "delta": _DELTA, "seed": seed, "limits": levels}
    tried: dict[str, Callable[[], Any]] = {
        "dp_lm, public rows": lambda: dp_lm(formula, private, public=public, **given).coef(),
        "dp_lm, none": lambda: dp_lm(formula, private, **given).coef(),
        "diffprivlib": lambda: _diffprivlib_linear(x, y, epsilon, seed),
        "AdaSSP": lambda: competitors.adassp_oracle_bounds(x, y, epsilon, _DELTA, rng),
    }
    found = {name: _tried(make, plain) for name, make in tried.items()}
    for models in _MODELS:
        if len(y) // models >= x.shape[1]:
            found[f"TukeyEM {models}"] = _tried(
                lambda k=models: competitors.tukey_em(x, y, epsilon, _DELTA, k, rng), plain
            )
    return found


def _logistic(
    formula: str, private: pd.DataFrame, public: pd.DataFrame, epsilon: float, seed: int
) -> dict[str, float]:
    x, y = _matrix(formula, private, {})
    plain = sm.GLM(y, x, sm.families.Binomial()).fit(cov_type="HC0")
    given: dict[str, Any] = {
        "epsilon": epsilon,
        "delta": _DELTA,
        "seed": seed,
        "family": "binomial",
    }
    tried: dict[str, Callable[[], Any]] = {
        "dp_glm, public rows": lambda: dp_glm(formula, private, public=public, **given).coef(),
        "dp_glm, none": lambda: dp_glm(formula, private, **given).coef(),
        "diffprivlib": lambda: _diffprivlib_logistic(x, y, epsilon, seed),
    }
    return {name: _tried(make, plain) for name, make in tried.items()}


def _tried(make: Callable[[], Any], plain: Any) -> float:
    """Infinite where nothing is released, as where TukeyEM's test fails."""
    try:
        coef = make()
    except DPStatsError:
        return np.inf
    return np.inf if coef is None else _away(np.asarray(coef, dtype=float), plain)


def _matrix(formula: str, table: pd.DataFrame, levels: dict[str, list[Any]]) -> tuple[Array, Array]:
    design = public_moments(formula, table, limits=levels or None).design
    x, _ = design.matrix(table)
    left = formula.partition("~")[0].strip()
    known = {"log": np.log, "sqrt": np.sqrt} | {c: table[c].to_numpy() for c in table.columns}
    return x, np.asarray(eval(left, known), dtype=float)


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("--real", type=Path)
    ask.add_argument("--repeats", type=int, default=10)
    ask.add_argument("--epsilon", default="1,4")
    given = ask.parse_args()
    warnings.simplefilter("ignore")
    cases: list[tuple[str, str, Callable[[int], pd.DataFrame], Any]] = []
    right = " + ".join(f"x{j}" for j in range(8))
    cases.append(("simulated, n = 10 000", f"y ~ {right}", lambda s: simulated(s, False), _linear))
    cases.append(("simulated logit", f"y ~ {right}", lambda s: simulated(s, True), _logistic))
    if given.real is not None:
        manifest = pd.read_json(given.real / "manifest.json", orient="index")
        for name, key in _LINEAR.items():
            table = pd.read_csv(given.real / f"{key}.csv.gz")
            numbers = {c: float for c in table.columns if table[c].dtype.kind in "iub"}
            whole = table.astype(numbers)
            # powers as they are: a basis would differ between public and private rows
            formula = manifest.loc[key, "formula"]
            formula = formula.replace("poly(experience, 4)", "experience + I(experience**2)")
            cases.append((name, formula, lambda _, t=whole: t, _linear))
    for name, formula, make, measure in cases:
        for epsilon in map(float, given.epsilon.split(",")):
            lines = []
            for seed in range(given.repeats):
                rng = np.random.default_rng([seed, 9])
                rows = make(seed)
                public = rows.iloc[rng.choice(len(rows), 300, replace=False)]
                private = rows.iloc[rng.integers(0, len(rows), min(len(rows), _LARGEST))]
                private = private.reset_index(drop=True)
                lines.append(
                    measure(formula, private, public.reset_index(drop=True), epsilon, seed)
                )
            middle = pd.DataFrame(lines).median()
            tukey = middle[[c for c in middle.index if c.startswith("TukeyEM")]]
            if len(tukey):
                middle = middle.drop(tukey.index)
                middle["TukeyEM, best"] = tukey.min()
            shown = {k: "none" if np.isinf(v) else f"{v:.2f}" for k, v in middle.items()}
            print(f"{name}, epsilon = {epsilon:g}: {shown}", flush=True)


if __name__ == "__main__":
    main()
