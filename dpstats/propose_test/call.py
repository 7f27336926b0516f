"""The total of a call of efficient Propose-Test-Release, and the plan of its test.

Three kinds of releases need three kinds of totals: plain Gaussian ones (any unit), those whose noise
rests on a private lower bound ("bounded"; mu-GDP up to a slack), and those behind a test. A model
brings the levels of its statistic, and `plan_safety` plans the test of it. Nothing here sees a private
value.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from dpstats.accounting.privacy import ApproximatePrivacy, Privacy, resolve_privacy
from dpstats.accounting.unit import PrivacyUnit
from dpstats.arguments import one_of, shown
from dpstats.errors import ArgumentError, PrivacyError
from dpstats.propose_test.curve import Levels, gdp_split
from dpstats.propose_test.pair import gaussian_mu
from dpstats.propose_test.paper import papers_plan
from dpstats.propose_test.plan import ReleasePlan, plan_release
from dpstats.propose_test.safety import PapersSafety, SafetyLevels, SafetyTest

CALIBRATIONS = ("gdp", "dp")
Kind = Literal["gaussian", "bounded", "tested", "paper"]
NO_REPLY = 1e-3
"""Probability of no reply at the level that a test is planned for."""
_BOUND_SLACK = 0.2
_LEAST_MU = 0.005
_LEAST_DELTA = 1e-250
_LEAST_EPSILON = 1e-3


RowTotal = Privacy | ApproximatePrivacy
"""What the mechanisms of a call may spend on one row."""


@dataclass(frozen=True)
class SafetyTerms:
    """What a test is planned by: epsilon and delta of a row, and how; NaN where no test is made."""

    epsilon: float = math.nan
    delta: float = math.nan
    calibration: str = "gdp"
    allow_unproved: bool = False


def planning_mu(total: RowTotal) -> float:
    """The Gaussian that a total is taken for when noise is planned."""
    return total.mu if isinstance(total, Privacy) else gaussian_mu(total.at, total.slack)


def untested(total: RowTotal) -> Privacy:
    """The total of releases that no test stands before."""
    assert isinstance(total, Privacy)
    return total


def resolve_total(
    function: str,
    method: str,
    kind: Kind,
    calibration: str,
    given: Mapping[str, float | None],
    unit: PrivacyUnit,
    allow_unproved: bool = False,
) -> tuple[RowTotal, SafetyTerms]:
    """The total of a row, so that the unit gets the total of the call; and what tests are planned by.

    Parameters
    ----------
    kind : {"gaussian", "bounded", "tested", "paper"}
        Gaussian releases only, in any unit; noise for a private bound, mu-GDP up to a fifth of delta;
        one release behind a test, by ``calibration``; the paper's test and release.
    given : mapping
        mu, rho, epsilon, delta as the user gave them.
    unit : PrivacyUnit
        Who is protected.
    """
    if not one_of(calibration, CALIBRATIONS):
        raise ArgumentError(
            "calibration must be 'gdp' (composes with other releases) or 'dp' (sharpest for a single "
            f"one), not {shown(calibration)}."
        )
    if kind == "gaussian":
        return resolve_privacy(**given).per_row(unit.times), SafetyTerms()
    epsilon, delta = _epsilon_delta(function, method, given)
    if delta < _LEAST_DELTA or (kind == "paper" and epsilon < _LEAST_EPSILON):
        raise PrivacyError(
            f"epsilon = {epsilon:g}, delta = {delta:g} is too small for a test to be planned: ask "
            "for more."
        )
    if unit.rows != 1:
        epsilon, delta = _of_one_row(kind, calibration, epsilon, delta, unit)
    total = _total(kind, calibration, epsilon, delta)
    return total, SafetyTerms(epsilon, delta, calibration, allow_unproved)


def _of_one_row(
    kind: Kind, calibration: str, epsilon: float, delta: float, unit: PrivacyUnit
) -> tuple[float, float]:
    """The largest delta of a row, at a k-th of epsilon, that gives k rows (epsilon, delta)."""
    k = unit.times
    one = math.nextafter(epsilon / k, 0.0)  # k of them are not more than epsilon

    def fits(log_delta: float) -> bool:
        total = _total(kind, calibration, one, math.exp(log_delta))
        return unit.whole(total).delta(epsilon) <= delta

    low, high = math.log(delta / k), math.log(delta / k)
    while not fits(low):
        low -= math.log(4.0)
        if low < -700:
            raise PrivacyError(
                f"epsilon = {epsilon:g}, delta = {delta:g} leaves nothing for {k} rows per person: ask "
                "for more."
            )
    if low < high:
        high = low + math.log(4.0)
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (middle, high) if fits(middle) else (low, middle)
    return one, math.exp(low)


def _total(kind: Kind, calibration: str, epsilon: float, delta: float) -> RowTotal:
    """What a row may cost at this epsilon and delta."""
    if kind == "tested" and gaussian_mu(epsilon, delta) < _LEAST_MU:
        raise PrivacyError(
            f"a test at epsilon = {epsilon:g}, delta = {delta:g} would need thousands of levels of "
            "safety: ask for more, or use a method without a test."
        )
    if kind == "bounded":
        slack = _BOUND_SLACK * delta
        return Privacy(gaussian_mu(epsilon, delta - slack), slack)
    if kind == "tested" and calibration == "gdp":
        return Privacy(*gdp_split(epsilon, delta))
    return ApproximatePrivacy(epsilon, delta)


def plan_test(
    levels: Levels,
    target: int | None,
    terms: SafetyTerms,
    advice: str,
    *,
    beta: float = NO_REPLY,
    noise_sd: float | None = None,
) -> ReleasePlan:
    """The least noise with which the target level is answered with probability 1 - ``beta``.

    ``noise_sd`` takes the place of a target; ``advice`` ends the message where no noise is enough.
    """
    try:
        return plan_release(
            levels,
            terms.epsilon,
            terms.delta,
            calibration=terms.calibration,  # type: ignore[arg-type]
            target=target,
            beta=beta,
            noise_sd=noise_sd,
        )
    except PrivacyError as error:
        raise PrivacyError(f"{error} {advice}") from None


def plan_safety(
    safety: SafetyLevels | PapersSafety,
    terms: SafetyTerms,
    statistic: str,
    target: float,
    advice: str = "",
    unit: float = 1.0,
) -> SafetyTest:
    """The test of a statistic: the published one, or that with the least noise at the target level."""
    if isinstance(safety, PapersSafety):
        plan: ReleasePlan = papers_plan(
            safety.sensitivity, terms.epsilon, terms.delta, allow_unproved=terms.allow_unproved
        )
    else:
        plan = plan_test(safety.levels, safety.target, terms, advice)
    return SafetyTest(plan, safety, statistic, target, unit)


def _epsilon_delta(
    function: str, method: str, given: Mapping[str, float | None]
) -> tuple[float, float]:
    if given.get("mu") is not None or given.get("rho") is not None:
        raise PrivacyError(
            f"{function}(method='{method}') needs epsilon= and delta=: its noise depends on the "
            "data set, which costs a small probability besides mu. The methods without a test "
            "take mu= and rho=."
        )
    if given.get("epsilon") is None:
        raise PrivacyError(
            f"{function} ({method}) needs epsilon= and delta=, for example epsilon=1, delta=1e-5."
        )
    total = resolve_privacy(epsilon=given.get("epsilon"), delta=given.get("delta"))
    epsilon, delta = given["epsilon"], given["delta"]
    assert epsilon is not None
    assert delta is not None
    assert total.mu > 0
    return float(epsilon), float(delta)
