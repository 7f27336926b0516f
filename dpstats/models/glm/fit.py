"""Private Newton steps from a public anchor: how a generalised linear fit spends its total.

`anchored` takes an open `FamilySession` over the private rows, makes its releases there, and turns them
into a `GlmFit` by pure functions of arrays. Radii, clips, shares, steps and stopping
depend on public and on released numbers only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dpstats.arrays import Floats
from dpstats.mechanism.session import RowSummary, clamp_to_safe_range
from dpstats.models.glm.estimate import (
    GlmStep,
    ReleasedInformation,
    StepRange,
    expected_loss,
    near_enough,
    pool_information,
    trusted_step,
)
from dpstats.models.glm.family import Family
from dpstats.models.glm.planning import (
    GlmPlan,
    RoundShares,
    choose_information_radius,
    coarse_enough,
    plan_glm_rounds,
)
from dpstats.models.glm.public import StartingPoint, released_null
from dpstats.models.glm.releases import FamilySession, Window
from dpstats.numerics.histogram import LogHistogram
from dpstats.numerics.matrices import Curvature
from dpstats.report.diagnostics import as_share, row_diagnostics
from dpstats.report.released import Diagnostic
from dpstats.score_rounds.bounds import ReleasedSystem, released_system
from dpstats.score_rounds.cuts import (
    BOUNDED,
    ERRORS,
    SKEWED,
    Clip,
    choose_clip,
    choose_square_clip,
)
from dpstats.score_rounds.estimate import (
    Estimate,
    filled_share,
    in_user_units,
    matrix_noise_covariance,
    pool_steps,
    residual_variance,
    without_errors,
)
from dpstats.score_rounds.notes import average_condition, matrix_notes, ridge_note

_WIDE: Window = (-64, 160)


@dataclass(frozen=True)
class GlmFit:
    """What a method hands over: released and computed numbers, no rows.

    Attributes
    ----------
    dispersion_source : str
        "fixed", "private" or "public rows".
    pearson, pearson_sd : float or None
        Released Pearson dispersion and its noise.
    steps : int
        Private Newton steps.
    """

    estimate: Estimate
    system: ReleasedSystem | None
    dispersion_source: str
    pearson: float | None
    pearson_sd: float | None
    steps: int
    diagnostics: tuple[Diagnostic, ...]
    notes: tuple[str, ...] = ()


def anchored(
    session: FamilySession,
    family: Family,
    start: StartingPoint,
    ridge: float,
    iterations: int | None,
    terms: Sequence[str],
) -> GlmFit:
    """Private Newton steps from a public anchor.

    Each round measures the lengths of information rows and of scores at the present anchor, releases
    the mean cut score and the mean information there, and takes a Newton step on the information pooled
    over the rounds, damped where the step would leave the region in which a quadratic is believed. A
    round is the last when, by released scales, it leaves next to nothing behind; it takes what is left
    of the total, and shares it with the mean squared Pearson residual and the shares of cut and of
    empty rows.
    """
    n, d, mu = session.n, len(terms), session.total.mu
    back, root = start.whitening.back, start.whitening.root
    coef, spent = start.coef, start.spent
    if _needs_level(start, family, terms):
        spent += 0.03
        coef = released_null(session, family, 0.03, d, terms.index("Intercept"))
    plan = plan_glm_rounds(iterations, spent, not family.binary or family.dispersed)
    scoring = 0.0 if family.canonical else 4 * math.sqrt(d / n)
    price = plan.far if coarse_enough(n, d, mu, plan.far) else plan.near
    guesses: tuple[float | None, float | None] = start.information, start.score
    made: list[GlmStep] = []
    seen: list[ReleasedInformation] = []
    rest: RowSummary | None = None
    lines: list[Diagnostic] = []
    carried = root @ start.coef  # the rows carry its linear predictor
    anchor = root @ coef
    penalty = ridge * back.T @ back
    while True:
        done = _is_last(plan, session.left, price, made, start.reach, n)
        windows = _window(guesses[0]), _window(guesses[1])
        lengths_share = plan.near.lengths if done else price.lengths
        histograms = session.length_histograms(lengths_share, anchor - carried, windows)
        guesses = lengths = _scale(histograms[0], guesses[0]), _scale(histograms[1], guesses[1])
        cost = _costs(plan, session.left, price, done)
        level = abs(float(np.trace(seen[-1].matrix))) / d if seen else start.level
        costs = tuple(mu * math.sqrt(share) for share in cost)
        cuts = _cuts(family, start, histograms, lengths, back @ anchor, level, costs, n)
        clip, at = cuts.clip, anchor - carried
        if done:
            information, score, rest = session.final_round(
                cost, at, cuts.radius, clip.score, cuts.pearson
            )
        else:
            information, score = session.round(cost[:2], at, cuts.radius, clip.score)
        seen.append(ReleasedInformation(information.value, information.noise_sd))
        curvature = pool_information(seen, start.level, start.known)
        step = trusted_step(
            curvature,
            penalty,
            anchor,
            score.value,
            score.noise_sd,
            clip.slope,
            start.reach,
            scoring,
        )
        made.append(step)
        lines.append(_step_line(len(made), step, curvature, n))
        if rest is not None:
            return _finished(family, start, ridge, curvature, made, clip, rest, lines, n)
        anchor = anchor + step.step.move
        moved = 0.3 * start.reach.typical(step.step.move)
        seen = [replace(s, drift=math.hypot(s.drift, moved)) for s in seen]
        price = plan.far if step.far else plan.near


@dataclass(frozen=True)
class _Cuts:
    """Where a round cuts: information rows, scores, Pearson residuals."""

    radius: float
    clip: Clip
    pearson: float


def _cuts(
    family: Family,
    start: StartingPoint,
    histograms: tuple[LogHistogram, LogHistogram],
    lengths: tuple[float, float],
    coef: Floats,
    level: float,
    costs: tuple[float, ...],
    n: int,
) -> _Cuts:
    """Cuts of a round at ``coef`` from the scales just released and from public rows.

    ``costs`` are the mu of information, score, squares and counts; ``level`` is the mean eigenvalue of
    the information, by which scores are longer than Pearson residuals.
    """
    d = len(coef)
    radius = choose_information_radius(lengths[0], histograms[0].count_above, n, d, costs[0])
    tails = BOUNDED if family.binary else SKEWED if family.skewed else ERRORS
    loss = None
    if start.rows is None:  # what is cut may all belong to one coefficient, say of a rare level
        tails = replace(tails, skew=max(tails.skew, math.sqrt(d) / 2))
    else:
        loss = expected_loss(family, start.rows, start.whitening, coef)
    above, seen = histograms[1].count_above, histograms[1].seen_above
    clip = choose_clip(lengths[1], above, n, d, costs[1], tails, seen, loss)
    residual = replace(clip, unit=clip.unit / math.sqrt(max(level, 1e-300)))
    return _Cuts(radius, clip, choose_square_clip(residual, n, max(costs[2:])))


def _needs_level(start: StartingPoint, family: Family, terms: Sequence[str]) -> bool:
    """Nothing is known of the size of responses whose mean is the exponential of the predictor."""
    return family.link == "log" and not start.coef.any() and "Intercept" in terms


def _step_line(k: int, step: GlmStep, curvature: Curvature, n: int) -> Diagnostic:
    move = step.step.move
    d = len(move)
    inverse = np.linalg.inv(curvature.used)
    return Diagnostic(
        f"step {k}",
        math.sqrt(float(move @ curvature.used @ move) * n / d),
        step.step.noise_sd * math.sqrt(n * float(np.trace(inverse)) / d),
        "length and noise of the Newton step, in standard errors per coefficient"
        + (" (damped)" if step.damped else ""),
    )


def _scale(histogram: LogHistogram, guess: float | None) -> float:
    return clamp_to_safe_range(histogram.quantile(0.9) or guess or histogram.peak())


def _window(guess: float | None) -> Window:
    return _WIDE if guess is None else (math.frexp(guess)[1] - 24, 48)


def _is_last(
    plan: GlmPlan,
    left: float,
    price: RoundShares,
    made: list[GlmStep],
    reach: StepRange,
    n: int,
) -> bool:
    """Whether this round is the last: from the plan and from released numbers only."""
    if len(made) + 1 >= plan.most_rounds or left - price.total - plan.near.lengths < plan.keep:
        return True
    if len(made) + 1 < plan.least_rounds:
        return False
    share = (left - plan.near.lengths) * (1 - plan.last_information)
    noise_sd = made[-1].step.noise_sd * math.sqrt(price.score / share)
    return near_enough(made[-1], reach, noise_sd, n)


def _costs(
    plan: GlmPlan, left: float, price: RoundShares, done: bool
) -> tuple[float, float, float, float]:
    """Shares of a round: information, score, squares, counts."""
    if not done:
        return price.information, price.score, 0.0, 0.0
    rest = plan.last_information + plan.squares + plan.counts
    return (
        left * plan.last_information,
        left * (1 - rest),
        left * plan.squares,
        left * plan.counts,
    )


def _finished(
    family: Family,
    start: StartingPoint,
    ridge: float,
    curvature: Curvature,
    made: list[GlmStep],
    clip: Clip,
    rest: RowSummary,
    lines: list[Diagnostic],
    n: int,
) -> GlmFit:
    """Coefficients, covariances and diagnostics from what was released.

    The last round is averaged, by inverse variance, with those of the others that had arrived.
    """
    back = start.whitening.back
    d = len(back)
    penalty = ridge * back.T @ back
    pooled = pool_steps([m.step for m in made[:-1] if m.arrived] + [made[-1].step])
    hessian = curvature.used + penalty
    inverse = np.linalg.inv(hessian)
    noise = pooled.noise_sd**2 * np.eye(d)
    noise = noise + matrix_noise_covariance(pooled.move, curvature.used_sd)
    rest_of_way = made[-1].remainder * hessian @ made[-1].step.move
    noise = noise + np.outer(rest_of_way, rest_of_way)
    filled = filled_share(rest.empty_share, rest.share_sd)
    pearson = None
    if rest.mean_square is not None:
        pearson = residual_variance(
            rest.mean_square,
            filled,
            curvature.used,
            pooled.coef - made[-1].step.anchor,
            inverse @ noise @ inverse,
            n,
            floor=1e-3 * rest.mean_square_sd,
        )
    dispersion = pearson if family.dispersed and pearson is not None else 1.0
    unit = math.sqrt(dispersion)  # lines so far are in standard errors at unit dispersion
    lines = [
        replace(line, value=line.value / unit, noise_sd=line.noise_sd / unit)
        for line in lines
        if line.value is not None and line.noise_sd is not None
    ]
    estimate = in_user_units(
        pooled.coef,
        hessian,
        curvature.used,
        noise,
        dispersion,
        clip.efficiency / clip.slope**2,
        start.whitening,
        curvature.used_sd,
        n,
        ridge,
        filled,
    )
    if not curvature.resolved:
        estimate = without_errors(estimate)
    last = made[-1].step
    system = None
    if not made[-1].damped:  # the bounds are of full Newton steps
        system = released_system(curvature, penalty, last.move, last.noise_sd, back)
    diagnostics = (
        *row_diagnostics(
            (rest.cut_share, rest.share_sd),
            (rest.empty_share, rest.share_sd),
            "share whose score or information was cut in the last round",
            "share that is missing, or has an unknown level or an impossible response",
        ),
        condition_line(curvature.released),
        *lines,
    )
    pearson_sd = None if pearson is None else rest.mean_square_sd
    return GlmFit(
        estimate,
        system,
        "private" if family.dispersed else "fixed",
        pearson,
        pearson_sd,
        len(made),
        diagnostics,
        _warnings(curvature, made[-1], ridge)
        + _unused_note(rest)
        + (_tail_note(clip, rest.cut_share, n) if curvature.resolved else ())
        + _overdispersed(family, pearson, pearson_sd),
    )


def condition_line(released: Floats) -> Diagnostic:
    """Average condition number of the information."""
    found = average_condition(released)
    return Diagnostic("condition", found, None, "average, of the released information")


def _unused_note(rest: RowSummary) -> tuple[str, ...]:
    """Said when a tenth of the rows or more surely does not count."""
    if rest.empty_share - 3 * rest.share_sd < 0.1:
        return ()
    return (
        f"About {100 * rest.empty_share:.2g}% of the private rows are not used: missing values, levels "
        "that the public data do not know, or responses that the family does not know.",
    )


def _warnings(curvature: Curvature, last: GlmStep, ridge: float) -> tuple[str, ...]:
    resolved = curvature.resolved
    notes = matrix_notes("information", "is", curvature.positive_definite, resolved)
    if last.damped or (resolved and last.bend > 2 * last.noise):
        notes += (
            "The fit has not settled: the last Newton step was long, as when a column separates the "
            "responses, a level is very rare, or public columns are in other units than the private "
            "ones. Standard errors hold what such a step may leave. A ridge, more public rows with "
            "responses, or a larger budget help.",
        )
    return notes + ridge_note(ridge)


def _tail_note(clip: Clip, cut: float, n: int) -> tuple[str, ...]:
    """Said when scores were seen beyond the cut that could move a coordinate by its standard error."""
    if clip.lost < 1 / math.sqrt(n):
        return ()
    return (
        f"Scores have a long tail: about {100 * as_share(cut):.2g}% of the rows were "
        "truncated, which moves the estimates. Columns with a long tail should be transformed "
        "(logarithm, square root, groups).",
    )


def _overdispersed(family: Family, pearson: float | None, sd: float | None) -> tuple[str, ...]:
    if family.dispersed or pearson is None or sd is None or pearson - 3 * sd < 1.2:
        return ()
    other = (
        "family='quasipoisson'" if family.name == "poisson" else "a quasi family or another alpha"
    )
    return (
        f"The Pearson dispersion is about {pearson:.2g}, but standard errors take it to be 1 and are "
        f"too small: use {other}.",
    )
