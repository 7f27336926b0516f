"""How likely an answer may be at each level of safety: the highest private curve.

The curve is calibrated for one release, "dp", or to compose like a Gaussian one, "gdp". That it is
private and that no other is higher is proved in `release_curve`, what it composes to in `gdp_split`.
Notation as in `dpstats.propose_test.pair`; (1) is the formula of `divergence` there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

import numpy as np
import scipy
from numpy.typing import ArrayLike
from scipy import special

from dpstats.accounting.privacy import resolve_privacy
from dpstats.arrays import Floats
from dpstats.errors import ArgumentError, PrivacyError
from dpstats.propose_test.pair import gaussian_mu, log_gaussian_delta

Calibration = Literal["dp", "gdp"]

SMALLEST_MU = 1e-4  # smaller shifts are treated as this one: h increases in mu, so it is safe
_LARGEST_EPSILON = 100.0  # nobody is protected long before; the grid of orders is made for less
_ORDERS = 200
_MARGIN = 1e-9  # relative distance that every verified constraint keeps from its limit
_WINDOW = 1e-10  # solutions are sought in this (relative) strip below the margin
_ROUNDING = 1e-15  # more than what the sums of a few numbers in [0, 1] lose in floating point
_MOST_LEVELS = 10_000  # a curve that has not reached 1 this far beyond the profile stops


def check_budget(epsilon: float, delta: float) -> float:
    """Refuse an (epsilon, delta) outside the range of this module; the Gaussian's mu otherwise."""
    mu = resolve_privacy(epsilon=epsilon, delta=delta).mu
    if epsilon > _LARGEST_EPSILON:
        raise PrivacyError(f"epsilon = {epsilon:g} protects nobody; ask for less.")
    return mu


def check_sd(noise_sd: float) -> float:
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


@dataclass(frozen=True, eq=False)
class Ceilings:
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


def gdp_split(epsilon: float, delta: float) -> tuple[float, float]:
    """(mu0, delta0) of the composable curve: delta0 + h_mu0(epsilon) = delta.

    A tenth of delta goes into delta0, the probability of an answer in the unsafe level.

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
    check_budget(epsilon, delta)
    slack = 0.1 * delta
    return gaussian_mu(epsilon, delta - slack), slack


@lru_cache(maxsize=256)
def ceilings(epsilon: float, delta: float, calibration: str) -> Ceilings:
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
        return Ceilings(np.array([epsilon]), np.array([delta * (1 - _MARGIN)]))
    mu, slack = gdp_split(epsilon, delta)
    goal, high = math.log(slack / 1000), 1.0
    while log_gaussian_delta(mu, high) > goal:
        high *= 2
    end = float(scipy.optimize.brentq(lambda e: log_gaussian_delta(mu, e) - goal, 0.0, high))
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
    return Ceilings(orders, limits * (1 - _MARGIN))


def _tails(scaled: Floats, mu: float) -> tuple[Floats, Floats]:
    """N(S) and N'(S) of the best set S at order a, given a/mu (for mu = 0 its sign times inf)."""
    return special.ndtr(mu / 2 - scaled), special.ndtr(-mu / 2 - scaled)


def _scaled(order: Floats, mu: float) -> Floats:
    return order / mu if mu > 0 else np.where(order < 0, -np.inf, np.inf)


def level_cap(mu: float, c: Ceilings) -> float:
    """Largest p with p h_mu <= limits: both neighbours at the same level."""
    inside, outside = _tails(_scaled(c.orders, mu), mu)
    h = np.maximum(inside - c.growth * outside, 0.0)  # far in the tail it may round below 0
    return min(1.0, float(np.min(c.limits / h)))


def _pair(p: float, q: float, mu: float, c: Ceilings) -> tuple[Floats, Floats]:
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


def _step(q: float, cap: float, mu: float, guess: float, c: Ceilings) -> float:
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


def climb(
    levels: Levels, noise_sd: float, c: Ceilings, last: int | None = None, enough: float = 1.0
) -> list[float]:
    """The recursion (2) of `release_curve` up to a level, or to the first p >= ``enough``."""

    def shift(bound: float) -> float:
        if bound == 0 or (math.isinf(noise_sd) and math.isfinite(bound)):
            return 0.0
        return max(bound / noise_sd, SMALLEST_MU) if math.isfinite(bound) else math.inf

    end = len(levels.same) - 1
    if last is None:
        last = end + _MOST_LEVELS
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        cap_shift = shift(levels.same_at(0))
        cap = level_cap(cap_shift, c)
        curve = [cap]
        scores = [float(special.ndtri(cap))]
        while len(curve) <= last and curve[-1] < enough:
            k = len(curve) - 1
            if shift(levels.same_at(k + 1)) != cap_shift:
                cap_shift = shift(levels.same_at(k + 1))
                cap = max(cap, level_cap(cap_shift, c))
            next_score = 2 * scores[-1] - scores[-2] if k else scores[-1] + 0.5
            guess = float(special.ndtr(next_score))
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
    of them, see `ceilings`; what follows holds word by word for them). Let a(k), b(k) be
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

    The "dp" curve sits on its limit at epsilon and bounds little at other orders (its profile is
    never below p_0 = delta): it composes badly.

    Examples
    --------
    >>> curve = release_curve(Levels.flat(0.24124601), 1.0, 1.0, 1e-5, "dp")
    >>> [f"{p:.6g}" for p in curve[:4]]
    ['1e-05', '3.68035e-05', '0.000100755', '0.00023593']
    """
    check_budget(epsilon, delta)
    check_calibration(calibration)
    curve = climb(levels, check_sd(noise_sd), ceilings(float(epsilon), float(delta), calibration))
    return frozen(curve)


def check_calibration(calibration: str) -> None:
    if calibration == "paper":
        raise ArgumentError('calibration "paper" has its own function, papers_plan.')
    if calibration not in ("dp", "gdp"):
        raise ArgumentError(f'calibration must be "gdp" or "dp", not {calibration!r}.')


def frozen(values: ArrayLike) -> Floats:
    out = np.array(values, dtype=np.float64)
    out.flags.writeable = False
    return out
