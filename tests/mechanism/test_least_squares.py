"""What a test assumes of neighbours holds for the rows and solutions that the session makes."""

import numpy as np
import pytest

from dpstats.mechanism.least_squares import EigenvalueLevels, LeastSquaresSession, Limits
from dpstats.mechanism.privacy import ApproximatePrivacy
from dpstats.mechanism.ptr import plan_release
from tests.mechanism.sources import Arrays, NonPrivateSilence

_BUDGET = 1.0, 1e-2


def _tested(limits: Limits, last: tuple[float, float, float]) -> tuple[np.ndarray, float, float]:
    """The solution that a tested release adds noise to, its noise and its claimed sensitivity."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(1000, 2)), rng.normal(size=1000)
    x[-1], y[-1] = last[:2], last[2]
    levels = EigenvalueLevels.below(50.0 * limits.radius**2, 1000, 2, limits)
    assert levels is not None
    plan = plan_release(levels.levels, *_BUDGET, target=levels.target)
    with LeastSquaresSession(
        Arrays(x, y),
        np.eye(2),
        np.zeros(2),
        limits,
        ApproximatePrivacy(*_BUDGET),
        NonPrivateSilence(),
    ) as session:
        release = session.tested_solution(plan, levels).release
    return release.value, release.noise_sd, release.sensitivity


@pytest.mark.parametrize(
    "limits",
    [
        Limits(1.0, 1.0, 1.0),
        Limits(1.0, 2.0**-190, 2.0**-190),
        Limits(1.0, 1e-70, 1e-70),
        Limits(1.0, 1e-140, 1e-140),
        Limits(1.0, 1e70, 1e70),
    ],
)
def test_a_tested_solution_moves_by_what_was_planned_for_limits_of_any_size(limits: Limits) -> None:
    (one, sd, claimed), (two, _, _) = (_tested(limits, (0.7, 0.7, y)) for y in (1e80, -1e80))
    assert np.linalg.norm(one - two) <= claimed
    assert sd >= claimed / 2


@pytest.mark.parametrize("radius", [1.0, 2.0**-190, 1e-61, 1e-62])
def test_levels_of_neighbours_differ_by_one_at_most_for_a_radius_of_any_size(radius: float) -> None:
    limits = Limits(radius, 1.0, 1.0)
    cut = limits.radius
    levels = EigenvalueLevels.below(300 * cut**2, 1000, 1, limits)
    assert levels is not None
    found = []
    for last in (1.0, 0.0):
        x = np.zeros((1000, 1))
        x[:299], x[-1] = 1.0, last
        with LeastSquaresSession(
            Arrays(x, np.zeros(1000)),
            np.eye(1),
            np.zeros(1),
            limits,
            ApproximatePrivacy(*_BUDGET),
            NonPrivateSilence(),
        ) as session:
            found.append(levels.at(session._solved()[1]))
    assert abs(found[0] - found[1]) <= 1
