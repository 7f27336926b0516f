"""Public moments: exact sums, no rows, and errors that say how to go on."""

import json
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from dpstats import dp_lm
from dpstats.errors import ArgumentError, PublicDataError
from dpstats.frame import PublicMoments, SpentOn, design_matrix, public_moments, with_response


def test_moments_are_the_means_of_products(clean):
    dirty = clean.copy()
    dirty.loc[[0, 1, 2], ["x", "y", "t"]] = np.nan
    found = public_moments("y ~ x * g", dirty, weights="w", offset="t")
    used = dirty.iloc[3:]
    x = design_matrix(found.design, used)[0]
    w, y = used.w.to_numpy(), (used.y - used.t).to_numpy()
    assert (found.m, found.dropped) == (197, 3)
    np.testing.assert_allclose(found.gram, (x * w[:, None]).T @ x / 197, rtol=1e-12)
    np.testing.assert_allclose(found.cross, x.T @ (w * y) / 197, rtol=1e-12)
    np.testing.assert_allclose(found.yy, np.sum(w * y * y) / 197, rtol=1e-12)
    assert (found.gram == found.gram.T).all()


def test_one_sided(clean):
    found = public_moments("~ x + g", clean[["x", "g"]])
    assert found.cross is None
    assert found.yy is None
    assert found.terms == ("Intercept", "x", "g[T.b]", "g[T.c]")
    assert repr(found) == "<PublicMoments: ~ x + g; 4 columns; 200 public rows>"


def test_weights_may_be_private_only(clean):
    limits = {"(weights)": (0, 9)}
    found = public_moments("y ~ x", clean.drop(columns="w"), weights="w", limits=limits)
    np.testing.assert_array_equal(found.gram, public_moments("y ~ x", clean).gram)
    assert found.design.weight_bound == 9


def test_offsets_may_be_private_only_when_there_is_no_response(clean):
    found = public_moments("~ x", clean[["x"]], offset="t")
    assert with_response(found.design, "y ~ x").offsets == ("`t`",)


def test_json_round_trip(clean, private):
    for formula in ("y ~ poly(x, 2) + bs(z, df=4) + g", "~ cr(x, df=4) + C(k, contr.sum)"):
        found = public_moments(formula, clean)
        again = PublicMoments.from_json(found.to_json())
        assert again.to_json() == found.to_json()
        assert again.gram.tobytes() == found.gram.tobytes()
        one, two = design_matrix(found.design, private)[0], design_matrix(again.design, private)[0]
        assert one.tobytes() == two.tobytes()


def test_rows_of_which_there_are_few_are_more_for_whitening(clean):
    """One row of a level counts as four, two as two each, and so for first levels."""
    frame = clean[clean.g != "a"].assign(g=lambda t: t.g.astype(str))
    for k in (1, 2):
        some = pd.concat([frame, clean[clean.g == "a"].head(k)])
        for first in (True, False):
            levels = {"g": ["a", "b", "c"] if first else ["b", "c", "a"]}
            found = public_moments("y ~ x + g", some, limits=levels)
            assert found.few.added is not None
            at, constant = found.terms.index("g[T.b]") if first else 3, found.few.added[0, 0]
            assert constant * found.m == pytest.approx(4 - k, rel=0.02)
            own = found.few.added[at, at] if not first else constant
            assert own == pytest.approx(constant)
            again = PublicMoments.from_json(found.to_json())
            assert again.few.added.tobytes() == found.few.added.tobytes()
    assert public_moments("y ~ x + g", clean).few.added is None
    saved = json.loads(again.to_json())
    few = saved["few"]
    for times, moved in ((1e10, 0.0), (4.0, 0.0), (-1.0, 0.0), (1.0, 1e-6), (1.0, np.nan)):
        wrong = (times * again.few.added + moved * np.eye(4)[:, [0] * 4]).tolist()
        with pytest.raises(PublicDataError, match="not written by"):
            PublicMoments.from_json(json.dumps(saved | {"few": few | {"added": wrong}}))
    assert public_moments("y ~ x", frame).few.added is None


def test_rows_that_decide_a_direction_by_themselves_are_known(clean):
    far = clean.assign(x=np.where(np.arange(len(clean)) == 0, 100.0, clean.x))
    assert public_moments("y ~ x + g", clean).few.heavy is None
    found = public_moments("y ~ x + g", far)
    along, beside = np.eye(4)[[list(found.terms).index(name) for name in ("x", "g[T.b]")]]
    assert found.few.decide(along, found.gram)
    assert not found.few.decide(beside, found.gram)
    again = PublicMoments.from_json(found.to_json())
    assert again.few.heavy.tobytes() == found.few.heavy.tobytes()
    saved = json.loads(found.to_json())
    few = saved["few"]
    for wrong in (2 * found.gram, -found.few.heavy, np.full((4, 4), np.nan), np.eye(3)):
        with pytest.raises(PublicDataError, match="not written by"):
            PublicMoments.from_json(json.dumps(saved | {"few": few | {"heavy": wrong.tolist()}}))


def test_few_residuals_that_make_the_mean_square_are_known(clean):
    spent = clean.assign(y=np.where(np.arange(len(clean)) % 50 == 0, 100.0, 0.0))
    for frame, few in ((clean, False), (spent, True)):
        found = public_moments("y ~ x + g", frame)
        assert found.few.differ is few
        assert PublicMoments.from_json(found.to_json()).few.differ is few
    assert public_moments("~ x", clean).few.differ is None
    saved = json.loads(public_moments("y ~ x", clean).to_json())
    with pytest.raises(PublicDataError, match="not written by"):
        PublicMoments.from_json(json.dumps(saved | {"few": saved["few"] | {"differ": 1}}))


def test_far_scores_are_means_of_what_is_beyond(clean):
    """Whatever the units, and with weights as with rows that are there several times."""
    bent = clean.assign(y=np.maximum(clean.x, 0) ** 2, w=1.0 + (clean.x > 1))
    found = public_moments("y ~ x + g", bent)
    x, _ = design_matrix(found.design, bent)
    residual = bent.y.to_numpy() - x @ np.linalg.solve(found.gram, found.cross)
    z = x @ np.linalg.inv(np.linalg.cholesky(found.gram)).T
    lengths = np.linalg.norm(z * residual[:, None], axis=1)
    usual = np.quantile(lengths, 0.9)
    for times in (1.5, 1.9):
        at = times * usual
        kept = np.minimum(np.maximum(lengths - at, 0.0), at) / lengths
        expected = (x * (kept * residual)[:, None]).mean(axis=0) / usual
        mean, square = found.few.far.between(times)
        assert mean == pytest.approx(expected, abs=2e-3)
        kept = np.minimum(np.maximum(lengths / usual - times, 0.0), times)
        assert square == pytest.approx((kept**2).mean(), rel=0.05)
    assert np.abs(expected).max() > 0.01
    other = public_moments("y ~ x + g", bent.assign(y=1e6 * bent.y, x=1e-3 * bent.x))
    assert other.few.far.beyond == pytest.approx(found.few.far.beyond * [1, 1e-3, 1, 1], abs=1e-9)
    heavy = public_moments("y ~ x", bent, weights="w", limits={"(weights)": (0, 2)}).few.far
    assert np.isfinite(heavy.beyond).all()
    assert not found.few.far.between(100.0)[0].any()


def test_far_scores_from_json_are_those_of_rows_or_refused(clean):
    found = public_moments("y ~ x + g", clean)
    again = PublicMoments.from_json(found.to_json())
    assert again.few.far.beyond.tobytes() == found.few.far.beyond.tobytes()
    assert public_moments("~ x", clean).few.far is None
    exact = public_moments("y ~ x", clean.assign(y=0.0))
    assert PublicMoments.from_json(exact.to_json()).few.far is None
    saved = json.loads(found.to_json())
    few = saved["few"]
    far = few["far"]
    for wrong in (
        {"lengths": [1.0]},
        {"lengths": far["lengths"][::-1]},
        {"lengths": [-1.0, *far["lengths"][1:]]},
        {"beyond": far["beyond"][1:]},
        {"beyond": [[1e999] * 4] * len(far["lengths"])},
        {"beyond": "x"},
        {"squares": [-1.0] * len(far["lengths"])},
        {"squares": [1e101] * len(far["lengths"])},
        {"beyond": [[1e308] * 4] * len(far["lengths"])},
    ):
        with pytest.raises(PublicDataError, match="not written by"):
            PublicMoments.from_json(json.dumps(saved | {"few": few | {"far": far | wrong}}))


def test_a_cell_that_no_public_row_has_is_no_formula_that_says_something_twice(clean):
    rows = pd.concat([clean] * 20)
    rows = rows.assign(h=np.where(np.arange(len(rows)) % 3 == 0, "u", "v"), x=np.arange(len(rows)))
    cell = rows[~((rows.g == rows.g.iloc[0]) & (rows.h == "u"))]
    assert public_moments("y ~ x + g * h", rows).determines_columns()
    assert not public_moments("y ~ x + g * h", cell).determines_columns()
    twice = public_moments("y ~ x + z + g", rows.assign(z=2 * rows.x))
    with pytest.raises(PublicDataError, match="depend on each other"):
        twice.determines_columns()


def test_moments_can_be_pickled(clean, private):
    found = public_moments("y ~ poly(x, 2) + g", clean)
    again = pickle.loads(pickle.dumps(found))
    assert (
        design_matrix(again.design, private)[0].tobytes()
        == design_matrix(found.design, private)[0].tobytes()
    )


def test_json_that_is_something_else(clean):
    for text in ("{}", "[]", "x", "3"):
        with pytest.raises(PublicDataError):
            PublicMoments.from_json(text)
    saved = json.loads(public_moments("~ x", clean).to_json())
    saved["design"]["version"] = 99
    with pytest.raises(PublicDataError, match="version"):
        PublicMoments.from_json(json.dumps(saved))


def test_full_rank_names_the_columns_that_depend(clean):
    frame = clean.assign(u=clean.x + 2 * clean.z, v=1e9 * clean.k)
    public_moments("y ~ x + z + v + g", frame).require_full_rank()
    with pytest.raises(PublicDataError) as error:
        public_moments("y ~ x + k + z + u + g", frame).require_full_rank()
    text = str(error.value)
    assert "'x', 'z', 'u'" in text
    assert "'k'" not in text
    assert "200 public rows" in text
    assert "with_ridge(0.01)" in text
    with pytest.raises(PublicDataError, match="3 public rows cannot identify the 6 columns"):
        public_moments("y ~ x + z + k + t + w", clean.iloc[:3]).require_full_rank()
    declared = clean.astype({"g": pd.CategoricalDtype(["a", "b", "c", "d"])})
    with pytest.raises(PublicDataError, match=r"'g\[T\.d\]' are zero"):
        public_moments("y ~ g", declared).require_full_rank()


def test_powers_of_a_column_far_from_zero_need_another_origin() -> None:
    rng = np.random.default_rng(1)
    rows = pd.DataFrame({"year": rng.integers(1980, 2021, 300) * 1.0, "b": rng.integers(0, 2, 300)})
    moments = public_moments("~ year + I(year^2)", rows)
    with pytest.raises(PublicDataError, match=r"Write poly\(year, 2\), or subtract a round number"):
        moments.require_full_rank()
    with pytest.raises(PublicDataError, match="cannot identify the 3 columns"):
        public_moments("~ b + I(b^2)", rows).require_full_rank()
    public_moments("~ year + I((year - 2000)^2)", rows).require_full_rank()


def test_a_column_that_is_zero_in_all_public_rows_is_named() -> None:
    with pytest.raises(PublicDataError, match="'x' are zero in every public row"):
        public_moments("~ 0 + x", pd.DataFrame({"x": np.zeros(60)})).determines_columns()
    with pytest.raises(PublicDataError, match="'x' are zero in every public row"):
        public_moments("y ~ 0 + x", pd.DataFrame({"x": np.zeros(60), "y": 1.0})).require_full_rank()


def test_ridge_is_a_way_out(clean):
    declared = clean.astype({"g": pd.CategoricalDtype(["a", "b", "c", "d"])}).assign(u=clean.x)
    found = public_moments("y ~ x + u + g", declared)
    ridged = found.with_ridge(0.01)
    ridged.require_full_rank()
    np.testing.assert_allclose(np.diag(ridged.gram)[:5], 1.01 * np.diag(found.gram)[:5])
    assert ridged.m == found.m
    for share in (0, -1, np.nan, np.inf):
        with pytest.raises(ArgumentError):
            found.with_ridge(share)


def test_declared_moments():
    schema = {"y": float, "x": float, "g": ["a", "b"]}
    gram = np.array([[1.0, 0.5, 0.2], [0.5, 2.0, 0.1], [0.2, 0.1, 0.2]])
    cross, yy = np.array([0.3, 0.2, 0.1]), 5.0
    found = PublicMoments.declare("y ~ x + g", schema, gram, m=50, cross=cross, yy=yy)
    names = ["g[T.b]", "Intercept", "x"]
    frame = pd.DataFrame(gram, found.terms, found.terms).loc[names, names]
    labelled = PublicMoments.declare(
        "y ~ x + g", schema, frame, cross=pd.Series(cross, found.terms), yy=yy
    )
    np.testing.assert_array_equal(labelled.gram, gram)
    assert labelled.m is None
    assert PublicMoments.from_json(labelled.to_json()).to_json() == labelled.to_json()
    found.require_full_rank()
    cases = {
        "shape": gram[:2, :2],
        "labels": frame.rename(columns={"x": "q"}),
        "symmetric": gram + np.triu(gram, 1),
        "finite": gram * np.nan,
        "negative eigenvalue": gram - 2 * np.eye(3) * np.array([0, 0, 0.095]),
        "numbers": [["a"]],
        "mean squares": -gram,
    }
    for match, wrong in cases.items():
        with pytest.raises(PublicDataError, match=match):
            PublicMoments.declare("y ~ x + g", schema, wrong)
    with pytest.raises(PublicDataError, match="negative eigenvalue"):
        PublicMoments.declare("y ~ x + g", schema, gram, cross=cross, yy=0.001)
    with pytest.raises(PublicDataError, match="together"):
        PublicMoments.declare("y ~ x + g", schema, gram, cross=cross)
    with pytest.raises(PublicDataError, match="needs a response"):
        PublicMoments.declare("~ x + g", schema, gram, cross=cross, yy=yy)
    with pytest.raises(PublicDataError, match="m must be"):
        PublicMoments.declare("~ x + g", schema, gram, m=0)


def test_no_usable_row_after_the_transforms(clean):
    with pytest.raises(PublicDataError, match="none of the 200"):
        public_moments("y ~ log(x)", clean.assign(x=-1.0))


def test_what_was_spent_on_moments_travels_with_them(clean):
    found = public_moments("y ~ x + g", clean)
    assert found.spent is None
    assert json.loads(found.to_json())["spent"] is None
    paid = replace(found, spent=SpentOn(0.7, 3, None, True))
    assert "a private release, mu = 0.7; seeded: not for release" in repr(paid)
    assert "private release" not in repr(found)
    for again in (PublicMoments.from_json(paid.to_json()), pickle.loads(pickle.dumps(paid))):
        assert again.spent == paid.spent
        assert again.gram.tobytes() == found.gram.tobytes()
    assert PublicMoments.from_json(found.to_json()).spent is None
    assert paid.with_ridge(0.01).spent == paid.spent


def test_moments_written_before_spending_was_noted_are_read(clean):
    saved = json.loads(public_moments("y ~ x", clean).to_json())
    del saved["spent"]
    assert PublicMoments.from_json(json.dumps(saved)).spent is None


@pytest.mark.parametrize("spent", ["a", -1.0, [1]])
def test_a_cost_that_is_none_is_refused(clean, spent):
    saved = json.loads(public_moments("y ~ x", clean).to_json()) | {"spent": spent}
    with pytest.raises(PublicDataError):
        PublicMoments.from_json(json.dumps(saved))


def test_public_rows_without_a_declared_level_are_told_which_levels_were_looked_for() -> None:
    rows = pd.DataFrame({"y": np.arange(20.0), "sex": ["M", "F"] * 10})
    with pytest.raises(
        PublicDataError, match=r"`sex` has none of its levels f, m \(case and blanks"
    ):
        dp_lm("y ~ sex", rows, public=rows, mu=1, limits={"sex": ["f", "m"]})
    with pytest.raises(PublicDataError, match="table of public rows, not True"):
        dp_lm("y ~ sex", rows, public=True, mu=1)


def test_public_rows_without_any_weight_are_refused(clean):
    with pytest.raises(PublicDataError, match="are all zero"):
        public_moments("y ~ x", clean.assign(w=0.0), weights="w", limits={"(weights)": (0, 2)})


def test_public_rows_without_the_first_level_say_so(clean):
    levels = ["none", *sorted(set(clean.g))]
    rows = clean.assign(g=pd.Categorical(clean.g, levels))
    for formula in ("y ~ g + x", "y ~ x * g", "y ~ relevel(g, ref='none')"):
        with pytest.raises(PublicDataError, match="none has the level 'none' of `g`") as error:
            public_moments(formula, rows).require_full_rank()
        assert f"limits={{'g': {levels[1:]}}}" in str(error.value)
    public_moments("y ~ g + x", rows, limits={"g": levels[1:]}).require_full_rank()
    public_moments("y ~ g + x", rows.assign(g=rows.g.cat.remove_unused_categories()))
    for formula in ("y ~ 0 + x", "y ~ C(g, contr.sum) + x"):
        public_moments(formula, clean).require_full_rank()
