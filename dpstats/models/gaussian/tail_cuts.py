"""Where rows with long tails are cut for their means and second moments, from a released histogram.

Whether lengths have a tail that a Gaussian has not is read off counts that stand out of the noise. Where
they have, what a cut may lose is weighed over all laws of tails that the counts leave possible
(`dpstats.score_rounds.tails`). Losses are relative to the true moments: of the variance of a direction
no more than all can be lost, and of its mean no more than a share of its standard deviation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy

from dpstats.arrays import Floats
from dpstats.numerics.histogram import OCTAVE, SURE, LogHistogram
from dpstats.score_rounds.tail_laws import mean_excess
from dpstats.score_rounds.tails import Losses, losses

_LEVELS = (0.05, 0.02, 0.01, 0.004, 0.001)
"""Shares of a Gaussian's rows beyond the lengths at which tails are looked for."""
_NEAR = 2 * OCTAVE
_SEEN = 3.0
"""Standard deviations of noise by which so many bins beyond such a length hold more than a Gaussian's.

Any octave that is farther out, or bin or two, as of codes such as 999: `SURE`, as noise alone makes one
of 10^5 histograms do.
"""
_CARE = 0.7
"""Share of what is lost in length that falls on one direction."""


@dataclass(frozen=True)
class SeenTail:
    """What is believed of a tail that was seen.

    Attributes
    ----------
    losses : Losses
    variance : float
        Of rows in each direction, as far as most of them tell.
    counted : array
        Share of the rows beyond each cut, by the counts that stand out alone.
    """

    losses: Losses
    variance: float
    counted: Floats

    def spread_loss(self) -> Floats:
        """Root mean square, over laws, of the share of a variance that each cut may take off."""
        return self._share_of(self.variance)

    def _share_of(self, left: float) -> Floats:
        """`spread_loss`, of a variance of which cuts leave so much."""
        more = self.losses.second / left
        return np.asarray(np.sqrt(self.losses.weight @ (more / (1 + more)) ** 2))

    def spread_lost(self, length: float) -> float:
        """What a cut takes off a variance, over what it leaves of it; no less than by the counts.

        It leaves those of the rows that most tell of, and of rows beyond the cut its square.
        """
        beyond = float(np.interp(length, self.losses.lengths, self.counted))
        left = max(self.variance, beyond * length**2)
        part = self.at(self._share_of(left), length)
        return max(part / (1 - part), self.at(self._counted(2), length) / left)

    def mean_loss(self) -> Floats:
        """What each cut may take off a mean, over the standard deviation."""
        more = self.losses.second / self.variance
        away2 = self.losses.first**2 / self.variance
        return np.asarray(np.sqrt(self.losses.weight @ (away2 / (1 + more))))

    def best_mean_cut(self, noise: Callable[[Floats], Floats], loss: Floats) -> float:
        """`best_cut` of a mean: what counts say is lost is weighed whole, however far it lies."""
        return self.best_cut(noise, np.maximum(loss, self._counted(1) / math.sqrt(self.variance)))

    def best_cut(self, noise: Callable[[Floats], Floats], loss: Floats) -> float:
        """The length at which noise and what is lost are least together."""
        error2 = noise(self.losses.lengths) ** 2 + (_CARE * loss) ** 2
        return float(self.losses.lengths[int(np.argmin(error2))])

    def counted_excess(self, length: float) -> float:
        """Mean of squares beyond that of a length, where positive, by the counts alone."""
        return self.at(self._counted(2), length, 1.0)

    def _counted(self, power: int) -> Floats:
        return np.asarray(mean_excess(self.losses.lengths, self.counted[None], power)[0])

    def at(self, loss: Floats, length: float, share: float = _CARE) -> float:
        """A loss at one length, as far as a ``share`` of it falls on one direction."""
        return share * float(np.interp(length, self.losses.lengths, loss))


def seen_tail(lengths: LogHistogram, d: int, n: float) -> SeenTail | None:
    """The tail of whitened rows, or None where their lengths may be those of a Gaussian.

    Examples
    --------
    >>> normal = np.linalg.norm(np.random.default_rng(1).normal(size=(10_000, 3)), axis=1)
    >>> edges = LogHistogram(np.zeros(80), 5.0, -10, 20).edges()
    >>> def counted(lengths):
    ...     return LogHistogram(np.histogram(lengths, edges)[0].astype(float), 5.0, -10, 20)
    >>> seen_tail(counted(normal), 3, 10_000) is None
    True
    >>> seen_tail(counted(normal**2), 3, 10_000) is None
    False
    """
    rows = max(round(n), 2)
    typical, begins = lengths.quantile(0.5), lengths.tail_begins(rows)
    if typical is None or begins is None:
        return None
    variance = typical**2 / float(scipy.stats.chi2.median(d))
    asked = np.sqrt(variance * scipy.stats.chi2.isf(_LEVELS, d))
    edges = lengths.edges()
    begin = edges[np.minimum(np.searchsorted(edges, asked), lengths.counts.size)]
    farther = edges[edges >= begin[-1]]
    normal, none = (n * scipy.stats.chi2.sf(at**2 / variance, d) for at in (begin, farther))
    if not (
        _stand_out(lengths, begin, _NEAR, normal, _SEEN)
        or any(_stand_out(lengths, farther, bins, none, SURE) for bins in (1, 2, OCTAVE))
    ):
        return None
    long, longer = begins
    laws = losses(lengths, long, rows, longer)
    share = _counted_beyond(laws.lengths, lengths) / rows
    return SeenTail(_with_lumps(laws, share), variance, share)


def _stand_out(
    lengths: LogHistogram, edges: Floats, bins: int, normal: Floats, sure: float
) -> bool:
    """Whether so many bins beyond an edge hold more rows than noise and a Gaussian's rows explain."""
    found, _ = lengths.within(edges, bins)
    noise = math.sqrt(bins) * lengths.noise_sd
    return bool((found - normal > sure * (noise + np.sqrt(normal))).any())


def _counted_beyond(cuts: Floats, lengths: LogHistogram) -> Floats:
    """Rows of bins that stand out, beyond each cut: all rows of a bin may stand at its upper edge."""
    return lengths.seen_above(cuts / 2 ** (1 / OCTAVE))


def _with_lumps(laws: Losses, share: Floats) -> Losses:
    """Losses no smaller than those of the counts that stand out, where these do not fall as a law does.

    Rows of a rare mark are as long as one another: many far out, and none between them and the others.
    """
    return replace(
        laws,
        first=np.maximum(laws.first, mean_excess(laws.lengths, share[None], 1)),
        second=np.maximum(laws.second, mean_excess(laws.lengths, share[None], 2)),
    )
