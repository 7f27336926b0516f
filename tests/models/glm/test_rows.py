"""Sensitivities of a generalised linear model's releases hold for every pair that a search can find."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpstats.accounting.privacy import Privacy
from dpstats.mechanism.release import Release
from dpstats.models.glm.family import Family, resolve_family
from dpstats.models.glm.releases import FamilySession
from dpstats.models.glm.rows import FamilyRows
from tests.mechanism.sources import Arrays, NonPrivateSilence

_N, _D = 24, 3
_RNG = np.random.default_rng(1)
_X, _Y = _RNG.normal(size=(_N, _D)), _RNG.integers(0, 2, _N).astype(float)
_WHITENING = np.array([[1.0, 0.2, 0.0], [0.0, 1.5, -0.3], [0.1, 0.0, 0.7]])
_SHIFT = np.array([0.3, -1.0, 0.0])
_ANCHOR = np.array([0.5, -0.2, 0.1])
_FAMILIES = {
    name: resolve_family(name)
    for name in (
        "binomial",
        "binomial(probit)",
        "binomial(cloglog)",
        "poisson",
        "gamma",
        "gaussian",
    )
} | {"negative binomial": Family("negative binomial", "log", 0.5)}

_hostile = st.one_of(
    st.floats(-5, 5),
    st.sampled_from(
        [0.0, math.nan, math.inf, -math.inf, 1e308, -1e308, 1e-308, 5e-324, 1e-160, 2.0**70, 64.1]
    ),
)
_response = st.one_of(
    st.sampled_from([0.0, 1.0, 0.5, -1.0, 1e300, 5e-324, math.nan, math.inf]), st.floats(0, 50)
)
_weight = st.sampled_from([1.0, 0.0, 1e-300, 3.0, 1e200])
_row = st.tuples(st.lists(_hostile, min_size=_D, max_size=_D), _response, _weight)


def _releases(
    family: Family, row: tuple[list[float], float, float], bound: float, cached: bool
) -> list[Release]:
    """Every release at fixed parameters, without noise."""
    x, y, w = _X.copy(), _Y.copy(), np.ones(_N)
    x[-1], y[-1], w[-1] = row
    source = Arrays(x, y, weight=w)
    out: list[Release] = []
    for truncation in (None, 1.7):
        with FamilySession(
            source, family, _WHITENING, _SHIFT, truncation, Privacy(1.0), NonPrivateSilence()
        ) as session:
            session._rows._cache_fits = cached
            session.length_histograms(0.1, _ANCHOR, ((-8, 16), (-8, 16)))
            session.response_histogram(0.1, -8, 16)
            session.moments(0.1, bound)
            session.round((0.1, 0.1), _ANCHOR, bound, 0.6 * bound)
            session.final_round((0.1, 0.1, 0.1, 0.1), 0 * _ANCHOR, 2 * bound, bound, 1.5)
            out += session.releases
    return out


@settings(max_examples=80, deadline=None, derandomize=True)
@given(
    st.sampled_from(sorted(_FAMILIES)),
    _row,
    _row,
    st.sampled_from([1e-18, 1e-6, 0.7, 3.0, 1e5]),
    st.booleans(),
)
@example("poisson", ([1e-160] * 3, 1e300, 1.0), ([1e-160] * 3, 0.0, 1.0), 0.7, True)
@example("gaussian", ([50.0, 0, 0], 1e300, 1.0), ([50.0, 0, 0], -1e300, 1e200), 0.7, False)
@example("gaussian", ([3.8e305, 0, 0], 3.8e305, 1.0), ([3.8e305, 0, 0], -3.8e305, 1.0), 1e-18, True)
@example("poisson", ([4e305, 1e305, 0], 1.0, 1.0), ([0.0, 0, 0], 1.0, 1.0), 1e-16, True)
@example("binomial", ([9.0, 0, 0], 1.0, 1.0), ([9.0, 0, 0], 0.0, 1.0), 0.7, True)
def test_replacing_a_row_moves_no_release_by_more_than_its_sensitivity(
    name: str,
    first: tuple[list[float], float, float],
    second: tuple[list[float], float, float],
    bound: float,
    cached: bool,
) -> None:
    family = _FAMILIES[name]
    one, two = (_releases(family, row, bound, cached) for row in (first, second))
    for a, b in zip(one, two, strict=True):
        assert a.sensitivity == b.sensitivity
        assert np.isfinite(a.value).all()
        assert np.linalg.norm(a.value - b.value) <= a.sensitivity * (1 + 1e-9)


@pytest.mark.parametrize("bound", [0.0, 5e-324, math.nan, math.inf, 1e300])
def test_bounds_that_noise_has_thrown_off_are_brought_back(bound: float) -> None:
    found = []
    for x in (1e300, 0.0):
        source = Arrays(np.array([[1.0], [x]]), np.array([1.0, 1.0]))
        with FamilySession(
            source,
            _FAMILIES["gaussian"],
            np.eye(1),
            np.zeros(1),
            None,
            Privacy(1.0),
            NonPrivateSilence(),
        ) as session:
            session.moments(0.1, bound)
            session.round((0.1, 0.1), np.zeros(1), bound, bound)
            session.final_round((0.1, 0.1, 0.1, 0.1), np.zeros(1), bound, bound, bound)
            found.append(session.releases)
    for a, b in zip(*found, strict=True):
        assert np.isfinite(a.value).all()
        assert np.linalg.norm(a.value - b.value) <= a.sensitivity * (1 + 1e-9)


def test_the_sensitivity_of_a_score_is_attained() -> None:
    found = []
    for y in (1e9, -1e9):
        x = np.full((4, 1), 1.0)
        source = Arrays(x, np.array([0.0, 0.0, 0.0, y]))
        one = np.eye(1)
        with FamilySession(
            source, _FAMILIES["gaussian"], one, np.zeros(1), None, Privacy(1.0), NonPrivateSilence()
        ) as session:
            found.append(session.round((0.5, 0.5), np.zeros(1), 2.0, 3.0)[1])
    moved = np.linalg.norm(found[0].value - found[1].value)
    assert moved == pytest.approx(found[0].sensitivity, rel=1e-6)


def test_without_cuts_the_sums_are_those_of_the_model() -> None:
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=(300, _D)), rng.poisson(2.0, 300).astype(float)
    w = rng.uniform(0, 2, 300)
    family = _FAMILIES["poisson"]
    z = x @ _WHITENING
    eta = x @ _SHIFT + z @ _ANCHOR
    mean = np.exp(eta)
    with FamilySession(
        Arrays(x, y, weight=w), family, _WHITENING, _SHIFT, None, Privacy(1.0), NonPrivateSilence()
    ) as session:
        information, score, rest = session.final_round((0.2,) * 4, _ANCHOR, 1e3, 1e3, 1e3)
    assert score.value == pytest.approx(z.T @ (w * (y - mean)) / 300, rel=1e-9)
    expected = (z * (w * mean)[:, None]).T @ z / 300
    assert information.value == pytest.approx(expected, rel=1e-4, abs=1e-4)
    assert rest.mean_square == pytest.approx(float((w * (y - mean) ** 2 / mean).mean()), rel=1e-2)
    assert rest.cut_share == 0
    assert rest.empty_share == pytest.approx(float((w == 0).mean()))


@pytest.mark.parametrize(("name", "response"), [("poisson", -1.0), ("gamma", 0.0), ("binomial", 2)])
def test_impossible_responses_are_empty_rows(name: str, response: float) -> None:
    source = Arrays(np.ones((8, 1)), np.array([response] * 4 + [1.0] * 4))
    one = np.eye(1)
    with FamilySession(
        source, _FAMILIES[name], one, np.zeros(1), None, Privacy(1.0), NonPrivateSilence()
    ) as session:
        rest = session.final_round((0.2,) * 4, np.zeros(1), 1.0, 1.0, 1.0)[2]
    assert rest.empty_share == 0.5


def _all_sums(x: np.ndarray, y: np.ndarray, size: int | None, cached: bool = True) -> list[object]:
    rows = FamilyRows(Arrays(x, y, size), _FAMILIES["poisson"], _WHITENING, _SHIFT)
    rows._cache_fits = cached
    sums = rows.sums(_ANCHOR, 2.0, 1.5, 3.0)
    out = [*rows.length_counts(_ANCHOR, ((-8, 16), (-8, 16))), rows.moments(2.0)]
    out += [sums.information, sums.score, sums.pearson, sums.cut, sums.empty]
    rows.close()
    return [np.asarray(v).tolist() for v in out]


@pytest.mark.parametrize("n", [1, 1000, 140_000])
def test_sums_are_the_same_bits_for_any_order_block_and_cache(n: int) -> None:
    rng = np.random.default_rng(2)
    x = rng.standard_t(2, size=(n, _D)) * [1, 3.0, 1e-3]
    y = rng.poisson(1.0, n).astype(float)
    whole = _all_sums(x, y, None)
    order = rng.permutation(n)
    assert _all_sums(np.asfortranarray(x[order]), y[order], None) == whole
    assert _all_sums(x, y, None, cached=False) == whole
    for size in (1, 7, 777) if n <= 1000 else (9973,):
        assert _all_sums(x, y, size) == whole


class _Broken:
    """A family that returns nonsense."""

    def working(self, eta: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        bad = np.resize([math.nan, math.inf, -math.inf, -5.0, 1e308], len(eta))
        return bad, bad, bad

    def possible(self, y: np.ndarray) -> np.ndarray:
        return np.ones(len(y), dtype=np.bool_)


def test_no_bound_relies_on_what_a_family_returns() -> None:
    rows = FamilyRows(Arrays(_X, _Y), _Broken(), _WHITENING, _SHIFT)
    sums = rows.sums(_ANCHOR, 2.0, 1.5, 3.0)
    steps = rows.grid.steps
    assert np.linalg.norm(sums.score.astype(float)) <= _N * rows.grid.fine
    assert np.trace(sums.information.astype(float)) <= _N * steps**2
    rows.close()


def test_private_objects_print_no_numbers() -> None:
    rows = FamilyRows(
        Arrays(np.full((4, _D), 777.125), _Y[:4]), _FAMILIES["poisson"], _WHITENING, _SHIFT
    )
    slabs = list(rows._over(lambda s: s))
    for thing in (rows, slabs, rows.sums(_ANCHOR, 1.0, 1.0, 1.0)):
        assert "777" not in repr(thing)
        assert "array" not in repr(thing)
    rows.close()
