"""Texts of a page, each written in every form: paragraphs, lines as they are, headings, statements."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass

from dpstats.report import latex
from dpstats.report.escape import escape_html, escape_latex, escape_markdown, flat, prose_latex
from dpstats.report.folding import aligned, width_of, wrapped


@dataclass(frozen=True)
class Paragraph:
    """A paragraph of running text; printed text folds it at `WIDTH`."""

    text: str

    def to_text(self) -> str:
        return wrapped(self.text.strip())

    def to_markdown(self) -> str:
        # A mark that would begin a list or a heading is one only at the start of the line.
        body = escape_markdown(self.text.strip())
        return re.sub(r"^(?:(\d+)(?=[.)](?:\s|$))|(?=[-+#=>]))", r"\1\\", body)

    def to_latex(self) -> str:
        return rf"\noindent {prose_latex(self.text.strip())}\par"

    def html_body(self) -> str:
        return f'<p class="dpstats">{escape_html(self.text.strip())}</p>\n'


@dataclass(frozen=True)
class Preformatted:
    """One or more lines shown as they are, in a fixed-width font where there is one."""

    text: str

    def _lines(self) -> list[str]:
        return [flat(line).rstrip() for line in self.text.expandtabs().strip("\n").split("\n")]

    def to_text(self) -> str:
        return "\n".join(self._lines())

    def to_markdown(self) -> str:
        # Fenced, as an indented block would join a list before it; no text inside ends the fence.
        ticks = max(map(len, re.findall("`+", self.text)), default=0)
        fence = "`" * max(3, ticks + 1)
        return "\n".join([fence, *self._lines(), fence])

    def to_latex(self) -> str:
        return latex.code(self._lines())

    def html_body(self) -> str:
        lines = "\n".join(html.escape(line) for line in self._lines())
        return f'<pre class="dpstats">{lines}</pre>\n'


@dataclass(frozen=True)
class Lines(Preformatted):
    """Lines of their own, such as R's below a table; printed text folds long ones."""

    def to_text(self) -> str:
        return "\n".join(wrapped(line, rest="  ") for line in self._lines())

    def to_markdown(self) -> str:
        return "\n".join(f"- {Paragraph(line).to_markdown()}" for line in self._lines())

    def to_latex(self) -> str:
        return "\n".join(Paragraph(line).to_latex() for line in self._lines())

    def html_body(self) -> str:
        lines = "<br>\n".join(escape_html(line) for line in self._lines())
        return f'<p class="dpstats">{lines}</p>\n'


@dataclass(frozen=True)
class Notes:
    """What a reader must know before the numbers: one note as a paragraph, several as a list."""

    notes: tuple[str, ...]

    def _alone(self) -> Paragraph:
        return Paragraph(f"Note: {self.notes[0]}")

    def to_text(self) -> str:
        if len(self.notes) == 1:
            return self._alone().to_text()
        return "\n".join(["Notes:", *(wrapped(note.strip(), "- ", "  ") for note in self.notes)])

    def to_markdown(self) -> str:
        if len(self.notes) == 1:
            return self._alone().to_markdown()
        items = "\n".join(f"- {Paragraph(note).to_markdown()}" for note in self.notes)
        return f"{Heading('Notes').to_markdown()}\n\n{items}"

    def to_latex(self) -> str:
        if len(self.notes) == 1:
            return self._alone().to_latex()
        items = [rf"\item {prose_latex(note.strip())}" for note in self.notes]
        body = [r"\begin{itemize}", *items, r"\end{itemize}"]
        return "\n".join([Heading("Notes").to_latex(), *body])

    def html_body(self) -> str:
        if len(self.notes) == 1:
            return self._alone().html_body()
        items = "".join(f"<li>{escape_html(note.strip())}</li>\n" for note in self.notes)
        return f'{Heading("Notes").html_body()}<ul class="dpstats">\n{items}</ul>\n'


@dataclass(frozen=True)
class Heading:
    """A small heading, such as R's ``Coefficients:``; printed text alone adds the colon."""

    text: str

    def _bare(self) -> str:
        return flat(self.text).strip().removesuffix(":")

    def to_text(self) -> str:
        return f"{self._bare()}:"

    def to_markdown(self) -> str:
        return f"#### {escape_markdown(self._bare())}"

    def to_latex(self) -> str:
        return rf"\medskip\noindent\textbf{{{escape_latex(self._bare())}}}\par\nobreak\smallskip"

    def html_body(self) -> str:
        return f'<p class="dpstats-heading">{escape_html(self._bare())}</p>\n'


@dataclass(frozen=True)
class KeyValues:
    """Named statements, such as ``privacy: mu = 1``, as ``(key, value)`` pairs of text."""

    pairs: tuple[tuple[str, str], ...]

    def to_text(self) -> str:
        indent = max((width_of(flat(key)) for key, _ in self.pairs), default=0) + 2
        keys = [aligned(f"{flat(key)}: ", indent, "l") for key, _ in self.pairs]
        return "\n".join(
            # An empty value would take its key along when it is folded.
            (wrapped(value, key, " " * indent) or key).rstrip()
            for key, (_, value) in zip(keys, self.pairs, strict=True)
        )

    def to_markdown(self) -> str:
        return "\n".join(
            f"- **{escape_markdown(key)}**: {escape_markdown(value)}".rstrip()
            for key, value in self.pairs
        )

    def to_latex(self) -> str:
        return latex.pairs(self.pairs)

    def html_body(self) -> str:
        rows = "".join(
            f'<tr><th scope="row" class="l" style="text-align: left;font-weight: normal;">'
            f"{escape_html(key)}</th>"
            f'<td class="l" style="text-align: left;">{escape_html(value)}</td></tr>\n'
            for key, value in self.pairs
        )
        return f'<table class="dpstats dpstats-keys">\n<tbody>\n{rows}</tbody>\n</table>\n'


Text = Paragraph | Preformatted | Heading | KeyValues | Notes
