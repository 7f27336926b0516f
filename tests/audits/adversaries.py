"""Neighbours as bad as an adversary can make them, for every public function and every method.

Tables are tiny, and so are the public samples. Either neighbour is the same rows and one more:

"edge"     far out, at the edge of the cut, against its opposite;
"typical"  an ordinary row against its opposite;
"alone"    all rows are equal, against one that is not;
"huge"     an ordinary row against one so large that its squares overflow;
"level"    a row that alone holds a level, or alone is of a class, against an ordinary level;
"missing"  a row that is missing against one far out;
"worst"    where none of these is as bad as the proof allows: the pair for which its bound is sharp.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd

import dpstats
from dpstats import eptr
from tests.audits.watched import Watched

Row = dict[str, Any]
PAIRS = ("edge", "typical", "alone", "huge", "level", "missing")

_GAUSSIAN, _PURE, _TESTED = {"mu": 2.0}, {"epsilon": 2.0}, {"epsilon": 2.0, "delta": 0.01}
_FAR, _HUGE, _HUGEST = 1e4, 1e9, 1e300


def _table_of(rows: Row | list[Row]) -> pd.DataFrame:
    """The rows in which neighbours differ: one, or those of a person."""
    return pd.DataFrame(rows if isinstance(rows, list) else [rows])


@dataclass(frozen=True)
class Setup:
    """A call and the rows that it is made on.

    Attributes
    ----------
    function, method : str
        The method as the report names it.
    formula : str
    options : mapping
        Budget, method and limits.
    rows : callable
        From a number of rows and a seed: ordinary rows.
    n, m : int
        Private and public rows; m = 0: limits are declared instead.
    pairs : mapping
        The two rows of every pair, or a list of rows of either person.
    other : mapping
        Options, and the rows, of pairs that need others.
    many : int
        Private rows of which a test is safe at a third of a usual total; 0 where none is made.
    """

    function: str
    method: str
    formula: str
    options: Mapping[str, Any]
    rows: Callable[[int, int], pd.DataFrame]
    n: int
    m: int
    pairs: Mapping[str, tuple[Any, Any]]
    other: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    many: int = 0

    def case(self, pair: str) -> Watched:
        other = dict(self.other.get(pair, {}))
        rows, n = other.pop("rows", self.rows), other.pop("n", self.n)
        formula, m = other.pop("formula", self.formula), other.pop("m", self.m)
        public = rows(m, PUBLIC_SEED) if m else None
        rest = rows(n - 1, PRIVATE_SEED)
        first, second = map(_table_of, self.pairs[pair])
        if pair == "alone":  # all rows, or persons, are like the first
            alike = [first.assign(who=f"q{k}") if "who" in first else first for k in range(n - 1)]
            rest = pd.concat(alike, ignore_index=True)
        tables = tuple(
            pd.concat([rest, rows], ignore_index=True)[list(rest.columns)]
            for rows in (first, second)
        )
        options = {**self.options, **other}
        function = getattr(dpstats, self.function)

        def call(data: pd.DataFrame, seed: int) -> Any:
            return function(formula, data, public, seed=seed, **options)

        place = f"{self.function} alone" if "alone" in self.method else self.function
        return Watched(place, call, (tables[0], tables[1]))


# --- rows ----------------------------------------------------------------------------------------


PUBLIC_SEED, PRIVATE_SEED = 1, 2


def _regression(n: int, seed: int, response: str = "number") -> pd.DataFrame:
    """A number, a level and a response; private rows have only two of the three public levels."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    levels = np.array(["a", "b", "c"])[np.arange(n) % (3 if seed == PUBLIC_SEED else 2)]
    eta = 0.3 + 0.5 * x + 0.4 * (levels == "b")
    y = {
        "number": eta + rng.normal(size=n),
        "yes": (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(float),
        "count": rng.poisson(np.exp(np.clip(eta, -2, 2))).astype(float),
    }[response]
    return pd.DataFrame({"x": x, "g": levels, "y": y})


def _plain(n: int, seed: int) -> pd.DataFrame:
    """Two columns of mean 0 and variance 1, without correlation."""
    z = np.random.default_rng(seed).normal(size=(max(n, 3), 2))
    z -= z.mean(axis=0)
    z = np.linalg.qr(z)[0][:n] * math.sqrt(len(z) - 1)
    return pd.DataFrame(z, columns=["x", "z"])


def _persons(n: int, seed: int, response: str = "number") -> pd.DataFrame:
    """The rows of persons, who have one, two or three."""
    names = [f"p{k}" for k in np.sort(np.arange(n) * 11 % (n // 2 + 1))]
    return _regression(n, seed, response).assign(who=names)


def _panel(n: int, seed: int) -> pd.DataFrame:
    """The rows of persons, with an instrument, in which each person has every level."""
    rows = _persons(n, seed)
    return rows.assign(z=rows.x + np.random.default_rng(50 + seed).normal(size=n))


def _with_level(n: int, seed: int) -> pd.DataFrame:
    rows = _regression(n, seed)
    return rows[["x", "g"]]


def _two_groups(n: int, seed: int, gap: float = 9.0) -> pd.DataFrame:
    rows = _plain(n, seed)
    rows.iloc[::2] += gap
    return rows - gap / 2


def _labelled(n: int, seed: int) -> pd.DataFrame:
    """Two classes with two features."""
    rows = _plain(n, seed)
    label = np.arange(n) % 2
    return pd.DataFrame(
        {"k": np.array(["A", "B"])[label], "x": rows.x + 2 * label, "z": rows.z - label}
    )


def _line(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    x = np.linspace(0, 10, n)
    return pd.DataFrame({"x": x, "y": np.sin(x) + 0.3 * rng.normal(size=n)})


# --- pairs of rows -------------------------------------------------------------------------------

_NOTHING = math.nan


def _regression_pairs(
    low: float, high: float, far: tuple[float, float], huge: Row
) -> dict[str, tuple[Row, Row]]:
    """``low`` and ``high`` are ordinary responses, ``far`` those that are farthest apart."""

    def row(x: float, y: float, g: str = "a") -> Row:
        return {"x": x, "g": g, "y": y}

    return {
        "edge": (row(_FAR, far[0]), row(_FAR, far[1])),
        "typical": (row(1.0, high), row(-1.0, low)),
        "alone": (row(0.5, high), row(-0.5, low, "b")),
        "huge": (row(0.5, high), {**row(0.5, high), **huge}),
        "level": (row(0.5, high, "c"), row(0.5, high, "a")),
        "missing": (row(_NOTHING, high), row(_FAR, far[1])),
    }


def _point_pairs(x: float = 0.5, z: float = -0.5) -> dict[str, tuple[Row, Row]]:
    return {
        "edge": ({"x": _FAR, "z": _FAR}, {"x": -_FAR, "z": -_FAR}),
        "typical": ({"x": x, "z": z}, {"x": -x, "z": -z}),
        "alone": ({"x": x, "z": z}, {"x": -2.0, "z": 2.0}),
        "huge": ({"x": x, "z": z}, {"x": _HUGEST, "z": -_HUGE}),
        "level": ({"x": x, "g": "c"}, {"x": x, "g": "a"}),
        "missing": ({"x": _NOTHING, "z": z}, {"x": _FAR, "z": _FAR}),
    }


def _of_persons(pairs: Mapping[str, tuple[Row, Row]]) -> dict[str, tuple[list[Row], list[Row]]]:
    """Persons with three such rows and with one, and with a row that is missing beside it."""
    missing = {"x": _NOTHING, "g": "a", "y": 0.0}
    edge = pairs["edge"][0]
    absent = [{**edge, "who": "one"} for _ in range(9)], [{**missing, "who": "other"}]
    turn = [{**edge, "who": "one"}], [{**edge, "x": 0.0, "g": "c", "who": "other"}] * 400
    many = (
        [{**edge, "x": 1.0, "who": "one"}] * 400,
        [{**pairs["edge"][1], "x": 1.0, "who": "other"}],
    )
    return {"absent": absent, "turn": turn, "many": many} | {
        name: (
            [{**first, "who": "one"} for _ in range(3)],
            [{**second, "who": "other"}, {**missing, "who": "other"}],
        )
        for name, (first, second) in pairs.items()
        if name in ("edge", "typical", "huge", "level")
    }


def _varying(
    pairs: Mapping[str, tuple[list[Row], list[Row]]],
) -> dict[str, tuple[list[Row], list[Row]]]:
    """The same, and beside each row its mirror, so that it varies within its person."""

    def rows(side: list[Row]) -> list[Row]:
        return [*side, *({**row, "x": -row["x"], "y": -row["y"]} for row in side)]

    def of(who: str, *ends: tuple[float, str, float]) -> list[Row]:
        return [{"x": x, "g": g, "y": y, "who": who} for x, g, y in ends]

    levels = of("other", (0.0, "a", -1e9), (0.0, "c", 1e9)) * 200
    slope = of("one", (_FAR, "a", 1e9), (-_FAR, "a", -1e9))
    against = of("other", (_FAR, "a", -1e9), (-_FAR, "a", 1e9))
    more = {"levels": (slope, levels), "against": (slope, against)}
    return more | {name: (rows(first), rows(second)) for name, (first, second) in pairs.items()}


def _with_instrument(
    pairs: Mapping[str, tuple[list[Row], list[Row]]],
) -> dict[str, tuple[list[Row], list[Row]]]:
    """The same, and an instrument beside the column that it is for."""

    def rows(side: list[Row]) -> list[Row]:
        return [{**row, "z": row["x"]} for row in side]

    return {name: (rows(first), rows(second)) for name, (first, second) in pairs.items()}


_NUMBERS = _regression_pairs(-1.0, 1.0, (-1e9, 1e9), {"x": _HUGE, "y": _HUGEST})
_ANSWERS = _regression_pairs(0.0, 1.0, (0.0, 1.0), {"x": _HUGEST})
_COUNTS = _regression_pairs(0.0, 2.0, (0.0, 1e9), {"x": _HUGE, "y": 1e15})
_POINTS = _point_pairs()
_LEVEL: dict[str, Any] = {"rows": _with_level, "formula": "~ x + g"}
_DECLARED_LEVEL = {**_LEVEL, "limits": {"g": ["a", "b", "c"]}}
_CLASSES: dict[str, tuple[Row, Row]] = {
    "edge": ({"k": "A", "x": _FAR, "z": 0.0}, {"k": "A", "x": -_FAR, "z": 0.0}),
    "typical": ({"k": "A", "x": 0.5, "z": -0.5}, {"k": "B", "x": -0.5, "z": 0.5}),
    "alone": ({"k": "A", "x": 0.5, "z": -0.5}, {"k": "B", "x": 2.0, "z": -1.0}),
    "huge": ({"k": "A", "x": 0.5, "z": -0.5}, {"k": "A", "x": _HUGEST, "z": -_HUGE}),
    "level": ({"k": "other", "x": 0.5, "z": -0.5}, {"k": "A", "x": 0.5, "z": -0.5}),
    "missing": ({"k": "A", "x": _NOTHING, "z": 0.0}, {"k": "A", "x": _FAR, "z": 0.0}),
}
_CURVES: dict[str, tuple[Row, Row]] = {
    "edge": ({"x": 5.0, "y": _FAR}, {"x": 5.0, "y": -_FAR}),
    "typical": ({"x": 3.0, "y": 0.5}, {"x": 7.0, "y": -0.5}),
    "alone": ({"x": 5.0, "y": 0.5}, {"x": 2.0, "y": -0.5}),
    "huge": ({"x": 5.0, "y": 0.5}, {"x": 5.0, "y": _HUGEST}),
    "level": ({"x": 100.0, "y": 0.5}, {"x": 5.0, "y": 0.5}),
    "missing": ({"x": 5.0, "y": _NOTHING}, {"x": 5.0, "y": _FAR}),
}


# found by a search over pairs of rows for the largest mean shift of what is released, in noise sds
_WORST: dict[tuple[str, str], tuple[Row, Row]] = {
    ("dp_mean", "refined, private rows"): ({"x": _FAR, "z": 0.0}, {"x": 0.0, "z": _FAR}),
    ("dp_mvnorm", "refined, private rows"): ({"x": _FAR, "z": 0.0}, {"x": 0.0, "z": _FAR}),
    ("dp_mvnorm", "refined"): ({"x": 35.0, "z": 103.0}, {"x": -67.0, "z": -1.4}),
    ("dp_mvnorm", "paper"): ({"x": -13367.0, "z": -1.54}, {"x": 0.18, "z": 47897.0}),
}

_LIMITS = {"x": (-2.0, 2.0), "g": ["a", "b", "c"]}
_ALONE: dict[str, Any] = {**_GAUSSIAN, "limits": {"g": _LIMITS["g"]}}
_MANY_ALONE = 800
"""Rows that a third of mu = 2, or epsilon = 2, is enough for without public rows."""


def setups() -> list[Setup]:
    """Every function and method but `eptr`, whose data may be anything."""
    lm = partial(Setup, "dp_lm", formula="y ~ x + g", rows=_regression, n=40, pairs=_NUMBERS)
    out = [
        lm(method="anchored", options={**_GAUSSIAN}, m=24),
        lm(
            method="anchored, persons",
            options={**_GAUSSIAN, "person": "who"},
            m=24,
            rows=_persons,
            pairs=_of_persons(_NUMBERS),
        ),
        lm(method="pmt", options={**_GAUSSIAN, "method": "pmt"}, m=24),
        lm(
            method="ssp",
            options={**_GAUSSIAN, "method": "ssp", "limits": {**_LIMITS, "y": (-4.0, 4.0)}},
            m=0,
        ),
        lm(method="anchored, alone", options=_ALONE, n=_MANY_ALONE, m=0),
        lm(
            method="anchored, alone in a box",
            options={**_GAUSSIAN, "limits": {**_LIMITS, "y": (-4.0, 4.0)}},
            n=_MANY_ALONE,
            m=0,
        ),
    ]
    for family, response, pairs, limit in (
        ("binomial", "yes", _ANSWERS, (0.0, 1.0)),
        ("poisson", "count", _COUNTS, (0.0, 10.0)),
    ):
        glm = partial(
            Setup,
            "dp_glm",
            formula="y ~ x + g",
            rows=partial(_regression, response=response),
            n=40,
            pairs=pairs,
        )
        for method in ("anchored", "pmt", "ssp"):
            options: dict[str, Any] = {**_GAUSSIAN, "family": family, "method": method}
            if method == "ssp":
                options["limits"] = {**_LIMITS, "y": limit}
            options["iterations"] = 1 if method == "ssp" else 2
            out.append(
                glm(method=f"{method}, {family}", options=options, m=0 if method == "ssp" else 12)
            )
        alone = {**_ALONE, "family": family, "iterations": 2}
        out.append(glm(method=f"anchored, alone, {family}", options=alone, n=_MANY_ALONE, m=0))
    out.append(
        Setup(
            "dp_glm",
            "anchored, alone in a box",
            formula="y ~ x + g",
            options={
                **_GAUSSIAN,
                "family": "poisson",
                "iterations": 2,
                "limits": {**_LIMITS, "y": (0.0, 10.0)},
            },
            rows=partial(_regression, response="count"),
            n=_MANY_ALONE,
            m=0,
            pairs=_COUNTS,
        )
    )
    out.append(
        Setup(
            "dp_glm",
            "anchored, poisson, persons",
            formula="y ~ x + g",
            options={**_GAUSSIAN, "family": "poisson", "person": "who", "iterations": 2},
            rows=partial(_persons, response="count"),
            n=40,
            m=12,
            pairs=_of_persons(_COUNTS),
        )
    )
    panel = partial(
        Setup, "dp_feols", options={**_GAUSSIAN, "person": "who"}, rows=_panel, n=40, m=24
    )
    out += [
        Setup(
            "dp_feols",
            "rows",
            formula="y ~ x | g",
            options={**_GAUSSIAN},
            rows=_regression,
            n=40,
            m=24,
            pairs=_NUMBERS,
        ),
        panel(method="within", formula="y ~ x | who + g", pairs=_varying(_of_persons(_NUMBERS))),
        panel(
            method="instruments",
            formula="y ~ g | x ~ z",
            pairs=_with_instrument(_of_persons(_NUMBERS)),
        ),
    ]
    squares = partial(
        Setup,
        "eptr_lm",
        formula="y ~ x",
        rows=_regression,
        n=60,
        m=60,
        pairs=_NUMBERS,
        other={"level": {"formula": "y ~ x + g"}},
        many=1200,
    )
    out += [
        squares(method="rounds", options=_TESTED),
        squares(
            method="rounds, alone",
            options={**_TESTED, "limits": {"g": _LIMITS["g"]}},
            formula="y ~ x + g",
            n=_MANY_ALONE,
            m=0,
            other={},
        ),
        squares(method="adaptive", options={**_TESTED, "method": "adaptive"}),
        squares(method="adassp", options={**_GAUSSIAN, "method": "adassp"}),
        squares(method="ptr, gdp", options={**_TESTED, "method": "ptr"}, n=400),
        squares(method="ptr, dp", options={**_TESTED, "method": "ptr", "calibration": "dp"}, n=400),
        squares(method="paper", options={**_TESTED, "method": "paper"}, n=400),
    ]
    bayes = partial(
        Setup,
        "eptr_bayes",
        formula="k ~ x + z",
        rows=_labelled,
        m=24,
        pairs=_CLASSES,
        many=300,
    )
    out += [
        bayes(method="sums", options={**_GAUSSIAN, "method": "sums"}, n=30),
        bayes(
            method="sums, diagonal",
            options={**_GAUSSIAN, "method": "sums", "covariance": "diagonal"},
            n=30,
        ),
        bayes(
            method="sums, private rows",
            options={
                **_GAUSSIAN,
                "method": "sums",
                "limits": {"k": ["A", "B", "C"], "x": (-4.0, 4.0), "z": (-4.0, 4.0)},
            },
            n=_MANY_ALONE,
            m=0,
        ),
        bayes(method="ptr, gdp", options={**_TESTED, "method": "ptr", "target": 14}, n=30),
        bayes(
            method="ptr, dp",
            options={**_TESTED, "method": "ptr", "target": 14, "calibration": "dp"},
            n=30,
        ),
        bayes(method="paper", options={**_TESTED, "method": "paper", "target": 10}, n=60),
    ]
    curve = partial(Setup, "eptr_nw", formula="y ~ x", rows=_line, m=24, pairs=_CURVES, many=400)
    fixed: dict[str, Any] = {**_TESTED, "at": [5.0], "bandwidth": 2.0}
    out += [
        curve(method="gp", options={**_GAUSSIAN, "method": "gp", "bandwidth": 2.0}, n=40),
        curve(method="adaptive", options={**fixed, "method": "adaptive"}, n=60),
        curve(method="ptr, gdp", options={**fixed, "method": "ptr"}, n=120),
        curve(method="ptr, dp", options={**fixed, "method": "ptr", "calibration": "dp"}, n=120),
        curve(method="paper", options={**fixed, "method": "paper"}, n=120),
    ]
    mean = partial(
        Setup,
        "dp_mean",
        formula="~ x + z",
        rows=_plain,
        n=30,
        pairs=_POINTS,
        other={"level": _LEVEL},
    )
    stated = {"covariance": 1.0}
    paper = {**stated, "method": "paper"}
    out += [
        mean(method="refined", options={**_GAUSSIAN, **stated}, m=5),
        mean(method="refined, public covariance", options=_GAUSSIAN, m=20),
        mean(method="paper", options={**_GAUSSIAN, **paper}, m=5),
        mean(
            method="refined, private rows",
            options=_GAUSSIAN,
            n=700,
            m=0,
            other={"level": _DECLARED_LEVEL},
        ),
        mean(method="refined, pure", options={**_PURE, **stated}, m=5),
        mean(method="paper, pure", options={**_PURE, **paper}, m=5),
    ]
    normal = partial(
        Setup,
        "dp_mvnorm",
        formula="~ x + z",
        rows=_plain,
        n=30,
        m=12,
        pairs=_POINTS,
        other={"level": _LEVEL},
    )
    out += [
        normal(method="refined", options=_GAUSSIAN),
        normal(method="paper", options={**_GAUSSIAN, "method": "paper"}),
        normal(
            method="refined, private rows",
            options=_GAUSSIAN,
            n=700,
            m=0,
            other={"level": _DECLARED_LEVEL},
        ),
        normal(method="refined, pure", options=_PURE),
        normal(method="paper, pure", options={**_PURE, "method": "paper"}),
    ]
    groups = partial(
        Setup,
        "dp_mixture",
        formula="~ x + z",
        pairs=_point_pairs(4.5, 4.5),
        other={"level": {**_LEVEL, "k": 1}},
    )
    out += [
        groups(
            method="public",
            options={**_GAUSSIAN, "k": 2, "regime": "public"},
            rows=_two_groups,
            n=60,
            m=40,
        ),
        groups(
            method="private",
            options={**_GAUSSIAN, "k": 2, "regime": "private"},
            rows=partial(_two_groups, gap=4.0),
            n=120,
            m=40,
        ),
        groups(
            method="likelihood",
            options={**_GAUSSIAN, "k": 2, "regime": "likelihood"},
            rows=partial(_two_groups, gap=4.0),
            n=60,
            m=40,
        ),
        groups(
            method="likelihood, counted",
            options={**_GAUSSIAN, "regime": "likelihood"},
            rows=partial(_two_groups, gap=4.0),
            n=60,
            m=24,
        ),
    ]
    return out


# --- pairs for which a proof is sharp ------------------------------------------------------------


def _declared(
    function: str,
    formula: str,
    options: Mapping[str, Any],
    rest: pd.DataFrame,
    pair: tuple[Row, Row],
    public: pd.DataFrame | None = None,
) -> Watched:
    """A call on these rows and one of the pair, within declared limits or beside public rows."""
    tables = tuple(pd.concat([rest, pd.DataFrame([row])], ignore_index=True) for row in pair)
    target = getattr(dpstats, function)

    def call(data: pd.DataFrame, seed: int) -> Any:
        return target(formula, data, public, seed=seed, **options)

    alone = function in ("dp_lm", "dp_glm") and public is None and "method" not in options
    alone |= function == "eptr_lm" and options.get("method") == "rounds" and public is None
    return Watched(f"{function} alone" if alone else function, call, (tables[0], tables[1]))


def _uninformative(n: int, low: float, high: float) -> pd.DataFrame:
    """Two columns of mean square 1, without correlation; every row of them has both responses.

    So all coefficients are exactly 0, however far a row is: its linear predictor, hence its score and
    its information, are known before any noise is drawn.
    """
    z = np.random.default_rng(3).normal(size=(n // 2, 2))
    z = np.repeat(np.linalg.qr(z)[0] * math.sqrt(n // 2), 2, axis=0)
    return pd.DataFrame({"x": z[:, 0], "z": z[:, 1], "y": np.tile([low, high], n // 2)})


def beam(degrees: float, length: float, y: float) -> Row:
    """A row of this length in this direction."""
    angle = math.radians(degrees)
    return {"x": length * math.cos(angle), "z": length * math.sin(angle), "y": y}


def _against(
    function: str,
    options: Mapping[str, Any],
    pair: tuple[Row, Row],
    n: int,
    m: int,
    responses: tuple[float, float],
) -> Watched:
    rest = _uninformative(n, *responses).iloc[:-1]
    public = _uninformative(m, *responses) if m else None
    return _declared(function, "y ~ 0 + x + z", options, rest, pair, public)


_SHORTEST = {"mu": 2.5}
"""A total at which fewest runs tell it from 0.7 of itself."""


def _sharp_scores() -> Watched:
    """Opposite scores, of lengths in different bins: the moments of the design do not change at all.

    With so many public rows they are given the least share there is, 0.05 of the total.
    """
    pair = beam(0, 1e3, 1e3), beam(180, 1e5, 1e9)
    return _against("dp_lm", _SHORTEST, pair, 40, 200, (-1.0, 1.0))


# The papers' matrix noise is for a change by 2 R^2, where sqrt(2) R^2 is the most. Rows at the angle t,
# mirrored at 45 degrees so that their moments change on the diagonal only, give (1 - cos(t)) / 2 of the
# half that scores have and sin(t)^2 / 2 of the other one: 9/16 at 120 degrees, and never more, because
# both are convex in the lengths of either row.
_PAPERS = {"mu": 3.0, "method": "pmt"}
_PAPERS_ANGLES = -15.0, 105.0


def _sharp_moments() -> Watched:
    first, second = (beam(angle, 1e6, 1e20) for angle in _PAPERS_ANGLES)
    return _against("dp_lm", _PAPERS, (first, second), 40, 24, (-1.0, 1.0))


def _sharp_papers_family(family: str, y: float, responses: tuple[float, float]) -> Watched:
    """One Newton step from 0, for which the largest score and the largest information come together.

    Not for the logit, whose c1 = 1 and c2 = 1/4 no row reaches at once.
    """
    options = {**_PAPERS, "family": family, "iterations": 1}
    first, second = (beam(angle, 1e6, y) for angle in _PAPERS_ANGLES)
    return _against("dp_glm", options, (first, second), 40, 24, responses)


_BOX = {"x": (-2.0, 2.0), "z": (-2.0, 2.0)}
WIDE: dict[str, Any] = {"limits": {"x": (-1e7, 1e7), "z": (-1e7, 1e7), "y": (-1e12, 1e12)}}


def sharp_corners() -> Watched:
    """Two corners of the box, at which rows with their response are as long as may be, at right angles.

    So are (1, 1, r) and (1, 1, -r) where r^2 = 2: the response has the share of two columns.
    """
    options = {**_SHORTEST, "method": "ssp", "limits": {**_BOX, "y": (-4.0, 4.0)}}
    pair = {"x": 2.0, "z": 2.0, "y": 4.0}, {"x": 2.0, "z": 2.0, "y": -4.0}
    return _against("dp_lm", options, pair, 40, 0, (-1.0, 1.0))


def sharp_alone(function: str, pair: tuple[Row, Row], **options: Any) -> Watched:
    """Rows alone, of which nothing is known; or within limits that are far too wide."""
    low = -1.0 if function == "dp_lm" else 0.0
    high = 2.0 if options.get("family") == "poisson" else 1.0
    return _against(function, {**_SHORTEST, **options}, pair, 200, 0, (low, high))


def sharp_family(family: str, pair: tuple[Row, Row], high: float, *, public: bool) -> Watched:
    """One Newton step from 0 with scores as opposite as they can be: it has most of the total.

    Beside public rows the other matrix releases have a ninth of that or less, and the best angle is
    180 degrees; within limits they have a third, and it is near 135, or 90 between corners of the box.
    """
    options: dict[str, Any] = {**_SHORTEST, "family": family, "iterations": 1}
    if public:
        return _against("dp_glm", options, pair, 40, 8, (0.0, high))
    options["limits"] = {**_BOX, "y": (0.0, 1e3 if high > 1 else 1.0)}
    return _against("dp_glm", {**options, "method": "ssp"}, pair, 200, 0, (0.0, high))


def corner(x: float, z: float, y: float) -> Row:
    """A corner of the box of two columns, or near one."""
    return {"x": x, "z": z, "y": y}


BEYOND = {"x": 100.0, "z": 100.0}, {"x": -60.0, "z": -60.0}
INSIDE = {"x": 100.0, "z": 100.0}, {"x": 19.0, "z": 19.0}


def sharp_groups(regime: str, pair: tuple[Row, Row] = BEYOND) -> Watched:
    """A row beyond the one group, and a row twice as far beyond the other, or within the first.

    Groups so far apart are told by public rows alone, so that nothing is spent on finding them; all
    else that is released moves by all that it may.
    """
    rest, public = (
        _two_groups(k, seed, 40.0) for k, seed in ((59, PRIVATE_SEED), (24, PUBLIC_SEED))
    )
    options = {**_GAUSSIAN, "k": 2, "regime": regime}
    return _declared("dp_mixture", "~ x + z", options, rest, pair, public)


def _sharp_pure(function: str, options: Mapping[str, Any]) -> Watched:
    """One column, either row beyond the cut: spherical noise hides less in fewer dimensions."""
    rest, public = (_plain(k, seed)[["x"]] for k, seed in ((29, PRIVATE_SEED), (12, PUBLIC_SEED)))
    pair = {"x": _FAR}, {"x": -_FAR}
    return _declared(function, "~ x", options, rest, pair, public)


_SQUARES: dict[str, Any] = {
    "limits": {"x": (-1.0, 1.0), "z": (-1.0, 1.0), "y": (-2.0, 2.0), "(norm)": 1.0, "(coef)": 1.0}
}
_MANY, _TARGET, _ENOUGH = 3000, 60, 40


def _sharp_squares(method: str, short: float, way: str, epsilon: float = 2.0) -> Watched:
    """Solutions on the edge of the ball: many rows fix the first coefficient at 1, ``short`` ones the
    second at 0. The row that is replaced is (c, s) with the response -2.

    "mirror": by (c, -s), so that the scores differ by their largest diameter along the direction that
    is known least; "turn": by (1, 0), so that the smallest eigenvalue falls by almost as much as it can.
    """
    c = 2 / (math.sqrt(12) + 2)
    side, whole = math.sqrt(1 - c * c), int(short)
    rest = np.zeros((_MANY + max(2 * _TARGET, whole + 1), 3))
    rest[:_MANY] = [1.0, 0.0, 1.001]
    rest[_MANY : _MANY + whole] = [0.0, 1e3, 0.0]
    rest[_MANY + whole, 1] = math.sqrt(short - whole)
    kind, _, calibration = method.partition(", ")
    options = {**_TESTED, **_SQUARES, "method": kind, "epsilon": epsilon}
    if calibration:
        options["calibration"] = calibration
    if kind in ("ptr", "paper"):
        options["target"] = _TARGET / (len(rest) + 1)
    rows = pd.DataFrame(rest, columns=["x", "z", "y"])
    last = {"x": c, "z": side, "y": -2.0}
    other = {**last, "z": -side} if way == "mirror" else {"x": 1.0, "z": 0.0, "y": -2.0}
    return _declared("eptr_lm", "y ~ 0 + x + z", options, rows, (last, other))


def sharp_step(pair: tuple[Row, Row], public: int = 200) -> Watched:
    """Rows beside so many others that the last step of rounds has an eigenvalue known by next to all.

    And that what it may move by, beside two scores, is next to nothing.
    """
    options = {"epsilon": 20.0, "delta": 0.01, "method": "rounds"}
    return _against("eptr_lm", options, pair, 20_000, public, (-1.0, 1.0))


def _sharp_rounds(n: int, public: int) -> Watched:
    """Opposite scores of all rounds, whose rows do not change the moments of the design."""
    pair = beam(0, 1e3, 1e3), beam(180, 1e5, 1e9)
    options = {"epsilon": 6.0, "delta": 0.01, "method": "rounds"}
    return _against("eptr_lm", options, pair, n, public, (-1.0, 1.0))


def sharp_eigenvalue(public: int = 200) -> Watched:
    """One column, and a row as long as rows may be, or none."""
    one, others = (_uninformative(k, -1.0, 1.0)[["x", "y"]] for k in (2000, max(public, 8)))
    pair = {"x": 1e5, "y": 0.0}, {"x": math.nan, "y": 0.0}
    options = {**_TESTED, "method": "rounds"}
    return _declared(
        "eptr_lm", "y ~ 0 + x", options, one.iloc[:-1], pair, others if public else None
    )


def _sharp_classes(method: str, count: int) -> Watched:
    """Two classes of ``count`` rows at opposite ends, and a row that goes from the one to the other."""
    kind, _, calibration = method.partition(", ")
    options: dict[str, Any] = {**_TESTED, "method": kind, "target": _TARGET}
    if calibration:
        options["calibration"] = calibration
    options["limits"] = {"k": ["A", "B", "C"], "x": (-1.0, 1.0), "(norm)": 1.0}
    labels = ["A"] * (count - 1) + ["B"] * count + ["C"] * (400 - 2 * count)
    rest = pd.DataFrame({"k": labels, "x": [9.0] * (2 * count - 1) + [0.0] * (400 - 2 * count)})
    pair = {"k": "A", "x": -9.0}, {"k": "B", "x": -9.0}
    return _declared("eptr_bayes", "k ~ x", options, rest, pair)


def _sharp_curve(method: str, count: int, way: str) -> Watched:
    """``count`` rows at one node, all with the largest response, and a row with the smallest.

    "leaves": it is missing from the other table; "flips": it has the largest response there.
    """
    kind, _, calibration = method.partition(", ")
    options: dict[str, Any] = {**_TESTED, "method": kind, "at": [0.0], "bandwidth": 1.0}
    options["limits"] = {"x": (-1.0, 1.0), "y": (-1.0, 1.0)}
    if calibration:
        options["calibration"] = calibration
    if kind != "adaptive":
        options["degree"] = _TARGET
    rest = pd.DataFrame({"x": np.zeros(count), "y": np.ones(count)})
    first = {"x": 0.0, "y": -1.0}
    return _declared(
        "eptr_nw",
        "y ~ x",
        options,
        rest,
        (first, {"x": 0.0, "y": 1.0} if way == "flips" else {"x": _NOTHING, "y": -1.0}),
    )


# --- an estimator of one's own -------------------------------------------------------------------

_OWN: dict[str, tuple[tuple[float, float], tuple[float, float]]] = {
    "edge": ((1, 0.0), (1, 1.0)),
    "typical": ((1, 0.3), (0, 0.7)),
    "alone": ((1, 0.0), (0, 1.0)),
    "huge": ((1, 0.3), (1, _HUGEST)),
    "level": ((2, 0.5), (1, 0.5)),
    "missing": ((1, _NOTHING), (1, 1.0)),
}
"""Which level a row has, and its response."""


def _responses(data: np.ndarray) -> np.ndarray:
    return np.asarray(np.clip(np.nan_to_num(data[:, 1]), 0, 1))


def _members(data: np.ndarray) -> int:
    return int((data[:, 0] == 1).sum())


def _members_mean(data: np.ndarray) -> float:
    members = data[:, 0] == 1
    return float(_responses(data)[members].mean()) if members.any() else 0.5


def _members_to_spare(data: np.ndarray) -> int:
    return max(_members(data) - _ENOUGH + 1, 0)


def _estimator(
    calibration: str, rest: np.ndarray, pair: tuple[Any, Any], estimate: Any, safety: Any
) -> Watched:
    tables = np.vstack([rest, pair[0]]), np.vstack([rest, pair[1]])

    def call(data: np.ndarray, seed: int) -> Any:
        options: dict[str, Any] = {**_TESTED, "calibration": calibration}
        return eptr(data, estimate, safety, 1 / _ENOUGH, **options, seed=seed)

    return Watched("eptr", call, tables)


def _own(calibration: str, pair: str, count: int = 12) -> Watched:
    """The mean of a subgroup with so many members more than are safe (the example of `eptr`)."""
    members = _ENOUGH + count - 1
    rest = np.zeros((members + 8, 2))
    rest[:members, 0] = 1
    rest[::2, 1] = 1
    if pair == "alone":
        rest[:] = _OWN[pair][0]
    return _estimator(calibration, rest, _OWN[pair], _members_mean, _members_to_spare)


def _steep(data: np.ndarray) -> float:
    return float(_responses(data).sum()) / _ENOUGH


def _sharp_own(calibration: str, count: int, other: int) -> Watched:
    """An estimate that a row moves by all that was promised, safe by the number of its members."""
    rest = np.tile([1.0, 0.0], (count, 1))
    return _estimator(calibration, rest, ((0, 0.0), (other, 1.0)), _steep, _members)


# --- all of them ---------------------------------------------------------------------------------

Name = tuple[str, str, str]
"""Function, method and pair."""

OPPOSITE = beam(0, 1e3, 1e3), beam(180, 1e5, 1e9)
"""Opposite scores of a linear model, and the same moments of the design."""
_OBTUSE = beam(0, 1e6, 1e9), beam(120, 3e7, 1e9)
_SURE = beam(0, 1e6, 1.0), beam(120, 3e7, 1.0)
YES: dict[str, Any] = {"family": "binomial", "iterations": 1}
COUNTS: dict[str, Any] = {"family": "poisson", "iterations": 1}
_YES, _COUNT = partial(sharp_family, "binomial"), partial(sharp_family, "poisson")

# sizes at which a scan found the most; "adaptive": an eigenvalue so large that its noise is nothing
_SHARP: dict[tuple[str, str], Callable[[], Watched]] = {
    ("dp_lm", "anchored"): _sharp_scores,
    ("dp_lm", "pmt"): _sharp_moments,
    ("dp_glm", "anchored, binomial"): partial(
        _YES, (beam(0, 1e6, 1.0), beam(180, 3e7, 1.0)), 1.0, public=True
    ),
    ("dp_glm", "anchored, poisson"): partial(
        _COUNT, (beam(0, 1e6, 0.0), beam(0, 3e7, 1e12)), 2.0, public=True
    ),
    ("dp_glm", "pmt, binomial"): partial(_sharp_papers_family, "binomial(probit)", 1.0, (0.0, 1.0)),
    ("dp_glm", "pmt, poisson"): partial(_sharp_papers_family, "poisson", 1e9, (0.0, 2.0)),
    ("dp_lm", "ssp"): sharp_corners,
    ("dp_lm", "anchored, alone"): partial(sharp_alone, "dp_lm", OPPOSITE),
    ("dp_lm", "anchored, alone in a box"): partial(sharp_alone, "dp_lm", OPPOSITE, **WIDE),
    ("dp_glm", "ssp, binomial"): partial(
        _YES, (corner(2, 2, 1), corner(2, -2, 1)), 1.0, public=False
    ),
    ("dp_glm", "ssp, poisson"): partial(
        _COUNT, (corner(2, 0, 1e3), corner(-2, 2, 1e3)), 2.0, public=False
    ),
    ("dp_glm", "anchored, alone, binomial"): partial(sharp_alone, "dp_glm", _SURE, **YES),
    ("dp_glm", "anchored, alone, poisson"): partial(sharp_alone, "dp_glm", _OBTUSE, **COUNTS),
    ("dp_glm", "anchored, alone in a box"): partial(
        sharp_alone, "dp_glm", _OBTUSE, **COUNTS, **WIDE
    ),
    ("dp_mean", "refined, pure"): partial(_sharp_pure, "dp_mean", {**_PURE, "covariance": 1.0}),
    ("dp_mean", "paper, pure"): partial(
        _sharp_pure, "dp_mean", {**_PURE, "covariance": 1.0, "method": "paper"}
    ),
    ("dp_mvnorm", "refined, pure"): partial(_sharp_pure, "dp_mvnorm", {"epsilon": 3.0}),
    ("dp_mvnorm", "paper, pure"): partial(
        _sharp_pure, "dp_mvnorm", {"epsilon": 3.0, "method": "paper"}
    ),
    ("dp_mixture", "public"): partial(sharp_groups, "public"),
    ("dp_mixture", "private"): partial(sharp_groups, "private"),
    ("dp_mixture", "likelihood"): partial(sharp_groups, "likelihood"),
    ("eptr_lm", "rounds"): partial(_sharp_rounds, 400, 200),
    ("eptr_lm", "rounds, alone"): partial(_sharp_rounds, 1500, 0),
    ("eptr_lm", "adaptive"): partial(_sharp_squares, "adaptive", 1000.0, "mirror", 8.0),
    ("eptr_lm", "ptr, gdp"): partial(_sharp_squares, "ptr, gdp", 60.0, "mirror"),
    ("eptr_lm", "ptr, dp"): partial(_sharp_squares, "ptr, dp", 58.0, "mirror"),
    ("eptr_lm", "paper"): partial(_sharp_squares, "paper", 72.0, "turn"),
    ("eptr_bayes", "ptr, gdp"): partial(_sharp_classes, "ptr, gdp", 58),
    ("eptr_bayes", "ptr, dp"): partial(_sharp_classes, "ptr, dp", 60),
    ("eptr_bayes", "paper"): partial(_sharp_classes, "paper", 66),
    ("eptr_nw", "adaptive"): partial(_sharp_curve, "adaptive", 200, "leaves"),
    ("eptr_nw", "ptr, gdp"): partial(_sharp_curve, "ptr, gdp", 56, "leaves"),
    ("eptr_nw", "ptr, dp"): partial(_sharp_curve, "ptr, dp", 54, "leaves"),
    ("eptr_nw", "paper"): partial(_sharp_curve, "paper", 72, "leaves"),
}


@cache
def cases() -> dict[Name, Callable[[], Watched]]:
    """Every case by its name; a case is prepared when it is called for."""
    found: dict[Name, Callable[[], Watched]] = {}
    for setup in setups():
        of = setup.function, setup.method
        if of in _WORST:
            setup = replace(setup, pairs={**setup.pairs, "worst": _WORST[of]})
        for pair in setup.pairs:
            found[*of, pair] = partial(setup.case, pair)
        if of in _SHARP:
            found[*of, "worst"] = _SHARP[of]
    for calibration, worst in (("gdp", 6), ("dp", 6), ("paper", 6)):
        for pair in PAIRS:
            found["eptr", calibration, pair] = partial(_own, calibration, pair)
        found["eptr", calibration, "worst"] = partial(_sharp_own, calibration, worst, 1)
    return found
