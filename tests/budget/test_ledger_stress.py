"""The ledger under many processes and under kill -9; full size: benchmarks.ledger_stress."""

from pathlib import Path

import pytest

from dpstats.budget.budget import Budget
from tests.benchmarks.ledger_stress import (
    kill_while_charging,
    kill_while_creating,
    open_while_charging,
    rush,
)

pytestmark = pytest.mark.slow


def test_charges_of_many_processes_are_each_written_once(tmp_path: Path) -> None:
    path = tmp_path / "many.budget"
    came = rush(path, processes=8, each=100)
    assert (came.admitted, came.refused) == (800, 0)
    assert (came.entries, came.distinct, came.squares) == (800, 800, 800.0)
    assert Budget(path=path).spent.squares == 800


def test_many_processes_cannot_spend_more_than_the_budget(tmp_path: Path) -> None:
    came = rush(tmp_path / "few.budget", processes=8, each=100, room=560)
    assert (came.admitted, came.refused) == (560, 240)
    assert (came.entries, came.distinct, came.squares) == (560, 560, 560.0)


def test_a_ledger_can_be_opened_while_it_is_written(tmp_path: Path) -> None:
    assert open_while_charging(tmp_path / "open.budget", times=400) > 0


def test_a_killed_process_loses_no_charge(tmp_path: Path) -> None:
    came = kill_while_charging(tmp_path / "killed.budget", kills=25, longest=0.3)
    assert came.known <= came.entries <= came.known + came.kills
    assert came.known > 0


def test_a_process_killed_while_it_makes_a_budget_leaves_a_complete_one_or_none(
    tmp_path: Path,
) -> None:
    came = kill_while_creating(tmp_path, kills=25, longest=0.1)
    assert came.known <= came.entries <= came.known + came.kills
    assert not list(tmp_path.glob("*-wal"))
