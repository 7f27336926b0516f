"""What a curve of probabilities gives away, computed by other means than the curve was."""

import numpy as np
from numpy.typing import ArrayLike

from dpstats.propose_test.curve import Levels
from dpstats.propose_test.pair import one_way


def exact_delta(curve: ArrayLike, levels: Levels, noise_sd: float, epsilon: float) -> float:
    """The exact delta(epsilon) of any curve: over all pairs of levels, by (1) of `divergence`.

    It shares no code with the recursion and accepts every curve, also one that is not monotone.
    Pairs beyond the end of the curve, whose last entry holds there, are covered: the shift of two
    data sets there is at most ``same`` at the last level.
    """
    p = np.asarray(curve, dtype=np.float64)
    same = np.array([levels.same_at(k) for k in range(len(p))]) / noise_sd
    up = np.array([levels.up_at(k) for k in range(len(p) - 1)]) / noise_sd
    pairs = [one_way(p, p, same, epsilon)]
    pairs += [one_way(p[1:], p[:-1], up, epsilon), one_way(p[:-1], p[1:], up, epsilon)]
    return float(np.concatenate(pairs).max())
