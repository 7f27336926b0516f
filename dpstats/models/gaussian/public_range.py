"""The range of the private law after whitening by public rows.

After whitening by the public covariance, w = Shat^-1/2 (x - muhat), neither the private mean nor its
covariance is known, but the law of how far off they are is: it depends on d and on the number m of
public rows alone. "Paper" is Bie, Kamath, Singhal, *Private Estimation with Public Data*.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy
from scipy import special
from scipy.linalg import eigh_tridiagonal

from dpstats.arrays import Floats

_SEED = 20221
_DEFAULT_CONDITION = 1e4  # where public rows are too few
_SURE = 0.01  # chance that a simulated range is not conservative


@dataclass(frozen=True)
class PublicRange:
    """Where the private law lies after public whitening.

    Attributes
    ----------
    lower, upper : float
        L I <= Shat^-1/2 Sigma Shat^-1/2 <= U I; 0 and inf where public rows are too few.
    centre : float
        Bound for |Shat^-1/2 (mu - muhat)|.
    source : str
    """

    lower: float
    upper: float
    centre: float
    source: str

    @property
    def condition(self) -> float:
        """K = U/L, bound for the condition number."""
        return self.upper / self.lower if self.lower > 0 else math.inf

    @property
    def mean_range(self) -> float:
        """Bound for the mean in the paper's coordinates, in which the covariance is at least I."""
        return self.centre / math.sqrt(self.lower) if self.lower > 0 else math.inf


def variance_ratio(gamma: float) -> float:
    """Largest ratio of the variances of two normal laws at total variation distance ``gamma``.

    Means play no part: at given variances, laws overlap most where their centres coincide. There the
    densities of N(0, 1) and N(0, k^2) cross at x^2 = 2 k^2 ln k/(k^2 - 1), and the distance is
    2 (Phi(x) - Phi(x/k)).

    Examples
    --------
    >>> [round(variance_ratio(gamma), 2) for gamma in (0.0, 0.1, 0.5, 0.9)]
    [1.0, 1.51, 9.82, 516.64]
    """
    if gamma <= 1e-12:
        return 1.0

    def excess(log_k: float) -> float:
        x = math.sqrt(2 * log_k / -math.expm1(-2 * log_k)) / math.sqrt(2)
        inner = special.erf(x * math.exp(-log_k))
        if gamma < 0.5:
            return float(special.erf(x) - inner - gamma)
        return math.log1p(-gamma) - math.log(float(special.erfc(x) + inner))  # no cancellation

    root = scipy.optimize.brentq(excess, 1e-15, 80.0, xtol=1e-16, rtol=1e-14)
    return math.exp(2 * float(root))


def mean_shift(gamma: float) -> float:
    """Distance, in standard deviations, of two normal laws of the same covariance.

    Examples
    --------
    >>> round(mean_shift(0.6826894921), 5)
    2.0
    """
    return 2 * float(scipy.stats.norm.ppf((1 + gamma) / 2)) if gamma > 0 else 0.0


@lru_cache(maxsize=256)
def public_range(d: int, m: int, eta: float, gamma: float = 0.0) -> PublicRange:
    """Range of the private law after whitening by m public rows, each event with 1 - eta/3.

    Parameters
    ----------
    gamma : float
        Bound for the total variation distance of the public and the private law.

    Notes
    -----
    With the same law, eigenvalues of Shat^-1/2 Sigma Shat^-1/2 are those of the inverse of a Wishart
    matrix over its degrees of freedom m-1, whatever (mu, Sigma); |Shat^-1/2 (mu - muhat)|^2 is
    (1/m) times Hotelling's statistic. Quantiles of the extreme eigenvalues are simulated, with an
    order statistic that is too small a range with probability `_SURE` only, unless closed forms are
    better: Davidson and Szarek's for the largest, Edelman's density bound for the smallest.

    Within distance gamma, sd's differ by at most kappa^1/2 in any direction, and the means by at most
    2 sqrt(ln(1/(1-gamma))) times the root of the sum of both variances.

    Examples
    --------
    >>> r = public_range(10, 20, 0.05)
    >>> 0.2 < r.lower < 0.35, 20 < r.upper < 35, 1.5 < r.centre < 2.5
    (True, True, True)
    """
    if m <= d:
        return PublicRange(0.0, math.inf, math.inf, "none: no more public rows than columns")
    each, rows = eta / 3, m - 1
    if d == 1:
        law = scipy.stats.chi2(rows)
        least, most, source = float(law.ppf(each)), float(law.isf(each)), "exact, chi-square"
    else:
        least, most = _smallest_closed(d, rows, each), _largest_closed(d, rows, each)
        source = "simulated Wishart matrices"
        simulated = _simulated_extremes(d, rows, each)
        if simulated is not None:
            least, most = max(least, simulated[0]), min(most, simulated[1])
    kappa = variance_ratio(gamma)
    hotelling = float(scipy.stats.f.isf(each, d, m - d)) * d * rows / (m * (m - d))
    apart = 4 * -math.log1p(-gamma) * (1 + kappa) * rows / least
    return PublicRange(
        rows / most / kappa, rows / least * kappa, math.sqrt(hotelling) + math.sqrt(apart), source
    )


def papers_range(d: int, eta: float) -> PublicRange:
    """L, U and the range of the mean of the paper's Algorithm 1 and Lemma 2.5, at m = d+1.

    Lemma 2.5 bounds the mean by sqrt(U/L) sqrt(5 ln(3/eta)) in coordinates in which the covariance is
    at least the identity; that is `PublicRange.mean_range`.

    Examples
    --------
    >>> r = papers_range(10, 0.05)
    >>> round(r.condition / 1e6, 2), round(r.mean_range)
    (3.04, 7886)
    """
    log_term = math.log(3 / eta)
    lower = d / (4 * d + 4 * math.sqrt(2 * d * log_term) + 2 * log_term)
    upper = 9 * d**2 / eta**2
    return PublicRange(lower, upper, math.sqrt(upper * 5 * log_term), "Lemma 2.5")


def _largest_closed(d: int, rows: int, p: float) -> float:
    """Upper p-quantile of the largest eigenvalue of a Wishart matrix, or more."""
    return (math.sqrt(rows) + math.sqrt(d) + math.sqrt(2 * math.log(1 / p))) ** 2


def _smallest_closed(d: int, rows: int, p: float) -> float:
    """Lower p-quantile of the smallest eigenvalue of a Wishart matrix, or less.

    Its density at x is at most c exp(-x/2) x^(a-1), a = (rows-d+1)/2 (Edelman 1988); at rows = d this
    is the paper's (p^2/d, up to 1/(2d)). Davidson and Szarek's bound takes over where rows are many.
    """
    a = (rows - d + 1) / 2
    log_c = (
        (rows - d - 1) / 2 * math.log(2)
        + math.lgamma((rows + 1) / 2)
        - math.lgamma(d / 2)
        - math.lgamma(rows - d + 1)
    )
    log_mass = math.log(p) - log_c - a * math.log(2) - math.lgamma(a)
    edelman = 2 * float(special.gammaincinv(a, math.exp(log_mass))) if log_mass < 0 else 0.0
    root = math.sqrt(rows) - math.sqrt(d) - math.sqrt(2 * math.log(1 / p))
    return max(edelman, max(root, 0.0) ** 2)


def _draws(d: int) -> int:
    return 4000 if d <= 60 else max(1000, 4000 * 60 // d)


def _bidiagonal(d: int, rows: int, draws: int) -> tuple[Floats, Floats]:
    """Squares of B, lower bidiagonal, BB' having the eigenvalues of a Wishart matrix.

    Reflections from both sides leave chi variables only, of rows, rows-1, ... degrees of freedom on
    the diagonal and of d-1, d-2, ... below it (Dumitriu and Edelman 2002).
    """
    rng = np.random.default_rng([_SEED, d, rows])
    diagonal = rng.chisquare(rows - np.arange(d)[:, None], size=(d, draws))
    below = rng.chisquare(d - 1 - np.arange(d - 1)[:, None], size=(d - 1, draws))
    return diagonal, below


def _simulated_extremes(d: int, rows: int, p: float) -> tuple[float, float] | None:
    """Lower p-quantile of the smallest and upper one of the largest eigenvalue, conservative.

    None where p is too small for the number of draws.
    """
    draws = _draws(d)
    beyond = int(scipy.stats.binom.ppf(_SURE, draws, p)) - 1  # draws that may lie outside the range
    if beyond < 0:
        return None
    diagonal, below = _bidiagonal(d, rows, draws)

    def below_shift(x: float) -> tuple[int, int]:
        """Draws whose smallest, and whose largest, eigenvalue is below x: signs of pivots."""
        t = np.full(draws, -x)
        some, every = np.zeros(draws, dtype=bool), np.ones(draws, dtype=bool)
        for i in range(d):
            pivot = diagonal[i] + t
            negative = pivot < 0
            some |= negative
            every &= negative
            if i < d - 1:
                pivot[pivot == 0] = np.finfo(float).tiny
                t = t * (below[i] / pivot) - x
        return int(some.sum()), int(every.sum())

    low, high = math.log(rows) - 60, math.log(rows)
    for _ in range(34):
        middle = (low + high) / 2
        low, high = (low, middle) if below_shift(math.exp(middle))[0] > beyond else (middle, high)
    smallest = math.exp(low)
    low, high = math.log(rows), math.log(_largest_closed(d, rows, 1e-30))
    for _ in range(20):
        middle = (low + high) / 2
        enough = below_shift(math.exp(middle))[1] >= draws - beyond
        low, high = (low, middle) if enough else (middle, high)
    return smallest, math.exp(high)


def _median_eigenvalues(d: int, rows: int, draws: int) -> Floats:
    """Medians of the eigenvalues of the inverse of a Wishart matrix over its degrees of freedom."""
    diagonal, below = _bidiagonal(d, rows, draws)
    on, off = diagonal.copy(), np.sqrt(diagonal[:-1] * below)
    on[1:] += below
    drawn = [
        eigh_tridiagonal(on[:, i], off[:, i], eigvals_only=True, lapack_driver="sterf")
        if d > 1
        else on[:, i]
        for i in range(draws)
    ]
    return np.asarray(np.sort(rows / np.maximum(np.median(drawn, axis=0), 1e-12)))


@lru_cache(maxsize=256)
def _spectrum(d: int, m: int, eta: float, gamma: float, cond: float | None) -> tuple[float, ...]:
    if m <= d:
        return tuple(np.geomspace(1.0, cond or _DEFAULT_CONDITION, d))
    # the bulk of the spectrum hardly varies in many dimensions; its edge has more draws
    draws = max(15, min(400, 400 * 900 // d**2))
    values = _median_eigenvalues(d, m - 1, draws)
    values[-1] = max(values[-1], public_range(d, m, min(3 * eta, 0.9)).upper)
    if cond is not None:
        values[-1] = max(values[-1], cond * values[0])
    kappa = variance_ratio(gamma)
    half = d // 2
    values[:half] /= kappa
    values[half:] *= kappa
    return tuple(values)


def spectrum(d: int, m: int, eta: float, gamma: float, cond: float | None) -> Floats:
    """Eigenvalues of the whitened private covariance that a plan expects, ascending.

    Medians under the Wishart law, but the largest its 1 - eta quantile; spread by the variance ratio
    of ``gamma``. With no more public rows than columns: ``cond`` (1e4) spread evenly in logarithms.

    Examples
    --------
    >>> spectrum(3, 2, 0.05, 0.0, 100.0).round(3).tolist()
    [1.0, 10.0, 100.0]
    """
    return np.array(_spectrum(d, m, eta, gamma, cond))
