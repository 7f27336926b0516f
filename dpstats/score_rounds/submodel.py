"""What the released moments of a linear model still give for free: sub-models, tests, paths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dpstats.arguments import number, numbers, require_one_of, shown
from dpstats.arrays import Floats
from dpstats.errors import ArgumentError
from dpstats.report.result import Coefficients
from dpstats.score_rounds.estimate import (
    Estimate,
    matrix_noise_covariance,
    with_covariances,
    without_errors,
)

_PENALTIES = ("ridge", "lasso", "elasticnet")
_SWEEPS, _EXACT = 10_000, 1e-9
"""Sweeps over the coordinates at most, and by how much of the penalty a slope may exceed it."""


def restrict(
    estimate: Estimate, kept: Sequence[int], fixed_dispersion: bool = False, alike: float = 1.0
) -> Estimate:
    """The least-squares fit on some of the columns, from the moments and coefficients of all.

    With H the second moments (plus ridge) and c = H b the cross moments that b stands for, the
    restricted fit is b_r = H_rr^-1 c_r = P b, so that the error of b passes through P = H_rr^-1 H_r.;
    the noise of the moments acts on what the restriction moves: H_rr^-1 [root' E root (b - (b_r, 0))]_r.
    The residual variance grows by the quadratic form of the move, unless the family fixes it; with it
    grow errors of constant variance. Of the sandwich, the outer products of scores were those of the
    larger model: what is left out is now an error too, as large as it is by chance, or ``alike`` times,
    where the columns are large that stay. For a generalised linear model this is one Newton step, at
    the larger model's information. Errors that are not known of columns that stay are theirs alone, and
    columns that were left out are known to be zero.
    """
    d = len(estimate.coef)
    keep = np.asarray(kept)
    lost = np.isnan(np.diag(estimate.sampling))
    nothing = Coefficients((), estimate.coef, estimate.sampling, estimate.privacy).left_out
    nothing[keep] |= lost[keep]
    estimate = with_covariances(estimate, nothing, 0.0)
    hessian = estimate.moments + estimate.ridge * np.eye(d)
    inner = np.linalg.inv(hessian[np.ix_(keep, keep)])
    project = inner @ hessian[keep]
    coef = project @ estimate.coef
    moved = estimate.coef.copy()
    moved[keep] -= coef
    spread = matrix_noise_covariance(estimate.root @ moved, estimate.moments_sd)
    spread = estimate.root.T @ spread @ estimate.root
    privacy = project @ estimate.privacy @ project.T + inner @ spread[np.ix_(keep, keep)] @ inner
    dispersion, sampling = estimate.dispersion, project @ estimate.sampling @ project.T
    classical = None if estimate.classical is None else project @ estimate.classical @ project.T
    limits = estimate.dispersion_range
    if dispersion is not None and dispersion > 0 and not fixed_dispersion:
        n, more = estimate.n, max(float(moved @ estimate.moments @ moved), 0.0)

        def with_move(variance: float) -> float:
            return (variance * max(n - d, 1) + n * more) / max(n - len(keep), 1)

        grown = with_move(dispersion)
        limits = None if limits is None else (with_move(limits[0]), with_move(limits[1]))
        if estimate.errors == "iid":
            sampling = sampling * (grown / dispersion)
        else:
            sampling = sampling * (max(n - d, 1) / max(n - len(keep), 1)) + alike * more / n * inner
        classical = None if classical is None else classical * (grown / dispersion)
        dispersion = grown
    found = replace(
        estimate,
        coef=coef,
        sampling=sampling,
        privacy=privacy,
        dispersion=dispersion,
        moments=estimate.moments[np.ix_(keep, keep)],
        root=_root_of(estimate.root, keep),
        classical=classical,
        dispersion_range=limits,
    )
    return without_errors(found, lost[keep])


def _root_of(root: Floats, keep: np.ndarray) -> Floats:
    """A root of the kept block of S = root' root: what the covariance of moment noise needs.

    Cov(root' E root v) = sd^2/2 ((v'Sv) S + S v v' S) depends on S alone, and for a v within the kept
    columns its kept block on the kept block of S.
    """
    return np.linalg.qr(root[:, keep]).R


def penalised_path(
    estimate: Estimate,
    intercept: int | None,
    penalty: str,
    lambdas: Sequence[float] | None,
    alpha: float,
    left_out: NDArray[np.bool_] | None = None,
) -> tuple[Floats, Floats]:
    """Coefficients along a decreasing penalty, from the moments; those of columns left out are zero.

    The intercept has no penalty: it is taken out of the moments of the others, which are scaled by what
    is left, so that it does not matter where a column has its zero.

    Returns
    -------
    lambdas : (k,) array
    coef : (k, d) array
    """
    require_one_of("penalty", penalty, _PENALTIES)
    mix = {"ridge": 0.0, "lasso": 1.0}.get(penalty, number(alpha))
    if mix is None or not 0 <= mix <= 1:
        raise ArgumentError(
            f"alpha must lie between 0 and 1, such as alpha=0.5, not {shown(alpha)}."
        )
    free = np.ones(len(estimate.coef), dtype=np.bool_) if left_out is None else ~left_out
    at = np.array([j for j in np.flatnonzero(free) if j != intercept], dtype=np.intp)
    if not len(at):
        raise ArgumentError(
            "a path needs a column besides the intercept, which is not penalised: fit 'y ~ x1 + x2'."
        )
    moments, constant = estimate.moments[np.ix_(at, at)], np.zeros(len(at))
    if intercept is not None:
        constant = estimate.moments[intercept, at] / estimate.moments[intercept, intercept]
        moments = moments - np.outer(constant, estimate.moments[intercept, at])
    size = np.sqrt(np.diag(moments))
    moments = moments / np.outer(size, size)
    cross = moments @ (estimate.coef[at] * size)
    found = _grid(cross, mix) if lambdas is None else numbers(lambdas)
    grid = np.zeros(0) if found is None else np.atleast_1d(found)
    if grid.ndim > 1 or grid.size == 0 or not np.isfinite(grid).all() or (grid < 0).any():
        raise ArgumentError("lambdas must be finite numbers >= 0.")
    coef: Floats = np.zeros((len(grid), len(estimate.coef)))
    scaled: Floats = np.zeros(len(at))
    for row, strength in zip(coef, grid, strict=True):
        scaled = _penalised(moments, cross, strength * mix, strength * (1 - mix), scaled)
        row[at] = scaled / size
    if intercept is not None:
        coef[:, intercept] = estimate.coef[intercept] + (estimate.coef[at] - coef[:, at]) @ constant
    return grid, coef


def _grid(cross: Floats, mix: float) -> Floats:
    """50 penalties from the smallest that empties the model (a ridge: nearly) downwards."""
    largest = float(np.abs(cross).max()) / max(mix, 1e-3)
    grid: Floats = np.geomspace(largest, largest * 1e-4 * max(mix, 1e-3), 50)
    return grid


def _penalised(
    moments: Floats, cross: Floats, absolute: float, square: float, coef: Floats
) -> Floats:
    """The minimum of b'Mb/2 - c'b + absolute |b|_1 + square |b|^2/2, from coefficients near by.

    Coordinates descend in turn; once they have found which coefficients are zero and the signs of the
    others, these follow from linear equations.
    """
    whole = moments + square * np.eye(len(cross))
    coef = coef.copy()
    for _ in range(_SWEEPS):
        signs = np.sign(coef) if absolute > 0 else np.ones_like(coef)
        used = np.flatnonzero(signs)
        exact = np.zeros_like(coef)
        exact[used] = np.linalg.lstsq(
            whole[np.ix_(used, used)], cross[used] - absolute * signs[used], rcond=None
        )[0]
        left = cross - whole @ exact
        if absolute == 0 or (
            (np.sign(exact) == signs).all()
            and (np.abs(left[signs == 0]) <= absolute * (1 + _EXACT)).all()
        ):
            return exact
        gradient = cross - whole @ coef
        for j in range(len(coef)):
            pull = gradient[j] + whole[j, j] * coef[j]
            new = np.sign(pull) * max(abs(pull) - absolute, 0.0) / whole[j, j]
            gradient -= whole[:, j] * (new - coef[j])
            coef[j] = new
    return coef
