"""Integer noise and coins, secure or seeded.

The discrete Gaussian of parameter sigma puts mass proportional to exp(-k^2 / (2 sigma^2)) on every
integer k. Added to integers that change by D_j in coordinate j between neighbours, with its own
sigma_j per coordinate, it is *exactly* rho-zCDP with rho = max sum_j D_j^2 / (2 sigma_j^2)
(Canonne, Kamath, Steinke 2020).

The statements in mu-GDP and (epsilon, delta) are those of the continuous Gaussian with the same
sigma. *What the lattice changes*, for a call that releases D numbers in all, in vectors of any length
and each chosen from those before:

Round continuous Gaussian noise to integers. The totals are integers, so what is released is a function
of the continuous release: exactly mu-GDP. Its masses p_k are near those q_k of the discrete Gaussian.
Write z = k / sigma and s = 1 / (24 sigma^2). Then p_k = r_k phi(z) / sigma with r_k the mean of
exp(-u^2 / (2 sigma^2)) cosh(u z / sigma) over u in [-1/2, 1/2], and q_k = phi(z) / (sigma N) with
N >= 1 (Poisson summation), hence q_k / p_k <= 1 / r_k. From exp(-x) >= 1 - x, cosh(x) >= 1 + x^2 / 2
and E u^2 = 1/12, E u^4 = 1/80,

    r_k >= 1 + x,  x = s (z^2 - 1) - 1.8 s^2 z^2 >= -s,

and with -log(1 + x) <= -x + x^2, E z^2 = 1 and E (z^2 - 1)^2 = 2 (up to exp(-10^9), by Poisson
summation) the Kullback-Leibler divergence of q from p is at most 1.8 s^2 + 2.1 s^2 < 4 s^2. Divergences
of what is released in turn add up, to 4 s^2 D, so that (Pinsker) no event has probabilities under the
two kinds of noise that differ by more than

    t = sqrt(2 D) s = 0.059 sqrt(D) / sigma^2.

A test between neighbours with errors a and b then has b >= G_mu(a + t) - t, G_mu the curve of mu-GDP:
errors are known up to t. Noise here never spans fewer than 2^16 steps (`SMALLEST_SD`): t < 1e-8 for up
to 500,000 numbers, and t < 1e-16 mu^2 sqrt(D) in every release of this package that is above the floor.

In (epsilon, delta) that would be (1 + exp(epsilon)) t. Without the factor: -log r_k <= 1.01 s for every
k, and cosh(x) <= exp(x^2 / 2) gives log r_k <= 1.01 s z^2 for |z| <= sigma / 5 (beyond lies less than
exp(-10^7)). The sum of z^2 exceeds D + 2 sqrt(60 D) + 120 with probability below exp(-60). So epsilon
grows by less than 1.01 s (2 D + 2 sqrt(60 D) + 120), which is below 1.2e-7 for up to 5000 numbers at
the floor, and delta by less than exp(epsilon - 60) and by a factor below 1 + 1.01 s D, 1 + 6e-8 there.

The discrete Laplace of scale b puts mass proportional to exp(-|k| / b) on every integer k. Added to
integers whose change is at most D in l1, it is *exactly* (D / b)-DP. Noise whose mass falls with the
Euclidean length of a vector is epsilon-DP as exactly (see `ball`). Neither needs a delta, nor a
correction for the lattice.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpstats.arrays import Floats
from dpstats.errors import PrivacyError
from dpstats.mechanism.ball import SphericalLaw, exact_draw, rough_draw
from dpstats.mechanism.integers import draw, happens

SMALLEST_SD = 2.0**16
LARGEST_SD = 2.0**57
_BEYOND = "The privacy asked for needs noise beyond what 64-bit integers hold: ask for a larger"


class Noise(Protocol):
    """A source of integer noise."""

    seeded: bool

    def integers(self, sd: float, size: int) -> NDArray[np.int64]:
        """Draw ``size`` independent discrete Gaussians with parameter ``sd``."""
        ...

    def laplace(self, scale: float, size: int) -> NDArray[np.object_]:
        """Draw ``size`` independent discrete Laplace variables, as integers of any size."""
        ...

    def spherical(
        self, sensitivity: float, weights: Floats, epsilon: float
    ) -> tuple[NDArray[np.object_], float]:
        """Draw the noise that makes an integer total epsilon-DP, as integers of any size.

        The change x of the total must have sum_j weights_j x_j^2 <= sensitivity^2. Also returned is
        the standard deviation of a coordinate of weight 1, sensitivity sqrt(q + 1) / epsilon for q
        coordinates; one of weight w has it / sqrt(w).
        """
        ...

    def coin(self, probability: float) -> bool:
        """True with exactly this probability."""
        ...


def check_sd(sd: float) -> float:
    """Refuse a noise scale for which the statements of this module would not hold."""
    if not SMALLEST_SD <= sd <= LARGEST_SD:
        raise PrivacyError(f"{_BEYOND} mu (or rho, or epsilon).")
    return sd


def check_largest(sd: float) -> None:
    """Refuse a noise scale that would be too large, before a release; one too small is made larger."""
    check_sd(max(sd, SMALLEST_SD))


def _check_scale(scale: float) -> float:
    if not 0 < scale <= LARGEST_SD:
        raise PrivacyError(f"{_BEYOND} epsilon.")
    return scale


class SecureNoise:
    """Exact draws (`integers`) by the operating system's cryptographic generator."""

    seeded = False

    def integers(self, sd: float, size: int) -> NDArray[np.int64]:
        return draw(check_sd(sd), size, 2)

    def laplace(self, scale: float, size: int) -> NDArray[np.object_]:
        return draw(_check_scale(scale), size, 1).astype(object)

    def spherical(
        self, sensitivity: float, weights: Floats, epsilon: float
    ) -> tuple[NDArray[np.object_], float]:
        ball = SphericalLaw.fitting(sensitivity, weights, epsilon, SMALLEST_SD)
        return exact_draw(ball, self.integers, self.laplace), ball.sd

    def coin(self, probability: float) -> bool:
        # a float is a whole number of 2^-k: that many of 2^k equally likely integers lie below it
        part = Fraction(min(max(0.0, probability), 1.0))  # NaN is no probability: 0
        return happens(part.numerator, part.denominator)


class SeededNoise:
    """Noise of these laws from a seed: reproducible, for teaching and tests, never for release."""

    seeded = True

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)

    def integers(self, sd: float, size: int) -> NDArray[np.int64]:
        # rounding a normal is the discrete law up to 1 / (24 sd^2), and sd >= 2^16; from 2^48 on the
        # last bits are those of floats, with more even integers than odd ones
        return np.rint(self._generator.normal(0.0, check_sd(sd), size)).astype(np.int64)

    def laplace(self, scale: float, size: int) -> NDArray[np.object_]:
        # the difference of two geometric variables, each with masses falling by exp(-1 / scale)
        ends = self._generator.geometric(-math.expm1(-1 / _check_scale(scale)), (2, size))
        drawn: NDArray[np.object_] = (ends[0] - ends[1]).astype(object)
        return drawn

    def spherical(
        self, sensitivity: float, weights: Floats, epsilon: float
    ) -> tuple[NDArray[np.object_], float]:
        ball = SphericalLaw.fitting(sensitivity, weights, epsilon, SMALLEST_SD)
        return rough_draw(ball, self._generator), ball.sd

    def coin(self, probability: float) -> bool:
        return bool(self._generator.random() < probability)


def make_noise(seed: int | None) -> Noise:
    """Secure noise, or seeded noise when the caller asked for a reproducible run."""
    return SecureNoise() if seed is None else SeededNoise(seed)
