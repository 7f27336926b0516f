"""A search for mistakes in what `eptr` asks its user to prove; on public data only."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dpstats.errors import ArgumentError
from dpstats.mechanism.conditional import WIDENED
from dpstats.mechanism.own_estimate import level_of
from dpstats.ptr_call import positive
from dpstats.report.format import format_scalar

_MOST_LEVELS = 1000


def numbers_of(name: str, value: Any) -> np.ndarray:
    try:
        numbers = np.array(value, dtype=np.float64).ravel()
    except (TypeError, ValueError):
        raise ArgumentError(
            f"{name} must be a number or an array of numbers, or a function."
        ) from None
    if not numbers.size or not np.isfinite(numbers).all():
        raise ArgumentError(f"{name} must hold finite numbers.")
    return numbers


def one_number(name: str, value: Any) -> float:
    numbers = numbers_of(name, value)
    if numbers.size != 1 or numbers[0] < 0:
        raise ArgumentError(f"{name} must be one number >= 0.")
    return float(numbers[0])


def alphas_of(alpha: Any) -> np.ndarray:
    """The promised sensitivity at levels 1, 2, ...; widened for the rounding of the release."""
    if not callable(alpha):
        return np.array([positive("alpha", alpha) * WIDENED])
    values = np.array([positive(f"alpha({k})", alpha(k)) for k in range(1, _MOST_LEVELS + 1)])
    if (np.diff(values) > 0).any():
        raise ArgumentError("alpha(k) must not increase with the level k: safer data move less.")
    return values * WIDENED


@dataclass(frozen=True)
class SafetyCheck:
    """What a search for violations found on public data.

    Attributes
    ----------
    pairs, safe_pairs : int
        Pairs of neighbouring data sets looked at, and those of which one was safe.
    steepest : float
        Largest change of safety; 1 is allowed.
    largest_move : float
        Largest change of the estimate over alpha, where one of the pair was safe; 1 is allowed.
    violations : DataFrame
        One line per violation: step, row replaced, both safeties, the change of the estimate.
    """

    pairs: int
    safe_pairs: int
    steepest: float
    largest_move: float
    violations: pd.DataFrame

    @property
    def passed(self) -> bool:
        """Whether no violation was found, which proves nothing."""
        return self.violations.empty

    def __repr__(self) -> str:
        lines = [
            f"{self.pairs} pairs of neighbours of the public data, {self.safe_pairs} of them safe",
            f"largest change of safety: {format_scalar(self.steepest, 4)} (1 is allowed)",
            f"largest change of the estimate over alpha: {format_scalar(self.largest_move, 4)} "
            "(1 is allowed)",
        ]
        if not self.safe_pairs:
            lines.append(
                "No pair was safe, so that alpha was never put to the test: give more public rows (the "
                "same ones repeated will do), or lower the threshold for this check."
            )
        if self.passed:
            lines.append("No violation found. This is not a proof: the promise is still yours.")
        else:
            lines.append(
                f"{len(self.violations)} VIOLATIONS: there is no privacy with these functions."
            )
            lines.append(self.violations.head(5).to_string(index=False))
        return "\n".join(lines)


def check_safety(
    estimate: Callable[[Any], Any],
    safety: Callable[[Any], Any],
    alpha: Any,
    public: Any,
    *,
    rows: Any = None,
    trials: int = 2000,
    seed: int = 0,
) -> SafetyCheck:
    """Search public data for violations of what `eptr` asks its user to prove.

    Walks from the public data to ever odder ones: each step replaces a row by another, from the
    same data or from ``rows``, and compares neighbours. Walks start over, from the data and from
    few of their rows repeated, or one of them alone, where estimators are least stable. The number
    of rows is public and never changes.

    Parameters
    ----------
    estimate, safety, alpha
        As for `eptr`.
    public : DataFrame, array or list
        Public data; never the private ones, whose values this function shows.
    rows : same kind as public, optional
        Odd rows to put in: extremes, missing values, empty groups.
    trials : int
        Pairs of neighbours.
    seed : int

    Examples
    --------
    >>> import numpy as np
    >>> y = np.linspace(0, 1, 50)
    >>> check_safety(np.mean, lambda d: 5.0, 1 / 50, y).passed
    True
    >>> check_safety(np.mean, lambda d: d.sum() * 3, 1 / 50, y).passed
    False
    """
    for name, function in (("estimate", estimate), ("safety", safety)):
        if not callable(function):
            raise ArgumentError(f"{name} must be a function of the data.")
    bounds = alphas_of(alpha) / WIDENED
    lines, steepest, largest, safe_pairs, pairs = [], 0.0, 0.0, 0, 0
    for step, (before, after, row) in enumerate(_walks(public, rows, trials, seed)):
        one, two = one_number("safety", safety(before)), one_number("safety", safety(after))
        change = abs(one - two)
        steepest, pairs = max(steepest, change), pairs + 1
        level = level_of(max(one, two))
        move = math.nan
        if level > 0:
            safe_pairs += 1
            first = numbers_of("estimate", estimate(before))
            second = numbers_of("estimate", estimate(after))
            move = float(np.linalg.norm(first - second)) / float(
                bounds[min(level, len(bounds)) - 1]
            )
            largest = max(largest, move)
        if change > 1 + 1e-9 or move > 1 + 1e-9:
            lines.append((step, row, one, two, move))
    columns = ["step", "row", "safety_before", "safety_after", "move_over_alpha"]
    found = pd.DataFrame(lines, columns=columns)
    return SafetyCheck(pairs, safe_pairs, steepest, largest, found)


def _walks(public: Any, rows: Any, trials: int, seed: int) -> Iterator[tuple[Any, Any, int]]:
    """Pairs of neighbours along walks over public data."""
    table = isinstance(public, pd.DataFrame)
    whole = public if table else np.asarray(public)
    pool = whole
    if rows is not None:
        pool = pd.concat([whole, rows]) if table else np.concatenate([whole, np.asarray(rows)])
    n = len(whole)
    if n < 2:
        raise ArgumentError("check_safety needs two public rows or more.")
    state = np.random.Generator(np.random.PCG64(seed))
    walk = 50
    left = trials
    while left > 0:
        # n is public and stays: a small part of the rows is repeated instead
        some = state.integers(0, len(pool), int(state.integers(1, n + 1)))
        starts = np.arange(n), some[state.integers(0, len(some), n)], np.full(n, some[0])
        order = starts[int(state.integers(0, 3))]
        favourite = int(state.integers(0, len(pool)))  # walks towards many copies of one row
        data = _taken(pool, order)
        for _ in range(min(walk, left)):
            row = int(state.integers(0, n))
            other = favourite if state.uniform() < 0.5 else int(state.integers(0, len(pool)))
            order = order.copy()
            order[row] = other
            after = _taken(pool, order)
            yield data, after, row
            data, left = after, left - 1


def _taken(pool: Any, order: np.ndarray) -> Any:
    if isinstance(pool, pd.DataFrame):
        return pool.iloc[order].reset_index(drop=True)
    return pool[order]
