"""Releases from rows that components share: sensitivities, sums, and blocks of any size."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import special, stats

from dpstats.accounting.privacy import Privacy
from dpstats.mechanism.release import Release
from dpstats.models.gaussian.rows import CellCoordinates
from dpstats.models.mixture.releases import MixtureSession
from dpstats.models.mixture.rows import SoftCells
from tests.mechanism.sources import Arrays, NonPrivateSilence

Floats = np.ndarray

_CENTRES = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 9.0]])
_BACK = np.array([[1.0, 0.4], [-0.2, 2.0]])
_FRAMES = tuple(CellCoordinates(c, _BACK, np.linalg.inv(_BACK)) for c in _CENTRES)
_THREE = SoftCells(_FRAMES, (-4.0, -4.5, -3.0))
_TWO = SoftCells(_FRAMES[:2], (-0.5, -1.0))
_RADII = (2.0, 2.0, 3.0)
_LIFT, _CLIP, _FAR = 0.7, 1.5, 2.0
_EDGES = np.array([-40.0, -8.0, -5.0, -4.0])


def _session(table: Floats, size: int | None = None) -> MixtureSession:
    source = Arrays(table, np.zeros(len(table)), size)
    return MixtureSession(source, np.zeros(2), np.ones(2), Privacy(1.0), NonPrivateSilence())


def _table(n: int, seed: int = 0) -> Floats:
    rng = np.random.default_rng(seed)
    x = _CENTRES[rng.integers(0, 3, n)] + rng.normal(size=(n, 2))
    return np.column_stack([rng.random(n) < 0.9, x]).astype(float)


def _releases(table: Floats, size: int | None = None) -> list[Release]:
    with _session(table, size) as session:
        session.soft(0.25, _THREE, _RADII, _LIFT, 0.25)
        session.likelihoods(0.25, [_TWO, _THREE], _CLIP)
        session.shapes(0.15, _THREE, _FAR)
        session.densities(0.1, _THREE, _EDGES)
    return session.releases


_hostile = st.one_of(
    st.floats(-12, 12),
    st.sampled_from([0.0, math.nan, math.inf, 1e308, -1e308, 5e-324, 2.0**70, 1.5, 1e89, 2.0**300]),
)
_row = st.tuples(st.sampled_from([0.0, 1.0, 1.0, 1.0]), _hostile, _hostile).map(list)


def _moves(first: list[float], second: list[float], others: int) -> dict[str, float]:
    """Largest moves of releases as parts of their sensitivities, by what was released."""
    rest = _table(others).reshape(-1, 3)
    found = [_releases(np.vstack([rest, [row]])) for row in (first, second)]
    out = {}
    for one, two in zip(*found, strict=True):
        assert one.sensitivity == two.sensitivity
        assert np.isfinite(one.value).all()
        out[one.what] = float(np.linalg.norm((one.value - two.value).ravel())) / one.sensitivity
    return out


@settings(max_examples=150, deadline=None, derandomize=True)
@given(_row, _row, st.sampled_from([0, 1, 12]))
@example([1.0, 1e89, 0.0], [1.0, -1e89, 0.0], 12)
@example([1.0, 1.5, 0.0], [0.0, 0.0, 0.0], 12)
@example([1.0, 1.5, 1.0], [1.0, 9.0, -7.0], 0)
def test_replacing_a_row_moves_no_release_by_more_than_its_sensitivity(
    first: list[float], second: list[float], others: int
) -> None:
    assert max(_moves(first, second, others).values()) <= 1 + 1e-9


def test_some_rows_attain_what_is_claimed() -> None:
    # beyond the first component, beyond the third one, and in the middle of the first
    far, other, middle = [1.0, -30.0, -30.0], [1.0, 0.0, 60.0], [1.0, 0.3, 0.2]
    moments = _moves(far, other, 5)["shared numbers, means and second moments"]
    assert moments == pytest.approx(1.0, rel=1e-3)
    # the third component speaks for three, the weight of the first one for two
    assert _moves(middle, other, 5)["log-likelihoods of mixtures"] == pytest.approx(1.0, rel=1e-6)
    assert _moves(far, middle, 5)["shapes of components"] > 0.95
    assert _moves(far, middle, 5)["rows by density"] == pytest.approx(1.0, rel=1e-6)


def test_sums_are_those_of_the_cut_rows_by_their_shares() -> None:
    table = np.vstack([_table(400), [[1.0, 1e80, -1e81], [0.0, 1.0, 1.0], [1.0, math.nan, 0.0]]])
    with _session(table) as session:
        sums, cut = session.soft(0.3, _THREE, _RADII, _LIFT, 0.1)
        scores, _ = session.likelihoods(0.3, [_TWO, _THREE], 1e3)
        shapes = session.shapes(0.2, _THREE, _FAR)
        counts, _ = session.densities(0.1, _THREE, _EDGES)
    x = table[(table[:, 0] > 0) & np.isfinite(table).all(axis=1)][:, 1:]
    w = [(x - f.centre) @ f.back for f in _FRAMES]
    length = np.array([np.hypot(*one.T) for one in w])
    logs = np.array(_THREE.constants)[:, None] - length**2 / 2
    densities = special.logsumexp(logs, axis=0)
    assert counts == pytest.approx(np.histogram(densities, [-np.inf, *_EDGES, np.inf])[0])
    share = np.exp(logs - logs.max(axis=0))
    share /= share.sum(axis=0)
    assert cut is not None
    for j, (one, g) in enumerate(zip(w, _RADII, strict=True)):
        inside = one * np.minimum(1.0, g / length[j])[:, None]
        assert sums.counts[j] == pytest.approx(share[j].sum(), abs=1e-3)
        assert sums.sums[j] == pytest.approx(share[j] @ inside, abs=1e-3 * g)
        second = (inside * share[j, :, None]).T @ inside
        assert sums.squares[j] == pytest.approx(second, abs=1e-3 * g**2)
        far = np.where(length[j] > _FAR, 1.0, -1.0)
        assert shapes.beyond[j] == pytest.approx(share[j] @ far, abs=1e-6)
        assert shapes.signs[j] == pytest.approx(share[j] @ np.sign(x - _CENTRES[j]), abs=1e-6)
    assert scores.sum() == pytest.approx(0.0, abs=1e-3)


def test_likelihoods_are_those_of_mixtures_less_their_mean() -> None:
    table = _table(300, 4)
    with _session(table) as session:
        scores, _ = session.likelihoods(1.0, [_TWO, _THREE], 1e3)
    x = table[table[:, 0] > 0][:, 1:]
    square = np.array([(((x - c) @ _BACK) ** 2).sum(axis=1) for c in _CENTRES])
    each = [
        special.logsumexp(np.array(one.constants)[:, None] - square[: len(one.frames)] / 2, axis=0)
        for one in (_TWO, _THREE)
    ]
    assert scores[1] - scores[0] == pytest.approx((each[1] - each[0]).sum(), abs=1e-3)


@pytest.mark.parametrize("size", [1, 7, 100])
def test_blocks_of_any_size_give_the_same_bits(size: int) -> None:
    table = _table(300, 3)
    for one, other in zip(_releases(table), _releases(table, size), strict=True):
        assert (one.value == other.value).all()


def test_gaussian_rows_have_the_shapes_that_are_expected_of_them() -> None:
    # 20000 rows: six standard deviations of a share of 5 % are .009
    rng = np.random.default_rng(5)
    table = np.column_stack([np.ones(20_000), rng.normal(size=(20_000, 2))])
    one = SoftCells((CellCoordinates(np.zeros(2), np.eye(2), np.eye(2)),), (0.0,))
    far = math.sqrt(float(stats.chi2.isf(0.05, 2)))
    with _session(table) as session:
        shapes = session.shapes(1.0, one, far)
    assert (shapes.beyond[0] / 20_000 + 1) / 2 == pytest.approx(0.05, abs=0.01)
    assert np.abs(shapes.signs[0] / 20_000).max() < 6 / math.sqrt(20_000)
