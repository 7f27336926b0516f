"""What a budget refuses, and what its messages say."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from dpstats import (
    Budget,
    BudgetExceeded,
    dp_feols,
    dp_glm,
    dp_lm,
    dp_mvnorm,
    eptr_bayes,
    eptr_lm,
    eptr_nw,
)
from dpstats.accounting.privacy import ApproximatePrivacy, Privacy, PurePrivacy, Total
from dpstats.errors import ArgumentError, BudgetError, PrivacyError
from tests.budget.cases import PRIVATE, PUBLIC, charge, lm, mean


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
            "for calls with epsilon alone: dp_mean and dp_mvnorm; regressions need a delta too.",
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
        lm(mu=math.sqrt(0.5))
        lm(mu=math.sqrt(0.5))
        with pytest.raises(BudgetExceeded) as refused:
            lm(mu=1e-3)
    assert budget.remaining.mu == refused.value.remaining.mu == 0
    assert budget.spent.mu == pytest.approx(1)


def test_where_epsilons_add_up_a_gaussian_call_counts_as_it_was_stated() -> None:
    budget = Budget(epsilon=2, delta=1e-5)
    charge(budget, ApproximatePrivacy(0.5, 1e-6))
    lm(mu=None, epsilon=0.5, delta=2e-6, budget=budget)
    assert budget.entries[1].cost == ApproximatePrivacy(0.5, 2e-6)
    assert budget.remaining == ApproximatePrivacy(1.0, pytest.approx(7e-6))
    lm(mu=0.1, budget=budget)
    assert budget.entries[2].cost.at == pytest.approx(Privacy(0.1).epsilon(1e-6))
    with pytest.raises(BudgetExceeded, match=r"asks for epsilon = 0\.7 at delta = 1e-06, and"):
        lm(mu=None, epsilon=0.7, delta=1e-6, budget=budget)
    with pytest.raises(BudgetExceeded, match=r"Its delta adds 7e-06 .* 6e-06 is left"):
        lm(mu=None, epsilon=0.1, delta=7e-6, budget=budget)
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
            lm(budget=wrong)


_MORE = PRIVATE.assign(who=np.arange(len(PRIVATE)) // 2, kind=np.where(PRIVATE.affair, "a", "b"))
_KINDS = {"age": (10, 60), "kind": ["a", "b"], "(norm)": 2}
_FORMULA, _LIMITS = (
    "educ ~ age + religious",
    {"age": (10, 60), "religious": (1, 4), "educ": (5, 20)},
)
_CALLS: dict[str, Callable[..., Any]] = {
    "dp_lm": partial(dp_lm, _FORMULA, PRIVATE, PUBLIC),
    "dp_lm, persons": partial(dp_lm, _FORMULA, _MORE, PUBLIC, person="who"),
    "dp_lm, pmt": partial(dp_lm, _FORMULA, PRIVATE, PUBLIC, method="pmt"),
    "dp_lm, ssp": partial(dp_lm, _FORMULA, PRIVATE, method="ssp", limits=_LIMITS),
    "dp_glm": partial(dp_glm, "affair ~ age", PRIVATE, PUBLIC),
    "dp_glm, pmt": partial(dp_glm, "affair ~ age", PRIVATE, PUBLIC, method="pmt"),
    "dp_feols": partial(dp_feols, "educ ~ 1 | age ~ religious", PRIVATE, PUBLIC),
    "eptr_lm, adassp": partial(eptr_lm, _FORMULA, PRIVATE, PUBLIC, method="adassp"),
    "eptr_bayes": partial(eptr_bayes, "affair ~ age + educ", PRIVATE, PUBLIC),
    "eptr_bayes, alone": partial(
        eptr_bayes, "kind ~ age", _MORE, limits={"age": (10, 60), "kind": ["a", "b"]}
    ),
    "eptr_bayes, radius": partial(eptr_bayes, "kind ~ age", _MORE, limits=_KINDS),
    "eptr_nw": partial(eptr_nw, "educ ~ age", PRIVATE, PUBLIC),
    "dp_mvnorm, paper": partial(dp_mvnorm, ["age", "educ"], PRIVATE, PUBLIC, method="paper"),
}


@pytest.mark.filterwarnings("ignore::dpstats.errors.PlanWarning")
@pytest.mark.parametrize(
    ("name", "many"),
    [pytest.param(name, 13, id=name) for name in _CALLS]
    + [pytest.param(name, 33, id=f"{name}, finer", marks=pytest.mark.slow) for name in _CALLS],
)
def test_a_total_whose_noise_is_too_large_is_refused_before_it_is_charged(
    name: str, many: int
) -> None:
    refused = []
    for mu in np.geomspace(1e-9, 0.1, many):
        budget = Budget(mu=1, person="who" if "persons" in name else None)
        try:
            _CALLS[name](mu=float(mu), budget=budget, seed=1)
        except PrivacyError:
            assert not budget.entries
            refused.append(mu)
    assert 0 < len(refused) < many


@pytest.mark.filterwarnings("ignore::dpstats.errors.PlanWarning")
def test_what_pays_for_noise_with_a_delta_is_refused_before_it_is_charged() -> None:
    refused = []
    for delta in (1e-300, 1e-30, 1e-6, 1e-3):
        budget = Budget(epsilon=1, delta=0.1)
        try:
            eptr_lm(_FORMULA, PRIVATE, PUBLIC, epsilon=0.05, delta=delta, budget=budget, seed=1)
        except PrivacyError:
            assert not budget.entries
            refused.append(delta)
    assert refused
    assert 1e-3 not in refused
    for epsilon in np.geomspace(1e-6, 1, 7):
        budget = Budget(epsilon=10)
        try:
            _CALLS["dp_mvnorm, paper"](epsilon=float(epsilon), budget=budget, seed=1)
        except PrivacyError:
            assert not budget.entries


def test_a_budget_of_persons_takes_no_call_for_rows() -> None:
    budget = Budget(mu=2, rows_per_person=3)
    with pytest.raises(BudgetError, match="rows_per_person=3"):
        lm(budget=budget)
    with pytest.raises(BudgetError, match="rows_per_person=3"):
        lm(budget=budget, rows_per_person=2)
    assert budget.entries == ()
    lm(budget=budget, rows_per_person=3)
    lm(budget=budget, rows_per_person=5)
    assert budget.spent.squares == 0.5
    assert "nobody has more than 3 rows" in " ".join(repr(budget).split())


def test_a_budget_knows_whom_a_column_names() -> None:
    table = PRIVATE.assign(who=np.arange(len(PRIVATE)) // 3, doctor=1)
    rows, persons = Budget(mu=9), Budget(mu=9, rows_per_person=2, person="who")
    # a row that goes from one person to another moves two: one row per person is too little
    with pytest.raises(BudgetError, match=r"person='who', or, .* add rows_per_person=2 "):
        mean(table, budget=rows, person="who")
    mean(table, budget=rows, person="who", rows_per_person=2)
    # where a person's rows are one term, no number of them is enough: two persons change
    with pytest.raises(BudgetError, match=r"two persons.*Open the budget with person='who'"):
        lm(table, budget=rows, person="who", rows_per_person=2)
    for options in ({}, {"person": "doctor", "rows_per_person": 9}, {"rows_per_person": 9}):
        with pytest.raises(BudgetError, match="persons named by `who`"):
            lm(table, budget=persons, **options)
    with pytest.raises(BudgetError, match=r"Add person='who' to the call\."):
        lm(table, budget=Budget(mu=9, person="who"))
    with pytest.raises(BudgetError, match="rows_per_person=2"):
        lm(table, budget=persons, person="who", rows_per_person=1)
    lm(table, budget=persons, person="who", rows_per_person=2)
    lm(table, budget=persons, person="who")  # with any number of rows
    assert (len(rows.entries), len(persons.entries)) == (1, 2)
    assert "calls use at least the first 2 rows of each `who`" in " ".join(repr(persons).split())


def test_units_are_named() -> None:
    for given in ((2,), (1.0, 1e-5), ("study.budget",)):
        with pytest.raises(ArgumentError, match=r"name the unit of the total, Budget\(mu=2\)"):
            Budget(*given)
