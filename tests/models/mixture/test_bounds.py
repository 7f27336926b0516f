"""Bounds for mixtures hold in simulation, and the rates solve the paper's formulas."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from dpstats.models.gaussian.bounds import ReleasedMoments, error_law
from dpstats.models.mixture.bounds import (
    MixtureFacts,
    clean_separation,
    component_errors,
    mixture_bounds,
    papers_mixture_rate,
)


def _mixture(**changes: object) -> MixtureFacts:
    one = ReleasedMoments(15_000, (1.0,) * 4, 2e-3, 1e-3)
    base = MixtureFacts(
        n=30_000,
        d=4,
        m=200,
        eta=0.05,
        rho=0.5,
        epsilon=None,
        gamma=0.0,
        k=2,
        public_clusters=True,
        least_weight=0.25,
        components=(one, replace(one, n=14_990)),
        counts=(15_003.0, 14_990.0),
        counts_sd=(10.0, 10.0),
        weights=(0.5, 0.5),
        fewest_public=90,
        separation=30.0,
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def test_alpha_is_the_largest_of_distances_and_scaled_weights() -> None:
    first, second, weight, alpha = component_errors(_mixture())
    assert first.value == error_law(_mixture().components[0], 0.05 / 4).distance
    assert alpha.value == max(first.value, second.value, 2 * weight.value)
    assert alpha.probability == pytest.approx(0.95)
    assert weight.probability == pytest.approx(0.975)
    assert first.probability == pytest.approx(1 - 0.05 / 4)
    assert component_errors(_mixture(counts_sd=(1e9, 1e9)))[-1].value == 1.0


@pytest.mark.slow
def test_weights_are_covered() -> None:
    truth, n, sd, runs = np.array([0.1, 0.3, 0.6]), 2000, 15.0, 250
    rng, missed, errors = np.random.default_rng(8), 0, []
    one = ReleasedMoments(600, (1.0,), 0.01, 0.01)
    for _ in range(runs):
        counts = rng.multinomial(n, truth) + rng.normal(size=3) * sd
        weights = counts / counts.sum()
        facts = _mixture(
            n=n, d=1, k=3, components=(one,) * 3, counts=tuple(counts), counts_sd=(sd,) * 3,
            weights=tuple(weights),
        )  # fmt: skip
        bound = component_errors(facts)[3]
        error = np.abs(weights - truth).max()
        missed += error > bound.value
        errors.append(error)
    assert missed <= stats.binom.isf(1e-7, runs, 0.025)
    assert bound.value < 4 * np.median(errors)


def test_weights_of_empty_and_full_components() -> None:
    bounds = component_errors(_mixture(counts=(-20.0, 30_040.0), weights=(0.0, 1.0)))
    assert 0 < bounds[2].value < 0.01


def test_a_clean_partition_needs_distance() -> None:
    needed = clean_separation(_mixture())
    for separation, met in ((needed + 0.1, True), (needed - 0.1, False), (None, None)):
        premises = component_errors(_mixture(separation=separation))[-1].premises
        assert premises[-1].met is met
    rng = np.random.default_rng(9)  # two components in the plane, their centres from 90 rows each
    n, far = 15_000, np.array([needed, 0.0])
    for _ in range(20):
        near, away = rng.normal(size=(2, 2)) / math.sqrt(90)
        rows = rng.normal(size=(n, 2))
        ours = ((rows - near) ** 2).sum(axis=1)
        theirs = ((rows - far - away) ** 2).sum(axis=1)
        assert (ours < theirs).all()


@pytest.mark.parametrize(
    ("changes", "source", "strength"),
    [
        ({}, "Theorem 1.6", math.sqrt(0.5)),
        ({"public_clusters": False}, "Theorem 1.4", math.sqrt(0.5)),
    ],
)
def test_mixture_theorems_are_solved_for_alpha(
    changes: dict[str, object], source: str, strength: float
) -> None:
    facts = _mixture(**changes)
    rate = papers_mixture_rate(facts)
    a = rate.value
    rows = 16 / (0.25 * a**2) + 16 / (0.25 * a * strength)
    rows += 0.0 if facts.public_clusters else 4**1.5 * 2**2.5 / strength
    assert rows == pytest.approx(30_000)
    assert rate.source == source
    assert [p.met for p in rate.premises] == [None, True, True, None, True]


def test_mixture_premises() -> None:
    few = papers_mixture_rate(_mixture(m=30, separation=2.0)).premises
    assert [p.met for p in few[1:3]] == [False, False]
    assert "overlap" in mixture_bounds(_mixture())[4].statement
    assert mixture_bounds(_mixture(overlap=0.01))[4].value == 0.01
    assert len(mixture_bounds(_mixture(separation=None))) == 5
