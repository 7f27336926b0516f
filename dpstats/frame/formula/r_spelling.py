"""R's spelling of what stands inside a call, in Python's: text in, text out.

Operators between terms are left as they are: formulaic reads them as R does. Inside a call only
spelling changes; what is allowed there is decided by `grammar`, afterwards.
"""

from __future__ import annotations

import ast
import re
from functools import lru_cache

from dpstats.errors import FormulaError
from dpstats.frame.formula import engine
from dpstats.frame.formula.grammar import replace_quotes

_WORDS = {"TRUE": "True", "FALSE": "False", "NULL": "None"}
_SIGNS = {
    "%in%": " in ",
    "%/%": "//",
    "%%": "%",
    "^": "**",
    "&&": " and ",
    "&": " and ",
    "||": " or ",
    "|": " or ",
    "!": " not ",
}
_KINDS = {
    "as.factor": "factor",
    "as.ordered": "ordered",
    "as.integer": "trunc",
    "as.logical": "as_logical",
}
_LONGEST = 1000
_PACKAGE = re.compile(
    r"""("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`[^`]*`)|(?<![\w.])[A-Za-z][\w.]*::(?=[A-Za-z][\w.]*\()"""
)
"""What is quoted, and the package of a function: splines::ns() is ns()."""
_EARLY = re.compile(r"%%|%/%|%in%")
_TOKEN = re.compile(
    r"""(?P<kept>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`[^`]*`|!=)"""
    r"|(?P<sign>%in%|%/%|%%|\^|&&?|\|\|?|!)"
    r"|\b(?P<word>TRUE|FALSE|NULL)\b(?!\s*\()"
    r"|(?<![\w.])(?P<kind>as\.(?:factor|ordered|numeric|integer|double|logical)|unclass)(?=\s*\()"
    r"|(?<![\w.])(?P<verb>as|is)\.(?=[A-Za-z]+\s*\()"
    r"|(?<![\w.])(?P<first>\d{1,6}):(?P<last>\d{1,6})\b"
    r"|(?<![\w.])(?P<whole>\d+)L\b"
    r"|\b(?P<dotted>Boundary\.knots|include\.lowest)\b"
    r"|(?<![\w.`])(?P<column>(?!contr\.|np\.)[^\W\d]\w*(?:\.\w+)+)(?![\w.]*\s*(?:\(|=(?!=)))"
)


@lru_cache(maxsize=128)
def in_python(formula: str) -> str:
    """A formula whose calls are spelled as Python spells them.

    Examples
    --------
    >>> in_python("y ~ I(x^2) + as.factor(g) + I(!(x > 2) | z %in% c(1L, 2L))")
    'y ~ I(x**2) + factor(g) + I( not (x > 2)  or  z  in  c(1, 2))'
    """
    formula = _PACKAGE.sub(lambda found: found[1] or "", formula)
    for text, kind, start in reversed(engine.tokens(formula)):
        if kind == "operator" and formula.startswith("%in%", start):
            formula = formula[:start] + ":" + formula[start + 4 :]
        if kind == "python":
            at = formula.find(text, start)  # behind the brace of {x > 0}
            spelled = call_in_python(text)
            if _EARLY.search(text):
                _require_one_meaning(text, spelled)
            formula = formula[:at] + spelled + formula[at + len(text) :]
    return formula


def call_in_python(text: str) -> str:
    """What stands inside a call, as Python spells it."""
    return _TOKEN.sub(_spelled, text)


def _require_one_meaning(text: str, spelled: str) -> None:
    """Refuse %%, %/% and %in% beside others without parentheses: R binds them first, Python does not."""
    try:
        tree = ast.parse(replace_quotes(spelled)[0].strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return  # `grammar` says what is wrong
    for node in ast.walk(tree):
        unclear = False
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod | ast.FloorDiv):
            inner = node.left  # what stands between parentheses begins behind them
            unclear = isinstance(inner, ast.BinOp) and inner.col_offset == node.col_offset
            unclear &= isinstance(getattr(inner, "op", None), ast.Mult | ast.Div)
        elif isinstance(node, ast.Compare) and any(isinstance(op, ast.In) for op in node.ops):
            bare = isinstance(node.left, ast.BinOp) and node.left.col_offset == node.col_offset
            unclear = len(node.ops) > 1 or bare
        if unclear:
            raise FormulaError(
                f"`{text}`: write parentheses around what %%, %/% and %in% apply to, as in I(2 * "
                "(x %% 3))."
            )


def _spelled(match: re.Match[str]) -> str:
    if match["sign"]:
        return _SIGNS[match["sign"]]
    if match["word"]:
        return _WORDS[match["word"]]
    if match["kind"]:
        return _KINDS.get(match["kind"], "as_numeric")
    if match["verb"]:
        return f"{match['verb']}_dot_"
    if match["first"]:
        first, last = int(match["first"]), int(match["last"])
        if abs(last - first) < _LONGEST:
            step = 1 if last >= first else -1
            return f"c({', '.join(map(str, range(first, last + step, step)))})"
    if match["column"]:
        return f"`{match['column']}`"
    if match["dotted"]:
        return match["dotted"].replace(".", "_")
    return match["whole"] or match[0]
