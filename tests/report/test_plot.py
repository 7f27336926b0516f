"""Plots: what is drawn is what was released, read back from the drawing itself."""

import sys
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpstats import (
    dp_glm,
    dp_lm,
    dp_mean,
    dp_mixture,
    dp_mvnorm,
    eptr,
    eptr_bayes,
    eptr_lm,
    eptr_nw,
)
from dpstats.accounting.privacy import ApproximatePrivacy, Privacy, PurePrivacy, Total
from dpstats.accounting.tradeoff import smallest_type_two
from dpstats.audit import audit
from dpstats.datasets import fair
from dpstats.errors import ArgumentError, DPStatsError
from dpstats.report.coefficients import apart, folded, plot_coefficients
from dpstats.report.privacy import PrivacyStatement
from dpstats.report.result import Coefficients
from dpstats.score_rounds.path import Path

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
pyplot = pytest.importorskip("matplotlib.pyplot")

_FORMULA = "rate_marriage ~ age + yrs_married + religious"
_TERMS = ["age", "yrs_married", "religious"]
_EPSILON: dict[str, Any] = {"epsilon": 1, "delta": 1e-5, "seed": 1}


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    before = dict(pyplot.rcParams)
    yield
    pyplot.close("all")
    assert dict(pyplot.rcParams) == before  # the settings stay the user's


def _clouds(n: int) -> pd.DataFrame:
    rng = np.random.default_rng(n)
    x = rng.normal(size=(n, 2)) + 12 * rng.integers(0, 2, (n, 1))
    return pd.DataFrame(x, columns=["x1", "x2"])


@cache
def _fit(kind: str) -> Any:
    public, private = (table.assign(affair=table.affairs > 0) for table in fair())
    if kind == "dp_lm":
        return dp_lm(_FORMULA, private, public, mu=1, seed=1)
    if kind == "dp_glm":
        return dp_glm("affair ~ age + religious", private, public, mu=1, family="binomial", seed=1)
    if kind == "eptr_lm":
        return eptr_lm(_FORMULA, private, public, **_EPSILON)
    if kind == "eptr_lm, sums":
        return eptr_lm(_FORMULA, private, public, method="adassp", **_EPSILON)
    if kind == "eptr_bayes":
        return eptr_bayes("affair ~ age + religious", private, public, **_EPSILON)
    if kind == "eptr_nw":
        return eptr_nw("rate_marriage ~ age", private, public, **_EPSILON)
    if kind == "eptr":
        return eptr(None, 3.2, 40.0, alpha=0.05, target=40, **_EPSILON)
    if kind == "dp_mixture":
        return dp_mixture("~ x1 + x2", _clouds(5000), public=_clouds(60), k=2, rho=0.5, seed=1)
    if kind == "dp_mean":
        return dp_mean(["age", "educ"], private, public, epsilon=1, seed=1)
    assert kind == "dp_mvnorm"
    return dp_mvnorm("~ age + educ", private, public, rho=0.5, seed=1)


_WITH_TERMS = ["dp_lm", "dp_glm", "eptr_lm", "eptr_lm, sums"]
_OTHERS = ["eptr_bayes", "eptr_nw", "eptr", "dp_mixture", "dp_mean", "dp_mvnorm"]
_DRAWN = ["dp_lm", "eptr_nw", "dp_mixture", "dp_mvnorm"]


def _segments(ax: Any) -> dict[str, Any]:
    """Ends of horizontal lines by their name in the legend, as (low, high, height)."""
    named = [c for c in ax.collections if not c.get_label().startswith("_")]
    return {
        c.get_label(): np.array([(s[0, 0], s[1, 0], s[0, 1]) for s in c.get_segments()])
        for c in named
    }


def _points(ax: Any) -> Any:
    (line,) = [one for one in ax.lines if one.get_marker() == "o"]
    return line


def _names(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.get_yticklabels()]


def _said(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


# -- coefficients -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", _WITH_TERMS)
def test_released_numbers_are_drawn(kind: str) -> None:
    fit = _fit(kind)
    ax = fit.plot(level=0.9)
    ax.figure.canvas.draw()
    shown = fit.coef().drop("Intercept")
    assert _names(ax) == shown.index.tolist()
    assert _points(ax).get_xdata() == pytest.approx(shown.to_numpy())
    whole = fit.confint(0.9).loc[shown.index].to_numpy()
    drawn = _segments(ax)
    assert drawn["sampling and privacy"][:, :2] == pytest.approx(whole)
    alone = np.sqrt(np.diag(fit.vcov("sampling").loc[shown.index, shown.index]))
    half = np.diff(drawn["sampling"][:, :2], axis=1).ravel() / 2
    assert half == pytest.approx(1.6448536 * alone, rel=1e-6)
    assert ax.get_xlabel() == "estimate, 90 % interval"
    assert _said(ax) == ["sampling", "sampling and privacy"]
    bottom, top = ax.get_ylim()
    assert bottom > top  # the first term is on top


def test_terms_are_chosen_by_name() -> None:
    fit = _fit("dp_lm")
    assert _names(fit.plot(intercept=True)) == ["Intercept", *_TERMS]
    assert _names(fit.plot(terms=["religious", "age", "religious"])) == ["religious", "age"]
    assert _names(fit.plot("Intercept")) == ["Intercept"]
    assert _names(fit.update("~ 1").plot()) == ["Intercept"]
    own = pyplot.figure().add_subplot()
    assert fit.plot(ax=own) is own


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"terms": ["agee"]}, "no term 'agee'; the terms are 'Intercept', 'age', 'yrs_married'"),
        ({"terms": []}, "names none; the terms are 'Intercept'"),
        ({"terms": 3}, "must be a list of names"),
        ({"terms": [3]}, "no term 3"),
        ({"level": 1}, "level must lie"),
        ({"level": "a"}, "level must lie"),
        ({"intercept": "no"}, "True or False"),
        ({"ax": "a"}, "one matplotlib Axes, not 'a'"),
        ({"ax": [1, 2]}, "one matplotlib Axes, not a list"),
    ],
)
def test_what_coefficients_cannot_be_drawn(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        _fit("dp_lm").plot(**given)
    assert pyplot.get_fignums() == []


def _coefficients(terms: list[str], sampling: list[float]) -> Coefficients:
    d = len(terms)
    return Coefficients(tuple(terms), np.arange(d) + 1.0, np.diag(sampling), 0.1 * np.eye(d))


def test_without_errors_there_are_points() -> None:
    nan = float("nan")
    ax = plot_coefficients(_coefficients(["a", "b", "c"], [nan, 1.0, nan]), None, 0.95, False, None)
    given, alone = [line for line in ax.lines if line.get_marker() == "o"]
    assert (given.get_xdata().tolist(), alone.get_xdata().tolist()) == ([2], [1, 3])
    assert (alone.get_markerfacecolor(), _said(ax)[-1]) == ("white", "no interval")
    assert [row[2] for row in _segments(ax)["sampling"]] == [1]
    bare = plot_coefficients(_coefficients(["a", "b"], [nan, nan]), None, 0.95, False, None)
    assert _said(bare) == ["no interval"]
    assert bare.get_xlabel() == "estimate"
    bare.figure.canvas.draw()


def test_names_are_shown_as_they_are_and_figures_grow() -> None:
    odd = ["_x", "income ($)$", "C(occupation_of_the_husband, Sum)[S.professional]:yrs_married"]
    ax = plot_coefficients(_coefficients(odd, [1.0] * 3), None, 0.95, False, None)
    ax.figure.canvas.draw()
    assert [name.replace("\n", "") for name in _names(ax)] == odd
    assert max(len(line) for name in _names(ax) for line in name.split("\n")) <= 26
    many = [f"x{j}" for j in range(60)]
    tall = plot_coefficients(_coefficients(many, [1.0] * 60), None, 0.95, False, None)
    assert tall.figure.get_size_inches()[1] > 4 * ax.figure.get_size_inches()[1]
    # names of neighbours do not touch
    tall.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in tall.get_yticklabels()]
    assert all(a.y0 > b.y1 for a, b in pairwise(boxes))


def test_a_name_without_parts_is_broken_where_it_must() -> None:
    assert folded("x" * 60).split("\n") == ["x" * 26, "x" * 26, "x" * 8]
    assert folded("") == ""


# -- paths ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("penalty", ["ridge", "lasso", "elasticnet"])
def test_a_path_is_drawn(penalty: str) -> None:
    path = _fit("dp_lm").path(penalty)
    ax = path.plot()
    ax.figure.canvas.draw()
    assert [text.get_text() for text in ax.texts] == _TERMS
    for line, term in zip(ax.lines, _TERMS, strict=True):
        drawn = pd.Series(line.get_ydata(), index=line.get_xdata())
        released = path.coef.set_index("lambda")[term].sort_index()
        assert drawn.index.to_numpy() == pytest.approx(released.index.to_numpy())
        assert drawn.to_numpy() == pytest.approx(released.to_numpy())
    assert ax.get_xscale() == "log"
    assert ax.get_xlim()[0] < ax.get_xlim()[1]
    assert penalty in ax.get_xlabel()
    own = pyplot.figure().add_subplot()
    assert path.plot(["age"], ax=own) is own
    assert [text.get_text() for text in own.texts] == ["age"]
    assert len(path.plot(intercept=True).lines) == 4


def test_paths_at_a_few_penalties() -> None:
    fit = _fit("dp_lm")
    ax = fit.path("ridge", lambdas=[1.0, 0.0, 0.1]).plot()
    assert "0 left out" in ax.get_xlabel()
    assert ax.lines[0].get_xdata().tolist() == [0.1, 1.0]
    one = fit.path("lasso", lambdas=[0.01]).plot()
    assert one.lines[0].get_marker() == "o"
    one.figure.canvas.draw()
    with pytest.raises(ArgumentError, match="no lambda is above 0"):
        fit.path("ridge", lambdas=[0]).plot()
    with pytest.raises(ArgumentError, match="the terms are 'Intercept', 'age'"):
        fit.path("ridge").plot(terms=["zz"])


def test_many_paths_have_styles_and_names_of_their_own() -> None:
    names = ["Intercept", *(f"x{j}" for j in range(20))]
    frame = pd.DataFrame([[1.0, *np.linspace(0, 0.1, 21)], [10.0, *np.zeros(21)]])
    ax = Path("ridge", frame.set_axis(["lambda", *names], axis=1), "From released numbers.").plot()
    assert len({(line.get_color(), str(line._dash_pattern)) for line in ax.lines}) == 20
    ax.figure.canvas.draw()
    boxes = sorted((text.get_window_extent() for text in ax.texts), key=lambda box: box.y0)
    assert all(a.y1 <= b.y0 + 1 for a, b in pairwise(boxes))
    low, high = ax.get_window_extent().intervaly
    assert boxes[0].y0 >= low - 1
    assert boxes[-1].y1 <= high + 1


def test_places_are_moved_apart_as_little_as_can_be() -> None:
    places = np.array([0.0, 0.1, 1.0])
    assert apart(places, 0.05).tolist() == pytest.approx(places.tolist())
    moved = apart(np.array([1.0, 0.0, 0.0, 0.0]), 0.3)
    assert np.diff(np.sort(moved)).min() >= 0.3 - 1e-12
    assert moved[1:].mean() == pytest.approx(0.0)


# -- what a total leaves ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [*_WITH_TERMS, *_OTHERS])
def test_every_result_shows_its_privacy(kind: str) -> None:
    fit = _fit(kind)
    ax = fit.plot_privacy()
    ax.figure.canvas.draw()
    curve = ax.lines[0]
    assert curve.get_ydata() == pytest.approx(
        smallest_type_two(fit.privacy.total, curve.get_xdata())
    )
    title = ax.get_title().replace("\n", " ")
    assert fit.privacy.unit in title
    assert "seeded: not for release" in title
    own = pyplot.figure().add_subplot()
    assert fit.plot_privacy(own) is own
    assert fit.plot_privacy(ax=own, at=1e-4) is own


_TOTALS: list[tuple[Total, float, str, list[str]]] = [
    (
        Privacy(1.0),
        1e-6,
        "mu = 1 (GDP)",
        [
            "type I 5 %: type II >= 74 %",
            "epsilon 3.14 at delta 0.001",
            "epsilon 4.38 at delta 1e-05",
            "epsilon 4.89 at delta 1e-06",
            "epsilon 5.35 at delta 1e-07",
        ],
    ),
    (
        Privacy(1.0, 1e-6),
        1e-5,
        "mu = 1 (GDP) up to delta0 = 1e-06",
        [
            "type I 5 %: type II >= 74 %",
            "epsilon 3.14 at delta 0.001",
            "epsilon 4.4 at delta 1e-05",
        ],
    ),
    (
        PurePrivacy(1.0),
        0.0,
        "epsilon = 1 (pure)",
        ["type I 5 %: type II >= 86.4 %", "epsilon 1 at delta 0"],
    ),
    (
        ApproximatePrivacy(1.0, 0.01),
        0.01,
        "epsilon = 1 at delta = 0.01",
        ["type I 5 %: type II >= 85.4 %", "epsilon 1 at delta 0.01"],
    ),
]


@pytest.mark.parametrize(("total", "delta", "title", "said"), _TOTALS)
def test_a_total_in_its_other_units(
    total: Total, delta: float, title: str, said: list[str]
) -> None:
    ax = PrivacyStatement(total, (), seeded=False, shown_delta=delta).plot()
    ax.figure.canvas.draw()
    assert ax.get_title() == f"{title}\none row replaced by another (n is public)"
    assert _said(ax) == ["smallest type II error", "no information", *said]
    alpha, curve = (np.asarray(v) for v in ax.lines[0].get_data())
    assert curve == pytest.approx(smallest_type_two(total, alpha))
    if not isinstance(total, Privacy):  # the kink is one of the points
        assert np.abs(alpha - curve).min() < 1e-9


def test_the_curve_of_a_group_lies_lower() -> None:
    statement = _fit("dp_lm").privacy
    one, three = (s.plot().lines[0].get_ydata() for s in (statement, statement.for_group(3)))
    assert (three <= one).all()


def test_deltas_are_chosen() -> None:
    ax = _fit("dp_lm").plot_privacy(at=[1e-9, 0.01])
    assert [text.split(" at ")[1] for text in _said(ax)[3:]] == ["delta 0.01", "delta 1e-09"]
    assert len(_said(_fit("dp_mean").plot_privacy(at=0.1))) == 4
    for at in (0, 1, -1, "a", [0.1, "a"], [None], {}.get):
        with pytest.raises(ArgumentError, match="at "):
            _fit("dp_lm").plot_privacy(at=at)
    with pytest.raises(ArgumentError, match="one matplotlib Axes"):
        _fit("dp_lm").plot_privacy(ax=np.zeros(2))


# -- all of them ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", _DRAWN)
def test_all_plots_fit_half_a_page(kind: str) -> None:
    figure = pyplot.figure(figsize=(3.3, 2.6), layout="constrained")
    ax = figure.add_subplot()
    _fit(kind).plot(ax=ax)
    _inside(figure)
    assert {text.get_fontsize() < 9 for text in ax.get_legend().get_texts()} == {True}


def _inside(figure: Any) -> None:
    figure.canvas.draw()
    box = figure.get_tightbbox()
    assert box.x0 > -0.02
    assert box.y0 > -0.02
    assert box.x1 < 3.32
    assert box.y1 < 2.62


@pytest.mark.slow
def test_other_plots_fit_half_a_page() -> None:
    noise = np.random.default_rng(1)
    found = audit(lambda d: d + noise.normal(), (0.0, 1.0), mu=1, trials=400)
    path = _fit("dp_lm").path()
    for draw in (found.plot, _fit("eptr_lm").plot_privacy, lambda ax: path.plot(ax=ax)):
        figure = pyplot.figure(figsize=(3.3, 2.6), layout="constrained")
        draw(figure.add_subplot())
        _inside(figure)


def test_without_matplotlib_the_error_names_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fit, path = _fit("dp_lm"), _fit("dp_lm").path()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    for draw in (fit.plot, fit.plot_privacy, fit.privacy.plot, path.plot):
        with pytest.raises(DPStatsError, match=r"pip install \"dpstats\[plot\]\""):
            draw()


@pytest.mark.parametrize("projection", ["polar", "3d"])
def test_odd_axes_are_refused(projection: str) -> None:
    ax = pyplot.figure().add_subplot(projection=projection)
    for plot in (_fit("dp_lm").plot, _fit("dp_lm").plot_privacy, _fit("dp_lm").path().plot):
        with pytest.raises(ArgumentError, match="one matplotlib Axes"):
            plot(ax=ax)


def test_names_of_any_length_leave_room_for_the_picture() -> None:
    name = "level " + "x" * 100_000
    assert len(folded(name)) < 150
    estimates = Coefficients((name, "b"), np.ones(2), np.eye(2), np.eye(2))
    plot_coefficients(estimates, None, 0.95, False, None).figure.canvas.draw()


def test_lists_without_an_end_are_refused() -> None:
    for given in ({"terms": iter(str, "a")}, {"terms": {"age": 1}}):
        with pytest.raises(ArgumentError, match="list of names"):
            _fit("dp_lm").plot(**given)
    with pytest.raises(ArgumentError, match="at must be"):
        _fit("dp_lm").plot_privacy(at=[0.1] * 1000)
