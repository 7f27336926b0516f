"""What sorting does to overlapping components is undone from what the cells released."""

import numpy as np
import pytest
from scipy import stats

from dpstats.models.mixture.clustering import Split, nearest
from dpstats.models.mixture.overlap import border_bias, overlap_matters, without_overlap


def cells_of_two(gap: float, weight: float, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Moments of the cells left and right of the middle, of two unit Gaussians in the plane."""
    rng = np.random.default_rng(5)
    right = rng.random(n) < weight
    x = rng.normal(size=(n, 2))
    x[right, 0] += gap
    cell = x[:, 0] > gap / 2
    parts = [x[~cell], x[cell]]
    weights = np.array([len(p) / n for p in parts])
    return (
        weights,
        np.array([p.mean(axis=0) for p in parts]),
        np.array([np.cov(p.T) for p in parts]),
    )


@pytest.mark.parametrize(("gap", "weight"), [(3.0, 0.5), (4.0, 0.3), (5.0, 0.5)])
def test_components_come_back_from_their_cells(gap: float, weight: float) -> None:
    split = Split(0, nearest(np.array([[0.0, 0.0], [gap, 0.0]]), np.zeros(2), np.ones(2)), (0, 1))
    n = 400_000
    cells = cells_of_two(gap, weight, n)
    found = without_overlap((split,), *cells)
    assert found is not None
    tolerance = 8 / np.sqrt(n * weight)  # far beyond 1e-6
    assert np.abs(found[0] - [1 - weight, weight]).max() < tolerance
    assert np.abs(found[1] - [[0, 0], [gap, 0]]).max() < 2 * tolerance
    assert np.abs(found[2] - np.eye(2)).max() < 4 * tolerance


def test_cells_that_no_mixture_leaves_are_left_alone() -> None:
    """One component was split in two, and one of the halves has a far component with it."""
    split = Split(0, nearest(np.array([[-1.0], [1.5]]), np.zeros(1), np.ones(1)), (0, 1))
    rng = np.random.default_rng(2)
    x = rng.normal(size=100_000) + 10 * (rng.uniform(size=100_000) < 0.1)
    parts = [x[x <= 0.25], x[x > 0.25]]
    weights = np.array([len(p) / len(x) for p in parts])
    means = np.array([[p.mean()] for p in parts])
    assert without_overlap((split,), weights, means, np.array([[[p.var()]] for p in parts])) is None


def test_the_bias_of_a_border_is_that_of_its_integral() -> None:
    for gap in (2.0, 4.0, 6.0):
        half = gap / 2
        rows = np.linspace(-12, half, 200_001)
        density = stats.norm.pdf(rows) + stats.norm.pdf(rows - gap)
        mean = np.trapezoid(rows * density, rows) / np.trapezoid(density, rows)
        assert -mean == pytest.approx(border_bias(gap), rel=1e-4)


def test_far_components_are_left_alone() -> None:
    assert not overlap_matters(None, 1e9)
    assert not overlap_matters(8.0, 1e5)
    assert overlap_matters(4.0, 1e4)
