"""A private scale: quantiles read off a noisy histogram on a logarithmic grid.

The histogram is the release (one mechanism, l2 sensitivity sqrt(2)); everything here is
post-processing of its noisy counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class LogHistogram:
    """Noisy counts in quarter-octave bins from 2**lowest upwards.

    Attributes
    ----------
    counts : (4 * octaves,) array
    noise_sd : float
        In counts.
    """

    counts: Floats
    noise_sd: float
    lowest: int
    octaves: int

    def edges(self) -> Floats:
        """Edges 2^k (1, 1.25, 1.5, 1.75) of the bins, one more than there are counts."""
        k = np.arange(4 * self.octaves + 1)
        return np.ldexp(1 + (k % 4) / 4, self.lowest + k // 4)

    def quantile(self, level: float) -> float | None:
        """Quantile of the values, or None when no bin stands out of the noise.

        Counts are trusted where the sum over three neighbouring bins exceeds 3.5 of its noise
        standard deviations; the others are noise around zero and would only add variance. Inside
        a bin the quantile is interpolated linearly.
        """
        padded = np.concatenate([[0.0], self.counts, [0.0]])
        three = padded[:-2] + padded[1:-1] + padded[2:]
        seen = three > 3.5 * math.sqrt(3) * self.noise_sd
        if not seen.any():
            return None
        wide = np.concatenate([[False], seen, [False]])
        kept = np.where(wide[:-2] | wide[1:-1] | wide[2:], np.maximum(self.counts, 0.0), 0.0)
        cumulative = np.cumsum(kept)
        target = level * cumulative[-1]
        k = int(np.searchsorted(cumulative, target))
        below = cumulative[k - 1] if k else 0.0
        inside = (target - below) / kept[k] if kept[k] > 0 else 0.0
        edges = self.edges()
        return float(edges[k] + inside * (edges[k + 1] - edges[k]))

    def peak(self) -> float:
        """Upper edge of the fullest bin, for when nothing stands out and nothing else is known."""
        return float(self.edges()[int(np.argmax(self.counts)) + 1])
