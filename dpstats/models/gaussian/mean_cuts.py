"""Where rows are cut for a mean, and what that may take off it, by released counts of their lengths."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy

from dpstats.arrays import Floats
from dpstats.models.gaussian.cuts import NoiseLevel
from dpstats.models.gaussian.moments import Moments
from dpstats.models.gaussian.tail_cuts import SeenTail, seen_tail
from dpstats.numerics.histogram import LogHistogram
from dpstats.score_rounds.cuts import cut_for_intervals
from dpstats.score_rounds.tails import Tail, median_excess, most_excess, tail_of

_SINGLE, _BEYOND = 0.1, 1.25
"""Noise of counts that show single rows; and times as long as the longest, about a moved centre."""
_FREE = 0.2
"""Noise of a mean, in errors of sampling, that a wider cut may cost."""
DEAREST = 1.0
"""Noise of a mean, in errors of sampling, that rows which nobody sees may cost."""
_FARTHEST = 64.0
"""Times the usual radius, up to which rows are looked for where counts show no lengths."""
_ONE_SIDED = 0.5
"""Share of what a cut takes off that counts as an error of a mean: columns have one long tail or two."""


def first_radius(lengths: LogHistogram, n: float, d: int, tail: float = 0.05) -> float:
    """Length that this share of rows exceeds, or more of them where the noise hides so few."""
    level = 1 - max(tail, min(4 * lengths.noise_sd / max(n, 1.0), 0.25))
    return lengths.quantile(level) or 2 * math.sqrt(d)


def mean_cut(
    noise: NoiseLevel,
    share: float,
    n: float,
    d: int,
    tail: SeenTail,
    least: float,
    expected: Callable[[Floats], Floats] | None = None,
) -> tuple[float, float]:
    """Where rows are cut for a mean, and what that may take off it, in standard deviations.

    All that is lost may fall on one direction, as it does where one column has the tail: an interval
    allows for that. ``least``: length that is never cut. ``expected``: what public rows say that a cut
    takes off.
    """
    loss, unit = tail.mean_loss(), noise.vector(1.0, share, n, d) / math.sqrt(tail.variance)
    if expected is not None:
        loss = np.maximum(loss, expected(tail.losses.lengths) / math.sqrt(tail.variance))
    best = tail.best_mean_cut(lambda length: math.sqrt(d) * unit * length, loss)
    radius = max(best, least)
    return radius, tail.at(loss, radius, 1.0)


@dataclass(frozen=True)
class MeanCut:
    """Where rows are cut for a mean.

    Attributes
    ----------
    radius : float
    lost : float
        What errors count of what that takes off a mean, in standard deviations.
    most : float
        What it hardly takes off, by the counts of lengths and what tails may be: 5 % of laws take more.
        Infinite where counts show nothing.
    beyond : float
        Share of the rows that are believed to be longer than the radius.
    """

    radius: float
    lost: float
    most: float
    beyond: float

    def lost_at_least(self, share: float, variance: float) -> float:
        """What errors count, if a ``share`` of the rows is known to have been cut.

        Those that were not thought to be long are taken to be twice as long as the radius.
        """
        unforeseen = max(share - self.beyond, 0.0)
        return max(self.lost, unforeseen * self.radius / math.sqrt(variance))


def last_mean_cut(
    noise: NoiseLevel,
    share: float,
    n: int,
    lengths: LogHistogram,
    variance: float,
    d: int,
    expected: Callable[[Floats], Floats] | None = None,
    dearest: float = DEAREST,
    *,
    shown: bool = False,
) -> MeanCut:
    """Where rows are cut for a mean, in view of their lengths, and what that may take off it.

    A radius at which noise is a small part of the error of sampling is never too large, but where counts
    show every single row it need not be farther out than the longest. Where no long
    tail is seen there may be one: as for scores, what counts and their noise leave possible is weighed
    against the noise of the mean, `_ONE_SIDED` of it as if it had one direction. That noise is borne up
    to ``dearest`` errors of sampling. ``expected``: what cuts take off a mean, as of rows of a rare
    mark, which noise hides; ``shown``: by public rows, so that it is borne as far as it takes.
    """
    level = min(0.01, 0.3 / math.sqrt(n))
    sd, unit = math.sqrt(variance), noise.vector(1.0, share, n, d)
    free = min(_FREE * sd / math.sqrt(n) / unit, _longest(lengths))
    radius = max(first_radius(lengths, n, d, level), free)
    beyond, lost, most = seen_tail(lengths, d, n), 0.0, math.inf
    if beyond is not None:
        radius, lost = mean_cut(noise, share, n, d, beyond, radius)
    farther = 0.0
    if (quantile := lengths.quantile(0.9)) is not None:
        tail = tail_of(lengths, quantile, n)
        if beyond is None or expected is not None:
            loss = None if expected is None else lambda c: expected(c) / _ONE_SIDED
            cut = cut_for_intervals(tail, n, d, 2 / (n * unit), _ONE_SIDED, loss)
            radius = max(radius, min(cut.length, dearest * sd / math.sqrt(n) / unit))
        if beyond is None:
            lost = _one_sided(tail, radius) / sd
    if expected is not None:
        # public rows show it; of marks that a search has found, or may have missed, it is the most
        if shown or quantile is None:  # or nearly all rows lie in one place
            tried = radius * np.geomspace(1.0, _FARTHEST, 200)
            radius = float(tried[np.argmin(d * (unit * tried) ** 2 + expected(tried) ** 2)])
        lost = max(lost, float(expected(np.array([radius]))[0]) / sd)
    if quantile is not None:
        most = most_excess(tail, n, radius, power=1) / sd
        farther = float(np.interp(radius, tail.lengths, tail.share))
    normal = float(scipy.stats.chi2.sf(radius**2 / variance, d))
    return MeanCut(radius, lost, most, max(farther, normal))


def hidden_loss(counts: LogHistogram, moments: Moments, radius: float) -> float:
    """What a cut is expected to take off a mean where no long tail is seen, in standard deviations."""
    quantile = counts.quantile(0.9)
    if quantile is None:
        return 0.0
    tail = tail_of(counts, quantile, max(round(moments.cell.n), 2))
    return _one_sided(tail, radius) / math.sqrt(moments.variance)


def _one_sided(tail: Tail, radius: float) -> float:
    """What errors count of what a cut takes off a mean, by a tail that noise may hide."""
    return _ONE_SIDED * float(np.interp(radius, tail.lengths, tail.excess()))


def _longest(lengths: LogHistogram) -> float:
    """A length that no row exceeds, where counts show every single one; else infinite."""
    if lengths.noise_sd > _SINGLE or lengths.counts[-1] > 0.5:
        return math.inf
    return _BEYOND * float(lengths.edges()[1:][lengths.counts > 0.5].max(initial=0.0))


def counted_variance(lengths: LogHistogram, n: int, d: int) -> float:
    """Variance of rows in a direction, on average, by noisy counts of their lengths alone.

    Up to where the tail begins as counts have it; beyond, the median over all laws that they leave
    possible, or where a long tail was seen what stands out of the noise, if that is more.

    Examples
    --------
    >>> rows = np.random.default_rng(1).normal(size=(10_000, 2))
    >>> edges = LogHistogram(np.zeros(80), 5.0, -10, 20).edges()
    >>> counts = np.histogram(np.linalg.norm(rows, axis=1), edges)[0].astype(float)
    >>> 0.95 < counted_variance(LogHistogram(counts, 5.0, -10, 20), 10_000, 2) < 1.1
    True
    """
    if lengths.quantile(0.9) is None:
        return 1.0
    tail, rows = tail_of(lengths, 1.0, n, power=2), lengths.rows(n)
    begins, edges = tail.quantile, lengths.edges()
    above = lengths.seen_above(edges)
    at = np.concatenate([[0.0], edges[edges < begins], [begins]])
    below = np.interp(at, edges, above[0] - above)
    shorter = (1 - 0.1 * tail.rows / rows) * below / max(below[-1], 1e-300)
    body = float(np.diff(at**2) @ (2 - shorter[1:] - shorter[:-1])) / 2
    beyond, long = median_excess(tail, n, begins), seen_tail(lengths, d, n)
    if long is not None:
        beyond = max(beyond, long.counted_excess(begins))
    beyond *= n / rows
    return max((body + beyond) / d, 1e-12)
