"""Work in turn, and BLAS with one thread meanwhile; what is left of it afterwards is nothing."""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from dpstats.mechanism.threads import InTurn, one_blas_thread, processors

T = TypeVar("T")


def blas() -> set[int]:
    """Threads that BLAS may use, in each of the libraries that are loaded."""
    return {found["num_threads"] for found in threadpool_info() if found["user_api"] == "blas"}


def aside(work: Callable[[], T]) -> T:
    """In a thread that ends: OpenBLAS is ruled by the first thread that sets a limit, while it lives."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


@pytest.fixture(autouse=True)
def _two_threads() -> Iterator[None]:
    """There is something to restore, on any machine."""
    limit = aside(lambda: threadpool_limits(limits=2, user_api="blas"))
    if blas() != {2}:
        pytest.skip("BLAS does not have two threads here")
    yield
    aside(limit.restore_original_limits)


def test_work_in_turn_is_done_where_and_when_it_is_submitted() -> None:
    done: list[tuple[int, int]] = []
    with InTurn() as executor:
        for k in range(3):
            future = executor.submit(
                lambda k, to: to.append((k, threading.get_ident())), k, to=done
            )
            assert future.done()
            assert len(done) == k + 1
        assert list(executor.map(pow, [2, 3], [5, 2])) == [32, 9]
    assert done == [(k, threading.get_ident()) for k in range(3)]


def test_work_in_turn_that_fails_says_so_when_it_is_asked_for() -> None:
    def fail() -> None:
        raise ValueError("broken")

    future = InTurn().submit(fail)
    assert isinstance(future.exception(), ValueError)
    with pytest.raises(ValueError, match="broken"):
        future.result()


def test_work_in_turn_can_be_interrupted() -> None:
    def stop() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        InTurn().submit(stop)


def test_blas_has_one_thread_within_and_its_own_number_afterwards() -> None:
    with one_blas_thread():
        assert blas() == {1}
        with one_blas_thread():
            assert blas() == {1}
        assert blas() == {1}
    assert blas() == {2}


def test_an_error_within_restores_blas() -> None:
    with pytest.raises(ValueError, match="broken"), one_blas_thread():
        raise ValueError("broken")
    assert blas() == {2}


class _Guest(threading.Thread):
    """A thread that enters and leaves when it is told, and then lives on."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._told = [threading.Event() for _ in range(3)]
        self._did = [threading.Event() for _ in range(2)]
        self.start()

    def run(self) -> None:
        self._told[0].wait()
        with one_blas_thread():
            self._did[0].set()
            self._told[1].wait()
        self._did[1].set()
        self._told[2].wait()

    def enter(self) -> None:
        self._told[0].set()
        assert self._did[0].wait(10)

    def leave(self) -> None:
        self._told[1].set()
        assert self._did[1].wait(10)

    def end(self) -> None:
        for told in self._told:
            told.set()
        self.join(10)


@pytest.fixture
def guests() -> Iterator[tuple[_Guest, _Guest]]:
    found = _Guest(), _Guest()
    yield found
    for guest in found:
        guest.end()


def test_a_thread_that_comes_second_finds_blas_limited(guests: tuple[_Guest, _Guest]) -> None:
    for guest in guests:
        guest.enter()
        assert blas() == {1}


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_overlapping_threads_restore_blas_whoever_leaves_last(
    order: tuple[int, int], guests: tuple[_Guest, _Guest]
) -> None:
    for guest in guests:
        guest.enter()
    for k in order:
        guests[k].leave()
    assert blas() == {2}


def test_another_thread_may_stay_longer_than_the_main_one(guests: tuple[_Guest, _Guest]) -> None:
    with one_blas_thread():
        guests[0].enter()
    guests[0].leave()
    assert blas() == {2}
    with one_blas_thread():
        assert blas() == {1}
    assert blas() == {2}


def test_the_main_thread_may_stay_longer_than_another_one(guests: tuple[_Guest, _Guest]) -> None:
    guests[0].enter()
    with one_blas_thread():
        assert blas() == {1}
        guests[0].leave()
    assert blas() == {2}


def test_afterwards_any_thread_may_limit_blas_for_itself(guests: tuple[_Guest, _Guest]) -> None:
    def limited() -> set[int]:
        with threadpool_limits(limits=1, user_api="blas"):
            return blas()

    guests[0].enter()
    guests[0].leave()
    assert limited() == {1}
    with one_blas_thread():
        pass
    assert aside(limited) == {1}
    guests[1].enter()
    assert blas() == {1}
    guests[1].leave()
    assert blas() == {2}


def test_many_threads_that_come_and_go_leave_blas_as_it_was() -> None:
    def work(k: int) -> None:
        pause = random.Random(k)
        for _ in range(20):
            with one_blas_thread():
                threading.Event().wait(pause.random() / 2000)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
        assert blas() == {2}
    assert blas() == {2}


def test_there_are_as_many_processors_as_this_process_may_use(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert 1 <= processors() <= (os.cpu_count() or 1)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 5, 7}, raising=False)
    assert processors() == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    assert processors() == os.cpu_count()
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert processors() == 1
