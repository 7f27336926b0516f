"""The covariance that a mean is estimated with: stated, or that of public rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from dpstats.arguments import LARGEST, SMALLEST, numbers, shown
from dpstats.arrays import Floats
from dpstats.errors import ArgumentError, PublicDataError
from dpstats.models.gaussian.moments import Cell, cell_at
from dpstats.models.gaussian.public import PublicPoints
from dpstats.numerics.matrices import Whitening, equilibrated_whitening

LEAST_FOR_SCALES = 3
"""Public rows that tell standard deviations."""


ROUGH = "private rows, rough: dp_mvnorm has one to quote"
"""Where a covariance comes from that is released before the mean, to cut rows by."""


@dataclass(frozen=True)
class FixedCovariance:
    """The covariance that a mean is estimated with.

    Attributes
    ----------
    name : str
        As the call shows it.
    source : str
        As the summary shows it.
    matrix : (d, d) array
        In the user's units.
    stated : bool
        Whether it was stated, so that radii follow from it; else they are estimated privately.
    assumed : bool
        Whether it is taken for granted because nothing tells it.
    """

    name: str
    source: str
    matrix: Floats
    stated: bool
    assumed: bool = False

    @property
    def noun(self) -> str:
        return self.source if " of " in self.source else "covariance of the public rows"

    @property
    def units(self) -> Floats:
        """Standard deviations: what private rows are measured in."""
        return np.sqrt(np.diag(self.matrix))

    @property
    def whitening(self) -> Whitening:
        """The whitening of rows that are measured in `units`."""
        return equilibrated_whitening(self.matrix / np.outer(self.units, self.units))

    @property
    def trusted(self) -> tuple[str, ...]:
        """A note where errors are those of a covariance that was stated."""
        if not self.stated or self.assumed:
            return ()
        return (
            "Standard errors, intervals and bounds take the covariance of the call as true: those of "
            "private rows that vary more are larger.",
        )

    def start(self, n: int) -> Cell:
        """The public mean and this whitening, from which every method starts."""
        return cell_at(np.zeros(len(self.matrix)), self.whitening, float(n))


def covariance_name(covariance: Any) -> str | None:
    """What the call prints of a covariance that speaks of no public row."""
    return covariance if covariance is None or isinstance(covariance, str) else "stated"


def stated_covariance(terms: tuple[str, ...], covariance: Any) -> FixedCovariance:
    """A covariance that speaks of no public row."""
    if isinstance(covariance, str):
        if covariance == "identity":
            matrix = np.eye(len(terms))
            return FixedCovariance("identity", "identity: unit variances", matrix, True)
        raise ArgumentError(
            "covariance must be 'identity', 'public', standard deviations (a number or one "
            f"per column) or a matrix, not {shown(covariance)}."
        )
    return FixedCovariance("stated", "stated in the call", _stated(terms, covariance), True)


def no_scales(known: FixedCovariance, m: int) -> tuple[str, ...]:
    """A note, before rows are read, that unit variances are assumed since public rows show no scales."""
    if not known.assumed:
        return ()
    few = "one public row tells" if m == 1 else f"{m} public rows tell"
    return (
        f"{few} no scale: unit variances are assumed. State covariance=, as standard deviations or "
        f"'identity'; or pass {LEAST_FOR_SCALES} public rows or more; or none: scales are then found in "
        "private rows.",
    )


def known_covariance(points: PublicPoints, covariance: Any) -> FixedCovariance:
    """The covariance that the argument ``covariance`` of dp_mean stands for."""
    d, m = len(points.terms), points.m
    if covariance is None:
        if m >= 2 * d + 2:
            covariance = "public"
        elif m >= LEAST_FOR_SCALES:
            matrix = np.diag(points.units**2)
            return FixedCovariance(
                "public", "standard deviations of the public rows", matrix, False
            )
        else:
            return replace(stated_covariance(points.terms, "identity"), assumed=True)
    if isinstance(covariance, str) and covariance == "public":
        if m < d + 2:
            raise PublicDataError(
                f"covariance='public' needs {d + 2} public rows or more for {d} columns; there "
                f"are {m}. State it (standard deviations, or a matrix), or leave covariance= out."
            )
        matrix = np.cov(points.measured, rowvar=False).reshape(d, d)
        values = np.linalg.eigvalsh(matrix)
        if values[0] < 1e-12 * values[-1]:
            raise PublicDataError(
                "the public rows lie in fewer dimensions than there are columns: a column depends "
                "on the others, or rows are repeated. Leave one out, or state the covariance."
            )
        return FixedCovariance(
            "public", "public rows", matrix * np.outer(points.units, points.units), False
        )
    return stated_covariance(points.terms, covariance)


def _stated(terms: tuple[str, ...], given: Any) -> Floats:
    d = len(terms)
    if isinstance(given, bool):
        raise ArgumentError(
            "covariance must hold standard deviations or a matrix, such as covariance=[1.0, "
            "2.5], not a bool."
        )
    if isinstance(given, Mapping):
        given = pd.Series(given, dtype=object)
    if isinstance(given, pd.Series | pd.DataFrame):
        for labels in given.axes:
            if sorted(map(str, labels)) != sorted(terms):
                raise ArgumentError(
                    f"covariance must be labelled with the columns {', '.join(terms)}."
                )
        given = given.loc[list(terms)] if given.ndim == 1 else given.loc[list(terms), list(terms)]
    values = numbers(given)
    if values is None:
        raise ArgumentError("covariance must hold numbers, such as covariance=[1.0, 2.5].")
    if values.shape not in ((), (d,), (d, d)) or not np.isfinite(values).all():
        raise ArgumentError(
            f"covariance must be a number, {d} standard deviations or a {d} x {d} matrix, all "
            f"finite; its shape is {values.shape}."
        )
    if values.ndim < 2:
        sizes = np.broadcast_to(values, d)
        if not (sizes > SMALLEST).all() or not (sizes < LARGEST).all():
            raise ArgumentError("covariance= holds standard deviations: positive numbers.")
        return np.diag(sizes**2)
    sizes = np.diag(values)
    if not (sizes > 1e-200).all() or not (sizes < 1e200).all():
        raise ArgumentError("the diagonal of covariance= holds variances: positive numbers.")
    shape = values / np.sqrt(np.outer(sizes, sizes))
    if not np.allclose(shape, shape.T, atol=1e-8) or np.linalg.eigvalsh(shape)[0] < 1e-10:
        raise ArgumentError("covariance= must be symmetric and positive definite.")
    return np.asarray((values + values.T) / 2)
