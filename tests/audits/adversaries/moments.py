"""Neighbours for means, covariances and groups: `dp_mean`, `dp_mvnorm` and `dp_mixture`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pandas as pd

from tests.audits.adversaries.neighbours import (
    FAR,
    GAUSSIAN,
    HUGE,
    HUGEST,
    NOTHING,
    PRIVATE_SEED,
    PUBLIC_SEED,
    PURE,
    Row,
    Setup,
    declared,
    plain,
)
from tests.audits.adversaries.regression_rows import regression
from tests.audits.watched import Watched

# --- rows and pairs of rows ----------------------------------------------------------------------


def _with_level(n: int, seed: int) -> pd.DataFrame:
    rows = regression(n, seed)
    return rows[["x", "g"]]


def _two_groups(n: int, seed: int, gap: float = 9.0) -> pd.DataFrame:
    rows = plain(n, seed)
    rows.iloc[::2] += gap
    return rows - gap / 2


def _point_pairs(x: float = 0.5, z: float = -0.5) -> dict[str, tuple[Row, Row]]:
    return {
        "edge": ({"x": FAR, "z": FAR}, {"x": -FAR, "z": -FAR}),
        "typical": ({"x": x, "z": z}, {"x": -x, "z": -z}),
        "alone": ({"x": x, "z": z}, {"x": -2.0, "z": 2.0}),
        "huge": ({"x": x, "z": z}, {"x": HUGEST, "z": -HUGE}),
        "level": ({"x": x, "g": "c"}, {"x": x, "g": "a"}),
        "missing": ({"x": NOTHING, "z": z}, {"x": FAR, "z": FAR}),
    }


_POINTS = _point_pairs()
_LEVEL: dict[str, Any] = {"rows": _with_level, "formula": "~ x + g"}
_DECLARED_LEVEL = {**_LEVEL, "limits": {"g": ["a", "b", "c"]}}

# found by a search over pairs of rows for the largest mean shift of what is released, in noise sds
WORST: dict[tuple[str, str], tuple[Row, Row]] = {
    ("dp_mean", "refined, private rows"): ({"x": FAR, "z": 0.0}, {"x": 0.0, "z": FAR}),
    ("dp_mvnorm", "refined, private rows"): ({"x": FAR, "z": 0.0}, {"x": 0.0, "z": FAR}),
    ("dp_mvnorm", "refined"): ({"x": 35.0, "z": 103.0}, {"x": -67.0, "z": -1.4}),
    ("dp_mvnorm", "paper"): ({"x": -13367.0, "z": -1.54}, {"x": 0.18, "z": 47897.0}),
}

# --- every method --------------------------------------------------------------------------------


def setups() -> list[Setup]:
    """Every method of `dp_mean`, `dp_mvnorm` and `dp_mixture`."""
    mean = partial(
        Setup,
        "dp_mean",
        formula="~ x + z",
        rows=plain,
        n=30,
        pairs=_POINTS,
        other={"level": _LEVEL},
    )
    stated = {"covariance": 1.0}
    paper = {**stated, "method": "paper"}
    out = [
        mean(method="refined", options={**GAUSSIAN, **stated}, m=5),
        mean(method="refined, public covariance", options=GAUSSIAN, m=20),
        mean(method="paper", options={**GAUSSIAN, **paper}, m=5),
        mean(
            method="refined, private rows",
            options=GAUSSIAN,
            n=700,
            m=0,
            other={"level": _DECLARED_LEVEL},
        ),
        mean(method="refined, pure", options={**PURE, **stated}, m=5),
        mean(method="paper, pure", options={**PURE, **paper}, m=5),
    ]
    normal = partial(
        Setup,
        "dp_mvnorm",
        formula="~ x + z",
        rows=plain,
        n=30,
        m=12,
        pairs=_POINTS,
        other={"level": _LEVEL},
    )
    out += [
        normal(method="refined", options=GAUSSIAN),
        normal(method="paper", options={**GAUSSIAN, "method": "paper"}),
        normal(
            method="refined, private rows",
            options=GAUSSIAN,
            n=700,
            m=0,
            other={"level": _DECLARED_LEVEL},
        ),
        normal(method="refined, pure", options=PURE),
        normal(method="paper, pure", options={**PURE, "method": "paper"}),
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
            options={**GAUSSIAN, "k": 2, "regime": "public"},
            rows=_two_groups,
            n=60,
            m=40,
        ),
        groups(
            method="private",
            options={**GAUSSIAN, "k": 2, "regime": "private"},
            rows=partial(_two_groups, gap=4.0),
            n=120,
            m=40,
        ),
        groups(
            method="likelihood",
            options={**GAUSSIAN, "k": 2, "regime": "likelihood"},
            rows=partial(_two_groups, gap=4.0),
            n=60,
            m=40,
        ),
        groups(
            method="likelihood, counted",
            options={**GAUSSIAN, "regime": "likelihood"},
            rows=partial(_two_groups, gap=4.0),
            n=60,
            m=24,
        ),
    ]
    return out


# --- pairs for which a proof is sharp ------------------------------------------------------------


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
    options = {**GAUSSIAN, "k": 2, "regime": regime}
    return declared("dp_mixture", "~ x + z", options, rest, pair, public)


def _sharp_pure(function: str, options: Mapping[str, Any]) -> Watched:
    """One column, either row beyond the cut: spherical noise hides less in fewer dimensions."""
    rest, public = (plain(k, seed)[["x"]] for k, seed in ((29, PRIVATE_SEED), (12, PUBLIC_SEED)))
    pair = {"x": FAR}, {"x": -FAR}
    return declared(function, "~ x", options, rest, pair, public)


SHARP: dict[tuple[str, str], Callable[[], Watched]] = {
    ("dp_mean", "refined, pure"): partial(_sharp_pure, "dp_mean", {**PURE, "covariance": 1.0}),
    ("dp_mean", "paper, pure"): partial(
        _sharp_pure, "dp_mean", {**PURE, "covariance": 1.0, "method": "paper"}
    ),
    ("dp_mvnorm", "refined, pure"): partial(_sharp_pure, "dp_mvnorm", {"epsilon": 3.0}),
    ("dp_mvnorm", "paper, pure"): partial(
        _sharp_pure, "dp_mvnorm", {"epsilon": 3.0, "method": "paper"}
    ),
    ("dp_mixture", "public"): partial(sharp_groups, "public"),
    ("dp_mixture", "private"): partial(sharp_groups, "private"),
    ("dp_mixture", "likelihood"): partial(sharp_groups, "likelihood"),
}
