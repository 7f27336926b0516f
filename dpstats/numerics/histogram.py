"""A private scale: quantiles read off a noisy histogram on a logarithmic grid.

The histogram is the release (one mechanism, l2 sensitivity sqrt(2)); everything here is
post-processing of its noisy counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpstats.arrays import Floats

OCTAVE = 4
"""Bins."""
_WINDOW, _BELOW = 8.0, OCTAVE
"""Three octaves: how much longer the values are at its end; and bins below it."""
SURE = 5.5
"""Standard deviations of its noise above zero that noise alone hardly ever reaches."""
_BESIDE = 1, 2, 3
"""Bins that are looked at together."""
_NEAR = 2.5
_DOUBT = 1.5
"""Of these, what a count may be off by, where it is said to be sure or possible."""
_ALL = 3.0
"""Standard deviations of the number counted, from which values are missing."""
_GAP = 0.3
"""Of the values beyond an octave, how many it holds at least where they are the tail of those below."""
_MANY = 100, 0.01
"""Values beyond a gap that are no outliers: their number, and their share of all."""
_THIN_END = 4.0
"""Of a tail, over the length up to which it stands out most."""
_MASS = 0.6
"""Share of the values in one bin, from which they are taken to be alike."""


def merged(counts: NDArray[Any], fine: int) -> NDArray[Any]:
    """Counts of quarter octaves, beyond the first ``fine`` octaves added up to whole ones."""
    first, others = counts[: 4 * fine], counts[4 * fine :]
    return np.concatenate([first, others.reshape(-1, 4).sum(axis=1)])


def merged_edges(edges: Floats, fine: int) -> Floats:
    """The edges that bins have after `merged`."""
    return np.concatenate([edges[: 4 * fine], edges[4 * fine :: 4]])


@lru_cache(maxsize=64)
def _edges(lowest: int, octaves: int, fine: int | None) -> Floats:
    k = np.arange(4 * octaves + 1)
    edges = np.ldexp(1 + (k % 4) / 4, lowest + k // 4)
    edges = edges if fine is None else merged_edges(edges, fine)
    edges.setflags(write=False)
    return edges


class NoisyCounts(Protocol):
    """A release of counts, as far as it is read here."""

    @property
    def value(self) -> Floats: ...

    @property
    def noise_sd(self) -> float: ...


@dataclass(frozen=True)
class LogHistogram:
    """Noisy counts in quarter-octave bins from 2**lowest upwards, and perhaps in whole octaves above.

    Attributes
    ----------
    counts : array
        Four for each of the first ``fine`` octaves, and one for each of the others.
    noise_sd : float
        In counts.
    fine : int, optional
        All octaves by default.
    """

    counts: Floats
    noise_sd: float
    lowest: int
    octaves: int
    fine: int | None = None

    @classmethod
    def of(
        cls, release: NoisyCounts, lowest: int, octaves: int, fine: int | None = None
    ) -> LogHistogram:
        """The counts of these octaves as they were released."""
        return cls(release.value, release.noise_sd, lowest, octaves, fine)

    def edges(self) -> Floats:
        """Edges 2^k (1, 1.25, 1.5, 1.75) of the bins, one more than there are counts."""
        return _edges(self.lowest, self.octaves, self.fine)

    @cached_property
    def _below(self) -> Floats:
        """How many are counted below each edge."""
        return np.concatenate([[0.0], np.cumsum(self.counts)])

    @cached_property
    def _seen(self) -> NDArray[np.bool_]:
        """Bins that are trusted to hold values.

        The three octaves that together hold most, and an octave below them; and every bin that by
        itself, or with one or two beside it, stands 5.5 noise standard deviations above zero, which
        noise alone does in one histogram of 10^5. Counts elsewhere are noise around zero: a quantile
        that believed them would be thrown off by a single spike.
        """
        edges, below = self.edges(), self._below
        ends = np.searchsorted(edges, _WINDOW * edges[:-1], side="right") - 1
        window = below[ends] - below[:-1]
        start = int(np.argmax(window))
        end = int(ends[start])
        seen = np.zeros(self.counts.size, dtype=np.bool_)
        if window[start] > SURE * math.sqrt(end - start) * self.noise_sd:
            seen[max(start - _BELOW, 0) : end] = True
        for bins in _BESIDE:
            held = np.convolve(self.counts, np.ones(bins), "valid")
            stands_out = held > SURE * math.sqrt(bins) * self.noise_sd
            seen |= np.convolve(stands_out, np.ones(bins)) > 0
        return seen

    def quantile(self, level: float) -> float | None:
        """Quantile of the values, or None when nothing stands out of the noise.

        Taken over the bins that are `_seen`, interpolated linearly inside a bin.
        """
        seen = self._seen
        return self._quantile(np.where(seen, self.counts, 0.0), level) if seen.any() else None

    def _quantile(self, held: Floats, level: float) -> float:
        cumulative = np.cumsum(held)
        cumulative = np.maximum(np.maximum.accumulate(cumulative), 0.0)
        target = level * cumulative[-1]
        k = int(np.searchsorted(cumulative, target))
        below = cumulative[k - 1] if k else 0.0
        held = cumulative[k] - below
        inside = (target - below) / held if held > 0 else 0.0
        edges = self.edges()
        return float(edges[k] + inside * (edges[k + 1] - edges[k]))

    def rows(self, n: int) -> int:
        """How many of n rows are counted: all, unless counts show that values are missing."""
        total, sd = float(self.counts.sum()), math.sqrt(self.counts.size) * self.noise_sd
        if total + _ALL * sd >= n:
            return n
        seen = float(np.sum(self.counts[self._seen]))
        return max(round(min(max(seen, total - _ALL * sd), total + _ALL * sd)), 1)

    def tail_begins(self, n: int) -> tuple[float, int] | None:
        """The 90 % quantile of n values, and of how many it is one; None when nothing is seen.

        Of all that are counted; or, if noise alone would not make so many, of those beyond a bin that
        holds most of them, as of the others than zero where most are zeros, or beyond a gap.
        """
        long, rows = self.quantile(0.9), self.rows(n)
        if long is None:
            return None
        at = int(np.searchsorted(self.edges(), long))
        start = self._beyond_a_gap(at, max(_MANY[0], _MANY[1] * rows))
        if start is None and self.counts[at - 1] >= _MASS * rows:
            start = at
        end = None if start is None else self._stands_out(start)
        if start is None or end is None:
            return long, rows
        # its thin end is hidden by noise, and makes its number and its quantile larger all the same
        edges = self.edges()
        end = min(int(np.searchsorted(edges, _THIN_END * edges[end])), self.counts.size)
        others = np.where(np.arange(self.counts.size) < start, 0.0, self.counts)[:end]
        return self._quantile(others, 0.9), max(round(float(others.sum())), 1)

    def _stands_out(self, start: int) -> int | None:
        """Where the bins from ``start`` end that together stand out most; None where noise might."""
        held = np.cumsum(self.counts[start:])
        if not len(held):
            return None
        sure = held / (max(self.noise_sd, 1e-9) * np.sqrt(np.arange(1, len(held) + 1)))
        return start + int(np.argmax(sure)) + 1 if sure.max() >= SURE else None

    def _beyond_a_gap(self, at: int, many: float) -> int | None:
        """The last bin from ``at`` on before which an octave holds less than a tail would, for sure.

        A tail whose number of longer values falls as the power 0.4 of their length, or faster, has a
        third as many in an octave as beyond it. Fewer than ``many`` beyond a gap are outliers.
        """
        edges, size, below = self.edges(), self.counts.size, self._below
        starts = np.arange(at + 1, size)
        before = np.searchsorted(edges, edges[starts] / 2)
        most = np.maximum.accumulate(below[::-1])[::-1][starts] - below[starts]
        gaps = below[starts] - below[before]
        for k in np.flatnonzero((before >= at) & (most > many) & (gaps < _GAP * most))[::-1]:
            end = self._stands_out(int(starts[k]))
            if end is None:
                continue
            held, bins = below[end] - below[starts[k]], end - starts[k]
            noise = self.noise_sd * math.hypot(math.sqrt(starts[k] - before[k]), _GAP * bins**0.5)
            if held > many and gaps[k] + 2 * noise < _GAP * held:
                return int(starts[k])
        return None

    def largest(self) -> int:
        """The largest whole number that may be in the last bin that seems to hold some; at least 1.

        A bin does if it is `_seen` and 2.5 noise standard deviations above zero; where none does, it is
        8.
        """
        held = np.flatnonzero(self._seen & (self.counts > _NEAR * self.noise_sd))
        return max(math.ceil(float(self.edges()[held[-1] + 1])) - 1, 1) if len(held) else 8

    def mean(self, n: int) -> float | None:
        """Mean over n values of those that are `_seen`, each at the middle of its bin."""
        seen = self._seen
        if not seen.any():
            return None
        edges = self.edges()
        middle = (edges[1:] + edges[:-1]) / 2
        total = float((np.where(seen, self.counts, 0.0) * middle).sum())
        return total / n if total > 0 else None

    def within(self, threshold: Floats, bins: int) -> tuple[Floats, NDArray[np.intp]]:
        """Counts of so many bins beyond each threshold, and how many there are."""
        first = np.minimum(np.searchsorted(self.edges(), threshold), self.counts.size)
        stop = np.minimum(first + bins, self.counts.size)
        return self._below[stop] - self._below[first], stop - first

    def count_above(self, threshold: Floats) -> Floats:
        """How many values surely exceed each threshold, within the next four octaves.

        What noise may have added is taken off: a tail is believed where it is seen.
        """
        found, bins = self.within(threshold, 4 * OCTAVE)
        return np.asarray(np.maximum(found - _DOUBT * np.sqrt(bins) * self.noise_sd, 0.0))

    def tail(self, threshold: Floats) -> Floats:
        """How many values surely exceed each of some rising thresholds, within the next octave.

        Believed as far as it reaches without a gap, at two and a half noise standard deviations; and
        wherever it stands 5.5 of them above zero, as noise alone hardly ever does.
        """
        found, bins = self.within(threshold, OCTAVE)
        noise = np.sqrt(bins) * self.noise_sd
        reached = np.cumprod(found > _NEAR * noise).astype(np.bool_)
        return np.where(reached | (found > SURE * noise), np.maximum(found, 0.0), 0.0)

    def surely_above(self, threshold: Floats) -> Floats:
        """`count_above` of rising thresholds, up to the last whose `tail` is believed: none of noise.

        What is believed may be far out, as rows of a rare level are, with nothing before it.
        """
        believed = np.maximum.accumulate((self.tail(threshold) > 0)[::-1])[::-1]
        return np.where(believed, self.count_above(threshold), 0.0)

    def seen_above(self, threshold: Floats, *, sure: bool = False) -> Floats:
        """How many of the values that are `_seen` lie above each threshold, however far.

        ``sure``: less what noise may have added.
        """
        first = np.minimum(np.searchsorted(self.edges(), threshold), self.counts.size)
        seen = self._seen
        total, bins = (
            np.concatenate([[0.0], np.cumsum(each)])
            for each in (np.where(seen, self.counts, 0.0), seen)
        )
        doubt = _DOUBT * self.noise_sd * np.sqrt(bins[-1] - bins[first]) if sure else 0.0
        return np.asarray(np.maximum(total[-1] - total[first] - doubt, 0.0))

    def shown_above(self, threshold: Floats) -> Floats:
        """`surely_above`, or what `seen_above` is sure of: a few rows that all have one length."""
        return np.maximum(self.surely_above(threshold), self.seen_above(threshold, sure=True))

    def peak(self) -> float:
        """Upper edge of the fullest bin, for when nothing stands out and nothing else is known."""
        return float(self.edges()[int(np.argmax(self.counts)) + 1])
