"""Later passes have the rows that were counted at first; rows are cut before they are used."""

from __future__ import annotations

from concurrent.futures import Executor
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpstats import Budget, dp_glm, dp_lm, dp_mean
from dpstats.accounting.privacy import Privacy
from dpstats.datasets import fair
from dpstats.errors import PassError
from dpstats.frame import FirstRows, Reading, learn_design, open_rows
from dpstats.frame.persons import SomeRows
from dpstats.frame.reading import OneTable
from dpstats.frame.schema import check_table
from dpstats.frame.tables import as_table
from dpstats.mechanism import passes as slabs
from dpstats.mechanism.passes import PrivateRows
from dpstats.mechanism.threads import InTurn
from dpstats.models.linear.releases import LinearSession
from dpstats.score_rounds.rows import LeastSquares, RoundCuts, ScoreRows
from tests.mechanism.sources import Arrays, Floats, NonPrivateSilence

# -- another number of rows -------------------------------------------------------------------------


def _rows(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    y = 0.5 * x + rng.normal(size=n)
    return pd.DataFrame({"x": x, "y": y, "who": np.arange(n)})


_PUBLIC, _PRIVATE = _rows(20, 1), _rows(90, 2)
_OTHERS = {"a row less": _PRIVATE[:-1], "a row more": pd.concat([_PRIVATE, _PRIVATE[:1]])}


class _Changing:
    """Blocks that are others from a pass on; in a list, or one after another."""

    def __init__(self, other: pd.DataFrame, at: int, listed: bool) -> None:
        self._other, self._at, self._listed, self.passes = other, at, listed, 0

    def __call__(self) -> Any:
        self.passes += 1
        table = _PRIVATE if self.passes < self._at else self._other
        blocks = [table[:40], table[40:]]
        return blocks if self._listed else iter(blocks)


@pytest.mark.parametrize("kept", [True, False], ids=["kept", "read again"])
@pytest.mark.parametrize("listed", [True, False], ids=["list", "iterator"])
@pytest.mark.parametrize("executor", [None, InTurn()], ids=["here", "elsewhere"])
@pytest.mark.parametrize("person", [None, "who"])
@pytest.mark.parametrize("other", _OTHERS)
def test_a_later_pass_with_other_rows_is_stopped(
    other: str,
    person: str | None,
    executor: Executor | None,
    listed: bool,
    kept: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In the second pass, the first after rows were counted; or in the third, after a release."""
    if not kept:
        monkeypatch.setattr(slabs, "_CACHE_BYTES", 0)
    at = 2 if kept else 3
    data, budget = _Changing(_OTHERS[other], at, listed), Budget(mu=1, person=person)
    options: dict[str, Any] = {"mu": 1, "executor": executor, "seed": 1, "budget": budget}
    fit: Any = partial(dp_lm, "y ~ x")
    if person is not None:  # of which the first rows count in each pass
        fit = partial(dp_mean, "~ x", person=person)
    said = (
        r"90 rows when they were counted, and (89|91) in a later .* stays charged to its budget\.$"
    )
    with pytest.raises(PassError, match=said):
        fit(data, public=_PUBLIC, **options)
    assert data.passes == at
    assert len(budget.entries) == 1, "it stays charged"


def test_a_part_with_other_rows_than_its_persons_is_stopped() -> None:
    """As a file that has changed since its persons were counted."""
    check = partial(check_table, learn_design("y ~ x", _PUBLIC))
    part = OneTable(as_table(_PRIVATE))
    kept = SomeRows(part, np.ones(90, dtype=bool))
    assert kept.size(check, lambda n: None) == 90
    for n in (89, 91):
        with pytest.raises(PassError, match=f"{n} rows"):
            SomeRows(part, np.ones(n, dtype=bool)).size(check, lambda n: None)


def test_later_rows_of_a_person_count_nowhere_where_all_columns_are_categories() -> None:
    """No number is missing there that would empty the row."""
    table = pd.DataFrame(
        {"g": ["a", "b", "a", "b"], "yes": [True, False, True, True], "who": [1, 1, 2, 2]}
    )
    design = learn_design("yes ~ 0 + g", table)
    (block,) = open_rows(design, table, Reading(), FirstRows("who", 1)).blocks()
    assert block.x.tolist() == [[1, 0], [0, 0], [1, 0], [0, 0]]
    assert block.y.tolist() == [1, 0, 1, 0]


# -- rows are cut first -----------------------------------------------------------------------------


def _one_far(length: float) -> pd.DataFrame:
    """Rows of one column; the last one of this length, in whitened units."""
    x = np.resize([1.0, -1.0, 0.7, -0.6], 40)
    x[-1] = length
    return pd.DataFrame({"x": x, "y": np.resize([1.0, 0.0, 1.0, 1.0, 0.0], 40)})


def test_the_papers_rows_are_truncated_before_the_family_sees_them() -> None:
    """Beyond the radius sqrt(d (1 + log(2n/eta))) = 2.9 it does not matter how far out a row is."""
    public = pd.DataFrame({"x": [1.0, -1.0] * 6, "y": [1.0, 1.0, 0.0] * 4})
    radius = np.sqrt(1 + np.log(2 * 40 / 0.05))
    found = [
        dp_glm(
            "y ~ 0 + x",
            _one_far(length * radius),
            public,
            family="binomial",
            mu=50,
            method="pmt",
            seed=1,
        ).coef()["x"]
        for length in (0.9, 1.5, 3.0)
    ]
    assert found[1] == pytest.approx(found[2], rel=1e-7)
    assert found[0] != pytest.approx(found[2], rel=1e-3), "and within it does"


def test_a_truncated_row_is_the_row_on_the_radius() -> None:
    class Linear:
        """Scores and curvatures that tell how far out a row is."""

        def working(self, eta: Floats, y: Floats) -> tuple[Floats, Floats, Floats]:
            return y - eta, 1 + eta**2, y - eta

        def possible(self, y: Floats) -> Any:
            return np.ones(len(y), dtype=bool)

        def expected_beyond(self, eta: Floats, unit: Floats, length: float) -> None:
            return None

    def totals(row: list[float]) -> list[Any]:
        x = np.array([[0.5, 0.1], row])
        rows = ScoreRows(Arrays(x, np.array([1.0, 2.0])), Linear(), np.eye(2), np.zeros(2), 2.0)
        found = rows.sums(np.array([0.3, -0.2]), RoundCuts(50.0, 50.0, 50.0))
        rows.close()
        assert found.information is not None
        assert found.score is not None
        return [*found.information.ravel(), *found.score, *found.squares]

    on_radius, beyond = totals([1.2, -1.6]), totals([600.0, -800.0])
    for one, two in zip(on_radius, beyond, strict=True):
        assert abs(one - two) <= 1e-9 * abs(one) + 100
    assert totals([0.6, -0.8]) != on_radius


_ANCHOR = np.array([0.7, -1.1])


def _ending_with(last: list[float], response: float) -> Arrays:
    x = np.vstack([np.random.default_rng(1).uniform(-0.5, 0.5, (7, 2)), last])
    return Arrays(x, np.append(x[:-1] @ _ANCHOR, response))


def _silent(last: list[float], response: float) -> LinearSession:
    source = _ending_with(last, response)
    return LinearSession(source, np.eye(2), np.zeros(2), Privacy(1.0), NonPrivateSilence())


def test_moments_with_the_response_take_it_as_it_is_or_cut_along() -> None:
    """The papers cut rows and responses apart; a weighted row takes its response along."""
    found = []
    for whole in (True, False):
        with _silent([300.0, 400.0], 50.0) as session:
            session._rows.cut(2.0)
            _, total = session._rows.gram_and_cross(100.0, whole=whole)
            found.append(total.astype(float) / session._rows.grid.steps**2)
    # the last row becomes (0.6, 0.8) of the radius, its response 0.5 of the clip, or 2/500 of that
    expected = np.array([0.6, 0.8]) * 0.5 * (1 - 2 / 500)
    assert found[0] - found[1] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
def test_a_row_without_a_finite_response_is_empty(bad: float) -> None:
    """It adds nothing to any total, its design no more than its response, and is counted."""
    found = []
    for last, response in (([3.0, 4.0], bad), ([0.0, 0.0], 0.0)):
        session = _silent(last, response)
        rows = session._rows
        rows.cut(2.0)
        scores = ScoreRows(_ending_with(last, response), LeastSquares(), np.eye(2), np.zeros(2))
        sums = scores.sums(_ANCHOR, RoundCuts(5.0, 2.0, 5.0, True))
        totals = [rows.gram(), rows.cross(5.0), sums.information, sums.outer, sums.score]
        totals += [sums.squares, sums.cut, sums.empty]
        found.append([None if total is None else total.tolist() for total in totals])
        rows.close()
        scores.close()
    assert found[0][:-1] == found[1][:-1]
    assert (found[0][-1], found[1][-1]) == ([1], [0])


@pytest.mark.parametrize("executor", [None, InTurn()], ids=["here", "elsewhere"])
def test_a_fit_says_how_often_it_goes_over_the_rows(
    executor: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = 0
    sums = PrivateRows._sums

    def counted(*given: Any) -> Any:
        nonlocal made
        made += 1
        return sums(*given)

    public, private = fair()
    monkeypatch.setattr(PrivateRows, "_sums", counted)
    fit = dp_lm("educ ~ age", private, public, mu=1, seed=1, executor=executor)
    assert fit.diagnostics().loc["passes", "value"] == made
    assert "passes" not in str(fit.summary())
