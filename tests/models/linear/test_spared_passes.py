"""Passes over the rows that are spared, where they would change next to nothing; and where not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

from dpstats import dp_lm
from dpstats.frame.executors import Reading
from dpstats.models.linear import planning, rounds
from dpstats.models.linear.planning import plan_linear
from dpstats.models.linear.rounds import LinearRounds

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
    monkeypatch.setattr(planning, "_LONG_PASS", 0)


def _passes(fit: Any) -> int:
    return int(fit.diagnostics().loc["passes"].iloc[0])


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize(
    ("heavy", "higher", "rounds"), [(False, 0.0, 1), (True, 0.0, 2), (False, 0.3, 2)]
)
def test_one_round_is_enough_near_a_public_fit_where_its_cut_takes_next_to_nothing(
    heavy: bool, higher: float, rounds: int
) -> None:
    """Shares of a sampling error that cuts took were 0.04 in all of three such tables, and 0.25.

    Public responses that lie higher by 0.3 residuals, nine errors of their sampling, are seen.
    """
    private, public = _table(20_000, 1, heavy=heavy), _table(1000, 0, heavy=heavy)
    fit = dp_lm(FORMULA, private, public=public.assign(y=public.y + higher), mu=3, seed=1)
    assert _rounds(fit) == rounds
    plain = smf.ols(FORMULA, private).fit(cov_type="HC1")
    # two estimates of one table differ by noise, which is a tenth of these errors
    assert ((fit.coef() - plain.params).abs() < plain.bse).all()
    assert (fit.se() / plain.bse).between(0.95, 1.25).all()


@pytest.mark.usefixtures("large")
def test_a_second_round_follows_where_far_scores_lean() -> None:
    """One row of 250 lies five residuals higher: the last cut is to take less of these."""

    def table(n: int, seed: int) -> pd.DataFrame:
        far = np.random.default_rng(seed + 50).random(n) < 0.004
        return _table(n, seed).assign(y=lambda t: t.y + 5.0 * far)

    fits = [dp_lm(FORMULA, table(20_000, 1), public=table(1000, 0), mu=3, seed=s) for s in range(3)]
    assert [_rounds(fit) for fit in fits] == [2, 2, 2]


@pytest.mark.usefixtures("large")
def test_what_is_left_goes_into_the_same_sums() -> None:
    """Of one round the rows are read three times: for their lengths, their moments, and their scores."""
    fit = dp_lm(FORMULA, PRIVATE, public=PUBLIC, mu=3, seed=1)
    spent = fit.privacy.mechanisms
    made = spent.released.tolist()
    assert (_rounds(fit), _passes(fit), made.count("mean score")) == (1, 3, 2)
    assert float(spent.share.sum()) == pytest.approx(1)
    assert float(np.sqrt(np.sum(spent.mu**2))) == pytest.approx(3)


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize(("far", "rounds"), [(False, 1), (True, 2)])
def test_a_second_round_follows_where_second_moments_may_lack_what_far_rows_have(
    far: bool, rounds: int
) -> None:
    """A step as long as public errors goes too far by it: 0.02 errors of sampling at most, and 0.8."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(101_000, 10))
    x[:, 0] = np.exp(x[:, 0]) if far else x[:, 0]
    table = pd.DataFrame(x, columns=[f"x{j}" for j in range(10)])
    table["y"] = x @ rng.normal(size=10) + rng.normal(size=len(x))
    formula = "y ~ " + " + ".join(table.columns[:-1])
    fit = dp_lm(formula, table[1000:], public=table[:1000], mu=2, seed=0)
    assert _rounds(fit) == rounds


@pytest.mark.usefixtures("large")
def test_errors_allow_for_what_one_round_leaves_of_its_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a way that is off by all of it: public errors, which are four times as long."""
    monkeypatch.setattr(LinearRounds, "_goes_on", lambda self, cut: False)
    told = []
    for left in (0.0, 1.0):
        monkeypatch.setattr(rounds, "may_be_off", lambda ready, cut, d, left=left: left)
        told.append(dp_lm(FORMULA, PRIVATE, public=PUBLIC, mu=3, seed=1, vcov="iid"))
    assert [_rounds(fit) for fit in told] == [1, 1]
    away = smf.ols(FORMULA, PUBLIC).fit().params - told[1].coef()
    assert told[1].se().to_numpy() == pytest.approx(np.hypot(told[0].se(), away), rel=0.2)


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
    sizes = (20_000, 1.0), (1_000_000, 1.0), (1_000_000, 1e4), (10_000_000, 1e4)
    rounds = [plan_linear(n, 4, mu, 1000, True).one_round for n, mu in sizes]
    assert rounds == [False, True, False, True]
    spares = [plan_linear(20_000, 4, mu, 1000, True).spares for mu in (1.0, 1e4)]
    assert spares == [True, False]
