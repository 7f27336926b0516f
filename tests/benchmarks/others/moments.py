"""Means and covariances of real tables, with 3 % of public rows and without.

``error``: of a covariance E, ``|S^-1/2 (E - S) S^-1/2|_F`` with S that of the whole table; of a mean its
Mahalanobis distance. Further figures of covariances: ``off`` the share of variances that are more
than 15 % away from the table's, ``unsaid`` whether there is one and no note, ``least`` and ``most`` the
smallest and the largest variance over the table's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpstats import dp_mean, dp_mvnorm
from tests.benchmarks.others.tables import FAR, Case, Draw, Folders, draw, noted

_WRONG = 0.15


@dataclass(frozen=True)
class _Columns:
    """A case: columns of a table; of ``marks`` comes 1 where a column is a value, else 0."""

    table: str
    numbers: Sequence[str]
    marks: Mapping[str, tuple[str, Any]] | None = None
    public: bool = True
    mean_only: bool = False

    def __call__(self, folders: Folders, seed: int, epsilon: float, delta: float) -> dict[str, Any]:
        table = folders.table(self.table)
        rows = table[list(self.numbers)].astype(float)
        for name, (column, value) in (self.marks or {}).items():
            rows[name] = (table[column] == value).astype(float)
        m = max(40, 3 * rows.shape[1], round(0.03 * len(rows)))
        sample = draw(rows, m, seed)
        privacy = {"epsilon": epsilon, "delta": delta, "seed": seed}
        function = dp_mean if self.mean_only else dp_mvnorm
        public = sample.public if self.public else None
        fit = function(list(rows), sample.private, public, **privacy)
        measure = _of_means if self.mean_only else _of_covariances
        return {**measure(sample, fit), **_intervals(sample, fit), "noted": noted(fit)}


def _intervals(sample: Draw, fit: Any) -> dict[str, Any]:
    """What means and their errors say of the table's."""
    truth = sample.population.mean().to_numpy()
    interval = fit.confint().to_numpy()
    away = np.abs(fit.mean.to_numpy() - truth) / fit.se().to_numpy()
    cover = (interval[:, 0] <= truth) & (truth <= interval[:, 1])
    sampling = sample.population.std().to_numpy() / np.sqrt(len(sample.private))
    width = float(np.median(fit.se().to_numpy() / sampling))
    return {"cover": float(cover.mean()), "far": bool((away > FAR).any()), "width": width}


def _of_covariances(sample: Draw, fit: Any) -> dict[str, Any]:
    truth = sample.population.cov().to_numpy()
    estimate = fit.cov.to_numpy()
    ratios = np.diag(estimate) / np.diag(truth)
    wrong = np.abs(ratios - 1) > _WRONG
    return {
        "error": _distance(estimate, truth),
        "plain": _distance(sample.private.cov().to_numpy(), truth),
        "public": _distance(sample.public.cov().to_numpy(), truth),
        "off": float(wrong.mean()),
        "unsaid": bool(wrong.any() and not noted(fit)),
        "least": float(ratios.min()),
        "most": float(ratios.max()),
    }


def _of_means(sample: Draw, fit: Any) -> dict[str, Any]:
    truth, spread = sample.population.mean().to_numpy(), sample.population.cov().to_numpy()

    def far(mean: Any) -> float:
        away = np.asarray(mean) - truth
        return float(np.sqrt(away @ np.linalg.solve(spread, away)))

    private, public = sample.private.mean(), sample.public.mean()
    return {"error": far(fit.mean), "plain": far(private), "public": far(public)}


def _distance(estimate: Any, truth: Any) -> float:
    """Relative Frobenius distance, the same in all units and directions."""
    size = np.sqrt(np.diag(truth))
    values, vectors = np.linalg.eigh(truth / np.outer(size, size))
    root = vectors / np.sqrt(values)
    return float(np.linalg.norm(root.T @ ((estimate - truth) / np.outer(size, size)) @ root))


_WINE = [
    "fixed_acidity",
    "volatile_acidity",
    "residual_sugar",
    "chlorides",
    "free_sulfur_dioxide",
    "pH",
    "sulphates",
    "alcohol",
]
_CREDIT = ["LIMIT_BAL", "AGE", "BILL_AMT1", "PAY_AMT1", "PAY_AMT2"]
_HOMES = ["total_rooms", "housing_median_age", "population", "median_income", "median_house_value"]
_PLANT = ["AT", "V", "AP", "RH", "PE"]
_BANK = ["age", "balance", "duration", "campaign"]
_AMES = ["Sale_Price", "Gr_Liv_Area", "Lot_Area", "Year_Built", "Total_Bsmt_SF", "Garage_Cars"]
_WAGES = ["wage", "education", "experience"]
_MEDEXP = ["med", "lpi", "ndisease", "linc", "lfam", "age"]
_FLIGHTS = ["dep_delay", "arr_delay", "distance", "hour"]
_STORMS = ["lat", "long", "wind", "pressure"]
_IRIS = ["sepal_length", "sepal_width", "petal_length", "petal_width"]
_TUMOURS = ["mean_radius", "mean_texture", "area_error", "worst_concavity"]
_RARE = {"default": ("default", "yes"), "blue_letter": ("month", "mar")}

_TABLES: dict[str, _Columns] = {
    "wine_white": _Columns("wine_white", _WINE),
    "credit_default": _Columns("credit_default", _CREDIT),
    "california": _Columns("california_housing_statlib", _HOMES),
    "power_plant": _Columns("power_plant", _PLANT),
    "bank": _Columns("bank_full", _BANK),
    "bank_rare": _Columns("bank_full", ["age", "duration"], _RARE),
    "ames": _Columns("lm_ames_raw", _AMES),
    "cps1988": _Columns("lm_cps1988_raw", _WAGES),
    "medexp": _Columns("lm_medexp", _MEDEXP),
    "diamonds": _Columns("lm_diamonds_raw", ["carat", "price"]),
    "flights": _Columns("lm_flights_arr", _FLIGHTS),
    "storms": _Columns("lm_storms", _STORMS),
    "iris": _Columns("iris", _IRIS),
    "breast_cancer": _Columns("breast_cancer", _TUMOURS),
}
_ALONE = ("wine_white", "california", "power_plant", "bank_rare", "cps1988", "medexp", "storms")
_MEANS = ("wine_white", "credit_default", "bank", "bank_rare", "ames", "medexp", "flights")
_MEANS_ALONE = ("wine_white", "cps1988", "bank_rare")


def _with(name: str, **changes: bool) -> _Columns:
    case = _TABLES[name]
    return _Columns(case.table, case.numbers, case.marks, **changes)


CASES: dict[str, Case] = {
    **_TABLES,
    **{f"{name}_alone": _with(name, public=False) for name in _ALONE},
    **{f"{name}_mean": _with(name, mean_only=True) for name in _MEANS},
    **{f"{name}_mean_alone": _with(name, public=False, mean_only=True) for name in _MEANS_ALONE},
}
