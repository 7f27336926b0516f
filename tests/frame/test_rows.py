"""No private value shows: bad rows become zero, alone and in silence."""

import logging
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpstats.errors import ArgumentError, PassError, SchemaError
from dpstats.frame import boxed, declare_design, design_matrix, learn_design, open_rows
from dpstats.frame.arrow_table import arrow_codes
from dpstats.frame.rows import PendingBlock, Plain
from dpstats.frame.tables import as_table

from .conftest import make_table

FORMULAS = [
    "y ~ x",
    "log(y + 9) ~ x * g",
    "y ~ log(x) + exp(t) + sqrt(z) + I(1 / k)",
    "y ~ poly(x, 3) + center(z) + scale(t)",
    "y ~ bs(x, df=5) + b",
    "y ~ cr(x, df=4) + cc(t, df=4)",
    "y ~ cr(x, df=4, constraints='center') * g",
    "y ~ C(k, contr.poly) * I(x > 0) + I(g == 'a')",
    "y ~ 0 + g:x + k ** 2 + {x ** 2.5}",
    "y ~ x + offset(log(t))",
    "y ~ cut(x, breaks=c(-Inf, 0, 2, Inf)) * factor(g) + ifelse(z > 0, t, abs(z))",
    "y ~ I(x^2 > 1 & !(z < 0) | k %in% c(1, 2)) + pmin(x, z) + pmax(x, t, 1) + relevel(g, ref='b')",
    "y ~ log1p(abs(x)) + expm1(-abs(z)) + log(t, 2) + round(x) + sign(z) + I(x %% 2) + I(g %in% 'a')",
    "y ~ ordered(g) + cut(t, c(0, 1, 5, 99), right=FALSE, include.lowest=TRUE)",
]
BAD_NUMBERS = [np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, 0.0, -3.0, 1e6]


def encoded(design, data, size=64):
    parts = [[], [], [], []]
    for block in open_rows(design, data).blocks(size):
        assert block.x.flags.f_contiguous
        for part, values in zip(parts, (block.x, block.y, block.offset, block.weight), strict=True):
            part.append(np.zeros(len(block.y)) if values is None else values)
    return [np.concatenate(part) for part in parts]


def assert_same_but(one, two, row):
    """Every row but one has the same bits; nothing is NaN or infinite."""
    keep = np.arange(len(one[1])) != row
    for a, b in zip(one, two, strict=True):
        assert np.isfinite(b).all()
        assert a[keep].tobytes() == b[keep].tobytes()


def assert_zero(values, row):
    for part in values:
        assert not np.any(part[row])


@pytest.fixture(autouse=True)
def silence(caplog, capfd):
    """Nothing may be warned of, logged or printed."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with caplog.at_level(logging.DEBUG):
            yield
    assert caplog.records == []
    out = capfd.readouterr()
    assert out.out == out.err == ""


PUBLIC = make_table(200, 1).assign(x=lambda d: d.x.abs() + 0.1)
PRIVATE = make_table(60, 2)


@pytest.mark.parametrize("formula", FORMULAS)
def test_blocks_of_any_size_give_the_same_bits(formula):
    design = learn_design(formula, PUBLIC, weights="w", offset="my col")
    data = make_table(300, 5)
    data.loc[3, "x"] = np.nan
    expected = encoded(design, data, 65536)
    for size in (1, 7, 257):
        for a, b in zip(expected, encoded(design, data, size), strict=True):
            assert a.tobytes() == b.tobytes()


replacement = st.fixed_dictionaries(
    {
        "y": st.floats() | st.sampled_from(BAD_NUMBERS),
        "x": st.floats() | st.sampled_from(BAD_NUMBERS),
        "z": st.floats() | st.sampled_from(BAD_NUMBERS),
        "t": st.floats() | st.sampled_from(BAD_NUMBERS),
        "w": st.floats() | st.sampled_from(BAD_NUMBERS),
        "my col": st.floats() | st.sampled_from(BAD_NUMBERS),
        "k": st.floats() | st.sampled_from(BAD_NUMBERS),
        "g": st.none() | st.text() | st.sampled_from(["a", "b", "secret", 3, 1.5, True, [1], {}]),
        "b": st.none() | st.booleans() | st.sampled_from([0, 1, "True", [1]]),
    }
)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(formula=st.sampled_from(FORMULAS), row=st.integers(0, 59), new=replacement)
def test_replacing_a_row_changes_that_row_only(formula, row, new):
    design = learn_design(formula, PUBLIC, weights="w", offset="my col")
    base = PRIVATE.astype({"g": object, "b": object, "k": float})
    changed = base.copy()
    for name, value in new.items():
        column = changed[name].to_numpy(copy=True)
        column[row] = value
        changed[name] = column
    one, two = encoded(design, base), encoded(design, changed)
    assert_same_but(one, two, row)
    assert ((two[3] >= 0) & (two[3] <= design.weight_bound)).all()


@pytest.mark.parametrize("formula", FORMULAS)
def test_an_ordinary_row_in_place_of_another_changes_that_row_only(formula):
    """Of every formula; the numbers would move a mean, a spread or a knot learnt on private rows."""
    design = learn_design(formula, PUBLIC, weights="w", offset="my col")
    changed = PRIVATE.astype({"k": float})
    base = changed.copy()
    changed.loc[7, ["y", "x", "t", "w", "my col"]] = [3.0, 5.0, 2.0, 0.5, 1.5]
    assert_same_but(encoded(design, base), encoded(design, changed), 7)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["y", "x", "w", "my col"])
def test_a_missing_or_infinite_value_zeroes_its_row_alone(name, value):
    design = learn_design("y ~ x + I(x > 0) + g", PUBLIC, weights="w", offset="my col")
    changed = PRIVATE.copy()
    changed.loc[11, name] = value
    before, after = encoded(design, PRIVATE), encoded(design, changed)
    assert_same_but(before, after, 11)
    assert_zero(after, 11)


def test_an_unseen_level_is_not_the_reference_level():
    design = learn_design("y ~ g + C(k)", PUBLIC)
    changed = PRIVATE.copy()
    changed.loc[4, "g"] = "secret"
    changed.loc[5, "k"] = 77
    after = encoded(design, changed)
    assert_zero(after, 4)
    assert_zero(after, 5)
    assert_same_but(encoded(design, PRIVATE.drop(index=5)), [np.delete(p, 5, 0) for p in after], 4)


def test_a_number_among_categories_is_copied_nowhere():
    design = learn_design("y ~ x + g", PUBLIC)
    changed = PRIVATE.astype({"g": object})
    changed.loc[4, "g"] = 7
    after = encoded(design, changed)
    assert_zero(after, 4)
    assert_same_but(encoded(design, PRIVATE), after, 4)


def test_a_missing_value_under_a_duplicate_index_deletes_nothing():
    design = learn_design("y ~ x + g", PUBLIC)
    changed = PRIVATE.copy()
    changed.index = np.zeros(len(changed), dtype=int)
    changed["x"] = np.where(np.arange(len(changed)) == 9, np.nan, changed["x"])
    after = encoded(design, changed)
    assert_zero(after, 9)
    assert_same_but(encoded(design, PRIVATE), after, 9)


@pytest.mark.parametrize(
    "right",
    [
        "bs(x, df=5)",
        "bs(x, df=5, extrapolation='raise')",
        "cr(x, df=4, extrapolation='raise')",
        "cc(x, df=4)",
    ],
)
@pytest.mark.parametrize("value", [1e6, -1e6])
def test_a_spline_outside_the_public_range_neither_raises_nor_drops_the_row(right, value):
    design = learn_design(f"y ~ {right}", PUBLIC)
    changed = PRIVATE.copy()
    changed.loc[2, "x"] = value
    after = encoded(design, changed)
    assert_same_but(encoded(design, PRIVATE), after, 2)
    assert after[0][2, 0] == 1


def test_overflow_and_domain_errors_of_transforms_zero_the_row():
    design = learn_design("y ~ exp(x) + log(z) + I(log(z) > 0)", PUBLIC)
    changed = PRIVATE.copy()
    changed.loc[2, "x"] = 1e5
    changed.loc[3, "z"] = -1.0
    after = encoded(design, changed)
    assert_zero(after, 2)
    assert_zero(after, 3)


def test_a_missing_value_in_a_comparison_is_missing():
    x, _ = design_matrix(
        learn_design("y ~ I(log(z) > 0)", PUBLIC), pd.DataFrame({"z": [-1.0, 2.0]})
    )
    assert np.isnan(x[0]).all()
    assert x[1].tolist() == [1.0, 1.0]


def test_weights_are_clipped_into_their_bound():
    design = learn_design("y ~ x", PUBLIC, weights="w", limits={"(weights)": (0, 2)})
    changed = PRIVATE.copy()
    changed.loc[[0, 1], "w"] = [-5.0, 99.0]
    weight = encoded(design, changed)[3]
    assert weight[0] == 0
    assert weight[1] == design.weight_bound == 2


def test_offsets_of_formula_and_keyword_add_up():
    design = learn_design("y ~ x + offset(log(t))", PUBLIC, offset="my col")
    expected = np.log(PRIVATE.t.to_numpy()) + PRIVATE["my col"].to_numpy()
    np.testing.assert_allclose(encoded(design, PRIVATE)[2], expected, rtol=1e-14)


def test_nothing_private_in_errors_of_types():
    design = learn_design("y ~ x + g", PUBLIC)
    with pytest.raises(SchemaError) as error:
        open_rows(design, PRIVATE.assign(x="secret", g=8675309))
    assert "secret" not in str(error.value)
    assert "8675309" not in str(error.value)


def test_a_reader_that_fails_gives_empty_rows_and_shows_no_data(monkeypatch):
    rows = open_rows(learn_design("y ~ x", PUBLIC), PRIVATE)

    def fail(*_):
        raise ValueError("secret")

    monkeypatch.setattr(rows._source.table, "numbers", fail)
    (block,) = rows.blocks()
    assert not block.x.any()
    assert not block.y.any()


def test_repr_shows_public_facts_only():
    rows = open_rows(learn_design("y ~ x", PUBLIC), PRIVATE)
    block = next(rows.blocks())
    assert repr(block) == str(block) == "<Block>"
    assert repr(rows) == "<Rows: n = 60, d = 2>"


def test_blocks_are_copies_of_the_table():
    data = PRIVATE.copy()
    block = next(open_rows(learn_design("y ~ x", PUBLIC), data).blocks())
    block.x[:] = 0
    block.y[:] = 0
    pd.testing.assert_frame_equal(data, PRIVATE)


def test_one_sided_formulas_have_a_response_of_zeros():
    block = next(open_rows(learn_design("~ x", PUBLIC), PRIVATE.drop(columns="y")).blocks())
    assert not block.y.any()
    assert block.offset is None
    assert block.weight is None


def test_a_block_needs_a_row():
    with pytest.raises(ArgumentError):
        next(open_rows(learn_design("~ x", PUBLIC), PRIVATE).blocks(0))


class _Defiant:
    """A cell that raises whatever is asked of it."""

    def _refuse(self, *_: object) -> int:
        raise RuntimeError("SECRET-4711")

    __float__ = __hash__ = __eq__ = __str__ = __repr__ = _refuse  # type: ignore[assignment]


def test_a_cell_that_cannot_be_read_empties_its_row_without_a_message() -> None:
    public = pd.DataFrame({"y": [1.0, 2.0, 3.0, 4.0], "x": pd.Categorical([1, 2, 1, 2])})
    design = learn_design("y ~ x", public)
    cells = [1, 2, np.void(b"ab"), 1, _Defiant()]
    data = pd.DataFrame({"y": np.arange(1.0, 6.0), "x": pd.Series(cells, dtype=object)})
    (block,) = open_rows(design, data).blocks()
    assert block.x.tolist() == [[1, 0], [1, 1], [0, 0], [1, 0], [0, 0]]
    assert block.y.tolist() == [1, 2, 0, 4, 0]


def test_text_that_is_not_text_is_an_unknown_level() -> None:
    pa = pytest.importorskip("pyarrow")
    public = pd.DataFrame({"y": [1.0, 2.0, 3.0], "g": ["a", "b", "a"]})
    design = learn_design("y ~ g", public)
    broken = pa.array([b"a", b"\xff\xfe", b"b"], pa.large_binary()).view(pa.large_string())
    for column in (pd.Series(pd.array(broken, dtype=pd.ArrowDtype(pa.large_string()))),):
        data = pd.DataFrame({"y": [1.0, 2.0, 3.0], "g": column})
        (block,) = open_rows(design, data).blocks()
        assert block.y.tolist() == [1, 0, 3]
    numbers = pd.DataFrame({"y": [1.0, 2.0, 3.0], "g": pd.Categorical([1, 2, 1])})
    table = pa.table({"y": [1.0, 2.0, 3.0], "g": broken.dictionary_encode()})
    with pytest.raises(SchemaError, match="is a category of text"):
        open_rows(learn_design("y ~ g", numbers), table)
    assert arrow_codes([broken.dictionary_encode()], (1, 2)).tolist() == [-1, -1, -1]


def test_a_stream_that_fails_shows_nothing() -> None:
    pa = pytest.importorskip("pyarrow")
    schema = pa.schema({"y": pa.float64(), "x": pa.float64()})

    def batches():  # type: ignore[no-untyped-def]
        yield pa.record_batch({"y": [1.0], "x": [2.0]}, schema=schema)
        raise ValueError("Could not convert string 'SECRET-4711'")

    public = pd.DataFrame({"y": [1.0, 2.0, 3.0], "x": [0.0, 1.0, 1.0]})
    design = learn_design("y ~ x", public)
    with pytest.raises(PassError, match="Materialise") as caught:
        open_rows(design, pa.RecordBatchReader.from_batches(schema, batches()))
    assert "4711" not in str(caught.value)
    assert caught.value.__context__ is None


BOX = {"x": (0.0, 1.0), "g": ["a", "b"], "y": (-1.0, 2.0), "z": float}


def boxed_rows(formula, data, **more):
    design = boxed(declare_design(formula, BOX | more), BOX | more)
    (block,) = open_rows(design, data).blocks()
    return block


def box_table():
    return pd.DataFrame(
        {
            "x": [0.5, -3.0, 7.0, np.nan, 1.0, 0.25],
            "g": ["a", "b", "a", "b", "c", "a"],
            "y": [0.0, 1.0, 2.0, 9.0, 9.0, -5.0],
            "z": [-9.0, 9.0, 0.0, 0.0, 0.0, 0.0],
        }
    )


def test_numbers_outside_their_box_are_cut_and_said_to_be_cut():
    block = boxed_rows("y ~ x + z", box_table())
    alive = block.usable
    assert alive.tolist() == [True, True, True, False, True, True], "what is missing stays missing"
    assert block.x[alive, 1].tolist() == [0.5, 0.0, 1.0, 1.0, 0.25]
    assert block.y[alive].tolist() == [0.0, 1.0, 2.0, 2.0, -1.0]
    assert block.above.tolist() == [0, 1, 1, 0, 1, 1], "lower limits count; an empty row does not"
    assert block.x[alive, 2].tolist() == [-9.0, 9.0, 0.0, 0.0, 0.0], "it has no box"


def test_an_unknown_level_is_no_number_outside_a_box():
    block = boxed_rows("y ~ x + g", box_table())
    assert block.usable.tolist() == [True, True, True, False, False, True]
    assert block.above.tolist() == [0, 1, 1, 0, 0, 1]


def test_what_is_made_of_a_number_is_made_of_the_cut_one():
    block = boxed_rows("log(y + 2) ~ I(x ** 2) + offset(x)", box_table())
    x = np.clip(np.array([0.5, -3.0, 7.0]), 0, 1)
    assert block.x[:3, 1].tolist() == (x**2).tolist()
    assert block.offset[:3].tolist() == x.tolist()
    assert block.y[5] == np.log(-1 + 2)


def test_infinite_numbers_are_missing_and_not_cut():
    table = box_table().assign(x=[np.inf, -np.inf, 0.5, 0.5, 0.5, 0.5])
    block = boxed_rows("y ~ x", table)
    assert block.usable.tolist() == [False, False, True, True, True, True]


def test_a_cell_that_cannot_be_read_leaves_the_rest_of_a_box_as_it_is():
    class Rude:
        def __float__(self):
            raise RuntimeError("secret")

    table = box_table()
    table["x"] = pd.Series([Rude(), 7.0, 0.5, 0.5, 0.5, 0.5], dtype=object)
    design = boxed(declare_design("y ~ x", BOX), BOX)
    blocks = PendingBlock(Plain(design), as_table(table), 0, 6)()
    assert blocks.above[1] == 1
    assert not blocks.usable[0]


def test_rows_that_one_may_see_are_not_cut():
    design = boxed(declare_design("y ~ x", BOX), BOX)
    x, _ = design_matrix(design, box_table()[["x"]])
    assert x[:3, 1].tolist() == [0.5, -3.0, 7.0]


def test_weights_are_cut_by_their_bound_alone():
    more = {"w": (0.0, 2.0), "(weights)": (0, 3)}
    schema = BOX | more
    design = boxed(declare_design("y ~ x", schema, weights="w"), schema)
    assert set(design.boxes) == {"x", "y"}
    (block,) = open_rows(design, box_table().assign(w=[1.0, 1, 1, 1, 2.5, 9.0])).blocks()
    assert block.weight[[0, 4, 5]].tolist() == [1.0, 2.5, 3.0]
    assert block.above.tolist() == [0, 1, 1, 0, 1, 1]
