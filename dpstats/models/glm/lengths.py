"""How long private rows of ones and zeros are, beside public ones.

No score of a logit is longer than its row, and public rows say which of the long scores balance. But few
of them do not show a long tail: the longest of a hundred is short beside that of ten thousand. Noise in
the counts of private rows looks like a tail as well, so that these are asked for what is beyond doubt
only, unless public rows have a long tail themselves or do not reach where private ones are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpstats.arrays import Floats
from dpstats.models.glm.family import Family
from dpstats.numerics.histogram import LogHistogram
from dpstats.score_rounds.releases import ScoreSession
from dpstats.score_rounds.tails import Tail
from dpstats.score_rounds.whitening import (
    far_off,
    share_of_moments,
    square_of_others,
    whitened_lengths,
)

ROW_LENGTHS = 0.006
"""Share of a histogram of row lengths."""
_TOP, _LONG = 4, 0.35
"""Longest public rows, and the mean logarithm of how many times as long as the next one they are from
which the tail is long: a tenth for normal columns, next to nothing for a level, and the standard
deviation of the logarithm of a lognormal one divided by two or three."""
_FARTHER = 1.5
"""Times the longest public row, from where private rows are looked for that no public one is like."""


@dataclass(frozen=True)
class RowsSeen:
    """Released lengths of private rows: their tail, and counts of lengths times ``unit``."""

    tail: Tail
    counts: LogHistogram
    unit: float
    n: int

    def surely(self, lengths: Floats) -> Floats:
        """Share of the rows that is longer beyond doubt."""
        return self.counts.seen_above(self.unit * lengths, sure=True) / self.n

    def beyond(self, farthest: float) -> bool:
        """Whether rows are surely far beyond public ones; by the noise of a count more than surely."""
        share = self.surely(np.array([_FARTHER * farthest]))
        return bool(share[0] * self.n > self.counts.noise_sd)

    def elsewhere(self, public: Floats, m: int | None, d: int, mu: float) -> bool:
        """Whether most rows lie too far from public ones of these lengths for these to guide rounds.

        Few public rows, m of d columns, make others longer by themselves. Lengths are those that were
        counted: of information rows at coefficients of zero.
        """
        middle = self.counts.quantile(0.5)
        if middle is None:
            return False
        size = math.sqrt(float(np.mean(public**2)) / d)
        share = share_of_moments(self.n, d, mu)
        return far_off(middle / size, square_of_others(d, m), self.n, mu * math.sqrt(share))

    def longest(self, public: Tail | None, whole: bool) -> Tail:
        """How long rows are: as public ones are, and longer by the ``whole`` tail or what is sure."""
        tail = self.tail
        share = tail.share if whole else self.surely(tail.lengths)
        if public is not None:
            known = np.interp(tail.lengths, public.lengths, public.share, right=0.0)
            share = np.maximum(share, known)
        return Tail(tail.lengths, share, tail.quantile, tail.rows)


def row_lengths(session: ScoreSession, family: Family, at: Floats) -> RowsSeen:
    """How long rows are: as information rows at coefficients of zero, ``at`` from the anchor, tell."""
    unit = math.sqrt(family.information(0.0))
    seen = whitened_lengths(session, ROW_LENGTHS, at)
    return RowsSeen(seen.tail.scaled(1 / unit), seen.counts, unit, session.n)


def long_tailed(lengths: Floats) -> bool:
    """Whether rows of these lengths have a long tail, so that others will be far longer.

    Examples
    --------
    >>> long_tailed(np.array([1.0, 2.0, 2.5, 2.6, 2.7, 3.0])), long_tailed(np.geomspace(1, 30, 9))
    (False, True)
    """
    top = np.maximum(np.sort(lengths)[::-1][: _TOP + 1], 1e-300)
    return len(top) > _TOP and float(np.log(top[:-1] / top[-1]).mean()) > _LONG


def no_more_than_rows(
    above: Callable[[Floats], Floats], longest: Tail | None, n: int
) -> Callable[[Floats], Floats]:
    """Counts of scores above a length, no more than rows are as long: noise may say more."""
    if longest is None:
        return above
    return lambda length: np.minimum(
        above(length), n * np.interp(length, longest.lengths, longest.share)
    )


def longer_than_rows(scores: LogHistogram, longest: Tail | None, n: int) -> float:
    """How many scores are surely longer than rows are known to be, though none exceeds its row."""
    if longest is None:
        return 0.0
    known = n * longest.share
    return float(np.max(scores.seen_above(longest.lengths, sure=True) - known))
