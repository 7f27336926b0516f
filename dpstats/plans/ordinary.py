"""Ordinary columns: simulated rows for a plan of somebody who has a formula and a number of rows.

Numbers are normal and mildly correlated, levels of a category equally frequent, and the response as far
from its mean as in many tables. None of it is known of the private rows: the page of the plan says so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import scipy

from dpstats.arguments import as_int, computable, mapping, shown
from dpstats.arrays import Floats
from dpstats.errors import ArgumentError
from dpstats.frame import (
    Design,
    PublicMoments,
    boxed,
    declare_design,
    formula_columns,
    public_moments,
)
from dpstats.frame.schema import nearest
from dpstats.models.glm.dp_glm import check_response
from dpstats.models.glm.family import Family
from dpstats.numerics.public_rows import PublicRows
from dpstats.plans.asked import checked_sigma
from dpstats.plans.population import DrawnRows, Law, laws_of_counts, normal_law
from dpstats.public_input import require_written_response

_ROWS = 20_000
_CORRELATION = 0.3
_R_SQUARED = 0.3
_SPREAD = {"binomial": 1.0, "poisson": 0.5, "gamma": 0.5}
"""Standard deviation of the linear predictor."""
_MOST_COLUMNS = 500


@dataclass(frozen=True, eq=False)
class Ordinary:
    """Rows that stand for ordinary ones.

    Attributes
    ----------
    formula : str
        With a response that is a number, whatever it is computed from.
    design : Design
        As a fit of private rows alone binds it.
    table : pandas.DataFrame
        The rows, with their response.
    levels : mapping
        Of categories.
    moments : PublicMoments
        Of these rows, as if they were all rows there are.
    population : DrawnRows
    note : str
        What was assumed.
    """

    formula: str
    design: Design
    table: pd.DataFrame
    levels: Mapping[str, Any]
    moments: PublicMoments
    population: DrawnRows
    note: str

    def sample(self, m: int, seed: int) -> pd.DataFrame:
        """So many of the rows, as a public sample."""
        some = np.random.default_rng([seed, 29]).choice(_ROWS, m, replace=False)
        return self.table.iloc[some].reset_index(drop=True)


def ordinary_rows(
    formula: Any,
    family: Family,
    limits: Mapping[str, Any] | None,
    d: Any,
    sigma: float | None,
    mean: float | None,
) -> Ordinary:
    """Rows with the columns of a formula, or with ``d`` columns, and responses of a family."""
    limits = mapping("limits", limits)
    text, schema, positive = _columns(formula, limits, d)
    left = formula.partition("~")[0]
    for name in limits:
        # limits of other columns do nothing, as in a fit; but one may be misspelt
        if d is None and name not in schema and str(name) not in left:
            meant = nearest(str(name), [one for one in schema if one not in limits])
            if meant is not None:
                raise ArgumentError(
                    f"limits[{name!r}] has no effect: '{formula}' has no such column; did you mean "
                    f"{meant!r}?"
                )
    generator = np.random.default_rng(7)
    response = text.partition("~")[0].strip()
    design = declare_design(text, {**schema, response: float})
    design = boxed(design, schema)
    check_response(design, family)
    table = _drawn(schema, positive, generator)
    with np.errstate(all="ignore"):
        x, offset = design.matrix(table)
    if not (np.isfinite(x).all() and np.isfinite(offset).all()):
        raise ArgumentError(
            f"'{formula}' has no value on some ordinary rows: give the number of its columns, d=..., "
            "or limits of the numbers, limits={'x': (1, 10)}."
        )
    law, spread, level, response_note = _law(family, sigma, mean)
    coef = _coef(x, spread, level, family)
    y = law(x @ coef + offset, None, generator)
    table[response] = y
    levels = {k: v for k, v in schema.items() if isinstance(v, list)}
    moments = public_moments(text, table, limits=levels)
    moments.require_full_rank()
    known = PublicRows(x, y, offset, np.ones(_ROWS))
    population = DrawnRows(known, coef, law, False, bool(design.offsets))
    note = (
        "No public rows: the plan rests on simulated rows with ordinary columns. Numbers are "
        "standard normal, with correlations of 0.3 (those with limits lie about their middle, "
        "with a quarter of the range as standard deviation, those with limits (0, 1) are zeros and ones "
        "of equal shares, and errors of both are per unit); "
        f"declared levels have equal shares; {response_note} Long tails and rare levels cost more. No "
        "private row was read, and nothing was spent."
    )
    return Ordinary(text, design, table, levels, replace(moments, m=None), population, note)


def _columns(
    formula: Any, limits: Mapping[str, Any], d: Any
) -> tuple[str, dict[str, Any], frozenset[str]]:
    """The formula with a plain response, what its columns are, and those that are positive."""
    left, tilde, right = formula.partition("~")
    response = left.strip() if left.strip().isidentifier() else "response"
    require_written_response(left.strip() if tilde else None)
    if d is not None:
        size = as_int(d, 1)
        if size is None or size > _MOST_COLUMNS:
            raise ArgumentError(
                f"d must be the number of columns, the constant among them, from 1 to "
                f"{_MOST_COLUMNS}, such as d=5, not {shown(d)}."
            )
        names = [f"column{j}" for j in range(1, size)]
        return f"{response} ~ {' + '.join(names) or '1'}", dict.fromkeys(names, float), frozenset()
    text = f"{response} ~{right}"
    if right.strip() == ".":
        raise ArgumentError(
            f"'{formula}' names no columns: give their number, constant included, d=..., or name "
            "them."
        )
    found = formula_columns(text)
    return (
        text,
        {name: limits.get(name, float) for name in found if name != response},
        frozenset(name for name, logged in found.items() if logged),
    )


def _drawn(
    schema: Mapping[str, Any], positive: frozenset[str], generator: np.random.Generator
) -> pd.DataFrame:
    common = generator.normal(size=_ROWS)
    columns: dict[str, Any] = {}
    for name, kind in schema.items():
        if isinstance(kind, list):
            codes = generator.integers(len(kind), size=_ROWS)
            numbers = all(isinstance(v, int | float) for v in kind)
            values = np.array(kind) if numbers else np.array(kind, dtype=object)
            columns[name] = values[codes]
        elif kind is bool:
            columns[name] = generator.integers(2, size=_ROWS) == 1
        else:
            own = generator.normal(size=_ROWS)
            z = math.sqrt(_CORRELATION) * common + math.sqrt(1 - _CORRELATION) * own
            if kind == (0, 1):  # a mark, as in a fit
                columns[name] = (z > 0).astype(float)
            elif isinstance(kind, tuple):
                low, high = float(kind[0]), float(kind[1])
                columns[name] = np.clip((low + high) / 2 + (high - low) / 4 * z, low, high)
            else:
                columns[name] = np.exp(z) if name in positive else z
    return pd.DataFrame(columns, index=range(_ROWS))


def _law(family: Family, sigma: float | None, mean: float | None) -> tuple[Law, float, float, str]:
    """How responses fall, the spread of the linear predictor, its level, and a note on it."""
    if family.name == "gaussian":
        size = 1.0 if sigma is None else checked_sigma(sigma)
        unit = (
            "in standard deviations of the residual"
            if sigma is None
            else "in units of the response"
        )
        spread = size * math.sqrt(_R_SQUARED / (1 - _R_SQUARED))
        return (
            normal_law(size),
            spread,
            0.0,
            "the response is normal, with an R^2 of 0.3. Errors are per standard deviation of the "
            f"column, {unit}.",
        )
    if family.name not in _SPREAD:
        raise ArgumentError(
            f"without public rows a plan is made for binomial, poisson, gamma and gaussian models, not "
            f"for {family}: give public=frame, with the response."
        )
    level = (0.5 if family.binary else 1.0) if mean is None else computable(mean)
    if level is None or (family.binary and not level < 1):
        raise ArgumentError(
            "mean must be the expected mean of the response, "
            + ("between 0 and 1, such as mean=0.1" if family.binary else "> 0, such as mean=2")
            + f", not {shown(mean)}."
        )
    spread = _SPREAD[family.name]
    laws = laws_of_counts(family) | {"gamma": _exponential_law(family)}
    kind = "exponential (a gamma of dispersion 1)" if family.name == "gamma" else family.name
    return (
        laws[family.name],
        spread,
        level,
        f"the response is {kind} with a mean of {level:g}, and its linear predictor has a standard "
        f"deviation of {spread:g}. Errors are per standard deviation of the column, on the scale of "
        "the linear predictor.",
    )


def _exponential_law(family: Family) -> Law:
    def draw(predictor: Floats, weight: Floats | None, generator: np.random.Generator) -> Floats:
        drawn = family.mean(predictor) * generator.exponential(size=len(predictor))
        return np.asarray(np.maximum(drawn, 1e-30))

    return draw


def _coef(x: Floats, spread: float, level: float, family: Family) -> Floats:
    """Every column says as much as any other; the mean response is the level."""
    sizes = x.std(axis=0)
    moving = sizes > 1e-9 * np.abs(x).max(axis=0)
    total = ((x - x.mean(axis=0))[:, moving] / sizes[moving]).sum(axis=1)
    signal = total * (spread / total.std()) if moving.any() and total.std() > 0 else 0 * x[:, 0]
    constant = 0.0
    if family.name != "gaussian":
        guess = family.predictor(level)
        constant = scipy.optimize.brentq(
            lambda b: float(family.mean(b + signal).mean()) - level, guess - 9, guess + 9
        )
    return np.asarray(np.linalg.lstsq(x, signal + constant, rcond=None)[0])
