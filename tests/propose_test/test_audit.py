"""What worst neighbours give away in releases of the ePTR functions stays below the claim. Slow.

For each mechanism two neighbours are searched that are as bad as its proof allows. What the mechanism
makes of either (the statistic, the probability of an answer, the noise) is read off the real session,
run once with silent noise; from these numbers 2 * 10^5 releases of either neighbour are drawn with
numpy. Real sessions, run 1500 times for either with seeded noise, must have the same law. The attacker
knows everything but which of the two it is, and so decides by the likelihood ratio.

Noise is the same and independent in every direction: only the coordinate along the shift is drawn.

False alarms. Events are chosen on the first half of the draws and bounded on the second. A lower bound
on epsilon combines two Clopper-Pearson limits that fail with probability 2.5e-7 each; a lower bound on
delta takes two empirical Bernstein limits (Maurer and Pontil 2009) at 2.5e-7 each; every comparison of
laws is a test at 2.5e-7. A right implementation fails an assertion with probability below 1e-6.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import optimize, special, stats

from dpstats.accounting.privacy import ApproximatePrivacy, Privacy
from dpstats.errors import PrivacyError
from dpstats.mechanism.noise import Noise, SeededNoise
from dpstats.mechanism.release import Release
from dpstats.models.eptr_bayes.releases import ClassSession, count_levels, means_move
from dpstats.models.eptr_linear.releases import (
    CutLimits,
    LeastSquaresSession,
    diameter_with_floats,
    eigenvalue_levels,
    lower_eigenvalue,
)
from dpstats.models.eptr_nw.releases import Features, KernelSession, degree_levels
from dpstats.models.eptr_nw.rows import KernelPlan, kernel
from dpstats.models.eptr_own import releases as own_estimate
from dpstats.propose_test.curve import Levels, gdp_split
from dpstats.propose_test.pair import divergence, gaussian_mu
from dpstats.propose_test.paper import papers_delta, papers_plan
from dpstats.propose_test.plan import ReleasePlan, plan_release
from dpstats.propose_test.safety import PapersSafety, SafetyTest
from tests.mechanism.sources import Arrays, NonPrivateSilence

pytestmark = pytest.mark.slow

_DELTA = 0.01
_DRAWS = 200_000
_REAL = 1500
_ALARM = 2.5e-7
_LEAST_ANSWERED = 0.2  # pairs that are nearly never answered sit on delta trivially

Floats = np.ndarray


# --- the attack -------------------------------------------------------------------------------


def _epsilon_bound(ratio: tuple[Floats, Floats]) -> float:
    """A lower bound on epsilon at `_DELTA` from log likelihood ratios of draws under either law."""

    def limits(mine: Floats, other: Floats, cut: float) -> tuple[float, float]:
        n, hit, missed = len(mine), int((mine > cut).sum()), int((other > cut).sum())
        low = float(stats.beta.ppf(_ALARM, hit, n - hit + 1)) if hit else 0.0
        high = float(stats.beta.isf(_ALARM, missed + 1, n - missed)) if missed < n else 1.0
        return low, high

    best, chosen = -math.inf, (1.0, 0.0)
    for sign in (1.0, -1.0):
        mine, other = (sign * r[: len(r) // 2] for r in (ratio if sign > 0 else ratio[::-1]))
        for cut in np.quantile(np.concatenate([mine, other]), np.linspace(0.005, 0.995, 199)):
            low, high = limits(mine, other, float(cut))
            found = math.log((low - _DELTA) / high) if low > _DELTA else -math.inf
            if found > best:
                best, chosen = found, (sign, float(cut))
    sign, cut = chosen
    mine, other = (sign * r[len(r) // 2 :] for r in (ratio if sign > 0 else ratio[::-1]))
    low, high = limits(mine, other, cut)
    return max(math.log((low - _DELTA) / high), 0.0) if low > _DELTA else 0.0


def _delta_bound(ratio: tuple[Floats, Floats], epsilon: float) -> float:
    """A lower bound on delta(epsilon) = E (1 - exp(epsilon - log ratio))_+, in either direction."""
    found = []
    for losses in (ratio[0], -ratio[1]):
        parts = -np.expm1(np.minimum(epsilon - losses, 0.0))
        n, log = len(parts), math.log(2 / _ALARM)
        room = math.sqrt(2 * float(parts.var(ddof=1)) * log / n) + 7 * log / (3 * (n - 1))
        found.append(float(parts.mean()) - room)
    return max(found)


class _Noted(NonPrivateSilence):
    """No noise; remembers the probability that it was asked to toss."""

    probability = 1.0

    def coin(self, probability: float) -> bool:
        self.probability = probability
        return True


# A release of one of the two neighbours: side, noise -> numbers and their noise sd
_Run = Callable[[int, Noise], tuple[Floats, Floats]]


@dataclass(frozen=True)
class _Tested:
    """Two laws "nothing, or N(t, sd^2)": probabilities of an answer and the shift in noise sds.

    Gaussian releases are those that always answer.
    """

    run: _Run
    answered: tuple[float, float]
    start: Floats
    shift: Floats

    @classmethod
    def of(cls, run: _Run) -> _Tested:
        values, answered = [], []
        for side in (0, 1):
            noise = _Noted()
            value, sd = run(side, noise)
            values.append(value / sd)
            answered.append(noise.probability)
        return cls(run, (answered[0], answered[1]), values[0], values[1] - values[0])

    @property
    def size(self) -> float:
        return float(np.linalg.norm(self.shift))

    def exact(self, epsilon: float) -> float:
        return divergence(*self.answered, self.size, epsilon)

    def _ratios(self, answered: np.ndarray, z: Floats) -> Floats:
        p, q = self.answered
        with np.errstate(divide="ignore"):
            silent = np.log1p(-p) - np.log1p(-q) if min(p, q) < 1 else 0.0
        heard = math.log(p / q) + self.size**2 / 2 - self.size * z
        return np.where(answered, heard, silent)

    def draw(self, side: int, count: int, rng: np.random.Generator) -> Floats:
        z = rng.standard_normal(count) + side * self.size
        return self._ratios(rng.random(count) < self.answered[side], z)

    def real(self, side: int, noise: Noise) -> tuple[float, Floats]:
        """The log ratio of one real release, and its noise in sds."""
        value, sd = self.run(side, noise)
        answered = not bool(np.isnan(value).any())
        moved = value / sd - self.start if answered else np.zeros(0)
        z = float(moved @ self.shift) / self.size if answered else 0.0
        ratio = float(self._ratios(np.array(answered), np.array(z)))
        return ratio, moved - side * self.shift if answered else moved


_Law = Any  # _Tested, _BoundedSolution or _BoundedValues: draw and real


def _attack(law: _Law, epsilon: float, least: float) -> None:
    rng = np.random.default_rng(int(1000 * epsilon))
    ratio = law.draw(0, _DRAWS, rng), law.draw(1, _DRAWS, rng)
    assert _delta_bound(ratio, epsilon) <= _DELTA
    found = _epsilon_bound(ratio)
    assert found <= epsilon
    # an attack that finds nothing proves nothing
    assert found >= least * epsilon


def _real_law(law: _Law, seed: int) -> None:
    """Real sessions, with seeded noise, have the law that is drawn: log ratios, and the noise."""
    rng, noise = np.random.default_rng(seed), SeededNoise(seed)
    for side in (0, 1):
        found = [law.real(side, noise) for _ in range(_REAL)]
        ratios = np.array([ratio for ratio, _ in found])
        drawn = law.draw(side, 20 * _REAL, rng)
        assert stats.ks_2samp(ratios, drawn, method="asymp").pvalue > _ALARM
        # the noise itself, in the sd that is claimed for it, of every coordinate
        rest = np.concatenate([rest for _, rest in found])
        low, high = stats.chi2.ppf([_ALARM / 2, 1 - _ALARM / 2], rest.size)
        assert low < rest @ rest < high


def _worst(laws: Iterator[_Tested], epsilon: float, calibration: str) -> _Tested:
    """The pair with the largest exact epsilon, and delta where several have it; no claim fails."""
    total = _total(epsilon, calibration)

    def needed(law: _Tested) -> tuple[float, float]:
        for order in (0.0, 0.3 * epsilon, 0.9 * epsilon, 1.5 * epsilon, 4 * epsilon):
            assert law.exact(order) <= total.delta(order)
        exact = law.exact(epsilon)
        assert exact <= _DELTA
        if exact > 0.9 * _DELTA:
            return epsilon, exact
        if law.exact(0.0) <= _DELTA:
            return 0.0, exact
        return float(optimize.brentq(lambda e: law.exact(e) - _DELTA, 0.0, epsilon)), exact

    found = [(needed(law), law) for law in laws]
    often = [(size, law) for size, law in found if min(law.answered) >= _LEAST_ANSWERED]
    return max(often, key=lambda pair: pair[0])[1]


def _total(epsilon: float, calibration: str) -> Privacy | ApproximatePrivacy:
    if calibration == "gdp":
        return Privacy(*gdp_split(epsilon, _DELTA))
    return ApproximatePrivacy(epsilon, _DELTA)


def _bounded_total(epsilon: float) -> Privacy:
    """The total of a release whose noise rests on a private lower bound: a fifth of delta for it."""
    slack = _DELTA / 5
    return Privacy(gaussian_mu(epsilon, _DELTA - slack), slack)


# --- any estimate -----------------------------------------------------------------------------


def _generic_run(plan: ReleasePlan, safety: tuple[float, float], epsilon: float) -> _Run:
    def run(side: int, noise: Noise) -> tuple[Floats, Floats]:
        tested = own_estimate.tested_estimate(
            None,
            [3.0, 4.0 + side],
            safety[side],
            2,
            plan,
            (1.0, 1.0),
            ApproximatePrivacy(epsilon, _DELTA),
            noise,
        )
        return tested.release.value, np.full(2, tested.release.noise_sd)

    return run


@cache
def _generic(epsilon: float, calibration: str) -> _Tested:
    if calibration == "paper":
        plan: ReleasePlan = papers_plan(1.0, epsilon, _DELTA)
        steps = np.arange(0.0, 3 * getattr(plan, "margin", 1.0), 0.5)
    else:
        plan = plan_release(
            Levels.flat(1.0 + 1e-6),
            epsilon,
            _DELTA,
            calibration=calibration,  # type: ignore[arg-type]
            target=8 + round(20 / epsilon),
        )
        steps = np.arange(1.0, len(plan.curve) + 3)

    def laws() -> Iterator[_Tested]:
        for gamma in steps:
            for other in (gamma, gamma + 1):
                for pair in ((gamma, other), (other, gamma)):
                    if max(pair) > 0:
                        yield _Tested.of(_generic_run(plan, pair, epsilon))

    return _worst(laws(), epsilon, calibration)


# --- least squares ----------------------------------------------------------------------------

_LIMITS = CutLimits(1.0, 2.0, 1.0)
_MANY, _SQUARES_ROWS = 3000, 3400
_TARGET = 60.0


def _squares_table(short: float, side: int, way: str) -> Arrays:
    """Solutions on the edge of the ball: many rows fix the first coefficient at C = 1, and ``short``
    rows the second at 0. The row that is replaced is (c, sqrt(1 - c^2)) with the response -B.

    "mirror": by (c, -sqrt(1 - c^2)), so that the scores differ by their largest diameter along the
    direction that is known least; "shrink": by a slightly shorter one, so that the smallest eigenvalue
    falls a little; "turn": by (1, 0), so that it falls by almost as much as it can.
    """
    c = 2 / (math.sqrt(12) + 2)
    table = np.zeros((_SQUARES_ROWS, 3))
    table[:_MANY] = [1.0, 0.0, 1.001]
    whole = int(short)
    table[_MANY : _MANY + whole] = [0.0, 1e3, 0.0]
    table[_MANY + whole, 1] = math.sqrt(short - whole)
    last = np.array([c, math.sqrt(1 - c * c), -2.0])
    other = {
        "mirror": last * [1, -1, 1],
        "shrink": last * [0.999, -0.999, 1],
        "turn": np.array([1.0, 0.0, -2.0]),
    }
    table[-1] = other[way] if side else last
    return Arrays(table[:, :2], table[:, 2])


def _squares_session(
    source: Arrays, total: Privacy | ApproximatePrivacy, noise: Noise, whole: bool
) -> LeastSquaresSession:
    return LeastSquaresSession(source, np.eye(2), np.zeros(2), _LIMITS, total, noise, whole=whole)


def _smallest(short: float) -> float:
    with _squares_session(
        _squares_table(short, 0, "mirror"), Privacy(1.0), NonPrivateSilence(), True
    ) as session:
        return float(session.smallest_eigenvalue(1.0).value[0])


@cache
def _short_for(smallest: float) -> float:
    """How many rows give this smallest eigenvalue."""
    short = smallest
    for _ in range(3):
        short += smallest - _smallest(short)
    return short


def _squares_run(
    short: float, way: str, release: Callable[[LeastSquaresSession], Release], total: Any
) -> _Run:
    sources = [_squares_table(short, side, way) for side in (0, 1)]

    def run(side: int, noise: Noise) -> tuple[Floats, Floats]:
        with _squares_session(sources[side], total, noise, True) as session:
            found = release(session)
        return found.value, np.full(2, found.noise_sd)

    return run


@cache
def _squares(epsilon: float, calibration: str) -> _Tested:
    total = _total(epsilon, calibration)
    if calibration == "paper":
        sensitivity = max(4.0, diameter_with_floats(_SQUARES_ROWS, 2, _LIMITS)) / _TARGET
        papers = papers_plan(sensitivity, epsilon, _DELTA)
        test = SafetyTest(papers, PapersSafety(_TARGET, 2.0, sensitivity))

        def release(session: LeastSquaresSession) -> Release:
            return session.tested_solution(test).release

        spots = _TARGET + 2 + np.arange(1.0, 5 * papers.margin)
        ways = ("mirror", "turn")
    else:
        levels = eigenvalue_levels(_TARGET, _SQUARES_ROWS, 2, _LIMITS)
        assert levels is not None
        plan = plan_release(
            levels.levels,
            epsilon,
            _DELTA,
            calibration=calibration,  # type: ignore[arg-type]
            target=levels.target,
        )

        def release(session: LeastSquaresSession) -> Release:
            return session.tested_solution(SafetyTest(plan, levels)).release

        first = plan.level_for(_LEAST_ANSWERED)
        assert first is not None
        # a hair above the edge of a level: the mirrored row stays there, the shorter one falls below
        spots = levels.first + levels.step * np.arange(first, levels.target + 2) + 1e-4
        ways = ("mirror", "shrink")

    def laws() -> Iterator[_Tested]:
        for smallest in spots[:: max(len(spots) // 20, 1)]:
            for way in ways:
                yield _Tested.of(_squares_run(_short_for(float(smallest)), way, release, total))

    return _worst(laws(), epsilon, calibration)


@cache
def _adassp(epsilon: float) -> _Tested:
    total = Privacy(gaussian_mu(epsilon, _DELTA))
    tables = [np.array([[9.0, 9.0, 1.0], [9.0, 0.0, y]]) for y in (9.0, -9.0)]

    def run(side: int, noise: Noise) -> tuple[Floats, Floats]:
        source = Arrays(tables[side][:, :2], tables[side][:, 2])
        with _squares_session(source, total, noise, True) as session:
            found = session.joint_moments(1.0)
        value = np.concatenate([np.diag(found.gram), found.gram[:1, 1], found.cross])
        return value, np.repeat(
            [found.gram_sd, found.gram_sd / math.sqrt(2), found.cross_sd], [2, 1, 2]
        )

    return _Tested.of(run)


@dataclass(frozen=True)
class _BoundedSolution:
    """An eigenvalue, and a solution with noise for the private bound on it."""

    total: Privacy
    sources: tuple[Arrays, Arrays]
    share: float
    eigenvalues: tuple[Release, Release]
    solutions: tuple[Floats, Floats]

    @classmethod
    def of(cls, total: Privacy, short: float, way: str, share: float) -> _BoundedSolution:
        found, sources = [], []
        for side in (0, 1):
            source = _squares_table(short, side, way)
            with _squares_session(source, total, NonPrivateSilence(), False) as session:
                eigenvalue = session.smallest_eigenvalue(share)
                found.append((eigenvalue, session.bounded_solution(1 - share, eigenvalue).value))
            sources.append(source)
        (e, s), (f, t) = found
        return cls(total, (sources[0], sources[1]), share, (e, f), (s, t))

    def _sd(self, released: Floats) -> Floats:
        """Noise of the solution, given a released eigenvalue."""
        one = self.eigenvalues[0]
        lower = np.array(lower_eigenvalue(released, one, self.total.slack, _SQUARES_ROWS, 2, 1.0))  # type: ignore[arg-type]
        move = diameter_with_floats(_SQUARES_ROWS, 2, _LIMITS) / np.where(lower > 0, lower, np.inf)
        widest = 2 * _LIMITS.coef * (1 + 1e-6)
        move = np.where(lower > 0, np.minimum(move, widest), widest)
        return move / (self.total.mu * math.sqrt(1 - self.share))

    def _ratios(self, released: Floats, along: Floats) -> Floats:
        """``along``: the solution less that of side 0, in the direction of the shift."""
        sd = self.eigenvalues[0].noise_sd
        a, b = (float(e.value[0]) for e in self.eigenvalues)
        first = ((released - b) ** 2 - (released - a) ** 2) / (2 * sd**2)
        size = float(np.linalg.norm(self.solutions[1] - self.solutions[0]))
        second = ((along - size) ** 2 - along**2) / (2 * self._sd(released) ** 2)
        return first + second

    def draw(self, side: int, count: int, rng: np.random.Generator) -> Floats:
        at = self.eigenvalues[side]
        released = float(at.value[0]) + at.noise_sd * rng.standard_normal(count)
        size = float(np.linalg.norm(self.solutions[1] - self.solutions[0]))
        along = side * size + self._sd(released) * rng.standard_normal(count)
        return self._ratios(released, along)

    def real(self, side: int, noise: Noise) -> tuple[float, Floats]:
        with _squares_session(self.sources[side], self.total, noise, False) as session:
            eigenvalue = session.smallest_eigenvalue(self.share)
            solution = session.bounded_solution(session.left, eigenvalue)
        sd = float(self._sd(eigenvalue.value)[0])
        assert solution.noise_sd == pytest.approx(sd, rel=1e-9)
        at = self.eigenvalues[side]
        rest = np.append(
            (eigenvalue.value - at.value) / at.noise_sd,
            (solution.value - self.solutions[side]) / sd,
        )
        shift = self.solutions[1] - self.solutions[0]
        along = (solution.value - self.solutions[0]) @ shift / np.linalg.norm(shift)
        return float(self._ratios(eigenvalue.value, np.array([along]))[0]), rest


def _most_exposed(laws: list[_Law], epsilon: float) -> _Law:
    """The pair that a short attack finds worst."""

    def exposed(law: _Law) -> float:
        rng = np.random.default_rng(7)
        losses = law.draw(0, 30_000, rng), -law.draw(1, 30_000, rng)
        return max(float(-np.expm1(np.minimum(epsilon - part, 0.0)).mean()) for part in losses)

    return max(laws, key=exposed)


@cache
def _adaptive_squares(epsilon: float) -> _BoundedSolution:
    total = _bounded_total(epsilon)
    laws = [
        _BoundedSolution.of(total, short, way, share)
        for short in (3.0, 8.0, 20.0, 60.0, 200.0)
        for way in ("mirror", "turn")
        for share in (0.15, 0.5)
    ]
    return _most_exposed(laws, epsilon)  # type: ignore[no-any-return]


# --- classes ----------------------------------------------------------------------------------

_CLASS_ROWS, _CLASS_TARGET = 400, 60


def _class_table(count: int, side: int) -> Arrays:
    """Two classes at opposite ends and a row that goes from the one to the other, which is opposite."""
    table = np.zeros((_CLASS_ROWS, 4))
    table[: count - 1] = [1, 0, 0, 9.0]
    table[count - 1 : 2 * count - 1] = [0, 1, 0, 9.0]
    table[2 * count - 1 : -1] = [0, 0, 1, 0.0]
    table[-1] = [0, 1, 0, -9.0] if side else [1, 0, 0, -9.0]
    return Arrays(table, np.zeros(_CLASS_ROWS))


def _class_session(
    source: Arrays, total: Privacy | ApproximatePrivacy, noise: Noise
) -> ClassSession:
    return ClassSession(source, np.eye(1), np.zeros((3, 1)), 1.0, total, noise)


@cache
def _classes(epsilon: float, calibration: str) -> _Tested:
    total = _total(epsilon, calibration)
    release: Callable[[ClassSession], Release]
    if calibration == "paper":
        alpha = 2 / _CLASS_ROWS * math.sqrt(2 * (_CLASS_ROWS / _CLASS_TARGET) ** 2 + 2)
        papers = papers_plan(alpha, epsilon, _DELTA)
        test = SafetyTest(papers, PapersSafety(_CLASS_TARGET, 1, alpha))

        def release(session: ClassSession) -> Release:
            return session.tested_means(test)[0].release

        counts = range(_CLASS_TARGET + 2, min(_CLASS_TARGET + 60, 190))
    else:
        scale = 20.0
        levels = count_levels(_CLASS_TARGET, 1.0, scale, _CLASS_ROWS)
        assert levels.levels.same[1] == means_move(1, 1.0, scale, _CLASS_ROWS)
        plan = plan_release(
            levels.levels,
            epsilon,
            _DELTA,
            calibration=calibration,  # type: ignore[arg-type]
            target=levels.target,
        )

        def release(session: ClassSession) -> Release:
            return session.tested_means(SafetyTest(plan, levels), scale)[0].release

        counts = range(2, 66)

    def laws() -> Iterator[_Tested]:
        for count in counts:
            sources = [_class_table(count, side) for side in (0, 1)]

            def run(
                side: int, noise: Noise, sources: list[Arrays] = sources
            ) -> tuple[Floats, Floats]:
                with _class_session(sources[side], total, noise) as session:
                    found = release(session)
                return found.value, np.full(found.value.size, found.noise_sd)

            yield _Tested.of(run)

    return _worst(laws(), epsilon, calibration)


@cache
def _class_sums(epsilon: float) -> _Tested:
    total = Privacy(gaussian_mu(epsilon, _DELTA))
    sources = [_class_table(5, side) for side in (0, 1)]

    def run(side: int, noise: Noise) -> tuple[Floats, Floats]:
        with _class_session(sources[side], total, noise) as session:
            found = session.sums(1.0)
        value = np.append(found.sums.ravel(), found.counts)
        return value, np.repeat([found.sums_sd, found.counts_sd], [found.sums.size, 3])

    return _Tested.of(run)


# --- curves -----------------------------------------------------------------------------------

_APART = np.array([[0.0], [30.0]])
_GRID = np.arange(9.0)[:, None]


def _none(z: Floats) -> Floats:
    """No public fit."""
    return 0.0 * z[0]


def _kernel_table(nodes: Floats, count: int, kind: str, side: int) -> Arrays:
    """``count`` rows at every node, against a row that is replaced: at the first node, or a quarter in.

    "leaves": it is missing from the other; "moves": it goes to the node as far from the end, where
    everyone has the opposite response; "flips": it takes the opposite response.
    """
    start, end = nodes[len(nodes) // 4, 0], nodes[-1 - len(nodes) // 4, 0]
    sign = np.where(np.arange(len(nodes)) < (len(nodes) + 1) // 2, 1.0, -1.0)
    x = np.repeat(nodes[:, 0], count)
    y = np.repeat(sign if kind == "moves" else np.ones(len(nodes)), count)
    first = np.array([1.0, start, -1.0])
    other = {
        "leaves": np.array([0.0, start, 0.0]),
        "moves": np.array([1.0, end, 1.0]),
        "flips": np.array([1.0, start, 1.0]),
    }[kind]
    last = other if side else first
    if kind == "moves":  # that node has a row more to begin with
        x, y = np.append(x, end), np.append(y, -1.0)
    rows = np.vstack([np.column_stack([np.ones(len(x)), x, y]), last])
    return Arrays(rows[:, :2], rows[:, 2])


def _kernel_plan(nodes: Floats) -> KernelPlan:
    k = kernel(nodes, nodes.T.copy())
    longest = float(np.sqrt((k**2).sum(axis=0)).max())
    ends = nodes.min(axis=0) - 1, nodes.max(axis=0) + 1
    return KernelPlan(np.ones(1), *ends, nodes, _none, 1.0, longest)


_KINDS = {"one": (_APART[:1], "leaves"), "apart": (_APART, "moves"), "grid": (_GRID, "moves")}


@cache
def _kernel_tested(epsilon: float, calibration: str, nodes: str) -> _Tested:
    total, (points, kind) = _total(epsilon, calibration), _KINDS[nodes]
    plan = _kernel_plan(points)
    assert plan.longest is not None
    release: Callable[[KernelSession], Release]
    if calibration == "paper":
        papers = papers_plan(4 / 60.0, epsilon, _DELTA)
        test = SafetyTest(papers, PapersSafety(60.0, 2, 4 / 60.0))

        def release(session: KernelSession) -> Release:
            return session.tested_values(test)[0].release

        counts = range(60, 110)
    else:
        weights = kernel(points, points.T.copy()).sum(axis=1)
        levels = degree_levels(60.0 * weights, plan.longest)
        assert levels is not None
        made = plan_release(
            levels.levels,
            epsilon,
            _DELTA,
            calibration=calibration,  # type: ignore[arg-type]
            target=levels.target,
        )

        def release(session: KernelSession) -> Release:
            return session.tested_values(SafetyTest(made, levels), 60.0 * weights)[0].release

        counts = range(2, 66)

    def laws() -> Iterator[_Tested]:
        for count in counts:
            for way in {kind, "flips"}:
                sources = [_kernel_table(points, count, way, side) for side in (0, 1)]

                def run(
                    side: int, noise: Noise, sources: list[Arrays] = sources
                ) -> tuple[Floats, Floats]:
                    with KernelSession(sources[side], plan, total, noise) as session:
                        found = release(session)
                    return found.value, np.full(len(points), found.noise_sd)

                yield _Tested.of(run)

    return _worst(laws(), epsilon, calibration)


@cache
def _kernel_curve(epsilon: float) -> _Tested:
    total, features = Privacy(gaussian_mu(epsilon, _DELTA)), Features.of(_GRID)
    plan = replace(_kernel_plan(_GRID), longest=None)
    sources = [_kernel_table(_GRID, 3, "flips", side) for side in (0, 1)]

    def run(side: int, noise: Noise) -> tuple[Floats, Floats]:
        with KernelSession(sources[side], plan, total, noise) as session:
            found = session.curve(1.0, features)
        value = np.concatenate([found.above, found.below, found.squares])
        return value, np.repeat([found.noise_sd, found.below_sd, found.squares_sd], len(_GRID))

    return _Tested.of(run)


@dataclass(frozen=True)
class _BoundedValues:
    """Degrees, and values with noise for the private bounds on them."""

    total: Privacy
    plan: KernelPlan
    sources: tuple[Arrays, Arrays]
    share: float
    least: float
    degrees: tuple[Floats, Floats]
    values: tuple[Floats, Floats]
    degree_sd: float
    value_sd: float

    @classmethod
    def of(
        cls, total: Privacy, nodes: str, count: int, share: float, kind: str | None = None
    ) -> _BoundedValues:
        points, way = _KINDS[nodes]
        plan = _kernel_plan(points)
        assert plan.longest is not None
        one = 1.0 if len(points) == 1 else math.sqrt(2) * plan.longest
        least = 2 * one / (math.sqrt(1 - share) * total.mu)
        sources = tuple(_kernel_table(points, count, kind or way, side) for side in (0, 1))
        degrees, values = [], []
        for source in sources:
            with KernelSession(source, plan, total, NonPrivateSilence()) as session:
                degree = session.degrees(share)
            # bounds far from zero, so that every value shows
            sure = replace(degree, value=np.full(len(points), 1e4))
            with KernelSession(source, plan, total, NonPrivateSilence()) as session:
                session.releases.append(sure)  # as if it had been made here
                values.append(session.bounded_values(1 - share, sure, least).value)
                value_sd = session.releases[-1].noise_sd
            degrees.append(degree.value)
        return cls(
            total,
            plan,
            (sources[0], sources[1]),
            share,
            least,
            (degrees[0], degrees[1]),
            (values[0], values[1]),
            degree.noise_sd,
            value_sd,
        )

    def _bounds(self, degrees: Floats) -> Floats:
        """Bounds on the degrees that are used; 0 for nodes that are left out."""
        z = -float(special.ndtri(self.total.slack / degrees.shape[-1])) * (1 + 1e-6)
        lower = degrees - z * self.degree_sd
        return np.where(lower >= self.least, lower, 0.0)

    def _ratios(self, degrees: Floats, weighted: Floats) -> Floats:
        bound = self._bounds(degrees)
        (a, b), (f, g) = self.degrees, self.values
        first = ((degrees - b) ** 2 - (degrees - a) ** 2) / (2 * self.degree_sd**2)
        second = (weighted - g * bound) ** 2 - (weighted - f * bound) ** 2
        return np.asarray((first + second / (2 * self.value_sd**2)).sum(axis=-1))

    def draw(self, side: int, count: int, rng: np.random.Generator) -> Floats:
        shape = count, len(self.degrees[0])
        degrees = self.degrees[side] + self.degree_sd * rng.standard_normal(shape)
        bound = self._bounds(degrees)
        noise = np.where(bound > 0, self.value_sd * rng.standard_normal(shape), 0.0)
        return self._ratios(degrees, self.values[side] * bound + noise)

    def real(self, side: int, noise: Noise) -> tuple[float, Floats]:
        with KernelSession(self.sources[side], self.plan, self.total, noise) as session:
            degrees = session.degrees(self.share)
            found = session.bounded_values(session.left, degrees, self.least)
        bound = self._bounds(degrees.value)
        assert (np.isnan(found.value) == (bound == 0)).all()
        heard = ((found.value - self.values[side]) * bound / self.value_sd)[bound > 0]
        rest = np.append((degrees.value - self.degrees[side]) / self.degree_sd, heard)
        return float(self._ratios(degrees.value, np.nan_to_num(found.value) * bound)), rest


@cache
def _adaptive_kernel(epsilon: float, nodes: str) -> _BoundedValues:
    total = _bounded_total(epsilon)
    laws = [
        _BoundedValues.of(total, nodes, count, share, kind)
        for count in (2, 5, 10, 20, 40, 100)
        for share in (0.2, 0.5)
        for kind in (None, "flips")
    ]
    return _most_exposed(laws, epsilon)  # type: ignore[no-any-return]


# --- what the worst neighbours give away ---------------------------------------------------------

_EPSILONS = [1.0, 2.0, 4.0, 8.0]
# the share of epsilon that the attack must find, so that it would see a broken claim
_LEAST = 0.5
_MECHANISMS: dict[str, Callable[[float], _Law]] = {
    "estimate, dp": lambda e: _generic(e, "dp"),
    "estimate, gdp": lambda e: _generic(e, "gdp"),
    "least squares, tested, dp": lambda e: _squares(e, "dp"),
    "least squares, tested, gdp": lambda e: _squares(e, "gdp"),
    "least squares, adaptive": _adaptive_squares,
    "least squares, sums": _adassp,
    "classes, tested, dp": lambda e: _classes(e, "dp"),
    "classes, tested, gdp": lambda e: _classes(e, "gdp"),
    "classes, sums": _class_sums,
    "point, tested, dp": lambda e: _kernel_tested(e, "dp", "one"),
    "curve, tested, dp": lambda e: _kernel_tested(e, "dp", "apart"),
    "curve, tested, gdp": lambda e: _kernel_tested(e, "gdp", "grid"),
    "point, adaptive": lambda e: _adaptive_kernel(e, "one"),
    "curve, adaptive": lambda e: _adaptive_kernel(e, "apart"),
    "curve, sums": _kernel_curve,
}
_PAPERS: dict[str, Callable[[float], _Law]] = {
    "estimate": lambda e: _generic(e, "paper"),
    "least squares": lambda e: _squares(e, "paper"),
    "classes": lambda e: _classes(e, "paper"),
    "point": lambda e: _kernel_tested(e, "paper", "one"),
}


@pytest.mark.parametrize("epsilon", _EPSILONS)
@pytest.mark.parametrize("name", _MECHANISMS)
def test_worst_neighbours_give_away_no_more_than_is_claimed(name: str, epsilon: float) -> None:
    _attack(_MECHANISMS[name](epsilon), epsilon, _LEAST)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("name", _PAPERS)
def test_the_papers_calibrations_keep_their_claim_where_it_is_proved(
    name: str, epsilon: float
) -> None:
    _attack(_PAPERS[name](epsilon), epsilon, 0.0)


@pytest.mark.parametrize("name", [*_MECHANISMS, *(f"paper: {name}" for name in _PAPERS)])
def test_real_sessions_have_the_law_that_is_attacked(name: str) -> None:
    kind = name.removeprefix("paper: ")
    _real_law((_MECHANISMS if kind == name else _PAPERS)[kind](2.0), 1)


def test_an_attack_finds_a_claim_that_is_broken() -> None:
    law = _generic(4.0, "dp")
    rng = np.random.default_rng(3)
    for epsilon in (1.0, 2.0, 3.0):
        ratio = law.draw(0, _DRAWS, rng), law.draw(1, _DRAWS, rng)
        assert _epsilon_bound(ratio) > epsilon
        assert _delta_bound(ratio, epsilon) > _DELTA
    # noise of half the size
    halved = replace(law, shift=2 * law.shift)
    ratio = halved.draw(0, _DRAWS, rng), halved.draw(1, _DRAWS, rng)
    assert _epsilon_bound(ratio) > 4.0
    assert _delta_bound(ratio, 4.0) > _DELTA


@pytest.mark.parametrize(("epsilon", "ratio"), [(20.0, 1.15), (24.0, 2.5), (32.0, 10.0)])
def test_the_papers_generic_claim_is_false_for_large_epsilon(epsilon: float, ratio: float) -> None:
    # Algorithm 2 as it is printed: a logistic test at epsilon/2, classical noise at epsilon/2
    mu = epsilon / (2 * math.sqrt(2 * math.log(1.25 / _DELTA)))
    margin = 1 + 2 / epsilon * math.log(1 / _DELTA)
    exact = papers_delta(epsilon, _DELTA)
    assert exact > ratio * _DELTA
    with pytest.raises(PrivacyError, match="false"):
        papers_plan(1.0, epsilon, _DELTA, allow_unproved=True)
    gammas = np.linspace(0.0, 3 * margin, 400)
    p, q = (special.expit(epsilon / 2 * (gammas + k - margin)) for k in (1, 0))
    pairs = [divergence(float(a), float(b), mu, epsilon) for a, b in zip(p, q, strict=True)]
    worst = int(np.argmax(pairs))
    assert pairs[worst] == pytest.approx(exact, rel=0.01)
    law = _Tested(
        lambda side, noise: (np.zeros(1), np.ones(1)),
        (float(p[worst]), float(q[worst])),
        np.zeros(1),
        np.array([mu]),
    )
    rng = np.random.default_rng(int(epsilon))
    draws = law.draw(0, _DRAWS, rng), law.draw(1, _DRAWS, rng)
    assert _delta_bound(draws, epsilon) > _DELTA


@pytest.mark.parametrize("epsilon", [4.0, 8.0, 16.0])
def test_the_papers_generic_claim_holds_at_the_epsilons_of_its_experiments(epsilon: float) -> None:
    assert papers_delta(epsilon, _DELTA) < _DELTA
    plan = papers_plan(1.0, epsilon, _DELTA, allow_unproved=True)
    assert plan.calibration == "paper"
