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
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from dpstats.arrays import Floats
from dpstats.numerics.histogram import SURE, LogHistogram, merged, merged_edges

_SLOPES = 0.4, (0.8, 3), (2.4, 9), (12.0, 8)
_TURNS = -1.0, (-0.24, 3), (0.36, 20), (3.4, 10)
"""Slopes of laws, in steps of equal ratio; and, in equal steps, what bends are hyperbolic sines of."""
_STEEPEST, _FLATTEST = 12.0, 1.25
"""Slopes that are not: of shorter lengths than the quantile, and of a law far out."""
_FAR_OUT = 3.0, 8.3
"""Logarithms of lengths, in quantiles, where no law is flatter: where tails are seen, and the end."""
_SLOPE, _SLOPE_SD = 3.0, 2.0
_BEND, _BEND_SD = 0.0, 4.0
_ENDS, _STEEP = 0.02, 1e3
"""Probability that no row is longer than those of the quantile's bin, and a slope that says so."""
_OUTLIERS = (0.0, 4.0, 10.0, 25.0, 60.0, 150.0, 400.0)
"""Rows that outliers may be, beyond `_APART` times the quantile: few, or a second, longer tail."""
_MANY, _QUARTER = 60.0, 0.25
"""More outliers are the less probable the more they are, and no more than this part of the tail."""
_POWERS = (1.2, 2.0, 3.0)
_APART = 4.0
_NONE = 0.93
"""Probability that there are none, before counts are seen."""
_FARTHEST = 2.0**9
"""No outlier is longer than so many quantiles."""
_MISFIT = 0.1
"""Relative error of a count that the law may have."""
_UNLIKELY = 1e-5
"""Laws that are so much less probable than the first are left out."""
_NOTHING = 1e-8
"""Laws less probable than this are left out of quantiles over laws."""
WHOLE = 0.1
"""Noise of a count below which it is the whole number next to it."""
_TENTH = 0.1
"""Share of the rows beyond the 90 % quantile."""
_LONGEST = 0.3
"""Rows of the body that are longer, at its end."""
_SHORTEST = 0.6
_GRID = np.union1d(np.geomspace(_SHORTEST, 2.0**12, 600), 1.0)
"""Lengths at which the tail is known, in units of the quantile, which is one of them."""
_COARSE = 8


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
        roots = self.weight.sum(axis=1) @ _grid_roots_of(self.rows)
        scale = 2 * self.quantile * math.sqrt(_TENTH * self.rows / n)
        at = self.lengths / self.quantile
        found: Floats = scale * np.interp(at, _GRID[::_COARSE], roots)
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
    laws, beyond = _laws_of(rows, power), _beyond(histogram, quantile)
    weight, expected = _posterior(laws, rows, beyond, quantile)
    tenth = _TENTH * rows / n
    outliers = weight.sum(axis=0) @ laws.apart
    of_body = weight.sum(axis=1)
    some = np.flatnonzero(of_body)  # few, where there are many rows
    share: Floats = tenth * (of_body[some] @ _grid_law_of(rows)[some]) + outliers / n
    known = len(expected)
    if known:
        edges = beyond.edges[: known + 1] / quantile
        law = np.interp(edges, _GRID, share)
        farther = law[-1] if beyond.noise_sd[known - 1] >= WHOLE else np.rint(n * law[-1]) / n
        actual = np.cumsum(np.append(expected / n, farther)[::-1])[::-1]
        whole = float(beyond.noise_sd[:known].max()) < WHOLE
        share = _rescaled(share, law, actual, edges, tenth, whole)
    return Tail(quantile * _GRID, np.minimum(share, min(rows / n, 0.5)), quantile, rows, weight)


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
    counts, upper = histogram.counts, np.minimum(edges[1:], _FARTHEST * tail.quantile)
    lost = np.maximum(upper - length, 0.0)
    if sd < WHOLE:
        return float(lost @ np.rint(counts)) / n
    return (float(lost @ counts) + 2.33 * sd * float(np.linalg.norm(lost))) / n


def _excess_at(tail: Tail, length: float, n: int, power: int) -> tuple[Floats, Floats, Floats]:
    """Mean excess over n rows of a power beyond a length, by law of the body and by that of outliers.

    And the weights of these laws: those of the body that have next to none are left out. A body ends
    where one of the rows is longer, outliers at `_FARTHEST`.
    """
    possible = _not_next_to_nothing(tail.weight)
    at, laws = length / tail.quantile, _laws_of(tail.rows, power)
    slopes, bends = laws.slopes[possible], laws.bends[possible]
    fallen = math.log(max(_TENTH * tail.rows, 1.0))  # a x + b x^2 at the end
    end = 2 * fallen / (slopes + np.sqrt(np.maximum(slopes**2 + 4 * bends * fallen, 0.0)))
    which = np.flatnonzero(possible)
    body = _of_laws(which, np.full(len(end), at), power) - _of_laws(which, np.exp(end), power)
    scale = tail.quantile**power / n
    outliers = _excess_of_outliers(at, laws, power)
    return (
        _TENTH * tail.rows * scale * np.maximum(body, 0.0),
        scale * outliers,
        tail.weight[possible],
    )


def _not_next_to_nothing(weight: Floats) -> NDArray[np.bool_]:
    """Which laws of the body have some weight."""
    most = weight.max(axis=1)
    return np.asarray(most > _NOTHING * most.max())


@cache
def _grid_excess(power: int) -> Floats:
    """Integrals of power x^(power - 1) times every law of the body, from lengths of `_GRID` on."""
    law = np.where(_GRID <= _FARTHEST, _grid_law(), 0.0)
    return mean_excess(_GRID, law, power)


def _of_laws(which: NDArray[np.intp], x: Floats, power: int) -> Floats:
    """`_grid_excess` of some laws, each from its own x on."""
    values = _grid_excess(power)
    k = np.clip(np.searchsorted(_GRID, x) - 1, 0, len(_GRID) - 2)
    part = np.clip((x - _GRID[k]) / (_GRID[k + 1] - _GRID[k]), 0.0, 1.0)
    return np.asarray((1 - part) * values[which, k] + part * values[which, k + 1])


def _excess_of_outliers(at: float, laws: _Laws, power: int) -> Floats:
    """Integrals of power x^(power - 1) times `_apart`, from a length on."""
    low, high, fall = min(max(at, _APART), _FARTHEST), _FARTHEST, laws.powers
    end = (high / _APART) ** -fall
    near = max(_APART**power - at**power, 0.0)
    falling = (
        power * _APART**fall / (power - fall) * (high ** (power - fall) - low ** (power - fall))
    )
    return np.asarray(laws.rows * (near + (falling - end * (high**power - low**power)) / (1 - end)))


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
    laws = _laws_of(rows, 2)
    weight = _posterior(laws, rows, _beyond(histogram, quantile90), quantile90)[0]
    kept = weight > _UNLIKELY * weight.max()
    grid = np.geomspace(_SHORTEST, _FARTHEST, 200)
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


def mean_excess(lengths: Floats, share: Floats, power: int) -> Floats:
    """Means (L, k) of length^power - t^power, where positive, from shares (L, k) of longer rows."""
    density = power * lengths ** (power - 1) * share
    parts = (density[:, 1:] + density[:, :-1]) / 2 * np.diff(lengths)
    beyond = np.cumsum(parts[:, ::-1], axis=1)[:, ::-1]
    return np.concatenate([beyond, np.zeros((len(share), 1))], axis=1)


def _rescaled(
    share: Floats, law: Floats, actual: Floats, edges: Floats, tenth: float, whole: bool
) -> Floats:
    """The share of longer rows as it is at the edges of bins; between them it falls like the law.

    Where counts are ``whole``, all rows of the last bin that holds some may stand at its upper edge.
    """
    at = np.clip(np.searchsorted(edges, _GRID, side="right") - 1, 0, len(edges) - 2)
    fall = np.maximum(law[at] - law[at + 1], 1e-300)
    inside: Floats = actual[at + 1] + (actual[at] - actual[at + 1]) * (share - law[at + 1]) / fall
    if whole:
        inside = np.where(actual[at + 1] > 0, inside, actual[at])
    below = _below(share, float(law[0]), float(actual[0]), float(edges[0]), tenth, whole)
    above = share * actual[-1] / max(law[-1], 1e-300)
    return np.where(edges[0] > _GRID, below, np.where(edges[-1] > _GRID, inside, above))


def _below(
    share: Floats, law: float, actual: float, edge: float, tenth: float, whole: bool
) -> Floats:
    """The share of longer rows up to the first edge: a tenth at the quantile, ``actual`` at the edge.

    Rows of the bin that holds the quantile, of which a tenth of all are longer, may be all there are:
    they may then lie anywhere in it.
    """
    start = float(np.interp(1.0, _GRID, share))
    past = _GRID >= 1.0
    fallen = np.clip((start - share) / max(start - law, 1e-300), 0.0, 1.0)
    if law < _TENTH * start:
        fallen = np.minimum(fallen, np.clip((_GRID - 1) / max(edge - 1, 1e-300), 0.0, 1.0))
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


def _law(x: Floats, slopes: Floats, bends: Floats) -> Floats:
    """exp(-a x - b x^2), one row for each a and b; shorter lengths know no slope that is steep."""
    beyond, gentle = np.maximum(x, 0.0), np.minimum(slopes, _STEEPEST)
    fall = np.multiply.outer(slopes, beyond)
    fall += np.multiply.outer(gentle, np.minimum(x, 0.0)) + np.multiply.outer(bends, beyond**2)
    fallen: Floats = np.exp(-np.minimum(fall, 700.0))
    return fallen


def _apart(length: Floats, rows: Floats, powers: Floats) -> Floats:
    """How many outliers are longer, for each number of them and each power; all beyond `_APART`."""
    at = np.clip(length, _APART, _FARTHEST) / _APART
    end = (_FARTHEST / _APART) ** -powers[:, None]
    return np.asarray(rows[:, None] * (at ** -powers[:, None] - end) / (1 - end))


@dataclass(frozen=True)
class _Laws:
    """A grid of laws of the body and of outliers, and how probable each is before counts are seen."""

    slopes: Floats
    bends: Floats
    rows: Floats
    powers: Floats
    log_body: Floats
    log_outliers: Floats
    apart: Floats
    """`_apart` at the lengths of `_GRID`."""

    def longer(self, lengths: Floats, n: int) -> tuple[Floats, Floats]:
        """How many of n rows, in the body and as outliers, are longer; lengths in quantiles."""
        body = _TENTH * n * _law(np.log(lengths), self.slopes, self.bends)
        return body, _apart(lengths, self.rows, self.powers)


@cache
def _slopes_and_bends() -> tuple[Floats, Floats]:
    """Slopes and bends of the laws of the body that fall in the end; the last one ends at once."""
    slopes, bends, _ = _falling()
    return np.append(slopes, _STEEP), np.append(bends, 0.0)


@cache
def _falling() -> tuple[Floats, Floats, Floats]:
    """Slopes and bends of laws that fall far out, and how large a part of the grid each stands for.

    Of laws that fall slowly a small bend decides what is far out, beyond all that counts show: between
    two laws that agree with the same counts there may be a factor of twenty. There the grid is fine.
    """
    slopes, turns = _pieces(np.geomspace, *_SLOPES), _pieces(np.linspace, *_TURNS)
    slope, bend = (x.ravel() for x in np.meshgrid(slopes, np.sinh(turns)))
    part = np.outer(np.gradient(turns), np.gradient(slopes)).ravel()
    falls = slope + 2 * np.minimum(*np.multiply.outer(_FAR_OUT, bend)) > _FLATTEST
    return slope[falls], bend[falls], part[falls]


def _pieces(spaced: Callable[..., Floats], start: float, *pieces: tuple[float, int]) -> Floats:
    """A grid from the start to the end of every piece, each in so many steps."""
    found = [np.array([start])]
    for end, steps in pieces:
        found.append(spaced(found[-1][-1], end, steps + 1)[1:])
    return np.concatenate(found)


@cache
def _grid_law() -> Floats:
    """All laws of the body at the lengths of `_GRID`: the same for every histogram."""
    return _law(np.log(_GRID), *_slopes_and_bends())


@lru_cache(maxsize=4)
def _grid_law_of(rows: int) -> Floats:
    """`_grid_law` as far as `_LONGEST` of so many rows: farther out most tables have none.

    Their mean is next to all of what a power adds there, as would a lottery ticket that wins once in
    three tables. Notes say how many rows noise may hide.
    """
    law = _grid_law()
    return np.where(_TENTH * rows * law >= _LONGEST, law, 0.0)


@lru_cache(maxsize=4)
def _grid_roots_of(rows: int) -> Floats:
    """Root of the integral of 2 (x - t) times each law, from every eighth t of `_GRID` on."""
    at, law = _GRID[::_COARSE], _grid_law_of(rows)[:, ::_COARSE]
    return np.sqrt(np.maximum(mean_excess(at, law, 2) - 2 * at * mean_excess(at, law, 1), 0.0))


@lru_cache(maxsize=64)
def _laws_of(rows: int, power: int) -> _Laws:
    """The laws of so many rows: outliers are few, or at most a quarter of the rows of the tail.

    As the tail grows they become as probable as others. Means of squares are of rows, of which those of
    a rare level are no outliers: their number is few.
    """
    most = _QUARTER * _TENTH * rows if power == 1 else 0.0
    kinds = sum(few <= max(_MANY, most) for few in _OUTLIERS)
    number, powers = _outliers(kinds, power)
    few = number[1:]
    some = np.minimum(1.0, _MANY / few)
    some *= np.where(few > _MANY, np.clip(most / few - 1, 1e-9, 1.0), 1.0)
    log_outliers = np.log(np.append(_NONE, (1 - _NONE) * some / some.sum()))
    apart = _grid_apart(kinds, power)
    return _Laws(*_slopes_and_bends(), number, powers, _log_body(), log_outliers, apart)


def _outliers(kinds: int, power: int) -> tuple[Floats, Floats]:
    """How many outliers there may be, and how fast their number falls; none first."""
    few, fall = (x.ravel() for x in np.meshgrid(_OUTLIERS[1:kinds], np.array(_POWERS) + power - 1))
    return np.append(0.0, few), np.append(0.5, fall)  # none have any power


@cache
def _grid_apart(kinds: int, power: int) -> Floats:
    """`_apart` of all of them at the lengths of `_GRID`."""
    return _apart(_GRID, *_outliers(kinds, power))


@cache
def _log_body() -> Floats:
    """How probable the laws of the body are."""
    slopes, bends = _slopes_and_bends()
    log_body = -(((slopes - _SLOPE) / _SLOPE_SD) ** 2 + ((bends - _BEND) / _BEND_SD) ** 2) / 2
    log_body[:-1] += np.log(_falling()[2])
    log_body[-1] = np.logaddexp.reduce(log_body[:-1]) + math.log(_ENDS / (1 - _ENDS))
    return np.asarray(log_body)


def _posterior(laws: _Laws, rows: int, beyond: _Beyond, quantile90: float) -> tuple[Floats, Floats]:
    """How probable each law is given the counts, and the mean of the counts without their noise.

    A count is taken to be spread about its law like a Poisson one, and by the misfit of the law: a tenth
    of the body, all of the outliers. Of what a noisy count differs from its law, the share
    that is not noise is believed; all of it where a count stands `SURE` standard deviations of its
    noise above zero, as that of ones among many zeros, which no law foresees.
    """
    log_weight = laws.log_body[:, None] + laws.log_outliers
    sure = beyond.counts > SURE * beyond.noise_sd
    used = beyond.edges[1:] <= quantile90 * _FARTHEST
    used |= (beyond.edges[1:] <= quantile90 * _GRID[-1]) & np.logical_or.accumulate(sure[::-1])[
        ::-1
    ]
    counts, noise_sd, sure = beyond.counts[used], beyond.noise_sd[used], sure[used]
    if not len(counts):
        weight = np.exp(log_weight - log_weight.max())
        return weight / weight.sum(), counts
    edges = beyond.edges[: len(counts) + 1] / quantile90
    body, outliers = (
        np.maximum(-np.diff(longer.T, axis=0), 0.0) for longer in laws.longer(edges, rows)
    )
    known, near = noise_sd[:, None] ** 2 + 1e-12, int(np.sum(edges[1:] <= _APART))
    misfit = known + (_MISFIT * body) ** 2
    alone = _Parts.of(counts[:, None], body, body + misfit)
    some = _possible(laws, alone, near)
    # outliers change what is expected of the bins beyond `_APART` only
    least, more = body[near:, some], outliers[near:]
    farther = _Parts.with_more(counts[near:, None], least, least + misfit[near:, some], more)
    likely = log_weight[some] + alone.log_density[:near, some].sum(axis=0)[:, None]
    likely += farther.log_density.sum(axis=0).T
    weight = np.zeros_like(log_weight)
    weight[some] = np.exp(likely - likely.max())
    weight /= weight.sum()
    # the counts, less the share of their distance that is noise; or as they are, whatever laws say
    left = weight[some]
    parts = [
        alone.share[:near, some] @ left.sum(axis=1),
        farther.share.reshape(len(farther.share), left.size) @ left.T.ravel(),
    ]
    actual = np.maximum(counts - known[:, 0] * np.concatenate(parts), 0.0)
    actual = np.where(sure, np.maximum(actual, counts), actual)
    return weight, np.where(noise_sd < WHOLE, np.rint(actual), actual)


@dataclass(frozen=True)
class _Parts:
    """Of each count: distance to what is expected over its variance, log density, and that at most.

    Arrays (counts, laws of the body), or (counts, laws of outliers, laws of the body).
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

    @classmethod
    def with_more(cls, counts: Floats, least: Floats, variance: Floats, more: Floats) -> _Parts:
        """With about as many ``more`` rows than the least, or any number down to none.

        That there may be many outliers is no excuse for a body that foresees more than is counted.
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
        highest = np.log(wide, out=wide)
        highest *= -0.5
        square *= 0.5
        return cls(share, np.subtract(highest, square, out=square), highest)


def _possible(laws: _Laws, alone: _Parts, near: int) -> NDArray[np.bool_]:
    """Laws of the body that the counts leave possible, with some outliers or without.

    ``alone``: without. Outliers are not among the first ``near`` bins. Farther out they add to the
    variance, and may make the law agree with the counts: what is even then 1e-16 times as probable as
    the best law without outliers is left out.
    """
    best = (laws.log_body + laws.log_outliers[0] + alone.log_density.sum(axis=0)).max()
    most = laws.log_body + laws.log_outliers.max() + alone.log_density[:near].sum(axis=0)
    most += alone.highest[near:].sum(axis=0)
    return np.asarray(most > best + math.log(1e-16))
