"""Declared limits bound every column of the design."""

import numpy as np
import pandas as pd
import pytest

from dpstats.errors import SchemaError
from dpstats.frame import declare_design, design_extent, design_matrix

SCHEMA = {
    "y": (-1, 4),
    "x": (-3, 2),
    "z": (1, 2),
    "t": (0, 10),
    "g": ["a", "b", "c"],
    "b": bool,
    "k": [0, 1, 5],
}


def extent(formula, offset=None):
    return design_extent(declare_design(formula, SCHEMA, offset=offset), SCHEMA)


def test_sizes_of_columns_and_response():
    columns, response = extent("y ~ x + I(x * t) + x:g + C(k) + exp(z) + b + k")
    design = declare_design("y ~ x + I(x * t) + x:g + C(k) + exp(z) + b + k", SCHEMA)
    sizes = dict(zip(design.terms, columns, strict=True))
    assert response == 4
    assert sizes["Intercept"] == sizes["b[T.True]"] == sizes["C(k)[T.5]"] == 1
    assert sizes["x"] == sizes["x:g[T.b]"] == 3
    assert sizes["I(x * t)"] == 30
    assert sizes["k"] == 5
    assert sizes["exp(z)"] == pytest.approx(np.exp(2), rel=1e-14)


def test_the_offset_widens_the_response():
    assert extent("y ~ x", offset="t")[1] == 11


def test_rows_within_the_limits_stay_within_the_extent():
    rng = np.random.default_rng(0)
    n = 500
    data = pd.DataFrame(
        {
            "x": rng.uniform(-3, 2, n),
            "z": rng.uniform(1, 2, n),
            "t": rng.uniform(0, 10, n),
            "g": rng.choice(list("abc"), n),
        }
    )
    right = "~ poly(x, 3) + bs(z, df=5) * g + scale(t):x + cr(t, df=4) + I(x ** 2 * z)"
    design = declare_design(right, SCHEMA)
    columns, response = design_extent(design, SCHEMA)
    assert response == 0
    assert (np.abs(design_matrix(design, data)[0]) <= columns * (1 + 1e-6)).all()


def test_missing_limits_are_named():
    with pytest.raises(SchemaError, match="`x` needs declared limits"):
        design_extent(declare_design("y ~ x", {"y": (0, 1), "x": float}), {"y": (0, 1), "x": float})
    with pytest.raises(SchemaError, match="no finite value"):
        extent("y ~ log(x - 5)")
    with pytest.raises(SchemaError, match="is 0 everywhere"):
        extent("y ~ I(x * 0)")
