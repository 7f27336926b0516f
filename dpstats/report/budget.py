"""The statement of a budget: its total, every charge, what is left."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dpstats.mechanism.composition import Allowance, Composed
from dpstats.mechanism.privacy import Total
from dpstats.mechanism.unit import Unit
from dpstats.report.format import format_scalar
from dpstats.report.table import Column, Heading, KeyValues, Page, Paragraph, Part, Table

_SHOWN_DELTA = 1e-5


@dataclass(frozen=True)
class Entry:
    """One charge of a ledger.

    Attributes
    ----------
    number : int
    time : str
        UTC.
    call, data, unit : str
        As it was typed, the label of its data, who is protected.
    cost : Privacy, PurePrivacy or ApproximatePrivacy
    released : str
        What came out; empty while the call runs, and where it never ended.
    """

    number: int
    time: str
    call: str
    data: str
    unit: str
    cost: Total
    released: str = ""


@dataclass(frozen=True)
class Statement:
    """What a budget says of itself."""

    name: str
    allowance: Allowance
    rows_per_person: int
    spent: Composed
    remaining: Total
    entries: tuple[Entry, ...]


def in_unit(cost: Total, allowance: Allowance) -> str:
    """A cost in the unit that the budget was opened in."""
    alone = Composed().plus(cost)
    if allowance.unit == "epsilon":
        epsilon = alone.epsilon(allowance.delta) if allowance.delta or not alone.slack else None
        if epsilon is not None and epsilon < float("inf"):
            at = f" at delta = {_number(allowance.delta)}" if allowance.delta else ""
            return f"epsilon = {_number(epsilon)}{at}"
    value = alone.rho if allowance.unit == "rho" else alone.mu
    unit = "rho" if allowance.unit == "rho" else "mu"
    slack = f" up to delta0 = {_number(cost.slack)}" if cost.slack else ""
    return f"{unit} = {_number(value)}{slack}"


def in_all_units(sum_: Composed, delta: float) -> str:
    """A sum of costs in the three units, at this delta (0: epsilon alone, where there is one)."""
    slack = f" up to delta0 = {_number(sum_.slack)}" if sum_.slack else ""
    gaussian = f"mu = {_number(sum_.mu)} (GDP), rho = {_number(sum_.rho)} (zCDP){slack}"
    if not delta and (sum_.gaussian or sum_.slack):
        delta = _SHOWN_DELTA
    at = f" at delta = {_number(delta)}" if delta else " (pure)"
    return f"{gaussian}, epsilon = {_number(sum_.epsilon(delta))}{at}"


def statement_page(statement: Statement, whole: bool) -> Page:
    """The page of a budget; ``whole``: with every charge."""
    s = statement
    delta = _delta(s)
    total = Composed().plus(s.allowance.total)
    allowed = (
        f"; calls may add delta0 = {_number(s.allowance.slack)} in all" if s.allowance.slack else ""
    )
    unit = Unit(s.rows_per_person).text
    items = (
        ("Ledger", s.name),
        ("Total", in_all_units(total, delta) + allowed),
        ("Spent", _spent(s, delta)),
        ("Remaining", in_all_units(Composed().plus(s.remaining), delta)),
        ("Unit", unit),
    )
    parts: list[Part] = [Heading("Privacy budget"), KeyValues(items)]
    if whole and s.entries:
        parts += [Heading("Charges"), _charges(s), *_calls(s.entries)]
    return Page(tuple(parts))


def _delta(statement: Statement) -> float:
    """The delta at which epsilons are printed: that of the budget, or one above its slack."""
    allowance = statement.allowance
    if allowance.unit == "epsilon":
        return allowance.delta
    return max(_SHOWN_DELTA, 10 * (allowance.slack or 0.0) if statement.spent.slack else 0.0)


def _spent(statement: Statement, delta: float) -> str:
    n = len(statement.entries)
    if not n:
        return "nothing"
    return f"{in_all_units(statement.spent, delta)}, in {'1 call' if n == 1 else f'{n} calls'}"


def _charges(statement: Statement) -> Table:
    entries = statement.entries
    sums, running = [], Composed()
    for entry in entries:
        running = running.plus(entry.cost)
        sums.append(running)
    unit, delta = statement.allowance.unit, statement.allowance.delta
    epsilons = unit == "epsilon"
    ours = [c.epsilon(delta) if epsilons else c.rho if unit == "rho" else c.mu for c in sums]
    costs = [Composed().plus(e.cost) for e in entries]
    return Table.from_columns(
        [
            Column("No.", [str(e.number) for e in entries], align="l", csv_name="number"),
            Column("time (UTC)", [e.time for e in entries], align="l", csv_name="time"),
            Column("data", [e.data for e in entries], align="l"),
            Column("mu", [_number(c.mu) for c in costs], [c.mu for c in costs]),
            Column("rho", [_number(c.rho) for c in costs], [c.rho for c in costs]),
            Column("delta0", [_slack(c) for c in costs], [c.slack for c in costs]),
            Column(f"{unit} in all", [_number(v) for v in ours], ours),
        ],
        main=True,
    )


def _calls(entries: Iterable[Entry]) -> list[Part]:
    """What was called and what came of it, in lines that may be long."""
    parts: list[Part] = [Heading("Calls")]
    for e in entries:
        came = f"Released: {e.released}." if e.released else "Not known to have ended; it counts."
        parts.append(Paragraph(f"{e.number}. {e.call}. {came}"))
    return parts


def _slack(cost: Composed) -> str:
    return _number(cost.slack) if cost.slack else ""


def _number(value: float) -> str:
    return format_scalar(value, 4)
