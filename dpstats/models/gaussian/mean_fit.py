"""A private mean about a public one, with a covariance that is known or public."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from dpstats.accounting.privacy import Cost
from dpstats.arguments import LARGEST, SMALLEST, in_prose, numbers, shown
from dpstats.arrays import Floats
from dpstats.errors import ArgumentError, PublicDataError
from dpstats.models.gaussian.cuts import COARSE_RATIO, NoiseLevel
from dpstats.models.gaussian.fit import GaussianFit, noise_level, unused_notes
from dpstats.models.gaussian.marks import loss_of_public
from dpstats.models.gaussian.mean_bounds import MeanFacts, mean_bounds
from dpstats.models.gaussian.mean_planning import (
    MeanPlan,
    papers_mean_cut,
    plan_mean,
)
from dpstats.models.gaussian.moments import (
    Cell,
    Moments,
    cell_at,
    mean_allowance,
    used_rows,
)
from dpstats.models.gaussian.public import PublicPoints
from dpstats.models.gaussian.releases import CellSession, require_room
from dpstats.models.gaussian.rounds import (
    DEAREST,
    LEAST_RADIUS,
    MeanCut,
    cell_lengths,
    counted_variance,
    first_radius,
    last_mean_cut,
    spread_of_rows,
)
from dpstats.numerics.histogram import LogHistogram
from dpstats.numerics.matrices import Whitening, equilibrated_whitening
from dpstats.report.bound import Bound
from dpstats.report.diagnostics import as_share, row_diagnostics
from dpstats.report.released import Diagnostic
from dpstats.score_rounds.notes import (
    CUT_ALLOWANCE,
    MEAN_FAR,
    MEAN_MOSTLY,
    out_of_sight,
    unseen_line,
)

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
_SURELY = 2.0
"""Noise standard deviations that are taken off the share of rows that were cut."""
_NEAR = 2.5
"""Noise standard deviations below which rows in a histogram are not seen."""
LEAST_FOR_SCALES = 3
"""Public rows that tell standard deviations."""
_WIDER = 0.002
"""Share of cut rows beyond which they vary by more than variances that were taken for granted."""
_ELSEWHERE = 4.0
"""Times as far from the public mean as public rows, from where the middle private row lies elsewhere."""
ELSEWHERE = (
    "Private rows lie far from the public ones, or vary far more: other units, or another population. "
    "All columns have more noise for it{}. Check the units, or leave public= out, which needs none."
)
TAILS_OF_MEAN_OUT_OF_SIGHT = (
    "The budget is too small to see how long the tails of the rows are: intervals allow for tails like "
    "those of the public rows, and the mean of a column whose private rows lie farther out is moved "
    "towards the others. A larger budget, more rows, or a logarithm helps."
)
HIDDEN_TAILS = (
    "The budget is too small to see how long the tails of the rows are: where a column is skewed, its "
    "mean is drawn towards most rows, by more than its error says. More rows, a larger budget, or a "
    "logarithm helps."
)
_FEW_COLUMNS = 3
"""Of so few the tail of one is most of what noise hides: with four intervals of skewed columns cover."""
_NO_ALLOWANCE = Diagnostic(CUT_ALLOWANCE, None, None, "these errors do not allow for cuts")


@dataclass(frozen=True)
class FixedCovariance:
    """The covariance that a mean is estimated with.

    Attributes
    ----------
    name : str
        As the call shows it.
    source : str
        As the summary shows it.
    matrix : (d, d) array
        In the user's units.
    stated : bool
        Whether it was stated, so that radii follow from it; else they are estimated privately.
    assumed : bool
        Whether it is taken for granted because nothing tells it.
    """

    name: str
    source: str
    matrix: Floats
    stated: bool
    assumed: bool = False

    @property
    def noun(self) -> str:
        return self.source if " of " in self.source else "covariance of the public rows"

    @property
    def units(self) -> Floats:
        """Standard deviations: what private rows are measured in."""
        return np.sqrt(np.diag(self.matrix))

    @property
    def whitening(self) -> Whitening:
        """Of measured rows."""
        return equilibrated_whitening(self.matrix / np.outer(self.units, self.units))

    def start(self, n: int) -> Cell:
        """The public mean and this whitening, from which every method starts."""
        return cell_at(np.zeros(len(self.matrix)), self.whitening, float(n))


def covariance_name(covariance: Any) -> str | None:
    """What the call prints of a covariance that speaks of no public row."""
    return covariance if covariance is None or isinstance(covariance, str) else "stated"


def stated_covariance(terms: tuple[str, ...], covariance: Any) -> FixedCovariance:
    """A covariance that speaks of no public row."""
    if isinstance(covariance, str):
        if covariance == "identity":
            matrix = np.eye(len(terms))
            return FixedCovariance("identity", "identity: unit variances", matrix, True)
        raise ArgumentError(
            "covariance must be 'identity', 'public', standard deviations (a number or one "
            f"per column) or a matrix, not {shown(covariance)}."
        )
    return FixedCovariance("stated", "stated in the call", _stated(terms, covariance), True)


def no_scales(known: FixedCovariance, m: int) -> tuple[str, ...]:
    """Said before rows are read, where unit variances are assumed since public rows tell no scales."""
    if not known.assumed:
        return ()
    few = "one public row tells" if m == 1 else f"{m} public rows tell"
    return (
        f"{few} no scale: unit variances are assumed. State covariance=, as standard deviations or "
        f"'identity'; or pass {LEAST_FOR_SCALES} public rows or more; or none: scales are then found in "
        "private rows.",
    )


def known_covariance(points: PublicPoints, covariance: Any) -> FixedCovariance:
    """The covariance that the argument ``covariance`` of dp_mean stands for."""
    d, m = len(points.terms), points.m
    if covariance is None:
        if m >= 2 * d + 2:
            covariance = "public"
        elif m >= LEAST_FOR_SCALES:
            matrix = np.diag(points.units**2)
            return FixedCovariance(
                "public", "standard deviations of the public rows", matrix, False
            )
        else:
            return replace(stated_covariance(points.terms, "identity"), assumed=True)
    if isinstance(covariance, str) and covariance == "public":
        if m < d + 2:
            raise PublicDataError(
                f"covariance='public' needs {d + 2} public rows or more for {d} columns; there "
                f"are {m}. State it (standard deviations, or a matrix), or leave covariance= out."
            )
        matrix = np.cov(points.measured, rowvar=False).reshape(d, d)
        values = np.linalg.eigvalsh(matrix)
        if values[0] < 1e-12 * values[-1]:
            raise PublicDataError(
                "the public rows lie in fewer dimensions than there are columns: a column depends "
                "on the others, or rows are repeated. Leave one out, or state the covariance."
            )
        return FixedCovariance(
            "public", "public rows", matrix * np.outer(points.units, points.units), False
        )
    return stated_covariance(points.terms, covariance)


def _stated(terms: tuple[str, ...], given: Any) -> Floats:
    d = len(terms)
    if isinstance(given, bool):
        raise ArgumentError(
            "covariance must hold standard deviations or a matrix, such as covariance=[1.0, "
            "2.5], not a bool."
        )
    if isinstance(given, Mapping):
        given = pd.Series(given, dtype=object)
    if isinstance(given, pd.Series | pd.DataFrame):
        for labels in given.axes:
            if sorted(map(str, labels)) != sorted(terms):
                raise ArgumentError(
                    f"covariance must be labelled with the columns {', '.join(terms)}."
                )
        given = given.loc[list(terms)] if given.ndim == 1 else given.loc[list(terms), list(terms)]
    values = numbers(given)
    if values is None:
        raise ArgumentError("covariance must hold numbers, such as covariance=[1.0, 2.5].")
    if values.shape not in ((), (d,), (d, d)) or not np.isfinite(values).all():
        raise ArgumentError(
            f"covariance must be a number, {d} standard deviations or a {d} x {d} matrix, all "
            f"finite; its shape is {values.shape}."
        )
    if values.ndim < 2:
        sizes = np.broadcast_to(values, d)
        if not (sizes > SMALLEST).all() or not (sizes < LARGEST).all():
            raise ArgumentError("covariance= holds standard deviations: positive numbers.")
        return np.diag(sizes**2)
    sizes = np.diag(values)
    if not (sizes > 1e-200).all() or not (sizes < 1e200).all():
        raise ArgumentError("the diagonal of covariance= holds variances: positive numbers.")
    shape = values / np.sqrt(np.outer(sizes, sizes))
    if not np.allclose(shape, shape.T, atol=1e-8) or np.linalg.eigvalsh(shape)[0] < 1e-10:
        raise ArgumentError("covariance= must be symmetric and positive definite.")
    return np.asarray((values + values.T) / 2)


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


@dataclass(frozen=True)
class ReleasedMean:
    """A released mean in its cell's coordinates."""

    cell: Cell
    mean: Floats
    sd: float
    n: float
    count: float
    count_sd: float
    cut: tuple[float, float] | None


def _release(
    session: CellSession, cell: Cell, radius: float, share: float, cut_share: float = 0.0
) -> ReleasedMean:
    """Mean of the rows cut to a radius, in the cell's coordinates."""
    sums, cut = session.vector_sum(share, cell.frame, radius, cut_share)
    n = used_rows(session.n, sums.count, sums.count_sd)
    return ReleasedMean(cell, sums.total / n, sums.total_sd / n, n, sums.count, sums.count_sd, cut)


def last_mean(
    session: CellSession, cell: Cell, radius: float, cut_share: float = _CUT_SHARE
) -> ReleasedMean:
    """The mean with all that is left of the total, and how many rows were cut."""
    left = session.left
    return _release(session, cell, radius, left * (1 - cut_share), left * cut_share)


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
    unit = NoiseLevel(rho=rho).second(1 + COARSE_RATIO, SPREAD, n, d)
    return unit * LEAST_RADIUS**2 * d > _HIDDEN_BY


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
    share = session.left * (1 - TOLD_CUTS)
    expected = loss_of_public(points.measured_in(known.units).measured, cell)
    cut = last_mean_cut(noise, share, n, lengths, variance, d, expected, dearest)
    released = last_mean(session, cell, cut.radius, TOLD_CUTS)
    own: Spread | CountedSpread
    if seen is not None:
        own = Spread.of(seen, cut, released, lengths, n)
    else:
        own = CountedSpread.of(known, variance, cut, released, lengths, n)
    return _result(session, points, known, call, released, cut.radius, rounds, own, far=far)


def _counted(lengths: LogHistogram, n: int, d: int, m: int) -> float:
    """Variance by counts; where they hide tails no less than m public rows say for sure."""
    variance = counted_variance(lengths, n, d)
    hidden = out_of_sight(lengths.noise_sd, n)
    return max(variance, 1 - math.sqrt(2 / m)) if hidden else variance


def lost_by_shares(cut: MeanCut, released: ReleasedMean, variance: float) -> float:
    """What errors count of what the cut takes off a mean, in view of how many rows it took."""
    assert released.cut is not None
    return cut.lost_at_least(released.cut[0] - _SURELY * released.cut[1], variance)


@dataclass(frozen=True)
class CountedSpread:
    """How private rows vary by counts of their lengths, and what cutting may take off their mean.

    ``matrix``: the covariance that rows were whitened by, of whose directions each has ``variance``.
    ``mean_lost``: in any direction, in standard deviations. ``counts_sd``: noise of counts of lengths.
    """

    matrix: Floats
    variance: float
    mean_lost: float
    counts_sd: float
    notes: tuple[str, ...]
    resolved = True

    @classmethod
    def of(
        cls,
        known: FixedCovariance,
        variance: float,
        cut: MeanCut,
        released: ReleasedMean,
        lengths: LogHistogram,
        n: int,
    ) -> CountedSpread:
        """In view of how many rows the last cut took."""
        lost = lost_by_shares(cut, released, variance)
        notes = mean_notes(lengths, n, variance, released, replace(cut, lost=lost))
        if not notes and out_of_sight(lengths.noise_sd, n):
            notes = (TAILS_OF_MEAN_OUT_OF_SIGHT,)
        if len(known.matrix) > 1:
            notes += (
                f"How columns vary together follows from the {known.noun}, how much they do from counts "
                "of the lengths of private rows: second moments of these would cost too much here.",
            )
        return cls(known.matrix, variance, lost, lengths.noise_sd, notes)

    def sampling(self, units: Floats, n: float) -> Floats:
        """Covariance of the mean but for its noise, in the user's units."""
        return np.asarray(self.matrix * self.variance * (1 / n + self.mean_lost**2))

    def allowance(self, released: ReleasedMean) -> Diagnostic:
        """What of the variance of the mean allows for cuts."""
        others = 1 / released.n + released.sd**2 / self.variance
        return mean_allowance(self.mean_lost, others)


@dataclass(frozen=True)
class Spread:
    """How private rows vary, as released beside their mean, and what cutting may take off that.

    ``mean_lost``: in any direction, in standard deviations. ``counts_sd``: noise of counts of lengths.
    """

    moments: Moments
    mean_lost: float
    counts_sd: float
    notes: tuple[str, ...]

    @classmethod
    def of(
        cls, seen: Moments, cut: MeanCut, released: ReleasedMean, lengths: LogHistogram, n: int
    ) -> Spread:
        """In view of how many rows the last cut took."""
        lost = lost_by_shares(cut, released, seen.variance)
        notes = mean_notes(lengths, n, seen.variance, released, replace(cut, lost=lost))
        if not notes and len(seen.mean) <= _FEW_COLUMNS and out_of_sight(lengths.noise_sd, n):
            notes = (HIDDEN_TAILS,)
        return cls(seen, lost, lengths.noise_sd, notes)

    @property
    def resolved(self) -> bool:
        """Whether second moments stand out of their noise."""
        return self.moments.resolved

    def sampling(self, units: Floats, n: float) -> Floats:
        """Covariance of the mean but for its noise, in the user's units."""
        spread = self.moments.covariance * np.outer(units, units)
        return np.asarray(spread * ((1 + self.moments.lost) / n + self.mean_lost**2))

    def allowance(self, released: ReleasedMean) -> Diagnostic:
        """What of the variance of the mean allows for cuts."""
        others = (1 + self.moments.lost) / released.n + released.sd**2 / self.moments.variance
        return mean_allowance(self.mean_lost, others)


def mean_notes(
    lengths: LogHistogram,
    n: int,
    variance: float,
    released: ReleasedMean,
    cut: MeanCut,
) -> tuple[str, ...]:
    """What is said of rows that lie far out, or may do so without being seen.

    Intervals allow for what cuts are expected to take off (`mean_allowance`), for which they mostly do
    where tails are longest; there it may be more, as where noise hides them.
    """
    lost, others = cut.lost, 1 / n + released.sd**2 / variance
    if lost**2 > MEAN_MOSTLY * (lost**2 + others):
        return (
            "Rows lie so far from the others that most of an interval allows for what cutting them took "
            "off a mean; it may be more. A logarithm, or a larger budget, helps.",
        )
    if cut.most < MEAN_FAR * math.sqrt(lost**2 + others):
        return ()
    hidden = _NEAR * lengths.noise_sd / n
    if hidden > 0.5:
        return (
            "The budget is too small to see how far rows lie: the mean of a column with a long tail is "
            "drawn towards most rows, and its interval covers less often. More rows or budget help.",
        )
    return (
        f"Up to about {in_prose(100 * hidden)} % of the rows may lie far from the others without being "
        "seen. They would be cut: the mean of a column with a long tail is then drawn towards "
        "the other rows, and its interval covers less often.",
    )


def rows_of_mean(released: ReleasedMean, n: int) -> tuple[Diagnostic, ...]:
    """How many of n rows the last mean has cut, and how many it lacks."""
    assert released.cut is not None
    empty = 1 - released.n / n, released.count_sd / n
    return row_diagnostics(released.cut, empty, "share that was cut in the last round")


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
    own: Spread | CountedSpread | None = None,
    *,
    far: bool = False,
) -> GaussianFit:
    """The result in the user's units; ``own``: how private rows vary, where that was released.

    ``far``: they lie elsewhere than public ones, whose covariance says nothing of them.
    """
    unseen = () if own is None else unseen_line(own.counts_sd)
    if own is not None and not own.resolved:
        own = None
    units, root = known.units, released.cell.root * known.units
    place = released.cell.centre + released.cell.root.T @ released.mean
    assert released.cut is not None
    notes: tuple[str, ...] = ()
    lost = far and not isinstance(own, Spread)
    if lost:
        notes = (ELSEWHERE.format(", and no standard errors are given"),)
    elif own is not None:
        notes = ((ELSEWHERE.format(""),) if far else ()) + own.notes
    elif not known.stated:
        notes = (
            f"Standard errors rest on the {known.noun}: noise hides how private rows vary, and where "
            "they lie far out. A larger budget helps.",
        )
    wider = known.assumed and released.cut[0] - 3 * released.cut[1] > _WIDER
    if wider:
        notes += (
            f"Rows vary by more than the unit variances that were assumed (about "
            f"{in_prose(100 * as_share(released.cut[0]))} % were cut): no standard errors are given. "
            "Leave public= out, which has scales found in private rows, or state covariance=.",
        )
    elif as_share(released.cut[0]) - 2 * released.cut[1] > 0.1:
        notes += (
            f"About {100 * as_share(released.cut[0]):.0f} % of the rows were truncated: the "
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
    notes += unused_notes(released.count, released.count_sd, session.n, len(units), points.m > 0)
    bounds: tuple[Bound, ...] = ()
    if known.stated and not wider:
        bounds = mean_bounds(replace(call.facts, sd=released.sd))
    diagnostics = (
        Diagnostic("rounds", rounds, None, "of cutting and averaging"),
        *rows_of_mean(released, session.n),
        Diagnostic("radius", radius, None, "where rows were cut, in standard deviations"),
        _NO_ALLOWANCE if own is None else own.allowance(released),
        *unseen,
    )
    sampling = known.matrix / released.n
    if own is not None:
        sampling = own.sampling(units, released.n)
    return GaussianFit(
        mean=points.origin + units * place,
        sampling=np.full_like(sampling, math.nan) if wider or lost else sampling,
        privacy=released.sd**2 * root.T @ root,
        matrix=known.matrix,
        source=known.source,
        bounds=bounds,
        diagnostics=diagnostics,
        notes=notes,
    )
