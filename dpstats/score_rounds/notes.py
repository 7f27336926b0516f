"""What linear and generalised linear fits say of themselves alike: systems, diagnostics, notes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dpstats.accounting.unit import Unit
from dpstats.numerics.matrices import Floats
from dpstats.report.released import Diagnostic

EMPTY = "empty rows"
MISSING = "share that is missing or has an unknown level"


def of_persons(lines: tuple[Diagnostic, ...], unit: Unit) -> tuple[Diagnostic, ...]:
    """Where only the first rows of a person count, later ones are empty as well."""
    if unit.person is None:
        return lines
    later = f"; and rows after the first {unit.rows} of each `{unit.person}`"
    return tuple(
        replace(line, note=line.note + later) if line.name == EMPTY else line for line in lines
    )


def as_share(value: float) -> float:
    """A noisy share within [0, 1]."""
    return min(max(value, 0.0), 1.0)


def row_lines(
    cut: tuple[float, float], empty: tuple[float, float], where: str, what: str = MISSING
) -> tuple[Diagnostic, Diagnostic]:
    """Diagnostics of truncated and of empty rows, from their shares and the noise of these."""
    return (
        Diagnostic("truncated rows", as_share(cut[0]), cut[1], where),
        Diagnostic(EMPTY, as_share(empty[0]), empty[1], what),
    )


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
