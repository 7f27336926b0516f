"""Text that is no category is refused before the charge, with what to do."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dpstats import Budget, dp_lm
from dpstats.errors import PublicDataError

_RNG = np.random.default_rng(0)
_N = 2000
TABLE = pd.DataFrame(
    {
        "y": _RNG.normal(size=_N),
        "power": _RNG.integers(40, 90, _N).astype(str),
        "day": pd.date_range("2001-01-01", periods=_N).astype(str),
        "share": [f"{k}%" for k in _RNG.integers(0, 99, _N)],
        "price": [f"${k:,}" for k in _RNG.integers(1000, 9000, _N)],
        "name": [f"n{k}" for k in range(_N)],
        "k": _RNG.integers(0, 150, _N),
        "zip": _RNG.choice([f"{k:05d}" for k in range(10)], _N),
        "state": _RNG.choice([f"s{k}" for k in range(50)], _N),
    }
)
TABLE.loc[::37, "power"] = "?"


@pytest.mark.parametrize(
    ("term", "said"),
    [
        ("power", r"levels are numbers .*to_numeric.*factor\(power\)"),
        ("day", r"levels are dates .*to_datetime"),
        ("share", "levels are numbers"),
        ("price", "levels are numbers"),
        ("name", r"200 levels in 200 public rows.*limits=\{'name'"),
        ("factor(k)", "levels in 200 public rows"),
    ],
)
def test_text_that_is_no_category_is_refused(term: str, said: str) -> None:
    budget = Budget(mu=1)
    with pytest.raises(PublicDataError, match=said):
        dp_lm(f"y ~ {term}", TABLE[200:], TABLE[:200], mu=1, budget=budget)
    assert budget.spent.mu == 0


@pytest.mark.parametrize(("term", "columns"), [("zip", 10), ("state", 50), ("factor(power)", 51)])
def test_codes_and_states_are_categories(term: str, columns: int) -> None:
    fit = dp_lm(f"y ~ {term}", TABLE[400:], TABLE[:400], mu=3, seed=1)
    assert abs(len(fit.coef()) - columns) <= 1


def test_levels_that_have_an_order_by_their_type_are_told() -> None:
    """As those of a Stata file, which are all ordered."""
    table = TABLE.assign(g=pd.Categorical(_RNG.choice(list("abc"), _N), ordered=True))
    fit = dp_lm("y ~ g", table[300:], table[:300], mu=3, seed=1)
    assert fit.coef().index[1] == "g[.L]"
    assert any(note.startswith("Levels of `g` have an order by their type") for note in fit.notes)
    for formula in ("y ~ factor(g, ordered=FALSE)", "y ~ ordered(g)"):
        fit = dp_lm(formula, table[300:], table[:300], mu=3, seed=1)
        assert not any("by their type" in note for note in fit.notes)
