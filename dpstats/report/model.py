"""Pages that all private models share: print, and the blocks of a summary."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from dpstats.accounting.privacy import PurePrivacy
from dpstats.arguments import in_prose
from dpstats.report.bound import Bound
from dpstats.report.diagnostics import rows_of_persons
from dpstats.report.folding import folded_call
from dpstats.report.format import (
    DIGITS,
    LEGEND,
    format_c,
    format_coefficients,
    format_numbers,
    format_scalar,
    gaps,
    stars,
)
from dpstats.report.options import options, shown_digits
from dpstats.report.privacy import SEEDED, PrivacyStatement
from dpstats.report.released import Diagnostic
from dpstats.report.result import Coefficients, law_letter
from dpstats.report.table import Column, Folded, Page, Part, Table
from dpstats.report.texts import Heading, KeyValues, Notes, Paragraph, Preformatted

ERRORS = {
    "hetero": "sandwich (vcov = hetero), with the noise for privacy",
    "iid": "of {} (vcov = iid), with the noise for privacy",
}
"""What printed standard errors assume of the errors of the model, and what they hold."""
CLUSTERED = "clustered by `{}`, with the noise for privacy"
ERROR_NAMES = {"hetero": "sandwich", "iid": "iid"}
"""Kinds of standard errors in a word, for tables of fits."""


_KINDS = {
    "bound": ", at most",
    "simulated": ", as simulated",
    "estimated": ", estimated",
    "rate": " (a rate)",
}
_UNITS = "Distances: lengths of differences of coefficients, in their units."
_MANY_TERMS = 40
_FIRST_LEVELS = 4
"""Levels of a factor that a page shows where there are more than `_MANY_TERMS` coefficients."""


@dataclass(frozen=True)
class ModelPage:
    """What the pages of a model show; everything released, public or computed from these."""

    call: str
    method: str
    coefficients: Coefficients
    privacy: PrivacyStatement
    bounds: tuple[Bound, ...]
    diagnostics: tuple[Diagnostic, ...]
    n: int
    filled: int
    m: int | None
    dropped: int
    left_out: bool
    errors: str
    notes: tuple[str, ...]
    variance: ClassVar[str] = "constant variance"
    """What errors that are no sandwich take for granted."""


Interval = tuple[float, float]
Ranges = tuple[Interval, Interval | None]
"""Of sigma and of R-squared, which is not known where noise hides a coefficient."""


def print_page(page: ModelPage, as_table: bool = False) -> Page:
    """R's print of a fit: the call and the coefficients, in a line as in R or as a table."""
    terms = page.coefficients.terms
    coef = format_numbers([float(v) for v in page.coefficients.coef], shown_digits(5))
    kept, more = first_levels(terms)
    names, numbers = [terms[k] for k in kept], [coef[k] for k in kept]
    table = Table(tuple(names), (tuple(numbers),), align=tuple("r" for _ in names))
    shown: list[Part] = [table if as_table else _folded(names, numbers)]
    if more:
        shown.append(Paragraph(more))
    return printed(page.call, [Heading("Coefficients"), *shown], page.privacy, page.notes)


def printed(
    call: str, parts: Sequence[Part], privacy: PrivacyStatement, notes: Sequence[str]
) -> Page:
    """R's print of a result: the call, notes, the results, and the privacy spent in a line."""
    return Page((*head_parts(call, (), notes), *parts, Paragraph(privacy_line(privacy))))


def unwarned(notes: Sequence[str], warned: Sequence[str]) -> list[str]:
    """What a print says: a call has just warned of the others, and its summary has all of them."""
    return [note for note in notes if note not in warned]


def head_parts(
    call: str, facts: Sequence[tuple[str, str]], notes: Sequence[str]
) -> tuple[Part, ...]:
    """What every page begins with: the call, facts of it, and what must be known before the numbers."""
    parts: tuple[Part, ...] = (Heading("Call"), Preformatted(folded_call(call)))
    parts += (KeyValues(tuple(facts)),) if facts else ()
    return (*parts, Notes(tuple(notes))) if notes else parts


def _folded(terms: Sequence[str], numbers: Sequence[str]) -> Preformatted:
    """Names over numbers, folded over several lines as R does."""
    sizes = [max(len(t), len(v)) for t, v in zip(terms, numbers, strict=True)]
    cells = [(t.rjust(k), v.rjust(k)) for t, v, k in zip(terms, numbers, sizes, strict=True)]
    lines: list[str] = []
    names, values = "", ""
    for name, value in cells:
        if names and len(names) + len(name) + 2 > 80:
            lines += [names, values]
            names, values = "", ""
        names += ("  " if names else "") + name
        values += ("  " if values else "") + value
    return Preformatted("\n".join([*lines, names, values]))


def privacy_line(privacy: PrivacyStatement) -> str:
    seeded = f"; {SEEDED}" if privacy.seeded else ""
    return f"Privacy: {privacy.line()}{seeded}"


def coefficient_table(coefficients: Coefficients) -> Table:
    """R's coefficient table with the share of each variance that is due to privacy."""
    c = coefficients
    p = [None if math.isnan(v) else float(v) for v in c.p_value]
    numbers = [float(v) for v in c.coef], gaps(c.std_error), gaps(c.statistic)
    text = format_coefficients(*numbers, p, digits=shown_digits(DIGITS - 3))
    share = ["NA" if math.isnan(v) else f"{100 * v:.0f}%" for v in c.privacy_share]
    law = law_letter(c.freedom)
    columns = [
        Column("", c.terms, align="l", csv_name="term"),
        Column("Estimate", text.estimate, [float(v) for v in c.coef], csv_name="estimate"),
        Column("Std. Error", text.std_error, gaps(c.std_error), csv_name="std_error"),
        Column(f"{law} value", text.statistic, gaps(c.statistic), csv_name="statistic"),
        Column(f"Pr(>|{law}|)", text.p_value, p, csv_name="p_value"),
    ]
    starred = bool(options.stars) and any(v is not None and v < 0.1 for v in p)
    if starred:
        columns.append(Column("", stars(p), align="l", in_csv=False))
    columns.append(Column("privacy", share, gaps(c.privacy_share), csv_name="privacy_share"))
    notes = (LEGEND,) if starred else ()
    return Table.from_columns(columns, title=None, notes=notes, main=True)


def or_na(value: float) -> str:
    """Three digits, or NA where nothing is known."""
    return "NA" if math.isnan(value) else format_scalar(value, 3)


def bounded(value: float) -> str:
    """A bound with three digits, or that there is none."""
    return "not bounded" if math.isinf(value) else or_na(value)


def model_summary(page: ModelPage, head: tuple[tuple[str, str], ...], fit: Sequence[Part]) -> Page:
    """R's summary of a fit, followed by the privacy, bounds and diagnostics blocks.

    ``head`` stands between the call and the coefficients, ``fit`` below these.
    """
    facts = (*head, ("Errors", errors_line(page)))
    return Page(
        (
            *head_parts(page.call, facts, page.notes),
            Heading("Coefficients"),
            folded_levels(coefficient_table(page.coefficients)),
            *fit,
            *closing_blocks(page.privacy, page.bounds, page.diagnostics, page.method == "pmt"),
        )
    )


def folded_levels(table: Table) -> Part:
    """A table of terms, and in short without most levels of a factor that has many."""
    kept, more = first_levels([row[0] for row in table.rows])
    if not more:
        return table
    return Folded(replace(table, kept=tuple(kept), notes=(*table.notes, more)), table)


def first_levels(terms: Sequence[str]) -> tuple[list[int], str]:
    """Which terms a page shows, and a line on the others: R prints all, and so does a full summary.

    Examples
    --------
    >>> kept, line = first_levels(["x", *(f"g[T.{k}]" for k in range(60))])
    >>> kept, line
    ([0, 1, 2, 3, 4], 'Not shown: 56 more of g; summary(full=True), coef() and tidy() have all.')
    """
    if len(terms) <= _MANY_TERMS:
        return list(range(len(terms))), ""
    kept: list[int] = []
    seen: dict[str, int] = {}
    for k, term in enumerate(terms):
        factor = re.sub(r"\[[^\]]*\]", "[]", term)
        seen[factor] = seen.get(factor, 0) + 1
        if "[]" not in factor or seen[factor] <= _FIRST_LEVELS:
            kept.append(k)
    more = [
        f"{count - _FIRST_LEVELS} more of {factor.replace('[]', '')}"
        for factor, count in seen.items()
        if "[]" in factor and count > _FIRST_LEVELS
    ]
    line = f"Not shown: {', '.join(more)}; summary(full=True), coef() and tidy() have all."
    return kept, line if more else ""


def errors_line(page: ModelPage) -> str:
    """What the printed standard errors are."""
    protected = page.privacy.protected
    if protected.jointly and page.errors == "hetero":
        return CLUSTERED.format(protected.person)
    return ERRORS[page.errors].format(page.variance)


def errors_name(errors: str, privacy: PrivacyStatement) -> str:
    """What the printed standard errors are, in a word."""
    if privacy.protected.jointly and errors == "hetero":
        return f"by {privacy.protected.person}"
    return ERROR_NAMES[errors]


def closing_blocks(
    privacy: PrivacyStatement,
    bounds: Sequence[Bound],
    diagnostics: Sequence[Diagnostic],
    rates: bool = False,
) -> list[Part]:
    """What every summary ends with: the privacy spent, error bounds if there are any, diagnostics."""
    parts: list[Part] = [*privacy_blocks(privacy)]
    if bounds:
        full = bounds_table(bounds, rates)
        parts += [Heading("Error bounds"), Folded(bounds_in_short(bounds, rates), full)]
    if diagnostics:
        parts += [Heading("Diagnostics"), diagnostics_table(diagnostics)]
    return parts


def row_lines(
    page: ModelPage, why: str = "missing or not finite values, or unknown levels"
) -> list[str]:
    """How many rows there were, and which share of them was not used and why."""
    d = len(page.coefficients.coef)
    dropped = f" (and {page.dropped} left out: missing or not finite)" if page.dropped else ""
    if page.left_out:
        dropped = " (left out: see the note)"
    public = "" if page.m is None else f", {page.m} public{dropped}"
    protected = page.privacy.protected
    if protected.jointly:
        found = rows_of_persons(page.diagnostics)
        known = found is None or (found.value or 0.0) > 4 * (found.noise_sd or 0.0)
        number = (
            f"about {page.filled} rows that can be used"
            if known
            else "so few rows that noise hides how many"
        )
        counted = f"Persons: {page.n} private, by `{protected.person}`, with {number}"
        if protected.rows is not None:
            counted += f" (the first {protected.rows} of each)"
        public = "" if page.m is None else f"; public rows: {page.m}{dropped}"
        return [f"{counted}{public}; columns: {d}"]
    lines = [f"Rows: {page.n} private{public}; columns: {d}"]
    if page.filled < page.n:
        share = 100 * (1 - page.filled / page.n)
        if protected.person is not None:
            why += ", and rows of a person after the first " + str(protected.rows)
        lines.append(f"About {in_prose(share)}% of the private rows are not used: {why}")
    return lines


def ranges_line(ranges: Ranges, name: str = "R-squared") -> str:
    """Where sigma and R-squared lie."""
    (low, high), explained = ranges
    line = f"Allowing for noise and cuts: sigma {format_scalar(low, 3)} to {format_scalar(high, 3)}"
    if explained is not None:
        line += f", {name} {format_c(explained[0], 3)} to {format_c(explained[1], 3)}"
    return line


def _percent(share: float) -> str:
    return "100%" if share > 0.995 else f"{100 * share:.2g}%"


def privacy_blocks(privacy: PrivacyStatement) -> tuple[Part, ...]:
    """What was spent, on what, and with which noise."""
    items = KeyValues(tuple(_privacy_items(privacy)))
    table = Folded(mechanisms_by_kind(privacy), mechanism_table(privacy))
    return Heading("Privacy"), items, table


def _privacy_items(privacy: PrivacyStatement) -> list[tuple[str, str]]:
    law = "Laplace and spherical noise" if isinstance(privacy.total, PurePrivacy) else "Gaussian"
    noise = SEEDED if privacy.seeded else f"cryptographic generator, exact discrete {law}"
    return [("Total", privacy.line()), ("Unit", privacy.unit), ("Noise", noise)]


def mechanism_table(privacy: PrivacyStatement) -> Table:
    """Every release, with its noise."""
    spent = privacy.spent
    return Table.from_columns(
        [
            Column("Released", [s.released for s in spent], align="l"),
            Column.of("numbers", [s.numbers for s in spent]),
            Column.of("sensitivity", [s.sensitivity for s in spent]),
            Column.of("noise sd", [s.noise_sd for s in spent]),
            Column("mu", [or_na(s.mu) for s in spent]),
        ]
    )


def mechanisms_by_kind(privacy: PrivacyStatement) -> Table:
    """What was released, a line for each kind."""
    kinds = privacy.by_kind()
    shares = ["" if math.isnan(k.share) else _percent(k.share) for k in kinds]
    names = [k.released + (f" ({k.times} times)" if k.times > 1 else "") for k in kinds]
    return Table.from_columns(
        [
            Column("Released", names, align="l"),
            Column("numbers", [str(k.numbers) for k in kinds]),
            Column("noise sd", [_range(*k.noise_sd) for k in kinds]),
            Column("mu", [or_na(k.mu) for k in kinds]),
            *([Column("share", shares)] if any(shares) else []),
        ]
    )


def _range(low: float, high: float) -> str:
    if low == high:
        return format_scalar(low, 3)
    return f"{format_scalar(low, 2)} to {format_scalar(high, 2)}"


def shown_bounds(bounds: Sequence[Bound], rates: bool) -> list[Bound]:
    """Bounds that are numbers about a fit; the rate of the papers' estimator with that one only."""
    shown = [b for b in bounds if b.kind in ("bound", "simulated", "estimated")]
    return shown + [b for b in bounds if b.kind == "rate" and rates][:1]


def bounds_in_short(bounds: Sequence[Bound], rates: bool) -> Table:
    """The bounds of the fit itself, each with a name of its own, and what they are measured in."""
    shown = [b for b in shown_bounds(bounds, rates) if not b.statement.endswith("(planned)")]
    names = [b.statement for b in shown]
    kinds = ["" if b.kind == "bound" and names.count(b.statement) == 1 else b.kind for b in shown]
    premises = [(p, b.kind) for b in shown for p in b.premises]
    failed = [f"{p.condition}: NOT met" for p, _ in premises if p.met is False]
    failed += [
        f"Premise, not known: {p.condition}"
        for p, kind in premises
        if p.met is None and kind == "bound"
    ]
    lengths = any(b.norm == "l2" and b.statement.startswith(("dist", "noise")) for b in shown)
    notes = (_UNITS,) if lengths else ()
    return Table.from_columns(
        [
            Column(
                "Bound",
                [n + _KINDS.get(k, "") for n, k in zip(names, kinds, strict=True)],
                align="l",
            ),
            Column("value", [bounded(b.value) for b in shown]),
            Column.of("prob.", [b.probability for b in shown]),
        ],
        notes=(*notes, *dict.fromkeys(failed)),
    )


def bounds_table(bounds: Sequence[Bound], rates: bool) -> Table:
    """The bounds that are numbers about this fit; `bounds()` gives all of them."""
    shown = shown_bounds(bounds, rates)
    failed = [f"{b.source}: {p}" for b in shown for p in b.premises if p.met is False]
    notes = tuple(dict.fromkeys(failed))
    return Table.from_columns(
        [
            Column("Bound", [b.statement for b in shown], align="l"),
            Column("value", [bounded(b.value) for b in shown]),
            Column.of("prob.", [b.probability for b in shown]),
            Column("kind", [b.kind for b in shown], align="l"),
            Column("source", [b.source for b in shown], align="l"),
        ],
        notes=notes,
    )


def diagnostics_table(diagnostics: Sequence[Diagnostic]) -> Table:
    """Diagnostics with the noise of those that are private releases."""
    return Table.from_columns(
        [
            Column("", [d.name for d in diagnostics], align="l"),
            Column.of("value", [d.value for d in diagnostics], none="NA"),
            Column.of("noise sd", [d.noise_sd for d in diagnostics], 2),
            Column("note", [d.note for d in diagnostics], align="l"),
        ]
    )
