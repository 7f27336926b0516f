"""How far released scores of a mixture are from its estimates: one step for overlapping components too.

Parameters are counted from a mixture, in coordinates in which every component is standard normal: for
each component d of its mean, d (d + 1) / 2 of its covariance (off the diagonal times sqrt(2)), and one
log weight. Scores are sums over rows of shares times w, (ww' - 1) / 2 and 1, cut as they are when they
are released. Where components overlap, EM goes a small part of the way that the scores show; the
information matrix, simulated from the released mixture, tells how much farther it is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpstats.arrays import Floats
from dpstats.models.mixture.soft import Mixture, log_likelihoods, prior_rows, synthetic
from dpstats.numerics.matrices import Whitening

_LARGEST = 500  # parameters up to which their information is simulated; beyond, that of EM is taken
_ROWS = 4000
_TRUSTED = 0.5  # a public row counts as this part of one: few of them are no asymptotics
_KEPT = 0.5  # part of what earlier rounds told that still holds in the coordinates of the next
_LEAST = 1e-4  # information, as a part of what it were if the shares of all rows were known


@dataclass(frozen=True)
class ReleasedScores:
    """Released mean scores of a row, in the order of the module's docstring, and their noise sd."""

    value: Floats
    sd: Floats


@dataclass(frozen=True)
class Step:
    """The way from a mixture to the estimate, and the covariance of its error.

    Attributes
    ----------
    way : (p,) array
    unsure : (p, p) array, or (p,) where only its diagonal is known
        What noise and public rows leave open about the estimate without privacy.
    sampling : like ``unsure``
        Of that estimate.
    """

    way: Floats
    unsure: Floats
    sampling: Floats


def svec(matrices: Floats) -> Floats:
    """Symmetric matrices (..., d, d) as vectors of the same length: off the diagonal times sqrt(2).

    >>> svec(np.array([[1.0, 2.0], [2.0, 3.0]])).round(3).tolist()
    [1.0, 3.0, 2.828]
    """
    d = matrices.shape[-1]
    rows, columns = np.triu_indices(d, 1)
    diagonal = np.arange(d)
    on, off = matrices[..., diagonal, diagonal], matrices[..., rows, columns]
    return np.asarray(np.concatenate([on, math.sqrt(2) * off], axis=-1))


def unsvec(vector: Floats, d: int) -> Floats:
    """The matrix of a vector of `svec`.

    >>> unsvec(np.array([1.0, 3.0, math.sqrt(8)]), 2).round(3).tolist()
    [[1.0, 2.0], [2.0, 3.0]]
    """
    rows, columns = np.triu_indices(d, 1)
    matrix = np.zeros((d, d))
    matrix[rows, columns] = vector[d:] / math.sqrt(2)
    matrix += matrix.T
    matrix[np.arange(d), np.arange(d)] = vector[:d]
    return matrix


def size_of(d: int) -> int:
    """Parameters of one component."""
    return d + d * (d + 1) // 2 + 1


def _known(mixture: Mixture) -> Floats:
    """Information (p,) of a row if its component were known."""
    d = mixture.d
    each = np.concatenate([np.ones(d), np.full(d * (d + 1) // 2, 0.5), [1.0]])
    return np.asarray(np.outer(mixture.weights, each).ravel())


def _simulated(
    mixture: Mixture, whitenings: list[Whitening], radius: float, kept: float
) -> tuple[Floats, Floats, Floats]:
    """Mean products of scores: of cut ones with others, of others, and of cut ones."""
    x = synthetic(mixture, _ROWS)
    share = log_likelihoods(mixture, x)[1]
    eye = svec(np.eye(mixture.d))
    whole: list[Floats] = []
    cut: list[Floats] = []
    for j, whitening in enumerate(whitenings):
        w = (x - mixture.means[j]) @ whitening.back
        inside = (
            w * np.minimum(1.0, radius / np.maximum(np.linalg.norm(w, axis=1), 1e-300))[:, None]
        )
        for rows, level, out in ((w, 1.0, whole), (inside, kept, cut)):
            squares = svec(rows[:, :, None] * rows[:, None, :]) - level * eye
            one = np.concatenate([rows, squares / 2, np.ones((len(rows), 1))], axis=1)
            one *= share[:, j, None]
            one[:, -1] -= mixture.weights[j]
            out.append(one)
    full, short = np.concatenate(whole, axis=1), np.concatenate(cut, axis=1)
    return short.T @ full / _ROWS, full.T @ full / _ROWS, short.T @ short / _ROWS


def one_step(
    mixture: Mixture,
    whitenings: list[Whitening],
    scores: ReleasedScores,
    n: float,
    m: float,
    earlier: float,
    radius: float,
    kept: float,
) -> Step:
    """The most likely way to the estimate without privacy, given scores, earlier ones and public rows.

    Parameters
    ----------
    scores : ReleasedScores
    n, m : float
        Private rows, and public ones that the mixture comes from.
    earlier : float
        Noise of these scores over that of all earlier ones together, in square.
    radius, kept : float
        Where rows were cut, and what that leaves of a Gaussian's second moment.
    """
    d, known = mixture.d, _known(mixture)
    shapes = np.tile(np.r_[np.zeros(d), np.ones(d * (d + 1) // 2), [0.1]], mixture.k)
    prior = prior_rows(d) * shapes * known / np.repeat(mixture.weights, size_of(d)) / mixture.k
    precision = scores.sd**-2.0
    # earlier rounds are not trusted beyond sampling errors: steps were linear, the way was not
    surer = float((precision * known**2).sum() / (n * known).sum())
    held = _KEPT * earlier / (1 + surer)
    if len(known) > _LARGEST:
        told = precision * known**2
        prior = prior + _TRUSTED * m * known + held * told
        return Step(
            precision * known * scores.value / (prior + told), 1 / (prior + told), 1 / (n * known)
        )
    slope, information, spread = _simulated(mixture, whitenings, radius, kept)
    least = np.diag(_LEAST * known)
    told = slope.T @ (precision[:, None] * slope)
    before = _TRUSTED * m * information + np.diag(prior) + m * least + held * told
    # what log weights have in common is in no score: fixed, so that the inverse is one
    logs = np.arange(mixture.k) * size_of(d) + size_of(d) - 1
    before[np.ix_(logs, logs)] += float(np.diag(told).max())
    unsure = np.linalg.inv(before + told)
    way = unsure @ (slope.T @ (precision * scores.value))
    back = np.linalg.inv(slope + least)
    centre = _without_common(mixture)
    unsure, sampling = (centre @ part @ centre.T for part in (unsure, back @ spread @ back.T / n))
    return Step(centre @ way, unsure, sampling)


def _without_common(mixture: Mixture) -> Floats:
    """The map (p, p) that takes off log weights what they have in common: it changes no weight."""
    size = size_of(mixture.d)
    centre = np.eye(mixture.k * size)
    logs = np.arange(mixture.k) * size + size - 1
    centre[np.ix_(logs, logs)] -= mixture.weights
    return centre
