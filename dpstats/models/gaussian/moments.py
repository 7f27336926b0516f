"""Coordinates of a cell of rows, and the moments that were released in them. Pure functions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dpstats.arrays import Floats
from dpstats.models.gaussian.bounds import ReleasedMoments
from dpstats.models.gaussian.releases import AugmentedMoments
from dpstats.models.gaussian.rows import CellCoordinates
from dpstats.numerics.matrices import (
    Whitening,
    floored,
    floored_root,
    positive_covariance,
    symmetric,
)
from dpstats.report.released import Diagnostic
from dpstats.score_rounds.leaning import Leaning
from dpstats.score_rounds.notes import CUT_ALLOWANCE, MOSTLY

_LONG_TAIL = 0.3
_MATTERS = 0.06
"""Loss of a covariance, relative, from which on cutting is spoken of."""


def mean_allowance(lost: float, others: float) -> Diagnostic:
    """How much of the variance of a mean allows for what cutting may have taken off it, ``lost``.

    All of it may have one direction; ``others`` is the variance but for that, in the same units.
    """
    share = lost**2 / max(lost**2 + others, 1e-300)
    note = "share of the variance of a mean that allows for what cuts moved"
    if share > MOSTLY:
        note += "; logarithms of long-tailed columns or a larger budget shorten intervals"
    return Diagnostic(CUT_ALLOWANCE, share, None, note)


def leaning_line(
    terms: Sequence[str], lean: Floats, sampling: Floats, privacy: Floats
) -> tuple[Diagnostic, ...]:
    """The column whose error allows most for long rows on one side; ``lean``: by how much.

    ``sampling`` and ``privacy``: the two parts of the covariance of the mean.
    """
    if not lean.any():
        return ()
    share = lean**2 / np.maximum(np.diag(sampling) + np.diag(privacy), 1e-300)
    most = int(np.argmax(share))
    note = f"share of the variance of `{terms[most]}` that allows for its long tail"
    return (Diagnostic("leaning rows", min(float(share[most]), 1.0), None, note),)


@dataclass(frozen=True)
class Cell:
    """Coordinates, rows and radius of a cell; public or released.

    ``back``, ``root`` and ``centre``: rows w = back'(x - centre), back root = I.
    """

    centre: Floats
    back: Floats
    root: Floats
    n: float
    radius: float = math.nan
    coarse: bool = False

    @property
    def frame(self) -> CellCoordinates:
        return CellCoordinates(self.centre, self.back, self.root, self.coarse)

    def seen_in(self, frame: CellCoordinates) -> Cell:
        """The cell in coordinates whose root is known."""
        assert frame.root is not None
        return replace(self, back=frame.back, root=frame.root, coarse=frame.coarse)

    @property
    def d(self) -> int:
        return len(self.centre)

    def local(self, points: Floats) -> Floats:
        """Points in these coordinates."""
        return np.asarray((points - self.centre) @ self.back)

    def moved(self, mean: Floats, left: Floats, right: Floats) -> Cell:
        """Coordinates (w - mean) left, with right left = I; w = (new) right + mean."""
        return replace(
            self,
            centre=self.centre + self.root.T @ mean,
            back=self.back @ left,
            root=right @ self.root,
            coarse=False,
        )


@dataclass(frozen=True)
class Moments:
    """Released moments of a cell in its own coordinates, and these coordinates.

    Attributes
    ----------
    mean : (d,) array
    spread : (d, d) array
        Mhat - mean mean', not floored.
    mean_sd, spread_sd : float
        Noise per coordinate; of the matrix on its diagonal.
    count, count_sd : float
        Released number of rows.
    mean_rows, spread_rows : float
        Rows that would give the sampling errors of mean and spread: fewer than there are where long
        tails were seen, or other ones where public rows were averaged in.
    bias, lost : float
        Frobenius norm of what cutting takes off the relative covariance: of Gaussian rows, as planned,
        and beyond that, as seen.
    tail : float
        Excess of the fourth moment of lengths over that of a Gaussian, as far as it was surely seen.
    mean_lost : float
        What cutting may take off the mean in any direction, in standard deviations.
    lean : Leaning or None
        Where long rows lean, if they do: the mean has ``stretch`` times the noise there.
    """

    cell: Cell
    mean: Floats
    spread: Floats
    mean_sd: float
    spread_sd: float
    count: float
    count_sd: float
    mean_rows: float
    spread_rows: float
    bias: float = 0.0
    lost: float = 0.0
    tail: float = 0.0
    mean_lost: float = 0.0
    lean: Leaning | None = None

    def of_rows(self, n: float) -> Moments:
        """The same sums, as moments of so many rows."""
        more = self.cell.n / n
        mean = more * self.mean
        spread = more * (self.spread + np.outer(self.mean, self.mean)) - np.outer(mean, mean)
        return replace(
            self,
            cell=replace(self.cell, n=n),
            mean=mean,
            spread=symmetric(spread),
            mean_sd=more * self.mean_sd,
            spread_sd=more * self.spread_sd,
            mean_rows=self.mean_rows / more,
            spread_rows=self.spread_rows / more,
        )

    @property
    def floored(self) -> Floats:
        """The spread made positive definite."""
        return floored(self.spread, self._floor)

    @property
    def _floor(self) -> float:
        return max(0.5 * self.spread_sd, 1e-12)

    @property
    def values(self) -> Floats:
        """Eigenvalues of the covariance in the cell's coordinates."""
        return np.asarray(np.maximum(np.linalg.eigvalsh(self.floored), 1e-15))

    @property
    def variance(self) -> float:
        """Variance of rows in a direction, on average, as far as it is seen."""
        return max(float(np.trace(self.spread)) / len(self.mean), 0.01)

    @property
    def smallest(self) -> float:
        """Smallest eigenvalue of the spread as released."""
        return float(np.linalg.eigvalsh(self.spread)[0])

    @property
    def resolved(self) -> bool:
        """Whether every direction stands out of the noise."""
        return self.smallest >= 2 * self.spread_sd

    @property
    def long_tailed(self) -> bool:
        """Whether tails were seen that a Gaussian does not have."""
        return self.tail > _LONG_TAIL or self.lost > _LONG_TAIL / 10

    @property
    def lowered(self) -> bool:
        """Whether cutting such tails matters for a variance."""
        return self.lost > _MATTERS

    @property
    def relative_error(self) -> float:
        """Root mean square error of the covariance that is expected, in the relative Frobenius norm."""
        d = len(self.mean)
        sampling2 = d * (d + 1) / self.spread_rows
        return math.sqrt(sampling2 + self.relative_noise**2 + (self.bias + self.lost) ** 2)

    @property
    def relative_noise(self) -> float:
        """Root mean square Frobenius norm of the noise, in units of the covariance itself."""
        inverse = 1 / self.values
        return self.spread_sd * math.sqrt((inverse.sum() ** 2 + (inverse**2).sum()) / 2)

    @property
    def centre(self) -> Floats:
        """The mean of the rows as measured."""
        return self.cell.centre + self.cell.root.T @ self.mean

    @property
    def covariance(self) -> Floats:
        """The covariance of the rows as measured."""
        half = floored_root(self.spread, self._floor) @ self.cell.root
        return positive_covariance(half.T @ half)

    @property
    def noise_along(self) -> Floats:
        """What the mean has of noise beyond ``mean_sd``, where long rows lean."""
        if self.lean is None:
            return np.zeros_like(self.mean)
        return self.mean_sd * math.sqrt(self.lean.stretch**2 - 1) * self.lean.direction

    @property
    def allowed(self) -> Floats:
        """What errors of the mean allow for long rows that lean."""
        if self.lean is None:
            return np.zeros_like(self.mean)
        return self.lean.allowed * self.lean.direction

    @property
    def for_bounds(self) -> ReleasedMoments:
        """These moments as bounds use them."""
        values = tuple(float(v) for v in self.values)
        rows = min(self.mean_rows, self.spread_rows)
        mean_sd = float(np.hypot(self.mean_sd, np.linalg.norm(self.noise_along)))
        return ReleasedMoments(rows, values, self.spread_sd, mean_sd, self.bias + self.lost)


def moved_by_cuts(covariance: Floats, lost: float, lean: Floats) -> Floats:
    """Covariance of what cuts may have moved a mean by: ``lost`` standard deviations in any direction.

    But in that of ``lean``, in the same units, which is what is allowed for where long rows lean.
    """
    along = np.outer(lean, lean)
    if not lean.any():
        return np.asarray(lost**2 * covariance)
    # the most of its outer product that the covariance holds
    part = float(lean @ np.linalg.solve(covariance, lean))
    return np.asarray(lost**2 * (covariance - along / part) + along)


def cell_at(centre: Floats, whitening: Whitening, n: float) -> Cell:
    return Cell(centre, whitening.back, whitening.root, n)


def moments_of(cell: Cell, lifted: AugmentedMoments, j: int, n_known: bool) -> Moments:
    """Moments of cell j from its released sums."""
    count, count_sd = float(lifted.counts[j]), float(lifted.counts_sd[j])
    n = used_rows(cell.n, count, count_sd) if n_known else cell.n
    mean = lifted.sums[j] / n
    spread = symmetric(lifted.squares[j] / n - np.outer(mean, mean))
    mean_sd, spread_sd = float(lifted.sums_sd[j]) / n, float(lifted.squares_sd[j]) / n
    return Moments(replace(cell, n=n), mean, spread, mean_sd, spread_sd, count, count_sd, n, n)


def used_rows(n: float, count: float, count_sd: float) -> float:
    """All n rows, unless the released count shows that some are missing."""
    return n if count > n - 2 * count_sd else max(count, 0.01 * n, 1.0)


def hardly_any(count: float, count_sd: float, d: int) -> bool:
    """Whether a released number of rows may be noise, or is too small for d columns."""
    return count < max(4 * count_sd, d + 1)
