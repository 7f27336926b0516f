"""Intervals of a released curve: local scales, what was cut, what smoothing may have moved.

All of it is computed from public and released numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from dpstats.arrays import Floats
from dpstats.models.eptr_nw.planning import Residuals
from dpstats.models.eptr_nw.rows import kernel

_SEEN, _LEAST_MASS = 2.0, 0.5
_SMALLEST_VARIANCE = 0.1
"""Local variances are no smaller part of the mean one."""
_OWN_SHARE = 0.3
"""Of a local mean square, what is not taken for the square of a local mean."""
_BETWEEN = 0.1
"""Least standard deviation of relative local variances."""
_ROUNDS = 60


def seen(degree: Floats, sd: Floats | float) -> NDArray[np.bool_]:
    """Whether released masses stand out of their noise, and are worth half a row at least."""
    return np.asarray(degree > _SEEN * np.asarray(sd) + _LEAST_MASS)


def critical(bias: Floats, level: float) -> Floats:
    """Quantile of |N(b, 1)| at ``level`` for biases b (k,) in standard errors.

    Examples
    --------
    >>> critical(np.array([0.0, 1.0, 9.0]), 0.95).round(2).tolist()
    [1.96, 2.65, 10.64]
    """
    low, high = np.zeros(len(bias)), bias + stats.norm.isf((1 - level) / 2) + 1e-12
    for _ in range(_ROUNDS):
        middle = (low + high) / 2
        short = stats.norm.cdf(middle - bias) - stats.norm.cdf(-middle - bias) < level
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
        total = float(mass.sum())
        if not total > 0:
            return cls(public, 1.0, 0.0)
        local = squares / np.maximum(degree, 1e-300)
        c = residuals.square
        mean = float(np.clip(mass @ local / total, 1e-4, 1.0))
        beyond = 0.0
        for side, bound in zip((residuals.below, residuals.above), bounds, strict=True):
            beyond += float(side.excess(np.array(c), 2) - side.excess(np.array(max(bound, c)), 2))
        relative, error = local / mean, noise / np.maximum(degree, 1e-300) / mean
        between = float(mass @ ((relative - 1) ** 2 - error**2)) / total
        return cls(c**2 * mean + beyond, mean, max(between, _BETWEEN**2))

    def relative(self, local: Floats, noise: Floats) -> Floats:
        """Local mean squares over the whole one, shrunk to 1 by their noise."""
        away, error2 = local / self.mean - 1, (noise / self.mean) ** 2
        shrunk = 1 + away * self.between / (self.between + error2)
        return np.asarray(np.maximum(shrunk, _SMALLEST_VARIANCE))

    def variance(self, relative: Floats, shift: Floats, noise: Floats) -> Floats:
        """Of responses about the curve: mean squares about the public fit, less what was shifted."""
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
    above = scale * residuals.above.excess(high / scale)
    below = scale * residuals.below.excess(low / scale)
    return above - below, above + below


@dataclass(frozen=True)
class Cover:
    """A grid over the curve's range, with the rows that each of its points stands for.

    Attributes
    ----------
    points : (m, d) array
    mass : (m,) array
    centre, shift : (m,) arrays
        The public fit there, and what private rows add to it.
    """

    points: Floats
    mass: Floats
    centre: Floats
    shift: Floats

    def bias(self, z: Floats, centre: Floats, shift: Floats, error: Floats) -> Floats:
        """How far smoothing moves a curve like the released one, at points z (k, d).

        The larger of two: what averages over the kernel do to the public polynomial, a function as
        curved as the truth is thought to be; and what they do to the private correction, less what the
        noise of it makes of that.
        """
        k = kernel(self.points, np.ascontiguousarray(z.T)) * self.mass[:, None]
        total = np.maximum(k.sum(axis=0), 1e-300)
        there = total > 1e-12
        polynomial = np.where(there, self.centre @ k / total - centre, 0.0)
        correction = np.where(there, self.shift @ k / total - shift, 0.0)
        d = z.shape[1]
        # a curve whose noise has the kernel for its covariance, less its average over the kernel
        left = 1 - 2 * 2.0 ** (-d / 2) + 3.0 ** (-d / 2)
        correction = np.sqrt(np.maximum(correction**2 - left * error**2, 0.0))
        return np.asarray(np.maximum(np.abs(polynomial), correction))
