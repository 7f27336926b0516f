"""`eptr_bayes` on real tables: balanced error of the default against naive Bayes, LDA and QDA.

``plain`` is the least error of the three fitted to the private rows without privacy, ``public`` the
least of the three fitted to the public rows; all are measured on the whole table. ``cover`` and
``far`` are of class means and priors.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from dpstats import eptr_bayes
from tests.benchmarks.others.tables import FAR, Case, Folders, draw, noted

_RIDGE = 1e-4


def _classified(train: pd.DataFrame, test: pd.DataFrame, columns: list[str], kind: str) -> float:
    """Balanced error on ``test`` of a Gaussian classifier of a kind, fitted without privacy.

    A covariance of fewer rows than features is not one that can be inverted: variances are raised by
    a ten-thousandth of those of all rows.
    """
    spread = train[columns].to_numpy(float).std(axis=0)
    spread[spread == 0] = 1.0
    x, rows = (t[columns].to_numpy(float) / spread for t in (train, test))
    truth, classes = test.kind.to_numpy(), sorted(test.kind.unique())
    parts = {k: x[(train.kind == k).to_numpy()] for k in classes}
    inner = {k: (v - v.mean(axis=0)).T @ (v - v.mean(axis=0)) for k, v in parts.items() if len(v)}
    pooled = sum(inner.values()) / max(len(x) - len(classes), 1)
    score = np.full((len(rows), len(classes)), -np.inf)
    for j, k in enumerate(classes):
        if not len(parts[k]):
            continue
        covariance = pooled if kind == "lda" else inner[k] / max(len(parts[k]) - 1, 1)
        if kind == "naive":
            covariance = np.diag(np.diag(covariance))
        root = np.linalg.cholesky(covariance + _RIDGE * np.eye(len(columns)))
        z = np.linalg.solve(root, (rows - parts[k].mean(axis=0)).T)
        logs = np.log(np.diag(root)).sum()
        score[:, j] = np.log(len(parts[k]) / len(x)) - logs - (z**2).sum(axis=0) / 2
    right = np.array(classes)[score.argmax(axis=1)] == truth
    return float(1 - np.mean([right[truth == k].mean() for k in classes]))


KINDS = ("naive", "lda", "qda")


def _case(
    read: Callable[[Folders], pd.DataFrame],
    folders: Folders,
    seed: int,
    epsilon: float,
    delta: float,
    public_rows: bool = True,
    **options: Any,
) -> Mapping[str, Any]:
    """Figures of one fit; ``read`` gives a table of numeric features and the text column kind."""
    table = read(folders)
    columns = [str(c) for c in table.columns if c != "kind"]
    rows = draw(table, max(40, 3 * len(columns), round(0.03 * len(table))), seed)
    plain = {k: _classified(rows.private, table, columns, k) for k in KINDS}
    public = {k: _classified(rows.public, table, columns, k) for k in KINDS}
    start = time.perf_counter()
    fit = eptr_bayes(
        "kind ~ " + " + ".join(columns),
        rows.private,
        rows.public if public_rows else None,
        epsilon,
        delta,
        seed=seed + 1,
        **options,
    )
    seconds = time.perf_counter() - start
    names = list(fit.priors.index)
    truth = table.groupby("kind")[columns].mean().loc[names].to_numpy()
    share = table.kind.value_counts(normalize=True).loc[names].to_numpy()
    away = np.concatenate(
        [
            ((fit.means[columns].to_numpy() - truth) / fit.mean_sd).ravel(),
            (fit.priors.to_numpy() - share) / fit.prior_sd,
        ]
    )
    return {
        "error": fit.balanced_error(table),
        "plain": min(plain.values()),
        "public": min(public.values()),
        "cover": float((np.abs(away) <= 1.96).mean()),
        "far": bool(np.abs(away).max() > FAR),
        "noted": noted(fit),
        "seconds": seconds,
    }


def _numbers(name: str, kind: str, columns: list[str], folders: Folders) -> pd.DataFrame:
    """Columns of a table by their names, and the column of classes."""
    table = folders.table(name)
    return table[columns].astype(float).assign(kind=table[kind].astype(str))


def _all(name: str, folders: Folders) -> pd.DataFrame:
    """All columns of a table of scikit-learn that are not constant."""
    table = folders.table(name)
    varies = [c for c in table.columns if c == "kind" or table[c].std() > 0]
    return table[varies].rename(columns=lambda c: str(c).replace("/", "_"))


def _digits(folders: Folders) -> pd.DataFrame:
    return folders.table("digits").filter(regex=r"kind|pixel_[2-6]_[2-5]$")


def _wine_white(folders: Folders) -> pd.DataFrame:
    table = folders.table("wine_white")
    good = np.where(table.quality >= 7, "good", "other")
    return table.drop(columns="quality").assign(kind=good)


def _hmda(folders: Folders) -> pd.DataFrame:
    table = folders.table("glm_hmda_deny12pct")
    flags = {c: (table[c] == "yes").astype(float) for c in ("phist", "selfemp", "afam", "single")}
    kind = np.where(table.y > 0, "denied", "granted")
    return table.assign(**flags, kind=kind).drop(columns="y")


def _flchain(folders: Folders) -> pd.DataFrame:
    table = folders.table("glm_flchain_death27pct")
    kind = np.where(table.y > 0, "dead", "alive")
    return table.assign(sex=(table.sex == "F").astype(float), kind=kind).drop(columns="y")


_CREDIT = ["LIMIT_BAL", "AGE", "PAY_0", "PAY_2", "PAY_3", "BILL_AMT1", "PAY_AMT1", "PAY_AMT2"]
_TABLES: dict[str, Callable[[Folders], pd.DataFrame]] = {
    "iris": partial(_all, "iris"),
    "wine": partial(_all, "wine"),
    "breast_cancer": partial(_all, "breast_cancer"),
    "digits": partial(_all, "digits"),
    "digits_20": _digits,
    "storms": partial(_numbers, "lm_storms", "status", ["wind", "pressure", "lat", "long"]),
    "diamonds": partial(_numbers, "lm_diamonds_raw", "cut", ["price", "carat"]),
    "bank": partial(_numbers, "bank_full", "y", ["age", "balance", "duration", "campaign"]),
    "credit": partial(_numbers, "credit_default", "default_payment_next_month", _CREDIT),
    "wine_white": _wine_white,
    "flchain": _flchain,
    "hmda": _hmda,
}
CASES: dict[str, Case] = {name: partial(_case, read) for name, read in _TABLES.items()}
ALONE: dict[str, Case] = {
    name: partial(_case, read, public_rows=False) for name, read in _TABLES.items()
}
