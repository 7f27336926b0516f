"""The arguments that every model shares: checked, resolved, and written into the call line.

Nothing here sees a private value.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import Executor
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from dpstats.accounting.privacy import Privacy
from dpstats.accounting.unit import Unit
from dpstats.arguments import (
    LARGEST,
    as_int,
    computable,
    is_path,
    mapping,
    naming,
    number,
    one_of,
    require_sizes,
    shown,
)
from dpstats.arrays import Floats
from dpstats.errors import ArgumentError, PublicDataError
from dpstats.frame import (
    Design,
    FirstRows,
    PublicMoments,
    Reading,
    Rows,
    SpentOn,
    public_moments,
)
from dpstats.numerics.public_rows import PublicRows

_MOST_SHOWN = 20  # items of an argument in a call
SAME_TABLE = (
    "The public sample is the private table itself: what the public part shows of its rows is not "
    "protected. A public sample is one that may be shown to anybody."
)


def same_table(public: Any, data: Any) -> tuple[str, ...]:
    """Said where the public sample is the private table."""
    same = public is data or (is_path(data) and is_path(public) and str(public) == str(data))
    return (SAME_TABLE,) if same else ()


def delta_note(delta: float | None, n: int) -> tuple[str, ...]:
    """Said when delta would allow a mechanism that publishes a row."""
    if delta is None or delta < 1 / n:
        return ()
    return (
        f"delta = {delta:g} is not below 1/n = {1 / n:.2g}: such a delta does not rule out that some "
        "row is shown. Choose delta well below 1/n for real use.",
    )


def check_numbers(ridge: float, eta: float, seed: int | None) -> None:
    penalty = number(ridge)
    if penalty is None or not 0 <= penalty <= LARGEST:
        raise ArgumentError(
            f"ridge must be a finite number >= 0 (up to {LARGEST:g}), not {shown(ridge)}."
        )
    chance = number(eta)
    if chance is None or not 0 < chance < 1:
        raise ArgumentError(f"eta must lie strictly between 0 and 1, not {shown(eta)}.")
    if eta < 1e-12:
        raise ArgumentError(
            f"eta = {eta:g} asks for more certainty than floats can tell; 1e-6 can."
        )
    check_seed(seed)


def check_seed(seed: int | None) -> None:
    if seed is not None and as_int(seed, 0) is None:
        raise ArgumentError(f"seed must be an integer >= 0 or None, not {shown(seed)}.")


def choose_method(
    function: str,
    methods: Collection[str],
    method: str | None,
    public: Any,
    limits: Mapping[str, Any] | None,
) -> str:
    """The method that was asked for, or the one that the data allow."""
    mapping("limits", limits)
    if method is None:
        method = "ssp" if public is None and limits else "anchored"
    if not one_of(method, methods):
        raise ArgumentError(f"method must be one of {', '.join(methods)}, not {shown(method)}.")
    if method == "ssp":
        if not limits:
            raise ArgumentError(
                "method='ssp' needs limits for every column, declared without looking at the data: "
                "limits={'x1': (0, 1), 'g': ['a', 'b'], 'y': (0, 10)}."
            )
        if public is not None:
            raise ArgumentError(
                "method='ssp' uses private data alone; drop public=, or use method='anchored', "
                "which makes better use of it."
            )
    elif public is None:
        raise PublicDataError(
            f"{function} needs to know something public about the columns. Either pass a public sample, "
            "public=frame (or public_moments(formula, frame)); or declare limits without looking at "
            "the data, limits={'x1': (0, 1), 'y': (0, 10)}, which fits from private data alone."
        )
    return method


def resolve_public(
    formula: str,
    public: Any,
    weights: str | None,
    offset: str | None,
    limits: Mapping[str, Any] | None,
) -> PublicMoments:
    """Public moments of the formula: learnt from public rows, or those that were given."""
    if isinstance(public, str) and public.lstrip().startswith("{"):
        raise PublicDataError(
            "public= is a JSON text; give PublicMoments.from_json(text), or a table."
        )
    if not isinstance(public, PublicMoments):
        with naming("the public data"):
            return public_moments(formula, public, weights=weights, offset=offset, limits=limits)
    if weights is not None or offset is not None:
        raise ArgumentError(
            "weights and offset belong to the public moments: pass them to public_moments(formula, "
            "public, weights=..., offset=...) and leave them out here."
        )
    if public.design.response is None:
        return replace(public, design=public.design.with_response(formula, limits))
    public.design.require_formula(formula)
    return public


def spent_note(moments: PublicMoments | None, asked: Privacy, unit: Unit) -> tuple[str, ...]:
    """Said where the public moments are themselves a private release."""
    if moments is None or moments.spent is None:
        return ()
    spent = moments.spent
    said = f"The public moments are a private release of their own, at mu = {spent.mu:.4g}: " + (
        "seeded, so that nothing made of them is for release; " if spent.seeded else ""
    )
    both = both_together(spent, asked.mu, unit)
    if both is None:
        return (
            f"{said}if they describe the same rows, both protect different units, and what they cost "
            "together is not stated.",
        )
    return (f"{said}if they describe the same rows, both together cost mu = {both:.4g}.",)


def both_together(spent: SpentOn, mu: float, unit: Unit) -> float | None:
    """mu of a call for its ``unit``, and of moments that were released before; None where unknown.

    mu adds in squares for one unit. What protects a row at mu protects a person with k rows at k mu;
    what protects a person protects each row of one, as long as no column decides which rows count:
    there one row replaced changes two persons.
    """
    if (spent.rows, spent.person) == (unit.rows, unit.person):
        return math.hypot(spent.mu, mu)
    if spent.person is not None or unit.person is not None:
        return None
    times = unit.rows if spent.rows == 1 else 1 if unit.rows <= spent.rows else None
    return None if times is None else math.hypot(times * spent.mu, mu)


def public_rows(design: Design, public: Any) -> PublicRows:
    """Public rows as numbers, without those that cannot be used; what is public may be looked at."""
    with naming("the public data"):
        blocks = list(design.public_rows(public).blocks())
    x = np.concatenate([block.x for block in blocks])
    y = np.concatenate([block.y for block in blocks])
    require_sizes(design.terms, np.abs(x).max(axis=0) < LARGEST)
    zero, one = np.zeros(len(y)), np.ones(len(y))
    offset = zero if blocks[0].offset is None else np.concatenate([b.offset for b in blocks])
    weight = one if blocks[0].weight is None else np.concatenate([b.weight for b in blocks])
    used = (x != 0).any(axis=1)
    return PublicRows(x[used], y[used], offset[used], weight[used])


def check_limits(
    design: Design,
    declared: bool,
    limits: Mapping[str, Any] | None,
    alone: str = "method='ssp'",
) -> None:
    """Every entry of limits does something, or is named.

    ``declared``: whether the limits stand for public rows; ``alone``: when they would.
    """
    for name, value in (limits or {}).items():
        if name == "(weights)":
            used = design.weights is not None
        elif declared:
            used = name == "(norm)" or name in design.columns
        else:
            used = name in design.columns and isinstance(value, list)
        if not used:
            raise ArgumentError(
                f"limits[{name!r}] has no effect here: "
                + (
                    f"'{design.formula}' has no such column."
                    if declared or name not in design.columns
                    else f"ranges are for {alone}; beside public data, limits give levels of categories."
                )
            )


def private_rows(
    design: Design,
    data: Any,
    function: str,
    unit: Unit,
    executor: Executor | None,
    progress: bool | None,
) -> Rows:
    """The private table's columns checked, its rows counted and still unread; see `frame.source`."""
    first = None if unit.person is None else FirstRows(unit.person, unit.rows)
    with naming("the private data"):
        return design.rows(data, Reading(function, executor, progress), first)


def check_size(n: int, d: int) -> None:
    if n < d + 1:
        raise ArgumentError(
            f"{n} private rows cannot carry {d} columns: give at least {d + 1} rows "
            "(for privacy to leave anything, a few hundred per column), or drop terms."
        )


def declared(
    formula: str, limits: Mapping[str, Any] | None, weights: str | None, offset: str | None
) -> tuple[Design, Floats, float, float | None]:
    """The design of declared limits, the largest |x_j| and |y|, and the declared length of a row."""
    schema = dict(limits or {})
    norm = schema.pop("(norm)", None)
    if norm is not None and computable(norm) is None:
        raise ArgumentError(
            f"limits['(norm)'] must be a number > 0 that can be computed with, not {shown(norm)}."
        )
    design = Design.declare(formula, schema, weights=weights, offset=offset)
    columns, response = design.extent(schema)
    return design, columns, response, norm


def call_text(function: str, formula: str, options: Mapping[str, Any], unit: Unit) -> str:
    """The call as R would print it; options that are None, or empty, are left out."""
    rows = unit.rows if unit.rows > 1 else None
    options = {**options, "rows_per_person": rows, "person": unit.person}
    given = {k: v for k, v in options.items() if v or not isinstance(v, Mapping | None)}
    said = [f"{name} = {_said(value)}" for name, value in given.items()]
    return f'{function}("{formula}", {", ".join(said)})'


def _said(value: Any) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, Mapping):
        return f"{{{_listed(f'{_said(k)}: {_said(v)}' for k, v in value.items())}}}"
    if isinstance(value, list | tuple):
        text = _listed(map(_said, value))
        return f"[{text}]" if isinstance(value, list) else f"({text})"
    if isinstance(value, type):
        return value.__name__
    if isinstance(value, int):
        return str(value)
    size = number(value)
    return shown(value) if size is None else f"{size:g}"


def _listed(texts: Iterable[str]) -> str:
    """The first of them, for a line that is read."""
    first = list(islice(texts, _MOST_SHOWN + 1))
    return ", ".join([*first[:_MOST_SHOWN], "..."] if len(first) > _MOST_SHOWN else first)
