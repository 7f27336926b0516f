"""The page and the plot of an audit."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pandas as pd

from dpstats.accounting.privacy import ApproximatePrivacy, PurePrivacy
from dpstats.accounting.tradeoff import Claim
from dpstats.report.format import format_scalar
from dpstats.report.plot import COLOURS, axes
from dpstats.report.privacy import PrivacyStatement, total_line
from dpstats.report.table import Column, Heading, KeyValues, Page, Paragraph, Part, Table
from dpstats.report.tradeoff import draw_ignorance, draw_limit, finish_errors, type_one_errors

_SERVES = {"mu": "mu", "epsilon": "epsilon", "claim": "the claim", "size": "values alone"}


class AuditedEvent(Protocol):
    """One event of an audit, as a page shows it."""

    @property
    def event(self) -> str: ...
    @property
    def serves(self) -> tuple[str, ...]: ...
    @property
    def likely_under(self) -> str: ...
    @property
    def hits(self) -> int: ...
    @property
    def false_hits(self) -> int: ...
    @property
    def runs(self) -> int: ...
    @property
    def power(self) -> float: ...
    @property
    def alpha(self) -> float: ...


@dataclass(frozen=True)
class AuditPage:
    """What the page of an audit shows."""

    claim: Claim | None
    mu: float
    epsilon: float
    delta: float
    refuted: bool
    trials: int
    confidence: float
    points: Sequence[AuditedEvent]
    notes: tuple[str, ...]
    reach: float
    unseen: tuple[str, ...]


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


def _verdict(page: AuditPage, sure: str) -> str:
    if page.claim is None:
        return "No claim was given; what is given away is at least the above."
    if page.refuted:
        return f"The claim is REFUTED at confidence {sure}."
    found = _claimed(page.claim, page.delta)
    least = {"mu": page.mu, "epsilon": page.epsilon}
    if found is None or not math.isfinite(found[1]):
        return "Not refuted by this pair and this statistic, which proves nothing."
    unit, value = found
    return (
        f"Not refuted: this pair and this statistic give away at least {unit} = "
        f"{format_scalar(least[unit], 3)} of the claimed {format_scalar(value, 4)}. This is no proof."
    )


def audit_page(page: AuditPage) -> Page:
    """What was audited, the lower bounds, the verdict, and the events behind it."""
    sure = f"{format_scalar(100 * page.confidence, 8)} %"
    bounds = (
        f"mu >= {format_scalar(page.mu, 4)}; epsilon >= {format_scalar(page.epsilon, 4)} at delta = "
        f"{format_scalar(page.delta, 4)} (confidence {sure})"
    )
    claim = () if page.claim is None else (("Claim", claim_line(page.claim)),)
    head = KeyValues(
        (
            ("Audit", f"{page.trials} runs, half on either data set"),
            *claim,
            ("Given away", bounds),
            (
                "Reach",
                f"{page.points[0].runs} counted runs on either data set show mu = "
                f"{format_scalar(page.reach, 3)} at most",
            ),
            ("Verdict", _verdict(page, sure)),
        )
    )
    parts: list[Part] = [head, *(Paragraph(f"Note: {note}") for note in page.notes)]
    parts += [Heading("Events"), _events(page.points)]
    if page.unseen:
        parts += [Heading("Not looked at"), Paragraph(f"{'; '.join(page.unseen)}.")]
    return Page(tuple(parts))


def _events(points: Sequence[AuditedEvent]) -> Table:
    n = points[0].runs
    return Table.from_columns(
        [
            Column("", [p.event for p in points], align="l", csv_name="event"),
            Column("for", [", ".join(_SERVES[s] for s in p.serves) for p in points], align="l"),
            Column("likely under", [p.likely_under for p in points], align="l"),
            Column("hits", [str(p.hits) for p in points], [p.hits for p in points]),
            Column(
                "power >=", [format_scalar(p.power, 3) for p in points], [p.power for p in points]
            ),
            Column(
                "false hits", [str(p.false_hits) for p in points], [p.false_hits for p in points]
            ),
            Column(
                "alpha <=", [format_scalar(p.alpha, 3) for p in points], [p.alpha for p in points]
            ),
        ],
        notes=(
            f"Events were chosen on other runs; hits are among {n} new runs on the data set under "
            f"which the event is likely, false hits among {n} on the other one.",
        ),
        main=True,
    )


def plot_audit(
    table: pd.DataFrame,
    points: Sequence[AuditedEvent],
    power: Callable[[float], float] | None,
    confidence: float,
    ax: Any,
) -> Any:
    """Errors of type I and II: what was found, its limits, and what the claim allows."""
    ax = axes(ax)
    orange, green = COLOURS[1:3]
    if power is not None:
        alpha = type_one_errors()
        least = np.array([1 - min(power(float(a)), 1.0) for a in alpha])
        draw_limit(ax, alpha, least, "claim: errors allowed above")
    draw_ignorance(ax, "nothing given away")
    ordered = table.sort_values("alpha")
    ax.plot(ordered["alpha"], 1 - ordered["power"], color=green, label="rates along a score")
    ax.plot(
        ordered["alpha_upper"],
        1 - ordered["power_lower"],
        color=green,
        linestyle="--",
        linewidth=0.9,
        label=f"upper limits, each {100 * confidence:.8g} %",
    )
    for j, point in enumerate(points):
        found = point.false_hits / point.runs, 1 - point.hits / point.runs
        limit = point.alpha, 1 - point.power
        ax.plot(*zip(found, limit, strict=True), color=orange, linewidth=0.9)
        label = f"chosen events, limits all within {100 * confidence:.8g} %" if j == 0 else None
        ax.plot(*limit, "o", color=orange, markersize=4, label=label)
    title = ""
    if power is not None:
        below = any(p.power > power(p.alpha) + 1e-12 for p in points)
        title = "claim refuted" if below else "claim not refuted"
    return finish_errors(ax, title)
