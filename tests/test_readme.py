"""The README: its code runs, its output is what the code prints, its names exist."""

import re
from pathlib import Path

import pandas as pd
import pytest

import dpstats
from dpstats.__main__ import CODE, main

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
_NUMBER = re.compile(r"-?\d+\.?\d*(?:e[-+]\d+)?")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def alike(shown: str, made: str) -> None:
    """The same words, and numbers to four digits: the last ones may differ between machines."""
    assert _NUMBER.sub("#", shown).split() == _NUMBER.sub("#", made).split()
    numbers = [[float(v) for v in _NUMBER.findall(t)] for t in (shown, made)]
    assert numbers[0] == pytest.approx(numbers[1], rel=2e-3, abs=1e-4)


def test_the_example_is_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--seed", "1"])
    made = capsys.readouterr().out
    assert made.startswith(CODE)
    assert blocks("python")[0] == CODE
    alike(blocks("text")[0], made.removeprefix(CODE))


def test_the_table_is_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--seed", "1", "--to", "markdown"])
    made = capsys.readouterr().out.strip()
    start = README.index("- **Response**")
    alike(README[start : README.index("## Test")], made)
    for form in ("latex", "html", "csv"):
        main(["--seed", "1", "--to", form])
        assert "religious" in capsys.readouterr().out


def test_its_session_runs() -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    for code in blocks("python"):
        exec(compile(code, "README.md", "exec"), {})
    pyplot.close("all")


def test_its_functions_and_pages_exist() -> None:
    table = README[
        README.index("| function | what is fitted |") : README.index("| public data that you have")
    ]
    named = set(re.findall(r"^\| (.*?) \|", table, re.MULTILINE))
    names = {n for cell in named for n in re.findall(r"`(\w+)`", cell)}
    assert names <= set(dpstats.__all__)
    left_out = set(dpstats.__all__) - names - {"BudgetExceeded", "datasets"}
    assert not left_out
    pages = set(re.findall(r"^\| `(\w+\.py)` \|", README, re.MULTILINE))
    assert pages == {p.name for p in (ROOT / "vignettes").glob("*.py")} - {"build.py"}
    for module in re.findall(r"tests\.benchmarks\.(\w+)", README):
        assert (ROOT / "tests" / "benchmarks" / f"{module}.py").exists()


def test_datasets_say_what_their_columns_are() -> None:
    for load in (dpstats.datasets.fair, dpstats.datasets.randhie):
        public, private = load()
        assert isinstance(public, pd.DataFrame)
        assert list(public) == list(private)
        for column in public:
            assert re.search(rf"^ +{column} ", load.__doc__ or "", re.MULTILINE), column
        with pytest.raises(dpstats.errors.ArgumentError, match="public_share"):
            load(2)


def test_the_citation_file_names_this_version() -> None:
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"version: {dpstats.__version__}" in text
    assert f'version = "{dpstats.__version__}"' in (ROOT / "pyproject.toml").read_text()
