"""What holds for one row holds for k rows at k times the price."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import special

from dpstats.accounting.privacy import ApproximatePrivacy, Privacy, PurePrivacy
from dpstats.accounting.unit import PrivacyUnit, check_count
from dpstats.errors import ArgumentError
from dpstats.propose_test.call import resolve_total


@pytest.mark.parametrize("mu", [0.05, 0.5, 2.0])
@pytest.mark.parametrize("slack", [1e-9, 1e-5, 0.02])
@pytest.mark.parametrize("k", [2, 3, 10])
def test_a_slack_for_groups_covers_the_composed_trade_off_function(
    mu: float, slack: float, k: int
) -> None:
    # 1 - f of one row, composed k times, is the largest power against k rows
    alpha = np.concatenate([[0.0], np.geomspace(1e-15, 1, 4000)])
    power = alpha
    for _ in range(k):
        power = np.minimum(special.ndtr(special.ndtri(power) + mu) + slack, 1.0)
    group = Privacy(mu, slack).for_group(k)
    claimed = np.minimum(special.ndtr(special.ndtri(alpha) + group.mu) + group.slack, 1.0)
    assert (power <= claimed + 1e-15).all()
    assert group.slack == pytest.approx(power[0])  # and not more than that
    # in (epsilon, delta) as well
    for epsilon in (0.0, 0.3, 1.0, 4.0):
        most = float(np.max(power - math.exp(epsilon) * alpha))
        assert most <= group.delta(epsilon) + 1e-15


@pytest.mark.parametrize("k", [1, 2, 7])
def test_groups_of_approximate_and_pure_releases_are_chains_of_rows(k: int) -> None:
    one = ApproximatePrivacy(0.4, 1e-6)
    delta = 0.0
    for _ in range(k):
        delta = math.exp(one.at) * delta + one.slack
    group = one.for_group(k)
    assert group.at == pytest.approx(0.4 * k)
    assert delta <= group.slack * (1 + 1e-12)
    assert group.slack == pytest.approx(delta)
    assert PurePrivacy(0.4).for_group(k).at == pytest.approx(0.4 * k)
    assert ApproximatePrivacy(300.0, 1e-6).for_group(5).slack == 1.0


def test_a_total_is_divided_so_that_its_group_is_the_total() -> None:
    for total in (Privacy(0.7), PurePrivacy(0.7)):
        for k in (1, 3, 49):
            unit = PrivacyUnit(k)
            whole = unit.whole(total.per_row(k))
            assert whole.mu == pytest.approx(total.mu, rel=1e-12)
    with pytest.raises(ValueError, match="slack"):
        Privacy(0.5, 1e-6).per_row(2)


@pytest.mark.parametrize("k", [2, 5, 40])
@pytest.mark.parametrize(
    ("kind", "calibration"),
    [("bounded", "gdp"), ("tested", "gdp"), ("tested", "dp"), ("paper", "gdp")],
)
@pytest.mark.parametrize("delta", [1e-9, 1e-5, 1e-2])
def test_tested_releases_give_persons_the_total(
    kind: Any, calibration: str, k: int, delta: float
) -> None:
    given = {"mu": None, "rho": None, "epsilon": 2.0, "delta": delta}
    unit = PrivacyUnit(k)
    total, terms = resolve_total("eptr_lm", "ptr", kind, calibration, given, unit)
    whole = unit.whole(total)
    assert whole.delta(2.0) <= delta
    assert whole.epsilon(delta) <= 2.0 + 1e-9
    assert whole.delta(2.0) >= 0.95 * delta  # and nearly all of it
    assert terms.epsilon == pytest.approx(2.0 / k)


def test_units_say_whom_they_protect() -> None:
    assert PrivacyUnit().text == "one row replaced by another (n is public)"
    assert PrivacyUnit().group(3).text == "3 rows replaced by others (n is public)"
    assert "taken on trust: nobody has more than 2 rows" in PrivacyUnit(2).text
    assert "using only the first row of each `id`" in PrivacyUnit(1, "id").text
    assert PrivacyUnit(2, "id").group(2).text.startswith("2 persons replaced by others")
    assert PrivacyUnit(2, "id").group(2).group(3).together == 6


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "2", math.nan, 10**5])
def test_numbers_of_rows_are_integers(value: Any) -> None:
    with pytest.raises(ArgumentError, match="rows_per_person must be a whole number from 1 to"):
        PrivacyUnit.of(value, None)
    with pytest.raises(ArgumentError, match="k must be"):
        check_count("k", value)


@pytest.mark.parametrize("person", [1, ["id"], b"id"])
def test_a_person_is_the_name_of_a_column(person: Any) -> None:
    with pytest.raises(ArgumentError, match="person must be the name of a column"):
        PrivacyUnit.of(2, person)
