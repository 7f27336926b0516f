"""The grammar of factors: the row-by-row expressions that a formula may use.

A factor such as ``log(x)`` or ``poly(x, 2)`` is parsed once into a small tree, and only what is
computed row by row is let through: anything that could look at two rows at once, or at something
which is not a column, is refused before a table is opened.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

from dpstats.errors import FormulaError

ELEMENTWISE = ("log", "log2", "log10", "exp", "sqrt")
SCALINGS = ("center", "scale")
BASES = ("poly", "bs", "cr", "cc")

_CUBIC = ("df", "knots", "lower_bound", "upper_bound", "constraints", "extrapolation")
_BSPLINE = ("df", "knots", "degree", "include_intercept", "lower_bound", "upper_bound")
OPTIONS: Mapping[str, tuple[str, ...]] = {
    "center": (),
    "scale": ("center", "scale", "ddof"),
    "poly": ("degree", "raw"),
    "bs": (*_BSPLINE, "extrapolation"),
    "cr": _CUBIC,
    "cc": _CUBIC,
    "C": ("contrasts", "levels", "spans_intercept"),
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
    key.capitalize(): key for key in ("treatment", "sum", "helmert", "poly", "diff")
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
_INSTEAD = {
    **{
        f"np.{name}": f" (write {name}() without np.)"
        for name in ("log", "log2", "log10", "exp", "sqrt")
    },
    **dict.fromkeys(("factor", "as.factor"), " (write C() for a category)"),
    "ns": " (write cr(x, df=4, constraints='center'))",
    "log1p": " (write log(1 + x))",
    "i": " (dp_feols has i(); here write C(), or C():x)",
    "Q": " (put the name between backticks)",
    "abs": " (write sqrt(x ** 2))",
    "cbind": " (write the share I(k / (k + f)), with weights= a column of trials k + f)",
    **dict.fromkeys(("cut", "ifelse"), " (write comparisons such as I(x > 30))"),
    "s": " (write bs(x, df=4) or cr(x, df=4, constraints='center'))",
}
ALLOWED = (
    "A factor is computed row by row from columns, numbers, + - * / // % **, comparisons, "
    f"{' '.join(f'{name}()' for name in ELEMENTWISE)} I() C() center() scale() poly() bs() cr() "
    "cc() and offset(); every argument after the first is a constant. Anything else could let "
    "one private row change another row."
)
_MOST_COLUMNS = 1000  # of one basis
_QUOTED = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|`([^`]*)`")
_PLAIN_NAME = re.compile(r"[^\W\d][\w.]*")


@dataclass(frozen=True)
class Expr:
    """One node of a factor.

    ``op`` is ``column`` (``value``: its name), ``number``, an operator of Python's, ``is`` or
    ``is not`` (a column and a level), an elementwise function, a scaling or a basis (``value``:
    its options; ``text``: the call, which is also the key of its state), ``C`` or ``offset``.
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
            or (e.op in BASES and not (e.op == "poly" and e.value.get("raw", False)))
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
            ast.parse(_replace_quotes(self.text)[0], mode="eval").body, ast.Call
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
    code, names = _replace_quotes(text)
    try:
        body = ast.parse(code.strip(), mode="eval").body
        tree = _Parser(text, names).top(body)
    except (SyntaxError, ValueError, RecursionError, OverflowError) as error:
        if isinstance(error, FormulaError):
            raise
        if "as.factor(" in text:
            raise FormulaError(f"`{text}`: write C(column) for a category.") from None
        raise FormulaError(f"`{text}` is not a valid expression ({error}). {ALLOWED}") from None
    if not tree.columns:
        raise FormulaError(f"`{text}` uses no column. {ALLOWED}")
    return tree


def _replace_quotes(text: str) -> tuple[str, dict[str, str]]:
    """Put identifiers in the place of backtick-quoted names; return the names behind them."""
    prefix = "_quoted"
    while prefix in text:
        prefix += "_"
    names: dict[str, str] = {}

    def replace(match: re.Match[str]) -> str:
        if match[1] is None:
            return match[0]
        alias = f"{prefix}{len(names)}_"
        names[alias] = match[1]
        return f" {alias} "

    return _QUOTED.sub(replace, text), names


class _Parser:
    def __init__(self, text: str, names: Mapping[str, str]) -> None:
        self.text = text
        self.names = names

    def refuse(self, why: str) -> FormulaError:
        return FormulaError(f"`{self.text}` cannot be used: {why}. {ALLOWED}")

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
        if name == "C" or name in BASES:
            call = self.with_options(node, name)
            if name == "C" and call.args[0].op != "column":
                raise self.refuse("the first argument of C() must be the name of a column")
            return call
        return self.row(node)

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
        raise self.refuse(f"`{self.show(node)}` is not row-by-row arithmetic")

    def comparison(self, node: ast.Compare) -> Expr:
        sides = [node.left, *node.comparators]
        links = []
        for op, left, right in zip(node.ops, sides[:-1], sides[1:], strict=True):
            symbol = _OPERATORS.get(type(op))
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

    def function(self, node: ast.Call) -> Expr:
        name = _called(node)
        if name == "I":
            return self.row(self.call(node, "I", ())[0])
        if name in ELEMENTWISE:
            return Expr(name, (self.row(self.call(node, name, ())[0]),))
        if name in SCALINGS:
            return self.with_options(node, name)
        if name in (*BASES, "C", "offset"):
            raise self.refuse(f"{name}() must be a factor by itself, not a part of one")
        raise self.refuse(
            f"`{self.show(node.func)}()` is not one of the functions that are allowed"
            + _INSTEAD.get(self.show(node.func), "")
        )

    def call(
        self, node: ast.expr, name: str, options: tuple[str, ...]
    ) -> tuple[ast.expr, dict[str, Any]]:
        """First argument, and the constants behind it by name."""
        assert isinstance(node, ast.Call)
        if not node.args or any(isinstance(arg, ast.Starred) for arg in node.args):
            raise self.refuse(f"{name}() needs its column as the first argument")
        if len(node.args) > len(options) + 1:
            raise self.refuse(f"{name}() takes at most {len(options) + 1} argument(s)")
        given = dict(zip(options, node.args[1:], strict=False))
        for keyword in node.keywords:
            if keyword.arg not in options or keyword.arg in given:
                raise self.refuse(
                    f"{name}() takes only these options: {', '.join(options) or 'none'}"
                )
            given[keyword.arg] = keyword.value
        read = self.contrasts if name == "C" else self.constant
        constants = {key: read(value) for key, value in given.items()}
        for key in ("df", "degree"):
            value = constants.get(key)
            if isinstance(value, int | float) and not value <= _MOST_COLUMNS:
                raise self.refuse(f"{name}() makes {_MOST_COLUMNS} columns at most")
        return node.args[0], constants

    def constant(self, node: ast.expr) -> Any:
        try:
            return _as_lists(ast.literal_eval(node))
        except (ValueError, TypeError, SyntaxError):
            raise self.refuse(
                f"the option `{self.show(node)}` is not a constant (a number, text, True, False, "
                "None, or a list of these)"
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
            return self.constant(node)
        options: dict[str, Any] = {}
        if isinstance(node, ast.Call):
            keys = CONTRASTS[name]
            given: dict[str | None, ast.expr] = dict(zip(keys, node.args, strict=False))
            for keyword in node.keywords:
                given["base" if keyword.arg == "reference" else keyword.arg] = keyword.value
            if len(node.args) > len(keys) or not set(given) <= set(keys):
                raise self.refuse(f"contr.{name} takes only: {', '.join(keys) or 'no option'}")
            options = {str(key): self.constant(value) for key, value in given.items()}
        return {"contrast": name, "options": options}


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
