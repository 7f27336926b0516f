"""What an audit is given: arguments, data sets that are equal, releases that raise or warn."""

from __future__ import annotations

import datetime
import itertools
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpstats
from dpstats.accounting.privacy import Privacy
from dpstats.audit import Audit, audit, worst_neighbours
from dpstats.audit.same import same_data
from dpstats.errors import ArgumentError, DPStatsError, PlanWarning, PrivacyError
from tests.audit.made_up import _gaussian

# --- arguments -----------------------------------------------------------------------------------


def test_the_module_can_be_called() -> None:
    assert isinstance(dpstats.audit(float, (0, 1), trials=40), Audit)
    assert isinstance(dpstats.audit.audit(float, (0, 1), trials=40), Audit)
    assert dpstats.audit.worst_neighbours is worst_neighbours


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"neighbours": (1, 2, 3)}, "pair"),
        ({"neighbours": pd.DataFrame({"a": [1, 2]})}, "pair"),
        ({"release": 3}, "function of a data set"),
        ({"trials": 39}, ">= 40"),
        ({"trials": 1e4}, "whole number"),
        ({"confidence": 1.0}, r"\[0.5, 1\)"),
        ({"confidence": 99}, "confidence"),
        ({"statistic": "coef"}, "statistic"),
        ({"mu": 1, "epsilon": 1}, "one claim: mu= and epsilon="),
        ({"claim": Privacy(1.0), "mu": 1}, "one claim"),
        ({"claim": 1.0}, r"delta\(epsilon\)"),
        ({"mu": -1}, "mu must be"),
        ({"mu": math.nan}, "mu must be"),
        ({"epsilon": "1"}, "epsilon must be"),
        ({"epsilon": 1, "delta": 1}, "delta must lie"),
    ],
)
def test_arguments_are_checked_before_anything_runs(options: dict[str, Any], words: str) -> None:
    def release(data: Any) -> Any:
        raise AssertionError

    with pytest.raises(DPStatsError, match=words):
        audit(**{"release": release, "neighbours": (0, 1), **options})


def test_errors_of_claims_are_privacy_errors() -> None:
    with pytest.raises(PrivacyError):
        audit(float, (0, 1), mu=True)


# --- data sets -----------------------------------------------------------------------------------


def test_equal_data_sets_are_noticed() -> None:
    data = pd.DataFrame({"a": [1.0, math.nan], "b": ["x", None]})
    with pytest.raises(ArgumentError, match=r"same object: change a copy, other = data.copy\(\)"):
        audit(lambda rows: 1.0, (data, data))
    noise = _gaussian()
    found = audit(lambda rows: noise(0.0), (data, data.copy()), mu=1, trials=40)
    assert found.notes[0] == "the two data sets are equal; there is nothing to detect."
    other = data.assign(b=["x", "y"])
    assert not audit(lambda rows: noise(0.0), (data, other), mu=1, trials=40).notes


def test_what_is_the_same_to_the_bit() -> None:
    when = datetime.date(2020, 1, 1)
    kinds: list[Callable[[], Any]] = [
        lambda: [1, 2.0, "a", None, math.nan, when],
        lambda: {"a": np.array([1.0, math.nan]), "b": (pd.NA, pd.NaT)},
        lambda: pd.DataFrame({"a": [when, None], "b": pd.to_datetime(["2020", None])}),
        lambda: pd.Series([1, None], dtype="Int64"),
        lambda: np.array([1, "a"], dtype=object),
    ]
    for kind in kinds:
        assert same_data(kind(), kind())
    assert not any(same_data(a(), b()) for a, b in itertools.permutations(kinds, 2))
    for one, other in (
        (1, 1.0),
        (0.0, -0.0),
        (np.zeros(1), -np.zeros(1)),
        (pd.Series([0.0]), pd.Series([-0.0])),
        (np.zeros(2), np.zeros((2, 1))),
        (pd.Series([1], index=["a"]), pd.Series([1], index=["b"])),
        (pd.DataFrame({"a": [1]}), pd.DataFrame({"b": [1]})),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ([1], [1, 1]),
        (object(), object()),
    ):
        assert not same_data(one, other)


# --- errors and warnings of a release ------------------------------------------------------------


def test_errors_of_a_release_are_passed_on() -> None:
    class OwnError(Exception):
        pass

    def release(data: Any) -> Any:
        raise OwnError("mine")

    with pytest.raises(OwnError, match="mine"):
        audit(release, (0, 1))


def test_an_error_names_the_data_set_on_which_the_release_raised() -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        audit(lambda data: 1 / (1 - data), (0, 1))
    assert caught.value.__notes__ == [
        "raised on the second data set (run 1). If only one of them raises, the error itself gives the "
        "row away."
    ]


def test_a_warning_of_every_run_is_shown_once() -> None:
    runs = itertools.count()

    def release(data: Any) -> float:
        warnings.warn(f"run {next(runs)} is odd", stacklevel=1)
        warnings.warn(
            f"data are {'small' if np.size(data) else 'empty'}", PlanWarning, stacklevel=1
        )
        return 0.0

    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        audit(release, (0, 1), trials=40)
        audit(lambda data: release([]), (0, 1), trials=40)
        worst_neighbours(release, np.arange(3.0), trials=10)
    texts = ["is odd", "are small", "is odd", "are empty", "is odd", "are small"]
    assert len(shown) == len(texts)
    assert all(text in str(one.message) for text, one in zip(texts, shown, strict=True))
    assert all(one.filename == __file__ for one in shown)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="is odd"):
            audit(release, (0, 1), trials=40)
