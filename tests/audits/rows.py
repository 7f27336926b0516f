"""Private rows for runs without number: encoded once, worked on without threads, totals remembered."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dpstats.frame.by_person import OneOfEach
from dpstats.mechanism.passes import PrivateRows
from dpstats.mechanism.threads import InTurn
from dpstats.models.gaussian.rows import CellRows, CellSlab

Floats = np.ndarray

_REMEMBERED, _KINDS = 64, 8
_TRIED = 40


@dataclass(frozen=True)
class _Block:
    x: Floats
    y: Floats
    offset: Floats | None
    weight: Floats | None
    above: Floats | None
    usable: Any = None
    starts: Any = None
    lots: Any = None


class Table:
    """The encoded rows of a source, in memory and without threads; its totals, once known."""

    def __init__(self, source: Any) -> None:
        self.n, self.d = source.n, source.d
        self.threads = InTurn()
        blocks = [piece() for piece in source.pieces(2**16)]

        def joined(name: str) -> Any:
            parts = [getattr(block, name, None) for block in blocks]
            return None if parts[0] is None else np.concatenate(parts)

        x = np.asfortranarray(joined("x"))
        columns = (joined(name) for name in ("y", "offset", "weight", "above", "usable"))
        self.block = _Block(x, *columns)
        if hasattr(blocks[0], "starts"):  # of persons
            before = np.cumsum([0, *(len(block.y) for block in blocks)])
            starts = [b.starts + k for b, k in zip(blocks, before, strict=False)]
            self.block = replace(self.block, starts=np.concatenate(starts), lots=joined("lots"))
        self._single: dict[bool, Table] = {}
        self.bases: dict[Any, tuple[Any, PrivateRows[Any], _Totals]] = {}

    def pieces(self, size: int) -> Iterator[Callable[[], _Block]]:
        assert self.n <= 2**16
        yield lambda: self.block

    def map_parts(self, task: Any) -> None:
        return None

    def one_of_each(self, *, differences: bool) -> Table:
        """One row of every person, or differences of two."""
        if differences not in self._single:
            persons: Any = self
            self._single[differences] = Table(OneOfEach(persons, differences))
        return self._single[differences]


@dataclass
class _Totals:
    """Totals of passes that were asked for, by method, state and arguments.

    A method whose arguments are never the same twice (anchors that follow from noise) is let go.
    """

    known: dict[Any, Any] = field(default_factory=dict)
    asked: dict[str, int] = field(default_factory=dict)
    hits: dict[str, int] = field(default_factory=dict)

    def get(self, name: str, state: Any, given: Any, find: Callable[[], Any]) -> Any:
        asked = self.asked[name] = self.asked.get(name, 0) + 1
        if asked > _TRIED and 4 * self.hits.get(name, 0) < asked:
            return find()
        try:
            key = name, state, pickle.dumps(given)
        except (pickle.PicklingError, AttributeError, TypeError):
            self.asked[name] += _TRIED
            return find()
        if key in self.known:
            self.hits[name] = self.hits.get(name, 0) + 1
            return self.known[key]
        if len(self.known) > _REMEMBERED:
            self.known.clear()
        found = self.known[key] = find()
        return found


def remembered(kind: type[PrivateRows[Any]], source: Any, *given: Any) -> Any:
    """Rows of a class of the package over a `Table`: whitened once, their totals remembered."""
    if not isinstance(source, Table):
        return kind(source, *given)
    same: Any = kind, *map(id, given)
    if same not in source.bases:
        try:
            key: Any = kind, pickle.dumps(given)
        except (pickle.PicklingError, AttributeError, TypeError):
            key = same
        if key not in source.bases:
            base = kind(source, *given)
            list(base._over(lambda slab: slab))
            if len(source.bases) >= _KINDS:
                return _Rows(base, _Totals())
            source.bases[key] = given, base, _Totals()
            # what is kept keeps its identity
            source.bases[same] = source.bases[key]
        same = key
    _, base, totals = source.bases[same]
    return _Rows(base, totals)


class _Rows:
    """Rows that are ready to be cut, as a session sees them."""

    def __init__(self, base: PrivateRows[Any], totals: _Totals) -> None:
        rows = object.__new__(type(base))
        rows.__dict__.update(vars(base))  # what travels to workers is less than that
        rows._cached = [[_fresh(slab) for slab in block] for block in base._cached or ()]
        if isinstance(rows, CellRows):
            rows._exact = {}
        self.__dict__.update(_base=rows, _totals=totals, _set={})

    def close(self) -> None:
        """Rows are asked for again by the next run."""

    def __setattr__(self, name: str, value: Any) -> None:
        self._set[name] = value
        setattr(self._base, name, value)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._base, name)
        if not hasattr(found, "__wrapped__"):
            return found
        state = getattr(self._base, "_radius", None), repr(self._set)

        def total(*args: Any, **named: Any) -> Any:
            return self._totals.get(
                name, state, (args, named), lambda: found.__wrapped__(self._base, *args, **named)
            )

        return total


def _fresh(slab: Any) -> Any:
    """A slab that may be cut, or sorted into cells, without a trace in its original."""
    found = copy(slab)
    if hasattr(found, "factor"):
        found.z = slab.z.copy()
    if isinstance(slab, CellSlab):
        found.seen = {}
    return found
