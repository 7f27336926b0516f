"""Factors bound to the kinds and levels of their columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dpstats.arguments import listed
from dpstats.errors import FormulaError
from dpstats.frame.design import BoundFactor, ColumnSpec
from dpstats.frame.formula import engine
from dpstats.frame.formula.engine import Fields
from dpstats.frame.formula.evaluate import State, resolve
from dpstats.frame.formula.grammar import BASES, TRUTHS, Expr, Factor
from dpstats.frame.table import advice_on_levels


def bind(
    factor: Factor, columns: Mapping[str, ColumnSpec], states: Mapping[str, State]
) -> BoundFactor:
    """Check a factor against its columns and find the columns that it yields."""
    _require_order(factor, columns)
    written = factor.parse()
    levels = {name: columns[name].code_levels for name in written.columns if name in columns}
    expr = resolve(written, levels)
    return BoundFactor(factor, expr, _fields(factor, expr, columns, states))


def _require_order(factor: Factor, columns: Mapping[str, ColumnSpec]) -> None:
    """as.numeric() of text could mean its number or its place; of an ordered category, its place."""
    for node in factor.parse().walk():
        if node.op == "as_numeric" and node.args[0].op == "column":
            spec = columns[node.args[0].value]
            if spec.kind == "category" and not spec.ordered:
                name = node.args[0].value
                raise FormulaError(
                    f"`{factor.text}`: `{name}` holds categories without an order. Write "
                    f"factor({name}), or make a column of numbers in both tables beforehand."
                )


def response_of(factor: Factor | None, columns: Mapping[str, ColumnSpec]) -> dict[str, Any]:
    """The fields of a design that describe its response."""
    if factor is None:
        return dict.fromkeys(("response", "response_kind", "response_levels", "response_factor"))
    _require_order(factor, columns)
    expr = factor.parse()
    if expr.op in (*BASES, "C", "offset"):
        raise FormulaError(
            f"`{factor.text}` is not one numeric response; the left-hand side is a column (a number, a "
            "bool, a category with two levels) or an expression such as log(y) or I(y == 'yes')."
        )
    kind, levels = "number", None
    if expr.op == "column" and columns[expr.value].kind != "number":
        kind, levels = columns[expr.value].kind, columns[expr.value].levels
        if levels is None or len(levels) != 2:
            raise FormulaError(_not_two(expr.value, [str(level) for level in levels or ()]))
    elif expr.op in TRUTHS:
        kind, levels = "bool", (False, True)
    expr = resolve(expr, {name: spec.code_levels for name, spec in columns.items()})
    return {
        "response": factor.text,
        "response_kind": kind,
        "response_levels": levels,
        "response_factor": expr,
    }


def _not_two(name: str, levels: Sequence[str]) -> str:
    """What to type for a category as response that has one level, or three and more."""
    if len(levels) == 1:
        return (
            f"the response `{name}` is a category with one level, '{levels[0]}', and needs two: "
            "if rows may have another, declare both, the success last: "
            f"limits={{'{name}': ['{levels[0]}', ...]}}."
        )
    first = f"'{levels[0]}'" if levels else "'a'"
    return (
        f"the response `{name}` is a category with {len(levels)} levels ({listed(levels)}); the "
        f"left-hand side must be one numeric response, or have two levels. Write I({name} == "
        f"{first}) for one of them against the rest; or declare two, the success last, "
        f"limits={{'{name}': ['a', 'b']}}: rows with another level are then not used."
        + advice_on_levels(levels)
    )


def _fields(
    factor: Factor,
    expr: Expr,
    columns: Mapping[str, ColumnSpec],
    states: Mapping[str, State],
) -> Fields:
    text = factor.text
    if expr.op == "C" or (expr.op == "column" and columns[expr.value].kind != "number"):
        specs = [columns[name] for name in expr.columns]
        options = (expr.value if expr.op == "C" else None) or {}
        sep = options.get("sep", ".")
        levels = engine.combined_levels([spec.levels or () for spec in specs], sep)
        if specs[0].ordered and len(specs) == 1 and "contrasts" not in options:
            options = {**options, "contrasts": {"contrast": "poly", "options": {}}}
        return engine.category_fields(text, levels, options)
    if expr.op in BASES:
        # one row inside the learnt range gives the number of columns of the basis
        state = states.get(expr.text, {})
        at = np.array([float(state.get("lower_bound", 0.0))])
        try:
            with np.errstate(all="ignore"):  # only their number counts here
                width = len(engine.apply_basis(expr.op, at, expr.value, state))
        except ValueError as error:
            raise FormulaError(f"`{text}` cannot be used: {error}.") from None
        return engine.basis_fields(text, expr.op, expr.value, width)
    return Fields((text,), (text,))
