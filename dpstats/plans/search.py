"""The smallest budget, and the smallest table, that are expected to reach target standard errors."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpstats.accounting.privacy import Privacy
from dpstats.arguments import computable, mapping, shown
from dpstats.arrays import Floats
from dpstats.errors import ArgumentError, PrivacyError
from dpstats.plans.rehearsal import Predicted, Rehearsal

_MOST_MU, _LEAST_MU = 100.0, 1e-4
MOST_ROWS = 10**12
"""Of a plan, and of what it looks for."""
_NEAR = 1.03
_JUST = 0.985
_STEPS = 40


@dataclass(frozen=True)
class Target:
    """Target standard errors, infinite where there is none."""

    terms: tuple[str, ...]
    values: Floats

    def met(self, std_error: Floats) -> bool:
        """Whether errors, none of them unknown, are as small as that."""
        return bool((std_error <= self.values).all())


def target_of(target_se: Any, terms: Sequence[str]) -> Target | None:
    """A number is for every coefficient but the constant's; a mapping names them."""
    if target_se is None:
        return None
    if isinstance(target_se, Mapping):
        return Target(tuple(terms), _named(mapping("target_se", target_se), terms))
    size = _target(target_se)
    others = [t != "Intercept" or len(terms) == 1 for t in terms]
    return Target(tuple(terms), np.where(others, size, np.inf))


def _named(given: Mapping[str, Any], terms: Sequence[str]) -> Floats:
    values = np.full(len(terms), np.inf)
    for name, size in given.items():
        if not isinstance(name, str) or name not in terms:
            raise ArgumentError(
                f"target_se names {shown(name)}, which is no coefficient; they are {', '.join(terms)}."
            )
        values[list(terms).index(name)] = _target(size)
    if not given:
        raise ArgumentError("target_se is empty: give a number, or {'x1': 0.02}.")
    return values


def _target(value: Any) -> float:
    size = computable(value)
    if size is None:
        raise ArgumentError(
            f"target_se must be a standard error > 0, or {{'x1': 0.02}}, not {shown(value)}."
        )
    return size


def smallest_mu(rehearsal: Rehearsal, n: int, aim: Target) -> float | None:
    """The smallest mu from which on n rows are expected to reach the aim; None where none does.

    The privacy part of a variance is about proportional to 1/mu^2: each rehearsal gives the factor by
    which mu should change.
    """

    def attempt(mu: float) -> tuple[bool, float | None]:
        expected = _rehearsed(rehearsal, n, Privacy(mu))
        if expected is None or not aim.met(expected.std_error):
            return False, None
        left = aim.values**2 - expected.sampling
        return True, math.sqrt(float((expected.privacy / left).max()))

    mu = _smallest(attempt, 1.0, _LEAST_MU, _MOST_MU)
    return None if mu is None else _rounded_up(mu, 2)


def smallest_n(rehearsal: Rehearsal, n: int, total: Privacy, aim: Target) -> int | None:
    """The smallest number of rows from which on this total is expected to reach the aim.

    A variance is about s/n + p/n^2, sampling and privacy: each rehearsal gives both. None beyond
    `MOST_ROWS`.
    """

    def attempt(rows: float) -> tuple[bool, float | None]:
        expected = _rehearsed(rehearsal, math.ceil(rows), total)
        if expected is None or not np.isfinite(expected.std_error).all():
            return False, None
        return aim.met(expected.std_error), 1 / float(_fraction(expected, aim).min())

    rows = _smallest(attempt, float(n), rehearsal.d + 2.0, float(MOST_ROWS))
    return None if rows is None else round(_rounded_up(rows, 3))


def _rehearsed(rehearsal: Rehearsal, n: int, total: Privacy) -> Predicted | None:
    """None where the total needs more noise than can be drawn."""
    try:
        return rehearsal.at(n, total)
    except PrivacyError:
        return None


def _smallest(
    attempt: Callable[[float], tuple[bool, float | None]], start: float, least: float, most: float
) -> float | None:
    """The lower end, to 3 %, of the range of values that succeed and reaches up to large ones.

    ``attempt`` returns whether a value succeeds, and the factor that would make it just succeed.
    """
    lower, value = None, min(max(start, least), most)
    done, factor = attempt(value)
    while not done:
        if value >= most:
            return None
        lower = value
        value = min(value * min(max(1.01 * (factor or 2.0), 1.1), 1e4), most)
        done, factor = attempt(value)
    for _ in range(_STEPS):
        if value <= least or (lower is not None and value / lower <= _NEAR):
            break
        if factor is not None and factor > _JUST:
            break
        guess = value * max(1.01 * (factor or 0.5), 1 / 16)
        if lower is None:
            guess = min(guess, value / _NEAR)
        elif not lower * 1.005 < guess < value / 1.01:
            guess = math.sqrt(lower * value)
        guess = max(guess, least)
        done, hint = attempt(guess)
        if done:
            value, factor = guess, hint
        else:
            lower = guess
    return value


def _fraction(expected: Predicted, aim: Target) -> Floats:
    """The u with s u + p u^2 = target^2, for each term; rows over u reach the target."""
    s, p, target = expected.sampling, expected.privacy, aim.values**2
    finite = np.isfinite(target)
    goal = np.where(finite, target, 1.0)
    u = 2 * goal / (s + np.hypot(s, 2 * np.sqrt(p) * np.sqrt(goal)))
    return np.where(finite, u, np.inf)


def rows_without_privacy(nonprivate: Floats, n: int, aim: Target) -> int | None:
    """Rows at which a fit without privacy would reach the aim; None beyond `MOST_ROWS`."""
    rows = max(n * float((nonprivate / aim.values).max()) ** 2, len(nonprivate) + 2.0)
    return None if rows > MOST_ROWS else round(_rounded_up(rows, 3))


def falling(errors: Sequence[Floats], totals: Sequence[Privacy]) -> tuple[Floats, ...]:
    """Standard errors by budget, so that none is smaller than that of a larger budget.

    A few rehearsals, of which some may give no errors, are the less certain the smaller a budget is.
    """
    order = np.argsort([-total.mu for total in totals], kind="stable")
    given = np.array(errors)
    out = given.copy()
    out[order] = np.fmax.accumulate(given[order])
    return tuple(np.where(np.isnan(given), np.nan, out))


def rows_by_budget(
    rehearsal: Rehearsal, n: int, totals: Sequence[Privacy], aim: Target
) -> tuple[int | None, ...]:
    """`smallest_n` of every budget, so that no larger budget needs more rows."""
    out: list[int | None] = [None] * len(totals)
    most: int | None = None
    for k in sorted(range(len(totals)), key=lambda k: -totals[k].mu):
        rows = smallest_n(rehearsal, most or n, totals[k], aim)
        if rows is None:
            break  # nor do smaller budgets reach it
        most = rows if most is None else max(most, rows)
        out[k] = most
    return tuple(out)


def _rounded_up(value: float, digits: int) -> float:
    unit = 10.0 ** (math.floor(math.log10(value)) - digits + 1)
    return float(f"{math.ceil(value / unit * (1 - 1e-9)) * unit:.{digits + 3}g}")
