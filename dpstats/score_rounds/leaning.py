"""Long scores that point one way, and the wider cut that pays in their direction.

A cut takes a part of every long score. Where these point to all sides, that hardly moves a fit. Where
the mean is not linear in a column with a long tail they point one way: the far rows lie on one side of
the line, and the fit without them is another one. It takes a small release to see that, the mean of
what of scores is beyond a length, of which none counts more than once that length.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from dpstats.arrays import Floats
from dpstats.mechanism.release import Release
from dpstats.numerics.matrices import Curvature
from dpstats.score_rounds.cuts import Cut, Seen, gaussian_square
from dpstats.score_rounds.estimate import as_error
from dpstats.score_rounds.tails import Tail

SHARE = 0.08
"""Share of what the last round has left, for seeing whether long scores lean."""
_LONG = 1.5
"""Times their 90 % quantile, from where scores are long, or farther out."""
_ALIKE = 0.99
"""Probability with which chance is not taken for another population of public rows."""
_OWN = 0.6
"""Share of the mean square of public long scores that their error has at least, so that one row is no
direction. Of few rows it is large where their mean is: with all of it fewer bends are found."""
_ENOUGH = 8.0
"""Times their noise, as many long scores as are asked: of more rows, or with more budget, only those
farther out. Near ones may lie on the other side of the fit, and there are more of them."""
_CHANCE, _DOUBTFUL = 0.85, 0.995
"""Probability with which noise is not taken for a direction; and where long scores seem to be too few
for that: tails that are read from noisy counts are not sure either."""
_SURELY = 0.98
"""Probability with which no more is lost beyond a cut than is allowed for."""
_LIKELY = 0.9
"""The probability where noise allows no wider cut: intervals of real tables and of skewed errors are
shorter than with that of `_SURELY`, and cover alike."""
_LOUD = 1.0
"""Of an error of sampling, where residuals have one size: the most noise in the direction. With no such
limit, one of 1.5 and one of 1 intervals of curved means cover alike, and real tables lose least at 1. It
may be as much as surely leans, where that is more: twice that covers curved means a little better, and
costs coefficients of rare levels half of their precision."""
_FINER, _WIDEST = 1.1, 64.0
"""Ratio of the cuts that are compared, and of the last to the first."""


@dataclass(frozen=True)
class LongScores:
    """The released mean of what of scores is beyond a length.

    ``public``: the same of ``m`` public rows, in the same coordinates, where these tell, and its square.
    """

    mean: Release
    length: float
    public: Floats | None = None
    public_square: float = 0.0
    m: int = 0


@dataclass(frozen=True)
class Leaning:
    """Where long scores point, and how they are cut there.

    Attributes
    ----------
    direction : (d,) array
        Of length 1.
    stretch : float
        Times as far as in other directions.
    left : float
        What cuts take off the mean score in that direction even so, at most.
    allowed : float
        What of that counts as a standard error (`as_error`).
    """

    direction: Floats
    stretch: float
    left: float
    allowed: float = 0.0

    def error(self, cut: Cut, n_mu: float) -> float:
        """Square of noise and loss in that direction, where others have this cut."""
        return (2 * self.stretch * cut.length / n_mu) ** 2 + self.left**2

    @property
    def less(self) -> Floats:
        """w: scores of z - w w'z are cut alike in all directions."""
        return self.direction * math.sqrt(1 - 1 / self.stretch)

    @property
    def turn(self) -> Floats:
        """Symmetric A with these scores as those of A z."""
        return np.eye(len(self.direction)) - np.outer(self.less, self.less)


def long_from(tail: Tail, n: int, d: int, mu: float) -> float:
    """From which length on scores are asked where they point, at a cost of ``mu``.

    Examples
    --------
    >>> from dpstats.score_rounds.tails import Tail
    >>> tail = Tail(np.array([2.0, 4.0, 8.0]), np.array([0.1, 0.01, 0.001]), quantile=2.0)
    >>> long_from(tail, 500, 3, 0.25), long_from(tail, 50_000, 3, 0.25)
    (3.0, 4.0)
    """
    few = _ENOUGH * 2 * math.sqrt(d) / mu / n
    far = tail.lengths[tail.share > few].max(initial=0.0)
    return max(_LONG * tail.quantile, float(far))


@dataclass(frozen=True)
class Anchor:
    """Where the last round begins.

    Attributes
    ----------
    score : float
        Length of the mean score that its distance from the fit leaves.
    square : float
        Mean square of scores, per coordinate.
    share, most : float
        Of the information, that long scores have at least, and at most.
    """

    score: float
    square: float
    share: float = 0.0
    most: float = 1.0


def most_information(rows: Tail, share: float, d: int) -> float:
    """The most that a ``share`` of the rows may have of the information: the longest of them.

    ``rows``: how long these are, where their mean square is d. What their scores change by where an
    anchor is away by a vector, in all directions alike, has at most this part of its length: a matrix
    between 0 and 1 with the trace t has a mean square of t min(1, t)/d.

    Examples
    --------
    >>> from dpstats.score_rounds.tails import Tail
    >>> rows = Tail(np.array([3.0, 4.0, 5.0]), np.array([0.05, 0.01, 0.0]))
    >>> round(most_information(rows, 0.01, 4), 3), most_information(rows, 0.2, 4)
    (0.1, 1.0)
    """
    if share >= rows.share.max():
        return 1.0
    length = float(np.interp(-share, -rows.share, rows.lengths))
    trace = share * length**2 + float(np.interp(length, rows.lengths, rows.excess(2)))
    return math.sqrt(min(trace * min(1.0, trace) / d, 1.0))


def leaning(
    long: LongScores,
    seen: Seen,
    cut: Cut,
    mu: float,
    anchor: Anchor,
    *,
    doubts: bool = True,
    stretches: bool = True,
) -> Leaning | None:
    """Where scores lean, from the mean of what is far out; None if nowhere.

    Noise may be all that is seen, or sampling; and away from the fit all scores lean towards it, long
    ones by their share of the information, which is not known: at most that of the longest rows, and
    about that of the squares of scores. Where noise is more than long scores seem to come to
    altogether, and public ones do not tell, it takes more to be taken for a direction; without
    ``doubts`` as much: rows of a mean lie on one side as a rule, scores of a fit do not.

    The cut in that direction is the one whose noise, at a cost of ``mu``, and loss are smallest
    together. Of what tails may hide beyond it as large a part is taken to point that way as of long
    scores, by one standard deviation more than is seen, which is why it is wider than the ``cut`` of
    other directions, unless that one's noise is loud already, or nothing ``stretches``.

    Examples
    --------
    Of 5000 rows, noise 0.003 per coordinate, scores longer than 6 point along the second one:

    >>> from dpstats.accounting.privacy import Privacy
    >>> from dpstats.numerics.histogram import LogHistogram
    >>> from dpstats.score_rounds.tails import tail_of
    >>> counts = np.bincount([4] * 4300 + [7] * 460 + [12] * 240, minlength=48).astype(float)
    >>> histogram = LogHistogram(counts, 5.0, 0, 12)
    >>> seen = Seen(histogram, tail_of(histogram, 4.0, 5000), 5000)
    >>> mean, cut = np.array([0.0, 0.1]), Cut(length=8.0, slope=1.0, excess=0.01, unit=1.5)
    >>> found = Release("mean of long scores", mean, 12 / 5000, 0.01, Privacy(mu=0.25), 1e-9)
    >>> lean = leaning(LongScores(found, 6.0), seen, cut, 0.8, Anchor(score=0.1, square=3.0))
    >>> lean.direction, bool(lean.stretch > 1.2)
    (array([0., 1.]), True)
    """
    d, n = len(long.mean.value), seen.n
    square, along, every = _beyond(seen.tail, long.length)
    share = min(along / max(d * anchor.square, 1e-300), anchor.most)
    share = min(max(share, anchor.share), 1.0)
    noise = long.mean.noise_sd**2 + (share * anchor.score) ** 2 / d
    value, noise, square = _with_public(long, noise, square / n, square)
    size = float(np.linalg.norm(value))
    by_chance = gaussian_square(d, _CHANCE) * noise + square
    hidden = doubts and long.public is None and every**2 <= by_chance
    if size**2 <= (gaussian_square(d, _DOUBTFUL) * noise + square if hidden else by_chance):
        return None
    sure = size - math.sqrt(by_chance)
    loudest = max(_LOUD * cut.unit / math.sqrt(n), sure) * n * mu / 2
    direction, n_mu = value / size, n * mu
    part = min((size + math.sqrt(noise)) / max(every, 1e-300), 1.0)
    best = Leaning(direction, 1.0, part * seen.most(cut.length, _SURELY))
    stretch = _FINER
    while stretches and stretch < _WIDEST and stretch * cut.length <= loudest:
        wider = Leaning(direction, stretch, part * seen.most(stretch * cut.length, _SURELY))
        if wider.error(cut, n_mu) > best.error(cut, n_mu):
            break
        best = wider
        stretch *= _FINER
    if best.stretch == 1:
        best = replace(best, left=part * seen.most(cut.length, _LIKELY))
    sd = math.hypot(cut.unit / math.sqrt(n), 2 * best.stretch * cut.length / n_mu)
    return replace(best, allowed=as_error(best.left, sd))


def _with_public(
    long: LongScores, noise: float, sampling: float, square: float
) -> tuple[Floats, float, float]:
    """The mean of private rows with that of public ones, by inverse variance; its noise and sampling.

    Unless the two differ by more than chance explains: public rows are of another population then.
    By private tails long scores have this mean ``square``, as their sampling error has it.
    """
    value, public, d = long.mean.value, long.public, len(long.mean.value)
    if public is None:
        return value, noise, sampling
    own, other = noise + sampling / d, max(square, _OWN * long.public_square) / long.m / d
    apart = float(np.sum((value - public) ** 2))
    if apart > gaussian_square(d, _ALIKE) * (own + other):
        return value, noise, sampling
    part = own / (own + other)
    return value + part * (public - value), part * other, 0.0


def _beyond(tail: Tail, length: float) -> tuple[float, float, float]:
    """Means of b^2, b s and b, b what of scores s is beyond a length, and no more than once that."""
    s = np.concatenate(
        [np.linspace(length, 2 * length, 65), np.geomspace(2 * length, 512 * length, 400)]
    )
    share = np.interp(s, tail.lengths, tail.share)
    near = s < 2 * length
    square, along, every = (
        float(np.trapezoid(slope * share, s))
        for slope in (
            np.where(near, 2 * (s - length), 0.0),
            np.where(near, 2 * s - length, length),
            near.astype(float),
        )
    )
    return square, along, every


def seen_by(
    lean: Leaning | None, curvature: Curvature, penalty: Floats, anchor: Floats
) -> tuple[Curvature, Floats, Floats]:
    """Curvature, penalty and anchor for rows whose scores are turned, as they lean."""
    if lean is None:
        return curvature, penalty, anchor
    turn = lean.turn
    return curvature.turned(turn), turn @ penalty @ turn, np.linalg.solve(turn, anchor)
