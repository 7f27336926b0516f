"""Public rows as arrays of numbers, and what they say of a model by themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dpstats.arrays import Floats

_FOLLOWS = 1e-9
"""Part of a column that the columns before it do not say, up to which it follows from them."""
_ENOUGH = 10_000
"""Rows that tell how far columns reach."""


class Working(Protocol):
    """What is asked of a family: score, curvature and Pearson residual, entry by entry."""

    def working(self, eta: Floats, y: Floats) -> tuple[Floats, Floats, Floats]: ...


@dataclass(frozen=True)
class PublicRows:
    """Public rows as numbers: design (m, d), response, offset and prior weight (m,)."""

    x: Floats
    y: Floats
    offset: Floats
    weight: Floats

    def working(self, family: Working, coef: Floats) -> tuple[Floats, Floats, Floats]:
        """Weighted score, curvature and Pearson residual of every row at ``coef``."""
        r, h, e = family.working(self.x @ coef + self.offset, self.y)
        return r * self.weight, h * self.weight, e * np.sqrt(self.weight)

    def averages(self) -> bool:
        """Whether responses are averages, as of ones or counts of so many trials, the weights."""
        return bool(np.any((np.rint(self.y) != self.y) & (self.weight != 1)))

    def shares(self) -> bool:
        """Whether responses are numbers between zero and one, and no average of these."""
        return bool(np.any((np.rint(self.y) != self.y) & (self.weight == 1)))

    def information(self, family: Working, coef: Floats) -> Floats:
        """(1/m) sum w h x x' at ``coef``."""
        h = self.working(family, coef)[1]
        matrix: Floats = (self.x * h[:, None]).T @ self.x / len(self.y)
        return matrix

    def unseen(self) -> Floats:
        """Second moment of three more rows of every level that few public rows have.

        It may be several times as frequent among the private ones: without these, its rows would be far
        longer than all others once whitened, and be cut. Columns that are zero in four rows of five
        are taken for such levels. The rows are whole ones, as those of the level are on average: of a
        level times a number, more of that product alone would be seen where no row is.
        """
        there = self.x != 0
        rows = there.sum(axis=0)
        few = (rows > 0) & (rows < 0.2 * len(there))
        times = 3 * self.weight / len(there) * (there[:, few] @ (1 / rows[few]))
        return np.asarray((self.x.T * times) @ self.x)

    def reach(self) -> Floats:
        """G (d, d) with |G b|^2 the sum of the squares of what each column adds to linear predictors.

        That is its coefficient times how far it reaches from its mean, at most ten standard deviations:
        of what the columns before it do not say. Of age and its square, of which one takes back what the
        other adds, each by itself would seem to reach far.
        """
        some = self.x[:_ENOUGH]
        size = np.linalg.norm(some, axis=0)
        size = np.where(size > 0, size, 1.0)
        q, r = np.linalg.qr(some / size)
        own = np.diag(r).copy()
        rest = q * own  # of each column, less the others before it
        centred = np.abs(rest - rest.mean(axis=0))
        reach = np.minimum(centred.max(axis=0), 10 * rest.std(axis=0))
        told = np.abs(own) > _FOLLOWS
        return np.asarray(np.where(told, reach / np.where(told, own, 1.0), 0.0)[:, None] * r * size)
