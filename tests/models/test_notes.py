"""What models say of rows that they were given, alike: too few, missing, or in the wrong place."""

import re
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpstats import dp_glm, dp_lm, dp_mean, dp_mixture, dp_mvnorm, eptr_bayes, eptr_nw
from dpstats.errors import ArgumentError, PlanWarning, PublicDataError, SchemaError
from dpstats.models.glm.notes import with_first_levels


def _table(n: int, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    g = np.where(rng.random(n) < 0.5, "a", "b")
    return pd.DataFrame({"x": x, "y": x + rng.normal(size=n), "g": g})


def _curve(data: Any, public: Any) -> Any:
    return eptr_nw("y ~ x", data, public, mu=1, seed=1)


def _curve_alone(data: Any, public: Any) -> Any:
    limits = {"x": (-5, 5), "y": (-9, 9)}
    return eptr_nw("y ~ x", data, mu=1, seed=1, limits=limits, bandwidth=0.5)


def _classes(data: Any, public: Any) -> Any:
    return eptr_bayes("g ~ x + y", data, public, mu=1, seed=1)


def _mean(data: Any, public: Any) -> Any:
    return dp_mean(["x", "y"], data, public, mu=1, seed=1)


def _gaussian(data: Any, public: Any) -> Any:
    return dp_mvnorm(["x", "y"], data, public, mu=1, seed=1)


def _mixture(data: Any, public: Any) -> Any:
    return dp_mixture("~ x + y", data, public, k=1, mu=1, seed=1)


@pytest.mark.parametrize("fit", [_curve, _curve_alone, _classes, _mean, _gaussian, _mixture])
def test_a_third_of_a_column_that_is_missing_is_spoken_of(fit: Any) -> None:
    """By a released number, whose noise is below 50 rows: by chance with a probability below 1e-9."""
    data, public = _table(6000, 1), _table(200, 2)
    assert not any("not used" in note for note in fit(data, public).notes)
    data.loc[::3, "x"] = np.nan
    assert any(re.search(r"About 3\d ?% .* not used", note) for note in fit(data, public).notes)


@pytest.mark.parametrize("fit", [_curve, _classes, _mean, _gaussian, _mixture])
def test_more_public_rows_than_private_ones_are_spoken_of(fit: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlanWarning)
        found = fit(_table(300, 1), _table(1000, 2))
    assert any("see that they are not swapped" in note for note in found.notes)
    assert not any("swapped" in note for note in fit(_table(3000, 1), _table(300, 2)).notes)


def test_a_warning_of_unknown_scales_is_in_the_summary() -> None:
    data = _table(2000, 1)
    with pytest.warns(PlanWarning, match="tell no scale"):
        found = dp_mean(["x"], data[2:], data[:2], mu=1, seed=1)
    assert "2 public rows tell no scale" in " ".join(str(found.summary()).split())
    assert "tell no scale" not in " ".join(str(found).split())


def test_names_of_other_packages_are_told_what_they_are_called_here() -> None:
    data, public = _table(3000, 1), _table(300, 2)
    of_gaussian, of_classes = _gaussian(data, public), _classes(data, public)
    of_curve = _curve(data, public)
    for fit, name, said in (
        (of_gaussian, "estimate", "here it is mean"),
        (of_gaussian, "sd", "cov"),
        (of_gaussian, "predict", "to_moments"),
        (of_gaussian, "std", "cov"),
        (of_classes, "score", "balanced_error"),
        (of_classes, "estimate", "means"),
        (of_classes, "predict_proba", "type='prob'"),
    ):
        with pytest.raises(AttributeError, match=re.escape(said)):
            getattr(fit, name)
    for values in ([0.3, 0.4], 0.3, np.array([0.3]), data["x"].head()):
        with pytest.raises(ArgumentError, match=r"predict\(\{'x': \[...\]\}\)"):
            of_curve.predict(values)
    assert len(of_curve.predict({"x": [0.3, 0.4]})) == 2


def test_errors_say_what_helps() -> None:
    data, public = _table(3000, 1), _table(300, 2)
    for fit in (dp_mean, dp_mvnorm):
        with pytest.raises(PublicDataError, match=r"public=: scales are then found in private"):
            fit(["k"], data.assign(k=(data.x > 2) * 1.0), public.assign(k=0.0), mu=1)
    with pytest.raises(
        SchemaError, match=r"`q`.*the dot stands for the columns of the public table"
    ):
        eptr_bayes("g ~ .", data, public.assign(q=1.0), mu=1)
    with pytest.raises(PublicDataError, match="of the same population"):
        dp_mixture("~ x", data, k=2, mu=1)


def test_rows_after_the_first_of_a_person_are_named_by_every_model() -> None:
    rng = np.random.default_rng(1)
    rows = pd.DataFrame({"x": rng.normal(size=6000), "who": np.arange(6000) // 3})
    rows["y"] = rows.x + rng.normal(size=6000)
    limits = {"x": (-4, 4), "y": (-6, 6)}
    for found in (
        dp_mean(["x", "y"], rows, person="who", mu=1, seed=1),
        dp_mvnorm(["x", "y"], rows, person="who", mu=1, seed=1),
        dp_glm("I(y > 0) ~ x", rows, person="who", mu=1, seed=1, method="ssp", limits=limits),
    ):
        said = " ".join(found.notes)
        assert "rows after the first of each `who`" in said
        assert "Estimates are those of first rows" in said


def test_a_largest_weight_that_costs_most_of_the_rows_is_spoken_of() -> None:
    """By public weights: even ones are half as large as the largest."""
    rng = np.random.default_rng(0)
    rows = _table(4000, 1).assign(even=rng.random(4000), skewed=rng.lognormal(0, 1.5, 4000))
    for fit in (dp_lm, dp_glm):
        formula = "y ~ x" if fit is dp_lm else "I(y > 0) ~ x"
        how: dict[str, Any] = {"mu": 1, "seed": 1}
        found = [fit(formula, rows, rows[:300], weights=w, **how).notes for w in ("even", "skewed")]
        said = [any("The largest weight" in note for note in notes) for notes in found]
        assert said == [False, True]


def test_where_all_other_levels_may_have_one_outcome_it_is_the_first() -> None:
    terms = ("Intercept", "x", "g[T.b]", "g[T.c]", "h[T.z]", "x:g[T.b]")
    first = ["the first level of `g`"]
    assert with_first_levels(["g[T.b]", "g[T.c]"], terms) == first
    assert with_first_levels(["g[T.b]"], terms) == ["`g[T.b]`"]
    assert with_first_levels(["h[T.z]", "g[T.b]", "g[T.c]"], terms) == ["`h[T.z]`", *first]
