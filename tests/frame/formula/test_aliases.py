"""Terms that follow from others by the formula alone, and powers that nearly do within limits."""

import pytest

from dpstats.errors import FormulaError
from dpstats.frame import boxed, declare_design, far_powers_within_limits, refuse_aliases

SCHEMA = {
    "y": float,
    "x": (18, 90),
    "year": (2005, 2015),
    "k": [1, 2, 3, 4],
    "b": bool,
    "g": ["a", "b"],
}


@pytest.mark.parametrize(
    ("right", "spare"),
    [
        ("x + poly(x, 2) + g", "x"),
        ("poly(x, 2) + I(x^2)", "I(x ** 2)"),
        ("poly(x, 2) + poly(x, 3)", "poly(x, 2)"),
        ("x + I(x)", "I(x)"),
        ("x + I(2 * x - 1) + g", "I(2 * x - 1)"),
        ("x + center(x)", "center(x)"),
        ("ns(x, 3) + x", "x"),
        ("bs(x, df=4) + I(x^3)", "I(x ** 3)"),
        ("factor(k) + k", "k"),
        ("x + I(x^2) + I((x - 3)^2)", "I((x - 3) ** 2)"),
    ],
)
def test_a_term_that_follows_from_others_is_refused_by_its_name(right: str, spare: str) -> None:
    with pytest.raises(FormulaError) as caught:
        refuse_aliases(declare_design(f"y ~ {right}", SCHEMA))
    assert f"leave `{spare}` out of the formula" in str(caught.value)


@pytest.mark.parametrize(
    ("right", "instead"),
    [
        ("cr(x, df=5)", "cr(x, df=4, constraints='center')"),
        ("g + cc(log(x), df=4)", "cc(log(x), df=3, constraints='center')"),
        ("0 + cr(x, df=5) + cr(x, knots=[30, 50])", "cr(x, knots=[30, 50], constraints='center')"),
    ],
)
def test_splines_that_span_the_constant_are_told_what_to_write(right: str, instead: str) -> None:
    with pytest.raises(FormulaError) as caught:
        refuse_aliases(declare_design(f"y ~ {right}", SCHEMA))
    assert f"write {instead}, or drop the constant" in str(caught.value)


@pytest.mark.parametrize(
    "right",
    [
        "cr(x, df=4, constraints='center')",
        "x + I(x^2) + log(x)",
        "0 + x + poly(x, 2)",
        "poly(x, 2) + I(x^3)",
        "bs(x, df=4) + I(x^4)",
        "bs(x, df=4, upper_bound=50) + x",
        "ns(x, 3) + I(x^2)",
        "x + poly(x, 2):g",
        "b + x:b",
        "I(x^2) + I((x - 3)^2)",
        "x + pmax(x, 50)",
    ],
)
def test_what_differs_is_let_through(right: str) -> None:
    refuse_aliases(declare_design(f"y ~ {right}", SCHEMA))


def test_powers_far_from_zero_are_told_what_to_write() -> None:
    def said(right: str) -> str | None:
        return far_powers_within_limits(boxed(declare_design(f"y ~ {right}", SCHEMA), SCHEMA))

    found = said("year + I(year^2)")
    assert found is not None
    assert found.endswith(
        "Write poly(year, 2), or subtract a round number first: I((year - 2010)**2)."
    )
    assert said("x + I(x^2)") is None
    assert said("year + I((year - 2010)^2)") is None
    assert said("0 + year + I(year^2)") is None
