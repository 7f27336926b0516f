"""Whether a model says what a larger one can say too: a line and a spline, a term and its products."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from dpstats.arrays import Floats
from dpstats.errors import DPStatsError
from dpstats.frame import Design, design_matrix
from dpstats.frame.design import ColumnSpec

_ROWS, _EACH = 400, 12
"""Made-up rows that are computed at least, and for each column of both models."""
_CLOSE = 1e-7
"""Relative distance from which a column is not a sum of others."""
_BREAKS = ("lower_bound", "upper_bound", "knots", "center", "alpha")
_PRIMES = 2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47
_NUMBER = re.compile(r"(?<![\w.])\d+\.?\d*(?:e[+-]?\d+)?(?![\w.])")


def restrictions(small: Design, large: Design) -> Floats | None:
    """R (k, d) for which R b = 0 makes the large model the small one; None where it is not within it.

    Columns of the small model are sums of those of the large one, X A, for rows of any values: it has
    the coefficients b = A c, and R is what is orthogonal to A. Asked of made-up rows, with values
    between and about all the numbers at which a function bends.
    """
    columns = dict.fromkeys([*large.columns_for(("offset",)), *small.columns_for(("offset",))])
    specs = {**small.columns, **large.columns}
    d = len(large.terms)
    n = _ROWS + _EACH * (d + len(small.terms))
    rows = pd.DataFrame(
        {
            name: _values(_spread_out(n, k), name, specs[name], (small, large))
            for k, name in enumerate(columns)
        }
    )
    try:
        x, offset = design_matrix(large, rows)
        z, other = design_matrix(small, rows)
    except DPStatsError:
        return None
    used = np.isfinite(x).all(axis=1) & np.isfinite(z).all(axis=1)
    if used.sum() < n / 2 or not np.array_equal(offset[used], other[used]):
        return None
    x, z = x[used], z[used]
    x, size = x / np.linalg.norm(x, axis=0), np.linalg.norm(x, axis=0)
    z = z / np.linalg.norm(z, axis=0)
    sums = np.linalg.lstsq(x, z, rcond=None)[0]
    if not np.linalg.norm(x @ sums - z, axis=0).max(initial=0.0) < _CLOSE:
        return None
    vectors, values, _ = np.linalg.svd(sums)
    rank = int((values > _CLOSE * values.max(initial=0.0)).sum())
    return np.asarray(vectors[:, rank:].T * size) if rank < d else None


def _spread_out(n: int, k: int) -> Floats:
    """Numbers between 0 and 1 that have nothing to do with those of another k: multiples of a root."""
    root = math.sqrt(_PRIMES[k % len(_PRIMES)] + k // len(_PRIMES) * _PRIMES[-1])
    return np.asarray(np.arange(1, n + 1) * root % 1.0)


def _values(at: Floats, name: str, spec: ColumnSpec, designs: tuple[Design, ...]) -> Any:
    """Made-up values of a column: of its levels, or between the numbers at which functions bend.

    ``at``: where, between the first and the last.
    """
    if spec.levels is not None:
        return pd.Series([spec.levels[int(len(spec.levels) * one)] for one in at])
    breaks = sorted({number for design in designs for number in _breaks(design, name)})
    if len(breaks) < 2:
        middle = breaks[0] if breaks else 2.0
        reach = abs(middle) / 2 + 0.5
        breaks = [middle - reach, middle + reach]
    return np.interp(at, np.linspace(0, 1, len(breaks)), breaks)


def _breaks(design: Design, name: str) -> Iterator[float]:
    """Numbers in the calls that read a column, and in what these have learnt."""
    if name in design.boxes:
        yield from map(float, design.boxes[name])
    for text, factor in design.factors.items():
        if name not in factor.expr.columns or text == name:
            continue
        state = design.states.get(factor.expr.text, {})
        if "knots" not in state:  # numbers of a spline beside its knots are options
            yield from map(float, _NUMBER.findall(text))
        for key in _BREAKS:
            found = np.ravel(state.get(key, ()))
            yield from (float(one) for one in found[: 1 if key == "alpha" else None])
