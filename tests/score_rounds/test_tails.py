"""Tails read from noisy counts: what is there is found, what is noise is not."""

import numpy as np
import pytest

from dpstats.arrays import Floats
from dpstats.numerics.histogram import LogHistogram, merged
from dpstats.score_rounds import tails
from dpstats.score_rounds.cuts import cut_for_intervals
from dpstats.score_rounds.estimate import Moved
from dpstats.score_rounds.notes import allowance_line, tail_note
from dpstats.score_rounds.tails import (
    Tail,
    counted_excess,
    median_excess,
    most_excess,
    tail_of,
)

_N = 10_000
_LOWEST, _OCTAVES, _FINE = -20, 44, 23
_EDGES = LogHistogram(np.zeros(4 * _OCTAVES), 1.0, _LOWEST, _OCTAVES).edges()


def _histogram(lengths: Floats, noise_sd: float, seed: int) -> tuple[LogHistogram, float]:
    """A histogram with whole octaves beyond 2^3, and the quantile that it tells."""
    rng = np.random.default_rng([seed, 3])
    counts = merged(np.histogram(lengths, _EDGES)[0].astype(float), _FINE)
    noisy = counts + noise_sd * rng.normal(size=len(counts))
    histogram = LogHistogram(noisy, noise_sd, _LOWEST, _OCTAVES, _FINE)
    quantile = histogram.quantile(0.9)
    assert quantile is not None
    return histogram, quantile


def _tail(lengths: Floats, noise_sd: float, seed: int) -> tuple[Tail, float]:
    histogram, quantile = _histogram(lengths, noise_sd, seed)
    return tail_of(histogram, quantile, len(lengths)), quantile


def _lengths(seed: int, outliers: int = 0) -> Floats:
    lengths = np.abs(np.random.default_rng(seed).normal(size=_N))
    lengths[:outliers] = 33.0
    return lengths


def test_merged_octaves_hold_what_their_quarters_held() -> None:
    counts = np.arange(4.0 * _OCTAVES)
    plain, some = (
        LogHistogram(c, 1.0, _LOWEST, _OCTAVES, fine)
        for c, fine in ((counts, None), (merged(counts, _FINE), _FINE))
    )
    assert some.counts.sum() == plain.counts.sum()
    assert len(some.edges()) == len(some.counts) + 1
    assert set(some.edges()) <= set(plain.edges())


def _share_beyond(tail: Tail, length: float) -> float:
    return float(np.interp(length, tail.lengths, tail.share))


def test_without_noise_the_tail_is_that_of_the_rows() -> None:
    lengths = _lengths(1, outliers=7)
    tail, _ = _tail(lengths, 1e-6, 1)
    for edge in (2.0, 4.0, 8.0, 16.0, 32.0):
        assert _N * _share_beyond(tail, edge) == pytest.approx((lengths > edge).sum(), abs=1)
    assert _share_beyond(tail, 65.0) == 0


def test_a_bin_of_noise_is_not_read_as_a_tail() -> None:
    """Scales that noise has thrown off would make one fit in ten useless."""
    for seed in range(60):
        tail, quantile = _tail(_lengths(seed), 6.0, seed)
        assert cut_for_intervals(tail, _N, 5, 0.8, 0.4).length < 6 * quantile


def test_outliers_that_can_be_seen_widen_the_cut() -> None:
    for seed in range(20):
        tail, quantile = _tail(_lengths(seed, outliers=100), 6.0, seed)
        cut = cut_for_intervals(tail, _N, 5, 0.8, 0.4)
        assert cut.length > 5 * quantile
        assert 0.3 < _share_beyond(tail, 16.0) * _N / 100 < 2


def test_excess_is_the_integral_of_the_share() -> None:
    lengths = np.linspace(1, 9, 4001)
    tail = Tail(lengths, np.maximum(1 - lengths / 5, 0.0))
    assert tail.excess()[0] == pytest.approx((5 - 1) ** 2 / 10, rel=1e-3)
    assert tail.excess(2)[0] == pytest.approx(25 - 1 - 2 * (125 - 1) / 15, rel=1e-3)


@pytest.mark.parametrize(("law", "worst"), [("normal", 1.5), ("exponential", 2.0)])
def test_the_median_excess_is_near_what_lies_beyond(law: str, worst: float) -> None:
    """Beyond one and a half times the 90 % quantile, of 3 to 5 % of the rows."""
    for seed in range(10):
        lengths = np.abs(getattr(np.random.default_rng(seed), law)(size=_N))
        histogram, quantile = _histogram(lengths, 2.0, seed)
        at = 1.5 * quantile
        lost = np.maximum(lengths**2 - at**2, 0.0).mean()
        tail = tail_of(histogram, quantile, _N, 2)
        assert 1 / worst < median_excess(tail, _N, at) / lost < worst


@pytest.mark.parametrize("law", ["normal", "exponential", "lognormal", "pareto"])
def test_the_most_that_a_cut_takes_off_holds_what_lies_beyond(law: str) -> None:
    """Twenty seeds a law; the upper end of 95 % is missed by 3 of them at most."""
    missed = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        lengths = rng.pareto(3.0, _N) if law == "pareto" else np.abs(getattr(rng, law)(size=_N))
        histogram, quantile = _histogram(lengths, 20.0, seed)
        at = 1.5 * quantile
        lost = np.maximum(lengths**2 - at**2, 0.0).mean()
        tail = tail_of(histogram, quantile, _N, 2)
        most = most_excess(tail, _N, at)
        assert most >= median_excess(tail, _N, at)
        missed += most < lost
    assert missed <= 3


@pytest.mark.parametrize("law", ["normal", "lognormal", "pareto"])
def test_counts_by_themselves_bound_what_a_cut_takes_off(law: str) -> None:
    """Exact counts always do, to a bin's width; noisy ones in all but 1 %: 4 of 20 by chance 4e-5."""
    missed = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        lengths = rng.pareto(3.0, _N) if law == "pareto" else np.abs(getattr(rng, law)(size=_N))
        for noise_sd in (0.01, 4.0):
            histogram, quantile = _histogram(lengths, noise_sd, seed)
            at = 1.5 * quantile
            lost = np.maximum(lengths - at, 0.0).mean()
            most = counted_excess(histogram, tail_of(histogram, quantile, _N), _N, at)
            if noise_sd < 1:
                assert lost <= most
            missed += most < lost
    assert missed <= 3
    exact, quantile = _histogram(lengths, 0.01, 1)
    assert counted_excess(exact, tail_of(exact, quantile, _N), _N, 2 * float(lengths.max())) == 0


def test_a_note_names_what_may_have_moved() -> None:
    moved = Moved(np.array([2.3, 0.3, 1.9]), np.array([12.0, 2.0, 11.0]))
    (note,) = tail_note(["Intercept", "x", "z"], moved, 0.004, 10.0)
    assert "`Intercept`, `z` by 2.3 standard errors, at the worst by 12." in note
    assert "`x`" not in note
    assert "cutting 0.4%" in note
    assert note.startswith(
        "Noise may hide a long tail of residuals: "
    )  # so what would show it comes first
    assert "More rows or a larger budget would show" in note
    (clear,) = tail_note(["x"], Moved(np.array([6.0]), np.array([12.0])), 0.004, 10.0)
    assert clear.startswith("There is a long tail of residuals")
    assert "A logarithm of the response" in clear
    far, near = (Moved(np.array([2.3]), np.array([most])) for most in (12.0, 9.0))
    sharp = Moved(np.array([6.0]), np.array([12.0]))
    (unclear,) = tail_note(["x"], sharp, 0.004, 10.0, in_sight=False)
    assert unclear.startswith("Noise may hide")
    (logged,) = tail_note(["x"], far, 0.004, 10.0, "log(wage) ~ x")
    assert "logarithm" not in logged
    (column,) = tail_note(["x"], far, 0.004, 10.0, "logins ~ x")
    assert "logarithm" in column
    assert tail_note(["x"], near, 0.004, 10.0) == ()
    six = Moved(np.full(6, 2.2), np.full(6, 12.0))
    many = tail_note([f"x{k}" for k in range(6)], six, 0.0, 10.0)[0]
    assert "and 3 more" in many
    assert "a few of the scores" in many
    (levels,) = tail_note(["g[T.b]"], far, 0.004, 10.0)
    assert levels.startswith("Noise may hide a long tail of residuals, or of rows of rare levels: ")


def test_what_intervals_allow_for_is_a_line_and_no_note() -> None:
    moved = np.array([3.0, np.nan, 0.4])
    terms = ["Intercept", "x", "z"]
    (line,) = allowance_line(terms, moved, 0.3)
    assert line.value == pytest.approx(0.81)
    assert "share of a printed variance, at most (`Intercept`)" in line.note
    assert "a larger budget" in line.note
    assert "a larger budget" not in allowance_line(terms, moved / 4, 0.3)[0].note
    assert allowance_line(terms, np.full(3, np.nan), 0.3)[0].value is None
    assert allowance_line(terms, moved, 0.0) == ()


def test_rows_beyond_the_quantile_may_lie_in_its_own_bin() -> None:
    """As where columns are dummies: a few lengths, the longest of which many rows have."""
    lengths = np.resize([1.8, 2.05, 2.2, 2.4], _N)
    tail, quantile = _tail(lengths, 1e-6, 1)
    assert _share_beyond(tail, quantile) == pytest.approx(0.1, abs=0.01)
    cut = cut_for_intervals(tail, _N, 5, 1e6, 0.4)
    assert cut.length >= 2.4
    assert cut.excess == 0


@pytest.mark.parametrize("noise_sd", [0.05, 2.0, 10.0])
@pytest.mark.parametrize("far", [0, 30])
def test_laws_that_are_left_out_would_change_nothing(
    noise_sd: float, far: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(far)
    lengths = np.abs(rng.normal(size=20_000))
    lengths[:far] *= 40
    empty = LogHistogram(np.zeros(80), noise_sd, -10, 20)
    counts = np.histogram(lengths, empty.edges())[0] + rng.normal(0, noise_sd, 80)
    found = tail_of(LogHistogram(counts, noise_sd, -10, 20), 1.645, 20_000, 2)
    assert np.mean(found.weight > 0) < 0.5
    monkeypatch.setattr(tails, "_possible", lambda laws, *_: np.ones(len(laws.slopes), dtype=bool))
    every = tail_of(LogHistogram(counts, noise_sd, -10, 20), 1.645, 20_000, 2)
    assert found.weight == pytest.approx(every.weight, rel=1e-9, abs=1e-13)
    assert found.share == pytest.approx(every.share, rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("noise_sd", [2.0, 20.0])
@pytest.mark.parametrize("length", [1.27, 1.49])
def test_rows_of_one_length_have_no_tail(length: float, noise_sd: float) -> None:
    """As those of a column of zeros and ones, which are neither cut nor thought to be long."""
    for seed in range(10):
        histogram, quantile = _histogram(np.full(4000, length), noise_sd, seed)
        tail = tail_of(histogram, quantile, 4000, 2)
        assert median_excess(tail, 4000, 1.5) < 1e-3
        cut = cut_for_intervals(tail, 4000, 2, 1.0, 0.4)
        assert 0.95 * length < cut.length < (2 if noise_sd < 10 else 8)


def test_what_is_far_out_follows_the_counts_and_not_a_grid_of_laws() -> None:
    """A power of 1.35: beyond forty quantiles a law that bends a little has twenty times as much.

    Of laws on a coarse grid one alone agreed with the counts, this one or its neighbour: the mean
    excess moved by a factor of 20 from one noise to the next. Now by one of 8.
    """
    n, power = 20_000, 1.35
    lengths = (np.arange(0.5, n) / (0.1 * n)) ** (-1 / power)
    empty = LogHistogram(np.zeros(96), 7.5, -6, 24)
    counts = np.histogram(lengths, empty.edges())[0]
    found = []
    for seed in range(40):
        noise = np.random.default_rng(seed).normal(0, 7.5, 96)
        tail = tail_of(LogHistogram(counts + noise, 7.5, -6, 24), 1.0, n)
        found.append(float(np.interp(40.0, tail.lengths, tail.excess())))
    true = float(np.maximum(lengths - 40, 0).mean())
    assert max(found) < 8 * min(found)
    assert 0.3 < np.median(found) / true < 3


def test_a_tail_is_that_of_the_rows_that_are_there() -> None:
    """Half of the values are missing: shares are those of all rows, tails those of the others."""
    for seed in range(10):
        lengths = np.abs(np.random.default_rng(seed).normal(size=5000))
        histogram, quantile = _histogram(lengths, 20.0, seed)
        half, whole = (tail_of(histogram, quantile, n) for n in (10_000, 5000))
        assert abs(half.rows - 5000) < 1000
        at = np.searchsorted(half.lengths, [1.7, 2.5])
        assert half.share[at] == pytest.approx(whole.share[at] / 2, rel=0.2)
        cut, other = (
            cut_for_intervals(tail, n, 3, 1.0, 0.4) for tail, n in ((half, 10_000), (whole, 5000))
        )
        assert cut.length < 1.5 * other.length
    assert LogHistogram(np.zeros(80), 5.0, -10, 20).rows(100) == 100
    assert LogHistogram(np.zeros(80), 0.01, -10, 20).rows(100) == 1


def test_many_that_no_law_foresees_are_believed() -> None:
    """One in twenty rows 30 times as long as the others, and none between: a cut keeps them."""
    for seed in range(10):
        lengths = np.abs(np.random.default_rng(seed).normal(size=20_000))
        lengths[:1000] += 50.0
        tail, _ = _tail(lengths, 50.0, seed)
        cut = cut_for_intervals(tail, 20_000, 3, 0.2, 0.4)
        assert cut.length > 40
        assert _share_beyond(tail, 30.0) == pytest.approx(0.05, rel=0.3)


def test_many_outliers_excuse_no_body_that_foresees_more_than_is_counted() -> None:
    """A bend of the tail that no law has, as of wages that are coded at a top.

    Of 28 000 rows none is beyond four quantiles; seven were believed beyond eight on average, and up to
    sixteen, so that cuts went many standard deviations out.
    """
    found = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        lengths = np.abs(rng.lognormal(0.0, 0.8, 28_000) - 1.2)
        lengths = np.minimum(lengths[lengths < 5.2], 3.0)
        tail, quantile = _tail(lengths, 8.5, seed)
        found.append(len(lengths) * float(np.interp(8 * quantile, tail.lengths, tail.share)))
    assert np.mean(found) < 3
    assert max(found) < 8


def test_what_a_cut_takes_off_says_how_much_is_beyond_it() -> None:
    """More, or less, than counts foresee; and next to nothing where its noise is loud."""
    lengths = _lengths(3)
    tail, quantile = _tail(lengths, 20.0, 3)
    n, length = len(lengths), 1.3 * quantile
    own = float(np.interp(length, tail.lengths, tail.excess()))
    capped = own - float(np.interp(2 * length, tail.lengths, tail.excess()))

    def given(mean: float, sd: float) -> float:
        found = tail.with_excess(n, length, mean, sd)
        assert found.weight.sum() == pytest.approx(1.0)
        return float(np.interp(length, found.lengths, found.excess())) / own

    assert given(capped, 1e3 * capped) == pytest.approx(1.0, rel=0.05)
    assert given(capped, 0.1 * capped) == pytest.approx(1.0, rel=0.2)
    assert given(0.2 * capped, 0.1 * capped) < 0.5
    assert given(3 * capped, 0.1 * capped) > 2
    assert given(-5 * capped, 0.5 * capped) < 0.5


def test_what_a_cut_takes_off_as_counts_say_changes_nothing() -> None:
    """Also where laws foresee far more: a cluster of lengths, and next to none beyond it."""
    lengths = _lengths(4)
    lengths[:400] = 3.0
    tail, quantile = _tail(lengths, 2.0, 4)
    cut, n = 2.4 * quantile, len(lengths)
    own, beyond = np.interp([cut, 2 * cut], tail.lengths, tail.excess())
    found = tail.with_excess(n, cut, float(own - beyond), float(own) / 20)
    assert 0.8 < np.interp(cut, found.lengths, found.excess()) / own < 1.25


def test_a_tail_that_ends_before_a_cut_is_left_as_it_is() -> None:
    lengths = np.minimum(_lengths(3), 1.5)
    tail, _ = _tail(lengths, 1e-3, 3)
    assert tail.with_excess(len(lengths), 50.0, 0.1, 0.1) is tail
