"""Budgets in files: names, damage, foreign files, and files that change below a running process."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from dpstats import Budget
from dpstats.accounting.privacy import ApproximatePrivacy, Privacy, PurePrivacy
from dpstats.accounting.unit import PrivacyUnit
from dpstats.budget import ledger
from dpstats.budget.charge import label_of
from dpstats.errors import ArgumentError, BudgetError
from tests.budget.cases import PRIVATE, charge, lm
from tests.report.snapshots import FORMS, written


@pytest.mark.parametrize(
    "name",
    ["a b.budget", "größe 数.budget", "50%.budget", "a?b#c&d=1.budget", "%41.budget", "a'b\"c;--"],
)
def test_a_file_may_have_any_name(name: str, tmp_path: Path) -> None:
    for where in (tmp_path / name, str(tmp_path / name)):
        charge(Budget(mu=1, path=where))
    assert os.listdir(tmp_path) == [name]
    assert len(Budget(path=tmp_path / name).entries) == 2


@pytest.mark.skipif(sys.platform != "linux", reason="names of bytes")
def test_a_name_that_is_no_text_names_a_file(tmp_path: Path) -> None:
    where = tmp_path / os.fsdecode(b"a\xff.budget")
    charge(Budget(mu=1, path=where))
    assert len(Budget(path=where).entries) == 1
    assert os.listdir(os.fsencode(tmp_path)) == [b"a\xff.budget"]


def test_a_file_that_grows_at_this_moment_is_not_taken_for_a_damaged_one(path: Path) -> None:
    """A writer writes the first page, which counts the pages, before a new last one."""
    charge(Budget(mu=1, path=path))
    raw = bytearray(path.read_bytes())
    raw[28:32] = (int.from_bytes(raw[28:32], "big") + 1).to_bytes(4, "big")
    path.write_bytes(raw)
    with closing(ledger._connect(path, ledger._PEEK)) as connection:
        assert connection.execute("PRAGMA application_id").fetchone() == (ledger._APPLICATION,)


def test_a_tilde_is_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    Budget(mu=1, path="~/mine.budget")
    assert (tmp_path / "mine.budget").exists()
    with pytest.raises(BudgetError, match="cannot be found"):
        Budget(mu=1, path="~nobody-of-this-name/mine.budget")


def test_a_budget_stays_where_it_is_when_the_process_moves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    budget = Budget(mu=1, path="here.budget")
    (tmp_path / "there").mkdir()
    monkeypatch.chdir(tmp_path / "there")
    charge(budget)
    assert len(Budget(path=tmp_path / "here.budget").entries) == 1
    assert os.listdir() == []
    assert "here.budget" in repr(budget)


def test_a_name_that_cannot_be_one_is_an_error_of_budgets(tmp_path: Path) -> None:
    (tmp_path / "broken").symlink_to(tmp_path / "nowhere")
    for where in ("", " ", "s3://bucket/study.budget"):
        with pytest.raises(ArgumentError, match="a file on this machine"):
            Budget(mu=1, path=where)
    bad = ["a\0b", tmp_path / "no" / "folder" / "x", tmp_path, tmp_path / "broken"]
    for where in bad:
        with pytest.raises(BudgetError):
            Budget(mu=1, path=where)
        with pytest.raises(BudgetError):
            Budget(path=where)
    assert os.listdir(tmp_path) == ["broken"]


def test_where_files_cannot_be_linked_a_budget_is_written_in_its_place(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cannot(*_: Any) -> None:
        raise PermissionError("no links here")

    monkeypatch.setattr("os.link", cannot)
    charge(Budget(mu=1, path=path))
    assert len(Budget(path=path).entries) == 1
    assert os.listdir(path.parent) == [path.name]

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(BudgetError, match="cannot be made: No space left on device"):
        Budget(mu=1, path=path.with_name("other.budget"))
    assert os.listdir(path.parent) == [path.name]


def test_of_two_that_make_a_budget_at_once_the_first_one_stays(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = os.link

    def late(made: Path, name: Path) -> None:
        monkeypatch.setattr("os.link", link)
        charge(Budget(mu=2, path=path))
        link(made, name)

    monkeypatch.setattr("os.link", late)
    with pytest.raises(BudgetError, match="is a budget of mu=2"):
        Budget(mu=1, path=path)
    assert len(Budget(mu=2, path=path).entries) == 1
    assert os.listdir(path.parent) == [path.name]


def test_a_missing_file_needs_a_total(path: Path) -> None:
    with pytest.raises(BudgetError, match="there is no budget"):
        Budget(path=path)
    assert not path.exists()


def test_a_file_is_opened_with_its_total_or_with_none(path: Path) -> None:
    charge(Budget(epsilon=1, delta=1e-6, path=path, rows_per_person=2), unit=PrivacyUnit(2))
    kept = path.read_bytes()
    for again in ({}, {"epsilon": 1, "delta": 1e-6, "rows_per_person": 2}):
        assert len(Budget(path=path, **again).entries) == 1
    others: list[dict[str, Any]] = [
        {"epsilon": 1, "delta": 1e-6},
        {"epsilon": 2, "delta": 1e-6, "rows_per_person": 2},
        {"epsilon": 1, "delta": 1e-6, "slack": 1e-7, "rows_per_person": 2},
        {"mu": 1, "rows_per_person": 2},
    ]
    for other in others:
        with pytest.raises(
            BudgetError, match="is a budget of epsilon=1, delta=1e-06, rows_per_per"
        ):
            Budget(path=path, **other)
    assert path.read_bytes() == kept


def _sqlite(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement).fetchall()


def _wal(path: Path) -> None:
    """Another application's database whose last changes wait beside it."""
    code = (
        "import os, sqlite3, sys\nc = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "c.execute('pragma journal_mode=wal')\nc.execute('create table t(a)')\nos._exit(0)"
    )
    subprocess.run([sys.executable, "-S", "-c", code, str(path)], check=True)


_FOREIGN: dict[str, Callable[[Path], Any]] = {
    "empty": lambda p: p.write_bytes(b""),
    "text": lambda p: p.write_text("mu,rho\n1,0.5\n" * 500),
    "zeros": lambda p: p.write_bytes(bytes(8192)),
    "SQLite": lambda p: _sqlite(p, "create table log (a)", "insert into log values (1)"),
    "SQLite of another application": lambda p: _sqlite(
        p, "pragma application_id = 7", "pragma user_version = 1", "create table budget (terms)"
    ),
    "SQLite with a write-ahead log": _wal,
    "SQLite with only our mark": lambda p: _sqlite(
        p, f"pragma application_id = {0x64705374}", "pragma user_version = 1", "create table t (a)"
    ),
}


@pytest.mark.parametrize("kind", _FOREIGN)
def test_a_foreign_file_is_an_error_and_left_as_it_is(kind: str, path: Path) -> None:
    _FOREIGN[kind](path)
    kept = {p.name: p.read_bytes() for p in path.parent.iterdir()}
    for arguments in ({"mu": 1}, {}):
        with pytest.raises(BudgetError, match="left as it is"):
            Budget(path=path, **arguments)
    assert {p.name: p.read_bytes() for p in path.parent.iterdir()} == kept


def test_a_format_of_the_future_is_named(path: Path) -> None:
    Budget(mu=1, path=path)
    _sqlite(path, "pragma user_version = 2")
    with pytest.raises(BudgetError, match="another version of dpstats"):
        Budget(path=path)


def _small(path: Path) -> bytes:
    budget = Budget(mu=1, path=path)
    for cost in (Privacy(0.3, 1e-7), PurePrivacy(0.2), ApproximatePrivacy(0.1, 1e-8)):
        charge(budget, cost)
    budget._note(3, "released", "a mean")
    budget._note(2, "withdrawn", "")
    return path.read_bytes()


def _opened(path: Path) -> tuple[Any, ...] | None:
    try:
        budget = Budget(path=path)
        return budget.spent, budget.entries, budget.remaining
    except BudgetError:
        return None


def test_a_truncated_file_is_an_error(path: Path) -> None:
    whole = _small(path)
    for size in (1, 15, 16, 50, 99, 100, 512, 4095, 4096, 8192, len(whole) - 1):
        path.write_bytes(whole[:size])
        assert _opened(path) is None, size
        assert path.read_bytes() == whole[:size]


@pytest.mark.slow
def test_a_changed_byte_is_noticed_or_does_not_matter(path: Path) -> None:
    whole = _small(path)
    right = _opened(path)
    draw = random.Random(1)
    # the header, the starts of pages, the ends, where the lines are, and some of the rest
    places = set(range(100)) | set(range(len(whole) - 60, len(whole)))
    places |= {p + k for p in range(4096, len(whole), 4096) for k in range(12)}
    places |= set(draw.sample([k for k, byte in enumerate(whole) if byte], 100))
    places |= set(draw.sample(range(len(whole)), 40))
    wrong = noticed = 0
    for place in sorted(places):
        for value in (whole[place] ^ 1, whole[place] ^ 0x83, 255 - whole[place]):
            changed = bytearray(whole)
            changed[place] = value
            path.write_bytes(changed)
            found = _opened(path)
            noticed += found is None
            wrong += found is not None and found != right
            assert path.read_bytes() == changed
            assert os.listdir(path.parent) == [path.name]
    assert wrong == 0
    assert noticed > 200


@pytest.mark.parametrize(
    "statement",
    [
        "delete from log where number = (select max(number) from log)",
        "delete from log where number = 1",
        "delete from log",
        "update log set level = 0.01 where number = 1",
        "update log set slack = 0 where number = 1",
        "update log set level = 1e400 where number = 1",
        "update log set level = 'a' where number = 1",
        "update log set level = -1 where number = 1",
        "update log set law = 'other' where number = 1",
        "update log set event = 'withdrawn' where number = 1",
        "update log set call = x'ff' where number = 1",
        "update log set call = cast(x'ff' as text) where number = 1",
        "update log set number = 9 where number = 5",
        "insert into log select 6, time, 'withdrawn', 1, '', '', '', '', 0.0, 0.0, '', digest"
        " from log where number = 5",
        "update budget set terms = replace(terms, '1.0', '9.0')",
        "update budget set digest = 'a'",
        "update budget set head = digest",
        "delete from budget",
        "insert into budget select * from budget",
        "drop table log",
        "drop table budget",
        "alter table log add column more default 1",
        "alter table log rename column level to size",
        "pragma journal_mode = wal",
    ],
)
def test_what_was_changed_by_other_means_is_noticed(statement: str, path: Path) -> None:
    _small(path)
    running = Budget(path=path)
    right = running.spent
    _sqlite(path, statement)
    kept = path.read_bytes()
    if "rename" not in statement:  # columns are told by their places
        with pytest.raises(BudgetError, match=r"damaged|cannot be used"):
            Budget(path=path)
    assert path.read_bytes() == kept
    # a running process notices as well, or goes on from what it has read before
    with suppress(BudgetError):
        charge(running)
        assert running.spent == right.plus(Privacy(0.1))
    with suppress(BudgetError):
        assert running.spent.squares >= right.squares


def test_an_older_copy_is_noticed_by_a_running_process(path: Path) -> None:
    budget = Budget(mu=1, path=path)
    charge(budget)
    older = path.with_name("older")
    shutil.copy(path, older)
    charge(budget)
    charge(Budget(path=path))
    assert len(budget.entries) == 3
    os.replace(older, path)
    for asked in (lambda: budget.spent, lambda: charge(budget), lambda: repr(budget)):
        with pytest.raises(BudgetError, match="older copy"):
            asked()
    assert len(Budget(path=path).entries) == 1, "a new process cannot know"


def test_a_new_budget_in_its_place_is_noticed_by_a_running_process(path: Path) -> None:
    budget = Budget(mu=1, path=path)
    charge(budget)
    for total in (1, 2):
        path.unlink()
        with pytest.raises(BudgetError, match="cannot be opened"):
            charge(budget)
        Budget(mu=total, path=path)
        with pytest.raises(BudgetError, match="older copy"):
            charge(budget)


def _as_nobody() -> bool:
    return hasattr(os, "getuid") and os.getuid() != 0


@pytest.mark.skipif(not _as_nobody(), reason="for root every file can be written")
def test_a_file_that_cannot_be_written_can_be_looked_at(path: Path) -> None:
    charge(Budget(mu=1, path=path))
    path.chmod(stat.S_IRUSR)
    budget = Budget(path=path)
    assert len(budget.entries) == 1
    with pytest.raises(BudgetError, match="read-only"):
        charge(budget)
    path.chmod(0)
    with pytest.raises(BudgetError, match="cannot be opened"):
        Budget(path=path)


def test_the_error_of_a_ledger_that_is_in_use_for_long_says_so(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpstats.budget.ledger._PATIENCE", 0.05)
    budget = Budget(mu=1, path=path)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(BudgetError, match=r"in use by another process.*nothing is charged"):
            charge(budget)
        assert budget.entries == (), "it can be looked at meanwhile"
    charge(budget)
    assert len(budget.entries) == 1


def test_a_result_that_was_paid_for_is_not_lost_with_its_ledger(path: Path) -> None:
    budget = Budget(mu=1, path=path)

    def blocks() -> list[pd.DataFrame]:
        path.unlink(missing_ok=True)
        return [PRIVATE]

    assert lm(blocks, budget=budget).privacy.mu == 0.5


def test_any_text_can_be_in_a_call_and_in_a_label(path: Path) -> None:
    odd = "y ~ `a\0b` + '\ud800' + 💧\n\\begin{x} <b> | & % \u202e"
    named = PRIVATE.copy()
    named.attrs["name"] = odd
    for budget in (Budget(mu=1), Budget(mu=1, path=path)):
        charge(budget, call=odd, data=label_of(named))
    for again in (budget, Budget(path=path)):
        (entry,) = again.entries
        assert entry.call == entry.data == odd.replace("\ud800", "\\ud800")
        for form in FORMS[:-1]:
            written(again.table(), form).encode()


def test_a_new_ledger_is_as_open_to_others_as_any_new_file(tmp_path: Path) -> None:
    old = os.umask(0o007)
    try:
        Budget(mu=1, path=tmp_path / "study.budget")
    finally:
        os.umask(old)
    assert (tmp_path / "study.budget").stat().st_mode & 0o777 == 0o660
