"""The pages and the plot of a private kernel regression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dpstats.errors import ArgumentError
from dpstats.report.answers import Answers, answers_table
from dpstats.report.bound import Bound
from dpstats.report.format import format_numbers, format_scalar
from dpstats.report.model import closing_blocks, printed
from dpstats.report.plot import COLOURS, axes, finish, letters, public_rows
from dpstats.report.privacy import PrivacyStatement
from dpstats.report.released import Diagnostic
from dpstats.report.table import (
    Column,
    Heading,
    KeyValues,
    Page,
    Paragraph,
    Part,
    Preformatted,
    Table,
)

KERNEL_METHODS = {
    "gp": "kernel sums with noise for the whole curve at once",
    "adaptive": "curve at nodes, noise for private bounds on their degrees",
    "ptr": "curve at nodes behind one private test of their degrees",
    "paper": "ePTR-NW (Algorithm 5 of the ePTR paper), point by point",
}
_SHOWN_ROWS = 12


@dataclass(frozen=True)
class KernelPage:
    """What the pages of a curve show; everything released or public."""

    call: str
    method: str
    covariates: Sequence[str]
    bandwidth: Sequence[float]
    chosen: bool
    centre: str
    curve: pd.DataFrame
    n: int
    m: int | None
    privacy: PrivacyStatement
    bounds: tuple[Bound, ...]
    diagnostics: tuple[Diagnostic, ...]
    notes: tuple[str, ...]
    answers: tuple[Answers, ...]
    released: bool


def _curve_table(curve: pd.DataFrame, main: bool = False) -> Table:
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
    notes = (f"{more} more points in .curve",) if more else ()
    return Table.from_columns(columns, notes=notes, main=main)


def _bandwidths(page: KernelPage) -> str:
    sizes = ", ".join(
        f"{name} {format_scalar(h, 3)}"
        for name, h in zip(page.covariates, page.bandwidth, strict=True)
    )
    return sizes + (" (chosen on public rows)" if page.chosen else "")


def print_kernel(page: KernelPage) -> Page:
    """Call, bandwidths and some of the curve."""
    bandwidth = KeyValues((("Bandwidth", _bandwidths(page)),))
    parts: list[Part] = [bandwidth, Heading("Curve"), _curve_table(page.curve)]
    return printed(page.call, parts, page.privacy, page.notes)


def summary_kernel(page: KernelPage) -> Page:
    """The print with the privacy spent, error parts and diagnostics."""
    public = "" if page.m is None else f", {page.m} public"
    parts: list[Part] = [
        Heading("Call"),
        Preformatted(page.call),
        KeyValues(
            (
                ("Method", KERNEL_METHODS[page.method]),
                ("Kernel", "Gaussian, 1 at its middle"),
                ("Bandwidth", _bandwidths(page)),
                ("Correction to", page.centre),
                ("Rows", f"{page.n} private{public}"),
            )
        ),
        Heading("Curve"),
        _curve_table(page.curve, main=True),
        *[Paragraph(f"Note: {note}") for note in page.notes],
        *closing_blocks(page.privacy, page.bounds, page.diagnostics),
    ]
    for answers in page.answers[:1]:
        parts += answers_table(answers, page.released)
    return Page(tuple(parts))


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
            f"a plot shows one or two covariates, and this curve has {len(covariates)}; "
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
