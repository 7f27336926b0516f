"""Ellipses of released Gaussians over public points."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpstats.arguments import one_of, shown
from dpstats.arrays import Floats
from dpstats.errors import ArgumentError
from dpstats.report.plot import axes, finish, line_style, public_rows
from dpstats.report.result import quantile


@dataclass(frozen=True)
class Ellipse:
    """A Gaussian to draw, and its name in the legend; of a mixture with its ``weight``."""

    name: str
    mean: Floats
    covariance: Floats
    weight: float = 1.0


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
    quantile(level)  # refuses what is no level
    pair = _pair(terms, x, y)
    ax = axes(ax)
    if points is not None:
        second = points[:, pair[1]] if len(pair) > 1 else np.zeros(len(points))
        public_rows(ax, points[:, pair[0]], second)
    for j, one in enumerate(ellipses):
        if len(pair) == 1:
            _density(ax, one, pair[0], line_style(j))
            continue
        outline = _outline(one.mean[list(pair)], one.covariance[np.ix_(pair, pair)], level)
        ax.plot(*outline, **line_style(j), label=f"{one.name}, {100 * level:.4g} %")
        ax.plot(*one.mean[list(pair)], "+", color=line_style(j)["color"], markersize=9)
    title = f"two of {len(terms)} columns: x=, y= name others" if len(terms) > 2 and x is y else ""
    second_label = terms[pair[1]] if len(pair) > 1 else "density"
    return finish(ax, terms[pair[0]], second_label, title, above=True)


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


def _density(ax: Any, one: Ellipse, j: int, style: dict[str, Any]) -> None:
    sd = math.sqrt(one.covariance[j, j])
    grid = one.mean[j] + sd * np.linspace(-4, 4, 200)
    height = np.exp(-(((grid - one.mean[j]) / sd) ** 2) / 2) / (sd * math.sqrt(2 * math.pi))
    ax.plot(grid, one.weight * height, **style, label=one.name)
