"""Predictions, slopes and comparisons on the scale of the response, with errors by the delta method.

The three verbs of the packages marginaleffects, for rows that you may show; from released numbers, at no
cost of privacy.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpstats.arguments import listed, one_of
from dpstats.arrays import Floats
from dpstats.errors import ArgumentError
from dpstats.frame import Change, Design, predicted_rows
from dpstats.margins.contrasts import Asked, contrasts_of
from dpstats.margins.lines import require_slope
from dpstats.margins.rows import Mean, slope_of
from dpstats.report.estimates import Plotted
from dpstats.report.format import format_pval
from dpstats.report.options import p_digits, shown_digits
from dpstats.report.result import Coefficients, two_sided
from dpstats.report.table import Column, OnPage, Page, Part, Table
from dpstats.report.texts import Paragraph

_MOST_LINES = 20
"""Lines of a table that are printed at most."""
_RELATIVE = 1e-4
"""Half the step of a slope, as a share of the spread of the column."""


@dataclass(frozen=True, repr=False, eq=False)
class Margins(Plotted, OnPage):
    """Predictions, slopes or comparisons.

    Attributes
    ----------
    frame : DataFrame
        Their names, estimates, errors and intervals.
    title : str
    derived : str
        What the page says of their origin.
    law : str
        "t" or "z": the law of the statistics.

    See Also
    --------
    LinearModel.predictions, LinearModel.slopes, LinearModel.comparisons : What makes one.

    Examples
    --------
    >>> from dpstats import dp_lm
    >>> from dpstats.datasets import fair
    >>> public, private = fair()
    >>> fit = dp_lm("rate_marriage ~ age + religious", private, public=public, mu=1, seed=1)
    >>> fit.predictions(public.head(2)).frame.shape[0]
    2
    """

    frame: pd.DataFrame
    title: str
    derived: str
    law: str = "z"

    @property
    def page(self) -> Page:
        """The table as it prints: the first lines of a long one."""
        page = margins_page(self.frame, self.title, self.law)
        return Page((*page.parts, Paragraph(self.derived)))

    @property
    def _null(self) -> float | None:
        return 1.0 if self.title.startswith("Ratios") else super()._null


_NO_ERROR = (
    "NA: a coefficient that is part of it has no standard error; the summary of the fit says why. "
    "Values or levels that do without it have errors."
)


def margins_page(frame: pd.DataFrame, title: str, law: str = "z") -> Page:
    """A table of estimates as it prints; of a long one the first lines, and how many more there are."""
    columns = []
    for name, values in frame.head(_MOST_LINES).items():
        known = [None if pd.isna(value) else value for value in values]
        if name == "p_value":
            columns.append(Column(f"Pr(>|{law}|)", format_pval(known, p_digits()), known))
        elif values.dtype.kind == "f":
            columns.append(Column.of(str(name), known, shown_digits(4), none="NA"))
        else:
            columns.append(Column(str(name), [str(v) for v in values], align="l"))
    notes = (_NO_ERROR,) if "std_error" in frame and frame.std_error.isna().any() else ()
    more = len(frame) - _MOST_LINES
    parts: tuple[Part, ...] = (Table.from_columns(columns, title=title, notes=notes, main=True),)
    if more > 0:
        lines = "line" if more == 1 else "lines"
        parts += (Paragraph(f"... and {more} more {lines}: all are in .frame."),)
    return Page(parts)


@dataclass(frozen=True)
class Estimated:
    """Functions of the coefficients, one for each row, with their gradients (rows, d)."""

    value: Floats
    gradient: Floats

    def averaged(self, rows: NDArray[np.intp]) -> Estimated:
        """One value: the mean over some rows that can be computed."""
        used = rows[np.isfinite(self.value[rows])]
        if not len(used):
            return Estimated(np.array([np.nan]), np.full((1, self.gradient.shape[1]), np.nan))
        return Estimated(self.value[used].mean(keepdims=True), self.gradient[used].mean(0)[None])

    def over(self, width: float) -> Estimated:
        """Divided by a number."""
        return Estimated(self.value / width, self.gradient / width)

    def beyond(self, low: Estimated) -> Estimated:
        """Less another one."""
        return Estimated(self.value - low.value, self.gradient - low.gradient)

    def logarithm(self) -> Estimated:
        with np.errstate(all="ignore"):  # a mean may be zero or less
            return Estimated(np.log(self.value), self.gradient / self.value[:, None])


def itself(one: Estimated) -> Estimated:
    """A prediction as it is."""
    return one


def difference(low: Estimated, high: Estimated) -> Estimated:
    """The second mean less the first."""
    return high.beyond(low)


def log_ratio(low: Estimated, high: Estimated) -> Estimated:
    """The logarithm of the second mean over the first."""
    return high.logarithm().beyond(low.logarithm())


@dataclass(frozen=True)
class Predictors:
    """Rows of the design (rows, d), and the linear predictor at each."""

    x: Floats
    eta: Floats

    @classmethod
    def of(
        cls, design: Design, coef: Floats, newdata: pd.DataFrame, *, warns: bool = True
    ) -> Predictors:
        x, offset, _ = predicted_rows(design, newdata, warns=warns)
        return cls(x, x @ coef + offset)

    def mean(self, mean: Mean) -> Estimated:
        """The mean of the response at each row."""
        return Estimated(np.asarray(mean(self.eta)), slope_of(mean, self.eta)[:, None] * self.x)

    def interval(
        self, coefficients: Coefficients, mean: Mean, level: float
    ) -> tuple[Floats, Floats]:
        """Intervals of the linear predictors, on the scale of the response: none leaves it."""
        half = coefficients.halves(level, self.x, averages=False)
        return np.asarray(mean(self.eta - half)), np.asarray(mean(self.eta + half))


def changes(
    design: Design,
    coef: Floats,
    mean: Mean,
    newdata: pd.DataFrame,
    asked: Asked,
    slopes: bool,
) -> list[tuple[str, str, tuple[Estimated, Estimated]]]:
    """Means of the response at both ends of a change of each variable: names, contrasts and means.

    Of a number over a small width, for ``slopes``; else what is asked for (`contrasts_of`).
    """
    predicted_rows(design, newdata)  # warns of these rows once, and of none that are made of them

    def at(name: str, value: Any) -> Estimated:
        rows = newdata.copy()
        rows[name] = value
        return Predictors.of(design, coef, rows, warns=False).mean(mean)

    def changed(name: str, change: Change | None) -> Estimated:
        levels = design.columns[name].levels
        if change is None:
            return at(name, newdata[name].to_numpy(dtype=float))
        if change.level is None:
            return at(name, newdata[name].to_numpy(dtype=float) + change.add)
        return at(name, change.value if levels is None else levels[change.level])

    out = []
    for name, how in asked.items():
        if slopes and design.columns[name].levels is None:
            require_slope(design, name)
            values = newdata[name].to_numpy(dtype=float)
            spread = float(np.ptp(values[np.isfinite(values)])) if len(values) else 0.0
            step = _RELATIVE * (spread or max(1.0, float(np.nanmax(np.abs(values), initial=0.0))))
            ends = (at(name, end).over(2 * step) for end in (values - step, values + step))
            out.append((name, "dY/dX", (next(ends), next(ends))))
            continue
        for one in contrasts_of(design, name, how):
            out.append((name, one.label, (changed(name, one.low), changed(name, one.high))))
    return out


def variables_of(
    design: Design, asked: str | Sequence[str] | Asked | None, absorbed: Collection[str] = ()
) -> Asked:
    """The columns of a table that have a coefficient, or what was asked of them.

    Not those ``absorbed``: of what such a column does a part was not released.
    """
    factors = [f for term in design.rhs for f in term if f.kind != "literal"]
    read = dict.fromkeys(name for f in factors for name in f.parse().columns)
    used = [design.factors[key].expr for column in design.program for key, _ in column.parts]
    moving = {name for expr in used for name in expr.columns}
    known = [name for name in read if name in moving and name not in absorbed]
    if asked is None and not known:
        raise ArgumentError(
            "no column of this fit has a coefficient, so that nothing changes with one; "
            "predictions(newdata) has its mean."
        )
    if asked is None:
        return dict.fromkeys(known)
    names = [asked] if isinstance(asked, str) else list(asked)
    if not names:
        raise ArgumentError(f"variables names no column; there are {listed(known)}.")
    for name in names:
        if name in known:
            continue
        if name in absorbed and name in moving:
            raise ArgumentError(
                f"`{name}` is an effect, which was not released, so that what it does as a whole is not "
                f"known: its terms beside that are coefficients. There are {listed(known)}."
            )
        if name in offset_alone(design):
            raise ArgumentError(
                f"`{name}` stands in the offset alone, and has no coefficient: {listed(known)} have. "
                "What it does is the difference of predictions(newdata) at two of its values."
            )
        if name in read:
            raise ArgumentError(
                f"`{name}` has no coefficient in this fit: its effects were taken out, or it is an "
                f"instrument. There are those of {listed(known)}."
            )
        raise ArgumentError(f"the formula reads no column `{name}`; it reads {listed(known)}.")
    return dict(asked) if isinstance(asked, Mapping) else dict.fromkeys(names)


def offset_alone(design: Design) -> list[str]:
    """The columns of offsets that no term reads."""
    read = {name for factor in design.factors.values() for name in factor.expr.columns}
    names = (name for expr in design.offset_factors for name in expr.columns)
    return [name for name in dict.fromkeys(names) if name not in read]


def table_of(
    named: Sequence[tuple[dict[str, Any], tuple[Estimated, ...]]],
    made_of: Callable[..., Estimated],
    coefficients: Coefficients,
    newdata: pd.DataFrame,
    by: bool | str | Sequence[str],
    level: float,
    *,
    tested: bool,
) -> pd.DataFrame:
    """A line for each row, or for each group of rows, with the error of the delta method.

    What a line says is ``made_of`` averages; of a logarithm its exponential is shown.
    """
    groups = _groups(newdata, by)
    lines: list[dict[str, Any]] = []
    gradients = []
    for names, parts in named:
        for label, rows in groups:
            one = made_of(*(part if rows is None else part.averaged(rows) for part in parts))
            gradients.append(one.gradient)
            for k, value in enumerate(one.value):
                at = {"row": k} if rows is None else label
                lines.append({**names, **at, "estimate": float(value)})
    every = np.concatenate(gradients)
    frame = with_errors(pd.DataFrame(lines), coefficients, every, level, tested=tested)
    if made_of is log_ratio:
        shown = ["estimate", "conf_low", "conf_high"]
        frame[shown] = np.exp(frame[shown])
        frame["std_error"] *= frame.estimate
    return frame


def with_errors(
    frame: pd.DataFrame, c: Coefficients, rows: Floats, level: float, *, tested: bool = True
) -> pd.DataFrame:
    """A frame of estimates, of which ``rows`` (k, d) are the gradients, with errors and intervals."""
    frame = frame.assign(std_error=c.error_of(rows, averages=tested))
    half = c.halves(level, rows, averages=tested)
    if tested:
        frame["statistic"] = frame.estimate / frame.std_error
        frame["p_value"] = two_sided(frame.statistic, c.freedom_of(rows))
    return frame.assign(conf_low=frame.estimate - half, conf_high=frame.estimate + half)


def _groups(
    newdata: pd.DataFrame, by: bool | str | Sequence[str]
) -> list[tuple[dict[str, Any], NDArray[np.intp] | None]]:
    if by is False or by is None:
        return [({}, None)]
    if by is True:
        return [({}, np.arange(len(newdata)))]
    names = [by] if isinstance(by, str) or not isinstance(by, Sequence) else list(by)
    for name in names:
        if not one_of(name, [*newdata.columns]):
            raise ArgumentError(f"newdata has no column `{name}` to average by.")
    grouped = newdata.groupby(names, sort=True, dropna=False).indices
    return [
        (dict(zip(names, key if isinstance(key, tuple) else (key,), strict=True)), np.asarray(rows))
        for key, rows in grouped.items()
    ]
