"""Calls that work, and what may be changed in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from tests.fuzzing.formulas import COLUMN_NAMES, FORMULAS, ODD_LIMITS, UPDATES
from tests.fuzzing.options import (
    ALPHAS,
    BANDWIDTHS,
    CLAIMS,
    COVARIANCES,
    CROSSES,
    EXECUTORS,
    GRAMS,
    HOW_MANY,
    LAMBDAS,
    LEDGERS,
    NEIGHBOURS,
    NO_REPLIES,
    ODD_FAMILIES,
    OWN_DATA,
    OWN_FUNCTIONS,
    PATHS,
    PERSON_ROWS,
    POINTS,
    PROGRESS,
    PUBLIC_OWN_DATA,
    SEVERAL_BUDGETS,
    TABLE_SIZES,
    TARGETS,
)
from tests.fuzzing.pages import (
    ATTRIBUTES,
    AXES,
    DELTAS,
    FEW_DIGITS,
    FIT_LISTS,
    HEADINGS,
    SOME_TERMS,
    STARS,
    SWITCHES,
    json_texts,
)
from tests.fuzzing.tables import COLUMNS, NO_TABLES, PLAIN, PUBLIC_ROWS, QUIRKS, ROWS, Table
from tests.fuzzing.values import ODD_NUMBERS, SEEDS, SHOWN, Code, codes, names

_BUDGET = {"mu": 1.0, "rho": None, "epsilon": None, "delta": None}
_TESTED = {"mu": None, "rho": None, "epsilon": 1.0, "delta": 0.01}
_BUDGETS = st.sampled_from(
    [
        {"mu": None, "rho": None, "epsilon": 1.0, "delta": 0.01},
        {"mu": 1.0, "rho": None, "epsilon": None, "delta": None},
        {"mu": None, "rho": 0.5, "epsilon": None, "delta": None},
        {"mu": None, "rho": None, "epsilon": 1.0, "delta": None},
        {"mu": None, "rho": None, "epsilon": 8.0, "delta": 1e-5},
        {"mu": 50.0, "rho": None, "epsilon": None, "delta": None},
        {"mu": 1e-3, "rho": None, "epsilon": None, "delta": None},
        {"mu": None, "rho": None, "epsilon": 20.0, "delta": 1e-6},
    ]
)
_COMMON = {"limits": None, "eta": 0.05, "seed": 1, "executor": None, "progress": False}
_COMMON |= {"budget": None, "rows_per_person": 1, "person": None}
_SEVERAL = {**_BUDGET, "target_se": None, "rows_per_person": 1}
_PLANNED = {"method": "anchored", "ridge": 0.0, "eta": 0.05, "limits": None}
_PLANNED |= {"weights": None, "offset": None}
PLAIN_CALLS: dict[str, dict[str, Any]] = {
    "dp_lm": {"formula": "y ~ x + g", **_BUDGET, **_COMMON, "method": None, "ridge": 0.0}
    | {"weights": None, "offset": None},
    "dp_glm": {"formula": "y ~ x + g", **_BUDGET, **_COMMON, "method": None, "ridge": 0.0}
    | {"weights": None, "offset": None, "family": "binomial", "iterations": None},
    "eptr_lm": {"formula": "y ~ x + z", **_TESTED, **_COMMON, "method": None, "target": None}
    | {"calibration": "gdp", "allow_unproved": False},
    "eptr_bayes": {"formula": "g ~ x + z", **_TESTED, **_COMMON, "method": None, "target": None}
    | {"calibration": "gdp", "allow_unproved": False, "covariance": None},
    "eptr_nw": {"formula": "y ~ x", **_TESTED, **_COMMON, "method": None, "at": None}
    | {"calibration": "gdp", "allow_unproved": False, "bandwidth": None, "degree": None},
    "dp_mean": {"formula": ["x", "z"], **_BUDGET, **_COMMON, "method": None, "gamma": 0.0}
    | {"covariance": None},
    "dp_mvnorm": {"formula": ["x", "z"], **_BUDGET, **_COMMON, "method": None, "gamma": 0.0}
    | {"cond": None, "pool": False},
    "dp_mixture": {"formula": ["x", "z"], **_BUDGET, **_COMMON, "k": None, "regime": "auto"}
    | {"w_min": None, "pool": True, "covariance": "full"},
    "eptr": {"epsilon": 1.0, "delta": 0.01, "calibration": "gdp", "target": None, "beta": 1e-3}
    | {
        "share": 0.9,
        "no_reply": None,
        "size": None,
        "allow_unproved": False,
        "eta": 0.05,
        "seed": 1,
        "budget": None,
        "rows_per_person": 1,
    }
    | {"own": Code("[918273.5, 2.0, 3.0]"), "estimate": Code("lambda d: 1.0"), "alpha": 0.1}
    | {"safety": Code("lambda d: 500.0"), "own_public": None},
    "check_safety": {
        "estimate": Code("lambda d: 1.0"),
        "safety": Code("lambda d: 5.0"),
        "alpha": 0.1,
    }
    | {
        "own_public": Code("[0.5, 2.0, 3.0]"),
        "rows": None,
        "hostile": False,
        "trials": 20,
        "seed": 0,
    },
    "public_moments": {"formula": "y ~ x + g", "weights": None, "offset": None, "limits": None},
    "PublicMoments.declare": {"formula": "~ x", "limits": Code("{'x': float, 'y': float}")}
    | {
        "gram": Code("np.eye(2)"),
        "m": None,
        "cross": None,
        "yy": None,
        "weights": None,
        "offset": None,
    },
    "PublicMoments.from_json": {"text": ("edit", "m", 24)},
    "anova": {"formula": "y ~ x + g", "update": "~ . - x", "other": None},
    "Budget": {"mu": 1.0, "rho": None, "epsilon": None, "delta": None, "path": None}
    | {"slack": None, "rows_per_person": 1},
    "audit": {"neighbours": Code("([0.0], [1.0])"), "mu": None, "epsilon": None, "delta": None}
    | {"claim": None, "trials": 40, "confidence": 0.99},
    "plan_lm": {"formula": "y ~ z + g", "n": 500, **_SEVERAL, **_PLANNED, "sigma": 0.5},
    "plan_glm": {"formula": "y ~ x + g", "n": 500, **_SEVERAL, **_PLANNED, "iterations": None}
    | {"family": "binomial"},
    "etable": {"fits": Code("[fitted(), fitted('dp_glm')]"), "names": None, "digits": None}
    | {"stars": None, "interval": False, "level": 0.95, "with_public": False, "nonprivate": None},
    "options": {"digits": None, "stars": True, "option": "digits"},
    "plot": {"model": "dp_lm", "formula": None, "level": 0.95, "wanted": None, "intercept": False}
    | {"ax": None, "deltas": None, "penalty": "lasso", "lambdas": None, "family": "binomial"},
}
FUNCTIONS = tuple(PLAIN_CALLS)
MODELS = FUNCTIONS[:8]
PUBLIC = ("check_safety", "public_moments", "PublicMoments.declare", "PublicMoments.from_json")
PLANS = ("plan_lm", "plan_glm")
PUBLIC += ("Budget", "audit", "etable", "options", *PLANS)
_POOLS: dict[str, st.SearchStrategy[Any]] = {
    "formula": FORMULAS,
    **dict.fromkeys(
        ("mu", "rho", "epsilon", "delta", "eta", "ridge", "gamma", "cond"), ODD_NUMBERS
    ),
    **dict.fromkeys(("beta", "share", "w_min", "yy"), ODD_NUMBERS),
    "target": ODD_NUMBERS | codes("5", "100", "1e6", "10**9"),
    "degree": ODD_NUMBERS | LAMBDAS,
    "seed": SEEDS,
    "limits": ODD_LIMITS,
    "weights": COLUMN_NAMES,
    "offset": COLUMN_NAMES,
    "executor": EXECUTORS,
    "budget": LEDGERS,
    "rows_per_person": PERSON_ROWS,
    "person": COLUMN_NAMES | codes("'z'"),
    "path": PATHS,
    "slack": ODD_NUMBERS,
    "neighbours": NEIGHBOURS,
    "claim": CLAIMS,
    "confidence": ODD_NUMBERS,
    "progress": PROGRESS,
    "family": ODD_FAMILIES,
    "iterations": HOW_MANY,
    "calibration": names("gdp", "dp", "paper"),
    "allow_unproved": codes("True", "'a'", "None", "np.array([1, 2])", "nan"),
    "at": POINTS,
    "bandwidth": BANDWIDTHS,
    "covariance": COVARIANCES,
    "pool": codes("True", "False", "None", "'a'", "1", "np.bool_(True)", "np.array([1, 2])"),
    "k": HOW_MANY,
    "m": HOW_MANY,
    "size": HOW_MANY,
    "regime": names("auto", "public", "private"),
    "no_reply": NO_REPLIES,
    "own": OWN_DATA,
    "own_public": PUBLIC_OWN_DATA,
    "rows": PUBLIC_OWN_DATA,
    "estimate": OWN_FUNCTIONS,
    "safety": OWN_FUNCTIONS,
    "alpha": ALPHAS,
    "hostile": codes("True", "'a'", "np.array([1, 2])"),
    "trials": codes("10", "0", "-1", "2.5", "'a'", "None", "nan", "True", "[1]", "np.int64(3)"),
    "gram": GRAMS,
    "cross": CROSSES,
    "text": json_texts(),
    "update": UPDATES,
    "other": codes("3", "'a'", "dpstats", "Rude()", "np.zeros(2)"),
    "n": TABLE_SIZES,
    "target_se": TARGETS,
    "sigma": ODD_NUMBERS | codes("None"),
    "fits": FIT_LISTS,
    "nonprivate": FIT_LISTS,
    "names": HEADINGS,
    "digits": FEW_DIGITS,
    "stars": STARS,
    "interval": SWITCHES,
    "with_public": SWITCHES,
    "option": codes("'stars'", "'nowhere'", "''", "'_digits'", "'\\ud800'"),
    "level": ODD_NUMBERS,
    "model": st.sampled_from([*MODELS, "plan_lm", "plan_glm", "audit"]),
    "wanted": SOME_TERMS,
    "intercept": SWITCHES,
    "ax": AXES,
    "deltas": DELTAS,
    "penalty": names("lasso", "ridge", "elasticnet"),
    "lambdas": LAMBDAS,
}
METHODS = {
    "dp_lm": ("anchored", "pmt", "ssp"),
    "dp_glm": ("anchored", "pmt", "ssp"),
    "eptr_lm": ("rounds", "adaptive", "ptr", "adassp", "paper"),
    "eptr_bayes": ("sums", "ptr", "paper"),
    "eptr_nw": ("gp", "adaptive", "ptr", "paper"),
    "dp_mean": ("refined", "paper"),
    "dp_mvnorm": ("refined", "paper"),
    "plan_lm": ("anchored", "pmt"),
    "plan_glm": ("anchored", "pmt"),
}
_AFTER: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {
    "level": (0.95, ODD_NUMBERS),
    "interval": (None, names("confidence", "prediction", "none")),
    "type": (None, names("response", "link", "class", "prob")),
    "newdata": (Table(n=4), codes(*NO_TABLES)),
    "change": ("~ . - x", UPDATES),
    "penalty": ("lasso", names("lasso", "ridge", "elasticnet")),
    "lambdas": (None, LAMBDAS),
    "mixing": (0.5, ODD_NUMBERS),
    "part": ("total", names("total", "sampling", "privacy")),
    "at_delta": (1e-5, ODD_NUMBERS),
    "draws": (2, codes("0", "-1", "2.5", "'a'", "None", "True", "nan", "np.int64(2)", "[1]")),
    "draw_seed": (1, SEEDS),
    "moments": (None, FORMULAS),
    "ridge_share": (0.1, ODD_NUMBERS),
    "attribute": ("resid", ATTRIBUTES),
}
_KINDS = st.sampled_from(list(COLUMNS))
_SIZES = st.sampled_from([ROWS, 0, 1, 2, 3, 5, 30])


@dataclass(frozen=True)
class Change:
    """One change: to an argument, ``data.x`` (the kind of a column), ``data.n``, ``data.quirk``."""

    what: str
    value: Any

    def __repr__(self) -> str:
        value = self.value
        shown = repr(value)
        return f"{self.what}: {shown if len(shown) < SHOWN else shown[:SHOWN] + '...'}"


@dataclass(frozen=True)
class Case:
    """A plain call of a function, with changes."""

    function: str
    changes: tuple[Change, ...] = ()

    def __repr__(self) -> str:
        return f"{self.function}({'; '.join(map(repr, self.changes))})"

    def arguments(self) -> dict[str, Any]:
        """All arguments, tables as recipes."""
        given: dict[str, Any] = dict(PLAIN_CALLS[self.function])
        given = {name: default for name, (default, _) in _AFTER.items()} | given
        tables = {"data": Table(), "public": Table(n=PUBLIC_ROWS), "newdata": Table(n=4)}
        if self.function in ("dp_glm", "plan_glm"):
            kinds = tuple({**PLAIN, "y": "zero_one"}.items())
            tables = {role: Table(kinds, table.n) for role, table in tables.items()}
        given |= tables
        for change in self.changes:
            role, _, part = change.what.partition(".")
            if change.what == "total":
                given |= {k: v for k, v in change.value.items() if k in given}
            elif not part:
                given[role] = change.value
            elif isinstance(given[role], Table):
                table = given[role]
                if part in ("n", "quirk", "library"):
                    values = {"kinds": table.kinds, "n": table.n, "quirk": table.quirk}
                    values |= {"library": table.library, part: change.value}
                    given[role] = Table(**values)
                else:
                    kinds = tuple({**dict(table.kinds), part: change.value}.items())
                    given[role] = Table(kinds, table.n, table.quirk, table.library)
        return given


def changes_to(function: str) -> st.SearchStrategy[Change]:
    """One change to a call of the function."""
    plain = PLAIN_CALLS[function]
    pools = {name: _POOLS[name] for name in plain if name in _POOLS}
    if function in METHODS:
        pools["method"] = names(*METHODS[function])
        pools["total"] = _BUDGETS
    if function in PLANS:
        pools |= dict.fromkeys(("mu", "rho", "epsilon"), SEVERAL_BUDGETS)
    if function == "eptr_bayes":
        pools["covariance"] = names("diagonal", "full", "identity", "naive", "lda", "qda")
    tables = []
    if function == "plot":
        tables = ["data", "public"]
        pools["formula"] = FORMULAS
    elif function in PLANS:
        tables = ["public"]
    elif function in MODELS or function == "anova":
        tables = ["data", "public", "newdata"]
        pools |= {name: pool for name, (_, pool) in _AFTER.items()}
    elif function == "public_moments":
        tables = ["public"]
        pools["ridge_share"] = ODD_NUMBERS
    elif function == "Budget":
        pools |= {name: _AFTER[name][1] for name in ("level", "change", "at_delta")}
    for role in tables:
        pools[role] = codes(*NO_TABLES)
        pools[f"{role}.n"] = _SIZES
        pools[f"{role}.quirk"] = st.sampled_from(QUIRKS)
        pools[f"{role}.library"] = st.sampled_from(["polars", "pyarrow", "function", "list"])
        for name in PLAIN if role != "newdata" else ("x", "z", "g"):
            pools[f"{role}.{name}"] = _KINDS
    if function in (
        *MODELS,
        *PLANS,
    ):  # as often as all others together: they decide what comes after
        ways = ("method", "total", "family", "regime", "limits", "n", "target_se")
        ways = [name for name in ways if name in pools]
        first = st.one_of([st.builds(Change, st.just(n), pools[n]) for n in ways])
        rest = st.one_of([st.builds(Change, st.just(n), pool) for n, pool in pools.items()])
        return st.one_of(rest, first, rest)
    return st.one_of([st.builds(Change, st.just(n), pool) for n, pool in pools.items()])


def cases(function: str, *before: Change) -> st.SearchStrategy[Case]:
    """Calls of a function with these changes, and up to five more."""
    lists = st.lists(changes_to(function), max_size=5, unique_by=lambda change: change.what)
    return st.builds(Case, st.just(function), lists.map(lambda more: (*before, *more)))


ALONE = (
    Change("public", None),
    Change("formula", "y ~ x + z"),
    Change("total", {**_BUDGET, "mu": 50.0}),
)
"""A call without public rows, and with a budget that suffices for a dozen rows."""
