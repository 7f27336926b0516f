"""Parsing and writing of formulas; no table is read."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from dpstats.errors import FormulaError
from dpstats.frame.formula import engine
from dpstats.frame.formula.advice import misread, powers_note
from dpstats.frame.formula.engine import Term
from dpstats.frame.formula.grammar import Factor, parse_factor, replace_quotes
from dpstats.frame.formula.r_spelling import in_python

_SIDES = (
    "has one left-hand side and one right-hand side, as in 'y ~ x1 + x2' or '~ x1 + x2'; '|' and "
    "a second '~', for effects and instruments, are those of dp_feols"
)


@dataclass(frozen=True)
class Parsed:
    """Response, terms (the constant is ``()``) and the text of each ``offset(...)``."""

    response: Factor | None
    terms: tuple[Term, ...]
    offsets: tuple[str, ...]


def parse(formula: str, available: Sequence[str] = (), hidden: Iterable[str] = ()) -> Parsed:
    """Parse a formula and check every factor's syntax.

    ``available`` are the columns that ``.`` on the right stands for, less the response, offsets and
    ``hidden``.

    Examples
    --------
    >>> [[factor.text for factor in term] for term in parse("y ~ x * z").terms]
    [[], ['x'], ['z'], ['x', 'z']]
    """
    split_sides(formula)
    return _parsed(formula, tuple(available), frozenset(hidden))


@lru_cache(maxsize=128)  # a formula is fitted again and again: other budgets, seeds, data
def _parsed(formula: str, available: tuple[str, ...], hidden: frozenset[str]) -> Parsed:
    formula = in_python(formula)
    first = _parse(formula, ())
    if "." not in formula:  # nothing stands for the columns of a table
        return first
    used = {*hidden}
    if first.response is not None:
        used.update(first.response.parse().columns)
    for text in first.offsets:
        used.update(parse_factor(text).columns)
    return _parse(formula, [name for name in available if name not in used])


def split_sides(formula: str) -> tuple[str, str]:
    """Left and right text of a formula, once its tokens are checked."""
    if not isinstance(formula, str):
        raise FormulaError(
            f"the formula must be text such as 'y ~ x1 + x2', not {type(formula).__name__}."
        )
    return _sides(formula)


def formula_notes(formula: str, ordered: Sequence[str] = ()) -> tuple[str, ...]:
    """What a result says of a formula that was read; ``ordered``: columns that are so by their type."""
    notes = powers_note(engine.tokens(in_python(formula)))
    if not ordered:
        return notes
    names = ", ".join(f"`{name}`" for name in ordered[:_NAMED])
    return (
        *notes,
        f"Levels of {names} have an order by their type: coefficients are a line, .L, and bends along "
        f"them, as in R. factor({ordered[0]}, ordered=FALSE) compares each with the first.",
    )


_NAMED = 4
"""Columns that a note names at most."""


@lru_cache(maxsize=128)
def _sides(formula: str) -> tuple[str, str]:
    formula = in_python(formula)
    replace_quotes(formula)  # refuses names that are empty
    names, expressions, tildes = set(), set(), []
    found = engine.tokens(formula)
    why = misread(formula, found)
    if why is not None:
        raise FormulaError(f"the formula '{formula}' cannot be read: {why}.")
    for text, kind, start in found:
        if kind == "name":
            names.add(text)
        elif kind == "python":
            # before formulaic's parser sees it, which evaluates parts of such tokens
            parse_factor(text)
            expressions.add(text)
        elif kind == "value" and not math.isfinite(_value(text)):
            raise FormulaError(f"a number in the formula is too large: {text[:20]}.")
        elif kind == "operator":
            # blanks between operators are not part of the token
            if "~" in text:
                tildes += [formula.find("~", start)] * text.count("~")
            if "|" in text and re.search(r"\([^()]*\|[^()]*\)", formula):
                raise FormulaError(
                    f"'{formula}': there are no random effects; dp_feols has fixed ones, 'y ~ x | g', "
                    "and person= gives errors that allow for what rows of a person share."
                )
            if "|" in text:
                raise FormulaError(f"'{formula}': a formula {_SIDES}.")
    if len(tildes) != 1:
        raise FormulaError(f"'{formula}': a formula {_SIDES}.")
    if names & expressions:
        name = min(names & expressions)
        raise FormulaError(f"`{name}` is both a column and an expression: rename the column.")
    left, right = formula[: tildes[0]].strip(), formula[tildes[0] + 1 :].strip()
    if not right:
        raise FormulaError(f"'{formula}': nothing is right of ~; 'y ~ 1' fits a mean.")
    return left, right


def _value(text: str) -> float:
    try:
        return float(text)
    except ValueError:  # a text
        return 0.0


def expand_dot(text: str, meaning: str) -> str:
    """Put ``meaning`` in the place of every ``.`` that stands alone."""
    for token, _, start in reversed(engine.tokens(text)):
        if token == ".":
            text = text[:start] + meaning + text[start + 1 :]
    return text


def dot_without(formula: str, names: Iterable[str]) -> str:
    """A formula whose ``.`` leaves out these columns.

    Examples
    --------
    >>> dot_without("y ~ . * x", ["id"])
    'y ~ (. - id) * x'
    """
    less = "".join(f" - {Factor(name, 'column').code}" for name in names)
    return expand_dot(formula, f"(.{less})") if less and "." in formula else formula


def formula_text(response: str | None, terms: tuple[Term, ...], offsets: tuple[str, ...]) -> str:
    """A formula with every operator and dot written out.

    Examples
    --------
    >>> parsed = parse("y ~ x * z - 1")
    >>> formula_text("y", parsed.terms, parsed.offsets)
    'y ~ 0 + x + z + x:z'
    """
    right = [term_code(term) for term in terms if term] + list(offsets)
    if () not in terms:
        right.insert(0, "0")
    return f"{response or ''} ~ {' + '.join(right) or '1'}".strip()


def term_code(term: Term) -> str:
    """A term as the formula writes it."""
    return ":".join(factor.code for factor in term) or "1"


def _parse(formula: str, available: Sequence[str]) -> Parsed:
    left, right = engine.parse_terms(formula, available)
    response = None
    if left is not None:
        if len(left) != 1 or len(left[0]) != 1 or left[0][0].kind == "literal":
            raise FormulaError(
                f"'{formula}': the left-hand side must be one numeric response, such as y or "
                "log(y); arithmetic is wrapped in I(), as in I(k / n)."
            )
        response = left[0][0]
    terms, offsets = [], []
    for term in right:
        calls = [p.text for p in term if p.kind == "expression" and _is_offset(p.text)]
        if calls and len(term) > 1:
            raise FormulaError(f"'{formula}': offset() can only be added, not multiplied.")
        if calls:
            offsets += calls
        else:
            terms.append(term)
    return Parsed(response, tuple(terms), tuple(offsets))


def _is_offset(text: str) -> bool:
    return text.startswith("offset(") and parse_factor(text).op == "offset"
