"""Notes that linear and generalised linear fits have in common."""

from __future__ import annotations

import numpy as np

from dpstats.arrays import Floats


def average_condition(matrix: Floats) -> float | None:
    """(1/d) sum lambda_i / lambda_min, None unless positive definite."""
    values = np.linalg.eigvalsh(matrix)
    return float(values.mean() / values[0]) if values[0] > 0 else None


def matrix_notes(matrix: str, verb: str, positive: bool, resolved: bool) -> tuple[str, ...]:
    """What a reader must know of the released matrix before the digits."""
    out = []
    if not positive:
        out.append(
            f"The released {matrix} {verb} NOT positive definite: the privacy noise is as large as the "
            "information in some direction."
        )
    if not resolved:
        out.append(
            f"Standard errors are not given: in some direction the noise of the released {matrix} "
            "drowns the design. Ask for a larger budget, more rows, fewer columns, or check that the "
            "public columns are in the units of the private ones."
        )
    return tuple(out)


def ridge_note(ridge: float) -> tuple[str, ...]:
    """Said of every ridge."""
    if ridge <= 0:
        return ()
    return (
        "Ridge estimates are shrunk towards zero, the intercept too: standard errors describe "
        "their spread, not that bias.",
    )
