"""Hostile calls of every public function: a result, or an error that shows nothing private.

What a hostile call is, and what is looked for: `tests.fuzzing`.
`python -m tests.benchmarks.fuzz --cases 50000` runs as many as asked.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

import dpstats
from dpstats.errors import ArgumentError, PlanWarning
from tests.fuzzing import running
from tests.fuzzing.calls import ALONE, FUNCTIONS, Case, Change, cases
from tests.fuzzing.running import Outcome, run, smaller

_FEW = {"eptr_bayes": 4, "eptr_nw": 4, "dp_mixture": 4, "plot": 2, "plan_glm": 4}
"""Fewer cases of those whose plans take long."""
_USUAL = 4
_SETTINGS = settings(
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)


def _besides_time(outcome: Outcome) -> list[str]:
    """How long a case takes is for `python -m tests.benchmarks.fuzz`: machines are busy."""
    return [what for what in outcome.findings if not what.endswith(" seconds")]


def _check(function: str, examples: int, *before: Change) -> None:
    @settings(_SETTINGS, max_examples=examples)
    @given(cases(function, *before))
    def one(case: Case) -> None:
        found = _besides_time(run(case))
        assert not found, "\n".join(found)

    one()


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_hostile_call_ends_in_a_result_or_in_an_error_of_the_package(function: str) -> None:
    _check(function, _FEW.get(function, _USUAL))


@pytest.mark.parametrize("function", ["dp_lm", "dp_glm"])
def test_so_does_one_without_public_rows(function: str) -> None:
    outcome = run(Case(function, ALONE))
    assert outcome.kind == "result", outcome.message
    _check(function, _USUAL, *ALONE)


@pytest.mark.slow
@pytest.mark.parametrize("function", FUNCTIONS)
def test_many_hostile_calls(function: str) -> None:
    _check(function, 9 * _FEW.get(function, _USUAL))


@pytest.mark.slow
@pytest.mark.parametrize("function", ["dp_lm", "dp_glm"])
def test_many_hostile_calls_without_public_rows(function: str) -> None:
    _check(function, 9 * _USUAL, *ALONE)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_plain_call_has_a_result(function: str) -> None:
    outcome = run(Case(function))
    assert outcome.kind == "result", outcome.message
    assert _besides_time(outcome) == []


def _saying(data: Any) -> None:
    raise ArgumentError(f"y holds {data['y'][0]}")


def _chaining(data: Any) -> None:
    try:
        _saying(data)
    except ArgumentError as error:
        raise ArgumentError("no") from error


def _warning(data: Any) -> None:
    warnings.warn(f"y holds {data['y'][0]}", PlanWarning, stacklevel=1)


def _complaining(data: Any) -> None:
    warnings.warn("careful", RuntimeWarning, stacklevel=1)


def _failing(data: Any) -> None:
    raise KeyError("y")


def _depending(data: Any) -> None:
    if data["y"].isna().any():
        raise ArgumentError("no")


def _burning(data: Any) -> None:
    end = time.process_time() + 0.3
    while time.process_time() < end:
        pass


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (_saying, "a private value shows in error"),
        (_chaining, "a private value shows in error"),
        (_warning, "a private value shows in warning"),
        (_complaining, "RuntimeWarning"),
        (_failing, "KeyError"),
        (_depending, "depends on private values"),
        (_burning, "seconds"),
    ],
)
def test_what_is_looked_for_is_found(
    monkeypatch: pytest.MonkeyPatch, bad: Callable[[Any], None], said: str
) -> None:
    monkeypatch.setattr(running, "SECONDS", 0.2)
    monkeypatch.setattr(dpstats, "dp_lm", lambda formula, data, public, **_: bad(data))
    assert any(said in found for found in run(Case("dp_lm")).findings)


def test_an_example_keeps_the_changes_that_it_needs() -> None:
    changes = (Change("eta", 0.1), Change("mu", -1.0), Change("data.n", 5))
    case = smaller(Case("dp_lm", changes), lambda outcome: outcome.kind == "PrivacyError")
    assert case == Case("dp_lm", (Change("mu", -1.0),))
