"""The result of an audit: the events that were counted, the bounds that follow, and their page."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from dpstats.accounting.privacy import ApproximatePrivacy, PurePrivacy
from dpstats.accounting.tradeoff import Allowed
from dpstats.audit.attack import epsilon_given_away, lower_limit, mu_given_away, upper_limit
from dpstats.report.format import format_scalar
from dpstats.report.plot import COLOURS, axes
from dpstats.report.privacy import PrivacyStatement, total_line
from dpstats.report.table import Column, Page, Part, Printed, Table
from dpstats.report.texts import Heading, KeyValues, Notes, Paragraph
from dpstats.report.tradeoff import draw_ignorance, draw_limit, finish_errors, type_one_errors

_SERVES = {"mu": "mu", "epsilon": "epsilon", "claim": "the claim", "size": "values alone"}


@dataclass(frozen=True)
class AuditPoint:
    """One event, and how often it happened in the runs that were kept for counting.

    Attributes
    ----------
    event : str
        In words.
    serves : tuple of str
        What it was chosen for: "mu", "epsilon", "claim"; or "size", to compare what the values give
        away without their last digits.
    likely_under : {"data", "other"}
        The data set under which it is more probable, P; the other is Q.
    hits, false_hits, runs : int
        Runs under P, and under Q, in which it happened, out of this many under each.
    power, alpha : float
        Lower limit of P(event), upper limit of Q(event).

    See Also
    --------
    Audit : Of which it is a part.
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
class Audit(Printed):
    """The result of an audit; prints as a page.

    Attributes
    ----------
    mu, epsilon : float
        Lower bounds of what the release gives away; epsilon at `delta`.
    delta : float
    claim : object or None
        What was tested.
    refuted : bool
        Whether the claim is contradicted; False without one. Not refuted is not proved: another pair,
        another statistic or more runs may find more.
    trials : int
        Runs in all.
    confidence : float
        That of all bounds and the verdict jointly.
    points : tuple of AuditPoint
        The events behind them.
    notes : tuple of str

    See Also
    --------
    audit : What makes one.

    Examples
    --------
    >>> import numpy as np
    >>> from dpstats.audit import audit
    >>> rng = np.random.default_rng(1)
    >>> def noisy(rows):
    ...     return round(float(np.clip(rows, 0, 1).sum() + rng.normal()), 6)
    >>> found = audit(noisy, (np.zeros(5), np.append(np.zeros(4), 1.0)), mu=1, trials=400)
    >>> bool(found.mu < 1)
    True
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
    _unseen: tuple[str, ...] = field(default=(), repr=False)

    def table(self) -> pd.DataFrame:
        """Rates along all thresholds of the score that decided.

        ``alpha`` and ``power`` are rates of the event "the score is beyond the threshold" under Q and P,
        with limits that hold at `confidence` for each row by itself, not for all at once.
        """
        return self._table.copy()

    def plot(self, ax: Any = None) -> Any:
        """The plane of both errors: what the claim allows, and what the audit has shown.

        A point below the claim's curve refutes it. Needs matplotlib (``pip install
        "dpstats[plot]"``).
        """
        power = None if self._allowed is None else self._allowed.power
        return _plot(self, power, ax)

    def summary(self) -> Page:
        """The page; exports to Markdown, LaTeX, HTML and CSV."""
        return _page(self)

    @property
    def reach(self) -> float:
        """The largest mu that this many runs could show if they always told the data sets apart."""
        failure, runs = (1 - self.confidence) / (2 * len(self.points)), self.points[0].runs
        return float(mu_given_away(lower_limit(runs, runs, failure), upper_limit(0, runs, failure)))

    def _printed(self) -> Page:
        return self.summary()


def total_of(claim: Any) -> Any:
    """The total of a statement; any other claim is its own."""
    return claim.total if isinstance(claim, PrivacyStatement) else claim


def _claimed(claim: Any, delta: float) -> tuple[str, float] | None:
    """The unit in which a claim is best compared, and what it claims there."""
    total = total_of(claim)
    if isinstance(total, PurePrivacy):
        return "epsilon", total.at
    if isinstance(total, ApproximatePrivacy):
        return "epsilon", total.at if delta == total.slack else math.inf
    mu = getattr(total, "mu", None)
    if isinstance(mu, float | int) and hasattr(total, "slack"):
        return "mu", float(mu)
    return None


def in_epsilon(claim: Any) -> bool:
    """Whether a claim is made in epsilon."""
    return isinstance(total_of(claim), PurePrivacy | ApproximatePrivacy)


def claim_line(claim: Any) -> str:
    """A claim in words."""
    total = total_of(claim)
    if _claimed(total, 0.0) is None:
        return "a curve of its own: P(S) <= exp(epsilon) Q(S) + delta(epsilon)"
    return total_line(total)


def _verdict(audit: Audit, sure: str) -> str:
    if audit.claim is None:
        return "No claim was given; the release gives away at least the above."
    if audit.refuted:
        return f"The claim is REFUTED at confidence {sure}."
    claimed = _claimed(audit.claim, audit.delta)
    least = {"mu": audit.mu, "epsilon": audit.epsilon}
    if claimed is None or not math.isfinite(claimed[1]):
        return "Not refuted by this pair and this statistic, which proves nothing."
    unit, value = claimed
    return (
        f"Not refuted: this pair and this statistic give away at least {unit} = "
        f"{format_scalar(least[unit], 3)} of the claimed {format_scalar(value, 4)}. This is no proof."
    )


def _page(audit: Audit) -> Page:
    """What was audited, the lower bounds, the verdict, and the events behind it."""
    sure = f"{format_scalar(100 * audit.confidence, 8)} %"
    bounds = (
        f"mu >= {format_scalar(audit.mu, 4)}; epsilon >= {format_scalar(audit.epsilon, 4)} at delta = "
        f"{format_scalar(audit.delta, 4)} (confidence {sure})"
    )
    claim = () if audit.claim is None else (("Claim", claim_line(audit.claim)),)
    head = KeyValues(
        (
            ("Audit", f"{audit.trials} runs, half on either data set"),
            *claim,
            ("Given away", bounds),
            (
                "Reach",
                f"{audit.points[0].runs} counted runs on either data set show mu = "
                f"{format_scalar(audit.reach, 3)} at most",
            ),
            ("Verdict", _verdict(audit, sure)),
        )
    )
    parts: list[Part] = [head, *([Notes(audit.notes)] if audit.notes else [])]
    parts += [Heading("Events"), _events(audit.points)]
    if audit._unseen:
        parts += [Heading("Not examined"), Paragraph(f"{'; '.join(audit._unseen)}.")]
    return Page(tuple(parts))


def _events(points: Sequence[AuditPoint]) -> Table:
    n = points[0].runs
    return Table.from_columns(
        [
            Column("", [p.event for p in points], align="l", csv_name="event"),
            Column("for", [", ".join(_SERVES[s] for s in p.serves) for p in points], align="l"),
            Column("likely under", [p.likely_under for p in points], align="l"),
            Column.of("hits", [p.hits for p in points]),
            Column.of("power >=", [p.power for p in points]),
            Column.of("false hits", [p.false_hits for p in points]),
            Column.of("alpha <=", [p.alpha for p in points]),
        ],
        notes=(
            f"Events were chosen on other runs; hits are among {n} new runs on the data set under "
            f"which the event is likely, false hits among {n} on the other one.",
        ),
        main=True,
    )


def _plot(audit: Audit, power: Callable[[float], float] | None, ax: Any) -> Any:
    """Errors of type I and II: the rates of events, their limits, and what the claim allows."""
    ax = axes(ax)
    orange, green = COLOURS[1:3]
    if power is not None:
        alpha = type_one_errors()
        least = np.array([1 - min(power(float(a)), 1.0) for a in alpha])
        draw_limit(ax, alpha, least, "claim: errors allowed above")
    draw_ignorance(ax, "nothing given away")
    ordered = audit._table.sort_values("alpha")
    ax.plot(ordered["alpha"], 1 - ordered["power"], color=green, label="rates along a score")
    ax.plot(
        ordered["alpha_upper"],
        1 - ordered["power_lower"],
        color=green,
        linestyle="--",
        linewidth=0.9,
        label=f"upper limits, each {100 * audit.confidence:.8g} %",
    )
    for j, point in enumerate(audit.points):
        rates = point.false_hits / point.runs, 1 - point.hits / point.runs
        limit = point.alpha, 1 - point.power
        ax.plot(*zip(rates, limit, strict=True), color=orange, linewidth=0.9)
        label = (
            f"chosen events, limits all within {100 * audit.confidence:.8g} %" if j == 0 else None
        )
        ax.plot(*limit, "o", color=orange, markersize=4, label=label)
    title = ""
    if power is not None:
        title = "claim refuted" if audit.refuted else "claim not refuted"
    return finish_errors(ax, title)
