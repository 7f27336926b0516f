"""Where rows are computed as they are read, nothing that one cell raises or warns of is shown."""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Callable
from typing import Any

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from dpstats import Budget, dp_lm
from dpstats.errors import PassError

N = 2000
SECRET = 123456.78125
_RNG = np.random.default_rng(0)
FRAME = pd.DataFrame({"x": _RNG.normal(size=N), "y": _RNG.normal(size=N), "when": np.zeros(N)})


def _with(cell: float) -> pd.DataFrame:
    frame = FRAME.copy()
    frame.loc[0, "when"] = cell
    return frame


class _Panic(BaseException):
    """As compiled libraries raise it."""


class _Stream:
    """A table that is computed when its stream is asked for."""

    def __init__(self, frame: pd.DataFrame, at_odd_cells: Callable[[float], None]) -> None:
        self._frame, self._odd = frame, at_odd_cells

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        for cell in self._frame.when[self._frame.when != 0]:
            self._odd(float(cell))
        return pa.Table.from_pandas(self._frame).__arrow_c_stream__(requested_schema)


def _warn(cell: float) -> None:
    warnings.warn(f"the cell {cell} is odd", UserWarning, stacklevel=2)


def _panic(cell: float) -> None:
    raise _Panic(f"the cell {cell} is odd")


def _partition(frame: pd.DataFrame) -> pd.DataFrame:
    for cell in frame.when[frame.when != 0]:
        _warn(float(cell))
    return frame


def _dask(frame: pd.DataFrame) -> Any:
    return dd.from_pandas(frame, npartitions=2).map_partitions(_partition, meta=frame.head(0))


@pytest.mark.parametrize(
    "table",
    [
        lambda frame: _Stream(frame, _warn),
        lambda frame: [_Stream(frame, _warn)],
        lambda frame: lambda: _Stream(frame, _warn),
        _dask,
    ],
    ids=["stream", "block", "function", "dask"],
)
@pytest.mark.parametrize("scheduler", ["threads", "synchronous"])
def test_what_rows_warn_of_as_they_are_computed_is_not_shown(table: Any, scheduler: str) -> None:
    with warnings.catch_warnings(record=True) as said, dask.config.set(scheduler=scheduler):
        warnings.simplefilter("always")
        dp_lm("y ~ x", table(_with(SECRET)), mu=1, seed=1)
    assert [str(one.message) for one in said if str(SECRET) in str(one.message)] == []


def _failing(frame: pd.DataFrame) -> pd.DataFrame:
    for cell in frame.when[frame.when != 0]:
        raise ValueError(f"the cell {cell} is odd")
    return frame


LAZY: dict[str, Callable[[Any], Any]] = {
    "sorted": lambda table: table.sort_values("x"),
    "indexed": lambda table: table.set_index("x", drop=False),
    "of a size": lambda table: table.repartition(partition_size="20kB"),
}


@pytest.mark.parametrize("how", LAZY)
@pytest.mark.parametrize("total", [{"mu": 1.0}, {"epsilon": 4.0, "delta": 1e-6}])
def test_a_dask_table_that_is_computed_to_count_its_partitions_shows_no_cell(
    how: str, total: dict[str, Any]
) -> None:
    def table(part: Callable[[pd.DataFrame], pd.DataFrame]) -> Any:
        made = dd.from_pandas(_with(SECRET), npartitions=4)
        return LAZY[how](made.map_partitions(part, meta=FRAME.head(0)))

    budget = Budget(**total)
    with pytest.raises(PassError) as failed:
        dp_lm("y ~ x", table(_failing), budget=budget, **total)
    assert str(SECRET) not in str(failed.value)
    assert len(budget.entries) == 1
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        odd = table(_partition)
        before = len(said)
        dp_lm("y ~ x", odd, seed=1, **total)
    assert [str(one.message) for one in said[before:] if str(SECRET) in str(one.message)] == []


@pytest.mark.parametrize("several", [False, True])
def test_a_panic_of_a_library_is_an_error_without_its_message(several: bool) -> None:
    stream = _Stream(_with(SECRET), _panic)
    budget = Budget(mu=1)
    with pytest.raises(PassError, match="stays charged") as failed:
        dp_lm("y ~ x", [stream] if several else stream, mu=1, budget=budget)
    assert str(SECRET) not in str(failed.value)
    assert budget.spent.mu == 1


def test_a_function_that_fails_at_one_cell_is_charged_whatever_it_raises() -> None:
    messages = set()
    for cell, kind in ((67768036191676800.0, OSError), (1e300, OverflowError)):
        with pytest.raises(kind):
            datetime.datetime.fromtimestamp(cell)

        frame = _with(cell)

        def read(frame: pd.DataFrame = frame) -> pd.DataFrame:
            return frame.assign(year=[datetime.datetime.fromtimestamp(s).year for s in frame.when])

        budget = Budget(mu=1)
        with pytest.raises(PassError) as failed:
            dp_lm("y ~ x", read, mu=1, budget=budget)
        assert budget.spent.mu == 1
        messages.add(str(failed.value))
    assert len(messages) == 1
