"""What models say of rows that they were given, alike: too few, missing, or in the wrong place."""

import re
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpstats import dp_mean, dp_mixture, dp_mvnorm, eptr_bayes, eptr_nw
from dpstats.errors import PlanWarning


def _table(n: int, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    g = np.where(rng.random(n) < 0.5, "a", "b")
    return pd.DataFrame({"x": x, "y": x + rng.normal(size=n), "g": g})


def _curve(data: Any, public: Any) -> Any:
    return eptr_nw("y ~ x", data, public, mu=1, seed=1)


def _curve_alone(data: Any, public: Any) -> Any:
    limits = {"x": (-5, 5), "y": (-9, 9)}
    return eptr_nw("y ~ x", data, mu=1, seed=1, limits=limits, bandwidth=0.5)


def _classes(data: Any, public: Any) -> Any:
    return eptr_bayes("g ~ x + y", data, public, mu=1, seed=1)


def _mean(data: Any, public: Any) -> Any:
    return dp_mean(["x", "y"], data, public, mu=1, seed=1)


def _gaussian(data: Any, public: Any) -> Any:
    return dp_mvnorm(["x", "y"], data, public, mu=1, seed=1)


def _mixture(data: Any, public: Any) -> Any:
    return dp_mixture("~ x + y", data, public, k=1, mu=1, seed=1)


@pytest.mark.parametrize("fit", [_curve, _curve_alone, _classes, _mean, _gaussian, _mixture])
def test_a_third_of_a_column_that_is_missing_is_spoken_of(fit: Any) -> None:
    """By a released number, whose noise is below 50 rows: by chance with a probability below 1e-9."""
    data, public = _table(6000, 1), _table(200, 2)
    assert not any("not used" in note for note in fit(data, public).notes)
    data.loc[::3, "x"] = np.nan
    assert any(re.search(r"About 3\d ?% .* not used", note) for note in fit(data, public).notes)


@pytest.mark.parametrize("fit", [_curve, _classes, _mean, _gaussian, _mixture])
def test_more_public_rows_than_private_ones_are_spoken_of(fit: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlanWarning)
        found = fit(_table(300, 1), _table(1000, 2))
    assert any("see that they are not swapped" in note for note in found.notes)
    assert not any("swapped" in note for note in fit(_table(3000, 1), _table(300, 2)).notes)


def test_a_warning_of_unknown_scales_is_in_the_summary() -> None:
    data = _table(2000, 1)
    with pytest.warns(PlanWarning, match="tell no scale"):
        found = dp_mean(["x"], data[2:], data[:2], mu=1, seed=1)
    assert "2 public rows tell no scale" in " ".join(str(found.summary()).split())
    assert "tell no scale" not in " ".join(str(found).split())
