"""TukeyEM, one of `tests.benchmarks.competitors`: a deep point among many least-squares fits."""

import math
from typing import Literal

import numpy as np

from .plain_fits import Array


def tukey_em(
    x: Array,
    y: Array,
    epsilon: float,
    delta: float,
    models: int,
    rng: np.random.Generator,
    *,
    weight: Literal["reference", "replace-one"] = "reference",
) -> Array | None:
    """TukeyEM: a private point of high depth among many least-squares fits.

    Source: Amin, Joseph, Ribero and Vassilvitskii, "Easy Differentially Private Linear Regression"
    (2022; ICLR 2023). The rows are split at random into ``models`` groups and each is fitted by
    least squares. The depth of a point is the smallest over the coordinates of its
    one-dimensional Tukey depth, so points of depth at least ``h`` form a box. Half of
    ``epsilon`` goes to the test that the exponential mechanism restricted to depth at least
    ``models/4`` is stable (`distance_to_unsafety` plus Laplace noise of scale ``2/epsilon``,
    against ``log(1/(2 delta)) 2/epsilon``), half to that mechanism, which draws a point with
    density ``exp(c depth)``.

    One row touches one fit, so every depth moves by at most 1. ``c = epsilon/2`` in the authors'
    published program ("reference"); with replacement of one row as the unit, depths and the
    normaliser can move in opposite directions and ``c = epsilon/4`` is what the argument of Brown
    et al. (2021) covers ("replace-one"): "reference" then spends up to 1.5 epsilon, to the
    competitor's advantage. The probability of a release on an unstable data set is at most
    ``delta``, and on a stable one the mechanism's own delta is at most ``delta/2``.

    Parameters
    ----------
    models : int
        Number of groups; each has ``n // models`` rows, of which it needs at least ``d``. Rows
        that are left over after the random split are not used.

    Returns
    -------
    array or None
        None: the stability test failed and nothing is released.
    """
    n, d = x.shape
    size = n // models
    if size < d:
        raise ValueError(f"{models} groups of {size} rows: each needs at least {d}")
    if models < 8:
        raise ValueError("at least 8 groups are needed")
    order = rng.permutation(n)[: size * models]
    groups_x = x[order].reshape(models, size, d)
    groups_y = y[order].reshape(models, size, 1)
    fits = (np.linalg.pinv(groups_x) @ groups_y)[:, :, 0]
    return deep_point(fits, epsilon, delta, rng, weight=weight)


def deep_point(
    points: Array,
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
    *,
    weight: Literal["reference", "replace-one"] = "reference",
) -> Array | None:
    """The private part of `tukey_em` on points of shape (models, d)."""
    models = len(points)
    ordered = np.sort(points, axis=0)
    deepest = models // 2
    restriction = deepest // 2
    half = epsilon / 2
    lower, upper = ordered[:deepest], ordered[::-1][:deepest]
    with np.errstate(divide="ignore"):
        log_volume = np.sum(np.log(upper - lower), axis=1)
    if not np.all(np.isfinite(log_volume)):
        return None

    distance = distance_to_unsafety(log_volume, half, delta, restriction)
    if distance + rng.laplace(0.0, 1 / half) <= math.log(1 / (2 * delta)) / half:
        return None

    depths = np.arange(restriction, deepest + 1)
    volumes = np.append(log_volume[restriction - 1 :], -np.inf)
    with np.errstate(divide="ignore"):
        log_shell = volumes[:-1] + np.log(-np.expm1(volumes[1:] - volumes[:-1]))
    c = half if weight == "reference" else half / 2
    # The largest of independent Gumbel-shifted log weights is a draw from the weights.
    drawn = int(np.argmax(log_shell + c * depths + rng.gumbel(size=len(depths))))
    outer = depths[drawn] - 1
    if outer + 1 == deepest:
        point: Array = rng.uniform(lower[outer], upper[outer])
        return point
    return uniform_in_shell(lower[outer], upper[outer], lower[outer + 1], upper[outer + 1], rng)


def distance_to_unsafety(log_volume: Array, epsilon: float, delta: float, restriction: int) -> int:
    """Lower bound on the number of points to replace before the mechanism becomes unstable.

    With ``V_h`` the volume of depth at least ``h`` (``log_volume[h - 1]``) and ``t`` the
    restriction: the largest ``k`` for which some ``g > 0`` has
    ``V_{t-k-1} / V_{t+k+g+1} exp(-epsilon g / 2) <= delta / (8 exp(epsilon))``, and -1 if there is
    none. Replacing one point moves the boxes by one depth, so the number changes by at most 1; and
    within that distance the restricted mechanism is (epsilon, delta/2)-stable (Brown, Gaboardi,
    Smith, Ullman and Zakynthinou 2021, "Covariance-Aware Private Mean Estimation Without Private
    Covariance Estimation", as used by Amin et al.).
    """
    deepest = len(log_volume)
    threshold = math.log(delta / 8) - epsilon
    distance = -1
    for k in range(restriction - 1):
        inner = log_volume[restriction + k + 1 :]  # V_{t+k+g+1} for g = 1, 2, ...
        if restriction + k + 2 > deepest:
            break
        gaps = np.arange(1, len(inner) + 1)
        ratios = log_volume[restriction - k - 2] - inner - epsilon * gaps / 2
        if float(np.min(ratios)) > threshold:
            break
        distance = k
    return distance


def uniform_in_shell(
    outer_low: Array,
    outer_high: Array,
    inner_low: Array,
    inner_high: Array,
    rng: np.random.Generator,
) -> Array:
    """Uniform draw from a box without a smaller box inside it; all arrays have shape (d,).

    The shell is cut by the first coordinate that leaves the inner box: the coordinates before it
    are inside, it is in one of the two margins, those after it are anywhere in the outer box.
    """
    d = len(outer_low)
    inner, outer = inner_high - inner_low, outer_high - outer_low
    left, right = inner_low - outer_low, outer_high - inner_high
    share = inner / outer
    # Volumes of the pieces over the outer volume.
    pieces = np.append(1.0, np.cumprod(share)[:-1]) * (left + right) / outer
    first = int(rng.choice(d, p=pieces / np.sum(pieces)))
    point = rng.uniform(outer_low, outer_high)
    point[:first] = rng.uniform(inner_low[:first], inner_high[:first])
    offset = rng.uniform(0.0, left[first] + right[first])
    if offset < left[first]:
        point[first] = outer_low[first] + offset
    else:
        point[first] = inner_high[first] + offset - left[first]
    return point
