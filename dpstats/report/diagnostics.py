"""Diagnostics that every fit has: the shares of truncated and of empty rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from dpstats.accounting.unit import PrivacyUnit
from dpstats.report.released import Diagnostic

EMPTY = "empty rows"
ROWS = "rows"
"""How many rows persons have."""
MISSING = "share that is missing or has an unknown level"
_PARTLY = "share of persons with rows that cannot be used, beside others"
_OUTSIDE = "share with a value or weight beyond its limits, which counts in its place"

UNCOUNTED = Diagnostic(
    "rows outside limits",
    None,
    None,
    "not counted by this method: values beyond their limits were cut to them, and the fit is that of "
    "the cut values",
)


def as_share(value: float) -> float:
    """A noisy share within [0, 1]."""
    return min(max(value, 0.0), 1.0)


def row_diagnostics(
    cut: tuple[float, float],
    empty: tuple[float, float],
    where: str,
    what: str = MISSING,
    persons: str | None = None,
    outside: float | None = None,
    partly: float | None = None,
) -> tuple[Diagnostic, ...]:
    """Truncated and empty rows, those outside limits, and persons with unused rows, with the noise."""
    if persons is not None:
        where = where.replace("share", "share of persons", 1)
        why = "who have no row that can be used"
        what = "share of persons " + why + (", or none that varies" if persons == "within" else "")
    lines: tuple[Diagnostic, ...] = (
        Diagnostic("truncated rows", as_share(cut[0]), cut[1], where),
        Diagnostic(EMPTY, as_share(empty[0]), empty[1], what),
    )
    if outside is not None:
        lines += (Diagnostic("rows outside limits", as_share(outside), cut[1], _OUTSIDE),)
    if partly is not None:
        lines += (Diagnostic("unused rows", as_share(partly), cut[1], _PARTLY),)
    return lines


def with_person_note(lines: tuple[Diagnostic, ...], unit: PrivacyUnit) -> tuple[Diagnostic, ...]:
    """Where only the first rows of a person count, later ones are empty as well."""
    if unit.person is None or unit.rows is None:
        return lines
    later = f"; and rows after the first {unit.rows} of each `{unit.person}`"
    return tuple(
        replace(line, note=line.note + later) if line.name == EMPTY else line for line in lines
    )


def rows_of_persons(lines: Iterable[Diagnostic]) -> Diagnostic | None:
    """The line that tells how many rows persons have."""
    return next((line for line in lines if line.name == ROWS), None)


def rows_at_most(lines: Iterable[Diagnostic]) -> int | None:
    """How many rows persons have, with three standard deviations of noise; None where nothing tells."""
    line = rows_of_persons(lines)
    if line is None or line.value is None:
        return None
    return round(line.value + 3 * (line.noise_sd or 0.0))
