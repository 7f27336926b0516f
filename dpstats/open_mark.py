"""Where a process says which budget is open in it, for those that work for it.

A worker of a pool may be older than the ``with`` block whose calls it runs, and what it inherited when
it began is not what is open now. Workers of `multiprocessing`, and of what is built on it, know the
number of the process that they work for. That process keeps a note by its number in the folder for
temporary files; programs that were started by other means have the environment, as it was then.

A note names a file, or nothing for a budget in memory. Nothing here sees a private value.
"""

from __future__ import annotations

import atexit
import contextlib
import multiprocessing
import os
import tempfile
import uuid
from functools import cache
from pathlib import Path

from dpstats.errors import BudgetError

_MARK = "DPSTATS_OPEN_BUDGET"


def mark(path: str) -> None:
    """Say that a budget is open here: one with this file, or "" for one in memory."""
    os.environ[_MARK] = f"{os.getpid()} {path}"
    note = _note(os.getpid())
    new = note.with_name(f"{note.name}.{uuid.uuid4().hex}")
    try:
        with open(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
            file.write(os.fsencode(path))
        os.replace(new, note)
    except OSError as error:
        raise BudgetError(
            f"a budget cannot be opened for several calls: '{note.parent}' cannot be written "
            f"({error.strerror}), where workers would learn of it. Give it to calls by budget=."
        ) from None
    _leave_nothing()


def unmark() -> None:
    """Say that none is open here any more."""
    home, _, _ = os.environ.get(_MARK, "").partition(" ")
    if home == str(os.getpid()):
        del os.environ[_MARK]
    with contextlib.suppress(OSError):
        _note(os.getpid()).unlink()


def marked() -> str | None:
    """What is open in the process that this one works for, or was started from; None if nothing is."""
    home, _, path = os.environ.get(_MARK, "").partition(" ")
    master = worked_for()
    if master is not None:
        with contextlib.suppress(OSError):
            return _read(_note(master))
        if home == str(master):
            return None  # it was closed since
    return None if home in ("", str(os.getpid())) else path


@cache
def _leave_nothing() -> None:
    """A process may end while a budget is open."""
    atexit.register(unmark)


def worked_for() -> int | None:
    """The number of the process that this one is a worker of."""
    parent = multiprocessing.parent_process()
    return None if parent is None else parent.pid


def _note(process: int) -> Path:
    return Path(tempfile.gettempdir()) / f"dpstats-open-{process}"


def _read(note: Path) -> str:
    """A note of this person; nobody else may say what is charged."""
    with open(os.open(note, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)), "rb") as file:
        if hasattr(os, "getuid") and os.fstat(file.fileno()).st_uid != os.getuid():
            raise PermissionError
        return os.fsdecode(file.read())
