"""Sensitivities of the releases of score rounds hold for every pair that a search can find."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpstats.accounting.privacy import Privacy
from dpstats.mechanism.lattice import ExactMatrix
from dpstats.mechanism.noise import make_noise
from dpstats.mechanism.release import Release
from dpstats.models.glm.family import Family, resolve_family
from dpstats.score_rounds.releases import ScoreSession, Shares
from dpstats.score_rounds.rounds import both
from dpstats.score_rounds.rows import LeastSquares, RoundCuts, ScoreRows
from tests.mechanism.sources import Arrays, NonPrivateSilence

_N, _D = 24, 3
_RNG = np.random.default_rng(1)
_X, _Y = _RNG.normal(size=(_N, _D)), _RNG.integers(0, 2, _N).astype(float)
_WHITENING = np.array([[1.0, 0.2, 0.0], [0.0, 1.5, -0.3], [0.1, 0.0, 0.7]])
_SHIFT = np.array([0.3, -1.0, 0.0])
_ANCHOR = np.array([0.5, -0.2, 0.1])
_COARSE = ExactMatrix.coarse(
    np.column_stack([_WHITENING, _SHIFT]), np.linalg.norm(np.linalg.inv(_WHITENING), axis=0)
)
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
} | {"negative binomial": Family("negative binomial", "log", 0.5), "linear": LeastSquares()}
_LAST = Shares(information=0.1, score=0.1, outer=0.1, squares=0.08, counts=0.08, excess=0.04)
_LEAN, _LESS = Shares(score=0.01, outer=0.01, excess=0.01), np.array([0.6, -0.7, 0.3])
_AT_ONCE, _LATER = Shares(score=0.01, far=0.01), Shares(score=0.01, outer=0.01, counts=0.01)

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
    family: Family | LeastSquares,
    row: tuple[list[float], float, float],
    bound: float,
    cached: bool,
    coarse: bool,
) -> list[Release]:
    """Every release at fixed parameters, without noise."""
    x, y, w = _X.copy(), _Y.copy(), np.ones(_N)
    x[-1], y[-1], w[-1] = row
    source = Arrays(x, y, weight=w)
    out: list[Release] = []
    for truncation in (None, 1.7):
        with ScoreSession(
            source,
            family,
            _WHITENING,
            _SHIFT,
            Privacy(1.0),
            NonPrivateSilence(),
            truncation,
            _COARSE if coarse else None,
        ) as session:
            session._rows._cache_fits = cached
            session.information_lengths(0.05, _ANCHOR, ((-8, 16), (-8, 16)), 6)
            session.score_lengths(0.05, _ANCHOR, ((-8, 16), (-8, 16)))
            session.score_lengths(0.05, _ANCHOR, ((-8, 16), (-8, 16)), 10)
            session.response_histogram(0.05, -8, 16)
            session.moments(0.1, bound)
            session.long_scores(0.02, _ANCHOR, bound)
            session.round(Shares(score=0.1), _ANCHOR, RoundCuts(0.6 * bound, None))
            session.round(_LAST, 0 * _ANCHOR, RoundCuts(bound, 2 * bound, 1.5))
            session.round(_LEAN, _ANCHOR, RoundCuts(bound, None, less=_LESS))
            far = RoundCuts(bound, None, far=2 * bound)
            session.round(_AT_ONCE, _ANCHOR, far, _LATER)
            passes = session.passes
            session.round(_LATER, _ANCHOR, far)
            assert session.passes == passes
            out += session.releases
    return out


@settings(max_examples=80, deadline=None, derandomize=True)
@given(
    st.sampled_from(sorted(_FAMILIES)),
    _row,
    _row,
    st.sampled_from([1e-18, 1e-6, 0.7, 3.0, 1e5]),
    st.booleans(),
    st.booleans(),
)
@example("poisson", ([1e-160] * 3, 1e300, 1.0), ([1e-160] * 3, 0.0, 1.0), 0.7, True, False)
@example("gaussian", ([50.0, 0, 0], 1e300, 1.0), ([50.0, 0, 0], -1e300, 1e200), 0.7, False, True)
@example(
    "gaussian", ([3.8e305, 0, 0], 3.8e305, 1.0), ([3.8e305, 0, 0], -3.8e305, 1.0), 1e-18, True, True
)
@example("poisson", ([4e305, 1e305, 0], 1.0, 1.0), ([0.0, 0, 0], 1.0, 1.0), 1e-16, True, False)
@example("binomial", ([9.0, 0, 0], 1.0, 1.0), ([9.0, 0, 0], 0.0, 1.0), 0.7, True, True)
@example("linear", ([0.0, 0, 0], 1e300, 1e200), ([0.0, 0, 0], 0.0, 1.0), 0.7, True, False)
@example("linear", ([1e200, 0, 0], 1e300, 1e200), ([1e200, 0, 0], 0.0, 1.0), 0.7, True, False)
def test_replacing_a_row_moves_no_release_by_more_than_its_sensitivity(
    name: str,
    first: tuple[list[float], float, float],
    second: tuple[list[float], float, float],
    bound: float,
    cached: bool,
    coarse: bool,
) -> None:
    family = _FAMILIES[name]
    one, two = (_releases(family, row, bound, cached, coarse) for row in (first, second))
    for a, b in zip(one, two, strict=True):
        assert a.sensitivity == b.sensitivity
        assert np.isfinite(a.value).all()
        assert np.linalg.norm(a.value - b.value) <= a.sensitivity * (1 + 1e-9)


@pytest.mark.parametrize("bound", [0.0, 5e-324, math.nan, math.inf, 1e300])
def test_bounds_that_noise_has_thrown_off_are_brought_back(bound: float) -> None:
    found = []
    for x in (1e300, 0.0):
        source = Arrays(np.array([[1.0], [x]]), np.array([1.0, 1.0]))
        with ScoreSession(
            source,
            _FAMILIES["gaussian"],
            np.eye(1),
            np.zeros(1),
            Privacy(1.0),
            NonPrivateSilence(),
        ) as session:
            session.moments(0.1, bound)
            session.long_scores(0.1, np.zeros(1), bound)
            session.round(_LAST, np.zeros(1), RoundCuts(bound, bound, bound))
            found.append(session.releases)
    for a, b in zip(*found, strict=True):
        assert np.isfinite(a.value).all()
        assert np.linalg.norm(a.value - b.value) <= a.sensitivity * (1 + 1e-9)


@pytest.mark.parametrize("entry", [1e160, 1e308, math.inf, math.nan])
@pytest.mark.filterwarnings("error")
def test_an_anchor_that_no_float_can_follow_moves_no_total_beyond_its_bound(entry: float) -> None:
    """A fit that is no number would become an arbitrary integer."""
    anchor, totals = np.array([entry, -0.2, 0.1]), []
    for last, response in (([1e308, 0.0, 0.0], -1e308), ([0.0, 3.0, 1.0], 1e308)):
        x, y = _X.copy(), _Y.copy()
        x[-1], y[-1] = last, response
        rows = ScoreRows(Arrays(x, y), LeastSquares(), _WHITENING, _SHIFT)
        with np.errstate(all="ignore"):
            counts = rows.length_counts(anchor, ((-8, 16), (-8, 16)))[1]
            score = rows.sums(anchor, RoundCuts(1.5, None)).score
        assert score is not None
        assert 0 <= sum(counts) <= _N
        totals.append((counts, score / rows.grid.fine))
        rows.close()
    one, two = totals
    assert abs(one[0] - two[0]).sum() <= 2
    assert float(np.linalg.norm(np.array(one[1] - two[1], dtype=float))) <= 2


def test_long_scores_count_by_what_is_beyond_a_length_and_no_more_than_once() -> None:
    x, y = np.full((4, 1), 1.0), np.array([1.0, 2.5, -3.0, 100.0])
    one = np.eye(1)
    with ScoreSession(
        Arrays(x, y), _FAMILIES["gaussian"], one, np.zeros(1), Privacy(1.0), NonPrivateSilence()
    ) as session:
        found = session.long_scores(0.5, np.zeros(1), 2.0)
    assert found.value == pytest.approx([(0.5 - 1.0 + 2.0) / 4], rel=1e-6)
    assert found.sensitivity == pytest.approx(2 * 2.0 / 4)


def test_what_the_cut_takes_off_counts_up_to_once_its_length() -> None:
    """In every round that asks for it, also along a direction that is cut farther out."""
    x, y = np.array([[3.0, 0.0], [0.0, 3.0], [3.0, 0.0], [3.0, 0.0]]), np.array([1.5, 1.5, 0.1, 99])
    source, shares = Arrays(x, y), Shares(score=0.1, excess=0.2)
    with ScoreSession(
        source, LeastSquares(), np.eye(2), np.zeros(2), Privacy(1.0), NonPrivateSilence()
    ) as session:
        made = [
            session.round(shares, np.zeros(2), RoundCuts(3.0, None, less=less)).excess
            for less in (None, np.array([math.sqrt(0.5), 0.0]))
        ]
        assert session.round(Shares(score=0.1), np.zeros(2), RoundCuts(3.0, None)).excess is None
    values = [float(one.value[0]) for one in made if one is not None]
    assert values == pytest.approx([(1.5 + 1.5 + 0 + 3) / 4, (0 + 1.5 + 0 + 3) / 4], abs=1e-5)
    assert made[0] is not None
    assert made[0].sensitivity == pytest.approx(3.0 / 4)


def test_two_releases_of_one_score_are_averaged_by_their_variances() -> None:
    with ScoreSession(
        Arrays(_X, _Y), LeastSquares(), np.eye(_D), 0 * _SHIFT, Privacy(1.0), make_noise(1)
    ) as session:
        rounds = [session.round(Shares(score=k), _ANCHOR, RoundCuts(9.0, None)) for k in (0.2, 0.8)]
    (first, second), mean = (r.score for r in rounds), both(*rounds).score
    assert mean.value == pytest.approx(0.2 * first.value + 0.8 * second.value)
    assert mean.noise_sd == pytest.approx(2 * 9.0 / _N, rel=1e-6)


def test_long_scores_count_less_what_the_family_expects_of_them() -> None:
    """At even odds a row of length 6 has the scores 3 and -3; at odds of 1 to 9 5.4 and -0.6.

    Of long rows at even odds two scores differ by all that is claimed, twice the length.
    """
    for row, eta, response, expected in (
        (6.0, 0.0, 1.0, 1.0),
        (6.0, 0.0, 0.0, -1.0),
        (6.0, -np.log(9), 1.0, 2.0 - 0.2),
        (6.0, -np.log(9), 0.0, -0.2),
        (9.0, 0.0, 1.0, 2.0),
        (9.0, 0.0, 0.0, -2.0),
    ):
        source = Arrays(np.full((4, 1), row), np.full(4, response))
        one, at = np.eye(1), np.array([eta / row])
        with ScoreSession(
            source, _FAMILIES["binomial"], one, np.zeros(1), Privacy(1.0), NonPrivateSilence()
        ) as session:
            found = session.long_scores(0.5, at, 2.0)
        assert found.value == pytest.approx([expected], rel=1e-6)
        assert found.sensitivity == pytest.approx(2 * 2.0 / 4)


def test_the_sensitivity_of_a_score_is_attained() -> None:
    found = []
    for y in (1e9, -1e9):
        x = np.full((4, 1), 1.0)
        source = Arrays(x, np.array([0.0, 0.0, 0.0, y]))
        one = np.eye(1)
        with ScoreSession(
            source, _FAMILIES["gaussian"], one, np.zeros(1), Privacy(1.0), NonPrivateSilence()
        ) as session:
            made = session.round(Shares(score=0.5), np.zeros(1), RoundCuts(3.0, None))
            assert made.score is not None
            found.append(made.score)
    moved = np.linalg.norm(found[0].value - found[1].value)
    assert moved == pytest.approx(found[0].sensitivity, rel=1e-6)


def test_the_sensitivity_of_outer_products_is_attained() -> None:
    """By two scores at the cut that are orthogonal."""
    found = []
    for row in ([1.0, 0.0], [0.0, 1.0]):
        source = Arrays(np.array([[0.0, 0.0]] * 3 + [row]), np.array([0.0, 0.0, 0.0, 1e9]))
        with ScoreSession(
            source, LeastSquares(), np.eye(2), np.zeros(2), Privacy(1.0), NonPrivateSilence()
        ) as session:
            made = session.round(Shares(score=0.5, outer=0.5), np.zeros(2), RoundCuts(3.0, None))
            assert made.outer is not None
            found.append(made.outer)
    moved = np.linalg.norm(found[0].value - found[1].value)
    assert moved == pytest.approx(found[0].sensitivity, rel=1e-4)


def test_without_cuts_the_sums_are_those_of_the_model() -> None:
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=(300, _D)), rng.poisson(2.0, 300).astype(float)
    w = rng.uniform(0, 2, 300)
    family = _FAMILIES["poisson"]
    z = x @ _WHITENING
    eta = x @ _SHIFT + z @ _ANCHOR
    mean = np.exp(eta)
    with ScoreSession(
        Arrays(x, y, weight=w), family, _WHITENING, _SHIFT, Privacy(1.0), NonPrivateSilence()
    ) as session:
        made = session.round(_LAST, _ANCHOR, RoundCuts(1e3, 1e3, 1e3))
    information, score, outer, rest = made.information, made.score, made.outer, made.summary
    assert information is not None
    assert score is not None
    assert outer is not None
    assert rest is not None
    scores = z * (w * (y - mean))[:, None]
    assert outer.value == pytest.approx(scores.T @ scores / 300, rel=1e-3, abs=1e-2)
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
    with ScoreSession(
        source, _FAMILIES[name], one, np.zeros(1), Privacy(1.0), NonPrivateSilence()
    ) as session:
        rest = session.round(_LAST, np.zeros(1), RoundCuts(1.0, 1.0)).summary
    assert rest is not None
    assert rest.empty_share == 0.5


def _all_sums(
    x: np.ndarray, y: np.ndarray, size: int | None, cached: bool = True, coarse: bool = False
) -> list[object]:
    prepared = _COARSE if coarse else None
    rows = ScoreRows(Arrays(x, y, size), _FAMILIES["poisson"], _WHITENING, _SHIFT, coarse=prepared)
    rows._cache_fits = cached
    sums = rows.sums(_ANCHOR, RoundCuts(1.5, 2.0, 3.0, outer=True, excess=True, less=_LESS))
    out = [*rows.length_counts(_ANCHOR, ((-8, 16), (-8, 16))), rows.moments(2.0)]
    out.append(rows.long_scores(_ANCHOR, 0.7))
    out += [sums.information, sums.score, sums.outer, sums.excess]
    out += [sums.squares, sums.cut, sums.empty]
    rows.close()
    return [np.asarray(v).tolist() for v in out]


@pytest.mark.parametrize("coarse", [False, True])
@pytest.mark.parametrize("n", [1, 1000, 140_000])
def test_sums_are_the_same_bits_for_any_order_block_and_cache(n: int, coarse: bool) -> None:
    rng = np.random.default_rng(2)
    x = rng.standard_t(2, size=(n, _D)) * [1, 3.0, 1e-3]
    y = rng.poisson(1.0, n).astype(float)
    whole = _all_sums(x, y, None, coarse=coarse)
    order = rng.permutation(n)
    assert _all_sums(np.asfortranarray(x[order]), y[order], None, coarse=coarse) == whole
    assert _all_sums(x, y, None, False, coarse) == whole
    for size in (1, 7, 777) if n <= 1000 else (9973,):
        assert _all_sums(x, y, size, True, coarse) == whole


def test_rows_in_half_of_the_memory_are_no_longer_than_is_said() -> None:
    """Some numbers grow when they are rounded to 24 bits: what is cut by its length must know."""
    rng = np.random.default_rng(1)
    size = 2.0 ** rng.integers(-130, 130, 4000)
    x = np.concatenate([rng.normal(size=(4000, 3)) * size[:, None], np.zeros((2, 3))])
    rows = ScoreRows(
        Arrays(x, np.zeros(len(x))), LeastSquares(), _WHITENING, _SHIFT, coarse=_COARSE
    )
    slabs = list(rows._over(lambda slab: slab))
    z = np.hstack([slab.z for slab in slabs])
    norm = np.concatenate([slab.norm for slab in slabs])
    assert z.dtype == np.float32
    length = np.linalg.norm(z.astype(float), axis=0)
    assert (length <= norm).all()
    kept = norm > 0
    assert length[kept] == pytest.approx(norm[kept], rel=1e-6)
    exact = np.linalg.norm(x @ _COARSE.high[:, :-1], axis=1)
    seen = (exact > 1.0) & (exact < 2.0**99)  # a coarse map knows no digits of shorter ones
    assert length[seen] == pytest.approx(exact[seen], rel=1e-4)
    assert (length[exact > 2.0**101] > 2.0**99).all()
    assert not kept[exact < 2.0**-101].any()


@pytest.mark.parametrize("clip", [1e6, 1e-6])  # no score is cut, or all are
def test_a_row_is_in_one_of_three_counts(clip: float) -> None:
    weights = np.ones(_N)
    weights[:3] = 3.0  # above the bound, by `Arrays`
    y = np.where(np.arange(_N) == 0, -1.0, _Y)  # a row that is empty counts once
    rows = ScoreRows(Arrays(_X, y, weight=weights), _FAMILIES["poisson"], _WHITENING, _SHIFT)
    sums = rows.sums(_ANCHOR, RoundCuts(clip, clip, 1e6))
    cut = 0 if clip > 1 else _N - 3
    assert [int(count[0]) for count in (sums.cut, sums.empty, sums.outside)] == [cut, 1, 2]
    rows.close()


class _Broken:
    """A family that returns nonsense."""

    def working(self, eta: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        bad = np.resize([math.nan, math.inf, -math.inf, -5.0, 1e308], len(eta))
        return bad, bad, bad

    def possible(self, y: np.ndarray) -> np.ndarray:
        return np.ones(len(y), dtype=np.bool_)

    def expected_beyond(self, eta: np.ndarray, unit: np.ndarray, length: float) -> np.ndarray:
        return self.working(eta, eta)[0]


def test_no_bound_relies_on_what_a_family_returns() -> None:
    rows = ScoreRows(Arrays(_X, _Y), _Broken(), _WHITENING, _SHIFT)
    sums = rows.sums(_ANCHOR, RoundCuts(1.5, 2.0, 3.0, outer=True, excess=True))
    steps = rows.grid.steps
    assert sums.score is not None
    assert sums.excess is not None
    assert 0 < sums.excess[0] <= _N * rows.grid.fine
    assert sums.information is not None
    assert sums.outer is not None
    assert np.trace(sums.outer.astype(float)) <= _N * steps**2
    assert np.linalg.norm(sums.score.astype(float)) <= _N * rows.grid.fine
    assert np.trace(sums.information.astype(float)) <= _N * steps**2
    long = rows.long_scores(_ANCHOR, 0.01).astype(float)
    assert 0 < np.linalg.norm(long) <= _N * rows.grid.fine
    rows.close()


def test_private_objects_print_no_numbers() -> None:
    rows = ScoreRows(
        Arrays(np.full((4, _D), 777.125), _Y[:4]), _FAMILIES["poisson"], _WHITENING, _SHIFT
    )
    slabs = list(rows._over(lambda s: s))
    for thing in (rows, slabs, rows.sums(_ANCHOR, RoundCuts(1.0, 1.0, 1.0, True))):
        assert "777" not in repr(thing)
        assert "array" not in repr(thing)
    rows.close()


def test_what_is_not_asked_for_is_not_summed() -> None:
    rows = ScoreRows(Arrays(_X, _Y), LeastSquares(), _WHITENING, _SHIFT)
    sums = rows.sums(_ANCHOR, RoundCuts(None, 1.0, outer=True))
    assert sums.score is None
    assert sums.outer is None
    assert rows.sums(_ANCHOR, RoundCuts(1.0, None)).information is None
    rows.close()


def test_scores_are_those_of_whole_rows() -> None:
    """A long row is cut in the information alone: its score is only as long as its residual makes it."""
    x, y = np.array([[100.0], [1.0]]), np.array([100.01, 1.0])
    with ScoreSession(
        Arrays(x, y), LeastSquares(), np.eye(1), np.zeros(1), Privacy(1.0), NonPrivateSilence()
    ) as session:
        made = session.round(Shares(information=0.5, score=0.5), np.ones(1), RoundCuts(2.0, 2.0))
    assert made.score is not None
    assert made.information is not None
    assert made.score.value == pytest.approx([100 * 0.01 / 2], rel=1e-6)
    assert made.information.value == pytest.approx((4 + 1) / 2, rel=1e-4)
