"""Formulas of classes and curves become designs whose first columns say what a row is."""

import numpy as np
import pandas as pd
import pytest

from dpstats.errors import FormulaError, SchemaError
from dpstats.frame import (
    class_design,
    curve_formula,
    design_matrix,
    features_design,
    learn_design,
    open_rows,
    points_formula,
)

TABLE = pd.DataFrame(
    {
        "g": ["b", "a", "c", "a"],
        "flag": [True, False, True, False],
        "k": [3, 1, 2, 1],
        "x": [1.0, 2.0, 3.0, np.nan],
        "z": [0.5, 0.5, 1.0, 2.0],
        "my col": [1.0, 2.0, 3.0, 4.0],
        "my class": ["u", "v", "u", "v"],
    }
)


def _terms(formula: str, table: pd.DataFrame = TABLE) -> tuple[str, ...]:
    return class_design(formula, table, {})[0].terms


@pytest.mark.parametrize(
    ("formula", "name", "terms"),
    [
        ("g ~ x", "g", ("C(g)[a]", "C(g)[b]", "C(g)[c]", "x")),
        ("C(g) ~ x", "g", ("C(g)[a]", "C(g)[b]", "C(g)[c]", "x")),
        ("flag ~ x + z", "flag", ("C(flag)[False]", "C(flag)[True]", "x", "z")),
        ("k ~ x", "k", ("C(k)[1]", "C(k)[2]", "C(k)[3]", "x")),
        ("`my class` ~ `my col`", "my class", ("C(my class)[u]", "C(my class)[v]", "my col")),
        ("g ~ x * z", "g", ("C(g)[a]", "C(g)[b]", "C(g)[c]", "x", "z", "x:z")),
        ("g ~ 0 + x", "g", ("C(g)[a]", "C(g)[b]", "C(g)[c]", "x")),
        ("g ~ x - 1", "g", ("C(g)[a]", "C(g)[b]", "C(g)[c]", "x")),
        ("flag ~ g", "flag", ("C(flag)[False]", "C(flag)[True]", "g[T.b]", "g[T.c]")),
        (
            "flag ~ C(k) + x",
            "flag",
            ("C(flag)[False]", "C(flag)[True]", "C(k)[T.2]", "C(k)[T.3]", "x"),
        ),
    ],
)
def test_classes_come_first_and_features_follow(
    formula: str, name: str, terms: tuple[str, ...]
) -> None:
    design, found = class_design(formula, TABLE, {})
    assert found == name
    levels = design.columns[name].levels
    assert levels is not None
    assert len(design.terms) == len(terms)
    assert design.terms[len(levels) :] == terms[len(levels) :]
    assert [str(v) for v in levels] == [t.split("[")[1].rstrip("]") for t in terms[: len(levels)]]


def test_an_interaction_without_main_effects() -> None:
    assert _terms("g ~ x:z")[3:] == ("x:z",)
    assert len(_terms("flag ~ x:g")) == 2 + 3


def test_a_dot_is_every_other_column() -> None:
    some = TABLE[["g", "x", "my col"]]
    assert _terms("g ~ .", some)[3:] == ("x", "my col")
    assert _terms("g ~ . - x", some)[3:] == ("my col",)


def test_rows_are_an_indicator_and_features_and_odd_ones_are_empty() -> None:
    design, _ = class_design("g ~ x + z", TABLE, {})
    data = pd.DataFrame(
        {"g": ["a", "c", "zz", None, "b"], "x": [1.0, 2.0, 3.0, 4.0, np.nan], "z": 1.0}
    )
    (block,) = open_rows(design, data).blocks()
    assert block.x.tolist() == [
        [1, 0, 0, 1, 1],
        [0, 0, 1, 2, 1],
        [0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0],
    ]


def test_features_can_be_made_without_the_class() -> None:
    for formula, classes in (("g ~ x + z", 3), ("flag ~ x * g", 2), ("`my class` ~ `my col`", 2)):
        design, name = class_design(formula, TABLE, {})
        features = features_design(design, classes)
        assert features.terms == design.terms[classes:]
        x, _ = design_matrix(features, TABLE.drop(columns=name))
        both, _ = design_matrix(design, TABLE)
        np.testing.assert_array_equal(x, both[:, classes:])
    with pytest.raises(SchemaError, match="my col"):
        design_matrix(features, TABLE.drop(columns="my col"))


def test_a_declared_design_is_the_learnt_one() -> None:
    declared, name = class_design(
        "g ~ x + z", None, {"g": ["a", "b", "c"], "x": (0, 4), "z": (0, 2)}
    )
    learnt, _ = class_design("g ~ x + z", TABLE, {})
    assert name == "g"
    assert declared.terms == learnt.terms
    np.testing.assert_array_equal(
        design_matrix(declared, TABLE)[0], design_matrix(learnt, TABLE)[0]
    )
    fewer, _ = class_design("g ~ x", TABLE, {"g": ["a", "b"]})
    assert fewer.columns["g"].levels == ("a", "b")


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        ("~ x", "no class on its left side"),
        ("log(x) ~ z", "is not a class"),
        ("I(x > 1) ~ z", "is not a class"),
        ("g ~ g", "also on the right-hand side"),
        ("g ~ x + C(g)", "also on the right-hand side"),
        ("g ~ x:g", "also on the right-hand side"),
        ("g ~ I(g == 'a')", "also on the right-hand side"),
        ("`my class` ~ x + `my class`", "also on the right-hand side"),
        ("g ~ x + offset(z)", "no offset"),
        ("g ~ 1", "no feature"),
        ("g ~ 0", "no feature"),
        ("g ~", "nothing is right of"),
        ("g + k ~ x", "left-hand side"),
    ],
)
def test_what_is_no_classification_is_refused(formula: str, said: str) -> None:
    with pytest.raises(FormulaError, match=said):
        class_design(formula, TABLE, {})


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("y ~ x", ("Intercept", "x")),
        ("y ~ 0 + x", ("Intercept", "x")),
        ("y ~ x - 1", ("Intercept", "x")),
        ("y ~ x + log(z)", ("Intercept", "x", "log(z)")),
        ("log(y) ~ `my col`", ("Intercept", "my col")),
        ("y ~ . - g - flag - k - `my class`", ("Intercept", "x", "z", "my col")),
    ],
)
def test_a_curve_has_a_constant_first(formula: str, expected: tuple[str, ...]) -> None:
    table = TABLE.assign(y=[1.0, 2.0, 3.0, 4.0])
    design = learn_design(curve_formula(formula, tuple(table.columns)), table)
    assert design.terms == expected
    (block,) = open_rows(design, table).blocks()
    dead = (
        table[[c for c in ("x", "z", "my col") if f"{c}" in " ".join(expected)]].isna().any(axis=1)
    )
    assert (block.x[:, 0] == np.where(dead, 0, 1)).all()


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        ("~ x", "no response"),
        ("y ~ 1", "no covariate"),
        ("y ~ 0", "no covariate"),
        ("y ~ x + offset(z)", "no offset"),
    ],
)
def test_what_is_no_curve_is_refused(formula: str, said: str) -> None:
    with pytest.raises(FormulaError, match=said):
        curve_formula(formula, ("y", "x", "z"))


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ("~ x", ("Intercept", "x")),
        ("~ x + z", ("Intercept", "x", "z")),
        ("~ 0 + z + x", ("Intercept", "z", "x")),
        ("~ x - 1", ("Intercept", "x")),
        ("~ x + log(z)", ("Intercept", "x", "log(z)")),
        ("~ x * z", ("Intercept", "x", "z", "x:z")),
        ("~ C(k) + `my col`", ("Intercept", "C(k)[T.2]", "C(k)[T.3]", "my col")),
        ("~ 0 + g", ("Intercept", "g[T.b]", "g[T.c]")),
        ("~ . - g - flag - k - `my class`", ("Intercept", "x", "z", "my col")),
        (["x", "z"], ("Intercept", "x", "z")),
        (("z", "my col"), ("Intercept", "z", "my col")),
        (pd.Index(["x"]), ("Intercept", "x")),
        (["g"], ("Intercept", "g[T.b]", "g[T.c]")),
    ],
)
def test_points_have_a_constant_first(columns: object, expected: tuple[str, ...]) -> None:
    text = points_formula(columns, tuple(TABLE.columns))
    design = learn_design(text, TABLE)
    assert design.terms == expected
    assert design.response is None
    (block,) = open_rows(design, TABLE).blocks()
    used = [name for name in ("x", "z") if any(name in term.split(":") for term in expected)]
    dead = TABLE[used].isna().any(axis=1)
    assert (block.x[:, 0] == np.where(dead, 0, 1)).all()


def test_names_in_a_list_are_columns_and_no_formulas() -> None:
    names = ("log(x)", "a b", "x")
    assert points_formula(["log(x)", "a b", "x"], names) == "~ `log(x)` + `a b` + x"
    assert points_formula("~ .", names) == "~ `log(x)` + `a b` + x"


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ("y ~ x", "has a response.*write '~ y . x'.*dp_lm"),
        ("log(y) ~ x", "has a response"),
        ("~ 1", "no column"),
        ("~ 0", "no column"),
        ("~", "nothing is right of"),
        ("x + z", "formula"),
        ("", "formula"),
        ("~ x + offset(z)", "no offset"),
        (3, "not int"),
        (None, "not NoneType"),
        ([], "such as"),
        ([3], "such as"),
        ([""], "such as"),
        (["a`b"], "such as"),
        (["x", None], "such as"),
        (["x", "x"], "`x` is listed twice"),
        (b"~ x", "such as"),
        ({"x", "z"}, "such as"),
        ({"x": 1}, "such as"),
    ],
)
def test_what_is_no_list_of_points_is_refused(columns: object, said: str) -> None:
    with pytest.raises(FormulaError, match=said):
        points_formula(columns, ("y", "x", "z"))
