"""Coefficients along a penalty, and the choice of one, from the release of a fit alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpstats.arguments import number, numbers, one_of, require_one_of, shown
from dpstats.arrays import Floats
from dpstats.errors import ArgumentError, NotReleasedError
from dpstats.frame import terms_named
from dpstats.report.coefficients import plot_path
from dpstats.report.format import format_scalar
from dpstats.report.result import Coefficients
from dpstats.report.table import Column, Page, Printed, Table
from dpstats.report.wald import WaldTest
from dpstats.score_rounds.estimate import Estimate

_SHOWN_PENALTIES = 10
_PENALTIES = ("ridge", "lasso", "elasticnet")
_SWEEPS, _EXACT = 10_000, 1e-9
"""Sweeps over the coordinates at most, and by how much of the penalty a slope may exceed it."""


@dataclass(frozen=True, repr=False, eq=False)
class Path(Printed):
    """Coefficients along a penalty, computed from one release.

    Attributes
    ----------
    penalty : str
    coef : DataFrame
        One row per penalty: its size, then the coefficients.
    derived : str
        What the page says of their origin.

    See Also
    --------
    LinearModel.path : What makes one.

    Examples
    --------
    >>> from dpstats import dp_lm
    >>> from dpstats.datasets import fair
    >>> public, private = fair()
    >>> fit = dp_lm("rate_marriage ~ age + religious", private, public=public, mu=1, seed=1)
    >>> fit.path("lasso").coef.columns.tolist()
    ['lambda', 'Intercept', 'age', 'religious']
    """

    penalty: str
    coef: pd.DataFrame
    derived: str
    unpenalised: Coefficients | None = None
    n: float = math.nan
    constant: int | None = None

    def best(self, criterion: str = "BIC") -> BestPenalty:
        """The penalty whose choice of columns has the smallest criterion.

        The Wald statistic of the columns that a penalty leaves out, by standard errors that hold the
        sampling and the noise of all that was released, and log(n) ("BIC") or 2 ("AIC") for each column
        that it keeps: the least-squares approximation of Wang and Leng (2007). Of penalties with
        the same columns the smallest is taken, which shrinks the least. Standard errors after a
        choice ignore it.

        Examples
        --------
        >>> from dpstats import dp_lm
        >>> from dpstats.datasets import fair
        >>> public, private = fair()
        >>> fit = dp_lm("rate_marriage ~ age + religious", private, public=public, mu=1, seed=1)
        >>> fit.path("lasso").best("BIC").kept
        ('Intercept', 'age', 'religious')
        """
        if not one_of(criterion, ("BIC", "AIC", "bic", "aic")):
            raise ArgumentError(f"criterion must be 'BIC' or 'AIC', not {shown(criterion)}.")
        if self.penalty == "ridge":
            raise ArgumentError(
                "a ridge keeps every column, and a criterion chooses columns: path('lasso')."
            )
        c = self.unpenalised
        if c is None or not c.known:
            raise NotReleasedError("noise hides the standard errors that a criterion needs.")
        each = math.log(self.n) if criterion.upper() == "BIC" else 2.0
        coef = self.coef.iloc[:, 1:].to_numpy(dtype=float)
        found = []
        for row in coef:
            out = [int(j) for j in np.flatnonzero((row == 0) & ~c.left_out) if j != self.constant]
            lost = WaldTest.that_are_zero(c, out).chi2 if out else 0.0
            found.append(lost + each * (len(row) - len(out)))
        values = np.array(found)
        lambdas = self.coef["lambda"].to_numpy()
        at = min(np.flatnonzero(values == values.min()), key=lambda k: float(lambdas[k]))
        series = pd.Series(coef[at], index=list(c.terms), name="estimate")
        return BestPenalty(
            criterion.upper(), float(lambdas[at]), float(values[at]), series, self.derived
        )

    def plot(
        self, terms: Sequence[str] | None = None, intercept: bool = False, ax: Any = None
    ) -> Any:
        """Coefficients against the penalty, which grows to the right on a log scale.

        Needs matplotlib (``pip install "dpstats[plot]"``).

        Parameters
        ----------
        terms : sequence of str, optional
            Which ones; by default all but the intercept, which is not penalised.
        intercept : bool
            Whether the intercept is shown when no terms are named.
        ax : matplotlib Axes, optional

        Returns
        -------
        matplotlib Axes
        """
        lambdas, coef = self.coef["lambda"].to_numpy(), self.coef.iloc[:, 1:]
        names = [str(name) for name in coef.columns]
        values = coef.to_numpy(dtype=float)
        terms = terms_named(terms, names)
        return plot_path(names, lambdas, values, self.penalty, terms, intercept, ax)

    def _printed(self) -> Page:
        """Some of the penalties; numbers with four digits, and a dot for a coefficient of zero."""
        rows = len(self.coef)
        places = np.unique(
            np.linspace(0, rows - 1, min(rows, _SHOWN_PENALTIES)).round().astype(int)
        )
        shown = self.coef.iloc[places]
        columns = [
            Column(str(name), [format_scalar(v, 4) if v else "." for v in shown[name]], shown[name])
            for name in shown.columns
        ]
        more = f", {len(places)} of {rows} penalties: .coef has all" if rows > len(places) else ""
        note = f"{self.penalty} path{more}. {self.derived}"
        return Page((Table.from_columns(columns, notes=(note,)),))


@dataclass(frozen=True, repr=False, eq=False)
class BestPenalty:
    """The choice of a criterion along a path; see `Path.best`.

    Attributes
    ----------
    criterion : str
    penalty : float
        Its size, lambda.
    value : float
        Of the criterion.
    estimate : Series
        The coefficients there, which are drawn towards zero.
    derived : str
        What the page says of their origin.

    See Also
    --------
    Path : Whose method `best` makes one.
    """

    criterion: str
    penalty: float
    value: float
    estimate: pd.Series
    derived: str

    def coef(self) -> pd.Series:
        """Coefficients at this penalty, indexed by the columns of the design."""
        return self.estimate.copy()

    @property
    def kept(self) -> tuple[str, ...]:
        """Columns that are not left out."""
        return tuple(self.estimate.index[self.estimate != 0])

    @property
    def left_out(self) -> tuple[str, ...]:
        """Columns that are left out: ``fit.update("~ . - x")`` refits the others, at no cost."""
        return tuple(self.estimate.index[self.estimate == 0])

    def __repr__(self) -> str:
        head = f"Smallest {self.criterion} at lambda = {self.penalty:.4g}:"
        out = ", ".join(self.left_out)
        lines = [head, self.estimate.to_string(), *([f"Left out: {out}"] if out else [])]
        return "\n".join([*lines, self.derived])


def penalised_path(
    estimate: Estimate,
    intercept: int | None,
    penalty: str,
    lambdas: Sequence[float] | None,
    alpha: float,
    left_out: NDArray[np.bool_] | None = None,
) -> tuple[Floats, Floats]:
    """Coefficients along a decreasing penalty, from the moments; those of columns left out are zero.

    The intercept has no penalty: it is taken out of the moments of the others, which are scaled by what
    is left, so that it does not matter where a column has its zero.

    Returns
    -------
    lambdas : (k,) array
    coef : (k, d) array
    """
    require_one_of("penalty", penalty, _PENALTIES)
    mix = {"ridge": 0.0, "lasso": 1.0}.get(penalty, number(alpha))
    if mix is None or not 0 <= mix <= 1:
        raise ArgumentError(
            f"alpha must lie between 0 and 1, such as alpha=0.5, not {shown(alpha)}."
        )
    free = np.ones(len(estimate.coef), dtype=np.bool_) if left_out is None else ~left_out
    at = np.array([j for j in np.flatnonzero(free) if j != intercept], dtype=np.intp)
    if not len(at):
        raise ArgumentError(
            "a path needs a column besides the intercept, which is not penalised: fit 'y ~ x1 + x2'."
        )
    moments, constant = estimate.moments[np.ix_(at, at)], np.zeros(len(at))
    if intercept is not None:
        constant = estimate.moments[intercept, at] / estimate.moments[intercept, intercept]
        moments = moments - np.outer(constant, estimate.moments[intercept, at])
    size = np.sqrt(np.diag(moments))
    moments = moments / np.outer(size, size)
    cross = moments @ (estimate.coef[at] * size)
    found = _grid(cross, mix) if lambdas is None else numbers(lambdas)
    grid = np.zeros(0) if found is None else np.atleast_1d(found)
    if grid.ndim > 1 or grid.size == 0 or not np.isfinite(grid).all() or (grid < 0).any():
        raise ArgumentError("lambdas must be finite numbers >= 0.")
    coef: Floats = np.zeros((len(grid), len(estimate.coef)))
    scaled: Floats = np.zeros(len(at))
    for row, strength in zip(coef, grid, strict=True):
        scaled = _penalised(moments, cross, strength * mix, strength * (1 - mix), scaled)
        row[at] = scaled / size
    if intercept is not None:
        coef[:, intercept] = estimate.coef[intercept] + (estimate.coef[at] - coef[:, at]) @ constant
    return grid, coef


def _grid(cross: Floats, mix: float) -> Floats:
    """50 penalties from the smallest that empties the model (a ridge: nearly) downwards."""
    largest = float(np.abs(cross).max()) / max(mix, 1e-3)
    grid: Floats = np.geomspace(largest, largest * 1e-4 * max(mix, 1e-3), 50)
    return grid


def _penalised(
    moments: Floats, cross: Floats, absolute: float, square: float, coef: Floats
) -> Floats:
    """The minimum of b'Mb/2 - c'b + absolute |b|_1 + square |b|^2/2, from coefficients near by.

    Coordinates descend in turn; once they have found which coefficients are zero and the signs of the
    others, these follow from linear equations.
    """
    whole = moments + square * np.eye(len(cross))
    coef = coef.copy()
    for _ in range(_SWEEPS):
        signs = np.sign(coef) if absolute > 0 else np.ones_like(coef)
        used = np.flatnonzero(signs)
        exact = np.zeros_like(coef)
        exact[used] = np.linalg.lstsq(
            whole[np.ix_(used, used)], cross[used] - absolute * signs[used], rcond=None
        )[0]
        left = cross - whole @ exact
        if absolute == 0 or (
            (np.sign(exact) == signs).all()
            and (np.abs(left[signs == 0]) <= absolute * (1 + _EXACT)).all()
        ):
            return exact
        gradient = cross - whole @ coef
        for j in range(len(coef)):
            pull = gradient[j] + whole[j, j] * coef[j]
            new = np.sign(pull) * max(abs(pull) - absolute, 0.0) / whole[j, j]
            gradient -= whole[:, j] * (new - coef[j])
            coef[j] = new
    return coef
