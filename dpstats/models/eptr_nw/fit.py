"""Four ways of releasing a curve: `sums`, `adaptive`, `tested` and `papers`."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpstats.accounting.privacy import ApproximatePrivacy
from dpstats.arguments import numbers, shown
from dpstats.arrays import Floats
from dpstats.errors import ArgumentError, PlanWarning, PrivacyError
from dpstats.models.eptr_nw.public import CurveSetting
from dpstats.models.eptr_nw.releases import DegreeLevels, Features, KernelSession, NodeValues
from dpstats.models.eptr_nw.result import NodesCurve, SumsCurve
from dpstats.models.eptr_nw.rows import kernel
from dpstats.propose_test.bounds import no_reply_error, noise_error, sampling_error, unanswered
from dpstats.propose_test.call import NO_REPLY, Spend, plan_test
from dpstats.propose_test.paper import PapersPlan, papers_plan
from dpstats.propose_test.plan import ReleasePlan
from dpstats.report.answers import Answers
from dpstats.report.bound import Bound, Premise
from dpstats.report.released import Diagnostic

_COVER = 0.2  # share of the total for degrees in "adaptive"


@dataclass(frozen=True)
class KernelFit:
    """What a method hands over."""

    values: SumsCurve | NodesCurve
    releases: tuple[Any, ...]
    released: bool
    error: tuple[Bound, ...]
    diagnostics: tuple[Diagnostic, ...]
    notes: tuple[str, ...] = ()
    answers: tuple[Answers, ...] = ()


def sums(rows: Any, setting: CurveSetting, total: Any, noise: Any) -> KernelFit:
    features = Features.of(setting.nodes)
    with KernelSession(rows, setting.plan, total, noise) as session:
        found = session.curve(session.left, features)
    values = SumsCurve(
        features, found.above, found.below, found.noise_sd, setting.sigma, setting.doubt
    )
    inside = np.clip(setting.shown, setting.low, setting.high)
    nothing = np.zeros(len(inside))
    at = values.at(inside, setting.nodes, (nothing, nothing), setting.smoothing, errors=True)
    thin = float((at.weight < 0.5).mean())
    diagnostics = (
        Diagnostic("nodes", len(setting.nodes), None, "that carry the whole curve"),
        Diagnostic(
            "median degree",
            float(np.median(at.degree)),
            found.noise_sd,
            "rows near a point of the curve",
        ),
        Diagnostic("points left to the public fit", thin, None, "share; too few rows are near"),
        *_smoothing_lines(setting),
    )
    notes: tuple[str, ...] = ()
    if thin > 0.5:
        notes = (
            "At most points the noise outweighs the private rows, and the public fit is shown: ask for "
            "a larger budget or a larger bandwidth.",
        )
    error = _error(setting, at.degree, at.noise_sd, found.noise_sd, None)
    return KernelFit(values, tuple(session.releases), True, error, diagnostics, notes)


def adaptive(rows: Any, setting: CurveSetting, total: Any, noise: Any) -> KernelFit:
    longest = _longest(setting)
    with KernelSession(rows, replace(setting.plan, longest=longest), total, noise) as session:
        degrees = session.degrees(_COVER)
        sd = math.sqrt(1 - _COVER) * total.mu
        least = 2 * (1.0 if len(setting.nodes) == 1 else math.sqrt(2) * longest) / sd
        found = session.bounded_values(session.left, degrees, least)
    values = _at_nodes(setting, found)
    dropped = int(np.isnan(found.value).sum())
    diagnostics = (
        Diagnostic("nodes", len(setting.nodes), None, "of the curve"),
        Diagnostic("nodes left to the public fit", dropped, None, "too few rows are near"),
        Diagnostic("smallest degree", float(found.degree.min()), found.degree_sd, "of a node"),
        *_smoothing_lines(setting),
    )
    kept = ~np.isnan(found.value)
    if kept.any():
        noises = setting.smoothing.radius * found.noise_sd[kept]
        error = _error(setting, found.degree[kept], noises, found.degree_sd, None)
    else:
        error = _error(setting, np.ones(1), np.zeros(1), 0.0, None)
    notes = (
        ()
        if kept.any()
        else (
            "No node has enough rows near it: the public fit is shown everywhere. Ask for a larger "
            "budget or bandwidth, or use method='gp'.",
        )
    )
    return KernelFit(values, tuple(session.releases), True, error, diagnostics, notes)


def _at_nodes(setting: CurveSetting, found: NodeValues) -> NodesCurve:
    smoothing = setting.smoothing
    scale = smoothing.radius / smoothing.slope
    degree = np.maximum(found.degree, 1.0)
    sampling = np.where(
        np.isnan(found.value),
        setting.doubt,
        np.hypot(
            setting.sigma / smoothing.slope / np.sqrt(degree),
            (1 - smoothing.mended) * setting.doubt,
        ),
    )
    value = np.clip(found.value, -smoothing.slope, smoothing.slope)
    return NodesCurve(setting.axes, scale * value, scale * found.noise_sd, sampling, found.degree)


def make_test(
    setting: CurveSetting, degree: Any, spend: Spend, calibration: str
) -> tuple[NDArray[np.bool_], DegreeLevels, ReleasePlan]:
    """The plan for all nodes at once, and which nodes it keeps.

    A test is as strict as its poorest node. Nodes that are expected to have few rows are left to the
    public fit where that is expected to pay; with degrees of the user's own all are kept.
    """
    expected = _degrees(setting, degree, "ptr")
    longest = _longest(setting)
    if degree is not None:
        plans = [_plan_for(expected, longest, spend, calibration)]
        kept = [np.ones(len(expected), dtype=np.bool_)]
    else:
        least = np.unique(np.quantile(expected, np.linspace(0, 0.9, 10)))
        kept = [expected >= bound for bound in least if bound > 2]
        plans = [_plan_for(expected[some], longest, spend, calibration) for some in kept]
    scale = setting.smoothing.radius / setting.smoothing.slope
    best, least_error = None, math.inf
    for some, found in zip(kept, plans, strict=True):
        if found is None:
            continue
        noise = (scale * found[1].noise_sd / expected[some]) ** 2
        error = float(noise.sum()) + setting.doubt**2 * int((~some).sum())
        if error < least_error:
            best, least_error = (some, *found), error
    if best is None:
        raise PrivacyError(
            f"a test cannot be passed at this budget where the smallest degree is "
            f"{float(expected.min()):.3g} and the largest {float(expected.max()):.3g}: ask for a larger "
            "bandwidth, epsilon or delta, or use method='gp', which needs no test."
        )
    return best


def _plan_for(
    expected: Floats, longest: float, spend: Spend, calibration: str
) -> tuple[DegreeLevels, ReleasePlan] | None:
    """The plan for nodes of these degrees, None when no noise is enough."""
    levels = DegreeLevels.below(expected, longest)
    if levels is None:
        return None
    try:
        plan = plan_test(levels.levels, levels.target, spend, calibration, "")
    except PrivacyError:
        return None
    return levels, plan


def _degrees(setting: CurveSetting, degree: Any, method: str) -> Floats:
    if degree is not None:
        values, count = numbers(degree), len(setting.nodes)
        if values is None or values.shape not in ((), (1,), (count,)):
            raise ArgumentError(
                f"degree must be one number, or one for each of the {count} nodes, not "
                f"{shown(degree)}."
            )
        if not (np.isfinite(values).all() and (values > 0).all()):
            raise ArgumentError(f"degree must be finite and > 0, not {shown(degree)}.")
        return np.array(np.broadcast_to(values, count))
    if setting.expected is None:
        raise ArgumentError(
            f"method='{method}' without public rows needs degree=, the sum of kernel weights that is "
            "expected at each node; method='gp' needs none."
        )
    return setting.expected


def tested(
    rows: Any,
    setting: CurveSetting,
    tests: tuple[NDArray[np.bool_], DegreeLevels, ReleasePlan],
    total: Any,
    noise: Any,
) -> KernelFit:
    kept, levels, plan = tests
    asked = replace(setting.plan, nodes=setting.nodes[kept], longest=_longest(setting))
    with KernelSession(rows, asked, total, noise) as session:
        tested, some = session.tested_values(plan, levels)
    value, sd, degree = (np.full(len(kept), np.nan) for _ in range(3))
    value[kept], sd[kept], degree[kept] = some.value, some.noise_sd, some.degree
    found = NodeValues(value, sd, np.nan_to_num(degree, nan=1.0), some.degree_sd)
    answers = Answers.of(
        plan,
        "smallest share of the expected degree",
        lambda k: levels.first + (k - 1) * levels.step,
    )
    return _answered(setting, found, tested.passed, (answers,), tuple(session.releases), ())


def _answered(
    setting: CurveSetting,
    found: NodeValues,
    passed: bool,
    answers: tuple[Answers, ...],
    releases: tuple[Any, ...],
    notes: tuple[str, ...],
) -> KernelFit:
    diagnostics = (
        Diagnostic("nodes", len(setting.nodes), None, "of the curve"),
        Diagnostic("answered", float(passed), None, "1 if the test passed"),
        *_smoothing_lines(setting),
    )
    noises = setting.smoothing.radius / setting.smoothing.slope * np.nan_to_num(found.noise_sd)
    error = _error(setting, found.degree, noises, 0.0, NO_REPLY)
    if not passed:
        said = "NO REPLY: the test did not pass, or its coin said no. The public fit stands in."
        notes, error = (said, *notes), unanswered(error)
    return KernelFit(
        _at_nodes(setting, found), releases, passed, error, diagnostics, notes, answers
    )


@dataclass(frozen=True)
class PapersPoints:
    """Algorithm 5 at every point of ``at=``: what each may spend, its plan, the degree it is for."""

    each: ApproximatePrivacy
    plans: tuple[PapersPlan, ...]
    targets: Floats


def papers_points(
    setting: CurveSetting, degree: Any, spend: Spend, allow_unproved: bool
) -> PapersPoints:
    """Several points share epsilon and delta alike."""
    count = len(setting.nodes)
    targets = _degrees(setting, degree, "paper")
    if setting.expected is not None and degree is None:
        targets = np.maximum(setting.expected / 2, 1.0)  # c0 n, half of what is expected
    if count > 1:
        warnings.warn(
            f"method='paper' answers one point: {count} points share the budget, epsilon / {count} and "
            f"delta / {count} each. method='gp' answers a whole curve for the price of one.",
            PlanWarning,
            stacklevel=3,
        )
    each = ApproximatePrivacy(spend.epsilon / count, spend.delta / count)
    plans = tuple(
        papers_plan(4 / float(t), each.at, each.slack, allow_unproved=allow_unproved)
        for t in targets
    )
    return PapersPoints(each, plans, targets)


def papers(rows: Any, setting: CurveSetting, points: PapersPoints, noise: Any) -> KernelFit:
    """Algorithm 5 at every point."""
    each, plans, targets = points.each, points.plans, points.targets
    values, answers, releases, passed = [], [], [], []
    for node, target, plan in zip(setting.nodes, targets, plans, strict=True):
        one = replace(setting.plan, nodes=node[None, :])
        with KernelSession(rows, one, each, noise) as session:
            tested, found = session.papers_value(plan, float(target), 4 / float(target))
        values.append(float(found.value[0]))
        releases += session.releases
        passed.append(tested.passed)
        answers.append(Answers.of(plan, "degree of the point", _papers_degree(float(target))))
    sds = np.array([plan.noise_sd for plan in plans])
    found = NodeValues(np.array(values), sds, targets, 0.0)
    return _answered(
        setting,
        found,
        any(passed),
        tuple(answers),
        tuple(releases),
        ()
        if all(passed) or not any(passed)
        else (f"{len(passed) - sum(passed)} of {len(passed)} points got no reply.",),
    )


def _papers_degree(target: float) -> Callable[[float], float]:
    """The degree at a safety gamma of the paper's test."""
    return lambda gamma: target + 2 + 2 * gamma


def _longest(setting: CurveSetting) -> float:
    """B: the largest length of a row's weights, seen at the nodes; longer ones are cut to it."""
    k = kernel(setting.nodes, np.ascontiguousarray(setting.nodes.T))
    return float(np.sqrt((k**2).sum(axis=0)).max())


def _smoothing_lines(setting: CurveSetting) -> tuple[Diagnostic, ...]:
    smoothing = setting.smoothing
    lines = [
        Diagnostic(
            "residual cut", smoothing.radius, None, "responses are cut this far from the public fit"
        )
    ]
    if not math.isnan(smoothing.predicted):
        lines.append(
            Diagnostic(
                "predicted mean squared error",
                max(smoothing.predicted, 0.0),
                None,
                "of a new row, its own error included; from public rows",
            )
        )
    return tuple(lines)


def _error(
    setting: CurveSetting, degree: Floats, noises: Floats, degree_sd: float, beta: float | None
) -> tuple[Bound, ...]:
    """The parts of the error of a point of the curve, averaged over its points."""
    norm = "mean over the curve"
    certain = np.maximum(degree - 1.96 * degree_sd, 0.0)
    with np.errstate(all="ignore"):
        sampling = float(np.mean(np.minimum(setting.sigma**2 / certain, setting.sigma**2)))
    unbounded = Bound(
        "squared bias of smoothing",
        norm,
        math.inf,
        None,
        "ePTR paper, Corollary A.5",
        "bound",
        (Premise("compact kernel and a known Lipschitz constant", False),),
    )
    second = float(np.mean(noises**2))
    return (
        sampling_error(sampling, norm),
        noise_error(1, math.sqrt(second), norm),
        no_reply_error((2 * setting.smoothing.radius) ** 2, beta, norm),
        unbounded,
    )
