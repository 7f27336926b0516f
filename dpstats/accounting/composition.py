"""Composition: the cost of several calls together, and what a budget still allows.

Calls are of three kinds: Gaussian ones, "mu-GDP" or "mu-GDP up to slack"; pure ones; and those stated at
one epsilon and delta. The last are pure up to delta: two laws that are (epsilon, delta)-close are
mixtures, with weight 1 - delta, of laws that are epsilon-close, and of anything (Kairouz, Oh and
Viswanath 2015). A pure one is Gaussian with the mu of `PurePrivacy`. So everything is Gaussian up to
slack, mu^2 adds and slack adds; rho adds; and where no call is Gaussian, epsilons add.

*Calls that are chosen after seeing results.* An analyst chooses the next call, and its cost,
from the results of earlier ones. The sums above stay valid as long as their limits (`BudgetLimits`)
are fixed before the first call: for mu^2 Smith and Thakurta (2022), for rho Feldman and Zrnic
(2021), for epsilon and slack because they bound the privacy loss path by path. Limits that trade
one sum for another later on, "as much slack as mu has left over", are not covered: an analyst could
decide by earlier results. Therefore a budget in epsilon and delta lays down at its first call, from
that call's cost alone, how much of delta is for slack.

*Two limits at once.* With that slack s fixed, it is enough that mu stays within its limit m, or that no
call is Gaussian and epsilons stay within epsilon. Off the events of slack, which have probability s at
most, let p and q be the densities of all that is released, on neighbours. Where a path ends above m, no
call on it was Gaussian, epsilons bound log(p / q) by epsilon, and p - e^epsilon q <= 0. Paths that end
within m have the same densities if the analyst is stopped before going beyond, and then everything is
m-GDP: over them, p - e^epsilon q adds up to delta_m(epsilon) at most. In all s + delta_m(epsilon) <=
delta.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Literal

from dpstats.accounting.privacy import (
    ApproximatePrivacy,
    Privacy,
    PurePrivacy,
    Total,
    check_delta,
    resolve_privacy,
)
from dpstats.arguments import number

_ROUNDING = Fraction(1, 10**12)
_SLACK_SHARE = 0.1
_LARGEST_SHARE = 0.5


@dataclass(frozen=True, repr=False)
class Composed:
    """The sum of several costs, exactly.

    Attributes
    ----------
    squares : Fraction
        Sum of mu^2, of all calls.
    rhos : Fraction
        Sum of rho, of all calls.
    slacks : Fraction
        Sum of the probabilities up to which these hold.
    epsilons : Fraction
        Sum of epsilon, of the calls that are not Gaussian.
    gaussian : Fraction
        Sum of mu^2, of the Gaussian calls.

    See Also
    --------
    Budget : Adds up what calls cost.

    Examples
    --------
    >>> both = Composed().plus(Privacy(3.0)).plus(Privacy(4.0))
    >>> both.mu, both.rho, both.slack
    (5.0, 12.5, 0.0)
    """

    squares: Fraction = Fraction(0)
    rhos: Fraction = Fraction(0)
    slacks: Fraction = Fraction(0)
    epsilons: Fraction = Fraction(0)
    gaussian: Fraction = Fraction(0)

    @classmethod
    def of(cls, costs: Iterable[Total]) -> Composed:
        """All of them."""
        return reduce(cls.plus, costs, cls())

    def plus(self, cost: Total) -> Composed:
        """With one more call."""
        one = _alone(cost)
        return Composed(
            self.squares + one.squares,
            self.rhos + one.rhos,
            self.slacks + one.slacks,
            self.epsilons + one.epsilons,
            self.gaussian + one.gaussian,
        )

    def __repr__(self) -> str:
        return f"Composed(mu={self.mu!r}, rho={self.rho!r}, slack={self.slack!r})"

    @property
    def mu(self) -> float:
        """Parameter of Gaussian differential privacy, up to `slack`."""
        return math.sqrt(self.squares)

    @property
    def rho(self) -> float:
        """Parameter of zero-concentrated differential privacy, up to `slack`."""
        return float(self.rhos)

    @property
    def slack(self) -> float:
        """Probability with which mu and rho may fail to hold."""
        return float(self.slacks)

    def delta(self, epsilon: float) -> float:
        """A delta at this epsilon: the least that one of the sums gives.

        Besides the Gaussian curve at mu: pure calls shift the curve of the Gaussian ones by the sum of
        their epsilons.
        """
        candidates = [Privacy(self.mu, self.slack).delta(epsilon)]
        pure, gaussian = float(self.epsilons), math.sqrt(self.gaussian)
        if epsilon >= pure:
            candidates.append(Privacy(gaussian, self.slack).delta(epsilon - pure))
        elif not gaussian:
            candidates.append(min(self.slack + PurePrivacy(pure).delta(epsilon), 1.0))
        return min(candidates)

    def epsilon(self, delta: float) -> float:
        """An epsilon at this delta: the least that one of the sums gives; infinite at or below slack.

        Where every call is pure, or stated at one epsilon, delta may equal the slack (or be 0).
        """
        if number(delta) != 0:
            check_delta(delta)
        pure, candidates = float(self.epsilons), [math.inf]
        if not self.gaussian and delta >= self.slack:
            candidates.append(
                ApproximatePrivacy(pure, self.slack).epsilon(delta) if delta else pure
            )
        if delta > 0:
            candidates.append(Privacy(self.mu, self.slack).epsilon(delta))
            candidates.append(pure + Privacy(math.sqrt(self.gaussian), self.slack).epsilon(delta))
        return min(candidates)


def _alone(cost: Total) -> Composed:
    slack = Fraction(cost.slack)
    if isinstance(cost, Privacy):
        square = Fraction(cost.mu) ** 2
        return Composed(square, square / 2, slack, Fraction(0), square)
    pure = PurePrivacy(cost.at)
    return Composed(Fraction(pure.mu) ** 2, Fraction(pure.rho), slack, Fraction(cost.at))


@dataclass(frozen=True)
class BudgetLimits:
    """Limits of sums, fixed before they are spent.

    mu and rho limit all calls (infinite where one does not count). Where no call is Gaussian, it is
    enough that epsilons stay within ``epsilon``. mu = 0: no Gaussian call fits.
    """

    mu: float = math.inf
    rho: float = math.inf
    epsilon: float = 0.0
    slack: float = 0.0

    def hold(self, spent: Composed) -> bool:
        """Whether the sums are within their limits, to twelve digits: what callers type is rounded."""
        if _above(spent.slacks, self.slack):
            return False
        return self.gaussian(spent) or (
            not spent.gaussian and not _above(spent.epsilons, self.epsilon)
        )

    def gaussian(self, spent: Composed) -> bool:
        """Whether the limits of mu and rho hold."""
        return not (_above(spent.squares, _square(self.mu)) or _above(spent.rhos, self.rho))


def _square(value: float) -> Fraction | float:
    return value if math.isinf(value) else Fraction(value) ** 2


def _above(total: Fraction, limit: Fraction | float) -> bool:
    if isinstance(limit, float) and math.isinf(limit):
        return False
    return total > Fraction(limit) * (1 + _ROUNDING)


@dataclass(frozen=True)
class BudgetTotal:
    """What may be spent altogether, in one unit.

    Attributes
    ----------
    unit : {"mu", "rho", "epsilon"}
    level : float
        The total in that unit.
    delta : float
        For "epsilon"; 0 for pure differential privacy.
    slack : float or None
        How much of a failure probability calls may add that hold up to one. None, for "epsilon": a
        tenth of delta, or up to a half, as the first call needs it to be repeated.
    """

    unit: Literal["mu", "rho", "epsilon"]
    level: float
    delta: float = 0.0
    slack: float | None = None

    @property
    def total(self) -> Privacy | PurePrivacy:
        """All of it: what one Gaussian (or pure) call could spend."""
        if self.unit == "mu":
            return Privacy(self.level)
        if self.unit == "rho":
            return Privacy(math.sqrt(2 * self.level))
        return self._gaussian(0.0) if self.delta else PurePrivacy(self.level)

    def caps(self, first: Total | None) -> BudgetLimits:
        """The limits, which for (epsilon, delta) are fixed by the cost of the first call.

        A rectangle of limits (mu, slack) is safe when slack + delta_mu(epsilon) <= delta, and so is
        (sum of epsilons, sum of slacks) = (epsilon, delta) when no call is Gaussian: that one is
        taken where the first call is stated at one epsilon, or is pure and large. Beside the first,
        epsilons may add up to epsilon with the same limit of slack; see the module.
        """
        if self.unit == "mu":
            return BudgetLimits(mu=self.level, slack=self.slack or 0.0)
        if self.unit == "rho":
            return BudgetLimits(rho=self.level, slack=self.slack or 0.0)
        if not self.delta:
            return BudgetLimits(mu=0.0, epsilon=self.level)
        if self.slack is not None:
            return self._shared(self.slack)
        apart = BudgetLimits(mu=0.0, epsilon=self.level, slack=self.delta)
        if isinstance(first, ApproximatePrivacy):
            return apart
        slack = _SLACK_SHARE * self.delta
        if first is not None and first.slack:
            needed = self._repeated(first) * first.slack
            slack = max(slack, min(needed, _LARGEST_SHARE * self.delta))
        shared = self._shared(slack)
        if first is None:
            return shared
        alone = Composed().plus(first)
        if shared.gaussian(alone) and shared.hold(alone):
            return shared
        return apart if isinstance(first, PurePrivacy) else self._shared(first.slack)

    def counted(self, cost: Total, stated: ApproximatePrivacy | None, first: Total | None) -> Total:
        """The cost of a call in this budget: as it is, or at one epsilon where epsilons add up.

        That is the epsilon and delta that were given; for a call in mu, the epsilon at a tenth of
        the budget's delta (more than its slack).
        """
        if first is None or not self.delta or self.caps(first).mu:
            return cost
        if not isinstance(cost, Privacy):
            return cost
        if stated is not None:
            return stated
        delta = cost.slack + _SLACK_SHARE * self.delta
        return ApproximatePrivacy(cost.epsilon(delta), delta)

    def _shared(self, slack: float) -> BudgetLimits:
        slack = min(slack, self.delta)
        return BudgetLimits(mu=self._gaussian(slack).mu, epsilon=self.level, slack=slack)

    def _repeated(self, first: Privacy | PurePrivacy) -> float:
        """How often a call could be made again: delta is then divided as its repetitions need it."""

        def fits(times: float) -> bool:
            many = Privacy(first.mu * math.sqrt(times), min(first.slack * times, 1.0))
            return many.delta(self.level) <= self.delta

        low, high = 0.0, 1.0
        while fits(high):
            low, high = high, 2 * high
        for _ in range(50 if low else 0):
            middle = (low + high) / 2
            low, high = (middle, high) if fits(middle) else (low, middle)
        return low

    def _gaussian(self, slack: float) -> Privacy:
        if slack >= self.delta:
            return Privacy(0.0)
        return resolve_privacy(epsilon=self.level, delta=self.delta - slack)

    def left(self, spent: Composed, first: Total | None) -> Total:
        """What a next call without slack could spend; the total while nothing is spent."""
        if first is None and self.slack is None:
            return self.total
        caps = self.caps(first)
        if not math.isinf(caps.rho):
            return Privacy(math.sqrt(2 * _rest(Fraction(caps.rho), spent.rhos)))
        if caps.mu and caps.gaussian(spent):
            return Privacy(math.sqrt(_rest(Fraction(caps.mu) ** 2, spent.squares)))
        epsilon = _rest(Fraction(caps.epsilon), spent.epsilons)
        if caps.mu or not self.delta:
            return PurePrivacy(epsilon)
        return ApproximatePrivacy(epsilon, _rest(Fraction(caps.slack), spent.slacks))


def _rest(limit: Fraction, spent: Fraction) -> float:
    """What is left of a limit; a rest of the size of rounding errors is 0."""
    rest = limit - spent
    return float(rest) if rest > limit * _ROUNDING else 0.0
