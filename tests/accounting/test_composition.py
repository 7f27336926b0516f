"""What costs add up to, against an independent accountant; and what a budget lets through."""

import math
import random
from fractions import Fraction

import pytest
from dp_accounting.pld.common import DifferentialPrivacyParameters
from dp_accounting.pld.privacy_loss_distribution import (
    PrivacyLossDistribution,
    from_gaussian_mechanism,
    from_privacy_parameters,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from dpstats.accounting.composition import BudgetLimits, BudgetTotal, Composed
from dpstats.accounting.privacy import (
    ApproximatePrivacy,
    Privacy,
    PurePrivacy,
    Total,
    resolve_privacy,
)
from dpstats.errors import PrivacyError
from dpstats.propose_test.curve import gdp_split

_STEP = 1e-3
_CUT = 1e-14
"""What the accountant cuts off at the ends, and rounds."""


def _sum(*costs: Total) -> Composed:
    total = Composed()
    for cost in costs:
        total = total.plus(cost)
    return total


def _loss(cost: Total) -> PrivacyLossDistribution:
    """The worst pair of laws that a cost allows: what it states, and no more."""
    if isinstance(cost, Privacy):
        gaussian = from_gaussian_mechanism(1 / cost.mu, value_discretization_interval=_STEP)
        if not cost.slack:
            return gaussian
        free = DifferentialPrivacyParameters(0.0, cost.slack)
        return gaussian.compose(from_privacy_parameters(free, _STEP))
    return from_privacy_parameters(DifferentialPrivacyParameters(cost.at, cost.slack), _STEP)


def _oracle(costs: list[Total], epsilon: float, below: bool) -> float:
    """Delta of the worst case, a little above; or ``below``, where losses are rounded up to a step."""
    whole = _loss(costs[0])
    for cost in costs[1:]:
        whole = whole.compose(_loss(cost))
    return float(whole.get_delta_for_epsilon(epsilon + len(costs) * _STEP * below))


_MIXTURES: list[list[Total]] = [
    [Privacy(0.5), PurePrivacy(0.5)],
    [Privacy(1.0), PurePrivacy(0.1), PurePrivacy(0.2)],
    [Privacy(0.5, 1e-6), ApproximatePrivacy(0.5, 1e-6)],
    [PurePrivacy(0.3)] * 5,
    [PurePrivacy(0.1)] * 30,
    [ApproximatePrivacy(0.5, 1e-5), PurePrivacy(1.0)],
    [ApproximatePrivacy(0.2, 1e-4)] * 6,
    [Privacy(0.3, 1e-5), Privacy(0.4), PurePrivacy(0.7), ApproximatePrivacy(0.4, 2e-5)],
    [PurePrivacy(4.0), Privacy(0.2)],
    [PurePrivacy(3.0), Privacy(2.0, 1e-3), ApproximatePrivacy(2.0, 1e-3)],
]


@pytest.mark.parametrize("costs", _MIXTURES, ids=str)
def test_delta_is_never_below_the_best_bound(costs: list[Total]) -> None:
    whole = _sum(*costs)
    for epsilon in (0.0, 0.2, 0.7, 1.5, 3.0, 5.0):
        assert whole.delta(epsilon) >= _oracle(costs, epsilon, below=True) * (1 - 1e-9) - _CUT


@pytest.mark.parametrize("mus", [[0.3], [0.3, 0.4], [0.1] * 20, [1.0, 2.0, 0.5]], ids=str)
def test_gaussian_costs_add_up_without_loss(mus: list[float]) -> None:
    costs: list[Total] = [Privacy(mu) for mu in mus]
    whole, one = _sum(*costs), Privacy(math.sqrt(sum(mu**2 for mu in mus)))
    assert whole.mu == pytest.approx(one.mu, rel=1e-15)
    assert whole.rho == pytest.approx(one.rho, rel=1e-15)
    for epsilon in (0.1, 1.0, 3.0):
        assert whole.delta(epsilon) == pytest.approx(one.delta(epsilon), rel=1e-12)
        low = _oracle(costs, epsilon, below=True)
        high = _oracle(costs, epsilon, below=False)
        assert low * (1 - 1e-9) - _CUT <= whole.delta(epsilon) <= high * (1 + 1e-9)
    assert whole.epsilon(1e-5) == pytest.approx(one.epsilon(1e-5), rel=1e-12)


def test_where_no_call_is_gaussian_epsilons_and_deltas_add() -> None:
    pure = _sum(PurePrivacy(0.5), PurePrivacy(0.25))
    assert (pure.epsilon(0.0), pure.delta(0.75), pure.slack) == (0.75, 0.0, 0.0)
    stated = _sum(ApproximatePrivacy(0.5, 1e-6), ApproximatePrivacy(0.25, 2e-6))
    assert stated.slack == 1e-6 + 2e-6
    assert stated.delta(0.75) == stated.slack
    assert stated.epsilon(stated.slack) == 0.75
    assert stated.epsilon(stated.slack / 2) == math.inf


def test_one_cost_alone_is_stated_without_loss() -> None:
    for cost in (Privacy(0.7), Privacy(0.7, 1e-6), PurePrivacy(0.7), ApproximatePrivacy(0.7, 1e-6)):
        whole = _sum(cost)
        for epsilon in (0.0, 0.3, 0.7, 2.0):
            # below the stated epsilon the slack is added, where it is a weight
            exact = cost.delta(epsilon)
            assert exact * (1 - 1e-12) <= whole.delta(epsilon) <= exact + cost.slack
        assert whole.epsilon(1e-3) == pytest.approx(cost.epsilon(1e-3), rel=1e-9)


def test_many_small_pure_costs_profit_from_the_gaussian_sum() -> None:
    whole = _sum(*[PurePrivacy(0.01)] * 1000)
    assert whole.epsilon(0.0) == pytest.approx(10.0)
    assert whole.epsilon(1e-6) < 2.5


def test_pure_costs_shift_the_curve_of_a_small_gaussian() -> None:
    whole = _sum(PurePrivacy(8.0), Privacy(0.1))
    assert whole.epsilon(1e-6) == pytest.approx(8.0 + Privacy(0.1).epsilon(1e-6))
    assert whole.delta(8.5) == Privacy(0.1).delta(0.5)


def test_a_pure_cost_counts_as_the_gaussian_and_the_rho_that_follow() -> None:
    pure, whole = PurePrivacy(1.3), _sum(PurePrivacy(1.3))
    assert (whole.mu, whole.rho) == pytest.approx((pure.mu, pure.rho), rel=1e-15)


def test_sums_are_exact_in_any_order() -> None:
    costs: list[Total] = [Privacy(k / 7, 1e-9 * k) for k in range(50)]
    costs += [PurePrivacy(k / 11) for k in range(1, 50)]
    costs += [ApproximatePrivacy(0.1, 1e-8)] * 50
    shuffled = random.Random(1).sample(costs, len(costs))
    assert _sum(*costs) == _sum(*shuffled)


def test_an_empty_sum_is_free() -> None:
    nothing = Composed()
    assert (nothing.mu, nothing.rho, nothing.slack, nothing.delta(0.0)) == (0, 0, 0, 0)
    assert (nothing.epsilon(0.0), nothing.epsilon(1e-5)) == (0, 0)


def test_epsilon_is_infinite_at_or_below_the_slack_of_a_gaussian() -> None:
    whole = _sum(Privacy(0.5, 1e-5))
    assert whole.epsilon(1e-5) == math.inf
    assert whole.epsilon(0.0) == math.inf
    assert math.isfinite(whole.epsilon(1.1e-5))


@pytest.mark.parametrize("epsilon", [-1.0, math.nan, math.inf])
def test_delta_needs_a_number(epsilon: float) -> None:
    for costs in ([Privacy(1.0)], [PurePrivacy(1.0)], [Privacy(1.0), PurePrivacy(1.0)]):
        with pytest.raises(PrivacyError, match="epsilon must be"):
            _sum(*costs).delta(epsilon)


# -- what a budget lets through -------------------------------------------------------------------

_EPSILONS = [(0.1, 1e-3), (1.0, 1e-6), (3.0, 1e-6), (10.0, 1e-9), (0.5, 0.05)]


@pytest.mark.parametrize(("epsilon", "delta"), _EPSILONS)
@pytest.mark.parametrize("slack", [None, 0.0, 0.3, 0.999])
def test_limits_of_epsilon_and_delta_are_safe(
    epsilon: float, delta: float, slack: float | None
) -> None:
    budget = BudgetTotal("epsilon", epsilon, delta, None if slack is None else slack * delta)
    firsts: list[Total | None] = [None, PurePrivacy(epsilon / 9), PurePrivacy(epsilon)]
    firsts += [ApproximatePrivacy(epsilon / 3, delta / 7), Privacy(0.001, 0.7 * delta)]
    firsts += [Privacy(0.001, delta), Privacy(0.0, 5 * delta), budget.total]
    for first in firsts:
        caps = budget.caps(first)
        assert caps.slack <= delta
        assert caps.epsilon <= epsilon
        assert caps.slack + Privacy(caps.mu).delta(epsilon) <= delta


def _whole_calls(epsilon: float, delta: float) -> list[Total]:
    """Calls of every kind that ask for all of a budget; how `ptr_call` states them."""
    bounded = Privacy(resolve_privacy(epsilon=epsilon, delta=0.8 * delta).mu, 0.2 * delta)
    return [
        resolve_privacy(epsilon=epsilon, delta=delta),
        bounded,
        Privacy(*gdp_split(epsilon, delta)),
        ApproximatePrivacy(epsilon, delta),
        PurePrivacy(epsilon),
    ]


@pytest.mark.parametrize(("epsilon", "delta"), _EPSILONS)
def test_one_call_of_any_kind_may_spend_everything(epsilon: float, delta: float) -> None:
    budget = BudgetTotal("epsilon", epsilon, delta)
    for cost in _whole_calls(epsilon, delta):
        spent = _sum(cost)
        assert budget.caps(cost).hold(spent), cost
        assert spent.delta(epsilon) <= delta * (1 + 1e-12)
        left = budget.left(spent, cost)
        if not isinstance(cost, PurePrivacy):
            assert _sum(left).delta(epsilon) < 0.6 * delta or isinstance(left, ApproximatePrivacy)
        for again in _whole_calls(epsilon, delta):
            assert not budget.caps(cost).hold(spent.plus(again)), (cost, again)


@pytest.mark.parametrize(
    ("budget", "cost"),
    [
        (BudgetTotal("mu", 1.7), Privacy(1.7)),
        (BudgetTotal("rho", 0.3), resolve_privacy(rho=0.3)),
        (BudgetTotal("epsilon", 2.0, 1e-6, 0.0), resolve_privacy(epsilon=2.0, delta=1e-6)),
        (BudgetTotal("epsilon", 2.0), PurePrivacy(2.0)),
        (BudgetTotal("epsilon", 2.0, 1e-6), PurePrivacy(2.0)),
        (BudgetTotal("epsilon", 2.0, 1e-6, 1e-7), PurePrivacy(2.0)),
        (BudgetTotal("epsilon", 2.0, 1e-6), ApproximatePrivacy(2.0, 1e-6)),
    ],
    ids=str,
)
@pytest.mark.parametrize("parts", [1, 2, 3, 10])
def test_parts_fit_exactly_and_a_hair_more_does_not(
    budget: BudgetTotal, cost: Total, parts: int
) -> None:
    part: Total
    if isinstance(cost, Privacy):
        part, more = Privacy(cost.mu / math.sqrt(parts)), Privacy(cost.mu * 1e-4)
        wider: Total = Privacy(part.mu * (1 + 1e-9))
    elif isinstance(cost, PurePrivacy):
        part, more = PurePrivacy(cost.at / parts), PurePrivacy(cost.at * 1e-9)
        wider = PurePrivacy(part.at * (1 + 1e-9))
    else:
        part = ApproximatePrivacy(cost.at / parts, cost.slack / parts)
        more = ApproximatePrivacy(0.0, cost.slack * 1e-9)
        wider = ApproximatePrivacy(part.at * (1 + 1e-9), part.slack)
    spent, first = Composed(), part
    for _ in range(parts):
        spent = spent.plus(part)
        assert budget.caps(first).hold(spent)
    assert not budget.caps(first).hold(spent.plus(more))
    assert not budget.caps(wider).hold(_sum(*[wider] * parts))


def test_a_tenth_of_delta_is_kept_for_slack_unless_the_first_call_is_larger() -> None:
    budget, whole = BudgetTotal("epsilon", 2.0, 1e-6), resolve_privacy(epsilon=2.0, delta=1e-6)
    small = Privacy(whole.mu / 2)
    assert budget.caps(small).slack == 1e-7
    assert budget.caps(small).mu == resolve_privacy(epsilon=2.0, delta=9e-7).mu
    assert budget.caps(whole).slack == 0.0
    assert budget.left(Composed(), None) == whole
    assert budget.left(_sum(small), small).mu < math.hypot(whole.mu, -small.mu)


def test_a_first_call_with_slack_can_be_made_again_while_mu_lasts() -> None:
    budget = BudgetTotal("epsilon", 3.0, 1e-5)
    for first in (Privacy(0.1, 2e-7), Privacy(*gdp_split(1.0, 1e-6)), Privacy(0.01, 1e-8)):
        caps = budget.caps(first)
        assert 1e-6 <= caps.slack <= 5e-6
        times, spent = 0, Composed()
        while caps.hold(spent.plus(first)):
            times, spent = times + 1, spent.plus(first)
        assert times >= 2
        assert spent.delta(3.0) <= 1e-5
        # neither limit is far from being reached, unless the share of slack is at its largest
        assert spent.mu > 0.7 * caps.mu or caps.slack == 5e-6


def test_what_remains_of_an_unspent_budget_leaves_out_the_slack() -> None:
    budget = BudgetTotal("epsilon", 1.0, 1e-9, 5e-10)
    assert budget.left(Composed(), None) == resolve_privacy(epsilon=1.0, delta=5e-10)
    assert BudgetTotal("mu", 0.7, slack=1e-5).left(Composed(), None) == Privacy(0.7)


def test_slack_has_a_limit_of_its_own() -> None:
    for budget in (BudgetTotal("mu", 1.0, slack=1e-5), BudgetTotal("rho", 1.0, slack=1e-5)):
        caps = budget.caps(None)
        assert caps.hold(_sum(Privacy(0.1, 1e-5)))
        assert caps.hold(_sum(ApproximatePrivacy(0.1, 5e-6), Privacy(0.1, 5e-6)))
        assert not caps.hold(_sum(Privacy(0.1, 1.0001e-5)))
    assert not BudgetTotal("mu", 1.0, slack=0.0).caps(None).hold(_sum(Privacy(0.1, 1e-300)))


def test_a_pure_budget_takes_pure_calls_only() -> None:
    caps = BudgetTotal("epsilon", 2.0).caps(None)
    assert caps.hold(_sum(PurePrivacy(1.5), PurePrivacy(0.5)))
    assert not caps.hold(_sum(Privacy(1e-6)))
    assert not caps.hold(_sum(ApproximatePrivacy(1e-6, 1e-12)))


def test_pure_calls_add_their_epsilons_beside_the_limit_of_mu() -> None:
    budget, part = BudgetTotal("epsilon", 3.0, 1e-6), PurePrivacy(0.5)
    caps = budget.caps(part)
    assert caps.mu > 0, "the first call left room for Gaussian ones"
    assert caps.hold(_sum(*[part] * 6))
    assert not caps.hold(_sum(*[part] * 7))
    assert budget.left(_sum(*[part] * 5), part) == PurePrivacy(0.5)
    # and then no Gaussian call fits, however small
    assert not caps.hold(_sum(*[part] * 5, Privacy(1e-6)))
    assert not caps.hold(_sum(*[part] * 5, ApproximatePrivacy(0.1, 2e-7)))
    assert caps.hold(_sum(*[part] * 5, ApproximatePrivacy(0.1, 1e-8)))


def test_caps_without_numbers_hold_nothing_but_gaussians() -> None:
    assert BudgetLimits().hold(_sum(Privacy(1e8)))
    assert not BudgetLimits(mu=0.0).hold(_sum(PurePrivacy(1e-9)))


_SIZES = st.floats(1e-3, 1.0)
_COSTS = st.one_of(
    st.builds(Privacy, _SIZES),
    st.builds(lambda m, s: Privacy(m, s * 1e-6), _SIZES, _SIZES),
    st.builds(PurePrivacy, _SIZES),
    st.builds(lambda e, s: ApproximatePrivacy(e, s * 1e-6), _SIZES, _SIZES),
)
_BUDGETS = st.one_of(
    st.builds(lambda v: BudgetTotal("mu", v, slack=1e-6), st.floats(0.05, 3.0)),
    st.builds(lambda v: BudgetTotal("rho", v, slack=1e-6), st.floats(0.05, 3.0)),
    st.builds(lambda v: BudgetTotal("epsilon", v), st.floats(0.05, 3.0)),
    st.builds(
        lambda v, d, s: BudgetTotal("epsilon", v, d, None if s is None else s * d),
        st.floats(0.05, 3.0),
        st.sampled_from([1e-9, 1e-6, 1e-3]),
        st.none() | st.floats(0.0, 0.99),
    ),
)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(_BUDGETS, st.lists(_COSTS, max_size=25))
def test_whatever_is_let_through_stays_within_the_budget(
    budget: BudgetTotal, asked: list[Total]
) -> None:
    spent, first = Composed(), None
    for cost in asked:
        left = budget.left(spent, first)
        # what is said to remain would be let through, and what it says in no unit is below zero
        if _sum(left).squares or _sum(left).slacks:
            assert budget.caps(first or left).hold(spent.plus(left))
        if budget.caps(first or cost).hold(spent.plus(cost)):
            spent, first = spent.plus(cost), first or cost
    hair = 1 + 1e-11
    if budget.unit == "epsilon":
        assert spent.delta(budget.level) <= budget.delta * hair
        assert spent.epsilon(budget.delta) <= budget.level * hair
    else:
        assert (spent.mu if budget.unit == "mu" else spent.rho) <= budget.level * hair
        assert spent.slacks <= Fraction(budget.slack or 0.0) * Fraction(hair)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(_BUDGETS, st.lists(_COSTS, max_size=8))
def test_spent_and_remaining_add_up(budget: BudgetTotal, asked: list[Total]) -> None:
    spent, first = Composed(), None
    for cost in asked:
        if budget.caps(first or cost).hold(spent.plus(cost)):
            spent, first = spent.plus(cost), first or cost
    if first is None:
        return
    caps, left = budget.caps(first), budget.left(spent, first)
    if isinstance(left, Privacy) and left.mu:
        limit = caps.rho if budget.unit == "rho" else caps.mu**2 / 2
        here = spent.rho if budget.unit == "rho" else spent.mu**2 / 2
        assert here + left.rho == pytest.approx(limit, rel=1e-9)
    elif not isinstance(left, Privacy):
        assert float(spent.epsilons) + left.at == pytest.approx(caps.epsilon, rel=1e-9)
