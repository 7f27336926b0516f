"""All rows of a person are one term: clustered errors, whatever the order and the engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf

from dpstats import dp_glm, dp_lm
from dpstats.budget.budget import Budget
from dpstats.errors import ArgumentError, BudgetError, PassError, SchemaError
from dpstats.frame import FirstRows, Reading, declare_design, open_persons
from dpstats.score_rounds.person_rows import PersonRows
from dpstats.score_rounds.rows import LeastSquares

_EXACT: dict[str, Any] = {"rho": 1e12, "seed": 1}


def _panel(persons: int, seed: int, family: str = "gaussian") -> pd.DataFrame:
    """One to six rows of each, in no order, whose errors have a part in common."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(persons), rng.integers(1, 7, persons))
    x = rng.normal(size=persons)[who] + rng.normal(size=len(who))
    common = 0.6 * rng.normal(size=persons)[who]
    eta = 0.3 + 0.5 * x + common
    y = {
        "gaussian": lambda: eta + rng.normal(size=len(who)),
        "binomial": lambda: (rng.random(len(who)) < 1 / (1 + np.exp(-eta))).astype(float),
        "quasipoisson": lambda: rng.poisson(np.exp(eta)).astype(float),
    }[family]()
    table = pd.DataFrame({"who": who, "x": x, "y": y, "w": 1 + rng.random(len(who))})
    return table.sample(frac=1, random_state=seed, ignore_index=True)


def _agree(fit: Any, reference: Any) -> None:
    assert fit.coef().to_numpy() == pytest.approx(reference.params.to_numpy(), rel=1e-5)
    assert fit.se().to_numpy() == pytest.approx(reference.bse.to_numpy(), rel=3e-5)


@pytest.mark.parametrize("persons", [150, 1500])
def test_without_noise_errors_are_those_clustered_by_person(persons: int) -> None:
    public, private = _panel(60, 0), _panel(persons, 1)
    fit = dp_lm("y ~ x", private, public, person="who", **_EXACT)
    how = {"groups": private.who}
    reference = smf.ols("y ~ x", private).fit(cov_type="cluster", cov_kwds=how)
    _agree(fit, reference)
    assert (fit.n, fit.nobs) == (persons, len(private))
    assert fit.sigma == pytest.approx(np.sqrt(reference.scale), rel=1e-4)


def test_weights_and_missing_cells_are_those_of_least_squares() -> None:
    public, private = _panel(60, 0), _panel(900, 1)
    private.loc[::17, "x"] = np.nan
    limits = {"(weights)": (0, 2)}
    fit = dp_lm("y ~ x", private, public, person="who", weights="w", limits=limits, **_EXACT)
    used = private.dropna()
    reference = smf.wls("y ~ x", used, weights=used.w)
    _agree(fit, reference.fit(cov_type="cluster", cov_kwds={"groups": used.who}))
    assert fit.nobs == len(used)


@pytest.mark.parametrize("family", ["binomial", "quasipoisson"])
def test_scores_of_generalised_models_are_summed_up_as_well(family: str) -> None:
    public, private = _panel(80, 0, family), _panel(1200, 1, family)
    fit = dp_glm("y ~ x", private, public, family=family, person="who", **_EXACT)
    plain = sm.families.Binomial() if family == "binomial" else sm.families.Poisson()
    reference = smf.glm("y ~ x", private, family=plain)
    _agree(fit, reference.fit(cov_type="cluster", cov_kwds={"groups": private.who}))


def test_without_public_rows_and_noise_it_is_the_same() -> None:
    private = _panel(1500, 1)
    fit = dp_lm("y ~ x", private, person="who", **_EXACT)
    how = {"groups": private.who}
    _agree(fit, smf.ols("y ~ x", private).fit(cov_type="cluster", cov_kwds=how))
    assert (fit.n, fit.nobs) == (1500, len(private))
    yes = _panel(1200, 2, "binomial")
    logit = smf.glm("y ~ x", yes, family=sm.families.Binomial())
    reference = logit.fit(cov_type="cluster", cov_kwds={"groups": yes.who})
    _agree(dp_glm("y ~ x", yes, person="who", **_EXACT), reference)


def test_rows_that_cannot_be_used_are_nothing_within_persons() -> None:
    """Not even the mean of their person, less nothing."""
    design = declare_design("y ~ 0 + x", {"y": float, "x": float})
    table = pd.DataFrame({"who": list("ppp"), "x": [1.0, 5.0, np.nan], "y": [2.0, 4.0, 9.0]})
    source = open_persons(design, table, Reading(), FirstRows("who", None))
    rows = PersonRows(source, LeastSquares(), np.eye(1), np.zeros(1), within=True)
    (slab,) = rows._over(lambda slab: slab)
    assert slab.z.tolist() == [[-2.0, 2.0, 0.0]]
    assert slab.y.tolist() == [-1.0, 1.0, 0.0]


def test_without_public_rows_intervals_hold() -> None:
    """At mu = 1; of forty intervals of a right one twelve miss with a probability below 1e-6."""
    held = 0
    for seed in range(20):
        fit = dp_lm("y ~ x", _panel(900, seed), mu=1, person="who", seed=seed)
        for term, true in (("Intercept", 0.3), ("x", 0.5)):
            low, high = fit.confint().loc[term]
            held += low < true < high
    assert held >= 28


def test_a_person_weighs_less_and_not_a_row() -> None:
    """Sixteen rows of length 1 are 4 long together: cut to 2, though none of them is as long."""
    design = declare_design("y ~ 0 + x", {"y": float, "x": float})
    table = pd.DataFrame({"who": ["p"] * 16 + ["q"], "x": 1.0, "y": 0.0})
    source = open_persons(design, table, Reading(), FirstRows("who", None))
    rows = PersonRows(source, LeastSquares(), np.eye(1), np.zeros(1))
    rows.leverage = 2.0
    (counts, _) = rows.length_counts(np.zeros(1), ((-2, 6), None))
    assert counts is not None
    assert np.flatnonzero(counts).tolist() == [8, 12], "bins of 1 and of 2, four to the octave"


def test_a_ridge_is_that_of_the_mean_over_rows() -> None:
    public, private = _panel(60, 0), _panel(900, 1)
    fit = dp_lm("y ~ x", private, public, person="who", ridge=0.3, **_EXACT)
    x = np.column_stack([np.ones(len(private)), private.x])
    expected = np.linalg.solve(x.T @ x / len(x) + 0.3 * np.eye(2), x.T @ private.y / len(x))
    assert fit.coef().to_numpy() == pytest.approx(expected, rel=1e-5)


def test_the_first_rows_of_each_person_count_where_so_many_are_said() -> None:
    public, private = _panel(60, 0), _panel(900, 1)
    first = private[private.groupby("who").cumcount() < 2]
    fit = dp_lm("y ~ x", private, public, person="who", rows_per_person=2, **_EXACT)
    how = {"groups": first.who}
    _agree(fit, smf.ols("y ~ x", first).fit(cov_type="cluster", cov_kwds=how))
    assert "n is public; using only the first 2 rows of each `who`" in fit.privacy.unit
    assert "rows_per_person = 2" in fit.call


def test_noise_does_not_grow_with_rows() -> None:
    """Of a person with six copies of a row, and of one with the row alone."""
    public, rows = _panel(60, 0), _panel(900, 1).drop_duplicates("who")
    six = pd.concat([rows] * 6, ignore_index=True)
    one, many = (dp_lm("y ~ x", data, public, mu=1, person="who", seed=3) for data in (rows, six))
    share = many.coefficients.privacy / one.coefficients.privacy
    assert np.diag(share).max() < 2, "36 where the noise is that of six rows"


def test_of_nobody_more_rows_are_counted_than_is_claimed() -> None:
    """One person in a thousand has a thousand rows, which noise hides: then not all of them count."""
    public, rows = _panel(60, 0), _panel(900, 1).drop_duplicates("who")
    private = pd.concat([rows, *[rows[:1]] * 1000], ignore_index=True)
    fit = dp_lm("y ~ x", private, public, mu=1, person="who", seed=3)
    line = next(s for s in fit.privacy.spent if s.released == "rows of persons")
    assert fit.nobs < 900 + 8 * line.noise_sd < len(private)


def _engines(table: pd.DataFrame, folder: Path) -> dict[str, Any]:
    pq.write_table(pa.table(table), folder / "rows.parquet", row_group_size=70)
    by_person = table.sort_values("who", kind="stable", ignore_index=True)
    cut = len(table) // 3
    return {
        "arrow": pa.table(table),
        "parquet": str(folder / "rows.parquet"),
        "blocks": [table[:cut], table[cut:]],
        "function": lambda: (table[k : k + 50] for k in range(0, len(table), 50)),
        "sorted": by_person,
        "named otherwise": table.assign(who=["p" + str(k) for k in table.who]),
    }


def test_rows_of_a_person_may_lie_anywhere(tmp_path: Path) -> None:
    """To the bit: sums run over the rows of a person in their order, and then over integers."""
    import dask.dataframe as dd

    public, private = _panel(60, 0), _panel(300, 1)
    options: dict[str, Any] = {"public": public, "mu": 1, "person": "who", "seed": 3}
    expected = dp_lm("y ~ x", private, **options).coef()
    engines = _engines(private, tmp_path)
    engines["dask"] = dd.from_pandas(private, npartitions=3, sort=False)
    for name, data in engines.items():
        assert dp_lm("y ~ x", data, **options).coef().equals(expected), name


def test_rows_that_cannot_be_used_change_nothing() -> None:
    """Neither those that are missing nor those without a name, however many."""
    public, private = _panel(60, 0), _panel(300, 1).assign(who=lambda t: t.who.astype("Int64"))
    nobody = private[:40].assign(who=pd.NA)
    missing = private[40:90].assign(y=np.nan)
    options: dict[str, Any] = {"public": public, "mu": 1, "person": "who", "seed": 3}
    expected = dp_lm("y ~ x", private, **options).coef()
    with_them = pd.concat([nobody, private, missing], ignore_index=True)
    assert dp_lm("y ~ x", with_them, **options).coef().equals(expected)


@pytest.mark.parametrize("limits", [None, {"(weights)": (0, 2.5)}], ids=["plain", "limits"])
def test_persons_with_unused_rows_beside_others_are_counted(limits: Any) -> None:
    """Four noise standard deviations, and one person in a thousand whose score is cut."""
    public, private = _panel(60, 0), _panel(3000, 1)
    private.loc[::3, "x"] = np.nan
    used = private.x.notna().groupby(private.who).agg(["sum", "size"])
    partly = float(((used["sum"] > 0) & (used["sum"] < used["size"])).mean())
    weights = {} if limits is None else {"weights": "w", "limits": limits}
    for known in (None, public):
        fit = dp_lm("y ~ x", private, known, mu=1, person="who", seed=1, **weights)
        found = fit.diagnostics().loc["unused rows"]
        beyond = 0.0 if limits is None else fit.diagnostics().loc["rows outside limits", "value"]
        assert abs(found.value - partly) < 4 * found.noise_sd + 0.003 + beyond
        assert any("have rows that are not used, beside others" in note for note in fit.notes)
    whole = dp_lm("y ~ w", private, mu=1, person="who", seed=1)
    assert not any("not used" in note for note in whole.notes)


def test_the_page_says_who_is_protected_and_what_is_clustered() -> None:
    public, private = _panel(60, 0), _panel(900, 1)
    text = str(dp_lm("y ~ x", private, public, mu=2, person="who", seed=1).summary())
    assert "clustered by `who`" in text
    assert "Persons: 900 private, by `who`, with about" in text
    assert "the number of rows" not in text
    assert str(len(private)) not in text, "how many rows there are is private"


def test_what_cannot_be_done_is_said_before_rows_are_read() -> None:
    public, private = _panel(60, 0), _panel(900, 1)
    with pytest.raises(SchemaError, match="no column `whom`"):
        dp_lm("y ~ x", private, public, mu=1, person="whom")
    with pytest.raises(SchemaError, match="no row names a person"):
        dp_lm("y ~ x", private.assign(who=np.nan), public, mu=1, person="who")
    with pytest.raises(ArgumentError, match="too few for 2 columns"):
        dp_lm("y ~ x", private[private.who < 2], public, mu=1, person="who")
    with pytest.raises(BudgetError, match="Open the budget with person='who'"):
        dp_lm("y ~ x", private, public, mu=1, person="who", budget=Budget(mu=1))


def test_data_that_name_others_when_they_are_read_again_are_refused() -> None:
    private, calls = _panel(90, 1), []

    def changing() -> list[pd.DataFrame]:
        calls.append(1)
        return [private if len(calls) < 3 else private[private.who > 3]]

    with pytest.raises(PassError, match="named different persons"):
        dp_lm("y ~ x", changing, _panel(60, 0), mu=1, person="who")


def test_memory_that_runs_out_does_not_tell_how_many_rows_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """numpy's error would name the shape that could not be had."""
    public, private = _panel(60, 0), _panel(300, 1)
    original = np.empty

    def scarce(shape: Any, *given: Any, **named: Any) -> Any:
        if isinstance(shape, tuple) and len(shape) == 2 and shape[0] == len(private):
            raise MemoryError(f"Unable to allocate an array with shape {shape}")
        return original(shape, *given, **named)

    monkeypatch.setattr("dpstats.frame.by_person.np.empty", scarce)
    with pytest.raises(PassError, match="cause is withheld") as caught:
        dp_lm("y ~ x", private, public, mu=1, person="who", seed=1)
    assert str(len(private)) not in str(caught.value)


def test_counts_that_noise_makes_negative_end_no_fit() -> None:
    public, private = _panel(60, 0, "quasipoisson"), _panel(40, 1, "quasipoisson")
    for seed in range(12):
        options: dict[str, Any] = {"family": "quasipoisson", "mu": 0.4, "person": "who"}
        fit = dp_glm("y ~ x", private, public, **options, seed=seed)
        assert fit.nobs > 0
