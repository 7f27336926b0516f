"""The polynomial behind a released curve, where no public rows tell one.

A curve is a polynomial plus local means of what is left. A local mean is that of the curve over the rows
under the kernel, and where these lie the released sums of the kernel tell: a polynomial is fitted to
released local means by generalised least squares, and smoothing does not flatten it. How much it may
bend is a guess beforehand that released means confirm or not, as for a smoothing spline, so that it is a
line where they say little. All of it is computed from released numbers.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg

from dpstats.arrays import Floats
from dpstats.models.eptr_nw.estimate import PolynomialCentre, columns_of_terms, powers_up_to
from dpstats.models.eptr_nw.places import Places
from dpstats.models.eptr_nw.public import CurveSetting
from dpstats.models.eptr_nw.result import SumsCurve
from dpstats.models.eptr_nw.rows import kernel

_HIGHEST_DEGREE, _MOST_TERMS = 7, 30
_BENDS = np.geomspace(0.03, 100, 15)
"""Sizes of second derivatives that are weighed, in spreads of the curve over half its range."""
_TURNS = 1 + _HIGHEST_DEGREE
"""Of a polynomial's error, within its range."""
_STEP, _PLACES = 0.01, 1000
"""Of coordinates between -1 and 1: the step of a second difference, and how many of them are taken."""
_FREEDOM = 4
"""Local means beyond the number of terms, from which they tell whether polynomials miss the curve."""
_UNSEEN = 0.02
"""Share of the variance of responses that a polynomial may miss unseen, as of public ones."""
_FARTHER = 0.25
"""Share of its range by which a polynomial may leave it where hardly any row is."""
_SMALLEST = 1e-6
"""Least variance about a curve, over that about its first centre."""


@dataclass(frozen=True)
class FoundCentre:
    """A polynomial that released sums tell.

    Attributes
    ----------
    centre : PolynomialCentre
    sigma, at_most : float
        Standard deviation of responses about the curve, and how large noise leaves it.
    doubt : float
        How far the curve may be off the polynomial.
    mended : float
        Share of that which local means can see.
    degree : float
        Rows near a typical point.
    """

    centre: PolynomialCentre
    sigma: float
    at_most: float
    doubt: float
    mended: float
    degree: float

    def put_in(self, setting: CurveSetting) -> CurveSetting:
        """The setting of a curve about this centre."""
        smoothing = replace(setting.smoothing, mended=self.mended)
        return replace(
            setting, centre=self.centre, sigma=self.sigma, doubt=self.doubt, smoothing=smoothing
        )


@dataclass(frozen=True)
class _LocalMeans:
    """Released local means (k,) of the curve, at points (k, d) that surely have rows.

    Attributes
    ----------
    value : (k,) array
    degree : (k,) array
    part : (k,) array
        Of a cell of the cover.
    variance : (k, k) array
        Of ``value``: noise, and rows that points have in common.
    places : (l, d) array
        Where rows lie.
    weights : (l, k) array
        Of them in each mean.
    sigma, at_most : float
        See `FoundCentre`.
    """

    points: Floats
    value: Floats
    degree: Floats
    part: Floats
    variance: Floats
    places: Floats
    weights: Floats
    sigma: float
    at_most: float

    @classmethod
    def of(cls, curve: SumsCurve, setting: CurveSetting, seen: Places) -> _LocalMeans | None:
        """From the sums of a curve; None where no point surely has rows."""
        sure, z = seen.near_rows, seen.beside
        if not len(z):
            return None
        sums, smoothing = curve.sums, setting.smoothing
        above, degree, squares, _ = curve.local_sums(z, setting.nodes, False)
        part, weights = setting.cover[1][sure], seen.weights[:, sure]
        places, rows = seen.points, seen.rows
        columns = np.ascontiguousarray(z.T)
        value = (smoothing.radius * above / degree + smoothing.middle) / smoothing.slope
        # noise of both sums
        phi = curve.features.matrix @ kernel(setting.nodes, columns)
        away = smoothing.middle - smoothing.slope * value
        noise = (smoothing.radius * sums.noise_sd) ** 2 + sums.below_sd**2 * np.outer(away, away)
        each = np.outer(degree, degree) * smoothing.slope**2
        noise *= (phi.T @ phi) / each
        # of responses about the curve: squares about the centre, less those of means
        count = float(part @ degree)
        mass = part * degree / count
        square = curve.residuals.square**2
        about = float(mass @ (square * squares / degree))
        about += curve.residuals.beyond_squares(smoothing.bounds)
        own = about - float(mass @ (value**2 - np.diag(noise)))
        sigma2 = max(own, _SMALLEST * abs(about), 1e-300)
        unsure = square * sums.squares_sd * float(np.linalg.norm(phi @ part)) / count
        unsure = math.hypot(unsure, 2 * math.sqrt(float(mass @ (value**2 * np.diag(noise)))))
        k = kernel(places, columns)
        variance = noise + sigma2 * (k.T * rows) @ k / each
        variance[np.diag_indices(len(z))] *= 1 + 1e-6
        value = value + weights.T @ setting.centre(np.ascontiguousarray(places.T))
        most = math.sqrt(sigma2 + 2 * unsure)
        return cls(z, value, degree, part, variance, places, weights, math.sqrt(sigma2), most)


def find_centre(curve: SumsCurve, setting: CurveSetting, places: Places) -> FoundCentre | None:
    """The polynomial behind a released curve; None where no row is seen."""
    means = _LocalMeans.of(curve, setting, places)
    if means is None:
        return None
    low, high = means.points.min(axis=0), means.points.max(axis=0)
    middle, half = (low + high) / 2, np.where(high > low, (high - low) / 2, 1.0)
    d = len(low)
    powers = _powers(d)

    def terms(points: Floats) -> Floats:
        z = np.ascontiguousarray(points.T)
        return columns_of_terms(z, powers, middle, half)

    of_means = means.weights.T @ terms(means.places)
    factor = linalg.cholesky(means.variance, lower=True)
    white, target = (
        linalg.solve_triangular(factor, part, lower=True) for part in (of_means, means.value)
    )
    size = math.hypot(float(np.std(means.value)), means.sigma)
    coef, covariance = _averaged(white, target, _bends(powers), size * _BENDS)
    fitted = terms(means.points) @ coef
    room = _FARTHER * float(np.ptp(fitted)) + means.sigma
    centre = PolynomialCentre(
        powers,
        coef,
        middle,
        half,
        float(fitted.min()) - room,
        float(fitted.max()) + room,
        covariance,
    )
    mass = means.part * means.degree
    left = (means.value - of_means @ coef) ** 2 - np.diag(means.variance)
    missed = max(float(mass @ left) / mass.sum(), 0.0)
    unseen = float(mass @ np.diag(means.variance)) / mass.sum()
    return FoundCentre(
        centre,
        means.sigma,
        means.at_most,
        math.sqrt(missed + min(_UNSEEN * means.sigma**2, unseen)),
        float(np.prod(1 / (1 + (_TURNS / half) ** 2))),
        float(np.median(means.degree)),
    )


def _powers(d: int) -> tuple[tuple[int, ...], ...]:
    """Exponents of the terms, up to as high a degree as so many terms allow."""
    degree = _HIGHEST_DEGREE
    while math.comb(d + degree, d) > _MOST_TERMS and degree > 1:
        degree -= 1
    return powers_up_to(degree, d)


def _bends(powers: tuple[tuple[int, ...], ...]) -> Floats:
    """The matrix of the mean square of second derivatives, for coordinates between -1 and 1."""
    d = len(powers[0])
    line = np.linspace(-1 + 3 * _STEP, 1 - 3 * _STEP, max(int(_PLACES ** (1 / d)), 3))
    places = np.array(list(itertools.product(line, repeat=d))).T
    total = np.zeros((len(powers), len(powers)))
    for i, j in itertools.product(range(d), repeat=2):
        second = np.zeros((places.shape[1], len(powers)))
        for a, b in itertools.product((1.0, -1.0), repeat=2):
            moved = places.copy()
            moved[i] += a * _STEP
            moved[j] += b * _STEP
            terms = columns_of_terms(moved, powers, np.zeros(d), np.ones(d))
            second += a * b * terms / (4 * _STEP**2)
        total += second.T @ second / places.shape[1]
    return total


def _averaged(white: Floats, target: Floats, bends: Floats, sizes: Floats) -> tuple[Floats, Floats]:
    """Coefficients and their covariance, over sizes of bends that are each as likely as they fit.

    Beforehand second derivatives are normal with a standard deviation that is one of ``sizes``, and
    lines are free. ``white``, ``target``: with errors of variance one, or of a larger one where no
    polynomial fits.
    """
    spare = len(target) - len(bends)
    scale = 1.0
    if spare >= _FREEDOM:
        left = target - white @ np.linalg.lstsq(white, target, rcond=1e-10)[0]
        scale = max(float(left @ left) / spare, 1.0)
    bent = int(np.linalg.matrix_rank(bends, tol=1e-6, hermitian=True))
    found, loss = [], []
    for size in sizes:
        prior = bends / size**2
        precision = white.T @ white / scale + prior
        inverse = np.linalg.pinv(precision, rcond=1e-13, hermitian=True)
        coef = inverse @ (white.T @ target) / scale
        chi2 = float(((target - white @ coef) ** 2).sum()) / scale + float(coef @ prior @ coef)
        volume = float(np.linalg.slogdet(precision)[1]) + 2 * bent * math.log(size)
        found.append((coef, inverse))
        loss.append(chi2 + volume)
    likely = np.exp(-(np.array(loss) - min(loss)) / 2)
    likely /= likely.sum()
    mean = np.sum([w * coef for w, (coef, _) in zip(likely, found, strict=True)], axis=0)
    covariance = np.zeros_like(bends)
    for w, (coef, inverse) in zip(likely, found, strict=True):
        covariance += w * (inverse + np.outer(coef - mean, coef - mean))
    return mean, covariance
