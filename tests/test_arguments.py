"""What a function says of an argument that it does not have, in one line."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpstats
from dpstats import (
    Budget,
    anova,
    dp_feols,
    dp_glm,
    dp_lm,
    dp_mean,
    eptr_lm,
    etable,
    plan_lm,
    public_moments,
)
from dpstats.arguments import UnknownArgument, as_limits
from dpstats.datasets import fair
from dpstats.errors import ArgumentError, DPStatsError, PrivacyError

PUBLIC, PRIVATE = fair()
FORMULA = "rate_marriage ~ age"


@cache
def _fit() -> Any:
    return dp_lm(FORMULA, PRIVATE, PUBLIC, mu=1, seed=1)


@cache
def _fit_by_group() -> Any:
    return dp_lm("rate_marriage ~ C(religious)", PRIVATE, PUBLIC, mu=1, seed=1)


_ASKED: dict[str, tuple[Callable[..., Any], str]] = {
    "cov_type": (lambda: dp_lm(FORMULA, PRIVATE, PUBLIC, mu=1, cov_type="HC1"), r"vcov='hetero'"),
    "robust": (lambda: dp_glm(FORMULA, PRIVATE, PUBLIC, mu=1, robust=True), r"vcov='hetero'"),
    "se_type": (lambda: dp_lm(FORMULA, PRIVATE, PUBLIC, mu=1, se_type="HC1"), r"vcov='hetero'"),
    "cluster": (lambda: dp_lm(FORMULA, PRIVATE, PUBLIC, mu=1, cluster="id"), r"person='id'"),
    "eps": (lambda: dp_lm(FORMULA, PRIVATE, PUBLIC, eps=1), "here it is epsilon="),
    "family": (lambda: dp_lm(FORMULA, PRIVATE, PUBLIC, family="binomial"), r"dp_glm\("),
    "link": (lambda: dp_glm(FORMULA, PRIVATE, PUBLIC, link="probit"), r"binomial\(probit\)"),
    "random_state": (lambda: dp_lm(FORMULA, PRIVATE, PUBLIC, random_state=1), "here it is seed="),
    "publik": (lambda: eptr_lm(FORMULA, PRIVATE, publik=PUBLIC), "did you mean public="),
    "subset": (lambda: dp_lm(FORMULA, PRIVATE, PUBLIC, subset="age > 3"), "choose rows before"),
    "df": (lambda: dp_lm(FORMULA, df=PRIVATE), "here it is data="),
    "m": (lambda: plan_lm(FORMULA, PUBLIC, nobs=100), "here it is n="),
    "weight": (lambda: public_moments(FORMULA, PUBLIC, weight="w"), "did you mean weights="),
    "alpha": (lambda: _fit().confint(alpha=0.1), "level=0.95 stands for alpha=0.05"),
    "level": (lambda: _fit().summary(level=0.9), r"summary\(\) has no argument level"),
    "conf_level": (lambda: _fit().tidy(conf_level=0.9), "here it is level="),
    "exog": (lambda: _fit().predict(exog=PUBLIC), "here it is newdata="),
    "se.fit": (lambda: _fit().predict(PUBLIC, **{"se.fit": True}), "did you mean se_fit="),
    "typ": (lambda: anova(_fit(), typ=2), "here it is type="),
    "alpha of slopes": (lambda: _fit().slopes(PUBLIC, alpha=0.1), "level=0.95"),
    "wrt": (lambda: _fit().slopes(PUBLIC, wrt="age"), "here it is variables="),
    "exposure": (
        lambda: dp_glm("affairs ~ age", PRIVATE, PUBLIC, mu=1, exposure="w"),
        r"term of the formula, offset\(log\(w\)\)",
    ),
    "contrasts": (lambda: dp_lm(FORMULA, PRIVATE, mu=1, contrasts={}), r"C\(g, contr.sum\)"),
    "alpha of a fit": (
        lambda: dp_lm(FORMULA, PRIVATE, mu=1, alpha=0.1),
        r"fit.confint\(level=0.9\)",
    ),
    "level of a fit": (
        lambda: dp_glm(FORMULA, PRIVATE, mu=1, level=0.9),
        r"fit.confint\(level=0.9\)",
    ),
    "fml": (lambda: dp_lm(fml=FORMULA, data=PRIVATE, mu=1), "here it is formula="),
    "eps of a budget": (
        lambda: Budget(eps=1),
        r"Budget\(\) has no argument eps; here it is epsilon=",
    ),
    "a total by position": (
        lambda: dp_lm(FORMULA, PRIVATE, PUBLIC, 1),
        r"takes formula, data, public by position; write the others by name, such as mu=1",
    ),
    "a total as public rows": (
        lambda: dp_lm(FORMULA, PRIVATE, 1),
        r"takes a table as public=; write mu=1",
    ),
    "no table": (lambda: dp_mean(PRIVATE, mu=1), r"lacks data; .* dp_mean\(formula, data, mu=1\)"),  # type: ignore[call-arg]
    "the table first": (
        lambda: dp_lm(PRIVATE, FORMULA, mu=1),  # type: ignore[arg-type]
        r"formula stands before the data: dp_lm\(formula, data\)",
    ),
    "rows by position and by name": (
        lambda: dpstats.plan_lm("y ~ x1", None, 100, n=100),  # type: ignore[misc]
        r"is given n twice.* takes formula, public, n, mu, in that order",
    ),
    "epsilon and delta by position": (
        lambda: eptr_lm(FORMULA, PRIVATE, 1, 1e-6),
        r"takes a table as public=; write epsilon=1, delta=1e-06",
    ),
    "a family in place of the data": (
        lambda: dp_glm("affairs ~ age", "poisson", PRIVATE, mu=1),
        r"a family is named: family='poisson'",
    ),
    "a family by position": (
        lambda: dp_glm("affairs ~ age", PRIVATE, "poisson", mu=1),
        r"a family is named: family='poisson'",
    ),
    "type of lm": (lambda: _fit().predict(PUBLIC, type="response"), "on the scale of the response"),
    "a name by position": (lambda: _fit().coef("age"), r"coef\(\)\['x1'\] picks one"),
    "formula": (
        lambda: dp_feols(formula=FORMULA, data=PRIVATE, public=PUBLIC, mu=1),  # type: ignore[call-arg]
        "here it is fml=",
    ),
    "split": (lambda: dp_feols(FORMULA, PRIVATE, PUBLIC, mu=1, split="g"), r"g \+ g:x"),
    "headers": (lambda: etable(_fit(), headers=["a"]), "here it is names="),
    "signif_code": (lambda: etable(_fit(), signif_code=[0.1]), "here it is stars="),
    "type of a table": (lambda: etable(_fit(), type="tex"), r"\.to_latex\(\)"),
    "digits": (lambda: _fit().summary(digits=3), r"dpstats\.options\(digits=3"),
    "a level where nothing is taken": (lambda: _fit().coef(alpha=0.1), "it takes none"),
    "eps of slopes": (lambda: _fit().slopes(data=PRIVATE, eps=1), "here it is epsilon="),
}


@pytest.mark.parametrize("name", _ASKED)
def test_an_argument_of_another_package_is_answered_by_what_it_is_here(name: str) -> None:
    asked, says = _ASKED[name]
    with pytest.raises(UnknownArgument, match=says) as found:
        asked()
    assert "\n" not in str(found.value)
    assert isinstance(found.value, DPStatsError)
    assert isinstance(found.value, TypeError)  # as for every function of Python's


def test_names_of_errors_elsewhere_are_answered_by_those_here() -> None:
    for given in ("HC3", "robust"):
        with pytest.raises(
            ArgumentError, match=rf"not '{given}'. vcov='hetero' \(the default\) is HC1"
        ):
            dp_lm(FORMULA, PRIVATE, PUBLIC, mu=1, vcov=given)
    with pytest.raises(ArgumentError, match=r"not \{'CRV1': 'id'\}.*where person='id' is given"):
        dp_lm(FORMULA, PRIVATE, PUBLIC, mu=1, vcov={"CRV1": "id"})  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match=r"not a dict\.$"):  # it may hold a row
        dp_lm(FORMULA, PRIVATE, PUBLIC, mu=1, vcov={"name": "Anna"})  # type: ignore[arg-type]


def test_a_budget_is_spoken_of_where_there_is_one() -> None:
    with pytest.raises(PrivacyError, match="none was given") as caught:
        dp_lm(FORMULA, PRIVATE, PUBLIC)
    assert "budget" not in str(caught.value)
    with pytest.raises(PrivacyError, match="A budget does not say how much of it a call may spend"):
        dp_lm(FORMULA, PRIVATE, PUBLIC, budget=Budget(mu=1))
    with Budget(mu=1), pytest.raises(PrivacyError, match="A budget does not say"):
        dp_lm(FORMULA, PRIVATE, PUBLIC)


_ANSWERS = {
    "lincom": "here it is hypotheses",
    "drop1": "here it is anova",
    "avg_slopes": r"here it is slopes\(public\), .* costs nothing",
    "save": r"pickle\.dump\(fit, file\)",
    "AIC": r"anova\(fit, fit.update",
    "anova": r"here it is anova\(fit\)",
    "t_test": "here it is hypotheses",
    "linear_hypothesis": "wald_test",
    "roc": r"predict\(public\) beside their responses",
    "influence": r"per-row values of private rows are not released",
    "ci": r"confint\(\)",
    "plot_coef": r"plot\(\)",
}


@pytest.mark.parametrize("name", _ANSWERS)
def test_a_method_of_another_package_is_answered_by_what_it_is_here(name: str) -> None:
    with pytest.raises(AttributeError, match=_ANSWERS[name]):
        getattr(_fit(), name)


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda: _fit().slopes(PUBLIC, hypothesis="age = 0"), r"fit\.hypotheses"),
        (lambda: _fit().predictions(PUBLIC, variables={"age": 30}), r"rows\.assign"),
        (lambda: _fit().comparisons(PUBLIC, fun="ratio"), r"comparison='ratio'"),
        (lambda: _fit().comparisons(PUBLIC, contrast="pairwise"), r"variables=\{'x': 10"),
        (lambda: _fit().predictions(PUBLIC, transform="exp"), "type='link'"),
        (lambda: _fit().summary(vcov="iid"), r"fit\.update\(vcov='iid'\)"),
        (lambda: etable(_fit(), vcov="iid"), r"fit\.update\(vcov='iid'\)"),
        (lambda: dp_feols(FORMULA, PRIVATE, PUBLIC, mu=1, se="hetero"), "vcov='hetero'"),
        (lambda: dp_feols(FORMULA, PRIVATE, PUBLIC, mu=1, family="poisson"), "dp_glm"),
        (lambda: dp_feols(FORMULA, PRIVATE, PUBLIC, mu=1, model="random"), "no random effects"),
    ],
)
def test_an_argument_of_one_function_elsewhere_is_answered(ask: Any, said: str) -> None:
    with pytest.raises(TypeError, match=said):
        ask()


def test_a_budget_says_what_its_parts_are_called() -> None:
    with pytest.raises(AttributeError, match="here it is remaining"):
        Budget(mu=1).left  # noqa: B018


def test_what_hc1_stands_for_is_what_is_printed() -> None:
    fit = dp_lm(FORMULA, PRIVATE, PUBLIC, mu=1, vcov="HC1", seed=1)
    assert fit.call == _fit().call
    assert fit.se().equals(_fit().se())
    assert _fit().update(vcov="HC1").glance().vcov[0] == "hetero"


@pytest.mark.parametrize(
    "levels",
    [
        np.array(["no", "yes"]),
        ("no", "yes"),
        pd.Index(["no", "yes"]),
        pd.CategoricalDtype(["no", "yes"]),
        pd.Series(["no", "yes"]),
    ],
    ids=lambda levels: type(levels).__name__,
)
def test_levels_may_stand_in_whatever_has_an_order(levels: Any) -> None:
    tables = [t.assign(g=np.where(t.children > 0, "yes", "no")) for t in (PRIVATE, PUBLIC)]
    fit = dp_lm("rate_marriage ~ g", *tables, limits={"g": levels}, mu=1, seed=1)
    assert fit.coef().index[1] == "g[T.yes]"
    assert 'limits = {"g": ["no", "yes"]}' in fit.call


def test_two_numbers_are_a_range_unless_a_list_or_a_range_has_them() -> None:
    given = {"a": (0, 1), "b": np.array([0, 1]), "c": [0, 1], "d": range(2), "e": (0, 1, 2)}
    read = {"a": (0, 1), "b": (0, 1), "c": [0, 1], "d": [0, 1], "e": [0, 1, 2]}
    assert as_limits(given) == read
    odd = {"f": {"x", "y"}, "g": ("x", 1), "h": np.eye(2), "i": "xy", "j": float, "k": ()}
    assert all(as_limits(odd)[name] is value for name, value in odd.items())
    assert as_limits(None) is None


@pytest.mark.parametrize("public", [PUBLIC, None], ids=["public rows", "none"])
def test_weights_may_be_bound_under_their_own_name(public: Any) -> None:
    found = [
        dp_lm(FORMULA, PRIVATE, public, weights="educ", limits={key: (0, 30)}, mu=1, seed=1).se()
        for key in ("educ", "(weights)")
    ]
    pd.testing.assert_series_equal(*found)


def test_a_fit_has_no_items() -> None:
    with pytest.raises(TypeError, match=r"coef\(\)\['age'\] is a coefficient"):
        _ = _fit()["age"]  # type: ignore[index]
    with pytest.raises(TypeError, match=r"coef\(\)\['x1'\]"):
        list(_fit())  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("lm", r"here it is dp_lm\."),
        ("feols", r"here it is dp_feols\."),
        ("dp_logit", "family='binomial'"),
        ("poisson", "family='poisson'"),
        ("dp_lmm", "did you mean 'dp_lm'"),
        ("zzz", "module 'dpstats' has no attribute 'zzz'$"),
    ],
)
def test_a_function_of_another_package_is_answered_by_what_it_is_here(
    name: str, instead: str
) -> None:
    with pytest.raises(AttributeError, match=instead):
        getattr(dpstats, name)


def test_anova_says_in_what_two_fits_differ_besides_terms() -> None:
    other = dp_glm("affairs ~ age", PRIVATE, PUBLIC, family="poisson", mu=1, seed=1)
    with pytest.raises(ArgumentError, match=r"function of the first is dp_lm, .* second dp_glm"):
        anova(_fit().update("~ 1"), other)
    with pytest.raises(ArgumentError, match="response of the first is rate_marriage"):
        anova(_fit(), dp_lm("affairs ~ 1", PRIVATE, PUBLIC, mu=1, seed=1))
    fewer = dp_lm(FORMULA, PRIVATE[:3000], PUBLIC, mu=1, seed=1)
    with pytest.raises(ArgumentError, match="number of private rows of the first is 6048"):
        anova(_fit().update("~ 1"), fewer)
    gaussian = dp_glm("affairs ~ 1", PRIVATE, PUBLIC, family="gaussian", mu=1, seed=1)
    with pytest.raises(ArgumentError, match="family and link of the first is poisson, log"):
        anova(other, gaussian)


@pytest.mark.parametrize(
    ("formula", "instead"),
    [
        ("pairwise ~ religious", r"emmeans\('religious'\)\.contrasts\(\)\."),
        ("~ religious | age", r"emmeans\('religious', by='age'\)\."),
        ("pairwise ~ religious | age", r"\('religious', by='age'\)\.contrasts\(\)\."),
    ],
)
def test_a_formula_of_marginal_means_is_answered_by_what_to_write(
    formula: str, instead: str
) -> None:
    with pytest.raises(ArgumentError, match=instead):
        _fit_by_group().emmeans(formula)


def test_a_method_of_another_package_on_a_page_of_numbers_is_answered() -> None:
    slopes = _fit().slopes(PUBLIC.head(3))
    for name, instead in (("tidy", "here it is frame"), ("pvalues", r"here it is frame\.p_value")):
        with pytest.raises(AttributeError, match=instead):
            getattr(slopes, name)
    with pytest.raises(AttributeError, match=r"has no attribute 'pairs'$"):
        _ = slopes.pairs
    means = _fit_by_group().emmeans("religious")
    with pytest.raises(AttributeError, match=r"here it is contrasts\(\)"):
        _ = means.pairs
    assert pickle.loads(pickle.dumps(means)).frame.equals(means.frame)


def test_a_misspelled_name_of_a_result_is_answered_by_the_right_one() -> None:
    for wrong, right in (("summmary", "summary"), ("coefs", "coef"), ("predicts", "predict")):
        with pytest.raises(AttributeError, match=f"did you mean '{right}'"):
            getattr(_fit(), wrong)
    with pytest.raises(AttributeError, match=r"has no attribute 'zzz'$"):
        _ = _fit().zzz


def test_types_of_tests_may_be_written_as_in_car() -> None:
    for number, roman in enumerate(("I", "II", "III"), start=1):
        assert anova(_fit(), type=roman).frame.equals(anova(_fit(), type=number).frame)
    with pytest.raises(ArgumentError, match="type must be 1, 2 or 3, not 4"):
        anova(_fit(), type=4)


def test_functions_keep_their_signatures_and_names() -> None:
    names = [name for name in dpstats.__all__ if inspect.isfunction(getattr(dpstats, name))]
    for name in names:
        function = getattr(dpstats, name)
        assert function.__name__ == name
        assert "args" not in inspect.signature(function).parameters


def test_methods_that_return_a_text_say_how_a_file_is_written() -> None:
    for of in (_fit(), public_moments(FORMULA, PUBLIC)):
        with pytest.raises(ArgumentError, match=r"write_text\(x\.to_json\(\)\)"):
            of.to_json("fit.json")
    with pytest.raises(ArgumentError, match=r"write_text\(x\.to_latex\(\)\).* It takes"):
        _fit().summary().to_latex("fit.tex")
    with pytest.raises(ArgumentError, match=r"write_text\(x\.to_html\(\)\)"):
        _fit().summary().to_html(path="fit.html")
    with pytest.raises(AttributeError, match=r"write_text\(page\.to_html\(\)\)"):
        _fit().summary().save("fit.html")
