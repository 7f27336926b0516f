"""Curves of a figure's tidy table, as the checks of claims read them."""

from __future__ import annotations

import math

import pandas as pd

from tests.benchmarks.replication.figure import Agreement


def curve(table: pd.DataFrame, series: str, panel: str = "", column: str = "mean") -> pd.Series:
    """One curve: a column of the table over x. An unknown name is an error, never an empty curve."""
    rows = table[(table["panel"] == panel) & (table["series"] == series)]
    if rows.empty:
        raise KeyError(f"no curve {series!r} in panel {panel!r}")
    return rows.set_index("x")[column].sort_index()


def ratio(
    table: pd.DataFrame, above: str, below: str, panel: str = "", column: str = "mean"
) -> pd.Series:
    """One curve over another of the same panel, over x."""
    return curve(table, above, panel, column) / curve(table, below, panel, column)


def listed(values: pd.Series, digits: int = 3) -> str:
    """Numbers of a curve in a sentence: ``1.2 at 1, 1.1 at 2``; of a long one five, ends included."""
    if len(values) > 5:
        values = values.iloc[[round(i * (len(values) - 1) / 4) for i in range(5)]]
    return ", ".join(f"{told(value, digits)} at {x:g}" for x, value in values.items())


def told(value: float, digits: int = 3) -> str:
    """A number in a sentence; "none" where there was no answer."""
    return "none" if math.isnan(value) else f"{value:.{digits}g}"


def reached(values: pd.Series, level: float) -> float:
    """The smallest x at which a falling curve is at ``level`` or below; NaN if nowhere.

    Between two points of the grid a straight line on logarithmic scales.
    """
    before: tuple[float, float] | None = None
    for x, value in zip(map(float, values.index), map(float, values), strict=True):
        if value <= level:
            if before is None or not before[1] > value > 0:
                return x
            share = math.log(before[1] / level) / math.log(before[1] / value)
            return before[0] * math.pow(x / before[0], share)
        before = x, value
    return math.nan


def first(values: pd.Series, level: float) -> float:
    """The smallest x from which on a rising curve is at ``level`` or above; NaN if it ends below."""
    below = values.index[~(values >= level)]
    above = values.index if below.empty else values.index[values.index > below[-1]]
    return float(above[0]) if len(above) else math.nan


def below_one(ratios: pd.Series) -> Agreement:
    """Whether one curve is below another: at every x, at some, or at none. NaN is not below."""
    share = float((ratios < 1).mean())
    return "yes" if share == 1 else "no" if share == 0 else "partly"


def at_most(value: float, fine: float, fair: float) -> Agreement:
    """Agreement of a number that should be small; NaN is not."""
    return "yes" if value <= fine else "partly" if value <= fair else "no"
