"""Error bounds for a private mean whose covariance is known."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy

from dpstats.models.gaussian.bounds import DISTANCE, MEAN, PAPERS_DISTANCE, one_law
from dpstats.models.gaussian.rates import THEOREM_2_3, Setting
from dpstats.report.bound import Bound, Premise

_KNOWN = Premise("rows Gaussian with the stated covariance", None)
_FAR = 1e5  # squared shift beyond which a noncentral chi is normal


@dataclass(frozen=True)
class MeanFacts(Setting):
    """Numbers behind the bounds for a mean with a known covariance.

    ``sd``: noise of the mean per whitened coordinate.
    """

    sd: float


def known_covariance_error(facts: MeanFacts) -> tuple[Bound, Bound]:
    """Mahalanobis and total variation error of a mean: eta/2 for itself, eta/2 that no row is cut."""
    n, d = facts.n, facts.d
    fail = facts.eta / 2
    if facts.pure:
        value = _pure_mean_radius(n, d, facts.sd, fail)
    else:
        value = math.sqrt((1 / n + facts.sd**2) * float(scipy.stats.chi2.isf(fail, d)))
    distance = float(2 * scipy.stats.norm.cdf(value / 2) - 1)
    premises = (_KNOWN, one_law(facts.gamma))
    return (
        Bound(MEAN, "Mahalanobis", value, 1 - facts.eta, "exact, chi-square", "bound", premises),
        Bound(DISTANCE, "total variation", distance, 1 - facts.eta, "exact", "bound", premises),
    )


def _pure_mean_radius(n: int, d: int, sd: float, fail: float) -> float:
    """Quantile of |sampling + noise|, the noise being d of the d+1 coordinates of a spherical vector.

    That vector's length is gamma-distributed with shape d+1, and the square of the share of it that d
    coordinates have is beta; given both, the squared length is noncentral chi-square.
    """
    nodes, weights = np.polynomial.legendre.leggauss(48)
    at = (nodes + 1) / 2
    lengths = scipy.stats.gamma.ppf(at, d + 1) * sd * math.sqrt(n / (d + 2))
    shares = scipy.stats.beta.ppf(at[::3], d / 2, 0.5)
    chances = np.outer(weights, weights[::3] / weights[::3].sum()) / 2
    shift2 = np.outer(lengths**2, shares)
    far = shift2 > _FAR
    middle = np.sqrt(shift2 + d - 1)

    def log_tail(root: float) -> float:
        near = scipy.stats.ncx2.sf(root**2, d, np.where(far, 1.0, shift2))
        tail = np.where(far, scipy.stats.norm.sf(root - middle), near)
        return math.log(max(float((chances * tail).sum()), 1e-300) / fail)

    most = float(scipy.stats.gamma.isf(fail / 1e4, d + 1)) * sd * math.sqrt(n / (d + 2))
    most += math.sqrt(float(scipy.stats.chi2.isf(fail / 1e4, d)))
    return float(scipy.optimize.brentq(log_tail, 0.0, most, rtol=1e-9)) / math.sqrt(n)


def papers_mean_rate(facts: MeanFacts) -> tuple[Bound, ...]:
    """Theorem 2.3, of zCDP; empty under pure privacy."""
    if facts.pure:
        return ()
    premises = (_KNOWN, Premise("1 public row or more", facts.m >= 1), one_law(facts.gamma))
    return (THEOREM_2_3.bound(PAPERS_DISTANCE, facts, *premises),)


def mean_bounds(facts: MeanFacts) -> tuple[Bound, ...]:
    """All bounds for a mean with a known covariance.

    Examples
    --------
    >>> bounds = mean_bounds(MeanFacts(10_000, 10, 1, 0.05, 0.5, None, 0.0, 0.002))
    >>> [round(b.value, 4) for b in bounds]
    [0.0462, 0.0184, 0.0399]
    """
    return (*known_covariance_error(facts), *papers_mean_rate(facts))
