"""What log ratios of runs on two neighbours prove against a claim.

An event {log ratio > cut} is chosen on one half of the runs, its probabilities under both tables are
bounded on the other half by Clopper and Pearson's limits, which both hold with the confidence that is
asked for. A claim that holds lies above the lower bound that follows with at least that probability.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from dpstats.accounting.privacy import Privacy

_CUTS = np.linspace(0.003, 0.997, 250)
_LARGEST = 1e6


@dataclass(frozen=True)
class Verdict:
    """A lower bound on what neighbours give away, in the unit of the claim.

    Attributes
    ----------
    unit : str
        "mu", "mu up to slack", "epsilon", or "epsilon at delta".
    claim, found : float
        What is claimed, and what surely is given away.
    slack : float
        Probability of the claim's exceptional event; 0 for most.
    alpha, power : float
        Limits of the event's probabilities: at most alpha under one table, at least power under the
        other.
    """

    unit: str
    claim: float
    found: float
    slack: float
    alpha: float
    power: float

    @property
    def fraction(self) -> float:
        return self.found / self.claim

    @property
    def refuted(self) -> bool:
        return self.found > self.claim


def judge(ratios: tuple[np.ndarray, np.ndarray], total: Any, alarm: float = 0.01) -> Verdict:
    """A verdict on a total of the package; a claim that holds is refuted with probability <= alarm.

    mu-GDP up to slack s allows P(E) <= s + Phi(Phi^-1(Q(E)) + mu), epsilon with a delta d
    P(E) <= exp(epsilon) Q(E) + d, either way around: each is solved for what it claims. The whole curve
    of a claim follows from that number, and an event contradicts the curve where it contradicts this.
    """
    low, high = (np.clip(r, -_LARGEST, _LARGEST) for r in ratios)
    assert not np.isnan(low).any()
    assert not np.isnan(high).any()
    limits = alarm / 2
    tries = []
    for q, p in ((low, high), (-high, -low)):
        train = q[::2], p[::2]
        cuts = np.unique(np.quantile(np.concatenate(train), _CUTS))
        missed, hit = (len(t) - np.searchsorted(np.sort(t), cuts, "right") for t in train)
        # wider limits: of many events the best would else be one that was lucky
        careful = limits / len(_CUTS)
        scores = _least(*_limits(missed, len(train[0]), hit, len(train[1]), careful), total)
        k = int(np.argmax(scores))
        tries.append((float(scores[k]), float(cuts[k]), q[1::2], p[1::2]))
    _, cut, q, p = max(tries, key=lambda found: found[0])
    missed, hit = np.array([(q > cut).sum()]), np.array([(p > cut).sum()])
    alpha, power = _limits(missed, len(q), hit, len(p), limits)
    found = max(float(_least(alpha, power, total)[0]), 0.0)
    gaussian = isinstance(total, Privacy)
    unit = "mu" if gaussian else "epsilon"
    if total.slack > 0:
        unit += " up to slack" if gaussian else " at delta"
    claim = total.mu if gaussian else total.at
    return Verdict(unit, claim, found, total.slack, float(alpha[0]), float(power[0]))


def _limits(
    missed: np.ndarray, m: int, hit: np.ndarray, n: int, limit: float
) -> tuple[np.ndarray, np.ndarray]:
    """An upper limit for a probability seen ``missed`` times, and a lower one for ``hit`` times."""
    upper = special.betainccinv(missed + 1.0, np.maximum(m - missed, 1), limit)
    lower = special.betaincinv(np.maximum(hit, 1), n - hit + 1.0, limit)
    upper, lower = np.where(missed < m, upper, 1.0), np.where(hit > 0, lower, 0.0)
    return upper, lower


def _least(alpha: np.ndarray, power: np.ndarray, total: Any) -> np.ndarray:
    """The least parameter of the claim's kind that allows a power at a probability alpha."""
    with np.errstate(all="ignore"):
        rest = np.maximum(power - total.slack, 0.0)
        if isinstance(total, Privacy):
            found = special.ndtri(rest) - special.ndtri(alpha)
        else:
            found = np.log(rest / alpha)
    return np.where(np.isfinite(found), found, -math.inf)
