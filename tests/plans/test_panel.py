"""Plans of `dp_feols`: what is predicted from public persons is what fits print."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dpstats import dp_feols, plan_feols
from dpstats.errors import PublicDataError
from tests.benchmarks.panel import panel

_PUBLIC = panel(100, 0)


@pytest.mark.parametrize("formula", ["y ~ x + w | who", "y ~ x + w"])
def test_a_plan_predicts_what_fits_print(formula: str) -> None:
    """Within a half: from 100 persons errors are known to a tenth, and tails hardly."""
    plan = plan_feols(formula, _PUBLIC, n=1500, mu=[1, 3], person="who")
    for mu in (1, 3):
        fits = [
            dp_feols(formula, panel(1500, seed), _PUBLIC, mu=mu, person="who", seed=seed)
            for seed in range(5)
        ]
        printed = np.median([fit.se().to_numpy() for fit in fits], axis=0)
        ratio = plan.std_error()[f"mu = {mu}"].to_numpy() / printed
        assert (ratio > 0.67).all()
        assert (ratio < 1.5).all()


def test_rows_are_planned_where_nobody_is_named() -> None:
    plan = plan_feols("y2 ~ x | d ~ z", _PUBLIC, n=5000, mu=3)
    assert list(plan.std_error().index) == ["d", "Intercept", "x"]
    assert "persons" not in str(plan).split("Note")[0]


def test_a_target_is_told_in_persons() -> None:
    plan = plan_feols("y ~ x | who", _PUBLIC, n=1500, mu=[1], person="who", target_se=0.02)
    assert "persons needed" in str(plan)
    assert plan.reached is not None
    assert plan.reached.mu is not None


def test_persons_cannot_be_planned_without_their_column() -> None:
    with pytest.raises(PublicDataError, match="needs public rows with the column `who`"):
        plan_feols("y ~ x | who", _PUBLIC.drop(columns="who"), n=1500, mu=1, person="who")


def test_a_weak_first_stage_of_public_rows_is_told() -> None:
    rng = np.random.default_rng(0)

    def rows(n: int, strength: float) -> pd.DataFrame:
        z, u = rng.normal(size=(2, n))
        d = strength * z + u + rng.normal(size=n)
        return pd.DataFrame({"y": d + u + rng.normal(size=n), "d": d, "z": z})

    for strength, weak in ((0.05, True), (0.8, False)):
        plan = plan_feols("y ~ 1 | d ~ z", rows(200, strength), n=20_000, mu=1)
        assert plan.first_stage is not None
        assert (plan.first_stage < 10) is weak
        assert ("the first stage is weak" in str(plan)) is weak
        # the slope of the first stage is known to 1/sqrt(F)
        assert plan.relative_error.min() >= plan.first_stage**-0.5
    assert plan.relative_error.max() < 0.3
