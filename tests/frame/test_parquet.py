"""Parquet files and folders: which columns and row groups are read, and what names of folders say."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from dpstats.errors import PassError, SchemaError
from dpstats.frame import (
    declare_design,
    learn_design,
    open_rows,
    private_design,
    undeclared_levels,
)
from tests.frame.rows_of_sources import (
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
    opened = open_source(_without(one_file(tmp_path), "hidden"))
    tables = list(opened.tables(("year", "id")))
    assert {table.names for table in tables} == {("year", "id")}
    assert (ids_of(iter(tables)) == IDS).all()
    with pytest.raises(PassError, match="withheld"):
        list(opened.tables(("id", "hidden")))


def test_a_row_group_longer_than_a_batch_is_read_in_batches(tmp_path: Path) -> None:
    FRAME.to_parquet(tmp_path / "a.parquet")
    assert pq.read_metadata(tmp_path / "a.parquet").num_row_groups == 1
    tables = list(open_source(tmp_path / "a.parquet").tables(("id",)))
    assert [table.n for table in tables] == [70] * 14 + [20]
    assert (ids_of(iter(tables)) == IDS).all()


def test_a_part_of_a_file_is_a_row_group(tmp_path: Path) -> None:
    parts = list(open_source(one_file(tmp_path)).parts(("id",)))
    sizes = [part.size(lambda table: None, lambda rows: None) for part in parts]
    assert sizes == [150] * 6 + [100]


def test_folders_are_columns(tmp_path: Path) -> None:
    path = one_folder(tmp_path)
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
    paths = several_files(tmp_path)
    back = ids_of(open_source([Path(path) for path in paths[::-1]]).tables(("id",)))
    assert (np.sort(back) == IDS).all()
    assert back[0] == 900


def test_every_schema_of_a_folder_is_checked(tmp_path: Path) -> None:
    FRAME.to_parquet(tmp_path / "a.parquet")
    FRAME.to_parquet(tmp_path / "b.parquet")
    FRAME.assign(id="text").to_parquet(tmp_path / "c.parquet")
    n, checked = size_of(tmp_path)
    assert n == 3 * N
    assert sorted(table.type_of("id").kind for table in checked) == ["category", "number"]
    assert {table.n for table in checked} == {0}


def test_a_file_without_rows_is_no_trouble(tmp_path: Path) -> None:
    FRAME.to_parquet(tmp_path / "a.parquet")
    FRAME.iloc[:0].to_parquet(tmp_path / "b.parquet")
    opened = open_source(tmp_path)
    assert size_of(tmp_path)[0] == N
    assert (ids_of(opened.tables(("id",))) == IDS).all()
    assert sum(table.n for part in opened.parts(NAMES) for table in part.tables(NAMES)) == N


def test_a_file_that_is_gone_in_a_later_pass_stops_it(tmp_path: Path) -> None:
    path = one_file(tmp_path)
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
    assert size_of(name)[0] == N


def test_a_file_that_differs_is_named_and_notes_beside_the_files_are_none(tmp_path: Path) -> None:
    rows = pd.DataFrame({"y": np.arange(40.0), "x": np.arange(40.0) % 7})
    for k in range(3):
        rows.to_parquet(tmp_path / f"p{k}.parquet")
    (tmp_path / "README.txt").write_text("how it was made")
    assert open_rows(declare_design("y ~ x", {"y": float, "x": float}), str(tmp_path)).n == 120
    rows[["y"]].to_parquet(tmp_path / "p7.parquet")
    with pytest.raises(SchemaError, match=r"in '.*p7\.parquet': the table has no column `x`"):
        open_rows(declare_design("y ~ x", {"y": float, "x": float}), str(tmp_path))
    (tmp_path / "p8.parquet").write_text("no Parquet")
    with pytest.raises(SchemaError, match=r"p8\.parquet' cannot be read as Parquet"):
        open_rows(declare_design("y ~ x", {"y": float, "x": float}), str(tmp_path))
