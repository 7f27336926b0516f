"""Formulas of classifications, smooth curves and clouds of points, with their first columns.

``g ~ x1 + x2`` becomes the design ``0 + C(g) + x1 + x2``: an indicator for each of the public
classes, then the features. ``y ~ x1 + x2`` of a smooth curve and ``~ x1 + x2`` of points keep a
constant, which is 0 for a row that is missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from dpstats.errors import DPStatsError, FormulaError
from dpstats.frame.design import Design
from dpstats.frame.formula.grammar import Factor
from dpstats.frame.formula.learn import declare_design, learn_design
from dpstats.frame.formula.parse import formula_text, parse
from dpstats.frame.source import public_table


def class_design(formula: str, public: Any, limits: Mapping[str, Any]) -> tuple[Design, str]:
    """The design of a classification and the name of its class column.

    From public rows; where ``public`` is None from declared limits.
    """
    names = tuple(limits) if public is None else public_table(public).names
    text, name = classes_formula(formula, names)
    with as_written(formula, text, name):
        if public is None:
            design = declare_design(text, limits)
        else:
            design = learn_design(text, public, limits=limits)
        return replace(design, formula=formula), name


@contextmanager
def as_written(formula: str, inside: str, name: str) -> Iterator[None]:
    """Errors speak of the formula that the user wrote."""
    try:
        yield
    except DPStatsError as error:
        kind, message = type(error), str(error).replace(inside, formula)
        if f"`C({name})` needs two or more levels" in message:
            message = (
                f"`{name}` has one class; a classifier needs two or more: add public rows of others, or "
                f"declare the classes, limits={{'{name}': ['a', 'b']}}."
            )
    else:
        return
    raise kind(message)


def classes_formula(formula: str, names: Sequence[str]) -> tuple[str, str]:
    """The formula of a classification with its classes first, and the name of their column."""
    parsed = parse(formula, names)
    if parsed.response is None:
        raise FormulaError("the formula has no class on its left side: write 'class ~ x1 + x2'.")
    expr = parsed.response.parse()
    if expr.op not in ("column", "C") or len(expr.columns) != 1:
        raise FormulaError(
            f"`{parsed.response.text}` is not a class; the left side is the column that holds the "
            "classes (text, a category, a bool, or whole numbers)."
        )
    name = expr.columns[0]
    used = {
        c
        for term in parsed.terms
        for factor in term
        if factor.kind != "literal"
        for c in factor.parse().columns
    }
    if name in used:
        raise FormulaError(
            f"`{name}` is the class and also on the right-hand side: leave it out there."
        )
    if parsed.offsets:
        raise FormulaError("a classification has no offset: leave offset() out of the formula.")
    features = formula_text(None, tuple(t for t in parsed.terms if t), ()).removeprefix("~ ")
    features = features.removeprefix("0 + ")
    if features in ("1", "0"):
        raise FormulaError("the formula has no feature on its right side: write 'class ~ x1 + x2'.")
    return f"~ 0 + C({Factor(name, 'column').code}) + {features}", name


def curve_formula(formula: str, names: Sequence[str]) -> str:
    """The formula of a curve with its constant first."""
    parsed = parse(formula, names)
    if parsed.response is None:
        raise FormulaError("the formula has no response: write 'y ~ x1 + x2'.")
    if parsed.offsets:
        raise FormulaError("a kernel regression has no offset: subtract it from the response.")
    terms = tuple(t for t in parsed.terms if t)
    if not terms:
        raise FormulaError("the formula has no covariate on its right side: write 'y ~ x1'.")
    return formula_text(parsed.response.code, ((), *terms), ())


def points_formula(columns: str | Sequence[str], names: Sequence[str]) -> str:
    """The formula of points with a constant first, from a one-sided formula or a list of columns."""
    if not isinstance(columns, str):
        columns = listed_formula(columns)
    parsed = parse(columns, names)
    if parsed.response is not None:
        written = formula_text(None, ((), (parsed.response,), *(t for t in parsed.terms if t)), ())
        raise FormulaError(
            f"'{columns}' has a response; here all columns are alike: write '{written}', or dp_lm "
            "for a regression."
        )
    if parsed.offsets:
        raise FormulaError("points have no offset: leave offset() out of the formula.")
    terms = tuple(t for t in parsed.terms if t)
    if not terms:
        raise FormulaError("the formula has no column: write '~ x1 + x2', or ['x1', 'x2'].")
    return formula_text(None, ((), *terms), ())


def check_columns(columns: Any) -> None:
    """Raise unless this is a formula or a list of names."""
    message = (
        "the first argument names the columns: a one-sided formula such as '~ x1 + x2', or a list "
        "such as ['x1', 'x2']"
    )
    if isinstance(columns, str):
        if "~" not in columns:
            names = columns.replace("+", " ").split()
            better = f": write '~ {columns.strip()}'" if names else ""
            better += f", or {names}" if names and all(n.isidentifier() for n in names) else ""
            raise FormulaError(f"{message}; '{columns}' has no '~'{better}.")
        return
    table = hasattr(columns, "columns") or isinstance(columns, Mapping | set | frozenset | bytes)
    if table or not isinstance(columns, Iterable):
        raise FormulaError(f"{message}, not {type(columns).__name__}.")
    names = list(columns)
    if not names or not all(isinstance(n, str) and n and "`" not in n for n in names):
        raise FormulaError(f"{message}.")


def listed_formula(columns: Sequence[str]) -> str:
    """A list of columns as a one-sided formula."""
    check_columns(columns)
    names = list(columns)
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if twice:
        raise FormulaError(f"column `{twice[0]}` is listed twice: leave one out.")
    return "~ " + " + ".join(Factor(name, "column").code for name in names)


def features_design(design: Design, classes: int) -> Design:
    """The features of a classification's design, for rows whose class is not known."""
    first = design.rhs[0]
    name = first[0].text
    factors = {text: factor for text, factor in design.factors.items() if text != name}
    used = {column for factor in factors.values() for column in factor.expr.columns}
    return replace(
        design,
        terms=design.terms[classes:],
        program=design.program[classes:],
        rhs=design.rhs[1:],
        factors=factors,
        columns={column: spec for column, spec in design.columns.items() if column in used},
    )
