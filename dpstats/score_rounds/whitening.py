"""Whitening of rows of which nothing but the scale of their columns is known.

Second moments are released again and again: each time rows are whitened by what the last release shows,
and no further than its noise, so that a direction which that noise hides is several times as long
in the next. It ends when all directions are seen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpstats.arrays import Floats
from dpstats.mechanism.release import Release
from dpstats.numerics.histogram import LogHistogram
from dpstats.numerics.matrices import Curvature, Whitening, floored, shrink_second_moment
from dpstats.score_rounds.cuts import DROWNING, cut_of_moments, noise_of_moments
from dpstats.score_rounds.estimate import least_visible, rest_on_hidden
from dpstats.score_rounds.releases import ScoreSession, Shares, Window
from dpstats.score_rounds.rows import RoundCuts
from dpstats.score_rounds.tails import Tail, median_excess, tail_of

Mask = NDArray[np.bool_]

_LENGTHS = 0.006
"""Share of a histogram of row lengths."""
_MOST = 0.4
"""Share that all stages together may take."""
_SEEN = 1.2
"""Times the largest eigenvalue of the noise, what is seen."""
_LOW, _HIGH = 0.4, 3.0
"""Between these lie the eigenvalues of rows that are whitened well enough."""
_GROWN = 1.5
"""Times the smallest eigenvalue, what it grows to where rows are stretched along it and not cut."""
_SHRUNK = 1.15
"""What the largest eigenvalue is divided by at least where rows are squeezed along it."""
_AT_ONCE = 6.0
"""Times as large as they are seen, what moments are taken to be at most for the rows cut for them."""
_FAR_OFF = 1.3
"""Times as long as whitened rows are, the middle one, from which they lie elsewhere."""
_CUT_OFF = 3.0
"""Mean square length beyond the cut, more than twice that of the stage before, which is seen where few
rows are stretched along a direction that has all but their cut parts already."""
_PATIENCE = 2
"""Stages without a new direction after which no more are made."""
_REACH = np.geomspace(1.0, 2.0**12, 200)
"""Times a radius, as far as rows are looked for."""
_FINAL, _FARTHER = 0.08, 1.3
"""Share of the last second moments, which are released where they reach so much farther."""
_QUIET, _BODY = 0.15, 1.5
"""Noise of the moments that is borne for rows longer than so many 90 % quantiles."""
_FIRM = 1e8
"""Curvature of what is not there."""


@dataclass(frozen=True)
class RowLengths:
    """How long rows are, as they are whitened.

    Attributes
    ----------
    tail : Tail
        How many are longer than a length.
    quantile : float
        The 90 % quantile of all.
    counts : LogHistogram
        How many have each length, with noise.
    """

    tail: Tail
    quantile: float
    counts: LogHistogram

    def seen_beyond(self, radius: float, n: int) -> float:
        """What a cut at a radius takes off the mean square length, of rows that counts show."""
        at = radius * _REACH
        longer = self.counts.seen_above(at, sure=True) / n
        return float(np.trapezoid(2 * at * longer, at))

    def beyond(self, radius: float, n: int) -> float:
        """What a cut at a radius takes off the mean square length: by likely tails, and by counts."""
        return max(median_excess(self.tail, n, radius), self.seen_beyond(radius, n))

    def standard(self, curvature: Curvature, n: int) -> Tail:
        """The tail in a unit in which the mean square of rows that have a length is their dimension.

        ``curvature``: their second moments, as a mean over all n; of absent columns a firm one.
        """
        square = np.diag(curvature.used)
        mean = float(square[square < _FIRM].mean()) if (square < _FIRM).any() else 1.0
        return self.tail.scaled(math.sqrt(self.counts.rows(n) / (n * mean)))


@dataclass(frozen=True)
class Whitened:
    """Rows as they are seen in the end.

    Attributes
    ----------
    whitening : Whitening
    curvature : Curvature
        Their second moments.
    lengths : RowLengths
    radius : float
        Where they were cut for the second moments.
    nothing : (d,) array
        Columns that no row differs in.
    lost : float
        What that took off the mean square length at most, which may all lie in one direction.
    """

    whitening: Whitening
    curvature: Curvature
    lengths: RowLengths
    radius: float
    nothing: Mask
    lost: float = 0.0

    @property
    def hidden(self) -> Mask:
        """Coefficients of which too little is seen for an error."""
        return rest_on_hidden(self.whitening.back, self.curvature) | self.nothing


@dataclass(frozen=True)
class _Spread:
    """The smallest and the largest eigenvalue of whitened moments, where the noise hides none.

    With the largest go rows that are cut, as far as counts show them.
    """

    smallest: float
    largest: float

    @property
    def even(self) -> bool:
        """Whether rows are whitened well enough."""
        return self.smallest > _LOW and self.largest < _HIGH

    def better(self, before: _Spread) -> bool:
        """Whether another stage has changed them as it should."""
        squeezed = before.smallest > _LOW and self.largest <= before.largest / _SHRUNK
        return squeezed or self.smallest >= _GROWN * before.smallest


def _with_far_rows(eigen: Floats, far: float) -> Floats:
    """Eigenvalues of second moments, with what cut rows have beyond the radius (`seen_beyond`).

    It is taken to lie where the uncut parts of the rows are longest already, and makes none more than
    `_AT_ONCE` times as large: the next stage shows whether that was right.
    """
    longest = np.maximum(eigen - 1, 0.0)
    if not longest.any():
        return eigen
    found: Floats = np.minimum(eigen + far * longest / longest.sum(), _AT_ONCE * eigen)
    return found


def square_of_others(d: int, m: int | None) -> float:
    """Mean square length of rows that m others have whitened: few of these make them longer."""
    return d * (1.0 if m is None else m / max(m - d - 1, 1))


def far_off(middle: float | None, square: float, n: int, mu: float) -> bool:
    """Whether most rows lie so far out that noise would hide a direction of their second moments.

    As where public rows, by which they are whitened, are of other units or another population.
    ``middle`` is the median of their lengths, None where counts show none, and ``square`` the mean
    square that is expected of these. If it is larger by k^2, as they lie at a distance of k, the
    constant and this direction can hardly be told apart: there the smallest moment is 1/(2 + k^2).

    Examples
    --------
    >>> [far_off(middle, 3.0, 4000, 0.2) for middle in (None, 1.7, 2.7, 10.0)]
    [False, False, True, True]
    >>> far_off(2.7, 3.0, 400_000, 0.2)
    False
    """
    if middle is None or middle < _FAR_OFF * math.sqrt(square):
        return False
    noise = noise_of_moments(np.array(middle), n, square, mu)
    return bool(noise * (2 + middle**2 - square) > DROWNING / 2)


def share_of_moments(n: int, d: int, mu: float) -> float:
    return float(min(max((16 * d**1.5 / (n * mu)) ** 2, 0.02), 0.06))


def whiten(session: ScoreSession, back: Floats, nothing: Mask) -> Whitened:
    """Whiten the rows of a session, which sees x'back so far.

    ``nothing``: columns that no row differs in. They keep to themselves, with coefficients of zero.

    A direction that is carried by a few rows, such as a rare level, stays hidden however it is
    stretched, because its rows are cut. Where stages no longer bring new directions to light, the first
    of those that show most of them is kept. Nor is one stretched on that is seen, but whose moment has
    not grown as it should, or where counts show that most of some rows is cut: more would be lost.
    """
    n, d, mu = session.n, len(back), session.total.mu
    share = share_of_moments(n, d, mu)
    stages: list[tuple[int, Whitened]] = []
    before: _Spread | None = None
    far_before, cut_off = 0.0, False
    while True:
        lengths = whitened_lengths(session, _LENGTHS, np.zeros(d))
        radius = _cut(lengths, n, d, mu * math.sqrt(share))
        found = whitened_moments(session, share, d, radius)
        released, sd = apart(found.value, nothing), found.noise_sd
        noise = sd * math.sqrt(2 * d)
        values = np.linalg.eigvalsh(released)
        hidden = int((values < _SEEN * noise).sum())
        whitening = Whitening.of(back)
        curvature = still(shrink_second_moment(released, sd, known=False), nothing)
        seen = Whitened(whitening, curvature, lengths, radius, nothing)
        stages.append((hidden, seen))
        far = lengths.seen_beyond(radius, n)
        spread = None if hidden else _Spread(float(values[0]), float(values[-1]) + far)
        if spread and spread.even:
            break
        worse = before is not None and (spread is None or not spread.better(before))
        cut_off = len(stages) > 1 and far > _CUT_OFF + 2 * far_before
        if worse or cut_off:
            del stages[-1]
            break
        before, far_before = spread, far
        spent = (share + _LENGTHS) * (len(stages) + 1)
        least = min(count for count, _ in stages)
        since = len(stages) - 1 - [count for count, _ in stages].index(least)
        if spent > _MOST or (hidden and since >= _PATIENCE):
            break
        used = floored(released, noise / 2)
        eigen, vectors = np.linalg.eigh(used)
        eigen = _with_far_rows(eigen, far)
        back = back @ (vectors / np.sqrt(eigen)) @ vectors.T
        back, _ = session.whiten(back, np.zeros(d))
    hidden, last = stages[-1]
    kept = cut_off or not hidden
    best = last if kept else min(stages, key=lambda stage: stage[0])[1]
    farther = _cut(best.lengths, n, d, mu * math.sqrt(_FINAL))
    if kept and farther < _FARTHER * best.radius:
        return replace(best, lost=best.lengths.beyond(best.radius, n))
    return replace(_measured(session, best, farther, nothing), lost=best.lengths.beyond(farther, n))


def whitened_lengths(
    session: ScoreSession, share: float, at: Floats, scores: Window | None = None
) -> RowLengths:
    """How long information rows are ``at`` coefficients, as they are whitened now.

    Lengths of ``scores`` there are counted by the same reading of the rows.
    """
    d = len(at)
    octave = math.floor(math.log2(math.sqrt(d)))
    windows = (octave - 12, 32), scores
    lengths = session.information_lengths(share, at, windows, fine=14)
    quantile, n = lengths.quantile(0.9) or math.sqrt(d), session.n
    return RowLengths(tail_of(lengths, quantile, n, 2), quantile, lengths)


def whitened_moments(session: ScoreSession, share: float, d: int, radius: float) -> Release:
    """Second moments of rows, as they are whitened now, cut to a radius."""
    made = session.round(Shares(information=share), np.zeros(d), RoundCuts(None, radius))
    assert made.information is not None
    return made.information


def _cut(lengths: RowLengths, n: int, d: int, mu: float) -> float:
    """Length at which rows are cut: no farther than noise allows, beyond what most rows need.

    Rows that are longer weigh less until the last round, so that little is lost with them.
    """
    quiet = math.sqrt(_QUIET * n * mu / (2 * math.sqrt(d)))
    return min(cut_of_moments(lengths.tail, n, d, mu), max(quiet, _BODY * lengths.quantile))


def apart(matrix: Floats, nothing: Mask) -> Floats:
    """The matrix with 1 on the diagonal for columns that are not there, and 0 beside it."""
    out = np.where(nothing[:, None] | nothing, 0.0, matrix)
    out[nothing, nothing] = 1.0
    return out


def still(curvature: Curvature, nothing: Mask, *, foreseen: bool = False) -> Curvature:
    """A curvature with which no step goes far where nothing is seen, nor to absent columns.

    ``foreseen``: how small it is in other directions is known.
    """
    least = 0.0 if foreseen else least_visible(curvature)
    used = apart(floored(curvature.used, least), nothing)
    used[nothing, nothing] = _FIRM
    return replace(curvature, used=used)


def _measured(session: ScoreSession, seen: Whitened, radius: float, nothing: Mask) -> Whitened:
    """This whitening, with second moments released anew at a larger share and with fewer rows cut."""
    d = len(seen.whitening.back)
    session.whiten(seen.whitening.back, np.zeros(d))
    found = whitened_moments(session, _FINAL, d, radius)
    curvature = shrink_second_moment(apart(found.value, nothing), found.noise_sd, known=False)
    return replace(seen, curvature=still(curvature, nothing), radius=radius)
