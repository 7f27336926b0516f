"""Ways of releasing a least-squares solution: `adaptive`, `tested` (by the optimal curve or the
paper's) and `adassp`.

Each takes an open `LeastSquaresSession`, makes its releases there and turns them into an `EptrFit`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from dpstats.accounting.privacy import ApproximatePrivacy, Privacy
from dpstats.arguments import in_prose
from dpstats.arrays import Floats
from dpstats.errors import ArgumentError
from dpstats.mechanism.noise import Noise
from dpstats.mechanism.passes import RowSource
from dpstats.mechanism.release import Release
from dpstats.models.eptr_linear.planning import eigenvalue_share
from dpstats.models.eptr_linear.public import Geometry, plain_estimate
from dpstats.models.eptr_linear.releases import (
    CutLimits,
    LeastSquaresSession,
    eigenvalue_levels,
    lower_eigenvalue,
    papers_eigenvalue,
)
from dpstats.models.linear.papers import adaptive_ridge
from dpstats.numerics.matrices import floored
from dpstats.propose_test.bounds import clipping_bias, decomposition, noise_radius
from dpstats.propose_test.call import NO_REPLY, SafetyTerms, plan_safety
from dpstats.propose_test.outcome import Outcome, target_diagnostics
from dpstats.propose_test.safety import SafetyTest
from dpstats.report.bound import Bound
from dpstats.report.released import Diagnostic
from dpstats.score_rounds.bounds import ReleasedSystem
from dpstats.score_rounds.estimate import (
    Estimate,
    in_user_units,
    matrix_noise_covariance,
    without_errors,
)

_PUBLIC_TARGET = 0.85  # of the smallest eigenvalue that public rows let expect
UNBOUNDED = (
    "The smallest eigenvalue of the design could not be distinguished from zero: the noise covers the "
    "ball of all coefficients. Ask for a larger budget, more rows or fewer columns."
)
_NO_VARIANCE = (
    "Standard errors are not given: the residual variance is not known without public rows."
)


@dataclass(frozen=True)
class EptrFit:
    """An estimate, and what is reported of it."""

    estimate: Estimate
    outcome: Outcome
    moments_released: bool = False
    system: ReleasedSystem | None = None
    cautions: tuple[str, ...] = ()
    left_out: bool = False

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        return self.outcome.diagnostics


def make_test(
    method: str, geometry: Geometry, n: int, d: int, terms: SafetyTerms, target: float | None
) -> SafetyTest | None:
    """The test of the smallest eigenvalue, for the methods that have one."""
    if method not in ("ptr", "paper"):
        return None
    limits = geometry.limits
    assert geometry.smallest is not None
    expected = geometry.smallest  # a declared target, in the coordinates of the rows
    if geometry.answer is not None:
        expected = _PUBLIC_TARGET * geometry.smallest if target is None else target
    goal = expected * n
    statistic = "smallest eigenvalue / n"
    if method == "paper":
        safety = papers_eigenvalue(goal, n, d, limits)
        return plan_safety(safety, terms, statistic, goal, unit=n)
    levels = eigenvalue_levels(goal, n, d, limits)
    if levels is None:
        raise ArgumentError(
            f"the target, a smallest eigenvalue of {in_prose(goal, 3)}, is below the influence of one "
            f"row, {in_prose(limits.radius**2, 3)}: give more rows, declare shorter ones, or "
            "raise target=."
        )
    advice = (
        f"One level is the influence of one row, {in_prose(levels.step, 3)}; the target is "
        f"{in_prose(goal, 3)}. More rows or a larger epsilon or delta help, and "
        "method='adaptive' always answers."
    )
    return plan_safety(levels, terms, statistic, goal, advice, n)


def at_once(
    method: str,
    geometry: Geometry,
    test: SafetyTest | None,
    rows: RowSource,
    total: Privacy | ApproximatePrivacy,
    noise: Noise,
    eta: float,
) -> tuple[EptrFit, LeastSquaresSession]:
    """A solution from public or declared cuts, by one reading of the rows."""
    back, whole = geometry.whitening.back, method == "paper"
    with LeastSquaresSession(
        rows, back, geometry.centre, geometry.limits, total, noise, whole=whole
    ) as session:
        if test is not None:
            return tested(session, geometry, test, eta), session
        return (adaptive if method == "adaptive" else adassp)(session, geometry, eta), session


def adaptive(session: LeastSquaresSession, geometry: Geometry, eta: float) -> EptrFit:
    """A solution with noise for a private lower bound of the smallest eigenvalue."""
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
    diagnostics = eigenvalue_lines(eigenvalue, certain, n)
    notes: tuple[str, ...] = (UNBOUNDED,) if certain <= 0 else ()
    sd = solution.noise_sd
    error = _error(geometry, d, n, sd / geometry.slope, likely, None, eta)
    estimate, more = _estimate(geometry, n, solution.value, sd, likely)
    return EptrFit(estimate, Outcome(True, error, diagnostics, notes + more))


def eigenvalue_lines(eigenvalue: Release, certain: float, n: int) -> tuple[Diagnostic, ...]:
    """The released eigenvalue, and the bound that the noise rests on."""
    return (
        Diagnostic(
            "smallest eigenvalue",
            float(eigenvalue.value[0]) / n,
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


def tested(
    session: LeastSquaresSession, geometry: Geometry, test: SafetyTest, eta: float
) -> EptrFit:
    """A solution if a test of the smallest eigenvalue passes; else the public fit, or zeros."""
    n, cuts = session.n, geometry.cuts
    tested = session.tested_solution(test)
    # a passed test does not show how far above its target the data are: public rows do
    likely = test.target if cuts is None else n * cuts.smallest
    value, sd = tested.release.value, test.plan.noise_sd
    d = len(value)
    if tested.passed:
        estimate, notes = _estimate(geometry, n, value, sd, likely)
    else:
        estimate, notes = _public_answer(geometry, n), ()
    outcome = Outcome.of_test(
        test,
        tested.passed,
        "The public fit is shown instead."
        if geometry.answer is not None
        else "Zeros are shown instead of coefficients.",
        _error(geometry, d, n, sd / geometry.slope, likely, NO_REPLY, eta),
        target_diagnostics(
            test.target / n, "smallest eigenvalue per row that was planned for", tested.passed
        ),
        notes,
    )
    return EptrFit(estimate, outcome)


def _public_answer(geometry: Geometry, n: int) -> Estimate:
    """The public fit, or zeros, in place of a solution that was not released."""
    root, d = geometry.whitening.root, len(geometry.centre)
    zeros = plain_estimate(
        geometry.centre, np.zeros((d, d)), math.nan, root.T @ root, geometry.whitening, n
    )
    return replace(geometry.answer or without_errors(zeros), n=n)


def _estimate(
    geometry: Geometry, n: int, value: Floats, sd: float, likely: float
) -> tuple[Estimate, tuple[str, ...]]:
    """The coefficients that a correction makes of the public ones, and notes on them.

    ``sd``: of the correction's noise; ``likely``: a bound on lambda_min for the reports.
    """
    d, slope, sigma, cuts = len(value), geometry.slope, geometry.sigma, geometry.cuts
    back, root = geometry.whitening.back, geometry.whitening.root
    notes: tuple[str, ...] = ()
    if geometry.answer is None:  # declared: the coefficients lie in the ball, whatever the noise
        size = float(np.linalg.norm(value))
        value = value * min(1.0, geometry.limits.coef / size) if size > 0 else value
    coef = geometry.centre + back @ (value / slope)
    privacy = (sd / slope) ** 2 * back @ back.T
    sampling = np.full((d, d), np.nan)
    if cuts is not None:
        # the public spread, widened where the private design turned out poorer than the public one
        poorer = max(1.0, n * cuts.smallest / likely) if likely > 0 else math.inf
        notes += _edge_note(value, sd, geometry.limits)
        if poorer <= 3:
            sampling = back @ (cuts.sampling / n * poorer * geometry.inflation) @ back.T
        else:
            notes += (
                "Standard errors are not given: the released smallest eigenvalue is far below "
                "the public one, so public rows do not give the spread of the estimates.",
            )
    elif sigma is not None and likely > 0:
        sampling = sigma**2 / likely * back @ back.T
    else:
        notes += (_NO_VARIANCE,)
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
    return estimate, notes


def few_rows_note(geometry: Geometry, d: int) -> tuple[str, ...]:
    """A note where public rows are too few for standard errors, or nearly."""
    if geometry.m is None or geometry.m >= 15 * d:
        return ()
    if geometry.few:
        return (
            f"Standard errors are not given: {geometry.m} public rows are too few for the spread "
            f"of {d} coefficients; give {15 * d} or more, or use dp_lm.",
        )
    return (
        f"{geometry.m} public rows are few for {d} columns: standard errors may be too small. Give "
        f"{15 * d} or more, or use dp_lm.",
    )


def _edge_note(value: Floats, sd: float, limits: CutLimits) -> tuple[str, ...]:
    """A note where the correction lies at the edge of the ball that public rows allow."""
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
    cuts, sigma = geometry.cuts, geometry.sigma
    norm = "l2" if cuts is None else "design (root mean square of x'b)"
    first: float | None = None
    bias: float | None = None
    if cuts is not None and likely > 0:
        first = float(np.trace(cuts.sampling)) / n * max(1.0, n * cuts.smallest / likely)
        bias = cuts.lost
    elif sigma is not None and likely > 0:
        first = sigma**2 * d / likely
    distance2 = None
    if geometry.answer is not None:
        distance2 = geometry.limits.coef**2 if cuts is not None else (2 * geometry.limits.coef) ** 2
    elif beta is not None:
        distance2 = geometry.limits.coef**2
    return (
        noise_radius(d, sd, eta, norm),
        *decomposition(norm, first, d, sd, distance2, beta),
        clipping_bias(bias, norm),
    )


def adassp(session: LeastSquaresSession, geometry: Geometry, eta: float) -> EptrFit:
    """Noisy moments and a ridge that covers the noise, once: Wang's AdaSSP with exact accounting."""
    n, whitening, cuts = session.n, geometry.whitening, geometry.cuts
    released = session.joint_moments(1.0)
    gram, gram_sd, cross_sd = released.gram, released.gram_sd, released.cross_sd
    d = len(released.cross)
    smallest, noise_norm, added = adaptive_ridge(gram, gram_sd, eta)
    slope = geometry.slope
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
    if added > 0:
        to = "the public fit" if cuts is not None else "zero"
        notes = (
            f"A ridge of {in_prose(added, 3)} was needed against the noise: the correction to {to} is "
            "shrunk, and standard errors are not given.",
        )
    elif geometry.sigma is None:
        notes = (_NO_VARIANCE,)
    if notes or geometry.few:
        estimate = without_errors(estimate)
    notes += few_rows_note(geometry, d)
    error = _error(
        geometry, d, n, cross_sd / slope / max(smallest, noise_norm), smallest * n, None, eta
    )
    diagnostics = (
        Diagnostic("smallest eigenvalue", smallest, gram_sd, "of the released mean second moment"),
        Diagnostic("ridge added", added, None, "to outweigh the noise"),
    )
    return EptrFit(estimate, Outcome(True, error[1:], diagnostics, notes), moments_released=True)
