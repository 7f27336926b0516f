"""Budgets as a user meets them: what is charged and when, what is refused, what a file survives."""

from __future__ import annotations

import copy
import math
import multiprocessing
import os
import pickle
import random
import shutil
import sqlite3
import stat
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import closing, suppress
from fractions import Fraction
from functools import cache
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
from dpstats.accounting.composition import BudgetTotal, Composed
from dpstats.accounting.privacy import ApproximatePrivacy, Privacy, PurePrivacy, Total
from dpstats.accounting.unit import PrivacyUnit
from dpstats.budget import ledger
from dpstats.budget import workers as open_mark
from dpstats.budget.charge import charged, label_of
from dpstats.budget.page import Entry, Statement, statement_page
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
from tests.report.snapshots import FORMS, as_last_looked_at, renew, written

PUBLIC, PRIVATE = (table.assign(affair=table.affairs > 0) for table in fair())
FORMULA = "rate_marriage ~ age"


def _lm(data: Any = PRIVATE, **options: Any) -> Any:
    return dp_lm(FORMULA, data, PUBLIC, **{"mu": 0.5, "seed": 1} | options)


def _mean(data: Any, **options: Any) -> Any:
    return dp_mean("~ age", data, PUBLIC, **{"mu": 0.5, "seed": 1} | options)


def charge(budget: Budget, cost: Total | float = 0.1, **options: Any) -> None:
    """A charge as calls make it, without a call."""
    cost = Privacy(cost) if isinstance(cost, float) else cost
    told = {"unit": PrivacyUnit(), "call": "f(x)", "data": ""} | options
    charged(budget, cost, told["unit"], told["call"], told["data"])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "study.budget"


# -- every call is charged, once, and before it reads -----------------------------------------------


def test_without_a_budget_nothing_is_kept() -> None:
    _lm()
    with Budget(mu=1) as budget:
        pass
    _lm()
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
    fit = _lm(person, budget=budget, rows_per_person=2, person="who")
    (entry,) = budget.entries
    assert (entry.number, entry.data, entry.call) == (1, "fair, 1978", fit.call)
    assert "`who`" in entry.unit
    assert entry.cost == Privacy(0.5)
    assert pd.Timestamp(entry.time, tz="UTC") - pd.Timestamp.now("UTC") < pd.Timedelta("1min")


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
        lambda: _lm(PRIVATE.head(1)),
        lambda: _lm("/there/is/no/such.parquet"),
        lambda: _lm(iter([PRIVATE])),
        lambda: dp_lm("rate_marriage ~ (", PRIVATE, PUBLIC, mu=0.5),
        lambda: dp_lm("rate_marriage ~ nobody", PRIVATE, PUBLIC, mu=0.5),
        lambda: dp_lm(FORMULA, PRIVATE, PUBLIC, mu=-1),
        lambda: dp_lm(FORMULA, PRIVATE, PUBLIC, mu=0.1, method="magic"),
        lambda: _lm(person="nobody"),
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
    with pytest.raises(PassError):
        _lm(_breaking(kind("a private value"), at), budget=budget)
    (entry,) = budget.entries
    assert (entry.cost, entry.released) == (Privacy(0.5), "")


@pytest.mark.parametrize("at", [1, 2])
def test_a_call_that_a_person_stops_stays_charged(at: int) -> None:
    budget = Budget(mu=5)
    with pytest.raises(KeyboardInterrupt) as stopped:
        _lm(_breaking(KeyboardInterrupt(), at), budget=budget)
    assert stopped.value.__notes__ == [f"{budget.entries[0].call} stays charged to its budget."]
    assert budget.spent.mu == 0.5
    with pytest.raises(KeyboardInterrupt) as stopped:
        _lm(_breaking(KeyboardInterrupt(), at))
    assert not hasattr(stopped.value, "__notes__"), "nobody paid for this one"
    assert _lm(budget=budget).privacy.mu == 0.5, "and the budget goes on"
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
            with pytest.raises(ArgumentError), held:
                raise ArgumentError("too few rows")
    # all was withdrawn before the second, which therefore is the first
    assert [e.cost for e in budget.entries] == [ApproximatePrivacy(0.2, 1e-7)]
    assert budget.remaining == ApproximatePrivacy(0.8, 9e-7)
    third = charged(budget, PurePrivacy(0.3), PrivacyUnit(), "g()", "")
    charge(budget, PurePrivacy(0.1))
    with pytest.raises(PlanWarning), third:
        raise PlanWarning
    assert [e.number for e in budget.entries] == [1, 2]
    assert budget.spent.epsilons == Fraction(0.2) + Fraction(0.1)


def test_limits_outlive_the_first_call_if_another_rests_on_them() -> None:
    budget = Budget(epsilon=1, delta=1e-6)
    first = charged(budget, ApproximatePrivacy(0.2, 5e-7), PrivacyUnit(), "f()", "")
    charge(budget, ApproximatePrivacy(0.2, 5e-7))
    with pytest.raises(ArgumentError), first:
        raise ArgumentError("too few rows")
    # mu = 0.01 counts as epsilon at a tenth of delta
    counted = Privacy(0.01).epsilon(1e-7)
    charge(budget, 0.01)
    assert budget.spent.epsilons == Fraction(0.2) + Fraction(counted)
    with pytest.raises(BudgetExceeded):
        charge(budget, ApproximatePrivacy(0.8, 4e-7))
    charge(budget, ApproximatePrivacy(0.8 - 2 * counted, 4e-7))


# -- what is refused, and how ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("total", "cost", "said"),
    [
        (
            {"mu": 1},
            Privacy(2.0),
            "asks for mu = 2, and the budget (in memory) has mu = 0.995 left",
        ),
        (
            {"rho": 0.5},
            Privacy(2.0),
            "asks for rho = 2, and the budget (in memory) has rho = 0.495",
        ),
        (
            {"epsilon": 1, "delta": 1e-6},
            Privacy(1.0),
            "and the budget (in memory) has epsilon = 0.8",
        ),
        ({"epsilon": 1}, PurePrivacy(2.0), "asks for epsilon = 2, and the budget (in memory) has "),
        (
            {"mu": 1},
            Privacy(0.1, 1e-4),
            "adds 0.0001 to those before, and only 1e-05 is left",
        ),
        ({"mu": 1}, ApproximatePrivacy(0.1, 1e-4), "asks for mu = 0.1253 up to delta0 = 1e-04"),
        (
            {"epsilon": 1},
            Privacy(0.1),
            "A budget of epsilon alone is for calls with epsilon alone.",
        ),
    ],
)
def test_a_refusal_names_the_cost_and_what_is_left(
    total: dict[str, float], cost: Total, said: str
) -> None:
    budget = Budget(**total)
    charge(budget, PurePrivacy(0.1) if "delta" not in total and "epsilon" in total else 0.1)
    left = budget.remaining
    with pytest.raises(BudgetExceeded) as caught:
        charge(budget, cost)
    refused = caught.value
    assert (refused.requested, refused.remaining) == (cost, left)
    assert said in str(refused)
    assert "Nothing was read or charged." in str(refused)
    again = pickle.loads(pickle.dumps(refused))
    assert (str(again), again.requested, again.remaining) == (str(refused), cost, left)
    assert len(budget.entries) == 1


def test_what_remains_can_be_spent_in_the_unit_of_the_user() -> None:
    for total in ({"mu": 1.3}, {"rho": 0.7}, {"epsilon": 2, "delta": 1e-6}, {"epsilon": 2}):
        budget = Budget(**total)
        charge(budget, PurePrivacy(0.05))
        charge(budget, budget.remaining)
        if "delta" in total:
            assert budget.spent.epsilon(1e-6) <= 2 * (1 + 1e-9)
        assert budget.remaining.mu == 0
        with pytest.raises(BudgetExceeded):
            charge(budget, PurePrivacy(1e-3))


def test_pure_calls_in_a_budget_with_delta_add_their_epsilons() -> None:
    for total in ({"delta": 1e-6}, {"delta": 1e-6, "slack": 1e-7}, {}):
        budget = Budget(epsilon=3, **total)
        for _ in range(6):
            charge(budget, PurePrivacy(0.5))
        with pytest.raises(BudgetExceeded):
            charge(budget, PurePrivacy(1e-6))
        assert budget.spent.epsilon(0.0) == 3


def test_two_calls_of_half_fit_and_then_nothing_does() -> None:
    with Budget(mu=1) as budget:
        _lm(mu=math.sqrt(0.5))
        _lm(mu=math.sqrt(0.5))
        with pytest.raises(BudgetExceeded) as refused:
            _lm(mu=1e-3)
    assert budget.remaining.mu == refused.value.remaining.mu == 0
    assert budget.spent.mu == pytest.approx(1)


def test_where_epsilons_add_up_a_gaussian_call_counts_as_it_was_stated() -> None:
    budget = Budget(epsilon=2, delta=1e-5)
    charge(budget, ApproximatePrivacy(0.5, 1e-6))
    _lm(mu=None, epsilon=0.5, delta=2e-6, budget=budget)
    assert budget.entries[1].cost == ApproximatePrivacy(0.5, 2e-6)
    assert budget.remaining == ApproximatePrivacy(1.0, pytest.approx(7e-6))
    _lm(mu=0.1, budget=budget)
    assert budget.entries[2].cost.at == pytest.approx(Privacy(0.1).epsilon(1e-6))
    with pytest.raises(BudgetExceeded, match=r"asks for epsilon = 0\.7 at delta = 1e-06, and"):
        _lm(mu=None, epsilon=0.7, delta=1e-6, budget=budget)
    with pytest.raises(BudgetExceeded, match=r"Its delta adds 7e-06 .* 6e-06 is left"):
        _lm(mu=None, epsilon=0.1, delta=7e-6, budget=budget)
    assert "Adds up: epsilons and deltas" in " ".join(repr(budget).split())


def test_refusals_of_other_calls_in_a_gaussian_budget_name_what_they_count_as() -> None:
    budget = Budget(epsilon=2, delta=1e-5)
    charge(budget, 0.1)
    with pytest.raises(
        BudgetExceeded, match=r"not Gaussian counts as mu = 0.624 .* 0.4\d+ is left"
    ):
        charge(budget, ApproximatePrivacy(0.5, 1e-6))


def test_what_was_published_is_written_even_if_it_is_too_much() -> None:
    budget = Budget(mu=1)
    with pytest.raises(BudgetExceeded):
        budget.charge("counts", mu=2)
    assert "OVERSPENT" not in repr(budget)
    budget.charge("counts", mu=2, published=True)
    assert budget.spent.mu == 2
    assert budget.remaining.mu == 0
    assert "OVERSPENT" in repr(budget)
    with pytest.raises(BudgetExceeded):
        charge(budget, 0.01)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({}, ArgumentError),
        ({"mu": 1, "rho": 1}, PrivacyError),
        ({"mu": 0}, PrivacyError),
        ({"mu": -1}, PrivacyError),
        ({"mu": math.nan}, PrivacyError),
        ({"mu": math.inf}, PrivacyError),
        ({"mu": "2"}, PrivacyError),
        ({"mu": True}, PrivacyError),
        ({"mu": 1, "delta": 1e-6}, PrivacyError),
        ({"delta": 1e-6}, PrivacyError),
        ({"epsilon": 1, "delta": 0}, PrivacyError),
        ({"epsilon": 1, "delta": 1}, PrivacyError),
        ({"epsilon": 1, "delta": math.nan}, PrivacyError),
        ({"epsilon": 1, "slack": 1e-6}, ArgumentError),
        ({"epsilon": 1, "delta": 1e-6, "slack": 1e-6}, ArgumentError),
        ({"epsilon": 1, "delta": 1e-6, "slack": 1e-5}, ArgumentError),
        ({"mu": 1, "slack": -1e-9}, ArgumentError),
        ({"mu": 1, "slack": math.nan}, ArgumentError),
        ({"mu": 1, "slack": 1}, ArgumentError),
        ({"mu": 1, "slack": "a"}, ArgumentError),
        ({"mu": 1, "slack": True}, ArgumentError),
        ({"mu": 1, "rows_per_person": 0}, ArgumentError),
        ({"mu": 1, "rows_per_person": 1.5}, ArgumentError),
        ({"mu": 1, "path": 7}, ArgumentError),
        ({"mu": 1, "path": b"study.budget"}, ArgumentError),
        ({"slack": 1e-6}, ArgumentError),
        ({"rows_per_person": 2}, ArgumentError),
    ],
    ids=str,
)
def test_a_budget_of_no_sense_is_refused(arguments: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        Budget(**arguments)


def test_what_is_no_budget_is_refused_before_anything_is_read() -> None:
    for wrong in (2, "study.budget", {"mu": 1}, Budget):
        with pytest.raises(ArgumentError, match="budget must be a dpstats"):
            _lm(budget=wrong)


def test_a_budget_of_persons_takes_no_call_for_rows() -> None:
    budget = Budget(mu=2, rows_per_person=3)
    with pytest.raises(BudgetError, match="rows_per_person=3"):
        _lm(budget=budget)
    with pytest.raises(BudgetError, match="rows_per_person=3"):
        _lm(budget=budget, rows_per_person=2)
    assert budget.entries == ()
    _lm(budget=budget, rows_per_person=3)
    _lm(budget=budget, rows_per_person=5)
    assert budget.spent.squares == 0.5
    assert "nobody has more than 3 rows" in " ".join(repr(budget).split())


def test_a_budget_knows_whom_a_column_names() -> None:
    table = PRIVATE.assign(who=np.arange(len(PRIVATE)) // 3, doctor=1)
    rows, persons = Budget(mu=9), Budget(mu=9, rows_per_person=2, person="who")
    # a row that goes from one person to another moves two: one row per person is too little
    with pytest.raises(BudgetError, match=r"Add rows_per_person=2 .* person='who'"):
        _mean(table, budget=rows, person="who")
    _mean(table, budget=rows, person="who", rows_per_person=2)
    # where a person's rows are one term, no number of them is enough: two persons change
    with pytest.raises(BudgetError, match=r"two persons.*Open the budget with person='who'"):
        _lm(table, budget=rows, person="who", rows_per_person=2)
    for options in ({}, {"person": "doctor", "rows_per_person": 9}, {"rows_per_person": 9}):
        with pytest.raises(BudgetError, match="persons named by `who`"):
            _lm(table, budget=persons, **options)
    with pytest.raises(BudgetError, match="rows_per_person=2"):
        _lm(table, budget=persons, person="who", rows_per_person=1)
    _lm(table, budget=persons, person="who", rows_per_person=2)
    _lm(table, budget=persons, person="who")  # with any number of rows
    assert (len(rows.entries), len(persons.entries)) == (1, 2)
    assert "using only the first 2 rows of each `who`" in " ".join(repr(persons).split())


# -- with, threads, processes -----------------------------------------------------------------------


def test_an_explicit_budget_goes_before_the_open_one() -> None:
    mine = Budget(mu=1)
    with Budget(mu=1) as opened:
        _lm(budget=mine)
    assert (len(mine.entries), len(opened.entries)) == (1, 0)


def test_one_budget_is_open_at_a_time_and_may_be_opened_again() -> None:
    one, other = Budget(mu=1), Budget(mu=1)
    with one:
        with one:
            charge_open(0.1)
        charge_open(0.1)
        with pytest.raises(BudgetError, match="another budget is already open"), other:
            pass
        charge_open(0.1)
    with other:
        charge_open(0.1)
    charge_open(0.1)
    assert (len(one.entries), len(other.entries)) == (3, 1)


def charge_open(mu: float) -> None:
    charged(None, Privacy(mu), PrivacyUnit(), "f(x)", "")


def test_a_with_block_ends_whatever_happens_in_it() -> None:
    one = Budget(mu=1)
    with pytest.raises(ZeroDivisionError), one:
        raise ZeroDivisionError
    charge_open(0.1)
    assert one.entries == ()


def test_an_open_budget_is_that_of_every_thread() -> None:
    with Budget(mu=1) as budget, ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: charge_open(0.1), range(8)))
        failed = pool.submit(Budget(mu=1).__enter__).exception()
    assert isinstance(failed, BudgetError)
    assert len(budget.entries) == 8


@pytest.mark.parametrize("on_disk", [False, True])
def test_threads_share_a_budget_to_the_last_call(on_disk: bool, path: Path) -> None:
    each = 5 if on_disk else 50
    room = 16 * each // 2
    budget = Budget(mu=math.sqrt(room), path=path if on_disk else None)
    start, refused = threading.Barrier(16), []

    def work() -> None:
        start.wait()
        for _ in range(each):
            try:
                charge(budget, 1.0)
            except BudgetExceeded as error:
                refused.append(error)

    threads = [threading.Thread(target=work) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (budget.spent.squares, len(budget.entries)) == (room, room)
    assert len(refused) == 16 * each - room


def test_a_budget_in_memory_cannot_be_copied() -> None:
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(BudgetError, match="give it a file"):
            copied(Budget(mu=1))


def test_copies_of_a_budget_in_a_file_are_the_same_budget(path: Path) -> None:
    budget = Budget(mu=1, path=path)
    copies = [copy.copy(budget), copy.deepcopy(budget), pickle.loads(pickle.dumps(budget))]
    for each in (budget, *copies):
        charge(each, 0.3)
    assert {each.spent.squares for each in (budget, *copies)} == {4 * Fraction(0.3) ** 2}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.parametrize("on_disk", [False, True])
def test_a_forked_process_charges_the_file_and_cannot_charge_the_memory(
    on_disk: bool, path: Path
) -> None:
    budget = Budget(mu=1, path=path if on_disk else None)
    charge(budget, 0.3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        child = os.fork()
    if not child:
        code = 3
        try:
            charge(budget, 0.4)
            code = 1
        except BudgetError as error:
            code = 2 if "belongs to the process" in str(error) else 4
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == (1 if on_disk else 2)
    assert budget.spent.mu == pytest.approx(0.5 if on_disk else 0.3)


# -- files ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["a b.budget", "größe 数.budget", "50%.budget", "a?b#c&d=1.budget", "%41.budget", "a'b\"c;--"],
)
def test_a_file_may_have_any_name(name: str, tmp_path: Path) -> None:
    for where in (tmp_path / name, str(tmp_path / name)):
        charge(Budget(mu=1, path=where))
    assert os.listdir(tmp_path) == [name]
    assert len(Budget(path=tmp_path / name).entries) == 2


@pytest.mark.skipif(sys.platform != "linux", reason="names of bytes")
def test_a_name_that_is_no_text_names_a_file(tmp_path: Path) -> None:
    where = tmp_path / os.fsdecode(b"a\xff.budget")
    charge(Budget(mu=1, path=where))
    assert len(Budget(path=where).entries) == 1
    assert os.listdir(os.fsencode(tmp_path)) == [b"a\xff.budget"]


def test_a_file_that_grows_at_this_moment_is_not_taken_for_a_damaged_one(path: Path) -> None:
    """A writer writes the first page, which counts the pages, before a new last one."""
    charge(Budget(mu=1, path=path))
    raw = bytearray(path.read_bytes())
    raw[28:32] = (int.from_bytes(raw[28:32], "big") + 1).to_bytes(4, "big")
    path.write_bytes(raw)
    with closing(ledger._connect(path, ledger._PEEK)) as connection:
        assert connection.execute("PRAGMA application_id").fetchone() == (ledger._APPLICATION,)


def test_a_tilde_is_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    Budget(mu=1, path="~/mine.budget")
    assert (tmp_path / "mine.budget").exists()
    with pytest.raises(BudgetError, match="cannot be found"):
        Budget(mu=1, path="~nobody-of-this-name/mine.budget")


def test_a_budget_stays_where_it_is_when_the_process_moves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    budget = Budget(mu=1, path="here.budget")
    (tmp_path / "there").mkdir()
    monkeypatch.chdir(tmp_path / "there")
    charge(budget)
    assert len(Budget(path=tmp_path / "here.budget").entries) == 1
    assert os.listdir() == []
    assert "here.budget" in repr(budget)


def test_a_name_that_cannot_be_one_is_an_error_of_budgets(tmp_path: Path) -> None:
    (tmp_path / "broken").symlink_to(tmp_path / "nowhere")
    for where in ("", " ", "s3://bucket/study.budget"):
        with pytest.raises(ArgumentError, match="a file on this machine"):
            Budget(mu=1, path=where)
    bad = ["a\0b", tmp_path / "no" / "folder" / "x", tmp_path, tmp_path / "broken"]
    for where in bad:
        with pytest.raises(BudgetError):
            Budget(mu=1, path=where)
        with pytest.raises(BudgetError):
            Budget(path=where)
    assert os.listdir(tmp_path) == ["broken"]


def test_where_files_cannot_be_linked_a_budget_is_written_in_its_place(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cannot(*_: Any) -> None:
        raise PermissionError("no links here")

    monkeypatch.setattr("os.link", cannot)
    charge(Budget(mu=1, path=path))
    assert len(Budget(path=path).entries) == 1
    assert os.listdir(path.parent) == [path.name]

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(BudgetError, match="cannot be made: No space left on device"):
        Budget(mu=1, path=path.with_name("other.budget"))
    assert os.listdir(path.parent) == [path.name]


def test_of_two_that_make_a_budget_at_once_the_first_one_stays(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = os.link

    def late(made: Path, name: Path) -> None:
        monkeypatch.setattr("os.link", link)
        charge(Budget(mu=2, path=path))
        link(made, name)

    monkeypatch.setattr("os.link", late)
    with pytest.raises(BudgetError, match="is a budget of mu=2"):
        Budget(mu=1, path=path)
    assert len(Budget(mu=2, path=path).entries) == 1
    assert os.listdir(path.parent) == [path.name]


def test_a_missing_file_needs_a_total(path: Path) -> None:
    with pytest.raises(BudgetError, match="there is no budget"):
        Budget(path=path)
    assert not path.exists()


def test_a_file_is_opened_with_its_total_or_with_none(path: Path) -> None:
    charge(Budget(epsilon=1, delta=1e-6, path=path, rows_per_person=2), unit=PrivacyUnit(2))
    kept = path.read_bytes()
    for again in ({}, {"epsilon": 1, "delta": 1e-6, "rows_per_person": 2}):
        assert len(Budget(path=path, **again).entries) == 1
    others: list[dict[str, Any]] = [
        {"epsilon": 1, "delta": 1e-6},
        {"epsilon": 2, "delta": 1e-6, "rows_per_person": 2},
        {"epsilon": 1, "delta": 1e-6, "slack": 1e-7, "rows_per_person": 2},
        {"mu": 1, "rows_per_person": 2},
    ]
    for other in others:
        with pytest.raises(
            BudgetError, match="is a budget of epsilon=1, delta=1e-06, rows_per_per"
        ):
            Budget(path=path, **other)
    assert path.read_bytes() == kept


def _sqlite(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement).fetchall()


def _wal(path: Path) -> None:
    """Another application's database whose last changes wait beside it."""
    code = (
        "import os, sqlite3, sys\nc = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "c.execute('pragma journal_mode=wal')\nc.execute('create table t(a)')\nos._exit(0)"
    )
    subprocess.run([sys.executable, "-S", "-c", code, str(path)], check=True)


_FOREIGN: dict[str, Callable[[Path], Any]] = {
    "empty": lambda p: p.write_bytes(b""),
    "text": lambda p: p.write_text("mu,rho\n1,0.5\n" * 500),
    "zeros": lambda p: p.write_bytes(bytes(8192)),
    "SQLite": lambda p: _sqlite(p, "create table log (a)", "insert into log values (1)"),
    "SQLite of another application": lambda p: _sqlite(
        p, "pragma application_id = 7", "pragma user_version = 1", "create table budget (terms)"
    ),
    "SQLite with a write-ahead log": _wal,
    "SQLite with only our mark": lambda p: _sqlite(
        p, f"pragma application_id = {0x64705374}", "pragma user_version = 1", "create table t (a)"
    ),
}


@pytest.mark.parametrize("kind", _FOREIGN)
def test_a_foreign_file_is_an_error_and_left_as_it_is(kind: str, path: Path) -> None:
    _FOREIGN[kind](path)
    kept = {p.name: p.read_bytes() for p in path.parent.iterdir()}
    for arguments in ({"mu": 1}, {}):
        with pytest.raises(BudgetError, match="left as it is"):
            Budget(path=path, **arguments)
    assert {p.name: p.read_bytes() for p in path.parent.iterdir()} == kept


def test_a_format_of_the_future_is_named(path: Path) -> None:
    Budget(mu=1, path=path)
    _sqlite(path, "pragma user_version = 2")
    with pytest.raises(BudgetError, match="another version of dpstats"):
        Budget(path=path)


def _small(path: Path) -> bytes:
    budget = Budget(mu=1, path=path)
    for cost in (Privacy(0.3, 1e-7), PurePrivacy(0.2), ApproximatePrivacy(0.1, 1e-8)):
        charge(budget, cost)
    budget._note(3, "released", "a mean")
    budget._note(2, "withdrawn", "")
    return path.read_bytes()


def _opened(path: Path) -> tuple[Any, ...] | None:
    try:
        budget = Budget(path=path)
        return budget.spent, budget.entries, budget.remaining
    except BudgetError:
        return None


def test_a_truncated_file_is_an_error(path: Path) -> None:
    whole = _small(path)
    for size in (1, 15, 16, 50, 99, 100, 512, 4095, 4096, 8192, len(whole) - 1):
        path.write_bytes(whole[:size])
        assert _opened(path) is None, size
        assert path.read_bytes() == whole[:size]


@pytest.mark.slow
def test_a_changed_byte_is_noticed_or_does_not_matter(path: Path) -> None:
    whole = _small(path)
    right = _opened(path)
    draw = random.Random(1)
    # the header, the starts of pages, the ends, where the lines are, and some of the rest
    places = set(range(100)) | set(range(len(whole) - 60, len(whole)))
    places |= {p + k for p in range(4096, len(whole), 4096) for k in range(12)}
    places |= set(draw.sample([k for k, byte in enumerate(whole) if byte], 100))
    places |= set(draw.sample(range(len(whole)), 40))
    wrong = noticed = 0
    for place in sorted(places):
        for value in (whole[place] ^ 1, whole[place] ^ 0x83, 255 - whole[place]):
            changed = bytearray(whole)
            changed[place] = value
            path.write_bytes(changed)
            found = _opened(path)
            noticed += found is None
            wrong += found is not None and found != right
            assert path.read_bytes() == changed
            assert os.listdir(path.parent) == [path.name]
    assert wrong == 0
    assert noticed > 200


@pytest.mark.parametrize(
    "statement",
    [
        "delete from log where number = (select max(number) from log)",
        "delete from log where number = 1",
        "delete from log",
        "update log set level = 0.01 where number = 1",
        "update log set slack = 0 where number = 1",
        "update log set level = 1e400 where number = 1",
        "update log set level = 'a' where number = 1",
        "update log set level = -1 where number = 1",
        "update log set law = 'other' where number = 1",
        "update log set event = 'withdrawn' where number = 1",
        "update log set call = x'ff' where number = 1",
        "update log set call = cast(x'ff' as text) where number = 1",
        "update log set number = 9 where number = 5",
        "insert into log select 6, time, 'withdrawn', 1, '', '', '', '', 0.0, 0.0, '', digest"
        " from log where number = 5",
        "update budget set terms = replace(terms, '1.0', '9.0')",
        "update budget set digest = 'a'",
        "update budget set head = digest",
        "delete from budget",
        "insert into budget select * from budget",
        "drop table log",
        "drop table budget",
        "alter table log add column more default 1",
        "alter table log rename column level to size",
        "pragma journal_mode = wal",
    ],
)
def test_what_was_changed_by_other_means_is_noticed(statement: str, path: Path) -> None:
    _small(path)
    running = Budget(path=path)
    right = running.spent
    _sqlite(path, statement)
    kept = path.read_bytes()
    if "rename" not in statement:  # columns are told by their places
        with pytest.raises(BudgetError, match=r"damaged|cannot be used"):
            Budget(path=path)
    assert path.read_bytes() == kept
    # a running process notices as well, or goes on from what it has read before
    with suppress(BudgetError):
        charge(running)
        assert running.spent == right.plus(Privacy(0.1))
    with suppress(BudgetError):
        assert running.spent.squares >= right.squares


def test_an_older_copy_is_noticed_by_a_running_process(path: Path) -> None:
    budget = Budget(mu=1, path=path)
    charge(budget)
    older = path.with_name("older")
    shutil.copy(path, older)
    charge(budget)
    charge(Budget(path=path))
    assert len(budget.entries) == 3
    os.replace(older, path)
    for asked in (lambda: budget.spent, lambda: charge(budget), lambda: repr(budget)):
        with pytest.raises(BudgetError, match="older copy"):
            asked()
    assert len(Budget(path=path).entries) == 1, "a new process cannot know"


def test_a_new_budget_in_its_place_is_noticed_by_a_running_process(path: Path) -> None:
    budget = Budget(mu=1, path=path)
    charge(budget)
    for total in (1, 2):
        path.unlink()
        with pytest.raises(BudgetError, match="cannot be opened"):
            charge(budget)
        Budget(mu=total, path=path)
        with pytest.raises(BudgetError, match="older copy"):
            charge(budget)


def _as_nobody() -> bool:
    return hasattr(os, "getuid") and os.getuid() != 0


@pytest.mark.skipif(not _as_nobody(), reason="for root every file can be written")
def test_a_file_that_cannot_be_written_can_be_looked_at(path: Path) -> None:
    charge(Budget(mu=1, path=path))
    path.chmod(stat.S_IRUSR)
    budget = Budget(path=path)
    assert len(budget.entries) == 1
    with pytest.raises(BudgetError, match="read-only"):
        charge(budget)
    path.chmod(0)
    with pytest.raises(BudgetError, match="cannot be opened"):
        Budget(path=path)


def test_the_error_of_a_ledger_that_is_in_use_for_long_says_so(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpstats.budget.ledger._PATIENCE", 0.05)
    budget = Budget(mu=1, path=path)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(BudgetError, match=r"in use by another process.*nothing is charged"):
            charge(budget)
        assert budget.entries == (), "it can be looked at meanwhile"
    charge(budget)
    assert len(budget.entries) == 1


def test_a_result_that_was_paid_for_is_not_lost_with_its_ledger(path: Path) -> None:
    budget = Budget(mu=1, path=path)

    def blocks() -> list[pd.DataFrame]:
        path.unlink(missing_ok=True)
        return [PRIVATE]

    assert _lm(blocks, budget=budget).privacy.mu == 0.5


def test_any_text_can_be_in_a_call_and_in_a_label(path: Path) -> None:
    odd = "y ~ `a\0b` + '\ud800' + 💧\n\\begin{x} <b> | & % \u202e"
    named = PRIVATE.copy()
    named.attrs["name"] = odd
    for budget in (Budget(mu=1), Budget(mu=1, path=path)):
        charge(budget, call=odd, data=label_of(named))
    for again in (budget, Budget(path=path)):
        (entry,) = again.entries
        assert entry.call == entry.data == odd.replace("\ud800", "\\ud800")
        for form in FORMS[:-1]:
            written(again.table(), form).encode()


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


# -- statements -------------------------------------------------------------------------------------


def test_tidy_has_a_row_for_each_charge() -> None:
    budget = Budget(epsilon=3, delta=1e-6)
    assert budget.tidy().empty
    for cost in (Privacy(0.3), PurePrivacy(0.2), ApproximatePrivacy(0.1, 1e-8)):
        charge(budget, cost)
    tidy = budget.tidy()
    assert tidy.columns.tolist() == [
        "time",
        "call",
        "data",
        "unit",
        "mu",
        "rho",
        "slack",
        "cost",
        "released",
    ]
    assert tidy.slack.tolist() == [0.0, 0.0, 1e-8]
    assert tidy.cost.tolist() == [
        "epsilon = 1.292 at delta = 1e-06",
        "epsilon = 0.2 at delta = 1e-06",
        "epsilon = 0.1 at delta = 1e-06",
    ]
    assert budget.table().to_csv().count("\n") == 4


def _statement(allowance: BudgetTotal, *costs: Total) -> Statement:
    told = ("mean score (2 times); seeded", "", "an answer & more")
    entries = tuple(
        Entry(
            k, f"2024-05-0{k} 09:30:00", f'dp_lm("y ~ x_{k}")', "a.parquet", "", cost, told[k - 1]
        )
        for k, cost in enumerate(costs, start=1)
    )
    spent = Composed()
    for cost in costs:
        spent = spent.plus(cost)
    first = costs[0] if costs else None
    left, caps = allowance.left(spent, first), allowance.caps(first)
    return Statement("study.budget", allowance, PrivacyUnit().text, caps, spent, left, entries)


@cache
def _pages() -> dict[str, Any]:
    mixed = (Privacy(0.5), Privacy(0.3, 2e-6), PurePrivacy(0.4))
    pure = (PurePrivacy(0.5), PurePrivacy(0.25))
    return {
        "budget": statement_page(
            _statement(BudgetTotal("mu", 2.0, slack=1e-5), *mixed), charges=True
        ),
        "budget_pure": statement_page(_statement(BudgetTotal("epsilon", 1.0), *pure), charges=True),
        "budget_unspent": statement_page(
            _statement(BudgetTotal("epsilon", 3.0, 1e-6)), charges=False
        ),
    }


@pytest.mark.parametrize("form", FORMS)
def test_the_statement_is_as_it_was_last_looked_at(form: str) -> None:
    """To renew: python -m tests.budget.test_budget, then read the difference."""
    as_last_looked_at("budget", _pages()["budget"], form)


@pytest.mark.parametrize("name", ["budget_pure", "budget_unspent"])
def test_other_statements_are_as_they_were_last_looked_at(name: str) -> None:
    as_last_looked_at(name, _pages()[name], "text")


def test_print_is_the_statement_without_its_charges() -> None:
    budget = Budget(mu=2)
    charge(budget)
    assert "Charges" not in repr(budget)
    assert repr(budget) == str(budget)
    assert "Charges" in repr(budget.table())
    assert "<table" in budget._repr_html_()
    assert "Spent (1 call)" in repr(budget)


def test_units_are_named() -> None:
    for given in ((2,), (1.0, 1e-5), ("study.budget",)):
        with pytest.raises(ArgumentError, match=r"name the unit of the total, Budget\(mu=2\)"):
            Budget(*given)


def test_a_new_ledger_is_as_open_to_others_as_any_new_file(tmp_path: Path) -> None:
    old = os.umask(0o007)
    try:
        Budget(mu=1, path=tmp_path / "study.budget")
    finally:
        os.umask(old)
    assert (tmp_path / "study.budget").stat().st_mode & 0o777 == 0o660


_CHILD = """
import sys
import pandas as pd
from dpstats import dp_mean
from dpstats.errors import BudgetError
rows = pd.DataFrame({"x": [float(k % 5) for k in range(50)]})
try:
    dp_mean("~ x", rows, rows.head(6), mu=0.3, seed=1)
except BudgetError as error:
    print(error)
"""


def child() -> str:
    """What a process prints that is started now and makes a call."""
    command = [sys.executable, "-c", _CHILD]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.slow
def test_a_process_that_is_started_inside_is_charged(tmp_path: Path) -> None:
    with Budget(mu=1, path=tmp_path / "study.budget") as budget:
        assert child() == ""
    assert budget.spent.mu == pytest.approx(0.3)
    assert len(budget.entries) == 1


@pytest.mark.slow
def test_a_process_that_is_started_outside_is_free_and_beside_a_memory_refused(
    tmp_path: Path,
) -> None:
    with Budget(mu=1, path=tmp_path / "study.budget") as budget:
        pass
    assert child() == ""
    assert budget.entries == ()
    with Budget(mu=1):
        assert "in memory is open in the process that started this one" in child()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="exec is another thing there")
@pytest.mark.parametrize("on_disk", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_program_that_takes_the_place_of_the_process_is_charged(
    on_disk: bool, tmp_path: Path
) -> None:
    """It keeps the number of the process, and did not open what is open; it leaves no note behind."""
    folder = tmp_path / "notes"
    folder.mkdir()
    where = f", path={str(tmp_path / 'study.budget')!r}" if on_disk else ""
    script = f"""
import os, sys
from dpstats import Budget
with Budget(mu=1{where}):
    os.execv(sys.executable, [sys.executable, "-c", {_CHILD!r}])
"""
    command = [sys.executable, "-c", script]
    own = os.environ | {"TMPDIR": str(folder)}
    found = subprocess.run(command, capture_output=True, text=True, check=True, env=own).stdout
    assert list(folder.iterdir()) == []
    if on_disk:
        assert found == ""
        assert Budget(path=tmp_path / "study.budget").spent.mu == pytest.approx(0.3)
    else:
        assert "in memory is open in the process that started this one" in found


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.parametrize("on_disk", [True, False])
def test_a_fork_with_the_number_of_its_parent_is_charged_or_refused(
    on_disk: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a namespace of process numbers of its own."""
    number = os.getpid()
    with Budget(mu=1, path=tmp_path / "study.budget" if on_disk else None) as budget:
        mine = open_mark.identity()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            child = os.fork()
        if not child:
            code = 3
            try:
                monkeypatch.setattr(os, "getpid", lambda: number)
                other = open_mark.identity() != mine and open_mark.marked() is not None
                charge_open(0.4)
                code = 1 if other else 5
            except BudgetError as error:
                code = 2 if "belongs to the process" in str(error) else 4
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == (1 if on_disk else 2)
        assert budget.spent.mu == pytest.approx(0.4 if on_disk else 0.0)
        assert open_mark.marked() is None


def send(pool: ProcessPoolExecutor, mu: float) -> None:
    """A charge in a worker, by a function that every worker can find."""
    pool.submit(charged, None, Privacy(mu), PrivacyUnit(), "f(x)", "").result(timeout=60)


@pytest.mark.parametrize(
    "start", ["fork", *(pytest.param(s, marks=pytest.mark.slow) for s in ("spawn", "forkserver"))]
)
def test_workers_charge_what_is_open_now_however_old_they_are(start: str, tmp_path: Path) -> None:
    if start not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {start} on this system")
    first, second = (Budget(mu=1, path=tmp_path / name) for name in ("first", "second"))
    context = multiprocessing.get_context(start)
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        send(pool, 0.1)  # nothing is open: nobody is charged
        with first:
            send(pool, 0.1)
            with ProcessPoolExecutor(1, mp_context=context) as younger:
                send(younger, 0.1)
                with pytest.raises(BudgetExceeded):
                    send(pool, 1.0)
        with second:
            send(pool, 0.1)
        send(pool, 0.1)
        with Budget(mu=1), pytest.raises(BudgetError, match="in memory is open in the process"):
            send(pool, 0.1)
    assert (len(first.entries), len(second.entries)) == (2, 1)


def in_a_program(script: str) -> str:
    """What a program prints that a worker starts."""
    command = [sys.executable, "-c", script]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="ancestors are not known there")
@pytest.mark.slow
@pytest.mark.parametrize("start", ["fork", "forkserver"])
def test_programs_that_workers_start_charge_what_is_open_now(start: str, tmp_path: Path) -> None:
    if start not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {start} on this system")
    first, second = (Budget(mu=2, path=tmp_path / name) for name in ("first", "second"))
    context = multiprocessing.get_context(start)
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        with first:
            send(pool, 0.1)
            assert pool.submit(in_a_program, _CHILD).result(timeout=60) == ""
        with second:
            assert pool.submit(in_a_program, _CHILD).result(timeout=60) == ""
    assert (len(first.entries), len(second.entries)) == (2, 1)


def test_a_variable_that_no_budget_has_set_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPSTATS_OPEN_BUDGET", "/study.budget")
    with pytest.raises(BudgetError, match="DPSTATS_OPEN_BUDGET is set, and not by an open budget"):
        open_mark.marked()


def test_a_worker_that_was_started_inside_is_charged_to_what_is_open_or_was(tmp_path: Path) -> None:
    if "fork" not in multiprocessing.get_all_start_methods():
        pytest.skip("no fork on this system")
    first, second = (Budget(mu=1, path=tmp_path / name) for name in ("first", "second"))
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        with first:
            send(pool, 0.1)
        send(pool, 0.1)
        with second:
            send(pool, 0.1)
            pool.submit(open_own, str(tmp_path / "own")).result(timeout=60)
    assert (len(first.entries), len(second.entries)) == (2, 1)
    assert len(Budget(path=tmp_path / "own").entries) == 1


def open_own(path: str) -> None:
    with Budget(mu=1, path=path):
        charge_open(0.1)


def test_a_note_of_somebody_else_is_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "away"))
    with pytest.raises(BudgetError, match=r"cannot be written .*budget="), Budget(mu=1):
        pass
    charge_open(0.1)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(open_mark, "worked_for", lambda: 1)
    note = open_mark._note(1)
    assert note.parent == tmp_path
    assert open_mark.marked() is None
    note.write_bytes(open_mark._began(1) + b"\nmine")
    assert open_mark.marked() == "mine"
    if hasattr(os, "getuid"):
        monkeypatch.setattr(os, "getuid", lambda: -1)
        assert open_mark.marked() is None
        monkeypatch.undo()
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        monkeypatch.setattr(open_mark, "worked_for", lambda: 1)
    note.rename(tmp_path / "other")
    note.symlink_to(tmp_path / "other")
    assert open_mark.marked() is None
    note.unlink()
    note.write_bytes(b"of an older process with this number\nmine")
    assert open_mark.marked() is None
    if hasattr(os, "mkfifo"):
        note.unlink()
        os.mkfifo(note)
        assert open_mark.marked() is None


def test_an_inner_program_leaves_the_mark_of_the_outer_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("DPSTATS_OPEN_BUDGET", "1 outer")
    assert open_mark.marked() == "outer"
    with Budget(mu=1):
        charge_open(0.1)
    assert open_mark.marked() == "outer"


def test_audits_do_not_spend_a_budget() -> None:
    with Budget(mu=1) as budget:
        with pytest.raises(BudgetError, match="close it first"):
            dpstats.audit(lambda rows: 0.0, (1, 2), mu=1)
        with pytest.raises(BudgetError, match="close it first"):
            dpstats.audit.worst_neighbours(lambda rows: 0.0, np.zeros(5))
    assert budget.entries == ()


if __name__ == "__main__":
    for page in _pages():
        renew(page, _pages()[page], FORMS if page == "budget" else ("text",))
