"""Small symmetric matrices: powers, floors, and a noisy second moment made fit for inversion."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dpstats.arrays import Floats

_NARROW = 0.1
"""Of the mean eigenvalue, below which a direction is another than public geometry has it."""
_MUCH_LESS, _ALIKE = 0.35, 0.9
"""Of what the smallest eigenvalue usually is: from where rows are better whitened without public ones,
and from where it is another."""
_LEAST_SINGULAR = 1e-13
"""Of the largest singular value of a whitening, below which rounding hides another."""


def symmetric_power(matrix: Floats, power: float) -> Floats:
    """Matrix power of a symmetric positive definite matrix, for example the inverse root.

    Examples
    --------
    >>> np.allclose(symmetric_power(np.diag([4.0, 9.0]), -0.5), np.diag([1 / 2, 1 / 3]))
    True
    """
    values, vectors = np.linalg.eigh(matrix)
    result: Floats = (vectors * values**power) @ vectors.T
    return result


def symmetric(matrix: Floats) -> Floats:
    """A matrix that rounding has made a little asymmetric, as it should be."""
    return (matrix + matrix.T) / 2


@dataclass(frozen=True)
class Whitening:
    """A linear map of rows after which their public second moment S is the identity.

    Attributes
    ----------
    back : (d, d) array
        W with W'SW = I: rows z = W'x, coefficients b = W t.
    root : (d, d) array
        W^-1: t = root b, S = root' root.
    """

    back: Floats
    root: Floats

    @classmethod
    def of(cls, back: Floats) -> Whitening:
        """The map with its inverse."""
        return cls(back, np.linalg.inv(back))


def equilibrated_whitening(moment: Floats) -> Whitening:
    """Whitening that follows the units of the columns: W = D^-1 C^-1/2, S = D C D, C_jj = 1.

    Rescaling a column changes D alone, so that nothing else of a fit changes; and columns of very
    different size (a year beside a rate) cost no accuracy.

    Examples
    --------
    >>> w = equilibrated_whitening(np.array([[4.0, 1.0], [1.0, 9.0]]))
    >>> np.allclose(w.root @ w.back, np.eye(2))
    True
    """
    size = np.sqrt(np.diag(moment))
    shape = moment / np.outer(size, size)
    values, vectors = np.linalg.eigh(shape)
    back, root = ((vectors * values**power) @ vectors.T for power in (-0.5, 0.5))
    return Whitening(back / size[:, None], root * size)


def equilibrated_inverse(moment: Floats) -> Floats:
    """The inverse of a second moment, or its pseudo-inverse, whatever the units of the columns.

    Examples
    --------
    >>> [f"{v:.6g}" for v in np.diag(equilibrated_inverse(np.diag([1.0, 4e-40])))]
    ['1', '2.5e+39']
    """
    scale = np.sqrt(np.diag(moment))
    scale = np.where(scale > 0, scale, 1.0)
    return np.asarray(np.linalg.pinv(moment / scale / scale[:, None]) / scale / scale[:, None])


def symmetric_whitening(moment: Floats) -> Whitening:
    """The papers' whitening W = S^-1/2, from the singular values of the equilibrated one.

    See `has_symmetric_whitening`: it follows no change of units, and may be lost to rounding.
    """
    left, values, _ = np.linalg.svd(equilibrated_whitening(moment).back)
    return Whitening((left * values) @ left.T, (left / values) @ left.T)


def has_symmetric_whitening(moment: Floats) -> bool:
    """Whether S^-1/2 can be computed: its singular values are no less than rounding makes of others.

    Examples
    --------
    >>> [has_symmetric_whitening(np.diag([1.0, size])) for size in (1e-20, 1e-40)]
    [True, False]
    """
    values = np.linalg.svd(equilibrated_whitening(moment).back, compute_uv=False)
    return bool(values[-1] > _LEAST_SINGULAR * values[0])


def equivariant_whitening(spread: Floats) -> Whitening:
    """Whitening by the covariance of centred rows, m > d of them, that follows every linear change.

    The whitened rows themselves are the same whatever linear map was applied to the columns: the
    rotation that a covariance leaves open is fixed by the first d of them (a QR of their directions,
    which depends on nothing but their leverages and angles).

    Examples
    --------
    >>> rows = np.array([[1.0, 0.0], [-1.0, 1.0], [0.0, -1.0]])
    >>> change = np.array([[2.0, 1.0], [0.0, 3.0]])
    >>> plain = rows @ equivariant_whitening(rows).back
    >>> changed = rows @ change @ equivariant_whitening(rows @ change).back
    >>> bool(np.allclose(plain, changed))
    True
    """
    left, singular, axes = np.linalg.svd(spread, full_matrices=False)
    turn, triangle = np.linalg.qr(left.T)
    turn = turn * np.where(np.diag(triangle) < 0, -1.0, 1.0)
    root_m = math.sqrt(len(spread) - 1)
    back = (axes.T / singular) @ turn * root_m
    return Whitening(back, (turn.T * singular) @ axes / root_m)


def quadratic_forms(rows: Floats, matrix: Floats) -> Floats:
    """u'Mu of every row u: variances of linear functions, squared lengths, leverages.

    Examples
    --------
    >>> quadratic_forms(np.array([[1.0, 0.0], [1.0, 2.0]]), np.diag([3.0, 4.0]))
    array([ 3., 19.])
    """
    return np.asarray(((rows @ matrix) * rows).sum(axis=1))


def spectral_norm(matrix: Floats) -> float:
    """The largest singular value; infinite where an entry is no number, which the SVD cannot have.

    Examples
    --------
    >>> spectral_norm(np.diag([3.0, 4.0])), spectral_norm(np.full((2, 2), np.nan))
    (4.0, inf)
    """
    return float(np.linalg.norm(matrix, 2)) if np.isfinite(matrix).all() else math.inf


def floored(matrix: Floats, floor: float) -> Floats:
    """The symmetric matrix with its eigenvalues raised to at least ``floor``.

    Examples
    --------
    >>> np.allclose(floored(np.diag([2.0, -1.0]), 0.5), np.diag([2.0, 0.5]))
    True
    """
    values, vectors = np.linalg.eigh(matrix)
    result: Floats = (vectors * np.maximum(values, floor)) @ vectors.T
    return result


def with_inverse(matrix: Floats) -> tuple[Floats, Floats]:
    """The symmetric matrix and its inverse; with small eigenvalues raised where floats have none.

    A penalty may be so large beside the curvature that it is all that floats hold of the sum.

    Examples
    --------
    >>> matrix, inverse = with_inverse(2 * np.eye(2))
    >>> inverse.tolist()
    [[0.5, 0.0], [0.0, 0.5]]
    >>> matrix, inverse = with_inverse(np.ones((2, 2)))
    >>> matrix.round(6).tolist(), bool(np.isfinite(inverse).all())
    ([[1.0, 1.0], [1.0, 1.0]], True)
    """
    try:
        return matrix, np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        raised = floored(matrix, 1e-12 * spectral_norm(matrix) or 1.0)
        return raised, np.linalg.inv(raised)


def floored_root(matrix: Floats, floor: float) -> Floats:
    """A matrix B with B'B = `floored`: products made of it keep variances above 0 in floats.

    Examples
    --------
    >>> root = floored_root(np.diag([4.0, -1.0]), 0.25)
    >>> (root.T @ root).round(4).tolist()
    [[4.0, 0.0], [0.0, 0.25]]
    """
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.sqrt(np.maximum(values, floor))).T)


def positive_covariance(matrix: Floats) -> Floats:
    """A covariance that is positive definite in floats: correlations stay away from -1 and 1.

    Examples
    --------
    >>> bool(np.linalg.eigvalsh(positive_covariance(np.array([[1.0, 1.0], [1.0, 1.0]])))[0] > 0)
    True
    """
    variances = np.diag(matrix)
    size = np.sqrt(np.maximum(variances, 1e-24 * max(float(variances.max()), 1e-270)))
    shape = np.array(matrix / np.outer(size, size))
    np.fill_diagonal(shape, 1.0)
    kept = floored(symmetric(shape), 1e-12 * len(shape))
    return np.asarray(symmetric(kept) * np.outer(size, size))


@dataclass(frozen=True)
class Curvature:
    """A released second-moment matrix of whitened rows, and the matrix that is used in its place.

    Attributes
    ----------
    released : (d, d) array
        As it left the mechanism, noise sd `released_sd` on the diagonal (svec scaling).
    used : (d, d) array
        Shrunk towards a multiple of the identity and with its eigenvalues floored.
    used_sd : float
        Standard deviation per svec coordinate of what is left of the noise in ``used``.
    smallest : float
        Smallest eigenvalue before the floor.
    known : bool
        Whether the public geometry tells what size the matrix has in every direction.
    error : float or None
        What of a step the noise that is left changes, where that is known otherwise than by its sd.
    bent : float
        Share of the change of the matrix along a step that was not foreseen.
    """

    released: Floats
    released_sd: float
    used: Floats
    used_sd: float
    smallest: float
    known: bool = True
    error: float | None = None
    bent: float = 1.0

    def relative_error(self, inverse: Floats) -> float:
        """What of a step the noise that is left in ``used`` changes; ``inverse`` belongs to that."""
        if self.error is not None:
            return self.error
        return self.used_sd * math.sqrt(len(inverse) / 2) * float(np.linalg.norm(inverse, 2))

    def turned(self, turn: Floats) -> Curvature:
        """The curvature of rows A z; the noise is taken to be what it was."""
        released, used = turn @ self.released @ turn, turn @ self.used @ turn
        return replace(self, released=released, used=used)

    def held(self, along: Floats, lost: Floats, most: float) -> Curvature:
        """The same, a standard deviation of the release from that at most, in some directions.

        One factor for all is right on average, and wrong for the few in which the release departs by far
        more than its noise (Efron and Morris 1972).

        Parameters
        ----------
        along : (k, d) array
            Unit rows.
        lost : (k,) array
            How many times as much as was released there is, where rows were cut.
        most : float
            What cuts took off at most.
        """
        if not len(along):
            return self
        seen = quadratic_forms(along, self.released)
        there = np.minimum(lost * np.maximum(seen, 0.0), seen + most)
        low, high = there - lost * self.released_sd, there + lost * self.released_sd
        used = kept_within(self.used, along, low, np.maximum(high, 0.0))
        smallest, level = float(np.linalg.eigvalsh(used)[0]), float(np.trace(self.used)) / len(used)
        used = floored(used, max(self.used_sd / 2, 1e-12 * level))
        return replace(self, used=used, smallest=min(smallest, self.smallest))

    @cached_property
    def positive_definite(self) -> bool:
        """Whether the matrix was positive definite as released."""
        return bool(np.linalg.eigvalsh(self.released)[0] > 0)

    @property
    def resolved(self) -> bool:
        """Whether the noise leaves every direction visible.

        Not when the matrix is not positive definite, nor when some direction is lost in the noise and
        small beyond what the public geometry, in which all directions are alike, can be wrong by. Where
        that geometry is unknown in places, a direction that the noise hides may be of any size.
        """
        level = float(np.trace(self.used)) / len(self.used)
        hidden = self.smallest < 3 * self.used_sd
        most = self.smallest + 2 * self.used_sd
        lost = hidden and (not self.known or most < _NARROW * level)
        return self.positive_definite and self.smallest > 0 and not lost

    @property
    def narrowest(self) -> Floats:
        """The direction in which least was released."""
        return np.asarray(np.linalg.eigh(self.released)[1][:, 0])

    def narrow(self, m: int | None, *, surely: bool = False) -> bool:
        """Whether rows surely vary far less in some direction than m public rows have it.

        That is so where the smallest eigenvalue is small, and where noise would not make it of
        eigenvalues that are alike but for the chance of the public rows: then it is as much too small as
        the largest of the noise, ``released_sd`` sqrt(2d), give or take an error. ``surely``: if it is
        less than a tenth of the mean, all such noise allowed for.

        Examples
        --------
        >>> def seen(smallest, sd):
        ...     matrix = np.diag([1.0, 1.0, smallest])
        ...     return Curvature(matrix, sd, matrix, sd, smallest)
        >>> [seen(smallest, 0.05).narrow(100) for smallest in (0.6, 0.3, 0.05)]
        [False, False, True]
        >>> seen(0.05, 0.2).narrow(100), seen(0.05, 0.05).narrow(4)
        (False, False)
        """
        d, sd = len(self.released), self.released_sd
        values = np.linalg.eigvalsh(self.released)
        smallest, level, most = float(values[0]), float(values.mean()), sd * math.sqrt(2 * d)
        if surely:
            return smallest + most < _NARROW * level
        usual = level * _smallest_of(d, m)
        return smallest < _MUCH_LESS * usual and smallest + most + sd < _ALIKE * usual


def _smallest_of(d: int, m: int | None) -> float:
    """The smallest of d eigenvalues over their mean, in coordinates that whiten m rows of the same law.

    By the law of Marchenko and Pastur; as of six rows for each column, where their number is not known.
    """
    share = 1 / 6 if m is None else min(d / m, 0.99)
    return (1 - share) / (1 + math.sqrt(share)) ** 2


def shrink_second_moment(
    released: Floats, sd: float, expected: float = 1.0, known: bool = True
) -> Curvature:
    """Empirical-Bayes version of a noisy second moment of whitened rows.

    In the whitened space the second moment is a multiple of the identity if the public rows speak
    for the private ones. The mean squared distance of the release from a I (a = mean of the
    diagonal) per svec coordinate estimates tau^2 + sd^2, tau the true departure; the release is
    moved towards a I by the factor sd^2 / (tau^2 + sd^2). With little noise, or public rows that do
    not match (tau large), nothing moves; with much noise the public geometry takes over. Eigenvalues
    are floored at half the noise sd that is left. ``expected`` stands for a when the release drowns it;
    ``known``: see `Curvature`.

    Examples
    --------
    >>> released = np.diag([1.5, 0.5])
    >>> np.allclose(shrink_second_moment(released, sd=1e-6).used, released)
    True
    """
    d = released.shape[0]
    if not np.isfinite(released).all():  # nothing is seen
        released = np.zeros((d, d))
    level = float(np.trace(released)) / d
    if level < 4 * sd / math.sqrt(d):  # the release cannot tell its own size: the public one stands
        level = expected
    departure = released - level * np.eye(d)
    coordinates = max(d * (d + 1) / 2 - 1, 1)
    # in units of the noise, so that no square overflows
    tau2 = max(float(((departure / sd) ** 2).sum()) / coordinates - 1, 0.0) if d > 1 else 1e12
    kept = tau2 / (tau2 + 1) if tau2 < 1e300 else 1.0
    shrunk = level * np.eye(d) + kept * departure
    left = sd * math.sqrt(kept)
    if not np.isfinite(shrunk).all():
        return Curvature(released, sd, np.eye(d), left, 0.0, known)
    smallest = float(np.linalg.eigvalsh(shrunk)[0])
    used = floored(shrunk, max(left / 2, 1e-12 * level))
    return Curvature(released, sd, used, left, smallest, known)


def kept_within(matrix: Floats, along: Floats, low: Floats, high: Floats) -> Floats:
    """A symmetric matrix of which u'Mu is not less and not more, for each unit row u of ``along``.

    The one that is farthest off is moved first; what is added along one direction counts for the others.

    Examples
    --------
    >>> matrix = np.diag([0.9, 0.6])
    >>> kept_within(matrix, np.eye(2), np.zeros(2), np.array([1.0, 0.3])).diagonal().tolist()
    [0.9, 0.3]
    """
    shared, added = (along @ along.T) ** 2, np.zeros(len(along))
    values = quadratic_forms(along, matrix)
    if not np.isfinite(values).all():
        return matrix
    for _ in range(len(along)):
        away = np.clip(values, low, high) - values
        k = int(np.argmax(np.abs(away)))
        if not away[k]:
            break
        added[k] += away[k]
        values = values + away[k] * shared[k]
    return np.asarray(matrix + (along.T * added) @ along)
