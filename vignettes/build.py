"""Builds the documentation: executed vignettes, the reference of public names, and an index of both.

    python vignettes/build.py [--out site] [names...]

A vignette becomes a notebook and a page, run in the environment that runs this script; names choose
some of them (``guarantee``), and pages that were built before stay. Needs ``pip install ".[docs]"``.
"""

from __future__ import annotations

import argparse
import html
import importlib
import importlib.util
import inspect
import os
import re
import shutil
import sys
import time
import typing
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

HERE = Path(__file__).parent
MINUTES = 30  # a vignette that takes longer hangs
MODULES = {
    "dpstats": "functions, budgets, public moments",
    "dpstats.datasets": "example data",
    "dpstats.audit": "what a release gives away, at least",
}
RESULTS = "results"
_MARKER = re.compile(r"# %%(?: \[(\w+)\])?$")
_STYLE = (
    "body{max-width:46rem;margin:2rem auto;padding:0 1rem;font:16px/1.5 system-ui,sans-serif}"
    "li{margin:.7rem 0}code{background:#f2f2f2;padding:0 .2em}small{color:#555}"
)


# ---- vignettes, without notebooks' tools --------------------------------------------------------


@dataclass(frozen=True)
class Cell:
    """One cell of a percent script: "markdown" without its comment signs, or "code"."""

    kind: str
    source: str


def vignettes() -> list[Path]:
    """The scripts that are pages, by name."""
    return sorted(path for path in HERE.glob("*.py") if path.name != Path(__file__).name)


def cells(path: Path) -> list[Cell]:
    """The cells of a percent script; ValueError where it is none."""
    found: list[Cell] = []
    for kind, lines in _pieces(path):
        if kind == "markdown":
            if any(line and not line.startswith("#") for line in lines):
                raise ValueError(f"{path.name}: code in a markdown cell")
            lines = [line.removeprefix("#").removeprefix(" ") for line in lines]
        elif kind != "code":
            raise ValueError(f"{path.name}: a cell of kind [{kind}]")
        found.append(Cell(kind, "\n".join(lines).strip()))
    if not found or found[0].kind != "markdown" or not found[0].source.startswith("# "):
        raise ValueError(f"{path.name}: the first cell is not a title")
    return found


def _pieces(path: Path) -> Iterator[tuple[str, list[str]]]:
    kind, lines = "", list[str]()
    for line in path.read_text(encoding="utf-8").splitlines():
        marker = _MARKER.match(line)
        if marker:
            if kind:
                yield kind, lines
            kind, lines = marker[1] or "code", []
        elif line.startswith("# %%"):
            raise ValueError(f"{path.name}: {line!r} is no marker of a cell")
        elif kind:
            lines.append(line)
    if kind:
        yield kind, lines


def title_and_lead(path: Path) -> tuple[str, str]:
    """The title of a page and the paragraph below it."""
    title, *paragraphs = cells(path)[0].source.split("\n\n")
    lead = " ".join(paragraphs[0].split()) if paragraphs else ""
    whole = re.match(r".*[.:](?= |$)", lead)  # a sentence that a list completes is left out
    return title.removeprefix("# "), whole[0] if whole else lead


# ---- index --------------------------------------------------------------------------------------


def index(out: Path, pages: Sequence[Path]) -> str:
    """The page that links all others; a vignette that has not been built is named without a link."""
    entries = []
    for path in pages:
        title, lead = title_and_lead(path)
        built = (out / f"{path.stem}.html").exists()
        name = f'<a href="{path.stem}.html">{_inline(title)}</a>' if built else _inline(title)
        also = (
            f'<a href="{path.stem}.ipynb">notebook</a>'
            if built
            else f"not built: <code>python vignettes/build.py {path.stem}</code>"
        )
        entries.append(f"<li>{name} <small>({also})</small><br>{_inline(lead)}</li>")
    reference = "".join(
        f'<li><a href="{_address(name)}"><code>{name}</code></a>: {what}</li>'
        for name, what in (*MODULES.items(), (RESULTS, "what calls return"))
        if (out / _address(name)).exists()
    )
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>dpstats</title>'
        f"<style>{_STYLE}</style><h1>dpstats</h1>"
        f"<h2>Pages</h2><ul>{''.join(entries)}</ul>"
        f"<h2>Reference</h2><ul>{reference}</ul></html>\n"
    )


def _inline(text: str) -> str:
    """Markdown within a line."""
    text = html.escape(text)
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", text)
    text = re.sub(r"\*\*([^*]+)\*\*", r"<b>\1</b>", text)
    return re.sub(r"(?<!\w)\*([^*]+)\*(?!\w)", r"<i>\1</i>", text)


def _address(module: str) -> str:
    return f"reference/{module.replace('.', '/')}.html"


# ---- what needs the extra -----------------------------------------------------------------------


def run(path: Path, out: Path) -> float:
    """Execute a vignette, write notebook and page, and say how many seconds it took."""
    import jupytext
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError
    from nbconvert import HTMLExporter

    notebook = jupytext.read(path)
    began = time.perf_counter()
    client = NotebookClient(
        notebook,
        timeout=60 * MINUTES,
        kernel_name="python3",
        resources={"metadata": {"path": str(HERE)}},
    )
    try:
        client.execute()
    except CellExecutionError as error:
        raise SystemExit(f"{path.name} failed:\n{error}") from None
    seconds = time.perf_counter() - began
    for cell in notebook.cells:
        shown = str([o.get("data", {}).get("text/plain", "") for o in cell.get("outputs", [])])
        if re.search(r" at 0x[0-9a-f]+>", shown):
            raise SystemExit(f"{path.name} shows a bare object; the cell is:\n{cell.source}")
    nbformat.write(notebook, out / f"{path.stem}.ipynb")
    exporter = HTMLExporter(exclude_input_prompt=True, exclude_output_prompt=True)
    title, _ = title_and_lead(path)
    page, _ = exporter.from_notebook_node(notebook, {"metadata": {"name": title}})
    (out / f"{path.stem}.html").write_text(page, encoding="utf-8")
    return seconds


def result_classes() -> dict[str, type]:
    """Classes of the package that public functions, and methods of such classes, return."""
    package = next(iter(MODULES))
    left = [
        getattr(module, name)
        for module in map(sys.modules.__getitem__, MODULES)
        for name in getattr(module, "__all__", [])
    ]
    known = {id(thing) for thing in left}
    found: dict[str, type] = {}
    while left:
        thing = left.pop()
        members = [thing]
        if isinstance(thing, type):
            members = [m for n, m in inspect.getmembers(thing) if not n.startswith("_")]
        for member in members:
            function = member.fget if isinstance(member, property) else member
            for returned in _returned(function):
                ours = returned.__module__.startswith(package)
                if ours and returned.__name__ not in found and id(returned) not in known:
                    found[returned.__name__] = returned
                    left.append(returned)
    return dict(sorted(found.items()))


def _returned(function: Any) -> list[type]:
    """The class that a function is annotated with, or those of a union."""
    if not inspect.isroutine(function):
        return []
    try:
        hint = typing.get_type_hints(function).get("return")
    except (NameError, TypeError):  # a name for type checkers only
        return []
    return [one for one in (hint, *typing.get_args(hint)) if isinstance(one, type)]


def reference(out: Path) -> None:
    """The reference: one page per public module, and one of the classes of results."""
    import pdoc.doc
    import pdoc.render

    pdoc.render.configure(
        docformat="numpy", include_undocumented=False, show_source=False, search=False
    )
    for name in MODULES:
        importlib.import_module(name)
    results = ModuleType(
        RESULTS, "What calls return. These objects are made by calls, not by hand."
    )
    classes = result_classes()
    vars(results).update(classes, __all__=list(classes))
    pages = {name: pdoc.doc.Module(sys.modules[name]) for name in MODULES}
    pages[RESULTS] = pdoc.doc.Module(results)
    for module in pages.values():
        for entry in module.members.values():
            if isinstance(entry, pdoc.doc.Class):
                _show_whole(entry)
    for name, module in pages.items():
        page = out / _address(name)
        page.parent.mkdir(parents=True, exist_ok=True)
        text = pdoc.render.html_module(module, pages)
        page.write_text(_linked(text, classes, "../" * name.count(".")), encoding="utf-8")
    # the button "Module Index" of these pages leads here
    (out / "reference" / "index.html").write_text(
        '<!doctype html><meta http-equiv="refresh" content="0; url=../index.html">\n',
        encoding="utf-8",
    )


def _linked(page: str, classes: dict[str, type], up: str) -> str:
    """A page on which annotations such as dpstats.frame.Design lead to that class."""
    dot = r'(?:</span><span class="o">\.</span><span class="n">|\.)'
    for name, one in classes.items():
        path = dot.join(one.__module__.split("."))
        link = f'<a href="{up}{RESULTS}.html#{name}">{name}</a>'
        page = re.sub(rf"\b{path}{dot}{name}\b", link, page)
    return page


def _show_whole(entry: Any) -> None:
    """Methods that a class inherits from undocumented ones beside its own; no decorators."""
    entry.decorators = []
    if issubclass(entry.obj, Exception):
        return
    entry.own_members = [member for member in entry.members.values() if member.docstring]
    entry.inherited_members = {}
    for member in entry.own_members:
        if member.kind == "function":
            member.decorators = [d for d in member.decorators if "method" in d]


def require_extra() -> None:
    """Stop with a word on what to install, before anything is run."""
    missing = [
        name
        for name in ("jupytext", "nbconvert", "ipykernel", "pdoc", "matplotlib", "pyarrow")
        if importlib.util.find_spec(name) is None
    ]
    if missing:
        raise SystemExit(
            f'{", ".join(missing)} not installed: pip install -e ".[docs]" brings what the '
            "documentation is built with."
        )


def pictures(out: Path) -> None:
    """Copy the pictures that pages refer to beside them."""
    for path in HERE.glob("*/*.svg"):
        place = out / path.parent.name
        place.mkdir(exist_ok=True)
        shutil.copy(path, place)


def main(arguments: Sequence[str] | None = None) -> None:
    pages = vignettes()
    names = [path.stem for path in pages]
    parser = argparse.ArgumentParser(description="Builds the documentation.")
    parser.add_argument("--out", type=Path, default=Path("site"), help="folder to write to")
    parser.add_argument("names", nargs="*", help=f"pages, of {', '.join(names)}; default: all")
    given = parser.parse_args(arguments)
    unknown = [name for name in given.names if name not in names]
    if unknown:
        parser.error(f"no page {', '.join(unknown)}; there are {', '.join(names)}")
    require_extra()
    given.out.mkdir(parents=True, exist_ok=True)
    os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"  # the kernel of this environment, not a user's
    os.environ.pop("MPLBACKEND", None)  # pictures go into the pages
    for path in pages:
        if not given.names or path.stem in given.names:
            print(f"{path.stem}: {run(path, given.out):.0f} s", flush=True)
    pictures(given.out)
    reference(given.out)
    (given.out / "index.html").write_text(index(given.out, pages), encoding="utf-8")
    print(f"{given.out / 'index.html'} links all of it")


if __name__ == "__main__":
    main()
