"""Threads for the work on rows, beside those that BLAS has of its own.

Rows are worked on slab by slab in several threads, so that BLAS inside a slab must stay with one: two
layers of threads on the same processors are slower, whatever the results, which are exact either way
(figures in `tests/benchmarks/engine_speed.py`).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

T = TypeVar("T")


def processors() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):  # not on every system
        return len(os.sched_getaffinity(0))
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
    """BLAS limited to one thread while anybody asks for it; the last to leave lifts the limit.

    The limit belongs to the process, and only the thread that has set it can lift it as long as that
    thread lives. So a thread of its own sets it, waits until nobody needs it, lifts it and ends.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._keeper: tuple[threading.Thread, threading.Event] | None = None

    def enter(self) -> None:
        with self._lock:
            self._inside += 1
            if self._inside == 1 and _several():
                ready, done = threading.Event(), threading.Event()
                kept = threading.Thread(target=_keep, args=(ready, done), daemon=True)
                kept.start()
                ready.wait()
                self._keeper = kept, done

    def leave(self) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0 and self._keeper is not None:
                (kept, done), self._keeper = self._keeper, None
                done.set()
                kept.join()


@cache
def _controller() -> ThreadpoolController:
    """Looks for libraries once, when first needed: it knows those that are loaded by then."""
    return ThreadpoolController()


def _several() -> bool:
    """Whether BLAS has more threads than one, so that there is something to limit."""
    return any(x.num_threads != 1 for x in _controller().lib_controllers if x.user_api == "blas")


def _keep(ready: threading.Event, done: threading.Event) -> None:
    try:
        with _controller().limit(limits=1, user_api="blas"):
            ready.set()
            done.wait()
    finally:
        ready.set()


_blas = _Blas()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Within, BLAS uses one thread."""
    _blas.enter()
    try:
        yield
    finally:
        _blas.leave()
