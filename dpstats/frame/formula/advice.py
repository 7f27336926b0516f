"""What to type instead of what a formula cannot do; text alone, no table is read."""

from __future__ import annotations

import keyword
import re
from collections.abc import Sequence
from difflib import get_close_matches

_RESERVED = {*keyword.kwlist} - {"and", "or", "not", "in", "is", "if", "else"}
_MOST_POWERS = 3
"""Number of powers on which notes are printed."""
_OF_ALL_ROWS = "it looks at all rows; center() and scale() use what public rows or limits say"
_OF_OTHER_ROWS = "it looks at other rows; make the column in both tables beforehand"
_TEXT = "make the column in both tables beforehand"
_SPLINES = "write ns(x, df=4) or bs(x, df=4)"
_INSTEAD = {
    **{
        f"np.{name}": f"write {name}() without np."
        for name in ("log", "log2", "log10", "exp", "sqrt", "log1p", "expm1", "abs", "floor")
    },
    "np.arcsinh": "write asinh()",
    "i": "dp_feols has i(); here write C(), or C():x",
    **dict.fromkeys(
        ("csw", "csw0", "sw", "sw0", "mvsw"),
        "one call fits one formula: smaller models by fit.update()",
    ),
    "Q": "put the name between backticks",
    "cbind": "of k successes and f failures write the share, I(k / (k + f)), with weights= a column of "
    "trials, k + f",
    **dict.fromkeys(("s", "te", "ti", "t2", "lo", "smooth", "pspline"), _SPLINES),
    "rcs": "a restricted cubic spline is ns(x, df=4), or ns(x, knots=c(20, 40), "
    "Boundary.knots=c(10, 60))",
    **dict.fromkeys(
        ("lspline", "elspline", "qlspline"),
        "a line that bends at 50 is x + I((x - 50) * (x > 50))",
    ),
    "strata": "write the column as a term, g or factor(g)",
    **dict.fromkeys(
        ("recode", "cut2"), "write ifelse(condition, a, b), or cut(x, c(0, 18, 65, Inf))"
    ),
    "Surv": "there are no survival models; dp_glm has family='poisson' with offset=log(time)",
    "c": "logic on a column belongs inside I(): I(g %in% c('a', 'b'))",
    "is.na": "rows with a missing value are not used; make a column of True and False beforehand",
    "as.character": "write factor(g)",
    "as.logical": "write I(x != 0)",
    "droplevels": "levels are those of public rows, or of limits; write factor(g)",
    "ceil": "write ceiling()",
    "where": "write ifelse(condition, a, b)",
    "case_when": "write ifelse(condition, a, ifelse(condition, b, c))",
    **dict.fromkeys(
        ("mean", "median", "sd", "var", "min", "max", "sum", "length", "quantile", "ave", "rank"),
        _OF_ALL_ROWS,
    ),
    **dict.fromkeys(
        ("lag", "lead", "diff", "cumsum", "shift", "rev", "sort", "L", "d", "D"), _OF_OTHER_ROWS
    ),
    **dict.fromkeys(
        ("as.Date", "nchar", "paste", "substr", "grepl", "gsub", "toupper", "tolower", "month"),
        _TEXT,
    ),
}
FUNCTIONS = (
    "log() exp() sqrt() asinh() abs() round() and their like, ifelse() pmin() pmax(), I() factor() "
    "ordered() relevel() interaction() cut() center() scale() poly() ns() bs() cr() cc() offset()"
)
ROW_BY_ROW = "A factor is computed row by row"
ALLOWED = (
    f"{ROW_BY_ROW}: + - * / ^ %% %/%, comparisons, & | ! %in%, {FUNCTIONS}, with constants as "
    "options. Anything else could let one private row change another row."
)
_LOGIC = (
    "logic and comparisons of columns belong inside I(): I(x > 0 & z > 0), I(!b), I(g == 'a'), "
    "I(g %in% c('a', 'b'))"
)
_ARITHMETIC = (
    "arithmetic on a column belongs inside I(): I(2 * x), I(x / 2), I(x^0.5); outside, * / ^ "
    "multiply terms, as in x * z"
)


def no_function(name: str, arguments: Sequence[str], known: Sequence[str]) -> str:
    """Why a function is not there, and what is: one sentence, or the list of what there is."""
    if name in ("min", "max") and len(arguments) > 1:
        return f"there is no {name}() (write p{name}({', '.join(arguments)})). {ROW_BY_ROW}."
    if name in _INSTEAD:
        return f"there is no {name}() ({_INSTEAD[name]}). {ROW_BY_ROW}."
    near = get_close_matches(name, known, 1, 0.6)
    if near:
        return f"there is no {name}(); did you mean {near[0]}()? {ROW_BY_ROW}."
    return f"there is no {name}(). {ALLOWED}"


def instead_of(text: str) -> str | None:
    """What to write for a call that Python cannot read, of a function that is not there."""
    name = text.partition("(")[0].strip()
    return f"there is no {name}(): {_INSTEAD[name]}" if name in _INSTEAD else None


def word_of_python(text: str) -> str | None:
    """What to do where text that Python cannot read names a column by one of its words, as `class`."""
    for word in re.findall(r"(?<![\w.])[a-z]+(?![\w.(])", text):
        if word in _RESERVED:
            return (
                f"`{word}` is a word of Python, no name in a call: rename the column in both tables"
            )
    return None


def misread(formula: str, tokens: Sequence[tuple[str, str, int]]) -> str | None:
    """What to type where a formula lacks its '~', or has signs that mean nothing between terms."""
    if "~" not in formula and formula.strip():
        return _no_tilde(formula)
    left = formula.partition("~")[0].strip()
    if re.search(r"(?<![\w.])\d[\d.]*\s*[*/^]|[*/^]\s*\d", left) and not re.search(r"[({`]", left):
        return f"arithmetic on the response belongs inside I(): write 'I({left}) ~ ...'"
    if "|>" in formula or "%>%" in formula:
        return "a function is written around its column, log(x), not behind a pipe"
    for k, (text, kind, _) in enumerate(tokens):
        if kind == "operator" and re.search(r"[!&<>]|==", text):
            return _LOGIC
        if kind == "value" and re.fullmatch(r"\.?\d[\d.]*(e[+-]?\d+)?", text, re.I):
            before = tokens[k - 1][0] if k else ""
            after = tokens[k + 1][0] if k + 1 < len(tokens) else ""
            if before.endswith(("~", "+")) and after in ("", "+", "-") and text not in ("0", "1"):
                return "the only numbers that are terms are 1 (a constant) and 0 (no constant)"
            power = before in ("^", "**")
            if (power and not text.isdigit()) or before in ("*", "/") or after in ("*", "/"):
                return _ARITHMETIC
    if re.search(r"`[^`]*\$[^`]*`", formula):
        return "names with a $ cannot be read, also in backticks: rename such a column"
    if re.search(r"\w\$\w", formula):
        return "columns stand without their table, 'y ~ x' in place of 'd$y ~ d$x'"
    if any(kind == "operator" and re.search("[,;]", text) for text, kind, _ in tokens):
        return "terms are joined by +, as in 'y ~ x1 + x2'"
    return None


def powers_note(tokens: Sequence[tuple[str, str, int]]) -> tuple[str, ...]:
    """Notes on powers that a formula takes of one term: they are that term, as in R.

    ``tokens`` are those of the formula; see `engine.tokens`.
    """
    notes = []
    for before, sign, after in zip(tokens, tokens[1:], tokens[2:], strict=False):
        term, power = before[0], after[0]
        if before[1] == "name" and not re.fullmatch(r"[\w.]+", term):
            term = f"`{term}`"
        one = before[1] in ("name", "python") and after[1] == "value"
        if one and sign[0] in ("^", "**") and power.isdigit() and int(power) > 1:
            square = "a square" if power == "2" else "the power"
            notes.append(
                f"In a formula `{term}{sign[0]}{power}` is `{term}`, as in R. For {square} write "
                f"I({term}{sign[0]}{power}), or poly({term}, {power})."
            )
    return tuple(dict.fromkeys(notes))[:_MOST_POWERS]


def _no_tilde(formula: str) -> str:
    sides = re.split(r"(?<![=!<>])=(?!=)", formula)
    if len(sides) == 2 and all(side.strip() for side in sides):
        return f"'~' separates response and terms: write '{sides[0].strip()} ~ {sides[1].strip()}'"
    first, *rest = formula.split("+")
    if rest and all(side.strip() for side in (first, *rest)):
        words = first.split()
        if len(words) == 2:  # only the '~' is missing
            first, rest = words[0], [words[1], *rest]
        return (
            f"'~' separates response and terms: write '{first.strip()} ~ "
            f"{' + '.join(side.strip() for side in rest)}'"
        )
    return "'~' separates response and terms, as in 'y ~ x1 + x2'"
