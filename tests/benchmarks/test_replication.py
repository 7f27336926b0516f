"""Every figure of the papers that needs no data runs, is drawn, and answers its claims."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure as Picture

from tests.benchmarks.replication import draw, logistic, ols, ridge
from tests.benchmarks.replication.__main__ import CLAIMS, FIGURES, chosen, read_table, write_table
from tests.benchmarks.replication.checks import split_name
from tests.benchmarks.replication.curves import at_most, below_one, curve, first, listed, reached
from tests.benchmarks.replication.figure import Figure, Point, Sizes, gathered
from tests.benchmarks.replication.noise import Noise
from tests.benchmarks.replication.problem import standardised
from tests.benchmarks.settings import simulated

# the papers' budgets are small for some of their tables, and curves warn of it
pytestmark = pytest.mark.filterwarnings("ignore::dpstats.errors.PlanWarning")
SIMULATED = [f for f in FIGURES if not f.real]
OF_MOMENTS = [f for paper in (ridge, logistic, ols) for f in paper.FIGURES if not f.real]
OFTEN = ("ridge-1b", "logistic-3", "ols-1", "eptr-1-size", "gaussian-3")
COLUMNS = ["figure", "panel", "series", "x", "repeats", "mean", "sd", "median", "missing"]
FAST = Sizes(fast=True)


@cache
def points(figure: Figure, seed: int) -> list[Point]:
    return list(figure.points(seed, FAST))


@cache
def table(figure: Figure) -> pd.DataFrame:
    return gathered(figure.name, points(figure, 0) + points(figure, 1), 2)


def given(figures: Iterable[Figure]) -> list[object]:
    """Figures as parameters; one of every paper by default, the others among the slow tests."""
    slow = [pytest.mark.slow]
    return [pytest.param(f, id=f.name, marks=[] if f.name in OFTEN else slow) for f in figures]


@pytest.fixture(params=given(SIMULATED))
def figure(request: pytest.FixtureRequest) -> Figure:
    found: Figure = request.param
    if found.needs:
        pytest.importorskip(found.needs)
    return found


def test_a_table_has_every_panel_and_no_series_without_answers(figure: Figure) -> None:
    found = table(figure)
    assert list(found.columns) == COLUMNS
    assert tuple(dict.fromkeys(found.panel)) == figure.panels
    assert not found.duplicated(["panel", "series", "x"]).any()
    answers = found.groupby(["panel", "series"])["missing"].min()
    assert (answers == 0).all()
    assert (found["mean"].dropna() >= 0).all()


@pytest.mark.parametrize("figure", given(OF_MOMENTS))
def test_every_panel_has_our_estimate_and_one_without_noise(figure: Figure) -> None:
    for _, rows in table(figure).groupby("panel"):
        methods = {split_name(s)[0] for s in rows.series}
        assert any(m.startswith("dp_") for m in methods)
        assert any(" without " in m for m in methods)


@pytest.mark.slow
def test_a_repetition_is_a_function_of_its_seed(figure: Figure) -> None:
    first, other = (pd.DataFrame([vars(p) for p in points(figure, seed)]) for seed in range(2))
    again = pd.DataFrame([vars(p) for p in figure.points(0, FAST)])
    pd.testing.assert_frame_equal(first, again, check_exact=True)
    one = first[first.x == first.x.max()]
    differs = one.value != other[other.x == other.x.max()].value
    # Shares and distances may be 0 or 1 under every seed, and an answer for no reply is always one.
    assert differs.all() if figure in OF_MOMENTS else differs.any()


@pytest.mark.slow
def test_a_picture_has_every_series(figure: Figure, tmp_path: Path) -> None:
    found = table(figure)
    picture = draw.draw(figure, found)
    drawn = sum(len(ax.lines) for ax in picture.axes)
    assert drawn == found.groupby(["panel", "series"]).ngroups
    draw.save(picture, tmp_path / "a.svg")
    draw.save(draw.draw(figure, found), tmp_path / "b.svg")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_claims_are_answered_alike_before_and_after_writing(figure: Figure, tmp_path: Path) -> None:
    claims = [c for c in CLAIMS if c.figure == figure.name]
    assert claims
    write_table(table(figure), tmp_path / "table.csv")
    for claim in claims:
        found = claim.check(read_table(tmp_path / "table.csv"))
        assert found.agrees in ("yes", "partly", "no")
        assert any(character.isdigit() for character in found.measured)
        assert "nan" not in found.measured


def test_claims_are_made_of_figures_that_exist_and_say_why() -> None:
    names = [f.name for f in FIGURES]
    assert len(set(names)) == len(names)
    assert {c.figure for c in CLAIMS} == set(names)
    assert all(c.why.endswith(".") for c in CLAIMS)


def test_figures_are_chosen_by_what_their_names_begin_with() -> None:
    assert [f.name for f in chosen(["ridge-1"])] == ["ridge-1a", "ridge-1b"]
    assert chosen(None) == list(FIGURES)
    with pytest.raises(SystemExit, match="no figure begins with nothing"):
        chosen(["nothing"])


def test_noise_has_a_stream_for_each_call_and_none_of_the_data() -> None:
    noise = Noise(3)
    drawn = [noise.rng().random(), noise.rng().random(), np.random.default_rng(3).random()]
    assert len(set(drawn)) == 3
    assert Noise(3).seed() == Noise(3).seed()


def test_standardised_rows_have_mean_0_and_variance_1_together() -> None:
    p = standardised(simulated(0, 300, 40), 200, without=7)
    rows = np.concatenate([p.setting.x, p.setting.public_x])
    assert rows.shape == (339, 10)
    np.testing.assert_allclose(rows.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(rows.std(axis=0), 1)
    assert len(p.private) == 200
    assert p.rows(50, 12).setting.public_x.shape == (12, 10)


def test_curves_are_read_as_they_are_written() -> None:
    rows = [("f", "", "a", x, y) for x, y in ((1, 4.0), (100, 1.0), (10, 2.0))]
    frame = pd.DataFrame(rows, columns=["figure", "panel", "series", "x", "mean"])
    values = curve(frame, "a")
    assert listed(values) == "4 at 1, 2 at 10, 1 at 100"
    assert reached(values, 2.0) == pytest.approx(10)
    assert reached(values, math.sqrt(8)) == pytest.approx(math.sqrt(10))
    assert math.isnan(reached(values, 0.5))
    assert first(1 / values, 0.5) == 10
    assert math.isnan(first(values, 2.0))
    assert below_one(values / 3) == "partly"
    assert at_most(math.nan, 1, 2) == "no"
    with pytest.raises(KeyError):
        curve(frame, "b")


def test_labels_of_small_numbers_are_not_shortened(tmp_path: Path) -> None:
    ax = (picture := Picture()).subplots()
    ax.plot([0.123456, 0.2], [0, 1])
    ax.set_xticks([0.12345], ["0.0001"])
    draw.save(picture, tmp_path / "x.svg")
    text = (tmp_path / "x.svg").read_text()
    assert ">0.0001</text>" in text
    assert not re.search(r"M \d+\.\d{3}", text)
