"""Where the long scores of public rows point: what a few private rows do, noise may hide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpstats.frame.table import Array

_MULTIPLES = np.geomspace(1.0, 16.0, 33)
"""Lengths, in 90 % quantiles: beyond the last one nothing is said."""
_LARGEST = 1e100
"""Numbers whose squares can be computed, and products of several."""


@dataclass(frozen=True)
class FarScores:
    """What of the scores x e of public rows, at the fit of these rows, is beyond a length.

    Attributes
    ----------
    lengths : (k,) array
        Increasing, in 90 % quantiles of the lengths |z e|, z being rows with second moments of 1.
    beyond : (k, d) array
        The mean over all rows of x e times the share of it that is beyond, by that quantile.
    squares : (k,) array
        The mean square of what is beyond, but no more than once the length.
    """

    lengths: Array
    beyond: Array
    squares: Array

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {name: values.tolist() for name, values in vars(self).items()}

    @classmethod
    def from_dict(cls, saved: Any, d: int) -> FarScores:
        """From JSON; raises whatever it may where this is not what `to_dict` wrote."""
        names = ("lengths", "beyond", "squares")
        lengths, beyond, squares = (np.array(saved[name], dtype=np.float64) for name in names)
        increasing = lengths.ndim == 1 and len(lengths) > 1 and (np.diff(lengths) > 0).all()
        if not increasing or lengths[0] <= 0 or squares.shape != lengths.shape:
            raise ValueError
        if beyond.shape != (len(lengths), d) or (squares < 0).any():
            raise ValueError
        if not all((np.abs(values) < _LARGEST).all() for values in (lengths, beyond, squares)):
            raise ValueError
        return cls(lengths, beyond, squares)

    def between(self, length: float) -> tuple[Array, float]:
        """The mean beyond this length, and its square; no row counts more than once the length."""
        once, twice = (
            np.array([np.interp(at, self.lengths, column, right=0.0) for column in self.beyond.T])
            for at in (length, 2 * length)
        )
        square = float(np.interp(length, self.lengths, self.squares, right=0.0))
        return np.asarray(once - twice), square


def far_scores(x: Array, z: Array, residual: Array, weight: Array) -> FarScores | None:
    """Of rows x, which are z with second moments of 1; None where their fit has no residuals.

    Examples
    --------
    >>> x = np.linspace(-1, 1, 201)
    >>> rows = np.column_stack([np.ones(201), x])
    >>> bent = np.maximum(x - 0.5, 0) * 10
    >>> from dpstats.frame.few_rows import fitted
    >>> z, residual = fitted(rows.T @ rows / 201, rows.T @ bent / 201, rows, bent)
    >>> far = far_scores(rows, z, residual, np.ones(201))
    >>> far.between(1.2)[0].round(4)
    array([0.0367, 0.0345])
    """
    residual = weight * residual
    size = np.sqrt((z**2).sum(axis=1)) * np.abs(residual)
    usual = float(np.quantile(size, 0.9))
    if not usual > 0:
        return None
    long = size > _MULTIPLES[0] * usual
    size, score = size[long] / usual, x[long] * (residual[long] / usual)[:, None]
    past = np.maximum(size - _MULTIPLES[:, None], 0.0)
    beyond = past / size @ score / len(x)
    squares = (np.minimum(past, _MULTIPLES[:, None]) ** 2).sum(axis=1) / len(x)
    return FarScores(_MULTIPLES, beyond, squares) if (np.abs(beyond) < _LARGEST).all() else None
