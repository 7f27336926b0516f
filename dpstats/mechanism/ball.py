"""Noise whose mass falls with the Euclidean length of an integer vector: exactly epsilon-DP.

The K-norm mechanism of a ball (Hardt and Talwar 2010) has density proportional to exp(-epsilon |v|
/ sensitivity). Its length is Gamma(q) in q dimensions, its direction uniform, and the standard
deviation per coordinate sensitivity sqrt(q + 1) / epsilon. Here it is drawn on the integers, with
coordinates that may count more than once (`SphericalLaw`), by a sampler in which no number is
rounded (`exact_draw`), so that epsilon is all there is to state: no delta, and nothing that floats
lose.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dpstats.arrays import Floats
from dpstats.errors import PrivacyError
from dpstats.mechanism.integers import draw_one, happens, happens_exp

Draw = Callable[[float, int], NDArray[Any]]

_BITS = 16  # of a step; levels below 2^(53 - 16) times a step are floats
_LARGEST_LEVEL = 2 ** (53 - _BITS)
_LARGEST_REACH = 2.0**62
_TYPICAL = 4  # a typical draw stays this factor below both, so that few need `draw_one`


@dataclass(frozen=True)
class SphericalLaw:
    """The law of the noise: its norm, its levels and how fast its mass falls with them.

    Attributes
    ----------
    steps : (q,) array
        v_j, floats of `_BITS` significant bits. The ball of level r holds the k with
        sum_j (k_j / v_j)^2 <= q r^2, the length of a Gaussian of sd r v_j per coordinate.
    lowest : int
        Level r0 from which on the mass falls.
    scale : float
        1/a: levels over which it falls by e.
    sd : float
        Standard deviation of a coordinate of weight 1; one of weight w has sd / sqrt(w).

    Notes
    -----
    *Law.* level(k) is the smallest integer r whose ball holds k, that is |k| rounded up for the norm
    |k|^2 = sum_j (k_j / v_j)^2 / q, and p(k) is proportional to exp(-a max(r0, level(k))).

    *Privacy.* Let a total change by x with sum_j w_j x_j^2 <= sensitivity^2. With M a positive
    integer and v_j >= sensitivity / (M sqrt(q w_j)), |x|^2 <= M^2 sum_j w_j x_j^2 / sensitivity^2
    <= M^2. The triangle inequality gives |k + x| <= |k| + M; rounding up commutes with adding an
    integer, and the maximum with r0 brings numbers no further apart: levels change by at most M, and
    masses by a factor of at most exp(a M). `fitting` chooses a M <= epsilon. v_j are rounded up, as
    fractions say, and 1/a by more than floats lose: that costs some noise and no privacy.

    *Noise.* Nothing is lost to the levels, since M of them make up the sensitivity exactly. v_j are
    at most a factor of 1 + 2^-15 too large, and the sum over levels in `exact_draw` is the integral
    that makes the length Gamma(q) up to terms of relative size a^2.
    """

    steps: Floats
    lowest: int
    scale: float
    sd: float

    @classmethod
    def fitting(
        cls, sensitivity: float, weights: Floats, epsilon: float, smallest: float
    ) -> SphericalLaw:
        """The ball for totals whose change x has sum_j weights_j x_j^2 <= sensitivity^2.

        Noise never has fewer than ``smallest`` lattice steps: a budget so large that it would need
        fewer is not used up.
        """
        q, lightest, heaviest = len(weights), float(weights.min()), float(weights.max())
        if not (lightest > 0 and heaviest < math.inf and 0 <= sensitivity < math.inf):
            raise ValueError("weights must be numbers > 0 and the sensitivity one >= 0")
        if not 0 < epsilon < math.inf:
            raise PrivacyError(f"epsilon must be a finite number > 0, not {epsilon!r}.")
        sensitivity = max(sensitivity, 1.0)  # more than the truth, where it is less
        # lowest is then at most a quarter of the typical level (q + 1) / a
        used = min(epsilon, (q + 1) * sensitivity / (4 * smallest * math.sqrt(q * heaviest)))
        # 1/a >= 32 q, so that r^q / ((r + 1)...(r + q)), about exp(-a q / 2), is nearly 1
        parts = 2 ** max(0, math.ceil(math.log2(32 * q * used)))
        distinct, which = np.unique(weights, return_inverse=True)
        steps = [_step(sensitivity, q * Fraction(float(w)), parts) for w in distinct]
        lowest = max(1, math.ceil(Fraction(smallest) / Fraction(min(steps))))
        scale = parts / used * (1 + 2.0**-40)
        # r / scale is Gamma(q + 1) above x, with mean square (q + 1) (q + 2) kept; a coordinate of a
        # uniform point of the ball of level r has variance v^2 r^2 q / (q + 2)
        x = (lowest - 0.5) / scale
        kept = float(special.gammaincc(q + 3, x) / special.gammaincc(q + 1, x))
        sd = steps[0] * scale * math.sqrt(lightest * q * (q + 1) * kept)
        ball = cls(np.array(steps)[which], lowest, scale, sd)
        typical = _TYPICAL * (q + 1) * scale
        if typical > _LARGEST_LEVEL or ball.reach(typical) > _LARGEST_REACH:
            raise PrivacyError(
                "The privacy asked for needs noise beyond what 64-bit integers hold: ask for a "
                "larger epsilon, or for fewer variables."
            )
        return ball

    def reach(self, level: float) -> float:
        """Largest coordinate in the ball of this level, or 32 of its standard deviations if more."""
        return level * float(self.steps.max()) * max(math.sqrt(len(self.steps)), 32.0)


def _step(sensitivity: float, weight: Fraction, parts: int) -> float:
    """sensitivity / (parts sqrt(weight)), rounded up to `_BITS` significant bits."""
    mantissa, exponent = math.frexp(sensitivity / (parts * math.sqrt(weight)))
    units = math.ceil(math.ldexp(mantissa, _BITS))
    need = Fraction(sensitivity) ** 2 / (weight * parts**2)
    while Fraction(math.ldexp(units, exponent - _BITS)) ** 2 < need:  # what the floats lost
        units += 1
    return math.ldexp(units, exponent - _BITS)


def _geometric_sum(laplace: Draw, scale: float, size: int) -> int:
    """Sum of integers k >= 0, each with mass proportional to exp(-k / scale).

    A discrete Laplace X is that if X >= 0, and if X < 0, then -1 - X is.
    """
    return sum(max(x, ~x) for x in laplace(scale, size).tolist())


def _gaussians(ball: SphericalLaw, r: int, v: float, size: int, integers: Draw) -> list[int]:
    """Discrete Gaussians of sd exactly r v."""
    # r v is a float without rounding, and what a 64-bit integer cannot hold lies outside the ball
    if r <= _LARGEST_LEVEL and ball.reach(r) <= _LARGEST_REACH:
        drawn: list[int] = integers(r * v, size).tolist()
        return drawn
    return [draw_one(r * Fraction(v), 2) for _ in range(size)]


def exact_draw(ball: SphericalLaw, integers: Draw, laplace: Draw) -> NDArray[np.object_]:
    """One draw of the law of ``ball``.

    Parameters
    ----------
    integers, laplace : callable
        Exact samplers (parameter, size) of the discrete Gaussian and of the discrete Laplace.

    Notes
    -----
    Until one try succeeds:

    1. r is a sum of q + 1 geometric variables with masses proportional to exp(-a k), so that it has
       mass proportional to C(r + q, q) exp(-a r). It is refused below r0, and kept with
       probability r^q / ((r + 1) ... (r + q)): r^q exp(-a r), up to a factor free of r, is left.
    2. k_j is discrete Gaussian with sd r v_j, and k is refused outside the ball of level r. Inside, with
       Q = sum_j k_j^2 / (2 r^2 v_j^2) <= q/2, it is kept with probability exp(Q - q/2). That leaves
       every k of the ball the same probability exp(-q/2) / prod_j Z_j, where (Poisson summation)
       Z_j = sqrt(2 pi) r v_j (1 + 2 sum_(n>0) exp(-2 pi^2 n^2 r^2 v_j^2)).

    Since r v_j >= r0 v_j >= 2^16, the bracket lies between 1 and 1 + exp(-10^7). So (r, k) has mass
    proportional to c_r exp(-a r) for r >= max(r0, level(k)), with 1 - q exp(-10^7) <= c_r <= 1: the
    power of r has gone. Were c_r = 1, summing over r would leave exp(-a max(r0, level(k))). As it
    is, tails of the sum from L and from L + M have a ratio of at most
    exp(a M) / (1 - q exp(-10^7)), the excess of which is far less than the 2^-40 by which 1/a is
    rounded up: exp(epsilon) bounds it exactly.

    A try succeeds with probability close to E exp((X - q) / 2) 1[X <= q], X of law chi-square with q
    degrees of freedom: (q / (2e))^(q/2) / Gamma(q/2 + 1), about 1 / sqrt(pi q).
    """
    q = len(ball.steps)
    groups = [(float(v), np.flatnonzero(ball.steps == v)) for v in np.unique(ball.steps)]
    while True:
        r = _geometric_sum(laplace, ball.scale, q + 1)
        if r < ball.lowest or not happens(r**q, math.perm(r + q, q)):
            continue
        drawn = np.zeros(q, dtype=object)
        short = Fraction(q)
        for v, where in groups:
            part = _gaussians(ball, r, v, len(where), integers)
            short -= sum(k * k for k in part) / (r * Fraction(v)) ** 2
            drawn[where] = part
        if short >= 0 and happens_exp(short / 2):
            return drawn


def rough_draw(ball: SphericalLaw, generator: np.random.Generator) -> NDArray[np.object_]:
    """A draw of the law by floats, rounded to integers: a level, then a point of its ball."""
    q, r = len(ball.steps), 0.0
    while r < ball.lowest - 0.5:
        r = ball.scale * float(generator.gamma(q + 1))
    direction = generator.normal(size=q)
    direction /= np.sqrt(direction @ direction)
    length = r * math.sqrt(q) * generator.random() ** (1 / q)
    drawn = np.rint(ball.steps * direction * length)
    return np.array([int(k) for k in drawn], dtype=object)
