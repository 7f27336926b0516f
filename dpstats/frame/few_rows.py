"""What a few public rows decide: directions of the design, or the mean square of residuals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dpstats.frame.table import Array

_SEEN = 1e-10
"""Eigenvalues of a correlation, in parts of the largest, below which a direction is not there."""
_SHORT, _NORMAL_QUANTILE = 4.0, 1.645
"""Times as long as the residuals of most rows, from where a few make the mean square; and the 90 %
quantile of normal ones."""
_FEW_ROWS = 4
"""Rows that there are of each kind at least, for whitening; and times the mean, a high leverage."""


def few_differ(residual: Array, weight: Array) -> bool:
    """Whether most residuals of public rows are far shorter than their root mean square."""
    residual = np.abs(np.sqrt(weight) * residual)
    usual = float(np.quantile(residual, 0.9)) / _NORMAL_QUANTILE
    return bool((residual**2).mean() > (_SHORT * usual) ** 2)


def rows_like_few(gram: Array, wx: Array, x: Array, m: int, columns: Sequence[int]) -> Array | None:
    """Second moments of more rows like those of which there are one to three; None where none are.

    Such rows are most of what there is in some direction of the ``columns``: of k alike each has the
    leverage 1/k there. There are four in all, once 4/k - 1 have come to each.
    """
    used = np.asarray(columns, dtype=np.intp)
    back = _straightened(gram, used)
    leverage = ((wx[:, used] @ back) * (x[:, used] @ back)).sum(axis=1) / m
    more = np.where(leverage * m > _FEW_ROWS * len(used), _FEW_ROWS * leverage - 1, 0.0)
    if not (more > 0).any():
        return None
    added = (wx * np.maximum(more, 0.0)[:, None]).T @ x / m
    return np.asarray((added + added.T) / 2)


def require_few_more(gram: Array, added: Array) -> None:
    """Raise where these are no more rows like some of those behind ``gram``, as few as they are."""
    size = np.sqrt(np.diag(gram))
    size = np.outer(*2 * [np.where(size > 0, size, 1.0)])
    most = (_FEW_ROWS - 1) * gram
    if not np.isfinite(added).all() or not np.allclose(added, added.T, rtol=1e-8, atol=0):
        raise ValueError
    for part in (added, most - added):
        if float(np.linalg.eigvalsh(part / size)[0]) < -1e-12:
            raise ValueError


def fitted(gram: Array, cross: Array, x: Array, y: Array) -> tuple[Array, Array]:
    """Rows in coordinates in which these second moments are 1, and the residuals of their fit."""
    used = np.flatnonzero(np.diag(gram) > 0)
    back = _straightened(gram, used)
    z = x[:, used] @ back
    return z, y - z @ (back.T @ cross[used])


def _straightened(gram: Array, used: npt.NDArray[np.intp]) -> Array:
    """B with B'SB = I for the second moments S of some columns, in the directions that they have."""
    size, inner = np.sqrt(gram[used, used]), gram[np.ix_(used, used)]
    values, vectors = np.linalg.eigh(inner / np.outer(size, size))
    seen = values > _SEEN * values[-1]
    return np.asarray(vectors[:, seen] / np.sqrt(values[seen]) / size[:, None])
