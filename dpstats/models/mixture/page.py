"""The page of a private Gaussian mixture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dpstats.arrays import Floats
from dpstats.models.gaussian.page import matrix_parts
from dpstats.report.bound import Bound
from dpstats.report.format import format_scalar
from dpstats.report.groups import Groups
from dpstats.report.model import closing_blocks, or_na, printed
from dpstats.report.privacy import PrivacyStatement
from dpstats.report.released import Diagnostic
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

REGIMES = {
    "public": "components found on public rows alone (Theorems 1.5, 1.6)",
    "private": "public superclusters, private principal axes and valleys (Theorems 1.3, 1.4)",
}


@dataclass(frozen=True)
class MixturePage:
    """What the pages of a mixture show; everything released or public."""

    call: str
    regime: str
    found: str
    asked: int | None
    names: Sequence[str]
    terms: Sequence[str]
    weights: Floats
    weights_se: Floats
    means: Floats
    means_se: Floats
    covariances: Floats
    relative_errors: Sequence[float]
    conditions: Sequence[float]
    rows: Sequence[float]
    public_rows: Sequence[int]
    n: int
    m: int
    dropped: int
    privacy: PrivacyStatement
    bounds: tuple[Bound, ...]
    diagnostics: tuple[Diagnostic, ...]
    notes: tuple[str, ...]

    @property
    def groups(self) -> Groups:
        """The components."""
        return Groups(
            "component",
            "weight",
            self.names,
            self.terms,
            self.weights,
            self.weights_se,
            self.means,
            self.means_se,
        )


def print_mixture(page: MixturePage) -> Page:
    """Call, weights and means by component."""
    parts: list[Part] = [Heading("Weights and means by component"), page.groups.table()]
    return printed(page.call, parts, page.privacy, page.notes)


def summary_mixture(page: MixturePage) -> Page:
    """The print with standard errors, covariances, the privacy spent, bounds and diagnostics."""
    left_out = f" (and {page.dropped} left out: missing or not finite)" if page.dropped else ""
    asked = "the partition decided" if page.asked is None else f"{page.asked} asked for"
    shapes = Table.from_columns(
        [
            Column("", list(page.names), align="l", csv_name="component"),
            Column("rows, about", [format_scalar(round(v), 7) for v in page.rows]),
            Column("public rows", [str(v) for v in page.public_rows]),
            Column("relative error", [or_na(v) for v in page.relative_errors]),
            Column("condition number", [format_scalar(v, 4) for v in page.conditions]),
        ]
    )
    parts: list[Part] = [
        Heading("Call"),
        Preformatted(page.call),
        KeyValues(
            (
                ("Regime", REGIMES[page.regime]),
                ("Components", f"{len(page.names)} ({asked}); {page.found}"),
                (
                    "Rows",
                    f"{page.n} private, {page.m} public{left_out}; columns: {len(page.terms)}",
                ),
            )
        ),
        Heading("Weights and means by component"),
        page.groups.table(main=True),
        Heading("Standard errors (sampling and privacy)"),
        page.groups.errors(),
        Heading("Covariances: expected relative error (Frobenius norm) and condition number"),
        shapes,
    ]
    if len(page.terms) <= 4:
        for name, matrix in zip(page.names, page.covariances, strict=True):
            parts += matrix_parts(f"Covariance of component {name}", page.terms, matrix)
    parts += [Paragraph(f"Note: {note}") for note in page.notes]
    parts += closing_blocks(page.privacy, page.bounds, page.diagnostics)
    return Page(tuple(parts))
