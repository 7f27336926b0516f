"""What an audit shows: its page, its table of points, its plot, and what it says it did not examine."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from dpstats.audit import audit
from dpstats.audit.runs import Columns
from tests.audit.made_up import _gaussian, _Result


def test_pages_and_tables() -> None:
    found = audit(_gaussian(), (0.0, 1.0), mu=1, trials=2000)
    page = found.summary()
    for text in (page.to_text(), page.to_markdown(), page.to_latex(), page.to_html()):
        assert "Not refuted" in text
    assert page.to_csv().startswith("event,for,likely under,hits,")
    assert found._repr_html_() == page.to_html()
    table = found.table()
    assert (table["power_lower"] <= table["power"]).all()
    assert (table["alpha_upper"] >= table["alpha"]).all()
    assert table["mu"].max() > 0.5
    table.loc[:, "mu"] = 0
    assert found.table()["mu"].max() > 0.5


@pytest.mark.parametrize("claim", [{}, {"mu": 1}, {"epsilon": 1}, {"epsilon": 1, "delta": 0.1}])
def test_plots(claim: dict[str, float]) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    found = audit(_gaussian(), (0.0, 1.0), **claim, trials=2000)
    figure, ax = pyplot.subplots()
    assert found.plot(ax) is ax
    figure.canvas.draw()
    labels = ax.get_legend_handles_labels()[1]
    assert any("claim" in label for label in labels) == bool(claim)
    pyplot.close(figure)
    new = found.plot()
    assert new.get_xlabel() == "type I error (alpha)"
    pyplot.close(new.figure)


def test_the_page_ends_with_what_was_not_examined() -> None:
    words = " ".join(repr(audit(_gaussian(), (0.0, 1.0), mu=1, trials=400)).split())
    assert "Not examined: any other pair of data sets; events rarer than 1 in " in words
    assert "the time a run takes" in words
    assert "which floats far from zero the noise cannot reach" in words
    assert "digits of a Decimal between" in words
    assert "statistic=" not in words
    assert "200 numbers" not in words
    columns = Columns(("no reply", *(f"[{j}]" for j in range(210))), ())
    runs = np.random.Generator(np.random.PCG64(1)).normal(size=(3, 211))
    wide = columns.unseen(runs, [], False, 0.1)
    assert "numbers one by one, beyond the 40 that differ most" in wide
    assert "low digits beyond the first 200 numbers that vary" in wide
    assert not any("200" in words for words in columns.unseen(runs[[0, 0]], [], False, 0.1))
    deep = repr(audit(lambda data: _Result(1.0, list(range(500))), (0, 1), trials=40))
    assert "too many or too deep" in " ".join(deep.split())


def test_points_can_be_pickled() -> None:
    points = audit(float, (0, 1), trials=40).points
    assert pickle.loads(pickle.dumps(points)) == points
