"""Configuration of the site; `vignettes/build.py` calls the generator with it."""

import re
import sys
from pathlib import Path
from typing import Any

import latex2mathml.converter
from docutils import nodes
from numpydoc.xref import DEFAULT_LINKS

sys.path.insert(0, str(Path(__file__).parent))
import reference

import dpstats

project = "dpstats"
author = "The dpstats developers"
copyright = author
version = release = dpstats.__version__
extensions = ["myst_nb", "sphinx.ext.autodoc", "numpydoc", "sphinx_design"]
exclude_patterns = ["_static", "notebooks"]
default_role = "py:obj"
add_module_names = False
python_use_unqualified_type_names = True
toc_object_entries_show_parents = "hide"
autodoc_typehints = "none"
autodoc_class_signature = "mixed"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
DEFAULT_LINKS.clear()  # they point to the documentation of Python, which is not read here
numpydoc_xref_param_type = True
numpydoc_xref_ignore = "all"  # but the classes of the reference
numpydoc_xref_aliases = {
    reference.short(name): name
    for group in reference.GROUPS
    for name in group.names
    if reference.is_class(name)
}
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
nb_execution_mode = "off"  # vignettes/build.py has run them
nb_merge_streams = True

html_theme = "pydata_sphinx_theme"
html_title = "dpstats"
html_static_path = ["_static"]
html_css_files = ["dpstats.css"]
html_show_sourcelink = False
html_copy_source = False
html_use_index = False
html_sidebars = {"index": []}
html_theme_options = {
    "navbar_align": "left",
    "show_nav_level": 1,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": True,
    "back_to_top_button": True,
    "header_links_before_dropdown": 5,
}


def mathml(latex: str, display: str) -> str:
    """A formula as the browser's own mathematics: no script, no font of another host."""
    return latex2mathml.converter.convert(latex, display=display)


def visit_math(translator: Any, node: nodes.math) -> None:
    translator.body.append(mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def visit_math_block(translator: Any, node: nodes.math_block) -> None:
    formula = mathml(node.astext(), "block")
    translator.body.append(f'<div class="formula">{formula}</div>\n')
    raise nodes.SkipNode


def resolve_short_name(
    app: Any, env: Any, node: Any, contnode: nodes.Node
) -> nodes.Node | None:
    """Names that docstrings write as they are typed: `dp_lm`, `Budget`."""
    if node.get("refdomain") != "py":
        return None
    wanted = node.get("reftarget", "")
    target = reference.targets().get(wanted) or ALIASES.get(wanted)
    if target is None or target == wanted:
        return None
    domain = env.get_domain("py")
    return domain.resolve_xref(
        env, node["refdoc"], app.builder, "obj", target, node, contnode
    )


ALIASES = {
    f"dpstats.{name}": full
    for name, full in reference.targets().items()
    if "." not in name and not full.startswith(f"dpstats.{name}")
}


def plain_signature(
    app: Any,
    what: str,
    name: str,
    obj: Any,
    options: Any,
    signature: str | None,
    returns: Any,
) -> tuple[str | None, None] | None:
    """Signatures without the addresses of default objects, and none where no one makes an object."""
    if what == "class" and name.startswith(("dpstats.models", "dpstats.score_rounds")):
        return "", None
    if signature is None:
        return None
    return re.sub(r"<([\w. ]+) at 0x[0-9a-f]+>", r"\1", signature), None


def setup(app: Any) -> None:
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math_block, None))
    app.connect("missing-reference", resolve_short_name)
    app.connect("autodoc-process-signature", plain_signature)


html_math_renderer = "mathml"
