"""Densities and overlaps of Gaussians, against other computations of the same."""

import numpy as np
import pytest
from scipy import stats

from dpstats.models.gaussian.estimate import log_densities, overlap


def _law(d: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    root = rng.normal(size=(d, d))
    return rng.normal(size=d), root.T @ root + 0.1 * np.eye(d)


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("k", [1, 3])
def test_densities_are_those_of_scipy_up_to_a_constant(d: int, k: int) -> None:
    rng = np.random.default_rng([d, k])
    weights = rng.dirichlet(np.ones(k))
    means, covariances = (
        np.array(part) for part in zip(*[_law(d, rng) for _ in range(k)], strict=True)
    )
    x = 3 * rng.normal(size=(50, d))
    found = log_densities(x, weights, means, covariances)
    expected = np.column_stack(
        [
            np.log(w) + stats.multivariate_normal(m, c).logpdf(x)
            for w, m, c in zip(weights, means, covariances, strict=True)
        ]
    )
    assert found.shape == (50, k)
    assert found == pytest.approx(expected + d / 2 * np.log(2 * np.pi), rel=1e-9, abs=1e-9)


def test_units_shift_all_densities_alike() -> None:
    rng = np.random.default_rng(1)
    means, covariances = (
        np.array(part) for part in zip(*[_law(2, rng) for _ in range(3)], strict=True)
    )
    weights, x, unit = np.full(3, 1 / 3), rng.normal(size=(20, 2)), np.array([1e80, 1e-80])
    found = log_densities(x, weights, means, covariances)
    other = log_densities(x * unit, weights, means * unit, covariances * np.outer(unit, unit))
    assert other == pytest.approx(found - np.log(unit).sum(), abs=1e-9)


def test_rows_of_any_size_are_quiet() -> None:
    x = np.array([[np.nan, 0.0], [np.inf, 0.0], [1e300, -1e300], [1e5, 0.0], [0.0, 0.0]])
    found = log_densities(x, np.ones(1), np.zeros((1, 2)), np.eye(2)[None])
    assert not np.isfinite(found[:2]).any()
    assert found[2, 0] == -np.inf
    assert found[3:, 0].tolist() == [-5e9, 0.0]


@pytest.mark.parametrize("gap", [0.5, 2.0, 4.0, 8.0])
@pytest.mark.parametrize("sd", [1.0, 3.0])
def test_overlap_on_a_line_is_that_of_the_best_point(gap: float, sd: float) -> None:
    found = overlap(np.zeros(1), np.eye(1), np.full(1, gap), sd**2 * np.eye(1))
    point = gap / (1 + sd)  # where both tails are alike
    tails = stats.norm.sf(point), stats.norm.sf((gap - point) / sd)
    assert tails[0] == pytest.approx(tails[1])
    assert found == pytest.approx(2 * tails[0])


def test_overlap_is_symmetric_and_follows_every_affine_map() -> None:
    rng = np.random.default_rng(2)
    (m, a), (n, b) = _law(3, rng), _law(3, rng)
    expected = overlap(m, a, n, b)
    assert 0 < expected < 1
    assert overlap(n, b, m, a) == pytest.approx(expected)
    t = rng.normal(size=(3, 3))
    moved = overlap(m @ t + 5, t.T @ a @ t, n @ t + 5, t.T @ b @ t)
    assert moved == pytest.approx(expected, rel=1e-6)


def test_overlap_of_one_law_with_itself_is_all_of_it() -> None:
    assert overlap(np.ones(2), np.eye(2), np.ones(2), np.eye(2)) == 1.0
    assert overlap(np.zeros(2), np.eye(2), np.array([40.0, 0.0]), np.eye(2)) < 1e-80


def test_overlap_is_no_less_than_that_of_the_laws() -> None:
    # shares beyond the plane, of 200000 rows each: six standard deviations
    rng = np.random.default_rng(3)
    (m, a), (n, b) = _law(2, rng), _law(2, rng)
    n = n + 3
    direction = np.linalg.solve(a + b, n - m)
    s, t = np.sqrt(direction @ a @ direction), np.sqrt(direction @ b @ direction)
    cut = direction @ m + s / (s + t) * (direction @ (n - m))
    rows = rng.multivariate_normal(m, a, 200_000) @ direction
    others = rng.multivariate_normal(n, b, 200_000) @ direction
    share = (rows > cut).mean() + (others < cut).mean()
    assert overlap(m, a, n, b) == pytest.approx(share, abs=6 * np.sqrt(2 * share / 200_000))
