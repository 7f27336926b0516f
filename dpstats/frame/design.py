"""A formula bound to what the public rows (or a declared schema) say of its columns."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from dpstats.arguments import mapping
from dpstats.errors import SchemaError
from dpstats.frame.executors import Reading
from dpstats.frame.formula.bind import BoundFactor
from dpstats.frame.formula.engine import Column, Pieces
from dpstats.frame.formula.evaluate import State
from dpstats.frame.formula.grammar import Expr, Piece
from dpstats.frame.persons import FirstRows, OfPersons
from dpstats.frame.rows import ROLES, Rows, encode
from dpstats.frame.schema import ColumnSpec, check_table
from dpstats.frame.source import BLOCK_ROWS, OneTable, open_source, public_table
from dpstats.frame.table import Table, is_table, slices

Array = npt.NDArray[np.float64]


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
    rhs: tuple[Pieces, ...]
    factors: Mapping[str, BoundFactor]
    program: tuple[Column, ...]
    states: Mapping[str, State]
    response_factor: Expr | None
    offset_factors: tuple[Expr, ...]

    def __repr__(self) -> str:
        return f"<Design: {self.formula}; {len(self.terms)} columns>"

    @property
    def constant(self) -> int | None:
        """Position of the constant's column; None where the formula has none."""
        return self.terms.index("Intercept") if "Intercept" in self.terms else None

    @classmethod
    def learn(
        cls,
        formula: str,
        public: Any,
        *,
        weights: str | None = None,
        offset: str | None = None,
        limits: Mapping[str, Any] | None = None,
    ) -> Design:
        """Learn kinds, levels and the state of transforms on public rows.

        Parameters
        ----------
        formula : str
            ``"y ~ x1 + x2"`` or, without a response, ``"~ x1 + x2"``.
        public : table
            pandas, polars or pyarrow.
        weights, offset : str, optional
            Names of columns.
        limits : dict, optional
            ``{"(weights)": (0, upper)}`` bounds the weights; a list of levels for a category
            replaces the public ones.

        Examples
        --------
        >>> import pandas as pd
        >>> public = pd.DataFrame({"y": [1.0, 2.0, 4.0], "g": ["a", "b", "b"]})
        >>> Design.learn("y ~ g", public).terms
        ('Intercept', 'g[T.b]')
        """
        from dpstats.frame.formula.learn import learn

        return learn(formula, public, weights, offset, mapping("limits", limits))

    @classmethod
    def declare(
        cls,
        formula: str,
        schema: Mapping[str, Any],
        *,
        weights: str | None = None,
        offset: str | None = None,
    ) -> Design:
        """The design of a declared schema; no row is needed.

        Parameters
        ----------
        schema : dict
            Column to ``(low, high)`` or ``float`` for a number, a list of levels for a category,
            ``bool``; ``"(weights)": (0, upper)`` for weights. Transforms learn their state on an
            equally spaced grid over the declared ranges.

        Examples
        --------
        >>> schema = {"y": float, "x": (0, 10), "g": ["a", "b"]}
        >>> Design.declare("y ~ center(x) + g", schema).terms
        ('Intercept', 'center(x)', 'g[T.b]')
        """
        from dpstats.frame.formula.learn import declare

        return declare(formula, mapping("the schema", schema), weights, offset)

    def rows(
        self, data: Any, reading: Reading | None = None, first: FirstRows | None = None
    ) -> Rows:
        """Check a table's columns against the design; its values are read when iterated.

        Parameters
        ----------
        data : table, path, blocks or Dask DataFrame
            See `source`.
        reading : Reading, optional
            Where the rows are read, and whether a bar shows it.
        first : FirstRows, optional
            That only so many rows of every person count.

        Raises
        ------
        SchemaError
            If a column is missing or of another kind, or the table has no row.
        """
        source = OneTable(data) if is_table(data) else open_source(data)
        reading = reading or Reading()
        if first is not None:
            source = OfPersons(first.ordered(source), first)
        n = reading.size(source, self.check, self.columns_for(ROLES))
        if n == 0:
            raise SchemaError("the table has no rows.")
        return Rows(self, source, reading, n)

    def public_rows(self, public: Any) -> Rows:
        """Rows of a public table of any kind, which is read into memory."""
        return self.rows(public_table(public))

    def check(self, table: Table) -> None:
        """Raise unless a table has all columns, each of its kind."""
        check_table(self, table, ROLES)

    def matrix(self, newdata: Any) -> tuple[Array, Array]:
        """Design (k, d) and offset (k,) of rows to predict; NaN where a row cannot be encoded."""
        table = public_table(newdata)
        check_table(self, table, ("offset",))
        x = np.empty((table.n, len(self.terms)), order="F")
        offset = np.zeros(table.n)
        for start, stop in slices(table.n, BLOCK_ROWS):
            block, alive = encode(self, table, start, stop, ("offset",))
            x[start:stop] = block.x
            if block.offset is not None:
                offset[start:stop] = block.offset
            x[start:stop][~alive] = np.nan
            offset[start:stop][~alive] = np.nan
        return x, offset

    def columns_of(self, change: str) -> tuple[str, list[int]]:
        """The sub-model that R's ``update()`` would fit.

        Parameters
        ----------
        change : str
            Such as ``"~ . - x2"`` or ``"y ~ x1"``; ``.`` is what the side already says.

        Returns
        -------
        formula : str
        kept : list of int
            Positions in ``terms`` of the sub-model's columns.

        Examples
        --------
        >>> schema = {"y": float, "x1": float, "x2": float}
        >>> Design.declare("y ~ x1 * x2", schema).columns_of("~ . - x1:x2")
        ('y ~ x1 + x2', [0, 1, 2])
        """
        from dpstats.frame.formula.update import columns_of

        return columns_of(self, change)

    def subset(self, formula: str, kept: list[int]) -> Design:
        """The design of a sub-model, from what :meth:`columns_of` returned.

        Examples
        --------
        >>> design = Design.declare("y ~ x1 + x2", {"y": float, "x1": float, "x2": float})
        >>> design.subset(*design.columns_of("~ . - x2")).terms
        ('Intercept', 'x1')
        """
        from dpstats.frame.formula.update import subset

        return subset(self, formula, kept)

    def require_formula(self, formula: str) -> None:
        """Raise FormulaError unless ``formula`` is the one of this design."""
        from dpstats.frame.formula.update import require_formula

        require_formula(self, formula)

    def extent(self, schema: Mapping[str, Any]) -> tuple[Array, float]:
        """Largest absolute value of each column and of the response within declared limits.

        Parameters
        ----------
        schema : dict
            As for :meth:`declare`, with a range for every number.

        Returns
        -------
        columns : ndarray, shape (d,)
            For an interaction, the product of its factors' largest values. Weights play no part.
        response : float
            Of the response less the offset; 0 when the formula is one-sided.

        Examples
        --------
        >>> schema = {"y": (0, 5), "x": (-2, 1)}
        >>> Design.declare("y ~ x + I(x ** 2)", schema).extent(schema)
        (array([1., 2., 4.]), 5.0)
        """
        from dpstats.frame.formula.extent import extent

        return extent(self, schema)

    def with_response(self, formula: str, schema: Mapping[str, Any] | None = None) -> Design:
        """Give a one-sided design the response of ``formula``.

        Parameters
        ----------
        formula : str
            The right-hand side must be the one of this design, or ``.``.
        schema : dict, optional
            ``{"y": bool}`` or ``{"y": ["no", "yes"]}`` if the response is not a number.
        """
        from dpstats.frame.formula.update import with_response

        return with_response(self, formula, schema or {})

    @property
    def response_piece(self) -> Piece | None:
        """The left-hand side as the formula writes it."""
        if self.response is None or self.response_factor is None:
            return None
        same = self.response_factor == Expr("column", value=self.response)
        return Piece(self.response, "column" if same else "expression")

    @cached_property
    def bare(self) -> Mapping[str, int]:
        """Columns of numbers that are a column of the design by themselves, with its position."""
        found: dict[str, int] = {}
        for j, column in enumerate(self.program):
            if len(column.parts) == 1 and column.scale == 1.0:
                expr = self.factors[column.parts[0][0]].expr
                if expr.op == "column" and self.columns[expr.value].kind == "number":
                    found.setdefault(expr.value, j)
        return found

    def columns_for(self, roles: Collection[str]) -> tuple[str, ...]:
        """Names of the table's columns that the design and these roles read."""
        names = [name for factor in self.factors.values() for name in factor.expr.columns]
        if "y" in roles and self.response_factor is not None:
            names += self.response_factor.columns
        if "offset" in roles:
            names += [name for factor in self.offset_factors for name in factor.columns]
        if "weight" in roles and self.weights is not None:
            names.append(self.weights)
        return tuple(dict.fromkeys(names))

    def to_dict(self) -> dict[str, Any]:
        """The design as JSON knows it; ``from_dict`` gives back the same encoding to the bit."""
        from dpstats.frame.formula.serial import design_to_dict

        return design_to_dict(self)

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Design:
        """A design from what ``to_dict`` has written."""
        from dpstats.frame.formula.serial import design_from_dict

        return design_from_dict(saved)
