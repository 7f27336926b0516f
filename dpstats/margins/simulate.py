"""Rows drawn from a fitted model: for power and for teaching; from released numbers alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from dpstats.arguments import as_int, check_seed, listed, shown
from dpstats.arrays import Floats
from dpstats.errors import ArgumentError, NotReleasedError
from dpstats.frame import Design, design_matrix, new_rows

_BACK: dict[str, Callable[[Floats], Floats]] = {
    "log": np.exp,
    "log1p": np.expm1,
    "log2": np.exp2,
    "log10": lambda y: np.power(10.0, y),
    "sqrt": np.square,
    "asinh": np.sinh,
}
"""What undoes a function of one column on the left-hand side."""


def drawn(
    family: str, mean: Floats, dispersion: float, alpha: float | None, seed: int | None
) -> Floats:
    """Responses of these means.

    Counts and shares that vary more than their law are drawn as mixtures of it: of a gamma law, and of
    whole groups.
    """
    generator = np.random.default_rng(seed)
    name = family.removeprefix("quasi")
    if name == "binomial":
        return (generator.random(len(mean)) < mean).astype(float)
    if name == "poisson" and dispersion <= 1 + 1e-9:
        return generator.poisson(mean).astype(float)
    if name == "poisson":  # variance of the mean times the dispersion
        rate = generator.gamma(mean / (dispersion - 1), dispersion - 1)
        return generator.poisson(rate).astype(float)
    if name == "negative binomial":
        assert alpha is not None
        return generator.poisson(generator.gamma(1 / alpha, alpha * mean)).astype(float)
    if name == "gamma":
        return generator.gamma(1 / dispersion, dispersion * mean)
    return mean + math.sqrt(dispersion) * generator.normal(size=len(mean))


def simulated(
    design: Design,
    coef: Floats,
    mean: Callable[[Floats], Floats],
    law: tuple[str, float, float | None],
    n: Any,
    newdata: Any,
    seed: int | None,
) -> pd.DataFrame:
    """Rows of ``newdata``, or n of them drawn with replacement, with responses of the model."""
    size = None if n is None else as_int(n, 1)
    if n is not None and size is None:
        raise ArgumentError(f"n must be the number of rows to draw, 1 or more, not {shown(n)}.")
    check_seed(seed)
    family, dispersion, alpha = law
    if math.isnan(dispersion):
        raise NotReleasedError("responses cannot be drawn: noise hides the variance of the errors.")
    needed = design.columns_for(("offset",))
    if newdata is None and needed:
        raise ArgumentError(
            f"a fit holds no rows, and responses need {listed(needed)}: simulate(n, newdata=rows), with "
            "public rows or others that you may show."
        )
    rows = pd.DataFrame(index=range(size or 1)) if newdata is None else new_rows(newdata)
    if newdata is not None and size is not None:
        first = np.random.SeedSequence(seed).spawn(1)[0] if seed is not None else None
        at = np.random.default_rng(first).integers(len(rows), size=size)
        rows = rows.iloc[at].reset_index(drop=True)
    if newdata is None:
        eta = np.full(len(rows), float(coef.sum()))
    else:
        x, offset = design_matrix(design, rows)
        eta = x @ coef + offset
    usable = np.isfinite(eta)
    y = np.full(len(rows), math.nan)
    y[usable] = drawn(family, np.asarray(mean(eta[usable])), dispersion, alpha, seed)
    name, values = _response(design, y)
    rows = rows.copy()
    rows[name] = values
    return rows


def _response(design: Design, y: Floats) -> tuple[str, Any]:
    """The column that the left-hand side reads, where its function can be undone; else itself."""
    expr, levels = design.response_factor, design.response_levels
    name = design.response or "response"
    if levels:
        values = pd.Series(np.where(np.isnan(y), None, np.array(levels, dtype=object)[(y > 0) * 1]))
        return name, values.infer_objects()
    if (
        expr is not None
        and expr.op in _BACK
        and len(expr.args) == 1
        and expr.args[0].op == "column"
    ):
        return str(expr.args[0].value), _BACK[expr.op](y)
    return name, y
