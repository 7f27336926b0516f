"""A design as JSON: levels, codings and states in full; expressions as text, parsed again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dpstats.arguments import shown
from dpstats.errors import PublicDataError
from dpstats.frame.design import BoundFactor, ColumnSpec, Design
from dpstats.frame.formula.engine import Column, Fields
from dpstats.frame.formula.evaluate import resolve
from dpstats.frame.formula.grammar import Factor, parse_factor

VERSION = 1


_LEVELS = (None, [(str, bool, int, float)])
_NUMBER = (int, float)
_SHAPE: Mapping[Any, Any] = {
    "version": int,
    "formula": str,
    "response": (None, [str]),
    "response_kind": (None, "number", "bool", "category"),
    "response_levels": _LEVELS,
    "weights": (None, str),
    "weight_bound": (None, *_NUMBER),
    "offsets": [str],
    "columns": {
        str: (
            {"kind": ("number", "bool", "category"), "levels": _LEVELS},
            {"kind": "number", "levels": _LEVELS, "mark": True},
        )
    },
    "rhs": [[[str]]],
    "factors": [
        {
            "text": str,
            "kind": ("column", "expression"),
            "full": [str],
            "reduced": [str],
            "spans": bool,
            "coding": (None, [[(str, [(None, *_NUMBER)])]]),
        }
    ],
    "program": [[(str, *_NUMBER, [[str]])]],
    "states": {str: {str: object}},
}
"""What JSON may hold: types, words, lists of one kind, mappings, and tuples of such alternatives."""


def _fits(value: Any, shape: Any) -> bool:
    if isinstance(shape, tuple):
        return any(_fits(value, one) for one in shape)
    if isinstance(shape, list):
        return type(value) is list and all(_fits(item, shape[0]) for item in value)
    if isinstance(shape, Mapping):
        if type(value) is not dict:
            return False
        if str in shape:
            return all(_fits(item, shape[str]) for item in value.values())
        return value.keys() == shape.keys() and all(_fits(value[k], shape[k]) for k in shape)
    if isinstance(shape, type):
        return shape is object or type(value) is shape
    return bool(type(value) is type(shape) and value == shape)


def design_to_dict(design: Design) -> dict[str, Any]:
    """The design as JSON knows it; `design_from_dict` gives back the same encoding to the bit."""
    response = design.written_response
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
            | ({"mark": True} if spec.mark else {})
            for name, spec in design.columns.items()
        },
        "rhs": [[[factor.text, factor.kind] for factor in term] for term in design.rhs],
        "factors": [
            {
                "text": factor.written.text,
                "kind": factor.written.kind,
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
    """A design from what `design_to_dict` has written."""
    if saved.get("version") != VERSION:
        raise PublicDataError(
            f"these saved moments have version {shown(saved.get('version'))}; this dpstats reads "
            f"version {VERSION}. Compute them again with public_moments()."
        )
    if not _fits(saved, _SHAPE):
        raise PublicDataError(
            "these saved moments hold entries of the wrong kind. Compute them again with "
            "public_moments()."
        )
    columns = {
        name: ColumnSpec(one["kind"], _tuple(one["levels"]), mark="mark" in one)
        for name, one in saved["columns"].items()
    }
    levels = {name: spec.code_levels for name, spec in columns.items()}
    factors = {}
    for one in saved["factors"]:
        factor = Factor(one["text"], one["kind"])
        fields = Fields(
            tuple(one["full"]), tuple(one["reduced"]), one["spans"], _coding(one["coding"])
        )
        factors[factor.text] = BoundFactor(factor, resolve(factor.parse(), levels), fields)
    if not all(type(name) is str and _fits(scale, _NUMBER) for name, scale, _ in saved["program"]):
        raise ValueError
    program = tuple(
        Column(name, scale, tuple((text, field) for text, field in parts))
        for name, scale, parts in saved["program"]
    )
    response = None if saved["response"] is None else Factor(*saved["response"])
    bound = saved["weight_bound"]
    if bound is not None and not 0 < bound < np.inf:
        raise ValueError
    if saved["response_levels"] is not None and len(saved["response_levels"]) != 2:
        raise ValueError
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
        rhs=tuple(tuple(Factor(*factor) for factor in term) for term in saved["rhs"]),
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
