"""What a linear fit hands over, and what it says of the released moments."""

from __future__ import annotations

from dataclasses import dataclass

from dpstats.arrays import Floats
from dpstats.report.released import Diagnostic
from dpstats.score_rounds.bounds import ReleasedSystem
from dpstats.score_rounds.estimate import Estimate
from dpstats.score_rounds.notes import average_condition, matrix_notes, ridge_note
from dpstats.score_rounds.releases import RowSummary


@dataclass(frozen=True)
class LinearFit:
    """What a method hands over: released and computed numbers, no rows."""

    estimate: Estimate
    system: ReleasedSystem | None
    sigma_source: str
    diagnostics: tuple[Diagnostic, ...]
    notes: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()
    """The notes which say that cutting may have moved coefficients."""
    left_out: bool = False
    """Whether public rows were given, and were no guide."""
    summary: RowSummary | None = None
    """What the last round says of the rows; None where there was none."""


@dataclass(frozen=True)
class DeclaredBounds:
    """Declared sizes: per column of the design, of a whole row in these units, of the response."""

    columns: Floats
    radius: float
    response: float


def condition_lines(public: Floats, released: Floats) -> tuple[Diagnostic, ...]:
    """Average condition number (1/d) sum lambda_i / lambda_min before and after whitening."""
    before, after = (average_condition(m) for m in (public, released))
    return (
        Diagnostic("condition before", before, None, "average, public second moments"),
        Diagnostic("condition after", after, None, "average, released whitened moments"),
    )


def matrix_warnings(positive: bool, resolved: bool, ridge: float) -> tuple[str, ...]:
    """What a reader must know before the numbers."""
    return matrix_notes("second moments", "are", positive, resolved) + ridge_note(ridge)
