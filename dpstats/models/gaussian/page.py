"""The page of a private mean and covariance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dpstats.arrays import Floats
from dpstats.report.bound import Bound
from dpstats.report.format import format_scalar
from dpstats.report.model import closing_blocks, gaps, or_na, printed
from dpstats.report.privacy import PrivacyStatement
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

MEAN_METHODS = {
    "refined": "clip and noise about the public mean, then about the released one",
    "paper": "one clip-and-noise round about the public mean (Theorem 2.3)",
}
MVNORM_METHODS = {
    "refined": "public preconditioner, private re-whitening, one joint release",
    "paper": "Algorithms 1 and 2 of the paper, ranges known in advance",
}
_WIDEST = 12


@dataclass(frozen=True)
class GaussianPage:
    """What the pages of a Gaussian show; everything released or public."""

    call: str
    method: str
    coefficients: Coefficients
    matrix: Floats
    matrix_se: Floats | None
    covariance: str
    relative_error: float | None
    condition: float
    n: int
    m: int | None
    dropped: int
    privacy: PrivacyStatement
    bounds: tuple[Bound, ...]
    diagnostics: tuple[Diagnostic, ...]
    notes: tuple[str, ...]


def print_gaussian(page: GaussianPage) -> Page:
    """Call, means and covariance, as R prints cov.wt."""
    means = mean_table(page.coefficients, page.matrix, brief=True)
    parts = [Heading("Mean"), means, *_covariance(page)]
    return printed(page.call, parts, page.privacy, page.notes)


def summary_gaussian(page: GaussianPage) -> Page:
    """The print with standard errors, the privacy spent, bounds and diagnostics."""
    left_out = f" (and {page.dropped} left out: missing or not finite)" if page.dropped else ""
    said = [
        ("Method", (MVNORM_METHODS if page.matrix_se is not None else MEAN_METHODS)[page.method]),
        ("Covariance", page.covariance),
        ("Rows", f"{page.n} private, {page.m} public{left_out}; columns: {len(page.matrix)}"),
        ("Condition number of the covariance", format_scalar(page.condition, 4)),
    ]
    if page.relative_error is not None:
        said.append(
            (
                "Expected error of the covariance",
                f"{format_scalar(page.relative_error, 3)} (relative, Frobenius norm)",
            )
        )
    errors = (
        []
        if page.matrix_se is None
        else matrix_parts(
            "Standard errors of the covariance", page.coefficients.terms, page.matrix_se
        )
    )
    parts: list[Part] = [
        Heading("Call"),
        Preformatted(page.call),
        KeyValues(tuple(said)),
        Heading("Means"),
        mean_table(page.coefficients, page.matrix),
        *_covariance(page),
        *errors,
        *[Paragraph(f"Note: {note}") for note in page.notes],
        *closing_blocks(page.privacy, page.bounds, page.diagnostics, page.method == "paper"),
    ]
    return Page(tuple(parts))


def _covariance(page: GaussianPage) -> list[Part]:
    released = page.matrix_se is not None
    title = "Covariance" if released else f"Covariance ({page.covariance})"
    return matrix_parts(title, page.coefficients.terms, page.matrix, released=released)


def mean_table(coefficients: Coefficients, matrix: Floats, *, brief: bool = False) -> Table:
    """Means with standard errors, the columns' standard deviations, and the share due to privacy."""
    c = coefficients
    values = [float(v) for v in c.coef]
    sds = [float(v) ** 0.5 for v in matrix.diagonal()]
    columns = [
        Column("", c.terms, align="l", csv_name="term"),
        Column("Mean", [format_scalar(v, 5) for v in values], values, csv_name="mean"),
    ]
    if not brief:
        errors = gaps(c.std_error)
        shown = ["NA" if v is None else format_scalar(v, 3) for v in errors]
        columns.append(Column("Std. Error", shown, errors, csv_name="std_error"))
    shown = [format_scalar(v, 5) for v in sds]
    columns.append(Column("Std. Dev.", shown, sds, csv_name="std_dev"))
    if not brief:
        share = ["NA" if v is None else f"{100 * v:.0f}%" for v in gaps(c.privacy_share)]
        columns.append(Column("privacy", share, gaps(c.privacy_share), csv_name="privacy_share"))
    return Table.from_columns(columns, main=not brief)


def matrix_parts(
    title: str, terms: Sequence[str], matrix: Floats, *, released: bool = True
) -> list[Part]:
    """A matrix as a table, or a word on where to find it when it is too wide to read."""
    if len(terms) > _WIDEST:
        names = ".cov, .corr and .cov_se" if released else ".cov and .corr"
        said = f"{len(terms)} x {len(terms)}: {names} hold it as a frame."
        return [Heading(title), Paragraph(said)]
    columns = [Column("", terms, align="l", csv_name="term")]
    for j, term in enumerate(terms):
        values = [float(v) for v in matrix[:, j]]
        columns.append(Column(term, [or_na(v) for v in values], values))
    return [Heading(title), Table.from_columns(columns)]
