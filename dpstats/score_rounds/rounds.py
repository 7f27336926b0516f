"""Score rounds: the way from a first anchor to a private fit, for every model fitted by score steps.

A model says how rows are seen (a `Family`), where rounds begin, what each may spend and where it cuts.
`ScoreRounds.run` makes the rounds: each releases the mean cut score at the present anchor, and what else
its shares pay for, and takes a Newton step. `solution.py` says what they come to.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Generic, Protocol, TypeVar

import numpy as np

from dpstats.arrays import Floats
from dpstats.frame import Design, PublicMoments
from dpstats.numerics.matrices import Whitening
from dpstats.report.diagnostics import ROWS
from dpstats.report.released import Diagnostic
from dpstats.score_rounds.cuts import Cut
from dpstats.score_rounds.estimate import Step
from dpstats.score_rounds.leaning import SHARE, Leaning, LongScores, long_from
from dpstats.score_rounds.releases import (
    PersonCounts,
    Round,
    RowSummary,
    ScoreSession,
    Shares,
    Window,
)
from dpstats.score_rounds.rows import RoundCuts
from dpstats.score_rounds.tails import Tail

PERSONS = 0.02
"""Share of the total that tells how many rows persons have, where scores are summed up over these."""


@dataclass(frozen=True, kw_only=True)
class RoundsTask:
    """What a fit by score rounds is told before it meets a row; all of it public.

    Attributes
    ----------
    design : Design
    moments : PublicMoments or None
        None without public rows, and for "ssp".
    errors : {"hetero", "iid"}
    persons : {"all", "within"} or None
        Over what scores are summed up, see `ScoreSession`.
    alone : bool
        There are no public rows, or too few to determine all columns.
    """

    design: Design
    moments: PublicMoments | None = None
    errors: str = "hetero"
    persons: str | None = None
    alone: bool = False


@dataclass(frozen=True)
class Coordinates:
    """Where rounds compute: rows are whitened, and perhaps turned once the curvature is known.

    Attributes
    ----------
    whitening : Whitening
        In these coordinates the curvature is released: z = back' x.
    turn : (d, d) array
        Symmetric T: scores are those of T z. There their noise is alike in all directions.
    """

    whitening: Whitening
    turn: Floats

    @classmethod
    def plain(cls, whitening: Whitening) -> Coordinates:
        """One set of coordinates for both curvature and scores."""
        return cls(whitening, np.eye(len(whitening.back)))

    @property
    def back(self) -> Floats:
        """From coefficients of T z to the user's."""
        return self.whitening.back @ self.turn

    @property
    def root(self) -> Floats:
        """From the user's coefficients to those of T z."""
        return np.linalg.solve(self.turn, self.whitening.root)

    def with_back(self, back: Floats) -> Coordinates:
        """These coordinates, where scores are those of another matrix, as it was rounded."""
        return Coordinates(self.whitening, self.whitening.root @ back)

    def turned(self, turn: Floats) -> Coordinates:
        """These coordinates, with scores of A T z."""
        return Coordinates(self.whitening, self.turn @ turn)


@dataclass(frozen=True)
class RoundPlan:
    """What a round will do.

    Attributes
    ----------
    shares : Shares
    rest : Shares or None
        What is released besides, of the same sums, if the round turns out to be the last one.
    far : float or None
        From which length on scores are asked where they point, if the round asks that.
    cut : Cut
        Of the scores.
    radius : float or None
        Of information rows.
    square, square_lost : float
        Of residuals, and what it takes off their mean square at most, with 95 % of what tails may be.
    last : bool
    pooled : bool
        Whether its estimate counts beside that of the last round.
    lean : Leaning or None
        Where long scores point one way, and are cut farther out.
    kept : (d, d) array or None
        Symmetric K: of the change of scores cuts leave K times ``cut.slope``; None: the identity.
    """

    shares: Shares
    cut: Cut
    radius: float | None = None
    square: float = 1.0
    square_lost: float = 0.0
    last: bool = False
    pooled: bool = True
    lean: Leaning | None = None
    kept: Floats | None = None
    rest: Shares | None = None
    far: float | None = None


def window_about(guess: float | None) -> Window:
    """Octaves that a histogram of lengths looks at: all, or those about what they are expected to be."""
    return (-64, 160) if guess is None else (math.frexp(guess)[1] - 24, 48)


def quartered(guess: float | None, window: Window) -> int | None:
    """Octaves of a window to be counted by quarters: up to twice the expected length."""
    return None if guess is None else math.frexp(guess)[1] + 2 - window[0]


class HasStep(Protocol):
    """What a model makes of a round: a Newton step, perhaps with more that is known of it."""

    @property
    def step(self) -> Step: ...


_S = TypeVar("_S", bound=HasStep)


@dataclass(kw_only=True)
class ScoreRounds(ABC, Generic[_S]):
    """The rounds of one fit.

    Attributes
    ----------
    session : ScoreSession
    coordinates : Coordinates
    anchor : (d,) array
        Where the next round computes its scores, as coefficients of T z. So are all steps; but that of
        a round whose scores lean, which are those of A T z, is in coefficients of these.
    carried : (d,) array
        The anchor whose linear predictor the rows carry.
    steps : list
        One for each round.
    plans : list of RoundPlan
    """

    session: ScoreSession
    coordinates: Coordinates
    anchor: Floats
    carried: Floats
    steps: list[_S] = field(default_factory=list, init=False)
    plans: list[RoundPlan] = field(default_factory=list, init=False)

    @property
    def lean(self) -> Leaning | None:
        """Where scores of the last round lean."""
        return self.plans[-1].lean

    def far_scores(self, tail: Tail, expected: bool = True) -> LongScores:
        """What of scores at the anchor is as far out as noise can count them.

        Less what the family expects of it, if that is to be ``expected``.
        """
        share, at = self.session.left * SHARE, self.anchor - self.carried
        length = self.far_length(tail, share)
        return LongScores(self.session.long_scores(share, at, length, expected), length)

    def far_length(self, tail: Tail, share: float) -> float:
        """From which length on scores are asked where they point, for this share of the total."""
        paid = self.session.total.mu * math.sqrt(share)
        return long_from(tail, self.session.n, len(self.anchor), paid)

    @abstractmethod
    def plan(self) -> RoundPlan:
        """The next round: from the plan of the fit, and from what was released."""

    @abstractmethod
    def newton(self, made: Round, plan: RoundPlan) -> _S:
        """The step that a round's releases give."""

    def is_enough(self, made: Round, plan: RoundPlan) -> bool:
        """Whether a round that may be the last one is, by what it has released."""
        return True

    def next_anchor(self, step: _S) -> Floats:
        """Where the next round computes its scores; in other coordinates, if these change."""
        return step.step.anchor + step.step.move

    def run(self) -> Round:
        """Make the rounds, and return what the last one has released."""
        while True:
            made = self.one_round()
            if made is not None:
                return made

    def one_round(self) -> Round | None:
        """Make the next round; what it has released, if it is the last one."""
        plan = self.plan()
        less = plan.lean.less if plan.lean and plan.lean.stretch > 1 else None
        cuts = RoundCuts(plan.cut.length, plan.radius, plan.square, far=plan.far, less=less)
        at = self.anchor - self.carried
        made = self.session.round(plan.shares, at, cuts, plan.rest)
        if plan.rest is not None and self.is_enough(made, plan):
            made = both(made, self.session.round(plan.rest, at, cuts))
            plan = replace(plan, last=True)
        step = self.newton(made, plan)
        self.plans.append(plan)
        self.steps.append(step)
        if plan.last:
            return made
        self.anchor = self.next_anchor(step)
        return None


def both(first: Round, second: Round) -> Round:
    """Two releases of the same sums: of two scores the mean, by the variances of their noises."""
    one, other = first.score, second.score
    assert one is not None
    assert other is not None
    own, beside = 1 / one.noise_sd**2, 1 / other.noise_sd**2
    value = (own * one.value + beside * other.value) / (own + beside)
    score = replace(other, value=value, noise_sd=1 / math.sqrt(own + beside))
    return replace(second, score=score)


def summary_of(made: Round) -> RowSummary:
    """What the last round says of the rows."""
    assert made.summary is not None
    return made.summary


def rows_of_each(persons: PersonCounts | None, n: int) -> float:
    """Rows behind each of the n terms of a sum: 1, or how many a person has on average."""
    return 1.0 if persons is None else max(persons.rows / n, 1e-3)


def rows_line(persons: PersonCounts | None) -> tuple[Diagnostic, ...]:
    """How many rows all persons have, where that was released."""
    if persons is None:
        return ()
    note = f"of all persons, counting at most {persons.most} for each"
    return (Diagnostic(ROWS, persons.rows, persons.rows_sd, note),)
