"""What the released outer products of scores become before errors are computed from them."""

import math

import numpy as np
import pytest

from dpstats.numerics.matrices import shrink_second_moment
from dpstats.score_rounds.solution import shrunk_meat


@pytest.mark.parametrize(("d", "spike"), [(6, 3.0), (20, 3.0), (20, 10.0), (10, 0.0)])
def test_a_direction_with_a_variance_of_its_own_keeps_it(d: int, spike: float) -> None:
    """As the rows of a rare level have: shrunk like the others, its errors would be too small."""
    rng, sd = np.random.default_rng(d), 0.15
    before, after, along, others = [], [], [], []
    for _ in range(200):
        noise = rng.normal(size=(d, d)) * sd / math.sqrt(2)
        noise = np.triu(noise, 1) + np.triu(noise, 1).T + np.diag(rng.normal(size=d) * sd)
        asked = rng.normal(size=(d, d))
        u = asked[0] / np.linalg.norm(asked[0])
        truth = np.eye(d) + spike * np.outer(u, u)
        used = shrunk_meat(truth + noise, sd, np.eye(d), 1.0, asked)
        plain = shrink_second_moment(truth + noise, sd).used
        before.append(((plain - truth) ** 2).sum())
        after.append(((used - truth) ** 2).sum())
        along.append(u @ used @ u / (1 + spike))
        variances = [np.einsum("ij,jk,ik->i", asked, m, asked)[1:] for m in (used, truth)]
        others.append((variances[0] / variances[1]).mean())
        assert np.linalg.eigvalsh(used - plain)[0] > -1e-9  # no error gets smaller
    if spike:
        assert np.mean(after) <= np.mean(before)
    assert 0.95 < np.mean(along) < 1.05
    # and where there is nothing to keep, next to nothing is added
    assert 0.95 < np.mean(others) < 1.05
