"""Tables and summaries of private means and covariances."""

from __future__ import annotations

from collections.abc import Sequence

from dpstats.arrays import Floats
from dpstats.models.gaussian.known_covariance import ROUGH
from dpstats.report.format import format_scalar, gaps
from dpstats.report.model import closing_blocks, head_parts, or_na
from dpstats.report.released import Released
from dpstats.report.result import Coefficients
from dpstats.report.table import Column, Page, Part, Table
from dpstats.report.texts import Heading, Paragraph

MEAN_METHODS = {
    "refined": "clip and noise about the public mean, then about the released one",
    "paper": "one clip-and-noise round about the public mean (Theorem 2.3)",
}
MVNORM_METHODS = {
    "refined": "public preconditioner, private re-whitening, one joint release",
    "paper": "Algorithms 1 and 2 of the paper, ranges known in advance",
}
ALONE = {
    "dp_mean": "private locations, scales and whitening, then clip and noise",
    "dp_mvnorm": "private locations, scales and re-whitening, one joint release",
}
"""What method "refined" does without public rows."""
_DEVIATIONS = {"public rows": "Std. Dev. (public rows)", ROUGH: "Std. Dev. (rough)"}
_WIDEST = 12


def summary_page(
    fit: Released, facts: Sequence[tuple[str, str]], parts: Sequence[Part], *, rates: bool = False
) -> Page:
    """Call, facts and parts of a model, notes, and the blocks that every summary ends with.

    ``rates``: with the rate of the paper's algorithm among the bounds.
    """
    return Page(
        (
            *head_parts(fit.call, facts, fit.notes),
            *parts,
            *closing_blocks(fit.privacy, fit.error, fit.details, rates),
        )
    )


def rows_fact(fit: Released, dropped: int, columns: int) -> tuple[str, str]:
    """How many rows and columns a fit has."""
    left_out = f" (and {dropped} left out: missing or not finite)" if dropped else ""
    public = "" if fit.m is None else f", {fit.m} public{left_out}"
    return "Rows", f"{fit.n} private{public}; columns: {columns}"


def mean_table(
    coefficients: Coefficients, matrix: Floats, source: str, *, brief: bool = False
) -> Table:
    """Means with standard errors, the columns' standard deviations, and the share due to privacy.

    ``source``: where the covariance comes from; standard deviations of public rows, and rough ones, say
    so.
    """
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
    header = _DEVIATIONS.get(source, "Std. Dev.")
    columns.append(Column(header, shown, sds, csv_name="std_dev"))
    if not brief:
        share = ["NA" if v is None else f"{100 * v:.0f}%" for v in gaps(c.privacy_share)]
        columns.append(Column("privacy", share, gaps(c.privacy_share), csv_name="privacy_share"))
    return Table.from_columns(columns, main=not brief)


def matrix_parts(
    title: str, terms: Sequence[str], matrix: Floats, *, released: bool = True
) -> list[Part]:
    """A matrix as a table, or where to find it when it is too wide to read."""
    if len(terms) > _WIDEST:
        names = ".cov, .corr and .cov_se" if released else ".cov and .corr"
        size = f"{len(terms)} x {len(terms)}"
        return [Heading(title), Paragraph(f"{size}: {names} hold it as a frame.")]
    columns = [Column("", terms, align="l", csv_name="term")]
    for j, term in enumerate(terms):
        values = [float(v) for v in matrix[:, j]]
        columns.append(Column(term, [or_na(v) for v in values], values))
    return [Heading(title), Table.from_columns(columns)]
