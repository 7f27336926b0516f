"""The documentation as a site: it builds without a warning, and reads well in a browser."""

from __future__ import annotations

import functools
import html.parser
import http.server
import json
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PHONE = 390
"""Pixels of a narrow phone's window."""

_HARNESS = """<!doctype html><meta charset="utf-8"><body><iframe id="f" width="{width}" height="800"
style="border:0"></iframe><pre id="out"></pre><script>
const pages = {pages}, frame = document.getElementById("f"), found = {{}};
let k = 0;
frame.onload = () => {{
  const page = frame.contentDocument, wide = new Set();
  const fits = (e) => e.getBoundingClientRect().right <= {width} + 1;
  const style = (e) => frame.contentWindow.getComputedStyle(e);
  if (page.documentElement.scrollWidth > {width}) wide.add("the page");
  for (const e of page.querySelectorAll("main *")) {{
    if (fits(e) || !e.getBoundingClientRect().width) continue;
    let box = e.parentElement;
    while (box && !(/auto|scroll/.test(style(box).overflowX) && fits(box))) box = box.parentElement;
    if (!box || !box.matches("article *")) wide.add(e.tagName + "." + e.className);
  }}
  found[pages[k]] = [...wide].slice(0, 5);
  k += 1;
  if (k < pages.length) frame.src = pages[k];
  else document.getElementById("out").textContent = "DONE" + JSON.stringify(found) + "DONE";
}};
frame.src = pages[0];
</script></body>"""


class _Page(html.parser.HTMLParser):
    """Links, anchors and what is loaded, of one page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.loaded: list[str] = []
        self.without_words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {key: value or "" for key, value in attrs}
        self.anchors |= {given[key] for key in ("id", "name") if given.get(key)}
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        if tag in ("script", "img", "iframe") and given.get("src"):
            self.loaded.append(given["src"])
        if tag == "link" and "canonical" not in given.get("rel", ""):
            self.loaded.append(given.get("href", ""))
        if tag == "img" and not given.get("alt", "").strip():
            self.without_words.append(given.get("src", ""))


def read(folder: Path) -> dict[str, _Page]:
    """All pages of a built site, by their address within it."""
    return {
        str(path.relative_to(folder)): _Page(path.read_text(encoding="utf-8"))
        for path in sorted(folder.rglob("*.html"))
        if "_static" not in path.parts
    }


def dead_links(folder: Path, pages: dict[str, _Page]) -> list[str]:
    """Links within the site that lead nowhere."""
    dead = []
    for name, page in pages.items():
        for link in (*page.links, *page.loaded):
            if re.match(r"[a-z]+:", link) or not link:
                continue
            target, _, anchor = link.partition("#")
            path = (folder / name).parent / target.partition("?")[0] if target else folder / name
            path = path.resolve()
            if not path.exists():
                dead.append(f"{name}: {link}")
                continue
            if anchor and path.suffix == ".html":
                other = pages.get(str(path.relative_to(folder.resolve())))
                if other is not None and anchor not in other.anchors:
                    dead.append(f"{name}: {link}")
    return dead


def too_wide(folder: Path, names: list[str], width: int = PHONE) -> dict[str, list[str]]:
    """What sticks out of a window of this width, outside of boxes that scroll, in headless Chromium."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    assert chromium is not None
    (folder / "widths.html").write_text(_HARNESS.format(width=width, pages=json.dumps(names)))
    handler = functools.partial(_Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/widths.html"
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=120000"]
        command = [chromium, *options, "--timeout=120000", "--dump-dom", address]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        server.shutdown()
    (folder / "widths.html").unlink()
    shown = re.search("DONE(.*)DONE</pre>", done.stdout)
    assert shown is not None, done.stdout[-2000:] + done.stderr[-2000:]
    return {str(name): list(wide) for name, wide in json.loads(shown[1]).items() if wide}


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing of requests."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site whose landing page and first tutorial were run."""
    for module in ("sphinx", "myst_nb", "numpydoc", "pydata_sphinx_theme", "latex2mathml"):
        pytest.importorskip(module)
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, str(ROOT / "vignettes" / "build.py"), "--fast", "--out", str(out)]
    done = subprocess.run(
        [*command, "index", "glm"], capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING" not in done.stderr
    return out / "html"


@pytest.mark.slow
def test_the_site_has_no_dead_link_and_loads_nothing_from_elsewhere(site: Path) -> None:
    pages = read(site)
    assert {"index.html", "glm.html", "reference/dpstats.dp_lm.html"} <= set(pages)
    assert dead_links(site, pages) == []
    for name, page in pages.items():
        assert not [src for src in page.loaded if re.match("(https?:)?//", src)], name
        assert page.without_words == [], name


@pytest.mark.slow
def test_every_page_is_linked_from_the_menus(site: Path) -> None:
    pages = read(site)
    near = {link.partition("#")[0] for link in pages["index.html"].links}
    two = {
        (Path(first).parent / link.partition("#")[0]).as_posix()
        for first in near
        if first in pages
        for link in pages[first].links
    }
    wanted = {"large_data.html", "choose_mu.html", "no_public_data.html", "guarantee.html"}
    assert wanted <= near | two
    assert {name for name in pages if name.count("/") == 0} - near - two <= {
        "genindex.html",
        "py-modindex.html",
        "search.html",
        "index.html",
    }


@pytest.mark.slow
def test_no_page_is_wider_than_a_phone(site: Path) -> None:
    if not (shutil.which("chromium") or shutil.which("chromium-browser")):
        pytest.skip("there is no Chromium here")
    assert too_wide(site, [name for name in read(site) if name != "search.html"]) == {}


@pytest.mark.slow
def test_formulas_are_typeset_and_tables_are_tables(site: Path) -> None:
    assert "<math" in (site / "glossary.html").read_text(encoding="utf-8")
    assert "<msub>" in (site / "glossary.html").read_text(encoding="utf-8") or "<msup>" in (
        site / "glossary.html"
    ).read_text(encoding="utf-8")
    page = (site / "glm.html").read_text(encoding="utf-8")
    assert page.count('<table class="dpstats') > 5
    assert "output stderr" not in page
