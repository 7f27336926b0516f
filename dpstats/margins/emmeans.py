"""Estimated marginal means of factors: other factors' levels at equal weights, numbers at their means.

From released and public numbers alone, as R's package emmeans has them: the rows of a reference grid
are averaged on the scale of the linear predictor.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import scipy

from dpstats.arguments import (
    in_prose,
    listed,
    mapping,
    number,
    one_of,
    require_one_of,
    shown,
    spelled,
)
from dpstats.arrays import Floats
from dpstats.errors import ArgumentError
from dpstats.frame import Design, design_matrix
from dpstats.frame.design import BoundFactor
from dpstats.frame.formula.engine import short_level
from dpstats.frame.formula.evaluate import State, basis, evaluate
from dpstats.margins.lines import ResponseScale, columns_read
from dpstats.margins.new_rows import margins_page
from dpstats.margins.rows import slope_of
from dpstats.report.estimates import Plotted
from dpstats.report.result import Coefficients, law_letter, quantile, two_sided
from dpstats.report.table import OnPage, Page
from dpstats.report.texts import Paragraph

_RATIOS = {"logit": "odds_ratio", "log": "ratio"}
"""What exp() of a difference of linear predictors is."""
_ADJUSTED = ("tukey", "bonferroni", "holm", "none")
_PAIRS = ("pairwise", "revpairwise")
_METHODS = (*_PAIRS, "trt.vs.ctrl", "consec", "eff")


@dataclass(frozen=True)
class ReferenceGrid:
    """Averages of rows of the design, one for each level of the factors that are asked for.

    Attributes
    ----------
    levels : tuple of tuples
        Of each line.
    rows : (k, d) array
    offset : (k,) array
    at : dict
        Where numbers stand.
    """

    levels: tuple[tuple[Any, ...], ...]
    rows: Floats
    offset: Floats
    at: Mapping[str, float]


def column_means(design: Design, moments: Floats | None) -> dict[str, float]:
    """Means of columns that stand in the design by themselves, or centred, scaled, or as powers.

    ``moments``: second moments of the design. Where these do not tell, a call that was learnt from rows
    knows the mean of these; one that was learnt from limits knows their middle, which is no mean.
    """
    out: dict[str, float] = {}
    for key, factor in design.factors.items():
        line = _line_of(factor, design.states)
        if line is None:
            continue
        mean = _mean_of_field(design, key, factor.fields.full[0], moments)
        if mean is not None:
            out.setdefault(line.column, line.start + (mean - line.value) / line.slope)
        elif line.centred and line.column not in design.boxes:
            out.setdefault(line.column, line.start)
    return out


@dataclass(frozen=True)
class _Line:
    """The first field of a factor: ``value`` + ``slope`` (x - ``start``), x being a column."""

    column: str
    start: float
    value: float
    slope: float
    centred: bool


def _line_of(factor: BoundFactor, states: Mapping[str, State]) -> _Line | None:
    """A column of numbers itself, or center(), scale() or poly() of one; None for other factors."""
    expr, state = factor.expr, states.get(factor.expr.text, {})
    if expr.op == "column" and factor.fields.coding is None:
        return _Line(expr.value, 0.0, 0.0, 1.0, False)
    linear = expr.op in ("center", "scale", "poly") and expr.args and expr.args[0].op == "column"
    if not linear:
        return None
    (column,), centre = expr.columns, state.get("center")
    if expr.op == "poly" and state.get("alpha"):
        centre = state["alpha"][0]
    start = 0.0 if centre is None else float(centre)
    points = {column: np.array([start, start + max(abs(start), 1.0)])}
    values = basis(expr, points, states)[0] if expr.op == "poly" else evaluate(expr, points, states)
    slope = float(np.diff(values)[0] / np.diff(points[column])[0])
    return _Line(column, start, float(values[0]), slope, centre is not None) if slope else None


def _mean_of_field(design: Design, key: str, field: str, moments: Floats | None) -> float | None:
    """By second moments with the constant, where the field is a column of the design by itself."""
    one = _constant_of(design)
    if moments is None or one is None or not one @ moments @ one > 0:
        return None
    for j, column in enumerate(design.program):
        if column.parts == ((key, field),):
            return float(one @ moments[j] / (one @ moments @ one)) / column.scale
    return None


def _constant_of(design: Design) -> Floats | None:
    """The constant as a sum of columns: of its own, or of all levels of a factor."""
    own = [column.parts for column in design.program]
    sums: list[list[tuple[tuple[str, str], ...]]] = [[()]]
    for key, factor in design.factors.items():
        coding = factor.fields.coding
        if coding is not None and np.allclose(sum(coding[f] for f in factor.fields.full), 1.0):
            sums.append([((key, field),) for field in factor.fields.full])
    for parts in sums:
        if {*parts} <= {*own}:
            return np.array([1.0 / c.scale if c.parts in parts else 0.0 for c in design.program])
    return None


def reference_grid(
    design: Design, factors: Sequence[str], at: Mapping[str, Any], means: Mapping[str, float]
) -> ReferenceGrid:
    """The grid of all levels, averaged over the factors that are not asked for.

    A number that is asked for has the values that ``at`` names, or zero and one if it has no others.
    """
    columns = list(dict.fromkeys(design.columns_for(("offset",))))
    at = {name: _places(value) for name, value in at.items()}
    at |= {
        n: [0.0, 1.0] for n in factors if n in columns and n not in at and design.columns[n].mark
    }
    levels = {name: design.columns[name].levels for name in columns}
    _check_factors(design, factors, levels, at)
    values: dict[str, list[Any]] = {}
    unknown: list[str] = []
    for name in columns:
        found = _values(name, levels[name], at, means.get(name))
        unknown += [name] if found is None else []
        values[name] = found or []
    if unknown:
        raise _no_mean(unknown, constant=_constant_of(design) is not None)
    for name in at:
        if name not in values:
            raise ArgumentError(
                f"at: the formula reads no column `{name}`; it reads {listed(columns)}."
            )
    numbers = (name for name in columns if levels[name] is None and name not in factors)
    used = {name: values[name][0] for name in numbers if len(values[name]) == 1}
    grid = pd.DataFrame(list(itertools.product(*values.values())), columns=columns)
    x, offset = design_matrix(design, grid)
    # the first factor varies fastest, as in R
    turned = itertools.product(*(values[name] for name in reversed(factors)))
    lines = [line[::-1] for line in turned]
    keys = list(zip(*(grid[name] for name in factors), strict=True))
    where = [np.array([k for k, key in enumerate(keys) if key == line]) for line in lines]
    rows = np.array([x[at_].mean(axis=0) for at_ in where])
    return ReferenceGrid(tuple(lines), rows, np.array([offset[at_].mean() for at_ in where]), used)


def _check_factors(
    design: Design,
    factors: Sequence[str],
    levels: Mapping[str, Sequence[Any] | None],
    at: Mapping[str, Any],
) -> None:
    """Each is a column with levels, or a number with values to be looked at."""
    known = [name for name, some in levels.items() if some is not None]
    for name in factors:
        if name in known or (name in levels and name in at):
            continue
        if name in levels:
            raise ArgumentError(
                f"`{name}` is a number: say at which values, emmeans({name!r}, at={{{name!r}: [1, 2]}})."
            )
        raise ArgumentError(
            f"'{design.formula}' reads no column `{name}`"
            + (f"; its factors are {listed(known)}." if known else ", and has no factors.")
        )


def _values(
    name: str, levels: Sequence[Any] | None, at: Mapping[str, list[Any]], mean: float | None
) -> list[Any] | None:
    """The values of a column in the grid; None where that is the mean of a number, and not known."""
    if levels is not None:
        found = at.get(name, list(levels))
        if any(value not in levels for value in found):
            raise ArgumentError(f"at: `{name}` has the levels {listed([*map(str, levels)])}.")
        return found
    places = [number(value) for value in at[name]] if name in at else [mean]
    if name in at and (None in places or not places):
        raise ArgumentError(
            f"at: `{name}` is a number, {{'{name}': 1.0}} or {{'{name}': [1.0, 2.0]}}, not "
            f"{shown(at[name][0] if len(at[name]) == 1 else at[name])}."
        )
    return places if all(v is not None and math.isfinite(v) for v in places) else None


def _no_mean(unknown: Sequence[str], *, constant: bool) -> ArgumentError:
    """An error where means of numbers are not known; ``constant``: whether the formula has one."""
    one = len(unknown) == 1
    alone = f"which enter{'s' * one} the formula by a function alone"
    why = alone if constant else "as the formula has no constant"
    named = " and ".join(f"`{name}`" for name in unknown)
    asked = ", ".join(f"'{name}': ..." for name in unknown)
    return ArgumentError(
        f"the mean{'s' * (not one)} of {named} {'is' if one else 'are'} not known, {why}: say at "
        f"which value{'s' * (not one)}, at={{{asked}}}."
    )


def _places(value: Any) -> list[Any]:
    """The values of a column at which means are asked for: one or several."""
    several = isinstance(value, list | tuple | range | np.ndarray | pd.Series)
    return list(value) if several else [value]


@dataclass(frozen=True, repr=False, eq=False)
class MarginalMeans(Plotted, OnPage):
    """Estimated marginal means, and what `contrasts` makes of them.

    Attributes
    ----------
    frame : DataFrame
        A line for each combination of levels: mean, error and interval.

    See Also
    --------
    LinearModel.emmeans : What makes one.
    """

    frame: pd.DataFrame
    grid: ReferenceGrid
    coefficients: Coefficients
    level: float
    scale: ResponseScale
    type: str
    remark: str
    """What the page says beside the numbers."""
    derived: str
    by: tuple[str, ...] = ()
    """Factors within whose levels means are compared."""
    other_names: ClassVar[Mapping[str, str]] = {
        **OnPage.other_names,
        **dict.fromkeys(("pairs", "contrast", "comparisons"), "contrasts()"),
    }

    @property
    def page(self) -> Page:
        """The means as they print."""
        page = margins_page(self.frame, "Estimated marginal means")
        return Page((*page.parts, Paragraph(self.remark), Paragraph(self.derived)))

    @spelled
    def contrasts(self, adjust: str | None = None, *, method: str = "pairwise") -> Contrasts:
        """Differences of means: of all pairs, the first less the second, or others.

        As R's ``contrast(emmeans(fit, "g"), method)``. Of means ``by=`` another factor those within each
        of its levels. On the scale of the linear predictor. With ``emmeans(..., type="response")``
        differences of logits and of logarithms are shown as odds ratios and ratios, with their
        intervals; tests are the same.

        Parameters
        ----------
        adjust : {"tukey", "bonferroni", "holm", "none"}, optional
            Of p values and intervals, for the number of tests that are made together; "holm" leaves
            intervals as they are. By default "tukey" of all pairs, "bonferroni" of others.
        method : {"pairwise", "revpairwise", "trt.vs.ctrl", "consec", "eff"}
            All pairs; the same, the second less the first; every mean less the first; every mean less
            the one before it; every mean less the average of all.
        """
        if adjust is None:
            adjust = "tukey" if method in _PAIRS else "bonferroni"
        require_one_of("method", method, _METHODS)
        require_one_of("adjust", adjust, _ADJUSTED)
        if adjust == "tukey" and method not in _PAIRS:
            raise ArgumentError(
                f"adjust='tukey' is for all pairs, not for method={method!r}: there are 'bonferroni', "
                "'holm' and 'none'."
            )
        compared = len(self.grid.levels[0]) - len(self.by)
        groups: dict[tuple[Any, ...], list[int]] = {}
        for k, line in enumerate(self.grid.levels):
            groups.setdefault(line[compared:], []).append(k)
        if max(map(len, groups.values())) < 2:
            raise ArgumentError("one mean has no contrasts.")
        frames = []
        for held, lines in groups.items():
            frame = self._contrasts(lines, compared, method, adjust)
            for place, (name, level) in enumerate(zip(self.by, held, strict=True)):
                frame.insert(place, name, [level] * len(frame))
            frames.append(frame)
        other = self._ratio is None and self.scale.link != "identity"
        remark = f"Differences on the {self.scale.link} scale." if other else ""
        law = law_letter(self.coefficients.freedom)
        frame = pd.concat(frames, ignore_index=True)
        tests = max(map(len, frames))
        many = f"{max(map(len, groups.values()))} means" if adjust == "tukey" else f"{tests} tests"
        together = many if adjust != "none" and tests > 1 else ""
        return Contrasts(frame, adjust, together, self.derived, law, remark, self.by)

    @property
    def _ratio(self) -> str | None:
        """What exponentials of differences are called, where these are shown."""
        return _RATIOS.get(self.scale.link) if self.type == "response" else None

    def _contrasts(
        self, lines: Sequence[int], compared: int, method: str, adjust: str
    ) -> pd.DataFrame:
        """Contrasts of some means, named by so many first levels."""
        names = [" ".join(map(short_level, self.grid.levels[k][:compared])) for k in lines]
        labels, weights = _weights(method, names, "-" if self._ratio is None else "/")
        rows = weights @ self.grid.rows[lines]
        shift = weights @ self.grid.offset[lines]
        c, ratio = self.coefficients, self._ratio
        estimate, error = rows @ c.coef + shift, c.error_of(rows)
        freedom = c.freedom_of(rows)
        statistic = estimate / error
        alone = two_sided(statistic, freedom)
        p_value, half = _adjusted(adjust, alone, statistic, freedom, len(lines), self.level)
        low, high = estimate - half * error, estimate + half * error
        if ratio is not None:
            estimate, low, high = np.exp(estimate), np.exp(low), np.exp(high)
            error = estimate * error
        return pd.DataFrame(
            {
                "contrast": labels,
                ratio or "estimate": estimate,
                "std_error": error,
                "statistic": statistic,
                "p_value": p_value,
                "conf_low": low,
                "conf_high": high,
            }
        )


@dataclass(frozen=True, repr=False, eq=False)
class Contrasts(Plotted, OnPage):
    """Contrasts of estimated marginal means.

    Attributes
    ----------
    frame : DataFrame
    adjust : str
    together : str
        For how many means or tests p values and intervals are adjusted; empty where they are not.
    derived : str
        What the page says of their origin.
    law : str
        "z" or "t".
    remark : str
        On which scale they are, where that is not the response's.
    by : tuple of str
        Factors within whose levels means are compared.

    See Also
    --------
    MarginalMeans : Whose method `contrasts` makes one.
    """

    frame: pd.DataFrame
    adjust: str
    together: str
    derived: str
    law: str = "z"
    remark: str = ""
    by: tuple[str, ...] = ()

    @property
    def page(self) -> Page:
        """The differences as they print."""
        page = margins_page(self.frame, "Contrasts of estimated marginal means", self.law)
        remarks = [self.remark] if self.remark else []
        if self.together:
            within = f", within each level of {' and '.join(self.by)}" if self.by else ""
            remarks.append(f"Adjusted for {self.together}: {self.adjust}{within}.")
        said = [" ".join(remarks)] if remarks else []
        return Page((*page.parts, *map(Paragraph, [*said, self.derived])))

    @property
    def _null(self) -> float | None:
        return super()._null if "estimate" in self.frame else 1.0  # ratios have names of their own


def _weights(method: str, names: Sequence[str], sign: str) -> tuple[list[str], Floats]:
    """What contrasts are called, and what each of the means weighs in them."""
    k, one = len(names), np.eye(len(names))
    if method == "eff":
        return [f"{name} effect" for name in names], one - 1 / k
    pairs = {
        "pairwise": list(itertools.combinations(range(k), 2)),
        "revpairwise": [(j, i) for j in range(k) for i in range(j)],
        "trt.vs.ctrl": [(j, 0) for j in range(1, k)],
        "consec": [(j, j - 1) for j in range(1, k)],
    }[method]
    labels = [f"{names[i]} {sign} {names[j]}" for i, j in pairs]
    return labels, np.array([one[i] - one[j] for i, j in pairs]).reshape(-1, k)


def _adjusted(
    adjust: str, alone: Floats, statistic: Floats, freedom: Floats, means: int, level: float
) -> tuple[Floats, Floats]:
    """p values, and half widths of intervals in standard errors."""
    tests = len(alone)
    plain = np.asarray(quantile(level, freedom))
    if adjust == "none" or tests == 1:
        return alone, plain
    if adjust == "bonferroni":
        share = 1 - (1 - level) / tests
        return np.minimum(tests * alone, 1.0), np.asarray(quantile(share, freedom))
    if adjust == "holm":
        order = np.argsort(alone)
        stepped = np.maximum.accumulate((tests - np.arange(tests)) * alone[order])
        p_value = np.empty(tests)
        p_value[order] = np.minimum(stepped, 1.0)
        return p_value, plain
    root = math.sqrt(2)
    law = scipy.stats.studentized_range
    p_value = np.array(
        [float(law.sf(root * abs(t), means, df)) for t, df in zip(statistic, freedom, strict=True)]
    )
    known: dict[float, float] = {df: float(law.ppf(level, means, df)) / root for df in set(freedom)}
    return p_value, np.array([known[df] for df in freedom])


def _without_formula(text: str) -> str:
    """What to type for a formula of R's emmeans: ``pairwise ~ g``, ``~ g | h``."""
    left, _, right = text.partition("~")
    means, within = (re.findall(r"[^\s+*:|]+", part) for part in (*right.split("|"), "")[:2])
    pairs = ".contrasts()" if left.strip() else ""
    asked, by = (repr(names[0] if len(names) == 1 else names) for names in (means or ["g"], within))
    held = f", by={by}" if within else ""
    return f"emmeans() takes names of factors, not a formula: write emmeans({asked}{held}){pairs}."


def marginal_means(
    design: Design,
    coefficients: Coefficients,
    scale: ResponseScale,
    moments: tuple[Floats | None, str],
    factors: str | Sequence[str],
    at: Mapping[str, Any] | None,
    type: str,
    level: float,
    by: str | Sequence[str] | None,
    derived: str,
) -> MarginalMeans:
    """Estimated marginal means of some factors.

    ``moments``: second moments of the design, from which means of numbers follow, and of which rows.
    """
    mapping("at", at)
    if not one_of(type, ("link", "response")):
        raise ArgumentError(f"type must be 'link' or 'response', not {shown(type)}.")
    names = [factors] if isinstance(factors, str) else list(factors)
    if not names:
        raise ArgumentError("name a factor: emmeans('g').")
    held = [] if by is None else [by] if isinstance(by, str) else list(by)
    for name in [*names, *held]:
        if isinstance(name, str) and "~" in name:
            raise ArgumentError(_without_formula(name))
    both = [name for name in held if name in names]
    if both:
        raise ArgumentError(
            f"`{both[0]}` stands in factors and in by: by= names factors within whose levels the "
            "others are compared."
        )
    names = [*names, *held]
    grid = reference_grid(design, names, at or {}, column_means(design, moments[0]))
    # at its mean, a column that was left out is in the constant; at a value that is stated it is not
    stated = {*names, *(at or {})}
    reads = np.array([not read.isdisjoint(stated) for read in columns_read(design)])
    told = coefficients.follows(grid.rows, reads)
    half = np.where(told, coefficients.halves(level, grid.rows), np.nan)
    error = np.where(told, coefficients.error_of(grid.rows), np.nan)
    eta = grid.rows @ coefficients.coef + grid.offset
    remark = _remark(design, grid.at, at or {}, moments[1], scale, type)
    if type == "response" and _logarithm_of(design, scale):
        scale = ResponseScale(np.exp, "log")
    mean = scale.mean if type == "response" else np.asarray
    frame = pd.DataFrame(grid.levels, columns=names).assign(
        emmean=mean(eta),
        std_error=error * np.abs(slope_of(mean, eta)) if type == "response" else error,
        conf_low=mean(eta - half),
        conf_high=mean(eta + half),
    )
    return MarginalMeans(
        frame, grid, coefficients, level, scale, type, remark, derived, tuple(held)
    )


def _logarithm_of(design: Design, scale: ResponseScale) -> str | None:
    """The column whose logarithm the response of a linear model is; None where it is none."""
    found = re.fullmatch(r"(?:np\.)?log\((.+)\)", design.response or "")
    return found[1] if found is not None and scale.link == "identity" else None


def _remark(
    design: Design,
    held: Mapping[str, float],
    at: Mapping[str, Any],
    whose: str,
    scale: ResponseScale,
    type: str,
) -> str:
    """Where numbers are ``held``, whose means these are, and the scale of the means."""
    places = ", ".join(f"{name} = {in_prose(value, 5)}" for name, value in held.items())
    text = "Equal weights for levels of other factors" + (f"; at {places}" if places else "")
    found = [name for name in held if name not in at]
    if found:
        of = "" if len(found) == len(held) else " of " + ", ".join(found)
        text += f" (mean{'s' * (len(found) > 1)}{of}: {whose})"
    if scale.link == "identity":
        logarithm = _logarithm_of(design, scale)
        if logarithm and type == "response":
            return (
                f"{text}. Geometric means of {logarithm}, exponentials of those of its logarithm."
            )
        plain = design.response is None or design.response in design.columns
        return text + ("." if plain else f". Means of {design.response}.")
    if type == "link":
        return f"{text}. On the {scale.link} scale; type='response' has means of the response."
    return (
        f"{text}. Means of the linear predictor, and their intervals, on the scale of the response."
    )
