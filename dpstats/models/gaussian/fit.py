"""A mean and a covariance: the plan of a call, private re-whitening, and the paper's pipeline."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpstats.accounting.privacy import Cost, PurePrivacy
from dpstats.arguments import in_prose
from dpstats.arrays import Floats
from dpstats.errors import PrivacyError
from dpstats.frame import Design
from dpstats.models.gaussian.bounds import GaussianFacts, gaussian_bounds, judged
from dpstats.models.gaussian.cuts import NoiseLevel
from dpstats.models.gaussian.marks import Marks, public_marks
from dpstats.models.gaussian.moments import (
    Cell,
    Moments,
    cell_at,
    hardly_any,
    leaning_line,
    mean_allowance,
    moved_by_cuts,
)
from dpstats.models.gaussian.papers import PAPERS_SHARE, papers_rounds
from dpstats.models.gaussian.planning import GaussianPlan, plan_gaussian, simulated_noise
from dpstats.models.gaussian.public import PublicPoints, whiten
from dpstats.models.gaussian.public_range import papers_range, public_range
from dpstats.models.gaussian.releases import CellSession, require_room
from dpstats.models.gaussian.rounds import Rounds, Schedule, pooled, refine
from dpstats.numerics.matrices import Whitening, symmetric
from dpstats.report.bound import Bound
from dpstats.report.diagnostics import row_diagnostics
from dpstats.report.released import Diagnostic
from dpstats.report.result import Coefficients
from dpstats.score_rounds.notes import UNUSED, out_of_sight, outside_note, row_causes, unseen_line

_VACUOUS = 1.0
_LEAST_RHO = 1e-14
_MEAN_APART = 0.25
"""Of the last release, for means of rows with long tails."""
_HIDES = 0.12
"""Noise of a covariance, relative, from which on tails would not be seen."""
_LITTLE = 0.3
"""Part of a column's public variance that a cut leaves, below which it is another column."""
_FEW = 0.2
"""Share of public rows beyond a cut that may be those of rare marks."""
_DROWNED = 1.0
"""Noise of a mean, in standard deviations of rows, from which on it is no estimate."""
_LEAST_UNUSED = 0.01
"""Share of the rows that a note is about."""
LONG_TAILS = (
    "Rows have longer tails than a Gaussian: cutting lowers the covariance, and draws means of such "
    "columns towards most rows. Standard errors allow for that only roughly, and the bounds are for "
    "Gaussians. Transform such columns (log, sqrt), or ask for a larger budget."
)

PURE_MEANS = (
    "With epsilon alone the mean is cut like the covariance, and drawn towards most rows: its errors do "
    "not allow for that. dp_mean cuts it farther out, with errors that do; so does delta= or mu=."
)
PURE_TAILS = (
    "With epsilon alone rows are cut as if they were Gaussian: where a column is skewed, its mean and "
    "variance are too small, and errors do not allow for that. dp_mean tells such a mean, and so do "
    "delta= or mu= here."
)
TAILS_OUT_OF_SIGHT = (
    "The budget is too small to see how long the tails of the rows are: if a column is skewed, as "
    "prices and costs are, its variance may be too small, and its mean by more than its error "
    "says. A logarithm of such a column, more rows, or a larger budget helps."
)


class RowUnits(Protocol):
    """Columns, and the location and units that private rows are measured in.

    ``m`` public rows are behind them; 0: they were released.
    """

    @property
    def design(self) -> Design: ...

    @property
    def terms(self) -> tuple[str, ...]: ...

    @property
    def m(self) -> int: ...

    @property
    def origin(self) -> Floats: ...

    @property
    def units(self) -> Floats: ...


@dataclass(frozen=True)
class CovarianceNoise:
    """Errors of a released covariance: noise of variance sd^2/2 (A_ii A_jj + A_ij^2), and sampling.

    Attributes
    ----------
    shape : (d, d) array
        A = R'R with R the root of the coordinates in which it was released.
    sd : float
    n : float
        Rows behind it.
    bias : float
        What cutting takes off a variance at most, relative, as far as long tails were seen.

    Notes
    -----
    Where the covariance is the identity, cuts take off a matrix B >= 0 with eigenvalues up to b, the
    bias; so an entry for unit vectors u and v with u'v = r lacks |u'Bv| <= b (1 + |r|)/2: all of it
    on the diagonal, half of it between columns that are not correlated.
    """

    shape: Floats
    sd: float
    n: float
    bias: float = 0.0

    @np.errstate(all="ignore")  # squares of odd units
    def std_error(self, covariance: Floats) -> Floats:
        """Standard error of every entry."""
        noise = self.sd**2 / 2 * _products(self.shape)
        size = np.sqrt(np.maximum(np.diag(covariance), 0.0))
        lacking = self.bias * (np.outer(size, size) + np.abs(covariance)) / 2
        return np.asarray(np.sqrt(noise + _products(covariance) / max(self.n, 1.0) + lacking**2))


def _products(matrix: Floats) -> Floats:
    size = np.diag(matrix)
    return np.asarray(np.outer(size, size) + matrix**2)


@dataclass(frozen=True)
class GaussianFit:
    """An estimate in the user's units; released and computed numbers, no rows.

    Attributes
    ----------
    mean : (d,) array
    sampling, privacy : (d, d) arrays
        The two parts of its covariance.
    matrix : (d, d) array
        The covariance of a row, and ``source``, where it comes from.
    noise : CovarianceNoise or None
        None where the covariance was not estimated.
    relative_error : float or None
    """

    mean: Floats
    sampling: Floats
    privacy: Floats
    matrix: Floats
    source: str
    noise: CovarianceNoise | None = None
    relative_error: float | None = None
    bounds: tuple[Bound, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    notes: tuple[str, ...] = ()

    def coefficients(self, terms: Sequence[str]) -> Coefficients:
        """The mean with the two parts of its covariance, named."""
        return Coefficients(tuple(terms), self.mean, self.sampling, self.privacy)


@dataclass(frozen=True)
class GaussianCall:
    """The plan of a call of dp_mvnorm, from public numbers.

    Attributes
    ----------
    plan : GaussianPlan
    sides : tuple
        Shares for lengths, for tails and for the share of truncated rows.
    facts : GaussianFacts
        Behind the bounds, without what will be released.
    expected : float
        Error of the covariance that is expected.
    """

    plan: GaussianPlan
    sides: tuple[float, float, float]
    noise: NoiseLevel
    facts: GaussianFacts
    expected: float
    warnings: tuple[str, ...]


def noise_level(total: Cost) -> NoiseLevel:
    """The noise of a total, as plans use it."""
    if isinstance(total, PurePrivacy):
        return NoiseLevel(epsilon=total.at)
    if total.rho < _LEAST_RHO:
        raise PrivacyError(
            f"a total of rho = {in_prose(total.rho, 3)} (mu = {in_prose(total.mu, 3)}) leaves nothing "
            "but noise: ask for more."
        )
    return NoiseLevel(rho=total.rho)


def plan_call(
    points: RowUnits,
    n: int,
    total: Cost,
    method: str,
    gamma: float,
    cond: float | None,
    pool: bool,
    eta: float,
) -> GaussianCall:
    """Rounds and shares, for what the worst public rows may be like."""
    d, m, noise = len(points.terms), points.m, noise_level(total)
    sides = _side_shares(n, noise)
    plan = plan_gaussian(n, d, m, noise, gamma=gamma, cond=cond, eta=eta, reserved=sum(sides))
    limits = papers_range(d, eta) if method == "paper" else public_range(d, m, eta, gamma)
    first = plan.share if plan.rounds else plan.final
    require_room(total, n, d, 1, [PAPERS_SHARE if method == "paper" else first])
    expected = _expected_error(n, d, m, noise, cond)
    alone = not m or pool or gamma > 0 or method == "paper"
    messages = _warnings(n, d, m, noise, cond, expected, alone)
    planned = plan.noise, plan.mean_noise
    if gamma == 0 and d < m and method != "paper":
        simulated = simulated_noise(plan, m, noise, 1 - eta / 2)
        planned = min(planned[0], simulated[0]), min(planned[1], simulated[1])
    facts = GaussianFacts(
        n, d, m, eta, noise.rho, noise.epsilon, gamma, limits, *planned, planned_bias=plan.bias
    )
    return GaussianCall(plan, sides, noise, facts, expected, messages)


def _side_shares(n: int, noise: NoiseLevel) -> tuple[float, float, float]:
    """Shares for lengths, for tails and for the share of truncated rows.

    A histogram of lengths is read where half the rows in twelve bins stand 5.5 standard deviations
    above the noise: few rows need more of the budget for that.
    """
    needed = 2 * 5.5 * math.sqrt(12) / n
    if noise.rho is not None:
        share = needed**2 / noise.rho
    else:
        assert noise.epsilon is not None
        share = needed * math.sqrt(8) / noise.epsilon
    return min(max(share, 0.03), 0.15), 0.05, 0.005


def _expected_error(n: int, d: int, m: int, noise: NoiseLevel, cond: float | None) -> float:
    """Relative error of the covariance with public rows of the same population, not the worst."""
    return plan_gaussian(n, d, m, noise, cond=cond, eta=0.5).error


def _warnings(
    n: int, d: int, m: int, noise: NoiseLevel, cond: float | None, expected: float, alone: bool
) -> tuple[str, ...]:
    """Warnings from public numbers; ``alone``: not to be averaged with public moments."""
    messages = []
    pooled = "" if alone else " (of the same population: pool=True)"
    more = "more " if m else ""
    if expected >= _VACUOUS:
        off = f"{in_prose(expected)} times itself" if expected < 10 else "many times itself"
        rows = float(n)
        while _expected_error(int(rows), d, m, noise, cond) > 0.5 and rows < 1e12:
            rows *= 1.25
        digits = 10 ** (math.floor(math.log10(rows)) - 1)
        messages.append(
            f"n = {n} rows are few for {d} columns at this budget: the covariance is expected to "
            f"be off by {off}. About {math.ceil(rows / digits) * digits} rows would bring that to "
            f"a half; a larger budget, fewer columns or {more}public rows{pooled} help too."
        )
    elif m == d + 1 and d > 1 and expected > 1.5 * math.sqrt(d * (d + 1) / n):
        messages.append(
            f"{m} public rows are the fewest that give the shape of {d} columns: {2 * d} would "
            "save much of what the noise costs here."
        )
    public = math.sqrt(d * (d + 1) / (m - 1)) if m > d else math.inf
    if public < expected < _VACUOUS and not alone:
        messages.append(
            f"The {m} public rows by themselves give the covariance better (error {in_prose(public)}) "
            "than this release will: consider pool=True if they are of the same population."
        )
    return tuple(messages)


def refined_gaussian(
    session: CellSession,
    points: RowUnits,
    whitening: Whitening,
    call: GaussianCall,
    public: Floats | None = None,
    marks: Marks | None = None,
) -> GaussianFit:
    """Private re-whitening from the public coordinates; see `rounds.refine`.

    ``public``: points whose moments the released ones are averaged with. ``marks``: columns in which
    few rows differ; public rows, if there are any, tell these.
    """
    plan = call.plan
    lengths, tails, counts = call.sides
    apart = 0.0 if call.noise.rho is None else _MEAN_APART  # pure noise would grow too much
    schedule = Schedule(
        call.noise, lengths, tails, plan.rounds, plan.share, counts, (plan.cut,), True, apart
    )
    start = cell_at(np.zeros(len(points.terms)), whitening, float(session.n))
    there = points.measured if isinstance(points, PublicPoints) else None
    marks = marks if there is None else public_marks(there)
    rounds = refine(session, (), [start], schedule, n_known=True, public=there, marks=marks)
    moments = replace(rounds.moments[0], bias=plan.bias)
    notes: tuple[str, ...] = ()
    if public is not None:
        moments, share = pooled(moments, public, moments.cell.n)
        notes = (f"Averaged with the public moments: weight {in_prose(1 - share)} in the mean.",)
    fit = _fit(session, points, call, moments, rounds, notes)
    cell, radius = rounds.moments[0].cell, rounds.radii[0]
    if there is not None:
        return _without_hidden(fit, points.terms, _little_left(there, cell, radius))
    if marks is not None:
        hidden = np.zeros(len(points.terms), dtype=np.bool_)
        hidden[list(marks.columns)] = 1 - marks.lost(cell, radius) < _LITTLE
        return _without_hidden(fit, points.terms, hidden)
    return fit


def _little_left(public: Floats, cell: Cell, radius: float) -> NDArray[np.bool_]:
    """Columns of which a cut leaves little, as public rows tell: those of a rare mark."""
    away, length = public - cell.centre, np.linalg.norm(cell.local(public), axis=1)
    kept = np.minimum(1.0, radius / np.maximum(length, 1e-300))
    part = ((kept[:, None] * away) ** 2).sum(axis=0) / np.maximum((away**2).sum(axis=0), 1e-300)
    if np.mean(kept < 1) > _FEW:  # rows of another spread tell nothing
        return np.zeros(len(part), dtype=np.bool_)
    return np.asarray(part < _LITTLE)


def _without_hidden(
    fit: GaussianFit, terms: tuple[str, ...], hidden: NDArray[np.bool_]
) -> GaussianFit:
    """No errors of columns of which the cut leaves little."""
    if not hidden.any():
        return fit
    unknown = np.where(hidden | hidden[:, None], math.nan, 0.0)
    noise = fit.noise and replace(fit.noise, shape=fit.noise.shape + unknown)
    named = ", ".join(f"`{term}`" for term, lost in zip(terms, hidden, strict=True) if lost)
    note = (
        f"Most of what {named} varies by lies beyond the cut: few rows differ "
        "there, and noise hides how many. Its mean and variances are far too small, and no "
        "standard errors are given. Leave it out, or ask for more rows or a larger budget."
    )
    return replace(fit, sampling=fit.sampling + unknown, noise=noise, notes=(*fit.notes, note))


def papers_gaussian(session: CellSession, points: PublicPoints, call: GaussianCall) -> GaussianFit:
    """Algorithms 1 and 2 on the first d + 1 public rows.

    Lemma A.22's estimator for bounded Gaussians is private re-whitening with radii that follow from
    the ranges of Algorithm 1 alone: nothing about lengths is released.
    """
    d = len(points.terms)
    first = PublicPoints(points.design, points.x[: d + 1], 0)
    whitening = whiten(first)
    # the paper's unit: Y = Shat^-1/2 (X - muhat) / sqrt(L), in which I <= Sigma_Y <= (U/L) I
    limits = call.facts.range
    root = math.sqrt(limits.lower)
    scale = first.units / points.units
    back = whitening.back / root / scale[:, None]
    start = cell_at(
        (first.origin - points.origin) / points.units,
        Whitening(back, whitening.root * root * scale),
        float(session.n),
    )
    rounds = papers_rounds(session, start, limits.condition, limits.mean_range, call.facts.eta)
    (moments,) = rounds.moments
    unused = points.m - d - 1
    notes = (f"{unused} of the public rows were not used.",) if unused else ()
    return _fit(session, points, call, moments, rounds, notes)


def drowned(sd: float) -> tuple[str, ...]:
    """A note where noise of a mean, in whitened units, is larger than what rows vary by."""
    if sd <= _DROWNED:
        return ()
    return (
        "Noise is larger than what the columns vary by, and nothing is estimated: cuts lie very far "
        "out, as for a column of which few rows differ, or that others repeat. Leave such a column "
        "out; a larger budget, more rows, or fewer columns help.",
    )


def fit_of_noise(d: int, covariance: bool, notes: tuple[str, ...] = ()) -> GaussianFit:
    """NaN of d columns, where hardly any row could be used, or noise hides all columns: d is 0 then."""
    unknown = np.full((d, d), math.nan)
    noise = CovarianceNoise(unknown, math.nan, math.nan) if covariance else None
    mean = np.full(d, math.nan)
    return GaussianFit(mean, unknown, unknown, unknown, "not released", noise, notes=notes)


def _fit(
    session: CellSession,
    points: RowUnits,
    call: GaussianCall,
    moments: Moments,
    rounds: Rounds,
    notes: tuple[str, ...],
) -> GaussianFit:
    """The result in the user's units, with its diagnostics and notes."""
    units, n = points.units, moments.cell.n
    causes = row_causes(points.design, alone=not points.m)
    unused = unused_notes(moments.count, moments.count_sd, session.n, len(units), causes)
    lost = () if points.m else drowned(moments.mean_sd)
    if lost or (not points.m and hardly_any(moments.count, moments.count_sd, len(units))):
        return fit_of_noise(len(units), True, notes + lost + unused)
    matrix = moments.covariance * np.outer(units, units)
    root = moments.cell.root * units
    shape, along = symmetric(root.T @ root), root.T @ moments.noise_along
    lean = root.T @ moments.allowed
    noise = CovarianceNoise(shape, moments.spread_sd, moments.spread_rows, moments.lost)
    empty = max(1 - n / session.n, 0.0)
    spread = (1 + moments.lost) / moments.mean_rows
    sampling = matrix * spread + moved_by_cuts(matrix, moments.mean_lost, lean)
    privacy = moments.mean_sd**2 * shape + np.outer(along, along)
    diagnostics = (
        Diagnostic("rounds", rounds.made, None, "of private re-whitening before the last release"),
        *row_diagnostics(
            rounds.cut[:2],
            (empty, moments.count_sd / session.n),
            "share that was cut in the last release",
            outside=rounds.cut.outside,
        ),
        Diagnostic("radius", rounds.radii[0], None, "where rows were cut, in whitened units"),
        Diagnostic(
            "smallest eigenvalue",
            moments.smallest,
            moments.spread_sd,
            "of the covariance in whitened units",
        ),
        Diagnostic(
            "planned error",
            call.expected,
            None,
            "of the covariance, relative, from public numbers",
        ),
        mean_allowance(moments.mean_lost, spread + moments.mean_sd**2),
        *leaning_line(points.terms, lean, sampling, privacy),
        *(unseen_line(rounds.counts_sd) if rounds.counts_sd else ()),
    )
    notes += _notes(session.n, points, call, moments, rounds, unused)
    return GaussianFit(
        mean=points.origin + units * moments.centre,
        sampling=sampling,
        privacy=privacy,
        matrix=matrix,
        source="released",
        noise=noise,
        relative_error=moments.relative_error,
        bounds=judged(
            gaussian_bounds(replace(call.facts, released=moments.for_bounds)), moments.long_tailed
        ),
        diagnostics=diagnostics,
        notes=notes,
    )


def _notes(
    n: int,
    points: RowUnits,
    call: GaussianCall,
    moments: Moments,
    rounds: Rounds,
    unused: tuple[str, ...],
) -> tuple[str, ...]:
    """What tails, cuts and noise do to a result; ``unused``: of rows that do not count."""
    notes: tuple[str, ...] = ()
    if moments.lowered:
        notes += (LONG_TAILS,)
    elif moments.relative_noise < 1 and (
        moments.relative_noise > _HIDES or out_of_sight(rounds.counts_sd, n)
    ):
        notes += (TAILS_OUT_OF_SIGHT,)
    if call.noise.rho is None:
        notes += (PURE_MEANS if moments.long_tailed else PURE_TAILS,)
    notes += unused + outside_note(points.design, rounds.cut.outside, rounds.cut.sd)
    if not moments.resolved:
        gamma = ", or allow for another population with gamma= (few public rows: cond=)"
        notes += (
            "In some direction the privacy noise is as large as the covariance itself: that "
            "direction is not resolved, and the covariance there is little more than a floor. Ask "
            f"for a larger budget, more rows{gamma if points.m else ', or give public rows'}.",
        )
    return notes


def unused_notes(count: float, count_sd: float, n: int, d: int, causes: str) -> tuple[str, ...]:
    """Where hardly any of n rows, or not all, could be used, by their released count, and why."""
    if hardly_any(n - count_sd, count_sd, d):
        return (
            f"n = {n} rows are too few for this budget: noise hides whether any can be used, and what "
            "is shown may be noise. Ask for a larger budget, or more rows.",
        )
    if hardly_any(count, count_sd, d):
        return (
            f"Hardly any private row could be used: they have {causes}. What is shown, if anything, is "
            "noise.",
        )
    empty = 1 - count / n
    if empty <= max(_LEAST_UNUSED, 3 * count_sd / n):
        return ()
    return (f"About {in_prose(100 * empty)}% {UNUSED} {causes}.",)
