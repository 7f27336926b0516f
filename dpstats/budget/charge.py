"""The charge of a call: written to its budget before rows are read, with what was released after.

Nothing here sees a private value.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from types import FunctionType
from typing import Any, Literal, TypeVar

import pandas as pd

from dpstats.accounting.privacy import ApproximatePrivacy, Total
from dpstats.accounting.unit import PrivacyUnit
from dpstats.arguments import is_path, shown
from dpstats.budget.budget import Budget, open_budget
from dpstats.budget.ledger import ChargeRequest
from dpstats.errors import (
    STAYS_CHARGED,
    ArgumentError,
    BudgetError,
    DPStatsError,
    PassError,
    PlanWarning,
    PrivacyError,
    charged_call,
    note_charge,
)
from dpstats.report.released import Released

_R = TypeVar("_R", bound=Released)


class Charge:
    """A charge that was written for a call; without a budget, nothing.

    A call tells it how its checks ended that come before a private row is read: what is refused there
    for public reasons is not charged. (A reading that fails is no public reason.)
    """

    def __init__(self, budget: Budget | None, number: int = 0) -> None:
        self._budget = budget
        self._number = number

    def ended(self, error: BaseException | None) -> None:
        """The checks have ended, with an error or without."""
        # a warning about the plan is an error where a user has turned warnings into errors
        if isinstance(error, PassError):
            if self._budget is not None:
                error.args = (f"{error}{STAYS_CHARGED}",)
        elif isinstance(error, DPStatsError | PlanWarning):
            self._note("withdrawn")
        if error is not None:
            note_charge(error)

    def released(self, result: _R) -> _R:
        """Write what was released beside the charge; the result."""
        counts = Counter(line.released for line in result.privacy.spent)
        text = "; ".join(f"{what} ({n} times)" if n > 1 else what for what, n in counts.items())
        self._note("released", text + ("; seeded" if result.privacy.seeded else ""))
        charged_call.set("")
        return result

    def _note(self, event: Literal["released", "withdrawn"], text: str = "") -> None:
        if self._budget is not None:
            # the charge stands in any case, and a result that was paid for is not lost
            with suppress(BudgetError):
                self._budget._note(self._number, event, text)


def charged(
    budget: Any,
    cost: Total,
    unit: PrivacyUnit,
    call: str,
    label: str,
    stated: tuple[float | None, float | None] = (None, None),
) -> Charge:
    """Charge a call to its budget, or to the one that is open, before its data are touched.

    ``stated``: epsilon and delta, if the call was given both.

    Raises
    ------
    BudgetExceeded
        If the budget does not allow it.
    """
    if budget is None:
        budget = open_budget()
    elif not isinstance(budget, Budget):
        raise ArgumentError(
            f"budget must be a dpstats.Budget, such as Budget(mu=2), not {shown(budget)}."
        )
    charged_call.set("")
    if budget is None:
        return Charge(None)
    epsilon, delta = stated
    both = None
    if epsilon is not None and delta is not None:
        both = ApproximatePrivacy(float(epsilon), float(delta))
    number = budget._charge(ChargeRequest(call, label, unit.text, cost, both), unit)
    charged_call.set(call)
    return Charge(budget, number)


@contextmanager
def naming_budget(given: Mapping[str, float | None], budget: Any) -> Iterator[None]:
    """Where a call has a budget and no total, say that the one does not stand for the other."""
    try:
        yield
    except PrivacyError as error:
        has_budget = budget is not None or open_budget() is not None
        if has_budget and all(v is None for v in given.values()):
            error.args = (f"{error} A budget does not say how much of it a call may spend.",)
        raise


def require_no_budget() -> None:
    """An audit runs its release many times, on test data: no study should pay for that."""
    if open_budget() is not None:
        raise BudgetError(
            "an audit runs its release many times on test data, and a budget is open that would be "
            "charged each time: close it first."
        )


def label_of(data: Any, reads_paths: bool = True) -> str:
    """The label of data in a ledger: a path, the name in a table's attrs, or its kind; never a row.

    Texts are paths only where the function that is called takes them for such.
    """
    if is_path(data) and reads_paths:
        return str(os.fspath(data))
    if reads_paths and isinstance(data, list | tuple) and data and all(map(is_path, data)):
        return f"{len(data)} paths"
    named = data.attrs.get("name") if isinstance(data, pd.DataFrame) else None
    if isinstance(named, str):
        return named
    if isinstance(data, FunctionType):
        return f"{data.__name__}()"
    library = type(data).__module__.partition(".")[0]
    return ("" if library == "builtins" else f"{library} ") + type(data).__qualname__
