"""Public fits, bandwidths, nodes and interpolation of a curve agree with direct computations."""

from dataclasses import replace

import numpy as np
import pytest

from dpstats.models.eptr_nw.estimate import (
    PolynomialCentre,
    Smoothing,
    centre_doubt,
    choose_centre,
    choose_smoothing,
    constant_centre,
    from_sums,
    grid_axes,
    interpolated,
    product_of,
    scattered_nodes,
)

_RNG = np.random.default_rng(0)
_LOW, _HIGH = np.zeros(1), np.ones(1)


def _yes(h: np.ndarray) -> bool:
    return True


def test_a_polynomial_centre_is_evaluated_entry_by_entry() -> None:
    centre = PolynomialCentre(
        ((0, 0), (1, 0), (2, 1)), np.array([1.0, 2.0, -3.0]), np.zeros(2), np.array([1.0, 2.0])
    )
    z = np.array([[0.5, -1.0], [4.0, 1.0]])
    assert centre(z) == pytest.approx(1 + 2 * z[0] - 3 * z[0] ** 2 * z[1] / 2)
    assert (centre(z)[:1] == centre(z[:, :1])).all()
    assert constant_centre(3.0, 2)(z) == pytest.approx([3.0, 3.0])


@pytest.mark.parametrize("degree", [0, 1, 3])
def test_the_centre_has_the_degree_of_the_data(degree: int) -> None:
    x = _RNG.uniform(size=300)
    y = (2 * x - 1) ** degree + 0.05 * _RNG.normal(size=300)
    centre, left_out = choose_centre(x[None, :], y, _LOW, _HIGH)
    assert max(p[0] for p in centre.powers) == degree
    # left-out residuals: refit without one row
    for k in (0, 7):
        rest = np.delete(np.arange(300), k)
        fit = np.polynomial.Polynomial.fit(x[rest], y[rest], degree, domain=[0, 1])
        assert left_out[k] == pytest.approx(y[k] - fit(x[k]), rel=1e-6)


def test_few_rows_carry_few_terms() -> None:
    x = _RNG.uniform(size=(2, 24))
    centre, _ = choose_centre(x, _RNG.normal(size=24), np.zeros(2), np.ones(2))
    assert len(centre.powers) <= 3


def test_the_doubt_of_a_centre_is_that_of_its_terms() -> None:
    centre = PolynomialCentre(((0,), (1,), (2,)), np.zeros(3), np.zeros(1), np.ones(1))
    doubt, length = centre_doubt(centre, np.full(50, 2.0), _LOW, 3 * _HIGH)
    # and of a term that would take off 2 %
    assert doubt == pytest.approx(4 * (3 / 50 + 0.02))
    assert length == pytest.approx([0.5])


def _chosen(
    residual: np.ndarray, x: np.ndarray, n: int, noise: float, given: object = None
) -> Smoothing:
    doubt = float((residual**2).mean()) / len(residual), np.full(x.shape[1], 0.5)
    return choose_smoothing(x, residual, n, noise, given, _yes, doubt)  # type: ignore[arg-type]


def test_a_wave_wants_a_short_bandwidth_and_noise_alone_does_not() -> None:
    x = _RNG.uniform(size=(300, 1))
    wave = np.sin(20 * x[:, 0]) + 0.1 * _RNG.normal(size=300)
    short = _chosen(wave, x, 5000, 1.0)
    assert short.bandwidth[0] < 0.1
    assert short.predicted < 0.1
    assert short.radius <= np.abs(wave).max()
    assert 0.3 <= short.slope <= 1
    nothing = _chosen(_RNG.normal(size=300), x, 5000, 1.0)
    assert nothing.predicted == pytest.approx(1, abs=0.3)


def test_a_covariate_that_says_nothing_gets_a_long_bandwidth() -> None:
    x = _RNG.uniform(size=(400, 2))
    wave = np.sin(15 * x[:, 0]) + 0.1 * _RNG.normal(size=400)
    found = _chosen(wave, x, 20_000, 1.0)
    assert found.bandwidth[1] > 3 * found.bandwidth[0]


def test_a_given_bandwidth_is_kept_and_infeasible_ones_are_not_tried() -> None:
    x = _RNG.uniform(size=(200, 1))
    wave = np.sin(20 * x[:, 0])
    assert _chosen(wave, x, 5000, 1.0, np.array([0.3])).bandwidth == pytest.approx([0.3])
    doubt = 1e-3, np.full(1, 0.5)
    wide = choose_smoothing(x, wave, 5000, 1.0, None, lambda h: bool(h[0] > 0.1), doubt)
    assert wide.bandwidth[0] > 0.1
    none = choose_smoothing(x, wave, 5000, 1.0, None, lambda h: False, doubt)
    assert np.isfinite(none.bandwidth).all()


def test_constant_residuals_are_no_problem() -> None:
    x = np.linspace(0, 1, 30)[:, None]
    for residual in (np.zeros(30), np.full(30, 1e-300)):
        found = _chosen(residual, x, 1000, 1.0)
        assert found.radius > 0
        assert np.isfinite(found.bandwidth).all()


def test_grids_cover_the_box_at_most_a_step_apart() -> None:
    low, high = np.array([0.0, -1.0]), np.array([2.5, 1.0])
    axes = grid_axes(low, high, 1.0, 100)
    assert axes is not None
    for axis, a, b in zip(axes, low, high, strict=True):
        assert (axis[0], axis[-1]) == (a, b)
        assert np.diff(axis).max() <= 1
    assert product_of(axes).shape == (len(axes[0]) * len(axes[1]), 2)
    assert product_of(axes)[1].tolist() == [axes[0][0], axes[1][1]]
    assert grid_axes(low, high, 0.01, 100) is None
    assert grid_axes(np.zeros(9), np.full(9, 1e6), 1e-9, 100) is None


def test_scattered_nodes_are_where_the_rows_are() -> None:
    z = np.random.default_rng(1).normal(size=(3, 500)) * 3
    low, high = z.min(axis=1), z.max(axis=1)
    nodes = scattered_nodes(z, low, high, 1.3, 10_000)
    assert (nodes >= low - 1e-9).all()
    assert (nodes <= high + 1e-9).all()
    distance = np.sqrt(((z.T[:, None] - nodes[None]) ** 2).sum(axis=2)).min(axis=1)
    assert np.mean(distance < 1.3) > 0.9
    few = scattered_nodes(z, low, high, 1.3, 20)
    assert len(few) == 20
    assert np.linalg.norm(few, axis=1).mean() < np.linalg.norm(nodes, axis=1).mean()
    assert (scattered_nodes(z, low, high, 1.3, 20) == few).all()


def test_interpolation_is_linear_on_grids_and_exact_at_nodes() -> None:
    axes = (np.array([0.0, 1.0, 3.0]), np.array([0.0, 2.0]))
    nodes = product_of(axes)
    values = 1 + 2 * nodes[:, 0] - nodes[:, 1]
    points = np.array([[0.5, 0.5], [2.0, 1.9], [3.0, 2.0]])
    expected = 1 + 2 * points[:, 0] - points[:, 1]
    assert interpolated(axes, nodes, values, points) == pytest.approx(expected)
    outside = interpolated(axes, nodes, values, np.array([[-9.0, 99.0]]))
    assert outside == pytest.approx([1 - 2])
    single = (np.array([0.5]), axes[1])
    assert interpolated(single, product_of(single), np.array([1.0, 3.0]), points) == pytest.approx(
        1 + points[:, 1]
    )
    assert interpolated((np.array([0.5]),), np.array([[0.5]]), np.array([7.0]), points[:, :1]) == (
        pytest.approx([7.0] * 3)
    )
    scattered = interpolated(None, 5 * nodes, values, 5 * nodes)
    assert scattered == pytest.approx(values, abs=1e-6)
    near = interpolated(None, nodes, values, np.array([[1e4, 1e4]]))
    assert np.isfinite(near).all()


def test_sums_become_a_local_mean_where_there_are_rows_and_nothing_where_not() -> None:
    smoothing = Smoothing(np.ones(1), 2.0, 1.0, 2.0, 0.0, 0.0)
    degree = np.array([1000.0, 0.01, -5.0])
    found = from_sums(0.25 * degree, degree, np.ones(3), np.full(3, 10.0), smoothing, 1.0, 0.5, 0.3)
    assert found.value[0] == pytest.approx(10 + 2 * 0.25, rel=1e-4)
    assert found.value[1] == pytest.approx(10, abs=0.01)
    assert found.value[2] == 10
    assert found.noise_sd[0] == pytest.approx(np.hypot(2, 0.5) / 1000, rel=1e-4)
    assert found.sampling_sd[0] == pytest.approx(0.5 / np.sqrt(1000), rel=0.02)
    # the public fit's error, and that of a mean of one row
    assert found.sampling_sd[2] == pytest.approx(np.hypot(0.3, 0.5))
    assert found.weight == pytest.approx([1, 0, 0], abs=1e-4)
    wild = from_sums(
        np.array([1e9]), np.array([1.0]), np.ones(1), np.zeros(1), smoothing, 1.0, 0.5, 0.3
    )
    assert wild.value == pytest.approx([2.0])


def test_a_curve_far_from_its_centre_may_or_may_not_follow_what_was_cut() -> None:
    """Rows 9 below the centre, of which 0.14 count as cut: -9 if none is, -9 / 0.86 if all are."""
    whole = Smoothing(np.ones(1), 10.0, 1.0, 2.0, 0.0, 0.0)
    cut = replace(whole, slope=0.86)
    rows = -0.9 * np.full(1, 1e5), np.full(1, 1e5), np.ones(1), np.zeros(1)
    plain, found = (from_sums(*rows, one, 1.0, 0.5, 0.3) for one in (whole, cut))
    assert plain.value == pytest.approx(-9)
    assert found.value == pytest.approx((-9 - 9 / 0.86) / 2)
    assert found.value + found.sampling_sd > -9.01
    assert found.value - found.sampling_sd < -9 / 0.86 + 0.01


def test_a_row_meets_the_centre_by_itself() -> None:
    rng = np.random.default_rng(4)
    powers = ((0, 0), (1, 0), (0, 1), (2, 1), (0, 3))
    centre = PolynomialCentre(powers, rng.normal(size=5), rng.normal(size=2), np.ones(2), -9.0, 9.0)
    z = rng.normal(0, 3, (2, 1001))
    for part in (slice(0, 1), slice(3, 10), slice(17, 400)):
        assert (centre(z[:, part]) == centre(z)[part]).all()
