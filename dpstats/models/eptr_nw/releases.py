"""Kernel regression released for a whole curve at once.

Notation: s_q = sum_i K_q(x_i) r_i and d_q = sum_i K_q(x_i) over the rows, K_q <= 1, |r| <= 1
(responses are measured in R, see `rows`); f_q = s_q / d_q; w in [0, 1] is the square of a response. One
row is replaced by another.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, special

from dpstats.accounting.privacy import ApproximatePrivacy, Privacy
from dpstats.arrays import Floats
from dpstats.mechanism.claims import COUNTS, CURVE, TESTED, WEIGHTED, WEIGHTS, Claim
from dpstats.mechanism.conditional import WIDENED, TestedRelease, lattice_unit, ratio_on_lattice
from dpstats.mechanism.noise import Noise, check_largest
from dpstats.mechanism.passes import Integers, RowSource
from dpstats.mechanism.release import Release
from dpstats.mechanism.session import Session
from dpstats.models.eptr_nw.rows import KernelPlan, KernelRows, kernel
from dpstats.numerics.histogram import merged
from dpstats.propose_test.curve import Levels
from dpstats.propose_test.safety import DEEPEST, PapersSafety, SafetyLevels, SafetyTest

_JITTER = 2.0**-10
_ENTRY = 2.0**-40
_PARTS = 64
_UNIT = 2.0**-30  # of the sums of a curve
_BELOW, _SQUARE = 61, 24  # of 64: weights of denominator and squares beside the numerator's 1
CURVE_MOVES = math.sqrt(4 + (_SQUARE / _PARTS) ** 2)
"""Largest change of a curve's sums, proved in `KernelSession.curve`."""
DENOMINATOR = _PARTS / _BELOW
"""Noise of a curve's denominator over that of its numerator."""


def require_room(mu: float) -> None:
    """Raise where a curve would need more noise than there is: its features are about 1 long."""
    check_largest(2 * CURVE_MOVES / _UNIT / mu)


@dataclass(frozen=True)
class Features:
    """Public coordinates in which the whole curve is released with white noise.

    Attributes
    ----------
    matrix : (m, m) array
        M, on a fixed grid of 2^-40: phi(x) = M K_Q(x).
    length : float
        A bound on |phi(x)| for every x.
    """

    matrix: Floats
    length: float

    @classmethod
    def of(cls, nodes: Floats) -> Features:
        """M = L^-1 with L L' = K_QQ + j I, j = 2^-10.

        ``length`` bounds the norm of the map v -> M (v(q))_q from the kernel's Hilbert space:
        values at the nodes are E v with E E* = K_QQ, so that the square of the norm is the largest
        eigenvalue of M K_QQ M' <= M (K_QQ + j I) M', which is I when nothing rounds. For the
        rounded M, a public number, it is at most 1 + |D|_F with D = M (K_QQ + j I) M' - I; D is
        computed in floats, with room for their error: 4 m 2^-53 |M|_F^2 |K_QQ|_1.

        Rounding a row's weights to 2^-36 (they are computed to far better than 2^-40) moves each part by
        e = sqrt(m) (2^-37 + 2^-40) |M| at most, in each of two neighbours, and the parts of
        `KernelSession.curve` together by 2 * 1.44 e: less than 2 times the length that is added. |M|
        is at most the root of 1 + |D|_F over j.
        """
        m = len(nodes)
        gram = kernel(nodes, np.ascontiguousarray(nodes.T))
        gram[np.diag_indices(m)] += _JITTER
        lower = linalg.cholesky(gram, lower=True)
        matrix = linalg.solve_triangular(lower, np.eye(m), lower=True)
        matrix = np.rint(matrix / _ENTRY) * _ENTRY
        rest = matrix @ gram @ matrix.T
        rest[np.diag_indices(m)] -= 1.0
        room = 4 * m * 2.0**-53 * float((matrix**2).sum()) * float(gram.sum(axis=0).max())
        square = 1.0 + float(np.linalg.norm(rest)) + room
        rounded = math.sqrt(m) * (2.0**-36 + 2.0**-40) * math.sqrt(square / _JITTER)
        return cls(matrix, math.sqrt(square) + rounded)

    def lengths(self, weights: Floats) -> Floats:
        """|phi| (k,) of points with these weights (m, k) at the nodes."""
        return np.asarray(np.sqrt(((self.matrix @ weights) ** 2).sum(axis=0)))

    def exact(self, totals: Integers) -> Integers:
        """M times exact integers, exactly; in units of 2^-40."""
        entries = np.rint(self.matrix / _ENTRY).astype(np.int64)
        # entries of M below 2^60 and totals below 2^96: limbs of 20 bits, whose products of
        # m <= 2^11 terms are exact in float64
        out = np.zeros(len(totals), dtype=object)
        for a, high in enumerate(_limbs(entries, 3)):
            for b, low in enumerate(_limbs(totals, 5)):
                out = out + np.array([int(v) << (20 * (a + b)) for v in high @ low], dtype=object)
        return out


def _limbs(values: Integers | NDArray[np.int64], count: int) -> list[Floats]:
    """Integers as a sum of floats below 2^20 (the sign on each) times powers of 2^20."""
    size: Any = abs(values)
    sign = np.where(values < 0, -1.0, 1.0)
    mask = (1 << 20) - 1
    out = []
    for _ in range(count):
        out.append((size & mask).astype(np.float64) * sign)
        size = size >> 20
    return out


@dataclass(frozen=True)
class Curve:
    """A released curve in the coordinates of `Features`: (m,) each.

    Attributes
    ----------
    above, below, squares : (m,) arrays
        Numerator, denominator, and sums of w.
    noise_sd, below_sd, squares_sd : float
        The noise of each.
    """

    above: Floats
    below: Floats
    squares: Floats
    noise_sd: float
    below_sd: float
    squares_sd: float


@dataclass(frozen=True)
class NodeValues:
    """f at nodes with the noise of each; NaN where too few rows are near."""

    value: Floats
    noise_sd: Floats
    degree: Floats
    degree_sd: float


def weighted_move(longest: float, degree: Floats, ratio: float) -> float:
    """Largest change of (f_q D_q)_q when one of two neighbours has d_q >= ratio D_q at every node.

    Take away the row: f = (s_- + K r) / (d_- + K) lies in [-1, 1] like s_- / d_-, so putting the
    row back moves f by K (r - f_-) / d, and putting another there by K' (r' - f_-) / d'. If the
    signs differ, |r - r'| <= 2 bounds the sum: |f - f'| <= 2 max(K / d, K' / d'). With d >= T for
    one of them and K, K' <= 1, both terms are at most max(K, K') / T: K' / (d_- + K') increases in
    K', so for K' <= K it is at most K / d. The change of f_q D_q is at most (2 / ratio) max(K_q,
    K'_q), and over all nodes at most (2 / ratio) sqrt(|K|^2 + |K'|^2) <= 2 sqrt(2) B / ratio; and
    at most 2 |D| anyway.
    """
    widest = 2 * float(np.linalg.norm(degree))
    if ratio <= 0:
        return widest * WIDENED
    nodes = len(degree)
    one = 2 / ratio if nodes == 1 else 2 * math.sqrt(2) * longest / ratio
    return min(one, widest) * WIDENED


def degree_levels(degree: Floats, longest: float) -> SafetyLevels | None:
    """Levels of r = min_q d_q / D_q, 1 just inside one of them; None when a single row decides."""
    step = WIDENED / float(degree.min())  # a row moves d_q by at most 1
    deepest = min(int(1 / step) - 1, DEEPEST)
    if deepest < 1:
        return None
    first = 1 - 1e-9 - (deepest - 1) * step
    edge = first + np.arange(deepest + DEEPEST + 1) * step
    moves = np.array([weighted_move(longest, degree, float(r)) for r in edge])
    widest = weighted_move(longest, degree, 0.0)
    same = np.concatenate([[widest], moves[:-1]])
    return SafetyLevels(first, step, Levels(same, moves), deepest)


def papers_degree(target: float) -> PapersSafety:
    """Algorithm 5 of the ePTR paper at its one point: gamma = (d - target - 2)_+ / 2."""
    return PapersSafety(target, 2, 4 / target)


class KernelSession(Session[KernelRows]):
    """Spends a total on one curve.

    Parameters
    ----------
    source : RowSource
        Rows whose first column is 1.
    plan : KernelPlan
    total : Privacy or ApproximatePrivacy
    noise : Noise
    after : Session, optional
        See `Session`.
    """

    def __init__(
        self,
        source: RowSource,
        plan: KernelPlan,
        total: Privacy | ApproximatePrivacy,
        noise: Noise,
        after: Session[Any] | None = None,
    ) -> None:
        super().__init__(KernelRows(source, plan), total, noise, after)
        self._plan = plan

    @property
    def _totals(self) -> tuple[Integers, Integers]:
        """Exact sums at the nodes; private. One pass for a test and for what stands behind it."""
        above, below = self._once("totals", self._rows.totals)
        return above, below

    def lengths(self, share: float, lowest: int, octaves: int, fine: int) -> Release:
        """Counts of residuals by sign and size: the first ``fine`` octaves in quarters, others whole.

        Sensitivity sqrt(2): a row is in one of the counts at most.
        """
        cost = self._spend(share)
        both = self._rows.lengths(lowest, octaves).reshape(2, -1)
        counts = np.concatenate([merged(side, fine) for side in both])
        return self._counts("histogram of residuals", counts, cost)

    def curve(self, share: float, features: Features) -> Curve:
        """Numerator, denominator and squares of the whole curve.

        Sensitivity sqrt(4 + c^2) length. In the kernel's Hilbert space a row adds v K_x with v =
        (r, g, c w) and K_x = K(x, .), where |r| <= 1, 0 <= w <= 1, g = 61/64 and c = 24/64. With k =
        K(x, x') in [0, 1] the squared change is |v|^2 + |v'|^2 - 2 k v.v', linear in k, hence largest
        at an end: at k = 0 at most 2 (1 + g^2 + c^2) < 4.099, at k = 1 (r - r')^2 + c^2 (w - w')^2 <=
        4 + c^2 = 4.140625. What is released is the image of all parts under a linear map of norm at
        most length (`Features.of`). Denominator and squares come nearly free with the numerator.
        """
        cost = self._spend(share)
        parts = self._rows.totals(squares=True)
        exact = np.concatenate(
            [
                features.exact(total) * weight
                for total, weight in zip(parts, (_PARTS, _BELOW, _SQUARE), strict=True)
            ]
        )
        # to the nearest multiple of _UNIT: half a step per number, in each of two neighbours
        shift = round(math.log2(_PARTS * self._rows.grid.fine / _ENTRY * _UNIT))
        total = np.array([(int(v) + (1 << (shift - 1))) >> shift for v in exact], dtype=object)
        sensitivity = CURVE_MOVES * features.length / _UNIT + math.sqrt(total.size)
        release = self._vector("kernel sums for a whole curve", total, sensitivity, _UNIT, cost)
        above, below, squares = release.value.reshape(3, -1)
        sd, g, c = release.noise_sd, _BELOW / _PARTS, _SQUARE / _PARTS
        return Curve(above, below / g, squares / c, sd, sd / g, sd / c)

    def degrees(self, share: float) -> Release:
        """The degrees d_q. Sensitivity sqrt(2) B (one node: 1), B the bound on a row's weights."""
        cost = self._spend(share)
        below = self._totals[1]
        fine = float(self._rows.grid.fine)
        sensitivity = 1.0 if len(below) == 1 else math.sqrt(2) * self._longest
        return self._vector(
            "degrees of the nodes", below, sensitivity * WIDENED * fine, 1 / fine, cost
        )

    def bounded_values(self, share: float, degrees: Release, least: float) -> NodeValues:
        """f at the nodes whose degree is surely large, with noise that the degree's bound calls for.

        L_q = released degree - z sd, z the 1 - slack/m quantile: off an event of probability at most
        slack no L_q exceeds its degree (under either neighbour: the event is a set of released
        degrees), and the change of (f_q L_q)_q over the nodes kept is at most `weighted_move` at ratio
        1. Nodes with L_q < ``least`` or L_q <= 0 are dropped: a choice made from released degrees.
        """
        self._require_own(degrees)
        cost = self._spend(share)
        self._use_slack()
        m = degrees.value.size
        z = -float(special.ndtri(self.total.slack / m)) * (1 + 1e-6)
        lower = degrees.value - z * degrees.noise_sd - degrees.step
        kept = np.flatnonzero((lower >= least) & (lower > 0))
        value, sd = np.full(m, np.nan), np.full(m, np.nan)
        if kept.size:
            bound = lower[kept]
            move = 2.0 * WIDENED if m == 1 else 2 * math.sqrt(2) * self._longest * WIDENED
            unit = lattice_unit(move, kept.size)
            release = self._vector(
                "curve at the nodes, times bounds on their degrees",
                self._weighted(kept, bound, unit),
                move / unit,
                unit,
                cost,
            )
            value[kept], sd[kept] = release.value / bound, release.noise_sd / bound
        return NodeValues(value, sd, degrees.value, degrees.noise_sd)

    def tested_values(
        self, test: SafetyTest, degree: Floats | None = None
    ) -> tuple[TestedRelease, NodeValues]:
        """f at all nodes if a test of their degrees passes: `degree_levels`, `papers_degree`.

        ``degree``: what is expected of each node, so that the test is one of the smallest d_q / D_q;
        without it, of the degree of one node.
        """
        expected = np.ones(1) if degree is None else degree
        fine = float(self._rows.grid.fine)
        # each degree is one rounded float: far inside the widening of the step
        degrees = np.array(self._totals[1] / fine, dtype=np.float64)
        ratio = float(np.min(degrees / expected))
        unit = lattice_unit(test.least_move, len(expected))
        tested = self._release_if_safe(
            "curve at the nodes, if the test passes",
            self._weighted(np.arange(len(expected)), expected, unit),
            unit,
            test.probability(ratio),
            test.plan,
            test.sensitivity,
        )
        value = tested.release.value / expected
        noise_sd = test.plan.noise_sd / expected
        return tested, NodeValues(value, noise_sd, expected, 0.0)

    @property
    def _longest(self) -> float:
        """B, as the rounded weights keep it."""
        longest = self._plan.longest
        if longest is None:
            raise ValueError("nodes released one by one need a bound on a row's weights")
        return longest + math.sqrt(len(self._plan.nodes)) * 2.0**-37

    def _weighted(self, kept: NDArray[np.intp], scale: Floats, unit: float) -> Integers:
        """f_q scale_q on the lattice, from exact fractions; 0 where no row has any weight."""
        above, below = self._totals
        steps = [
            ratio_on_lattice(int(above[q]), int(below[q]), unit / float(s)) if below[q] else 0
            for q, s in zip(kept, scale, strict=True)
        ]
        return np.array(steps, dtype=object)


CLAIMS = (
    Claim("histogram of residuals", COUNTS, "sqrt(2)", "KernelSession.lengths"),
    Claim("kernel sums for a whole curve", CURVE, "sqrt(4 + c^2) length", "KernelSession.curve"),
    Claim("degrees of the nodes", WEIGHTS, "sqrt(2) B (one node: 1)", "KernelSession.degrees"),
    Claim(
        "curve at the nodes, times bounds on their degrees",
        WEIGHTED,
        "2 sqrt(2) B (one node: 2)",
        "KernelSession.bounded_values",
    ),
    Claim(
        "curve at the nodes, if the test passes",
        TESTED,
        "2 sqrt(2) B / r by level (paper: 4 / t)",
        "weighted_move",
    ),
)
