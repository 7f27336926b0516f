"""How worker processes learn which budget is open in the process that they work for.

A process knows what was open when it was started: from the environment, or from the fork that made it. A
worker of a pool may be older than the ``with`` block whose calls it runs. Workers of `multiprocessing`,
and of what is built on it, know the number of the process that they work for (on Linux, all processes
know their ancestors): that process keeps a note under its number in the folder for temporary files, and
the nearest note comes first. Where there is none, what was inherited counts: a call that was begun
inside a block and runs after it is charged.

A note names a file, or nothing for a budget in memory. Nothing here sees a private value.

The number of a process does not identify it: a program that takes the place of another (``os.exec``)
keeps the number, and a process in a namespace of its own may have that of its parent. What a process
opened itself is therefore marked by a random name (`identity`), which neither of them knows.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import multiprocessing
import os
import platform
import stat
import tempfile
import uuid
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from dpstats.errors import BudgetError

_MARK = "DPSTATS_OPEN_BUDGET"
_before: dict[str, str | None] = {}
"""The variable of the environment before a process opened a budget; a fork has its parent's as well."""
_name = uuid.uuid4().hex


def identity() -> str:
    """Which process this is: no fork, no later program and no other namespace has the same."""
    return f"{_name}-{os.getpid()}"


def _rename() -> None:
    global _name
    _name = uuid.uuid4().hex


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_rename)


def mark(path: str) -> None:
    """Note that a budget is open here: one with this file, or "" for one in memory."""
    note = _note(os.getpid())
    new = note.with_name(f"{note.name}.{uuid.uuid4().hex}")
    try:
        with open(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
            file.write(_began(os.getpid()) + b"\n" + os.fsencode(path))
        os.replace(new, note)
    except OSError as error:
        with contextlib.suppress(OSError):
            new.unlink()
        raise BudgetError(
            f"a budget cannot be opened for several calls: '{note.parent}' cannot be written "
            f"({error.strerror}), where workers would learn of it. Give it to calls by budget=."
        ) from None
    _before.setdefault(identity(), os.environ.get(_MARK))
    os.environ[_MARK] = f"{identity()} {path}"
    _leave_nothing()


def unmark() -> None:
    """Remove the note: none is open here any more."""
    if identity() in _before:
        before = _before.pop(identity())
        if before is None:
            os.environ.pop(_MARK, None)
        else:
            os.environ[_MARK] = before
    with contextlib.suppress(OSError):
        _note(os.getpid()).unlink()


def inherited_budget() -> str | None:
    """The budget that is open in the process that this one works for, or was when this one began."""
    path = parent_budget()
    if path is not None:
        return path
    value = os.environ.get(_MARK, "")
    home, space, path = value.partition(" ")
    if value and not space:
        raise BudgetError(
            f"the variable {_MARK} is set, and not by an open budget: unset it, or open the budget "
            "here, with Budget(path=...)."
        )
    if home != identity() and home.endswith(f"-{os.getpid()}"):
        _leave_nothing()  # this program has taken the place of the one that opened it, and ends it
    return None if home in ("", identity()) else path


def parent_budget() -> str | None:
    """The budget in the note of the process that this one works for, or of the nearest ancestor.

    No other process may decide what is charged. Programs that workers start, and workers of workers,
    have no other source: their environment is as old as the worker.
    """
    master = worked_for()
    for process in dict.fromkeys([*([] if master is None else [master]), *_ancestors()]):
        for folder in _folders():
            path = _path_in(_note(process, folder), process)
            if path is not None:
                return path
    return None


def _ancestors() -> Iterator[int]:
    """The ancestors of this process, where they are known, the nearest first."""
    process = os.getpid()
    while process > 1:
        process = int(_of_system(process, 1) or 0)
        if process:
            yield process


def _folders() -> list[str]:
    """Where a process may have left its note: a worker may have another folder for temporary files."""
    return list(dict.fromkeys([tempfile.gettempdir(), "/tmp"]))


def _path_in(note: Path, master: int) -> str | None:
    """The path in a note, if it is of that process and of this user."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        with open(os.open(note, flags), "rb") as file:
            about = os.fstat(file.fileno())
            mine = not hasattr(os, "getuid") or about.st_uid == os.getuid()
            if not mine or not stat.S_ISREG(about.st_mode):
                return None
            began, _, path = file.read().partition(b"\n")
    except OSError:
        return None
    return os.fsdecode(path) if began == _began(master) else None


def worked_for() -> int | None:
    """The number of the process that this one is a worker of."""
    parent = multiprocessing.parent_process()
    return None if parent is None else parent.pid


@cache
def _leave_nothing() -> None:
    """A process may end while a budget is open."""
    atexit.register(unmark)


def _note(process: int, folder: str | None = None) -> Path:
    folder = tempfile.gettempdir() if folder is None else folder
    return Path(folder) / f"dpstats-open-{_place(identity())}-{process}"


@cache
def _place(process: str) -> str:
    """Where a number is of one process: folders may be shared by machines and containers.

    Each ``process`` determines it anew: a fork may live in a namespace of its own.
    """
    space = ""
    with contextlib.suppress(OSError):
        space = os.readlink("/proc/self/ns/pid")
    return hashlib.sha256(f"{platform.node()} {space}".encode()).hexdigest()[:12]


def _began(process: int) -> bytes:
    """When a process began, where that is known: its number may be used again."""
    return _of_system(process, 19)


def _of_system(process: int, field: int) -> bytes:
    """A field of the status of a process, counted after its name; empty where there is none."""
    try:
        return Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()[field]
    except (OSError, IndexError):
        return b""
