"""Builds the documentation as a site: pages that are run, the reference, menus and search.

    python vignettes/build.py [--out site] [--fast] [names...]
    python vignettes/build.py --text getting_started

The first line makes ``site/html/index.html``; pages that have not changed are not run again. ``--fast``
runs the long pages with few rows; names choose pages to run, and others are shown without output. Warnings are errors. Needs ``pip install ".[docs]"``. The second line
prints a page with the text of its tables, and needs nothing but the package (and matplotlib).
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import importlib.util
import json
import os
import re
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

HERE = Path(__file__).parent
WEBSITE = HERE / "website"
MINUTES = 30  # a page that takes longer hangs
FAST = "DPSTATS_FAST_PAGES"
"""Set to 1 in the environment, the long pages take few rows, trials and figures."""

_MARKER = re.compile(r'# %%(?: \[(\w+)\])?(?: tags=\["([\w-]+)"\])?$')
_SETUP = "%config InlineBackend.figure_formats = ['svg']"


# ---- pages, without notebooks' tools ------------------------------------------------------------


@dataclass(frozen=True)
class Cell:
    """One cell of a percent script: "markdown" without its comment signs, or "code".

    ``alt`` says what the picture of a code cell shows; ``tag`` is one of Jupyter's, such as remove-cell.
    """

    kind: str
    source: str
    tag: str = ""
    alt: str = ""


def vignettes() -> list[Path]:
    """The scripts that are pages, by name."""
    return sorted(
        path for path in HERE.glob("*.py") if path.name != Path(__file__).name
    )


def cells(path: Path) -> list[Cell]:
    """The cells of a percent script; ValueError where it is none."""
    found: list[Cell] = []
    for kind, tag, lines in _pieces(path):
        alt = ""
        if kind == "markdown":
            if any(line and not line.startswith("#") for line in lines):
                raise ValueError(f"{path.name}: code in a markdown cell")
            lines = [line.removeprefix("#").removeprefix(" ") for line in lines]
        elif kind == "code":
            alt, lines = _alt_text(lines)
        else:
            raise ValueError(f"{path.name}: a cell of kind [{kind}]")
        found.append(Cell(kind, "\n".join(lines).strip(), tag, alt))
    if not found or found[0].kind != "markdown" or not found[0].source.startswith("# "):
        raise ValueError(f"{path.name}: the first cell is not a title")
    return found


def _pieces(path: Path) -> Iterator[tuple[str, str, list[str]]]:
    kind, tag, lines = "", "", list[str]()
    for line in path.read_text(encoding="utf-8").splitlines():
        marker = _MARKER.match(line)
        if marker:
            if kind:
                yield kind, tag, lines
            kind, tag, lines = marker[1] or "code", marker[2] or "", []
        elif line.startswith("# %%"):
            raise ValueError(f"{path.name}: {line!r} is no marker of a cell")
        elif kind:
            lines.append(line)
    if kind:
        yield kind, tag, lines


def _alt_text(lines: list[str]) -> tuple[str, list[str]]:
    """What comments at the top of a code cell, from "# alt:" on, say of its picture; the code."""
    if not lines or not lines[0].startswith("# alt: "):
        return "", lines
    end = next(
        (k for k, line in enumerate(lines) if not line.startswith("#")), len(lines)
    )
    words = " ".join(line.removeprefix("#").strip() for line in lines[:end])
    return words.removeprefix("alt: "), lines[end:]


def title_and_lead(path: Path) -> tuple[str, str]:
    """The title of a page and the paragraph below it."""
    title, *paragraphs = cells(path)[0].source.split("\n\n")
    lead = " ".join(paragraphs[0].split()) if paragraphs else ""
    # a sentence that a list completes is left out
    whole = re.match(r".*[.:](?= |$)", lead)
    return title.removeprefix("# "), whole[0] if whole else lead


def leads() -> dict[str, str]:
    """The paragraph below the title of every page and text, by stem."""
    found = {path.stem: title_and_lead(path)[1] for path in vignettes()}
    for path in HERE.glob("*.md"):
        found[path.stem] = " ".join(
            path.read_text(encoding="utf-8").split("\n\n")[1].split()
        )
    return found


def show_as_text(path: Path) -> None:
    """Run a page, printing the object at the end of each cell as Python's prompt would."""
    page = ModuleType("__main__")
    page.__file__ = str(path)
    sys.modules["__main__"] = page  # what functions of a page are pickled by
    sys.path.insert(0, str(path.parent))
    for cell in cells(path):
        if cell.kind != "code":
            continue
        tree = ast.parse(cell.source)
        last = (
            tree.body.pop()
            if tree.body and isinstance(tree.body[-1], ast.Expr)
            else None
        )
        exec(compile(tree, path.name, "exec"), vars(page))
        if isinstance(last, ast.Expr):
            value = eval(
                compile(ast.Expression(last.value), path.name, "eval"), vars(page)
            )
            if value is not None:
                print(value if isinstance(value, str) else repr(value))


# ---- what the site's generator reads ------------------------------------------------------------


def linked(text: str, titles: dict[str, str], names: dict[str, str]) -> str:
    """Markdown in which pages and functions that are named in code are links, headings left out.

    ``titles`` of pages by their stem; ``names``: the reference entry of every name.
    """
    out, fenced = [], False
    for line in text.split("\n"):
        fenced ^= line.lstrip().startswith(("```", ":::")) and "{glossary}" not in line
        if not fenced and not line.startswith(("#", "```", ":::", "    ")):
            line = re.sub(
                r"`(?:vignettes/)?(\w+)\.py`",
                lambda m: f"[{titles[m[1]]}]({m[1]}.ipynb)" if m[1] in titles else m[0],
                line,
            )
            line = re.sub(
                r"(?<![`\[{}\w])`([A-Za-z]\w*(?:\.\w+)?)(\(\))?`(?!`)",
                lambda m: (
                    f"{{py:obj}}`{m[1]}{m[2] or ''} <{names[m[1]]}>`"
                    if m[1] in names
                    else m[0]
                ),
                line,
            )
        out.append(re.sub(r"\]\((\w+)\.py(#[\w-]+)?\)", r"](\1.ipynb\2)", line))
    return "\n".join(out)


@dataclass
class Site:
    """Folders of a build, and what its pages may link to."""

    out: Path
    fast: bool = False
    titles: dict[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)

    @property
    def source(self) -> Path:
        return self.out / "source"

    @property
    def html(self) -> Path:
        return self.out / "html"


def stage(site: Site, pages: Sequence[Path]) -> None:
    """Copy texts, pictures and the site's own files to where the generator reads them."""
    site.source.mkdir(parents=True, exist_ok=True)
    about = leads()
    for path in [*HERE.glob("*.md"), *WEBSITE.glob("*.md")]:
        text = path.read_text(encoding="utf-8")
        if path.parent == WEBSITE:
            text = with_leads(with_pages_that_exist(text), about)
        _write(site.source / path.name, linked(text, site.titles, site.names))
    for path in vignettes():
        if downloadable(path):
            _write(
                site.source / "notebooks" / f"{path.stem}.ipynb",
                plain_notebook(path, site),
            )
    for path in HERE.glob("*/*.svg"):
        place = site.source / path.parent.name
        place.mkdir(exist_ok=True)
        shutil.copy(path, place)
    for path in WEBSITE.glob("_*"):
        shutil.copytree(path, site.source / path.name, dirs_exist_ok=True)
    texts = {path.name for path in [*HERE.glob("*.md"), *WEBSITE.glob("*.md")]}
    wanted = texts | {f"{path.stem}.ipynb" for path in pages}
    for old in [*site.source.glob("*.ipynb"), *site.source.glob("*.md")]:
        if old.name not in wanted:
            old.unlink()


def with_pages_that_exist(menu: str) -> str:
    """A menu without the lines of pages that this checkout lacks; these end with an asterisk."""
    there = {path.stem for path in HERE.iterdir()}
    lines = [
        line.removesuffix("*")
        for line in menu.split("\n")
        if not re.fullmatch(r"\w+\*", line) or line.removesuffix("*") in there
    ]
    return "\n".join(lines)


def with_leads(menu: str, about: dict[str, str]) -> str:
    """A menu that says below the link to each page what the page is about."""
    listed = [line for line in menu.split("\n") if line in about]
    said = "\n\n".join(f"{{doc}}`{name}`\n: {about[name]}" for name in listed)
    return menu.replace(":maxdepth: 1", ":hidden:").rstrip() + f"\n\n{said}\n"


def downloadable(path: Path) -> bool:
    """Whether a page runs anywhere: it reads no file that lies beside it."""
    return "__file__" not in path.read_text(encoding="utf-8")


def plain_notebook(path: Path, site: Site) -> str:
    """A page as a notebook without output, in Markdown that every program shows."""
    import nbformat
    from nbformat import v4

    notebook = v4.new_notebook()
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    for number, cell in enumerate(cells(path)):
        make = v4.new_code_cell if cell.kind == "code" else v4.new_markdown_cell
        source = cell.source
        if cell.kind == "markdown":
            source = re.sub(r"{[\w:]+}`([^`<]+?)(?: <[^`]*>)?`", r"`\1`", source)
            source = linked(source, site.titles, {})
        notebook.cells.append(make(source, id=f"cell-{number}"))
    return str(nbformat.writes(notebook))


def _write(path: Path, text: str) -> None:
    """Leave a file that has not changed as it is, so that its page is not made again."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def digest(path: Path, fast: bool) -> str:
    """Of what a page depends on: its text, and the package."""
    import dpstats

    found = hashlib.sha256(f"{fast}".encode())
    package = Path(dpstats.__file__).parent
    for each in (path, Path(__file__), *sorted(package.rglob("*.py"))):
        found.update(each.read_bytes())
    return found.hexdigest()


def run(path: Path, site: Site, execute: bool = True) -> tuple[float, str]:
    """Execute a page into a notebook: how many seconds it took, and what is wrong with it.

    Without ``execute`` a page that was run before stays, and another one has no output.
    """
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError
    from nbformat import v4

    place = site.source / f"{path.stem}.ipynb"
    stamp = digest(path, site.fast)
    if place.exists():
        kept = json.loads(place.read_text(encoding="utf-8"))["metadata"]
        if kept.get("dpstats") == stamp or not execute:
            return 0.0, ""
    began = time.perf_counter()
    notebook = v4.new_notebook()
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    notebook.metadata["language_info"] = {
        "name": "python",
        "pygments_lexer": "ipython3",
    }
    given = cells(path)
    for number, cell in enumerate(given):
        make = v4.new_code_cell if cell.kind == "code" else v4.new_markdown_cell
        source = cell.source
        if cell.kind == "markdown":
            source = linked(source, site.titles, site.names)
        metadata: dict[str, Any] = {"tags": [cell.tag]} if cell.tag else {}
        if cell.alt:
            metadata["mystnb"] = {"image": {"alt": cell.alt}}
        notebook.cells.append(make(source, metadata=metadata, id=f"cell-{number}"))
    if path.parent == HERE and downloadable(path):
        words = f"To run it yourself: {{download}}`this page as a notebook <notebooks/{path.stem}.ipynb>`."
        notebook.cells.append(v4.new_markdown_cell(words, id="download"))
    if not execute:
        _write(place, nbformat.writes(notebook))
        return 0.0, ""
    notebook.cells.insert(0, v4.new_code_cell(_SETUP, id="setup"))
    client = NotebookClient(
        notebook,
        timeout=60 * MINUTES,
        kernel_name="python3",
        # no word on a connection within this machine
        extra_arguments=["--log-level=40"],
        resources={"metadata": {"path": str(path.parent)}},
    )
    try:
        client.execute()
    except CellExecutionError as error:
        return time.perf_counter() - began, f"{path.name} failed:\n{error}"
    notebook.cells.pop(0)
    for cell in notebook.cells:
        align_texts(cell)
    problems = [
        f"{path.name}: {fault}" for cell in notebook.cells for fault in faults(cell)
    ]
    if problems:
        return time.perf_counter() - began, "\n".join(problems)
    notebook.metadata["dpstats"] = stamp
    _write(place, nbformat.writes(notebook))
    return time.perf_counter() - began, ""


def align_texts(cell: Any) -> None:
    """In tables of pandas, which align all cells to the right, words and their headings begin at the left."""
    for output in cell.get("outputs", []):
        data = output.get("data", {})
        if 'class="dataframe"' in data.get("text/html", ""):
            html = re.sub(
                r"<td>(?!not given|not reached)(?=[^<\d]*[A-Za-z]{3})",
                '<td class="words">',
                data["text/html"],
            )
            data["text/html"] = _align_headings(html)


def _align_headings(html: str) -> str:
    """Headings above words at the left."""
    head, found, body = html.partition("</tr>")
    row = next((one for one in body.split("</tr>") if "<td" in one), "")
    if "<th " in head or not row:
        return html
    first = [cell == ' class="words"' for cell in re.findall(r"<td([^>]*)>", row)]
    parts = head.split("<th>")
    start = len(parts) - len(first)
    for k, words in enumerate(first):
        opening = '<th class="words">' if words else "<th>"
        parts[start + k] = opening + parts[start + k]
    return "<th>".join(parts[:start]) + "".join(parts[start:]) + found + body


def faults(cell: Any) -> list[str]:
    """What a reader should not see: stderr, bare objects, pictures without words."""
    found = []
    for output in cell.get("outputs", []):
        data = output.get("data", {})
        where = f"in the cell\n{cell['source']}\n"
        if output.get("name") == "stderr":
            found.append(f"output on stderr {where}{output['text']}")
        if re.search(r" at 0x[0-9a-f]+>|^<Axes", str(data.get("text/plain", ""))):
            found.append(f"a bare object {where}")
        pictured = any(kind.startswith("image/") for kind in data)
        if pictured and not cell["metadata"].get("mystnb"):
            found.append(f"a picture without '# alt:' {where}")
    return found


# ---- the generator ------------------------------------------------------------------------------


def require_extra() -> None:
    """Stop with a word on what to install, before anything is run."""
    needed = "sphinx myst_nb numpydoc pydata_sphinx_theme sphinx_design latex2mathml"
    missing = [
        name
        for name in (*needed.split(), "ipykernel", "matplotlib", "pyarrow")
        if importlib.util.find_spec(name) is None
    ]
    if missing:
        raise SystemExit(
            f'{", ".join(missing)} not installed: pip install -e ".[docs]" brings what the '
            "documentation is built with."
        )


def reference_pages() -> ModuleType:
    """vignettes/website/reference.py, which says what the reference has."""
    spec = importlib.util.spec_from_file_location(
        "site_reference", WEBSITE / "reference.py"
    )
    if spec is None or spec.loader is None:
        raise SystemExit("vignettes/website/reference.py is missing")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def build(site: Site, names: Sequence[str], workers: int) -> int:
    """Run these pages, write the reference, and make the site; the generator's exit status."""
    from sphinx.cmd.build import main as sphinx

    reference = reference_pages()
    pages = [WEBSITE / "index.py", *vignettes()]
    site.titles = {path.stem: title_and_lead(path)[0] for path in pages[1:]}
    site.names = reference.targets()
    stage(site, pages)
    with ThreadPoolExecutor(workers) as pool:
        jobs = {
            path: pool.submit(run, path, site, path.stem in names) for path in pages
        }
        wrong = []
        for path, job in jobs.items():
            seconds, problem = job.result()
            wrong += [problem] if problem else []
            if path.stem in names:
                print(f"{path.stem}: {seconds:.0f} s", flush=True)
    if wrong:
        raise SystemExit("\n\n".join(wrong))
    for name, text in reference.pages().items():
        _write(site.source / "reference" / name, text)
    arguments = ["-b", "html", "-W", "--keep-going", "-q", "-j", str(workers)]
    arguments += ["-c", str(WEBSITE)]
    arguments += ["-d", str(site.out / "doctrees"), str(site.source), str(site.html)]
    return int(sphinx(arguments))


def main(arguments: Sequence[str] | None = None) -> None:
    names = ["index", *(path.stem for path in vignettes())]
    parser = argparse.ArgumentParser(description="Builds the documentation.")
    parser.add_argument(
        "--out", type=Path, default=Path("site"), help="folder to write to"
    )
    parser.add_argument(
        "--fast", action="store_true", help="few rows on the long pages"
    )
    parser.add_argument("--workers", type=int, default=2, help="pages at once")
    parser.add_argument(
        "--text", metavar="PAGE", help="print one page, and build nothing"
    )
    parser.add_argument(
        "names", nargs="*", help=f"pages to run, of {', '.join(names)}; default: all"
    )
    given = parser.parse_args(arguments)
    wanted = given.names if given.text is None else [given.text.removesuffix(".py")]
    unknown = [name for name in wanted if name not in names]
    if unknown:
        parser.error(f"no page {', '.join(unknown)}; there are {', '.join(names)}")
    if given.text is not None:
        show_as_text(HERE / f"{given.text.removesuffix('.py')}.py")
        return
    require_extra()
    # the kernel of this environment, not a user's
    os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"
    os.environ.pop("MPLBACKEND", None)  # pictures go into the pages
    os.environ["TQDM_DISABLE"] = "1"  # progress bars do not
    if given.fast:
        os.environ[FAST] = "1"
    status = build(
        Site(given.out.resolve(), given.fast), given.names or names, given.workers
    )
    if status:
        raise SystemExit(status)
    print(f"{given.out / 'html' / 'index.html'} is the landing page")


if __name__ == "__main__":
    main()
