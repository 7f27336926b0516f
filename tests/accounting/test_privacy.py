"""Conversions between mu, rho and (epsilon, delta) are exact."""

import math

import numpy as np
import pytest
from dp_accounting import GaussianDpEvent
from dp_accounting.pld import PLDAccountant
from dp_accounting.pld.privacy_loss_distribution import from_randomized_response
from scipy import integrate, stats

from dpstats.accounting.privacy import ApproximatePrivacy, Privacy, PurePrivacy, resolve_privacy
from dpstats.errors import PrivacyError


@pytest.mark.parametrize("mu", [0.05, 0.3, 1.0, 3.0])
@pytest.mark.parametrize("delta", [1e-2, 1e-5, 1e-9])
def test_epsilon_is_that_of_an_independent_accountant(mu: float, delta: float) -> None:
    accountant = PLDAccountant()
    accountant.compose(GaussianDpEvent(noise_multiplier=1 / mu))
    assert Privacy(mu).epsilon(delta) == pytest.approx(accountant.get_epsilon(delta), abs=2e-3)


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 4.0, 20.0])
@pytest.mark.parametrize("delta", [0.3, 1e-2, 1e-5, 1e-12])
def test_epsilon_delta_round_trip_stays_on_the_safe_side(epsilon: float, delta: float) -> None:
    total = resolve_privacy(epsilon=epsilon, delta=delta)
    assert total.delta(epsilon) <= delta
    assert total.delta(epsilon) == pytest.approx(delta, rel=1e-6)
    assert total.epsilon(delta) == pytest.approx(epsilon, rel=1e-6)


def test_delta_is_accurate_far_in_the_tail() -> None:
    assert Privacy(0.1).delta(5.0) == pytest.approx(0.0, abs=1e-300)
    assert 0 < Privacy(1.0).delta(30.0) < 1e-180


def test_rho_is_half_of_mu_squared_and_shares_add_up() -> None:
    total = resolve_privacy(rho=0.7)
    assert total.rho == pytest.approx(0.7)
    assert sum(total.share(s).rho for s in (0.2, 0.3, 0.5)) == pytest.approx(total.rho)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "none was given"),
        ({"mu": 1, "rho": 1}, "mu and rho were given"),
        ({"mu": 0}, "mu must be a finite number > 0"),
        ({"mu": Privacy(1.0)}, r"write mu=budget\.remaining\.mu\."),
        ({"epsilon": Privacy(1.0), "delta": 1e-5}, r"=budget\.remaining\.epsilon\(delta\)\."),
        ({"mu": -1}, "> 0"),
        ({"mu": math.nan}, "finite"),
        ({"mu": math.inf}, "finite"),
        ({"mu": "1"}, "mu must be"),
        ({"mu": True}, "mu must be"),
        ({"rho": -0.1}, "rho must be"),
        ({"epsilon": 1}, "needs delta="),
        ({"epsilon": 1, "delta": 0}, "strictly between 0 and 1"),
        ({"epsilon": 1, "delta": 1}, "strictly between 0 and 1"),
        ({"epsilon": 1, "delta": 1.5}, "strictly between 0 and 1"),
        ({"epsilon": 0, "delta": 0.1}, "epsilon must be"),
        ({"mu": 1, "delta": 0.1}, "delta= goes with epsilon="),
        ({"mu": 1e12}, "protects nobody"),
    ],
)
def test_bad_privacy_says_what_to_do(arguments: dict[str, float], said: str) -> None:
    with pytest.raises(PrivacyError, match=said):
        resolve_privacy(**arguments)


_PURE = [1e-9, 1e-3, 0.5, 1.0, 3.0, 12.0, 300.0, 1e3]


@pytest.mark.parametrize("at", [0.1, 1.0, 3.0])
def test_pure_delta_and_epsilon_are_those_of_an_independent_accountant(at: float) -> None:
    loss = from_randomized_response(2 / (1 + math.exp(at)), 2, value_discretization_interval=1e-6)
    for epsilon in (0.0, at / 2, 0.9 * at):
        expected = loss.get_delta_for_epsilon(epsilon)
        assert PurePrivacy(at).delta(epsilon) == pytest.approx(expected, abs=1e-5)
    for delta in (0.01, 1e-4):
        expected = loss.get_epsilon_for_delta(delta)
        assert PurePrivacy(at).epsilon(delta) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("at", _PURE)
def test_pure_epsilon_and_delta_are_inverse_and_without_slack(at: float) -> None:
    pure, other = PurePrivacy(at), ApproximatePrivacy(at, 0.0)
    assert (pure.slack, pure.epsilon(0), pure.delta(at), pure.delta(2 * at)) == (0.0, at, 0.0, 0.0)
    assert pure.delta(0.0) == pytest.approx(math.tanh(at / 2))
    assert pure.epsilon(0.999999) == pytest.approx(other.epsilon(0.999999))
    for part in (0.0, 0.3, 0.99):
        delta = pure.delta(part * at)
        assert delta == other.delta(part * at)
        if 1e-12 < delta < 1 - 1e-4:
            assert pure.epsilon(delta) == pytest.approx(part * at, rel=1e-6, abs=1e-6 * at)


@pytest.mark.parametrize("at", _PURE)
def test_pure_mu_is_the_smallest_that_follows(at: float) -> None:
    mu = PurePrivacy(at).mu
    # Phi(-mu / 2) = 1 / (1 + e^at), in logarithms or, for small at, by the density at 0
    if at >= 0.5:
        assert stats.norm.logcdf(-mu / 2) == pytest.approx(-np.logaddexp(0, at), rel=1e-12)
    else:
        half = integrate.quad(stats.norm.pdf, 0, mu / 2, epsabs=0, epsrel=1e-12)[0]
        assert half == pytest.approx(math.tanh(at / 2) / 2, rel=1e-11, abs=0)
    if 1e-3 <= at <= 12:
        for part in np.linspace(0, 1, 20):
            assert PurePrivacy(at).delta(part * at) <= Privacy(mu).delta(part * at) * (1 + 1e-9)
        assert PurePrivacy(at).delta(0.0) > Privacy(0.999 * mu).delta(0.0)


def test_pure_mu_has_no_step_where_its_formula_changes() -> None:
    low, high = PurePrivacy(1.0).mu, PurePrivacy(math.nextafter(1.0, 2.0)).mu
    assert high == pytest.approx(low, rel=1e-14)


@pytest.mark.parametrize("at", [1e-3, 0.5, 1.0, 3.0, 12.0])
def test_pure_rho_is_the_smallest_that_follows(at: float) -> None:
    order = 1 + np.geomspace(1e-4, 1e3, 200)
    ends = np.array([1 / (1 + math.exp(-at)), 1 / (1 + math.exp(at))])
    high, low = np.log(ends)
    excess = np.logaddexp(order * high + (1 - order) * low, order * low + (1 - order) * high)
    rho = excess / (order - 1) / order
    assert rho.max() <= PurePrivacy(at).rho * (1 + 1e-6)
    assert rho.max() == pytest.approx(PurePrivacy(at).rho, rel=1e-3)
    assert PurePrivacy(at).rho <= min(at, at**2 / 2)


def test_pure_shares_add_up() -> None:
    total = PurePrivacy(0.7)
    assert sum(total.share(s).at for s in (0.2, 0.3, 0.5)) == pytest.approx(0.7)


@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf])
def test_pure_refuses_what_is_no_epsilon_or_delta(bad: float) -> None:
    with pytest.raises(PrivacyError, match="epsilon must be"):
        PurePrivacy(1.0).delta(bad)
    with pytest.raises(PrivacyError, match="delta must lie"):
        PurePrivacy(1.0).epsilon(bad)
