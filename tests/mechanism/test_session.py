"""A call spends its total and no more, and every release of a session has the noise that it states.

Laws: each question errs with probability below 1e-7 on either side; see `laws`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpstats.accounting.privacy import ApproximatePrivacy, Privacy, PurePrivacy
from dpstats.mechanism.noise import Noise, SecureNoise, SeededNoise
from dpstats.mechanism.release import Release
from dpstats.mechanism.session import Session
from dpstats.models.eptr_bayes.releases import ClassSession, count_levels
from dpstats.models.eptr_linear.releases import (
    CutLimits,
    LeastSquaresSession,
    eigenvalue_levels,
)
from dpstats.models.eptr_nw.releases import Features, KernelSession, degree_levels
from dpstats.models.eptr_nw.rows import KernelPlan
from dpstats.models.eptr_own import releases as own_estimate
from dpstats.models.gaussian.releases import CellSession
from dpstats.models.gaussian.rows import CellCoordinates
from dpstats.models.glm.family import resolve_family
from dpstats.models.linear.releases import LinearSession
from dpstats.propose_test.curve import Levels
from dpstats.propose_test.paper import papers_plan
from dpstats.propose_test.plan import plan_release
from dpstats.propose_test.safety import PapersSafety, SafetyLevels, SafetyTest
from dpstats.score_rounds.releases import ScoreSession, Shares
from dpstats.score_rounds.rows import LeastSquares, RoundCuts
from tests.grids import thinned
from tests.mechanism.laws import gamma_lengths, independent_signs, laplace_scale, normal_scale
from tests.mechanism.sources import Arrays, NonPrivateSilence

Floats = NDArray[np.float64]


def _session(mu: float = 1.0) -> ScoreSession:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, 2))
    source = Arrays(x, x @ [1.0, 2.0] + rng.normal(size=500))
    return ScoreSession(source, LeastSquares(), np.eye(2), np.zeros(2), Privacy(mu), SeededNoise(1))


def test_costs_add_up_to_the_total() -> None:
    with _session(0.8) as s:
        s.information_lengths(0.1, np.zeros(2), ((-8, 16), (-8, 16)))
        s.moments(0.2, 4.0)
        s.round(Shares(score=0.3), np.zeros(2), RoundCuts(4.0, None))
        last = Shares(score=s.left - 0.1, squares=0.05, counts=0.05)
        s.round(last, np.zeros(2), RoundCuts(4.0, None, 4.0))
    assert math.sqrt(sum(r.cost.mu**2 for r in s.releases)) == pytest.approx(0.8)
    assert all(r.noise_sd == pytest.approx(r.sensitivity / r.cost.mu) for r in s.releases)


def test_overspending_is_refused_before_reading() -> None:
    with _session() as s:
        s.moments(0.9, 4.0)
        before = len(s.releases)
        s._rows.sums = None  # type: ignore[assignment,method-assign]  # reading would fail
        with pytest.raises(ValueError, match="exceed"):
            s.round(Shares(score=0.2), np.zeros(2), RoundCuts(4.0, None))
        assert len(s.releases) == before


@pytest.mark.parametrize("share", [0.0, -0.1, math.nan])
def test_a_share_must_be_positive(share: float) -> None:
    with _session() as s, pytest.raises(ValueError, match="exceed"):
        s.moments(share, 4.0)


# --- the noise of every release --------------------------------------------------------------------


class _Switched:
    """Silent until it is switched on: what a release adds its noise to, and then the noise."""

    def __init__(self, noise: Noise) -> None:
        self._noise, self._silence, self.on = noise, NonPrivateSilence(), False
        self.seeded = noise.seeded

    def __getattr__(self, name: str) -> Any:
        if name == "coin":  # the noise behind a test is that of the tests that pass
            return self._silence.coin
        return getattr(self._noise if self.on else self._silence, name)


class _Remembering:
    """Rows that make each pass once: what they are asked next is what they were asked before."""

    def __init__(self, rows: Any) -> None:
        self._rows, self._found = rows, dict[str, Any]()

    def __getattr__(self, name: str) -> Any:
        kept = getattr(self._rows, name)
        if name not in self._found and callable(kept):
            self._found[name] = None

        def asked(*args: Any, **options: Any) -> Any:
            if self._found[name] is None:
                self._found[name] = (kept(*args, **options),)
            return self._found[name][0]

        return asked if callable(kept) else kept


_N, _D = 60, 2
_RNG = np.random.default_rng(2)
_X = _RNG.normal(size=(_N, _D))
_Y = _X @ [1.0, -0.5] + _RNG.normal(size=_N)
_EYE, _ZERO = np.eye(_D), np.zeros(_D)
_LIMITS = CutLimits(2.0, 4.0, 2.0)
_NODES = np.array([[-0.5, 0.0], [0.8, 0.0], [2.0, 0.0]])  # on a line
_FEATURES = Features.of(_NODES)
_CURVE = KernelPlan(
    np.ones(_D),
    np.full(_D, -3.0),
    np.full(_D, 3.0),
    _NODES,
    lambda z: np.zeros(z.shape[1]),
    2.0,
    1.5,
)
_FRAMES = (CellCoordinates(_ZERO, _EYE),)
_BUDGET = 2.0, 1e-2
_GAUSSIAN, _AT_ONE = Privacy(1.5), ApproximatePrivacy(*_BUDGET)


def _linear(x: Floats, y: Floats, total: Any, noise: Noise) -> Session[Any]:
    session = LinearSession(Arrays(x, y), _EYE, _ZERO, total, noise)
    session.gram(0.01, 2.0)  # cuts the rows, once
    session._rows.cut = lambda radius: None  # type: ignore[method-assign]
    return session


def _family(x: Floats, y: Floats, total: Any, noise: Noise) -> Session[Any]:
    family = resolve_family("gaussian")
    return ScoreSession(Arrays(x, y), family, _EYE, _ZERO, total, noise)


def _squares(x: Floats, y: Floats, total: Any, noise: Noise) -> Session[Any]:
    return LeastSquaresSession(Arrays(x, y), _EYE, _ZERO, _LIMITS, total, noise)


def _classes(x: Floats, y: Floats, total: Any, noise: Noise) -> Session[Any]:
    first = np.arange(len(x)) < 30
    table = np.column_stack([first, ~first, x]).astype(float)
    return ClassSession(Arrays(table, y), _EYE, np.zeros((2, 2)), 2.0, total, noise)


def _with_ones(x: Floats, y: Floats) -> Arrays:
    return Arrays(np.column_stack([np.ones(len(x)), x]), y)


def _kernel(x: Floats, y: Floats, total: Any, noise: Noise) -> Session[Any]:
    return KernelSession(_with_ones(x, y), _CURVE, total, noise)


def _one_node(x: Floats, y: Floats, total: Any, noise: Noise) -> Session[Any]:
    plan = replace(_CURVE, nodes=_NODES[:1], longest=None)
    return KernelSession(_with_ones(x, y), plan, total, noise)


def _cells(x: Floats, y: Floats, total: Any, noise: Noise) -> Session[Any]:
    return CellSession(_with_ones(x, y), _ZERO, np.ones(_D), total, noise)


_DEGREES = np.full(3, 9.0)


def _eigenvalue_levels() -> SafetyLevels | None:
    return eigenvalue_levels(20.0, _N, _D, _LIMITS)


def _degree_levels() -> SafetyLevels | None:
    return degree_levels(_DEGREES, 1.5)


def _bounded_solution(session: Any) -> None:
    eigenvalue = Release("smallest eigenvalue", np.array([30.0]), 4.0, 1.0, Privacy(0.5), 0.0)
    session.releases.append(eigenvalue)  # as if it had been made here
    session.bounded_solution(1.0, eigenvalue)
    del session.releases[0]


def _bounded_values(session: Any) -> None:
    degrees = Release("degrees", np.array([9.0, 8.0, 7.0]), 1.5, 0.5, Privacy(0.5), 0.0)
    session.releases.append(degrees)
    session.bounded_values(1.0, degrees, 1.0)
    del session.releases[0]


def _count_levels() -> SafetyLevels:
    return count_levels(20, 2.0, 1.0, _N)


@cache
def _test(of: Callable[[], SafetyLevels | None]) -> SafetyTest:
    levels = of()
    assert levels is not None
    return SafetyTest(plan_release(levels.levels, *_BUDGET, target=levels.target), levels)


def _papers_test(threshold: float, step: float) -> SafetyTest:
    return SafetyTest(papers_plan(0.3, *_BUDGET), PapersSafety(threshold, step, 0.3))


@dataclass(frozen=True)
class _Case:
    """A session at a total and what it is asked for; which releases are matrices, and of which kind."""

    make: Callable[[Floats, Floats, Any, Noise], Session[Any]]
    total: Any
    ask: Callable[[Any], Any]
    papers: bool = False
    wider: int = 0  # coordinates, from the first, with sqrt(2) times the noise


_WINDOWS = (-4, 8), (-5, 9)
_CASES: dict[str, _Case] = {
    "linear: moments": _Case(_linear, _GAUSSIAN, lambda s: s.gram(1.0, 2.0)),
    "linear: papers' moments": _Case(
        _linear, _GAUSSIAN, lambda s: s.gram(1.0, 2.0, papers=True), papers=True
    ),
    "linear: cross": _Case(_linear, _GAUSSIAN, lambda s: s.cross(1.0, 4.0)),
    "scores: lengths": _Case(
        _family, _GAUSSIAN, lambda s: s.information_lengths(1.0, _ZERO, _WINDOWS)
    ),
    "scores: lengths by octaves": _Case(
        _family, _GAUSSIAN, lambda s: s.score_lengths(1.0, _ZERO, _WINDOWS, 3)
    ),
    "scores: responses": _Case(_family, _GAUSSIAN, lambda s: s.response_histogram(1.0, -4, 8)),
    "scores: moments": _Case(_family, _GAUSSIAN, lambda s: s.moments(1.0, 2.0)),
    "scores: round": _Case(
        _family, _GAUSSIAN, lambda s: s.round(Shares(0.3, 0.7), _ZERO, RoundCuts(4.0, 2.0))
    ),
    "scores: papers' round": _Case(
        _family,
        _GAUSSIAN,
        lambda s: s.round(Shares(0.3, 0.7), _ZERO, RoundCuts(4.0, 2.0), papers=True),
        papers=True,
    ),
    "scores: last": _Case(
        _family,
        _GAUSSIAN,
        lambda s: s.round(Shares(0.2, 0.3, 0.2, 0.1, 0.1, 0.1), _ZERO, RoundCuts(4.0, 2.0, 2.0)),
    ),
    "squares: eigenvalue": _Case(_squares, _GAUSSIAN, lambda s: s.smallest_eigenvalue(1.0)),
    "squares: bounded": _Case(_squares, Privacy(1.5, 1e-3), _bounded_solution),
    "squares: tested": _Case(
        _squares,
        _AT_ONE,
        lambda s: s.tested_solution(_test(_eigenvalue_levels)),
    ),
    "squares: papers": _Case(
        _squares, _AT_ONE, lambda s: s.tested_solution(_papers_test(5.0, 8.0))
    ),
    "squares: moments": _Case(_squares, _GAUSSIAN, lambda s: s.joint_moments(1.0), wider=_D),
    "classes: sums": _Case(_classes, _GAUSSIAN, lambda s: s.sums(1.0)),
    "classes: tested": _Case(
        _classes,
        _AT_ONE,
        lambda s: s.tested_means(_test(_count_levels)),
    ),
    "classes: papers": _Case(_classes, _AT_ONE, lambda s: s.tested_means(_papers_test(10.0, 1.0))),
    "kernel: curve": _Case(_kernel, _GAUSSIAN, lambda s: s.curve(1.0, _FEATURES)),
    "kernel: degrees": _Case(_kernel, _GAUSSIAN, lambda s: s.degrees(1.0)),
    "kernel: bounded": _Case(_kernel, Privacy(1.5, 1e-3), _bounded_values),
    "kernel: tested": _Case(
        _kernel, _AT_ONE, lambda s: s.tested_values(_test(_degree_levels), _DEGREES)
    ),
    "kernel: papers": _Case(_one_node, _AT_ONE, lambda s: s.tested_values(_papers_test(4.0, 2.0))),
    **{
        f"cells, {name}: {what}": _Case(_cells, total, ask)
        for name, total in (("Gaussian", _GAUSSIAN), ("pure", PurePrivacy(0.2)))
        for what, ask in {
            "counts": lambda s: s.counts(1.0, (), 1),
            "lengths": lambda s: s.lengths(1.0, (), _FRAMES, -4, 8),
            "lifted": lambda s: s.lifted(0.5, (), _FRAMES, (2.0,), 0.5, 0.5),
            "sum": lambda s: s.vector_sum(0.5, _FRAMES[0], 2.0, 0.5),
            "long, of none": lambda s: s.long_rows(1.0, _FRAMES[0], 64.0),
        }.items()
    },
}


def _again(session: Session[Any], ask: Callable[[Any], Any]) -> list[Release]:
    """What a session releases when asked with its whole total, as if for the first time."""
    session.left, session._slack_used = 1.0, False
    session.releases.clear()
    ask(session)
    return list(session.releases)


def _added(noisy: Release, silent: Release, case: _Case) -> Floats:
    """The noise in its stated sd, so that every number of a row counts alike."""
    assert noisy.noise_sd == silent.noise_sd
    assert noisy.step == silent.step
    rest = (noisy.value - silent.value) / noisy.noise_sd
    if rest.ndim > 1:
        d = rest.shape[-1]
        assert (rest == np.swapaxes(rest, -1, -2)).all()
        off = rest[..., *np.triu_indices(d, 1)] * (1.0 if case.papers else math.sqrt(2))
        diagonal = np.diagonal(rest, axis1=-2, axis2=-1)
        rest = np.concatenate([diagonal.ravel(), off.ravel()])
    rest = rest.copy()
    rest[: case.wider] /= math.sqrt(2)
    return rest


def _check_noise(case: _Case, noise: Noise, calls: int | None = None) -> None:
    """Every release: the scale; with so many calls, number by number, and how they go together.

    1100 normals tell a scale from 0.7 and 1.3 times it, 2200 numbers of the pure laws.
    """
    switched = _Switched(noise)
    with case.make(_X, _Y, case.total, switched) as session:
        session._rows = _Remembering(session._rows)
        silent = _again(session, case.ask)
        switched.on = True
        enough = 2200 if isinstance(case.total, PurePrivacy) else 1100
        few = math.ceil(enough / min(_added(bare, bare, case).size for bare in silent))
        found = [_again(session, case.ask) for _ in range(max(calls or few, few))]
    assert silent
    for k, bare in enumerate(silent):
        rests = np.array([_added(releases[k], bare, case) for releases in found])
        q = rests.shape[1]
        if not isinstance(case.total, PurePrivacy):
            normal_scale(rests, 1.0)
        elif bare.value.ndim > 1 or bare.what == "sum and number of rows":
            # lengths in sensitivity / epsilon, for which sd sqrt(q + 1) is stated per coordinate
            gamma_lengths(np.linalg.norm(rests, axis=1) * math.sqrt(q + 1), q)
        else:
            laplace_scale(rests * math.sqrt(2), 1.0)
        if calls is not None:
            for rest in rests.T:
                if not isinstance(case.total, PurePrivacy):
                    normal_scale(rest, 1.0)
            independent_signs(rests[:, :4], lags=(1,))


@pytest.mark.parametrize("name", _CASES)
def test_released_values_have_the_sd_that_their_release_states(name: str) -> None:
    _check_noise(_CASES[name], SeededNoise(12))


@pytest.mark.slow
@pytest.mark.parametrize("name", _CASES)
def test_secure_values_have_the_sd_that_their_release_states(name: str) -> None:
    _check_noise(_CASES[name], SecureNoise())


@pytest.mark.slow
@pytest.mark.parametrize("name", _CASES)
def test_released_values_are_independent_of_each_other_and_of_the_last_call(name: str) -> None:
    _check_noise(_CASES[name], SeededNoise(15), 1500)


# --- no trace of what the totals do not say ---------------------------------------------------------


def _released(case: _Case, x: Floats, y: Floats, noise: Noise) -> list[Release]:
    switched = _Switched(noise)
    with case.make(x, y, case.total, switched) as session:
        switched.on = True
        return _again(session, case.ask)


def _turned(kernel: bool) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
    """Two tables whose exact totals agree, and no row of one is near a row of the other.

    Two orthogonal rows are turned by a Pythagorean angle, with responses that keep sum z y and sum
    y^2, and all mirrored. A curve with its nodes on a line sees no difference between its two sides.
    """
    x, y = _X[:30], _Y[:30]
    if kernel:
        return (x, y), (x * [1.0, -1.0], y)
    one = np.array([[5.0, 0.0, 5.0], [0.0, 5.0, 10.0]]) / 8
    two = np.array([[3.0, 4.0, 11.0], [4.0, -3.0, -2.0]]) / 8
    both = [np.vstack([np.column_stack([x, y]), rows, -rows] * 2) for rows in (one, two)]
    return (both[0][:, :2], both[0][:, 2]), (both[1][:, :2], both[1][:, 2])


# |y|, |z e| and z z' e^2 of single rows are what these add up
_TOLD_APART = {"scores: lengths by octaves", "scores: responses", "scores: last"}


@pytest.mark.parametrize("name", _CASES)
def test_tables_with_the_same_totals_are_the_same_bits(name: str) -> None:
    case = _CASES[name]
    one, two = _turned(name.startswith("kernel"))
    bare = [_released(case, *table, NonPrivateSilence()) for table in (one, two)]
    found = [_released(case, *table, SeededNoise(14)) for table in (one, two)]
    same = [a.value.tobytes() == b.value.tobytes() for a, b in zip(*bare, strict=True)]
    assert all(same) == (name not in _TOLD_APART)
    for k, agree in enumerate(same):
        a, b = found[0][k], found[1][k]
        assert (a.value.tobytes() == b.value.tobytes()) == agree
        assert (a.what, a.sensitivity, a.noise_sd, a.cost, a.step) == (
            b.what,
            b.sensitivity,
            b.noise_sd,
            b.cost,
            b.step,
        )


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.sampled_from([n for n in sorted(_CASES) if "kernel" not in n]), st.integers(0, 10**6))
def test_what_is_less_than_half_a_step_leaves_no_trace(name: str, seed: int) -> None:
    # on multiples of every grid's steps, of which the finest are 2^-35 for rows and 2^-34 for scores
    case, rng = _CASES[name], np.random.default_rng(seed)
    x = np.clip(np.rint(_X * 2.0**20) / 2.0**20, -1.3, 1.3)
    x = np.rint(x * 2.0**20) / 2.0**20
    y = np.rint(np.clip(_Y, -1.4, 1.4) * 2.0**14) / 2.0**14
    nudged = x + 2.0**-35 * rng.choice([-0.3, 0.0, 0.3], x.shape)
    assert (nudged != x).any()
    found = [_released(case, z, y, SeededNoise(seed)) for z in (x, nudged)]
    for one, two in zip(*found, strict=True):
        assert one.value.tobytes() == two.value.tobytes()


def _steps(releases: list[Release]) -> list[list[int]]:
    """Values in whole steps."""
    return [[round(v / r.step) for v in r.value.ravel().tolist()] for r in releases]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.sampled_from(sorted(_CASES)),
    st.sampled_from([0.0, 2.0**-55, 2.0**-45, 2.0**-30, 1e-3, 1.0, 1e9]),
    st.integers(0, 10**6),
)
def test_noise_is_added_to_integers_and_knows_nothing_of_the_data(
    name: str, size: float, seed: int
) -> None:
    case, rng = _CASES[name], np.random.default_rng(seed)
    other = _X + size * rng.normal(size=_X.shape), _Y + size * rng.normal(size=_N)
    drawn = []
    for x, y in ((_X, _Y), other):
        noisy = _released(case, x, y, SeededNoise(seed))
        bare = _released(case, x, y, NonPrivateSilence())
        # all of them below 2^53 steps: floats hold them
        assert max(abs(k) for row in _steps(noisy) + _steps(bare) for k in row) < 2**53
        drawn.append(
            [
                [a - b for a, b in zip(*pair, strict=True)]
                for pair in zip(_steps(noisy), _steps(bare), strict=True)
            ]
        )
    assert drawn[0] == drawn[1]


_SOURCES: dict[str, Noise] = {"secure": SecureNoise(), "seeded": SeededNoise(13)}


@pytest.mark.parametrize(("source", "kind"), thinned(_SOURCES, ["gdp", "paper"], of=2))
def test_an_own_estimate_has_the_sd_that_its_release_states(source: str, kind: str) -> None:
    noise = _SOURCES[source]
    plan = (
        papers_plan(1.0, *_BUDGET)
        if kind == "paper"
        else plan_release(Levels.flat(1.0 + 1e-6), *_BUDGET, target=9)
    )
    value, rests = np.array([3.0, -1e3, 0.0]), []
    while len(rests) < 1500:
        tested = own_estimate.tested_estimate(
            None, value, 1e5, 3, plan, (1.0, 1.0), ApproximatePrivacy(*_BUDGET), noise
        )
        assert tested.release.noise_sd == pytest.approx(plan.noise_sd, rel=1e-9)
        if tested.passed:
            rests.append((tested.release.value - value) / tested.release.noise_sd)
    normal_scale(np.array(rests), 1.0)
    independent_signs(np.array(rests), lags=(1,))


@pytest.mark.parametrize("total", [Privacy(2.0), Privacy(2.0, 1e-6), PurePrivacy(2.0)])
def test_sessions_of_a_call_never_spend_more_than_its_total(total: Privacy | PurePrivacy) -> None:
    last: Session[Any] | None = None
    for _ in range(4):
        session: Session[Any] = Session(_session()._rows, total, NonPrivateSilence(), last)
        spent = session._spend(0.5)
        last = session
    assert last is not None
    assert last.left_of_granted == pytest.approx(0.5**4)
    assert spent.mu <= total.share(0.5**4).mu * (1 + 1e-12)
