"""The style of plots: axes, colours, public rows, letters. Needs matplotlib.

Nothing is changed but the axes that are drawn on: matplotlib's settings stay the user's. Sizes of
letters are relative to them, and one step smaller on axes as narrow as half a page.
"""

from __future__ import annotations

from typing import Any

from dpstats.arguments import shown
from dpstats.errors import ArgumentError, DPStatsError

# Okabe and Ito's colours, which the colour-blind can distinguish
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7F7F7F")
GREY = "#7F7F7F"
_DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.3)), (0, (6, 2, 1, 2)))
_PUBLIC = "#444444"
_WIDTH, _HEIGHT = 6.4, 4.2  # inches
_NARROW = 3.6  # inches of an axes' width below which letters are smaller
_LEGEND_COLUMNS = 3
_HANDLE = 0.31  # inches of a column of a legend that are not its text


def axes(ax: Any, height: float = _HEIGHT) -> Any:
    """The axes to draw on, new ones of this height in inches unless given."""
    try:
        from matplotlib import pyplot
        from matplotlib.axes import Axes
    except ImportError:
        raise DPStatsError('plot() needs matplotlib: pip install "dpstats[plot]".') from None
    if ax is not None:
        plain = isinstance(ax, Axes) and ax.name == "rectilinear"
        if not plain:  # polar ones have no left and no top
            raise ArgumentError(f"ax must be one matplotlib Axes, not {shown(ax)}.")
        return ax
    return pyplot.subplots(figsize=(_WIDTH, height), layout="constrained")[1]


def line_style(j: int) -> dict[str, Any]:
    """Colour and dashes of the j-th line: dashes differ where colours are used again."""
    dashes = _DASHES[j // len(COLOURS) % len(_DASHES)]
    return {"color": COLOURS[j % len(COLOURS)], "linestyle": dashes}


def size_in_inches(ax: Any) -> tuple[float, float]:
    """Width and height of axes."""
    box = ax.get_window_extent()
    return box.width / ax.figure.dpi, box.height / ax.figure.dpi


def letters(ax: Any) -> tuple[str, str]:
    """Sizes of letters: of labels, and of text inside the axes."""
    return ("small", "x-small") if _narrow(ax) else ("medium", "small")


def _narrow(ax: Any) -> bool:
    return size_in_inches(ax)[0] < _NARROW


def letter_width(size: str) -> float:
    """Width of a usual letter in inches."""
    return 0.55 * letter_height(size)


def letter_height(size: str) -> float:
    """Height of a letter in inches."""
    from matplotlib.font_manager import FontProperties

    return FontProperties(size=size).get_size_in_points() / 72


def public_rows(ax: Any, x: Any, y: Any, on_colours: bool = False) -> None:
    """Public rows as points, light ones where they lie on a heat map."""
    ax.plot(
        x,
        y,
        "o",
        color="white" if on_colours else _PUBLIC,
        alpha=0.6 if on_colours else 0.45,
        markersize=3,
        markeredgecolor="#222222" if on_colours else _PUBLIC,
        markeredgewidth=0.4 if on_colours else 0,
        label="public rows",
    )


def finish(ax: Any, x: str, y: str, title: str = "", above: bool = False, **legend: Any) -> Any:
    """Labels, letters and legend, the same for all plots; names of columns are shown as they are.

    ``legend`` goes to the legend; there is one as soon as something has a label. On narrow axes, and
    where what is drawn fills the picture (``above``), it stands above the picture with the title, if the
    figure's layout makes room for it.
    """
    outside, inside = letters(ax)
    ax.set_xlabel(x, fontsize=outside, parse_math=False)
    ax.set_ylabel(y, fontsize=outside, parse_math=False)
    ax.tick_params(labelsize=inside)
    names = ax.get_legend_handles_labels()[1]
    above = (above or _narrow(ax)) and ax.figure.get_layout_engine() is not None
    above = above and bool(names) and "loc" not in legend
    if title and not above:
        ax.set_title(title, fontsize=outside, parse_math=False)
    if names:
        options = {"frameon": True, "framealpha": 0.8, "edgecolor": "none", "fontsize": inside}
        if above:
            column = max(map(len, names)) * letter_width(inside) + _HANDLE
            columns = min(max(int(size_in_inches(ax)[0] / column), 1), _LEGEND_COLUMNS)
            options |= {"loc": "lower left", "bbox_to_anchor": (0, 1), "ncols": columns}
            options |= {"columnspacing": 1.0, "handlelength": 1.4, "borderpad": 0.2}
            options |= {"title": title, "title_fontsize": outside, "alignment": "left"}
        made = ax.legend(**options | legend)
        for text in [made.get_title(), *made.get_texts()]:
            text.set_parse_math(False)
    ax.spines[["top", "right"]].set_visible(False)
    return ax
