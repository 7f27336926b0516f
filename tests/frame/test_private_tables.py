"""Methods that show rows say where these are the private table of an earlier call."""

from __future__ import annotations

import gc
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from dpstats import dp_lm, dp_mean, dp_mixture, eptr, eptr_lm, eptr_nw
from dpstats.datasets import fair
from dpstats.errors import ArgumentError, DPStatsError, PrivateRowsWarning
from dpstats.models.linear.result import LinearModel

PUBLIC, PRIVATE = fair()


@pytest.fixture(scope="module")
def fit() -> LinearModel:
    return dp_lm("rate_marriage ~ age + religious", PRIVATE, PUBLIC, mu=1, seed=1)


@pytest.mark.parametrize(
    "shown",
    [
        lambda fit, rows: fit.predict(rows),
        lambda fit, rows: fit.predictions(rows, by="religious"),
        lambda fit, rows: fit.slopes(rows),
        lambda fit, rows: fit.comparisons(rows),
        lambda fit, rows: fit.simulate(3, rows, seed=1),
    ],
)
def test_private_rows_are_not_shown_without_a_word(
    fit: LinearModel, shown: Callable[[Any, Any], Any]
) -> None:
    with pytest.warns(PrivateRowsWarning, match="not protected") as said:
        shown(fit, PRIVATE)
    assert len({str(one.message) for one in said}) == 1
    assert said[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error", PrivateRowsWarning)
        shown(fit, PUBLIC)
        fit.predictions(data=PRIVATE, mu=0.5, seed=1)


def test_nothing_keeps_a_private_table_alive() -> None:
    table = PRIVATE.copy()
    alive = weakref.ref(table)
    dp_lm("rate_marriage ~ age", table, PUBLIC, mu=1, seed=1)
    del table
    gc.collect()
    assert alive() is None


def test_public_rows_of_a_dry_run_stay_public() -> None:
    """As do rows of a call that was refused before it read one."""
    public = PUBLIC.copy()
    dry = dp_lm("rate_marriage ~ age + religious", public, public, mu=1, seed=1)
    refused = PRIVATE.copy()
    with pytest.raises(DPStatsError):
        dp_lm("rate_marriage ~ agee", refused, mu=1)
    with pytest.raises(ArgumentError, match="too few"):
        dry.predictions(data=refused.head(40), mu=0.01)
    with warnings.catch_warnings():
        warnings.simplefilter("error", PrivateRowsWarning)
        dry.predict(public)
        dry.predict(refused)


def test_every_function_knows_which_rows_are_public_and_which_are_private() -> None:
    public, private = PUBLIC.copy(), PRIVATE.copy()
    both = {"epsilon": 1.0, "delta": 1e-5, "seed": 1}
    calls: tuple[Callable[[pd.DataFrame, pd.DataFrame], Any], ...] = (
        lambda rows, some: dp_mean(["age", "educ"], rows, some, mu=1, seed=1),
        lambda rows, some: dp_mixture(["age", "educ"], rows, some, k=2, mu=1, seed=1),
        lambda rows, some: eptr_nw("rate_marriage ~ age", rows, some, **both),
        lambda rows, some: eptr_lm("rate_marriage ~ age", rows, some, **both),
    )
    fit = dp_lm("rate_marriage ~ age + religious", PRIVATE, PUBLIC, mu=1, seed=1)
    for call in calls:
        some, rows = public.copy(), private.copy()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of few rows
            call(some, some)
            call(rows, some)
        with warnings.catch_warnings():
            warnings.simplefilter("error", PrivateRowsWarning)
            fit.predict(some)
        with pytest.warns(PrivateRowsWarning):
            fit.predict(rows)


def test_the_rows_of_a_statistic_of_ones_own_are_private_too() -> None:
    rows = PRIVATE[["age"]].copy()
    fit = dp_lm("rate_marriage ~ age", PRIVATE, PUBLIC, mu=1, seed=1)
    mean = {"alpha": 0.01, "epsilon": 1.0, "delta": 1e-6, "seed": 1}
    eptr(rows, lambda table: float(table.age.mean()), lambda _: 3, **mean)
    with pytest.warns(PrivateRowsWarning):
        fit.predict(rows)
