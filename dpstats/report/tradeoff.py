"""The plot of a trade-off curve: the errors of whoever tests a hypothesis on one row or person."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable
from typing import Any

import numpy as np

from dpstats.accounting.privacy import Total
from dpstats.accounting.tradeoff import smallest_type_two
from dpstats.arguments import items, number, shown
from dpstats.arrays import Floats
from dpstats.errors import ArgumentError
from dpstats.report.format import format_scalar
from dpstats.report.plot import COLOURS, GREY, axes, finish, letter_width, letters, size_in_inches

_DELTAS = (1e-3, 1e-5, 1e-7)
_MOST_DELTAS = 20
_MARKED = 0.05  # the type I error that readers know best


def type_one_errors(kink: float | None = None) -> Floats:
    """Where curves are drawn: evenly, closer together near 0, and where one may have a kink."""
    even, near = np.linspace(0, 1, 101), np.geomspace(1e-4, 1, 81)
    return np.unique(np.concatenate([even, near, [] if kink is None else [kink]]))


def draw_limit(ax: Any, alpha: Floats, least: Floats, label: str) -> None:
    """A trade-off curve, with the errors below it that a claim rules out."""
    ax.plot(alpha, least, color=COLOURS[0], label=label)
    ax.fill_between(alpha, least, color=COLOURS[0], alpha=0.12, linewidth=0)


def draw_ignorance(ax: Any, label: str) -> None:
    """The errors of guessing."""
    ax.plot([0, 1], [1, 0], color=GREY, linestyle=":", label=label)


def finish_errors(ax: Any, title: str, **legend: Any) -> Any:
    """The unit square of both errors."""
    ax.set_xlim(0, 1)
    ax.set_ylim(0, 1)
    legend = {"loc": "upper right", **legend}
    return finish(ax, "type I error (alpha)", "type II error (1 - power)", title, **legend)


def equivalents(total: Total, deltas: Iterable[float]) -> tuple[tuple[float, float], ...]:
    """The total as (epsilon, delta) at each delta; left out where there is no finite epsilon.

    Examples
    --------
    >>> from dpstats.accounting.privacy import Privacy
    >>> [(round(epsilon, 3), delta) for epsilon, delta in equivalents(Privacy(1.0), [1e-3, 1e-5])]
    [(3.139, 0.001), (4.377, 1e-05)]
    """
    pairs = ((float(total.epsilon(delta)), delta) for delta in deltas)
    return tuple((epsilon, delta) for epsilon, delta in pairs if math.isfinite(epsilon))


def deltas_of(at: Any, shown_delta: float) -> tuple[float, ...]:
    """The deltas given, in falling order; by default three and the one that pages show."""
    if at is None:  # a pure total is shown at 0, where it is one epsilon and nothing else
        return tuple(sorted({*_DELTAS, shown_delta}, reverse=True)) if shown_delta else (0.0,)
    given = [at] if number(at) is not None else items(at, _MOST_DELTAS)
    if given is None:
        raise ArgumentError(
            f"at must be a delta, or several as in at=[1e-3, 1e-6], not {shown(at)}."
        )
    values = []
    for one in given:
        delta = number(one)
        if delta is None or not 0 < delta < 1:
            raise ArgumentError(
                f"at holds deltas, strictly between 0 and 1, as in at=[1e-3, 1e-6], not {shown(one)}."
            )
        values.append(delta)
    return tuple(sorted(set(values), reverse=True))


def plot_tradeoff(
    total: Total, deltas: Iterable[float], claim: str, unit: str, seeded: str, ax: Any
) -> Any:
    """The curve of a total, its (epsilon, delta), and what it means at a type I error of 5 %."""
    ax = axes(ax)
    at = getattr(total, "at", None)
    kink = None if at is None else (1 - total.slack) / (1 + math.exp(min(at, 700.0)))
    alpha = type_one_errors(kink)
    draw_limit(ax, alpha, smallest_type_two(total, alpha), "smallest type II error")
    draw_ignorance(ax, "no information")
    marked, middle = smallest_type_two(total, [_MARKED, 0.5])
    ax.plot(
        _MARKED,
        marked,
        "o",
        color=COLOURS[1],
        markersize=5,
        clip_on=False,
        zorder=3,
        label=f"type I 5 %: type II >= {format_scalar(100 * marked, 3)} %",
    )
    for epsilon, delta in equivalents(total, deltas):
        text = f"epsilon {format_scalar(epsilon, 3)} at delta {format_scalar(delta, 3)}"
        ax.plot([], [], " ", label=text)  # a line of the legend without a mark
    width = 1.1 * size_in_inches(ax)[0] / letter_width(letters(ax)[0])
    lines = [
        line for text in (claim + seeded, unit) for line in textwrap.wrap(text, max(int(width), 24))
    ]
    shape: dict[str, Any] = {"handlelength": 1.4, "labelspacing": 0.35, "borderpad": 0.2}
    if middle > 0.3:  # there is more room below the curve, and most of it at the bottom
        shape |= {"loc": "lower left", "frameon": False}
    return finish_errors(ax, "\n".join(lines), **shape)
