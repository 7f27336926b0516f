"""Scores of the exact values of numbers: last bits, spacing, remainders, the sign of zero.

Two laws that agree to any tolerance may differ in the last digits of what is released. Each column of
runs is read bit by bit; what is read is grouped into a few classes, which are scored by their likelihood
ratios. Codes (types, texts, orders) are compared for equality alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpstats.arrays import Floats
from dpstats.audit.attack import Bins, Looks, Read, Score, column, sum_of
from dpstats.audit.forms import meaning_of
from dpstats.audit.lattice import Lattice, bits_of, last_bits, lattice_of, same_to_the_bit

MOST_NUMBERS = 200
MODULI = (2, 3, 4, 5, 8, 10)

_KEPT = 12  # scores
_BITS = 3  # of a number, those that differ most
_SIZES = 8
_ATOMS = 30
_PAYLOAD = np.uint64(2**51 - 1)
_SIGNED = {-2.0: "-nan", -1.0: "-0.0", 1.0: "0.0", 2.0: "nan"}


@dataclass(frozen=True, eq=False)
class _Reading:
    """A number that is read of each run.

    ``looks`` is None for a column as it is; ``word`` is the meaning of one value of the reading, and is
    None where its values have no words. ``joint``: with what readings of other columns it is combined.
    """

    name: str
    read: Read
    looks: Looks | None = "digits"
    word: Callable[[float], str | None] | None = None
    coded: bool = False
    joint: str = ""


def _digit_word(value: float) -> str | None:
    return f"{value:.0f}" if math.isfinite(value) else None


def _parity_word(value: float) -> str | None:
    return {0.0: "even", 1.0: "odd"}.get(value) or _digit_word(value)


def _number_word(value: float) -> str:
    """A number, with the sign of a zero or of a NaN."""
    if math.isnan(value) and math.copysign(1.0, value) < 0:
        return "-nan"
    return repr(int(value)) if math.isfinite(value) and abs(value) >= 1e16 else repr(value)


# --- what is read of a column ------------------------------------------------------------------------


def _bit(j: int, position: int) -> Read:
    """One bit of a number."""
    place = np.uint64(position)
    return lambda runs: ((bits_of(runs[:, j]) >> place) & np.uint64(1)).astype(float)


def _sign(j: int) -> Read:
    """1 for the positive zero and -1 for the negative one, 2 and -2 for NaNs, 0 for all else."""

    def read(runs: Floats) -> Floats:
        values = runs[:, j]
        signed = np.where(np.signbit(values), -1.0, 1.0)
        return np.where(values == 0, signed, np.where(np.isnan(values), 2 * signed, 0.0))

    return read


def _payload(j: int) -> Read:
    """The bits of a NaN that distinguish it from other NaNs; missing for numbers."""

    def read(runs: Floats) -> Floats:
        values = runs[:, j]
        return np.where(np.isnan(values), (bits_of(values) & _PAYLOAD).astype(float), math.nan)

    return read


def _remainder(j: int, lattice: Lattice, modulus: int) -> Read:
    """The number of steps on a lattice, modulo a number."""

    def read(runs: Floats) -> Floats:
        with np.errstate(all="ignore"):
            return np.asarray(np.mod(lattice.steps(runs[:, j]), modulus))

    return read


def _binary_digit(j: int, lattice: Lattice, position: int) -> Read:
    """One binary digit of the number of steps."""

    def read(runs: Floats) -> Floats:
        steps = lattice.steps(runs[:, j])
        with np.errstate(all="ignore"):
            return np.asarray(np.mod(np.floor(steps / 2.0**position), 2))

    return read


def _by_size(j: int, edges: Floats, binary: Read) -> Read:
    """What is 0 or 1, apart for small and for large numbers."""

    def read(runs: Floats) -> Floats:
        sizes = np.searchsorted(edges, runs[:, j], side="right")
        return np.asarray(sizes + (edges.size + 1) * binary(runs))

    return read


def _parity(parts: Sequence[Read]) -> Read:
    """Whether an odd number of columns is odd: of their steps, or of their last bits."""
    return lambda runs: np.asarray(np.mod(sum((read(runs) for read in parts), 0.0), 2))


def _atoms(j: int, name: str, first: Floats, second: Floats, coded: bool) -> _Reading | None:
    """Which of the repeated values it is, of those that differ most in frequency; 0 for none of them."""
    every, where = np.unique(np.concatenate([first, second]), return_inverse=True)
    shares = [
        np.bincount(part, minlength=every.size) / part.size
        for part in (where[: first.size], where[first.size :])
    ]
    repeated = np.flatnonzero(np.bincount(where) > 1)
    if not repeated.size or every.size < 2:
        return None
    gap, total = shares[0] - shares[1], shares[0] + shares[1]
    order = np.argsort(-(gap[repeated] ** 2 / total[repeated]), kind="stable")
    values = every[np.sort(repeated[order[:_ATOMS]])]  # in order, NaN last if at all

    def read(runs: Floats) -> Floats:
        cells = runs[:, j]
        at = np.minimum(np.searchsorted(values, cells), len(values) - 1)
        same = (values[at] == cells) | (np.isnan(cells) & np.isnan(values[-1]))
        return np.where(same, at + 1.0, 0.0)

    def word(value: float) -> str | None:
        describe = meaning_of if coded else _number_word
        return None if value == 0 else describe(float(values[int(value) - 1]))

    if coded:
        return _Reading(name, read, "else", word, coded=True)
    return _Reading(f"the exact value of {name}", read, "exact", word)


def _clearest(first: NDArray[np.uint64], second: NDArray[np.uint64], places: int) -> list[int]:
    """Positions of the bits that differ most between integers of either law."""
    gap = [
        float(np.mean((first >> p) & np.uint64(1)) - np.mean((second >> p) & np.uint64(1)))
        for p in map(np.uint64, range(places))
    ]
    best = np.argsort(-np.abs(gap), kind="stable")[:_BITS]
    return [int(place) for place in best if gap[place]]


def _place(position: int) -> str:
    return f"bit {position + 1} from the last" if position else "last bit"


def _readings(
    j: int, name: str, first: Floats, second: Floats, lattice: Lattice | None
) -> Iterator[_Reading]:
    """All that is read of one column of numbers."""
    both = np.concatenate([first, second])
    trailing = last_bits(both)[0]
    ordered = np.sort(both[np.isfinite(both)])
    parts = np.arange(1, _SIZES) * ordered.size // _SIZES
    edges = np.unique(ordered[parts[: ordered.size]])
    yield _Reading(f"sign of zero in {name}", _sign(j), "else", _SIGNED.get)
    silent = bool(np.isnan(both).any())
    if silent:
        label = f"payload of the NaN in {name}"
        yield _Reading(label, _payload(j), "else", _digit_word)
    if silent or np.isfinite(trailing).any():
        start = int(np.nanmin(trailing)) if np.isfinite(trailing).any() else 0
        last = _bit(j, start)
        yield _Reading(f"{_place(0)} of {name}", last, word=_digit_word, joint="last bits")
        yield _Reading(f"{_place(0)} of {name} by its size", _by_size(j, edges, last))
        for place in _clearest(bits_of(first), bits_of(second), 52):
            label = f"{_place(place - start)} of {name}"
            if place < start:
                label = f"bit {place + 1} of the NaN in {name}"
            if place != start:
                yield _Reading(label, _bit(j, place), word=_digit_word)
        yield _Reading(f"length of {name} in bits", lambda runs: last_bits(runs[:, j])[0])
        yield _Reading(f"spacing of {name}", lambda runs: last_bits(runs[:, j])[1])
    if lattice is not None:
        steps = "" if lattice == Lattice(0.0, 1.0) else f" in steps of {lattice.step:.4g}"
        odd = _remainder(j, lattice, 2)
        yield _Reading(f"parity of {name}{steps}", odd, word=_parity_word, joint="parities")
        yield _Reading(f"parity of {name} by its size{steps}", _by_size(j, edges, odd))
        for modulus in MODULI[1:]:
            read = _remainder(j, lattice, modulus)
            yield _Reading(f"{name} modulo {modulus}{steps}", read, word=_digit_word)
        for place in _clearest(lattice.integers(first), lattice.integers(second), 48):
            if place:
                read = _binary_digit(j, lattice, place)
                yield _Reading(f"binary digit {place + 1} of {name}{steps}", read, word=_digit_word)


# --- scores ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Contrast:
    """A reading under both laws, and how clearly they differ in it compared with chance."""

    reading: _Reading
    bins: Bins
    strength: float
    column: int
    step: float | None
    values: Floats

    @classmethod
    def of(
        cls, reading: _Reading, column: int, runs: Sequence[Floats], step: float | None
    ) -> _Contrast | None:
        """None where the reading is the same in all runs."""
        values = [reading.read(x) for x in runs]
        both = np.concatenate(values)
        if same_to_the_bit(both):
            return None
        bins = Bins.learn(reading.read, *values)
        most = bins.ratio.size
        counts = np.array([np.bincount(bins.codes(x), minlength=most) for x in values])
        total = counts.sum(axis=0)
        counts, total = counts[:, total > 0], total[total > 0]
        shares = counts / counts.sum(axis=1, keepdims=True)
        lengths = 1 / counts.sum(axis=1)
        pooled = total / total.sum()
        square = float(((shares[0] - shares[1]) ** 2 / (pooled * lengths.sum())).sum())
        free = max(total.size - 1, 1)
        strength = (square - free) / math.sqrt(2 * free)
        return cls(reading, bins, strength, column, step, np.unique(both))

    @property
    def looks(self) -> Looks:
        return self.reading.looks or ("exact" if self.bins.exact else "size")

    def score(self) -> Score:
        name, read = self.reading.name, self.reading.read
        binary = bool(np.isin(self.values, (0.0, 1.0)).all()) and not self.reading.coded
        words = self._words(binary)
        if binary:
            return Score(
                name,
                lambda runs: np.nan_to_num(read(runs), nan=-math.inf),  # missing below all else
                True,
                self.looks,
                self.step,
                words,
            )
        return Score(f"likelihood ratio of {name}", self.bins, True, self.looks, self.step, words)

    def _words(self, binary: bool) -> Callable[[float, bool], str] | None:
        """Says which classes a threshold leaves: the only one of them, or all but one."""
        word = self.reading.word
        if word is None or self.values.size > self.bins.ratio.size:
            return None
        scores = self.values if binary else self.bins.ratio[self.bins.codes(self.values)]
        name = self.reading.name
        name = name.removeprefix("sign of zero in ").removeprefix("the exact value of ")
        verb = ":" if self.reading.coded else " is"

        def words(threshold: float, above: bool) -> str:
            sides: tuple[list[str | None], list[str | None]] = ([], [])
            for score, value in zip(scores.tolist(), self.values.tolist(), strict=True):
                sides[(score > threshold) != above].append(word(value))
            inside, outside = (side[0] if len(side) == 1 else None for side in sides)
            if inside is not None:
                return f"{name}{verb} {inside}" + (f" (other: {outside})" if outside else "")
            return "" if outside is None else f"{name}{verb} not {outside}"

        return words


def learn_digit_scores(
    first: Floats, second: Floats, names: Sequence[str], coded: NDArray[np.bool_]
) -> tuple[Score, ...]:
    """Scores of exact values, from runs of either law: those that differ most from chance.

    A row for each run, a column for each number (NaN where it is missing), with ``names``. Columns
    that are ``coded`` are compared for equality alone. Empty where every run is the same to the bit.

    Examples
    --------
    >>> even = 2.0 * np.arange(100)[:, None]
    >>> scores = learn_digit_scores(even, even + 1, ["value"], np.array([False]))
    >>> scores[0].name
    'parity of value'
    """
    runs = (first, second)
    contrasts: list[_Contrast | None] = []
    joint: dict[str, list[tuple[Read, float | None]]] = {"last bits": [], "parities": []}
    varying = [
        j
        for j in range(first.shape[1])
        if not same_to_the_bit(np.concatenate([x[:, j] for x in runs]))
    ]
    for j in sorted(varying, key=lambda j: not coded[j])[: MOST_NUMBERS + int(coded.sum())]:
        one, two = (x[:, j] for x in runs)
        atoms = _atoms(j, names[j], one, two, bool(coded[j]))
        readings = [] if atoms is None else [atoms]
        step = None
        if not coded[j]:
            both = np.concatenate([one, two])
            lattice = lattice_of(both)
            step = None if lattice is None else lattice.grid(both)
            readings += _readings(j, names[j], one, two, lattice)
            readings.append(_Reading(names[j], column(j), None))
        contrasts += [_Contrast.of(reading, j, runs, step) for reading in readings]
        for reading in readings:
            if reading.joint:
                joint[reading.joint].append((reading.read, step))
    for kind, several in joint.items():
        if len(several) > 1:
            odd = _parity([read for read, _ in several])
            parity = _Reading(f"parity of all {kind}", odd, word=_parity_word)
            step = _step_of([step for _, step in several])
            contrasts.append(_Contrast.of(parity, -1, runs, step))
    differing = [contrast for contrast in contrasts if contrast is not None]
    return tuple(_scores(sorted(differing, key=lambda contrast: -contrast.strength)))


def _step_of(steps: Sequence[float | None]) -> float | None:
    """The step of several columns: None if one of them lies on no grid."""
    known = [step for step in steps if step is not None]
    return known[0] if known and len(known) == len(steps) else None


def _scores(contrasts: Sequence[_Contrast]) -> Iterator[Score]:
    """Scores of the clearest contrasts alone, and of all columns together."""
    for plain in (False, True):
        alike = [one for one in contrasts if (one.reading.looks is None) == plain]
        for one in alike[:_KEPT]:
            yield one.score()
    clearest = {one.column: one for one in reversed(contrasts)}.values()
    if len(clearest) > 1:
        looks: set[str] = {one.looks for one in clearest}
        order: tuple[Looks, ...] = ("digits", "exact", "else", "size")
        yield Score(
            f"likelihood ratios of {len(clearest)} exact numbers",
            sum_of([one.bins for one in clearest]),
            True,
            next(kind for kind in order if kind in looks),
            _step_of([one.step for one in clearest if one.looks == "digits"]),
        )
