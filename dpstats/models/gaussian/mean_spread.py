"""How private rows vary, as released beside their mean: its errors, and what is said of them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from dpstats.arguments import in_prose
from dpstats.arrays import Floats
from dpstats.models.gaussian.known_covariance import FixedCovariance
from dpstats.models.gaussian.mean_cuts import MeanCut
from dpstats.models.gaussian.moments import Cell, Moments, mean_allowance, moved_by_cuts
from dpstats.models.gaussian.releases import CutRows
from dpstats.numerics.histogram import LogHistogram
from dpstats.numerics.matrices import quadratic_forms
from dpstats.report.released import Diagnostic
from dpstats.score_rounds.leaning import Leaning
from dpstats.score_rounds.notes import MEAN_FAR, MEAN_MOSTLY, out_of_sight

_SURELY = 2.0
"""Noise standard deviations that are taken off the share of rows that were cut."""
_TOLD = 4.0
"""Noise standard deviations that a variance is to be known by."""
_NEAR = 2.5
"""Noise standard deviations below which rows in a histogram are not seen."""
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
_FOLLOWED = 60.0
"""Times the 90 % quantile of lengths, from where on cuts that follow a tail are no longer believed."""
_FEW_COLUMNS = 3
"""Of so few the tail of one is most of what noise hides: with four intervals of skewed columns cover."""


@dataclass(frozen=True)
class ReleasedMean:
    """A released mean in its cell's coordinates."""

    cell: Cell
    mean: Floats
    sd: float
    n: float
    count: float
    count_sd: float
    cut: CutRows | None
    lean: Leaning | None = None

    @property
    def allowed(self) -> Floats:
        """What errors allow for long rows that lean, in the units that rows are measured in."""
        lean = self.lean
        if lean is None:
            return np.zeros(self.cell.d)
        return np.asarray(self.cell.root.T @ lean.direction * (lean.allowed / lean.stretch))


def lost_by_shares(cut: MeanCut, released: ReleasedMean, variance: float) -> float:
    """What errors count of what the cut takes off a mean, in view of how many rows it took."""
    assert released.cut is not None
    return cut.lost_at_least(released.cut.share - _SURELY * released.cut.sd, variance)


@dataclass(frozen=True)
class Spread:
    """How private rows vary, as released beside their mean, and what cutting may take off that.

    Attributes
    ----------
    covariance : (d, d) array
        In the user's units.
    variance : float
        Of whitened rows, in each direction on average.
    more : float
        Times the variance of sampling, for what cuts have taken off the covariance.
    mean_lost : float
        In any direction, in standard deviations.
    counts_sd : float
        Noise of counts of lengths.
    grown : (d,) array
        By how much columns surely vary more than the covariance that whitens rows says, or 1.
    lean : (d,) array
        What errors allow for long rows on one side; zeros where none lean.
    resolved : bool
        Whether the variance of every column stands out of its noise, if not of every direction.
    counted : bool
        Whether all this is known from counts of lengths alone.
    """

    covariance: Floats
    variance: float
    more: float
    mean_lost: float
    counts_sd: float
    notes: tuple[str, ...]
    grown: Floats
    lean: Floats
    resolved: bool = True
    counted: bool = False

    @classmethod
    def by_counts(
        cls,
        known: FixedCovariance,
        variance: float,
        cut: MeanCut,
        released: ReleasedMean,
        lengths: LogHistogram,
        n: int,
    ) -> Spread:
        """From counts of lengths, and the covariance that rows were whitened by."""
        lost = lost_by_shares(cut, released, variance)
        notes = mean_notes(lengths, n, variance, released, replace(cut, lost=lost))
        if not notes and out_of_sight(lengths.noise_sd, n):
            notes = (TAILS_OF_MEAN_OUT_OF_SIGHT,)
        d = len(known.matrix)
        if d > 1:
            notes += (
                f"How columns vary together follows from the {known.noun}, how much they do from counts "
                "of the lengths of private rows: second moments of these would cost too much here.",
            )
        matrix, grown = known.matrix * variance, np.ones(d)
        lean = known.units * released.allowed
        return cls(matrix, variance, 1.0, lost, lengths.noise_sd, notes, grown, lean, counted=True)

    @classmethod
    def of(
        cls,
        seen: Moments,
        units: Floats,
        cut: MeanCut,
        released: ReleasedMean,
        lengths: LogHistogram,
        n: int,
    ) -> Spread:
        """From second moments of private rows."""
        lost = lost_by_shares(cut, released, seen.variance)
        notes = mean_notes(lengths, n, seen.variance, released, replace(cut, lost=lost))
        if not notes and len(seen.mean) <= _FEW_COLUMNS and out_of_sight(lengths.noise_sd, n):
            notes = (HIDDEN_TAILS,)
        root = seen.cell.root
        variances = quadratic_forms(root.T, seen.spread) / (root**2).sum(axis=0)
        return cls(
            seen.covariance * np.outer(units, units),
            seen.variance,
            1 + seen.lost,
            lost,
            lengths.noise_sd,
            notes,
            np.sqrt(np.maximum(variances - seen.spread_sd, 1.0)),
            units * released.allowed,
            resolved=bool((variances > _TOLD * seen.spread_sd).all()),
        )

    def sampling(self, n: float) -> Floats:
        """Covariance of the mean but for its noise, in the user's units."""
        cut = moved_by_cuts(self.covariance, self.mean_lost, self.lean)
        return np.asarray(self.covariance * (self.more / n) + cut)

    def allowance(self, released: ReleasedMean) -> Diagnostic:
        """What of the variance of the mean allows for cuts."""
        others = self.more / released.n + released.sd**2 / self.variance
        return mean_allowance(self.mean_lost, others)


def mostly_alike(lengths: LogHistogram, n: int) -> bool:
    """Whether most of n rows lie in one bin of their lengths."""
    begins = lengths.tail_begins(n)
    return begins is not None and begins[1] < n / 2


def mean_notes(
    lengths: LogHistogram,
    n: int,
    variance: float,
    released: ReleasedMean,
    cut: MeanCut,
) -> tuple[str, ...]:
    """What is said of rows that lie far out, or may do so without being seen.

    Intervals allow for what cuts are expected to take off (`mean_allowance`), for which they mostly do
    where tails are longest; there it may be more, as where noise hides them. Nothing is said where long
    rows lean, and are cut farther out: there intervals allow for what tails may hide. But of rows that
    are mostly alike, as zeros are, few tell how long the others may be; nor do most where rows lie
    `_FOLLOWED` times as far out.
    """
    lean, far = released.lean, False
    if lean is not None and not mostly_alike(lengths, n):
        quantile = lengths.quantile(0.9)
        far = quantile is not None and lean.stretch * cut.radius > _FOLLOWED * quantile
        if not far:
            return ()
    lost, others = cut.lost, 1 / n + released.sd**2 / variance
    if far or lost**2 > MEAN_MOSTLY * (lost**2 + others):
        return (
            "Rows lie so far from the others that cutting them may have taken more off a mean than its "
            "interval allows, which may then lie beside it: too low where a column has a long tail "
            "upwards. The mean of its logarithm, or a larger budget, can be relied on sooner.",
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
