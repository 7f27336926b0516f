"""Tables and lines of code as LaTeX that fits the width of a page; the document loads booktabs."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from dpstats.report.escape import escape_latex, prose_latex

TEXT_WIDTH = 345.0
"""Points of a line in LaTeX's article at 10 points, the narrowest of the usual pages."""

_SIZES = {"": 1.0, "small": 0.93, "footnotesize": 0.85, "scriptsize": 0.8}
"""Sizes of type, and how wide they are beside the first: small letters are drawn wider."""
_GAP = {"": 12.0, "small": 8.0, "footnotesize": 6.0, "scriptsize": 4.0}
"""Points between two columns at each size."""
_NARROWEST = 60.0
"""Points of a column of text that is folded."""
_TALLEST = 45
"""Lines of a page of article at 10 points. LaTeX breaks no float, so what has more must not be one."""
_NAMES, _VALUES = 0.42, 0.75
"""Of a line, what the names of statements take at most, and what the statements do."""
_WIDE_LINE = 60
"""Letters of a line of code from which it is set small and folded."""


def line(
    cells: Sequence[str],
    widths: Sequence[float | None] | None = None,
    align: Sequence[str] | None = None,
) -> str:
    """One row of a tabular, safe after the row or rule before it; ``widths`` of folded columns."""
    sides = align or ["l"] * len(cells)
    escaped = [prose_latex(cell.strip()) for cell in cells]
    signed = [re.sub(r"(?:^|(?<=[\[( ]))-(?=[\d.]|Inf)", "$-$", cell) for cell in escaped]
    folds = widths or [None] * len(signed)
    boxed = [
        cell if width is None or not cell else _box(cell, width, side)
        for cell, width, side in zip(signed, folds, sides, strict=True)
    ]
    row = " & ".join(boxed)
    # A bracket or an asterisk here would be read as an option of the line end before it.
    return ("{}" if row.startswith(("[", "*")) else "") + row + r" \\"


def _box(cell: str, width: float, side: str) -> str:
    """A folded cell; lines may end after the underscores of names."""
    ragged = r"\raggedright" if side == "l" else r"\raggedleft"
    folded = cell.replace(r"\_", r"\_\allowbreak{}")
    return rf"\parbox[t]{{{width:.0f}pt}}{{{ragged} {folded}\strut}}"


def tabulars(
    header: Sequence[str], rows: Sequence[Sequence[str]], align: Sequence[str], rules: Sequence[int]
) -> list[str]:
    """A table as tabulars that fit a page each, with their header: columns that do not follow below.

    The first column stands before the others in each. Where rows do not fit, a row that begins with an
    empty cell stays with the one above it.
    """
    made: list[str] = []
    for block in _side_by_side([header, *rows], align):
        (head, *body), sides = _columns([header, *rows], align, block)
        for start, end in _pages(body):
            within = [k - start for k in rules if start < k < end]
            made.append(_tabular(head, body[start:end], sides, within))
    return made


def _columns(
    lines: Sequence[Sequence[str]], align: Sequence[str], chosen: Sequence[int]
) -> tuple[list[list[str]], list[str]]:
    return [[line[k] for k in chosen] for line in lines], [align[k] for k in chosen]


def _side_by_side(lines: Sequence[Sequence[str]], align: Sequence[str]) -> list[list[int]]:
    """Columns of tables that fit the width of a page, as many as fit in each."""
    blocks = [[0]]
    for k in range(1, len(align)):
        wider = [*blocks[-1], k]
        if len(blocks[-1]) > 1 and _fitted(*_columns(lines, align, wider)) is None:
            wider = [0, k]
            blocks.append(wider)
        blocks[-1] = wider
    return blocks


def _pages(rows: Sequence[Sequence[str]]) -> list[tuple[int, int]]:
    """First rows of the pages of a table, and where they end."""
    starts, most = [0], _TALLEST - 4
    while len(rows) - starts[-1] > most:
        end = starts[-1] + most
        while end > starts[-1] + 1 and not rows[end][0].strip():
            end -= 1
        starts.append(end)
    return list(zip(starts, [*starts[1:], len(rows)], strict=True))


def _tabular(
    header: Sequence[str], rows: Sequence[Sequence[str]], align: Sequence[str], rules: Sequence[int]
) -> str:
    """A tabular no wider than a page: smaller type first, then folded columns of text."""
    size, folds = _fitted([header, *rows], align) or ("scriptsize", [None] * len(align))
    gap = rf"\setlength{{\tabcolsep}}{{{_GAP[size] / 2:g}pt}}" if size else ""
    grid = [
        rf"\begin{{tabular}}{{@{{}}{''.join(align)}@{{}}}}",
        r"\toprule",
        line(header, folds, align),
        r"\midrule",
        *(
            ("\\midrule\n" if k in rules else "") + line(row, folds, align)
            for k, row in enumerate(rows)
        ),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    made = "\n".join(grid)
    return f"{{\\{size}{gap}\n{made}}}" if size else made


def pairs(rows: Sequence[tuple[str, str]]) -> str:
    """Names and statements in two columns, as wide as a line; long ones are folded."""
    name = max((points(key) for key, _ in rows), default=0.0) / TEXT_WIDTH
    side, name = ("l", name) if name <= _NAMES else (rf"p{{{_NAMES:g}\linewidth}}", _NAMES)
    value = min(0.99 - name - _GAP[""] / TEXT_WIDTH, _VALUES)
    begin = rf"\noindent\begin{{tabular}}{{@{{}}{side}p{{{value:.2f}\linewidth}}@{{}}}}"
    cells = [f"{_ragged(key, name)} & {_ragged(text, value)} \\\\" for key, text in rows]
    return "\n".join([begin, *cells, r"\end{tabular}\par"])


def _ragged(text: str, width: float) -> str:
    """A cell of words; where they take several lines, these end where words do."""
    cell = prose_latex(text)
    return rf"{{\raggedright {cell}\par}}" if points(text) > width * TEXT_WIDTH else cell


def _fitted(
    lines: Sequence[Sequence[str]], align: Sequence[str]
) -> tuple[str, list[float | None]] | None:
    """The size of type at which a table fits, and widths of folded columns; None if none does."""
    natural = [max(points(cell) for cell in column) for column in zip(*lines, strict=True)]
    for size, scale in _SIZES.items():
        if sum(natural) * scale + _GAP[size] * (len(align) - 1) <= TEXT_WIDTH:
            return size, [None] * len(align)
        folds = _folded(lines, natural, align, size)
        if size in ("footnotesize", "scriptsize") and folds is not None:
            return size, folds
    return None


def _folded(
    lines: Sequence[Sequence[str]], natural: Sequence[float], align: Sequence[str], size: str
) -> list[float | None] | None:
    """Widths of the widest columns of text so that all fit; None where they cannot."""
    scale, gaps = _SIZES[size], _GAP[size] * (len(align) - 1)
    words = [
        max(points(word) for cell in column for word in re.findall(r"[^\s_]+_?|_", cell) or [""])
        for column in zip(*lines, strict=True)
    ]
    order = sorted(range(len(align)), key=lambda k: (align[k] != "l", -natural[k]))
    for count in range(1, len(order) + 1):
        chosen = order[:count]
        room = TEXT_WIDTH - gaps - scale * sum(natural) + scale * sum(natural[k] for k in chosen)
        narrowest = [_NARROWEST if align[k] == "l" and k else 0.0 for k in chosen]
        least = [max(scale * words[k] + 2, n) for k, n in zip(chosen, narrowest, strict=True)]
        if room < sum(least):
            continue
        wish = [scale * natural[k] for k in chosen]
        spare = room - sum(least)
        wants = [max(w - m, 0.0) for w, m in zip(wish, least, strict=True)]
        folds: list[float | None] = [None] * len(align)
        for k, floor, want in zip(chosen, least, wants, strict=True):
            folds[k] = math.floor(floor + spare * want / max(sum(wants), 1e-9))
        return folds
    return None


def points(text: str) -> float:
    """About the width of a text in Computer Modern at 10 points, rather more than less."""
    text = text.strip()
    return sum(_letter(c) for c in text)


def _letter(c: str) -> float:
    if c in "iljtfr.,;:()[]|' !":
        return 3.9
    if c in "mwMW%@=<>+-~" or not c.isascii():
        return 8.5
    if c.isupper() or c == "_":
        return 7.4
    return 5.2


def floating(body: str, caption: str | None, label: str | None) -> str:
    """A table that floats, with its caption above and a label to refer to.

    What is longer than a page stands where it is, below the caption, and goes on on the next page.
    """
    if caption is None and label is None:
        return body
    head = [] if caption is None else [rf"\caption{{{escape_latex(caption.strip())}}}"]
    head += [] if label is None else [rf"\label{{{label}}}"]
    if _height(body) > _TALLEST:
        start = [r"\begingroup\makeatletter\def\@captype{table}\makeatother"]
        return "\n".join([*start, *head, body.strip(), r"\endgroup"]) + "\n"
    # Headings and paragraphs of a page begin at the left.
    start = [r"\begin{table}[htbp]", *([] if r"\textbf{" in body else [r"\centering"])]
    return "\n".join([*start, *head, body.strip(), r"\end{table}"]) + "\n"


def _height(body: str) -> int:
    """About how many lines are printed: rows of tables, and paragraphs as they are folded."""
    lines = [
        line for line in body.splitlines() if line.endswith((r"\\", r"\par")) or r"\item" in line
    ]
    folded = [1 if line.endswith(r"\\") else math.ceil(points(line) / TEXT_WIDTH) for line in lines]
    return sum(folded) + 2 * body.count(r"\textbf{")


def code(lines: Sequence[str]) -> str:
    """Lines of code; not verbatim, which may not stand in an argument and whose text could end it."""
    if max(map(len, lines), default=0) <= _WIDE_LINE:
        lines = [escape_latex(line).replace(" ", "~") or "~" for line in lines]
        return "\\noindent\\texttt{" + "}\\\\\n\\texttt{".join(lines) + "}\\par"
    folded = [_foldable(escape_latex(line)) or "~" for line in lines]
    return "{\\footnotesize\\raggedright\\noindent\n" + "\\\\\n".join(folded) + "\\par}"


def _foldable(text: str) -> str:
    """Code whose inner spaces may end a line."""
    body = re.sub("  +|^ ", lambda run: "~" * len(run[0]), text)
    return rf"\texttt{{\frenchspacing {body}}}" if body else ""
