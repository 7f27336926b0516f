"""What a formula reads of a table: its columns, and those that it takes for categories."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dpstats.errors import FormulaError, SchemaError
from dpstats.frame.formula import engine
from dpstats.frame.formula.grammar import Expr, Factor, parse_factor
from dpstats.frame.formula.parse import Parsed, parse, split_sides
from dpstats.frame.formula.r_spelling import in_python
from dpstats.frame.schema import Declared
from dpstats.frame.table import ADVICE, WORDS, Table

_CALCULATED = frozenset("()*/+^")  # in what is no column, signs of an expression


def formula_columns(formula: str) -> dict[str, bool]:
    """The columns that a formula reads, and whether it takes a logarithm or a root of them.

    Examples
    --------
    >>> formula_columns("y ~ x + log(z)")
    {'y': False, 'x': False, 'z': True}
    """
    parsed, offsets = parsed_formula(formula, (), None, None)
    factors = sorted(all_factors(parsed, offsets), key=lambda f: formula.find(f.columns[0]))
    nodes = [node for factor in factors for node in factor.walk()]
    logged = {
        name
        for node in nodes
        if node.op in ("log", "log2", "log10", "sqrt")
        for name in node.columns
    }
    return {node.value: node.value in logged for node in nodes if node.op == "column"}


def used_columns(
    formula: str, names: Sequence[str], weights: str | None, offset: str | None
) -> tuple[str, ...]:
    """The columns that a formula, its weights and its offset read, of a table with these names."""
    parsed, offsets = parsed_formula(formula, names, weights, offset)
    needed = dict.fromkeys(n for f in all_factors(parsed, offsets) for n in f.columns)
    return tuple(needed | ({} if weights is None else {weights: None}))


def categories_written(
    formula: str, names: Sequence[str], weights: str | None, offset: str | None
) -> frozenset[str]:
    """The columns that a formula itself takes for categories: factor(g), g == 'a'."""
    parsed, offsets = parsed_formula(formula, names, weights, offset)
    nodes = (node for factor in all_factors(parsed, offsets) for node in factor.walk())
    return frozenset(arg.value for n in nodes if n.op in ("C", "is", "is not") for arg in n.args)


def levels_written(
    formula: str, names: Sequence[str], weights: str | None, offset: str | None
) -> dict[str, list[Any]]:
    """The levels that a formula itself declares, factor(g, levels=c('a', 'b')), by column."""
    parsed, offsets = parsed_formula(formula, names, weights, offset)
    out: dict[str, list[Any]] = {}
    for factor in all_factors(parsed, offsets):
        levels = factor.value.get("levels") if factor.op == "C" and factor.value else None
        if isinstance(levels, list) and len(factor.columns) == 1:
            own = out.setdefault(factor.columns[0], [])
            own += [level for level in levels if level not in own]
    return out


def check_written(formula: str, weights: str | None, offset: str | None) -> None:
    """Raise unless they are text that reads as a formula, and names; no table is needed for that."""
    split_sides(formula)
    for role, name in (("weights", weights), ("offset", offset)):
        if name is not None and not isinstance(name, str):
            raise SchemaError(f"{role}= takes the name of a column, not {type(name).__name__}.")


def parsed_formula(
    formula: str, names: Sequence[str], weights: str | None, offset: str | None
) -> tuple[Parsed, tuple[str, ...]]:
    check_written(formula, weights, offset)
    hidden = [name for name in (weights, offset) if name is not None]
    for role, name in (("weights", weights), ("offset", offset)):
        if name is not None and name not in names and not _CALCULATED.isdisjoint(name):
            raise SchemaError(_calculated(formula, role, name))
    parsed = parse(formula, names, hidden)
    response = parsed.response
    if response is not None and any(response.text == f.text for t in parsed.terms for f in t):
        raise FormulaError(
            f"`{response.text}` is the response of '{formula}' and also on its right-hand side: "
            "leave it out there."
        )
    given = () if offset is None else (f"`{offset}`",)
    return parsed, (*parsed.offsets, *given)


def _calculated(formula: str, role: str, text: str) -> str:
    """What to type where an argument is an expression, and not the name of a column."""
    if role == "offset":
        term = re.sub(r"\b(np|numpy)\.", "", text)
        return f"offset= takes the name of a column; write '{formula} + offset({term})' instead."
    return f"weights= takes the name of a column: make one that holds {text}, in both tables."


def right_side(parsed: Parsed) -> list[Expr]:
    written: dict[Factor, None] = dict.fromkeys(
        factor for term in parsed.terms for factor in term if factor.kind != "literal"
    )
    return [factor.parse() for factor in written]


def all_factors(parsed: Parsed, offsets: Iterable[str]) -> list[Expr]:
    """All factors of a formula: of the right-hand side, the response and the offsets."""
    response = [] if parsed.response is None else [parsed.response.parse()]
    return [*right_side(parsed), *response, *map(parse_factor, offsets)]


def with_levels_written(
    limits: Mapping[str, Any],
    formula: str,
    names: Sequence[str],
    weights: str | None,
    offset: str | None,
) -> dict[str, Any]:
    """Limits with the levels that a formula declares: lists of others come first, ranges do not."""
    out = dict(limits)
    for name, levels in levels_written(formula, names, weights, offset).items():
        if not isinstance(out.get(name), list | Declared):
            out[name] = levels
    return out


def held_by(table: Table, name: str, kind: str, formula: str) -> str:
    """What a column holds that no formula can use, and what to type instead."""
    advice = [ADVICE[kind]] if kind in ADVICE else []
    dot = any(text == "." for text, _, _ in engine.tokens(in_python(formula)))
    if dot and name not in formula:
        advice.append(f"or leave it out: '. - {Factor(name, 'column').code}' in place of '.'")
    return "; ".join([f"`{name}` holds {WORDS[kind]} ({table.type_of(name).label})", *advice]) + "."
