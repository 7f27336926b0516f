"""Long scores that point one way."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpstats import dp_lm
from dpstats.accounting.privacy import Privacy
from dpstats.mechanism.release import Release
from dpstats.score_rounds.cuts import Cut
from dpstats.score_rounds.leaning import Leaning, leaning
from dpstats.score_rounds.tails import Tail

_LENGTHS = np.geomspace(1, 100, 200)
_TAIL = Tail(_LENGTHS, 0.1 * _LENGTHS**-2.0, 3.0, 5000)
_CUT = Cut(length=8.0, slope=1.0, excess=0.01, unit=1.0)


def _lean(mean: list[float], noise_sd: float = 0.01, **changes: Any) -> Leaning | None:
    found = Release("mean of long scores", np.array(mean), 0.01, noise_sd, Privacy(mu=0.2), 1e-9)
    given: dict[str, Any] = {"n": 5000, "mu": 0.8, "lost": lambda at: 1 / at, **changes}
    return leaning(found, 4.5, _TAIL, _CUT, given["lost"], given["n"], given["mu"])


def test_a_mean_that_noise_explains_has_no_direction() -> None:
    assert _lean([0.02, 0.01]) is None
    assert _lean([0.06, 0.03], noise_sd=0.05) is None


def test_where_they_lean_the_cut_is_farther_out_by_what_noise_and_loss_allow() -> None:
    seen = _lean([0.06, 0.08])
    assert seen is not None
    assert seen.direction == pytest.approx([0.6, 0.8])
    at = seen.stretch * _CUT.length
    assert seen.left == pytest.approx(1 / at)
    assert 2 * at / (5000 * 0.8) <= 3.0 / 1.65 / np.sqrt(2) / np.sqrt(5000) * 1.001


def test_little_that_may_be_lost_or_noise_that_is_loud_already_leaves_the_cut_where_it_is() -> None:
    assert _lean([0.06, 0.08], lost=lambda at: 0.0) is None
    assert _lean([0.06, 0.08], mu=0.1) is None


def test_the_turn_shortens_scores_that_lean_and_no_others() -> None:
    seen = Leaning(np.array([0.6, 0.8]), 4.0, 0.2)
    assert seen.turn @ seen.direction == pytest.approx(seen.direction / 4)
    assert seen.turn @ [0.8, -0.6] == pytest.approx([0.8, -0.6])
    assert seen.lost == pytest.approx(seen.turn @ seen.direction * 0.2)


def _curved(seed: int, n: int) -> pd.DataFrame:
    """Least squares has (-0.4, 0.8, 0.5): x^2 is 4 x - 2 in the mean."""
    rng = np.random.default_rng(seed)
    x, t = rng.exponential(size=n), rng.normal(size=n)
    return pd.DataFrame({"x": x, "t": t, "y": 0.2 * x**2 + 0.5 * t + rng.normal(size=n)})


@pytest.mark.parametrize("public", [0, 250])
def test_the_slope_of_a_mean_that_bends_is_not_that_of_its_middle(public: int) -> None:
    """Cut alike in all directions it was too small by 3 to 4 printed errors, now by 0.8 of longer ones.

    The mean of eight has a standard deviation of 0.3, and one fit in ten does not see where scores lean:
    each assertion fails for one set of seeds in a million.
    """
    off, named = [], 0
    for seed in range(8):
        sample = _curved(100 + seed, public) if public else None
        fit = dp_lm("y ~ x + t", _curved(seed, 5000), sample, mu=1, seed=seed)
        off.append((fit.coef()["x"] - 0.8) / fit.se()["x"])
        lines = fit.diagnostics()
        named += "leaning scores" in str(lines)
    assert abs(np.mean(off)) < 2.3
    assert named >= 2


def test_normal_rows_lean_nowhere() -> None:
    """Noise is taken for a direction in one fit of twenty: in nine of sixteen once in 10^7 tests."""
    rng = np.random.default_rng(3)
    named = 0
    for seed in range(16):
        rows = pd.DataFrame(rng.normal(size=(5000, 3)), columns=["y", "x", "t"])
        fit = dp_lm("y ~ x + t", rows.assign(y=rows.y + rows.x), mu=1, seed=seed)
        named += "leaning scores" in str(fit.diagnostics())
    assert named <= 8
