"""Every public function with every method of it, as calls that a test can make: the one list of them.

Rows and options are those of the audits (`tests.audits.adversaries`); so a new model that has its
setups there is in all of these tests. An estimator of one's own, whose data may be anything, is added.
"""

from __future__ import annotations

import inspect
import types
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpstats
from dpstats import Budget
from dpstats.errors import PlanWarning
from tests.audits.adversaries import setups
from tests.audits.adversaries.neighbours import PRIVATE_SEED, PUBLIC_SEED, Setup

BUDGETS = ("mu", "rho", "epsilon", "delta")


@dataclass(frozen=True)
class Call:
    """A call that has a result.

    Attributes
    ----------
    function, method : str
        The method as the report names it.
    table : DataFrame
        Its private rows.
    options : mapping
        Budget and method, and what is public.
    before, after : tuple
        What is given by position before the table and after it.
    """

    function: str
    method: str
    table: pd.DataFrame = field(repr=False)
    options: Mapping[str, Any] = field(repr=False)
    before: tuple[Any, ...] = ()
    after: tuple[Any, ...] = ()

    def __call__(self, data: Any = None, **more: Any) -> Any:
        """The result, with seed 1 where no other is given; plans that promise little are no news."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PlanWarning)
            return self.made(self.table if data is None else data, **more)

    def made(self, data: Any, **more: Any) -> Any:
        """The same with all that it warns of."""
        options = {"seed": 1, **self.options, **more}
        return self.target(*self.before, data, *self.after, **options)

    @property
    def target(self) -> Callable[..., Any]:
        return getattr(dpstats, self.function)

    @property
    def asked(self) -> dict[str, float]:
        """mu, rho, epsilon and delta as they are given."""
        return {unit: self.options[unit] for unit in BUDGETS if unit in self.options}

    @property
    def takes(self) -> set[str]:
        """The names of what it can be given."""
        return set(inspect.signature(self.target).parameters)

    def budget(self, **total: Any) -> Budget:
        """A budget that protects whom the call protects."""
        return Budget(person=self.options.get("person"), **total)

    def in_blocks(self, made: Callable[[], list[pd.DataFrame]]) -> Any:
        """A table that comes in blocks, as this function takes it."""
        return types.SimpleNamespace(blocks=made) if self.function == "eptr" else made


def _listed(setup: Setup) -> Call:
    """With as many rows as a test needs for a third of its total."""
    options, n = dict(setup.options), setup.many or setup.n
    if "delta" in options:
        options["epsilon"] = 2.0 if setup.method == "paper" else 6.0  # its proof ends there
    options["public"] = setup.rows(setup.m, PUBLIC_SEED) if setup.m else None
    table = setup.rows(n, PRIVATE_SEED)
    return Call(setup.function, setup.method, table, options, before=(setup.formula,))


def _read(data: Any) -> pd.DataFrame:
    return pd.concat(data.blocks()) if hasattr(data, "blocks") else data


def _mean(data: Any) -> float:
    return float(np.clip(np.nan_to_num(_read(data).y), 0, 1).mean())


def _size(data: Any) -> int:
    return len(_read(data))


def _own(calibration: str) -> Call:
    rows = pd.DataFrame({"y": [0.0, 1.0] * 200})
    options = {"epsilon": 2.0, "delta": 0.01, "calibration": calibration}
    return Call("eptr", calibration, rows, options, after=(_mean, _size, 0.1))


CALLS: dict[str, Call] = {
    f"{call.function}, {call.method}": call
    for call in (*map(_listed, setups()), *map(_own, ("gdp", "dp", "paper")))
}
FUNCTIONS: dict[str, str] = {call.function: name for name, call in reversed(CALLS.items())}
"""A method of every function, the one that is listed first."""

OPENED = [
    *FUNCTIONS.values(),
    "dp_lm, anchored, alone",
    "dp_glm, anchored, alone, binomial",
]
"""These, and those that learn from the table itself what columns it has."""

every_method = pytest.mark.parametrize("name", CALLS)
every_function = pytest.mark.parametrize("name", OPENED)

TABLES = [name for name, call in CALLS.items() if call.function != "eptr"]
"""Those whose rows are read by the package, rather than by functions of the user."""
