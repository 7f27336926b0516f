"""What cuts take off scores that are known to be there."""

import numpy as np
import pytest

from dpstats.score_rounds.cuts import loss_of_long_rows, most_of
from dpstats.score_rounds.tails import Tail


def test_long_rows_lose_what_normal_residuals_say() -> None:
    rng = np.random.default_rng(1)
    tail = Tail(np.array([5.99, 6.01]), np.array([0.03, 0.0]))
    scores = 6 * np.abs(rng.normal(size=1_000_000)) * 0.5
    at = np.array([0.0, 2.0, 4.0, 8.0])
    expected = [0.03 * np.maximum(scores - cut, 0).mean() for cut in at]
    assert loss_of_long_rows(tail, 0.5)(at) == pytest.approx(expected, abs=2e-4)
    assert loss_of_long_rows(tail, 0.5, 0.1)(at) == pytest.approx(
        np.multiply(0.1, expected), abs=2e-5
    )


def test_of_several_losses_the_largest_counts_at_every_cut() -> None:
    lost = most_of(lambda cut: 1.0 - cut, lambda cut: 0.5 + 0 * cut)
    assert lost(np.array([0.0, 0.4, 0.9])).tolist() == [1.0, 0.6, 0.5]


def test_rows_that_no_float_could_square_lose_nothing_to_far_cuts() -> None:
    tail = Tail(np.array([1e-200, 2e-200]), np.array([0.5, 0.0]))
    assert loss_of_long_rows(tail, 1e-200)(np.array([1.0, 1e300])).tolist() == [0.0, 0.0]
