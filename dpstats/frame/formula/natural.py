"""R's natural splines: cubic between knots, straight lines beyond the outermost two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dpstats.frame.table import Array


def learn_natural(x: Array, options: Mapping[str, Any]) -> dict[str, Any]:
    """Knots and the combinations of B-splines that ns(x, df) stands for, from public rows.

    As in R's package splines: knots at equal shares of the rows within the bounds, and of the cubic
    B-splines those combinations whose second derivatives vanish at both bounds.
    """
    low, high = options.get("lower_bound"), options.get("upper_bound")
    low = float(np.min(x)) if low is None else float(low)
    high = float(np.max(x)) if high is None else float(high)
    whole = bool(options.get("include_intercept", False))
    df, knots = options.get("df"), options.get("knots")
    if knots is None:
        df = 1 + whole if df is None else df
        if type(df) is not int or df < 1 + whole:
            raise ValueError(f"df must be a whole number of at least {1 + whole}, not {df!r}")
        between = x[(x >= low) & (x <= high)]
        shares = np.linspace(0.0, 1.0, df - whole + 1)[1:-1]
        knots = np.quantile(between, shares) if shares.size else []
    inner = [float(v) for v in knots]
    if not all(a < b for a, b in zip([low, *inner], [*inner, high], strict=True)):
        raise ValueError(
            "its knots must increase, between the bounds; the column takes too few values for so "
            "many, or knots= lie outside"
        )
    state = {"lower_bound": low, "upper_bound": high, "knots": inner}
    splines = _splines(state)
    curved, slopes = (splines.derivative(order)(np.array([low, high])) for order in (2, 1))
    kept = slice(0 if whole else 1, None)
    complement = np.linalg.qr(curved[:, kept].T, mode="complete")[0][:, 2:]
    combinations = np.zeros((curved.shape[1], complement.shape[1]))
    combinations[kept] = complement
    return {
        **state,
        "complement": combinations.tolist(),
        "slopes": (slopes @ combinations).tolist(),
    }


def apply_natural(x: Array, state: Mapping[str, Any]) -> list[Array]:
    """The columns of ns() at finite ``x``, every row by itself; beyond the bounds straight lines."""
    low, high = float(state["lower_bound"]), float(state["upper_bound"])
    inside = np.clip(x, low, high)
    columns = combinations_of(list(_splines(state)(inside).T), state["complement"])
    below, above = np.minimum(x - low, 0.0), np.maximum(x - high, 0.0)
    first, last = state["slopes"]
    return [
        values + below * a + above * b for values, a, b in zip(columns, first, last, strict=True)
    ]


def combinations_of(columns: Sequence[Array], weights: Sequence[Sequence[float]]) -> list[Array]:
    """Weighted sums of columns, one for each column of ``weights``.

    One after the other: a matrix product may give a row other last bits in a block of another shape.
    """
    sums = []
    for of_one in np.transpose(weights):
        total = columns[0] * of_one[0]
        for values, weight in zip(columns[1:], of_one[1:], strict=True):
            total = total + values * weight
        sums.append(total)
    return sums


def _splines(state: Mapping[str, Any]) -> Any:
    """All cubic B-splines of these knots."""
    from scipy.interpolate import BSpline  # takes a while to load

    knots = [state["lower_bound"]] * 4 + [*state["knots"]] + [state["upper_bound"]] * 4
    return BSpline(np.array(knots), np.eye(len(knots) - 4), 3)
