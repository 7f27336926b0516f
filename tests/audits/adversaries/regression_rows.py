"""Rows of regressions, the pairs of rows in which neighbours differ, and the same of persons."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from tests.audits.adversaries.neighbours import FAR, HUGE, HUGEST, NOTHING, PUBLIC_SEED, Row

# --- rows ----------------------------------------------------------------------------------------


def regression(n: int, seed: int, response: str = "number") -> pd.DataFrame:
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


def persons(n: int, seed: int, response: str = "number") -> pd.DataFrame:
    """The rows of persons, who have one, two or three."""
    names = [f"p{k}" for k in np.sort(np.arange(n) * 11 % (n // 2 + 1))]
    return regression(n, seed, response).assign(who=names)


def panels(n: int, seed: int) -> pd.DataFrame:
    """The rows of persons, with an instrument, in which each person has every level."""
    rows = persons(n, seed)
    return rows.assign(z=rows.x + np.random.default_rng(50 + seed).normal(size=n))


def instrumented(n: int, seed: int) -> pd.DataFrame:
    """Rows with an instrument."""
    rows = regression(n, seed)
    return rows.assign(z=rows.x + np.random.default_rng(50 + seed).normal(size=n))


LIMITS = {"x": (-2.0, 2.0), "g": ["a", "b", "c"]}

# --- pairs of rows -------------------------------------------------------------------------------


def _regression_pairs(
    low: float, high: float, far: tuple[float, float], huge: Row
) -> dict[str, tuple[Row, Row]]:
    """``low`` and ``high`` are ordinary responses, ``far`` those that are farthest apart."""

    def row(x: float, y: float, g: str = "a") -> Row:
        return {"x": x, "g": g, "y": y}

    return {
        "edge": (row(FAR, far[0]), row(FAR, far[1])),
        "typical": (row(1.0, high), row(-1.0, low)),
        "alone": (row(0.5, high), row(-0.5, low, "b")),
        "huge": (row(0.5, high), {**row(0.5, high), **huge}),
        "level": (row(0.5, high, "c"), row(0.5, high, "a")),
        "missing": (row(NOTHING, high), row(FAR, far[1])),
    }


NUMBERS = _regression_pairs(-1.0, 1.0, (-1e9, 1e9), {"x": HUGE, "y": HUGEST})
ANSWERS = _regression_pairs(0.0, 1.0, (0.0, 1.0), {"x": HUGEST})
COUNTED = _regression_pairs(0.0, 2.0, (0.0, 1e9), {"x": HUGE, "y": 1e15})

# --- pairs of persons ----------------------------------------------------------------------------


def of_persons(pairs: Mapping[str, tuple[Row, Row]]) -> dict[str, tuple[list[Row], list[Row]]]:
    """Persons with three such rows and with one, and with a row that is missing beside it."""
    missing = {"x": NOTHING, "g": "a", "y": 0.0}
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


def varying(
    pairs: Mapping[str, tuple[list[Row], list[Row]]],
) -> dict[str, tuple[list[Row], list[Row]]]:
    """The same, and beside each row its mirror, so that it varies within its person."""

    def rows(side: list[Row]) -> list[Row]:
        return [*side, *({**row, "x": -row["x"], "y": -row["y"]} for row in side)]

    def of(who: str, *ends: tuple[float, str, float]) -> list[Row]:
        return [{"x": x, "g": g, "y": y, "who": who} for x, g, y in ends]

    levels = of("other", (0.0, "a", -1e9), (0.0, "c", 1e9)) * 200
    slope = of("one", (FAR, "a", 1e9), (-FAR, "a", -1e9))
    against = of("other", (FAR, "a", -1e9), (-FAR, "a", 1e9))
    more = {"levels": (slope, levels), "against": (slope, against)}
    return more | {name: (rows(first), rows(second)) for name, (first, second) in pairs.items()}


def with_instrument(
    pairs: Mapping[str, tuple[list[Row], list[Row]]],
) -> dict[str, tuple[list[Row], list[Row]]]:
    """The same, and an instrument beside the column that it is for."""

    def rows(side: list[Row]) -> list[Row]:
        return [{**row, "z": row["x"]} for row in side]

    return {name: (rows(first), rows(second)) for name, (first, second) in pairs.items()}


INSTRUMENTED: dict[str, tuple[Row, Row]] = {
    name: ({**first, "z": first["x"]}, {**second, "z": second["x"]})
    for name, (first, second) in NUMBERS.items()
}
