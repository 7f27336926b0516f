"""A later session of a call goes on with what an earlier one left, and never has more."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpstats.accounting.privacy import ApproximatePrivacy, Privacy, PurePrivacy
from dpstats.errors import PassError
from dpstats.mechanism.conditional import frequent_threshold, release_frequent
from dpstats.mechanism.noise import SeededNoise
from dpstats.mechanism.passes import PrivateRows
from dpstats.mechanism.session import Session
from tests.mechanism.sources import Arrays, NonPrivateSilence


class _Rows(PrivateRows[None]):
    def _encode(self, block: object) -> tuple[np.ndarray, tuple[object, ...]]:
        raise AssertionError("not read")

    def _keep(self, x: object, columns: object, space: object) -> None:
        raise AssertionError("not read")


def _session(
    total: Privacy | PurePrivacy | ApproximatePrivacy, after: Session[_Rows] | None = None
) -> Session[_Rows]:
    rows = _Rows(Arrays(np.ones((3, 1)), np.ones(3)), 1)
    return Session(rows, total, NonPrivateSilence(), after)


def _spend(session: Session[_Rows], share: float) -> None:
    cost = session._spend(share)
    session._counts("a count", np.array([1], dtype=object), cost)


@settings(max_examples=200, deadline=None, derandomize=True, database=None)
@given(
    st.floats(1e-3, 1e3),
    st.lists(st.lists(st.floats(1e-3, 1.0), max_size=4), min_size=1, max_size=4),
)
def test_all_sessions_together_spend_no_more_than_the_total(
    mu: float, shares: list[list[float]]
) -> None:
    """However each divides what it has, down to the last of it."""
    total, before, squares = Privacy(mu), None, 0.0
    for wanted in shares:
        session = _session(total, before)
        for share in wanted:
            part = min(share, session.left)
            if part * session.total.mu**2 < 1e-12 * mu**2:
                break
            squares += session._spend(part).mu ** 2
        if session.left * session.total.mu**2 < 1e-12 * mu**2:
            break
        assert session.left_of_granted == pytest.approx(1 - squares / mu**2, abs=1e-9)
        before = session
    assert squares <= mu**2 * (1 + 1e-9)


def test_shares_are_of_what_was_left() -> None:
    first = _session(Privacy(2.0))
    _spend(first, 0.75)
    second = _session(Privacy(2.0), first)
    assert second.total.mu == pytest.approx(1.0)
    assert second.left == 1.0
    assert second.granted.mu == 2.0
    _spend(second, 0.5)
    assert second.left_of_granted == pytest.approx(1 / 8)
    with pytest.raises(ValueError, match="exceed"):
        second._spend(0.6)
    third = _session(Privacy(2.0), second)
    assert third.total.mu == pytest.approx(math.sqrt(0.5))
    costs = [release.cost.mu for release in third.releases]
    assert costs == pytest.approx([math.sqrt(3), math.sqrt(0.5)])


def test_releases_are_those_of_all_sessions_and_the_first_keeps_its_own() -> None:
    first = _session(Privacy(1.0))
    _spend(first, 0.5)
    second = _session(Privacy(1.0), first)
    _spend(second, 1.0)
    assert len(first.releases) == 1
    assert len(second.releases) == 2


def test_a_later_session_of_another_total_is_refused() -> None:
    first = _session(Privacy(1.0))
    for other in (Privacy(2.0), Privacy(1.0, 1e-6), PurePrivacy(1.0)):
        with pytest.raises(ValueError, match="total of the first"):
            _session(other, first)
    single = ApproximatePrivacy(1.0, 1e-6)
    with pytest.raises(ValueError, match="total of the first"):
        _session(single, _session(single))


def test_a_slack_is_used_once_by_all_sessions() -> None:
    total = Privacy(1.0, 1e-6)
    first = _session(total)
    first._use_slack()
    with pytest.raises(ValueError, match="slack"):
        _session(total, first)._use_slack()


def test_an_error_of_a_later_session_says_what_all_have_spent() -> None:
    first = _session(Privacy(2.0))
    _spend(first, 0.75)

    def ending() -> None:
        with _session(Privacy(2.0), first) as second:
            _spend(second, 0.5)
            raise PassError("no more rows.")

    with pytest.raises(PassError, match=r"mu = 1\.871 at most"):
        ending()


# -- names that many rows have --------------------------------------------------------------------------

_names = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(1, 60), min_size=1)


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(_names, st.sampled_from("abcdefgh"), st.floats(0.1, 5.0))
def test_names_that_one_row_has_are_not_shown(counts: dict[str, int], own: str, mu: float) -> None:
    """At a chance of 1e-12 each: the seeds are fixed, and no run of these shows one."""
    counts = {**counts, own: 1}
    chance = 1e-12
    found, kept = release_frequent("levels", counts, chance, Privacy(mu), SeededNoise(1))
    assert own not in kept
    assert found.sensitivity == pytest.approx(math.sqrt(2), rel=1e-6)
    assert found.noise_sd == pytest.approx(math.sqrt(2) / mu, rel=1e-6)
    assert len(found.value) == len(kept)
    assert (found.value > frequent_threshold(found.noise_sd, chance)).all()


def test_the_threshold_is_beyond_the_noise_of_one_row() -> None:
    """P(1 + noise > threshold) is below the chance, by the tail of the normal law."""
    for chance in (1e-3, 1e-6, 1e-12):
        for sd in (0.5, 3.0, 100.0):
            above = (frequent_threshold(sd, chance) - 1) / sd
            assert math.erfc(above / math.sqrt(2)) / 2 <= chance


def test_without_noise_the_frequent_names_are_shown_in_order() -> None:
    counts = {"b": 500, "rare": 2, "a": 40}
    found, kept = release_frequent("levels", counts, 1e-6, Privacy(1.0), NonPrivateSilence())
    assert kept == ("a", "b")
    assert found.value.tolist() == [40.0, 500.0]
