"""Notes of score rounds: said where intervals may miss or noise is larger than it need be."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpstats
from dpstats import public_moments
from dpstats.models.glm.notes import stray_note
from dpstats.numerics.matrices import Curvature, equilibrated_whitening
from dpstats.score_rounds.estimate import Moved
from dpstats.score_rounds.least_budget import few_rows_note, least_budget
from dpstats.score_rounds.notes import coordinates_note, hidden_note, size_note, tail_note
from dpstats.score_rounds.public_guide import elsewhere, hardly_seen, shares_of_numbers


def _rows(n: int, seed: int, unit: float = 1.0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=(2, n))
    return pd.DataFrame({"x": unit * x, "z": z, "y": x + z + rng.normal(size=n), "b": x > 0})


def test_numbers_in_sentences_have_no_powers_of_ten() -> None:
    assert "About 3800 private rows" in stray_note(3812.3, 1.0, 5_000)[0]
    moved = Moved(np.array([1999.0]), np.array([2011.0]))
    assert "at the worst by 2000." in tail_note(["x"], moved, 0.01, 1.0)[0]


def test_few_rows_are_said_to_be_few_exactly_where_the_call_is_refused_without_public_rows() -> (
    None
):
    enough = int(np.ceil(least_budget(3)))
    assert few_rows_note(enough, 3, 1.0, None) == ()
    assert "are few for 3 columns" in few_rows_note(enough - 5, 3, 1.0, None)[0]
    with pytest.raises(dpstats.errors.DPStatsError, match="too few"):
        dpstats.dp_lm("y ~ x + z", _rows(enough - 5, 0), mu=1)


@pytest.mark.parametrize("function", [dpstats.dp_lm, dpstats.dp_glm])
def test_a_fit_of_few_rows_says_so(function: object) -> None:
    assert callable(function)
    formula = "y ~ x + z" if function is dpstats.dp_lm else "b ~ z"
    for n, said in ((80, True), (4_000, False)):
        fit = function(formula, _rows(n, 1), public=_rows(100, 2), mu=1, seed=1)
        assert any("are few for" in note for note in fit.notes) == said


def test_private_columns_in_another_unit_are_noticed() -> None:
    def fit(unit: float) -> Any:
        rows = _rows(20_000, 3, unit)
        return dpstats.dp_lm("y ~ x + z", rows, public=_rows(100, 4), mu=1, seed=1)

    assert not [note for note in fit(1.0).notes if note.startswith("Private")]
    for unit in (0.2, 12.0):
        assert [note for note in fit(unit).notes if note.startswith("Private rows lie far")]
    assert coordinates_note(None) == coordinates_note(5.0) == ()
    assert coordinates_note(100.0)[0].startswith("Private columns vary")


def test_a_first_level_that_no_row_has_is_said_to_be_that() -> None:
    rows = _rows(4_000, 5).assign(g=np.random.default_rng(6).choice(list("abc"), 4_000))
    for levels, said in ((["zz", "a", "b", "c"], True), (["a", "b", "c", "zz"], False)):
        fit = dpstats.dp_lm("y ~ x + g", rows, mu=1, limits={"g": levels}, seed=1)
        assert any("first level of `g`" in note for note in fit.notes) == said
        assert fit.se().drop("g[T.zz]", errors="ignore").notna().all() != said
    terms = ["Intercept", "x", "g[T.b]", "g[T.c]"]
    for hidden in ([0, 1, 1, 1], [1, 0, 1, 0], [1, 1, 0, 0]):
        (note,) = hidden_note(terms, np.array(hidden, dtype=bool), None)
        assert "first level" not in note


_CAUSES = {
    "y ~ x + z": "missing values.",
    "log(y) ~ x": "missing values or values where log() has none.",
    "y ~ x + g": "missing values or levels that were not declared.",
    "y ~ cut(x, [-9, 0, 9])": "missing values or values outside the breaks of cut().",
}


@pytest.mark.parametrize("formula", _CAUSES)
def test_only_causes_that_can_apply_are_given_for_rows_that_are_not_used(formula: str) -> None:
    rows = _rows(4_000, 7).assign(g="a")
    rows.loc[::2, ["x", "y"]] = np.nan
    more = {"limits": {"g": ["a", "b"]}, "mu": 3, "seed": 1}
    (note,) = (n for n in dpstats.dp_lm(formula, rows, **more).notes if "are not used" in n)
    assert note.endswith(f"are not used: {_CAUSES[formula]}")


@pytest.mark.parametrize("formula", ["y ~ x + g", "y ~ x + C(k)"])
def test_levels_beside_public_rows_are_those_of_public_rows_or_those_that_were_declared(
    formula: str,
) -> None:
    rows = _rows(4_000, 7).assign(g=["a", "b", "c", "d"] * 1000, k=[1, 2, 3, 4] * 1000)
    name, declared = ("g", ["a", "b"]) if "g" in formula else ("k", [1, 2])
    for public, limits, said in (
        (rows[rows.k < 3].head(400), None, "levels that no public row has."),
        (rows.head(400), {name: declared}, "levels that were not declared."),
    ):
        found = dpstats.dp_lm(formula, rows, public, mu=3, limits=limits, seed=1)
        (note,) = (n for n in found.notes if "are not used" in n)
        assert note.endswith(said)


def test_weights_of_nothing_and_impossible_responses_are_causes_where_there_are_such() -> None:
    rows = _rows(4_000, 7).assign(w=1.0)
    rows.loc[::2, "w"] = 0.0
    weighted = dpstats.dp_lm("y ~ x", rows, weights="w", limits={"(weights)": (0, 2)}, mu=3, seed=1)
    assert "missing values or weights of zero or less." in " ".join(weighted.notes)
    rows["k"] = np.where(rows.index % 2, 2.0, rows.b)
    binary = dpstats.dp_glm("k ~ x", rows, mu=3, seed=1)
    assert "missing values or responses other than numbers between 0 and 1" in " ".join(
        binary.notes
    )


def test_columns_that_private_rows_hardly_vary_in_are_told_by_themselves() -> None:
    """In smaller units than those of the public rows, and not where both are alike or noise hides it."""
    rng = np.random.default_rng(3)
    rows = pd.DataFrame({"x": 5 + rng.normal(size=4000), "z": 2 + rng.normal(size=4000)})
    rows["z"] += 0.5 * rows.x
    moments = public_moments("~ x + z", rows)
    back = equilibrated_whitening(moments.gram).back
    for unit, named in ((1.0, ()), (60.0, ("x",)), (1 / 60, ())):
        private = np.column_stack([np.ones(4000), rows.x / unit, rows.z]) @ back
        matrix = private.T @ private / 4000
        seen = Curvature(matrix, 0.03, matrix, 0.03, float(np.linalg.eigvalsh(matrix)[0]))
        share, _ = shares_of_numbers(seen, back, moments.design)
        assert share[1:] == pytest.approx([1 / unit**2, 1])
        assert hardly_seen(seen, back, moments.design) == named
        assert hardly_seen(replace(seen, released_sd=0.5), back, moments.design) == ()


def test_a_direction_of_numbers_is_narrow_whatever_levels_stand_beside_it() -> None:
    """Two columns that differ in public rows only: neither is narrow by itself, and no level is."""
    rng = np.random.default_rng(5)
    rows = pd.DataFrame(rng.normal(size=(3000, 2)), columns=["x", "z"])
    rows["g"] = rng.choice(["a", "b"], 3000)
    moments = public_moments("~ x + z + g", rows)
    back = equilibrated_whitening(moments.gram).back
    alike = 0.5 * (rows.x + rows.z)
    private = np.column_stack([np.ones(3000), alike, alike, rows.g == "b"]) @ back
    matrix = private.T @ private / 3000
    seen = Curvature(matrix, 0.08, matrix, 0.08, 0.0)
    share, sd = shares_of_numbers(seen, back, moments.design)
    assert (share[1:3] - 3 * sd[1:3] > 0.1).all()
    assert elsewhere(seen, back, moments.design, 3000, 1.0, 300, few=False)
    assert not elsewhere(seen, back, moments.design, 3000, 1.0, 300, few=True)


@pytest.mark.parametrize("function", [dpstats.dp_lm, dpstats.dp_glm])
def test_a_public_column_in_larger_units_gives_no_confident_numbers(
    function: Callable[..., Any],
) -> None:
    """Noise made its coefficient a thousandth of what it is, with stars, in a fifth of such fits."""
    names = [f"x{j}" for j in range(16)]
    for seed in range(8):
        rng = np.random.default_rng(seed)
        rows, public = (
            pd.DataFrame(rng.normal(size=(k, 16)) + 1, columns=names) for k in (2500, 300)
        )
        for part in (rows, public):
            line = part.sum(axis=1) / 8
            part["y"] = (line + rng.logistic(size=len(part)) > 2) * 1.0
        public["x3"] *= 1000
        fit = function("y ~ " + " + ".join(names), rows, public, mu=1, seed=seed)
        if np.isnan(fit.se()["x3"]):
            assert any("far less" in note and "other units" in note for note in fit.notes)
            continue
        away = fit.coef()["x3"] - (0.125 if function is dpstats.dp_glm else line_of(rows))
        assert abs(away) < 6 * fit.se()["x3"]


def line_of(rows: pd.DataFrame) -> float:
    """The slope of x3 in these rows, by least squares."""
    x = np.column_stack([np.ones(len(rows)), rows.drop(columns="y")])
    return float(np.linalg.lstsq(x, rows.y.to_numpy(), rcond=None)[0][4])


def test_one_column_that_is_out_of_proportion_is_named() -> None:
    (note,) = size_note(("Intercept", "a", "b"), np.array([1.0, 0.9, 0.01]))
    assert note.startswith("In private rows `b` is about 0.01 times as large as in public ones")
    for alike in ([1.0, 0.3, 0.3], [1.0, 1.1, 1.9], [1.0, 1.0, 0.0]):
        assert size_note(("Intercept", "a", "b"), np.array(alike)) == ()
