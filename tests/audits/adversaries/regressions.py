"""Neighbours for moments, scores and information of regressions: `dp_lm`, `dp_glm` and `dp_feols`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from tests.audits.adversaries.neighbours import (
    GAUSSIAN,
    MANY_ALONE,
    Row,
    Setup,
    against,
    beam,
    declared,
)
from tests.audits.adversaries.regression_rows import (
    ANSWERS,
    COUNTED,
    INSTRUMENTED,
    LIMITS,
    NUMBERS,
    instrumented,
    of_persons,
    panels,
    persons,
    regression,
    varying,
    with_instrument,
)
from tests.audits.watched import Watched

_MANY_PERSONS = MANY_ALONE + 400
"""Of half as many persons a third of a usual total tells without public rows."""
_ALONE: dict[str, Any] = {**GAUSSIAN, "limits": {"g": LIMITS["g"]}}


def setups() -> list[Setup]:
    """Every method of `dp_lm`, `dp_glm` and `dp_feols`."""
    lm = partial(Setup, "dp_lm", formula="y ~ x + g", rows=regression, n=40, pairs=NUMBERS)
    out = [
        lm(method="anchored", options={**GAUSSIAN}, m=24),
        lm(
            method="anchored, persons",
            options={**GAUSSIAN, "person": "who"},
            m=24,
            rows=persons,
            pairs=of_persons(NUMBERS),
        ),
        lm(
            method="anchored, persons, alone",
            options={**_ALONE, "person": "who"},
            n=MANY_ALONE,
            m=0,
            many=_MANY_PERSONS,
            rows=persons,
            pairs=of_persons(NUMBERS),
        ),
        lm(method="pmt", options={**GAUSSIAN, "method": "pmt"}, m=24),
        lm(
            method="ssp",
            options={**GAUSSIAN, "method": "ssp", "limits": {**LIMITS, "y": (-4.0, 4.0)}},
            m=0,
        ),
        lm(method="anchored, alone", options=_ALONE, n=MANY_ALONE, m=0),
        lm(
            method="anchored, alone in a box",
            options={**GAUSSIAN, "limits": {**LIMITS, "y": (-4.0, 4.0)}},
            n=MANY_ALONE,
            m=0,
        ),
    ]
    for family, response, pairs, limit in (
        ("binomial", "yes", ANSWERS, (0.0, 1.0)),
        ("poisson", "count", COUNTED, (0.0, 10.0)),
    ):
        glm = partial(
            Setup,
            "dp_glm",
            formula="y ~ x + g",
            rows=partial(regression, response=response),
            n=40,
            pairs=pairs,
        )
        for method in ("anchored", "pmt", "ssp"):
            options: dict[str, Any] = {**GAUSSIAN, "family": family, "method": method}
            if method == "ssp":
                options["limits"] = {**LIMITS, "y": limit}
            options["iterations"] = 1 if method == "ssp" else 2
            out.append(
                glm(method=f"{method}, {family}", options=options, m=0 if method == "ssp" else 12)
            )
        alone = {**_ALONE, "family": family, "iterations": 2}
        out.append(glm(method=f"anchored, alone, {family}", options=alone, n=MANY_ALONE, m=0))
    out.append(
        Setup(
            "dp_glm",
            "anchored, alone in a box",
            formula="y ~ x + g",
            options={
                **GAUSSIAN,
                "family": "poisson",
                "iterations": 2,
                "limits": {**LIMITS, "y": (0.0, 10.0)},
            },
            rows=partial(regression, response="count"),
            n=MANY_ALONE,
            m=0,
            pairs=COUNTED,
        )
    )
    out.append(
        Setup(
            "dp_glm",
            "anchored, poisson, persons",
            formula="y ~ x + g",
            options={**GAUSSIAN, "family": "poisson", "person": "who", "iterations": 2},
            rows=partial(persons, response="count"),
            n=40,
            m=12,
            pairs=of_persons(COUNTED),
        )
    )
    out.append(
        Setup(
            "dp_glm",
            "anchored, poisson, persons, alone",
            formula="y ~ x + g",
            options={**_ALONE, "family": "poisson", "person": "who", "iterations": 2},
            rows=partial(persons, response="count"),
            n=MANY_ALONE,
            m=0,
            many=_MANY_PERSONS,
            pairs=of_persons(COUNTED),
        )
    )
    panel = partial(
        Setup, "dp_feols", options={**GAUSSIAN, "person": "who"}, rows=panels, n=40, m=24
    )
    out += [
        Setup(
            "dp_feols",
            "rows",
            formula="y ~ x | g",
            options={**GAUSSIAN},
            rows=regression,
            n=40,
            m=24,
            pairs=NUMBERS,
        ),
        Setup(
            "dp_feols",
            "instruments, alone",
            formula="y ~ g | x ~ z",
            options=_ALONE,
            rows=instrumented,
            n=MANY_ALONE,
            m=0,
            pairs=INSTRUMENTED,
        ),
        panel(method="within", formula="y ~ x | who + g", pairs=varying(of_persons(NUMBERS))),
        Setup(
            "dp_feols",
            "within, alone",
            formula="y ~ x | who + g",
            options={**_ALONE, "person": "who"},
            rows=panels,
            n=MANY_ALONE + 200,  # of half as many persons
            m=0,
            pairs=varying(of_persons(NUMBERS)),
        ),
        panel(
            method="instruments",
            formula="y ~ g | x ~ z",
            pairs=with_instrument(of_persons(NUMBERS)),
        ),
    ]
    return out


# --- pairs for which a proof is sharp ------------------------------------------------------------


_SHORTEST = {"mu": 2.5}
"""A total at which fewest runs tell it from 0.7 of itself."""


def _sharp_scores() -> Watched:
    """Opposite scores, of lengths in different bins: the moments of the design do not change at all.

    With so many public rows they are given the least share there is, 0.05 of the total.
    """
    pair = beam(0, 1e3, 1e3), beam(180, 1e5, 1e9)
    return against("dp_lm", _SHORTEST, pair, 40, 200, (-1.0, 1.0))


def far_scores(function: str) -> Watched:
    """Opposite scores, both far beyond the others, of as many rows as show how long these are."""
    pair = beam(0, 1e3, 1e9), beam(180, 1e3, 1e9)
    return against(function, _SHORTEST, pair, 400, 200, (-1.0, 1.0))


def large_table() -> Watched:
    """Opposite scores, of so many rows that what is left of one round goes into the same sums."""

    def rows(n: int, seed: int) -> pd.DataFrame:
        x, z, errors = np.random.default_rng(seed).normal(size=(3, n))
        return pd.DataFrame({"x": x, "z": z, "y": x + z + errors})

    pair = beam(0, 1e3, 1e9), beam(180, 1e3, 1e9)
    return declared("dp_lm", "y ~ 0 + x + z", {"mu": 1.0}, rows(500_001, 3), pair, rows(1000, 4))


# The papers' matrix noise is for a change by 2 R^2, where sqrt(2) R^2 is the most. Rows at the angle t,
# mirrored at 45 degrees so that their moments change on the diagonal only, give (1 - cos(t)) / 2 of the
# half that scores have and sin(t)^2 / 2 of the other one: 9/16 at 120 degrees, and never more, because
# both are convex in the lengths of either row.
_PAPERS = {"mu": 3.0, "method": "pmt"}
_PAPERS_ANGLES = -15.0, 105.0


def _sharp_moments() -> Watched:
    first, second = (beam(angle, 1e6, 1e20) for angle in _PAPERS_ANGLES)
    return against("dp_lm", _PAPERS, (first, second), 40, 24, (-1.0, 1.0))


def _sharp_papers_family(family: str, y: float, responses: tuple[float, float]) -> Watched:
    """One Newton step from 0, for which the largest score and the largest information come together.

    Not for the logit, whose c1 = 1 and c2 = 1/4 no row reaches at once.
    """
    options = {**_PAPERS, "family": family, "iterations": 1}
    first, second = (beam(angle, 1e6, y) for angle in _PAPERS_ANGLES)
    return against("dp_glm", options, (first, second), 40, 24, responses)


_BOX = {"x": (-2.0, 2.0), "z": (-2.0, 2.0)}
WIDE: dict[str, Any] = {"limits": {"x": (-1e7, 1e7), "z": (-1e7, 1e7), "y": (-1e12, 1e12)}}


def sharp_corners() -> Watched:
    """Two corners of the box, at which rows with their response are as long as may be, at right angles.

    So are (1, 1, r) and (1, 1, -r) where r^2 = 2: the response has the share of two columns.
    """
    options = {**_SHORTEST, "method": "ssp", "limits": {**_BOX, "y": (-4.0, 4.0)}}
    pair = {"x": 2.0, "z": 2.0, "y": 4.0}, {"x": 2.0, "z": 2.0, "y": -4.0}
    return against("dp_lm", options, pair, 40, 0, (-1.0, 1.0))


def sharp_alone(function: str, pair: tuple[Row, Row], **options: Any) -> Watched:
    """Rows alone, of which nothing is known; or within limits that are far too wide."""
    low = -1.0 if function == "dp_lm" else 0.0
    high = 2.0 if options.get("family") == "poisson" else 1.0
    return against(function, {**_SHORTEST, **options}, pair, 200, 0, (low, high))


def sharp_instruments(pair: tuple[Row, Row]) -> Watched:
    """Rows alone, of which a column is endogenous and has an instrument."""
    x = np.random.default_rng(7).normal(size=(MANY_ALONE - 1, 3))
    rows = pd.DataFrame({"x": x[:, 0] + x[:, 1], "z": x[:, 0], "y": x[:, 1] + x[:, 2]})
    return declared("dp_feols", "y ~ 1 | x ~ z", {**_SHORTEST}, rows, pair)


def sharp_family(family: str, pair: tuple[Row, Row], high: float, *, public: bool) -> Watched:
    """One Newton step from 0 with scores as opposite as they can be: it has most of the total.

    Beside public rows the other matrix releases have a ninth of that or less, and the best angle is
    180 degrees; within limits they have a third, and it is near 135, or 90 between corners of the box.
    """
    options: dict[str, Any] = {**_SHORTEST, "family": family, "iterations": 1}
    if public:
        return against("dp_glm", options, pair, 40, 8, (0.0, high))
    side = max(abs(row[column]) for row in pair for column in ("x", "z"))
    box = {"x": (-side, side), "z": (-side, side), "y": (0.0, 1e3 if high > 1 else 1.0)}
    options["limits"] = box
    return against("dp_glm", {**options, "method": "ssp"}, pair, 200, 0, (0.0, high))


def corner(x: float, z: float, y: float) -> Row:
    """A corner of the box of two columns, or near one."""
    return {"x": x, "z": z, "y": y}


OPPOSITE = beam(0, 1e3, 1e3), beam(180, 1e5, 1e9)
"""Opposite scores of a linear model, and the same moments of the design."""
_OBTUSE = beam(0, 1e6, 1e9), beam(120, 3e7, 1e9)
_SURE = beam(0, 1e6, 1.0), beam(120, 3e7, 1.0)
YES: dict[str, Any] = {"family": "binomial", "iterations": 1}
COUNTS: dict[str, Any] = {"family": "poisson", "iterations": 1}
_YES, _COUNT = partial(sharp_family, "binomial"), partial(sharp_family, "poisson")

SHARP: dict[tuple[str, str], Callable[[], Watched]] = {
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
        _YES, (corner(9, 9, 1), corner(9, -9, 1)), 1.0, public=False
    ),
    ("dp_glm", "ssp, poisson"): partial(
        _COUNT, (corner(2, 0, 1e3), corner(-2, 2, 1e3)), 2.0, public=False
    ),
    ("dp_glm", "anchored, alone, binomial"): partial(sharp_alone, "dp_glm", _SURE, **YES),
    ("dp_glm", "anchored, alone, poisson"): partial(sharp_alone, "dp_glm", _OBTUSE, **COUNTS),
    ("dp_glm", "anchored, alone in a box"): partial(
        sharp_alone, "dp_glm", _OBTUSE, **COUNTS, **WIDE
    ),
}
