"""Tests, marginal effects and predictions from released numbers, beside statsmodels without noise."""

import warnings
from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf

from dpstats import anova, dp_glm, dp_lm
from dpstats.errors import ArgumentError

_N = 3000


def _table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=_N), "z": rng.normal(size=_N)})
    table["g"] = rng.choice(list("abc"), _N)
    table["y"] = 1 + table.x + 0.3 * table.x * table.z + (table.g == "b") + rng.normal(size=_N)
    chance = 1 / (1 + np.exp(-(table.x - 0.5 * (table.g == "c"))))
    table["b"] = (rng.random(_N) < chance).astype(float)
    return table


TABLE = _table()
ALL: dict[str, Any] = {"public": TABLE, "rho": 1e12, "vcov": "iid", "seed": 1}


@cache
def _lm() -> Any:
    return dp_lm("y ~ x * z + g", TABLE, **ALL)


@cache
def _glm() -> Any:
    return dp_glm("b ~ x + g", TABLE, **ALL)


OLS = smf.ols("y ~ x * z + g", TABLE).fit()
LOGIT = smf.logit("b ~ x + g", TABLE).fit(disp=0)


def test_coefficients_may_be_named_as_in_r() -> None:
    fit = dp_lm("y ~ x + I(x^2) + g", TABLE, **ALL)
    assert fit.confint(["(Intercept)", "I(x^2)"]).index.tolist() == ["Intercept", "I(x ** 2)"]
    for theirs, ours in (
        ("I(x^2) = 2 * gb", "I(x ** 2) = 2 * g[T.b]"),
        ("(Intercept)=1", "Intercept = 1"),
    ):
        assert fit.wald_test(theirs).chi2 == fit.wald_test(ours).chi2


@pytest.mark.parametrize("type", [1, 2])
def test_terms_are_tested_as_in_the_tables_of_r(type: int) -> None:
    ordered = smf.ols("y ~ x + z + C(g) + x:z", TABLE.assign(g=TABLE.g)).fit()
    expected = sm.stats.anova_lm(ordered, typ=2) if type == 2 else _sequential()
    found = anova(_lm(), type=type).frame.set_index("term")
    assert list(found.index) == ["x", "z", "g", "x:z"]
    named = {"x": "x", "z": "z", "g": "C(g)", "x:z": "x:z"}
    for term, theirs in named.items():
        f = float(expected.F[theirs if type == 2 else term])
        assert found.chi2[term] / found.df[term] == pytest.approx(f, rel=1e-4)
    page = str(anova(_lm(), type=type))
    assert "Pr(>Chisq)" in page
    assert "no further privacy spent" in page


def _sequential() -> pd.DataFrame:
    """R's anova: what each term takes off the sum of squares, over the variance of the whole model."""
    forms = ["1", "x", "x + z", "x + z + g", "x * z + g"]
    rest = [smf.ols(f"y ~ {f}", TABLE).fit().ssr for f in forms]
    df = np.array([1, 1, 2, 1])
    return pd.DataFrame({"F": -np.diff(rest) / df / OLS.mse_resid}, index=["x", "z", "g", "x:z"])


def test_terms_beside_all_others_are_tests_of_their_coefficients() -> None:
    found = anova(_lm(), type=3).frame.set_index("term")
    for term, hypothesis in (("x", "x = 0"), ("g", ["g[T.b] = 0", "g[T.c] = 0"])):
        assert _lm().wald_test(hypothesis).chi2 == pytest.approx(found.chi2[term], rel=1e-6)


def test_signs_and_chains_of_equations() -> None:
    assert _lm().wald_test("x = z = 0").df == 2
    assert _lm().wald_test("z == -0.3").chi2 == _lm().wald_test("z = -0.3").chi2
    assert _lm().wald_test("x = z = 0").chi2 == pytest.approx(_lm().wald_test("x = 0, z = 0").chi2)
    assert _lm().wald_test("z = -0.3").chi2 == pytest.approx(_lm().wald_test("z + 0.3 = 0").chi2)
    assert _lm().wald_test("-x = z").chi2 == pytest.approx(_lm().wald_test("x + z = 0").chi2)


def test_linear_hypotheses() -> None:
    for text in ("x = z", "g[T.b] = 1", "x = 1, g[T.b] = g[T.c]", "2 * x - x:z = 1.7"):
        expected = OLS.wald_test(text, use_f=False, scalar=True)
        found = _lm().wald_test(text)
        assert found.chi2 == pytest.approx(float(expected.statistic), rel=1e-4)
        assert found.p_value == pytest.approx(float(expected.pvalue), rel=1e-2, abs=1e-12)
    matrix = np.eye(6)[1:3]
    assert _lm().wald_test(matrix).chi2 == pytest.approx(
        _lm().wald_test(["x = 0", "g[T.b] = 0"]).chi2
        if _lm().coef().index[2] == "g[T.b]"
        else _lm().wald_test([f"{name} = 0" for name in _lm().coef().index[1:3]]).chi2
    )


@pytest.mark.parametrize("asked", ["w = 1", "x =", "x = 1, x = 2", [[1.0, 2.0]], 3, None, []])
def test_a_hypothesis_that_cannot_be_read_says_how_one_is_written(asked: Any) -> None:
    with pytest.raises(ArgumentError, match=r"hypothes"):
        _lm().wald_test(asked)


def test_average_slopes_of_a_logit_are_marginal_effects() -> None:
    effects = LOGIT.get_margeff().summary_frame()
    found = _glm().slopes(TABLE).frame
    assert list(found.contrast) == ["dY/dX", "b - a", "c - a"]
    expected = effects.loc[["x", "g[T.b]", "g[T.c]"]]
    assert found.estimate.to_numpy() == pytest.approx(
        expected["dy/dx"].to_numpy(), rel=0.03, abs=2e-4
    )
    assert found.estimate[0] == pytest.approx(expected["dy/dx"]["x"], rel=1e-4)
    assert found.std_error[0] == pytest.approx(expected["Std. Err."]["x"], rel=2e-3)


def test_slopes_and_comparisons_of_a_linear_model() -> None:
    rows = TABLE.head(50)
    slope = _lm().slopes(rows, "x", by=False).frame
    assert slope.estimate.to_numpy() == pytest.approx(
        OLS.params["x"] + OLS.params["x:z"] * rows.z, abs=1e-5
    )
    one = _lm().comparisons(rows, ["x", "g"]).frame
    assert one.estimate[0] == pytest.approx(slope.estimate.mean(), rel=1e-4)
    assert one.estimate[1] == pytest.approx(OLS.params["g[T.b]"], abs=1e-4)
    assert one.std_error[1] == pytest.approx(OLS.bse["g[T.b]"], rel=1e-3)
    grouped = _lm().slopes(rows, "x", by="g").frame
    assert list(grouped.g) == ["a", "b", "c"]
    assert grouped.estimate.to_numpy() == pytest.approx(
        slope.estimate.groupby(rows.g.to_numpy()).mean().to_numpy()
    )


def test_predictions_have_the_errors_of_the_linear_predictor() -> None:
    rows = TABLE.head(20)
    expected = OLS.get_prediction(rows).summary_frame()
    found = _lm().predictions(rows).frame
    assert found.estimate.to_numpy() == pytest.approx(expected["mean"].to_numpy(), abs=1e-4)
    assert found.std_error.to_numpy() == pytest.approx(expected["mean_se"].to_numpy(), rel=1e-3)
    average = _glm().predictions(TABLE, by=True).frame
    assert average.estimate[0] == pytest.approx(TABLE.b.mean(), abs=1e-4)
    by_level = _glm().predictions(TABLE, by=["g"])
    assert by_level.frame.estimate.to_numpy() == pytest.approx(
        TABLE.groupby("g").b.mean().to_numpy(), abs=1e-3
    )
    assert "Average predictions" in str(by_level)
    assert "<table" in by_level._repr_html_()
    assert by_level.to_markdown().count("\n") >= 4


def test_new_rows_may_be_a_dict_or_a_table_of_another_library() -> None:
    one = _lm().predictions({"x": 1.0, "z": 0.0, "g": "b"}).frame
    two = _lm().predictions({"x": [1.0], "z": [0.0], "g": ["b"]}).frame
    three = _lm().predictions(pl.DataFrame({"x": [1.0], "z": [0.0], "g": ["b"]})).frame
    assert one.equals(two)
    assert one.equals(three)
    assert one.estimate[0] == pytest.approx(
        _lm().predict(pd.DataFrame({"x": [1.0], "z": [0.0], "g": ["b"]}))[0]
    )


def test_the_name_of_a_factor_is_no_hypothesis_of_one_equation() -> None:
    with pytest.raises(
        ArgumentError, match=r"`g` has 2 coefficients.*: anova\(fit, type=3\).*'g\[T.b\] = 0'"
    ):
        _lm().wald_test("g")
    both = _lm().wald_test(["g[T.b] = 0", "g[T.c] = 0"])
    assert both.chi2 == pytest.approx(anova(_lm(), type=3).frame.set_index("term").chi2["g"])


def test_names_in_backticks_are_names_in_hypotheses() -> None:
    table = TABLE.rename(columns={"x": "a^b"})
    fit = dp_lm("y ~ `a^b` + z", table, **ALL | {"public": table})
    for spelled in ("`a^b` = 0", "a^b = 0", "`a^b`"):
        assert fit.wald_test(spelled).chi2 == pytest.approx((fit.coef() / fit.se())["a^b"] ** 2)


@pytest.mark.parametrize("verb", ["predictions", "slopes", "comparisons"])
def test_a_verb_without_rows_names_itself(verb: str) -> None:
    with pytest.raises(ArgumentError, match=rf"{verb}\(newdata\).*{verb}\(data=private") as caught:
        getattr(_lm(), verb)()
    assert str(caught.value).count("(") == 2
    with pytest.raises(ArgumentError, match="newdata is a table") as caught:
        getattr(_lm(), verb)("g")
    assert ("variables='g'" in str(caught.value)) == (verb != "predictions")


def test_new_levels_of_new_rows_are_named_and_those_of_private_rows_are_not() -> None:
    rows = TABLE.head(30).assign(g=["zz", *TABLE.g[1:30]])
    for verb in (_lm().predict, _lm().predictions, partial(_lm().slopes, by=False)):
        with pytest.warns(UserWarning, match=r"new levels of `g`, 'zz': rows with them"):
            verb(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(_lm().predict(rows.assign(x=np.nan, g="b"))).all()  # known, but missing
        _lm().predictions(data=TABLE.assign(g="zz"), mu=1, seed=1)


def test_new_rows_beyond_the_limits_of_a_fit_are_named() -> None:
    limits = {"x": (-2.0, 2.0), "g": ["a", "b", "c"]}
    fit = dp_lm("y ~ x + g", TABLE, mu=5, limits=limits, seed=1)
    for verb in (fit.predict, fit.predictions):
        with pytest.warns(UserWarning, match=r"`x` beyond the limits -2 to 2") as caught:
            verb({"x": [0.0, 3.0], "g": ["a", "b"]})
        assert caught[0].filename == __file__
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            verb({"x": [0.0, 2.0], "g": ["a", "b"]})


@pytest.mark.parametrize(
    ("right", "new", "said"),
    [
        ("factor(k)", {"k": [1, 9]}, "new levels of `k`, '9'"),
        ("cut(x, c(-9, 0, 9))", {"x": [1.0, 10.0]}, r"`cut\(x, c\(-9, 0, 9\)\)` has no value"),
        ("log(e)", {"e": [1.0, -1.0]}, r"`log\(e\)` has no value"),
        ("bs(x, df=4)", {"x": [0.0, 99.0]}, r"outermost knots of `bs\(x, df=4\)`"),
    ],
)
def test_new_rows_without_a_prediction_of_their_own_are_named(
    right: str, new: dict[str, Any], said: str
) -> None:
    table = TABLE.assign(k=np.arange(len(TABLE)) % 3, e=np.exp(TABLE.x))
    fit = dp_lm(f"y ~ {right}", table, **{**ALL, "public": table})
    with pytest.warns(UserWarning, match=said) as caught:
        fit.predict(new)
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit.predict({name: values[:1] for name, values in new.items()})


def test_slopes_and_comparisons_warn_of_the_rows_that_were_given_and_once() -> None:
    fit = dp_lm("y ~ x + I(x^2)", TABLE, mu=5, limits={"x": (-2.0, 2.0)}, seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit.slopes({"x": [0.0, 2.0]})
        fit.comparisons({"x": [0.0, 2.0]})
    for verb in (_lm().slopes, _lm().comparisons):
        with pytest.warns(UserWarning, match="new levels of `g`") as caught:
            verb(TABLE.head(30).assign(g=["zz", *TABLE.g[1:30]]))
        assert len(caught) == 1


def test_rows_that_cannot_be_encoded_are_left_out_of_averages() -> None:
    rows = TABLE.head(30).assign(x=[np.nan, *TABLE.x[1:30]])
    assert np.isnan(_lm().predictions(rows).frame.estimate[0])
    average = _lm().predictions(rows, by=True).frame.estimate[0]
    assert average == pytest.approx(_lm().predictions(rows.iloc[1:], by=True).frame.estimate[0])


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda: _lm().slopes(TABLE, "w"), "reads no column `w`; it reads 'x', 'z', 'g'"),
        (lambda: _lm().comparisons(TABLE, {"x": "sd"}), r"\{'x': 10\} raises it by ten"),
        (lambda: _lm().slopes(TABLE, {"x": 10}), r"comparisons\(variables=\{'x': 10"),
        (lambda: _lm().slopes(None), "rows that you may show"),
        (lambda: _lm().predictions(TABLE, by="q"), "no column `q`"),
        (lambda: _lm().predictions(5), "cannot be read as a table"),
        (lambda: _lm().predictions({"x": [1, 2, 3], "g": ["a", "b"]}), "from_product"),
        (lambda: _lm().vcov(type="HC3"), "no argument type; it has part"),  # type: ignore[call-arg]
        (lambda: _lm().plot(keep="x"), "here it is terms="),  # type: ignore[call-arg]
        (lambda: _lm().slopes({"x": [1.0]}, at="mean"), "those of one row"),
        (lambda: _lm().wald_test("x/z = 0"), "delta method"),
        (lambda: anova(_lm(), type=4), "type must be 1, 2 or 3"),
        (lambda: anova(5), "two fitted models"),
    ],
)
def test_what_is_asked_wrongly_is_answered(ask: Any, said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        ask()


def test_a_column_of_the_offset_alone_has_no_slope_which_is_said() -> None:
    fit = dp_lm("y ~ x + offset(z)", TABLE, **ALL)
    for verb in (fit.slopes, fit.comparisons):
        assert str(verb(TABLE)).splitlines()[0].endswith(" (none for z, in the offset alone):")
        assert "without" not in str(verb(TABLE, "x"))
        with pytest.raises(ArgumentError, match="`z` stands in the offset alone"):
            verb(TABLE, "z")
    both = dp_lm("y ~ x + z + offset(z)", TABLE, **ALL)
    assert list(both.slopes(TABLE).frame.term) == ["x", "z"]


def test_intervals_of_some_coefficients_as_in_r() -> None:
    assert list(_lm().confint("x").index) == ["x"]
    assert list(_lm().confint(["x", "g[T.b]"], 0.9).columns) == ["5%", "95%"]
    assert _lm().confint(0.9).equals(_lm().confint(level=0.9))
    with pytest.raises(ArgumentError, match="no coefficient 'w'; the coefficients are 'Intercept'"):
        _lm().confint("w")


def test_predictions_have_standard_errors_where_they_are_asked_for() -> None:
    rows = TABLE.head(5)
    expected = OLS.get_prediction(rows).summary_frame()
    for interval in (None, "confidence", "prediction"):
        found = _lm().predict(rows, interval=interval, se_fit=True)
        assert found.se_fit.to_numpy() == pytest.approx(expected["mean_se"].to_numpy(), rel=1e-3)
    mean = _glm().predict(rows, type="response", se_fit=True)
    theirs = LOGIT.get_prediction(rows).summary_frame()
    assert mean.fit.to_numpy() == pytest.approx(theirs["predicted"].to_numpy(), abs=1e-4)
    assert mean.se_fit.to_numpy() == pytest.approx(theirs["se"].to_numpy(), rel=1e-3)
    assert _lm().predict({"x": 1.0, "z": 0.0, "g": "b"})[0] == pytest.approx(
        float(OLS.predict(pd.DataFrame({"x": [1.0], "z": [0.0], "g": ["b"]}))[0]), abs=1e-4
    )


def test_long_tables_print_their_first_lines_and_how_many_more_there_are() -> None:
    page = str(_lm().predictions(TABLE.head(23)))
    assert page.count("\n") < 30
    assert "... and 3 more lines: all are in .frame." in page
    assert len(_lm().predictions(TABLE.head(23)).frame) == 23
    assert "more line" not in str(_lm().predictions(TABLE.head(20)))


def test_numbers_that_are_levels_are_compared_with_the_first() -> None:
    table = TABLE.assign(k=np.arange(_N) % 3 + 1.0)
    fit = dp_lm("y ~ x + C(k)", table, **{**ALL, "public": table})
    found = fit.slopes(table, "k").frame
    assert list(found.contrast) == ["2 - 1", "3 - 1"]
    assert found.estimate.tolist() == pytest.approx(fit.coef().iloc[2:].tolist(), rel=1e-6)


@pytest.mark.parametrize("term", ["x1:g[T.b]", "ns(x1, 2)[1]", "relevel(factor(g), ref='b')[T.a]"])
def test_every_coefficient_can_be_named_in_a_hypothesis(term: str) -> None:
    formula = "y ~ x1 * g" if ":" in term else f"y ~ {term[: term.rindex('[')]}"
    rows = pd.DataFrame({"x1": np.arange(60.0) % 17, "g": list("ab") * 30})
    rows["y"] = rows.x1 + np.random.default_rng(0).normal(size=60)
    fit = dp_lm(formula, rows, **{**ALL, "public": rows})
    z = fit.coef()[term] / fit.se()[term]
    assert fit.wald_test(f"{term} = 0").chi2 == pytest.approx(z**2)


@pytest.mark.parametrize("nothing", ["", " ", [""], np.zeros((0, 3))], ids=repr)
def test_a_hypothesis_that_says_nothing_is_no_hypothesis(nothing: Any) -> None:
    with pytest.raises(ArgumentError, match="hypothesis is empty"):
        dp_lm("y ~ x + z", TABLE, **ALL).wald_test(nothing)


def test_a_word_that_is_no_coefficient_is_none_of_them() -> None:
    fit = dp_lm("y ~ x + z", TABLE, **ALL)
    for word in ("b0_", "b1_", "b_0_"):
        with pytest.raises(ArgumentError, match="cannot be read"):
            fit.wald_test(f"{word} = 0")
