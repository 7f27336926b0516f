"""Whether moments that were declared, or loaded from text, are second moments of a design."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from dpstats.arguments import numbers
from dpstats.errors import PublicDataError
from dpstats.frame.design import Design
from dpstats.frame.pandas_table import PandasTable
from dpstats.frame.rows import encode
from dpstats.frame.schema import check_table
from dpstats.frame.table import Array

LARGEST, LARGEST_OF_COLUMNS = 1e200, 1e120
"""Of a second moment: what is computed from it is finite; of columns, also that of private ones."""


def computable(values: Array, largest: float = LARGEST) -> bool:
    """Whether floats can compute with all of these."""
    return bool((np.abs(values) < largest).all())


def shaped(values: Any, shape: tuple[int, ...]) -> Array:
    """An array of this shape; raises whatever it may where it is not."""
    array = np.array(values, dtype=np.float64)
    if array.shape != shape:
        raise ValueError
    return array


def require_encoding(design: Design) -> None:
    """Raise, whatever it may be, where the parts of a design do not fit together."""
    example = {
        name: [0.5] if spec.kind == "number" else [spec.levels[0] if spec.levels else None]
        for name, spec in design.columns.items()
    }
    table = PandasTable(pd.DataFrame(example))
    roles = [role for role, used in (("y", design.response), ("weight", design.weights)) if used]
    check_table(design, table, roles)
    block = encode(design, table, 0, 1, [*roles, "offset"])
    if block.x.shape != (1, len(design.terms)):
        raise ValueError


def labelled(values: Any, terms: tuple[str, ...], what: str, ndim: int) -> Array:
    """Values in the order of the terms; labels are checked when there are any."""
    shown = ", ".join(terms)
    if isinstance(values, pd.DataFrame | pd.Series):
        for labels in values.axes:
            if sorted(map(str, labels)) != sorted(terms):
                raise PublicDataError(
                    f"the labels of {what} must be the design's columns: {shown}."
                )
        values = values.loc[list(terms), list(terms)] if ndim == 2 else values.loc[list(terms)]
    array = numbers(values)
    if array is None:
        raise PublicDataError(f"{what} must hold numbers.")
    if array.shape != (len(terms),) * ndim:
        raise PublicDataError(
            f"{what} has shape {array.shape}, but the design has the {len(terms)} columns {shown}."
        )
    return array


def check_moments(gram: Array, cross: Array | None, yy: float | None) -> None:
    """Refuse what cannot be the second moments of any rows."""
    for what, values in (("gram", gram), ("cross", cross), ("yy", yy)):
        if values is not None and not np.isfinite(values).all():
            raise PublicDataError(f"{what} must be finite.")
    for what, values in (("gram", gram), ("cross", cross), ("yy", yy)):
        if values is not None and not computable(np.asarray(values)):
            raise PublicDataError(f"{what} holds values that are too large: change the unit.")
    scale = float(np.abs(gram).max())
    if not np.allclose(gram, gram.T, rtol=1e-8, atol=1e-12 * scale):
        raise PublicDataError("gram must be symmetric; use (gram + gram.T) / 2.")
    full = gram
    if cross is not None and yy is not None:
        full = np.block([[gram, cross[:, None]], [cross[None, :], np.array([[yy]])]])
    diagonal = np.diag(full)
    if (diagonal < 0).any():
        raise PublicDataError(
            "the diagonal of gram (and yy) holds mean squares: none is negative. Write gram = "
            "x.T @ x / len(x)."
        )
    rms = np.where(diagonal > 0, np.sqrt(diagonal), 1.0)
    if float(np.linalg.eigvalsh(full / np.outer(rms, rms))[0]) < -1e-8:
        raise PublicDataError(
            "these are not second moments: gram (bordered by cross and yy) has a negative "
            "eigenvalue. Check that it is X'X / m, not a covariance of other rows, and that cross "
            "is X'y / m."
        )


def check_constant(design: Design, gram: Array) -> None:
    """The mean square of the constant is 1: a sum of squares would read as another population."""
    k = design.constant
    if k is None or design.weights is not None:
        return
    if not np.isclose(gram[k, k], 1.0, rtol=1e-6):
        raise PublicDataError(
            f"the entry of gram for the intercept must be 1, not {gram[k, k]:.6g}: gram is the mean "
            "X'X / m. Did you pass X'X? Then divide by the number of rows (and cross, yy as well)."
        )
