"""Least squares from private moments and scores.

Notation: rows are whitened, z = W'x with W'SW = I, so that coefficients of z are t = W^-1 b and b =
W t. A is the mean of z z' over the rows as cut, M the matrix used for A, P = ridge W'W the penalty
on |b|^2 in the whitened space.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dpstats.arrays import Floats
from dpstats.mechanism.release import Release
from dpstats.numerics.matrices import (
    Curvature,
    Whitening,
    equilibrated_whitening,
    floored,
    spectral_norm,
    symmetric,
    with_inverse,
)
from dpstats.score_rounds.bounds import ReleasedSystem
from dpstats.score_rounds.cuts import gaussian_square

_VISIBLE = 1.2
"""Times the largest eigenvalue of the noise of a curvature, what is seen of it."""
_RESTING = 0.01
"""Share of a coefficient in directions that are not seen, from which no error is given for it: their
variance may be hundreds of times that of the others."""


@dataclass(frozen=True)
class Step:
    """One Newton step from an anchor: t = anchor + move.

    (M + P) move = (s + g)/kappa - P anchor, with s the mean of the cut scores at the anchor and g
    its noise. Without the noises g and M - A, and if no row was cut, the step lands exactly on the
    (ridge) least-squares fit of the private rows, from any anchor.
    """

    anchor: Floats
    move: Floats
    noise_sd: float  # of g / kappa, per coordinate
    noise_length: float  # of the move, sqrt(trace (M + P)^-2) times that
    variance: float  # predicted, per coordinate, for pooling
    excess: float = 0.0  # mean length of what its cut took off, as if rows were not cut
    most: float = 0.0  # the same, that it hardly exceeds
    off: float = 0.0  # share of its way that it may be off by, which only a later step would tell

    def turned(self, turn: Floats, inverse: Floats) -> Step:
        """This step for rows ``turn`` z in place of z; ``inverse``: that of the Hessian before."""
        back = np.linalg.inv(turn)
        length = self.noise_sd * float(np.linalg.norm(back @ inverse))
        anchor, move = back @ self.anchor, back @ self.move
        return replace(self, anchor=anchor, move=move, noise_length=length)


def newton_step(
    curvature: Curvature,
    penalty: Floats,
    anchor: Floats,
    score: Floats,
    noise_sd: float,
    slope: float,
) -> Step:
    """Step to the minimiser of the quadratic that the score and the second moments describe."""
    d = len(anchor)
    hessian, inverse = with_inverse(curvature.used + penalty)
    move = np.linalg.solve(hessian, score / slope - penalty @ anchor)
    # the matrix error acts on the move; 2 % is the least that a clip's slope leaves behind
    relative = curvature.used_sd / math.sqrt(2) * spectral_norm(inverse)
    left_behind = (relative * relative + 0.02**2 / d) * float(move @ move)
    sd = noise_sd / slope
    return Step(anchor, move, sd, sd * float(np.linalg.norm(inverse)), sd**2 + left_behind)


@dataclass(frozen=True)
class Pooled:
    """Steps averaged by inverse variance; the other numbers are those of the average.

    ``left``: what cuts left of the way, as scores. ``far``: the score of the step that far rows alone
    ask for. ``excess`` and ``most``: see `Step`; all rounds cut the same rows, so that these add up.
    """

    coef: Floats
    move: Floats
    noise_sd: float
    left: tuple[Floats, ...] = ()
    far: Floats | None = None
    excess: float = 0.0
    most: float = 0.0


def pool_steps(steps: Sequence[Step]) -> Pooled:
    """Average the rounds' estimates: their noises are independent, each aims at the same fit.

    A step falls short of its aim where the cut score follows a move less than its slope says, as it does
    where rows differ in length: residuals of long rows are cut nearer. By how much, the next step tells:
    it goes what was left of the way, and both noises. Of the last step as much is taken to be left, and
    all of it to lie where that went: there the way is longest. In the direction of the longest step one
    counts less, as it may be off by a part of what it went there.
    """
    last = steps[-1].move
    length = np.array(_shares_left(steps)) * [float(np.linalg.norm(s.move)) for s in steps]
    weight = np.array([1 / step.variance for step in steps])
    weight /= weight.sum()
    way, along = _longest_way(steps)
    moves = np.array([step.move for step in steps])
    ends = moves + [step.anchor for step in steps]
    coef, move = (weight @ v + ((along - weight) @ (v @ way)) * way for v in (ends, moves))
    sd = np.array([step.noise_sd for step in steps])
    noise, more = float(np.linalg.norm(weight * sd)), float(np.sum((along**2 - weight**2) * sd**2))
    gone = float(weight @ length) * last / max(float(np.linalg.norm(last)), 1e-300)
    left = math.sqrt(max(more, 0.0)) * way, gone
    return Pooled(
        coef=coef,
        move=move,
        noise_sd=noise,
        left=tuple(one for one in left if one.any()),
        excess=float(weight @ [step.excess for step in steps]),
        most=float(weight @ [step.most for step in steps]),
    )


def _longest_way(steps: Sequence[Step]) -> tuple[Floats, Floats]:
    """The direction of the longest step, and the weights of all in it: they sum to one.

    Their variances there are larger by the squares of what they may be off by, but for the last one.
    """
    d, longest = len(steps[-1].move), max((s.move for s in steps), key=np.linalg.norm)
    way = longest / max(float(np.linalg.norm(longest)), 1e-300)
    variance, before = [], 0.0
    for step in steps:
        noise = step.noise_length**2
        gone = max(float(step.move @ way) ** 2 - (noise + before) / d, 0.0)
        off = 0.0 if step is steps[-1] else step.off
        variance.append(step.variance + off**2 * gone)
        before = noise
    weight = 1 / np.array(variance)
    return way, weight / weight.sum()


def pool_weighed(
    steps: Sequence[Step], hessian: Floats, lost: float, apart: bool = False
) -> Pooled:
    """Pool steps of which only the last counts far rows.

    As where long rows weigh less before it: each of the others is averaged in where it agrees with the
    last, at a chance of one in a hundred. The last step goes from the fit of weighed rows to that of
    all: ``hessian``, in which long rows are cut, may be too small by the share ``lost``, and the step
    by as much too long. ``apart``, as where long scores lean and are cut farther out: no other is
    averaged in, and all of the step that noise does not explain counts as an error, since the far rows
    and the others do not agree on one fit, and there may be farther ones that go on that way.
    """
    last = steps[-1]
    if len(steps) == 1:
        return pool_steps(steps)
    noise = last.noise_length**2 + steps[-2].noise_length ** 2
    square = float(last.move @ last.move)
    alike = [] if apart else [step for step in steps[:-1] if _agree(step, last)]
    pooled = pool_steps([*alike, last])
    seen = math.sqrt(max(1 - noise / max(square, 1e-300), 0.0))
    gone = seen * hessian @ last.move
    if not apart:
        return replace(pooled, left=(min(lost, 1.0) * gone,))
    size = max(float(np.linalg.norm(gone)), 1e-300)
    return replace(pooled, far=gone * as_error(size, last.noise_sd) / size)


def _agree(one: Step, other: Step) -> bool:
    """Whether two steps end at one fit, as far as their noises tell."""
    away = one.anchor + one.move - other.anchor - other.move
    noise, d = one.noise_length**2 + other.noise_length**2, len(away)
    return float(away @ away) < noise * gaussian_square(d, 0.99) / d


def as_error(bias: float, sd: float) -> float:
    """The standard error that allows for a bias of at most this size, beside another one, ``sd``.

    The 95 % interval of a normal estimate with a bias b has the half-length q sd, q^2 the quantile of
    the square of N(b/sd, 1) (Armstrong and Kolesar 2018). With this error it is as long, and shorter
    than if the bias were a standard error itself: by a half where it is much larger than ``sd``.

    Examples
    --------
    >>> round(as_error(0.1, 1.0), 3), round(as_error(1.0, 1.0), 3), round(as_error(100.0, 1.0), 1)
    (0.1, 0.907, 51.9)
    """
    times = bias / sd
    if times > 4:  # the other end of the interval is out of reach
        half = times + float(special.ndtri(0.95))
    else:
        half = math.sqrt(float(special.chndtrix(0.95, 1, times**2)))
    ratio = half / float(special.ndtri(0.975))
    return sd * math.sqrt(max(ratio * ratio - 1, 0.0))


def share_left(steps: Sequence[Step]) -> float:
    """What was left of the way of the last step, over its length; see `pool_steps`.

    What cuts leave shows in every pair of steps, noise in one: the smaller one of the last two counts.
    But after a step that is longer than the one before, as where far rows count in the last only, the
    next may be as long.
    """
    if len(steps) > 1 and _length_ratio(*steps[-2:]) > 1:
        return 1.0
    return min(_shares_left(steps)[:-1][-2:], default=0.0)


def _shares_left(steps: Sequence[Step]) -> list[float]:
    """What was left of the way of each step, over its length; 0 where noise may be all that is seen.

    Steps that go the share f of their way have lengths of ratio q = 1 - f, and leave (1 - f)/f.
    """
    ratios = [_length_ratio(*pair) for pair in itertools.pairwise(steps)]
    shares = [q / (1 - q) if q < 0.5 else 1.0 for q in ratios]
    return [*shares, shares[-1] if shares else 0.0]


def _length_ratio(step: Step, after: Step) -> float:
    """How long a step is that comes ``after`` another, without what noise explains.

    The squared length of the noises of both exceeds its mean N by 2 sqrt(2/d) N, two standard
    deviations, in one fit of fifty.
    """
    noise = step.noise_length**2 + after.noise_length**2
    gone = float(after.move @ after.move) - noise * (1 + 2 * math.sqrt(2 / len(step.move)))
    return math.sqrt(max(gone, 0.0) / max(float(step.move @ step.move), 1e-300))


@dataclass(frozen=True)
class Moved:
    """By how many standard errors cutting may have moved coefficients, if all of it had one direction.

    Attributes
    ----------
    expected, most : (d,) arrays
        By what is expected beyond the cuts, and by what that hardly exceeds.
    """

    expected: Floats
    most: Floats

    def of(self, change: Callable[[Floats], Floats]) -> Moved:
        """These numbers for other coefficients, or without some."""
        return Moved(change(self.expected), change(self.most))


@dataclass(frozen=True)
class Estimate:
    """A private fit in the user's coordinates; all that later post-processing needs.

    Attributes
    ----------
    coef : (d,) array
    sampling, privacy : (d, d) arrays
        The two independent parts of the covariance of ``coef``.
    dispersion : float or None
        Residual variance, or dispersion of a family; None when nothing was released or known.
    moments : (d, d) array
        Second moments of the design (information matrix of a family) used in the fit.
    root : (d, d) array
        W^-1: the noise of the moments in the user's coordinates is root' E root.
    moments_sd : float
        Noise sd per svec coordinate of E.
    n : int
        Rows behind the moments: private rows less the share that is empty.
    ridge : float
        Penalty in units of these moments.
    errors : {"iid", "hetero"}
        What ``sampling`` takes the variance of errors to be: constant, or anything (the sandwich).
    classical : (d, d) array or None
        ``sampling`` if the variance of errors were constant, where that is not it.
    dispersion_range : (float, float) or None
        Where a released residual variance lies, by its noise and by what a cut may have taken off.
    """

    coef: Floats
    sampling: Floats
    privacy: Floats
    dispersion: float | None
    moments: Floats
    root: Floats
    moments_sd: float
    n: int
    ridge: float
    errors: str = "iid"
    classical: Floats | None = None
    dispersion_range: tuple[float, float] | None = None

    @property
    def vcov(self) -> Floats:
        """Covariance of the coefficients: sampling plus privacy."""
        return self.sampling + self.privacy


def moments_least_squares(
    moment: Floats, cross: Floats, square: float, m: int | None, back: Floats | None = None
) -> tuple[Floats, float | None]:
    """Least squares of public moments: coefficients, and the residual variance.

    On m - d degrees of freedom, where there are any (else None); as it is, where m is not known.
    ``back``: what whitens them, if it is there already.
    """
    d, back = len(moment), equilibrated_whitening(moment).back if back is None else back
    coef = back @ (back.T @ cross)
    rest = max(square - float(cross @ coef), 0.0)
    if m is None:
        return coef, rest
    return coef, rest * m / (m - d) if m > d else None


def public_least_squares(
    moment: Floats, cross: Floats | None, square: float | None, m: int | None
) -> Estimate | None:
    """The fit of the public rows by themselves; None where moments do not say that much."""
    if cross is None or square is None or m is None:
        return None
    back = equilibrated_whitening(moment).back
    coef, variance = moments_least_squares(moment, cross, square, m, back)
    if variance is None:
        return None
    return not_private(coef, variance / m * (back @ back.T), variance, moment, m)


def not_private(
    coef: Floats, sampling: Floats, dispersion: float, moments: Floats, n: int
) -> Estimate:
    """A fit of public rows: no noise in it, and none in its moments."""
    zero = np.zeros_like(moments)
    return Estimate(coef, sampling, zero, dispersion, moments, zero, 0.0, n, 0.0)


def matrix_noise_covariance(vector: Floats, sd: float, isometric: bool = True) -> Floats:
    """Covariance of G v for symmetric Gaussian G.

    svec noise (sd on the diagonal, sd/sqrt(2) off it): (sd^2/2)(|v|^2 I + v v'). The papers' noise
    (sd in every entry of the upper triangle): sd^2 (|v|^2 I + v v' - diag(v^2)).
    """
    square = float(vector @ vector) * np.eye(len(vector)) + np.outer(vector, vector)
    if isometric:
        return sd**2 / 2 * square
    return sd**2 * (square - np.diag(vector**2))


def in_user_units(
    coef: Floats,
    hessian: Floats,
    curvature: Floats,
    noise_covariance: Floats,
    dispersion: float | None,
    efficiency: float,
    whitening: Whitening,
    moments_sd: float,
    n: int,
    ridge: float,
    filled: float = 1.0,
    meat: Floats | None = None,
) -> Estimate:
    """Carry a whitened solution and its two covariances back to the user's coordinates.

    The error of the solution is H^-1 (g - G move) for the privacy part, and sampling leaves
    H^-1 S H^-1 / n, with H = A + P and S the ``meat``, dispersion * efficiency A where none is given.
    Means over n rows of which a share 1 - ``filled`` is empty become means over the filled ones:
    moments / filled of n * filled rows.
    """
    back, root = whitening.back, whitening.root
    hessian, inverse = with_inverse(hessian)
    spread = np.nan if dispersion is None else dispersion
    straight = _unbent(hessian, moments_sd)
    outside = back @ straight @ inverse

    def of(meat: Floats) -> Floats:
        return symmetric(outside @ meat @ outside.T) / n

    classical = of(spread * efficiency * curvature)
    privacy = inverse @ noise_covariance @ inverse
    return Estimate(
        coef=back @ coef,
        sampling=classical if meat is None else of(meat),
        privacy=symmetric(back @ privacy @ back.T),
        dispersion=dispersion,
        moments=symmetric(root.T @ curvature @ root) / filled,
        root=root,
        moments_sd=moments_sd / filled,
        n=max(round(n * filled), 1),
        ridge=ridge / filled,
        errors="iid" if meat is None else "hetero",
        classical=None if meat is None else classical,
    )


def papers_solution(
    coef: Floats,
    move: Floats,
    matrix: Release,
    vector: Release,
    penalty: Floats,
    dispersion: float | None,
    whitening: Whitening,
    n: int,
    ridge: float,
    filled: float = 1.0,
) -> tuple[Estimate, ReleasedSystem, bool, bool]:
    """A papers' algorithm: coefficients that ``move`` from an anchor by this noisy matrix and vector.

    With them: whether the matrix is positive definite, and whether it stands out from its noise in all
    directions; elsewhere errors are not given.
    """
    sd, spread = matrix.noise_sd, matrix.noise_sd * math.sqrt(2)
    used = floored(matrix.value, sd / 2)  # for what follows; coef is theirs
    noise = vector.noise_sd**2 * np.eye(len(coef))
    noise = noise + matrix_noise_covariance(move, sd, isometric=False)
    estimate = in_user_units(
        coef, used + penalty, used, noise, dispersion, 1.0, whitening, spread, n, ridge, filled
    )
    system = ReleasedSystem(
        matrix.value, matrix.value, sd, False, penalty, move, vector.noise_sd, whitening.back
    )
    smallest = float(np.linalg.eigvalsh(matrix.value)[0])
    resolved = smallest > 1.5 * sd
    return estimate if resolved else without_errors(estimate), system, smallest > 0, resolved


def without_errors(estimate: Estimate, which: NDArray[np.bool_] | None = None) -> Estimate:
    """The estimate without covariances, of ``which`` coefficients, where no honest ones exist."""
    lost = np.ones(len(estimate.coef), dtype=np.bool_) if which is None else which
    return with_covariances(estimate, lost, np.nan)


def with_covariances(estimate: Estimate, which: NDArray[np.bool_], value: float) -> Estimate:
    """The estimate with one value in place of all covariances of some coefficients."""

    def of(matrix: Floats) -> Floats:
        return np.where(which[:, None] | which, value, matrix)

    classical = None if estimate.classical is None else of(estimate.classical)
    return replace(
        estimate,
        sampling=of(estimate.sampling),
        privacy=of(estimate.privacy),
        classical=classical,
    )


def without_hidden(
    estimate: Estimate, back: Floats, curvature: Curvature, few: NDArray[np.bool_]
) -> Estimate:
    """Without the errors of coefficients that rest on hidden directions, where all are of ``few``.

    These are hidden as few rows have them, who matter little to others. A column that noise hides since
    it is in other units than public rows may matter to all coefficients: then none has an error.
    """
    directions = hidden_directions(curvature)
    known = directions.size and bool(lie_in(back, directions, few).all())
    return without_errors(estimate, rest_on_hidden(back, curvature) if known else None)


def lie_in(back: Floats, directions: Floats, columns: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether more than half of each direction of whitened rows is in some columns, by their sizes."""
    size = np.linalg.norm(np.linalg.inv(back), axis=0)
    square = (size[:, None] * (back @ directions)) ** 2
    return np.asarray(square[columns].sum(axis=0) / square.sum(axis=0) > 0.5)


def where_given(values: Floats, estimate: Estimate) -> Floats:
    """Values of coefficients, NaN for those without an error."""
    given = np.isfinite(np.diag(estimate.sampling))
    return np.asarray(np.where(given, values, np.nan))


def without_columns(estimate: Estimate, which: NDArray[np.bool_] | None = None) -> Estimate:
    """The estimate without coefficients, or zero for ``which``, where rows tell nothing of them."""
    if which is None:
        return replace(without_errors(estimate), coef=np.full_like(estimate.coef, np.nan))
    return replace(estimate, coef=np.where(which, 0.0, estimate.coef))


def least_visible(curvature: Curvature) -> float:
    """The smallest eigenvalue that its noise does not hide."""
    return _VISIBLE * curvature.released_sd * math.sqrt(2 * len(curvature.released))


def hidden_directions(curvature: Curvature) -> Floats:
    """Directions that the noise of the curvature hides, (d, k)."""
    values, vectors = np.linalg.eigh(curvature.released)
    return np.asarray(vectors[:, values < least_visible(curvature)])


def rest_on_hidden(back: Floats, curvature: Curvature) -> NDArray[np.bool_]:
    """Coefficients b = back t that rest on a direction which the noise of the curvature hides.

    Hidden is what lies below `_VISIBLE` times the largest eigenvalue that noise alone has; a coefficient
    rests on it where more than `_RESTING` of its squared length does.
    """
    along = (back @ hidden_directions(curvature)) ** 2
    return np.asarray(along.sum(axis=1) > _RESTING * (back**2).sum(axis=1))


def _unbent(hessian: Floats, sd: float) -> Floats:
    """Root of the factor by which inverting a noisy matrix overstates the inverse on average.

    E[G B G] = sd^2/2 (B + tr(B) I) for svec noise G, so that E[(H + G)^-1] is H^-1 (1 + sd^2/2 (H^-1 +
    tr(H^-1)) H^-1) to second order. The correction is applied in the eigenbasis and never takes more
    than half.
    """
    values, vectors = np.linalg.eigh(hessian)
    excess = sd**2 / 2 * (1 / values + (1 / values).sum()) / values
    result: Floats = (vectors * np.sqrt(np.maximum(1 - excess, 0.5))) @ vectors.T
    return result


def residual_variance(
    mean_square: float,
    filled: float,
    curvature: Floats,
    move: Floats,
    move_covariance: Floats,
    n: int,
    floor: float,
    absorbed: float = 0.0,
) -> float:
    """Residual variance of the fit from the mean squared residual at the last anchor.

    The mean square at an anchor exceeds that of the fit by move' A move; the move carries noise of
    known covariance, which is taken off again. Divided by the degrees of freedom, less the
    ``absorbed`` effects, never below ``floor``.
    """
    d = len(move)
    excess = float(move @ curvature @ move) - float(np.trace(curvature @ move_covariance))
    at_fit = mean_square - max(excess, 0.0)
    return max(at_fit * n / max(filled * n - absorbed - d, 1.0), floor)


def filled_share(empty_share: float, noise_sd: float) -> float:
    """Share of rows that count, from the released share of empty ones: 1 unless some surely are."""
    return 1.0 if empty_share < 3 * noise_sd else max(1.0 - empty_share, 0.01)


@np.errstate(all="ignore")  # responses may be of any size
def r_squared(estimate: Estimate, intercept: int | None) -> tuple[float, float] | None:
    """R^2 and adjusted R^2 as in R: about the mean when there is an intercept, else about zero.

    None where they are not known, or numbers are too large to square.
    """
    if estimate.dispersion is None:
        return None
    plain = _share_explained(estimate, _explained(estimate, intercept)[0], estimate.dispersion)
    if not math.isfinite(plain):
        return None
    lost = 0 if intercept is None else 1
    freedom = max(estimate.n - len(estimate.coef), 1)
    return plain, 1 - (1 - plain) * (estimate.n - lost) / freedom


@np.errstate(all="ignore")  # responses may be of any size
def r_squared_range(estimate: Estimate, intercept: int | None) -> tuple[float, float] | None:
    """Where R^2 lies: two standard deviations of the noise of what is explained, what noise adds to it
    in the mean, and the range of the residual variance. None where noise of coefficients is not known,
    or numbers are too large to square.
    """
    limits, noise = estimate.dispersion_range, estimate.privacy
    if limits is None or np.isnan(noise).any():
        return None
    explained, inner, c = _explained(estimate, intercept)
    by_noise = inner @ noise
    variance = 4 * float(c @ by_noise @ inner @ c) + 2 * float(np.sum(by_noise * by_noise.T))
    of_moments = estimate.moments_sd * float(np.sum((estimate.root @ c) ** 2))
    unsure = 2 * math.hypot(math.sqrt(max(variance, 0.0)), of_moments)
    low, high = max(explained - unsure - float(np.trace(by_noise)), 0.0), explained + unsure
    found = _share_explained(estimate, low, limits[1]), _share_explained(estimate, high, limits[0])
    return found if all(map(math.isfinite, found)) else None


def _share_explained(estimate: Estimate, explained: float, variance: float) -> float:
    rest = variance * max(estimate.n - len(estimate.coef), 1) / estimate.n
    return explained / (explained + rest) if explained + rest > 0 else 0.0


def _explained(estimate: Estimate, intercept: int | None) -> tuple[float, Floats, Floats]:
    """Variance that is explained, c'Mc, with M about means; and M, and c.

    Of the coefficients c the constant, if there is one, is such that the mean is zero: then the noise of
    moments, root'E root, adds c'root'E root c to first order, means and all, of the standard deviation
    sd |root c|^2. Noise of covariance P adds trace(MP) in the mean, with a variance of 4 c'MPMc + 2
    trace(MPMP).
    """
    moments, c = estimate.moments, estimate.coef.copy()
    if intercept is None:
        return max(float(c @ moments @ c), 0.0), moments, c
    means = moments[intercept] / moments[intercept, intercept]
    c[intercept] -= float(means @ c)
    about = moments - np.outer(means, moments[intercept])
    return max(float(c @ moments @ c), 0.0), about, c
