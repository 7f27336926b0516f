"""Text in lines of a terminal: words, calls and tables folded to its width."""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Sequence
from itertools import takewhile
from typing import Literal

from dpstats.report.escape import flat

Align = Literal["l", "r"]

WIDTH = 80
"""Columns of a line of text; R's ``options(width = 80)``."""

_INDENT = "   "
"""Of the lines of a call after the first, which begin with the blank behind a comma."""
_NARROWEST = 24
"""Columns of a text, down to which it is folded so that a table fits."""


def width_of(text: str) -> int:
    """Columns a text takes in a terminal: two for a wide character, none for a combining one."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    return len(text) + wide - sum(unicodedata.combining(c) != 0 for c in text)


def aligned(text: str, width: int, align: Align) -> str:
    gap = " " * (width - width_of(text))
    return gap + text if align == "r" else text + gap


def _pieces(text: str) -> list[str]:
    """Where a cell may be broken: at blanks, and between the parts of the name of a column."""
    return [piece for piece in re.split(r"(?<=[\s:,])|(?=[\[(])", text) if piece]


def _fold(text: str, width: int) -> list[str]:
    """A cell in lines of at most so many columns, where it can be broken; the second ones indented."""
    lines = [""]
    for piece in _pieces(text):
        if lines[-1].strip() and width_of(lines[-1] + piece.rstrip()) > width:
            lines.append("  ")
        lines[-1] += piece
    return [line.rstrip() for line in lines]


def _fitting(widths: Sequence[int], align: Sequence[Align]) -> list[int]:
    """Widths of columns that fit on a line, where folding the widest of text is enough for that."""
    out = list(widths)
    while sum(out) + len(out) - 1 > WIDTH:
        foldable = [i for i, a in enumerate(align) if a == "l" and out[i] > _NARROWEST]
        if not foldable:
            break
        out[max(foldable, key=lambda i: out[i])] -= 1
    return out


def _blocks(widths: Sequence[int], align: Sequence[Align]) -> list[list[int]]:
    """Columns that stand beside each other; those that do not fit follow below, as R prints a matrix.

    The first columns of text name the rows and are repeated; of long ones the first alone.
    """
    head = list(takewhile(lambda i: align[i] == "l", range(len(widths))))
    if sum(widths[i] + 1 for i in head) > WIDTH // 2:
        head = head[:1]
    blocks = [list(head)]
    for i in range(len(head), len(widths)):
        used = sum(widths[j] + 1 for j in blocks[-1])
        if len(blocks[-1]) > len(head) and used + widths[i] > WIDTH:
            blocks.append(list(head))
        blocks[-1].append(i)
    return blocks


def folded_call(call: str) -> str:
    """A call in lines of `WIDTH`, broken between its arguments, which stay as they can be typed.

    One that is longer than a line is broken between its items.

    Examples
    --------
    >>> print(folded_call(f"f({'a' * 70}, b = [1, 2], c = 3)"))
    f(aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa,
        b = [1, 2], c = 3)
    """
    lines, start = [""], 0
    commas = _commas(call)
    for end in [at for at, depth in commas if depth == 1] + [len(call) - 1]:
        long = end + 1 - start > WIDTH - len(_INDENT)
        inner = [at for at, _ in commas if start <= at < end] if long else []
        for stop in [*inner, end]:
            piece, start = call[start : stop + 1], stop + 1
            if lines[-1].strip() and len(lines[-1] + piece) > WIDTH:
                lines.append(_INDENT)
            lines[-1] += piece
    return "\n".join(lines)


def _commas(call: str) -> list[tuple[int, int]]:
    """Where commas stand that are in no text, and within how many brackets."""
    found, depth, quoted, escaped = [], 0, "", False
    for at, letter in enumerate(call):
        if quoted:
            quoted = "" if letter == quoted and not escaped else quoted
            escaped = letter == "\\" and not escaped
        elif letter in "\"'":
            quoted = letter
        elif letter == ",":
            found.append((at, depth))
        else:
            depth += (letter in "([{") - (letter in ")]}")
    return found


def wrapped(text: str, first: str = "", rest: str = "") -> str:
    """Fold a text at `WIDTH`, between words; R's double spaces stay."""
    return textwrap.fill(
        flat(text),
        WIDTH,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )


def laid_out(
    lines: Sequence[Sequence[str]], align: Sequence[Align], rules: Sequence[int], folds: bool
) -> list[str]:
    """A table as lines of text, the first of its rows being the header.

    ``rules``: rows before which a line is left empty; ``folds``: whether what is wider than a line is
    folded, cells of text first, and then columns into blocks below each other.
    """
    natural = [max(map(width_of, column)) for column in zip(*lines, strict=True)]
    limits = _fitting(natural, align) if folds else natural
    cells = [
        [
            _fold(cell, k) if a == "l" and width_of(cell) > k else [cell]
            for cell, k, a in zip(line, limits, align, strict=True)
        ]
        for line in lines
    ]
    widths = [
        max(width_of(t) for cell in column for t in cell) for column in zip(*cells, strict=True)
    ]
    every = [list(range(len(widths)))]
    out: list[str] = []
    for block in _blocks(widths, align) if folds else every:
        rows = [_row(line, widths, align, block) for line in cells]
        for k in sorted(rules, reverse=True):
            rows.insert(k + 1, "")
        out += rows
    return out


def _row(
    cells: Sequence[Sequence[str]],
    widths: Sequence[int],
    align: Sequence[Align],
    block: Sequence[int],
) -> str:
    """One row, in as many lines as its longest cell has."""
    height = max(len(cells[i]) for i in block)
    lines = [
        [aligned(cells[i][k] if k < len(cells[i]) else "", widths[i], align[i]) for i in block]
        for k in range(height)
    ]
    return "\n".join(" ".join(line).rstrip() for line in lines)
