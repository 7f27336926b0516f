"""The error of a tested, or privately bounded, release: Theorem 2.3 of the ePTR paper.

Source: Shen, Tong, Wang, *Efficient Propose-Test-Release for Optimal Differentially Private
Estimation*. E|released - truth|^2 <= (I) + (II) + (III): (I) the error of the estimator without privacy,
(II) the noise, size sd^2 exactly, and (III) what the answer "no reply" costs, C times the probability of
it. C bounds the squared distance of that answer from the truth; the probability is known at every
level of safety, but not the data set's own level.
"""

from __future__ import annotations

import math
from dataclasses import replace

import scipy

from dpstats.report.bound import Bound, Premise

SOURCE = "ePTR paper, Theorem 2.3"
_NOISE = "(II) mean squared error from the privacy noise"
_RADIUS = "distance to the same estimate without noise"


def _part(statement: str, norm: str, value: float, *premises: Premise) -> Bound:
    return Bound(statement, norm, value, None, SOURCE, "bound", premises)


def decomposition(
    norm: str,
    sampling: float | None,
    size: int,
    sd: float,
    distance2: float | None,
    probability: float | None,
) -> tuple[Bound, Bound, Bound]:
    """The terms (I), (II) and (III).

    Parameters
    ----------
    sampling : float or None
        (I): the error of the estimator without privacy; None where nothing bounds it.
    size, sd : int and float
        (II): the expected squared length of so many independent numbers of this standard deviation.
    distance2, probability : float or None
        C, None where nothing bounds it, and the probability of no reply at the level that was planned
        for, None where there is always an answer.
    """
    first = math.inf if sampling is None else sampling
    third = _part("(III) mean squared error from no reply (never refuses)", norm, 0.0)
    if probability is not None and probability != 0:
        third = _part(
            "(III) mean squared error from no reply",
            norm,
            math.inf if distance2 is None else distance2 * probability,
            Premise("the data are at least as safe as planned", None),
        )
    return (
        _part("(I) mean squared error without privacy", norm, first),
        _part(_NOISE, norm, size * sd**2),
        third,
    )


def noise_radius(size: int, sd: float, eta: float, norm: str) -> Bound:
    """Length that the noise exceeds with probability ``eta``: sd times the root of a chi-square."""
    value = sd * math.sqrt(float(scipy.stats.chi2.ppf(1 - eta, size)))
    return Bound(_RADIUS, norm, value, 1 - eta, "exact, chi-square", "bound")


def clipping_bias(value: float | None, norm: str) -> Bound:
    """Squared bias left by cutting rows and responses, as public rows show it."""
    premise = Premise("public and private rows of one law", None)
    statement = "squared bias from cutting rows and responses"
    size = math.inf if value is None else value
    return Bound(statement, norm, size, None, "public rows", "rate", (premise,))


def unanswered(bounds: tuple[Bound, ...]) -> tuple[Bound, ...]:
    """The bounds of an answer that was not given: no noise was added to what stands in for it."""
    return tuple(
        replace(b, value=math.nan) if b.statement in (_NOISE, _RADIUS) else b for b in bounds
    )
