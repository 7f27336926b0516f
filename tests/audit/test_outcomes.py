"""What a release may return: odd outcomes, their numbers and forms, and results of the package.

How seldom a right implementation fails is said in `tests.audit.made_up`.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpstats import dp_lm, dp_mean
from dpstats.audit import audit
from dpstats.audit.forms import form_of
from dpstats.audit.outcomes import columns_of, matrix_of, numbers_of
from dpstats.errors import ArgumentError, PlanWarning
from dpstats.report.privacy import PrivacyStatement
from tests.audit.made_up import _CALM, _PUBLIC, _SURE, _Result

# --- odd outcomes --------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [3.0, None, math.inf, [1, 2], {"a": math.nan}, 10**400, True])
def test_a_constant_gives_nothing_away(value: Any) -> None:
    found = audit(lambda data: value, (0, 1), mu=0, trials=40)
    assert (found.mu, found.epsilon, found.refuted) == (0, 0, False)
    assert "every run returned the same" in found.notes[0]
    assert "fixed seed" in repr(found)


def test_two_constants_give_all_away() -> None:
    found = audit(float, (0, 1), mu=3, trials=4000)
    assert found.refuted
    assert found.notes


def test_anything_may_be_returned() -> None:
    state = np.random.Generator(np.random.PCG64(3))
    odd = [0.0, 1.0, math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, None, 10**400, True]
    kinds: list[Callable[[list[Any]], Any]] = [
        list,
        tuple,
        lambda values: dict(enumerate(values)),
        lambda values: values[0] if values else None,
        lambda values: pd.Series(values, dtype=object),
        lambda values: pd.DataFrame({"a": values, "b": 1}),
        lambda values: np.array(values, dtype=object),
        lambda values: np.array([v for v in values if isinstance(v, float)]),
        lambda values: [values, values],
    ]

    def release(data: Any) -> Any:
        values = [odd[k] for k in state.integers(0, len(odd), int(state.integers(0, 4)))]
        return kinds[int(state.integers(0, len(kinds)))](values)

    for trials in (40, 41, 100, 400):
        found = audit(release, (0, 1), mu=0.1, trials=trials, confidence=_SURE)
        assert not found.refuted
        assert found.trials == trials // 2 * 2
        assert found._repr_html_()


def test_names_of_numbers() -> None:
    assert numbers_of(np.float32(2)) == 2.0
    assert numbers_of(-(10**400)) == -math.inf
    assert numbers_of(pd.Series([1, 2], index=["a", "b"])) == {"[a]": 1.0, "[b]": 2.0}
    assert numbers_of(pd.Series([1, 2], index=["a", "a"])) == {"[0]": 1.0, "[1]": 2.0}
    frame = pd.DataFrame({"x": [1.5]}, index=["r"])
    assert numbers_of({"t": frame}) == {"t[x][r]": 1.5}
    outcomes = [numbers_of(v) for v in (np.array([1.0, 2.0]), {"a": 3.0}, None, 4.0)]
    columns = columns_of(outcomes)
    assert columns == ("no reply", "a", "value", "[0]", "[1]")
    assert np.isnan(matrix_of(outcomes, columns)).sum(axis=1).tolist() == [2, 3, 4, 3]
    assert matrix_of(outcomes, columns)[:, 0].tolist() == [0, 0, 1, 0]


@pytest.mark.parametrize("value", ["a", b"a", 1j, object(), ["a"], {"a": "b"}, np.array(["a"])])
def test_what_holds_no_numbers_asks_for_a_statistic(value: Any) -> None:
    with pytest.raises(ArgumentError, match="statistic="):
        audit(lambda data: value, (0, 1))
    assert audit(lambda data: value, (0, 1), statistic=lambda _: 1.0, trials=40).mu == 0


def test_the_error_names_what_is_read_and_where_the_odd_item_stands() -> None:
    class Own:
        x = 1.0

    with pytest.raises(
        ArgumentError, match=r"of type Own, .* the value itself, .*\.mean, \.value, "
    ):
        audit(lambda data: Own(), (0, 1))
    with pytest.raises(ArgumentError, match=r"of type str at \[1\], which"):
        audit(lambda data: (1.0, "a"), (0, 1))
    with pytest.raises(ArgumentError, match=r"of type Own at a\[0\], which holds no numbers"):
        audit(lambda data: {"a": [Own()]}, (0, 1))


def test_forms_of_odd_things() -> None:
    def parts(value: Any) -> dict[str, float]:
        form = form_of(value)
        return dict(zip(form.names, form.values.tolist(), strict=True))

    circle: list[Any] = [1]
    circle.append(circle)
    circle.append(_Result(1, circle))
    assert "type of [2]._hidden" in parts(circle)
    assert parts(2**53 + 1)["last digits of value"] == 1
    assert parts(np.array([2**60 + 5]))["last digits of [0]"] == 5
    assert parts(_Result(0, 2**2000 + 3))["last digits of ._hidden"] == 3
    alike: list[tuple[Any, Any]] = [
        (Decimal("1.0"), Decimal("1.00")),
        (_Result(0, {"a", 1}), _Result(0, {"b", 1})),
        (_Result(0, len), _Result(0, max)),
        (_Result(0, b"a"), _Result(0, b"b")),
        (_Result(0, 1j), _Result(0, 2j)),
        (_Result(0, np.zeros(200)), _Result(0, np.arange(200.0))),
        (np.zeros((2, 3)), np.zeros((3, 2)).T),
        (pd.Series([1.0], name="a"), pd.Series([1.0], name="b")),
        (pd.Series([1, None], dtype=object), pd.Series([1, math.nan], dtype=object)),
        (_Result(0, pd.Index([1])), _Result(0, pd.Index([2]))),
        (list(range(200)), [*range(199), 199.0]),
        (_Result(0, pd.Timestamp("2020")), _Result(0, pd.Timestamp("2021"))),
        (_Result(0, math.nan), _Result(0, None)),
    ]
    for one, other in alike:
        assert parts(one) != parts(other)
    assert str(parts(_Result(0, object()))) == str(parts(_Result(0, object())))
    assert str(parts({object(): 1})) is not None


# --- results of the package ----------------------------------------------------------------------


_DATA = _CALM.assign(x=np.append(_CALM["x"][:-1], -1e9))
_OTHER = _DATA.assign(x=np.append(_DATA["x"][:-1], 1e9), y=np.append(_DATA["y"][:-1], -1e9))


def _calls(function: Callable[..., Any], *args: Any, **options: Any) -> Callable[[Any], Any]:
    seeds = itertools.count(1)

    def release(data: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PlanWarning)
            return function(*args, data, public=_PUBLIC, **options, seed=next(seeds))

    return release


def test_results_are_audited_against_their_own_claim() -> None:
    release = _calls(dp_mean, ["x"], mu=3, covariance=1.0)
    found = audit(release, (_DATA, _OTHER), trials=40, confidence=_SURE)
    assert isinstance(found.claim, PrivacyStatement)
    assert found.claim.mu == 3
    assert not found.refuted
    assert found.mu <= 3
    assert "coef[x]" in repr(found)
    again = audit(release, (_DATA, _OTHER), mu=0.1, trials=200)
    assert again.refuted
    assert again.mu > 0.3


@pytest.mark.slow
def test_linear_models_are_audited() -> None:
    found = audit(
        _calls(dp_lm, "y ~ x", mu=1), (_DATA, _OTHER), trials=60, statistic=lambda fit: fit.coef()
    )
    assert found.claim.mu == 1
    assert not found.refuted


def test_a_result_without_a_reply_is_known_as_such() -> None:
    @dataclass
    class Result:
        released: bool
        value: float | None

    assert numbers_of(Result(True, 2.0)) == {"value": 2.0, "no reply": 0.0}
    assert numbers_of(Result(False, None)) == {"no reply": 1.0}
    assert numbers_of([Result(False, 1.0)]) == {"[0].value": 1.0, "[0].no reply": 1.0}
