"""Two ways of spending a total on a linear fit in a single round: the papers', and declared limits."""

from __future__ import annotations

import math

import numpy as np

from dpstats.arguments import in_prose
from dpstats.arrays import Floats
from dpstats.errors import PublicDataError
from dpstats.frame import Design, PublicMoments
from dpstats.models.linear.estimate import (
    DeclaredBounds,
    LinearFit,
    condition_lines,
    matrix_warnings,
)
from dpstats.models.linear.releases import LinearSession
from dpstats.numerics.matrices import Whitening, floored
from dpstats.report.diagnostics import UNCOUNTED
from dpstats.report.released import Diagnostic
from dpstats.score_rounds.bounds import ReleasedSystem
from dpstats.score_rounds.estimate import (
    filled_share,
    in_user_units,
    matrix_noise_covariance,
    moments_least_squares,
    papers_solution,
    without_errors,
)


def require_response(moments: PublicMoments) -> None:
    """Raise unless the papers' algorithm has the public response that it needs."""
    if moments.cross is None or not moments.yy:
        raise PublicDataError(
            "method='pmt' scales the response by its public second moment: give public rows with "
            "the response, or public_moments of the two-sided formula; method='anchored' can do "
            "without."
        )


def pmt(
    session: LinearSession, moments: PublicMoments, whitening: Whitening, ridge: float, eta: float
) -> LinearFit:
    """Algorithm 2 of the ridge paper (ridge = 0: Algorithm 3 of the OLS paper), to the letter.

    Half of the total's mu^2 goes to each of the two mechanisms. Nothing else is released, so the
    residual variance that the standard errors need is that of the public rows.
    """
    require_response(moments)
    assert moments.cross is not None
    assert moments.yy is not None
    n, d = session.n, len(moments.terms)
    log_factor = 1 + math.log(2 * n / eta)
    unit = math.sqrt(moments.yy)
    released = session.gram(0.5, math.sqrt(d * log_factor), papers=True)
    cross = session.cross(session.left, unit * math.sqrt(log_factor))
    back = whitening.back
    penalty = ridge * back.T @ back
    coef = np.linalg.solve(released.value + penalty, cross.value)
    sigma2 = None
    if moments.m is not None:
        _, sigma2 = moments_least_squares(moments.gram, moments.cross, moments.yy, moments.m, back)
    usable = floored(released.value, released.noise_sd / 2)
    filled = _filled_by_constant(usable, whitening, released.noise_sd, moments.design)
    estimate, system, positive, resolved = papers_solution(
        coef, coef, released, cross, penalty, sigma2, whitening, n, ridge, filled
    )
    diagnostics = condition_lines(moments.gram, released.value)
    notes = (
        "Standard errors take the residual variance from the public rows: the papers' algorithm "
        "releases none. It truncates rows and responses without saying how many.",
    )
    return LinearFit(
        estimate,
        system,
        "public rows",
        diagnostics,
        notes + matrix_warnings(positive, resolved, ridge),
    )


def ssp(
    session: LinearSession, design: Design, width: DeclaredBounds, ridge: float, eta: float
) -> LinearFit:
    """Noisy sufficient statistics of rows cut to declared limits, with AdaSSP's adaptive ridge.

    One symmetric Gaussian mechanism releases the joint second moments of (z, y R/B): z = x/width
    cut with y to length sqrt(2) R.
    """
    n, d, radius = session.n, len(width.columns), width.radius
    released = session.gram(1.0, math.sqrt(2) * radius, what="joint moments of design and response")
    ratio = radius / width.response
    gram, cross = released.value[:d, :d], released.value[:d, d] / ratio
    square = float(released.value[d, d]) / ratio**2
    back = np.diag(1 / width.columns)
    sd = released.noise_sd
    smallest, noise_norm, added = adaptive_ridge(gram, sd, eta)
    penalty = ridge * back.T @ back + added * np.eye(d)
    hessian: Floats = gram + penalty
    hessian = floored(hessian, noise_norm / 4)
    coef = np.linalg.solve(hessian, cross)
    noise_covariance = (sd / math.sqrt(2) / ratio) ** 2 * np.eye(d)
    noise_covariance = noise_covariance + matrix_noise_covariance(coef, sd)
    at_fit = square - 2 * float(coef @ cross) + float(coef @ gram @ coef)
    floor = 1e-6 * width.response**2
    whitening = Whitening(back, np.diag(width.columns))
    positive = floored(gram, sd / 2)
    filled = _filled_by_constant(gram, whitening, sd, design)
    sigma2 = max(at_fit * n / max(filled * n - d, 1), floor)
    estimate = in_user_units(
        coef, hessian, positive, noise_covariance, sigma2, 1.0, whitening, sd, n, ridge, filled
    )
    system = ReleasedSystem(
        gram, hessian - penalty, sd, True, penalty, coef, sd / math.sqrt(2) / ratio, back
    )
    diagnostics = (
        Diagnostic("ridge added", added, None, "in units of the limits, to outweigh the noise"),
        Diagnostic("smallest eigenvalue", smallest, sd, "of the released moments, in those units"),
        UNCOUNTED,
    )
    notes: tuple[str, ...] = ()
    if added > 0:  # the bias of the shrinkage is of the order of the coefficients: no honest error
        estimate = without_errors(estimate)
        notes = (
            f"A ridge of {in_prose(added, 3)} (in units of the limits) was needed against the noise: "
            "estimates are shrunk towards zero and standard errors are not given. More rows, a larger "
            "budget, narrower limits, columns and a response measured from the middle of their "
            "limits, such as I(x - 5) for (0, 10), or a public sample help.",
        )
    return LinearFit(
        estimate, system, "private", diagnostics, notes + matrix_warnings(smallest > 0, True, ridge)
    )


def adaptive_ridge(gram: Floats, sd: float, eta: float) -> tuple[float, float, float]:
    """Smallest eigenvalue of released moments, spectral norm of their noise, and AdaSSP's ridge.

    It covers the noise as far as the eigenvalue, read off the release itself, does not (Wang 2018).
    """
    smallest = float(np.linalg.eigvalsh(gram)[0])
    noise_norm = sd * (math.sqrt(2 * len(gram)) + math.sqrt(2 * math.log(4 / eta)))
    sure = max(smallest - sd * math.sqrt(2 * math.log(1 / eta)), 0.0)
    return smallest, noise_norm, max(0.0, noise_norm - sure)


def _filled_by_constant(moments: Floats, whitening: Whitening, sd: float, design: Design) -> float:
    """Share of rows that are not empty, read off the mean square of the constant where there is one."""
    if design.constant is None or design.weights is not None:
        return 1.0
    constant = whitening.root[:, design.constant]
    share = float(constant @ moments @ constant)
    return filled_share(1.0 - share, sd * float(constant @ constant))
