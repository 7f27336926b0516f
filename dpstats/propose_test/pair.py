"""The privacy of one pair of neighbours of whom each may get no answer.

Notation: Phi is the normal distribution function, e a value of epsilon, N and N' the normal laws
of the two neighbours, mu = |t(X) - t(X')| / s, and

    h_mu(a) = sup_S N(S) - exp(a) N'(S) = Phi(mu/2 - a/mu) - exp(a) Phi(-mu/2 - a/mu),  a real,

with h_0(a) = max(0, 1 - exp(a)) and h_inf = 1. h_mu(a) increases in mu (adding noise to both laws
is post-processing) and decreases in a.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from dpstats.accounting.privacy import resolve_privacy
from dpstats.arrays import Floats
from dpstats.errors import ArgumentError, PrivacyError


def log_gaussian_delta(mu: ArrayLike, epsilon: ArrayLike) -> Any:
    """log h_mu(a), vectorised in both arguments and accurate far into both tails.

    Parameters
    ----------
    mu : array_like
        Shift over standard deviation, in [0, inf].
    epsilon : array_like
        The order a, in [-inf, inf].

    Notes
    -----
    For a >= 0, log Phi(mu/2 - a/mu) + log(1 - exp(a + log Phi(-mu/2 - a/mu) - log Phi(mu/2 -
    a/mu))). For a < 0 the identity h_mu(a) = 1 - exp(a) + exp(a) h_mu(-a) is used, a sum of
    non-negative terms: with S the set where exp(a) N' < N, h_mu(a) = N(S) - exp(a) N'(S) =
    1 - exp(a) + exp(a) [N'(S^c) - exp(-a) N(S^c)], and the last bracket is h_mu(-a) because the
    pair of normal laws is symmetric.

    Examples
    --------
    >>> round(float(np.exp(log_gaussian_delta(1.0, 1.0))), 4)
    0.1269
    """
    shift, order = np.broadcast_arrays(
        np.asarray(mu, dtype=np.float64), np.asarray(epsilon, dtype=np.float64)
    )
    size = np.abs(order)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        high = special.log_ndtr(shift / 2 - size / shift)
        low = size + special.log_ndtr(-shift / 2 - size / shift)
        tail = np.where(low < high, high + np.log(-np.expm1(np.minimum(low - high, 0.0))), -np.inf)
        tail = np.where((shift == 0) | np.isinf(size), -np.inf, tail)
        front = np.log(-np.expm1(-size) + np.exp(tail - size))
        out = np.where(order >= 0, tail, front)
    out = np.where(np.isinf(shift), 0.0, out)
    return float(out) if out.ndim == 0 else out


def gaussian_mu(epsilon: float, delta: float) -> float:
    """Largest shift over noise sd for which a Gaussian release is (epsilon, delta)-private.

    Examples
    --------
    >>> round(gaussian_mu(1, 0.01), 6)
    0.532517
    """
    return resolve_privacy(epsilon=epsilon, delta=delta).mu


def one_way(p: Floats, q: Floats, mu: Floats, epsilon: Floats | float) -> Floats:
    """H_epsilon(P | Q) of `divergence`, vectorised; epsilon may be negative."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        growth = np.expm1(np.minimum(epsilon, 700.0))
        silent = (q - p) - np.where(q < 1, growth * (1 - q), 0.0)
        order = epsilon - np.log(p) + np.log(q)
        heard = np.where(p > 0, p * np.exp(log_gaussian_delta(mu, np.nan_to_num(order))), 0.0)
        heard = np.where((q <= 0) & (p > 0), p, heard)
    return np.asarray(np.maximum(silent, 0.0) + heard)


def divergence(p: float, q: float, shift_over_sd: float, epsilon: float) -> float:
    """Smallest delta for which one pair of neighbours is (epsilon, delta)-indistinguishable.

    Parameters
    ----------
    p, q : float
        Probabilities with which the two neighbours are answered.
    shift_over_sd : float
        mu, the distance of the two statistics over the noise sd; may be infinite.
    epsilon : float
        The order, >= 0.

    Notes
    -----
    *Exact.* Write P = (1-p) bot + p N and Q = (1-q) bot + q N' for the laws of the output.
    H_e(P|Q) = sup_S P(S) - exp(e) Q(S) is attained where the density of P exceeds exp(e) times
    that of Q. As bot lies outside R^d the supremum splits into

        H_e(P|Q) = max(0, (1-p) - exp(e)(1-q)) + p h_mu(e - log(p/q)),                         (1)

    where p N - exp(e) q N' = p [N - exp(e - log(p/q)) N']; for q = 0 the second term is p. Two
    normal laws with the same covariance s^2 I differ only along the line through their means, so
    h depends on mu alone. The result is the larger of H_e(P|Q) and H_e(Q|P).

    Examples
    --------
    >>> divergence(0.0, 1e-3, 0.5, 1.0)
    0.001
    """
    for name, value in (("p", p), ("q", q)):
        if not 0 <= value <= 1:
            raise ArgumentError(f"{name} must lie between 0 and 1, not {value!r}.")
    if not shift_over_sd >= 0:
        raise ArgumentError(f"shift_over_sd must be >= 0, not {shift_over_sd!r}.")
    if not 0 <= epsilon < math.inf:
        raise PrivacyError(f"epsilon must be a number >= 0, not {epsilon!r}.")
    first, second = np.array([p, q], dtype=np.float64), np.array([q, p], dtype=np.float64)
    return float(one_way(first, second, np.full(2, float(shift_over_sd)), epsilon).max())
