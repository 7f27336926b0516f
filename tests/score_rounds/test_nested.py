"""Tests of models of which one says what the other can say too."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

from dpstats import anova, dp_glm, dp_lm
from dpstats.errors import ArgumentError

_RNG = np.random.default_rng(0)
_N = 3000
TABLE = pd.DataFrame({"x": _RNG.normal(50, 10, _N), "w": _RNG.random(_N) + 0.5})
TABLE["g"] = _RNG.choice(list("abc"), _N)
TABLE["y"] = TABLE.x / 10 + (TABLE.x - 50) ** 2 / 4000 + _RNG.normal(size=_N)
TABLE["b"] = (_RNG.random(_N) < 1 / (1 + np.exp(-(TABLE.x - 50) / 10))) * 1.0


@cache
def _fit(formula: str) -> Any:
    return dp_lm(formula, TABLE, TABLE[:300], mu=1e5, seed=1, vcov="iid")


@pytest.mark.parametrize(
    ("small", "large", "df"),
    [
        ("y ~ x", "y ~ ns(x, 3)", 2),
        ("y ~ x", "y ~ poly(x, 3)", 2),
        ("y ~ x + g", "y ~ bs(x, 5) * g", 14),
        ("y ~ poly(x, 2)", "y ~ x + I(x ** 2) + I(x ** 3)", 1),
        ("y ~ I(x + w)", "y ~ x + w", 1),
        ("y ~ I(x > 40) + x", "y ~ cut(x, c(0, 40, 200)) + x + w", 1),
        ("y ~ x + I((x - 50) * (x > 50))", "y ~ bs(x, knots=c(50), degree=1) + w", 1),
        ("y ~ 0 + g", "y ~ g * x", 3),
        ("y ~ log(w)", "y ~ log(w ** 2) + x", 1),
        ("y ~ x + offset(w)", "y ~ ns(x, 3) + offset(w)", 2),
    ],
)
def test_a_line_is_within_a_spline(small: str, large: str, df: int) -> None:
    test = anova(_fit(small), _fit(large))
    assert test.df == df
    assert anova(_fit(large), _fit(small)).chi2 == pytest.approx(test.chi2)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("y ~ ns(x, 2)", "y ~ ns(x, 3)"),
        ("y ~ x", "y ~ log(x) + w"),
        ("y ~ x", "y ~ ns(x, 3) - 1"),
        ("y ~ x + offset(w)", "y ~ ns(x, 3)"),
        ("y ~ w + x", "y ~ ns(x, 3) + g"),
        ("y ~ I(x ** 2)", "y ~ x + g"),
    ],
)
def test_what_is_not_within_the_other_is_refused(one: str, other: str) -> None:
    with pytest.raises(ArgumentError, match="or a sum of its columns"):
        anova(_fit(one), _fit(other))


def test_the_test_of_linearity_is_that_of_sums_of_squares() -> None:
    exact = smf.ols("y ~ x + I(x**2) + I(x**3)", TABLE).fit()
    f, _, df = exact.compare_f_test(smf.ols("y ~ x", TABLE).fit())
    test = anova(_fit("y ~ x"), _fit("y ~ poly(x, 3)"))
    assert test.df == df
    assert test.chi2 == pytest.approx(f * df, rel=0.02)


def test_of_a_logit_it_is_wald_as_well() -> None:
    fits = [dp_glm(f, TABLE, TABLE[:300], mu=5, seed=1) for f in ("b ~ x", "b ~ ns(x, 3)")]
    assert anova(*fits).p_value > 1e-4
    curved = dp_glm("I(x > 40 & x < 60) ~ ns(x, 3)", TABLE, TABLE[:300], mu=5, seed=1)
    straight = dp_glm("I(x > 40 & x < 60) ~ x", TABLE, TABLE[:300], mu=5, seed=1)
    assert anova(straight, curved).df == 2


def test_variance_inflation_is_that_of_car() -> None:
    """1 / (1 - R^2) of each number; of a factor the ratio of determinants of Fox and Monette."""
    table = TABLE.assign(z=TABLE.x + 5 * TABLE.w)
    fit = dp_lm("y ~ x + z + g", table, table[:300], mu=1e5, seed=1)
    found = fit.vif()
    assert list(found.index) == ["x", "z", "g"]
    assert found.df.tolist() == [1, 1, 2]
    for name, others in (("x", "z + g"), ("z", "x + g")):
        exact = 1 / (1 - smf.ols(f"{name} ~ {others}", table).fit().rsquared)
        assert found.vif[name] == pytest.approx(exact, rel=1e-3)
    assert found.scaled["g"] == pytest.approx(found.vif["g"] ** 0.25)
    assert found.vif["g"] == pytest.approx(1.0, abs=0.01)
    with pytest.raises(ArgumentError, match="two terms"):
        fit.update("~ x").vif()
