"""Levels of private rows are counted row by row, whatever a cell holds and whoever holds the rows."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpstats import Budget, dp_glm, dp_lm
from dpstats.errors import SchemaError
from dpstats.frame import FirstRows, LevelCells, private_design
from dpstats.frame.rows import open_rows

_N = 3000
_TEXTS = ["01", "1", "1e5", "true", "", "nan", "a", "a ", "\u00e9", "e\u0301", "\ufffd"]


class _Raises:
    def __hash__(self) -> int:
        raise RuntimeError("the cell")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("the cell")


class _Text(str):
    pass


_CELLS: list[Any] = [
    *_TEXTS,
    *("\ud800", "a\udfff", b"a", b"\xff", _Text("a"), np.str_("a"), bytearray(b"a")),
    *(1, 10**80, True, 1.0, np.nan, np.float32(3), np.longdouble(3), 1 + 2j, Decimal("sNaN")),
    *(np.timedelta64(5, "D"), np.timedelta64("NaT"), np.datetime64("2020-01-01"), pd.NaT, pd.NA),
    *(None, [1], {}, float, _Raises(), object()),
]


def _objects(cells: list[Any]) -> pd.DataFrame:
    column = np.empty(len(cells), dtype=object)
    column[:] = cells
    return pd.DataFrame({"g": pd.Series(column, dtype=object)})


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from(range(len(_CELLS))), min_size=2, max_size=12), st.data())
def test_a_row_that_is_replaced_moves_two_counts_by_one(places: list[int], data: Any) -> None:
    cells = [_CELLS[k] for k in places]
    at = data.draw(st.integers(0, len(cells) - 1))
    other = [*cells[:at], _CELLS[data.draw(st.integers(0, len(_CELLS) - 1))], *cells[at + 1 :]]
    one, two = (LevelCells(_objects(column)).counts("g") for column in (cells, other))
    moved = [abs(one.get(name, 0) - two.get(name, 0)) for name in one | two]
    assert max(moved, default=0) <= 1
    assert sum(moved) <= 2
    assert sum(one.values()) <= len(cells)


@pytest.mark.parametrize(
    "made",
    [
        lambda t: t,
        lambda t: t.astype({"g": "category"}),
        lambda t: t.astype({"g": "string"}),
        lambda t: t.astype({"g": "string[pyarrow]"}),
        lambda t: t.astype({"g": pd.ArrowDtype(pa.string())}),
        lambda t: pa.table(t),
        lambda t: pa.table({"g": pa.array(t.g).dictionary_encode()}),
        lambda t: pl.from_pandas(t),
        lambda t: pl.from_pandas(t).with_columns(pl.col("g").cast(pl.Categorical)),
        lambda t: [t.iloc[:7], t.iloc[7:]],
    ],
    ids=[
        "objects",
        "category",
        "string",
        "arrow text",
        "arrow",
        "table",
        "codes",
        "polars",
        "cat",
        "list",
    ],
)
def test_texts_are_counted_as_they_are_spelled_and_found_again(made: Any) -> None:
    texts = [text for k, text in enumerate(_TEXTS) for _ in range(k + 1)]
    table = made(pd.DataFrame({"g": pd.Series(texts, dtype=object)}))
    counts = LevelCells(table).counts("g")
    assert counts == Counter(texts)
    design = private_design("~ 0 + g", table, {"g": sorted(counts)})
    (block,) = open_rows(design, pd.DataFrame({"g": texts})).blocks()
    assert dict(zip(sorted(counts), block.x.sum(axis=0), strict=True)) == counts


def test_of_a_person_the_first_rows_are_counted() -> None:
    table = pd.DataFrame({"g": ["a", "b", "b", "c", "b"], "who": ["p", "q", "q", None, "p"]})
    assert LevelCells(table, FirstRows("who", 1)).counts("g") == {"a": 1, "b": 1}
    blocks = [table[:2], table[2:]]
    assert LevelCells(blocks, FirstRows("who", 2)).counts("g") == {"a": 1, "b": 3}


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    st.lists(st.tuples(st.integers(0, 4), st.sampled_from([*"abc", None])), min_size=5),
    st.lists(st.sampled_from("abcd"), min_size=1),
)
def test_a_person_who_is_replaced_moves_two_counts_by_one(
    rows: list[tuple[int, str | None]], other: list[str]
) -> None:
    """Whatever rows the one and the other have, if one cell of each person counts."""
    rest = [row for row in rows if row[0]]
    tables = [rows, [(9, text) for text in other] + rest[::-1]]  # whatever the order of rows
    one, two = (
        LevelCells(
            pd.DataFrame(t, columns=["who", "g"]),
            FirstRows("who", None),
            persons=len({who for who, _ in t}),
        ).counts("g")
        for t in tables
    )
    moved = [abs(one.get(name, 0) - two.get(name, 0)) for name in one | two]
    assert max(moved, default=0) <= 1
    assert sum(moved) <= 2
    assert sum(one.values()) <= len({who for who, _ in rows})


def _rows(n: int = _N) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    g = pd.Series(rng.choice(["a", "b"], n), dtype=object)
    yes = rng.random(n) < 0.5
    return pd.DataFrame({"y": rng.normal(size=n), "yes": yes * 1.0, "g": g, "who": np.arange(n)})


@pytest.mark.parametrize(
    "fit", [lambda *a, **k: dp_lm("y ~ g", *a, **k), lambda *a, **k: dp_glm("yes ~ g", *a, **k)]
)
@pytest.mark.parametrize("rows", [1, None], ids=["first row", "all rows"])
def test_a_level_of_one_person_is_not_released(fit: Any, rows: int | None) -> None:
    """Whatever the number of rows that have it."""
    secret = pd.DataFrame({"y": 0.0, "yes": 1.0, "g": ["secret"] * _N, "who": 7})
    table = pd.concat([_rows(), secret], ignore_index=True)
    found = fit(table, epsilon=4, delta=1e-6, person="who", rows_per_person=rows, seed=1)
    assert "g[T.b]" in found.coef().index
    assert "secret" not in f"{found.summary()} {found.notes}"


def test_no_cells_stop_the_release_of_levels() -> None:
    table = _rows()
    expected = dp_lm("y ~ g", table, epsilon=4, delta=1e-6, seed=1)
    cells = table.g.tolist()
    odd = table.assign(g=_objects([*cells[: -len(_CELLS)], *_CELLS]).g)
    found = dp_lm("y ~ g", odd, epsilon=4, delta=1e-6, seed=1)
    assert found.coef().index.tolist() == expected.coef().index.tolist()


def test_the_total_of_a_call_has_its_levels_in_it() -> None:
    with Budget(epsilon=4, delta=1e-6) as budget:
        found = dp_lm("y ~ g", _rows(), epsilon=4, delta=1e-6)
    privacy = found.privacy
    assert privacy.delta(4.0) <= 1e-6
    assert privacy.slack == pytest.approx(1e-7)
    assert sum(line.mu**2 for line in privacy.spent) <= privacy.mu**2 * (1 + 1e-9)
    assert (budget.spent.mu, budget.spent.slack) == (privacy.mu, privacy.slack)


def test_columns_whose_levels_are_not_searched_are_refused_before_the_charge() -> None:
    dask = pytest.importorskip("dask.dataframe")
    table = _rows()
    for data in (
        table.assign(g=pd.Categorical(table.g == "a")),
        table.assign(g=pd.Categorical(np.arange(_N) % 3)),
        dask.from_pandas(table, npartitions=2),
    ):
        with Budget(mu=50) as budget, pytest.raises(SchemaError, match="declare"):
            dp_lm("y ~ g", data, epsilon=4, delta=1e-6)
        assert budget.entries == ()
