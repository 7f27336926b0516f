"""Laws of tails: how many rows may be longer than a length, and how probable each is beforehand.

`tails` says what they are: a body whose number falls as exp(-a x - b x^2), x the logarithm of a length
over the quantile where the tail begins, or ends at once; and outliers beside it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from dpstats.arrays import Floats

_SLOPES = 0.4, (0.8, 3), (2.4, 9), (12.0, 8)
_TURNS = -1.0, (-0.24, 3), (0.36, 20), (3.4, 10)
"""Slopes of laws, in steps of equal ratio; and, in equal steps, what bends are hyperbolic sines of."""
_STEEPEST, _FLATTEST = 12.0, 1.25
"""Slopes that are not: of shorter lengths than the quantile, and of a law far out."""
_FAR_OUT = 3.0, 8.3
"""Logarithms of lengths, in quantiles, where no law is flatter: where tails are seen, and the end."""
_SLOPE, _SLOPE_SD = 3.0, 2.0
_BEND, _BEND_SD = 0.0, 4.0
_ENDS, _STEEP = 0.02, 1e3
"""Probability that no row is longer than those of the quantile's bin, and a slope that says so."""
_OUTLIERS = (0.0, 4.0, 10.0, 25.0, 60.0, 150.0, 400.0)
"""Rows that outliers may be, beyond `APART` times the quantile: few, or a second, longer tail."""
_MANY, _QUARTER = 60.0, 0.25
"""More outliers are the less probable the more they are, and no more than this part of the tail."""
_POWERS = (1.2, 2.0, 3.0)
APART = 4.0
"""Times the quantile, from where on there may be outliers."""
_NONE = 0.93
"""Probability that there are none, before counts are seen."""
FARTHEST = 2.0**9
"""No outlier is longer than so many quantiles."""
TENTH = 0.1
"""Share of the rows beyond the 90 % quantile."""
_LONGEST = 0.3
"""Rows of the body that are longer, at its end."""
SHORTEST = 0.6
GRID = np.union1d(np.geomspace(SHORTEST, 2.0**12, 600), 1.0)
"""Lengths at which the tail is known, in units of the quantile, which is one of them."""
COARSE = 8
"""Every so many of these roots of a law are known (`grid_roots_of`)."""


@dataclass(frozen=True)
class Laws:
    """A grid of laws of the body and of outliers, and how probable each is before counts are seen."""

    slopes: Floats
    bends: Floats
    rows: Floats
    powers: Floats
    log_body: Floats
    log_outliers: Floats
    apart: Floats
    """`_apart` at the lengths of `GRID`."""

    def longer(self, lengths: Floats, n: int) -> tuple[Floats, Floats]:
        """How many of n rows, in the body and as outliers, are longer; lengths in quantiles."""
        body = TENTH * n * _law(np.log(lengths), self.slopes, self.bends)
        return body, _apart(lengths, self.rows, self.powers)


@lru_cache(maxsize=64)
def laws_of(rows: int, power: int) -> Laws:
    """The laws of so many rows: outliers are few, or at most a quarter of the rows of the tail.

    As the tail grows they become as probable as others. Means of squares are of rows, of which those of
    a rare level are no outliers: their number is few.
    """
    most = _QUARTER * TENTH * rows if power == 1 else 0.0
    kinds = sum(few <= max(_MANY, most) for few in _OUTLIERS)
    number, powers = _outliers(kinds, power)
    few = number[1:]
    some = np.minimum(1.0, _MANY / few)
    some *= np.where(few > _MANY, np.clip(most / few - 1, 1e-9, 1.0), 1.0)
    log_outliers = np.log(np.append(_NONE, (1 - _NONE) * some / some.sum()))
    apart = _grid_apart(kinds, power)
    return Laws(*_slopes_and_bends(), number, powers, _log_body(), log_outliers, apart)


@cache
def _slopes_and_bends() -> tuple[Floats, Floats]:
    """Slopes and bends of the laws of the body that fall in the end; the last one ends at once."""
    slopes, bends, _ = _falling()
    return np.append(slopes, _STEEP), np.append(bends, 0.0)


@cache
def _falling() -> tuple[Floats, Floats, Floats]:
    """Slopes and bends of laws that fall far out, and how large a part of the grid each stands for.

    Of laws that fall slowly a small bend decides what is far out, beyond all that counts show: between
    two laws that agree with the same counts there may be a factor of twenty. There the grid is fine.
    """
    slopes, turns = _pieces(np.geomspace, *_SLOPES), _pieces(np.linspace, *_TURNS)
    slope, bend = (x.ravel() for x in np.meshgrid(slopes, np.sinh(turns)))
    part = np.outer(np.gradient(turns), np.gradient(slopes)).ravel()
    falls = slope + 2 * np.minimum(*np.multiply.outer(_FAR_OUT, bend)) > _FLATTEST
    return slope[falls], bend[falls], part[falls]


def _pieces(spaced: Callable[..., Floats], start: float, *pieces: tuple[float, int]) -> Floats:
    """A grid from the start to the end of every piece, each in so many steps."""
    found = [np.array([start])]
    for end, steps in pieces:
        found.append(spaced(found[-1][-1], end, steps + 1)[1:])
    return np.concatenate(found)


@cache
def _log_body() -> Floats:
    """How probable the laws of the body are."""
    slopes, bends = _slopes_and_bends()
    log_body = -(((slopes - _SLOPE) / _SLOPE_SD) ** 2 + ((bends - _BEND) / _BEND_SD) ** 2) / 2
    log_body[:-1] += np.log(_falling()[2])
    log_body[-1] = np.logaddexp.reduce(log_body[:-1]) + math.log(_ENDS / (1 - _ENDS))
    return np.asarray(log_body)


def _outliers(kinds: int, power: int) -> tuple[Floats, Floats]:
    """How many outliers there may be, and how fast their number falls; none first."""
    few, fall = (x.ravel() for x in np.meshgrid(_OUTLIERS[1:kinds], np.array(_POWERS) + power - 1))
    return np.append(0.0, few), np.append(0.5, fall)  # none have any power


@cache
def _grid_apart(kinds: int, power: int) -> Floats:
    """`_apart` of all of them at the lengths of `GRID`."""
    return _apart(GRID, *_outliers(kinds, power))


def _law(x: Floats, slopes: Floats, bends: Floats) -> Floats:
    """exp(-a x - b x^2), one row for each a and b; shorter lengths know no slope that is steep."""
    beyond, gentle = np.maximum(x, 0.0), np.minimum(slopes, _STEEPEST)
    fall = np.multiply.outer(slopes, beyond)
    fall += np.multiply.outer(gentle, np.minimum(x, 0.0)) + np.multiply.outer(bends, beyond**2)
    fallen: Floats = np.exp(-np.minimum(fall, 700.0))
    return fallen


def _apart(length: Floats, rows: Floats, powers: Floats) -> Floats:
    """How many outliers are longer, for each number of them and each power; all beyond `APART`."""
    at = np.clip(length, APART, FARTHEST) / APART
    end = (FARTHEST / APART) ** -powers[:, None]
    return np.asarray(rows[:, None] * (at ** -powers[:, None] - end) / (1 - end))


@cache
def _grid_law() -> Floats:
    """All laws of the body at the lengths of `GRID`: the same for every histogram."""
    return _law(np.log(GRID), *_slopes_and_bends())


@lru_cache(maxsize=4)
def grid_law_of(rows: int) -> Floats:
    """`_grid_law` as far as `_LONGEST` of so many rows: farther out most tables have none.

    Their mean is next to all of what a power adds there, as would a lottery ticket that wins once in
    three tables. Notes say how many rows noise may hide.
    """
    law = _grid_law()
    return np.where(TENTH * rows * law >= _LONGEST, law, 0.0)


@lru_cache(maxsize=4)
def grid_roots_of(rows: int) -> Floats:
    """Root of the integral of 2 (x - t) times each law, from every eighth t of `GRID` on."""
    at, law = GRID[::COARSE], grid_law_of(rows)[:, ::COARSE]
    return np.sqrt(np.maximum(mean_excess(at, law, 2) - 2 * at * mean_excess(at, law, 1), 0.0))


@cache
def _grid_excess(power: int) -> Floats:
    """Integrals of power x^(power - 1) times every law of the body, from lengths of `GRID` on."""
    law = np.where(GRID <= FARTHEST, _grid_law(), 0.0)
    return mean_excess(GRID, law, power)


def excess_of_laws(which: NDArray[np.intp], x: Floats, power: int) -> Floats:
    """`_grid_excess` of some laws, each from its own x on."""
    values = _grid_excess(power)
    k = np.clip(np.searchsorted(GRID, x) - 1, 0, len(GRID) - 2)
    part = np.clip((x - GRID[k]) / (GRID[k + 1] - GRID[k]), 0.0, 1.0)
    return np.asarray((1 - part) * values[which, k] + part * values[which, k + 1])


def excess_of_outliers(at: float, laws: Laws, power: int) -> Floats:
    """Integrals of power x^(power - 1) times `_apart`, from a length on."""
    low, high, fall = min(max(at, APART), FARTHEST), FARTHEST, laws.powers
    end = (high / APART) ** -fall
    near = max(APART**power - at**power, 0.0)
    falling = (
        power * APART**fall / (power - fall) * (high ** (power - fall) - low ** (power - fall))
    )
    return np.asarray(laws.rows * (near + (falling - end * (high**power - low**power)) / (1 - end)))


def mean_excess(lengths: Floats, share: Floats, power: int) -> Floats:
    """Means (L, k) of length^power - t^power, where positive, from shares (L, k) of longer rows."""
    density = power * lengths ** (power - 1) * share
    parts = (density[:, 1:] + density[:, :-1]) / 2 * np.diff(lengths)
    beyond = np.cumsum(parts[:, ::-1], axis=1)[:, ::-1]
    return np.concatenate([beyond, np.zeros((len(share), 1))], axis=1)
