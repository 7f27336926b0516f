"""Scores of the exact values of numbers: last bits, spacing, remainders, the sign of zero.

Two laws that are alike to any tolerance may differ in the last digits of what is released. Everything
here reads single columns of runs bit by bit, turns what it reads into a few classes, and scores these by
their likelihood ratios. Of codes (kinds, texts, orders) it asks only which one it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpstats.arrays import Floats
from dpstats.audit.attack import Bins, Column, Looks, Score, Sum
from dpstats.audit.forms import said_of
from dpstats.audit.lattice import Lattice, bits_of, last_bits, lattice_of

MOST_NUMBERS = 200
MODULI = (2, 3, 4, 5, 8, 10)

_KEPT = 12  # scores
_BITS = 3  # of a number, those that differ most
_SIZES = 8
_ATOMS = 30
_PAYLOAD = np.uint64(2**51 - 1)


# --- what is read of a column ------------------------------------------------------------------------


@dataclass(frozen=True)
class _Bit:
    column: int
    position: int

    def __call__(self, runs: Floats) -> Floats:
        bits = bits_of(runs[:, self.column]) >> np.uint64(self.position)
        return (bits & np.uint64(1)).astype(float)


@dataclass(frozen=True)
class _Spacing:
    """The exponent of the last bit that is set; ``within`` the mantissa, or of the number itself."""

    column: int
    within: bool

    def __call__(self, runs: Floats) -> Floats:
        return last_bits(runs[:, self.column])[0 if self.within else 1]


@dataclass(frozen=True)
class _Sign:
    """-1 for the negative one of the zeros (and NaNs), 1 for the positive one, 0 for all else."""

    column: int

    def __call__(self, runs: Floats) -> Floats:
        values = runs[:, self.column]
        signed = np.where(np.signbit(values), -1.0, 1.0)
        return np.where(values == 0, signed, np.where(np.isnan(values), 2 * signed, 0.0))


@dataclass(frozen=True)
class _Payload:
    """The bits of a NaN that say nothing but which NaN it is; missing for numbers."""

    column: int

    def __call__(self, runs: Floats) -> Floats:
        values = runs[:, self.column]
        return np.where(np.isnan(values), (bits_of(values) & _PAYLOAD).astype(float), math.nan)


@dataclass(frozen=True)
class _Remainder:
    column: int
    lattice: Lattice
    modulus: int

    def __call__(self, runs: Floats) -> Floats:
        with np.errstate(all="ignore"):
            return np.asarray(np.mod(self.lattice.steps(runs[:, self.column]), self.modulus))


@dataclass(frozen=True)
class _Digit:
    """One binary digit of the number of steps."""

    column: int
    lattice: Lattice
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
class _Coded(_Atoms):
    """Which of some codes it is: of kinds, texts or orders."""


@dataclass(frozen=True, eq=False)
class _Known:
    """What is read, where it is known; below all else where not."""

    read: Callable[[Floats], Floats]

    def __call__(self, runs: Floats) -> Floats:
        return np.nan_to_num(self.read(runs), nan=-math.inf)


_DIGITS = (_Bit, _Spacing, _Remainder, _Digit, _BySize, _Parity)

Read = Callable[[Floats], Floats]


# --- what there is to read -----------------------------------------------------------------------------


def _atoms_of(column: int, first: Floats, second: Floats, coded: bool) -> _Atoms | None:
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
    kind = _Coded if coded else _Atoms
    return kind(column, values[np.sort(repeated[order[:_ATOMS]])])


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


def _reads_of(
    column: int, name: str, first: Floats, second: Floats, lattice: Lattice | None
) -> Iterator[tuple[str, Read]]:
    """All that is read of one column of numbers."""
    both = np.concatenate([first, second])
    trailing = last_bits(both)[0]
    ordered = np.sort(both[np.isfinite(both)])
    parts = np.arange(1, _SIZES) * ordered.size // _SIZES
    edges = np.unique(ordered[parts[: ordered.size]])
    yield f"sign of zero in {name}", _Sign(column)
    silent = bool(np.isnan(both).any())
    if silent:
        yield f"payload of the NaN in {name}", _Payload(column)
    if silent or np.isfinite(trailing).any():
        start = int(np.nanmin(trailing)) if np.isfinite(trailing).any() else 0
        last = _Bit(column, start)
        yield f"{_place(0)} of {name}", last
        yield f"{_place(0)} of {name} by its size", _BySize(column, edges, last)
        for place in _clearest(bits_of(first), bits_of(second), 52):
            if place > start:
                yield f"{_place(place - start)} of {name}", _Bit(column, place)
            elif place < start:
                yield f"bit {place + 1} of the NaN in {name}", _Bit(column, place)
        yield f"length of {name} in bits", _Spacing(column, True)
        yield f"spacing of {name}", _Spacing(column, False)
    if lattice is not None:
        steps = "" if lattice == Lattice(0.0, 1.0) else f" in steps of {lattice.step:.4g}"
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
    bits = bits_of(values)
    return bool((bits == bits[0]).all())


# --- scores ------------------------------------------------------------------------------------------


def _shown(value: float) -> str:
    """A number, with the sign of a zero or of a NaN."""
    if math.isnan(value) and math.copysign(1.0, value) < 0:
        return "-nan"
    return repr(int(value)) if math.isfinite(value) and abs(value) >= 1e16 else repr(value)


def _class_of(read: Read, value: float) -> str | None:
    """What was read, in words, if it is one thing."""
    if isinstance(read, _Coded):
        return None if value == 0 else said_of(float(read.values[int(value) - 1]))
    if isinstance(read, _Sign):
        return {-2.0: "-nan", -1.0: "-0.0", 1.0: "0.0", 2.0: "nan"}.get(value)
    if isinstance(read, _Atoms):
        return None if value == 0 else _shown(float(read.values[int(value) - 1]))
    if isinstance(read, _Payload):
        return None if math.isnan(value) else f"{value:.0f}"
    parity = isinstance(read, _Parity) or (isinstance(read, _Remainder) and read.modulus == 2)
    if parity and value in (0.0, 1.0):
        return "odd" if value else "even"
    return f"{value:.0f}" if isinstance(read, _DIGITS) and math.isfinite(value) else None


@dataclass(frozen=True, eq=False)
class _Classes:
    """Says which classes a threshold leaves: the one of them, or all but one."""

    name: str
    coded: bool
    classes: tuple[tuple[float, str | None], ...]  # their scores, and what they are

    def __call__(self, threshold: float, above: bool) -> str:
        sides: tuple[list[str | None], list[str | None]] = ([], [])
        for score, said in self.classes:
            sides[(score > threshold) != above].append(said)
        inside, outside = (side[0] if len(side) == 1 else None for side in sides)
        verb = ":" if self.coded else " is"
        if inside is not None:
            return f"{self.name}{verb} {inside}" + (f" (other: {outside})" if outside else "")
        return "" if outside is None else f"{self.name}{verb} not {outside}"


@dataclass(frozen=True, eq=False)
class _Found:
    """A reading, what it says on either law, and how clearly these differ by chance's standards."""

    name: str
    read: Read
    bins: Bins
    strength: float
    column: int
    step: float | None
    seen: Floats

    @classmethod
    def of(
        cls, name: str, read: Read, column: int, runs: Sequence[Floats], step: float | None
    ) -> _Found | None:
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
        strength = (square - free) / math.sqrt(2 * free)
        return cls(name, read, bins, strength, column, step, np.unique(both))

    @property
    def looks(self) -> Looks:
        if isinstance(self.read, _DIGITS):
            return "digits"
        if isinstance(self.read, Column):
            return "exact" if self.bins.exact else "size"
        atoms = isinstance(self.read, _Atoms) and not isinstance(self.read, _Coded)
        return "exact" if atoms else "else"

    def score(self) -> Score:
        two = bool(np.isin(self.seen, (0.0, 1.0)).all())
        words = self._words(two)
        if two and not isinstance(self.read, _Coded):
            return Score(self.name, _Known(self.read), True, self.looks, self.step, words)
        name = f"likelihood ratio of {self.name}"
        return Score(name, self.bins, True, self.looks, self.step, words)

    def _words(self, two: bool) -> _Classes | None:
        if (
            isinstance(self.read, Column | _Spacing | _BySize)
            or self.seen.size > self.bins.ratio.size
        ):
            return None
        coded = isinstance(self.read, _Coded)
        scores = self.seen if two and not coded else self.bins.ratio[self.bins.codes(self.seen)]
        classes = zip(scores.tolist(), self.seen.tolist(), strict=True)
        name = self.name.removeprefix("sign of zero in ").removeprefix("the exact value of ")
        return _Classes(
            name, coded, tuple((score, _class_of(self.read, value)) for score, value in classes)
        )


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
    reads: dict[str, list[tuple[Any, float | None]]] = {"last bits": [], "parities": []}
    varying = [
        j for j in range(first.shape[1]) if not _same(np.concatenate([x[:, j] for x in runs]))
    ]
    for j in sorted(varying, key=lambda j: not coded[j])[: MOST_NUMBERS + int(coded.sum())]:
        parts: list[tuple[str, Read]] = []
        step = None
        atoms = _atoms_of(j, first[:, j], second[:, j], bool(coded[j]))
        if atoms is not None:
            parts.append((f"{names[j]}" if coded[j] else f"the exact value of {names[j]}", atoms))
        if not coded[j]:
            both = np.concatenate([first[:, j], second[:, j]])
            lattice = lattice_of(both)
            step = None if lattice is None else lattice.grid(both)
            parts += _reads_of(j, names[j], first[:, j], second[:, j], lattice)
            parts.append((names[j], Column(j)))
        for name, read in parts:
            one = _Found.of(name, read, j, runs, step)
            if one is not None:
                found.append(one)
        for kind, which in (("last bits", _Bit), ("parities", _Remainder)):
            reads[kind] += [(read, step) for _, read in parts if isinstance(read, which)][:1]
    for kind, several in reads.items():
        if len(several) > 1:
            parity = _Parity(tuple(read for read, _ in several))
            step = _step_of([step for _, step in several])
            one = _Found.of(f"parity of all {kind}", parity, -1, runs, step)
            found += [] if one is None else [one]
    return tuple(_scores(sorted(found, key=lambda one: -one.strength)))


def _step_of(steps: Sequence[float | None]) -> float | None:
    """The step of several columns: None if one of them lies on no grid."""
    known = [step for step in steps if step is not None]
    return known[0] if known and len(known) == len(steps) else None


def _scores(found: Sequence[_Found]) -> Iterator[Score]:
    """Of the clearest ones alone, and of all columns together."""
    for plain in (False, True):
        alike = [one for one in found if isinstance(one.read, Column) == plain]
        for one in alike[:_KEPT]:
            yield one.score()
    clearest = {one.column: one for one in reversed(found)}.values()
    if len(clearest) > 1:
        looks: set[str] = {one.looks for one in clearest}
        order: tuple[Looks, ...] = ("digits", "exact", "else", "size")
        yield Score(
            f"likelihood ratios of {len(clearest)} exact numbers",
            Sum(tuple(one.bins for one in clearest)),
            True,
            next(kind for kind in order if kind in looks),
            _step_of([one.step for one in clearest if one.looks == "digits"]),
        )
