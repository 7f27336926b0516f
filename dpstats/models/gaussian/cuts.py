"""Where rows are cut, what that loses of a Gaussian, and how large noise is for it.

Rows are whitened; a released mean of lifted matrices w~w~', w~ = (b, w), has noise of sd s on the
diagonal and s/sqrt(2) off it, so that all coordinates of svec (off-diagonal entries times sqrt(2)) have
sd s; the mean, read off the first row, has sd s/(sqrt(2) b). D = d(d+1)/2. Nothing here reads private
data.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy

from dpstats.arrays import Floats

RATIOS = np.geomspace(0.02, 1.0, 12)
"""b^2/g^2 of the last round, to choose from."""
COARSE_RATIO = 0.25  # b^2/g^2 of a round before the last: mean and covariance cost 1.25 each
RIDGE = 0.2  # what is added to eigenvalues before inversion, in units of the noise's spectral norm
_RESOLVED = 6.0  # eigenvalue, in units of what is added, from which a direction is seen
_MEAN_WEIGHT = 4.0
LAST_SHARE = 0.8  # of the budget, that the last round is taken to have when its cut is chosen


@dataclass(frozen=True)
class NoiseLevel:
    """The privacy of a call, as far as noise depends on it; exactly one is given.

    Attributes
    ----------
    rho : float or None
        zCDP: Gaussian noise.
    epsilon : float or None
        Pure differential privacy: noise of uniform direction and gamma-distributed length.

    Examples
    --------
    >>> round(NoiseLevel(rho=0.5).second(30.0, 1.0, 10_000, 10), 6)
    0.004243
    """

    rho: float | None = None
    epsilon: float | None = None

    def __post_init__(self) -> None:
        if (self.rho is None) == (self.epsilon is None):
            raise ValueError("give either rho or epsilon")

    def second(self, size2: float, share: float, n: float, d: int, cells: int = 1) -> float:
        """Sd of the svec coordinates of a released mean of matrices w~w~'.

        Parameters
        ----------
        size2 : float
            Bound for |w~|^2, g^2 + b^2.
        share : float
            Of the budget.
        n : float
            Rows.
        cells : int
            Matrices in the same release; pure noise grows with their number, Gaussian does not.
        """
        return size2 * self._second_unit(n, d, cells) / math.pow(share, self.power)

    def coarse(self, share: float, n: float, d: int) -> float:
        """`second` of a round before the last, at a radius of 1."""
        return self.second(1 + COARSE_RATIO, share, n, d)

    def vector(self, size: float, share: float, n: float, d: int) -> float:
        """Sd per coordinate of a released mean of d-vectors cut to length ``size``."""
        if self.rho is not None:
            return 2 * size / (n * math.sqrt(2 * share * self.rho))
        assert self.epsilon is not None
        return 2 * size / (n * share * self.epsilon) * math.sqrt(d + 2)

    @property
    def power(self) -> float:
        """The sd is proportional to this negative power of the budget."""
        return 0.5 if self.rho is not None else 1.0

    def _second_unit(self, n: float, d: int, cells: int) -> float:
        if self.rho is not None:
            return 1 / (n * math.sqrt(self.rho))
        assert self.epsilon is not None
        coordinates = cells * (d + 1) * (d + 2) // 2
        return math.sqrt(2) / (n * self.epsilon) * math.sqrt(coordinates + 1)


@dataclass(frozen=True)
class FinalCut:
    """The radius and the lift of the last round.

    Attributes
    ----------
    size2 : float
        g^2: rows are cut to length g.
    lift2 : float
        b^2.
    """

    size2: float
    lift2: float

    @property
    def ratio(self) -> float:
        """b^2/g^2."""
        return self.lift2 / self.size2


@dataclass(frozen=True)
class Update:
    """Re-whitening from a released covariance S of the present coordinates.

    Attributes
    ----------
    released : (d, d) array
        S.
    left, right : (d, d) arrays
        (S+ + k)^-1/2 and its inverse: new rows are w left, and w = (new rows) right.
    k : float
        Added to the eigenvalues, those below 0 raised to 0 first.
    smallest : float
        Smallest eigenvalue of S.
    tau : float
        Estimated trace of the covariance of the new rows, between 1 and 2d.
    """

    released: Floats
    left: Floats
    right: Floats
    k: float
    smallest: float
    tau: float

    @property
    def resolved(self) -> bool:
        """Whether every direction stands out of the noise."""
        return self.smallest >= _RESOLVED * self.k

    @property
    def unstretched(self) -> tuple[int, Floats, Floats]:
        """How many directions noise hides, and ``left`` and ``right`` that leave these as they were.

        A direction in which few rows differ, as from two marks of which nearly every row has one, stays
        hidden however far it is stretched, since these rows are cut: they are only made longer.
        """
        values, vectors = np.linalg.eigh(self.released)
        hidden = values < max(self.smallest, _RESOLVED * self.k)
        root = np.where(hidden, 1.0, np.sqrt(np.maximum(values, self.k)))
        return int(hidden.sum()), (vectors / root) @ vectors.T, (vectors * root) @ vectors.T


def clipping_loss(g2: float | Floats, d: int) -> Floats:
    """Loss of the second moment of N(0, I_d), per direction, when rows are cut to length g.

    P(chi2_{d+2} > g^2) - (g^2/d) P(chi2_d > g^2), exactly.

    Examples
    --------
    >>> clipping_loss(np.array([0.0, 10.0, 100.0]), 10).round(4).tolist()
    [1.0, 0.1755, 0.0]
    """
    size = np.asarray(g2, dtype=float)
    loss = scipy.stats.chi2.sf(size, d + 2) - size / d * scipy.stats.chi2.sf(size, d)
    return np.asarray(np.clip(loss, 0.0, 1.0))


def final_objective(
    n: float, d: int, noise: NoiseLevel, share: float, cells: int
) -> tuple[Floats, Floats]:
    """Squared lengths to choose from, and the expected divergence for each, by lift ratio."""
    size2 = scipy.stats.chi2.isf(np.geomspace(min(0.1 / n, 0.05), 0.05, 25), d)
    unit = noise.second(1.0, share, n, d, cells)
    sd2 = (unit * size2[:, None] * (1 + RATIOS)) ** 2
    covariance = d * clipping_loss(size2, d)[:, None] ** 2 + sd2 * (d * (d + 1) / 2)
    return size2, covariance / 2 + _MEAN_WEIGHT * sd2 * d / (2 * RATIOS * size2[:, None])


@lru_cache(maxsize=256)
def choose_final_cut(n: float, d: int, noise: NoiseLevel) -> FinalCut:
    """Cut and lift of the last round, for rows that are N(0, I) by then.

    Minimises half the squared Frobenius error of the covariance (what cutting loses, and noise) and
    the squared error of the mean, the latter times four: twice the expected Kullback-Leibler divergence
    would leave the mean far noisier, for next to nothing that the covariance gains.

    Examples
    --------
    >>> cut = choose_final_cut(10_000, 10, NoiseLevel(rho=0.5))
    >>> 20 < cut.size2 < 40, 0.05 < cut.ratio < 0.5
    (True, True)
    """
    size2, total = final_objective(n, d, noise, LAST_SHARE, 1)
    i, j = np.unravel_index(int(np.argmin(total)), total.shape)
    return FinalCut(float(size2[i]), float(size2[i] * RATIOS[j]))


def longest(d: int, log_term: float) -> float:
    """Length that N(0, I) exceeds with probability exp(-log_term) at most (Laurent and Massart)."""
    return math.sqrt(d + 2 * math.sqrt(d * log_term) + 2 * log_term)


def length2(trace: Floats | float, d: int, log_term: float, most: float) -> Floats:
    """Bound for the squared length of rows whose covariance, at most I, has the given trace."""
    tau = np.asarray(trace, dtype=float)
    laurent_massart = tau + 2 * np.sqrt(tau * log_term) + 2 * log_term
    return np.asarray(np.minimum(laurent_massart, np.maximum(1.0, tau / d) * most))


def coarse_cut(tau: float, d: int) -> float:
    """g^2 of the next re-whitening round, which one row in a hundred exceeds; lifted by b = g/2.

    Parameters
    ----------
    tau : float
        Trace of the covariance of the rows, see `Update`.

    Examples
    --------
    >>> round(coarse_cut(10.0, 10), 2)
    23.21
    """
    return float(length2(tau, d, math.log(100), float(scipy.stats.chi2.isf(0.01, d))))


def final_cut(tau: float, d: int, n: float, cut: FinalCut) -> float:
    """g^2 of the last round after re-whitening: the planned one, or less where rows are shorter.

    Examples
    --------
    >>> round(final_cut(1.0, 10, 10_000, FinalCut(30.0, 5.0)), 2)
    25.49
    """
    return float(length2(tau, d, math.log(max(n, 2.0)), cut.size2))


@dataclass(frozen=True)
class WidenedCut:
    """The last radius, in view of the tails that a histogram shows.

    Attributes
    ----------
    radius : float
    lost : float
        Mean square of the rows' lengths beyond the radius that was surely seen, in units of the
        covariance: what cutting takes off it, in one direction at most.
    excess : float
        Fourth moment of the lengths beyond a Gaussian's, over that Gaussian's.
    loss : float
        What the cut takes off the second moment of a Gaussian, in each direction.
    """

    radius: float
    lost: float
    excess: float
    loss: float


def widened_cut(
    radius: float, d: int, n: float, unit: float, above: Callable[[Floats], Floats], scale2: float
) -> WidenedCut:
    """A larger cut where, by released counts, the planned one loses more than noise would.

    Minimises noise^2 + lost^2, noise growing with the square of the radius, lost being what a
    Gaussian would not lose.

    Parameters
    ----------
    radius : float
        Planned, for N(0, I).
    unit : float
        Sd of svec coordinates for a cut at 1.
    above : callable
        Released counts of rows longer than each of some lengths, as far as they are sure.
    scale2 : float
        Variance of the Gaussian that the plan takes the rows for, in each direction.

    Examples
    --------
    >>> widened_cut(5.0, 10, 1e4, 1e-4, lambda r: 0 * r, 1.0).radius
    5.0
    """
    grid = radius * 2.0 ** (np.arange(33) / 4)
    size2 = grid**2 / scale2
    beyond = np.maximum(above(grid) / n - scipy.stats.chi2.sf(size2, d), 0.0)[:-1]
    ring = np.append(beyond * np.diff(size2), 0.0)
    lost = np.cumsum(ring[::-1])[::-1]
    noise2 = (unit * size2) ** 2 * (d * (d + 1) / 2)
    best = int(np.argmin(noise2[:17] + lost[:17] ** 2))
    fourth = float((beyond * np.diff(size2**2)).sum())
    loss = float(clipping_loss(size2[best], d))
    return WidenedCut(float(grid[best]), float(lost[best]), fourth / (d * (d + 2)), loss)


def whitening_update(released: Floats, s: float) -> Update:
    """Coordinates for the next round, from a released covariance whose svec coordinates have sd s.

    The trace of the new covariance, tr(Lambda h(S)) with h(x) = 1/(max(x, 0) + k), is estimated without
    bias by tr(S h(S)) - s^2 div h (Stein): the noise in S also makes h(S) smaller where S is too large.

    Examples
    --------
    >>> update = whitening_update(np.diag([4.0, 1.0]), 1e-9)
    >>> np.allclose(update.left, np.diag([0.5, 1.0])), round(update.tau, 4)
    (True, 2.0)
    """
    values, vectors = np.linalg.eigh((released + released.T) / 2)
    d = values.size
    size = float(np.max(np.abs(values)))
    k = max(RIDGE * s * math.sqrt(2 * d), 1e-12 * size) or 1.0
    positive = np.maximum(values, 0.0)
    raised = positive + k
    # divided differences of h, on the diagonal its derivative
    gap = values[:, None] - values
    near = np.abs(gap) <= 1e-12 * size
    slope = np.where(
        near, values[:, None] > 0, (positive[:, None] - positive) / np.where(near, 1.0, gap)
    )
    divergence = -float(np.sum(np.triu(slope / np.outer(raised, raised))))
    tau = float(np.sum(values / raised)) - s**2 * divergence
    root = np.sqrt(raised)
    return Update(
        released=(released + released.T) / 2,
        left=(vectors / root) @ vectors.T,
        right=(vectors * root) @ vectors.T,
        k=k,
        smallest=float(values[0]),
        tau=min(max(tau, 1.0), 2.0 * d),
    )
