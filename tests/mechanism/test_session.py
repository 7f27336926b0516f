"""A call spends its total and no more."""

import math

import numpy as np
import pytest

from dpstats.mechanism.linear_session import LinearSession
from dpstats.mechanism.noise import SeededNoise
from dpstats.mechanism.privacy import Privacy
from tests.mechanism.sources import Arrays


def _session(mu: float = 1.0) -> LinearSession:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, 2))
    source = Arrays(x, x @ [1.0, 2.0] + rng.normal(size=500))
    return LinearSession(source, np.eye(2), np.zeros(2), Privacy(mu), SeededNoise(1))


def test_costs_add_up_to_the_total() -> None:
    with _session(0.8) as s:
        s.length_histogram(0.1, -8, 16)
        s.gram(0.2, 4.0)
        s.score(0.3, np.zeros(2), 4.0, 4.0)
        s.final_score((s.left - 0.1, 0.05, 0.05), np.zeros(2), 4.0, 4.0, 4.0)
    assert math.sqrt(sum(r.cost.mu**2 for r in s.releases)) == pytest.approx(0.8)
    assert all(r.noise_sd == pytest.approx(r.sensitivity / r.cost.mu) for r in s.releases)


def test_overspending_is_refused_before_reading() -> None:
    with _session() as s:
        s.gram(0.9, 4.0)
        before = len(s.releases)
        s._rows.score_sums = None  # type: ignore[assignment,method-assign]  # reading would fail
        with pytest.raises(ValueError, match="exceed"):
            s.score(0.2, np.zeros(2), 4.0, 4.0)
        assert len(s.releases) == before


@pytest.mark.parametrize("share", [0.0, -0.1, math.nan])
def test_a_share_must_be_positive(share: float) -> None:
    with _session() as s, pytest.raises(ValueError, match="exceed"):
        s.gram(share, 4.0)
