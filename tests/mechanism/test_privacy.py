"""Conversions between mu, rho and (epsilon, delta) are exact."""

import math

import pytest
from dp_accounting import GaussianDpEvent
from dp_accounting.pld import PLDAccountant

from dpstats.errors import PrivacyError
from dpstats.mechanism.privacy import Privacy, resolve_privacy


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
