"""The smallest budget, and the smallest table, at which wanted standard errors are expected."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpstats.errors import ArgumentError, mapping, number, shown
from dpstats.estimate.matrices import Floats
from dpstats.mechanism.privacy import Privacy
from dpstats.plan_rehearsal import Predicted, Rehearsal

_MOST_MU, _LEAST_MU = 100.0, 1e-4
_MOST_ROWS = 10**11
_TRIES = 12
_NEAR = 0.01


@dataclass(frozen=True)
class Wanted:
    """Standard errors that are asked for, infinite where none is."""

    terms: tuple[str, ...]
    values: Floats

    def met(self, std_error: Floats) -> bool:
        """Whether errors, none of them unknown, are as small as that."""
        return bool((std_error <= self.values).all())


def wanted(target_se: Any, terms: Sequence[str]) -> Wanted | None:
    """A number is for every coefficient but the constant's; a mapping names them."""
    if target_se is None:
        return None
    if isinstance(target_se, Mapping):
        return Wanted(tuple(terms), _named(mapping("target_se", target_se), terms))
    size = _target(target_se)
    others = [t != "Intercept" or len(terms) == 1 for t in terms]
    return Wanted(tuple(terms), np.where(others, size, np.inf))


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
    size = number(value)
    if size is None or not 1e-100 < size < 1e100:
        raise ArgumentError(
            f"target_se must be a standard error > 0, or {{'x1': 0.02}}, not {shown(value)}."
        )
    return size


def smallest_mu(rehearsal: Rehearsal, n: int, aim: Wanted) -> float | None:
    """The smallest mu at which n rows are expected to reach the aim; None where none does.

    The privacy part of a variance is about proportional to 1/mu^2: each rehearsal says how much smaller
    or larger mu should be.
    """
    mu, best = 1.0, None
    for _ in range(_TRIES):
        found = rehearsal.at(n, Privacy(mu))
        left = aim.values**2 - found.sampling
        if not (np.isfinite(found.std_error).all() and (left > 0).all()):
            if mu >= _MOST_MU:
                return best
            mu = min(4 * mu, _MOST_MU)
            continue
        factor = math.sqrt(float((found.privacy / left).max()))
        if factor <= 1:
            best = mu
        if abs(math.log(max(factor, 1e-9))) < _NEAR or (factor < 1 and mu <= _LEAST_MU):
            break
        mu = min(max(mu * min(max(factor, 1 / 16), 16), _LEAST_MU), _MOST_MU)
    return _rounded_up(mu, 2)


def smallest_n(rehearsal: Rehearsal, n: int, total: Privacy, aim: Wanted) -> int | None:
    """The smallest number of rows at which this total is expected to reach the aim.

    A variance is about s/n + p/n^2, sampling and privacy: each rehearsal gives both.
    """
    rows = n
    for _ in range(_TRIES):
        found = rehearsal.at(rows, total)
        if not np.isfinite(found.std_error).all():
            rows *= 4
            continue
        factor = float(_fraction(found, aim).min())
        rows = max(math.ceil(rows / factor), rehearsal.d + 2)
        if rows > _MOST_ROWS:
            return None
        if abs(math.log(factor)) < _NEAR or (factor > 1 and rows == rehearsal.d + 2):
            break
    return round(_rounded_up(float(rows), 3))


def _fraction(found: Predicted, aim: Wanted) -> Floats:
    """The u with s u + p u^2 = target^2, for each term; rows over u reach the target."""
    s, p, target = found.sampling, found.privacy, aim.values**2
    finite = np.isfinite(target)
    goal = np.where(finite, target, 1.0)
    u = 2 * goal / (s + np.sqrt(s**2 + 4 * p * goal))
    return np.where(finite, u, np.inf)


def rows_without_privacy(nonprivate: Floats, n: int, aim: Wanted) -> int:
    """Rows at which a fit without privacy would reach the aim."""
    factor = float(((nonprivate / aim.values) ** 2).max())
    return round(_rounded_up(max(n * factor, len(nonprivate) + 1.0), 3))


def _rounded_up(value: float, digits: int) -> float:
    unit = 10.0 ** (math.floor(math.log10(value)) - digits + 1)
    return float(f"{math.ceil(value / unit * (1 - 1e-9)) * unit:.{digits + 3}g}")
