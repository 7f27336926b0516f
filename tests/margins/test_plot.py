"""Plots of margins: one line of the picture for every line of the table."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest

from dpstats import dp_glm, dp_lm
from dpstats.report.estimates import plot_estimates
from dpstats.report.released import Released

pyplot = pytest.importorskip("matplotlib.pyplot")
_RNG = np.random.default_rng(1)


def _rows(n: int) -> pd.DataFrame:
    rows = pd.DataFrame({"age": _RNG.uniform(20, 60, n), "g": _RNG.choice(["a", "b", "c"], n)})
    rows["y"] = rows["age"] / 10 + (rows["g"] == "b") + _RNG.normal(size=n)
    return rows.assign(z=(rows["y"] > 4).astype(float))


_PRIVATE, _PUBLIC = _rows(3000), _rows(200)


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    pyplot.switch_backend("Agg")
    yield
    pyplot.close("all")


def _labels(ax: object) -> list[str]:
    return [text.get_text() for text in ax.get_yticklabels()]  # type: ignore[attr-defined]


def _vertical(ax: object) -> list[float]:
    """Where straight lines stand: what no difference is."""
    lines = [line.get_xdata() for line in ax.get_lines()]  # type: ignore[attr-defined]
    return [float(x[0]) for x in lines if len(x) == 2 and x[0] == x[1]]


def test_means_have_names_and_no_line_of_no_difference() -> None:
    fit = dp_lm("y ~ age + g", _PRIVATE, public=_PUBLIC, mu=1, seed=1)
    ax = fit.emmeans("g").plot()
    assert _labels(ax) == ["a", "b", "c"]
    assert _vertical(ax) == []
    assert _vertical(fit.emmeans("g").contrasts().plot()) == [0.0]


def test_means_against_a_number_are_curves_one_for_each_other_name() -> None:
    fit = dp_lm("y ~ age * g", _PRIVATE, public=_PUBLIC, mu=1, seed=1)
    ax = fit.emmeans("age", by="g", at={"age": [20, 40, 60]}).plot()
    assert [len(line.get_xdata()) for line in ax.get_lines()] == [3, 3, 3]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b", "c"]
    assert ax.get_legend().get_title().get_text() == "g"
    assert ax.get_xlabel() == "age"


def test_contrasts_within_a_level_say_which() -> None:
    table = _PRIVATE.assign(h=np.where(_PRIVATE.age > 40, "old", "young"))
    fit = dp_lm("y ~ g * h", table, table[:200], mu=1, seed=1)
    ax = fit.emmeans("g", by="h").contrasts(method="trt.vs.ctrl").plot()
    flat = [" ".join(label.split()) for label in _labels(ax)]
    assert flat == ["h old: b - a", "h old: c - a", "h young: b - a", "h young: c - a"]


def test_means_of_several_factors_say_whose_levels_they_are() -> None:
    table = _PRIVATE.assign(h=np.where(_PRIVATE.age > 40, "old", "young"))
    fit = dp_lm("y ~ g + h", table, table[:200], mu=1, seed=1)
    flat = [" ".join(label.split()) for label in _labels(fit.emmeans(["g", "h"]).plot())]
    assert flat[:2] == ["g a, h old", "g b, h old"]
    (label,) = _labels(fit.slopes(table[:50], "h").plot())
    assert " ".join(label.split()) == "h: young - old"


def test_ratios_are_compared_to_one() -> None:
    fit = dp_glm("z ~ age + g", _PRIVATE, family="binomial", public=_PUBLIC, mu=1, seed=1)
    assert _vertical(fit.emmeans("g", type="response").contrasts().plot()) == [1.0]
    assert _vertical(fit.comparisons(_PUBLIC, "g", comparison="ratio").plot()) == [1.0]
    assert _vertical(fit.comparisons(_PUBLIC, "g").plot()) == [0.0]
    assert _vertical(fit.predictions(_PUBLIC, by="g").plot()) == []


def test_averages_over_private_rows_are_drawn_where_asked() -> None:
    fit = dp_lm("y ~ age * g", _PRIVATE, public=_PUBLIC, mu=1, seed=1)
    own = pyplot.subplots()[1]
    averages = fit.comparisons(data=_PRIVATE, mu=0.5, seed=2)
    assert isinstance(averages, Released)
    assert averages.plot(ax=own) is own
    assert len(_labels(own)) == len(averages.frame)


def test_an_estimate_without_interval_is_a_hollow_point() -> None:
    frame = pd.DataFrame(
        {
            "g": ["a", "b"],
            "emmean": [1.0, 2.0],
            "std_error": [0.1, np.nan],
            "conf_low": [0.8, np.nan],
            "conf_high": [1.2, np.nan],
        }
    )
    ax = plot_estimates(frame, None, None)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["no interval"]
    assert len(ax.collections[0].get_segments()) == 1
