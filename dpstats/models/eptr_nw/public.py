"""The public part of a curve: its range, the fit that private rows correct, bandwidths and nodes.

Nothing here sees a private value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from dpstats.arguments import naming, numbers, positive
from dpstats.arrays import Floats
from dpstats.errors import ArgumentError, PublicDataError
from dpstats.frame import (
    Design,
    PublicMoments,
    curve_formula,
    declare_design,
    design_matrix,
    learn_design,
)
from dpstats.frame.formula.evaluate import RISING
from dpstats.frame.source import public_table
from dpstats.models.eptr_nw.estimate import (
    PolynomialCentre,
    Smoothing,
    centre_doubt,
    choose_centre,
    choose_smoothing,
    constant_centre,
    grid_axes,
    least_bandwidth,
    product_of,
    scattered_nodes,
)
from dpstats.models.eptr_nw.planning import ResidualCut, Window
from dpstats.models.eptr_nw.rows import KernelPlan, kernel
from dpstats.public_input import public_rows

MOST_NODES = 2000
_FLAT = 1e-12
"""Range of public responses, over their size, below which they are all alike."""
_LARGEST = 1e60  # of a response, whose fourth power is computed
_STEP, _SCATTER = 1.0, 1.3  # of nodes, in bandwidths
_FEW = 300
"""Public rows, of which fewer may not show the bends of a curve."""
_VERY_FEW, _WIDE, _HARDLY_ANY = 60, 1.0, 0.6
"""Bandwidth over the standard deviation of a covariate, from which it may flatten bends: where few
public rows have chosen it, and where fewer than ``_VERY_FEW`` have."""
_SHOWN_POINTS, _SHOWN_LINE, _SHOWN_SIDE = 500, 101, 21


@dataclass(frozen=True)
class CurveSetting:
    """Public, or computed from releases: everything that is decided before the curve is released.

    ``residual``: left-out ones of public rows. ``cover``: points (k, d) about a bandwidth apart, and
    the part of a cell that each stands for. ``default``: whether the points shown are those of no
    ``at=``. ``narrow``: covariates whose values lie farther apart than their bandwidth reaches;
    ``wide``: those of which few public rows have chosen one as wide as they spread.
    ``exact``: whether the public fit is some public response to the last digit.
    ``varied``: public responses that are not the most frequent one. ``values``: how many different
    ones there are.
    """

    smoothing: Smoothing
    chosen: bool
    centre: PolynomialCentre
    low: Floats
    high: Floats
    nodes: Floats
    axes: tuple[Floats, ...] | None
    shown: Floats
    sigma: float
    doubt: float
    public: Floats | None
    m: int | None
    expected: Floats | None
    cover: tuple[Floats, Floats]
    window: Window
    default: bool
    narrow: tuple[str, ...]
    wide: tuple[str, ...]
    residual: Floats | None
    exact: bool
    varied: int | None
    values: int | None

    @property
    def plan(self) -> KernelPlan:
        return KernelPlan(
            self.smoothing.bandwidth,
            self.low,
            self.high,
            self.nodes,
            self.centre,
            self.smoothing.radius,
            middle=self.smoothing.middle,
        )


def find_design(formula: str, public: Any, limits: Mapping[str, Any] | None) -> Design:
    if isinstance(public, PublicMoments):
        raise PublicDataError(
            "eptr_nw takes its range from public rows, not from moments: public=frame."
        )
    if public is None:
        design = declare_design(curve_formula(formula, tuple(limits or {})), limits or {})
    else:
        with naming("the public data"):
            text = curve_formula(formula, public_table(public).names)
            design = learn_design(text, public, limits=limits)
    require_numbers(design)
    return design


def require_numbers(design: Design) -> None:
    """A kernel averages numbers over numbers."""
    if design.response_kind == "category":
        raise ArgumentError(
            f"the response `{design.response}` is a category; eptr_nw averages numbers. For classes use "
            "eptr_bayes, for a yes/no response code it as 0 and 1."
        )
    for column in design.program[1:]:
        if len(column.parts) != 1 or design.factors[column.parts[0][0]].fields.coding is not None:
            raise ArgumentError(
                f"the column '{column.name}' is a category or an interaction; eptr_nw smooths over "
                "numbers. Fit a curve per level, or use dp_lm."
            )


def find_bandwidths(bandwidth: Any, names: tuple[str, ...]) -> Floats | None:
    """The bandwidths that were stated, one for each covariate; None where they are to be chosen."""
    if bandwidth is None:
        return None
    if isinstance(bandwidth, Mapping | pd.Series):
        given = dict(bandwidth)
        missing = [name for name in names if name not in given]
        other = [name for name in given if name not in names]
        if missing or other:
            raise ArgumentError(
                f"bandwidth must have one entry for each of {', '.join(names)}"
                + (f"; missing: {', '.join(missing)}" if missing else "")
                + (f"; unknown: {', '.join(map(str, other))}." if other else ".")
            )
        return np.array([positive(f"bandwidth['{n}']", given[n]) for n in names])
    if isinstance(bandwidth, list | tuple) or np.ndim(bandwidth) > 0:
        if len(bandwidth) != len(names):
            raise ArgumentError(f"bandwidth must have one entry for each of {', '.join(names)}.")
        return np.array([positive("bandwidth", h) for h in bandwidth])
    return np.full(len(names), positive("bandwidth", bandwidth))


@dataclass(frozen=True)
class CurveFit:
    """Range, centre and smoothing in the covariates' units, and the public rows behind them, if any.

    ``doubt``: standard error of the public fit where no private row corrects it.
    """

    low: Floats
    high: Floats
    centre: PolynomialCentre
    smoothing: Smoothing
    sigma: float
    doubt: float
    window: Window
    x: Floats | None = None
    y: Floats | None = None
    residual: Floats | None = None


AskedPoints = tuple[Floats | None, tuple[Floats, ...] | None]
"""The points of ``at=``, and their axes where they are a grid."""
CutAt = Callable[[float], ResidualCut]
"""The cut of residuals where a local mean has noise of so many R."""


def _declared_fit(
    design: Design, limits: Mapping[str, Any], sizes: Floats | None, method: str
) -> CurveFit:
    low, high, middle, half = _declared_box(design, limits)
    if sizes is None:
        raise ArgumentError(
            f"method='{method}' without public rows needs bandwidth=, in the covariates' units, such as "
            "a tenth of the range where most rows are expected."
        )
    centre = constant_centre(0.0 if method == "paper" else middle, len(low))
    radius = abs(middle) + half if method == "paper" else half
    smoothing = Smoothing(sizes, radius, 1.0, 2.0, math.nan, math.nan)
    return CurveFit(low, high, centre, smoothing, half, half, Window.about(half))


def _usable_rows(design: Design, public: Any) -> tuple[Floats, Floats]:
    """Covariates and responses of public rows that can give a range and a bandwidth."""
    usable = public_rows(design, public)
    x, y, m = usable.x[:, 1:], usable.y, len(usable.y)
    names = ", ".join(design.terms[1:])
    if m < 20:
        raise PublicDataError(
            f"{m} usable public rows are too few for the range and bandwidth of a curve: give 20 "
            "or more, or declare limits and bandwidth."
        )
    if not np.abs(y).max() < _LARGEST:
        raise PublicDataError(
            f"the public response `{design.response}` is too large for double precision: change "
            "its unit."
        )
    if not y.max() - y.min() > _FLAT * np.abs(y).max():
        raise PublicDataError(
            f"the response `{design.response}` is {y[0]:.4g} in all {m} public rows: nothing tells how "
            "far private ones lie from it. Give public rows in which it varies; or none: its "
            "scale is then found in private rows."
        )
    width = x.max(axis=0) - x.min(axis=0)
    flat = [name for name, size in zip(design.terms[1:], width, strict=True) if not size > 0]
    if flat:
        raise PublicDataError(
            f"the public rows do not vary in {', '.join(flat)}: give rows that do, or leave it "
            "out of the formula."
        )
    if not (width > 1 / _LARGEST).all() or not (np.abs(x) < _LARGEST).all():
        raise PublicDataError(
            f"the range of {names} in the public rows is too large or too small for double "
            "precision: change the unit."
        )
    return x, y


def _public_fit(
    design: Design,
    public: Any,
    sizes: Floats | None,
    method: str,
    n: int,
    noise: float,
    cut_at: CutAt | None,
) -> CurveFit:
    x, y = _usable_rows(design, public)
    low, high = x.min(axis=0), x.max(axis=0)
    centre, residual = choose_centre(np.ascontiguousarray(x.T), y, low, high)
    if method == "paper":
        centre, residual = constant_centre(0.0, len(low)), y

    def feasible(h: Floats) -> bool:
        return _feasible(x, low, high, h)

    spread = centre_doubt(centre, residual, low, high)
    smoothing = choose_smoothing(x, residual, n, noise, sizes, feasible, spread, cut_at)
    if method == "paper":
        radius = 1.1 * max(float(np.abs(y).max()), 1e-12)
        smoothing = replace(smoothing, radius=radius, slope=1.0)
    sigma = math.sqrt(float((residual**2).mean()))
    doubt = math.sqrt(max(sigma**2 - smoothing.floor, 0.0) + spread[0])
    typical = float(np.quantile(np.abs(residual), 0.9)) or max(sigma, 1e-12)
    window = Window.about(typical)
    return CurveFit(low, high, centre, smoothing, sigma, doubt, window, x, y, residual)


def find_setting(
    design: Design,
    public: Any,
    limits: Mapping[str, Any],
    sizes: Floats | None,
    at: Any,
    method: str,
    n: int,
    noise: float,
    cut_at: CutAt | None = None,
) -> CurveSetting:
    """The setting of a call, or with ``cut_at`` of a release after a look at the residuals."""
    if method == "paper" and at is None:
        raise ArgumentError(
            "method='paper' answers one point: name it, at=[0.5]. For a curve use method='gp'."
        )
    points = find_points(at, design)
    if public is None:
        fit = _declared_fit(design, limits, sizes, method)
    else:
        fit = _public_fit(design, public, sizes, method, n, noise, cut_at)
    return setting_of(fit, design, points, method, n, chosen=public is not None and sizes is None)


def setting_of(
    fit: CurveFit, design: Design, asked: AskedPoints, method: str, n: int, *, chosen: bool
) -> CurveSetting:
    """Nodes, points to be shown, and the cover of the range, for a fit in the covariates' units."""
    points, axes = asked
    smoothing, x, y = fit.smoothing, fit.x, fit.y
    h = smoothing.bandwidth
    low, high = fit.low / h, fit.high / h
    if axes is not None:
        axes = tuple(
            np.unique(np.clip(axis / w, a, b))
            for axis, w, a, b in zip(axes, h, low, high, strict=True)
        )
    requested: Floats | None = None
    exact = False  # where the fit is cut to the range of responses it may be one
    if x is not None and y is not None:
        exact = bool((fit.centre(np.ascontiguousarray(x.T)) == y).any())
    held = None if y is None else np.unique(y, return_counts=True)[1]
    if points is not None:
        requested = np.clip(points / h, low, high) if axes is None else product_of(axes)
    nodes, node_axes = _nodes(method, x, low, high, h, requested, axes)
    shown = default_points(low, high, nodes) if points is None else points / h
    expected, rows, m = None, None, None
    if x is not None and y is not None:
        m = len(y)
        k = kernel(nodes, np.ascontiguousarray((x / h).T))
        spread = 2 * np.sqrt((k**2).sum(axis=1))
        expected = 0.8 * n / m * np.maximum(k.sum(axis=1) - spread, 0.0)
        kept = np.linspace(0, m - 1, min(m, _SHOWN_POINTS)).astype(int)
        rows = np.column_stack([x[kept], y[kept]])
    return CurveSetting(
        smoothing=smoothing,
        chosen=chosen,
        centre=fit.centre.rescaled(h),
        low=low,
        high=high,
        nodes=nodes,
        axes=node_axes,
        shown=shown,
        sigma=fit.sigma,
        doubt=fit.doubt,
        public=rows,
        m=m,
        expected=expected,
        cover=_cover(x, low, high, h),
        window=fit.window,
        default=points is None,
        narrow=() if x is None else _narrow(design.terms[1:], x, h),
        wide=() if x is None or not chosen else _wide(design.terms[1:], x, h),
        residual=fit.residual,
        exact=exact,
        varied=None if held is None else int(held.sum() - held.max()),
        values=None if held is None else len(held),
    )


def _narrow(names: tuple[str, ...], x: Floats, h: Floats) -> tuple[str, ...]:
    least = least_bandwidth(x)
    return tuple(n for n, own, gap in zip(names, h, least, strict=True) if own < gap)


def _wide(names: tuple[str, ...], x: Floats, h: Floats) -> tuple[str, ...]:
    if len(x) >= _FEW:
        return ()
    most = (_HARDLY_ANY if len(x) < _VERY_FEW else _WIDE) * x.std(axis=0)
    return tuple(n for n, own, wide in zip(names, h, most, strict=True) if own >= wide)


def default_points(low: Floats, high: Floats, nodes: Floats) -> Floats:
    """A grid over the range, in one or two dimensions; else some of the nodes."""
    if len(low) > 2:
        kept = np.linspace(0, len(nodes) - 1, min(len(nodes), _SHOWN_POINTS)).astype(int)
        return np.asarray(nodes[kept])
    count = _SHOWN_LINE if len(low) == 1 else _SHOWN_SIDE
    return product_of([np.linspace(a, b, count) for a, b in zip(low, high, strict=True)])


def _declared_box(design: Design, limits: Mapping[str, Any]) -> tuple[Floats, Floats, float, float]:
    """The box of declared limits, and the middle and half width of the response's range."""
    ranges = [
        _declared_range(f"'{term}'", expr, limits)
        for term, expr in zip(design.terms[1:], _covariates(design), strict=True)
    ]
    assert design.response_factor is not None
    low, high = _declared_range("the response", design.response_factor, limits)
    if not low < high:
        name = design.response_factor.columns[0]
        raise ArgumentError(f"limits[{name!r}] must be (low, high) with low < high.")
    box = np.array(ranges, dtype=np.float64)
    return box[:, 0], box[:, 1], (low + high) / 2, (high - low) / 2


def _covariates(design: Design) -> list[Any]:
    """What each covariate is made of, as parsed."""
    return [design.factors[column.parts[0][0]].expr for column in design.program[1:]]


def declared_ranges(design: Design, limits: Mapping[str, Any]) -> dict[int, tuple[float, float]]:
    """By place, the ranges of those covariates, and then the response, of which limits tell one."""
    assert design.response_factor is not None
    found, used = {}, set()
    told = [*(f"'{term}'" for term in design.terms[1:]), "the response"]
    made = [*_covariates(design), design.response_factor]
    for k, (what, expr) in enumerate(zip(told, made, strict=True)):
        column = expr
        while column.op in RISING and len(column.args) == 1:
            (column,) = column.args
        name = str(column.value)
        if column.op == "column" and isinstance(limits.get(name), tuple):
            found[k] = _declared_range(what, expr, limits)
            used.add(name)
            if not found[k][0] < found[k][1]:
                raise ArgumentError(f"limits[{name!r}] must be (low, high) with low < high.")
    for name in design.columns:
        if isinstance(limits.get(name), tuple) and name not in used:
            raise ArgumentError(
                f"limits[{name!r}] has no effect here: a range is for a column as it is, or for "
                f"{', '.join(RISING)} of it. Leave it out: a curve needs none."
            )
    return found


def _declared_range(what: str, expr: Any, limits: Mapping[str, Any]) -> tuple[float, float]:
    """Of a column, or of rising functions of one: from the limits of the column.

    ``expr``: the response or a factor, as parsed.
    """
    calls = []
    while expr.op in RISING and len(expr.args) == 1:
        calls.append(RISING[expr.op])
        (expr,) = expr.args
    if expr.op != "column":
        raise ArgumentError(
            f"{what} without public rows may be a column, or {', '.join(RISING)} of one, whose "
            "declared range tells its own: make other columns in the data, before the call."
        )
    name = str(expr.value)
    limit = limits.get(name)
    if not isinstance(limit, tuple):
        raise ArgumentError(f"{what} needs a declared range: limits={{{name!r}: (1, 10)}}.")
    ends = []
    for end in map(float, limit):
        value = end
        with np.errstate(all="ignore"):
            for call in reversed(calls):
                value = float(call(value))
        if not math.isfinite(value):
            raise ArgumentError(
                f"{what} has no finite value at {end:g}: limits[{name!r}] must end where it has."
            )
        ends.append(value)
    return ends[0], ends[1]


def find_points(at: Any, design: Design) -> AskedPoints:
    """The points of ``at=`` in the design's units, and their axes when they are a grid."""
    if at is None:
        return None, None
    names = design.terms[1:]
    axes = None
    if isinstance(at, Mapping) and not isinstance(at, pd.DataFrame):
        if sorted(map(str, at)) != sorted(names):
            raise ArgumentError(f"at= must have an axis for each of {', '.join(names)}.")
        axes = tuple(np.unique(_numbers(at[name])) for name in names)
        _check_count(math.prod(len(axis) for axis in axes))
        points = product_of(axes)
    elif hasattr(at, "columns") or (
        hasattr(at, "__arrow_c_stream__") and not isinstance(at, pd.Series)
    ):
        with naming("at="):
            points = design_matrix(design, at)[0][:, 1:]
    else:
        points = _numbers(at)
        if points.ndim == 1:
            points = points[:, None] if len(names) == 1 else points[None, :]
        if points.ndim != 2 or points.shape[1] != len(names):
            raise ArgumentError(
                f"at= has the shape {points.shape}; one column for each of {', '.join(names)} is "
                "needed."
            )
    if len(names) == 1:
        axes = (np.unique(points[:, 0]),)
    _check_count(len(points))
    if not np.isfinite(points).all():
        raise ArgumentError("at= holds values that are missing or not finite.")
    return points, axes


def _numbers(values: Any) -> Floats:
    array = numbers(values)
    if array is None:
        raise ArgumentError(
            "at= must be a table with the covariates, an array of points, or a mapping to axes."
        )
    return np.atleast_1d(array)


def _check_count(count: int) -> None:
    if count < 1:
        raise ArgumentError("at= holds no point.")
    if count > MOST_NODES:
        raise ArgumentError(
            f"at= has {count} points; a release has {MOST_NODES} at most. Leave at= out, or thin it: "
            "predict(newdata) answers any number of points from the same release, free."
        )


def _feasible(x: Floats, low: Floats, high: Floats, h: Floats) -> bool:
    """Whether nodes a bandwidth apart cover the public range (or, in 3-d and above, most of it)."""
    if grid_axes(low / h, high / h, _STEP, MOST_NODES) is not None:
        return True
    if x.shape[1] < 3:
        return False
    scaled = np.ascontiguousarray((x / h).T)
    nodes = scattered_nodes(scaled, low / h, high / h, _SCATTER, 4 * MOST_NODES)
    return len(nodes) <= MOST_NODES


def _cover(x: Floats | None, low: Floats, high: Floats, h: Floats) -> tuple[Floats, Floats]:
    """A grid over the range, the cells of whose edges are halves, or in 3-d points where rows lie."""
    axes = grid_axes(low, high, _STEP, MOST_NODES)
    if axes is None:
        if x is None or len(low) < 3:
            return np.empty((0, len(low))), np.empty(0)
        points = scattered_nodes(np.ascontiguousarray((x / h).T), low, high, _SCATTER, MOST_NODES)
        return points, np.ones(len(points))
    parts = []
    for axis in axes:
        part = np.ones(len(axis))
        if len(axis) > 1:
            part[[0, -1]] = 0.5
        parts.append(part)
    return product_of(axes), product_of(parts).prod(axis=1)


def _nodes(
    method: str,
    x: Floats | None,
    low: Floats,
    high: Floats,
    h: Floats,
    points: Floats | None,
    axes: tuple[Floats, ...] | None,
) -> tuple[Floats, tuple[Floats, ...] | None]:
    """Nodes of the release: those asked for, or a cover of the range; for sums both."""
    if points is not None and method != "gp":
        return points, axes
    cover_axes = grid_axes(low, high, _STEP, MOST_NODES)
    if cover_axes is not None:
        cover = product_of(cover_axes)
    elif x is not None and len(low) >= 3:
        cover = scattered_nodes(np.ascontiguousarray((x / h).T), low, high, _SCATTER, MOST_NODES)
    else:
        raise ArgumentError(
            f"nodes one bandwidth apart would be more than {MOST_NODES} over this range: raise the "
            "bandwidth or narrow the range."
        )
    if points is None:
        return cover, cover_axes
    room = max(MOST_NODES - len(points), 0)
    return np.concatenate([points, cover[:room]]), None
