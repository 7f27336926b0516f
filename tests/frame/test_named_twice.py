"""Rows that are named twice in the data are refused, whatever they are named by."""

from __future__ import annotations

import os
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.dataset as pads
import pyarrow.fs as pafs
import pytest

from dpstats import Budget, dp_lm
from dpstats.errors import PassError, SchemaError
from tests.frame.rows_of_sources import ARROW, BLOCKS, FRAME, N, open_source, several_files

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
    one = several_files(folder)[0]
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


def test_copies_and_other_views_are_other_tables() -> None:
    data = open_source([FRAME, FRAME.copy(), FRAME.iloc[:10]])
    assert data.size(lambda table: None, lambda rows: None) == 2 * N + 10
