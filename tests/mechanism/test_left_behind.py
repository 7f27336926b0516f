"""A session that ends, or is interrupted, leaves no number of the data behind."""

import sys
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpstats import eptr_lm
from dpstats.accounting.privacy import ApproximatePrivacy, Privacy
from dpstats.datasets import fair
from dpstats.mechanism.noise import Noise, SeededNoise
from dpstats.mechanism.session import Session
from dpstats.models.eptr_bayes.releases import ClassSession
from dpstats.models.eptr_linear.releases import (
    CutLimits,
    LeastSquaresSession,
)
from dpstats.models.eptr_nw.releases import KernelSession
from dpstats.models.eptr_nw.rows import KernelPlan
from dpstats.models.eptr_own import releases as own_estimate
from dpstats.propose_test.curve import Levels
from dpstats.propose_test.plan import plan_release
from dpstats.score_rounds.releases import ScoreSession
from dpstats.score_rounds.rows import LeastSquares
from tests.mechanism.sources import Arrays

_BUDGET = 2.0, 1e-2


def _scores_with_counts_ahead(source: Arrays, noise: Noise) -> ScoreSession:
    eye, zero = np.eye(2), np.zeros(2)
    session = ScoreSession(source, LeastSquares(), eye, zero, Privacy(1.0), noise)
    session.information_lengths(0.2, zero, ((-8, 16), (-8, 16)))
    return session


def _least_squares(source: Arrays, noise: Noise) -> LeastSquaresSession:
    limits, total = CutLimits(4.0, 8.0, 3.0), Privacy(1.0)
    session = LeastSquaresSession(source, np.eye(2), np.zeros(2), limits, total, noise)
    session.smallest_eigenvalue(0.2)
    return session


def _classes(source: Arrays, noise: Noise) -> ClassSession:
    x = np.column_stack([source.x[:, 0] > 0, source.x[:, 0] <= 0, source.x]).astype(float)
    classes, centres = Arrays(x, source.y), np.zeros((2, 2))
    session = ClassSession(classes, np.eye(2), centres, 4.0, Privacy(1.0), noise)
    session.sums(0.2)
    return session


def _curve(source: Arrays, noise: Noise) -> KernelSession:
    x = np.column_stack([np.ones(source.n), source.x])
    box = np.full(2, -4.0), np.full(2, 4.0)
    plan = KernelPlan(np.ones(2), *box, np.zeros((1, 2)), lambda z: 0 * z[0], 4.0, 1.0)
    session = KernelSession(Arrays(x, source.y), plan, Privacy(1.0), noise)
    session.degrees(0.2)
    return session


_KEEPING: dict[str, Callable[[Arrays, Noise], Session[Any]]] = {
    "counts read ahead": _scores_with_counts_ahead,
    "sums of least squares": _least_squares,
    "sums of classes": _classes,
    "sums of a curve": _curve,
}


def _integers_within(thing: Any, seen: set[int]) -> list[Any]:
    """Exact totals and cached rows that an object leads to; what it was given to read is left out."""
    if id(thing) in seen or isinstance(thing, Arrays):
        return []
    seen.add(id(thing))
    if isinstance(thing, np.ndarray) and thing.dtype == object:
        return [thing]
    if type(thing).__name__ == "_Slab":
        return [thing]
    inside: list[Any] = []
    if isinstance(thing, dict):
        inside += list(thing.values())
    elif isinstance(thing, list | tuple):
        inside += thing
    elif type(thing).__module__.startswith("dpstats"):
        inside += vars(thing).values() if hasattr(thing, "__dict__") else []
    return [found for part in inside for found in _integers_within(part, seen)]


@pytest.mark.parametrize("kind", _KEEPING)
@pytest.mark.parametrize("error", [None, KeyboardInterrupt, TimeoutError, ZeroDivisionError])
def test_what_is_closed_holds_no_integer_of_the_data(
    kind: str, error: type[BaseException] | None
) -> None:
    rng = np.random.default_rng(0)
    source = Arrays(rng.normal(size=(500, 2)), rng.normal(size=500))
    session = _KEEPING[kind](source, SeededNoise(1))
    assert _integers_within(session, set())  # that a total is kept meanwhile

    def within(totals: Any) -> None:
        if error is not None:
            raise error from ValueError("what came before")

    try:
        with session:
            within(_integers_within(session, set()))
    except BaseException as caught:
        ended = caught
    if error is not None:
        assert type(ended) is error
        names = [f.f_code.co_name for f, _ in traceback.walk_tb(ended.__traceback__)]
        assert "within" not in names
        assert ended.__context__ is ended.__cause__ is None
    assert _integers_within(session, set()) == []


def test_an_interrupted_estimate_of_the_user_leaves_no_trace() -> None:
    class Interrupted(SeededNoise):
        def integers(self, sd: float, size: int) -> NDArray[np.int64]:
            raise KeyboardInterrupt

    plan = plan_release(Levels.flat(1.0 + 1e-6), *_BUDGET, target=9)
    with pytest.raises(KeyboardInterrupt) as caught:
        own_estimate.tested_estimate(
            [1.0],
            np.array([123.0]),
            5.0,
            1,
            plan,
            (1.0, 1.0),
            ApproximatePrivacy(*_BUDGET),
            Interrupted(1),
        )
    frames = [entry.frame.f_locals for entry in caught.traceback]
    assert not any("numbers" in frame or "total" in frame for frame in frames)


@pytest.mark.parametrize("kind", [KeyboardInterrupt, TimeoutError, SystemExit])
def test_an_interruption_while_rows_are_forgotten_leaves_no_session(
    kind: type[BaseException],
) -> None:
    """At every line that runs while a session ends: Ctrl-C, a time limit, the end of the program."""
    public, private = fair()
    call = partial(
        eptr_lm, "educ ~ age", private, public, epsilon=3, delta=1e-5, method="adaptive", seed=1
    )
    end, stop, passed = Session.__exit__.__code__, 0, 0
    ends = {"session", "releases", "passes", "errors"}

    def at_line(frame: Any, event: str, _: Any) -> Any:
        nonlocal passed
        passed += event == "line"
        if passed == stop and event == "line":
            raise kind
        return at_line

    def traced(frame: Any, *_: Any) -> Any:
        within = [f.f_code for f, _ in traceback.walk_stack(frame)]
        # no locks: a line event where a block ends comes before its lock is given back
        return at_line if end in within and Path(frame.f_code.co_filename).stem in ends else None

    def interrupted() -> BaseException | None:
        before = sys.gettrace()
        try:
            sys.settrace(traced)
            call()
        except kind as error:
            return error
        finally:
            sys.settrace(before)
        return None

    while True:
        stop, passed = stop + 1, 0
        error = interrupted()
        if error is None:
            break
        inner = [frame for frame, _ in traceback.walk_tb(error.__traceback__)][1:]
        held = [value for frame in inner for value in frame.f_locals.values()]
        assert not any(isinstance(value, Session) for value in held)
        assert error.__context__ is None
    assert stop > 5
