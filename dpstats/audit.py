"""An audit kit: what does a release give away about one row, at least?

Run a release many times on two neighbouring data sets, and try to tell the two apart. Whoever succeeds
more often than the claimed privacy allows has refuted the claim. Nothing here needs privacy of its
own, and nothing here protects: audits are for test data. `worst_neighbours` looks for a telling pair.

>>> import numpy as np
>>> noise = np.random.default_rng(1)
>>> data, other = np.zeros(20), np.append(np.zeros(19), 1.0)
>>> def leaky(rows):  # the sensitivity of this mean is 1/20; mu = 1 would need as much noise
...     return rows.mean() + noise.normal(scale=1 / 60)
>>> found = audit(leaky, (data, other), mu=1, trials=4000)
>>> found.refuted, 2 < found.mu < 3
(True, True)
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd

from dpstats.audit_neighbours import worst_neighbours
from dpstats.audit_outcomes import NO_REPLY, columns_of, draw, matrix_of
from dpstats.charge import require_no_budget
from dpstats.errors import ArgumentError, PrivacyError, number, shown, whole
from dpstats.estimate.attack import (
    Event,
    Floats,
    Objective,
    choose_events,
    epsilon_given_away,
    learn_scores,
    lower_limit,
    mu_given_away,
    thresholds,
    upper_limit,
)
from dpstats.mechanism.privacy import ApproximatePrivacy, Privacy, PurePrivacy
from dpstats.mechanism.tradeoff import Allowed, Claim
from dpstats.report.audit import AuditPage, audit_page, plot_audit, total_of
from dpstats.report.table import Page

__all__ = ["Audit", "AuditPoint", "audit", "worst_neighbours"]

_FEWEST = 40
_LEARN, _CHOOSE = 0.15, 0.3  # parts of the runs; the rest is counted
_DELTA = 1e-5
_SIDES = ("data", "other")


@dataclass(frozen=True)
class AuditPoint:
    """One event, and what the runs that were kept for counting say of it.

    Attributes
    ----------
    event : str
        In words.
    serves : tuple of str
        What it was chosen for: "mu", "epsilon", "claim".
    likely_under : {"data", "other"}
        The data set under which it is the more probable one, P; the other one is Q.
    hits, false_hits : int
        Runs under P, and under Q, in which it happened.
    runs : int
        Under either.
    power, alpha : float
        Lower limit of P(event), upper limit of Q(event).
    """

    event: str
    serves: tuple[str, ...]
    likely_under: str
    hits: int
    false_hits: int
    runs: int
    power: float
    alpha: float

    @property
    def mu(self) -> float:
        """What it proves in mu."""
        return max(float(mu_given_away(self.power, self.alpha)), 0.0)

    def epsilon(self, delta: float) -> float:
        """What it proves in epsilon at this delta."""
        event = float(epsilon_given_away(self.power, self.alpha, delta))
        # the complement, with the data sets in each other's place
        complement = float(epsilon_given_away(1 - self.alpha, 1 - self.power, delta))
        return max(event, complement, 0.0)

    def refutes(self, allowed: Allowed) -> bool:
        """Whether it contradicts a claim."""
        return self.power > allowed.power(self.alpha) + 1e-12  # what floats lose


@dataclass(frozen=True, repr=False, eq=False)
class Audit:
    """What an audit found; prints as a page.

    Attributes
    ----------
    mu, epsilon : float
        Lower bounds of what the release gives away; epsilon at `delta`.
    delta : float
    claim : object or None
        What was put to the test.
    refuted : bool
        Whether the claim is contradicted; False without one. Not refuted is not proved: another pair,
        another statistic or more runs may find more.
    trials : int
        Runs in all.
    confidence : float
        With which all bounds and the verdict hold together.
    points : tuple of AuditPoint
        The events behind them.
    notes : tuple of str
    """

    mu: float
    epsilon: float
    delta: float
    claim: Any
    refuted: bool
    trials: int
    confidence: float
    points: tuple[AuditPoint, ...]
    notes: tuple[str, ...]
    _table: pd.DataFrame = field(repr=False)
    _allowed: Allowed | None = field(repr=False)

    def table(self) -> pd.DataFrame:
        """Rates along all thresholds of the score that decided.

        ``alpha`` and ``power`` are rates of the event "the score is beyond the threshold" under Q and P,
        with limits that hold at `confidence` for each row by itself, not for all at once.
        """
        return self._table.copy()

    def plot(self, ax: Any = None) -> Any:
        """The plane of both errors: what the claim allows, and what was found.

        A point below the claim's curve refutes it. Needs matplotlib (``pip install
        "dpstats[plot]"``).
        """
        power = None if self._allowed is None else self._allowed.power
        return plot_audit(self._table, self.points, power, self.confidence, ax)

    def summary(self) -> Page:
        """The page; exports to Markdown, LaTeX, HTML and CSV."""
        return audit_page(
            AuditPage(
                self.claim,
                self.mu,
                self.epsilon,
                self.delta,
                self.refuted,
                self.trials,
                self.confidence,
                self.points,
                self.notes,
                self.reach,
            )
        )

    @property
    def reach(self) -> float:
        """The largest mu that so many runs could show, if they always told the data sets apart."""
        failure, runs = (1 - self.confidence) / (2 * len(self.points)), self.points[0].runs
        return float(mu_given_away(lower_limit(runs, runs, failure), upper_limit(0, runs, failure)))

    def __repr__(self) -> str:
        return self.summary().to_text()

    def _repr_html_(self) -> str:
        return self.summary().to_html()


def audit(
    release: Callable[[Any], Any],
    neighbours: Sequence[Any],
    *,
    claim: Claim | None = None,
    mu: float | None = None,
    rho: float | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    trials: int = 10_000,
    confidence: float = 0.99,
    statistic: Callable[[Any], Any] | None = None,
) -> Audit:
    """Bound from below what a release gives away about two data sets, and try to refute its claim.

    Parameters
    ----------
    release : function of one data set
        Every call must be a fresh run, independent of those before: no fixed seed inside. It may return
        a number, an array, a Series, DataFrame, list, tuple or dict of numbers, None or NaN ("no reply",
        an outcome of its own), or a result of the package, of which `coef()` or `mean`, `value`,
        `weights`, `means`, `covariances`, `priors`, `cov` and `curve` are looked at, as far as it has
        them, and whether there was a reply. Its errors are passed on.
    neighbours : (data, other)
        Two data sets that differ in one row (or person, or whatever the claim protects). That is not
        checked: an audit of data sets that differ in more refutes nothing. See `worst_neighbours`.
    claim : object with ``delta(epsilon)``, optional
        Such as ``fit.privacy``.
    mu, rho, epsilon : float, optional
        Or the claim in one unit: mu-GDP, the rho of a Gaussian release, or epsilon at ``delta`` (0,
        pure, if that is left out). If nothing is claimed and the release returns a result of the
        package, its own privacy is the claim; else there are lower bounds alone.
    delta : float, optional
        At which the lower bound of epsilon is given; the claim's own, if it has one, or 1e-5.
    trials : int
        Runs in all, half of them on either data set; 40 or more. Some thousands tell noise that is a
        third too small; a fit of ten milliseconds then takes a minute.
    confidence : float
        Of everything that is reported, together.
    statistic : function, optional
        What to look at in the value that ``release`` returned: gives numbers, as above. A telling
        statistic (a likelihood ratio, if you know it) makes a sharper audit. It may not depend on which
        of the two data sets was used other than through what was released.

    Returns
    -------
    Audit
        ``.mu``, ``.epsilon``, ``.refuted``, ``.table()``, ``.plot()``; prints as a page.

    Raises
    ------
    DPStatsError
        If an argument makes no sense, an outcome holds no numbers, or a budget is open, which should
        not pay for test data.

    Notes
    -----
    *Why the bounds hold.* Scores and events are found on the first 45 % of the runs. The other runs are
    independent of these, so that for them every event S is a fixed one, and the numbers of runs in
    which it happens are binomial with P(S) and Q(S). Clopper-Pearson limits for one binomial fail with
    probability (1 - confidence) / (number of limits) at most, whatever P(S) is; by the union bound all
    of them hold at once with probability ``confidence``. Then P(S) and Q(S) are possible under mu-GDP
    only if mu >= Phi^-1(P(S)) - Phi^-1(Q(S)), and under (epsilon, delta) only if P(S) <=
    exp(epsilon) Q(S) + delta; both are worst at the limits. A claim is refuted if for some
    epsilon >= 0 the limits contradict P(S) <= exp(epsilon) Q(S) + delta(epsilon), or the same of the
    complement with P and Q in each other's place, or its Gaussian trade-off function. As S depends on
    the released value alone, this is a statement on the release: post-processing never gives away
    more. A bad score costs power, never validity.

    *What an audit cannot do.* Not refuted is not proved. Another pair of data sets, another statistic,
    or more runs may give away more; rare events (a delta of 1e-9) are out of reach of any number of
    runs.

    Examples
    --------
    >>> import numpy as np
    >>> noise = np.random.default_rng(1)
    >>> def mean(rows):
    ...     return np.clip(rows, 0, 1).mean() + noise.laplace(scale=1 / 20)
    >>> found = audit(mean, (np.zeros(20), np.append(np.zeros(19), 1.0)), epsilon=1, trials=8000)
    >>> found.refuted, 0.6 < found.epsilon <= 1
    (False, True)
    >>> print(found.summary().to_text().splitlines()[1])
    Claim:      epsilon = 1 (pure)
    """
    require_no_budget()
    first, second = _pair(neighbours)
    _check(release, statistic, trials, confidence)
    claim = _claim_of(claim, mu, rho, epsilon, delta)
    outcome: Any = None
    runs: tuple[list[Any], list[Any]] = ([], [])
    for _ in range(trials // 2):  # in turn, so that a release that drifts drifts on both
        for side, data in zip(runs, (first, second), strict=True):
            outcome, numbers = draw(release, data, statistic)
            side.append(numbers)
            if claim is None:
                claim = _own_claim(outcome)
    learn, choose = (round(part * (trials // 2)) for part in (_LEARN, _LEARN + _CHOOSE))
    columns = columns_of([one for side in runs for one in side[:choose]])
    tables = [matrix_of(side, columns) for side in runs]
    if _all_same(tables) and getattr(getattr(outcome, "privacy", None), "seeded", False):
        raise ArgumentError(
            "release has a fixed seed: every run returned the same. Leave seed= out, or let it change "
            "from call to call."
        )
    return _audit_of(tables, learn, choose, columns, claim, _delta_of(claim, delta), confidence)


def _audit_of(
    tables: list[Floats],
    learn: int,
    choose: int,
    columns: Sequence[str],
    claim: Any,
    delta: float,
    confidence: float,
) -> Audit:
    """From runs on either data set: the first to learn scores, the next to choose, the last to count."""
    learnt = [x[:learn] for x in tables]
    counted = [x[choose:] for x in tables]
    names = ["missing (None or NaN)" if name == NO_REPLY else name for name in columns]
    scores = learn_scores(learnt[0], learnt[1], names)
    allowed = None if claim is None else Allowed.of(claim)
    objectives: dict[str, Objective] = {} if allowed is None else {"claim": _evidence(allowed)}
    objectives["mu"] = mu_given_away
    objectives["epsilon"] = lambda power, alpha: epsilon_given_away(power, alpha, delta)
    failure = (1 - confidence) / (2 * len(objectives))
    events = choose_events(
        scores,
        np.vstack(learnt),
        tables[0][learn:choose],
        tables[1][learn:choose],
        list(objectives.values()),
        failure,
    )
    served: list[tuple[Event, list[str]]] = []
    for unit, event in zip(objectives, events, strict=True):
        known = next((units for one, units in served if one.same(event)), None)
        if known is None:
            served.append((event, [unit]))
        else:
            known.append(unit)
    # how many events there are is known before anything is counted
    failure = (1 - confidence) / (2 * len(served))
    points = tuple(_point(event, units, counted, failure) for event, units in served)
    return Audit(
        mu=max(point.mu for point in points),
        epsilon=max(point.epsilon(delta) for point in points),
        delta=delta,
        claim=claim,
        refuted=allowed is not None and any(point.refutes(allowed) for point in points),
        trials=2 * len(tables[0]),
        confidence=confidence,
        points=points,
        notes=_notes(tables),
        _table=_along(served[0][0], [x[:choose] for x in tables], counted, delta, confidence),
        _allowed=allowed,
    )


def _point(
    event: Event, units: Sequence[str], counted: Sequence[Floats], failure: float
) -> AuditPoint:
    likely = 0 if event.of_first else 1
    hits, false_hits = (int(event.holds(counted[side]).sum()) for side in (likely, 1 - likely))
    runs = len(counted[0])
    return AuditPoint(
        str(event),
        tuple(units),
        _SIDES[likely],
        hits,
        false_hits,
        runs,
        float(lower_limit(hits, runs, failure)),
        float(upper_limit(false_hits, runs, failure)),
    )


def _along(
    event: Event,
    trained: Sequence[Floats],
    counted: Sequence[Floats],
    delta: float,
    confidence: float,
) -> pd.DataFrame:
    """Rates of an event as its threshold moves."""
    score, likely, runs = event.score.of, 0 if event.of_first else 1, len(counted[0])
    at = thresholds(np.concatenate([score(x) for x in trained]))
    hits, false_hits = (
        runs - below if event.above else below
        for below in (
            np.searchsorted(np.sort(score(counted[side])), at, side="right")
            for side in (likely, 1 - likely)
        )
    )
    power = lower_limit(hits, runs, (1 - confidence) / 2)
    alpha = upper_limit(false_hits, runs, (1 - confidence) / 2)
    return pd.DataFrame(
        {
            "threshold": at,
            "alpha": false_hits / runs,
            "alpha_upper": alpha,
            "power": hits / runs,
            "power_lower": power,
            "mu": np.maximum(mu_given_away(power, alpha), 0.0),
            "epsilon": np.maximum(epsilon_given_away(power, alpha, delta), 0.0),
        }
    )


def _notes(tables: Sequence[Floats]) -> tuple[str, ...]:
    if not _all_same(tables):
        return ()
    return (
        "on either data set every run returned the same. If that is because of a fixed seed, the runs "
        "are not independent and nothing here holds, the verdict above least of all: let the seed "
        "change from call to call. (If there is no noise at all, it holds.)",
    )


def _all_same(tables: Sequence[Floats]) -> bool:
    """Whether on either side no run differs from another."""
    return all(np.array_equal(x, np.broadcast_to(x[0], x.shape), equal_nan=True) for x in tables)


# --- arguments ---------------------------------------------------------------------------------------


def _pair(neighbours: Any) -> tuple[Any, Any]:
    if not (isinstance(neighbours, tuple | list) and len(neighbours) == 2):
        raise ArgumentError(
            "neighbours must be a pair (data, other): two data sets that differ in one row."
        )
    return neighbours[0], neighbours[1]


def _check(release: Any, statistic: Any, trials: Any, confidence: Any) -> None:
    if not callable(release):
        raise ArgumentError("release must be a function of a data set; each call is one run.")
    if statistic is not None and not callable(statistic):
        raise ArgumentError("statistic must be a function of what release returns.")
    if whole(trials, _FEWEST) is None:
        raise ArgumentError(
            f"trials must be a whole number >= {_FEWEST}, not {shown(trials)}: half of them run on each "
            "of the two data sets. Below some hundreds an audit finds gross mistakes alone."
        )
    if not isinstance(confidence, float | np.floating) or not 0.5 <= confidence < 1:
        raise ArgumentError(f"confidence must lie in [0.5, 1), not {shown(confidence)}.")


def _claim_of(claim: Any, mu: Any, rho: Any, epsilon: Any, delta: Any) -> Any:
    """The claim that the arguments make, or None."""
    said = {"claim": claim, "mu": mu, "rho": rho, "epsilon": epsilon}
    given = [name for name, value in said.items() if value is not None]
    if len(given) > 1:
        raise PrivacyError(f"make one claim: {'= and '.join(given)}= were given.")
    beyond = number(delta)
    if delta is not None and (beyond is None or not 0 <= beyond < 1):
        raise PrivacyError(f"delta must lie in [0, 1), not {shown(delta)}.")
    if claim is not None:
        if not callable(getattr(claim, "delta", None)):
            raise PrivacyError(
                "claim must have a method delta(epsilon), such as fit.privacy; or say mu= or epsilon=."
            )
        return claim
    for name, value in (("mu", mu), ("rho", rho), ("epsilon", epsilon)):
        size = number(value)
        if value is not None and (size is None or not 0 <= size < math.inf):
            raise PrivacyError(f"{name} must be a finite number >= 0, not {shown(value)}.")
    if mu is not None or rho is not None:
        return Privacy(float(mu) if mu is not None else math.sqrt(2 * float(rho)))
    if epsilon is None:
        return None
    # not the Gaussian through that point: that would claim more
    return (
        ApproximatePrivacy(float(epsilon), float(delta)) if delta else PurePrivacy(float(epsilon))
    )


def _own_claim(outcome: Any) -> Any:
    """The privacy that a result states of itself, or None."""
    stated = getattr(outcome, "privacy", None)
    return stated if callable(getattr(stated, "delta", None)) else None


def _delta_of(claim: Any, delta: float | None) -> float:
    """Where epsilon is bounded: as asked, or where the claim itself is made."""
    if delta is not None:
        return float(delta)
    total = total_of(claim)
    if isinstance(total, PurePrivacy):
        return 0.0
    if isinstance(total, ApproximatePrivacy):
        return total.slack
    return float(getattr(claim, "shown_delta", _DELTA))


def _evidence(allowed: Allowed) -> Objective:
    """By how much, in probits, an event does more than a claim allows."""

    def margin(power: Floats, alpha: Floats) -> Floats:
        return mu_given_away(power, np.minimum(allowed.powers(alpha), 1.0))

    return margin


# `dpstats.audit` is the module and is also called as the function, so that dpstats.audit(...) and
# `from dpstats.audit import worst_neighbours` both work.
class _CallableModule(ModuleType):
    def __call__(self, *args: Any, **options: Any) -> Audit:
        return audit(*args, **options)


sys.modules[__name__].__class__ = _CallableModule
