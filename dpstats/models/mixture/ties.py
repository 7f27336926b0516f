"""Columns of public rows whose values repeat, as ages in steps of five years do.

The likelihood of a Gaussian grows beyond all bounds at a value that many rows have: left alone, every
such value becomes a component without width. Rounding to a step is no group.
"""

from __future__ import annotations

import math

import numpy as np

from dpstats.arrays import Floats

_REPEATED = 5
"""Times that a value occurs on average, from which a column has ties."""
_FEWEST = 4
"""Values of a column that has steps; two or three are kinds of rows, and may be groups."""
_WHOLE, _MOST_STEPS = 1e-6, 1e6
"""Of a step: how far from a whole number of them a distance may be; and how many there may be."""
NARROW = 0.75
"""Standard deviation over the step, from which Gaussians at all values add up to a smooth density."""


def repeated_values(column: Floats) -> Floats | None:
    """The values of a column in order, where they repeat and are some; else None.

    Examples
    --------
    >>> repeated_values(np.repeat([22.0, 27.0, 32.0, 37.0], 9)).tolist()
    [22.0, 27.0, 32.0, 37.0]
    """
    values = np.unique(column)
    return values if _FEWEST <= len(values) <= len(column) / _REPEATED else None


def step_of(column: Floats) -> float:
    """The usual distance of neighbouring values, where they repeat; else 0."""
    values = repeated_values(column)
    return 0.0 if values is None else float(np.median(np.diff(values)))


def narrowest(points: Floats) -> Floats:
    """Variances (d,) below which a component would be a value, of columns that repeat their values."""
    return np.array([(NARROW * step_of(column)) ** 2 for column in points.T])


def spread_out(points: Floats) -> Floats:
    """Public points (m, d) whose repeated values are spread evenly over the way to their neighbours.

    Always in the same way: the place of row i within column j is the fraction of i sqrt(p), p the j-th
    number that is no square. A value of the last step goes as far outwards as inwards.

    Examples
    --------
    >>> found = spread_out(np.repeat([[22.0], [27.0], [32.0], [37.0]], 9, axis=0))
    >>> bool(19.5 <= found.min() < found.max() <= 39.5), len(np.unique(found))
    (True, 36)
    """
    out, number = points.copy(), np.arange(1, len(points) + 1)
    roots = [math.sqrt(p) for p in range(2, 2 * points.shape[1] + 9) if math.isqrt(p) ** 2 != p]
    for j in range(points.shape[1]):
        values = repeated_values(points[:, j])
        if values is None:
            continue
        steps = np.diff(values)
        below, above = np.append(steps[0], steps) / 2, np.append(steps, steps[-1]) / 2
        at = np.searchsorted(values, points[:, j])
        out[:, j] += (below[at] + above[at]) * (number * roots[j] % 1) - below[at]
    return out


def in_steps(rows: Floats, points: Floats) -> Floats:
    """Rows (n, d) with the values that columns of public points (m, d) may have.

    The nearest whole number of steps, as where a column was measured in whole years; where steps are
    uneven and values repeat, the nearest value.

    Examples
    --------
    >>> years = np.array([[31.0], [38.0], [45.0], [31.0], [52.0], [38.0], [40.0], [41.0]])
    >>> in_steps(np.array([[33.4], [71.9]]), years).ravel().tolist()
    [33.0, 72.0]
    """
    out = rows.copy()
    for j, column in enumerate(points.T):
        known = np.unique(column)
        if len(known) in (1, len(column)):
            continue
        step = np.diff(known).min()
        with np.errstate(over="ignore"):
            whole = (known - known[0]) / step
        if whole[-1] < _MOST_STEPS and np.abs(whole - np.rint(whole)).max() < _WHOLE:
            out[:, j] = known[0] + np.rint((rows[:, j] - known[0]) / step) * step
        elif repeated_values(column) is not None:
            out[:, j] = known[np.searchsorted((known[1:] + known[:-1]) / 2, rows[:, j])]
    return out
