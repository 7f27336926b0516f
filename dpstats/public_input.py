"""What a call is told in public: public rows or their moments, limits, and the method they allow."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dpstats.accounting.privacy import Total
from dpstats.accounting.unit import PrivacyUnit
from dpstats.arguments import (
    LARGEST,
    SMALLEST,
    computable,
    in_prose,
    is_path,
    mapping,
    naming,
    number,
    one_of,
    require_one_of,
    require_sizes,
    shown,
)
from dpstats.arrays import Floats
from dpstats.errors import ArgumentError, PublicDataError, SchemaError, warn_at_call
from dpstats.frame import (
    Design,
    PublicMoments,
    SpentOn,
    boxed,
    declare_design,
    design_extent,
    dot_without,
    far_powers_within_limits,
    joined,
    open_public_rows,
    public_moments,
    refuse_aliases,
    require_formula,
    require_public_response,
    with_response,
)
from dpstats.numerics.matrices import has_symmetric_whitening
from dpstats.numerics.public_rows import PublicRows

SAME_TABLE = (
    "The public sample is the private table itself: what the public part shows of its rows is not "
    "protected. A public sample is one that may be shown to anybody."
)


def more_public_note(n: int | None, m: int | None) -> tuple[str, ...]:
    """A note where more rows are public than private, as where two tables are swapped."""
    if n is None or m is None or m <= n:
        return ()
    return (
        f"There are more public rows ({m}) than private ones ({n}). The table that comes first is the "
        "private one, and nothing protects the rows of the other: see that they are not swapped.",
    )


def same_table(public: Any, data: Any) -> tuple[str, ...]:
    """A note where the public sample is the private table."""
    same = public is data or (is_path(data) and is_path(public) and str(public) == str(data))
    return (SAME_TABLE,) if same else ()


def sums_persons(method: Any) -> bool:
    """Whether score rounds are asked for, which sum up the rows of a person."""
    return method is None or one_of(method, ("anchored",))


def choose_method(
    methods: Collection[str],
    method: str | None,
    public: Any,
    limits: Mapping[str, Any] | None,
) -> str:
    """The method given, or the one that the data allow."""
    mapping("limits", limits)
    method = "anchored" if method is None else method
    require_one_of("method", method, methods)
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
    elif public is None and method != "anchored":
        raise PublicDataError(
            f"method='{method}' needs public rows: pass a public sample, public=frame (or "
            "public_moments(formula, frame)), or leave method out, which fits private rows alone."
        )
    return method


def without_person(formula: Any, person: str | None, public: Any) -> Any:
    """A formula whose ``.`` does not stand for the column that names persons: it is no covariate.

    Moments of public rows were made with columns of their own.
    """
    if person is None or not isinstance(formula, str) or isinstance(public, PublicMoments):
        return formula
    return dot_without(formula, [person])


def resolve_public(
    formula: str,
    public: Any,
    weights: str | None,
    offset: str | None,
    limits: Mapping[str, Any] | None,
    *,
    takes_moments: bool = True,
) -> PublicMoments:
    """Public moments of the formula: learnt from public rows, or those that were given.

    ``takes_moments``: whether moments of the design alone would do, where rows lack the response.
    """
    if isinstance(public, bool | int | float):
        raise PublicDataError(f"public= is a table of public rows, not {public!r}.")
    if isinstance(public, str) and public.lstrip().startswith("{"):
        raise PublicDataError(
            "public= is a JSON text; give PublicMoments.from_json(text), or a table."
        )
    if not isinstance(public, PublicMoments):
        with naming("the public data"):
            try:
                return public_moments(
                    formula, public, weights=weights, offset=offset, limits=limits
                )
            except SchemaError:
                if takes_moments:
                    require_public_response(formula, public)
                raise
    if weights is not None or offset is not None:
        raise ArgumentError(
            "weights and offset belong to the public moments: pass them to public_moments(formula, "
            "public, weights=..., offset=...) and leave them out here."
        )
    if public.design.response is None:
        return replace(public, design=with_response(public.design, formula, limits))
    require_formula(public.design, formula)
    return public


def spent_note(moments: PublicMoments | None, total: Total, unit: PrivacyUnit) -> tuple[str, ...]:
    """A note where the public moments are themselves a private release."""
    if moments is None or moments.spent is None:
        return ()
    spent = moments.spent
    start = (
        f"The public moments are a private release of their own, at mu = {in_prose(spent.mu, 4)}: "
        + ("seeded, so that nothing made of them is for release; " if spent.seeded else "")
    )
    both = both_together(spent, total.mu, unit)
    if both is None:
        return (
            f"{start}if they describe the same rows, the two protect different units, and their "
            "joint cost is not stated.",
        )
    return (
        f"{start}if they describe the same rows, the two together cost mu = {in_prose(both, 4)}.",
    )


def same_unit(spent: SpentOn, unit: PrivacyUnit) -> bool:
    """Whether a release before, of so many rows that they are public, and a call protect the same unit.

    Where the rows of a person are summed up, the number of all rows is private.
    """
    return (spent.rows, spent.person) == (unit.rows, unit.person) and not unit.jointly


def both_together(spent: SpentOn, mu: float, unit: PrivacyUnit) -> float | None:
    """mu of a call for its ``unit``, and of moments that were released before; None where unknown.

    mu adds in squares for one unit. What protects a row at mu protects a person with k rows at k mu;
    what protects a person protects each row of one, as long as no column decides which rows count:
    there one row replaced changes two persons.
    """
    if same_unit(spent, unit):
        return math.hypot(spent.mu, mu)
    if spent.person is not None or unit.person is not None:
        return None
    times = unit.times if spent.rows == 1 else 1 if unit.times <= spent.rows else None
    return None if times is None else math.hypot(times * spent.mu, mu)


def require_papers_whitening(moments: PublicMoments) -> None:
    """Raise unless columns are of sizes for which the papers' S^-1/2 can be computed."""
    if not has_symmetric_whitening(moments.gram):
        raise PublicDataError(
            "method='pmt' whitens by the root of the public second moment, which is lost to rounding "
            "where columns differ in size by a factor of 1e12 or more: change their units, or use "
            "method='anchored', for which units do not matter."
        )


def public_rows(design: Design, public: Any) -> PublicRows:
    """Public rows as numbers, without those that cannot be used; what is public may be looked at."""
    with naming("the public data"):
        block = joined(list(open_public_rows(design, public).blocks()))
    x, y = block.x, block.y
    require_sizes(design.terms, np.abs(x).max(axis=0) < LARGEST)
    offset = np.zeros(len(y)) if block.offset is None else block.offset
    weight = np.ones(len(y)) if block.weight is None else block.weight
    used = slice(None) if block.usable is None else block.usable
    return PublicRows(x[used], y[used], offset[used], weight[used])


def require_written_response(response: str | None) -> None:
    """Refuse a formula without a left side."""
    if not response:
        raise ArgumentError("the formula has no response: write 'y ~ x1 + x2'.")


def check_terms(design: Design, ridge: float) -> None:
    """Refuse terms of which one follows from others, and warn of powers that nearly do.

    Without public rows nothing else tells them apart from what noise hides; a ridge may be meant to.
    """
    if not ridge:
        refuse_aliases(design)
    reason = far_powers_within_limits(design)
    if reason is not None:
        warn_at_call(f"within their limits {reason}")


def check_sizes(limits: Mapping[str, Any] | None) -> None:
    """Ends of ranges are numbers that double precision can compute with."""
    for name, value in mapping("limits", limits).items():
        ends = [number(v) for v in value] if isinstance(value, tuple) else []
        sizes = [abs(v) for v in ends if v is not None and v != 0 and math.isfinite(v)]
        if sizes and not SMALLEST <= min(sizes) <= max(sizes) <= LARGEST:
            raise ArgumentError(
                f"limits[{name!r}] is too large or too small for double precision: change the unit "
                "of the column."
            )


def require_bounds(
    function: str, public: Any, limits: Mapping[str, Any] | None, needed: str
) -> None:
    """Bounds come from public rows or are declared; never from private rows."""
    check_sizes(limits)
    if public is None and not limits:
        raise PublicDataError(
            f"{function} needs bounds, and never takes them from private rows. Either pass a public "
            f"sample, public=frame, or declare them without looking at the data: limits={needed}."
        )


def check_limits(design: Design, declared: bool, limits: Mapping[str, Any] | None) -> None:
    """Every entry of limits does something, or is named; ``declared``: they stand for public rows."""
    for name, value in (limits or {}).items():
        _refuse_ends_in_a_list(design, name, value)
        if name == "(weights)":
            used = design.weights is not None
        elif declared:
            used = name == "(norm)" or name in design.columns
        else:
            # a mark, (0, 1), is one beside public rows too, which show it
            levels = name in design.columns and (
                isinstance(value, list) or (isinstance(value, tuple) and value == (0, 1))
            )
            used = levels or (name == design.weights and isinstance(value, tuple))
        if not used:
            raise ArgumentError(
                f"limits[{name!r}] has no effect here: "
                + (
                    f"'{design.formula}' has no such column."
                    if declared or name not in design.columns
                    else "ranges are for fits without public rows; beside public rows, limits give "
                    "levels of categories."
                )
            )


def _refuse_ends_in_a_list(design: Design, name: str, value: Any) -> None:
    """A list of two numbers, for a column that the formula takes as a number, is meant as a range.

    Not so a response of zeros and ones.
    """
    ends = isinstance(value, list) and len(value) == 2 and None not in map(number, value)
    taken = (design.response == name and value != [0, 1]) or any(
        factor.expr.op == "column" and factor.expr.value == name and factor.fields.coding is None
        for factor in design.factors.values()
    )
    if ends and taken:
        raise ArgumentError(
            f"limits[{name!r}] = {value} lists the only two values that a row may have: a range is "
            f"written with round brackets, ({value[0]}, {value[1]}). Levels are for factor({name}) "
            "in a formula."
        )


def declared(
    formula: str, weights: str | None, offset: str | None, limits: Mapping[str, Any] | None
) -> tuple[Design, Floats, float, float | None]:
    """The design of declared limits, the largest |x_j| and |y|, and the declared length of a row."""
    schema = dict(limits or {})
    norm = schema.pop("(norm)", None)
    if norm is not None and computable(norm) is None:
        raise ArgumentError(
            f"limits['(norm)'] must be a number > 0 within double precision, not {shown(norm)}."
        )
    design = declare_design(formula, schema, weights=weights, offset=offset)
    columns, response = design_extent(design, schema)
    return boxed(design, schema), columns, response, norm
