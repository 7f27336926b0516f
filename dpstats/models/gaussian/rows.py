"""Rows sorted into cells, each cell with its own coordinates; what is summed of them, cell by cell.

The first column of a row is 1; a row that is missing has 0 there and belongs to no cell. Every other
row is measured from a public origin in public units, entry by entry, and passes through maps that
depend on that row and on public or released numbers only:

1. cell: a sequence of splits, each by the largest of a few scores (`Partition`);
2. coordinates of its cell: w = T'(x - c), subtracted entry by entry, multiplied exactly;
3. cut: w <- min(1, g / |w|) w with the radius g of its cell;
4. rounding to the grid g/steps, g shrunk by half a grid diagonal first, so that |w| <= g after it;
5. lift: w~ = (b, w) with b a whole number of grid steps, the same in all cells.

So a row adds one matrix w~w~' of Frobenius norm at most g^2 + b^2 to the sum of one cell, and nothing
elsewhere. A row that is farther than 2^300 units out counts as missing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpstats.arrays import Floats
from dpstats.mechanism.lattice import (
    ExactMatrix,
    exact_gram,
    exact_product,
    scaled_product,
    scratch_space,
)
from dpstats.mechanism.passes import (
    Block,
    Integers,
    PrivateRows,
    RowSource,
    Whole,
    cut_to_grid,
    exact_map,
    fits_cache,
    octave_bins,
    one_pass,
    squared_lengths,
    whitened,
)

Codes = NDArray[np.integer[Any]]
_LONG_ENTRY = 2.0**7
_KEPT_NUMBERS = 2**25
_FARTHEST = 2.0**300
_UNNOTICED = 2.0**-16
_TRIES = 4


class Scores(Protocol):
    """Public scores of k options for a row x.

    Without targets (x - origin)'matrix_a + constant_a; with targets (k, r), of which the matrix has
    r columns each, constant_a - |matrix_a'(x - origin) - target_a|^2 / 2.
    """

    @property
    def origin(self) -> Floats: ...
    @property
    def matrix(self) -> Floats: ...
    @property
    def targets(self) -> Floats | None: ...
    @property
    def constants(self) -> Floats: ...
    @property
    def scale(self) -> Floats: ...


class Split(Protocol):
    """Rows of one cell go to the cell of the option with the largest score."""

    @property
    def cell(self) -> int: ...
    @property
    def scores(self) -> Scores: ...
    @property
    def labels(self) -> Sequence[int]: ...


Partition = Sequence[Split]
"""Splits in order; all rows start in cell 0."""


@dataclass(frozen=True)
class CellCoordinates:
    """Public coordinates of a cell: w = back'(x - centre), x = centre + root'w, if root is known.

    ``coarse``: ``back`` is rounded so that rows are multiplied by it fast (`fast_coordinates`).
    """

    centre: Floats
    back: Floats
    root: Floats | None = None
    coarse: bool = False

    def same_as(self, other: CellCoordinates) -> bool:
        """Whether rows are the same numbers in both: made of the same arrays."""
        return (
            self.centre is other.centre and self.back is other.back and self.coarse == other.coarse
        )


@dataclass(frozen=True)
class Zones:
    """Places along the segments between public centroids, at which the rows of one cell are counted.

    Attributes
    ----------
    cell : int
    origin, basis : (d,), (d, r) arrays
        Rows are looked at in the coordinates basis'(x - origin).
    scale : (d,) array
        Public size of x - origin.
    place : callable
        From coordinates (n, r) to the number of a zone, one of ``size``, or any other number where a
        row lies in none. A row's zone must depend on that row alone.
    size : int
    """

    cell: int
    origin: Floats
    basis: Floats
    scale: Floats
    place: Callable[[Floats], Codes]
    size: int


@dataclass
class CellSlab:
    """Raw rows (b, d), which of them count, and their cells in the partition last asked for.

    Numbers of every column lie between ``ends``, (2, d).
    ``outside`` are rows with numbers beyond declared limits; they count apart from those cut by length.
    ``seen`` are the coordinates of cells whose lengths were counted, in ``room``, below a row that is
    free: rows are cut in the same ones next.
    """

    x: Floats
    ends: Floats
    alive: NDArray[np.bool_]
    cells: Codes
    room: Floats
    outside: NDArray[np.bool_] | None = None
    partition: _Exact | None = None
    seen: dict[int, tuple[CellCoordinates, Floats, NDArray[np.int32], Floats]] = field(
        default_factory=dict
    )

    def __repr__(self) -> str:
        return "<slab of private rows>"


@dataclass(frozen=True)
class LiftedSums:
    """Exact totals of w~w~' in squared grid steps, (K, d+1, d+1), and numbers of cut rows, (2,)."""

    total: Integers
    cut: Integers

    def __repr__(self) -> str:
        return "<private totals>"


@dataclass(frozen=True)
class _Exact:
    """A partition prepared for exact products."""

    splits: Partition
    matrices: tuple[ExactMatrix, ...] = field(repr=False)

    @classmethod
    def of(cls, partition: Partition) -> _Exact:
        return cls(
            partition, tuple(ExactMatrix.split(s.scores.matrix, s.scores.scale) for s in partition)
        )


class CellRows(PrivateRows[CellSlab]):
    """Rows in cells; see the module's docstring and `PrivateRows`.

    Parameters
    ----------
    source : RowSource
        Rows of d + 1 numbers, the first of which is 1, or 0 where the row is missing.
    origin, units : (d,) arrays
        Public; rows x become (x - origin) / units.
    columns : sequence of int, optional
        The columns of the source that x are; by default all but the first.
    """

    def __init__(
        self,
        source: RowSource,
        origin: Floats,
        units: Floats,
        columns: Sequence[int] | None = None,
    ) -> None:
        self._columns = list(range(1, source.d) if columns is None else columns)
        first = self._columns[0] if self._columns else 0
        last = first + len(self._columns)
        side_by_side = self._columns == list(range(first, last))
        self._part = slice(first, last) if side_by_side else self._columns  # a view, or a copy
        few = source.n * len(self._columns) <= _KEPT_NUMBERS
        self._keeps_coordinates = few and fits_cache(source)
        super().__init__(source, len(self._columns))
        self._origin, self._units = origin, units
        self._exact: dict[int, _Exact] = {}

    def _kept_numbers(self) -> int:
        return 2 * self.d + 1 if self._keeps_coordinates else super()._kept_numbers()

    def _encode(self, block: Block) -> tuple[Floats, tuple[Any, ...]]:
        alive = block.x[:, 0] != 0
        return block.x[:, self._part], (alive,) if block.above is None else (alive, block.above > 0)

    def _keep(self, x: Floats, columns: tuple[Any, ...], space: Floats) -> CellSlab:
        measured = np.subtract(x, self._origin, out=space[: self.d, : len(x)].T)
        measured /= self._units
        # farther out nothing that follows could be sure not to overflow
        alive, ends = columns[0], ends_of(measured)
        if not (np.abs(ends) <= _FARTHEST).all():
            alive = alive & (np.abs(measured) <= _FARTHEST).all(axis=1)
        if not alive.all():
            measured[~alive] = 0.0
            ends = ends_of(measured)
        outside = columns[1] if len(columns) > 1 else None
        room = space[self.d :].reshape(-1)
        return CellSlab(measured, ends, alive, np.zeros(len(x), dtype=np.intp), room, outside)

    def _sorted(self, slab: CellSlab, partition: _Exact) -> Codes:
        """The cell of every row, -1 for none; remembered until another partition is asked for."""
        if slab.partition is not partition:
            slab.cells = np.where(slab.alive, 0, -1)
            slab.seen.clear()
            for split, matrix in zip(partition.splits, partition.matrices, strict=True):
                members = np.flatnonzero(slab.cells == split.cell)
                best = _scores(slab.x[members], split.scores, matrix).argmax(axis=0)
                slab.cells[members] = np.asarray(split.labels, dtype=np.intp)[best]
            slab.partition = partition
        return slab.cells

    def _prepared(self, partition: Partition, cells: int | None = None) -> _Exact:
        """The partition, which must not have more cells than the caller counts with."""
        labels = [label for split in partition for label in split.labels]
        if cells is not None and not -1 < min(labels, default=0) <= max(labels, default=0) < cells:
            raise ValueError("the partition has other cells than are counted")
        exact = self._exact.get(id(partition))
        if exact is None or exact.splits is not partition:
            exact = self._exact[id(partition)] = _Exact.of(partition)
        return exact

    # -- counts -----------------------------------------------------------------------------------

    @one_pass
    def counts(self, partition: Partition, cells: int) -> Integers:
        """Rows of each cell. A replaced row leaves one and enters another."""
        exact = self._prepared(partition, cells)

        def work(slab: CellSlab) -> tuple[Floats]:
            code = self._sorted(slab, exact)
            return (np.bincount(code[code >= 0], minlength=cells).astype(np.float64),)

        return self._sums(work, (cells,))[0]

    @one_pass
    def lengths(
        self, partition: Partition, frames: Sequence[CellCoordinates], lowest: int, octaves: int
    ) -> Integers:
        """Histograms (K, bins) of |w|, by cell. A replaced row leaves one bin and enters another."""
        exact, maps = self._prepared(partition, len(frames)), cell_maps(frames)

        def work(slab: CellSlab) -> tuple[Floats]:
            code = self._sorted(slab, exact)
            bins = np.zeros((len(frames), 4 * octaves))
            kept, room = self._keeps_coordinates, slab.room
            for j, frame in enumerate(frames):
                rows = _chosen(slab.x, code == j)
                size = (self.d + 1) * len(rows)
                space = room[:size] if kept else scratch_space("coordinates", size)
                space, room = space.reshape(self.d + 1, len(rows)), room[size:]
                exponent, norm = coordinates(rows, slab.ends, frame, maps[j], space[1:])
                if kept:
                    slab.seen[j] = frame, space, exponent, norm
                length = np.ldexp(norm, exponent)
                # beyond all floats: the last bin
                length[~np.isfinite(length)] = np.finfo(np.float64).max
                bins[j] = octave_bins(length, lowest, octaves)
            return (bins,)

        return self._sums(work, (len(frames), 4 * octaves))[0]

    @one_pass
    def zones(self, partition: Partition, tests: Sequence[Zones]) -> list[Integers]:
        """Counts of every test's zones: a replaced row moves at most two counts of each, by one."""
        exact = self._prepared(partition)
        maps = [ExactMatrix.split(test.basis, test.scale) for test in tests]

        def work(slab: CellSlab) -> tuple[Floats, ...]:
            code = self._sorted(slab, exact)
            out = []
            for test, matrix in zip(tests, maps, strict=True):
                rows = _chosen(slab.x, code == test.cell) - test.origin
                place = np.asarray(test.place(_product(rows, matrix, test.scale).T))
                place = place[(place >= 0) & (place < test.size)]
                out.append(np.bincount(place, minlength=test.size).astype(np.float64))
            return tuple(out)

        return self._sums(work, *((test.size,) for test in tests))

    # -- moments ----------------------------------------------------------------------------------

    @one_pass
    def lifted(
        self,
        partition: Partition,
        frames: Sequence[CellCoordinates],
        radii: Sequence[float],
        lift: int,
    ) -> LiftedSums:
        """Sums of w~w~' by cell, w in steps of its cell's radius, b = ``lift`` steps.

        Replacing a row changes at most two cells, each by at most steps^2 + lift^2 in Frobenius norm;
        within one cell |w~w~' - v~v~'|_F^2 = |w~|^4 + |v~|^4 - 2 (w~.v~)^2 <= 2 (steps^2 + lift^2)^2:
        sqrt(2) (steps^2 + lift^2) either way.
        """
        exact, maps = self._prepared(partition, len(frames)), cell_maps(frames)
        steps, shape = self.grid.steps, (len(frames), self.d + 1, self.d + 1)

        def work(slab: CellSlab) -> tuple[Whole, Floats]:
            code = self._sorted(slab, exact)
            total = np.zeros(shape, dtype=np.int64)
            cut = np.zeros(2)
            for j, frame in enumerate(frames):
                before = slab.seen.pop(j, None)
                members = code == j
                if before is not None and before[0].same_as(frame):
                    _, rows, exponent, norm = before
                else:
                    rows = scratch_space("coordinates", self.d + 1, int(members.sum()))
                    exponent, norm = coordinates(
                        _chosen(slab.x, members), slab.ends, frame, maps[j], rows[1:]
                    )
                rows[0] = np.where(np.isfinite(norm), float(lift), 0.0)
                shortened = cut_to_grid(rows[1:], exponent, norm, radii[j], steps)
                total[j] = exact_gram(rows, self.grid.rows)
                cut += _number_cut(slab, shortened, members)
            return total, cut

        return LiftedSums(*self._sums(work, shape, (2,)))

    @one_pass
    def sums(self, frame: CellCoordinates, radius: float) -> tuple[Integers, Integers, Integers]:
        """Sum of w in steps of radius/2^36, number of rows that count, numbers of cut ones: one cell.

        Replacing a row moves the sum by at most two radii, or by one together with the count by one.
        """
        (exact,), fine = cell_maps([frame]), self.grid.fine

        def work(slab: CellSlab) -> tuple[Floats, Floats, Floats]:
            rows = _chosen(slab.x, slab.alive)
            z = scratch_space("coordinates", self.d, len(rows))
            exponent, norm = coordinates(rows, slab.ends, frame, exact, z)
            finite = float(np.count_nonzero(np.isfinite(norm)))
            shortened = cut_to_grid(z, exponent, norm, radius, fine)
            cut = _number_cut(slab, shortened, slab.alive)
            return z.sum(axis=1), np.array([finite]), cut

        total, count, cut = self._sums(work, (self.d,), (1,), (2,))
        return total, count, cut

    @one_pass
    def long(self, frame: CellCoordinates, length: float) -> Integers:
        """Sum of what of w is beyond a length, cut to it once more, in steps of length/2^36: one cell.

        Replacing a row moves it by at most two lengths.
        """
        (exact,), fine = cell_maps([frame]), self.grid.fine

        def work(slab: CellSlab) -> tuple[Floats]:
            rows = _chosen(slab.x, slab.alive)
            z = scratch_space("coordinates", self.d, len(rows))
            exponent, norm = coordinates(rows, slab.ends, frame, exact, z)
            lengths = np.ldexp(norm, exponent)
            (some,) = np.nonzero(lengths > length)
            rest = 1 - length / lengths[some]
            beyond = z[:, some] * rest
            cut_to_grid(beyond, exponent[some], norm[some] * rest, length, fine)
            return (beyond.sum(axis=1),)

        return self._sums(work, (self.d,))[0]


def _number_cut(slab: CellSlab, shortened: NDArray[np.bool_], members: NDArray[np.bool_]) -> Floats:
    """How many of some rows lie outside limits, and of the others were cut at a radius: (2,)."""
    if slab.outside is None:
        return np.array([0.0, np.count_nonzero(shortened)])
    outside = slab.outside[members]
    counts = np.count_nonzero(outside), np.count_nonzero(shortened & ~outside)
    return np.array(counts, dtype=np.float64)


def _chosen(x: Floats, members: NDArray[np.bool_]) -> Floats:
    """Some of the rows; without copying them, where there are no others."""
    return x if members.all() else x[members]


def cell_maps(frames: Sequence[CellCoordinates]) -> list[ExactMatrix]:
    return [
        _coarse(frame) if frame.coarse else exact_map(frame.back, root=frame.root)
        for frame in frames
    ]


def _coarse(frame: CellCoordinates) -> ExactMatrix:
    root = np.linalg.inv(frame.back) if frame.root is None else frame.root
    return ExactMatrix.coarse(frame.back, np.linalg.norm(root, axis=0))


def fast_coordinates(frame: CellCoordinates) -> CellCoordinates:
    """Coordinates near these, by which rows are multiplied fast, if nobody would notice; else these.

    That is where entries of rows are moved by less than 2^-16 of a whitened unit. What is released is
    exactly as private: a rounded map is a public map as well, and a row is rounded by itself.
    """
    seen = frame
    for _ in range(_TRIES):
        rounded = _coarse(seen)
        if not (np.isfinite(rounded.high).all() and rounded.lost().max() <= _UNNOTICED):
            return frame
        if np.array_equal(rounded.high, seen.back):
            return CellCoordinates(seen.centre, seen.back, seen.root, coarse=True)
        # units are powers of two, and may be others for the rounded map, which is then rounded again
        seen = CellCoordinates(frame.centre, rounded.high, np.linalg.inv(rounded.high))
    return frame


def coordinates(
    x: Floats, ends: Floats, frame: CellCoordinates, matrix: ExactMatrix, z: Floats
) -> tuple[NDArray[np.int32], Floats]:
    """w = back'(x - centre) of rows (b, d) as z 2^exponent, |z| = norm; see `whitened`. Fills ``z``.

    ``ends``: between which the numbers of each column lie, (2, d).
    """
    away = np.subtract(x, frame.centre, out=scratch_space("away", *x.T.shape).T)
    return whitened(away, matrix, len(z), z, np.abs(ends - frame.centre).max(axis=0))


def ends_of(x: Floats) -> Floats:
    """The least and the largest number of each column of rows (b, d)."""
    return np.array([x.min(axis=0, initial=0.0), x.max(axis=0, initial=0.0)])


def _product(rows: Floats, matrix: ExactMatrix, scale: Floats) -> Floats:
    """matrix'x (k, b) for rows of any size, overflowing where the product does."""
    product = exact_product(rows, matrix)
    apart = np.flatnonzero(~(np.abs(rows) <= _LONG_ENTRY * scale).all(axis=1))
    if apart.size:
        product[:, apart] = np.ldexp(*scaled_product(rows[apart], matrix))
    return product


def _scores(x: Floats, scores: Scores, matrix: ExactMatrix) -> Floats:
    """Scores (k, b) of rows (b, d)."""
    product = _product(x - scores.origin, matrix, scores.scale)
    if scores.targets is None:
        return product + scores.constants[:, None]
    k, r = scores.targets.shape
    values = np.empty((k, len(x)))
    for a in range(k):
        away = product[a * r : (a + 1) * r] - scores.targets[a][:, None]
        values[a] = scores.constants[a] - squared_lengths(away) / 2
    return values
