"""Text files of rows: what a cell is depends on the design and on the cell, on nothing else."""

import decimal
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpstats import dp_lm, dp_mean
from dpstats.errors import PassError, SchemaError
from dpstats.frame import declare_design, learn_design
from dpstats.frame.rows import open_rows
from dpstats.frame.source import column_types, open_source

_N = 400
_ROWS = pd.DataFrame(
    {
        "y": np.arange(_N) / 7,
        "x": np.random.default_rng(0).normal(size=_N),
        "g": np.random.default_rng(1).choice(list("abc"), _N),
        "b": np.arange(_N) % 3 == 0,
        "k": np.arange(_N) % 4,
    }
)
_FORMULA = "y ~ x + g + b + C(k)"
_SCHEMA = {"y": float, "x": float, "g": ["a", "b", "c"], "b": bool, "k": [0, 1, 2, 3]}


def _written(path: Path, rows: pd.DataFrame = _ROWS) -> str:
    rows.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")
    return str(path)


def _encoded(data: object) -> np.ndarray:
    design = declare_design(_FORMULA, _SCHEMA)
    found = [np.column_stack([b.x, b.y]) for b in open_rows(design, data).blocks()]
    return np.concatenate(found)


@pytest.mark.parametrize("name", ["rows.csv", "rows.tsv", "rows.csv.gz", "rows.txt"])
def test_a_text_file_holds_the_rows_of_the_table(name: str, tmp_path: Path) -> None:
    path = _written(tmp_path / name)
    np.testing.assert_array_equal(_encoded(path), _encoded(_ROWS))
    public = _ROWS[:50]
    fits = [dp_lm(_FORMULA, data, public=public, mu=1, seed=1) for data in (path, _ROWS)]
    assert (fits[0].coef() == fits[1].coef()).all()
    assert (dp_lm(_FORMULA, _ROWS, public=path, mu=1, seed=1).coef()).notna().all()


def test_several_files_and_patterns(tmp_path: Path) -> None:
    first, second = _ROWS[:150], _ROWS[150:]
    names = [_written(tmp_path / "a1.csv", first), _written(tmp_path / "a2.csv", second)]
    for data in (names, str(tmp_path / "a*.csv"), [Path(name) for name in names]):
        np.testing.assert_array_equal(_encoded(data), _encoded(_ROWS))
    with pytest.raises(SchemaError, match="named twice"):
        open_source([names[0], names[0]])
    (tmp_path / "link.csv").symlink_to(names[0])
    with pytest.raises(SchemaError, match="named twice"):
        open_source([names[0], str(tmp_path / "link.csv")])
    _written(tmp_path / "a3.csv", _ROWS.drop(columns="k"))
    with pytest.raises(SchemaError, match="have different columns"):
        open_source(str(tmp_path / "a*.csv"))


@pytest.mark.parametrize(
    "cell",
    [
        "",
        "NA",
        "text",
        "1e999",
        "0x10",
        "1_000",
        '"a, b"',
        '"two\nlines"',
        "nan",
        "inf",
        "٣",
        "\x00",
    ],
)
@pytest.mark.parametrize("column", [0, 1, 2, 3, 4])
def test_a_cell_changes_its_own_row_alone(cell: str, column: int, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    whole = _encoded(_written(path))
    lines = path.read_text("utf-8").split("\n")
    cells = lines[8].split(",")
    cells[column] = cell
    lines[8] = ",".join(cells)
    path.write_text("\n".join(lines), "utf-8")
    found = _encoded(str(path))
    assert (np.delete(found, 7, axis=0) == np.delete(whole, 7, axis=0)).all()
    assert (found[7] == 0).all()


@pytest.mark.parametrize("cell", ["+1.5", " 1.5", "1.5 ", "15e-1", "1.50", ".15E1"])
def test_spellings_of_a_number(cell: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(f"y,x\n1,{cell}\n2,3\n", "utf-8")
    design = declare_design("y ~ 0 + x", {"y": float, "x": float})
    [block] = open_rows(design, str(path)).blocks()
    assert block.x[:, 0].tolist() == [1.5, 3.0]


def test_bytes_that_are_no_text_are_no_trouble(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    _written(path)
    lines = path.read_bytes().split(b"\n")
    lines[3] = b"1,\xff\xfe,\xc3,true,1"
    path.write_bytes(b"\n".join(lines))
    found = _encoded(str(path))
    assert (found[2] == 0).all()
    assert (found[3:] == _encoded(_ROWS)[3:]).all()


def test_what_a_column_is_does_not_depend_on_cells(tmp_path: Path) -> None:
    kinds = set()
    for k, rows in enumerate((_ROWS, _ROWS.astype(str).replace("a", "1"), _ROWS.assign(x=None))):
        table = column_types(_written(tmp_path / f"{k}.csv", rows))
        kinds.add(tuple(str(table.type_of(name)) for name in table.names))
    assert len(kinds) == 1


def test_without_public_rows_columns_are_what_is_declared(tmp_path: Path) -> None:
    rows = pd.concat([_ROWS] * 20)
    path = _written(tmp_path / "rows.csv", rows)
    kinds = {"y": float, "x": float, "k": float}
    numbers = dp_lm("y ~ x + k", path, mu=1, limits=kinds, seed=1)
    with pytest.raises(SchemaError, match=r"limits=\{.x.: float, .k.: float, .y.: float\}"):
        dp_lm("y ~ x + k", path, mu=1)
    assert (numbers.coef() == dp_lm("y ~ x + k", rows, mu=1, seed=1).coef()).all()
    declared = dp_lm("y ~ g", path, mu=1, limits={"y": float, "g": ["a", "b", "c"]}, seed=1)
    assert np.isfinite(dp_mean(["x", "k"], path, mu=1, seed=1).mean).all()
    assert list(declared.coef().index) == ["Intercept", "g[T.b]", "g[T.c]"]
    known = {"y": float}
    released = dp_lm("y ~ factor(g)", path, epsilon=2, delta=1e-6, limits=known, seed=1)
    assert list(released.coef().index) == ["Intercept", "factor(g)[T.b]", "factor(g)[T.c]"]


def test_what_cannot_be_read_says_so_and_shows_no_cell(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="no file"):
        open_source(str(tmp_path / "none.csv"))
    ragged = tmp_path / "ragged.csv"
    ragged.write_text("y,x\n1,2\n1,2,secret\n", "utf-8")
    with pytest.raises((PassError, SchemaError)) as error:
        dp_lm("y ~ x", str(ragged), mu=1)
    assert "secret" not in str(error.value)
    latin = tmp_path / "latin.csv"
    latin.write_bytes("größe,y\n".encode("latin1") + b"1,2\n" * 500)
    with pytest.raises(SchemaError, match="must be UTF-8"):
        dp_lm("y ~ größe", str(latin), mu=1)
    twice = tmp_path / "twice.csv"
    twice.write_text("y,x,x\n1,2,3\n", "utf-8")
    with pytest.raises(SchemaError, match="several columns called `x`"):
        dp_lm("y ~ x", str(twice), mu=1)


def test_public_text_files_have_the_types_of_their_cells(tmp_path: Path) -> None:
    design = learn_design(_FORMULA, _written(tmp_path / "public.csv"))
    assert design.terms == learn_design(_FORMULA, _ROWS).terms


@pytest.mark.parametrize("spelled", ["17", "17.0", "017", " 17", "1.7e1", "+17"])
def test_a_person_is_one_however_a_file_spells_it(spelled: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(f"y,who\n1,17\n2,{spelled}\n3,18\n4,bob\n5,17.5\n6,17.50\n7,\n", "utf-8")
    [table] = open_source(str(path)).tables(["who"])
    keys = table.keys("who", 0, 7).tolist()
    assert keys == [b"17", b"17", b"18", b"bob", b"17.5", b"17.5", None]


def test_persons_differ_in_any_digit_whatever_the_context_of_decimals(tmp_path: Path) -> None:
    path, long = tmp_path / "rows.csv", "0.1000000000000000000000000000000"
    path.write_text(f"y,who\n1,{long}1\n2,{long}2\n3,{long}10\n4,12.34567\n5,12.34568\n", "utf-8")
    with decimal.localcontext(prec=4, traps=[decimal.Inexact, decimal.Rounded]):
        [table] = open_source(str(path)).tables(["who"])
        one, other, same, *last = table.keys("who", 0, 5).tolist()
    assert one == same == f"{long}1".encode()
    assert other == f"{long}2".encode()
    assert last == [b"12.34567", b"12.34568"]


def test_a_file_without_names_shows_no_row(tmp_path: Path) -> None:
    numbers, texts = tmp_path / "numbers.csv", tmp_path / "texts.csv"
    numbers.write_text("alice,0.1257\nbob,2\n", "utf-8")
    texts.write_text("alice,north\nbob,south\n" * 50, "utf-8")
    for path in (numbers, texts):
        with pytest.raises(SchemaError, match="the first line of") as error:
            dp_lm("y ~ x", str(path), mu=1)
        assert "alice" not in str(error.value)
        assert "0.1257" not in str(error.value)


def test_a_file_with_row_names_is_told_how_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    pd.DataFrame({"y": [1.0, 2.0], "x": [0.0, 1.0]}).to_csv(path)
    with pytest.raises(SchemaError, match=r"row names .*pd.read_csv\(path, index_col=0\)"):
        open_source(path)


def test_addresses_and_empty_files_are_told_apart_from_other_encodings(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match=r"'https://a.b/x.csv' is an address"):
        open_source("https://a.b/x.csv")
    for text in ("", "\ny,x\n1,2\n"):
        (tmp_path / "rows.csv").write_text(text, "utf-8")
        with pytest.raises(SchemaError, match="is empty, or its first line is"):
            open_source(str(tmp_path / "rows.csv"))


def test_an_empty_line_of_one_column_is_a_row(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    three, two = ("x\n1\n\n3\n", "x\n1\n2\n3\n", "x\n1\n2\n\n", "x\n1\n2\n3"), ("x\n1\n2\n",)
    for text in (*three, *two):  # without a line end after it, an empty last cell is no row
        path.write_text(text, "utf-8")
        rows = open_source(str(path)).size(lambda table: None, lambda rows: None)
        assert rows == (3 if text in three else 2)


def test_hard_links_are_one_file(tmp_path: Path) -> None:
    first = tmp_path / "a.csv"
    _written(first)
    (tmp_path / "b.csv").hardlink_to(first)
    with pytest.raises(SchemaError, match="named twice"):
        open_source([first, tmp_path / "b.csv"])


@pytest.mark.parametrize("spelled", ["10", "TF", "tf", ("TRUE", "FALSE"), ("true", "false")])
def test_truth_values_are_read_in_every_spelling(spelled: Sequence[str], tmp_path: Path) -> None:
    """A declaration says that they are some; zeros and ones were missing values, after the charge."""
    rows = _ROWS.assign(b=np.where(_ROWS.b, *spelled))
    np.testing.assert_array_equal(_encoded(_written(tmp_path / "a.csv", rows)), _encoded(_ROWS))
