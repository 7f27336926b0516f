"""How a fit with effects or instruments spends its total: the score rounds of a linear model.

Rows hold all columns: regressors, dummies of effects, and excluded instruments, whose coefficients
stay zero. Without instruments the fit is that of `dpstats.models.linear.fit`, of which the effects are
left out in the end; with them a round's mean score makes a step of two-stage least squares.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpstats.accounting.privacy import Privacy
from dpstats.arrays import Floats
from dpstats.frame import PanelColumns, PublicMoments
from dpstats.mechanism.noise import Noise
from dpstats.mechanism.passes import RowSource
from dpstats.mechanism.session import Session
from dpstats.models.feols.estimate import (
    AndersonRubin,
    FinalScore,
    InstrumentTest,
    TwoStages,
    anderson_rubin,
    first_stage_test,
    noise_of_weights,
    overidentification,
    without_effects,
)
from dpstats.models.linear.estimate import LinearFit
from dpstats.models.linear.fit import reported, solved_by_rounds, through_rounds
from dpstats.models.linear.prepare import Prepared
from dpstats.models.linear.rounds import LinearRounds
from dpstats.numerics.matrices import quadratic_forms, symmetric
from dpstats.score_rounds.cuts import WIDENING
from dpstats.score_rounds.estimate import (
    Estimate,
    Moved,
    matrix_noise_covariance,
    moments_least_squares,
    without_errors,
)
from dpstats.score_rounds.releases import Round, ScoreSession
from dpstats.score_rounds.rounds import RoundsTask, summary_of
from dpstats.score_rounds.solution import UsedRows, shrunk_meat


@dataclass(frozen=True, kw_only=True)
class PanelTask(RoundsTask):
    """What a fit with effects or instruments is told; ``columns``: which of the design's are what."""

    columns: PanelColumns


@dataclass(frozen=True)
class SecondStage:
    """What instruments are judged by.

    Attributes
    ----------
    first_stages : tuple of (str, InstrumentTest)
        F of the excluded instruments, for every endogenous column.
    agreement : InstrumentTest or None
        Hansen's J.
    weak : AndersonRubin or None
        Of the endogenous coefficient, where it is one.
    """

    first_stages: tuple[tuple[str, InstrumentTest], ...]
    agreement: InstrumentTest | None
    weak: AndersonRubin | None


@dataclass(frozen=True)
class PanelFit:
    """What a fit hands over, of the shown columns alone.

    ``parameters`` are all coefficients, those of effects and of persons among them.
    """

    linear: LinearFit
    second: SecondStage | None
    parameters: float


def fit_rows(
    task: PanelTask,
    rows: RowSource,
    total: Privacy,
    noise: Noise,
    after: Session[Any] | None = None,
) -> tuple[PanelFit, ScoreSession]:
    """Spend a total on a fit of these rows; the session tells what was released for it.

    ``after``: the session that has released levels, where there are no public rows.
    """
    columns = task.columns

    def solve(session: ScoreSession, ready: Prepared) -> PanelFit:
        return _solved(LinearRounds.of(session, ready, 0.0), columns)

    return through_rounds(
        ScoreSession,
        task,
        rows,
        total,
        noise,
        solve,
        after,
        start=_start(task.moments, columns),
        instruments=bool(columns.excluded),
    )


def _solved(rounds: LinearRounds, columns: PanelColumns) -> PanelFit:
    """The rounds of a fit, and what they come to."""
    if columns.excluded:
        return two_stages(rounds, columns)
    fit = solved_by_rounds(rounds, columns.effects, families=False)
    estimate = without_effects(fit.estimate, columns.shown, columns.effects)
    fit = replace(fit, estimate=estimate, system=None)
    assert fit.summary is not None
    count = len(columns.regressors)
    used = UsedRows.of(rounds.session, fit.summary, rounds.ready.persons, count)
    return PanelFit(fit, None, count + used.absorbed)


def _start(moments: PublicMoments | None, columns: PanelColumns) -> Floats | None:
    """Least squares of the public rows on the regressors; instruments have none."""
    if moments is None or moments.cross is None or moments.yy is None:
        return None
    at = np.asarray(columns.regressors)
    start = np.zeros(len(moments.terms))
    start[at] = moments_least_squares(
        moments.gram[np.ix_(at, at)], moments.cross[at], moments.yy, None
    )[0]
    return start


def two_stages(rounds: LinearRounds, columns: PanelColumns) -> PanelFit:
    """Score rounds whose steps are those of two-stage least squares, and what they come to."""
    ready = rounds.ready
    root = ready.at.root
    x, z = np.asarray(columns.regressors), np.asarray(columns.instruments)
    stages = TwoStages(root[:, x], root[:, z])
    rounds.oblique = stages.oblique
    made = rounds.run()
    used = UsedRows.of(rounds.session, summary_of(made), ready.persons, len(x))
    estimate, last, spread, moved = _solution(rounds, made, stages, used)
    second = None
    if stages.apart:
        second = _second_stage(rounds, stages, last, spread, columns, estimate, used)
    shown = len(columns.shown)
    estimate = without_effects(estimate, range(shown), range(shown, len(x)))
    hidden = ready.hidden is not None and bool(ready.hidden.any())
    sure = stages.apart and ready.enough and ready.curvature.resolved
    if hidden or ready.hardly_seen or not sure:
        estimate = without_errors(estimate)
    terms = [ready.design.terms[j] for j in columns.shown]
    cuts = terms, moved.of(lambda values: values[:shown])
    leaning = None if rounds.lean is None else np.abs(stages.solve @ _leant(rounds))[:shown]
    fit = reported(rounds, made, estimate, None, cuts, leaning, families=False)
    return PanelFit(fit, second, len(x) + used.absorbed)


def _leant(rounds: LinearRounds) -> Floats:
    """What errors of the mean score allow for where scores lean."""
    lean = rounds.lean
    return np.zeros(len(rounds.anchor)) if lean is None else lean.allowed * lean.direction


def _solution(
    rounds: LinearRounds, made: Round, stages: TwoStages, used: UsedRows
) -> tuple[Estimate, FinalScore, float, Moved]:
    """Coefficients of the regressors with both covariances, and what is known of u e at them.

    As `dpstats.score_rounds.solution.solution`, with (X'P X)^-1 X'P in place of the inverse Hessian. The
    noise of the second moments acts on the way from the anchor.
    """
    assert made.score is not None
    cut, step, pooled = rounds.plans[-1].cut, rounds.steps[-1].step, rounds.pooled()
    (d, k), solve = stages.x.shape, stages.solve
    coef = np.linalg.lstsq(stages.x, pooled.coef, rcond=None)[0]
    curvature_sd = rounds.curvature.used_sd
    noise = pooled.noise_sd**2 * np.eye(d) + matrix_noise_covariance(pooled.move, curvature_sd)
    for one in (*pooled.left, _leant(rounds)):
        noise = noise + np.outer(one, one)
    score = made.score.value / cut.slope
    away = pooled.coef - step.anchor
    spread = _residual_variance(made, score, away, stages, used, rounds.square_floor)
    meat: Floats = spread * cut.efficiency / cut.slope**2 * np.eye(d)
    if made.outer is not None:
        outer, sd = made.outer.value / cut.slope**2, made.outer.noise_sd / cut.slope**2
        meat = shrunk_meat(outer, sd, np.eye(d), spread, solve)
    along = meat * d / float(np.trace(meat))
    allowed = (WIDENING * pooled.excess) ** 2 * along
    meat = meat * used.hc1_factor(k) / used.n
    sampling, privacy = solve @ meat @ solve.T, solve @ (noise + allowed) @ solve.T
    mean = rounds.pooled_score(pooled.coef)
    privacy = privacy + noise_of_weights(stages, mean, curvature_sd)
    first = stages.first_stage
    estimate = Estimate(
        coef=coef,
        sampling=symmetric(sampling),
        privacy=symmetric(privacy),
        dispersion=spread,
        moments=first.T @ first / used.rows,
        root=first,
        moments_sd=curvature_sd / used.rows,
        n=max(round(used.n * used.rows), 1),
        ridge=0.0,
        errors="iid" if made.outer is None else "hetero",
    )
    # the mean score at the estimate is known by way of the anchor, like the estimate
    last = FinalScore(mean, meat, noise + allowed)
    error = np.sqrt(np.maximum(np.diag(estimate.vcov), 1e-300))
    reach = np.sqrt(quadratic_forms(solve, along)) / error
    return estimate, last, spread, Moved(pooled.excess * reach, pooled.most * reach)


def _residual_variance(
    made: Round,
    score: Floats,
    away: Floats,
    stages: TwoStages,
    used: UsedRows,
    least: float,
) -> float:
    """From the mean square at the last anchor: less 2 m'g - m'm at a distance m, g the mean of u e.

    The noise of g, of which m = Q g is made, is taken off again.
    """
    mean_square = summary_of(made).mean_square
    assert mean_square is not None
    assert made.score is not None
    oblique, sd = stages.oblique, made.score.noise_sd
    noise = sd**2 * (2 * float(np.trace(oblique)) - float((oblique**2).sum()))
    at_fit = mean_square - 2 * float(away @ score) + float(away @ away) + noise
    k = stages.x.shape[1]
    floor, n = least / max(used.rows, 1.0), used.n
    return float(max(at_fit * n / max(used.rows * n - used.absorbed - k, 1.0), floor))


def _second_stage(
    rounds: LinearRounds,
    stages: TwoStages,
    last: FinalScore,
    spread: float,
    columns: PanelColumns,
    estimate: Estimate,
    used: UsedRows,
) -> SecondStage:
    ready, sd = rounds.ready, rounds.curvature.used_sd
    root, terms = ready.at.root, ready.design.terms
    exogenous = [j for j in columns.regressors if j not in columns.endogenous]
    w, extra = root[:, exogenous], root[:, list(columns.excluded)]
    each = estimate.n / rounds.session.n  # rows behind a term of the sums
    free = max(estimate.n - used.absorbed - stages.z.shape[1], 1.0)
    first = tuple(
        (terms[j], first_stage_test(root[:, j], w, extra, sd, free)) for j in columns.endogenous
    )
    weak = None
    if len(columns.endogenous) == 1:
        (j,) = columns.endogenous
        weak = anderson_rubin(
            last, root[:, j], w, extra, spread * each, sd, float(estimate.coef[0])
        )
    return SecondStage(first, overidentification(stages, last), weak)
