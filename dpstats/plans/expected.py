"""What public data let a plan expect: populations, coefficients, residuals, errors without privacy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpstats.arrays import Floats
from dpstats.errors import ArgumentError
from dpstats.frame import PublicMoments
from dpstats.models.glm.estimate import unbiased_fit
from dpstats.models.glm.family import Family
from dpstats.models.glm.public import public_start
from dpstats.numerics.matrices import equilibrated_inverse, equilibrated_whitening
from dpstats.numerics.public_rows import PublicRows
from dpstats.plans.asked import checked_sigma
from dpstats.plans.population import (
    DrawnRows,
    Law,
    NormalRows,
    Population,
    anchor_error,
    laws_of_counts,
    normal_law,
    ratio_law,
    robust_ratio,
    with_full_residuals,
)
from dpstats.public_input import public_rows


def linear_population(
    moments: PublicMoments, public: Any, coef: Floats, sigma: float, residuals: bool
) -> Population:
    """``residuals``: whether the public rows have some, which then stand for errors.

    Public moments without a response: the linear predictor is taken to be as large as the errors.
    """
    unsure = None
    if moments.cross is not None:
        unsure = anchor_error(moments.gram, sigma, moments.m)
    if isinstance(public, PublicMoments):
        if moments.cross is None:
            root = np.linalg.cholesky(moments.gram)
            coef = np.linalg.solve(root.T, np.full(len(root), sigma / math.sqrt(len(root))))
        return NormalRows(moments.gram, moments.design.constant, coef, normal_law(sigma), unsure)
    rows = public_rows(moments.design, public)
    law: Law | None = normal_law(sigma)
    centre = None
    if residuals:
        rows, law = with_full_residuals(rows, coef, sigma), None
        centre = rows.x @ coef + rows.offset
    design = moments.design
    return DrawnRows(
        rows, coef, law, design.weights is not None, bool(design.offsets), unsure, centre
    )


def expected_coef(family: Family, moments: PublicMoments, known: PublicRows | None) -> Floats:
    """Coefficients of the public data; a fit itself begins at more careful ones."""
    start = public_start(family, moments, known)
    if known is None or not family.binary:
        return start.coef
    return unbiased_fit(family, known, equilibrated_whitening(moments.gram), start.coef)


def family_population(
    family: Family,
    moments: PublicMoments,
    known: PublicRows | None,
    coef: Floats,
    pearson: float,
) -> Population:
    """Responses of a binomial family are drawn anew: public rows may be separated, private ones hardly.

    Those of skewed families are drawn from the ratios to their means, as long as their tails are. Those
    of weighted rows, whose ratios differ with the weight, and of other families come with their rows.
    """
    design = moments.design
    laws = laws_of_counts(family)
    if known is not None:
        law, unsure, centre, weighted = None, None, None, design.weights is not None
        fitted = known.x @ coef + known.offset
        if family.name == "binomial":
            law = laws["binomial"]
            unsure = anchor_error(known.information(family, coef), 1.0, moments.m)
        elif family.skewed and not weighted:
            law = ratio_law(family, known, coef)
            unsure = anchor_error(known.information(family, coef), math.sqrt(pearson), moments.m)
        elif not family.binary:
            centre = np.zeros(len(known.y)) if family.skewed else fitted
        return DrawnRows(known, coef, law, weighted, bool(design.offsets), unsure, centre)
    if moments.cross is None or family.name not in laws:
        raise ArgumentError(
            f"plan_glm needs public rows for the {family} family, with the response: public=frame."
            if family.name not in laws
            else "plan_glm needs public data with the response: rows, or public_moments('y ~ x', frame)."
        )
    return NormalRows(moments.gram, moments.design.constant, coef, laws[family.name])


def drawn_rows(population: Population) -> PublicRows:
    """Rows of a population, many enough to stand for it."""
    drawn = population.rows(20_000, np.random.default_rng(1))
    zero, one = np.zeros(len(drawn.y)), np.ones(len(drawn.y))
    return PublicRows(drawn.x, drawn.y, zero, one)


def residual_sd(sigma: float | None, residual: float | None, moments: PublicMoments) -> float:
    if sigma is not None:
        return checked_sigma(sigma)
    if residual is None:
        why = (
            "the public data have no response"
            if moments.cross is None
            else f"the {moments.m} public rows leave no residuals to {len(moments.terms)} columns"
        )
        raise ArgumentError(
            f"{why}: give the size of residuals, sigma=..., in units of the response."
        )
    return residual


def rarer_outcomes(family: Family, known: PublicRows | None) -> int | None:
    """Rows with the rarer of two outcomes."""
    if known is None or not family.binary or not np.isin(known.y, (0.0, 1.0)).all():
        return None
    return int(min(known.y.sum(), (1 - known.y).sum()))


def variances_without_privacy(matrix: Floats, ridge: float, scale: float) -> Floats:
    """Variances scale (H^-1 matrix H^-1)_jj of one row without privacy, H = matrix + ridge."""
    inverse = equilibrated_inverse(matrix + ridge * np.eye(len(matrix)))
    spread = inverse @ matrix @ inverse if ridge else inverse
    return scale * np.diag(spread)


def robust_at_ridge(
    known: PublicRows,
    scores: Floats,
    weight: Floats,
    matrix: Floats,
    ridge: float,
    dispersed: bool = True,
) -> Floats:
    """`robust_ratio` at the inverse that a fit with a ridge has."""
    inverse = equilibrated_inverse(matrix + ridge * np.eye(len(matrix)))
    return robust_ratio(known, scores, weight, inverse, dispersed)
