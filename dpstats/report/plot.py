"""Ellipses of released Gaussians over public points; needs matplotlib."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpstats.errors import ArgumentError, DPStatsError, one_of, shown
from dpstats.report.result import Floats

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7F7F7F")


@dataclass(frozen=True)
class Ellipse:
    """A Gaussian to draw, and its name in the legend."""

    name: str
    mean: Floats
    covariance: Floats


def axes(ax: Any) -> Any:
    """The axes to draw on, new ones unless given."""
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError:
        raise DPStatsError('plot() needs matplotlib: pip install "dpstats[plot]".') from None
    return pyplot.subplots(figsize=(6.4, 4.2), layout="constrained")[1]


def plot_ellipses(
    terms: Sequence[str],
    ellipses: Sequence[Ellipse],
    points: Floats | None,
    x: str | None,
    y: str | None,
    level: float,
    ax: Any,
) -> Any:
    """Two columns of released Gaussians: the ellipse that holds ``level`` of each, and public points."""
    if not (isinstance(level, int | float) and 0 < level < 1):
        raise ArgumentError(f"level must lie strictly between 0 and 1, not {shown(level)}.")
    pair = _pair(terms, x, y)
    ax = axes(ax)
    if points is not None:
        ax.plot(
            points[:, pair[0]],
            points[:, pair[1]] if len(pair) > 1 else np.zeros(len(points)),
            "o",
            color="#444444",
            alpha=0.45,
            markersize=3,
            markeredgewidth=0,
            label="public rows",
        )
    for j, one in enumerate(ellipses):
        colour = COLOURS[j % len(COLOURS)]
        name = f"{one.name}, {100 * level:.4g} %"
        if len(pair) == 1:
            _density(ax, one, pair[0], colour)
            continue
        outline = _outline(one.mean[list(pair)], one.covariance[np.ix_(pair, pair)], level)
        ax.plot(*outline, color=colour, label=name)
        ax.plot(*one.mean[list(pair)], "+", color=colour, markersize=9)
    ax.set_xlabel(terms[pair[0]])
    ax.set_ylabel(terms[pair[1]] if len(pair) > 1 else "density")
    ax.legend(frameon=True, framealpha=0.8, edgecolor="none", fontsize="small")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _pair(terms: Sequence[str], x: str | None, y: str | None) -> tuple[int, ...]:
    for name in (x, y):
        if name is not None and not one_of(name, terms):
            raise ArgumentError(f"no column {shown(name)}; the columns are {', '.join(terms)}.")
    if len(terms) == 1:
        return (0,)
    if x is not None and x == y:
        raise ArgumentError("x and y are the same column.")
    if x is None:
        second = 1 if y is None else terms.index(y)
        return int(second == 0), second
    first = terms.index(x)
    return first, int(first == 0) if y is None else terms.index(y)


def _outline(mean: Floats, covariance: Floats, level: float) -> tuple[Floats, Floats]:
    """Points of the ellipse that holds ``level`` of a Gaussian in the plane."""
    values, vectors = np.linalg.eigh(covariance)
    radius = math.sqrt(-2 * math.log(1 - level))  # the chi-square with two degrees of freedom
    angle = np.linspace(0, 2 * math.pi, 200)
    circle = np.stack([np.cos(angle), np.sin(angle)])
    line = (vectors * np.sqrt(values)) @ circle * radius + mean[:, None]
    return line[0], line[1]


def _density(ax: Any, one: Ellipse, j: int, colour: str) -> None:
    sd = math.sqrt(one.covariance[j, j])
    grid = one.mean[j] + sd * np.linspace(-4, 4, 200)
    height = np.exp(-(((grid - one.mean[j]) / sd) ** 2) / 2) / (sd * math.sqrt(2 * math.pi))
    ax.plot(grid, height, color=colour, label=one.name)
