"""Where residuals of a curve are cut, from a released histogram of them.

A cut to [-b, a] costs noise of R = (a + b) / 2 and more where its middle is off the curve; what lies
beyond it may all be missing on one side. Both are weighed at a typical point of the curve, so that
intervals are short and hold.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from dpstats.arrays import Floats
from dpstats.numerics.histogram import SURE, LogHistogram, NoisyCounts
from dpstats.score_rounds.tails import Tail, most_excess, tail_of

_CARE = 0.5
"""Share of `unsure` that is weighed like noise."""
_LEAST_SLOPE = 0.5
_TENTH = 0.05, 0.3  # shares of the rows seen that may be beyond their 90 % quantile
_NEAREST = 0.01  # share of a side's residuals that are nearer than its nearest ones
_FEWEST = 20  # rows of a side of which a tail is told
_THINNED = 8  # of the lengths of a tail, those at which a cut may lie
_INDEX = 3.0
"""Power of their length as which public residuals longer than the longest one are taken to fall."""
_RANGE, _CUTS = (0.25, 64.0), 25
"""Cuts for which it is asked what lies beyond, in 90 % quantiles or longest public residuals."""
_SQUARES = 1.5  # cut of squares, in 90 % quantiles
_BELOW, _ABOVE, _WHOLE = 3, 1, 11
"""Octaves below and above a typical size with bins of quarters, and whole octaves above these."""
_BESIDE = 0.25
"""Of the 90 % quantile of a side, where its rows begin at most if they go on across the centre."""
_TOGETHER = 12
"""Bins that tell whether a side has rows: those of three octaves."""


@dataclass(frozen=True)
class Window:
    """Bins of a histogram of sizes: ``fine`` of its octaves in quarters, the others whole; public."""

    lowest: int
    octaves: int
    fine: int

    @classmethod
    def about(cls, scale: float) -> Window:
        """For residuals of about this size; smaller and larger ones count in the bins at the ends."""
        fine = _BELOW + _ABOVE
        return cls(math.frexp(scale)[1] - _BELOW, fine + _WHOLE, fine)


@dataclass(frozen=True)
class PublicSide:
    """Left-out residuals of public rows on one side of their fit, and longer ones that there may be.

    Attributes
    ----------
    sizes : (k,) array
    m : int
        Public rows on both sides.
    """

    sizes: Floats
    m: int

    def excess(self, cut: Floats, power: int = 1) -> Floats:
        """Mean over all rows of size^power - cut^power, where positive.

        One row in m is longer than all that are seen, and shares fall from there as `_INDEX`.
        """
        cut = np.asarray(cut, dtype=np.float64)
        if not len(self.sizes):
            return np.zeros(cut.shape)
        longest, least = float(self.sizes.max()), np.maximum(cut, 0.0)
        seen = (self.sizes > least[..., None]) * (
            self.sizes**power - (np.sign(cut) * np.abs(cut) ** power)[..., None]
        )
        farther = np.maximum(least, longest)
        share, grows = (longest / farther) ** _INDEX, _INDEX / (_INDEX - power)
        unseen = share * np.maximum(farther**power * grows - least**power, 0.0)
        return np.asarray((seen.sum(axis=-1) + unseen) / self.m)

    def cuts(self) -> Floats:
        """Where this side may be cut."""
        if not len(self.sizes):
            return np.empty(0)
        longest = float(self.sizes.max())
        return longest * np.geomspace(*_RANGE, _CUTS)


@dataclass(frozen=True)
class Side:
    """Residuals on one side of the public fit.

    Attributes
    ----------
    part : float
        Share of all rows, in such a way that a tenth of it is beyond ``quantile90``.
    nearest : float
        Hardly any residual is smaller.
    quantile90 : float
    tail : Tail or None
        None where no row is seen.
    public : PublicSide or None
        What public rows say of it.
    most : tuple of arrays
        Cuts, and the excess that counts hardly leave possible; empty where they say nothing.
    """

    part: float
    nearest: float
    quantile90: float
    tail: Tail | None
    public: PublicSide | None = None
    most: tuple[Floats, Floats] | None = None

    def or_hidden(self, other: Side, hidden: float) -> Side:
        """This side, or where noise hides its rows, as many as it may hide that lie like the others'.

        Where those begin far from the centre, all rows are on their side.
        """
        if self.tail is not None or other.nearest > _BESIDE * other.quantile90:
            return self
        return replace(other, part=min(other.part, hidden))

    def excess(self, cut: Floats, power: int = 1) -> Floats:
        """Mean over all rows of size^power - cut^power, where positive."""
        if self.tail is None:
            return np.zeros(np.shape(cut))
        return self.part * np.interp(cut, self.tail.lengths, self.tail.excess(power))

    def missing(self, cut: Floats) -> Floats:
        """`excess` of sizes, or more: what public rows say, as far as counts leave that possible."""
        found = self.excess(cut)
        if self.public is None:
            return found
        told = self.public.excess(cut)
        if self.most is not None:
            told = np.minimum(told, np.interp(cut, *self.most))
        return np.asarray(np.maximum(found, told))

    def squares(self, cut: float) -> float:
        """`excess` of squares; that of public rows where no private row is seen."""
        if self.tail is None and self.public is not None:
            return float(self.public.excess(np.array(cut), 2))
        return float(self.excess(np.array(cut), 2))

    def beyond(self, cut: Floats) -> Floats:
        """Share of all rows whose residuals are on this side and longer than a cut."""
        if self.tail is None:
            return np.zeros(np.shape(cut))
        return self.part * np.interp(cut, self.tail.lengths, self.tail.share)

    def cuts(self, other: Side) -> Floats:
        """Where this side may be cut; below 0 where all rows are on the other side."""
        if self.tail is not None:
            return self.tail.lengths[::_THINNED]
        none = np.array([-other.nearest])
        return none if self.public is None else np.append(none, self.public.cuts())


@dataclass(frozen=True)
class ResidualCut:
    """Residuals are cut to [middle - radius, middle + radius].

    ``bias``: what is weighed like noise of a local mean. ``slope``: share of the rows that are not cut,
    by which a cut mean follows the mean.
    """

    middle: float
    radius: float
    bias: float
    slope: float


def unsure(above: Floats, below: Floats) -> Floats:
    """How wrong the excess of one side less that of the other may be, for what cutting does to a mean.

    The law of residuals differs from place to place, so that even what balances on the whole may not
    balance there.
    """
    return np.asarray(np.abs(above - below) + (above + below) / 2)


@dataclass(frozen=True)
class Residuals:
    """What a released histogram tells of residuals from the public fit.

    ``counts_sd``: noise of its counts. ``counted``: how many residuals are not 0, with noise.
    """

    above: Side
    below: Side
    quantile90: float
    counts_sd: float = 0.0
    counted: tuple[float, float] = (0.0, 0.0)

    @classmethod
    def of(
        cls,
        counts: NoisyCounts,
        window: Window,
        n: int,
        scale: float,
        public: Floats | None = None,
    ) -> Residuals:
        """Sides and tails; ``scale`` stands in where no row stands out of the noise.

        ``public``: left-out residuals of public rows.
        """
        above, below = counts.value.reshape(2, -1)
        sure = counts.noise_sd * math.sqrt(counts.value.size)
        counted = float(counts.value.sum()), sure
        told = [None, None] if public is None else public_sides(public)

        def histogram(counts: Floats, noise_sd: float) -> LogHistogram:
            return LogHistogram(counts, noise_sd, window.lowest, window.octaves, window.fine)

        sides = [
            _side(histogram(part, counts.noise_sd), n, known)
            for part, known in zip((above, below), told, strict=True)
        ]
        total = histogram(above + below, math.sqrt(2) * counts.noise_sd)
        quantile = total.quantile(0.9)
        if quantile is None or all(side.tail is None for side in sides):
            nothing, rows = histogram(0 * above, counts.noise_sd), max(n, _FEWEST)
            tail = tail_of(nothing, scale, rows, rows=rows).without_laws()
            unseen = [Side(0.5, 0.0, scale, tail, known) for known in told]
            return cls(unseen[0], unseen[1], scale, counts.noise_sd, counted)
        if public is None:
            hidden = SURE * math.sqrt(_TOGETHER) * counts.noise_sd / n
            sides = [sides[0].or_hidden(sides[1], hidden), sides[1].or_hidden(sides[0], hidden)]
        return cls(sides[0], sides[1], quantile, counts.noise_sd, counted)

    @property
    def square(self) -> float:
        """C, at which residuals are cut in their squares."""
        return _SQUARES * self.quantile90

    def beyond_squares(self, bounds: tuple[float, float]) -> float:
        """What squares cut at C lack, of residuals cut at ``bounds`` below and above 0."""
        sides, c = (self.below, self.above), self.square
        return sum(
            side.squares(c) - side.squares(max(bound, c))
            for side, bound in zip(sides, bounds, strict=True)
        )

    def of_marks(self) -> Residuals:
        """Where responses are zero or one: no residual is longer than one, and none is cut."""
        none = Side(0.0, 0.0, 0.0, None)
        return replace(self, above=none, below=none, quantile90=1.0)

    @property
    def marks(self) -> bool:
        """Whether responses are zero or one; see `of_marks`."""
        return self.above.part == self.below.part == 0.0

    def body(self) -> tuple[float, float]:
        """Middle and half width of where most residuals lie."""
        high = -self.below.nearest if self.above.tail is None else self.above.quantile90
        low = -self.above.nearest if self.below.tail is None else self.below.quantile90
        return (high - low) / 2, (high + low) / 2

    def cut(self, noise: float, denominator: float) -> ResidualCut:
        """The cut where a local mean has noise of ``noise`` times R.

        ``denominator``: noise of the denominator over that of the numerator.
        """
        high, low = self.above.cuts(self.below)[:, None], self.below.cuts(self.above)[None, :]
        radius, middle = np.maximum((high + low) / 2, 1e-300), (high - low) / 2
        away = np.clip(0.0, middle - radius, middle + radius) - middle
        lost = _CARE * unsure(self.above.missing(high), self.below.missing(low))
        slope = np.maximum(1 - self.above.beyond(high) - self.below.beyond(low), _LEAST_SLOPE)
        spread = noise**2 * (radius**2 + (denominator * away) ** 2)
        best = int(np.argmin((spread + lost**2) / slope**2))
        return ResidualCut(*(float(v.ravel()[best]) for v in (middle, radius, lost / slope, slope)))


def public_sides(residual: Floats) -> list[PublicSide]:
    """Residuals above the public fit, and below."""
    return [PublicSide(sign * residual[sign * residual > 0], len(residual)) for sign in (1.0, -1.0)]


def _side(histogram: LogHistogram, n: int, public: PublicSide | None) -> Side:
    quantile, first = histogram.quantile(0.9), histogram.quantile(_NEAREST)
    seen = float(histogram.seen_above(np.zeros(1))[0])
    if quantile is None or first is None or seen < _FEWEST:
        return Side(0.0, 0.0, 0.0, None, public)
    # bins of few rows are not seen, so that more than a tenth is beyond
    edges = histogram.edges()
    inside = np.clip((edges[1:] - quantile) / np.diff(edges), 0.0, 1.0)
    least, most = _TENTH
    beyond = min(max(float(inside @ histogram.counts), least * seen), most * seen)
    rows = min(max(int(10 * beyond), _FEWEST), n)
    tail = tail_of(histogram, quantile, rows, rows=rows)
    possible = None if public is None else _most(tail, rows, n)
    return Side(rows / n, first, quantile, tail.without_laws(), public, possible)


def _most(tail: Tail, rows: int, n: int) -> tuple[Floats, Floats]:
    """Excess, by cut, that laws of the tail hardly leave possible."""
    cuts = tail.quantile * np.geomspace(*_RANGE, _CUTS)
    excess = [most_excess(tail, rows, float(cut), power=1) * rows / n for cut in cuts]
    return cuts, np.array(excess)
