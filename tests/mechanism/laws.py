"""Tests of the laws of noise that say how often they err, on either side.

A right sampler raises an alarm with probability `ALARM` per question at most, and so do wrong ones stay
unheard: a question that is too small to tell a scale from 0.7 or 1.3 times it fails by itself.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Floats = NDArray[np.floating[Any]]

ALARM = 1e-8
"""Per question: a test of secure noise asks less than a hundred, and errs less often than 1e-6."""

WRONG = (0.7, 1.3)


def _between(total: float, law: Any, factor: float) -> bool:
    low, high = law.ppf(ALARM / 2), law.isf(ALARM / 2)
    return bool(low < total * factor < high)


def _missed(law: Any, factor: float) -> float:
    """Probability that a right total, times ``factor``, is taken for a right one."""
    low, high = law.ppf(ALARM / 2), law.isf(ALARM / 2)
    if factor > 1:
        return float(law.cdf(high / factor))
    return float(law.sf(low / factor))


def _has_scale(total: float, law: Any, power: int) -> None:
    """The total of the scale that is claimed follows the law; taken for another scale it does not."""
    assert _between(total, law, 1.0)
    for wrong in WRONG:
        factor = wrong**-power
        assert _missed(law, factor) < ALARM, "more draws are needed"
        assert not _between(total, law, factor)


def normal_scale(values: Floats, sd: float | Floats) -> None:
    """Independent normals with this sd, and not 0.7 or 1.3 times it; 600 of them are enough."""
    scaled = (np.asarray(values, dtype=float) / sd).ravel()
    _has_scale(float(scaled @ scaled) / 2, stats.gamma(scaled.size / 2), 2)


def laplace_scale(values: Floats, scale: float) -> None:
    """Independent Laplace variables of this scale, so large that the lattice is fine."""
    sizes = np.abs(np.asarray(values, dtype=float) / scale).ravel()
    _has_scale(float(sizes.sum()), stats.gamma(sizes.size), 1)


def gamma_lengths(lengths: Floats, q: int) -> None:
    """Independent lengths that are Gamma(q) when measured in sensitivity / epsilon."""
    _has_scale(float(np.sum(lengths)), stats.gamma(q * np.size(lengths)), 1)


def fair_signs(values: Floats) -> bool:
    """Whether numbers whose signs are fair and independent, given their sizes, add up to little.

    Hoeffding: the sum is beyond u times the root of the sum of squares with probability at most
    2 exp(-u^2 / 2), whatever the sizes. Correlations are of that kind where a law is symmetric.
    """
    values = np.asarray(values, dtype=float).ravel()
    limit = math.sqrt(2 * math.log(2 / ALARM))
    return bool(abs(values.sum()) <= limit * np.sqrt(values @ values))


def independent_signs(values: Floats, lags: tuple[int, ...] = (1, 2, 7)) -> None:
    """Columns (draws, coordinates): signs go with no size and no other sign, near or far.

    What is heard of a coordinate repeated in every second draw has mean sqrt(n) / sqrt(2 (k + 1)), k
    the kurtosis: beyond 11 standard deviations for 1500 draws of any law here but Laplace's, and for
    2500 of that, where 6.2 are enough.
    """
    assert len(values) >= 1500
    x = np.asarray(values, dtype=float)
    x = x / np.sqrt((x**2).mean(axis=0))
    sign, size = np.sign(x), np.abs(x)
    lean = size - np.median(size, axis=0)
    for a in range(x.shape[1]):
        assert fair_signs(x[:, a])
        assert fair_signs(sign[:, a] * lean[:, a])
        for lag in lags:
            assert fair_signs(x[:-lag, a] * x[lag:, a])
            assert fair_signs(sign[:-lag, a] * lean[lag:, a])
        for b in range(a):
            assert fair_signs(x[:, a] * x[:, b])
            assert fair_signs(sign[:, a] * lean[:, b])
            assert fair_signs(x[1:, a] * x[:-1, b])
            # a coordinate that is repeated in every second draw would be heard
            repeated = np.where(np.arange(len(x)) % 2 == 0, x[:, b], x[:, a])
            assert not fair_signs(repeated * x[:, b])


def independent_sizes(one: Floats, other: Floats) -> None:
    """Sizes of independent draws: ranks that go together no more than those of a shuffled deck.

    Under independence the rank correlation has sd 1 / sqrt(n - 1) and is normal far out for the
    thousands of draws that are asked for; a tenth is added to the quantile for what is left of it.
    """
    n = len(one)
    assert n >= 2000
    limit = 1.1 * float(stats.norm.isf(ALARM / 2)) / math.sqrt(n - 1)
    sizes = np.abs(np.asarray(one, dtype=float)), np.abs(np.asarray(other, dtype=float))
    assert abs(stats.spearmanr(*sizes).statistic) < limit
    mixed = np.where(np.arange(n) % 2, sizes[1], sizes[0])
    assert abs(stats.spearmanr(mixed, sizes[1]).statistic) > limit


def fits(counts: NDArray[np.integer[Any]], masses: Floats) -> bool:
    """Chi-square test of counts, pooled with their neighbours until 25 are expected in each cell."""
    expected = masses / masses.sum() * counts.sum()
    cell = np.unique(np.floor(np.cumsum(expected) / 25 - 1e-9), return_inverse=True)[1]
    seen, expected = np.bincount(cell, counts), np.bincount(cell, expected)
    few = expected < 12
    few[np.argmax(expected)] = True  # takes in what is still too small
    seen = np.append(seen[~few], seen[few].sum())
    expected = np.append(expected[~few], expected[few].sum())
    assert len(seen) >= 3
    return bool(stats.chisquare(seen, expected).pvalue > 1e-7)
