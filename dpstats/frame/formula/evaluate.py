"""Values of factors: one per row, from that row and from what was learnt on public rows."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np

from dpstats.errors import FormulaError, PublicDataError
from dpstats.frame.formula import engine
from dpstats.frame.formula.grammar import BASES, SCALINGS, Expr
from dpstats.frame.table import Array, advice_on_levels

State = dict[str, Any]

_BINARY: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
RISING: Mapping[str, Callable[[Any], Any]] = {
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "exp": np.exp,
    "expm1": np.expm1,
    "sqrt": np.sqrt,
    "asinh": np.arcsinh,
}
"""Functions that take the ends of a range to the ends of a range."""
_UNARY: Mapping[str, Callable[[Any], Any]] = {
    **RISING,
    "neg": operator.neg,
    "pos": operator.pos,
    "abs": np.abs,
    "sign": np.sign,
    "floor": np.floor,
    "ceiling": np.ceil,
    "trunc": np.trunc,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
}


def evaluate(expr: Expr, columns: Mapping[str, Array], states: Mapping[str, State]) -> Array:
    """Value of a one-column factor, shape (rows,); NaN or inf where it has none.

    ``columns`` hold float64 values, of a category the number of its level; ``states`` what the
    scalings have learnt on the public rows, by the text of the call.

    Examples
    --------
    >>> from dpstats.frame.formula.grammar import parse_factor
    >>> evaluate(parse_factor("I(x ** 2 > 3)"), {"x": np.array([1.0, 2.0])}, {})
    array([0., 1.])
    """
    with np.errstate(all="ignore"):
        return np.asarray(_value(expr, columns, states), dtype=np.float64)


def basis(expr: Expr, columns: Mapping[str, Array], states: Mapping[str, State]) -> list[Array]:
    """Columns of poly(), bs(), cr() or cc(); a row whose argument is not finite becomes NaN."""
    with np.errstate(all="ignore"):
        x = np.asarray(_value(expr.args[0], columns, states), dtype=np.float64)
        bad = ~np.isfinite(x)
        any_bad = bool(bad.any())
        fields = engine.apply_basis(
            expr.op, np.where(bad, 0.0, x) if any_bad else x, expr.value, states.get(expr.text, {})
        )
        return [np.where(bad, np.nan, values) for values in fields] if any_bad else fields


_STATED = {"knots", "lower_bound", "upper_bound"}
"""Options of a spline that leave nothing to be learnt."""
_POINTS = 200


def learn_states(
    expr: Expr, columns: Mapping[str, Array], states: dict[str, State], unknown: frozenset[str]
) -> None:
    """Let every stateful call in ``expr`` learn from public (or declared) rows, innermost first.

    ``unknown`` names the columns that were declared without a range: nothing can be learnt there.
    """
    for call in expr.stateful:
        if call.text in states:
            continue
        lost = [name for name in call.columns if name in unknown]
        if lost and not _STATED.issubset(call.value or ()):
            stated = ""
            if call.op in ("bs", "ns"):
                ends = "knots=c(...), Boundary.knots=c(low, high)"
                stated = f", state all knots, {call.op}({lost[0]}, {ends})"
            raise PublicDataError(
                f"`{call.text}` needs to know where `{lost[0]}` lies: declare its limits, "
                f"limits={{'{lost[0]}': (low, high)}}{stated}, or pass public rows that have the "
                "column."
            )
        if lost:
            values = np.linspace(call.value["lower_bound"], call.value["upper_bound"], _POINTS)
        else:
            values = evaluate(call.args[0], columns, states)
        values = values[np.isfinite(values)]
        try:
            with np.errstate(all="ignore"):
                state = engine.learn_state(call.op, values, call.value)
                if call.op in BASES:
                    _require_finite(engine.apply_basis(call.op, values, call.value, state))
            states[call.text] = state
        except (ValueError, TypeError, ArithmeticError, np.linalg.LinAlgError) as error:
            raise PublicDataError(f"`{call.text}` cannot be learnt: {error}") from None


def _require_finite(fields: Sequence[Array]) -> None:
    """Powers and curvatures of very small or large numbers are beyond what floats hold."""
    if not all(np.isfinite(values).all() for values in fields):
        raise ValueError("its values are too small or too large for it; use another unit.")


def resolve(expr: Expr, levels: Mapping[str, tuple[Any, ...] | None]) -> Expr:
    """Put the number of a level in the place of its name; refuse arithmetic on a category.

    ``levels`` are None for a column of numbers.
    """
    known = levels.get(expr.args[0].value) if expr.args and expr.args[0].op == "column" else None
    if expr.op in ("is", "is not"):
        if known is None or expr.value not in known:
            has = f"its levels are {_listing(known)}" if known else "it is a column of numbers"
            raise FormulaError(
                f"`{expr.args[0].value}` is compared with {expr.value!r}, but {has}."
            )
        return replace(expr, value=float(known.index(expr.value)))
    for arg in expr.args:
        known = levels.get(arg.value) if arg.op == "column" else None
        # a column of True and False counts as 1 and 0 in arithmetic, as in R
        if known is not None and known != (False, True) and expr.op == "as_numeric":
            return replace(expr, value=True)  # R counts levels from 1
        if known is not None and known != (False, True) and expr.op != "C":
            raise FormulaError(
                f"`{arg.value}` is a category (levels {_listing(known)}), and {expr.op} needs a "
                f"number. Use `{arg.value}` by itself, C({arg.value}), or I({arg.value} == 'a')."
                + advice_on_levels(known)
            )
    return replace(expr, args=tuple(resolve(arg, levels) for arg in expr.args))


def _logical(op: str, args: Sequence[Any], value: Any) -> Any:
    """R's logic of three values: what is missing decides nothing that the rest decides."""
    first = args[0]
    missing = np.isnan(first)
    if op == "in":  # NA %in% c(1, 2) is FALSE
        return np.isin(first, value).astype(np.float64)
    if op == "not":
        return np.where(missing, np.nan, np.equal(first, 0.0))
    if op == "ifelse":
        return np.where(missing, np.nan, np.where(first != 0, args[1], args[2]))
    second = args[1]
    missing = missing | np.isnan(second)
    if op == "and":
        decided, found = (first == 0) | (second == 0), 0.0
    else:
        true = ((first != 0) & ~np.isnan(first)) | ((second != 0) & ~np.isnan(second))
        decided, found = true, 1.0
    return np.where(decided, found, np.where(missing, np.nan, 1.0 - found))


def _rounded(x: Array, digits: int) -> Array:
    """R's round(): of the two candidates the nearer one, of equally near ones the even one."""
    if digits == 0:
        return np.asarray(np.rint(x))
    by = 10.0 ** abs(digits)

    def back(whole: Array) -> Array:
        return whole / by if digits > 0 else whole * by

    scaled = x * by if digits > 0 else x / by
    low, high = np.floor(scaled), np.ceil(scaled)
    below, above = x - back(low), back(high) - x
    even = np.where(np.remainder(low, 2.0) == 0, low, high)
    nearest = np.where(below < above, low, np.where(above < below, high, even))
    # what has no digit to lose is left as it is
    return np.where(np.isfinite(scaled) & (np.abs(scaled) < 2.0**52), back(nearest), x)


def _listing(levels: tuple[Any, ...]) -> str:
    shown = ", ".join(repr(level) for level in levels[:8])
    return shown + (", ..." if len(levels) > 8 else "")


def _value(expr: Expr, columns: Mapping[str, Array], states: Mapping[str, State]) -> Any:
    op = expr.op
    if op == "column":
        return columns[expr.value]
    if op == "number":
        # a numpy scalar: 1 / 0 is then inf without an exception
        return np.float64(expr.value)
    if op in ("is", "is not"):
        same = columns[expr.args[0].value] == expr.value
        return (same if op == "is" else ~same).astype(np.float64)
    args = [_value(arg, columns, states) for arg in expr.args]
    if op == "offset":
        return args[0]
    if op == "as_numeric":
        return args[0] + 1.0 if expr.value else args[0]
    if op in ("pmin", "pmax"):
        return reduce(np.minimum if op == "pmin" else np.maximum, args)
    if op in ("and", "or", "not", "in", "ifelse"):
        return _logical(op, args, expr.value)
    if op == "round":
        return _rounded(args[0], expr.value or 0)
    if op == "cut_number":  # of the interval, from 1
        places = engine.apply_basis("cut", np.asarray(args[0], np.float64), expr.value, {})
        return reduce(operator.add, [k * place for k, place in enumerate(places, start=1)])
    if op in _UNARY:
        return _UNARY[op](args[0])
    if op in SCALINGS:
        state = states[expr.text]
        value = args[0]
        value = value if state["center"] is None else value - state["center"]
        return value if state["scale"] is None else value / state["scale"]
    if op in BASES or op == "C":
        raise AssertionError(op)
    result = _BINARY[op](args[0], args[1])
    if op in _COMPARISONS:
        # R's rule: comparing with a missing value is missing, not False
        missing = np.isnan(args[0]) | np.isnan(args[1])
        result = np.where(missing, np.nan, result)
    return result
