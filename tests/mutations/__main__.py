"""Make each mutation in a copy of the project, and run the tests of its area there.

``python -m tests.mutations [name or area ...]`` runs all, or those that are named. A line for each says
whether it was killed (a test failed) or has survived, and in how many seconds; where one survives, or
its tests cannot be run, the exit status is 1. First the same tests are run on the copy as it is: what
fails there would kill nothing.

``--sample SECONDS`` takes them in an order that rotates with the commit, and begins no new one that
might not end in time. It is for after a run of all tests: it runs none on the copy as it is.

``--list`` shows them.
"""

from __future__ import annotations

import argparse
import compileall
import os
import py_compile
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

from tests.mutations.listed import MUTATIONS, Mutation

PROJECT = Path(__file__).parents[2]
_COPIED = ("dpstats", "tests", "pyproject.toml")
_KILLED, _SURVIVED = 1, 0  # exit statuses of pytest; with any other the tests were not run
_SAID = 30  # lines of what pytest says, where it was not run


def changed(mutation: Mutation, project: Path) -> str:
    """The text of its file with the mutation; raises where the old text does not stand there once."""
    text = (project / mutation.file).read_text(encoding="utf-8")
    found = text.count(mutation.old)
    if found != 1:
        raise ValueError(
            f"'{mutation.name}': the text to be changed stands {found} times in {mutation.file}; "
            "the list in tests/mutations/listed.py is to follow the code."
        )
    return text.replace(mutation.old, mutation.new)


@contextmanager
def made(mutation: Mutation, copy: Path) -> Iterator[None]:
    """Within, the copy has the mutation."""
    path = copy / mutation.file
    before = path.read_text(encoding="utf-8")
    path.write_text(changed(mutation, copy), encoding="utf-8")
    try:
        yield
    finally:
        path.write_text(before, encoding="utf-8")


def tested(copy: Path, tests: Sequence[str], *options: str) -> subprocess.CompletedProcess[str]:
    """pytest on some tests of the copy, which imports nothing of the project from elsewhere.

    Tests that are named one by one are run even if they are among the slow ones.
    """
    plain = ["-q", "-n0", "-p", "no:cacheprovider", "--no-header", "--tb=short"]
    plain += ["-m", ""] if all("::" in test for test in tests) else []
    return _python(copy, "-m", "pytest", *plain, *options, *tests)


def _python(copy: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    # nothing is compiled to files: of two changes within a second, the other one might be imported
    own = {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=copy,
        env=os.environ | own,
        capture_output=True,
        text=True,
        check=False,
    )


def chosen(names: Sequence[str]) -> list[Mutation]:
    """Those of these names or areas; all, where none are named."""
    known = {m.name for m in MUTATIONS} | {m.area for m in MUTATIONS}
    for name in names:
        if name not in known:
            raise SystemExit(f"there is no mutation and no area '{name}'; --list shows them.")
    return [m for m in MUTATIONS if not names or m.name in names or m.area in names]


def rotated(mutations: Sequence[Mutation], commit: str) -> list[Mutation]:
    """The same mutations in the order of a commit."""
    order = list(mutations)
    random.Random(commit).shuffle(order)
    return order


def _commit() -> str:
    found = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=PROJECT, capture_output=True, text=True, check=False
    )
    return found.stdout.strip()


def _copy(folder: Path) -> None:
    """The project; its modules are compiled, to be used as long as they say what was compiled."""
    for name in _COPIED:
        source = PROJECT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder / name)
    mode = py_compile.PycInvalidationMode.CHECKED_HASH
    compileall.compile_dir(folder / "dpstats", quiet=2, invalidation_mode=mode)


def _require_own(copy: Path) -> None:
    """What is imported in the copy comes from there."""
    found = _python(copy, "-c", "import dpstats, tests; print(dpstats.__file__, tests.__file__)")
    at = str(copy.resolve())
    if not all(os.path.realpath(path).startswith(at) for path in found.stdout.split() or [""]):
        raise SystemExit(f"the copy imports another package: {found.stdout or found.stderr}")


def _require_passing(copy: Path, mutations: Sequence[Mutation]) -> None:
    """The tests pass on the copy as it is."""
    tests = dict.fromkeys(test for m in mutations for test in m.tests)
    whole = {test for test in tests if "::" not in test}
    for some in (sorted(whole), [test for test in tests if test not in whole]):
        found = tested(copy, some) if some else None
        if found is not None and found.returncode != 0:
            last = "\n".join(found.stdout.splitlines()[-_SAID:])
            raise SystemExit(f"{last}\nthese tests fail without any mutation, and can kill none.")


def run(mutation: Mutation, copy: Path) -> bool:
    """Whether the mutation was killed; says so."""
    start = monotonic()
    with made(mutation, copy):
        found = tested(copy, mutation.tests, "-x")
    seconds = monotonic() - start
    killed = found.returncode == _KILLED
    word = {_KILLED: "killed", _SURVIVED: "SURVIVED"}.get(found.returncode, "NOT RUN")
    print(f"{word:9}{seconds:6.1f} s  {mutation.area}: {mutation.name}", flush=True)
    if word == "NOT RUN":
        print("\n".join((found.stdout + found.stderr).splitlines()[-_SAID:]))
    return killed


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; its exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutations", description=__doc__)
    parser.add_argument("names", nargs="*", help="names or areas")
    parser.add_argument("--sample", type=float, metavar="SECONDS")
    parser.add_argument("--list", action="store_true")
    given = parser.parse_args(arguments)
    mutations = chosen(given.names)
    if given.list:
        print("\n".join(f"{m.area}: {m.name}  ({m.file})" for m in mutations))
        return 0
    start, longest, ran = monotonic(), 0.0, 0
    survived: list[str] = []
    with TemporaryDirectory() as folder:
        copy = Path(folder)
        _copy(copy)
        _require_own(copy)
        for mutation in mutations:
            changed(mutation, copy)
        if given.sample is None:
            _require_passing(copy, mutations)
        else:
            mutations = rotated(mutations, _commit())
        for mutation in mutations:
            begun = monotonic()
            if given.sample is not None and ran and begun - start + longest > given.sample:
                break
            ran += 1
            if not run(mutation, copy):
                survived.append(mutation.name)
            longest = max(longest, monotonic() - begun)
    seconds = monotonic() - start
    print(f"{ran} of {len(mutations)} mutations, {len(survived)} not killed, {seconds:.0f} s")
    return 1 if survived else 0


if __name__ == "__main__":
    raise SystemExit(main())
