"""When a private call ends, however it ends, its rows are forgotten and no error holds any of them.

Whoever catches an error gets its traceback, and with that the locals of all frames that it went through:
debuggers, notebooks and reporters show such values.
"""

from __future__ import annotations

import gc
import traceback
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpstats import dp_feols, dp_mean, eptr, eptr_bayes, eptr_nw
from dpstats.errors import ArgumentError, DPStatsError, PassError
from dpstats.frame.by_person import PersonsBlock
from dpstats.frame.pandas_table import PandasTable
from dpstats.frame.rows import Block
from dpstats.mechanism import passes as slabs
from dpstats.mechanism.lattice import ExactSum
from dpstats.mechanism.passes import PrivateRows
from dpstats.mechanism.session import Session
from dpstats.models.eptr_bayes import rows as class_rows
from dpstats.models.eptr_nw import rows as kernel_rows
from dpstats.models.eptr_own import releases as own_estimate
from dpstats.models.gaussian.rows import CellSlab, LiftedSums
from dpstats.models.linear import rows as linear_rows
from dpstats.score_rounds.rows import ScoreTotals, Slab, Vectors
from tests.contracts.calls import CALLS, OPENED, TABLES

_MODULES = (linear_rows, class_rows, kernel_rows)
_PRIVATE = (
    *(module._Slab for module in _MODULES),
    CellSlab,
    Slab,
    Vectors,
    PersonsBlock,
    Block,
    ScoreTotals,
    LiftedSums,
    ExactSum,
)
"""What holds rows, or totals of rows without noise."""

every_method = pytest.mark.parametrize("name", TABLES)


@contextmanager
def _seen() -> Iterator[tuple[list[PrivateRows[Any]], list[Session[Any]]]]:
    """All rows and sessions that are made within."""
    rows: list[PrivateRows[Any]] = []
    sessions: list[Session[Any]] = []
    with pytest.MonkeyPatch.context() as patched:
        for kind, made in ((PrivateRows, rows), (Session, sessions)):
            patched.setattr(kind, "__init__", _noting(kind.__init__, made))
        yield rows, sessions


def _noting(original: Callable[..., None], made: list[Any]) -> Callable[..., None]:
    def init(self: Any, *given: Any, **named: Any) -> None:
        made.append(self)
        original(self, *given, **named)

    return init


class _Blocks:
    """A table in two blocks, which ends early, or fails, from a pass on."""

    def __init__(self, table: pd.DataFrame, error: BaseException | None, at: int) -> None:
        self._table, self._error, self._at, self.passes = table, error, at, 0

    def __call__(self) -> Iterator[pd.DataFrame]:
        self.passes += 1
        half = len(self._table) // 2
        yield self._table[:half]
        if self.passes < self._at:
            yield self._table[half:]
        elif self._error is not None:
            raise self._error


# -- what is looked at ------------------------------------------------------------------------------

_LEFT_OUT = (types.ModuleType, type, types.BuiltinFunctionType, pd.DataFrame, _Blocks)


def _reached(error: BaseException) -> Iterator[tuple[str, Any]]:
    """Everything that can be reached from an error and its traceback, with the frame it was found in.

    Frames of tests are theirs, and tables are those of the caller.
    """
    seen: set[int] = set()
    starts: list[tuple[str, Any]] = []
    errors: list[BaseException] = [error]
    while errors:
        one = errors.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        errors += [e for e in (one.__cause__, one.__context__) if e is not None]
        starts += [("args", value) for value in (*one.args, vars(one))]
        trace = one.__traceback__
        while trace is not None:
            code = trace.tb_frame.f_code
            if "/tests/" not in code.co_filename.replace("\\", "/"):
                name = f"{code.co_filename.rpartition('/')[2]}:{code.co_name}"
                starts += [
                    (f"{name}.{k}", v) for k, v in trace.tb_frame.f_locals.items() if v is not error
                ]
            trace = trace.tb_next
    yield from _held(starts, seen)


def _held(starts: list[tuple[str, Any]], seen: set[int]) -> Iterator[tuple[str, Any]]:
    """These values and all that they refer to, under the names of the first."""
    while starts:
        name, value = starts.pop()
        if id(value) in seen or isinstance(value, _LEFT_OUT):
            continue
        seen.add(id(value))
        yield name, value
        if isinstance(value, types.FunctionType):
            inner = [cell.cell_contents for cell in value.__closure__ or () if _filled(cell)]
        else:
            inner = gc.get_referents(value)
        starts += [(name, v) for v in inner if not isinstance(v, types.FrameType)]


def _filled(cell: Any) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return False
    return True


def _is_private(value: Any) -> bool:
    """Rows, slabs, and exact totals: Python's integers in an array."""
    if isinstance(value, _PRIVATE):
        return True
    if isinstance(value, np.ndarray) and value.dtype == object:
        return any(type(k) is int for k in value.ravel())
    return False


def _require_silent(error: BaseException) -> None:
    found = sorted({f"{name}: {type(v).__name__}" for name, v in _reached(error) if _is_private(v)})
    assert not found, "an error holds what was read of private rows"


def _require_forgotten(rows: list[PrivateRows[Any]], sessions: list[Session[Any]]) -> None:
    assert rows
    assert sessions
    for one in rows:
        assert one._cached is None, "rows are kept"
    attributes = [(name, value) for session in sessions for name, value in vars(session).items()]
    held = {name for name, value in _held(attributes, set()) if _is_private(value)}
    assert not held, "exact totals are kept"


# -- how calls end ----------------------------------------------------------------------------------


@every_method
def test_rows_are_forgotten_when_a_call_has_succeeded(name: str) -> None:
    with _seen() as (rows, sessions):
        CALLS[name]()
    _require_forgotten(rows, sessions)


_ENDS: dict[str, tuple[type[BaseException], int]] = {
    "an error of the package": (ArgumentError, 1),
    "a stop": (KeyboardInterrupt, 2),
    "a fault": (ValueError, 1),
}
"""What is raised, and after how many releases (where there are so many)."""


@pytest.mark.parametrize("end", _ENDS)
@every_method
def test_an_error_between_releases_holds_no_rows(
    name: str, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Raised where the exact totals of a release are at hand."""
    original, (kind, at) = Session._record, _ENDS[end]
    error = kind("in the middle")

    def record(self: Session[Any], release: Any) -> Any:
        found = original(self, release)
        if len(self.releases) == at or self.left < 1e-9:
            try:
                raise ValueError("of something that was seen")
            except ValueError:
                raise error  # noqa: B904  (as one that arises while another is dealt with)
        return found

    monkeypatch.setattr(Session, "_record", record)
    with _seen() as (rows, sessions), pytest.raises(kind) as caught:
        CALLS[name]()
    assert caught.value.__context__ is None
    _require_silent(caught.value)
    _require_forgotten(rows, sessions)


@pytest.mark.parametrize("end", ["other rows", "a stop", "an error of the caller"])
@pytest.mark.parametrize("name", [name for name in OPENED if name in TABLES])
def test_a_pass_that_ends_in_the_midst_of_it_leaves_no_rows(name: str, end: str) -> None:
    """The first pass counts the rows; in the second, half of them have been read.

    Before the first, a fit without public rows looks at the types of the first block.
    """
    at = 2 + ("alone" in name)
    error = {"other rows": None, "a stop": KeyboardInterrupt(), "an error of the caller": OSError()}
    blocks = _Blocks(CALLS[name].table, error[end], at)
    expected = KeyboardInterrupt if end == "a stop" else PassError
    with _seen() as (rows, sessions), pytest.raises(expected) as caught:
        CALLS[name](blocks)
    assert blocks.passes == at
    _require_silent(caught.value)
    _require_forgotten(rows, sessions)


@pytest.mark.parametrize("end", ["other rows", "a stop"])
@pytest.mark.parametrize(
    "name",
    [
        "dp_lm, anchored",
        "dp_lm, anchored, alone",
        "dp_glm, anchored, poisson",
        "dp_mixture, private",
    ],
)
def test_a_later_pass_that_ends_leaves_no_rows(
    name: str, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where rows are too many to be kept, they are read again after the first release."""
    monkeypatch.setattr(slabs, "_CACHE_BYTES", 0)
    at = 3 + ("alone" in name)
    blocks = _Blocks(CALLS[name].table, KeyboardInterrupt() if end == "a stop" else None, at)
    expected = KeyboardInterrupt if end == "a stop" else PassError
    with _seen() as (rows, sessions), pytest.raises(expected) as caught:
        CALLS[name](blocks)
    assert blocks.passes == at
    assert sessions[0].releases
    _require_silent(caught.value)
    _require_forgotten(rows, sessions)


@pytest.mark.parametrize(
    "name",
    [
        "dp_lm, anchored",
        "dp_lm, anchored, alone",
        "dp_glm, anchored, alone, binomial",
        "dp_feols, rows",
        "dp_feols, instruments, alone",
        "eptr_lm, rounds",
        "eptr_bayes, sums",
        "eptr_nw, gp, alone",
        "dp_mean, refined",
    ],
)
def test_a_last_pass_that_ends_leaves_no_rows(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the rows are summed up by then; a generator as context manager showed their sums."""
    monkeypatch.setattr(slabs, "_CACHE_BYTES", 0)
    monkeypatch.setattr(slabs, "_SLAB_ROWS", (16, 16))
    sound = _Blocks(CALLS[name].table, None, 1000)
    CALLS[name](sound)
    blocks = _Blocks(CALLS[name].table, OSError(), sound.passes)
    with _seen() as (rows, sessions), pytest.raises(PassError) as caught:
        CALLS[name](blocks)
    _require_silent(caught.value)
    _require_forgotten(rows, sessions)


@pytest.mark.parametrize("kind", [ArgumentError, KeyboardInterrupt, ValueError])
def test_an_error_beside_an_estimator_of_ones_own_holds_nothing(
    kind: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its value is at hand when the noise is drawn; only what the caller gave may be seen after."""

    def released(*_: Any, **__: Any) -> Any:
        raise kind("in the middle")

    monkeypatch.setattr(own_estimate, "release_if_safe", released)
    with pytest.raises(kind) as caught:
        eptr(np.arange(5.0), np.mean, len, 0.1, epsilon=1, delta=1e-6, seed=1)
    _require_silent(caught.value)
    frames = traceback.extract_tb(caught.value.__traceback__)
    inside = {frame.name for frame in frames if frame.filename == own_estimate.__file__}
    assert inside <= {"tested_estimate"}, "that one holds what the caller gave"


@pytest.mark.parametrize(
    "call",
    [
        lambda read: eptr_bayes("c ~ x", read, mu=5),
        lambda read: dp_mean(["x"], read, mu=1, limits={"x": ["a", "b"]}),
        lambda read: eptr_nw("c ~ x", read, mu=1),
        lambda read: dp_feols("y ~ x", read, mu=1, limits={"nobody": (0, 1)}),
    ],
)
def test_a_refusal_by_the_columns_of_a_function_holds_none_of_its_rows(
    call: Callable[[Any], Any],
) -> None:
    """Names and kinds of columns are taken from the first rows that it returns."""
    table = pd.DataFrame({"x": np.arange(2000.0), "y": 1.0, "c": ["p", "q"] * 1000})
    with pytest.raises(DPStatsError) as caught:
        call(lambda: table.copy())
    held = sorted(
        {name for name, value in _reached(caught.value) if isinstance(value, PandasTable)}
    )
    assert not held


def test_what_is_looked_for_would_be_found() -> None:
    """The search has teeth: it sees an exact total, and a slab in the closure of a function."""
    total, slab = np.array([2**70], dtype=object), ExactSum((1,))

    def closure() -> Any:
        return slab

    for held in (total, [closure], {"a": (total,)}):
        error = DPStatsError("holds", held)
        with pytest.raises(AssertionError):
            _require_silent(error)
    _require_silent(DPStatsError("holds nothing", np.array(["a"], dtype=object), np.zeros(3)))
