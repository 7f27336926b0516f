"""Calls on neighbours, which are the same rows and one more: what all families of releases share."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

import dpstats
from tests.audits.watched import Watched

Row = dict[str, Any]
PAIRS = ("edge", "typical", "alone", "huge", "level", "missing")

GAUSSIAN, PURE, TESTED = {"mu": 2.0}, {"epsilon": 2.0}, {"epsilon": 2.0, "delta": 0.01}
FAR, HUGE, HUGEST = 1e4, 1e9, 1e300
NOTHING = math.nan

PUBLIC_SEED, PRIVATE_SEED = 1, 2

MANY_ALONE = 800
"""Rows that a third of mu = 2, or epsilon = 2, is enough for without public rows."""


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

        return Watched(self.function, call, (tables[0], tables[1]))


# --- rows ----------------------------------------------------------------------------------------


def plain(n: int, seed: int) -> pd.DataFrame:
    """Two columns of mean 0 and variance 1, without correlation."""
    z = np.random.default_rng(seed).normal(size=(max(n, 3), 2))
    z -= z.mean(axis=0)
    z = np.linalg.qr(z)[0][:n] * math.sqrt(len(z) - 1)
    return pd.DataFrame(z, columns=["x", "z"])


def uninformative(n: int, low: float, high: float) -> pd.DataFrame:
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


# --- pairs for which a proof is sharp ------------------------------------------------------------


def declared(
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

    return Watched(function, call, (tables[0], tables[1]))


def against(
    function: str,
    options: Mapping[str, Any],
    pair: tuple[Row, Row],
    n: int,
    m: int,
    responses: tuple[float, float],
) -> Watched:
    rest = uninformative(n, *responses).iloc[:-1]
    public = uninformative(m, *responses) if m else None
    return declared(function, "y ~ 0 + x + z", options, rest, pair, public)
