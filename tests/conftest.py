"""What several modules of tests share."""

import gc
import os
import pickle
import struct
import subprocess
import sys
import warnings
from collections.abc import Callable, Generator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from dpstats.errors import PlanWarning
from tests.grids import mark_seldom

pytest.register_assert_rewrite("tests.report.snapshots")

Silent = Callable[[Callable[[], Any]], Any]

SECRETS = (918273.5, 1.0918273e308, 1.918273e-300)
"""Private values that are looked for, as numbers and, beginning with the same digits, in texts."""

VIGNETTES = Path(__file__).parents[1] / "vignettes"
_LONGEST = "tests/audit/test_claims_audit.py"


def _printed(path: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", str(VIGNETTES / "build.py"), "--text", path.stem],
        capture_output=True,
        text=True,
        timeout=600,
        # with fewer rows, trials and figures than a reader would see
        env=os.environ | {"MPLBACKEND": "Agg", "DPSTATS_FAST_PAGES": "1"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def page() -> Callable[[str], str]:
    """What a vignette shows, as text; each runs once, when a test asks for it."""
    return cache(lambda name: _printed(VIGNETTES / name))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """What is made before the first test stays to the end: no search for garbage goes through it.

    Each search through half a million objects took as long as ten fits. What tests make is searched.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Before tests are chosen by their marks."""
    mark_seldom(items)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Files to workers, as asked for; of the longest one, whose tests share nothing, test by test."""
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return nodeid if nodeid.startswith(_LONGEST) else str(super()._split_scope(nodeid))

    return Scheduling(config, log)


@pytest.fixture
def silent(capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> Silent:
    """Runs a release that warns of plans at most and holds no secret, in any form; its result."""

    def run(release: Callable[[], Any]) -> Any:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            found = release()
            page, kept = found.summary(), pickle.dumps(found)
        printed = capsys.readouterr()
        texts = [repr(found), found._repr_html_(), str(kept)]
        texts += [found.to_json()] if hasattr(found, "to_json") else []
        texts += [str(page), page.to_html(), page.to_latex(), page.to_markdown(), page.to_csv()]
        texts += [str(w.message) for w in warned]
        assert {w.category for w in warned} <= {PlanWarning}
        assert printed.out + printed.err + caplog.text == ""
        assert not [text for text in texts if "918273" in text]
        for secret in SECRETS:
            assert struct.pack("<d", secret) not in kept
            assert struct.pack(">d", secret) not in kept
        return found

    return run
