"""The plots of released coefficients: their intervals, and their paths along a penalty."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy

from dpstats.arguments import check_switch, items, listed, one_of, shown
from dpstats.arrays import Floats
from dpstats.errors import ArgumentError
from dpstats.report.plot import (
    COLOURS,
    GREY,
    axes,
    finish,
    letter_height,
    letter_width,
    letters,
    line_style,
    size_in_inches,
)
from dpstats.report.result import Coefficients, quantile

_LINE = 26  # letters of a name in one line of the axis
_LINES = 5  # of a name
_LABEL = 30  # letters of a name beside a path
_MOST_NAMES = 10_000
_TALLEST = 300.0  # inches of a figure, within what can be drawn


def chosen(terms: Sequence[str], selected: Any, intercept: bool) -> list[int]:
    """Which coefficients to draw, in the order given, or that of the fit.

    Without names: all, and the intercept if ``intercept`` or if it is alone.

    Examples
    --------
    >>> chosen(["Intercept", "age", "educ"], None, False), chosen(["Intercept", "age"], "age", False)
    ([1, 2], [1])
    """
    check_switch("intercept", intercept)
    if selected is None:
        kept = [j for j, term in enumerate(terms) if intercept or term != "Intercept"]
        return kept or list(range(len(terms)))
    names = [selected] if isinstance(selected, str) else items(selected, _MOST_NAMES)
    if names is None:
        raise ArgumentError(f"terms must be a list of names, not {shown(selected)}.")
    for name in names:
        if not one_of(name, terms):
            raise ArgumentError(f"no term {shown(name)}; the terms are {listed(terms)}.")
    if not names:
        raise ArgumentError(f"terms names none; the terms are {listed(terms)}.")
    return [list(terms).index(name) for name in dict.fromkeys(names)]


def plot_coefficients(
    coefficients: Coefficients, terms: Any, level: float, intercept: bool, ax: Any
) -> Any:
    """Estimates with their intervals, the first on top.

    A thick bar is the interval that sampling alone would give, a thin line the full one. Where there
    are no standard errors there is the estimate by itself, a hollow point; where a column was left out,
    nothing.
    """
    z = quantile(level, coefficients.freedom)
    kept = chosen(coefficients.terms, terms, intercept)
    names = [folded(coefficients.terms[j]) for j in kept]
    rows = np.arange(len(kept))
    ax = axes(ax, tall(names))
    coef = np.where(coefficients.left_out, np.nan, coefficients.coef)[kept]
    error = coefficients.std_error[kept]
    with np.errstate(invalid="ignore"):
        sampling = np.sqrt(np.diag(coefficients.sampling)[kept])
    known = np.isfinite(coef) & np.isfinite(error)
    ax.axvline(0, color=GREY, linewidth=0.8, zorder=0)
    for half, width, colour, label in (
        (z * sampling, 5, COLOURS[5], "sampling"),
        (z * error, 1.3, COLOURS[0], "sampling and privacy"),
    ):
        if known.any():
            ends = (coef - half)[known], (coef + half)[known]
            ax.hlines(rows[known], *ends, colors=colour, linewidth=width, label=label)
    black = {"marker": "o", "color": "black", "linestyle": "none", "markersize": 3.5}
    ax.plot(coef[known], rows[known], **black)
    alone = np.isfinite(coef) & ~known
    if alone.any():
        ax.plot(coef[alone], rows[alone], **black, markerfacecolor="white", label="no interval")
    ax.set_yticks(rows, names, parse_math=False)
    ax.set_ylim(len(rows) - 0.4, -0.6)  # the first on top
    ax.tick_params(axis="y", length=0)
    x = f"estimate, {100 * level:.4g} % interval" if known.any() else "estimate"
    above: dict[str, Any] = {
        "loc": "lower right",
        "bbox_to_anchor": (1, 1),
        "ncols": 3 if alone.any() and known.any() else 2,
        "borderaxespad": 0.2,
    }
    finish(ax, x, "", **above, frameon=False)
    ax.spines["left"].set_visible(False)
    return ax


def tall(names: Sequence[str]) -> float:
    """Inches of a figure that has a line for each name."""
    lines = 1 + max(name.count("\n") for name in names)
    return min(1.1 + len(names) * (0.16 + 0.16 * lines), _TALLEST)


def plot_event_study(
    levels: Sequence[str],
    estimate: Sequence[float],
    alone: Sequence[float],
    together: Sequence[float],
    label: str,
    ax: Any,
) -> Any:
    """Effects against levels: thick bars for each by itself, thin ones that hold all at once.

    Where there are no standard errors there is a hollow point; where a level was left out, nothing.
    """
    ax = axes(ax, 3.2)
    at, coef = np.arange(len(levels)), np.asarray(estimate)
    known = np.isfinite(alone)
    ax.axhline(0, color=GREY, linewidth=0.8, zorder=0)
    for half, width, colour, name in (
        (np.asarray(together), 1.3, COLOURS[0], "all levels at once"),
        (np.asarray(alone), 5, COLOURS[5], "a level by itself"),
    ):
        ax.vlines(at, coef - half, coef + half, colors=colour, linewidth=width, label=name)
    black = {"color": "black", "markersize": 3.5}
    ax.plot(at, np.where(known, coef, np.nan), "o-", **black, linewidth=0.6)
    if (np.isfinite(coef) & ~known).any():
        hollow = {"linestyle": "none", "markerfacecolor": "white", "label": "no interval"}
        ax.plot(at[~known], coef[~known], "o", **black, **hollow)
    ax.set_xticks(at, list(levels), parse_math=False)
    above: dict[str, Any] = {"loc": "lower right", "bbox_to_anchor": (1, 1), "ncols": 3}
    finish(ax, "", label, **above, borderaxespad=0.2, frameon=False)
    return ax


def folded(name: str) -> str:
    """A long name in several lines, broken where it has parts.

    Examples
    --------
    >>> folded("C(occupation)[T.5.0]:religious:yrs_married").splitlines()
    ['C(occupation)[T.5.0]:', 'religious:yrs_married']
    """
    lines = [""]
    for part in re.split(r"(?<=[:,\s_*/+])|(?=[\[(])", shortened(name, _LINES * _LINE)):
        if lines[-1] and len(lines[-1]) + len(part) > _LINE:
            lines.append("")
        lines[-1] += part
        while len(lines[-1]) > _LINE:
            lines[-1:] = [lines[-1][:_LINE], lines[-1][_LINE:]]
    return "\n".join(lines)


def plot_path(
    terms: Sequence[str],
    lambdas: Floats,
    coef: Floats,
    penalty: str,
    selected: Any,
    intercept: bool,
    ax: Any,
) -> Any:
    """Coefficients against the penalty, which grows to the right; names where it is least."""
    kept = chosen(terms, selected, intercept)
    some = lambdas > 0
    if not some.any():
        raise ArgumentError(
            "a path is drawn on a log scale, and no lambda is above 0: path(lambdas=[0.01, 0.1])."
        )
    order = np.argsort(lambdas[some], kind="stable")
    grid, coef = lambdas[some][order], coef[some][order][:, kept]
    ax = axes(ax, min(max(4.2, 1.0 + 0.19 * len(kept)), _TALLEST))
    ax.hlines(0, grid[0], grid[-1], colors=GREY, linewidth=0.8, zorder=0)
    single = "o" if len(grid) == 1 else None
    for j, column in enumerate(coef.T):
        ax.plot(grid, column, marker=single, **line_style(j))
    ax.set_xscale("log")
    _name_ends(ax, [terms[j] for j in kept], grid, coef[0])
    ticks = 10.0 ** np.arange(math.ceil(np.log10(grid[0])), math.floor(np.log10(grid[-1])) + 1)
    if len(ticks) > 1:  # none below the least penalty, where the names are
        ax.set_xticks(ticks[:: 1 + len(ticks) // 7])
        ax.minorticks_off()
    rest = "" if some.all() else ", 0 left out"
    return finish(ax, f"{penalty} penalty (lambda, log scale{rest})", "coefficient")


def _name_ends(ax: Any, names: Sequence[str], grid: Floats, ends: Floats) -> None:
    """Names to the left of the lines' ends, moved apart where these lie close."""
    width, height = size_in_inches(ax)
    size = letters(ax)[1]
    short = [shortened(name) for name in names]
    gap = 1.45 * letter_height(size) / height
    share = min(letter_width(size) * max(map(len, short)) / width + 0.06, 0.6)
    span = math.log(grid[-1] / grid[0]) or math.log(10)
    leftmost = math.exp(math.log(grid[0]) - span * share / (1 - share))
    ax.set_xlim(leftmost, grid[-1] * math.exp(0.02 * span))
    low, high = ax.get_ylim()
    gap *= high - low
    places = apart(ends, gap)
    # more height where the names need it
    ax.set_ylim(min(low, float(places.min()) - gap / 2), max(high, float(places.max()) + gap / 2))
    for j, (name, place) in enumerate(zip(short, places, strict=True)):
        ax.annotate(
            name,
            (grid[0], ends[j]),
            (grid[0] * math.exp(-0.045 * span / (1 - share)), place),
            ha="right",
            va="center",
            fontsize=size,
            parse_math=False,
            arrowprops={
                "arrowstyle": "-",
                "color": line_style(j)["color"],
                "linewidth": 0.7,
                "shrinkA": 0,
                "shrinkB": 0,
            },
        )


def shortened(name: str, most: int = _LABEL) -> str:
    """A name of at most so many letters: its beginning and its end.

    Examples
    --------
    >>> shortened("C(occupation)[T.5.0]", 11)
    'C(occ….5.0]'
    """
    half = (most - 1) // 2
    return name if len(name) <= most else f"{name[:half]}…{name[-half:]}"


def apart(places: Floats, gap: float) -> Floats:
    """The nearest places (in squares) in the same order that lie ``gap`` apart at least.

    Examples
    --------
    >>> apart(np.array([0.5, 0.5, 0.0]), 0.2).round(2).tolist()
    [0.4, 0.6, 0.0]
    """
    order = np.argsort(places, kind="stable")
    steps = gap * np.arange(len(places))
    out = np.empty(len(places))
    out[order] = scipy.optimize.isotonic_regression(places[order] - steps).x + steps
    return out
