"""The plot of a table of estimates: means, differences or slopes with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from dpstats.arguments import spelled
from dpstats.report.coefficients import folded, tall
from dpstats.report.plot import COLOURS, GREY, axes, finish, line_style

_LABEL = {"emmean": "mean", "odds_ratio": "odds ratio"}


class Plotted:
    """What has a ``frame`` of estimates, and can draw it."""

    frame: pd.DataFrame

    @property
    def _null(self) -> float | None:
        """What no difference is: nothing in a table of means, else 0."""
        return 0.0 if "statistic" in self.frame else None

    @spelled
    def plot(self, ax: Any = None) -> Any:
        """Estimates with their intervals, the first on top; against a number, curves of means.

        Needs matplotlib (``pip install "dpstats[plot]"``).

        Parameters
        ----------
        ax : matplotlib Axes, optional

        Returns
        -------
        matplotlib Axes
        """
        return plot_estimates(self.frame, self._null, ax)


def plot_estimates(frame: pd.DataFrame, null: float | None, ax: Any) -> Any:
    """A line of the table each, the first on top; or curves, where the first column is a number.

    Parameters
    ----------
    frame : DataFrame
        Names, then an estimate, ``std_error``, perhaps others, ``conf_low`` and ``conf_high``.
    null : float, optional
        What stands for no difference, which is drawn too.
    """
    place = list(frame.columns).index("std_error") - 1
    names, estimate = list(frame.columns[:place]), str(frame.columns[place])
    label = _LABEL.get(estimate, estimate)
    if frame[names[0]].dtype.kind == "f" and frame[names[0]].nunique() > 1:
        return _curves(frame, names, estimate, label, ax)
    lines = [folded(_line_of(names, line)) for line in frame[names].itertuples(index=False)]
    ax = axes(ax, tall(lines))
    if null is not None:
        ax.axvline(null, color=GREY, linewidth=0.8, zorder=0)
    at, value = np.arange(len(lines)), frame[estimate].to_numpy()
    low, high = (frame[name].to_numpy() for name in ("conf_low", "conf_high"))
    known = np.isfinite(low) & np.isfinite(high)
    ax.hlines(at[known], low[known], high[known], colors=COLOURS[0], linewidth=1.3)
    points = {"marker": "o", "color": "black", "linestyle": "none", "markersize": 3.5}
    ax.plot(value[known], at[known], **points)
    if not known.all():
        ax.plot(value[~known], at[~known], **points, markerfacecolor="white", label="no interval")
    ax.set_yticks(at, lines, parse_math=False)
    ax.set_ylim(len(lines) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    finish(ax, f"{label} and interval", "")
    ax.spines["left"].set_visible(False)
    return ax


def _line_of(names: Sequence[str], values: Sequence[Any]) -> str:
    """What a line is called: its levels, by name where there are several; and of what a contrast is."""
    *within, last = map(str, values)
    named = [v if n == "term" else f"{n} {v}" for n, v in zip(names, within, strict=False)]
    if names[-1] == "contrast" and named:
        return f"{', '.join(named)}: {last}"
    return ", ".join([*named, f"{names[-1]} {last}"]) if named else last


def _curves(frame: pd.DataFrame, names: list[str], estimate: str, label: str, ax: Any) -> Any:
    """Estimates against a number, a curve for each combination of the other names."""
    ax, (x, *others) = axes(ax), names
    groups = [("", frame)] if not others else frame.groupby(others, sort=False, observed=True)
    for j, (key, some) in enumerate(groups):
        name = " ".join(map(str, key)) if isinstance(key, tuple) else str(key)
        some, style = some.sort_values(x), line_style(j)
        ax.fill_between(some[x], some.conf_low, some.conf_high, color=style["color"], alpha=0.15)
        ax.plot(some[x], some[estimate], **style, marker="o", markersize=3, label=name or None)
    finish(ax, x, f"{label} and interval")
    if others:
        legend = ax.get_legend()
        legend.set_title(", ".join(map(str, others)))
        legend.get_title().set_parse_math(False)
    return ax
