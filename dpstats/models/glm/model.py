"""What a family and rows in the place of public ones say of the information, and of where a fit lies.

Where no public row tells, rounds begin at zero, and the information falls on the way to the answer, in
some directions far more than in others: that of ones and zeros which a column decides falls along
that column. What was released on the way says little of it, and noise hides it where it is smallest;
under the model it follows from the coefficients. So released information is measured in units of what
the model expects at its anchor, and noise moves it towards that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpstats.arrays import Floats
from dpstats.models.glm.estimate import BLEND, ReleasedInformation
from dpstats.models.glm.family import Family
from dpstats.numerics.matrices import Curvature, Whitening, floored, symmetric_power, with_inverse

_LEAST = 1e-3
"""Least eigenvalue of expected information, in parts of the mean one."""
_DRIFT = 0.1
"""What a model does not foresee of the information, per unit of change of predictors, at least."""
_STEPS, _STILL = 30, 1e-3
_EVERY = slice(None)


@dataclass(frozen=True)
class Model:
    """Rows z in the coordinates of a fit, of some ``weight``; a share ``used`` of all is like them."""

    family: Family
    z: Floats
    weight: Floats
    used: float

    def information(self, at: Floats) -> Floats:
        """The mean information of a row at coefficients, positive definite; 1 at what is no number."""
        eta = self.z @ at
        h = self.used * self.weight * self.family.working(eta, eta)[1] / len(eta)
        found = (self.z * h[:, None]).T @ self.z
        if not np.isfinite(found).all():
            return np.eye(len(found))
        return floored(found, _LEAST * float(np.trace(found)) / len(found))

    def landing(self, anchor: Floats, move: Floats, penalty: Floats, farthest: float) -> Floats:
        """The move that a Newton step stands for, where the information changes along it.

        It goes to coefficients t with E z w (m(z't) - m(z'a)) + penalty (t - a) = (A + penalty) ``move``
        from the anchor a, where A is the information expected there, m the mean of a response and w its
        weight in the score; but no farther than linear predictors change by ``farthest``.
        """
        target = (self.information(anchor) + penalty) @ move
        found = np.zeros_like(move)
        for _ in range(_STEPS):
            rest = target - self._score(anchor, anchor + found) - penalty @ found
            step = with_inverse(self.information(anchor + found) + penalty)[1] @ rest
            size = self.largest(step)
            if not math.isfinite(size):
                return move
            found = found + step / max(size, 1.0)
            if self.largest(found) > farthest:
                return found * (farthest / self.largest(found))
            if size < _STILL:
                break
        return found

    def largest(self, move: Floats) -> float:
        """Change of linear predictors that few rows exceed."""
        return float(np.quantile(np.abs(self.z @ move), 0.998))

    def _score(self, anchor: Floats, at: Floats) -> Floats:
        """Mean score at the anchor of rows whose responses are those expected at other coefficients."""
        r = self.family.working(self.z @ anchor, self.family.mean(self.z @ at))[0]
        return np.asarray((self.used * self.weight * r / len(r)) @ self.z)


def informed(seen: Sequence[ReleasedInformation], expected: Floats, known: bool) -> Curvature:
    """What rounds released, carried by the model to where ``expected`` holds, and moved towards that.

    In the eigenbasis of the expected information, in units of that, a release is I + D + noise, and
    noise is larger where there was less information. Each entry of D is averaged over the rounds by its
    noise, and by what the model may not foresee of the way since: as much as it did not foresee at
    last. Then it is kept as far as its noise allows: by the mean square of all entries, or by its own
    where it stands out, and moved by one standard deviation at most (Efron and Morris 1972).

    Examples
    --------
    Released where the model expects twice as much, and half of it is expected now: a departure that
    stands out is carried along, one that noise explains is not.

    >>> expected = np.diag([0.2, 0.05])
    >>> one = ReleasedInformation(np.diag([0.2, 0.2]), 0.001, expected=2 * expected)
    >>> informed([one], expected, False).used.diagonal().round(3)
    array([0.1, 0.1])
    >>> noisy = ReleasedInformation(np.diag([0.5, 0.0]), 0.2, expected=2 * expected)
    >>> informed([noisy], expected, False).used.diagonal().round(2)
    array([0.2 , 0.05])
    """
    values, vectors = np.linalg.eigh(expected)
    d, size = len(values), np.sqrt(np.outer(values, values))
    diagonal = (1 + np.eye(d)) / 2  # of noise: half its variance off the diagonal
    each = []
    for one in seen:
        assert one.expected is not None
        change = vectors.T @ symmetric_power(one.expected, -0.5)
        grown = (change**2).sum(axis=1)
        noise2 = np.outer(one.sd * grown, one.sd * grown) * diagonal
        each.append((change @ one.matrix @ change.T - np.eye(d), noise2))
    unforeseen2 = max(_mean_square(*each[-1]), _DRIFT**2)
    total, precision = np.zeros((d, d)), np.zeros((d, d))
    latest, its_noise2 = each[-1]
    for one, (departure, noise2) in zip(seen, each, strict=True):
        # what has changed since then: as such steps do, or clearly more in an entry
        changed2 = np.maximum((latest - departure) ** 2 - 2 * (noise2 + its_noise2), 0.0)
        drift2 = np.maximum(min(one.drift, 1.0) ** 2 * unforeseen2 * diagonal, changed2)
        trust = 1 / (noise2 + drift2)
        total += trust * departure
        precision += trust
    noise2, departure = 1 / precision, total / precision
    mean2, own2 = _mean_square(departure, noise2), np.maximum(departure**2, 1e-300)
    kept = np.maximum(mean2 / (mean2 + noise2), 1 - noise2 / own2)
    sd = np.sqrt(noise2)
    near = np.clip(kept * departure, departure - sd, departure + sd)
    if not np.isfinite(near).all() or not np.isfinite(noise2).all():  # nothing is seen
        return Curvature(np.zeros((d, d)), seen[-1].sd, expected, 0.0, 0.0, known)

    def in_coordinates(relative: Floats) -> Floats:
        return np.asarray(vectors @ (size * relative) @ vectors.T)

    left2 = kept * noise2 / diagonal
    released_sd, left = (math.sqrt(float((size**2 * v).mean())) for v in (noise2 / diagonal, left2))
    used = in_coordinates(np.eye(d) + near)
    smallest = float(np.linalg.eigvalsh(used)[0])
    return Curvature(
        in_coordinates(np.eye(d) + departure),
        released_sd,
        floored(used, max(left / 2, 1e-12 * float(values.mean()))),
        left,
        smallest,
        known,
        error=math.sqrt(d * float(left2.mean()) / 2),
        bent=1.0 if len(seen) == 1 else min(float(np.linalg.norm(near, 2)), 1.0),
    )


def evened(
    information: Floats, metric: Floats, even: float, some: Any = _EVERY
) -> Whitening | None:
    """Coordinates of z in which there is as much information in all directions.

    A fifth of it is that of second moments, ``metric``. None where the largest is no more than ``even``
    times the smallest. Of ``some`` columns; the others stay as they are.

    Examples
    --------
    >>> evened(np.diag([0.2, 0.15]), np.eye(2), 4.0) is None
    True
    >>> evened(np.diag([0.2, 0.01]), np.eye(2), 4.0).back.round(1)
    array([[2.4, 0. ],
           [0. , 5.9]])
    """
    inner, outer = information[some][:, some], metric[some][:, some]
    level = float(np.trace(np.linalg.solve(outer, inner))) / len(outer)
    mixed = (1 - BLEND) * inner + BLEND * level * outer
    if not np.isfinite(mixed).all():
        return None
    values, vectors = np.linalg.eigh(mixed)
    if not 0 < values[0] < values[-1] / even:
        return None
    at = np.arange(len(metric))[some]
    back, root = np.eye(len(metric)), np.eye(len(metric))
    for whole, power in ((back, -0.5), (root, 0.5)):
        whole[np.ix_(at, at)] = (vectors * values**power) @ vectors.T
    return Whitening(back, root)


def _mean_square(departure: Floats, noise2: Floats) -> float:
    """Mean square of what departs, but for its noise; the surest entries count most."""
    trust = 1 / noise2**2
    return max(float((trust * (departure**2 - noise2)).sum() / trust.sum()), 0.0)
