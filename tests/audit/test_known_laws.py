"""The audit kit on known laws: bounds that are sharp, and claims that stand or fall as they should.

How seldom a right implementation fails is said in `tests.audit.made_up`.
"""

from __future__ import annotations

import cProfile
import itertools
import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpstats.accounting.privacy import ApproximatePrivacy, Privacy, PurePrivacy
from dpstats.audit import audit
from dpstats.audit.attack import (
    epsilon_given_away,
    learn_scores,
    lower_limit,
    mu_given_away,
    upper_limit,
)
from dpstats.audit.events import choose_events
from dpstats.report.privacy import PrivacyStatement
from tests.audit.made_up import _SURE, _gaussian, _laplace, _plus

# --- known laws ----------------------------------------------------------------------------------


def test_a_gaussian_gives_away_its_mu() -> None:
    found = audit(_gaussian(), (0.0, 1.0), mu=1, trials=100_000, confidence=_SURE)
    assert 0.85 < found.mu <= 1
    assert 1.5 < found.epsilon <= Privacy(1.0).epsilon(1e-5)
    assert not found.refuted
    assert found.delta == 1e-5
    assert found.trials == 100_000


def test_too_little_noise_is_refuted() -> None:
    found = audit(_gaussian(0.7), (0.0, 1.0), mu=1, trials=40_000, confidence=_SURE)
    assert found.refuted
    assert 1.15 < found.mu <= 1 / 0.7


def _functions_called(trials: int) -> int:
    """How many functions an audit calls, its own and others."""
    profile = cProfile.Profile()
    with profile:
        audit(_gaussian(), (0.0, 1.0), mu=1, trials=trials)
    return sum(entry.callcount for entry in profile.getstats())


def test_an_audit_of_many_runs_takes_no_time_of_its_own() -> None:
    """Beside the release a handful of calls for each run, however many there are."""
    once, more = _functions_called(2_000), _functions_called(10_000)
    assert more - once < 25 * 8_000


def test_laplace_noise_gives_away_its_epsilon() -> None:
    found = audit(_laplace(1.0), (0.0, 1.0), epsilon=1, trials=60_000, confidence=_SURE)
    assert 0.8 < found.epsilon <= 1
    assert found.delta == 0
    assert not found.refuted
    assert found.mu <= PurePrivacy(1.0).mu
    assert audit(_laplace(0.7), (0.0, 1.0), epsilon=1, trials=40_000, confidence=_SURE).refuted


@pytest.mark.slow
def test_one_direction_among_many_is_detected() -> None:
    shift = np.full(20, 1 / math.sqrt(20))
    release = _plus(lambda state, n: state.normal(size=(n, 20)))
    found = audit(release, (0 * shift, shift), mu=1, trials=20_000, confidence=_SURE)
    assert 0.7 < found.mu <= 1  # a single column has mu = 0.22
    assert not found.refuted


def test_heavy_tails_hide_nothing() -> None:
    def law(state: np.random.Generator, n: int) -> Any:
        noise = 1e8 * state.standard_cauchy(size=(n, 8))
        noise[:, 5] = state.normal(size=n)
        return noise

    shift = np.eye(8)[5]
    found = audit(_plus(law), (0 * shift, shift), mu=1, trials=20_000, confidence=_SURE)
    assert 0.7 < found.mu <= 1


def test_noise_that_cancels_is_detected() -> None:
    release = _plus(lambda state, n: 1e3 * state.normal(size=(n, 1)) * [1.0, 1.0])
    found = audit(release, (np.zeros(2), np.array([0.0, 1.0])), mu=1, trials=4000, confidence=_SURE)
    assert found.refuted


def test_a_change_of_spread_is_detected() -> None:
    noise = _gaussian()
    release = lambda scale: scale * noise(0.0)  # noqa: E731
    found = audit(release, (1.0, 3.0), epsilon=0.5, trials=10_000, confidence=_SURE)
    assert found.refuted


@pytest.mark.slow
def test_no_reply_is_an_outcome() -> None:
    uniform = _plus(lambda state, n: state.uniform(size=n).tolist())

    def release(share: float, silence: Any = None) -> Any:
        return silence if uniform(0.0) < share else 1.0

    def audited(silent: Any, delta: float) -> Any:
        said = partial(release, silence=silent)
        return audit(said, (0.0, 0.05), epsilon=1, delta=delta, trials=20_000, confidence=_SURE)

    for silent in (None, math.nan, [None], pd.NA, {}):
        found = audited(silent, 0.01)
        assert found.refuted
        assert any("missing (None or NaN)" in point.event for point in found.points)
        assert not audited(silent, 0.05).refuted


def test_which_keys_are_there_is_an_outcome() -> None:
    noise = _gaussian(0.5)

    def histogram(counts: dict[str, float]) -> dict[str, float]:
        noisy = {name: noise(count) for name, count in counts.items()}
        return {name: value for name, value in noisy.items() if value > 1.5}

    pair = ({"a": 9.0, "b": 9.0}, {"a": 9.0, "b": 8.0, "rare": 1.0})
    found = audit(histogram, pair, mu=1, trials=6000, confidence=_SURE)
    assert found.refuted


@pytest.mark.slow
def test_verdicts_hold_at_their_confidence() -> None:
    # 60 audits of exact claims, each wrong with probability 0.4 at most; 45 wrong ones: below 1e-7
    release = _gaussian()
    found = [audit(release, (0.0, 1.0), mu=1, trials=200, confidence=0.6) for _ in range(60)]
    assert sum(one.refuted or one.mu > 1 for one in found) < 45


# --- claims --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Curve:
    """A claim of somebody else's."""

    at: float

    def delta(self, epsilon: float) -> float:
        return PurePrivacy(self.at).delta(epsilon)


_RIGHT: list[tuple[dict[str, Any], str]] = [
    ({"mu": 1.0}, "mu = 1 (GDP)"),
    ({"mu": 1.0, "delta": 1e-3}, "mu = 1 (GDP)"),
    ({"epsilon": 4.3772, "delta": 1e-5}, "epsilon = 4.377 at delta = 1e-05"),
    ({"epsilon": 1.0, "delta": 0.12695}, "epsilon = 1 at delta = 0.127"),
    ({"claim": Privacy(1.0)}, "mu = 1 (GDP)"),
    ({"claim": Privacy(1.0, slack=1e-6)}, "up to delta0 = 1e-06"),
    ({"claim": ApproximatePrivacy(1.0, 0.127)}, "epsilon = 1 at delta = 0.127"),
    ({"claim": PrivacyStatement(Privacy(1.0), (), False)}, "mu = 1 (GDP)"),
    ({"claim": PrivacyStatement(ApproximatePrivacy(4.4, 1e-5), (), False)}, "epsilon = 4.4 at"),
]


@pytest.mark.parametrize(("claim", "words"), _RIGHT)
def test_right_claims_stand_and_wrong_ones_fall(claim: dict[str, Any], words: str) -> None:
    right = audit(_gaussian(), (0.0, 1.0), **claim, trials=10_000, confidence=_SURE)
    assert not right.refuted
    assert words in repr(right)
    assert "Not refuted" in repr(right)
    wrong = audit(_gaussian(), (0.0, 4.0), **claim, trials=10_000, confidence=_SURE)
    assert wrong.refuted
    assert "REFUTED at confidence 99.99999 %" in " ".join(repr(wrong).split())


@pytest.mark.parametrize("claim", [PurePrivacy(1.0), _Curve(1.0), ApproximatePrivacy(1.0, 0.0)])
def test_pure_claims_stand_and_fall(claim: Any) -> None:
    right = audit(_laplace(1.0), (0.0, 1.0), claim=claim, trials=10_000, confidence=_SURE)
    assert not right.refuted
    assert right.claim is claim
    assert audit(_laplace(0.5), (0.0, 1.0), claim=claim, trials=10_000, confidence=_SURE).refuted


def test_without_a_claim_there_are_bounds() -> None:
    found = audit(_gaussian(), (0.0, 2.0), trials=4000)
    assert found.claim is None
    assert not found.refuted
    assert 1.4 < found.mu <= 2
    assert "No claim" in repr(found)


def test_limits_are_those_of_clopper_and_pearson() -> None:
    from scipy import stats

    hits = np.arange(21)
    both = [stats.binomtest(int(k), 20).proportion_ci(0.98, method="exact") for k in hits]
    assert lower_limit(hits, 20, 0.01) == pytest.approx(np.array([ci.low for ci in both]))
    assert upper_limit(hits, 20, 0.01) == pytest.approx(np.array([ci.high for ci in both]))
    assert float(epsilon_given_away(0.5, 0.1, 0.0)) == pytest.approx(math.log(5))


def test_points_hold_what_was_counted() -> None:
    found = audit(_gaussian(), (0.0, 1.0), mu=1, trials=4000)
    assert {unit for point in found.points for unit in point.serves} == {"claim", "mu", "epsilon"}
    failure = 0.01 / (2 * len(found.points))
    for point in found.points:
        assert point.runs == 1100
        assert point.power == pytest.approx(lower_limit(point.hits, point.runs, failure))
        assert point.alpha == pytest.approx(upper_limit(point.false_hits, point.runs, failure))
        assert point.likely_under == ("data" if "<=" in point.event else "other")
    assert found.mu == max(point.mu for point in found.points)


def test_the_runs_that_count_are_not_those_that_choose() -> None:
    # the first 45 % tell the data sets apart, the rest are constant: nothing may be found
    calls = itertools.count()

    def release(data: float) -> float:
        return data if next(calls) < 900 else 0.0

    found = audit(release, (0.0, 1.0), mu=0, trials=2000)
    assert (found.mu, found.epsilon, found.refuted) == (0, 0, False)


# --- scores --------------------------------------------------------------------------------------


def test_an_event_is_chosen_for_every_objective() -> None:
    state = np.random.Generator(np.random.PCG64(5))
    one, two = state.normal(size=(4000, 2)), state.normal([0.0, 1.0], size=(4000, 2))
    scores = learn_scores(one[:500], two[:500], ["a", "b"])
    learnt = np.vstack([one[:500], two[:500]])
    objectives = [mu_given_away, lambda p, q: epsilon_given_away(p, q, 1e-5)]
    events = choose_events(scores, learnt, one[500:], two[500:], objectives, 1e-3)
    assert len(events) == 2
    for event in events:
        rates = [event.holds(x).mean() for x in (one, two)]
        assert (rates[0] > rates[1]) == event.of_first
        assert event.same(event)
