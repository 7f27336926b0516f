"""Fits of R, made by `fits.R`, beside the same formulas here, spelled as in R, with next to no noise."""

from __future__ import annotations

import json
import re
import warnings
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpstats import anova, dp_glm, dp_lm

R = json.loads(Path(__file__).with_name("fits.json").read_text("utf-8"))
CLOSE = 1e-4
ALIASED = ("mpg ~ interaction(gear_f, am) + wt", "mpg ~ wt + gear_f %in% am")
"""With combinations that no row has: R leaves their columns out, here they have no standard error."""
OTHER_COLUMNS = ("breaks ~ wool:tension",)
"""R makes a column too many, and leaves the last one out; here all columns are needed."""


@cache
def table(name: str) -> pd.DataFrame:
    told = R["tables"][name]
    columns = {}
    for column, kind in told["kinds"].items():
        values = told["columns"][column]
        if kind == "number":
            numbers = np.array(values, dtype=float)
            whole = np.array_equal(numbers, np.floor(numbers))
            columns[column] = numbers.astype(int) if whole else numbers
        else:
            levels = told["levels"][column]
            columns[column] = pd.Categorical.from_codes(values, levels, ordered=kind == "ordered")
    return pd.DataFrame(columns)


@cache
def fitted(k: int) -> Any:
    told = R["fits"][k]
    rows = table(told["table"])
    given: dict[str, Any] = {"weights": told["weights"]} if "weights" in told else {}
    exact = {"public": rows, "rho": 1e12, "vcov": "iid", "seed": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the public rows are the private ones
        if "family" in told:
            return dp_glm(told["formula"], rows, family=told["family"].lower(), **given, **exact)
        return dp_lm(told["formula"], rows, **given, **exact)


def said(told: dict[str, Any]) -> str:
    return " ".join(told[key] for key in ("table", "formula", "family", "weights") if key in told)


RENAMED = re.compile(r"\bC\(|as\.(ordered|integer)|unclass|!")
"""Columns that are named by their level where R counts, and what is spelled otherwise in Python."""

ALL = [pytest.param(k, id=said(told)) for k, told in enumerate(R["fits"])]
LINEAR = [one for one, told in zip(ALL, R["fits"], strict=True) if "family" not in told]
GENERAL = [one for one, told in zip(ALL, R["fits"], strict=True) if "family" in told]


def as_r_names_it(term: str) -> list[str]:
    """The parts of a column's name as R spells them, but for blanks and quotes."""
    term = re.sub(r"\[(?:T\.)?([^\[\]]*|[\[(][^\[\]]*[\])])\](?=:|$)", r"\1", term)
    for ours, rs in (
        ("Intercept", "(Intercept)"),
        ("**", "^"),
        ("//", "%/%"),
        ("_knots", ".knots"),
        ("include_", "include."),
    ):
        term = term.replace(ours, rs)
    return plain(term)


def plain(term: str) -> list[str]:
    """Without what R and Python spell in several ways, and the order of an interaction's parts."""
    term = re.sub(r"TRUE(?=:|$)|[\s'\"{}`]", "", term)
    for one, other in (
        ("TRUE", "True"),
        ("FALSE", "False"),
        ("%%", "%"),
        ("as.numeric", "as_numeric"),
    ):
        term = term.replace(one, other)
    for one, other in (
        ("as.factor", "factor"),
        ("&", "and"),
        ("|", "or"),
        ("!", "not"),
        ("%in%", "in"),
    ):
        term = term.replace(one, other)
    return sorted(term.split(":"))


def standing_for(told: dict[str, Any], fit: Any) -> np.ndarray:
    """Positions of the columns that R has as well."""
    if told["formula"] not in ALIASED:
        return np.arange(len(fit.coef()))
    rs = [*map(plain, told["names"])]
    return np.array([k for k, term in enumerate(fit.coef().index) if as_r_names_it(term) in rs])


@pytest.mark.parametrize("k", ALL)
def test_coefficients_and_their_errors(k: int) -> None:
    told, fit = R["fits"][k], fitted(k)
    coef, error = fit.coef(), np.sqrt(np.diag(fit.vcov()))
    if told["formula"] in OTHER_COLUMNS:
        assert len(coef) == len(told["coef"])
        return
    kept = standing_for(told, fit)
    others = np.setdiff1d(np.arange(len(coef)), kept)
    assert not np.isfinite(error[others]).any()
    if len(others):
        return  # what no row tells is looked for in the noise, and moves the others
    want, scale = np.atleast_1d(told["coef"]), np.atleast_1d(told["se"])
    np.testing.assert_allclose(coef, want, rtol=CLOSE, atol=CLOSE * scale.min())
    np.testing.assert_allclose(error, scale, rtol=CLOSE)
    if not RENAMED.search(told["formula"]):
        names = [as_r_names_it(term) for term in coef.index]
        assert names == [*map(plain, np.atleast_1d(told["names"]))]


@pytest.mark.parametrize("k", LINEAR)
def test_fit_and_predictions(k: int) -> None:
    told, fit = R["fits"][k], fitted(k)
    if told["formula"] in ALIASED:
        return
    new = table(told["table"])[:5]
    facts = fit.glance().loc[0]
    assert facts["sigma"] == pytest.approx(told["sigma"], rel=CLOSE)
    if "offset" not in told["formula"]:  # R counts the offset's own variance as explained
        assert facts["r_squared"] == pytest.approx(told["r2"], abs=CLOSE)
        assert facts["adj_r_squared"] == pytest.approx(told["adj"], abs=CLOSE)
    weighted = (
        "weights" in told
    )  # R asks for the weights of new rows, and takes 1 where none are given
    plain = new.drop(columns=told["weights"]) if weighted else new
    warned = pytest.warns(UserWarning, match="weight 1") if weighted else nullcontext()
    with warned:
        predicted = fit.predict(plain, interval="prediction")
    for interval, ours in (
        ("confidence", fit.predict(new, interval="confidence")),
        ("prediction", predicted),
    ):
        theirs = told[interval]
        near = {"rtol": CLOSE, "atol": CLOSE * told["sigma"]}
        np.testing.assert_allclose(ours["fit"], theirs["fit"], **near)
        np.testing.assert_allclose(ours["lwr"], theirs["low"], **near)
        np.testing.assert_allclose(ours["upr"], theirs["high"], **near)
    if told["formula"] not in OTHER_COLUMNS:
        limits = np.reshape([told["low"], told["high"]], (2, -1)).T
        off = np.abs(fit.confint().to_numpy() - limits).max(axis=1)
        assert (off < CLOSE * (limits[:, 1] - limits[:, 0])).all()


@pytest.mark.parametrize("k", LINEAR)
def test_tests_of_the_terms_in_order(k: int) -> None:
    told, fit = R["fits"][k], fitted(k)
    if told["formula"] in (*ALIASED, *OTHER_COLUMNS) or not np.size(told["terms"]):
        return
    ours = anova(fit).frame
    degrees = np.atleast_1d(told["anova_df"]).astype(float)
    assert ours["df"].tolist() == degrees.tolist()
    want = np.atleast_1d(told["anova_f"])  # chi-squared over its degrees of freedom
    np.testing.assert_allclose(ours["chi2"] / degrees, want, rtol=CLOSE, atol=CLOSE)


@pytest.mark.parametrize("k", GENERAL)
def test_predictions_of_generalised_models(k: int) -> None:
    told, fit = R["fits"][k], fitted(k)
    new = table(told["table"])[:5]
    np.testing.assert_allclose(fit.predict(new, type="response"), told["response"], rtol=CLOSE)
    link = fit.predict(new, type="link", se_fit=True)
    np.testing.assert_allclose(link["fit"], told["link"], rtol=CLOSE, atol=CLOSE)
    np.testing.assert_allclose(link["se_fit"], told["link_se"], rtol=CLOSE)
