"""Quantiles from a noisy histogram follow the data and ignore empty, noisy bins."""

import numpy as np
import pytest

from dpstats.mechanism.passes import octave_bins
from dpstats.numerics.histogram import LogHistogram


def _histogram(values: np.ndarray, sd: float, seed: int = 0) -> LogHistogram:
    counts = octave_bins(values, -20, 40).astype(float)
    noise = np.random.default_rng(seed).normal(0, sd, counts.size)
    return LogHistogram(counts + noise, sd, -20, 40)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 3e4])
def test_a_quantile_is_found_within_a_bin(scale: float) -> None:
    values = np.abs(np.random.default_rng(1).normal(size=5000)) * scale
    for seed in range(20):
        found = _histogram(values, 12.0, seed).quantile(0.9)
        assert found == pytest.approx(1.645 * scale, rel=0.25)


def test_distinct_groups_with_a_gap_are_both_seen() -> None:
    values = np.concatenate([np.ones(4000), np.full(1000, 64.0)])
    assert _histogram(values, 10.0).quantile(0.9) == pytest.approx(64, rel=0.3)


def test_nothing_above_the_noise_is_none() -> None:
    assert _histogram(np.ones(3), 30.0, seed=3).quantile(0.9) is None


def test_noise_in_a_bin_far_from_most_others_is_not_seen() -> None:
    """Where bins are octaves, twelve of them are no three octaves."""
    counts = np.zeros(100)
    counts[80:86] = 1149, 1616, 866, 46, 0, 55  # octaves from 1 on; 55 of noise, 3 sd
    seen = LogHistogram(counts, 18.0, -20, 40, 20)
    assert seen.edges()[80:87].tolist() == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]
    assert seen.seen_above(np.array([16.0])) == 0
    assert seen.seen_above(np.array([2.0])) == 1616 + 866 + 46


def test_edges_match_the_bins() -> None:
    histogram = LogHistogram(np.zeros(8), 1.0, -1, 2)
    assert histogram.edges().tolist() == [0.5, 0.625, 0.75, 0.875, 1.0, 1.25, 1.5, 1.75, 2.0]


def test_tails_are_believed_where_they_are_seen() -> None:
    counts = np.zeros(128)
    counts[40:48] = [500, 800, 900, 700, 400, 200, 90, 60]
    counts[90] = 120.0
    seen = LogHistogram(counts, 10.0, -10, 32)
    edges = seen.edges()
    tail = seen.tail(edges[44:52])
    assert tail[0] == 750.0
    assert tail[-1] == 0.0
    assert seen.tail(edges[88:92]).max() == 120.0  # an island: six sd of four bins


def test_noise_alone_is_no_tail() -> None:
    rng = np.random.default_rng(3)
    believed = 0
    for _ in range(200):
        seen = LogHistogram(rng.normal(0, 10, 128), 10.0, -10, 32)
        believed += bool(seen.tail(seen.edges()[60:92]).sum() > 0)
    assert believed < 20  # 2.5 sd at the first threshold: 0.6 % each, 20 of 200 less than 1e-12


@pytest.mark.parametrize("law", ["lognormal", "pareto", "normal"])
def test_a_tail_without_a_gap_begins_at_the_quantile(law: str) -> None:
    """Of 20 seeds at three levels of noise; a gap has two deviations of noise, and stands out by 5.5."""
    edges = LogHistogram(np.zeros(80), 1.0, -10, 20).edges()
    for seed in range(20):
        rng = np.random.default_rng(seed)
        values = rng.pareto(1.0, 20_000) if law == "pareto" else getattr(rng, law)(size=20_000)
        for noise_sd in (1.0, 10.0, 100.0):
            counts = np.histogram(np.abs(values), edges)[0] + rng.normal(0, noise_sd, 80)
            seen = LogHistogram(counts, noise_sd, -10, 20)
            assert seen.tail_begins(20_000) == (seen.quantile(0.9), seen.rows(20_000))


def test_a_tail_begins_beyond_a_gap() -> None:
    """Of 10 000 scores of rare counts, 5 % are far beyond the others, which are not alike."""
    edges = LogHistogram(np.zeros(80), 8.0, -10, 20).edges()
    for seed in range(10):
        rng = np.random.default_rng(seed)
        values = np.exp(rng.normal(-3, 0.4, 10_000))
        values[:500] = np.abs(rng.normal(1.5, 0.3, 500))
        counts = np.histogram(values, edges)[0] + rng.normal(0, 8.0, 80)
        begins = LogHistogram(counts, 8.0, -10, 20).tail_begins(10_000)
        assert begins is not None
        assert 1.5 < begins[0] < 2.5
        assert 350 < begins[1] < 650  # 25 bins of noise at most: 3.75 deviations


@pytest.mark.parametrize("far", [0, 1500])
def test_a_tail_begins_beyond_a_bin_that_holds_most(far: int) -> None:
    """Of 20 000 values most are alike; 1500 others are spread over bins that noise hides one by one."""
    edges = LogHistogram(np.zeros(80), 33.0, -10, 20).edges()
    for seed in range(10):
        rng = np.random.default_rng(seed)
        values = np.append(np.full(20_000 - far, 0.22), np.exp(rng.normal(1.5, 1, far)))
        counts = np.histogram(values, edges)[0] + rng.normal(0, 33.0, 80)
        begins = LogHistogram(counts, 33.0, -10, 20).tail_begins(20_000)
        assert begins is not None
        if far:
            assert 900 < begins[1] < 2100
            assert 5 < begins[0] < 120  # 16 by all that is there, of which noise hides the far end
        else:
            assert begins == (pytest.approx(0.24, abs=0.02), 20_000)
    assert LogHistogram(np.zeros(80), 33.0, -10, 20).tail_begins(100) is None


def test_counts_of_noise_alone_are_not_surely_above() -> None:
    """Sums over four octaves exceed 1.5 noises in one of fifteen; what is believed has a `tail` there.

    That begins next to the values, or has 5.5 noises; noise alone does either in a few of 10^3 here.
    """
    rng = np.random.default_rng(0)
    believed = sure = 0
    for _ in range(200):
        counts = rng.normal(0, 10, 120)
        counts[20:32] += 1000
        seen = LogHistogram(counts, 10.0, -10, 30)
        far = seen.edges()[48:96]
        believed += bool(seen.surely_above(far).max() > 0)
        sure += bool(seen.count_above(far).max() > 0)
    assert believed <= 4
    assert sure > 60
    counts = np.zeros(120)
    counts[20:32], counts[52:56] = 1000, 100  # a rare level, beyond an empty octave and more
    seen = LogHistogram(counts, 10.0, -10, 30)
    assert (seen.surely_above(seen.edges()[40:53]) > 300).all()
    assert seen.surely_above(seen.edges()[57:90]).max() == 0
