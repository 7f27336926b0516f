"""Budgets: the total that may be spent on a data set, and what was spent.

A call knows its total from its arguments; `charged` (`charge`) has the budget
write it to its ledger (`ledger`), if it allows that (`dpstats.accounting.composition`), before the
private table is opened; the call runs; what it released is written beside the charge.
Nothing here sees a private value.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import pandas as pd

from dpstats.accounting.composition import BudgetTotal, Composed
from dpstats.accounting.privacy import ApproximatePrivacy, Privacy, Total, resolve_cost
from dpstats.accounting.unit import PrivacyUnit
from dpstats.arguments import in_prose, number, shown, spelled
from dpstats.budget.ledger import (
    BudgetTerms,
    ChargeRequest,
    FileLedger,
    Ledger,
    LedgerEntry,
    MemoryLedger,
    now,
    plain,
)
from dpstats.budget.page import PURE_CALLS, Entry, Statement, as_stated, in_unit, statement_page
from dpstats.budget.workers import (
    identity,
    inherited_budget,
    mark,
    parent_budget,
    unmark,
    worked_for,
)
from dpstats.errors import ArgumentError, BudgetError, BudgetExceeded
from dpstats.report.table import Answering, Page, Printed

SLACK = 1e-5
"""What calls that hold up to a probability may add of it, in a budget of mu or rho."""


class Budget(Answering, Printed):
    """A total that many calls share, with a ledger of what each has spent.

    Give it to calls, ``dp_lm(..., mu=0.5, budget=budget)``, or open it, ``with budget:``: then every
    call inside that names no other budget is charged to it, in any thread. If it has a file, so are
    the calls of other processes: of workers of `multiprocessing` and of libraries built on it
    (joblib), whether they are started inside or before, and of programs that are started inside. (A
    worker that was started inside and is used when no budget is open is charged to the one that it
    began with.) Programs whose environment and ancestors know nothing of it (sudo, ssh, cron,
    containers), workers on other machines and, where there is no ``/proc``, older workers of workers
    need ``budget=``.

    A call is charged before it reads a private row. One that would spend more than is left raises
    `BudgetExceeded` and reads nothing. One that fails before it has read anything is not charged; one
    that is interrupted later stays charged, and says so. What is computed from a release (``update``,
    ``path``, ``predict``, ``anova``) costs nothing.

    Parameters
    ----------
    mu, rho, epsilon, delta : float, optional
        The total in one unit: Gaussian DP, zCDP, (epsilon, delta), or epsilon alone for pure
        differential privacy. May be left out where ``path`` is an existing budget.
    path : str or path, optional
        A file that keeps the ledger. With a total it is made if it does not exist: write
        ``Budget(mu=2, path="study.budget")`` the first time and ``Budget(path="study.budget")``
        later, so that a mistyped name is not taken for a new study. Several processes may use it at
        once, and so may other people who can write the file and its folder. Without a path the
        budget ends with the process. The ledger is as safe as the file: whoever can delete it, or
        replace it by an old copy, can spend twice.
    slack : float, optional
        Some calls (`eptr` and its kind) may fail with some probability, which adds up as well. For
        mu and rho it is at most this much, 1e-5 by default; for epsilon and delta a part of delta:
        a tenth, or more if the first call needs it to be repeated.
    rows_per_person, person
        Who is protected: a row, or a person with this many rows, named by a column. Calls must
        protect as much: the same column, and at least as many rows.

    See Also
    --------
    BudgetExceeded : Raised by a call that asks for too much.

    Notes
    -----
    Calls may be chosen after seeing what earlier ones released. The limits are fixed before, and mu^2,
    rho, or epsilons add up to them (Smith and Thakurta 2022; Feldman and Zrnic 2021).

    A budget of epsilon and delta adds up mu^2 as well, which is far better than adding epsilons, if
    its first call is Gaussian (most are). If that call is stated at one epsilon
    (``calibration="dp"``, "paper", `charge` with epsilon and delta), the epsilons and deltas of all
    calls add up. Its page says which. For many calls of different kinds a budget of mu is the
    simplest.

    The ledger names data by their path, or by ``data.attrs["name"]`` of a pandas table.

    References
    ----------
    Dong, Roth and Su (2022), "Gaussian Differential Privacy", JRSS B 84.

    Examples
    --------
    >>> from dpstats import Budget, dp_lm
    >>> from dpstats.datasets import fair
    >>> public, private = fair()
    >>> budget = Budget(mu=1)
    >>> with budget:
    ...     fit = dp_lm("rate_marriage ~ age + religious", private, public, mu=0.6, seed=1)
    >>> budget.spent.mu, round(budget.remaining.mu, 3)
    (0.6, 0.8)
    >>> smaller = fit.update("~ . - age")
    >>> budget.spent.mu
    0.6
    """

    other_names: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("left", "available", "balance"), "remaining"),
        **dict.fromkeys(("ledger", "calls", "history"), "entries"),
        "split": "mu=budget.total.mu / 4**0.5 in each of four calls",
    }

    @spelled
    def __init__(
        self,
        *unnamed: Any,
        mu: float | None = None,
        rho: float | None = None,
        epsilon: float | None = None,
        delta: float | None = None,
        path: str | os.PathLike[str] | None = None,
        slack: float | None = None,
        rows_per_person: int = 1,
        person: str | None = None,
    ) -> None:
        if unnamed:
            raise ArgumentError(
                "name the unit of the total, Budget(mu=2), Budget(rho=2) or Budget(epsilon=3, "
                "delta=1e-6); a file is Budget(path='study.budget')."
            )
        self._lock = threading.RLock()
        terms = _terms(mu, rho, epsilon, delta, slack, PrivacyUnit.of(rows_per_person, person))
        if path is None:
            if terms is None:
                raise ArgumentError(
                    "a budget needs its total: Budget(mu=2), Budget(rho=2), Budget(epsilon=3, "
                    "delta=1e-6); or the file of one, Budget(path='study.budget')."
                )
            self._ledger: Ledger = MemoryLedger(terms)
        elif isinstance(path, str) and ("://" in path or not path.strip()):
            raise ArgumentError(
                f"path must name a file on this machine, such as path='study.budget', not {shown(path)}."
            )
        elif isinstance(path, str | os.PathLike) and isinstance(os.fspath(path), str):
            self._ledger = FileLedger(Path(path), terms)
        else:
            raise ArgumentError(
                f"path must name a file, such as path='study.budget', not {shown(path)}."
            )
        self._terms = self._ledger.terms
        self._state = _State()
        self._read()

    # -- for users --------------------------------------------------------------------------------

    @property
    def spent(self) -> Composed:
        """What the calls so far cost together: ``.mu``, ``.rho``, ``.epsilon(delta)``, ``.slack``."""
        return self._read().spent

    @property
    def remaining(self) -> Total:
        """What a next call may spend: ``.mu``, ``.rho``, ``.epsilon(delta)``."""
        state = self._read()
        return self._terms.allowance.left(state.spent, state.first)

    @property
    def total(self) -> Total:
        """What the budget was opened with: ``.mu``, ``.rho``, ``.epsilon(delta)``."""
        return self._terms.allowance.total

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The charges, in their order; those that were withdrawn are left out."""
        return self._read().listed()

    def tidy(self) -> pd.DataFrame:
        """The charges, a row each."""
        rows = []
        for e in self.entries:
            cost = (e.cost.mu, e.cost.rho, e.cost.slack, in_unit(e.cost, self._terms.allowance))
            rows.append((e.time, e.call, e.data, e.unit, *cost, e.released))
        columns = ["time", "call", "data", "unit", "mu", "rho", "slack", "cost", "released"]
        return pd.DataFrame(rows, columns=columns)

    def table(self) -> Page:
        """A statement of all charges; prints as text, shows as HTML, exports to Markdown and LaTeX."""
        return statement_page(self._statement(), charges=True)

    def _printed(self) -> Page:
        return statement_page(self._statement(), charges=False)

    def _statement(self) -> Statement:
        state, allowance = self._read(), self._terms.allowance
        return Statement(
            self._ledger.name,
            allowance,
            self._terms.unit.at_least,
            allowance.caps(state.first),
            state.spent,
            allowance.left(state.spent, state.first),
            state.listed(),
        )

    def charge(
        self,
        what: str,
        *,
        mu: float | None = None,
        rho: float | None = None,
        epsilon: float | None = None,
        delta: float | None = None,
        data: str = "",
        published: bool = False,
    ) -> None:
        """Charge a release that was, or will be, made by other means.

        ``epsilon`` with ``delta`` is taken as stated at that epsilon alone; for a Gaussian
        mechanism give its mu, which adds up better. The cost is for the unit that the budget
        protects: a row, or a person with ``rows_per_person`` rows. ``published``: it is already
        out, and is recorded even if it exceeds what is left.

        Raises
        ------
        BudgetExceeded
            If the budget does not allow it.

        Examples
        --------
        >>> budget = Budget(mu=1)
        >>> budget.charge("counts by region, published in May", rho=0.08)
        >>> round(budget.spent.mu, 12)
        0.4
        """
        if not isinstance(what, str) or not what.strip():
            raise ArgumentError(
                f"describe in words what is released, such as 'the mean of x', not {shown(what)}."
            )
        if not isinstance(data, str):
            raise ArgumentError(
                f"data is a label, a text such as data='survey 2024', not {shown(data)}."
            )
        cost: Total = resolve_cost(mu, rho, epsilon, delta)
        if epsilon is not None and delta is not None:
            cost = ApproximatePrivacy(float(epsilon), float(delta))
        unit = self._terms.unit
        stated = cost if isinstance(cost, ApproximatePrivacy) else None
        number = self._charge(
            ChargeRequest(what, data, unit.text, cost, stated), unit, bool(published)
        )
        self._note(number, "released", "by other means")

    # -- for calls --------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        global _home
        with _opening:
            if _inherited():
                _open.clear()
            if _open and _open[-1] is not self:
                raise BudgetError(
                    "another budget is already open, and a call is charged to only one: close it "
                    "first, or give this one to calls by budget=."
                )
            mark(str(self._ledger.path) if isinstance(self._ledger, FileLedger) else "")
            _open.append(self)
            _home = identity()
        return self

    def __exit__(self, *error: object) -> None:
        with _opening:
            if self in _open:
                _open.remove(self)
            if not _open:
                unmark()

    def _charge(self, request: ChargeRequest, unit: PrivacyUnit, published: bool = False) -> int:
        """Write a charge, if it is allowed (or published already); its number. For `charge`."""
        self._require(unit)

        def line(number: int) -> LedgerEntry:
            state, allowance = self._state, self._terms.allowance
            counted = replace(
                request, cost=allowance.counted(request.cost, request.stated, state.first)
            )
            caps = allowance.caps(state.first or counted.cost)
            if not published and not caps.hold(state.spent.plus(counted.cost)):
                raise self._refusal(request, counted.cost, state)
            return counted.line(number)

        with self._lock:
            return self._ledger.append(self._learn, line)

    def _require(self, unit: PrivacyUnit) -> None:
        """Refuse a call that protects less than the budget, or another.

        Where a column names the person, a row that goes from one person to another changes which rows of
        both count: two. So a call with ``person=`` protects a change of j rows, whoever they are of, if
        2 j rows are within its own.
        """
        own = self._terms.unit
        if unit.person == own.person:
            needed, how = own.most, "Add "
        elif own.person is None and unit.jointly:
            raise BudgetError(
                f"this budget protects {own.at_least}, which may change two persons; the call protects "
                f"one person. Open the budget with person='{unit.person}'."
            )
        elif own.person is None:
            needed = 2 * own.most
            how = f"Open the budget with person='{unit.person}', or, to stay with rows, add "
        else:
            rows = "" if own.rows == 1 else f", rows_per_person={own.rows}"
            raise BudgetError(
                f"this budget protects persons named by `{own.person}`; the call protects "
                f"{unit.text}. Add person='{own.person}'{rows} to the call."
            )
        if unit.most < needed:
            raise BudgetError(
                f"this budget protects {own.at_least}; the call protects {unit.text}. {how}"
                f"rows_per_person={needed:g} to the call."
            )

    def _note(self, charge: int, event: Literal["released", "withdrawn"], text: str) -> None:
        """Write the outcome of a charge. For `dpstats.budget.charge`."""
        with self._lock:
            self._ledger.append(
                self._learn,
                lambda number: LedgerEntry(number, now(), event, charge, text=plain(text)),
            )

    def _refusal(self, request: ChargeRequest, cost: Total, state: _State) -> BudgetExceeded:
        allowance = self._terms.allowance
        left = allowance.left(state.spent, state.first)
        caps = allowance.caps(state.first or cost)
        requested = (
            in_unit(cost, allowance) if request.stated is None else as_stated(request.stated)
        )
        message = (
            f"The call asks for {requested}, and the budget ({self._ledger.name}) has "
            f"{in_unit(left, allowance)} left of {in_unit(allowance.total, allowance)}. Nothing was "
            "read or charged. "
        )
        room = max(caps.slack - state.spent.slack, 0.0)
        if not caps.mu and not allowance.delta and (cost.slack or isinstance(cost, Privacy)):
            message += f"A budget of epsilon alone is for calls with epsilon alone: {PURE_CALLS}."
        elif cost.slack > room * (1 + 1e-12):
            message += (
                f"Its delta adds {cost.slack:.3g} to those before, and only {room:.3g} is left: "
                "ask with a smaller delta"
                + (", or keep another budget with a larger slack=." if caps.mu else "")
            )
        elif caps.mu and not isinstance(cost, Privacy):
            alone = Composed().plus(cost)
            message += (
                f"A call that is not Gaussian counts as mu = {in_prose(alone.mu, 3)} in this budget, "
                f"and mu = {in_prose(left.mu, 3)} is left: keep such calls in a budget of their own."
            )
        elif allowance.delta and allowance.slack and not state.entries:
            message += (
                f"{allowance.slack:.3g} of delta is reserved, by slack=, for calls that may fail "
                "with some probability."
            )
        elif state.entries:
            message += "budget.table() shows what it was spent on."
        return BudgetExceeded(message.rstrip(" "), request.cost, left)

    def _read(self) -> _State:
        with self._lock:
            self._ledger.news(self._learn)
            return self._state

    def _learn(self, lines: list[LedgerEntry]) -> None:
        """Add lines to the state, all or none of them: a person may press Ctrl-C."""
        state = self._state.copy()
        for line in lines:
            state.learn(line)
        self._state = state

    def __reduce__(self) -> Any:
        if isinstance(self._ledger, FileLedger):
            return _again, (str(self._ledger.path),)
        raise BudgetError(
            "a budget in memory cannot be copied or sent to another process; give it a file: "
            "Budget(..., path='study.budget')."
        )


def _again(path: str) -> Budget:
    return Budget(path=path)


class _State:
    """The sums of the entries of a ledger."""

    def __init__(self) -> None:
        self.last = 0
        self.first: Total | None = None
        self.spent = Composed()
        self.entries: dict[int, Entry] = {}

    def copy(self) -> _State:
        new = copy(self)
        new.entries = dict(self.entries)
        return new

    def listed(self) -> tuple[Entry, ...]:
        """The charges that stand, numbered from 1."""
        entries = self.entries.values()
        return tuple(replace(entry, number=k) for k, entry in enumerate(entries, start=1))

    def learn(self, line: LedgerEntry) -> None:
        if line.number <= self.last:
            return
        self.last = line.number
        if line.event == "charge":
            self.first = self.first or line.cost
            self.spent = self.spent.plus(line.cost)
            labels = (line.call, line.data, line.unit)
            self.entries[line.number] = Entry(line.number, line.time, *labels, line.cost)
        elif line.event == "released":
            self.entries[line.charge] = replace(self.entries[line.charge], released=line.text)
        else:
            del self.entries[line.charge]
            self.spent = Composed.of(entry.cost for entry in self.entries.values())
            # limits that a withdrawn charge has laid down stand as long as others rest on them
            self.first = self.first if self.entries else None


def _terms(
    mu: float | None,
    rho: float | None,
    epsilon: float | None,
    delta: float | None,
    slack: float | None,
    unit: PrivacyUnit,
) -> BudgetTerms | None:
    if mu is rho is epsilon is delta is None:
        if slack is not None or unit != PrivacyUnit():
            raise ArgumentError(
                "slack=, rows_per_person= and person= belong to a new budget with its total."
            )
        return None
    resolve_cost(mu, rho, epsilon, delta)
    share = number(slack)
    if slack is not None and (share is None or not 0 <= share < (delta or 1)):
        largest = SLACK if epsilon is None else delta
        raise ArgumentError(
            "slack is a probability, 0 or more and less than 1 (and than delta), such as "
            f"{largest or SLACK:g}; not {shown(slack)}."
        )
    if epsilon is None:
        name: Literal["mu", "rho"] = "rho" if mu is None else "mu"
        level = float(rho if mu is None else mu)  # type: ignore[arg-type]  # one of them is given
        allowance = BudgetTotal(name, level, slack=SLACK if share is None else share)
    else:
        if share is not None and delta is None:
            raise ArgumentError("a budget of epsilon alone has no slack.")
        allowance = BudgetTotal("epsilon", float(epsilon), float(delta or 0.0), share)
    return BudgetTerms(allowance, unit.rows or 1, unit.person)


def open_budget() -> Budget | None:
    """The budget that calls are charged to which name none: of this process, or of one it works for."""
    if _open and not (_inherited() and parent_budget() is not None):
        return _open[-1]
    path = inherited_budget()
    if path is None:
        return None
    if not path:
        raise BudgetError(
            "a budget in memory is open in the process that started this one, and cannot be charged "
            "from here: open one with a file, Budget(..., path='study.budget')."
        )
    return Budget(path=path)


def _inherited() -> bool:
    """Whether what is open here came with the fork that made a worker."""
    return _home != identity() and worked_for() is not None


_opening = threading.Lock()
_open: list[Budget] = []
_home = ""
