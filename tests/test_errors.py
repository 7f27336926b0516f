"""What was given by mistake may be private rows: an error says of what kind it is, and no more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpstats import Budget, dp_glm, dp_lm, dp_mean, eptr_bayes, eptr_nw
from dpstats.arguments import shown
from dpstats.errors import DPStatsError

_SECRET = 918273.5
_ROWS = pd.DataFrame({"x": [1.0, _SECRET, 3.0], "y": [_SECRET, 0.0, 1.0]})
_GIVEN: dict[str, Any] = {
    "a table": _ROWS,
    "a column": _ROWS.x,
    "an array": _ROWS.to_numpy(),
    "a list": _ROWS.x.tolist(),
    "a row": tuple(_ROWS.iloc[0]),
    "a record": _ROWS.to_records(index=False)[1],
    "a mapping": _ROWS.to_dict(),
}
_CALLS: dict[str, Callable[[Any], Any]] = {
    "mu": lambda value: dp_lm("y ~ x", _ROWS, _ROWS, mu=value),
    "seed": lambda value: dp_lm("y ~ x", _ROWS, _ROWS, mu=1, seed=value),
    "ridge": lambda value: dp_lm("y ~ x", _ROWS, _ROWS, mu=1, ridge=value),
    "method": lambda value: dp_lm("y ~ x", _ROWS, _ROWS, mu=1, method=value),
    "budget": lambda value: dp_lm("y ~ x", _ROWS, _ROWS, mu=1, budget=value),
    "person": lambda value: dp_lm("y ~ x", _ROWS, _ROWS, mu=1, person=value),
    "executor": lambda value: dp_lm("y ~ x", _ROWS, _ROWS, mu=1, executor=value),
    "iterations": lambda value: dp_glm("y ~ x", _ROWS, _ROWS, mu=1, iterations=value),
    "family": lambda value: dp_glm("y ~ x", _ROWS, _ROWS, mu=1, family=value),
    "gamma": lambda value: dp_mean("~ x", _ROWS, _ROWS, mu=1, gamma=value),
    "target": lambda value: eptr_bayes("y ~ x", _ROWS, _ROWS, 1, 1e-5, method="ptr", target=value),
    "covariance": lambda value: eptr_bayes("y ~ x", _ROWS, _ROWS, 1, 1e-5, covariance=value),
    "bandwidth": lambda value: eptr_nw("y ~ x", _ROWS, _ROWS, 1, 1e-5, bandwidth=value),
    "slack": lambda value: Budget(mu=1, slack=value),
    "path": lambda value: Budget(mu=1, path=value),
}


@pytest.mark.parametrize("given", _GIVEN)
def test_what_is_no_plain_value_is_named_by_its_kind(given: str) -> None:
    value = _GIVEN[given]
    assert shown(value) in (f"a {type(value).__name__}", f"an {type(value).__name__}")


@pytest.mark.parametrize("given", _GIVEN)
@pytest.mark.parametrize("argument", _CALLS)
def test_rows_that_were_given_by_mistake_are_not_shown(argument: str, given: str) -> None:
    with pytest.raises(DPStatsError) as caught:
        _CALLS[argument](_GIVEN[given])
    assert "918273" not in str(caught.value)
    assert "918273" not in repr(caught.value)


def test_plain_values_are_shown() -> None:
    assert [shown(v) for v in (3, "text", None, np.float64(0.5))] == [
        "3",
        "'text'",
        "None",
        "np.float64(0.5)",
    ]
