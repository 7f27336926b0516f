"""Columns that are products of others: the matrix that centres and scales them all."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dpstats.frame import declare_design, design_products, open_rows
from dpstats.frame.products import DesignProducts

_N = 60


def _data() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "y": rng.normal(size=_N),
            "a": 5 + rng.normal(size=_N),
            "b": -3 + 2 * rng.normal(size=_N),
            "c": 100 + 7 * rng.normal(size=_N),
            "g": rng.choice(["p", "q", "r"], _N),
        }
    )


_SCHEMA = {"y": float, "a": float, "b": float, "c": float, "g": ["p", "q", "r"]}


def _made(formula: str) -> tuple[DesignProducts, list[str], np.ndarray]:
    """Products, terms and rows of a design."""
    design = declare_design(formula, _SCHEMA)
    (block,) = open_rows(design, _data()).blocks()
    return design_products(design), list(design.terms), block.x


def _standardised(formula: str) -> tuple[list[str], np.ndarray, DesignProducts]:
    """Rows x'B, where location and scale of each column that is searched are mean and sd."""
    made, terms, x = _made(formula)
    locations, scales = np.zeros(len(terms)), np.ones(len(terms))
    for j, size in made.known.items():
        scales[j] = size
    for j in made.searched():
        locations[j], scales[j] = x[:, j].mean(), x[:, j].std()
    return terms, x @ made.standardised(locations, scales), made


def _unit(values: pd.Series) -> np.ndarray:
    return ((values - values.mean()) / values.std(ddof=0)).to_numpy()


@pytest.mark.parametrize("formula", ["y ~ a * b", "y ~ a * b * c", "y ~ a + b + c + a:b"])
def test_products_of_numbers_become_products_of_centred_columns(formula: str) -> None:
    terms, z, made = _standardised(formula)
    data = _data()
    assert {terms[j] for j in made.searched()} == {t for t in terms if t in "abc"}
    for term, column in zip(terms, z.T, strict=True):
        expected = np.ones(_N)
        for name in [] if term == "Intercept" else term.split(":"):
            expected = expected * _unit(data[name])
        assert column == pytest.approx(expected, abs=1e-9), term


def test_levels_have_a_known_size_and_stay_where_they_are() -> None:
    terms, z, made = _standardised("y ~ g * a")
    data = _data()
    assert [terms[j] for j in made.searched()] == ["a"]
    assert {terms[j]: size for j, size in made.known.items()} == {"g[T.q]": 1.0, "g[T.r]": 1.0}
    for level in "qr":
        is_level = (data.g == level).to_numpy(float)
        assert z[:, terms.index(f"g[T.{level}]")] == pytest.approx(is_level)
        product = z[:, terms.index(f"g[T.{level}]:a")]
        assert product == pytest.approx(is_level * _unit(data.a), abs=1e-9)


def test_levels_of_those_with_a_mark_have_a_known_size() -> None:
    """As those of i(g, m), in an event study: without `m` they are no products of columns."""
    for schema, known in (((0, 1), True), (float, False)):
        design = declare_design("y ~ a + m:g", {**_SCHEMA, "m": schema})
        made = design_products(design)
        levels = {j for j, term in enumerate(design.terms) if ":" in term}
        assert len(levels) == 3
        assert levels <= set(made.known if known else made.searched())


def test_sums_to_zero_have_the_size_of_their_coding() -> None:
    _, _, made = _standardised("y ~ C(g, contr.sum) + a")
    assert sorted(made.known.values()) == [1.0, 1.0]


def test_a_comparison_is_of_size_one() -> None:
    terms, _, made = _standardised("y ~ I(a > 5) + b")
    assert [terms[j] for j in made.searched()] == ["b"]
    assert list(made.known.values()) == [1.0]


def test_a_product_whose_factors_are_no_columns_is_searched_by_itself() -> None:
    """Without `a` there is nothing to centre a:b with; a square is no product of columns."""
    for formula, alone in (("y ~ b + a:b", "a:b"), ("y ~ a + I(a ** 2)", "I(a ** 2)")):
        terms, z, made = _standardised(formula)
        j = next(
            k for k, t in enumerate(terms) if t.replace("**", " ** ").replace("  ", " ") == alone
        )
        assert j in made.searched()
        assert z[:, j].mean() == pytest.approx(0, abs=1e-9)
        assert z[:, j].std() == pytest.approx(1)


def test_without_a_constant_nothing_is_centred() -> None:
    made, terms, x = _made("y ~ 0 + a + b + a:b")
    back = made.standardised(np.array([9.0, 9.0, 9.0]), np.array([2.0, 4.0, 16.0]))
    assert terms == ["a", "b", "a:b"]
    assert np.count_nonzero(back - np.diag(np.diag(back))) == 0, "there is no constant to centre by"
    assert np.diag(back)[:2] == pytest.approx([1 / 2, 1 / 4])
    assert np.diag(back)[2] in (1 / 8, 1 / 16)
    assert x.shape == (_N, 3)


def test_the_matrix_can_be_inverted_for_every_formula() -> None:
    for formula in ("y ~ a * b * g", "y ~ 0 + g + a:g", "y ~ a:b", "y ~ 1", "y ~ I(a * b) + c"):
        made, terms, _ = _made(formula)
        rng = np.random.default_rng(2)
        back = made.standardised(rng.normal(size=len(terms)), np.exp(rng.normal(size=len(terms))))
        assert np.linalg.matrix_rank(back) == len(terms), formula
