"""Escaping of texts for LaTeX, Markdown and HTML."""

from __future__ import annotations

import html
import re

_MARKDOWN = re.compile(
    r"[\\`*\[|$]|<(?=[a-zA-Z/!?])|&(?=#?\w+;)"  # what has a meaning wherever it stands
    r"|(?<!\s)~|~(?!\s)"  # R's tilde between spaces strikes nothing through
    r"|(?<![^\W_])_|_(?![^\W_])"  # an underscore inside a word is only that
)
_CODE = re.compile("`([^`]+)`")
_QUOTED = re.compile(r'(?<![\w(=\[])"([^"]*)"(?!\w)')
_PARTS = re.compile(r"(?<=[_:.,(\[])(?=\w)|(?=\[)")
_LONG_NAME = 16
"""Letters of a name from which a line may end after its underscores, colons and brackets."""
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")

_GREEK = "αβγδεϵζηθκλμµνξπρστφϕχψωΓΔΘΛΞΠΣΦΨΩ"
_GREEK_NAMES = (
    "alpha beta gamma delta varepsilon epsilon zeta eta theta kappa lambda mu mu nu xi pi rho "
    "sigma tau varphi phi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega"
)
_SIGNS = "≤≥≠≈±×·−∞∈→‖√¹²³"
_SIGN_NAMES = r"\leq \geq \neq \approx \pm \times \cdot - \infty \in \to \| \surd ^{1} ^{2} ^{3}"
_MATH = {
    **{c: f"\\{name}" for c, name in zip(_GREEK, _GREEK_NAMES.split(), strict=True)},
    **dict(zip(_SIGNS, _SIGN_NAMES.split(), strict=True)),
    # In LaTeX's default font encoding these three would print other characters.
    **{c: c for c in "<>|"},
}
_LATEX = str.maketrans(
    {
        **{c: f"\\{c}" for c in "&%$#_{}"},
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "\\": r"\textbackslash{}",
        **{c: f"${math}$" for c, math in _MATH.items()},
    }
)


def flat(text: str) -> str:
    """Put a text on one line, free of control characters; its own spaces stay."""
    return _CONTROL.sub(" ", text)


def escape_latex(text: str) -> str:
    r"""A text for LaTeX without any package, on one line, with Greek letters and signs set in math.

    Examples
    --------
    >>> print(escape_latex("Pr(>|t|) & y ~ x_1, μ ≤ 1"))
    Pr($>$$|$t$|$) \& y \textasciitilde{} x\_1, $\mu$ $\leq$ 1
    """
    # Adjoining hyphens would join into a dash.
    return re.sub("-(?=-)", "-{}", flat(text).translate(_LATEX))


def prose_latex(text: str) -> str:
    r"""A sentence for LaTeX: names in backquotes in a fixed-width font, and quotes that turn.

    Quotes inside a call, after a bracket or an equals sign, stay straight.

    Examples
    --------
    >>> print(prose_latex('The share of `x_1` is "NaN": dp_lm("y ~ x").'))
    The share of \texttt{x\_1} is ``NaN'': dp\_lm("y \textasciitilde{} x").
    """
    parts = _CODE.split(text)
    parts[1::2] = [_code_latex(code) for code in parts[1::2]]
    parts[::2] = [_QUOTED.sub(r"``\1''", escape_latex(words)) for words in parts[::2]]
    return "".join(parts)


def _code_latex(code: str) -> str:
    """A name in a fixed-width font; a line may end within a long one."""
    parts = _PARTS.split(code) if len(code) > _LONG_NAME else [code]
    broken = r"\allowbreak{}".join(map(escape_latex, parts))
    return rf"\texttt{{{broken}}}"


def escape_markdown(text: str) -> str:
    r"""A text for Markdown, on one line, so that it reads literally, in a table as well.

    What has no meaning in Markdown where it stands, such as the underscore inside a word, stays as it
    is.

    Examples
    --------
    >>> print(escape_markdown("Pr(>|t|) of my_var: ***"))
    Pr(>\|t\|) of my_var: \*\*\*
    """
    return _MARKDOWN.sub(r"\\\g<0>", flat(text))


def escape_html(text: str) -> str:
    """A text for HTML, on one line, in content and in quoted attributes.

    Examples
    --------
    >>> escape_html("a < b & c")
    'a &lt; b &amp; c'
    """
    return html.escape(flat(text))
