"""eptr and check_safety as a user meets them: what they answer, what they refuse, what they hide."""

from __future__ import annotations

import math
import warnings
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from dpstats import check_safety, eptr
from dpstats.errors import ArgumentError, DPStatsError, PrivacyError
from dpstats.models.eptr_own.releases import level_of

ENOUGH = 200


def make(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"member": rng.random(n) < 0.3, "y": rng.random(n)})


PUBLIC, DATA = make(400, 1), make(5000, 2)


def subgroup_mean(d: pd.DataFrame) -> float:
    members = d["member"].to_numpy(dtype=bool)
    y = np.clip(np.nan_to_num(d["y"].to_numpy(dtype=float)), 0, 1)
    return float(y[members].mean()) if members.any() else 0.5


def spare(d: pd.DataFrame) -> int:
    return max(int(d["member"].sum()) - ENOUGH + 1, 0)


MEAN = subgroup_mean(DATA)


def answer(data: Any = DATA, **arguments: Any) -> Any:
    call = {
        "estimate": subgroup_mean,
        "safety": spare,
        "alpha": 1 / ENOUGH,
        "epsilon": 1,
        "delta": 1e-6,
        "seed": 1,
    }
    return eptr(data, **call | arguments)


@cache
def plain_answer() -> Any:
    """One answer for all tests that only look at it."""
    return answer()


# -- answers ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("calibration", ["gdp", "dp", "paper"])
def test_a_safe_estimate_comes_back_with_noise_of_the_size_that_is_said(calibration: str) -> None:
    errors = [answer(calibration=calibration, seed=s).value - MEAN for s in range(60)]
    sd = answer(calibration=calibration).noise_sd
    # 60 normal errors: the chi-square quantiles at 1e-7 on either side
    low, high = stats.chi2.ppf([1e-7, 1 - 1e-7], 60)
    assert low < np.sum(np.square(errors)) / sd**2 < high


@pytest.mark.slow
def test_the_optimal_tests_need_less_noise_than_the_papers() -> None:
    sds = {c: answer(calibration=c, target=900).noise_sd for c in ("gdp", "dp")}
    sds["paper"] = answer(calibration="paper").noise_sd
    assert sds["dp"] <= sds["gdp"] < sds["paper"] / 2
    assert answer(target=900).noise_sd < answer(target=60).noise_sd
    assert answer(share=0.99).noise_sd < answer(share=0.5).noise_sd


def test_numbers_that_the_user_has_computed_are_taken_as_they_are() -> None:
    called = answer()
    given = answer(estimate=MEAN, safety=spare(DATA))
    assert given.value == called.value
    several = answer(estimate=[1.0, 2.0, 3.0], safety=1e5)
    assert several.value.shape == (3,)
    assert several.size == 3


def test_a_vector_says_how_long_it_is_or_shows_it_on_public_data() -> None:
    def two(d: pd.DataFrame) -> list[float]:
        return [subgroup_mean(d), 0.0]

    for arguments in ({"size": 2}, {"public": PUBLIC}, {"no_reply": [0.0, 0.0]}):
        found = answer(estimate=two, **arguments)
        assert found.released
        assert found.value.shape == (2,)
        assert found.value[0] == pytest.approx(MEAN, abs=6 * found.noise_sd)
        assert len(found.tidy()) == 2
        assert np.asarray(found).shape == (2,)
    silent = answer(estimate=two)  # one number was expected: the estimate fails
    assert not silent.released


@pytest.mark.slow
def test_safer_data_may_be_promised_to_move_less() -> None:
    # k members to spare: at least ENOUGH + k - 1 of them, and each moves the mean by 1 / that
    flat = answer(target=400)
    profile = answer(target=400, alpha=lambda k: 1 / (ENOUGH + k - 1))
    assert profile.noise_sd < 0.6 * flat.noise_sd
    assert profile.released
    assert "alpha(k)" in profile.call
    mechanisms = profile.privacy.mechanisms
    assert mechanisms.sensitivity[0] == pytest.approx(1 / (ENOUGH + 399), rel=1e-4)


def test_unsafe_data_get_the_public_answer() -> None:
    few = DATA.assign(member=np.arange(len(DATA)) < 10)
    law = stats.norm(loc=7, scale=1e-9)
    expected: list[tuple[Any, Any]] = [(None, None), (0.25, 0.25), (law, 7), (lambda: 0.5, 0.5)]
    for given, value in expected:
        found = answer(few, no_reply=given)
        assert not found.released
        assert found.value == (value if value is None else pytest.approx(value, abs=1e-6))
        assert math.isnan(found.se())
        for text in (repr(found), str(found.summary())):
            assert "NO REPLY" in text
        if value is not None:
            assert "public answer" in repr(found)
            assert float(found) == pytest.approx(value, abs=1e-6)
    several = answer(few, estimate=lambda d: [1.0, 2.0], no_reply=[3.0, 4.0])
    assert several.value.tolist() == [3.0, 4.0]


@pytest.mark.slow
def test_the_law_of_replies_is_the_curve() -> None:
    # released with the probability of the plan; 300 coins, false alarm below 1e-6
    plan = dict(answer(calibration="paper").answers.rows)
    for probability in (0.05, 0.5, 0.95):
        level = plan[probability]
        assert level is not None
        exact = 1 / (1 + math.exp(-0.5 * (level - (1 + 2 * math.log(1e6)))))
        released = sum(
            answer(None, estimate=0.5, safety=float(level), calibration="paper", seed=s).released
            for s in range(300)
        )
        low, high = stats.binom.ppf([4e-7, 1 - 4e-7], 300, exact)
        assert low <= released <= high


def test_levels_of_neighbours_differ_by_one_and_are_positive_where_safety_is() -> None:
    assert [level_of(v) for v in (-1.0, 0.0, math.nan, 1e-300, 1.0, 1.5, 40.0)] == [
        0,
        0,
        0,
        1,
        1,
        2,
        40,
    ]
    assert level_of(math.inf) == level_of(1e300)
    rng = np.random.default_rng(0)
    for value in rng.exponential(1e3, 500):
        assert abs(level_of(value + 1) - level_of(value)) <= 1


@pytest.mark.parametrize("calibration", ["gdp", "dp", "paper"])
@pytest.mark.parametrize("budget", [(0.5, 1e-6), (2.0, 1e-3)])
def test_the_statement_is_the_one_that_was_asked_for(
    calibration: str, budget: tuple[float, float]
) -> None:
    epsilon, delta = budget
    found = answer(calibration=calibration, epsilon=epsilon, delta=delta)
    assert found.privacy.epsilon(delta) <= epsilon * (1 + 1e-9)
    assert found.privacy.delta(epsilon) <= delta * (1 + 1e-9)
    assert found.privacy.epsilon(delta) > 0.9 * epsilon
    table = found.privacy.mechanisms
    assert len(table) == 1
    assert table.noise_sd[0] == pytest.approx(found.noise_sd, rel=1e-5)
    if calibration == "gdp":
        assert found.privacy.slack == pytest.approx(delta / 10)
        assert table.mu[0] == pytest.approx(found.privacy.mu)
    else:
        assert math.isnan(found.privacy.mu)
        assert "for this release by itself" in str(found.summary())


# -- the user's functions ---------------------------------------------------------------------------


def _fails(d: Any) -> float:
    raise ValueError("secret 918273")


def _warns(d: Any) -> float:
    warnings.warn("secret 918273", stacklevel=1)
    return 0.5


BAD = {
    "raises": _fails,
    "nan": lambda d: math.nan,
    "inf": lambda d: math.inf,
    "text": lambda d: "secret 918273",
    "none": lambda d: None,
    "two numbers": lambda d: [1.0, 2.0],
    "no number": lambda d: [],
    "divides by zero": lambda d: np.array(1.0) / 0,
    "exits": lambda d: 1 / 0,
}


@pytest.mark.parametrize("which", ["estimate", "safety"])
@pytest.mark.parametrize("how", BAD)
def test_functions_that_fail_on_private_data_say_no_reply_and_nothing_else(
    which: str, how: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = answer(**{which: BAD[how]})
    assert not found.released
    assert found.value is None
    assert found.noise_sd == answer().noise_sd
    printed = capsys.readouterr()
    for text in (repr(found), str(found.summary()), printed.out, printed.err):
        assert "918273" not in text
    assert found.glance().dtypes.equals(answer().glance().dtypes)


def test_warnings_of_the_users_functions_are_not_shown() -> None:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = answer(estimate=_warns)
    assert found.released
    assert said == []


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e308])
def test_odd_cells_neither_raise_nor_change_the_shape(value: float) -> None:
    for column in (DATA.y.where(DATA.index != 3, value), value):
        found = answer(DATA.assign(y=column))
        assert found.released
        assert np.isfinite(found.value)
    rows = DATA.iloc[[0] * len(DATA)]
    assert np.isfinite(float(answer(rows, no_reply=0.5)))


def test_mistakes_show_on_public_data_before_private_ones_are_touched() -> None:
    def untouched(d: Any) -> float:
        assert d is PUBLIC
        return -1.0

    with pytest.raises(ArgumentError, match=r"safety\(public\)"):
        answer(_Unreadable(), public=PUBLIC, safety=untouched)
    with pytest.raises(ArgumentError, match=r"estimate\(public\)"):
        answer(_Unreadable(), public=PUBLIC, estimate=BAD["nan"])
    with pytest.raises(ArgumentError, match="not size=3"):
        answer(_Unreadable(), public=PUBLIC, size=3)


# -- the result -------------------------------------------------------------------------------------


def test_tables_and_pages() -> None:
    found = answer(target=500)
    assert list(found.tidy().columns) == ["estimate", "noise_sd"]
    assert found.tidy().estimate[0] == found.value == float(found)
    assert found.se() == found.noise_sd
    assert found.nobs == len(DATA)
    assert found.glance().released[0]
    assert len(found.glance()) == 1
    assert "(II)" in " ".join(found.bounds().statement)
    assert found.bounds().value[2] == pytest.approx(found.noise_sd**2)
    assert found.diagnostics().loc["answered", "value"] == 1
    page = found.summary()
    for text in (str(page), page.to_html(), page.to_markdown(), page.to_latex(), page.to_csv()):
        assert "nan" not in text.lower().replace("finance", "")
    assert "Probability of an answer" in str(page)
    assert "with confidence 0.95, safety:" in str(page)
    assert "<table" in found._repr_html_()
    assert "target = 500" in found.call


def test_row_order_is_the_users_functions_affair_alone() -> None:
    shuffled = DATA.sample(frac=1, random_state=0)
    # their sums differ in the last bits; the lattice hides them all but for a boundary
    assert answer(shuffled).value == pytest.approx(answer().value, abs=1e-9)


def test_a_large_delta_is_noted() -> None:
    assert "not below 1/n" in " ".join(answer(delta=0.01).notes)
    assert answer().notes == ()


def test_private_data_are_no_public_sample() -> None:
    with pytest.raises(ArgumentError, match="the private data itself"):
        answer(public=DATA)


# means of no rows, in pandas and polars, and an eigenvalue of a matrix that is no longer symmetric
_MISSING = [pd.NA, pd.NaT, None, 0.5 + 0.1j, np.array([0.5 + 0.1j]), np.complex128(1 + 2j)]
_MISSING += [np.datetime64("NaT"), np.timedelta64(5, "s"), pd.Timestamp(0), [np.ma.masked]]


@pytest.mark.parametrize("arguments", [{"safety": v} for v in (math.nan, math.inf, -1.0, pd.NA)])
@pytest.mark.parametrize("estimate", [math.nan, -math.inf, 0.5, 2**64, 10**400, *_MISSING])
def test_private_numbers_are_not_refused_for_what_they_are(
    arguments: dict[str, float], estimate: float
) -> None:
    found = answer(estimate=estimate, **arguments)
    assert not found.released
    assert found.noise_sd == plain_answer().noise_sd


@pytest.mark.parametrize("large", [2**63, 2**64, 10**400])
@pytest.mark.parametrize("other", [1.5, np.int64(3), np.float32(2), True])
def test_numbers_beside_a_large_one_are_judged_by_their_own_types(large: int, other: Any) -> None:
    assert answer(estimate=[large, other]).size == 2


def test_what_functions_do_to_the_data_is_undone() -> None:
    def greedy(d: pd.DataFrame) -> float:
        d["y"] = 0.0
        return subgroup_mean(d)

    before = DATA.copy()
    answer(estimate=greedy)
    assert DATA.equals(before)


# -- what it refuses --------------------------------------------------------------------------------


class _Unreadable:
    """Stands where data are given and fails when anything looks at it."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError("private data were read")

    def __len__(self) -> int:
        raise AssertionError("private data were read")


REFUSED: list[Any] = [
    ({"epsilon": 500}, "protects nobody"),
    ({"alpha": 0}, "alpha must be"),
    ({"alpha": -1}, "alpha must be"),
    ({"alpha": math.nan}, "alpha must be"),
    ({"alpha": "a"}, "alpha must be"),
    ({"alpha": lambda k: k}, "must not increase"),
    ({"alpha": lambda k: -1.0}, r"alpha\(1\)"),
    ({"alpha": lambda k: "a"}, r"alpha\(1\)"),
    ({"alpha": lambda k: 1 / k, "calibration": "paper"}, "one alpha"),
    ({"estimate": "a"}, "estimate must be"),
    ({"estimate": []}, "estimate"),
    ({"safety": "a"}, "safety must be"),
    ({"safety": [1, 2]}, "safety must be one number"),
    ({"size": 0}, "size must be"),
    ({"size": 1.5}, "size must be"),
    ({"size": True}, "size must be"),
    ({"size": 2, "estimate": 3.0}, "not size=2"),
    ({"target": 0}, "target"),
    ({"target": 0.5}, "1 or more"),
    ({"target": math.nan}, "target"),
    ({"target": "a"}, "target"),
    ({"target": 2}, r"smallest that works is \d+. A level is one unit of safety"),
    ({"beta": 0}, "beta must be"),
    ({"beta": 1}, "beta must lie"),
    ({"share": 0}, "share must be"),
    ({"share": 1}, "share must lie"),
    ({"calibration": "paper", "epsilon": 3}, "proved for epsilon <= 2 only"),
    (
        {"calibration": "paper", "epsilon": 20, "delta": 0.01, "allow_unproved": True},
        "claim is false",
    ),
    ({"no_reply": "abc"}, "no_reply must be"),
    ({"no_reply": math.nan}, "no_reply must hold finite"),
    ({"no_reply": [1.0, 2.0], "estimate": 3.0}, "no_reply has 2"),
    ({"no_reply": [1.0, 2.0], "size": 3}, "no_reply has 2"),
    ({"no_reply": lambda: [1.0, 2.0]}, "no_reply has 2"),
    ({"no_reply": lambda: None}, "no_reply"),
    ({"no_reply": math.nan, "estimate": 3.0}, "no_reply"),
    ({"no_reply": "abc", "size": 1}, "no_reply"),
    pytest.param({"calibration": ["gdp"]}, "calibration"),
]


@pytest.mark.parametrize(("arguments", "said"), REFUSED)
def test_bad_input_is_refused_before_private_data_are_read(
    arguments: dict[str, Any], said: str
) -> None:
    def read(d: Any) -> float:
        raise AssertionError("private data were read")

    with pytest.raises(DPStatsError, match=said):
        answer(_Unreadable(), **{"estimate": read, "safety": read} | arguments)


def test_a_path_is_not_taken_for_data() -> None:
    with pytest.raises(ArgumentError, match="read the file first"):
        answer("rows.parquet", estimate=len, safety=len)


def test_data_of_no_row_are_no_accident() -> None:
    assert not answer([], estimate=len, safety=len).released


def test_rows_that_cannot_be_counted_are_not_minus_one() -> None:
    found = answer(None, estimate=0.5, safety=100.0)
    assert found.glance().nobs[0] != -1


def test_the_level_that_is_named_works() -> None:
    with pytest.raises(PrivacyError) as caught:
        answer(target=3)
    works = int(str(caught.value).split("works is ")[1].split(".")[0])
    assert answer(target=works).noise_sd > 0
    with pytest.raises(PrivacyError):
        answer(target=works - 1)


def test_the_papers_calibration_goes_on_where_its_claim_is_true() -> None:
    found = answer(calibration="paper", epsilon=4, delta=0.01, allow_unproved=True)
    assert found.released
    assert found.privacy.epsilon(0.01) == pytest.approx(4)


# -- check_safety -----------------------------------------------------------------------------------

CHECKED = 60


def _mean(y: np.ndarray) -> float:
    return float(np.clip(y, 0, 1).mean())


def _count(y: np.ndarray) -> int:
    return int((y > 0.5).sum())


def _trimmed(y: np.ndarray) -> float:
    inner = np.sort(np.clip(y, 0, 1))[10:-10]
    return float(inner.mean())


def _median(y: np.ndarray) -> float:
    return float(np.median(np.clip(y, 0, 1)))


def _ratio(y: np.ndarray) -> float:
    return float(np.clip(y, 0, 1).sum() / max(_count(y), 1))


Y = np.random.default_rng(3).random(CHECKED)
ODD = np.array([-5.0, 0.0, 1.0, 5.0, 1e9])
RIGHT: dict[str, tuple[Any, Any, Any]] = {
    "mean": (_mean, lambda y: 5.0, 1 / CHECKED),
    # sum / count with 20 or more counted: |a/b - a'/b'| <= 1/b + a' / (b b') <= (1 + n/20) / 20
    "ratio": (_ratio, lambda y: max(_count(y) - 19, 0), (1 + CHECKED / 20) / 20),
    "trimmed mean": (_trimmed, lambda y: 1.0, 1 / (CHECKED - 20)),
    "median": (_median, lambda y: 1.0, 1.0),
    "profile": (
        _ratio,
        lambda y: max(_count(y) - 19, 0),
        lambda k: (1 + CHECKED / (19 + k)) / (19 + k),
    ),
}
WRONG: dict[str, tuple[Any, Any, Any]] = {
    "safety twice too steep": (_mean, lambda y: 2.0 * _count(y), 1 / CHECKED),
    "safety jumps": (_mean, lambda y: 10.0 * (y[0] > 0.5), 1 / CHECKED),
    "alpha half of it": (_mean, lambda y: 5.0, 0.5 / CHECKED),
    "rows that were not cut": (lambda y: float(np.mean(y)), lambda y: 5.0, 1 / CHECKED),
    "a median is not a mean": (_median, lambda y: 5.0, 1 / CHECKED),
    "ratio, its sum forgotten": (_ratio, lambda y: max(_count(y) - 19, 0), 1 / 20),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_promise_passes(name: str) -> None:
    estimate, safety, alpha = RIGHT[name]
    found = check_safety(estimate, safety, alpha, Y, rows=ODD, trials=600)
    assert found.passed
    assert found.pairs == 600
    assert found.steepest <= 1
    assert found.largest_move <= 1 + 1e-9
    assert "not a proof" in repr(found)


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_promise_is_found(name: str) -> None:
    estimate, safety, alpha = WRONG[name]
    found = check_safety(estimate, safety, alpha, Y, rows=ODD, trials=600)
    assert not found.passed
    assert max(found.steepest, found.largest_move) > 1
    assert "no privacy" in repr(found)
    assert list(found.violations.columns) == [
        "step",
        "row",
        "safety_before",
        "safety_after",
        "move_over_alpha",
    ]


@pytest.mark.slow
def test_a_table_is_walked_row_by_row() -> None:
    odd = pd.DataFrame({"member": [True, False], "y": [np.nan, 1e9]})
    public, arguments = make(800, 4), {"rows": odd, "trials": 300}
    right = check_safety(subgroup_mean, spare, 1 / ENOUGH, public, **arguments)
    assert right.passed
    assert right.safe_pairs > 0
    wrong = check_safety(subgroup_mean, lambda d: 2 * spare(d), 1 / ENOUGH, public, **arguments)
    assert not wrong.passed
    again = check_safety(subgroup_mean, lambda d: 2 * spare(d), 1 / ENOUGH, public, **arguments)
    assert again.violations.equals(wrong.violations)


def test_a_check_needs_functions_and_rows() -> None:
    with pytest.raises(ArgumentError, match="estimate must be a function"):
        check_safety(3.0, spare, 1.0, PUBLIC)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="two public rows"):
        check_safety(_mean, _mean, 1.0, [0.5])
    with pytest.raises(ArgumentError, match="alpha"):
        check_safety(_mean, _mean, -1.0, Y)
    with pytest.raises(ArgumentError, match="safety"):
        check_safety(_mean, lambda y: -1.0, 1.0, Y)
