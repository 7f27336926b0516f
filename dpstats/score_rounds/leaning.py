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
from scipy import special

from dpstats.arrays import Floats
from dpstats.mechanism.release import Release
from dpstats.numerics.matrices import Curvature
from dpstats.score_rounds.cuts import Cut, Seen

LONG = 1.5
"""Times their 90 % quantile, from where scores are long."""
_CHANCE = 0.95
"""Probability with which noise is not taken for a direction."""
_SURELY = 0.98
"""Probability with which no more is lost beyond a cut than is allowed for."""
_LIKELY = 0.9
"""The same where noise allows no wider one: intervals of real tables and of skewed errors are shorter
than with that of `_SURELY`, and cover alike."""
_LOUD = 1.0
"""Of an error of sampling, where residuals have one size: the most noise in the direction. With no such
limit, one of 1.5 and one of 1 intervals of curved means cover alike, and real tables lose least at 1."""
_FINER, _WIDEST = 1.1, 64.0
"""Ratio of the cuts that are compared, and of the last to the first."""


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
    """

    direction: Floats
    stretch: float
    left: float

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

    @property
    def lost(self) -> Floats:
        """What is left out of the mean score of A z."""
        return self.direction * (self.left / self.stretch)


def leaning(found: Release, length: float, seen: Seen, cut: Cut, mu: float) -> Leaning | None:
    """Where scores lean, from the released mean of what is beyond a ``length``; None if nowhere.

    The cut in that direction is the one whose noise, at a cost of ``mu``, and loss are smallest
    together. All that tails may hide beyond it is taken to point that way, which is why it is wider
    than the ``cut`` of other directions, unless that one's noise is loud already.

    Examples
    --------
    Of 5000 rows, noise 0.003 per coordinate, scores longer than 6 point along the second one:

    >>> from dpstats.accounting.privacy import Privacy
    >>> from dpstats.numerics.histogram import LogHistogram
    >>> from dpstats.score_rounds.tails import tail_of
    >>> counts = np.bincount([4] * 4400 + [7] * 560 + [12] * 40, minlength=48).astype(float)
    >>> histogram = LogHistogram(counts, 5.0, 0, 12)
    >>> seen = Seen(histogram, tail_of(histogram, 4.0, 5000), 5000)
    >>> mean, cut = np.array([0.0, 0.1]), Cut(length=8.0, slope=1.0, excess=0.01, unit=1.5)
    >>> found = Release("mean of long scores", mean, 12 / 5000, 0.01, Privacy(mu=0.25), 1e-9)
    >>> lean = leaning(found, 6.0, seen, cut, 0.8)
    >>> lean.direction, bool(lean.stretch > 1.2)
    (array([0., 1.]), True)
    """
    size, d, n = float(np.linalg.norm(found.value)), len(found.value), seen.n
    share = float(np.interp(length, seen.tail.lengths, seen.tail.share))
    # of sampling: no score counts by more than the length
    noise = 2 * float(special.gammaincinv(d / 2, _CHANCE)) * found.noise_sd**2
    if size**2 <= noise + share * length**2 / n:
        return None
    loudest = _LOUD * cut.unit * math.sqrt(n) * mu / 2
    direction, n_mu = found.value / size, n * mu
    best = Leaning(direction, 1.0, seen.most(cut.length, _SURELY))
    stretch = _FINER
    while stretch < _WIDEST and stretch * cut.length <= loudest:
        wider = Leaning(direction, stretch, seen.most(stretch * cut.length, _SURELY))
        if wider.error(cut, n_mu) > best.error(cut, n_mu):
            break
        best = wider
        stretch *= _FINER
    return best if best.stretch > 1 else replace(best, left=seen.most(cut.length, _LIKELY))


def seen_by(
    lean: Leaning | None, curvature: Curvature, penalty: Floats, anchor: Floats
) -> tuple[Curvature, Floats, Floats]:
    """The same for rows whose scores are turned, as they lean."""
    if lean is None:
        return curvature, penalty, anchor
    turn = lean.turn
    return curvature.turned(turn), turn @ penalty @ turn, np.linalg.solve(turn, anchor)
