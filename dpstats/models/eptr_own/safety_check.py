"""A search for mistakes in what `eptr` asks its user to prove; on public data only."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dpstats.arguments import as_int, check_switch, numbers, positive, shown
from dpstats.errors import ArgumentError, suppress_private_errors
from dpstats.mechanism.conditional import WIDENED
from dpstats.models.eptr_own.releases import level_of
from dpstats.report.format import format_scalar

_MOST_LEVELS = 1000


def numbers_of(name: str, value: Any) -> np.ndarray:
    array = numbers(value)
    if array is None:
        raise ArgumentError(f"{name} must be a number or an array of numbers, or a function.")
    if not array.size or not np.isfinite(array).all():
        raise ArgumentError(f"{name} must hold finite numbers.")
    return array.ravel()


def answer_of(name: str, function: Callable[..., Any], *public: Any) -> Any:
    """The user's function of public data; its failure as an error of ours."""
    try:
        return function(*public)
    except Exception as error:
        raise ArgumentError(
            f"{name} failed with {type(error).__name__}: {error}. It ran on public data; its own "
            "traceback is above."
        ) from error


def check_answer(safety: Callable[..., Any], public: Any) -> None:
    array = numbers_of("safety(public)", answer_of("safety(public)", safety, public))
    if array.size != 1 or array[0] < 0:
        raise ArgumentError("safety(public) must be one number >= 0.")


def alphas_of(alpha: Any) -> np.ndarray:
    """The promised sensitivity at levels 1, 2, ...; widened for the rounding of the release."""
    if not callable(alpha):
        return np.array([positive("alpha", alpha) * WIDENED])
    levels = [(f"alpha({k})", k) for k in range(1, _MOST_LEVELS + 1)]
    values = np.array([positive(name, answer_of(name, alpha, k)) for name, k in levels])
    if (np.diff(values) > 0).any():
        raise ArgumentError("alpha(k) must not increase with the level k: safer data move less.")
    return values * WIDENED


@dataclass(frozen=True)
class SafetyCheck:
    """The result of a search for violations on public data.

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

    See Also
    --------
    check_safety : What makes one.

    Examples
    --------
    >>> import numpy as np
    >>> from dpstats import check_safety
    >>> rows = np.linspace(0, 1, 50)
    >>> check = check_safety(lambda d: float(np.clip(d, 0, 1).mean()), lambda d: 10, 0.02, rows)
    >>> check.passed
    True
    """

    pairs: int
    safe_pairs: int
    steepest: float
    largest_move: float
    violations: pd.DataFrame

    @property
    def passed(self) -> bool:
        """Whether pairs were put to the test and no violation was found, which proves nothing."""
        return self.violations.empty and self.safe_pairs > 0

    def __repr__(self) -> str:
        lines = [
            f"{self.pairs} pairs of neighbours of the public data, {self.safe_pairs} of them safe",
            f"largest change of safety: {format_scalar(self.steepest, 4)} (1 is allowed)",
            f"largest change of the estimate over alpha: {format_scalar(self.largest_move, 4)} "
            "(1 is allowed)",
        ]
        if not self.safe_pairs:
            lines.append(
                "No pair was safe, so alpha was never tested: give more public rows (the same "
                "ones repeated will do), or lower the threshold for this check."
            )
        if self.violations.empty:
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
    hostile: bool = False,
    trials: int = 2000,
    seed: int = 0,
) -> SafetyCheck:
    """Search public data for violations of what `eptr` asks its user to prove.

    Walks from the public data to ever stranger data: each step replaces a row by another, from the
    same data or from ``rows``, and compares neighbours. Walks start over, from the data and from
    few of their rows repeated, or one of them alone, where estimators are least stable. The number
    of rows is public and never changes.

    Parameters
    ----------
    estimate, safety, alpha
        As for `eptr`.
    public : DataFrame, array or list
        Public data; never the private ones, whose values this function shows. As many rows as the
        private data, if your functions or alpha depend on their number (repeat them).
    rows : same kind as public, optional
        Odd rows to put in, besides those of the smallest and largest public numbers.
    hostile : bool
        Put in rows of huge and of missing numbers as well: your functions must survive them, by
        cutting columns to their range and returning an answer for what is missing.
    trials : int
        Pairs of neighbours.
    seed : int

    Returns
    -------
    SafetyCheck
        Prints what was found; ``.passed`` is True where nothing was.

    Raises
    ------
    ArgumentError
        If the functions fail on the public data, or an argument is out of range.

    See Also
    --------
    eptr : The release itself.
    dpstats.audit.audit : Tries to refute the claim of a release.

    References
    ----------
    Shen, Tong and Wang (2026), "Efficient Propose-Test-Release for Optimal Differentially Private
    Estimation".

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
    _check_search(public, hostile, trials, seed)
    # plain mistakes show here
    numbers_of("estimate(public)", answer_of("estimate(public)", estimate, public))
    check_answer(safety, public)
    lines, steepest, largest, safe_pairs, pairs = [], 0.0, 0.0, 0, 0
    for step, (before, after, row) in enumerate(_walks(public, rows, hostile, trials, seed)):
        one, two = (_tried(safety, data) for data in (before, after))
        with np.errstate(all="ignore"):  # odd data may have no finite answer: a violation
            change = float(np.abs(one - two).max()) if one.size == two.size == 1 else math.nan
        steepest, pairs = max(steepest, change), pairs + 1
        safest = float(max(one.max(initial=0.0), two.max(initial=0.0)))
        level, move = level_of(safest), 0.0
        if level > 0:
            safe_pairs += 1
            first, second = (_tried(estimate, data) for data in (before, after))
            same = first.size == second.size
            with np.errstate(all="ignore"):
                move = float(np.linalg.norm(first - second)) if same else math.nan
            move /= float(bounds[min(level, len(bounds)) - 1])
            largest = max(largest, move)
        if not (change <= 1 + 1e-9 and move <= 1 + 1e-9):
            ends = (float(v[0]) if v.size else math.nan for v in (one, two))
            lines.append((step, row, *ends, move))
    columns = ["step", "row", "safety_before", "safety_after", "move_over_alpha"]
    violations = pd.DataFrame(lines, columns=columns)
    return SafetyCheck(pairs, safe_pairs, steepest, largest, violations)


def _check_search(public: Any, hostile: bool, trials: int, seed: int) -> None:
    rows = None
    if not isinstance(public, pd.DataFrame):
        rows = suppress_private_errors(lambda: np.asarray(public))
    table = isinstance(public, pd.DataFrame | np.ndarray | list | tuple | pd.Series)
    if not table or (rows is not None and rows.ndim == 0):
        raise ArgumentError(
            f"public must be a DataFrame, an array or a list of rows, not {shown(public)}."
        )
    if rows is None and not isinstance(public, pd.DataFrame):
        raise ArgumentError("the rows of public must be of one length.")
    check_switch("hostile", hostile)
    for name, value, least in (("trials", trials, 1), ("seed", seed, 0)):
        if as_int(value, least) is None:
            raise ArgumentError(f"{name} must be an integer >= {least}, not {shown(value)}.")


def _tried(function: Callable[[Any], Any], data: Any) -> np.ndarray:
    """A function of odd data; NaN, which violates everything, when it fails."""
    try:
        array = numbers(function(data))
    except Exception:
        array = None
    return np.array([math.nan]) if array is None else array.ravel()


def _walks(
    public: Any, rows: Any, hostile: bool, trials: int, seed: int
) -> Iterator[tuple[Any, Any, int]]:
    """Pairs of neighbours along walks over public data."""
    table = isinstance(public, pd.DataFrame)
    base = public if table else np.asarray(public)
    pool = base
    n = len(base)
    if n < 2:
        raise ArgumentError("check_safety needs two public rows or more.")
    if isinstance(base, pd.DataFrame) and not base.columns.is_unique:
        raise ArgumentError("public has several columns of one name; rename them.")
    odd = _odd_rows(base, hostile)
    for more in (odd, rows):
        if more is not None:
            joined = _joined(pool, more)
            if joined is None:
                raise ArgumentError("rows must be of the same kind and shape as public.")
            pool = joined
    state = np.random.Generator(np.random.PCG64(seed))
    walk = 50
    left = trials
    while left > 0:
        # n is public and stays: a small part of the rows is repeated instead
        some = state.integers(0, len(pool), int(state.integers(1, n + 1)))
        starts = (
            np.arange(n),
            some[state.integers(0, len(some), n)],
            np.full(n, some[0]),
            np.where(np.arange(n) < n // 2 + int(state.integers(-2, 3)), some[0], some[-1]),
        )
        order = starts[int(state.integers(0, 4))]
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


def _joined(pool: Any, more: Any) -> Any:
    """One under the other, or None where they do not fit."""
    if isinstance(pool, pd.DataFrame):
        fits = isinstance(more, pd.DataFrame) and list(more.columns) == list(pool.columns)
        return suppress_private_errors(lambda: pd.concat([pool, more])) if fits else None
    return suppress_private_errors(lambda: np.concatenate([pool, np.asarray(more)]))


def _odd_rows(data: Any, hostile: bool) -> Any:
    """Rows of the smallest and largest numbers, and of huge and missing ones; None without numbers."""
    count = 5 if hostile else 2
    if isinstance(data, pd.DataFrame):
        some = data.iloc[[0] * count].copy()
        for name in data.columns:
            column = data[name]
            ends = [column.min(), column.max()] if pd.api.types.is_numeric_dtype(column) else None
            if pd.api.types.is_float_dtype(column):
                some[name] = [*ends, 1e9, -1e9, math.nan][:count]  # type: ignore[misc]
            elif pd.api.types.is_integer_dtype(column):
                some[name] = [*ends, 10**9, -(10**9), 0][:count]  # type: ignore[misc]
        return some
    if data.dtype.kind != "f":
        return None
    ends = [data.min(axis=0), data.max(axis=0)]
    with np.errstate(over="ignore"):  # of half floats, which are infinite then
        odd = [np.full_like(ends[0], v) for v in (1e9, -1e9, math.nan)]
    return np.array([*ends, *odd][:count])


def _taken(pool: Any, order: np.ndarray) -> Any:
    if isinstance(pool, pd.DataFrame):
        return pool.iloc[order].reset_index(drop=True)
    return pool[order]
