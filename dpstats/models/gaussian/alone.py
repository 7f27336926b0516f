"""Means and covariances of private rows of which nothing is known but how many there are.

`find_columns` releases where each column lies and how far it spreads (`dpstats.column_search`); rows are
then measured in these numbers, as they are in those of public rows where there are some. `mean_alone`
whitens them in rounds before their mean is released; `mvnorm_alone` goes on as with public rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpstats.accounting.privacy import Privacy, Total
from dpstats.arguments import listed, mapping, naming
from dpstats.arrays import Floats
from dpstats.call import Charged
from dpstats.column_search.releases import ColumnSession
from dpstats.column_search.scales import find_scales
from dpstats.errors import ArgumentError, ErrorsWithoutTrace, PublicDataError
from dpstats.frame import (
    Design,
    check_columns,
    design_products,
    listed_formula,
    points_formula,
    private_design,
)
from dpstats.frame.source import column_types
from dpstats.models.gaussian.cuts import NoiseLevel, whitening_update
from dpstats.models.gaussian.fit import (
    GaussianFit,
    drowned,
    fit_of_noise,
    plan_call,
    refined_gaussian,
    unused_notes,
)
from dpstats.models.gaussian.known_covariance import ROUGH, FixedCovariance
from dpstats.models.gaussian.marks import Marks, radius_with_marks, unseen_variance
from dpstats.models.gaussian.mean_cuts import first_radius, last_mean_cut
from dpstats.models.gaussian.mean_fit import SPREAD, TOLD_CUTS, last_mean, rows_of_mean
from dpstats.models.gaussian.mean_leaning import for_long_rows, left_for_mean
from dpstats.models.gaussian.mean_spread import Spread
from dpstats.models.gaussian.moments import (
    Cell,
    Moments,
    cell_at,
    hardly_any,
    leaning_line,
    moments_of,
    moved_by_cuts,
)
from dpstats.models.gaussian.releases import CellSession
from dpstats.models.gaussian.rounds import COARSE_LIFT, LEAST_RADIUS, cell_lengths, spread_of_rows
from dpstats.numerics.histogram import LogHistogram
from dpstats.numerics.matrices import Whitening, equilibrated_whitening
from dpstats.report.released import Diagnostic
from dpstats.score_rounds.least_budget import least_budget
from dpstats.score_rounds.notes import outside_note, row_causes, unseen_line
from dpstats.score_rounds.whitening import share_of_moments

_MOST_ROUNDS = 5
_LENGTHS, _LAST_LENGTHS = 0.01, 0.04
_STANDS_OUT = 0.25
"""Noise of second moments, in parts of the largest, with which another round still helps."""
_HIDDEN = 20.0
"""Rows times mu of a level, or of a value that was not seen, that may be: half of what noise hides."""
_NARROW = 0.3
"""Variance, where it should be 1, of a direction that stretching has not raised."""
LEAST_SHARE = 0.02
"""Least share of the total for a release of second moments."""


@dataclass(frozen=True)
class ColumnsToFind:
    """What is public of the columns before a row is read.

    Attributes
    ----------
    design : Design
        Its first column is the constant.
    searched : tuple of int
        Columns of the design whose location and scale are not known.
    known : dict
        Sizes of the other ones, by the formula: of levels and comparisons.
    boxes : dict
        Declared limits, by the place in ``searched``.
    """

    design: Design
    searched: tuple[int, ...]
    known: Mapping[int, float]
    boxes: dict[int, tuple[float, float]]

    @property
    def terms(self) -> tuple[str, ...]:
        """The columns, without the constant."""
        return self.design.terms[1:]


@dataclass(frozen=True)
class FoundColumns:
    """Where columns lie; released.

    Attributes
    ----------
    design : Design
        Of all columns; its first is the constant.
    terms : tuple of str
        The columns that were found.
    columns : tuple of int
        Of the design: those that were found.
    origin, units : (d,) arrays
        Of the columns that were found.
    marks : Marks or None
        Those of zeros and ones in which few rows differ, or may.
    m : int
        Public rows.
    """

    design: Design
    terms: tuple[str, ...]
    columns: tuple[int, ...]
    origin: Floats
    units: Floats
    marks: Marks | None = None
    m: int = 0

    @property
    def every(self) -> tuple[str, ...]:
        """All columns."""
        return self.design.terms[1:]


def written(columns: str | Sequence[str], limits: Mapping[str, Any] | None) -> str:
    """The columns as the call prints them; nothing of the data is touched."""
    check_columns(columns)
    mapping("limits", limits, "{'g': ['a', 'b']}")
    return columns if isinstance(columns, str) else listed_formula(columns)


def columns_to_find(
    charged: Charged, columns: str | Sequence[str], limits: Mapping[str, Any] | None
) -> ColumnsToFind:
    """From names and kinds of columns, and limits; of a stream rows are read for these."""
    with ErrorsWithoutTrace():  # the frame holds the first rows of a function
        with naming("the private data"):
            table = column_types(charged.table)
            formula = points_formula(columns, table.names)
            design = private_design(formula, table, limits, releases_levels=False, numbers=True)
        charged.check_limits(design, True, limits)
    known = design_products(design).known
    searched = tuple(j for j in range(1, len(design.terms)) if j not in known)
    boxes = {
        searched.index(j): design.boxes[name]
        for name, j in design.bare.items()
        if name in design.boxes and j in searched
    }
    return ColumnsToFind(design, searched, known, boxes)


def require_gaussian(function: str, total: Total) -> Privacy:
    """Refuse pure differential privacy, under which columns are not searched for."""
    if isinstance(total, Privacy):
        return total
    raise PublicDataError(
        f"{function} with epsilon alone (pure differential privacy) needs public rows: pass "
        "public=frame, a few rows of the same columns; or state delta= beside epsilon=, or mu=, "
        "with which private rows are enough."
    )


def refuse_public_options(
    function: str, method: str, gamma: float, covariance: Any = None, pool: bool = False
) -> None:
    """Arguments that speak of public rows, where there are none."""
    if method == "paper":
        raise PublicDataError(
            f"method='paper' of {function} starts from public rows: pass public=frame, or leave method= "
            "out."
        )
    if gamma > 0:
        raise ArgumentError("gamma= is how far public rows may be off; there are none.")
    if isinstance(covariance, str) and covariance == "public":
        raise PublicDataError(
            "covariance='public' needs public rows: pass public=frame, state the covariance, or leave "
            "covariance= out, which has it estimated."
        )
    if pool:
        raise ArgumentError("pool=True averages with public rows; there are none: pass public=.")


def least_for_mean(d: int) -> float:
    """n mu below which the columns of a mean would not be found.

    The search spends two fifths of the total at most, for 44 d counts: their noise is 10.5 sqrt(d) / mu,
    and a quarter of the rows stands 4.7 times as high.

    Examples
    --------
    >>> [round(least_for_mean(d)) for d in (1, 5, 20)]
    [200, 447, 894]
    """
    return 200.0 * math.sqrt(d)


def least_for_covariance(d: int) -> float:
    """n mu below which a covariance of d columns would be noise.

    Examples
    --------
    >>> [round(least_for_covariance(d)) for d in (1, 5, 20)]
    [200, 447, 1889]
    """
    return max(least_budget(d), least_for_mean(d))


def find_columns(
    session: ColumnSession, wanted: ColumnsToFind, sizes: Floats | None = None
) -> FoundColumns:
    """Locations and scales of the columns; ``sizes`` in place of the scales, where they are stated.

    Columns of which next to no row differs from one value, or that noise hides, are left out; with
    declared limits they are measured by these, from that value on.
    """
    d = len(wanted.design.terms)
    origin, units = np.zeros(d), np.full(d, math.nan)
    few, away, unseen = np.zeros(d), np.ones(d), np.zeros(d, dtype=np.bool_)
    hidden = min(_HIDDEN / (session.n * session.total.mu), 0.5)
    for j, size in wanted.known.items():
        units[j] = away[j] = size
        few[j], unseen[j] = hidden, True
    if wanted.searched:
        searched = find_scales(session, len(wanted.searched), wanted.boxes)[1]
        for k, (j, one) in enumerate(zip(wanted.searched, searched, strict=True)):
            origin[j], units[j] = one.location, one.unit
            few[j] = min(one.others, 0.5) if one.mark else 0.0
            if one.scale is None and k in wanted.boxes:
                origin[j], units[j] = _within(wanted.boxes[k], one.location)
                few[j], away[j], unseen[j] = hidden, units[j], True
    kept = tuple(j for j in range(1, d) if math.isfinite(units[j]))
    at = list(kept)
    if sizes is not None:
        units[1:] = sizes
    terms = tuple(wanted.design.terms[j] for j in kept)
    marked = np.flatnonzero(few[at])
    marks = None
    if marked.size:
        points = np.diag(away[at] / units[at])[marked]
        marks = Marks(tuple(int(k) for k in marked), points, few[at][marked], unseen[at][marked])
    return FoundColumns(wanted.design, terms, kept, origin[at], units[at], marks)


def _within(box: tuple[float, float], location: float) -> tuple[float, float]:
    """A location within limits, and how far from it a value may be; NaN where that is nothing.

    Examples
    --------
    >>> _within((0.0, 10.0), 12.0), _within((-1.0, 3.0), 0.0)
    ((10.0, 10.0), (0.0, 3.0))
    """
    low, high = box
    location = min(max(location, low), high)
    return location, max(high - location, location - low) or math.nan


def planned_start(wanted: ColumnsToFind) -> FoundColumns:
    """What a plan may take for granted before the search."""
    d = len(wanted.terms)
    every = tuple(range(1, d + 1))
    return FoundColumns(wanted.design, wanted.terms, every, np.zeros(d), np.ones(d))


# -- a mean -----------------------------------------------------------------------------------------


def mean_alone(
    session: CellSession, found: FoundColumns, known: FixedCovariance | None
) -> GaussianFit:
    """Rounds of whitening, and one cut and noisy mean.

    1. unless a covariance is stated, rows are whitened by their released second moments, again and again
       until all directions are seen;
    2. a histogram of lengths, and the second moments of whitened rows, say how rows vary;
    3. the mean takes what is left. Rows are cut where noise and what is cut off balance, and farther out
       where that costs next to nothing.
    """
    if not found.terms:
        return fit_of_noise(0, False)
    n, d = session.n, len(found.terms)
    if known is not None:
        at = [j - 1 for j in found.columns]
        known = replace(known, matrix=known.matrix[np.ix_(at, at)])
        shape = known.matrix / np.outer(found.units, found.units)
        cells, made = [cell_at(np.zeros(d), equilibrated_whitening(shape), float(n))], 0
    else:
        start = cell_at(np.zeros(d), Whitening(np.eye(d), np.eye(d)), float(n))
        cells, made = _whitened(session, start, found.marks)
    noise, marks = NoiseLevel(rho=session.total.rho), found.marks
    cell, lengths, seen = _spread(session, noise, cells, marks)
    cell = cell.moved(seen.mean, np.eye(d), np.eye(d))
    expected = None if marks is None else marks.loss_of_mean(cell)
    share = left_for_mean(session) * (1 - TOLD_CUTS)
    cut = last_mean_cut(noise, share, n, lengths, seen.variance, d, expected)
    radius = max(cut.radius, LEAST_RADIUS * math.sqrt(d))
    away = seen.mean_sd * math.sqrt(d)
    cell, lean = for_long_rows(session, cell, radius, lengths, seen.variance, away, marks, cut.most)
    released = last_mean(session, cell, radius, TOLD_CUTS, lean)
    root = cell.root * found.units
    unused = unused_notes(released.count, released.count_sd, n, d, row_causes(found.design, True))
    lost = drowned(released.sd)
    if lost or hardly_any(released.count, released.count_sd, d):
        return fit_of_noise(d, False, lost + unused)
    privacy = released.sd**2 * root.T @ root
    own, told = Spread.of(seen, found.units, cut, released, lengths, n), released.cut
    assert told is not None
    if known is None:
        matrix = own.covariance
        source = ROUGH
        sampling = own.sampling(released.n)
    else:
        matrix, source = known.matrix, known.source
        sampling = matrix / released.n + moved_by_cuts(matrix, own.mean_lost, own.lean)
    return GaussianFit(
        mean=found.origin + found.units * (cell.centre + cell.root.T @ released.mean),
        sampling=sampling,
        privacy=privacy,
        matrix=matrix,
        source=source,
        diagnostics=(
            Diagnostic("rounds", made, None, "of whitening before the mean"),
            *rows_of_mean(released, n),
            Diagnostic("radius", radius, None, "where rows were cut, in whitened units"),
            own.allowance(released),
            *leaning_line(found.terms, own.lean, sampling, privacy),
            *unseen_line(own.counts_sd),
        ),
        notes=(
            *(() if known is None else known.trusted),
            *own.notes,
            *unused,
            *outside_note(found.design, told.outside, told.sd),
        ),
    )


def _whitened(session: CellSession, cell: Cell, marks: Marks | None) -> tuple[list[Cell], int]:
    """Coordinates in which all directions are alike, as far as noise lets them be seen; and rounds.

    Where directions were stretched, the first coordinates that show most of them, `Update.unstretched`,
    come too; and alone, where some are hidden in the end.
    """
    n, d, made, resolved = session.n, cell.d, 0, False
    share = share_of_moments(n, d, session.total.mu)
    unit = NoiseLevel(rho=session.total.rho).coarse(share, n, d)
    before: list[tuple[int, Cell]] = []
    while made < _MOST_ROUNDS and not resolved:
        (lengths,) = cell_lengths(session, _LENGTHS, (), [cell])
        radius = radius_with_marks(marks, cell, first_radius(lengths, n, d), unit)
        lifted, _ = session.lifted(share, (), [cell.frame], [radius], COARSE_LIFT)
        made, seen = made + 1, moments_of(cell, lifted, 0, True)
        largest = float(np.linalg.eigvalsh(seen.spread)[-1])
        if seen.spread_sd * math.sqrt(2 * d) > _STANDS_OUT * largest:
            break
        spread = seen.spread + unseen_variance(marks, cell)
        update = whitening_update(spread, seen.spread_sd)
        resolved = update.resolved
        if not resolved:
            hidden, *sides = update.unstretched
            before.append((hidden, cell.moved(seen.mean, *sides)))
        cell = cell.moved(seen.mean, update.left, update.right)
    first = [min(before, key=lambda stage: stage[0])[1]] if before else []
    return ([cell, *first] if resolved else first or [cell]), made


def _spread(
    session: CellSession, noise: NoiseLevel, cells: Sequence[Cell], marks: Marks | None
) -> tuple[Cell, LogHistogram, Moments]:
    """How rows vary, and how long they are, in the coordinates in which a mean is known best.

    A direction that was stretched and is narrow all the same, is one in which few rows differ.
    """
    n, d = session.n, cells[0].d
    found = [cell_lengths(session, _LAST_LENGTHS, (), [cell])[0] for cell in cells]
    best = 0
    if len(cells) > 1:
        unit, errors = noise.vector(1.0, session.left, n, d), []
        for cell, lengths in zip(cells, found, strict=True):
            expected = None if marks is None else marks.loss_of_mean(cell)
            cut = last_mean_cut(noise, session.left, n, lengths, 1.0, d, expected)
            errors.append(math.hypot(unit * cut.radius, cut.lost))
        best = int(np.argmin(errors))
    seen = spread_of_rows(session, noise, SPREAD, cells[best], found[best], marks)
    if best < len(cells) - 1 and np.linalg.eigvalsh(seen.spread)[0] <= _NARROW:
        best += 1
        seen = spread_of_rows(session, noise, SPREAD, cells[best], found[best], marks)
    return cells[best], found[best], seen


# -- a mean and a covariance ------------------------------------------------------------------------


def mvnorm_alone(
    session: CellSession, found: FoundColumns, cond: float | None, eta: float
) -> GaussianFit:
    """Private re-whitening from scales alone, with what is left of the total."""
    if not found.terms:
        return fit_of_noise(0, True)
    d = len(found.terms)
    left = require_gaussian("dp_mvnorm", session.total)
    plan = plan_call(found, session.n, left, "refined", 0.0, cond, False, eta)
    whitening = Whitening(np.eye(d), np.eye(d))
    return refined_gaussian(session, found, whitening, plan, marks=found.marks)


# -- columns that were not found --------------------------------------------------------------------


def with_all_columns(fit: GaussianFit, found: FoundColumns) -> GaussianFit:
    """The fit with NaN for columns that were not found, which a note names."""
    if found.terms == found.every:
        return fit
    at = np.array([j - 1 for j in found.columns], dtype=np.intp)
    d = len(found.every)

    def whole(matrix: Floats) -> Floats:
        out = np.full((d, d), math.nan)
        out[np.ix_(at, at)] = matrix
        return out

    mean = np.full(d, math.nan)
    mean[at] = fit.mean
    lost = listed([term for term in found.every if term not in found.terms], "`", 6)
    note = (
        f"As far as the noise shows, hardly any row of {lost} differs from "
        "one value: nothing is estimated there (NaN). More rows or budget, declared levels or "
        "limits=, or a public sample help."
    )
    noise = fit.noise
    return replace(
        fit,
        mean=mean,
        sampling=whole(fit.sampling),
        privacy=whole(fit.privacy),
        matrix=whole(fit.matrix),
        noise=None if noise is None else replace(noise, shape=whole(noise.shape)),
        notes=(*fit.notes, note),
    )
