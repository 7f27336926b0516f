"""What the released outer products of scores become before errors are computed from them."""

import math

import numpy as np
import pytest

from dpstats.numerics.matrices import shrink_second_moment
from dpstats.score_rounds.rounds import shrunk_meat


@pytest.mark.parametrize(("d", "spike"), [(6, 3.0), (20, 3.0), (20, 10.0), (10, 0.0)])
def test_a_direction_with_a_variance_of_its_own_keeps_it(d: int, spike: float) -> None:
    """As the rows of a rare level have: shrunk like the others, its errors would be too small."""
    rng, sd = np.random.default_rng(d), 0.15
    before, after, along = [], [], []
    for _ in range(200):
        noise = rng.normal(size=(d, d)) * sd / math.sqrt(2)
        noise = np.triu(noise, 1) + np.triu(noise, 1).T + np.diag(rng.normal(size=d) * sd)
        u = rng.normal(size=d)
        u /= np.linalg.norm(u)
        truth = np.eye(d) + spike * np.outer(u, u)
        used = shrunk_meat(truth + noise, sd, np.eye(d), 1.0)
        plain = shrink_second_moment(truth + noise, sd).used
        before.append(((plain - truth) ** 2).sum())
        after.append(((used - truth) ** 2).sum())
        along.append(u @ used @ u / (1 + spike))
        assert np.linalg.eigvalsh(used - plain)[0] > -1e-9  # no error gets smaller
    assert np.mean(after) <= (1.0 if spike else 1.15) * np.mean(before)
    assert 0.95 < np.mean(along) < 1.05
