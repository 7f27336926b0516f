"""Cuts of rows, responses and coefficients of a least-squares release, from public rows or limits.

Nothing here sees a private value.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpstats.arguments import positive
from dpstats.arrays import Floats
from dpstats.errors import ArgumentError, PublicDataError
from dpstats.frame import Design, PublicMoments
from dpstats.models.eptr_linear.planning import CutPlan, choose_cuts
from dpstats.models.eptr_linear.releases import CutLimits, diameter_with_floats
from dpstats.models.linear.dp_lm import check_response
from dpstats.numerics.matrices import Whitening, equilibrated_whitening
from dpstats.public_input import declared, public_rows, resolve_public
from dpstats.score_rounds.estimate import Estimate

_REACH = 3.0  # public standard errors that the private coefficients may be away


@dataclass(frozen=True)
class Geometry:
    """Coordinates and cuts of a call; public.

    Attributes
    ----------
    whitening : Whitening
    centre : (d,) array
        Coefficients in the user's units that are taken off the responses before they are cut.
    limits : CutLimits
    cuts : CutPlan or None
        The cuts and their consequences on public rows; None without them.
    sigma : float or None
        Public residual standard deviation.
    smallest : float or None
        Expected lambda_min of the mean second moment of cut, whitened rows.
    answer : Estimate or None
        The public fit, which stands in for "no reply".
    m : int or None
        Public rows.
    """

    whitening: Whitening
    centre: Floats
    limits: CutLimits
    cuts: CutPlan | None
    sigma: float | None
    smallest: float | None
    answer: Estimate | None
    m: int | None = None

    @property
    def slope(self) -> float:
        """Share of a change of the coefficients that cut responses still follow."""
        return 1.0 if self.cuts is None else self.cuts.slope

    @property
    def inflation(self) -> float:
        """Factor on the sampling variance for what few public rows leave unknown."""
        return 1.0 if self.m is None else 1 + 4 * len(self.centre) / self.m

    @property
    def few(self) -> bool:
        """Whether public rows are too few for standard errors."""
        return self.m is not None and self.m < 6 * len(self.centre)


def find_moments(
    formula: str, public: Any, limits: Mapping[str, Any] | None
) -> PublicMoments | None:
    """Public moments of the formula, and its design; None without public rows."""
    if public is None:
        return None
    if isinstance(public, PublicMoments):
        raise PublicDataError(
            "eptr_lm takes its bounds from public rows; moments alone do not give them. Pass the "
            "public table, or use dp_lm, which can work from moments."
        )
    moments = resolve_public(formula, public, None, None, limits, takes_moments=False)
    check_response(moments.design)
    moments.require_full_rank(ridge=False)
    return moments


def public_geometry(
    moments: PublicMoments,
    public: Any,
    method: str,
    mu: float,
    n: int,
) -> Geometry:
    """Coordinates and cuts from public rows, for ``n`` private ones at ``mu``."""
    rows = public_rows(moments.design, public)
    m, d = rows.x.shape
    if m < d + 2:
        raise PublicDataError(
            f"{m} usable public rows cannot bound a fit of {d} columns: give at least {d + 2}, better "
            f"{10 * d}; or declare limits."
        )
    y = rows.y - rows.offset
    whitening = equilibrated_whitening(moments.gram)
    z = rows.x @ whitening.back
    fit, *_ = np.linalg.lstsq(z, y, rcond=None)
    residual = y - z @ fit
    sigma = math.sqrt(float(residual @ residual) / (m - d))
    size = math.sqrt(float(y @ y) / m)
    if not size > 1e-140:
        raise PublicDataError(
            "the public response is zero in every row, or too small to square: give rows with "
            "other responses, or change its unit."
        )
    sigma = max(sigma, 1e-9 * size)
    covariance = sigma**2 / m * whitening.back @ whitening.back.T
    answer = plain_estimate(whitening.back @ fit, covariance, sigma, moments.gram, whitening, m)
    spread = sigma * math.sqrt(d / m)
    if method == "paper":
        identity = Whitening(np.eye(d), np.eye(d))
        radius = float(np.quantile(np.linalg.norm(rows.x, axis=1), 0.98))
        coef = float(np.linalg.norm(answer.coef)) + 2 * math.sqrt(float(np.trace(covariance)))
        smallest = float(np.linalg.eigvalsh(moments.gram)[0])
        limits = CutLimits(radius, radius * coef, coef)
        return Geometry(identity, np.zeros(d), limits, None, sigma, smallest, answer)
    reach = _REACH * spread

    def noise(radius: float, response: float, smallest: float) -> float:
        limit = CutLimits(radius, response, reach)
        if method == "adassp":
            return 2 * radius * response / (n * smallest * mu)
        return diameter_with_floats(n, d, limit) / (0.75 * n * smallest * mu)

    cuts = choose_cuts(z, residual, n, noise)
    limits = CutLimits(cuts.radius, cuts.response, reach)
    # a sample whitened by itself is rounder than its population: the smallest eigenvalue there is
    # that of Marchenko and Pastur
    smallest = cuts.smallest / (1 + math.sqrt(d / m)) ** 2
    return Geometry(whitening, whitening.back @ fit, limits, cuts, sigma, smallest, answer, m)


def declared_geometry(
    formula: str, limits: Mapping[str, Any], method: str, target: float | None
) -> tuple[Design, Geometry]:
    """The design, and coordinates and cuts, of declared limits."""
    if "(coef)" not in limits:
        raise ArgumentError(
            "eptr_lm without public rows needs limits['(coef)'], a bound on the length of the "
            "coefficient vector, declared without looking at the data; it is never estimated from "
            "private rows."
        )
    coef = positive("limits['(coef)']", limits["(coef)"])
    if method in ("ptr", "paper") and target is None:
        raise ArgumentError(
            f"method='{method}' without public rows needs target=, the smallest eigenvalue of X'X / n "
            "that the data are expected to have; method='adaptive' needs none."
        )
    design, columns, response, norm = declared(formula, None, None, without_coef(limits))
    d = len(columns)
    if method == "paper":
        radius = float(np.linalg.norm(columns)) if norm is None else float(norm)
        plain = Whitening(np.eye(d), np.eye(d))
        limit = CutLimits(radius, radius * coef, coef)
        return design, Geometry(plain, np.zeros(d), limit, None, None, target, None)
    width = columns if norm is None else np.full(d, float(norm))
    radius = math.sqrt(d) if norm is None else 1.0
    whitening = Whitening(np.diag(1 / width), np.diag(width))
    limit = CutLimits(radius, response, coef * float(width.max()))
    # eigenvalues of rows divided by their limits are at least those of plain rows over width^2
    smallest = None if target is None else target / float(width.max()) ** 2
    return design, Geometry(whitening, np.zeros(d), limit, None, None, smallest, None)


def plain_estimate(
    coef: Floats, covariance: Floats, sigma: float, gram: Floats, whitening: Whitening, m: int
) -> Estimate:
    return Estimate(
        coef, covariance, np.zeros_like(covariance), sigma**2, gram, whitening.root, 0.0, m, 0.0
    )


def without_coef(limits: Mapping[str, Any] | None) -> dict[str, Any]:
    return {name: value for name, value in (limits or {}).items() if name != "(coef)"}
