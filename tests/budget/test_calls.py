"""What calls charge, and when: once, before they read, and not where they fail for public reasons."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpstats
from dpstats import (
    Budget,
    BudgetExceeded,
    anova,
    dp_lm,
    dp_mean,
    dp_mixture,
    dp_mvnorm,
    eptr,
    eptr_lm,
    eptr_nw,
)
from dpstats.accounting.composition import Composed
from dpstats.accounting.privacy import ApproximatePrivacy, Privacy, PurePrivacy
from dpstats.accounting.unit import PrivacyUnit
from dpstats.budget.charge import charged, label_of
from dpstats.datasets import fair
from dpstats.errors import (
    ArgumentError,
    BudgetError,
    DPStatsError,
    PassError,
    PlanWarning,
    PrivacyError,
    SchemaError,
)
from tests.budget.cases import FORMULA, PRIVATE, PUBLIC, charge, lm


def test_without_a_budget_nothing_is_kept() -> None:
    lm()
    with Budget(mu=1) as budget:
        pass
    lm()
    assert budget.entries == ()


def test_a_release_by_other_means_can_be_charged() -> None:
    budget = Budget(epsilon=2, delta=1e-5)
    budget.charge("counts by region", rho=0.01, data="registry")
    (entry,) = budget.entries
    assert (entry.call, entry.data, entry.released) == (
        "counts by region",
        "registry",
        "by other means",
    )
    assert entry.cost.rho == pytest.approx(0.01)
    with pytest.raises(BudgetExceeded):
        budget.charge("more", mu=2)
    wrong: list[dict[str, Any]] = [{"what": " ", "mu": 1}, {"what": 7, "mu": 1}]
    wrong += [{"what": "a", "mu": 1, "data": 3}, {"what": "a"}, {"what": "a", "mu": math.nan}]
    for arguments in wrong:
        with pytest.raises((ArgumentError, PrivacyError)):
            budget.charge(**arguments)
    assert len(budget.entries) == 1
    stated = Budget(epsilon=2, delta=1e-5, rows_per_person=3)
    stated.charge("a histogram", epsilon=1, delta=1e-6)
    assert stated.entries[0].cost == ApproximatePrivacy(1.0, 1e-6)
    assert "3 rows" in stated.entries[0].unit


def test_an_entry_holds_the_call_and_its_data() -> None:
    budget = Budget(mu=5, person="who")
    named = PRIVATE.copy()
    named.attrs["name"] = "fair, 1978"
    person = named.assign(who=range(len(named)))
    fit = lm(person, budget=budget, rows_per_person=2, person="who")
    (entry,) = budget.entries
    assert (entry.number, entry.data, entry.call) == (1, "fair, 1978", fit.call)
    assert "`who`" in entry.unit
    assert entry.cost == Privacy(0.5)
    assert pd.Timestamp(entry.time, tz="UTC") - pd.Timestamp.now("UTC") < pd.Timedelta("1min")


@pytest.mark.parametrize(
    ("data", "label"),
    [
        ("s3://a/b.parquet", "s3://a/b.parquet"),
        (Path("a") / "b.parquet", os.path.join("a", "b.parquet")),
        (["a.parquet", "b.parquet", "c.parquet"], "3 paths"),
        (["a.parquet"], "1 paths"),
        (["a.parquet", 3], "list"),
        (PRIVATE, "pandas DataFrame"),
        ([PRIVATE, PRIVATE], "list"),
        (fair, "fair()"),
        (lambda: PRIVATE, "<lambda>()"),
        (b"abc", "bytes"),
        ([], "list"),
        (None, "NoneType"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_labels_name_the_data_and_show_none_of_it(data: Any, label: str) -> None:
    assert label_of(data) == label


def test_rows_that_are_text_are_no_label() -> None:
    rows = ["Alice Smith,HIV+", "Bob Jones,HIV-"]
    budget = Budget(mu=3)
    for data in (rows, rows[:1], tuple(rows), rows[0].encode(), np.array(rows)):
        eptr(data, lambda d: 1.0, lambda d: 5.0, 0.1, 1, 1e-9, seed=1, budget=budget)
    assert "Alice" not in str(budget.table().to_csv()) + repr(budget.table())


def test_what_is_computed_from_a_release_costs_nothing() -> None:
    def never() -> Any:
        raise AssertionError("the data were touched")

    with Budget(mu=0.5) as budget:
        fit = dp_lm("rate_marriage ~ age + religious", PRIVATE, PUBLIC, mu=0.5, seed=1)
        before = budget.entries
        smaller = fit.update("~ . - age")
        anova(smaller, fit)
        fit.predict(PUBLIC)
        fit.confint()
        fit.summary()
        smaller.summary()
    assert budget.entries == before
    assert budget.remaining == Privacy(0.0)


# -- calls that fail --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "broken",
    [
        lambda: lm(PRIVATE.head(1)),
        lambda: lm("/there/is/no/such.parquet"),
        lambda: lm(iter([PRIVATE])),
        lambda: dp_lm("rate_marriage ~ (", PRIVATE, PUBLIC, mu=0.5),
        lambda: dp_lm("rate_marriage ~ nobody", PRIVATE, PUBLIC, mu=0.5),
        lambda: dp_lm(FORMULA, PRIVATE, PUBLIC, mu=-1),
        lambda: dp_lm(FORMULA, PRIVATE, PUBLIC, mu=0.1, method="magic"),
        lambda: lm(person="nobody"),
        lambda: eptr_lm(FORMULA, PRIVATE, PUBLIC, epsilon=1e-3, delta=1e-9, method="ptr"),
        lambda: eptr_lm(FORMULA, PRIVATE.head(2), PUBLIC, epsilon=1, delta=1e-6, method="ptr"),
    ],
)
def test_a_call_that_fails_for_public_reasons_is_not_charged(broken: Callable[[], Any]) -> None:
    budget = Budget(mu=5)
    with budget, pytest.raises(DPStatsError):
        broken()
    assert budget.entries == ()
    assert budget.spent == Composed()
    assert budget.remaining == Privacy(5.0)


def test_a_warning_that_is_turned_into_an_error_is_not_charged() -> None:
    calls: list[Callable[[], Any]] = [
        lambda: dp_mvnorm(["age", "educ"], PRIVATE.head(100), PUBLIC, mu=0.01),
        lambda: dp_mean(["age", "educ"], PRIVATE.head(20), PUBLIC, mu=0.01),
        lambda: dp_mixture(["age", "educ"], PRIVATE.head(500), PUBLIC, k=2, mu=0.5),
        lambda: eptr_nw(FORMULA, PRIVATE, PUBLIC, epsilon=1, delta=1e-6, method="paper"),
    ]
    warned = 0
    for call in calls:
        with Budget(mu=5) as budget:
            try:
                call()
            except PlanWarning:
                warned += 1
                assert budget.entries == ()
            except DPStatsError:
                assert budget.entries == ()
    assert warned >= 2


def _breaking(error: BaseException, at: int) -> Callable[[], Iterator[pd.DataFrame]]:
    """Blocks of which a later one fails, at so many passes."""
    passes = 0

    def blocks() -> Iterator[pd.DataFrame]:
        nonlocal passes
        passes += 1
        yield PRIVATE[:3000]
        if passes >= at:
            raise error
        yield PRIVATE[3000:]

    return blocks


@pytest.mark.parametrize("at", [1, 2])
@pytest.mark.parametrize("kind", [OSError, ValueError, SchemaError, MemoryError])
def test_a_reading_that_breaks_off_stays_charged(kind: type[Exception], at: int) -> None:
    budget = Budget(mu=5)
    with pytest.raises(PassError, match=r"The call stays charged to its budget\.$"):
        lm(_breaking(kind("a private value"), at), budget=budget)
    (entry,) = budget.entries
    assert (entry.cost, entry.released) == (Privacy(0.5), "")


@pytest.mark.parametrize(
    "odd",
    [
        {"data": PRIVATE.drop(columns="age")},
        {"data": PRIVATE[:0]},
        {"data": "no such file.parquet"},
        {"limits": {"nobody": (0, 1)}},
    ],
)
def test_a_call_that_is_refused_is_not_said_to_stay_charged(odd: dict[str, Any]) -> None:
    budget, given = Budget(mu=5), {"data": PRIVATE, **odd}
    with pytest.raises(DPStatsError) as refused:
        lm(given.pop("data"), budget=budget, **given)
    assert "stays charged" not in str(refused.value)
    assert budget.spent.mu == 0


@pytest.mark.parametrize("at", [1, 2])
def test_a_call_that_a_person_stops_stays_charged(at: int) -> None:
    budget = Budget(mu=5)
    with pytest.raises(KeyboardInterrupt) as stopped:
        lm(_breaking(KeyboardInterrupt(), at), budget=budget)
    assert stopped.value.__notes__ == [f"{budget.entries[0].call} stays charged to its budget."]
    assert budget.spent.mu == 0.5
    with pytest.raises(KeyboardInterrupt) as stopped:
        lm(_breaking(KeyboardInterrupt(), at))
    assert not hasattr(stopped.value, "__notes__"), "nobody paid for this one"
    assert lm(budget=budget).privacy.mu == 0.5, "and the budget goes on"
    assert budget.spent.squares == 0.5


def test_an_estimator_that_fails_on_private_data_is_charged_without_a_message() -> None:
    def broken(_: Any) -> float:
        raise ValueError("a private value")

    budget = Budget(mu=5)
    fit = eptr(PRIVATE, broken, 10, 0.1, epsilon=1, delta=1e-6, budget=budget)
    assert not fit.released
    assert len(budget.entries) == 1


def test_an_estimator_that_is_stopped_stays_charged() -> None:
    def stopped(_: Any) -> float:
        raise KeyboardInterrupt

    budget = Budget(mu=5)
    with pytest.raises(KeyboardInterrupt):
        eptr(PRIVATE, stopped, 10, 0.1, epsilon=1, delta=1e-6, budget=budget)
    assert len(budget.entries) == 1


_DYING = """
import os, sys
from dpstats import Budget, dp_lm
from dpstats.datasets import fair
public, private = fair()
def blocks():
    yield private[:3000]
    os._exit(7)
dp_lm("rate_marriage ~ age", blocks, public, mu=0.5, budget=Budget(mu=2, path=sys.argv[1]))
"""


@pytest.mark.slow
def test_a_process_that_dies_while_it_reads_stays_charged(path: Path) -> None:
    died = subprocess.run([sys.executable, "-c", _DYING, str(path)], timeout=120, check=False)
    assert died.returncode == 7
    budget = Budget(path=path)
    assert (budget.spent.mu, len(budget.entries), budget.entries[0].released) == (0.5, 1, "")
    assert "Not known to have finished; it counts." in budget.table().to_text().replace("\n", " ")


def test_a_person_who_stops_while_lines_are_learnt_loses_none(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for budget, other in ((Budget(mu=2), None), (Budget(mu=2, path=path), Budget(path=path))):
        for _ in range(3):
            charge(other or budget)
        state = type(budget._state)
        learn, told = state.learn, 0

        def stopped(self: Any, line: Any, learn: Any = learn) -> None:  # in the middle of the news
            nonlocal told
            told += 1
            if told == 2:
                raise KeyboardInterrupt
            learn(self, line)

        with monkeypatch.context() as patch:
            patch.setattr(state, "learn", stopped)
            with pytest.raises(KeyboardInterrupt):
                _charge_twice(budget)
        done = len(budget.entries)
        assert done >= 3
        assert budget.spent.squares == done * Fraction(0.1) ** 2
        charge(budget)
        assert budget.spent.squares == (done + 1) * Fraction(0.1) ** 2


def _charge_twice(budget: Budget) -> None:
    charge(budget)
    charge(budget)


def test_withdrawn_charges_leave_the_others_and_the_limits_as_they_are() -> None:
    budget = Budget(epsilon=1, delta=1e-6)
    for cost, error in ((Privacy(0.1), True), (ApproximatePrivacy(0.2, 1e-7), False)):
        held = charged(budget, cost, PrivacyUnit(), "f()", "")
        if error:
            held.ended(ArgumentError("too few rows"))
    # all was withdrawn before the second, which therefore is the first
    assert [e.cost for e in budget.entries] == [ApproximatePrivacy(0.2, 1e-7)]
    assert budget.remaining == ApproximatePrivacy(0.8, 9e-7)
    third = charged(budget, PurePrivacy(0.3), PrivacyUnit(), "g()", "")
    charge(budget, PurePrivacy(0.1))
    third.ended(PlanWarning())
    assert [e.number for e in budget.entries] == [1, 2]
    assert budget.spent.epsilons == Fraction(0.2) + Fraction(0.1)


def test_limits_outlive_the_first_call_if_another_rests_on_them() -> None:
    budget = Budget(epsilon=1, delta=1e-6)
    first = charged(budget, ApproximatePrivacy(0.2, 5e-7), PrivacyUnit(), "f()", "")
    charge(budget, ApproximatePrivacy(0.2, 5e-7))
    first.ended(ArgumentError("too few rows"))
    # mu = 0.01 counts as epsilon at a tenth of delta
    counted = Privacy(0.01).epsilon(1e-7)
    charge(budget, 0.01)
    assert budget.spent.epsilons == Fraction(0.2) + Fraction(counted)
    with pytest.raises(BudgetExceeded):
        charge(budget, ApproximatePrivacy(0.8, 4e-7))
    charge(budget, ApproximatePrivacy(0.8 - 2 * counted, 4e-7))


def test_audits_do_not_spend_a_budget() -> None:
    with Budget(mu=1) as budget:
        with pytest.raises(BudgetError, match="close it first"):
            dpstats.audit(lambda rows: 0.0, (1, 2), mu=1)
        with pytest.raises(BudgetError, match="close it first"):
            dpstats.audit.worst_neighbours(lambda rows: 0.0, np.zeros(5))
    assert budget.entries == ()
