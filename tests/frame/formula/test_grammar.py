"""Every factor is a row-by-row map, or the formula is refused."""

import pytest

from dpstats.errors import FormulaError
from dpstats.frame.formula.grammar import Factor, parse_factor


@pytest.mark.parametrize(
    "text",
    [
        "I(x - x.mean())",
        "x @ x",
        "lag(x)",
        "x.rank()",
        "bs(x, knots=z)",
        "bs(x, df=len(x))",
        "__import__('os').system('true')",
        "np.log(x)",
        "log(x.real)",
        "x[0]",
        "[x for x in x]",
        "(lambda: x)()",
        "C(x, contr.sum.__class__)",
        "C(g, levels=z)",
        "C(x + 1)",
        "I(poly(x, 2))",
        "log(bs(x))",
        "poly(x, 2, _state=0)",
        "poly(x, degree=n)",
        "center(x, 1)",
        "standardize(x)",
        "hashed(x)",
        "Q('x')",
        "log()",
        "log(*x)",
        "x if x else x",
        "f'{x}'",
        "I(x == 'a' + 'b')",
        "I(x < 'a')",
        "I('a')",
        "I(1j * x)",
        "x := 3",
        "log(2)",
        "scale(x, center=z)",
    ],
)
def test_what_is_not_row_by_row_is_refused(text):
    with pytest.raises(FormulaError) as error:
        parse_factor(text)
    assert "computed row by row" in str(error.value)
    assert "cannot be used: " in str(error.value) or "as in log(x + 1)" in str(error.value)


@pytest.mark.parametrize("text", ["standardize(x)", "x @ x", "hashed(x)", "f'{x}'"])
def test_what_is_unknown_is_answered_by_what_there_is(text):
    with pytest.raises(FormulaError, match=r"ifelse.*poly.*could let one private row change"):
        parse_factor(text)


@pytest.mark.parametrize(
    "text",
    [
        "log(x)",
        "log2(x + 1)",
        "sqrt(x) / log10(z)",
        "I(x ** 2)",
        "I(-x // 2 % 3)",
        "0 < x",
        "I(0 < x < 1)",
        "I(g == 'a')",
        "C(g)",
        "C(g, contr.sum)",
        "C(g, contr.treatment(base='b'))",
        "C(g, Treatment('b'))",
        "C(g, Treatment(reference='b'))",
        "C(g, [[1, 0], [0, 1], [-1, -1]])",
        "C(g, levels=['a', 'b'])",
        "poly(log(x), 2)",
        "poly(x, degree=2, raw=True)",
        "bs(x, knots=[0.2, 0.5], degree=2)",
        "cr(x, df=4, constraints='center')",
        "cc(x, df=4)",
        "center(x)",
        "log(center(x) + 10)",
        "scale(x, ddof=0)",
        "log(`my column`)",
    ],
)
def test_what_is_row_by_row_is_let_through(text):
    assert parse_factor(text).columns


def test_caret_in_a_call_is_refused_with_the_python_power():
    with pytest.raises(FormulaError, match=r"\*\*"):
        parse_factor("I(x^2)")


def test_backticks_hide_nothing():
    assert parse_factor("log(`x.mean() + __import__('os')`)").columns == (
        "x.mean() + __import__('os')",
    )
    assert parse_factor("I(x == '`y`')").columns == ("x",)


def test_a_huge_constant_is_a_formula_error():
    with pytest.raises(FormulaError):
        parse_factor("I(x * " + "9" * 400 + ")")


def test_code_parses_back():
    assert Factor("my column", "column").code == "`my column`"
    assert Factor("x > 0", "expression").code == "{x > 0}"
    assert Factor("log(x) * log(z)", "expression").code == "{log(x) * log(z)}"
    assert Factor("log(x)", "expression").code == "log(x)"


def test_what_is_nested_too_deeply_is_refused_and_many_breaks_are_not():
    parse_factor("cut(x, c(" + ", ".join(map(str, range(900))) + "), labels=False)")
    for text in ("I(" + "+".join(["x"] * 400) + ")", "I(" + "-" * 300 + "x)"):
        with pytest.raises(FormulaError, match=r"nested too deeply|not a valid expression"):
            parse_factor(text)


@pytest.mark.parametrize(
    ("text", "instead"),
    [
        ("C(g, 'contr.sum')", r"without quotes: C\(g, contr.sum\)"),
        ("C(g, 'Sum')", r"without quotes: C\(g, Sum\)"),
        ("C(g, 'west')", r"C\(g, Treatment\('west'\)\)"),
    ],
)
def test_contrasts_in_quotes_are_answered_by_what_to_write(text, instead):
    with pytest.raises(FormulaError, match=instead):
        parse_factor(text)


def test_levels_of_c_are_written_as_in_r():
    written = "C(g, levels=c('b', 'a'))"
    assert parse_factor(written).value == parse_factor("C(g, levels=['b', 'a'])").value
