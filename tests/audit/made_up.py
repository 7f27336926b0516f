"""Made-up releases and rows that the tests of audits share.

Seeds are fixed. With others, "not refuted" of a right claim fails with probability 1e-7 at most (the
audits hold with the rest); what an audit must find has a margin of five standard errors or more.
All in all a right implementation would fail a test of these modules with probability below 1e-6.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

_SURE = 1 - 1e-7


def _plus(law: Callable[[np.random.Generator, int], Any], seed: int = 1) -> Callable[[Any], Any]:
    """Adds a fresh draw to the data on every call; drawn in blocks, to be fast.

    Rounded to multiples of 2**-30: the last bits of a sum of floats would tell what was added.
    """
    state = np.random.Generator(np.random.PCG64(seed))
    draws = itertools.chain.from_iterable(law(state, 4096) for _ in itertools.count())

    def release(data: Any) -> Any:
        total = (data + next(draws)) * 2**30
        rounded = np.rint(total) if isinstance(total, np.ndarray) else float(round(total))
        return rounded / 2**30

    return release


def _gaussian(sd: float = 1.0, seed: int = 1) -> Callable[[Any], Any]:
    return _plus(lambda state, n: state.normal(scale=sd, size=n).tolist(), seed)


def _laplace(scale: float, seed: int = 1) -> Callable[[Any], Any]:
    return _plus(lambda state, n: state.laplace(scale=scale, size=n).tolist(), seed)


_Noise = Callable[[], int]  # integers with a standard deviation of 1000


def _integers(seed: int = 1) -> _Noise:
    """Noise of standard deviation 1000, rounded to integers."""
    state = np.random.Generator(np.random.PCG64(seed))
    draws = itertools.chain.from_iterable(
        np.rint(state.normal(scale=1000, size=4096)).astype(int).tolist() for _ in itertools.count()
    )
    return lambda: int(next(draws))


class _Result:
    """Coefficients that are shown, and something besides."""

    def __init__(self, value: float, hidden: Any) -> None:
        self.value, self._hidden = value, hidden

    def coef(self) -> dict[str, float]:
        return {"a": self.value}


def _rows(n: int) -> pd.DataFrame:
    x = np.linspace(-1, 1, n)
    return pd.DataFrame({"x": x, "y": x + np.sin(9 * x)})


_PUBLIC = _rows(12)
_CALM = _rows(40)
