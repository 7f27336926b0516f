"""Where residuals are cut, from noisy counts."""

import numpy as np
import pytest

from dpstats.accounting.privacy import Privacy
from dpstats.mechanism.passes import octave_bins
from dpstats.mechanism.release import Release
from dpstats.models.eptr_nw.planning import Residuals, Window
from dpstats.numerics.histogram import merged

_N = 20_000


def _counts(values: np.ndarray, window: Window, noise: float = 20.0) -> Release:
    sides = [np.maximum(values, 0.0), np.maximum(-values, 0.0)]
    counts = [merged(octave_bins(v, window.lowest, window.octaves), window.fine) for v in sides]
    value = np.concatenate(counts) + noise * np.random.default_rng(0).normal(
        size=2 * len(counts[0])
    )
    return Release("histogram", value, 1.0, noise, Privacy(1.0), 1.0)


def _read(values: np.ndarray, scale: float = 2.0, noise: float = 20.0) -> Residuals:
    window = Window.about(scale)
    return Residuals.of(_counts(values, window, noise), window, _N, scale)


def test_normal_residuals_are_cut_on_both_sides_alike() -> None:
    found = _read(np.random.default_rng(1).normal(size=_N))
    assert found.above.beyond(np.array(1.645)) == pytest.approx(0.05, abs=0.01)
    assert found.quantile90 == pytest.approx(1.645, rel=0.1)
    cut = found.cut(1e-3, 1.05)
    assert abs(cut.middle) < 0.3 * cut.radius
    assert 1.5 < cut.radius < 6
    assert 0.9 < cut.slope <= 1
    assert found.cut(1e-4, 1.05).radius > cut.radius > found.cut(1e-1, 1.05).radius


def test_a_long_tail_is_kept_on_its_side_alone() -> None:
    values = np.random.default_rng(2).lognormal(0, 1, _N) - np.exp(0.5)
    found = _read(values, 4.0)
    cut = found.cut(1e-3, 1.05)
    assert cut.middle + cut.radius > 2 * (cut.radius - cut.middle)
    for bound in (3.0, 8.0):
        actual = float(np.maximum(values - bound, 0).mean())
        assert found.above.excess(np.array(bound)) == pytest.approx(actual, rel=0.3)
    assert found.cut(1e-3, 1.05).bias < 0.1


def test_rows_far_on_one_side_are_cut_about_themselves() -> None:
    found = _read(100 + np.random.default_rng(3).normal(size=_N), 200.0)
    assert found.below.tail is None
    middle, half = found.body()
    assert middle == pytest.approx(100, rel=0.2)
    assert half < 30
    cut = found.cut(1e-2, 1.05)
    assert cut.middle - cut.radius > 0


@pytest.mark.parametrize("noise", [1e-9, 1.0, 1e6])
def test_where_no_row_is_seen_the_public_scale_stands_in(noise: float) -> None:
    found = _read(np.zeros(0), 3.0, noise)
    cut = found.cut(1e-2, 1.05)
    assert np.isfinite([cut.middle, cut.radius, cut.bias, cut.slope]).all()
    assert cut.radius > 0


def test_windows_hold_a_scale_and_what_is_far_beyond() -> None:
    for scale in (1e-200, 0.3, 1.0, 7.0, 1e200):
        window = Window.about(scale)
        assert 2.0 ** (window.lowest + 1) <= scale < 2.0 ** (window.lowest + window.octaves - 5)
