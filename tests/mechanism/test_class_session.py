"""What a test of class sizes assumes of neighbours holds for the rows that the session makes."""

import numpy as np
import pytest

from dpstats.mechanism.class_session import ClassSession, CountLevels
from dpstats.mechanism.privacy import ApproximatePrivacy
from dpstats.mechanism.ptr import plan_release
from tests.mechanism.sources import Arrays, NonPrivateSilence

_BUDGET = 1.0, 1e-2


def _tested(radius: float, scale: float, last: float) -> tuple[np.ndarray, float]:
    """Scaled priors and means without noise, and their claimed sensitivity."""
    x = np.zeros((400, 4))
    x[:200, 0] = x[200:, 1] = x[:, 2] = 1.0
    x[-1, 2] = last
    levels = CountLevels.up_to(150, radius, scale, 400)
    plan = plan_release(levels.levels, *_BUDGET, target=levels.target)
    with ClassSession(
        Arrays(x, np.zeros(400)),
        np.eye(2),
        np.zeros((2, 2)),
        radius,
        ApproximatePrivacy(*_BUDGET),
        NonPrivateSilence(),
    ) as session:
        tested = session.tested_means(plan, levels, scale)[0]
    return tested.release.value, tested.release.sensitivity


@pytest.mark.parametrize(
    ("radius", "scale"),
    [(1.0, 1.0), (2.0**-190, 1e-62), (1e-70, 1e-75), (1e70, 1e60)],
)
def test_tested_means_move_by_what_was_planned_for_a_radius_of_any_size(
    radius: float, scale: float
) -> None:
    (one, claimed), (two, _) = (_tested(radius, scale, last) for last in (1e10, -1e10))
    assert np.linalg.norm(one - two) <= claimed
