"""How a budget is divided over one or two cut and noisy means, and where rows are cut."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import scipy

from dpstats.models.gaussian.cuts import NoiseLevel, longest
from dpstats.models.gaussian.public_range import mean_shift

_FIRST_SHARES = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
_FAR = 1e4  # radius beyond which the noncentral chi-square is not needed


@dataclass(frozen=True)
class MeanPlan:
    """One or two rounds of cut and noisy means of rows whose covariance is known to be I.

    Attributes
    ----------
    rounds : int
    share : float
        Of the first round; the second has the rest.
    cut1 : float
        Length at which the first round cuts.
    cut2 : float or None
        The same of the second round.
    sd : float
        Noise of the last round, per coordinate.
    """

    rounds: int
    share: float
    cut1: float
    cut2: float | None
    sd: float


def _cut_radius(centre: float, d: int, fail: float) -> float:
    """Length that N(delta, I), |delta| <= centre, exceeds with at most this probability."""
    apart = centre + math.sqrt(float(scipy.stats.chi2.isf(fail, d)))
    if centre > _FAR:
        return apart
    exact = math.sqrt(float(scipy.stats.ncx2.isf(fail, d, centre**2)))
    return min(exact, apart) if math.isfinite(exact) and exact > 0 else apart


def _mean_radius(sd: float, n: int, d: int, noise: NoiseLevel, fail: float) -> float:
    """Distance of a released mean that is exceeded with at most this probability."""
    if noise.rho is not None:
        return math.sqrt((1 / n + sd**2) * float(scipy.stats.chi2.isf(fail, d)))
    # d+1 coordinates of which one is a count; sd = (scale of the gamma law) sqrt(d + 2)
    length = float(scipy.stats.gamma.isf(fail / 2, d + 1)) * sd / math.sqrt(d + 2)
    return _cut_radius(length * math.sqrt(n), d, fail / 2) / math.sqrt(n)


@lru_cache(maxsize=256)
def plan_mean(
    n: int, d: int, m: int, noise: NoiseLevel, *, gamma: float = 0.0, eta: float = 0.05
) -> MeanPlan:
    """Rounds, shares and cuts for the mean of rows N(mu, I), the plan with the least noise.

    Rows are centred at the mean of m public ones. No row is cut but with probability eta/2, the rest
    being left for the error itself: |x - c|^2 is noncentral chi-square, the centre's error being nearly
    orthogonal to a row's. With one round the centre is too far, or a row is cut, with eta/4 each; with
    two, each of these with eta/8 in each round. A second round, centred at the first's result, lets
    the length fall from about sqrt(2d) to sqrt(d).

    Parameters
    ----------
    gamma : float
        Bound for the total variation distance of the public and the private law, of one covariance.

    Examples
    --------
    >>> plan = plan_mean(10_000, 50, 1, NoiseLevel(rho=0.5))
    >>> plan.rounds, plan.cut1 > plan.cut2
    (2, True)
    """
    shift = mean_shift(gamma)

    def centre(fail: float) -> float:
        return math.sqrt(float(scipy.stats.chi2.isf(fail, d)) / m) + shift

    quarter, eighth = eta / 4, eta / 8
    cut = _cut_radius(centre(quarter), d, quarter / n)
    best = MeanPlan(1, 1.0, cut, None, noise.vector(cut, 1.0, n, d))
    cut = _cut_radius(centre(eighth), d, eighth / n)
    for share in _FIRST_SHARES:
        first = noise.vector(cut, share, n, d)
        again = _mean_radius(first, n, d, noise, eighth)
        cut2 = _cut_radius(again, d, eighth / n)
        sd = noise.vector(cut2, 1 - share, n, d)
        if sd < best.sd:
            best = MeanPlan(2, share, cut, cut2, sd)
    return best


def papers_mean_cut(n: int, d: int, eta: float) -> float:
    """Length at which the paper's one round cuts: Claim 2.1 and Lemma 2.2, failing with eta/2 each.

    Examples
    --------
    >>> round(papers_mean_cut(1000, 50, 0.05), 2)
    20.02
    """
    return longest(d, math.log(2 / eta)) + longest(d, math.log(2 * n / eta))
