"""What a fit without public rows finds out first: where columns lie, and how rows are whitened.

1. Locations and scales of the columns of numbers, and of the response, from noisy counts of the values
   below points (`column_search`). Of levels and comparisons the formula says what size they have, and
   products of columns follow from their factors.
2. Second moments of rows with such columns, again and again, until all directions are seen
   (`whitening`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpstats.accounting.privacy import Privacy
from dpstats.accounting.unit import PrivacyUnit
from dpstats.column_search.releases import ColumnSession
from dpstats.column_search.scales import find_scales
from dpstats.column_search.search import ColumnScale
from dpstats.errors import ArgumentError
from dpstats.frame import Design, design_products
from dpstats.mechanism.noise import Noise
from dpstats.mechanism.passes import RowSource
from dpstats.score_rounds.releases import ScoreSession
from dpstats.score_rounds.rows import LeastSquares
from dpstats.score_rounds.whitening import Whitened, whiten


@dataclass(frozen=True)
class FirstLook:
    """What is known of the rows before the rounds of a fit.

    Attributes
    ----------
    rows : Whitened
    location, scale : float
        Of the response, less its offset; 0 and 1 where it was not looked at.
    """

    rows: Whitened
    location: float
    scale: float


def least_budget(d: int) -> float:
    """n mu below which a fit of d columns from private rows alone would be noise.

    Examples
    --------
    >>> [round(least_budget(d)) for d in (2, 5, 10, 20)]
    [157, 324, 732, 1889]
    """
    return float(20 * d**1.5 + 100)


def check_budget(n: int, d: int, mu: float, unit: PrivacyUnit, delta: float | None) -> None:
    """Refuse, before a row is read, what without public rows would be little but noise."""
    least = least_budget(d)
    if n * mu >= least:
        return
    enough = Privacy(least / n).for_group(unit.times)
    stated = "" if delta is None else f" (epsilon = {enough.epsilon(delta):.3g} at this delta)"
    raise ArgumentError(
        f"{n} private {unit.counted} at mu = {mu * unit.times:.3g} are too few for {d} columns without "
        f"public rows: little but noise would come of it. mu = {enough.mu:.3g}{stated} would do, or "
        f"{math.ceil(least / mu)} {unit.counted}, or fewer columns; or a public sample, public=frame."
    )


def first_look(
    design: Design, source: RowSource, total: Privacy, noise: Noise, *, response: bool
) -> tuple[FirstLook, ScoreSession]:
    """Look at the rows of a table; the session has spent what it took, and is closed."""
    made, centred = design_products(design), design.constant is not None
    searched = made.searched()
    with ColumnSession(source, searched, response, total, noise) as columns:
        found = find_scales(columns, len(searched) + response, _boxes(design, searched))
    locations, scales = np.zeros(source.d), np.ones(source.d)
    for j, size in made.known.items():
        scales[j] = size
    for j, one in zip(searched, found, strict=False):
        locations[j], scales[j] = _standard(one, centred)
    location, scale = _standard(found[-1], centred) if response else (0.0, 1.0)
    back, zero = made.standardised(locations, scales), np.zeros(source.d)
    with ScoreSession(
        source, LeastSquares(), back, zero, total, noise, linear=True, after=columns
    ) as session:
        return FirstLook(whiten(session, back), location, scale), session


def _boxes(design: Design, searched: tuple[int, ...]) -> dict[int, tuple[float, float]]:
    """Declared limits, by the places in which columns are searched; the response is the last.

    A response is searched less its offset, which limits say nothing of.
    """
    places = {j: k for k, j in enumerate(searched)}
    boxes = {
        places[j]: design.boxes[name]
        for name, j in design.bare.items()
        if name in design.boxes and j in places
    }
    plain = design.response_kind == "number" and not design.offsets
    if plain and design.response in design.boxes:
        boxes[len(searched)] = design.boxes[str(design.response)]
    return boxes


def _standard(one: ColumnScale, centred: bool) -> tuple[float, float]:
    """Location and scale of a column; about zero where no constant takes its location up."""
    scale = one.scale if one.scale is not None else abs(one.location) or 1.0
    return (one.location, scale) if centred else (0.0, math.hypot(one.location, scale))
