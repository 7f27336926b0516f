"""The least budget for which private rows alone are more than noise to a fit, from public numbers."""

from __future__ import annotations

import math

import numpy as np

from dpstats.accounting.privacy import Privacy
from dpstats.accounting.unit import PrivacyUnit
from dpstats.arguments import in_prose, listed, rounded_up
from dpstats.errors import ArgumentError, warn_at_call
from dpstats.frame import PublicMoments

_ENOUGH = 1.6
"""Times the least budget, from which fits of up to 100 levels all have errors."""


def least_budget(d: int) -> float:
    """n mu below which a fit of d columns from private rows alone would be noise.

    Examples
    --------
    >>> [round(least_budget(d)) for d in (2, 5, 10, 20)]
    [157, 324, 732, 1889]
    """
    return float(20 * d**1.5 + 100)


def suffices(n: float, d: int, mu: float) -> bool:
    """Whether n rows at mu are more than noise to a fit of d columns without public rows."""
    return n * mu >= least_budget(d)


def check_budget(
    n: int,
    d: int,
    mu: float,
    unit: PrivacyUnit,
    delta: float | None,
    least: float | None = None,
    public: PublicMoments | None = None,
) -> None:
    """Refuse, before a row is read, what without public rows would be little but noise.

    ``least`` is the smallest n mu that is not refused; by default `least_budget`, somewhat above which a
    warning says that a fit may give no errors. ``public``: rows that do not determine all columns.
    """
    warns, least = least is None, least_budget(d) if least is None else least
    if n * mu >= least:
        if warns and n * mu < _ENOUGH * least:
            warn_at_call(
                f"{n} private {unit.counted} at mu = {in_prose(mu * unit.times, 3)} are few for {d} "
                "columns without public rows: the fit may give no standard errors, above all if a "
                f"factor has many levels. {math.ceil(_ENOUGH * least / mu)} {unit.counted} would be "
                f"enough, or mu = {_at_least(_ENOUGH * least / n * unit.times, 2)}, fewer columns, or a "
                "public sample."
            )
        return
    enough = Privacy(least / n).for_group(unit.times)
    stated = (
        "" if delta is None else f" (epsilon = {_at_least(enough.epsilon(delta), 3)} at this delta)"
    )
    columns = "one column" if d == 1 else f"{d} columns"
    lacking, sample = "without public rows", "a public sample, public=frame"
    if public is not None:
        what = _not_shown(public)
        lacking = f"of which the {public.m} public rows do not determine all{what}"
        sample = "public rows that have what these lack"
    raise ArgumentError(
        f"{n} private {unit.counted} at mu = {in_prose(mu * unit.times, 3)} are too few for {columns} "
        f"{lacking}: the fit would be little but noise. mu = {_at_least(enough.mu, 3)}{stated} "
        f"would do, or {math.ceil(least / mu)} {unit.counted}, or fewer columns; or {sample}."
    )


def _at_least(size: float, digits: int) -> str:
    """A number that is still enough when it is typed."""
    return in_prose(rounded_up(size, digits), digits)


def _not_shown(public: PublicMoments) -> str:
    """The columns that are zero in every public row, in brackets."""
    names = [
        name for name, square in zip(public.terms, np.diag(public.gram), strict=True) if not square
    ]
    return f" (not one has {listed(names)})" if names else ""


def few_rows_note(n: int, d: int, mu: float, persons: str | None) -> tuple[str, ...]:
    """A note on a fit that would be refused without its public rows; from public numbers."""
    if suffices(n, d, mu):
        return ()
    counted = "rows" if persons is None else "persons"
    return (
        f"{n} private {counted} are few for {d} columns at this budget (without public rows the call "
        "would be refused): intervals may miss. More rows, a larger budget, or fewer columns help.",
    )
