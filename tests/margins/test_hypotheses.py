"""Linear combinations of coefficients."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

from dpstats import dp_lm
from dpstats.errors import ArgumentError
from dpstats.report.result import quantile


def _rows(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame({"t": rng.integers(0, 2, n), "f": rng.integers(0, 2, n)})
    return rows.assign(y=1 + 0.3 * rows.t + 0.2 * rows.t * rows.f + rng.normal(size=n))


_PRIVATE = _rows(4000, 1)


@cache
def _fit() -> Any:
    return dp_lm("y ~ t * f", _PRIVATE, _rows(400, 2), mu=1, seed=1)


def test_the_effect_in_a_subgroup_has_the_error_of_its_coefficients() -> None:
    line = _fit().hypotheses("t + t:f = 0.1", level=0.9).frame.iloc[0]
    row = np.array([0, 1, 0, 1])
    error = float(np.sqrt(row @ _fit().vcov().to_numpy() @ row))
    assert line.estimate == pytest.approx(float(row @ _fit().coef()) - 0.1)
    assert line.std_error == pytest.approx(error)
    assert (line.conf_high - line.conf_low) / 2 == pytest.approx(float(quantile(0.9)) * error)


def test_where_noise_is_small_it_is_the_test_without_privacy() -> None:
    fit = dp_lm("y ~ t * f", _PRIVATE, _rows(400, 2), mu=1e4, seed=1)
    open_fit = smf.ols("y ~ t * f", _PRIVATE).fit(cov_type="HC1")
    theirs = open_fit.t_test("t + t:f = 0").summary_frame().iloc[0]
    ours = fit.hypotheses("t + t:f").frame.iloc[0]
    assert ours.estimate == pytest.approx(theirs["coef"], rel=1e-3)
    assert ours.std_error == pytest.approx(theirs["std err"], rel=1e-2)
    assert ours.p_value == pytest.approx(theirs["P>|z|"], abs=1e-3)


def test_each_is_a_line_even_where_one_follows_from_others() -> None:
    frame = _fit().hypotheses(["t = 0", "f = 0", "t = f", "t = f = 1"]).frame
    assert frame.hypothesis.tolist() == [
        "t = 0",
        "f = 0",
        "t = f",
        "t = f = 1 (1)",
        "t = f = 1 (2)",
    ]
    assert frame.estimate[2] == pytest.approx(frame.estimate[0] - frame.estimate[1])
    assert frame.estimate[4] == pytest.approx(_fit().coef()["f"] - 1)
    by_matrix = _fit().hypotheses([[0, 1, -1, 0]]).frame
    assert by_matrix.estimate[0] == pytest.approx(frame.estimate[2])


def test_a_combination_of_a_coefficient_without_error_has_none() -> None:
    fit = dp_lm("y ~ t + b", _PRIVATE.assign(b=3.0), mu=1, seed=1)
    frame = fit.hypotheses(["b = 0", "t = 0"]).frame
    assert np.isnan(frame.std_error[0])
    assert np.isfinite(frame.std_error[1])


@pytest.mark.parametrize("asked", ["t + nobody = 0", "t * f = 0", [], 3, None, ["t", 3]])
def test_what_is_no_hypothesis_is_refused(asked: object) -> None:
    with pytest.raises(ArgumentError):
        _fit().hypotheses(asked)
