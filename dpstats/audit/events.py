"""Events that distinguish two laws: their words, and how they are chosen.

Events are chosen on runs that count nowhere else, so that limits of their probabilities hold for
whichever was chosen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpstats.arrays import Floats
from dpstats.audit.attack import Score, lower_limit, upper_limit


@dataclass(frozen=True, eq=False)
class Event:
    """Runs whose score is above a threshold, or is not; ``of_first``: likelier under the first law."""

    score: Score
    threshold: float
    above: bool
    of_first: bool

    def __str__(self) -> str:
        words = "" if self.score.words is None else self.score.words(self.threshold, self.above)
        if words:
            return words
        if self.threshold == -math.inf:
            return f"{self.score.name} is {'there' if self.above else 'missing'}"
        sign = ">" if self.above else "<="
        return f"{self.score.name} {sign} {self.threshold:.4g}"

    def holds(self, runs: Floats) -> NDArray[np.bool_]:
        """For every run."""
        return np.asarray((self.score.of(runs) > self.threshold) == self.above)

    def same(self, other: Event) -> bool:
        """Whether the event, or what it is not, is the other one."""
        return self.score is other.score and self.threshold == other.threshold


def thresholds(scores: Floats) -> Floats:
    """Values to cut a score at: evenly spread in its ranks, and closer together in the tails."""
    n = scores.size
    even = np.linspace(0, n - 1, 200)
    tails = np.concatenate([np.arange(8), np.geomspace(8, max(n / 100, 9), 24)])
    ranks = np.concatenate([even, tails, n - 1 - tails]).astype(int)
    ordered = np.sort(scores)
    return np.unique(ordered[np.clip(ranks, 0, n - 1)])


Objective = Callable[[Floats, Floats], Floats]


def choose_events(
    scores: Sequence[Score],
    learnt: Floats,
    first: Floats,
    second: Floats,
    objectives: Sequence[Objective],
    failure: float,
) -> list[Event]:
    """For every objective the event with the best limits on the runs ``first`` and ``second``.

    An event on the size of numbers is preferred to one on their digits that is better by no more than
    chance makes it. The scores are from other runs, ``learnt``, which help to place thresholds and count
    nowhere. Objectives are functions of lower limits of P(S) and upper limits of Q(S), the larger the
    better; each limit fails with probability ``failure``.

    Examples
    --------
    >>> from dpstats.audit.attack import learn_scores, mu_given_away
    >>> runs = np.linspace(-1, 1, 50)[:, None]
    >>> scores = learn_scores(runs, runs + 1, ["value"])
    >>> event, = choose_events(scores, runs, runs, runs + 1, [mu_given_away], 0.01)
    >>> event.of_first == (not event.above)
    True
    """
    which: list[NDArray[np.intp]] = []
    cuts: list[Floats] = []
    hits: list[list[NDArray[np.intp]]] = []
    for position, score in enumerate(scores):
        parts = [np.sort(score.of(x)) for x in (first, second)]
        at = thresholds(np.concatenate([*parts, score.of(learnt)]))
        at = _between(np.union1d(at, _telling(*parts)), np.concatenate(parts))
        which.append(np.full(at.size, position))
        cuts.append(at)
        hits.append([x.size - np.searchsorted(x, at, side="right") for x in parts])
    counts = [np.concatenate(side) for side in zip(*hits, strict=True)]
    low, high = (
        [limit(c, len(x), failure) for c, x in zip(counts, (first, second), strict=True)]
        for limit in (lower_limit, upper_limit)
    )
    # (above, of_first): lower limits of P(S), upper limits of Q(S)
    readings = {
        (True, True): (low[0], high[1]),
        (True, False): (low[1], high[0]),
        (False, True): (1 - high[0], 1 - low[1]),
        (False, False): (1 - high[1], 1 - low[0]),
    }
    number, cut = np.concatenate(which), np.concatenate(cuts)
    looks = np.array([score.looks for score in scores])[number]
    by_chance = 1 / math.sqrt(min(len(first), len(second)))
    out = []
    for objective in objectives:
        values = np.column_stack([objective(power, alpha) for power, alpha in readings.values()])
        at_best, reading = divmod(_preferred(values, looks, by_chance), len(readings))
        above, of_first = list(readings)[reading]
        out.append(Event(scores[number[at_best]], float(cut[at_best]), above, of_first))
    return out


def _telling(first: Floats, second: Floats) -> Floats:
    """Thresholds, of ordered scores of either law, between which chance could pass by.

    The ends of both, and where the shares below differ most.
    """
    both = np.concatenate([first, second])
    gap = np.searchsorted(first, both, side="right") / first.size
    gap -= np.searchsorted(second, both, side="right") / second.size
    most = both[[int(np.argmax(gap)), int(np.argmin(gap))]]
    return np.concatenate([most, first[[0, -1]], second[[0, -1]]])


def _between(at: Floats, scores: Floats) -> Floats:
    """Thresholds half way between observed scores."""
    values = np.unique(scores)
    next_one = np.searchsorted(values, at, side="right")
    before, after = (values[np.clip(k, 0, values.size - 1)] for k in (next_one - 1, next_one))
    middle = before / 2 + after / 2
    inside = (next_one > 0) & np.isfinite(middle) & (before < middle) & (middle < after)
    return np.unique(np.where(inside, middle, at))


def _preferred(values: Floats, looks: NDArray[np.str_], by_chance: float) -> int:
    """The position of the best value, in rows; of near-equals that of the plainest score."""
    each = values.max(axis=1)
    best = float(each.max())
    if not math.isfinite(best):
        return int(np.argmax(values >= best))
    equal = best - 1e-9 * abs(best)
    plain = looks == "size"
    if looks[int(np.argmax(each >= equal))] in ("digits", "exact") and plain.any():
        least = float(each[plain].max())
        if least >= best - max(0.05 * abs(best), by_chance):
            return int(np.argmax((values >= least) & plain[:, None]))
    # digits name a cause, exact values do not
    for group in (looks != "exact", looks == "exact"):
        equals = (values >= equal) & group[:, None]
        if equals.any():
            break
    return int(np.argmax(equals))
