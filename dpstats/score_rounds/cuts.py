"""How a budget is divided and where rows are cut: choices from public or released numbers only.

The unit of the predictions is the residual standard deviation, and rows are whitened: a
least-squares coordinate has sampling variance 1/n.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from dpstats.arrays import Floats
from dpstats.mechanism.release import Release
from dpstats.numerics.histogram import LogHistogram
from dpstats.score_rounds.tail_laws import mean_excess
from dpstats.score_rounds.tails import Tail, counted_excess, most_excess

_BLURRED = 0.2
"""Noise of a mean square, over the square of the scale, beyond which it would say little."""
DROWNING = 0.3
"""Largest eigenvalue of the noise of second moments, beside which they are 1."""
_LOUD, _TOO_MUCH = 0.6, 0.15
"""The same where a quieter cut takes more than that off their mean."""
_UNSEEN = 0.03
"""Noise of a mean square, over what normal errors alone leave of it, that nobody would see."""
_NOTHING = 1e-4
"""Share of a standard error that is as good as nothing."""
_BODY = 2.0  # multiples below which counts say nothing of tails
_LENGTHS, _EVERY = 40, 4
_END = 9.0
"""Standard deviations beyond which a normal law has nothing that counts: 1e-20 of it."""
WIDENING = 0.2
"""Share of what cuts take off the scores that standard errors count, where scores may be of any size."""
_HARDLY = 0.99
"""Probability with which a cut takes off no more than what errors allow for."""
PRODUCT_QUANTILE = 1.65  # 90 % quantile of |normal| * chi_d / sqrt(d), 1.645 to 1.68 for d >= 3


@dataclass(frozen=True)
class Tails:
    """What is believed of tails before any is seen.

    Attributes
    ----------
    skew : float
        Share of the mass beyond a cut that asymmetric errors may leave unbalanced.
    heavy : float
        Tail mass beyond c that real errors keep, falling as c^-3.
    """

    skew: float
    heavy: float


ERRORS = Tails(skew=0.5, heavy=0.05)  # of linear models
BOUNDED = Tails(skew=1.0, heavy=0.05)  # scores of responses between 0 and 1
SKEWED = Tails(skew=1.0, heavy=0.2)  # scores of counts, costs and waiting times


@dataclass(frozen=True)
class Clip:
    """Where a score round cuts, and what cutting there does under normal errors.

    Attributes
    ----------
    multiple : float
        c: the clip in units of sqrt(d) residual standard deviations.
    unit : float
        The residual standard deviation that the scores' quantile stands for.
    score : float
        Bound for |z e|.
    slope : float
        kappa = P(|N(0,1)| < c): the score of an uncut row moves one for one with the coefficients, the
        score of a cut row does not.
    efficiency : float
        Variance of the cut score over that of the uncut one.
    lost : float
        Mean length of scores seen beyond the cut, in units of sqrt(d) residual standard deviations: by
        how much, per coordinate, skewed errors may move the fit.
    heavy : bool
        Whether a tail heavier than the normal one was seen.
    """

    multiple: float
    unit: float
    score: float
    slope: float
    efficiency: float
    lost: float
    heavy: bool


@dataclass(frozen=True)
class Cut:
    """Where the scores of a round are cut, and what that does.

    Attributes
    ----------
    length : float
        The longest score.
    slope : float
        kappa, the share of rows that are not cut: their scores move one for one with the coefficients,
        those of cut rows do not.
    excess : float
        Mean length of scores beyond the cut, over all rows: the most that cutting may do to their mean.
    unit : float
        The residual standard deviation that the scores' 90 % quantile stands for.
    efficiency : float
        Variance of the cut score over that of the uncut one, where errors have constant variance.
    """

    length: float
    slope: float
    excess: float
    unit: float
    efficiency: float = 1.0


@dataclass(frozen=True)
class Seen:
    """The tail of scores as the histogram of a round shows it."""

    histogram: LogHistogram
    tail: Tail
    n: int

    def with_excess(self, length: float, found: Release) -> Seen:
        """With a release of what a cut at this length takes off, at most once the length."""
        tail = self.tail.with_excess(self.n, length, float(found.value[0]), found.noise_sd)
        return replace(self, tail=tail)

    def expected(self, length: float) -> float:
        """Mean length of what a cut at this length takes off the scores."""
        return float(np.interp(length, self.tail.lengths, self.tail.excess()))

    def lost(self, cut: Cut) -> tuple[float, float]:
        """Mean length of what a cut takes off, as if rows were not cut, and what it hardly exceeds."""
        excess = self.expected(cut.length)
        return excess / cut.slope, max(excess, self.most(cut.length, _HARDLY)) / cut.slope

    def most(self, length: float, level: float) -> float:
        """What a cut at this length takes off and does not exceed, with this probability."""
        by_laws = most_excess(self.tail, self.n, length, power=1, level=level)
        counted = counted_excess(self.histogram, self.tail, self.n, length)
        # what noise makes of counts may be below zero
        return min(by_laws, max(counted, self.expected(length)))


def cut_for_intervals(
    tail: Tail,
    n: int,
    d: int,
    mu: float,
    care: float,
    loss: Callable[[Floats], Floats] | None = None,
) -> Cut:
    """The cut of a score round of cost ``mu`` whose noise and bias are smallest together.

    The noise has 2 C/(mu n) per coordinate. What is cut may all have one direction: ``care`` times its
    mean is weighed like noise; it is ``loss`` at least, where a model says what to expect. Of cuts that
    differ by less than `_NOTHING` of a standard error the shortest is taken.
    """
    unit = tail.quantile / PRODUCT_QUANTILE / math.sqrt(d)
    excess = tail.excess() if loss is None else np.maximum(tail.excess(), loss(tail.lengths))
    error = (2 * tail.lengths / (n * mu)) ** 2 + (care * excess) ** 2
    best = int(np.argmax(error <= error.min() + (_NOTHING * unit) ** 2 / n))
    return Cut(
        length=float(tail.lengths[best]),
        slope=1 - float(tail.share[best]),
        excess=float(excess[best]),
        unit=unit,
    )


def gaussian_square(d: int, probability: float) -> float:
    """Squared length that standard normal rows do not exceed, with this probability.

    Examples
    --------
    >>> round(gaussian_square(1, 0.95), 2)
    3.84
    """
    return 2 * float(special.gammaincinv(d / 2, probability))  # of chi squared


def gaussian_lengths(d: int) -> Floats:
    """Quantiles of the lengths of standard normal rows, for means over these."""
    at = (np.arange(_LENGTHS) + 0.5) / _LENGTHS
    return np.sqrt(2 * special.gammaincinv(d / 2, at))  # quantiles of chi squared


def loss_of(share: float, sizes: Floats) -> Callable[[Floats], Floats]:
    """What cuts take off the mean score of a ``share`` of the rows, with scores of these sizes.

    Examples
    --------
    >>> loss_of(0.1, np.array([1.0, 3.0]))(np.array([0.0, 2.0]))
    array([0.2 , 0.05])
    """

    def lost(length: Floats) -> Floats:
        return np.asarray(share * np.maximum(sizes - length[:, None], 0.0).mean(axis=1))

    return lost


def most_of(*losses: Callable[[Floats], Floats]) -> Callable[[Floats], Floats]:
    """The largest of some losses, cut by cut."""
    return lambda length: np.asarray(np.max([lost(length) for lost in losses], axis=0))


def loss_of_long_rows(
    longer: Tail, residual: float, some: float = 1.0
) -> Callable[[Floats], Floats]:
    """What cuts take off the scores of rows of known lengths, with normal residuals of this size.

    ``some``: the share of rows of every length that have such residuals.

    Rows that are much longer than others, as those of a rare level, have long scores with residuals of
    the usual size: too few to be seen in noisy counts of scores, and enough to move what these rows
    alone decide. It is the mean of (length - c), where positive, and may all lie in one direction.

    Examples
    --------
    >>> tail = Tail(np.array([4.0, 6.25]), np.array([0.02, 0.0]))
    >>> loss_of_long_rows(tail, 1.0)(np.array([0.0, 5.0, 10.0])).round(4)
    array([0.0798, 0.0167, 0.0017])
    """
    at = np.unique(np.linspace(0, len(longer.lengths) - 1, _LENGTHS).round().astype(np.intp))
    lengths, share = longer.lengths[at], -np.diff(longer.share[at])
    size = residual * np.sqrt(lengths[1:] * lengths[:-1])

    def lost(length: Floats) -> Floats:
        near = int(np.searchsorted(length, _END * size.max(initial=0.0)))
        # a smooth function of the length: of many every fourth is enough
        at = length[: near + _EVERY : _EVERY if near > _LENGTHS else 1]
        c = np.minimum(at[:, None], 2 * _END * size) / np.maximum(size, 1e-300)
        beyond = np.exp(-(c**2) / 2) / math.sqrt(2 * math.pi) - c * special.ndtr(-c)
        return np.interp(length, at, 2 * some * beyond @ (share * size))

    return lost


def squares_of_cut_rows(longer: Tail, residual: float, length: float) -> float:
    """What rows whose scores are longer than ``length`` have of their mean square.

    Of rows of known lengths, with normal residuals of this size.

    Examples
    --------
    >>> tail = Tail(np.array([4.0, 6.25]), np.array([0.02, 0.0]))
    >>> round(squares_of_cut_rows(tail, 1.0, 5.0), 4)  # 25 times 0.02 of all, a third of them cut
    0.1587
    """
    size = np.sqrt(longer.lengths[1:] * longer.lengths[:-1])
    cut = 2 * special.ndtr(-length / (residual * size))
    return float(-np.diff(longer.share) @ (size**2 * cut))


def loss_of_lone_rows(tail: Tail, n: int, d: int) -> Callable[[Floats], Floats]:
    """What cuts take off the mean score where few rows have scores beyond them.

    What is cut off many rows points to many sides: `WIDENING` of its mean length is an error of each
    coordinate. A few rows do not balance. If their directions are independent, the mean of what is cut
    off n rows has the square of sum (l - c)^2/n^2, a d-th of it along each coordinate. `WIDENING` of
    what is returned is the root of both squares.

    Examples
    --------
    Of 10,000 lengths 2000 are beyond 1, and their number falls as a power: beyond 100 they are few.

    >>> from dpstats.numerics.histogram import LogHistogram
    >>> from dpstats.score_rounds.tails import tail_of
    >>> lengths = (np.arange(0.5, 10_000) / 2000) ** (-1 / 1.5)
    >>> counts = np.histogram(lengths, LogHistogram(np.zeros(80), 5.0, -10, 20).edges())[0]
    >>> tail = tail_of(LogHistogram(counts.astype(float), 5.0, -10, 20), 1.59, 10_000)
    >>> at = np.array([3.0, 100.0])
    >>> (loss_of_lone_rows(tail, 10_000, 4)(at) / np.interp(at, tail.lengths, tail.excess())).round(1)
    array([1.1, 4.4])
    """
    excess = tail.excess()
    both = np.hypot(excess, tail.root_beyond(n) / math.sqrt(n * d) / WIDENING)
    return lambda length: np.interp(length, tail.lengths, both)


def loss_of_few(square: float) -> Callable[[Floats], Floats]:
    """What cuts take off the mean score at most of rows that add so much to the mean square.

    A share q of all rows, with scores A = sqrt(square/q) long, lose q (A - c): most of all
    square/(4 c), at sqrt(q) = sqrt(square)/(2 c).

    Examples
    --------
    >>> loss_of_few(4.0)(np.array([0.0, 1.0, 10.0]))
    array([2. , 1. , 0.1])
    """
    length = math.sqrt(square)

    def lost(c: Floats) -> Floats:
        return np.where(
            2 * c < length, length - c, square / 4 / np.maximum(c, max(length, 1e-300) / 2)
        )

    return lost


def loss_of_marks(shares: Floats, d: int) -> Callable[[Floats], Floats]:
    """What cuts take off the mean score along one mark at most, where responses are zeros and ones.

    A mark that a share p of the rows has makes these L = sqrt(1/p + d - 1) long. If a share q of their
    responses are ones, their scores are L (1 - q) or L q long, and point opposite ways: a cut at c
    shortens those of the rarer outcome and leaves the others. It takes off q (L (1 - q) - c) for q below
    c/L, less (1 - q) (L q - c) beyond it; most of all (L - c)^2/(4 L), at q = (L - c)/(2 L), or for
    c < L/3 the c (1 - 2 c/L) of q = c/L. Of that 1/(L sqrt(p)) lies along the mark.

    Examples
    --------
    >>> loss_of_marks(np.array([0.5, 0.01]), d=1)(np.array([0.0, 2.0, 6.0, 10.0]))
    array([0.   , 0.012, 0.004, 0.   ])
    """
    rows = np.sqrt(1 / shares + d - 1)
    along = np.sqrt(shares) / rows

    def lost(length: Floats) -> Floats:
        c = length[:, None]
        most = np.where(
            c > rows / 3, np.maximum(rows - c, 0.0) ** 2 / (4 * rows), c * (1 - 2 * c / rows)
        )
        return np.asarray((most * along).max(axis=1, initial=0.0))

    return lost


def cut_of_squares(tail: Tail, n: int, d: int, mu: float) -> float:
    """Bound for residuals whose squares are summed, from the tail of scores, sqrt(d) times as long.

    Noise and what is lost of the mean square balance; the noise is kept below `_BLURRED` of the square
    of the scale, as far as the cut is not below three times the scale. Scores of rows near the centre
    are short beside their residuals, so that their tail may end before that of the residuals does: the
    cut is never shorter than noise that nobody would see allows, and grows without end with the budget
    while that noise falls.
    """
    noise = tail.lengths**2 / (n * mu)
    scale = tail.quantile / PRODUCT_QUANTILE
    allowed = (noise <= _BLURRED * scale**2) | (tail.lengths <= 3 * scale)
    error = np.where(allowed, noise**2 + tail.excess(2) ** 2, np.inf)
    unseen = scale * math.sqrt(min(_UNSEEN * math.sqrt(2 * n) * mu, (n * mu) ** (1 / 3)))
    return max(float(tail.lengths[int(np.argmin(error))]), unseen) / math.sqrt(d)


def lost_of_squares(tail: Tail, n: int, d: int, cut: float) -> float:
    """What a cut of residuals takes off their mean square at most, with 95 % of what tails may be.

    ``tail``: that of scores, sqrt(d) times as long, for means of squares.
    """
    return most_excess(tail, n, cut * math.sqrt(d)) / d


def noise_of_moments(length: Floats, n: int, d: float, mu: float) -> Floats:
    """Largest eigenvalue, about, of the noise of second moments of rows cut to a length."""
    return np.asarray(2 * math.sqrt(d) * length**2 / (n * mu))


def cut_of_moments(tail: Tail, n: int, d: int, mu: float, *, steps: bool = False) -> float:
    """Length at which rows are cut for their second moments.

    What is lost, the mean of |z|^2 - R^2 over longer rows, may all lie in one direction. Their noise is
    kept below `DROWNING`, as far as rows of the expected length sqrt(d) are not cut. Where they are used
    for ``steps`` alone, and not to tell which directions are seen, more noise is borne rather than cuts
    that make each step too long, as where most of what is told of a rare group is in its few rows.
    """
    noise, lost = noise_of_moments(tail.lengths, n, d, mu), tail.excess(2)
    for loudest in (DROWNING, _LOUD) if steps else (DROWNING,):
        allowed = (noise <= loudest) | (tail.lengths <= 1.2 * math.sqrt(d))
        error = np.where(allowed, noise**2 + lost**2, np.inf)
        best = int(np.argmin(error)) if allowed.any() else 0
        if lost[best] <= _TOO_MUCH * d:
            break
    return float(tail.lengths[best])


@np.errstate(under="ignore")
def _huber(c: Floats) -> tuple[Floats, Floats, Floats]:
    """Variance and slope of a standard normal score cut at c, and the mean beyond c on one side."""
    density, farther = np.exp(-(c**2) / 2) / math.sqrt(2 * math.pi), special.ndtr(-c)
    slope = 2 * special.ndtr(c) - 1
    variance = slope - 2 * c * density + 2 * c**2 * farther
    beyond = density - c * farther
    return variance, slope, beyond


# up to 40 in steps of 1.8 %, and on to 4000: rare outcomes have scores that far beyond the others
_MULTIPLES = np.concatenate([np.geomspace(1.2, 40.0, 200), np.geomspace(40.0, 4000.0, 161)[1:]])
_HUBER = _huber(_MULTIPLES)


def score_error(
    n: int, d: int, mu: float, seen: Floats | float = 0.0, tails: Tails = ERRORS
) -> tuple[Floats, Floats]:
    """Predicted squared error per coordinate and its privacy part, for every multiple c.

    Sampling v(c)/kappa^2/n, privacy (2 c sqrt(d)/(mu n kappa))^2, and the squared bias that errors
    with asymmetric or heavy tails may leave, ``seen`` or not. The bias is what lets c grow with n.
    """
    variance, slope, beyond = _HUBER
    noise = (2 * _MULTIPLES * math.sqrt(d) / (mu * n * slope)) ** 2
    bias = (tails.skew * beyond + tails.heavy * _MULTIPLES**-3.0 + seen) ** 2
    return variance / slope**2 / n + noise + bias, noise


def choose_clip(
    quantile90: float,
    above: Callable[[Floats], Floats],
    n: int,
    d: int,
    mu: float,
    tails: Tails = ERRORS,
    sure: Callable[[Floats], Floats] | None = None,
    loss: Callable[[Floats], Floats] | None = None,
) -> Clip:
    """Cut for a score round of cost ``mu`` from what is known of the lengths |z e|.

    Parameters
    ----------
    quantile90 : float
        Their private 90 % quantile.
    above : callable
        How many of the n lengths are known to exceed a threshold (`LogHistogram.count_above`): a tail
        heavier than the normal one that was seen widens the cut, because cutting errors with a long
        right tail moves the fit.
    tails : Tails
        What is believed of tails that were not seen.
    sure : callable, optional
        The same as ``above``, less sharp but beyond doubt: also counts that stand apart from the body,
        as the scores of rare outcomes do.
    loss : callable, optional
        Length of what a cut is expected to take off the mean score; half of it is taken to fall on one
        coordinate.

    Examples
    --------
    >>> clip = choose_clip(5.2, lambda t: 0 * t, n=10_000, d=10, mu=0.8)
    >>> 2 < clip.multiple < 5
    True
    """
    unit = quantile90 / PRODUCT_QUANTILE
    lengths = _MULTIPLES * unit
    normal = 2 * special.ndtr(-_MULTIPLES)
    # beyond what normal errors would leave; never so many that the slope is lost
    share = np.clip(above(lengths) / n - normal, 0.0, 0.5 * (1 - normal))
    # a tail goes on from the body without a gap: what stands apart is noise
    body = _MULTIPLES < _BODY
    share[~body] = np.minimum.accumulate(share[~body])
    share[body] = share[~body][0]
    if sure is not None:
        share = np.maximum(share, np.clip(sure(lengths) / n - normal, 0.0, 0.5 * (1 - normal)))
    excess = mean_excess(_MULTIPLES, share[None], 1)[0]
    residual_unit = unit / math.sqrt(d)
    seen = tails.skew * excess
    if loss is not None:
        seen = np.maximum(seen, loss(lengths) / 2 / residual_unit)
    error, _ = score_error(n, d, mu, seen, tails)
    best = int(np.argmin(error))
    c = float(_MULTIPLES[best])
    return Clip(
        multiple=c,
        unit=residual_unit,
        score=c * unit,
        slope=float(1 - normal[best] - share[best]),
        efficiency=float(_HUBER[0][best]),
        lost=float(excess[best]),
        heavy=bool(share.max() > 0),
    )


def choose_square_clip(clip: Clip, n: int, mu: float) -> float:
    """Bound for |e| in the mean square: E residual standard deviations, E >= 4.

    The noise E^2/(mu n) and what heavy tails may lose beyond E, falling as E^-2, balance at E^4
    proportional to mu n; where the scores showed a heavy tail, E follows their cut.
    """
    tail = 1.5 * clip.multiple if clip.heavy else 0.0
    return float(max(4.0, tail, (ERRORS.heavy * mu * n) ** 0.25) * clip.unit)
