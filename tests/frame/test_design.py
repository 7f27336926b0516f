"""Designs: what is learnt, on which rows, and what R's update() keeps."""

import json
import warnings
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest

from dpstats.errors import DPStatsError, FormulaError, PublicDataError, SchemaError
from dpstats.frame import (
    declare_design,
    design_extent,
    design_matrix,
    learn_design,
    open_rows,
    private_design,
    public_moments,
)
from dpstats.frame.formula.serial import design_from_dict, design_to_dict
from tests.frame.formula.test_engine import FORMULAS


def test_state_is_learnt_on_the_usable_public_rows_only(clean):
    dirty = pd.concat([clean, clean.iloc[:3].assign(x=[np.nan, np.inf, 1e6], y=[0, 0, np.nan])])
    right = "center(x) + scale(z) + poly(x, 2) + bs(x, df=4) + C(k) + g"
    one = learn_design(f"y ~ {right}", clean)
    two = learn_design(f"y ~ {right}", dirty)
    assert design_to_dict(one) == design_to_dict(two)
    assert np.isfinite(design_matrix(two, clean)[0]).all()


def test_state_is_never_learnt_again_on_private_rows(clean, private):
    design = learn_design("y ~ center(x) + poly(z, 2) + bs(x, df=4)", clean)
    before = json.dumps(design_to_dict(design))
    one = design_matrix(design, private)[0]
    shifted = design_matrix(design, private.assign(x=private.x + 100))[0]
    assert json.dumps(design_to_dict(design)) == before
    np.testing.assert_allclose(shifted[:, 1] - one[:, 1], 100)


@pytest.mark.parametrize("right", FORMULAS)
def test_json_round_trip_gives_the_same_bits(right, clean, private):
    design = learn_design(f"log(y + 9) ~ {right}", clean, weights="w", offset="t")
    again = design_from_dict(json.loads(json.dumps(design_to_dict(design), allow_nan=False)))
    assert design_to_dict(again) == design_to_dict(design)
    assert again.terms == design.terms
    for a, b in zip(
        open_rows(design, private).blocks(64), open_rows(again, private).blocks(64), strict=True
    ):
        assert a.x.tobytes() == b.x.tobytes()
        assert a.y.tobytes() == b.y.tobytes()
        assert a.offset.tobytes() == b.offset.tobytes()
        assert a.weight.tobytes() == b.weight.tobytes()


def test_dict_holds_no_rows(clean):
    text = json.dumps(design_to_dict(learn_design("y ~ x + poly(z, 2) + g", clean)))
    assert not any(repr(float(v)) in text for v in clean.x)


def test_dot_leaves_out_response_weights_and_offset(clean):
    design = learn_design("y ~ . - `my col`", clean, weights="w", offset="t")
    assert design.formula == "y ~ x + z + g + b + k"


def test_responses(clean):
    text = clean.assign(s=np.where(clean.b, "yes", "no"))
    two = learn_design("s ~ x", text)
    assert (two.response_kind, two.response_levels) == ("category", ("no", "yes"))
    y = np.concatenate([block.y for block in open_rows(two, text).blocks(64)])
    assert (y == clean.b).all()
    logical = learn_design("b ~ x", clean)
    assert (logical.response_kind, logical.response_levels) == ("bool", (False, True))
    assert learn_design("I(y > 0) ~ x", clean).response_kind == "bool"
    assert learn_design("log(t) ~ x", clean).response == "log(t)"
    for left in ("g", "poly(x, 2)", "C(g)"):
        with pytest.raises(FormulaError, match="one numeric response"):
            learn_design(f"{left} ~ z", clean)


def test_numbers_as_text_are_answered_by_their_conversion(clean):
    text = clean.assign(t=[f"{k % 4}.5" for k in range(len(clean))])
    for formula in ("t ~ x", "y ~ log(t)"):
        with pytest.raises(FormulaError, match=r"numbers written as text.*to_numeric"):
            learn_design(formula, text)
    with pytest.raises(FormulaError) as caught:
        learn_design("g ~ x", clean)
    assert "to_numeric" not in str(caught.value)


def test_true_and_false_beside_public_zeros_and_ones_are_told_what_to_become(clean, private):
    design = learn_design("y ~ b", clean.assign(b=clean.b.astype(int)))
    with pytest.raises(SchemaError, match=r"declare numbers; .* 0 and 1 first, b\.astype\(int\)"):
        open_rows(design, private)


def test_arithmetic_on_a_category_is_refused(clean):
    for right in ("log(g)", "I(g + 1)", "center(g)", "poly(g, 2)", "I(g == 'q')", "I(x == 'a')"):
        with pytest.raises(FormulaError):
            learn_design(f"y ~ {right}", clean)
    with pytest.raises(DPStatsError):
        learn_design("y ~ x", clean, weights="g")
    with pytest.raises(DPStatsError):
        learn_design("y ~ x", clean, offset="g")


def test_public_rows_that_cannot_be_used(clean):
    with pytest.raises(PublicDataError, match="none of the"):
        learn_design("y ~ x", clean.assign(x=np.nan))
    with pytest.raises(SchemaError, match="no column `q`"):
        learn_design("y ~ q", clean)
    for constant, instead in (("b == T", "write TRUE"), ("cos(2 * pi * x)", "write the number")):
        with pytest.raises(SchemaError, match=f"needs; {instead}"):
            learn_design(f"y ~ I({constant})", clean.drop(columns="t"))
    with pytest.raises(SchemaError, match="make the column in both tables"):
        learn_design("y ~ ifelse(b, 1, NA)", clean)
    with pytest.raises(FormulaError, match="no column on its right"):
        learn_design("y ~ 0", clean)


def test_an_expression_in_the_place_of_a_column_is_told_what_to_type(clean):
    with pytest.raises(SchemaError, match=r"write 'y ~ x \+ offset\(log\(t\)\)' instead"):
        learn_design("y ~ x", clean, offset="np.log(t)")
    with pytest.raises(SchemaError, match="make one that holds 1/w, in both tables"):
        learn_design("y ~ x", clean, weights="1/w")
    odd = clean.rename(columns={"t": "log(t)"})  # a column may have such a name
    assert learn_design("y ~ x", odd, offset="log(t)").offsets == ("`log(t)`",)


def test_rows_with_weights_above_the_bound_are_marked(clean):
    heavy = clean.assign(w=np.where(np.arange(len(clean)) % 3 == 0, 10.0, 1.0))
    heavy.loc[[3, 4], "x"] = np.nan
    design = learn_design("y ~ x", clean, weights="w", limits={"(weights)": (0, 5)})
    (block,) = (piece() for piece in open_rows(design, heavy).pieces(10**6))
    assert block.weight.max() == 5
    marked = (heavy.w > 5) & heavy.x.notna() & heavy.y.notna()
    assert block.above[marked.to_numpy()].all()
    assert block.above.sum() == marked.sum()


def test_weight_bound(clean):
    assert learn_design("y ~ x", clean, weights="w").weight_bound == clean.w.max()
    limits = {"(weights)": (0, 9)}
    assert learn_design("y ~ x", clean, weights="w", limits=limits).weight_bound == 9
    without = clean.drop(columns="w")
    assert learn_design("y ~ x", without, weights="w", limits=limits).weight_bound == 9
    with pytest.raises(PublicDataError, match=r"either the public rows.*\(weights\)"):
        learn_design("y ~ x", without, weights="w")
    with pytest.raises(PublicDataError, match="negative"):
        learn_design("y ~ x", clean.assign(w=-1.0), weights="w")


def test_limits_give_levels(clean, private):
    design = learn_design("y ~ g", clean, limits={"g": ["c", "b", "a", "d"]})
    assert design.terms == ("Intercept", "g[T.b]", "g[T.a]", "g[T.d]")


def test_levels_of_numbers_keep_their_order_too(clean, private):
    """The first declared one is the baseline, with public rows and without."""
    order = [2, 0, 3, 1]
    named = ("Intercept", *(f"C(k)[T.{level}]" for level in order[1:]))
    for design in (
        learn_design("y ~ C(k)", clean, limits={"k": order}),
        declare_design("y ~ C(k)", {"y": float, "k": order}),
        private_design("y ~ C(k)", private, {"k": order}),
    ):
        assert design.terms == named
        rows = pd.DataFrame({"k": [0, 1, 2, 3, 4]})
        x, _ = design_matrix(design, rows)
        assert x[:4, 1:].tolist() == [[k == level for level in order[1:]] for k in range(4)]
        assert np.isnan(x[4]).all()


def test_categories_of_numbers_need_no_public_rows():
    """Their type is public; new rows may hold the numbers themselves."""
    table = pd.DataFrame({"k": pd.Categorical([0, 2, 1]), "b": [True, False, True]})
    design = private_design("~ k + b", table, {"k": [2, 0, 1], "b": [False, True]})
    assert design.terms == ("Intercept", "k[T.0]", "k[T.1]", "b[T.True]")
    x, _ = design_matrix(design, table)
    assert x[:, 1:].tolist() == [[1, 0, 1], [0, 0, 0], [0, 1, 1]]
    plain, _ = design_matrix(design, table.assign(k=[0, 2, 1]))
    assert plain.tolist() == x.tolist()
    some = private_design("~ C(k, levels=[2, 0])", table, {"k": [0, 1, 2]})
    assert some.terms == ("Intercept", "C(k, levels=[2, 0])[T.0]")
    assert some.columns["k"].levels == (0, 1, 2)
    again = private_design("~ k", table, {"k": table.k.dtype.categories.tolist()})
    assert again.terms == ("Intercept", "k[T.1]", "k[T.2]")
    text = pd.DataFrame({"k": pd.Categorical(["0", "2", "1"])})
    for rows, levels, what in (
        (table, ["0", "1", "2"], "of numbers"),
        (text, [0, 1, 2], "of text"),
    ):
        with pytest.raises(SchemaError, match=f"`k` is a category {what}"):
            design_matrix(private_design("~ k", rows, {"k": levels}), rows)
    with pytest.raises(SchemaError, match="False is the baseline"):
        private_design("~ b", table, {"b": [True, False]})


def test_categories_of_other_values_than_text_are_told_what_to_declare():
    table = pd.DataFrame({"y": [1.0, 2.0, 3.0]})
    values = {"[1, 2]": [1, 2, 1], "[False, True]": [True, False, True], "['a', 'b']": list("abc")}
    for levels, cells in values.items():
        with pytest.raises(SchemaError) as error:
            private_design("y ~ g", table.assign(g=pd.Categorical(cells)))
        assert f"limits={{'g': {levels}}}" in str(error.value)
        assert ("g.astype(str)" in str(error.value)) == ("'a'" not in levels)
    truths = table.assign(g=pd.Categorical([True, False, True]))
    with pytest.raises(SchemaError, match=r"limits=\{'g': \[False, True\]\}"):
        open_rows(private_design("y ~ g", truths, {"g": ["a", "b"]}), truths)


def test_categories_of_intervals_or_dates_are_refused_unread():
    table = pd.DataFrame({"y": [1.0, 2.0, 3.0]})
    days = pd.to_datetime(["2020-01-01", "2020-01-02", "2020-01-01"])
    for cells in (pd.cut([1, 5, 9], [0, 4, 10]), pd.Categorical(days)):
        rows = table.assign(g=cells)
        with pytest.raises(SchemaError, match=r"neither text nor numbers.*g\.astype\(str\)"):
            private_design("y ~ g", rows)
        declared = private_design("y ~ g", rows, {"g": ["(0, 4]", "(4, 10]"]})
        with pytest.raises(SchemaError, match=r"neither text nor numbers.*g\.astype\(str\)"):
            open_rows(declared, rows)


def test_declared_schema(private):
    schema = {
        "y": float,
        "x": (-3, 3),
        "z": (1, 2),
        "g": ["a", "b", "c"],
        "b": bool,
        "k": [0, 1, 2, 3],
        "(weights)": (0, 5),
    }
    right = "x + poly(z, 2) + bs(x, df=4) * g + b + C(k) + center(log(z))"
    design = declare_design(f"y ~ {right}", schema, weights="w")
    assert design.weight_bound == 5
    assert np.isfinite(design_matrix(design, private)[0]).all()
    assert np.linalg.matrix_rank(design_matrix(design, private)[0]) == len(design.terms) - 1
    again = design_from_dict(json.loads(json.dumps(design_to_dict(design))))
    assert design_matrix(again, private)[0].tobytes() == design_matrix(design, private)[0].tobytes()
    for call in ("poly(x, 2)", "bs(x, df=4)", "cr(x, df=4)", "center(x)", "scale(log(x))"):
        with pytest.raises(PublicDataError, match="declare it"):
            declare_design(f"y ~ {call}", {"y": float, "x": float})
    with pytest.raises(SchemaError, match="levels of `x`"):
        declare_design("y ~ C(x)", {"y": float, "x": (0, 1)})
    with pytest.raises(SchemaError, match="nothing is declared of `q`"):
        declare_design("y ~ q", schema)
    with pytest.raises(PublicDataError, match="weights"):
        declare_design("y ~ x", {"y": float, "x": float}, weights="w")
    for wrong in ((1, 0), (0, np.inf), "a", [], ["a", 1], 3):
        with pytest.raises(SchemaError):
            declare_design("y ~ x", {"y": float, "x": wrong})


def test_matrix_marks_rows_that_cannot_be_encoded(clean):
    design = learn_design("y ~ x + g + offset(t)", clean)
    new = pd.DataFrame({"x": [1.0, np.nan, 3.0], "g": ["a", "b", "q"], "t": [1.0, 2.0, 3.0]})
    x, offset = design_matrix(design, new)
    assert np.isfinite(x[0]).all()
    assert np.isnan(x[1:]).all()
    assert offset[0] == 1
    assert np.isnan(offset[1:]).all()
    assert design_matrix(design, new.iloc[:0])[0].shape == (0, 4)


@pytest.mark.parametrize(
    "right",
    [
        "*".join(f"I(x + {k})" for k in range(40)),
        "(" + " + ".join(f"I(x + {k})" for k in range(40)) + ")^3",
        "("
        + " + ".join(f"I(x + {k})" for k in range(40))
        + ")*(x + "
        + " + ".join(f"I(x - {k})" for k in range(1, 40))
        + ")",
    ],
)
def test_formulas_that_multiply_out_without_end_are_refused(right: str) -> None:
    with pytest.raises(FormulaError, match="too many terms once it is multiplied out"):
        declare_design(f"y ~ {right}", {"y": float, "x": (0, 1)})


def test_products_that_a_person_writes_are_taken() -> None:
    schema = {"y": float} | {f"x{k}": float for k in range(300)}
    long = " + ".join(f"x{k}" for k in range(300))
    assert len(declare_design(f"y ~ ({long}) * x0", schema).terms) > 500
    assert len(declare_design("y ~ " + "*".join(f"x{k}" for k in range(6)), schema).terms) == 64


@pytest.mark.parametrize(
    ("formula", "limits"),
    [
        ("y ~ x", {"x": (-1, 1), "y": (-1e200, 1e200)}),
        ("y ~ x", {"x": (-1, 1), "y": (-1e-155, 1e-155)}),
        ("y ~ x", {"x": (0, 5e-324), "y": (0, 1)}),
        ("y ~ x", {"x": (-1.7e308, 1.7e308), "y": (0, 1)}),
        ("y ~ x", {"x": (-1e-80, 1e-80), "y": (-1e80, 1e80)}),
        ("y ~ I(x**3)", {"x": (-1e60, 1e60), "y": (0, 1)}),
    ],
)
def test_limits_of_a_size_that_cannot_be_computed_with_are_refused(
    formula: str, limits: dict[str, tuple[float, float]]
) -> None:
    with pytest.raises(SchemaError, match="use another unit"):
        design_extent(declare_design(formula, limits), limits)


@pytest.mark.parametrize("basis", ["poly(x, 2)", "poly(x, 5)", "cr(x, df=3)", "cc(x, df=3)"])
@pytest.mark.parametrize("size", [1e-200, 5e-320, 1e200, 1e154])
def test_bases_of_values_too_small_or_large_are_refused_without_a_warning(
    basis: str, size: float
) -> None:
    rng = np.random.default_rng(1)
    rows = pd.DataFrame({"y": rng.normal(size=40), "x": size * rng.normal(size=40)})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with suppress(PublicDataError):
            assert np.isfinite(public_moments(f"y ~ {basis}", rows).gram).all()


def test_a_design_encodes_rows_that_may_be_seen() -> None:
    table = pd.DataFrame({"x": [1.0, np.nan], "g": ["a", "b"]})
    design = public_moments(
        "~ x + g", pd.DataFrame({"x": [0.0, 2.0, 1.0], "g": ["a", "b", "a"]})
    ).design
    matrix, offset = design.matrix(table)
    assert matrix[0].tolist() == [1.0, 1.0, 0.0]
    assert np.isnan(matrix[1]).all()
    assert offset[0] == 0.0


def test_what_cannot_be_a_column_is_left_out_of_a_dot() -> None:
    public = pd.DataFrame({"y": [1.0, 2.0, 3.0], "x": [3.0, 1.0, 2.0]}).assign(
        when=pd.Timestamp("2020-01-01"), g=list("aba")
    )
    with pytest.raises(SchemaError, match=r"or leave it out: '\. - when' in place of '\.'"):
        learn_design("y ~ .", public)
    assert learn_design("y ~ . - when", public).terms == ("Intercept", "x", "g[T.b]")
    with pytest.raises(SchemaError) as caught:
        learn_design("y ~ when", public)
    assert "leave it out" not in str(caught.value)


def test_a_column_that_is_compared_with_a_text_is_not_meant_to_be_numbers() -> None:
    private = pd.DataFrame({"y": [1.0, 2.0], "g": ["yes", "no"]})
    for formula, numbers in (("y ~ g", True), ("y ~ I(g == 'yes')", False)):
        with pytest.raises(SchemaError, match="levels must be declared") as caught:
            private_design(formula, private)
        assert ("make it so first" in str(caught.value)) is numbers
