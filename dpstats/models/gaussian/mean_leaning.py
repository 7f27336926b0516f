"""Long rows on one side, and the wider cut that a mean has in their direction.

A column with one long tail is cut on that side alone, and its mean is drawn towards most rows. A small
release tells: the mean of what of rows is beyond a length (`dpstats.score_rounds.leaning`, where rows
are the scores of their mean).
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from dpstats.accounting.privacy import Privacy
from dpstats.mechanism.release import Release
from dpstats.models.gaussian.marks import Marks
from dpstats.models.gaussian.moments import Cell
from dpstats.models.gaussian.releases import CellSession
from dpstats.numerics.histogram import LogHistogram
from dpstats.score_rounds.cuts import Cut, Seen
from dpstats.score_rounds.leaning import SHARE, Anchor, Leaning, LongScores, leaning, long_from
from dpstats.score_rounds.tails import tail_of

_NOTHING = 0.2
"""Of an error of sampling: a mean that cuts can have moved by no more is not asked for long rows."""


def for_long_rows(
    session: CellSession,
    cell: Cell,
    radius: float,
    lengths: LogHistogram,
    variance: float,
    away: float,
    marks: Marks | None = None,
    most: float = math.inf,
) -> tuple[Cell, Leaning | None]:
    """Coordinates in which the last mean is cut: farther out where long rows lean.

    Pure budgets add up, and do not buy it.

    Parameters
    ----------
    radius : float
        Where rows are cut in other directions, by what is left of the total (`left_for_mean`).
    variance : float
        Of rows in each direction, on average.
    away : float
        How far the centre of the coordinates may be from the mean.
    marks : Marks or None
        Columns in which few rows differ. Those that nobody sees are not asked for: noise alone leans.
    most : float
        What the cut hardly takes off the mean, in standard deviations.
    """
    total, n, quantile = session.total, session.n, lengths.quantile(0.9)
    if not isinstance(total, Privacy) or quantile is None or most * math.sqrt(n) < _NOTHING:
        return cell, None
    tail, share = tail_of(lengths, quantile, n), session.left * SHARE
    length = long_from(tail, n, cell.d, total.mu * math.sqrt(share))
    long = LongScores(_seen(session.long_rows(share, cell.frame, length), cell, marks), length)
    cut, paid = Cut(radius, 1.0, 0.0, math.sqrt(variance)), total.mu * math.sqrt(session.left)
    began = Anchor(away, variance)
    lean = leaning(long, Seen(lengths, tail, n), cut, paid, began, doubts=False)
    if lean is None:
        return cell, None
    return cell.moved(np.zeros(cell.d), lean.turn, np.linalg.inv(lean.turn)), lean


def _seen(long: Release, cell: Cell, marks: Marks | None) -> Release:
    """The mean of long rows, without the directions of columns that nobody sees."""
    if marks is None or not marks.unseen.any():
        return long
    steps = cell.local(marks.points[marks.unseen]) - cell.local(np.zeros((1, cell.d)))
    basis = np.linalg.qr(steps.T)[0]
    return replace(long, value=long.value - basis @ (basis.T @ long.value))


def left_for_mean(session: CellSession) -> float:
    """What is left of the total for a mean, if long rows are asked for."""
    return session.left * (1 - SHARE if isinstance(session.total, Privacy) else 1.0)
