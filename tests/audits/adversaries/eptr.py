"""Neighbours for releases behind a test, and rounds: `eptr_lm`, `eptr_bayes`, `eptr_nw` and `eptr`."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from dpstats import eptr
from tests.audits.adversaries.neighbours import (
    FAR,
    GAUSSIAN,
    HUGE,
    HUGEST,
    MANY_ALONE,
    NOTHING,
    TESTED,
    Row,
    Setup,
    against,
    beam,
    declared,
    plain,
    uninformative,
)
from tests.audits.adversaries.regression_rows import LIMITS, NUMBERS, regression
from tests.audits.watched import Watched

# --- rows and pairs of rows ----------------------------------------------------------------------


def _labelled(n: int, seed: int) -> pd.DataFrame:
    """Two classes with two features."""
    rows = plain(n, seed)
    label = np.arange(n) % 2
    return pd.DataFrame(
        {"k": np.array(["A", "B"])[label], "x": rows.x + 2 * label, "z": rows.z - label}
    )


def _line(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    x = np.linspace(0, 10, n)
    return pd.DataFrame({"x": x, "y": np.sin(x) + 0.3 * rng.normal(size=n)})


_CLASSES: dict[str, tuple[Row, Row]] = {
    "edge": ({"k": "A", "x": FAR, "z": 0.0}, {"k": "A", "x": -FAR, "z": 0.0}),
    "typical": ({"k": "A", "x": 0.5, "z": -0.5}, {"k": "B", "x": -0.5, "z": 0.5}),
    "alone": ({"k": "A", "x": 0.5, "z": -0.5}, {"k": "B", "x": 2.0, "z": -1.0}),
    "huge": ({"k": "A", "x": 0.5, "z": -0.5}, {"k": "A", "x": HUGEST, "z": -HUGE}),
    "level": ({"k": "other", "x": 0.5, "z": -0.5}, {"k": "A", "x": 0.5, "z": -0.5}),
    "missing": ({"k": "A", "x": NOTHING, "z": 0.0}, {"k": "A", "x": FAR, "z": 0.0}),
}

_CURVES: dict[str, tuple[Row, Row]] = {
    "edge": ({"x": 5.0, "y": FAR}, {"x": 5.0, "y": -FAR}),
    "typical": ({"x": 3.0, "y": 0.5}, {"x": 7.0, "y": -0.5}),
    "alone": ({"x": 5.0, "y": 0.5}, {"x": 2.0, "y": -0.5}),
    "huge": ({"x": 5.0, "y": 0.5}, {"x": 5.0, "y": HUGEST}),
    "level": ({"x": 100.0, "y": 0.5}, {"x": 5.0, "y": 0.5}),
    "missing": ({"x": 5.0, "y": NOTHING}, {"x": 5.0, "y": FAR}),
}

# --- every method --------------------------------------------------------------------------------


def setups() -> list[Setup]:
    """Every method of `eptr_lm`, `eptr_bayes` and `eptr_nw`."""
    squares = partial(
        Setup,
        "eptr_lm",
        formula="y ~ x",
        rows=regression,
        n=60,
        m=60,
        pairs=NUMBERS,
        other={"level": {"formula": "y ~ x + g"}},
        many=1200,
    )
    out = [
        squares(method="rounds", options=TESTED),
        squares(
            method="rounds, alone",
            options={**TESTED, "limits": {"g": LIMITS["g"]}},
            formula="y ~ x + g",
            n=MANY_ALONE,
            m=0,
            other={},
        ),
        squares(method="adaptive", options={**TESTED, "method": "adaptive"}),
        squares(method="adassp", options={**GAUSSIAN, "method": "adassp"}),
        squares(method="ptr, gdp", options={**TESTED, "method": "ptr"}, n=400),
        squares(method="ptr, dp", options={**TESTED, "method": "ptr", "calibration": "dp"}, n=400),
        squares(method="paper", options={**TESTED, "method": "paper"}, n=400),
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
        bayes(method="sums", options={**GAUSSIAN, "method": "sums"}, n=30),
        bayes(
            method="sums, diagonal",
            options={**GAUSSIAN, "method": "sums", "covariance": "diagonal"},
            n=30,
        ),
        bayes(
            method="sums, private rows",
            options={
                **GAUSSIAN,
                "method": "sums",
                "limits": {"k": ["A", "B", "C"]},
            },
            n=MANY_ALONE,
            m=0,
        ),
        bayes(method="ptr, gdp", options={**TESTED, "method": "ptr", "target": 14}, n=30),
        bayes(
            method="ptr, dp",
            options={**TESTED, "method": "ptr", "target": 14, "calibration": "dp"},
            n=30,
        ),
        bayes(method="paper", options={**TESTED, "method": "paper", "target": 10}, n=60),
    ]
    curve = partial(Setup, "eptr_nw", formula="y ~ x", rows=_line, m=24, pairs=_CURVES, many=400)
    fixed: dict[str, Any] = {**TESTED, "at": [5.0], "bandwidth": 2.0}
    out += [
        curve(method="gp", options={**GAUSSIAN, "method": "gp", "bandwidth": 2.0}, n=40),
        curve(
            method="gp, alone",
            options={**GAUSSIAN, "method": "gp"},
            n=MANY_ALONE,
            m=0,
            many=MANY_ALONE,
        ),
        curve(method="adaptive", options={**fixed, "method": "adaptive"}, n=60),
        curve(method="ptr, gdp", options={**fixed, "method": "ptr"}, n=120),
        curve(method="ptr, dp", options={**fixed, "method": "ptr", "calibration": "dp"}, n=120),
        curve(method="paper", options={**fixed, "method": "paper"}, n=120),
    ]
    return out


# --- pairs for which a proof is sharp ------------------------------------------------------------


_SQUARES: dict[str, Any] = {
    "limits": {"x": (-1.0, 1.0), "z": (-1.0, 1.0), "y": (-2.0, 2.0), "(norm)": 1.0, "(coef)": 1.0}
}
_MANY, _TARGET, _ENOUGH = 3000, 60, 40


def sharp_squares(method: str, short: float, way: str, epsilon: float = 2.0) -> Watched:
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
    options = {**TESTED, **_SQUARES, "method": kind, "epsilon": epsilon}
    if calibration:
        options["calibration"] = calibration
    if kind in ("ptr", "paper"):
        options["target"] = _TARGET / (len(rest) + 1)
    rows = pd.DataFrame(rest, columns=["x", "z", "y"])
    last = {"x": c, "z": side, "y": -2.0}
    other = {**last, "z": -side} if way == "mirror" else {"x": 1.0, "z": 0.0, "y": -2.0}
    return declared("eptr_lm", "y ~ 0 + x + z", options, rows, (last, other))


def sharp_step(pair: tuple[Row, Row], public: int = 200) -> Watched:
    """Rows beside so many others that the last step of rounds has an eigenvalue known by next to all.

    And that what it may move by, beside two scores, is next to nothing.
    """
    options = {"epsilon": 20.0, "delta": 0.01, "method": "rounds"}
    return against("eptr_lm", options, pair, 20_000, public, (-1.0, 1.0))


def _sharp_rounds(n: int, public: int) -> Watched:
    """Opposite scores of all rounds, whose rows do not change the moments of the design."""
    pair = beam(0, 1e3, 1e3), beam(180, 1e5, 1e9)
    options = {"epsilon": 6.0, "delta": 0.01, "method": "rounds"}
    return against("eptr_lm", options, pair, n, public, (-1.0, 1.0))


def sharp_eigenvalue(public: int = 200) -> Watched:
    """One column, and a row as long as rows may be, or none."""
    one, others = (uninformative(k, -1.0, 1.0)[["x", "y"]] for k in (2000, max(public, 8)))
    pair = {"x": 1e5, "y": 0.0}, {"x": math.nan, "y": 0.0}
    options = {**TESTED, "method": "rounds"}
    return declared(
        "eptr_lm", "y ~ 0 + x", options, one.iloc[:-1], pair, others if public else None
    )


def sharp_classes(method: str, count: int) -> Watched:
    """Two classes of ``count`` rows at opposite ends, and a row that goes from the one to the other."""
    kind, _, calibration = method.partition(", ")
    options: dict[str, Any] = {**TESTED, "method": kind, "target": _TARGET}
    if calibration:
        options["calibration"] = calibration
    options["limits"] = {"k": ["A", "B", "C"], "x": (-1.0, 1.0), "(norm)": 1.0}
    labels = ["A"] * (count - 1) + ["B"] * count + ["C"] * (400 - 2 * count)
    rest = pd.DataFrame({"k": labels, "x": [9.0] * (2 * count - 1) + [0.0] * (400 - 2 * count)})
    pair = {"k": "A", "x": -9.0}, {"k": "B", "x": -9.0}
    return declared("eptr_bayes", "k ~ x", options, rest, pair)


def sharp_features() -> Watched:
    """A row that is near in both features, or far out in both; nothing is known of where they lie."""
    options: dict[str, Any] = {**GAUSSIAN, "limits": {"k": ["A", "B"]}}
    pair = {"k": "A", "x": 0.5, "z": -0.5}, {"k": "A", "x": 50.0, "z": -50.0}
    return declared("eptr_bayes", "k ~ x + z", options, _labelled(MANY_ALONE - 1, 1), pair)


def sharp_curve(method: str, count: int, way: str) -> Watched:
    """``count`` rows at one node, all with the largest response, and a row with the smallest.

    "leaves": it is missing from the other table; "flips": it has the largest response there.
    """
    kind, _, calibration = method.partition(", ")
    options: dict[str, Any] = {**TESTED, "method": kind, "at": [0.0], "bandwidth": 1.0}
    options["limits"] = {"x": (-1.0, 1.0), "y": (-1.0, 1.0)}
    if calibration:
        options["calibration"] = calibration
    if kind != "adaptive":
        options["degree"] = _TARGET
    rest = pd.DataFrame({"x": np.zeros(count), "y": np.ones(count)})
    first = {"x": 0.0, "y": -1.0}
    return declared(
        "eptr_nw",
        "y ~ x",
        options,
        rest,
        (first, {"x": 0.0, "y": 1.0} if way == "flips" else {"x": NOTHING, "y": -1.0}),
    )


# sizes at which a scan found the most; "adaptive": an eigenvalue so large that its noise is nothing
SHARP: dict[tuple[str, str], Callable[[], Watched]] = {
    ("eptr_lm", "rounds"): partial(_sharp_rounds, 400, 200),
    ("eptr_lm", "rounds, alone"): partial(_sharp_rounds, 1500, 0),
    ("eptr_lm", "adaptive"): partial(sharp_squares, "adaptive", 1000.0, "mirror", 8.0),
    ("eptr_lm", "ptr, gdp"): partial(sharp_squares, "ptr, gdp", 60.0, "mirror"),
    ("eptr_lm", "ptr, dp"): partial(sharp_squares, "ptr, dp", 58.0, "mirror"),
    ("eptr_lm", "paper"): partial(sharp_squares, "paper", 72.0, "turn"),
    ("eptr_bayes", "ptr, gdp"): partial(sharp_classes, "ptr, gdp", 58),
    ("eptr_bayes", "ptr, dp"): partial(sharp_classes, "ptr, dp", 60),
    ("eptr_bayes", "paper"): partial(sharp_classes, "paper", 66),
    ("eptr_nw", "adaptive"): partial(sharp_curve, "adaptive", 200, "leaves"),
    ("eptr_nw", "ptr, gdp"): partial(sharp_curve, "ptr, gdp", 56, "leaves"),
    ("eptr_nw", "ptr, dp"): partial(sharp_curve, "ptr, dp", 54, "leaves"),
    ("eptr_nw", "paper"): partial(sharp_curve, "paper", 72, "leaves"),
}

# --- an estimator of one's own -------------------------------------------------------------------


_OWN: dict[str, tuple[tuple[float, float], tuple[float, float]]] = {
    "edge": ((1, 0.0), (1, 1.0)),
    "typical": ((1, 0.3), (0, 0.7)),
    "alone": ((1, 0.0), (0, 1.0)),
    "huge": ((1, 0.3), (1, HUGEST)),
    "level": ((2, 0.5), (1, 0.5)),
    "missing": ((1, NOTHING), (1, 1.0)),
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
        options: dict[str, Any] = {**TESTED, "calibration": calibration}
        return eptr(data, estimate, safety, 1 / _ENOUGH, **options, seed=seed)

    return Watched("eptr", call, tables)


def own(calibration: str, pair: str, count: int = 12) -> Watched:
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


def sharp_own(calibration: str, count: int, other: int) -> Watched:
    """An estimate that a row moves by all that was promised, safe by the number of its members."""
    rest = np.tile([1.0, 0.0], (count, 1))
    return _estimator(calibration, rest, ((0, 0.0), (other, 1.0)), _steep, _members)
