"""Releases whose noise belongs to the data set at hand: numbers on a lattice, and a test before them.

An estimate such as a least-squares solution is not a sum of integers. It is computed from exact sums,
in floats, and rounded to a lattice so fine that the rounding is far below its sensitivity; the noise is
then added in integers, and what leaves is an integer multiple of the lattice's unit. What floats and
rounding may add to a sensitivity is part of the sensitivity (`WIDENED`, and the proofs of the callers).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from dpstats.accounting.privacy import Privacy, Total
from dpstats.arrays import Floats
from dpstats.mechanism.noise import Noise
from dpstats.mechanism.passes import Integers
from dpstats.mechanism.release import Release, release_vector

_FINE = 2**26
"""Counts are taken on a lattice so fine that noise spans millions of its steps."""
WIDENED = 1 + 1e-6
"""Factor on a sensitivity that covers the rounding to a lattice made for it."""


def lattice_unit(sensitivity: float, size: int) -> float:
    """A power of two so small that rounding ``size`` numbers moves them by 10^-9 of the sensitivity.

    Each coordinate moves by at most half a unit, in each of two neighbours: sqrt(size) units
    altogether, at most 10^-9 of the sensitivity.
    """
    return 2.0 ** math.floor(math.log2(1e-9 * sensitivity / math.sqrt(size)))


def on_lattice(value: Floats, unit: float) -> Integers:
    """Nearest multiples of ``unit``, a power of two, as exact integers; what is not finite is zero."""
    with np.errstate(all="ignore"):
        steps = np.rint(value / unit)
    return np.array([int(k) if math.isfinite(k) else 0 for k in steps.ravel()], dtype=object)


def ratio_on_lattice(above: int, below: int, unit: float) -> int:
    """The nearest integer to (above / below) / unit, computed exactly."""
    return round(Fraction(above, below) / Fraction(unit))


@dataclass(frozen=True)
class TestedRelease:
    """What a test let through: the release, whose value is NaN when the answer is "no reply"."""

    release: Release
    passed: bool


def release_if_safe(
    what: str,
    total: Integers,
    unit: float,
    *,
    probability: float,
    noise_sd: float,
    sensitivity: float,
    cost: Total,
    noise: Noise,
) -> TestedRelease:
    """Toss a coin; release ``total`` with noise of the given scale, or nothing.

    The caller's plan (`propose_test`) proves ``cost`` from the probabilities and sensitivities by level
    of safety. Noise is drawn whatever the coin says, so that the time of a call does not depend on it
    more than the answer does.
    """
    passed = noise.coin(probability)
    drawn = release_vector(what, total, noise_sd / unit, unit, Privacy(1.0), noise)
    value = drawn.value if passed else np.full_like(drawn.value, np.nan)
    release = replace(drawn, value=value, sensitivity=sensitivity, cost=cost)
    return TestedRelease(release, passed)


def frequent_threshold(noise_sd: float, chance: float) -> float:
    """What the noisy count of a name that one row has exceeds with a probability of at most ``chance``.

    Discrete Gaussian noise is sub-Gaussian: P(noise >= t) <= exp(-t^2/(2 sd^2)).
    """
    if chance < 1e-300:
        return math.inf
    return 1 + noise_sd * math.sqrt(2 * math.log(1 / chance)) * (1 + 1e-9)


def release_frequent(
    what: str, counts: Mapping[str, int], chance: float, cost: Privacy, noise: Noise
) -> tuple[Release, tuple[str, ...]]:
    """The names that many rows have, in order, and their noisy counts: those above a threshold alone.

    mu-GDP up to a slack of ``chance``, whatever is released after it. Replacing a row takes its name a
    from one count and adds a name b to another. Let C be the same release over the names that both data
    sets have: its counts differ by at most sqrt(2) in l2, so that C, and what follows, is mu-GDP. A name
    that only one of both data sets has is that of the replaced row alone, with a count of 1, and exceeds
    the threshold with probability q <= ``chance``, independently of the other counts. So for every event
    S of the outcomes, and either of them as D: P(S | D) <= q + (1 - q) C_D(S), which is no less than
    C_D(S), where D has no such name, and P(S | D') >= (1 - q) C_D'(S). If C is (epsilon, delta), then
    P(S | D) <= q + e^epsilon P(S | D') + delta.
    """
    names = sorted(counts)
    total = np.array([int(counts[name]) * _FINE for name in names], dtype=object)
    drawn = release_vector(what, total, math.sqrt(2) * _FINE, 1 / _FINE, cost, noise)
    shown = drawn.value > frequent_threshold(drawn.noise_sd, chance)
    kept = tuple(name for name, above in zip(names, shown, strict=True) if above)
    return replace(drawn, value=drawn.value[shown]), kept
