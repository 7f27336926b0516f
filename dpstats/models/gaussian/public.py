"""Public points of a Gaussian fit: columns, centre, units and whitening."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from dpstats.arguments import (
    LARGEST,
    SMALLEST,
    listed,
    mapping,
    naming,
    number,
    require_sizes,
    shown,
)
from dpstats.arrays import Floats
from dpstats.errors import ArgumentError, PublicDataError
from dpstats.frame import Design, PublicMoments, check_columns, learn_design, points_formula
from dpstats.frame.source import public_table
from dpstats.numerics.matrices import Whitening, equivariant_whitening, symmetric_power
from dpstats.public_input import check_limits, public_rows

_SHOWN = 2000


@dataclass(frozen=True)
class PublicPoints:
    """Public rows as points, without those that cannot be used.

    Attributes
    ----------
    design : Design
        Its first column is the constant.
    x : (m, d) array
        In the user's units.
    dropped : int
    """

    design: Design
    x: Floats
    dropped: int
    own_units: Floats | None = None

    @property
    def m(self) -> int:
        return len(self.x)

    @property
    def terms(self) -> tuple[str, ...]:
        """The columns, without the constant."""
        return self.design.terms[1:]

    @property
    def formula(self) -> str:
        return self.design.formula

    @cached_property
    def origin(self) -> Floats:
        """The mean: where private rows are measured from."""
        return np.asarray(self.x.mean(axis=0))

    @cached_property
    def deviations(self) -> Floats:
        """Standard deviations; raises where the scale of a column is not known."""
        with np.errstate(all="ignore"):
            away = np.abs(self.x - self.origin)
            largest = np.where(away.max(axis=0) > 0, away.max(axis=0), 1.0)
            squares = ((away / largest) ** 2).sum(axis=0) / max(self.m - 1, 1)
            sizes = np.asarray(largest * np.sqrt(squares))
        flat = ~(sizes > 1e-13 * np.abs(self.x).max(axis=0))
        if flat.any():
            constant = [name for name, f in zip(self.terms, flat, strict=True) if f]
            raise PublicDataError(
                f"the column(s) {listed(constant)} are constant over the {self.m} public rows: their "
                "scale is not known. Add public rows in which they vary; or leave out the columns, or "
                "(of dp_mean and dp_mvnorm) public=: scales are then found in private rows."
            )
        fine = (sizes > SMALLEST) & (sizes < LARGEST) & (np.abs(self.origin) < 1e150)
        require_sizes(self.terms, fine)
        return sizes

    @property
    def units(self) -> Floats:
        """The units in which private rows are measured."""
        return self.deviations if self.own_units is None else self.own_units

    def measured_in(self, units: Floats) -> PublicPoints:
        """These points in other units."""
        return replace(self, own_units=units)

    def require_scales(self) -> None:
        """Raise where the scale of a column is not known."""
        _ = self.deviations

    @cached_property
    def measured(self) -> Floats:
        """The points as private rows come: from the origin, in units."""
        return (self.x - self.origin) / self.units

    @property
    def shown(self) -> Floats:
        """A few of the points, for plots."""
        return self.x[:_SHOWN]


def find_points(
    function: str,
    columns: str | Sequence[str],
    public: Any,
    limits: Mapping[str, Any] | None = None,
) -> PublicPoints:
    """Columns and points from a formula (or a list of columns) and a public table."""
    check_columns(columns)
    if public is None:
        raise PublicDataError(
            f"{function} starts from public rows: pass public=frame, a few rows of the same "
            "columns that may be shown to anybody, of the same population."
        )
    if isinstance(public, PublicMoments):
        raise PublicDataError(
            f"{function} takes public rows, a table of the same columns; moments are for dp_lm."
        )
    mapping("limits", limits, "{'g': ['a', 'b']}")
    with naming("the public data"):
        table = public_table(public)
        formula = points_formula(columns, table.names)
        design = learn_design(formula, public, limits=limits)
    check_limits(design, False, limits)
    x = public_rows(design, public).x[:, 1:]
    if not len(x):
        raise PublicDataError(f"none of the {table.n} public rows can be used by '{formula}'.")
    return PublicPoints(design, x, table.n - len(x))


def whiten(points: PublicPoints) -> Whitening:
    """Whitening of measured rows by the public covariance, ridged where rows are too few to know it.

    With more public rows than columns it follows every affine change of the columns, so that nothing
    of a fit depends on units, correlations or location. With fewer, half of the correlation matrix
    is replaced by the identity: then it follows changes of unit only.
    """
    if points.m > len(points.terms):
        _require_rank(points)
        return equivariant_whitening(points.measured)
    shape = 0.5 * points.measured.T @ points.measured / (points.m - 1) + 0.5 * np.eye(
        len(points.terms)
    )
    return Whitening(symmetric_power(shape, -0.5), symmetric_power(shape, 0.5))


def _require_rank(points: PublicPoints) -> None:
    _, singular, axes = np.linalg.svd(points.measured, full_matrices=False)
    lost = np.finfo(np.float64).eps * float((np.abs(points.x).max(axis=0) / points.units).max())
    null = singular < singular[0] * max(1e-11, 64 * lost)
    if null.any():
        loads = np.sqrt((axes[null] ** 2).sum(axis=0))
        involved = [name for name, s in zip(points.terms, loads, strict=True) if s > 1e-4]
        raise PublicDataError(
            f"the {points.m} public rows span {int((~null).sum())} of {len(points.terms)} "
            f"dimensions: the columns {listed(involved)} depend on each other there. Leave a "
            f"column such as '{involved[-1]}' out, or add public rows (duplicates do not count)."
        )


def check_gamma(gamma: float) -> None:
    distance = number(gamma)
    if distance is None or not 0 <= distance < 1:
        raise ArgumentError(
            "gamma is the total variation distance that public and private rows may have, from 0 "
            f"(one population) to below 1 (almost nothing in common), not {shown(gamma)}."
        )
