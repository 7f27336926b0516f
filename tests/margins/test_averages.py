"""Averages over private rows: what they are without noise, how far a row moves them, what they say."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import stats

import dpstats.call
from dpstats import Budget, BudgetExceeded, dp_feols, dp_glm, dp_lm, public_moments
from dpstats.audit.registry import CLAIMS
from dpstats.errors import ArgumentError, DPStatsError, PrivacyError, SchemaError
from dpstats.frame import PublicMoments
from dpstats.margins.averages import PrivateMargins
from dpstats.margins.verbs import MarginalModel
from dpstats.mechanism.noise import Noise
from tests.audits.changes import changes
from tests.audits.verdict import judge
from tests.audits.watched import Watched
from tests.conftest import SECRETS, Silent
from tests.contracts.held import held_rows

_N = 2000


def _table(n: int = _N, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"x": rng.normal(size=n) + 0.5, "z": rng.exponential(size=n)})
    table["g"] = rng.choice(list("abc"), n)
    table["k"] = rng.choice([1.0, 2.0, 3.0], n)
    eta = table.x - 0.5 * table.z + 0.5 * (table.g == "b")
    table["y"] = eta + 0.3 * table.x * table.z + rng.normal(size=n)
    table["b"] = (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(float)
    table["c"] = rng.poisson(np.exp(0.5 * eta)).astype(float)
    return table


TABLE = _table()
_NOISELESS: dict[str, Any] = {"rho": 1e12, "seed": 1}
_FITS: dict[str, Callable[[], MarginalModel]] = {
    "linear": lambda: dp_lm("y ~ x * z + g", TABLE, TABLE, mu=2, seed=1),
    "logit": lambda: dp_glm("b ~ x + z + g", TABLE, TABLE, mu=2, seed=1),
    "logit of curves": lambda: dp_glm(
        "b ~ poly(x, 2) * g + log(z + 1)", TABLE, TABLE, mu=2, seed=1
    ),
    "probit": lambda: dp_glm("b ~ x + C(k)", TABLE, TABLE, family="binomial(probit)", mu=2, seed=1),
    "counts": lambda: dp_glm("c ~ x + z + g", TABLE, TABLE, family="poisson", mu=2, seed=1),
}


@cache
def _fit(name: str) -> MarginalModel:
    return _FITS[name]()


_VERBS = ("predictions", "slopes", "comparisons")
every_fit = pytest.mark.parametrize("name", _FITS)
every_verb = pytest.mark.parametrize("verb", _VERBS)


def _free(fit: MarginalModel, verb: str, rows: pd.DataFrame, by: bool = True) -> pd.DataFrame:
    return getattr(fit, verb)(rows, by=by).frame


def _private(fit: MarginalModel, verb: str, rows: Any, **how: Any) -> PrivateMargins:
    return getattr(fit, verb)(data=rows, **how)


@every_fit
@every_verb
def test_without_noise_they_are_the_averages_of_rows_that_may_be_shown(
    name: str, verb: str
) -> None:
    """Errors are those of the coefficients and of the sampling of the rows."""
    fit = _fit(name)
    found = _private(fit, verb, TABLE, **_NOISELESS).frame
    expected = _free(fit, verb, TABLE)
    each = _free(fit, verb, TABLE, by=False)
    if verb != "predictions":
        at = [*zip(found.term, found.contrast, strict=True)]
        expected = expected.set_index(["term", "contrast"]).loc[at].reset_index()
        spread = each.groupby(["term", "contrast"]).estimate.var().loc[at].to_numpy()
    else:
        spread = np.array([each.estimate.var()])
    error = np.sqrt(expected.std_error.to_numpy() ** 2 + spread / len(TABLE))
    off = (found.estimate - expected.estimate) / error
    # without noise nothing is cut but the last rows, and gradients are cut at three quantiles
    assert np.abs(off).max() < 0.02
    assert found.std_error.to_numpy() == pytest.approx(error, rel=0.03)


def test_columns_of_other_units_have_errors_of_their_own() -> None:
    """One length for the gradients of all lines made the error of a column of large numbers 10^7 times
    too long. Without privacy it is 1 here."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.integers(18, 80, 8000), "gdp": rng.normal(3e10, 1e10, 8000)})
    odds = 0.03 * table.age + 2e-10 * table.gdp - 7.5 + rng.normal(size=8000)
    fit = dp_glm("b ~ age + gdp", table.assign(b=1.0 * (odds > 0)), mu=1, seed=1)
    free, found = fit.slopes(table).frame, fit.slopes(data=table, mu=1, seed=1).frame
    assert (found.std_error / free.std_error).max() < 4
    assert np.abs((found.estimate - free.estimate) / found.std_error).max() < 4


@pytest.mark.slow
def test_the_noise_is_what_is_stated() -> None:
    """Of 300 seeds; the chance of a false alarm is 1e-7."""
    fit, runs = _fit("logit"), 300
    table = TABLE.assign(x=np.where(np.arange(_N) % 4 == 0, math.nan, TABLE.x))
    exact = _free(fit, "slopes", table, by=True).estimate.to_numpy()
    off = []
    for seed in range(runs):
        found = _private(fit, "slopes", table, mu=0.5, seed=seed)
        lines = found.diagnostics().filter(like="noise of", axis=0).value.to_numpy()
        off.append((found.frame.estimate.to_numpy() - exact) / lines)
    square = float((np.array(off) ** 2).sum())
    low, high = stats.chi2.ppf([5e-8, 1 - 5e-8], runs * len(exact))
    assert low < square < high


@pytest.mark.slow
def test_intervals_cover_where_tails_are_long() -> None:
    """The mean of a response whose predictor is skewed; 27 of 40 or fewer at a chance of 4e-8.

    The predictions of a right model have the mean of the response.
    """
    rng, inside, runs = np.random.default_rng(7), 0, 40
    truth = 1 + 0.5 * math.exp(0.405)
    for seed in range(runs):
        x = rng.lognormal(0, 0.9, 2000)
        table = pd.DataFrame({"x": x, "y": 1 + 0.5 * x + rng.normal(size=2000)})
        fit = dp_lm("y ~ x", table, table.head(150), mu=1, seed=seed)
        line = _private(fit, "predictions", table, mu=0.5, seed=seed).frame.iloc[0]
        inside += line.conf_low < truth < line.conf_high
    assert inside >= 28


@pytest.mark.parametrize(("spread", "said"), [(0.2, False), (1.5, True)])
def test_a_note_says_that_cutting_may_have_moved_an_average(spread: float, said: bool) -> None:
    """Of means of counts that are alike it is silent, of those whose few are most of the sum not."""
    rng = np.random.default_rng(2)
    table = pd.DataFrame({"x": rng.normal(size=4000)})
    table["y"] = 1.0 * rng.poisson(np.exp(0.5 + spread * table.x))
    fit = dp_glm("y ~ x", table, table.head(300), mu=2, seed=1, family="poisson")
    for seed in range(4):
        found = _private(fit, "predictions", table, mu=0.5, seed=seed)
        assert any("may have moved an average" in note for note in found.notes) == said


# -- one row ----------------------------------------------------------------------------------------

_ROWS = 160
_PAIRS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "far": ({"x": 1e9, "z": 0.0, "g": "b"}, {"x": -1e9, "z": 0.0, "g": "b"}),
    "middle and far": ({"x": 0.0, "z": 0.0, "g": "a"}, {"x": 1e3, "z": 0.0, "g": "a"}),
    "both ends": ({"x": 1e3, "z": 1e3, "g": "a"}, {"x": -1e3, "z": 1e3, "g": "c"}),
    "missing": ({"x": math.nan, "z": 0.0, "g": "b"}, {"x": -0.4, "z": 0.8, "g": "b"}),
    "level": ({"x": 0.2, "z": 0.1, "g": "unknown"}, {"x": 1e2, "z": 0.1, "g": "b"}),
    "huge": ({"x": 1e300, "z": 1e300, "g": "b"}, {"x": -1e300, "z": 1e300, "g": "b"}),
    "near": ({"x": 6.0, "z": -1.0, "g": "b"}, {"x": -6.0, "z": 9.0, "g": "a"}),
}


def _watched(fit: MarginalModel, verb: str, pair: str, mu: float = 4.0) -> Watched:
    rest = _table(_ROWS - 1, 3)[["x", "z", "g", "k"]]
    tables = tuple(
        pd.concat([rest, pd.DataFrame([{"k": 1.0, **row}])], ignore_index=True)
        for row in _PAIRS[pair]
    )

    def call(data: pd.DataFrame, seed: int) -> Any:
        return _private(fit, verb, data, mu=mu, seed=seed)

    return Watched("averages", call, (tables[0], tables[1]))


@every_fit
@every_verb
def test_no_total_moves_farther_than_is_claimed(name: str, verb: str) -> None:
    most: dict[str, float] = {}
    claimed = {claim.release for claim in CLAIMS["averages of a fit"]}
    for pair in _PAIRS:
        found = changes(_watched(_fit(name), verb, pair))
        for change in found:
            assert change.moved <= change.claim * (1 + 1e-9), (pair, change)
            assert change.what in claimed
            assert change.noise >= change.claim * (1 - 1e-9)
            most[change.what] = max(most.get(change.what, 0.0), change.part)
        assert sum(change.given["privacy"].mu ** 2 for change in found) <= 16 * (1 + 1e-9)
    if verb == "predictions" and name in ("linear", "logit", "probit"):
        # one line, and pairs at which what is claimed is all that a row can do
        assert most["sums of values"] > 0.95
        assert most["sums of gradients"] > 0.95 or name != "linear"
        assert most["sums of squared values"] > 0.95
        assert most["numbers of used and of cut rows"] >= 0.7
        assert most["lengths of gradients and values"] >= 0.7


@pytest.mark.parametrize("name", ["logit", "counts"])
def test_no_pair_refutes_the_claim_but_with_less_noise_it_does(name: str) -> None:
    """By exact likelihood ratios of all that is released; a false alarm has a chance of 1e-8."""
    case = _watched(_fit(name), "predictions", "far", mu=1.0)
    assert not judge(case.ratios(150, 1), case.total, 1e-8).refuted
    if name == "logit":
        assert judge(case.ratios(300, 2, 0.3), case.total, 1e-8).refuted


def test_a_logits_slope_moves_by_a_quarter_of_its_coefficient() -> None:
    """From a row in the middle to one far out: all that is claimed for one slope."""
    fit = _fit("logit")
    (half,) = {
        round(c.given["unit"], 20): c
        for c in changes(_watched(fit, "slopes", "middle and far"))
        if c.what == "sums of values"
    }.values()
    middle = {"x": -float(fit.coef()["Intercept"] / fit.coef()["x"]), "z": 0.0, "g": "a"}
    far = {"x": 1e3, "z": 0.0, "g": "a"}
    both = [float(_free(fit, "slopes", pd.DataFrame([row])).estimate[0]) for row in (middle, far)]
    assert both[0] - both[1] == pytest.approx(fit.coef()["x"] / 4, rel=1e-6)
    assert half.moved <= half.claim


# -- what is said -----------------------------------------------------------------------------------


@every_verb
def test_bad_rows_are_silent_and_count_nowhere(verb: str, silent: Silent) -> None:
    table = TABLE.copy()
    table["g"] = table.g.astype(object)
    for k, value in enumerate((*SECRETS, math.nan, math.inf, -math.inf)):
        table.loc[k, "x"] = value
    table.loc[30, "g"], table.loc[31, "g"] = "secretlevel-918273", None
    found = silent(lambda: _private(_fit("counts"), verb, table, mu=1, seed=1))
    pages = f"{found}{found.summary()}{found._repr_html_()}{found.to_markdown()}"
    assert "918273" not in pages + str(found.frame) + str(found.diagnostics())
    clean = _private(_fit("counts"), verb, TABLE, mu=1, seed=1)
    assert np.allclose(found.frame.estimate, clean.frame.estimate, rtol=0.5, atol=0.2)


def test_a_result_holds_no_rows_and_says_what_it_cost() -> None:
    found = _private(_fit("logit"), "slopes", TABLE, mu=0.75, seed=1)
    assert held_rows(found, len(TABLE)) == []
    again = pickle.loads(pickle.dumps(found))
    assert str(again) == str(found)
    assert found.privacy.mu == 0.75
    assert found.nobs == len(TABLE)
    assert f"the two together have cost mu = {math.hypot(2, 0.75):.4g}" in " ".join(
        str(found).split()
    )
    assert "seeded: not for release" in str(found)
    assert found.glance().mu[0] == 0.75
    assert list(found.tidy().term) == ["x", "z", "g", "g"]


def test_the_slack_of_a_fit_is_in_what_it_and_its_averages_cost() -> None:
    fit = dp_lm("y ~ x + g", TABLE, epsilon=3, delta=1e-5, seed=1)  # levels are released
    found = " ".join(str(_private(fit, "predictions", TABLE, mu=0.2, seed=1)).split())
    both = math.hypot(fit.privacy.mu, 0.2)
    assert fit.privacy.slack > 0
    assert f"cost mu = {both:.4g} up to delta0 = {fit.privacy.slack:.3g}." in found


def test_they_are_charged_before_a_row_is_read() -> None:
    fit, budget = _fit("logit"), Budget(mu=1)
    _private(fit, "slopes", TABLE, mu=0.8, budget=budget, seed=1)
    assert budget.spent.mu == pytest.approx(0.8)
    with pytest.raises(BudgetExceeded):
        _private(fit, "predictions", TABLE, mu=0.8, budget=budget)
    with budget:
        _private(fit, "predictions", TABLE, mu=0.5, seed=1)
    assert budget.spent.mu == pytest.approx(math.hypot(0.8, 0.5))
    assert "slopes(" in str(budget.table())


def test_blocks_and_workers_give_the_same_bits() -> None:
    fit, one = _fit("counts"), {"mu": 1.0, "seed": 3}
    whole = _private(fit, "slopes", TABLE, **one).frame
    parts = [TABLE.iloc[:701], TABLE.iloc[701:]]
    assert _private(fit, "slopes", parts, **one).frame.equals(whole)
    with ProcessPoolExecutor(2) as pool:
        assert _private(fit, "slopes", parts, executor=pool, **one).frame.equals(whole)


def test_persons_count_with_so_many_rows() -> None:
    table = TABLE.assign(who=np.repeat(np.arange(_N // 4), 4).astype(str))
    alone = _private(_fit("logit"), "slopes", table, mu=1, seed=1)
    three = _private(_fit("logit"), "slopes", table, mu=1, seed=1, person="who", rows_per_person=3)
    assert "person" in three.privacy.unit
    both = [f.diagnostics().value["noise of line 1"] for f in (alone, three)]
    assert both[1] / both[0] == pytest.approx(
        4, rel=0.2
    )  # 3 rows in noise, 3/4 of them in the mean
    fit = dp_glm("b ~ x + z", table, table, mu=2, person="who", seed=1)
    with pytest.raises(ArgumentError, match="rows_per_person="):
        _private(fit, "slopes", table, mu=1)
    assert _private(fit, "slopes", table, mu=1, rows_per_person=4, seed=1).privacy.mu == 1


def test_averages_of_persons_who_have_several_rows_vary_as_persons_do() -> None:
    persons = TABLE.head(500).assign(who=np.arange(500))
    table = pd.concat([persons] * 8, ignore_index=True)
    fit = dp_lm("y ~ x", table, TABLE, mu=50, person="who", seed=1)
    eight = fit.predictions(data=table, mu=50, person="who", rows_per_person=8, seed=1)
    once = dp_lm("y ~ x", persons, TABLE, mu=50, seed=1).predictions(data=persons, mu=50, seed=1)
    assert float(eight.frame.std_error[0] / once.frame.std_error[0]) == pytest.approx(1, rel=0.1)
    assert "take the 8 rows of a person to be alike" in " ".join(eight.notes)
    assert "alike" not in " ".join(once.notes)


def test_rows_after_the_first_are_named_as_rows_that_are_not_used() -> None:
    table = TABLE.assign(who=np.repeat(np.arange(_N // 4), 4))
    first = _private(_fit("logit"), "slopes", table, mu=1, seed=1, person="who", rows_per_person=1)
    said = " ".join(first.notes)
    assert "not used: rows after the first of each `who`, missing values" in said
    assert "Estimates are those of first rows" in said


@pytest.mark.parametrize("rows", [None, 1, 3])
def test_costs_are_not_added_up_where_the_fit_hides_how_many_rows_there_are(
    rows: int | None,
) -> None:
    table = TABLE.assign(who=np.repeat(np.arange(_N // 4), 4).astype(str))
    unit: dict[str, Any] = {"person": "who", "rows_per_person": rows, "seed": 1}
    summed = dp_glm("b ~ x + z", table, table, mu=2, **unit)
    unit["rows_per_person"] = rows or 4
    found = _private(summed, "slopes", table, mu=1, **unit)
    assert found.n > summed.n
    note = " ".join(found.notes)
    assert "the number of rows is public as well. The two costs do not simply add up." in note
    assert "together" not in note
    first_rows = dp_lm("y ~ x * z", table, table, mu=2, method="pmt", **unit)
    note = " ".join(_private(first_rows, "slopes", table, mu=1, **unit).notes)
    assert f"the two together have cost mu = {5**0.5:.4g}" in note


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda f: f("logit").slopes(TABLE, mu=1), ArgumentError, r"given as data="),
        (lambda f: f("logit").slopes(mu=1), ArgumentError, r"given as data="),
        (lambda f: f("logit").slopes(TABLE, data=TABLE, mu=1), ArgumentError, "data="),
        (lambda f: f("logit").slopes(data=TABLE), PrivacyError, "mu=1"),
        (lambda f: f("logit").slopes(data=TABLE, mu=1, by="g"), ArgumentError, "over all of them"),
        (lambda f: f("logit").slopes(data=TABLE, mu=1, variables="w"), ArgumentError, "`w`"),
        (
            lambda f: f("logit").slopes(data=TABLE, mu=1, mode="x"),
            ArgumentError,
            "no argument mode",
        ),
        (lambda f: f("logit").slopes(data=TABLE[["x", "g"]], mu=1), SchemaError, "`z`"),
        (lambda f: f("logit").slopes(data=TABLE, mu=0.01), ArgumentError, "too few"),
        (
            lambda f: f("linear").slopes(data=TABLE, variables="g", mu=1),
            ArgumentError,
            "the same in",
        ),
        (lambda f: f("logit").slopes(), ArgumentError, r"slopes\(data=private, mu=0.5\)"),
    ],
)
def test_what_is_refused_says_what_to_type(
    call: Callable[[Any], Any], error: type[DPStatsError], says: str
) -> None:
    with pytest.raises(error, match=says):
        call(_fit)


def test_without_the_response_and_without_effects() -> None:
    rows = TABLE[["x", "z", "g"]]
    found = _private(_fit("logit"), "predictions", rows, mu=1, seed=1).frame
    assert 0.3 < found.estimate[0] < 0.9
    panel = TABLE.assign(who=np.repeat(np.arange(_N // 4), 4).astype(str))
    fit = dp_feols("y ~ x | who", panel, panel.head(400), mu=2, person="who", seed=1)
    with pytest.raises(ArgumentError, match="dp_lm and dp_glm"):
        fit.predictions(data=panel, mu=1)


@pytest.mark.parametrize("what", ["slopes", "comparisons"])
def test_nothing_changes_with_a_constant(what: str) -> None:
    rows = TABLE
    fit = dp_lm("y ~ 1", rows, public=rows[:100], mu=1, seed=1)
    for given in ({"newdata": rows[:5]}, {"data": rows, "mu": 1.0}):
        with pytest.raises(ArgumentError, match=r"no column .* predictions\(newdata\)"):
            getattr(fit, what)(**given)
    assert len(fit.predictions(rows[:5]).frame) == 5


def test_no_slope_where_a_number_enters_by_steps() -> None:
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"x": rng.normal(size=2000), "age": rng.integers(18, 80, 2000)})
    rows["y"] = rows.x + (rows.age > 40) + rng.normal(size=2000)
    for step in (
        "I(age > 40)",
        "cut(age, c(0, 40, 90))",
        "round(age, -1)",
        "ifelse(age > 40, x, 0)",
    ):
        fit = dp_lm(f"y ~ {step} + x", rows, public=rows[:300], mu=1, seed=1)
        for given in ({"newdata": rows[:50]}, {"data": rows, "mu": 1, "seed": 1}):
            with pytest.raises(ArgumentError, match="`age` enters in steps"):
                fit.slopes(variables="age", **given)
        assert np.isfinite(fit.comparisons(rows[:50], "age").frame.estimate).all()


@pytest.mark.parametrize("formula", ["y ~ I(age > 40) + x", "y ~ I(age * rare) + x"])
def test_no_average_where_most_rows_have_the_same_value(formula: str) -> None:
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"x": rng.normal(size=2000), "age": rng.integers(18, 80, 2000)})
    rows["rare"] = (rng.random(2000) < 0.04) * 1.0
    rows["y"] = rows.x + rows.age * rows.rare / 50 + rng.normal(size=2000)
    fit = dp_lm(formula, rows, public=rows[:300], mu=1, seed=1)
    found = fit.comparisons(data=rows, variables="age", mu=1, seed=1)
    assert found.frame[["estimate", "std_error", "conf_low"]].isna().all(axis=None)
    assert any("most rows have the same value" in note for note in found.notes)


def test_a_number_that_is_zero_or_one_goes_from_zero_to_one() -> None:
    """As a truth value does; one more than one would be no treatment that anybody has."""
    numbers = TABLE.assign(t=(TABLE.z > 0.4).astype(int))
    truths = numbers.assign(t=numbers.t == 1)
    found = []
    for rows, public in ((numbers, numbers), (truths, truths), (numbers, None)):
        how: dict[str, Any] = {"limits": {"t": (0, 1), "x": (-4, 5)}} if public is None else {}
        fit = dp_glm("b ~ x * t", rows, public, mu=1e3, seed=1, **how)
        shown = fit.comparisons(rows, "t").frame
        averaged = fit.comparisons(data=rows, variables="t", **_NOISELESS).frame
        assert averaged.estimate[0] == pytest.approx(shown.estimate[0], rel=1e-5)
        found.append((shown.contrast[0], shown.estimate[0]))
        assert averaged.contrast[0] == shown.contrast[0]
    assert [contrast for contrast, _ in found] == ["1 - 0", "True - False", "1 - 0"]
    assert [value for _, value in found] == pytest.approx([found[0][1]] * 3, rel=1e-3)
    moments = PublicMoments.from_json(public_moments("~ x * t", numbers).to_json())
    assert moments.design.columns["t"].mark
    assert not moments.design.columns["x"].mark


@pytest.mark.parametrize(
    ("name", "asked", "contrasts"),
    [
        ("logit", {"x": 0.5, "z": (1, 2.5)}, ["+0.5", "2.5 - 1"]),
        ("logit", {"x": None, "g": ("b", "a")}, ["+1", "a - b"]),
        ("counts", {"g": "pairwise", "x": -1}, ["b - a", "c - a", "c - b", "-1"]),
        ("probit", {"k": "sequential"}, ["2 - 1", "3 - 2"]),
        ("linear", {"z": [0, 3]}, ["3 - 0"]),
        ("logit of curves", {"z": (1, 0.5), "g": "reference"}, ["0.5 - 1", "b - a", "c - a"]),
    ],
)
def test_other_comparisons_are_asked_for_by_name(
    name: str, asked: dict[str, Any], contrasts: list[str]
) -> None:
    fit = _fit(name)
    free = fit.comparisons(TABLE, asked).frame
    found = _private(fit, "comparisons", TABLE, variables=asked, **_NOISELESS)
    assert list(free.contrast) == list(found.frame.contrast) == contrasts
    assert found.frame.estimate.to_numpy() == pytest.approx(free.estimate.to_numpy(), rel=2e-3)
    assert found.frame.std_error.min() > 0
    assert f'variables = {{"{next(iter(asked))}": ' in found.call
    for (term, contrast), estimate in free.set_index(["term", "contrast"]).estimate.items():
        if contrast in ("3 - 0", "2.5 - 1", "0.5 - 1"):
            high, low = (float(part) for part in contrast.split(" - "))
            ends = (
                fit.predictions(TABLE.assign(z=z), by=True).frame.estimate[0] for z in (high, low)
            )
            assert term == "z"
            assert estimate == pytest.approx(next(ends) - next(ends), rel=1e-9)


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"x": 0}, "raises it by ten"),
        ({"x": (1, 1)}, "from 20 to 30"),
        ({"x": (1, math.inf)}, "from 20 to 30"),
        ({"x": TABLE.x}, "not a Series"),
        ({"g": 10}, r"\('a', 'c'\)} compares the second"),
        ({"g": ("a", "d")}, "the levels 'a', 'b', 'c'"),
        ({"g": ("a", "a")}, "'pairwise'"),
        ({"w": 10}, "no column `w`"),
        ({}, "names no column"),
        ({"x": (-1e308, 1e308)}, "from 20 to 30"),
        ({"g": [TABLE.x, TABLE.x]}, "compares the second"),
    ],
)
def test_comparisons_that_cannot_be_made_say_what_can(how: Any, says: str) -> None:
    for given in ({"newdata": TABLE[:9]}, {"data": TABLE, "mu": 1}):
        with pytest.raises(ArgumentError, match=says):
            _fit("logit").comparisons(variables=how, **given)


def test_levels_that_are_numbers_are_compared_in_tables_of_any_kind(tmp_path: Path) -> None:
    """Private averages read them as the fit does, from categories, numbers and files alike."""
    rng = np.random.default_rng(1)
    k, x = rng.choice([10, 20, 30], 3000), rng.normal(size=3000)
    numbers = pd.DataFrame({"k": k, "x": x, "y": x * (k == 20) + rng.normal(size=3000)})
    rows = numbers.assign(k=pd.Categorical(k))
    fit = dp_lm("y ~ x * k", rows, mu=9, limits={"k": [10, 20, 30]}, seed=1)
    expected = fit.comparisons(data=rows, mu=2, seed=1).frame.estimate
    assert expected.to_numpy() == pytest.approx([1 / 3, 0, 0], abs=0.2)
    numbers.to_csv(tmp_path / "rows.csv", index=False)
    numbers.to_parquet(tmp_path / "rows.parquet")
    others = [numbers, numbers.astype({"k": "Int64"}), numbers.astype({"k": "int64[pyarrow]"})]
    for table in [*others, *map(str, tmp_path.iterdir()), pa.Table.from_pandas(rows)]:
        found = fit.comparisons(data=table, mu=2, seed=1).frame.estimate
        assert found.tolist() == expected.tolist()
        again = dp_lm("y ~ x * k", table, rows[:300], mu=9, seed=1)
        assert again.coef().isna().sum() == 0


def test_predictions_do_not_follow_a_column_that_was_left_out() -> None:
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(
        {"x": rng.normal(size=2000), "rare": np.where(rng.random(2000) < 0.02, 9, 0)}
    )
    rows["y"] = rows.x - rows.rare + rng.normal(size=2000)
    fit = dp_lm("y ~ x + rare", rows, mu=0.5, seed=1)
    assert fit.coefficients.left_out.tolist() == [False, False, True]
    assert any("limits={'rare': (0, 1)}" in note for note in fit.notes)
    new = pd.DataFrame({"x": [0.0, 0.0], "rare": [0, 9]})
    with pytest.warns(UserWarning, match="`rare` was left out of this fit.*do not follow it"):
        found = fit.predict(new, interval="confidence")
    assert found.lwr.isna().tolist() == [False, True]
    with pytest.warns(UserWarning, match="`rare` was left out"):
        assert fit.predictions(new).frame.std_error.isna().tolist() == [False, True]
    with pytest.warns(UserWarning, match="`rare` was left out"):
        assert fit.predictions(new, by="rare").frame.std_error.isna().tolist() == [False, True]
    assert np.isfinite(fit.predictions(data=rows, mu=0.5, seed=2).frame.std_error).all()
    assert np.isfinite(fit.emmeans("x", at={"x": [0, 1]}).frame.std_error).all()
    stated = fit.emmeans("rare", at={"rare": [0, 9], "x": 1}).frame
    assert stated.std_error.isna().tolist() == stated.conf_low.isna().tolist() == [False, True]
    assert np.isfinite(fit.predict(new[:1], interval="confidence").lwr).all()


def test_what_may_be_zero_or_one_is_seen_in_rows_that_are_shown_and_told_of_private_ones() -> None:
    rows = TABLE.assign(t=(TABLE.z > 0.4).astype(int))
    fit = dp_glm("b ~ x + t", rows, mu=1e3, seed=1)
    assert list(fit.comparisons(rows[:90]).frame.contrast) == ["+1", "1 - 0"]
    assert list(fit.comparisons(rows[:90], {"t": 1}).frame.contrast) == ["+1"]
    assert list(fit.comparisons(rows.assign(t=0.5)).frame.contrast) == ["+1", "+1"]
    found = _private(fit, "comparisons", rows, mu=1, seed=1)
    assert any("variables={'x': (0, 1)}" in note for note in found.notes)
    found = _private(fit, "comparisons", rows, variables={"t": (0, 1)}, mu=1, seed=1)
    assert not any("raised by one" in note for note in found.notes)
    public = dp_glm("b ~ x + t", rows, rows[:90], mu=3, seed=1)
    found = _private(public, "comparisons", rows, mu=1, seed=1)
    assert not any("raised by one" in note for note in found.notes)
    declared = dp_glm("b ~ x + t", rows, limits={"t": (0, 1), "x": (-4, 5)}, mu=3, seed=1)
    assert list(_private(declared, "comparisons", rows, mu=1, seed=1).frame.contrast)[1] == "1 - 0"


def test_ratios_of_means_are_those_of_averages() -> None:
    """A risk ratio by standardisation: the average risk with the treatment over that without it."""
    rows = TABLE.assign(t=(TABLE.z > 0.4).astype(int))
    fit = dp_glm("b ~ x * t + g", rows, rows[:900], mu=5, seed=1)
    found = fit.comparisons(rows, {"t": None, "g": ("a", "b")}, comparison="ratio").frame
    assert list(found.contrast) == ["1 / 0", "b / a"]
    means = [fit.predictions(rows.assign(t=t), by=True).frame for t in (0, 1)]
    assert found.estimate[0] == pytest.approx(means[1].estimate[0] / means[0].estimate[0])
    assert found.conf_low[0] < found.estimate[0] < found.conf_high[0]
    assert np.log(found.estimate[0] / found.conf_low[0]) == pytest.approx(
        np.log(found.conf_high[0] / found.estimate[0])
    )
    each = fit.comparisons(rows[:7], "t", by=False, comparison="ratio").frame
    ends = [fit.predictions(rows[:7].assign(t=t)).frame.estimate for t in (0, 1)]
    assert each.estimate.to_numpy() == pytest.approx((ends[1] / ends[0]).to_numpy())
    counts = dp_glm("c ~ x + z", TABLE, TABLE[:900], family="poisson", mu=5, seed=1)
    ratio = counts.comparisons(TABLE, "x", comparison="ratio").frame
    assert ratio.estimate[0] == pytest.approx(math.exp(counts.coef()["x"]))
    assert ratio.std_error[0] == pytest.approx(ratio.estimate[0] * counts.se()["x"], rel=1e-4)
    for wrong, says in (
        ({"newdata": rows, "comparison": "odds"}, "one of difference, ratio"),
        ({"data": rows, "mu": 1, "comparison": "ratio"}, "rows that you may show"),
    ):
        with pytest.raises(ArgumentError, match=says):
            fit.comparisons(**wrong)


def test_averages_and_a_fit_of_one_seed_have_noises_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They are added up in a simulation that gives both one number: intervals were too short."""
    seeds: list[int | None] = []
    make = dpstats.call.make_noise

    def remembered(seed: int | None) -> Noise:
        seeds.append(seed)
        return make(seed)

    monkeypatch.setattr(dpstats.call, "make_noise", remembered)
    fit = dp_lm("y ~ x", TABLE, TABLE, mu=2, seed=7)
    fit.predictions(data=TABLE, mu=2, seed=7)
    fit.predictions(data=TABLE, mu=2)
    assert seeds[0] == 7
    assert len(set(seeds)) == 3
    assert seeds[2] is None
