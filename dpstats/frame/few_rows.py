"""What a few public rows decide: directions of the design, the mean square of residuals, far scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dpstats.frame.far_scores import FarScores, far_scores
from dpstats.frame.table import Array

_SEEN = 1e-10
"""Eigenvalues of a correlation, in parts of the largest, below which a direction is not there."""
_SHORT, _NORMAL_QUANTILE = 4.0, 1.645
"""Times as long as the residuals of most rows, from where a few make the mean square; and the 90 %
quantile of normal ones."""
_HEAVY = 1 / 8
"""Part of a direction that one row makes, from which few rows decide it."""
_FEW_ROWS = 4
"""Rows that there are of each kind at least, for whitening; and times the mean, a high leverage."""


@dataclass(frozen=True)
class FewRows:
    """What a few of the public rows decide; all of it None where that is not known.

    Attributes
    ----------
    added : ndarray, shape (d, d), or None
        Second moments of more rows like those of which there are one to three (`rows_like_few`).
    differ : bool or None
        Whether few rows make the mean square of residuals, as amounts that few spend.
    far : FarScores or None
        Where the long scores of their fit point.
    heavy : ndarray, shape (d, d), or None
        Part of the second moments that rows make of which each is an eighth or more of some direction.
    """

    added: Array | None = None
    differ: bool | None = None
    far: FarScores | None = None
    heavy: Array | None = None

    @classmethod
    def with_responses(
        cls, added: Array | None, gram: Array, cross: Array, x: Array, y: Array, weight: Array
    ) -> FewRows:
        """Of rows that have responses; ``gram`` and ``cross`` are their second moments."""
        z, residual = fitted(gram, cross, x, y)
        few = weight * (z**2).sum(axis=1) > _HEAVY * len(z)
        heavy = (x[few] * weight[few, None]).T @ x[few] / len(z)
        found = few_differ(residual, weight), far_scores(x, z, residual, weight)
        return cls(added, *found, (heavy + heavy.T) / 2 if few.any() else None)

    def decide(self, direction: Array, gram: Array) -> bool:
        """Whether such rows make most of the second moment in a direction."""
        if self.heavy is None:
            return False
        return bool(2 * direction @ self.heavy @ direction > direction @ gram @ direction)

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "added": None if self.added is None else self.added.tolist(),
            "differ": self.differ,
            "far": None if self.far is None else self.far.to_dict(),
            "heavy": None if self.heavy is None else self.heavy.tolist(),
        }

    @classmethod
    def from_dict(cls, saved: Any, gram: Array) -> FewRows:
        """From JSON; raises whatever it may where this is not what `to_dict` wrote of such rows."""
        added, differ, far, heavy = (saved[k] for k in ("added", "differ", "far", "heavy"))
        if differ is not None and type(differ) is not bool:
            raise ValueError
        if added is not None:
            added = np.array(added, dtype=np.float64)
            _require_part(gram, added, _FEW_ROWS - 1)
        if heavy is not None:
            heavy = np.array(heavy, dtype=np.float64)
            _require_part(gram, heavy, 1)
        far = None if far is None else FarScores.from_dict(far, len(gram))
        return cls(added, differ, far, heavy)


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


def _require_part(gram: Array, part: Array, times: float) -> None:
    """Raise where these are no second moments of some of the rows behind ``gram``, so often at most."""
    if part.shape != gram.shape:
        raise ValueError
    size = np.sqrt(np.diag(gram))
    size = np.outer(*2 * [np.where(size > 0, size, 1.0)])
    if not np.isfinite(part).all() or not np.allclose(part, part.T, rtol=1e-8, atol=0):
        raise ValueError
    for rest in (part, times * gram - part):
        if float(np.linalg.eigvalsh(rest / size)[0]) < -1e-12:
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
    seen = values > _SEEN * values.max(initial=0.0)
    return np.asarray(vectors[:, seen] / np.sqrt(values[seen]) / size[:, None])
