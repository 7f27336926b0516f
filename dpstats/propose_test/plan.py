"""Propose-test-release in one constraint: how likely a release may be, by level of safety.

A data set X has an integer *level of safety* k(X) >= 0 that changes by at most one between
neighbours, and a statistic t(X) in R^d whose l2 change between neighbours is bounded by level
(`Levels`). The mechanism

    releases t(X) + s N(0, I) with probability p_k, k = k(X), and gives "no answer" otherwise.

What is proved where: the exact privacy of one pair of neighbours in `pair.divergence`; that the
curve p_0 <= p_1 <= ... of `curve.release_curve` is private and that no other curve is higher at
any level there as well; what the curve composes to in `curve.gdp_split`; the original
calibration of Shen, Tong and Wang (2026), and where its proof ends, in `paper.papers_plan`. Here
is the plan of a release: the smallest noise, and its curve. "No answer" may be replaced by any fixed
public answer: post-processing.

Everything is computed from public arguments, before any private row is read, and nothing draws a
random number. `ReleasePlan.probability` is the one function that is later evaluated at a private
level: it raises for no input.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, overload

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy import special

from dpstats.arguments import as_int, shown
from dpstats.arrays import Floats
from dpstats.errors import ArgumentError, PrivacyError
from dpstats.propose_test.curve import (
    SMALLEST_MU,
    Calibration,
    Ceilings,
    Levels,
    ceilings,
    check_budget,
    check_calibration,
    check_sd,
    climb,
    frozen,
    gdp_split,
    level_cap,
    release_curve,
)
from dpstats.propose_test.pair import gaussian_mu


@dataclass(frozen=True, eq=False)
class ReleasePlan:
    """The noise of a release behind a test, and the probability of an answer by level.

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
    mu, slack : float or None
        mu0 and delta0 of the "gdp" calibration (see `gdp_split`).
    """

    epsilon: float
    delta: float
    calibration: str
    noise_sd: float
    curve: Floats
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
    check_budget(epsilon, delta)
    check_calibration(calibration)
    if noise_sd is not None:
        mu0, slack = gdp_split(epsilon, delta) if calibration == "gdp" else (None, None)
        sd = check_sd(noise_sd)
        if math.isinf(sd):
            raise ArgumentError("noise_sd must be finite.")
        curve = release_curve(levels, sd, epsilon, delta, calibration)
        return ReleasePlan(
            float(epsilon), float(delta), calibration, sd, curve, mu=mu0, slack=slack
        )
    if target is None:
        raise ArgumentError(
            "give the level that must be answered, target=, or the noise, noise_sd=."
        )
    level = as_int(target, 1)
    if level is None:
        raise ArgumentError(f"target must be an integer >= 1, not {shown(target)}.")
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
    c = ceilings(epsilon, delta, calibration)
    goal = 1 - beta
    below = max(0, target - max(300, math.ceil(60 / mu)))
    levels = Levels(np.frombuffer(same), np.frombuffer(up))
    if below:
        levels = levels.merged(below)
    top = target - below
    bounds = np.concatenate([levels.same, levels.up])
    largest = float(bounds[np.isfinite(bounds)].max()) / SMALLEST_MU
    if levels.same_at(top) == 0 or largest == 0:
        raise ArgumentError("a sensitivity of 0 at the target level needs no noise.")

    sharpest = climb(levels, largest, c)
    works = next((k for k, p in enumerate(sharpest) if p >= goal), None)
    if works is None or works > top:
        reached = sharpest[min(top, len(sharpest) - 1)]
        reachable = "no target works" if works is None else f"the smallest that works is {works}"
        raise PrivacyError(
            f"target={target} is too close to the unsafe level for epsilon={epsilon:g}, "
            f"delta={delta:g}: with any noise a data set there is answered with probability "
            f"{reached:.3g} at most, not {goal:g}; {reachable}."
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
    root = float(scipy.optimize.brentq(excess, low, high, xtol=3e-8))
    width = 3e-8
    while excess(root) > 0:
        root, width = min(root + width, high), 2 * width
    sd = math.exp(root)
    curve = [0.0] * below + climb(levels, sd, c)
    curve[:below] = [curve[below]] * below
    return ReleasePlan(epsilon, delta, calibration, sd, frozen(curve), mu=mu0, slack=slack)


def _reach(levels: Levels, sd: float, c: Ceilings, target: int, goal: float) -> float:
    """Where the curve crosses the goal, interpolated or extrapolated on the probit scale."""
    with np.errstate(divide="ignore", over="ignore", under="ignore"):
        if level_cap(max(levels.same_at(target) / sd, SMALLEST_MU), c) < goal:
            return 4.0 * target
    curve = climb(levels, sd, c, target, goal)
    probit = min(float(special.ndtri(goal)), 8.3)
    end = len(curve) - 1
    now = min(float(special.ndtri(curve[-1])), 8.3)
    if end == 0:
        return 0.0 if curve[0] >= goal else 4.0 * target
    slope = now - float(special.ndtri(curve[-2]))
    if curve[-1] >= goal:
        return end - (now - probit) / slope
    if slope * 3 * target <= probit - now:
        return 4.0 * target
    return target + (probit - now) / slope
