"""A design: a formula bound to its columns, as data.

A design is learnt or declared in `formula.learn`, and made of private rows in `formula.private`, changed
in `formula.update`, written as JSON in `formula.serial`; tables are opened and encoded for it in `rows`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from dpstats.arrays import Floats
from dpstats.frame.formula.engine import Column, Fields, Term
from dpstats.frame.formula.evaluate import State
from dpstats.frame.formula.grammar import Expr, Factor
from dpstats.frame.table import Levels

ROLES = ("y", "offset", "weight")
"""What is read of a row besides its design."""


@dataclass(frozen=True)
class ColumnSpec:
    """A column as the design reads it.

    ``kind`` is "number", "bool" or "category"; ``levels`` are those of a bool, a category, or of
    the numbers that C() takes as levels; ``ordered`` is True of a category whose type says so, and
    ``mark`` of a number that is zero or one, by all public rows or by its limits, and ``declared`` of
    levels that were declared, whatever public rows have.
    """

    kind: str
    levels: Levels | None = None
    ordered: bool = False
    mark: bool = field(default=False, compare=False)
    declared: bool = field(default=False, compare=False)

    @property
    def code_levels(self) -> Levels | None:
        """Levels when the column's value is the number of a level, None when it is a number."""
        return None if self.kind == "number" else self.levels

    @property
    def numbered(self) -> bool:
        """Whether its levels are numbers."""
        return self.levels is not None and not any(isinstance(v, str | bool) for v in self.levels)


@dataclass(frozen=True)
class BoundFactor:
    """A factor of the right-hand side and the columns it yields."""

    written: Factor
    expr: Expr
    fields: Fields


@dataclass(frozen=True, repr=False, eq=False)
class Design:
    """What turns rows of a table into rows of numbers: no row is kept.

    Attributes
    ----------
    formula : str
    terms : tuple of str
        Names of the design's columns, as formulaic writes them.
    response : str or None
        Left-hand side; None when the formula is one-sided.
    response_kind : {"number", "bool", "category"} or None
        A bool or a category with two levels is coded 0 and 1; the second level is 1.
    response_levels : tuple or None
        The two levels of a bool or category.
    weights : str or None
        Column of the weights.
    weight_bound : float or None
        Private weights are clipped into [0, weight_bound].
    offsets : tuple of str
        Expressions that are added up to the offset.
    boxes : dict
        Declared limits of columns of numbers: private values beyond are cut to them.
    """

    formula: str
    terms: tuple[str, ...]
    response: str | None
    response_kind: str | None
    response_levels: tuple[Any, ...] | None
    weights: str | None
    weight_bound: float | None
    offsets: tuple[str, ...]
    columns: Mapping[str, ColumnSpec]
    rhs: tuple[Term, ...]
    factors: Mapping[str, BoundFactor]
    program: tuple[Column, ...]
    states: Mapping[str, State]
    response_factor: Expr | None
    offset_factors: tuple[Expr, ...]
    boxes: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<Design: {self.formula}; {len(self.terms)} columns>"

    @property
    def limited(self) -> bool:
        """Whether private numbers are cut to declared limits, or weights to a bound."""
        return bool(self.boxes) or self.weight_bound is not None

    @property
    def constant(self) -> int | None:
        """Position of the constant's column; None where the formula has none."""
        return self.terms.index("Intercept") if "Intercept" in self.terms else None

    @property
    def written_response(self) -> Factor | None:
        """The left-hand side as the formula writes it."""
        if self.response is None or self.response_factor is None:
            return None
        same = self.response_factor == Expr("column", value=self.response)
        return Factor(self.response, "column" if same else "expression")

    @cached_property
    def bare(self) -> Mapping[str, int]:
        """Columns of numbers that are a column of the design by themselves, with its position."""
        positions: dict[str, int] = {}
        for j, column in enumerate(self.program):
            if len(column.parts) == 1 and column.scale == 1.0:
                expr = self.factors[column.parts[0][0]].expr
                if expr.op == "column" and self.columns[expr.value].kind == "number":
                    positions.setdefault(expr.value, j)
        return positions

    @cached_property
    def entering(self) -> frozenset[str]:
        """Names of the table's columns that factors of the right-hand side read."""
        return frozenset(name for factor in self.factors.values() for name in factor.expr.columns)

    def matrix(self, newdata: Any) -> tuple[Floats, Floats]:
        """Design (k, d) and offset (k,) of rows that you may see; NaN where one cannot be encoded."""
        raise NotImplementedError("`rows`, which imports this file, gives it its body")

    @property
    def ordered(self) -> tuple[str, ...]:
        """Columns that are coded by the order of their levels because of their type alone."""
        named = (one.expr for one in self.factors.values() if one.expr.op == "column")
        return tuple(expr.value for expr in named if self.columns[expr.value].ordered)

    def columns_for(self, roles: Collection[str]) -> tuple[str, ...]:
        """Names of the table's columns that the design and these roles read."""
        asked = tuple(roles)
        if asked not in self._read:  # blocks of rows ask again and again
            self._read[asked] = self._columns_for(asked)
        return self._read[asked]

    @cached_property
    def _read(self) -> dict[tuple[str, ...], tuple[str, ...]]:
        return {}

    def _columns_for(self, roles: Collection[str]) -> tuple[str, ...]:
        names = [name for factor in self.factors.values() for name in factor.expr.columns]
        if "y" in roles and self.response_factor is not None:
            names += self.response_factor.columns
        if "offset" in roles:
            names += [name for factor in self.offset_factors for name in factor.columns]
        if "weight" in roles and self.weights is not None:
            names.append(self.weights)
        return tuple(dict.fromkeys(names))
