"""What a figure of a paper is, how its repetitions are run, and what is claimed of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Literal

import pandas as pd

Agreement = Literal["yes", "partly", "no"]


@dataclass(frozen=True)
class Point:
    """One number of one repetition; ``value`` is NaN where an algorithm gave no answer."""

    panel: str
    series: str
    x: float
    value: float


@dataclass(frozen=True)
class Sizes:
    """How much of a figure is run.

    Attributes
    ----------
    data : Path or None
        Folder of the real data.
    fast : bool
        A coarse grid of a few values, for tests.
    """

    data: Path | None = None
    fast: bool = False


@dataclass(frozen=True)
class Figure:
    """A figure of a paper.

    Attributes
    ----------
    name : str
        Name of its files, such as ``"ridge-1"``.
    source : str
        Paper and figure, and panels that stand together.
    x_label, y_label : str
    points : callable
        ``points(seed, sizes)`` gives all points of one repetition, in the order of the legend. A pure
        function of its arguments, at the top level of its module.
    repeats : int
        Repetitions in the paper.
    panels : tuple of str
        In order of drawing.
    log_x, log_y : bool
    real : bool
        Whether it needs the real data.
    needs : str
        A module that must be installed for it; empty for none.
    """

    name: str
    source: str
    x_label: str
    y_label: str
    points: Callable[[int, Sizes], Iterator[Point]]
    repeats: int
    panels: tuple[str, ...] = ("",)
    log_x: bool = False
    log_y: bool = True
    real: bool = False
    needs: str = ""


@dataclass(frozen=True)
class Finding:
    """What was measured of a claim, in a sentence with its numbers, and whether it agrees."""

    measured: str
    agrees: Agreement


@dataclass(frozen=True)
class Claim:
    """A claim of a paper, and how a figure's table answers it.

    ``check`` reads the tidy table of the figure (columns panel, series, x, repeats, mean, sd, median,
    missing); ``why`` explains the outcome that was found at full size.
    """

    figure: str
    claim: str
    check: Callable[[pd.DataFrame], Finding]
    why: str


def run(figure: Figure, sizes: Sizes, repeats: int, workers: int = 2) -> pd.DataFrame:
    """The tidy table of a figure: a row for every panel, series and x.

    Repetitions are seeds 0, 1, ...; processes have one thread each, so that times and bits do not
    depend on their number.
    """
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = "1"
    one = partial(_repetition, figure.points, sizes)
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        found = [point for points in pool.map(one, range(repeats)) for point in points]
    return gathered(figure.name, found, repeats)


def _repetition(
    points: Callable[[int, Sizes], Iterator[Point]], sizes: Sizes, seed: int
) -> list[Point]:
    return list(points(seed, sizes))


def gathered(name: str, points: list[Point], repeats: int) -> pd.DataFrame:
    """Means, standard deviations and medians over repetitions, in the order of the points."""
    frame = pd.DataFrame([vars(p) for p in points])
    groups = frame.groupby(["panel", "series", "x"], sort=False)["value"]
    table = groups.agg(
        mean="mean", sd="std", median="median", missing=lambda v: int(v.isna().sum())
    ).reset_index()
    table.insert(0, "figure", name)
    table.insert(4, "repeats", repeats)
    return table
