"""A curve without public rows: where the rows lie, how they bend, and then the curve.

1. Location and scale of each covariate and of the response, from noisy counts of the values below points
   (`dpstats.column_search`). They give the range, and the bandwidth where none is stated.
2. A first curve about a constant, with a part of the total, tells a polynomial.
3. The curve about that polynomial has what is left.

All but the releases is computed from public and released numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpstats.accounting.privacy import Privacy
from dpstats.arguments import in_prose, listed, naming
from dpstats.arrays import Floats
from dpstats.call import Charged
from dpstats.column_search.releases import ColumnSession
from dpstats.column_search.scales import find_scales
from dpstats.column_search.search import ColumnScale
from dpstats.errors import ArgumentError, ErrorsWithoutTrace
from dpstats.frame import Design, curve_formula, formula_columns, private_design
from dpstats.frame.source import column_types
from dpstats.frame.table import Table
from dpstats.mechanism.noise import Noise
from dpstats.mechanism.passes import RowSource
from dpstats.models.eptr_nw.estimate import Smoothing, constant_centre
from dpstats.models.eptr_nw.fit import KernelFit, curve_of, finished, look
from dpstats.models.eptr_nw.notes import wide_note
from dpstats.models.eptr_nw.places import Places
from dpstats.models.eptr_nw.planning import ResidualCut, Window
from dpstats.models.eptr_nw.polynomial import find_centre
from dpstats.models.eptr_nw.public import (
    MOST_NODES,
    AskedPoints,
    CurveFit,
    CurveSetting,
    default_points,
    require_numbers,
    setting_of,
)
from dpstats.models.eptr_nw.releases import CURVE_MOVES, DENOMINATOR, KernelSession

_FIRST = 0.2
"""Share of the total for the first curve."""
_REACH = 8.0, 4.0
"""Scales to each side of its location that a covariate may reach, of one and of several: beyond eight
lie two rows of a hundred at most."""
_ASIDE = 0.3
"""Scales by which the first centre lies below the location: many rows may have just that value, and a
histogram of residuals does not count those that are zero."""
_BANDWIDTHS = 6
"""Bandwidths that all rows lie within, from where a default one is too wide for them."""
_OF_MARKS = 0.25
"""Bandwidth for a covariate of zeros and ones, which hardly mixes both."""
_MORE = 3.0
"""Bandwidths beyond those points where the first curve surely has rows, in which there may be some."""
_TRIED, _LARGEST = np.geomspace(0.1, 1.5, 28), 3.0
"""Bandwidths that are weighed, in scales; and standard deviations at which responses may be cut."""
_SURELY = 3.5
"""Standard deviations of noise from which a point has rows: where these lie is not known otherwise."""
_REST = 0.6  # share of the total that the last curve has at least
_PEAK = 0.7
"""Of all rows, what the kernel would see of normal ones at a typical point with a wide bandwidth."""


@dataclass(frozen=True)
class AloneTask:
    """What is asked of private rows alone; public.

    ``ranges``: those declared, by place among the covariates and then the response. ``sizes``: the
    bandwidths that were stated, if any.
    """

    design: Design
    ranges: Mapping[int, tuple[float, float]]
    sizes: Floats | None
    points: AskedPoints


def curve_design(charged: Charged, formula: str, limits: Mapping[str, Any] | None) -> Design:
    """The design of a curve from names and kinds of the private table's columns, and limits."""
    with ErrorsWithoutTrace():  # the frame holds the first rows of a function
        with naming("the private data"):
            table = column_types(charged.table)
            text = curve_formula(formula, table.names)
            _refuse_text(text, table)
            design = private_design(text, table, limits, releases_levels=False, numbers=True)
        require_numbers(design)
    return without_boxes(design)


def without_boxes(design: Design) -> Design:
    """The design of rows that are not moved to the end of a declared range where they lie beyond it."""
    return replace(design, boxes={})


def _refuse_text(formula: str, table: Table) -> None:
    """A kernel averages numbers over numbers: no levels that may be declared help."""
    for name in formula_columns(formula):
        if name in table.names and table.type_of(name).kind == "category":
            raise ArgumentError(
                f"`{name}` is a category; eptr_nw averages numbers over numbers. Fit a curve per level, "
                "code two levels as 0 and 1, or use dp_lm; for classes eptr_bayes."
            )


def curve_alone(rows: RowSource, task: AloneTask, total: Privacy, noise: Noise) -> KernelFit:
    """A curve from private rows alone."""
    d = len(task.design.terms) - 1
    with ColumnSession(rows, tuple(range(1, d + 1)), True, total, noise) as columns:
        used, found = find_scales(columns, d + 1, dict(task.ranges))
    n = min(max(used, 1.0), rows.n)
    fit = _first_fit(task, found, n, total.mu)
    notes = _notes(task, found, fit.smoothing.bandwidth)

    def setting(cut: ResidualCut, low: Floats, high: Floats) -> CurveSetting:
        smoothing = replace(fit.smoothing, radius=cut.radius, middle=cut.middle, slope=cut.slope)
        about = replace(fit, smoothing=smoothing, low=low, high=high)
        return setting_of(about, task.design, task.points, "gp", rows.n, chosen=task.sizes is None)

    whole = fit.low, fit.high
    uncut = setting(ResidualCut(0.0, _LARGEST * fit.sigma, 0.0, 1.0), *whole)
    with KernelSession(rows, uncut.plan, total, noise, after=columns) as session:
        residuals = look(session, fit.window, rows.n, fit.sigma)
    marks = found[d].mark
    residuals = residuals.of_marks() if marks else residuals

    def cut(noise_sd: float) -> ResidualCut:
        if marks:
            return ResidualCut(0.0, 1 + _ASIDE, 0.0, 1.0)
        return residuals.cut(noise_sd, DENOMINATOR)

    h = fit.smoothing.bandwidth
    near = _PEAK * n * float(np.prod(h / np.hypot(h, [_scale(one) for one in found[:d]])))
    sd = CURVE_MOVES / (total.mu * math.sqrt(_FIRST))
    first = setting(cut(sd / max(near, 1.0)), *whole)
    values, session = curve_of(rows, first, residuals, total, noise, session, _FIRST)
    places = Places.of(values, first)
    own = find_centre(values, first, places)
    if own is not None:
        near, plan = own.degree, replace(first.plan, centre=own.centre)
        if not marks:
            with KernelSession(rows, plan, total, noise, after=session) as session:
                about = look(session, Window.about(own.at_most), rows.n, own.at_most)
            if about.body()[1] < residuals.body()[1]:
                residuals = about
            else:  # as where it swings across a gap between rows
                own = None
    sd = CURVE_MOVES / (total.mu * math.sqrt(session.left_of_granted))
    last = setting(cut(sd / max(near, 1.0)), *_part_with_rows(fit, places.beside))
    last = last if own is None else own.put_in(last)
    values, session = curve_of(rows, last, residuals, total, noise, session)
    places = Places.of(values, last)
    among, beside = places.among, places.beside
    if len(among):
        # nothing is told of a range in which no row is seen
        last = replace(last, low=beside.min(axis=0), high=beside.max(axis=0))
        if last.default:
            shown = default_points(among.min(axis=0), among.max(axis=0), among)
            last = replace(last, shown=shown)
        if task.sizes is None and d == 1 and len(among) < _BANDWIDTHS:
            notes += wide_note(task.design.terms[1])
    values = replace(values, surely=_SURELY, told=last.centre)
    done = finished(values, last, tuple(session.releases), rows.n)
    return replace(done, outcome=replace(done.outcome, notes=notes + done.outcome.notes))


def _part_with_rows(fit: CurveFit, points: Floats) -> tuple[Floats, Floats]:
    """The part of a range in which rows were seen at some points, and somewhat more."""
    if not len(points):
        return fit.low, fit.high
    h = fit.smoothing.bandwidth
    low, high = (points.min(axis=0) - _MORE) * h, (points.max(axis=0) + _MORE) * h
    return np.maximum(low, fit.low), np.minimum(high, fit.high)


def _first_fit(task: AloneTask, found: list[ColumnScale], n: float, mu: float) -> CurveFit:
    """The range, a constant and bandwidths, from locations and scales."""
    place = np.array([one.location for one in found])
    scale = np.array([_scale(one) for one in found])
    for k, (least, most) in task.ranges.items():
        place[k] = min(max(place[k], least), most)
        scale[k] = min(scale[k], most - least)
    d = len(found) - 1
    marks = np.array([one.mark for one in found[:d]])
    reach = np.where(marks, 1.0, _REACH[d > 1] * scale[:d])
    low, high = place[:d] - reach, place[:d] + reach
    for k, (least, most) in task.ranges.items():
        if k < d:
            low[k], high[k] = max(low[k], least), min(high[k], most)
    # nodes are a bandwidth apart, in floats too
    least_size = (high - low) / max(int(MOST_NODES ** (1 / d)) - 1, 1)
    least_size *= 1 + 1e-9 + 2.0**-46 * np.maximum(np.abs(low), np.abs(high)) / (high - low)
    stated = task.sizes
    chosen = np.where(marks, _OF_MARKS, default_bandwidth(n, mu, d) * scale[:d])
    sizes = chosen if stated is None else stated
    sizes = np.maximum(sizes, least_size)
    smoothing = Smoothing(sizes, _LARGEST * scale[d], 1.0, 2.0, math.nan, math.nan)
    spread = float(scale[d])
    centre = constant_centre(float(place[d]) - _ASIDE * spread, d)
    return CurveFit(low, high, centre, smoothing, spread, spread, Window.about(spread))


def _notes(task: AloneTask, found: list[ColumnScale], sizes: Floats) -> tuple[str, ...]:
    """On columns that noise takes for constant, and on bandwidths that are not those stated."""
    names = [*task.design.terms[1:], str(task.design.response)]
    constant = [name for name, one in zip(names, found, strict=True) if one.scale is None]
    notes = []
    if constant:
        notes.append(
            f"As far as the noise shows, hardly any row of {listed(constant)} differs from one value: "
            "what the others would do to the curve is not seen, and intervals do not allow for it. "
            "More rows or a larger budget show them."
        )
    if task.sizes is not None:
        notes += [
            f"The bandwidth of `{name}` is {in_prose(size, 3)}, and not {in_prose(own, 3)}, which would "
            f"need more than {MOST_NODES} nodes where rows may be. Narrower limits allow it."
            for name, size, own in zip(names, sizes, task.sizes, strict=False)
            if size > own
        ]
    return tuple(notes)


def _scale(found: ColumnScale) -> float:
    """Of a column in which next to no row differs, and of marks, one."""
    return 1.0 if found.mark or found.scale is None else found.scale


def default_bandwidth(n: float, mu: float, d: int) -> float:
    """The bandwidth, in standard deviations of normal covariates, that noise and rows call for.

    A curve is taken to bend, beside its polynomial, by one standard deviation of the responses over one
    of the covariates; rows differ by one, and responses are cut at three.
    """
    sd = _LARGEST * CURVE_MOVES / (mu * math.sqrt(_REST))
    near = n * (_TRIED / np.hypot(_TRIED, 1.0)) ** d * _PEAK
    loss = _TRIED**4 / 4 + 1 / near + (sd / near) ** 2
    return float(_TRIED[np.argmin(loss)])
