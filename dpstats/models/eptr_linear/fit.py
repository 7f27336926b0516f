"""Ways of releasing a least-squares solution: `adaptive`, `tested` (by the optimal curve or the
paper's) and `adassp`.

Each takes an open `LeastSquaresSession`, makes its releases there and turns them into an `EptrFit`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from dpstats.arrays import Floats
from dpstats.errors import ArgumentError
from dpstats.models.eptr_linear.planning import eigenvalue_share
from dpstats.models.eptr_linear.public import Geometry, plain_estimate
from dpstats.models.eptr_linear.releases import (
    CutLimits,
    EigenvalueLevels,
    LeastSquaresSession,
    diameter_with_floats,
    lower_eigenvalue,
)
from dpstats.numerics.matrices import floored
from dpstats.propose_test.bounds import (
    clipping_bias,
    no_reply_error,
    noise_error,
    noise_radius,
    sampling_error,
    unanswered,
)
from dpstats.propose_test.call import NO_REPLY, Spend, plan_test
from dpstats.propose_test.paper import PapersPlan, papers_plan
from dpstats.propose_test.plan import ReleasePlan
from dpstats.report.answers import Answers
from dpstats.report.bound import Bound
from dpstats.report.released import Diagnostic
from dpstats.score_rounds.estimate import (
    Estimate,
    in_user_units,
    matrix_noise_covariance,
    without_errors,
)

_PUBLIC_TARGET = 0.85  # of the smallest eigenvalue that public rows let expect


@dataclass(frozen=True)
class EptrFit:
    """What a method hands over: released and computed numbers, no rows."""

    estimate: Estimate
    released: bool
    error: tuple[Bound, ...]
    diagnostics: tuple[Diagnostic, ...]
    notes: tuple[str, ...]
    answers: Answers | None = None
    moments_released: bool = False
    system: None = None


@dataclass(frozen=True)
class TestPlan:
    """A test: probabilities and noise, and what they rest on."""

    release: ReleasePlan
    levels: EigenvalueLevels | None
    target: float
    sensitivity: float


def make_test(
    method: str,
    geometry: Geometry,
    n: int,
    d: int,
    spend: Spend,
    calibration: str,
    allow_unproved: bool,
    target: float | None,
) -> TestPlan | None:
    """Public: the plan of a test, made before any private value is read."""
    if method not in ("ptr", "paper"):
        return None
    limits = geometry.limits
    assert geometry.smallest is not None
    expected = geometry.smallest  # a declared target, in the coordinates of the rows
    if geometry.answer is not None:
        expected = _PUBLIC_TARGET * geometry.smallest if target is None else target
    wanted = expected * n
    if method == "paper":
        # theirs is the larger one wherever the response is cut to B = R C
        papers = 4 * limits.radius**2 * limits.coef
        sensitivity = max(papers, diameter_with_floats(n, d, limits)) / wanted
        return TestPlan(
            papers_plan(sensitivity, spend.epsilon, spend.delta, allow_unproved=allow_unproved),
            None,
            wanted,
            sensitivity,
        )
    levels = EigenvalueLevels.below(wanted, n, d, limits)
    if levels is None:
        raise ArgumentError(
            f"the target, a smallest eigenvalue of {wanted:.3g}, is below the influence of one row, "
            f"{limits.radius**2:.3g}: give more rows, declare shorter ones, or raise target=."
        )
    release = plan_test(
        levels.levels,
        levels.target,
        spend,
        calibration,
        f"One level is the influence of one row, {levels.step:.3g}; the target is {wanted:.3g}. More "
        "rows, a larger epsilon or delta help, and method='adaptive' always answers.",
    )
    return TestPlan(release, levels, wanted, float(levels.levels.same[levels.target]))


def adaptive(session: LeastSquaresSession, geometry: Geometry, eta: float) -> EptrFit:
    n, limits = session.n, geometry.limits
    slack = session.total.slack
    z = -float(special.ndtri(slack))
    if geometry.smallest is None:
        share = 0.15
    else:
        count = n * geometry.smallest / limits.radius**2
        share = eigenvalue_share(z, count, session.total.mu)
    eigenvalue = session.smallest_eigenvalue(share)
    solution = session.bounded_solution(session.left, eigenvalue)
    value = float(eigenvalue.value[0])
    d = len(geometry.centre)
    certain = lower_eigenvalue(value, eigenvalue, slack, n, d, limits.radius)
    likely = value - 1.96 * eigenvalue.noise_sd
    diagnostics = (
        Diagnostic(
            "smallest eigenvalue",
            value / n,
            eigenvalue.noise_sd / n,
            "of the mean second moment of the cut rows",
        ),
        Diagnostic(
            "bound used",
            max(certain, 0.0) / n,
            None,
            "a private lower bound; the noise is the sensitivity over it",
        ),
    )
    notes: tuple[str, ...] = ()
    if certain <= 0:
        notes = (
            "The smallest eigenvalue of the design could not be told from zero: the noise covers the "
            "whole ball of coefficients. Ask for a larger budget, more rows or fewer columns.",
        )
    return _solved(
        session,
        geometry,
        solution.value,
        solution.noise_sd,
        likely,
        True,
        None,
        eta,
        diagnostics,
        notes,
    )


def tested(session: LeastSquaresSession, geometry: Geometry, plan: TestPlan, eta: float) -> EptrFit:
    n = session.n
    release = plan.release
    if isinstance(release, PapersPlan):
        tested = session.papers_solution(release, plan.target, plan.sensitivity)
        answers = Answers.of(
            release,
            "smallest eigenvalue / n",
            lambda g: (plan.target + 2 * geometry.limits.radius**2 * (1 + g)) / n,
        )
    else:
        assert plan.levels is not None
        levels = plan.levels
        tested = session.tested_solution(release, levels)
        answers = Answers.of(
            release, "smallest eigenvalue / n", lambda k: (levels.first + (k - 1) * levels.step) / n
        )
    # a test says nothing of how far above its target the data are: public rows do
    cuts = geometry.cuts
    likely = plan.target if cuts is None else n * cuts.smallest
    diagnostics = (
        Diagnostic(
            "target", plan.target / n, None, "smallest eigenvalue per row that was planned for"
        ),
        Diagnostic("answered", float(tested.passed), None, "1 if the test passed"),
    )
    return _solved(
        session,
        geometry,
        tested.release.value,
        release.noise_sd,
        likely,
        tested.passed,
        NO_REPLY,
        eta,
        diagnostics,
        (),
        answers,
    )


def _solved(
    session: LeastSquaresSession,
    geometry: Geometry,
    value: Floats,
    sd: float,
    likely: float,
    passed: bool,
    beta: float | None,
    eta: float,
    diagnostics: tuple[Diagnostic, ...],
    notes: tuple[str, ...],
    answers: Answers | None = None,
) -> EptrFit:
    """From a released correction to the fit; ``likely`` is a bound on lambda_min for the reports."""
    n, d = session.n, len(value)
    back, root, cuts = geometry.whitening.back, geometry.whitening.root, geometry.cuts
    slope = 1.0 if cuts is None else cuts.slope
    sigma = geometry.sigma
    error = _error(geometry, d, n, sd / slope, likely, beta, eta)
    if not passed:
        said = "NO REPLY: the test did not pass, or its coin said no. " + (
            "The public fit stands in."
            if geometry.answer is not None
            else "Zeros stand in for the coefficients."
        )
        answer = geometry.answer or without_errors(
            plain_estimate(
                geometry.centre, np.zeros((d, d)), math.nan, root.T @ root, geometry.whitening, n
            )
        )
        answer = replace(answer, n=n)
        return EptrFit(answer, False, unanswered(error), diagnostics, (said, *notes), answers)
    if geometry.answer is None:  # declared: the coefficients lie in the ball, whatever the noise
        size = float(np.linalg.norm(value))
        value = value * min(1.0, geometry.limits.coef / size) if size > 0 else value
    coef = geometry.centre + back @ (value / slope)
    privacy = (sd / slope) ** 2 * back @ back.T
    if cuts is not None:
        # the public spread, widened where the private design turned out poorer than the public one
        poorer = max(1.0, n * cuts.smallest / likely) if likely > 0 else math.inf
        sampling = cuts.sampling / n * (poorer if math.isfinite(poorer) else 1.0)
        sampling = sampling * geometry.inflation
        sampling = back @ sampling @ back.T
        notes += _edge_note(value, sd, geometry.limits)
        if not math.isfinite(poorer) or poorer > 3:
            sampling = np.full_like(sampling, np.nan)
            notes += (
                "Standard errors are not given: the released smallest eigenvalue is far below the "
                "public one, so that public rows do not tell the spread of the estimates.",
            )
    elif sigma is not None and likely > 0:
        sampling = sigma**2 / likely * back @ back.T
    else:
        sampling = np.full((d, d), np.nan)
        notes += (
            "Standard errors are not given: without public rows nothing tells the residual variance.",
        )
    estimate = Estimate(
        coef,
        sampling,
        privacy,
        None if sigma is None else sigma**2,
        root.T @ root,
        root,
        math.nan,
        n,
        0.0,
    )
    if np.isnan(sampling).any() or geometry.few:
        estimate = without_errors(estimate)
    notes += few_rows_note(geometry, d)
    known = geometry.answer
    if known is not None and (np.diag(privacy) > np.diag(known.sampling)).any():
        notes += (
            "The privacy noise is larger than the sampling error of the public rows: the public fit "
            "alone is better. Ask for a larger budget, or more private rows.",
        )
    return EptrFit(estimate, True, error, diagnostics, notes, answers)


def few_rows_note(geometry: Geometry, d: int) -> tuple[str, ...]:
    """Said when public rows are too few for standard errors, or nearly."""
    if geometry.m is None or geometry.m >= 15 * d:
        return ()
    if geometry.few:
        return (
            f"Standard errors are not given: {geometry.m} public rows are too few to tell the spread "
            f"of {d} coefficients; give {15 * d} or more, or use dp_lm.",
        )
    return (
        f"{geometry.m} public rows are few for {d} columns: standard errors may be too small. Give "
        f"{15 * d} or more, or use dp_lm.",
    )


def _edge_note(value: Floats, sd: float, limits: CutLimits) -> tuple[str, ...]:
    """Said when the correction lies at the edge of the ball that public rows allow."""
    length = math.sqrt(max(float(value @ value) - len(value) * sd**2, 0.0))
    if length < 0.95 * limits.coef:
        return ()
    return (
        "The private coefficients lie at the edge of what the public rows allow (three of their "
        "standard errors): public and private rows differ. dp_lm has no such edge.",
    )


def _error(
    geometry: Geometry, d: int, n: int, sd: float, likely: float, beta: float | None, eta: float
) -> tuple[Bound, ...]:
    """Theorem 2.3's three parts in the geometry of the (whitened) design."""
    cuts = geometry.cuts
    norm = "l2" if geometry.cuts is None else "design (root mean square of x'b)"
    if cuts is not None and likely > 0:
        poorer = max(1.0, n * cuts.smallest / likely)
        first: float | None = float(np.trace(cuts.sampling)) / n * poorer
        bias: float | None = cuts.lost
    else:
        known = geometry.sigma is not None and likely > 0
        first = geometry.sigma**2 * d / likely if known and geometry.sigma is not None else None
        bias = None
    answer = None
    if geometry.answer is not None:
        answer = geometry.limits.coef**2 if cuts is not None else (2 * geometry.limits.coef) ** 2
    elif beta is not None:
        answer = geometry.limits.coef**2
    return (
        noise_radius(d, sd, eta, norm),
        sampling_error(first, norm),
        noise_error(d, sd, norm),
        no_reply_error(answer, beta, norm),
        clipping_bias(bias, norm),
    )


def adassp(session: LeastSquaresSession, geometry: Geometry, eta: float) -> EptrFit:
    """Noisy moments and a ridge that covers the noise, once: Wang's AdaSSP with exact accounting."""
    n, whitening, cuts = session.n, geometry.whitening, geometry.cuts
    released = session.joint_moments(1.0)
    gram, gram_sd, cross_sd = released.gram, released.gram_sd, released.cross_sd
    d = len(released.cross)
    smallest = float(np.linalg.eigvalsh(gram)[0])
    noise_norm = gram_sd * (math.sqrt(2 * d) + math.sqrt(2 * math.log(4 / eta)))
    sure = max(smallest - gram_sd * math.sqrt(2 * math.log(1 / eta)), 0.0)
    added = max(0.0, noise_norm - sure)
    slope = 1.0 if cuts is None else cuts.slope
    hessian = floored(gram + added * np.eye(d), noise_norm / 4)
    move = np.linalg.solve(hessian, released.cross) / slope
    noise_covariance = (cross_sd / slope) ** 2 * np.eye(d) + matrix_noise_covariance(move, gram_sd)
    estimate = in_user_units(
        move,
        hessian,
        floored(gram, gram_sd / 2),
        noise_covariance,
        None if geometry.sigma is None else geometry.sigma**2,
        geometry.inflation / slope,
        whitening,
        gram_sd,
        n,
        0.0,
    )
    estimate = replace(estimate, coef=geometry.centre + estimate.coef)
    notes: tuple[str, ...] = ()
    if added > 0 or geometry.sigma is None:
        estimate = without_errors(estimate)
        notes = (
            (
                f"A ridge of {added:.3g} was needed against the noise: the correction to "
                + ("the public fit" if cuts is not None else "zero")
                + " is shrunk, and standard errors are not given."
            )
            if added > 0
            else "Standard errors are not given: without public rows nothing tells the residual "
            "variance.",
        )
    if geometry.few:
        estimate = without_errors(estimate)
    notes += few_rows_note(geometry, d)
    error = _error(
        geometry, d, n, cross_sd / slope / max(smallest, noise_norm), smallest * n, None, eta
    )
    diagnostics = (
        Diagnostic("smallest eigenvalue", smallest, gram_sd, "of the released mean second moment"),
        Diagnostic("ridge added", added, None, "to outweigh the noise"),
    )
    return EptrFit(estimate, True, error[1:], diagnostics, notes, None, moments_released=True)
