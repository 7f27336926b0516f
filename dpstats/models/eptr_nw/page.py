"""The table and the plot of a private kernel regression."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from dpstats.errors import ArgumentError
from dpstats.report.format import format_numbers
from dpstats.report.plot import COLOURS, axes, finish, letters, public_rows
from dpstats.report.result import quantile
from dpstats.report.table import Column, Table

_SHOWN_ROWS = 12
_LONGER = 1.01
"""Length of intervals, over that of their standard error, from which a table says why."""


def curve_table(curve: pd.DataFrame, main: bool = False) -> Table:
    """Some rows of the curve, evenly spread."""
    rows = np.unique(np.linspace(0, len(curve) - 1, min(len(curve), _SHOWN_ROWS)).astype(int))
    some = curve.iloc[rows]
    columns = []
    for name in some.columns:
        values = [float(v) for v in some[name]]
        text = [
            "NA" if np.isnan(v) else t
            for v, t in zip(
                values,
                format_numbers([0.0 if np.isnan(v) else v for v in values], digits=4),
                strict=True,
            )
        ]
        columns.append(Column(str(name), text, [None if np.isnan(v) else v for v in values]))
    more = len(curve) - len(rows)
    notes: tuple[str, ...] = (f"{more} more points in .curve",) if more else ()
    sd, low, high = (some.iloc[:, j] for j in (-3, -2, -1))
    if (high - low > 2 * _LONGER * quantile(0.95) * sd).any():
        notes += ("intervals allow for what smoothing may have moved; std. errors do not",)
    return Table.from_columns(columns, notes=notes, main=main)


def plot_curve(
    covariates: Sequence[str],
    response: str,
    curve: pd.DataFrame,
    public: pd.DataFrame | None,
    surface: tuple[Any, Any, Any] | None,
    level: float,
    released: bool,
    ax: Any,
) -> Any:
    """A curve with its band and public points, or a heat map with public points.

    Needs matplotlib (``pip install "dpstats[plot]"``).
    """
    if len(covariates) > 2:
        raise ArgumentError(
            f"a plot shows one or two covariates, and this curve has {len(covariates)}; call "
            "predict(newdata) on a slice of your own, and plot that."
        )
    ax = axes(ax)
    if len(covariates) == 1:
        (x,) = covariates
        ordered = curve.sort_values(x)
        ax.fill_between(
            ordered[x],
            ordered["lwr"],
            ordered["upr"],
            color=COLOURS[0],
            alpha=0.2,
            linewidth=0,
            label=f"{100 * level:.4g} % interval",
        )
        name = "private curve" if released else "public fit (no reply)"
        ax.plot(ordered[x], ordered["fit"], color=COLOURS[0], label=name)
        if public is not None:
            public_rows(ax, public[x], public[response])
        return finish(ax, x, response)
    assert surface is not None
    first, second, values = surface
    image = ax.pcolormesh(first, second, values, cmap="viridis", shading="nearest")
    outside, inside = letters(ax)
    bar = ax.figure.colorbar(image, ax=ax)
    bar.set_label(response, fontsize=outside, parse_math=False)
    bar.ax.tick_params(labelsize=inside)
    if public is not None:
        public_rows(ax, public[covariates[0]], public[covariates[1]], on_colours=True)
    return finish(ax, covariates[0], covariates[1], loc="upper right")
