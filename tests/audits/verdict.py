"""What log ratios of runs on two neighbours prove against a claim.

A claim bounds what any event {log ratio > cut} may be worth. Three lower bounds are found, each of which
is too high with a third of the probability that is asked for; the largest is the verdict:

* `_chosen`: a cut is chosen on one half of the runs, and the event is looked at in the other half.
* `_signs`: whoever goes by the sign is right so often, in all runs on both tables.
* `_fixed`: some cuts follow from the claim alone, so that all runs count.

An event's two probabilities lie in one region (`_of_event`), smaller than a rectangle of two limits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from dpstats.accounting.privacy import Privacy

_CUTS = np.linspace(0.003, 0.997, 250)
_FIXED = (-0.5, 0.0, 0.25, 0.5, 0.6, 0.7, 0.8, 0.9, 0.97, 1.25)
_LARGEST = 1e6
_SHARES = np.linspace(0.0, 1.0, 201)
_HALVINGS = 60

Ratios = tuple[np.ndarray, np.ndarray]


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


def judge(ratios: Ratios, total: Any, alarm: float = 0.01) -> Verdict:
    """A verdict on a total of the package; a claim that holds is refuted with probability <= alarm.

    mu-GDP up to slack s allows P(E) <= s + Phi(Phi^-1(Q(E)) + mu), epsilon with a delta d
    P(E) <= exp(epsilon) Q(E) + d, either way around: each is solved for what it claims. The whole curve
    of a claim follows from that number, and an event contradicts the curve where it contradicts this.
    """
    low, high = (np.clip(r, -_LARGEST, _LARGEST) for r in ratios)
    assert not np.isnan(low).any()
    assert not np.isnan(high).any()
    bounds = [way((low, high), total, alarm / 3) for way in (_chosen, _signs, _fixed)]
    found, alpha, power = max(bounds, key=lambda bound: bound[0])
    gaussian = isinstance(total, Privacy)
    unit = "mu" if gaussian else "epsilon"
    if total.slack > 0:
        unit += " up to slack" if gaussian else " at delta"
    claim = total.mu if gaussian else total.at
    return Verdict(unit, claim, max(found, 0.0), total.slack, alpha, power)


_Bound = tuple[float, float, float]
"""What is given away at least, and the event's probabilities by which that is so."""


def _chosen(ratios: Ratios, total: Any, alarm: float) -> _Bound:
    """From an event that is chosen on every other run."""
    low, high = ratios
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
    return _of_event(q, p, cut, total, alarm)


def _signs(ratios: Ratios, total: Any, alarm: float) -> _Bound:
    """From how often the sign tells the table, as often of either.

    Right answers are independent, with two probabilities whose mean is r = (1 + P(E) - Q(E)) / 2: above
    the mean their number has no heavier tail than a binomial one with r (Hoeffding, 1956), so that
    Clopper and Pearson's limit holds for r. Of a claim the largest r is slack / 2 + Phi(mu / 2); or that
    with r = delta + exp(epsilon) (1 - r): the claim holds for E and, the other way, for its complement.
    """
    low, high = (r[: min(map(len, ratios))] for r in ratios)
    runs, right = 2 * len(low), int((low <= 0).sum() + (high > 0).sum())
    (lower,) = _limits(np.array([runs]), runs, np.array([right]), runs, alarm)[1]
    slack = total.slack / 2 if isinstance(total, Privacy) else total.slack
    rest = max(lower - slack, 0.0)
    with np.errstate(all="ignore"):
        gaussian = isinstance(total, Privacy)
        found = 2 * special.ndtri(rest) if gaussian else np.log(rest / (1 - lower))
    return float(found), float(1 - lower), float(lower)


def _fixed(ratios: Ratios, total: Any, alarm: float) -> _Bound:
    """From events with cuts at parts of a claim's typical log ratio, in all runs, either way around."""
    typical = total.mu**2 / 2 if isinstance(total, Privacy) else total.at
    low, high = ratios
    each = alarm / (2 * len(_FIXED))
    bounds = [
        _of_event(q, p, cut, total, each)
        for q, p in ((low, high), (-high, -low))
        for cut in typical * np.array(_FIXED)
    ]
    return max(bounds, key=lambda bound: bound[0])


def _of_event(q: np.ndarray, p: np.ndarray, cut: float, total: Any, alarm: float) -> _Bound:
    """From one event {log ratio > cut} that was chosen without these runs.

    With n runs and a frequency f of an event of probability p, n KL(f, p) is above x on a given side of
    p with probability exp(-x) at most (Chernoff). Of two independent events the sum is above x with
    probability (1 + x) exp(-x) at most. Whoever spends a share of x on one and the rest on the other
    is on the border of that region; between two shares the more careful limits of both are taken.
    """
    spent = special.gammainccinv(2, alarm) * _SHARES
    alpha = 1 - _chernoff(float((q <= cut).mean()), spent[1:] / len(q))
    power = _chernoff(float((p > cut).mean()), spent[:0:-1] / len(p))
    found = _least(alpha, power, total)
    k = int(np.argmin(found))
    return float(found[k]), float(alpha[k]), float(power[k])


def _chernoff(seen: float, distances: np.ndarray) -> np.ndarray:
    """Probabilities below a frequency, at least so far from it by Kullback and Leibler."""
    outer, inner = np.zeros(len(distances)), np.full(len(distances), seen)
    for _ in range(_HALVINGS):
        middle = (outer + inner) / 2
        far = special.rel_entr(seen, middle) + special.rel_entr(1 - seen, 1 - middle) > distances
        outer, inner = np.where(far, middle, outer), np.where(far, inner, middle)
    return outer


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
