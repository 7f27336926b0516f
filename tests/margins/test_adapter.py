"""Fits as models of the Python package marginaleffects, where that is installed."""

from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from dpstats import dp_glm, dp_lm
from dpstats.errors import ArgumentError

_N = 400


def _table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=_N), "z": rng.exponential(size=_N)})
    table["g"] = rng.choice(list("abc"), _N)
    eta = table.x - 0.5 * table.z + (table.g == "b")
    table["y"] = eta + rng.normal(size=_N)
    table["b"] = (rng.random(_N) < 1 / (1 + np.exp(-eta))).astype(float)
    table["t"] = rng.uniform(1, 3, _N)
    table["c"] = rng.poisson(table.t * np.exp(eta / 2)).astype(float)
    return table


TABLE = _table()
_FITS: dict[str, Any] = {
    "linear": lambda: dp_lm("y ~ x * z + g", TABLE, TABLE, mu=1, seed=1),
    "logit": lambda: dp_glm("b ~ poly(x, 2) + log(z + 1) + g", TABLE, TABLE, mu=1, seed=1),
    "exposure": lambda: dp_glm(
        "c ~ x + g + offset(log(t))", TABLE, TABLE, family="poisson", mu=1, seed=1
    ),
}


@pytest.mark.parametrize("name", _FITS)
def test_the_package_finds_what_the_verbs_find(name: str) -> None:
    theirs = pytest.importorskip("marginaleffects")
    if version("marginaleffects").startswith("0.6") and int(pl.__version__.split(".")[0]) >= 2:
        pytest.skip(
            "marginaleffects 0.6 compares numbers in a way that polars 2 refuses, of any model"
        )
    fit = _FITS[name]()
    model = fit.to_marginaleffects(TABLE)
    mean = theirs.avg_predictions(model)
    ours = fit.predictions(TABLE, by=True).frame
    assert float(mean["estimate"][0]) == pytest.approx(ours.estimate[0], rel=1e-6)
    assert float(mean["std_error"][0]) == pytest.approx(ours.std_error[0], rel=1e-4)
    slopes = theirs.avg_slopes(model).to_pandas().set_index(["term", "contrast"])
    found = fit.slopes(TABLE).frame
    for _, line in found.iterrows():
        key = line.term, line.contrast if line.term == "g" else "dY/dX"
        assert slopes.estimate[key] == pytest.approx(line.estimate, rel=1e-4, abs=1e-6)
        assert slopes.std_error[key] == pytest.approx(line.std_error, rel=1e-3)


def test_without_the_package_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "marginaleffects", None)
    monkeypatch.setitem(__import__("sys").modules, "marginaleffects.classes", None)
    with pytest.raises(ArgumentError, match="pip install marginaleffects"):
        _FITS["linear"]().to_marginaleffects(TABLE)
