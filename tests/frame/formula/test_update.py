"""Other formulas on one design: what R's update() keeps, and what needs another call."""

import json

import numpy as np
import pytest

from dpstats.errors import FormulaError, PublicDataError
from dpstats.frame import (
    columns_of,
    design_matrix,
    learn_design,
    open_rows,
    require_formula,
    subset_design,
    with_response,
)
from dpstats.frame.formula.serial import design_from_dict, design_to_dict


@pytest.mark.parametrize(
    ("change", "formula", "dropped"),
    [
        ("~ . - x", "y ~ z + g", {"x"}),
        ("y ~ x", "y ~ x", {"z", "g[T.b]", "g[T.c]"}),
        ("~ . - g", "y ~ x + z", {"g[T.b]", "g[T.c]"}),
        (". ~ .", "y ~ x + z + g", set()),
        ("~ x + z - 1", "y ~ 0 + x + z", {"Intercept", "g[T.b]", "g[T.c]"}),
        ("~ 1", "y ~ 1", {"x", "z", "g[T.b]", "g[T.c]"}),
    ],
)
def test_update_keeps_columns(change, formula, dropped, clean):
    design = learn_design("y ~ x + z + g", clean)
    text, kept = columns_of(design, change)
    assert text == formula
    assert {design.terms[j] for j in kept} == set(design.terms) - dropped


@pytest.mark.parametrize(
    "change",
    ["~ . + w", "~ log(x)", "log(y) ~ .", "~ . - 1", "~ . + x:z", "~ . + offset(t)", "z ~ ."],
)
def test_update_that_needs_another_column_says_so(change, clean):
    design = learn_design("y ~ x + z + g", clean)
    with pytest.raises(FormulaError, match="privacy cost"):
        columns_of(design, change)


def test_update_keeps_the_offset_and_a_missing_constant(clean):
    design = learn_design("log(t) ~ 0 + x + z + offset(w)", clean)
    assert columns_of(design, "~ . - z") == ("log(t) ~ 0 + x + offset(w)", [0])
    with pytest.raises(FormulaError, match="privacy cost"):
        columns_of(design, "~ 0 + x")
    braces = learn_design("y ~ {x > 0} + `my col`", clean)
    assert columns_of(braces, "~ . - `my col`") == ("y ~ {x > 0}", [0, 1])


def test_with_response(clean, private):
    design = learn_design("~ x + poly(z, 2) + g", clean)
    full = with_response(design, "log(t) ~ x + poly(z, 2) + g")
    assert full.formula == "log(t) ~ x + poly(z, 2) + g"
    assert full.terms == design.terms
    y = next(open_rows(full, private).blocks()).y
    np.testing.assert_allclose(y, np.log(private.t), rtol=1e-14)
    assert with_response(design, "y ~ .").formula == "y ~ x + poly(z, 2) + g"
    assert (next(open_rows(with_response(design, "b ~ ."), private).blocks()).y == private.b).all()
    named = with_response(design, "s ~ .", {"s": ["no", "yes"]})
    assert named.response_levels == ("no", "yes")
    again = design_from_dict(json.loads(json.dumps(design_to_dict(full))))
    assert design_to_dict(again) == design_to_dict(full)
    with pytest.raises(FormulaError, match="differ"):
        with_response(design, "y ~ x")
    with pytest.raises(FormulaError, match="no response"):
        with_response(design, "~ x + poly(z, 2) + g")
    for left in ("scale(y)", "poly(y, 2)"):
        with pytest.raises(PublicDataError, match="without a response"):
            with_response(design, f"{left} ~ .")


def test_subset_is_the_design_of_the_sub_model(clean, private):
    design = learn_design("log(t) ~ x * z + g + offset(w)", clean)
    sub = subset_design(design, *columns_of(design, "~ . - g - x:z"))
    assert sub.terms == ("Intercept", "x", "z")
    new = private[["x", "z", "w"]]
    x, offset = design_matrix(sub, new)
    assert (
        x.tobytes()
        == design_matrix(learn_design("log(t) ~ x + z + offset(w)", clean), new)[0].tobytes()
    )
    np.testing.assert_array_equal(offset, private.w)
    assert columns_of(sub, "~ . - z")[0] == "log(t) ~ x + offset(w)"
    with pytest.raises(FormulaError, match="privacy cost"):
        columns_of(sub, "~ . + g")


def test_require_formula(clean):
    design = learn_design("y ~ x * z + g", clean)
    for same in ("y ~ x*z+g", "y ~ g + z + x + z:x", "y ~ ."):
        require_formula(design, same)
    for other in ("y ~ x + z + g", "z ~ .", "~ .", "y ~ . + offset(w)"):
        with pytest.raises(FormulaError, match="public moments are those"):
            require_formula(design, other)


def test_a_response_on_both_sides_is_refused(clean):
    with pytest.raises(FormulaError, match="also on its right-hand side"):
        with_response(learn_design("~ x + y", clean), "y ~ .")


def test_the_order_of_an_interaction_does_not_matter(clean):
    design = learn_design("y ~ x * z", clean)
    assert columns_of(design, "~ z + z:x")[1] == [0, 2, 3]


def test_leaving_out_what_is_not_there_is_an_error_that_knows_the_name(clean):
    design = learn_design("y ~ x + z + g", clean)
    for change in ("~ . - gg", "~ . - x - zz", "~ . - x:q", "~ . - (x - q)"):
        with pytest.raises(FormulaError, match="which is not in 'y ~ x"):
            columns_of(design, change)
    with pytest.raises(FormulaError, match="did you mean"):
        columns_of(
            learn_design("y ~ log(x) + z", clean.assign(x=1.0 + clean.x.abs())), "~ . - log(xx)"
        )
    assert columns_of(design, "~ . - x - g")[0] == "y ~ z"


def test_a_dot_may_be_multiplied_and_what_is_coded_anew_is_said(clean):
    design = learn_design("y ~ x * g + z", clean)
    with pytest.raises(FormulaError, match=r"'~ \. \* x' needs the column 'z:x'"):
        columns_of(design, "~ . * x")
    assert columns_of(learn_design("y ~ x * z", clean), "~ . * x")[1] == [0, 1, 2, 3]
    for change, name in (("~ . - x", "x:g"), ("~ . - 1", "g")):
        with pytest.raises(FormulaError, match=f"leave `{name}` out too, or keep"):
            columns_of(design, change)
    with pytest.raises(FormulaError) as caught:
        columns_of(design, "~ . + x:z")
    assert "out too" not in str(caught.value)
