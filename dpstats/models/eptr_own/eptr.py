"""Bring your own estimator: efficient Propose-Test-Release, Algorithm 2 of the ePTR paper.

The way of a call: `eptr` turns the budget and the user's sensitivity into a public plan; the mechanism
evaluates the user's two functions, tests and releases; `EptrResult` shows what came out.
"""

from __future__ import annotations

import math
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd

from dpstats.accounting.unit import PrivacyUnit
from dpstats.arguments import check_eta, positive, shown
from dpstats.arrays import Floats
from dpstats.budget.budget import Budget
from dpstats.call import Call
from dpstats.errors import ArgumentError, silently
from dpstats.models.eptr_own.releases import level_of, tested_estimate
from dpstats.models.eptr_own.result import EptrResult
from dpstats.models.eptr_own.safety_check import alphas_of, answer_of, check_answer, numbers_of
from dpstats.propose_test.bounds import decomposition, noise_radius, unanswered
from dpstats.propose_test.call import Kind, RowTotal, SafetyTerms, plan_test, planning_mu
from dpstats.propose_test.curve import Levels
from dpstats.propose_test.outcome import NO_REPLY_NOTE, answered
from dpstats.propose_test.paper import papers_plan
from dpstats.propose_test.plan import ReleasePlan
from dpstats.report.answers import Answers
from dpstats.report.released import Diagnostic
from dpstats.report.shared_entries import documented

_MOST_NUMBERS = 10**6
_KINDS: dict[str, Kind] = {"gdp": "tested", "dp": "tested", "paper": "paper"}


@documented
def eptr(
    data: Any,
    estimate: Any,
    safety: Any,
    alpha: Any,
    epsilon: float | None = None,
    delta: float | None = None,
    *,
    calibration: str = "gdp",
    target: float | None = None,
    beta: float = 1e-3,
    share: float = 0.9,
    no_reply: Any = None,
    size: int | None = None,
    public: Any = None,
    allow_unproved: bool = False,
    eta: float = 0.05,
    budget: Budget | None = None,
    rows_per_person: int = 1,
    seed: int | None = None,
) -> EptrResult:
    """Release your own estimator privately, if a private test finds the data safe.

    Many estimators are stable on ordinary data and wild on odd ones, so that noise for the worst
    data set would drown them. Here the noise is that of ordinary data, and a test refuses the
    others ("no reply"), without the refusal giving a row away.

    **What you must prove.** The guarantee rests on two statements about ``estimate`` and ``safety``
    that the package cannot check, for EVERY pair of data sets that differ in one row, however odd:

    1. safety changes by at most 1 when one row is replaced by any other;
    2. if safety > 0 for one of the two, estimate changes by at most ``alpha`` (in Euclidean length).

    If either fails for any pair, there is no privacy. Columns with a known range must be cut to it
    inside your functions; data that cannot be read must give a number, not an error. `check_safety`
    searches for violations on public data: it can find mistakes, it cannot prove that there are
    none.

    Parameters
    ----------
    data : any object
        The private rows, as your functions want them.
    estimate : callable or number(s)
        ``estimate(data)``: a number or a vector of ``size`` numbers. Numbers that you have computed
        yourself are taken as they are; how many they are counts as public.
    safety : callable or number
        ``safety(data)``: a lower bound on how many rows must be replaced before the data become
        unsafe; 0 where nothing is promised.
    alpha : float or callable
        The promised sensitivity; or a function of the level k = 1, 2, ... (safety > k - 1), not
        increasing: safer data may move less.
    epsilon, delta : float
        The total privacy of the call.
    calibration : {"gdp", "dp", "paper"}
        The release probabilities: "gdp" composes with other releases, "dp" is sharpest for a single
        one, both optimal; "paper" is the published logistic test.
    target : float, optional
        A safety that you expect of your data: the noise is then the smallest with which such data are
        answered with probability 1 - beta. Without it the noise is alpha over a ``share`` of mu.
    beta : float
        Probability of no reply at the target.
    share : float
        Without a target: the share of mu that the noise alone would need; closer to 1 means less noise
        and a stricter test.
    no_reply : number(s), distribution or callable, optional
        The answer when the test does not pass; a distribution is an object with ``rvs`` (scipy) or
        a function without arguments. It must not depend on the data. None: the result's value is
        None.
    size : int, optional
        How many numbers the estimate has; taken from ``public`` or from ``no_reply`` if not given,
        else 1.
    public : any object, optional
        Public data of the same form: the functions are run on them first, so that mistakes show
        before the private data are read. (Errors on private data are never shown.)
    allow_unproved : bool
        For "paper": go on beyond epsilon = 2 if the exact divergence confirms the claim.
    {eta, budget, rows_per_person, seed}

    Returns
    -------
    EptrResult
        ``.released``, ``.value``, ``.noise_sd``, ``.summary()``.

    Raises
    ------
    PrivacyError, ArgumentError, BudgetExceeded
        Before any private row is read: the budget, or an argument, is invalid.

    See Also
    --------
    check_safety : Looks for mistakes in ``safety`` and ``alpha``.
    eptr_lm, eptr_bayes, eptr_nw : Estimators whose proof is done.

    References
    ----------
    {propose_test_paper}

    Examples
    --------
    The mean of y in a subgroup, as R's ``mean(d$y[d$member])``. y lies in [0, 1]. If c rows are members,
    replacing a row moves the mean by at most 1/c; for a small subgroup that is a lot. Say that 200
    members or more are safe: for two neighbours of which one has 200 members or more the mean moves by
    at most alpha = 1/200 (add or take away one of c members: at most 1/c; exchange one: the same). The
    number of members changes by 1 at most, so safety = members - 199 where positive, which is above 0
    exactly from 200 members on, changes by 1 at most.

    >>> import numpy as np, pandas as pd
    >>> enough = 200
    >>> def subgroup_mean(d):
    ...     members = d["member"].to_numpy(dtype=bool)
    ...     y = np.clip(np.nan_to_num(d["y"].to_numpy(dtype=float)), 0, 1)
    ...     return y[members].mean() if members.any() else 0.5
    >>> def members_to_spare(d):
    ...     return max(int(d["member"].astype(bool).sum()) - enough + 1, 0)
    >>> rng = np.random.default_rng(0)
    >>> private = pd.DataFrame({"member": rng.random(2000) < 0.3, "y": rng.random(2000)})
    >>> answer = eptr(
    ...     private, subgroup_mean, members_to_spare, 1 / enough, epsilon=1, delta=1e-6, seed=1
    ... )
    >>> answer.released, round(answer.noise_sd, 3)
    (True, 0.024)
    """
    check_eta(eta)
    kind = _KINDS.get(calibration) if isinstance(calibration, str) else None
    if kind is None:
        raise ArgumentError(
            f"calibration must be 'gdp', 'dp' or 'paper', not {shown(calibration)}."
        )
    call, terms = Call.propose_test(
        "eptr",
        calibration,
        kind,
        {"mu": None, "rho": None, "epsilon": epsilon, "delta": delta},
        calibration=calibration if kind == "tested" else "gdp",
        allow_unproved=allow_unproved,
        rows_per_person=rows_per_person,
        person=None,
        budget=budget,
        seed=seed,
    )
    for name, value in (("beta", beta), ("share", share)):
        if not 0 < positive(name, value) < 1:
            raise ArgumentError(f"{name} must lie strictly between 0 and 1, not {shown(value)}.")
    if target is not None and positive("target", target) < 1:
        raise ArgumentError(
            f"target is a safety of 1 or more, such as target=10, not {shown(target)}."
        )
    _check_data(data, public)
    n = _rows_of(data)  # before the user's functions run, which may change what they are given
    numbers = _size(estimate, safety, size, public, no_reply)
    fallback = _answer(no_reply, numbers)
    bounds = alphas_of(alpha)
    plan = _plan(calibration, bounds, target, call.per_row, terms, beta, share)
    text = _call(alpha, epsilon, delta, calibration, target, call.unit)
    noise = call.noise()
    with call.charged(text, data, reads_paths=False) as charged:
        at = float(bounds[min(level_of(target or 1.0), len(bounds)) - 1])
    tested = tested_estimate(
        data, estimate, safety, numbers, plan, (at, float(bounds[-1])), call.per_row, noise
    )
    answer: Any = tested.release.value if tested.passed else fallback
    if answer is not None and numbers == 1:
        answer = float(np.ravel(answer)[0])
    notes = charged.notes(n, public)
    if not tested.passed:
        silent = public is None and (callable(estimate) or callable(safety))
        advice = " Functions that fail look the same: pass public= to see errors there."
        notes = (NO_REPLY_NOTE + (advice if silent else ""), *notes)
    chance = beta if target is not None else math.nan
    error = (
        noise_radius(numbers, plan.noise_sd, eta, "l2"),
        *decomposition("l2", None, numbers, plan.noise_sd, None, chance),
    )
    result = EptrResult(
        call=text,
        method=calibration,
        released=tested.passed,
        value=answer,
        noise_sd=plan.noise_sd,
        size=numbers,
        privacy=charged.statement([tested.release], noise.seeded),
        n=n,
        m=None,
        error=error if tested.passed else unanswered(error),
        details=(
            answered(tested.passed),
            Diagnostic("alpha", at, None, "promised by the user, not checked"),
        ),
        notes=notes,
        answers=Answers.of(plan, "safety", lambda level: float(level)),
    )
    return charged.released(result)


def _check_data(data: Any, public: Any) -> None:
    """Refuse what can be no data, by what it is and not by what it holds."""
    if callable(data) and not isinstance(data, type):
        raise ArgumentError(
            "data is a function: the order is eptr(data, estimate, safety, alpha, ...)."
        )
    if isinstance(data, str | PathLike):
        raise ArgumentError(
            "data is a path; eptr hands its data to your functions as they are: read the file first."
        )
    if public is not None and public is data:
        raise ArgumentError(
            "public= is the private data itself: errors on it would be shown. Give a public sample, or "
            "leave public= out."
        )


def _plan(
    calibration: str,
    bounds: Floats,
    target: float | None,
    total: RowTotal,
    terms: SafetyTerms,
    beta: float,
    share: float,
) -> ReleasePlan:
    """The test and the noise, by the ``bounds`` that ``alpha`` has promised for each level."""
    if calibration == "paper":
        if len(bounds) > 1:
            raise ArgumentError("calibration='paper' takes one alpha, not a function of the level.")
        if target is not None:
            raise ArgumentError(
                "calibration='paper' fixes its noise by itself: it takes no target."
            )
        return papers_plan(
            float(bounds[0]), terms.epsilon, terms.delta, allow_unproved=terms.allow_unproved
        )
    levels = Levels(np.concatenate([[math.inf], bounds]), np.append(bounds, bounds[-1]))
    level = None if target is None else max(level_of(target), 1)
    return plan_test(
        levels,
        level,
        terms,
        "A level is one unit of safety.",
        beta=beta,
        noise_sd=None if level is not None else float(bounds[0]) / (share * planning_mu(total)),
    )


def _size(estimate: Any, safety: Any, size: int | None, public: Any, no_reply: Any) -> int:
    """How many numbers the estimate has, from public facts; the user's functions run on public data."""
    integer = isinstance(size, int) and not isinstance(size, bool)
    if size is not None and not (integer and 1 <= size <= _MOST_NUMBERS):
        raise ArgumentError(
            f"size must be a whole number from 1 to {_MOST_NUMBERS}, not {shown(size)}."
        )
    count = size
    if not callable(estimate):
        count = _given("estimate", estimate)
    elif public is not None:
        count = numbers_of("estimate(public)", answer_of("estimate(public)", estimate, public)).size
    elif size is None and not (no_reply is None or callable(no_reply) or hasattr(no_reply, "rvs")):
        count = numbers_of("no_reply", no_reply).size
    if not callable(safety):
        if _given("safety", safety) != 1:
            raise ArgumentError("safety must be one number, or a function of the data.")
    elif public is not None:
        check_answer(safety, public)
    if size is not None and count != size:
        raise ArgumentError(f"the estimate has {count} numbers, not size={size}.")
    return count or 1


def _given(name: str, value: Any) -> int:
    """How many numbers were given; they are private, so only whether they are such is looked at.

    A whole number of Python may be of any size: too large a one is an object to numpy, and makes the
    numbers beside it objects. The mean of no rows may be missing, in a way that differs by package, and
    an eigenvalue complex: what is no real number is answered as a failing function is.
    """
    array = silently(lambda: np.asarray(value))
    if array is not None and array.size:
        each = array.ravel().tolist() if array.dtype.kind == "O" else []
        if array.dtype.kind in "biufcmMO" and all(map(_may_be_a_number, each)):
            return array.size
    raise ArgumentError(f"{name} must be a number, an array of numbers, or a function of the data.")


def _may_be_a_number(one: Any) -> bool:
    """What arithmetic on private numbers may come to, no number at all among it."""
    return bool(pd.api.types.is_scalar(one)) and not isinstance(one, str | bytes)


def _answer(no_reply: Any, size: int) -> Any:
    """The public answer in place of an estimate, found before anything private is read."""
    if no_reply is None:
        return None
    if hasattr(no_reply, "rvs"):
        value = answer_of("no_reply.rvs(size)", lambda: no_reply.rvs(size=size))
    else:
        value = answer_of("no_reply()", no_reply) if callable(no_reply) else no_reply
    answer = numbers_of("no_reply", value)
    if answer.size != size:
        raise ArgumentError(
            f"no_reply has {answer.size} numbers and the estimate has {size}: give as many, "
            f"no_reply=[0.0] * {size}."
        )
    return answer


def _rows_of(data: Any) -> int | None:
    """Number of rows, a public number, of containers whose length is one; None for any other."""
    if isinstance(data, np.ndarray):
        return len(data) if data.ndim else None
    return len(data) if isinstance(data, pd.DataFrame | pd.Series | list | tuple) else None


def _call(
    alpha: Any,
    epsilon: float | None,
    delta: float | None,
    calibration: str,
    target: float | None,
    unit: PrivacyUnit,
) -> str:
    promise = "alpha(k)" if callable(alpha) else f"{float(alpha):.4g}"
    goal = "" if target is None else f", target = {target:g}"
    goal += f", rows_per_person = {unit.times}" if unit.times > 1 else ""
    return (
        f"eptr(data, estimate, safety, alpha = {promise}, epsilon = {epsilon:g}, delta = {delta:g}, "
        f'calibration = "{calibration}"{goal})'
    )
