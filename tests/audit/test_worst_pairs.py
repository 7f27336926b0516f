"""The search for worst neighbours: pairs that break a release; tables and errors of the search.

How seldom a right implementation fails is said in `tests.audit.made_up`.
"""

from __future__ import annotations

import datetime
import itertools
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpstats import dp_mean
from dpstats.audit import audit, worst_neighbours
from dpstats.audit.same import same_data
from dpstats.errors import ArgumentError, PlanWarning
from tests.audit.made_up import _CALM, _PUBLIC, _gaussian, _integers


def test_an_unclipped_mean_is_broken_by_a_huge_row() -> None:
    noise = _gaussian(0.05)
    data, other = worst_neighbours(
        lambda rows: noise(float(np.nansum(rows)) / 40), np.linspace(0, 1, 40), trials=20
    )
    assert (data != other).sum() == 1
    assert np.abs(other).max() >= 1e5
    found = audit(lambda rows: noise(float(rows.mean())), (data, other), mu=1, trials=400)
    assert found.refuted


def test_missing_rows_are_tried() -> None:
    noise = _gaussian(0.01)
    release = lambda rows: noise(float(np.isnan(rows).sum()))  # noqa: E731
    _, other = worst_neighbours(release, np.linspace(0, 1, 80).reshape(20, 4), trials=10)
    assert np.isnan(other).sum() == 4


@pytest.mark.slow
def test_two_columns_break_together() -> None:
    noise = _gaussian()
    data = np.random.Generator(np.random.PCG64(1)).normal(size=(30, 2))
    width = np.ptp(data, axis=0)

    def release(rows: Any) -> float:
        return noise(float(np.clip(np.nan_to_num((rows / width) @ [1, -1]), -900, 900).mean()))

    _, other = worst_neighbours(release, data, trials=20)
    (row,) = np.flatnonzero((data != other).any(axis=1))
    assert other[row, 0] * other[row, 1] < 0
    assert np.abs(other[row]).min() > 1e3


@pytest.mark.parametrize("leak", ["the value twice", "the value at all", "its last bit"])
def test_a_special_inner_value_is_detected(leak: str) -> None:
    # the noise is that of mu = 1; the pair tells 50 standard deviations, or a bit without fail
    noise, rows = _integers(2), np.linspace(0, 1, 21)

    def release(values: Any) -> int:
        total = round(1000 * float(np.clip(np.nan_to_num(values), 0, 1).sum())) + noise()
        often = int((values == rows[7]).sum())
        if leak == "its last bit":
            return total // 2 * 2 + (often > 1)
        return total + 50_000 * (often > (leak == "the value twice"))

    data, other = worst_neighbours(release, rows, trials=20)
    assert (data == rows[7]).sum() != (other == rows[7]).sum()
    assert (data != other).sum() == 1
    assert audit(release, (data, other), mu=1.01, trials=1000).refuted


@pytest.fixture
def mixed() -> pd.DataFrame:
    n = 24
    frame = pd.DataFrame(
        {
            "x": np.linspace(0, 1, n),
            "n": np.arange(n),
            "small": np.arange(n, dtype="int8"),
            "word": ["a", "b"] * (n // 2 - 1) + ["a", "c"],
            "kind": pd.Categorical(["u"] * (n - 1) + ["v"]),
            "yes": [True, False] * (n // 2),
            "some": pd.array([1, None] * (n // 2), dtype="Int64"),
            "when": pd.date_range("2020", periods=n),
        },
        index=[f"r{i}" for i in range(n)],
    )
    return frame.assign(text=frame["word"].astype("string"))


@pytest.mark.slow
def test_tables_with_text_keep_their_kinds(mixed: pd.DataFrame) -> None:
    noise = _gaussian(0.01)
    seen: list[pd.DataFrame] = []

    def release(rows: pd.DataFrame) -> float:
        seen.append(rows)
        return noise(float((~rows["word"].isin(["a", "b", "c"])).sum() + rows["x"].max() / 1e9))

    before = mixed.copy()
    data, other = worst_neighbours(release, mixed, trials=10)
    pd.testing.assert_frame_equal(mixed, before)
    assert data is mixed
    assert all((rows.dtypes == mixed.dtypes).all() for rows in seen)
    assert all(rows.index.equals(mixed.index) for rows in seen)
    changed = [
        not a.equals(b) for (_, a), (_, b) in zip(data.iterrows(), other.iterrows(), strict=True)
    ]
    assert sum(changed) == 1
    assert not other["word"].isin(["a", "b", "c"]).all()


def test_candidates_and_rows_of_the_users_own(mixed: pd.DataFrame) -> None:
    noise = _gaussian(0.01)
    release = lambda rows: noise(float(rows["x"].sum()))  # noqa: E731
    own = mixed.iloc[[0, 0]].assign(x=[5.0, 70.0])
    _, other = worst_neighbours(release, mixed, own, rows=[3], trials=30)
    assert other["x"].iloc[3] == 70.0
    rows = [dict(own.iloc[0]), own.iloc[0], own.iloc[1]]
    _, other = worst_neighbours(release, mixed, rows, rows=[-1], trials=30)
    assert other["x"].iloc[-1] == 70.0
    total = lambda values: noise(float(values.sum()))  # noqa: E731
    _, array = worst_neighbours(total, np.arange(9.0), [3.0, 99.0], rows=(2,), trials=10)
    assert array[2] == 99.0
    _, array = worst_neighbours(total, np.arange(9), trials=10)
    assert array.dtype == np.arange(9).dtype


@pytest.mark.slow
def test_a_release_of_the_package_survives_the_search() -> None:
    data = _CALM.iloc[:4].assign(g=["a", "b"] * 2)
    seeds = itertools.count(1)

    def release(rows: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PlanWarning)
            return dp_mean(["x"], rows, public=_PUBLIC, mu=4, covariance=1.0, seed=next(seeds))

    _, other = worst_neighbours(release, data, rows=[0], trials=10)
    assert other.shape == data.shape


def test_a_pair_is_a_pair() -> None:
    when = pd.DataFrame({"when": pd.date_range("2020", periods=6)})
    day = pd.DataFrame({"day": [datetime.date(2020, 1, 1 + k) for k in range(6)]})
    for data in (when, day, np.ones(4), np.zeros((3, 2))):
        given, other = worst_neighbours(lambda rows: 0.0, data, trials=10)
        assert given is data
        assert not same_data(data, other)
    for rows in ([[1.0]], np.ones((2, 1))):
        with pytest.raises(ArgumentError, match="every candidate equals the row"):
            worst_neighbours(lambda rows: 0.0, np.ones(4), rows, trials=10)


def test_errors_of_the_search() -> None:
    def release(rows: Any) -> float:
        if np.isnan(rows).any():
            raise ZeroDivisionError("mine")
        return 0.0

    with pytest.raises(ZeroDivisionError, match="mine") as caught:
        worst_neighbours(release, np.arange(9.0), trials=10)
    assert "a missing row" in caught.value.__notes__[0]
    cases: list[tuple[dict[str, Any], str]] = [
        ({"release": 1}, "function"),
        ({"data": [1, 2]}, "DataFrame"),
        ({"data": np.array(["a"])}, "DataFrame"),
        ({"data": np.zeros((0, 2))}, "a row and a column"),
        ({"trials": 9}, ">= 10"),
        ({"rows": [9]}, "positions"),
        ({"rows": []}, "positions"),
        ({"candidates": [[1.0, 2.0]]}, "rows of 1 values"),
        ({"candidates": []}, "rows of 1 values"),
        ({"candidates": 5}, "list of up to"),
        ({"candidates": ["x"]}, "where data have numbers"),
        ({"rows": 0}, "positions"),
        ({"rows": ["a"]}, "positions"),
        ({"rows": [0.7]}, "positions"),
    ]
    for options, words in cases:
        with pytest.raises(ArgumentError, match=words):
            worst_neighbours(**{"release": release, "data": np.arange(9.0), **options})
