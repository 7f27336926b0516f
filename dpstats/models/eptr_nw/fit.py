"""Four ways of releasing a curve: `sums`, `adaptive`, `tested` and `papers`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpstats.accounting.privacy import ApproximatePrivacy, Privacy
from dpstats.arguments import in_prose, numbers, shown
from dpstats.arrays import Floats
from dpstats.errors import ArgumentError, PrivacyError, warn_at_call
from dpstats.mechanism.noise import Noise
from dpstats.mechanism.passes import RowSource
from dpstats.mechanism.release import Release
from dpstats.models.eptr_nw.bands import Cover, Scale, seen, sharpened
from dpstats.models.eptr_nw.notes import curve_notes, tails_note
from dpstats.models.eptr_nw.planning import Residuals, Window
from dpstats.models.eptr_nw.public import CurveSetting, CutAt
from dpstats.models.eptr_nw.releases import (
    CURVE_MOVES,
    DENOMINATOR,
    Features,
    KernelSession,
    NodeValues,
    degree_levels,
    papers_degree,
)
from dpstats.models.eptr_nw.result import NodesCurve, SumsCurve, blanked
from dpstats.models.eptr_nw.rows import kernel
from dpstats.propose_test.bounds import decomposition
from dpstats.propose_test.call import NO_REPLY, SafetyTerms, plan_safety
from dpstats.propose_test.outcome import Outcome, answered
from dpstats.propose_test.safety import SafetyTest
from dpstats.report.answers import Answers
from dpstats.report.bound import Bound, Premise
from dpstats.report.released import Diagnostic
from dpstats.score_rounds.notes import unseen_line

_LENGTHS = 0.05  # share of the total for the histogram of residuals in "gp"
_PUBLIC_POINTS = 500  # public rows that tell, as well as more would, where rows are
_COVER = 0.2  # share of the total for degrees in "adaptive"


@dataclass(frozen=True)
class KernelFit:
    """A curve, the releases that it is made of, and what is reported of it.

    ``setting``: with what was found in the rows.
    """

    values: SumsCurve | NodesCurve
    releases: tuple[Release, ...]
    outcome: Outcome
    setting: CurveSetting
    answers: tuple[Answers, ...] = ()


def sums(
    rows: RowSource,
    setting: CurveSetting,
    total: Privacy,
    refined: Callable[[float, CutAt], CurveSetting],
    noise: Noise,
) -> KernelFit:
    """A histogram of residuals tells where to cut; the curve has what is left.

    ``refined``: the setting for noise of a sum, in R, and a cut.
    """
    with KernelSession(rows, setting.plan, total, noise) as session:
        residuals = look(session, setting.window, rows.n, setting.sigma, setting.residual)
    sd = CURVE_MOVES / (total.mu * math.sqrt(session.left_of_granted))
    setting = refined(sd, lambda each: residuals.cut(each, DENOMINATOR))
    values, session = curve_of(rows, setting, residuals, total, noise, session)
    return finished(values, setting, tuple(session.releases), rows.n)


def curve_of(
    rows: RowSource,
    setting: CurveSetting,
    residuals: Residuals,
    total: Privacy,
    noise: Noise,
    after: KernelSession,
    share: float | None = None,
) -> tuple[SumsCurve, KernelSession]:
    """The released sums of a curve; ``share`` of the total, by default all that is left."""
    features = Features.of(setting.nodes)
    plan = replace(setting.plan, square=residuals.square)
    part = 1.0 if share is None else min(share / after.left_of_granted, 1.0)
    with KernelSession(rows, plan, total, noise, after=after) as session:
        curve = session.curve(part * session.left, features)
    return SumsCurve(features, curve, residuals, setting.doubt, setting.sigma), session


def finished(
    values: SumsCurve, setting: CurveSetting, releases: tuple[Release, ...], n: int
) -> KernelFit:
    """A released curve with its scales, and what is reported of it."""
    values = _with_scale(values, setting)
    return KernelFit(values, releases, _outcome(values, setting, n), setting)


def planned_counts_sd(mu: float) -> float:
    """Noise of the histogram of residuals."""
    return math.sqrt(2 / _LENGTHS) / mu


def look(
    session: KernelSession, window: Window, n: int, scale: float, public: Floats | None = None
) -> Residuals:
    """How far residuals lie from a centre; ``scale`` stands in where no row stands out."""
    share = min(_LENGTHS / session.left_of_granted, 1.0) * session.left
    counts = session.lengths(share, window.lowest, window.octaves, window.fine)
    return Residuals.of(counts, window, n, scale, public)


def _with_scale(values: SumsCurve, setting: CurveSetting) -> SumsCurve:
    """The curve with local scales and points on which smoothing is judged."""
    points, part = setting.cover
    if not len(points):
        return values
    _, degree, squares, length = values.local_sums(points, setting.nodes, True)
    sums = values.sums
    mass = np.where(seen(degree, sums.below_sd), part * degree, 0.0)
    smoothing = setting.smoothing
    scale = Scale.of(
        squares,
        degree,
        sums.squares_sd * length,
        mass,
        values.residuals,
        smoothing.bounds,
        setting.sigma**2,
    )
    values = replace(values, scale=scale)

    def cover(points: Floats, mass: Floats) -> Cover:
        centre = setting.centre(np.ascontiguousarray(points.T))
        public = centre, np.zeros(len(points))
        found = values.at(points, setting.nodes, public, smoothing, errors=False)
        return Cover(points, mass, found.value - centre)

    covers = [cover(points, sharpened(points, mass))]
    if setting.public is not None and setting.m is not None:
        some = setting.public[:: max(len(setting.public) // _PUBLIC_POINTS, 1), :-1]
        rows = some / smoothing.bandwidth
        covers.append(cover(rows, np.full(len(rows), setting.m / len(rows))))
    return replace(values, covers=tuple(covers))


def _outcome(values: SumsCurve, setting: CurveSetting, n: int) -> Outcome:
    counts_sd = values.residuals.counts_sd
    inside = np.clip(setting.shown, setting.low, setting.high)
    columns = np.ascontiguousarray(inside.T)
    public = setting.centre(columns), setting.centre.spread(columns)
    at = values.at(inside, setting.nodes, public, setting.smoothing, errors=True)
    at = blanked(at, values.seen(at), inside, setting)
    there = ~np.isnan(at.value)
    thin = float((at.weight[there] < 0.5).mean()) if there.any() else 1.0
    name = "polynomial" if setting.m is None else "public fit"
    diagnostics = (
        Diagnostic("nodes", len(setting.nodes), None, "that carry the whole curve"),
        Diagnostic(
            "median degree",
            float(np.median(at.degree)),
            values.sums.below_sd,
            "rows near a point of the curve",
        ),
        Diagnostic(f"points left to the {name}", thin, None, "share; too few rows are near"),
        Diagnostic("points left blank", float((~there).mean()), None, "share; no row is near"),
        *_smoothing_lines(setting),
        *unseen_line(counts_sd),
    )
    error = _error(setting, at.degree, at.noise_sd, values.sums.below_sd, None)
    spread = np.hypot(setting.doubt, public[1])
    notes = curve_notes(at, (public[0], spread), thin, setting)
    return Outcome(True, error, diagnostics, notes + tails_note(setting, counts_sd, n))


def adaptive(rows: RowSource, setting: CurveSetting, total: Privacy, noise: Noise) -> KernelFit:
    """Nodes with noise for private bounds of their degrees; the public fit where few rows are near."""
    longest = _longest(setting)
    with KernelSession(rows, replace(setting.plan, longest=longest), total, noise) as session:
        degrees = session.degrees(_COVER)
        sd = math.sqrt(1 - _COVER) * total.mu
        least = 2 * (1.0 if len(setting.nodes) == 1 else math.sqrt(2) * longest) / sd
        nodes = session.bounded_values(session.left, degrees, least)
    kept = ~np.isnan(nodes.value)
    diagnostics = (
        Diagnostic("nodes", len(setting.nodes), None, "of the curve"),
        Diagnostic(
            "nodes left to the public fit", int((~kept).sum()), None, "too few rows are near"
        ),
        Diagnostic("smallest degree", float(nodes.degree.min()), nodes.degree_sd, "of a node"),
        *_smoothing_lines(setting),
    )
    if kept.any():
        notes: tuple[str, ...] = ()
        noises = setting.smoothing.radius * nodes.noise_sd[kept]
        error = _error(setting, nodes.degree[kept], noises, nodes.degree_sd, None)
    else:
        error = _error(setting, np.ones(1), np.zeros(1), 0.0, None)
        notes = (
            "No node has enough rows near it: the public fit is shown everywhere. Ask for a larger "
            "budget or bandwidth, or use method='gp'.",
        )
    outcome = Outcome(True, error, diagnostics, notes)
    return KernelFit(_at_nodes(setting, nodes), tuple(session.releases), outcome, setting)


def _at_nodes(setting: CurveSetting, nodes: NodeValues) -> NodesCurve:
    smoothing = setting.smoothing
    scale = smoothing.radius / smoothing.slope
    degree = np.maximum(nodes.degree, 1.0)
    sampling = np.where(
        np.isnan(nodes.value),
        setting.doubt,
        np.hypot(
            setting.sigma / smoothing.slope / np.sqrt(degree),
            (1 - smoothing.mended) * setting.doubt,
        ),
    )
    value = np.clip(nodes.value, -smoothing.slope, smoothing.slope)
    return NodesCurve(
        setting.axes, scale * value, scale * nodes.noise_sd, sampling, nodes.degree, nodes.degree_sd
    )


def make_test(
    setting: CurveSetting, degree: Any, terms: SafetyTerms
) -> tuple[NDArray[np.bool_], Floats, SafetyTest]:
    """Which nodes are kept, the degrees that are expected there, and the test of all of them at once.

    A test is as strict as its poorest node. Nodes that are expected to have few rows are left to the
    public fit where that is expected to pay; with degrees of the user's own all are kept.
    """
    expected = _degrees(setting, degree, "ptr")
    longest = _longest(setting)
    if degree is not None:
        kept = [np.ones(len(expected), dtype=np.bool_)]
    else:
        least = np.unique(np.quantile(expected, np.linspace(0, 0.9, 10)))
        kept = [expected >= bound for bound in least if bound > 2]
    scale = setting.smoothing.radius / setting.smoothing.slope
    best, least_error = None, math.inf
    for some in kept:
        test = _test_of(expected[some], longest, terms)
        if test is None:
            continue
        noise = (scale * test.plan.noise_sd / expected[some]) ** 2
        error = float(noise.sum()) + setting.doubt**2 * int((~some).sum())
        if error < least_error:
            best, least_error = (some, expected[some], test), error
    if best is None:
        raise PrivacyError(
            f"a test cannot be passed at this budget where the smallest degree is "
            f"{in_prose(float(expected.min()), 3)} and the largest "
            f"{in_prose(float(expected.max()), 3)}: ask for a larger bandwidth, "
            "epsilon or delta, or use method='gp', which needs no test."
        )
    return best


def _test_of(expected: Floats, longest: float, terms: SafetyTerms) -> SafetyTest | None:
    """The test for nodes of these degrees, None when no noise is enough."""
    levels = degree_levels(expected, longest)
    if levels is None:
        return None
    try:
        return plan_safety(levels, terms, "smallest share of the expected degree", 1.0)
    except PrivacyError:
        return None


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
    rows: RowSource,
    setting: CurveSetting,
    test: tuple[NDArray[np.bool_], Floats, SafetyTest],
    total: Privacy | ApproximatePrivacy,
    noise: Noise,
) -> KernelFit:
    """Nodes whose degrees pass one test together; the public fit at all others."""
    kept, expected, of_nodes = test
    plan = replace(setting.plan, nodes=setting.nodes[kept], longest=_longest(setting))
    with KernelSession(rows, plan, total, noise) as session:
        tested, some = session.tested_values(of_nodes, expected)
    value, sd, degree = np.full(len(kept), np.nan), np.full(len(kept), np.nan), np.ones(len(kept))
    value[kept], sd[kept], degree[kept] = some.value, some.noise_sd, some.degree
    nodes = NodeValues(value, sd, degree, some.degree_sd)
    return _answered(setting, nodes, [of_nodes], tested.passed, tuple(session.releases), ())


def _answered(
    setting: CurveSetting,
    nodes: NodeValues,
    tests: Sequence[SafetyTest],
    passed: bool,
    releases: tuple[Release, ...],
    notes: tuple[str, ...],
) -> KernelFit:
    diagnostics = (
        Diagnostic("nodes", len(setting.nodes), None, "of the curve"),
        answered(passed),
        *_smoothing_lines(setting),
    )
    noises = setting.smoothing.radius / setting.smoothing.slope * np.nan_to_num(nodes.noise_sd)
    error = _error(setting, nodes.degree, noises, 0.0, NO_REPLY)
    outcome = Outcome.of_test(
        tests[0], passed, "The public fit is shown instead.", error, diagnostics, notes
    )
    answers = tuple(test.answers for test in tests)
    return KernelFit(_at_nodes(setting, nodes), releases, outcome, setting, answers)


PapersPoints = tuple[ApproximatePrivacy, tuple[SafetyTest, ...]]
"""Algorithm 5 at every point of ``at=``: what each may spend, and its test."""


def papers_points(setting: CurveSetting, degree: Any, terms: SafetyTerms) -> PapersPoints:
    """Several points share epsilon and delta alike."""
    count = len(setting.nodes)
    targets = _degrees(setting, degree, "paper")
    if setting.expected is not None and degree is None:
        targets = np.maximum(setting.expected / 2, 1.0)  # c0 n, half of what is expected
    if count > 1:
        warn_at_call(
            f"method='paper' answers one point: {count} points share the budget, epsilon / {count} and "
            f"delta / {count} each. method='gp' answers a whole curve for the price of one."
        )
    each = ApproximatePrivacy(terms.epsilon / count, terms.delta / count)
    part = replace(terms, epsilon=each.at, delta=each.slack)
    tests = tuple(
        plan_safety(papers_degree(float(t)), part, "degree of the point", float(t)) for t in targets
    )
    return each, tests


def papers(rows: RowSource, setting: CurveSetting, points: PapersPoints, noise: Noise) -> KernelFit:
    """Algorithm 5 at every point."""
    each, tests = points
    values, releases, passed = [], [], []
    for node, test in zip(setting.nodes, tests, strict=True):
        one = replace(setting.plan, nodes=node[None, :])
        with KernelSession(rows, one, each, noise) as session:
            tested, at_node = session.tested_values(test)
        values.append(float(at_node.value[0]))
        releases += session.releases
        passed.append(tested.passed)
    sds = np.array([test.plan.noise_sd for test in tests])
    targets = np.array([test.target for test in tests])
    silent = len(passed) - sum(passed)
    notes = (f"{silent} of {len(passed)} points got no reply.",) if silent and any(passed) else ()
    nodes = NodeValues(np.array(values), sds, targets, 0.0)
    return _answered(setting, nodes, tests, any(passed), tuple(releases), notes)


def _longest(setting: CurveSetting) -> float:
    """B: the largest length of a row's weights, seen at the nodes; longer ones are cut to it."""
    k = kernel(setting.nodes, np.ascontiguousarray(setting.nodes.T))
    return float(np.sqrt((k**2).sum(axis=0)).max())


def _smoothing_lines(setting: CurveSetting) -> tuple[Diagnostic, ...]:
    smoothing = setting.smoothing
    lines = [
        Diagnostic(
            "residual cut",
            smoothing.radius,
            None,
            f"responses are cut this far from the {'middle' if setting.m is None else 'public fit'}",
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
    noise_sd = math.sqrt(float(np.mean(noises**2)))
    distance2 = (2 * setting.smoothing.radius) ** 2
    return *decomposition(norm, sampling, 1, noise_sd, distance2, beta), unbounded
