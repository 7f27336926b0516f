"""The list of mutations keeps up with the code, and the command says what it found."""

from __future__ import annotations

import ast
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from tests.mutations import MUTATIONS, Mutation
from tests.mutations import __main__ as command

_FEWEST = 60


@pytest.fixture(autouse=True)
def _quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes a second is left out."""
    monkeypatch.setattr("compileall.compile_dir", lambda *given, **named: None)
    monkeypatch.setattr(command, "_require_own", lambda copy: None)


_AREAS = {
    "noise",
    "lattice",
    "rows",
    "sensitivities",
    "tests of safety",
    "accounting",
    "charges",
    "persons",
    "formulas",
    "passes and endings",
    "papers",
    "alone",
    "averages",
}


def test_there_are_enough_of_them_in_every_area() -> None:
    assert len(MUTATIONS) >= _FEWEST
    assert {m.area for m in MUTATIONS} == _AREAS
    twice = [name for name, count in Counter(m.name for m in MUTATIONS).items() if count > 1]
    assert twice == []


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda m: m.name)
def test_a_mutation_changes_one_place_and_its_tests_are_there(mutation: Mutation) -> None:
    before = (command.PROJECT / mutation.file).read_text(encoding="utf-8")
    after = command.changed(mutation, command.PROJECT)
    assert after != before
    ast.parse(after)
    assert mutation.file.startswith("dpstats/")
    assert mutation.tests
    for test in mutation.tests:
        file, _, rest = test.partition("::")
        text = (command.PROJECT / file).read_text(encoding="utf-8")
        assert "pytestmark = pytest.mark.slow" not in text, "it would not run by default"
        if rest:
            assert f"\ndef {rest.partition('[')[0]}(" in text


def test_a_text_that_stands_there_no_more_is_an_error(tmp_path: Path) -> None:
    mutation = Mutation("a name", "noise", "file.py", "x = 1", "x = 2", ("tests",))
    for text in ("x = 3\n", "x = 1\nx = 1\n"):
        (tmp_path / "file.py").write_text(text)
        with pytest.raises(ValueError, match=r"'a name': the text to be changed stands [02] times"):
            command.changed(mutation, tmp_path)
    (tmp_path / "file.py").write_text("x = 1\n")
    with command.made(mutation, tmp_path):
        assert (tmp_path / "file.py").read_text() == "x = 2\n"
    assert (tmp_path / "file.py").read_text() == "x = 1\n"


def test_a_sample_rotates_with_the_commit() -> None:
    one, two, again = (command.rotated(MUTATIONS, commit) for commit in ("a", "b", "a"))
    assert one == again != two
    assert {m.name for m in one} == {m.name for m in MUTATIONS}


@pytest.mark.parametrize(
    ("status", "word", "failed"), [(1, "killed", 0), (0, "SURVIVED", 1), (2, "NOT RUN", 1)]
)
def test_the_command_fails_where_one_is_not_killed(
    status: int,
    word: str,
    failed: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    ran: list[tuple[str, ...]] = []

    def tested(copy: Path, tests: tuple[str, ...], *options: str) -> object:
        ran.append(tests)
        assert (copy / "dpstats").is_dir()
        assert copy != command.PROJECT
        mutation = MUTATIONS[0]
        changed = mutation.old not in (copy / mutation.file).read_text(encoding="utf-8")
        assert changed == bool(options), "the first run is of the project as it is"
        return subprocess.CompletedProcess([], status if options else 0, "said", "")

    monkeypatch.setattr(command, "tested", tested)
    assert command.main([MUTATIONS[0].name]) == failed
    assert len(ran) == 2
    printed = capsys.readouterr().out
    assert f"{word} " in printed
    assert MUTATIONS[0].name in printed


def test_a_sample_ends_in_time(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A clock that goes on by ten seconds with every test: four of them are within forty-five."""
    now = 0.0

    def tested(*_: object) -> object:
        nonlocal now
        now += 10.0
        return subprocess.CompletedProcess([], 1, "said", "")

    monkeypatch.setattr(command, "tested", tested)
    monkeypatch.setattr("tests.mutations.__main__.monotonic", lambda: now)
    assert command.main(["--sample", "45"]) == 0
    assert capsys.readouterr().out.count("killed ") == 4


def test_what_fails_without_a_mutation_kills_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def tested(*_: object) -> object:
        return subprocess.CompletedProcess([], 1, "said", "")

    monkeypatch.setattr(command, "tested", tested)
    with pytest.raises(SystemExit, match="fail without any mutation"):
        command.main([MUTATIONS[0].name])


def test_names_that_are_none_are_refused_and_the_list_is_shown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit, match="no mutation and no area 'moise'"):
        command.main(["moise"])
    assert command.main(["--list", "papers"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed
    assert all(line.startswith("papers: ") for line in printed)
