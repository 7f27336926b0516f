"""The report of a fit that may stand behind a test, and the summary of its result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dpstats.propose_test.bounds import unanswered
from dpstats.propose_test.safety import SafetyTest
from dpstats.report.answers import Answers, answers_table
from dpstats.report.bound import Bound
from dpstats.report.model import closing_blocks, head_parts
from dpstats.report.released import Diagnostic, Released
from dpstats.report.table import Page, Part

NO_REPLY_NOTE = "NO REPLY: the test did not pass, or its random draw said no."


@dataclass(frozen=True)
class Outcome:
    """The report of a fit beside its estimate: released and public numbers.

    Attributes
    ----------
    released : bool
        False when a test did not pass: a public answer stands in.
    answers : Answers or None
        Of the test, where there was one.
    """

    released: bool
    error: tuple[Bound, ...]
    diagnostics: tuple[Diagnostic, ...]
    notes: tuple[str, ...] = ()
    answers: Answers | None = None

    @classmethod
    def of_test(
        cls,
        test: SafetyTest,
        passed: bool,
        substitute: str,
        error: tuple[Bound, ...],
        diagnostics: tuple[Diagnostic, ...],
        notes: tuple[str, ...] = (),
    ) -> Outcome:
        """The outcome of a test; ``substitute`` names what stands in when it did not pass."""
        if not passed:
            notes, error = (f"{NO_REPLY_NOTE} {substitute}", *notes), unanswered(error)
        return cls(passed, error, diagnostics, notes, test.answers)

    def items(self, notes: tuple[str, ...]) -> dict[str, Any]:
        """The attributes of a result that come from here; ``notes`` qualify its guarantee."""
        return {
            "released": self.released,
            "error": self.error,
            "details": self.diagnostics,
            "notes": self.notes + notes,
            "answers": self.answers,
        }


def target_diagnostics(target: float, note: str, passed: bool) -> tuple[Diagnostic, Diagnostic]:
    """The target of a test, and whether it passed."""
    return Diagnostic("target", target, None, note), answered(passed)


def answered(passed: bool) -> Diagnostic:
    return Diagnostic("answered", float(passed), None, "1 if the test passed")


class TestedResult(Released):
    """Base of the results that a test may withhold; subclasses provide the attributes below."""

    released: bool
    answers: Answers | tuple[Answers, ...] | None

    def _summary_of(self, facts: Sequence[tuple[str, str]], parts: Sequence[Part]) -> Page:
        """Call, facts and parts of a model, followed by what all of them show."""
        answers = self.answers[:1] if isinstance(self.answers, tuple) else (self.answers,)
        return Page(
            (
                *head_parts(self.call, facts, self.notes),
                *parts,
                *closing_blocks(self.privacy, self.error, self.details),
                *[
                    part
                    for table in answers
                    if table is not None
                    for part in answers_table(table, self.released)
                ],
            )
        )

    def _rows_line(self) -> str:
        public = "" if self.m is None else f", {self.m} public"
        return f"{self.n} private{public}"
