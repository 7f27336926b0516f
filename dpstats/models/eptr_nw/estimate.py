"""Kernel regression: the public fit it corrects, public bandwidths and cuts, and the curve.

Covariates are scaled, z = x / h. A curve is a public polynomial plus a private correction: the
local mean of the residuals r, measured in R and cut to [-1, 1], from sums a(x) = sum K(x, x_i) r_i
and d(x) = sum K(x, x_i) that carry noise of sd s. The correction is R a d / (d^2 + l^2) / slope: a
/ d where there are rows, nothing where the noise would decide.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy import special

from dpstats.arrays import Floats
from dpstats.models.eptr_nw.planning import ResidualCut
from dpstats.numerics.matrices import quadratic_forms

_HIGHEST_DEGREE = 5
_MOST_ROWS = 400
_CUTS = (0.9, 0.95, 0.98, 1.0)
_RIDGES = (1.0, 2.0, 4.0, 8.0, 16.0)
# The error of single rows lies between these shares of the smallest mean square that is left: a
# bandwidth counts as helpful, or harmful, only if it is so in either case.
_LEAST, _MOST = 0.7, 1.2
_HALF = 0.5  # weight that private rows have at most public ones, with a bandwidth to choose
_NEIGHBOURS = 3.0  # a bandwidth at which most public rows are alone cannot be judged by them
_WORTH = 0.98  # of a sum of squares, what a further term of a polynomial has to leave at most
_ALIKE = 0.05  # share of the public fit's error, by which losses of bandwidths may differ by chance
_RATHER_WIDE, _WIDEST = 0.5, 4.0
"""Standard deviations of a logarithm of the bandwidth by which it is above the mean of those that public
rows support; and times as many at most, of responses with long tails."""
_TAILS = 12.0
"""Kurtosis of public losses' roots from where a tail is long: that of a normal one is 3."""
_START = (0.02, 0.03, 0.05, 0.08, 0.12, 0.2, 0.3, 0.5, 0.8, 1.2, 2.0)
_MOVES = (0.35, 0.6, 0.8, 1.25, 1.7, 2.8)
_FULL, _NEARLY = 2.0, 0.95
"""From half of the cut on a local mean is doubted, the more the nearer it comes to the cut."""
_CLOUD = 20_000  # points that stand for where private rows may lie


@dataclass(frozen=True)
class PolynomialCentre:
    """A public polynomial of scaled covariates, computed entry by entry in one fixed order.

    Attributes
    ----------
    powers : tuple of tuple of int
        One exponent per covariate, for each term.
    coef : (t,) array
    middle, half : (d,) arrays
        Covariates enter as (z - middle) / half.
    least, most : float
        Range of the public responses, which values are cut to.
    covariance : (t, t) array or None
        Of the coefficients.
    """

    powers: tuple[tuple[int, ...], ...]
    coef: Floats
    middle: Floats
    half: Floats
    least: float = -math.inf
    most: float = math.inf
    covariance: Floats | None = None

    def __call__(self, z: Floats) -> Floats:
        """Values at columns z (d, b)."""
        total = np.zeros(z.shape[1])
        terms = polynomial_terms(z, self.powers, self.middle, self.half)
        for term, c in zip(terms, self.coef, strict=True):
            total += c * term
        return np.clip(total, self.least, self.most)

    def spread(self, z: Floats) -> Floats:
        """Standard error of the polynomial at columns z (d, b): large away from public rows."""
        if self.covariance is None:
            return np.zeros(z.shape[1])
        x = columns_of_terms(z, self.powers, self.middle, self.half)
        square = quadratic_forms(x, self.covariance)
        widest = self.most - self.least if math.isfinite(self.most) else math.inf
        return np.asarray(np.minimum(np.sqrt(np.maximum(square, 0.0)), widest))

    def rescaled(self, h: Floats) -> PolynomialCentre:
        """This polynomial as a function of z / h."""
        return replace(self, middle=self.middle / h, half=self.half / h)


def polynomial_terms(
    z: Floats, powers: Sequence[tuple[int, ...]], middle: Floats, half: Floats
) -> Iterator[Floats]:
    """Products of powers, column by column, which beyond one half width go on as straight lines."""
    u = (z - middle[:, None]) / half[:, None]
    inside = np.clip(u, -1.0, 1.0)
    beyond = u - inside
    for power in powers:
        term = np.ones(z.shape[1])
        for column, out, k in zip(inside, beyond, power, strict=True):
            if k:
                below = np.ones(z.shape[1])
                for _ in range(k - 1):
                    below = below * column
                term = term * (below * column + k * below * out)
        yield term


def columns_of_terms(
    z: Floats, powers: Sequence[tuple[int, ...]], middle: Floats, half: Floats
) -> Floats:
    """Terms at columns z (d, b), one behind another (b, t)."""
    return np.array(list(polynomial_terms(z, powers, middle, half))).T


def powers_up_to(degree: int, d: int) -> tuple[tuple[int, ...], ...]:
    """Exponents of all terms of a polynomial of d covariates."""
    return tuple(p for p in itertools.product(range(degree + 1), repeat=d) if sum(p) <= degree)


def constant_centre(value: float, d: int) -> PolynomialCentre:
    """A centre that is the same everywhere."""
    return PolynomialCentre(((0,) * d,), np.array([value]), np.zeros(d), np.ones(d))


def choose_centre(
    z: Floats, y: Floats, low: Floats, high: Floats
) -> tuple[PolynomialCentre, Floats]:
    """The polynomial that predicts left-out public rows best, and its left-out residuals.

    Parameters
    ----------
    z : (d, m) array
        Public rows, scaled.
    y : (m,) array
    low, high : (d,) arrays
        The box: covariates are cut to it before the polynomial sees them.
    """
    d, m = z.shape
    middle, half = (low + high) / 2, np.where(high > low, (high - low) / 2, 1.0)
    best: tuple[float, PolynomialCentre, Floats] | None = None
    for degree in range(_HIGHEST_DEGREE + 1):
        if math.comb(d + degree, d) > max(m / 8, 1):
            break
        powers = powers_up_to(degree, d)
        x = columns_of_terms(z, powers, middle, half)
        inverse = np.linalg.pinv(x.T @ x, rcond=1e-10, hermitian=True)
        leverage = np.minimum(quadratic_forms(x, inverse), 0.99)
        coef = inverse @ (x.T @ y)
        left_out = (y - x @ coef) / (1 - leverage)
        error = float(left_out @ left_out)
        if best is None or error < _WORTH * best[0]:
            covariance = inverse * (error / m)
            low_y, high_y = float(y.min()), float(y.max())
            centre = PolynomialCentre(powers, coef, middle, half, low_y, high_y, covariance)
            best = error, centre, left_out
    assert best is not None
    return best[1], best[2]


def centre_doubt(
    centre: PolynomialCentre, residual: Floats, low: Floats, high: Floats
) -> tuple[float, Floats]:
    """The variance of the public polynomial, and the lengths (d,) over which its error turns.

    Left-out public rows cannot show an error that is small beside their own; private rows can mend it.
    Beside what its terms may be off, the polynomial may lack one that takes off too little to be seen.
    """
    terms = len(centre.powers)
    turns = np.array([1 + max(p[j] for p in centre.powers) for j in range(len(low))])
    unseen = 1 - _WORTH
    return float((residual**2).mean()) * (terms / len(residual) + unseen), (high - low) / (
        2 * turns
    )


@dataclass(frozen=True)
class Smoothing:
    """Bandwidths, cut and ridge of a curve; public.

    Attributes
    ----------
    bandwidth : (d,) array
        In the covariates' units.
    radius : float
        R, in the response's unit.
    slope : float
        Share of a local mean that cut residuals still follow.
    ridge : float
        l, in units of s.
    predicted : float
        Expected squared error of a left-out public row, its own error included.
    floor : float
        Smallest mean square that any bandwidth leaves of left-out public rows.
    mended : float
        Share of the public fit's error that averages over these bandwidths can see.
    middle : float
        M, about which residuals are cut.
    """

    bandwidth: Floats
    radius: float
    slope: float
    ridge: float
    predicted: float
    floor: float
    mended: float = 1.0
    middle: float = 0.0

    @property
    def bounds(self) -> tuple[float, float]:
        """How far residuals are kept below 0, and above."""
        return self.radius - self.middle, self.radius + self.middle


def least_bandwidth(x: Floats) -> Floats:
    """Half of the distance (d,) between neighbouring values of covariates (m, d), as most rows have it.

    A narrower kernel sees nothing between the values.
    """
    found = []
    for column in x.T:
        values, which = np.unique(column, return_inverse=True)
        gaps = np.diff(values, prepend=np.nan, append=np.nan)
        farther = np.fmax(gaps[:-1], gaps[1:])
        found.append(float(np.median(farther[which])) / 2 if len(values) > 1 else 0.0)
    return np.array(found)


class _LeftOut:
    """Public rows, each left out, and how well curves of the others would predict it.

    Attributes
    ----------
    own : float
        Mean square that single rows have of their own, as far as bandwidths have shown.
    seen : list of float
        Smallest mean square that each bandwidth left.
    tried : list of (Smoothing, (m,) array)
        The best curve of each bandwidth, and what it loses by row.
    """

    def __init__(
        self,
        x: Floats,
        residual: Floats,
        n: int,
        noise: float,
        doubt: tuple[float, Floats],
        cut_at: Callable[[float], ResidualCut] | None,
        given: bool,
    ) -> None:
        """``given``: the bandwidths are not to be chosen; for all else see `choose_smoothing`."""
        self._residual, self._n, self._noise_sd, self._doubt = residual, n, noise, doubt
        self._cut_at, self._given = cut_at, given
        self._apart = [(x[:, None, j] - x[None, :, j]) ** 2 for j in range(x.shape[1])]
        cuts = [float(c) for c in dict.fromkeys(np.quantile(np.abs(residual), _CUTS)) if c > 0]
        cuts = cuts or [max(float(np.abs(residual).max()), 1e-12)]
        shares = [max(float((np.abs(residual) < c).mean()), 0.3) for c in cuts]
        shares[-1] = 1.0
        self._cuts = [(-cut, cut, share, 0.0) for cut, share in zip(cuts, shares, strict=True)]
        self._alone = float((residual**2).mean())
        self.own = self._alone
        self.seen: list[float] = []
        self.tried: list[tuple[Smoothing, Floats]] = []

    def begin_again(self) -> None:
        """Forget what was tried, and keep what it has shown of single rows."""
        self.own = min([self.own, *self.seen])
        self.tried.clear()

    def look(self, bandwidth: Floats) -> Smoothing:
        """The best cut and ridge at these bandwidths."""
        residual, n, noise = self._residual, self._n, self._noise_sd
        m = len(residual)
        exponent = sum(a / h**2 for a, h in zip(self._apart, bandwidth, strict=True))
        k = np.exp(-0.5 * np.asarray(exponent))
        np.fill_diagonal(k, 0.0)
        scale = n / max(m - 1, 1)
        degree, squares = scale * k.sum(axis=1), scale**2 * (k**2).sum(axis=1)
        if not self._given and float(np.median(k.sum(axis=1))) < _NEIGHBOURS:
            largest = self._cuts[-1][1]
            nothing = Smoothing(bandwidth, largest, 1.0, 2.0, math.inf, self.own)
            self.tried.append((nothing, residual**2))
            return nothing
        mended = float(np.prod(1 / (1 + (bandwidth / self._doubt[1]) ** 2)))
        best: Smoothing | None = None
        first = True, math.inf
        plain = math.inf
        for low, high, share, bias in self._cuts_for(degree):
            middle, radius = (low + high) / 2, (high - low) / 2
            kept_residual = np.clip(residual, low, high)
            above = scale * (k @ kept_residual)
            # of single rows, as far as the cut leaves it
            each = self.own * float((kept_residual**2).mean()) / max(self._alone, 1e-300)
            for ridge in _RIDGES:
                weight = degree / (degree**2 + (ridge * noise) ** 2) / share
                fitted = above * weight
                left = (residual - fitted) ** 2
                plain = min(plain, float(left.mean()))
                spread = each * squares * weight**2
                gain = _believed(residual**2 - left + _LEAST * spread)
                if gain < 0:
                    gain = min(_believed(residual**2 - left + _MOST * spread), 0.0)
                private = (noise * weight) ** 2 * (radius**2 + (fitted - middle) ** 2)
                private += (weight * degree * share * bias) ** 2
                kept = weight * degree * share * mended  # of the public polynomial's error
                rest = spread * m / n + private + self._doubt[0] * (1 - kept) ** 2
                error = self._alone - gain + float(rest.mean())
                light = float(np.median(weight * degree * share)) < _HALF
                rank = light, error
                if best is None or rank < first:
                    first = rank
                    best = Smoothing(
                        bandwidth, radius, share, ridge, error, self.own, mended, middle
                    )
                    losses = left - _LEAST * spread + rest
        assert best is not None
        if not self._given and first[0]:
            best = replace(best, predicted=math.inf)
        self.seen.append(plain)
        self.tried.append((best, losses))
        return best

    def _cuts_for(self, degree: Floats) -> list[tuple[float, float, float, float]]:
        """Where residuals may be cut below and above, what share is not, and what may be missing."""
        if self._cut_at is None:
            return self._cuts
        cut = self._cut_at(self._noise_sd / max(float(np.median(degree)), 1.0))
        return [(cut.middle - cut.radius, cut.middle + cut.radius, cut.slope, cut.bias)]


def choose_smoothing(
    x: Floats,
    residual: Floats,
    n: int,
    noise: float,
    given: Floats | None,
    feasible: Callable[[Floats], bool],
    doubt: tuple[float, Floats],
    cut_at: Callable[[float], ResidualCut] | None = None,
) -> Smoothing:
    """Bandwidths, cut and ridge with the least expected error on left-out public rows.

    Parameters
    ----------
    x : (m, d) array
        Public covariates.
    residual : (m,) array
        Left-out residuals of the public fit.
    n : int
        Private rows.
    noise : float
        s, the noise sd of both sums.
    given : (d,) array or None
        Bandwidths that are not to be chosen.
    feasible : callable
        Whether a curve with these bandwidths can be released.
    doubt : (float, (d,) array)
        Of `centre_doubt`: a bandwidth far above those lengths leaves all of that error, one far
        below mends it.
    cut_at : callable, optional
        The cut where a local mean has noise of so many R; by default one of public quantiles.

    Notes
    -----
    Each public row is predicted from the others as if there were n of them: sums are scaled by n /
    m, the variance that m rows have more than n is taken off, and that of the noise is added. The
    search starts at bandwidths alike in standard deviations and then moves them one by one.
    """
    some = np.linspace(0, len(x) - 1, min(len(x), _MOST_ROWS)).astype(int)
    x, residual = x[some], residual[some]
    rows = _LeftOut(x, residual, n, noise, doubt, cut_at, given is not None)
    if given is not None:
        rows.look(given)
        rows.begin_again()
        return rows.look(given)
    unit = x.std(axis=0)
    unit = np.where(unit > 0, unit, 1.0)
    least = least_bandwidth(x)
    possible = [h for h in (np.maximum(unit * s, least) for s in _START) if feasible(h)]
    possible = possible or [unit * _START[-1] * 2]
    for h in possible:
        rows.look(h)
    rows.begin_again()
    best = min((rows.look(h) for h in possible), key=lambda s: s.predicted)
    d = x.shape[1]
    for _ in range(3 if d > 1 else 1):
        before = best.predicted
        for j in range(d):
            for move in _MOVES:
                changed = best.bandwidth.copy()
                changed[j] = max(changed[j] * move, least[j])
                if feasible(changed):
                    choice = rows.look(changed)
                    best = min(best, choice, key=lambda s: s.predicted)
        if best.predicted > 0.999 * before:
            break
    return _supported(rows.tried, best, doubt[0])


def _supported(tried: list[tuple[Smoothing, Floats]], best: Smoothing, doubt: float) -> Smoothing:
    """A bandwidth among those that public rows support, rather a wide one.

    The best is one by chance, as public rows hardly tell it from others: logarithms are averaged, each
    bandwidth as likely as a loss that differs so much from that of the best, in standard errors. The
    fewer rows make the loss, as where responses have a long tail, the wider it is.
    """
    losses = next(loss for choice, loss in tried if choice is best)
    logs = np.log([choice.bandwidth for choice, _ in tried])
    behind = np.array([choice.predicted - best.predicted for choice, _ in tried])
    unsure = np.array([float((loss - losses).std()) for _, loss in tried]) / math.sqrt(len(losses))
    likely = np.exp(-((behind / np.maximum(unsure, max(_ALIKE * doubt, 1e-300))) ** 2) / 2)
    mean = np.average(logs, axis=0, weights=likely)
    spread = np.sqrt(np.average((logs - mean) ** 2, axis=0, weights=likely))
    tails = float((losses**2).mean()) / max(float(losses.mean()) ** 2, 1e-300)
    wide = _RATHER_WIDE * min(max(math.sqrt(tails / _TAILS), 1.0), _WIDEST)
    away = np.abs(logs - mean - wide * spread).max(axis=1)
    return tried[int(np.argmin(away))][0]


def _believed(gains: Floats) -> float:
    """The mean of gains by row, shrunk by its own sampling error, to nothing where it is noise."""
    mean = float(gains.mean())
    error2 = float(gains.var()) / len(gains)
    return mean * max(1 - (math.sqrt(error2) / mean) ** 2, 0.0) if mean != 0 else 0.0


# -- nodes -----------------------------------------------------------------------------------------


def grid_axes(low: Floats, high: Floats, step: float, most: int) -> tuple[Floats, ...] | None:
    """Axes of a grid over a scaled box with at most this step; None when it has too many points."""
    counts = np.maximum(np.ceil((high - low) / step).astype(int) + 1, 1)
    if float(np.prod(counts.astype(float))) > most:
        return None
    return tuple(np.linspace(a, b, k) for a, b, k in zip(low, high, counts, strict=True))


def product_of(axes: Sequence[Floats]) -> Floats:
    """All points (m, d) of a grid."""
    return np.array(list(itertools.product(*axes)), dtype=np.float64).reshape(-1, len(axes))


def scattered_nodes(z: Floats, low: Floats, high: Floats, step: float, most: int) -> Floats:
    """Points of a lattice near public rows (d, m), those near many rows first, at most ``most``.

    Where private rows will lie is guessed from a smooth density of the public ones: each row
    stands for a cloud of points around it, drawn from a fixed sequence.
    """
    cloud = _cloud(z)
    cells = np.rint((np.clip(cloud, low, high) - low) / step).astype(np.int64)
    unique, counts = _distinct(cells)
    order = np.argsort(-counts, kind="stable")[:most]
    return np.minimum(low + unique[order] * step, high)


def _distinct(cells: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
    """The cells of a lattice that occur, in order, and how often."""
    sizes = tuple(cells.max(axis=0) + 1)
    if math.prod(float(size) for size in sizes) >= 2.0**62:
        return np.unique(cells, axis=0, return_counts=True)
    numbers, counts = np.unique(np.ravel_multi_index(tuple(cells.T), sizes), return_counts=True)
    return np.stack(np.unravel_index(numbers, sizes), axis=1), counts


def _cloud(z: Floats) -> Floats:
    """A smooth sample around public rows: half of Scott's bandwidth, a sequence that fills space."""
    d, m = z.shape
    spread = np.linalg.cholesky(np.cov(z).reshape(d, d) + 1e-9 * np.eye(d))
    factor = 0.5 * m ** (-1 / (d + 4))
    centre = z[:, np.arange(_CLOUD) % m].T
    return np.asarray(centre + factor * _normal_sequence(d) @ spread.T)


@cache
def _normal_sequence(d: int) -> Floats:
    """Points that lie as normal ones do, from a fixed sequence that fills space."""
    roots = np.sqrt(np.array([2, 3, 5, 7, 11, 13, 17, 19, 23, 29][:d], dtype=np.float64))
    sequence = np.modf(np.outer(np.arange(1, _CLOUD + 1), roots))[0]
    return np.asarray(special.ndtri(sequence))


# -- from released numbers to a curve --------------------------------------------------------------


@dataclass(frozen=True)
class Prediction:
    """A curve at some points: value, noise sd, sampling sd, and the weight of private rows.

    ``bias``: how far smoothing may have moved it. ``cut``: how far what was cut may have.
    """

    value: Floats
    noise_sd: Floats
    sampling_sd: Floats
    degree: Floats
    weight: Floats
    bias: Floats | float = 0.0
    cut: Floats | float = 0.0


def from_sums(
    above: Floats,
    below: Floats,
    sd: Floats,
    centre: Floats,
    smoothing: Smoothing,
    typical_sd: float,
    sigma: Floats | float,
    doubt: Floats,
    denominator: float = 1.0,
) -> Prediction:
    """The curve from noisy sums at some points.

    Parameters
    ----------
    above, below : (k,) arrays
        In units of R, and of rows.
    sd : (k,) array
        Noise of the first.
    centre : (k,) array
        The public fit.
    typical_sd : float
        s of `choose_smoothing`.
    sigma : float or (k,) array
        Standard deviation of residuals.
    doubt : (k,) array
        How far the public fit may be off, which counts where private rows cannot mend it.
    denominator : float
        Noise of the second sum over that of the first.
    """
    middle, radius = smoothing.middle, smoothing.radius
    degree = np.maximum(below, 0.0)
    ridge = (smoothing.ridge * typical_sd) ** 2
    factor = degree / (degree**2 + ridge) / smoothing.slope
    weight = degree**2 / (degree**2 + ridge)
    shift = (radius * above + middle * degree) * factor
    # how far a curve is that rows which are cut do not follow: from nothing to all that the slope says
    unsure = np.abs(shift) * (1 - smoothing.slope) / 2
    # a mean that comes near the cut has most of its rows there, and may lie far beyond it
    bound = np.where(shift > 0, radius + middle, radius - middle)
    full = np.clip(_FULL * (np.abs(shift) / np.maximum(bound, 1e-300) - _HALF), 0.0, _NEARLY)
    unsure = np.hypot(unsure, np.abs(shift) * full / (1 - full))
    shift = shift * (1 + smoothing.slope) / 2
    shift = np.clip(shift, min(middle - radius, 0.0), max(middle + radius, 0.0))
    noise = sd * factor * np.hypot(radius, denominator * (smoothing.slope * shift - middle))
    # the public fit is off, and means of few rows are off a smooth curve
    left = np.hypot(
        (1 - weight * smoothing.mended) * doubt,
        np.hypot((1 - weight) * sigma / np.sqrt(np.maximum(degree, 1.0)), unsure),
    )
    sampling = np.sqrt((factor * sigma) ** 2 * np.maximum(degree, sd) + left**2)
    return Prediction(centre + shift, noise, sampling, below, weight)


def interpolated(
    axes: tuple[Floats, ...] | None, nodes: Floats, values: Floats, points: Floats
) -> Floats:
    """Values at nodes carried to points (k, d): linear on a grid, else a kernel average of nodes."""
    if axes is not None:
        kept = [j for j, axis in enumerate(axes) if len(axis) > 1]
        if not kept:
            return np.full(len(points), float(values.ravel()[0]))
        shaped = values.reshape([len(axis) for axis in axes])
        shaped = shaped.reshape([len(axes[j]) for j in kept])
        inside = np.column_stack([np.clip(points[:, j], axes[j][0], axes[j][-1]) for j in kept])
        curve = scipy.interpolate.RegularGridInterpolator([axes[j] for j in kept], shaped)(inside)
        return np.asarray(curve)
    distance = ((points[:, None, :] - nodes[None, :, :]) ** 2).sum(axis=2)
    distance -= distance.min(axis=1, keepdims=True)
    weight = np.exp(-2 * distance)
    result: Floats = (weight @ values) / weight.sum(axis=1)
    return result
