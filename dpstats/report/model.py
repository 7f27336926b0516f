"""Pages that all private models share: print, and the blocks of a summary."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from scipy import special

from dpstats.accounting.privacy import PurePrivacy
from dpstats.report.bound import Bound
from dpstats.report.format import (
    DIGITS,
    LEGEND,
    format_coefficients,
    format_numbers,
    format_pval,
    format_scalar,
    stars,
)
from dpstats.report.options import options
from dpstats.report.privacy import SEEDED, PrivacyStatement
from dpstats.report.released import Diagnostic
from dpstats.report.result import Coefficients
from dpstats.report.table import (
    Column,
    Heading,
    KeyValues,
    Page,
    Paragraph,
    Part,
    Preformatted,
    Table,
)

ERRORS = {
    "hetero": "sandwich (vcov = hetero), with the noise for privacy",
    "iid": "of {} (vcov = iid), with the noise for privacy",
}
"""What printed standard errors assume of the errors of the model, and what they hold."""
CLUSTERED = "clustered by `{}`, with the noise for privacy"
ERROR_NAMES = {"hetero": "sandwich", "iid": "iid"}
"""The same in a word, for tables of fits."""


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
    errors: str
    notes: tuple[str, ...]
    variance: ClassVar[str] = "constant variance"
    """What errors that are no sandwich take for granted."""


def print_page(page: ModelPage, as_table: bool = False) -> Page:
    """R's print of a fit: the call and the coefficients, in a line as in R or as a table."""
    terms = page.coefficients.terms
    coef = format_numbers([float(v) for v in page.coefficients.coef], digits=5)
    table = Table(terms, (tuple(coef),), align=tuple("r" for _ in coef))
    shown = table if as_table else _folded(terms, coef)
    return printed(page.call, [Heading("Coefficients"), shown], page.privacy, page.notes)


def printed(
    call: str, parts: Sequence[Part], privacy: PrivacyStatement, notes: Sequence[str]
) -> Page:
    """R's print of a result: the call, the results, the privacy spent in a line, and notes."""
    return Page(
        (
            Heading("Call"),
            Preformatted(call),
            *parts,
            Preformatted(privacy_line(privacy)),
            *[Paragraph(f"Note: {note}") for note in notes],
        )
    )


def _folded(terms: Sequence[str], numbers: Sequence[str], width: int = 80) -> Preformatted:
    """Names over numbers, folded over several lines as R does."""
    sizes = [max(len(t), len(v)) for t, v in zip(terms, numbers, strict=True)]
    cells = [(t.rjust(k), v.rjust(k)) for t, v, k in zip(terms, numbers, sizes, strict=True)]
    lines: list[str] = []
    names, values = "", ""
    for name, value in cells:
        if names and len(names) + len(name) + 2 > width:
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
    digits = options.digits or DIGITS - 3
    numbers = [float(v) for v in c.coef], gaps(c.std_error), gaps(c.statistic)
    text = format_coefficients(*numbers, p, digits=digits)
    assert text.statistic is not None
    assert text.p_value is not None
    share = ["NA" if math.isnan(v) else f"{100 * v:.0f}%" for v in c.privacy_share]
    columns = [
        Column("", c.terms, align="l", csv_name="term"),
        Column("Estimate", text.estimate, [float(v) for v in c.coef], csv_name="estimate"),
        Column("Std. Error", text.std_error, gaps(c.std_error), csv_name="std_error"),
        Column("z value", text.statistic, gaps(c.statistic), csv_name="statistic"),
        Column("Pr(>|z|)", text.p_value, p, csv_name="p_value"),
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


def gaps(values: Iterable[float]) -> list[float | None]:
    """Numbers of which those that are not known are missing, so that they print as NA."""
    return [None if math.isnan(v) else float(v) for v in values]


def model_summary(page: ModelPage, head: tuple[tuple[str, str], ...], fit: Sequence[Part]) -> Page:
    """R's summary of a fit, followed by the privacy, bounds and diagnostics blocks.

    ``head`` stands between the call and the coefficients, ``fit`` below these.
    """
    parts: list[Part] = [
        Heading("Call"),
        Preformatted(page.call),
        KeyValues((*head, ("Errors", errors_line(page)))),
        Heading("Coefficients"),
        coefficient_table(page.coefficients),
        *fit,
        *[Paragraph(f"Note: {note}") for note in page.notes],
        *closing_blocks(page.privacy, page.bounds, page.diagnostics, page.method == "pmt"),
    ]
    return Page(tuple(parts))


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
        parts += [Heading("Error bounds"), bounds_table(bounds, rates)]
    return [*parts, Heading("Diagnostics"), diagnostics_table(diagnostics)]


def row_lines(
    page: ModelPage, why: str = "missing or not finite values, or unknown levels"
) -> list[str]:
    """How many rows there were, and which share of them was not used and why."""
    d = len(page.coefficients.coef)
    left_out = f" (and {page.dropped} left out: missing or not finite)" if page.dropped else ""
    public = "" if page.m is None else f", {page.m} public{left_out}"
    protected = page.privacy.protected
    if protected.jointly:
        found = next((line for line in page.diagnostics if line.name == "rows"), None)
        known = found is None or (found.value or 0.0) > 4 * (found.noise_sd or 0.0)
        number = f"about {page.filled} rows" if known else "so few rows that noise hides how many"
        counted = f"Persons: {page.n} private, by `{protected.person}`, with {number}"
        if protected.rows is not None:
            counted += f" (the first {protected.rows} of each)"
        public = "" if page.m is None else f"; public rows: {page.m}{left_out}"
        return [f"{counted}{public}; columns: {d}"]
    lines = [f"Rows: {page.n} private{public}; columns: {d}"]
    if page.filled < page.n:
        share = 100 * (1 - page.filled / page.n)
        if protected.person is not None:
            why += ", and rows of a person after the first " + str(protected.rows)
        lines.append(f"About {share:.2g}% of the private rows are not used: {why}")
    return lines


def privacy_blocks(privacy: PrivacyStatement) -> tuple[Part, ...]:
    """What was spent, on what, and with which noise."""
    items = KeyValues(tuple(_privacy_items(privacy)))
    return Heading("Privacy"), items, mechanism_table(privacy)


def _privacy_items(privacy: PrivacyStatement) -> list[tuple[str, str]]:
    law = "Laplace and spherical noise" if isinstance(privacy.total, PurePrivacy) else "Gaussian"
    noise = SEEDED if privacy.seeded else f"cryptographic generator, exact discrete {law}"
    return [("Total", privacy.line()), ("Unit", privacy.unit), ("Noise", noise)]


def mechanism_table(privacy: PrivacyStatement) -> Table:
    """What was released, with which noise."""
    spent = privacy.in_short()
    return Table.from_columns(
        [
            Column("Released", [s.released for s in spent], align="l"),
            Column.of("numbers", [s.numbers for s in spent]),
            Column.of("sensitivity", [s.sensitivity for s in spent]),
            Column.of("noise sd", [s.noise_sd for s in spent]),
            Column("mu", [or_na(s.mu) for s in spent]),
        ]
    )


def shown_bounds(bounds: Sequence[Bound], rates: bool) -> list[Bound]:
    """Bounds that are numbers about a fit; the rate of the papers' estimator with that one only."""
    shown = [b for b in bounds if b.kind in ("bound", "simulated", "estimated")]
    return shown + [b for b in bounds if b.kind == "rate" and rates][:1]


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


def wald_lines(wald: tuple[float, int] | None) -> list[str]:
    """The test of all terms but the intercept, where standard errors are known."""
    if wald is None:
        return []
    chi2, df = wald
    p = format_pval([float(special.chdtrc(df, chi2))], digits=3)[0]
    shown = f"< {p[1:].strip()}" if p.startswith("<") else f"= {p}"
    return [f"Wald test of all terms: chi2 = {format_scalar(chi2, 4)} on {df} df, p {shown}"]


def terms_page(lines: Sequence[tuple[str, int, float, float]], title: str) -> Page:
    """Wald tests, a line for each: name, degrees of freedom, statistic and p value."""
    names, df, chi2, p = zip(*lines, strict=True) if lines else ((), (), (), ())
    table = Table.from_columns(
        [
            Column("", names, align="l", csv_name="term"),
            Column("Df", [str(k) for k in df], df),
            Column("Chisq", [format_scalar(v, 5) for v in chi2], chi2),
            Column("Pr(>Chisq)", format_pval(list(p)), p),
            Column("", stars(list(p)), align="l", in_csv=False),
        ],
        title=title,
        main=True,
    )
    return Page((table, Paragraph("From released numbers: no further privacy spent.")))


def wald_page(models: Sequence[str], df: int, chi2: float, p_value: float, free: bool) -> Page:
    """R's anova of two nested models, as a Wald test."""
    from_one = "Both models come from one release: no further privacy spent."
    lines = "\n".join(f"Model {i + 1}: {text}" for i, text in enumerate(models))
    table = Table.from_columns(
        [
            Column("", ("1", "2"), align="l", csv_name="model"),
            Column("Df", ("", str(df)), (None, df)),
            Column("Chisq", ("", format_scalar(chi2, 5)), (None, chi2)),
            Column("Pr(>Chisq)", ("", format_pval([p_value])[0]), (None, p_value)),
            Column("", ("", stars([p_value])[0]), align="l", in_csv=False),
        ],
        title="Wald test of nested models",
        main=True,
    )
    parts = [table, Paragraph(from_one)] if free else [table]
    return Page((Preformatted(lines), *parts))
