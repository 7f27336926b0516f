"""The releases of averages over private rows: sums of values, squares and gradients, and counts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpstats.accounting.privacy import Privacy
from dpstats.arrays import Floats
from dpstats.margins.rows import AverageRows, Cuts
from dpstats.mechanism.claims import ANSWERS, COUNTS, SQUARE, VECTOR, Claim
from dpstats.mechanism.noise import Noise
from dpstats.mechanism.passes import RowSource
from dpstats.mechanism.session import Session, clamp_to_safe_range
from dpstats.numerics.histogram import LogHistogram


@dataclass(frozen=True)
class AverageShares:
    """What each of the last releases costs, as a share of the total."""

    values: float
    squares: float
    gradients: float
    counts: float


@dataclass(frozen=True)
class ReleasedSums:
    """Sums over the rows that are used, in the user's units, and the noise of each.

    Attributes
    ----------
    values, squares : (k,) arrays
        Of values less their centres, and of the squares of these.
    values_sd, squares_sd : (k,) arrays
    gradients : (k, d) array
        Times the root of the covariance of the coefficients.
    used, cut : float
        How many rows are used, and are cut.
    count_sd : float
    """

    values: Floats
    values_sd: Floats
    squares: Floats
    squares_sd: Floats
    gradients: Floats
    used: float
    cut: float
    count_sd: float


class AverageSession(Session[AverageRows]):
    """Spends a total on averages of k values over private rows.

    Parameters
    ----------
    source : RowSource
        Values and gradients.
    lines : int
        k.
    after : Session, optional
        That has found where values lie.
    """

    def __init__(
        self,
        source: RowSource,
        lines: int,
        total: Privacy,
        noise: Noise,
        after: Session[Any] | None = None,
    ) -> None:
        super().__init__(AverageRows(source, lines), total, noise, after)
        self._lines = lines

    def lengths(
        self,
        share: float,
        centre: Floats,
        scale: Floats,
        which: list[int],
        windows: list[tuple[int, int]],
    ) -> list[LogHistogram]:
        """Histograms of the lengths of each line's gradients, and of distances of values from a centre.

        A row is in one bin of each of the h histograms at most, and a replaced one moves two counts of
        each by one: sqrt(2 h) (`Session._counts`).
        """
        cost = self._spend(share)
        found = self._rows.lengths(centre, scale, which, windows)
        sizes = [len(counts) for counts in found]
        release = self._counts(
            "lengths of gradients and values", np.concatenate(found), cost, memberships=len(found)
        )
        out, at = [], 0
        for size, window in zip(sizes, windows, strict=True):
            out.append(LogHistogram(release.value[at : at + size], release.noise_sd, *window))
            at += size
        return out

    def sums(self, shares: AverageShares, cuts: Cuts) -> ReleasedSums:
        """The sums of one pass, by four releases.

        Sensitivities, when a row is replaced by any other (one that is not used adds zeros):

        * values over their half-widths lie in [-1, 1], so that a row's k values are a vector no longer
          than sqrt(k), and two rows' are no further apart than 2 sqrt(k). For a logit's slopes the
          half-width is |b_j|/8 about b_j/8: the mean moves by |b_j|/(4n);
        * their squares lie in [0, 1], so that each moves by 1 at most: sqrt(k);
        * gradients of a row over their lengths R_j are k vectors no longer than 1, and together one no
          longer than sqrt(k): 2 sqrt(k);
        * the row is used or not, and cut or not: two answers, sqrt(2).

        Centres, half-widths and R_j are public or released, and so may be chosen as one likes.
        """
        k, fine = self._lines, self._rows.grid.fine
        half, lengths = (
            np.array([clamp_to_safe_range(float(v)) for v in sizes])
            for sizes in (cuts.half, cuts.lengths)
        )
        cuts = Cuts(cuts.centre, half, lengths)
        each = (shares.values, shares.squares, shares.gradients, shares.counts)
        costs = [self._spend(share) for share in each]
        totals = self._rows.sums(cuts)
        root = math.sqrt(k)
        values = self._vector(
            "sums of values", totals.values, 2.0 * root * fine, 1 / fine, costs[0]
        )
        squares = self._vector(
            "sums of squared values", totals.squares, root * fine, 1 / fine, costs[1]
        )
        gradients = self._vector(
            "sums of gradients", totals.gradients, 2.0 * root * fine, 1 / fine, costs[2]
        )
        counts = self._counts("numbers of used and of cut rows", totals.counts, costs[3])
        return ReleasedSums(
            half * values.value,
            half * values.noise_sd,
            half**2 * squares.value,
            half**2 * squares.noise_sd,
            lengths[:, None] * gradients.value.reshape(k, -1),
            float(counts.value[0]),
            float(counts.value[1]),
            counts.noise_sd,
        )


CLAIMS = (
    Claim("lengths of gradients and values", COUNTS, "sqrt(2 h)", "AverageSession.lengths"),
    Claim("sums of values", VECTOR, "2 sqrt(k)", "AverageSession.sums"),
    Claim("sums of squared values", SQUARE, "sqrt(k)", "AverageSession.sums"),
    Claim("sums of gradients", VECTOR, "2 sqrt(k)", "AverageSession.sums"),
    Claim("numbers of used and of cut rows", ANSWERS, "sqrt(2)", "AverageSession.sums"),
)
