"""What tests of budgets call: a linear model, a mean, and a charge without a call."""

from __future__ import annotations

from typing import Any

from dpstats import Budget, dp_lm, dp_mean
from dpstats.accounting.privacy import Privacy, Total
from dpstats.accounting.unit import PrivacyUnit
from dpstats.budget.charge import charged
from dpstats.datasets import fair

PUBLIC, PRIVATE = (table.assign(affair=table.affairs > 0) for table in fair())
FORMULA = "rate_marriage ~ age"


def lm(data: Any = PRIVATE, **options: Any) -> Any:
    return dp_lm(FORMULA, data, PUBLIC, **{"mu": 0.5, "seed": 1} | options)


def mean(data: Any, **options: Any) -> Any:
    return dp_mean("~ age", data, PUBLIC, **{"mu": 0.5, "seed": 1} | options)


def charge(budget: Budget, cost: Total | float = 0.1, **options: Any) -> None:
    """A charge as calls make it, without a call."""
    cost = Privacy(cost) if isinstance(cost, float) else cost
    told = {"unit": PrivacyUnit(), "call": "f(x)", "data": ""} | options
    charged(budget, cost, told["unit"], told["call"], told["data"])
