"""Largest absolute values of the columns of a declared design."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dpstats.arguments import computable
from dpstats.errors import SchemaError
from dpstats.frame.design import Design
from dpstats.frame.formula.evaluate import basis, evaluate
from dpstats.frame.formula.grammar import BASES, Expr
from dpstats.frame.schema import Declared, declared_spec
from dpstats.frame.table import Array

# points at which a factor of one column is evaluated; shared out when it has several
_POINTS = 20001


def design_extent(design: Design, schema: Mapping[str, Any]) -> tuple[Array, float]:
    """Largest absolute value of each column and of the response within declared limits.

    Parameters
    ----------
    schema : dict
        As for `declare_design`, with a range for every number.

    Returns
    -------
    columns : ndarray, shape (d,)
        For an interaction, the product of its factors' largest values. Weights play no part.
    response : float
        Of the response less the offset; 0 when the formula is one-sided.

    Examples
    --------
    >>> from dpstats.frame import declare_design
    >>> schema = {"y": (0, 5), "x": (-2, 1)}
    >>> design_extent(declare_design("y ~ x + I(x ** 2)", schema), schema)
    (array([1., 2., 4.]), 5.0)
    """
    sizes: dict[tuple[str, str], float] = {}
    for text, factor in design.factors.items():
        if factor.fields.coding is not None:
            for name, values in factor.fields.coding.items():
                sizes[text, name] = float(np.nanmax(np.abs(values)))
            continue
        columns = _corners_and_grid(factor.expr, schema)
        fields = (
            basis(factor.expr, columns, design.states)
            if factor.expr.op in BASES
            else [evaluate(factor.expr, columns, design.states)]
        )
        for name, values in zip(factor.fields.full, fields, strict=True):
            low, high = _range(text, values)
            sizes[text, name] = max(abs(low), abs(high))
    largest = [
        abs(column.scale) * float(np.prod([sizes[part] for part in column.parts]))
        for column in design.program
    ]
    for term, size in zip(design.terms, largest, strict=True):
        if not 0 < size < np.inf:
            raise SchemaError(
                f"the column '{term}' is {size:g} everywhere within the declared limits."
            )
        _require_computable(f"the column '{term}'", size)
    if design.response_factor is None:
        return np.array(largest), 0.0
    low, high = _extremes(design.response or "", design.response_factor, design, schema)
    for text, expr in zip(design.offsets, design.offset_factors, strict=True):
        least, most = _extremes(text, expr, design, schema)
        low, high = low - most, high - least
    response = max(abs(low), abs(high))
    _require_computable(f"the response '{design.response}'", response)
    for term, size in zip(design.terms, largest, strict=True):
        _require_computable(f"the response over the column '{term}'", response / size)
    return np.array(largest), response


def _require_computable(what: str, size: float) -> None:
    if size and computable(size) is None:
        raise SchemaError(
            f"{what} reaches {size:g} within the declared limits, too large for double precision: "
            "use another unit."
        )


def _extremes(
    text: str, expr: Expr, design: Design, schema: Mapping[str, Any]
) -> tuple[float, float]:
    return _range(text, evaluate(expr, _corners_and_grid(expr, schema), design.states))


def _range(text: str, values: Array) -> tuple[float, float]:
    values = values[np.isfinite(values)]
    if not len(values):
        raise SchemaError(f"`{text}` has no finite value within the declared limits.")
    return float(values.min()), float(values.max())


def _corners_and_grid(expr: Expr, schema: Mapping[str, Any]) -> dict[str, Array]:
    """Every combination of equally spaced values of the factor's columns, ends included."""
    names = expr.columns
    points = max(2, round(_POINTS ** (1 / len(names))))
    axes = [_axis(name, declared_spec(name, schema.get(name)), points) for name in names]
    mesh = np.meshgrid(*axes, indexing="ij")
    return {name: values.ravel() for name, values in zip(names, mesh, strict=True)}


def _axis(name: str, declared: Declared, points: int) -> Array:
    levels = declared.spec.levels
    if levels is not None:
        return np.array(levels if declared.spec.kind == "number" else range(len(levels)), float)
    if declared.span is None:
        raise SchemaError(
            f"`{name}` needs declared limits: {{'{name}': (low, high)}}, chosen without looking at "
            "the private rows."
        )
    return np.linspace(*declared.span, points)
