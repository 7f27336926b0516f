"""The vignettes run as scripts, with few rows, and say what their pages say."""

import subprocess
import sys
from pathlib import Path

import pandas as pd

from tests.audits.adversaries import cases

VIGNETTES = Path(__file__).parents[1] / "vignettes"


def run(name: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", str(VIGNETTES / name), *arguments],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_large_data() -> None:
    page = run("large_data.py", "--rows", "200000")
    assert "200,000 rows" in page
    assert "Rows: 200000 private, 200 public; columns: 13" in page
    same = [
        line.split()[-1] for line in page.splitlines() if line.startswith(("pandas", "Parquet"))
    ]
    assert len(same) == 3
    assert len(set(same)) == 1
    assert "can be read once only" in page


def test_guarantee() -> None:
    page = run("guarantee.py", "--trials", "600")
    assert "Unit of privacy: one person replaced by another" in page
    assert "Spent (2 calls)" in page
    assert "The call asks for mu = 0.8" in page
    assert page.count("The claim is REFUTED") == 1
    assert page.count("Not refuted") == 1
    assert " releases: 0 claims refuted" in page


def test_the_table_of_audits_has_every_case_at_full_size() -> None:
    table = pd.read_csv(VIGNETTES / "guarantee_audit.csv")
    named = set(table[["function", "method", "pair"]].itertuples(index=False, name=None))
    assert named == set(cases())
    assert table.trials.min() >= 20_000
    assert not table.refuted.any()
