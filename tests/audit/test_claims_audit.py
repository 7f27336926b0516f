"""No public function gives away more than it claims, by any method, on any adversarial pair. Slow.

A smaller copy of `tests.benchmarks.privacy_audit`: the attacker knows both tables and sees all that a
session releases (`tests.audits.watched`), and decides by the exact likelihood ratio.

False alarms. The lower bounds on what neighbours give away of all cases hold together with probability
1 - 5e-7, and every comparison of laws is a test at 1e-8, of which there are fewer than fifty: a right
implementation fails an assertion of this file with probability below 1e-6.

Teeth. With noise that is 0.7 times what it should be one pair of every function and method refutes the
claim, with the same confidence; so does a huge row where rows are not cut any more. The exceptions are
in `_TEETH`: sums over persons, fits without public rows, and `dp_feols`, which make the releases of
`dp_lm` and `dp_glm`, are held to a third of the noise in fewer runs; tests of `eptr_lm` at one epsilon
need more runs; the papers' tests have more noise than any pair needs; and of several pure releases all
must fall into their narrow tails at once for the whole epsilon to be given away.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from dpstats import dp_mean
from dpstats.accounting.privacy import ApproximatePrivacy, Privacy, PurePrivacy
from dpstats.models.linear.view import View
from tests.audits import adversaries
from tests.audits.adversaries import Name, cases
from tests.audits.adversaries.neighbours import Row
from tests.audits.releases import Leak
from tests.audits.tampered import without_cut
from tests.audits.verdict import Verdict, judge
from tests.audits.watched import Watched
from tests.benchmarks.privacy_audit import seed_of

pytestmark = pytest.mark.slow

_ALARM = 5e-7 / len(cases())
_LAW = 1e-8

_FEW = 8
"""Runs that tell whether neighbours release the same things after the same history, and no more.

On all pairs of a method a hundred histories are seen. At this confidence no verdict on fewer than 63
runs on either table refutes mu = 2, if they tell the tables apart without an error: `_signs` needs
0.84^(2 runs) below a third of `_ALARM`.
"""

# runs on either table, by the beginning of a name, the first that fits
_RUNS: dict[tuple[str, str], int] = {
    ("dp_lm", "anchored"): _FEW,
    ("dp_glm", "pmt"): 75,
    ("dp_glm", ""): _FEW,
    ("dp_feols", ""): _FEW,
    ("dp_mean", "refined, private rows"): _FEW,
    ("dp_mvnorm", "refined, private rows"): _FEW,
    ("dp_mvnorm", ""): 75,
    ("dp_mixture", ""): _FEW,
    ("eptr_bayes", "sums, private rows"): 100,
    ("eptr_nw", "gp, alone"): _FEW,
    ("eptr_nw", "gp"): 125,
    ("eptr_lm", "rounds, alone"): _FEW,
    ("eptr_lm", "rounds"): 75,
    ("", ""): 250,
}


def _runs(name: Name) -> int:
    return next(
        runs
        for (function, method), runs in _RUNS.items()
        if name[0].startswith(function) and name[1].startswith(method)
    )


@pytest.mark.parametrize("name", cases(), ids=", ".join)
def test_no_pair_of_neighbours_refutes_the_claim(name: Name) -> None:
    case = cases()[name]()
    found = judge(case.ratios(_runs(name), seed_of(name)), case.total, _ALARM)
    assert not found.refuted, found


# the pair, runs on either table at most (`_as_far_as_needed`), and the part of the noise that is left
_TEETH: dict[tuple[str, str], tuple[str, int, float]] = {
    ("dp_lm", "anchored"): ("worst", 3000, 0.7),
    ("dp_lm", "pmt"): ("worst", 30000, 0.7),
    ("dp_lm", "ssp"): ("worst", 3000, 0.7),
    ("dp_glm", "anchored, binomial"): ("worst", 3000, 0.7),
    ("dp_glm", "anchored, poisson"): ("worst", 5000, 0.7),
    ("dp_glm", "pmt, binomial"): ("worst", 25000, 0.7),
    ("dp_glm", "pmt, poisson"): ("worst", 25000, 0.7),
    ("dp_glm", "ssp, binomial"): ("worst", 24000, 0.7),  # a box has no sharper pair: more runs
    ("dp_glm", "ssp, poisson"): ("worst", 8000, 0.7),
    ("dp_lm", "anchored, alone"): ("edge", 400, 0.25),
    ("dp_lm", "anchored, alone in a box"): ("edge", 400, 0.25),
    ("dp_glm", "anchored, alone, binomial"): ("worst", 700, 0.15),
    ("dp_glm", "anchored, alone, poisson"): ("worst", 700, 0.15),
    ("dp_glm", "anchored, alone in a box"): ("edge", 400, 0.25),
    ("dp_lm", "anchored, persons"): ("edge", 500, 0.3),
    ("dp_lm", "anchored, persons, alone"): ("edge", 400, 0.25),
    ("dp_glm", "anchored, poisson, persons"): ("many", 500, 0.3),
    ("dp_glm", "anchored, poisson, persons, alone"): ("many", 400, 0.25),
    ("dp_feols", "rows"): ("edge", 500, 0.3),
    ("dp_feols", "within"): ("against", 500, 0.3),
    ("dp_feols", "within, alone"): ("against", 400, 0.25),
    ("dp_feols", "instruments"): ("edge", 500, 0.3),
    ("dp_feols", "instruments, alone"): ("edge", 400, 0.3),
    ("eptr_lm", "rounds"): ("worst", 500, 0.3),
    ("eptr_lm", "rounds, alone"): ("worst", 500, 0.25),
    ("eptr_lm", "adaptive"): ("worst", 2500, 0.7),
    ("eptr_lm", "adassp"): ("edge", 3000, 0.7),
    ("eptr_lm", "ptr, gdp"): ("worst", 15000, 0.7),
    ("eptr_lm", "ptr, dp"): ("worst", 25000, 0.6),
    ("eptr_lm", "paper"): ("worst", 3000, 0.02),
    ("eptr_bayes", "sums"): ("edge", 3000, 0.7),
    ("eptr_bayes", "sums, diagonal"): ("edge", 3000, 0.7),
    ("eptr_bayes", "sums, private rows"): ("edge", 500, 0.3),
    ("eptr_bayes", "ptr, gdp"): ("worst", 6000, 0.7),
    ("eptr_bayes", "ptr, dp"): ("worst", 50000, 0.7),
    ("eptr_bayes", "paper"): ("worst", 8000, 0.1),
    ("eptr_nw", "gp"): ("edge", 3000, 0.7),
    ("eptr_nw", "gp, alone"): ("edge", 500, 0.3),
    ("eptr_nw", "adaptive"): ("worst", 15000, 0.7),
    ("eptr_nw", "ptr, gdp"): ("worst", 8000, 0.7),
    ("eptr_nw", "ptr, dp"): ("worst", 50000, 0.7),
    ("eptr_nw", "paper"): ("worst", 8000, 0.05),
    ("eptr", "gdp"): ("worst", 15000, 0.7),
    ("eptr", "dp"): ("worst", 100000, 0.7),
    ("eptr", "paper"): ("worst", 3000, 0.1),
    ("dp_mean", "refined"): ("edge", 3000, 0.7),
    ("dp_mean", "refined, public covariance"): ("edge", 3000, 0.7),
    ("dp_mean", "refined, private rows"): ("edge", 500, 0.3),
    ("dp_mean", "paper"): ("edge", 3000, 0.7),
    ("dp_mean", "refined, pure"): ("worst", 20000, 0.7),
    ("dp_mean", "paper, pure"): ("worst", 20000, 0.7),
    ("dp_mvnorm", "refined"): ("worst", 2000, 0.7),
    ("dp_mvnorm", "refined, private rows"): ("worst", 500, 0.3),
    ("dp_mvnorm", "paper"): ("worst", 2000, 0.7),
    ("dp_mvnorm", "refined, pure"): ("worst", 5000, 0.35),
    ("dp_mvnorm", "paper, pure"): ("worst", 5000, 0.35),
    ("dp_mixture", "public"): ("worst", 1500, 0.7),
    ("dp_mixture", "private"): ("worst", 1500, 0.7),
    ("dp_mixture", "likelihood"): ("worst", 450, 0.4),
    ("dp_mixture", "likelihood, counted"): ("edge", 400, 0.35),
}


def test_every_function_and_method_has_teeth() -> None:
    assert set(_TEETH) == {name[:2] for name in cases()}


_LOOKS = 9


def _as_far_as_needed(case: Watched, runs: int, part: float) -> Verdict:
    """The first verdict that refutes the claim, or that of all runs.

    Runs are looked at `_LOOKS` times, each time sqrt(2) times as many, with that part of the alarms.
    """
    low, high = np.zeros(0), np.zeros(0)
    for look in range(_LOOKS):
        upto = math.ceil(runs * 2 ** ((look + 1 - _LOOKS) / 2))
        more = case.ratios(upto - len(low), 1 + look, part)
        low, high = np.append(low, more[0]), np.append(high, more[1])
        found = judge((low, high), case.total, _ALARM / _LOOKS)
        if found.refuted:
            break
    return found


@pytest.mark.parametrize("method", _TEETH, ids=", ".join)
def test_noise_that_is_too_small_is_detected(method: tuple[str, str]) -> None:
    pair, runs, part = _TEETH[method]
    found = _as_far_as_needed(cases()[*method, pair](), runs, part)
    assert found.refuted, found


_LONG, _SEPARATE = 1e3, 100
_FAR = 100.0
_UNCUT = {
    "linear": ("dp_lm", "pmt", {"x": _FAR}),
    "linear, least squares": ("eptr_lm", "adassp", {"x": _FAR}),
    "family": ("dp_glm", "anchored, binomial", {"x": _FAR}),
    "class": ("eptr_bayes", "sums", {"x": _FAR}),
    "cell": ("dp_mvnorm", "refined", {"x": _FAR}),
    "cell, sums": ("dp_mean", "refined", {"x": _LONG}),
    "kernel": ("eptr_nw", "gp", {"y": _LONG}),
}
"""Functions, and what makes a row of theirs huge: so far out that its square still fits a float.

Where products are summed only so far that they still fit 64-bit integers: beyond, a sum is refused.
"""


def _with_huge_row(function: str, method: str, huge: Row) -> Watched:
    setup = next(s for s in adversaries.setups() if (s.function, s.method) == (function, method))
    row = setup.pairs["huge"][0]
    return replace(setup, pairs={"huge": (row, {**row, **huge})}).case("huge")


@pytest.mark.parametrize("kind", _UNCUT)
def test_rows_that_are_not_cut_are_detected(kind: str) -> None:
    function, method, huge = _UNCUT[kind]
    found = []
    for tampered in (False, True):
        case = _with_huge_row(function, method, huge)
        if tampered:
            with without_cut(kind.partition(",")[0]):
                found.append(judge(case.ratios(_SEPARATE, 1), case.total, _ALARM))
        else:
            found.append(judge(case.ratios(_SEPARATE, 1), case.total, _ALARM))
    assert not found[0].refuted
    assert found[1].refuted


_WHOLE: dict[Name, tuple[int, int]] = {
    ("dp_lm", "anchored", "edge"): (62, 90),
    ("dp_lm", "pmt", "edge"): (46, 280),
    ("dp_glm", "anchored, binomial", "alone"): (50, 100),
    ("dp_glm", "ssp, poisson", "alone"): (56, 96),
    ("eptr_lm", "adaptive", "level"): (69, 400),
    ("eptr_bayes", "ptr, gdp", "typical"): (67, 460),
    ("eptr_nw", "adaptive", "missing"): (73, 300),
    ("eptr_nw", "paper", "worst"): (75, 265),
    ("eptr", "gdp", "edge"): (73, 300),
    ("dp_mean", "paper, pure", "missing"): (71, 340),
    ("dp_mvnorm", "refined", "edge"): (53, 145),
    ("dp_mixture", "private", "edge"): (40, 56),
}
"""Whole calls, and runs from the opening of the session, on either table.

Samples of a and b tell laws apart as well as two of 2 a b / (a + b): of the many pairs with the same,
those that take least time, a run being a tenth to a half of a call.
"""


@pytest.mark.parametrize("name", _WHOLE, ids=", ".join)
def test_full_calls_have_the_law_that_is_attacked(name: Name) -> None:
    calls, runs = _WHOLE[name]
    case = cases()[name]()
    for side, drawn in enumerate(case.ratios(runs, 3)):
        whole = [case.whole(side, seed) for seed in range(calls)]
        assert stats.ks_2samp(whole, drawn, method="asymp").pvalue > _LAW


@pytest.mark.parametrize("pair", ["edge", "missing", "level"])
def test_runs_that_share_what_is_public_agree_with_one_that_shares_nothing(pair: str) -> None:
    """One seed gives one log ratio, whatever was asked of the same rows before."""
    for method in ("anchored", "pmt", "ssp"):
        once = cases()["dp_lm", method, pair]().ratios(3, 5)
        after = cases()["dp_lm", method, pair]()
        # more than totals are tried for: by then it is settled what is remembered
        after.ratios(25, 4)
        again = after.ratios(3, 5)
        assert [r.tolist() for r in once] == [r.tolist() for r in again]


def test_a_call_that_is_planned_on_private_rows_is_detected() -> None:
    tables = pd.DataFrame({"x": [0.0, 1.0, 2.0, 3.0]}), pd.DataFrame({"x": [0.0, 1.0, 2.0, 9.0]})

    def call(data: pd.DataFrame, seed: int) -> Any:
        return dp_mean("~ x", data, tables[0][:2], mu=1, covariance=float(data.x.std()), seed=seed)

    with pytest.raises(Leak, match="opened otherwise"):
        _ = Watched("dp_mean", call, tables).sources


def _gaussian(mu: float, slack: float, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Log ratios of N(0, 1) and N(mu, 1); with probability ``slack`` all is told."""
    rng = np.random.default_rng(0)
    low, high = (side * mu + rng.standard_normal(count) for side in (0, 1))
    told = rng.random(count) < slack
    return mu * low - mu**2 / 2, np.where(told, math.inf, mu * high - mu**2 / 2)


def _coins(epsilon: float, delta: float, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Log ratios of randomised response that tells all with probability ``delta``."""
    rng = np.random.default_rng(0)
    right = 1 / (1 + math.exp(-epsilon))
    low, high = (np.where(rng.random(count) < p, epsilon, -epsilon) for p in (1 - right, right))
    told = rng.random(count) < delta
    return low, np.where(told, math.inf, high)


@pytest.mark.parametrize(
    ("ratios", "claim", "false"),
    [
        (_gaussian(1.5, 0.0, 40_000), Privacy(1.5), Privacy(1.35)),
        (_gaussian(1.5, 0.05, 40_000), Privacy(1.5, 0.05), Privacy(1.2, 0.05)),
        (_coins(1.5, 0.0, 40_000), PurePrivacy(1.5), PurePrivacy(1.35)),
        (_coins(1.5, 0.05, 40_000), ApproximatePrivacy(1.5, 0.05), ApproximatePrivacy(1.5, 0.02)),
    ],
)
def test_verdicts_are_sharp(ratios: tuple[np.ndarray, np.ndarray], claim: Any, false: Any) -> None:
    assert not judge(ratios, claim, _ALARM).refuted
    assert judge(ratios, claim, _ALARM).fraction > 0.85
    assert judge(ratios, false, _ALARM).refuted


def test_rows_that_are_read_outside_a_session_are_detected() -> None:
    """As where a fit looks at its rows before it opens one."""
    of = View.of

    def curious(moments: Any, rows: Any, *start: Any) -> View:
        next(iter(rows.pieces(10)))
        return of(moments, rows, *start)

    case = cases()["dp_lm", "anchored", "edge"]()
    with mock.patch.object(View, "of", curious), pytest.raises(Leak, match="outside a session"):
        case.ratios(1, 1)
