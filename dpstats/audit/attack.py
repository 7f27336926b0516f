"""Scores that distinguish two laws by samples of either, and limits of error probabilities.

Everything is a pure function of arrays, one row per run. Scores are learnt on some runs; limits of an
event's two probabilities come from others, and hold whatever was learnt.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dpstats.arrays import Floats

Looks = Literal["size", "digits", "exact", "else"]
Read = Callable[[Floats], Floats]
"""A number of each run."""

_FAR = 6.0  # robust standard deviations at which numbers are clipped in a linear score
_MOST_BINS = 32
MOST_COLUMNS = 40  # with scores of their own
_MOST_JOINT = 300  # with a full covariance
_FEW_VALUES = 10  # with bins of their own, that leave a score one of size
_TINY = 1e-6  # of a robust standard deviation: what does not vary within either law


# --- limits ----------------------------------------------------------------------------------------


def lower_limit(hits: Any, runs: int, failure: float) -> Floats:
    """Clopper-Pearson lower limit of a probability; too high with probability ``failure`` at most.

    Examples
    --------
    >>> lower_limit([0, 50, 100], 100, 0.005).round(3).tolist()
    [0.0, 0.369, 0.948]
    """
    hits = np.asarray(hits, dtype=float)
    limit = special.betaincinv(np.maximum(hits, 1), runs - np.maximum(hits, 1) + 1, failure)
    return np.where(hits > 0, limit, 0.0)


def upper_limit(hits: Any, runs: int, failure: float) -> Floats:
    """Clopper-Pearson upper limit of a probability.

    Examples
    --------
    >>> upper_limit([0, 50, 100], 100, 0.005).round(3).tolist()
    [0.052, 0.631, 1.0]
    """
    hits = np.asarray(hits, dtype=float)
    missed = runs - hits
    limit = special.betainccinv(hits + 1, np.maximum(missed, 1), failure)
    return np.where(missed > 0, limit, 1.0)


# --- privacy parameters from limits ----------------------------------------------------------------


def mu_given_away(power: Any, alpha: Any) -> Floats:
    """The mu at which an event may have P(S) = power and Q(S) = alpha; negative without evidence.

    Examples
    --------
    >>> mu_given_away([0.5, 0.9], [0.5, 0.1]).round(3).tolist()
    [0.0, 2.563]
    """
    return np.asarray(special.ndtri(power) - special.ndtri(alpha))


def epsilon_given_away(power: Any, alpha: Any, delta: float) -> Floats:
    """The epsilon at which it may, at this delta; -inf where delta alone explains the event.

    Examples
    --------
    >>> epsilon_given_away([0.5, 0.001], [0.25, 0.0], delta=0.01).round(3).tolist()
    [0.673, -inf]
    """
    power, alpha = np.asarray(power, dtype=float), np.asarray(alpha, dtype=float)
    with np.errstate(divide="ignore"):
        return np.where(
            power > delta,
            np.log(np.maximum(power - delta, 1e-300)) - np.log(alpha),
            -math.inf,
        )


# --- scores ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Score:
    """A function of a run that tends to be larger under one of the laws; ``of`` takes rows of runs.

    Of an ``ordinal`` one only the order of the values counts.
    It looks at the size of numbers, at their last digits (with the ``step`` of the grid on which the
    numbers lie, if they do), at exact values, which have size and digits, or at something else.
    ``words`` describes runs above a threshold, or not above it; "" if there are no words.
    """

    name: str
    of: Read
    ordinal: bool = False
    looks: Looks = "size"
    step: float | None = None
    words: Callable[[float, bool], str] | None = None


@dataclass(frozen=True, eq=False)
class _Scaling:
    """Columns in robust standard deviations about their medians."""

    centre: Floats
    scale: Floats

    @classmethod
    def learn(cls, runs: Floats) -> _Scaling:
        pairs = [_centre_and_scale(column) for column in runs.T]
        centre, scale = np.array(pairs).reshape(-1, 2).T
        return cls(centre, scale)

    def raw(self, runs: Floats) -> Floats:
        with np.errstate(all="ignore"):
            return np.asarray((runs - self.centre) / self.scale)

    def clipped(self, runs: Floats) -> Floats:
        """Within `_FAR`; what is missing lies at the centre."""
        return np.nan_to_num(np.clip(self.raw(runs), -_FAR, _FAR), nan=0.0)


def _centre_and_scale(column: Floats) -> tuple[float, float]:
    finite = column[np.isfinite(column)]
    if not finite.size:
        return 0.0, 1.0
    with np.errstate(all="ignore"):
        centre = float(np.median(finite))
        if not math.isfinite(centre):  # the mean of two huge numbers
            centre = float(np.sort(finite)[finite.size // 2])
        away = np.abs(finite - centre)
        # where most runs give the same number, the rest are the scale
        scale = 1.4826 * float(np.median(away)) or float((away / away.size).sum())
    return centre, min(scale, 1e300) if scale > 0 else 1.0


@dataclass(frozen=True, eq=False)
class Bins:
    """The log likelihood ratio of what is read of a run, by bins of it; missing ones have their own."""

    read: Read
    edges: Floats
    ratio: Floats
    exact: bool = False  # many values have bins of their own

    @classmethod
    def learn(cls, read: Read, first: Floats, second: Floats) -> Bins:
        """From what was read of runs of either law."""
        both = np.concatenate([first, second])
        edges = _edges(both)
        counts = [
            np.bincount(_codes(x, edges), minlength=len(edges) + 2) + 1.0 for x in (first, second)
        ]
        total = [c.sum() for c in counts]
        ratio = np.log(counts[0] / total[0]) - np.log(counts[1] / total[1])
        values, repeats = np.unique(both[~np.isnan(both)], return_counts=True)
        held = np.bincount(_codes(values, edges), minlength=ratio.size)
        alone = (held[_codes(values, edges)] == 1) & (repeats > 1)
        return cls(read, edges, ratio, int(alone.sum()) > _FEW_VALUES)

    def __call__(self, runs: Floats) -> Floats:
        return np.asarray(self.ratio[self.codes(self.read(runs))])

    def codes(self, values: Floats) -> NDArray[np.intp]:
        """Numbers of the bins of what was read."""
        return _codes(values, self.edges)


def column(j: int) -> Read:
    """One column as it is."""
    return lambda runs: np.asarray(runs[:, j])


def _codes(column: Floats, edges: Floats) -> NDArray[np.intp]:
    return np.where(np.isnan(column), 0, 1 + np.searchsorted(edges, column, side="right"))


def _edges(column: Floats) -> Floats:
    """Left ends of all bins but the first; numbers that repeat often have bins of their own."""
    ordered = np.sort(column[~np.isnan(column)])
    most = min(_MOST_BINS, max(column.size // 20, 2))
    distinct = np.unique(ordered)
    if len(distinct) <= most:
        return distinct[1:]
    ends = ordered[np.linspace(0, ordered.size - 1, most + 1).astype(int)[1:-1]]
    values, repeats = np.unique(ends, return_counts=True)
    return np.unique(np.concatenate([values, np.nextafter(values[repeats > 1], math.inf)]))


def _coordinate(j: int) -> Read:
    """One column, missing values below all others."""
    return lambda runs: np.where(np.isnan(runs[:, j]), -math.inf, runs[:, j])


def _distance_from(j: int, centre: float) -> Read:
    """The distance of one column from its centre."""

    def read(runs: Floats) -> Floats:
        with np.errstate(all="ignore"):
            values = np.abs(runs[:, j] - centre)
        return np.where(np.isnan(values), -1.0, values)

    return read


def _linear(columns: NDArray[np.intp], scaling: _Scaling, sides: bool, weights: Floats) -> Read:
    """A weighted sum of scaled columns, of which are missing, and (``sides``) of their distances."""
    return lambda runs: np.asarray(_features(runs[:, columns], scaling, sides) @ weights)


def sum_of(parts: Sequence[Bins]) -> Read:
    """Likelihood ratios of columns as if these were independent."""
    return lambda runs: np.asarray(sum((part(runs) for part in parts), np.zeros(len(runs))))


def _looks_of(parts: Sequence[Bins]) -> Looks:
    return "exact" if any(part.exact for part in parts) else "size"


def _features(runs: Floats, scaling: _Scaling, sides: bool) -> Floats:
    z = scaling.clipped(runs)
    missing = np.isnan(runs).astype(float)
    return np.hstack([z, missing, np.abs(z)] if sides else [z, missing])


def _weights(first: Floats, second: Floats, diagonal: bool) -> list[Floats]:
    """Discriminants with a ridge: small ones for few columns, or the columns one by one."""
    gap = first.mean(axis=0) - second.mean(axis=0)
    away = np.vstack([first - first.mean(axis=0), second - second.mean(axis=0)])
    sd = np.maximum(np.sqrt((away**2).mean(axis=0)), _TINY)
    gap = gap / sd
    if diagonal:
        return [gap / sd]
    away = away / sd
    values, vectors = np.linalg.eigh(away.T @ away / len(away))
    along = vectors.T @ gap
    usual = gap.size / (gap.size + len(away))
    # the smallest ridge finds sums of columns in which noise cancels
    return [
        np.asarray(vectors @ (along / (np.maximum((1 - r) * values, 0) + r)) / sd)
        for r in (1e-9, usual)
    ]


def learn_scores(first: Floats, second: Floats, names: Sequence[str]) -> tuple[Score, ...]:
    """Scores that may distinguish two laws, from runs of either; one at least.

    A row for each run, a column for each number (NaN where it is missing), with ``names``. Single
    columns are scored by themselves, their distances from the middle and their binned likelihood
    ratios; all of them by linear discriminants and sums of likelihood ratios.

    Examples
    --------
    >>> runs = np.linspace(-1, 1, 50)[:, None]
    >>> [score.name for score in learn_scores(runs, runs + 1, ["value"])]
    ['value', '|value - 0.5|', 'likelihood ratio of value']
    """
    both = np.vstack([first, second])
    varying = [j for j in range(both.shape[1]) if _varies(both[:, j])]
    if not varying:
        return (Score(names[0], _coordinate(0)),)
    bins = {j: Bins.learn(column(j), first[:, j], second[:, j]) for j in varying}
    # how far the laws of a column are apart, in runs of the learning sample
    ordered = sorted(varying, key=lambda j: -float(np.mean(bins[j](both) ** 2)))
    some = ordered[:MOST_COLUMNS]
    out: list[Score] = []
    for j in sorted(some):  # of equals the first column is chosen
        name, centre = names[j], _centre_and_scale(both[:, j])[0]
        out.append(Score(name, _coordinate(j)))
        if not np.isin(both[:, j], (0.0, 1.0)).all():  # else nothing new
            out.append(Score(f"|{name} - {centre:.4g}|", _distance_from(j, centre)))
            looks = _looks_of([bins[j]])
            out.append(Score(f"likelihood ratio of {name}", bins[j], ordinal=True, looks=looks))
    if len(varying) == 1:
        return tuple(out)
    for few in sorted({min(5, len(some)), len(some)}):
        parts = tuple(bins[j] for j in some[:few])
        name = f"likelihood ratios of {few} numbers"
        out.append(Score(name, sum_of(parts), ordinal=True, looks=_looks_of(parts)))
    for diagonal, most in ((False, _MOST_JOINT), (True, len(varying))):
        columns = np.sort(ordered[:most])
        scaling = _Scaling.learn(both[:, columns])
        for sides in (False, True):
            one, two = (_features(x[:, columns], scaling, sides) for x in (first, second))
            for weights in _weights(one, two, diagonal):
                name = f"linear score of {len(columns)} numbers" + (" and distances" * sides)
                out.append(Score(name, _linear(columns, scaling, sides, weights)))
    return tuple(out)


def _varies(column: Floats) -> bool:
    missing = np.isnan(column)
    known = column[~missing]
    return bool(missing.any() and known.size) or bool(known.size and (known != known[0]).any())


# --- how far apart ---------------------------------------------------------------------------------


def distance(scores: Sequence[Score], first: Floats, second: Floats) -> float:
    """How far apart two laws are, in robust standard deviations of the score that shows it best.

    Lowered by what chance makes of the best of so many scores; inf where two constants differ.

    Examples
    --------
    >>> runs = np.linspace(-1, 1, 50)[:, None]
    >>> scores = learn_scores(runs, runs + 1, ["value"])
    >>> distance(scores, runs, runs + 9) > distance(scores, runs, runs + 1) > 0
    True
    """
    distances = []
    for score in scores:
        one, two = score.of(first), score.of(second)
        distances.append(_rank_distance(one, two))
        if not score.ordinal:
            distances.append(_robust_distance(one, two))
    by_chance = math.sqrt(2 * math.log(2 * len(distances)) * (1 / len(first) + 1 / len(second)))
    return max(distances) - 1.25 * by_chance


def _rank_distance(one: Floats, two: Floats) -> float:
    """Distance of two Gaussians whose runs are as often above one another as those of the two laws."""
    ordered = np.sort(two)
    below = np.searchsorted(ordered, one, side="left") + np.searchsorted(ordered, one, side="right")
    pairs = len(one) * len(two)
    share = float(np.clip(below.sum() / (2 * pairs), 0.5 / pairs, 1 - 0.5 / pairs))
    return abs(math.sqrt(2) * float(special.ndtri(share)))


def _robust_distance(one: Floats, two: Floats) -> float:
    # infinities would leave no distance between them; the largest floats do
    one, two = (np.clip(x, -1e300, 1e300) for x in (one, two))
    at_one, at_two = _centre_and_scale(one)[0], _centre_and_scale(two)[0]
    if at_one == at_two:
        return 0.0
    around = np.concatenate([one - at_one, two - at_two])
    constant = not (around != around[0]).any()
    return math.inf if constant else abs(at_one - at_two) / _centre_and_scale(around)[1]
