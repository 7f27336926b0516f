"""A Bayes classifier's scales and cuts, and three ways of releasing its sums, moments or means."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpstats.arguments import listed, positive
from dpstats.arrays import Floats
from dpstats.column_search.releases import ColumnSession
from dpstats.errors import ArgumentError, PublicDataError
from dpstats.frame import Design, design_extent, features_design
from dpstats.mechanism.noise import Noise
from dpstats.mechanism.passes import RowSource
from dpstats.mechanism.session import Session
from dpstats.models.eptr_bayes.alone import UnknownFeatures, find_features
from dpstats.models.eptr_bayes.discriminant import KINDS, Axes
from dpstats.models.eptr_bayes.estimate import (
    ClassGeometry,
    LabelledRows,
    choose_class_radius,
    feature_scaling,
    pooled_covariance,
    principal_axes,
    priors_from_counts,
    shrunk_shift,
    smallest_class,
)
from dpstats.models.eptr_bayes.moments import fit_alone, fit_moments
from dpstats.models.eptr_bayes.planning import LIFT, MomentCut, plan_moments
from dpstats.models.eptr_bayes.releases import (
    ClassMoments,
    ClassSession,
    ClassSums,
    count_levels,
    papers_count,
)
from dpstats.models.eptr_bayes.tails import WINDOW, CutTails
from dpstats.propose_test.bounds import clipping_bias, decomposition
from dpstats.propose_test.call import NO_REPLY, RowTotal, SafetyTerms, plan_safety, untested
from dpstats.propose_test.outcome import Outcome, target_diagnostics
from dpstats.propose_test.safety import SafetyLevels, SafetyTest
from dpstats.public_input import public_rows
from dpstats.report.bound import Bound
from dpstats.report.released import Diagnostic
from dpstats.score_rounds.notes import unseen_line

_SIZES = 0.05
"""Share of what is left that sizes of features cost, without public rows."""
LEAST_LEFT = 0.5 * (1 - _SIZES)
"""Of a total, for the moments, after a search of scales (at most half) and the sizes of features."""
_TAILS = 1.0
"""Standard errors by which the cut may move a mean without a note."""
_ALLOWED = 0.5
"""Share of the variance of a mean that allows for unseen rows, from which a note says so."""
_FEW = 200
"""Public rows whose longest, fewer than 15 of them, tell a tail only roughly."""
CHOSEN = "chosen"
"""Of the released covariances, that which classifies public rows best."""


@dataclass(frozen=True)
class BayesFit:
    """Estimates in scaled coordinates, and what is reported of them.

    ``used``: released number of rows that count, and its noise.
    """

    prior: Floats
    prior_sd: Floats
    means: Floats
    mean_sd: Floats
    outcome: Outcome
    covariance: str | None = None
    spread: Floats | None = None
    used: tuple[float, float] | None = None


def mean_errors(mean_sd: Floats, back: Floats) -> Floats:
    """Standard errors (K, p) of means in the user's units, from those of scaled coordinates (K,)."""
    root = np.linalg.inv(back)
    return np.outer(mean_sd, np.sqrt((root**2).sum(axis=0)))


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
    """Scales, centres and cuts of classes, from public rows or from declared limits."""
    if public is None:
        return _declared_geometry(design, classes, limits or {}, method)
    rows = public_rows(design, public)
    code = rows.x[:, :classes].argmax(axis=1)
    x = rows.x[:, classes:]
    counts = np.bincount(code, minlength=classes).astype(np.float64)
    if counts.min() < 2:
        column = design.rhs[0][0].parse().columns[0]
        names = map(str, design.columns[column].levels or ())
        few = listed([name for name, k in zip(names, counts, strict=True) if k < 2], "", 6)
        raise PublicDataError(
            f"the public rows have fewer than two of the class(es) {few}: "
            "their centres are not known. Add public rows; or name the classes to use, "
            f"limits={{'{column}': [...]}}; or is `{column}` a number? See eptr_nw and dp_lm."
        )
    means, spread = pooled_covariance(x, code, classes)
    released = covariance in (*KINDS, CHOSEN)
    if released:
        back, scale = principal_axes(spread, len(x))
    else:
        back, scale = feature_scaling(spread, covariance, len(x)), None
    z = x @ back
    frequency = counts / counts.sum()
    if method == "paper":
        radius = max(float(np.quantile(np.linalg.norm(z, axis=1), 0.98)), 1e-12)
        zero = np.zeros_like(means)
        return ClassGeometry(back, zero, radius, 1.0, frequency, counts, None)
    centres = means @ back
    if released:
        cut = plan_moments(z - centres[code], code, classes, n, mu)
        lost = float(np.linalg.norm(cut.moved, axis=1).max()) / cut.slope
        found = LabelledRows(z, code)
        return ClassGeometry(
            back, centres, cut.radius, cut.slope, frequency, counts, lost, cut, found, scale
        )
    radius, slope, lost = choose_class_radius(z - centres[code], code, classes, n, mu)
    return ClassGeometry(back, centres, radius, slope, frequency, counts, lost)


def _declared_geometry(
    design: Design, classes: int, limits: Mapping[str, Any], method: str
) -> ClassGeometry:
    middle, widths = _declared_features(design, classes, limits)
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


def _declared_features(
    design: Design, classes: int, limits: Mapping[str, Any]
) -> tuple[Floats, Floats]:
    """Middles of declared ranges and half their widths; of other columns zero and their size."""
    schema = {name: value for name, value in limits.items() if name != "(norm)"}
    features = features_design(design, classes)
    width, _ = design_extent(features, schema)
    middle = np.zeros(len(width))
    for name, j in features.bare.items():
        limit = limits.get(name)
        if isinstance(limit, tuple):
            middle[j] = (limit[0] + limit[1]) / 2
            width[j] = (limit[1] - limit[0]) / 2
    return middle, width


def make_test(
    method: str,
    geometry: ClassGeometry,
    classes: int,
    n: int,
    target: int | None,
    terms: SafetyTerms,
) -> tuple[SafetyTest, float] | None:
    """The test of a method, and the weight of the priors beside the means; None for "sums"."""
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
        raise ArgumentError(
            f"{n} private rows cannot have {classes} classes: give more rows, or public rows of "
            "fewer classes."
        )
    if not 1 <= target <= n / classes:
        raise ArgumentError(
            f"the smallest of {classes} classes among {n} rows cannot be expected to have {target} "
            f"rows: target must lie between 1 and {n // classes}. method='sums' needs no target."
        )
    target, radius, p = int(target), geometry.radius, geometry.back.shape[0]
    statistic = "rows of the smallest class"
    if method == "paper":
        return plan_safety(papers_count(target, radius, n), terms, statistic, target), 1.0
    # equal relative errors of priors and means
    scale = math.sqrt(n * math.sqrt(8 * radius**2 / target**2 / (2 * p)))
    advice = (
        f"A level is one row of the smallest class, of which {target} are expected. method='sums' needs "
        "no test."
    )
    levels = count_levels(target, radius, scale, n)
    return plan_safety(levels, terms, statistic, target, advice), scale


def fit_rows(
    rows: RowSource,
    seen: ClassGeometry | UnknownFeatures,
    test: tuple[SafetyTest, float] | None,
    kind: str,
    total: RowTotal,
    noise: Noise,
    after: Session[Any] | None,
) -> tuple[ClassGeometry, BayesFit, ClassSession]:
    """Spend a total on a fit of these rows, of which a part finds scales where no public rows tell."""
    if isinstance(seen, UnknownFeatures):
        plain = untested(total)
        with ColumnSession(rows, seen.columns, False, plain, noise, after) as columns:
            geometry, after = find_features(columns, seen, rows.n, plain.mu), columns
    else:
        geometry = seen
    cut = geometry.cut
    with ClassSession(
        rows,
        geometry.back,
        geometry.centres,
        geometry.radius,
        total,
        noise,
        products=cut is not None,
        after=after,
    ) as session:
        if test is not None:
            return geometry, from_test(session, geometry, *test), session
        if cut is None:
            return geometry, from_sums(session, geometry), session
        kinds = KINDS if kind == CHOSEN else (kind,)
        return geometry, from_moments(session, geometry, cut, kinds), session


def from_sums(session: ClassSession, geometry: ClassGeometry) -> BayesFit:
    """Priors and means from noisy counts and sums, drawn towards public means as far as noise goes."""
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
    noise2 = sum(p * (released.sums_sd / (c * geometry.slope)) ** 2 for c in counts)
    outcome = _outcome(geometry, released, n, noise2, float(np.mean(shrunk)), ())
    prior_sd = np.sqrt(prior * (1 - prior) / n + (released.counts_sd / n) ** 2)
    return BayesFit(prior, prior_sd, means, mean_errors(mean_sd, geometry.back), outcome)


def _outcome(
    geometry: ClassGeometry,
    released: ClassSums | ClassMoments,
    n: int,
    noise2: float,
    kept: float,
    notes: tuple[str, ...],
    more: tuple[Diagnostic, ...] = (),
) -> Outcome:
    """What is said of released sums; ``noise2``: the squared noise of the means of all classes."""
    classes, p = geometry.centres.shape
    certain = np.maximum(released.counts - 1.96 * released.counts_sd, 1.0)
    sampling = float((np.minimum(p, geometry.radius**2) / certain).sum()) + classes / (4 * n)
    noise2 += classes * (released.counts_sd / n) ** 2
    rest = (
        "the rest of a mean is the middle of all rows, where noise dominates"
        if geometry.counts is None
        else "the rest of a mean is the public one, where noise dominates"
    )
    diagnostics = (
        Diagnostic("smallest class", float(released.counts.min()), released.counts_sd, "rows"),
        Diagnostic("radius", geometry.radius, None, "where rows are cut, in scaled units"),
        Diagnostic("weight of private means", kept, None, rest),
        *more,
    )
    error = _error(geometry, sampling, noise2, None, None)
    lost = _lost_class(released, alone=geometry.counts is None)
    return Outcome(True, error, diagnostics, lost + notes)


def _used(released: ClassSums | ClassMoments) -> tuple[float, float]:
    """How many rows are in any class, and the noise of that."""
    return float(released.counts.sum()), released.counts_sd * math.sqrt(len(released.counts))


def _lost_class(released: ClassSums | ClassMoments, *, alone: bool) -> tuple[str, ...]:
    if float(released.counts.min()) >= 3 * released.counts_sd:
        return ()
    return (
        "The smallest class cannot be distinguished from an empty one: its mean is "
        f"{'noise (is its name spelt as in the rows?)' if alone else 'the public one, or noise'}. Ask "
        "for a larger budget, or merge classes.",
    )


def _tails(taken: Floats, mean_sd: Floats) -> tuple[str, ...]:
    """What the cut takes off the means of public rows, beside standard errors."""
    worst = float((taken / np.maximum(mean_sd, 1e-300)).max())
    if worst < _TAILS:
        return ()
    return (
        f"Features have long tails: cutting rows moves some class mean by {worst:.1f} of its "
        "standard errors, judging by public rows. That is corrected; where private rows have "
        "longer tails than public ones, such means remain too small in size. A transformation, "
        "such as log, helps.",
    )


def _unknown_tails(
    moved_variance: Floats, root: Floats, mean_sd: Floats, m: float
) -> tuple[str, ...]:
    """A note where most of an error allows for what the cut does to rows longer than public ones.

    How long these are is guessed from few rows: an error that consists of the guess may be too short.
    """
    allowed = moved_variance[:, None] * (root**2).sum(axis=0)
    share = float((allowed / np.maximum(mean_sd**2, 1e-300)).max())
    if m >= _FEW or share < _ALLOWED:
        return ()
    return (
        "The public rows are too few to show how long the tails of the features are: most of the error "
        "of some class mean allows for longer rows, which the cut shortens, and means of skewed "
        "features may miss by more. More public rows, or a transformation, such as log, help.",
    )


def from_moments(
    session: ClassSession, geometry: ClassGeometry, cut: MomentCut, kinds: tuple[str, ...]
) -> BayesFit:
    """A classifier with released covariances, of the kind that does best on public rows.

    Without public rows histograms of features come first, which tell what the cut takes off means.
    """
    assert geometry.scale is not None
    tails = None
    if geometry.public is None:
        sizes = session.sizes(_SIZES * session.left, *WINDOW)
        tails = CutTails.of(sizes, cut.radius, session.n)
    released = session.moments(session.left, cut.by_class, LIFT)
    axes = Axes(geometry.back, geometry.scale)
    if tails is not None:
        fit = fit_alone(released, geometry.centres, cut, kinds, axes, tails)
    else:
        assert geometry.public is not None
        fit = fit_moments(released, geometry.centres, cut, geometry.public, kinds, axes)
    unseen = () if tails is None else unseen_line(tails.counts_sd)
    root = np.linalg.inv(geometry.back)
    mean_sd = np.sqrt(np.einsum("ij,kil,lj->kj", root, fit.errors, root))
    rows = np.maximum(released.counts, 1.0)
    noise2 = len(root) * float(((released.sums_sd / (rows * cut.slope)) ** 2).sum())
    taken = np.abs(cut.moved @ root) / cut.slope
    notes = fit.notes + _tails(taken, mean_sd)
    if geometry.counts is not None:
        notes += _unknown_tails(cut.moved_variance, root, mean_sd, float(geometry.counts.sum()))
    return BayesFit(
        fit.rule.prior,
        fit.prior_sd,
        fit.rule.means,
        mean_sd,
        _outcome(geometry, released, session.n, noise2, float(fit.kept.mean()), notes, unseen),
        f"{fit.kind}, released",
        fit.rule.spread,
        _used(released),
    )


def from_test(
    session: ClassSession, geometry: ClassGeometry, test: SafetyTest, scale: float
) -> BayesFit:
    """Priors and means behind a test; "no reply" shows the public ones."""
    n, (classes, p) = session.n, geometry.centres.shape
    tested, prior, shift = session.tested_means(test, scale)
    sd, target, by_level = test.plan.noise_sd, test.target, isinstance(test.safety, SafetyLevels)
    first = classes * min(p, geometry.radius**2) / max(target, 1.0) + classes / (4 * n)
    second = classes * (p * (sd / geometry.slope) ** 2 + (sd / scale) ** 2)
    distance2 = classes * (2 * geometry.radius) ** 2 + 2
    error = _error(geometry, first, second, distance2, NO_REPLY)
    note = "rows of the smallest class that were planned for"
    diagnostics = target_diagnostics(target, note, tested.passed)
    notes: tuple[str, ...] = ()
    means = geometry.centres
    prior_sd = mean_sd = np.asarray(np.full(classes, np.nan))
    if tested.passed:
        prior = np.maximum(prior, 1 / n if by_level else target / n)
        prior = prior / prior.sum()
        mean_sd = np.sqrt((sd / geometry.slope) ** 2 + 1 / np.maximum(n * prior, 1.0))
        prior_sd = np.sqrt(prior * (1 - prior) / n + (sd / scale) ** 2)
        shift = shift / geometry.slope
        if by_level and geometry.counts is not None:
            shift = np.array(
                [shrunk_shift(row, float(s))[0] for row, s in zip(shift, mean_sd, strict=True)]
            )
        means = means + shift
        if sd / geometry.slope > 1:
            notes = (
                "The noise of the means is larger than the spread of rows within a class: they "
                "carry next to no information. method='sums' does not need the noise of the "
                "smallest class everywhere.",
            )
    else:
        frequency = geometry.frequency
        prior = np.full(classes, 1 / classes) if frequency is None else frequency
        prior = np.maximum(prior, 1e-6) / np.maximum(prior, 1e-6).sum()
    outcome = Outcome.of_test(
        test, tested.passed, "The public means are shown instead.", error, diagnostics, notes
    )
    return BayesFit(prior, prior_sd, means, mean_errors(mean_sd, geometry.back), outcome)


def _error(
    geometry: ClassGeometry,
    sampling: float,
    noise2: float,
    distance2: float | None,
    probability: float | None,
) -> tuple[Bound, ...]:
    norm = "l2, scaled features"
    bias = None if geometry.lost is None else len(geometry.centres) * geometry.lost**2
    parts = decomposition(norm, sampling, 1, math.sqrt(noise2), distance2, probability)
    return *parts, clipping_bias(bias, norm)
