"""A mixture by private EM from a public start, and the number of components by private likelihood.

1. EM on public rows, of k components, or of as many as these rows can carry;
2. rounds of private EM: the shares of rows in components are summed up with noise, and the public rows'
   shares are added to them by inverse variance;
3. where k is not given, the released mixture is made shorter and shorter on synthetic rows; one release
   of clipped log-likelihoods says which of these mixtures private rows prefer, by BIC;
4. a last round with half of the total gives the estimates; two more releases their tails and skewness,
   and whether rows are where the mixture has its density.

All that decides anything is public or released.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import scipy

from dpstats.arrays import Floats
from dpstats.models.gaussian.cuts import clipping_loss
from dpstats.models.gaussian.moments import Cell, Moments
from dpstats.models.gaussian.releases import AugmentedMoments, CutRows
from dpstats.models.gaussian.rounds import Rounds
from dpstats.models.mixture.clustering import Cells
from dpstats.models.mixture.fit import Component, MixtureFit
from dpstats.models.mixture.information import ReleasedScores, Step, one_step, size_of, svec, unsvec
from dpstats.models.mixture.misfit import Misfit, ShapeOf, misfit_of, shapes_of
from dpstats.models.mixture.releases import MixtureSession
from dpstats.models.mixture.soft import (
    Covariance,
    Mixture,
    cells_of,
    centred,
    em,
    held_out,
    log_likelihoods,
    number_of_parameters,
    of_kind,
    public_em,
    shorter_and_shorter,
    synthetic,
    whitenings_of,
)
from dpstats.models.mixture.ties import in_steps, narrowest, spread_out
from dpstats.numerics.matrices import Whitening, quadratic_forms, symmetric

_ROUNDS = 4
_EARLY = 0.45
"""Share of the total for the rounds before the last, where k is given."""
_SEARCH, _SCORES, _AGAIN = 0.3, 0.2, 0.1
"""Where it is not: for rounds of most components, for likelihoods, for a round of those chosen."""
_SHAPES, _DENSITIES, _CUT_SHARE = 0.05, 0.02, 0.003
_LIFT = math.sqrt(0.5)
_CUT = 0.02  # of a Gaussian's rows are beyond the radius
_LONGEST, _STRETCH, _LIGHTEST = 2.0, (0.25, 4.0), 1e-3
"""Of a step: how far a mean goes in sd, factors of variances, and the least weight as a part of 1/k."""
_SYNTHETIC, _MANY, _POLISHED = 3000, 20_000, 4
_CLIPPED = 0.95  # of synthetic rows lie within the clip of likelihoods
_ENOUGH = 25.0  # private scores are that much surer than public ones: these are not asked
_ONE_SD, _UNDECIDED = 1.0, 2.0


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
class SoftFit:
    """Estimates by private EM, how the number of components was found, and how these fit."""

    fit: MixtureFit
    choice: Choice | None
    shapes: tuple[ShapeOf, ...]
    misfit: Misfit


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
    alike: float = 1.0,
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
    alike : float
        Rows that may be alike, those of a person.
    """
    tied, narrow, points = points, narrowest(points), spread_out(points)
    mixture, choice = public_em(points, k or most, kind), None
    m, spent = float(len(points)), 0.0
    rounds = [_EARLY / _ROUNDS] * _ROUNDS
    if k is None:
        for _ in range(_ROUNDS):
            mixture, _, _ = _round(session, _SEARCH / _ROUNDS, spent, mixture, m, kind, narrow)
            spent += _SEARCH / _ROUNDS
        choice, mixture = _chosen(session, mixture, points, kind)
        rounds = [_AGAIN]
    for share in rounds:
        mixture, _, _ = _round(session, share, spent, mixture, m, kind, narrow)
        spent += share
    final = session.left - _SHAPES - _DENSITIES - _CUT_SHARE
    known = (spent, m) if pool else (spent, 0.0)
    mixture, components, cut = _round(
        session, final, known[0], mixture, known[1], kind, narrow, _CUT_SHARE
    )
    assert cut is not None
    own = in_steps(synthetic(mixture, _MANY), tied)
    misfit = misfit_of(session, _DENSITIES, mixture, own, alike)
    shapes = shapes_of(session, session.left, mixture, components)
    made = len(rounds) + (0 if k else _ROUNDS)
    radii = tuple(c.moments.cell.radius for c in components)
    last = Rounds(tuple(c.moments for c in components), made, radii, cut)
    return SoftFit(MixtureFit(components, last, "clear"), choice, shapes, misfit)


def _round(
    session: MixtureSession,
    share: float,
    earlier: float,
    mixture: Mixture,
    m: float,
    kind: Covariance,
    narrow: Floats,
    cut_share: float = 0.0,
) -> tuple[Mixture, tuple[Component, ...], CutRows | None]:
    """One step towards the estimate without privacy, and what is known of every component by it.

    ``earlier``: shares of the total that earlier rounds had. ``m``: public rows, 0 to forget them.
    ``narrow``: variances (d,) that no component falls below.
    """
    d, k = mixture.d, mixture.k
    radius = math.sqrt(float(scipy.stats.chi2.isf(_CUT, d)))
    kept = 1 - float(clipping_loss(radius**2, d))
    whitenings = whitenings_of(mixture)
    cells = cells_of(mixture, whitenings)
    lifted, cut = session.soft(share, cells, [radius] * k, _LIFT, cut_share)
    # as many rows as are not missing, by the released numbers
    n = min(max(float(lifted.counts.sum()), 1.0), float(session.n))
    scores = _scores(mixture, lifted, n, kept)
    step = one_step(mixture, whitenings, scores, n, m, earlier / share, radius, kept)
    rows = lifted.counts, lifted.counts_sd
    return *_moved(mixture, whitenings, step, rows, m, radius, kind, narrow), cut


def _scores(mixture: Mixture, lifted: AugmentedMoments, n: float, kept: float) -> ReleasedScores:
    """Mean scores of a row, from released numbers, sums and squares."""
    d = mixture.d
    counts, corner = lifted.counts[:, None], kept * svec(np.eye(d))
    squares = (svec(lifted.squares) - counts * corner) / 2
    share = lifted.counts / n - mixture.weights
    value = np.concatenate([lifted.sums / n, squares / n, share[:, None]], axis=1)
    on = np.r_[np.ones(d), np.zeros(d * (d - 1) // 2)]
    of_squares = np.sqrt(
        lifted.squares_sd[:, None] ** 2 + (kept * lifted.counts_sd[:, None] * on) ** 2
    )
    sd = np.concatenate(
        [np.repeat(lifted.sums_sd[:, None], d, axis=1), of_squares / 2, lifted.counts_sd[:, None]],
        axis=1,
    )
    return ReleasedScores(value.ravel(), sd.ravel() / n)


def _moved(
    mixture: Mixture,
    whitenings: list[Whitening],
    step: Step,
    rows: tuple[Floats, Floats],
    m: float,
    radius: float,
    kind: Covariance,
    narrow: Floats,
) -> tuple[Mixture, tuple[Component, ...]]:
    """The mixture after a step, no longer than its linear theory may be trusted, and its components."""
    k, d = mixture.k, mixture.d
    way = step.way.reshape(k, size_of(d))
    logs = np.log(mixture.weights) + np.clip(way[:, -1], -1.0, 1.0)
    weights = np.exp(logs - logs.max())
    weights = np.maximum(weights / weights.sum(), _LIGHTEST / k)
    weights /= weights.sum()
    parts = [_part(step, slice(j * size_of(d), (j + 1) * size_of(d)), d) for j in range(k)]
    moments = []
    for j, (whitening, part) in enumerate(zip(whitenings, parts, strict=True)):
        mean = way[j, :d] * min(1.0, _LONGEST / max(float(np.linalg.norm(way[j, :d])), 1e-300))
        values, vectors = np.linalg.eigh(np.eye(d) + unsvec(way[j, d:-1], d))
        spread = (vectors * np.clip(values, *_STRETCH)) @ vectors.T
        variances = quadratic_forms(whitening.root.T, spread)
        lacking = np.maximum(narrow - variances, 0.0)
        spread = spread + whitening.back.T @ (lacking[:, None] * whitening.back)
        cell = Cell(mixture.means[j], whitening.back, whitening.root, max(rows[0][j], 1.0), radius)
        count, count_sd = float(rows[0][j]), float(rows[1][j])
        moments.append(
            Moments(
                cell,
                mean,
                symmetric(spread),
                part.mean_sd,
                part.spread_sd,
                count,
                count_sd,
                part.mean_rows,
                part.spread_rows,
            )
        )
    covariances = of_kind(kind, np.array([one.covariance for one in moments]), weights)
    components = []
    for j, (one, matrix, part) in enumerate(zip(moments, covariances, parts, strict=True)):
        half = whitenings[j].root.T @ part.mean_half
        components.append(
            Component(
                float(weights[j]),
                float(weights[j]) * part.weight_sd,
                max(one.count, 1.0),
                one.count_sd,
                round(float(weights[j] * m)),
                _of_covariance(one, matrix, kind),
                half @ half.T,
            )
        )
    means = np.array([one.centre for one in moments])
    return Mixture(weights, means, covariances), tuple(components)


@dataclass(frozen=True)
class _Part:
    """Errors of one component's mean (a root of their covariance), covariance and log weight."""

    mean_half: Floats
    mean_sd: float
    mean_rows: float
    spread_sd: float
    spread_rows: float
    weight_sd: float


def _part(step: Step, one: slice, d: int) -> _Part:
    def block(whole: Floats, within: slice) -> Floats:
        if whole.ndim == 1:
            return np.diag(whole[one][within])
        return np.asarray(whole[one, one][within, within])

    def level(whole: Floats, within: slice) -> float:
        return max(float(np.diag(block(whole, within)).mean()), 1e-300)

    mean, shape, last = slice(0, d), slice(d, size_of(d) - 1), slice(size_of(d) - 1, size_of(d))
    # an inverse of what noise made may be negative in some direction: by its root no variance is
    values, vectors = np.linalg.eigh(block(step.unsure, mean) + block(step.sampling, mean))
    return _Part(
        vectors * np.sqrt(np.maximum(values, 0.0)),
        math.sqrt(level(step.unsure, mean)),
        1 / level(step.sampling, mean),
        math.sqrt(level(step.unsure, shape)),
        2 / level(step.sampling, shape),
        math.sqrt(level(step.unsure, last) + level(step.sampling, last)),
    )


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
    drawn = synthetic(mixture, _SYNTHETIC)
    many = synthetic(mixture, min(max(4 * n, _SYNTHETIC), _MANY))
    short = shorter_and_shorter(mixture, drawn, kind)[:-1]
    mixtures = (*(em(many, one, _POLISHED, kind)[0] for one in short), mixture)
    logs = np.column_stack([log_likelihoods(one, drawn)[0] for one in mixtures])
    away = centred(logs)
    clip = max(float(np.quantile(np.linalg.norm(away, axis=1), _CLIPPED)), 1e-3)
    scores, sd = session.likelihoods(_SCORES, [cells_of(one) for one in mixtures], clip)
    variance = np.full(len(mixtures), sd**2)
    if n**2 * float(np.median(away.var(axis=0))) / m < _ENOUGH * sd**2:
        held = centred(held_out(points, mixture.k, kind))
        other = n**2 * held.var(axis=0) / m + 1e-9
        scores = (scores / sd**2 + n * held.mean(axis=0) / other) / (1 / sd**2 + 1 / other)
        variance = 1 / (1 / sd**2 + 1 / other)
    numbers = [number_of_parameters(one.k, one.d, kind) for one in mixtures]
    # shorter mixtures are known as well as so many rows know them: BIC is that of no more
    part = min(1.0, _MANY / n)
    scores = part * scores - np.array(numbers) * math.log(part * n) / 2
    variance = part**2 * variance
    best = int(scores.argmax())
    behind = (scores[best] - scores) / np.sqrt(variance + variance[best])
    chosen = int(np.flatnonzero(behind <= _ONE_SD)[0])
    near = np.flatnonzero(behind <= _UNDECIDED) + 1
    choice = Choice(chosen + 1, mixture.k, (int(near[0]), int(near[-1])))
    return choice, mixtures[chosen]
