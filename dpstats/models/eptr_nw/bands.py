"""Intervals of a released curve: local scales, what was cut, what smoothing may have moved.

All of it is computed from public and released numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from dpstats.arrays import Floats
from dpstats.models.eptr_nw.planning import Residuals, unsure
from dpstats.models.eptr_nw.rows import Centre, kernel

SEEN, _LEAST_MASS = 2.0, 0.5
_SMALLEST_VARIANCE = 0.1
"""Local variances are no smaller part of the mean one."""
_OWN_SHARE = 0.3
"""Share of a local mean square that is not taken for the square of a local mean."""
_BETWEEN = 0.1
"""Least standard deviation of relative local variances."""
CUT_DOUBT = 0.5
"""Share of what may have been cut that counts as an error."""
_ONE_SIDED = 0.8
"""Distance of a point at the end of rows from their mean under the kernel, sqrt(2/pi)."""
_END = 0.35
"""Bandwidths to which the end of the rows is known."""
_AGAIN, _AGAIN_PUBLIC = 20, 2
"""Most times that what smoothing takes off a curve is added back: by private rows, whose ends many of
them show, and by public ones. After two, 0.99 of a bend is told where it told 0.78, and 0.9 of what an
end of even rows does, in place of 0.5; where rows get few towards an end two tell half, twenty all."""
_SHARPER = 10
_ENOUGH = 30.0
"""Public rows near a point by which averages over the kernel are told."""
_ROUNDS = 60


def seen(degree: Floats, sd: Floats | float, times: float = SEEN) -> NDArray[np.bool_]:
    """Whether released masses stand out of their noise, and are worth half a row at least."""
    return np.asarray(degree > times * np.asarray(sd) + _LEAST_MASS)


def critical(bias: Floats, level: float) -> Floats:
    """Quantile of |N(b, 1)| at ``level`` for biases b (k,) in standard errors.

    Examples
    --------
    >>> critical(np.array([0.0, 1.0, 9.0]), 0.95).round(2).tolist()
    [1.96, 2.65, 10.64]
    """
    low, high = np.zeros(len(bias)), bias + scipy.stats.norm.isf((1 - level) / 2) + 1e-12
    for _ in range(_ROUNDS):
        middle = (low + high) / 2
        short = scipy.stats.norm.cdf(middle - bias) - scipy.stats.norm.cdf(-middle - bias) < level
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    return np.asarray(high)


@dataclass(frozen=True)
class Scale:
    """Mean squares of residuals, local ones in relation to the whole.

    Attributes
    ----------
    square : float
        Mean square of cut residuals.
    mean : float
        Mean of w of `rows`.
    between : float
        Variance of local means of w, in units of the square of the mean.
    """

    square: float
    mean: float
    between: float

    @classmethod
    def of(
        cls,
        squares: Floats,
        degree: Floats,
        noise: Floats,
        mass: Floats,
        residuals: Residuals,
        bounds: tuple[float, float],
        public: float,
    ) -> Scale:
        """From sums of w and degrees at points that stand for ``mass`` rows each.

        ``noise``: of the sums of w. ``bounds``: how far residuals are kept below and above 0.
        ``public``: a mean square for where no row is seen.
        """
        there = mass > 0
        if not there.any():
            return cls(public, 1.0, 0.0)
        squares, degree, noise, mass = (v[there] for v in (squares, degree, noise, mass))
        total = float(mass.sum())
        local = squares / degree
        c = residuals.square
        mean = float(np.clip(mass @ local / total, 1e-4, 1.0))
        beyond = residuals.beyond_squares(bounds)
        relative, error = local / mean, noise / degree / mean
        between = float(mass @ ((relative - 1) ** 2 - error**2)) / total
        return cls(c**2 * mean + beyond, mean, max(between, _BETWEEN**2))

    def relative(self, local: Floats, noise: Floats) -> Floats:
        """Local mean squares over the whole one, shrunk to 1 by their noise."""
        away, error2 = local / self.mean - 1, np.minimum(noise / self.mean, 1e100) ** 2
        shrunk = 1 + away * self.between / (self.between + error2)
        return np.asarray(np.maximum(shrunk, _SMALLEST_VARIANCE))

    def variance(self, relative: Floats, shift: Floats, noise: Floats) -> Floats:
        """Variance of responses about the curve: mean squares about the public fit, less the shift."""
        square = self.square * relative
        moved = np.maximum(shift**2 - noise**2, 0.0)
        return np.asarray(np.maximum(square - moved, _OWN_SHARE * square))


def beyond_cut(
    residuals: Residuals, bounds: tuple[float, float], scale: Floats
) -> tuple[Floats, Floats]:
    """What the cut took off local means, and what it may have taken in either direction.

    Residuals are taken to have one law everywhere, ``scale`` (k,) times as wide.
    """
    low, high = bounds
    found = [
        scale * side.excess(bound / scale)
        for side, bound in zip((residuals.above, residuals.below), (high, low), strict=True)
    ]
    above, below = (
        scale * side.missing(bound / scale)
        for side, bound in zip((residuals.above, residuals.below), (high, low), strict=True)
    )
    return found[0] - found[1], unsure(above, below)


@dataclass(frozen=True)
class Cover:
    """Points of the curve's range, with the rows that each of them stands for.

    Attributes
    ----------
    points : (m, d) array
    mass : (m,) array
    shift : (m,) array
        What private rows add to the public fit there.
    """

    points: Floats
    mass: Floats
    shift: Floats

    def _weights(self, z: Floats) -> tuple[Floats, Floats]:
        """Weights (m, k) of kernel means at points z (k, d), and how many rows each mean is of."""
        k = kernel(self.points, np.ascontiguousarray(z.T)) * self.mass[:, None]
        total = k.sum(axis=0)
        return k / np.maximum(total, 1e-300), total

    def one_sided(self, z: Floats) -> Floats:
        """How far rows lie to one side of points z (k, d): 1 at an end of even rows."""
        there, _ = self._weights(z)
        beside = np.linalg.norm(there.T @ self.points - z, axis=1) / _ONE_SIDED
        return np.asarray(np.minimum(beside, 1.0))

    def moved(self, z: Floats, shift: Floats) -> tuple[Iterator[Floats], Floats]:
        """How far the kernel moves a curve whose kernel mean the shift is, and the rows near a point.

        Smoothing flattens what it is to be told by: the shift moves less than the curve behind it did,
        at an end of the rows half as far or less. So what each average takes off is added back, once
        and more often; there is an answer for each time. The more rows lie on one side of
        a point, up to half as much is added, since where they end is known to a bandwidth only.
        """
        (here, _), (there, total) = self._weights(self.points), self._weights(z)
        longer = 1 + self.one_sided(z) / 2

        def answers() -> Iterator[Floats]:
            sharper: Floats = self.shift
            value: Floats = shift
            for _ in range(_AGAIN):
                value = value + shift - sharper @ there
                sharper = sharper + self.shift - sharper @ here
                yield (sharper @ there - value) * longer

        return answers(), total


def sharpened(points: Floats, mass: Floats, rounds: int = _SHARPER) -> Floats:
    """Rows at points, from sums of the kernel over rows there: without what the kernel spreads.

    Steps of Richardson (1972) and Lucy (1974), which keep numbers positive.
    """
    k = kernel(points, np.ascontiguousarray(points.T))
    spread, total = k.sum(axis=0), mass
    for _ in range(rounds):
        explained = np.maximum(total @ k / spread, 1e-300)
        total = total * ((mass / explained) @ k / spread)
    return np.asarray(total)


def smoothing_bias(covers: Sequence[Cover], z: Floats, shift: Floats, error: Floats) -> Floats:
    """How far smoothing moved a correction like the released one, at points z (k, d).

    As `Cover.moved` has it, less what the noise of the correction makes of that: the largest answer. The
    first answers miss ends of the rows where these get few, the last ones are noise on most curves.
    The first of ``covers`` is of private rows. Others count in the first answers, where they have rows
    enough near a point.
    """
    each = [cover.moved(z, shift) for cover in covers]
    most = np.zeros(len(z))
    for j, left in enumerate(_noise_moved(z.shape[1])):
        moved = np.zeros(len(z))
        for k, (answers, total) in enumerate(each):
            if k == 0 or j < _AGAIN_PUBLIC:
                moved = np.where(total > (_ENOUGH if k else 1e-12), next(answers), moved)
        most = np.maximum(most, moved**2 - left * error**2)
    return np.asarray(np.sqrt(most))


def beyond_range(bias: Floats, distance: Floats, moved: Floats) -> Floats:
    """The bias of a curve taken at the edge of its range for points (k,) so many bandwidths beyond it.

    At an end the bias is what the curve does between a point and the rows about it, so that it grows
    with their distance. ``moved``: what the public fit does on the way.
    """
    return np.asarray(bias * (1 + distance / _ONE_SIDED) + np.abs(moved))


def end_doubt(cover: Cover, z: Floats, centre: Centre) -> Floats:
    """How far a polynomial that released sums told may be off at an end of the rows, at points (k, d).

    Where they end is known to a part of a bandwidth: so far may what it was told lie to one side.
    """
    square = np.zeros(len(z))
    for step in np.eye(z.shape[1]) / 2:
        ahead, behind = (np.ascontiguousarray((z + s * step).T) for s in (1, -1))
        square += (centre(ahead) - centre(behind)) ** 2
    return np.asarray(_END * cover.one_sided(z) * np.sqrt(square))


def _noise_moved(d: int) -> list[float]:
    """Variance of the answers of `Cover.moved` of a curve of noise, in units of its own.

    The noise has the kernel for its covariance, and is moved by (1 - S)(1 + (1 - S) + ...) for a
    smoothing S, of which S^k keeps (k + 1)^(-d/2) of a variance.
    """
    rest = np.polynomial.Polynomial([1.0, -1.0])
    found, total = [], np.polynomial.Polynomial([1.0])
    for j in range(1, _AGAIN + 1):
        total = total + rest**j
        coef = np.asarray(((rest * total) ** 2).coef, dtype=np.float64)
        found.append(float(coef @ (np.arange(len(coef)) + 1.0) ** (-d / 2)))
    return found
