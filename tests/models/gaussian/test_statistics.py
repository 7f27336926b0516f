"""What dp_mean, dp_mvnorm and dp_mixture promise on average: coverage, bounds, components found. Slow.

False-alarm rates are stated with each test and stay below 1e-6.
"""

import warnings
from collections.abc import Iterator
from functools import cache
from itertools import islice
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpstats import dp_mean, dp_mixture, dp_mvnorm
from dpstats.errors import PlanWarning
from tests.benchmarks.gaussian_settings import (
    Gaussian,
    Mixture,
    Sample,
    frame,
    names,
    simulate,
    simulate_mixture,
)

pytestmark = pytest.mark.slow
_RATE = 1e-7


def _fit(function: Any, sample: Any, **arguments: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlanWarning)
        columns = names(sample.private.shape[1])
        return function(columns, frame(sample.private), frame(sample.public), **arguments)


def _errors(found: Any, sample: Sample) -> tuple[float, float]:
    """eF of the covariance and eM of the mean, against the law that the rows were drawn from."""
    root = np.linalg.inv(np.linalg.cholesky(sample.cov))
    covariance = root @ found.cov.to_numpy() @ root.T - np.eye(len(root))
    mean = root @ (found.mean.to_numpy() - sample.mean)
    return float(np.linalg.norm(covariance)), float(np.linalg.norm(mean))


def _assert_covers(hits: list[float], level: float = 0.95) -> None:
    """The mean of shares of intervals is ``level``, within 5.5 standard errors (4e-8) and 0.015."""
    error = 5.5 * float(np.std(hits)) / np.sqrt(len(hits)) + 0.015
    assert abs(np.mean(hits) - level) < error, np.mean(hits)


def _assert_covers_at_least(hits: list[float], level: float = 0.95) -> None:
    """The same where errors allow for tails that noise may hide, which these rows do not have."""
    assert np.mean(hits) > level - 5.5 * float(np.std(hits)) / np.sqrt(len(hits)) - 0.015


def _as_many(runs: Iterator[bool], least: int) -> bool:
    """Whether so many runs are right; those after the last one that is needed are not made."""
    return sum(1 for _ in islice((run for run in runs if run), least)) == least


def _assert_holds(held: list[bool], level: float = 0.95) -> None:
    """A bound that fails with probability 1 - level at most: binomial, 1e-7."""
    assert sum(held) >= stats.binom.ppf(_RATE, len(held), level), np.mean(held)


# -- intervals --------------------------------------------------------------------------------------

MVNORM: list[Any] = [
    ((5, 10_000, 20), {"rho": 0.5}),
    ((5, 3000, 12), {"rho": 0.1}),
    ((3, 5000, 4), {"rho": 0.5}),
    ((4, 8000, 3), {"rho": 2.0}),
    ((3, 5000, 30), {"epsilon": 2.0}),
    ((5, 3000, 100), {"rho": 0.02, "pool": True}),
    ((3, 5000, 12), {"rho": 0.5, "method": "paper"}),
]


@pytest.mark.parametrize(("size", "arguments"), MVNORM)
def test_intervals_of_means_and_covariances_cover(
    size: tuple[int, int, int], arguments: dict[str, Any]
) -> None:
    # 150 samples and seeds; see `_assert_covers`
    cond = 1.0 if size[2] <= size[0] else 1e4
    means, entries, away = [], [], []
    for seed in range(150):
        sample = simulate(Gaussian(*size, cond=cond, norm=10.0), 5000 + seed)
        found = _fit(dp_mvnorm, sample, seed=seed, **arguments)
        low, high = found.confint().to_numpy().T
        means.append(float(np.mean((low <= sample.mean) & (sample.mean <= high))))
        away.append(((found.mean.to_numpy() - sample.mean) / found.se().to_numpy()) ** 2)
        z = (found.cov.to_numpy() - sample.cov) / found.cov_se.to_numpy()
        entries.append(float(np.mean(np.abs(z[np.triu_indices(size[0])]) < 1.959964)))
    _assert_covers_at_least(means)
    assert np.sqrt(np.mean(away)) > 0.4, np.sqrt(np.mean(away))
    _assert_covers(entries)


@pytest.mark.parametrize(
    ("m", "arguments"),
    [
        (1, {"covariance": "identity", "rho": 0.05}),
        (1, {"covariance": 1.0, "epsilon": 1.0}),
        (6, {"covariance": np.eye(8), "rho": 0.01, "method": "paper"}),
        (18, {"covariance": "public", "rho": 0.05}),
        (6, {"rho": 0.05}),
        (100, {"rho": 0.05}),
    ],
)
def test_intervals_of_a_mean_cover(m: int, arguments: dict[str, Any]) -> None:
    # 200 samples and seeds; standard deviations of 6 or 18 public rows are themselves off by a
    # third, so that intervals by them are held to 0.85 only
    hits = []
    for seed in range(200):
        sample = simulate(Gaussian(8, 2000, m, cond=1.0, norm=3.0), 9000 + seed)
        low, high = _fit(dp_mean, sample, seed=seed, **arguments).confint().to_numpy().T
        hits.append(float(np.mean((low <= sample.mean) & (sample.mean <= high))))
    if m in (6, 18) and "method" not in arguments:
        assert np.mean(hits) > 0.85
    else:
        _assert_covers(hits)


def test_intervals_hold_where_rows_are_missing() -> None:
    # 150 samples, as above; four rows in ten are missing
    means, entries = [], []
    for seed in range(150):
        sample = simulate(Gaussian(3, 8000, 20, cond=1.0, norm=3.0), 7000 + seed)
        sample.private[np.arange(8000) % 10 < 4, 1] = np.nan
        found = _fit(dp_mvnorm, sample, seed=seed, rho=2)
        low, high = found.confint().to_numpy().T
        means.append(float(np.mean((low <= sample.mean) & (sample.mean <= high))))
        z = (found.cov.to_numpy() - sample.cov) / found.cov_se.to_numpy()
        entries.append(float(np.mean(np.abs(z[np.triu_indices(3)]) < 1.959964)))
    _assert_covers(means)
    _assert_covers(entries)


@pytest.mark.parametrize(
    ("size", "arguments"),
    [
        ((1, 3000, 3), {"rho": 0.1}),
        ((1, 10_000, 30), {"rho": 0.5}),
        ((2, 3000, 6), {"rho": 0.1}),
        ((5, 3000, 12), {"rho": 0.1}),
        ((5, 3000, 100), {"rho": 0.02}),
        ((3, 5000, 30), {"epsilon": 2.0}),
    ],
)
def test_cutting_rows_takes_nothing_off_the_intervals_of_variances(
    size: tuple[int, int, int], arguments: dict[str, Any]
) -> None:
    # 250 samples and seeds; what is cut makes all variances too small. A mean error of half a standard
    # error is eight of its own for one column
    z, held = [], []
    for seed in range(250):
        sample = simulate(Gaussian(*size, cond=100.0, norm=3.0), 20_000 + seed)
        found = _fit(dp_mvnorm, sample, seed=seed, **arguments)
        z.append(np.diag((found.cov.to_numpy() - sample.cov) / found.cov_se.to_numpy()))
        held.append(_errors(found, sample)[0] <= found.bounds().value.iloc[0])
    _assert_holds(held)
    _assert_covers([float(np.mean(np.abs(one) < 1.959964)) for one in z])
    assert abs(np.mean(z)) < 0.5, np.mean(z)


# -- bounds -----------------------------------------------------------------------------------------

BOUNDS: list[Any] = [
    ((10, 10_000, 20), {"rho": 0.5}),
    ((10, 5000, 40), {"rho": 0.1}),
    ((10, 30_000, 11), {"rho": 0.5}),
    ((10, 30_000, 20), {"epsilon": 3.0}),
    ((3, 3000, 6), {"rho": 0.1}),
    ((1, 3000, 3), {"rho": 0.1}),
]


@cache
def _bounded(k: int) -> list[tuple[float, float, dict[str, float]]]:
    size, arguments = BOUNDS[k]
    out = []
    for seed in range(100):
        sample = simulate(Gaussian(*size, cond=1e4, norm=10.0), 3000 + seed)
        found = _fit(dp_mvnorm, sample, seed=seed, **arguments)
        out.append((*_errors(found, sample), dict(found.bounds().set_index("statement").value)))
    return out


COVARIANCE, MEAN = "relative error of the covariance", "error of the mean in standard deviations"


@pytest.mark.parametrize("planned", ["", " (planned)"])
@pytest.mark.parametrize("k", range(len(BOUNDS)))
def test_bounds_hold(k: int, planned: str) -> None:
    # 100 samples and seeds each; binomial, 1e-7
    runs = _bounded(k)
    _assert_holds([covariance <= said[COVARIANCE + planned] for covariance, _, said in runs])
    _assert_holds([mean <= said[MEAN + planned] for _, mean, said in runs])


@pytest.mark.parametrize("k", [k for k, (size, _) in enumerate(BOUNDS) if size[0] == 10])
def test_bounds_of_ten_columns_are_within_twice_the_error(k: int) -> None:
    # medians of 100 runs whose ratios vary by a fifth
    runs = _bounded(k)
    assert np.median([said[COVARIANCE] / covariance for covariance, _, said in runs]) <= 2
    assert np.median([said[MEAN] / mean for _, mean, said in runs]) <= 2


def test_the_bound_of_a_mean_holds() -> None:
    # 200 samples and seeds; binomial, 1e-7
    held, ratios = [], []
    for seed in range(200):
        sample = simulate(Gaussian(10, 2000, 1, cond=1.0, norm=3.0), 1000 + seed)
        found = _fit(dp_mean, sample, seed=seed, rho=0.1, covariance="identity")
        error = float(np.linalg.norm(found.mean.to_numpy() - sample.mean))
        bound = found.bounds()
        first = bound[bound.kind == "bound"].value.iloc[0]
        held.append(error <= first)
        ratios.append(first / error)
    _assert_holds(held)
    assert np.median(ratios) <= 2


def test_the_planned_error_is_the_one_that_comes() -> None:
    # root mean squares of 100 runs
    for k, (size, arguments) in enumerate(BOUNDS):
        if size[1] == 30_000 or size[0] != 10:
            continue
        sample = simulate(Gaussian(*size, cond=1e4, norm=10.0), 3000)
        planned = _fit(dp_mvnorm, sample, seed=0, **arguments).diagnostics().value["planned error"]
        seen = np.sqrt(np.mean([covariance**2 for covariance, _, _ in _bounded(k)]))
        assert 0.6 * planned < seen < 1.5 * planned


# -- mixtures ---------------------------------------------------------------------------------------


def _right(found: Any, drawn: Any) -> float:
    """Share of private rows that the result puts with those of their own component."""
    labels = found.predict(frame(drawn.private)).to_numpy()
    table = np.zeros((found.k, len(drawn.weights)))
    np.add.at(table, (labels - 1, drawn.labels), 1)
    return float(table.max(axis=1).sum() / table.sum()) if found.k == len(drawn.weights) else 0.0


@pytest.mark.parametrize(
    ("setting", "arguments"),
    [
        (Mixture(2, 3, 10_000, "many"), {"k": 3}),
        (Mixture(10, 4, 10_000, "many"), {"k": 4}),
        (Mixture(10, 4, 10_000, "many"), {"k": None}),
        (Mixture(5, 3, 10_000, "few"), {"k": 3}),
        (Mixture(20, 4, 30_000, "few"), {"k": 4}),
        (Mixture(5, 3, 10_000, "few", superclusters=200.0), {"k": None}),
    ],
)
def test_components_are_found(setting: Mixture, arguments: dict[str, Any]) -> None:
    # 25 mixtures; with a true rate of 0.97 fewer than 19 are found once in 2e6
    regime = {"many": "public", "few": "private"}[setting.rows]

    def found(seed: int) -> bool:
        drawn = simulate_mixture(setting, 400 + seed)
        fit = _fit(dp_mixture, drawn, rho=1, seed=seed, regime=regime, **arguments)
        return _right(fit, drawn) > 0.98

    assert _as_many(map(found, range(25)), 19)


def test_one_gaussian_is_not_split() -> None:
    # 40 samples; with a true rate of 0.05 more than 12 are split once in 3e6
    def whole(seed: int) -> bool:
        sample = simulate(Gaussian(4, 4000, 80, cond=10.0, norm=3.0), 600 + seed)
        regime = ("public", "private")[seed % 2]
        return bool(_fit(dp_mixture, sample, k=None, rho=1, seed=seed, regime=regime).k == 1)

    assert _as_many(map(whole, range(40)), 28)


def test_errors_of_weights_and_means_are_as_large_as_said() -> None:
    # 100 mixtures of 3 components in 2 columns, see `_assert_covers`
    hits = []
    for seed in range(100):
        drawn = simulate_mixture(Mixture(2, 3, 5000, "many", separation=14.0), 800 + seed)
        found = _fit(dp_mixture, drawn, k=3, rho=0.1, seed=seed, pool=False)
        if _right(found, drawn) < 0.99:
            continue
        labels = found.predict(frame(drawn.private)).to_numpy()
        order = [int(np.bincount(drawn.labels[labels == j + 1]).argmax()) for j in range(3)]
        expected = np.column_stack([drawn.weights[order], drawn.means[order]])
        tidy = found.tidy()
        z = (tidy.estimate.to_numpy() - expected.ravel()) / tidy.std_error.to_numpy()
        hits.append(float(np.mean(np.abs(z) < 1.959964)))
    assert len(hits) > 80
    _assert_covers(hits)
