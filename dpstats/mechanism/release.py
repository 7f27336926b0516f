"""Additive mechanisms on integers: vectors, counts and symmetric matrices.

Every release of the package goes through `release_vector`, `release_symmetric` or `release_counts`:
Gaussian noise for a `Privacy`, noise whose density falls with the length of the vector for a
`PurePrivacy` (`ball`), and Laplace noise for its counts. The totals that come in are integers
(sums on a fixed grid, see `lattice`), so that neither the sum nor the addition of the noise rounds: what
the proof says of real numbers holds for the floats that leave.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpstats.accounting.privacy import Cost, Privacy, PurePrivacy, Total
from dpstats.arrays import Floats
from dpstats.mechanism.noise import SMALLEST_SD, Noise


@dataclass(frozen=True)
class Release:
    """One private number, vector or matrix, with what an auditor asks about it.

    Attributes
    ----------
    what : str
        What was released, in words.
    value : ndarray
        The noised value, in the unit of the statistic.
    sensitivity : float
        Largest l2 change when one row is replaced (for a symmetric matrix: Frobenius norm).
    noise_sd : float
        Standard deviation of the noise per coordinate; for a symmetric matrix on the diagonal.
    cost : Privacy, PurePrivacy or ApproximatePrivacy
        The cost of this release alone.
    step : float
        Spacing of the grid on which the value lies.
    """

    what: str
    value: Floats
    sensitivity: float
    noise_sd: float
    cost: Total
    step: float


def _noise_scale(
    sensitivity: float, privacy: Privacy, smallest: float = SMALLEST_SD
) -> tuple[float, Privacy]:
    """Noise in grid steps and the cost it stands for: never below ``smallest`` steps.

    A budget so large that it would need less noise than the lattice statement allows (see
    `noise`) is simply not used up.
    """
    # NaN fails both comparisons: it must not pass for small noise
    if not (sensitivity >= 0 and privacy.mu > 0):
        raise ValueError("a sensitivity is a number >= 0, and mu is one > 0")
    sd = sensitivity / privacy.mu * (1 + 1e-12)
    if sd >= smallest:
        return sd, privacy
    return smallest, Privacy(sensitivity / smallest)


def _to_float(total: NDArray[np.object_], unit: float) -> Floats:
    """Exact integers to floats: after the noise, each by itself, hence post-processing.

    Nothing but Python's integers comes here. A float among totals or noise would make a float of the
    sum, and its last bits would tell what the proofs say of integers cannot be told; numpy's integers
    end at 64 bits.
    """
    if total.dtype != object or set(map(type, total.ravel().tolist())) - {int}:
        raise TypeError("noise is added to Python's integers, and is made of them")
    return np.asarray(total.astype(np.float64) * unit)


def release_vector(
    what: str,
    total: NDArray[np.object_],
    sensitivity: float,
    unit: float,
    privacy: Cost,
    noise: Noise,
    wider: NDArray[np.bool_] | None = None,
) -> Release:
    """Add the same noise to every coordinate of an integer vector.

    Parameters
    ----------
    total : object array of int
        Exact sum over the rows.
    sensitivity : float
        Largest l2 change of ``total`` (in integers) when one row is replaced; the caller proves it.
    unit : float
        What one integer step is worth in the released value.
    wider : array of bool, optional
        Coordinates whose noise is sqrt(2) times as large; the sensitivity is then that of the vector
        in which these are divided by sqrt(2).

    Notes
    -----
    sd = sensitivity / mu makes the release mu-GDP and mu^2/2-zCDP (see `noise`).
    """
    if isinstance(privacy, PurePrivacy):
        if wider is not None:
            raise ValueError("spherical noise is alike in all coordinates")
        ball, sd = noise.spherical(sensitivity, np.ones(total.size), privacy.at)
        value = _to_float(total + ball.reshape(total.shape), unit)
        return Release(what, value, sensitivity * unit, sd * unit, privacy, unit)
    sd, cost = _noise_scale(sensitivity, privacy)
    drawn = noise.integers(sd, total.size).astype(object).reshape(total.shape)
    if wider is not None:
        drawn[wider] = noise.integers(math.sqrt(2) * sd, int(wider.sum())).astype(object)
    value = _to_float(total + drawn, unit)
    return Release(what, value, sensitivity * unit, sd * unit, cost, unit)


def release_counts(
    what: str,
    total: NDArray[np.object_],
    sensitivity: float,
    unit: float,
    privacy: PurePrivacy,
    noise: Noise,
) -> Release:
    """Add discrete Laplace noise to counts: epsilon-DP, whatever their number.

    Parameters
    ----------
    sensitivity : float
        Largest l1 change of ``total`` when one row is replaced.

    Notes
    -----
    Masses proportional to exp(-|k| epsilon / sensitivity) per count: the ratio for two totals is at
    most exp(epsilon) by the triangle inequality.
    """
    scale = sensitivity / privacy.at * (1 + 1e-12)
    drawn = noise.laplace(scale, total.size).astype(object).reshape(total.shape)
    value = _to_float(total + drawn, unit)
    sd = math.sqrt(2) * scale  # up to the lattice: the discrete law's is a little less
    return Release(what, value, sensitivity * unit, sd * unit, privacy, unit)


def release_symmetric(
    what: str,
    total: NDArray[np.object_],
    sensitivity: float,
    unit: float,
    privacy: Cost,
    noise: Noise,
    *,
    isometric: bool = True,
) -> Release:
    """Add symmetric noise to an integer symmetric matrix, or to several of them.

    Parameters
    ----------
    total : object array of int, (d, d) or (k, d, d)
    sensitivity : float
        Largest *Frobenius* change of ``total`` as a whole when one row is replaced.
    isometric : bool
        True: noise sd on the diagonal and sd/sqrt(2) off it. False: sd everywhere in the upper
        triangle, the noise of the papers.

    Notes
    -----
    Write D for the change of the matrix. With sd s on the diagonal and s/sqrt(2) off it the cost is
    sum_i D_ii^2 / (2 s^2) + sum_{i<j} D_ij^2 / s^2 = |D|_F^2 / (2 s^2): the same as a vector of norm
    |D|_F (the isometry svec(M) = (M_ii, sqrt(2) M_ij)). With s everywhere the second sum is halved,
    so the cost is at most the same: the papers' noise is more than enough.
    """
    d, k = total.shape[-1], math.prod(total.shape[:-2])
    rows, columns = np.triu_indices(d, 1)
    between = math.sqrt(2) if isometric else 1.0
    cost: Cost = privacy
    if isinstance(privacy, PurePrivacy):
        weights = np.repeat([2.0, 1.0], [k * len(rows), k * d])
        both, sd = noise.spherical(sensitivity, weights, privacy.at)
        off, on = both[: k * len(rows)], both[k * len(rows) :]
    else:
        sd, cost = _noise_scale(sensitivity, privacy, between * SMALLEST_SD)
        off = noise.integers(sd / between, k * len(rows)).astype(object)
        on = noise.integers(sd, k * d).astype(object)
    drawn = np.zeros((k, d, d), dtype=object)
    drawn[:, rows, columns] = drawn[:, columns, rows] = off.reshape(k, -1)
    drawn[:, range(d), range(d)] = on.reshape(k, d)
    value = _to_float(total + drawn.reshape(total.shape), unit)
    if (total != np.swapaxes(total, -1, -2)).any():
        raise ValueError("what a total lacks of symmetry would have no noise")
    return Release(what, value, sensitivity * unit, sd * unit, cost, unit)
