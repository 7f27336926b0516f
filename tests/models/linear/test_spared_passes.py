"""Passes over the rows that are spared, where they would change next to nothing; and where not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

from dpstats import dp_lm
from dpstats.frame.executors import Reading
from dpstats.models.linear import planning
from dpstats.models.linear.planning import plan_linear

FORMULA = "y ~ a + b + c"


def _table(n: int, seed: int, *, alike: float = 0.0, heavy: bool = False) -> pd.DataFrame:
    """Normal columns, of which ``alike`` correlates the first two; normal errors, or far heavier."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    x[:, 1] = alike * x[:, 0] + np.sqrt(1 - alike**2) * x[:, 1]
    errors = rng.standard_t(2.5, size=n) if heavy else rng.normal(size=n)
    table = pd.DataFrame(x, columns=["a", "b", "c"])
    return table.assign(y=1 + x @ [1.0, 2.0, 3.0] + errors)


PUBLIC, PRIVATE = _table(1000, 0), _table(20_000, 1)


def _rounds(fit: Any) -> int:
    return int(fit.diagnostics().loc["rounds"].iloc[0])


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of any size are large ones, in which a pass takes time."""
    monkeypatch.setattr(planning, "_LARGE_TABLE", 0)


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize(("heavy", "rounds"), [(False, 1), (True, 2)])
def test_one_round_is_enough_where_its_cut_takes_next_to_nothing(heavy: bool, rounds: int) -> None:
    """Shares of a sampling error that cuts took were 0.1 in all of five such tables, and 0.8."""
    private = _table(20_000, 1, heavy=heavy)
    fit = dp_lm(FORMULA, private, public=_table(1000, 0, heavy=heavy), mu=1, seed=1)
    assert _rounds(fit) == rounds
    plain = smf.ols(FORMULA, private).fit(cov_type="HC1")
    # two estimates of one table differ by noise, which is a tenth of these errors
    assert ((fit.coef() - plain.params).abs() < plain.bse).all()
    assert (fit.se() / plain.bse).between(0.95, 1.25).all()


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize(("far", "rounds"), [(False, 1), (True, 2)])
def test_a_second_round_follows_where_second_moments_may_lack_what_far_rows_have(
    far: bool, rounds: int
) -> None:
    """A step as long as public errors goes too far by it: 0.06 errors of sampling at most, and 0.6."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(101_000, 10))
    x[:, 0] = np.exp(x[:, 0]) if far else x[:, 0]
    table = pd.DataFrame(x, columns=[f"x{j}" for j in range(10)])
    table["y"] = x @ rng.normal(size=10) + rng.normal(size=len(x))
    formula = "y ~ " + " + ".join(table.columns[:-1])
    fit = dp_lm(formula, table[1000:], public=table[:1000], mu=1, seed=0)
    assert _rounds(fit) == rounds


@pytest.mark.usefixtures("large")
def test_errors_allow_for_what_one_round_leaves_of_a_long_way() -> None:
    """Public responses lie 0.5 residuals higher: what one step leaves of that is not noise."""
    far = PUBLIC.assign(y=PUBLIC.y + 0.5)
    shifted, plain = (
        dp_lm(FORMULA, PRIVATE, public=p, mu=1, seed=1, vcov="iid") for p in (far, PUBLIC)
    )
    assert (_rounds(shifted), _rounds(plain)) == (1, 1)
    assert shifted.se()["Intercept"] > 1.2 * plain.se()["Intercept"]
    truth = pd.Series({"Intercept": 1.0, "a": 1.0, "b": 2.0, "c": 3.0})
    assert ((shifted.coef() - truth).abs() < 4.9 * shifted.se()).all()


@pytest.mark.parametrize(("alike", "readings"), [(0.0, 1), (0.6, 2)])
def test_rows_that_public_ones_have_whitened_well_are_not_read_again(
    alike: float, readings: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Private columns that are alike, where public ones are not, are whitened by their own moments."""
    found, bar = [0], Reading.bar

    def counted(self: Reading, number: int, total: int) -> Any:
        found[0] += 1
        return bar(self, number, total)

    monkeypatch.setattr(Reading, "bar", counted)
    private = _table(20_000, 1, alike=alike)
    fit = dp_lm(FORMULA, private, public=PUBLIC, mu=1, seed=1)
    assert found == [readings]
    plain = smf.ols(FORMULA, private).fit(cov_type="HC1")
    assert ((fit.coef() - plain.params).abs() < plain.bse).all()
    assert (fit.se() / plain.bse).between(0.95, 1.25).all()


def test_nothing_is_spared_where_noise_is_next_to_nothing() -> None:
    """Another round costs no accuracy there, and ends at the fit without privacy."""
    fit = dp_lm(FORMULA, PRIVATE, public=PUBLIC, mu=1e4, seed=1)
    plain = smf.ols(FORMULA, PRIVATE).fit(cov_type="HC1")
    assert _rounds(fit) > 1
    assert fit.coef().to_numpy() == pytest.approx(plain.params.to_numpy(), rel=1e-4)
    assert fit.se().to_numpy() == pytest.approx(plain.bse.to_numpy(), rel=1e-3)


def test_one_round_is_planned_for_large_tables_only() -> None:
    rounds = [plan_linear(n, 4, 1.0, 1000, True).least_rounds for n in (20_000, 10_000_000)]
    assert rounds == [2, 1]
    spares = [plan_linear(20_000, 4, mu, 1000, True).spares for mu in (1.0, 1e4)]
    assert spares == [True, False]
