"""The tail of a table's lengths, from a noisy histogram: how many are longer than t, and by how much.

The number of rows longer than t, beyond the 90 % quantile q of all rows, or of those beyond a gap or
beyond a bin that holds most, is taken to be

    N(t) = (m/10) exp(-a x - b x^2),    x = log(t/q),    m rows that are counted at all,

the law of a normal tail, of a lognormal and of a power alike, with a and b unknown, or nothing at all
beyond the bin of q, as where all rows are of one length (a column of zeros and ones); beside it there
may be outliers, from four to hundreds, whose number falls as a power of their length. Counts of bins are
weighed against a belief about these numbers, so that a bin of noise is not read as a tail; what is
returned is the mean over all that remains possible.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from dpstats.arrays import Floats
from dpstats.numerics.histogram import SURE, LogHistogram, merged, merged_edges
from dpstats.score_rounds.tail_laws import (
    APART,
    COARSE,
    FARTHEST,
    GRID,
    SHORTEST,
    TENTH,
    Laws,
    excess_of_laws,
    excess_of_outliers,
    grid_law_of,
    grid_roots_of,
    laws_of,
    mean_excess,
)

_MISFIT = 0.1
"""Relative error of a count that the law may have."""
_UNLIKELY = 1e-5
"""Laws that are so much less probable than the first are left out."""
_NOTHING = 1e-8
"""Laws less probable than this are left out of quantiles over laws."""
_AT_ONCE = 4
"""Variances of which a float holds the product."""
WHOLE = 0.1
"""Noise of a count below which it is the whole number next to it."""


@dataclass(frozen=True)
class Tail:
    """How many of n rows are longer than a length.

    Attributes
    ----------
    lengths : (k,) array
        Increasing.
    share : (k,) array
        Share of the rows that are longer.
    quantile : float
        Where the tail begins: the 90 % quantile of ``rows``.
    rows : int
        How many of the rows have a length, and do not lie in a bin with most others.
    weight : (L, k) array
        How probable each law of the body is, with each number and power of outliers.
    """

    lengths: Floats
    share: Floats
    quantile: float = 1.0
    rows: int = 0
    weight: Floats = field(default_factory=lambda: np.empty((0, 0)))
    _found: dict[int, Floats] = field(default_factory=dict, init=False, repr=False, compare=False)
    """What `excess` has found; a fit asks for it some twenty times."""

    def without_laws(self) -> Tail:
        """The tail alone, for a result that keeps it: laws take space."""
        return Tail(self.lengths, self.share, self.quantile, self.rows)

    def scaled(self, factor: float) -> Tail:
        """The tail of rows that are measured in another unit, without laws."""
        return Tail(factor * self.lengths, self.share, factor * self.quantile, self.rows)

    def with_excess(self, n: int, length: float, mean: float, sd: float) -> Tail:
        """The tail, given the ``mean`` of what of n lengths is beyond ``length``, to twice that at most.

        Noise has this ``sd``. Laws are weighed by how well they agree with it, as with counts; what is
        beyond ``length`` changes as their mean does. The tail is one for means of lengths.
        """
        ends = length, 2 * length
        beyond = np.interp(ends, self.lengths, self.excess())
        own = float(beyond[0] - beyond[1])
        (body, apart, weight), (far, farther, _) = (_excess_at(self, at, n, 1) for at in ends)
        whole = body[:, None] + apart
        part = whole - far[:, None] - farther
        usual = float((weight * part).sum() / weight.sum())
        if not (own > 0 and usual > 0):
            return self
        part *= own / usual  # counts may say less of the tail, or more, than laws do
        # a law may be wrong by a tenth, and rows are a sample of it
        variance = sd**2 + (_MISFIT * part) ** 2 + part * length / n
        likely = -((mean - part) ** 2 / variance + np.log(variance)) / 2
        given = weight * np.exp(np.minimum(likely - likely[weight > 0].max(), 0.0))
        every = np.zeros_like(self.weight)
        every[_not_next_to_nothing(self.weight)] = given / given.sum()
        times = (given * whole).sum() / given.sum() / ((weight * whole).sum() / weight.sum())
        return replace(self, weight=every, share=np.minimum(times * self.share, 0.5))

    def excess(self, power: int = 1) -> Floats:
        """Mean over all rows of (length^power - t^power), where positive, for every t of ``lengths``."""
        if power not in self._found:
            self._found[power] = mean_excess(self.lengths, self.share[None], power)[0]
        return self._found[power]

    def root_beyond(self, n: int) -> Floats:
        """Root of the mean over n rows of (length - t)^2, where positive, for every t of ``lengths``.

        The mean of the roots over all laws that remain possible, which those of the heaviest do not
        decide as they do a mean of squares; twice, and no more than the root of that.
        """
        square = np.maximum(self.excess(2) - 2 * self.lengths * self.excess(), 0.0)
        roots = self.weight.sum(axis=1) @ grid_roots_of(self.rows)
        scale = 2 * self.quantile * math.sqrt(TENTH * self.rows / n)
        at = self.lengths / self.quantile
        found: Floats = scale * np.interp(at, GRID[::COARSE], roots)
        return np.minimum(found, np.sqrt(square))


def tail_of(
    histogram: LogHistogram, guess: float, n: int, power: int = 1, rows: int | None = None
) -> Tail:
    """The tail of n lengths, from noisy counts, for means of a power of them.

    It begins where counts say (`LogHistogram.tail_begins`), and at ``guess`` where they say nothing; or
    there in any case, if it is known to be the 90 % quantile of so many ``rows``.

    Examples
    --------
    >>> from dpstats.numerics.histogram import LogHistogram
    >>> lengths = np.abs(np.random.default_rng(1).normal(size=10_000))
    >>> edges = LogHistogram(np.zeros(80), 5.0, -10, 20).edges()
    >>> counts = np.histogram(lengths, edges)[0].astype(float)
    >>> tail = tail_of(LogHistogram(counts, 5.0, -10, 20), 1.645, 10_000)
    >>> bool(0.8 < np.interp(2.0, tail.lengths, tail.share) / 0.0455 < 1.25)
    True
    """
    begins = histogram.tail_begins(n) if rows is None else (guess, rows)
    quantile, rows = begins or (guess, histogram.rows(n))
    laws, beyond = laws_of(rows, power), _beyond(histogram, quantile)
    weight, expected = _posterior(laws, rows, beyond, quantile)
    tenth = TENTH * rows / n
    outliers = weight.sum(axis=0) @ laws.apart
    of_body = weight.sum(axis=1)
    share: Floats = tenth * _weighed(of_body, grid_law_of(rows)) + outliers / n
    known = len(expected)
    if known:
        edges = beyond.edges[: known + 1] / quantile
        law = np.interp(edges, GRID, share)
        farther = law[-1] if beyond.noise_sd[known - 1] >= WHOLE else np.rint(n * law[-1]) / n
        actual = np.cumsum(np.append(expected / n, farther)[::-1])[::-1]
        whole = float(beyond.noise_sd[:known].max()) < WHOLE
        share = _rescaled(share, law, actual, edges, tenth, whole)
    return Tail(quantile * GRID, np.minimum(share, min(rows / n, 0.5)), quantile, rows, weight)


def median_excess(tail: Tail, n: int, length: float) -> float:
    """Mean over all rows of (l^2 - length^2), where positive: the median over the laws of a body.

    Laws with an infinite mean square are among them, so that their mean would be far too large; each
    goes as far as one of n rows does. Outliers that no count shows are not in it. ``tail`` is
    one for means of squares.
    """
    body, _, weight = _excess_at(tail, length, n, 2)
    return _quantile(body, weight.sum(axis=1), 0.5)


def most_excess(tail: Tail, n: int, length: float, power: int = 2, level: float = 0.95) -> float:
    """Mean over all rows of (l^power - length^power), where positive, that tails hardly exceed.

    The ``level`` quantile over all that remains possible, outliers that no count shows included.
    ``tail`` is one for means of that power.
    """
    body, outliers, weight = _excess_at(tail, length, n, power)
    return _quantile((body[:, None] + outliers).ravel(), weight.ravel(), level)


def counted_excess(histogram: LogHistogram, tail: Tail, n: int, length: float) -> float:
    """The mean of (l - length), where positive, that counts by themselves hardly exceed.

    All rows of a bin at its upper edge, and the noise of the counts at 2.33 standard deviations, 1 % of
    it beyond. It says nothing where the noise is large, and all where counts are whole numbers.
    """
    edges, sd = histogram.edges(), histogram.noise_sd
    counts, upper = histogram.counts, np.minimum(edges[1:], FARTHEST * tail.quantile)
    lost = np.maximum(upper - length, 0.0)
    if sd < WHOLE:
        return float(lost @ np.rint(counts)) / n
    return (float(lost @ counts) + 2.33 * sd * float(np.linalg.norm(lost))) / n


def _excess_at(tail: Tail, length: float, n: int, power: int) -> tuple[Floats, Floats, Floats]:
    """Mean excess over n rows of a power beyond a length, by law of the body and by that of outliers.

    And the weights of these laws: those of the body that have next to none are left out. A body ends
    where one of the rows is longer, outliers at `FARTHEST`.
    """
    possible = _not_next_to_nothing(tail.weight)
    at, laws = length / tail.quantile, laws_of(tail.rows, power)
    slopes, bends = laws.slopes[possible], laws.bends[possible]
    fallen = math.log(max(TENTH * tail.rows, 1.0))  # a x + b x^2 at the end
    end = 2 * fallen / (slopes + np.sqrt(np.maximum(slopes**2 + 4 * bends * fallen, 0.0)))
    which = np.flatnonzero(possible)
    body = excess_of_laws(which, np.full(len(end), at), power) - excess_of_laws(
        which, np.exp(end), power
    )
    scale = tail.quantile**power / n
    outliers = excess_of_outliers(at, laws, power)
    return (
        TENTH * tail.rows * scale * np.maximum(body, 0.0),
        scale * outliers,
        tail.weight[possible],
    )


def _weighed(weight: Floats, laws: Floats) -> Floats:
    """Sum of laws with their weights; where most have none, as with many rows, these are left out."""
    some = np.flatnonzero(weight)
    return weight @ laws if 2 * len(some) > len(weight) else weight[some] @ laws[some]


def _not_next_to_nothing(weight: Floats) -> NDArray[np.bool_]:
    """Which laws of the body have some weight."""
    most = weight.max(axis=1)
    return np.asarray(most > _NOTHING * most.max())


def _quantile(values: Floats, weight: Floats, level: float) -> float:
    likely = weight > _NOTHING * weight.max()
    values, weight = values[likely], weight[likely]
    order = np.argsort(values)
    known = np.cumsum(weight[order])
    return float(values[order[int(np.searchsorted(known, level * known[-1]))]])


@dataclass(frozen=True)
class Losses:
    """What a cut takes off first and second moments, under every law that is possible.

    Attributes
    ----------
    lengths : (k,) array
        At which rows may be cut, increasing.
    weight : (L,) array
        Probability of each law.
    first, second : (L, k) arrays
        Means over all rows of ``l - length`` and of ``l^2 - length^2``, where positive.
    """

    lengths: Floats
    weight: Floats
    first: Floats
    second: Floats


def losses(histogram: LogHistogram, quantile90: float, n: int, rows: int | None = None) -> Losses:
    """What cutting at a length may take off moments, from noisy counts and what is believed of tails.

    ``rows``: of how many of the n it is the quantile, where these are not all that are counted.

    A law of the body goes as far as one of n rows does, outliers as far as they are believed to.

    Examples
    --------
    >>> from dpstats.numerics.histogram import LogHistogram
    >>> edges = LogHistogram(np.zeros(80), 5.0, -10, 20).edges()
    >>> lengths = np.abs(np.random.default_rng(1).normal(size=10_000))
    >>> counts = np.histogram(lengths, edges)[0].astype(float)
    >>> seen = losses(LogHistogram(counts, 5.0, -10, 20), 1.645, 10_000)
    >>> bool(seen.weight @ seen.second[:, np.searchsorted(seen.lengths, 4.0)] < 0.01)
    True
    """
    rows = histogram.rows(n) if rows is None else rows
    laws = laws_of(rows, 2)
    weight = _posterior(laws, rows, _beyond(histogram, quantile90), quantile90)[0]
    kept = weight > _UNLIKELY * weight.max()
    grid = np.geomspace(SHORTEST, FARTHEST, 200)
    body, outliers = laws.longer(grid, rows)
    body = np.where(body >= 1, body, 0.0)

    def excess(power: int) -> Floats:
        """By law, body and outliers together."""
        parts = [mean_excess(grid, longer / n, power) for longer in (body, outliers)]
        at = np.nonzero(kept)
        both: Floats = (parts[0][at[0]] + parts[1][at[1]]) * quantile90**power
        return both

    likely = weight[kept] / weight[kept].sum()
    return Losses(grid * quantile90, likely, excess(1), excess(2))


def _rescaled(
    share: Floats, law: Floats, actual: Floats, edges: Floats, tenth: float, whole: bool
) -> Floats:
    """The share of longer rows as it is at the edges of bins; between them it falls like the law.

    Where counts are ``whole``, all rows of the last bin that holds some may stand at its upper edge.
    """
    at = np.clip(np.searchsorted(edges, GRID, side="right") - 1, 0, len(edges) - 2)
    fall = np.maximum(law[at] - law[at + 1], 1e-300)
    inside: Floats = actual[at + 1] + (actual[at] - actual[at + 1]) * (share - law[at + 1]) / fall
    if whole:
        inside = np.where(actual[at + 1] > 0, inside, actual[at])
    below = _below(share, float(law[0]), float(actual[0]), float(edges[0]), tenth, whole)
    above = share * actual[-1] / max(law[-1], 1e-300)
    return np.where(edges[0] > GRID, below, np.where(edges[-1] > GRID, inside, above))


def _below(
    share: Floats, law: float, actual: float, edge: float, tenth: float, whole: bool
) -> Floats:
    """The share of longer rows up to the first edge: a tenth at the quantile, ``actual`` at the edge.

    Rows of the bin that holds the quantile, of which a tenth of all are longer, may be all there are:
    they may then lie anywhere in it.
    """
    start = float(np.interp(1.0, GRID, share))
    past = GRID >= 1.0
    fallen = np.clip((start - share) / max(start - law, 1e-300), 0.0, 1.0)
    if law < TENTH * start:
        fallen = np.minimum(fallen, np.clip((GRID - 1) / max(edge - 1, 1e-300), 0.0, 1.0))
    inside = tenth - fallen * max(tenth - actual, 0.0)
    if whole and actual <= 0:
        inside = np.full_like(share, tenth)
    return np.where(past, inside, share * tenth / max(start, 1e-300))


@dataclass(frozen=True)
class _Beyond:
    """Counts of bins beyond the quantile: quarters of the first octave or two, then whole octaves."""

    counts: Floats
    edges: Floats
    noise_sd: Floats


def _beyond(histogram: LogHistogram, quantile90: float) -> _Beyond:
    edges, counts, sd = histogram.edges(), histogram.counts, histogram.noise_sd
    octave = math.frexp(2 * quantile90)[1] - histogram.lowest  # the first beyond twice the quantile
    fine = histogram.octaves if histogram.fine is None else histogram.fine
    noise = np.full(len(counts), sd)
    if 0 <= octave < fine:
        end = 4 * fine
        counts = np.concatenate([merged(counts[:end], octave), counts[end:]])
        edges = np.concatenate([merged_edges(edges[: end + 1], octave), edges[end + 1 :]])
        noise = np.full(len(counts), sd)
        noise[4 * octave : 3 * octave + fine] = 2 * sd
    start = min(int(np.searchsorted(edges, quantile90, side="right")), len(counts))
    return _Beyond(counts[start:], edges[start:], noise[start:])


def _posterior(laws: Laws, rows: int, beyond: _Beyond, quantile90: float) -> tuple[Floats, Floats]:
    """How probable each law is given the counts, and the mean of the counts without their noise.

    A count is taken to be spread about its law like a Poisson one, and by the misfit of the law: a tenth
    of the body, all of the outliers. Of what a noisy count differs from its law, the share
    that is not noise is believed; all of it where a count stands `SURE` standard deviations of its
    noise above zero, as that of ones among many zeros, which no law foresees.
    """
    log_weight = laws.log_body[:, None] + laws.log_outliers
    sure = beyond.counts > SURE * beyond.noise_sd
    used = beyond.edges[1:] <= quantile90 * FARTHEST
    used |= (beyond.edges[1:] <= quantile90 * GRID[-1]) & np.logical_or.accumulate(sure[::-1])[::-1]
    counts, noise_sd, sure = beyond.counts[used], beyond.noise_sd[used], sure[used]
    if not len(counts):
        weight = np.exp(log_weight - log_weight.max())
        return weight / weight.sum(), counts
    edges = beyond.edges[: len(counts) + 1] / quantile90
    body, outliers = (
        np.maximum(-np.diff(longer.T, axis=0), 0.0) for longer in laws.longer(edges, rows)
    )
    known, near = noise_sd[:, None] ** 2 + 1e-12, int(np.sum(edges[1:] <= APART))
    misfit = known + (_MISFIT * body) ** 2
    alone = _Parts.of(counts[:, None], body, body + misfit)
    some = _possible(laws, alone, near)
    # outliers change what is expected of the bins beyond `APART` only
    least, more = body[near:, some], outliers[near:]
    farther, density = _with_outliers(counts[near:, None], least, least + misfit[near:, some], more)
    likely = log_weight[some] + alone.log_density[:near, some].sum(axis=0)[:, None] + density.T
    weight = np.zeros_like(log_weight)
    weight[some] = np.exp(likely - likely.max())
    weight /= weight.sum()
    # the counts, less the share of their distance that is noise; or as they are, whatever laws say
    left = weight[some]
    parts = [
        alone.share[:near, some] @ left.sum(axis=1),
        farther.reshape(len(farther), left.size) @ left.T.ravel(),
    ]
    actual = np.maximum(counts - known[:, 0] * np.concatenate(parts), 0.0)
    actual = np.where(sure, np.maximum(actual, counts), actual)
    return weight, np.where(noise_sd < WHOLE, np.rint(actual), actual)


@dataclass(frozen=True)
class _Parts:
    """Of each count: distance to what is expected over its variance, log density, and that at most.

    Arrays (counts, laws of the body).
    """

    share: Floats
    log_density: Floats
    highest: Floats

    @classmethod
    def of(cls, counts: Floats, expected: Floats, variance: Floats) -> _Parts:
        away = counts - expected
        share = away / variance
        highest = -np.log(variance) / 2
        return cls(share, highest - away * share / 2, highest)


def _with_outliers(
    counts: Floats, least: Floats, variance: Floats, more: Floats
) -> tuple[Floats, Floats]:
    """`_Parts.share` (counts, laws of outliers, laws of the body), and the log density of all counts.

    With about as many ``more`` rows than the least, or any number down to none. That there may be many
    outliers is no excuse for a body that foresees more than is counted.
    """
    short = counts - least
    lacking = np.minimum(short, 0.0)
    of_least = lacking / variance
    # in place, laws innermost: no arrays of a fit of few rows are larger
    wide = variance[:, None] + (more + more**2)[:, :, None]
    square = short[:, None] - more[:, :, None]
    share = square / wide
    square *= share
    excused = (lacking * of_least)[:, None] > square
    np.copyto(share, of_least[:, None], where=excused)
    np.copyto(square, (lacking * of_least)[:, None], where=excused)
    density = square.sum(axis=0)
    for k in range(0, len(wide), _AT_ONCE):  # of all a float may not hold the product
        density += np.log(wide[k : k + _AT_ONCE].prod(axis=0))
    density *= -0.5
    return share, density


def _possible(laws: Laws, alone: _Parts, near: int) -> NDArray[np.bool_]:
    """Laws of the body that the counts leave possible, with some outliers or without.

    ``alone``: without. Outliers are not among the first ``near`` bins. Farther out they add to the
    variance, and may make the law agree with the counts: what is even then 1e-16 times as probable as
    the best law without outliers is left out.
    """
    best = (laws.log_body + laws.log_outliers[0] + alone.log_density.sum(axis=0)).max()
    most = laws.log_body + laws.log_outliers.max() + alone.log_density[:near].sum(axis=0)
    most += alone.highest[near:].sum(axis=0)
    return np.asarray(most > best + math.log(1e-16))
