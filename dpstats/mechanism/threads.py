"""Threads for the work on rows, beside those that BLAS has of its own.

Rows are worked on slab by slab in several threads, so that BLAS inside a slab must stay with one: two
layers of threads on the same processors are slower, whatever the results, which are exact either way
(figures in `tests/benchmarks/engine_speed`).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

T = TypeVar("T")


def processors() -> int:
    """Processors that this process may use."""
    try:
        return len(os.sched_getaffinity(0)) or 1
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


class InTurn(Executor):
    """An executor without threads: work is done when it is submitted."""

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        done: Future[T] = Future()
        try:
            done.set_result(fn(*args, **kwargs))
        except Exception as error:
            done.set_exception(error)
        return done


class _Blas:
    """BLAS limited to one thread while the first thread that asked for it needs it.

    The limit belongs to the process, and only the thread that has set it can lift it: threads that come
    meanwhile find it set, and may outlast it, which costs time and nothing else.
    """

    def __init__(self) -> None:
        self._controller: ThreadpoolController | None = None
        self._lock = threading.Lock()
        self._limit: Any = None

    def limit(self) -> bool:
        """Set the limit, unless it is set already; whether it was done here."""
        with self._lock:
            if self._limit is not None:
                return False
            # made when first needed: it knows the libraries that are loaded by then
            self._controller = self._controller or ThreadpoolController()
            self._limit = self._controller.limit(limits=1, user_api="blas").__enter__()
            return True

    def lift(self) -> None:
        """Restore what was before."""
        with self._lock:
            self._limit.__exit__(None, None, None)
            self._limit = None


_blas = _Blas()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Within, BLAS uses one thread."""
    mine = _blas.limit()
    try:
        yield
    finally:
        if mine:
            _blas.lift()
