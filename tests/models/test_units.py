"""Columns and responses of odd sizes: numbers that hold, none, or a refusal that costs nothing."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpstats import Budget, dp_feols, dp_glm, dp_lm, dp_mvnorm, eptr_nw
from dpstats.errors import PublicDataError


def _rows(n: int, seed: int) -> pd.DataFrame:
    generator = np.random.default_rng(seed)
    x = generator.normal(size=n)
    return pd.DataFrame(
        {
            "x": x,
            "u": generator.exponential(size=n),
            "y": x + generator.normal(size=n),
            "c": generator.poisson(1.0, n),
            "id": np.arange(n) // 3,
        }
    )


PUBLIC, PRIVATE = _rows(200, 1), _rows(3000, 2)


@pytest.mark.parametrize(
    ("call", "formula", "family"),
    [(dp_lm, "y ~ x + u", {}), (dp_glm, "c ~ x + u", {"family": "quasipoisson"})],
)
def test_columns_too_unlike_for_the_papers_whitening_are_refused_uncharged(
    call: Callable[..., Any], formula: str, family: dict[str, str]
) -> None:
    def fit(unit: float) -> Any:
        tables = [table.assign(u=unit * table.u) for table in (PRIVATE, PUBLIC)]
        return call(formula, *tables, mu=5, method="pmt", seed=1, budget=budget, **family)

    budget = Budget(mu=6)
    with pytest.raises(PublicDataError, match="change their units"):
        fit(1e-20)
    assert budget.spent.mu == 0
    assert np.isfinite(fit(1e-10).coef()).all()


@pytest.mark.parametrize("size", [1e75, 1e88])
def test_sizes_that_cannot_be_squared_warn_of_nothing(size: float) -> None:
    """And are shown as no numbers, rather than as numbers that are cut far too near."""
    private, public = (table.assign(y=size * table.y) for table in (PRIVATE, PUBLIC))
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        alone = dp_lm("y ~ x", private, mu=3, seed=1)
        panel = dp_feols("y ~ x", private, public, person="id", mu=40, seed=1)
        page = str(alone.summary()) + str(panel.summary())
    assert "too large to square" in page
    assert alone.coef().isna().all()
    assert panel.coef()["x"] == pytest.approx(size, rel=0.2)


@pytest.mark.parametrize("size", [1e50, 1e-50])
def test_a_fit_of_sizes_that_can_be_is_that_of_others(size: float) -> None:
    fit = dp_lm("y ~ x", PRIVATE.assign(y=size * PRIVATE.y), mu=3, seed=1)
    assert fit.coef()["x"] == pytest.approx(size, rel=0.2)
    assert abs(fit.coef()["x"] - size) < 4 * fit.se()["x"]


def test_a_curve_of_responses_whose_squares_are_zero() -> None:
    private, public = (table.assign(y=1e-82 * table.y) for table in (PRIVATE, PUBLIC))
    curve = eptr_nw("y ~ x", private, public, 2, 1e-5, seed=1)
    assert np.isfinite(curve.predict(pd.DataFrame({"x": [0.0]}))).all()


def test_a_dot_does_not_stand_for_the_column_of_persons() -> None:
    told: dict[str, Any] = {"public": PUBLIC, "mu": 2, "seed": 1}
    for formula in ("y ~ .", "y ~ . + I(id^2)"):
        fit = dp_lm(formula, PRIVATE, person="id", **told)
        assert "id" not in fit.coef().index
        assert ("I(id ** 2)" in fit.coef().index) == ("I(" in formula)
        assert fit.call.startswith(f'dp_lm("{formula}"')
        assert "id" in dp_lm(formula, PRIVATE, **told).coef().index
    assert "id" not in dp_mvnorm("~ .", PRIVATE, person="id", **told).coef().index
    panel = dp_feols("y ~ . | id", PRIVATE, person="id", **told)
    assert list(panel.coef().index) == ["x", "u", "c"]
    assert panel.formula == "y ~ . | id"
