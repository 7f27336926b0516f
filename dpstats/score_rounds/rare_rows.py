"""What cuts leave of scores of rows that few have, as those of a rare level: these are long, and cut.

A score that is not cut changes with the coefficients, one that is cut does not. Of most rows hardly any
is, so that a round divides scores by one share for all. Where few rows make a direction, most of
their scores may be cut: steps along it end too soon, and their errors are taken for shorter than they
are, unless it is divided by its own.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from dpstats.arrays import Floats

_LEAST = 0.3
"""Share of a change of scores that cuts are taken to leave at least."""


def kept_of_levels(
    moments: Floats, levels: Floats, back: Floats, length: float, weight: float = 1.0
) -> Floats | None:
    """K, symmetric: a change of the score that is cut is K times that of the others; None: the identity.

    Parameters
    ----------
    moments : (d, d) array
        Second moments of the rows.
    levels : (d, L) array
        Combinations of columns that are one in some rows, and zero in all others.
    back : (d, d) array
        Scores are those of rows ``back'`` x, of which the second moments are about the identity.
    length : float
        Where scores are cut, in standard deviations of residuals.
    weight : float
        Of a row on average: columns of a level are the root of it.

    Notes
    -----
    Rows of a level lie about their mean m, which moments tell, at the root of d - 1 or so. With normal
    residuals the share P(\\|N(0, 1)\\| > length/l) of the scores of rows of length l is cut. Along m
    that is missing, as far as these rows make the moment there.

    Examples
    --------
    A level of 1 % beside a constant, and a cut at its usual length:

    >>> moments = np.array([[1.0, 0.01], [0.01, 0.01]])
    >>> back = np.linalg.inv(np.linalg.cholesky(moments)).T
    >>> kept_of_levels(moments, np.array([[0.0], [1.0]]), back, 10.0).round(2)
    array([[ 1.  , -0.03],
           [-0.03,  0.68]])
    """
    share = (levels * (moments @ levels)).sum(axis=0) / max(weight, 1e-300)
    levels, share = levels[:, share > 0], share[share > 0]
    if not len(share) or not (length > 0 and weight > 0):
        return None
    rows = back.T @ (moments @ levels / share) / math.sqrt(weight)
    square = np.maximum((rows**2).sum(axis=0), 1e-300)
    size = np.sqrt(square + len(back) - 1)
    lost = np.minimum(share * square, 1.0) * special.erfc(length / size / math.sqrt(2))
    unit = rows / np.sqrt(square)
    values, ways = np.linalg.eigh((unit * lost) @ unit.T)
    return np.asarray((ways * np.clip(1 - values, _LEAST, 1.0)) @ ways.T)
