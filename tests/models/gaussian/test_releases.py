"""Releases from rows in cells: sensitivities, the law of the noise, and what is spent.

False alarms: every test of a law is two-sided at 2.5e-7, with noise that is seeded.
"""

from __future__ import annotations

import math
import traceback
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

from dpstats import dp_mean, dp_mixture, dp_mvnorm
from dpstats.accounting.privacy import Cost, Privacy, PurePrivacy
from dpstats.errors import PassError, PlanWarning
from dpstats.mechanism.noise import Noise, SeededNoise
from dpstats.mechanism.release import Release, release_symmetric
from dpstats.models.gaussian import fit as gaussian_fit
from dpstats.models.gaussian.releases import CellSession
from dpstats.models.gaussian.rounds import Rounds, Schedule, refine
from dpstats.models.gaussian.rows import CellCoordinates, Zones
from dpstats.models.mixture.clustering import (
    Split,
    nearest,
    number_of_cells,
    number_of_zones,
    zone_of,
)
from tests.mechanism.sources import Arrays, NonPrivateSilence, Slab

Floats = np.ndarray

_ALARM = 2.5e-7
_D, _CELLS = 2, 3
_CENTRES = np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 9.0]])
_SPLIT = (Split(0, nearest(_CENTRES, np.zeros(2), np.full(2, 5.0)), (0, 1, 2)),)
_FRAMES = tuple(
    CellCoordinates(c, np.array([[1.0, 0.4], [-0.2, 2.0]]) * s)
    for c, s in zip(_CENTRES, (1.0, 0.1, 30.0), strict=True)
)
_RADII = (2.0, 0.1, 40.0)
_ENDS = np.array([[-2.0], [0.5], [2.0]])
_TESTS = tuple(
    Zones(
        j, _CENTRES[j], axis, np.ones(2), lambda y: zone_of(y, _ENDS), number_of_zones(len(_ENDS))
    )
    for j, axis in [(0, np.eye(2)[:, :1]), (0, np.eye(2)[:, 1:]), (1, np.eye(2)[:, :1])]
)


def _session(table: Floats, total: Cost, noise: Noise | None = None) -> CellSession:
    source = Arrays(table, np.zeros(len(table)))
    return CellSession(source, np.zeros(_D), np.ones(_D), total, noise or NonPrivateSilence())


def _table(n: int, seed: int = 0) -> Floats:
    rng = np.random.default_rng(seed)
    x = _CENTRES[rng.integers(0, _CELLS, n)] + rng.normal(size=(n, _D))
    return np.column_stack([rng.random(n) < 0.9, x]).astype(float)


_VECTORS = ("sum and number of rows", "mean of long rows")


def _ways(share: float) -> dict[str, Callable[[CellSession], Any]]:
    """Every method of a session, at a share of the total."""
    half = share / 2
    return {
        "counts": lambda s: s.counts(share, _SPLIT, _CELLS),
        "lengths": lambda s: s.lengths(share, _SPLIT, _FRAMES, -10, 32),
        "zones": lambda s: s.zones(share, _SPLIT, _TESTS),
        "lifted": lambda s: s.lifted(share, _SPLIT, _FRAMES, _RADII, 0.5),
        "lifted, cut": lambda s: s.lifted(half, _SPLIT, _FRAMES, _RADII, 0.2, half),
        "sum": lambda s: s.vector_sum(share, _FRAMES[0], 2.0),
        "sum, cut": lambda s: s.vector_sum(half, _FRAMES[1], 0.1, half),
        "long": lambda s: s.long_rows(share, _FRAMES[0], 2.0),
    }


def _releases(table: Floats, total: Cost) -> list[Release]:
    ways = _ways(1 / 8)
    with _session(table, total) as session:
        for way in ways.values():
            way(session)
    return session.releases


# --- sensitivities -------------------------------------------------------------------------------

_hostile = st.one_of(
    st.floats(-12, 12),
    st.sampled_from(
        [0.0, math.nan, math.inf, 1e308, -1e308, 5e-324, 2.0**70, 6.0, 9.0, 1e89, 2.0**300]
    ),
)
_row = st.tuples(st.sampled_from([0.0, 1.0, 1.0, 1.0]), _hostile, _hostile).map(list)


def _moves(first: list[float], second: list[float], others: int, total: Cost) -> dict[str, float]:
    """Largest moves of releases as parts of their sensitivities, by what was released."""
    rest = _table(others).reshape(-1, _D + 1)
    found = [_releases(np.vstack([rest, [row]]), total) for row in (first, second)]
    out: dict[str, float] = {}
    for one, two in zip(*found, strict=True):
        assert one.sensitivity == two.sensitivity
        assert np.isfinite(one.value).all()
        # counts with Laplace noise are measured in l1
        whole = one.value.ndim == 3 or one.what in _VECTORS
        order = 1 if isinstance(total, PurePrivacy) and not whole else 2
        moved = float(np.linalg.norm((one.value - two.value).ravel(), order)) / one.sensitivity
        out[one.what] = max(out.get(one.what, 0.0), moved)
    return out


@settings(max_examples=50, deadline=None, derandomize=True)
@given(_row, _row, st.sampled_from([0, 1, 12]), st.booleans())
@example([1.0, 1e89, 0.0], [1.0, -1e89, 0.0], 12, True)
@example([1.0, 0.0, 1e9], [0.0, 0.0, 0.0], 12, False)
@example([1.0, 2.0, 0.0], [1.0, 7.5, 0.0], 0, False)
def test_replacing_a_row_moves_no_release_by_more_than_its_sensitivity(
    first: list[float], second: list[float], others: int, pure: bool
) -> None:
    total: Cost = PurePrivacy(1.0) if pure else Privacy(1.0)
    assert max(_moves(first, second, others, total).values()) <= 1 + 1e-9


def test_long_rows_attain_what_is_claimed_of_their_mean() -> None:
    moved = _moves([1.0, 1e6, 0.0], [1.0, -1e6, 0.0], 9, Privacy(1.0))
    assert moved["mean of long rows"] == pytest.approx(1.0, rel=1e-6)


def test_long_rows_count_by_what_is_beyond_a_length_and_no_more_than_once() -> None:
    x = np.array([1.0, 2.5, -3.0, 100.0, math.nan])
    source = Arrays(np.column_stack([x == x, x]).astype(float), np.zeros(5))
    frame = CellCoordinates(np.zeros(1), np.eye(1))
    with CellSession(source, np.zeros(1), np.ones(1), Privacy(1.0), NonPrivateSilence()) as session:
        found = session.long_rows(0.5, frame, 2.0)
    assert found.value == pytest.approx([(0.5 - 1.0 + 2.0) / 5], rel=1e-6)
    assert found.sensitivity == pytest.approx(2 * 2.0 / 5)


@pytest.mark.parametrize("total", [Privacy(1.0), PurePrivacy(1.0)])
def test_a_row_that_goes_to_another_cell_attains_what_is_claimed_of_cells(total: Cost) -> None:
    moved = _moves([1.0, 2.0, 2.0], [1.0, 3.5, 0.0], 9, total)
    for what in ("rows of each cell", "histogram of row lengths"):
        assert moved[what] == pytest.approx(1.0, rel=1e-9)
    assert moved["numbers, means and second moments"] == pytest.approx(1.0, rel=1e-3)


@pytest.mark.parametrize("missing", [False, True])
def test_opposite_and_missing_rows_attain_what_is_claimed_of_a_sum(missing: bool) -> None:
    other = [0.0, 0.0, 0.0] if missing else [1.0, -1e9, 0.0]
    moved = _moves([1.0, 1e9, 0.0], other, 9, Privacy(1.0))
    assert moved["sum and number of rows"] == pytest.approx(1.0, rel=1e-3)


def test_zones_of_two_tests_of_one_cell_attain_their_sensitivity() -> None:
    # in two zones of the first cell; then in two others of it
    found = []
    for row in ([1.0, 2.0, 2.0], [1.0, -2.0, -2.0]):
        with _session(np.vstack([_table(5), [row]]), Privacy(1.0)) as session:
            counts, _ = session.zones(1.0, _SPLIT, _TESTS)
            found.append(np.concatenate(counts))
    (release,) = session.releases
    assert release.sensitivity == 2.0
    assert np.linalg.norm(found[0] - found[1]) == 2.0


# --- what is released ----------------------------------------------------------------------------


def test_numbers_sums_and_squares_are_those_of_the_cut_rows() -> None:
    table = np.vstack([_table(400), [[1.0, 1e80, -1e81], [0.0, 1.0, 1.0], [1.0, math.nan, 0.0]]])
    with _session(table, Privacy(1.0)) as session:
        lifted, cut = session.lifted(0.9, _SPLIT, _FRAMES, _RADII, 0.3, 0.1)
        assert cut is not None
    x = table[(table[:, 0] > 0) & np.isfinite(table).all(axis=1)][:, 1:]
    cell = (x @ _CENTRES.T - (_CENTRES**2).sum(axis=1) / 2).argmax(axis=1)
    shortened = 0
    for j, (frame, g) in enumerate(zip(_FRAMES, _RADII, strict=True)):
        w = (x[cell == j] - frame.centre) @ frame.back
        length = np.hypot(w[:, 0], w[:, 1])
        shortened += int((length > g).sum())
        w *= np.minimum(1.0, g / length)[:, None]
        assert lifted.counts[j] == pytest.approx(len(w), rel=1e-12)
        assert lifted.sums[j] == pytest.approx(w.sum(axis=0), abs=1e-4 * g)
        assert lifted.squares[j] == pytest.approx(w.T @ w, abs=1e-4 * g**2)
    assert cut[0] == pytest.approx(shortened / len(table))


def test_a_sum_and_its_number_are_those_of_the_cut_rows() -> None:
    table = np.vstack([_table(400), [[1.0, math.inf, 0.0], [0.0, 5.0, 5.0]]])
    with _session(table, Privacy(1.0)) as session:
        found, cut = session.vector_sum(0.9, _FRAMES[0], 2.0, 0.1)
        assert cut is not None
    x = table[(table[:, 0] > 0) & np.isfinite(table).all(axis=1)][:, 1:]
    w = x @ _FRAMES[0].back
    length = np.linalg.norm(w, axis=1)
    w *= np.minimum(1.0, 2.0 / length)[:, None]
    assert found.count == pytest.approx(len(w), rel=1e-9)
    assert found.total == pytest.approx(w.sum(axis=0), abs=1e-6)
    assert cut[0] == pytest.approx((length > 2.0).sum() / len(table))


# --- the law of the noise ------------------------------------------------------------------------


def _check_law(scaled: list[Any]) -> None:
    """Residuals in their sds, (draws, coordinates): standard normal, and none goes with another."""
    z = np.array(scaled).reshape(len(scaled), -1)
    for rest in (z, z.sum(axis=1) / math.sqrt(z.shape[1])):
        low, high = stats.chi2.ppf([_ALARM / 2, 1 - _ALARM / 2], rest.size)
        assert low < (rest**2).sum() < high


def _draws(
    total: Cost, way: Callable[[CellSession, float], Any], count: int = 400
) -> tuple[Any, Iterator[Any]]:
    """What a release says without noise, and what it says again and again with it."""
    table = _table(40)
    with _session(table, total) as session:
        silent = way(session, 1 / count)

    def noisy() -> Iterator[Any]:
        with _session(table, total, SeededNoise(3)) as session:
            for _ in range(count):
                yield way(session, 1 / count)

    return silent, noisy()


def _lifted(session: CellSession, share: float) -> Any:
    return session.lifted(min(share, session.left), _SPLIT, _FRAMES, _RADII, 0.5)[0]


@pytest.mark.parametrize("part", ["counts", "sums", "diagonal", "off the diagonal"])
def test_lifted_noise_has_the_sd_that_is_said_of_every_part(part: str) -> None:
    silent, noisy = _draws(Privacy(2.0), _lifted)
    above = np.triu_indices(_D, 1)

    def scaled(found: Any) -> Any:
        if part == "counts":
            return (found.counts - silent.counts) / found.counts_sd
        if part == "sums":
            return (found.sums - silent.sums) / found.sums_sd[:, None]
        rest = (found.squares - silent.squares) / found.squares_sd[:, None, None]
        assert (rest == rest.transpose(0, 2, 1)).all()
        if part == "diagonal":
            return np.diagonal(rest, axis1=1, axis2=2)
        return math.sqrt(2) * rest[:, above[0], above[1]]

    _check_law([scaled(found) for found in noisy])


def test_lifted_noise_is_what_the_sensitivity_asks_for() -> None:
    with _session(_table(40), Privacy(2.0), SeededNoise(0)) as session:
        found = _lifted(session, 0.25)
    g = np.array(_RADII)
    sd = math.sqrt(2) * (1 + 0.5**2) / (2.0 * 0.5)  # of rows in units of their radius
    assert found.squares_sd == pytest.approx(sd * g**2)
    assert found.sums_sd == pytest.approx(sd / math.sqrt(2) / 0.5 * g)
    assert found.counts_sd == pytest.approx(np.full(_CELLS, sd / 0.25))


@pytest.mark.slow
def test_lifted_noise_of_all_parts_and_cells_is_independent() -> None:
    silent, noisy = _draws(Privacy(2.0), _lifted)
    above = np.triu_indices(_D, 1)
    rows = []
    for found in noisy:
        squares = (found.squares - silent.squares) / found.squares_sd[:, None, None]
        parts = [
            (found.counts - silent.counts)[:, None] / found.counts_sd[:, None],
            (found.sums - silent.sums) / found.sums_sd[:, None],
            np.diagonal(squares, axis1=1, axis2=2),
            math.sqrt(2) * squares[:, above[0], above[1]],
        ]
        rows.append(np.concatenate(parts, axis=1).ravel())
    z = np.array(rows)
    products = (z.T @ z)[np.triu_indices(z.shape[1], 1)] / math.sqrt(len(z))
    # products have heavier tails than a normal: Chernoff's bound is within 16 times its level here
    assert np.abs(products).max() < stats.norm.isf(_ALARM / 2 / products.size / 16)


def test_pure_lifted_noise_has_a_length_that_is_gamma_distributed() -> None:
    epsilon, count = 3.0, 400
    silent, noisy = _draws(PurePrivacy(epsilon), _lifted, count)
    q = _CELLS * (_D + 1) * (_D + 2) // 2
    g = np.array(_RADII)[:, None]
    lengths = []
    for found in noisy:
        parts = [
            (found.counts - silent.counts)[:, None] * 0.5**2,
            (found.sums - silent.sums) * math.sqrt(2) * 0.5 / g,
            ((found.squares - silent.squares) / g[:, None] ** 2).reshape(_CELLS, -1),
        ]
        lengths.append(float(np.linalg.norm(np.concatenate(parts, axis=1))))
    scale = math.sqrt(2) * (1 + 0.5**2) / (epsilon / count)
    low, high = stats.gamma.ppf([_ALARM / 2, 1 - _ALARM / 2], q * count)
    assert low < sum(lengths) / scale < high
    assert found.squares_sd[0] == pytest.approx(scale * math.sqrt(q + 1) * g[0, 0] ** 2, rel=1e-3)


@pytest.mark.parametrize("total", [Privacy(2.0), PurePrivacy(2.0)])
def test_noise_of_a_sum_and_its_number_has_the_sd_that_is_said(total: Cost) -> None:
    def way(session: CellSession, share: float) -> Any:
        return session.vector_sum(min(share, session.left), _FRAMES[0], 2.0)[0]

    silent, noisy = _draws(total, way)
    drawn = list(noisy)
    z = [
        np.append((f.total - silent.total) / f.total_sd, (f.count - silent.count) / f.count_sd)
        for f in drawn
    ]
    sd = drawn[0].total_sd
    assert drawn[0].count_sd == pytest.approx(sd / (math.sqrt(3) * 2.0))
    if isinstance(total, Privacy):
        assert sd == pytest.approx(2 * 2.0 / 2.0 * math.sqrt(len(drawn)))
        _check_law(z)
        return
    scale = 2 * 2.0 * len(drawn) / total.at
    assert sd == pytest.approx(scale * math.sqrt(_D + 2), rel=1e-3)
    low, high = stats.gamma.ppf([_ALARM / 2, 1 - _ALARM / 2], (_D + 1) * len(drawn))
    assert low < sum(float(np.linalg.norm(v)) for v in z) * sd / scale < high


@pytest.mark.parametrize("total", [Privacy(0.5), PurePrivacy(0.5)])
@pytest.mark.parametrize("what", ["counts", "lengths", "zones"])
def test_noise_of_counts_has_the_sd_that_is_said(total: Cost, what: str) -> None:
    def way(session: CellSession, share: float) -> tuple[Floats, float]:
        share = min(share, session.left)
        if what == "counts":
            return session.counts(share, _SPLIT, _CELLS)
        if what == "lengths":
            found = session.lengths(share, _SPLIT, _FRAMES, -2, 4)
            return np.concatenate([h.counts for h in found]), found[0].noise_sd
        zones, sd = session.zones(share, _SPLIT, _TESTS)
        return np.concatenate(zones), sd

    (silent, sd), noisy = _draws(total, way, 200)
    z = [(counts - silent) / sd for counts, _ in noisy]
    most = 2 if what == "zones" else 1
    if isinstance(total, Privacy):
        assert sd == pytest.approx(math.sqrt(2 * most * 200) / 0.5)
        _check_law(z)
        return
    assert sd == pytest.approx(math.sqrt(2) * 2 * most * 200 / 0.5)
    sizes = np.abs(np.array(z)) * math.sqrt(2)  # exponential
    low, high = stats.gamma.ppf([_ALARM / 2, 1 - _ALARM / 2], sizes.size)
    assert low < sizes.sum() < high


def _one_matrix(total: Any, sd: float, off_sd: float, seed: int) -> Floats:
    """Symmetric noise for one matrix, drawn above the diagonal and then on it."""
    d, noise = len(total), SeededNoise(seed)
    drawn = np.zeros((d, d), dtype=object)
    upper = np.triu_indices(d, 1)
    drawn[upper] = noise.integers(off_sd, len(upper[0])).astype(object)
    drawn = drawn + drawn.T
    drawn[np.diag_indices(d)] = noise.integers(sd, d).astype(object)
    return np.asarray(total + drawn, dtype=float)


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("isometric", [True, False])
def test_a_stack_of_one_matrix_is_released_as_the_matrix_itself(d: int, isometric: bool) -> None:
    total = np.array(np.arange(d * d).reshape(d, d), dtype=object)
    total = total + total.T
    single, stack = (
        release_symmetric("m", t, 1e7, 1.0, Privacy(1.0), SeededNoise(d), isometric=isometric)
        for t in (total, total[None])
    )
    assert (single.value == stack.value[0]).all()
    between = math.sqrt(2) if isometric else 1.0
    expected = _one_matrix(total, single.noise_sd, single.noise_sd / between, d)
    assert (single.value == expected).all()
    assert (single.noise_sd, single.sensitivity) == (stack.noise_sd, stack.sensitivity)


def test_a_stack_of_one_matrix_has_the_same_pure_noise() -> None:
    total = np.full((3, 3), 5, dtype=object)
    found = [
        release_symmetric("m", t, 1e7, 1.0, PurePrivacy(1.0), SeededNoise(1)).value
        for t in (total, total[None])
    ]
    assert (found[0] == found[1][0]).all()
    assert (found[0] == found[0].T).all()


# --- what is spent -------------------------------------------------------------------------------


class _Unread(Arrays):
    """A table that must not be read."""

    def pieces(self, size: int) -> Iterator[Callable[[], Slab]]:
        raise AssertionError("the table was read")


@pytest.mark.parametrize("total", [Privacy(1.0), PurePrivacy(1.0)])
@pytest.mark.parametrize("name", list(_ways(1.0)))
@pytest.mark.parametrize("share", [0.0, -0.5, math.nan, 1.1, 0.6])
def test_what_exceeds_the_total_is_refused_before_a_row_is_read(
    total: Cost, name: str, share: float
) -> None:
    source = _Unread(_table(5), np.zeros(5))
    with CellSession(source, np.zeros(2), np.ones(2), total, NonPrivateSilence()) as session:
        session.left = 0.5
        with pytest.raises(ValueError, match="exceed"):
            _ways(share)[name](session)
        assert session.releases == []


@pytest.mark.parametrize("total", [Privacy(0.8), PurePrivacy(0.8)])
@pytest.mark.parametrize("share", [0.3, 1 / 7])
def test_releases_cost_their_shares_and_no_more_than_the_total(total: Cost, share: float) -> None:
    rng = np.random.default_rng(1)
    names = list(_ways(1.0))
    with _session(_table(30), total, SeededNoise(1)) as session:
        while session.left > share:
            _ways(share)[names[rng.integers(len(names))]](session)
        _ways(session.left)[names[0]](session)
        with pytest.raises(ValueError, match="exceed"):
            session.counts(1e-9, _SPLIT, _CELLS)
    if isinstance(total, PurePrivacy):
        spent = sum(r.cost.at for r in session.releases if isinstance(r.cost, PurePrivacy))
        assert spent == pytest.approx(total.at, rel=1e-12)
    else:
        assert sum(r.cost.mu**2 for r in session.releases) == pytest.approx(total.mu**2, rel=1e-12)
        for release in session.releases:
            assert release.noise_sd == pytest.approx(release.sensitivity / release.cost.mu)


def test_a_share_of_cut_rows_that_is_not_paid_for_is_not_released() -> None:
    with _session(_table(30), Privacy(1.0)) as session:
        assert session.lifted(0.5, _SPLIT, _FRAMES, _RADII, 0.5)[1] is None
        assert session.vector_sum(0.5, _FRAMES[0], 1.0)[1] is None
        assert len(session.releases) == 2


# --- whole calls ---------------------------------------------------------------------------------


def _frame(x: Floats) -> pd.DataFrame:
    return pd.DataFrame(x, columns=[f"x{j}" for j in range(x.shape[1])])


_SHAPE = np.diag([1.0, 1e-4, 1e-8])
# rows, public rows, shape of private rows, options; rounds made less those planned
_CALLS: dict[str, tuple[int, int, Floats, dict[str, Any], str]] = {
    "none planned": (20, 10, np.eye(3), {"rho": 0.5}, "none"),
    "as planned": (3000, 200, np.eye(3), {"rho": 0.5}, "any"),
    "early stop": (3000, 4, np.eye(3), {"rho": 0.5, "gamma": 0.9}, "fewer"),
    "extension": (20_000, 8, _SHAPE, {"rho": 0.5}, "more"),
    "few public rows": (3000, 2, np.eye(3), {"rho": 0.5}, "any"),
    "no shape, extended": (20_000, 2, _SHAPE, {"rho": 0.5, "cond": 10.0}, "more"),
    "pure": (3000, 10, np.eye(3), {"epsilon": 2.0}, "any"),
    "pure, extended": (20_000, 8, _SHAPE, {"epsilon": 3.0}, "more"),
    "both": (3000, 10, np.eye(3), {"epsilon": 2.0, "delta": 1e-5}, "any"),
    "pooled": (3000, 10, np.eye(3), {"rho": 0.1, "pool": True}, "any"),
}


@pytest.mark.parametrize("name", _CALLS)
def test_shares_of_a_covariance_add_up_to_one_on_every_path(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    n, m, shape, options, path = _CALLS[name]
    made: list[int] = []

    def watched(
        session: Any, partition: Any, cells: Any, schedule: Schedule, **more: Any
    ) -> Rounds:
        found = refine(session, partition, cells, schedule, **more)
        made.extend([found.made, schedule.rounds])
        return found

    monkeypatch.setattr(gaussian_fit, "refine", watched)
    rng = np.random.default_rng(0)
    private, public = _frame(rng.normal(size=(n, 3)) @ shape), _frame(rng.normal(size=(m, 3)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlanWarning)
        fit = dp_mvnorm(list(public.columns), private, public, seed=1, **options)
    assert fit.privacy.mechanisms["share"].sum() == pytest.approx(1.0, abs=1e-9)
    assert path != "none" or made == [0, 0]
    assert path != "fewer" or made[0] < made[1]
    assert path != "more" or made[0] > made[1]


@pytest.mark.parametrize("cost", [{"rho": 0.5}, {"epsilon": 1.0}])
def test_shares_of_the_papers_pipeline_add_up_to_one(cost: dict[str, float]) -> None:
    rng = np.random.default_rng(0)
    private, public = _frame(rng.normal(size=(3000, 2))), _frame(rng.normal(size=(9, 2)))
    fit = dp_mvnorm(["x0", "x1"], private, public, seed=1, method="paper", **cost)
    assert fit.privacy.mechanisms["share"].sum() == pytest.approx(1.0, abs=1e-9)


# public rows, their distance, options; number of sums
_MEANS: dict[str, tuple[int, float, dict[str, Any], int]] = {
    "one round": (50, 0.0, {"covariance": "identity"}, 1),
    "two rounds": (1, 0.0, {"covariance": 1.0, "gamma": 0.99}, 2),
    "lengths": (200, 0.0, {}, 1),
    "lengths, far": (200, 90.0, {}, 2),
    "paper": (5, 0.0, {"covariance": "identity", "method": "paper"}, 1),
}


@pytest.mark.parametrize("cost", [{"rho": 0.5}, {"epsilon": 1.0}])
@pytest.mark.parametrize("name", _MEANS)
def test_shares_of_a_mean_add_up_to_one_on_every_path(name: str, cost: dict[str, float]) -> None:
    m, away, options, sums = _MEANS[name]
    rng = np.random.default_rng(0)
    private, public = _frame(rng.normal(size=(3000, 8))), _frame(rng.normal(size=(m, 8)) + away)
    fit = dp_mean(list(public.columns), private, public, seed=1, **options, **cost)
    told = fit.privacy.mechanisms
    assert told["share"].sum() == pytest.approx(1.0, abs=1e-9)
    assert (told["released"] == "sum and number of rows").sum() == sums


@pytest.mark.parametrize("regime", ["public", "private"])
@pytest.mark.parametrize("k", [None, 1, 2, 4])
@pytest.mark.parametrize("apart", [6.0, 200.0])
def test_shares_of_a_mixture_add_up_to_one_at_most(
    regime: str, k: int | None, apart: float
) -> None:
    rng = np.random.default_rng(0)

    def rows(n: int) -> pd.DataFrame:
        return _frame(rng.normal(size=(n, 2)) + apart * rng.integers(0, 2, (n, 2)))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlanWarning)
        fit = dp_mixture(["x0", "x1"], rows(4000), rows(60), k, rho=0.5, regime=regime, seed=1)
    spent = fit.privacy.mechanisms["share"].sum()
    assert spent <= 1 + 1e-9
    assert spent == pytest.approx(1.0, abs=1e-9)


def _broken(kind: str, n: int) -> Floats:
    x = np.random.default_rng(1).normal(size=(n, 2))
    if kind == "line":
        x[:, 1] = x[:, 0]
    elif kind == "one number":
        x[1:] = math.nan
    elif kind == "alternating":
        x[:] = 1e89 * (-1.0) ** np.arange(n)[:, None]
    elif kind != "heavy":
        x[:] = float(kind)
    else:
        x /= np.random.default_rng(2).random((n, 1)) ** 9
    return x


@pytest.mark.parametrize(
    "kind",
    ["nan", "inf", "0", "3", "1e308", "5e-324", "line", "one number", "alternating", "heavy"],
)
@pytest.mark.parametrize("call", [dp_mean, dp_mvnorm, dp_mixture])
def test_no_private_table_raises_or_warns_or_is_changed(kind: str, call: Any) -> None:
    private = _frame(_broken(kind, 2000))
    before = private.copy()
    options = {"k": 3, "regime": "private"} if call is dp_mixture else {}
    for m, cost in ((6 if call is dp_mixture else 3, 1e4), (30, 1e-3), (30, 0.5)):
        public = _frame(np.random.default_rng(3).normal(size=(m, 2)) * [1.0, 1e3])
        seen = public.copy()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PlanWarning)
            fit = call(["x0", "x1"], private, public, rho=cost, seed=1, **options)
        assert fit.privacy.mechanisms["share"].sum() == pytest.approx(1.0, abs=1e-9)
        assert np.isfinite(fit.means if call is dp_mixture else fit.mean).all(axis=None)
        assert np.isfinite(fit.sample(5, seed=1)).all(axis=None)
        assert str(fit.summary())
        pd.testing.assert_frame_equal(public, seen)
    pd.testing.assert_frame_equal(private, before)


def test_private_objects_print_no_numbers() -> None:
    table = np.column_stack([np.ones(4), np.full((4, _D), 777.125)])
    with _session(table, Privacy(1.0)) as session:
        _lifted(session, 0.5)
        for thing in (session, session._rows):
            assert "777" not in repr(thing)
            assert "array" not in repr(thing)


def test_a_failed_pass_says_nothing_of_what_it_saw() -> None:
    x = np.column_stack([np.ones(50), np.random.default_rng(0).normal(size=(50, 2))])
    session = CellSession(
        Arrays(x, np.zeros(50)), np.zeros(2), np.ones(2), Privacy(1.0), NonPrivateSilence()
    )

    def place(y: np.ndarray) -> np.ndarray:
        raise MemoryError(f"Unable to allocate an array with shape {y.shape}")

    test = Zones(0, np.zeros(2), np.eye(2), np.ones(2), place, 3)
    with pytest.raises(PassError) as caught:
        session.zones(0.5, (), [test])
    shown = "".join(traceback.format_exception(caught.value))
    assert "shape" not in shown.replace("MemoryError(f", "")
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_a_partition_has_as_many_cells_as_are_counted() -> None:
    x = np.column_stack([np.ones(50), np.random.default_rng(0).normal(size=(50, 2))])
    session = CellSession(
        Arrays(x, np.zeros(50)), np.zeros(2), np.ones(2), Privacy(1.0), NonPrivateSilence()
    )
    centres = np.array([[0.0, 0.0], [9.0, 9.0], [99.0, 99.0]])
    split = Split(0, nearest(centres, np.zeros(2), np.ones(2)), (0, 1, 2))
    with pytest.raises(ValueError, match="other cells"):
        session.counts(0.5, (split,), 2)
    assert number_of_cells((split,)) == 3
