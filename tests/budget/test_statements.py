"""The pages of a budget: its statement and table."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from dpstats import Budget
from dpstats.accounting.composition import BudgetTotal, Composed
from dpstats.accounting.privacy import ApproximatePrivacy, Privacy, PurePrivacy, Total
from dpstats.accounting.unit import PrivacyUnit
from dpstats.budget.page import Entry, Statement, statement_page
from tests.budget.cases import charge
from tests.report.snapshots import FORMS, as_last_looked_at, renew


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


if __name__ == "__main__":
    for page in _pages():
        renew(page, _pages()[page], FORMS if page == "budget" else ("text",))
