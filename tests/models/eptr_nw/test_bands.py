"""Intervals of curves: biases, local scales, what was cut."""

import numpy as np
import pytest
from scipy import stats

from dpstats.models.eptr_nw.bands import (
    Cover,
    Scale,
    beyond_cut,
    beyond_range,
    critical,
    seen,
    sharpened,
    smoothing_bias,
)
from dpstats.models.eptr_nw.planning import Residuals, Side
from dpstats.score_rounds.tails import Tail

_LENGTHS = np.linspace(0.01, 12, 600)
_SIDE = Side(0.5, 0.0, 1.645, Tail(_LENGTHS, 2 * stats.norm.sf(_LENGTHS)))
_NORMAL = Residuals(_SIDE, _SIDE, 1.645)


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_critical_values_are_quantiles_of_a_folded_normal(level: float) -> None:
    bias = np.array([0.0, 0.1, 1.0, 4.0, 40.0])
    found = critical(bias, level)
    assert stats.foldnorm.cdf(found, bias) == pytest.approx(level, abs=1e-9)
    assert found[0] == pytest.approx(stats.norm.isf((1 - level) / 2))


def test_mass_is_seen_where_it_stands_out() -> None:
    assert seen(np.array([0.4, 3.0, 20.0, -5.0]), 1.0).tolist() == [False, True, True, False]
    assert seen(np.array([0.4, 0.6]), 0.0).tolist() == [False, True]


def test_smoothing_a_parabola_moves_it_by_its_curvature() -> None:
    points = np.arange(-30.0, 30.5, 0.5)[:, None]
    cover = Cover(points, np.full(len(points), 40.0), 0.3 * points[:, 0] ** 2)
    z = np.array([[-2.0], [0.0], [5.3]])
    moved = smoothing_bias([cover], z, 0.3 * z[:, 0] ** 2, np.zeros(3))
    assert moved == pytest.approx(0.3, rel=1e-6)  # h^2 f'' / 2 at bandwidth 1
    assert (smoothing_bias([cover], z, 0.3 * z[:, 0] ** 2, np.full(3, 10.0)) == 0).all()
    # another cover counts where it has rows enough, in the first answers
    few = Cover(points, np.full(len(points), 0.01), 0 * points[:, 0])
    many = Cover(points, np.full(len(points), 90.0), 0 * points[:, 0])
    flat, shift = Cover(points, np.full(len(points), 40.0), np.ones(len(points))), np.ones(3)
    assert smoothing_bias([flat, few], z, shift, np.zeros(3)) == pytest.approx(0.0, abs=1e-9)
    # what an average takes off, twice added back
    assert smoothing_bias([flat, many], z, shift, np.zeros(3)) == pytest.approx(3.0)


def test_a_line_is_moved_at_the_end_of_the_rows_by_what_it_is_moved() -> None:
    """By sqrt(2/pi) of its slope at the last row, and as good as nothing far inside."""
    points = np.arange(0.0, 20.1, 0.2)[:, None]
    z = np.array([[0.0], [0.5], [10.0]])
    near, there = (np.exp(-((points - x.T) ** 2) / 2) for x in (points, z))
    told, at = (points[:, 0] @ k / k.sum(axis=0) for k in (near, there))  # kernel means of the line
    even = Cover(points, np.full(len(points), 50.0), told)
    moved = smoothing_bias([even], z, at, np.zeros(3))
    assert 0.9 < moved[0] / (at[0] - 0.0) < 1.5
    assert 0.9 < moved[1] / (at[1] - 0.5) < 1.5
    assert moved[2] < 1e-3


@pytest.mark.parametrize("power", [0.0, 1.0, 2.0])
def test_a_steep_end_where_rows_get_few_is_moved_by_what_it_is_moved(power: float) -> None:
    """The distance of a point at the end from its rows grows where these get few; see `Cover.moved`."""
    points = np.arange(0.0, 20.1, 0.2)[:, None]
    curve, mass = np.exp(-points[:, 0] / 2), 50 * points[:, 0] ** power
    z = np.array([[0.0], [0.5], [10.0]])
    near, there = (np.exp(-((points - x.T) ** 2) / 2) * mass[:, None] for x in (points, z))
    told, at = (curve @ k / k.sum(axis=0) for k in (near, there))
    moved = smoothing_bias([Cover(points, mass, told)], z, at, np.zeros(3))
    off = np.abs(at - np.exp(-z[:, 0] / 2))
    assert (moved[:2] > 0.95 * off[:2]).all()
    assert (moved[:2] < 1.6 * off[:2]).all()
    assert moved[2] < 3e-3


def test_noise_is_not_taken_for_what_smoothing_moved() -> None:
    """Of curves of noise 0.1 that has the kernel for its covariance 0.12 remains, in place of 0.24.

    False alarm: below 1e-9, the mean of 20 curves is 0.122 with a standard deviation of 0.011.
    """
    points = np.arange(0.0, 20.1, 0.5)[:, None]
    root = np.linalg.cholesky(np.exp(-((points - points.T) ** 2) / 2) + 1e-6 * np.eye(len(points)))
    rng, found = np.random.default_rng(0), []
    for _ in range(20):
        noise = 0.1 * root @ rng.normal(size=len(points))
        cover = Cover(points, np.full(len(points), 40.0), noise)
        found.append(smoothing_bias([cover], points, noise, np.full(len(points), 0.1)).mean())
    assert np.mean(found) < 0.19


def test_beyond_the_range_the_bias_of_its_edge_grows() -> None:
    bias, distance = np.array([0.0, 0.2, 0.2]), np.array([0.5, 0.0, 0.8])
    assert beyond_range(bias, distance, np.array([-0.3, 0.0, 0.1])) == pytest.approx(
        [0.3, 0.2, 0.5]
    )


def test_rows_are_told_without_what_the_kernel_spreads() -> None:
    points = np.arange(-5.0, 15.1, 1.0)[:, None]
    rows = np.where((points[:, 0] >= 0) & (points[:, 0] <= 10), 100.0, 0.0)
    mass = np.exp(-((points - points.T) ** 2) / 2) @ rows
    found = sharpened(points, mass)
    outside = rows == 0
    assert found.min() >= 0
    assert found[outside].sum() / found.sum() < 0.5 * mass[outside].sum() / mass.sum()


def test_local_mean_squares_are_shrunk_by_their_noise() -> None:
    degree, w = np.full(6, 1000.0), np.array([0.1, 0.1, 0.1, 0.3, 0.3, 0.3])
    mass = np.full(6, 1000.0)
    bounds = (9.0, 9.0)
    exact = Scale.of(w * degree, degree, np.full(6, 1e-6), mass, _NORMAL, bounds, 4.0)
    assert exact.mean == pytest.approx(0.2)
    assert exact.relative(w, np.full(6, 1e-6)) == pytest.approx(w / 0.2, rel=1e-6)
    beyond = 2 * (_SIDE.excess(np.array(_NORMAL.square), 2) - _SIDE.excess(np.array(9.0), 2))
    assert exact.square == pytest.approx(_NORMAL.square**2 * 0.2 + beyond)
    noisy = Scale.of(w * degree, degree, np.full(6, 1e4), mass, _NORMAL, bounds, 4.0)
    assert noisy.relative(w, np.full(6, 10.0)) == pytest.approx(1.0, abs=0.01)
    assert Scale.of(w, degree, w, 0 * mass, _NORMAL, bounds, 4.0).square == 4.0
    # what was shifted is no spread, but never all of it
    one = np.ones(2)
    assert exact.variance(one, np.array([0.0, 99.0]), 0 * one) == pytest.approx(
        exact.square * np.array([1.0, 0.3])
    )


def test_what_was_cut_is_the_mean_beyond() -> None:
    scale = np.array([0.5, 1.0, 2.0])
    lost, unsure = beyond_cut(_NORMAL, (3.0, 1.0), scale)

    def excess(cut: float) -> np.ndarray:
        at = cut / scale
        found: np.ndarray = scale * (stats.norm.pdf(at) - at * stats.norm.sf(at))
        return found

    assert lost == pytest.approx(excess(1.0) - excess(3.0), rel=0.02)
    assert unsure == pytest.approx(
        np.abs(excess(1.0) - excess(3.0)) + (excess(1.0) + excess(3.0)) / 2, rel=0.02
    )
