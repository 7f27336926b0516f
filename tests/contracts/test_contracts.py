"""What every function asks before it reads, and what every result does, whatever was fitted."""

from __future__ import annotations

import dataclasses
import inspect
import math
import pickle
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpstats
from dpstats import Budget, BudgetExceeded
from dpstats.accounting.composition import Composed
from dpstats.accounting.unit import PrivacyUnit
from dpstats.errors import ArgumentError, DPStatsError, NotReleasedError, PrivacyError
from dpstats.score_rounds.result import Model
from tests.conftest import SECRETS, Silent
from tests.contracts.calls import (
    BUDGETS,
    CALLS,
    FUNCTIONS,
    OPENED,
    TABLES,
    every_function,
    every_method,
)
from tests.contracts.held import held_rows
from tests.report.snapshots import FORMS, written

# -- a result of rows that hold what must not be seen ------------------------------------------------

_DIGITS, _WORD = "918273", "secretlevel-918273"
_NUMBERS = (*SECRETS, math.nan, math.inf, -math.inf)
"""What stands in a column of numbers."""


@cache
def _secret(name: str) -> pd.DataFrame:
    """The rows of a call, some of them as bad as rows can be."""
    table = CALLS[name].table.copy()
    for k, column in enumerate(table):
        if pd.api.types.is_numeric_dtype(table[column]):
            bad: tuple[Any, ...] = _NUMBERS
        else:
            bad, table[column] = (_WORD, None), table[column].astype(object)
        for at, value in enumerate(bad):
            table.loc[k + 2 * at, column] = value
    return table


@cache
def _seen(name: str) -> tuple[Any, Budget]:
    """The result of such rows, and the budget that it was charged to."""
    budget = CALLS[name].budget(mu=50, slack=0.5)
    with np.errstate(all="raise"):  # as careful users set it: an error would come after the charge
        return CALLS[name](_secret(name), budget=budget), budget


def _result(name: str) -> Any:
    return _seen(name)[0]


def _pages(found: Any) -> dict[str, str]:
    """All that can be read of a result."""
    page = found.summary()
    texts = {form: written(page, form) for form in FORMS}
    texts |= {"str": str(page), "repr": repr(found), "notebook": found._repr_html_()}
    return texts | ({"json": found.to_json()} if hasattr(found, "to_json") else {})


@cache
def _pages_of(name: str) -> dict[str, str]:
    """All that can be read of the result of a call."""
    return _pages(_result(name))


def _answers(found: Any) -> Iterator[tuple[str, Any]]:
    """Every attribute, and what every method says that needs no argument."""
    for name in dir(type(found)) + list(vars(found)):
        if name.startswith("_") or "plot" in name:
            continue
        try:
            value = getattr(found, name)
            if inspect.ismethod(value):
                value = value()
        except (DPStatsError, TypeError):  # what needs rows, or an argument
            continue
        yield name, value


@every_method
def test_a_result_is_silent_of_its_rows(name: str, silent: Silent) -> None:
    """No warning but of a plan, nothing printed or logged, nothing private in any form or answer."""
    found = silent(lambda: CALLS[name].made(_secret(name)))
    assert not [what for what, value in _answers(found) if _DIGITS in str(value)]


@every_method
def test_a_result_holds_no_rows_and_travels(name: str) -> None:
    found, rows = _result(name), len(CALLS[name].table)
    assert held_rows(found, rows) == []
    again = pickle.loads(pickle.dumps(found))
    assert type(again) is type(found)
    assert _pages(again) == _pages_of(name)
    assert repr(again.privacy) == repr(found.privacy)
    assert again.glance().equals(found.glance())
    assert len(pickle.dumps(found)) < 60_000


@every_method
def test_pages_render(name: str) -> None:
    found, pages = _result(name), _pages_of(name)
    assert f"{CALLS[name].function}(" in pages["repr"]
    assert "<table" in pages["notebook"]
    assert "\\toprule" in pages["latex"]
    assert "|" in pages["markdown"]
    for text in pages.values():
        assert text
    assert len(found.glance()) == 1
    if isinstance(found, Model):  # how many rows can be used is private
        assert found.nobs == found.estimate.n
    else:
        assert found.nobs in (len(CALLS[name].table), None)


_ELSEWHERE = ("anova", "offset", "pickle")
"""What hints begin with that is no attribute of a result."""


def _names_only_what_it_has(found: Any) -> None:
    has = {*dir(found), *_ELSEWHERE}
    for name, hint in found._other_names.items():
        if name in dir(found):  # another kind of result needs the hint
            continue
        with pytest.raises(AttributeError, match=re.escape(hint)):
            getattr(found, name)
        named = re.findall(r"(?:^|fit\.|, or |, and )(\w+)(?:$|[(.,:])", hint)
        assert named, (name, hint)
        assert has.issuperset(named), (name, hint)
        for table, column in re.findall(r"(tidy|glance)\(\)(?:\.|: )(\w+)", hint):
            assert column in getattr(found, table)(), (name, hint)


@every_method
def test_a_hint_names_only_what_that_result_has(name: str) -> None:
    found = _result(name)
    _names_only_what_it_has(found)
    for rows in ("resid", "aic"):
        with pytest.raises(NotReleasedError) as caught:
            getattr(found, rows)
        for method in re.findall(r"(\w+)\(", str(caught.value)):
            assert hasattr(found, "update" if method == "anova" else method)


def test_a_hint_of_averages_over_private_rows_names_only_what_they_have() -> None:
    call = CALLS["dp_lm, anchored"]
    fit = call(seed=4)  # of forty rows; noise leaves it errors
    averages = fit.predictions(data=call.table, mu=50, seed=1)
    _names_only_what_it_has(averages)
    with pytest.raises(NotReleasedError, match=r"rows themselves\. diagnostics"):
        _ = averages.resid


@every_method
def test_a_result_is_frozen(name: str) -> None:
    """No attribute can be set, and tables that it answers with are copies, or cannot be written to."""
    found = pickle.loads(pickle.dumps(_result(name)))
    before = _pages(found)
    for attribute in [*(f.name for f in dataclasses.fields(found)), "other"]:
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(found, attribute, 3)
    for _, value in _answers(found):
        if isinstance(value, pd.Series | pd.DataFrame):
            for numbers in (value.to_numpy(), *(value[k].to_numpy() for k in _columns(value))):
                if numbers.flags.writeable:
                    numbers[...] = 99
    assert _pages(found) == before


def _columns(table: pd.Series | pd.DataFrame) -> list[Any]:
    return list(table.columns) if isinstance(table, pd.DataFrame) else []


@every_function
def test_a_seed_repeats_and_says_so_and_no_seed_does_neither(name: str) -> None:
    """What is drawn without a seed is another number each time."""
    call = CALLS[name]
    first, again, other = (_pages(call(seed=seed)) for seed in (1, 1, 2))
    secure = [call(seed=None) for _ in range(2)]
    assert first == again
    assert first["csv"] != other["csv"]
    for form in ("str", "repr", "notebook", "markdown", "html"):
        assert "seeded: not for release" in first[form].replace("\n", " ")
    assert call().glance().seeded[0]
    assert not secure[0].glance().seeded[0]
    assert _pages(secure[0])["csv"] != _pages(secure[1])["csv"]
    assert not [form for form, text in _pages(secure[0]).items() if "seeded: not" in text]


# -- charges ------------------------------------------------------------------------------------------


def test_every_function_is_listed() -> None:
    names = {name for name in dpstats.__all__ if name.startswith(("dp_", "eptr"))}
    assert names == set(FUNCTIONS)


@every_method
def test_a_charge_is_what_the_result_states(name: str) -> None:
    fit, budget = _seen(name)
    (entry,) = budget.entries
    for said in (entry.cost, fit.privacy):
        assert said.mu == pytest.approx(entry.cost.mu, nan_ok=True, rel=1e-12)
        assert said.rho == pytest.approx(entry.cost.rho, nan_ok=True, rel=1e-12)
    for delta in (1e-2, 1e-3, 1e-5, 1e-6):
        assert fit.privacy.epsilon(delta) == pytest.approx(entry.cost.epsilon(delta), rel=1e-9)
    for epsilon in (0.0, 0.3, 1.0, 2.0):
        assert fit.privacy.delta(epsilon) == pytest.approx(entry.cost.delta(epsilon), rel=1e-9)
    assert entry.call == fit.call
    person = CALLS[name].options.get("person")
    assert entry.unit == PrivacyUnit.of(None, person, jointly=True).text
    assert entry.released.endswith("seeded")
    assert all(line.released in entry.released for line in fit.privacy.spent)


@every_method
def test_any_unit_of_the_budget_is_the_total(name: str) -> None:
    call = CALLS[name]
    if set(call.asked) == {"mu"}:
        rho = call(**{"mu": None, "rho": call.asked["mu"] ** 2 / 2})
        assert rho.privacy.mu == pytest.approx(call.asked["mu"])
        assert rho.privacy.slack == 0
        both = call(**{"mu": None, "epsilon": 2.0, "delta": 1e-6})
        assert both.privacy.epsilon(1e-6) == pytest.approx(2, rel=1e-6)
        assert "at delta = 1e-06" in both.privacy.line()
    elif "delta" in call.asked:
        found = call().privacy
        assert found.epsilon(call.asked["delta"]) == pytest.approx(call.asked["epsilon"], rel=1e-3)
        assert f"at delta = {call.asked['delta']:g}" in found.line()
    else:
        assert call().privacy.epsilon(1e-9) == pytest.approx(call.asked["epsilon"], rel=1e-6)


@every_function
def test_the_charge_is_in_the_file_before_the_data_are_touched(name: str, tmp_path: Path) -> None:
    path, call, found = tmp_path / "study.budget", CALLS[name], []
    half = len(call.table) // 2

    def blocks() -> list[pd.DataFrame]:
        found.append(len(Budget(path=path).entries))
        return [call.table[:half], call.table[half:]]

    with Budget(mu=50, slack=0.5, path=path) as budget:
        call(call.in_blocks(blocks))
    assert found
    assert set(found) == {1}
    assert len(budget.entries) == 1


class _Unread:
    """Stands where data are given and fails when anything looks at it."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"the private rows were touched: {name}")

    def __len__(self) -> int:
        raise AssertionError("the private rows were touched")


@every_function
def test_a_refused_call_touches_no_data_and_charges_nothing(name: str) -> None:
    for budget in (Budget(mu=0.01), Budget(rho=1e-4), Budget(epsilon=0.01, delta=1e-9)):
        with budget, pytest.raises(BudgetExceeded):
            CALLS[name](_Unread())
        assert budget.entries == ()
        with pytest.raises(BudgetExceeded):
            CALLS[name](_Unread(), budget=budget)
        assert budget.spent == Composed()


@every_method
def test_what_is_asked_of_a_result_costs_nothing(name: str) -> None:
    found = _result(name)
    with Budget(mu=50) as budget:
        asked = [what for what, _ in _answers(found)]
        _pages(found)
    assert {"privacy", "summary", "bounds", "diagnostics", "glance", "tidy"} <= set(asked)
    assert budget.entries == ()


# -- what is refused ----------------------------------------------------------------------------------

_NO_NUMBERS = (0, -1, math.nan, math.inf, True, "1", [1.0])
_BUDGETS: list[dict[str, Any]] = [
    {},
    {"delta": 1e-5},
    {"mu": 1, "rho": 1},
    {"mu": 1, "epsilon": 1, "delta": 1e-5},
    *({unit: value} for unit in ("mu", "rho") for value in _NO_NUMBERS),
    *({"epsilon": value, "delta": 1e-5} for value in _NO_NUMBERS),
    *({"epsilon": 1, "delta": value} for value in (*_NO_NUMBERS, 1, 2)),
]
_ARGUMENTS: list[tuple[str, Any, type[Exception]]] = [
    *(("seed", value, ArgumentError) for value in (-1, 1.5, "a", True, [1], math.nan)),
    *(("eta", value, ArgumentError) for value in (0, 1, -1, math.nan, "a", None)),
    *(("method", value, ArgumentError) for value in ("magic", 3, ["paper"], {})),
    *(("calibration", value, ArgumentError) for value in ("magic", 3, None, ["gdp"])),
    *(("rows_per_person", value, ArgumentError) for value in (0, -1, 1.5, "a", math.nan)),
    *(("budget", value, ArgumentError) for value in ("1", 1.0, {})),
    *(("limits", value, ArgumentError) for value in ([0, 1], 3)),
]


def _shown(value: Any) -> str:
    return str(value).replace("'", "") or "nothing"


@pytest.mark.parametrize("budget", _BUDGETS, ids=_shown)
@every_function
def test_what_is_no_budget_is_refused_before_a_row_is_read(
    name: str, budget: dict[str, Any]
) -> None:
    call = CALLS[name]
    if set(budget) <= call.takes:
        given = {unit: None for unit in BUDGETS if unit in call.takes} | budget
        with Budget(mu=50, slack=0.5) as open_budget, pytest.raises(PrivacyError) as caught:
            call(_Unread(), **given)
        assert not budget or any(unit in str(caught.value) for unit in budget)
        assert open_budget.entries == ()


@pytest.mark.parametrize(("argument", "value", "kind"), _ARGUMENTS, ids=_shown)
@every_function
def test_bad_arguments_are_refused_before_a_row_is_read(
    name: str, argument: str, value: Any, kind: type[Exception]
) -> None:
    call = CALLS[name]
    if argument in call.takes:
        with Budget(mu=50, slack=0.5) as budget, pytest.raises(kind) as caught:
            call(_Unread(), **{argument: value})
        assert type(caught.value) is kind
        assert argument in str(caught.value)
        assert budget.entries == ()


_FACTS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "a column is missing": lambda table: table.iloc[:, 1:],
    "another column is missing": lambda table: table.iloc[:, :-1],
    "all columns are missing": lambda table: table[[]],
    "no rows": lambda table: table.head(0),
    "a column twice": lambda table: pd.concat([table, table.iloc[:, :1]], axis=1),
    "words for numbers": lambda table: table.assign(**{_number(table): "secret"}),
    "times for numbers": lambda table: table.assign(**{_number(table): pd.Timestamp(0)}),
    "an array": lambda table: table.to_numpy(),
    "a list of numbers": lambda table: [1, 2, 3],
    "nothing": lambda table: [],
    "a number": lambda table: 7,
    "a function that gives no table": lambda table: lambda: 7,
    "no such file": lambda table: "/there/is/no/such.parquet",
    "rows that can be read once": lambda table: iter([table]),
}
"""What is known of a table before a value of it is read."""


def _number(table: pd.DataFrame) -> str:
    return next(str(k) for k in table if pd.api.types.is_numeric_dtype(table[k]))


@pytest.mark.parametrize("fact", _FACTS)
@pytest.mark.parametrize("name", [name for name in OPENED if name in TABLES])
def test_what_is_no_such_table_is_refused_by_its_schema(name: str, fact: str) -> None:
    """No value is looked at or said, and nothing is charged."""
    with Budget(mu=50, slack=0.5) as budget, pytest.raises(DPStatsError) as caught:
        CALLS[name](_FACTS[fact](CALLS[name].table))
    assert "secret" not in str(caught.value)
    assert budget.entries == ()
    assert budget.spent == Composed()
