"""Rows that may be shown to anybody, in whatever form they are given."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpstats.arguments import in_prose, listed
from dpstats.arrays import Floats
from dpstats.errors import ArgumentError, SchemaError, warn_at_call
from dpstats.frame.design import Design
from dpstats.frame.formula.evaluate import basis, evaluate
from dpstats.frame.formula.grammar import BASES, Expr
from dpstats.frame.private_tables import warn_of_private_rows
from dpstats.frame.table import Array, Table


def new_rows(newdata: Any, verb: str = "slopes") -> pd.DataFrame:
    """New rows as a data frame: of a dict, or of a table of another library.

    ``verb``: the method that they are given to, for messages.
    """
    warn_of_private_rows(newdata)
    if isinstance(newdata, pd.DataFrame):
        return newdata.reset_index(drop=True)
    if newdata is None:
        raise ArgumentError(
            f"give rows that you may show, such as public rows: {verb}(newdata); a fit holds none. "
            f"Averages over private rows have a budget of their own: {verb}(data=private, mu=0.5)."
        )
    if isinstance(newdata, str):
        raise ArgumentError(
            f"newdata is a table of rows that you may show, not {newdata!r}"
            + (
                "."
                if verb == "predictions"
                else f"; a column is named by variables=: {verb}(newdata, variables={newdata!r})."
            )
        )
    if hasattr(newdata, "to_pandas"):
        return new_rows(newdata.to_pandas(), verb)
    _require_pairs(newdata)
    try:
        plain = newdata if not isinstance(newdata, dict) else _as_columns(newdata)
        return pd.DataFrame(plain)
    except (ValueError, TypeError) as error:
        raise ArgumentError(f"newdata cannot be read as a table: {error}") from None


def _require_pairs(columns: Any) -> None:
    """Raise where a dict has columns of several lengths: its values stand in rows."""
    if not isinstance(columns, dict):
        return
    lengths = {
        name: len(v) for name, v in columns.items() if isinstance(v, list | tuple | np.ndarray)
    }
    if len(set(lengths.values())) > 1:
        sizes = ", ".join(f"`{name}` {many}" for name, many in lengths.items())
        raise ArgumentError(
            f"newdata has columns of several lengths ({sizes}), but its values are read as rows. All "
            "combinations are pd.MultiIndex.from_product([[1, 2], ['a', 'b']], names=['x', 'g'])"
            ".to_frame(index=False)."
        )


def may_be_far(design: Design) -> bool:
    """Whether new rows with a prediction may lie where no row of the fit counts as it is."""
    return bool(design.boxes) or any(_ends_flat(one.expr) for one in design.factors.values())


def warn_of_new_rows(design: Design, table: Table, lacking: bool) -> None:
    """Say where new rows, which are public, have no prediction, or one without rows behind it.

    ``lacking``: whether some have none.
    """
    if lacking:
        _warn_of_new_levels(design, table)
        _warn_of_functions(design, table)
    _warn_of_far_values(design, table)
    _warn_of_knots(design, table)


def warn_of_left_out(terms: Sequence[str], left_out: NDArray[np.bool_], x: Floats) -> None:
    """Name columns that a fit has left out, and that rows of its design have values of."""
    used = left_out & (x != 0).any(axis=0)
    names = [f"`{term}`" for term, one in zip(terms, used, strict=True) if one]
    if names:
        was = "was" if len(names) == 1 else "were"
        warn_at_call(
            f"{', '.join(names)} {was} left out of this fit, with a coefficient of zero: predictions do "
            "not follow it, and have no error where it is not zero.",
            UserWarning,
        )


def _warn_of_new_levels(design: Design, table: Table) -> None:
    """Name the levels of new rows that a design does not know, as R does."""
    for name in design.columns_for(("offset",)):
        known = design.columns[name].levels
        if design.columns[name].kind == "bool" or known is None:
            continue
        with suppress(SchemaError):  # where cells are objects that are no levels
            if table.type_of(name).kind == "number":
                values = table.numbers(name, 0, table.n)
                observed = {
                    int(v) if v.is_integer() else v for v in values[np.isfinite(values)].tolist()
                }
            else:
                observed = set(table.observed_levels(name))
            unknown = observed - {*known}
            if unknown:
                warn_at_call(
                    f"newdata has new levels of `{name}`, {listed(sorted(map(str, unknown)))}: rows "
                    "with them have no prediction.",
                    UserWarning,
                )


def _warn_of_far_values(design: Design, table: Table) -> None:
    """Name columns of new rows that leave the limits to which the rows of the fit were cut."""
    for name in design.columns_for(("offset",)):
        if name not in design.boxes or design.columns[name].kind != "number":
            continue
        low, high = design.boxes[name]
        values = table.numbers(name, 0, table.n)
        if ((values < low) | (values > high)).any():
            warn_at_call(
                f"newdata has values of `{name}` beyond the limits {in_prose(low, 4)} to "
                f"{in_prose(high, 4)}, to which rows of the fit were cut: predictions go on there "
                "without rows behind them.",
                UserWarning,
            )


def _warn_of_functions(design: Design, table: Table) -> None:
    """Name functions of numbers that have no value at some new rows."""
    offsets = dict(zip(design.offsets, design.offset_factors, strict=True))
    read = {text: one.expr for text, one in design.factors.items()} | offsets
    for text, expr in read.items():
        kinds = {design.columns[name].kind for name in expr.columns}
        if expr.op in ("column", "C") or kinds != {"number"}:
            continue
        columns = _numbers(expr, table)
        there = np.all([np.isfinite(values) for values in columns.values()], axis=0)
        values = (basis if expr.op in BASES else evaluate)(expr, columns, design.states)
        if not np.isfinite(values)[..., there].all():
            warn_at_call(
                f"newdata has rows at which `{text}` has no value: they have no prediction.",
                UserWarning,
            )


def _ends_flat(expr: Expr) -> bool:
    """Whether it is a spline that goes on flat beyond its outermost knots."""
    return expr.op == "bs" and expr.value.get("extrapolation", "raise") in ("raise", "clip")


def _warn_of_knots(design: Design, table: Table) -> None:
    """Name splines that new rows leave."""
    for text, one in design.factors.items():
        expr = one.expr
        if not _ends_flat(expr):
            continue
        state = design.states[expr.text]
        at = evaluate(expr.args[0], _numbers(expr, table), design.states)
        low, high = state["lower_bound"], state["upper_bound"]
        if ((at < low) | (at > high)).any():
            warn_at_call(
                f"newdata has rows beyond the outermost knots of `{text}`, {in_prose(low, 4)} and "
                f"{in_prose(high, 4)}: predictions there are those at the knot. ns() goes on in a "
                "straight line.",
                UserWarning,
            )


def _numbers(expr: Expr, table: Table) -> dict[str, Array]:
    """The columns of numbers that an expression reads."""
    return {name: table.numbers(name, 0, table.n) for name in expr.columns}


def _as_columns(values: dict[str, Any]) -> dict[str, Any]:
    """Single values as columns of one row, where all are single."""
    single = all(np.ndim(value) == 0 for value in values.values())
    return {name: [value] if single else value for name, value in values.items()}
