"""Rows from one table or many: every row once, in parts that hold nothing but their own."""

from __future__ import annotations

import os
import pickle
import re
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pytest

from dpstats import Budget, dp_lm
from dpstats.errors import PassError, SchemaError
from dpstats.frame import (
    learn_design,
    open_rows,
    private_design,
    reading,
    source,
    undeclared_levels,
)
from dpstats.frame.source import public_table
from dpstats.frame.table import Table

open_source: Callable[[Any], Any] = source.open_source

N = 1000
IDS = np.arange(N)
FRAME = pd.DataFrame(
    {
        "id": IDS.astype(float),
        "long": [f"a long text of row {i:04d}" for i in IDS],
        "short": [f"row {i:04d}" for i in IDS],
        "hidden": [f"hidden in row {i:04d}" for i in IDS],
        "year": 2020 + IDS // 400,
    }
)
BLOCKS = [FRAME.iloc[a : a + 300] for a in range(0, N, 300)]
ARROW = pa.Table.from_pandas(FRAME, preserve_index=False)
NAMES = ("id", "long", "short", "year")
SEVERAL_TYPES = "tuple of several kinds"


def _file(folder: Path) -> Path:
    FRAME.to_parquet(folder / "a.parquet", row_group_size=150)
    return folder / "a.parquet"


def _folder(folder: Path) -> Path:
    FRAME.to_parquet(folder / "parts", partition_cols=["year"], row_group_size=150)
    return folder / "parts"


def _files(folder: Path) -> list[str]:
    for k, block in enumerate(BLOCKS):
        block.to_parquet(folder / f"{k}.parquet")
    return [str(folder / f"{k}.parquet") for k in range(len(BLOCKS))]


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
ON_DISK: dict[str, Callable[[Path], Any]] = {"file": _file, "folder": _folder, "files": _files}
KINDS: dict[str, Callable[[Path], Any]] = {
    name: lambda _, make=make: make() for name, make in (IN_MEMORY | BLOCKWISE).items()
} | ON_DISK


@pytest.fixture(autouse=True)
def _short_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables fall into several parts and batches, although they are short."""
    monkeypatch.setattr(reading, "_PART_NUMBERS", 400)
    monkeypatch.setattr(source, "BLOCK_ROWS", 70)
    monkeypatch.setattr(source, "_BATCH_NUMBERS", 70)
    monkeypatch.setattr(source, "_FEWEST_ROWS", 70)


def _size(data: Any) -> tuple[int, list[Table]]:
    """Rows of a source, and the tables whose kinds were checked."""
    checked: list[Table] = []
    return open_source(data).size(checked.append, lambda rows: None), checked


def _ids(tables: Iterator[Table]) -> Any:
    return np.concatenate([table.numbers("id", 0, table.n) for table in tables])


def _rows_of(text: bytes) -> set[int]:
    """Rows whose text stands in some bytes."""
    found = re.findall(rb"(?:text of|hidden in)? ?row (\d{4})", text)
    return {int(number) for number in found}


# -- all rows ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_counted_and_every_table_checked(kind: str, tmp_path: Path) -> None:
    n, checked = _size(KINDS[kind](tmp_path))
    assert n == N
    assert checked
    for table in checked:
        assert set(table.names) == set(FRAME.columns)


@pytest.mark.parametrize("kind", KINDS)
def test_tables_hold_all_rows_in_order_as_often_as_one_likes(kind: str, tmp_path: Path) -> None:
    opened = open_source(KINDS[kind](tmp_path))
    for _ in range(2):
        assert (_ids(opened.tables(("id",))) == IDS).all()


@pytest.mark.parametrize("kind", KINDS)
def test_parts_hold_every_row_once_and_can_be_pickled(kind: str, tmp_path: Path) -> None:
    parts = list(open_source(KINDS[kind](tmp_path)).parts(NAMES))
    assert len(parts) > 3
    there = [pickle.loads(pickle.dumps(part)) for part in parts]
    assert (np.concatenate([_ids(part.tables(NAMES)) for part in there]) == IDS).all()
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
        own = {int(row) for row in _ids(part.tables(NAMES))}
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
    assert _size(blocks)[0] == N
    assert (_ids(open_source(blocks).tables(("id",))) == IDS).all()
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
            assert (_ids(opened.tables(("id",))) == IDS).all()


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


class _Broken:
    def __iter__(self) -> Iterator[Any]:
        raise ValueError("secret")


# -- Parquet ----------------------------------------------------------------------------------------


def _without(path: Path, column: str) -> Path:
    """The same file, in which a column cannot be read."""
    raw, meta = bytearray(path.read_bytes()), pq.read_metadata(path)
    place = meta.schema.names.index(column)
    for group in range(meta.num_row_groups):
        chunk = meta.row_group(group).column(place)
        start = chunk.dictionary_page_offset or chunk.data_page_offset
        raw[start : start + chunk.total_compressed_size] = bytes(chunk.total_compressed_size)
    path.write_bytes(raw)
    return path


def test_columns_that_are_not_needed_are_not_read(tmp_path: Path) -> None:
    opened = open_source(_without(_file(tmp_path), "hidden"))
    tables = list(opened.tables(("year", "id")))
    assert {table.names for table in tables} == {("year", "id")}
    assert (_ids(iter(tables)) == IDS).all()
    with pytest.raises(PassError, match="withheld"):
        list(opened.tables(("id", "hidden")))


def test_a_row_group_longer_than_a_batch_is_read_in_batches(tmp_path: Path) -> None:
    FRAME.to_parquet(tmp_path / "a.parquet")
    assert pq.read_metadata(tmp_path / "a.parquet").num_row_groups == 1
    tables = list(open_source(tmp_path / "a.parquet").tables(("id",)))
    assert [table.n for table in tables] == [70] * 14 + [20]
    assert (_ids(iter(tables)) == IDS).all()


def test_a_part_of_a_file_is_a_row_group(tmp_path: Path) -> None:
    parts = list(open_source(_file(tmp_path)).parts(("id",)))
    sizes = [part.size(lambda table: None, lambda rows: None) for part in parts]
    assert sizes == [150] * 6 + [100]


def test_folders_are_columns(tmp_path: Path) -> None:
    path = _folder(tmp_path)
    assert sorted(os.listdir(path)) == ["year=2020", "year=2021", "year=2022"]
    for columns in (("id", "year"), ("year",)):
        tables = list(open_source(path).tables(columns))
        years = np.concatenate([table.numbers("year", 0, table.n) for table in tables])
        assert (years == FRAME.year).all()


def test_folders_of_text_are_levels_and_a_missing_one_is_none(tmp_path: Path) -> None:
    data = pd.DataFrame({"y": [1.0, 2.0, 3.0, 4.0], "g": ["a", "b", "a", None]})
    data.to_parquet(tmp_path, partition_cols=["g"])
    design = learn_design("y ~ g", data)
    rows = np.vstack([block.x for block in open_rows(design, str(tmp_path)).blocks()])
    assert sorted(rows.tolist()) == [[0, 0], [1, 0], [1, 0], [1, 1]]


@pytest.mark.parametrize("last", ["2023", "x", "inf", "nan", ""])
def test_no_text_of_a_folder_decides_what_a_column_is(last: str, tmp_path: Path) -> None:
    for k, year in enumerate(["2020", "2021", last]):
        (tmp_path / f"year={year}").mkdir()
        one = pd.DataFrame({"y": [1.0, 2.0 + k]})
        one.to_parquet(tmp_path / f"year={year}" / "0.parquet")
    path = str(tmp_path)
    assert undeclared_levels("y ~ year", path, None, None, None) == ()
    assert private_design("y ~ year", path).terms == ("Intercept", "year")
    assert undeclared_levels("y ~ factor(year)", path, None, None, None) == ("year",)
    assert undeclared_levels("y ~ I(year == '2020')", path, None, None, None) == ("year",)
    with pytest.raises(SchemaError, match="its levels must be declared"):
        private_design("y ~ factor(year)", path)
    levels = {"year": ["2020", "2021"]}
    assert private_design("y ~ year", path, levels).terms == ("Intercept", "year[T.2021]")


@pytest.mark.parametrize("dtype", ["int32", "int64", "float64"])
def test_a_column_of_a_file_comes_before_that_of_its_folder(dtype: str, tmp_path: Path) -> None:
    (tmp_path / "year=7").mkdir()
    FRAME.astype({"year": dtype}).to_parquet(tmp_path / "year=7" / "a.parquet")
    assert (open_source(tmp_path).read_all().numbers("year", 0, N) == FRAME.year).all()


def test_files_of_a_list_are_read_one_after_another(tmp_path: Path) -> None:
    paths = _files(tmp_path)
    back = _ids(open_source([Path(path) for path in paths[::-1]]).tables(("id",)))
    assert (np.sort(back) == IDS).all()
    assert back[0] == 900


_TWICE_NAMED: dict[str, Callable[[Path, str], Any]] = {
    "path": lambda folder, one: [one, one],
    "kinds of path": lambda folder, one: [one, Path(one)],
    "folder and file": lambda folder, one: [folder, one],
    "detour": lambda folder, one: [one, folder / ".." / folder.name / "0.parquet"],
    "pattern": lambda folder, one: [str(folder / "*.parquet"), one],
    "link": lambda folder, one: [one, _linked(os.symlink, one, folder)],
    "link in a folder": lambda folder, one: _linked(os.symlink, one, folder).parent,
    "hard link": lambda folder, one: [one, _linked(os.link, one, folder)],
    "linked folder": lambda folder, one: [
        folder,
        _linked(os.symlink, str(folder), folder.parent / "x"),
    ],
    "dataset": lambda folder, one: pads.dataset([one, one]),
    "tables": lambda folder, one: [FRAME, FRAME],
    "tuple": lambda folder, one: (ARROW, FRAME, ARROW),
    "values": lambda folder, one: {"a": FRAME, "b": FRAME}.values(),
    "deque": lambda folder, one: deque([BLOCKS[0], BLOCKS[1], BLOCKS[0]]),
    "function": lambda folder, one: lambda: [FRAME, FRAME],
    "iterator": lambda folder, one: lambda: iter([FRAME, FRAME]),
}


def _linked(link: Any, one: str, folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    link(one, folder / "linked.parquet")
    return folder / "linked.parquet"


@pytest.mark.parametrize("kind", _TWICE_NAMED)
def test_rows_that_are_named_twice_are_refused(kind: str, tmp_path: Path) -> None:
    """They would count twice, and be protected half as well as is said."""
    folder = tmp_path / "rows"
    folder.mkdir()
    one = _files(folder)[0]
    with pytest.raises(SchemaError, match="occurs twice in the data"):
        open_source(_TWICE_NAMED[kind](folder, one)).size(lambda table: None, lambda rows: None)


def test_a_fit_of_rows_that_are_named_twice_is_neither_read_nor_charged(tmp_path: Path) -> None:
    FRAME.assign(y=FRAME.id).to_parquet(tmp_path / "a.parquet")
    frame = FRAME.assign(y=FRAME.id)
    for data in ([tmp_path / "a.parquet", tmp_path], [frame, frame]):
        budget = Budget(mu=1)
        with pytest.raises(SchemaError, match="Name it once"):
            dp_lm("y ~ id", data, frame.head(50), mu=1, budget=budget)
        assert budget.entries == ()


class _Lazy(Mapping[str, pd.DataFrame]):
    """Blocks that are read when they are asked for, each time anew."""

    def __init__(self, fails: bool = False) -> None:
        self.fails, self.reads = fails, 0

    def __len__(self) -> int:
        return 4

    def __iter__(self) -> Iterator[str]:
        return iter("abcd")

    def __getitem__(self, name: str) -> pd.DataFrame:
        self.reads += 1
        if self.fails and name == "c":
            raise ValueError("could not convert string to float: 'HIV-positive'")
        return FRAME.copy()


def test_lazy_blocks_are_read_once_and_their_errors_not_shown() -> None:
    lazy = _Lazy()
    assert open_source(lazy.values()).size(lambda table: None, lambda rows: None) == 4 * N
    assert lazy.reads == 4
    with pytest.raises(PassError, match="the reason is withheld") as caught:
        open_source(_Lazy(fails=True).values()).size(lambda table: None, lambda rows: None)
    assert "HIV" not in "".join(traceback.format_exception(caught.value))


def test_groups_of_rows_and_files_of_two_roots_are_distinguished(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        FRAME.to_parquet(tmp_path / name / "part.parquet", row_group_size=250)
    (fragment,) = pads.dataset(tmp_path / "one").get_fragments()
    groups = fragment.split_by_row_group()
    like = {"schema": fragment.physical_schema, "format": pads.ParquetFileFormat()}
    whole = pads.FileSystemDataset(groups, **like, filesystem=fragment.filesystem)
    assert open_source(whole).size(lambda table: None, lambda rows: None) == N
    twice = pads.FileSystemDataset([*groups, groups[1]], **like, filesystem=fragment.filesystem)
    roots = [
        pafs.SubTreeFileSystem(str(tmp_path / k), pafs.LocalFileSystem()) for k in ("one", "two")
    ]
    both, same = (
        pads.dataset([pads.dataset("part.parquet", filesystem=r) for r in roots]),
        pads.dataset(
            [
                pads.dataset("part.parquet", filesystem=roots[0]),
                pads.dataset(str(tmp_path / "one" / "part.parquet")),
            ]
        ),
    )
    assert open_source(both).size(lambda table: None, lambda rows: None) == 2 * N
    for data in (twice, same):
        with pytest.raises(SchemaError, match="occurs twice"):
            open_source(data)


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


def test_copies_and_other_views_are_other_tables() -> None:
    data = open_source([FRAME, FRAME.copy(), FRAME.iloc[:10]])
    assert data.size(lambda table: None, lambda rows: None) == 2 * N + 10


def test_every_schema_of_a_folder_is_checked(tmp_path: Path) -> None:
    FRAME.to_parquet(tmp_path / "a.parquet")
    FRAME.to_parquet(tmp_path / "b.parquet")
    FRAME.assign(id="text").to_parquet(tmp_path / "c.parquet")
    n, checked = _size(tmp_path)
    assert n == 3 * N
    assert sorted(table.type_of("id").kind for table in checked) == ["category", "number"]
    assert {table.n for table in checked} == {0}


def test_a_file_without_rows_is_no_trouble(tmp_path: Path) -> None:
    FRAME.to_parquet(tmp_path / "a.parquet")
    FRAME.iloc[:0].to_parquet(tmp_path / "b.parquet")
    opened = open_source(tmp_path)
    assert _size(tmp_path)[0] == N
    assert (_ids(opened.tables(("id",))) == IDS).all()
    assert sum(table.n for part in opened.parts(NAMES) for table in part.tables(NAMES)) == N


def test_a_file_that_is_gone_in_a_later_pass_stops_it(tmp_path: Path) -> None:
    path = _file(tmp_path)
    opened = open_source(path)
    path.unlink()
    with pytest.raises(PassError, match="withheld"):
        list(opened.tables(("id",)))


@pytest.mark.parametrize("name", ["~/rows.parquet", "rows.parquet"])
def test_paths_are_those_of_a_shell(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    FRAME.to_parquet(tmp_path / "rows.parquet")
    assert _size(name)[0] == N


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
