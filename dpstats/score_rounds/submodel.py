"""A fit of some of the columns, from the release of a fit of all of them alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dpstats.arrays import Floats
from dpstats.report.result import Coefficients
from dpstats.score_rounds.estimate import (
    Estimate,
    matrix_noise_covariance,
    with_covariances,
    without_errors,
)


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
