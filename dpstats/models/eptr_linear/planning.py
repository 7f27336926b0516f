"""Public planning of a least-squares release, and what its standard errors are made of.

Rows are whitened by the public second moment and responses are less the public fit, so that the private
solution t is a correction to it. Rows are cut to length R together with their response, responses to
B: what the cuts cost, and what the noise will cost, is read off public rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from dpstats.arrays import Floats

_LENGTHS = (0.1, 0.25, 0.5, 0.75, 0.9, 0.97, 1.0)
_RESPONSES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 1.0)


@dataclass(frozen=True)
class CutPlan:
    """A pair of cuts, and what is expected of the cut rows; in whitened coordinates.

    Attributes
    ----------
    radius, response : float
        R and B.
    slope : float
        Share of a change of the coefficients that cut responses still follow: estimates are divided
        by it.
    smallest : float
        lambda_min of the mean second moment of the cut rows.
    sampling : (d, d) array
        Covariance of the solution times n, after the division: that of its residuals, raised where
        errors of one variance would make it larger.
    lost : float
        Squared bias from cutting responses, after the division, less what these rows would show of it
        by chance.
    """

    radius: float
    response: float
    slope: float
    smallest: float
    sampling: Floats
    lost: float


def cut_at(z: Floats, residual: Floats, radius: float, response: float) -> CutPlan:
    """The consequences of one pair of cuts, from public rows."""
    m, d = z.shape
    length = np.linalg.norm(z, axis=1)
    factor = np.minimum(1.0, radius / np.where(length > 0, length, 1.0))
    cut = z * factor[:, None]
    scaled = residual * factor
    kept = np.clip(scaled, -response, response)
    gram = cut.T @ cut / m
    inside = np.abs(scaled) < response
    trace = float((cut**2).sum())
    slope = max(float((cut[inside] ** 2).sum()) / trace, 0.05) if trace > 0 else 1.0
    inverse = np.linalg.inv(gram + 1e-9 * np.trace(gram) / d * np.eye(d))
    spread = (cut * (kept**2)[:, None]).T @ cut / max(m - d, 1)
    sampling = inverse @ spread @ inverse / slope**2
    # what rows cut to these lengths lose where errors are alike, and responses cut like these
    alike = inverse @ ((cut * (factor**2)[:, None]).T @ cut / m) @ inverse
    size = float((scaled**2).sum())
    tail = max(float((kept**2).sum()) / size / slope**2, 1.0) if size > 0 else 1.0
    plain = tail * float(residual @ residual) / max(m - d, 1) * float(np.trace(alike))
    sampling = sampling * max(plain / float(np.trace(sampling)), 1.0) if size > 0 else sampling
    off = kept - scaled
    bias = inverse @ (cut.T @ off) / m / slope
    chance = inverse @ ((cut * (off**2)[:, None]).T @ cut) @ inverse / (m * slope) ** 2
    lost = max(float(bias @ bias) - float(np.trace(chance)), 0.0)
    smallest = float(np.linalg.eigvalsh(gram)[0])
    return CutPlan(radius, response, slope, smallest, sampling, lost)


def choose_cuts(
    z: Floats,
    residual: Floats,
    n: int,
    noise: Callable[[float, float, float], float],
) -> CutPlan:
    """The pair of cuts with the smallest expected squared error, sampling, bias and noise together.

    Parameters
    ----------
    z : (m, d) array
        Public rows, whitened.
    residual : (m,) array
        Of the public fit.
    n : int
        Private rows.
    noise : callable
        Noise sd of a coefficient at (R, B, lambda_min of the mean second moment).

    Notes
    -----
    The bias that public rows show has a sampling error of its own, which is taken off its square. The
    slope has one, too: the share (1 - slope) / (slope m) of the squared distance that is divided by it.
    No cut is credited with a sampling error below that of uncut rows: on few public rows the smallest
    of many estimated variances is too small. Cuts that leave a singular design are not considered.
    """
    m, d = z.shape
    length = np.linalg.norm(z, axis=1)
    uncut = cut_at(z, residual, float(length.max()), max(float(np.abs(residual).max()), 1e-300))
    best, least = None, math.inf
    for radius in dict.fromkeys(np.quantile(length, _LENGTHS)):
        if not radius > 0:
            continue
        scaled = np.abs(residual) * np.minimum(1.0, radius / np.where(length > 0, length, 1.0))
        for response in dict.fromkeys(np.quantile(scaled, _RESPONSES)):
            if not response > 0:
                continue
            plan = cut_at(z, residual, float(radius), float(response))
            if not plan.smallest > 1e-6:
                continue
            sd = noise(plan.radius, plan.response, plan.smallest) / plan.slope
            plan = _no_better(plan, uncut)
            error = float(np.trace(plan.sampling)) / n + plan.lost + d * sd**2
            error += (1 - plan.slope) / (plan.slope * m) * float(np.trace(uncut.sampling)) / m
            if error < least:
                best, least = plan, error
    return uncut if best is None else best


def _no_better(plan: CutPlan, uncut: CutPlan) -> CutPlan:
    """The plan with a sampling covariance at least as large, in trace, as that of uncut rows."""
    ratio = float(np.trace(uncut.sampling)) / float(np.trace(plan.sampling))
    return replace(plan, sampling=plan.sampling * max(ratio, 1.0))


def eigenvalue_share(z: float, count: float, mu: float) -> float:
    """Share of mu^2 for the private eigenvalue, given its guess in rows and the quantile z.

    The noise of the solution grows like 1 / (1 - z / (count mu sqrt(share))) / sqrt(1 - share): smallest
    near (z / (count mu))^(2/3).
    """
    return float(min(max((z / (count * mu)) ** (2 / 3), 0.01), 0.5))
