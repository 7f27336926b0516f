"""Rows from one table or many: every row once, in parts that hold nothing but their own."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dpstats import Budget, dp_lm
from dpstats.errors import PassError, SchemaError
from dpstats.frame import learn_design, reading
from dpstats.frame.source import public_table
from dpstats.frame.table import Table
from tests.frame.rows_of_sources import (
    ARROW,
    BLOCKS,
    FRAME,
    IDS,
    NAMES,
    N,
    ids_of,
    one_file,
    one_folder,
    open_source,
    several_files,
    size_of,
)

pytestmark = pytest.mark.usefixtures("short_parts")

SEVERAL_TYPES = "tuple of several kinds"


def _text(dtype: Any) -> pd.DataFrame:
    return FRAME.astype({"long": dtype, "short": dtype, "hidden": dtype})


IN_MEMORY: dict[str, Callable[[], Any]] = {
    "pandas": lambda: FRAME,
    "pandas, objects": lambda: _text(object),
    "pandas, python text": lambda: _text(pd.StringDtype("python")),
    "pandas, arrow text": lambda: _text(pd.ArrowDtype(pa.large_string())),
    "polars": lambda: pl.from_pandas(FRAME),
    "pyarrow": lambda: ARROW,
    "pyarrow, chunks": lambda: pa.Table.from_batches(ARROW.to_batches(77)),
    "batches": lambda: ARROW.to_reader(77),
}
BLOCKWISE: dict[str, Callable[[], Any]] = {
    "list": lambda: BLOCKS,
    SEVERAL_TYPES: lambda: (*BLOCKS[:2], pl.from_pandas(pd.concat(BLOCKS[2:]))),
    "function": lambda: lambda: iter(BLOCKS),
    "function of one table": lambda: lambda: FRAME,
    "function of a stream": lambda: lambda: ARROW.to_reader(77),
}
ON_DISK: dict[str, Callable[[Path], Any]] = {
    "file": one_file,
    "folder": one_folder,
    "files": several_files,
}
KINDS: dict[str, Callable[[Path], Any]] = {
    name: lambda _, make=make: make() for name, make in (IN_MEMORY | BLOCKWISE).items()
} | ON_DISK


def _rows_of(text: bytes) -> set[int]:
    """Rows whose text stands in some bytes."""
    found = re.findall(rb"(?:text of|hidden in)? ?row (\d{4})", text)
    return {int(number) for number in found}


# -- all rows ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_counted_and_every_table_checked(kind: str, tmp_path: Path) -> None:
    n, checked = size_of(KINDS[kind](tmp_path))
    assert n == N
    assert checked
    for table in checked:
        assert set(table.names) == set(FRAME.columns)


@pytest.mark.parametrize("kind", KINDS)
def test_tables_hold_all_rows_in_order_as_often_as_one_likes(kind: str, tmp_path: Path) -> None:
    opened = open_source(KINDS[kind](tmp_path))
    for _ in range(2):
        assert (ids_of(opened.tables(("id",))) == IDS).all()


@pytest.mark.parametrize("kind", KINDS)
def test_parts_hold_every_row_once_and_can_be_pickled(kind: str, tmp_path: Path) -> None:
    parts = list(open_source(KINDS[kind](tmp_path)).parts(NAMES))
    assert len(parts) > 3
    there = [pickle.loads(pickle.dumps(part)) for part in parts]
    assert (np.concatenate([ids_of(part.tables(NAMES)) for part in there]) == IDS).all()
    assert sum(part.size(lambda table: None, lambda rows: None) for part in there) == N
    for part in there:
        for table in part.tables(NAMES):
            rows = table.numbers("id", 0, table.n).astype(int)
            levels = [f"row {row:04d}" for row in rows]
            assert (table.codes("short", tuple(levels), 0, table.n) == range(table.n)).all()
            assert (table.numbers("year", 0, table.n) == FRAME.year.iloc[rows]).all()


@pytest.mark.parametrize("kind", [*IN_MEMORY, *BLOCKWISE])
def test_a_part_travels_without_other_rows_and_columns(kind: str, tmp_path: Path) -> None:
    whole = len(pickle.dumps(FRAME))
    for part in open_source(KINDS[kind](tmp_path)).parts(NAMES):
        sent = pickle.dumps(part)
        own = {int(row) for row in ids_of(part.tables(NAMES))}
        assert own == _rows_of(sent)
        assert b"hidden" not in sent.replace(b'"hidden"', b"")
        assert len(sent) < 4000 + 2 * whole * len(own) / N


@pytest.mark.parametrize("kind", ON_DISK)
def test_a_part_of_a_file_travels_without_any_row(kind: str, tmp_path: Path) -> None:
    for part in open_source(ON_DISK[kind](tmp_path)).parts(NAMES):
        assert not _rows_of(pickle.dumps(part))


def test_a_part_of_a_folder_travels_without_the_other_files(tmp_path: Path) -> None:
    for k in range(40):
        FRAME.iloc[25 * k : 25 * (k + 1)].to_parquet(tmp_path / f"{k}.parquet")
    sizes = [len(pickle.dumps(part)) for part in open_source(tmp_path).parts(NAMES)]
    assert len(sizes) == 40
    assert max(sizes) < 8000


def test_a_part_has_some_thousands_of_numbers_however_many_columns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reading, "_PART_NUMBERS", 3)
    opened = open_source(FRAME[:100])
    assert [part.read_all().n for part in opened.parts(("id",))] == [3] * 33 + [1]
    assert [part.read_all().n for part in opened.parts(NAMES)] == [1] * 100
    assert sum(part.read_all().n for part in opened.parts(())) == 100


@pytest.mark.parametrize("kind", [*KINDS, "Dask"])
def test_what_is_shown_of_a_source_is_its_kind_alone(kind: str, tmp_path: Path) -> None:
    data = dd.from_pandas(FRAME, npartitions=2) if kind == "Dask" else KINDS[kind](tmp_path)
    opened = open_source(data)
    assert re.fullmatch(r"<\w+>", repr(opened))
    assert str(opened) == repr(opened)


# -- blocks -----------------------------------------------------------------------------------------


def test_rows_of_blocks_are_counted_as_they_are_seen() -> None:
    seen: list[int] = []
    assert open_source(BLOCKS).size(lambda table: None, seen.append) == N
    assert seen == [300, 300, 300, 100]


def test_blocks_may_be_empty() -> None:
    blocks = [FRAME.iloc[:0], *BLOCKS, FRAME.iloc[:0]]
    assert size_of(blocks)[0] == N
    assert (ids_of(open_source(blocks).tables(("id",))) == IDS).all()
    assert sum(part.read_all().n for part in open_source(blocks).parts(NAMES)) == N


def test_blocks_are_made_anew_for_every_pass_and_one_at_a_time() -> None:
    made: list[int] = []

    def make() -> Iterator[pd.DataFrame]:
        for k, block in enumerate(BLOCKS):
            made.append(k)
            yield block

    opened = open_source(make)
    assert made == []
    walk = opened.tables(("id",))
    next(walk)
    assert made == [0]
    next(walk)
    assert made == [0, 1]
    assert sum(table.n for table in opened.tables(("id",))) == N
    assert made == [0, 1, 0, 1, 2, 3]


def test_a_list_may_be_anything_that_can_be_looped_over_again() -> None:
    class Shelf:
        def __iter__(self) -> Iterator[pd.DataFrame]:
            return iter(BLOCKS)

    for data in (Shelf(), dict(enumerate(BLOCKS)).values()):
        opened = open_source(data)
        for _ in range(2):
            assert (ids_of(opened.tables(("id",))) == IDS).all()


def test_a_block_that_does_not_fit_is_named_a_later_one() -> None:
    def check(table: Table) -> None:
        if table.n != 300:
            raise SchemaError("there is something.")

    with pytest.raises(
        SchemaError, match=r"in a later block: there is something. Blocks must agree"
    ) as e:
        open_source(BLOCKS).size(check, lambda rows: None)
    assert e.value.__cause__ is None
    assert e.value.__context__ is None


def test_errors_of_a_function_are_not_shown() -> None:
    def make() -> Iterator[pd.DataFrame]:
        yield BLOCKS[0]
        raise ValueError("secret")

    def nothing() -> Any:
        raise ValueError("secret")

    for data in (make, nothing, lambda: _Broken()):
        with pytest.raises(PassError, match="withheld") as caught:
            list(open_source(data).tables(("id",)))
        assert "secret" not in str(caught.value)
        assert caught.value.__cause__ is None
        assert caught.value.__context__ is None


def test_a_stream_that_fails_stays_charged() -> None:
    """A row may be why: the query behind a stream runs while it is read."""
    schema = pa.schema([("y", pa.float64()), ("x", pa.float64())])
    table = pd.DataFrame({"y": np.arange(60.0), "x": np.arange(60.0) % 7})

    def batches(until: float) -> Iterator[pa.RecordBatch]:
        for start in range(0, len(table), 20):
            part = table.iloc[start : start + 20]
            if (part.y > until).any():
                raise ValueError("secret")
            yield pa.RecordBatch.from_pandas(part, schema=schema, preserve_index=False)

    for until, ends in ((1e9, nullcontext()), (50.0, pytest.raises(PassError, match="charged"))):
        stream, budget = pa.RecordBatchReader.from_batches(schema, batches(until)), Budget(mu=1)
        with ends:
            dp_lm("y ~ x", stream, table[:40], mu=1, budget=budget, seed=1)
        assert budget.spent.mu == 1


class _Broken:
    def __iter__(self) -> Iterator[Any]:
        raise ValueError("secret")


@pytest.mark.parametrize("error", [ValueError("private"), KeyboardInterrupt()])
def test_errors_of_the_first_reading_keep_no_row(error: BaseException) -> None:
    def blocks() -> Iterator[pd.DataFrame]:
        yield FRAME.assign(y=FRAME.id)
        raise error

    with pytest.raises((PassError, KeyboardInterrupt)) as caught:
        dp_lm("y ~ id", blocks, FRAME.assign(y=FRAME.id).head(50), mu=1)
    for entry in caught.traceback:
        if "test" not in entry.path.name:
            assert not {"table", "block", "step"} & set(entry.frame.f_locals)


# -- Dask -------------------------------------------------------------------------------------------


def test_a_dask_dataframe_shows_its_columns_and_yields_those_that_are_needed() -> None:
    opened = open_source(dd.from_pandas(FRAME, npartitions=4))
    assert opened.schema.n == 0
    assert opened.schema.names == tuple(FRAME.columns)
    found = [promise.compute() for promise in opened.delayed(("year", "id"))]
    assert len(found) == 4
    assert {tuple(part.columns) for part in found} == {("year", "id")}
    assert (pd.concat(found).id == IDS).all()


# -- in one table -----------------------------------------------------------------------------------


def _same(table: Table) -> None:
    assert set(table.names) == set(FRAME.columns)
    assert table.n == N
    assert (table.numbers("id", 0, N) == IDS).all()
    assert (table.numbers("year", 0, N) == FRAME.year).all()
    assert table.observed_levels("long") == tuple(FRAME.long)


WHOLE = [kind for kind in KINDS if kind != SEVERAL_TYPES] + ["Dask"]


@pytest.mark.parametrize("kind", WHOLE)
def test_all_rows_in_one_table(kind: str, tmp_path: Path) -> None:
    data = dd.from_pandas(FRAME, npartitions=2) if kind == "Dask" else KINDS[kind](tmp_path)
    _same(open_source(data).read_all())


@pytest.mark.parametrize("kind", [kind for kind in WHOLE if kind != "batches"])
def test_public_tables_may_be_all_that_private_ones_may_be(kind: str, tmp_path: Path) -> None:
    data = dd.from_pandas(FRAME, npartitions=2) if kind == "Dask" else KINDS[kind](tmp_path)
    _same(public_table(data))
    _same(public_table(data))


def test_public_batches_that_can_be_read_once_only_are_refused() -> None:
    with pytest.raises(SchemaError, match="read_all"):
        public_table(ARROW.to_reader())


def test_declared_levels_keep_their_order_in_any_source(tmp_path: Path) -> None:
    levels = pd.CategoricalDtype(["c", "a", "b", "never"])
    public = pd.DataFrame({"y": np.arange(12.0), "g": list("aaabbbcccabc")}).astype({"g": levels})
    public.to_parquet(tmp_path / "a.parquet", row_group_size=3)
    blocks = [public.iloc[:3], public.iloc[3:]]
    terms = ("Intercept", "g[T.a]", "g[T.b]", "g[T.never]")
    for data in (
        tmp_path / "a.parquet",
        blocks,
        [pa.Table.from_pandas(block) for block in blocks],
        dd.from_pandas(public, npartitions=3),
    ):
        assert learn_design("y ~ g", data).terms == terms


@pytest.mark.parametrize("other", [{"k": 0.5}, {"k": np.int32(1)}])
def test_public_tables_of_one_kind_but_several_types_are_one(
    other: dict[str, Any], tmp_path: Path
) -> None:
    public = pd.DataFrame({"y": np.arange(6.0), "k": range(6), "g": list("abcabc")})
    blocks = [public, public.assign(**other)]
    for k, block in enumerate(blocks):
        block.to_parquet(tmp_path / f"{k}.parquet")
    tables = [pl.from_pandas(block) for block in blocks]
    for data in (blocks, tables, [blocks[0], tables[1]], tmp_path):
        assert public_table(data).n == 12


@pytest.mark.parametrize("data", [[], [3], [{"x": 1}], lambda: 3, 3, {"x": [1.0]}, "nowhere"])
def test_what_is_no_public_table_is_refused(data: Any) -> None:
    with pytest.raises(SchemaError):
        public_table(data)
