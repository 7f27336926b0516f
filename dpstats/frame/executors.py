"""Passes over rows: in this process, by workers of an executor or by Dask; and their progress bar.

In this process rows are read block by block, by an executor's workers part by part, and by Dask where
its partitions are. What workers return is added up by the caller, in integers: who did what, in which
order and how often, changes no bit. A worker computes its part and forgets it; a failure is reported
without its cause. This module's tasks have one name for all, and no hash of
what they hold. (Those of a Dask DataFrame are its maker's: Dask names them, and logs their errors.)

No bit changes because every worker computes the same from a row. Sums, products and roots are
the same everywhere; exp, log and their kind may differ in a last bit between processors and libraries,
and then the distribution of work, which may depend on anything, would shift other rows than the one
replaced. So workers report their arithmetic, and a call that meets two kinds is stopped.
"""

from __future__ import annotations

import hashlib
import pickle
import platform
import sys
import uuid
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Generic, TypeVar

import numpy as np
from scipy import special

from dpstats.arguments import called, shown
from dpstats.errors import ArgumentError, PassError, SchemaError, silently, suppress_private_errors
from dpstats.frame.reading import OneTable, steps
from dpstats.frame.source import Check, DaskPartitions, ParquetFiles, Source
from dpstats.frame.tables import as_table

T = TypeVar("T")
Work = Callable[[Source], T]

_ROWS_AT_ONCE = 32
_NAMES_AT_ONCE = 4096
_PATIENCE = 2.0
_JOBS_BYTES = 2**25
"""Up to which every task of Dask has its own copy of a job. One for all would save bytes, but whoever
holds it is a candidate for every task, and partitions would travel to where it is."""
_COMPUTING = ("dpstats", "numpy", "scipy", "pandas", "pyarrow", "formulaic", "statsmodels")


@dataclass(frozen=True)
class Reading:
    """How the caller of a fit wants its rows to be read.

    ``function`` is its name, for the bar. ``executor`` None: threads of this process, or Dask's
    workers for a Dask DataFrame. ``progress``: a bar of the passes over the rows always, never, or
    (None) in interactive sessions, for passes that take more than a few seconds.
    """

    function: str = ""
    executor: Executor | None = None
    progress: bool | None = False

    def __post_init__(self) -> None:
        if not (self.progress is None or isinstance(self.progress, bool)):
            raise ArgumentError(
                f"progress must be True, False or None, not {shown(self.progress)}."
            )
        if self.executor is None or isinstance(self.executor, Executor):
            return
        if hasattr(self.executor, "get_executor"):
            raise ArgumentError("executor= is a Dask Client; give executor=client.get_executor().")
        raise ArgumentError(
            "executor must be an executor of concurrent.futures, such as ProcessPoolExecutor(4), or "
            f"client.get_executor() of a Dask Client; not {called(self.executor)}."
        )

    @property
    def threads(self) -> Executor | None:
        """The caller's threads, which share the memory of this process."""
        return self.executor if type(self.executor) is ThreadPoolExecutor else None

    def size(self, source: Source | DaskPartitions, check: Check, columns: Sequence[str]) -> int:
        """Number of rows; raises where the kinds of the columns are not those of the design."""
        if not isinstance(source, DaskPartitions):
            with self._bar("counting rows") as bar:
                return source.size(check, bar.advance)
        if self.executor is not None:
            raise ArgumentError("a Dask DataFrame is read by its own workers: leave executor= out.")
        check(source.schema)
        n = 0
        with self._bar("counting rows") as bar:
            for count in _by_dask(source, columns, _Counting(check)):
                if isinstance(count, str):
                    raise SchemaError(
                        f"in a partition: {count} Partitions must hold what the Dask DataFrame declares."
                    )
                n += count
                bar.advance(count)
        return n

    def map_parts(
        self, source: Source | DaskPartitions, columns: Sequence[str], work: Work[T]
    ) -> Iterator[T] | None:
        """Results of ``work`` on every part of the rows; None where they are read in this process."""
        if isinstance(source, DaskPartitions):
            return _by_dask(source, columns, work)
        if self.executor is None or self.threads is not None:
            return None
        return _by_executor(self.executor, source, columns, work)

    def bar(self, number: int, total: int) -> Bar:
        """A bar for one pass over the rows."""
        return self._bar(f"pass {number}", total)

    def bar_without_size(self, what: str) -> Bar:
        """A bar that does not tell how many rows there are."""
        return self._bar(what)

    def _bar(self, what: str, total: int | None = None) -> Bar:
        visible = _interactive() if self.progress is None else self.progress
        return Bar(f"{self.function}: {what}", total, 0 if self.progress else _PATIENCE, visible)


class Bar:
    """A progress bar of a pass over the rows, on the terminal or in a notebook."""

    def __init__(self, label: str, total: int | None, patience: float, visible: bool) -> None:
        self._bar: Any = None
        self._read, self._total = 0, total
        if visible:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that a notebook lacks ipywidgets
                from tqdm.auto import tqdm

            shown: dict[str, Any] = {
                "desc": label,
                "delay": patience,
                "leave": False,
                "mininterval": 0,
            }
            if total is None:
                shown["bar_format"] = "{desc}"
            self._bar = tqdm(total=total, unit=" rows", unit_scale=True, **shown)

    def advance(self, rows: int) -> None:
        """Shown in twentieths of all rows, each of them: sizes of blocks may depend on their content.

        So may their number, where nobody tells how many rows there are: what is shown then stands still.
        """
        if self._bar is None or self._total is None:
            return
        before, self._read = self._read, self._read + rows
        passed = (min(20 * read // self._total, 20) for read in (before, self._read))
        for twentieth in range(*passed):
            self._bar.update((twentieth + 1) * self._total // 20 - self._bar.n)

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.close()


def _interactive() -> bool:
    """Whether a person is at the prompt."""
    if hasattr(sys, "ps1") or sys.flags.interactive:
        return True
    shell = sys.modules.get("IPython")
    return shell is not None and shell.get_ipython() is not None


class _Job(Generic[T]):
    """Work and the part it is for, on the way to a worker."""

    def __init__(self, work: Work[T], part: Source | None) -> None:
        self._work = work
        self._part: Source | bytes | None = part

    def __getstate__(self) -> tuple[Work[T], bytes | None]:
        # rows arrive as bytes: what goes wrong in unpacking them is not for a worker's log
        # (and stay so, however often they are handed on)
        part = self._part
        return self._work, part if part is None or isinstance(part, bytes) else pickle.dumps(part)

    def __setstate__(self, state: tuple[Work[T], bytes | None]) -> None:
        self._work, self._part = state

    def __repr__(self) -> str:
        return "<pass over a part of the rows>"

    def __dask_tokenize__(self) -> str:
        return uuid.uuid4().hex

    def on(self, part: Source | None) -> T | None:
        def work() -> T:
            source: Any = self._part if part is None else part
            return self._work(pickle.loads(source) if isinstance(source, bytes) else source)

        return suppress_private_errors(work)


@dataclass(frozen=True)
class _Counting:
    """Rows of a part, or what is wrong with its columns."""

    check: Check

    def __call__(self, part: Source) -> int | str:
        try:
            return part.size(self.check, lambda rows: None)
        except SchemaError as error:
            return str(error)


def arithmetic() -> str:
    """The arithmetic of this thread: libraries, elementary functions, subnormals."""
    # a mode of the thread's processor, which libraries built with -ffast-math set
    subnormal = np.array([1e-310, -2e-310])
    kept = "kept" if np.all(subnormal * np.array([1.0, 0.5]) != 0) else "flushed"
    return f"{_libraries()}, subnormals {kept}"


@cache
def _libraries() -> str:
    """Libraries of this process, and a digest of their elementary functions at many points."""
    x = np.concatenate([np.linspace(-745.0, 709.0, 65_537), np.linspace(-13.1, 13.1, 65_537)])
    positive = np.exp2(x)
    with np.errstate(all="ignore"):
        results = [np.exp(x), np.log(positive), np.log1p(positive), np.expm1(x), np.log2(positive)]
        results += [np.log10(positive), np.tanh(x), np.power(positive, 0.37), special.expit(x)]
        results += [special.ndtr(x), special.log_ndtr(x), special.gammaln(np.abs(x))]
        results += [np.sin(x), np.cos(x), np.tan(x), np.arcsinh(x)]
        results += [special.pdtrc(5.0, positive), special.betainc(5.0, 2.0, special.expit(x))]
    digest = hashlib.sha256(b"".join(values.tobytes() for values in results)).hexdigest()[:8]
    libraries = ", ".join(f"{name} {_version(name)}" for name in _COMPUTING)
    return f"{libraries}, {platform.machine()} {''.join(platform.libc_ver())}, functions {digest}"


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:  # run from a folder
        return "-"


def other_arithmetic(one: str, other: str) -> PassError:
    """Raised where two workers are of different kinds."""
    return PassError(
        f"the workers are not alike: {one}; and {other}. The guarantee needs every worker to "
        "compute the same from a row: use machines of one kind with the same versions of these "
        "packages."
    )


def dpstats_pass(job: _Job[T], frame: Any = None) -> T | None:
    """The task of a worker, under the name that a dashboard shows. None where it failed."""
    return job.on(None if frame is None else OneTable(as_table(frame)))


def _by_executor(
    executor: Executor, source: Source, columns: Sequence[str], work: Work[T]
) -> Iterator[T]:
    waiting: deque[Future[T | None]] = deque()
    # parts of files are names; others hold rows, of which few should be on the way at a time
    at_once = _NAMES_AT_ONCE if isinstance(source, ParquetFiles) else _ROWS_AT_ONCE
    try:
        for part in steps(source.parts(columns)):
            waiting.append(_submitted(executor, _Job(work, part)))
            if len(waiting) >= at_once:
                yield _result(waiting.popleft().result)
        while waiting:
            yield _result(waiting.popleft().result)
    finally:
        # Dask logs every one that is cancelled
        if not type(executor).__module__.startswith("distributed"):
            for future in waiting:
                future.cancel()
        waiting.clear()  # an error that is kept would keep results of workers


def _submitted(executor: Executor, job: _Job[T]) -> Future[T | None]:
    sent = _unbroken(lambda: executor.submit(dpstats_pass, job))
    if sent is None:
        raise PassError(
            "the executor accepts no work; it may have been shut down: make a new one, or leave "
            "executor= out."
        )
    return sent


def _by_dask(source: DaskPartitions, columns: Sequence[str], work: Work[T]) -> Iterator[T]:
    import dask

    once = dask.delayed(dpstats_pass, pure=False, traverse=False)
    # where rows are sorted, or partitions have a size, some are computed here to find the partitions
    parts = silently(lambda: source.delayed(columns))
    if parts is None:
        raise _lost()
    job: Any = _Job(work, None)
    if len(pickle.dumps(job)) * len(parts) > _JOBS_BYTES:
        name = f"{dpstats_pass.__name__}-{uuid.uuid4()}"
        job = dask.delayed(job, name=name, traverse=False)
    promises = [once(job, part) for part in parts]
    client = _client()
    if client is None:
        # partitions are computed in this process, and may warn of a cell
        results = silently(lambda: dask.compute(*promises))
        if results is None:
            raise _lost()
        for result in results:
            if result is None:
                raise _lost()
            yield result
        return
    from distributed import as_completed

    futures = client.compute(promises)
    try:
        for future in as_completed(futures):
            yield _result(future.result)
            future.release()
    finally:
        client.cancel([future for future in futures if not future.done()])
        for future in futures:  # one that failed keeps its error until then
            future.release()


def _client() -> Any:
    """The Dask cluster of this session, if there is one."""
    try:
        from distributed import get_client

        return get_client()
    except (ImportError, ValueError):
        return None


def _result(read: Callable[[], T | None]) -> T:
    """The result of a worker; the reason of a failure is not shown."""
    result = _unbroken(read)
    del read  # an error that is kept would keep results of workers
    if result is None:
        raise _lost()
    return result


def _unbroken(read: Callable[[], T | None]) -> T | None:
    """What is read, or None; raises where workers are gone."""
    broken = False

    def guarded() -> T | None:
        nonlocal broken
        try:
            return read()
        except BrokenExecutor:
            broken = True
            return None

    result = suppress_private_errors(guarded)
    if broken:
        raise PassError(
            "the executor lost its worker processes. A script that uses ProcessPoolExecutor must do its "
            "work under if __name__ == '__main__':; else memory may have run out."
        )
    return result


def _lost() -> PassError:
    return PassError(
        "a worker could not finish its part of a pass over the rows: its memory may have run out, or "
        "the rows cannot be read where it is (files must have the same path on every worker, partitions "
        "what the Dask DataFrame declares). The cause is withheld, because it may hold private values."
    )
