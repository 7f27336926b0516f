"""The trade-off function of a claim: the errors of a test that distinguishes two neighbours.

A test that decides between two neighbouring data sets from what was released errs in two ways: it
takes the first for the second (type I, probability alpha) or the second for the first (type II). A
claim of privacy bounds from below the type II error that goes with each alpha.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from dpstats.arguments import number
from dpstats.arrays import Floats

_GRID = 96  # epsilons at which a claim is tabulated
_LARGE = 200.0  # an epsilon that stands for all large ones
_LAST = 40.0  # the largest epsilon at which complements are looked at


class Claim(Protocol):
    """A claim that can be refuted: P(S) <= exp(epsilon) Q(S) + delta(epsilon) for all S."""

    def delta(self, epsilon: float, /) -> float:
        """The least delta for an epsilon >= 0."""


@dataclass(frozen=True, eq=False)
class Allowed:
    """The largest P(S) that a claim allows at a given Q(S).

    Parameters
    ----------
    delta : function of epsilon
        The claim: P(S) <= exp(epsilon) Q(S) + delta(epsilon) for every S and every epsilon >= 0, and
        the same with P and Q in each other's place. Both are used, the second one of complements.
    mu : float, optional
        Given if the claim implies mu-GDP without exception.

    Notes
    -----
    Each epsilon gives a bound of its own, and the least of some of them is still one: what the search
    misses can hide a contradiction but never make one.

    Examples
    --------
    >>> pure = Allowed(lambda epsilon: max(0.0, 0.5 * (1 - epsilon)))
    >>> round(pure.power(0.1), 4), round(math.e * 0.1, 4)
    (0.2718, 0.2718)
    >>> round(Allowed(None, mu=1.0).power(0.05), 4)
    0.2595
    """

    delta: Callable[[float], float] | None
    mu: float | None = None

    @classmethod
    def of(cls, claim: Claim) -> Allowed:
        """The powers that a claim allows; for Gaussian ones also by their own trade-off function."""
        mu, slack = number(getattr(claim, "mu", None)), number(getattr(claim, "slack", None))
        if mu is not None and slack == 0 and 0 <= mu < math.inf:
            return cls(claim.delta, mu)
        return cls(claim.delta)

    def _gaussian(self, alpha: Floats) -> Floats:
        if self.mu is None:
            return np.ones_like(alpha)
        return np.asarray(special.ndtr(special.ndtri(alpha) + self.mu))

    def powers(self, alpha: Floats) -> Floats:
        """For many events at once, from a table of the claim: a little too large."""
        best = self._gaussian(alpha)
        if self.delta is not None:
            # beyond -log(alpha) there is no bound: exp(epsilon) alpha is above 1
            last = -math.log(max(float(alpha.min(initial=1.0)), 1e-300))
            for epsilon in np.linspace(0.0, last, _GRID):
                delta, factor = float(self.delta(float(epsilon))), math.exp(epsilon)
                best = np.minimum(best, factor * alpha + delta)
                best = np.minimum(best, 1 - (1 - alpha - delta) / factor)
        return best

    def power(self, alpha: float) -> float:
        """For one event, to the precision of floats."""
        best = float(self._gaussian(np.array([alpha]))[0])
        if self.delta is None:
            return best
        curve = self.delta
        if alpha <= 0:
            return min(best, float(curve(_LARGE)))

        def of_event(epsilon: float) -> float:
            return math.exp(epsilon) * alpha + float(curve(epsilon))

        def of_complement(epsilon: float) -> float:
            return 1 - math.exp(-epsilon) * (1 - alpha - float(curve(epsilon)))

        last = max(-math.log(alpha), 0.0)
        return min(best, _valley(of_event, last), _valley(of_complement, _LAST), 1.0)


def _valley(bound: Callable[[float], float], last: float) -> float:
    """The least value on [0, last] of a function with one valley.

    The bounds above are convex in exp(epsilon), and in exp(-epsilon): a grid finds the valley, golden
    sections its bottom.
    """
    grid = np.linspace(0.0, last, _GRID)
    values = [bound(float(epsilon)) for epsilon in grid]
    at = int(np.argmin(values))
    low, high = float(grid[max(at - 1, 0)]), float(grid[min(at + 1, _GRID - 1)])
    least = values[at]
    golden = (math.sqrt(5) - 1) / 2
    left, right = high - golden * (high - low), low + golden * (high - low)
    at_left, at_right = bound(left), bound(right)
    for _ in range(60):
        least = min(least, at_left, at_right)
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - golden * (high - low)
            at_left = bound(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + golden * (high - low)
            at_right = bound(right)
    return least


def smallest_type_two(claim: Claim, alpha: ArrayLike) -> Floats:
    """The type II error that every test must make under a claim, for each type I error.

    The trade-off function of the claim: that of mu-GDP is Phi(Phi^-1(1 - alpha) - mu); in general the
    largest, over epsilon, of 1 - delta(epsilon) - exp(epsilon) alpha, of exp(-epsilon) (1 -
    delta(epsilon) - alpha), and of 0.

    Examples
    --------
    >>> from dpstats.accounting.privacy import Privacy, PurePrivacy
    >>> smallest_type_two(Privacy(1.0), [0.05, 0.5]).round(4).tolist()
    [0.7405, 0.1587]
    >>> smallest_type_two(PurePrivacy(1.0), [0.05]).round(4).tolist()
    [0.8641]
    """
    allowed = Allowed.of(claim)
    powers = [allowed.power(float(a)) for a in np.ravel(np.asarray(alpha, dtype=float))]
    return np.asarray(np.maximum(1 - np.array(powers), 0.0))
