"""Kinds of columns are facts of the schema; every library and dtype gives the same bits."""

import decimal
import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dpstats.errors import SchemaError
from dpstats.frame import design_matrix, learn_design, open_rows
from dpstats.frame.tables import as_table

RIGHT = "x * g + b + C(k) + bs(z, df=4)"


def encoded(design, data, size=64):
    blocks = list(open_rows(design, data).blocks(size))
    return np.vstack([b.x for b in blocks]), np.concatenate([b.y for b in blocks])


def same(one, two):
    for a, b in zip(one, two, strict=True):
        assert a.tobytes() == b.tobytes()


def test_pandas_polars_and_pyarrow_agree_to_the_bit(clean, private):
    clean.loc[3, "x"] = np.nan
    private.loc[5, "g"] = None
    private.loc[6, "x"] = np.nan
    tables = [lambda d: d, pl.from_pandas, lambda d: pa.Table.from_pandas(d, preserve_index=False)]
    results = []
    for public in tables:
        design = learn_design(f"y ~ {RIGHT}", public(clean))
        results += [(design.terms, encoded(design, table(private))) for table in tables]
    for terms, values in results:
        assert terms == results[0][0]
        same(values, results[0][1])


@pytest.mark.parametrize(
    "change",
    [
        {"x": "Float64"},
        {"x": "float64[pyarrow]"},
        {"k": "int8"},
        {"k": "Int16"},
        {"k": "uint8"},
        {"k": "float32"},
        {"k": "int64[pyarrow]"},
        {"k": pd.ArrowDtype(pa.decimal128(22, 2))},
        {"g": "category"},
        {"g": "str"},
        {"g": "string"},
        {"g": object},
        {"g": "string[pyarrow]"},
        {"g": pd.ArrowDtype(pa.large_string())},
        {"g": pd.CategoricalDtype(["q", "c", "b", "a"])},
        {"b": "boolean"},
        {"b": object},
        {"b": "bool[pyarrow]"},
    ],
)
def test_dtypes_of_one_kind_behave_alike(clean, private, change):
    design = learn_design(f"y ~ {RIGHT}", clean)
    expected = encoded(design, private)
    same(encoded(design, private.astype(change)), expected)
    if "CategoricalDtype" not in str(type(change.get("g"))) and "k" not in change:
        public = learn_design(f"y ~ {RIGHT}", clean.astype(change))
        assert public.terms == design.terms
        same(encoded(public, private), expected)


@pytest.mark.parametrize("dtype", [pl.String, pl.Categorical, pl.Enum(["a", "b", "c"])])
def test_polars_text_types(clean, private, dtype):
    design = learn_design("y ~ g", clean)
    table = pl.from_pandas(private).with_columns(pl.col("g").cast(dtype))
    same(encoded(design, table), encoded(design, private))
    public = pl.from_pandas(clean).with_columns(pl.col("g").cast(dtype))
    assert learn_design("y ~ g", public).terms == design.terms


def test_int8_columns_do_not_overflow(clean):
    frame = clean.assign(k=np.full(len(clean), 100, dtype="int8"))
    design = learn_design("y ~ I(k * k) + k:k", frame)
    assert (design_matrix(design, frame)[0][:, design.terms.index("I(k * k)")] == 1e4).all()


def test_declared_categories_keep_their_order(clean):
    declared = pd.CategoricalDtype(["c", "a", "b", "unseen"])
    design = learn_design("y ~ g", clean.astype({"g": declared}))
    assert design.terms == ("Intercept", "g[T.a]", "g[T.b]", "g[T.unseen]")


def test_polars_categorical_does_not_bring_levels_of_other_tables(clean):
    secret = pl.Series(["secret"], dtype=pl.Categorical)
    public = pl.from_pandas(clean).with_columns(pl.col("g").cast(pl.Categorical))
    assert "secret" not in " ".join(learn_design("y ~ g", public).terms)
    assert len(secret) == 1


def test_bool_is_a_factor_in_every_library(clean):
    for table in (clean, pl.from_pandas(clean), pa.Table.from_pandas(clean)):
        assert learn_design("y ~ b", table).terms == ("Intercept", "b[T.True]")


def test_kinds_that_do_not_match_name_column_and_kinds(clean, private):
    design = learn_design("y ~ x + g + b", clean)
    cases = {
        "x": private.assign(x=private.x.astype(str)),
        "g": private.assign(g=1.5),
        "b": private.assign(b=private.b.astype(int)),
    }
    for name, table in cases.items():
        with pytest.raises(SchemaError, match=f"`{name}`"):
            open_rows(design, table)
    with pytest.raises(SchemaError, match="to_numeric"):
        open_rows(design, private.astype({"x": object}))
    with pytest.raises(SchemaError, match="to_numeric"):
        open_rows(design, private.assign(x="secret"))


def test_dates_are_refused_with_advice(clean, private):
    when = pd.Timestamp("2020-01-01")
    with pytest.raises(SchemaError, match="dates"):
        learn_design("y ~ x", clean.assign(x=when))
    with pytest.raises(SchemaError, match="dates"):
        open_rows(learn_design("y ~ x", clean), pl.from_pandas(private.assign(x=when)))


def test_tables_that_are_refused(clean, private):
    design = learn_design("y ~ x", clean)
    with pytest.raises(SchemaError, match="MultiIndex"):
        open_rows(design, pd.concat({"a": private}, axis=1))
    with pytest.raises(SchemaError, match="several columns called `x`"):
        open_rows(design, pd.concat([private, private[["x"]]], axis=1))
    arrow = pa.Table.from_pandas(private)
    with pytest.raises(SchemaError, match="several columns called `x`"):
        open_rows(design, arrow.append_column("x", arrow.column("x")))
    with pytest.raises(SchemaError, match="no rows"):
        open_rows(design, private.iloc[:0])
    with pytest.raises(SchemaError, match="did you mean `x `"):
        open_rows(design, private.rename(columns={"x": "x "}))
    with pytest.raises(SchemaError, match="text"):
        open_rows(design, private.rename(columns={"x": 1}))
    with pytest.raises(SchemaError, match=r"pd\.DataFrame\(data\) makes one"):
        open_rows(design, {"x": [1.0]})
    with pytest.raises(SchemaError, match="pandas, polars or pyarrow"):
        open_rows(design, 3.0)
    odd = learn_design("y ~ x", clean).formula.replace("x", "x-y")
    with pytest.raises(SchemaError, match="between backticks, `x-y`"):
        learn_design(odd, clean.rename(columns={"x": "x-y"}))
    # a duplicated column that is not used is nobody's business
    open_rows(design, pd.concat([private, private[["z"]]], axis=1))


def test_a_column_of_nothing_but_nulls(clean):
    design = learn_design("y ~ x + g + b", clean)
    nothing = pl.DataFrame({"y": [1.0, 2.0], "x": [None, None], "g": ["a", "b"], "b": [True, True]})
    x, y = encoded(design, nothing)
    assert not x.any()
    assert not y.any()
    nothing = nothing.with_columns(x=pl.lit(1.0), g=pl.lit(None), b=pl.lit(None))
    assert not encoded(design, nothing)[0].any()


def test_arrow_text_that_is_not_utf8_is_an_unknown_level(clean):
    bad = pa.Array.from_buffers(
        pa.string(), 2, [None, pa.py_buffer(np.array([0, 1, 2], "int32")), pa.py_buffer(b"\xffa")]
    )
    table = pa.table({"y": [1.0, 2.0], "g": bad})
    x, _ = encoded(learn_design("y ~ g", clean), table)
    assert not x[0].any()
    assert x[1, 0] == 1


def test_streams_that_can_be_read_once_are_kept(clean):
    reader = pa.Table.from_pandas(clean).to_reader(max_chunksize=7)
    rows = open_rows(learn_design("y ~ x + g", clean), reader)
    assert rows.n == len(clean)
    first, second = (np.vstack([b.x for b in rows.blocks(50)]) for _ in range(2))
    assert first.tobytes() == second.tobytes()


def test_objects_in_public_columns_are_refused_with_advice(clean):
    with pytest.raises(SchemaError, match="to_numeric"):
        learn_design("y ~ x", clean.astype({"x": object}))
    with pytest.raises(SchemaError, match="astype"):
        learn_design("y ~ x", clean.assign(x=[decimal.Decimal(1)] * len(clean)))


def test_type_of_looks_at_no_value():
    table = as_table(pd.DataFrame({"a": [1, 2]}, dtype="int8"))
    assert table.type_of("a").label == "int8"


def test_parts_keep_cells_that_are_no_valid_text() -> None:
    cells = pd.Series(["a", "\ud800", b"x", [1], None], dtype=object)
    part = as_table(pd.DataFrame({"g": cells})).part(["g"], 0, 5)
    assert part.codes("g", ("a",), 0, 5).tolist() == [0, -1, -1, -1, -1]
    assert part.keys("g", 0, 5).tolist() == [b"a", b"\xed\xa0\x80", b"x", None, None]


class _Stays:
    """A cell, or the label of a row, that cannot be pickled."""

    def __reduce__(self) -> Any:
        raise ValueError


class _StaysText(str):
    """A text that cannot be pickled."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise ValueError


_TEXTS = ["a", "017", "b", _StaysText("q"), np.str_("c"), "\ud800", None, "a"]
_NUMBERS = [1, 2.5, np.float32(3), True, decimal.Decimal(4), decimal.Decimal("NaN")]
_CELLS = [*_TEXTS, _Stays(), b"x", *_NUMBERS]


def _categories(values: list[Any], dtype: Any) -> pd.Categorical:
    kept = [value for value in dict.fromkeys(values) if not pd.isna(value)]
    codes = [kept.index(value) if value in kept else -1 for value in values]
    return pd.Categorical.from_codes(codes, pd.Index(kept, dtype=dtype), ordered=True)


_COLUMNS = {
    "objects": pd.Series(_CELLS, dtype=object),
    "sparse objects": pd.Series(pd.arrays.SparseArray(np.array(_TEXTS, dtype=object))),
    "text": pd.Series(_TEXTS, dtype="string[python]"),
    "categories": pd.Series(_categories(_CELLS, object)),
    "categories of text": pd.Series(_categories(_TEXTS, "string[python]")),
    "categories of numbers": pd.Series(_categories([3, 1, 2], "int64")),
    "no category that counts": pd.Series(_categories([_Stays(), None], object)),
}


@pytest.mark.parametrize("name", _COLUMNS)
def test_parts_survive_a_journey_and_tell_the_same(name: str) -> None:
    cells = _COLUMNS[name]
    n = len(cells)
    labels = pd.Index([_Stays() for _ in range(n)], dtype=object)
    table = as_table(pd.DataFrame({"g": cells, "self": np.arange(n)}).set_index(labels))
    for start, stop in ((0, n), (1, n - 1)):
        part = pickle.loads(pickle.dumps(table.part(["g", "self"], start, stop)))
        assert (part.n, part.names) == (stop - start, ("g", "self"))
        assert part.type_of("g").kind == table.type_of("g").kind
        assert part.numbers("self", 0, part.n).tolist() == list(range(start, stop))
        for levels in (("a", "b", "c"), (1.0, 2.5, 3.0), (False, True)):
            here = table.codes("g", levels, start, stop)
            assert part.codes("g", levels, 0, part.n).tolist() == here.tolist()
        assert part.keys("g", 0, part.n).tolist() == table.keys("g", start, stop).tolist()
        assert part.texts("g", 0, part.n).tolist() == table.texts("g", start, stop).tolist()


def test_no_code_of_a_cell_runs() -> None:
    class Raises(type):
        def __hash__(cls) -> int:
            raise ValueError

        def __eq__(cls, other: object) -> bool:
            raise ValueError

    class Cell(metaclass=Raises):
        pass

    whole = as_table(pd.DataFrame({"g": pd.Series([Cell(), "a", 1, True], dtype=object)}))
    for table in (whole, whole.part(["g"], 0, 4)):
        assert table.codes("g", ("a",), 0, 4).tolist() == [-1, 0, -1, -1]
        assert table.codes("g", (1.0,), 0, 4).tolist() == [-1, -1, 0, -1]
        assert table.codes("g", (False, True), 0, 4).tolist() == [-1, -1, -1, 1]
        assert table.keys("g", 0, 4).tolist() == [None, b"a", b"1", None]
        assert table.texts("g", 0, 4).tolist() == [None, b"a", None, None]


def test_spans_of_time_are_no_numbers() -> None:
    spans = pd.Series(
        [np.timedelta64("NaT"), np.timedelta64(5), np.timedelta64(5, "D")], dtype=object
    )
    table = as_table(pd.DataFrame({"g": spans}))
    assert table.keys("g", 0, 3).tolist() == [None] * 3
    assert table.codes("g", (5.0,), 0, 3).tolist() == [-1] * 3
