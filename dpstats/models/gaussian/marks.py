"""Columns of zeros and ones in which few rows differ, as public rows or a search of private ones tell.

How far the few lie from the others, and about how many they are, is known before rows are cut; noise
hides them in counts of lengths. So cuts weigh what they would take off these columns against noise.
Levels may be as rare, and so may values within declared limits that a search has not seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpstats.arrays import Floats
from dpstats.models.gaussian.moments import Cell


@dataclass(frozen=True)
class Marks:
    """What was found of them.

    Attributes
    ----------
    columns : tuple of int
    points : (k, d) array
        Where rows lie that differ from the others in one of them, as rows are measured.
    share : (k,) array
        How many such rows there are.
    unseen : (k,) array
        Whether that is what noise may hide, as of levels and of values that a search has not seen.
    """

    columns: tuple[int, ...]
    points: Floats
    share: Floats
    unseen: NDArray[np.bool_]

    def sizes(self, cell: Cell) -> Floats:
        """How long such rows are in the coordinates of a cell, on either side of the others."""
        both = [np.linalg.norm(cell.local(sign * self.points), axis=1) for sign in (1, -1)]
        return np.asarray(np.maximum(*both))

    def lost(self, cell: Cell, radius: float) -> Floats:
        """Share of the variance of each of these columns that a cut takes off it."""
        return np.asarray(1 - np.minimum(1.0, radius / self.sizes(cell)) ** 2)

    def error(self, cell: Cell, radius: float, unit: float) -> float:
        """Of the means of these columns: noise, ``unit`` at a radius of 1, and what a cut takes off.

        A mean square over the columns, in their variances.
        """
        variance = self.share * (1 - self.share)
        lost = self.share * np.maximum(1 - radius / self.sizes(cell), 0.0)
        noise = unit * radius * np.linalg.norm(cell.root[:, list(self.columns)], axis=0)
        return float(((lost**2 + noise**2) / variance).mean())

    def loss_of_mean(self, cell: Cell) -> Callable[[Floats], Floats]:
        """How far cuts move a mean."""
        sizes, share = self.sizes(cell), self.share

        def lost(length: Floats) -> Floats:
            return np.asarray(np.maximum(sizes - length[:, None], 0.0) @ share)

        return lost


_RARE = 0.1
"""Share of rows up to which those of one of two values are few."""


def public_marks(rows: Floats) -> Marks | None:
    """The columns of public rows (m, d) that have two values, one of them rare; None if there are none.

    Examples
    --------
    >>> rows = np.zeros((100, 2))
    >>> rows[:3, 1], rows[:, 0] = 1.0, np.arange(100)
    >>> marks = public_marks(rows)
    >>> marks.columns, marks.share
    ((1,), array([0.03]))
    """
    low, high = rows.min(axis=0), rows.max(axis=0)
    two = ((rows == low) | (rows == high)).all(axis=0) & (low < high)
    above = (rows == high).mean(axis=0)
    share = np.minimum(above, 1 - above)
    few = np.flatnonzero(two & (share <= _RARE))
    if not few.size:
        return None
    rare = np.where(above <= 0.5, high, low)
    return Marks(
        tuple(few.tolist()), np.diag(rare)[few], share[few], np.zeros(few.size, dtype=bool)
    )


def unseen_variance(marks: Marks | None, cell: Cell) -> Floats | float:
    """What unseen rows alone may make of a covariance (d, d), in the coordinates of a cell.

    Cuts take such rows off second moments, and what is whitened by these cuts them the more.
    """
    if marks is None:
        return 0.0
    steps = cell.local(marks.points) - cell.local(np.zeros((1, cell.d)))
    return np.asarray((steps.T * (marks.unseen * marks.share * (1 - marks.share))) @ steps)


def radius_with_marks(marks: Marks | None, cell: Cell, radius: float, unit: float) -> float:
    """A radius of second moments, or a longer one where noise costs less than what marks lose.

    ``unit``: noise of an entry at a radius of 1.

    Examples
    --------
    One row of a hundred is ten standard deviations off, and is kept unless noise is large:

    >>> marks = Marks((0,), np.array([[10.0]]), np.array([0.01]), np.array([False]))
    >>> cell = Cell(np.zeros(1), np.eye(1), np.eye(1), 3000.0)
    >>> [radius_with_marks(marks, cell, 2.0, unit) for unit in (0.001, 0.1)]
    [10.0, 2.0]
    """
    if marks is None:
        return radius
    tried = np.append(radius, np.maximum(marks.sizes(cell), radius))
    noise = unit * math.sqrt(cell.d * (cell.d + 1) / 2) * tried**2
    lost = np.array([marks.lost(cell, float(one)).max() for one in tried])
    return float(tried[int(np.argmin(noise**2 + lost**2))])


def loss_of_public(public: Floats, cell: Cell) -> Callable[[Floats], Floats]:
    """How far cuts move the mean of public rows, in the cell's coordinates.

    Those of a rare mark all lie on one side, and noise hides how many there are.
    """
    rows = cell.local(public)
    size = np.maximum(np.linalg.norm(rows, axis=1), 1e-300)

    def lost(length: Floats) -> Floats:
        beyond = np.maximum(1 - length[:, None] / size, 0.0)
        return np.asarray(np.linalg.norm(beyond @ rows, axis=1) / len(rows))

    return lost
