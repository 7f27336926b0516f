"""The page of a private Bayes classifier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dpstats.bounds.bound import Bound
from dpstats.report.eptr import Answers, answers_table
from dpstats.report.format import format_numbers, format_scalar
from dpstats.report.model import closing_blocks, or_na, privacy_line
from dpstats.report.privacy import PrivacyStatement
from dpstats.report.released import Diagnostic
from dpstats.report.result import Floats
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

BAYES_METHODS = {
    "sums": "noisy sums and counts by class",
    "ptr": "class means behind a private test of the smallest class",
    "paper": "ePTR-Bayes (Algorithm 3 of the ePTR paper)",
}


@dataclass(frozen=True)
class BayesPage:
    """What the pages of a classifier show; everything released or public."""

    call: str
    method: str
    covariance: str
    classes: Sequence[str]
    terms: Sequence[str]
    priors: Floats
    priors_sd: Floats
    means: Floats
    means_sd: Floats
    n: int
    m: int | None
    privacy: PrivacyStatement
    bounds: tuple[Bound, ...]
    diagnostics: tuple[Diagnostic, ...]
    notes: tuple[str, ...]
    answers: Answers | None
    released: bool


def _means_table(page: BayesPage, main: bool = False) -> Table:
    """R's print of a discriminant analysis: classes in rows, priors and means in columns."""
    columns = [
        Column("", list(page.classes), align="l", csv_name="class"),
        Column(
            "prior",
            [format_scalar(float(v), 4) for v in page.priors],
            [float(v) for v in page.priors],
        ),
    ]
    for j, term in enumerate(page.terms):
        values = [float(v) for v in page.means[:, j]]
        columns.append(Column(term, format_numbers(values, digits=4), values))
    return Table.from_columns(columns, main=main)


def print_bayes(page: BayesPage) -> Page:
    """Call, priors and means, as R prints naiveBayes or lda."""
    return Page(
        (
            Heading("Call"),
            Preformatted(page.call),
            Heading("Priors and means by class"),
            _means_table(page),
            Preformatted(privacy_line(page.privacy)),
            *[Paragraph(f"Note: {note}") for note in page.notes],
        )
    )


def summary_bayes(page: BayesPage) -> Page:
    """The print with standard errors, the privacy spent, error parts and diagnostics."""
    public = "" if page.m is None else f", {page.m} public"
    errors = [
        Column("", list(page.classes), align="l", csv_name="class"),
        Column("prior", [or_na(v) for v in page.priors_sd]),
    ]
    for j, term in enumerate(page.terms):
        errors.append(Column(term, [or_na(v) for v in page.means_sd[:, j]]))
    parts: list[Part] = [
        Heading("Call"),
        Preformatted(page.call),
        KeyValues(
            (
                ("Method", BAYES_METHODS[page.method]),
                ("Covariance within classes", page.covariance),
                ("Rows", f"{page.n} private{public}; {len(page.classes)} classes"),
            )
        ),
        Heading("Priors and means by class"),
        _means_table(page, main=True),
        Heading("Standard errors (sampling and privacy)"),
        Table.from_columns(errors),
        *[Paragraph(f"Note: {note}") for note in page.notes],
        *closing_blocks(page.privacy, page.bounds, page.diagnostics),
    ]
    if page.answers is not None:
        parts += answers_table(page.answers, page.released)
    return Page(tuple(parts))
