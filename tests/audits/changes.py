"""How far neighbours move every exact total of a call, beside what is claimed of it.

A call is made once, on one of two neighbours, and every method of its session is asked of a second
session as well, which has the other neighbour and releases what the first one has released (see
`releases`). So both have the same history, and the two totals to which noise is added can be compared.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from unittest import mock

import numpy as np

from dpstats import call
from dpstats.accounting.privacy import PurePrivacy
from dpstats.frame import Design, Reading, open_persons, open_rows
from dpstats.frame.by_person import OneOfEach
from dpstats.margins.rows import ValueSource
from dpstats.mechanism import passes as slabs
from dpstats.mechanism.release import Release
from dpstats.mechanism.threads import InTurn, one_blas_thread
from dpstats.models.eptr_own import releases as own_estimate
from dpstats.propose_test.curve import Levels
from dpstats.propose_test.paper import PapersPlan
from dpstats.propose_test.safety import SafetyLevels
from tests.audits.releases import Draws, Echo, Tape, Voice
from tests.audits.watched import PLACES, Twin, Watched, listening, of_one

BEHIND_A_TEST = "if the test passes"
Step = tuple[Any, float]
"""A profile of sensitivities, or a plan of the papers, and the safety of a table."""


@dataclass(frozen=True)
class Change:
    """One release of two neighbours.

    Attributes
    ----------
    what, kind : str
        In words; "vector", "counts" or "symmetric".
    claim : float
        The largest change that is claimed, in steps: l2 of a vector (coordinates with wider noise count
        less), l1 of pure counts, Frobenius of matrices. Behind a test: what the plan takes for two
        tables of these safeties; infinite where it takes nothing for granted.
    moved : float
        The change of the exact totals, in the same norm.
    noise : float
        Standard deviation of the noise times its cost: the claim, where it is Gaussian.
    probabilities : pair of float
        With which either table is answered.
    total : Privacy, PurePrivacy or ApproximatePrivacy
        Of the session.
    given : dict
        What the release was made of, for the first table, and what was ``found``.
    """

    what: str
    kind: str
    claim: float
    moved: float
    noise: float
    probabilities: tuple[float, float]
    total: Any
    given: dict[str, Any] = field(repr=False)

    @property
    def part(self) -> float:
        """The change as a part of what is claimed."""
        return self.moved / self.claim


@dataclass
class _Notes:
    """What is heard while a call runs."""

    changes: list[Change] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    total: Any = None
    levels: Any = None
    coins: tuple[float, float] = (1.0, 1.0)


class _Compared(Echo):
    """The second session's noise, which compares its totals with those of the first."""

    def __init__(self, tape: Tape, notes: _Notes) -> None:
        super().__init__(tape)
        self._notes = notes

    def coin(self, probability: float) -> bool:
        self._notes.coins = self.tape.waiting[0][1], probability
        return super().coin(probability)

    def release(self, original: Any, kind: str, given: dict[str, Any]) -> Release:
        notes, (_, found, first) = self._notes, self.tape.waiting[0]
        tested = given["what"].endswith(BEHIND_A_TEST)
        claim = _claim_of(notes.steps) / given["unit"] if tested else float(given["sensitivity"])
        coins = notes.coins if tested else (1.0, 1.0)
        moved = _moved(kind, first["total"], given["total"], given.get("wider"), given["privacy"])
        noise = found.noise_sd / given["unit"] * _size(found.cost)
        total = notes.total
        notes.changes.append(
            Change(
                given["what"], kind, claim, moved, noise, coins, total, {**first, "found": found}
            )
        )
        return super().release(original, kind, given)


def _size(cost: Any) -> float:
    return float(cost.at if isinstance(cost, PurePrivacy) else cost.mu)


def _moved(kind: str, one: Any, two: Any, wider: Any, cost: Any) -> float:
    """The change of exact integers; squares are added before anything is rounded."""
    difference = (one - two).ravel()
    if kind == "counts" and isinstance(cost, PurePrivacy):
        return float(sum(abs(int(k)) for k in difference))
    half = np.zeros(len(difference), dtype=bool) if wider is None else wider
    twice = sum(int(k) ** 2 * (1 if w else 2) for k, w in zip(difference, half, strict=True))
    return math.sqrt(twice / 2)


def _claim_of(steps: list[Step]) -> float:
    """What a plan takes for the two tables that were tested last; the safety moves by 1 at most."""
    (profile, one), (same, two) = steps[-2:]
    assert profile is same or isinstance(profile, Levels)
    assert abs(one - two) <= 1, "the safety of neighbours differs by more than one"
    if isinstance(profile, PapersPlan):
        return profile.alpha if max(one, two) > 0 else math.inf
    at = int(min(one, two))
    return float(profile.same_at(at) if one == two else profile.up_at(at))


@contextmanager
def _noting(notes: _Notes) -> Iterator[None]:
    """Safeties are noted where they are looked up."""

    def of_levels(original: Any) -> Any:
        def at(self: Any, value: Any) -> int:
            level = original(self, value)
            notes.steps.append((self.levels, level))
            return int(level)

        return at

    def own(original: Any) -> Any:
        def level_of(safety: float) -> int:
            level = original(safety)
            notes.steps.append((notes.levels, level))
            return int(level)

        return level_of

    def papers(original: Any) -> Any:
        def probability(self: Any, level: Any) -> Any:
            if np.ndim(level) == 0:
                notes.steps.append((self, max(float(level), 0.0)))
            return original(self, level)

        return probability

    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(SafetyLevels, "at", of_levels(SafetyLevels.at)))
        for place, name, made in (
            (own_estimate, "level_of", own),
            (PapersPlan, "probability", papers),
        ):
            stack.enter_context(mock.patch.object(place, name, made(getattr(place, name))))
        yield


def _without_threads(count: int) -> InTurn:
    return InTurn()


def changes(case: Watched, side: int = 0, seed: int = 1) -> list[Change]:
    """Every release of one call on the table of this side, its neighbour in step."""
    notes, place = _Notes(), PLACES[case.function]
    mine, yours = case.tables[side], case.tables[1 - side]
    with ExitStack() as stack:
        stack.enter_context(listening())
        stack.enter_context(_noting(notes))
        stack.enter_context(one_blas_thread())
        stack.enter_context(warnings.catch_warnings())
        stack.enter_context(np.errstate(all="ignore"))
        warnings.simplefilter("ignore")
        stack.enter_context(mock.patch.object(slabs, "ThreadPoolExecutor", _without_threads))
        if place.session:
            for target, name, made in _in_step(case, mine, yours, notes, seed):
                stack.enter_context(mock.patch.object(target, name, made))
        else:
            _own_in_step(stack, place.module, yours, notes, seed)
        case.call(mine, seed)
    assert notes.changes
    return notes.changes


def _in_step(
    case: Watched, mine: Any, yours: Any, notes: _Notes, seed: int
) -> Iterator[tuple[Any, str, Callable[..., Any]]]:
    """The rows of the neighbour are encoded beside, and sessions are opened in pairs."""
    place = PLACES[case.function]
    rows_of = open_rows
    other: list[Any] = []

    def rows(how: Any, data: Any, reading: Any = None, first: Any = None) -> Any:
        found = rows_of(how, data, reading, first)
        if data is mine:
            other.append(rows_of(how, yours, Reading(), first))
        return found

    draws = Draws(seed)

    def session(kind: type, source: Any, *given: Any, **named: Any) -> Twin:
        tape = Tape()
        neighbour = other[0]
        if isinstance(source, OneOfEach):
            neighbour = neighbour.one_of_each(differences=source.differences)
        if isinstance(source, ValueSource):
            neighbour = ValueSource(source._lines, other[0])
        voices = Voice(draws, tape), _Compared(tape, notes)
        one, two = (
            kind(table, *(voice if hasattr(v, "coin") else v for v in given), **of_one(named, k))
            for k, (table, voice) in enumerate(zip((source, neighbour), voices, strict=True))
        )
        notes.total = one.total
        return Twin(one, two, tape, ends=False)

    def persons(design: Design, data: Any, reading: Any, names: Any) -> Any:
        found = open_persons(design, data, reading, names)
        if data is mine:
            other.append(open_persons(design, yours, Reading(), names))
        return found

    yield call, "open_rows", rows
    yield call, "open_persons", persons
    for opens, name, kind in place.sessions:
        yield opens, name, partial(session, kind)


def _own_in_step(stack: ExitStack, module: Any, yours: Any, notes: _Notes, seed: int) -> None:
    """An estimator of the user's own."""
    tested, plan = module.tested_estimate, module.plan_test

    def planned(levels: Any, *given: Any, **named: Any) -> Any:
        notes.levels = levels
        return plan(levels, *given, **named)

    def both(data: Any, *given: Any) -> Any:
        tape = Tape()
        notes.total = given[-2]
        found = tested(data, *given[:-1], Voice(Draws(seed), tape))
        tested(yours, *given[:-1], _Compared(tape, notes))
        return found

    stack.enter_context(mock.patch.object(module, "plan_test", planned))
    stack.enter_context(mock.patch.object(module, "tested_estimate", both))
