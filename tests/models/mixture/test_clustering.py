"""Clustering of public points: the map to cells, gaps, zones, and how many components are found."""

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from dpstats.models.mixture.clustering import (
    Scores,
    Split,
    accepted,
    assign,
    evaluate,
    nearest,
    nearest_projected,
    number_of_cells,
    number_of_zones,
    size_about,
    split_candidates,
    split_labels,
    superclusters,
    zone_counts,
    zone_of,
)
from dpstats.models.mixture.public_mixture import public_mixture
from dpstats.models.mixture.public_tree import public_tree
from dpstats.numerics.k_means import column_units, k_means


def _mixture(
    rng: np.random.Generator, d: int, k: int, separation: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights, means at that distance in units of the largest sd (at most 1), and covariances."""
    weights = rng.dirichlet(np.full(k, 8.0))
    while weights.min() < 0.5 / k:
        weights = rng.dirichlet(np.full(k, 8.0))
    covariances = []
    for _ in range(k):
        turn, _ = np.linalg.qr(rng.normal(size=(d, d)))
        covariances.append((turn * rng.uniform(0.25, 1, d)) @ turn.T)
    means = rng.normal(size=(k, d))
    apart = cdist(means, means)[np.triu_indices(k, 1)].min()
    return weights, means * separation / apart, np.array(covariances)


def _draw(
    rng: np.random.Generator, mixture: tuple[np.ndarray, np.ndarray, np.ndarray], n: int
) -> tuple[np.ndarray, np.ndarray]:
    weights, means, covariances = mixture
    component = rng.choice(len(weights), n, p=weights)
    roots = np.linalg.cholesky(covariances)
    noise = rng.normal(size=(n, means.shape[1], 1))
    return means[component] + (roots[component] @ noise)[:, :, 0], component


def _misplaced(cell: np.ndarray, component: np.ndarray, k: int) -> float:
    """Share of rows outside the cell of their component, cells and components matched best."""
    table = np.zeros((k, max(k, int(cell.max()) + 1)))
    np.add.at(table, (component, cell), 1)
    return float(1 - table[linear_sum_assignment(-table)].sum() / len(cell))


def _blobs(centres: Sequence[Sequence[float]], each: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    means = np.repeat(np.array(centres, dtype=float), each, axis=0)
    return means + rng.normal(size=means.shape)


_THREE = _blobs([[0, 0], [9, 0], [0, 9]], 30, seed=1)


def test_the_largest_score_is_the_nearest_centre() -> None:
    rng = np.random.default_rng(1)
    x, centres, origin = rng.normal(size=(200, 3)), rng.normal(size=(5, 3)), rng.normal(size=3)
    scores = nearest(centres, origin, np.ones(3))
    assert (evaluate(scores, x).argmax(axis=1) == cdist(x, centres).argmin(axis=1)).all()
    basis = rng.normal(size=(3, 2))
    y, centroids = (x - origin) @ basis, rng.normal(size=(4, 2))
    scores = nearest_projected(basis, centroids, origin, np.ones(3))
    assert (evaluate(scores, x).argmax(axis=1) == cdist(y, centroids).argmin(axis=1)).all()


def test_scores_with_targets_are_squared_distances() -> None:
    rng = np.random.default_rng(2)
    x, origin, matrix = rng.normal(size=(20, 3)), rng.normal(size=3), rng.normal(size=(3, 4))
    targets, constants = rng.normal(size=(2, 2)), rng.normal(size=2)
    found = evaluate(Scores(origin, matrix, constants, np.ones(3), targets), x)
    for a in range(2):
        rest = (x - origin) @ matrix[:, 2 * a : 2 * a + 2] - targets[a]
        assert found[:, a] == pytest.approx(constants[a] - (rest**2).sum(axis=1) / 2)


def test_splits_are_applied_in_order() -> None:
    one, zero = np.ones(1), np.zeros(1)
    first = Split(0, nearest(np.array([[0.0], [10.0], [20.0]]), zero, one), (0, 1, 0))
    second = Split(1, nearest(np.array([[9.0], [11.0]]), zero, one), split_labels(1, 2, 2))
    x = np.array([[1.0], [9.0], [11.0], [19.0]])
    assert assign((), x).tolist() == [0, 0, 0, 0]
    assert assign((first,), x).tolist() == [0, 1, 1, 0]
    assert assign((first, second), x).tolist() == [0, 1, 2, 0]
    assert assign((first, second), x[:0]).tolist() == []


def test_the_size_of_coordinates_is_positive() -> None:
    points = np.array([[1.0, 2.0], [1.0, 4.0]])
    assert size_about(points, np.array([1.0, 3.0])).tolist() == [1.0, 1.0]
    assert size_about(points, np.array([0.0, 0.0])) == pytest.approx([1.0, np.sqrt(10)])


def test_units_tell_spread_within_clusters_from_that_between_them() -> None:
    rng = np.random.default_rng(3)
    points = rng.normal(size=(400, 4)) * [1, 10, 1, 0] + [0, 1e6, 0, 5]
    points[::2, 2] += 1e6
    units = column_units(points, 0.25)
    assert units[0] == pytest.approx(points[:, 0].std())
    assert units[1] == pytest.approx(points[:, 1].std())
    assert 0.5 < units[2] < 2
    assert units[3] == 1
    assert column_units(points * 7, 0.25)[:3] == pytest.approx(7 * units[:3])
    assert column_units(points[:1], 0.25).tolist() == [1] * 4
    seldom = np.r_[np.zeros(90), np.ones(10)][:, None]  # most values are equal
    assert column_units(seldom, 0.25) == pytest.approx(0.3)


def test_superclusters_are_groups_far_apart() -> None:
    points = _blobs([[0, 0], [200, 0], [0, 200]], 20)
    found = superclusters(points, 3, 0.2)
    assert found.number == 3
    assert found.split is not None
    assert len(found.split.labels) == 3  # one centre for each group is enough
    assert [len(set(found.labels[i : i + 20])) for i in (0, 20, 40)] == [1, 1, 1]
    assert (assign((found.split,), points) == found.labels).all()
    assert found.core.all()
    assert superclusters(points, 2, 0.2).number == 1  # more than k: one


def test_long_superclusters_are_told_by_more_centres() -> None:
    line = np.linspace(0, 100, 200)
    points = np.r_[np.c_[line, np.zeros(200)], np.c_[line, np.full(200, 20.0)]]
    found = superclusters(points, 4, 0.05)
    assert found.number == 2
    assert found.split is not None
    assert len(found.split.labels) > 2
    assert (found.labels == np.repeat([found.labels[0], 1 - found.labels[0]], 200)).all()


def test_an_outlier_does_not_join_superclusters() -> None:
    points = np.r_[_blobs([[0, 0], [200, 0]], 20), [[1e9, 1e9]]]
    found = superclusters(points, 2, 0.25)
    assert found.number == 2
    assert np.flatnonzero(~found.core).tolist() == [40]
    for k in (2, None):
        tree = public_tree(points, k)
        assert (tree.leaves, tree.complete) == (2, True)
    mixture = public_mixture(np.r_[_blobs([[0, 0], [4, 0]], 30), [[1e5, 1e5]]], 2)
    assert mixture.fewest > 10


@pytest.mark.slow
def test_many_points_are_sampled_for_superclusters() -> None:
    points = _blobs([[0, 0], [200, 0]], 2500)
    found = superclusters(points, 2, 0.25)
    assert (found.labels == np.repeat([found.labels[0], 1 - found.labels[0]], 2500)).all()
    assert found.core.mean() > 0.95


def test_k_means_finds_blobs_and_respects_the_least_size() -> None:
    centroids = k_means(_THREE, 3, 10)
    assert centroids is not None
    assert cdist(centroids, [[0, 0], [9, 0], [0, 9]]).min(axis=0).max() < 1
    assert k_means(_THREE, 3, 31) is None
    assert k_means(np.zeros((10, 2)), 2, 1) is None
    large = k_means(np.repeat(_THREE, 100, axis=0) + 1e-3, 3, 1000)
    assert large == pytest.approx(centroids, abs=0.01)


def test_candidates_have_parts_of_sufficient_size() -> None:
    for q, centroids in split_candidates(_THREE, 6, 12).items():
        assert centroids.shape == (q, 2)
        assert np.bincount(cdist(_THREE, centroids).argmin(axis=1)).min() >= 12
    assert list(split_candidates(_THREE, 4, 31)) in ([], [2])
    assert split_candidates(_THREE[:1], 4, 1) == {}


def test_zones_agree_with_their_definition() -> None:
    rng = np.random.default_rng(4)
    for q, r in itertools.product((2, 3, 5), (1, 3)):
        centroids, y = rng.normal(size=(q, r)) * 2, rng.normal(size=(300, r)) * 2
        pairs = tuple(itertools.combinations(range(len(centroids)), 2))
        expected = []
        for row in y:
            a, b = np.argsort(np.linalg.norm(row - centroids, axis=1))[:2]
            step = centroids[b] - centroids[a]
            s = (row - centroids[a]) @ step / (step @ step)
            if abs(s) < 0.15:
                expected.append(a)
            elif 0.35 < s <= 0.5:
                expected.append(q + pairs.index((min(a, b), max(a, b))))
            else:
                expected.append(-1)
        found = zone_of(y, centroids)
        assert found.tolist() == expected
        alone = np.concatenate([zone_of(row[None], centroids) for row in y])
        assert (alone == found).all()
        counts = zone_counts(y, centroids)
        assert len(counts) == number_of_zones(len(centroids))
        assert counts.tolist() == [(found == z).sum() for z in range(len(counts))]


def test_rows_that_are_not_finite_are_in_no_zone() -> None:
    y = np.array([[np.nan, 0.0], [np.inf, 0.0], [-np.inf, np.inf], [1e308, -1e308], [0.0, 0.0]])
    assert zone_of(y, np.array([[0.0, 0.0], [1.0, 0.0]])).tolist() == [-1, -1, -1, -1, 0]
    assert zone_of(np.zeros((1, 2)), np.zeros((2, 2))).tolist() == [-1]


def test_a_valley_must_be_deep_and_beyond_the_noise() -> None:
    deep, shallow = np.array([100.0, 80.0, 10.0]), np.array([100.0, 80.0, 45.0])
    assert accepted(deep, 2, 0.0, 50)
    assert not accepted(deep, 2, 0.0, 90)
    assert not accepted(deep, 2, 30.0, 50)
    assert not accepted(shallow, 2, 0.0, 50)
    assert not accepted(np.array([4.0, 4.0, 0.0]), 2, 0.0, 1)
    assert accepted(np.array([4.0, 4.0, -3.0]), 2, 0.0, 1, sigmas=1.5)
    one_bad = np.array([100.0, 100.0, 100.0, 0.0, 0.0, 60.0])
    assert not accepted(one_bad, 3, 0.0, 10)


def test_the_noise_seldom_makes_a_valley() -> None:
    rng = np.random.default_rng(5)
    even = np.full(3, 1000.0)
    made = sum(accepted(even + 300 * rng.normal(size=3), 2, 300.0, 100) for _ in range(2000))
    assert made <= 4


@pytest.mark.parametrize("k", [3, None])
def test_the_tree_finds_gaps(k: int | None) -> None:
    tree = public_tree(_THREE, k)
    assert (tree.leaves, tree.complete) == (3, True)
    assert _misplaced(tree.labels, np.repeat([0, 1, 2], 30), 3) == 0
    assert (assign(tree.partition, _THREE) == tree.labels).all()


@pytest.mark.slow
def test_one_gaussian_is_not_split() -> None:
    rng = np.random.default_rng(6)
    for m, d in ((6, 3), (30, 10), (60, 40), (300, 5)):
        splits = [public_tree(rng.normal(size=(m, d)), None).leaves > 1 for _ in range(5)]
        assert sum(splits) <= 1
    tree = public_tree(_THREE, 5)
    assert (tree.leaves, tree.complete) == (3, False)


def test_leaves_are_split_level_by_level() -> None:
    points = _blobs([[0, 0], [6, 0], [300, 0], [300, 6], [300, 90]], 60)
    tree = public_tree(points, 5)
    assert (tree.leaves, tree.complete) == (5, True)
    assert superclusters(points, 5, 0.1).number == 3
    assert {split.cell for split in tree.partition} > {0}
    assert _misplaced(tree.labels, np.repeat(np.arange(5), 60), 5) < 0.01


@pytest.mark.slow
def test_results_do_not_change_from_call_to_call_nor_with_units() -> None:
    points, _ = _draw(np.random.default_rng(7), _mixture(np.random.default_rng(7), 5, 3, 4.0), 120)
    first, second = public_mixture(points, 3), public_mixture(points, 3)
    assert (first.labels == second.labels).all()
    assert (first.partition[0].scores.matrix == second.partition[0].scores.matrix).all()
    assert (public_mixture(1024 * points, 3).labels == first.labels).all()
    far = 1e6 + points * np.geomspace(1, 1e6, 5)
    scaled = (far - far.mean(axis=0)) / column_units(far, 1 / 6)
    plain = (points - points.mean(axis=0)) / column_units(points, 1 / 6)
    assert (public_mixture(scaled, 3).labels == public_mixture(plain, 3).labels).all()


def test_em_steps_in_where_no_gap_is_seen() -> None:
    rng = np.random.default_rng(8)
    mixture = _mixture(rng, 4, 3, 2.8)
    points, component = _draw(rng, mixture, 200)
    assert not public_tree(points, 3).complete
    found = public_mixture(points, 3)
    assert found.how == "EM on principal axes, then discriminant axes"
    assert number_of_cells(found.partition) == 3
    assert found.fewest > 1
    assert found.partition[0].scores.targets is not None
    assert (assign(found.partition, points) == found.labels).all()
    assert _misplaced(found.labels, component, 3) < 0.1


def test_few_points_keep_the_borders_of_the_tree() -> None:
    points = _blobs([[0.0] * 20, [10.0] * 20], 12)
    found = public_mixture(points, 2)
    assert found.how == "gaps between public rows"
    assert found.fewest == 12


@pytest.mark.parametrize("k", [1, 2, 4, None])
@pytest.mark.parametrize(
    "points",
    [
        np.array([[0.0, 1.0], [2.0, 3.0]]),
        np.array([[0.0, 1.0]]),
        np.ones((20, 3)),
        np.repeat([[0.0, 0.0], [5.0, 5.0], [9.0, 1.0]], 7, axis=0),
        np.arange(30.0)[:, None] * np.ones(4),
        np.random.default_rng(9).normal(size=(40, 1)),
        np.r_[np.random.default_rng(9).normal(size=(40, 2)), [[1e12, -1e12]]],
        np.random.default_rng(9).integers(0, 2, size=(50, 3)).astype(float),
    ],
    ids=["two", "one", "identical", "three values", "line", "d=1", "outlier", "binary"],
)
def test_degenerate_points_give_cells(points: np.ndarray, k: int | None) -> None:
    points = points - points.mean(axis=0)
    for found in (public_tree(points, k), public_mixture(points, k)):
        assert found.labels.shape == (len(points),)
        assert (assign(found.partition, points) == found.labels).all()
        for split in found.partition:
            assert (split.scores.scale > 0).all()
            assert np.isfinite(split.scores.matrix).all()
            assert np.isfinite(split.scores.constants).all()
    if k == 4 and len(np.unique(points, axis=0)) < 4:
        assert number_of_cells(found.partition) < 4 or found.fewest < 2


def test_three_values_are_three_cells() -> None:
    points = np.repeat([[0.0, 0.0], [5.0, 5.0], [9.0, 1.0]], 7, axis=0)
    assert public_mixture(points, 3).fewest == 7


@pytest.mark.parametrize(
    ("d", "k"),
    [
        (10, 2),
        (10, 5),
        *(pytest.param(*of, marks=pytest.mark.slow) for of in ((10, 3), (50, 3), (50, 5))),
    ],
)
def test_all_components_are_found(d: int, k: int) -> None:
    """Fresh rows are put into the cells of their components, at a separation of 8."""
    for seed in range(2 if d == 10 else 1):
        rng = np.random.default_rng([seed, d, k])
        mixture = _mixture(rng, d, k, 8.0)
        points, _ = _draw(rng, mixture, round(1.5 * d / mixture[0].min()))
        rows, component = _draw(rng, mixture, 4000)
        for number in (k, None) if seed == 0 else (k,):
            found = public_mixture(points, number)
            assert number_of_cells(found.partition) == k
            assert _misplaced(assign(found.partition, rows), component, k) < 0.005


@pytest.mark.slow
@pytest.mark.parametrize(
    ("d", "separation", "worst"),
    [(10, 5.0, 0.03), pytest.param(50, 4.0, 0.04, marks=pytest.mark.slow)],
)
def test_near_components_are_found(d: int, separation: float, worst: float) -> None:
    for seed in range(2):
        rng = np.random.default_rng([seed, d])
        mixture = _mixture(rng, d, 4, separation)
        points, _ = _draw(rng, mixture, round(1.5 * d / mixture[0].min()))
        rows, component = _draw(rng, mixture, 4000)
        found = public_mixture(points, 4)
        assert _misplaced(assign(found.partition, rows), component, 4) < worst
