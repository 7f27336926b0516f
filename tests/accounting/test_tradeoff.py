"""The trade-off of a claim, beside what is known of it in closed form."""

import math

import numpy as np
import pytest
from scipy import stats

from dpstats.accounting.composition import Composed
from dpstats.accounting.privacy import ApproximatePrivacy, Privacy, PurePrivacy
from dpstats.accounting.tradeoff import Allowed, smallest_type_two

_ALPHA = np.array([0.0, 1e-6, 0.01, 0.05, 0.3, 0.5, 0.9, 0.999, 1.0])


def test_the_power_that_a_claim_allows() -> None:
    for alpha in (1e-6, 0.01, 0.3, 0.9):
        assert Allowed(PurePrivacy(1.0).delta).power(alpha) == pytest.approx(
            min(math.e * alpha, 1 - math.exp(-1) * (1 - alpha)), rel=1e-9
        )
        gaussian = Allowed(None, mu=1.5).power(alpha)
        assert Allowed(Privacy(1.5).delta).power(alpha) == pytest.approx(gaussian, rel=1e-7)
        single = Allowed(ApproximatePrivacy(1.0, 0.02).delta)
        most = min(math.e * alpha + 0.02, 1 - math.exp(-1) * (0.98 - alpha))
        assert single.power(alpha) == pytest.approx(most, rel=1e-9)
        assert single.power(alpha) <= float(single.powers(np.array([alpha]))[0]) <= 1
    assert Allowed(ApproximatePrivacy(1.0, 0.02).delta).power(0.0) == 0.02


@pytest.mark.parametrize("mu", [0.05, 1.0, 4.0])
def test_the_gaussian_curve(mu: float) -> None:
    exact = stats.norm.cdf(stats.norm.isf(_ALPHA) - mu)
    assert smallest_type_two(Privacy(mu), _ALPHA) == pytest.approx(exact, abs=1e-12)


def test_a_slack_moves_the_gaussian_curve_down_and_to_the_left() -> None:
    def curve(alpha: np.ndarray) -> np.ndarray:
        return stats.norm.cdf(stats.norm.ppf(1 - np.minimum(alpha, 1)) - 1.0)

    exact = np.maximum(np.maximum(curve(_ALPHA) - 0.03, curve(_ALPHA + 0.03)), 0)
    assert smallest_type_two(Privacy(1.0, 0.03), _ALPHA) == pytest.approx(exact, abs=1e-7)


@pytest.mark.parametrize("slack", [0.0, 0.02])
def test_one_epsilon_makes_two_straight_lines(slack: float) -> None:
    total = ApproximatePrivacy(1.5, slack) if slack else PurePrivacy(1.5)
    steep = 1 - slack - math.exp(1.5) * _ALPHA
    flat = math.exp(-1.5) * (1 - slack - _ALPHA)
    exact = np.maximum(np.maximum(steep, flat), 0)
    assert smallest_type_two(total, _ALPHA) == pytest.approx(exact, abs=1e-9)


@pytest.mark.parametrize(
    "claim",
    [Privacy(1.0), Privacy(2.0, 1e-3), PurePrivacy(0.7), ApproximatePrivacy(1.0, 0.05)],
)
def test_a_curve_is_its_own_inverse_and_below_the_diagonal(claim: Privacy) -> None:
    curve = smallest_type_two(claim, _ALPHA)
    assert (np.diff(curve) <= 0).all()
    assert (curve <= 1 - _ALPHA + 1e-12).all()
    inside = (_ALPHA > 0) & (curve > 1e-9)
    assert smallest_type_two(claim, curve[inside]) == pytest.approx(_ALPHA[inside], abs=1e-6)


def test_a_sum_of_calls_has_a_curve_as_well() -> None:
    both = Composed().plus(Privacy(3.0)).plus(Privacy(4.0))
    assert smallest_type_two(both, _ALPHA) == pytest.approx(
        smallest_type_two(Privacy(5.0), _ALPHA), abs=1e-9
    )
