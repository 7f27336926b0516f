"""Scores of the exact values of numbers: last bits, spacing, remainders, the sign of zero.

Two laws that are alike to any tolerance may differ in the last digits of what is released. Everything
here reads single columns of runs bit by bit, turns what it reads into a few classes, and scores these by
their likelihood ratios.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpstats.arrays import Floats
from dpstats.audit.attack import Bins, Column, Score, Sum

MOST_NUMBERS = 200
MODULI = (2, 3, 4, 5, 8, 10)

_KEPT = 12  # scores
_BITS = 3  # of a number, those that differ most
_SIZES = 8
_ATOMS = 30
_EPS = float(np.finfo(float).eps)


# --- what is read of a column ------------------------------------------------------------------------


def _bits(values: Floats) -> NDArray[np.uint64]:
    return np.ascontiguousarray(values, dtype=np.float64).view(np.uint64)


def _zeros(values: Floats) -> tuple[Floats, Floats]:
    """Zeros at the end of the mantissa, and the exponent of its last one; NaN where there is none."""
    bits = _bits(values)
    exponent = ((bits >> np.uint64(52)) & np.uint64(0x7FF)).astype(float)
    mantissa = bits & np.uint64(2**52 - 1)
    mantissa = np.where(exponent > 0, mantissa | np.uint64(2**52), mantissa)
    known = (mantissa > 0) & (exponent < 0x7FF)
    lowest = (mantissa & (~mantissa + np.uint64(1))).astype(float)
    trailing = np.where(known, np.log2(np.where(known, lowest, 1.0)), math.nan)
    return trailing, np.maximum(exponent, 1) - 1075 + trailing


@dataclass(frozen=True)
class _Bit:
    column: int
    position: int

    def __call__(self, runs: Floats) -> Floats:
        bits = _bits(runs[:, self.column]) >> np.uint64(self.position)
        return (bits & np.uint64(1)).astype(float)


@dataclass(frozen=True)
class _Spacing:
    """The exponent of the last bit that is set; ``within`` the mantissa, or of the number itself."""

    column: int
    within: bool

    def __call__(self, runs: Floats) -> Floats:
        return _zeros(runs[:, self.column])[0 if self.within else 1]


@dataclass(frozen=True)
class _Sign:
    """-1 for the negative one of the zeros (and NaNs), 1 for the positive one, 0 for all else."""

    column: int

    def __call__(self, runs: Floats) -> Floats:
        values = runs[:, self.column]
        signed = np.where(np.signbit(values), -1.0, 1.0)
        return np.where(values == 0, signed, np.where(np.isnan(values), 2 * signed, 0.0))


@dataclass(frozen=True)
class _Lattice:
    """Numbers that are multiples of a step from an origin on."""

    origin: float
    step: float

    def steps(self, values: Floats) -> Floats:
        with np.errstate(all="ignore"):
            return np.asarray(np.rint((values - self.origin) / self.step))

    def whole(self, values: Floats) -> NDArray[np.uint64]:
        """Steps as whole numbers; negative ones in two's complement."""
        finite = np.where(np.isfinite(values), values, self.origin)
        return np.asarray(self.steps(finite).astype(np.int64).view(np.uint64))


@dataclass(frozen=True)
class _Remainder:
    column: int
    lattice: _Lattice
    modulus: int

    def __call__(self, runs: Floats) -> Floats:
        with np.errstate(all="ignore"):
            return np.asarray(np.mod(self.lattice.steps(runs[:, self.column]), self.modulus))


@dataclass(frozen=True)
class _Digit:
    """One binary digit of the number of steps."""

    column: int
    lattice: _Lattice
    position: int

    def __call__(self, runs: Floats) -> Floats:
        steps = self.lattice.steps(runs[:, self.column])
        with np.errstate(all="ignore"):
            return np.asarray(np.mod(np.floor(steps / 2.0**self.position), 2))


@dataclass(frozen=True, eq=False)
class _BySize:
    """Something that is 0 or 1, apart for small and for large numbers."""

    column: int
    edges: Floats
    read: _Bit | _Remainder

    def __call__(self, runs: Floats) -> Floats:
        sizes = np.searchsorted(self.edges, runs[:, self.column], side="right")
        return np.asarray(sizes + (self.edges.size + 1) * self.read(runs))


@dataclass(frozen=True)
class _Parity:
    """Whether an odd number of columns is odd: of their steps, or of their last bits."""

    parts: tuple[_Remainder | _Bit, ...]

    def __call__(self, runs: Floats) -> Floats:
        return np.asarray(np.mod(sum((part(runs) for part in self.parts), np.zeros(len(runs))), 2))


@dataclass(frozen=True, eq=False)
class _Atoms:
    """Which of some values it is exactly; 0 for none of them."""

    column: int
    values: Floats  # in order, NaN last if at all

    def __call__(self, runs: Floats) -> Floats:
        column = runs[:, self.column]
        at = np.minimum(np.searchsorted(self.values, column), len(self.values) - 1)
        same = (self.values[at] == column) | (np.isnan(column) & np.isnan(self.values[-1]))
        return np.where(same, at + 1.0, 0.0)


@dataclass(frozen=True, eq=False)
class _Known:
    """What is read, where it is known; below all else where not."""

    read: Callable[[Floats], Floats]

    def __call__(self, runs: Floats) -> Floats:
        return np.nan_to_num(self.read(runs), nan=-math.inf)


_DIGITS = (_Bit, _Spacing, _Remainder, _Digit, _BySize, _Parity)

Read = Callable[[Floats], Floats]


# --- what there is to read -----------------------------------------------------------------------------


def _lattice_of(values: Floats) -> _Lattice | None:
    """The widest lattice on which all of some numbers lie, or None."""
    finite = np.unique(values[np.isfinite(values)])
    span = float(np.abs(finite).max()) if finite.size else 0.0
    if finite.size < 3 or span > 1e290:
        return None
    for unit in _units(finite, span):
        steps = np.rint(finite / unit)
        # what dividing by the unit loses
        off = np.abs(finite / unit - steps)
        if span / unit < 2**53 and (off <= 4 * _EPS * np.abs(steps)).all():
            whole = steps.astype(np.int64)
            step = int(np.gcd.reduce(np.diff(whole)))
            return _Lattice(float(whole[0] % step) * unit, step * unit)
    closest = float(np.diff(finite).min())
    if 16 * _EPS * span > 0.01 * closest:  # which holds for numbers that lie on no lattice
        return None
    steps = (finite - finite[0]) / closest
    if (np.abs(steps - np.rint(steps)) <= 0.01).all():
        # the range is known more exactly than its smallest part
        widest = float(np.rint(steps[-1]))
        return _Lattice(float(finite[0]), float(finite[-1] - finite[0]) / widest)
    return None


def _units(finite: Floats, span: float) -> Iterator[float]:
    """Units of which numbers may be multiples: a power of two, powers of ten."""
    least = float(np.nanmin(_zeros(finite[finite != 0])[1]))
    if least > -1000 and span * 2.0 ** min(-least, 1000) < 2**53:
        yield 2.0**least
    for places in range(1, 13):
        if span * 10**places < 1e14:
            yield 1 / 10**places


def _atoms_of(column: int, first: Floats, second: Floats) -> _Atoms | None:
    """The repeated values of a column that differ most in how often they occur."""
    values, where = np.unique(np.concatenate([first, second]), return_inverse=True)
    counts = [
        np.bincount(part, minlength=values.size) / part.size
        for part in (where[: first.size], where[first.size :])
    ]
    repeated = np.flatnonzero(np.bincount(where) > 1)
    if not repeated.size or values.size < 2:
        return None
    gap, total = counts[0] - counts[1], counts[0] + counts[1]
    order = np.argsort(-(gap[repeated] ** 2 / total[repeated]), kind="stable")
    return _Atoms(column, values[np.sort(repeated[order[:_ATOMS]])])


def _clearest(first: NDArray[np.uint64], second: NDArray[np.uint64], places: int) -> list[int]:
    """Positions of the bits that differ most between whole numbers of either law."""
    gap = [
        float(np.mean((first >> p) & np.uint64(1)) - np.mean((second >> p) & np.uint64(1)))
        for p in map(np.uint64, range(places))
    ]
    best = np.argsort(-np.abs(gap), kind="stable")[:_BITS]
    return [int(place) for place in best if gap[place]]


def _place(position: int) -> str:
    return f"bit {position + 1} from the last" if position else "last bit"


def _reads_of(column: int, name: str, first: Floats, second: Floats) -> Iterator[tuple[str, Read]]:
    """All that is read of one column of numbers."""
    both = np.concatenate([first, second])
    trailing = _zeros(both)[0]
    ordered = np.sort(both[np.isfinite(both)])
    parts = np.arange(1, _SIZES) * ordered.size // _SIZES
    edges = np.unique(ordered[parts[: ordered.size]])
    yield f"sign of zero in {name}", _Sign(column)
    if np.isfinite(trailing).any():
        start = int(np.nanmin(trailing))
        last = _Bit(column, start)
        yield f"{_place(0)} of {name}", last
        yield f"{_place(0)} of {name} by its size", _BySize(column, edges, last)
        for place in _clearest(_bits(first), _bits(second), 52):
            if place > start:
                yield f"{_place(place - start)} of {name}", _Bit(column, place)
        yield f"length of {name} in bits", _Spacing(column, True)
        yield f"spacing of {name}", _Spacing(column, False)
    lattice = _lattice_of(both)
    if lattice is not None:
        steps = "" if lattice == _Lattice(0.0, 1.0) else f" in steps of {lattice.step:.4g}"
        parity = _Remainder(column, lattice, 2)
        yield f"parity of {name}{steps}", parity
        yield f"parity of {name} by its size{steps}", _BySize(column, edges, parity)
        for modulus in MODULI[1:]:
            yield f"{name} modulo {modulus}{steps}", _Remainder(column, lattice, modulus)
        for place in _clearest(lattice.whole(first), lattice.whole(second), 48):
            if place:
                yield f"binary digit {place + 1} of {name}{steps}", _Digit(column, lattice, place)


def _same(values: Floats) -> bool:
    """Whether all are the same to the bit."""
    bits = _bits(values)
    return bool((bits == bits[0]).all())


# --- scores ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Found:
    """A reading, what it says on either law, and how clearly these differ by chance's standards."""

    name: str
    read: Read
    bins: Bins
    strength: float
    column: int
    two: bool

    @classmethod
    def of(cls, name: str, read: Read, column: int, runs: Sequence[Floats]) -> _Found | None:
        seen = [read(x) for x in runs]
        both = np.concatenate(seen)
        if _same(both):
            return None
        bins = Bins.learn(read, *seen)
        most = bins.ratio.size
        counts = np.array([np.bincount(bins.codes(x), minlength=most) for x in seen])
        total = counts.sum(axis=0)
        counts, total = counts[:, total > 0], total[total > 0]
        shares = counts / counts.sum(axis=1, keepdims=True)
        lengths = 1 / counts.sum(axis=1)
        pooled = total / total.sum()
        square = float(((shares[0] - shares[1]) ** 2 / (pooled * lengths.sum())).sum())
        free = max(total.size - 1, 1)
        two = bool(np.isin(both, (0.0, 1.0)).all())
        return cls(name, read, bins, (square - free) / math.sqrt(2 * free), column, two)

    def score(self) -> Score:
        digits = isinstance(self.read, _DIGITS)
        if self.two:
            return Score(self.name, _Known(self.read), True, digits)
        return Score(f"likelihood ratio of {self.name}", self.bins, True, digits)


def learn_digit_scores(
    first: Floats, second: Floats, names: Sequence[str], coded: NDArray[np.bool_]
) -> tuple[Score, ...]:
    """Scores of exact values, from runs of either law.

    Parameters
    ----------
    first, second : ndarray
        One row per run, one column per number; NaN for what is missing.
    names : sequence of str
        Of the columns.
    coded : ndarray of bool
        Columns whose numbers are codes of something else: only equal or not.

    Returns
    -------
    tuple of Score
        The clearest ones, of single columns and of several; empty where every run is the same to
        the bit.

    Examples
    --------
    >>> even = 2.0 * np.arange(100)[:, None]
    >>> scores = learn_digit_scores(even, even + 1, ["value"], np.array([False]))
    >>> scores[0].name
    'parity of value'
    """
    runs = (first, second)
    found: list[_Found] = []
    reads: dict[str, list[Any]] = {"last bits": [], "parities": []}
    varying = [
        j for j in range(first.shape[1]) if not _same(np.concatenate([x[:, j] for x in runs]))
    ]
    for j in sorted(varying, key=lambda j: not coded[j])[: MOST_NUMBERS + int(coded.sum())]:
        parts: list[tuple[str, Read]] = []
        atoms = _atoms_of(j, first[:, j], second[:, j])
        if atoms is not None:
            parts.append((f"{names[j]}" if coded[j] else f"the exact value of {names[j]}", atoms))
        if not coded[j]:
            parts += _reads_of(j, names[j], first[:, j], second[:, j])
            parts.append((names[j], Column(j)))
        for name, read in parts:
            one = _Found.of(name, read, j, runs)
            if one is not None:
                found.append(one)
        for kind, which in (("last bits", _Bit), ("parities", _Remainder)):
            reads[kind] += [read for _, read in parts if isinstance(read, which)][:1]
    for kind, several in reads.items():
        if len(several) > 1:
            one = _Found.of(f"parity of all {kind}", _Parity(tuple(several)), -1, runs)
            found += [] if one is None else [one]
    return tuple(_scores(sorted(found, key=lambda one: -one.strength)))


def _scores(found: Sequence[_Found]) -> Iterator[Score]:
    """Of the clearest ones alone, and of all columns together."""
    for plain in (False, True):
        alike = [one for one in found if isinstance(one.read, Column) == plain]
        for one in alike[:_KEPT]:
            yield one.score()
    clearest = {one.column: one for one in reversed(found)}
    if len(clearest) > 1:
        parts = tuple(one.bins for one in clearest.values())
        yield Score(f"likelihood ratios of {len(parts)} exact numbers", Sum(parts), True)
