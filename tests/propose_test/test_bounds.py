"""The three parts of the theorem are numbers that hold, and say when they are none."""

import math

import numpy as np
import pytest
from scipy import stats

from dpstats.propose_test.bounds import SOURCE, clipping_bias, decomposition, noise_radius


@pytest.mark.parametrize("size", [1, 3, 20])
def test_the_noise_has_the_size_and_radius_that_are_said(size: int) -> None:
    # 20000 draws: five standard errors
    noise = 0.7 * np.random.default_rng(size).normal(size=(20_000, size))
    square = (noise**2).sum(axis=1)
    second = decomposition("l2", None, size, 0.7, None, None)[1]
    assert square.mean() == pytest.approx(second.value, abs=5 * square.std() / math.sqrt(20_000))
    assert second.value == pytest.approx(size * 0.49)
    assert second.probability is None
    radius = noise_radius(size, 0.7, 0.05, "l2")
    assert radius.probability == pytest.approx(0.95)
    beyond = int((np.sqrt(square) > radius.value).sum())
    low, high = stats.binom.ppf([1e-7, 1 - 1e-7], 20_000, 0.05)
    assert low <= beyond <= high
    assert noise_radius(size, 0.7, 0.01, "l2").value > radius.value


def test_what_is_not_known_is_infinite() -> None:
    first, _, third = decomposition("l2", None, 1, 1.0, None, 1e-3)
    assert first.value == third.value == math.inf
    assert decomposition("l2", 0.3, 1, 1.0, None, 1e-3)[0].value == 0.3
    assert clipping_bias(None, "l2").value == math.inf


def test_no_reply_costs_its_distance_times_its_probability() -> None:
    found = decomposition("l2", None, 1, 1.0, 4.0, 1e-3)[2]
    assert found.value == pytest.approx(4e-3)
    assert found.premises[0].met is None
    for probability in (None, 0.0):
        never = decomposition("l2", None, 1, 1.0, 4.0, probability)[2]
        assert never.value == 0
        assert "never refuses" in never.statement
        assert never.premises == ()


def test_every_bound_names_its_source_kind_and_norm() -> None:
    bounds = [
        noise_radius(2, 1.0, 0.05, "l2"),
        *decomposition("l2", 1.0, 2, 1.0, 1.0, 0.1),
        clipping_bias(1.0, "l2"),
    ]
    assert {b.norm for b in bounds} == {"l2"}
    assert [b.kind for b in bounds] == ["bound"] * 4 + ["rate"]
    assert [b.source for b in bounds].count(SOURCE) == 3
    assert [b.statement.split(" ")[0] for b in bounds[1:4]] == ["(I)", "(II)", "(III)"]
