"""Data of the Gaussian and mixture benchmarks: simulations with known parameters."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .eptr_settings import streams
from .settings import Array

Labels = NDArray[np.int64]
PublicRows = Literal["few", "many", "fewest", "fewer"]

BETA = 0.05
SMALLEST_SHARE = 0.5
"""The smallest weight of a mixture is at least this over k."""


# A setting as the package wants it ----------------------------------------------------------------


def names(d: int) -> list[str]:
    """Columns x1, ..., xd."""
    return [f"x{j + 1}" for j in range(d)]


def frame(x: Array) -> pd.DataFrame:
    """Rows as a table with columns x1, x2, ..."""
    return pd.DataFrame(x, columns=names(x.shape[1]))


# One Gaussian -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Gaussian:
    """One normal law, and how far the public rows' law is from it.

    Attributes
    ----------
    d, n, m : int
        Dimension, private rows, public rows.
    cond : float
        Condition number: eigenvalues are log-spaced from 1 to this, axes rotated at random.
    norm : float
        Euclidean length of the mean.
    ratio : float
        Public variances over private ones, in random directions of the private law's own units:
        log-uniform between ``1 / ratio`` and ``ratio``.
    shift : float
        Distance of the public mean from the private one, in private standard deviations.
    """

    d: int
    n: int
    m: int
    cond: float = 1e6
    norm: float = 1e6
    ratio: float = 1.0
    shift: float = 0.0


@dataclass(frozen=True)
class Sample:
    """Rows, shapes (n, d) and (m, d), and the law of the private ones, shapes (d,) and (d, d)."""

    private: Array
    public: Array
    mean: Array
    cov: Array


def rotation(d: int, rng: np.random.Generator) -> Array:
    """Orthogonal matrix from the uniform distribution."""
    q, r = np.linalg.qr(rng.standard_normal((d, d)))
    return np.asarray(q * np.sign(np.diag(r)))


def direction(d: int, rng: np.random.Generator) -> Array:
    """Uniform unit vector."""
    drawn = rng.standard_normal(d)
    return np.asarray(drawn / np.linalg.norm(drawn))


def simulate(setting: Gaussian, seed: int) -> Sample:
    """Draw the rows of a setting.

    Truth, private rows, public rows and shift come from separate streams of ``seed``. Another
    ``cond`` or ``norm`` transforms the same rows; another ``m``, ``ratio`` or ``shift`` leaves the
    private rows as they are.
    """
    d = setting.d
    truth, private, public, other = streams(seed, 4)
    axes = rotation(d, truth)
    mean = setting.norm * direction(d, truth)
    root = np.sqrt(np.geomspace(1.0, setting.cond, d))[:, None] * axes.T
    turned = rotation(d, other)
    scales = np.exp(0.5 * math.log(setting.ratio) * other.uniform(-1, 1, d))
    away = setting.shift * direction(d, other)
    z = public.standard_normal((setting.m, d)) @ ((turned * scales) @ turned.T) + away
    return Sample(
        mean + private.standard_normal((setting.n, d)) @ root,
        mean + z @ root,
        mean,
        root.T @ root,
    )


def simulate_known(d: int, n: int, m: int, norm: float, seed: int) -> Sample:
    """Draw rows with identity covariance and a mean of length ``norm``: for known covariance."""
    return simulate(Gaussian(d, n, m, cond=1.0, norm=norm), seed)


# Mixtures -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Mixture:
    """A mixture of normal laws.

    Attributes
    ----------
    d, k, n : int
        Dimension, components, private rows.
    rows : {"few", "many", "fewest", "fewer"}
        How many public rows, see `public_rows`.
    separation : float
        The nearest two means are this many standard deviations apart, in the direction of largest
        spread of the wider of the two.
    scales : float
        Component standard deviations are multiplied by log-spaced factors from 1 to this.
    cond : float
        Condition number within components: eigenvalues log-uniform between ``1 / cond`` and 1.
        At 1, eigenvalues are uniform between 1/4 and 1.
    superclusters : float
        The second half of the components is moved this far away.
    offset : float
        Distance of everything from the origin.
    """

    d: int
    k: int
    n: int
    rows: PublicRows = "many"
    separation: float = 8.0
    scales: float = 1.0
    cond: float = 1.0
    superclusters: float = 0.0
    offset: float = 1e4


@dataclass(frozen=True)
class MixtureSample:
    """Rows with their components' numbers, and the truth: (k,), (k, d) and (k, d, d)."""

    private: Array
    public: Array
    labels: Labels
    public_labels: Labels
    weights: Array
    means: Array
    covariances: Array


def public_rows(rows: PublicRows, d: int, k: int, w_min: float) -> int:
    """Number of public rows for the smallest weight ``w_min``.

    "few" is ``3 ln(k / 0.05) / w_min`` and "fewest" a third of it: free of the dimension. "many"
    is ``4 d / w_min`` and "fewer" ``1.5 d / w_min``, which the public regime needs.
    """
    each = {
        "few": 3 * math.log(k / BETA),
        "fewest": math.log(k / BETA),
        "many": 4.0 * d,
        "fewer": 1.5 * d,
    }
    return math.ceil(each[rows] / w_min)


def mixture_weights(k: int, rng: np.random.Generator) -> Array:
    """Dirichlet(8) weights, drawn again until the smallest is at least ``0.5 / k``."""
    while True:
        weights = rng.dirichlet(np.full(k, 8.0))
        if weights.min() >= SMALLEST_SHARE / k:
            return np.asarray(weights)


def simulate_mixture(setting: Mixture, seed: int) -> MixtureSample:
    """Draw the rows of a mixture; another number of public rows leaves the private ones."""
    d, k = setting.d, setting.k
    truth, private, public = streams(seed, 3)
    weights = mixture_weights(k, truth)
    sizes = np.geomspace(1.0, setting.scales, k)
    roots = np.empty((k, d, d))
    for j, size in enumerate(sizes):
        values = truth.uniform(0.25, 1.0, d)
        if setting.cond > 1:
            values = setting.cond ** -truth.uniform(0, 1, d)
        roots[j] = size * np.sqrt(values)[:, None] * rotation(d, truth).T
    covariances = roots.transpose(0, 2, 1) @ roots
    spread = np.sqrt(np.linalg.eigvalsh(covariances)[:, -1])
    means = truth.standard_normal((k, d))
    apart = [
        float(np.linalg.norm(means[a] - means[b])) / max(spread[a], spread[b])
        for a in range(k)
        for b in range(a)
    ]
    if apart:
        means *= setting.separation / min(apart)
    means[k - k // 2 :] += setting.superclusters * direction(d, truth)
    means += setting.offset * direction(d, truth)

    def rows(rng: np.random.Generator, count: int) -> tuple[Array, Labels]:
        labels = rng.choice(k, count, p=weights)
        x = rng.standard_normal((count, d))
        for j in range(k):
            x[labels == j] = means[j] + x[labels == j] @ roots[j]
        return x, labels

    x, labels = rows(private, setting.n)
    m = public_rows(setting.rows, d, k, float(weights.min()))
    public_x, public_labels = rows(public, m)
    return MixtureSample(x, public_x, labels, public_labels, weights, means, covariances)
