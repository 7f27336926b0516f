"""The grammar of factors: the row-by-row expressions that a formula may use.

A factor such as ``log(x)`` or ``poly(x, 2)`` is parsed once into a small tree, and only what is
computed row by row is let through: anything that could look at two rows at once, or at something
which is not a column, is refused before a table is opened.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from itertools import pairwise
from typing import Any

from dpstats.errors import FormulaError
from dpstats.frame.formula.advice import (
    ALLOWED,
    ROW_BY_ROW,
    instead_of,
    no_function,
    word_of_python,
)

ELEMENTWISE = (
    *("log", "log2", "log10", "log1p", "exp", "expm1", "sqrt", "asinh", "abs", "sign"),
    *("floor", "ceiling", "trunc", "round", "sin", "cos", "tan"),
)
SEVERAL = {"ifelse": (3, 3), "pmin": (2, 100), "pmax": (2, 100)}
"""Functions of several numbers of a row, and how many these are."""
CATEGORIES = ("C", "factor", "ordered", "relevel", "interaction")
"""R's ways of saying that a column is a category; all are C() once they are read."""
SCALINGS = ("center", "scale")
_LEARNT = ("poly", "bs", "ns", "cr", "cc")
BASES = (*_LEARNT, "cut")

TRUTHS = ("==", "!=", "<", "<=", ">", ">=", "is", "is not", "in", "and", "or", "not")
"""Whose values are 0 and 1."""
STEPS = (*TRUTHS, "cut", "cut_number", "floor", "ceiling", "trunc", "round", "sign", "//", "%")
"""Which have no slope: they are flat, and jump."""

_CUBIC = ("df", "knots", "lower_bound", "upper_bound", "constraints", "extrapolation")
_BSPLINE = ("df", "knots", "degree", "include_intercept", "lower_bound", "upper_bound")
_ENDS = ("intercept", "Boundary_knots")  # as R spells them
OPTIONS: Mapping[str, tuple[str, ...]] = {
    "center": (),
    "scale": ("center", "scale", "ddof"),
    "poly": ("degree", "raw"),
    "bs": (*_BSPLINE, "extrapolation", *_ENDS),
    "ns": ("df", "knots", *_ENDS),
    "cr": _CUBIC,
    "cc": _CUBIC,
    "cut": ("breaks", "labels", "include_lowest", "right"),
    "C": ("contrasts", "levels", "spans_intercept", "base"),
    "factor": ("levels", "ordered"),
    "ordered": ("levels",),
    "relevel": ("ref",),
    "interaction": ("sep",),
}
CONTRASTS: Mapping[str, tuple[str, ...]] = {
    "treatment": ("base",),
    "SAS": ("base",),
    "sum": (),
    "helmert": ("reverse", "scale"),
    "poly": ("scores",),
    "diff": ("backward",),
}
_CONTRAST_ALIASES: Mapping[str, str] = {
    name: key
    for key in ("treatment", "sum", "helmert", "poly", "diff")
    for name in (key.capitalize(), key)
}
_OPERATORS: Mapping[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.USub: "neg",
    ast.UAdd: "pos",
}
_NAMED = {"Inf": math.inf, "T": True, "F": False}
_CALLABLE = (
    *(*ELEMENTWISE, *SEVERAL, *SCALINGS, *BASES, *CATEGORIES),
    *("I", "offset", "as_numeric", "as_logical"),
)
_DOT = "_dot_"
"""The dot of R's is.na(), which Python reads as an attribute."""
_MOST_COLUMNS = 1000  # of one basis
_MOST_DIGITS = 15
_DEEPEST = 150
_QUOTED = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|`([^`]*)`")
_PLAIN_NAME = re.compile(r"[^\W\d][\w.]*")
_BRACKETS = "()[]{}`"


@dataclass(frozen=True)
class Expr:
    """One node of a factor.

    ``op`` is ``column`` (``value``: its name), ``number``, an operator of Python's, ``is`` or
    ``is not`` (a column and a level), ``in`` (``value``: numbers), a function of one or several
    numbers, a scaling or a basis (``value``: its options; ``text``: the call, which is also the key
    of its state), ``C`` of one column or of several, or ``offset``.
    """

    op: str
    args: tuple[Expr, ...] = ()
    value: Any = None
    text: str = field(default="", compare=False)

    def walk(self) -> Iterator[Expr]:
        """This node and all below it, children first."""
        for arg in self.args:
            yield from arg.walk()
        yield self

    @property
    def depth(self) -> int:
        """How many calls stand in each other."""
        return 1 + max((arg.depth for arg in self.args), default=0)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns it reads, in order of first use."""
        return tuple(dict.fromkeys(e.value for e in self.walk() if e.op == "column"))

    @property
    def stateful(self) -> tuple[Expr, ...]:
        """The calls that learn something from the public rows, innermost first."""
        return tuple(
            e
            for e in self.walk()
            if e.op in SCALINGS
            or (e.op in _LEARNT and not (e.op == "poly" and e.value.get("raw", False)))
        )


@dataclass(frozen=True)
class Factor:
    """A factor as the formula names it: a column, an expression, or a number that scales."""

    text: str
    kind: str  # "column", "expression" or "literal"

    @property
    def code(self) -> str:
        """The text that parses back to this factor."""
        if self.kind == "column" and not _PLAIN_NAME.fullmatch(self.text):
            return f"`{self.text}`"
        return f"{{{self.text}}}" if self.kind == "expression" and self._bare else self.text

    @property
    def _bare(self) -> bool:
        # {x > 0} is tokenised by its braces, f(x) by its parentheses
        return not re.fullmatch(r"[^\W\d]\w*\(.*\)", self.text, re.DOTALL) or not isinstance(
            ast.parse(replace_quotes(self.text)[0], mode="eval").body, ast.Call
        )

    def parse(self) -> Expr:
        """The factor's tree.

        Examples
        --------
        >>> Factor("log(x + 1)", "expression").parse().columns
        ('x',)
        """
        if self.kind == "column":
            return Expr("column", value=self.text)
        return parse_factor(self.text)


def parse_factor(text: str) -> Expr:
    """Parse the Python text of one factor and check it against what is allowed.

    Raises
    ------
    FormulaError
        If the factor is not a row-by-row map.

    Examples
    --------
    >>> parse_factor("poly(x, 2)").value
    {'degree': 2}
    >>> parse_factor("I(x - x.mean())")
    Traceback (most recent call last):
    ...
    dpstats.errors.FormulaError: `I(x - x.mean())` cannot be used: ...
    """
    code, names = replace_quotes(text)
    try:
        body = ast.parse(code.strip(), mode="eval").body
        tree = _Parser(text, names).top(body)
        if tree.depth > _DEEPEST:
            raise FormulaError(
                f"`{text[:60]}...` is nested too deeply: make the column in both tables beforehand."
            )
    except (SyntaxError, ValueError, RecursionError, OverflowError) as error:
        if isinstance(error, FormulaError):
            raise
        reason = word_of_python(text) or instead_of(text) or str(error).split(" (<")[0]
        raise FormulaError(
            f"`{text}` is not a valid expression ({reason}). {ROW_BY_ROW}, as in log(x + 1)."
        ) from None
    if not tree.columns:
        raise FormulaError(f"`{text}` uses no column. {ROW_BY_ROW}, as in log(x + 1).")
    return tree


def replace_quotes(text: str) -> tuple[str, dict[str, str]]:
    """Put identifiers in the place of backtick-quoted names; return the names behind them."""
    prefix = "_quoted"
    while prefix in text:
        prefix += "_"
    names: dict[str, str] = {}

    def replace(match: re.Match[str]) -> str:
        if match[1] is None:
            return match[0]
        if not match[1].strip():
            raise FormulaError("`` names no column: a column without a name needs one.")
        alias = f"{prefix}{len(names)}_"
        names[alias] = match[1]
        return f" {alias} "

    return _QUOTED.sub(replace, text), names


def hide_brackets(text: str) -> tuple[str, dict[int, int]]:
    """The text, as long as it was, without brackets between quotes, and what `translate` undoes it by.

    Tokenisers that count brackets do not know quotes. What stands in for them is printable, so that
    Python writes it as it is, and occurs nowhere in the text.
    """
    free = "".join(sign for sign in map(chr, range(0x2801, 0x2900)) if sign not in text)
    if len(free) < len(_BRACKETS):
        return text, {}
    signs = str.maketrans(_BRACKETS, free[: len(_BRACKETS)])
    hidden = _QUOTED.sub(lambda m: m[0] if m[1] is not None else m[0].translate(signs), text)
    return hidden, {sign: bracket for bracket, sign in signs.items()}


class _Parser:
    def __init__(self, text: str, names: Mapping[str, str]) -> None:
        self.text = text
        self.names = names

    def refuse(self, why: str, end: str = f"{ROW_BY_ROW}.") -> FormulaError:
        return FormulaError(f"`{self.text}` cannot be used: {why}. {end}")

    def show(self, node: ast.AST) -> str:
        text = ast.unparse(node)
        for alias, name in self.names.items():
            text = text.replace(alias, f"`{name}`")
        return text

    def top(self, node: ast.expr) -> Expr:
        """C(), the bases and offset() may only be a factor by themselves."""
        name = _called(node)
        if name == "offset":
            arg, options = self.call(node, "offset", ())
            return Expr("offset", (self.row(arg),), options)
        if name == "interaction":
            return self.interaction(node)
        if name == "factor" and node.args and _called(node.args[0]) == "cut":  # type: ignore[attr-defined]
            return self.top(node.args[0])  # type: ignore[attr-defined]
        if name in CATEGORIES:
            return self.category(node, name)
        if name in BASES:
            call = self.with_options(node, name)
            if name == "cut":
                self.check_cut(call.value)
                if call.value.get("labels") is False:
                    return replace(call, op="cut_number")
            if name in ("bs", "ns"):
                return replace(call, value=self.spline(name, call.value))
            return call
        return self.row(node)

    def category(self, node: ast.expr, name: str) -> Expr:
        """factor(), ordered(), relevel() and C(), as C(); a comparison in factor() as it is."""
        if name in ("relevel", "C") and isinstance(node, ast.Call) and node.args:
            inner = node.args[0]
            plain = isinstance(inner, ast.Call) and len(inner.args) == 1 and not inner.keywords
            if plain and _called(inner) == "factor":
                node.args[0] = inner.args[0]  # type: ignore[attr-defined]
        call = self.with_options(node, name)
        arg, options = call.args[0], call.value
        if name == "factor" and arg.op in TRUTHS and not options:
            return arg
        if arg.op != "column":
            raise self.refuse(f"the first argument of {name}() must be the name of a column")
        if name == "relevel":
            if "ref" not in options:
                raise self.refuse("relevel() needs ref=, the level to compare with")
            base = {"contrast": "treatment", "options": {"base": options["ref"]}}
            options = {"contrasts": base}
        elif name == "ordered" or options.get("ordered") is not None:
            how = "poly" if options.pop("ordered", True) else "treatment"
            options = {**options, "contrasts": {"contrast": how, "options": {}}}
        if "base" in options:  # as in C(g, contr.treatment, base=2): a number counts the levels
            given = options.pop("base")
            at = {"level": given} if type(given) is int else {"base": given}
            options["contrasts"] = {"contrast": "treatment", "options": at}
        return replace(call, op="C", value=options)

    def interaction(self, node: ast.expr) -> Expr:
        """All combinations of levels as one category, the first column's fastest, as in R."""
        assert isinstance(node, ast.Call)
        args = tuple(map(self.row, node.args))
        names = [arg.value for arg in args if arg.op == "column"]
        given = {str(k.arg): self.constant(k.value) for k in node.keywords}
        if (
            len(args) < 2
            or len(set(names)) < len(args)
            or not isinstance(given.get("sep", ""), str)
        ):
            raise self.refuse("interaction() takes the names of two columns or more, and sep='.'")
        if not set(given) <= {"sep"}:
            raise self.refuse(
                "interaction() has all combinations of levels; its one option is sep="
            )
        return Expr("C", args, given)

    def spline(self, name: str, options: dict[str, Any]) -> dict[str, Any]:
        """Options of bs() and ns() under one spelling: lists of knots, bounds, include_intercept."""
        given = dict(options)
        ends = given.pop("Boundary_knots", None)
        knots = given.get("knots")
        if isinstance(knots, int | float) and not isinstance(knots, bool):
            given["knots"] = [knots]
        if ends is not None:
            numbers = isinstance(ends, list) and all(type(v) in (int, float) for v in ends)
            if not numbers or len(ends) != 2 or not -math.inf < ends[0] < ends[1] < math.inf:
                raise self.refuse("Boundary.knots= takes two increasing numbers, c(0, 10)")
            given["lower_bound"], given["upper_bound"] = map(float, ends)
            if name == "bs":
                given.setdefault("extrapolation", "extend")
        if "intercept" in given:
            given["include_intercept"] = given.pop("intercept")
        return given

    def check_cut(self, options: dict[str, Any]) -> None:
        breaks, labels = options.get("breaks"), options.get("labels")
        plain = isinstance(breaks, list) and all(
            isinstance(v, int | float) and not isinstance(v, bool) for v in breaks
        )
        breaks = breaks if isinstance(breaks, list) and plain else []
        if len(breaks) < 3 or not all(a < b for a, b in pairwise(breaks)):
            raise self.refuse(
                "cut() needs its breaks as three or more increasing numbers, breaks=c(0, 18, 65, "
                "Inf); a number of intervals would depend on private rows"
            )
        if labels not in (None, False) and (
            not isinstance(labels, list) or len(labels) != len(breaks) - 1
        ):
            raise self.refuse(f"cut() has {len(breaks) - 1} intervals, and needs as many labels")

    def with_options(self, node: ast.expr, name: str) -> Expr:
        """A call of a row and of constants."""
        arg, options = self.call(node, name, OPTIONS[name])
        return Expr(name, (self.row(arg),), options, self.show(node))

    def row(self, node: ast.expr) -> Expr:
        """A node with one number per row."""
        if isinstance(node, ast.Name):
            return Expr("column", value=self.names.get(node.id, node.id))
        if isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
            return Expr("number", value=float(node.value))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return Expr("not", (self.row(node.operand),))
        if isinstance(node, ast.BoolOp):
            op = "and" if isinstance(node.op, ast.And) else "or"
            return reduce(lambda a, b: Expr(op, (a, b)), map(self.row, node.values))
        if isinstance(node, ast.UnaryOp) and type(node.op) in _OPERATORS:
            return Expr(_OPERATORS[type(node.op)], (self.row(node.operand),))
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            op = _OPERATORS[type(node.op)]
            return Expr(op, (self.row(node.left), self.row(node.right)))
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitXor):
            raise self.refuse("inside a call, write a power as **, as in I(x ** 2)")
        if isinstance(node, ast.Compare):
            return self.comparison(node)
        if isinstance(node, ast.Call):
            return self.function(node)
        if isinstance(node, ast.Attribute):
            raise self.refuse(
                f"`{self.show(node)}` takes an attribute; a column with a dot in its name goes "
                "in backticks, and log is written log, not np.log"
            )
        if isinstance(node, ast.Constant):
            raise self.refuse(
                "a text constant can only be compared with a column (==, !=) or be an option"
            )
        raise self.refuse(f"`{self.show(node)}` is not row-by-row arithmetic", ALLOWED)

    def comparison(self, node: ast.Compare) -> Expr:
        sides = [node.left, *node.comparators]
        links = []
        for op, left, right in zip(node.ops, sides[:-1], sides[1:], strict=True):
            symbol = _OPERATORS.get(type(op))
            if isinstance(op, ast.In | ast.NotIn):
                links.append(self.member(left, right, isinstance(op, ast.NotIn)))
                continue
            if symbol is None:
                raise self.refuse(f"`{self.show(node)}` is not one of == != < <= > >=")
            if isinstance(right, ast.Constant) and isinstance(right.value, str):
                column = self.row(left)
                if column.op != "column" or symbol not in ("==", "!="):
                    raise self.refuse("a text constant can only be compared by column == 'level'")
                links.append(Expr("is" if symbol == "==" else "is not", (column,), right.value))
            else:
                links.append(Expr(symbol, (self.row(left), self.row(right))))
        return reduce(lambda left, right: Expr("*", (left, right)), links)

    def member(self, left: ast.expr, right: ast.expr, negated: bool) -> Expr:
        """``x %in% c(1, 2)``, ``g %in% c('a', 'b')``."""
        known = self.constant(right)
        known = known if isinstance(known, list) else [known]
        column = self.row(left)
        if known and all(isinstance(v, str) for v in known) and column.op == "column":
            found = reduce(
                lambda a, b: Expr("or", (a, b)), [Expr("is", (column,), v) for v in known]
            )
        elif known and all(isinstance(v, int | float) for v in known):
            found = Expr("in", (column,), tuple(float(v) for v in known))
        else:
            raise self.refuse("%in% takes numbers, or a column and levels: g %in% c('a', 'b')")
        return Expr("not", (found,)) if negated else found

    def function(self, node: ast.Call) -> Expr:
        name = _called(node)
        if name == "I":
            return self.row(self.call(node, "I", ())[0])
        if name == "log":
            arg, options = self.call(node, name, ("base",))
            base = options.get("base", 1.0)
            if not isinstance(base, int | float) or isinstance(base, bool) or not base > 0:
                raise self.refuse("the base of log() must be a number above 0")
            log = Expr(name, (self.row(arg),))
            by = Expr(name, (Expr("number", value=float(base)),))
            return Expr("/", (log, by)) if options else log
        if name == "round":
            arg, options = self.call(node, name, ("digits",))
            digits = options.get("digits", 0)
            if type(digits) is not int or abs(digits) > _MOST_DIGITS:
                raise self.refuse(f"the digits of round() are a whole number up to {_MOST_DIGITS}")
            return Expr(name, (self.row(arg),), digits or None)
        if name in ELEMENTWISE:
            return Expr(name, (self.row(self.call(node, name, ())[0]),))
        if name in SEVERAL:
            least, most = SEVERAL[name]
            if node.keywords or not least <= len(node.args) <= most:
                how = "three arguments" if least == most else "two arguments or more"
                raise self.refuse(f"{name}() takes {how}, each a number of the row")
            return Expr(name, tuple(self.row(arg) for arg in node.args))
        if name == "factor":
            inner = self.row(self.call(node, name, ())[0])
            if inner.op in TRUTHS:
                return inner
        if name == "as_logical":
            return Expr("!=", (self.row(self.call(node, name, ())[0]), Expr("number", value=0.0)))
        if name == "as_numeric":
            return Expr(name, (self.row(self.call(node, name, ())[0]),))
        if name in SCALINGS:
            return self.with_options(node, name)
        if name in (*BASES, *CATEGORIES, "offset"):
            raise self.refuse(f"{name}() must be a factor by itself, not a part of one")
        called = self.show(node.func).replace(_DOT, ".")
        why = no_function(called, [*map(self.show, node.args)], _CALLABLE)
        raise FormulaError(f"`{self.text.replace(_DOT, '.')}` cannot be used: {why}")

    def call(
        self, node: ast.expr, name: str, options: tuple[str, ...]
    ) -> tuple[ast.expr, dict[str, Any]]:
        """First argument, and the constants behind it by name."""
        assert isinstance(node, ast.Call)
        named = {keyword.arg for keyword in node.keywords}
        if not node.args and len(named) == 1 and named.isdisjoint(options):
            column, told = next(iter(named)), self.show(node.keywords[0].value)
            raise self.refuse(f"== compares, = names an option: write I({column} == {told})")
        if not node.args or any(isinstance(arg, ast.Starred) for arg in node.args):
            raise self.refuse(f"{name}() needs its column as the first argument")
        if len(node.args) > len(options) + 1:
            raise self.refuse(f"{name}() takes at most {len(options) + 1} argument(s)")
        given = dict(zip(options, node.args[1:], strict=False))
        for keyword in node.keywords:
            if keyword.arg not in options or keyword.arg in given:
                raise self.refuse(
                    f"{name}() takes only these options: "
                    f"{', '.join(options).replace('_knots', '.knots') or 'none'}"
                )
            given[keyword.arg] = keyword.value
        coded = "contrasts" if name == "C" else None
        constants = {
            key: self.contrasts(value) if key == coded else self.constant(value)
            for key, value in given.items()
        }
        for key in ("df", "degree"):
            value = constants.get(key)
            if isinstance(value, int | float) and not value <= _MOST_COLUMNS:
                raise self.refuse(f"{name}() makes {_MOST_COLUMNS} columns at most")
        return node.args[0], constants

    def constant(self, node: ast.expr) -> Any:
        try:
            return _as_lists(ast.literal_eval(_Constants().visit(node)))
        except (ValueError, TypeError, SyntaxError):
            raise self.refuse(
                f"`{self.show(node)}` stands where a constant is needed (a number, text, True, "
                "False, None, or a list of these)"
            ) from None

    def contrasts(self, node: ast.expr) -> Any:
        """A constant, or contr.sum, contr.treatment("b"), Treatment("b"), ..."""
        func = node.func if isinstance(node, ast.Call) else node
        name = None
        if isinstance(func, ast.Name):
            name = _CONTRAST_ALIASES.get(func.id)
        elif isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name):
            name = func.attr if func.value.id == "contr" and func.attr in CONTRASTS else None
        if name is None:
            if isinstance(func, ast.Name | ast.Attribute):
                known = ", ".join([f"contr.{key}" for key in CONTRASTS] + [*_CONTRAST_ALIASES])
                raise self.refuse(f"the contrasts of C() are a list of numbers or one of {known}")
            found = self.constant(node)
            if isinstance(found, str):
                named = found.removeprefix("contr.").lower() in map(str.lower, CONTRASTS)
                raise self.refuse(
                    f"contrasts stand without quotes: C(g, {found})"
                    if named
                    else f"a level to compare with is written C(g, Treatment({found!r}))"
                )
            return found
        options: dict[str, Any] = {}
        if isinstance(node, ast.Call):
            keys = CONTRASTS[name]
            if name == "treatment" and len(node.args) + len(node.keywords) > 1:
                keys = ("n", "base")  # R's contr.treatment(3, base=2), whose base counts the levels
            given: dict[str | None, ast.expr] = dict(zip(keys, node.args, strict=False))
            for keyword in node.keywords:
                given["base" if keyword.arg == "reference" else keyword.arg] = keyword.value
            if len(node.args) > len(keys) or not set(given) <= set(keys):
                raise self.refuse(f"contr.{name} takes only: {', '.join(keys) or 'no option'}")
            options = {str(key): self.constant(value) for key, value in given.items()}
            if "n" in options:
                options["level"] = options.pop("base", 1)
                if not all(type(value) is int for value in options.values()):
                    raise self.refuse("contr.treatment(n, base=) takes two whole numbers")
        return {"contrast": name, "options": options}


class _Constants(ast.NodeTransformer):
    """R's c(1, 2), Inf, T and F as Python's [1, 2], infinity, True and False."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        plain = _called(node) == "c" and not node.keywords
        return ast.List([self.visit(v) for v in node.args], ast.Load()) if plain else node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Constant(_NAMED[node.id]) if node.id in _NAMED else node


def _called(node: ast.AST) -> str:
    """Name of the function that the node calls, "" when it is not a plain call."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id
    return ""


def _as_lists(value: Any) -> Any:
    """Constants as JSON knows them; sets, bytes and complex numbers have no place here."""
    if isinstance(value, list | tuple):
        return [_as_lists(item) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise ValueError(type(value).__name__)
