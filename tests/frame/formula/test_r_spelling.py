"""What R users type inside calls means what it means in R."""

import numpy as np
import pandas as pd
import pytest

import dpstats
from dpstats.errors import FormulaError, SchemaError
from dpstats.frame import learn_design
from dpstats.frame.formula.grammar import parse_factor
from dpstats.frame.formula.parse import formula_notes, parse
from dpstats.frame.formula.r_spelling import in_python
from dpstats.frame.rows import design_matrix

_X = np.array([-3.0, -1.0, 0.0, 0.5, 2.0, 2.5, 5.0, 7.0])
_TABLE = pd.DataFrame(
    {
        "y": np.arange(8.0),
        "x": _X,
        "z": _X[::-1],
        "k": [1.0, 2, 3, 1, 2, 3, 1, 2],
        "g": list("abcabcab"),
        "b": [True, False] * 4,
    }
)
_x, _z, _k, _g = (_TABLE[c].to_numpy() for c in "xzkg")

# the expected values are those of R 4.4 for the same numbers
_ONE_COLUMN = {
    "I(x^2)": _x**2,
    "I(x^2 + 1)": _x**2 + 1,
    "I(-x^2)": -(_x**2),
    "I(x > 0 & z > 0)": (_x > 0) & (_z > 0),
    "I(x > 0 && z > 0)": (_x > 0) & (_z > 0),
    "I(x > 2 | z > 2)": (_x > 2) | (_z > 2),
    "I(!x > 0)": ~(_x > 0),
    "I(!(g == 'a'))": _g != "a",
    "I(g != 'a')": _g != "a",
    "I(g %in% c('a', 'b'))": np.isin(_g, ["a", "b"]),
    "I(k %in% 1:2)": np.isin(_k, [1, 2]),
    "I(k %in% c(1L, 3L))": np.isin(_k, [1, 3]),
    "I(2 * (x %% 2))": [2.0, 2, 0, 1, 0, 1, 2, 2],
    "I((2 * x) %% 3)": np.mod(2 * _x, 3),
    "I((x + z) %in% c(4, 6))": np.isin(_x + _z, [4, 6]),
    "I(x %% 2)": [1.0, 1, 0, 0.5, 0, 0.5, 1, 1],
    "I(x %/% 2)": [-2.0, -1, 0, 0, 1, 1, 2, 3],
    "I(b == TRUE)": _TABLE.b,
    "factor(x > 2)": _x > 2,
    "ifelse(x > 0, x, 0)": np.maximum(_x, 0),
    "ifelse(g == 'a', 1, ifelse(g == 'b', 2, 3))": [1, 2, 3, 1, 2, 3, 1, 2],
    "pmin(x, z, 1)": np.minimum(np.minimum(_x, _z), 1),
    "pmax(x, 1)": np.maximum(_x, 1),
    "abs(x)": np.abs(_x),
    "sign(x)": np.sign(_x),
    "round(x)": [-3.0, -1, 0, 0, 2, 2, 5, 7],
    "floor(x)": np.floor(_x),
    "ceiling(x)": np.ceil(_x),
    "trunc(x)": np.trunc(_x),
    "log(k, 2)": np.log2(_k),
    "log(k, base=10)": np.log10(_k),
    "log1p(k)": np.log1p(_k),
    "expm1(x)": np.expm1(_x),
    "asinh(x)": np.arcsinh(_x),
    "as.numeric(k)": _k,
    "as.integer(x)": np.trunc(_x),
    "round(x / 4, 1)": [-0.8, -0.2, 0.0, 0.1, 0.5, 0.6, 1.2, 1.8],
    "round(100 * x, -2)": [-300.0, -100, 0, 0, 200, 200, 500, 700],
}


@pytest.mark.parametrize("text", _ONE_COLUMN)
def test_a_call_has_the_values_of_r(text: str) -> None:
    design = learn_design(f"y ~ 0 + {text}", _TABLE)
    x = design_matrix(design, _TABLE)[0]
    expected = np.asarray(_ONE_COLUMN[text], dtype=float)
    np.testing.assert_allclose(x[:, -1], expected, rtol=1e-14)


def test_ways_of_saying_that_a_column_is_a_category() -> None:
    def columns(right: str) -> np.ndarray:
        return np.asarray(design_matrix(learn_design(f"y ~ {right}", _TABLE), _TABLE)[0])

    for right in ("factor(g)", "as.factor(g)", "C(g)"):
        assert (columns(right) == columns("g")).all()
    assert (columns("factor(k)") == columns("C(k)")).all()
    assert (columns("relevel(g, ref='b')") == columns("C(g, contr.treatment('b'))")).all()
    assert (columns("ordered(g)") == columns("C(g, contr.poly)")).all()
    assert (columns("as.ordered(g)") == columns("C(g, contr.poly)")).all()
    swapped = columns("factor(g, levels=c('c', 'b', 'a'))")
    assert (swapped[:, 1] == (_g == "b")).all()
    assert (swapped[:, 2] == (_g == "a")).all()
    linear = columns("ordered(k)")[:3, 1]
    assert linear == pytest.approx([-np.sqrt(0.5), 0, np.sqrt(0.5)], abs=1e-15)


@pytest.mark.parametrize(
    "level", ["(10, 20]", "close)", "[1", "{x", "a`b", "c(1)", "it's (", "\u2801\u2802("]
)
def test_levels_with_brackets_can_be_written(level: str) -> None:
    table = _TABLE.assign(g=np.where(_TABLE.g == "a", level, _TABLE.g))
    for text in (
        f'I(g == "{level}")',
        f'I(g %in% c("{level}"))',
        f'relevel(g, ref="{level}")',
        f'C(g, Treatment("{level}"))',
        f'factor(g, levels=c("{level}", "b", "c"))',
    ):
        design = learn_design(f"y ~ {text}", table)
        x = design_matrix(design, table)[0]
        is_level = x[:, 1] == 1 if text.startswith("I") else (x[:, 1:] == 0).all(axis=1)
        assert (is_level == (_g == "a")).all(), text
        assert learn_design(design.formula, table).terms == design.terms


@pytest.mark.parametrize(
    ("how", "names", "places"),
    [
        ("c(-5, 0, 2, 9)", ["(-5,0]", "(0,2]", "(2,9]"], [0, 0, 0, 1, 1, 2, 2, 2]),
        ("c(-5, 0, 2, 9), right=FALSE", ["[-5,0)", "[0,2)", "[2,9)"], [0, 0, 1, 1, 2, 2, 2, 2]),
        ("c(-Inf, 0, Inf)", ["(-Inf,0]", "(0, Inf]"], [0, 0, 0, 1, 1, 1, 1, 1]),
        (
            "c(-3, 0, 7), include.lowest=TRUE",
            ["[-3,0]", "(0,7]"],
            [0, 0, 0, 1, 1, 1, 1, 1],
        ),
        ("c(-5, 0, 9), labels=c('low', 'high')", ["low", "high"], [0, 0, 0, 1, 1, 1, 1, 1]),
    ],
)
def test_cut_has_the_intervals_of_r(how: str, names: list[str], places: list[int]) -> None:
    design = learn_design(f"y ~ 0 + cut(x, {how})", _TABLE)
    x = design_matrix(design, _TABLE)[0]
    assert x.argmax(axis=1).tolist() == places
    assert (x.sum(axis=1) == 1).all()
    ends = [term[term.index(")[") + 2 : -1] for term in design.terms]
    assert [end.replace(", ", ",") for end in ends] == [n.replace(", ", ",") for n in names]
    with_constant = learn_design(f"y ~ cut(x, {how})", _TABLE)
    assert len(with_constant.terms) == len(names)


def test_a_value_outside_the_breaks_is_missing() -> None:
    design = learn_design("y ~ cut(x, c(-5, 0, 1, 9))", _TABLE)
    x = design_matrix(design, _TABLE.assign(x=[-9.0, *_X[1:]]))[0]
    assert np.isnan(x[0]).all()
    assert (x[1:, 0] == 1).all()


def test_what_is_missing_decides_nothing_that_the_rest_decides() -> None:
    nan = np.nan
    table = _TABLE.assign(x=[nan, nan, nan, 1.0, 0, 1, 0, 1], z=[1.0, 0, nan, nan, nan, 1, 0, 0])
    design = learn_design("y ~ 0 + I(x > 0 & z > 0) + I(x > 0 | z > 0)", _TABLE)
    from dpstats.frame.formula.evaluate import evaluate

    numbers = {"x": table.x.to_numpy(), "z": table.z.to_numpy()}
    both, either = (evaluate(f.expr, numbers, {}) for f in design.factors.values())
    np.testing.assert_array_equal(both, [nan, 0, nan, nan, 0, 1, 0, 0])
    np.testing.assert_array_equal(either, [1, nan, nan, 1, nan, 1, 0, 1])


def test_a_function_may_be_named_with_its_package() -> None:
    assert in_python("y ~ splines::ns(x, 3) + log(base::abs(x))") == "y ~ ns(x, 3) + log(abs(x))"
    with pytest.raises(FormulaError, match="write ns"):
        learn_design("y ~ mgcv::s(x)", _TABLE)


def test_what_is_quoted_is_left_as_it_is() -> None:
    assert in_python("y ~ `a::f(x)` + I(g == 'a::f(x)')") == "y ~ `a::f(x)` + I(g == 'a::f(x)')"
    for text in ("y ~ I(g == 'a^b & !c')", "y ~ `my ^ col` + `TRUE`", "y ~ x * z + (x + z)^2"):
        assert in_python(text) == text
    assert in_python("y ~ a %in% b") == "y ~ a : b"
    assert [len(term) for term in parse("y ~ x %in% z").terms] == [0, 2]


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        ("y ~ x + (1|g)", "no random effects; dp_feols"),
        ("y ~ Surv(x, z)", "no survival models"),
        ("y ~ mean(x)", "looks at all rows"),
        ("y ~ lag(x)", "looks at other rows"),
        ("y ~ s(x)", "write ns"),
        ("y ~ interaction(g)", "two columns or more"),
        ("y ~ interaction(g, g)", "two columns or more"),
        ("y ~ interaction(g, log(k))", "names of two columns"),
        ("y ~ ns(x, Boundary.knots=3)", "two increasing numbers"),
        ("y ~ round(x, z)", "where a constant is needed"),
        ("y ~ round(x, 99)", "whole number up to"),
        ("y ~ log(class + 5)", "`class` is a word of Python"),
        ("y ~ log(`class` + 5)", "`class` is a word of Python"),
        ("y ~ rcs(x, 4)", r"ns\(x, df=4\)"),
        ("y ~ lspline(x, 50)", r"x \+ I\(\(x - 50\)"),
        ("y ~ x + strata(g)", r"factor\(g\)"),
        ("y ~ recode(x, 1=0)", r"there is no recode\(\): write ifelse"),
        ("y ~ case_when(x > 1 ~ 1)", r"ifelse\(condition, a, ifelse"),
        ("y ~ log(x +)", "invalid syntax"),
        ("y ~ relevel(factor(k), ref='9')", "'9' is not one of 1, 2, 3"),
        ("y ~ cut(x, 3)", "a number of intervals would depend on private rows"),
        ("y ~ relevel(g)", "needs ref="),
        ("y ~ factor(x + 1)", "name of a column"),
        ("y ~ ifelse(x > 1, 2)", "three arguments"),
        ("y ~ pmin(x)", "two arguments or more"),
        ("y ~ log(x, -1)", "above 0"),
        ("y ~ I(x %in% z)", "where a constant is needed"),
        ("y ~ I(2 * x %% 3)", "write parentheses"),
        ("y ~ I(x / 2 %/% 2)", "write parentheses"),
        ("y ~ I(x + z %in% c(1, 2))", "write parentheses"),
        ("y ~ I(x == z %in% c(1, 2))", "write parentheses"),
        ("y ~ I(x %in% c('a', 1))", "takes numbers, or a column and levels"),
    ],
)
def test_what_is_not_there_is_answered_by_what_is(formula: str, said: str) -> None:
    with pytest.raises(FormulaError, match=said) as error:
        learn_design(formula, _TABLE)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "text", ["ifelse(x, y.mean(), 0)", "pmin(*x)", "x in y", "factor(lag(x))", "cut(x, breaks=z)"]
)
def test_nothing_new_looks_at_two_rows(text: str) -> None:
    with pytest.raises(FormulaError):
        parse_factor(text)


def test_categories_as_numbers_and_other_ways_to_spell_them() -> None:
    def columns(right: str) -> np.ndarray:
        return np.asarray(design_matrix(learn_design(f"y ~ {right}", _TABLE), _TABLE)[0])

    place = np.array(["abc".index(g) + 1.0 for g in _g])
    ordered = _TABLE.assign(g=pd.Categorical(_g, list("abc"), ordered=True))
    for text in ("as.numeric(g)", "unclass(g)", "I(as.numeric(g))"):
        design = learn_design(f"y ~ {text}", ordered)
        assert (design_matrix(design, ordered)[0][:, 1] == place).all()
    with pytest.raises(FormulaError, match=r"without an order. Write factor\(g\)"):
        columns("as.numeric(g)")  # its number, or its place?
    assert (columns("as.numeric(b)")[:, 1] == _TABLE.b).all()
    assert (columns("as.numeric(k)")[:, 1] == _k).all()
    assert (columns("as.logical(x)")[:, 1] == (_x != 0)).all()
    assert (columns("C(g, contr.treatment, base=2)") == columns("relevel(g, 'b')")).all()
    assert (columns("C(g, contr.treatment(3, base=2))") == columns("relevel(g, 'b')")).all()
    assert (columns("C(k, contr.treatment(3, 2))") == columns("C(k, base=2)")).all()
    for wrong, said in (
        ("contr.treatment(4, base=2)", "there are 3"),
        ("contr.treatment(3, base=4)", "base=4 must be one of the levels 1 to 3"),
        ("contr.treatment(3, base='b')", "two whole numbers"),
        ("contr.treatment(base=2)", r"no level 2 .*C\(g, base=2\) counts them"),
    ):
        with pytest.raises(FormulaError, match=said):
            columns(f"C(g, {wrong})")
    assert (columns("C(factor(k), sum)") == columns("C(k, contr.sum)")).all()
    assert (columns("relevel(factor(k), ref='2')") == columns("C(k, contr.treatment(2))")).all()
    assert (columns("factor(g, ordered=TRUE)") == columns("ordered(g)")).all()
    assert (columns("factor(cut(x, c(-9, 0, 9)))") == columns("cut(x, c(-9, 0, 9))")).all()
    breaks = "c(-3, 0, 2, 7)"
    for how in ("", ", right=FALSE", ", include.lowest=TRUE", ", right=FALSE, include.lowest=TRUE"):
        table = _TABLE.assign(x=[-9.0, *_X[1:]])
        coded = design_matrix(learn_design(f"y ~ 0 + cut(x, {breaks}{how})", _TABLE), table)[0]
        design = learn_design(f"y ~ cut(x, {breaks}, labels=FALSE{how})", _TABLE)
        number = design_matrix(design, table)[0][:, 1]
        expected = np.where(np.isnan(coded).any(axis=1), np.nan, coded.argmax(axis=1) + 1)
        np.testing.assert_array_equal(number, expected)


def test_a_dot_in_a_name_is_no_attribute() -> None:
    table = _TABLE.rename(columns={"x": "my.x", "z": "a.b.c"})
    design = learn_design("y ~ log(a.b.c + 9) + I(my.x^2) + poly(my.x, 2)", table)
    x = design_matrix(design, table)[0]
    np.testing.assert_allclose(x[:, 1], np.log(_z + 9))
    np.testing.assert_allclose(x[:, 2], _x**2)
    for text in ("my.x.mean()", "log(my.x.mean())", "I(x.__class__)"):
        with pytest.raises((FormulaError, SchemaError)):
            learn_design(f"y ~ {text}", table)


def test_a_power_of_one_term_is_that_term_and_a_note_says_so() -> None:
    others = ("(a + b)^2", "I(x^2)", "poly(x, 2)", "I((x + 1)^2)", "(a:b + c)^2", ".^2", "x^1")
    for text in (*others, "{x^2}", "`x^2` + z"):
        assert formula_notes(f"y ~ {text}") == ()
    for term in ("x", "é", "exp(abs(x))", "log(x)"):
        assert f"`{term}^3` is `{term}`, as in R." in formula_notes(f"y ~ z + {term} ^ 3")[0]
    (python,) = formula_notes("y ~ x ** 2")
    assert "`x**2` is `x`, as in R" in python
    assert "write I(x**2)" in python
    assert "write I(`my x`^2)" in formula_notes("y ~ z + `my x` ^ 2")[0]
    assert "`b^2` is `b`" in formula_notes("y ~ (b^2) + z")[0]
    assert len(formula_notes("y ~ x^2 + x^2:z")) == 1
    assert len(formula_notes("y ~ " + " + ".join(f"x{k}^2" for k in range(50)))) == 3
    table = pd.DataFrame({"x": np.arange(2000.0) % 9, "y": np.arange(2000.0) % 7})
    fit = dpstats.dp_lm("y ~ x^2", table, mu=1, seed=1)
    assert any("`x^2` is `x`, as in R" in note for note in fit.notes)
    assert not any(
        "as in R" in note for note in dpstats.dp_lm("y ~ {x^2}", table, mu=1, seed=1).notes
    )
