"""Error bounds for private means, Gaussians and Gaussian mixtures with public data.

The rates of the paper (Bie, Kamath, Singhal, *Private Estimation with Public Data*) stand in
`dpstats.models.gaussian.rates`. The other bounds are the package's own, and hold no hidden constant.

Errors are measured in units of the truth: eF = |Sigma^-1/2 Sigmahat Sigma^-1/2 - I|_F for a covariance,
and the Mahalanobis distance eM for a mean. In svec coordinates the sampling error of a covariance has
variance 2/n everywhere, and noise of sd s on the whitened matrix s^2/(l_i l_j), l being eigenvalues:
weighted sums of chi-squares, whose quantiles follow from their first three cumulants.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy

from dpstats.arrays import Floats
from dpstats.models.gaussian.public_range import PublicRange, papers_range
from dpstats.models.gaussian.rates import (
    THEOREM_1_1,
    THEOREM_1_2,
    THEOREM_2_4,
    THEOREM_2_4_PURE,
    Setting,
)
from dpstats.report.bound import Bound, Premise

ROWS_GAUSSIAN = Premise("rows Gaussian", None)
_COVARIANCE = "relative error of the covariance"
MEAN = "error of the mean in standard deviations"
DISTANCE = "total variation distance of the estimated Gaussian"
PAPERS_DISTANCE = f"{DISTANCE}, the paper's algorithm"
_CHI = "exact up to clipping, chi-square"
DISTANCE_SOURCE = "exact up to clipping, Pinsker"
_SAFETY = 1.5  # sd's of the trace of noise by which eigenvalues may be too large
_MOST_INFLATION = 10.0  # beyond, three cumulants do not determine a quantile
_HIDDEN = 1.2  # an eigenvalue this many noise norms large is certainly not noise


# ---- facts --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ReleasedMoments:
    """A released mean and covariance, as the last round left them; nothing private is added.

    Attributes
    ----------
    n : float
        Rows behind them; with public rows averaged in, those count as well.
    values : tuple of float
        Eigenvalues of the released covariance S in the last round's coordinates, floored.
    second_sd : float
        Noise of S: sd on the diagonal, sd/sqrt(2) off it.
    mean_sd : float
        Noise of the mean, per coordinate.
    bias : float
        Frobenius norm of what cutting rows is planned to take off the relative covariance.
    """

    n: float
    values: tuple[float, ...]
    second_sd: float
    mean_sd: float
    bias: float = 0.0

    @property
    def d(self) -> int:
        return len(self.values)


@dataclass(frozen=True)
class GaussianFacts(Setting):
    """Public, planned and released numbers behind the bounds for one Gaussian.

    Attributes
    ----------
    range : PublicRange
        After public whitening, each limit with probability 1 - eta/3.
    planned_noise, planned_mean_noise, planned_bias : float
        Root mean square Frobenius norm of the covariance's relative noise, largest relative sd of the
        mean's, and Frobenius norm of what cutting takes off, as planned before the data were read.
    released : ReleasedMoments or None
        None before the data are read.
    """

    range: PublicRange
    planned_noise: float
    planned_mean_noise: float
    planned_bias: float = 0.0
    released: ReleasedMoments | None = None


# ---- errors of means and covariances ------------------------------------------------------------


def weighted_quantile(
    weights: Floats, eta: float, offset2: float = 0.0, inflation: float = 0.0
) -> float:
    """Upper quantile of sum a_i z_i^2, exact if all weights are equal.

    A shifted chi-square with the same mean, variance and third cumulant (Hall, Buckley, Eagleson).

    Parameters
    ----------
    offset2 : float
        Squared length of a constant added to the vector, in a direction of average weight.
    inflation : float
        Share by which the variance exceeds that of normal coordinates.

    Examples
    --------
    >>> round(weighted_quantile(np.ones(10), 0.05), 3)
    18.307
    """
    unit = float(np.max(weights))
    if not math.isfinite(unit) or inflation > _MOST_INFLATION:
        return math.inf
    if unit == 0:
        return offset2
    a, c = weights / unit, offset2 / unit
    typical = float(a.mean())
    first = float(a.sum()) + c
    second = float((a**2).sum()) + 2 * typical * c
    third = float((a**3).sum()) + 3 * typical**2 * c
    df = second**3 / third**2 / (1 + inflation)
    second *= 1 + inflation
    value = first + math.sqrt(second / df) * (float(scipy.stats.chi2.isf(eta, df)) - df)
    return unit * value if value > 0 else math.inf


def _pairs(inverse: Floats) -> Floats:
    """Products over i <= j."""
    return np.asarray(np.outer(inverse, inverse)[np.triu_indices(inverse.size)])


def _wishart_inflation(n: float, d: int) -> float:
    """Relative excess of the variance of |W/n - I|_F^2 over that of D normal coordinates.

    Exactly (2d^2 + 5d + 5) / ((d+1) n): var tr W^2 = 4dn(2n^2 + 2d^2 + 5nd + 5n + 5d + 5).
    """
    return (2 * d**2 + 5 * d + 5) / ((d + 1) * n)


def _settled(released: ReleasedMoments) -> Floats:
    """Eigenvalues of the true covariance behind those of the released one.

    Noise drives eigenvalues apart, as in Dyson's Brownian motion; one step back (close pairs left
    alone) undoes that, without which the inverse of the smallest, and the bound, would be far too
    large. They may also all be too large by the noise of the trace.
    """
    s, values = released.second_sd, np.sort(np.asarray(released.values))
    gap = values[:, None] - values
    variance = s**2 / 2
    moved = values - variance * (gap / (gap**2 + 4 * variance + 1e-300)).sum(axis=1)
    moved = np.maximum.accumulate(moved)
    return np.asarray(np.maximum(moved - _SAFETY * s / values.size, 0.25 * s))


def _pure_length(d: int, eta: float, pure: bool) -> tuple[float, float]:
    """Factor for noise whose length is random as well, and the probability left for the rest."""
    if not pure:
        return 1.0, eta
    q = (d + 1) * (d + 2) // 2
    length = float(scipy.stats.gamma.isf(eta / 4, q)) / math.sqrt(q * (q + 1))
    return max(length, 1.0), 3 * eta / 4


@dataclass(frozen=True)
class ErrorLaw:
    """Squared errors as weighted sums of chi-squares, and bounds that fail with probability ``eta``.

    Attributes
    ----------
    covariance, mean : arrays
        Variances of the D and d coordinates.
    offset2 : float
        Squared Frobenius norm of the covariance's bias.
    inflation : float
        As in `weighted_quantile`.
    eta : float
        Without the share for noise whose length is random.
    """

    covariance: Floats
    mean: Floats
    offset2: float
    inflation: float
    eta: float

    @property
    def covariance_radius(self) -> float:
        """Bound for eF."""
        return self._covariance_radius(self.eta)

    @property
    def mean_radius(self) -> float:
        """Bound for eM."""
        return math.sqrt(weighted_quantile(self.mean, self.eta))

    @property
    def distance(self) -> float:
        """Bound for the total variation distance; 1 is vacuous.

        eF^2/2 and eM^2 enter the divergence as one sum of chi-squares, so neither needs its own share
        of eta; a tenth of it is for how far eigenvalues are off.
        """
        tenth = self.eta / 10
        r = min(self._covariance_radius(tenth), self._spectral_radius(tenth))
        if not r < 1:
            return 1.0
        half = _curvature(r) / 2
        weights = np.concatenate([half * self.covariance, self.mean])
        square = weighted_quantile(weights, 0.9 * self.eta, half * self.offset2, self.inflation)
        return _from_divergence(square / 2)

    def _covariance_radius(self, eta: float) -> float:
        square = weighted_quantile(self.covariance, eta, self.offset2, self.inflation)
        return math.sqrt(max(square, 0.0))

    def _spectral_radius(self, eta: float) -> float:
        """Bound for the spectral norm of a covariance's error (Gordon, and Gaussian concentration)."""
        size = math.sqrt(float(np.max(self.covariance)))
        norm = math.sqrt(2 * self.mean.size) + math.sqrt(2 * math.log(2 / eta))
        return size * norm + math.sqrt(self.offset2)


def error_law(released: ReleasedMoments, eta: float, pure: bool = False) -> ErrorLaw:
    """The errors behind a release.

    Examples
    --------
    >>> law = error_law(ReleasedMoments(10_000, (1.0,) * 10, 1e-9, 1e-9), 0.05)
    >>> round(law.covariance_radius, 3)
    0.121
    """
    factor, left = _pure_length(released.d, eta, pure)
    inverse = 1 / _settled(released)
    mean_noise2 = (factor * released.mean_sd) ** 2 * inverse
    return ErrorLaw(
        2 / released.n + (factor * released.second_sd) ** 2 * _pairs(inverse),
        1 / released.n + mean_noise2,
        # the product of the mean's noise with itself is also subtracted
        released.bias**2 + float(mean_noise2.sum()) ** 2,
        _wishart_inflation(released.n, released.d),
        left,
    )


def _curvature(r: float) -> float:
    """c = 2(-r - ln(1-r))/r^2 for eigenvalues of a relative covariance that are off by r at most.

    x - ln(1+x) <= x^2 (-r - ln(1-r))/r^2 for x >= -r, so the Kullback-Leibler divergence of two
    Gaussians at eF and eM is at most (c eF^2/2 + eM^2)/2.
    """
    return 2 * (-r - math.log1p(-r)) / r**2 if r > 1e-4 else 1.0 + r


def _from_divergence(divergence: float) -> float:
    """Pinsker, or Bretagnolle and Huber."""
    if not math.isfinite(divergence):
        return 1.0
    divergence = max(divergence, 0.0)
    return min(math.sqrt(divergence / 2), math.sqrt(-math.expm1(-divergence)), 1.0)


def resolved(released: ReleasedMoments) -> Premise:
    """Whether every direction's variance stands out of the noise."""
    norm = released.second_sd * math.sqrt(2 * released.d)
    return Premise(
        "no direction hidden by noise (smallest eigenvalue above 1.2 noise norms)",
        bool(min(released.values) >= _HIDDEN * norm),
    )


def judged(bounds: tuple[Bound, ...], long_tailed: bool) -> tuple[Bound, ...]:
    """Bounds as they stand where released lengths show tails that no Gaussian has: infinite."""
    if not long_tailed:
        return bounds
    broken, out = replace(ROWS_GAUSSIAN, met=False), []
    for bound in bounds:
        premises = tuple(broken if p is ROWS_GAUSSIAN else p for p in bound.premises)
        fails = bound.kind == "bound" and broken in premises
        out.append(replace(bound, premises=premises, value=math.inf if fails else bound.value))
    return tuple(out)


# ---- one Gaussian -------------------------------------------------------------------------------


def _errors(
    values: tuple[float, float, float], eta: float, premises: tuple[Premise, ...], when: str = ""
) -> tuple[Bound, ...]:
    """Bounds for the errors of the covariance, of the mean, and of both in total variation."""
    rows = (
        (_COVARIANCE, "Frobenius", _CHI),
        (MEAN, "Mahalanobis", _CHI),
        (DISTANCE, "total variation", DISTANCE_SOURCE),
    )
    return tuple(
        Bound(text + when, norm, value, 1 - eta, source, "bound", premises)
        for (text, norm, source), value in zip(rows, values, strict=True)
    )


def released_errors(facts: GaussianFacts) -> tuple[Bound, ...]:
    """Covariance, mean and total variation from what was released, each statement with 1 - eta.

    Of eta, the chi-squares of the first two get one half; the other is left for rows that were cut and
    for eigenvalues that the noise moved. The third has room in Pinsker's inequality.
    """
    released = facts.released
    if released is None:
        return ()
    eta, pure = facts.eta, facts.pure
    half, full = error_law(released, eta / 2, pure), error_law(released, eta, pure)
    values = half.covariance_radius, half.mean_radius, full.distance
    return _errors(values, eta, (ROWS_GAUSSIAN, resolved(released)))


def planned_errors(facts: GaussianFacts) -> tuple[Bound, ...]:
    """Bounds before the data are read; half of eta is left for a whitening worse than planned."""
    n, d, eta = facts.n, facts.d, facts.eta
    factor, left = _pure_length(d, eta / 2, facts.pure)
    coordinates = d * (d + 1) // 2
    law = ErrorLaw(
        np.full(coordinates, 2 / n + (factor * facts.planned_noise) ** 2 / coordinates),
        np.full(d, 1 / n + (factor * facts.planned_mean_noise) ** 2),
        facts.planned_bias**2,
        _wishart_inflation(n, d),
        left,
    )
    planned = Premise("private covariance, after public whitening, as planned for", None)
    values = law.covariance_radius, law.mean_radius, law.distance
    return _errors(values, eta, (ROWS_GAUSSIAN, planned), " (planned)")


def public_only(facts: GaussianFacts) -> Bound:
    """The covariance of the public rows alone, for comparison; infinite with no more than d rows."""
    d, rows = facts.d, facts.m - 1
    value = math.inf
    if rows >= d:
        weights = np.full(d * (d + 1) // 2, 2 / rows)
        value = math.sqrt(
            weighted_quantile(weights, facts.eta, inflation=_wishart_inflation(rows, d))
        )
    return Bound(
        "relative error of the covariance of the public rows alone",
        "Frobenius",
        value,
        1 - facts.eta,
        "Wishart law, three moments",
        "bound",
        (ROWS_GAUSSIAN, one_law(0.0)),
    )


def one_law(gamma: float) -> Premise:
    if gamma == 0:
        return Premise("public and private rows of one law", None)
    return Premise(f"TV distance of public and private law at most {gamma:g}", None)


def _more_rows_than_columns(facts: GaussianFacts) -> Premise:
    return Premise("d+1 public rows or more", facts.m > facts.d)


def _ranges(
    facts: GaussianFacts, where: str, rows: Sequence[tuple[str, str, float, float, str]]
) -> tuple[Bound, ...]:
    """Ranges after a whitening: what, in which norm, its value, probability to fail, and source."""
    premises = (ROWS_GAUSSIAN, _more_rows_than_columns(facts), one_law(facts.gamma))
    return tuple(
        Bound(f"{where}: {text}", norm, value, 1 - fail, source, "range", premises)
        for text, norm, value, fail, source in rows
    )


def whitening_ranges(facts: GaussianFacts) -> tuple[Bound, ...]:
    """L, U and K of the private covariance after public whitening, and how far the mean may be."""
    limits, third, shared = facts.range, facts.eta / 3, facts.gamma == 0
    source = limits.source
    away = (third, "exact, Hotelling") if shared else (2 * third, source)
    rows = (
        ("smallest eigenvalue, at least", "spectral", limits.lower, third, source),
        ("largest eigenvalue, at most", "spectral", limits.upper, third, source),
        ("condition number", "spectral", limits.condition, 2 * third, source),
        ("distance of the means", "l2", limits.centre, *away),
    )
    return _ranges(facts, "after public whitening", rows)


def papers_ranges(facts: GaussianFacts) -> tuple[Bound, ...]:
    """Lemma 2.5: condition number, and length of the mean where the covariance is at least I."""
    eta, gamma, value = facts.eta, facts.gamma, math.inf
    if facts.m > facts.d:
        value = papers_range(facts.d, eta).condition
        value *= 1 if gamma == 0 else 16 / (1 - gamma) ** 8
    rows = [("condition number", "spectral", value, 2 * eta / 3, "Lemma 2.5")]
    if gamma == 0:  # the text gives the other case up to constants only
        length = math.sqrt(value * 5 * math.log(3 / eta))
        rows.append(("length of the mean", "l2", length, eta, "Lemma 2.5"))
    return _ranges(facts, "after the paper's whitening, from d+1 public rows", rows)


def papers_rates(facts: GaussianFacts) -> tuple[Bound, ...]:
    """Theorem 2.4, and 1.1 (one law) or 1.2: error in total variation at which n rows suffice."""
    premises = (ROWS_GAUSSIAN, _more_rows_than_columns(facts), one_law(facts.gamma))
    rates = (
        THEOREM_2_4_PURE if facts.pure else THEOREM_2_4,
        THEOREM_1_1 if facts.gamma == 0 else THEOREM_1_2,
    )
    return tuple(rate.bound(PAPERS_DISTANCE, facts, *premises) for rate in rates)


def gaussian_bounds(facts: GaussianFacts) -> tuple[Bound, ...]:
    """All bounds for one Gaussian, the tightest of each error first.

    Examples
    --------
    >>> released = ReleasedMoments(10_000, (1.0,) * 5, 1e-3, 1e-3)
    >>> limits = PublicRange(0.3, 20.0, 3.0, "simulated")
    >>> facts = GaussianFacts(10_000, 5, 20, 0.05, 0.5, None, 0.0, limits, 0.02, 0.002,
    ...     released=released)
    >>> for bound in gaussian_bounds(facts)[:3]:
    ...     print(f"{bound.statement}: {bound.value:.3f}")
    relative error of the covariance: 0.074
    error of the mean in standard deviations: 0.036
    total variation distance of the estimated Gaussian: 0.029
    """
    if not facts.m:  # the others speak of public rows
        return released_errors(facts)
    return (
        *released_errors(facts),
        *planned_errors(facts),
        public_only(facts),
        *whitening_ranges(facts),
        *papers_ranges(facts),
        *papers_rates(facts),
    )
