"""What is known of the error of a tested, or privately bounded, release: Theorem 2.3 of the ePTR paper.

Source: Shen, Tong, Wang, *Efficient Propose-Test-Release for Optimal Differentially Private
Estimation*. E|released - truth|^2 <= (I) + (II) + (III): (I) the error of the estimator without privacy,
(II) the noise, size sd^2 exactly, and (III) what the answer "no reply" costs, C times the probability of
it. C bounds the squared distance of that answer from the truth; the probability is known at every
level of safety, but not the data set's own level.
"""

from __future__ import annotations

import math
from dataclasses import replace

from scipy import stats

from dpstats.report.bound import Bound, Premise

SOURCE = "ePTR paper, Theorem 2.3"
_NOISE = "(II) mean squared error from the privacy noise"
_RADIUS = "distance to the same estimate without noise"


def noise_error(size: int, sd: float, norm: str) -> Bound:
    """Term (II): expected squared length of the noise, exactly."""
    return Bound(_NOISE, norm, size * sd**2, None, SOURCE, "bound")


def noise_radius(size: int, sd: float, eta: float, norm: str) -> Bound:
    """Length that the noise exceeds with probability ``eta``: sd times the root of a chi-square."""
    value = sd * math.sqrt(float(stats.chi2.ppf(1 - eta, size)))
    return Bound(
        _RADIUS,
        norm,
        value,
        1 - eta,
        "exact, chi-square",
        "bound",
    )


def sampling_error(value: float | None, norm: str, *premises: Premise) -> Bound:
    """Term (I): the error of the estimator without privacy; infinite where nothing bounds it."""
    return Bound(
        "(I) mean squared error without privacy",
        norm,
        math.inf if value is None else value,
        None,
        SOURCE,
        "bound",
        premises,
    )


def no_reply_error(distance2: float | None, probability: float | None, norm: str) -> Bound:
    """Term (III): C times the probability of no reply at the level that was planned for."""
    if probability is None or probability == 0:
        return Bound(
            "(III) mean squared error from no reply (never refuses)",
            norm,
            0.0,
            None,
            SOURCE,
            "bound",
        )
    value = math.inf if distance2 is None else distance2 * probability
    premise = Premise("the data are at least as safe as planned", None)
    return Bound(
        "(III) mean squared error from no reply", norm, value, None, SOURCE, "bound", (premise,)
    )


def clipping_bias(value: float | None, norm: str) -> Bound:
    """Squared bias left by cutting rows and responses, as public rows show it."""
    premise = Premise("public and private rows of one law", None)
    return Bound(
        "squared bias from cutting rows and responses",
        norm,
        math.inf if value is None else value,
        None,
        "public rows",
        "rate",
        (premise,),
    )


def unanswered(bounds: tuple[Bound, ...]) -> tuple[Bound, ...]:
    """The bounds of an answer that was not given: no noise was added to what stands in for it."""
    return tuple(
        replace(b, value=math.nan) if b.statement in (_NOISE, _RADIUS) else b for b in bounds
    )
