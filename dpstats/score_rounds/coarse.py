"""Coordinates in which the rows of a large table are multiplied fast."""

from __future__ import annotations

import numpy as np

from dpstats.arrays import Floats
from dpstats.mechanism.lattice import ExactMatrix
from dpstats.mechanism.passes import RowSource, fits_cache

_MANY_NUMBERS = 2**16
_FARTHER = 3.9
"""Times as large as their units, what entries of a row of length 1 may be."""


def coarse_map(
    source: RowSource, whitening: Floats, shift: Floats, scale: float
) -> tuple[Floats, Floats, ExactMatrix | None]:
    """A whitening and a shift for a table of many numbers: rounded, where nobody would notice.

    That is where the entries of a row are moved by less than 2^-16 of a whitened unit and 2^-10 of
    ``scale``, the public size of residuals, or of linear predictors that make a difference. What is
    released is exactly as private: a coarse matrix is a public matrix as well, and a row that is rounded
    by itself is one row.

    Returns
    -------
    whitening, shift : arrays
    both : ExactMatrix or None
        The two as one matrix that products are fast with; None where they are as they were.
    """
    if source.n * source.d < _MANY_NUMBERS and fits_cache(source):
        return whitening, shift, None
    typical = np.linalg.norm(np.linalg.inv(whitening), axis=0)
    matrix = ExactMatrix.coarse(np.column_stack([whitening, shift]), typical)
    lost = matrix.lost()
    if lost[:-1].max() > 2.0**-16 or lost[-1] > 2.0**-10 * scale:
        return whitening, shift, None
    # units are those of the matrix before it was rounded: see `passes.whitened`
    in_units = np.linalg.inv(matrix.high[:, :-1] * matrix.unit[:, None])
    if not (np.linalg.norm(in_units, axis=0) < _FARTHER).all():
        return whitening, shift, None
    return matrix.high[:, :-1], matrix.high[:, -1], matrix
