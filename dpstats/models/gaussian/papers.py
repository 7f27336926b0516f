"""Re-whitening as in the papers, with radii that follow from ranges known in advance."""

from __future__ import annotations

import math

from dpstats.models.gaussian.cuts import longest, whitening_update
from dpstats.models.gaussian.moments import Cell, moments_of
from dpstats.models.gaussian.releases import CellSession
from dpstats.models.gaussian.rounds import COARSE_LIFT, Rounds

_ROUNDS, _CUT_SHARE = 10, 0.005
PAPERS_SHARE = 0.25 / _ROUNDS
"""Of a total, for each round."""


def papers_rounds(
    session: CellSession, start: Cell, condition: float, mean_range: float, eta: float
) -> Rounds:
    """Re-whitening with radii from ranges known in advance: I <= Sigma <= K I and |mean| <= R.

    Ten rounds at most share a quarter of the total, the last release has the rest, as CoinPress divides
    it (Biswas, Dong, Kamath and Ullman 2020). After a round the covariance is taken to be at most I, and
    the mean to be off by the noise and by what n rows leave of it. Rounds end when every direction
    stands out of the noise, or when the noise alone would fill half of the new coordinates.
    """
    n, d = session.n, start.d
    share, cell, reach, largest = PAPERS_SHARE, start, mean_range, condition
    log_rows = math.log(2 * n * (_ROUNDS + 1) / eta)
    log_term = math.log(4 * (_ROUNDS + 1) / eta)
    made, resolved = 0, False
    while made < _ROUNDS and not resolved:
        radius = reach + math.sqrt(largest) * longest(d, log_rows)
        lifted, _ = session.lifted(share, (), [cell.frame], [radius], COARSE_LIFT)
        moments = moments_of(cell, lifted, 0, True)
        update = whitening_update(moments.spread, moments.spread_sd)
        made, resolved = made + 1, update.resolved
        if made > 1 and update.k >= 0.5:
            break
        cell = cell.moved(moments.mean, update.left, update.right)
        away = moments.mean_sd / math.sqrt(max(update.smallest, 0.0) + update.k) + 1 / math.sqrt(n)
        reach, largest = away * longest(d, log_term), 1.0
    radius = reach + longest(d, log_rows)
    part = session.left * (1 - _CUT_SHARE)
    lifted, cut = session.lifted(part, (), [cell.frame], [radius], COARSE_LIFT, session.left - part)
    assert cut is not None
    return Rounds((moments_of(cell, lifted, 0, True),), made, (radius,), cut)
