"""Checks of arguments, for every function, and their messages.

A check returns the argument in the form that is computed with, or None where it is invalid; a message
never shows a table, a list, or an object of the user's.
"""

from __future__ import annotations

import inspect
import math
import os
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from difflib import get_close_matches
from functools import wraps
from itertools import islice
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpstats.errors import (
    ArgumentError,
    PublicDataError,
    SchemaError,
    UnknownArgument,
    suppress_private_errors,
    without_frames,
)

_P = ParamSpec("_P")
_T = TypeVar("_T")
_LONGEST = 120
_MOST_LEVELS = 100_000


def listed(names: Sequence[str], mark: str = "'", most: int = 8) -> str:
    """Names for a message, each between two marks, the first of them."""
    shown = ", ".join(f"{mark}{name}{mark}" for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")


def shown(value: Any) -> str:
    """An argument for a message: itself if it is a text or a number, else its type.

    What was given by mistake may be a table of private rows, or a list of them.
    """
    # no np.generic: a row of a structured array is one
    plain = str | bytes | int | float | complex | np.number | np.bool_ | None
    if not isinstance(value, plain):
        return called(value)
    text = suppress_private_errors(lambda: repr(value))
    if text is None:  # of a class of the user's, or an integer of thousands of digits
        return called(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def in_prose(size: float, digits: int = 2) -> str:
    """A number in a sentence: so many significant digits, and no power of ten where it can be written.

    Examples
    --------
    >>> [in_prose(x) for x in (3812.0, 0.0000361, 1.23, 99.6, 1e-12)]
    ['3800', '0.000036', '1.2', '100', '1e-12']
    """
    text = f"{size:.{digits}g}"
    if "e" not in text or not 1e-7 < abs(size) < 1e15:
        return text
    exact = f"{float(text):.15f}"
    return exact.rstrip("0").rstrip(".")


def rounded_up(value: float, digits: int) -> float:
    """The next number with so many significant digits.

    Examples
    --------
    >>> rounded_up(1.013, 2), rounded_up(1.5, 2)
    (1.1, 1.5)
    """
    unit = 10.0 ** (math.floor(math.log10(value)) - digits + 1)
    return float(f"{math.ceil(value / unit * (1 - 1e-9)) * unit:.{digits + 3}g}")


def called(value: Any) -> str:
    """What a value is: "a list", "an int"."""
    name = type(value).__name__
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def one_of(value: Any, names: Collection[str]) -> bool:
    """Whether an argument, of whatever kind, is one of these names."""
    return isinstance(value, str) and value in names


def require_one_of(name: str, value: Any, names: Collection[str]) -> None:
    """Raise for an argument that is none of these names."""
    if not one_of(value, names):
        raise ArgumentError(f"{name} must be one of {', '.join(names)}, not {shown(value)}.")


def choose(function: str, methods: Collection[str], method: Any, default: str) -> str:
    """The method of a call, or the default."""
    method = default if method is None else method
    require_one_of(f"{function}: method", method, methods)
    return str(method)


def number(value: Any) -> float | None:
    """A plain number as a float, infinite where it is too large for one; None for all else."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


SMALLEST, LARGEST = 1e-100, 1e100
"""Sizes between which squares, and those of ratios to ordinary numbers, are numbers."""


def computable(value: Any) -> float | None:
    """A number above 0 of a size that can be computed with; None for all else."""
    size = number(value)
    return size if size is not None and SMALLEST < size < LARGEST else None


def positive(name: str, value: Any) -> float:
    """A finite number above zero, or an error that names the argument."""
    size = number(value)
    if size is None or not 0 < size < math.inf:
        raise ArgumentError(f"{name} must be a finite number > 0, not {shown(value)}.")
    if not SMALLEST <= size <= LARGEST:
        raise ArgumentError(
            f"{name} = {size:g} is too large or too small for double precision: change the unit of "
            "the column."
        )
    return size


def as_int(value: Any, least: int) -> int | None:
    """A whole number that is not below ``least``; None for all else."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        return None
    return int(value)


def numbers(values: Any) -> npt.NDArray[np.float64] | None:
    """An array of real numbers, of any shape; None for what is none."""

    def read() -> npt.NDArray[np.float64]:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # complex numbers lose a part
            return np.array(values, dtype=np.float64)

    return suppress_private_errors(read)


def items(values: Any, most: int) -> list[Any] | None:
    """What a list, an array or the like holds; None for texts, mappings, and more than ``most`` items.

    No more than these are looked at, however long or wild the argument is.
    """
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        return None
    held = suppress_private_errors(lambda: list(islice(values, most + 1)))
    return None if held is None or len(held) > most else held


def is_path(data: Any) -> bool:
    """Whether something names a file or a folder."""
    return isinstance(data, str | os.PathLike)


def check_switch(name: str, value: Any) -> None:
    """Raise for an argument that is neither True nor False."""
    if not isinstance(value, bool | np.bool_):
        raise ArgumentError(f"{name} must be True or False, not {shown(value)}.")


def mapping(name: str, value: Any, such_as: str = "{'x1': (0, 1)}") -> Mapping[str, Any]:
    """An argument that is a mapping from names, or nothing."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ArgumentError(f"{name} must be a dict such as {such_as}, not {shown(value)}.")
    return value


def as_limits(limits: Any) -> Any:
    """Limits with levels as lists, whatever holds them; what is no mapping as it is.

    Examples
    --------
    >>> as_limits({"g": np.array(["a", "b"]), "k": range(3), "x": np.array([0.0, 1.0]), "y": (0, 5)})
    {'g': ['a', 'b'], 'k': [0, 1, 2], 'x': (0.0, 1.0), 'y': (0, 5)}
    """
    if not isinstance(limits, Mapping):
        return limits
    read = suppress_private_errors(lambda: {name: _as_limit(one) for name, one in limits.items()})
    return limits if read is None else read


def _as_limit(value: Any) -> Any:
    """A list of levels, or a pair (low, high); a set, which has no order, and all else as it is.

    Two numbers are a pair, unless a list or a range has them.
    """
    if isinstance(value, pd.CategoricalDtype):
        value = value.categories
    ordered = isinstance(value, Collection) and not isinstance(value, list | Set)
    held = items(value, _MOST_LEVELS) if ordered and np.ndim(value) == 1 else None
    if not held:
        return value
    plain = [one.item() if isinstance(one, np.generic) else one for one in held]
    sizes = [number(one) is not None for one in plain]
    if all(sizes):
        pair = len(plain) == 2 and not isinstance(value, range)
        return tuple(plain) if pair else plain
    return plain if all(isinstance(one, str | bool) for one in plain) else value


def require_sizes(names: Sequence[str], fine: Iterable[Any]) -> None:
    """Raise where public columns hold values that floats cannot compute with."""
    odd = [name for name, ok in zip(names, fine, strict=True) if not ok]
    if odd:
        raise PublicDataError(
            f"the column(s) {listed(odd)} are too large or too small for double precision: "
            "change the unit."
        )


@contextmanager
def naming(table: str) -> Iterator[None]:
    """Name the table of a call in errors on a column that is missing or of the wrong type."""
    try:
        yield
    except SchemaError as error:
        message = str(error)
    else:
        return
    raise SchemaError(f"in {table}: {message}")


def check_vcov(vcov: Any) -> str:
    """The name of the standard errors that ``vcov`` asks for; R's "HC1" is "hetero".

    Examples
    --------
    >>> check_vcov("HC1")
    'hetero'
    """
    if one_of(vcov, ("hetero", "iid")):
        return str(vcov)
    if isinstance(vcov, str) and vcov.upper() == "HC1":
        return "hetero"
    given, more = shown(vcov), ""
    if isinstance(vcov, str) and vcov.lower() in _SANDWICHES:
        more = ". vcov='hetero' (the default) is HC1"
    elif isinstance(vcov, Mapping) and len(vcov) == 1:
        (how, column), *_ = vcov.items()
        if one_of(how, _CLUSTERED) and isinstance(column, str):  # a name, and no rows
            given = f"{{{how!r}: {shown(column)}}}"
            more = f". Errors are clustered by person where person={shown(column)} is given"
    raise ArgumentError(
        "vcov must be 'hetero' (the sandwich, HC1) or 'iid' (of constant variance, or the family's), "
        f"not {given}{more}."
    )


_SANDWICHES = ("hc0", "hc2", "hc3", "robust", "white", "sandwich", "heteroskedastic")
_CLUSTERED = ("CRV1", "CRV3", "CR1", "cluster")


_ERRORS = (
    "standard errors are chosen by vcov='hetero' (the sandwich, HC1; the default) or vcov='iid'"
)
_BY_PERSON = f"{_ERRORS}; they are clustered by person where person='id' is given"
_ROWS = "choose rows before the call, by a rule that is public"
_INTERVAL = "the level of an interval is asked for afterwards: fit.confint(level=0.9)"
_MISSING = "rows with missing values count as zero, in every call"
_GROUPS = "a call fits one formula to all rows: with g + g:x each level of g has a coefficient of x"
_FORMS = "the page has other forms: etable(fit).to_latex(), .to_markdown(), .to_html(), .to_csv()"
_OPTIONS = "digits and stars of all pages are set by dpstats.options(digits=3, stars=False)"
_AT = "effects at the mean are those of one row: newdata={'x': 1.5, 'g': 'a'}"
_BY = "means by group are coefficients of a regression: dp_lm('y ~ 0 + g', ...)"
_ELSEWHERE = {
    **dict.fromkeys(("by", "groupby", "group_by"), _BY),
    **dict.fromkeys(("cov_type", "robust", "se_type", "vcov_type", "HC1", "white", "cov"), _ERRORS),
    **dict.fromkeys(("cluster", "clusters", "cov_kwds", "cluster_by"), _BY_PERSON),
    **dict.fromkeys(("subset", "filter"), _ROWS),
    **dict.fromkeys(("split", "fsplit"), _GROUPS),
    **dict.fromkeys(("type", "tex", "file", "output", "export"), _FORMS),
    **dict.fromkeys(("digits", "stars", "signif_stars"), _OPTIONS),
    **dict.fromkeys(("na_action", "missing", "dropna"), _MISSING),
    **dict.fromkeys(("alpha", "level", "conf_level", "conf_int"), _INTERVAL),
    "test": "tests are of Wald, chi-squared, with the noise for privacy",
    "contrasts": "contrasts are written in the formula: C(g, contr.sum)",
    "exposure": "an exposure w is a term of the formula, offset(log(w))",
    "link": "a link is given with its family: family='binomial(probit)'",
    "intercept": "a formula without a constant is 'y ~ 0 + x'",
    "fit_intercept": "a formula without a constant is 'y ~ 0 + x'",
    "bounds": "declared bounds are given as limits={'x': (0, 1)}",
    "data_norm": "a declared norm is limits={'(norm)': 1}",
    "at": _AT,
    "exponentiate": "odds_ratios() has the exponentials of coefficients, of a logit or log link, and "
    "etable(..., exponentiate=True) those of several fits",
    "accountant": "a budget of several calls is budget=Budget(mu=2)",
}
"""What other packages' arguments are here, in a line."""
_HYPOTHESIS = "hypotheses about coefficients are fit.hypotheses('x1 = x2')"
_LINEAR = (
    "means are on the scale of the response; of dp_glm, predict(newdata, type='link') has linear "
    "predictors"
)
_CAPTION = "captions are those of a page: etable(fit).to_latex(caption='...')"
_COMPARED = "variables={'x': 10, 'g': ('a', 'b')} says what is compared"
_ELSEWHERE_OF: dict[str, dict[str, str]] = {
    "predict": {"type": "predictions are on the scale of the response"},
    "predictions": {
        "hypothesis": _HYPOTHESIS,
        **dict.fromkeys(("transform", "type"), _LINEAR),
        "variables": "give the rows that you mean: predictions(rows.assign(x=1))",
    },
    "slopes": {"hypothesis": _HYPOTHESIS, "transform": _LINEAR},
    "comparisons": {
        "hypothesis": _HYPOTHESIS,
        "transform": _LINEAR,
        **dict.fromkeys(("contrast", "contrasts"), _COMPARED),
        **dict.fromkeys(("ratio", "fun", "measure"), "comparison='ratio' has ratios of means"),
    },
    "summary": {"vcov": "errors are those of the fit: fit.update(vcov='iid').summary()"},
    "etable": {
        **dict.fromkeys(("title", "caption"), _CAPTION),
        "vcov": "errors are those of each fit: etable(fit.update(vcov='iid'))",
    },
    "dp_lm": {
        "family": "families are those of dp_glm: "
        "dp_glm(formula, data, public, family='binomial', mu=1)"
    },
    "dp_feols": {
        "family": "families are those of dp_glm, whose errors are clustered by person with "
        "person='id'; it takes no effects out",
        "model": "it takes effects out, y ~ x | id; there are no random effects",
        "se": _BY_PERSON,
    },
}
"""What other packages' arguments of these functions are here."""
_NEEDED = {
    _AT: "newdata",
    _BY: "covariance",
    _GROUPS: "vcov",
    _FORMS: "nonprivate",
    _ERRORS: "vcov",
    _BY_PERSON: "vcov",
    _INTERVAL: "vcov",
}
"""The argument of the functions for which an answer holds, where it does not hold for all."""
_SPELLED = {
    "epsilon": ("eps", "privacy_budget"),
    "rho": ("zcdp",),
    "mu": ("gdp",),
    "formula": ("fml", "f", "model"),
    "fml": ("formula", "f", "model"),
    "data": ("df", "frame", "private", "private_data", "table"),
    "public": ("public_data", "pub"),
    "seed": ("random_state", "rng"),
    "executor": ("n_jobs", "client", "pool"),
    "person": ("id", "user", "privacy_unit", "unit", "groups"),
    "rows_per_person": ("max_rows", "contribution"),
    "newdata": ("exog", "new_data", "new", "X", "grid"),
    "se_fit": ("se", "std_error"),
    "level": ("conf_level", "conf", "alpha", "coverage", "conf_int", "ci", "prob"),
    "parm": ("terms", "which", "variables", "cols"),
    "variables": ("variable", "var", "wrt", "atexog"),
    "weights": ("sample_weight", "var_weights", "freq_weights", "wt"),
    "ridge": ("penalty", "lam", "l2"),
    "type": ("typ", "kind"),
    "n": ("nsim", "size", "nobs"),
    "terms": ("keep", "coefs", "variables"),
    "adjust": ("adjustment", "method"),
    "names": ("headers", "model_names", "column_labels"),
    "stars": ("signif_code", "signif_codes", "signif"),
    "labels": ("dict", "coef_rename", "coef_map"),
    "interval": ("coefstat", "show_ci"),
    "exponentiate": ("eform", "exp"),
    "bandwidth": ("bw", "bws", "h"),
}
"""Names of arguments, and what the same is called elsewhere."""


_VARIABLE = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def spelled(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """A function that answers arguments it does not have by one line that says what there is.

    Examples
    --------
    >>> @spelled
    ... def confint(level=0.95):
    ...     return level
    >>> confint(alpha=0.1)
    Traceback (most recent call last):
    ...
    dpstats.errors.UnknownArgument: confint() has no argument alpha; level=0.95 stands for alpha=0.05.
    """
    own = inspect.signature(function).parameters
    known = [name for name, one in own.items() if name != "self" and one.kind not in _VARIABLE]
    places = [name for name, one in own.items() if one.kind is one.POSITIONAL_OR_KEYWORD]
    at = places.index("public") if "public" in places else None
    of_public = slice(0) if at is None else slice(at, at + 1)
    needed = [
        name
        for name, one in own.items()
        if name != "self" and one.default is one.empty and one.kind not in _VARIABLE
    ]
    takes_all = any(one.kind is one.VAR_POSITIONAL for one in own.values())
    whole = without_frames(function)
    called_as = function.__qualname__.removesuffix(".__init__").rpartition(".")[2]

    @wraps(function)
    def checked(*args: _P.args, **named: _P.kwargs) -> _T:
        require_known(called_as, named, known)
        if len(args) > len(places) and not takes_all:
            raise UnknownArgument(_too_many(called_as, places, known))
        if any(isinstance(given, int | float) for given in args[of_public]):
            budget = _budget_by_name(args[of_public.start :], places, known, named)
            raise UnknownArgument(f"{called_as}() takes a table as public={budget}.")
        if places[:2] == ["formula", "data"] and len(args) > 1 and _swapped(args[0], args[1]):
            raise UnknownArgument(
                f"the formula stands before the data: {called_as}(formula, data)."
            )
        twice = [name for name in places[: len(args)] if name in named]
        if twice:
            taken = ", ".join(name for name in places if name != "self")
            raise UnknownArgument(
                f"{called_as}() is given {twice[0]} twice, by position and by name: by position it "
                f"takes {taken}, in that order."
            )
        here = {*places[: len(args)], *map(str, named)}
        if not here.issuperset(needed):
            raise UnknownArgument(_too_few(called_as, needed, here, known))
        if "limits" in named:
            named["limits"] = as_limits(named["limits"])
        return whole(*args, **named)

    return checked


def _budget_by_name(
    numbers: Sequence[Any], places: Sequence[str], known: Sequence[str], named: Iterable[str]
) -> str:
    """How a budget is written that stands where public rows do."""
    if "mu" not in known or {"mu", "epsilon"} & {*named}:
        return ""
    if "epsilon" in places and len(numbers) == 2:
        return f"; write epsilon={shown(numbers[0])}, delta={shown(numbers[1])}"
    return "; write mu=1"


def _swapped(first: Any, second: Any) -> bool:
    """Whether a table stands where the formula does, and the other way round."""
    names = isinstance(second, list) and all(isinstance(one, str) for one in second)
    return not isinstance(first, str | list | tuple) and (
        names or (isinstance(second, str) and "~" in second)
    )


def _too_many(function: str, places: Sequence[str], known: Sequence[str]) -> str:
    """What to type where more stands in a call than it takes by position."""
    if function == "anova":
        return "anova() compares two fits, or tests the terms of one: of several compare each pair."
    if not known:
        return f"{function}() takes no arguments; {function}()['x1'] picks one of its numbers."
    taken = ", ".join(name for name in places if name != "self")
    by_name = [name for name in known if name not in places]
    example = "mu=1" if "mu" in by_name else f"{by_name[0]}=..." if by_name else None
    rest = "" if example is None else f"; write the others by name, such as {example}"
    return f"{function}() takes {taken or 'no argument'} by position{rest}."


def _too_few(function: str, needed: Sequence[str], given: set[str], known: Sequence[str]) -> str:
    """What to type where a call lacks an argument that has no default."""
    lacks = " and ".join(name for name in needed if name not in given)
    budget = ", mu=1" if "mu" in known else ""
    return f"{function}() lacks {lacks}; it is called as {function}({', '.join(needed)}{budget})."


def require_known(function: str, named: Iterable[str], known: Sequence[str]) -> None:
    """Raise for the first name of an argument that a function does not have."""
    for name in named:
        if name not in known:
            instead = _instead(function, name, known)
            raise UnknownArgument(f"{function}() has no argument {name}; {instead}.")


def _instead(function: str, name: str, known: Sequence[str]) -> str:
    """What to type for an argument that a function does not have."""
    if name == "alpha" and "level" in known:
        return "level=0.95 stands for alpha=0.05"
    there = _ELSEWHERE_OF.get(function, {})
    if name in there:
        return there[name]
    meant = next((own for own in known if name in _SPELLED.get(own, ())), None)
    if meant is not None:
        return f"here it is {meant}="
    if name in _ELSEWHERE and {_NEEDED.get(_ELSEWHERE[name])} <= {None, *known}:
        return _ELSEWHERE[name]
    near = get_close_matches(name.lower(), known, 1, 0.7)
    if near:
        return f"did you mean {near[0]}=?"
    if not known:
        return "it takes none"
    return f"it has {', '.join(known)}" if len(known) <= 8 else "help() lists those it has"


def check_numbers(ridge: float, eta: float) -> None:
    """A ridge and a chance of failure that can be computed with."""
    penalty = number(ridge)
    if penalty is None or not 0 <= penalty <= LARGEST:
        raise ArgumentError(
            f"ridge must be a finite number >= 0 (up to {LARGEST:g}), not {shown(ridge)}."
        )
    check_eta(eta)


def check_eta(eta: float) -> None:
    """A chance of failure that can be computed with."""
    chance = number(eta)
    if chance is None or not 0 < chance < 1:
        raise ArgumentError(
            f"eta must lie strictly between 0 and 1, such as eta=0.05, not {shown(eta)}."
        )
    if eta < 1e-12:
        raise ArgumentError(f"eta = {eta:g} is too small for double precision; 1e-6 is not.")


def check_seed(seed: int | None) -> None:
    if seed is not None and as_int(seed, 0) is None:
        raise ArgumentError(f"seed must be an integer >= 0 or None, not {shown(seed)}.")


def check_size(n: int, d: int, of: str = "rows") -> None:
    """As many rows as a fit of so many columns needs at the very least."""
    if n < d + 1:
        raise ArgumentError(
            f"{n} private {of} are too few for {d} columns: give at least {d + 1} (with privacy, a "
            "few hundred per column), or drop terms."
        )


_FILES = {"file", "path", "filename", "buf", "path_or_buf"}


def returning_text(
    method: Callable[Concatenate[_T, _P], str],
) -> Callable[Concatenate[_T, _P], str]:
    """A method whose arguments have names: the one that users expect by position is a file."""

    @wraps(method)
    def named(self: _T, /, *given: _P.args, **arguments: _P.kwargs) -> str:
        if given or not _FILES.isdisjoint(arguments):
            name = method.__name__
            taken = " It takes its arguments by name." if places else ""
            raise ArgumentError(
                f"{name}() returns a text and writes no file: pathlib.Path(...).write_text(x.{name}()), "
                f"x being what it is called of.{taken}"
            )
        return method(self, *given, **arguments)

    places = len(inspect.signature(method).parameters) > 1
    return named
