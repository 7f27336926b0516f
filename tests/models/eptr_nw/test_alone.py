"""Curves from private rows alone: where rows lie, what bandwidth follows, whether intervals hold."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpstats import eptr_nw
from dpstats.column_search.search import ColumnScale
from dpstats.models.eptr_nw.alone import AloneTask, _first_fit, default_bandwidth
from dpstats.models.eptr_nw.estimate import grid_axes
from dpstats.models.eptr_nw.public import MOST_NODES


def table(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=(2, n))
    y = x**2 + 0.5 * rng.normal(size=n)
    return pd.DataFrame({"x": x, "z": z, "y": y})


def test_nothing_but_rows_and_a_budget_is_needed() -> None:
    fit = eptr_nw("y ~ x", table(5000, 1), mu=1, seed=1)
    at = np.linspace(-2, 2, 9)
    found = fit.predict({"x": at}, interval="confidence")
    assert np.abs(found.fit - at**2).max() < 0.3
    assert ((found.lwr < at**2) & (at**2 < found.upr)).all()
    text = str(fit.summary())
    assert "(from released scales)" in text
    assert "a released polynomial of degree 7" in text
    assert "public" not in text.replace("n is public", "")


@pytest.mark.parametrize(
    "formula", ["y ~ x + z", pytest.param("y ~ x + z + I(x * z)", marks=pytest.mark.slow)]
)
def test_several_covariates(formula: str) -> None:
    data = table(20_000, 2)
    fit = eptr_nw(formula, data, mu=2, seed=2)
    some = data.head(500)
    inside = some[(some.x.abs() < 1.5) & (some.z.abs() < 1.5)]
    off = fit.predict(inside) - inside.x**2
    assert float(np.sqrt((off**2).mean())) < 0.25


@pytest.mark.parametrize(("scale", "shift"), [(1e-9, 0.0), (1e9, 0.0), (1.0, 1e6)])
def test_units_and_origins_change_nothing_that_is_seen(scale: float, shift: float) -> None:
    data = table(5000, 3)
    at = np.linspace(-2, 2, 9)
    plain = eptr_nw("y ~ x", data, mu=2, seed=3).predict({"x": at})
    moved = data.assign(x=data.x * scale + shift, y=data.y * scale + shift)
    fit = eptr_nw("y ~ x", moved, mu=2, seed=3)
    again = (fit.predict({"x": at * scale + shift}) - shift) / scale
    assert np.abs(again - plain).max() < 0.15


@pytest.mark.slow
def test_a_narrower_bandwidth_than_nodes_allow_is_widened_and_it_is_said() -> None:
    fit = eptr_nw("y ~ x", table(5000, 4), mu=1, bandwidth=1e-4, seed=4)
    assert float(fit.bandwidth.iloc[0]) > 1e-3
    assert any(note.startswith("The bandwidth of `x` is") for note in fit.notes)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_nodes_of_the_narrowest_bandwidth_are_not_too_many_by_rounding(d: int) -> None:
    """One call in eight ended in an error, after it had been charged."""
    rng = np.random.default_rng(d)
    nothing: Any = None
    task = AloneTask(nothing, {}, np.full(d, 1e-9), (None, None))
    for _ in range(500):
        shift = 10.0 ** rng.integers(0, 9)
        found = [ColumnScale(shift * rng.normal(), rng.exponential()) for _ in range(d + 1)]
        fit = _first_fit(task, found, 1000.0, 1.0)
        h = fit.smoothing.bandwidth
        assert grid_axes(fit.low / h, fit.high / h, 1.0, MOST_NODES) is not None


@pytest.mark.slow
def test_rows_in_few_places_far_apart_are_said_to_be_flattened() -> None:
    rng = np.random.default_rng(1)
    x = np.where(
        rng.random(20_000) < 0.6, rng.uniform(0, 10, 20_000), rng.uniform(110, 120, 20_000)
    )
    rows = pd.DataFrame({"x": x, "y": np.sin(x / 3)})
    said = "about as wide as the places where rows lie"
    assert any(said in note for note in eptr_nw("y ~ x", rows, mu=1, seed=1).notes)
    stated = eptr_nw("y ~ x", rows, mu=1, bandwidth=1, seed=1)
    assert not any(said in note for note in stated.notes)
    assert abs(stated.predict({"x": [5.0]})[0] - np.sin(5 / 3)) < 0.1
    assert not any(said in note for note in eptr_nw("y ~ x", table(5000, 1), mu=0.3, seed=1).notes)


def test_ranges_leave_out_what_is_beyond_them() -> None:
    data = table(5000, 5)
    fit = eptr_nw("y ~ x", data, mu=1, limits={"x": (0, 1)}, seed=5)
    assert fit.curve.x.between(-0.3, 1.3).all()
    assert any("beyond" in note or "not used" in note for note in fit.notes)


def test_bandwidths_fall_with_rows_and_budget() -> None:
    sizes = [default_bandwidth(n, mu, 1) for n, mu in ((1e3, 0.3), (1e4, 0.3), (1e4, 1), (1e6, 1))]
    assert sizes == sorted(sizes, reverse=True)
    assert default_bandwidth(1e4, 1, 2) > default_bandwidth(1e4, 1, 1)


HOSTILE: dict[str, Any] = {
    "constant covariate": {"x": 1.0},
    "constant response": {"y": 7.0},
    "nothing": {"x": np.nan, "y": np.nan},
    "infinite": {"x": np.inf, "y": -np.inf},
    "huge": {"x": 1e300, "y": -1e300},
    "tiny": {"x": 5e-324, "y": 5e-324},
    "marks": {"x": np.arange(5000) % 2, "y": np.arange(5000) % 2},
    "few values": {"x": np.arange(5000) % 3 * 1e8},
    "two clouds": {"x": np.where(np.arange(5000) < 2500, -1e6, 1e6)},
    "an outlier": {"y": np.where(np.arange(5000) == 0, 1e200, 1.0)},
}


@pytest.mark.parametrize("name", HOSTILE)
def test_odd_rows_never_raise_or_warn(name: str) -> None:
    data = table(5000, 6).assign(**HOSTILE[name])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for formula in ("y ~ x", "y ~ x + z"):
            fit = eptr_nw(formula, data, mu=1, seed=6)
            assert isinstance(str(fit.summary()), str)
            assert len(fit.predict(table(5, 1))) == 5


def test_intervals_hold_where_few_rows_lie() -> None:
    """Of 12 fits at 9 points, the last of which are 2.5 standard deviations out; by chance one in 40."""
    at = np.linspace(-2.5, 2.5, 9)
    held = []
    for seed in range(12):
        fit = eptr_nw("y ~ x", table(3000, seed), epsilon=1, delta=1e-5, seed=seed)
        found = fit.predict({"x": at}, interval="confidence").dropna()
        truth = at[found.index] ** 2
        held.append(((found.lwr < truth) & (truth < found.upr)).mean())
    assert np.mean(held) > 0.85
