"""The line of a page that shows a call as R would print it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from dpstats.accounting.unit import PrivacyUnit
from dpstats.arguments import number, shown

_MOST_SHOWN = 20  # items of an argument in a call
_DEFAULTS = {"ridge": 0.0, "vcov": "hetero"}


def call_text(function: str, formula: str, options: Mapping[str, Any], unit: PrivacyUnit) -> str:
    """The call as R would print it; options that are None, empty or the default are left out.

    Examples
    --------
    >>> unit = PrivacyUnit()
    >>> print(call_text("dp_lm", "y ~ g", {"limits": {"g": ['say "a"', "b"]}, "mu": 1}, unit))
    dp_lm("y ~ g", limits = {"g": ["say \\"a\\"", "b"]}, mu = 1)
    """
    rows = unit.rows if unit.jointly or unit.rows != 1 else None
    options = {**options, "rows_per_person": rows, "person": unit.person}
    arguments = [f"{k} = {_written(v)}" for k, v in options.items() if not _left_out(k, v)]
    return f"{function}({_quoted(formula)}, {', '.join(arguments)})"


def _left_out(name: str, value: Any) -> bool:
    empty = isinstance(value, Mapping | None) and not value
    return empty or (name in _DEFAULTS and value == _DEFAULTS[name])


def _quoted(text: str) -> str:
    """A text in double quotes, as Python reads it."""
    return json.dumps(text, ensure_ascii=False)


def _written(value: Any) -> str:
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, Mapping):
        return f"{{{first_of(f'{_written(k)}: {_written(v)}' for k, v in value.items())}}}"
    if isinstance(value, list | tuple):
        text = first_of(map(_written, value))
        return f"[{text}]" if isinstance(value, list) else f"({text})"
    if isinstance(value, type):
        return value.__name__
    if isinstance(value, int):
        return str(value)
    size = number(value)
    return shown(value) if size is None else f"{size:g}"


def first_of(texts: Iterable[str]) -> str:
    """The first of them, for a line that is read."""
    first = list(islice(texts, _MOST_SHOWN + 1))
    return ", ".join([*first[:_MOST_SHOWN], "..."] if len(first) > _MOST_SHOWN else first)
