"""One call of a function that reads private rows: its total, its charge, its rows, its noise.

`Call` is the protocol that all of them follow, in this order: the privacy parameters are resolved;
arguments are checked; the charge is written (`charged`); inside it the private table is opened and its
rows are counted (`Charged.rows`), still unread; sessions read rows and spend ``per_row``; the result
is written beside the charge (`Charged.released`).

How mu gets from the call to the noise: ``total`` is what the privacy unit, a row or a person, is
promised. ``per_row`` is what the mechanisms may spend on one row, so that as many rows as a person has
are worth ``total``. A session gives shares of ``per_row`` to its releases, and each of them divides its
sensitivity by its share of mu: the noise.

Nothing here sees a private value.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, Self, TypeVar

from dpstats.accounting.privacy import Cost, Privacy, Total, resolve_cost, resolve_privacy
from dpstats.accounting.unit import PrivacyUnit
from dpstats.arguments import check_seed, listed, mapping, naming
from dpstats.budget.charge import Charge, charged, label_of, naming_budget
from dpstats.column_search.releases import LevelSession
from dpstats.errors import (
    ArgumentError,
    DPStatsError,
    ErrorsWithoutTrace,
    FormulaError,
    SchemaError,
)
from dpstats.frame import (
    Design,
    Encoding,
    FirstRows,
    LevelCells,
    PersonsTable,
    PublicMoments,
    Reading,
    Rows,
    open_persons,
    open_rows,
    opened,
    private_design,
    remember_private,
    require_known_limits,
    require_readable_limits,
    shows_types,
    undeclared_levels,
)
from dpstats.mechanism.conditional import frequent_threshold
from dpstats.mechanism.noise import Noise, make_noise
from dpstats.mechanism.release import Release
from dpstats.propose_test.call import Kind, RowTotal, SafetyTerms, resolve_total
from dpstats.public_input import check_limits, more_public_note, same_table, spent_note
from dpstats.report.call_line import call_text, first_of
from dpstats.report.diagnostics import rows_at_most
from dpstats.report.privacy import PrivacyStatement
from dpstats.report.released import Diagnostic, Released

_R = TypeVar("_R", bound=Released)
_Spent = TypeVar("_Spent", bound=Total)
Given = Mapping[str, float | None]
"""mu, rho, epsilon and delta as the user gave them."""
_LEVELS_DELTA, _LEVELS_SHARE = 0.1, 0.02
"""Shares of delta, and of mu^2, for the release of levels."""


@dataclass(frozen=True)
class Call(Generic[_Spent]):
    """The arguments of a call on privacy and reading, before anything is charged or read.

    Attributes
    ----------
    function : str
        Its name.
    given : mapping
        mu, rho, epsilon and delta as the user gave them.
    unit : PrivacyUnit
        Who is protected.
    total, per_row : Privacy, PurePrivacy or ApproximatePrivacy
        What the unit is promised, and what the mechanisms may spend on one row.
    budget : Budget or None
    executor, progress
        Where the rows are read, and a bar.
    seed : int or None
    """

    function: str
    given: Given
    unit: PrivacyUnit
    total: Total
    per_row: _Spent
    budget: Any = None
    executor: Executor | None = None
    progress: bool | None = None
    seed: int | None = None

    def __post_init__(self) -> None:
        check_seed(self.seed)

    @classmethod
    def gaussian(
        cls,
        function: str,
        given: Given,
        *,
        rows_per_person: int | None,
        person: str | None,
        jointly: bool = False,
        **how: Any,
    ) -> Call[Privacy]:
        """A call whose releases are Gaussian; ``how``: budget, executor, progress and seed.

        ``jointly``: where a column names the person, its rows are summed up to one term.
        """
        with naming_budget(given, how.get("budget")):
            total = resolve_privacy(**given)
        unit = PrivacyUnit.of(rows_per_person, person, jointly)
        return Call(function, given, unit, total, total.per_row(unit.times), **how)

    @classmethod
    def gaussian_or_pure(
        cls, function: str, given: Given, *, rows_per_person: int, person: str | None, **how: Any
    ) -> Call[Cost]:
        """A call whose releases are Gaussian, or pure where epsilon alone was given."""
        with naming_budget(given, how.get("budget")):
            total = resolve_cost(**given)
        unit = PrivacyUnit.of(rows_per_person, person)
        return Call(function, given, unit, total, total.per_row(unit.times), **how)

    @classmethod
    def propose_test(
        cls,
        function: str,
        method: str,
        kind: Kind,
        given: Given,
        *,
        calibration: str,
        allow_unproved: bool,
        rows_per_person: int,
        person: str | None,
        **how: Any,
    ) -> tuple[Call[RowTotal], SafetyTerms]:
        """A call of efficient Propose-Test-Release, and what a test is planned by; see `resolve_total`.

        The unit gets what as many rows as it has are worth.
        """
        unit = PrivacyUnit.of(rows_per_person, person)
        total, terms = resolve_total(
            function, method, kind, calibration, given, unit, allow_unproved
        )
        return Call(function, given, unit, unit.whole(total), total, **how), terms

    def for_levels(self, names: Sequence[str]) -> Call[Privacy]:
        """The same call, with a tenth of its delta for the release of the levels of these columns.

        The total is then mu-GDP up to that slack, and still (epsilon, delta).
        """
        if self.unit.times > 1:
            raise SchemaError(
                f"the levels of {listed(names)} are released only where a row is protected, not a "
                f"person with several: declare them, limits={{'{names[0]}': ['a', 'b']}}."
            )
        epsilon, delta = self.given.get("epsilon"), self.given.get("delta")
        assert delta is not None
        slack = _LEVELS_DELTA * delta
        total = Privacy(resolve_privacy(epsilon=epsilon, delta=delta - slack).mu, slack)
        how = self.budget, self.executor, self.progress, self.seed
        return Call(self.function, self.given, self.unit, total, total, *how)

    def text(self, formula: str, options: Mapping[str, Any]) -> str:
        """The call as R would print it."""
        return call_text(self.function, formula, options, self.unit)

    def charged(self, text: str, data: Any, *, reads_paths: bool = True) -> Charged:
        """Write the charge, if the budget allows it; nothing of the data has been touched.

        ``text`` is the call as it prints; a text that is given as data is a path where ``reads_paths``.
        """
        stated = self.given.get("epsilon"), self.given.get("delta")
        label = label_of(data, reads_paths)
        charge = charged(self.budget, self.total, self.unit, text, label, stated)
        unit = self.unit
        first = None if unit.person is None else FirstRows(unit.person, unit.rows)
        return Charged(self, text, data, charge, first)

    def noise(self, stream: int = 0) -> Noise:
        """What the mechanisms of the call draw from; with one seed another ``stream`` is other noise."""
        return make_noise(None if self.seed is None else self.seed + stream * 2**64)


@dataclass(frozen=True)
class Charged:
    """A call whose charge is written.

    Inside ``with`` stands what it checks before it reads a private row: what is refused there for
    public reasons is not charged. What comes after stays charged, whatever happens.
    """

    call: Call[Any]
    text: str
    data: Any
    charge: Charge
    first: FirstRows | None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self.charge.ended(error)
        if error is None:
            remember_private(self.data)

    def __repr__(self) -> str:
        return f"<call: {self.text}>"

    def design(
        self,
        formula: str,
        weights: str | None,
        offset: str | None,
        limits: Mapping[str, Any] | None,
        unknown: Sequence[str] = (),
        *,
        releases_levels: bool = True,
    ) -> Design:
        """The design of a formula by the kinds of the private table's columns, and limits.

        Columns with ``unknown`` levels have two in their place, so that what is wrong for public reasons
        is found before these are released.
        """
        given = {**(limits or {}), **{name: ["a", "b"] for name in unknown}}
        may = releases_levels and shows_types(self.data)
        with naming("limits="):
            require_readable_limits(limits or {})
        try:
            with ErrorsWithoutTrace(), naming("the private data"):
                return private_design(
                    formula, self.table, given, weights, offset, releases_levels=may
                )
        except FormulaError as error:
            if unknown:
                error.args = (
                    f"{error} (The levels 'a' and 'b' stand for those that would be released.) Where a "
                    f"formula names levels, declare them: limits={{'{unknown[0]}': [...]}}.",
                )
            raise

    @cached_property
    def table(self) -> Any:
        """The private data, a stream of them read into memory."""
        return opened(self.data)

    def check_limits(
        self, design: Design, declared: bool, limits: Mapping[str, Any] | None
    ) -> None:
        """Every entry of limits does something, or names a column that the formula leaves out.

        One dict may serve many formulas of a table, whose names of columns are public; a name that it
        lacks is a misspelled one.
        """
        own = {*design.columns, "(weights)", "(norm)"}
        others = [name for name in limits or {} if name not in own]
        if others:
            with ErrorsWithoutTrace(), naming("the private data"):
                require_known_limits(others, self.table, [*design.columns])
        used = {name: value for name, value in (limits or {}).items() if name in own}
        check_limits(design, declared, used)

    def rows(self, how: Design | Encoding) -> Rows | PersonsTable:
        """The private table's columns checked, its rows counted and still unread; see `frame.source`.

        Where the rows of a person are summed up, its persons are counted, as a design encodes them.
        """
        reading = Reading(self.call.function, self.call.executor, self.call.progress)
        with ErrorsWithoutTrace(), naming("the private data"):
            if self.call.unit.jointly:
                assert self.first is not None
                assert isinstance(how, Design)
                return open_persons(how, self.table, reading, self.first)
            return open_rows(how, self.table, reading, self.first)

    def require_rows_for_levels(self, names: Sequence[str], n: int) -> None:
        """Refuse, before a row is read, levels of which noise would show fewer than two."""
        if not names:
            return
        mu = self.call.per_row.share(_LEVELS_SHARE / len(names)).mu
        chance = self.call.per_row.slack / len(names)
        least = frequent_threshold(math.sqrt(2) / mu, chance)
        if 2 * least > n:
            counted = self.call.unit.counted
            raise ArgumentError(
                f"levels of {listed(names)} are released where more than about {least:.0f} {counted} "
                f"have them: among {n} {counted} that is one level at most. Declare them, "
                f"limits={{'{names[0]}': ['a', 'b']}}, or ask for a larger epsilon."
            )

    def levels(self, names: Sequence[str], n: int, noise: Noise) -> ReleasedLevels:
        """Release the levels of text columns of n rows, or persons; of none, nothing is read."""
        if not names:
            return ReleasedLevels(None, {})
        with ErrorsWithoutTrace():
            with naming("the private data"):
                persons = n if self.call.unit.jointly else None
                cells = LevelCells(self.table, self.first, persons=persons)
            with LevelSession(cells, self.call.per_row, noise) as session:
                found = session.levels(names, _LEVELS_SHARE)
            counted = self.call.unit.counted
            for name, (levels, least) in found.items():
                if len(levels) < 2:
                    raise SchemaError(
                        f"fewer than two levels of `{name}` have more than about {least:.0f} {counted}, "
                        f"as release requires: declare them, limits={{'{name}': ['a', 'b']}}. "
                        f"{self._spent}"
                    )
        return ReleasedLevels(session, found, counted)

    def released_design(
        self,
        formula: str,
        weights: str | None,
        offset: str | None,
        limits: Mapping[str, Any] | None,
        levels: ReleasedLevels,
    ) -> Design:
        """The design once levels are released; what it refuses says so, and what was paid."""
        try:
            return self.design(formula, weights, offset, levels.limits(limits))
        except DPStatsError as error:  # of public facts and of levels, which are released
            error.args = (f"{error} {levels.as_limits} {self._spent}",)
            raise

    @property
    def _spent(self) -> str:
        """A sentence: a call which has released something counts, though it ends in an error."""
        given = self.call.given
        return (
            f"Private rows were read for this, so the call counts in full: epsilon = "
            f"{given['epsilon']:g}, delta = {given['delta']:g}."
        )

    def notes(
        self,
        n: int | None,
        public: Any,
        moments: PublicMoments | None = None,
        m: int | None = None,
        lines: Sequence[Diagnostic] = (),
    ) -> tuple[str, ...]:
        """Notes that qualify the guarantee: on delta, public data, and the column of persons.

        ``m``: public rows, where they have no moments; ``lines``: diagnostics, one of which tells how
        many rows persons have.
        """
        m = m if moments is None else moments.m
        rows = n if self.call.unit.counted == "rows" else rows_at_most(lines)
        return (
            *delta_note(self.call.given.get("delta"), n, self.call.unit.counted.removesuffix("s")),
            *spent_note(moments, self.call.total, self.call.unit),
            *same_table(public, self.data),
            *more_public_note(rows, m),
            *(() if self.first is None else self.first.notes),
        )

    def statement(self, releases: Iterable[Release], seeded: bool) -> PrivacyStatement:
        """The privacy of what was released."""
        call = self.call
        delta = call.given.get("delta")
        return PrivacyStatement.of(call.per_row, releases, seeded, delta, call.unit)

    def released(self, result: _R) -> _R:
        """Write what was released beside the charge; the result."""
        return self.charge.released(result)


@dataclass(frozen=True)
class ReleasedLevels:
    """Levels of text columns that were released, and the session that it was done by, if any were.

    ``found`` has for each column its levels, and from how many rows on a level is released; or from how
    many persons on, ``counted`` as having one of their levels each.
    """

    session: LevelSession | None
    found: Mapping[str, tuple[list[str], float]]
    counted: str = "rows"

    def limits(self, declared: Mapping[str, Any] | None) -> dict[str, Any]:
        """The levels beside what was declared."""
        return {**(declared or {}), **{name: levels for name, (levels, _) in self.found.items()}}

    @property
    def as_limits(self) -> str:
        """How a further call declares them."""
        declared = ", ".join(f"{name!r}: {levels}" for name, (levels, _) in self.found.items())
        return (
            "These levels were released from the private rows. A further call may declare them, or "
            f"some of them: limits={{{declared}}}."
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """Which levels were released, and what becomes of the others."""
        return tuple(
            f"The levels of `{name}` with more than about {least:.0f} {self.counted} were released: "
            f"{first_of(levels)}. Rows with other levels are not used."
            for name, (levels, least) in self.found.items()
        )


def with_levels(
    call: Call[Any],
    formula: str,
    data: Any,
    weights: str | None,
    offset: str | None,
    limits: Mapping[str, Any] | None,
) -> tuple[Call[Any], tuple[str, ...]]:
    """A call that pays for the release of levels, where it may, and the columns that need it.

    It may where epsilon and delta are given, so that a part of delta is there for it. Names and types of
    columns are public, and looked at before anything is charged: where that takes no reading of rows.
    """
    mapping("limits", limits)
    if call.given.get("delta") is None or not shows_types(data):
        return call, ()
    with naming("the private data"):
        unknown = undeclared_levels(formula, data, weights, offset, limits)
    return (call.for_levels(unknown), unknown) if unknown else (call, ())


def delta_note(delta: float | None, n: int | None, of: str = "row") -> tuple[str, ...]:
    """A note where delta would allow a mechanism that publishes a row."""
    if delta is None or not n or delta < 1 / n:
        return ()
    return (
        f"delta = {delta:g} is not below 1/n = {1 / n:.2g}: such a delta does not rule out that "
        f"some {of} is revealed. Choose delta well below 1/n for real use.",
    )
