"""Scales and locations of all columns, found together."""

from __future__ import annotations

import math

import numpy as np

from dpstats.column_search.releases import ColumnSession, Question
from dpstats.column_search.search import COUNTED, MOST, ColumnScale, SoFar, search

_LEAST, _LARGEST = 0.08, 0.4
_COUNT_SD = 20.0
ENOUGH, _HALF = 3.2, 0.5
"""Times the questions that are planned for, what may be asked, and never more of a total than that.

The longest search for values that are not rare takes 138 where 44 are planned for.
"""


def share_of_search(n: int, mu: float, columns: int) -> float:
    """Share of the total for all columns: small where the noise of counts would be small anyway."""
    return min(max(MOST * columns * (_COUNT_SD / (n * mu)) ** 2, _LEAST), _LARGEST)


def find_scales(
    session: ColumnSession,
    columns: int,
    boxes: dict[int, tuple[float, float]],
    *,
    closely: bool = False,
) -> tuple[float, list[ColumnScale]]:
    """How many rows are used, and location and scale of each column that the session looks at.

    All columns ask together, so that a reading of the rows serves all. What their searches do not need
    of the share is left to the fit. Where they need too much, the dearest are broken off first, with
    what was found so far; a column of which nothing is known is taken as it is. ``closely``: see
    `search`.
    """
    several = max(columns, 1)
    share = share_of_search(session.n, session.total.mu, several) / (MOST * several)
    alive, _ = session.counts(
        [Question(columns, math.inf, None, np.array([math.inf]), COUNTED)], share
    )
    used = float(min(max(alive[0], 0.05 * session.n), session.n))
    so_far = [SoFar() for _ in range(columns)]
    searches = {
        k: search(k, used, boxes.get(k), so_far[k], closely=closely) for k in range(columns)
    }
    found: dict[int, ColumnScale] = {}
    asked = {k: next(one) for k, one in searches.items()}
    least = 1.0 - min(ENOUGH * MOST * several * share, _HALF)
    spent = dict.fromkeys(searches, 0.0)
    while asked:
        while session.left - share * sum(one.price for one in asked.values()) < least and asked:
            del asked[max(asked, key=spent.__getitem__)]
        for k, one in asked.items():
            spent[k] += one.price
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
    return float(alive[0]), [found.get(k, so_far[k].found) for k in range(columns)]
