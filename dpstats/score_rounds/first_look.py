"""What a fit without public rows finds out first: where columns lie, and how rows are whitened.

1. Locations and scales of the columns of numbers, and of the response, from noisy counts of the values
   below points (`column_search`). Of levels and comparisons the formula says what size they have, and
   products of columns follow from their factors.
2. Second moments of rows with such columns, again and again, until all directions are seen
   (`whitening`).

Where the rows of persons are summed up, one row of each tells the first, all of them the second. Where
their effects are taken out it is the difference of two, and each column is looked for by itself.
"""

from __future__ import annotations

import math
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np

from dpstats.accounting.privacy import Privacy
from dpstats.arrays import Floats
from dpstats.column_search.releases import ColumnSession
from dpstats.column_search.scales import find_scales
from dpstats.column_search.search import ColumnScale
from dpstats.frame import Design, PublicMoments, design_products
from dpstats.mechanism.noise import Noise
from dpstats.mechanism.passes import RowSource
from dpstats.mechanism.session import Session, clamp_to_safe_range
from dpstats.score_rounds.least_budget import suffices
from dpstats.score_rounds.person_rows import PersonSource
from dpstats.score_rounds.public_guide import public_scales
from dpstats.score_rounds.releases import PersonCounts, ScoreSession
from dpstats.score_rounds.rounds import PERSONS, rows_of_each
from dpstats.score_rounds.rows import LeastSquares
from dpstats.score_rounds.whitening import Whitened, whiten

_LARGEST = 2.0**190
"""Size of responses for which cuts of scores, of at most 2^200, leave room."""

MostlyOne = tuple[float, float]
"""Of a column the value that most rows have, and the share of the others."""


@dataclass(frozen=True)
class FirstLook:
    """What is known of the rows before the rounds of a fit.

    Attributes
    ----------
    rows : Whitened
    location, scale : float
        Of the response, less its offset; 0 and 1 where it was not looked at.
    enough : bool
        Whether enough rows are used for a fit, and have responses that differ.
    response : ColumnScale or None
        What was found of the response.
    uneven : dict
        By their places, columns that have one value in most rows.
    persons : PersonCounts or None
        How many rows persons have, where they are summed up.
    """

    rows: Whitened
    location: float
    scale: float
    enough: bool
    response: ColumnScale | None = None
    uneven: dict[int, MostlyOne] = field(default_factory=dict)
    persons: PersonCounts | None = None

    @property
    def others(self) -> float:
        """Share of the responses that differ from where most lie; 0 where they differ all."""
        return 0.0 if self.response is None else self.response.others

    @property
    def by_one(self) -> bool:
        """Whether all of these are one away, as of zeros and ones."""
        return self.response is not None and self.response.mark

    @property
    def alike(self) -> bool:
        """Whether next to no response seems to differ: ``others`` is what noise may hide."""
        return self.response is not None and self.response.scale is None

    def start(self, design: Design) -> Floats:
        """Where rounds begin: at the location of the response, where there is a constant."""
        start: Floats = np.zeros(len(self.rows.whitening.back))
        if design.constant is not None:
            start[design.constant] = self.location
        return start


def first_look(
    design: Design,
    source: RowSource,
    total: Privacy,
    noise: Noise,
    *,
    response: bool,
    public: PublicMoments | None = None,
    persons: str | None = None,
    after: Session[Any] | None = None,
) -> tuple[FirstLook, ScoreSession]:
    """Look at the rows of a table; the session has spent what it took, and is closed.

    ``public``: rows that do not determine all columns; those whose scale they tell are not searched.
    ``persons``: see `ScoreSession`; what is kept of them is forgotten where an error ends the look.
    """
    within = persons == "within"
    made, centred = design_products(design, differences=within), design.constant is not None
    told = {} if public is None else public_scales(public)
    searched = tuple(j for j in made.searched() if j not in told)
    # some column, to count the rows that are used
    looked = searched if searched or response else (0,)
    single, zero, counts = source, np.zeros(source.d), None
    with ExitStack() as failed:
        if persons is not None:
            of_persons = cast(PersonSource, source)
            failed.callback(lambda: of_persons.forget())  # not looked at unless an error comes
            single = of_persons.one_of_each(differences=within)
        with ColumnSession(single, looked, response, total, noise, after) as columns:
            boxes = _boxes(design, searched)
            used, found = find_scales(columns, len(searched) + response, boxes, closely=True)
        own = found[-1] if response else None
        if own is not None and own.scale is None and boxes.get(len(searched)) == (0.0, 1.0):
            own = replace(own, scale=1.0, mark=True)  # if any differ, they do by one
        marks = {j for name, j in design.bare.items() if design.columns[name].mark}
        nothing = np.zeros(source.d, dtype=np.bool_)
        locations, scales = np.zeros(source.d), np.ones(source.d)
        for j, size in made.known.items():
            scales[j] = size
        for j, one in [*told.items(), *zip(searched, found, strict=False)]:
            locations[j], scales[j] = _standard(one, centred)
            # of a linear fit a mark that next to no row has takes errors from no other column
            rare = response and j in marks and one.location < 0.5
            nothing[j] = one.scale is None and (centred or within) and not rare
        back = made.standardised(locations, scales)
        how: dict[str, Any] = {"persons": persons, "after": columns, "keeps": True}
        with ScoreSession(source, LeastSquares(), back, zero, total, noise, **how) as session:
            if persons is not None:
                counts = session.rows_of_persons(PERSONS)
                back, _ = session.whiten(back / math.sqrt(rows_of_each(counts, session.n)), zero)
            seen = whiten(session, back, nothing)
        location, scale = (0.0, 1.0) if own is None else _standard(own, centred)
        enough = suffices(used, source.d, total.mu)
        if own is not None and (own.scale is None or max(abs(location), scale) > _LARGEST):
            enough = False
        uneven = {
            j: (one.location, one.others)
            for j, one in zip(searched, found, strict=False)
            if one.others > 0 and one.scale is not None
        }
        failed.pop_all()
    return FirstLook(seen, location, scale, enough, own, uneven, counts), session


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
    scale = clamp_to_safe_range(abs(one.location) or 1.0 if one.scale is None else one.scale)
    return (one.location, scale) if centred else (0.0, math.hypot(one.location, scale))
