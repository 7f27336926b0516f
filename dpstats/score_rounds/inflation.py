"""How much of the variance of coefficients is there because columns say the same."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from dpstats.errors import ArgumentError
from dpstats.score_rounds.estimate import Estimate


def variance_inflation(estimate: Estimate, terms: Sequence[tuple[str, list[int]]]) -> pd.DataFrame:
    """A line for each term: its inflation, its number of columns, and the root per dimension.

    det R_t det R_o / det R, R being the correlations of the coefficients if errors were of constant
    variance, without the constant; R_t those of the term and R_o those of the others.
    """
    if len(terms) < 2:
        raise ArgumentError("one term has no variance inflation: vif() needs two terms or more.")
    covariance = estimate.sampling if estimate.classical is None else estimate.classical
    size = np.sqrt(np.diag(covariance))
    with np.errstate(all="ignore"):
        correlation = covariance / np.outer(size, size)
    every = [j for _, at in terms for j in at if np.isfinite(size[j]) and size[j] > 0]

    def log_det(columns: list[int]) -> float:
        return float(np.linalg.slogdet(correlation[np.ix_(columns, columns)])[1])

    lines = []
    for name, at in terms:
        others = [j for j in every if j not in at]
        known = all(j in every for j in at)
        log = log_det(at) + log_det(others) - log_det(every) if known else np.nan
        lines.append((name, float(np.exp(log)), len(at), float(np.exp(log / 2 / len(at)))))
    return pd.DataFrame(lines, columns=["term", "vif", "df", "scaled"]).set_index("term")
