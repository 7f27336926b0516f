"""Coefficients of a level that few rows have: its rows are long, and so are some of their scores.

Cuts that followed the scores of the others took those of the level's rarer outcome and left those of the
other: the effect was exaggerated, and its errors knew nothing of it.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpstats import dp_glm, dp_lm, public_moments
from dpstats.errors import ArgumentError
from dpstats.models.linear import losses
from dpstats.score_rounds.levels import indicators
from dpstats.score_rounds.public_guide import too_thin

_SEEDS = 24


def _logit(rng: np.random.Generator, n: int) -> pd.DataFrame:
    rows = pd.DataFrame({"x": rng.normal(size=n), "t": 1.0 * (rng.random(n) < 0.03)})
    chance = 1 / (1 + np.exp(-0.2 - 0.4 * rows.x - rows.t))
    return rows.assign(y=1.0 * (rng.random(n) < chance))


def _line(rng: np.random.Generator, n: int, share: float = 0.03) -> pd.DataFrame:
    rows = pd.DataFrame({"x": rng.normal(size=n), "t": 1.0 * (rng.random(n) < share)})
    return rows.assign(y=1.0 * (rng.random(n) < 0.5 + 0.02 * rows.x + 0.3 * rows.t))


def _rare(rng: np.random.Generator, n: int) -> pd.DataFrame:
    return _line(rng, n, 0.01)


_CASES: dict[str, tuple[Callable[..., Any], Callable[..., pd.DataFrame], int, float]] = {
    "dp_glm, alone": (dp_glm, _logit, 0, 1.0),
    "dp_lm of zeros and ones": (dp_lm, _line, 300, 0.3),
    "dp_lm of a rarer level": (dp_lm, _rare, 300, 0.3),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", _CASES)
def test_the_effect_of_a_rare_level_is_not_exaggerated(case: str) -> None:
    """It was, by 1.8 printed errors and more on average.

    A false alarm is a mean of standard normal numbers beyond 5 of its deviations, 6e-7.
    """
    fit, draw, m, truth = _CASES[case]
    away = []
    for seed in range(_SEEDS):
        rng = np.random.default_rng(seed)
        rows, public = draw(rng, 5000), draw(rng, m) if m else None
        found = fit("y ~ x + t", rows, public, mu=1, seed=seed)
        away.append((found.coef()["t"] - truth) / found.se()["t"])
    known = np.array(away)[np.isfinite(away)]
    assert len(known) > _SEEDS / 2
    assert abs(known.mean()) < 5 / math.sqrt(len(known))


def test_the_effect_of_a_rarer_level_keeps_to_its_errors() -> None:
    """Off by up to nine of them, where cuts do not know how long rows are.

    A false alarm is one of 16 normal numbers beyond 6, 3e-8.
    """
    away = []
    for seed in range(16):
        rng = np.random.default_rng(seed)
        rows = pd.DataFrame({"x": rng.normal(size=5000), "t": 1.0 * (rng.random(5000) < 0.01)})
        chance = 1 / (1 + np.exp(-0.2 - 0.4 * rows.x - rows.t))
        rows["y"] = 1.0 * (rng.random(5000) < chance)
        fit = dp_glm("y ~ x + t", rows, mu=2, seed=seed, limits={"t": (0, 1)})
        away.append((fit.coef()["t"] - 1) / fit.se()["t"])
    assert np.isfinite(away).sum() >= 8
    assert np.nanmax(np.abs(away)) < 6


def test_cuts_know_of_long_rows_where_no_public_row_tells_of_responses() -> None:
    """The same level with responses of 0 and 2: its effect is exaggerated by 1.3 errors, 2.5 at most.

    By up to 9 where cuts do not know how long rows are. Means of 16 vary by a quarter of an error, or
    0.6; a false alarm of the largest is one of 16 normal numbers, 5.3 beyond that mean, 9e-7.
    """
    away = []
    for seed in range(16):
        rng = np.random.default_rng(seed)
        rows, public = (_line(rng, n).eval("y = 2 * y") for n in (5000, 300))
        found = dp_lm("y ~ x + t", rows, public, mu=0.3, seed=seed)
        away.append((found.coef()["t"] - 0.6) / found.se()["t"])
    assert np.nanmean(away) < 2.6
    assert np.nanmax(np.abs(away)) < 6.6


def test_few_rows_that_have_a_response_are_not_cut_away() -> None:
    """One row of a hundred has a count: fits were zero, with errors of zero, in a third to a half of the
    cases, and had no errors in others. A false alarm is an error of a fifth of the sandwich's."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        rows, public = (
            pd.DataFrame({"t": 1.0 * (rng.random(n) < 0.5)}).assign(
                y=(rng.random(n) < 0.01) * rng.integers(1, 5, n)
            )
            for n in (5000, 1000)
        )
        found = dp_lm("y ~ t", rows, public, mu=1, seed=seed)
        assert not found.se()["t"] < 0.2 * 2 * rows.y.std() / math.sqrt(5000)
        assert found.se().isna().all() or found.notes  # public rows alone tell how far they lie


@pytest.mark.parametrize("family", ["linear", "poisson"])
def test_a_level_that_next_to_no_private_row_has_costs_its_own_error_only(family: str) -> None:
    """Four of a hundred public rows have it: all errors were lost in 0.3 to 0.7 of these fits.

    Of 500 others the farthest was 3.2 printed errors off. A false alarm is one beyond seven, or twelve
    fits of which none keeps errors that the rare level lacks; a third to all of them do.
    """
    kept = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)

        def table(n: int, share: float, rng: np.random.Generator = rng) -> pd.DataFrame:
            g = rng.choice(list("ABC"), n, p=[0.6 - share, 0.4, share])
            x = rng.normal(size=n)
            eta = 0.5 * x + 0.4 * (g == "B") + 0.6 * (g == "C")
            y = eta + rng.normal(size=n) if family == "linear" else rng.poisson(np.exp(eta))
            return pd.DataFrame({"g": g, "x": x, "y": y})

        private, public = table(5000, 0.0005), table(300, 0.04)
        call: dict[str, Any] = {"public": public, "mu": 1, "seed": seed}
        if family == "linear":
            fit: Any = dp_lm("y ~ x + g", private, **call)
        else:
            fit = dp_glm("y ~ x + g", private, family="poisson", **call)
        away = ((fit.coef()[["x", "g[T.B]"]] - [0.5, 0.4]) / fit.se()[["x", "g[T.B]"]]).dropna()
        assert (np.abs(away) < 7).all()
        if np.isnan(fit.se()["g[T.C]"]) and np.isfinite(fit.se()["x"]):
            kept += 1
            assert any("The noise hides" in note and "g[T.C]" in note for note in fit.notes)
    assert kept


def _slopes(rng: np.random.Generator, n: int) -> pd.DataFrame:
    rows = pd.DataFrame({"x": np.round(rng.normal(13, 3, n))})
    rows["g"] = rng.choice(list("abcdef"), n, p=[0.6, 0.2, 0.1, 0.05, 0.025, 0.025])
    eta = 0.1 * (rows.x - 13) + 0.3 * (rows.g == "b")
    rows["y"] = 1.0 * (rng.random(n) < 1 / (1 + np.exp(-eta)))
    return rows.assign(v=eta + rng.normal(size=n))


@pytest.mark.parametrize("fit", [dp_lm, dp_glm])
def test_slopes_of_a_level_that_few_public_rows_tell_of_have_errors(
    fit: Callable[..., Any],
) -> None:
    """Four to eight of 250 public rows have one of the last two levels, with a slope of its own.

    Whitened by these, the private rows of a level are far out: all fits but one had no errors. In one
    seed three public rows of a level do not differ in x, which was refused.
    """
    for seed in (0, 3, 5):
        rng = np.random.default_rng([seed, 1])
        rows, public = _slopes(rng, 10_000), _slopes(rng, 250)
        if seed == 5:
            public.loc[public.g == "f", "x"] = 12.0
        found = fit("v ~ x * g" if fit is dp_lm else "y ~ x * g", rows, public, mu=3, seed=seed)
        away = found.coef() - (
            0.1 * (found.coef().index == "x") + 0.3 * (found.coef().index == "g[T.b]")
        )
        assert found.se().notna().all()
        slopes = [name for name in found.coef().index if "x" in name]
        assert (away[slopes].abs() < 5.3 * found.se()[slopes]).all()
        assert found.se()["x:g[T.f]"] < 0.5


def test_public_rows_are_left_out_where_private_ones_tell_more_only() -> None:
    """For a level of which few tell, many other public rows would be lost; and units are no matter."""
    rng = np.random.default_rng(5)
    few = public_moments("y ~ x * g", _slopes(rng, 250))
    many = public_moments(
        "y ~ x * g", pd.concat([_slopes(rng, 3000).query("g != 'f'"), _slopes(rng, 150)])
    )
    assert too_thin(few, 10_000, 3.0) in few.terms
    assert too_thin(few, 10_000, 0.1) is None
    assert too_thin(many, 3000, 1.0) is None
    assert too_thin(public_moments("y ~ x + g", _slopes(rng, 250)), 10_000, 3.0) is None
    rows, public = _slopes(rng, 10_000), _slopes(rng, 250)
    found = [
        dp_glm("y ~ x * g", rows, public.assign(x=unit * public.x), mu=3, seed=1)
        for unit in (1.0, 1000.0)
    ]
    assert found[1].coef().to_numpy() == pytest.approx(found[0].coef().to_numpy())
    assert found[0].notes[0].startswith("Few public rows have `g[T.")


def _with_rare_levels(rng: np.random.Generator, n: int, share: float) -> pd.DataFrame:
    levels = rng.choice(["a", "b", "c", "rare"], n, p=[0.5, 0.3, 0.2 - share, share])
    rows = pd.DataFrame({"x": rng.normal(size=n), "z": rng.normal(size=n), "g": levels})
    eta = -0.5 + 0.4 * rows.x - 0.3 * rows.z + 0.5 * (levels == "b") + 0.6 * (levels == "rare")
    return rows.assign(y=1.0 * (rng.random(n) < 1 / (1 + np.exp(-eta))))


_RARE_LEVELS = {"limits": {"g": ["a", "b", "c", "rare"]}, "mu": 3}


@pytest.mark.parametrize("m", [0, 300])
def test_a_level_that_few_rows_have_leaves_other_effects_as_they_are(m: int) -> None:
    """Of 45 rows in 15 000, and none of the public ones: steps along it were ten times too long.

    It walked off to a log odds ratio of 20 and more, and the others by up to 30 errors. A false alarm
    is one of 24 normal numbers beyond 6, 5e-8.
    """
    for seed in (0, 9, 13, 37):
        rng = np.random.default_rng(seed)
        rows, public = (
            _with_rare_levels(rng, 15_000, 0.003),
            _with_rare_levels(rng, m, 0) if m else None,
        )
        fit = dp_glm("y ~ x + z + g", rows, public, seed=seed, **_RARE_LEVELS)
        away = (fit.coef() - [-0.5, 0.4, -0.3, 0.5, 0.0, 0.6]) / fit.se()
        assert np.abs(away).max() < 6
        assert fit.se().drop("g[T.rare]").max() < 0.08


def test_a_level_that_noise_hides_has_an_effect_of_a_usual_size() -> None:
    """Little but noise, it had a log odds ratio of hundreds; it has none now that nobody expects."""
    for share, mu, seeds in ((0.001, 3, (4, 9, 12)), (0.003, 1, (6, 14, 15))):
        for seed in seeds:
            rows = _with_rare_levels(np.random.default_rng(seed), 15_000, share)
            fit = dp_glm("y ~ x + z + g", rows, seed=seed, **(_RARE_LEVELS | {"mu": mu}))
            assert abs(fit.coef()["g[T.rare]"]) < 8
            others = fit.coef().drop("g[T.rare]") - [-0.5, 0.4, -0.3, 0.5, 0.0]
            assert np.abs(others).max() < 0.25


def test_a_usual_size_is_one_of_effects_that_have_no_unit() -> None:
    """A slope of a level may be of any size: its units change those of the coefficient only."""
    fits = []
    for times in (1.0, 2.0**-20):
        rows = _with_rare_levels(np.random.default_rng(1), 15_000, 0.003)
        rows["z"] *= times
        limits = {"z": (-6 * times, 6 * times), "x": (-6, 6)}
        more = {**_RARE_LEVELS, "limits": limits | _RARE_LEVELS["limits"]}
        fits.append(dp_glm("y ~ x + z:g", rows, seed=1, **more).coef())
    assert fits[1].to_numpy()[2:] * 2.0**-20 == pytest.approx(fits[0].to_numpy()[2:], rel=2e-3)


_SHARES = [0.11, 0.1, 0.06, 0.06, 0.04, 0.04, 0.03, 0.03, 0.03, 0.03, 0.009, 0.004, 0.002, 0.0015]


def test_columns_that_hardly_any_row_has_leave_a_steep_fit_as_it_is() -> None:
    """Coordinates followed their next to no second moments: other effects were off by ten errors.

    A false alarm is one of 12 normal numbers beyond 6, 2e-8.
    """
    truth = pd.Series({"Intercept": 1.8, "m": 1.0, "o": -3.0, "k0": 1.0})
    for seed in (0, 1, 3):
        rng = np.random.default_rng(seed)
        marks = {f"k{j}": 1 * (rng.random(15_000) < share) for j, share in enumerate(_SHARES)}
        rows = pd.DataFrame(marks | {name: 1 * (rng.random(15_000) < 0.5) for name in "mo"})
        eta = 1.8 + rows.m - 3 * rows.o + rows[list(marks)].sum(axis=1)
        limits = dict.fromkeys(rows, (0, 1))
        rows["y"] = 1.0 * (rng.random(15_000) < 1 / (1 + np.exp(-eta)))
        fit = dp_glm("y ~ " + " + ".join(limits), rows, mu=1, seed=seed, limits=limits)
        error = fit.se()[truth.index]
        assert error.max() < 0.15
        assert np.abs((fit.coef()[truth.index] - truth) / error).max() < 6


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize(("share", "n"), [(0.008, 10_000), (0.02, 20_000)])
def test_a_first_level_that_one_public_row_has_does_not_spoil_the_others(
    share: float, n: int, k: int
) -> None:
    """Whitened by so few its rows were cut, steps too long, and errors up to a hundred times as long.

    A false alarm is one of 168 normal numbers beyond 6, 3e-7.
    """
    levels = [f"l{j:02d}" for j in range(20)]
    chance = np.array([share] + 19 * [(1 - share) / 19])

    def draw(rng: np.random.Generator, n: int) -> pd.DataFrame:
        rows = pd.DataFrame({"x": rng.normal(size=n), "g": rng.choice(levels, n, p=chance)})
        return rows.assign(y=rows.x + 2 * (rows.g == "l00") + rng.normal(size=n))

    longest = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        rows, public = draw(rng, n), draw(rng, 600)
        first, others = public[public.g == "l00"], public[public.g != "l00"]
        public = pd.concat([others, first.head(k)])
        assert (public.g == "l00").sum() == k
        fit = dp_lm("y ~ x + g", rows, public, mu=1, seed=seed)
        away = (fit.coef() - [2, 1, *(19 * [-2])]) / fit.se()
        assert np.abs(away).max() < 6
        longest.append(fit.se().max())
    assert np.median(longest) < 3 / math.sqrt(share * n)  # three times as long as without privacy


def test_a_level_whose_rate_is_another_is_found_among_many() -> None:
    """Its information was taken to follow the outcomes of all: its effect swung from 6 to -11.

    Of 300 rows in 15 000 half have the outcome, of the others 6 to 20 percent. A false alarm is one of
    39 normal numbers beyond 6, 8e-8.
    """
    levels = [f"m{j}" for j in range(12)]
    share = np.array([0.02, 0.01, 0.02, 0.005, 0.05, 0.055, 0.1, 0.1, 0.12, 0.12, 0.1, 0.3])
    effect = np.array([0, 0.2, 0.1, -0.4, *([-2.2] * 4), *([-2.6] * 4)])
    for seed in range(3):
        rng = np.random.default_rng(seed)
        g = rng.choice(12, 15_000, p=share)
        rows = pd.DataFrame({"x": rng.normal(size=15_000), "g": np.array(levels)[g]})
        eta = 0.3 * rows.x + effect[g]
        rows["y"] = 1.0 * (rng.random(15_000) < 1 / (1 + np.exp(-eta)))
        fit = dp_glm("y ~ x + g", rows, mu=2, seed=seed, limits={"g": levels})
        away = (fit.coef() - [0, 0.3, *effect[1:]]) / fit.se()
        assert np.abs(away.to_numpy()).max() < 6


@pytest.mark.parametrize(("m", "mu", "seeds"), [(0, 8, (0, 1, 2)), (300, 12, (6, 9))])
def test_a_number_that_is_zero_in_nearly_all_rows_is_found(
    m: int, mu: float, seeds: tuple[int, ...]
) -> None:
    """Steps went back and forth over its slope, and no coefficient had an error.

    A false alarm is one of 20 normal numbers beyond 6, 4e-8.
    """
    for seed in seeds:
        rng = np.random.default_rng(seed)
        rows = _with_a_rare_number(rng, 6000)
        public = _with_a_rare_number(rng, m) if m else None
        fit = dp_glm("y ~ x + w + r", rows, public, mu=mu, seed=seed, family="binomial")
        assert (np.abs(fit.coef() - [-3.5, 0.5, -0.2, 2.0]) < 6 * fit.se()).all()
        assert (fit.se() < [0.4, 0.2, 0.3, 1.5]).all()


def _with_a_rare_number(rng: np.random.Generator, n: int) -> pd.DataFrame:
    rows = pd.DataFrame({"r": 1.0 * rng.poisson(0.006, n)})
    rows["x"], rows["w"] = rng.normal(size=n), rng.exponential(size=n)
    chance = 1 / (1 + np.exp(3.5 - 0.5 * rows.x + 0.2 * rows.w - 2 * rows.r))
    return rows.assign(y=1.0 * (rng.random(n) < chance))


@pytest.mark.parametrize("loss", ["loss_of_marks", "loss_of_long_rows"])
def test_cuts_follow_what_they_may_lose(loss: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of rare marks and of long rows: were more lost by short cuts, noise would be larger."""
    rng = np.random.default_rng(1)
    rows, public = _line(rng, 5000), _line(rng, 300)
    plain = dp_lm("y ~ x + t", rows, public, mu=1, seed=1).se()["x"]
    monkeypatch.setattr(losses, loss, lambda *_: lambda length: 9 / np.asarray(length))
    assert dp_lm("y ~ x + t", rows, public, mu=1, seed=1).se()["x"] > 1.2 * plain


def test_a_mark_is_one_beside_public_rows_too() -> None:
    """One mapping of limits serves a formula with public rows and without."""
    rng = np.random.default_rng(1)
    rows = pd.DataFrame({"t": 1.0 * (rng.random(3000) < 0.5), "x": rng.normal(size=3000)})
    rows["y"] = rows.t + rows.x + rng.normal(size=3000)
    given = {"public": rows.head(200), "mu": 1, "seed": 1}
    fit = dp_lm("y ~ t + x", rows, **given)
    marked = dp_lm("y ~ t + x", rows, limits={"t": (0, 1)}, **given)
    assert marked.coef().equals(fit.coef())
    with pytest.raises(ArgumentError, match="ranges are for fits without public rows"):
        dp_lm("y ~ t + x", rows, limits={"t": (0, 2)}, **given)


def _first(n: int, rng: np.random.Generator) -> pd.DataFrame:
    """One row in 200 has the first level, with which all others are compared."""
    rows = pd.DataFrame({"g": rng.choice(list("abc"), n, p=[0.005, 0.4, 0.595])})
    rows["x"] = rng.normal(size=n)
    return rows.assign(y=2.0 * (rows.g == "a") + rows.x + rng.normal(size=n))


def test_what_is_compared_with_a_rare_first_level_keeps_to_its_errors() -> None:
    """Beside public rows of which one has it; squares of z were 3.6 on average, up to 45.

    No column of the design stood for the level (1.3 with one), and moments of its rows were moved
    towards the public ones, of which chance decides.
    """
    away = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        public, private, more = _first(300, rng), _first(10_000, rng), _first(2000, rng)
        public = pd.concat([public[public.g != "a"], more[more.g == "a"].head(1)])
        found = dp_lm("y ~ g + x", private, public, mu=1, seed=seed)
        away.append((found.coef()["g[T.b]"] + 2) / found.se()["g[T.b]"])
    assert np.isfinite(away).mean() > 0.9
    assert np.nanmean(np.square(away)) < 1.2
    assert np.nanmax(np.abs(away)) < 3


def test_where_all_is_told_a_rare_first_level_is_that_of_least_squares() -> None:
    rng = np.random.default_rng(3)
    public, private = _first(300, rng), _first(4000, rng)
    assert (public.g == "a").any()
    found = dp_lm("y ~ g", private, public, mu=1e5, vcov="iid", seed=1)
    design = np.column_stack([np.ones(4000), private.g == "b", private.g == "c"])
    inverse = np.linalg.inv(design.T.astype(float) @ design)
    expected = inverse @ design.T @ private.y
    sigma = np.sqrt(((private.y - design @ expected) ** 2).sum() / 3997)
    assert found.coef().to_numpy() == pytest.approx(expected, abs=1e-3)
    assert found.se().to_numpy() == pytest.approx(sigma * np.sqrt(np.diag(inverse)), rel=1e-3)


def test_levels_are_one_in_their_rows_whatever_the_coding() -> None:
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"y": rng.normal(size=90), "x": rng.normal(size=90)})
    table["g"], table["h"] = np.resize(list("abc"), 90), rng.random(90) < 0.5
    for formula, count in {
        "y ~ x + g * h": 7,
        "y ~ 0 + g + x": 3,
        "y ~ C(g, contr.sum) + x": 3,
        "y ~ g + h - 1": 4,
        "y ~ x:g": 0,
    }.items():
        design = public_moments(formula, table).design
        found = design.matrix(table)[0] @ indicators(design)
        assert found.shape[1] == count
        assert np.isin(found.round(9), (0.0, 1.0)).all()


def test_a_constant_that_stands_for_a_hidden_first_level_has_no_error() -> None:
    """It had one, thirteen of which lay between it and the truth; the note named the others alone."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        rows = pd.DataFrame({"g": rng.choice(list("abcde"), 20_000, p=[0.0012] + 4 * [0.2497])})
        rows["x"], rows["w"] = rng.normal(4, 1, 20_000), rng.normal(10, 2, 20_000)
        rows["y"] = rows.x + rows.w + rng.normal(size=20_000)
        fit = dp_lm("y ~ g + x + w", rows, mu=1, limits={"g": list("abcde")}, seed=seed)
        assert [*fit.se().isna()] == 5 * [True] + 2 * [False]
        assert any("put a level that many rows have first" in note for note in fit.notes)


@pytest.mark.parametrize(
    "formula",
    [
        "y ~ C(g, [[1, 2], [1, 2], [0, 0]]) + x",
        "y ~ C(g, [[1, 1], [1, 1], [1, 1]]) + x",
        "y ~ C(year, levels=[2000, 2001]) + x",
    ],
)
@pytest.mark.parametrize("fit", [dp_lm, dp_glm])
def test_contrasts_that_repeat_one_another_and_levels_left_out_end_with_a_result(
    fit: Callable[..., Any], formula: str
) -> None:
    """They ended in an error of linear algebra, after the charge."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"g": rng.choice(list("abc"), 4000), "x": rng.normal(size=4000)})
    rows["year"], rows["y"] = rng.choice([2000, 2001, 2002], 4000), 1.0 * rng.poisson(1, 4000)
    limits = {"g": list("abc"), "year": [2000, 2001, 2002]}
    limits = {name: levels for name, levels in limits.items() if name in formula}
    family = {} if fit is dp_lm else {"family": "poisson"}
    found = fit(formula, rows, mu=3, seed=1, limits=limits, **family)
    assert np.isfinite(found.se()["x"])
