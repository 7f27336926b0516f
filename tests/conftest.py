"""What several modules of tests share.

Pages run beside the other tests: each is a process of its own, and there is a second processor.
"""

import os
import pickle
import struct
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

pytest.register_assert_rewrite("tests.report.snapshots")

Silent = Callable[[Callable[[], Any]], Any]

SECRETS = (918273.5, 1.0918273e308, 1.918273e-300)
"""Private values that are looked for, as numbers and, beginning with the same digits, in texts."""

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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of pages come first: the longest of them should not end last."""
    items.sort(key=lambda item: "pages" not in getattr(item, "fixturenames", ()))


@pytest.fixture(scope="session", autouse=True)
def _pages_start_first(request: pytest.FixtureRequest) -> None:
    """They begin with the session, where a test of them was collected and nobody shares the work."""
    alone = "PYTEST_XDIST_WORKER" not in os.environ
    if alone and any("pages" in getattr(i, "fixturenames", ()) for i in request.session.items):
        request.getfixturevalue("pages")


@pytest.fixture
def silent(capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> Silent:
    """Runs a release that gives no warning and holds no secret, in any form; its result."""

    def run(release: Callable[[], Any]) -> Any:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            found = release()
            page, kept = found.summary(), pickle.dumps(found)
        printed = capsys.readouterr()
        texts = [repr(found), found._repr_html_(), str(kept)]
        texts += [found.to_json()] if hasattr(found, "to_json") else []
        texts += [str(page), page.to_html(), page.to_latex(), page.to_markdown(), page.to_csv()]
        texts += [printed.out, printed.err, caplog.text]
        assert warned == []
        assert not [text for text in texts if "918273" in text]
        for secret in SECRETS:
            assert struct.pack("<d", secret) not in kept
            assert struct.pack(">d", secret) not in kept
        return found

    return run
