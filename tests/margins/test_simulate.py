"""Rows drawn from a fit, and the penalty that a criterion chooses."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

from dpstats import dp_feols, dp_glm, dp_lm
from dpstats.errors import ArgumentError, NotReleasedError

_N = 4000
_NOISELESS: dict[str, Any] = {"rho": 1e12, "seed": 1}


def _table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=_N), "g": rng.choice(list("ab"), _N)})
    eta = 0.5 * table.x + (table.g == "b")
    table["y"] = eta + 0.5 * rng.normal(size=_N)
    table["b"] = np.where(rng.random(_N) < 1 / (1 + np.exp(-eta)), "yes", "no")
    table["c"] = rng.poisson(rng.gamma(np.exp(eta) / 2, 2.0)).astype(float)
    table["w"] = rng.gamma(2.0, np.exp(eta) / 2)
    table["e"] = np.exp(table.y)
    return table


TABLE = _table()
_BINOMIAL = sm.families.NegativeBinomial(alpha=0.7)
_FITS: dict[str, tuple[Any, Any]] = {
    "normal": (dp_lm, {"formula": "y ~ x + g"}),
    "of a logarithm": (dp_lm, {"formula": "log(e) ~ x + g"}),
    "yes or no": (dp_glm, {"formula": "b ~ x + g"}),
    "counts": (dp_glm, {"formula": "c ~ x + g", "family": "quasipoisson"}),
    "negative binomial": (dp_glm, {"formula": "c ~ x + g", "family": _BINOMIAL}),
    "gamma": (dp_glm, {"formula": "w ~ x + g", "family": "gamma"}),
}


@pytest.mark.parametrize("name", _FITS)
def test_a_fit_of_simulated_rows_finds_the_coefficients_again(name: str) -> None:
    """Within 6 standard errors: 1e-8 for each coefficient by chance. Dispersions within a fifth."""
    function, how = _FITS[name]
    fit = function(data=TABLE, public=TABLE, **how, **_NOISELESS)
    rows = fit.simulate(20_000, TABLE, seed=5)
    again = function(data=rows, public=rows, **how, **_NOISELESS)
    assert ((again.coef() - fit.coef()).abs() < 6 * again.se()).all()
    size = "sigma" if function is dp_lm else "dispersion"
    assert getattr(again, size) == pytest.approx(getattr(fit, size), rel=0.2)


def test_rows_are_drawn_again_by_their_seed() -> None:
    fit = dp_lm("y ~ x + g", TABLE, TABLE, mu=1, seed=1)
    assert fit.simulate(10, TABLE, seed=3).equals(fit.simulate(10, TABLE, seed=3))
    assert not fit.simulate(10, TABLE, seed=3).equals(fit.simulate(10, TABLE, seed=4))
    whole = fit.simulate(newdata=TABLE, seed=1)
    assert whole.x.equals(TABLE.x)
    assert len(fit.simulate(5, {"x": 1.0, "g": "a"})) == 5
    missing = fit.simulate(newdata={"x": [1.0, np.nan], "g": ["a", "a"]}, seed=1)
    assert missing.y.isna().tolist() == [False, True]


def test_responses_of_levels_are_levels() -> None:
    fit = dp_glm("b ~ x", TABLE, TABLE, mu=1, seed=1)
    assert set(fit.simulate(200, TABLE, seed=1).b) == {"yes", "no"}
    mean = dp_lm("y ~ 1", TABLE, TABLE, mu=1, seed=1)
    assert mean.simulate(200, seed=1).shape == (200, 1)


def test_without_rows_there_is_one_line_that_says_what_to_type() -> None:
    fit = dp_lm("y ~ x + g", TABLE, TABLE, mu=1, seed=1)
    with pytest.raises(ArgumentError, match=r"simulate\(n, newdata=rows\)"):
        fit.simulate(100)
    with pytest.raises(ArgumentError, match="number of rows"):
        fit.simulate(0, TABLE)
    panel = TABLE.assign(who=np.arange(_N) // 4)
    with pytest.raises(NotReleasedError, match="effects"):
        dp_feols("y ~ x | who", panel, panel, mu=4, person="who", seed=1).simulate(5, panel)


# -- the best penalty -------------------------------------------------------------------------------


def test_bic_finds_the_columns_that_matter() -> None:
    """Others stand at 0: one of them is kept at a chance of 0.3 %, by this seed none."""
    rng = np.random.default_rng(2)
    table = pd.DataFrame(rng.normal(size=(8000, 8)), columns=list("abcdefgh"))
    table["y"] = table.a - 0.5 * table.d + rng.normal(size=8000)
    fit = dp_lm("y ~ a + b + c + d + e + f + g + h", table, table.head(500), mu=1, seed=1)
    best = fit.path("lasso").best("BIC")
    assert best.kept == ("Intercept", "a", "d") or best.kept == ("a", "d")
    assert set(best.left_out) >= set("bcefgh")
    assert best.coef()["a"] == pytest.approx(1, abs=0.2)
    assert "Left out: " in repr(best)
    assert len(fit.path("lasso").best("AIC").kept) >= len(best.kept)


def test_more_noise_leaves_out_more() -> None:
    """A column that rows alone would tell from nothing is left out where noise for privacy hides it."""
    rng = np.random.default_rng(3)
    table = pd.DataFrame(rng.normal(size=(2000, 2)), columns=["a", "b"])
    table["y"] = table.a + 0.15 * table.b + rng.normal(size=2000)
    kept = [
        dp_lm("y ~ a + b", table, table.head(400), mu=mu, seed=1).path().best().kept
        for mu in (50, 0.1)
    ]
    assert "b" in kept[0]
    assert "b" not in kept[1]


def test_criteria_choose_columns() -> None:
    fit = dp_lm("y ~ x + g", TABLE, TABLE, mu=1, seed=1)
    with pytest.raises(ArgumentError, match="ridge keeps every column"):
        fit.path("ridge").best()
    with pytest.raises(ArgumentError, match="'BIC' or 'AIC'"):
        fit.path().best("Cp")


def test_a_column_may_have_any_name() -> None:
    """Also one that a method of pandas gives an argument."""
    named = {"x": "self", "g": "inplace"}
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=_N), "g": rng.choice(["a", "b"], _N)})
    table["y"] = table.x + (table.g == "b") + rng.normal(size=_N)
    plain = dp_lm("y ~ x + g", table, table, mu=1, seed=1)
    other = table.rename(columns=named)
    fit = dp_lm("y ~ self + inplace", other, other, mu=1, seed=1)
    for verb in ("slopes", "comparisons"):
        found, expected = (getattr(f, verb)(t).frame for f, t in ((fit, other), (plain, table)))
        assert list(dict.fromkeys(found.term)) == ["self", "inplace"]
        assert np.array_equal(found.estimate, expected.estimate)
    back = dp_lm("self ~ y", other, other, mu=1, seed=1).simulate(seed=1, newdata=other)
    assert list(back) == list(other)
