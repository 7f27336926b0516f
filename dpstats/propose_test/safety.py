"""The safety of a data set, read off one statistic, and the test of it that a release stands behind.

A model brings the statistic (an eigenvalue, a count, a share of a degree) and proves how far its
estimate moves at each level of it: `SafetyLevels`, or `PapersSafety` for the published test.
`SafetyTest.probability` is later evaluated at a private statistic; it raises for none.
"""

from __future__ import annotations

from dataclasses import dataclass

from dpstats.propose_test.curve import Levels
from dpstats.propose_test.plan import ReleasePlan
from dpstats.report.answers import Answers

DEEPEST = 300
"""Levels on either side of the target that are told apart: farther ones hardly matter to the test."""


@dataclass(frozen=True, eq=False)
class SafetyLevels:
    """Levels of a statistic: level 0 below ``first``, level j from first + (j - 1) step on.

    Attributes
    ----------
    first, step : float
        ``step`` is the most that one row moves the statistic.
    levels : Levels
        How far the estimate moves.
    target : int
        The level that the plan has to answer.
    """

    first: float
    step: float
    levels: Levels
    target: int

    def at(self, statistic: float) -> int:
        """The level of a statistic."""
        if not statistic >= self.first:
            return 0
        return int(min((statistic - self.first) / self.step, 1e9)) + 1

    def value(self, level: float) -> float:
        """The smallest statistic of a level."""
        return self.first + (level - 1) * self.step

    @property
    def sensitivity(self) -> float:
        """Sensitivity at the target level."""
        return float(self.levels.same[self.target])

    @property
    def least_move(self) -> float:
        """The smallest sensitivity of any level."""
        return float(self.levels.same[-1])


@dataclass(frozen=True)
class PapersSafety:
    """The ePTR paper's real-valued safety, gamma = (statistic - threshold - step)_+ / step.

    ``sensitivity`` is that of the estimate wherever gamma > 0 for one of two neighbours.
    """

    threshold: float
    step: float
    sensitivity: float

    def at(self, statistic: float) -> float:
        """gamma of a statistic."""
        return max(statistic - self.threshold - self.step, 0.0) / self.step

    def value(self, gamma: float) -> float:
        """The statistic of a safety gamma."""
        return self.threshold + self.step * (1 + gamma)

    @property
    def least_move(self) -> float:
        """The smallest sensitivity of any safety."""
        return self.sensitivity


@dataclass(frozen=True, eq=False)
class SafetyTest:
    """A test of a statistic, and the release behind it; planned before any private value is read.

    Attributes
    ----------
    plan : ReleasePlan
        Noise, and the probability of an answer by level of safety.
    safety : SafetyLevels or PapersSafety
    statistic : str
        Its name, for the reader of a report.
    target : float
        The statistic that was planned for.
    unit : float
        In which the statistic is reported.
    """

    plan: ReleasePlan
    safety: SafetyLevels | PapersSafety
    statistic: str = ""
    target: float = float("nan")
    unit: float = 1.0

    def probability(self, statistic: float) -> float:
        """Probability of an answer at a private statistic."""
        return float(self.plan.probability(self.safety.at(statistic)))

    @property
    def sensitivity(self) -> float:
        """Sensitivity at the level that was planned for."""
        return self.safety.sensitivity

    @property
    def least_move(self) -> float:
        """The smallest sensitivity, for which the lattice is made."""
        return self.safety.least_move

    @property
    def answers(self) -> Answers:
        """Probability of an answer by statistic, as a report shows it."""
        return Answers.of(self.plan, self.statistic, lambda k: self.safety.value(k) / self.unit)
