"""A Bayes classifier's public scales and cuts, and two ways of releasing its sums or means."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpstats.arrays import Floats
from dpstats.call import public_rows
from dpstats.errors import ArgumentError, PublicDataError
from dpstats.frame import Design, design_extent, features_design
from dpstats.models.eptr_bayes.estimate import (
    ClassGeometry,
    choose_class_radius,
    feature_scaling,
    pooled_covariance,
    priors_from_counts,
    shrunk_shift,
    smallest_class,
)
from dpstats.models.eptr_bayes.releases import ClassSession, CountLevels, means_move
from dpstats.propose_test.bounds import (
    clipping_bias,
    no_reply_error,
    noise_error,
    sampling_error,
    unanswered,
)
from dpstats.propose_test.call import NO_REPLY, Spend, plan_test, positive
from dpstats.propose_test.paper import PapersPlan, papers_plan
from dpstats.propose_test.plan import ReleasePlan
from dpstats.report.answers import Answers
from dpstats.report.bound import Bound
from dpstats.report.released import Diagnostic


@dataclass(frozen=True)
class BayesFit:
    """What a method hands over: in scaled coordinates."""

    prior: Floats
    prior_sd: Floats
    means: Floats
    mean_sd: Floats
    released: bool
    error: tuple[Bound, ...]
    diagnostics: tuple[Diagnostic, ...]
    notes: tuple[str, ...] = ()
    answers: Answers | None = None


def find_geometry(
    design: Design,
    classes: int,
    public: Any,
    limits: Mapping[str, Any] | None,
    method: str,
    covariance: str,
    n: int,
    mu: float,
) -> ClassGeometry:
    if public is None:
        return _declared_geometry(design, classes, limits or {}, method)
    found = public_rows(design, public)
    code = found.x[:, :classes].argmax(axis=1)
    x = found.x[:, classes:]
    counts = np.bincount(code, minlength=classes).astype(np.float64)
    if counts.min() < 2:
        names = [str(v) for v in design.columns[_class_column(design)].levels or ()]
        few = [name for name, k in zip(names, counts, strict=True) if k < 2]
        more = f" and {len(few) - 6} more" if len(few) > 6 else ""
        column = _class_column(design)
        raise PublicDataError(
            f"the public rows have fewer than two of the class(es) {', '.join(few[:6])}{more}: their "
            f"centres are not known. Add public rows; or name the classes that count, "
            f"limits={{'{column}': [...]}}; or is `{column}` a number? See eptr_nw and dp_lm."
        )
    means, spread = pooled_covariance(x, code, classes)
    back = feature_scaling(spread, covariance, len(x))
    z = x @ back
    frequency = counts / counts.sum()
    if method == "paper":
        radius = max(float(np.quantile(np.linalg.norm(z, axis=1), 0.98)), 1e-12)
        zero = np.zeros_like(means)
        return ClassGeometry(back, zero, radius, 1.0, frequency, counts, None)
    centres = means @ back
    radius, slope, lost = choose_class_radius(z - centres[code], code, classes, n, mu)
    return ClassGeometry(back, centres, radius, slope, frequency, counts, lost)


def _class_column(design: Design) -> str:
    return design.rhs[0][0].parse().columns[0]


def _declared_geometry(
    design: Design, classes: int, limits: Mapping[str, Any], method: str
) -> ClassGeometry:
    schema = {name: value for name, value in limits.items() if name != "(norm)"}
    features = features_design(design, classes)
    widths, _ = design_extent(features, schema)
    middle = np.zeros(len(widths))
    for name, j in features.bare.items():
        limit = limits.get(name)
        if isinstance(limit, tuple):
            middle[j] = (limit[0] + limit[1]) / 2
            widths[j] = (limit[1] - limit[0]) / 2
    # a range is taken for two standard deviations on either side
    back = np.diag(2 / widths)
    p = len(widths)
    radius = (
        positive("limits['(norm)']", limits["(norm)"]) if "(norm)" in limits else 2 * math.sqrt(p)
    )
    centres = np.tile(middle @ back, (classes, 1))
    if method == "paper":
        largest = np.abs(centres[0]) + 2
        return ClassGeometry(
            back, np.zeros((classes, p)), float(np.linalg.norm(largest)), 1.0, None, None, None
        )
    return ClassGeometry(back, centres, radius, 1.0, None, None, None)


@dataclass(frozen=True)
class TestPlan:
    """A test of the smallest class: probabilities and noise, and what they rest on; public.

    Attributes
    ----------
    levels : CountLevels or None
        None for the paper's test.
    target : int
        Rows of the smallest class that are planned for (the paper: its threshold c0 n).
    sensitivity : float
        At the target.
    prior_scale : float
        Weight of the priors beside the means.
    """

    plan: ReleasePlan
    levels: CountLevels | None
    target: int
    sensitivity: float
    prior_scale: float


def make_test(
    method: str,
    geometry: ClassGeometry,
    classes: int,
    n: int,
    target: int | None,
    spend: Spend,
    calibration: str,
    allow_unproved: bool,
) -> TestPlan | None:
    """The test of a method, planned before any private value is read; None for "sums"."""
    if method == "sums":
        return None
    if target is None:
        if geometry.counts is None or geometry.frequency is None:
            raise ArgumentError(
                f"method='{method}' without public rows needs target=, the number of rows that the "
                "smallest class is expected to have; method='sums' needs none."
            )
        m = int(geometry.counts.sum())
        target = smallest_class(n, float(geometry.frequency.min()), m, NO_REPLY)
        if method == "paper":  # c0 n, half the smallest frequency
            target = int(float(geometry.frequency.min()) / 2 * n)
    if n < classes:
        raise ArgumentError(f"{n} private rows cannot have {classes} classes.")
    if not 1 <= target <= n / classes:
        raise ArgumentError(
            f"the smallest of {classes} classes among {n} rows cannot be expected to have {target} "
            f"rows: target must lie between 1 and {n // classes}. method='sums' needs no target."
        )
    target, radius, p = int(target), geometry.radius, geometry.back.shape[0]
    if method == "paper":
        alpha = 2 / n * math.sqrt(2 * (radius * n / target) ** 2 + 2)
        plan = papers_plan(alpha, spend.epsilon, spend.delta, allow_unproved=allow_unproved)
        return TestPlan(plan, None, target, alpha, 1.0)
    # equal relative errors of priors and means
    scale = math.sqrt(n * math.sqrt(8 * radius**2 / target**2 / (2 * p)))
    levels = CountLevels.up_to(target, radius, scale, n)
    release = plan_test(
        levels.levels,
        levels.target,
        spend,
        calibration,
        f"A level is one row of the smallest class, of which {target} are expected. method='sums' needs "
        "no test.",
    )
    return TestPlan(release, levels, target, means_move(target, radius, scale, n), scale)


def from_sums(session: ClassSession, geometry: ClassGeometry) -> BayesFit:
    n, (classes, p) = session.n, geometry.centres.shape
    released = session.sums(session.left)
    counts = np.maximum(released.counts, 1.0)
    prior = priors_from_counts(released.counts, n)
    means, mean_sd = np.empty((classes, p)), np.empty(classes)
    shrunk = []
    for k in range(classes):
        shift = released.sums[k] / counts[k]
        length = float(np.linalg.norm(shift))
        if length > geometry.radius:  # means of cut rows lie in the ball
            shift = shift * (geometry.radius / length)
        noise = min(released.sums_sd / counts[k], geometry.radius)
        sd = math.hypot(noise, 1 / math.sqrt(counts[k]))
        shift, factor = shrunk_shift(shift / geometry.slope, sd / geometry.slope)
        if geometry.counts is None:
            factor, shift = 1.0, released.sums[k] / counts[k]
        shrunk.append(factor)
        means[k] = geometry.centres[k] + shift
        mean_sd[k] = sd / geometry.slope
    certain = np.maximum(released.counts - 1.96 * released.counts_sd, 1.0)
    first = float((np.minimum(p, geometry.radius**2) / certain).sum()) + classes / (4 * n)
    second = sum(p * (released.sums_sd / (c * geometry.slope)) ** 2 for c in counts)
    second += classes * (released.counts_sd / n) ** 2
    norm = "l2, scaled features"
    bias = None if geometry.lost is None else classes * geometry.lost**2
    error = (
        sampling_error(first, norm),
        noise_error(1, math.sqrt(second), norm),
        no_reply_error(None, None, norm),
        clipping_bias(bias, norm),
    )
    prior_sd = np.sqrt(prior * (1 - prior) / n + (released.counts_sd / n) ** 2)
    diagnostics = (
        Diagnostic("smallest class", float(released.counts.min()), released.counts_sd, "rows"),
        Diagnostic("radius", geometry.radius, None, "where rows are cut, in scaled units"),
        Diagnostic(
            "weight of private means",
            float(np.mean(shrunk)),
            None,
            "the rest of a mean is the public one, where noise dominates",
        ),
    )
    notes: tuple[str, ...] = ()
    if float(released.counts.min()) < 3 * released.counts_sd:
        notes = (
            "The smallest class cannot be told from an empty one: its mean is the public one, or "
            "noise. Ask for a larger budget, or merge classes.",
        )
    return BayesFit(prior, prior_sd, means, mean_sd, True, error, diagnostics, notes)


def from_test(session: ClassSession, geometry: ClassGeometry, test: TestPlan) -> BayesFit:
    """Priors and means behind a test; "no reply" shows the public ones."""
    n, (classes, p) = session.n, geometry.centres.shape
    plan, levels, scale, expected = test.plan, test.levels, test.prior_scale, test.target
    statistic = "rows of the smallest class"
    if isinstance(plan, PapersPlan):
        tested, prior, shift = session.papers_means(plan, expected, test.sensitivity)
        floor = expected / n
        answers = Answers.of(plan, statistic, lambda g: expected + 1 + g)
    else:
        assert levels is not None
        below, floor = levels.below, 1 / n
        tested, prior, shift = session.tested_means(plan, levels, scale)
        answers = Answers.of(plan, statistic, lambda k: below + k)
    sd = plan.noise_sd
    norm = "l2, scaled features"
    distance = classes * (2 * geometry.radius) ** 2 + 2
    bias = None if geometry.lost is None else classes * geometry.lost**2
    second = classes * (p * (sd / geometry.slope) ** 2 + (sd / scale) ** 2)
    error = (
        sampling_error(
            classes * min(p, geometry.radius**2) / max(expected, 1.0) + classes / (4 * n), norm
        ),
        noise_error(1, math.sqrt(second), norm),
        no_reply_error(distance, NO_REPLY, norm),
        clipping_bias(bias, norm),
    )
    diagnostics = (
        Diagnostic("target", expected, None, "rows of the smallest class that were planned for"),
        Diagnostic("answered", float(tested.passed), None, "1 if the test passed"),
    )
    if not tested.passed:
        said = "NO REPLY: the test did not pass, or its coin said no. The public means stand in."
        frequency = geometry.frequency
        prior = np.full(classes, 1 / classes) if frequency is None else frequency
        prior = np.maximum(prior, 1e-6) / np.maximum(prior, 1e-6).sum()
        unknown = np.full(classes, np.nan)
        return BayesFit(
            prior,
            unknown,
            geometry.centres,
            unknown,
            False,
            unanswered(error),
            diagnostics,
            (said,),
            answers,
        )
    prior = np.maximum(prior, floor)
    prior = prior / prior.sum()
    mean_sd = np.sqrt((sd / geometry.slope) ** 2 + 1 / np.maximum(n * prior, 1.0))
    prior_sd = np.sqrt(prior * (1 - prior) / n + (sd / scale) ** 2)
    shift = shift / geometry.slope
    if levels is not None and geometry.counts is not None:
        shift = np.array(
            [shrunk_shift(row, float(s))[0] for row, s in zip(shift, mean_sd, strict=True)]
        )
    means = geometry.centres + shift
    notes: tuple[str, ...] = ()
    if sd / geometry.slope > 1:
        notes = (
            "The noise of the means is larger than the spread of rows within a class: they say next to "
            "nothing. method='sums' does not need noise for the smallest class everywhere.",
        )
    return BayesFit(prior, prior_sd, means, mean_sd, True, error, diagnostics, notes, answers)
