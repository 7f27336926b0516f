"""The page of a private Bayes classifier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dpstats.arrays import Floats
from dpstats.report.answers import Answers, answers_table
from dpstats.report.bound import Bound
from dpstats.report.groups import Groups
from dpstats.report.model import closing_blocks, printed
from dpstats.report.privacy import PrivacyStatement
from dpstats.report.released import Diagnostic
from dpstats.report.table import (
    Heading,
    KeyValues,
    Page,
    Paragraph,
    Part,
    Preformatted,
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

    @property
    def groups(self) -> Groups:
        """The classes."""
        return Groups(
            "class",
            "prior",
            self.classes,
            self.terms,
            self.priors,
            self.priors_sd,
            self.means,
            self.means_sd,
        )


def print_bayes(page: BayesPage) -> Page:
    """Call, priors and means, as R prints naiveBayes or lda."""
    parts: list[Part] = [Heading("Priors and means by class"), page.groups.table()]
    return printed(page.call, parts, page.privacy, page.notes)


def summary_bayes(page: BayesPage) -> Page:
    """The print with standard errors, the privacy spent, error parts and diagnostics."""
    public = "" if page.m is None else f", {page.m} public"
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
        page.groups.table(main=True),
        Heading("Standard errors (sampling and privacy)"),
        page.groups.errors(),
        *[Paragraph(f"Note: {note}") for note in page.notes],
        *closing_blocks(page.privacy, page.bounds, page.diagnostics),
    ]
    if page.answers is not None:
        parts += answers_table(page.answers, page.released)
    return Page(tuple(parts))
