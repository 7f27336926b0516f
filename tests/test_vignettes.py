"""The vignettes run as scripts, with few rows, and say what their pages say."""

import ast
import importlib.util
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pandas as pd
import pytest

import dpstats
from tests.audits.adversaries import cases
from tests.benchmarks.replication.__main__ import FIGURES

VIGNETTES = Path(__file__).parents[1] / "vignettes"
PAGES = {
    "eptr.py": (
        "No violation found. This is not a proof",
        "largest change of safety: 100 (1 is allowed)",
        "There was an answer: with confidence 0.95",
        "Note: NO REPLY: the test did not pass",
        "public alone",
    ),
    "mixtures.py": (
        "a needle",
        "In some direction the privacy noise is as large as the covariance",
        'regime "private": largest error of a mean',
        "components, complete: False",
        "So much overlap leaves errors beyond the standard errors",
    ),
    "theory.py": (
        "exact, a posteriori",
        "ridge paper, Theorem 8",
        "preprint, Theorem 5.5",
        "Theorem 2.3",
        "Lemma 2.5",
        "Theorem 1.6",
        "delta = 0.01: the claim is false at epsilon = 19",
        "errors above the bound: 0 of 180",
        "ePTR paper, Theorem 2.3",
        "corrected?",
    ),
    "panels.py": (
        "Errors: clustered by `who`",
        "Fixed effects: who (within persons); year (6 levels)",
        "year:treat 2010         0         0        0         0     0        0",
        "first stage of hours: F (iid errors, and noise)",
        "0   -inf    inf",
        "Within R-squared",
        "spent: mu = 1.732 of 2",
    ),
    "no_public_data.py": (
        "Method: score rounds, from private rows alone",
        "`region` holds text or categories.",
        "Without public rows, its",
        "The levels of `region` with more than about 69 rows were released",
        "outside the limits of `age` (18 to 65)",
        "`poly(age, 2)` needs to know where `age` lies",
        "The noise hides `region[T.isles]`",
        "The noise hides `age`, `months`",
        "% of the private rows are not used: missing values",
        "500 private rows at mu = 0.237 are too few",
        "spent: 0 of 2",
        "mu = 0.03    refused",
        "The 3 public rows do not determine all 5 columns",
    ),
    "r_phrasebook.py": ("lines were run",),
    "when_cuts_bite.py": (
        "off by, in errors without privacy",
        "cut allowance",
        "log1p(affairs)",
    ),
    "comparison.py": ("standard errors away", "dp_lm, no public rows"),
    "accuracy.py": (
        "Medians of 10 seeds, 10 columns, n = 10,000, 100 public rows, mu = 1:",
        "papers' algorithm",
    ),
}


LONG = (
    "accuracy.py",
    "comparison.py",
    "eptr.py",
    "mixtures.py",
    "no_public_data.py",
    "panels.py",
    "r_phrasebook.py",
    "theory.py",
    "when_cuts_bite.py",
)
Page = Callable[[str], str]


@pytest.mark.slow
def test_large_data(page: Page) -> None:
    text = page("large_data.py")
    assert "60,000 rows" in text
    assert "Rows: 60000 private, 200 public; columns: 13" in text
    same = [
        line.split()[-1] for line in text.splitlines() if line.startswith(("pandas", "Parquet"))
    ]
    assert len(same) == 3
    assert len(set(same)) == 1
    assert "can be read once only" in text


@pytest.mark.slow
def test_guarantee(page: Page) -> None:
    text = page("guarantee.py")
    assert "Unit of privacy: one person replaced by another" in text
    assert "Spent (2 calls)" in text
    assert "The call asks for mu = 0.8" in text
    assert text.count("The claim is REFUTED") == 1
    assert text.count("Not refuted") == 1
    assert " releases: 0 claims refuted" in text


def test_the_table_of_audits_has_every_case_at_full_size() -> None:
    table = pd.read_csv(VIGNETTES / "guarantee_audit.csv")
    named = set(table[["function", "method", "pair"]].itertuples(index=False, name=None))
    assert named == set(cases())
    late = table.method.str.endswith("persons") | (table.function == "dp_feols")
    late |= table.method.str.contains("alone|private rows|^rounds|^likelihood")
    assert table.trials[~late].min() >= 20_000
    assert table.trials[late].min() >= 1_000
    assert not table.refuted.any()


@pytest.mark.slow
def test_getting_started(page: Page) -> None:
    text = page("getting_started.py")
    assert "318 public rows, 6048 private rows" in text
    assert "root of the sum of squares: 1.0\n" in text
    assert "epsilon = 4.38 at delta = 1e-05" in text
    assert "Smallest budget: mu = " in text
    assert " ".join(text.split()).count("no further privacy spent") == 3
    assert "'~ . + occupation' needs `occupation`" in text
    assert "residuals of private rows are not released" in text
    assert "The call asks for mu = 0.8" in text
    assert "Spent (2 calls)" in text
    assert "A column that is not private is for teaching" in text
    assert "\\toprule" in text


@pytest.mark.slow
def test_public_data(page: Page) -> None:
    text = page("public_data.py")
    assert "same coefficients: True" in text
    errors = {
        name: float(line.removeprefix(name).split()[0])
        for line in text.splitlines()
        for name in (
            "318 rows, or their moments",
            "moments of the design alone",
            "published, rounded matrix",
            "private rows alone",
            "ssp, columns centred",
            "ssp, columns as they are",
            "public rows alone, no private ones",
        )
        if line.startswith(name)
    }
    assert len(errors) == 7
    *public, centred, plain, alone = errors.values()
    assert public[0] < 0.5
    assert max(*public, centred) < 1 < plain
    assert alone > 4
    under = {age: text.partition(f"under {age}: ")[2].partition("'se': '")[2] for age in (25, 32)}
    assert max(float(told.partition("'")[0]) for told in under.values()) < 1.5
    assert "column `age` holds categories" in text
    assert "What they leave open was looked for in the private rows" in " ".join(text.split())
    assert "180 public (and 20 left out: missing or not finite)" in text
    assert "The public sample is the private table itself" in text


@pytest.mark.slow
def test_glm(page: Page) -> None:
    text = page("glm.py")
    assert "Response: affair is True, rather than False" in text
    assert "Odds ratio" in text
    assert "Rate ratio" in text
    assert "use family='quasipoisson'" in text
    dispersions = [
        float(line.rsplit(maxsplit=1)[1])
        for line in text.splitlines()
        if line.startswith(("dispersion of the public rows", "released, of the private rows"))
    ]
    assert len(dispersions) == 2
    assert min(dispersions) > 5
    settled = [line.split()[-1] for line in text.splitlines() if line.startswith("affairs > ")]
    assert settled == ["True", "True", "True", "False"]
    assert "Ridge estimates are shrunk towards zero" in text


@pytest.mark.parametrize(
    "name", [pytest.param(p, marks=pytest.mark.slow if p in LONG else ()) for p in PAGES]
)
def test_page(name: str, page: Page) -> None:
    text = page(name)
    for sentence in PAGES[name]:
        assert sentence in text


@pytest.fixture(scope="module")
def build() -> ModuleType:
    """vignettes/build.py; what it imports at the top needs no extra."""
    spec = importlib.util.spec_from_file_location("vignettes_build", VIGNETTES / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    try:
        spec.loader.exec_module(module)
        yield module
    finally:
        del sys.modules[spec.name]


def test_every_vignette_is_a_percent_script(build: ModuleType) -> None:
    pages = build.vignettes()
    assert {path.name for path in pages} >= {"guarantee.py", "large_data.py", *PAGES}
    for path in pages:
        assert "format_name: percent" in path.read_text(encoding="utf-8")
        title, lead = build.title_and_lead(path)
        assert title
        assert lead
        found = build.cells(path)
        assert {cell.kind for cell in found} == {"markdown", "code"}
        for cell in found:
            if cell.kind == "code":
                compile(cell.source, path.name, "exec")


def test_code_in_a_markdown_cell_is_found(build: ModuleType, tmp_path: Path) -> None:
    page = tmp_path / "page.py"
    page.write_text("# %% [markdown]\n# # Title\n\nprint(1)\n")
    with pytest.raises(ValueError, match="code in a markdown cell"):
        build.cells(page)


def test_every_page_is_in_a_menu_and_the_landing_page_leads_to_where_people_ask() -> None:
    website = VIGNETTES / "website"
    menus = "".join(path.read_text(encoding="utf-8") for path in website.glob("*.md"))
    lines = {line.removesuffix("*") for line in menus.splitlines()}
    pages = {p.stem for p in (*VIGNETTES.glob("*.py"), *VIGNETTES.glob("*.md"))} - {"build"}
    assert pages <= lines
    front = (website / "index.py").read_text(encoding="utf-8")
    for page in ("large_data.py", "choose_mu.py", "no_public_data.py#limits", "guarantee.py"):
        assert page in front


def test_names_in_code_become_links(build: ModuleType) -> None:
    text = "# `dp_lm`\nSee `vignettes/glm.py`, `dp_lm`, `other`, [x](glm.py#a).\n```\n`dp_lm`\n```"
    found = build.linked(text, {"glm": "Counts"}, {"dp_lm": "dpstats.dp_lm"})
    assert found.split("\n")[1] == (
        "See [Counts](glm.ipynb), {py:obj}`dp_lm <dpstats.dp_lm>`, `other`, [x](glm.ipynb#a)."
    )
    assert found.count("{py:obj}") == 1


def test_a_menu_leaves_out_pages_that_are_not_there(build: ModuleType) -> None:
    assert build.with_pages_that_exist("a\nglm*\nnever_written*\nb") == "a\nglm\nb"


def test_what_a_reader_should_not_see_is_found(build: ModuleType) -> None:
    outputs = [
        {"name": "stderr", "text": "Warning"},
        {"data": {"text/plain": "<object at 0x7f00>"}},
        {"data": {"image/svg+xml": "<svg/>"}},
    ]
    cell = {"source": "x", "metadata": {}, "outputs": outputs}
    assert len(build.faults(cell)) == 3
    words = {"source": "x", "metadata": {"mystnb": {"image": {"alt": "A line."}}}}
    assert build.faults({**words, "outputs": outputs[2:]}) == []


def test_words_of_tables_and_their_headings_begin_at_the_left(build: ModuleType) -> None:
    table = pd.DataFrame({"what": ["row count"], "k": [1]}, index=pd.Index([0], name="i"))
    cell = {"outputs": [{"data": {"text/html": table.to_html()}}]}
    build.align_texts(cell)
    html = cell["outputs"][0]["data"]["text/html"]
    assert '<th class="words">what</th>' in html
    assert '<td class="words">row count</td>' in html
    assert html.count("words") == 2


def test_menus_say_what_pages_are_about(build: ModuleType) -> None:
    menu = build.with_leads("# Menu\n\n```{toctree}\n:maxdepth: 1\n\nglm\n```\n", build.leads())
    assert "{doc}`glm`\n: `dp_glm` is R's `glm` with a budget" in menu


def test_pages_are_notebooks_to_download(build: ModuleType, tmp_path: Path) -> None:
    pytest.importorskip("nbformat")
    path = VIGNETTES / "getting_started.py"
    assert build.downloadable(path)
    assert not build.downloadable(VIGNETTES / "replication.py")
    text = build.plain_notebook(path, build.Site(tmp_path, titles={"no_public_data": "A table"}))
    assert "[A table](no_public_data.ipynb)" in text
    assert "{py:obj}" not in text


def test_what_every_picture_shows_is_said(build: ModuleType) -> None:
    pages = [*build.vignettes(), VIGNETTES / "website" / "index.py"]
    drawn = [c for path in pages for c in build.cells(path) if "plt.sub" in c.source]
    assert len(drawn) > 5
    assert [cell.source for cell in drawn if not cell.alt] == []


def test_pages_import_what_is_public() -> None:
    """Internal modules move; `dpstats.accounting.privacy` has the units of the reference."""
    public = {"dpstats", "dpstats.audit", "dpstats.datasets", "dpstats.errors"}
    for path in [*VIGNETTES.glob("*.py"), VIGNETTES / "website" / "index.py"]:
        if path.name != "build.py":
            text = path.read_text(encoding="utf-8")
            modules = set(re.findall(r"^from (dpstats[\w.]*) import", text, re.MULTILINE))
            assert modules <= public | {"dpstats.accounting.privacy"}, path.name


def test_a_missing_extra_is_named(build: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SystemExit, match=r"sphinx.*\[docs\]"):
        build.require_extra()


@pytest.mark.slow
def test_replication(page: Page) -> None:
    text = page("replication.py")
    assert "1 figures: ridge-1a" in text
    assert text.count("\nClaim: ") > 60
    assert text.count("\nFound (") == text.count("\nWhy: ")


def test_every_figure_has_its_table_its_picture_and_its_claims() -> None:
    folder = VIGNETTES / "replication"
    claims = pd.read_csv(folder / "claims.csv")
    page = (VIGNETTES / "replication.py").read_text(encoding="utf-8")
    tables = {path.stem for path in folder.glob("*.csv")} - {"claims"}
    assert tables == {path.stem for path in folder.glob("*.svg")} == {f.name for f in FIGURES}
    assert set(claims.figure) <= tables
    assert set(claims.agrees) <= {"yes", "partly", "no"}
    for figure in FIGURES:
        assert f'Claims("{figure.name}")' in page
        table = pd.read_csv(folder / f"{figure.name}.csv")
        assert table.repeats.min() == figure.repeats
        picture = (folder / f"{figure.name}.svg").stat().st_size
        assert picture < 120_000


def test_the_notes_that_the_page_explains_are_printed_by_the_package() -> None:
    page = (VIGNETTES / "notes_and_errors.md").read_text(encoding="utf-8")
    table = page.split("| the note begins |")[1].split("\n\n")[0]
    package = Path(dpstats.__file__).parent
    literals = "\n".join(
        node.value
        for path in package.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
    beginnings = re.findall(r"^\| ([A-Zs][^|]*) \|", table, re.MULTILINE)
    assert len(beginnings) > 10
    for text in beginnings:
        for piece in re.split(r"\.\.\.", text):
            assert piece.strip() in literals, text
