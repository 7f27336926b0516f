"""One private call: a total, a table, and the releases that share the total between them.

A session is the door of this folder: the ``releases.py`` of a model derives its own from `Session`.
Each of its methods makes its releases at the shares of the total's mu^2 (of a pure total's epsilon)
that the caller names; it refuses before reading when the shares would exceed 1, and remembers what
was released. Shares, radii and clips may be chosen from earlier releases: for Gaussian mechanisms the
composition is exact under fully adaptive choice as long as the sum of mu^2 never exceeds the total
(zCDP: the product of the privacy-loss terms is a supermartingale; GDP: adaptively scaled Gaussian
noise is a Brownian motion with drift, stopped at a bounded time; Smith and Thakurta 2022); for pure
ones epsilons add.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from contextlib import ExitStack
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpstats.accounting.privacy import ApproximatePrivacy, Cost, Privacy, PurePrivacy, Total
from dpstats.errors import PassError, PrivacyError, SchemaError, stays_charged, without_trace
from dpstats.mechanism.conditional import TestedRelease, release_if_safe
from dpstats.mechanism.noise import Noise
from dpstats.mechanism.passes import Integers, PrivateRows
from dpstats.mechanism.release import Release, release_counts, release_symmetric, release_vector
from dpstats.mechanism.threads import one_blas_thread

_T = TypeVar("_T")
_Rows = TypeVar("_Rows", bound=PrivateRows[Any])


def clamp_to_safe_range(bound: float) -> float:
    """A radius or clip within [2^-200, 2^200], where no step or product of steps under- or overflows.

    Bounds are public or released numbers; one beyond these sizes is an accident of noise.
    """
    return min(max(bound, 2.0**-200), 2.0**200) if bound == bound else 1.0


class PlannedRelease(Protocol):
    """What is read of the plan of a test: its noise, and the total that it was made for.

    That the total pays for the test and the release is proved where the plan is made.
    """

    @property
    def noise_sd(self) -> float: ...

    @property
    def mu(self) -> float | None: ...

    @property
    def slack(self) -> float | None: ...

    @property
    def epsilon(self) -> float: ...

    @property
    def delta(self) -> float: ...


class Session(Generic[_Rows]):
    """Spends a total on releases from one table of private rows.

    Parameters
    ----------
    rows : PrivateRows
        The private rows.
    total : Privacy, PurePrivacy or ApproximatePrivacy
        What the call may spend; the last only in one release.
    noise : Noise
        Secure or seeded.
    after : Session, optional
        An earlier session of the same call, whose total it is: what that left is shared out here.
    """

    def __init__(
        self, rows: _Rows, total: Total, noise: Noise, after: Session[Any] | None = None
    ) -> None:
        self.granted = total
        self.total = total
        self.left = 1.0
        self._slack_used: bool = after is not None and after._slack_used
        self.releases: list[Release] = []
        if after is not None:
            if total != after.granted or isinstance(total, ApproximatePrivacy):
                raise ValueError("a later session goes on with the total of the first")
            self.total = total.share(after.left_of_granted)
            self.releases += after.releases
            after.left, after._slack_used = 0.0, True  # what it left is taken once
        self._rows = rows
        self._noise = noise
        self._exact: dict[Hashable, Any] = {}
        self._until_exit = ExitStack()

    @property
    def n(self) -> int:
        return self._rows.n

    @property
    def left_of_granted(self) -> float:
        """What is left of the total of the call: of mu^2, or of a pure epsilon."""
        if isinstance(self.total, Privacy) and isinstance(self.granted, Privacy):
            return (self.total.mu / self.granted.mu) ** 2 * self.left
        if isinstance(self.total, PurePrivacy) and isinstance(self.granted, PurePrivacy):
            return self.total.at / self.granted.at * self.left
        return self.left

    @property
    def seeded(self) -> bool:
        """Whether the noise came from a seed."""
        return self._noise.seeded

    def __enter__(self) -> Self:
        self._until_exit.enter_context(one_blas_thread())  # once, and not for every pass
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:  # first of all: an interruption from here on finds nothing
            self._exact.clear()
        finally:
            try:
                self._rows.close()
            finally:
                self._until_exit.close()
                if isinstance(error, PassError | PrivacyError | SchemaError):
                    error.args = (f"{error} {self._spent_so_far()}{stays_charged()}",)
                if error is not None:
                    without_trace(error)

    def _once(self, key: Hashable, read: Callable[[], _T]) -> _T:
        """Exact totals that several releases share: read once, and forgotten when the call ends."""
        if key not in self._exact:
            self._exact[key] = read()
        found: _T = self._exact[key]
        return found

    def _spent_so_far(self) -> str:
        if not self.releases:
            return "Nothing had been released."
        if isinstance(self.granted, ApproximatePrivacy) or self.left <= 0:
            return "The total of the call counts as spent."
        slack = f" up to delta0 = {self.granted.slack:.3g}" if self.granted.slack else ""
        return (
            "What had been released by then counts as spent: for one replaced row, or person "
            f"whose rows are summed up, mu = {self.granted.share(1 - self.left_of_granted).mu:.4g} "
            f"at most{slack}."
        )

    def __repr__(self) -> str:
        return f"<Session: {1 - self.left:.1%} of mu = {self.total.mu:.4g} spent>"

    def _spend(self, share: float) -> Cost:
        if not 0 < share <= self.left * (1 + 1e-12):
            raise ValueError("the shares of a call's releases exceed its total")
        if isinstance(self.total, ApproximatePrivacy):
            raise ValueError("a total stated at one epsilon pays for one release")
        share = min(share, self.left)
        self.left -= share
        return self.total.share(share)

    def _spend_all(self, plan: PlannedRelease) -> Total:
        """The whole total, for the one release of a session, by a plan made for that total."""
        if self.left < 1 or isinstance(self.total, PurePrivacy):
            raise ValueError("the shares of a call's releases exceed its total")
        if not isinstance(self.total, ApproximatePrivacy):
            fits = (plan.mu, plan.slack) == (self.total.mu, self.total.slack)
        else:
            fits = (plan.epsilon, plan.delta) == (self.total.at, self.total.slack)
        if not fits:
            raise ValueError("the plan was made for another total")
        self.left = 0.0
        return self.total

    def _release_if_safe(
        self,
        what: str,
        total: Integers,
        unit: float,
        probability: float,
        plan: PlannedRelease,
        sensitivity: float,
    ) -> TestedRelease:
        """The one release of a session, behind the test of its plan."""
        tested = release_if_safe(
            what,
            total,
            unit,
            probability=probability,
            noise_sd=plan.noise_sd,
            sensitivity=sensitivity,
            cost=self._spend_all(plan),
            noise=self._noise,
        )
        self._record(tested.release)
        return tested

    def _use_slack(self) -> None:
        """The event of the total's slack may be appealed to once."""
        if self._slack_used:
            raise ValueError("the slack of a total covers one release")
        self._slack_used = True

    def _require_own(self, release: Release) -> None:
        """Refuse a release of another session: noise that is made for a release is for these rows."""
        if all(release is not made for made in self.releases):
            raise ValueError("the release was not made by this session")

    def _record(self, release: Release) -> Release:
        self.releases.append(release)
        return release

    def _vector(
        self,
        what: str,
        total: Integers,
        sensitivity: float,
        unit: float,
        cost: Cost,
        wider: NDArray[np.bool_] | None = None,
    ) -> Release:
        """`release_vector` with the noise of the session, remembered."""
        return self._record(
            release_vector(what, total, sensitivity, unit, cost, self._noise, wider)
        )

    def _symmetric(
        self,
        what: str,
        total: Integers,
        sensitivity: float,
        unit: float,
        cost: Cost,
        *,
        isometric: bool = True,
    ) -> Release:
        """`release_symmetric` with the noise of the session, remembered."""
        return self._record(
            release_symmetric(
                what, total, sensitivity, unit, cost, self._noise, isometric=isometric
            )
        )

    def _counts(
        self, what: str, counts: Integers, cost: Cost, per: int = 1, memberships: int = 1
    ) -> Release:
        """Counts; a row is in ``memberships`` of them at most, and a replaced one moves twice as many.

        Each by one, and no more of them than there are: with q = min(2 memberships, how many counts), l2
        sensitivity sqrt(q), l1 sensitivity q. For Gaussian noise they are taken on a lattice of 2^-26,
        so that the noise spans millions of its steps.
        """
        moved = min(2 * memberships, counts.size)
        if isinstance(cost, PurePrivacy):
            return self._record(
                release_counts(what, counts, float(moved), 1 / per, cost, self._noise)
            )
        fine = 2**26
        unit, sensitivity = 1 / fine / per, math.sqrt(moved) * fine
        return self._vector(what, counts * fine, sensitivity, unit, cost)

    def _moments(
        self, what: str, total: Integers, radius: float, cost: Cost, *, papers: bool = False
    ) -> Release:
        """Mean of q q' over rows with |q| <= radius, from its total in squared grid steps.

        Sensitivity of the sum: sqrt(2) radius^2 in Frobenius norm, because |q| <= R and |v| <= R give
        |qq' - vv'|^2 = |q|^4 + |v|^4 - 2 (q.v)^2 <= 2 R^4. With ``papers`` the sensitivity is taken as
        the papers state it, 2 radius^2, and every entry of the upper triangle gets the same noise:
        more than is needed, but theirs to the letter.
        """
        steps = self._rows.grid.steps
        return self._symmetric(
            what,
            total,
            (2 if papers else math.sqrt(2)) * steps**2,
            (radius / steps) ** 2 / self.n,
            cost,
            isometric=not papers,
        )
