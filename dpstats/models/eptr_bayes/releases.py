"""Class sizes, means and second moments of rows cut to a radius R, released with one mechanism.

Replacing a row x of class k by x' of class l changes the sums S_k by -x and S_l by x', and the counts
n_k, n_l by one; a row of no class changes less.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpstats.accounting.privacy import ApproximatePrivacy, Privacy
from dpstats.arrays import Floats
from dpstats.mechanism.claims import COUNTS, GRAM, MEANS, TESTED, Claim
from dpstats.mechanism.conditional import WIDENED, TestedRelease, lattice_unit, ratio_on_lattice
from dpstats.mechanism.lattice import Grid
from dpstats.mechanism.noise import Noise, check_largest
from dpstats.mechanism.passes import Integers, RowSource
from dpstats.mechanism.session import Session, clamp_to_safe_range
from dpstats.models.eptr_bayes.rows import ClassRows
from dpstats.numerics.histogram import LogHistogram
from dpstats.propose_test.curve import Levels
from dpstats.propose_test.safety import DEEPEST, PapersSafety, SafetyLevels, SafetyTest


def require_room(n: int, mu: float, ratio: float | None) -> None:
    """Raise where sums, or moments with this ``ratio``, would need more noise than there is."""
    grid = Grid.for_rows(n)
    size = 2.0 * grid.fine if ratio is None else math.sqrt(2) * (1 + ratio**2) * grid.steps**2
    check_largest(size / mu)


@dataclass(frozen=True)
class ClassSums:
    """Released sums (K, p) and counts (K,) with their noise."""

    sums: Floats
    counts: Floats
    sums_sd: float
    counts_sd: float


@dataclass(frozen=True)
class ClassMoments:
    """Released counts (K,), sums (K, p) and second moments (K or 1, p, p), each with its noise.

    ``squares_sd`` is that off the diagonal; on it the noise is sqrt(2) times as large.
    """

    counts: Floats
    counts_sd: float
    sums: Floats
    sums_sd: float
    squares: Floats
    squares_sd: float


def means_move(count: int, radius: float, prior_scale: float, n: int) -> float:
    """Largest change of (prior_scale * priors, means) when one row is replaced.

    ``count`` is N, the smallest class of that neighbour whose smallest class is larger.

    Notes
    -----
    From class k to class l != k the mean of k moves by (m_k - x)/(n_k - 1) in terms of the old
    mean, by (m_k' - x)/n_k in terms of the new one: at most 2 R / n_k, because both lie in the ball. The
    mean of l moves by at most 2 R / (n_l + 1). If the old data set is the one with smallest class N,
    n_k >= N and n_l + 1 >= N + 1; if the new one is, n_l + 1 >= N and n_k - 1 >= N. Either way the
    squares add to at most 4 R^2 (1/N^2 + 1/(N+1)^2). Two priors move by 1/n each. Within one class the
    mean moves by at most 2 R / N. For N = 0 two means move within the ball, by 2 R at most.
    """
    radius = clamp_to_safe_range(radius)
    if count < 1:
        squares = 8 * radius**2
    else:
        squares = min(4 * radius**2 * (1 / count**2 + 1 / (count + 1) ** 2), 8 * radius**2)
    return math.sqrt(squares + 2 * (prior_scale / n) ** 2) * WIDENED


def count_levels(target: int, radius: float, prior_scale: float, n: int) -> SafetyLevels:
    """Levels of the smallest class, a row apart, that end some hundreds above the target count."""
    deepest = min(target, DEEPEST)
    below = target - deepest
    widest = means_move(0, radius, prior_scale, n)
    counts = below + np.arange(1, deepest + DEEPEST + 2)
    moves = np.array([means_move(int(c), radius, prior_scale, n) for c in counts])
    # both at level j: N = below + j; at j and j + 1: the larger is below + j + 1
    same = np.concatenate([[widest], moves[:-1]])
    return SafetyLevels(below + 1, 1, Levels(same, moves), deepest)


def papers_count(target: int, radius: float, n: int) -> PapersSafety:
    """Algorithm 3 of the ePTR paper: gamma = (min_k n_k - target - 1)_+, where target = c0 n."""
    return PapersSafety(target, 1, 2 / n * math.sqrt(2 * (radius * n / target) ** 2 + 2))


class ClassSession(Session[ClassRows]):
    """Spends a total on the sizes and means of public classes.

    Parameters
    ----------
    source : RowSource
        Rows whose first K columns are indicators of the classes.
    whitening : (p, p) array
    centres : (K, p) array
    radius : float
    total : Privacy or ApproximatePrivacy
    noise : Noise
    products : bool
        Whether `moments` are released, and not sums or means alone.
    after : Session, optional
        An earlier session of the call, whose total this one goes on with.
    """

    def __init__(
        self,
        source: RowSource,
        whitening: Floats,
        centres: Floats,
        radius: float,
        total: Privacy | ApproximatePrivacy,
        noise: Noise,
        *,
        products: bool = False,
        after: Session[Any] | None = None,
    ) -> None:
        self._radius = clamp_to_safe_range(radius)
        rows = ClassRows(source, whitening, centres, self._radius, products)
        super().__init__(rows, total, noise, after)

    @property
    def _totals(self) -> tuple[Integers, Integers]:
        """Exact sums and counts; private. One pass for a test and for what stands behind it."""
        if self._rows.steps != self._rows.grid.fine:
            raise ValueError("the rows were rounded for products")
        return self._once("totals", self._rows.totals)

    def sizes(self, share: float, lowest: int, octaves: int) -> list[LogHistogram]:
        """Histograms of the sizes of features, about their centres, before rows are cut.

        Sensitivity sqrt(2 p): a row is in one bin of each of p features at most.
        """
        cost = self._spend(share)
        counts = self._rows.sizes(lowest, octaves)
        what = "histograms of features"
        release = self._counts(what, counts.ravel(), cost, memberships=len(counts))
        found = release.value.reshape(counts.shape)
        return [LogHistogram(row, release.noise_sd, lowest, octaves) for row in found]

    def sums(self, share: float) -> ClassSums:
        """Sums of features and counts, in one release.

        Sensitivity of (S, R n): within a class |x - x'| <= 2 R; between two classes sqrt(|x|^2 +
        |x'|^2 + 2 R^2) <= 2 R. The counts come free with the sums.
        """
        cost = self._spend(share)
        sums, counts = self._totals
        fine = self._rows.grid.fine
        total = np.concatenate([sums.ravel(), counts * fine])
        unit = self._radius / fine
        what = "sums of features and counts, by class"
        release = self._vector(what, total, 2.0 * fine, unit, cost)
        size = sums.size
        return ClassSums(
            release.value[:size].reshape(sums.shape),
            release.value[size:] / self._radius,
            release.noise_sd,
            release.noise_sd / self._radius,
        )

    def moments(self, share: float, by_class: bool, ratio: float) -> ClassMoments:
        """Second moments, sums and counts in one release; ``ratio`` is b / R, at most 1.

        Sensitivity of (zz' above the diagonal, its diagonal / sqrt(2), b z, b^2 / sqrt(2)), each added
        up by class: R^2 + b^2. Twice the squared length of what a row adds is |qq'|^2 = |q|^4 in the
        Frobenius norm, q = (b, z), |q|^2 <= R^2 + b^2. Within a class twice the squared change is
        |qq' - vv'|^2 = |q|^4 + |v|^4 - 2 (q.v)^2; between two classes, or beside a row of none, it is at
        most |q|^4 + |v|^4, because nothing is added to the same entry. It is so, too, where zz' is added
        up over all classes: there |zz' - vv'|^2 = |z|^4 + |v|^4 - 2 (z.v)^2, and all other entries are
        of one class. So it is at most 2 (R^2 + b^2)^2 in all cases.
        """
        if self._rows.steps != self._rows.grid.steps:
            raise ValueError("the rows were not rounded for products")
        cost = self._spend(share)
        squares, sums, counts = self._once(
            ("products", by_class), lambda: self._rows.products(by_class)
        )
        steps, radius = self._rows.steps, self._radius
        lift = min(max(round(ratio * steps), 1), steps)
        p = sums.shape[1]
        above, diagonal = np.triu_indices(p, 1), np.arange(p)
        parts = [
            squares[:, above[0], above[1]].ravel(),
            squares[:, diagonal, diagonal].ravel(),
            (sums * lift).ravel(),
            counts * lift**2,
        ]
        wider = np.concatenate([np.full(len(part), k % 2 == 1) for k, part in enumerate(parts)])
        release = self._vector(
            "second moments, sums and counts, by class",
            np.concatenate(parts),
            float(steps**2 + lift**2),
            1 / steps**2,
            cost,
            wider,
        )
        off, on, linear, sizes = np.split(
            release.value, np.cumsum([len(part) for part in parts])[:-1]
        )
        found = np.zeros(squares.shape)
        found[:, above[0], above[1]] = off.reshape(len(found), -1)
        found += found.transpose(0, 2, 1)
        found[:, diagonal, diagonal] = on.reshape(len(found), p)
        b, sd = lift / steps, release.noise_sd
        return ClassMoments(
            sizes / b**2,
            math.sqrt(2) * sd / b**2,
            linear.reshape(sums.shape) / b * radius,
            sd / b * radius,
            found * radius**2,
            sd * radius**2,
        )

    def tested_means(
        self, test: SafetyTest, prior_scale: float = 1.0
    ) -> tuple[TestedRelease, Floats, Floats]:
        """Priors (K,) and means (K, p) if a test of the smallest class passes, else NaN.

        See `count_levels` and `papers_count`. Means and priors are rounded to the lattice from exact
        fractions.
        """
        sums, counts = self._totals
        k, size = len(counts), sums.size
        unit = lattice_unit(test.least_move, k + size)
        fine = self._rows.grid.fine
        # a mean is (sum / count) R / fine; the float R / fine is itself an exact fraction
        step = unit / (self._radius / fine)
        means = [
            0 if count == 0 else ratio_on_lattice(int(v), int(count), step)
            for row, count in zip(sums, counts, strict=True)
            for v in row
        ]
        priors = [ratio_on_lattice(int(c), self.n, unit / prior_scale) for c in counts]
        tested = self._release_if_safe(
            "priors and means by class, if the test passes",
            np.array(priors + means, dtype=object),
            unit,
            test.probability(int(min(counts))),
            test.plan,
            test.sensitivity,
        )
        value = tested.release.value
        return tested, value[:k] / prior_scale, value[k:].reshape(sums.shape)


CLAIMS = (
    Claim("histograms of features", COUNTS, "sqrt(2 p)", "ClassSession.sizes"),
    Claim("sums of features and counts, by class", MEANS, "2 R", "ClassSession.sums"),
    Claim(
        "second moments, sums and counts, by class",
        GRAM,
        "R^2 + b^2, entries on the diagonal divided by sqrt(2)",
        "ClassSession.moments",
    ),
    Claim(
        "priors and means by class, if the test passes",
        TESTED,
        "2 R sqrt(1/N^2 + 1/(N+1)^2) and the priors, by level (paper: 2/n sqrt(2 (R/c0)^2 + 2))",
        "means_move",
    ),
)
