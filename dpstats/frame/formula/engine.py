"""The one module that touches formulaic (1.2).

formulaic parses the operators, decides which columns a set of terms needs, names them, codes the
contrasts and computes the polynomial and spline bases. It never evaluates a factor here: factors
are put into its cache already evaluated, so no Python text reaches it. Private numbers reach its
`poly` and splines alone (`apply_basis`), with what was learnt from public rows, row by row.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise, product
from typing import Any

import numpy as np
import pandas as pd
from formulaic import Formula
from formulaic.materializers import PandasMaterializer
from formulaic.materializers.types import EvaluatedFactor, FactorValues
from formulaic.parser import DefaultFormulaParser
from formulaic.parser.algos.tokenize import tokenize
from formulaic.parser.types import Factor as EngineFactor
from formulaic.parser.types import Term as EngineTerm
from formulaic.transforms import (
    TRANSFORMS,
    C,
    basis_spline,
    cyclic_cubic_spline,
    encode_contrasts,
    natural_cubic_spline,
    poly,
    scale,
)
from formulaic.utils.constraints import LinearConstraints

from dpstats.arguments import listed
from dpstats.errors import FormulaError, PublicDataError
from dpstats.frame.formula.advice import word_of_python
from dpstats.frame.formula.grammar import Factor, hide_brackets
from dpstats.frame.formula.natural import apply_natural, combinations_of, learn_natural
from dpstats.frame.table import Array

Term = tuple[Factor, ...]

_MOST_TERMS = 1000
_REFERENCE = re.compile(r"C\((.+), contr\.treatment\((?:base=)?('[^']*'|[^,]+)\)\)")
_KINDS = {"lookup": "column", "python": "expression", "literal": "literal"}


@dataclass(frozen=True)
class Column:
    """One column of the design: ``scale`` times the product of the parts (factor, field)."""

    name: str
    scale: float
    parts: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Fields:
    """The columns one factor contributes by itself.

    ``full`` and ``reduced`` hold the field names with and without the one that the constant
    already spans; ``coding`` (categories only) maps each field to its value at every level, NaN
    where ``C(levels=)`` leaves the level out. ``spans``: the full fields span the constant.
    """

    full: tuple[str, ...]
    reduced: tuple[str, ...]
    spans: bool = False
    coding: Mapping[str, Array] | None = None


@lru_cache(maxsize=128)
def tokens(formula: str) -> tuple[tuple[str, str, int], ...]:
    """Text, kind ("name", "python", "operator", ...) and position of a formula's tokens.

    Examples
    --------
    >>> tokens("y ~ log(x)")
    (('y', 'name', 0), ('~', 'operator', 2), ('log(x)', 'python', 4))
    """
    hidden, back = hide_brackets(formula)
    try:
        return tuple(
            (
                token.token.translate(back),
                token.kind.value if token.kind else "",
                token.source_start or 0,
            )
            for token in tokenize(hidden)
        )
    except Exception as error:
        raise _unparsed(formula, error) from None


def parse_terms(
    formula: str, available: Sequence[str]
) -> tuple[tuple[Term, ...] | None, tuple[Term, ...]]:
    """Terms of the left side (None when there is none) and of the right; () is the constant.

    The caller has checked the tokens: formulaic evaluates parts of them to find variables.
    """
    parser = DefaultFormulaParser(feature_flags={"twosided"})
    context = {"__formulaic_variables_available__": list(available)}
    _check_size(formula, parser, len(available))
    hidden, back = hide_brackets(formula)
    try:
        result = Formula(hidden, _parser=parser, _context=context)
    except Exception as error:
        raise _unparsed(formula, error) from None
    if hasattr(result, "lhs"):
        return _terms(result.lhs, back), _terms(result.rhs, back)
    return None, _terms(result, back)


def _check_size(formula: str, parser: DefaultFormulaParser, available: int) -> None:
    """Raise before a formula of a few characters becomes terms without end.

    An upper bound from the tree alone: products multiply, and a power of a sum is multiplied out
    before equal terms are merged. Sums may have any length.
    """
    if set("*^:/%").isdisjoint(formula) and " in " not in formula:
        return
    try:
        top = parser.get_ast(hide_brackets(formula)[0])
    except Exception:  # the parser itself says why
        return
    # children before parents, without recursion: a tree may be as deep as the formula is long
    nodes, order = [top], []
    while nodes:
        node = nodes.pop()
        order.append(node)
        nodes += list(getattr(node, "args", ()))
    count: dict[int, int] = {}
    products: set[int] = set()
    for node in reversed(order):
        args = getattr(node, "args", None)
        if args is None:
            count[id(node)] = 1
            continue
        sizes = [count[id(arg)] for arg in args]
        symbol = node.operator.symbol
        made = available if symbol == "." else sum(sizes)
        large = False
        if symbol in ("^", "**"):
            power = str(args[-1])
            times = int(power) if power.isdigit() and len(power) < 6 else _MOST_TERMS
            large = times > 50 or sizes[0] ** times > 100 * _MOST_TERMS
            made = 0 if large else sum(math.comb(sizes[0], k) for k in range(1, times + 1))
            large = large or made > _MOST_TERMS
        elif symbol in ("*", ":", "/", "in") and len(sizes) == 2:
            made = sizes[0] * sizes[1] + (0 if symbol == ":" else made)
            # one column times a long sum is what its user wrote; a product of products is not
            product_of_sums = min(sizes) > 1 or any(id(arg) in products for arg in args)
            large = product_of_sums and made > _MOST_TERMS
            products.add(id(node))
        if large:
            raise FormulaError(
                f"'{_start(formula)}' has too many terms once it is multiplied out: products and "
                f"powers may make at most {_MOST_TERMS}."
            )
        count[id(node)] = made


def _start(formula: str) -> str:
    return formula if len(formula) <= 100 else f"{formula[:100]}..."


def _terms(terms: Iterable[Any], back: Mapping[int, int]) -> tuple[Term, ...]:
    named = [
        tuple(
            Factor(factor.expr.translate(back), _KINDS[factor.eval_method.value])
            for factor in term.factors
        )
        for term in terms
    ]
    return tuple(() if term == (Factor("1", "literal"),) else term for term in named)


def _unparsed(formula: str, error: Exception) -> FormulaError:
    """With formulaic's message on one line, without terminal colours."""
    reason = " ".join(
        re.sub(r"\x1b\[[0-9;]*m|[⧛⧚]", "", str(error).translate(hide_brackets(formula)[1])).split()
    )
    reason = reason.removesuffix(f" {_start(formula)}")
    if "context marker" in reason:
        reason = "brackets do not match; every ( needs a )."
    elif "insuff" in reason:
        reason = (
            "an operator has nothing beside it; 'y ~ x1 + x2' has a term on both sides of every +."
        )
    elif reason.startswith("Missing operator"):
        reason = _joined(formula, reason)
    elif "invalid syntax" in reason:
        reason = f"{word_of_python(formula) or reason}."
    if re.search("%%|%/%", formula):
        reason = "%% and %/% belong inside I(), as in I(x %% 2)."
    return FormulaError(f"'{formula}' cannot be parsed: {reason}")


def _joined(formula: str, reason: str) -> str:
    """What to type where two words of a formula have only a blank between them."""
    pair = re.findall("`(.+?)`", reason)
    words = next((w for w in re.findall(r"\w[\w. ]*\w", formula) if " ".join(pair) in w), None)
    if words is None:
        return reason
    return (
        f"{reason} Terms are joined by +; a column with a blank in its name goes in backticks: "
        f"`{words}`."
    )


def linear_constraints(text: str, names: Sequence[str]) -> tuple[Array, Array]:
    """R and q of the equations R b = q that a text states between names, by formulaic."""
    found = LinearConstraints.from_spec(text, list(names))
    matrix = np.atleast_2d(np.asarray(found.constraint_matrix, dtype=np.float64))
    return matrix, np.atleast_1d(np.asarray(found.constraint_values, dtype=np.float64))


def category_fields(text: str, levels: Sequence[Any], options: Mapping[str, Any]) -> Fields:
    """Field names and coding of a category, by formulaic's contrasts.

    Examples
    --------
    >>> category_fields("g", ["a", "b"], {}).reduced
    ('g[T.b]',)
    """
    kept = _plain_levels(options.get("levels") or levels)
    if len(kept) < 2 or not set(kept) <= set(levels):
        known = listed([*map(str, levels)]) or "none"
        raise PublicDataError(
            f"`{text}` needs two or more levels, all among those that its column has: {known}. Leave it "
            "out of the formula, or declare its levels with limits={column: [levels]}."
        )
    names, coding = [], {}
    shown = [*map(short_level, kept)]
    try:
        for reduced in (False, True):
            with np.errstate(all="ignore"):
                values = encode_contrasts(
                    pd.Series(pd.Categorical(shown, categories=shown)),
                    contrasts=_contrasts(options.get("contrasts"), shown),
                    levels=shown,
                    reduced_rank=reduced,
                    output="pandas",
                )
            metadata = values.__formulaic_metadata__
            form = metadata.get_format()
            fields = [form.format(name=text, field=name) for name in metadata.column_names]
            table = np.full((len(levels), len(fields)), np.nan)
            coded = np.asarray(values, np.float64)
            if not np.isfinite(coded).all():
                raise ValueError("they are not finite")
            table[[list(levels).index(level) for level in kept]] = coded
            coding.update({name: table[:, j].copy() for j, name in enumerate(fields)})
            names.append(tuple(fields))
    except (ValueError, TypeError, IndexError, AttributeError) as error:
        reference = _REFERENCE.fullmatch(text)
        what = f"the contrasts of `{text}` do not fit its levels"
        if reference is not None:
            what = f"`{reference[1]}` has no level {reference[2]} to compare others with"
        raise FormulaError(f"{what}: {error}.") from None
    return Fields(names[0], names[1], bool(options.get("spans_intercept", True)), coding)


def combined_levels(levels: Sequence[Sequence[Any]], sep: str = ".") -> Sequence[Any]:
    """Levels of a category; of several categories all combinations, the first one's fastest.

    Examples
    --------
    >>> combined_levels([["a", "b"], [0, 1]])
    ['a.0', 'b.0', 'a.1', 'b.1']
    """
    if len(levels) == 1:
        return levels[0]
    if math.prod(map(len, levels)) > _MOST_TERMS:
        raise FormulaError(f"interaction() makes {_MOST_TERMS} levels at most.")
    short = [[*map(short_level, one)] for one in levels]
    made = [sep.join(reversed(parts)) for parts in product(*reversed(short))]
    if len(set(made)) < len(made):
        raise FormulaError(
            "interaction() would give two combinations of levels the same name: instead of "
            f"'{sep}', write sep='/' or another text that occurs in no level."
        )
    return made


def _plain_levels(levels: Any) -> list[Any]:
    """The levels of C(levels=...), none where they are something else."""
    if not isinstance(levels, list | tuple):
        return []
    return list(levels) if all(isinstance(v, str | bool | int | float) for v in levels) else []


def _contrasts(spec: Any, levels: Sequence[str]) -> Any:
    if not isinstance(spec, dict):
        return spec
    given = dict(spec["options"])
    if given.pop("n", len(levels)) != len(levels):
        raise ValueError(f"there are {len(levels)}")
    if "level" in given:  # counted from 1
        at = given.pop("level")
        if not 1 <= at <= len(levels):
            raise ValueError(f"base={at} must be one of the levels 1 to {len(levels)}")
        given["base"] = levels[at - 1]
    if "base" in given:
        counts = f"; C(g, base={given['base']}) counts them" if type(given["base"]) is int else ""
        # '4' means the number 4 where levels are numbers
        given["base"] = short_level(given["base"])
        if given["base"] not in levels:
            raise ValueError(f"'{given['base']}' is not one of {', '.join(levels[:12])}{counts}")
    return getattr(TRANSFORMS["contr"], spec["contrast"])(**given)


def short_level(level: Any) -> str:
    """A level as names of columns show it: 2.0 as 2."""
    whole = isinstance(level, float) and level.is_integer() and abs(level) < 2**53
    return str(int(level) if whole else level)


def basis_fields(text: str, op: str, options: Mapping[str, Any], width: int) -> Fields:
    """Field names of a basis with ``width`` columns."""
    if op == "cut":
        names = tuple(f"{text}[{label}]" for label in cut_labels(options))
        return Fields(names, names[1:], True)
    spans = op in ("bs", "ns") and bool(options.get("include_intercept", False))
    full = tuple(f"{text}[{i}]" for i in range(1, width + 1))
    return Fields(full, full[1:] if spans else full, spans)


def structure(terms: Sequence[Term], factors: Mapping[str, Fields]) -> tuple[Column, ...]:
    """The columns that the terms need, at full structural rank, in formulaic's order and names."""
    columns = _plain(terms, factors)
    return _structure(terms, factors) if columns is None else columns


def _plain(terms: Sequence[Term], factors: Mapping[str, Fields]) -> tuple[Column, ...] | None:
    """The columns of sums of numbers, which are what they are; None where a term is more than that."""
    columns = []
    for term in terms:
        if not term:
            columns.append(Column("Intercept", 1.0, ()))
            continue
        text = term[0].text
        simple = len(term) == 1 and term[0].kind != "literal"
        if not simple or factors[text] != Fields((text,), (text,)):
            return None
        columns.append(Column(text, 1.0, ((text, text),)))
    return tuple(columns) if len({column.name for column in columns}) == len(columns) else None


def _structure(terms: Sequence[Term], factors: Mapping[str, Fields]) -> tuple[Column, ...]:
    """The columns that the terms need, from formulaic's own encoding of categories."""
    materializer = PandasMaterializer(pd.DataFrame(index=pd.RangeIndex(2)), context={})
    formula_terms = []
    for term in terms:
        made = [_engine_factor(factor) for factor in term] or [
            EngineFactor("1", eval_method="literal")
        ]
        formula_terms.append(EngineTerm(made))
        for factor in made:
            if factor.eval_method is not EngineFactor.EvalMethod.LITERAL:
                materializer.factor_cache[factor.expr] = EvaluatedFactor(
                    factor, _stand_in(factor.expr, factors[factor.expr]), set()
                )
    matrix = materializer.get_model_matrix(
        Formula(formula_terms, _ordering="none"), na_action="ignore", output="pandas"
    )
    columns: list[Column] = []
    for row in matrix.model_spec.structure:
        for scoped in row.scoped_terms:
            columns += _scoped_columns(scoped, factors)
    for name, times in Counter(column.name for column in columns).items():
        if times > 1:
            raise FormulaError(
                f"two columns of the design would be called '{name}': rename that column of the "
                "table."
            )
    return tuple(columns)


def _engine_factor(factor: Factor) -> EngineFactor:
    method = "literal" if factor.kind == "literal" else "lookup"
    return EngineFactor(factor.text, eval_method=method)


def _stand_in(text: str, fields: Fields) -> FactorValues[Any]:
    """Two rows of nothing that make formulaic treat the factor as what it is."""
    nothing = np.zeros(2)
    if fields.coding is not None:
        return C(pd.Series(pd.Categorical(["a", "b"])), spans_intercept=fields.spans)
    if fields.full == (text,):
        return FactorValues(nothing, kind="numerical", spans_intercept=False)
    return FactorValues(
        dict.fromkeys(fields.full, nothing),
        kind="numerical",
        spans_intercept=fields.spans,
        drop_field=fields.full[0] if fields.spans else None,
        format="{field}",
    )


def _scoped_columns(scoped: Any, factors: Mapping[str, Fields]) -> list[Column]:
    weight = float(scoped.scale)
    if not scoped.factors:
        return [Column("Intercept", weight, ())]
    choices = []
    for factor in scoped.factors:
        fields = factors[factor.factor.expr]
        names = fields.reduced if factor.reduced else fields.full
        choices.append([(factor.factor.expr, name) for name in names])
    # formulaic lets the first factor of an interaction vary fastest, as R does
    return [
        Column(":".join(name for _, name in parts[::-1]), weight, parts[::-1])
        for parts in product(*reversed(choices))
    ]


def learn_state(op: str, x: Array, options: Mapping[str, Any]) -> dict[str, Any]:
    """The state that a transform learns from public rows, in types of JSON."""
    if len(x) < 2:
        raise ValueError("fewer than two usable rows")
    state: dict[str, Any] = {}
    if op in ("center", "scale"):
        scale(x, **({"scale": False} if op == "center" else options), _state=state)
        learnt = {
            key: None if state[key] is None else float(state[key]) for key in ("center", "scale")
        }
        if not all(v is None or np.isfinite(v) for v in learnt.values()) or learnt["scale"] == 0:
            raise ValueError("the column does not vary")
        return learnt
    if op == "poly":
        degree = _degree(options)
        if len(np.unique(x)) <= degree:
            raise ValueError(f"degree {degree} needs more than {degree} distinct values")
        poly(x, degree, _state=state)
        return {
            key: [float(state[key][k]) for k in sorted(state[key])] for key in ("alpha", "norms2")
        }
    if float(np.min(x)) == float(np.max(x)):
        raise ValueError("the column does not vary")
    if op == "bs":
        basis_spline(x, **_clipped(op, options), _state=state)
        return {key: _floats(state[key]) for key in ("lower_bound", "upper_bound", "knots")}
    if op == "ns":
        return learn_natural(x, options)
    spline = cyclic_cubic_spline if op == "cc" else natural_cubic_spline
    given = _clipped(op, options)
    if isinstance(given.get("constraints"), list):
        given["constraints"] = np.array(given["constraints"], dtype=np.float64)
    spline(x, **given, _state=state)
    learnt = {key: _floats(state[key]) for key in ("lower_bound", "upper_bound", "knots")}
    constraints = state["constraints"]
    if constraints is not None:
        # the complement itself is kept: its signs may differ between LAPACK builds
        q = np.linalg.qr(np.transpose(constraints), mode="complete")[0]
        learnt["complement"] = q[:, np.shape(constraints)[0] :].tolist()
    return learnt


def apply_basis(
    op: str, x: Array, options: Mapping[str, Any], state: Mapping[str, Any]
) -> list[Array]:
    """The columns of a basis at finite ``x``, each (rows,); every row by itself.

    A value outside the range that bs() has learnt counts as the nearest end of that range; one outside
    the breaks of cut() has none.
    """
    if op == "cut":
        return _cut(x, options)
    if op == "poly":
        degree = _degree(options)
        if options.get("raw", False):
            return [np.asarray(x**k) for k in range(1, degree + 1)]
        learnt = {key: dict(enumerate(values)) for key, values in state.items()}
        columns = np.asarray(poly(x, degree, _state=learnt))
        return [columns[:, j] for j in range(degree)]
    given = _clipped(op, options)
    given.pop("df", None)
    given.pop("knots", None)
    if op == "bs":
        return [np.asarray(v) for v in basis_spline(x, **given, _state=dict(state)).values()]
    if op == "ns":
        return apply_natural(x, state)
    given.pop("constraints", None)
    spline = cyclic_cubic_spline if op == "cc" else natural_cubic_spline
    known = {key: state[key] for key in ("lower_bound", "upper_bound", "knots")}
    known |= {"constraints": None, "cyclic": op == "cc"}
    free = [np.asarray(v) for v in spline(x, **given, _state=known).values()]
    return combinations_of(free, state["complement"]) if "complement" in state else free


def _cut(x: Array, options: Mapping[str, Any]) -> list[Array]:
    """Which interval of R's cut() a value lies in, as columns of 0 and 1."""
    breaks, right = np.array(options["breaks"], dtype=np.float64), bool(options.get("right", True))
    place = np.searchsorted(breaks, x, side="left" if right else "right") - 1
    if options.get("include_lowest", False):
        place = np.where(x == breaks[0 if right else -1], 0 if right else len(breaks) - 2, place)
    outside = (place < 0) | (place > len(breaks) - 2)
    return [np.where(outside, np.nan, place == k) for k in range(len(breaks) - 1)]


def cut_labels(options: Mapping[str, Any]) -> list[str]:
    """R's names of the intervals."""
    labels = options.get("labels")
    breaks = [f"{v:.3g}".replace("inf", "Inf") for v in options["breaks"]]
    if isinstance(labels, list):
        return [str(label) for label in labels]
    right = options.get("right", True)
    out = [f"({a},{b}]" if right else f"[{a},{b})" for a, b in pairwise(breaks)]
    if options.get("include_lowest", False):
        k = 0 if right else -1
        out[k] = f"[{out[k][1:-1]}]"
    return out


def _clipped(op: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Options under which a value out of range raises nothing."""
    given = dict(options)
    if given.get("extrapolation", "raise" if op == "bs" else "extend") == "raise":
        given["extrapolation"] = "clip"
    return given


def _degree(options: Mapping[str, Any]) -> int:
    degree = options.get("degree", 1)
    if type(degree) is not int or degree < 1:
        raise ValueError(f"the degree must be a whole number of at least 1, not {degree!r}")
    return degree


def _floats(value: Any) -> Any:
    return [float(v) for v in value] if np.ndim(value) else float(value)
