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

ELEMENTWISE = (
    *("log", "log2", "log10", "log1p", "exp", "expm1", "sqrt", "abs", "sign"),
    *("floor", "ceiling", "trunc", "round", "sin", "cos", "tan"),
)
SEVERAL = {"ifelse": (3, 3), "pmin": (2, 100), "pmax": (2, 100)}
"""Functions of several numbers of a row, and how many these are."""
CATEGORIES = ("C", "factor", "ordered", "relevel")
"""R's ways of saying that a column is a category; all are C() once they are read."""
SCALINGS = ("center", "scale")
_LEARNT = ("poly", "bs", "cr", "cc")
BASES = (*_LEARNT, "cut")

TRUTHS = ("==", "!=", "<", "<=", ">", ">=", "is", "is not", "in", "and", "or", "not")
"""Whose values are 0 and 1."""

_CUBIC = ("df", "knots", "lower_bound", "upper_bound", "constraints", "extrapolation")
_BSPLINE = ("df", "knots", "degree", "include_intercept", "lower_bound", "upper_bound")
OPTIONS: Mapping[str, tuple[str, ...]] = {
    "center": (),
    "scale": ("center", "scale", "ddof"),
    "poly": ("degree", "raw"),
    "bs": (*_BSPLINE, "extrapolation"),
    "cr": _CUBIC,
    "cc": _CUBIC,
    "cut": ("breaks", "labels", "include_lowest", "right"),
    "C": ("contrasts", "levels", "spans_intercept"),
    "factor": ("levels",),
    "ordered": ("levels",),
    "relevel": ("ref",),
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
    "ns": " (write cr(x, df=4, constraints='center'))",
    "i": " (dp_feols has i(); here write C(), or C():x)",
    "Q": " (put the name between backticks)",
    "cbind": " (write the share I(k / (k + f)), with weights= a column of trials k + f)",
    "s": " (write bs(x, df=4) or cr(x, df=4, constraints='center'))",
    "Surv": " (there are no survival models; dp_glm has family='poisson' with offset=log(time))",
    "interaction": " (write a:b)",
    **dict.fromkeys(
        ("mean", "median", "sd", "var", "min", "max", "sum", "length", "quantile", "ave", "rank"),
        " (it looks at all rows; center() and scale() use what public rows tell)",
    ),
    **dict.fromkeys(
        ("lag", "lead", "diff", "cumsum", "shift", "rev", "sort"),
        " (it looks at other rows; make the column in both tables beforehand)",
    ),
}
ALLOWED = (
    "A factor is computed row by row: + - * / ^ %% %/%, comparisons, & | ! %in%, log() exp() sqrt() "
    "abs() round() and their like, ifelse() pmin() pmax(), I() factor() ordered() relevel() cut() "
    "center() scale() poly() bs() cr() cc() offset(), with constants as options. Anything else could "
    "let one private row change another row."
)
_ROW_BY_ROW = "A factor is computed row by row."
_MOST_COLUMNS = 1000  # of one basis
_QUOTED = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|`([^`]*)`")
_PLAIN_NAME = re.compile(r"[^\W\d][\w.]*")


@dataclass(frozen=True)
class Expr:
    """One node of a factor.

    ``op`` is ``column`` (``value``: its name), ``number``, an operator of Python's, ``is`` or
    ``is not`` (a column and a level), ``in`` (``value``: numbers), a function of one or several
    numbers, a scaling or a basis (``value``: its options; ``text``: the call, which is also the key
    of its state), ``C`` or ``offset``.
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
    except (SyntaxError, ValueError, RecursionError, OverflowError) as error:
        if isinstance(error, FormulaError):
            raise
        raise FormulaError(f"`{text}` is not a valid expression ({error}). {ALLOWED}") from None
    if not tree.columns:
        raise FormulaError(f"`{text}` uses no column. {ALLOWED}")
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
        if name in CATEGORIES:
            return self.category(node, name)
        if name in BASES:
            call = self.with_options(node, name)
            if name == "cut":
                self.check_cut(call.value)
            return call
        return self.row(node)

    def category(self, node: ast.expr, name: str) -> Expr:
        """factor(), ordered(), relevel() and C(), as C(); a comparison in factor() as it is."""
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
        elif name == "ordered":
            options = {**options, "contrasts": {"contrast": "poly", "options": {}}}
        return replace(call, op="C", value=options)

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
        raise self.refuse(f"`{self.show(node)}` is not row-by-row arithmetic")

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
        if name in SCALINGS:
            return self.with_options(node, name)
        if name in (*BASES, *CATEGORIES, "offset"):
            raise self.refuse(f"{name}() must be a factor by itself, not a part of one")
        called = self.show(node.func)
        instead = _INSTEAD.get(called)
        if instead is not None:
            raise FormulaError(
                f"`{self.text}` cannot be used: there is no {called}(){instead}. {_ROW_BY_ROW}"
            )
        raise self.refuse(f"there is no {called}()")

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
            return _as_lists(ast.literal_eval(_Constants().visit(node)))
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


class _Constants(ast.NodeTransformer):
    """R's c(1, 2) and Inf as Python's [1, 2] and infinity."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        plain = _called(node) == "c" and not node.keywords
        return ast.List([self.visit(v) for v in node.args], ast.Load()) if plain else node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Constant(math.inf) if node.id == "Inf" else node


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
