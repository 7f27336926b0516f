"""Counts are released for what they cost, and never twice from one reading without a charge."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpstats.accounting.privacy import Privacy
from dpstats.column_search.releases import ColumnSession, Question
from dpstats.column_search.scales import ENOUGH, find_scales, share_of_search
from dpstats.column_search.search import MOST
from dpstats.mechanism.noise import SeededNoise
from tests.mechanism.sources import Arrays, NonPrivateSilence

Floats = np.ndarray
_N = 400


def _source(seed: int = 1) -> Arrays:
    rng = np.random.default_rng(seed)
    return Arrays(rng.normal(size=(_N, 2)), rng.normal(size=_N))


def _session(noise: object = None, mu: float = 1.0) -> ColumnSession:
    return ColumnSession(_source(), [0, 1], True, Privacy(mu), noise or NonPrivateSilence())


def _at(column: int, *ahead: float, price: float = 1.0) -> Question:
    return Question(column, ahead[0], None, np.array(sorted(ahead)), price)


def test_q_counts_cost_q_shares_and_have_sensitivity_root_q() -> None:
    with _session() as session:
        values, sd = session.counts([_at(0, 0.0), _at(1, 0.0), _at(2, 0.0)], 0.01)
        (release,) = session.releases
        assert release.sensitivity == pytest.approx(math.sqrt(3))
        assert release.noise_sd == pytest.approx(math.sqrt(3) / math.sqrt(0.03), rel=1e-9)
        assert sd.tolist() == [release.noise_sd] * 3
        assert session.left == pytest.approx(0.97)
        source = _source()
        columns = [source.x[:, 0], source.x[:, 1], source.y]
        assert values.tolist() == [float((column <= 0).sum()) for column in columns]


def test_prices_are_released_apart() -> None:
    with _session() as session:
        _, sd = session.counts([_at(0, 0.0), _at(1, 0.0, price=4.0)], 0.01)
        assert session.left == pytest.approx(0.95)
        assert sd[0] == pytest.approx(2 * sd[1], rel=1e-9)
        assert [release.sensitivity for release in session.releases] == [1.0, 1.0]


def test_what_was_counted_ahead_is_charged_when_it_is_asked() -> None:
    """The rows are read once; each answer has noise of its own, that of a question asked again too."""
    with _session(SeededNoise(1)) as session:
        read, rows = [], session._rows
        counts = rows.counts
        rows.counts = lambda points: read.append(1) or counts(points)  # type: ignore[method-assign]
        answers = [
            float(session.counts([_at(0, point, -1.0, 0.0, 1.0)], 0.01)[0][0])
            for point in (0.0, -1.0, 1.0, 0.0)
        ]
        assert len(read) == 1
        assert len(session.releases) == 4
        assert session.left == pytest.approx(0.96)
        assert answers[0] != answers[3]


def test_counts_beyond_the_total_are_refused_before_they_are_released() -> None:
    with _session() as session:
        with pytest.raises(ValueError, match="exceed"):
            session.counts([_at(0, 0.0), _at(1, 0.0)], 0.6)
        assert session.releases == []


def test_exact_counts_are_forgotten() -> None:
    session = _session()
    with session:
        session.counts([_at(0, 0.0)], 0.01)
        assert session._known
    assert not session._known
    assert session._rows._cached is None


def test_rows_that_are_used_are_counted_where_no_column_is_searched() -> None:
    source = _source()
    source.y[:7] = math.nan
    with ColumnSession(source, [], False, Privacy(1.0), NonPrivateSilence()) as session:
        assert find_scales(session, 0, {}) == (_N - 7.0, [])
        assert len(session.releases) == 1


class _Hostile(SeededNoise):
    """Noise far larger than it is said to be, or none, at random."""

    def integers(self, sd: float, size: int) -> Floats:
        kind = self._generator.integers(4)
        factor = (0.0, 1.0, 1e3, 1e4)[kind]
        drawn = np.rint(self._generator.standard_cauchy(size) * factor * sd)
        return np.clip(drawn, -(2.0**60), 2.0**60).astype(np.int64)


@pytest.mark.parametrize("seed", range(40))
def test_the_search_never_spends_more_than_its_part(seed: int) -> None:
    with _session(_Hostile(seed)) as session:
        _, found = find_scales(session, 3, {0: (0.0, 5e-324), 1: (0.0, 1.0)})
        share = share_of_search(_N, 1.0, 3)
        assert 1 - session.left <= min(ENOUGH * share, 0.5) * (1 + 1e-9)
        for one in found:
            assert math.isfinite(one.location)
            assert one.scale is None or 0 < one.scale < math.inf


def test_the_share_is_bounded_for_every_size() -> None:
    for n, mu, columns in ((10, 1e-3, 1), (10**9, 1e3, 200), (100, 5.0, 50)):
        assert 0 < share_of_search(n, mu, columns) < 0.5
    assert MOST * ENOUGH >= 138


def test_a_search_that_is_broken_off_leaves_a_column_that_is_used() -> None:
    """Nothing was seen of it; that no row differs was not seen either."""
    with _session() as session:
        session._spend(0.94)
        _, found = find_scales(session, 3, {})
    assert [one.scale for one in found] == [1.0] * 3
