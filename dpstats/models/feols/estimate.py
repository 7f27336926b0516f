"""Two-stage least squares, and fits without their effects, from released moments and scores.

Notation: u is a row of all columns (regressors, endogenous ones among them, and excluded instruments),
turned so that its second moments are the identity. Column j of the user's is R_j'u. With X the
regressors' R_j and Z the instruments', P the projection on the span of Z, two-stage least squares is

    b = (X'P X)^-1 X'P c,    c the mean of u y,

and a Newton step from any anchor has the mean score g = mean of u (y - x'b) in place of c. So one
release of the mean of u e, and of its outer products, serves least squares and instruments alike.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from dpstats.arrays import Floats
from dpstats.numerics.matrices import symmetric
from dpstats.score_rounds.estimate import Estimate, matrix_noise_covariance


@dataclass(frozen=True)
class TwoStages:
    """The geometry of instruments.

    Attributes
    ----------
    x, z : arrays
        Regressors and instruments, columns as the module's docstring has them.
    """

    x: Floats
    z: Floats

    @property
    def solve(self) -> Floats:
        """(X'P X)^-1 X'P, which makes coefficients of scores."""
        return np.asarray(np.linalg.pinv(self.first_stage))

    @property
    def apart(self) -> bool:
        """Whether the released moments tell all columns apart, and what instruments say of them."""
        columns = self.z.shape[1]
        ranks = np.linalg.matrix_rank(self.z), np.linalg.matrix_rank(self.first_stage)
        return ranks == (columns, self.x.shape[1])

    @property
    def oblique(self) -> Floats:
        """The oblique projection in coordinates of u: X (X'P X)^-1 X'P."""
        return self.x @ self.solve

    @property
    def first_stage(self) -> Floats:
        """P X."""
        basis = np.linalg.qr(self.z).Q
        return np.asarray(basis @ (basis.T @ self.x))


def noise_of_weights(stages: TwoStages, left: Floats, matrix_sd: float) -> Floats:
    """Covariance of what the noise G of the second moments does to coefficients by way of weights.

    With K = I + G in place of the identity the moments X'K Z (Z'K Z)^-1 Z'g of the estimate differ, to
    first order, by X'(I - P) G m: m = P g are the moments that instruments have ``left`` there, as far
    as they disagree. It is nothing for regressors that are instruments themselves, for which (I - P) x
    is zero, and where instruments agree.

    Examples
    --------
    >>> x, z = np.array([[1.0], [0.0], [1.0]]), np.eye(3)[:, :2]
    >>> noise_of_weights(TwoStages(x, z), np.array([0.0, 0.5, 0.0]), 0.1).round(5).tolist()
    [[0.00125]]
    >>> noise_of_weights(TwoStages(x, z), np.zeros(3), 0.1).tolist()
    [[0.0]]
    """
    first = stages.first_stage
    basis = np.linalg.qr(stages.z).Q
    m = basis @ (basis.T @ left)
    apart = (stages.x - first) @ np.linalg.pinv(first.T @ first)
    return np.asarray(apart.T @ matrix_noise_covariance(m, matrix_sd) @ apart)


@dataclass(frozen=True)
class FinalScore:
    """What the rounds know of u e at the estimate.

    Attributes
    ----------
    mean : (D,) array
        Of u e.
    sampling, noise : (D, D) arrays
        The two parts of its covariance.
    """

    mean: Floats
    sampling: Floats
    noise: Floats


@dataclass(frozen=True)
class InstrumentTest:
    """A test statistic with its degrees of freedom and p-value."""

    value: float
    df: int
    p_value: float


def chi2_test(value: float, df: int) -> InstrumentTest:
    """Against the law of a sum of ``df`` squares."""
    return InstrumentTest(value, df, float(special.chdtrc(df, value)))


def overidentification(stages: TwoStages, last: FinalScore) -> InstrumentTest | None:
    """Hansen's J: whether instruments agree; None where there are none to spare.

    At the estimate the moments of the instruments are (I - Q) g, Q = `TwoStages.oblique`; their
    covariance, sampling and noise, has the rank of the instruments to spare.
    """
    spare = stages.z.shape[1] - stages.x.shape[1]
    if spare <= 0:
        return None
    basis = np.linalg.qr(stages.z).Q
    left = basis.T @ (np.eye(len(basis)) - stages.oblique)
    values, vectors = np.linalg.eigh(left @ (last.sampling + last.noise) @ left.T)
    along = vectors[:, -spare:].T @ (basis.T @ last.mean)
    return chi2_test(float((along**2 / values[-spare:]).sum()), spare)


def first_stage_test(
    endogenous: Floats, exogenous: Floats, excluded: Floats, matrix_sd: float, n: float
) -> InstrumentTest:
    """F of the excluded instruments in the first stage, for errors of constant variance.

    Their coefficients are uncertain by sampling, v (Z'Z)^-1 / n with v the residual variance, and by the
    noise of the released moments, which acts on the residual direction. F is the Wald statistic for
    both, over the number of instruments.
    """
    left = _apart(exogenous, excluded)
    inverse = np.linalg.inv(left.T @ left)
    coef = inverse @ left.T @ endogenous
    residual = _apart(np.column_stack([exogenous, excluded]), endogenous[:, None])[:, 0]
    spread = float(residual @ residual)
    noise = inverse @ left.T @ matrix_noise_covariance(residual, matrix_sd) @ left @ inverse
    total = spread / n * inverse + noise
    wald = float(coef @ np.linalg.solve(total, coef))
    q = left.shape[1]
    return InstrumentTest(wald / q, q, float(special.chdtrc(q, wald)))


def _apart(basis: Floats, columns: Floats) -> Floats:
    """Columns less their projection on a basis."""
    if not basis.shape[1]:
        return columns
    q = np.linalg.qr(basis).Q
    return np.asarray(columns - q @ (q.T @ columns))


@dataclass(frozen=True)
class AndersonRubin:
    """What the Anderson-Rubin set of one endogenous coefficient is computed from.

    With the exogenous regressors projected out, the moments of the excluded instruments at the
    coefficient b are m - (b - b0) a, b0 the estimate; their covariance is that at b0 times the residual
    variance at b over that at b0 (so much is taken for granted of errors whose variance is not
    constant), plus the noise. All in coordinates in which u has the identity as second moments.

    Attributes
    ----------
    estimate : float
    moment, slope : (q,) arrays
        m and a.
    sampling, noise, matrix_noise : (q, q) arrays
        The last is multiplied by (b - b0)^2.
    spread, mixed, square : float
        Residual variance at b is spread - 2 (b - b0) mixed + (b - b0)^2 square.
    """

    estimate: float
    moment: Floats
    slope: Floats
    sampling: Floats
    noise: Floats
    matrix_noise: Floats
    spread: float
    mixed: float
    square: float

    def statistic(self, coefficient: float) -> float:
        """Chi-squared with q degrees of freedom if the coefficient is the true one."""
        away = coefficient - self.estimate
        spread = self.spread - 2 * away * self.mixed + away**2 * self.square
        share = max(spread, 1e-6 * self.spread) / self.spread
        covariance = share * self.sampling + self.noise + away**2 * self.matrix_noise
        moment = self.moment - away * self.slope
        return float(moment @ np.linalg.solve(covariance, moment))

    def intervals(self, level: float, unit: float) -> list[tuple[float, float]]:
        """Where the statistic is below its quantile; ends may be infinite. ``unit``: an error of b."""
        limit = float(special.chdtri(len(self.moment), 1 - level))
        steps = np.concatenate([np.linspace(0, 12, 1201), np.geomspace(12.1, 1e4, 600)])
        grid = self.estimate + unit * np.concatenate([-steps[:0:-1], steps])
        inside = np.array([self.statistic(float(b)) <= limit for b in grid])
        edges = np.flatnonzero(np.diff(np.concatenate([[False], inside, [False]]).astype(int)))
        found = []
        for first, after in edges.reshape(-1, 2):
            low = -math.inf if first == 0 else self._root(grid[first - 1], grid[first], limit)
            last = after - 1
            end = len(grid) - 1
            high = math.inf if last == end else self._root(grid[after], grid[last], limit)
            found.append((low, high))
        return found

    def _root(self, outside: float, inside: float, limit: float) -> float:
        for _ in range(60):
            middle = (outside + inside) / 2
            if self.statistic(middle) <= limit:
                inside = middle
            else:
                outside = middle
        return inside


def anderson_rubin(
    last: FinalScore,
    endogenous: Floats,
    exogenous: Floats,
    excluded: Floats,
    spread: float,
    matrix_sd: float,
    estimate: float,
) -> AndersonRubin:
    """For one endogenous regressor; columns as `TwoStages` has them, ``spread`` as u e is summed."""
    left = _apart(exogenous, excluded)
    alone = _apart(exogenous, endogenous[:, None])[:, 0]
    projector = _apart(exogenous, np.eye(len(alone)))
    # scores of the exogenous columns are projected out with these columns
    direction = projector @ left
    return AndersonRubin(
        estimate,
        direction.T @ last.mean,
        left.T @ alone,
        direction.T @ last.sampling @ direction,
        direction.T @ last.noise @ direction,
        direction.T @ matrix_noise_covariance(alone, matrix_sd) @ direction,
        spread,
        float(alone @ last.mean),
        float(alone @ alone),
    )


def without_effects(estimate: Estimate, shown: Sequence[int], effects: Sequence[int]) -> Estimate:
    """The estimate of some columns; others are projected out of its moments.

    By Frisch, Waugh and Lovell the moments of what is left of the shown columns are those of the fit
    without the others, whose covariances are blocks of the whole.
    """
    at, out = np.asarray(shown, dtype=int), np.asarray(effects, dtype=int)
    moments, root = estimate.moments, estimate.root[:, at]
    kept = moments[np.ix_(at, at)]
    if len(out):
        project = np.linalg.solve(moments[np.ix_(out, out)], moments[np.ix_(out, at)])
        kept = kept - moments[np.ix_(at, out)] @ project
        root = root - estimate.root[:, out] @ project
    block = np.ix_(at, at)
    classical = estimate.classical
    return replace(
        estimate,
        coef=estimate.coef[at],
        sampling=estimate.sampling[block],
        privacy=estimate.privacy[block],
        moments=symmetric(kept),
        root=root,
        classical=None if classical is None else classical[block],
    )
