"""Coefficients of a level that few rows have: its rows are long, and so are some of their scores.

Cuts that followed the scores of the others took those of the level's rarer outcome and left those of the
other: the effect was exaggerated, and its errors knew nothing of it.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpstats import dp_glm, dp_lm

_SEEDS = 24


def _logit(rng: np.random.Generator, n: int) -> pd.DataFrame:
    rows = pd.DataFrame({"x": rng.normal(size=n), "t": 1.0 * (rng.random(n) < 0.03)})
    chance = 1 / (1 + np.exp(-0.2 - 0.4 * rows.x - rows.t))
    return rows.assign(y=1.0 * (rng.random(n) < chance))


def _line(rng: np.random.Generator, n: int) -> pd.DataFrame:
    rows = pd.DataFrame({"x": rng.normal(size=n), "t": 1.0 * (rng.random(n) < 0.03)})
    return rows.assign(y=1.0 * (rng.random(n) < 0.5 + 0.02 * rows.x + 0.3 * rows.t))


_CASES: dict[str, tuple[Callable[..., Any], Callable[..., pd.DataFrame], int, float]] = {
    "dp_glm, alone": (dp_glm, _logit, 0, 1.0),
    "dp_lm of zeros and ones": (dp_lm, _line, 300, 0.3),
}


@pytest.mark.parametrize("case", _CASES)
def test_the_effect_of_a_rare_level_is_not_exaggerated(case: str) -> None:
    """It was, by 1.8 printed errors and more on average.

    A false alarm is a mean of standard normal numbers beyond 5 of its deviations, 6e-7.
    """
    fit, draw, m, truth = _CASES[case]
    away = []
    for seed in range(_SEEDS):
        rng = np.random.default_rng(seed)
        rows, public = draw(rng, 5000), draw(rng, m) if m else None
        found = fit("y ~ x + t", rows, public, mu=1, seed=seed)
        away.append((found.coef()["t"] - truth) / found.se()["t"])
    known = np.array(away)[np.isfinite(away)]
    assert len(known) > _SEEDS / 2
    assert abs(known.mean()) < 5 / math.sqrt(len(known))
