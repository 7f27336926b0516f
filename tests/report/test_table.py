"""Every printed form of one small summary in full, and properties of the escapes."""

from __future__ import annotations

import csv
import html
import io
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpstats.errors import ArgumentError
from dpstats.report.escape import escape_html, escape_latex, escape_markdown, prose_latex
from dpstats.report.folding import folded_call
from dpstats.report.format import LEGEND, format_coefficients, stars
from dpstats.report.table import Column, Page, Table
from dpstats.report.texts import Heading, KeyValues, Notes, Paragraph, Preformatted

ESTIMATES = [-17.5790948905109, 3.93240875912409]
ERRORS = [6.75844016937922, 0.41551277665712]
STATISTICS = [-2.60105800037601, 9.46398999020148]
P_VALUES = [0.0123188161533809, 1.48983649629509e-12]

# Much of what could go wrong is made of these.
nasty = st.text(alphabet=st.sampled_from(list("\\&%$#_{}~^<>|*[]`'\"-µ²é \n\r,;a1")), max_size=12)
texts = nasty | st.text(max_size=12)


@pytest.fixture
def coefficients() -> Table:
    shown = format_coefficients(ESTIMATES, ERRORS, STATISTICS, P_VALUES)
    return Table.from_columns(
        [
            Column("", ["(Intercept)", "speed_x"], align="l", csv_name="term"),
            Column("Estimate", shown.estimate, ESTIMATES),
            Column("Std. Error", shown.std_error, ERRORS),
            Column("t value", shown.statistic, STATISTICS),
            Column("Pr(>|t|)", shown.p_value, P_VALUES),
            Column("", stars(P_VALUES), align="l", in_csv=False),
        ],
        title="Coefficients",
        notes=[LEGEND],
        main=True,
    )


@pytest.fixture
def page(coefficients: Table) -> Page:
    return Page(
        (
            Heading("Call"),
            Preformatted("lm(dist ~ speed_x)"),
            KeyValues((("privacy", "μ = 1, δ ≤ 1e-6"), ("n", "50"))),
            Table(("", "x"), (("Min", "4"),)),
            coefficients,
            Paragraph("Noise is 100% accounted for."),
        )
    )


def test_text(page: Page) -> None:
    expected = """\
Call:
lm(dist ~ speed_x)

privacy: μ = 1, δ ≤ 1e-6
n:       50

    x
Min 4

Coefficients:
            Estimate Std. Error t value Pr(>|t|)
(Intercept) -17.5791     6.7584  -2.601   0.0123 *
speed_x       3.9324     0.4155   9.464 1.49e-12 ***
---
Signif. codes:  0 '***' 0.001 '**' 0.01 '*' 0.05 '.' 0.1 ' ' 1

Noise is 100% accounted for."""
    assert page.to_text() == expected
    assert str(page) == repr(page) == expected


def test_markdown(page: Page) -> None:
    assert (
        page.to_markdown()
        == r"""#### Call

```
lm(dist ~ speed_x)
```

- **privacy**: μ = 1, δ ≤ 1e-6
- **n**: 50

|     |   x |
|:----|----:|
| Min |   4 |

#### Coefficients

|             |   Estimate |   Std. Error |   t value |   Pr(>\|t\|) |        |
|:------------|-----------:|-------------:|----------:|-------------:|:-------|
| (Intercept) |   -17.5791 |       6.7584 |    -2.601 |       0.0123 | \*     |
| speed_x     |     3.9324 |       0.4155 |     9.464 |     1.49e-12 | \*\*\* |

Signif. codes:  0 '\*\*\*' 0.001 '\*\*' 0.01 '\*' 0.05 '.' 0.1 ' ' 1

Noise is 100% accounted for.
"""
    )


def test_latex(page: Page) -> None:
    assert (
        page.to_latex()
        == r"""\medskip\noindent\textbf{Call}\par\nobreak\smallskip

\noindent\texttt{lm(dist~\textasciitilde{}~speed\_x)}\par

\noindent\begin{tabular}{@{}lp{0.75\linewidth}@{}}
privacy & $\mu$ = 1, $\delta$ $\leq$ 1e-6 \\
n & 50 \\
\end{tabular}\par

\noindent \begin{tabular}{@{}lr@{}}
\toprule
 & x \\
\midrule
Min & 4 \\
\bottomrule
\end{tabular}\par

\medskip\noindent\textbf{Coefficients}\par\nobreak\smallskip
\noindent \begin{tabular}{@{}lrrrrl@{}}
\toprule
 & Estimate & Std. Error & t value & Pr($>$$|$t$|$) &  \\
\midrule
(Intercept) & $-$17.5791 & 6.7584 & $-$2.601 & 0.0123 & * \\
speed\_x & 3.9324 & 0.4155 & 9.464 & 1.49e-12 & *** \\
\bottomrule
\end{tabular}\par
{\footnotesize\smallskip
\noindent\raggedright Signif. codes:  0 '***' 0.001 '**' 0.01 '*' 0.05 '.' 0.1 ' ' 1\par
}

\noindent Noise is 100\% accounted for.\par
"""
    )


def test_html(page: Page) -> None:
    shown = page.to_html()
    assert shown.startswith('<div class="dpstats">\n<style>\n')
    assert shown.count("<style>") == 1
    body = re.sub(' style="[^"]*"', "", shown.split("</style>\n")[1])
    assert (
        body
        == """<p class="dpstats-heading">Call</p>
<pre class="dpstats">lm(dist ~ speed_x)</pre>
<table class="dpstats dpstats-keys">
<tbody>
<tr><th scope="row" class="l">privacy</th><td class="l">μ = 1, δ ≤ 1e-6</td></tr>
<tr><th scope="row" class="l">n</th><td class="l">50</td></tr>
</tbody>
</table>
<table class="dpstats">
<thead>
<tr><th scope="col" class="l"></th><th scope="col" class="r">x</th></tr>
</thead>
<tbody>
<tr><th scope="row" class="l">Min</th><td class="r">4</td></tr>
</tbody>
</table>
<table class="dpstats">
<caption>Coefficients</caption>
<thead>
<tr><th scope="col" class="l"></th><th scope="col" class="r">Estimate</th>\
<th scope="col" class="r">Std. Error</th><th scope="col" class="r">t value</th>\
<th scope="col" class="r">Pr(&gt;|t|)</th><th scope="col" class="l"></th></tr>
</thead>
<tbody>
<tr><th scope="row" class="l">(Intercept)</th><td class="r">-17.5791</td>\
<td class="r">6.7584</td><td class="r">-2.601</td><td class="r">0.0123</td>\
<td class="l"><span class="gap">&ensp;</span>*</td></tr>
<tr><th scope="row" class="l">speed_x</th><td class="r">3.9324</td>\
<td class="r">0.4155</td><td class="r">9.464</td><td class="r">1.49e-12</td>\
<td class="l"><span class="gap">&ensp;</span>***</td></tr>
</tbody>
<tfoot>
<tr><td class="l" colspan="6">Signif. codes:  0 &#x27;***&#x27; 0.001 &#x27;**&#x27; 0.01 \
&#x27;*&#x27; 0.05 &#x27;.&#x27; 0.1 &#x27; &#x27; 1</td></tr>
</tfoot>
</table>
<p class="dpstats">Noise is 100% accounted for.</p>
</div>
"""
    )


def test_html_keeps_its_looks_where_no_style_sheet_is_read(page: Page) -> None:
    """Word processors read none of what is pasted: rules and alignment stand in the cells."""
    rows = re.findall("<tr>.*</tr>", Table(("k", "v"), (("a", "1"), ("b", "2"))).html_body())
    head, first, last = [re.findall('style="([^"]*)"', row) for row in rows]
    assert all("border-top: 1px solid" in c and "border-bottom: 1px solid" in c for c in head)
    assert not any("border" in cell for cell in first)
    assert all("border-bottom: 1px solid" in cell for cell in last)
    for row in (head, first, last):
        assert ["left" in row[0], "right" in row[1]] == [True, True]
    cells = re.findall("<t[hd] [^>]*>", page.to_html())
    assert all("text-align" in cell for cell in cells)
    apart = Table(("k", "v", "note"), (("a", "1", "b"),), align=("l", "r", "l")).html_body()
    assert apart.count(">&ensp;<") == 2


LONG = "a note of so many words that no line of a printed page could hold it without a break in it"
WIDE = Page(
    (
        Preformatted(f'dp_lm("{" + ".join(f"a_column_{k}" for k in range(12))}", mu = 1)'),
        Table(
            ("", "v", "source", "note"), (("a line", "0.0123", LONG, LONG),), align=tuple("lrll")
        ),
        Table(("", *(f"({k})" for k in range(5))), (("yrs_married", *["-0.0123***"] * 5),)),
        Table(("", *(f"a long name {k}" for k in range(4))), (("x", *["(-1.23, 4.56)"] * 4),)),
    )
)


def test_latex_fits_the_width_of_a_page(tmp_path: Path) -> None:
    """Where LaTeX is there, no line is too wide for article; a caption makes a table that floats."""
    text = WIDE.to_latex(caption="A & B", label="tab:x")
    assert text.startswith("\\begin{table}[htbp]\n\\centering\n\\caption{A \\& B}\n\\label{tab:x}")
    assert text.endswith("\\end{table}\n")
    assert text.count("{") == text.count("}")
    assert "\\begin{table}" not in WIDE.to_latex()
    if not shutil.which("pdflatex"):
        return
    start = "\\documentclass{article}\\usepackage{booktabs}\\begin{document}"
    (tmp_path / "t.tex").write_text(f"{start}{text}\\end{{document}}")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Overfull" not in done.stdout


def test_latex_breaks_tables_that_fit_no_page() -> None:
    """Columns that do not fit follow below, behind the first; rows on the next page, with a header."""
    wide = Table(("", *(f"(fit {k})" for k in range(12))), (("x", *["-0.0123***"] * 12),))
    text = wide.to_latex()
    heads = [line for line in text.splitlines() if "(fit " in line]
    assert len(heads) == text.count("\\begin{tabular}") > 1
    assert re.findall(r"fit (\d+)", " ".join(heads)) == [str(k) for k in range(12)]
    assert all(head.startswith(" & ") for head in heads)
    assert text.count("x & $-$0.0123") == len(heads)
    # an error stands below its estimate: 41 rows of 120 fit a page, of which one belongs to the next
    tall = Table(("", "v"), tuple((f"x{k // 2}" if k % 2 == 0 else "", "1") for k in range(120)))
    parts = tall.to_latex().split("\\begin{tabular}")[1:]
    rows = [re.findall(r"^(.*?) ?& [v1] ", part, re.MULTILINE) for part in parts]
    assert [len(names) - 1 for names in rows] == [40, 40, 40]
    assert [names[1] for names in rows] == ["x0", "x20", "x40"]


def test_latex_of_no_statements_is_an_empty_table() -> None:
    assert KeyValues(()).to_latex().count("\\begin{tabular}") == 1


def test_latex_of_a_long_page_is_no_float() -> None:
    """LaTeX breaks no float; headings and paragraphs of a short page are not centred."""
    rows = tuple((f"x{k}", "1") for k in range(60))
    long = Page((Table(("", "v"), rows),)).to_latex(caption="Long", label="tab:long")
    assert "\\begin{table}" not in long
    assert "\\def\\@captype{table}\\makeatother\n\\caption{Long}\n\\label{tab:long}" in long
    assert long.endswith("\\endgroup\n")
    short = Page((Heading("A part"), Table(("", "v"), rows[:3]))).to_latex(label="tab:short")
    assert "\\begin{table}[htbp]\n\\label{tab:short}" in short
    told = Page((Heading("A part"), Paragraph("Many words. " * 400))).to_latex(label="tab:told")
    assert "\\begin{table}" not in told


def test_csv_is_the_main_table_in_full_precision(page: Page) -> None:
    assert (
        page.to_csv()
        == """term,Estimate,Std. Error,t value,Pr(>|t|)
(Intercept),-17.5790948905109,6.75844016937922,-2.60105800037601,0.0123188161533809
speed_x,3.93240875912409,0.41551277665712,9.46398999020148,1.48983649629509e-12
"""
    )


def test_csv_of_a_page_without_a_main_table() -> None:
    first, second = Table(("a",), (("1",),)), Table(("b",), (("2",),))
    assert Page((Heading("x"), first, second)).to_csv() == "a\n1\n"
    with pytest.raises(ArgumentError, match="no table"):
        Page((Heading("x"),)).to_csv()


def test_notebooks_choose_html(page: Page, coefficients: Table) -> None:
    assert page._repr_html_() == page.to_html()
    assert coefficients._repr_html_() == coefficients.to_html()
    assert not hasattr(page, "_repr_markdown_")
    assert repr(coefficients) == coefficients.to_text()


def test_text_aligns_wide_and_combining_characters() -> None:
    table = Table(("", "n"), (("日本", "1"), ("e\u0301", "2"), ("abcd", "33")))
    assert table.to_text().split("\n") == ["      n", "日本  1", "e\u0301     2", "abcd 33"]


def test_a_table_without_rows() -> None:
    table = Table(("a", "b"), ())
    assert table.to_text() == "a b"
    assert table.to_csv() == "a,b\n"
    assert table.to_markdown().count("\n") == 1
    assert "\\midrule\n\\bottomrule" in table.to_latex()
    assert "<tbody>\n</tbody>" in table.to_html()


@pytest.mark.parametrize(
    "make",
    [
        lambda: Table((), ()),
        lambda: Table(("a", "b"), (("1",),)),
        lambda: Table(("a",), (("1",),), align=("l", "r")),
        lambda: Table(("a",), (("1",),), align=("c",)),  # type: ignore[arg-type]
        lambda: Table(("a",), (("1",),), raw=((1,), (2,))),
        lambda: Table(("a",), (("1",),), csv_header=("a", "b")),
        lambda: Table.from_columns([Column("a", ["1"]), Column("b", [])]),
        lambda: Table.from_columns([Column("a", ["1"], raw=[1, 2])]),
    ],
)
def test_parts_that_do_not_fit_are_refused(make: Callable[[], Table]) -> None:
    with pytest.raises(ArgumentError):
        make()


def test_latex_guards_what_follows_a_line_end() -> None:
    rows = (("[1]", "-1.5"), ("*", "-Inf"))
    shown = Table(("k", "v"), rows).to_latex().split("\n")
    assert shown[4:6] == [r"{}[1] & $-$1.5 \\", r"{}* & $-$Inf \\"]


def test_latex_sets_symbols_in_math() -> None:
    assert escape_latex("µ μ ρ ε δ σ ² ≤ ≥ ± √ ‖ ∞") == (
        r"$\mu$ $\mu$ $\rho$ $\varepsilon$ $\delta$ $\sigma$ $^{2}$ $\leq$ $\geq$ $\pm$ "
        r"$\surd$ $\|$ $\infty$"
    )
    assert escape_latex("a---b") == "a-{}-{}-b"


def test_latex_sets_names_and_quotes_of_notes() -> None:
    note = '`a_1` of "x" (50%), method=\'gp\', "it ends."; the person\'s `a & b`'
    shown = (
        r"\texttt{a\_1} of ``x'' (50\%), method='gp', ``it ends.''; the person's "
        r"\texttt{a \& b}"
    )
    assert prose_latex(note) == shown
    assert prose_latex('dp_lm("y") and one " alone, ` too') == r'dp\_lm("y") and one " alone, ` too'
    for part in (Notes((note,)), Notes((note, "b")), Paragraph(note)):
        assert shown in part.to_latex()
    assert shown in Table(("k",), (("1",),), notes=(note,)).to_latex()


def test_markdown_paragraph_starts_no_list_or_heading() -> None:
    starts = ["# a", "- a", "+ a", "1. a", "12) a", "> a", "0.5 a"]
    shown = [Paragraph(text).to_markdown() for text in starts]
    assert shown == [r"\# a", r"\- a", r"\+ a", r"1\. a", r"12\) a", r"\> a", "0.5 a"]


def test_text_parts() -> None:
    assert KeyValues((("a", ""), ("long", "x " * 50))).to_text() == (
        "a:\nlong: " + "x " * 36 + "x\n      " + "x " * 12 + "x"
    )
    assert KeyValues(()).to_text() == ""
    assert Heading("A:").to_text() == Heading("A").to_text() == "A:"
    assert Preformatted("\na  \n\n  b\n").to_text() == "a\n\n  b"
    assert Preformatted("```").to_markdown() == "````\n```\n````"
    assert Preformatted("a\n\nb").to_latex() == (
        "\\noindent\\texttt{a}\\\\\n\\texttt{~}\\\\\n\\texttt{b}\\par"
    )
    assert max(map(len, Paragraph("word " * 40).to_text().split("\n"))) <= 80


@given(texts)
def test_latex_escape_leaves_no_raw_special(text: str) -> None:
    shown = escape_latex(text)
    commands = r"\\text(?:backslash|asciitilde|asciicircum)\{\}|\\[&%$#_{}]"
    rest = re.sub(rf"{commands}|\$(?:\\\w+|\\\||\^\{{\d\}}|[<>|-])\$|-\{{\}}", "", shown)
    assert not set(rest) & set("\\&%$#_{}~^<>|\n")
    assert "--" not in shown


@given(texts)
def test_html_escape_is_undone_by_a_browser(text: str) -> None:
    shown = escape_html(text)
    assert not set(shown) & set("<>\"'")
    if text.isprintable():
        assert html.unescape(shown) == text


@given(texts)
def test_markdown_escape_is_undone_by_a_reader(text: str) -> None:
    shown = escape_markdown(text)
    assert not re.search(r"(?<!\\)(?:\\\\)*[|*`\[$]", shown.replace("\\\\", ""))
    if text.isprintable():
        assert re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", shown) == text


@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=3))
def test_every_form_keeps_its_shape_whatever_the_cells(rows: list[tuple[str, str]]) -> None:
    table = Table(("k", "v"), tuple(rows), raw=tuple(rows))
    assert len(table.to_text().split("\n")) == len(rows) + 1
    grid = table.to_markdown().split("\n")
    assert len(grid) == len(rows) + 2
    for line in grid:
        assert len(re.findall(r"(?<!\\)\|", line.replace("\\\\", ""))) == 3
    body = table.to_latex().split("\\midrule\n")[1].split("\\bottomrule")[0].rstrip("\n")
    assert len(body.split("\n")) == len(rows)
    assert all(len(re.findall(r"(?<!\\)&", line)) == 1 for line in body.split("\n"))
    assert table.to_html().count("<td") == len(rows)
    read = list(csv.reader(io.StringIO(table.to_csv(), newline="")))
    assert read == [["k", "v"], *map(list, rows)]


@given(st.lists(st.floats(allow_nan=False), min_size=1, max_size=5))
def test_csv_numbers_read_back_exactly(values: list[float]) -> None:
    table = Table.from_columns([Column("x", ["?"] * len(values), values)])
    read = list(csv.reader(io.StringIO(table.to_csv(), newline="")))
    assert [float(row[0]) for row in read[1:]] == values


def test_a_wide_matrix_is_printed_in_blocks_as_in_r() -> None:
    """R 4.2: print(matrix(...), quote = FALSE) repeats the names of rows below each other."""
    names = [f"column{j:02d}" for j in range(12)]
    table = Table(("", *names), tuple((name, *["1.234567"] * 12) for name in names))
    lines = table.to_text().splitlines()
    assert max(map(len, lines)) <= 80
    assert len(lines) == 2 * 13
    assert [line.split()[0] for line in lines[1:13]] == names
    assert [line.split()[0] for line in lines[14:]] == names
    assert sorted(lines[0].split() + lines[13].split()) == names


def test_all_columns_that_name_a_row_are_repeated_in_every_block() -> None:
    rows = tuple((term, "b - a", str(k), *["1.234567"] * 10) for k, term in enumerate("xyz"))
    header = ("term", "contrast", "row", *(f"v{j}" for j in range(10)))
    lines = Table(header, rows, align=("l", "l", "l", *["r"] * 10)).to_text().splitlines()
    assert len(lines) == 2 * 4
    for block in (lines[:4], lines[4:]):
        assert block[0].startswith("term contrast row")
        assert [line[:15] for line in block[1:]] == [
            "x    b - a    0",
            "y    b - a    1",
            "z    b - a    2",
        ]


def test_long_texts_are_folded_where_they_may_be() -> None:
    long = "C(occupation)[T.farmer]:C(region)[T.north]"
    table = Table(("", "note", "n"), ((long, "many words " * 8, "1"),), align=("l", "l", "r"))
    text = table.to_text()
    assert max(map(len, text.splitlines())) <= 80
    assert text.replace("\n", " ").count("many") == 8
    assert text.splitlines()[1].endswith(" 1")


@pytest.mark.parametrize(
    "call",
    [
        'dp_lm("y ~ x", data, mu = 1)',
        f'dp_lm("y ~ {" + ".join(f"x{j}, " for j in range(30))}", limits = {{"a": (1, 2)}})',
        'f("an \\" odd, one", [1, 2, 3], '
        + ", ".join(f"argument{j} = {j}" for j in range(20))
        + ")",
    ],
)
def test_a_folded_call_is_the_same_call(call: str) -> None:
    lines = folded_call(call).splitlines()
    assert " ".join(line.strip() for line in lines) == call
    assert all(line.startswith("    ") for line in lines[1:])
    if "odd" in call:
        assert max(map(len, lines)) <= 80
