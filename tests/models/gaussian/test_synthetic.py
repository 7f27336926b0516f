"""Synthetic rows have the law they are drawn from, whatever its shape."""

import numpy as np
import pytest
from scipy import stats

from dpstats.errors import ArgumentError
from dpstats.models.gaussian.synthetic import check_size, draw_mixture, draw_normal

_N = 50_000


@pytest.mark.parametrize("size", [1, 7, np.int64(3)])
def test_a_size_is_a_whole_number_of_rows(size: int) -> None:
    assert check_size(size) == size
    assert type(check_size(size)) is int


@pytest.mark.parametrize("size", [0, -1, 2.0, True, "3", None, np.float64(2)])
def test_other_sizes_are_refused(size: object) -> None:
    with pytest.raises(ArgumentError, match="number of rows to draw"):
        check_size(size)


@pytest.mark.parametrize("scale", [np.ones(3), np.array([1e-90, 1.0, 1e90])])
def test_normal_rows_have_mean_and_covariance(scale: np.ndarray) -> None:
    # whitened rows: 3 means and 6 second moments at 6 standard deviations, 2e-8 in all
    root = np.array([[1.0, 0.9, 0.2], [0.0, 0.5, -0.3], [0.0, 0.0, 0.1]])
    shape, mean = root.T @ root, np.array([3.0, -1.0, 0.5])
    rows = draw_normal(_N, mean * scale, shape * np.outer(scale, scale), 1)
    z = (rows / scale - mean) @ np.linalg.inv(root)
    assert rows.shape == (_N, 3)
    assert np.abs(z.mean(axis=0)).max() < 6 / np.sqrt(_N)
    assert np.abs(z.T @ z / _N - np.eye(3)).max() < 6 * np.sqrt(2 / _N)
    assert all(stats.kstest(z[:, j], "norm").pvalue > 1e-8 for j in range(3))


def test_a_seed_repeats_and_none_does_not() -> None:
    mean, covariance = np.zeros(2), np.eye(2)
    assert (draw_normal(5, mean, covariance, 3) == draw_normal(5, mean, covariance, 3)).all()
    assert (draw_normal(5, mean, covariance, 3) != draw_normal(5, mean, covariance, 4)).any()
    assert (draw_normal(5, mean, covariance, None) != draw_normal(5, mean, covariance, None)).any()


@pytest.mark.parametrize("small", [1e-12, 1e-15, 0.0])
def test_nearly_singular_covariances_are_drawn_from(small: float) -> None:
    covariance = np.array([[1.0, 1.0], [1.0, 1.0 + small]])
    rows = draw_normal(1000, np.zeros(2), covariance, 1)
    assert np.isfinite(rows).all()
    assert np.abs(rows[:, 0] - rows[:, 1]).max() < 1e-4


def test_mixtures_have_weights_and_components_in_random_order() -> None:
    weights = np.array([0.6, 0.3, 0.1, 0.0])
    means = np.array([[0.0], [100.0], [-100.0], [1e6]])
    covariances = np.array([[[1.0]], [[4.0]], [[0.01]], [[1.0]]])
    rows, component = draw_mixture(_N, weights, means, covariances, 2)
    share = np.bincount(component, minlength=4) / _N
    # six standard deviations of each share
    assert (np.abs(share - weights) <= 6 * np.sqrt(weights * (1 - weights) / _N)).all()
    for j in range(3):
        mine = rows[component == j, 0]
        sd = np.sqrt(covariances[j, 0, 0])
        assert abs(mine.mean() - means[j, 0]) < 6 * sd / np.sqrt(len(mine))
        assert abs(mine.std() / sd - 1) < 6 / np.sqrt(2 * len(mine))
    changes = np.count_nonzero(np.diff(component)) / _N
    assert changes == pytest.approx(1 - (weights**2).sum(), abs=0.02)


def test_weights_need_not_sum_to_one() -> None:
    means, covariances = np.zeros((2, 1)), np.ones((2, 1, 1))
    _, once = draw_mixture(100, np.array([0.5, 0.5]), means, covariances, 1)
    _, twice = draw_mixture(100, np.array([3.0, 3.0]), means, covariances, 1)
    assert (once == twice).all()


def test_few_rows_may_leave_a_component_out() -> None:
    rows, component = draw_mixture(
        1, np.full(5, 0.2), np.zeros((5, 2)), np.stack([np.eye(2)] * 5), 1
    )
    assert rows.shape == (1, 2)
    assert component.shape == (1,)
