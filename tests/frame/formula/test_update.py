"""Other formulas on one design: what R's update() keeps, and what needs another call."""

import json

import numpy as np
import pytest

from dpstats.errors import FormulaError, PublicDataError
from dpstats.frame import Design


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
    design = Design.learn("y ~ x + z + g", clean)
    text, kept = design.columns_of(change)
    assert text == formula
    assert {design.terms[j] for j in kept} == set(design.terms) - dropped


@pytest.mark.parametrize(
    "change",
    ["~ . + w", "~ log(x)", "log(y) ~ .", "~ . - 1", "~ . + x:z", "~ . + offset(t)", "z ~ ."],
)
def test_update_that_needs_another_column_says_so(change, clean):
    design = Design.learn("y ~ x + z + g", clean)
    with pytest.raises(FormulaError, match="privacy cost"):
        design.columns_of(change)


def test_update_keeps_the_offset_and_a_missing_constant(clean):
    design = Design.learn("log(t) ~ 0 + x + z + offset(w)", clean)
    assert design.columns_of("~ . - z") == ("log(t) ~ 0 + x + offset(w)", [0])
    with pytest.raises(FormulaError, match="privacy cost"):
        design.columns_of("~ 0 + x")
    braces = Design.learn("y ~ {x > 0} + `my col`", clean)
    assert braces.columns_of("~ . - `my col`") == ("y ~ {x > 0}", [0, 1])


def test_with_response(clean, private):
    design = Design.learn("~ x + poly(z, 2) + g", clean)
    full = design.with_response("log(t) ~ x + poly(z, 2) + g")
    assert full.formula == "log(t) ~ x + poly(z, 2) + g"
    assert full.terms == design.terms
    y = next(full.rows(private).blocks()).y
    np.testing.assert_allclose(y, np.log(private.t), rtol=1e-14)
    assert design.with_response("y ~ .").formula == "y ~ x + poly(z, 2) + g"
    assert (next(design.with_response("b ~ .").rows(private).blocks()).y == private.b).all()
    named = design.with_response("s ~ .", {"s": ["no", "yes"]})
    assert named.response_levels == ("no", "yes")
    again = Design.from_dict(json.loads(json.dumps(full.to_dict())))
    assert again.to_dict() == full.to_dict()
    with pytest.raises(FormulaError, match="differ"):
        design.with_response("y ~ x")
    with pytest.raises(FormulaError, match="no response"):
        design.with_response("~ x + poly(z, 2) + g")
    for left in ("scale(y)", "poly(y, 2)"):
        with pytest.raises(PublicDataError, match="without a response"):
            design.with_response(f"{left} ~ .")


def test_subset_is_the_design_of_the_sub_model(clean, private):
    design = Design.learn("log(t) ~ x * z + g + offset(w)", clean)
    sub = design.subset(*design.columns_of("~ . - g - x:z"))
    assert sub.terms == ("Intercept", "x", "z")
    new = private[["x", "z", "w"]]
    x, offset = sub.matrix(new)
    assert x.tobytes() == Design.learn("log(t) ~ x + z + offset(w)", clean).matrix(new)[0].tobytes()
    np.testing.assert_array_equal(offset, private.w)
    assert sub.columns_of("~ . - z")[0] == "log(t) ~ x + offset(w)"
    with pytest.raises(FormulaError, match="privacy cost"):
        sub.columns_of("~ . + g")


def test_require_formula(clean):
    design = Design.learn("y ~ x * z + g", clean)
    for same in ("y ~ x*z+g", "y ~ g + z + x + z:x", "y ~ ."):
        design.require_formula(same)
    for other in ("y ~ x + z + g", "z ~ .", "~ .", "y ~ . + offset(w)"):
        with pytest.raises(FormulaError, match="public moments are those"):
            design.require_formula(other)


def test_a_response_on_both_sides_is_refused(clean):
    with pytest.raises(FormulaError, match="also on its right-hand side"):
        Design.learn("~ x + y", clean).with_response("y ~ .")


def test_the_order_of_an_interaction_does_not_matter(clean):
    design = Design.learn("y ~ x * z", clean)
    assert design.columns_of("~ z + z:x")[1] == [0, 2, 3]


def test_leaving_out_what_is_not_there_is_an_error_that_knows_the_name(clean):
    design = Design.learn("y ~ x + z + g", clean)
    for change in ("~ . - gg", "~ . - x - zz", "~ . - x:q", "~ . - (x - q)"):
        with pytest.raises(FormulaError, match="which is not in 'y ~ x"):
            design.columns_of(change)
    with pytest.raises(FormulaError, match="did you mean"):
        Design.learn("y ~ log(x) + z", clean.assign(x=1.0 + clean.x.abs())).columns_of(
            "~ . - log(xx)"
        )
    assert design.columns_of("~ . - x - g")[0] == "y ~ z"
