"""What is released of rows that components share: moments, likelihoods, shapes, densities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from dpstats.arrays import Floats
from dpstats.mechanism.claims import COUNTS, GRAM, VECTOR, Claim
from dpstats.mechanism.session import clamp_to_safe_range
from dpstats.models.gaussian.releases import AugmentedMoments, CellSession, CutRows, augmented
from dpstats.models.mixture.rows import MixtureRows, SoftCells


@dataclass(frozen=True)
class Shapes:
    """By component: long rows less the others (k,), rows above the centre less those below (k, d)."""

    beyond: Floats
    signs: Floats
    noise_sd: float


class MixtureSession(CellSession):
    """Spends a total on releases from rows in cells, and from rows that components share."""

    _rows_are = MixtureRows

    def soft(
        self,
        share: float,
        cells: SoftCells,
        radii: Sequence[float],
        lift: float,
        cut_share: float = 0.0,
    ) -> tuple[AugmentedMoments, CutRows | None]:
        """Numbers, sums and second moments of the rows' shares in all components, in one release.

        Parameters
        ----------
        radii : sequence of float
            Where rows are cut, in the coordinates of each component.
        lift : float
            b: how much of the noise the sums are spared at the expense of the squares.
        cut_share : float
            Of the total's budget, for the share of rows that are cut where they mostly belong; 0: not
            released. A row belongs to one component by more than a half: at most one count.

        Notes
        -----
        Sensitivity sqrt(2) (1 + b^2) in Frobenius norm, in units in which every radius is 1:
        `MixtureRows.soft`.
        """
        cost = self._spend(share)
        count_cost = self._spend(cut_share) if cut_share else None
        radii = [clamp_to_safe_range(radius) for radius in radii]
        steps, rows = self._rows.grid.steps, self._mixture_rows
        totals = rows.soft(cells, radii, lift)
        release = self._symmetric(
            "shared numbers, means and second moments",
            totals.total,
            math.sqrt(2) * steps**2,
            (1 + lift**2) / steps**2,
            cost,
        )
        moments = augmented(release, lift, radii)
        return moments, None if count_cost is None else self._cut_share(totals.cut, count_cost)

    def likelihoods(
        self, share: float, mixtures: Sequence[SoftCells], clip: float
    ) -> tuple[Floats, float]:
        """Log-likelihoods of mixtures less their mean, (K,), with their noise sd.

        Sensitivity 2 clip: every row's vector of differences is cut to that length.
        """
        cost = self._spend(share)
        clip = clamp_to_safe_range(clip)
        fine = self._rows.grid.fine
        total = self._mixture_rows.likelihoods(mixtures, clip)
        release = self._vector("log-likelihoods of mixtures", total, 2.0 * fine, clip / fine, cost)
        return release.value, release.noise_sd

    def shapes(self, share: float, cells: SoftCells, far: float) -> Shapes:
        """Long rows and sides of the mean, by component.

        Sensitivity 2 sqrt(1 + d): a row adds shares of 1 + d numbers, each 1 or -1, cut to a vector no
        longer than sqrt(1 + d).
        """
        cost = self._spend(share)
        fine, k, d = self._rows.grid.fine, len(cells.frames), self._rows.d
        total = self._mixture_rows.shapes(cells, far)
        what, unit = "shapes of components", math.sqrt(1 + d) / fine
        release = self._vector(what, total, 2.0 * fine, unit, cost)
        value = release.value.reshape(k, d + 1)
        return Shapes(value[:, 0], value[:, 1:], release.noise_sd)

    def densities(self, share: float, cells: SoftCells, edges: Floats) -> tuple[Floats, float]:
        """Rows by log-density, with their noise sd. A replaced row moves two counts by one."""
        cost = self._spend(share)
        counts = self._mixture_rows.densities(cells, edges)
        release = self._counts("rows by density", counts, cost)
        return release.value, release.noise_sd

    @property
    def _mixture_rows(self) -> MixtureRows:
        return cast(MixtureRows, self._rows)


CLAIMS = (
    Claim(
        "shared numbers, means and second moments", GRAM, "sqrt(2) (g^2 + b^2)", "MixtureRows.soft"
    ),
    Claim("log-likelihoods of mixtures", VECTOR, "2 C", "MixtureRows.likelihoods"),
    Claim("shapes of components", VECTOR, "2 sqrt(1 + d)", "MixtureRows.shapes"),
    Claim("rows by density", COUNTS, "sqrt(2) (l1: 2)", "MixtureRows.densities"),
)
