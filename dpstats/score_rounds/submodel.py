"""What the released moments of a linear model still give for free: sub-models, tests, paths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dpstats.arguments import number, numbers, require_one_of, shown
from dpstats.arrays import Floats
from dpstats.errors import ArgumentError
from dpstats.score_rounds.estimate import Estimate, matrix_noise_covariance

_PENALTIES = ("ridge", "lasso", "elasticnet")


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
    the larger model's information.
    """
    d = len(estimate.coef)
    keep = np.asarray(kept)
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
    return replace(
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
) -> tuple[Floats, Floats]:
    """Coefficients along a decreasing penalty, by coordinate descent on the moments.

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
    size = np.sqrt(np.diag(estimate.moments))
    moments = estimate.moments / np.outer(size, size)
    cross = moments @ (estimate.coef * size)
    free = np.ones(len(size))
    if intercept is not None:
        free[intercept] = 0.0
    if not free.any():
        raise ArgumentError(
            "a path needs a column besides the intercept, which is not penalised: fit 'y ~ x1 + x2'."
        )
    found = _grid(moments, cross, free, mix) if lambdas is None else numbers(lambdas)
    grid = np.zeros(0) if found is None else np.atleast_1d(found)
    if grid.ndim > 1 or grid.size == 0 or not np.isfinite(grid).all() or (grid < 0).any():
        raise ArgumentError("lambdas must be finite numbers >= 0.")
    coef = np.zeros_like(size)
    rows = []
    for strength in grid:
        coef = _descend(moments, cross, strength * mix * free, strength * (1 - mix) * free, coef)
        rows.append(coef / size)
    return grid, np.array(rows)


def _grid(moments: Floats, cross: Floats, free: Floats, mix: float) -> Floats:
    """50 penalties from the smallest that empties the model (a ridge: nearly) downwards."""
    start = np.zeros_like(cross)
    if (free == 0).any():
        k = int(np.argmin(free))
        start[k] = cross[k] / moments[k, k]
    largest = float(np.abs((cross - moments @ start) * free).max()) / max(mix, 1e-3)
    grid: Floats = np.geomspace(largest, largest * 1e-4 * max(mix, 1e-3), 50)
    return grid


def _descend(
    moments: Floats, cross: Floats, absolute: Floats, square: Floats, coef: Floats
) -> Floats:
    coef = coef.copy()
    gradient = cross - moments @ coef
    for _ in range(10_000):
        largest = 0.0
        for j in range(len(coef)):
            old = coef[j]
            pull = gradient[j] + moments[j, j] * old
            new = np.sign(pull) * max(abs(pull) - absolute[j], 0.0) / (moments[j, j] + square[j])
            if new != old:
                gradient -= moments[:, j] * (new - old)
                coef[j] = new
                largest = max(largest, abs(new - old))
        if largest <= 1e-10 * max(1.0, float(np.abs(coef).max())):
            break
    return coef
