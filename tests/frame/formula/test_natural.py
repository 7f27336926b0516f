"""ns() and interaction(): R's columns, row by row."""

import numpy as np
import pandas as pd
import pytest

from dpstats.errors import FormulaError, PublicDataError
from dpstats.frame import declare_design, learn_design
from dpstats.frame.formula.serial import design_from_dict, design_to_dict
from dpstats.frame.rows import design_matrix

_TABLE = pd.DataFrame(
    {
        "y": np.arange(12.0),
        "x": [1.0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12.5],
        "g": list("aabbccaabbcc"),
        "k": [0, 1] * 6,
        "f": [0.5, 2.0] * 6,
    }
)
# at 0, 1, 6 and 20, by R 4.2
_R = {
    "ns(x, df=3)": [
        [0.07223651856242305, -0.2080411734597783, 0.1358046548973553],
        [0.0, 0.0, 0.0],
        [0.19224491769118277, 0.5259178206641979, -0.3364301827938788],
        [-2.15016213519580957, 0.7924669493639316, 2.3576951858318775],
    ],
    "ns(x, knots=c(4, 8), Boundary.knots=c(2, 10))": [
        [0.14269544824634822, -0.5707817929853929, 0.4280863447390446],
        [0.07134772412317411, -0.2853908964926964, 0.2140431723695223],
        [0.34869466196911192, 0.4385546854568855, -0.2872493474259974],
        [-4.15384615384615508, 1.6153846153846203, 3.5384615384615365],
    ],
}


def columns(formula: str, table: pd.DataFrame = _TABLE) -> np.ndarray:
    return np.asarray(design_matrix(learn_design(formula, _TABLE), table)[0])


@pytest.mark.parametrize("text", _R)
def test_natural_splines_are_those_of_r(text: str) -> None:
    rows = pd.DataFrame({"y": 0.0, "x": [0.0, 1, 6, 20]})
    np.testing.assert_allclose(columns(f"y ~ 0 + {text}", rows), _R[text], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("text", _R)
def test_natural_splines_are_smooth_and_straight_beyond_their_bounds(text: str) -> None:
    at = np.linspace(-20, 30, 20001)
    values = columns(f"y ~ 0 + {text}", pd.DataFrame({"y": 0.0, "x": at}))
    second = np.diff(values, 2, axis=0) / (at[1] - at[0]) ** 2
    low, high = (2, 10) if "Boundary" in text else (1, 12.5)
    outside = (at[1:-1] < low - 0.01) | (at[1:-1] > high + 0.01)
    assert np.abs(second[outside]).max() < 1e-5
    assert np.abs(np.diff(second, axis=0)).max() < 0.01  # no jump of the second derivative
    assert np.abs(second[~outside]).max() > 0.05


def test_rows_do_not_change_each_other_in_natural_splines() -> None:
    text = "y ~ ns(x, 4) + interaction(g, k)"
    whole = columns(text)
    for rows in (_TABLE[3:4], _TABLE[::-1], _TABLE[5:9]):
        np.testing.assert_array_equal(columns(text, rows), whole[rows.index])


def test_natural_splines_of_declared_limits_and_saved_designs() -> None:
    design = declare_design("y ~ ns(x, 3)", {"y": float, "x": (0, 10)})
    assert design.terms[1:] == ("ns(x, 3)[1]", "ns(x, 3)[2]", "ns(x, 3)[3]")
    again = design_from_dict(design_to_dict(design))
    for one in (design, again):
        x = design_matrix(one, _TABLE)[0]
        assert x[0, 0] == 1
    np.testing.assert_array_equal(x, design_matrix(design, _TABLE)[0])


def test_knots_that_do_not_increase_are_refused() -> None:
    with pytest.raises(PublicDataError, match="too few values"):
        learn_design("y ~ ns(k, 4)", _TABLE)
    with pytest.raises(PublicDataError, match="knots= lie outside"):
        learn_design("y ~ ns(x, knots=c(99))", _TABLE)
    with pytest.raises(PublicDataError, match="whole number of at least"):
        learn_design("y ~ ns(x, df=0)", _TABLE)


def test_interaction_has_all_combinations_with_the_first_column_fastest() -> None:
    design = learn_design("y ~ interaction(g, f)", _TABLE)
    assert [t[t.index("[") :] for t in design.terms[1:]] == [
        *("[T.b.0.5]", "[T.c.0.5]", "[T.a.2]", "[T.b.2]", "[T.c.2]")
    ]
    x = columns("y ~ interaction(g, f)")
    plain = columns("y ~ 0 + g:C(f)")
    assert (x[:, 1:] == plain[:, 1:]).all()


def test_a_row_of_an_unknown_level_is_empty_in_an_interaction() -> None:
    x = columns("y ~ interaction(g, k)", _TABLE.assign(g="z"))
    assert np.isnan(x).all() or (x == 0).all()


def test_ordered_categories_are_coded_by_polynomials() -> None:
    kinds = pd.CategoricalDtype(["c", "a", "b"], ordered=True)
    table = _TABLE.assign(g=_TABLE.g.astype(kinds))
    design = learn_design("y ~ g", table)
    assert design.terms == ("Intercept", "g[.L]", "g[.Q]")
    x = design_matrix(design, table)[0]
    assert x[0, 1] == pytest.approx(0, abs=1e-15)  # a is the middle
    assert x[4, 1] == pytest.approx(-np.sqrt(0.5))  # c the first
    plain = learn_design("y ~ factor(g)", table).terms
    assert plain == ("Intercept", "factor(g)[.L]", "factor(g)[.Q]")
    treated = learn_design("y ~ C(g, contr.treatment)", table).terms
    assert treated[1:] == ("C(g, contr.treatment)[T.a]", "C(g, contr.treatment)[T.b]")


def test_combinations_that_would_share_a_name_ask_for_another_separator() -> None:
    table = _TABLE.assign(g=["a.b", "a"] * 6, f=["c", "b.c"] * 6)
    with pytest.raises(FormulaError, match="sep="):
        learn_design("y ~ interaction(g, f)", table)
    assert len(learn_design("y ~ interaction(g, f, sep='/')", table).terms) == 4
