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
from numpy.typing import NDArray
from scipy import linalg

from dpstats.arrays import Floats
from dpstats.models.eptr_nw.estimate import PolynomialCentre, polynomial_terms
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
_SURE, _THERE = 4.0, 1.0
"""Standard deviations of its noise by which a sum of the kernel tells of rows: for a local mean (of 2000
that are noise, one in 30 curves has one), and for the rows that such a mean is of."""
_BESIDE = 1.5
"""Bandwidths from a point to the mean of its rows, from which these lie beyond an end: how a mean of far
rows is weighed is hardly known."""
_AT_AN_END = 0.8
"""The same at an end of even rows, sqrt(2 / pi)."""
_SHARPER = 100
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
class _Places:
    """Where rows lie, as released sums of the kernel say.

    Attributes
    ----------
    points : (l, d) array
    rows : (l,) array
        At each of them.
    weights : (l, k) array
        Of them in the mean at each point of the cover.
    beside : (k,) array
        Bandwidths from a point of the cover to the mean of its rows.
    sure : (k,) array of bool
        Whether it has rows for sure.
    """

    points: Floats
    rows: Floats
    weights: Floats
    beside: Floats
    sure: NDArray[np.bool_]

    @classmethod
    def of(cls, curve: SumsCurve, setting: CurveSetting) -> _Places:
        """By steps of Richardson (1972) and Lucy (1974), which keep numbers positive."""
        cover, sd = setting.cover[0], curve.sums.below_sd
        degree = curve.local_sums(cover, setting.nodes, False)[1]
        there = degree > _THERE * sd
        z, total = cover[there], degree[there]
        k = kernel(z, np.ascontiguousarray(z.T))
        spread = k.sum(axis=0)
        rows = total / np.maximum(spread, 1e-300)
        for _ in range(_SHARPER):
            rows = rows * (k @ (total / np.maximum(k @ rows, 1e-300))) / spread
        weights = kernel(z, np.ascontiguousarray(cover.T)) * rows[:, None]
        weights /= np.maximum(weights.sum(axis=0), 1e-300)
        beside = np.linalg.norm(weights.T @ z - cover, axis=1)
        return cls(z, rows, weights, beside, degree > _SURE * sd + 1)

    def within(self, reach: float) -> NDArray[np.bool_]:
        """Points of the cover that surely have rows, whose mean is not far from them."""
        return self.sure & (self.beside < reach)


def points_with_rows(curve: SumsCurve, setting: CurveSetting) -> tuple[Floats, Floats]:
    """Points of the cover that lie among rows, or at their end; and those with rows beside them."""
    places, points = _Places.of(curve, setting), setting.cover[0]
    return points[places.within(_AT_AN_END)], points[places.within(_BESIDE)]


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
    def of(cls, curve: SumsCurve, setting: CurveSetting) -> _LocalMeans | None:
        """From the sums of a curve; None where no point surely has rows."""
        seen = _Places.of(curve, setting)
        sure = seen.within(_BESIDE)
        if not sure.any():
            return None
        points, part = setting.cover
        sums, smoothing = curve.sums, setting.smoothing
        above, below, squares, _ = curve.local_sums(points, setting.nodes, False)
        z, degree, part, weights = points[sure], below[sure], part[sure], seen.weights[:, sure]
        places, rows = seen.points, seen.rows
        columns = np.ascontiguousarray(z.T)
        value = (smoothing.radius * above[sure] / degree + smoothing.middle) / smoothing.slope
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
        about = float(mass @ (square * squares[sure] / degree))
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


def find_centre(curve: SumsCurve, setting: CurveSetting) -> FoundCentre | None:
    """The polynomial behind a released curve; None where no row is seen."""
    means = _LocalMeans.of(curve, setting) if len(setting.cover[0]) else None
    if means is None:
        return None
    low, high = means.points.min(axis=0), means.points.max(axis=0)
    middle, half = (low + high) / 2, np.where(high > low, (high - low) / 2, 1.0)
    d = len(low)
    powers = _powers(d)

    def terms(points: Floats) -> Floats:
        z = np.ascontiguousarray(points.T)
        return np.array(list(polynomial_terms(z, powers, middle, half))).T

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
    return tuple(p for p in itertools.product(range(degree + 1), repeat=d) if sum(p) <= degree)


def _bends(powers: tuple[tuple[int, ...], ...]) -> Floats:
    """The matrix of the mean square of second derivatives, for coordinates between -1 and 1."""
    d = len(powers[0])
    line = np.linspace(-1 + 3 * _STEP, 1 - 3 * _STEP, max(int(_PLACES ** (1 / d)), 3))
    places = np.array(list(itertools.product(line, repeat=d))).T
    total = np.zeros((len(powers), len(powers)))
    for i, j in itertools.product(range(d), repeat=2):
        second = np.zeros((len(powers), places.shape[1]))
        for a, b in itertools.product((1.0, -1.0), repeat=2):
            moved = places.copy()
            moved[i] += a * _STEP
            moved[j] += b * _STEP
            terms = polynomial_terms(moved, powers, np.zeros(d), np.ones(d))
            second += a * b * np.array(list(terms)) / (4 * _STEP**2)
        total += second @ second.T / places.shape[1]
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
