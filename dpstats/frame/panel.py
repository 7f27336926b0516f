"""What public rows say of a formula with effects and instruments: its columns, their roles, moments."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

import numpy as np

from dpstats.arguments import listed
from dpstats.errors import FormulaError, PublicDataError, SchemaError
from dpstats.frame.by_person import PersonsBlock, public_persons
from dpstats.frame.design import Design
from dpstats.frame.few_rows import FewRows, rows_like_few
from dpstats.frame.formula.panel import PanelFormula, level_name, panel_formula
from dpstats.frame.formula.parse import parse
from dpstats.frame.formula.update import subset_design
from dpstats.frame.public_moments import PublicMoments, public_moments
from dpstats.frame.schema import require_column
from dpstats.frame.source import column_types, public_table
from dpstats.frame.table import Array, Table

_ROWS_EACH = 4
_LIKE_PERSONS, _FEW_EACH = 100, 20
"""Levels from which, with fewer public rows of each, effects are most likely those of persons."""


@dataclass(frozen=True)
class PanelColumns:
    """Positions of the design's columns, by what they are for.

    Attributes
    ----------
    shown : tuple of int
        Of which coefficients are printed, endogenous ones first.
    effects : tuple of int
        Dummies of effects, and the constant beside these.
    endogenous, excluded : tuple of int
        Endogenous columns, and instruments that are no regressors.
    full_design : Design
        Of all columns that the formula names, whether they are estimated or not.
    public_rows : int or None
        How many public rows there are.
    """

    shown: tuple[int, ...]
    effects: tuple[int, ...]
    endogenous: tuple[int, ...]
    excluded: tuple[int, ...]
    full_design: Design
    public_rows: int | None

    @property
    def regressors(self) -> tuple[int, ...]:
        """All columns but the excluded instruments: shown ones, then effects."""
        return self.shown + self.effects

    @property
    def instruments(self) -> tuple[int, ...]:
        """All columns but the endogenous ones."""
        exogenous = tuple(j for j in self.regressors if j not in self.endogenous)
        return exogenous + self.excluded


def panel_moments(
    formula: PanelFormula,
    public: Any,
    person: str | None,
    weights: str | None,
    limits: Mapping[str, Any] | None,
) -> tuple[PublicMoments, PanelColumns]:
    """Public moments of all columns: within persons, where their effects are taken out.

    Raises
    ------
    PublicDataError
        If public rows are missing, or do not tell the columns apart.
    """
    if isinstance(public, PublicMoments):
        raise PublicDataError(
            "effects and instruments need public rows, not their moments: public=frame."
        )
    table = public_table(public)
    formula = _with_truths(formula, table, person)
    for name in formula.effects:
        if name != person and name not in table.names:
            near = get_close_matches(name, table.names, 1)
            hint = f" Did you mean `{near[0]}`?" if near else ""
            raise PublicDataError(
                f"the effects of `{name}` are dummies of public levels, and the public rows have no "
                f"such column.{hint}{_as_person(name, person)}"
            )
    within = person in formula.effects
    text = formula.design(person if within else None)
    moments = public_moments(text, public, weights=weights, limits=limits)
    _require_rows_for_levels(moments, formula, person, limits or {})
    kept, columns = _panel_columns(moments.design, formula, person, moments.m)
    if within:
        moments = _within(moments, public, person)
    moments = _part(moments, kept)
    if within:
        _require_variation(moments, person)
    _require_references(moments, formula)
    _require_apart(moments, columns, formula)
    # by all public rows, as many as tell what varies within persons or not
    replace(moments, m=columns.public_rows).require_full_rank()
    return moments, columns


def panel_design(
    formula: PanelFormula, data: Any, design_of: Callable[[str], Design], person: str | None
) -> tuple[Design, PanelColumns]:
    """The design of all columns without public rows, by names and kinds of the private ones.

    ``design_of``: that of a formula.
    """
    table = column_types(data)
    if person is not None:
        require_column(table, person, "person=")
    formula = _with_truths(formula, table, person)
    try:
        whole = design_of(formula.design(person if person in formula.effects else None))
    except SchemaError as error:
        effects = [name for name in formula.effects if f"`{name}`" in str(error)]
        error.args = (f"{error}{_as_person(effects[0], person) if effects else ''}",)
        raise
    kept, columns = _panel_columns(whole, formula, person, None)
    return subset_design(whole, whole.formula, kept), columns


def _with_truths(formula: PanelFormula, table: Table, person: str | None) -> PanelFormula:
    """The formula, with columns of True and False taken for one and zero."""
    named = [name for name in table.names if name in formula.text]
    truths = [name for name in named if table.type_of(name).kind == "bool"]
    return panel_formula(formula.text, truths, person)


def _panel_columns(
    design: Design, formula: PanelFormula, person: str | None, public_rows: int | None
) -> tuple[list[int], PanelColumns]:
    """The columns of a design that are kept, and what each of them is for."""
    within, roles = person in formula.effects, _roles(design, formula, person)
    left_out = [*roles["helpers"], *([design.constant] if within else [])]
    kept = [j for j in range(len(design.terms)) if j not in left_out]
    if set(kept) <= {*roles["effects"], *roles["excluded"], design.constant}:
        raise FormulaError(f"'{formula.text}' has no column beside its effects.")
    where = {j: k for k, j in enumerate(kept)}
    effects = [j for j in roles["effects"] if j in where]
    if effects and design.constant in where:
        effects.append(design.constant)
    hidden = {*effects, *roles["excluded"], *roles["endogenous"]}
    exogenous = [j for j in kept if j not in hidden]

    def at(columns: Sequence[int]) -> tuple[int, ...]:
        return tuple(where[j] for j in columns)

    return kept, PanelColumns(
        at([*roles["endogenous"], *exogenous]),
        at(effects),
        at(roles["endogenous"]),
        at(roles["excluded"]),
        design,
        public_rows,
    )


def _roles(design: Design, formula: PanelFormula, person: str | None) -> dict[str, list[int]]:
    """Positions of columns by role: those of a term's factors, and of parts of it that it spans.

    An interaction of categories may have columns of one of them, which nobody wrote.
    """
    sought = {
        "effects": _factors(formula.dummies(person)),
        "endogenous": _factors(formula.endogenous),
        "excluded": _factors(formula.instruments),
        "helpers": _factors(formula.helpers),
    }
    exogenous = _factors([formula.exogenous])
    found: dict[str, list[int]] = {role: [] for role in sought}
    for j, column in enumerate(design.program):
        factors = {text for text, _ in column.parts}
        same = [role for role, terms in sought.items() if factors in terms]
        spanned = [
            role
            for role in ("excluded", "endogenous")
            if factors and any(factors < term for term in sought[role])
        ]
        if same or (spanned and factors not in exogenous):
            found[(same or spanned)[0]].append(j)
    return found


def _factors(terms: Sequence[str]) -> list[set[str]]:
    """The factors of each of these terms."""
    parsed = [term for text in terms for term in parse(f"~ {text}").terms]
    return [{factor.text for factor in term} for term in parsed if term]


def _part(moments: PublicMoments, kept: Sequence[int]) -> PublicMoments:
    at, few = np.asarray(kept), moments.few
    return replace(
        moments,
        design=subset_design(moments.design, moments.design.formula, list(kept)),
        gram=moments.gram[np.ix_(at, at)],
        cross=None if moments.cross is None else moments.cross[at],
        # scores of another fit are not those of this one
        few=FewRows(None if few.added is None else few.added[np.ix_(at, at)], few.differ),
    )


def _within(moments: PublicMoments, public: Any, person: str | None) -> PublicMoments:
    """Moments of what is left within persons; within all rows, where the public ones name nobody."""
    assert person is not None
    assert moments.m is not None
    held = public_persons(moments.design, public, person)
    if held is None:
        constant = moments.design.constant
        if constant is None or moments.cross is None:
            return moments
        weight, cross = moments.gram[constant, constant], moments.cross[constant]
        column = moments.gram[:, constant]
        gram = moments.gram - np.outer(column, column) / weight
        yy = None if moments.yy is None else moments.yy - cross**2 / weight
        cross_moments = moments.cross - column * cross / weight
        # how much varies within persons these rows do not tell: they count as few
        few = len(moments.terms) + 2
        return replace(moments, gram=gram, cross=cross_moments, yy=yy, m=few, few=FewRows())
    x, y, weight, left = _demeaned(held)
    m = max(left, 1)
    wx = x * weight[:, None]
    gram, cross, yy = wx.T @ x / m, wx.T @ y / m, float(weight @ y**2) / m
    varying = np.flatnonzero(np.diag(gram) > 0)
    added = rows_like_few(gram, wx, x, m, varying.tolist()) if varying.size else None
    return replace(moments, gram=gram, cross=cross, yy=yy, m=m, few=FewRows(added))


def _demeaned(held: PersonsBlock) -> tuple[Array, Array, Array, int]:
    """Rows less the means of their persons, their weights, and rows less persons."""
    usable = np.asarray(held.usable, dtype=np.float64)
    weight = usable if held.weight is None else usable * held.weight
    y = held.y if held.offset is None else held.y - held.offset
    lengths = np.diff(np.append(held.starts, len(y)))
    size = np.maximum(np.add.reduceat(weight, held.starts), 1e-300)

    def less_mean(values: Array) -> Array:
        means = np.add.reduceat(values * weight, held.starts) / size
        return np.where(weight > 0, values - np.repeat(means, lengths), 0.0)

    x = np.column_stack([less_mean(column) for column in held.x.T])
    rows = int(np.count_nonzero(weight))
    persons = int(np.count_nonzero(np.add.reduceat(weight, held.starts)))
    return x, less_mean(y), weight, rows - persons


def _require_rows_for_levels(
    moments: PublicMoments, formula: PanelFormula, person: str | None, limits: Mapping[str, Any]
) -> None:
    """Levels of which public rows have few each are most likely persons, or firms."""
    assert moments.m is not None
    for name in formula.effects:
        levels = moments.design.columns[name].levels if name != person else None
        if levels is not None and _ROWS_EACH * len(levels) > moments.m:
            raise PublicDataError(
                f"the {moments.m} public rows have {len(levels)} levels of `{name}`, too few rows "
                "of each for dummies: give more public rows, or fewer levels."
                + _as_person(name, person)
            )
        declared = person is not None or isinstance(limits.get(name), list)
        if levels is None or declared or len(levels) < _LIKE_PERSONS:
            continue
        if _FEW_EACH * len(levels) > moments.m:
            some = ", ".join(map(repr, levels[:2]))
            raise PublicDataError(
                f"the {moments.m} public rows have {len(levels)} levels of `{name}`, and few rows of "
                "each: private rows of other levels would not be used."
                + _as_person(name, person)
                + f" If there are no other levels, declare them: limits={{'{name}': [{some}, ...]}}."
            )


_SLOPES = (
    r"(?<![\w.])i\(\s*(?P<name>[\w.]+)\s*,\s*(?P<other>[\w.]+)\s*\)",
    r"(?<![\w.:])(?P<other>[\w.]+)\s*:\s*(?P<coded>(?:factor|C)\(\s*(?P<name>[\w.]+)\s*\))",
    r"(?P<coded>(?:factor|C)\(\s*(?P<name>[\w.]+)\s*\))\s*:\s*(?P<other>[\w.]+)",
)
"""A column times every level of a factor, as people write it."""


def _require_references(moments: PublicMoments, formula: PanelFormula) -> None:
    """Raise where a column times all levels of a factor is among columns that depend on each other."""
    involved = {part for name in moments.dependent() for part in name.split(":")}
    for found in (one for written in _SLOPES for one in re.finditer(written, formula.text)):
        name, other = found["name"], found["other"]
        coded = found.groupdict().get("coded") or f"C({name})"
        levels = moments.design.columns[name].levels or ()
        if levels and all(f"{coded}[{level}]" in involved for level in levels):
            raise PublicDataError(
                f"`{found[0]}` has a column for every level of `{name}`; their sum is "
                f"`{other}`, which the effects absorb. Leave one level out, with which the others "
                f"are compared: "
                f"i({name}, {other}, ref={levels[0]!r})."
            )


def _require_apart(moments: PublicMoments, columns: PanelColumns, formula: PanelFormula) -> None:
    """Raise where effects determine a column, as those of persons and years do experience."""
    involved, effects = moments.dependent(), {moments.terms[j] for j in columns.effects}
    own = [name for name in involved if name not in effects]
    # by fewer rows anything may be determined
    if own and len(own) < len(involved) and (columns.public_rows or 0) >= 2 * len(moments.terms):
        named, of = listed([level_name(name) for name in own], "`"), listed(formula.effects, "`")
        raise PublicDataError(
            f"the public rows show that the effects of {of} determine {named}, as those of persons and "
            f"years do a count of years: they absorb it, whatever the number of rows. Leave "
            f"`{level_name(own[-1])}` out, or the effects."
        )


def _as_person(name: str, person: str | None) -> str:
    if person is not None:
        return ""
    return f" If `{name}` names the persons, whose effects cost nothing, say so: person='{name}'."


def _require_variation(moments: PublicMoments, person: str | None) -> None:
    sizes = np.sqrt(np.clip(np.diag(moments.gram), 0.0, None))
    constant = [name for name, size in zip(moments.terms, sizes, strict=True) if size < 1e-12]
    if constant:
        named = [level_name(name) for name in constant]
        lack = (
            " Public persons may lack these levels, as where hardly any is treated: give public rows of "
            "some that have them."
            if any("::" in name for name in named)
            else ""
        )
        raise PublicDataError(
            f"within the persons of the public rows {', '.join(f'`{name}`' for name in named)} "
            f"{'do' if len(constant) > 1 else 'does'} not vary.{lack} If that is so by nature, the "
            f"effects of `{person}` absorb it: leave it out, or the effects. If not, take public "
            "persons in whom it changes, as treated ones. If each has one public row, give the rows "
            "without that column: "
            f"public.drop(columns='{person}')."
        )
