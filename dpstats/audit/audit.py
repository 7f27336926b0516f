"""Audits of a release: a lower bound on what it gives away about one row.

Run a release many times on two neighbouring data sets, and try to distinguish the two. Whoever succeeds
more often than the claimed privacy allows has refuted the claim. Audits protect nothing: they are for
test data. `worst_neighbours` searches for a pair that shows the loss clearly.

>>> import numpy as np
>>> noise = np.random.default_rng(1)
>>> data, other = np.zeros(20), np.append(np.zeros(19), 1.0)
>>> def leaky(rows):  # the sensitivity of this mean is 1/20; mu = 1 would need as much noise
...     return round(rows.mean() + noise.normal(scale=1 / 60), 6)
>>> result = audit(leaky, (data, other), mu=1, trials=4000)
>>> result.refuted, 2 < result.mu < 3
(True, True)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from dpstats.accounting.tradeoff import Allowed, Claim
from dpstats.arrays import Floats
from dpstats.audit.attack import Score, epsilon_given_away, lower_limit, mu_given_away, upper_limit
from dpstats.audit.claims import check_audit, claim_of, delta_of, evidence, own_claim, pair_of
from dpstats.audit.events import Event, Objective, choose_events, thresholds
from dpstats.audit.lattice import same_to_the_bit
from dpstats.audit.notes import CONSTANT, EQUAL, digits_note
from dpstats.audit.result import Audit, AuditPoint, in_epsilon
from dpstats.audit.runs import Columns, Run, draw, shown_once, turns
from dpstats.audit.same import same_data
from dpstats.budget.charge import require_no_budget
from dpstats.errors import ArgumentError

_LEARN, _CHOOSE = 0.15, 0.3  # parts of the runs; the rest is counted
_SIDES = ("data", "other")


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
        `weights`, `means`, `covariances`, `priors`, `cov` and `curve` are compared, as far as it has
        them, and whether there was a reply. Besides numbers, their form counts: last digits, the
        sign of zero, types, the order of keys and labels, and all that an instance of a class
        holds, private or not. Its errors are passed on, and repeated warnings are shown once.
    neighbours : (data, other)
        Two data sets that differ in one row (or person, or whatever the claim protects). That is not
        checked: an audit of data sets that differ in more refutes nothing. They must not be the
        same object: change a copy, ``other = data.copy()``. See `worst_neighbours`.
    claim : object with ``delta(epsilon)``, optional
        Such as ``fit.privacy``.
    mu, rho, epsilon : float, optional
        Or the claim in one unit: mu-GDP, the rho of a Gaussian release, or epsilon at ``delta`` (0,
        pure, if that is left out). If nothing is claimed and the release returns a result of the
        package, its own privacy is the claim; else there are only lower bounds.
    delta : float, optional
        At which the lower bound of epsilon is given; the claim's own, if it has one, or 1e-5.
    trials : int
        Runs in all, half of them on either data set; 40 or more. 55 % are counted, the others choose
        what to count. A few thousand detect noise that is a third too small; a fit of ten
        milliseconds then takes a minute.
    confidence : float
        Of everything that is reported, together.
    statistic : function, optional
        What to compare of the value that ``release`` returned: gives numbers, as above. A powerful
        statistic (a likelihood ratio, if you know it) makes a sharper audit. It may not depend on which
        of the two data sets was used other than through what was released.

    Returns
    -------
    Audit
        ``.mu``, ``.epsilon``, ``.refuted``, ``.table()``, ``.plot()``; prints as a page.

    Raises
    ------
    DPStatsError
        If an argument is invalid, both data sets are the same object, an outcome holds no numbers,
        or a budget is open, which should not pay for test data.

    See Also
    --------
    worst_neighbours : Looks for two data sets that show a fault.
    check_safety : For the functions that `eptr` takes.

    Notes
    -----
    *Why the bounds hold.* Scores and events are chosen on the first 45 % of the runs. The other runs are
    independent of these, so that for them every event S is a fixed one, and the numbers of runs in
    which it happens are binomial with P(S) and Q(S). Clopper-Pearson limits for one binomial fail with
    probability (1 - confidence) / (number of limits) at most, whatever P(S) is; by the union bound all
    of them hold at once with probability ``confidence``. Then P(S) and Q(S) are possible under mu-GDP
    only if mu >= Phi^-1(P(S)) - Phi^-1(Q(S)), and under (epsilon, delta) only if P(S) <=
    exp(epsilon) Q(S) + delta; both are worst at the limits. A claim is refuted if for some
    epsilon >= 0 the limits contradict P(S) <= exp(epsilon) Q(S) + delta(epsilon), or the same of
    the complement with P and Q exchanged, or its Gaussian trade-off function. As S depends on the
    released value alone, this is a statement on the release: post-processing never gives away more.
    A bad score costs power, never validity.

    *Last digits.* Real numbers can be private where floats are not. ``0.0 + noise`` has bits that
    ``1.0 + noise`` cannot have, and an audit of noise that is added to floats is right to refute it:
    noise should be added to integers, or the sum be rounded to a grid that does not depend on the data.
    ``statistic=lambda value: round(value, 6)`` bounds what is given away without the last digits. Where
    an event on digits decides, the best event on the size of the values is counted beside it, and if
    the digits give away more, a note says so, and why that may be.

    *What an audit cannot do.* Not refuted is not proved. Another pair of data sets, another statistic,
    or more runs may give away more; rare events (a delta of 1e-9) are out of reach of any number of
    runs. The page ends with what was not examined.

    References
    ----------
    Nasr, Hayes, Steinke, Balle and others (2023), "Tight Auditing of Differentially Private Machine
    Learning", USENIX Security.

    Examples
    --------
    >>> import numpy as np
    >>> noise = np.random.default_rng(1)
    >>> def mean(rows):
    ...     return round(np.clip(rows, 0, 1).mean() + noise.laplace(scale=1 / 20), 6)
    >>> result = audit(mean, (np.zeros(20), np.append(np.zeros(19), 1.0)), epsilon=1, trials=8000)
    >>> result.refuted, 0.6 < result.epsilon <= 1
    (False, True)
    >>> print(result.summary().to_text().splitlines()[1])
    Claim:      epsilon = 1 (pure)

    Without the rounding the last bits of the sum show whether 0 or 1 / 20 was added to the noise:

    >>> def naive(mean):
    ...     return mean + noise.laplace(scale=1 / 20)
    >>> audit(naive, (0.0, 1 / 20), epsilon=1, trials=8000).refuted
    True
    """
    require_no_budget()
    first, second = pair_of(neighbours)
    check_audit(release, statistic, trials, confidence)
    claim = claim_of(claim, mu, rho, epsilon, delta)
    outcome: Any = None
    runs: tuple[list[Run], list[Run]] = ([], [])
    with shown_once():
        for order in turns(trials // 2):  # pair by pair: a release that drifts drifts on both
            for side in order:
                try:
                    outcome, run = draw(release, (first, second)[side], statistic)
                except Exception as error:
                    which, run_number = ("first", "second")[side], len(runs[side]) + 1
                    error.add_note(
                        f"raised on the {which} data set (run {run_number}). "
                        "If only one of them raises, the error itself gives the row away."
                    )
                    raise
                runs[side].append(run)
                if claim is None:
                    claim = own_claim(outcome)
    learn, choose = (round(part * (trials // 2)) for part in (_LEARN, _LEARN + _CHOOSE))
    columns = Columns.of([one for side in runs for one in side[:choose]])
    tables = [columns.table(side) for side in runs]
    if all(map(same_to_the_bit, tables)) and getattr(
        getattr(outcome, "privacy", None), "seeded", False
    ):
        raise ArgumentError(
            "release has a fixed seed: every run returned the same. Leave seed= out, or let it change "
            "from call to call."
        )
    result = _audit_of(tables, learn, choose, columns, claim, delta_of(claim, delta), confidence)
    rarest = float(
        upper_limit(0, result.points[0].runs, (1 - confidence) / (2 * len(result.points)))
    )
    unseen = columns.unseen(
        np.vstack([x[:learn] for x in tables]),
        [one.form for side in runs for one in side],
        statistic is not None,
        rarest,
    )
    equal = (EQUAL,) if same_data(first, second) else ()
    return replace(result, notes=(*equal, *result.notes), _unseen=unseen)


def _audit_of(
    tables: list[Floats],
    learn: int,
    choose: int,
    columns: Columns,
    claim: Any,
    delta: float,
    confidence: float,
) -> Audit:
    """From runs on either data set: the first to learn scores, the next to choose, the last to count."""
    learnt = [x[:learn] for x in tables]
    counted = [x[choose:] for x in tables]
    scores = columns.scores(learnt[0], learnt[1])
    allowed = None if claim is None else Allowed.of(claim)
    objectives: dict[str, Objective] = {} if allowed is None else {"claim": evidence(allowed)}
    objectives["mu"] = mu_given_away
    objectives["epsilon"] = lambda power, alpha: epsilon_given_away(power, alpha, delta)

    def chosen(scores: Sequence[Score], objectives: Sequence[Objective]) -> list[Event]:
        one, two = (x[learn:choose] for x in tables)
        failure = (1 - confidence) / (2 * len(objectives))
        return choose_events(scores, np.vstack(learnt), one, two, objectives, failure)

    units, aims = list(objectives), list(objectives.values())
    events = chosen(scores, aims)
    deciding = events[0].score
    if deciding.looks == "digits":  # to be compared with the size of numbers
        units.append("size")
        events += chosen([score for score in scores if score.looks == "size"], aims[:1])
    served: list[tuple[Event, list[str]]] = []
    for unit, event in zip(units, events, strict=True):
        known = next((its for one, its in served if one.same(event)), None)
        if known is None:
            served.append((event, [unit]))
        else:
            known.append(unit)
    # the number of events is fixed before anything is counted
    failure = (1 - confidence) / (2 * len(served))
    points = tuple(_point(event, its, counted, failure) for event, its in served)
    refuted = allowed is not None and any(point.refutes(allowed) for point in points)
    notes = [CONSTANT] if all(map(same_to_the_bit, tables)) else []
    size = next((point for point in points if "size" in point.serves), None)
    if size is not None and not notes:
        at = delta if in_epsilon(claim) else None
        stands = allowed is not None and not refuted
        note = digits_note(deciding, points[0], size, aims[0], at, stands)
        notes += [] if note is None else [note]
    return Audit(
        mu=max(point.mu for point in points),
        epsilon=max(point.epsilon(delta) for point in points),
        delta=delta,
        claim=claim,
        refuted=refuted,
        trials=2 * len(tables[0]),
        confidence=confidence,
        points=points,
        notes=tuple(notes),
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
