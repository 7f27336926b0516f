"""Rows of persons: what all rows of a person add up to is one term of every sum.

The privacy unit is the person. A person's rows, in the order of the table, pass through the maps of
`ScoreRows` one by one, steps 1 and 2; then, instead of steps 3 and 4,

3. the score of a person is psi = sum of z r over the person's rows, cut to |psi| <= C; the information
   rows q = sqrt(h) z of a person are one long vector, cut to (sum |q|^2)^(1/2) <= R;
4. rounding as there. The long vector of a person with k rows has k d coordinates, and R is shrunk by
   half the diagonal of their grid, sqrt(k d)/2 steps.

Each depends on that person's rows and on public or released numbers only: sums of floats run over the
rows of one person, in their order, wherever in the table they stand. So replacing a person, by one with
any other number of rows, changes one term of every sum, and the sensitivities of `ScoreRows.sums` hold
with "row" read as "person". For the Gram of a person Q'Q, Q the cut rows: it is positive semidefinite
and its Frobenius norm is at most its trace, |Q|^2 <= R^2; two of those have an inner product of zero or
more, so that their difference is at most sqrt(2) R^2.

With a ``leverage`` R, whose rows are together longer than that, |Q| with the roots of prior weights, has
all of them weigh (R/|Q|)^2 times as much.

``within``: means over the person's rows are taken off z and y - eta0 (weighted means, where rows have
weights), as effects of persons would be. That is a function of the person's rows alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpstats.arrays import Floats
from dpstats.mechanism.lattice import ExactMatrix
from dpstats.mechanism.passes import Integers, RowSource, one_pass, squared_lengths
from dpstats.score_rounds.rows import SHORTEST, Family, ScoreRows, Slab, Vectors, over_mean


class PersonSource(RowSource, Protocol):
    """A table of persons: ``n`` of them, and blocks of all rows of some."""

    def one_of_each(self, *, differences: bool) -> RowSource:
        """One row of every person, or differences of two: a row depends on those of one person."""

    def forget(self) -> None:
        """Forget the rows, which are read again if somebody asks."""


MOST_OCTAVES = 30
"""Nobody is counted with more than 2^30 rows."""


_ROUNDING = 2.0**-40
"""Of the length of a row, what is taken for the rounding of a difference."""


class PersonSlab(Slab):
    """Rows of whole persons."""

    starts: NDArray[np.int64]
    rows: Floats
    """How many usable rows each person has."""

    def persons(self, values: Floats) -> Floats:
        """Sums over the rows of each person, along the last axis."""
        return np.asarray(np.add.reduceat(values, self.starts, axis=-1))

    def each(self, values: Floats) -> Floats:
        """What is known of persons, for each of their rows."""
        lengths = np.diff(np.append(self.starts, len(self.y)))
        return np.repeat(values, lengths, axis=-1)


class PersonRows(ScoreRows):
    """Rows of persons; see the module's docstring and `ScoreRows`.

    ``source`` has as many "rows" as there are persons, and yields blocks of whole persons.

    Parameters
    ----------
    within : bool
        Whether the effects of persons are taken out.
    """

    _halves = False

    def __init__(
        self,
        source: RowSource,
        family: Family,
        whitening: Floats,
        shift: Floats,
        truncation: float | None = None,
        coarse: ExactMatrix | None = None,
        *,
        within: bool = False,
    ) -> None:
        super().__init__(source, family, whitening, shift, truncation, coarse)
        self._within = within

    def _slabs(self, block: Any, k: int) -> Iterator[Slab]:
        """Slabs of whole persons; of one person, where one has more rows than a slab."""
        x, columns = self._encode(block)
        starts = block.starts
        ends = np.append(starts[1:], len(x))
        first = 0
        while first < len(starts):
            begin = int(starts[first])
            last = int(np.searchsorted(ends, begin + self._slab_rows(), "right"))
            last = max(last, first + 1)
            part = slice(begin, int(ends[last - 1]))
            mine = (*(column[part] for column in columns), starts[first:last] - begin)
            space = np.empty((self.d + 1, part.stop - part.start))
            yield self._keep(x[part], mine, space)
            first = last

    def _slab(
        self,
        z: Floats,
        exponent: NDArray[np.int32],
        norm: Floats,
        fitted: Floats,
        columns: tuple[Any, ...],
    ) -> PersonSlab:
        y, offset, *weights = columns[:-1]
        above, starts = weights[1] if weights else None, columns[-1]
        norm = self._placed(z, exponent, norm)
        eta = fitted + offset
        alive = np.isfinite(norm) & np.isfinite(eta) & np.isfinite(y)
        alive &= self._family.possible(y)
        weight = np.where(alive, 1.0, 0.0)
        if weights:
            alive &= np.isfinite(weights[0]) & (weights[0] > 0)
            weight = np.where(alive, weights[0], 0.0)
        z[:, ~alive] = 0.0
        eta, y = (np.where(alive, v, 0.0) for v in (eta, y))
        slab = PersonSlab(z, norm, eta, y, weight, above)
        slab.starts = starts
        slab.rows = slab.persons(alive.astype(np.float64))
        if self._within:
            _without_effects(slab)
        slab.norm = np.sqrt(squared_lengths(slab.z))
        # a sum that overflowed; what is so short that its square is lost, which no bound would see; and
        # what rounding leaves of a row whose person has no other
        least = np.maximum(_ROUNDING * norm, SHORTEST)
        lost = ~((slab.norm > least) & np.isfinite(slab.norm))
        slab.z[:, lost], slab.norm[lost] = 0.0, 0.0
        return slab

    def _weighed(self, slab: Any) -> Floats:
        """Lengths of all rows of a person, for each of these: a person weighs less, not a row."""
        return np.asarray(slab.each(self._stacked_lengths(slab, np.sqrt(slab.weight))))

    # -- what a person adds to each sum -----------------------------------------------------------

    def _scores(self, slab: Any, factor: Floats) -> Vectors:
        psi = slab.persons(slab.z * factor)
        return Vectors.measured(psi, np.ones(psi.shape[1]))

    def _long_scores(
        self, slab: Any, factor: Floats, anchor: Floats, length: float, less: bool
    ) -> Vectors:
        return self._scores(slab, factor).beyond(length)

    def _stacked_lengths(self, slab: Any, factor: Floats) -> Floats:
        return np.asarray(np.sqrt(slab.persons((slab.norm * factor) ** 2)))

    def _stack(
        self, slab: Any, factor: Floats, radius: float, steps: int
    ) -> tuple[Floats, NDArray[np.bool_]]:
        step = radius / steps
        length = self._stacked_lengths(slab, factor) / step
        corners = np.diff(np.append(slab.starts, len(slab.y))) * self.d
        inner = np.maximum(steps - (np.sqrt(corners) / 2 + 1), 0.0) * (1 - 1e-12)
        over = ~(length <= inner)
        scale = np.where(over, inner / length, 1.0)
        whole = slab.z * (slab.each(scale) * factor / step)
        np.rint(whole, out=whole)
        return np.where(np.isfinite(whole), whole, 0.0), over

    def _residual_sizes(self, slab: Any, residual: Floats) -> Floats:
        return np.asarray(np.sqrt(slab.persons(residual**2)))

    def _any(self, slab: Any, marked: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return np.asarray(slab.persons(marked.astype(np.float64)) > 0)

    def _partly(self, slab: Any) -> NDArray[np.bool_]:
        return np.asarray(slab.rows < slab.persons(np.ones(len(slab.y))))

    def _empty(self, slab: Any) -> NDArray[np.bool_]:
        return np.asarray(self._counted(slab) == 0)

    @one_pass
    def response_counts(self, lowest: int, octaves: int) -> Integers:
        """Histogram of means of |y| exp(-eta): who is replaced leaves one bin, another enters one."""

        def means(slab: Any) -> tuple[Floats]:
            return (slab.persons(over_mean(slab)) / np.maximum(slab.rows, 1.0),)

        return self._histograms(means, (lowest, octaves))[0]

    @one_pass
    def row_histogram(self) -> Integers:
        """Histogram of how many rows persons have: who is replaced leaves a bin, another enters one."""
        return self._histograms(lambda slab: (self._counted(slab),), (0, MOST_OCTAVES))[0]

    @one_pass
    def row_count(self, most: int) -> Integers:
        """Rows, of nobody more than ``most``: a person adds a whole number from 0 to ``most``."""

        def work(slab: Any) -> tuple[Floats]:
            return (np.array([np.minimum(self._counted(slab), most).sum()]),)

        return self._sums(work, (1,))[0]

    def _counted(self, slab: Any) -> Floats:
        """Usable rows of persons; within persons, of those with more than one."""
        return np.where(slab.rows > 1, slab.rows, 0.0) if self._within else slab.rows


def _without_effects(slab: PersonSlab) -> None:
    """Take the means of every person off the design and off what eta0 leaves of the response."""
    assert slab.weight is not None
    size = np.maximum(slab.persons(slab.weight), 1e-300)
    y = slab.y - slab.eta
    alive = slab.weight > 0
    for values in (*slab.z, y):
        values -= slab.each(slab.persons(values * slab.weight) / size)
        values[~alive] = 0.0
    slab.y, slab.eta = y, np.zeros_like(y)
