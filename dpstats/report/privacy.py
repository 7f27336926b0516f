"""The privacy of a result: the total in every unit, and what was released for it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Protocol

import pandas as pd
from numpy.typing import NDArray

from dpstats.accounting.privacy import ApproximatePrivacy, PurePrivacy, Total
from dpstats.accounting.unit import PrivacyUnit
from dpstats.report.format import format_scalar
from dpstats.report.frames import WholeFrame
from dpstats.report.table import Page
from dpstats.report.texts import KeyValues
from dpstats.report.tradeoff import deltas_of, plot_tradeoff

SEEDED = "seeded: not for release"
_DERIVED = "From released numbers: no further privacy spent."


def total_line(total: Total) -> str:
    """A total in its own unit.

    Examples
    --------
    >>> from dpstats.accounting.privacy import Privacy
    >>> total_line(Privacy(1.0, 1e-6))
    'mu = 1 (GDP) up to delta0 = 1e-06'
    """
    if isinstance(total, PurePrivacy):
        return f"epsilon = {format_scalar(total.at, 4)} (pure)"
    if isinstance(total, ApproximatePrivacy):
        at = f"epsilon = {format_scalar(total.at, 4)}"
        return f"{at} at delta = {format_scalar(total.slack, 4)}"
    slack = f" up to delta0 = {format_scalar(total.slack, 3)}" if total.slack else ""
    return f"mu = {format_scalar(total.mu, 4)} (GDP){slack}"


def frame_of(things: Sequence[Any], *names: str) -> pd.DataFrame:
    """One row per thing, a column for each of these attributes."""
    return WholeFrame({name: [getattr(thing, name) for thing in things] for name in names})


class ReleasedNumbers(Protocol):
    """A release, as far as a statement of privacy describes it."""

    @property
    def what(self) -> str: ...

    @property
    def value(self) -> NDArray[Any]: ...

    @property
    def sensitivity(self) -> float: ...

    @property
    def noise_sd(self) -> float: ...

    @property
    def cost(self) -> Total: ...


@dataclass(frozen=True)
class Spent:
    """One line of the table of mechanisms.

    Attributes
    ----------
    released : str
        What was released.
    numbers : int
        How many numbers were released.
    sensitivity, noise_sd, mu : float
        How far one row moves them, the noise on each, and what that costs.
    share : float
        Of the total's mu^2, or of its epsilon where it is pure.

    See Also
    --------
    PrivacyStatement : Whose line it is.
    """

    released: str
    numbers: int
    sensitivity: float
    noise_sd: float
    mu: float
    share: float = math.nan


@dataclass(frozen=True)
class SpentKind:
    """Releases of one kind.

    Attributes
    ----------
    released : str
        What is released.
    times, numbers : int
        How often, and how many numbers in all.
    noise_sd : tuple
        The least and the largest standard deviation of their noise.
    mu, share : float
        What they cost together, and as a share of mu^2.

    See Also
    --------
    Spent : One release.
    """

    released: str
    times: int
    numbers: int
    noise_sd: tuple[float, float]
    mu: float
    share: float


def _kind(released: str) -> str:
    """Histograms of lengths are of one kind, whatever has the length."""
    return (
        "histograms of lengths" if re.fullmatch(r"histogram of .* lengths", released) else released
    )


def _share(cost: Total, total: Total) -> float:
    """The part of a total that one release takes: of epsilon where it is pure, of mu^2 else."""
    if isinstance(cost, PurePrivacy) and isinstance(total, PurePrivacy):
        return cost.at / total.at
    return (cost.mu / total.mu) ** 2


@dataclass(frozen=True)
class PrivacyStatement:
    """The privacy of a result: totals, the unit of privacy, and the mechanisms behind it.

    Attributes
    ----------
    total : Privacy, PurePrivacy or ApproximatePrivacy
    spent : tuple of Spent
    seeded : bool
        Whether the noise came from a seed; such a result must not leave the machine.
    shown_delta : float
        The delta at which the total is printed in epsilon.
    protected : PrivacyUnit
        Who is protected.

    See Also
    --------
    Budget : Adds up the statements of several calls.

    References
    ----------
    Dong, Roth and Su (2022), "Gaussian Differential Privacy", JRSS B 84.

    Examples
    --------
    >>> from dpstats.accounting.privacy import Privacy
    >>> statement = PrivacyStatement(Privacy(1.0), (), seeded=False)
    >>> statement.mu, statement.rho
    (1.0, 0.5)
    """

    total: Total
    spent: tuple[Spent, ...]
    seeded: bool
    shown_delta: float = 1e-5
    protected: PrivacyUnit = PrivacyUnit()  # noqa: RUF009

    @classmethod
    def of(
        cls,
        total: Total,
        releases: Iterable[ReleasedNumbers],
        seeded: bool,
        delta: float | None,
        unit: PrivacyUnit,
    ) -> PrivacyStatement:
        """The statement of a call that was given this delta, or none; ``total`` is that of a row."""
        spent = tuple(
            Spent(
                r.what,
                r.value.size,
                r.sensitivity,
                r.noise_sd,
                unit.whole(r.cost).mu,
                _share(r.cost, total),
            )
            for r in releases
        )
        # never, but for a fault of the package
        if math.fsum(line.share for line in spent) > 1 + 1e-6:
            raise RuntimeError("the releases of a call cost more than its total")
        pure = isinstance(total, PurePrivacy)
        shown = 0.0 if pure else cls.shown_delta if delta is None else float(delta)
        return cls(unit.whole(total), spent, seeded, shown, unit)

    def for_group(self, k: int) -> PrivacyStatement:
        """What the same release promises to k rows (or persons) at once, or to a person with k rows.

        mu is k times as large, rho k^2 times, a pure epsilon k times; the probability of a slack
        grows as `Privacy.for_group` proves.

        Examples
        --------
        >>> from dpstats.accounting.privacy import Privacy
        >>> PrivacyStatement(Privacy(0.5), (), seeded=False).for_group(4).mu
        2.0
        """
        unit, k = self.protected.group(k), int(k)
        total = self.total.for_group(k)
        spent = tuple(replace(line, mu=line.mu * k) for line in self.spent)
        delta = self.shown_delta
        if total.slack and delta <= total.slack:
            delta = min(10 * total.slack, 0.5)
        return PrivacyStatement(total, spent, self.seeded, delta, unit)

    @property
    def mu(self) -> float:
        """Parameter of Gaussian differential privacy; NaN where no such statement is made."""
        return self.total.mu

    @property
    def rho(self) -> float:
        """Parameter of zero-concentrated differential privacy."""
        return self.total.rho

    @property
    def slack(self) -> float:
        """Probability with which mu and rho may fail to hold; 0 for Gaussian mechanisms."""
        return self.total.slack

    def epsilon(self, delta: float | None = None) -> float:
        """Smallest epsilon at a delta; by default at the one that pages show."""
        return self.total.epsilon(self.shown_delta if delta is None else delta)

    def delta(self, epsilon: float) -> float:
        """Smallest delta at this epsilon."""
        return self.total.delta(epsilon)

    @property
    def unit(self) -> str:
        """What is protected."""
        return self.protected.text

    @property
    def mechanisms(self) -> pd.DataFrame:
        """What was released, its sensitivity, the noise added and the share of the total."""
        return frame_of(self.spent, *(field.name for field in fields(Spent)))

    def by_kind(self) -> tuple[SpentKind, ...]:
        """What was released by kind, in the order in which each came first.

        Numbers and shares of the total add, mu adds in squares.
        """
        kinds: dict[str, list[Spent]] = {}
        for line in self.spent:
            kinds.setdefault(_kind(line.released), []).append(line)
        return tuple(
            SpentKind(
                name,
                len(lines),
                sum(line.numbers for line in lines),
                (min(line.noise_sd for line in lines), max(line.noise_sd for line in lines)),
                math.hypot(*(line.mu for line in lines)),
                sum(line.share for line in lines),
            )
            for name, lines in kinds.items()
        )

    def plot(self, ax: Any = None, at: Any = None) -> Any:
        """The trade-off curve: the errors of a test on one row (or person), whatever else is known.

        The test decides from the result whether a row is there or another one in its place. The curve is
        the least type II error at each type I error: no test is below it. The closer it comes to the
        diagonal, where one guesses, the better the row is protected.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        at : float or sequence of float, optional
            Deltas for which the legend gives the epsilon; one is left out where there is none.

        Returns
        -------
        matplotlib Axes
        """
        deltas = deltas_of(at, self.shown_delta)
        seeded = f", {SEEDED}" if self.seeded else ""
        return plot_tradeoff(self.total, deltas, total_line(self.total), self.unit, seeded, ax)

    def line(self) -> str:
        """The total in its three units, or at its one epsilon."""
        if isinstance(self.total, PurePrivacy):
            return (
                f"epsilon = {format_scalar(self.total.at, 4)} (pure), hence mu = "
                f"{format_scalar(self.mu, 4)} (GDP), rho = {format_scalar(self.rho, 4)} (zCDP)"
            )
        at = (
            f"epsilon = {format_scalar(self.epsilon(self.shown_delta), 4)} "
            f"at delta = {format_scalar(self.shown_delta, 4)}"
        )
        if math.isnan(self.mu):
            return f"{at} (for this release by itself)"
        slack = f" up to delta0 = {format_scalar(self.slack, 3)}" if self.slack else ""
        return (
            f"mu = {format_scalar(self.mu, 4)} (GDP), rho = {format_scalar(self.rho, 4)} (zCDP)"
            f"{slack}, {at}"
        )

    @property
    def derived(self) -> str:
        """What stands below numbers that were computed from the release."""
        return _DERIVED + (f" {SEEDED.capitalize()}." if self.seeded else "")

    def __repr__(self) -> str:
        noise = SEEDED if self.seeded else "cryptographic"
        return f"{self.line()}\nUnit of privacy: {self.unit}\nNoise: {noise}"

    def _repr_html_(self) -> str:
        noise = SEEDED if self.seeded else "cryptographic"
        facts = (("Total", self.line()), ("Unit of privacy", self.unit), ("Noise", noise))
        return Page((KeyValues(facts),)).to_html()
