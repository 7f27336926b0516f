"""Pages run beside the other tests: each is a process of its own, and there is a second processor."""

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

VIGNETTES = Path(__file__).parents[1] / "vignettes"
_ARGUMENTS = {
    "large_data.py": ("--rows", "200000"),
    "guarantee.py": ("--trials", "600"),
    "replication.py": ("--figures", "ridge-1a"),
}
"""Fewer rows, trials and figures than a reader would see."""


def _printed(path: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", str(path), *_ARGUMENTS.get(path.name, ())],
        capture_output=True,
        text=True,
        timeout=600,
        env=os.environ | {"MPLBACKEND": "Agg"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def pages() -> Iterator[dict[str, Future[str]]]:
    """What each vignette prints."""
    scripts = [p for p in sorted(VIGNETTES.glob("*.py")) if p.name != "build.py"]
    pool = ThreadPoolExecutor(1)
    yield {path.name: pool.submit(_printed, path) for path in scripts}
    pool.shutdown(cancel_futures=True)


@pytest.fixture(scope="session", autouse=True)
def _pages_start_first(request: pytest.FixtureRequest) -> None:
    """They begin with the session, where a test of them was collected."""
    if any("pages" in getattr(item, "fixturenames", ()) for item in request.session.items):
        request.getfixturevalue("pages")
