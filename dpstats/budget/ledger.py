"""The ledger of a budget: its charges, in memory or in one SQLite file.

A ledger is a log that only grows: a charge before a call reads a row; then what the call released,
or that it was withdrawn because it read nothing. Every line has a digest of itself and of the line
before, so that a line that was changed, lost or inserted is noticed. Whether a charge is allowed is
decided in the same transaction that writes it, and the transaction is on disk before it returns: no
process can overwrite the charge of another, and after a crash a charge stands.

Nothing here sees a private value.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import sqlite3
import uuid
from collections.abc import Callable, Iterator
from dataclasses import asdict, astuple, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from dpstats.accounting.composition import BudgetTotal
from dpstats.accounting.privacy import ApproximatePrivacy, Privacy, PurePrivacy, Total
from dpstats.accounting.unit import PrivacyUnit
from dpstats.budget.workers import identity
from dpstats.errors import BudgetError

_APPLICATION = 0x64705374  # "dpSt"
_VERSION = 1
_PATIENCE = 120.0
_WRITE, _PEEK = "rw", "ro&immutable=1"
_LAWS: dict[str, type[Any]] = {
    "gaussian": Privacy,
    "pure": PurePrivacy,
    "approximate": ApproximatePrivacy,
}
Event = Literal["charge", "released", "withdrawn"]


@dataclass(frozen=True)
class BudgetTerms:
    """The terms of a ledger: how much may be spent, and who is protected."""

    allowance: BudgetTotal
    rows_per_person: int = 1
    person: str | None = None

    @property
    def unit(self) -> PrivacyUnit:
        """Who is protected."""
        return PrivacyUnit(self.rows_per_person, self.person)


@dataclass(frozen=True)
class LedgerEntry:
    """One line of the log.

    ``time`` is in UTC; ``charge`` the number of the charge that the line is about, of a charge its
    own. A charge has the call as it was typed, the label of its data, the unit that is protected, and
    its `cost`; ``text`` is what was released.
    """

    number: int
    time: str
    event: Event
    charge: int
    call: str = ""
    data: str = ""
    unit: str = ""
    law: str = ""
    level: float = 0.0
    slack: float = 0.0
    text: str = ""

    @property
    def cost(self) -> Total:
        """The cost of a charge."""
        if self.law == "pure":
            return PurePrivacy(self.level)
        cost: Total = _LAWS[self.law](self.level, self.slack)
        return cost


@dataclass(frozen=True)
class ChargeRequest:
    """A charge before it is written."""

    call: str
    data: str
    unit: str
    cost: Total
    stated: ApproximatePrivacy | None = None  # as it was given, if in epsilon and delta

    def line(self, number: int) -> LedgerEntry:
        law = next(name for name, kind in _LAWS.items() if type(self.cost) is kind)
        level = self.cost.mu if isinstance(self.cost, Privacy) else self.cost.at
        cost = (law, float(level), float(self.cost.slack))
        labels = (plain(self.call), plain(self.data), plain(self.unit))
        return LedgerEntry(number, now(), "charge", number, *labels, *cost)


Write = Callable[[int], LedgerEntry]
"""From the number of the next line to that line; raises where it may not be written."""
Learn = Callable[[list[LedgerEntry]], None]


def plain(text: str) -> str:
    """Text that a file can hold."""
    return text.encode("utf-8", "backslashreplace").decode()


def now() -> str:
    """The time as lines have it."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S")


class MemoryLedger:
    """A log that ends with its process.

    ``news`` gives ``learn`` the lines that are new; if it is interrupted, they come again. ``append``
    adds a line while nobody else can, after ``learn`` has the new lines and ``write`` has decided; it
    returns the number of the line.
    """

    name = "in memory"

    def __init__(self, terms: BudgetTerms) -> None:
        self.terms = terms
        self._lines: list[LedgerEntry] = []
        self._read = 0
        self._process = identity()

    def news(self, learn: Learn) -> None:
        self._require_home()
        new = self._lines[self._read :]
        learn(new)
        self._read += len(new)

    def append(self, learn: Learn, write: Write) -> int:
        self.news(learn)
        self._lines.append(write(len(self._lines) + 1))
        return len(self._lines)

    def _require_home(self) -> None:
        if identity() != self._process:
            raise BudgetError(
                "a budget in memory belongs to the process that made it; what another process charged "
                "would be lost. Give it a file: Budget(..., path='study.budget')."
            )


class FileLedger:
    """A log in a SQLite file; every reading and writing opens it anew.

    The rollback journal (not the write-ahead log) keeps everything in one file, and the directory is
    synchronised as well (``synchronous = EXTRA``): what was committed survives a loss of power.
    """

    def __init__(self, path: Path, terms: BudgetTerms | None) -> None:
        self.path = _absolute(path)  # a process may change its folder
        self.name = _from_here(self.path)
        if os.path.isdir(self.path):
            raise BudgetError(f"'{path}' is a folder: name a file in it.")
        if not os.path.lexists(self.path):
            if terms is None:
                raise BudgetError(
                    f"there is no budget '{path}'; a new one needs its total: Budget(mu=2, path=...)."
                )
            _create(self.path, terms)
        # at first in a way that cannot write: to open another application's database may change it
        with self._connected(_PEEK) as connection:
            self._require_budget(connection)
        with self._connected() as connection:
            self.terms = self._head(connection)[0]
            if connection.execute("PRAGMA quick_check(1)").fetchall() != [("ok",)]:
                raise _damaged(self.name)
        self._known, self._digest = 0, _digest("", self.terms)
        if terms is not None and terms != self.terms:
            raise BudgetError(
                f"'{path}' is a budget of {described(self.terms)}, not of {described(terms)}. "
                "Budget(path=...) alone opens it as it is; another total needs another file."
            )

    def news(self, learn: Learn) -> None:
        with self._connected() as connection:
            connection.execute("BEGIN")
            self._news(connection, learn)

    def append(self, learn: Learn, write: Write) -> int:
        with self._connected() as connection:
            connection.execute("BEGIN IMMEDIATE")
            self._news(connection, learn)
            line = write(self._known + 1)
            digest = _digest(self._digest, line)
            marks = ", ".join("?" * (len(fields(LedgerEntry)) + 1))
            connection.execute(f"INSERT INTO log VALUES ({marks})", (*astuple(line), digest))
            connection.execute("UPDATE budget SET head = ?", (digest,))
            connection.execute("COMMIT")
        learn([line])
        self._known, self._digest = line.number, digest
        return line.number

    def _news(self, connection: sqlite3.Connection, learn: Learn) -> None:
        """Lines after the last one that was read, which must still be what it was."""
        self._require_budget(connection)
        terms, head = self._head(connection)
        if terms != self.terms:
            raise _changed(self.name)
        rows = connection.execute(
            "SELECT * FROM log WHERE number >= ? ORDER BY number", (self._known,)
        ).fetchall()
        if self._known and (not rows or rows.pop(0)[-1] != self._digest):
            raise _changed(self.name)
        lines: list[LedgerEntry] = []
        number, before = self._known, self._digest
        for *values, digest in rows:
            line = _line(self.name, values)
            if line.number != number + 1 or digest != _digest(before, line):
                raise _damaged(self.name)
            number, before = line.number, digest
            lines.append(line)
        if before != head:
            raise _damaged(self.name)
        learn(lines)
        self._known, self._digest = number, before

    def _require_budget(self, connection: sqlite3.Connection) -> None:
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if application != _APPLICATION:
            raise _foreign(self.name)
        if version != _VERSION:
            raise BudgetError(
                f"'{self.name}' was written by another version of dpstats (its format is {version}, "
                f"this version reads {_VERSION})."
            )

    def _head(self, connection: sqlite3.Connection) -> tuple[BudgetTerms, str]:
        """The terms, and the digest of the last line: without it, lost last lines would not show."""
        journal = connection.execute("PRAGMA journal_mode").fetchone()[0]
        rows = connection.execute("SELECT terms, digest, head FROM budget").fetchall()
        if journal != "delete" or len(rows) != 1:
            raise _damaged(self.name)
        text, digest, head = rows[0]
        try:
            saved = json.loads(text)
            terms = BudgetTerms(BudgetTotal(**saved.pop("allowance")), **saved)
        except (TypeError, ValueError, AttributeError, KeyError):
            raise _damaged(self.name) from None
        if digest != _digest("", terms):
            raise _damaged(self.name)
        return terms, str(head)

    @contextlib.contextmanager
    def _connected(self, mode: str = _WRITE) -> Iterator[sqlite3.Connection]:
        try:
            with contextlib.closing(_connect(self.path, mode)) as connection:
                yield connection
            return
        except sqlite3.Error as error:
            refusal = _explained(self.name, error)
        except UnicodeDecodeError:  # a message about a damaged schema, which quotes it
            refusal = _damaged(self.name)
        raise refusal


Ledger = MemoryLedger | FileLedger


def _from_here(path: Path) -> str:
    """As it is typed in the working folder, where it lies in that."""
    try:
        return str(path.relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(path)


def _absolute(path: Path) -> Path:
    try:
        return path.expanduser().absolute()
    except (OSError, RuntimeError) as error:  # no such user; the folder is gone
        raise BudgetError(f"the budget '{path}' cannot be found: {error}") from None


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    where = f"{path.as_uri()}?mode={mode}"
    connection = sqlite3.connect(where, uri=True, timeout=_PATIENCE, isolation_level=None)
    # Without locks, a file that another process makes longer at this moment is not a damaged one; the
    # first statement reads the schema and would take it for one.
    first = "writable_schema = ON" if mode == _PEEK else "synchronous = EXTRA"
    try:
        connection.execute(f"PRAGMA {first}")
    except BaseException:
        connection.close()
        raise
    return connection


def _create(path: Path, terms: BudgetTerms) -> None:
    """A new ledger, complete or not at all: it is made under another name and linked to its own.

    Where another process was faster, its ledger stays.
    """
    try:
        made = path.parent / f".{path.name}.{uuid.uuid4().hex}.new"
        # as open to others as any new file of this person is: people may share a budget
        os.close(os.open(made, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        try:
            with contextlib.closing(_connect(made, _WRITE)) as connection:
                connection.execute("BEGIN IMMEDIATE")
                columns = ", ".join(
                    f"{f.name} {'INTEGER PRIMARY KEY' if f.name == 'number' else 'NOT NULL'}"
                    for f in fields(LedgerEntry)
                )
                connection.execute(f"CREATE TABLE log ({columns}, digest NOT NULL)")
                connection.execute(
                    "CREATE TABLE budget (terms NOT NULL, digest NOT NULL, head NOT NULL)"
                )
                start = _digest("", terms)
                head = (json.dumps(asdict(terms)), start, start)
                connection.execute("INSERT INTO budget VALUES (?, ?, ?)", head)
                connection.execute(f"PRAGMA application_id = {_APPLICATION}")
                connection.execute(f"PRAGMA user_version = {_VERSION}")
                connection.execute("COMMIT")
            _named(made, path)
        finally:
            made.unlink()
        if os.name != "nt":  # where folders cannot be opened
            folder = os.open(path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
    except (OSError, ValueError, sqlite3.Error) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise BudgetError(f"the budget '{path}' cannot be made: {reason}.") from None


def _named(made: Path, path: Path) -> None:
    with contextlib.suppress(FileExistsError):
        try:
            os.link(made, path)
        except FileExistsError:
            raise
        except OSError:  # a file system without links
            with open(path, "xb") as file:
                try:
                    file.write(made.read_bytes())
                    file.flush()
                    os.fsync(file.fileno())
                except BaseException:  # the file is ours, and a part of it is of no use
                    path.unlink()
                    raise


def _digest(before: str, thing: LedgerEntry | BudgetTerms) -> str:
    """The digest of a line and of all lines before it, or of the terms where there are none."""
    text = json.dumps([before, type(thing).__name__, asdict(thing)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _line(name: str, values: list[Any]) -> LedgerEntry:
    kinds = {"int": int, "float": float}
    right = len(values) == len(fields(LedgerEntry)) and all(
        type(value) is kinds.get(str(f.type), str)
        for f, value in zip(fields(LedgerEntry), values, strict=False)
    )
    if not right:
        raise _damaged(name)
    line = LedgerEntry(*values)
    sizes = (line.level, line.slack)
    known = line.law in _LAWS if line.event == "charge" else line.law == ""
    if not known or not all(math.isfinite(v) and v >= 0 for v in sizes):
        raise _damaged(name)
    return line


def described(terms: BudgetTerms) -> str:
    """Terms as they were typed."""
    a = terms.allowance
    text = f"{a.unit}={a.level:g}" + (f", delta={a.delta:g}" if a.delta else "")
    text += f", slack={a.slack:g}" if a.slack is not None else ""
    text += f", rows_per_person={terms.rows_per_person}" if terms.rows_per_person > 1 else ""
    return text + (f", person='{terms.person}'" if terms.person is not None else "")


def _foreign(name: str) -> BudgetError:
    return BudgetError(
        f"'{name}' is not a budget of dpstats, and is left as it is: give another path."
    )


def _damaged(name: str) -> BudgetError:
    return BudgetError(
        f"the budget '{name}' is damaged: what was spent is not known, so nothing can be charged. "
        "It is left as it is; take it from a backup, or treat its data as spent."
    )


def _changed(name: str) -> BudgetError:
    return BudgetError(
        f"the budget '{name}' is not the one that was opened: lines that were in it are gone. Was it "
        "replaced by an older copy?"
    )


def _explained(name: str, error: sqlite3.Error) -> BudgetError:
    text = str(error)
    if "not a database" in text:
        return _foreign(name)
    if "malformed" in text or "corrupt" in text or "no such table" in text or "no such col" in text:
        return _damaged(name)
    if "locked" in text:
        return BudgetError(
            f"the budget '{name}' has been in use by another process for more than {_PATIENCE:g} "
            "seconds; nothing is charged."
        )
    if "readonly" in text:
        return BudgetError(
            f"the budget '{name}' cannot be written (read-only): nothing is charged."
        )
    if "unable to open" in text:
        return BudgetError(
            f"the budget '{name}' cannot be opened: is it gone or unreadable, or its folder read-only?"
        )
    return BudgetError(f"the budget '{name}' cannot be used: {text}.")
