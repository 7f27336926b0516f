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


@pytest.mark.parametrize("family", ["linear", "poisson"])
def test_a_level_that_next_to_no_private_row_has_costs_its_own_error_only(family: str) -> None:
    """Four of a hundred public rows have it: all errors were lost in 0.3 to 0.7 of these fits.

    Of 500 others the farthest was 3.2 printed errors off. A false alarm is one beyond seven, or twelve
    fits of which none keeps errors that the rare level lacks; a third to all of them do.
    """
    kept = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)

        def table(n: int, share: float, rng: np.random.Generator = rng) -> pd.DataFrame:
            g = rng.choice(list("ABC"), n, p=[0.6 - share, 0.4, share])
            x = rng.normal(size=n)
            eta = 0.5 * x + 0.4 * (g == "B") + 0.6 * (g == "C")
            y = eta + rng.normal(size=n) if family == "linear" else rng.poisson(np.exp(eta))
            return pd.DataFrame({"g": g, "x": x, "y": y})

        private, public = table(5000, 0.0005), table(300, 0.04)
        call: dict[str, Any] = {"public": public, "mu": 1, "seed": seed}
        if family == "linear":
            fit: Any = dp_lm("y ~ x + g", private, **call)
        else:
            fit = dp_glm("y ~ x + g", private, family="poisson", **call)
        away = ((fit.coef()[["x", "g[T.B]"]] - [0.5, 0.4]) / fit.se()[["x", "g[T.B]"]]).dropna()
        assert (np.abs(away) < 7).all()
        if np.isnan(fit.se()["g[T.C]"]) and np.isfinite(fit.se()["x"]):
            kept += 1
            assert any("The noise hides" in note and "g[T.C]" in note for note in fit.notes)
    assert kept
