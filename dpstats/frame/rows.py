"""Rows of a table as blocks of numbers.

A row that is missing a value, is not finite or has an unknown level becomes a row of zeros. Each
row is encoded by itself: replacing one changes no other row, raises nothing and warns of nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, fields, replace
from functools import cache, partial
from itertools import pairwise
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpstats.arguments import naming
from dpstats.errors import ArgumentError, SchemaError, suppress_private_errors
from dpstats.frame.design import ROLES, Design
from dpstats.frame.executors import Bar, Reading, arithmetic, other_arithmetic
from dpstats.frame.formula.evaluate import basis, evaluate
from dpstats.frame.formula.grammar import BASES
from dpstats.frame.new_rows import may_be_far, new_rows, warn_of_new_rows
from dpstats.frame.persons import FirstRows, OfPersons
from dpstats.frame.private_tables import warn_of_private_rows
from dpstats.frame.reading import other_rows
from dpstats.frame.schema import check_table
from dpstats.frame.source import BLOCK_ROWS, DaskPartitions, Source, open_source, public_table
from dpstats.frame.table import Array, Codes, Opaque, Table, number_codes, slices

Mask = npt.NDArray[np.bool_]

T = TypeVar("T")


@dataclass(frozen=True, repr=False, eq=False)
class Block(Opaque):
    """A slab of encoded rows.

    ``x`` (rows, d) is float64 in Fortran order, all finite; ``y`` (rows,) is 0 when the formula is
    one-sided; ``offset`` and ``weight`` (rows,), the latter in [0, weight_bound], are None where there
    are none; ``above`` (rows,) is 1 where a weight was larger than that, or a number outside its box.
    ``usable`` (rows,) tells which rows of a table could be encoded.
    """

    x: Array
    y: Array
    offset: Array | None
    weight: Array | None
    above: Array | None = None
    usable: Mask | None = None


def joined(blocks: Sequence[Block]) -> Block:
    """The rows of blocks, one below another."""

    def column(name: str) -> Any:
        parts = [getattr(block, name) for block in blocks]
        return None if parts[0] is None else np.concatenate(parts)

    return Block(*(column(field.name) for field in fields(Block)))


BlockReader = Callable[[], Block]


class Rows:
    """An encoded table, read lazily and as often as one likes.

    Attributes
    ----------
    n, d : int
        Rows (public) and columns of the design.

    Examples
    --------
    >>> import pandas as pd
    >>> from dpstats.frame import learn_design
    >>> public = pd.DataFrame({"y": [1.0, 2.0, 3.0], "x": [0.0, 1.0, 1.0]})
    >>> rows = open_rows(learn_design("y ~ x", public), public)
    >>> sum(block.y.sum() for block in rows.blocks(size=2))
    np.float64(6.0)
    """

    def __init__(
        self, encoding: Encoding, source: Source | DaskPartitions, reading: Reading, n: int
    ) -> None:
        self.design = encoding.design
        self.n = n
        self.d = encoding.d
        self._encoding = encoding
        self._source = source
        self._reading = reading
        self._columns = encoding.design.columns_for(encoding.roles)
        self._passes = 0
        self._arithmetic: str | None = None

    def __repr__(self) -> str:
        return f"<Rows: n = {self.n}, d = {self.d}>"

    @property
    def threads(self) -> Executor | None:
        """Threads that the caller has given for the work in this process."""
        return self._reading.threads

    def blocks(self, size: int = BLOCK_ROWS) -> Iterator[Block]:
        """Blocks of at most ``size`` rows, in the table's order."""
        for read in self.pieces(size):
            yield read()

    def pieces(self, size: int = BLOCK_ROWS) -> Iterator[BlockReader]:
        """Blocks that are still to be encoded, which is done by calling them, in any thread."""
        if size < 1:
            raise ArgumentError(f"size must be at least 1, not {size}.")
        if isinstance(self._source, DaskPartitions):
            raise TypeError("a Dask DataFrame is read by its workers")
        read = 0
        with self._bar() as bar:
            for table in self._source.tables(self._columns):
                check_table(self.design, table, self._encoding.roles)
                for start, stop in slices(table.n, size):
                    yield PendingBlock(self._encoding, table, start, stop)
                    bar.advance(stop - start)
                read += table.n
        if read != self.n:
            raise other_rows(self.n, read)

    def map_parts(self, task: Callable[[Rows], T]) -> Iterator[T] | None:
        """Results of ``task`` on every part of the rows, by workers; None: in this process.

        Raises PassError, without the cause, where a part could not be worked on.
        """
        work = _OnPart(self._encoding, task)
        results = self._reading.map_parts(self._source, self._columns, work)
        return None if results is None else self._counted(results)

    def _counted(self, results: Iterator[_PartResult[T]]) -> Iterator[T]:
        read = 0
        with self._bar() as bar:
            for rows, workers, result in results:
                self._arithmetic = self._arithmetic or workers
                if workers != self._arithmetic:
                    raise other_arithmetic(self._arithmetic, workers)
                yield result
                read += rows
                bar.advance(rows)
        if read != self.n:
            raise other_rows(self.n, read)

    def _bar(self) -> Bar:
        self._passes += 1
        return self._reading.bar(self._passes, self.n)


_PartResult = tuple[int, str, T]


@dataclass(frozen=True)
class _OnPart(Generic[T]):
    """A task for the encoded rows of a part of a table; their number, the arithmetic and the result."""

    encoding: Encoding
    task: Callable[[Rows], T]

    def __call__(self, part: Source) -> _PartResult[T]:
        check = partial(check_table, self.encoding.design, roles=self.encoding.roles)
        n = part.size(check, lambda rows: None)
        return n, arithmetic(), self.task(Rows(self.encoding, part, Reading(), n))


@dataclass(frozen=True, repr=False, eq=False)
class PendingBlock:
    """Rows start:stop of a table, encoded when called; never fails because of a cell."""

    encoding: Encoding
    table: Table
    start: int
    stop: int

    def __call__(self) -> Block:
        return self._block(self.start, self.stop)

    def _block(self, start: int, stop: int) -> Block:
        # None when a cell of it cannot be read, whatever it raises
        block = suppress_private_errors(lambda: self.encoding.block(self.table, start, stop))
        if block is not None:
            return block
        # some cell cannot be read at all: then its row alone is empty, without a message;
        # halving locates it in about twice the time that a block takes anyway
        if stop - start == 1:
            return self.encoding.empty_row()
        middle = (start + stop) // 2
        both = joined([self._block(start, middle), self._block(middle, stop)])
        return replace(both, x=np.asfortranarray(both.x))


class Encoding(Protocol):
    """What makes blocks of numbers of a table, every row by itself.

    Attributes
    ----------
    design : Design
    roles : tuple of str
        What is read of a row besides its design.
    d : int
        Numbers that a row becomes.
    """

    @property
    def design(self) -> Design: ...

    @property
    def roles(self) -> tuple[str, ...]: ...

    @property
    def d(self) -> int: ...

    def block(self, table: Table, start: int, stop: int) -> Block:
        """Rows start:stop."""

    def empty_row(self) -> Block:
        """The block of one row that cannot be read."""


@dataclass(frozen=True)
class Plain:
    """Rows as a design encodes them, with response, offset and weight."""

    design: Design
    roles: tuple[str, ...] = ROLES

    @property
    def d(self) -> int:
        """Columns of the design."""
        return len(self.design.terms)

    def block(self, table: Table, start: int, stop: int) -> Block:
        """See `encode`."""
        return encode(self.design, table, start, stop, self.roles, cut=True)

    def empty_row(self) -> Block:
        """A row of zeros."""
        nothing = np.zeros(1)
        offset = nothing if self.design.offsets else None
        weight = nothing if self.design.weights is not None else None
        above = nothing if weight is not None or self.design.boxes else None
        unusable = np.zeros(1, dtype=np.bool_)
        x = np.zeros((1, len(self.design.terms)))
        return Block(x, nothing, offset, weight, above, unusable)


def open_rows(
    how: Design | Encoding,
    data: Any,
    reading: Reading | None = None,
    first: FirstRows | None = None,
) -> Rows:
    """Check a table's columns against a design; its values are read when iterated.

    ``how`` rows become numbers: as the design says, or with changes (`changes.Changes`). ``data`` is a
    table, path, blocks or Dask DataFrame (see `source`); ``reading`` where it is read, and whether a bar
    shows it; ``first`` that only so many rows of every person count.

    Raises
    ------
    SchemaError
        If a column is missing or of another kind, or the table has no row.
    """
    source: Source | DaskPartitions = open_source(data)
    reading = reading or Reading()
    if first is not None:
        source = OfPersons(first.ordered(source), first)
    encoding: Encoding = Plain(how) if isinstance(how, Design) else how
    check = partial(check_table, encoding.design, roles=encoding.roles)
    n = reading.size(source, check, encoding.design.columns_for(encoding.roles))
    if n == 0:
        raise SchemaError("the table has no rows: look at what was read or filtered before.")
    return Rows(encoding, source, reading, n)


def open_public_rows(design: Design, public: Any) -> Rows:
    """Rows of a public table of any kind, which is read into memory."""
    return open_rows(design, public_table(public))


def design_matrix(design: Design, newdata: Any) -> tuple[Array, Array]:
    """Design (k, d) and offset (k,) of rows to predict; NaN where a row cannot be encoded."""
    table = public_table(new_rows(newdata) if isinstance(newdata, dict) else newdata)
    check_table(design, table, ("offset",))
    x = np.empty((table.n, len(design.terms)), order="F")
    offset = np.zeros(table.n)
    for start, stop in slices(table.n, BLOCK_ROWS):
        block = encode(design, table, start, stop, ("offset",))
        x[start:stop] = block.x
        if block.offset is not None:
            offset[start:stop] = block.offset
        assert block.usable is not None
        x[start:stop][~block.usable] = np.nan
        offset[start:stop][~block.usable] = np.nan
    return x, offset


def predicted_rows(
    design: Design, newdata: Any, *, warns: bool = True
) -> tuple[Array, Array, pd.Index | None]:
    """Design and offset of ``newdata=``, which errors name, and the index of the frame that it may be.

    New rows may be shown to anybody: where ``warns``, levels that the design does not know are named,
    columns with values beyond declared limits, and functions without a value, and it is said if they are
    private rows after all.
    """
    if warns:
        warn_of_private_rows(newdata)
    with naming("newdata"):
        x, offset = design_matrix(design, newdata)
    lacking = bool(np.isnan(x).any() or np.isnan(offset).any())
    if warns and (lacking or may_be_far(design)):
        table = public_table(new_rows(newdata) if isinstance(newdata, dict) else newdata)
        warn_of_new_rows(design, table, lacking)
    return x, offset, newdata.index if isinstance(newdata, pd.DataFrame) else None


Design.matrix = design_matrix  # type: ignore[assignment, method-assign]


@np.errstate(all="ignore")
def encode(
    design: Design,
    table: Table,
    start: int,
    stop: int,
    roles: Collection[str] = ROLES,
    *,
    cut: bool = False,
) -> Block:
    """Encode rows start:stop, with ``roles`` besides the design: "y", "offset", "weight".

    ``cut``: whether numbers are cut to the boxes of the design.

    Which rows could be encoded is as private as they are: it never leaves a released result.
    """
    rows = stop - start
    d = len(design.terms)
    x = np.empty((rows, d), order="F")
    dead, outside = np.zeros(rows, dtype=np.bool_), np.zeros(rows, dtype=np.bool_)
    numbers: dict[str, Array] = {}
    codes: dict[str, Codes] = {}
    for name, j in design.bare.items():
        x[:, j] = table.numbers(name, start, stop)
        numbers[name] = x[:, j]
    for name in design.columns_for(roles):
        spec = design.columns[name]
        if name in numbers:
            pass
        elif spec.kind == "number":
            numbers[name] = np.ascontiguousarray(table.numbers(name, start, stop))
        else:
            assert spec.levels is not None
            codes[name] = table.codes(name, spec.levels, start, stop)
            numbers[name] = codes[name].astype(np.float64)
        if spec.kind == "number":
            numbers[name] = _finite(numbers[name], dead)
            if cut and name in design.boxes:
                kept = np.clip(numbers[name], *design.boxes[name])
                outside |= kept != numbers[name]
                numbers[name] = kept
                if name in design.bare:
                    x[:, design.bare[name]] = kept
            if spec.levels is not None:
                codes[name] = number_codes(numbers[name], spec.levels)
    for name, positions in codes.items():
        np.logical_or(dead, positions < 0, out=dead)
        codes[name] = np.maximum(positions, 0)

    _fill(design, numbers, codes, x, dead)
    y = np.zeros(rows)
    if "y" in roles and design.response_factor is not None:
        y = _finite(evaluate(design.response_factor, numbers, design.states), dead, copy=True)
    offset = None
    if "offset" in roles and design.offset_factors:
        offset = np.zeros(rows)
        for factor in design.offset_factors:
            offset = offset + evaluate(factor, numbers, design.states)
        offset = _finite(offset, dead)
    weight, above = None, None
    if "weight" in roles and design.weights is not None:
        weight = np.clip(numbers[design.weights], 0.0, design.weight_bound)
        outside |= numbers[design.weights] > weight
    if weight is not None or (cut and design.boxes):
        above = outside.astype(np.float64)

    if dead.any():
        x[dead] = 0.0
        for values in (y, offset, weight, above):
            if values is not None:
                values[dead] = 0.0
    return Block(x, y, offset, weight, above, ~dead)


def _fill(
    design: Design,
    numbers: dict[str, Array],
    codes: dict[str, Codes],
    x: Array,
    dead: Mask,
) -> None:
    """Compute the columns of ``x`` that are not there yet."""
    values: dict[tuple[str, str], Array] = {}

    @cache
    def combined(names: tuple[str, ...]) -> Codes:
        """Positions among all combinations of levels, the first column's fastest."""
        position, times = codes[names[0]], 1
        for before, name in pairwise(names):
            times *= len(design.columns[before].levels or ())
            position = position + times * codes[name]
        return position

    def part(text: str, name: str) -> Array:
        if (text, name) not in values:
            factor = design.factors[text]
            if factor.fields.coding is not None:
                values[text, name] = factor.fields.coding[name][combined(factor.expr.columns)]
            elif factor.expr.op in BASES:
                columns = basis(factor.expr, numbers, design.states)
                values.update(
                    {(text, field): c for field, c in zip(factor.fields.full, columns, strict=True)}
                )
            else:
                values[text, name] = evaluate(factor.expr, numbers, design.states)
        return values[text, name]

    done = set(design.bare.values())
    for j, column in enumerate(design.program):
        if j in done:
            continue
        if not column.parts:
            x[:, j] = column.scale
            continue
        value = part(*column.parts[0])
        for text, name in column.parts[1:]:
            value = value * part(text, name)
        x[:, j] = value if column.scale == 1.0 else column.scale * value
        _finite(x[:, j], dead)


def _finite(values: Array, dead: Mask, copy: bool = False) -> Array:
    """Mark the rows that are not finite; return the values with zeros there."""
    # one pass: a NaN or an infinity anywhere makes the sum of squares so (overflow only costs time)
    if not math.isfinite(values.dot(values)):
        bad = ~np.isfinite(values)
        np.logical_or(dead, bad, out=dead)
        return np.where(bad, 0.0, values)
    return values.copy() if copy else values
