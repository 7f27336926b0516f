"""A column's location and scale from noisy counts of the values below points.

`search` asks one question after another and is sent the answers. It halves brackets in the order of
floats, in which a step from 1 to 2 is as long as one from 2^50 to 2^51: columns of every unit, and
shifted by a million of their standard deviations, take a few dozen questions. Nothing here sees
a row, and no answer is without noise.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Generator
from dataclasses import dataclass, replace

import numpy as np

from dpstats.arrays import Floats
from dpstats.column_search.releases import Question

MOST = 44
"""Questions for a column, in prices of a plain one."""
_LARGEST = 200
"""Octaves to each side of 1 that are told apart."""
COUNTED = 2.0
"""The price of the count of all rows that are used."""
_AHEAD = 5
"""Halvings that one reading of the rows serves."""
_MASS = 0.4
"""Share of rows with one value from which the others are looked at by themselves."""
_SURE, _ENOUGH = 6.0, 10.0
"""Noise standard deviations above zero from which values exist (1e-9 by noise alone), and from which
half of them are seen too, so that their scale can be searched for."""
_DOUBTED = 2.0
"""The same, from which it is asked more dearly whether these values are one away."""
_ONES = 6.5
"""The same, from which they are, by both answers: of fewer, noise would hide the slope as well."""
_ALIKE = 3.5
"""Noise standard deviations within which no rows lie between two points: three times that of both."""
_DEAR = 16.0
"""Price of a question on which a scale hangs alone."""
_CLEAR = 4.0
"""Noise standard deviations by which a rank is told from all rows: 3e-5 in a question."""
_NARROW = 0.7
"""Of the distance of the quartiles: how narrowly each is known in the end."""
_SAME = 2.0**-30
"""Relative width at which a bracket of both quartiles is one value."""
_TINY = 2.0**-12
"""Of the location: a scale that may be that of a value which most rows have."""
_FAR, _FEW = 8.0, 0.02
"""Scales from the location beyond which few rows should lie, and how few."""
_QUARTILES, _MEDIAN = 1.349, 0.6745  # of a standard normal: their distance, and the median of |z|

Asking = Generator[Question, tuple[float, float], "ColumnScale"]
AskingNumber = Generator[Question, tuple[float, float], float]
AskingFew = Generator[Question, tuple[float, float], "ColumnScale | float"]


@dataclass(frozen=True)
class ColumnScale:
    """Where a column lies.

    Attributes
    ----------
    location : float
    scale : float or None
        None where next to no row differs from the location.
    others : float
        Share of the rows that differ from the location, where most do not; else 0. Without a scale, the
        share that noise may hide.
    mark : bool
        Whether all of these are one away, as those of a column of 0 and 1 are.
    """

    location: float
    scale: float | None
    others: float = 0.0
    mark: bool = False

    @property
    def unit(self) -> float:
        """What the column is measured in: its scale, of a mark the standard deviation; NaN if none."""
        if self.mark:
            rare = min(self.others, 0.5)  # more is noise
            return math.sqrt(rare * (1 - rare))
        return math.nan if self.scale is None else self.scale


@dataclass
class SoFar:
    """What a search has found, for where it is broken off: it asks too much of the budget."""

    found: ColumnScale = ColumnScale(0.0, 1.0)


def order(value: float) -> int:
    """The place of a float in the order of all floats."""
    bits = int(np.float64(value).view(np.int64))
    return bits if bits >= 0 else -(bits & 0x7FFFFFFFFFFFFFFF)


def float_at(place: int) -> float:
    """The float with that place.

    Examples
    --------
    >>> float_at(order(-2.5)), float_at(order(0.0) + 1) > 0
    (-2.5, True)
    """
    size = float(np.int64(abs(place)).view(np.float64))
    return size if place >= 0 else -size


_TOP = order(2.0**_LARGEST)
_LEAST = order(2.0**-_LARGEST)


@dataclass
class _Bracket:
    """Between these places a quantile lies; both are places of floats."""

    low: int
    high: int

    @property
    def middle(self) -> int:
        return (self.low + self.high) // 2

    @property
    def ends(self) -> tuple[float, float]:
        return float_at(self.low), float_at(self.high)

    def ahead(self) -> Floats:
        """The points of the next halvings."""
        places = [self.low, self.high]
        for _ in range(_AHEAD):
            halves = [(a + b) // 2 for a, b in itertools.pairwise(places)]
            places = sorted({*places, *halves})
        between = np.array(places[1:-1], dtype=np.int64)
        sizes = np.abs(between).view(np.float64)
        return np.where(between >= 0, sizes, -sizes)

    def halve(self, below: bool) -> None:
        """Keep the lower half, where the quantile lies ``below`` the middle."""
        if below:
            self.high = self.middle
        else:
            self.low = self.middle


def _at_most(column: int, point: float, about: float | None = None, price: float = 1.0) -> Question:
    return Question(column, point, about, np.array([point]), price)


def search(
    column: int,
    used: float,
    box: tuple[float, float] | None = None,
    so_far: SoFar | None = None,
    *,
    closely: bool = False,
) -> Asking:
    """Find a column's location and scale; ``used`` rows count, as noise tells it.

    1. How many values are below zero, and at most zero? If at least 40 % are zero, the scale is the
       median size of the others. If a quarter to three quarters are negative, zero is the location, and
       the scale comes from the median size.
    2. Else both quartiles are bracketed, until the brackets are narrow beside the distance between them.
       If they stay together to the ninth digit, that is a value that most rows have: the scale is the
       median distance of the others.
    3. If more than two rows of a hundred are farther than eight scales, the scale grows.

    ``box``: declared limits, within which all values lie. ``so_far`` is told what is found on the way.
    ``closely``: whether it is worth more questions to find few ones among zeros.
    """
    asked, so_far = 2.0, so_far or SoFar()
    rare = _Rare(column, used, so_far, box == (0, 1), closely)
    below, _ = yield _at_most(column, float_at(-1))
    upto, noise = yield _at_most(column, 0.0)
    zeros = upto - below
    if zeros > _MASS * used + 2 * noise:
        return (yield from _beside(rare, 0.0, 0.0))
    if 0.25 * used < below + zeros / 2 < 0.75 * used:
        size = yield from _size(column, 0.0, zeros + (used - zeros) / 2)
        return (yield from _verified(column, ColumnScale(0.0, size / _MEDIAN), used, so_far))
    sides = (_Bracket(-_TOP, -1), _Bracket(0, _TOP))
    lower = _quartile_start(sides, 0.25 * used, below)
    upper = _quartile_start(sides, 0.75 * used, below)
    if box is not None:
        for bracket in (lower, upper):
            bracket.low = max(bracket.low, min(order(box[0]), bracket.high - 1))
            bracket.high = min(bracket.high, max(order(box[1]), bracket.low + 1))
    while asked < MOST:
        if (lower.low, lower.high) == (upper.low, upper.high):
            low, high = lower.ends
            one_value = high - low <= _SAME * max(abs(low), abs(high))
            if one_value or lower.high - lower.low <= 1:
                middle = (low + high) / 2
                return (yield from _beside(rare, middle, 2 * (high - low)))
            count, _ = yield Question(column, float_at(lower.middle), None, lower.ahead())
            asked += 1
            lower.halve(count >= 0.25 * used)
            upper.halve(count >= 0.75 * used)
            continue
        distance = sum(upper.ends) / 2 - sum(lower.ends) / 2
        wide = [b for b in (lower, upper) if b.ends[1] - b.ends[0] > _NARROW * distance]
        wide = [b for b in wide if b.high - b.low > 1]
        if not wide:
            break
        for bracket, level in ((lower, 0.25), (upper, 0.75)):
            if bracket not in wide:
                continue
            count, _ = yield Question(column, float_at(bracket.middle), None, bracket.ahead())
            asked += 1
            bracket.halve(count >= level * used)
    first, last = sum(lower.ends) / 2, sum(upper.ends) / 2
    least = max(1e-12 * max(abs(first), abs(last)), 2.0**-_LARGEST)
    scale = max(last - first, least) / _QUARTILES
    return (yield from _verified(column, ColumnScale((first + last) / 2, scale), used, so_far))


def _quartile_start(sides: tuple[_Bracket, _Bracket], rank: float, below: float) -> _Bracket:
    side = sides[0] if below >= rank else sides[1]
    return _Bracket(side.low, side.high)


def _size(
    column: int, about: float, rank: float, least: float = 0.0, price: float = 1.0
) -> AskingNumber:
    """The distance from a location that ``rank`` rows do not exceed, to a quarter of an octave."""
    bracket = _Bracket(max(_LEAST, order(least)), _TOP)
    while bracket.high - bracket.low > 2**50:
        point = float_at(bracket.middle)
        count, _ = yield Question(column, point, about, bracket.ahead(), price)
        bracket.halve(count >= rank)
    return math.sqrt(bracket.ends[0] * bracket.ends[1])


@dataclass(frozen=True)
class _Rare:
    """A column in which most rows have one value; see `search`."""

    column: int
    used: float
    so_far: SoFar
    declared: bool
    closely: bool


def _beside(rare: _Rare, location: float, width: float) -> Asking:
    """The scale of rows that do not have the value which most have.

    Whether there are any is asked at a high price; where all of them are one away, as those of a column
    of 0 and 1 are, two more answers tell the scale. Else a search does, the dearer the fewer they are.
    """
    column, used = rare.column, rare.used
    rare.so_far.found = ColumnScale(location, None)
    near, noise = yield _at_most(column, width, location, price=_DEAR)
    others = used - near
    if rare.closely and others < _SURE * math.hypot(noise, noise * math.sqrt(_DEAR / COUNTED)):
        few = yield from _few_ones(rare, location, near, noise)
        if isinstance(few, ColumnScale):
            return few
        others = few
    elif others < _SURE * noise:
        return ColumnScale(location, None)
    else:
        less, _ = yield _at_most(column, 1 - 1e-6, location, price=2 * _DEAR)
        upto, _ = yield _at_most(column, 1 + 1e-6, location, price=2 * _DEAR)
        if less - near < _ALIKE * noise and used - upto < _ALIKE * noise:
            return ColumnScale(location, 1.0, others / used, mark=True)
        if others < _ENOUGH * noise:
            return ColumnScale(location, None)
    # half of them stand out of the noise of every question: else one of a dozen is answered wrongly
    plain = noise * math.sqrt(_DEAR)
    price = min(max((2 * _CLEAR * plain / others) ** 2, 1.0), _DEAR)
    size = yield from _size(column, location, near + others / 2, width, price)
    found = ColumnScale(location, size, others / used)
    return (yield from _verified(column, found, used, rare.so_far))


def _few_ones(rare: _Rare, location: float, near: float, noise: float) -> AskingFew:
    """What few rows have that do not lie ``near``, if they are one away; else how many they are.

    The count of all rows is too rough to tell how many there are, and is asked anew. Where they may be
    one away it is asked more dearly how many are: of limits that say so, nothing more is.
    """
    column, used = rare.column, rare.used
    every, _ = yield _at_most(column, math.inf, location, price=_DEAR)
    others, sd = every - near, math.sqrt(2) * noise
    hidden = ColumnScale(location, None, min((max(others, 0.0) + 2 * sd) / used, _MASS))
    if rare.declared and others > _SURE * sd:
        return ColumnScale(location, 1.0, others / used, mark=True)
    if rare.declared or others < _DOUBTED * sd:
        return hidden
    upto, _ = yield _at_most(column, 1 + 1e-6, location, price=_DEAR)
    if every - upto < _ALIKE * sd:
        price = (2 if others > _SURE * sd else 4) * _DEAR
        less, finer = yield _at_most(column, 1 - 1e-6, location, price=price)
        upto, _ = yield _at_most(column, 1 + 1e-6, location, price=price)
        if max(less - near, every - upto) < _ALIKE * math.hypot(noise, finer):
            # both counts of them, by inverse variance
            part = noise**2 / max(noise**2 + finer**2, 1e-300)
            ones = others + part * (upto - less - others)
            if ones > _ONES * math.sqrt(2 * part) * finer:
                return ColumnScale(location, 1.0, ones / used, mark=True)
    return others if others > _ENOUGH * noise else hidden


def _verified(column: int, found: ColumnScale, used: float, so_far: SoFar) -> Asking:
    """The scale that was found, or a larger one where too many rows lie far off.

    The larger one is that of the farthest few; or of half of those that are far off, where these are
    hardly more. Of a column in which most rows have one value all points near it have the same count,
    and one wrong answer among dozens makes the scale next to nothing: one so small beside the location
    is asked about at a high price.
    """
    assert found.scale is not None
    so_far.found = found
    point, tiny = _FAR * found.scale, found.scale < _TINY * abs(found.location)
    price = _DEAR if tiny else 2.0
    near, noise = yield _at_most(column, point, found.location, price=price)
    if used - near < _FEW * used + 3 * noise:
        return found
    plain = noise * math.sqrt(price)
    few, others = max(2 * _FEW * used, 3 * plain), used - near
    if tiny or 0 < others - few < _CLEAR * plain:
        few = others / 2
    price = min(max((_CLEAR * plain / few) ** 2, 1.0), _DEAR)
    size = yield from _size(column, found.location, used - few, point, price)
    return replace(found, scale=size / 3)
