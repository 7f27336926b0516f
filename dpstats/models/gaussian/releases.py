"""Counts, lengths and lifted second moments of rows in cells, each by one mechanism for all cells."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dpstats.accounting.privacy import Cost, PurePrivacy
from dpstats.arrays import Floats
from dpstats.mechanism.ball import SphericalLaw
from dpstats.mechanism.claims import COUNTS, GRAM, NUMBERED, VECTOR, Claim
from dpstats.mechanism.lattice import Grid
from dpstats.mechanism.noise import SMALLEST_SD, Noise, check_largest
from dpstats.mechanism.passes import Integers, RowSource
from dpstats.mechanism.release import Release
from dpstats.mechanism.session import Session, clamp_to_safe_range
from dpstats.models.gaussian.rows import (
    CellCoordinates,
    CellRows,
    Partition,
    Zones,
    fast_coordinates,
)
from dpstats.numerics.histogram import LogHistogram

_MANY_NUMBERS = 2**16
_SHARES_OUTSIDE = "shares of rows outside limits and of truncated ones"


@dataclass(frozen=True)
class AugmentedMoments:
    """Released sums over the rows w of each of K cells; sd per coordinate, of a matrix on its diagonal.

    Attributes
    ----------
    counts, counts_sd : (K,) arrays
    sums, sums_sd : (K, d) and (K,) arrays
        Of w.
    squares, squares_sd : (K, d, d) and (K,) arrays
        Of ww'; off the diagonal the noise is smaller by sqrt(2).
    """

    counts: Floats
    counts_sd: Floats
    sums: Floats
    sums_sd: Floats
    squares: Floats
    squares_sd: Floats


@dataclass(frozen=True)
class VectorSum:
    """Released sum (d,) of cut rows and their number."""

    total: Floats
    total_sd: float
    count: float
    count_sd: float


class CutRows(NamedTuple):
    """Released shares of the rows that were cut at a radius, and of those outside declared limits."""

    share: float
    sd: float
    outside: float | None = None


def require_room(
    total: Cost, n: int, d: int, cells: int, shares: Sequence[float], *, moments: bool = True
) -> None:
    """Raise where a release of the plan would need noise that is too large for the grid; reads nothing.

    ``moments``: whether second moments are released, or sums of rows alone.
    """
    grid = Grid.for_rows(n)
    for share in shares:
        part = total.share(share)
        size = 1.8 * grid.steps**2 if moments else 2.0 * grid.fine
        if isinstance(part, PurePrivacy):
            q = cells * (d + 1) * (d + 2) // 2 if moments else d + 1
            SphericalLaw.fitting(size, np.ones(q), part.at, SMALLEST_SD)
        else:
            check_largest(size / max(part.mu, 1e-300))


class CellSession(Session[CellRows]):
    """Spends a total on releases from rows sorted into cells.

    Parameters
    ----------
    source : RowSource
        Rows whose first column is 1, or 0 where a row is missing.
    origin, units : (d,) arrays
        Public; rows x come as (x - origin) / units.
    total : Privacy or PurePrivacy
    noise : Noise
    columns : sequence of int, optional
        The columns of the source that x are; by default all but the first.
    after : Session, optional
        An earlier session of the call, whose total this one goes on with.
    limited : bool
        Whether limits are declared, beyond which numbers were cut.
    """

    _rows_are: type[CellRows] = CellRows

    def __init__(
        self,
        source: RowSource,
        origin: Floats,
        units: Floats,
        total: Cost,
        noise: Noise,
        *,
        columns: Sequence[int] | None = None,
        after: Session[Any] | None = None,
        limited: bool = False,
    ) -> None:
        super().__init__(self._rows_are(source, origin, units, columns), total, noise, after)
        self._limited = limited

    def fast(self, frame: CellCoordinates) -> CellCoordinates:
        """Coordinates near these in which many rows take less time; the same for a small table."""
        return fast_coordinates(frame) if self.n * len(frame.centre) >= _MANY_NUMBERS else frame

    def counts(self, share: float, partition: Partition, cells: int) -> tuple[Floats, float]:
        """Rows of each cell, with their noise sd. A replaced row moves two counts by one."""
        cost = self._spend(share)
        counts = self._rows.counts(partition, cells)
        release = self._counts("rows of each cell", counts, cost)
        return release.value, release.noise_sd

    def lengths(
        self,
        share: float,
        partition: Partition,
        frames: Sequence[CellCoordinates],
        lowest: int,
        octaves: int,
    ) -> list[LogHistogram]:
        """Histograms of the lengths of rows, cell by cell. A replaced row moves two counts by one."""
        cost = self._spend(share)
        counts = self._rows.lengths(partition, frames, lowest, octaves)
        release = self._counts("histogram of row lengths", counts.ravel(), cost)
        return [
            LogHistogram(row, release.noise_sd, lowest, octaves)
            for row in release.value.reshape(counts.shape)
        ]

    def zones(
        self, share: float, partition: Partition, tests: Sequence[Zones]
    ) -> tuple[list[Floats], float]:
        """Counts of each test's zones, with their noise sd.

        A row is in one zone at most of every test of its cell, and in none of other cells' tests. So
        the row that leaves changes at most t counts by one, t the largest number of tests of a cell,
        and the row that enters as many: l2 sensitivity sqrt(2t), l1 sensitivity 2t.
        """
        cost = self._spend(share)
        counts = self._rows.zones(partition, tests)
        most = max(Counter(test.cell for test in tests).values())
        what = "counts at the centres of clusters and between them"
        release = self._counts(what, np.concatenate(counts), cost, memberships=most)
        ends = np.cumsum([test.size for test in tests])[:-1]
        return np.split(release.value, ends), release.noise_sd

    def lifted(
        self,
        share: float,
        partition: Partition,
        frames: Sequence[CellCoordinates],
        radii: Sequence[float],
        ratio: float,
        cut_share: float = 0.0,
    ) -> tuple[AugmentedMoments, CutRows | None]:
        """Numbers, sums and second moments of the rows of all cells, in one release.

        Parameters
        ----------
        radii : sequence of float
            Where the rows of each cell are cut.
        ratio : float
            b/g: how much of the noise the sums are spared at the expense of the squares.
        cut_share : float
            Of the total's budget, for the share of rows that are cut; 0: not released.

        Returns
        -------
        lifted : AugmentedMoments
        cut : CutRows or None

        Notes
        -----
        Sensitivity sqrt(2) (g^2 + b^2) in Frobenius norm, in units in which every cell's g is 1:
        see `CellRows.lifted`.
        """
        cost = self._spend(share)
        count_cost = self._spend(cut_share) if cut_share else None
        radii = [clamp_to_safe_range(radius) for radius in radii]
        steps = self._rows.grid.steps
        lift = min(max(round(ratio * steps), 1), steps)
        totals = self._rows.lifted(partition, frames, radii, lift)
        release = self._symmetric(
            "numbers, means and second moments",
            totals.total,
            math.sqrt(2) * (steps**2 + lift**2),
            1 / steps**2,
            cost,
        )
        lifted = augmented(release, lift / steps, radii)
        if count_cost is None:
            return lifted, None
        return lifted, self._cut_share(totals.cut, count_cost)

    def vector_sum(
        self, share: float, frame: CellCoordinates, radius: float, cut_share: float = 0.0
    ) -> tuple[VectorSum, CutRows | None]:
        """Sum of the rows cut to a radius g, and how many there are, in one release; of one cell.

        Sensitivity of (sum, sqrt(3) g count): two rows that count differ by 2 g at most; a row that
        becomes missing changes it by sqrt(g^2 + 3 g^2) at most. The count comes free with the sum.
        """
        cost = self._spend(share)
        count_cost = self._spend(cut_share) if cut_share else None
        radius = clamp_to_safe_range(radius)
        total, count, cut = self._rows.sums(frame, radius)
        fine = self._rows.grid.fine
        lift = math.isqrt(3 * fine**2)
        joint = np.concatenate([total, count * lift])
        unit = radius / fine
        release = self._vector("sum and number of rows", joint, 2.0 * fine, unit, cost)
        per = lift * unit
        sums = VectorSum(
            release.value[:-1], release.noise_sd, release.value[-1] / per, release.noise_sd / per
        )
        return sums, None if count_cost is None else self._cut_share(cut, count_cost)

    def long_rows(self, share: float, frame: CellCoordinates, length: float) -> Release:
        """Mean of what of rows is beyond a length, cut to that length again; of one cell.

        The distance of two vectors that are no longer is 2 length.
        """
        cost, length = self._spend(share), clamp_to_safe_range(length)
        total, fine = self._rows.long(frame, length), self._rows.grid.fine
        return self._vector("mean of long rows", total, 2.0 * fine, length / fine / self.n, cost)

    def _cut_share(self, cut: Integers, cost: Cost) -> CutRows:
        """Of rows outside limits, where there are limits, and of others that were cut by length.

        A row is in one of the two counts at most: a replaced row moves two of them by one.
        """
        if not self._limited:
            release = self._counts("share of truncated rows", cut[-1:], cost, per=self.n)
            return CutRows(float(release.value[0]), release.noise_sd)
        release = self._counts(_SHARES_OUTSIDE, cut, cost, per=self.n)
        return CutRows(float(release.value[1]), release.noise_sd, float(release.value[0]))


def augmented(release: Release, b: float, radii: Sequence[float]) -> AugmentedMoments:
    """Sums of rows w from released sums (K, d + 1, d + 1) of (b, w/g)(b, w/g)'."""
    g, sd, value = np.array(radii), release.noise_sd, release.value
    return AugmentedMoments(
        value[:, 0, 0] / b**2,
        np.full(len(g), sd / b**2),
        value[:, 0, 1:] / b * g[:, None],
        sd / math.sqrt(2) / b * g,
        value[:, 1:, 1:] * g[:, None, None] ** 2,
        sd * g**2,
    )


CLAIMS = (
    Claim("rows of each cell", COUNTS, "sqrt(2) (l1: 2)", "CellSession.counts"),
    Claim("histogram of row lengths", COUNTS, "sqrt(2) (l1: 2)", "CellSession.lengths"),
    Claim(
        "counts at the centres of clusters and between them",
        COUNTS,
        "sqrt(2 t), t tests of a cell",
        "CellSession.zones",
    ),
    Claim("numbers, means and second moments", GRAM, "sqrt(2) (g^2 + b^2)", "CellRows.lifted"),
    Claim(
        "sum and number of rows",
        NUMBERED,
        "2 g",
        "CellSession.vector_sum",
    ),
    Claim("mean of long rows", VECTOR, "2 L", "CellSession.long_rows"),
    Claim("share of truncated rows", COUNTS, "1", "Session._counts"),
    Claim(_SHARES_OUTSIDE, COUNTS, "sqrt(2) (l1: 2)", "CellSession._cut_share"),
)
