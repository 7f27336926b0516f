"""Changes of a design's formula, as R's update() writes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

from dpstats.errors import FormulaError, PublicDataError
from dpstats.frame.design import Design
from dpstats.frame.formula import engine
from dpstats.frame.formula.bind import response_of
from dpstats.frame.formula.engine import Column, Term
from dpstats.frame.formula.grammar import BASES, Factor
from dpstats.frame.formula.parse import (
    Parsed,
    expand_dot,
    formula_text,
    parse,
    split_sides,
    term_code,
)
from dpstats.frame.schema import declared_spec


def columns_of(design: Design, change: str) -> tuple[str, list[int]]:
    """The sub-model that R's ``update()`` would fit: its formula, and positions of its columns.

    ``change`` is such as ``"~ . - x2"`` or ``"y ~ x1"``; ``.`` stands for that side as it is.

    Examples
    --------
    >>> from dpstats.frame import declare_design
    >>> schema = {"y": float, "x1": float, "x2": float}
    >>> columns_of(declare_design("y ~ x1 * x2", schema), "~ . - x1:x2")
    ('y ~ x1 + x2', [0, 1, 2])
    """
    parsed = _parse(design, change)
    if parsed.response is not None and parsed.response.text != design.response:
        raise _another_call(design, change, f"the response `{parsed.response.text}`")
    if sorted(parsed.offsets) != sorted(_offset_calls(design)):
        raise _another_call(design, change, "another offset")
    for term in parsed.terms:
        for factor in term:
            if factor.kind != "literal" and factor.text not in design.factors:
                raise _another_call(design, change, f"`{factor.text}`")
    _require_known(design, change)
    fields = {text: factor.fields for text, factor in design.factors.items()}
    program = engine.structure(parsed.terms, fields)
    position = {_what(column): j for j, column in enumerate(design.program)}
    for column in program:
        if _what(column) not in position:
            raise _another_call(
                design, change, f"the column '{column.name}'", _coded_anew(design, column)
            )
    if not program:
        raise FormulaError(f"'{change}' leaves no column.")
    text = formula_text(_code(design.written_response), parsed.terms, parsed.offsets)
    return text, [position[_what(column)] for column in program]


def _require_known(design: Design, change: str) -> None:
    """Raise where a term is left out that was never there: most often its name is mistyped."""
    right = split_sides(change)[1]
    for text, kind, start in engine.tokens(right):
        if kind == "operator" and "-" in text:  # what is left out is named as what is added
            right = right[:start] + right[start:].replace("-", "+", text.count("-"))
    named = parse("~ " + expand_dot(right, _right_side(design))).terms
    for text in (factor.text for term in named for factor in term if factor.kind != "literal"):
        if text not in design.factors:
            near = get_close_matches(text, design.factors, 1)
            hint = f"; did you mean `{near[0]}`?" if near else "."
            raise FormulaError(
                f"'{change}' leaves out `{text}`, which is not in '{design.formula}'{hint}"
            )


def subset_design(design: Design, formula: str, kept: Sequence[int]) -> Design:
    """The design of a sub-model, from what `columns_of` returned.

    Examples
    --------
    >>> from dpstats.frame import declare_design
    >>> design = declare_design("y ~ x1 + x2", {"y": float, "x1": float, "x2": float})
    >>> subset_design(design, *columns_of(design, "~ . - x2")).terms
    ('Intercept', 'x1')
    """
    program = tuple(design.program[j] for j in kept)
    used = {text for column in program for text, _ in column.parts}
    return replace(
        design,
        formula=formula,
        terms=tuple(column.name for column in program),
        program=program,
        rhs=parse(formula).terms,
        factors={text: factor for text, factor in design.factors.items() if text in used},
    )


def require_formula(design: Design, formula: str) -> None:
    """Raise FormulaError unless ``formula`` is the one of this design."""
    parsed = _parse(design, formula)
    response = None if parsed.response is None else parsed.response.text
    if response != design.response or not _same_right(design, parsed):
        raise FormulaError(
            f"the public moments are those of '{design.formula}', not of '{formula}'. Compute "
            "public_moments for the new formula."
        )


def with_response(design: Design, formula: str, schema: Mapping[str, Any] | None = None) -> Design:
    """Give a one-sided design the response of ``formula``.

    Parameters
    ----------
    formula : str
        The right-hand side must be the one of this design, or ``.``.
    schema : dict, optional
        ``{"y": bool}`` or ``{"y": ["no", "yes"]}`` if the response is not a number.
    """
    schema = schema or {}
    parsed = _parse(design, formula)
    if parsed.response is None:
        raise FormulaError(f"'{formula}' has no response; write 'y {formula.strip()}'.")
    if not _same_right(design, parsed):
        raise FormulaError(
            f"'{formula}' and '{design.formula}' differ on the right-hand side: the public "
            "moments belong to the latter. Compute public_moments for the new formula."
        )
    expr = parsed.response.parse()
    for name in expr.columns:
        if any(name in factor.expr.columns for factor in design.factors.values()):
            raise FormulaError(
                f"`{name}` is the response of '{formula}' and also on its right-hand side. Compute "
                "public_moments without it."
            )
    if expr.stateful or expr.op in BASES:
        raise PublicDataError(
            f"the response `{parsed.response.text}` learns from public rows, and the public "
            "moments were computed without a response. Use a response such as y or log(y), "
            "or compute public_moments with the two-sided formula."
        )
    columns = dict(design.columns)
    for name in expr.columns:
        if name not in columns:
            columns[name] = declared_spec(name, schema.get(name, float)).spec
    return replace(
        design,
        formula=formula_text(parsed.response.code, design.rhs, _offset_calls(design)),
        columns=columns,
        **response_of(parsed.response, columns),
    )


def _parse(design: Design, change: str) -> Parsed:
    """Parse a formula in which ``.`` stands for that side as it is."""
    left, right = split_sides(change)
    full = expand_dot(right, _right_side(design))
    if full != right and () not in design.rhs:
        full = f"0 + {full}"
    left = expand_dot(left, _code(design.written_response) or "")
    return parse(f"{left} ~ {full}")


def _right_side(design: Design) -> str:
    """What ``.`` stands for on the right."""
    terms = [term_code(term) for term in design.rhs if term] or ["1"]
    return f"({' + '.join([*terms, *_offset_calls(design)])})"


def _same_right(design: Design, parsed: Parsed) -> bool:
    """Whether the right-hand sides agree, in whatever order they are written."""
    offsets = sorted(parsed.offsets) == sorted(_offset_calls(design))
    return offsets and _unordered(parsed.terms) == _unordered(design.rhs)


def _unordered(terms: Iterable[Term]) -> set[frozenset[Factor]]:
    return {frozenset(term) for term in terms}


def _what(column: Column) -> tuple[float, frozenset[tuple[str, str]]]:
    """A column whatever the order of its factors: z:x is x:z."""
    return column.scale, frozenset(column.parts)


def _offset_calls(design: Design) -> tuple[str, ...]:
    """The offsets that the formula holds, as opposed to offset=."""
    return tuple(text for text in design.offsets if text.startswith("offset("))


def _code(factor: Factor | None) -> str | None:
    return None if factor is None else factor.code


def _coded_anew(design: Design, column: Column) -> str:
    """A sentence on a category that has a column for each level once a term is left out, as in R."""
    factors = {text for text, _ in column.parts}
    if not any(factors == {text for text, _ in own.parts} for own in design.program):
        return ""
    name = ":".join(text for text, _ in column.parts)
    return (
        f" Without what is left out `{name}` has a column for each of its levels, as in R: leave "
        f"`{name}` out too, or keep what was left out."
    )


def _another_call(design: Design, change: str, what: str, why: str = "") -> FormulaError:
    return FormulaError(
        f"'{change}' needs {what}, which this fit does not hold (its columns: "
        f"{', '.join(design.terms)}).{why} Fit it again with the new formula, at its own privacy "
        "cost."
    )
