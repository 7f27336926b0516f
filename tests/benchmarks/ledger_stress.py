"""One ledger under many processes, and under kill -9.

    python -m tests.benchmarks.ledger_stress [folder]

The folder decides what a charge costs: it is on disk before it counts.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from dpstats.accounting.privacy import Privacy
from dpstats.accounting.unit import PrivacyUnit
from dpstats.budget.budget import Budget
from dpstats.budget.charge import charged
from dpstats.errors import BudgetExceeded

_ROOT = str(Path(__file__).parents[2])
if _ROOT not in sys.path:  # processes that start afresh import this module by its name
    sys.path.append(_ROOT)

_ENOUGH = 1e4


def _workers() -> Any:
    """Processes that start within milliseconds, and share nothing with this one.

    The server imports all that they need, once; pytest too, where it is the program that they are of.
    """
    context = multiprocessing.get_context("forkserver")
    main = ["pytest"] if "pytest" in sys.modules else []
    context.set_forkserver_preload([*main, "dpstats.budget", __name__])
    return context


def charge(budget: Budget, call: str, mu: float = 1.0) -> None:
    """What every call does before it reads a row."""
    charged(budget, Privacy(mu), PrivacyUnit(), call, "")


# -- many at once -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rush:
    """What came of charges from several processes."""

    admitted: int
    refused: int
    entries: int
    distinct: int
    squares: float
    seconds: float


def rush(path: Path, processes: int, each: int, room: int | None = None) -> Rush:
    """So many charges of mu = 1 from each process, in a budget with room for ``room`` of them."""
    budget = Budget(mu=_ENOUGH if room is None else math.sqrt(room), path=path)
    context = _workers()
    start = context.Event()
    pipes, children = [], []
    for k in range(processes):
        here, there = context.Pipe(duplex=False)
        child = context.Process(target=_rush, args=(str(path), k, each, start, there))
        child.start()
        there.close()
        pipes.append(here)
        children.append(child)
    begun = time.perf_counter()
    start.set()
    counts = [pipe.recv() for pipe in pipes]
    seconds = time.perf_counter() - begun
    for child in children:
        child.join()
    calls = [entry.call for entry in Budget(path=path).entries]
    return Rush(
        admitted=sum(a for a, _ in counts),
        refused=sum(r for _, r in counts),
        entries=len(calls),
        distinct=len(set(calls)),
        squares=float(budget.spent.squares),
        seconds=seconds,
    )


def _rush(path: str, k: int, each: int, start: Any, pipe: Connection) -> None:
    budget = Budget(path=path)
    start.wait()
    admitted = refused = 0
    for j in range(each):
        try:
            charge(budget, f"{k}:{j}")
            admitted += 1
        except BudgetExceeded:
            refused += 1
    pipe.send((admitted, refused))


def open_while_charging(path: Path, times: int) -> int:
    """Open a ledger anew, again and again, while a process charges; how many charges were seen."""
    context = _workers()
    Budget(mu=_ENOUGH, path=path)
    here, there = context.Pipe(duplex=False)
    child = context.Process(target=_charge_on, args=(str(path), "o", there, 0.02))
    child.start()
    there.close()
    here.recv()
    seen = 0
    for _ in range(times):
        now = len(Budget(path=path).entries)
        assert now >= seen
        seen = now
        while here.poll():  # a full pipe would hold the process up
            here.recv()
    os.kill(child.pid, signal.SIGKILL)
    child.join()
    return seen


# -- killed ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Kills:
    """What came of processes that were killed while they charged.

    ``known``: charges that a process was told of; ``extra``: those that were written, and nobody told.
    """

    kills: int
    known: int
    entries: int
    extra: int
    unmade: int
    journals: int
    seconds: float


def kill_while_charging(path: Path, kills: int, longest: float, seed: int = 1) -> Kills:
    """Kill a process that charges, at random times; count after each."""
    Budget(mu=_ENOUGH, path=path)
    draw, begun = random.Random(seed), time.perf_counter()
    known = before = journals = 0
    for k in range(kills):
        told = _killed(path, f"{k}", draw.uniform(0.0, longest))
        journals += path.with_name(path.name + "-journal").exists()
        now = len(Budget(path=path).entries)
        assert told <= now - before <= told + 1, f"kill {k}: {told} known, {now - before} written"
        known, before = known + told, now
    seconds = time.perf_counter() - begun
    return Kills(kills, known, before, before - known, 0, journals, seconds)


def kill_while_creating(folder: Path, kills: int, longest: float, seed: int = 2) -> Kills:
    """Kill a process that makes a budget and then charges, a new file each time."""
    draw, begun = random.Random(seed), time.perf_counter()
    known = entries = unmade = journals = 0
    for k in range(kills):
        path = folder / f"{k}.budget"
        told = _killed(path, f"{k}", draw.uniform(0.0, longest))
        if not path.exists():
            assert told == 0
            unmade += 1
            continue
        journals += path.with_name(path.name + "-journal").exists()
        now = len(Budget(path=path).entries)
        assert told <= now <= told + 1, f"kill {k}: {told} known, {now} written"
        known, entries = known + told, entries + now
    seconds = time.perf_counter() - begun
    return Kills(kills, known, entries, entries - known, unmade, journals, seconds)


def _killed(path: Path, name: str, after: float) -> int:
    """How many charges a process was told of, until it was killed."""
    context = _workers()
    here, there = context.Pipe(duplex=False)
    child = context.Process(target=_charge_on, args=(str(path), name, there))
    child.start()
    there.close()
    here.recv()
    time.sleep(after)
    os.kill(child.pid, signal.SIGKILL)
    child.join()
    told = 0
    with suppress(EOFError, OSError):
        while True:
            here.recv()
            told += 1
    return told


def _charge_on(path: str, name: str, pipe: Connection, pause: float = 0.0) -> None:
    pipe.send("ready")
    budget = Budget(mu=_ENOUGH, path=path)
    for k in range(10**6):
        charge(budget, f"{name}:{k}", mu=0.01)
        pipe.send(k)
        time.sleep(pause)  # as calls take time between their charges


def main(folder: str | None = None) -> None:
    with tempfile.TemporaryDirectory(dir=folder) as name:
        home = Path(name)
        print("10,000 charges from 8 processes:", rush(home / "a.budget", 8, 1250), flush=True)
        print("room for 7,000 of them:", rush(home / "b.budget", 8, 1250, room=7000), flush=True)
        print(
            "opened 300 times, charges seen:",
            open_while_charging(home / "o.budget", 300),
            flush=True,
        )
        print("kills:", kill_while_charging(home / "c.budget", 200, 0.3), flush=True)
        (home / "made").mkdir()
        print("while it is made:", kill_while_creating(home / "made", 100, 0.1), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
