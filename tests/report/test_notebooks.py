"""What a notebook shows of results, errors and progress."""

from __future__ import annotations

import html
import pickle
import warnings
from functools import cache
from typing import Any

import pandas as pd
import pytest

from dpstats import Budget, dp_lm, public_moments
from dpstats.datasets import fair
from dpstats.errors import DPStatsError, FormulaError
from dpstats.frame.executors import Bar

PUBLIC, PRIVATE = fair()


@cache
def fit() -> Any:
    return dp_lm("rate_marriage ~ age + religious", PRIVATE, public=PUBLIC, mu=1, seed=1)


def test_tables_of_bounds_and_diagnostics_cut_no_word() -> None:
    for table in (fit().bounds(), fit().diagnostics(), fit().privacy.mechanisms):
        assert isinstance(table, pd.DataFrame)
        assert "..." not in table._repr_html_()
        for column in table.select_dtypes(exclude="number"):
            shown = html.unescape(table._repr_html_())
            assert [text for text in table[column] if str(text) not in shown] == []
    assert (fit().bounds().premises.str.len() > 50).any()  # where pandas would cut
    kept = fit().bounds()[["statement", "premises"]].head(2)
    assert kept._repr_html_() == pickle.loads(pickle.dumps(kept))._repr_html_()


def test_printed_tables_fit_the_width_of_a_terminal_and_cut_no_column() -> None:
    for table in (fit().bounds(), fit().diagnostics(), fit().tidy(), fit().privacy.mechanisms):
        text = str(table)
        assert max(map(len, text.splitlines())) <= 80
        assert all(name in text for name in table.columns)
        assert "..." not in text
    assert str(fit().update("~ . - age").bounds()).startswith("No rows; columns: statement,")


def test_a_path_shows_some_penalties_and_no_negative_zero() -> None:
    path = fit().path("lasso")
    shown = str(path)
    assert len(shown.splitlines()) < 16
    assert "of 50 penalties: .coef has all" in " ".join(shown.split())
    assert "-0.000000" not in shown
    assert len(path.coef) == 50
    assert "<table" in path._repr_html_()


def test_privacy_budgets_and_moments_have_html() -> None:
    assert "Unit of privacy" in fit().privacy._repr_html_()
    assert "<table" in Budget(mu=1)._repr_html_()
    assert "<td>318 public rows</td>" in public_moments("~ age", PUBLIC)._repr_html_()


def test_an_error_shows_the_callers_line_and_not_the_inside_of_the_package() -> None:
    with pytest.raises(DPStatsError) as raised:
        fit().update("~ . + occupation")  # this line
    assert isinstance(raised.value, FormulaError)
    text = "\n".join(raised.value._render_traceback_())
    assert "# this line" in text
    assert "needs `occupation`" in text
    assert "result.py" not in text
    assert len(text.splitlines()) < 6


def test_a_bar_says_nothing_of_notebooks_tools() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with Bar("dp_lm: pass 1", 100, 10, True) as bar:
            bar.advance(50)
