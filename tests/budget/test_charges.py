"""What every method of every function is charged: for persons, and when something goes wrong.

The calls are those of `tests.contracts.calls`.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from scipy import special

from dpstats import Budget
from dpstats.accounting.privacy import Privacy, PurePrivacy
from dpstats.accounting.unit import PrivacyUnit
from dpstats.errors import (
    ArgumentError,
    PassError,
    PlanWarning,
    PrivacyError,
    PublicDataError,
    SchemaError,
)
from dpstats.frame import Design, open_rows
from dpstats.mechanism.conditional import release_if_safe
from dpstats.mechanism.session import Session
from dpstats.report.privacy import PrivacyStatement
from tests.contracts.calls import CALLS, OPENED, TABLES, every_function, every_method

_PERSONS = 3


def _budget(name: str, rows: int = 1) -> Budget:
    return CALLS[name].budget(mu=50, slack=0.5, rows_per_person=rows)


def _unit(name: str) -> PrivacyUnit:
    """Persons with so many rows, whose rows are one term of every sum where a column names them."""
    return PrivacyUnit.of(_PERSONS, CALLS[name].options.get("person"), jointly=True)


@cache
def _fitted(name: str, rows: int) -> tuple[Any, Any]:
    """What a call was charged for persons with so many rows, and its result."""
    budget = _budget(name, rows)
    fit = CALLS[name](budget=budget, rows_per_person=rows)
    (entry,) = budget.entries
    return entry, fit


def _delta(cost: Any, epsilon: float) -> float:
    """What a cost means at this epsilon, by the curve of the Gaussian mechanism."""
    if not isinstance(cost, Privacy):
        assert cost.at <= epsilon
        return float(cost.slack)
    ends = (cost.mu / 2 - epsilon / cost.mu, -cost.mu / 2 - epsilon / cost.mu)
    inside, outside = special.ndtr(ends)
    return float(cost.slack + inside - math.exp(epsilon) * outside)


# -- persons ----------------------------------------------------------------------------------------


@every_method
def test_persons_are_charged_the_total_and_rows_are_noised_for_it(name: str) -> None:
    (entry, fit), asked = _fitted(name, _PERSONS), CALLS[name].asked
    cost, stated = entry.cost, fit.privacy.total

    # what the call was given is what the ledger says, for a person, and what the result says
    if "mu" in asked:
        assert isinstance(cost, Privacy)
        assert cost.mu == pytest.approx(asked["mu"], rel=1e-12)
    elif "delta" not in asked:
        assert isinstance(cost, PurePrivacy)
        assert cost.at == pytest.approx(asked["epsilon"], rel=1e-12)
    else:
        delta = _delta(cost, asked["epsilon"])
        assert cost.delta(asked["epsilon"]) == pytest.approx(delta, rel=1e-6)
        assert 0.999 * asked["delta"] < delta <= asked["delta"] * (1 + 1e-9)
    assert entry.unit == _unit(name).text
    assert fit.privacy.protected == _unit(name)
    assert type(stated) is type(cost)
    for said, written in zip(vars(stated).values(), vars(cost).values(), strict=True):
        assert said == pytest.approx(written, rel=1e-12)

    # the noise is three times that of a row at the same total
    for line in fit.privacy.spent:
        if isinstance(cost, Privacy) and "passes" not in line.released:
            per_row = cost.mu / _unit(name).times
            of_one = line.sensitivity / (per_row * math.sqrt(line.share))
            assert line.noise_sd == pytest.approx(of_one, rel=1e-9)
    assert sum(line.share for line in fit.privacy.spent) < 1 + 1e-9 or math.isnan(cost.mu)


@every_method
def test_the_noise_of_persons_is_three_times_that_of_rows(name: str) -> None:
    """Of every release: noise for the same share of the total and for the same sensitivity."""
    sizes = []
    for rows in (1, _PERSONS):
        _, fit = _fitted(name, rows)
        pure = isinstance(fit.privacy.total, PurePrivacy)
        lines: dict[str, float] = {}
        for line in fit.privacy.spent:
            share = line.share if pure else math.sqrt(line.share)
            whole = 1.0 if line.released.endswith("passes") else share
            lines.setdefault(line.released, line.noise_sd * whole / line.sensitivity)
        sizes.append(lines)
    row, person = sizes
    times = _unit(name).times
    assert set(row) & set(person)
    for released in set(row) & set(person):
        least = times * (1 - 1e-4)
        assert person[released] >= least * row[released], released
        if not (released.endswith("passes") or fit.privacy.total.slack):
            assert person[released] == pytest.approx(times * row[released], rel=1e-3)


# -- errors -----------------------------------------------------------------------------------------

_ERRORS = (ArgumentError, PlanWarning, PublicDataError, PassError, ValueError, KeyboardInterrupt)
every_error = pytest.mark.parametrize("kind", _ERRORS)


def _raising(
    error: BaseException, original: Callable[..., Any] | None = None
) -> Callable[..., Any]:
    """What raises, after it has done what it should."""

    def raises(*given: Any, **named: Any) -> Any:
        if original is not None:
            original(*given, **named)
        raise error

    return raises


@every_method
def test_an_error_after_the_first_release_leaves_the_charge(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _require_charged_after_a_release(name, ArgumentError, monkeypatch)


@every_error
@every_function
def test_any_error_after_the_first_release_leaves_the_charge(
    name: str, kind: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    _require_charged_after_a_release(name, kind, monkeypatch)


def _require_charged_after_a_release(
    name: str, kind: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    budget, error = _budget(name), kind("after")
    monkeypatch.setattr(Session, "_record", _raising(error, Session._record))
    place = "dpstats.models.eptr_own.releases.release_if_safe"
    monkeypatch.setattr(place, _raising(error, release_if_safe))
    with pytest.raises(kind) as stopped:
        CALLS[name](budget=budget)
    (entry,) = budget.entries
    assert entry.released == ""
    if kind is KeyboardInterrupt:
        assert stopped.value.__notes__ == [f"{entry.call} stays charged to its budget."]


@every_error
@every_function
def test_an_error_after_the_last_release_leaves_the_charge(
    name: str, kind: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    budget = _budget(name)
    monkeypatch.setattr(PrivacyStatement, "of", _raising(kind("after")))
    with pytest.raises(kind):
        CALLS[name](budget=budget)
    (entry,) = budget.entries
    assert entry.released == ""


@pytest.mark.parametrize("kind", [ArgumentError, SchemaError, PlanWarning, PassError])
@pytest.mark.parametrize("name", [name for name in OPENED if name in TABLES])
def test_what_is_refused_before_anything_is_read_is_not_charged(
    name: str, kind: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pass that fails is no such refusal: whatever it says, it has begun to read."""
    budget, table, rows_of = _budget(name), object(), open_rows

    def rows(design: Design, data: Any, *given: Any, **named: Any) -> Any:
        if data is table:
            assert len(budget.entries) == 1, "charged before the table is looked at"
            raise kind("before")
        return rows_of(design, data, *given, **named)

    for place in ("open_rows", "private_design"):
        monkeypatch.setattr(f"dpstats.call.{place}", rows)
    with pytest.raises(kind):
        CALLS[name](table, budget=budget)
    assert len(budget.entries) == (kind is PassError)
    assert (budget.spent.squares > 0) == (kind is PassError)


@pytest.mark.parametrize("kind", ["gdp", "dp", "paper"])
def test_an_estimator_is_charged_when_its_plan_is_made(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    budget = Budget(mu=50, slack=0.5)
    for plan in ("plan_test", "papers_plan"):
        monkeypatch.setattr(
            sys.modules["dpstats.models.eptr_own.eptr"], plan, _raising(PrivacyError("before"))
        )
    with pytest.raises(PrivacyError):
        CALLS[f"eptr, {kind}"](budget=budget)
    assert budget.entries == ()
