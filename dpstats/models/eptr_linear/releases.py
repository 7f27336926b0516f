"""Least squares released with noise that belongs to the data set: tested, or bounded privately.

Rows are cut as in `linear.rows`: |z| <= R after rounding to the grid, |y| <= B. A = sum z z' and b =
sum z y are exact sums of integers; t = A^-1 b is projected to |t| <= C. Neighbours differ in one row.

How far t moves
---------------
Write S(t) = {z (z't - y) : |z| <= R, |y| <= B} and D for the largest diameter of S(t) over |t| <= C
(`score_diameter`). Normal equations give A'(t - t') = g' - g with g, g' the values z (z't - y) of the
row replaced and of its replacement at t: the gradient of the n - 1 common rows cancels. So |t - t'| <=
diam S(t) / lambda_min(A'), and by symmetry the same with the roles of t and t' exchanged.

Projection. Let r be the smaller of |t|, |t'|. If r <= C take the identity from that side: the
projection is 1-Lipschitz. If r > C both are outside and their projections are C/r times those to the
ball of radius r, so that they move by at most (C/r) D_B(r) / lambda; scaling z'theta and y together
by C/r shows (C/r) D_B(r) = D_(BC/r)(C) <= D_B(C). In every case

    |P t - P t'| <= min(D / min(lambda, lambda'), 2 C).

lambda_min moves by at most R^2: -z'z'^T <= z z' - z'z'^T <= z z' (Weyl).

What floats add. lambda_min is computed with a backward error of at most E R^2, and t solves a
system whose matrix differs from A by at most that, E = 32 (d + 1)^2 2^-53 n (Cholesky: Higham,
Theorem 10.4; rounding A and b to floats included), and is off by 2 E R^2 C / lambda at most once
projected. Hence lambda_min, as computed, moves by R^2 (1 + 2 E), the step of the levels, of which
the lowest is at R^2 or above; the bound L of `bounded_solution` has 2 E R^2 taken off, and is one
on the true value: D grows by the factor 1 + 4 E, and by 4 E R^2 C for the two solutions, of which
twice as much is taken.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import linalg, special

from dpstats.accounting.privacy import ApproximatePrivacy, Privacy
from dpstats.arrays import Floats
from dpstats.mechanism.claims import EIGENVALUE, JOINT, TESTED, WEIGHTED, Claim
from dpstats.mechanism.conditional import WIDENED, TestedRelease, lattice_unit, on_lattice
from dpstats.mechanism.noise import Noise
from dpstats.mechanism.passes import Integers, RowSource
from dpstats.mechanism.release import Release
from dpstats.mechanism.session import Session, clamp_to_safe_range
from dpstats.models.linear.rows import LinearRows
from dpstats.propose_test.curve import Levels
from dpstats.propose_test.safety import DEEPEST, PapersSafety, SafetyLevels, SafetyTest
from dpstats.score_rounds.releases import ScoreSession
from dpstats.score_rounds.rows import RoundCuts

_SMALLEST = "smallest eigenvalue of the design"


def score_diameter(d: int, radius: float, response: float, coef: float) -> float:
    """Largest diameter of S(t) = {z (z't - y) : |z| <= R, |y| <= B} over |t| <= C.

    Notes
    -----
    With a = R C and b = B the value is 2 R (b + a c) sqrt(1 - c^2), c = (sqrt(b^2 + 8 a^2) - b) /
    (4 a), for d >= 2. Proof. The diameter is the largest width h(v) + h(-v), h the support
    function, over unit vectors v. Write u for the part of z along v, w for the length of the rest:
    h(v) is the maximum of u^2 t_v + u w |t_perp| + u b (the sign of y and the direction of the rest
    are free, u >= 0) over u^2 + w^2 <= R^2. It increases in w, so |z| = R. With psi the angle
    between v and t, h = R max_chi [b cos(chi) + (|t| R / 2) cos(2 chi - psi)] plus a term that
    cancels in the width. At the maximum the derivative by psi is -(b R / 2) sin(chi), so the width
    changes by -(b R / 2) (sin chi(psi) - sin chi(pi - psi)); the objective at psi > pi/2 has at
    chi(pi - psi) the slope -2 a cos(psi) sin(2 chi) >= 0, hence chi(psi) >= chi(pi - psi): the
    width is largest at psi = pi/2, where it is 2 R max_chi cos(chi) (b + |t| R sin(chi)),
    increasing in |t|, and a c^2 2 + b c - a = 0 for c = sin(chi).

    For d = 1 the values of z^2 t - z y reach from R (a + b) down to -b^2 / (4 C) or R (a - b).

    Examples
    --------
    >>> round(score_diameter(2, 1.0, 1.0, 1.0), 5), score_diameter(1, 1.0, 1.0, 1.0)
    (2.59808, 2.25)
    """
    a, b = radius * coef, response
    if d == 1:
        return radius * (a + b + b * b / (4 * a)) if a >= b / 2 else 2 * b * radius
    c = 2 * a / (math.sqrt(b * b + 8 * a * a) + b)
    return 2 * radius * (b + a * c) * math.sqrt(1 - c * c)


@dataclass(frozen=True)
class CutLimits:
    """Cuts of rows and solutions, public: R, B and C of the module's docstring.

    Sizes at which something would under- or overflow are brought back here, before anything, a plan or a
    row, is made of them.
    """

    radius: float
    response: float
    coef: float

    def __post_init__(self) -> None:
        for name in ("radius", "response", "coef"):
            object.__setattr__(self, name, clamp_to_safe_range(getattr(self, name)))


def _float_error(n: int, d: int) -> float:
    """e n of the module's docstring: error of lambda_min and of A, in units of R^2."""
    return 32 * (d + 1) ** 2 * 2.0**-53 * n


def _influence(radius: float, n: int, d: int) -> float:
    """By how much a row moves lambda_min: R^2, and what floats add to it."""
    return radius**2 * (1 + 2 * _float_error(n, d)) * WIDENED


def diameter_with_floats(n: int, d: int, limits: CutLimits) -> float:
    """D, with what floating-point arithmetic and the lattice may add to it."""
    exact = score_diameter(d, limits.radius, limits.response, limits.coef)
    error = _float_error(n, d)
    return (exact * (1 + 4 * error) + 8 * error * limits.radius**2 * limits.coef) * WIDENED


def eigenvalue_levels(target: float, n: int, d: int, limits: CutLimits) -> SafetyLevels | None:
    """Levels of lambda_min, ``target`` just inside one of them; None when it is below one row.

    Two data sets at levels j and j + 1, or both at j, have eigenvalues of at least first + (j - 1)
    step, so that both kinds of pairs move by D / (first + (j - 1) step) or less, and by 2 C or less.
    """
    step = _influence(limits.radius, n, d)
    deepest = min(int(target / step) - 1, DEEPEST)
    if deepest < 1:
        return None
    first = target * (1 - 1e-9) - (deepest - 1) * step
    edge = first + np.arange(deepest + DEEPEST) * step
    widest = 2 * limits.coef * WIDENED
    moves = np.minimum(diameter_with_floats(n, d, limits) / edge, widest)
    levels = Levels(np.concatenate([[widest], moves]), np.concatenate([[widest], moves]))
    return SafetyLevels(first, step, levels, deepest)


def papers_eigenvalue(target: float, n: int, d: int, limits: CutLimits) -> PapersSafety:
    """Algorithm 4 of the ePTR paper: gamma = (lambda_min - target - 2 R^2)_+ / (2 R^2).

    The paper's sensitivity, 4 R^2 C / target, is the larger one wherever the response is cut to R C.
    """
    papers = 4 * limits.radius**2 * limits.coef
    sensitivity = max(papers, diameter_with_floats(n, d, limits)) / target
    return PapersSafety(target, 2 * limits.radius**2, sensitivity)


@dataclass(frozen=True)
class JointMoments:
    """Mean of z z' (svec noise, sd ``gram_sd`` on the diagonal) and of z y (sd ``cross_sd``)."""

    gram: Floats
    cross: Floats
    gram_sd: float
    cross_sd: float


class LeastSquaresSession(Session[LinearRows]):
    """Spends a total on one least-squares solution of rows cut to public limits.

    Parameters
    ----------
    source : RowSource
    whitening, shift
        As for `LinearSession`; the solution is that of whitened rows less the shift.
    limits : CutLimits
    total : Privacy or ApproximatePrivacy
    noise : Noise
    whole : bool
        Cut responses as they are (the paper) or scaled together with a row that is cut.
    """

    def __init__(
        self,
        source: RowSource,
        whitening: Floats,
        shift: Floats,
        limits: CutLimits,
        total: Privacy | ApproximatePrivacy,
        noise: Noise,
        *,
        whole: bool = False,
    ) -> None:
        super().__init__(LinearRows(source, whitening, shift), total, noise)
        self._limits = limits
        self._whole = whole
        self._rows.cut(self._limits.radius)

    @property
    def _diameter(self) -> float:
        return diameter_with_floats(self.n, self._rows.d, self._limits)

    def _totals(self) -> tuple[Integers, Integers]:
        """Exact A and b in squared grid steps: |z| and |y| measured in R and B."""
        response, whole = self._limits.response, self._whole
        return self._once("sums", lambda: self._rows.gram_and_cross(response, whole=whole))

    @np.errstate(all="ignore")  # a warning would speak of private totals
    def _solved(self) -> tuple[Floats, float]:
        """The projected solution and lambda_min(A); private."""
        scale = float(self._rows.grid.steps) ** 2
        gram, cross = (np.array(v / scale, dtype=np.float64) for v in self._totals())
        limits = self._limits
        coef, smallest = _solution(gram, cross)
        coef = coef * (limits.response / limits.radius)
        return _projected(coef, limits.coef), smallest * limits.radius**2

    def smallest_eigenvalue(self, share: float) -> Release:
        """lambda_min of the sum of z z'. Sensitivity R^2, and what floats add to it."""
        cost, radius = self._spend(share), self._limits.radius
        total = eigenvalue_total(self._solved()[1], radius, self.n, self._rows.d)
        return self._vector(_SMALLEST, *total, cost)

    def bounded_solution(self, share: float, eigenvalue: Release) -> Release:
        """The solution, with noise for a private lower bound on lambda_min of both neighbours.

        ``eigenvalue`` = lambda + s Z was released; L = it - z s - R^2 with z the 1 - slack quantile
        of Z. Both neighbours' lambda_min are at least L unless Z > z, an event of probability at
        most the total's slack under either: off it the solution moves by at most min(D / L, 2 C),
        to which the noise belongs. The pair of releases is mu-GDP up to slack.
        """
        self._require_own(eigenvalue)
        cost = self._spend(share)
        value = float(eigenvalue.value[0])
        self._use_slack()
        d, radius = self._rows.d, self._limits.radius
        lower = lower_eigenvalue(value, eigenvalue, self.total.slack, self.n, d, radius)
        total = bounded_total(self._solved()[0], self._diameter, lower, self._limits.coef)
        what = "least-squares coefficients"
        return self._vector(what, *total, cost)

    def tested_solution(self, test: SafetyTest) -> TestedRelease:
        """The solution if a test of lambda_min passes: `eigenvalue_levels`, `papers_eigenvalue`."""
        coef, smallest = self._solved()
        unit = lattice_unit(test.least_move, len(coef))
        return self._release_if_safe(
            "least-squares coefficients, if the test passes",
            on_lattice(coef, unit),
            unit,
            test.probability(smallest),
            test.plan,
            test.sensitivity,
        )

    def joint_moments(self, share: float) -> JointMoments:
        """A / n and b / n in one release.

        Measure z in R and y in B and release (A_ii / sqrt(2), A_ij, b), the svec coordinates of A
        over sqrt(2), with the same noise everywhere. Sensitivity 2: with c the cosine of z and z',
        and |z|, |z'|, |y|, |y'| <= 1, the squared change (|z|^4 + |z'|^4)/2 - (z.z')^2 + |z y - z'
        y'|^2 is convex in each of y, y', |z|, |z'| by itself (the last: 6 |z|^2 - 2 |z'|^2 c^2 + 2
        y^2 >= 0 at y^2 = 1), so largest where each is 0 or at its bound: with all at the bound it
        is (1 - c^2) + 2 (1 - c s) <= 3 + 2 |c| - c^2 <= 4, s = +-1 the sign of y y'; with one
        length 0 it is at most 3/2. The moments of the design come free with those of the response.
        """
        cost, d = self._spend(share), self._rows.d
        gram, cross = self._totals()
        steps, limits = self._rows.grid.steps, self._limits
        upper = np.triu_indices(d, 1)
        total = np.concatenate([np.diag(gram), gram[upper], cross])
        unit = 1 / float(steps) ** 2
        what = "second moments of the design and moments with the response, jointly"
        release = self._vector(
            what, total, 2.0 * steps**2, unit, cost, wider=np.arange(total.size) < d
        )
        value, sd = release.value, release.noise_sd
        matrix = np.zeros((d, d))
        matrix[upper] = value[d:-d]
        matrix += matrix.T
        matrix[np.diag_indices(d)] = value[:d]
        scales = limits.radius**2, limits.radius * limits.response
        return JointMoments(
            matrix * scales[0] / self.n,
            value[-d:] * scales[1] / self.n,
            math.sqrt(2) * sd * scales[0] / self.n,
            sd * scales[1] / self.n,
        )


def lower_eigenvalue(
    value: float, release: Release, slack: float, n: int, d: int, radius: float
) -> float:
    """The private lower bound L on the smallest eigenvalue of both neighbours; may be negative."""
    z = -float(special.ndtri(slack)) * (1 + 1e-6)
    influence = _influence(radius, n, d)
    return value - z * release.noise_sd - release.step - influence


@dataclass(frozen=True)
class StepCuts:
    """Cuts of a step, public or released: of scores, of rows in A, and of the step itself."""

    score: float
    radius: float
    length: float

    def __post_init__(self) -> None:
        for name in ("score", "radius", "length"):
            object.__setattr__(self, name, clamp_to_safe_range(getattr(self, name)))

    def diameter(self, n: int, d: int) -> float:
        """D = 2 C + R^2 c, with what floats and the lattice may add to it."""
        exact = 2 * self.score + self.radius**2 * self.length
        error = _float_error(n, d)
        return (exact * (1 + 4 * error) + 8 * error * self.radius**2 * self.length) * WIDENED


class StepSession(ScoreSession):
    """Score rounds whose last step is released itself, with noise that belongs to the data set.

    At an anchor, A = sum z z' over rows cut to |z| <= R, b = sum s over scores cut to |s| <= C, and the
    step t = A^-1 b is projected to |t| <= c. When a row is replaced, A' - A = z'z'^T - z z' has a
    spectral norm of at most R^2, and b' - b is no longer than 2 C; rows and scores need not belong
    together.

    How far t moves. A t = b and A' t' = b' give A' (t - t') = (A' - A) t - (b' - b), so that |t - t'|
    <= (2 C + R^2 |t|) / lambda_min(A'); and by symmetry with t and A' exchanged for t' and A. Let r be
    the smaller of |t|, |t'|. If r <= c take that side: the projection is 1-Lipschitz. If r > c both are
    outside, their projections are c/r times those to the ball of radius r, and move by at most c/r (2 C
    + R^2 r) / lambda <= (2 C + R^2 c) / lambda. In every case |P t - P t'| <= min((2 C + R^2 c) /
    min(lambda, lambda'), 2 c). Eigenvalue and floats: as in the module's docstring, with the rounding of
    b to floats, n C d 2^-53 at most, in the factor 1 + 4 E of 2 C.
    """

    _eigenvalue_of: tuple[bytes, StepCuts] | None = None

    def _step(self, anchor: Floats, cuts: StepCuts) -> tuple[Floats, float]:
        """The projected step and lambda_min(A); private."""

        @np.errstate(all="ignore")  # a warning would speak of private totals
        def read() -> tuple[Floats, float]:
            totals = self._rows.sums(anchor, RoundCuts(cuts.score, cuts.radius))
            assert totals.information is not None
            assert totals.score is not None
            grid = self._rows.grid
            gram = np.array(totals.information / float(grid.steps) ** 2, dtype=np.float64)
            score = np.array(totals.score / float(grid.fine), dtype=np.float64)
            step, smallest = _solution(gram, score)
            step = step * (cuts.score / cuts.radius**2)
            return _projected(step, cuts.length), smallest * cuts.radius**2

        return self._once(("step", anchor.tobytes(), cuts), read)

    def smallest_eigenvalue(self, share: float, anchor: Floats, cuts: StepCuts) -> Release:
        """lambda_min of the sum of z z'. Sensitivity R^2, and what floats add to it."""
        cost = self._spend(share)
        smallest, radius = self._step(anchor, cuts)[1], cuts.radius
        self._eigenvalue_of = anchor.tobytes(), cuts
        total = eigenvalue_total(smallest, radius, self.n, self._rows.d)
        return self._vector(_SMALLEST, *total, cost)

    def lower_bound(self, eigenvalue: Release, cuts: StepCuts) -> float:
        """The private bound L on lambda_min, by the slack of the call; may be negative."""
        value, slack = float(eigenvalue.value[0]), self.granted.slack
        return lower_eigenvalue(value, eigenvalue, slack, self.n, self._rows.d, cuts.radius)

    def bounded_step(
        self, share: float, anchor: Floats, cuts: StepCuts, eigenvalue: Release
    ) -> Release:
        """The step, with noise for a private lower bound on lambda_min of both neighbours.

        As `LeastSquaresSession.bounded_solution`, with D = 2 C + R^2 c.
        """
        self._require_own(eigenvalue)
        if self._eigenvalue_of != (anchor.tobytes(), cuts):
            raise ValueError("the eigenvalue is that of another step")
        cost = self._spend(share)
        self._use_slack()
        step, diameter = self._step(anchor, cuts)[0], cuts.diameter(self.n, len(anchor))
        total = bounded_total(step, diameter, self.lower_bound(eigenvalue, cuts), cuts.length)
        return self._vector("least-squares step", *total, cost)


def _solution(gram: Floats, right: Floats) -> tuple[Floats, float]:
    """The solution of private equations and their smallest eigenvalue; no totals raise an error."""
    try:
        smallest = float(linalg.eigvalsh(gram)[0])
    except linalg.LinAlgError:  # not safe: the bound that is released from it is 0
        smallest = 0.0
    try:
        return linalg.cho_solve(linalg.cho_factor(gram), right), smallest
    except linalg.LinAlgError:  # singular: any point of the ball will do
        return np.zeros(len(right)), smallest


def _projected(coef: Floats, length: float) -> Floats:
    """The nearest point of a ball; zero where floats gave out."""
    if not np.isfinite(coef).all():
        return np.zeros(len(coef))
    size = float(np.linalg.norm(coef))
    return coef * (length / size) if size > length else coef


def eigenvalue_total(
    smallest: float, radius: float, n: int, d: int
) -> tuple[Integers, float, float]:
    """lambda_min on a lattice, its sensitivity there, R^2 and what floats add to it, and the unit."""
    sensitivity = _influence(radius, n, d)
    unit = lattice_unit(sensitivity, 1)
    return on_lattice(np.array([smallest]), unit), sensitivity / unit, unit


def bounded_total(
    point: Floats, diameter: float, lower: float, length: float
) -> tuple[Integers, float, float]:
    """A point of a ball on a lattice, its sensitivity there, min(D / L, 2 length), and the unit."""
    sensitivity = 2 * length * WIDENED
    if lower > 0:
        sensitivity = min(diameter / lower, sensitivity)
    unit = lattice_unit(sensitivity, len(point))
    return on_lattice(point, unit), sensitivity / unit, unit


CLAIMS = (
    Claim(
        "smallest eigenvalue of the design",
        EIGENVALUE,
        "R^2",
        "LeastSquaresSession.smallest_eigenvalue",
    ),
    Claim(
        "least-squares step", WEIGHTED, "min((2 C + R^2 c) / L, 2 c)", "StepSession.bounded_step"
    ),
    Claim(
        "least-squares coefficients",
        WEIGHTED,
        "min(D / L, 2 C)",
        "LeastSquaresSession.bounded_solution",
    ),
    Claim(
        "least-squares coefficients, if the test passes",
        TESTED,
        "min(D / lambda, 2 C) by level (paper: 4 R^2 C / target)",
        "eigenvalue_levels",
    ),
    Claim(
        "second moments of the design and moments with the response, jointly",
        JOINT,
        "2",
        "LeastSquaresSession.joint_moments",
    ),
)
