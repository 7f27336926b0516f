"""Whoever reads the rows, wherever they are: the same bits, and nothing is said of a row."""

from __future__ import annotations

import io
import multiprocessing
import os
import re
import signal
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import dask.bag
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from dask.utils import key_split
from distributed import Client, LocalCluster

from dpstats import (
    dp_glm,
    dp_lm,
    dp_mean,
    dp_mixture,
    dp_mvnorm,
    eptr_bayes,
    eptr_lm,
    eptr_nw,
)
from dpstats.errors import ArgumentError, DPStatsError, PassError, SchemaError
from dpstats.frame import executors as reading
from dpstats.frame import rows
from dpstats.mechanism.lattice import Grid
from dpstats.mechanism.threads import InTurn
from tests.grids import thinned

SECRET = "secret 8675309"
N = 6000


def make(n: int, seed: int) -> pd.DataFrame:
    """Two groups along ``far``, three levels of ``g``; ``year`` is what the folders of a table say."""
    rng = np.random.default_rng(seed)
    x1, x2 = rng.normal(size=(2, n))
    g = rng.choice(["a", "b", "c"], n)
    y = 1 + x1 - 2 * x2 + (g == "b") + rng.normal(size=n)
    return pd.DataFrame(
        {
            "y": y,
            "b": (y > 0).astype(float),
            "x1": x1,
            "x2": x2,
            "far": x2 / 2 + 12 * rng.integers(0, 2, n),
            "g": g,
            "w": rng.uniform(0.5, 2, n),
            "o": rng.normal(size=n) / 9,
            "year": 1 + (np.arange(n) >= 0.4 * n),
        }
    )


def _private() -> pd.DataFrame:
    data = make(N, 2)
    data.loc[5, "x1"] = data.loc[31, "y"] = data.loc[N - 1, "w"] = data.loc[8, "far"] = np.nan
    data.loc[N - 2, "x2"] = np.inf
    data.loc[17, "g"], data.loc[4004, "g"] = "unknown", None
    return data


PUBLIC, DATA = make(150, 1), _private()
BLOCKS = [DATA.iloc[a : a + 777] for a in range(0, N, 777)]


# -- the same bits ----------------------------------------------------------------------------------

_linear: dict[str, Any] = {"public": PUBLIC, "mu": 1, "seed": 1}
_tested: dict[str, Any] = {"public": PUBLIC, "epsilon": 1, "delta": 1e-5, "seed": 1}
_gaussian: dict[str, Any] = {"public": PUBLIC, "rho": 0.5, "seed": 1}
_limits: dict[str, Any] = {"x1": (-3, 3), "x2": (-3, 3), "y": (-10, 10)}
_weighted: dict[str, Any] = {"weights": "w", "offset": "o"}

FITS: dict[str, Callable[..., Any]] = {
    "lm": partial(dp_lm, "y ~ x1 + x2 + g + year", **_linear),
    "lm weighted": partial(dp_lm, "y ~ x1 * g", **_linear, **_weighted),
    "lm ssp": partial(dp_lm, "y ~ x1 + x2", mu=1, seed=1, limits=_limits, method="ssp"),
    "lm pmt": partial(dp_lm, "y ~ x1 + x2 + g", **_linear, method="pmt"),
    "lm alone": partial(dp_lm, "y ~ x1 + x2 + year", mu=1, seed=1),
    "glm alone": partial(dp_glm, "b ~ x1 + x2", mu=1, seed=1, limits={"x1": (-1, 1)}),
    "glm": partial(dp_glm, "b ~ x1 + x2 + g", **_linear),
    "glm weighted": partial(dp_glm, "b ~ x1", **_linear, **_weighted),
    "eptr lm": partial(eptr_lm, "y ~ x1 + x2 + g", **_tested),
    "eptr bayes": partial(eptr_bayes, "g ~ x1 + y", **_tested),
    "eptr nw": partial(eptr_nw, "y ~ x1", **_tested),
    "mean": partial(dp_mean, ["x1", "y", "year"], **_gaussian),
    "mvnorm": partial(dp_mvnorm, "~ x1 + y + g", **_gaussian),
    "mixture": partial(dp_mixture, ["far", "x1"], **_gaussian, k=2, regime="public"),
    "mixture found": partial(dp_mixture, ["far", "x1"], **_gaussian, k=2, regime="private"),
}

Place = Callable[[pytest.FixtureRequest], tuple[Any, Executor | None]]


def _in_duckdb(ask: pytest.FixtureRequest) -> Any:
    return pytest.importorskip("duckdb").read_parquet(str(ask.getfixturevalue("file")))


PLACES: dict[str, Place] = {
    "shuffled": lambda ask: (DATA.sample(frac=1, random_state=1), None),
    "list": lambda ask: (BLOCKS, None),
    "function": lambda ask: (lambda: (block for block in BLOCKS), None),
    "polars": lambda ask: (pl.from_pandas(DATA), None),
    "pyarrow": lambda ask: (pa.Table.from_pandas(DATA), None),
    "batches": lambda ask: (pa.Table.from_pandas(DATA).to_reader(777), None),
    "mixed blocks": lambda ask: (lambda: [BLOCKS[0], pl.from_pandas(pd.concat(BLOCKS[1:]))], None),
    "duckdb": lambda ask: (_in_duckdb(ask), None),
    "file": lambda ask: (ask.getfixturevalue("file"), None),
    "folder": lambda ask: (str(ask.getfixturevalue("folder")), None),
    "files": lambda ask: (ask.getfixturevalue("files"), None),
    "Dask": lambda ask: (dd.from_pandas(DATA, npartitions=7), None),
    "threads": lambda ask: (DATA, ask.getfixturevalue("threads")),
    "processes, pandas": lambda ask: (DATA, ask.getfixturevalue("processes")),
    "processes, polars": lambda ask: (pl.from_pandas(DATA), ask.getfixturevalue("processes")),
    "processes, list": lambda ask: (BLOCKS, ask.getfixturevalue("processes")),
    "processes, file": lambda ask: (
        ask.getfixturevalue("file"),
        ask.getfixturevalue("processes"),
    ),
    "cluster, Dask": lambda ask: (
        ask.getfixturevalue("client") and dd.from_pandas(DATA, npartitions=7),
        None,
    ),
    "cluster, pandas": lambda ask: (DATA, ask.getfixturevalue("client").get_executor()),
    "cluster, folder": lambda ask: (
        ask.getfixturevalue("folder"),
        ask.getfixturevalue("client").get_executor(),
    ),
}


@pytest.fixture(autouse=True)
def _short_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables in memory fall into several parts, although they are short."""
    monkeypatch.setattr("dpstats.frame.reading._PART_NUMBERS", 2**13)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Parquet file of six row groups."""
    path: Path = tmp_path_factory.mktemp("file") / "rows.parquet"
    DATA.to_parquet(path, row_group_size=1100)
    return path


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    path: Path = tmp_path_factory.mktemp("files")
    for k, block in enumerate(BLOCKS):
        block.to_parquet(path / f"{k}.parquet")
    return list(path.iterdir())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of Parquet files whose names of folders are a column."""
    path: Path = tmp_path_factory.mktemp("folder")
    DATA.to_parquet(path, partition_cols=["year"], row_group_size=1100)
    assert sorted(found.name for found in path.iterdir()) == ["year=1", "year=2"]
    return path


@pytest.fixture(scope="module")
def threads() -> Iterator[Executor]:
    with ThreadPoolExecutor(3) as pool:
        yield pool


def _processes(count: int) -> ProcessPoolExecutor:
    # not by fork: this process has threads
    some = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
    context = multiprocessing.get_context(some)
    context.set_forkserver_preload(["pytest", "dpstats"])  # once, not by every process
    return ProcessPoolExecutor(count, mp_context=context)


@pytest.fixture(scope="module")
def processes() -> Iterator[Executor]:
    with _processes(2) as pool:
        yield pool


def _cluster() -> LocalCluster:
    return LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50
    )


@pytest.fixture(scope="module")
def cluster() -> Iterator[Client]:
    with _cluster() as made, Client(made, set_as_default=False) as client:
        yield client


@pytest.fixture
def client(cluster: Client) -> Iterator[Client]:
    """The cluster, where a test asks for it: others must not find it."""
    with cluster.as_current():
        yield cluster


def bits(value: Any) -> Any:
    """Everything that an object holds, to the bit."""
    if isinstance(value, np.ndarray):
        return value.shape, value.tolist() if value.dtype == object else value.tobytes()
    if isinstance(value, pd.DataFrame | pd.Series):
        return value.to_csv()
    if is_dataclass(value) and not isinstance(value, type):
        return [bits(getattr(value, field.name)) for field in fields(value)]
    if isinstance(value, Mapping):
        return [(key, bits(of)) for key, of in value.items()]
    if isinstance(value, list | tuple):
        return [bits(of) for of in value]
    return repr(value)


def content(fit: Any) -> Any:
    """All that is released, and what is printed and tabled of it."""
    told = str(fit), str(fit.summary())
    return *told, bits([fit.tidy(), fit.glance(), fit.privacy.mechanisms]), bits(fit)


@cache
def expected(name: str) -> Any:
    return content(FITS[name](DATA))


@pytest.mark.parametrize(("place", "name"), thinned(PLACES, FITS, of=9))
def test_the_same_seed_gives_the_same_bits_everywhere(
    place: str, name: str, request: pytest.FixtureRequest
) -> None:
    data, executor = PLACES[place](request)
    assert content(FITS[name](data, executor=executor)) == expected(name)


def test_what_is_compared_tells_other_data_apart() -> None:
    other = DATA.assign(far=DATA.far + 0.01, x1=DATA.x1 + 0.01, b=1 - DATA.b)
    for name, fit in FITS.items():
        assert content(fit(other)) != expected(name)


def test_long_tables_on_the_coarse_grid_have_the_same_bits_too(
    tmp_path: Path, processes: Executor, client: Client
) -> None:
    n = 140_000
    assert Grid.for_rows(n).rows == 2**14
    rng = np.random.default_rng(3)
    data = pd.DataFrame({"x1": rng.normal(size=n), "y": rng.normal(size=n)})
    data["y"] += data.x1
    path = tmp_path / "rows.parquet"
    data.to_parquet(path, row_group_size=50_000)
    blocks = [data.iloc[a : a + 33_333] for a in range(0, n, 33_333)]
    fit = partial(dp_lm, "y ~ x1", public=PUBLIC, mu=1, seed=1)
    found = content(fit(data))
    assert content(fit(data[::-1])) == found
    assert content(fit(lambda: iter(blocks))) == found
    assert content(fit(path)) == found
    assert content(fit(blocks, executor=processes)) == found
    assert content(fit(path, executor=processes)) == found
    assert content(fit(dd.from_pandas(data, npartitions=3))) == found


# -- nothing is named --------------------------------------------------------------------------------


def _seen(client: Client) -> set[str]:
    """Keys of the package's tasks that the scheduler has seen; those of Dask's own are pairs."""
    log = client.run_on_scheduler(
        lambda dask_scheduler: [e[0] for e in dask_scheduler.transition_log]
    )
    return {key for key in log if isinstance(key, str)}


def _settles(client: Client) -> bool:
    """Whether the scheduler forgets all tasks, which takes it some moments."""
    for _ in range(50):
        if not client.run_on_scheduler(lambda dask_scheduler: list(map(str, dask_scheduler.tasks))):
            return True
        time.sleep(0.1)
    return False


@pytest.mark.parametrize("own", [True, False])
def test_tasks_have_one_name_and_no_hash_of_what_they_hold(client: Client, own: bool) -> None:
    data: Any = dd.from_pandas(DATA, npartitions=2) if own else DATA
    executor = None if own else client.get_executor()
    client.run_on_scheduler(lambda dask_scheduler: dask_scheduler.transition_log.clear())
    found = []
    for _ in range(2):
        FITS["mean"](data, executor=executor)
        assert _settles(client)
        found.append(_seen(client))
        client.run_on_scheduler(lambda dask_scheduler: dask_scheduler.transition_log.clear())
    one, two = found
    assert min(len(one), len(two)) > 2
    assert not one & two
    assert {key_split(key) for key in one | two} == {"dpstats_pass"}


# -- workers that fail ------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_worker_that_is_killed_in_the_midst_changes_no_bit(tmp_path: Path) -> None:
    alive, calls = tmp_path / "alive", tmp_path / "calls"
    alive.touch()

    def read(part: pd.DataFrame) -> pd.DataFrame:
        with calls.open("a") as file:
            file.write(".")
        if calls.stat().st_size > 12:
            with suppress(FileNotFoundError):  # one worker alone
                alive.unlink()
                os.kill(os.getpid(), signal.SIGKILL)
        return part

    frame = dd.from_pandas(DATA, npartitions=8)
    frame = frame.map_partitions(read, meta=frame._meta)
    with _cluster() as made, Client(made):
        assert content(FITS["lm"](frame)) == expected("lm")
    assert not alive.exists()


class _Cell:
    """A cell that does something else where it is unpickled."""

    def __init__(self, *done: Any) -> None:
        self._done = done

    def __reduce__(self) -> Any:
        return self._done[0], self._done[1:]


def test_a_pool_that_loses_its_processes_says_what_a_script_needs() -> None:
    with _processes(1) as pool:
        pool.submit(os._exit, 1)
        with pytest.raises(PassError, match="__main__") as caught:
            FITS["lm"](DATA, executor=pool)
    assert_silent(caught.value)


def test_a_pool_that_was_shut_down_is_no_mystery() -> None:
    for pool in (_processes(1), ThreadPoolExecutor(1)):
        pool.shutdown()
        with pytest.raises(PassError, match="shut down"):
            FITS["lm"](DATA, executor=pool)


def test_workers_that_compute_otherwise_stop_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = iter(["numpy 1"] + 99 * ["numpy 2"])
    monkeypatch.setattr(rows, "arithmetic", lambda: next(kinds))
    with pytest.raises(PassError, match="not alike: numpy 1; and numpy 2"):
        FITS["lm"](DATA, executor=InTurn())


# -- errors say nothing -----------------------------------------------------------------------------


def _links(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        yield from _links(error.__cause__)
        error = error.__context__


def assert_silent(error: BaseException) -> None:
    """Neither an error, nor what it arose from, nor its traceback holds the secret."""
    assert isinstance(error, DPStatsError)
    for link in _links(error):
        assert SECRET not in repr(link)
        assert SECRET not in str(link)
    assert SECRET not in "".join(traceback.format_exception(error))


def _fails() -> None:
    raise ValueError(SECRET)


class _Failing:
    """A function of blocks that fails midway in one of its calls."""

    def __init__(self, call: int) -> None:
        self._left = call

    def __call__(self) -> Iterator[pd.DataFrame]:
        self._left -= 1
        for k, block in enumerate(BLOCKS):
            if k == 3 and not self._left:
                _fails()
            yield block


def _stream() -> pa.RecordBatchReader:
    table = pa.Table.from_pandas(DATA)

    def batches() -> Iterator[pa.RecordBatch]:
        yield from table.to_batches(500)[:3]
        _fails()

    return pa.RecordBatchReader.from_batches(table.schema, batches())


def _failing_dask(call: int, count: Path) -> dd.DataFrame:
    """A Dask DataFrame whose computation fails in one of the passes."""

    def read(part: pd.DataFrame) -> pd.DataFrame:
        with count.open("a") as file:
            file.write(".")
        if count.stat().st_size > 3 * (call - 1):
            raise ValueError(SECRET)
        return part

    frame = dd.from_pandas(DATA, npartitions=3)
    return frame.map_partitions(read, meta=frame._meta)


FAILING: dict[str, Place] = {
    "first call": lambda ask: (_Failing(1), None),
    "second call": lambda ask: (_Failing(2), None),
    "second call, processes": lambda ask: (_Failing(2), ask.getfixturevalue("processes")),
    "third call, processes": lambda ask: (_Failing(3), ask.getfixturevalue("processes")),
    "function": lambda ask: (lambda: _fails(), None),
    "stream": lambda ask: (lambda: _stream(), None),
    "stream as it is": lambda ask: (_stream(), None),
    "Dask, counting": lambda ask: (_failing_dask(1, ask.getfixturevalue("count")), None),
    "Dask, pass": lambda ask: (_failing_dask(3, ask.getfixturevalue("count")), None),
    "cluster, counting": lambda ask: (
        ask.getfixturevalue("client") and _failing_dask(1, ask.getfixturevalue("count")),
        None,
    ),
    "cluster, pass": lambda ask: (
        ask.getfixturevalue("client") and _failing_dask(3, ask.getfixturevalue("count")),
        None,
    ),
    "damaged file": lambda ask: (_damaged(ask.getfixturevalue("tmp_path")), None),
    "damaged file, processes": lambda ask: (
        _damaged(ask.getfixturevalue("tmp_path")),
        ask.getfixturevalue("processes"),
    ),
}


def _damaged(folder: Path) -> Path:
    """A Parquet file whose end, which tells its kinds and sizes, is whole."""
    path = folder / "rows.parquet"
    DATA.assign(g=SECRET).to_parquet(path, compression=None)
    whole = path.read_bytes()
    path.write_bytes(whole[:9] + bytes(len(whole) // 2) + whole[9 + len(whole) // 2 :])
    return path


@pytest.fixture
def count(tmp_path: Path) -> Path:
    return tmp_path / "count"


@pytest.mark.parametrize("place", FAILING)
def test_errors_show_nothing_of_the_data(place: str, request: pytest.FixtureRequest) -> None:
    data, executor = FAILING[place](request)
    with pytest.raises(DPStatsError, match="withheld") as caught:
        FITS["lm"](data, executor=executor)
    assert_silent(caught.value)


class _Refusing:
    def __reduce__(self) -> Any:
        return _fails()


@pytest.mark.parametrize("cell", [_Cell(int, SECRET), _Cell(os._exit, 1), _Refusing()])
def test_a_cell_that_does_not_survive_a_journey_counts_as_missing_everywhere(
    cell: Any, processes: Executor
) -> None:
    data = DATA.astype({"g": object})
    data.loc[77, "g"], data.loc[78, "g"] = cell, SECRET
    here = FITS["lm"](data)
    assert content(FITS["lm"](data, executor=processes)) == content(here)
    missing = DATA.astype({"g": object})
    missing.loc[[77, 78], "g"] = None
    assert content(FITS["lm"](missing)) == content(here)


def test_labels_of_rows_and_categories_that_do_not_survive_a_journey_stay(
    processes: Executor,
) -> None:
    labels: list[Any] = [f"row {k}" for k in range(N)]
    labels[77] = _Refusing()
    named = DATA.set_index(pd.Index(labels, dtype=object))
    assert content(FITS["lm"](named, executor=processes)) == expected("lm")
    cells = DATA.g.to_list()
    cells[77] = _Refusing()
    categories = [cell for cell in dict.fromkeys(cells) if not pd.isna(cell)]
    data = DATA.assign(g=pd.Categorical(cells, pd.Index(categories, dtype=object)))
    assert content(FITS["lm"](data, executor=processes)) == content(FITS["lm"](data))


@pytest.mark.parametrize("call", [1, 3])
def test_a_call_that_fails_leaves_nothing_on_the_cluster(
    client: Client, count: Path, call: int
) -> None:
    assert _settles(client)
    with pytest.raises(PassError):
        FITS["lm"](_failing_dask(call, count))
    assert _settles(client)


# -- refused before anything is read ----------------------------------------------------------------

ADVICE = "list of tables, the path of a Parquet file or folder, or a function"


def _exhausted() -> Callable[[], Iterator[pd.DataFrame]]:
    blocks = iter(BLOCKS)
    return lambda: blocks


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "generator": (
        lambda: (block for block in BLOCKS),
        f"a generator can be read once only.* {ADVICE}",
    ),
    "iterator": (lambda: iter(BLOCKS), f"a list_iterator can be read once only.* {ADVICE}"),
    "reader": (
        lambda: pd.read_csv(io.StringIO(DATA.to_csv()), chunksize=999),
        f"a TextFileReader can be read once only.* {ADVICE}",
    ),
    "lazy": (lambda: pl.from_pandas(DATA).lazy(), r"LazyFrame is read .*data.collect\(\)"),
    "dict": (lambda: {"x1": [1.0]}, r"a dict is no table yet: pd\.DataFrame\(data\)"),
    "number": (lambda: 8675309, "a function that returns tables.*not an int"),
    "nothing": (lambda: None, "a function that returns tables.*not a NoneType"),
    "array": (lambda: DATA[["x1"]].to_numpy(), "a function that returns tables.*not an? ndarray"),
    "empty list": (list, "empty list"),
    "empty table": (lambda: DATA.iloc[:0], "no rows"),
    "numbers": (lambda: [1, 2], "a block of the data is an int"),
    "text among tables": (lambda: [DATA, SECRET], "a block of the data is a str"),
    "no file": (lambda: "nowhere.parquet", "no file or folder '.*nowhere.parquet'"),
    "function, number": (lambda: lambda: 8675309, "returned an int; it must return a table"),
    "function, dict": (lambda: lambda: {"x1": [1.0]}, "returned a dict; it must return a table"),
    "function, lazy": (lambda: lambda: pl.from_pandas(DATA).lazy(), "returned a LazyFrame"),
    "function, numbers": (lambda: lambda: iter([DATA, 8675309]), "a block of the data is an int"),
    "column lacks": (
        lambda: [DATA, DATA.drop(columns="x1")],
        r"in a later block: the table has no column `x1`.*Blocks must agree.*dtype=\{",
    ),
    "text for a number": (
        lambda: [DATA, DATA.assign(x1=SECRET)],
        r"in a later block: column `x1` holds categories.*declare numbers.*dtype=\{",
    ),
    "number for text": (
        lambda: lambda: iter([DATA, pl.from_pandas(DATA.assign(g=8675309))]),
        r"in a later block: column `g` holds numbers.*declare categories.*dtype=\{",
    ),
    "Dask column lacks": (
        lambda: dd.from_pandas(DATA, npartitions=2).drop(columns="x1"),
        "the table has no column `x1`",
    ),
    "Dask bag": (lambda: dask.bag.from_sequence([{"x1": 1.0}]), "tables|block of the data"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_data_that_cannot_be_read_are_refused(name: str) -> None:
    data, message = REFUSED[name]
    with pytest.raises(SchemaError, match=message) as caught:
        FITS["lm"](data())
    assert_silent(caught.value)
    assert "8675309" not in str(caught.value)


def test_what_can_be_read_once_only_is_not_read_at_all() -> None:
    blocks = (block for block in BLOCKS)
    with pytest.raises(SchemaError):
        FITS["lm"](blocks)
    assert next(blocks) is BLOCKS[0]


def test_folders_and_files_that_are_no_parquet_are_refused(tmp_path: Path) -> None:
    text, empty = tmp_path / "rows.dat", tmp_path / "empty"
    DATA.to_csv(text)
    empty.mkdir()
    for path in (text, str(text)):
        with pytest.raises(SchemaError, match=r"cannot be read as Parquet.*pd\.read_csv"):
            FITS["lm"](path)
    with pytest.raises(SchemaError, match="no Parquet file"):
        FITS["lm"](empty)


def test_files_of_a_folder_must_agree(tmp_path: Path) -> None:
    DATA.to_parquet(tmp_path / "a.parquet")
    for other, message in [
        (DATA.assign(x1=SECRET), "`x1` holds categories"),
        (DATA.drop(columns="x1"), "no column `x1`"),
    ]:
        other.to_parquet(tmp_path / "b.parquet")
        with pytest.raises(SchemaError, match=message):
            FITS["lm"](tmp_path)


def test_a_partition_that_is_not_what_its_frame_declares_is_refused() -> None:
    def read(part: pd.DataFrame, partition_info: Any = None) -> pd.DataFrame:
        other = partition_info is not None and partition_info["number"] == 1
        return part.assign(x1=SECRET) if other else part

    frame = dd.from_pandas(DATA, npartitions=3)
    frame = frame.map_partitions(read, meta=frame._meta, enforce_metadata=False)
    with pytest.raises(SchemaError, match="in a partition: column `x1` holds categories") as caught:
        FITS["lm"](frame)
    assert_silent(caught.value)


@pytest.mark.parametrize("executor", [None, "processes"])
def test_blocks_that_are_not_the_same_again_stop_the_call(
    executor: str | None, request: pytest.FixtureRequest
) -> None:
    pool = executor and request.getfixturevalue(executor)
    with pytest.raises(PassError, match=r"6000 rows when.*0 in a later pass.*start afresh"):
        FITS["lm"](_exhausted(), executor=pool)


@pytest.mark.parametrize("executor", [None, "processes"])
@pytest.mark.parametrize("change", [{"x1": SECRET}, {"g": 1}, None])
def test_blocks_of_another_kind_in_a_later_pass_stop_the_call(
    change: dict[str, Any] | None, executor: str | None, request: pytest.FixtureRequest
) -> None:
    other = DATA.drop(columns="x1") if change is None else DATA.assign(**change)
    blocks = iter([DATA, other, other, other])
    pool = executor and request.getfixturevalue(executor)
    with pytest.raises(DPStatsError) as caught:
        FITS["lm"](lambda: [next(blocks)], executor=pool)
    assert_silent(caught.value)


def test_executors_that_are_none_are_refused(client: Client, processes: Executor) -> None:
    for executor, message in [
        (client, "client.get_executor()"),
        (ThreadPoolExecutor, "not a type"),
        (4, "ProcessPoolExecutor"),
    ]:
        with pytest.raises(ArgumentError, match=re.escape(message)):
            FITS["lm"](DATA, executor=executor)
    with pytest.raises(ArgumentError, match="its own workers"):
        FITS["lm"](dd.from_pandas(DATA, npartitions=2), executor=processes)


# -- a bar ------------------------------------------------------------------------------------------

Capture = pytest.CaptureFixture[str]


@pytest.mark.parametrize("place", ["pandas", "list", "processes, file", "cluster, Dask"])
def test_a_bar_shows_the_number_of_the_pass_and_twentieths_of_the_rows(
    place: str, request: pytest.FixtureRequest, capsys: Capture
) -> None:
    data, executor = PLACES[place](request) if place in PLACES else (DATA, None)
    capsys.readouterr()
    found = FITS["lm"](data, executor=executor, progress=True)
    out, shown = capsys.readouterr()
    assert content(found) == expected("lm")
    assert out == ""
    times = r"\[[\d:]+<?[\d:?]*, +[?\d.]+[kM]? rows/s\]"
    counted = r"dp_lm: counting rows"
    passed = rf"dp_lm: pass \d+: +\d+%\|.*\| [\d.]+k?/6\.00k {times}"
    lines = [line.strip() for line in re.split(r"[\r\n]", shown) if line.strip()]
    assert any(line.startswith("dp_lm: pass 1: ") and "/6.00k" in line for line in lines)
    for line in lines:
        assert re.fullmatch(f"{counted}|{passed}", line), line
    first = [line for line in lines if line.startswith("dp_lm: pass 1: ")]
    shares = [int(share) for line in first for share in re.findall(r"(\d+)%", line)]
    assert list(dict.fromkeys(shares)) == list(range(0, 101, 5))  # whatever the blocks are


def test_a_bar_does_not_count_blocks_where_the_number_of_rows_is_unknown(capsys: Capture) -> None:
    shown = []
    for blocks in (1, 7):
        with reading.Bar("dp_lm: reading persons", None, 0, True) as bar:
            for _ in range(blocks):
                bar.advance(1000)
        shown.append(capsys.readouterr().err)
    assert shown[0] == shown[1]
    assert "reading persons" in shown[0]


def test_every_function_shows_its_own_name(capsys: Capture) -> None:
    names = ["dp_lm", "dp_glm", "eptr_lm", "eptr_bayes", "eptr_nw", "dp_mean", "dp_mvnorm"]
    fits = ["lm", "glm", "eptr lm", "eptr bayes", "eptr nw", "mean", "mvnorm"]
    for name, fit in [*zip(names, fits, strict=True), ("dp_mixture", "mixture")]:
        FITS[fit](DATA, progress=True)
        shown = capsys.readouterr().err
        assert set(re.findall(r"(\w+): pass", shown)) == {name}


def test_outside_a_prompt_there_is_no_bar(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    for progress in (None, False):
        FITS["lm"](DATA, progress=progress)
    monkeypatch.setattr(reading, "_interactive", lambda: True)
    FITS["lm"](DATA)  # over before a bar is due
    assert capsys.readouterr() == ("", "")


def test_progress_is_yes_no_or_none() -> None:
    for progress in ("yes", 2):
        with pytest.raises(ArgumentError, match="progress must be True, False or None"):
            FITS["lm"](DATA, progress=progress)
