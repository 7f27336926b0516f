"""Whitening of rows of which nothing but the scale of their columns is known.

Second moments are released again and again: each time rows are whitened by what the last release shows,
and no further than its noise, so that a direction which that noise hides is several times as long
in the next. It ends when all directions are seen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from dpstats.arrays import Floats
from dpstats.numerics.matrices import Curvature, Whitening, floored, shrink_second_moment
from dpstats.score_rounds.cuts import cut_of_moments
from dpstats.score_rounds.releases import ScoreSession, Shares
from dpstats.score_rounds.rows import RoundCuts
from dpstats.score_rounds.tails import median_excess, tail_of

_LENGTHS = 0.006
_MOST = 0.4
_SEEN = 1.2
_LOW, _HIGH = 0.4, 3.0
_PATIENCE = 2
_FINAL = 0.08
_FARTHER = 1.3


@dataclass(frozen=True)
class Whitened:
    """Rows as they are seen in the end.

    Attributes
    ----------
    whitening : Whitening
    curvature : Curvature
        Their second moments.
    lengths : float
        90 % quantile of the lengths of rows.
    radius : float
        Where they were cut for the second moments.
    lost : float
        What that took off the mean square length at most, which may all lie in one direction.
    """

    whitening: Whitening
    curvature: Curvature
    lengths: float
    radius: float
    lost: float = 0.0


def share_of_moments(n: int, d: int, mu: float) -> float:
    return float(min(max((16 * d**1.5 / (n * mu)) ** 2, 0.02), 0.06))


def whiten(session: ScoreSession, back: Floats) -> Whitened:
    """Whiten the rows of a session, which sees x'back so far.

    A direction that is carried by a few rows, such as a rare level, stays hidden however it is
    stretched, because its rows are cut. Where stages no longer bring new directions to light, the first
    of those that show most of them is kept.
    """
    n, d, mu = session.n, len(back), session.total.mu
    share = share_of_moments(n, d, mu)
    zero = np.zeros(d)
    octave = math.floor(math.log2(math.sqrt(d)))
    windows = (octave - 12, 32), (-1, 1)
    stages: list[tuple[int, Whitened]] = []
    while True:
        lengths = session.information_lengths(_LENGTHS, zero, windows, fine=14)
        quantile = lengths.quantile(0.9) or math.sqrt(d)
        tail = tail_of(lengths, quantile, n, 2)
        radius = cut_of_moments(tail, d, n, mu * math.sqrt(share))
        made = session.round(Shares(information=share), zero, RoundCuts(None, radius))
        assert made.information is not None
        released, sd = made.information.value, made.information.noise_sd
        noise = sd * math.sqrt(2 * d)
        values = np.linalg.eigvalsh(released)
        hidden = int((values < _SEEN * noise).sum())
        whitening = Whitening(back, np.linalg.inv(back))
        curvature = shrink_second_moment(released, sd, known=False)
        stages.append((hidden, Whitened(whitening, curvature, quantile, radius)))
        if not hidden and values[0] > _LOW and values[-1] < _HIGH:
            break
        spent = (share + _LENGTHS) * (len(stages) + 1)
        least = min(count for count, _ in stages)
        since = len(stages) - 1 - [count for count, _ in stages].index(least)
        if spent > _MOST or since >= _PATIENCE:
            break
        used = floored(released, noise / 2)
        eigen, vectors = np.linalg.eigh(used)
        back = back @ (vectors / np.sqrt(eigen)) @ vectors.T
        back, _ = session.whiten(back, zero)
    best = stages[-1][1] if not hidden else min(stages, key=lambda stage: stage[0])[1]
    farther = cut_of_moments(tail, d, n, mu * math.sqrt(_FINAL))
    if not hidden and farther < _FARTHER * best.radius:
        return replace(best, lost=median_excess(lengths, quantile, n, best.radius))
    lost = median_excess(lengths, quantile, n, farther)
    return replace(_measured(session, best, farther), lost=lost)


def _measured(session: ScoreSession, seen: Whitened, radius: float) -> Whitened:
    """The same whitening with second moments at a larger share, and so with fewer rows cut."""
    zero = np.zeros(len(seen.whitening.back))
    session.whiten(seen.whitening.back, zero)
    made = session.round(Shares(information=_FINAL), zero, RoundCuts(None, radius))
    assert made.information is not None
    curvature = shrink_second_moment(made.information.value, made.information.noise_sd, known=False)
    return replace(seen, curvature=curvature, radius=radius)
