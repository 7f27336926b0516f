"""Budgets that are open: threads, forks, workers and programs that start one another."""

from __future__ import annotations

import copy
import math
import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from fractions import Fraction
from multiprocessing.context import BaseContext
from pathlib import Path

import pytest

from dpstats import Budget, BudgetExceeded
from dpstats.accounting.privacy import Privacy
from dpstats.accounting.unit import PrivacyUnit
from dpstats.budget import workers as open_mark
from dpstats.budget.charge import charged
from dpstats.errors import BudgetError
from tests.budget.cases import charge, lm


def test_an_explicit_budget_goes_before_the_open_one() -> None:
    mine = Budget(mu=1)
    with Budget(mu=1) as opened:
        lm(budget=mine)
    assert (len(mine.entries), len(opened.entries)) == (1, 0)


def test_one_budget_is_open_at_a_time_and_may_be_opened_again() -> None:
    one, other = Budget(mu=1), Budget(mu=1)
    with one:
        with one:
            charge_open(0.1)
        charge_open(0.1)
        with pytest.raises(BudgetError, match="another budget is already open"), other:
            pass
        charge_open(0.1)
    with other:
        charge_open(0.1)
    charge_open(0.1)
    assert (len(one.entries), len(other.entries)) == (3, 1)


def charge_open(mu: float) -> None:
    charged(None, Privacy(mu), PrivacyUnit(), "f(x)", "")


def test_a_with_block_ends_whatever_happens_in_it() -> None:
    one = Budget(mu=1)
    with pytest.raises(ZeroDivisionError), one:
        raise ZeroDivisionError
    charge_open(0.1)
    assert one.entries == ()


def test_an_open_budget_is_that_of_every_thread() -> None:
    with Budget(mu=1) as budget, ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: charge_open(0.1), range(8)))
        failed = pool.submit(Budget(mu=1).__enter__).exception()
    assert isinstance(failed, BudgetError)
    assert len(budget.entries) == 8


@pytest.mark.parametrize("on_disk", [False, True])
def test_threads_share_a_budget_to_the_last_call(on_disk: bool, path: Path) -> None:
    each = 5 if on_disk else 50
    room = 16 * each // 2
    budget = Budget(mu=math.sqrt(room), path=path if on_disk else None)
    start, refused = threading.Barrier(16), []

    def work() -> None:
        start.wait()
        for _ in range(each):
            try:
                charge(budget, 1.0)
            except BudgetExceeded as error:
                refused.append(error)

    threads = [threading.Thread(target=work) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (budget.spent.squares, len(budget.entries)) == (room, room)
    assert len(refused) == 16 * each - room


def test_a_budget_in_memory_cannot_be_copied() -> None:
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(BudgetError, match="give it a file"):
            copied(Budget(mu=1))


def test_copies_of_a_budget_in_a_file_are_the_same_budget(path: Path) -> None:
    budget = Budget(mu=1, path=path)
    copies = [copy.copy(budget), copy.deepcopy(budget), pickle.loads(pickle.dumps(budget))]
    for each in (budget, *copies):
        charge(each, 0.3)
    assert {each.spent.squares for each in (budget, *copies)} == {4 * Fraction(0.3) ** 2}


def in_a_fork(work: Callable[[], None]) -> str:
    """How work ends in a forked child: done, refused because the budget is its parent's, or else."""
    endings = ("else", "done", "refused")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        child = os.fork()
    if not child:
        ending = "else"
        try:
            work()
            ending = "done"
        except BudgetError as error:
            ending = "refused" if "belongs to the process" in str(error) else "else"
        finally:
            os._exit(endings.index(ending))
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    return endings[code] if 0 <= code < len(endings) else f"ended with {code}"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.parametrize("on_disk", [False, True])
def test_a_forked_process_charges_the_file_and_cannot_charge_the_memory(
    on_disk: bool, path: Path
) -> None:
    budget = Budget(mu=1, path=path if on_disk else None)
    charge(budget, 0.3)
    assert in_a_fork(lambda: charge(budget, 0.4)) == ("done" if on_disk else "refused")
    assert budget.spent.mu == pytest.approx(0.5 if on_disk else 0.3)


_CHILD = """
import sys
import pandas as pd
from dpstats import dp_mean
from dpstats.errors import BudgetError
rows = pd.DataFrame({"x": [float(k % 5) for k in range(50)]})
try:
    dp_mean("~ x", rows, rows.head(6), mu=0.3, seed=1)
except BudgetError as error:
    print(error)
"""


def printed_by(script: str, **environment: str) -> str:
    """What a program prints that is started now."""
    command, env = [sys.executable, "-c", script], os.environ | environment
    return subprocess.run(command, capture_output=True, text=True, check=True, env=env).stdout


@pytest.mark.slow
def test_a_process_that_is_started_inside_is_charged(path: Path) -> None:
    with Budget(mu=1, path=path) as budget:
        assert printed_by(_CHILD) == ""
    assert budget.spent.mu == pytest.approx(0.3)
    assert len(budget.entries) == 1


@pytest.mark.slow
def test_a_process_that_is_started_outside_is_free_and_beside_a_memory_refused(
    path: Path,
) -> None:
    with Budget(mu=1, path=path) as budget:
        pass
    assert printed_by(_CHILD) == ""
    assert budget.entries == ()
    with Budget(mu=1):
        assert "in memory is open in the process that started this one" in printed_by(_CHILD)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="exec is another thing there")
@pytest.mark.slow
@pytest.mark.parametrize("on_disk", [True, False])
def test_a_program_that_takes_the_place_of_the_process_is_charged(
    on_disk: bool, path: Path, tmp_path: Path
) -> None:
    """It keeps the number of the process, and did not open what is open; it leaves no note behind."""
    folder = tmp_path / "notes"
    folder.mkdir()
    where = f", path={str(path)!r}" if on_disk else ""
    script = f"""
import os, sys
from dpstats import Budget
with Budget(mu=1{where}):
    os.execv(sys.executable, [sys.executable, "-c", {_CHILD!r}])
"""
    found = printed_by(script, TMPDIR=str(folder))
    assert list(folder.iterdir()) == []
    if on_disk:
        assert found == ""
        assert Budget(path=path).spent.mu == pytest.approx(0.3)
    else:
        assert "in memory is open in the process that started this one" in found


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.parametrize("on_disk", [True, False])
def test_a_fork_with_the_number_of_its_parent_is_charged_or_refused(
    on_disk: bool, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a namespace of process numbers of its own."""
    number = os.getpid()
    with Budget(mu=1, path=path if on_disk else None) as budget:
        mine = open_mark.identity()

        def charge_there() -> None:
            monkeypatch.setattr(os, "getpid", lambda: number)
            other = open_mark.identity() != mine and open_mark.inherited_budget() is not None
            charge_open(0.4)
            assert other

        assert in_a_fork(charge_there) == ("done" if on_disk else "refused")
        assert budget.spent.mu == pytest.approx(0.4 if on_disk else 0.0)
        assert open_mark.inherited_budget() is None


def send(pool: ProcessPoolExecutor, mu: float) -> None:
    """A charge in a worker, by a function that every worker can find."""
    pool.submit(charged, None, Privacy(mu), PrivacyUnit(), "f(x)", "").result(timeout=60)


def processes_by(start: str) -> BaseContext:
    """A way to start processes; the test is skipped where the system has it not."""
    if start not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {start} on this system")
    return multiprocessing.get_context(start)


@pytest.mark.parametrize(
    "start", ["fork", *(pytest.param(s, marks=pytest.mark.slow) for s in ("spawn", "forkserver"))]
)
def test_workers_charge_what_is_open_now_however_old_they_are(start: str, tmp_path: Path) -> None:
    context = processes_by(start)
    first, second = (Budget(mu=1, path=tmp_path / name) for name in ("first", "second"))
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        send(pool, 0.1)  # nothing is open: nobody is charged
        with first:
            send(pool, 0.1)
            with ProcessPoolExecutor(1, mp_context=context) as younger:
                send(younger, 0.1)
                with pytest.raises(BudgetExceeded):
                    send(pool, 1.0)
        with second:
            send(pool, 0.1)
        send(pool, 0.1)
        with Budget(mu=1), pytest.raises(BudgetError, match="in memory is open in the process"):
            send(pool, 0.1)
    assert (len(first.entries), len(second.entries)) == (2, 1)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="ancestors are not known there")
@pytest.mark.slow
@pytest.mark.parametrize("start", ["fork", "forkserver"])
def test_programs_that_workers_start_charge_what_is_open_now(start: str, tmp_path: Path) -> None:
    context = processes_by(start)
    first, second = (Budget(mu=2, path=tmp_path / name) for name in ("first", "second"))
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        with first:
            send(pool, 0.1)
            assert pool.submit(printed_by, _CHILD).result(timeout=60) == ""
        with second:
            assert pool.submit(printed_by, _CHILD).result(timeout=60) == ""
    assert (len(first.entries), len(second.entries)) == (2, 1)


def test_a_variable_that_no_budget_has_set_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPSTATS_OPEN_BUDGET", "/study.budget")
    with pytest.raises(BudgetError, match="DPSTATS_OPEN_BUDGET is set, and not by an open budget"):
        open_mark.inherited_budget()


def test_a_worker_that_was_started_inside_is_charged_to_what_is_open_or_was(tmp_path: Path) -> None:
    context = processes_by("fork")
    first, second = (Budget(mu=1, path=tmp_path / name) for name in ("first", "second"))
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        with first:
            send(pool, 0.1)
        send(pool, 0.1)
        with second:
            send(pool, 0.1)
            pool.submit(open_own, str(tmp_path / "own")).result(timeout=60)
    assert (len(first.entries), len(second.entries)) == (2, 1)
    assert len(Budget(path=tmp_path / "own").entries) == 1


def open_own(path: str) -> None:
    with Budget(mu=1, path=path):
        charge_open(0.1)


def test_a_note_of_somebody_else_is_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "away"))
    with pytest.raises(BudgetError, match=r"cannot be written .*budget="), Budget(mu=1):
        pass
    charge_open(0.1)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(open_mark, "worked_for", lambda: 1)
    note = open_mark._note(1)
    assert note.parent == tmp_path
    assert open_mark.inherited_budget() is None
    note.write_bytes(open_mark._began(1) + b"\nmine")
    assert open_mark.inherited_budget() == "mine"
    if hasattr(os, "getuid"):
        monkeypatch.setattr(os, "getuid", lambda: -1)
        assert open_mark.inherited_budget() is None
        monkeypatch.undo()
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        monkeypatch.setattr(open_mark, "worked_for", lambda: 1)
    note.rename(tmp_path / "other")
    note.symlink_to(tmp_path / "other")
    assert open_mark.inherited_budget() is None
    note.unlink()
    note.write_bytes(b"of an older process with this number\nmine")
    assert open_mark.inherited_budget() is None
    if hasattr(os, "mkfifo"):
        note.unlink()
        os.mkfifo(note)
        assert open_mark.inherited_budget() is None


def test_an_inner_program_leaves_the_mark_of_the_outer_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("DPSTATS_OPEN_BUDGET", "1 outer")
    assert open_mark.inherited_budget() == "outer"
    with Budget(mu=1):
        charge_open(0.1)
    assert open_mark.inherited_budget() == "outer"
