"""Coefficients under the names that R gives them."""

import pytest

from dpstats.frame.formula.term_names import squeezed, term_named, terms_named

TERMS = [
    "Intercept",
    "x",
    "I(x ** 2)",
    "g[T.b]",
    "x:g[T.b]",
    "poly(z, 2)[1]",
    "t[T.True]",
    "factor(k)[T.2]",
]


@pytest.mark.parametrize(
    ("written", "term"),
    [
        ("(Intercept)", "Intercept"),
        ("I(x^2)", "I(x ** 2)"),
        ("I( x**2 )", "I(x ** 2)"),
        ("gb", "g[T.b]"),
        ("gb:x", "x:g[T.b]"),
        ("g[T.b]:x", "x:g[T.b]"),
        ("poly(z, 2)1", "poly(z, 2)[1]"),
        ("tTRUE", "t[T.True]"),
        ("as.factor(k)2", "factor(k)[T.2]"),
        ("`x`", "x"),
    ],
)
def test_a_term_may_be_written_as_in_r(written: str, term: str) -> None:
    assert term_named(written, TERMS) == term


def test_what_could_be_two_terms_is_neither() -> None:
    assert term_named("ga", ["g[T.a]", "ga"]) == "ga"  # a column of this name comes first
    assert term_named("gab", ["g[T.ab]", "ga[T.b]"]) == "gab"
    assert term_named("g[T.a  b]", ["g[T.a b]", "g[T.ab]"]) == "g[T.a  b]"


def test_what_is_no_name_stays_as_it_is() -> None:
    assert terms_named(["x", 3, "I(x^2)"], TERMS) == ["x", 3, "I(x ** 2)"]
    assert terms_named(None, TERMS) is None
    assert squeezed("a = 2 * b") == "a=2*b"
