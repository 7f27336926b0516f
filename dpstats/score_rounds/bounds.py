"""What the bounds of all private regressions share: the call's numbers, rates, ranges, premises."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpstats.report.bound import Premise

Floats = NDArray[np.floating[Any]]

SUB_GAUSSIAN = Premise("rows sub-Gaussian, public and private of one law", None)


@dataclass(frozen=True)
class CallFacts:
    """The numbers of a call that every theorem asks for; all public.

    Attributes
    ----------
    n, d : int
    m : int or None
        Public rows, None when only a published matrix is known.
    mu : float
        Total of the call.
    eta, ridge : float
    """

    n: int
    d: int
    m: int | None
    mu: float
    eta: float
    ridge: float

    @property
    def each(self) -> float:
        """The papers' mu, that of one of two mechanisms: total/sqrt(2)."""
        return self.mu / math.sqrt(2)

    @property
    def log_factor(self) -> float:
        """1 + log(2n/eta), the square of the papers' radius per dimension."""
        return 1 + math.log(2 * self.n / self.eta)

    @property
    def sample_factor(self) -> float:
        """1 - sqrt(d/n) - sqrt(log(1/eta)/n), at least 0."""
        return max(1 - math.sqrt(self.d / self.n) - math.sqrt(math.log(1 / self.eta) / self.n), 0.0)

    def rate_of(self, steps: int) -> float:
        """sqrt(T d^3 log(2Td/eta)) / (mu n), mu of one mechanism shared by T steps."""
        logarithm = math.log(2 * steps * self.d / self.eta)
        return float(math.sqrt(steps * self.d**3 * logarithm) / (self.each * self.n))


def spectral(matrix: Floats) -> float:
    """Largest singular value."""
    return float(np.linalg.norm(matrix, 2))


def whitening_range(facts: CallFacts, log_term: float) -> tuple[float, float] | None:
    """L and U of Theorem 3 (ridge paper), None without a number of public rows."""
    if facts.m is None:
        return None
    root, shift = math.sqrt(facts.m), math.sqrt(facts.d) + math.sqrt(log_term)
    upper = facts.m / (root - shift) ** 2 if root > shift else math.inf
    return facts.m / (root + shift) ** 2, upper


def enough_public(facts: CallFacts, log_term: float) -> Premise:
    """The theorems' condition on the number of public rows."""
    text = "sqrt(m) >= sqrt(d) + sqrt(log(1/eta))"
    if facts.m is None:
        return Premise(text, None)
    return Premise(text, math.sqrt(facts.m) >= math.sqrt(facts.d) + math.sqrt(log_term))


def noise_below_half(noise: float, gap: float) -> Premise:
    """The theorems' condition for inverting a noisy matrix."""
    return Premise(
        "noise at most half the smallest eigenvalue", bool(gap > 0 and noise / gap <= 0.5)
    )
