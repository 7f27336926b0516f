"""Columns of a formula that say the same whatever the rows, or nearly the same within limits."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from dpstats.arguments import listed
from dpstats.errors import FormulaError
from dpstats.frame.design import BoundFactor, Design
from dpstats.frame.formula.grammar import Expr

_FAR = 10.0
"""Standard deviations from zero, from which powers of a column are nearly multiples of each other."""
_UNIFORM = math.sqrt(12.0)


@dataclass(frozen=True)
class _Power:
    """A polynomial of a column that a term of the formula spans, and of which degree it is at most."""

    term: str
    degree: int
    basis: bool


def refuse_aliases(design: Design) -> None:
    """Raise where a term follows from others by the formula alone, as x does from poly(x, 2).

    There are d powers of a column up to the d-th: more polynomials of these degrees depend on each
    other.

    Examples
    --------
    >>> from dpstats.frame import declare_design
    >>> refuse_aliases(declare_design("y ~ x + poly(x, 2)", {"y": float, "x": (0, 1)}))
    Traceback (most recent call last):
    ...
    dpstats.errors.FormulaError: `x`, `poly(x, 2)` depend on each other, whatever the rows: ...
    """
    constant = 0 if design.constant is None else 1
    _refuse_constants(design)
    for powers in _polynomials(design).values():
        for degree in sorted({power.degree for power in powers}):
            alike = [power for power in powers if power.degree <= degree]
            if len(alike) + constant <= degree + 1:
                continue
            others = [power for power in alike if not power.basis]
            spare = others[-1] if others else min(alike, key=lambda one: _highest(one, powers))
            names = list(dict.fromkeys(power.term for power in alike))
            raise FormulaError(
                f"{', '.join(f'`{name}`' for name in names)} depend on each other, whatever the rows: "
                f"leave `{spare.term}` out of the formula."
            )


def _refuse_constants(design: Design) -> None:
    """Raise where a spline spans the constant, and another term is it or spans it too."""
    alone = [design.factors[term[0].text] for term in design.rhs if len(term) == 1]
    spanning = [factor for factor in alone if _spans_constant(factor.expr)]
    if len(spanning) + (design.constant is not None) > 1:
        text = spanning[-1].written.text
        fewer = re.sub(r"\bdf=(\d+)", lambda df: f"df={max(int(df[1]) - 1, 1)}", text)
        raise FormulaError(
            f"`{text}` spans the constant, which the formula has already: write "
            f"{fewer[:-1]}, constraints='center'), or drop the constant with - 1."
        )


def _spans_constant(expr: Expr) -> bool:
    """Whether columns of a cubic spline add up to one."""
    options = expr.value if isinstance(expr.value, dict) else {}
    return expr.op in ("cr", "cc") and options.get("constraints") is None and len(expr.columns) == 1


def _highest(power: _Power, powers: Sequence[_Power]) -> int:
    """The highest degree that its term has."""
    return max(other.degree for other in powers if other.term == power.term)


def _polynomials(design: Design) -> dict[str, list[_Power]]:
    """By column, the polynomials of it that terms of one factor span."""
    found: dict[str, list[_Power]] = {}
    for term in design.rhs:
        factor = design.factors.get(term[0].text) if len(term) == 1 else None
        if factor is None or len(factor.expr.columns) != 1:
            continue
        (column,) = factor.expr.columns
        if design.columns[column].kind == "number":
            found.setdefault(column, []).extend(_spanned(factor))
    return found


def _spanned(factor: BoundFactor) -> Iterator[_Power]:
    """The powers of one factor: those that a basis holds, or the factor itself."""
    expr, text = factor.expr, factor.written.text
    held = _powers_held(factor)
    degree = degree_of(expr if held is None else expr.args[0])
    if degree:
        for power in range(1, 2 if held is None else held + 1):
            yield _Power(text, degree * power, basis=held is not None)


def _powers_held(factor: BoundFactor) -> int | None:
    """How many powers of its argument a basis holds, the constant beside it; None for no basis."""
    expr = factor.expr
    options = expr.value if isinstance(expr.value, dict) else {}
    if expr.op == "poly":
        return len(factor.fields.full)
    if expr.op == "ns":  # a straight line, beyond the knots as well
        return 1
    if expr.op == "bs":  # within its bounds
        return 0 if {"lower_bound", "upper_bound"} & {*options} else int(options.get("degree", 3))
    if expr.op == "C":  # every function of its levels
        return 0 if isinstance(options.get("contrasts"), list) else len(factor.fields.reduced)
    return None


def degree_of(expr: Expr) -> int | None:
    """At most which degree an expression has as a polynomial of its column; None where it is none.

    Examples
    --------
    >>> from dpstats.frame.formula.grammar import parse_factor
    >>> [degree_of(parse_factor(text)) for text in ("x", "I(2 * (x - 1) ** 2)", "log(x)")]
    [1, 2, None]
    """
    if expr.op in ("column", "number"):
        return 1 if expr.op == "column" else 0
    inner = [degree_of(arg) for arg in expr.args]
    known = [degree for degree in inner if degree is not None]
    if len(known) < len(inner):
        return None
    if expr.op in ("+", "-", "neg", "pos", "center", "scale"):
        return max(known)
    if expr.op == "*" or (expr.op == "/" and known[1] == 0):
        return sum(known)
    power = expr.args[1].value if expr.op == "**" and expr.args[1].op == "number" else -1
    return int(known[0] * power) if power >= 0 and float(power).is_integer() else None


def far_powers(
    design: Design, terms: Sequence[str], lies: Callable[[str], tuple[float, float] | None]
) -> str | None:
    """What to write in place of powers of a column that lies far from zero; None where none does.

    ``terms``: where to look; ``lies``: mean and standard deviation of a column, where these are public.
    """
    for term in terms if design.constant is not None else ():
        power = re.fullmatch(r"I\((\w+) \*\* (\d+)\)", term)
        place = lies(power[1]) if power is not None and power[1] in design.terms else None
        if power is not None and place is not None and abs(place[0]) > _FAR * place[1]:
            name = power[1]
            return (
                f"the columns {listed(['Intercept', name, term])} can hardly be told apart: far from "
                f"zero the powers of a column are nearly multiples of each other. Write poly({name}, "
                f"{power[2]}), or subtract a round number first: I(({name} - "
                f"{_round_near(*place)})**{power[2]})."
            )
    return None


def far_powers_within_limits(design: Design) -> str | None:
    """`far_powers` where limits say where a column lies: in its range, all places alike."""

    def lies(name: str) -> tuple[float, float] | None:
        box = design.boxes.get(name)
        return None if box is None else ((box[0] + box[1]) / 2, (box[1] - box[0]) / _UNIFORM)

    return far_powers(design, design.terms, lies)


def _round_near(mean: float, spread: float) -> str:
    """The roundest number within a standard deviation.

    Examples
    --------
    >>> _round_near(2009.7, 2.9), _round_near(101.37, 0.2)
    ('2010', '101.4')
    """
    if not spread > 0:
        return f"{mean:.12g}"
    for places in range(-math.floor(math.log10(abs(mean))), 300):
        if abs(round(mean, places) - mean) <= spread:
            return f"{round(mean, places):.15g}"
    return f"{mean:.12g}"
