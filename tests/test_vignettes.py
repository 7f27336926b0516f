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


def test_getting_started() -> None:
    page = run("getting_started.py")
    assert "318 public rows, 6048 private rows" in page
    assert "root of the sum of squares: 1.0\n" in page
    assert "epsilon = 4.38 at delta = 1e-05" in page
    assert "Smallest budget: mu = " in page
    assert page.count("no further privacy spent") == 2
    assert "'~ . + occupation' needs `occupation`" in page
    assert "residuals of private rows are not released" in page
    assert "The call asks for mu = 0.8" in page
    assert "Spent (2 calls)" in page
    assert "A column that is not private is for teaching" in page
    assert "\\toprule" in page


def test_public_data() -> None:
    page = run("public_data.py")
    assert "same coefficients: True" in page
    errors = {
        name: float(line.removeprefix(name).split()[0])
        for line in page.splitlines()
        for name in (
            "318 rows, or their moments",
            "moments of the design alone",
            "published, rounded matrix",
            "limits, columns centred",
            "limits, columns as they are",
            "public rows alone, no private ones",
        )
        if line.startswith(name)
    }
    assert len(errors) == 6
    *public, centred, plain, alone = errors.values()
    assert max(public) < 0.5 < centred < 1 < plain
    assert alone > 4
    assert "The released second moments are NOT positive definite" in page
    assert "column `age` holds categories" in page
    assert "'group[T.D]' are zero in every public row" in page
    assert "180 public (and 20 left out: missing values)" in page
    assert "The public sample is the private table itself" in page


def test_glm() -> None:
    page = run("glm.py")
    assert "Response: affair is True, rather than False" in page
    assert "Odds ratio" in page
    assert "Rate ratio" in page
    assert "use family='quasipoisson'" in page
    dispersions = [
        float(line.rsplit(maxsplit=1)[1])
        for line in page.splitlines()
        if line.startswith(("dispersion of the public rows", "released, of the private rows"))
    ]
    assert len(dispersions) == 2
    assert min(dispersions) > 5
    settled = [line.split()[-1] for line in page.splitlines() if line.startswith("affairs > ")]
    assert settled == ["True", "True", "False", "False"]
    assert "Ridge estimates are shrunk towards zero" in page
