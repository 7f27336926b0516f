"""The papers' algorithm for generalised linear models: Newton steps on truncated rows."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpstats.arrays import Floats
from dpstats.models.glm.estimate import public_fit
from dpstats.models.glm.family import Family
from dpstats.models.glm.fit import GlmFit, condition_line
from dpstats.models.glm.task import GlmTask
from dpstats.numerics.matrices import Whitening, equilibrated_whitening
from dpstats.numerics.public_rows import PublicRows
from dpstats.report.released import Diagnostic
from dpstats.score_rounds.estimate import papers_solution
from dpstats.score_rounds.releases import ScoreSession, Shares
from dpstats.score_rounds.rows import RoundCuts


@dataclass(frozen=True)
class ScoreBounds:
    """Constants of Algorithm 4: |r| <= c1 and h <= c2 on linear predictors in [low, high]."""

    c1: float
    c2: float
    low: float = -math.inf
    high: float = math.inf
    largest: float = math.inf


@dataclass(frozen=True)
class Constrained:
    """A family on a bounded set: linear predictors and responses are cut to public limits."""

    family: Family
    limits: ScoreBounds

    def working(self, eta: Floats, y: Floats) -> tuple[Floats, Floats, Floats]:
        """As `Family.working`, at eta cut to [low, high] and |y| to the largest response."""
        limits = self.limits
        return self.family.working(
            np.clip(eta, limits.low, limits.high), np.clip(y, -limits.largest, limits.largest)
        )

    def possible(self, y: Floats) -> np.ndarray:
        """As `Family.possible`."""
        return self.family.possible(y)

    def expected_beyond(self, eta: Floats, unit: Floats, length: float) -> None:
        """The papers' rounds do not look at long scores."""


def papers_limits(family: Family, rows: PublicRows | None, log_factor: float) -> ScoreBounds | None:
    """c1 = 1 and c2 = 1/4 of logistic regression; for other families limits from public rows.

    Responses are cut at their public root mean square times sqrt(1 + log(2n/eta)), as the ridge paper
    cuts them; linear predictors to the range that the public fit gives public rows, half as long again.
    c1 and c2 are the largest |r| and h there. None when public rows are needed and there are none.
    """
    if family.canonical and family.binary:
        return ScoreBounds(1.0, 0.25)
    if rows is None:
        return None
    moment = rows.x.T @ rows.x / len(rows.y)
    coef = public_fit(family, rows, equilibrated_whitening(moment), np.zeros(rows.x.shape[1]))
    eta = rows.x @ coef + rows.offset
    low, high = float(eta.min()), float(eta.max())
    low, high = low - (high - low) / 4, high + (high - low) / 4
    largest = math.sqrt(float((rows.y**2).mean()) * log_factor)
    if family.binary:
        largest = 1.0
    grid = np.linspace(low, high, 512)
    ends = (0.0 if family.name != "gaussian" else -largest, largest)
    found = [family.working(grid, np.full_like(grid, y)) for y in ends]
    c1 = max(float(np.abs(r).max()) for r, _, _ in found)
    c2 = max(float(h.max()) for _, h, _ in found)
    return ScoreBounds(c1, c2, low, high, largest)


def pmt(
    session: ScoreSession,
    task: GlmTask,
    whitening: Whitening,
    limits: ScoreBounds,
    radius: float,
    iterations: int,
) -> GlmFit:
    """Algorithm 3 of the ridge paper, Algorithm 4 of the preprint, to the letter.

    ``iterations`` Newton steps from 0 on whitened rows cut to ``radius``, sqrt(d (1 + log(2n/eta))).
    Each step's two mechanisms get the same share of the total's mu^2. The loop of the printed algorithm
    runs from 0 to T; its noise is calibrated for T steps, and T are made.
    """
    family, back = task.family, whitening.back
    d = len(back)
    penalty = task.ridge * back.T @ back
    t = np.zeros(d)
    share = 1 / (2 * iterations)
    lengths = []
    for _ in range(iterations):
        anchor = t
        made = session.round(
            Shares(information=share, score=min(share, session.left)),
            anchor,
            RoundCuts(radius * limits.c1, radius * math.sqrt(limits.c2)),
            papers=True,
        )
        assert made.information is not None
        assert made.score is not None
        information, score = made.information, made.score
        hessian = information.value + penalty
        move = np.linalg.solve(hessian, score.value - penalty @ anchor)
        t = anchor + move
        lengths.append(float(np.linalg.norm(move)))
    dispersion, source = 1.0, "fixed"
    if family.dispersed:
        source = "public rows"
        assert task.moments is not None
        assert task.known is not None
        at = equilibrated_whitening(task.moments.gram)
        coef = public_fit(family, task.known, at, np.zeros(d))
        e = task.known.working(family, coef)[2]
        dispersion = float(e @ e) / max(len(e) - d, 1)
    estimate, system, _, resolved = papers_solution(
        t, move, information, score, penalty, dispersion, whitening, session.n, task.ridge
    )
    notes: tuple[str, ...] = (
        "The papers' algorithm does not report the rows it truncates, and does not test "
        "convergence.",
    )
    if not resolved:
        notes += (
            "Standard errors are not given: the noise of the information is as large as the information "
            "in some direction. method='anchored' needs far less budget.",
        )
    rounds = tuple(
        Diagnostic(f"step {k + 1}", length, None, "length of the Newton step, whitened")
        for k, length in enumerate(lengths)
    )
    return GlmFit(
        estimate,
        system,
        source,
        None,
        None,
        iterations,
        (condition_line(information.value), *rounds),
        notes,
    )
