"""The calibration of Shen, Tong and Wang (2026), as published, and where its proof ends."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from dpstats.errors import ArgumentError, PrivacyError
from dpstats.propose_test.curve import check_budget, frozen
from dpstats.propose_test.pair import log_gaussian_delta
from dpstats.propose_test.plan import ReleasePlan


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

    def probability(self, level: Any) -> Any:
        """Probability of an answer at a real-valued safety; it never raises (nan counts as 0)."""
        gamma = np.fmax(np.asarray(level, dtype=np.float64), 0.0)
        out = special.expit(self.epsilon / 2 * (gamma - self.margin))
        return float(out) if out.ndim == 0 else out

    def level_for(self, probability: float) -> int | None:
        """Smallest integer gamma that is answered with at least this probability."""
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
        if it does not exceed the delta of the budget.

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
    check_budget(epsilon, delta)
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
    curve = frozen(special.expit(epsilon / 2 * (np.arange(far + 1) - margin)))
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
    """The exact delta(epsilon) of the paper's calibration for (epsilon, delta).

    An upper bound within a relative 1e-3; the argument is in `papers_plan`.
    """
    check_budget(epsilon, delta)
    mu = epsilon / (2 * math.sqrt(2 * math.log(1.25 / delta)))
    margin = 1 + 2 / epsilon * math.log(max(1 / delta, 1 / epsilon))
    far = margin + 2 / epsilon * math.log(1e6 / delta)
    width = 1e-3 / epsilon
    gamma = np.linspace(0.0, far, math.ceil(far / width) + 1)

    p = np.append(special.expit(epsilon / 2 * (gamma[1:] + 1 - margin)), 1.0)
    q = special.expit(epsilon / 2 * (gamma - margin))
    log_part = np.log(p) + log_gaussian_delta(mu, epsilon - np.log(p) + np.log(q))
    return max(math.exp(np.max(log_part)), math.exp(log_gaussian_delta(mu, epsilon)), float(q[0]))
