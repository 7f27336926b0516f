"""The smallest budget, and the smallest table, that are expected to reach target standard errors."""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from dpstats.accounting.privacy import Privacy
from dpstats.arguments import computable, mapping, rounded_up, shown
from dpstats.arrays import Floats
from dpstats.errors import ArgumentError, PrivacyError
from dpstats.frame import term_named
from dpstats.plans.rehearsal import Predicted, Rehearsal

_MOST_MU, _LEAST_MU = 100.0, 1e-4
MOST_ROWS = 10**12
"""Largest number of rows of a plan, and of a search."""
_NEAR = 1.03
_JUST = 0.985
_STEPS = 40
_HALVINGS = 12
_STEP = 4.0
"""Ratio of two places of a curve between which it is not rehearsed."""
_HARDLY = 0.03
"""Share of a variance that privacy may have where its part is taken to fall as 1/t^2."""


Attempt = Callable[[float], tuple[bool, float | None]]
"""Whether a value succeeds, and the factor that would make it just succeed."""


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
        term = term_named(name, terms)
        if term not in terms:
            raise ArgumentError(
                f"target_se names {shown(name)}, which is not a coefficient; these are "
                f"{', '.join(terms)}."
            )
        values[list(terms).index(term)] = _target(size)
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


class Curve:
    """What rehearsals say of every number of rows and total, from as few of them as will do.

    A fit depends on n and mu through t = n mu alone, but for its sampling part, which is S(t)/n: noise
    is added to sums, and large tables are rehearsed as smaller ones (`Rehearsal.at`). So one curve of
    S(t) and of the privacy part P(t) serves every budget and every step of a search. Between
    rehearsals that are near both are powers of t; elsewhere one more is run.

    Parameters
    ----------
    rehearsal : Rehearsal
    n : int
        Rows of the plan; there the curve has the errors of `falling`.
    totals : sequence of Privacy
    known : sequence of Predicted
        Of these totals and n rows.
    """

    def __init__(
        self, rehearsal: Rehearsal, n: int, totals: Sequence[Privacy], known: Sequence[Predicted]
    ) -> None:
        self._rehearsal, self._n = rehearsal, n
        self._middle = math.exp(float(np.mean([math.log(total.mu) for total in totals])))
        self._points: dict[float, tuple[Floats, Floats]] = {}
        for total, found in zip(totals, known, strict=True):
            self._points[n * total.mu] = found.sampling * found.n, found.privacy

    @property
    def d(self) -> int:
        """Coefficients."""
        return self._rehearsal.d

    def at(self, n: float, mu: float) -> tuple[Floats, Floats]:
        """The sampling and the privacy part of the variances with n rows; NaN where not known."""
        t = n * mu
        least = self._rehearsal.nonprivate(1) ** 2
        size, privacy = self._read(t, n)
        return np.asarray(np.maximum(size, least) / n), privacy

    def _read(self, t: float, n: float) -> tuple[Floats, Floats]:
        places = sorted(self._points)
        if t in self._points:
            return self._fallen(t)
        above = bisect.bisect(places, t)
        if above == len(places):
            size, privacy = self._fallen(places[-1])
            beyond = privacy * (places[-1] / t) ** 2
            least = self._rehearsal.nonprivate(1) ** 2
            # a larger budget has less noise, and cuts fewer rows
            if (beyond + np.maximum(size - least, 0.0) / n <= _HARDLY * size / n).all():
                return size, beyond
            self._rehearse(max(t, places[-1] * _STEP))
        elif above == 0:
            self._rehearse(min(t, places[0] / _STEP))
        elif places[above] / places[above - 1] > _STEP * 1.001:
            self._rehearse(t)
        else:
            low, high = places[above - 1], places[above]
            share = math.log(t / low) / math.log(high / low)
            return _between(self._fallen(low), self._fallen(high), share)
        return self._read(t, n)

    def _rehearse(self, t: float) -> None:
        """With as many rows as the middle of the budgets needs for that."""
        rows = max(math.ceil(t / self._middle), 1)
        try:
            found = self._rehearsal.at(rows, Privacy(t / rows), bounds=False)
            self._points[t] = found.sampling * rows, found.privacy
        except PrivacyError:  # more noise than can be drawn
            unknown = np.full(self._rehearsal.d, math.nan)
            self._points[t] = unknown, unknown

    def _fallen(self, t: float) -> tuple[Floats, Floats]:
        """S(t) and P(t), so that no larger t has a larger error in n rows."""
        size, _ = self._points[t]
        variances = [s / self._n + p for place, (s, p) in self._points.items() if place >= t]
        return size, np.fmax.reduce(variances) - size / self._n


def _between(
    low: tuple[Floats, Floats], high: tuple[Floats, Floats], share: float
) -> tuple[Floats, Floats]:
    """The two parts of an error, interpolated by powers between two places."""
    first, second = (
        np.exp((1 - share) * np.log(a) + share * np.log(b)) for a, b in zip(low, high, strict=True)
    )
    return first, second


def smallest_mu(curve: Curve, n: int, aim: Target) -> float | None:
    """The smallest mu from which on n rows are expected to reach the aim; None where none does.

    The privacy part of a variance is about proportional to 1/mu^2: each place of the curve gives the
    factor by which mu should change.
    """

    def attempt(mu: float) -> tuple[bool, float | None]:
        sampling, privacy = curve.at(n, mu)
        if not aim.met(np.sqrt(sampling + privacy)):
            return False, None
        return True, math.sqrt(float((privacy / (aim.values**2 - sampling)).max()))

    mu = _halved(attempt, _smallest(attempt, 1.0, _LEAST_MU, _MOST_MU), _LEAST_MU)
    return None if mu is None else rounded_up(mu, 2)


def smallest_n(curve: Curve, n: int, total: Privacy, aim: Target) -> int | None:
    """The smallest number of rows from which on this total is expected to reach the aim.

    A variance is about s/n + p/n^2, sampling and privacy: each place of the curve gives both. None
    beyond `MOST_ROWS`. Never more than the n rows of the plan where these are enough.
    """

    def attempt(rows: float) -> tuple[bool, float | None]:
        sampling, privacy = curve.at(rows, total.mu)
        errors = np.sqrt(sampling + privacy)
        if not np.isfinite(errors).all():
            return False, None
        return aim.met(errors), 1 / float(_fraction(sampling, privacy, aim).min())

    least = curve.d + 2.0
    rows = _halved(attempt, _smallest(attempt, float(n), least, float(MOST_ROWS)), least)
    return None if rows is None else _whole(rows, n)


def _whole(rows: float, n: int) -> int:
    """Rounded up to four digits, but not past n."""
    rounded = round(rounded_up(rows, 4))
    return min(rounded, n) if rows <= n else rounded


def _halved(attempt: Attempt, value: float | None, least: float) -> float | None:
    """What `_smallest` found, to a part in 10^5: two budgets may need nearly as many rows."""
    if value is None:
        return None
    lower = max(value / _NEAR**2, least)
    if attempt(lower)[0]:
        return lower
    for _ in range(_HALVINGS):
        middle = math.sqrt(lower * value)
        lower, value = (lower, middle) if attempt(middle)[0] else (middle, value)
    return value


def _smallest(attempt: Attempt, start: float, least: float, most: float) -> float | None:
    """The lower end, to 3 %, of the range of values that succeed and reaches up to large ones."""
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


def _fraction(s: Floats, p: Floats, aim: Target) -> Floats:
    """The u with s u + p u^2 = target^2, for each term; rows over u reach the target."""
    target = aim.values**2
    finite = np.isfinite(target)
    goal = np.where(finite, target, 1.0)
    u = 2 * goal / (s + np.hypot(s, 2 * np.sqrt(p) * np.sqrt(goal)))
    return np.where(finite, u, np.inf)


def rows_without_privacy(nonprivate: Floats, n: int, aim: Target) -> int | None:
    """Rows at which a fit without privacy would reach the aim; None beyond `MOST_ROWS`."""
    rows = max(n * float((nonprivate / aim.values).max()) ** 2, len(nonprivate) + 2.0)
    return None if rows > MOST_ROWS else _whole(rows, n)


def falling(errors: Sequence[Floats], totals: Sequence[Privacy]) -> tuple[Floats, ...]:
    """Standard errors by budget, so that none is smaller than that of a larger budget.

    Neighbours that contradict each other, as few rehearsals may, have their geometric mean.
    """
    order = np.argsort([total.mu for total in totals], kind="stable")
    out = np.array(errors)
    for j in range(out.shape[1]):
        known = order[np.isfinite(out[order, j]) & (out[order, j] > 0)]
        logs = scipy.optimize.isotonic_regression(np.log(out[known, j]), increasing=False)
        out[known, j] = np.exp(logs.x)
    return tuple(out)


def rows_by_budget(
    curve: Curve, n: int, totals: Sequence[Privacy], aim: Target
) -> tuple[int | None, ...]:
    """`smallest_n` of every budget, so that no larger budget needs more rows."""
    out: list[int | None] = [None] * len(totals)
    most: int | None = None
    for k in sorted(range(len(totals)), key=lambda k: -totals[k].mu):
        rows = smallest_n(curve, n, totals[k], aim)
        if rows is None:
            break  # nor do smaller budgets reach it
        most = rows if most is None else max(most, rows)
        out[k] = most
    return tuple(out)
