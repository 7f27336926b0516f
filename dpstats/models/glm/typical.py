"""Rows in the place of public ones: normal, with the second moments that were released.

They say which scores a family expects, and what cuts take off them. That is much the same for rows of
other laws, where the scores are as long as most.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from dpstats.arrays import Floats
from dpstats.models.glm.family import Family
from dpstats.numerics.matrices import Whitening
from dpstats.numerics.public_rows import PublicRows

_MANY, _OF_COUNTS = 600, 150
"""Rows, where responses are ones and zeros, and where they are counts, which take time."""
_WIDEST = 100
"""Columns of which so few rows say something."""
_FEWEST = 0.01
"""Share of the rows that is there at least."""


@dataclass(frozen=True)
class TypicalRows:
    """Typical rows; ``used`` is the share of all rows that they stand for.

    ``averages``: their responses are taken for averages over as many trials as they weigh.
    """

    rows: PublicRows
    used: float
    averages: bool = False


def typical_of(
    family: Family,
    moment: Floats,
    whitening: Whitening,
    constant: int | None,
    weight: float = 1.0,
) -> TypicalRows | None:
    """Where a constant tells their mean, and a family their responses; all of this weight.

    Nobody tells whether these are numbers of trials: they are taken to be if they are more than one.
    """
    if constant is None or len(moment) > _WIDEST or (family.binary and family.dispersed):
        return None
    many = _MANY if family.binary else _OF_COUNTS
    found = typical_rows(moment, whitening, constant, many)
    rows = replace(found.rows, weight=weight * found.rows.weight)
    return replace(found, rows=rows, averages=weight > 1)


def typical_rows(moment: Floats, whitening: Whitening, constant: int, many: int) -> TypicalRows:
    """Rows with the second moments of whitened ones, and 1 in the column of the constant.

    Moments are means over all rows, and those that are missing count as zero: how many are there, the
    constant tells.
    """
    d, one = len(moment), whitening.root[:, constant]
    used = min(max(float(one @ moment @ one), _FEWEST), 1.0)
    moment = moment / used
    mean = moment @ one
    values, vectors = np.linalg.eigh(moment - np.outer(mean, mean))
    rest = _normal_points(max(many // 2, 2 * d), d) * np.sqrt(np.maximum(values, 0.0)) @ vectors.T
    x = np.concatenate([mean + rest, mean - rest]) @ whitening.root
    x[:, constant] = 1.0
    nothing = np.zeros(len(x))
    return TypicalRows(PublicRows(x, nothing, nothing, np.ones(len(x))), used)


def _normal_points(k: int, d: int) -> Floats:
    """Points (k, d) that fill space as normal ones do, with second moments of 1.

    Each coordinate goes on by the root of another prime, modulo 1: no random numbers are needed.
    """
    primes = [p for p in range(2, 20 * d + 30) if all(p % q for q in range(2, p))][:d]
    points = special.ndtri((np.arange(1, k + 1)[:, None] * np.sqrt(primes) + 0.5) % 1.0)
    return np.asarray(points @ np.linalg.inv(np.linalg.cholesky(points.T @ points / k)).T)
