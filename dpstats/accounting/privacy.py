"""Privacy parameters and the exact conversions between them.

Nearly every mechanism of the package is Gaussian, so that

* mu-GDP (Gaussian differential privacy) and rho-zCDP are the same statement, rho = mu^2 / 2;
* compositions add mu^2 (and rho), adaptively as well;
* (epsilon, delta) follows from the exact trade-off curve of the Gaussian mechanism,
  delta(epsilon) = Phi(-epsilon/mu + mu/2) - exp(epsilon) Phi(-epsilon/mu - mu/2),
  never from a loose tail bound.

Where noise is calibrated to the data at hand (`propose_test`), the statement is "mu-GDP up to slack":
off an event of at most that probability the mechanism is mu-GDP. It is slack-approximate rho-zCDP,
delta(epsilon) is at most slack plus that of the Gaussian, and compositions add mu^2 and add slacks
(a union bound over the events). A release whose guarantee is stated at one epsilon only is an
`ApproximatePrivacy`.

Neighbours are data sets in which one row is *replaced*; the number of rows is public.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy
from scipy import special

from dpstats.arguments import number, shown
from dpstats.errors import PrivacyError

_SMALLEST_MU = 1e-9
_LARGEST_MU = 1e9
_LARGEST_EPSILON = 1e6


def _log_delta(mu: float, epsilon: float) -> float:
    """Logarithm of delta(epsilon) of a mu-GDP mechanism, accurate far into the tail."""
    if mu == 0.0:
        return -math.inf
    high = float(special.log_ndtr(mu / 2 - epsilon / mu))
    low = epsilon + float(special.log_ndtr(-mu / 2 - epsilon / mu))
    if low >= high:
        return -math.inf
    return high + math.log(-math.expm1(low - high))


@dataclass(frozen=True)
class Privacy:
    """A total privacy cost, readable in the three usual units.

    Parameters
    ----------
    mu : float
        Parameter of Gaussian differential privacy.
    slack : float
        Probability with which the statement may fail; 0 for Gaussian mechanisms.

    See Also
    --------
    PurePrivacy, ApproximatePrivacy : Totals in other units.

    References
    ----------
    Dong, Roth and Su (2022), "Gaussian Differential Privacy", JRSS B 84.

    Examples
    --------
    >>> total = Privacy(1.0)
    >>> total.rho
    0.5
    >>> round(total.delta(epsilon=1.0), 4)
    0.1269
    >>> round(total.epsilon(delta=1e-5), 3)
    4.377
    """

    mu: float
    slack: float = 0.0

    @property
    def rho(self) -> float:
        """Parameter of zero-concentrated differential privacy, mu^2 / 2 (slack-approximate)."""
        return self.mu**2 / 2

    def delta(self, epsilon: float) -> float:
        """Smallest delta for which the total is (epsilon, delta)-private."""
        epsilon = _not_negative(epsilon)
        return min(self.slack + math.exp(_log_delta(self.mu, epsilon)), 1.0)

    def epsilon(self, delta: float) -> float:
        """Smallest epsilon for which the total is (epsilon, delta)-private."""
        check_delta(delta)
        if self.delta(0.0) <= delta:
            return 0.0
        if delta <= self.slack:
            return math.inf
        target = math.log(delta - self.slack)
        high = 1.0
        while _log_delta(self.mu, high) > target:
            high *= 2
        root = scipy.optimize.brentq(
            lambda e: _log_delta(self.mu, e) - target, 0.0, high, xtol=1e-13
        )
        return float(root)

    def share(self, part: float) -> Privacy:
        """The cost of a release that takes the fraction ``part`` of this total's mu^2."""
        return Privacy(self.mu * math.sqrt(part))

    def for_group(self, k: int) -> Privacy:
        """What holds for k rows at once: k mu, and a larger slack if there is one.

        A trade-off function f for one row gives 1 - (1 - f)^k, composed k times, for k rows (Dong, Roth
        and Su 2022). Here 1 - f <= g + s with g(a) = Phi(Phi^-1(a) + mu), which is concave with
        g(0) = 0, hence subadditive: if s_j serves j rows, then 1 - f_(j+1) <= g(g_j + s_j) + s <=
        g_(j+1) + g(s_j) + s, where g_j is g with j mu. So s_(j+1) = g(s_j) + s serves one row more.

        Examples
        --------
        >>> Privacy(0.5).for_group(3).mu
        1.5
        """
        slack = self.slack
        for _ in range(k - 1 if slack else 0):
            slack = min(float(special.ndtr(special.ndtri(slack) + self.mu)) + self.slack, 1.0)
        return Privacy(self.mu * k, slack * (1 + 1e-9) if k > 1 else slack)

    def per_row(self, k: int) -> Privacy:
        """What one row may cost so that k rows cost this; for totals without slack."""
        if self.slack:
            raise ValueError("a total with slack is divided where its plan is made")
        return Privacy(self.mu / k)


@dataclass(frozen=True)
class ApproximatePrivacy:
    """(epsilon, delta)-privacy at one epsilon, by a mechanism that is not Gaussian.

    At other epsilons nothing is used but that statement itself: above it delta stays; below it the
    pair of laws that is worst among all (epsilon, delta)-private ones gives delta + (1 - delta)
    (exp(at) - exp(epsilon)) / (1 + exp(at)) (Kairouz, Oh and Viswanath 2015).

    See Also
    --------
    Privacy : Gaussian differential privacy.

    Examples
    --------
    >>> single = ApproximatePrivacy(at=1.0, slack=1e-5)
    >>> single.epsilon(1e-5), round(single.delta(0.5), 3)
    (1.0, 0.288)
    """

    at: float
    slack: float

    @property
    def mu(self) -> float:
        """Not known: no Gaussian statement is made."""
        return math.nan

    @property
    def rho(self) -> float:
        """Not known: no zCDP statement is made."""
        return math.nan

    def delta(self, epsilon: float) -> float:
        """A delta at this epsilon."""
        epsilon = _not_negative(epsilon)
        if epsilon >= self.at:
            return self.slack
        rest = -math.expm1(epsilon - self.at) / (1 + math.exp(-self.at))
        return self.slack + (1 - self.slack) * rest

    def epsilon(self, delta: float) -> float:
        """Smallest epsilon that follows at this delta."""
        check_delta(delta)
        if delta < self.slack:
            return math.inf
        part = (delta - self.slack) / (1 - self.slack) * (1 + math.exp(-self.at))
        return max(self.at + math.log1p(-part), 0.0) if part < 1 else 0.0

    def for_group(self, k: int) -> ApproximatePrivacy:
        """What holds for k rows at once: k epsilon, and delta times 1 + e^epsilon + ... (k terms).

        Row by row, P_0(S) <= e^at P_1(S) + slack <= e^at (e^at P_2(S) + slack) + slack <= ...
        """
        terms = np.exp(np.minimum(self.at * np.arange(k), 700.0))
        slack = self.slack * float(terms.sum()) * (1 + 1e-12) if k > 1 else self.slack
        return ApproximatePrivacy(self.at * k, min(slack, 1.0))


@dataclass(frozen=True)
class PurePrivacy:
    """epsilon-privacy without a delta, in the units in which it can be read.

    Parameters
    ----------
    at : float
        epsilon. Compositions add it.

    See Also
    --------
    Privacy : Gaussian differential privacy.

    Notes
    -----
    Every pair of laws that is epsilon-private is a post-processing of randomised response, the pair
    (p, 1 - p) and (1 - p, p) with p = e^at / (1 + e^at) (Kairouz, Oh and Viswanath 2015). What holds
    for that pair holds for all, and each statement here is the best that follows from epsilon alone.

    *mu.* The trade-off function of randomised response joins (0, 1), (1 - p, 1 - p) and (1, 0) by
    straight lines. That of mu-GDP, Phi(Phi^-1(1 - alpha) - mu), goes through the same three points
    for mu = 2 Phi^-1(p), and is convex: it lies below its chords. A smaller mu misses the second.

    *rho.* The Renyi divergence of order alpha is log(cosh((alpha - 1/2) at) / cosh(at / 2)) /
    (alpha - 1). log cosh sqrt(s) is concave in s, with slope tanh(at / 2) / at at s = (at / 2)^2, and
    s grows by alpha (alpha - 1) at^2: the divergence is at most alpha at tanh(at / 2), and comes
    near to it as alpha falls to 1. The rho = at^2 / 2 of Bun and Steinke (2016) is more than that.

    Examples
    --------
    >>> single = PurePrivacy(1.0)
    >>> round(single.mu, 4), round(single.rho, 4)
    (1.232, 0.4621)
    >>> round(single.delta(0.5), 4), single.delta(1.0), single.epsilon(1e-5) < 1.0
    (0.2876, 0.0, True)
    """

    at: float

    @property
    def slack(self) -> float:
        """None: the statement holds without exception."""
        return 0.0

    @property
    def mu(self) -> float:
        """Smallest parameter of Gaussian differential privacy that follows."""
        if self.at <= 1:  # p = (1 + tanh(at / 2)) / 2, where its logarithm would lose digits
            return 2 * math.sqrt(2) * float(special.erfinv(math.tanh(self.at / 2)))
        return -2 * float(special.ndtri_exp(-np.logaddexp(0.0, self.at)))

    @property
    def rho(self) -> float:
        """Smallest parameter of zero-concentrated differential privacy that follows."""
        return self.at * math.tanh(self.at / 2)

    def delta(self, epsilon: float) -> float:
        """Smallest delta that follows at this epsilon."""
        return ApproximatePrivacy(self.at, 0.0).delta(epsilon)

    def epsilon(self, delta: float) -> float:
        """Smallest epsilon that follows at this delta, which may be 0."""
        return self.at if delta == 0 else ApproximatePrivacy(self.at, 0.0).epsilon(delta)

    def share(self, part: float) -> PurePrivacy:
        """The cost of a release that takes this fraction of epsilon."""
        return PurePrivacy(self.at * part)

    def for_group(self, k: int) -> PurePrivacy:
        """What holds for k rows at once: k epsilon."""
        return PurePrivacy(self.at * k)

    def per_row(self, k: int) -> PurePrivacy:
        """What one row may cost so that k rows cost this."""
        return PurePrivacy(self.at / k)


Cost = Privacy | PurePrivacy
Total = Cost | ApproximatePrivacy


def check_delta(delta: float) -> None:
    size = number(delta)
    if size is None or not 0 < size < 1:
        raise PrivacyError(
            f"delta must lie strictly between 0 and 1, such as delta=1e-6, not {shown(delta)}."
        )


def _positive(name: str, value: float) -> float:
    size = number(value)
    if size is None or not 0 < size < math.inf:
        if isinstance(value, Privacy | PurePrivacy | ApproximatePrivacy):
            part = "epsilon(delta)" if name == "epsilon" else name
            raise PrivacyError(
                f"{name} must be a number, which a {type(value).__name__} has as .{part}: write "
                f"{name}=budget.remaining.{part}."
            )
        raise PrivacyError(f"{name} must be a finite number > 0, not {shown(value)}.")
    return size


def _not_negative(value: float) -> float:
    size = number(value)
    if size is None or not 0 <= size < math.inf:
        raise PrivacyError(f"epsilon must be a number >= 0, not {shown(value)}.")
    return size


def resolve_privacy(
    mu: float | None = None,
    rho: float | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
) -> Privacy:
    """Turn exactly one of ``mu=``, ``rho=`` or ``epsilon=`` with ``delta=`` into a total.

    For (epsilon, delta) the largest mu is taken whose exact curve stays at or below delta. Where
    epsilon alone means pure differential privacy: `resolve_cost`.

    Examples
    --------
    >>> resolve_privacy(rho=0.5).mu
    1.0
    >>> round(resolve_privacy(epsilon=1, delta=1e-5).mu, 4)
    0.2681
    """
    given = [k for k, v in {"mu": mu, "rho": rho, "epsilon": epsilon}.items() if v is not None]
    if len(given) != 1:
        reason = "none was given" if not given else f"{' and '.join(given)} were given"
        reason += "; delta= alone is no budget" if not given and delta is not None else ""
        raise PrivacyError(
            "Say how much privacy the call may spend, in one unit: mu=1 (Gaussian DP), rho=0.5 "
            f"(zCDP), or epsilon=1 with delta=1e-5; {reason}."
        )
    if delta is not None and epsilon is None:
        raise PrivacyError(f"delta= goes with epsilon=; {given[0]}= needs no delta.")
    if mu is not None:
        total = Privacy(_positive("mu", mu))
    elif rho is not None:
        total = Privacy(math.sqrt(2 * _positive("rho", rho)))
    else:
        assert epsilon is not None
        if delta is None:
            raise PrivacyError("epsilon= needs delta= as well, for example delta=1e-5 (below 1/n).")
        check_delta(delta)
        total = Privacy(_mu_from_epsilon(_positive("epsilon", epsilon), float(delta)))
    if total.mu < _SMALLEST_MU:
        raise PrivacyError(
            f"a total of mu = {total.mu:.3g} leaves nothing but noise: ask for more."
        )
    if total.mu > _LARGEST_MU:
        raise PrivacyError(f"a total above mu = {_LARGEST_MU:g} protects nobody; ask for less.")
    return total


def resolve_cost(
    mu: float | None = None,
    rho: float | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
) -> Cost:
    """As `resolve_privacy`, but epsilon without a delta is pure differential privacy.

    Examples
    --------
    >>> resolve_cost(epsilon=1.0)
    PurePrivacy(at=1.0)
    """
    if epsilon is None or delta is not None or mu is not None or rho is not None:
        try:
            return resolve_privacy(mu, rho, epsilon, delta)
        except PrivacyError as error:
            message = str(error).replace(
                "epsilon=1 with delta=1e-5;",
                "epsilon=1 with delta=1e-5, or epsilon=1 alone (pure differential privacy);",
            )
        raise PrivacyError(message)
    pure = PurePrivacy(_positive("epsilon", epsilon))
    if pure.at > _LARGEST_EPSILON:
        raise PrivacyError(f"a total above epsilon = {_LARGEST_EPSILON:g} protects nobody.")
    return pure


def _mu_from_epsilon(epsilon: float, delta: float) -> float:
    target = math.log(delta)
    low, high = 1e-12, 1.0
    if _log_delta(low, epsilon) >= target:
        raise PrivacyError(
            f"epsilon = {epsilon:g} with delta = {delta:g} leaves nothing but noise: ask for more."
        )
    while _log_delta(high, epsilon) < target:
        high *= 2
    root = scipy.optimize.brentq(lambda m: _log_delta(m, epsilon) - target, low, high, xtol=1e-14)
    return float(root) * (1 - 1e-10 - 1e-14 / root)  # below what root finder and logarithms lose
