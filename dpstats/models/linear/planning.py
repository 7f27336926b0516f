"""How the total of a linear fit is divided: from public numbers only."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpstats.score_rounds.cuts import score_error

_LARGE_TABLE, _LONG_PASS = 10**7, 10**6
"""Numbers of a table of which passes are spared even where noise is next to nothing; and of one that a
pass over takes longer than what else a round does."""
NOISELESS = 0.03
"""Noise that is next to nothing, as a share of an error of sampling."""
AGAIN = (0.015, 0.08)
"""Lengths and second moments of rows that are whitened for the second time."""
EXCESS, SQUARES, COUNTS = 0.06, 0.05, 0.01
"""What the cut takes off scores, mean squared residual, and shares of cut and of empty rows: parts of
what the last round has left."""
KEPT = 0.3
"""The last round is left at least this share."""
LEAST = {"anchored": KEPT * min(SQUARES, COUNTS), "pmt": 0.25, "ssp": 1.0}
"""Of the shares of a total the least, in terms of second moments with the least sensitivity."""
FALL = 0.8
"""Another round is made while the scale of the scores falls below this fraction."""


@dataclass(frozen=True)
class LinearPlan:
    """Shares of the total's mu^2 for the anchored fit; the last score takes all that is left.

    Attributes
    ----------
    stages : tuple of (float, float)
        Histogram of row lengths, and second moments; twice where public rows are too few to whiten by.
    scale, later_scale, last_scale : float
        Histogram of score lengths in the first round, in each later one, and in those after the
        ``middle`` ones.
    far, near : float
        Score of a round before the last one: far from the fit, and near it.
    outer : float
        Outer products of the scores, a fraction of what the last round has left.
    most_rounds : int
    one_round : bool
        Whether a step straight from the public anchor leaves next to nothing behind, if the fit lies
        where public rows say; and tables are so large that a pass over the rows takes time.
    middle : int
        Rounds near the fit that come before the last one.
    instruments : bool
        Whether the second moments also tell a first stage: see `plan_linear`.
    spares : bool
        Whether passes over the rows are spared that would change next to nothing. Where noise is next to
        nothing they cost no accuracy, and lead to the fit without privacy.
    predicted_ratio : float
        Predicted root mean square error over that of least squares without privacy, for normal errors.
    """

    stages: tuple[tuple[float, float], ...]
    scale: float
    later_scale: float
    last_scale: float
    far: float
    near: float
    outer: float
    most_rounds: int
    predicted_ratio: float
    one_round: bool = False
    spares: bool = False
    middle: int = 0
    instruments: bool = False


def plan_linear(
    n: int,
    d: int,
    mu: float,
    m: int | None,
    has_response: bool,
    errors: str = "hetero",
    square: float = 0.0,
    instruments: bool = False,
) -> LinearPlan:
    """Divide a total of ``mu`` between the releases of an anchored fit; reads no data.

    Two rounds when public responses give the first anchor, of large tables perhaps one; three expected
    when they do not. The share of the second moments minimises the predicted error:
    a step from an anchor at distance delta leaves (noise of the matrix) * delta behind.

    Parameters
    ----------
    n, d : int
        Private rows and columns of the design.
    m : int or None
        Public rows, None when only a matrix is known.
    square : float
        Squared length at which rows are cut for second moments, if it is known, and longer than usual.
    instruments : bool
        Whether the second moments also tell the first stage of two: their noise, beside sampling, then
        makes the slope of that stage as much less certain as the variance that it multiplies.
    """
    length, scale, step = 0.02, 0.03, 0.15
    rows = m if m is not None and m > d + 1 else d + 2
    departure = 2 / rows if m else 0.1  # variance of a whitened public moment's svec coordinate
    start = math.sqrt(d / (rows - d - 1)) if has_response and m else 30.0
    early = 1 if has_response else 2
    longer = rows / (rows - d - 1)  # mean square length of rows whitened by so few, over d
    thinner = (1 + math.sqrt(d / rows)) ** 2  # inverse of their smallest expected eigenvalue
    best: tuple[float, float, float, bool, bool] | None = None
    for gram in (0.05, 0.08, 0.12, 0.16, 0.2, 0.25, 0.3):
        left = 1 - length - gram - early * (scale + step) - scale
        sd = math.sqrt(2) * max(1.5 * d * longer, square) / (n * mu * math.sqrt(gram))
        matrix = thinner * math.sqrt(departure * sd**2 / (departure + sd**2) / 2)
        error, noise = score_error(n, d, mu * math.sqrt(step))
        first = float(noise[int(np.argmin(error))])
        distance = start
        for _ in range(early):
            distance = math.sqrt(
                d * first * max(1.0, distance / 10) ** 2 + (matrix * distance) ** 2 * d
            )
        error, noise = score_error(n, d, mu * math.sqrt(left))
        total = float(error.min()) + (matrix * distance) ** 2
        price = total * (1 + n * sd**2 / 2) if instruments else total
        near = has_response and (matrix * start) ** 2 < 0.01 * total
        heard = n * float(noise[int(np.argmin(error))]) > NOISELESS**2
        if best is None or price < best[0]:
            best = (price, total, gram, near, heard)
    assert best is not None
    few = m is not None and m < 5 * d
    spares = best[4] or n * d >= _LARGE_TABLE
    return LinearPlan(
        stages=((length, 0.05), AGAIN) if few else ((length, best[2]),),
        scale=scale,
        later_scale=0.08,
        last_scale=0.08,
        far=0.06,
        near=step,
        outer=0.07 if errors == "hetero" else 0.0,
        most_rounds=6,
        predicted_ratio=math.sqrt(best[1] * n),
        one_round=best[3] and spares and n * d >= _LONG_PASS,
        spares=spares,
        instruments=instruments,
    )


def plan_alone(n: int, d: int, mu: float, moments_sd: float, errors: str) -> LinearPlan:
    """Divide a total of ``mu`` where rows have been whitened, and the fit begins from zero.

    Rounds are cheap until they are near the fit: each comes some thirty times nearer. The round before
    the last leaves the noise of the moments times its own distance, k of its noise: with p of what is
    left and 1 - p for the last, k^2/p + 1/(1 - p) is smallest at p = k/(1 + k).
    """
    k = moments_sd * math.sqrt(d / 2)
    near = min(max(k / (1 + k), 0.03), 0.3)
    return LinearPlan(
        stages=(),
        scale=0.01,
        later_scale=0.012,
        last_scale=0.03,
        far=min(max((12 * d / (n * mu)) ** 2, 0.006), 0.07),
        near=near,
        outer=0.07 if errors == "hetero" else 0.0,
        most_rounds=9,
        predicted_ratio=math.nan,
        middle=1,
    )
