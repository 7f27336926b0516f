"""R's spelling of what stands inside a call, in Python's: text in, text out.

Operators between terms are left as they are: formulaic reads them as R does. Inside a call only
spelling changes; what is allowed there is decided by `grammar`, afterwards.
"""

from __future__ import annotations

import re

from dpstats.frame.formula import engine

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
_LONGEST = 1000
_TOKEN = re.compile(
    r"""(?P<kept>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`[^`]*`|!=)"""
    r"|(?P<sign>%in%|%/%|%%|\^|&&?|\|\|?|!)"
    r"|\b(?P<word>TRUE|FALSE|NULL)\b(?!\s*\()"
    r"|(?<![\w.])as\.(?P<kind>factor|ordered|numeric)(?=\s*\()"
    r"|(?<![\w.])(?P<first>\d{1,6}):(?P<last>\d{1,6})\b"
    r"|(?<![\w.])(?P<whole>\d+)L\b"
    r"|\b(?P<dotted>Boundary\.knots|include\.lowest)\b"
)


def in_python(formula: str) -> str:
    """A formula whose calls are spelled as Python spells them.

    Examples
    --------
    >>> in_python("y ~ I(x^2) + as.factor(g) + I(!(x > 2) | z %in% c(1L, 2L))")
    'y ~ I(x**2) + factor(g) + I( not (x > 2)  or  z  in  c(1, 2))'
    """
    for text, kind, start in reversed(engine.tokens(formula)):
        if kind == "operator" and formula.startswith("%in%", start):
            formula = formula[:start] + ":" + formula[start + 4 :]
        if kind == "python":
            at = formula.find(text, start)  # behind the brace of {x > 0}
            formula = formula[:at] + _TOKEN.sub(_spelled, text) + formula[at + len(text) :]
    return formula


def _spelled(match: re.Match[str]) -> str:
    if match["sign"]:
        return _SIGNS[match["sign"]]
    if match["word"]:
        return _WORDS[match["word"]]
    if match["kind"]:
        return {"numeric": "I"}.get(match["kind"], match["kind"])
    if match["first"]:
        first, last = int(match["first"]), int(match["last"])
        if abs(last - first) < _LONGEST:
            step = 1 if last >= first else -1
            return f"c({', '.join(map(str, range(first, last + step, step)))})"
    if match["dotted"]:
        return match["dotted"].replace(".", "_")
    return match["whole"] or match[0]
