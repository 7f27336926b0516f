"""A design as JSON: levels, codings and states in full; expressions as text, parsed again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dpstats.errors import PublicDataError
from dpstats.frame.bind import BoundFactor
from dpstats.frame.engine import Column, Fields
from dpstats.frame.evaluate import resolve
from dpstats.frame.formula import Piece, parse_factor
from dpstats.frame.schema import ColumnSpec

if TYPE_CHECKING:
    from dpstats.frame.design import Design

VERSION = 1


def design_to_dict(design: Design) -> dict[str, Any]:
    """See :meth:`Design.to_dict`."""
    response = design.response_piece
    return {
        "version": VERSION,
        "formula": design.formula,
        "response": None if response is None else [response.text, response.kind],
        "response_kind": design.response_kind,
        "response_levels": _list(design.response_levels),
        "weights": design.weights,
        "weight_bound": design.weight_bound,
        "offsets": list(design.offsets),
        "columns": {
            name: {"kind": spec.kind, "levels": _list(spec.levels)}
            for name, spec in design.columns.items()
        },
        "rhs": [[[piece.text, piece.kind] for piece in term] for term in design.rhs],
        "factors": [
            {
                "text": factor.piece.text,
                "kind": factor.piece.kind,
                "full": list(factor.fields.full),
                "reduced": list(factor.fields.reduced),
                "spans": factor.fields.spans,
                "coding": _coding_to_list(factor.fields),
            }
            for factor in design.factors.values()
        ],
        "program": [
            [column.name, column.scale, [list(part) for part in column.parts]]
            for column in design.program
        ],
        "states": {text: dict(state) for text, state in design.states.items()},
    }


def design_from_dict(saved: Mapping[str, Any]) -> Design:
    """See :meth:`Design.from_dict`."""
    from dpstats.frame.design import Design

    if saved.get("version") != VERSION:
        raise PublicDataError(
            f"these saved moments have version {saved.get('version')!r}; this dpstats reads "
            f"version {VERSION}. Compute them again with public_moments()."
        )
    columns = {
        name: ColumnSpec(one["kind"], _tuple(one["levels"]))
        for name, one in saved["columns"].items()
    }
    levels = {name: spec.code_levels for name, spec in columns.items()}
    factors = {}
    for one in saved["factors"]:
        piece = Piece(one["text"], one["kind"])
        fields = Fields(
            tuple(one["full"]), tuple(one["reduced"]), one["spans"], _coding(one["coding"])
        )
        factors[piece.text] = BoundFactor(piece, resolve(piece.parse(), levels), fields)
    program = tuple(
        Column(name, scale, tuple((text, field) for text, field in parts))
        for name, scale, parts in saved["program"]
    )
    response = None if saved["response"] is None else Piece(*saved["response"])
    return Design(
        formula=saved["formula"],
        terms=tuple(column.name for column in program),
        response=None if response is None else response.text,
        response_kind=saved["response_kind"],
        response_levels=_tuple(saved["response_levels"]),
        weights=saved["weights"],
        weight_bound=saved["weight_bound"],
        offsets=tuple(saved["offsets"]),
        columns=columns,
        rhs=tuple(tuple(Piece(*piece) for piece in term) for term in saved["rhs"]),
        factors=factors,
        program=program,
        states={text: dict(state) for text, state in saved["states"].items()},
        response_factor=None if response is None else resolve(response.parse(), levels),
        offset_factors=tuple(resolve(parse_factor(t), levels) for t in saved["offsets"]),
    )


def _coding_to_list(fields: Fields) -> list[Any] | None:
    if fields.coding is None:
        return None
    # null, not NaN, which strict JSON does not know
    return [
        [name, [None if np.isnan(v) else float(v) for v in values]]
        for name, values in fields.coding.items()
    ]


def _coding(saved: Any) -> dict[str, Any] | None:
    if saved is None:
        return None
    return {
        name: np.array([np.nan if v is None else v for v in values], dtype=np.float64)
        for name, values in saved
    }


def _list(values: tuple[Any, ...] | None) -> list[Any] | None:
    return None if values is None else list(values)


def _tuple(values: Any) -> tuple[Any, ...] | None:
    return None if values is None else tuple(values)
