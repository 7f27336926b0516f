"""Scales and locations of all columns, found together."""

from __future__ import annotations

import math

import numpy as np

from dpstats.column_search.releases import ColumnSession, Question
from dpstats.column_search.search import MOST, Asking, ColumnScale, search

_LEAST, _LARGEST = 0.08, 0.4
_COUNT_SD = 20.0
_PATIENCE = 1.5


def share_of_search(n: int, mu: float, columns: int) -> float:
    """Share of the total for all columns: small where the noise of counts would be small anyway."""
    return min(max(MOST * columns * (_COUNT_SD / (n * mu)) ** 2, _LEAST), _LARGEST)


def find_scales(
    session: ColumnSession, columns: int, boxes: dict[int, tuple[float, float]]
) -> list[ColumnScale]:
    """Location and scale of each column that the session looks at.

    All columns ask together, so that a reading of the rows serves all. What their searches do not need
    of the share is left to the fit. A column that asks for more than half as much again as was planned
    is not found; the others do not pay for it.
    """
    share = share_of_search(session.n, session.total.mu, columns) / (MOST * columns)
    alive, _ = session.counts([Question(0, math.inf, None, np.array([math.inf]), 2.0)], share)
    used = float(min(max(alive[0], 0.05 * session.n), session.n))
    searches: dict[int, Asking] = {k: search(k, used, boxes.get(k)) for k in range(columns)}
    found: dict[int, ColumnScale] = {}
    asked = {k: next(one) for k, one in searches.items()}
    spent = dict.fromkeys(searches, 0.0)
    while asked:
        for k, one in list(asked.items()):
            spent[k] += one.price
            if spent[k] > _PATIENCE * MOST:
                del asked[k]
        if not asked:
            break
        values, noise = session.counts(list(asked.values()), share)
        answered = list(asked)
        asked = {}
        for k, value, sd in zip(answered, values, noise, strict=True):
            try:
                asked[k] = searches[k].send((float(value), float(sd)))
            except StopIteration as end:
                found[k] = end.value
    return [found.get(k, ColumnScale(0.0, None)) for k in range(columns)]
