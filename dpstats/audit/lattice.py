"""Bits of floats, and the grid on which numbers lie."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpstats.arrays import Floats

_EPS = float(np.finfo(float).eps)


def bits_of(values: Floats) -> NDArray[np.uint64]:
    return np.ascontiguousarray(values, dtype=np.float64).view(np.uint64)


def same_to_the_bit(rows: Floats) -> bool:
    """Whether no row, or number, differs from another."""
    bits = bits_of(rows)
    return bool((bits == bits[0]).all())


def last_bits(values: Floats) -> tuple[Floats, Floats]:
    """Zeros at the end of the mantissa, and the exponent of its last one; NaN where there is none."""
    bits = bits_of(values)
    exponent = ((bits >> np.uint64(52)) & np.uint64(0x7FF)).astype(float)
    mantissa = bits & np.uint64(2**52 - 1)
    mantissa = np.where(exponent > 0, mantissa | np.uint64(2**52), mantissa)
    known = (mantissa > 0) & (exponent < 0x7FF)
    lowest = (mantissa & (~mantissa + np.uint64(1))).astype(float)
    trailing = np.where(known, np.log2(np.where(known, lowest, 1.0)), math.nan)
    return trailing, np.maximum(exponent, 1) - 1075 + trailing


@dataclass(frozen=True)
class Lattice:
    """Numbers that are multiples of a step from an origin on."""

    origin: float
    step: float

    def grid(self, values: Floats) -> float | None:
        """The step, if somebody chose it; None where it is the spacing of the floats themselves."""
        finite = values[np.isfinite(values)]
        with np.errstate(all="ignore"):
            single = self.step < 1 and (finite.astype(np.float32) == finite).all()
        eps = float(np.finfo(np.float32 if single else float).eps)
        odd = float(np.mod(self.steps(finite), 2).mean())
        wide = self.step >= 64 * eps * float(np.abs(finite).max())
        # floats have fewer and fewer odd steps the larger they are
        return self.step if wide and 0.05 <= odd <= 0.95 else None

    def steps(self, values: Floats) -> Floats:
        with np.errstate(all="ignore"):
            return np.asarray(np.rint((values - self.origin) / self.step))

    def integers(self, values: Floats) -> NDArray[np.uint64]:
        """Steps as integers; negative ones in two's complement."""
        finite = np.where(np.isfinite(values), values, self.origin)
        return np.asarray(self.steps(finite).astype(np.int64).view(np.uint64))


def lattice_of(values: Floats) -> Lattice | None:
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
            counts = steps.astype(np.int64)
            step = int(np.gcd.reduce(np.diff(counts)))
            return Lattice(float(counts[0] % step) * unit, step * unit)
    closest = float(np.diff(finite).min())
    if 16 * _EPS * span > 0.01 * closest:  # which holds for numbers that lie on no lattice
        return None
    steps = (finite - finite[0]) / closest
    if (np.abs(steps - np.rint(steps)) <= 0.01).all():
        # the range is known more exactly than its smallest part
        widest = float(np.rint(steps[-1]))
        return Lattice(float(finite[0]), float(finite[-1] - finite[0]) / widest)
    return None


def _units(finite: Floats, span: float) -> Iterator[float]:
    """Units of which numbers may be multiples: a power of two, powers of ten."""
    least = float(np.nanmin(last_bits(finite[finite != 0])[1]))
    if least > -1000 and span * 2.0 ** min(-least, 1000) < 2**53:
        yield 2.0**least
    for places in range(1, 13):
        if span * 10**places < 1e14:
            yield 1 / 10**places
