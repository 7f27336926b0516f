"""The table of a tested release: with which probability there is an answer, and when."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from dpstats.report.format import format_scalar
from dpstats.report.table import Column, Part, Table
from dpstats.report.texts import Heading

_SHOWN = (0.01, 0.05, 0.5, 0.95, 0.999)


class Plan(Protocol):
    """The plan of a tested release, as far as its table shows it."""

    @property
    def calibration(self) -> str: ...

    @property
    def noise_sd(self) -> float: ...

    def level_for(self, probability: float) -> int | None: ...


@dataclass(frozen=True)
class Answers:
    """Probability of an answer by level of safety; public, whatever the level of the data.

    ``rows`` are (probability, value): the smallest value of the ``statistic`` at which an answer is at
    least that probable; None: never. ``noise_sd`` is that of the answer, per number.
    """

    statistic: str
    calibration: str
    rows: tuple[tuple[float, float | None], ...]
    noise_sd: float

    @classmethod
    def of(cls, plan: Plan, statistic: str, value: Callable[[float], float]) -> Answers:
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
                Column.of(
                    f"{answers.statistic} at least", [v for _, v in answers.rows], 4, none="never"
                ),
                Column.of("probability", [p for p, _ in answers.rows]),
            ],
            notes=tuple(notes),
        ),
    ]
