"""Pictures of tables: means as lines, standard deviations as bands."""

from __future__ import annotations

import io
import re
from itertools import cycle
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pandas as pd
from matplotlib.figure import Figure as Picture
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullFormatter, NullLocator

from dpstats.report.plot import COLOURS
from tests.benchmarks.replication.checks import split_name
from tests.benchmarks.replication.figure import Figure

BLUE, GREY, BLACK, SKY = COLOURS[0], COLOURS[7], COLOURS[6], COLOURS[5]
OTHERS = tuple(c for c in COLOURS if c not in (BLUE, GREY, BLACK, SKY))
DASHES: tuple[Any, ...] = (
    "-",
    (0, (4, 1.5)),
    (0, (1, 1.3)),
    (0, (6, 1.5, 1, 1.5)),
    (0, (2, 1.5, 2, 3)),
)
MARKERS = ("s", "^", "D", "v", "P", "X")
STYLE: dict[Any, Any] = {
    "font.size": 8,
    "axes.titlesize": 8,
    "legend.fontsize": 7.5,
    "legend.title_fontsize": 8,
    "svg.fonttype": "none",
}
PANEL_WIDTH, PANEL_HEIGHT, LEGEND_LINE = 3.1, 2.7, 0.17
LEGEND_ENTRY = 1.75
"""Inches across; how many stand beside each other follows from the width of the picture."""
LEGEND: dict[str, Any] = {"frameon": False, "handlelength": 2.6, "columnspacing": 1}


def draw(figure: Figure, table: pd.DataFrame) -> Picture:
    """Panels side by side, their parameters above and the methods below.

    A colour and a marker for each method, a dash for each of its parameters. Functions of this package
    (``dp_...``, ``eptr_...``) are blue and thick, fits without noise black, of public rows alone grey.
    Bands reach up to one standard deviation; on a logarithmic axis their lower half mirrors the upper
    one, because the mean less a standard deviation is often below 0.
    """
    looks = _looks(table)
    width = PANEL_WIDTH * max(len(figure.panels), 1.5)
    columns = int(width // LEGEND_ENTRY)
    height = PANEL_HEIGHT + LEGEND_LINE * -(-len(looks) // columns)
    with mpl.rc_context(STYLE):
        picture = Picture(figsize=(width, height), layout="constrained")
        axes = picture.subplots(1, len(figure.panels), squeeze=False)[0]
        for ax, name in zip(axes, figure.panels, strict=True):
            _panel(ax, figure, name, table[table.panel == name], looks)
        axes[0].set_ylabel(figure.y_label)
        handles = [Line2D([], [], markersize=3.5, **look) for look in looks.values()]
        picture.legend(handles, list(looks), loc="outside lower center", ncols=columns, **LEGEND)
    return picture


def save(picture: Picture, path: Path) -> None:
    """A small SVG, the same bytes for the same table: no date, no random names."""
    # A hundredth of a point is enough, and indents are a tenth of the file.
    text = io.StringIO()
    with mpl.rc_context(STYLE | {"svg.hashsalt": "dpstats"}):
        picture.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    # Labels stay as they are: of 0.0001 that would leave 0.00.
    short = re.sub(r"(\.\d\d)\d+(?![\d.]*</text>)", r"\1", text.getvalue())
    path.write_text(re.sub(r"\n\s+", "\n", short), encoding="utf-8")


def _looks(table: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Colour, marker and width of every method."""
    own = [BLUE, SKY]
    others, markers = list(OTHERS), list(MARKERS)
    methods: dict[str, dict[str, Any]] = {}
    for method in dict.fromkeys(split_name(s)[0] for s in table.series):
        if method.startswith(("dp_", "eptr_")):
            look = {"color": (own or others).pop(0), "marker": "o", "linewidth": 2.2, "zorder": 3.0}
        elif "without" in method or method.startswith("non-private"):
            look = {"color": BLACK, "marker": "", "linewidth": 1.2, "zorder": 4.0}
        elif "public" in method:
            look = {"color": GREY, "marker": "", "linewidth": 1.2}
        else:
            colour, marker = others.pop(0), markers.pop(0)
            others.append(colour)
            markers.append(marker)
            look = {"color": colour, "marker": marker, "linewidth": 1.2}
        methods[method] = look
    return methods


def _panel(
    ax: Any, figure: Figure, name: str, table: pd.DataFrame, looks: dict[str, dict[str, Any]]
) -> None:
    if figure.log_y:
        ax.set_yscale("log")
    _scale_x(ax, figure, table)
    solid = table[table["mean"].notna()]
    # Bands may be wide: the means, with a margin, say what is shown.
    low, high = solid["mean"].min(), solid["mean"].max()
    if figure.log_y and low > 0:
        ax.set_ylim(low / 1.6, high * 1.6)
        if high > 1000 * low:
            ax.yaxis.set_minor_locator(NullLocator())
    parameters = dict.fromkeys(split_name(s)[1] for s in table.series)
    dashes = dict(zip((p for p in parameters if p), cycle(DASHES), strict=False))
    for series, rows in table.groupby("series", sort=False):
        method, parameter = split_name(str(series))
        look = looks[method]
        dash = dashes.get(parameter, "-")
        ax.plot(rows.x, rows["mean"], linestyle=dash, markersize=3.5, **look)
        above = rows["mean"] + rows.sd
        below = rows["mean"] ** 2 / above if figure.log_y else rows["mean"] - rows.sd
        ax.fill_between(rows.x, below, above, color=look["color"], alpha=0.1, lw=0)
    ax.set_xlabel(figure.x_label)
    ax.spines[["top", "right"]].set_visible(False)
    if dashes:
        ax.legend(
            [Line2D([], [], color="#444444", linewidth=1.2, linestyle=d) for d in dashes.values()],
            list(dashes),
            title=name,
            loc="lower center",
            bbox_to_anchor=(0.5, 1.0),
            ncols=2 if len(dashes) == 4 else 3,
            **LEGEND,
        )
    else:
        ax.set_title(name)


def _scale_x(ax: Any, figure: Figure, table: pd.DataFrame) -> None:
    """Ticks at the values that were run; 0 on a logarithmic axis has a linear step of its own."""
    if not figure.log_x:
        return
    values = sorted(set(table.x))
    if values[0] <= 0:
        ax.set_xscale("symlog", linthresh=values[1])
    else:
        ax.set_xscale("log")
    ax.set_xticks(_apart(values))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.minorticks_off()


def _apart(values: list[float]) -> list[float]:
    """The values whose labels do not run into each other on a logarithmic axis."""
    positive = [v for v in values if v > 0]
    least = (positive[-1] / positive[0]) ** (1 / 7)
    kept = [v for v in values if v <= 0]
    last = 0.0
    for v in positive:
        if v >= last * least:
            kept.append(v)
            last = v
    return kept
