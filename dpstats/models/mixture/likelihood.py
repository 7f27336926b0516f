"""A mixture by private EM from a public start, and the number of components by private likelihood.

1. EM on public rows, of k components, or of as many as these rows can carry;
2. rounds of private EM: the shares of rows in components are summed up with noise, and the public rows'
   shares are added to them by inverse variance;
3. where k is not given, the released mixture is made shorter and shorter on synthetic rows; one release
   of clipped log-likelihoods says which of these mixtures private rows prefer, by BIC;
4. a last round with half of the total gives the estimates, one more release their tails and skewness.

All that decides anything is public or released.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy import stats

from dpstats.arrays import Floats
from dpstats.models.gaussian.planning import clipping_loss
from dpstats.models.gaussian.releases import AugmentedMoments
from dpstats.models.gaussian.rounds import Cell, Moments, Rounds, symmetric
from dpstats.models.gaussian.rows import CellCoordinates
from dpstats.models.mixture.clustering import Cells
from dpstats.models.mixture.fit import Component, MixtureFit
from dpstats.models.mixture.releases import MixtureSession
from dpstats.models.mixture.rows import SoftCells
from dpstats.models.mixture.soft import (
    Covariance,
    Mixture,
    centred,
    held_out,
    log_likelihoods,
    number_of_parameters,
    of_kind,
    prior_rows,
    public_em,
    shorter_and_shorter,
    synthetic,
)
from dpstats.numerics.matrices import Whitening, equilibrated_whitening, floored

_ROUNDS = 4
_EARLY = 0.45
"""Of the total, for the rounds before the last where k is given."""
_SEARCH, _SCORES, _AGAIN = 0.3, 0.2, 0.1
"""Where it is not: for rounds of most components, for likelihoods, for a round of those chosen."""
_SHAPES, _CUT_SHARE = 0.05, 0.003
_LIFT = math.sqrt(0.5)
_CUT = 0.02  # of a Gaussian's rows are beyond the radius
_FLOOR = 0.05  # of a covariance, in the coordinates of the round before
_SYNTHETIC = 4000
_CLIPPED = 0.95  # of synthetic rows lie within the clip of likelihoods
_ENOUGH = 25.0  # private scores are that much surer than public ones: these are not asked
_ONE_SD, _UNDECIDED = 1.0, 2.0
_FAR = 0.05  # of a Gaussian's rows are called long
_TAILED, _SKEWED, _SURE = 1.5, 0.1, 4.0


@dataclass(frozen=True)
class Choice:
    """The number of components.

    Attributes
    ----------
    k, most : int
    undecided : (int, int)
        The fewest and most components that the scores do not tell from the best, by two standard
        deviations.
    """

    k: int
    most: int
    undecided: tuple[int, int]


@dataclass(frozen=True)
class ShapeOf:
    """What is seen of one component beside its moments: long tails, and columns that are skewed."""

    tailed: bool
    skewed: tuple[int, ...]


@dataclass(frozen=True)
class SoftFit:
    """Estimates by private EM, how the number of components was found, and the shapes of components."""

    fit: MixtureFit
    choice: Choice | None
    shapes: tuple[ShapeOf, ...]


def soft_cells(soft: SoftFit, m: int) -> Cells:
    """How the components were found, where no row was sorted into cells."""
    how = f"private EM from {m} public rows, {soft.fit.rounds.made} rounds and the last"
    if soft.choice is not None:
        how += f"; the number by private likelihood, of 1 to {soft.choice.most}"
    return Cells((), np.zeros(m, dtype=np.intp), how)


def most_components(m: int, d: int) -> int:
    """Components that public rows can carry: 2 (d + 1) rows each.

    >>> most_components(45, 4)
    4
    """
    return max(m // (2 * (d + 1)), 1)


def soft_mixture(
    session: MixtureSession,
    points: Floats,
    k: int | None,
    most: int,
    pool: bool,
    kind: Covariance,
) -> SoftFit:
    """Private EM; see the module's docstring.

    Parameters
    ----------
    points : (m, d) array
        Public points in the coordinates of the session's rows.
    k : int or None
        None: at most ``most``, by likelihood.
    pool : bool
        Whether public points count in the last round.
    """
    mixture, choice = public_em(points, k or most, kind), None
    rounds = [_EARLY / _ROUNDS] * _ROUNDS
    if k is None:
        for _ in range(_ROUNDS):
            mixture, _, _ = _round(session, _SEARCH / _ROUNDS, mixture, points, kind)
        choice, mixture = _chosen(session, mixture, points, kind)
        rounds = [_AGAIN]
    for share in rounds:
        mixture, _, _ = _round(session, share, mixture, points, kind)
    final = session.left - _SHAPES - _CUT_SHARE
    mixture, components, cut = _round(
        session, final, mixture, points, kind, pool=pool, cut_share=_CUT_SHARE
    )
    assert cut is not None
    shapes = _shapes(session, mixture, components)
    filled = min(sum(c.rows for c in components) / session.n, 1.0)
    filled_sd = float(np.linalg.norm([c.rows_sd for c in components])) / session.n
    made = len(rounds) + (0 if k else _ROUNDS)
    radii = tuple(c.moments.cell.radius for c in components)
    last = Rounds(tuple(c.moments for c in components), made, radii, cut)
    return SoftFit(MixtureFit(components, last, filled, filled_sd, "clear"), choice, shapes)


def _round(
    session: MixtureSession,
    share: float,
    mixture: Mixture,
    points: Floats,
    kind: Covariance,
    *,
    pool: bool = True,
    cut_share: float = 0.0,
) -> tuple[Mixture, tuple[Component, ...], tuple[float, float] | None]:
    """One step of EM by private and public shares, and what is known of every component by it."""
    radius = math.sqrt(float(stats.chi2.isf(_CUT, mixture.d)))
    cells, whitenings = _cells(mixture)
    lifted, cut = session.soft(share, cells, [radius] * mixture.k, _LIFT, cut_share)
    belongs = log_likelihoods(mixture, points)[1] if pool else np.zeros((len(points), mixture.k))
    # as many rows as are not missing, by the released numbers
    n = min(max(float(lifted.counts.sum()), 1.0), float(session.n))
    components = []
    for j, (frame, whitening) in enumerate(zip(cells.frames, whitenings, strict=True)):
        cell = Cell(frame.centre, whitening.back, whitening.root, 1.0, radius)
        moments = _with_public(_private(cell, lifted, j), points, belongs[:, j])
        if not cut_share:
            moments = replace(moments, spread=floored(moments.spread, _FLOOR))
        weight, weight_sd = _weight(moments, belongs[:, j], n, mixture.k, pool)
        m = round(float(belongs[:, j].sum()))
        components.append(
            Component(weight, weight_sd, cell_rows(moments), moments.count_sd, m, moments)
        )
    total = sum(c.weight for c in components)
    weights = np.array([c.weight / total for c in components])
    covariances = of_kind(kind, np.array([c.moments.covariance for c in components]), weights)
    found = tuple(
        replace(c, weight=float(w), moments=_of_covariance(c.moments, matrix, kind))
        for c, w, matrix in zip(components, weights, covariances, strict=True)
    )
    means = np.array([c.moments.centre for c in found])
    return Mixture(weights, means, covariances), found, cut


def _cells(mixture: Mixture) -> tuple[SoftCells, list[Whitening]]:
    """The coordinates in which every component is standard normal."""
    whitenings = [equilibrated_whitening(matrix) for matrix in mixture.covariances]
    volumes = np.linalg.slogdet(mixture.covariances)[1]
    frames = tuple(
        CellCoordinates(mean, w.back, w.root)
        for mean, w in zip(mixture.means, whitenings, strict=True)
    )
    constants = np.log(mixture.weights) - volumes / 2
    return SoftCells(frames, tuple(float(c) for c in constants)), whitenings


def _private(cell: Cell, lifted: AugmentedMoments, j: int) -> Moments:
    """Moments of the private shares of component j, as if its rows were Gaussian beyond the radius."""
    count, count_sd = float(lifted.counts[j]), float(lifted.counts_sd[j])
    n = max(count, 2 * count_sd, 1.0)
    kept = 1 - float(clipping_loss(cell.radius**2, cell.d))
    mean = lifted.sums[j] / n
    spread = symmetric(lifted.squares[j] / n - np.outer(mean, mean)) / kept
    mean_sd, spread_sd = float(lifted.sums_sd[j]) / n, float(lifted.squares_sd[j]) / n / kept
    return Moments(replace(cell, n=n), mean, spread, mean_sd, spread_sd, count, count_sd, n, n)


def _with_public(moments: Moments, points: Floats, share: Floats) -> Moments:
    """Moments averaged with those of the public shares, by inverse variance.

    Of the covariance, the coordinates' own shape weighs as a few rows more: it keeps a component with
    hardly a row, or with hardly a budget, as it was.
    """
    m, cell = float(share.sum()), moments.cell
    if m == 0:
        return moments
    away = (points - cell.centre) @ cell.back
    private = 1 / (1 / cell.n + moments.mean_sd**2)
    part = private / (private + m)
    mean = part * moments.mean + (1 - part) * (share @ away) / m
    rest = away - mean
    prior = prior_rows(cell.d)
    known = 1 / (1 / cell.n + moments.spread_sd**2 / 2)
    moved = moments.mean - mean
    spread = known * (moments.spread + np.outer(moved, moved)) + (rest * share[:, None]).T @ rest
    whole = known + m + prior
    kept = known / whole
    return replace(
        moments,
        mean=mean,
        mean_sd=part * moments.mean_sd,
        mean_rows=1 / (part**2 / cell.n + (1 - part) ** 2 / m),
        spread=symmetric(spread + prior * np.eye(cell.d)) / whole,
        spread_sd=kept * moments.spread_sd,
        spread_rows=1 / (kept**2 / cell.n + (m / whole) ** 2 / max(m, 1.0)),
    )


def cell_rows(moments: Moments) -> float:
    """The released number of rows of a component, 1 at least."""
    return max(moments.count, 1.0)


def _weight(moments: Moments, share: Floats, n: float, k: int, pool: bool) -> tuple[float, float]:
    """The weight of a component, from private and public numbers, and its standard deviation."""
    private = min(max(moments.count, 0.5 * moments.count_sd, 1.0) / n, 1.0)
    likely = min(max(private, 0.5 / k), 1 - 0.5 / max(k, 2))
    variance = likely * (1 - likely) / n + (moments.count_sd / n) ** 2
    if not pool:
        return private, math.sqrt(variance)
    m = len(share)
    other = likely * (1 - likely) / m
    part = other / (variance + other)
    weight = part * private + (1 - part) * float(share.sum() + 1) / (m + k)
    return weight, math.sqrt(1 / (1 / variance + 1 / other))


def _of_covariance(moments: Moments, matrix: Floats, kind: Covariance) -> Moments:
    """Moments with another covariance, where it is not free."""
    if kind == "full":
        return moments
    back = moments.cell.back
    return replace(moments, spread=symmetric(back.T @ matrix @ back))


def _chosen(
    session: MixtureSession, mixture: Mixture, points: Floats, kind: Covariance
) -> tuple[Choice, Mixture]:
    """The mixture that private rows prefer, by BIC, of the released one and shorter ones.

    Private likelihoods come with their noise; public rows, left out of the fits that they score, say
    the same with their own sampling error, and both are averaged by inverse variance. Of mixtures that
    are no worse than the best one by a standard deviation the shortest is taken.
    """
    n, m = session.n, len(points)
    drawn = synthetic(mixture, min(max(n, 500), _SYNTHETIC))
    mixtures = shorter_and_shorter(mixture, drawn, kind)
    logs = np.column_stack([log_likelihoods(one, drawn)[0] for one in mixtures])
    away = centred(logs)
    clip = max(float(np.quantile(np.linalg.norm(away, axis=1), _CLIPPED)), 1e-3)
    scores, sd = session.likelihoods(_SCORES, [_cells(one)[0] for one in mixtures], clip)
    variance = np.full(len(mixtures), sd**2)
    if (n**2 * away.var(axis=0) / m < _ENOUGH * sd**2).any():
        held = centred(held_out(points, mixture.k, kind))
        other = n**2 * held.var(axis=0) / m + 1e-9
        scores = (scores / sd**2 + n * held.mean(axis=0) / other) / (1 / sd**2 + 1 / other)
        variance = 1 / (1 / sd**2 + 1 / other)
    numbers = [number_of_parameters(one.k, one.d, kind) for one in mixtures]
    scores = scores - np.array(numbers) * math.log(n) / 2
    best = int(scores.argmax())
    behind = (scores[best] - scores) / np.sqrt(variance + variance[best])
    chosen = int(np.flatnonzero(behind <= _ONE_SD)[0])
    near = np.flatnonzero(behind <= _UNDECIDED) + 1
    choice = Choice(chosen + 1, mixture.k, (int(near[0]), int(near[-1])))
    return choice, mixtures[chosen]


def _shapes(
    session: MixtureSession, mixture: Mixture, components: tuple[Component, ...]
) -> tuple[ShapeOf, ...]:
    """Tails and skewness that are surely beyond a Gaussian's, of every component."""
    cells, _ = _cells(mixture)
    far = math.sqrt(float(stats.chi2.isf(_FAR, mixture.d)))
    seen = session.shapes(session.left, cells, far)
    out = []
    for j, c in enumerate(components):
        rows = max(c.rows, 1.0)
        noise = math.hypot(seen.noise_sd, c.rows_sd) / (2 * rows)
        share = (float(seen.beyond[j]) / rows + 1) / 2
        tailed = share > _TAILED * _FAR + _SURE * math.hypot(noise, math.sqrt(_FAR / rows))
        away = np.hypot(1 / math.sqrt(rows), c.moments.mean_sd)
        side = np.abs(seen.signs[j]) / rows
        skewed = side > _SKEWED + _SURE * math.hypot(seen.noise_sd / rows, float(away))
        out.append(ShapeOf(bool(tailed), tuple(int(a) for a in np.flatnonzero(skewed))))
    return tuple(out)
