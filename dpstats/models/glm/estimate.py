"""Generalised linear models from private scores and information matrices.

Notation as in `linear`: rows are whitened, z = W'x, coefficients are t = W^-1 b. At an anchor t a round
releases the mean score s = (1/n) sum z r and the mean information A = (1/n) sum h z z', h the expected
curvature of the log-likelihood by the linear predictor at unit dispersion. P = ridge W'W.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from dpstats.arrays import Floats
from dpstats.models.glm.family import Family, RareOutcome
from dpstats.numerics.matrices import (
    Curvature,
    Whitening,
    equilibrated_inverse,
    equilibrated_whitening,
    quadratic_forms,
    shrink_second_moment,
    with_inverse,
)
from dpstats.numerics.public_rows import PublicRows
from dpstats.score_rounds.cuts import gaussian_lengths, loss_of, most_of
from dpstats.score_rounds.estimate import Estimate, Step
from dpstats.score_rounds.tails import Tail

BLEND = 0.2
"""Share of second moments in a whitening by information."""
_ENOUGH_ROWS = 2000
_FINE = 151  # lengths at which a tail is read: a mean over all of them moves by less than 1e-3
_HIDING = 4.0  # rows that an octave may hide, in noises of a bin: two deviations of the sum of four
_FARTHEST = 3.0  # change of a linear predictor within which a quadratic is believed
_LANDS = 4.0  # the same within which a model of the rows is
_BEYOND_NOISE = 3.0  # standard deviations of a coefficient's step


@dataclass(frozen=True)
class Expected:
    """Scores that rows can have under the model, (k, d), and the share of all rows that has each.

    No public response is needed. Rare outcomes, and rows of rare levels, have long scores: too few to be
    seen in a noisy histogram, too many to be cut.
    """

    scores: Floats
    share: Floats

    def loss(self) -> Callable[[Floats], Floats]:
        """What cutting to a length takes off the mean score, as a length itself.

        Where long scores balance each other, nothing is lost.
        """
        size = self._size()
        grid = np.geomspace(1e-3 * size.max(), 1.01 * size.max(), 80)
        kept = np.maximum(1 - grid[:, None] / size, 0.0) * self.share
        lost = np.linalg.norm(kept @ self.scores, axis=1)
        return lambda length: np.asarray(np.interp(length, grid, lost))

    def lost(self, length: float) -> Floats:
        """What cutting to a length takes off the mean score."""
        beyond = np.maximum(1 - length / self._size(), 0.0)
        return np.asarray((beyond * self.share) @ self.scores)

    def turned(self, turn: Floats) -> Expected:
        """What is expected of rows A z, A symmetric."""
        return Expected(self.scores @ turn, self.share)

    def information_beyond(self, length: float) -> float:
        """Share of the information that is in what scores have beyond a length, counted once at most."""
        size = self._size()
        beyond = np.clip(size - length, 0.0, length)
        return float(self.share @ (size * beyond)) / max(float(self.share @ size**2), 1e-300)

    def _size(self) -> Floats:
        return np.asarray(np.maximum(np.linalg.norm(self.scores, axis=1), 1e-300))


def expected_scores(
    family: Family,
    rows: PublicRows,
    whitening: Whitening,
    coef: Floats,
    trials: Floats | None = None,
    used: float = 1.0,
) -> Expected | None:
    """What rows like these are expected to have, a share ``used`` of all.

    ``trials``: over how many their responses are averages. None where a family does not say its
    responses, or they are no numbers.
    """
    some = slice(_ENOUGH_ROWS)
    z = rows.x[some] @ whitening.back
    eta = rows.x[some] @ coef + rows.offset[some]
    outcomes = family.outcomes(eta, None if trials is None else trials[some])
    if outcomes is None:
        return None
    working = [family.working(eta, y)[0] * rows.weight[some] for y, _ in outcomes]
    scores = np.concatenate([z * r[:, None] for r in working])
    share = used * np.concatenate([p for _, p in outcomes]) / len(eta)
    return Expected(scores, share) if np.isfinite(scores).all() else None


def public_fit(
    family: Family,
    rows: PublicRows,
    whitening: Whitening,
    first: Floats,
    strength: float = 1.0,
) -> Floats:
    """Fit of the public rows under a weak prior, from ``first``; ``strength`` times as strong.

    The prior is N(0, I) on whitened coefficients, worth one public row; and, but for identity links,
    N(0, 2.5^2) on what each column can change the linear predictor by beside those before it
    (`PublicRows.reach`), which keeps the fit finite and near where rows are separated, as those of a
    rare level are (Gelman et al. 2008). Newton steps are
    halved until the penalised deviance falls.
    """
    z = rows.x @ whitening.back
    prior = np.eye(z.shape[1])
    if not family.linear:
        reach = rows.reach() @ whitening.back / 2.5
        prior += reach.T @ reach
    prior *= strength

    def loss(t: Floats) -> float:
        eta = z @ t + rows.offset
        return family.deviance(eta, rows.y, rows.weight) / 2 + float(t @ prior @ t) / 2

    t = whitening.root @ first
    at = loss(t)
    for _ in range(100):
        r, h, _ = rows.working(family, whitening.back @ t)
        step = np.linalg.solve((z * h[:, None]).T @ z + prior, z.T @ r - prior @ t)
        length = 1.0
        while not loss(t + length * step) <= at and length > 1e-9:
            length /= 2
        t, before = t + length * step, at
        at = loss(t)
        if not abs(before - at) > 1e-10 * (1 + abs(before)):
            break
    return whitening.back @ t


def unbiased_fit(family: Family, rows: PublicRows, whitening: Whitening, first: Floats) -> Floats:
    """Fit of public rows with responses between 0 and 1 whose coefficients are about the right size.

    Maximum likelihood of few rows exaggerates, a prior shrinks. Half a success and half a failure for
    each coefficient, shared out by leverage, take off the bias of first order (Firth 1993).
    """
    coef = first
    for _ in range(8):
        z = rows.x @ whitening.back
        h = rows.working(family, coef)[1]
        inverse = np.linalg.inv((z * h[:, None]).T @ z + 1e-3 * np.eye(z.shape[1]))
        leverage = quadratic_forms(z, inverse) * h
        weight = rows.weight + leverage
        # a row without weight has no leverage either
        y = (rows.y * rows.weight + leverage / 2) / np.where(weight > 0, weight, 1.0)
        shared = PublicRows(rows.x, y, rows.offset, weight)
        coef = public_fit(family, shared, whitening, coef, strength=1e-3)
    return coef


def moments_fit(
    moment: Floats, cross: Floats, intercept: int | None, first: Floats, slope: float
) -> Floats:
    """One Newton step from the null model ``first``, from public second moments alone.

    At a constant mean m with slope m' = ``slope`` the score is S^-1 (cross - m x_mean)/m': moments with
    the response are enough. ``first`` is the null model (its only entry is the intercept's), and without
    an intercept nothing is known of the mean of the rows: then ``first`` stands.
    """
    if intercept is None:
        return first
    rest = cross - cross[intercept] * moment[intercept]
    return np.asarray(first + np.linalg.solve(moment, rest) / slope)


def information_whitening(information: Floats, moment: Floats, unseen: Floats) -> Whitening:
    """Whitening by the public information matrix, a fifth of it by the second moment.

    In coordinates where the information is the identity, noise that is alike in all directions is alike
    in units of standard errors. The second moment, at the mean curvature, stands in for directions in
    which the public fit is extreme and its curvature is lost. ``unseen`` is added to both
    (`PublicRows.unseen`).
    """
    mean = float(np.trace(np.linalg.solve(moment, information))) / len(moment)
    second = mean * (BLEND * moment + unseen)
    return equilibrated_whitening((1 - BLEND) * information + second)


@dataclass(frozen=True)
class ReleasedInformation:
    """A released information matrix, its noise sd per svec coordinate, and how far from it we are.

    ``drift`` is the relative change of the curvature since: about the change of linear predictors.
    ``expected``: what a model of the rows says it is at its anchor.
    """

    matrix: Floats
    sd: float
    drift: float = 0.0
    expected: Floats | None = None

    def turned(self, back: Floats) -> ReleasedInformation:
        """The information of rows ``back`` z, a symmetric matrix; the noise averages over directions."""
        sd = self.sd * float((back**2).sum()) / len(back)
        expected = None if self.expected is None else back @ self.expected @ back
        return replace(self, matrix=back @ self.matrix @ back, sd=sd, expected=expected)


def pool_information(
    seen: Sequence[ReleasedInformation], expected: float, known: bool = True
) -> Curvature:
    """Average of what the rounds released, by inverse variance and drift, shrunk for use.

    What was released on the way drifts by a share of itself, or of what there is in the end: it is
    larger where outcomes turn out to be rarer, and smaller where counts turn out to be larger.
    """
    level = [abs(float(np.trace(s.matrix))) / len(s.matrix) for s in seen]
    error = np.array(
        [
            math.hypot(s.sd, min(s.drift, 1e6) * max(own, level[-1]))
            for s, own in zip(seen, level, strict=True)
        ]
    )
    weight = (error.min() / error) ** 2
    weight /= weight.sum()
    matrix = np.asarray(sum(w * s.matrix for w, s in zip(weight, seen, strict=True)))
    sd = math.hypot(*(w * s.sd for w, s in zip(weight, seen, strict=True)))
    return shrink_second_moment(matrix, sd, expected, known)


@dataclass(frozen=True)
class StepRange:
    """How far a step moves linear predictors, from public numbers.

    Attributes
    ----------
    metric : (d, d) array
        Second moment of whitened rows, public or released.
    rows : (k, d) array or None
        Whitened public rows, when there are some.
    linear : bool
        The link is the identity: no step is too long.
    bend : float
        Share of a step, per unit of change in linear predictors, that a Newton step may leave behind:
        1/2 for curvatures that change like the predictor, more where they grow exponentially with it.
    weight : (k,) array or float
        What the rows weigh.
    """

    metric: Floats
    rows: Floats | None
    linear: bool
    bend: float = 0.5
    weight: Floats | float = 1.0

    def typical(self, move: Floats) -> float:
        """Root mean square change."""
        return 0.0 if self.linear else math.sqrt(max(float(move @ self.metric @ move), 0.0))

    def largest(self, move: Floats) -> float:
        """Change that few rows exceed."""
        if self.linear:
            return 0.0
        if self.rows is None:
            return 2 * self.typical(move)
        return float(np.quantile(np.abs(self.rows @ move), 0.998))

    def lengths(self) -> Floats:
        """Lengths of the public rows, times what these weigh: how long a score may be.

        Without public rows those of Gaussian ones of the same mean square.
        """
        if self.rows is None:
            d = len(self.metric)
            lengths = gaussian_lengths(d) * math.sqrt(float(np.trace(self.metric)) / d)
        else:
            lengths = np.linalg.norm(self.rows, axis=1)
        return np.asarray(self.weight * lengths)


def loss_with_unseen(
    loss: Callable[[Floats], Floats] | None,
    reach: StepRange,
    noise: float,
    rare: RareOutcome,
    longer: Tail | None = None,
) -> Callable[[Floats], Floats]:
    """The expected ``loss`` of a cut of scores, at least that of rare outcomes which nothing shows.

    The score of a rare outcome is as long as its row, or longer, however short all others are. As many
    as the noise of a histogram hides may be beyond the cut: ``noise`` is that of one count, a share of
    the rows, and the lengths of such scores spread over an octave. A cut that follows the other scores
    down takes nearly all that rare outcomes say: the next step then makes them rarer still, the other
    scores shorter, and the fit runs away with ever smaller errors. ``rare`` is the rarer outcome in the
    fit; where both are alike, scores balance. ``longer`` tells how long rows with outcomes of one or
    zero are: those of one level may not balance (`loss_by_imbalance`). Scores of other links than a
    logit's are taken to be longer by as much as those of the rarer outcome are.
    """
    share = max(_HIDING * noise, (1 - 2 * rare.share) * rare.share)
    parts = [loss_of(share, rare.score * reach.lengths())]
    parts += [] if loss is None else [loss]
    if longer is not None:
        parts += [loss_by_imbalance(longer.scaled(rare.score / (1 - rare.share)))]
    return most_of(*parts)


def loss_by_imbalance(longer: Tail) -> Callable[[Floats], Floats]:
    """What cutting scores of ones and zeros to a length may take off the mean score.

    A row of length l has the score (1 - p) l with probability p, else -p l. Where the two are cut
    alike nothing is lost on average; but all rows that are so long, as those of a rare level, may have
    the same p, and one score of theirs is beyond the cut u l and the other is not. Then, for p below
    1/2, p (1 - p - u) l is lost, less (1 - p)(p - u) l where p > u, and as much the other way for
    1 - p. Nothing is known of p: its square is taken on average over all p, which is
    (1 - u)^5/15 from u = 1/2 on; below, of what is largest near u = 0.3, the integral.

    Examples
    --------
    >>> tail = Tail(np.array([4.0, 6.0]), np.array([0.02, 0.0]))
    >>> loss_by_imbalance(tail)(np.array([1.0, 2.5, 4.0, 5.0])).round(4)
    array([0.0078, 0.0046, 0.0005, 0.    ])
    """
    some = np.unique(np.linspace(0, len(longer.lengths) - 1, _FINE).astype(int))
    share, lengths = -np.diff(longer.share[some]), longer.lengths[some]
    size = (lengths[1:] + lengths[:-1]) / 2

    def lost(length: Floats) -> Floats:
        u = np.clip(length[:, None] / size, 0.3, 1.0)
        left, within = 1 - u, np.minimum(u, 1 - u)  # p up to which one score is beyond the cut
        both = np.maximum(1 - 2 * u, 0.0)
        twice = within * within * within * (left * (2 / 3 * left - within) + 0.4 * within * within)
        twice += u * u * (both * both * both) / 3
        return np.asarray(np.sqrt(twice) @ (share * size))

    return lost


@dataclass(frozen=True)
class GlmStep:
    """A Newton step, and what is known of the error of where it lands.

    Attributes
    ----------
    step : Step
    damped : bool
        The full step would have left the region in which a quadratic is believed.
    relative : float
        Error of the matrix over the matrix: what a step leaves behind of its length.
    error : float
        Expected distance from the noiseless fit after the step, in whitened coordinates.
    bend : float
        What the change of the curvature along the step, and expected information, contribute to it.
    noise : float
        What the noise of the score contributes to it.
    remainder : float
        Share of the step's length that the change of the curvature may leave of the way.
    """

    step: Step
    damped: bool
    relative: float
    error: float
    bend: float
    noise: float
    remainder: float

    @property
    def arrived(self) -> bool:
        """Whether noise is all that is left of the way."""
        return not self.damped and self.error**2 < 1.3 * self.noise**2

    def turned(self, root: Floats) -> GlmStep:
        """In coordinates ``root`` t, a symmetric matrix; lengths on average over directions."""
        size = float(np.linalg.norm(root)) / math.sqrt(len(root))
        step = replace(
            self.step,
            anchor=root @ self.step.anchor,
            move=root @ self.step.move,
            noise_length=size * self.step.noise_length,
        )
        error, bend, noise = size * self.error, size * self.bend, size * self.noise
        return replace(self, step=step, error=error, bend=bend, noise=noise)

    @property
    def far(self) -> bool:
        """Whether the change of the curvature matters more than all noise."""
        return self.error < math.sqrt(2) * self.bend


class LandsInModel(Protocol):
    """A model of the rows that says where a step ends whose information changes along it."""

    def landing(self, anchor: Floats, move: Floats, penalty: Floats, farthest: float) -> Floats: ...

    def largest(self, move: Floats) -> float: ...


def trusted_step(
    curvature: Curvature,
    penalty: Floats,
    anchor: Floats,
    score: Floats,
    noise_sd: float,
    slope: float,
    reach: StepRange,
    scoring: float,
    model: LandsInModel | None = None,
    by_chance: float = 0.0,
) -> GlmStep:
    """Newton step (M + P) move = s/kappa - P anchor, damped where it would move too far.

    A step that changes linear predictors by more than 3 is replaced by the longest Levenberg-Marquardt
    step (M + P + damp metric) that does not; with a ``model`` it ends where that says, and goes by 4 at
    most. ``scoring`` is the relative difference of expected and observed information, 0 for
    canonical links. ``by_chance``: a score that is no longer than that is noise, which the error of the
    step counts: it ends where it may, since only a few public rows, far out, may move far by it.
    """
    d = len(anchor)
    right = score / slope - penalty @ anchor
    hessian, inverse = with_inverse(curvature.used + penalty)
    move = np.linalg.solve(hessian, right)
    if model is not None:
        move = model.landing(anchor, move, penalty, _LANDS)
        damped = model.largest(move) > 0.99 * _LANDS
    elif damped := reach.largest(move) > _FARTHEST and float(right @ right) > by_chance**2:
        unit = reach.metric * (np.trace(hessian) / np.trace(reach.metric))
        move = _longest(lambda damp: np.linalg.solve(hessian + damp * unit, right), reach.largest)
    relative = curvature.relative_error(inverse)
    change = min(reach.typical(move), 2.0)
    size = float(move @ move)
    remainder = math.hypot(reach.bend * change, 1.0 if damped else 0.0)
    bend = ((remainder * curvature.bent) ** 2 + scoring**2) * size
    left_behind = relative * relative * size + bend
    relative = math.hypot(relative, scoring)
    sd = noise_sd / slope
    spread = sd**2 * float((inverse**2).sum())
    step = Step(anchor, move, sd, math.sqrt(spread), (spread + left_behind) / d)
    error = math.sqrt(spread + left_behind)
    parts = math.sqrt(bend), math.sqrt(spread)
    return GlmStep(step, damped, relative, error, *parts, remainder)


def half_back(step: GlmStep, before: Step, hessian: Floats, back: Floats) -> GlmStep:
    """The step, where it takes coefficients back by more than half of the step ``before`` it: by half.

    Information that few rows have, as of a number that is zero in nearly all of them, changes much
    within a step whose typical change of linear predictors is small. Newton steps then go back and forth
    over the answer, and may do so for ever; by halves they end there. The other coefficients go on to
    where the quadratic is best beside these: the step is its optimum under A move = l. What noise
    explains is left as it is. ``back``: coefficients of columns are ``back`` t.
    """
    move, inverse = step.step.move, with_inverse(hessian)[1]
    was, now = back @ before.move, back @ move
    # the step makes good for the noise of the one before
    sd = math.hypot(step.step.noise_sd, before.noise_sd)
    noise = sd * np.linalg.norm(back @ inverse, axis=1)
    far = np.maximum(np.abs(was) / 2, _BEYOND_NOISE * noise)
    turned = (was * now < 0) & (np.abs(now) > far)
    if not turned.any():
        return step
    some = back[turned]
    gain = inverse @ some.T @ equilibrated_inverse(some @ inverse @ some.T)
    move = move - gain @ (now - np.sign(now) * far)[turned]
    size = float(move @ move)
    halved = replace(step.step, move=move, variance=step.step.variance + size / len(move))
    error, bend = math.sqrt(step.error**2 + size), math.sqrt(step.bend**2 + size)
    remainder = math.hypot(step.remainder, 1.0)
    return replace(step, step=halved, damped=True, error=error, bend=bend, remainder=remainder)


def _longest(move: Callable[[float], Floats], size: Callable[[Floats], float]) -> Floats:
    """The step with the smallest damping that stays within reach, by bisection of its logarithm."""
    low, high = 1e-6, 1e6
    for _ in range(50):
        middle = math.sqrt(low * high)
        if size(move(middle)) > _FARTHEST:
            low = middle
        else:
            high = middle
    return move(high)


def left_by_one_step(
    larger: Estimate, smaller: Estimate, kept: Sequence[int], level: float, bend: float
) -> Floats:
    """By how much one Newton step to a sub-model may miss each of its coefficients.

    What is left out changes linear predictors by D, and the step leaves the score that is the mean of
    bend h z D^2/2, with ``bend`` the relative change of the curvature h by the linear predictor. In the
    direction of the constant that is bend/2 times q, the mean of h D^2, which released information
    tells; in others it is taken to be as long in its own errors, bend q / (2 sqrt(level)), ``level`` the
    mean of h.
    """
    moved = larger.coef.copy()
    moved[list(kept)] -= smaller.coef
    square = max(float(moved @ larger.moments @ moved), 0.0)
    length = bend * square / (2 * math.sqrt(max(level, 1e-300)))
    inverse = np.linalg.inv(smaller.moments + smaller.ridge * np.eye(len(kept)))
    return np.asarray(length * np.sqrt(np.maximum(np.diag(inverse), 0.0)))


def near_enough(
    last: GlmStep, reach: StepRange, less: float, n: int, level: float, usual: float
) -> bool:
    """Whether one more round, the last, would leave little behind.

    The next step starts at distance ``last.error`` and leaves the matrix error and half the change of
    the curvature of it behind, at worst. Another round takes 7 to 18 % of the budget from the last one:
    it is worth it while more than the last one's noise, ``less`` times that of this step, may be left
    behind; or while the information, read at the anchor, may be off by more than that noise is to
    sampling. The noise counts less where rows hold less information than ``usual``, on the mean
    ``level``: there outcomes are rare, and fewer rounds would end too far away.
    """
    if last.damped:
        return False
    d = len(last.step.move)
    change = last.error * math.sqrt(float(np.trace(reach.metric)) / d) * (not reach.linear)
    left_behind = (last.relative + reach.bend * change) * last.error
    noise = less * last.noise * min(level / usual, 1.0)
    return left_behind < noise and change < 3 * noise * math.sqrt(n * max(level, usual) / d)
