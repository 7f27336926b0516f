"""A plan: the standard errors expected at several budgets, with its page and its plot."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dpstats.accounting.privacy import Privacy
from dpstats.arguments import in_prose, returning_text
from dpstats.arrays import Floats
from dpstats.report.bound import Bound
from dpstats.report.coefficients import chosen, shortened
from dpstats.report.format import format_scalar, gaps
from dpstats.report.model import bounded, head_parts, or_na, shown_bounds
from dpstats.report.plot import GREY, axes, finish, line_style
from dpstats.report.released import bounds_frame
from dpstats.report.table import Column, Exported, Page, Part, Table
from dpstats.report.texts import Heading, KeyValues

_STRONG = 10.0
"""F of a first stage that is not weak."""
_FEW_EVENTS = 10
_WARNED = 0.4
"""Share of the rehearsed fits that warn of their cuts, from which a plan says so."""
_ALIKE = 1.02
"""Ratio up to which curves are drawn as one."""
_MOST_LINES = 8
"""Curves that can be distinguished in a plot."""
_APART = 0.12
"""Share of the axis that a tick and its label take."""
_MOST_COLUMNS = 7
"""Budgets beside each other on a page; more follow in further tables."""


@dataclass(frozen=True)
class TargetPlan:
    """The budget and the numbers of rows that reach target standard errors.

    Attributes
    ----------
    target : mapping from term to float
        Infinite where there is none.
    mu : float or None
        The smallest for the rows of the plan; None where no budget does.
    rows : tuple of int or None
        For every budget of the plan, the smallest number of rows.
    rows_nonprivate : int or None
        The same without privacy.
    """

    target: Mapping[str, float]
    mu: float | None
    rows: tuple[int | None, ...]
    rows_nonprivate: int | None


@dataclass(frozen=True)
class AlonePlan:
    """What a plan without public rows says besides the errors.

    Attributes
    ----------
    least_mu : float
        Of n rows; below it a fit is refused.
    least_rows : tuple of int
        For every budget of the plan.
    bought : mapping from public rows to tuple of float
        Errors over those without privacy for every budget, with so many public rows; NaN where they
        are too few.
    note : str
        What was assumed of the rows.
    """

    least_mu: float
    least_rows: tuple[int, ...]
    bought: Mapping[int, tuple[float, ...]]
    note: str


@dataclass(frozen=True, repr=False, eq=False)
class Plan(Exported):
    """Expected standard errors of a fit at several budgets, from public data alone; prints as a table.

    Attributes
    ----------
    terms : tuple of str
    n : int
        Private rows.
    m : int or None
        Public rows.
    labels : tuple of str
        The budgets as they were given.
    totals : tuple of Privacy
    std_errors : tuple of (d,) arrays
        NaN where most fits would give none.
    silent : tuple of float
        Share of the rehearsed fits that gave no standard errors, for every budget.
    cautioned : tuple of float
        Share of the rehearsed fits in which cutting may have moved coefficients, noted or allowed for.
    spread : tuple of float
        How much errors differ from one rehearsed fit to another, of the coefficient of which they differ
        most, for every budget; NaN where too few fits give any.
    nonprivate : (d,) array
        Standard errors without privacy.
    relative_error : (d,) array
        How well the standard errors of each coefficient are known from so many public rows; NaN where
        that is not known.
    bound_sets : tuple of tuple of Bound
        For every budget, those that one rehearsed fit states.
    reached : TargetPlan or None
    shown_delta : float
    share : float
        Of the rows, that is expected to count.
    events : int or None
        Public rows with the rarer of two outcomes.
    counted : {"rows", "persons"}
        What n counts.
    alone : AlonePlan or None
        Of a plan without public rows.
    first_stage : float or None
        F of the weakest first stage in the public rows, where there are instruments.

    See Also
    --------
    plan_lm, plan_glm, plan_feols : What makes one.

    Examples
    --------
    >>> from dpstats import plan_lm
    >>> from dpstats.datasets import fair
    >>> public, private = fair()
    >>> plan = plan_lm("rate_marriage ~ age", public, n=len(private), mu=[0.5, 1])
    >>> plan.std_error().columns.tolist()
    ['no privacy', 'mu = 0.5', 'mu = 1']
    """

    call: str
    method: str
    terms: tuple[str, ...]
    n: int
    m: int | None
    labels: tuple[str, ...]
    totals: tuple[Privacy, ...]
    std_errors: tuple[Floats, ...]
    silent: tuple[float, ...]
    cautioned: tuple[float, ...]
    spread: tuple[float, ...]
    nonprivate: Floats
    relative_error: Floats
    bound_sets: tuple[tuple[Bound, ...], ...]
    reached: TargetPlan | None
    shown_delta: float
    share: float
    events: int | None = None
    counted: str = "rows"
    alone: AlonePlan | None = None
    first_stage: float | None = None

    @property
    def epsilons(self) -> tuple[float, ...]:
        """Every budget in epsilon at the delta that is shown."""
        return tuple(t.epsilon(self.shown_delta) for t in self.totals)

    def tidy(self) -> pd.DataFrame:
        """One row per coefficient and budget: term, mu, std_error, std_error_nonprivate."""
        d, k = len(self.terms), len(self.totals)
        return pd.DataFrame(
            {
                "term": list(self.terms) * k,
                "mu": np.repeat([t.mu for t in self.totals], d),
                "std_error": np.concatenate(self.std_errors),
                "std_error_nonprivate": np.tile(self.nonprivate, k),
            }
        )

    def std_error(self) -> pd.DataFrame:
        """Standard errors side by side: a column for every budget, and one without privacy."""
        columns = {"no privacy": self.nonprivate} | dict(
            zip(self.labels, self.std_errors, strict=True)
        )
        return pd.DataFrame(columns, index=list(self.terms))

    @property
    def smallest_mu(self) -> float | None:
        """The smallest mu that is expected to reach ``target_se``; None where none does."""
        return None if self.reached is None else self.reached.mu

    def smallest_n(self) -> pd.Series:
        """For every budget the smallest number of rows that is expected to reach ``target_se``."""
        rows = [None] * len(self.labels) if self.reached is None else list(self.reached.rows)
        return pd.Series(rows, index=list(self.labels), name="n", dtype="Int64")

    def bounds(self) -> pd.DataFrame:
        """The bounds that the fits would state, for every budget, with their premises met or not.

        Numbers are those of one rehearsal; the same table of a fit is `LinearModel.bounds`.
        """
        flat = [bound for bounds in self.bound_sets for bound in bounds]
        frame = bounds_frame(flat)
        sizes = [len(bounds) for bounds in self.bound_sets]
        frame.insert(0, "mu", np.repeat([t.mu for t in self.totals], sizes))
        return frame

    def _printed(self) -> Page:
        return _page(self)

    @returning_text
    def to_csv(self) -> str:
        """The table of standard errors as CSV."""
        return _errors(self, slice(0, len(self.labels))).to_csv()

    def plot(self, terms: Any = None, intercept: bool = False, ax: Any = None) -> Any:
        """Standard errors against the budget, over those without privacy; returns the axes.

        One line where privacy costs all coefficients alike.

        Parameters
        ----------
        terms : str or list of str, optional
            Which coefficients; all by default.
        intercept : bool
            Whether the constant is among them.
        ax : matplotlib axes, optional
        """
        return _plot(self, terms, intercept, ax)


def _page(plan: Plan) -> Page:
    """Predicted standard errors by budget, the target, the bounds, and how sure all this is."""
    parts: list[Part] = [*head_parts(plan.call, (), _notes(plan))]
    parts.append(Heading("Predicted standard errors"))
    groups = [slice(k, k + _MOST_COLUMNS) for k in range(0, len(plan.labels), _MOST_COLUMNS)]
    parts += [_errors(plan, part) for part in groups]
    if plan.alone is not None:
        parts += [Heading("What public rows would buy"), *_bought(plan, plan.alone)]
    if plan.reached is not None:
        parts += [Heading("Target"), *_target(plan, plan.reached)]
    if any(plan.bound_sets):
        parts += [Heading("Error bounds"), *_bounds(plan, groups)]
    return Page(tuple(parts))


def _errors(plan: Plan, part: slice) -> Table:
    """One row per coefficient; below, what they are over those without privacy, and epsilon."""
    labels, errors = plan.labels[part], plan.std_errors[part]
    ratios = [float(np.median(e / plan.nonprivate)) for e in errors]
    below = ["over no privacy", f"epsilon at delta = {format_scalar(plan.shown_delta, 3)}"]
    below.append("differ between fits by")
    silent = plan.silent[part]
    if any(plan.silent):
        below.append("fits that give no errors")
    lines = len(plan.terms) + len(below)
    columns = [
        Column("", [*plan.terms, *below], align="l", csv_name="term"),
        Column(
            "no privacy",
            [*_numbers(plan.nonprivate), "1.00", "", "", ""][:lines],
            [*gaps(plan.nonprivate), 1.0, None, None, None][:lines],
        ),
    ]
    for label, error, ratio, epsilon, spread, without in zip(
        labels, errors, ratios, plan.epsilons[part], plan.spread[part], silent, strict=True
    ):
        last = [or_na(ratio) if ratio >= 10 else _two_places(ratio), format_scalar(epsilon, 3)]
        last.append("NA" if math.isnan(spread) else f"{100 * spread:.0f} %")
        raw = [*gaps(error), *gaps([ratio]), epsilon, *gaps([spread])]
        if any(plan.silent):
            last.append(f"{100 * without:.0f} %")
            raw.append(without)
        columns.append(Column(label, [*_numbers(error), *last], raw))
    if not np.isnan(plan.relative_error).any():
        rough = [f"{min(100 * v, 999):.0f} %" for v in plan.relative_error]
        columns.append(Column("known to", [*rough, *[""] * len(below)], in_csv=False))
    return Table.from_columns(columns, main=part.start == 0)


def _bought(plan: Plan, alone: AlonePlan) -> list[Part]:
    """Errors over those without privacy, by public rows; and the least that is not refused."""
    ratios = [float(np.median(e / plan.nonprivate)) for e in plan.std_errors]
    by_rows = [tuple(ratios), *alone.bought.values()]
    table = Table.from_columns(
        [
            Column("Public rows", ["none", *map(str, alone.bought)], align="l"),
            *(
                Column(label, [_two_places(r[k]) for r in by_rows])
                for k, label in enumerate(plan.labels)
            ),
        ],
        notes=["Standard errors over those without privacy, median over coefficients."],
    )
    least = KeyValues(
        (
            ("Least budget without public rows", f"mu = {format_scalar(alone.least_mu, 3)}"),
            ("Least rows", ", ".join(map(str, alone.least_rows))),
        )
    )
    return [table, least]


def _numbers(values: Floats) -> list[str]:
    return [or_na(float(v)) for v in values]


def _two_places(value: float) -> str:
    return "NA" if math.isnan(value) else f"{value:.2f}"


def _target(plan: Plan, reached: TargetPlan) -> list[Part]:
    target = {t: v for t, v in reached.target.items() if math.isfinite(v)}
    sizes = set(target.values())
    what = (
        f"{format_scalar(sizes.pop(), 4)} for {', '.join(target)}"
        if len(sizes) == 1
        else ", ".join(f"{t}: {format_scalar(v, 4)}" for t, v in target.items())
    )
    if reached.mu is not None:
        epsilon = format_scalar(Privacy(reached.mu).epsilon(plan.shown_delta), 3)
        mu = (
            f"mu = {format_scalar(reached.mu, 3)} (epsilon = {epsilon}) for {plan.n} {plan.counted}"
        )
    elif reached.rows_nonprivate is None or reached.rows_nonprivate > plan.n:
        mu = f"none: {plan.n} {plan.counted} are too few even without privacy"
    else:
        mu = f"none up to mu = 100 for {plan.n} {plan.counted}"
    needed = KeyValues((("Standard error", what), ("Smallest budget", mu)))
    rows = [reached.rows_nonprivate, *reached.rows]
    shown = ["not reached" if r is None else str(r) for r in rows]
    table = Table.from_columns(
        [
            Column("Budget", ["no privacy", *plan.labels], align="l", csv_name="budget"),
            Column(f"{plan.counted} needed", shown, rows),
        ]
    )
    return [needed, table]


def _bounds(plan: Plan, groups: Sequence[slice]) -> list[Part]:
    """The bounds that a fit would show, by budget, and which of their premises fail where."""
    sets = [shown_bounds(bounds, plan.method == "pmt") for bounds in plan.bound_sets]
    names = list(dict.fromkeys((b.statement, b.kind) for bs in sets for b in bs))
    cells = [_bound_cells(bounds, names) for bounds in sets]
    failed: dict[str, list[str]] = {}
    for label, bs in zip(plan.labels, sets, strict=True):
        conditions = (
            f"{b.source}: {p.condition}" for b in bs for p in b.premises if p.met is False
        )
        for text in dict.fromkeys(conditions):
            failed.setdefault(text, []).append(label)
    lines = [f"{text}: NOT met at {', '.join(labels)}" for text, labels in failed.items()]
    notes = lines or ["Their premises, as far as public data can tell, are met at every budget."]
    return [
        Table.from_columns(
            [
                Column("Bound", [statement for statement, _ in names], align="l"),
                *map(Column, plan.labels[part], cells[part]),
                Column("kind", [kind for _, kind in names], align="l"),
            ],
            notes=notes if part is groups[-1] else [],
        )
        for part in groups
    ]


def _bound_cells(bounds: Sequence[Bound], names: Sequence[tuple[str, str]]) -> list[str]:
    """The values of these bounds, in the order of their names."""
    values = {(b.statement, b.kind): b.value for b in bounds}
    return [bounded(values.get(name, math.nan)) for name in names]


def _of_cuts(budgets: str, simulated: bool) -> str:
    """Why rehearsed fits say that cuts may move coefficients; ``simulated`` rows have no long tail."""
    opening, rough = (
        f"At {budgets} rehearsed fits say that cuts may move coefficients:",
        "Errors are rough there: those of the fit may be several times larger, or smaller.",
    )
    if simulated:
        return (
            f"{opening} the budget is too small to see how long the tail of residuals is. {rough}"
        )
    return (
        f"{opening} residuals have too long a tail, or the budget is too small to see how long it is. "
        f"{rough} A logarithm of the response, where it is positive, is worth a plan of its own."
    )


def _notes(plan: Plan) -> list[str]:
    notes = [] if plan.alone is None else [plan.alone.note]
    if plan.m is not None:
        notes.append(
            f"A prediction from {plan.m} public rows, insofar as private rows are like them; "
            "'known to' is how far off it may be with so few of them (one standard deviation; "
            "more where noise is most of an error, since cuts follow tails; tails that public "
            "rows do not show are not included). No private row was read, and nothing was spent."
        )
    if plan.share < 1:
        notes.append(
            f"{in_prose(100 * (1 - plan.share))} % of the public rows have missing values; as many are "
            "expected among the private ones."
        )
    if plan.events is not None and plan.events < _FEW_EVENTS:
        notes.append(
            f"{plan.events} of the {plan.m} public rows have the rarer outcome: from so few, a plan is "
            "little more than a guess."
        )
    if plan.first_stage is not None and plan.first_stage < _STRONG:
        notes.append(
            f"In the public rows the first stage is weak (F = {in_prose(plan.first_stage, 2)}): they "
            "hardly know how strong the instruments are, and errors of the fit may be several times as "
            "long, or as short. More public rows help."
        )
    long = [name for name, c in zip(plan.labels, plan.cautioned, strict=True) if c >= _WARNED]
    if long:
        notes.append(_of_cuts(", ".join(long), simulated=plan.alone is not None))
    refused = [
        label
        for label, total in zip(plan.labels, plan.totals, strict=True)
        if plan.alone is not None and total.mu < plan.alone.least_mu
    ]
    if refused:
        notes.append(
            f"At {', '.join(refused)} the fit is refused without public rows: it would be "
            "little but noise."
        )
        return notes
    if any(plan.silent):
        notes.append(
            "In some fits noise would drown the design, and no errors would be given; the errors above "
            "are those of the others."
        )
    if any(np.isnan(e).any() for e in plan.std_errors):
        notes.append("NA: in most fits noise would drown the design, and no errors would be given.")
    return notes


def _plot(plan: Plan, selected: Any, intercept: bool, ax: Any) -> Any:
    """Standard errors over those without privacy, against the budget.

    Where all coefficients pay alike, as they do when the public rows whiten well, they are one line;
    where they are many, their median with the range of all.
    """
    kept = chosen(plan.terms, selected, intercept)
    ax = axes(ax)
    mus = np.array([total.mu for total in plan.totals])
    order = np.argsort(mus)
    table = (np.array(plan.std_errors)[order] / plan.nonprivate)[:, kept]
    names = [plan.terms[k] for k in kept]
    known = table[np.isfinite(table).all(axis=1)]
    if len(kept) > 1 and (known.max(axis=1) <= _ALIKE * known.min(axis=1)).all():
        table, names = np.median(table, axis=1)[:, None], [f"all {len(kept)} coefficients"]
    elif len(kept) > _MOST_LINES:
        ax.fill_between(
            mus[order], table.min(axis=1), table.max(axis=1), color=GREY, alpha=0.3, lw=0
        )
        table, names = np.median(table, axis=1)[:, None], [f"median and range of {len(kept)}"]
    for j, name in enumerate(names):
        ax.plot(
            mus[order],
            table[:, j],
            marker="o",
            markersize=4,
            label=shortened(name),
            **line_style(j),
        )
    ax.axhline(1.0, color=GREY, linewidth=0.8, zorder=0)
    ax.set_xscale("log")
    shown = _apart(mus[order])
    epsilons = np.array(plan.epsilons)[order]
    ticks = [f"{mus[order][k]:.3g}\n{epsilons[k]:.3g}" for k in shown]
    ax.set_xticks(mus[order][shown], ticks)
    ax.minorticks_off()
    x = f"budget: mu, and epsilon at delta = {format_scalar(plan.shown_delta, 3)}"
    return finish(ax, x, "standard error over\nthat without privacy")


def _apart(mus: Floats) -> list[int]:
    """Which of the rising budgets get a tick: the first, and those far enough from the one before."""
    places = np.log(mus)
    least = _APART * (places[-1] - places[0])
    out = [0]
    for k in range(1, len(mus)):
        if places[k] - places[out[-1]] >= least:
            out.append(k)
    return out
