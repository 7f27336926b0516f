"""Sensitivities hold for every pair of neighbours that a search can find; sums have no order."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpstats.accounting.privacy import Privacy
from dpstats.mechanism.passes import octave_bins
from dpstats.models.linear.releases import LinearSession
from dpstats.models.linear.rows import LinearRows
from tests.mechanism.sources import Arrays, NonPrivateSilence

_N, _D = 24, 3
_BASE = np.random.default_rng(1).normal(size=(_N, _D + 1))
_WHITENING = np.array([[1.0, 0.2, 0.0], [0.0, 1.5, -0.3], [0.1, 0.0, 0.7]])
_SHIFT = np.array([0.3, -1.0, 0.0])

_hostile = st.one_of(
    st.floats(-5, 5),
    st.sampled_from(
        [0.0, math.nan, math.inf, -math.inf, 1e308, -1e308, 1e-308, 5e-324, 2.0**70, 63.9, 64.1]
    ),
)
_row = st.lists(_hostile, min_size=_D + 1, max_size=_D + 1)


def _session(last_row: list[float], cached: bool, joined: bool) -> LinearSession:
    values = _BASE.copy()
    values[-1] = last_row
    source = Arrays(values[:, :_D], values[:, _D])
    if joined:
        whitening = np.eye(_D + 1)
        whitening[:_D, :_D] = _WHITENING
        how = whitening, np.zeros(_D + 1), Privacy(1.0), NonPrivateSilence()
        session = LinearSession(source, *how, joint=True)
    else:
        session = LinearSession(source, _WHITENING, _SHIFT, Privacy(1.0), NonPrivateSilence())
    session._rows._cache_fits = cached
    return session


def _releases(last_row: list[float], radius: float, cached: bool) -> list[tuple[np.ndarray, float]]:
    """Every release of the package at fixed parameters, without noise, with its sensitivity."""
    with _session(last_row, cached, joined=False) as s:
        s.gram(0.2, radius)
        s.cross(0.1, 2.0)
        out = list(s.releases)
    with _session(last_row, cached, joined=True) as s:
        s.gram(1.0, radius)
        out += s.releases
    return [(r.value, r.sensitivity) for r in out]


@settings(max_examples=100, deadline=None, derandomize=True)
@given(_row, _row, st.sampled_from([0.01, 1.0, 2.5, 1e3]), st.booleans())
@example([50.0, 0, 0, 50.0], [0, 50.0, 0, -50.0], 2.5, True)
@example([2.0, 0, 0, -9.0], [-2.0, 0, 0, -9.0], 1.0, True)
@example([math.nan] * 4, [1e308] * 4, 1.0, False)
def test_replacing_a_row_moves_no_release_by_more_than_its_sensitivity(
    first: list[float], second: list[float], radius: float, cached: bool
) -> None:
    one, two = _releases(first, radius, cached), _releases(second, radius, cached)
    for (a, sensitivity), (b, again) in zip(one, two, strict=True):
        assert sensitivity == again
        assert np.isfinite(a).all()
        assert np.linalg.norm(a - b) <= sensitivity * (1 + 1e-9)


@pytest.mark.parametrize("response", [math.nan, math.inf, 1.7e308])
def test_a_row_without_a_residual_counts_nowhere_however_long_it_is(response: float) -> None:
    """Its exponent may be one that no float has: zero times infinity ended a call."""
    odd = np.array([[1.7e308, 0.0, 0.0]])
    found = []
    for x, y in ((odd, response), (0 * odd, 0.0)):
        rows = np.vstack([_BASE[:, :_D], x]), np.append(_BASE[:, _D], y)
        seen = 1.5 * np.eye(3), np.array([-1.0, 0.0, 0.0])
        with LinearSession(Arrays(*rows), *seen, Privacy(1.0), NonPrivateSilence()) as s:
            s.gram(0.2, 1.0)
            s.cross(0.1, 2.0)
            found.append([release.value for release in s.releases])
    for one, other in zip(*found, strict=True):
        assert np.array_equal(one, other)


def test_the_gram_sensitivity_is_attained() -> None:
    rows = [100.0, 0.0, 0.0, 0.0], [0.0, 100.0, 0.0, 0.0]
    found = []
    for row in rows:
        with LinearSession(
            Arrays(np.array([row[:3]] * 3), np.zeros(3)),
            np.eye(3),
            np.zeros(3),
            Privacy(1.0),
            NonPrivateSilence(),
        ) as s:
            found.append(s.gram(1.0, 2.0))
    moved = np.linalg.norm(found[0].value - found[1].value) / 3
    assert moved == pytest.approx(found[0].sensitivity, rel=1e-4)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(_row, st.sampled_from([0.5, 2.5]))
def test_no_row_is_longer_than_the_radius_after_rounding(row: list[float], radius: float) -> None:
    x = np.array([row[:_D]] * 5)
    table = LinearRows(Arrays(x, np.zeros(5)), _WHITENING, _SHIFT)
    table.cut(radius)
    for slab in table._over(lambda s: s):
        assert (np.linalg.norm(slab.z, axis=0) <= table.grid.steps).all()
        assert (slab.z == np.rint(slab.z)).all()


def _all_sums(x: np.ndarray, y: np.ndarray, size: int | None, cached: bool = True) -> list[object]:
    table = LinearRows(Arrays(x, y, size), _WHITENING, _SHIFT)
    table._cache_fits = cached
    table.cut(2.0)
    out: list[object] = [table.gram(), table.cross(2.0)]
    table.close()
    return [np.asarray(v).tolist() for v in out]


@pytest.mark.parametrize("n", [1, 1000, 140_000])
def test_sums_are_the_same_bits_for_any_order_block_and_cache(n: int) -> None:
    rng = np.random.default_rng(2)
    x, y = rng.standard_t(2, size=(n, _D)) * [1, 100.0, 1e-3], rng.standard_t(2, size=n)
    whole = _all_sums(x, y, None)
    order = rng.permutation(n)
    assert _all_sums(np.asfortranarray(x[order]), y[order], None) == whole
    assert _all_sums(x, y, None, cached=False) == whole
    if n <= 1000:
        for size in (1, 7, 777):
            assert _all_sums(x, y, size) == whole
    else:
        assert _all_sums(x, y, 9973) == whole


def test_bins_are_quarter_octaves_with_exact_edges() -> None:
    values = np.array([0.0, 1.0, 1.2499, 1.25, 1.75, 2.0, 1e-300, 1e300, math.inf])
    counts = octave_bins(values, 0, 2)
    assert counts.tolist() == [3, 1, 0, 1, 1, 0, 0, 2]


def test_weights_multiply_rows_by_their_root() -> None:
    rng = np.random.default_rng(3)
    x, y, w = rng.normal(size=(50, _D)), rng.normal(size=50), rng.uniform(0, 2, 50)
    root = np.sqrt(w)
    plain = LinearRows(Arrays(x * root[:, None], y * root), _WHITENING, _SHIFT)
    weighted = LinearRows(Arrays(x, y, None, w), _WHITENING, _SHIFT)
    for table in (plain, weighted):
        table.cut(1.0)
    assert (plain.gram() == weighted.gram()).all()


def test_private_objects_print_no_numbers() -> None:
    x = np.full((4, _D), 777.125)
    table = LinearRows(Arrays(x, x[:, 0]), _WHITENING, _SHIFT)
    table.cut(1.0)
    slabs = list(table._over(lambda s: s))
    for thing in (table, slabs):
        assert "777" not in repr(thing)
        assert "array" not in repr(thing)
