"""Propose-test-release in one constraint: how likely a release may be, by level of safety.

A data set X has an integer *level of safety* k(X) >= 0 that changes by at most one between
neighbours, and a statistic t(X) in R^d whose l2 change between neighbours is bounded by level
(`Levels`). The mechanism of this module

    releases t(X) + s N(0, I) with probability p_k, k = k(X), and says "no answer" otherwise.

What is proved where: the exact privacy of one pair of neighbours in `divergence`; that the curve
p_0 <= p_1 <= ... of `release_curve` is private and that no other curve is higher at any level
there as well; what the curve composes to in `gdp_split`; the original calibration of Shen, Tong
and Wang (2026), and where its proof ends, in `papers_plan`. "No answer" may be replaced by any
fixed public answer: post-processing.

Everything here is computed from public arguments, before any private row is read, and nothing here
draws a random number. `ReleasePlan.probability` is the one function that is later evaluated at a
private level: it raises for no input.

Notation: Phi is the normal distribution function, e a value of epsilon, N and N' the normal laws
of the two neighbours, mu = |t(X) - t(X')| / s, and

    h_mu(a) = sup_S N(S) - exp(a) N'(S) = Phi(mu/2 - a/mu) - exp(a) Phi(-mu/2 - a/mu),  a real,

with h_0(a) = max(0, 1 - exp(a)) and h_inf = 1. h_mu(a) increases in mu (adding noise to both laws
is post-processing) and decreases in a.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, special

from dpstats.errors import ArgumentError, PrivacyError, shown, whole
from dpstats.mechanism.privacy import resolve_privacy

Floats = NDArray[np.float64]
Calibration = Literal["dp", "gdp"]

_LARGEST_EPSILON = 100.0  # nobody is protected long before; the grid of orders is made for less
_SMALLEST_MU = 1e-4  # smaller shifts are treated as this one: h increases in mu, so it is safe
_ORDERS = 200
_MARGIN = 1e-9  # relative distance that every verified constraint keeps from its limit
_WINDOW = 1e-10  # solutions are sought in this (relative) strip below the margin
_ROUNDING = 1e-15  # more than what the sums of a few numbers in [0, 1] lose in floating point
_MOST_LEVELS = 10_000  # a curve that has not reached 1 this far beyond the profile stops


def _whole(name: str, value: Any, least: int) -> int:
    found = whole(value, least)
    if found is None:
        raise ArgumentError(f"{name} must be an integer >= {least}, not {shown(value)}.")
    return found


def _check_budget(epsilon: float, delta: float) -> float:
    """Refuse an (epsilon, delta) outside the range of this module; the Gaussian's mu otherwise."""
    mu = resolve_privacy(epsilon=epsilon, delta=delta).mu
    if epsilon > _LARGEST_EPSILON:
        raise PrivacyError(f"epsilon = {epsilon:g} protects nobody; ask for less.")
    return mu


def _check_sd(noise_sd: float) -> float:
    number = isinstance(noise_sd, int | float | np.integer | np.floating)
    if not number or isinstance(noise_sd, bool) or not noise_sd > 0:
        raise ArgumentError(f"noise_sd must be a number > 0, not {noise_sd!r}.")
    return float(noise_sd)


@dataclass(frozen=True, eq=False)
class Levels:
    """Sensitivity by level of safety: what the caller proves about the statistic.

    The level is an integer >= 0, level 0 is the unsafe one, and the levels of neighbours differ by
    at most one. A real-valued safety gamma >= 0 with |gamma - gamma'| <= 1 gives the level
    ceil(gamma): ceil is monotone and ceil(x + 1) = ceil(x) + 1.

    Attributes
    ----------
    same : ndarray of length K + 1
        Bound on the l2 change when both neighbours are at level k = 0..K; beyond K the last entry
        holds. Non-increasing, finite from level 1 on; ``same[0]`` may be infinite.
    up : ndarray of length K + 1
        Bound when they are at levels k and k + 1, with ``up[k] <= same[k]``; ``up[0]`` may be
        infinite. Beyond K the last entry holds.
    """

    same: Floats
    up: Floats

    def __post_init__(self) -> None:
        for name in ("same", "up"):
            values = np.array(getattr(self, name), dtype=np.float64)
            if values.ndim != 1 or not len(values) or np.isnan(values).any() or values.min() < 0:
                raise ArgumentError(f"{name} must be a vector of sensitivities >= 0.")
            if not np.isfinite(values[1:]).all():
                raise ArgumentError(f"{name} must be finite from level 1 on.")
            values.flags.writeable = False
            object.__setattr__(self, name, values)
        if len(self.same) != len(self.up):
            raise ArgumentError("same and up must have one entry per level each.")
        if len(self.same) == 1 and not math.isfinite(self.same[0]):
            raise ArgumentError("same needs an entry for level 1: only level 0 may be unbounded.")
        if (self.same[1:] > self.same[:-1]).any():
            raise ArgumentError(
                "same must not increase: a safer data set cannot be more sensitive."
            )
        if (self.up > self.same).any():
            raise ArgumentError("up[k] must not exceed same[k].")

    @classmethod
    def flat(cls, alpha: float) -> Levels:
        """One bound wherever one of the two neighbours is at level 1 or above, none at level 0.

        This is the generic case: gamma is 1-Lipschitz, gamma(X) > 0 implies that no neighbour of X
        is further than ``alpha`` away, and the level is ceil(gamma).
        """
        number = isinstance(alpha, int | float | np.integer | np.floating)
        if not number or isinstance(alpha, bool) or not 0 <= alpha < math.inf:
            raise ArgumentError(f"alpha must be a finite number >= 0, not {alpha!r}.")
        return cls(np.array([math.inf, alpha]), np.array([alpha, alpha], dtype=np.float64))

    def same_at(self, level: int) -> float:
        """Bound on the change when both neighbours are at this level."""
        return float(self.same[min(level, len(self.same) - 1)])

    def up_at(self, level: int) -> float:
        """Bound on the change when the neighbours are at this level and at the next."""
        return float(self.up[min(level, len(self.up) - 1)])

    def merged(self, first: int) -> Levels:
        """The profile whose level j is level ``first + j``, with everything below in level 0.

        If k is a valid level, so is max(0, k - first): it changes by at most one. Two data sets
        in the merged level are within ``same[0]``, the largest entry of ``same``; data sets at the
        merged level and the next are at ``first`` and ``first + 1``.
        """
        top = max(len(self.same), first + 2)
        same = np.array([self.same_at(k) for k in range(first, top)])
        up = np.array([self.up_at(k) for k in range(first, top)])
        same[0] = self.same[0]
        return Levels(same, up)


# --- the divergence of one pair of neighbours ------------------------------------------------


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


def _one_way(p: Floats, q: Floats, mu: Floats, epsilon: Floats | float) -> Floats:
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
    return float(_one_way(first, second, np.full(2, float(shift_over_sd)), epsilon).max())


# --- the constraints of a calibration -------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Ceilings:
    """What a calibration demands of every pair: H at order ``orders[j]`` is at most ``limits[j]``.

    The limits keep the relative distance `_MARGIN` from what the proof allows.
    """

    orders: Floats
    limits: Floats
    growth: Floats = field(init=False)
    excess: Floats = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "growth", np.exp(self.orders))
        object.__setattr__(self, "excess", np.expm1(self.orders))


def gdp_split(epsilon: float, delta: float, share: float = 0.1) -> tuple[float, float]:
    """(mu0, delta0) of the composable curve: delta0 + h_mu0(epsilon) = delta.

    Parameters
    ----------
    share : float
        Part of delta that goes into delta0, the probability of an answer in the unsafe level.

    Notes
    -----
    The "gdp" curve of `release_curve` satisfies, for every e >= 0 and in both directions,

        H_e <= T(e) = delta0 + (1 - delta0) h_mu0(e).                                          (3)

    *Domination.* T is the exact profile of the pair (C, Z), C = "revealed" with probability
    delta0 under either law but with different marks, independent of Z ~ N(mu0, 1) against N(0, 1):
    the mark of P contributes delta0 (Q does not give it), the unmarked part (1 - delta0) h_mu0(e).
    Its trade-off function is f_{0,delta0} (x) G_mu0 (Dong, Roth and Su 2022). (3) holds for e < 0
    too: H_e(P|Q) = 1 - exp(e) + exp(e) H_{-e}(Q|P) for every pair, and the dominating pair is
    symmetric. A profile bound at all real e is a bound on the trade-off function, since a
    trade-off function is the supremum of the lines 1 - H_e(P|Q) - exp(e) x. Hence every pair of
    neighbours has a trade-off function above f_{0,delta0} (x) G_mu0.

    *Composition.* Trade-off bounds compose by (x), adaptively. (x) is commutative, f_{0,a} (x)
    f_{0,b} = f_{0, 1-(1-a)(1-b)} and G_a (x) G_b = G_{sqrt(a^2+b^2)}. So releases with (mu_i,
    delta_i), Gaussian releases of the package being those with delta_i = 0, have together the
    profile D + (1 - D) h_m(e), m^2 = sum mu_i^2, D <= sum delta_i, which is at most
    sum delta_i + h_m(e): "mu-GDP up to delta0" adds mu^2 and delta0. For one release this gives
    (epsilon, delta), with delta0 (delta - delta0) to spare.

    Examples
    --------
    >>> mu0, delta0 = gdp_split(1, 1e-5)
    >>> round(mu0, 4), round(delta0, 12)
    (0.2664, 1e-06)
    """
    _check_budget(epsilon, delta)
    if not 0 < share < 1:
        raise ArgumentError(f"share must lie strictly between 0 and 1, not {share!r}.")
    slack = share * delta
    return gaussian_mu(epsilon, delta - slack), slack


@lru_cache(maxsize=256)
def _ceilings(epsilon: float, delta: float, calibration: str) -> _Ceilings:
    """The constraints of a calibration: one order for "dp", a covering grid for "gdp".

    Notes
    -----
    *A finite grid implies (3) at every e >= 0.* As a function of x = exp(e) >= 1 both
    H(x) = sup_S P(S) - x Q(S) and T(x) are convex and non-increasing. On a cell [x_j, x_{j+1}] let
    l be the tangent of T in its middle; l <= T everywhere. If H(x_j) <= l(x_j) and
    H(x_{j+1}) <= l(x_{j+1}), then H <= chord <= l <= T on the cell. The limit at x_j is the
    smaller one of the tangents of the two cells that meet there. Beyond the last point
    H <= H(x_J) <= delta0 < T, where the last limit is at most delta0. What is lost is of second
    order in the width of a cell: about (x_{j+1} - x_j)^2 T'' / 8, with T' = -(1 - delta0)
    Phi(-mu0/2 - e/mu0) and T'' = (1 - delta0) phi(mu0/2 + e/mu0) / (mu0 x). The points make this
    loss about the same fraction of T in every cell: below 0.6 % for epsilon <= 20 and below 2 %
    up to 100.
    """
    if calibration == "dp":
        return _Ceilings(np.array([epsilon]), np.array([delta * (1 - _MARGIN)]))
    mu, slack = gdp_split(epsilon, delta)
    goal, high = math.log(slack / 1000), 1.0
    while log_gaussian_delta(mu, high) > goal:
        high *= 2
    end = float(optimize.brentq(lambda e: log_gaussian_delta(mu, e) - goal, 0.0, high))
    fine = np.linspace(0.0, end, 20 * _ORDERS + 1)

    def profile(e: Floats) -> Floats:
        return np.asarray(slack + (1 - slack) * np.exp(log_gaussian_delta(mu, e)))

    # square root of T''(x) (dx/de)^2 / T, with a little everywhere so that no cell is endless
    log_bend = -((mu / 2 + fine / mu) ** 2) / 2 + fine - math.log(mu * math.sqrt(2 * math.pi))
    weight = np.sqrt((1 - slack) * np.exp(log_bend) / profile(fine))
    weight += 0.05 * weight.mean()
    mass = np.concatenate([[0.0], np.cumsum((weight[1:] + weight[:-1]) / 2)])
    orders = np.interp(np.linspace(0.0, mass[-1], _ORDERS), mass, fine)
    orders[0], orders[-1] = 0.0, end
    middle = (orders[1:] + orders[:-1]) / 2
    slope = -(1 - slack) * np.exp(middle + special.log_ndtr(-mu / 2 - middle / mu))  # times 1/x
    limits = np.full(_ORDERS, np.inf)
    limits[:-1] = profile(middle) + slope * np.expm1(orders[:-1] - middle)
    right = profile(middle) + slope * np.expm1(orders[1:] - middle)
    limits[1:] = np.minimum(limits[1:], right)
    limits[-1] = min(limits[-1], slack)
    return _Ceilings(orders, limits * (1 - _MARGIN))


def _tails(scaled: Floats, mu: float) -> tuple[Floats, Floats]:
    """N(S) and N'(S) of the best set S at order a, given a/mu (for mu = 0 its sign times inf)."""
    return special.ndtr(mu / 2 - scaled), special.ndtr(-mu / 2 - scaled)


def _scaled(order: Floats, mu: float) -> Floats:
    return order / mu if mu > 0 else np.where(order < 0, -np.inf, np.inf)


def _cap(mu: float, c: _Ceilings) -> float:
    """Largest p with p h_mu <= limits: both neighbours at the same level."""
    inside, outside = _tails(_scaled(c.orders, mu), mu)
    h = np.maximum(inside - c.growth * outside, 0.0)  # far in the tail it may round below 0
    return min(1.0, float(np.min(c.limits / h)))


def _pair(p: float, q: float, mu: float, c: _Ceilings) -> tuple[Floats, Floats]:
    """The two functions of p >= q that a step must keep below the limits, with their slopes.

    Row 0: H_e(p|q) = p h_mu(e - log(p/q)). Row 1: H_e(q|p) with "no answer" in the set S. Each is
    a supremum over S of functions that are linear in p, so convex, and its slope is that of the
    best S: N(S), and exp(e) (1 - N'(S)).
    """
    gap = math.log(p / q)
    order = np.stack([c.orders - gap, c.orders + gap])
    inside, outside = _tails(_scaled(order, mu), mu)
    value = np.empty_like(inside)
    value[0] = p * inside[0] - q * c.growth * outside[0]
    value[1] = (p - q) - c.excess * (1 - p) + q * inside[1] - p * c.growth * outside[1] + _ROUNDING
    inside[1] = c.growth * (1 - outside[1])
    return value, inside


def _step(q: float, cap: float, mu: float, guess: float, c: _Ceilings) -> float:
    """The largest p in [q, cap] that the pair of levels k, k + 1 allows, verified.

    Notes
    -----
    Newton's method from the right, for all orders at once: for a convex increasing function a
    Newton step ends at or to the right of the root, so the smallest of the steps stays at or to
    the right of the smallest root and falls to it quadratically. The target lies `_WINDOW` below
    the limits, and p is accepted once its own values are verified to be below them.
    """
    p = min(cap, max(guess, q))
    for attempt in range(40):
        value, slope = _pair(p, q, mu, c)
        if (attempt or p == cap) and bool((value <= c.limits).all()):
            return p
        new = min(cap, p - float(np.max((value - c.limits * (1 - _WINDOW)) / slope)))
        if new <= q:
            return q
        if attempt and new >= p:
            break
        p = new
    # here rounding (p next to 1, or a huge exp(epsilon)) is coarser than the window
    back = 2.0**-53
    while p > q:
        if bool((_pair(p, q, mu, c)[0] <= c.limits).all()):
            return p
        p -= back * p
        back *= 2
    return q


def _climb(
    levels: Levels, noise_sd: float, c: _Ceilings, last: int | None = None, enough: float = 1.0
) -> list[float]:
    """The recursion (2) of `release_curve` up to a level, or to the first p >= ``enough``."""

    def shift(bound: float) -> float:
        if bound == 0 or (math.isinf(noise_sd) and math.isfinite(bound)):
            return 0.0
        return max(bound / noise_sd, _SMALLEST_MU) if math.isfinite(bound) else math.inf

    end = len(levels.same) - 1
    if last is None:
        last = end + _MOST_LEVELS
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        cap_shift = shift(levels.same_at(0))
        cap = _cap(cap_shift, c)
        curve = [cap]
        scores = [float(special.ndtri(cap))]
        while len(curve) <= last and curve[-1] < enough:
            k = len(curve) - 1
            if shift(levels.same_at(k + 1)) != cap_shift:
                cap_shift = shift(levels.same_at(k + 1))
                cap = max(cap, _cap(cap_shift, c))
            ahead = 2 * scores[-1] - scores[-2] if k else scores[-1] + 0.5
            guess = float(special.ndtr(ahead))
            p = _step(curve[-1], cap, shift(levels.up_at(k)), guess, c)
            still = k >= end and p <= curve[-1] * (1 + 1e-13)
            curve.append(p)
            scores.append(float(special.ndtri(p)))
            if still:
                break
    return curve


def release_curve(
    levels: Levels,
    noise_sd: float,
    epsilon: float,
    delta: float,
    calibration: Calibration = "gdp",
) -> Floats:
    """The highest private curve p_0, p_1, ... for a given noise, by level of safety.

    Parameters
    ----------
    levels : Levels
        The sensitivities.
    noise_sd : float
        Standard deviation of the noise; infinite means that the payload costs nothing.
    epsilon, delta : float
        The budget.
    calibration : {"gdp", "dp"}
        "dp": exactly (epsilon, delta), best for a single release. "gdp": in addition the bound (3)
        of `gdp_split` at every order, so that the release composes like a Gaussian one.

    Returns
    -------
    ndarray
        Non-decreasing; it stops at the first 1, or where it no longer grows (noise too small), or
        at a cap on the number of levels. The last entry holds for all levels beyond.

    Notes
    -----
    Let C be the set of constraints "H_e <= limit(e) in both directions": e = epsilon and limit
    delta for "dp", all e >= 0 and T(e) for "gdp" (in the code finitely many orders that imply all
    of them, see `_ceilings`; what follows holds word by word for them). Let a(k), b(k) be
    ``same[k] / noise_sd`` and ``up[k] / noise_sd``, and

        cap(k) = max{p <= 1: p h_{a(k)}(e) <= limit(e) for all e},   p_0 = cap(0),
        p_{k+1} = max{p in [p_k, cap(k+1)]: C holds for (p, p_k) with mu = b(k)}.              (2)

    **Theorem.** The rule p_{k(X)} satisfies C for every pair of neighbours, and no rule that
    depends on k alone and satisfies C whenever the sensitivities are at most ``levels`` is higher
    at any level.

    *Monotonicity.* Let p >= q and e >= 0. (i) In H_e(p|q) the set S never holds "no answer",
    because (1-p) <= exp(e)(1-q); so H_e(p|q) = sup_S p N(S) - q exp(e) N'(S) increases in p and
    decreases in q. (ii) H_e(q|p) is the larger of two suprema. With "no answer" in S the value
    is (1-q) + q N(S) - exp(e)(1 - p + p N'(S)), which increases in p and decreases in q. Without
    it the value is at most q h_mu(e + log(p/q)) <= q h_mu(e). (iii) All increase in mu.

    *Private.* Neighbours are at the same level k, or at k and k+1. In the first case H_e(P|Q) =
    p_k h_mu(e) with mu <= a(k), by (1), and p_k <= cap(k). In the second C holds at mu = b(k) by
    (2), hence by (iii) at every smaller shift.

    *The set in (2) is an interval from p_k on.* It contains p_k: C for (p_k, p_k) is
    p_k h_{b(k)} <= p_k h_{a(k)} <= limit as b(k) <= a(k), and p_k <= cap(k) <= cap(k+1) as ``same``
    does not increase. It is an interval by (i) and (ii), whose third supremum stays below the
    limit throughout: q h_{b(k)}(e) <= cap(k) h_{a(k)}(e) <= limit(e) for q = p_k. Only
    H_e(p|q) and the value with "no answer" therefore need to be looked at (`_pair`).

    *Maximal.* Let r satisfy C. The pair at level k with the full shift gives r_k <= cap(k), so
    r_0 <= p_0. Suppose r_k <= p_k. If r_{k+1} <= p_k, then r_{k+1} <= p_{k+1}. Otherwise
    r_{k+1} > p_k >= r_k: by (i) and (ii), raising r_k to p_k only lowers H_e(r_{k+1}|.) and the
    value of H_e(.|r_{k+1}) with "no answer", and the one without is below the limit as above; so
    r_{k+1} lies in the set in (2), and r_{k+1} <= p_{k+1}.

    At mu = 0 this is the recursion of Desfontaines, Voss, Gipson and Mandayam (2022) for partition
    selection; the payload sits inside the same constraint, so that no budget is set aside for the
    test. In floating point every step is verified against limits lowered by 1e-9 (relative),
    and shifts below 1e-4 noise sd count as 1e-4 (they are exact at 0).

    The "dp" curve sits on its limit at epsilon and says little at other orders (its profile is
    never below p_0 = delta): it composes badly.

    Examples
    --------
    >>> curve = release_curve(Levels.flat(0.24124601), 1.0, 1.0, 1e-5, "dp")
    >>> [f"{p:.6g}" for p in curve[:4]]
    ['1e-05', '3.68035e-05', '0.000100755', '0.00023593']
    """
    _check_budget(epsilon, delta)
    _check_calibration(calibration)
    curve = _climb(
        levels, _check_sd(noise_sd), _ceilings(float(epsilon), float(delta), calibration)
    )
    return _frozen(curve)


def _check_calibration(calibration: str) -> None:
    if calibration == "paper":
        raise ArgumentError('calibration "paper" has its own function, papers_plan.')
    if calibration not in ("dp", "gdp"):
        raise ArgumentError(f'calibration must be "gdp" or "dp", not {calibration!r}.')


def _frozen(values: ArrayLike) -> Floats:
    out = np.array(values, dtype=np.float64)
    out.flags.writeable = False
    return out


def check_curve(curve: ArrayLike, levels: Levels, noise_sd: float, epsilon: float) -> float:
    """The exact delta(epsilon) of any curve: the supremum of (1) over all pairs of levels.

    It shares no code with the recursion and accepts every curve, also one that is not monotone.
    Pairs beyond the end of the curve, whose last entry holds there, are covered: the shift of two
    data sets there is at most ``same`` at the last level.
    """
    p = np.asarray(curve, dtype=np.float64)
    if p.ndim != 1 or not len(p) or not ((p >= 0) & (p <= 1)).all():
        raise ArgumentError("curve must be a vector of probabilities.")
    if not 0 <= epsilon < math.inf:
        raise PrivacyError(f"epsilon must be a number >= 0, not {epsilon!r}.")
    sd = _check_sd(noise_sd)
    same = np.array([levels.same_at(k) for k in range(len(p))]) / sd
    up = np.array([levels.up_at(k) for k in range(len(p) - 1)]) / sd
    pairs = [_one_way(p, p, same, epsilon)]
    pairs += [_one_way(p[1:], p[:-1], up, epsilon), _one_way(p[:-1], p[1:], up, epsilon)]
    return float(np.concatenate(pairs).max())


# --- plans ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ReleasePlan:
    """How a test-and-release will be run: the noise, and the probability of an answer by level.

    Attributes
    ----------
    epsilon, delta : float
        The budget, spent in full whether or not there is an answer.
    calibration : str
        "gdp", "dp" or "paper".
    noise_sd : float
        Standard deviation of the noise per coordinate.
    curve : ndarray
        Probability of an answer at level 0, 1, ...; the last entry holds beyond.
    step : float
        What one level is worth in the unit of the safety statistic, for the reader of a report.
    mu, slack : float or None
        mu0 and delta0 of the "gdp" calibration (see `gdp_split`).
    """

    epsilon: float
    delta: float
    calibration: str
    noise_sd: float
    curve: Floats
    step: float = 1.0
    mu: float | None = None
    slack: float | None = None

    @overload
    def probability(self, level: int | float | np.integer[Any]) -> float: ...

    @overload
    def probability(self, level: NDArray[Any]) -> Floats: ...

    def probability(self, level: Any) -> Any:
        """Probability of an answer at a level (or an array of levels); it never raises."""
        at = np.fmin(np.fmax(np.asarray(level, dtype=np.float64), 0.0), len(self.curve) - 1.0)
        out = self.curve[at.astype(np.int64)]
        return float(out) if out.ndim == 0 else out

    def level_for(self, probability: float) -> int | None:
        """Smallest level that is answered with at least this probability, if there is one."""
        good = np.flatnonzero(self.curve >= probability)
        return int(good[0]) if len(good) else None


def plan_release(
    levels: Levels,
    epsilon: float,
    delta: float,
    *,
    calibration: Calibration = "gdp",
    target: int | None = None,
    beta: float = 1e-3,
    noise_sd: float | None = None,
) -> ReleasePlan:
    """The smallest noise for which data sets at a target level are almost always answered.

    Parameters
    ----------
    levels : Levels
        The sensitivities.
    epsilon, delta : float
        The budget.
    calibration : {"gdp", "dp"}
        See `release_curve`.
    target : int
        The level, >= 1, that must be answered with probability at least ``1 - beta``.
    beta : float
        Largest probability of no answer at the target.
    noise_sd : float, optional
        Take this noise instead of the smallest one (``target`` and ``beta`` then have no effect).

    Raises
    ------
    PrivacyError
        If no noise is enough, because the target is too close to the unsafe level. The message
        names the smallest target that works.

    Notes
    -----
    Every p_k increases with the noise: a larger sd lowers every h, hence raises every cap and
    enlarges every set in (2), whose upper end increases with p_k (see `release_curve`). The
    smallest sd is therefore a root, found to 1e-7 and rounded to the safe side. The test at
    ``target`` levels of distance is nearly free when there are many: sd is then close to
    ``same[target] / mu``.

    A target far above the unsafe level gains nothing more from the levels at the very bottom; they
    are merged into level 0 (`Levels.merged`), which is private for the reason given there.

    Plans are kept and returned again for the same arguments.

    Examples
    --------
    >>> plan = plan_release(Levels.flat(1.0), 1.0, 1e-5, target=44)
    >>> round(plan.noise_sd, 2), plan.level_for(0.999), plan.probability(0) < 1e-5
    (4.1, 44, True)
    """
    _check_budget(epsilon, delta)
    _check_calibration(calibration)
    if noise_sd is not None:
        mu0, slack = gdp_split(epsilon, delta) if calibration == "gdp" else (None, None)
        sd = _check_sd(noise_sd)
        if math.isinf(sd):
            raise ArgumentError("noise_sd must be finite.")
        curve = release_curve(levels, sd, epsilon, delta, calibration)
        return ReleasePlan(
            float(epsilon), float(delta), calibration, sd, curve, mu=mu0, slack=slack
        )
    if target is None:
        raise ArgumentError("say which level must be answered, target=, or the noise, noise_sd=.")
    level = _whole("target", target, 1)
    if not (isinstance(beta, int | float | np.floating) and 0 < beta < 1 - delta):
        raise ArgumentError(f"beta must lie strictly between 0 and 1 - delta, not {beta!r}.")
    return _smallest_noise(
        levels.same.tobytes(),
        levels.up.tobytes(),
        float(epsilon),
        float(delta),
        calibration,
        level,
        float(beta),
    )


@lru_cache(maxsize=512)
def _smallest_noise(
    same: bytes,
    up: bytes,
    epsilon: float,
    delta: float,
    calibration: Calibration,
    target: int,
    beta: float,
) -> ReleasePlan:
    mu0, slack = gdp_split(epsilon, delta) if calibration == "gdp" else (None, None)
    mu = gaussian_mu(epsilon, delta) if mu0 is None else mu0
    c = _ceilings(epsilon, delta, calibration)
    goal = 1 - beta
    below = max(0, target - max(300, math.ceil(60 / mu)))
    levels = Levels(np.frombuffer(same), np.frombuffer(up))
    if below:
        levels = levels.merged(below)
    top = target - below
    bounds = np.concatenate([levels.same, levels.up])
    largest = float(bounds[np.isfinite(bounds)].max()) / _SMALLEST_MU
    if levels.same_at(top) == 0 or largest == 0:
        raise ArgumentError("a sensitivity of 0 at the target level needs no noise.")

    sharpest = _climb(levels, largest, c)
    works = next((k for k, p in enumerate(sharpest) if p >= goal), None)
    if works is None or works > top:
        reached = sharpest[min(top, len(sharpest) - 1)]
        said = "no target works" if works is None else f"the smallest that works is {works}"
        raise PrivacyError(
            f"target={target} is too close to the unsafe level for epsilon={epsilon:g}, "
            f"delta={delta:g}: with any noise a data set there is answered with probability "
            f"{reached:.3g} at most, not {goal:g}; {said}."
        )

    @cache
    def excess(log_sd: float) -> float:
        """Real-valued level at which the goal is reached, minus the target; <= 0 is good."""
        return _reach(levels, math.exp(log_sd), c, top, goal) - top

    low = math.log(levels.same_at(top) / mu)
    high, stride = low, 0.03
    while excess(high) > 0:
        low, high = high, min(high + stride, math.log(largest))
        stride *= 2
    stride = 0.03
    while low == high or excess(low) <= 0:
        low, high = low - stride, low
        stride *= 2
    root = float(optimize.brentq(excess, low, high, xtol=3e-8))
    width = 3e-8
    while excess(root) > 0:
        root, width = min(root + width, high), 2 * width
    sd = math.exp(root)
    curve = [0.0] * below + _climb(levels, sd, c)
    curve[:below] = [curve[below]] * below
    return ReleasePlan(epsilon, delta, calibration, sd, _frozen(curve), mu=mu0, slack=slack)


def _reach(levels: Levels, sd: float, c: _Ceilings, target: int, goal: float) -> float:
    """Where the curve crosses the goal, interpolated or extrapolated on the probit scale."""
    with np.errstate(divide="ignore", over="ignore", under="ignore"):
        if _cap(max(levels.same_at(target) / sd, _SMALLEST_MU), c) < goal:
            return 4.0 * target
    curve = _climb(levels, sd, c, target, goal)
    wanted = min(float(special.ndtri(goal)), 8.3)
    end = len(curve) - 1
    now = min(float(special.ndtri(curve[-1])), 8.3)
    if end == 0:
        return 0.0 if curve[0] >= goal else 4.0 * target
    slope = now - float(special.ndtri(curve[-2]))
    if curve[-1] >= goal:
        return end - (now - wanted) / slope
    if slope * 3 * target <= wanted - now:
        return 4.0 * target
    return target + (wanted - now) / slope


# --- the calibration of the paper -----------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PapersPlan(ReleasePlan):
    """Algorithm 2 of Shen, Tong and Wang (2026); the safety gamma is a real number >= 0.

    ``curve`` holds the probabilities at gamma = 0, 1, 2, ... for display.

    Attributes
    ----------
    alpha : float
        The sensitivity wherever gamma > 0.
    margin : float
        M, the safety that is answered with probability one half.
    """

    alpha: float = math.nan
    margin: float = math.nan

    @overload
    def probability(self, level: int | float | np.integer[Any]) -> float: ...

    @overload
    def probability(self, level: NDArray[Any]) -> Floats: ...

    def probability(self, level: Any) -> Any:
        """Probability of an answer at a real-valued safety; it never raises (nan counts as 0)."""
        gamma = np.fmax(np.asarray(level, dtype=np.float64), 0.0)
        out = special.expit(self.epsilon / 2 * (gamma - self.margin))
        return float(out) if out.ndim == 0 else out

    def level_for(self, probability: float) -> int | None:
        """Smallest whole gamma that is answered with at least this probability."""
        if probability <= self.probability(0):
            return 0
        if not probability < 1:
            return None
        gamma = self.margin + 2 / self.epsilon * float(special.logit(probability))
        return math.ceil(gamma)


def papers_plan(
    alpha: float, epsilon: float, delta: float, *, allow_unproved: bool = False
) -> PapersPlan:
    """The published calibration, for replication: a logistic test and classical Gaussian noise.

    Parameters
    ----------
    alpha : float
        Bound on the change of the statistic whenever gamma > 0 for one of the two neighbours.
    epsilon, delta : float
        The budget.
    allow_unproved : bool
        Beyond epsilon = 2, where the paper's proof ends, compute the exact delta instead and go on
        if it does not exceed the one that was asked for.

    Raises
    ------
    PrivacyError
        If epsilon > 2 (without ``allow_unproved``), or if the claim is false.

    Notes
    -----
    p(gamma) = 1 / (1 + exp(-(epsilon/2)(gamma - M))), M = 1 + (2/epsilon) log max(1/delta,
    1/epsilon), noise sd = (2 alpha/epsilon) sqrt(2 log(1.25/delta)).

    *Proof for epsilon <= 2.* The slopes of log p and log(1-p) in gamma are (epsilon/2)(1-p) and
    -(epsilon/2) p, and gamma changes by at most one, so the answer "yes or no" is
    (epsilon/2, 0)-private. If gamma > 0 for one of the two, the shift is at most alpha and the
    Gaussian part (epsilon/2, delta)-private: by the classical theorem, which needs
    epsilon/2 <= 1; here the exact h_mu(epsilon/2) <= delta is evaluated. For a set S of answers
    p N(S) <= p (exp(epsilon/2) N'(S) + delta) <= exp(epsilon) q N'(S) + delta; with
    1-p <= exp(epsilon/2)(1-q) this is (epsilon, delta). If gamma = gamma' = 0, "no answer" is
    equally likely and the divergence at most p(0) <= exp(-M epsilon/2) <= exp(-epsilon/2) delta.

    *The exact delta beyond* (`papers_delta`). The first term of (1) is 0, since 1-p <=
    exp(epsilon/2)(1-q) for all pairs. For p <= q the second is at most h_mu(epsilon). For p > q
    it increases in p and decreases in q (part (i) in `release_curve`), so gamma' = gamma + 1 is
    worst, and over a cell gamma in [g, g + w] it is at most its value at the probabilities
    p(g + w + 1) and p(g): an upper bound on the supremum, within a factor exp(epsilon w).

    Examples
    --------
    >>> plan = papers_plan(1.0, 1.0, 1e-2)
    >>> round(plan.noise_sd, 2), round(plan.margin, 1), round(plan.probability(24.0), 3)
    (6.22, 10.2, 0.999)
    """
    _check_budget(epsilon, delta)
    number = isinstance(alpha, int | float | np.integer | np.floating)
    if not number or isinstance(alpha, bool) or not 0 < alpha < math.inf:
        raise ArgumentError(f"alpha must be a finite number > 0, not {alpha!r}.")
    root = math.sqrt(2 * math.log(1.25 / delta))
    mu = epsilon / (2 * root)
    margin = 1 + 2 / epsilon * math.log(max(1 / delta, 1 / epsilon))
    half = math.exp(log_gaussian_delta(mu, epsilon / 2))
    if epsilon > 2 and not allow_unproved:
        raise PrivacyError(
            f"the paper's calibration is proved for epsilon <= 2 only: at epsilon={epsilon:g} it "
            f"needs the classical Gaussian theorem at epsilon/2={epsilon / 2:g}, which asks for "
            f"epsilon/2 <= 1 (exact delta of that part: {half:.3g}, claimed: {delta:g}). "
            'calibration "gdp" or "dp" has no such limit; allow_unproved=True computes the exact '
            "delta instead."
        )
    if half > delta:
        worst = papers_delta(epsilon, delta)
        if worst > delta:
            raise PrivacyError(
                f"the paper's claim is false at epsilon={epsilon:g}, delta={delta:g}: the release "
                f"has delta(epsilon)={worst:.3g} > {delta:g} (its Gaussian part alone claims "
                f"delta={delta:g} at epsilon/2={epsilon / 2:g} and has {half:.3g})."
            )
    far = math.ceil(margin + 2 / epsilon * math.log(1e6))
    curve = _frozen(special.expit(epsilon / 2 * (np.arange(far + 1) - margin)))
    return PapersPlan(
        float(epsilon),
        float(delta),
        "paper",
        alpha / mu,
        curve,
        alpha=float(alpha),
        margin=margin,
    )


def papers_delta(epsilon: float, delta: float) -> float:
    """What the paper's calibration for (epsilon, delta) really has: its exact delta(epsilon).

    An upper bound within a relative 1e-3; the argument is in `papers_plan`.
    """
    _check_budget(epsilon, delta)
    mu = epsilon / (2 * math.sqrt(2 * math.log(1.25 / delta)))
    margin = 1 + 2 / epsilon * math.log(max(1 / delta, 1 / epsilon))
    far = margin + 2 / epsilon * math.log(1e6 / delta)
    width = 1e-3 / epsilon
    gamma = np.linspace(0.0, far, math.ceil(far / width) + 1)

    p = np.append(special.expit(epsilon / 2 * (gamma[1:] + 1 - margin)), 1.0)
    q = special.expit(epsilon / 2 * (gamma - margin))
    log_part = np.log(p) + log_gaussian_delta(mu, epsilon - np.log(p) + np.log(q))
    return max(math.exp(np.max(log_part)), math.exp(log_gaussian_delta(mu, epsilon)), float(q[0]))
