"""What the pages of tested releases show: with which probability there is an answer, and when."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dpstats.propose_test.plan import ReleasePlan
from dpstats.report.bound import Bound
from dpstats.report.format import format_numbers, format_scalar
from dpstats.report.model import closing_blocks, privacy_line
from dpstats.report.privacy import PrivacyStatement
from dpstats.report.released import Diagnostic
from dpstats.report.table import Column, Heading, Page, Paragraph, Part, Preformatted, Table

_SHOWN = (0.01, 0.05, 0.5, 0.95, 0.999)


@dataclass(frozen=True)
class Answers:
    """Probability of an answer by level of safety; public, whatever the level of the data.

    Attributes
    ----------
    statistic : str
        What the test looks at.
    calibration : str
    rows : tuple of (probability, value)
        Smallest value of the statistic at which an answer is at least that probable; None: never.
    noise_sd : float
        Of the answer, per number.
    """

    statistic: str
    calibration: str
    rows: tuple[tuple[float, float | None], ...]
    noise_sd: float

    @classmethod
    def of(cls, plan: ReleasePlan, statistic: str, value: Callable[[float], float]) -> Answers:
        """From a plan; ``value`` is the statistic at a level (gamma for the paper's)."""
        levels = [(p, plan.level_for(p)) for p in _SHOWN]
        rows = tuple((p, None if k is None else max(value(k), 0.0)) for p, k in levels)
        return cls(statistic, plan.calibration, rows, plan.noise_sd)

    @property
    def surely_above(self) -> float | None:
        """With confidence 0.95 the statistic is at least this, once there was an answer.

        An answer below has a probability of 0.05 at most.
        """
        return dict(self.rows)[0.05]


def answers_table(answers: Answers, passed: bool) -> list[Part]:
    """The release-probability table."""
    notes = [f"Calibration: {answers.calibration}; noise sd {format_scalar(answers.noise_sd, 3)}."]
    sure = answers.surely_above
    if passed and sure is not None:
        notes.append(
            f"There was an answer: with confidence 0.95, {answers.statistic}: {format_scalar(sure, 3)} "
            "or more."
        )
    return [
        Heading("Probability of an answer"),
        Table.from_columns(
            [
                Column(
                    f"{answers.statistic} at least",
                    ["never" if v is None else format_scalar(v, 4) for _, v in answers.rows],
                ),
                Column("probability", [format_scalar(p, 3) for p, _ in answers.rows]),
            ],
            notes=tuple(notes),
        ),
    ]


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
