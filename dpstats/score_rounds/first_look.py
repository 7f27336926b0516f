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
from numpy.typing import NDArray
from scipy import linalg

from dpstats.accounting.privacy import Privacy
from dpstats.accounting.unit import PrivacyUnit
from dpstats.arguments import in_prose, listed, rounded_up
from dpstats.arrays import Floats
from dpstats.column_search.releases import ColumnSession
from dpstats.column_search.scales import find_scales
from dpstats.column_search.search import ColumnScale
from dpstats.errors import ArgumentError, warn_at_call
from dpstats.frame import Design, PublicMoments, design_products
from dpstats.mechanism.noise import Noise
from dpstats.mechanism.passes import RowSource
from dpstats.mechanism.session import Session, clamp_to_safe_range
from dpstats.numerics.matrices import Curvature, quadratic_forms
from dpstats.report.released import Diagnostic
from dpstats.score_rounds.estimate import lie_in
from dpstats.score_rounds.levels import indicators
from dpstats.score_rounds.person_rows import PersonSource
from dpstats.score_rounds.releases import PersonCounts, ScoreSession
from dpstats.score_rounds.rounds import PERSONS, rows_of_each
from dpstats.score_rounds.rows import LeastSquares
from dpstats.score_rounds.whitening import Whitened, whiten

_TELLING, _SAME = 8, 1e-10
"""Public rows that tell a scale, and the relative variance from which a column differs in them."""
_AMPLE = 2.5
"""Times `least_budget`, from which a fit without public rows is about as good as one with others."""
_PLENTY = 4.0
"""Times `least_budget`, from which few public rows of a level are worth less than none."""
_FEW = 8
"""Public rows for a column, fewer than which hardly tell its coordinates."""
_LARGEST = 2.0**190
"""Size of responses for which cuts of scores, of at most 2^200, leave room."""
_SURELY, _HALF = 3.0, 0.5
_SEEN, _SEEN_BY_INFORMATION, _LITTLE = 4.0, 2.5, 0.4
"""Of what public rows have of a column: noise standard deviations and a share, below which these are no
guide; and the same below which nothing can be made of the column."""
_BY_CHANCE = 2.5
"""Noise standard deviations below what public rows have, which are no chance."""
_ENOUGH = 1.6
"""Times the least budget, from which fits of up to 100 levels all have errors."""


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


def least_budget(d: int) -> float:
    """n mu below which a fit of d columns from private rows alone would be noise.

    Examples
    --------
    >>> [round(least_budget(d)) for d in (2, 5, 10, 20)]
    [157, 324, 732, 1889]
    """
    return float(20 * d**1.5 + 100)


def suffices(n: float, d: int, mu: float) -> bool:
    """Whether n rows at mu are more than noise to a fit of d columns without public rows."""
    return n * mu >= least_budget(d)


def of_few(design: Design) -> NDArray[np.bool_]:
    """Which columns are those of few rows: of levels, of marks, and of what these multiply.

    A mark is a number that is known to be zero or one.
    """
    few = _levels_and_marks(design)
    found = [any(text in few for text, *_ in c.parts) for c in design.program]
    return np.array(found, dtype=np.bool_)


def effects_of_few(design: Design) -> NDArray[np.bool_]:
    """Which of these multiply nothing else: their coefficients do not depend on the unit of a column."""
    few = _levels_and_marks(design)
    found = [bool(c.parts) and all(text in few for text, *_ in c.parts) for c in design.program]
    return np.array(found, dtype=np.bool_)


def compared_with(design: Design, left_out: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Columns of levels that are compared with others of their factor which are ``left_out``.

    Their coefficients are differences from the reference and from these together, as if there were none.
    """
    coded = _coded(design)
    of = [coded.intersection(text for text, *_ in column.parts) for column in design.program]
    lost = set().union(*(of[j] for j in np.flatnonzero(left_out)))
    return np.array([bool(one & lost) for one in of], dtype=np.bool_) & ~left_out


def _coded(design: Design) -> set[str]:
    """Factors that have levels."""
    return {text for text, factor in design.factors.items() if factor.fields.coding is not None}


def _levels_and_marks(design: Design) -> set[str]:
    return _coded(design) | {name for name, spec in design.columns.items() if spec.mark}


def elsewhere(
    curvature: Curvature,
    back: Floats,
    design: Design,
    n: int,
    mu: float,
    m: int | None,
    *,
    few: bool,
) -> bool:
    """Whether private rows hardly vary in a direction in which m public ones do: these are no guide.

    Levels and marks, or what ``few`` public rows decide, may be rarer by chance, and where the total
    hardly suffices for a fit without public rows these are kept: then no doubt may be left. ``back``
    whitens the rows.
    """
    narrowest = curvature.narrowest
    basis = linalg.orth(np.linalg.inv(back) @ indicators(design))
    levels = float(((basis.T @ narrowest) ** 2).sum()) > _HALF
    levels |= bool(lie_in(back, narrowest[:, None], of_few(design))[0])
    scarce = n * mu < _AMPLE * least_budget(len(design.terms))
    if not few:
        share, sd = shares_of_numbers(curvature, back, design)
        if bool((share + _SURELY * sd < _HALF).any()):
            return True
    return curvature.narrow(m, surely=levels or few or scarce)


def shares_of_numbers(curvature: Curvature, back: Floats, design: Design) -> tuple[Floats, Floats]:
    """What private rows have of each column of numbers, beside a constant, and its noise.

    Over what rows have that ``back`` whitens, as much of them as of private ones: about 1, but where
    private rows have other units or are of another population. NaN for levels and marks, which may be
    rarer by chance, and for the constant.
    """
    root, few = np.linalg.inv(back), of_few(design)
    level = float(np.median(np.linalg.eigvalsh(curvature.used)))  # one direction may be far out
    own, usual = root, (root**2).sum(axis=0)
    if design.constant is not None:  # less the regression on it
        few[design.constant] = True
        one = root[:, design.constant]
        seen = curvature.released @ one
        own = root - np.outer(one, seen @ root / max(float(one @ seen), 1e-300))
        usual = usual - (one @ root) ** 2 / float(one @ one)
    usual = np.where(few, math.nan, level * np.maximum(usual, 1e-300))
    share = quadratic_forms(own.T, curvature.released) / usual
    return share, curvature.released_sd * (own**2).sum(axis=0) / usual


def hardly_seen(
    curvature: Curvature, back: Floats, design: Design, *, uneven: bool = False
) -> tuple[str, ...]:
    """Columns of numbers of which noise hides all that private rows have, while public rows have more.

    The public rows then say how much there is, and what they say is wrong: a column in other units is
    taken to vary by thousands of times as much as it does, and its coefficient to be known as well.
    ``uneven``: information may be uneven by itself, as that of rare outcomes is.
    """
    level = float(np.median(np.linalg.eigvalsh(curvature.used)))
    if _SURELY * curvature.released_sd > level:
        return ()  # noise hides all alike
    share, sd = shares_of_numbers(curvature, back, design)
    hidden = share < np.minimum((_SEEN_BY_INFORMATION if uneven else _SEEN) * sd, _LITTLE)
    # the noise where both are alike
    hidden &= share < 1 - _BY_CHANCE * curvature.released_sd / level
    for columns in _of_one_function(design):  # few rows are where one of a spline's is not zero
        hidden[columns] = hidden[columns].all()
    return tuple(term for term, one in zip(design.terms, hidden, strict=True) if one)


def _of_one_function(design: Design) -> list[list[int]]:
    """Columns of the design that are those of one spline, or of its products with one other factor."""
    found: dict[tuple[str, ...], list[int]] = {}
    for j, column in enumerate(design.program):
        found.setdefault(tuple(text for text, *_ in column.parts), []).append(j)
    return [columns for columns in found.values() if len(columns) > 1]


def few_rows_note(n: int, d: int, mu: float, persons: str | None) -> tuple[str, ...]:
    """A note on a fit that would be refused without its public rows; from public numbers."""
    if suffices(n, d, mu):
        return ()
    counted = "rows" if persons is None else "persons"
    return (
        f"{n} private {counted} are few for {d} columns at this budget (without public rows the call "
        "would be refused): intervals may miss. More rows, a larger budget, or fewer columns help.",
    )


def check_budget(
    n: int,
    d: int,
    mu: float,
    unit: PrivacyUnit,
    delta: float | None,
    least: float | None = None,
    public: PublicMoments | None = None,
) -> None:
    """Refuse, before a row is read, what without public rows would be little but noise.

    ``least`` is the smallest n mu that is not refused; by default `least_budget`, somewhat above which a
    warning says that a fit may give no errors. ``public``: rows that do not determine all columns.
    """
    warns, least = least is None, least_budget(d) if least is None else least
    if n * mu >= least:
        if warns and n * mu < _ENOUGH * least:
            warn_at_call(
                f"{n} private {unit.counted} at mu = {in_prose(mu * unit.times, 3)} are few for {d} "
                "columns without public rows: the fit may give no standard errors, above all if a "
                f"factor has many levels. {math.ceil(_ENOUGH * least / mu)} {unit.counted} would be "
                f"enough, or mu = {_at_least(_ENOUGH * least / n * unit.times, 2)}, fewer columns, or a "
                "public sample."
            )
        return
    enough = Privacy(least / n).for_group(unit.times)
    stated = (
        "" if delta is None else f" (epsilon = {_at_least(enough.epsilon(delta), 3)} at this delta)"
    )
    columns = "one column" if d == 1 else f"{d} columns"
    lacking, sample = "without public rows", "a public sample, public=frame"
    if public is not None:
        what = _not_shown(public)
        lacking = f"of which the {public.m} public rows do not determine all{what}"
        sample = "public rows that have what these lack"
    raise ArgumentError(
        f"{n} private {unit.counted} at mu = {in_prose(mu * unit.times, 3)} are too few for {columns} "
        f"{lacking}: the fit would be little but noise. mu = {_at_least(enough.mu, 3)}{stated} "
        f"would do, or {math.ceil(least / mu)} {unit.counted}, or fewer columns; or {sample}."
    )


def _at_least(size: float, digits: int) -> str:
    """A number that is still enough when it is typed."""
    return in_prose(rounded_up(size, digits), digits)


def _not_shown(public: PublicMoments) -> str:
    """The columns that are zero in every public row, in brackets."""
    names = [
        name for name, square in zip(public.terms, np.diag(public.gram), strict=True) if not square
    ]
    return f" (not one has {listed(names)})" if names else ""


def better_alone(public: PublicMoments, n: int, mu: float) -> bool:
    """Whether so few public rows tell less of generalised linear fits than private rows do.

    With fewer than eight for a column a first step from their coordinates may go astray. Private
    rows tell them well with a budget for which `check_budget` would not refuse them.
    """
    d = len(public.terms)
    return public.m is not None and public.m < _FEW * d and suffices(n, d, mu)


def too_thin(public: PublicMoments, n: int, mu: float) -> str | None:
    """A mark for which a generalised linear fit does without its public rows; None: there is none.

    Private rows must tell far more than all public ones, and have a budget that is ample without these.
    """
    plenty = n * mu > max(_PLENTY * least_budget(len(public.terms)), _FEW * (public.m or 0))
    return thin(public) if plenty else None


def thin(public: PublicMoments) -> str | None:
    """A mark with columns of its own, as a slope, of which fewer public rows than eight for each tell.

    Along these the few rows may hardly differ, so that the private rows of the mark are far out.
    """
    for mark, own, rows in public.columns_of_marks():
        if len(own) > 1 and rows < _FEW * len(own):
            return public.terms[mark]
    return None


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


def public_scales(public: PublicMoments) -> dict[int, ColumnScale]:
    """Locations and scales of the columns that differ in enough public rows.

    Of a mark with columns of its own, as a slope, as many for each: few may hardly differ there.
    """
    constant, square = public.design.constant, np.diag(public.gram)
    if public.m is None or public.m < _TELLING:
        return {}
    mean = np.zeros(len(square)) if constant is None else public.gram[constant]
    rows, least = np.full(len(square), float(public.m)), np.zeros(len(square))
    for _, own, seen in public.columns_of_marks():
        rows[own] = np.minimum(rows[own], seen)
        least[own] = np.maximum(least[own], _TELLING * len(own) if len(own) > 1 else 0)
    spread = np.sqrt(np.maximum(square - mean**2, 0.0))
    return {
        j: ColumnScale(float(mean[j]), float(spread[j]))
        for j in range(len(square))
        if spread[j] ** 2 > _SAME * square[j] and j != constant and rows[j] >= least[j]
    }


def few_public_line(public: PublicMoments) -> Diagnostic:
    """A line which says that public rows are few, and coordinates were found in private ones."""
    d = len(public.terms)
    few = f"few for {d} columns: what {_FEW * d} would tell was found in private rows"
    return Diagnostic("public rows", public.m, None, few)


def undetermined_note(public: PublicMoments) -> tuple[str, ...]:
    """A note that public rows do not determine all columns, with those whose size they do not show."""
    told = public_scales(public)
    lacking = [name for j, name in enumerate(public.terms) if j not in told and name != "Intercept"]
    sizes = f" They do not show the size of {listed(lacking)}." if lacking else ""
    return (
        f"The {public.m} public rows do not determine all {len(public.terms)} columns.{sizes} "
        "What they leave open was found in the private rows, as without public rows.",
    )


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
