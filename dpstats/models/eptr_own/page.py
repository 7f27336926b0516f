"""The page of a tested release of the user's own estimator."""

from __future__ import annotations

from collections.abc import Sequence

from dpstats.report.answers import Answers, answers_table
from dpstats.report.bound import Bound
from dpstats.report.format import format_numbers, format_scalar
from dpstats.report.model import closing_blocks, privacy_line
from dpstats.report.privacy import PrivacyStatement
from dpstats.report.released import Diagnostic
from dpstats.report.table import Column, Heading, Page, Paragraph, Part, Preformatted, Table


def eptr_page(
    call: str,
    numbers: Sequence[float],
    released: bool,
    privacy: PrivacyStatement,
    bounds: tuple[Bound, ...],
    diagnostics: tuple[Diagnostic, ...],
    notes: Sequence[str],
    answers: Answers,
    whole: bool,
) -> Page:
    """The page of a tested estimate of the user's own; ``whole``: with privacy, errors and test."""
    shown = format_numbers(list(numbers), digits=5)
    parts: list[Part] = [Heading("Call"), Preformatted(call), Heading("Answer")]
    if numbers:
        sd = format_scalar(answers.noise_sd, 3) if released else ""
        parts.append(
            Table.from_columns(
                [
                    Column(
                        "",
                        [f"[{k + 1}]" for k in range(len(shown))],
                        align="l",
                        csv_name="number",
                    ),
                    Column("estimate" if released else "public answer", shown, list(numbers)),
                    Column("noise sd", [sd] * len(shown)),
                ],
                main=True,
            )
        )
    else:
        parts.append(Preformatted("no reply"))
    parts += [Paragraph(f"Note: {note}") for note in notes]
    if not whole:
        return Page((*parts, Preformatted(privacy_line(privacy))))
    parts += closing_blocks(privacy, bounds, diagnostics)
    return Page((*parts, *answers_table(answers, released)))
