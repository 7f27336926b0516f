"""Tables and pages: one content, written as text, Markdown, LaTeX, HTML or CSV.

A `Table` holds formatted cells and, beside them, the raw values: every printed form shows the
cells, the CSV form gives the values in full precision. A `Page` is a sequence of tables and texts
in reading order; it is what a summary returns and what a notebook shows.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from types import ModuleType
from typing import Any, ClassVar, NoReturn

from tabulate import tabulate  # type: ignore[import-untyped, unused-ignore]

from dpstats.arguments import returning_text
from dpstats.errors import ArgumentError
from dpstats.report import latex
from dpstats.report.escape import escape_html, escape_markdown, flat, prose_latex
from dpstats.report.folding import Align, laid_out, wrapped
from dpstats.report.format import format_full, format_scalar
from dpstats.report.texts import Heading, Paragraph, Text

_RULE = "---"  # R sets the legend off with this line
# No colours: the page's own text and background show through, light or dark. Rules and alignment stand
# in the elements as well: word processors read no style sheet in what is pasted, and drop padding.
_TABLE = ' style="border-collapse: collapse;"'
_GAP = '<span class="gap">&ensp;</span>'
_TOP, _BOTTOM = "border-top: 1px solid;", "border-bottom: 1px solid;"
_STYLE = """<style>
table.dpstats { border-collapse: collapse; margin: 0.4em 0; color: inherit;
  font-size: 0.92em; font-variant-numeric: tabular-nums; }
table.dpstats caption { caption-side: top; text-align: left; font-weight: 600;
  padding: 0.2em 0; color: inherit; }
table.dpstats tr { background: transparent; }
table.dpstats tr > th, table.dpstats tr > td { border-width: 0;
  white-space: nowrap; vertical-align: baseline; color: inherit; }
table.dpstats tr > .l { text-align: left; }
table.dpstats tr > .r { text-align: right; }
table.dpstats tbody > tr > .l { white-space: normal; max-width: 34em; }
table.dpstats thead > tr > th { font-weight: 600; }
table.dpstats tbody > tr > th { font-weight: normal; }
table.dpstats tfoot td { font-size: 0.9em; white-space: normal; opacity: 0.8; }
table.dpstats-keys tr > td { white-space: normal; }
table.dpstats-keys tr > th { opacity: 0.8; }
div.dpstats { overflow-x: auto; } table.dpstats .gap { display: none; }
ul.dpstats { margin: 0.4em 0; padding-left: 1.4em; max-width: 60em; }
p.dpstats-heading { font-weight: 600; margin: 0.6em 0 0.2em; }
p.dpstats { margin: 0.4em 0; max-width: 60em; }
pre.dpstats { margin: 0.4em 0; color: inherit; background: transparent; }
</style>
"""


_AS_FILE = "pathlib.Path('page.html').write_text(page.to_html())"


class Printed:
    """What Python and Jupyter show as text and HTML: a page, or what has one."""

    __slots__ = ()

    def _printed(self) -> Any:
        return self

    def __str__(self) -> str:
        return repr(self)

    def __repr__(self) -> str:
        return str(self._printed().to_text())

    def _repr_html_(self) -> str:
        return str(self._printed().to_html())


def no_attribute(of: object, name: str, other_names: Mapping[str, str]) -> AttributeError:
    """An error that there is no such attribute, with its name here, or with one like it."""
    if name in other_names:
        return AttributeError(f"no attribute {name!r}; here it is {other_names[name]}.")
    module = isinstance(of, ModuleType)
    near = get_close_matches(
        name, [own for own in dir(of if module else type(of)) if own[0] != "_"], 1, 0.7
    )
    meant = f"; did you mean {near[0]!r}?" if near and name[0] != "_" else ""
    whose = (
        f"module {of.__name__!r}" if isinstance(of, ModuleType) else f"{type(of).__name__!r} object"
    )
    return AttributeError(f"{whose} has no attribute {name!r}{meant}")


class Answering:
    """What answers names that it has not by ``other_names``: what people type, and what it is here."""

    __slots__ = ()
    other_names: ClassVar[Mapping[str, str]] = {}

    def __getattr__(self, name: str) -> NoReturn:
        raise no_attribute(self, name, self.other_names)


class Exported(Printed):
    """What is written in any form of the page that it prints as."""

    __slots__ = ()

    @returning_text
    def to_markdown(self) -> str:
        """The page as Markdown."""
        return str(self._printed().to_markdown())

    @returning_text
    def to_latex(self, caption: str | None = None, label: str | None = None) -> str:
        """The page as LaTeX, for booktabs; see `Page.to_latex`."""
        return str(self._printed().to_latex(caption=caption, label=label))

    @returning_text
    def to_html(self) -> str:
        """The page as HTML."""
        return str(self._printed().to_html())

    @returning_text
    def to_csv(self) -> str:
        """The main table of the page as CSV, with all digits."""
        return str(self._printed().to_csv())


class OnPage(Answering, Exported):
    """What prints as its ``page``, a `Page`, in any of its forms."""

    page: Any
    other_names: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("tidy", "to_frame", "summary_frame", "to_pandas"), "frame"),
        "summary": "print(), and frame for the numbers",
        "pvalues": "frame.p_value",
    }

    def _printed(self) -> Any:
        return self.page


@dataclass(frozen=True)
class Column:
    """One column of a table under construction; see `Table.from_columns`.

    ``raw`` are the values that the CSV form gives in full precision, under the heading ``csv_name``;
    without them it gives the cells. A column of stars need not be ``in_csv``.
    """

    name: str
    cells: Sequence[str]
    raw: Iterable[object] | None = None
    align: Align = "r"
    csv_name: str | None = None
    in_csv: bool = True

    @classmethod
    def of(
        cls, name: str, values: Sequence[Any], digits: int = 3, *, none: str = "", csv: str = ""
    ) -> Column:
        """Numbers with so many significant digits each; ``none`` stands where there is no number."""
        cells = [none if v is None else format_scalar(v, digits) for v in values]
        return cls(name, cells, values, csv_name=csv or None)


@dataclass(frozen=True, repr=False)
class Table(Printed):
    """A table of formatted cells, with the raw values beside them; see `from_columns`.

    Printed text keeps the padding of cells, on which R's columns rely; the other forms strip it.

    Parameters
    ----------
    header, rows
        Names of the columns, and cells.
    align : tuple of {"l", "r"}
        By default the first column is left-aligned and the others are right.
    title : str, optional
        A small heading above the table.
    notes : tuple of str
        Lines below the table, such as the legend of the stars.
    raw, csv_header
        Values and names of the CSV form, by default the cells and ``header``; a name of None leaves its
        column out.
    main : bool
        Whether this is the table that stands for its page in the CSV form.
    folds : bool
        Whether printed text folds what is wider than a line.
    kept : tuple of int, optional
        Rows that are printed, where there are more than a page should have; CSV has all of them.
    rules : tuple of int
        Rows before which a rule is drawn; printed text leaves a line free.

    Raises
    ------
    ArgumentError
        If a row, the alignments, the raw values or the CSV header do not fit the header.

    Examples
    --------
    >>> table = Table(("", "n"), (("men", "12"), ("women", "9")), raw=(("men", 12), ("women", 9)))
    >>> print(table)
           n
    men   12
    women  9
    """

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    align: tuple[Align, ...] = ()
    title: str | None = None
    notes: tuple[str, ...] = ()
    raw: tuple[tuple[object, ...], ...] = ()
    csv_header: tuple[str | None, ...] = ()
    main: bool = False
    rules: tuple[int, ...] = ()
    folds: bool = True
    kept: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        columns = len(self.header)
        if not columns:
            raise ArgumentError("a table needs at least one column")
        others: list[Align] = ["r"] * (columns - 1)
        object.__setattr__(self, "align", tuple(self.align) or ("l", *others))
        object.__setattr__(self, "csv_header", self.csv_header or self.header)
        object.__setattr__(
            self, "raw", self.raw or tuple(tuple(c.strip() for c in row) for row in self.rows)
        )
        parts = (self.align, self.csv_header, *self.rows, *self.raw)
        if any(len(part) != columns for part in parts) or len(self.raw) != len(self.rows):
            raise ArgumentError("the parts of a table differ in their number of columns or rows")
        if not set(self.align) <= {"l", "r"}:
            raise ArgumentError("the alignment of a column is 'l' or 'r'")

    @classmethod
    def from_columns(
        cls,
        columns: Iterable[Column],
        *,
        title: str | None = None,
        notes: Iterable[str] = (),
        main: bool = False,
    ) -> Table:
        """A table of columns of equal length; for the rest see `Table`.

        Raises
        ------
        ArgumentError
            If the columns, or the cells and the raw values of one, differ in length.

        Examples
        --------
        >>> table = Table.from_columns(
        ...     [
        ...         Column("", ["speed"], align="l", csv_name="term"),
        ...         Column("Estimate", ["3.9324"], raw=[3.932408759124087]),
        ...     ]
        ... )
        >>> print(table)
              Estimate
        speed   3.9324
        >>> print(table.to_csv(), end="")
        term,Estimate
        speed,3.932408759124087
        """
        given = tuple(columns)
        cells = [tuple(c.cells) for c in given]
        raw = [tuple(t.strip() for t in c.cells) if c.raw is None else tuple(c.raw) for c in given]
        if len({len(values) for values in (*cells, *raw)}) > 1:
            raise ArgumentError("the columns of a table differ in length")
        return cls(
            header=tuple(c.name for c in given),
            rows=tuple(zip(*cells, strict=True)),
            align=tuple(c.align for c in given),
            title=title,
            notes=tuple(notes),
            raw=tuple(zip(*raw, strict=True)),
            csv_header=tuple(
                (c.name if c.csv_name is None else c.csv_name) if c.in_csv else None for c in given
            ),
            main=main,
        )

    def ruled(self, rules: tuple[int, ...]) -> Table:
        """This table with rules before these rows."""
        return replace(self, rules=rules)

    def to_text(self) -> str:
        """Print the table as R prints a matrix of text, without trailing spaces."""
        # By hand: tabulate sets its columns at least two apart and widens every header.
        lines = [[flat(cell) for cell in row] for row in (self.header, *self._shown())]
        body = laid_out(lines, self.align, self.rules, self.folds)
        title = [] if self.title is None else [Heading(self.title).to_text()]
        notes = [_RULE, *(wrapped(note) for note in self.notes)] if self.notes else []
        return "\n".join([*title, *body, *notes])

    def _shown(self) -> tuple[tuple[str, ...], ...]:
        """The rows that are printed."""
        return self.rows if self.kept is None else tuple(self.rows[k] for k in self.kept)

    @returning_text
    def to_markdown(self) -> str:
        """Write the table as a Markdown pipe table."""
        grid = tabulate(
            [[escape_markdown(cell.strip()) for cell in row] for row in self._shown()],
            [escape_markdown(name.strip()) for name in self.header],
            tablefmt="pipe",
            disable_numparse=True,
            colalign=["left" if a == "l" else "right" for a in self.align]
            if self._shown()
            else None,
        )
        title = [] if self.title is None else [Heading(self.title).to_markdown()]
        return "\n\n".join([*title, grid, *(Paragraph(n).to_markdown() for n in self.notes)])

    @returning_text
    def to_latex(self, caption: str | None = None, label: str | None = None) -> str:
        """Write the table as a LaTeX tabular no wider than a page; the document loads booktabs.

        What does not fit a page is several tabulars, below each other. With a ``caption`` or a ``label``
        it is a table that floats; one longer than a page stands where it is written.
        """
        # By hand: of tabulate's LaTeX forms the one with booktabs' rules escapes on its own
        # terms (no math for Greek letters), and the one that leaves escaping alone has other rules.
        parts = latex.tabulars(self.header, self._shown(), self.align, self.rules)
        title = [] if self.title is None else [Heading(self.title).to_latex()]
        notes = [rf"\noindent\raggedright {prose_latex(n)}\par" for n in self.notes]
        below = ["{\\footnotesize\\smallskip", *notes, "}"] if notes else []
        body = "\n\\medskip\n".join(rf"\noindent {part}\par" for part in parts)
        whole = "\n".join([*title, body, *below])
        return latex.floating(whole, caption, label)

    @returning_text
    def to_html(self) -> str:
        """Write the table as HTML with a small style of its own."""
        return _STYLE + self.html_body()

    def html_body(self) -> str:
        """Write the table as HTML without the style, for a page that has it already."""
        # By hand: tabulate's form has no caption, no notes, no class and no row headings.
        caption = "" if self.title is None else escape_html(Heading(self.title)._bare())
        foot = "".join(
            f'<tr><td class="l" style="text-align: left;" colspan="{len(self.header)}">'
            f"{escape_html(note)}</td></tr>\n"
            for note in self.notes
        )
        return "".join(
            [
                f'<table class="dpstats"{_TABLE}>\n',
                f"<caption>{caption}</caption>\n" if caption else "",
                f"<thead>\n{self._html_row(self.header, 'col', _TOP + _BOTTOM)}</thead>\n",
                "<tbody>\n",
                *(
                    self._html_row(row, rule=self._rules_at(k))
                    for k, row in enumerate(self._shown())
                ),
                "</tbody>\n",
                f"<tfoot>\n{foot}</tfoot>\n" if foot else "",
                "</table>\n",
            ]
        )

    def _rules_at(self, row: int) -> str:
        """The rules of a row in HTML: above it where one is asked for, below the last."""
        return _TOP * (row in self.rules) + _BOTTOM * (row == len(self._shown()) - 1)

    def _html_row(self, cells: Sequence[str], scope: str | None = None, rule: str = "") -> str:
        """One row; all cells of the header, and elsewhere a left-aligned first one, are headings."""
        parts = []
        for i, (cell, align) in enumerate(zip(cells, self.align, strict=True)):
            text = escape_html(cell.strip())
            text = _GAP + text if text and i and self.align[i - 1] + align == "rl" else text
            heads = scope or ("row" if i == 0 and align == "l" else None)
            tag, extra = ("th", f' scope="{heads}"') if heads else ("td", "")
            look = f"text-align: {'left' if align == 'l' else 'right'};padding: 2px 8px;{rule}"
            look += "font-weight: normal;" if heads == "row" else ""
            parts.append(f'<{tag}{extra} class="{align}" style="{look}">{text}</{tag}>')
        return f"<tr>{''.join(parts)}</tr>\n"

    @returning_text
    def to_csv(self) -> str:
        """Write the raw values in full precision, one header line first."""
        kept = [i for i, name in enumerate(self.csv_header) if name is not None]
        lines = [self.csv_header, *([format_full(v) for v in row] for row in self.raw)]
        return "".join(_csv_line([str(line[i]) for i in kept]) for line in lines)


def _csv_line(fields: Sequence[str]) -> str:
    """One record by the rules of RFC 4180, ended by a bare line feed."""
    buffer = io.StringIO(newline="")
    # The carriage return is the writer's own until here: it then quotes one inside a field.
    csv.writer(buffer, lineterminator="\r\n").writerow(fields)
    return buffer.getvalue().removesuffix("\r\n") + "\n"


@dataclass(frozen=True)
class Folded:
    """A part that a page shows in short, unless it is asked for in full."""

    short: Table | Text
    full: Table | Text

    def to_text(self) -> str:
        return self.short.to_text()

    def to_markdown(self) -> str:
        return self.short.to_markdown()

    def to_latex(self) -> str:
        return self.short.to_latex()

    def html_body(self) -> str:
        return self.short.html_body()


Part = Table | Text | Folded


@dataclass(frozen=True, repr=False)
class Page(Answering, Printed):
    """A sequence of tables and texts in reading order: what a summary prints.

    Parameters
    ----------
    parts : tuple of Table, Paragraph, Preformatted, Heading or KeyValues
        The parts.

    See Also
    --------
    etable : Fits side by side, as a page.

    Examples
    --------
    >>> from dpstats.report.texts import KeyValues
    >>> page = Page(
    ...     (
    ...         KeyValues((("privacy", "mu = 1"), ("rows", "50"))),
    ...         Table(("", "n"), (("men", "12"),), title="Counts"),
    ...     )
    ... )
    >>> page
    privacy: mu = 1
    rows:    50
    <BLANKLINE>
    Counts:
         n
    men 12
    """

    parts: tuple[Part, ...]
    other_names: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("save", "write", "to_file"), _AS_FILE),
        **dict.fromkeys(("to_word", "to_docx"), f"to_html(), which Word opens: {_AS_FILE}"),
        "to_excel": "to_csv()",
    }

    def full(self) -> Page:
        """The page with everything that it shows in short."""
        return Page(tuple(p.full if isinstance(p, Folded) else p for p in self.parts))

    def to_text(self) -> str:
        """Print the page as R prints a summary: parts are set apart by an empty line."""
        pieces = []
        for part in self.parts:
            pieces += [part.to_text(), "\n" if isinstance(part, Heading) else "\n\n"]
        return "".join(pieces[:-1])

    @returning_text
    def to_markdown(self) -> str:
        """Write the page as Markdown."""
        return "\n\n".join(part.to_markdown() for part in self.parts) + "\n"

    @returning_text
    def to_latex(self, caption: str | None = None, label: str | None = None) -> str:
        r"""Write the page as LaTeX, no wider than a page of a document that loads booktabs.

        Parameters
        ----------
        caption, label : str, optional
            With one of them the page is a table that floats: ``\\begin{table}`` with this caption, and a
            label for ``\\ref``.
        """
        body = "\n\n".join(part.to_latex() for part in self.parts) + "\n"
        return latex.floating(body, caption, label)

    @returning_text
    def to_html(self) -> str:
        """Write the page as a fragment of HTML with a small style of its own."""
        body = "".join(part.html_body() for part in self.parts)
        return f'<div class="dpstats">\n{_STYLE}{body}</div>\n'

    @returning_text
    def to_csv(self) -> str:
        """Write the page's main table, or its first if none is marked so, as CSV.

        Raises
        ------
        ArgumentError
            If the page has no table.
        """
        tables = [part for part in self.full().parts if isinstance(part, Table)]
        if not tables:
            raise ArgumentError("the page has no table to write as CSV")
        return next((table for table in tables if table.main), tables[0]).to_csv()
