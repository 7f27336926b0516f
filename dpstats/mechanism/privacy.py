"""Privacy parameters and the exact conversions between them.

Every mechanism of the package that carries one of these totals is Gaussian, so that

* mu-GDP (Gaussian differential privacy) and rho-zCDP are the same statement, rho = mu^2 / 2;
* compositions add mu^2 (and rho), adaptively as well;
* (epsilon, delta) follows from the exact trade-off curve of the Gaussian mechanism,
  delta(epsilon) = Phi(-epsilon/mu + mu/2) - exp(epsilon) Phi(-epsilon/mu - mu/2),
  never from a loose tail bound.

Neighbours are data sets in which one row is *replaced*; the number of rows is public.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import optimize, special

from dpstats.errors import PrivacyError

_LARGEST_MU = 1e9


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

    @property
    def rho(self) -> float:
        """Parameter of zero-concentrated differential privacy, mu^2 / 2."""
        return self.mu**2 / 2

    def delta(self, epsilon: float) -> float:
        """Smallest delta for which the total is (epsilon, delta)-private."""
        if not (math.isfinite(epsilon) and epsilon >= 0):
            raise PrivacyError(f"epsilon must be a number >= 0, not {epsilon!r}.")
        return math.exp(_log_delta(self.mu, epsilon))

    def epsilon(self, delta: float) -> float:
        """Smallest epsilon for which the total is (epsilon, delta)-private."""
        _check_delta(delta)
        if self.delta(0.0) <= delta:
            return 0.0
        target = math.log(delta)
        high = 1.0
        while _log_delta(self.mu, high) > target:
            high *= 2
        root = optimize.brentq(lambda e: _log_delta(self.mu, e) - target, 0.0, high, xtol=1e-13)
        return float(root)

    def share(self, part: float) -> Privacy:
        """The cost of a release that takes the fraction ``part`` of this total's mu^2."""
        return Privacy(self.mu * math.sqrt(part))


def _check_delta(delta: float) -> None:
    if not (isinstance(delta, int | float) and 0 < delta < 1):
        raise PrivacyError(f"delta must lie strictly between 0 and 1, not {delta!r}.")


def _positive(name: str, value: float) -> float:
    number = isinstance(value, int | float | np.integer | np.floating)
    if not number or isinstance(value, bool) or not math.isfinite(value) or value <= 0:
        raise PrivacyError(f"{name} must be a finite number > 0, not {value!r}.")
    return float(value)


def resolve_privacy(
    mu: float | None = None,
    rho: float | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
) -> Privacy:
    """Turn exactly one of ``mu=``, ``rho=`` or ``epsilon=`` with ``delta=`` into a total.

    For (epsilon, delta) the largest mu is taken whose exact curve stays at or below delta.

    Examples
    --------
    >>> resolve_privacy(rho=0.5).mu
    1.0
    >>> round(resolve_privacy(epsilon=1, delta=1e-5).mu, 4)
    0.2681
    """
    given = [k for k, v in {"mu": mu, "rho": rho, "epsilon": epsilon}.items() if v is not None]
    if len(given) != 1:
        said = "none was given" if not given else f"{' and '.join(given)} were given"
        said += "; delta= alone is no budget" if not given and delta is not None else ""
        raise PrivacyError(
            "Say how much privacy the call may spend, in one unit: mu=1 (Gaussian DP), rho=0.5 "
            f"(zCDP), or epsilon=1 with delta=1e-5; {said}."
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
        _check_delta(delta)
        total = Privacy(_mu_from_epsilon(_positive("epsilon", epsilon), float(delta)))
    if total.mu > _LARGEST_MU:
        raise PrivacyError(f"a total above mu = {_LARGEST_MU:g} protects nobody; ask for less.")
    return total


def _mu_from_epsilon(epsilon: float, delta: float) -> float:
    target = math.log(delta)
    low, high = 1e-12, 1.0
    while _log_delta(high, epsilon) < target:
        high *= 2
    root = optimize.brentq(lambda m: _log_delta(m, epsilon) - target, low, high, xtol=1e-14)
    return float(root) * (1 - 1e-10 - 1e-14 / root)  # below what root finder and logarithms lose
