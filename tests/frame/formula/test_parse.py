"""Formulas: two sides, one response, offsets and dots."""

import os

import pytest

from dpstats.errors import FormulaError
from dpstats.frame.formula.parse import expand_dot, formula_text, parse, split_sides


def terms(formula, available=()):
    return [":".join(piece.text for piece in term) for term in parse(formula, available).terms]


@pytest.mark.parametrize("formula", ["y ~ x | z", "a ~ b ~ c", "[a ~ b] ~ c", "", "~ ~ x"])
def test_multipart_formulas_are_refused(formula):
    with pytest.raises(FormulaError, match="one left-hand side"):
        parse(formula)


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        ("y + x", "write 'y ~ x'"),
        ("y = x + z", "write 'y ~ x \\+ z'"),
        ("y", "'~' separates response and terms"),
        ("y ~ `` + x", "`` names no column"),
        ("y x + z", "write 'y ~ x \\+ z'"),
        ("y ~ x + z)", "brackets do not match"),
        ("y ~ x +", "an operator has nothing beside it"),
        ("y ~ 2*x", r"I\(2 \* x\)"),
        ("y ~ x / 2", r"I\(2 \* x\)"),
        ("y ~ x^0.5", r"I\(x\^0.5\)"),
        ("y ~ 3", "the only numbers that are terms are 1"),
        ("y ~ !b", r"I\(!b\)"),
        ("y ~ b & x", r"I\(!b\)"),
        ("y ~ x > 2", r"I\(x > 0"),
        ("y ~ g == 'a'", r"I\(g == 'a'\)"),
        ("y ~ g %in% c('a')", r"I\(g %in%"),
        ("y ~ x %% 2", r"I\(x %% 2\)"),
        ("y ~ x |> log", r"around its column, log\(x\)"),
        ("y ~ x %>% log", r"around its column, log\(x\)"),
        ("y ~ x, z", "joined by \\+"),
        ("y ~ I(g = 'a')", r"write I\(g == 'a'\)"),
        ("y ~ max(x, z)", r"write pmax\(x, z\)"),
        ("y ~ lgo(x)", r"did you mean log\(\)"),
        ("y ~ x + fixed acidity + z", "backticks: `fixed acidity`"),
        ("y ~ free sulfur dioxide", "backticks: `free sulfur dioxide`"),
        ("y ~ csw(x, z)", r"fit.update\(\)"),
        ("y ~ is.na(x)", "missing value are not used"),
        ("y ~ as.Date(x)", "in both tables beforehand"),
    ],
)
def test_what_is_misread_is_answered_by_what_to_type(formula, said):
    with pytest.raises(FormulaError, match=said) as error:
        parse(formula)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("formula", ["y + z ~ x", "y:z ~ x", "0 ~ x", "y * z ~ x"])
def test_one_response(formula):
    with pytest.raises(FormulaError, match="one numeric response"):
        parse(formula)


@pytest.mark.parametrize("formula", ["y ~ (x", "y ~ x +* z", "y ~ 'a'", "y ~ log(x", "y ~ {x @ x}"])
def test_syntax_errors_are_formula_errors_without_colours(formula):
    with pytest.raises(FormulaError) as error:
        parse(formula)
    assert "\x1b" not in str(error.value)


def test_a_formula_that_is_not_text():
    with pytest.raises(FormulaError, match="must be text"):
        parse(3)


def test_nothing_in_a_formula_is_executed(monkeypatch):
    ran = []
    monkeypatch.setattr(os, "system", ran.append)
    for formula in ("__import__('os').system('a')(x) ~ z", "y ~ {__import__('os').system('a')}"):
        with pytest.raises(FormulaError):
            parse(formula)
    assert ran == []


def test_caret_and_power_outside_calls_are_interactions():
    assert terms("y ~ (a + b)^2") == terms("y ~ (a + b)**2") == ["", "a", "b", "a:b"]
    assert terms("y ~ x^2") == ["", "x"]


def test_intercept_can_be_dropped():
    assert terms("y ~ 0 + x") == terms("y ~ x - 1") == ["x"]


def test_dot_is_every_other_column():
    names = ["y", "x", "z", "w", "t", "off"]
    parsed = parse("log(y) ~ . + offset(log(t))", names, hidden=("w", "off"))
    assert formula_text("log(y)", parsed.terms, parsed.offsets) == "log(y) ~ x + z + offset(log(t))"


def test_offset_is_taken_out_and_cannot_be_multiplied():
    assert parse("y ~ x + offset(log(t))").offsets == ("offset(log(t))",)
    with pytest.raises(FormulaError, match="offset"):
        parse("y ~ x * offset(t)")
    with pytest.raises(FormulaError):
        parse("y ~ x + offset(t.mean())")


def test_a_backticked_name_cannot_pass_for_an_expression():
    with pytest.raises(FormulaError, match="rename"):
        parse("y ~ log(x) + `log(x)`")


def test_sides_and_dot():
    assert split_sides(" y ~ . - x ") == ("y", ". - x")
    assert expand_dot(". - x + I(.5 * a.b)", "(x + z)") == "(x + z) - x + I(.5 * a.b)"
