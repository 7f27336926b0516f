"""How a budget is divided and where rows are cut: choices from public or released numbers only.

The unit of the predictions is the residual standard deviation, and rows are whitened: a
least-squares coordinate has sampling variance 1/n.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import stats

from dpstats.arrays import Floats

_LARGE_TABLE = 10**7
_BODY = 2.0  # multiples below which counts say nothing of tails
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
class LinearPlan:
    """Shares of the total's mu^2 for the anchored fit; the last score takes all that is left.

    Attributes
    ----------
    length : float
        Histogram of row lengths.
    gram : float
        Second moments of the design.
    scale : float
        Histogram of score lengths, once per round.
    step : float
        Score of a round before the last one.
    squares, counts : float
        Mean squared residual; shares of truncated and of empty rows (fractions of the last round).
    least_rounds, most_rounds : int
    keep : float
        The last round is left at least this share.
    fall : float
        Another early round is made while the scale of the scores falls below this fraction.
    sparing : bool
        Whether passes over the rows take so long that one is spared where its result is known.
    predicted_ratio : float
        Predicted root mean square error over that of least squares without privacy.
    """

    length: float
    gram: float
    scale: float
    step: float
    squares: float
    counts: float
    least_rounds: int
    most_rounds: int
    keep: float
    fall: float
    sparing: bool
    predicted_ratio: float


@dataclass(frozen=True)
class Clip:
    """Where a score round cuts, and what cutting there does under normal errors.

    Attributes
    ----------
    multiple : float
        c: the clip in units of sqrt(d) residual standard deviations.
    unit : float
        The residual standard deviation that the scores' quantile stands for.
    score, residual : float
        Bounds for |z e| and for |e| in the score.
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
    residual: float
    slope: float
    efficiency: float
    lost: float
    heavy: bool


def _huber(c: Floats) -> tuple[Floats, Floats, Floats]:
    """Variance and slope of a standard normal score cut at c, and the mean beyond c on one side."""
    slope = 2 * stats.norm.cdf(c) - 1
    variance = slope - 2 * c * stats.norm.pdf(c) + 2 * c**2 * stats.norm.sf(c)
    beyond = stats.norm.pdf(c) - c * stats.norm.sf(c)
    return variance, slope, beyond


# up to 40 in steps of 1.8 %, and on to 4000: rare outcomes have scores that far beyond the others
_MULTIPLES = np.concatenate([np.geomspace(1.2, 40.0, 200), np.geomspace(40.0, 4000.0, 161)[1:]])
_HUBER = _huber(_MULTIPLES)


def _score_error(
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
    normal = 2 * stats.norm.sf(_MULTIPLES)
    # beyond what normal errors would leave; never so many that the slope is lost
    share = np.clip(above(lengths) / n - normal, 0.0, 0.5 * (1 - normal))
    body = (
        _MULTIPLES < _BODY
    )  # a tail goes on from the body without a gap: what stands apart is noise
    share[~body] = np.minimum.accumulate(share[~body])
    share[body] = share[~body][0]
    if sure is not None:
        share = np.maximum(share, np.clip(sure(lengths) / n - normal, 0.0, 0.5 * (1 - normal)))
    pieces = (share[1:] + share[:-1]) / 2 * np.diff(_MULTIPLES)
    excess = np.append(np.cumsum(pieces[::-1])[::-1], 0.0)
    residual_unit = unit / math.sqrt(d)
    seen = tails.skew * excess
    if loss is not None:
        seen = np.maximum(seen, loss(lengths) / 2 / residual_unit)
    error, _ = _score_error(n, d, mu, seen, tails)
    best = int(np.argmin(error))
    c = float(_MULTIPLES[best])
    return Clip(
        multiple=c,
        unit=residual_unit,
        score=c * unit,
        residual=4 * c * residual_unit,
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


def choose_radius(quantile90: float, n: int, d: int, mu: float) -> float:
    """Length at which rows are cut, from the private 90 % quantile of the lengths.

    The share p of rows to cut is set by the relative noise of the second moments at this cost
    (more noise, shorter rows). The quantile is extrapolated by the chi distribution, or by a power
    law where that reaches further, so that heavy-tailed designs are left alone as noise falls.
    """
    noise = math.sqrt(2 * d) * d / (mu * n)
    p = min(max(noise**2, 1e-12), 0.05)
    normal = math.sqrt(stats.chi2.isf(p, d) / stats.chi2.isf(0.1, d))
    heavy = (0.1 / p) ** 0.1
    return float(quantile90 * max(normal, heavy))


def plan_linear(n: int, d: int, mu: float, m: int | None, has_response: bool) -> LinearPlan:
    """Divide a total of ``mu`` between the releases of an anchored fit; reads no data.

    Two rounds when public responses give the first anchor, three expected when they do not. In large
    tables, where a pass over the rows takes time, one round may do if a step straight from the public
    anchor leaves next to nothing behind. The share of the second moments minimises the predicted error:
    a step from an anchor at distance delta leaves (noise of the matrix) * delta behind.

    Parameters
    ----------
    n, d : int
        Private rows and columns of the design.
    m : int or None
        Public rows, None when only a matrix is known.
    """
    length, scale, step = 0.02, 0.03, 0.1
    rows = m if m is not None and m > d + 1 else d + 2
    departure = 2 / rows if m else 0.1  # variance of a whitened public moment's svec coordinate
    start = math.sqrt(d / (rows - d - 1)) if has_response and m else 30.0
    early = 1 if has_response else 2
    longer = rows / (rows - d - 1)  # mean square length of rows whitened by so few, over d
    thinner = (1 + math.sqrt(d / rows)) ** 2  # inverse of their smallest expected eigenvalue
    best: tuple[float, float, bool] | None = None
    for gram in (0.05, 0.08, 0.12, 0.16, 0.2, 0.25, 0.3):
        left = 1 - length - gram - early * (scale + step) - scale
        sd = math.sqrt(2) * d * longer * 1.5 / (n * mu * math.sqrt(gram))
        matrix = thinner * math.sqrt(departure * sd**2 / (departure + sd**2) / 2)
        error, noise = _score_error(n, d, mu * math.sqrt(step))
        first = float(noise[int(np.argmin(error))])
        distance = start
        for _ in range(early):
            distance = math.sqrt(
                d * first * max(1.0, distance / 10) ** 2 + (matrix * distance) ** 2 * d
            )
        total = float(_score_error(n, d, mu * math.sqrt(left))[0].min()) + (matrix * distance) ** 2
        near = has_response and (matrix * start) ** 2 < 0.01 * total
        at_once = near and n * d >= _LARGE_TABLE
        if best is None or total < best[0]:
            best = (total, gram, at_once)
    assert best is not None
    return LinearPlan(
        length=length,
        gram=best[1],
        scale=scale,
        step=step,
        squares=0.05,
        counts=0.02,
        least_rounds=1 if best[2] else 2,
        most_rounds=6,
        keep=0.3,
        fall=0.6,
        sparing=n * d >= _LARGE_TABLE,
        predicted_ratio=math.sqrt(best[0] * n),
    )
