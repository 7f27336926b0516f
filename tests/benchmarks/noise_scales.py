"""Privacy units, and noise in floating-point numbers: for benchmarks, NOT for release."""

import math

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr

from .plain_fits import Array


def gdp_delta(mu: float, epsilon: float) -> float:
    """The delta at which ``mu``-GDP implies (epsilon, delta); Dong, Roth and Su (2022), Cor. 1."""
    upper = ndtr(-epsilon / mu + mu / 2)
    lower = math.exp(epsilon + float(log_ndtr(-epsilon / mu - mu / 2)))
    return float(upper) - lower


def gdp_mu(epsilon: float, delta: float) -> float:
    """Largest ``mu`` for which ``mu``-GDP implies (epsilon, delta), solved numerically.

    A Gaussian mechanism is (epsilon, delta) exactly when its sensitivity / noise sd is at most
    this number, so ``sensitivity / gdp_mu(epsilon, delta)`` is the analytic Gaussian calibration
    of Balle and Wang (2018).
    """
    if not (epsilon >= 0 and 0 < delta < 1):
        raise ValueError("epsilon must be at least 0 and delta inside (0, 1)")
    high = 1.0
    while gdp_delta(high, epsilon) < delta:
        high *= 2
    low = high
    while gdp_delta(low, epsilon) > delta:
        low /= 2
    if low == high:
        return low
    return float(brentq(lambda mu: gdp_delta(mu, epsilon) - delta, low, high, xtol=1e-14))


def per_mechanism_mu(mu_each: float | None, rho_each: float | None) -> float:
    """``mu`` of one Gaussian mechanism; under zCDP it is ``sqrt(2 rho)``."""
    if mu_each is not None and rho_each is None:
        return mu_each
    if rho_each is not None and mu_each is None:
        return math.sqrt(2 * rho_each)
    raise ValueError("give exactly one of mu_each and rho_each")


def symmetric_noise(d: int, sd: float, rng: np.random.Generator) -> Array:
    """Symmetric (d, d) matrix, upper triangle and diagonal iid N(0, sd^2)."""
    upper = np.triu(rng.normal(0.0, sd, (d, d)))
    return upper + np.triu(upper, 1).T
