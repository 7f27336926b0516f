"""Nothing that a user's function does with private rows gets out but by the test and the noise."""

import math
import sys
import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpstats.accounting.privacy import ApproximatePrivacy, Privacy
from dpstats.mechanism.conditional import lattice_unit
from dpstats.mechanism.noise import SeededNoise
from dpstats.models.eptr_own import releases as own_estimate
from dpstats.models.eptr_own.releases import evaluated, level_of
from dpstats.propose_test.curve import Levels
from dpstats.propose_test.paper import PapersPlan, papers_plan
from dpstats.propose_test.plan import ReleasePlan, plan_release
from tests.mechanism.sources import NonPrivateSilence

_BUDGET = 1.0, 1e-2
_PLAN = plan_release(Levels.flat(1.0), *_BUDGET, calibration="dp", target=16)
_COST = ApproximatePrivacy(*_BUDGET)


class _Noted(NonPrivateSilence):
    """No noise; remembers the probability that it was asked to toss."""

    probability = math.nan

    def coin(self, probability: float) -> bool:
        self.probability = probability
        return True


def _released(
    estimate: Any, safety: Any, size: int = 2, plan: ReleasePlan = _PLAN
) -> tuple[list[float], float]:
    """What noise is added to, and the probability of an answer."""
    noise = _Noted()
    tested = own_estimate.tested_estimate(
        "rows", estimate, safety, size, plan, (1.0, 1.0), _COST, noise
    )
    assert tested.release.cost is _COST
    return tested.release.value.tolist(), noise.probability


# --- levels -----------------------------------------------------------------------------------

_safety = st.one_of(
    st.floats(-3, 60),
    st.floats(0, 2e6),
    st.integers(0, 2_000_000).map(float),
    st.integers(0, 1000).map(lambda k: k / (1 - 1e-6)),
    st.sampled_from([0.0, 5e-324, 1e-300, 1e308, 999_999.5, 1e6, 1e6 + 1]),
)


@settings(max_examples=600, deadline=None, derandomize=True)
@given(_safety, st.floats(0, 1), st.sampled_from([-4, 0, 4]))
@example(0.0, 5e-324, 0)
@example(17.0, 1.0, 4)
@example(1e6 - 0.5, 1.0, 4)
def test_levels_of_neighbours_differ_by_one_at_most(safety: float, move: float, ulps: int) -> None:
    # the neighbour's safety in floats, and some units in the last place besides
    other = safety + move
    for _ in range(abs(ulps)):
        other = math.nextafter(other, math.copysign(math.inf, ulps))
    if other > safety + 1 and Fraction(other) - Fraction(safety) > 1 + Fraction(1, 10**8):
        return  # a move of one is lost in the spacing of the floats
    assert abs(level_of(safety) - level_of(other)) <= 1
    assert (level_of(safety) >= 1) == (safety > 0)


def test_levels_are_those_of_the_ceiling_and_never_above_it() -> None:
    assert [level_of(g) for g in (-1.0, 0.0, 5e-324, 0.3, 1.0, 1.1, 17.0)] == [0, 0, 1, 1, 1, 2, 17]
    assert level_of(math.nan) == 0
    assert level_of(-math.inf) == 0
    assert level_of(math.inf) == level_of(1e300) == level_of(1e6)
    for gamma in np.random.default_rng(0).uniform(0, 500, 2000):
        assert level_of(float(gamma)) <= math.ceil(gamma)


# --- functions that misbehave -----------------------------------------------------------------


def _fails(data: object) -> float:
    raise RuntimeError("row 17 holds 777")


def _divides(data: object) -> float:
    return 1 / 0


def _recurses(data: object) -> float:
    return _recurses(data)


def _warns(data: object) -> list[float]:
    warnings.warn("row 17 holds 777", UserWarning, stacklevel=1)
    np.log(np.array([-1.0, 0.0]))
    return [0.25, 0.5]


def _turns_warnings_into_errors(data: object) -> list[float]:
    warnings.simplefilter("error")
    warnings.warn("row 17 holds 777", UserWarning, stacklevel=1)
    return [0.25, 0.5]


def _turns_float_errors_on(data: object) -> list[float]:
    np.seterr(all="raise")
    return (np.zeros(2) / np.zeros(2)).tolist()


def _leaves(data: object) -> float:
    raise SystemExit("row 17 holds 777")


def _panics(data: object) -> float:
    class Panic(BaseException):
        pass

    raise Panic("row 17 holds 777")


class _Unreadable:
    def __array__(self, *_: object, **__: object) -> np.ndarray:
        raise ValueError("row 17 holds 777")


def _in_words(data: object) -> str:
    return "777"


_BAD: list[Any] = [
    _fails,
    _divides,
    _recurses,
    _leaves,
    _panics,
    _turns_warnings_into_errors,
    _turns_float_errors_on,
    lambda data: None,
    _in_words,
    lambda data: [1.0, 2.0, 3.0],
    lambda data: [],
    lambda data: [[1.0, 2.0], [3.0]],
    lambda data: [math.nan, 1.0],
    lambda data: [1.0, math.inf],
    lambda data: [1.0, -math.inf],
    lambda data: [1e400, 0.0],
    lambda data: [10**400, 0],
    lambda data: _Unreadable(),
    lambda data: {"a": 1.0},
    lambda data: (v for v in (1.0, 2.0)),
    lambda data: [1j, 2.0],
    lambda data, more: [1.0, 2.0],
    lambda data: data.no_such_column,
    lambda data: sys.float_info.nothing,  # type: ignore[attr-defined]
]


@pytest.mark.parametrize("bad", _BAD)
def test_an_estimate_that_misbehaves_is_an_unsafe_data_set(
    bad: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    # warnings are errors in this suite: none may leave either
    assert _released(bad, 40.0) == ([0.0, 0.0], _PLAN.curve[0])
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("bad", [*_BAD, lambda data: [1.0, 2.0], lambda data: -3.0, -1e308])
def test_a_safety_that_misbehaves_is_none(bad: Any, capfd: pytest.CaptureFixture[str]) -> None:
    two_numbers, probability = _released([0.25, 0.5], bad)
    if bad is _in_words:
        assert probability == 1.0
    else:
        assert probability == _PLAN.curve[0]
    assert two_numbers == [0.25, 0.5]
    assert capfd.readouterr() == ("", "")


def test_a_function_that_warns_is_heard_without_its_warnings(
    capfd: pytest.CaptureFixture[str],
) -> None:
    before = np.geterr()
    assert _released(_warns, 40.0) == ([0.25, 0.5], 1.0)
    _released(_turns_float_errors_on, 40.0)
    assert np.geterr() == before
    assert capfd.readouterr() == ("", "")


def test_an_interrupt_stops_everything_and_tells_nothing() -> None:
    def interrupted(data: object) -> float:
        raise KeyboardInterrupt("row 17 holds 777")

    with pytest.raises(KeyboardInterrupt) as caught:
        evaluated(interrupted, None, 1)
    assert caught.value.args == ()
    assert caught.value.__context__ is None


@pytest.mark.parametrize(
    "good",
    [
        [0.25, 0.5],
        (0.25, 0.5),
        np.array([[0.25], [0.5]]),
        np.array([0.25, 0.5], dtype=np.float32),
        lambda data: np.array([0.25, 0.5], dtype=object),
    ],
)
def test_numbers_come_in_any_form(good: Any) -> None:
    assert _released(good, lambda data: np.float32(3.0)) == ([0.25, 0.5], _PLAN.curve[3])


def test_the_functions_see_the_data_and_the_test_sees_the_safety() -> None:
    assert evaluated(len, "rows", 1).tolist() == [4.0]  # type: ignore[union-attr]
    for gamma, level in [(0.0, 0), (0.2, 1), (1.0, 1), (7.5, 8), (1e9, len(_PLAN.curve) - 1)]:
        assert _released([0.0, 0.0], gamma)[1] == _PLAN.curve[level]


@pytest.mark.parametrize("gamma", [0.0, 0.5, 7.25, 60.0, 1e300])
def test_the_papers_test_takes_the_safety_as_it_is(gamma: float) -> None:
    plan = papers_plan(1.0, *_BUDGET)
    assert isinstance(plan, PapersPlan)
    assert _released([1.0, 2.0], gamma, plan=plan)[1] == plan.probability(gamma)
    assert _released(_fails, gamma, plan=plan)[1] == plan.probability(0)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.lists(st.floats(-1e12, 1e12), min_size=2, max_size=2),
    st.floats(0, 2 * math.pi),
    st.sampled_from([1.0, 1e-150, 1e120]),
)
def test_what_is_noised_moves_by_alpha_at_most(
    start: list[float], angle: float, alpha: float
) -> None:
    one = np.array(start) * alpha
    two = one + alpha * np.array([math.cos(angle), math.sin(angle)])
    if float(np.hypot(*(two - one))) > alpha * (1 + 1e-9):
        return  # a promise that floats have broken
    found = []
    for value in (one, two):
        tested = own_estimate.tested_estimate(
            None, value, 5.0, 2, _PLAN, (alpha, alpha), _COST, NonPrivateSilence()
        )
        found.append(tested.release.value)
    # WIDENED is what callers put on alpha
    assert np.linalg.norm(found[0] - found[1]) <= alpha * (1 + 1e-6)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.lists(st.integers(-(2**40), 2**40), min_size=2, max_size=2),
    st.lists(st.floats(-0.49, 0.49), min_size=4, max_size=4),
    st.integers(0, 10**6),
)
def test_what_is_less_than_half_a_step_of_the_lattice_leaves_no_trace(
    whole: list[int], parts: list[float], seed: int
) -> None:
    unit = lattice_unit(1.0, 2)
    found = []
    for some in (parts[:2], parts[2:]):
        value = (np.array(whole, dtype=float) + some) * unit
        tested = own_estimate.tested_estimate(
            None, value, 50.0, 2, _PLAN, (1.0, 1.0), _COST, SeededNoise(seed)
        )
        assert tested.release.step == unit
        found.append(tested.release.value.tobytes())
    assert found[0] == found[1]


def test_no_answer_is_nan_and_a_seed_repeats() -> None:
    def answers(seed: int) -> list[Any]:
        noise = SeededNoise(seed)
        out = []
        for _ in range(60):
            tested = own_estimate.tested_estimate(
                None, [3.0, 4.0], 6.0, 2, _PLAN, (1.0, 1.0), Privacy(1.0), noise
            )
            assert np.isnan(tested.release.value).all() == (not tested.passed)
            out.append((tested.passed, np.nan_to_num(tested.release.value).tolist()))
        return out

    assert answers(1) == answers(1)
    assert len({passed for passed, _ in answers(1)}) == 2
