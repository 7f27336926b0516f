"""Which two states of a column a comparison is between."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dpstats.arguments import in_prose, listed, number, one_of, shown
from dpstats.errors import ArgumentError
from dpstats.frame import Change, Design
from dpstats.frame.formula.engine import short_level

Asked = Mapping[str, Any]
"""What is compared of each column: a step or two values of a number, levels of a category; or None."""
_KINDS = ("reference", "pairwise", "sequential")


@dataclass(frozen=True)
class Contrast:
    """A column as it is, or at one place, and as it is compared with that.

    Attributes
    ----------
    name : str
    label : str
    low : Change or None
        None: as it is in every row.
    high : Change
    """

    name: str
    label: str
    low: Change | None
    high: Change

    @property
    def step(self) -> float:
        """By how much a number is raised."""
        low = 0.0 if self.low is None else self.low.value
        return self.high.add if self.low is None else self.high.value - low


def contrasts_of(design: Design, name: str, how: Any = None) -> list[Contrast]:
    """The comparisons of one column.

    Of a number: it is raised by ``how``, by one unless said otherwise, or goes from one of two values to
    the other; one that is zero or one goes from 0 to 1. Of a category: every level against the first
    ("reference"), against all before it ("pairwise"), against the one before it ("sequential"), or the
    second of two levels against the first.
    """
    levels = design.columns[name].levels
    if levels is not None:
        return [_between(name, levels, *pair) for pair in _pairs(name, levels, how)]
    if how is None and design.columns[name].mark:
        how = (0.0, 1.0)
    step = 1.0 if how is None else number(how)
    if step is not None and math.isfinite(step) and step != 0:
        return [Contrast(name, f"{step:+.12g}", None, Change(name, add=step))]
    ends = [number(value) for value in how] if _is_pair(how) else [None, None]
    low, high = ends
    if low is None or high is None or not math.isfinite(high - low) or low == high:
        raise ArgumentError(
            f"`{name}` is a number: variables={{'{name}': 10}} raises it by ten, and "
            f"{{'{name}': (20, 30)}} takes it from 20 to 30; not {shown(how)}."
        )
    label = f"{in_prose(high, 12)} - {in_prose(low, 12)}"
    return [Contrast(name, label, _set(name, low), _set(name, high))]


def _is_pair(how: Any) -> bool:
    return isinstance(how, Sequence) and not isinstance(how, str) and len(how) == 2


def _set(name: str, value: float, level: int = 0) -> Change:
    return Change(name, level=level, value=value)


def _pairs(name: str, levels: Sequence[Any], how: Any) -> list[tuple[int, int]]:
    """Numbers of levels, that which is compared second."""
    k = len(levels)
    if how is None or one_of(how, ("reference",)):
        return [(0, j) for j in range(1, k)]
    if one_of(how, ("pairwise",)):
        return list(itertools.combinations(range(k), 2))
    if one_of(how, ("sequential",)):
        return [(j - 1, j) for j in range(1, k)]
    plain = _is_pair(how) and all(isinstance(one, str | bool | int | float) for one in how)
    if plain and all(level in levels for level in how) and how[0] != how[1]:
        return [(levels.index(how[0]), levels.index(how[1]))]
    first, last = (repr(levels[at]) for at in (0, -1))
    raise ArgumentError(
        f"`{name}` is a category: variables={{'{name}': ({first}, {last})}} compares the second of two "
        f"levels with the first, and {{'{name}': 'pairwise'}} all of them; there are {listed(_KINDS)}, "
        f"and the levels {listed([*map(str, levels)])}; not {shown(how)}."
    )


def _between(name: str, levels: Sequence[Any], low: int, high: int) -> Contrast:
    label = f"{short_level(levels[high])} - {short_level(levels[low])}"
    places = (
        _set(name, float(value) if isinstance(value, int | float) else 0.0, at)
        for at, value in ((low, levels[low]), (high, levels[high]))
    )
    return Contrast(name, label, *places)
