"""`dp_mixture` beside scikit-learn's GaussianMixture on the same rows, with k or without.

``k_plain`` is the number of components that BIC finds without privacy in the whole table, among 1 to 10
(rows drawn with replacement have copies, which it takes for components), ``within`` whether the one
found is at most one away, ``rand`` and ``rand_plain`` adjusted Rand indices against known kinds (where
there are none: against the fit without privacy). ``error`` is the loss of log-likelihood per row against
a fit to the whole table with as many components, on the rows of that table.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd

from dpstats import dp_mixture
from dpstats.models.gaussian.estimate import log_densities
from tests.benchmarks.others.tables import LARGEST, Case, Draw, Folders, draw, noted

_MOST = 10
_LOGGED_ON = 5000


def _iris(folders: Folders) -> tuple[pd.DataFrame, int]:
    return folders.table("iris"), 45


def _wine(folders: Folders) -> tuple[pd.DataFrame, int]:
    return folders.table("wine")[["flavanoids", "color_intensity", "proline", "kind"]], 54


def _digits(folders: Folders) -> tuple[pd.DataFrame, int]:
    """Three principal directions of the pictures, taken from a fixed 54 of them."""
    table = folders.table("digits")
    x = table.drop(columns="kind").to_numpy(float)
    some = x[np.random.default_rng(11).choice(len(x), 54, replace=False)]
    axes = np.linalg.svd(some - some.mean(axis=0), full_matrices=False)[2][:3]
    made = pd.DataFrame((x - some.mean(axis=0)) @ axes.T, columns=["p1", "p2", "p3"])
    return made.assign(kind=table.kind.to_numpy()), 54


def _columns(
    name: str, logs: tuple[str, ...], others: tuple[str, ...], folders: Folders
) -> tuple[pd.DataFrame, int]:
    table = folders.table(name)
    made = pd.DataFrame(
        {f"log_{c}": np.log(table[c]) for c in logs} | {c: table[c] for c in others}
    )
    return made, max(40, round(0.03 * len(made)), 3 * made.shape[1])


def _not_private(x: np.ndarray, k: int) -> Any:
    from sklearn.mixture import GaussianMixture  # type: ignore

    with np.errstate(all="ignore"):
        return GaussianMixture(k, n_init=3 if len(x) < 3000 else 1, random_state=0).fit(x)


def _adjusted_rand(a: Any, b: Any) -> float:
    from sklearn.metrics import adjusted_rand_score  # type: ignore

    return float(adjusted_rand_score(a, b))


def _log_likelihood(fit: Any, x: np.ndarray) -> float:
    logs = log_densities(
        x,
        fit.weights.to_numpy(),
        fit.means.to_numpy(),
        np.array([c.to_numpy() for c in fit.covariances]),
    )
    top = logs.max(axis=1)
    each = top + np.log(np.exp(logs - top[:, None]).sum(axis=1))
    return float(each.mean()) - 0.5 * x.shape[1] * math.log(2 * math.pi)


def _likelihood_plain(model: Any, size: np.ndarray, x: np.ndarray) -> float:
    return float(model.score(x / size)) - float(np.log(size).sum())


@cache
def _best_of_table(name: str, k: int | None, folders: Folders) -> Any:
    """The fit to the whole table without privacy, with k components or as many as BIC finds."""
    table = _TABLES[name](folders)[0].drop(columns="kind", errors="ignore").to_numpy(float)
    x = _some(table, LARGEST) / table.std(axis=0)
    fits = [_not_private(x, j) for j in ([k] if k else range(1, _MOST + 1))]
    return min(fits, key=lambda fit: fit.bic(x))


def _some(x: np.ndarray, most: int) -> np.ndarray:
    return x[np.random.default_rng(0).permutation(len(x))[:most]]


def _measure(
    name: str, k: int | None, folders: Folders, seed: int, epsilon: float, delta: float
) -> Mapping[str, Any]:
    rows, m = _TABLES[name](folders)
    drawn: Draw = draw(rows, m, seed)
    terms = [c for c in rows.columns if c != "kind"]
    start = time.perf_counter()
    fit = dp_mixture(
        terms, drawn.private[terms], drawn.public[terms], k, epsilon=epsilon, delta=delta, seed=seed
    )
    seconds = time.perf_counter() - start
    truth = _best_of_table(name, k, folders)
    k_plain, x = truth.n_components, drawn.private[terms].to_numpy(float)
    size, public = x.std(axis=0), drawn.public[terms].to_numpy(float)
    plain = _not_private(x / size, k_plain)
    public_fit = _not_private(public / public.std(axis=0), min(k_plain, len(public) // 10))
    labels, ours = fit.predict(drawn.private[terms]).to_numpy(), plain.predict(x / size)
    kinds = drawn.private.get("kind")
    rand = _adjusted_rand(ours if kinds is None else kinds, labels)
    rand_plain = 1.0 if kinds is None else _adjusted_rand(kinds, ours)
    whole = rows[terms].to_numpy(float)
    some = _some(whole, _LOGGED_ON)
    best = _likelihood_plain(truth, whole.std(axis=0), some)
    within = abs(fit.k - k_plain) <= (0 if k else 1)
    return {
        "error": best - _log_likelihood(fit, some),
        "plain": max(best - _likelihood_plain(plain, size, some), 0.01),
        "public": best - _likelihood_plain(public_fit, public.std(axis=0), some),
        "far": not within or (k is not None and kinds is not None and rand < rand_plain - 0.1),
        "noted": noted(fit),
        "seconds": seconds,
        "k_plain": k_plain,
        "k": fit.k,
        "within": within,
        "rand": rand,
        "rand_plain": rand_plain,
    }


_TABLES: dict[str, Callable[[Folders], tuple[pd.DataFrame, int]]] = {
    "iris": _iris,
    "wine": _wine,
    "digits": _digits,
    "diamonds": partial(_columns, "lm_diamonds_log", ("price", "carat"), ()),
    "storms": partial(_columns, "lm_storms", (), ("wind", "pressure", "lat")),
    "california": partial(_columns, "california_housing_statlib", (), ("longitude", "latitude")),
    "power_plant": partial(_columns, "power_plant", (), ("AT", "V")),
}
_ASKED = {"iris": 3, "wine": 3, "digits": 4, "diamonds": 3, "power_plant": 2, "california": 2}

CASES: dict[str, Case] = {
    **{name: partial(_measure, name, None) for name in _TABLES},
    **{f"{name}, k = {k}": partial(_measure, name, k) for name, k in _ASKED.items()},
}
