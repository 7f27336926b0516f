"""Design from public rows or a schema: types and levels of columns, and states of transforms."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dpstats.arguments import computable, mapping
from dpstats.errors import FormulaError, PublicDataError, SchemaError
from dpstats.frame.design import BoundFactor, ColumnSpec, Design
from dpstats.frame.formula import engine
from dpstats.frame.formula.bind import bind, response_of
from dpstats.frame.formula.evaluate import State, learn_states, resolve
from dpstats.frame.formula.grammar import Expr, parse_factor
from dpstats.frame.formula.parse import Parsed, formula_text
from dpstats.frame.formula.reads import (
    all_factors,
    held_by,
    parsed_formula,
    right_side,
    with_levels_written,
)
from dpstats.frame.formula.text_levels import require_categories
from dpstats.frame.private_tables import remember_public
from dpstats.frame.schema import Declared, declared_spec, nearest, require_column
from dpstats.frame.source import public_table
from dpstats.frame.table import Array, Levels, Table, check_levels

Mask = npt.NDArray[np.bool_]

WEIGHTS = "(weights)"
# a prime, so that i -> i * k mod 101 visits every grid point: no two columns move together
_GRID = 101
_TELLING = 20
"""Public rows, of which fewer may show only zeros and ones of a column of counts."""


def learn_design(
    formula: str,
    public: Any,
    *,
    weights: str | None = None,
    offset: str | None = None,
    limits: Mapping[str, Any] | None = None,
) -> Design:
    """The design of a formula, with kinds, levels and the state of transforms from public rows.

    Parameters
    ----------
    formula : str
        ``"y ~ x1 + x2"`` or, without a response, ``"~ x1 + x2"``.
    public : table
        pandas, polars or pyarrow.
    weights, offset : str, optional
        Names of columns.
    limits : dict, optional
        ``{"(weights)": (0, upper)}`` bounds the weights; a list of levels for a category
        replaces the public ones.

    Examples
    --------
    >>> import pandas as pd
    >>> public = pd.DataFrame({"y": [1.0, 2.0, 4.0], "g": ["a", "b", "b"]})
    >>> learn_design("y ~ g", public).terms
    ('Intercept', 'g[T.b]')
    """
    limits = mapping("limits", limits)
    table = public_table(public)
    remember_public(public)
    parsed, offsets = parsed_formula(formula, table.names, weights, offset)
    factors = all_factors(parsed, offsets)
    needed = dict.fromkeys(name for factor in factors for name in factor.columns)
    optional = _optional_columns(parsed, offsets, weights)
    if weights is not None:
        needed[weights] = None
    columns: dict[str, ColumnSpec] = {}
    raw: dict[str, Array] = {}
    for name in needed:
        if name in optional and name not in table.names:
            columns[name] = ColumnSpec("number")
            continue
        require_column(table, name, f"'{formula}'")
        columns[name] = _public_spec(table, name, limits.get(name), formula)
        raw[name] = _read(table, name, columns[name])
    clean = _clean(raw, columns, table.n)
    coded = {name for f in factors if f.op == "C" for name in f.columns}
    for name in raw:
        columns[name] = _with_used_levels(
            table, name, columns[name], raw[name][clean], coded, limits
        )
    rows = {name: _read(table, name, columns[name])[clean] for name in raw}
    states = _states(factors, columns, rows, frozenset(set(columns) - set(rows)))
    unbound = weights not in table.names and _limit_of_weights(weights, limits) is None
    if weights is not None and unbound:
        near = nearest(weights, table.names)
        if near:
            raise SchemaError(
                f"the public rows have no column `{weights}` for weights=; did you mean `{near}`?"
            )
    bound = _weight_bound(weights, rows, limits)
    return _build(parsed, columns, states, weights=weights, weight_bound=bound, offsets=offsets)


def declare_design(
    formula: str,
    schema: Mapping[str, Any],
    *,
    weights: str | None = None,
    offset: str | None = None,
    ordered: Collection[str] = (),
) -> Design:
    """The design of a declared schema; no row is needed.

    Parameters
    ----------
    schema : dict
        Column to ``(low, high)`` or ``float`` for a number, a list of levels for a category,
        ``bool``; ``"(weights)": (0, upper)`` for weights. Transforms learn their state on an
        equally spaced grid over the declared ranges.
    ordered : collection of str
        Columns whose type says that their levels have an order: coded as by R's ordered().

    Examples
    --------
    >>> schema = {"y": float, "x": (0, 10), "g": ["a", "b"]}
    >>> declare_design("y ~ center(x) + g", schema).terms
    ('Intercept', 'center(x)', 'g[T.b]')
    """
    schema = mapping("the schema", schema)
    named = tuple(name for name in schema if name != WEIGHTS)
    schema = with_levels_written(schema, formula, named, weights, offset)
    declared = {
        name: declared_spec(name, value) for name, value in schema.items() if name != WEIGHTS
    }
    parsed, offsets = parsed_formula(formula, tuple(declared), weights, offset)
    factors = all_factors(parsed, offsets)
    for factor in factors:
        for name in factor.columns:
            if name not in declared:
                near = nearest(name, tuple(declared))
                meant = "" if near is None else f"did you mean `{near}`? Else "
                raise SchemaError(
                    f"nothing is declared of `{name}`, which '{formula}' needs; {meant}add "
                    f"'{name}': (low, high) for a number (float if its range is unknown), a list "
                    "of levels for a category, or bool."
                )
    if weights is not None:
        declared.setdefault(weights, Declared(ColumnSpec("number")))
    columns = {
        name: replace(one.spec, ordered=name in ordered and one.spec.kind == "category")
        for name, one in declared.items()
    }
    for factor in factors:
        for name in factor.columns if factor.op == "C" else ():
            if columns[name].levels is None:
                raise SchemaError(
                    f"`{factor.text or name}` needs the levels of `{name}`: declare them as a list, "
                    f"limits={{'{name}': [1, 2, 3]}}."
                )
    used = {name for factor in factors for name in factor.columns} | {weights}
    columns = {name: spec for name, spec in columns.items() if name in used}
    grid = _grid({name: declared[name] for name in columns})
    unknown = frozenset(set(columns) - set(grid))
    states = _states(factors, columns, grid, unknown)
    bound = _weight_bound(weights, {}, schema)
    return _build(parsed, columns, states, weights=weights, weight_bound=bound, offsets=offsets)


def _build(
    parsed: Parsed,
    columns: Mapping[str, ColumnSpec],
    states: Mapping[str, State],
    *,
    weights: str | None,
    weight_bound: float | None,
    offsets: tuple[str, ...],
) -> Design:
    """Put a design together from its parsed formula and what was learnt of its columns."""
    levels = {name: spec.code_levels for name, spec in columns.items()}
    for name in (weights, *(n for text in offsets for n in parse_factor(text).columns)):
        if name is not None and columns[name].kind == "category":
            raise SchemaError(f"`{name}` is a category; weights and offsets are numbers.")
    factors: dict[str, BoundFactor] = {}
    for term in parsed.terms:
        for factor in term:
            if factor.kind != "literal" and factor.text not in factors:
                factors[factor.text] = bind(factor, columns, states)
    fields = {text: factor.fields for text, factor in factors.items()}
    program = engine.structure(parsed.terms, fields)
    response = None if parsed.response is None else parsed.response.code
    own = tuple(text for text in offsets if text.startswith("offset("))
    formula = formula_text(response, parsed.terms, own)
    if not program:
        raise FormulaError(f"'{formula}' has no column on its right-hand side: write '~ x1 + x2'.")
    return Design(
        formula=formula,
        terms=tuple(column.name for column in program),
        weights=weights,
        weight_bound=weight_bound,
        offsets=offsets,
        columns=columns,
        rhs=parsed.terms,
        factors=factors,
        program=program,
        states=states,
        offset_factors=tuple(resolve(parse_factor(text), levels) for text in offsets),
        **response_of(parsed.response, columns),
    )


def _optional_columns(
    parsed: Parsed, offsets: Iterable[str], weights: str | None
) -> frozenset[str]:
    """Columns that a public table may lack: weights, and offsets when it has no response."""
    names = {weights} if weights is not None else set()
    if parsed.response is None:
        names |= {name for text in offsets for name in parse_factor(text).columns}
    return frozenset(names - {name for factor in right_side(parsed) for name in factor.columns})


def _public_spec(table: Table, name: str, limit: Any, formula: str) -> ColumnSpec:
    type_ = table.type_of(name)
    kind = type_.kind
    if kind == "number":
        if isinstance(limit, list) and declared_spec(name, limit).spec.kind != "number":
            raise SchemaError(
                f"`{name}` holds numbers, and so must its levels: limits={{'{name}': [1, 2, 3]}}."
            )
        return ColumnSpec("number")
    if kind == "bool":
        return ColumnSpec("bool", (False, True))
    if kind in ("category", "object"):
        declared = table.declared_levels(name)
        if isinstance(limit, list):
            levels = check_levels(name, limit)
        else:
            levels = table.observed_levels(name) if declared is None else declared
        if kind == "object" and levels and set(levels) <= {False, True}:
            return ColumnSpec("bool", (False, True))
        if levels:
            return ColumnSpec("category", levels, type_.ordered, declared=isinstance(limit, list))
        kind = "missing"
    raise SchemaError(f"the public column {held_by(table, name, kind, formula)}")


def _read(table: Table, name: str, spec: ColumnSpec) -> Array:
    """All of a public column as numbers; a category as positions of levels, NaN where missing."""
    if spec.kind == "number":
        return np.ascontiguousarray(table.numbers(name, 0, table.n))
    assert spec.levels is not None
    codes = table.codes(name, spec.levels, 0, table.n)
    return np.where(codes < 0, np.nan, codes.astype(np.float64))


def _clean(raw: Mapping[str, Array], columns: Mapping[str, ColumnSpec], n: int) -> Mask:
    clean = np.ones(n, dtype=np.bool_)
    for values in raw.values():
        clean &= np.isfinite(values)
    if not clean.any():
        raise PublicDataError(
            f"none of the {n} public rows has a usable value in every one of: {', '.join(columns)}."
            + _without_values(raw, columns)
        )
    return clean


def _without_values(raw: Mapping[str, Array], columns: Mapping[str, ColumnSpec]) -> str:
    """Sentences on columns of which no public value can be used."""
    sentences = ""
    for name, values in raw.items():
        if not np.isfinite(values).any():
            levels = columns[name].levels or ()
            of = f" of its levels {', '.join(map(str, levels))} (case and blanks count)"
            sentences += f" `{name}` has none{of if levels else ''}."
    return sentences


def _with_used_levels(
    table: Table,
    name: str,
    spec: ColumnSpec,
    values: Array,
    coded: Collection[str],
    limits: Mapping[str, Any],
) -> ColumnSpec:
    """Levels that count: the declared ones, or those of the usable public rows.

    ``coded`` are the columns in calls of C(), whose numbers are levels.
    """
    limit = limits.get(name)
    if spec.kind == "number":
        if name not in coded:
            ones = values == 1
            mark = bool((ones | (values == 0)).all() and ones.any() and not ones.all())
            return replace(spec, mark=mark and len(values) >= _TELLING)
        numbers = np.array(limit) if isinstance(limit, list) else np.unique(values)
        integer = "int" in table.type_of(name).label.lower()
        plain = tuple(int(v) if integer else float(v) for v in numbers)
        if not isinstance(limit, list):
            require_categories(name, plain, len(values), asked=True)
        return ColumnSpec("number", check_levels(name, plain), declared=isinstance(limit, list))
    if spec.kind == "bool" or isinstance(limit, list) or table.declared_levels(name) is not None:
        return spec
    assert spec.levels is not None
    kept = set(np.unique(values).astype(int).tolist())
    levels: Levels = tuple(level for i, level in enumerate(spec.levels) if i in kept)
    require_categories(name, levels, len(values), asked=name in coded)
    return replace(spec, levels=levels)


def _states(
    factors: Iterable[Expr],
    columns: Mapping[str, ColumnSpec],
    rows: Mapping[str, Array],
    unknown: frozenset[str],
) -> dict[str, State]:
    levels = {name: spec.code_levels for name, spec in columns.items()}
    states: dict[str, State] = {}
    for factor in factors:
        learn_states(resolve(factor, levels), rows, states, unknown)
    return states


def _limit_of_weights(weights: str | None, limits: Mapping[str, Any]) -> Any:
    """What limits say of weights: under their own key, or as the range of their column."""
    if WEIGHTS in limits:
        return limits[WEIGHTS]
    own = limits.get(weights or "")
    return own if isinstance(own, tuple) else None


def _weight_bound(
    weights: str | None, rows: Mapping[str, Array], limits: Mapping[str, Any]
) -> float | None:
    if weights is None:
        return None
    if weights in rows and float(rows[weights].min()) < 0:
        raise PublicDataError(
            f"the public weights in `{weights}` include negative ones: weights are 0 or more."
        )
    limit = _limit_of_weights(weights, limits)
    if limit is not None:
        upper = limit[1] if isinstance(limit, tuple) and len(limit) == 2 else limit
        bound = computable(upper)
        if bound is not None:
            return bound
        raise SchemaError("'(weights)' must be declared as (0, upper) with a finite upper > 0.")
    if weights in rows and float(rows[weights].max()) > 0:
        return float(rows[weights].max())
    raise PublicDataError(
        f"the weights `{weights}` need an upper bound: either the public rows have the column "
        "(their largest weight is then the bound), or declare it, e.g. "
        "limits={'(weights)': (0, 10)}."
    )


def _grid(declared: Mapping[str, Declared]) -> dict[str, Array]:
    """Rows that stand for a schema: each range in equal steps, the levels in turn."""
    grid: dict[str, Array] = {}
    for k, (name, one) in enumerate(declared.items(), start=1):
        index = np.arange(_GRID) * (k % _GRID or 1) % _GRID
        if one.span is not None:
            grid[name] = np.linspace(*one.span, _GRID)[index]
        elif one.spec.kind != "number" and one.spec.levels is not None:
            grid[name] = (index % len(one.spec.levels)).astype(np.float64)
    return grid
