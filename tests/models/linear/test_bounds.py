"""The rates are the papers' formulas, and their premises switch."""

import math

import numpy as np
import pytest

from dpstats.models.linear.bounds import (
    LinearFacts,
    estimator_error,
    estimator_error_private_only,
    inverse_moment,
    linear_bounds,
    moment_noise,
    whitened_second_moment,
)
from tests.score_rounds.systems import noisy_system


def _facts(**changes: float) -> LinearFacts:
    d = 4
    base = {"n": 10_000, "d": d, "m": 100, "mu": 1.0, "eta": 0.05, "ridge": 0.0}
    return LinearFacts(**base | changes, public=np.eye(d), released=2 * np.eye(d), coef=np.ones(d))  # type: ignore[arg-type]


def test_rates_are_the_formulas_of_the_papers() -> None:
    facts = _facts()
    log_n = 1 + math.log(2 * 10_000 / 0.05)
    expected = math.sqrt(4**3 * math.log(8 / 0.05)) * log_n / (1 / math.sqrt(2) * 10_000)
    assert moment_noise(facts)[0].value == pytest.approx(expected)
    ols = 4**1.5 * math.log(20) * log_n / (math.sqrt(0.25) * 10_000)
    assert moment_noise(facts)[1].value == pytest.approx(ols)
    low = 100 / (10 + 2 + math.sqrt(math.log(20))) ** 2
    sample = 1 - math.sqrt(4 / 10_000) - math.sqrt(math.log(20) / 10_000)
    floor = low**2 * sample**4
    assert inverse_moment(facts).value == pytest.approx(expected / floor)
    assert estimator_error(facts).value == pytest.approx(expected * 2 * 2 / floor)
    high = 100 / (10 - 2 - math.sqrt(math.log(20))) ** 2
    assert whitened_second_moment(facts)[0].value == pytest.approx(high / low)


def test_premises_are_said_to_fail_when_they_do() -> None:
    assert all(p.met is False for p in estimator_error(_facts(n=50)).premises[1:2])
    assert estimator_error(_facts(m=5)).premises[0].met is False
    assert estimator_error(_facts(m=None)).premises[0].met is None  # type: ignore[arg-type]
    singular = LinearFacts(1000, 2, 10, 1.0, 0.05, 0.0, np.eye(2), np.diag([1.0, -0.1]), np.ones(2))
    assert estimator_error_private_only(singular).value == math.inf


def test_every_bound_names_its_source_and_kind() -> None:
    system, _ = noisy_system(np.random.default_rng(0), 4, True)
    bounds = linear_bounds(_facts(), system)
    assert {b.kind for b in bounds} == {"bound", "rate", "simulated", "identity"}
    sources = " ".join(b.source for b in bounds)
    for theorem in ("Theorem 4", "Theorem 5", "Theorem 6", "Theorem 7", "Theorem 8"):
        assert f"ridge paper, {theorem}" in sources
    for theorem in ("Theorem 1", "Theorem 2", "Theorem 3", "Theorem 4"):
        assert f"OLS paper, {theorem}" in sources
