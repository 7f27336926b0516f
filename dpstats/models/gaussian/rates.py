"""The paper's rates as a table of formulas: how many rows suffice for an error alpha.

"Paper" is Bie, Kamath, Singhal, *Private Estimation with Public Data*. Its theorems hold up to
constants and polylogs: here constants are 1, and the polylogs of sums of terms single logarithms
(never below 1). A formula is solved for alpha, and the result is labelled a rate.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import scipy

from dpstats.report.bound import Bound, Premise


@dataclass(frozen=True)
class Setting:
    """Rows, columns, total and law that bounds of every kind depend on.

    Attributes
    ----------
    n, d, m : int
        Private rows, columns, public rows.
    eta : float
        Failure probability of each statement.
    rho, epsilon : float or None
        Total: zCDP, or pure differential privacy.
    gamma : float
        Bound for the total variation distance of the public and the private law.
    """

    n: int
    d: int
    m: int
    eta: float
    rho: float | None
    epsilon: float | None
    gamma: float

    @property
    def pure(self) -> bool:
        return self.epsilon is not None

    @property
    def strength(self) -> float:
        """epsilon, or the root of rho."""
        if self.epsilon is not None:
            return self.epsilon
        assert self.rho is not None
        return math.sqrt(self.rho)


@dataclass(frozen=True)
class Rate:
    """One theorem: ``rows`` is the formula as a function of a setting s and of alpha, written a."""

    theorem: str
    rows: Callable[[Any, float], float]

    def bound(self, statement: str, setting: Setting, *premises: Premise) -> Bound:
        """The alpha below 1 for which n rows suffice; 1 if more are needed even then."""

        def rows(log_alpha: float) -> float:
            return float(self.rows(setting, math.exp(log_alpha)))

        n, value, enough = setting.n, 1.0, rows(0.0) < setting.n
        if enough:
            low = -1.0
            while rows(low) < n and low > -500:
                low *= 2
            root = scipy.optimize.brentq(lambda t: math.log(rows(t) / n), low, 0.0, xtol=1e-10)
            value = math.exp(float(root))
        premises = (*premises, Premise("enough rows for an error below 1", enough))
        name = "total variation"
        return Bound(statement, name, value, 1 - setting.eta, self.theorem, "rate", premises)


def _log(x: float) -> float:
    """A logarithm that stands for a polylog: at least 1."""
    return math.log(max(x, math.e))


def _short(s: Setting, a: float) -> float:
    epsilon = s.epsilon if s.rho is None else math.sqrt(2 * s.rho)
    assert epsilon is not None
    polylog = _log(s.d / (s.eta * a * (1 - s.gamma)))
    return (s.d**2 / a**2 + s.d**2 / (a * epsilon)) * polylog


THEOREM_1_1 = Rate("Theorem 1.1", _short)
THEOREM_1_2 = Rate("Theorem 1.2", _short)
THEOREM_2_3 = Rate(
    "Theorem 2.3",
    lambda s, a: (
        (s.d + math.log(1 / s.eta)) / a**2
        + s.d * math.log(1 / s.eta) ** 1.5 / (a * math.sqrt(s.rho))
    ),
)
"""Its second term needs Lemma 2.2 with the root over d alone, sqrt(d) (R + sqrt(d)) sqrt(log(1/eta))
/ (alpha sqrt(rho)): as printed, with R + sqrt(d) under the root, less than the noise would do."""
THEOREM_2_4 = Rate(
    "Theorem 2.4",
    lambda s, a: (
        (s.d**2 + math.log(1 / s.eta)) / a**2
        + (
            s.d**2 * _log(s.d / (a * s.eta * s.rho))
            + s.d * _log(s.d / (a * s.eta * s.rho * (1 - s.gamma)))
        )
        / (a * s.strength)
        + s.d**1.5 * _log(s.d / (s.eta * s.rho * (1 - s.gamma))) / s.strength
    ),
)
THEOREM_2_4_PURE = Rate(
    "Theorem 2.4",
    lambda s, a: (
        (s.d**2 + math.log(1 / s.eta)) / a**2
        + s.d**2 * _log(s.d / (a * s.eta * (1 - s.gamma))) / (a * s.strength)
    ),
)
THEOREM_1_6 = Rate(
    "Theorem 1.6",
    lambda s, a: s.d**2 / (s.least_weight * a**2) + s.d**2 / (s.least_weight * a * s.strength),
)
THEOREM_1_4 = Rate(
    "Theorem 1.4",
    lambda s, a: THEOREM_1_6.rows(s, a) + s.d**1.5 * s.k**2.5 / s.strength,
)
"""Its polylogs in range parameters are left out: units come from public rows."""
