"""The statement of a budget: its total, every charge, what is left."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dpstats.accounting.composition import BudgetLimits, BudgetTotal, Composed
from dpstats.accounting.privacy import ApproximatePrivacy, Total
from dpstats.report.format import format_scalar
from dpstats.report.table import Column, Page, Part, Table
from dpstats.report.texts import Heading, KeyValues, Paragraph

_SHOWN_DELTA = 1e-5
PURE_CALLS = "dp_mean and dp_mvnorm; regressions need a delta too"
"""What a budget of epsilon alone is for."""


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

    See Also
    --------
    Budget : Whose charges these are.

    Examples
    --------
    >>> from dpstats import Budget
    >>> budget = Budget(mu=1)
    >>> budget.charge("counts by region, published in May", rho=0.08)
    >>> [(entry.number, entry.call) for entry in budget.entries]
    [(1, 'counts by region, published in May')]
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
    """The content of the page of a budget."""

    name: str
    allowance: BudgetTotal
    protects: str
    caps: BudgetLimits
    spent: Composed
    remaining: Total
    entries: tuple[Entry, ...]

    @property
    def overspent(self) -> bool:
        """Whether something was charged that was out already, and did not fit."""
        return not self.caps.hold(self.spent)


def in_unit(cost: Total, allowance: BudgetTotal) -> str:
    """A cost in the unit that the budget was opened in."""
    alone = Composed().plus(cost)
    if allowance.unit == "epsilon":
        epsilon = alone.epsilon(allowance.delta) if allowance.delta or not alone.slack else None
        if epsilon is not None and epsilon < math.inf:
            at = f" at delta = {_number(allowance.delta)}" if allowance.delta else ""
            return f"epsilon = {_number(epsilon)}{at}"
    value = alone.rho if allowance.unit == "rho" else alone.mu
    unit = "rho" if allowance.unit == "rho" else "mu"
    slack = f" up to delta0 = {_number(cost.slack)}" if cost.slack else ""
    return f"{unit} = {_number(value)}{slack}"


def as_stated(cost: ApproximatePrivacy) -> str:
    """Epsilon and delta as they were typed."""
    return f"epsilon = {_number(cost.at)} at delta = {_number(cost.slack)}"


def together(costs: Sequence[Total]) -> str:
    """What several releases cost, as part of a sentence."""
    spent = Composed.of(costs)
    upto = f" up to {format_scalar(spent.slack, 3)}" if spent.slack else ""
    delta = _above(spent.slack)
    return (
        f"the {len(costs)} releases cost mu = {_number(spent.mu)}{upto} together (epsilon = "
        f"{format_scalar(spent.epsilon(delta), 3)} at delta = {format_scalar(delta, 3)})"
    )


def statement_page(statement: Statement, charges: bool) -> Page:
    """The page of a budget, with every charge or without."""
    s = statement
    n = len(s.entries)
    items = [("Ledger", s.name), ("Protects", s.protects)]
    items.append(("Adds up", _adds_up(s)))
    parts: list[Part] = [Heading("Privacy budget"), KeyValues(tuple(items)), _sums(s)]
    if s.overspent:
        parts.append(
            Paragraph("OVERSPENT: what was published exceeds the total, which no longer holds.")
        )
    if charges and n:
        parts += [Heading("Charges"), _charges(s), *_calls(s.entries)]
    return Page(tuple(parts))


def _adds_up(statement: Statement) -> str:
    """How charges add up, which the first of them may have decided."""
    allowance, caps = statement.allowance, statement.caps
    if not caps.mu:
        return "epsilons and deltas" if allowance.delta else f"epsilons ({PURE_CALLS})"
    kept = f"at most {_number(caps.slack)}" if caps.slack else "none"
    if allowance.unit == "epsilon":
        kept += f" of delta = {_number(allowance.delta)}"
    return f"{'rho' if allowance.unit == 'rho' else 'mu^2'}, and delta0 ({kept})"


def _sums(statement: Statement) -> Table:
    """Total, spent and remaining in the units in which they are defined."""
    s = statement
    names = ["Total", f"Spent ({_counted(len(s.entries))})", "Remaining"]
    cells = _of_sums(s) if s.caps.mu else _of_epsilons(s)
    columns = list(zip(*cells, strict=True))
    notes = ["The guarantee is the total."]
    if s.caps.mu:
        notes.insert(0, "rho adds up; mu adds up in squares, epsilon in neither way.")
    return Table.from_columns(
        [
            Column("", names, align="l", csv_name="sum"),
            Column("mu (GDP)", columns[0], csv_name="mu"),
            Column("rho (zCDP)", columns[1], csv_name="rho"),
            Column("delta0", columns[2]),
            Column("epsilon", columns[3]),
            Column("at delta", columns[4], csv_name="delta"),
        ],
        notes=notes,
        main=not s.entries,
    )


def _of_epsilons(statement: Statement) -> list[tuple[str, ...]]:
    """Cells where epsilons and deltas add up; mu and rho are not defined there."""
    allowance, spent, left = statement.allowance, statement.spent, statement.remaining
    room = Composed().plus(left)
    lines = (
        (allowance.level, allowance.delta),
        (math.inf if spent.gaussian else float(spent.epsilons), allowance.delta),
        (float(room.epsilons), room.slack),
    )
    return [("-", "-", "-", _number(epsilon), _number(delta)) for epsilon, delta in lines]


def _of_sums(statement: Statement) -> list[tuple[str, ...]]:
    """Cells where mu^2 or rho adds up, and delta0."""
    s = statement
    lines = (
        (Composed().plus(s.allowance.total), s.caps.slack),
        (s.spent, s.spent.slack),
        (Composed().plus(s.remaining), max(s.caps.slack - s.spent.slack, 0.0)),
    )
    return [
        (
            _number(cost.mu),
            _number(cost.rho),
            _number(delta0) if delta0 else "-",
            _number(cost.epsilon(delta)),
            _number(delta),
        )
        for cost, delta0 in lines
        for delta in [s.allowance.delta or _above(cost.slack)]
    ]


def _above(slack: float) -> float:
    """A delta at which epsilon is shown beside this slack: the usual one, if it is well above."""
    return _SHOWN_DELTA if slack <= _SHOWN_DELTA / 2 else min(10 * slack, 0.5)


def _counted(n: int) -> str:
    return "1 call" if n == 1 else f"{n} calls"


def _charges(statement: Statement) -> Table:
    entries = statement.entries
    sums, running = [], Composed()
    for entry in entries:
        running = running.plus(entry.cost)
        sums.append(running)
    unit, delta = statement.allowance.unit, statement.allowance.delta
    epsilons = unit == "epsilon"
    totals = [c.epsilon(delta) if epsilons else c.rho if unit == "rho" else c.mu for c in sums]
    costs = [Composed().plus(e.cost) for e in entries]
    return Table.from_columns(
        [
            Column("No.", [str(e.number) for e in entries], align="l", csv_name="number"),
            Column("time (UTC)", [e.time for e in entries], align="l", csv_name="time"),
            Column("data", [e.data for e in entries], align="l"),
            Column.of("mu", [c.mu for c in costs], 4),
            Column.of("rho", [c.rho for c in costs], 4),
            Column(
                "delta0",
                [_number(c.slack) if c.slack else "" for c in costs],
                [c.slack for c in costs],
            ),
            Column.of(f"{unit} in all", totals, 4),
        ],
        main=True,
    )


def _calls(entries: Iterable[Entry]) -> list[Part]:
    """The calls and what they released, in lines that may be long."""
    parts: list[Part] = [Heading("Calls")]
    for e in entries:
        came = (
            f"Released: {e.released}." if e.released else "Not known to have finished; it counts."
        )
        parts.append(Paragraph(f"{e.number}. {e.call}. {came}"))
    return parts


def _number(value: float) -> str:
    return format_scalar(value, 4)
