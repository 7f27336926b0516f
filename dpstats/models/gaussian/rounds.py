"""Means and covariances of one or several cells of rows, by private re-whitening.

Takes an open `CellSession`, makes its releases there, and turns them into estimates by the pure
functions of arrays. Radii, coordinates, shares and stopping depend on public and on
released numbers only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy

from dpstats.arrays import Floats
from dpstats.models.gaussian.cuts import (
    COARSE_RATIO,
    FinalCut,
    NoiseLevel,
    WidenedCut,
    clipping_loss,
    coarse_cut,
    final_cut,
    whitening_update,
    widened_cut,
)
from dpstats.models.gaussian.marks import Marks, loss_of_public, radius_with_marks, unseen_variance
from dpstats.models.gaussian.mean_cuts import first_radius, hidden_loss, mean_cut
from dpstats.models.gaussian.mean_leaning import for_long_rows, left_for_mean
from dpstats.models.gaussian.moments import Cell, Moments, moments_of, used_rows
from dpstats.models.gaussian.planning import KEEP_FOR_LAST, MORE_ROUNDS
from dpstats.models.gaussian.releases import CellSession, CutRows
from dpstats.models.gaussian.rows import Partition
from dpstats.models.gaussian.tail_cuts import SeenTail, seen_tail
from dpstats.numerics.histogram import LogHistogram

COARSE_LIFT = math.sqrt(COARSE_RATIO)
"""b/g of the rounds before the last."""
_LEAST_LIFT = 0.2
"""b/g where the mean is released apart: for the number of rows and the centre of second moments."""
_OCTAVES = 32
LEAST_RADIUS = 1.5
"""In units of sqrt(d): scales are known to a factor of two at best."""
_FREE_SPREAD = 0.1
"""Noise of a variance, relative, that a wider cut may cost."""
_STRETCHED = 1.5
"""Times as far as in coordinates that were not stretched that the last cut may lie."""


@dataclass(frozen=True)
class Schedule:
    """Shares of the total and rounds, decided from public numbers.

    Attributes
    ----------
    noise : NoiseLevel
        Of the total.
    search, tails : float
        For histograms of lengths: of public coordinates, and of those of the last round.
    rounds : int
    share : float
        Of each round before the last.
    cut_share : float
        For the share of truncated rows.
    cuts : tuple of FinalCut
        Of the last round, one per cell, with one ratio b/g.
    extend : bool
        Whether rounds are added while some direction is not resolved.
    apart : float
        Of what is left at last, for the mean of rows with long tails, which is then released apart, with
        a cut of its own; 0: never. Of one cell only.
    """

    noise: NoiseLevel
    search: float
    tails: float
    rounds: int
    share: float
    cut_share: float
    cuts: tuple[FinalCut, ...]
    extend: bool
    apart: float = 0.0


@dataclass(frozen=True)
class Rounds:
    """Moments of all cells after the last round.

    Attributes
    ----------
    moments : tuple of Moments
        By cell.
    made : int
        Rounds before the last.
    radii : tuple of float
        Where rows were cut at last, by cell.
    cut : CutRows
    counts_sd : float
        Noise of the counts that tails were looked for in; 0 where none were made.
    """

    moments: tuple[Moments, ...]
    made: int
    radii: tuple[float, ...]
    cut: CutRows
    counts_sd: float = 0.0


def refine(
    session: CellSession,
    partition: Partition,
    cells: Sequence[Cell],
    schedule: Schedule,
    *,
    n_known: bool,
    public: Floats | None = None,
    marks: Marks | None = None,
) -> Rounds:
    """Re-whiten every cell by its own released moments, a few times, and release them once more.

    1. a histogram of lengths gives the radius at which the rows of each cell are cut;
    2. each round releases numbers, means and second moments of all cells by one mechanism and makes
       them the new coordinates; the cheaper the farther the public coordinates were off;
    3. the last round takes all that is left, with rows cut where noise and what is cut off balance: a
       second histogram shows tails longer than a Gaussian's. Rows of a rare mark, which rounds cut, make
       its direction look narrow however far it is stretched: where that only made them longer, the
       coordinates before that are taken again;
    4. where it shows them, the mean is released apart: it needs far fewer rows cut. Elsewhere noise may
       hide one, and errors of the mean allow for it.

    ``n_known``: the only cell has ``n`` rows unless some are missing. ``public``: points that say what
    the cut of the mean takes off it. ``marks``: columns of the only cell in which few rows differ.
    """
    cells = _seen_fast(session, cells)
    first = cell_lengths(session, schedule.search, partition, cells)
    cells = [
        replace(cell, radius=first_radius(lengths, cell.n, cell.d))
        for cell, lengths in zip(cells, first, strict=True)
    ]
    cells, made, unstretched = _rewhitened(
        session, partition, cells, schedule, n_known=n_known, marks=marks
    )
    lengths = cell_lengths(session, schedule.tails, partition, cells) if made else first
    earlier = unstretched and _seen_fast(session, unstretched)
    others = earlier and cell_lengths(session, schedule.tails, partition, earlier)
    ready = _last_cuts(session, schedule, cells, lengths, marks, known=made > 0)
    if earlier and others:
        least = _last_cuts(session, schedule, earlier, others, marks, known=False)
        unit = schedule.noise.vector(1.0, ready.share, session.n, cells[0].d)
        if _only_longer(ready, least, marks, unit):
            ready = least
    cells, cuts, beyond = ready.cells, ready.cuts, ready.beyond
    ratio = math.sqrt(schedule.cuts[0].ratio)
    radii = [one.radius for one in cuts]
    frames = [c.frame for c in cells]
    if beyond:
        ratio = min(ratio, _LEAST_LIFT)
    lifted, cut = session.lifted(ready.share, partition, frames, radii, ratio, schedule.cut_share)
    assert cut is not None
    moments = tuple(
        _with_loss_put_back(moments_of(c, lifted, j, n_known), one)
        for j, (c, one) in enumerate(zip(cells, cuts, strict=True))
    )
    if beyond:
        moments = (_mean_apart(session, schedule.noise, moments[0], ready, public, marks),)
    elif schedule.apart:
        lost = hidden_loss(ready.lengths[0], moments[0], radii[0])
        moments = (replace(moments[0], mean_lost=lost),)
    return Rounds(moments, made, tuple(radii), cut, max(one.noise_sd for one in lengths))


def _rewhitened(
    session: CellSession,
    partition: Partition,
    cells: list[Cell],
    schedule: Schedule,
    *,
    n_known: bool,
    marks: Marks | None,
) -> tuple[list[Cell], int, list[Cell] | None]:
    """The cells in coordinates of their own moments, after the rounds before the last; and their number.

    Where noise hid directions, also the cells without these stretched, of the round that hid fewest.
    """
    made, resolved, planned = 0, True, schedule.rounds
    unstretched: list[Cell] | None = None
    fewest = math.inf
    n, d = session.n, cells[0].d
    while made < planned:
        frames, unit = [c.frame for c in cells], schedule.noise.coarse(schedule.share, n, d)
        radii = [radius_with_marks(marks, c, c.radius, unit) for c in cells]
        lifted, _ = session.lifted(schedule.share, partition, frames, radii, COARSE_LIFT)
        released = [moments_of(c, lifted, j, n_known) for j, c in enumerate(cells)]
        updates = [
            whitening_update(m.spread + unseen_variance(marks, c), m.spread_sd)
            for m, c in zip(released, cells, strict=True)
        ]
        made += 1
        resolved = all(u.resolved for u in updates)
        if not resolved:
            kept = [u.unstretched for u in updates]
            hidden = sum(count for count, *_ in kept)
            if hidden < fewest:
                fewest = hidden
                unstretched = [
                    c.moved(m.mean, left, right)
                    for c, m, (_, left, right) in zip(cells, released, kept, strict=True)
                ]
        if made == planned and schedule.extend and not resolved:
            left = session.left - 2 * schedule.tails - schedule.cut_share
            room = left - 2 * schedule.share >= KEEP_FOR_LAST
            seen = all(_is_seen(m) for m in released)
            planned += int(room and seen and made < schedule.rounds + MORE_ROUNDS)
        last = resolved or made == planned
        radii = [
            math.sqrt(final_cut(u.tau, c.d, c.n, cut) if last else coarse_cut(u.tau, c.d))
            for u, c, cut in zip(updates, cells, schedule.cuts, strict=True)
        ]
        moved = [
            replace(c.moved(m.mean, u.left, u.right), radius=radius)
            for c, m, u, radius in zip(cells, released, updates, radii, strict=True)
        ]
        cells = _seen_fast(session, moved)
        if resolved:
            break
    return cells, made, unstretched


@dataclass(frozen=True)
class _LastCuts:
    """Coordinates and cuts of the last release, and the share of the total for it.

    ``lengths`` are counts of the rows of each cell there, ``beyond`` what is believed of a long tail.
    """

    cells: list[Cell]
    lengths: Sequence[LogHistogram]
    cuts: list[WidenedCut]
    share: float
    beyond: SeenTail | None

    def farthest(self) -> float:
        """The longest radius."""
        return max(cut.radius for cut in self.cuts)


def _only_longer(ready: _LastCuts, least: _LastCuts, marks: Marks | None, unit: float) -> bool:
    """Whether coordinates in which directions were stretched have only made rows longer.

    ``unit``: noise of a mean at a radius of 1.
    """
    if marks is not None:
        errors = [marks.error(one.cells[0], one.cuts[0].radius, unit) for one in (ready, least)]
        return errors[0] > errors[1]
    return ready.farthest() > _STRETCHED * least.farthest()


def _last_cuts(
    session: CellSession,
    schedule: Schedule,
    cells: Sequence[Cell],
    lengths: Sequence[LogHistogram],
    marks: Marks | None,
    *,
    known: bool,
) -> _LastCuts:
    """Where rows are cut at last. ``known``: they are N(0, I) as planned; or lengths tell their size."""
    if not known:
        cells = [
            replace(cell, radius=typical_radius(one, cell.n, cell.d, cut.size2))
            for cell, one, cut in zip(cells, lengths, schedule.cuts, strict=True)
        ]
    scales = [
        1.0 if known else cell.radius**2 / cut.size2
        for cell, cut in zip(cells, schedule.cuts, strict=True)
    ]
    share = session.left - schedule.cut_share
    beyond = seen_tail(lengths[0], cells[0].d, cells[0].n) if schedule.apart else None
    share -= schedule.apart * share if beyond else 0.0
    cuts = [
        _widened(one, cell, schedule.noise, share, cut, len(cells), beyond, scale, marks)
        for one, cell, cut, scale in zip(lengths, cells, schedule.cuts, scales, strict=True)
    ]
    return _LastCuts(list(cells), lengths, cuts, share, beyond)


def _seen_fast(session: CellSession, cells: Sequence[Cell]) -> list[Cell]:
    """Cells in coordinates by which the rows of a large table are multiplied fast."""
    return [cell.seen_in(session.fast(cell.frame)) for cell in cells]


def spread_of_rows(
    session: CellSession,
    noise: NoiseLevel,
    share: float,
    cell: Cell,
    lengths: LogHistogram,
    marks: Marks | None = None,
) -> Moments:
    """Second moments of rows that are hardly cut: where noise and what is cut off balance."""
    n, d = float(session.n), cell.d
    base = max(first_radius(lengths, n, d), LEAST_RADIUS * math.sqrt(d))
    unit = noise.coarse(share, n, d)
    beyond = seen_tail(lengths, d, n)
    if beyond:
        base = max(base, _tail_cut(beyond, d, unit))
    radius = radius_with_marks(marks, cell, max(base, math.sqrt(_FREE_SPREAD / unit)), unit)
    lifted, _ = session.lifted(share, (), [cell.frame], [radius], COARSE_LIFT)
    seen = moments_of(cell, lifted, 0, True)
    if beyond is None:
        return seen
    return replace(seen, lost=beyond.spread_lost(radius))


def _tail_cut(tail: SeenTail, d: int, unit: float) -> float:
    """Where noise of second moments, sd ``unit`` at a cut of 1, and what may be lost balance."""
    unit *= math.sqrt(d * (d + 1) / 2) / tail.variance
    return tail.best_cut(lambda length: unit * length**2, tail.spread_loss())


def _mean_apart(
    session: CellSession,
    noise: NoiseLevel,
    moments: Moments,
    ready: _LastCuts,
    public: Floats | None,
    marks: Marks | None,
) -> Moments:
    """The mean, with all that is left, of rows cut farther out than for their second moments.

    ``ready``: as they were cut for these. The number of rows is far better known with it.
    """
    cell, d, share = moments.cell, len(moments.mean), left_for_mean(session)
    tail, least, lengths = ready.beyond, ready.cuts[0].radius, ready.lengths[0]
    assert tail is not None
    expected = None if public is None else loss_of_public(public, cell)
    expected = expected if marks is None or public is not None else marks.loss_of_mean(cell)
    radius, lost = mean_cut(noise, share, cell.n, d, tail, least, expected)
    away = float(np.linalg.norm(moments.mean))
    turned, lean = for_long_rows(session, cell, radius, lengths, tail.variance, away, marks)
    sums, _ = session.vector_sum(session.left, turned.frame, radius)
    n, mean = used_rows(session.n, sums.count, sums.count_sd), sums.total
    if lean is not None:
        mean = np.linalg.solve(lean.turn, mean)
    return replace(
        moments.of_rows(n),
        mean=mean / n,
        lean=lean,
        mean_sd=sums.total_sd / n,
        count=sums.count,
        count_sd=sums.count_sd,
        mean_lost=lost,
    )


def _widened(
    lengths: LogHistogram,
    cell: Cell,
    noise: NoiseLevel,
    share: float,
    cut: FinalCut,
    cells: int,
    beyond: SeenTail | None,
    scale2: float,
    marks: Marks | None,
) -> WidenedCut:
    """Where the rows of a cell are cut, in view of the tails that its histogram shows.

    ``scale2``: the variance of most rows in each direction. ``beyond``: what is believed of a long tail.
    """
    n = max(cell.n, 1.0)
    unit = noise.second(1 + cut.ratio, share, n, cell.d, cells)
    found = widened_cut(cell.radius, cell.d, n, unit, lengths.tail, scale2)
    if beyond is not None:
        found = _for_long_tails(found, beyond, cell.d, unit)
    return replace(found, radius=radius_with_marks(marks, cell, found.radius, unit))


def _for_long_tails(cut: WidenedCut, beyond: SeenTail, d: int, unit: float) -> WidenedCut:
    """The cut where noise and what is believed to be lost balance, if that is farther out."""
    radius = max(_tail_cut(beyond, d, unit), cut.radius)
    normal = float(clipping_loss(radius**2 / beyond.variance, d))
    lost = max(beyond.spread_lost(radius), cut.lost)
    return replace(cut, radius=radius, lost=lost, loss=normal)


def _with_loss_put_back(moments: Moments, cut: WidenedCut) -> Moments:
    """The spread, with what the cut takes off a Gaussian's put back where that is not negligible.

    Fewer rows speak for it where its fourth moment is larger than a Gaussian's: the factor 1 + excess
    (d + 2) / 2 is that of independent columns which share the excess.
    """
    d, matters = len(moments.mean), cut.loss > 0.1 * math.sqrt(2 / moments.cell.n)
    kept = 1 - min(cut.loss, 0.5) if matters else 1.0
    return replace(
        moments,
        spread=moments.spread / kept,
        spread_sd=moments.spread_sd / kept,
        spread_rows=moments.cell.n / (1 + cut.excess * (d + 2) / 2),
        lost=cut.lost,
        tail=cut.excess,
    )


def cell_lengths(
    session: CellSession, share: float, partition: Partition, cells: Sequence[Cell]
) -> list[LogHistogram]:
    """Private histograms of the lengths of every cell's rows, 2^-10 to 2^22 of sqrt(d)."""
    octave = math.floor(math.log2(math.sqrt(cells[0].d)))
    frames = [c.frame for c in cells]
    return session.lengths(share, partition, frames, octave - 10, _OCTAVES)


def typical_radius(lengths: LogHistogram, n: float, d: int, size2: float) -> float:
    """Cut for rows that are N(0, I) but for their scale, which follows from the median length.

    Larger by twice what the noise makes of the median: too small a cut is a bias, too large a one noise.
    """
    typical = lengths.quantile(0.5)
    if typical is None:
        return 2 * math.sqrt(d)
    unsure = min(math.sqrt(8) * lengths.noise_sd / max(n, 1.0), 0.5)
    return typical * math.sqrt(size2 / float(scipy.stats.chi2.median(d))) * (1 + 2 * unsure)


def _is_seen(moments: Moments) -> bool:
    """Whether the largest direction stands far out of the noise, so that another round can help."""
    largest = float(np.linalg.eigvalsh(moments.spread)[-1])
    return moments.spread_sd * math.sqrt(2 * len(moments.mean)) <= 0.1 * largest


def pooled(moments: Moments, points: Floats, rows: float) -> tuple[Moments, float]:
    """Moments averaged with those of public rows of the same population, by inverse variance.

    The weights depend on numbers of rows and on noise scales only. The mean needs three public rows, the
    covariance more of them than columns. Returns the weight of the private mean as well.
    """
    m, d = points.shape
    if m < 3:
        return moments, 1.0
    local = moments.cell.local(points)
    public_mean = local.mean(axis=0)
    private = 1 / (1 / rows + moments.mean_sd**2)
    share = private / (private + m)
    mean = share * moments.mean + (1 - share) * public_mean
    kept = replace(
        moments,
        mean=mean,
        mean_sd=share * moments.mean_sd,
        mean_lost=share * moments.mean_lost,
        lean=moments.lean and replace(moments.lean, allowed=share * moments.lean.allowed),
        mean_rows=1 / (share**2 / moments.mean_rows + (1 - share) ** 2 / m),
    )
    if m > d:
        public = np.cov(local, rowvar=False).reshape(d, d)
        known = 1 / (2 / rows + moments.spread_sd**2)
        part = known / (known + (m - 1) / 2)
        kept = replace(
            kept,
            spread=part * moments.spread + (1 - part) * public,
            spread_sd=part * moments.spread_sd,
            spread_rows=1 / (part**2 / moments.spread_rows + (1 - part) ** 2 / (m - 1)),
        )
    return kept, share
