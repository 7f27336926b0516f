"""Calls that are watched: what is released of one table, and how likely the same is for its neighbour.

A function of the package is called once on each of two neighbours. What it prepares before its session
opens must be the same for both, to the byte: it is public. From then on the call is run again and again
with new noise, and every method of a session is asked of two sessions in step: the first has one table
and draws noise; the second has the other and is told what the first has released (see `releases`).

Nothing of the package is imitated: sessions, passes over rows and fits are its own. Rows are worked on
without threads, and totals that are asked for again with the same arguments are remembered (`rows`).
"""

from __future__ import annotations

import pickle
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache, cached_property, partial
from importlib import import_module
from pkgutil import resolve_name
from typing import Any
from unittest import mock

import numpy as np

from dpstats.frame.by_person import OneOfEach
from dpstats.mechanism import release as gaussian
from dpstats.mechanism.session import Session
from dpstats.mechanism.threads import one_blas_thread
from dpstats.models.eptr_bayes.rows import ClassRows
from dpstats.models.eptr_nw.rows import KernelRows
from dpstats.models.gaussian.rows import CellRows
from dpstats.models.linear.rows import LinearRows
from dpstats.models.mixture import likelihood
from dpstats.models.mixture.rows import MixtureRows
from dpstats.score_rounds.rows import ScoreRows
from tests.audits.releases import ORIGINAL, Draws, Echo, Leak, Tape, Voice, heard
from tests.audits.rows import Table, remembered

Floats = np.ndarray
Ratios = tuple[Floats, Floats]
"""Log ratios, second table over first, of runs on the first table and of runs on the second."""

_SPENT = 1e-9

_ROWS = (LinearRows, ScoreRows, ClassRows, CellRows, MixtureRows, KernelRows)

_OF_PUBLIC_ROWS = (likelihood, "public_em"), (likelihood, "held_out")
"""What fits work out from public rows and a number of components alone: the same in every run."""


@cache
def _makers() -> list[tuple[Any, str, Any]]:
    """Modules that make rows of these classes, and sessions that keep a class to make them of.

    The module of a class itself is left alone, and those that only derive another class from it.
    """
    for kind in _ROWS:
        import_module(kind.__module__.rpartition(".")[0] + ".releases")
    found: list[tuple[Any, str, Any]] = []
    for module in [m for name, m in sys.modules.items() if name.startswith("dpstats.")]:
        if module.__name__ in (kind.__module__ for kind in _ROWS):
            continue
        classes = [c for c in vars(module).values() if isinstance(c, type)]
        for owner in (module, *(c for c in classes if c.__module__ == module.__name__)):
            kinds = [(name, v) for name, v in vars(owner).items() if isinstance(v, type)]
            found += [(owner, name, v) for name, v in kinds if v in _ROWS]
    lost = set(_ROWS) - {kind for _, _, kind in found}
    if lost:
        raise LookupError(f"no module makes rows of {lost}: they would be prepared for every run")
    return found


@contextmanager
def listening() -> Iterator[None]:
    """Every module of the package releases by functions that know the voices above.

    Sessions have their rows from `remembered`; see `_require_remembered`. What `_OF_PUBLIC_ROWS` names
    is worked out once for the same arguments.
    """
    new: dict[Any, Any] = {original: heard(kind) for kind, original in ORIGINAL.items()}
    new |= {kind: staticmethod(partial(remembered, kind)) for kind in _ROWS}
    changed = list(_makers())
    for module in [m for name, m in sys.modules.items() if name.startswith("dpstats.")]:
        if module is gaussian:
            continue
        for name in ("release_vector", "release_counts", "release_symmetric"):
            if getattr(module, name, None) in ORIGINAL.values():
                changed.append((module, name, getattr(module, name)))
    with ExitStack() as stack:
        for owner, name, old in changed:
            stack.enter_context(mock.patch.object(owner, name, new[old]))
        for module, name in _OF_PUBLIC_ROWS:
            stack.enter_context(mock.patch.object(module, name, _once(getattr(module, name))))
        yield


def _once(work: Callable[..., Any]) -> Callable[..., Any]:
    known: dict[bytes, Any] = {}

    def worked_out(*given: Any) -> Any:
        key = pickle.dumps(given)
        if key not in known:
            known[key] = work(*given)
        return known[key]

    return worked_out


def _require_remembered(session: Session[Any]) -> None:
    """Rows of a session on a `Table` are prepared once for all runs."""
    if type(session._rows) in _ROWS:
        raise LookupError(f"{type(session).__name__} prepares its rows again for every run")


# --- sessions ------------------------------------------------------------------------------------


class _Finished(Exception):
    """The total is spent: nothing that follows is released."""


class Twin:
    """Two sessions in step, as one: every method is asked of both."""

    def __init__(self, first: Session[Any], second: Session[Any], tape: Tape, ends: bool) -> None:
        self._first, self._second, self._tape, self._ends = first, second, tape, ends

    def __enter__(self) -> Twin:
        return self

    def __exit__(self, *error: object) -> None:
        return None

    def __getattr__(self, name: str) -> Any:
        mine = getattr(self._first, name)
        if not callable(mine):
            return mine
        yours = getattr(self._second, name)

        def both(*args: Any, **named: Any) -> Any:
            found = mine(*args, **named)
            yours(*args, **named)
            if self._tape.waiting:
                raise Leak("neighbours release different things after the same history")
            if self._ends and self._first.left < _SPENT:
                raise _Finished
            return found

        return both


def of_one(named: dict[str, Any], side: int) -> dict[str, Any]:
    """Arguments with one of two sessions, where both in step are given."""
    return {
        name: (value._first, value._second)[side] if isinstance(value, Twin) else value
        for name, value in named.items()
    }


def _is_noise(value: Any) -> bool:
    return hasattr(value, "coin") and hasattr(value, "integers")


def _with_noise(given: Sequence[Any], noise: Any) -> list[Any]:
    return [noise if _is_noise(value) else value for value in given]


@dataclass(frozen=True)
class Place:
    """Where a function opens its session, and the functions of its module or class that work on it.

    ``inner``: modules in which the steps open their sessions themselves.
    """

    function: str
    session: str
    steps: tuple[str, ...]
    inner: str | None = None

    @property
    def sessions(self) -> list[tuple[Any, str, type]]:
        """Those that are opened, with their modules and names."""
        modules = [import_module(name) for name in (self.inner or self.function).split()]
        return [
            (module, name, getattr(module, name))
            for module in modules
            for name in self.session.split()
            if hasattr(module, name)
        ]

    @property
    def module(self) -> Any:
        return resolve_name(self.function)


PLACES = {
    "dp_lm": Place(
        "dpstats.models.linear.dp_lm",
        "ColumnSession ScoreSession LinearSession",
        ("fit_rows",),
        inner="dpstats.score_rounds.first_look dpstats.models.linear.fit",
    ),
    "dp_glm": Place(
        "dpstats.models.glm.methods:GlmTaskForN",
        "ColumnSession ScoreSession",
        ("fit_rows",),
        inner="dpstats.score_rounds.first_look dpstats.models.glm.methods",
    ),
    "averages": Place(
        "dpstats.margins.averages",
        "ColumnSession AverageSession",
        ("_averages",),
        inner="dpstats.margins.averages",
    ),
    "dp_feols": Place(
        "dpstats.models.feols.dp_feols",
        "ColumnSession ScoreSession",
        ("fit_rows",),
        inner="dpstats.score_rounds.first_look dpstats.models.linear.fit dpstats.models.feols.fit",
    ),
    "eptr_lm": Place(
        "dpstats.models.eptr_linear.eptr_lm",
        "LeastSquaresSession StepSession ScoreSession ColumnSession",
        ("at_once", "by_rounds"),
        inner="dpstats.score_rounds.first_look dpstats.models.eptr_linear.fit "
        "dpstats.models.eptr_linear.rounds",
    ),
    "eptr_bayes": Place(
        "dpstats.models.eptr_bayes.fit",
        "ColumnSession ClassSession",
        ("find_features", "from_sums", "from_moments", "from_test"),
    ),
    "eptr_nw": Place(
        "dpstats.models.eptr_nw.eptr_nw",
        "ColumnSession KernelSession",
        ("curve_alone", "sums", "adaptive", "tested", "papers"),
        inner="dpstats.models.eptr_nw.alone dpstats.models.eptr_nw.fit",
    ),
    "eptr": Place("dpstats.models.eptr_own.eptr", "", ("tested_estimate",)),
    "dp_mean": Place(
        "dpstats.models.gaussian.dp_mvnorm",
        "ColumnSession CellSession",
        ("find_columns", "fit_mean", "papers_mean", "mean_alone"),
    ),
    "dp_mvnorm": Place(
        "dpstats.models.gaussian.dp_mvnorm",
        "ColumnSession CellSession",
        ("find_columns", "refined_gaussian", "papers_gaussian", "mvnorm_alone"),
    ),
    "dp_mixture": Place(
        "dpstats.models.mixture.dp_mixture",
        "MixtureSession",
        ("find_cells", "fit_cells", "soft_mixture"),
    ),
}


@dataclass
class _Seen:
    """What one call did: the session it opened, and its steps with arguments and results."""

    opened: list[tuple[type, tuple[Any, ...], dict[str, Any], Any]] = field(default_factory=list)
    steps: list[tuple[Any, tuple[Any, ...], dict[str, Any], Any]] = field(default_factory=list)


Call = Callable[[Any, int], Any]
"""Of a table and a seed."""


@dataclass(frozen=True)
class Watched:
    """A function on two neighbours, to be run as often as one likes from the opening of its session.

    Attributes
    ----------
    function : str
        A key of `PLACES`.
    call : callable
        From a table and a seed.
    tables : pair of tables
    """

    function: str
    call: Call
    tables: tuple[Any, Any]

    # -- once -------------------------------------------------------------------------------------

    def _seen(self, side: int) -> _Seen:
        """A call with its sessions and steps noted."""
        place, seen = PLACES[self.function], _Seen()

        def watched(step: Any) -> Any:
            def noted(*given: Any, **named: Any) -> Any:
                seen.steps.append((step, given, named, None))
                at = len(seen.steps) - 1
                found = step(*given, **named)
                seen.steps[at] = (step, given, named, found)
                return found

            return noted

        with ExitStack() as stack:
            for opens, name, kind in place.sessions:

                def session(*given: Any, kind: type = kind, **named: Any) -> Any:
                    made = kind(*given, **named)
                    seen.opened.append((kind, given, named, made))
                    return made

                stack.enter_context(mock.patch.object(opens, name, session))
            for name in place.steps:
                old = getattr(place.module, name)
                stack.enter_context(mock.patch.object(place.module, name, watched(old)))
            _silently(self.call, self.tables[side], 1 + side)
        return seen

    @cached_property
    def _public(self) -> _Seen:
        return self._both[0]

    @cached_property
    def _both(self) -> tuple[_Seen, _Seen]:
        both = self._seen(0), self._seen(1)
        for one, two in zip(*(seen.opened for seen in both), strict=False):
            _require_public(one[1][1:], two[1][1:])
            _require_public(tuple(one[2].items()), tuple(two[2].items()))
            break  # what later sessions are opened with may follow from releases
        # what the first step is given beside rows and sessions (and beside the data, the estimate and
        # the safety of an own estimate); later ones follow from releases
        own = 0 if both[0].opened else 3
        one, two = (tuple(seen.steps[0][1][own:]) for seen in both)
        _require_public(one, two)
        return both

    @cached_property
    def sources(self) -> tuple[Any, Any]:
        """The encoded rows of either table."""
        if not self._public.opened:
            return self._both[0].steps[0][1][0], self._both[1].steps[0][1][0]
        one, two = (seen.opened[0][1][0] for seen in self._both)
        if isinstance(one, OneOfEach):
            one, two = one.persons, two.persons
        return Table(one), Table(two)

    @property
    def total(self) -> Any:
        """What the call may spend."""
        if not self._public.opened:
            return next(v for v in self._public.steps[0][1][5:] if hasattr(v, "slack"))
        given = self._public.opened[0][1]
        return next(v for v in given if hasattr(v, "slack") and hasattr(v, "rho"))

    # -- again and again --------------------------------------------------------------------------

    def _twin(self, kind: type, given: Any, named: Any, side: int, noise: Any, tape: Tape) -> Twin:
        sides = (_like(given[0], self.sources[k]) for k in (side, 1 - side))
        voices = Voice(noise, tape), Echo(tape)
        first, second = (
            kind(source, *_with_noise(given[1:], voice), **of_one(named, k))
            for k, (source, voice) in enumerate(zip(sides, voices, strict=True))
        )
        for session in (first, second):
            _require_remembered(session)
        return Twin(first, second, tape, ends=True)

    def ratio(self, side: int, noise: Any) -> float:
        """The log ratio, second table over first, of one run on the table of this side."""
        tape = Tape()
        place, seen = PLACES[self.function], self._public
        if not place.session:
            step, given, named, _ = seen.steps[0]
            for source, voice in ((side, Voice(noise, tape)), (1 - side, Echo(tape))):
                own = self._both[source].steps[0][1][:3]
                step(*own, *_with_noise(given[3:], voice), **named)
            return tape.ratio if side else -tape.ratio
        made: dict[int, Any] = {}
        if place.inner is None:
            kind, given, named, session = seen.opened[0]
            made[id(session)] = self._twin(kind, given, named, side, noise, tape)
        try:
            for step, given, named, result in seen.steps:
                for session in given:
                    self._open(session, seen, made, side, noise, tape)
                found = step(*(_replaced(v, seen, made) for v in given), **named)
                if result is not None:
                    made[id(result)] = found
        except _Finished:
            pass
        return tape.ratio if side else -tape.ratio

    def _open(
        self, session: Any, seen: _Seen, made: dict[int, Any], side: int, noise: Any, tape: Tape
    ) -> None:
        """A later session of the call, as it is opened after what this run has released."""
        place = PLACES[self.function]
        if place.inner is not None or id(session) in made:
            return
        for kind, given, named, one in seen.opened[1:]:
            if one is session:
                now = [_replaced(value, seen, made) for value in given]
                named = {name: _replaced(value, seen, made) for name, value in named.items()}
                made[id(session)] = self._twin(kind, now, named, side, noise, tape)

    @contextmanager
    def opening(self, make: Callable[..., Any]) -> Iterator[None]:
        """Sessions that the steps open themselves are made by ``make``, of their kind."""
        with ExitStack() as stack:
            for opens, name, kind in PLACES[self.function].sessions:
                stack.enter_context(mock.patch.object(opens, name, partial(make, kind)))
            yield

    def ratios(self, count: int, seed: int, part: float = 1.0) -> Ratios:
        """Log ratios of so many runs on either table, with this part of the noise."""
        place, found = PLACES[self.function], []
        _ = self.sources
        # BLAS is limited once, not at every pass
        with (
            listening(),
            one_blas_thread(),
            warnings.catch_warnings(),
            np.errstate(all="ignore"),
        ):
            warnings.simplefilter("ignore")
            for side in (0, 1):
                noise = Draws(2 * seed + side, part)
                with ExitStack() as stack:
                    if place.inner is not None:
                        stack.enter_context(self.opening(partial(self._inner, side, noise)))
                    found.append(np.array([self._one(side, noise) for _ in range(count)]))
        return found[0], found[1]

    def _one(self, side: int, noise: Any) -> float:
        place = PLACES[self.function]
        if place.inner is None:
            return self.ratio(side, noise)
        self._tapes.clear()
        self.ratio(side, noise)
        ratio = sum(tape.ratio for tape in self._tapes)
        return ratio if side else -ratio

    @cached_property
    def _tapes(self) -> list[Tape]:
        return []

    def _inner(self, side: int, noise: Any, kind: type, *given: Any, **named: Any) -> Twin:
        tape = Tape()
        self._tapes.append(tape)
        return self._twin(kind, given, named, side, noise, tape)

    # -- whole calls ------------------------------------------------------------------------------

    def whole(self, side: int, seed: int) -> float:
        """The log ratio of a whole call, with its own reading of the table, threads and report."""
        place, tapes = PLACES[self.function], []
        other = self.sources[1 - side]
        with listening(), ExitStack() as stack:
            if place.session:

                def session(kind: type, *given: Any, **named: Any) -> Twin:
                    tape = Tape()
                    tapes.append(tape)
                    noise = next(v for v in given if _is_noise(v))
                    first = kind(*_with_noise(given, Voice(noise, tape)), **of_one(named, 0))
                    theirs = _like(given[0], other)
                    second = kind(theirs, *_with_noise(given[1:], Echo(tape)), **of_one(named, 1))
                    return Twin(first, second, tape, ends=False)

                for opens, name, kind in place.sessions:
                    stack.enter_context(mock.patch.object(opens, name, partial(session, kind)))
            else:
                step = getattr(place.module, place.steps[0])
                theirs = self._both[1 - side].steps[0][1][:3]

                def tested(*given: Any) -> Any:
                    tape = Tape()
                    tapes.append(tape)
                    noise = next(v for v in given if _is_noise(v))
                    found = step(*_with_noise(given, Voice(noise, tape)))
                    step(*theirs, *_with_noise(given[3:], Echo(tape)))
                    return found

                stack.enter_context(mock.patch.object(place.module, place.steps[0], tested))
            _silently(self.call, self.tables[side], seed)
        ratio = sum(tape.ratio for tape in tapes)
        return ratio if side else -ratio


def _silently(call: Call, table: Any, seed: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        call(table, seed)


def _require_public(one: tuple[Any, ...], two: tuple[Any, ...]) -> None:
    for a, b in zip(one, two, strict=True):
        if _is_noise(a) or isinstance(a, Session) or hasattr(a, "pieces"):
            continue
        if pickle.dumps(a) != pickle.dumps(b):
            raise Leak("a session is opened otherwise for neighbours")


def _like(given: Any, source: Any) -> Any:
    """What a session is opened on, made of other rows: these, or one row of each of their persons."""
    if isinstance(given, Sealed | OneOfEach) and given.differences is not None:
        return source.one_of_each(differences=given.differences)
    return source


class Sealed:
    """Rows that a step is handed to open sessions on: what is public of them, and nothing else.

    ``differences``: that they are one row of every person, or differences of two.
    """

    def __init__(self, rows: Any, differences: bool | None = None) -> None:
        self.n, self.d, self.differences = rows.n, rows.d, differences

    def one_of_each(self, *, differences: bool) -> Sealed:
        """The same of one row of every person."""
        return Sealed(self, differences)

    def __getattr__(self, name: str) -> Any:
        raise Leak(f"rows are read outside a session: {name}")


def _replaced(value: Any, seen: _Seen, made: dict[int, Any]) -> Any:
    """The session, an earlier result or a part of one, as they are in this run; rows are sealed."""
    if id(value) in made:
        return made[id(value)]
    if hasattr(value, "pieces"):
        return Sealed(value)
    if value is None or isinstance(value, int | float | str):
        return value
    for _, _, _, result in seen.steps:
        if id(result) in made and is_dataclass(result):
            for part in fields(result):
                if getattr(result, part.name) is value:
                    return getattr(made[id(result)], part.name)
    return value
