"""Formulas with effects and instruments, as fixest writes them: ``y ~ x | id + year | d ~ z``."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from dpstats.errors import FormulaError
from dpstats.frame.formula.grammar import Factor, hide_brackets, replace_quotes
from dpstats.frame.formula.parse import dot_without, parse, term_code

_SHAPE = (
    "a formula has up to three parts, 'y ~ x | id + year | d ~ z': what is estimated, effects, and "
    "endogenous columns with their instruments"
)
_CALL = re.compile(r"(?<![\w.])i\(")
_NAME = re.compile(r"[^\W\d][\w.]*|`[^`]+`")
_PLUS = re.compile(r"\+(?=[^`]*(?:`[^`]*`[^`]*)*$)")
"""Outside backticks."""


@dataclass(frozen=True)
class PanelFormula:
    """A formula in parts.

    Attributes
    ----------
    text : str
        As it was typed.
    response, exogenous : str
    effects : tuple of str
        Columns.
    endogenous, instruments : tuple of str
        Terms.
    helpers : tuple of str
        Columns that the design needs beside an ``i(f, x, ref=)``, and that are not estimated.
    reference : str or None
        Of the first ``i(..., ref=)``.
    """

    text: str
    response: str
    exogenous: str
    effects: tuple[str, ...]
    endogenous: tuple[str, ...]
    instruments: tuple[str, ...]
    helpers: tuple[str, ...] = ()
    reference: str | None = None

    def dummies(self, absorbed: str | None) -> list[str]:
        """Terms of the effects but the ``absorbed`` ones."""
        others = [name for name in self.effects if name != absorbed]
        return [f"C({name if _NAME.fullmatch(name) else f'`{name}`'})" for name in others]

    def design(self, absorbed: str | None) -> str:
        """The formula of all columns that are read; effects but the ``absorbed`` ones are dummies."""
        parts = [self.exogenous, *self.dummies(absorbed)]
        return f"{self.response} ~ {' + '.join([*parts, *self.instruments, *self.endogenous])}"


def panel_formula(
    text: str, truths: Collection[str] = (), person: str | None = None
) -> PanelFormula:
    """Read a formula; ``truths`` are columns of True and False, which are 1 and 0 in ``i(f, x)``.

    A ``.`` stands for no effect, and not for the column that names the ``person``.

    Examples
    --------
    >>> panel_formula("y ~ x + i(year, treat, ref=2010) | id + year").effects
    ('id', 'year')
    >>> panel_formula("wage ~ exper | educ ~ college").instruments
    ('college',)
    """
    if not isinstance(text, str):
        raise FormulaError(
            f"the formula must be text such as 'y ~ x | id', not {type(text).__name__}."
        )
    first, *others = (part.strip() for part in _split(text))
    second = [part for part in others if "~" in part]
    effects = [part for part in others if "~" not in part]
    if len(effects) > 1 or len(second) > 1 or (second and second != others[-1:]):
        raise FormulaError(f"'{text}': {_SHAPE}.")
    if first.count("~") != 1 or not first.partition("~")[0].strip():
        raise FormulaError(f"'{text}': {_SHAPE}; the first part has a response, 'y ~ x'.")
    response, _, exogenous = (side.strip() for side in first.partition("~"))
    absorbed = tuple(_effects(effects[0])) if effects else ()
    named = dict.fromkeys([*absorbed, *([person] if person else [])])
    exogenous = dot_without(exogenous or "1", named)
    exogenous, helpers, reference = _with_levels(exogenous, truths)
    endogenous: tuple[str, ...] = ()
    instruments: tuple[str, ...] = ()
    if second:
        left, _, right = second[0].partition("~")
        endogenous, instruments = _terms(left), _terms(_with_levels(right, truths)[0])
        if len(instruments) < len(endogenous):
            raise FormulaError(
                f"'{text}': {len(endogenous)} endogenous columns need as many instruments or more, "
                f"'... | {' + '.join(endogenous)} ~ z1 + z2'; here there "
                f"{'is' if len(instruments) == 1 else 'are'} {len(instruments)}."
            )
    _require_apart(text, exogenous, endogenous, instruments, absorbed)
    return PanelFormula(
        text,
        response,
        exogenous,
        absorbed,
        endogenous,
        instruments,
        helpers,
        reference,
    )


def _require_apart(
    text: str,
    exogenous: str,
    endogenous: tuple[str, ...],
    instruments: tuple[str, ...],
    absorbed: tuple[str, ...],
) -> None:
    """Every term has one role."""
    own = {_factors(term) for term in parse(f"~ {exogenous}").terms if term}
    twice = [name for name in absorbed if frozenset({name}) in own]
    if twice and not endogenous:
        raise FormulaError(
            f"'{text}': `{twice[0]}` is both a regressor and an effect, as what stands behind the bar "
            "is. Instruments have a '~' there: 'y ~ controls | endogenous ~ instruments'."
        )
    for term in (*endogenous, *instruments):
        if {_factors(t) for t in parse(f"~ {term}").terms if t} & own:
            raise FormulaError(
                f"'{text}': `{term}` is both in the first part and after the bar. A control is its "
                "own instrument; endogenous columns and instruments belong after the bar only."
            )
    both = set(endogenous) & set(instruments)
    if both:
        raise FormulaError(f"'{text}': `{min(both)}` cannot be its own instrument.")


def _factors(term: Iterable[Factor]) -> frozenset[str]:
    return frozenset(factor.text for factor in term)


def _split(text: str) -> list[str]:
    """Parts between bars that stand in no parenthesis, text or quoted name."""
    parts, depth, quote = [""], 0, ""
    for sign in text:
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"`":
            quote = sign
        elif sign in "([":
            depth += 1
        elif sign in ")]":
            depth -= 1
        if sign == "|" and depth == 0 and not quote:
            parts.append("")
        else:
            parts[-1] += sign
    return parts


def _effects(text: str) -> Iterator[str]:
    for name in (part.strip() for part in _PLUS.split(text)):
        if name in ("0", "1"):
            continue
        if not _NAME.fullmatch(name):
            raise FormulaError(
                f"`{name}` is not an effect: effects are names of columns, 'y ~ x | id + year'. "
                + (
                    "Make a column of the combination, such as data['a'] + '-' + data['b']."
                    if "^" in name
                    else "Slopes that differ are written as interactions, C(g):x, in the first part."
                )
            )
        yield name.strip("`")


def _terms(text: str) -> tuple[str, ...]:
    return tuple(term_code(term) for term in parse(f"~ {text}").terms if term)


def _with_levels(text: str, truths: Collection[str]) -> tuple[str, tuple[str, ...], str | None]:
    """Write out each ``i(f)``, ``i(f, ref=)``, ``i(f, x)`` and ``i(f, x, ref=)``."""
    helpers, reference = [], None
    numbers: dict[str, str] = {}
    found = _CALL.search(text)
    while found is not None:
        start, end = found.start(), _closing(text, found.end() - 1)
        call = text[start : end + 1]
        column, other, base = _arguments(call)
        reference = reference or base
        written = other
        if written is not None and written in truths:
            other = numbers[written] = f"as.numeric({written})"
        code = f"C({column})" if base is None else f"C({column}, contr.treatment({base}))"
        if other is None:
            instead = code
        elif base is None:
            instead = f"{other}:{code}"
        else:
            instead = f"{other} + {other}:{code}"
            outside = text[:start] + text[end + 1 :]
            if {written, other}.isdisjoint(part.strip() for part in outside.split("+")):
                helpers.append(other)
        text = text[:start] + instead + text[end + 1 :]
        found = _CALL.search(text, start + len(instead))
    if numbers:  # the column by itself is the same number, and not a category beside it
        text = " + ".join(numbers.get(p, p) for p in map(str.strip, text.split("+")))
    return text, tuple(helpers), reference


def _closing(text: str, start: int) -> int:
    depth, hidden = 0, hide_brackets(text)[0]
    for at in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(hidden[at], 0)
        if depth == 0:
            return at
    raise FormulaError(f"'{text[start - 1 :]}' is not closed.")


def _arguments(call: str) -> tuple[str, str | None, str | None]:
    text, quoted = replace_quotes(call)
    try:
        node = ast.parse(text, mode="eval").body
    except SyntaxError:
        node = None
    if isinstance(node, ast.Call) and len(node.args) == 3 and not node.keywords:  # i(f, x, level)
        node.keywords = [ast.keyword("ref", node.args.pop())]
    if isinstance(node, ast.Call) and all(isinstance(arg, ast.Name) for arg in node.args):
        words = [arg.id for arg in node.args if isinstance(arg, ast.Name)]
        names = [f"`{quoted[word]}`" if word in quoted else word for word in words]
        given = {word.arg: word.value for word in node.keywords}
        base = given.get("ref")
        if len(names) in (1, 2) and set(given) <= {"ref"}:
            constant = base is None or isinstance(base, ast.Constant | ast.UnaryOp)
            if constant:
                written = None if base is None else ast.unparse(base)
                return names[0], names[1] if len(names) > 1 else None, written
    several = " One level is the reference: where several are, make them one in the column."
    raise FormulaError(
        f"`{call}` is not understood: i(f), i(f, ref=level), i(f, x) or i(f, x, ref=level), with "
        f"columns f (its levels) and x.{several if 'ref' in call else ''}"
    )


_NUMBER = re.compile(r"as_numeric\(([^()]+)\)")
_BASE = r"""(?:, contr\.treatment\((?:base=)?(?:'[^']*'|"[^"]*"|[^()])*\))"""
_CODED = re.compile(rf"C\(([^,()]+){_BASE}?\)\[(?:T\.)?(.*?)\]")


_STUDY = re.compile(r"(?:(.+):)?C\(([^,()]+), contr\.treatment\(('[^']*'|[^()]*)\)\)")


def term_name(term: str) -> str:
    """A term of the design as ``i()`` writes it, where it has a reference.

    Examples
    --------
    >>> term_name("treat:C(year, contr.treatment(2010))")
    'i(year, treat, ref=2010)'
    """
    found = _STUDY.fullmatch(_NUMBER.sub(r"\1", term))
    if found is None:
        return term
    column = f", {found[1]}" if found[1] else ""
    return f"i({found[2]}{column}, ref={found[3]})"


def level_name(term: str) -> str:
    """A column of the design by fixest's name.

    Examples
    --------
    >>> level_name("treat:C(year, contr.treatment(2010))[T.2011]")
    'year::2011:treat'

    A column of True and False is a number there:

    >>> level_name("as_numeric(treat):C(year)[2011]")
    'year::2011:treat'
    """
    term = _NUMBER.sub(r"\1", term)
    parts = [_CODED.sub(r"\1::\2", part) for part in re.split(r":(?![^\[(]*[\])])", term)]
    return ":".join(sorted(parts, key=lambda part: "::" not in part))
