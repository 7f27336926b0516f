"""The arguments of an audit, and the claim that it tests."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpstats.accounting.privacy import ApproximatePrivacy, Privacy, PurePrivacy
from dpstats.accounting.tradeoff import Allowed
from dpstats.arguments import as_int, number, shown
from dpstats.arrays import Floats
from dpstats.audit.attack import mu_given_away
from dpstats.audit.events import Objective
from dpstats.audit.result import total_of
from dpstats.errors import ArgumentError, PrivacyError

_FEWEST = 40
_DELTA = 1e-5


def pair_of(neighbours: Any) -> tuple[Any, Any]:
    if not (isinstance(neighbours, tuple | list) and len(neighbours) == 2):
        raise ArgumentError(
            "neighbours must be a pair (data, other): two data sets that differ in one row."
        )
    if neighbours[0] is neighbours[1]:
        raise ArgumentError(
            "both data sets are the same object: change a copy, other = data.copy()."
        )
    return neighbours[0], neighbours[1]


def check_audit(release: Any, statistic: Any, trials: Any, confidence: Any) -> None:
    if not callable(release):
        raise ArgumentError("release must be a function of a data set; each call is one run.")
    if statistic is not None and not callable(statistic):
        raise ArgumentError("statistic must be a function of what release returns.")
    if as_int(trials, _FEWEST) is None:
        raise ArgumentError(
            f"trials must be a whole number >= {_FEWEST}, not {shown(trials)}: half of them run on "
            "each of the two data sets. With fewer than a few hundred it finds only gross "
            "mistakes."
        )
    if not isinstance(confidence, float | np.floating) or not 0.5 <= confidence < 1:
        raise ArgumentError(
            f"confidence must lie in [0.5, 1), such as confidence=0.95, not {shown(confidence)}."
        )


def claim_of(claim: Any, mu: Any, rho: Any, epsilon: Any, delta: Any) -> Any:
    """The claim that the arguments make, or None."""
    claims = {"claim": claim, "mu": mu, "rho": rho, "epsilon": epsilon}
    given = [name for name, value in claims.items() if value is not None]
    if len(given) > 1:
        raise PrivacyError(f"make one claim: {'= and '.join(given)}= were given.")
    beyond = number(delta)
    if delta is not None and (beyond is None or not 0 <= beyond < 1):
        raise PrivacyError(f"delta must lie in [0, 1), such as delta=1e-5, not {shown(delta)}.")
    if claim is not None:
        if not callable(getattr(claim, "delta", None)):
            raise PrivacyError(
                "claim must have a method delta(epsilon), such as fit.privacy; or give mu= or epsilon=."
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


def own_claim(outcome: Any) -> Any:
    """The privacy that a result states of itself, or None."""
    stated = getattr(outcome, "privacy", None)
    return stated if callable(getattr(stated, "delta", None)) else None


def delta_of(claim: Any, delta: float | None) -> float:
    """The delta at which epsilon is bounded: the one given, or that of the claim."""
    if delta is not None:
        return float(delta)
    total = total_of(claim)
    if isinstance(total, PurePrivacy):
        return 0.0
    if isinstance(total, ApproximatePrivacy):
        return total.slack
    return float(getattr(claim, "shown_delta", _DELTA))


def evidence(allowed: Allowed) -> Objective:
    """By how much, in probits, an event does more than a claim allows."""

    def margin(power: Floats, alpha: Floats) -> Floats:
        return mu_given_away(power, np.minimum(allowed.powers(alpha), 1.0))

    return margin
