"""Curves: the kernel regression of the whole table at the printed bandwidth is the truth.

Errors are root mean squares over rows of the table (at 60 of their quantiles), coverage is that of the
points of ``.curve`` which have a fit. Beside ``cover``, of the same estimator on the whole table
(public polynomial and kernel mean of what it leaves), there are ``plainly`` (of the kernel mean of
the responses, as in textbooks) and ``regression`` (means of the nearest rows, or of the rows at
a value with many of them: the bias of smoothing counts).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from dpstats import eptr_nw
from dpstats.datasets import fair
from dpstats.public_input import public_rows
from tests.benchmarks.others.tables import FAR, Case, Folders, draw, noted

_PUBLIC, _POINTS, _NEAREST = 300, 60, 0.01
Array = np.ndarray[Any, np.dtype[np.float64]]


def _kernel_mean(x: Array, values: Array, h: float, points: Array) -> Array:
    """Of equal covariates once: tables have many rows and few values."""
    at, which = np.unique(x, return_inverse=True)
    count, total = np.bincount(which), np.bincount(which, values)
    out = np.empty(len(points))
    for k, point in enumerate(points):
        exponent = -0.5 * ((at - point) / h) ** 2
        weight = np.exp(exponent - exponent.max())
        out[k] = weight @ total / (weight @ count)
    return out


def _regression(x: Array, y: Array, points: Array) -> Array:
    """Means of the nearest hundredth of the rows, ties of the last one included."""
    order = np.argsort(x, kind="stable")
    x, total = x[order], np.append(0.0, np.cumsum(y[order]))
    nearest = max(int(_NEAREST * len(x)), 20)
    out = np.empty(len(points))
    for k, point in enumerate(points):
        reach = np.partition(np.abs(x - point), nearest)[nearest]
        a, b = np.searchsorted(x, point - reach), np.searchsorted(x, point + reach, "right")
        out[k] = (total[b] - total[a]) / (b - a)
    return out


def _table(folders: Folders, name: str) -> pd.DataFrame:
    if name == "fair":
        public, private = fair()
        return pd.concat([public, private], ignore_index=True)
    return folders.table(name)


def _curve(
    name: str,
    formula: str,
    folders: Folders,
    seed: int,
    epsilon: float,
    delta: float,
    public: bool = True,
    **given: Any,
) -> Mapping[str, Any]:
    drawn = draw(_table(folders, name), _PUBLIC, seed)
    start = time.perf_counter()
    rows = {"public": drawn.public} if public else {}
    budget = {"epsilon": epsilon, "delta": delta, "seed": seed}
    fit = eptr_nw(formula, drawn.private, **rows, **budget, **given)
    seconds = time.perf_counter() - start
    (covariate,), h = fit.covariates, float(fit.bandwidth.iloc[0])

    def columns(table: pd.DataFrame) -> tuple[Array, Array]:
        usable = public_rows(fit.design, table)
        return usable.x[:, 1], usable.y

    def centre(x: Array) -> Array:
        z = np.clip(x / h, fit.setting.low, fit.setting.high)
        return np.asarray(fit.setting.centre(z[None, :]))

    def estimator(x: Array, y: Array, points: Array) -> Array:
        return centre(points) + _kernel_mean(x, y - centre(x), h, points)

    whole, private = columns(drawn.population), columns(drawn.private)
    curve = fit.curve.dropna()
    shown = curve[covariate].to_numpy()
    low, high = float(fit.setting.low[0] * h), float(fit.setting.high[0] * h)
    points = np.quantile(whole[0], (np.arange(_POINTS) + 0.5) / _POINTS, method="inverted_cdf")
    points = np.clip(points, low, high)
    band = fit._band(points[:, None] / h, 0.95).fit.to_numpy()
    known = np.isfinite(band)
    truth = estimator(*whole, points)

    def root(values: Array) -> float:
        return float(np.sqrt(np.mean((values - truth)[known] ** 2)))

    def held(truth: Array) -> float:
        return float(np.mean((curve.lwr <= truth) & (truth <= curve.upr)))

    whole_curve = estimator(*whole, shown)
    distance = np.abs(curve.fit - whole_curve) / curve.std_error
    near = np.unique(points[known])
    at_rows = fit._band(near[:, None] / h, 0.95)
    regression = _regression(*whole, near)
    held_there = (at_rows.lwr <= regression) & (regression <= at_rows.upr)
    local = _regression(*whole, points)[known]
    return {
        "error": root(band),
        "plain": root(estimator(*private, points)),
        "public": root(centre(points)),
        "cover": held(whole_curve),
        "plainly": held(_kernel_mean(*whole, h, shown)),
        "regression": float(held_there.mean()),
        "of_truth": float(
            np.sqrt(np.mean((band[known] - local) ** 2))
            / max(np.sqrt(np.mean((estimator(*private, points)[known] - local) ** 2)), 1e-12)
        ),
        "off": float(np.sqrt(np.mean((band[known] - local) ** 2)) / np.std(whole[1])),
        "width": float(
            np.nanmedian((at_rows.upr - at_rows.lwr) / 2)
            / (1.96 * root(estimator(*private, points)))
        ),
        "blank": float(fit.curve.fit.isna().mean()),
        "bandwidth": h / float(np.std(whole[0])),
        "cut": fit.setting.smoothing.radius / float(np.std(whole[1] - centre(whole[0]))),
        "far": bool((distance > FAR).any()),
        "noted": noted(fit),
        "seconds": seconds,
    }


_TABLES = {
    "delays by hour": ("lm_flights_arr", "dep_delay ~ hour"),
    "delays by distance": ("lm_flights_arr", "arr_delay ~ distance"),
    "wages": ("lm_cps1988_raw", "wage ~ experience"),
    "prices": ("lm_diamonds_raw", "price ~ carat"),
    "log prices": ("lm_diamonds_raw", "log(price) ~ carat"),
    "food": ("lm_budgetfood", "wfood ~ log(totexp)"),
    "medical": ("lm_medexp", "med ~ age"),
    "houses": ("lm_ames_raw", "Sale_Price ~ Gr_Liv_Area"),
    "districts": ("california_housing_statlib", "median_house_value ~ median_income"),
    "power": ("power_plant", "PE ~ AT"),
    "affairs": ("fair", "affairs ~ age"),
    "quality": ("wine_white", "quality ~ alcohol"),
}

CASES: dict[str, Case] = {name: partial(_curve, *case) for name, case in _TABLES.items()}
ALONE: dict[str, Case] = {
    name: partial(_curve, *case, public=False) for name, case in _TABLES.items()
}
