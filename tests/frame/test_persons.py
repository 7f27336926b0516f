"""Of every person the first rows count, whatever holds the table, and nobody else's rows decide."""

from __future__ import annotations

import shutil
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpstats import dp_lm, dp_mean, eptr_bayes
from dpstats.errors import ArgumentError, SchemaError
from dpstats.frame import FirstRows, Reading, declare_design, open_persons, open_rows

_DESIGN = declare_design("y ~ x", {"y": float, "x": float})


def _alive(table: Any, rows: int, column: str = "who") -> list[float]:
    """The responses (numbers of rows, from 1) of the rows that count."""
    blocks = open_rows(_DESIGN, table, first=FirstRows(column, rows)).blocks(size=3)
    return [float(y) for block in blocks for y in block.y if y]


def _table(who: list[Any], **options: Any) -> pd.DataFrame:
    n = len(who)
    return pd.DataFrame({"y": np.arange(1.0, n + 1), "x": 1.0, "who": pd.Series(who, **options)})


_WHO = ["b", "a", "a", "b", "a", "c", "b", "a"]
_FIRST_TWO = [1.0, 2.0, 3.0, 4.0, 6.0]


@pytest.mark.parametrize(
    "made",
    [
        lambda t: t,
        lambda t: t.astype({"who": "category"}),
        lambda t: t.astype({"who": "string"}),
        lambda t: pa.table(t),
        lambda t: pl.from_pandas(t),
        lambda t: pl.from_pandas(t).with_columns(pl.col("who").cast(pl.Categorical)),
        lambda t: [t.iloc[:3], t.iloc[3:]],
        lambda t: lambda: (t.iloc[k : k + 1] for k in range(len(t))),
        # libraries may change from block to block
        lambda t: [t.iloc[:3], pa.Table.from_pandas(t.iloc[3:5]), t.iloc[5:]],
    ],
    ids=["pandas", "category", "string", "arrow", "polars", "codes", "list", "function", "mixed"],
)
def test_the_first_rows_of_every_person_count(made: Any) -> None:
    assert _alive(made(_table(_WHO)), 2) == _FIRST_TWO
    assert _alive(made(_table(_WHO)), 99) == list(np.arange(1.0, 9.0))


def test_files_are_one_table_whatever_their_order(tmp_path: Path) -> None:
    table = _table(_WHO)
    for name, part in (("a", table.iloc[:3]), ("b", table.iloc[3:])):
        frame = pa.Table.from_pandas(part, preserve_index=False)
        pq.write_table(frame, tmp_path / f"{name}.parquet", row_group_size=2)
    assert _alive(tmp_path, 2) == _FIRST_TWO
    one, two = str(tmp_path / "a.parquet"), str(tmp_path / "b.parquet")
    copy = shutil.copy(one, tmp_path / "c.parquet")
    # a file of which there is a copy holds its persons twice
    assert _alive([one, copy, two], 2) == [1.0, 2.0, 3.0, 1.0, 6.0]
    assert _alive([one, copy, two], 3) == [1.0, 2.0, 3.0, 1.0, 2.0, 4.0, 6.0]


def test_a_folder_may_name_the_person(tmp_path: Path) -> None:
    for who in ("a", "b"):
        (tmp_path / f"who={who}").mkdir()
        part = pa.table(_table(["-"] * 3).drop(columns="who"))
        pq.write_table(part, tmp_path / f"who={who}" / "rows.parquet")
    assert _alive(tmp_path, 2) == [1.0, 2.0, 1.0, 2.0]


@pytest.mark.parametrize(
    ("who", "expected"),
    [
        ([2**53, 2**53 + 1, 2**53], [1.0, 2.0]),  # as floats they would be one person
        ([1, 2, 1], [1.0, 2.0]),
        ([1.0, np.nan, np.nan], [1.0]),
        (["a", None, None, "a"], [1.0]),
        (["a", [1], {"b": 2}, object(), 3], [1.0, 5.0]),
        ([Decimal(1), Decimal("1.0"), Decimal("NaN"), Decimal("sNaN"), Decimal(2)], [1.0, 5.0]),
        (["\ud800", "\ud800", ""], [1.0, 3.0]),
    ],
)
def test_whatever_names_a_person_is_distinguished_exactly_or_counts_nowhere(
    who: list[Any], expected: list[float]
) -> None:
    assert _alive(_table(who, dtype=object), 1) == expected


def test_text_that_is_no_text_names_a_person_all_the_same() -> None:
    bad = pa.array([b"\xff", b"\xff", b"ok"], pa.binary()).view(pa.string())
    table = pa.table({"y": [1.0, 2.0, 3.0], "x": [1.0] * 3, "who": bad})
    assert _alive(table, 1) == [1.0, 3.0]


class _Hostile:
    """A cell that raises whatever is asked of it."""

    def __hash__(self) -> int:
        raise ValueError("private")

    def __eq__(self, other: object) -> bool:
        raise ValueError("private")


def test_cells_that_raise_are_nobody() -> None:
    assert _alive(_table(["a", _Hostile(), "a", _Hostile(), "b"]), 1) == [1.0, 5.0]


def test_columns_that_name_nobody_are_refused_by_their_kind() -> None:
    dates = _table(_WHO).assign(who=pd.Timestamp("2020-01-01"))
    with pytest.raises(SchemaError, match=r"person='who' holds dates or times.*astype\(str\)"):
        _alive(dates, 1)
    with pytest.raises(SchemaError, match=r"no column `whom`, which person= needs; did you mean"):
        _alive(_table(_WHO), 1, "whom")


def test_dask_frames_are_refused_with_a_way_out() -> None:
    import dask.dataframe as dd

    frame = dd.from_pandas(_table(_WHO), npartitions=2)
    with pytest.raises(ArgumentError, match=r"groupby\(person\).head\(k\)"):
        _alive(frame, 1)


_NAMES = st.sampled_from(["a", "b", "c", 1, 2, None, 1.5, True, "017", "true"])


@settings(max_examples=200, deadline=None, derandomize=True, database=None)
@given(
    others=st.lists(_NAMES, max_size=12),
    mine=st.lists(st.integers(0, 12), max_size=8),
    k=st.integers(1, 4),
    blocks=st.integers(1, 5),
)
def test_another_person_changes_as_many_rows_as_count(
    others: list[Any], mine: list[int], k: int, blocks: int
) -> None:
    # one person's rows, wherever they stand, become those of a new person
    def rows(name: str, sign: float) -> list[Any]:
        listed = [(who, float(i + 1)) for i, who in enumerate(others)]
        for j, at in enumerate(mine):
            listed.insert(min(at, len(listed)), (name, sign * (100.0 + j)))
        frame = pd.DataFrame(
            {
                "y": [y for _, y in listed],
                "x": 1.0,
                "who": pd.Series([w for w, _ in listed], dtype=object),
            }
        )
        size = max(-(-len(frame) // blocks), 1)
        return [frame.iloc[i : i + size] for i in range(0, len(frame), size)]

    if not others and not mine:
        return
    one, two = (Counter(_alive(rows(*who), k)) for who in (("me", 1.0), ("you", -1.0)))
    assert sum((one - two).values()) <= k
    assert sum((two - one).values()) <= k
    assert sum((one - two).values()) == min(len(mine), k)


def _frame(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    y = 1 + x + rng.normal(size=n)
    return pd.DataFrame(
        {"y": y, "x": x, "g": np.where(y > 1, "u", "v"), "who": rng.permutation(n) // 3}
    )


def test_a_call_with_persons_is_a_call_on_their_first_rows() -> None:
    public, private = _frame(40, 0), _frame(600, 1)
    options: dict[str, Any] = {"public": public, "rows_per_person": 2, "seed": 3}
    fit = dp_mean("~ y + x", private, mu=2, person="who", **options)
    first = private.groupby("who").cumcount() < 2
    same = dp_mean("~ y + x", private.where(first), mu=2, **options)
    assert fit.mean.equals(same.mean)
    # the noise is that of rows at a half of mu
    assert fit.mean.equals(dp_mean("~ y + x", private.where(first), public, mu=1, seed=3).mean)
    assert fit.privacy.mu == 2.0
    assert "using only the first 2 rows of each `who`" in fit.privacy.unit
    assert 'rows_per_person = 2, person = "who"' in fit.call
    text = str(fit.summary())
    assert "one person replaced by another" in text


def test_persons_count_the_same_in_every_engine(tmp_path: Path) -> None:
    public, private = _frame(40, 0), _frame(600, 1)
    pq.write_table(pa.table(private), tmp_path / "rows.parquet", row_group_size=70)

    def fit(data: Any, **options: Any) -> Any:
        options |= {"rows_per_person": 2, "person": "who", "seed": 3}
        return eptr_bayes("g ~ x", data, public, epsilon=2, delta=1e-5, **options).means.to_numpy()

    expected = fit(private)
    with ProcessPoolExecutor(2) as pool:
        for data in (private, str(tmp_path / "rows.parquet"), [private[:100], private[100:]]):
            assert np.array_equal(fit(data), expected)
            assert np.array_equal(fit(data, executor=pool), expected)


def test_a_person_is_not_a_number_here_and_text_there() -> None:
    one, two = _table([1, 2]), _table(["1", "2"])
    with pytest.raises(SchemaError, match="of one kind in one block and of another in a later one"):
        _alive([one, two], 1)
    assert _alive([one, _table([1.0, np.nan])], 1) == [1.0, 2.0]


def test_in_whatever_order_a_pass_reads_few_rows_of_a_person_count() -> None:
    rng = np.random.default_rng(0)
    table = _table([k % 3 for k in range(60)])
    rows = open_rows(
        _DESIGN, lambda: [table.sample(frac=1, random_state=rng)], first=FirstRows("who", 4)
    )
    passes = [[y for block in rows.blocks() for y in block.y if y] for _ in range(5)]
    assert len({tuple(sorted(found)) for found in passes}) > 1
    for found in passes:
        assert Counter(int(y - 1) % 3 for y in found) == {0: 4, 1: 4, 2: 4}


def test_pandas_columns_of_arrow_hold_any_bytes(tmp_path: Path) -> None:
    bad = pa.array([b"\xff", b"\xff", b"ok", None], pa.binary()).view(pa.string())
    pq.write_table(
        pa.table({"y": [1.0, 2.0, 3.0, 4.0], "x": [1.0] * 4, "who": bad}), tmp_path / "t"
    )
    for options in ({}, {"dtype_backend": "pyarrow"}):
        table = pd.read_parquet(tmp_path / "t", **options)
        assert _alive(table, 1) == [1.0, 3.0]
        assert _alive([table.iloc[:2], table.iloc[2:]], 1) == [1.0, 3.0]


@pytest.mark.parametrize(
    ("who", "expected"),
    [
        ([17, 17.0, "17", np.int64(17), Decimal("17.0"), np.float32(17)], [1.0]),
        (["017", "17", " 17", "1e1", "nan", "+17", "x17"], [2.0, 7.0]),  # may have been numbers
        ([2.0**53, 2.0**60, np.float32(2**24), np.float16(2048)], []),  # may have been rounded
        ([2.0**53 - 1, -0.0, 0, 1.5], [1.0, 2.0]),
        (["-0", 0, "0"], [2.0]),
        ([np.longdouble(1), complex(1), 10**70, 1], [4.0]),
        ([True, "True", np.bool_(True), False, 1], [5.0]),  # whether True is 1 is open
        ([b"017", b"17", 17, b"x", "x", "TRUE", " false"], [2.0, 4.0]),
    ],
)
def test_a_person_has_one_name_however_its_cells_are_read(
    who: list[Any], expected: list[float]
) -> None:
    assert _alive(_table(who, dtype=object), 1) == expected


def test_ids_that_one_missing_cell_makes_floats_name_nobody() -> None:
    large = 2**60
    one = _table([large, large + 1])
    two = _table([float(large), np.nan, float(large + 1)])
    assert _alive([one, two], 1) == [1.0, 2.0]
    text = _table(["017", "17", "017"])
    assert text.who.dtype != object
    assert _alive(text, 1) == [1.0, 2.0]


def _parquet(table: Any, folder: Path) -> str:
    pq.write_table(table, folder / "typed.parquet")
    return str(folder / "typed.parquet")


def _duckdb(rows: pd.DataFrame) -> Any:
    duckdb = pytest.importorskip("duckdb")
    return duckdb.sql("select y, x, cast(who as float) as who from rows")


_TYPED: dict[str, Any] = {
    "pandas float32": lambda t, _: t.astype({"who": "float32"}),
    "pandas Float32": lambda t, _: t.astype({"who": "Float32"}),
    "pandas float[pyarrow]": lambda t, _: t.astype({"who": "float[pyarrow]"}),
    "pandas sparse": lambda t, _: t.astype({"who": pd.SparseDtype("float32")}),
    "pandas codes": lambda t, _: t.assign(who=pd.Categorical(t.who.astype("float32"))),
    "pandas objects": lambda t, _: t.assign(
        who=pd.Series([np.float32(v) for v in t.who], dtype=object)
    ),
    "arrow": lambda t, _: pa.table({**t, "who": pa.array(t.who, pa.float32())}),
    "arrow codes": lambda t, _: pa.table(
        {**t, "who": pa.array(t.who, pa.float32()).dictionary_encode()}
    ),
    "polars": lambda t, _: pl.from_pandas(t).with_columns(pl.col("who").cast(pl.Float32)),
    "parquet": lambda t, f: _parquet(pa.table({**t, "who": pa.array(t.who, pa.float32())}), f),
    "blocks": lambda t, _: [t[:1].astype({"who": "float32"}), t[1:].astype({"who": "float32"})],
    "duckdb": lambda t, _: _duckdb(t),
}


@pytest.mark.parametrize("typed", _TYPED)
def test_short_floats_name_nobody_from_where_they_are_rounded(typed: str, tmp_path: Path) -> None:
    """2^24 and 2^24 + 1 are one float32: were they one person, one person would move another's rows."""
    large = _TYPED[typed](_table([2.0**24, 2.0**24 + 1, 2.0**24]), tmp_path)
    assert _alive(large, 1) == []
    small = _TYPED[typed](_table([2.0**24 - 1, 3.0, 2.0**24 - 1]), tmp_path)
    assert _alive(small, 1) == [1.0, 2.0]


@pytest.mark.parametrize(
    "half",
    [
        lambda t: t.astype({"who": "float16"}),
        lambda t: pa.table({**t, "who": pa.array(t.who.to_numpy(np.float16), pa.float16())}),
        lambda t: (
            pl.DataFrame({**t, "who": pl.Series(t.who.to_numpy()).cast(pl.Float32)}).cast(
                {"who": pl.Float16}
            )
            if hasattr(pl, "Float16")
            else t.astype({"who": "float16"})
        ),
    ],
    ids=["pandas", "arrow", "polars"],
)
def test_half_floats_name_nobody_from_2048_on(half: Any) -> None:
    assert _alive(half(_table([2048.0, 2049.0, 2047.0])), 1) == [3.0]


def test_workers_of_an_executor_name_persons_by_the_type_of_the_column() -> None:
    public, private = _frame(40, 0), _frame(600, 1)
    private = private.assign(who=(private.who + 2**24).astype("float32"))
    options: dict[str, Any] = {"public": public, "mu": 1, "seed": 3}
    nobody = dp_mean("~ y + x", private.where(private.x > np.inf), **options)
    with ProcessPoolExecutor(2) as pool:
        for executor in (None, pool):
            fit = dp_mean("~ y + x", private, person="who", executor=executor, **options)
            assert fit.mean.equals(nobody.mean)


def test_truth_values_name_nobody_and_are_refused() -> None:
    """True in one block and 1 in another were one person with two names."""
    truth = _table([True, False])
    for table in (truth, truth.astype({"who": "category"}), pa.table(truth), pl.from_pandas(truth)):
        for data in (table, [table], [_table([1, 0]), table], [table, _table(["True", "b"])]):
            with pytest.raises(
                SchemaError, match="holds True/False, which names two persons at most"
            ):
                _alive(data, 1)
    assert _alive(_table([True, None, False, 1]), 1) == [4.0]


def test_a_note_on_a_column_of_objects_names_what_it_leaves_out() -> None:
    public, private = _frame(40, 0), _frame(600, 1)
    spelled = private.assign(who=[f"{k:04d}" for k in private.who])
    options: dict[str, Any] = {"public": public, "mu": 2, "seed": 3, "person": "who"}
    objects = dp_mean("~ y + x", spelled.astype({"who": object}), **options)
    text = dp_mean("~ y + x", spelled.astype({"who": "string"}), **options)
    said = "holds Python objects: text in it that reads as a number in another spelling"
    assert any(said in note for note in objects.notes)
    assert not any(said in note for note in text.notes)
    assert objects.diagnostics().value["empty rows"] > 0.9
    assert text.diagnostics().value["empty rows"] < 0.8
    with pytest.raises(SchemaError, match="no row names a person"):
        dp_lm("y ~ x", spelled.astype({"who": object}), **options)


def test_codes_name_what_their_categories_are() -> None:
    numbers = _table([17, 18]).astype({"who": "category"})
    text = _table(["017", "18"]).astype({"who": "category"})
    with pytest.raises(SchemaError, match="of one kind in one block and of another"):
        _alive([numbers, text], 1)
    nothing = _table([np.nan]).astype({"who": "category"}).assign(who=pd.Categorical([None]))
    assert _alive([nothing, text], 1) == [1.0, 2.0]
    assert _alive([numbers, _table([17])], 1) == [1.0, 2.0]
    mixed = _table([17, "017", "x"], dtype=object).astype({"who": "category"})
    assert _alive(mixed, 1) == [1.0, 3.0]


def test_arrow_codes_in_pandas_name_what_they_stand_for() -> None:
    codes = pa.array([17]).dictionary_encode()
    numbers = _table([0]).assign(who=pd.Series(codes, dtype=pd.ArrowDtype(codes.type)))
    with pytest.raises(SchemaError, match="of one kind in one block and of another"):
        _alive([numbers, _table(["017"])], 1)
    truth = pa.array([True]).dictionary_encode()
    with pytest.raises(SchemaError, match="holds True/False"):
        _alive(_table([0]).assign(who=pd.Series(truth, dtype=pd.ArrowDtype(truth.type))), 1)


def test_long_decimals_are_the_whole_numbers_that_they_are() -> None:
    who = [Decimal(10) ** 40, 10**40, Decimal(10**40 + 1), Decimal("1.5")]
    assert _alive(_table(who, dtype=object), 1) == [1.0, 3.0]


def test_a_folder_names_persons_by_text(tmp_path: Path) -> None:
    (tmp_path / "who=017").mkdir()
    rows = pa.table({"y": [1.0], "x": [1.0]})
    pq.write_table(rows, tmp_path / "who=017" / "a.parquet")
    pq.write_table(rows.append_column("who", pa.array([17])), tmp_path / "b.parquet")
    with pytest.raises(SchemaError, match="of one kind in one block and of another"):
        _alive(tmp_path, 1)


def test_a_folder_and_a_file_that_name_one_person_are_refused(tmp_path: Path) -> None:
    """The folder id=0012 names person 12, and the text 0012 in a file another: one would be two."""
    for folder, rows in (("who=0012", {}), ("others", {"who": ["0012", "a"]})):
        (tmp_path / folder).mkdir()
        table = {"y": [1.0, 2.0], "x": [1.0, 1.0], **rows}
        pq.write_table(pa.table(table), tmp_path / folder / "rows.parquet")
    with pytest.raises(SchemaError, match="text of a folder or file"):
        _alive(str(tmp_path), 1)


def test_a_number_in_a_text_file_is_one_person_however_large_it_is(tmp_path: Path) -> None:
    ids = ["0", "0e60", "-0", "1e60", "1" + 60 * "0", "12e-90", "1.2e-89", "1e" + 30 * "9"]
    rows = [f"{k}.0,1.0,{who}" for k, who in enumerate(ids, start=1)]
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(["y,x,who", *rows]))
    assert _alive(str(path), 1) == [1.0, 4.0, 6.0]  # the last names nobody


def test_rows_in_the_folder_of_missing_values_are_nobodys(tmp_path: Path) -> None:
    _table(["a", None, None, "a", "b"]).to_parquet(tmp_path, partition_cols=["who"])
    assert (tmp_path / "who=__HIVE_DEFAULT_PARTITION__").is_dir()
    assert sorted(_alive(str(tmp_path), 1)) == [1.0, 5.0]


_VALUES = st.sampled_from([0.0, 1.0, -2.5, 1e300, -1e300, np.nan, np.inf])
_SOME_ROWS = st.lists(st.tuples(_VALUES, _VALUES), min_size=1, max_size=4)


def _spoken_for(table: pd.DataFrame, differences: bool) -> Counter[tuple[bytes, ...]]:
    """The rows that speak for persons, to the bit."""
    persons = open_persons(_DESIGN, table, Reading(), FirstRows("who", None))
    found: Counter[tuple[bytes, ...]] = Counter()
    for read in persons.one_of_each(differences=differences).pieces(3):
        block = read()
        assert len(block.y) <= 3
        rows = zip(block.x, block.y, block.usable, strict=True)
        found.update((x.tobytes(), y.tobytes(), bytes([bool(used)])) for x, y, used in rows)
    assert found.total() == persons.n
    return found


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.lists(_SOME_ROWS, min_size=2, max_size=6), _SOME_ROWS, st.booleans(), st.randoms())
def test_who_is_replaced_changes_one_of_the_rows_that_speak_for_persons(
    persons: list[list[tuple[float, float]]],
    other: list[tuple[float, float]],
    differences: bool,
    order: Any,
) -> None:
    """Wherever rows stand, and however many either one has."""
    named = [(f"p{k}", *row) for k, rows in enumerate(persons) for row in rows]
    changed = [row for row in named if row[0] != "p0"] + [("q", *row) for row in other]
    order.shuffle(named)
    order.shuffle(changed)
    one, two = (
        _spoken_for(pd.DataFrame(rows, columns=["who", "x", "y"]), differences)
        for rows in (named, changed)
    )
    assert (one - two).total() <= 1
    assert (two - one).total() <= 1


def test_the_row_that_speaks_for_a_person_is_one_that_can_be_used() -> None:
    """Which one it is follows from the name, so that all places are as frequent."""
    places = []
    for name in map(str, range(200)):
        table = pd.DataFrame({"who": name, "x": 1.0, "y": [np.nan, 1.0, 2.0, np.nan, 3.0]})
        ((_, y, used),) = _spoken_for(table, False)
        assert used == b"\x01"
        places.append(np.frombuffer(y)[0])
    counts = Counter(places)
    assert set(counts) == {1.0, 2.0, 3.0}
    assert min(counts.values()) > 40, "expected 67, standard deviation 7"


def test_differences_leave_nothing_of_what_a_person_has_in_all_rows() -> None:
    table = pd.DataFrame(
        {"who": list("aaabbc"), "x": [5.0, 5, 5, 7, 7, 9], "y": [1.0, 2, 4, 1, 1, 1]}
    )
    rows = _spoken_for(table, True)
    x = [np.frombuffer(row[0])[1] for row in rows.elements()]
    assert x == [0.0, 0.0, 0.0]
    assert sorted(row[2] for row in rows.elements()) == [b"\x00", b"\x01", b"\x01"]
