"""A tested release of an estimator that the user brings, with the safety that the user has proved.

Everything that the user's functions do with private data stays here: each sees a copy of its own, what
they return is rounded, noised and tested, and what they raise, warn of or return in another shape counts
as level 0. That keeps errors silent; it is no proof: functions that fail on some neighbour of safe data
break the user's promise that safety changes by one at most.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from dpstats.accounting.privacy import ApproximatePrivacy, Privacy
from dpstats.arrays import Floats
from dpstats.errors import ErrorsWithoutTrace, suppress_private_errors
from dpstats.mechanism.claims import PROMISED, Claim
from dpstats.mechanism.conditional import TestedRelease, lattice_unit, on_lattice, release_if_safe
from dpstats.mechanism.noise import Noise
from dpstats.propose_test.paper import PapersPlan
from dpstats.propose_test.plan import ReleasePlan

_SAFEST = 1e6


def level_of(safety: float) -> int:
    """ceil(gamma), a hair below: level 0 for gamma <= 0, and levels of neighbours differ by one.

    gamma (1 - 10^-6), with gamma cut at 10^6, changes by less than one even when floats have rounded
    gamma by 10^-13 of itself; and it is positive where gamma is.
    """
    if not safety > 0:
        return 0
    return math.ceil(min(safety, _SAFEST) * (1 - 1e-6))


def evaluated(quantity: Any, data: Any, size: int) -> Floats | None:
    """A number, or a function of the data; None when it fails in any way."""

    def numbers_of() -> Floats:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            value = np.asarray(quantity(_copied(data)) if callable(quantity) else quantity)
            if value.dtype.kind in "mMc":  # a date or a complex number is no number here
                raise TypeError
            return np.array(value, dtype=np.float64).ravel()

    numbers = suppress_private_errors(numbers_of)
    if numbers is None:
        return None
    return numbers if numbers.size == size and np.isfinite(numbers).all() else None


def _copied(data: Any) -> Any:
    """A copy of the kinds of tables that a function may change in place; any other as it is."""
    if isinstance(data, list):
        return [_copied(item) for item in data]
    copied = getattr(data, "copy", None)  # pandas, numpy, dict, set
    return copied() if callable(copied) else data


def tested_estimate(
    data: Any,
    estimate: Callable[[Any], Any] | Floats,
    safety: Callable[[Any], Any] | float,
    size: int,
    plan: ReleasePlan,
    sensitivity: tuple[float, float],
    cost: Privacy | ApproximatePrivacy,
    noise: Noise,
) -> TestedRelease:
    """The estimate, if a test of its safety passes; Algorithm 2 of the ePTR paper by a better curve.

    ``sensitivity`` is that at the target, and the smallest of any level, for which the lattice is made.
    An estimate that fails is replaced by zeros at level 0, where nothing is assumed of neighbours.
    """
    with ErrorsWithoutTrace():
        return _tested(data, estimate, safety, size, plan, sensitivity, cost, noise)


def _tested(
    data: Any,
    estimate: Callable[[Any], Any] | Floats,
    safety: Callable[[Any], Any] | float,
    size: int,
    plan: ReleasePlan,
    sensitivity: tuple[float, float],
    cost: Privacy | ApproximatePrivacy,
    noise: Noise,
) -> TestedRelease:
    value = evaluated(estimate, data, size)
    gamma = evaluated(safety, data, 1)
    safe = 0.0 if value is None or gamma is None else float(gamma[0])
    numbers = np.zeros(size) if value is None else value
    level = safe if isinstance(plan, PapersPlan) else level_of(safe)
    unit = lattice_unit(sensitivity[1], size)
    return release_if_safe(
        "the user's estimate, if the test passes",
        on_lattice(numbers, unit),
        unit,
        probability=float(plan.probability(level)),
        noise_sd=plan.noise_sd,
        sensitivity=sensitivity[0],
        cost=cost,
        noise=noise,
    )


CLAIMS = (
    Claim("the user's estimate, if the test passes", PROMISED, "alpha(k)", "tested_estimate"),
)
