"""A private mean about a public one, with a covariance that is known or public."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from dpstats.accounting.privacy import Cost
from dpstats.arguments import in_prose
from dpstats.arrays import Floats
from dpstats.errors import ArgumentError
from dpstats.models.gaussian.cuts import NoiseLevel
from dpstats.models.gaussian.fit import GaussianFit, noise_level, unused_notes
from dpstats.models.gaussian.known_covariance import FixedCovariance
from dpstats.models.gaussian.marks import loss_of_public
from dpstats.models.gaussian.mean_bounds import MeanFacts, mean_bounds
from dpstats.models.gaussian.mean_cuts import DEAREST, counted_variance, first_radius, last_mean_cut
from dpstats.models.gaussian.mean_leaning import for_long_rows, left_for_mean
from dpstats.models.gaussian.mean_planning import MeanPlan, papers_mean_cut, plan_mean
from dpstats.models.gaussian.mean_spread import ReleasedMean, Spread
from dpstats.models.gaussian.moments import Cell, leaning_line, used_rows
from dpstats.models.gaussian.public import PublicPoints
from dpstats.models.gaussian.releases import CellSession, require_room
from dpstats.models.gaussian.rounds import LEAST_RADIUS, cell_lengths, spread_of_rows
from dpstats.numerics.histogram import LogHistogram
from dpstats.report.bound import Bound
from dpstats.report.diagnostics import as_share, row_diagnostics
from dpstats.report.released import Diagnostic
from dpstats.score_rounds.leaning import Leaning
from dpstats.score_rounds.notes import CUT_ALLOWANCE, out_of_sight, row_causes, unseen_line

_CUT_SHARE, TOLD_CUTS = 0.005, 0.02
"""Of the last release, for the share of rows that were cut; and where errors follow from it."""
_SEARCH, _PURE_SEARCH = 0.03, 0.07
"""Pure budgets add up: a small share of one buys little."""
_COARSE = 0.1
SPREAD = 0.05
"""Share of second moments from which standard errors follow."""
_HIDDEN_BY = 0.5
"""Noise of a variance, relative, from which on it is not released."""
_DEAREST_COUNTED = 0.7
"""Noise of a mean, in errors of sampling, that rows which nobody sees may cost by counts alone."""
_WIDER = 0.002
"""Share of cut rows beyond which they vary by more than variances that were taken for granted."""
_ELSEWHERE = 4.0
"""Times as far from the public mean as public rows, from where the middle private row lies elsewhere."""
ELSEWHERE = (
    "Private rows lie far from the public ones, or vary far more: other units, or another population. "
    "All columns have more noise for it{}. Check the units, or leave public= out, which needs none."
)
_NO_ALLOWANCE = Diagnostic(CUT_ALLOWANCE, None, None, "these errors do not allow for cuts")


@dataclass(frozen=True)
class MeanCall:
    """The plan of a call of dp_mean, from public numbers."""

    plan: MeanPlan
    facts: MeanFacts
    warnings: tuple[str, ...]


def plan_call_of_mean(
    points: PublicPoints,
    known: FixedCovariance,
    n: int,
    total: Cost,
    method: str,
    gamma: float,
    eta: float,
) -> MeanCall:
    """Rounds and radii of a mean, with a warning where little can be expected."""
    d, noise = len(points.terms), noise_level(total)
    if method == "paper" and not known.stated:
        raise ArgumentError(
            "method='paper' (Theorem 2.3) is for a known covariance: covariance='identity', "
            "standard deviations, or a matrix."
        )
    plan = plan_mean(n, d, points.m, noise, gamma=gamma, eta=eta)
    first = plan.share if known.stated else _COARSE
    require_room(total, n, d, 1, [min(first, 0.5)], moments=False)
    messages: tuple[str, ...] = ()
    if plan.sd * math.sqrt(d) > 1:
        messages = (
            f"n = {n} rows are few for {d} columns at this budget: the privacy noise alone is "
            f"expected to move the mean by {in_prose(plan.sd * math.sqrt(d), 3)} standard deviations. "
            "Ask for a larger budget, or fewer columns.",
        )
    facts = MeanFacts(n, d, points.m, eta, noise.rho, noise.epsilon, gamma, plan.sd)
    return MeanCall(plan, facts, messages)


def _release(
    session: CellSession, cell: Cell, radius: float, share: float, cut_share: float = 0.0
) -> ReleasedMean:
    """Mean of the rows cut to a radius, in the cell's coordinates."""
    sums, cut = session.vector_sum(share, cell.frame, radius, cut_share)
    n = used_rows(session.n, sums.count, sums.count_sd)
    return ReleasedMean(cell, sums.total / n, sums.total_sd / n, n, sums.count, sums.count_sd, cut)


def last_mean(
    session: CellSession,
    cell: Cell,
    radius: float,
    cut_share: float = _CUT_SHARE,
    lean: Leaning | None = None,
) -> ReleasedMean:
    """The mean with all that is left of the total, and how many rows were cut."""
    left = session.left
    released = _release(session, cell, radius, left * (1 - cut_share), left * cut_share)
    return replace(released, lean=lean)


def fit_mean(
    session: CellSession, points: PublicPoints, known: FixedCovariance, call: MeanCall
) -> GaussianFit:
    """One or two rounds of cut and noisy means about the public mean.

    With a stated covariance the radii are those beyond which no row is expected. With a public one they
    follow from a private histogram of lengths, and a rough mean comes first where that shows the
    public centre to be far off.
    """
    start = known.start(session.n)
    if not known.stated:
        return _fit_by_lengths(session, points, known, call, start)
    plan, cell, radius = call.plan, start, call.plan.cut1
    if plan.rounds == 2:
        assert plan.cut2 is not None
        first = _release(session, cell, radius, plan.share)
        cell, radius = _recentred(first), plan.cut2
    released = last_mean(session, cell, radius)
    return _result(session, points, known, call, released, radius, plan.rounds)


def papers_mean(
    session: CellSession, points: PublicPoints, known: FixedCovariance, call: MeanCall
) -> GaussianFit:
    """Theorem 2.3: one round about the public mean, at the paper's radius."""
    radius = papers_mean_cut(call.facts.n, call.facts.d, call.facts.eta)
    released = last_mean(session, known.start(session.n), radius)
    return _result(session, points, known, call, released, radius, 1)


def _fit_by_lengths(
    session: CellSession, points: PublicPoints, known: FixedCovariance, call: MeanCall, start: Cell
) -> GaussianFit:
    """Radii from private histograms of lengths; two rounds where rows are longer than expected."""
    n, d = session.n, start.d
    tail = min(0.01, 0.3 / math.sqrt(n))
    search = _PURE_SEARCH if call.facts.pure else _SEARCH
    (lengths,) = cell_lengths(session, search, (), [start])
    radius = first_radius(lengths, n, d, tail)
    cell, rounds, far = start, 1, (lengths.quantile(0.5) or 0.0) > _ELSEWHERE * math.sqrt(d)
    if radius > 2 * math.sqrt(d + 3 * math.sqrt(d)):
        cell, rounds = _recentred(_release(session, cell, radius, _COARSE)), 2
        (lengths,) = cell_lengths(session, search, (), [cell])
        radius = first_radius(lengths, n, d, tail)
    return _last_round(session, points, known, call, cell, lengths, rounds, far)


def _drowned(n: int, d: int, rho: float | None) -> bool:
    """Whether second moments of so many rows would hardly stand out of their noise."""
    return NoiseLevel(rho=rho).coarse(SPREAD, n, d) * LEAST_RADIUS**2 * d > _HIDDEN_BY


def _last_round(
    session: CellSession,
    points: PublicPoints,
    known: FixedCovariance,
    call: MeanCall,
    cell: Cell,
    lengths: LogHistogram,
    rounds: int,
    far: bool,
) -> GaussianFit:
    """The last mean, with errors from second moments of private rows, or from counts of lengths alone.

    From counts where noise would drown second moments, and of pure budgets, which add up. ``far``: rows
    lie elsewhere than public ones.
    """
    n, d, facts = session.n, cell.d, call.facts
    noise = NoiseLevel(rho=facts.rho, epsilon=facts.epsilon)
    counted = facts.pure or _drowned(n, d, facts.rho)
    seen = None if counted else spread_of_rows(session, noise, SPREAD, cell, lengths)
    variance = _counted(lengths, n, d, points.m) if seen is None else seen.variance
    dearest = DEAREST if seen is not None else _DEAREST_COUNTED
    share = left_for_mean(session) * (1 - TOLD_CUTS)
    expected = loss_of_public(points.measured_in(known.units).measured, cell)
    cut = last_mean_cut(noise, share, n, lengths, variance, d, expected, dearest, shown=True)
    away = math.sqrt(d * variance / points.m) if seen is None else float(np.linalg.norm(seen.mean))
    cell, lean = for_long_rows(session, cell, cut.radius, lengths, variance, away, most=cut.most)
    released = last_mean(session, cell, cut.radius, TOLD_CUTS, lean)
    if seen is not None:
        own = Spread.of(seen, known.units, cut, released, lengths, n)
    else:
        own = Spread.by_counts(known, variance, cut, released, lengths, n)
    return _result(session, points, known, call, released, cut.radius, rounds, own, far=far)


def _counted(lengths: LogHistogram, n: int, d: int, m: int) -> float:
    """Variance by counts; where they hide tails no less than m public rows say for sure."""
    variance = counted_variance(lengths, n, d)
    hidden = out_of_sight(lengths.noise_sd, n)
    return max(variance, 1 - math.sqrt(2 / m)) if hidden else variance


def rows_of_mean(released: ReleasedMean, n: int) -> tuple[Diagnostic, ...]:
    """How many of n rows the last mean has cut, and how many it lacks."""
    assert released.cut is not None
    empty = 1 - released.n / n, released.count_sd / n
    where = "share that was cut in the last round"
    return row_diagnostics(released.cut[:2], empty, where, outside=released.cut.outside)


def _recentred(released: ReleasedMean) -> Cell:
    identity = np.eye(released.cell.d)
    return released.cell.moved(released.mean, identity, identity)


def _result(
    session: CellSession,
    points: PublicPoints,
    known: FixedCovariance,
    call: MeanCall,
    released: ReleasedMean,
    radius: float,
    rounds: int,
    own: Spread | None = None,
    *,
    far: bool = False,
) -> GaussianFit:
    """The result in the user's units; ``own``: how private rows vary, where that was released.

    ``far``: they lie elsewhere than public ones, whose covariance says nothing of them.
    """
    unseen = () if own is None else unseen_line(own.counts_sd)
    grown: Floats = np.ones(len(known.units))
    taken = 0.0
    if own is not None and not own.resolved:
        grown, taken, own = own.grown, own.mean_lost, None
    units, root = known.units, released.cell.root * known.units
    place = released.cell.centre + released.cell.root.T @ released.mean
    assert released.cut is not None
    lost = far and (own is None or own.counted)
    wider = known.assumed and released.cut.share - 3 * released.cut.sd > _WIDER
    notes = _notes(session.n, points, known, released, own, far=far, lost=lost, wider=wider)
    sampling = known.matrix * np.outer(grown, grown) * (1 / released.n + taken**2)
    if own is not None:
        sampling = own.sampling(released.n)
    privacy = released.sd**2 * root.T @ root
    bounds: tuple[Bound, ...] = ()
    if known.stated and not wider:
        bounds = mean_bounds(replace(call.facts, sd=released.sd))
    diagnostics = (
        Diagnostic("rounds", rounds, None, "of cutting and averaging"),
        *rows_of_mean(released, session.n),
        Diagnostic("radius", radius, None, "where rows were cut, in standard deviations"),
        _NO_ALLOWANCE if own is None else own.allowance(released),
        *(() if own is None else leaning_line(points.terms, own.lean, sampling, privacy)),
        *unseen,
    )
    return GaussianFit(
        mean=points.origin + units * place,
        sampling=np.full_like(sampling, math.nan) if wider or lost else sampling,
        privacy=privacy,
        matrix=known.matrix,
        source=known.source,
        bounds=bounds,
        diagnostics=diagnostics,
        notes=notes,
    )


def _notes(
    n: int,
    points: PublicPoints,
    known: FixedCovariance,
    released: ReleasedMean,
    own: Spread | None,
    *,
    far: bool,
    lost: bool,
    wider: bool,
) -> tuple[str, ...]:
    """What is said of a mean: why it has the errors that it has, and what was cut or is missing.

    ``far``: see `_result`; ``lost``: so that no errors are given; ``wider``: nor are they, as rows vary
    by more than was assumed.
    """
    assert released.cut is not None
    cut = released.cut
    notes = known.trusted
    if lost:
        notes = (ELSEWHERE.format(", and no standard errors are given"),)
    elif own is not None:
        notes = ((ELSEWHERE.format(""),) if far else ()) + own.notes
    elif not known.stated:
        notes = (
            f"Standard errors rest on the {known.noun}, or on more where private rows surely vary more: "
            "noise hides how they vary, and where they lie far out. A larger budget helps.",
        )
    if wider:
        notes += (
            f"Rows vary by more than the unit variances that were assumed (about "
            f"{in_prose(100 * as_share(cut.share))} % were cut): no standard errors are given. "
            "Leave public= out, which has scales found in private rows, or state covariance=.",
        )
    elif as_share(cut.share) - 2 * cut.sd > 0.1:
        notes += (
            f"About {100 * as_share(cut.share):.0f} % of the rows were truncated: the "
            "covariance is too small for these rows, or the public rows are far from them "
            "(gamma=). State another covariance, or estimate it: dp_mvnorm.",
        )
    if known.name == "identity" and points.m >= 6:
        spread = np.sqrt(((points.x - points.origin) ** 2).sum(axis=0) / (points.m - 1))
        if spread.max() > 4 or spread.min() < 0.25:
            notes += (
                "Unit variances are assumed, but the public rows vary differently (standard "
                f"deviations {in_prose(spread.min(), 3)} to {in_prose(spread.max(), 3)}): state "
                "covariance=.",
            )
    causes = row_causes(points.design, alone=False)
    return notes + unused_notes(released.count, released.count_sd, n, len(known.units), causes)
