"""Estimated marginal means and t distributions, held against R (emmeans 1.8.4)."""

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from scipy import stats

from dpstats import anova, dp_glm, dp_lm
from dpstats.datasets import fair
from dpstats.errors import ArgumentError

_NOISELESS: dict[str, Any] = {"rho": 1e12, "vcov": "iid", "seed": 2}
_BREAKS = [
    *(26, 30, 54, 25, 70, 52, 51, 26, 67, 18, 21, 29, 17, 12, 18, 35, 30, 36, 36, 21, 24, 18, 10),
    *(43, 28, 15, 26, 27, 14, 29, 19, 29, 31, 41, 20, 44, 42, 26, 19, 16, 39, 28, 21, 39, 29, 20),
    *(21, 24, 17, 13, 15, 15, 16, 28),
]
WARP = pd.DataFrame(
    {
        "breaks": np.array(_BREAKS, dtype=float),
        "wool": np.repeat(["A", "B"], 27),
        "tension": pd.Categorical(np.tile(np.repeat(["L", "M", "H"], 9), 2), ["L", "M", "H"]),
    }
)
"""R's warpbreaks."""


@cache
def _lm() -> Any:
    return dp_lm("breaks ~ wool * tension", WARP, WARP, **_NOISELESS)


@cache
def _poisson() -> Any:
    return dp_glm("breaks ~ wool + tension", WARP, WARP, family="poisson", **_NOISELESS)


def test_means_are_those_of_r() -> None:
    """emmeans(lm(breaks ~ wool * tension, warpbreaks), "tension") and ~ wool + tension"""
    frame = _lm().emmeans("tension").frame
    assert list(frame.tension) == ["L", "M", "H"]
    assert frame.emmean.to_numpy() == pytest.approx([36.388889, 26.388889, 21.666667], rel=1e-5)
    assert frame.std_error.to_numpy() == pytest.approx(2.5786493, rel=1e-5)
    assert frame.conf_low[0] == pytest.approx(31.204169, rel=1e-5)  # 48 degrees of freedom
    both = _lm().emmeans(["wool", "tension"]).frame
    assert list(both.wool) == ["A", "B"] * 3
    assert both.emmean[5] == pytest.approx(18.777778, rel=1e-5)


def test_contrasts_are_those_of_r() -> None:
    """pairs(emmeans(...)) by Tukey's range; the intervals are those of confint."""
    frame = _lm().emmeans("tension").contrasts().frame
    assert list(frame.contrast) == ["L - M", "L - H", "M - H"]
    assert frame.statistic.to_numpy() == pytest.approx([2.742159, 4.037068, 1.294909], rel=1e-5)
    assert frame.p_value.to_numpy() == pytest.approx([0.0228554, 0.00055954, 0.4049437], rel=1e-3)
    assert frame.conf_low[0] == pytest.approx(1.180354, rel=1e-4)
    plain = _lm().emmeans("tension").contrasts("none").frame
    three = _lm().emmeans("tension").contrasts("bonferroni").frame
    assert plain.p_value[0] == pytest.approx(2 * stats.t.sf(2.742159, 48), rel=1e-4)
    assert three.p_value[0] == pytest.approx(3 * plain.p_value[0])
    held = _lm().emmeans("tension").contrasts("holm").frame.p_value
    assert held.tolist() == pytest.approx((plain.p_value * [2, 3, 1]).tolist())


def test_other_contrasts_are_those_of_r() -> None:
    """contrast(emmeans(...), "trt.vs.ctrl", adjust = "bonferroni"), "consec", "revpairwise", "eff"."""
    means = _lm().emmeans("tension")
    plain = means.contrasts("none").frame.p_value
    first = means.contrasts(method="trt.vs.ctrl")
    assert list(first.frame.contrast) == ["M - L", "H - L"]
    assert first.frame.estimate.tolist() == pytest.approx([-10.0, -14.722222], rel=1e-5)
    assert first.frame.p_value.tolist() == pytest.approx([2 * plain[0], 2 * plain[1]])
    assert "Adjusted for 2 tests: bonferroni." in str(first)
    along = means.contrasts(method="consec").frame
    assert list(along.contrast) == ["M - L", "H - M"]
    turned, pairs = (means.contrasts(method=one).frame for one in ("revpairwise", "pairwise"))
    assert list(turned.contrast) == ["M - L", "H - L", "H - M"]
    assert turned.p_value.tolist() == pytest.approx(pairs.p_value.tolist())
    effects = means.contrasts("none", method="eff").frame
    assert list(effects.contrast) == ["L effect", "M effect", "H effect"]
    assert effects.estimate.tolist() == pytest.approx([8.240741, -1.759259, -6.481481], rel=1e-5)
    assert effects.std_error.tolist() == pytest.approx([2.105458] * 3, rel=1e-5)
    ratios = (
        _poisson().emmeans("wool", by="tension", type="response").contrasts(method="trt.vs.ctrl")
    )
    assert list(ratios.frame.contrast) == ["B / A"] * 3


def test_what_has_no_error_prints_as_na() -> None:
    rare = pd.DataFrame({"g": np.repeat(["a", "b", "c"], [1990, 2000, 10])})
    rare["y"] = np.random.default_rng(1).normal(size=len(rare))
    fit = dp_lm("y ~ g", rare, mu=0.7, seed=1, limits={"g": ["a", "b", "c"]})
    for page in (str(fit.emmeans("g")), str(fit.emmeans("g").contrasts())):
        assert "NA" in page
        assert "NaN" not in page


def test_means_at_values_of_a_number() -> None:
    """emmeans(lm(breaks ~ wool * x), ~ wool | x, at = list(x = c(0, 10)))"""
    table = WARP.assign(x=np.arange(54.0) % 20, m=np.arange(54) % 2)
    fit = dp_lm("breaks ~ wool * x + m", table, table, **_NOISELESS)
    means = fit.emmeans("wool", by="x", at={"x": [0, 10], "m": 0})
    assert means.frame.x.tolist() == [0.0, 0.0, 10.0, 10.0]
    rows = pd.DataFrame({"wool": ["A", "B"] * 2, "x": [0.0, 0.0, 10.0, 10.0], "m": 0})
    assert means.frame.emmean.to_numpy() == pytest.approx(fit.predict(rows).to_numpy())
    differences = means.contrasts().frame
    assert differences.contrast.tolist() == ["A - B"] * 2
    averaged = fit.emmeans("wool", at={"x": [0, 10], "m": 0}).frame.emmean
    assert averaged.tolist() == pytest.approx(means.frame.groupby("wool").emmean.mean().tolist())
    along = fit.emmeans("x", at={"x": range(0, 30, 10), "wool": "A", "m": 1}).frame
    assert np.diff(along.emmean) == pytest.approx(10 * fit.coef()["x"])
    assert fit.emmeans("m").frame.m.tolist() == [0.0, 1.0]
    assert fit.emmeans("m").contrasts().frame.contrast.tolist() == ["0 - 1"]


def test_contrasts_within_levels_are_those_of_r() -> None:
    """pairs(emmeans(lm(breaks ~ wool * tension, warpbreaks), ~ wool | tension)), and ~ tension | wool"""
    means = _lm().emmeans("wool", by="tension")
    assert list(means.frame.columns[:2]) == ["wool", "tension"]
    assert list(means.frame.tension) == ["L", "L", "M", "M", "H", "H"]
    found = means.contrasts()
    assert list(found.frame.columns[:2]) == ["tension", "contrast"]
    assert list(found.frame.tension) == ["L", "M", "H"]
    assert set(found.frame.contrast) == {"A - B"}
    assert found.frame.estimate.tolist() == pytest.approx([16.33333, -4.777778, 5.777778], rel=1e-5)
    assert found.frame.p_value.tolist() == pytest.approx(
        [0.0026768, 0.3588672, 0.2681523], rel=1e-3
    )
    assert "Adjusted" not in str(found)
    other = _lm().emmeans("tension", by=["wool"]).contrasts()
    assert len(other.frame) == 6
    assert "Adjusted for 3 means: tukey, within each level of wool." in str(other)
    alone = _lm().emmeans("tension", at={"wool": "A"}).contrasts().frame
    pd.testing.assert_frame_equal(other.frame[:3].drop(columns="wool"), alone)
    ratios = _poisson().emmeans("wool", by="tension", type="response").contrasts().frame
    assert list(ratios.contrast) == ["A / B"] * 3


def test_means_on_the_scale_of_the_response() -> None:
    """emmeans(glm(breaks ~ wool + tension, poisson), "tension", type = "response")"""
    means = _poisson().emmeans("tension", type="response")
    assert means.frame.emmean.to_numpy() == pytest.approx([36.1962, 26.2479, 21.5514], rel=1e-4)
    assert means.frame.std_error[0] == pytest.approx(1.41823, rel=1e-3)
    assert "scale of the response" in " ".join(str(means).split())
    ratios = means.contrasts().frame  # pairs(..., type = "response")
    assert ratios.contrast[0] == "L / M"
    assert ratios.ratio[0] == pytest.approx(36.1962 / 26.2479, rel=1e-4)
    found = _poisson().emmeans("tension").contrasts()
    assert ratios.statistic.tolist() == found.frame.statistic.tolist()
    assert "on the log scale" in str(found)
    assert found.frame.p_value[2] == pytest.approx(0.010910, rel=1e-3)
    assert "Pr(>|z|)" in str(found)
    assert "Adjusted for 3 means: tukey" in str(found)


def test_means_of_a_logarithm_are_geometric_means_on_the_scale_of_the_response() -> None:
    """As those of R, whose contrasts are ratios then."""
    fit = dp_lm("log(breaks) ~ wool + tension", WARP, WARP, **_NOISELESS)
    logs, found = fit.emmeans("tension"), fit.emmeans("tension", type="response")
    assert found.frame.emmean.to_numpy() == pytest.approx(np.exp(logs.frame.emmean))
    assert found.frame.std_error[0] == pytest.approx(
        logs.frame.std_error[0] * found.frame.emmean[0], rel=1e-5
    )
    assert "Geometric means of breaks" in str(found)
    pairs, ratios = logs.contrasts().frame, found.contrasts().frame
    assert ratios.contrast[0] == "L / M"
    assert ratios.ratio.to_numpy() == pytest.approx(np.exp(pairs.estimate))
    assert ratios.p_value.to_numpy() == pytest.approx(pairs.p_value)


def test_numbers_stand_at_their_means_or_where_they_are_put() -> None:
    table = WARP.assign(x=np.arange(54.0) ** 2 / 100, z=np.tile([1.0, 2.0, 5.0], 18))
    fit = dp_lm("breaks ~ wool + x + poly(z, 2)", table, table, **_NOISELESS)
    theirs = smf.ols("breaks ~ wool + x + z + I(z**2)", table).fit()
    rows = pd.DataFrame({"wool": ["A", "B"], "x": table.x.mean(), "z": table.z.mean()})
    assert fit.emmeans("wool").frame.emmean.to_numpy() == pytest.approx(
        theirs.predict(rows).to_numpy(), rel=1e-6
    )
    there = fit.emmeans("wool", at={"x": 1.0}).frame.emmean.to_numpy()
    assert there == pytest.approx(theirs.predict(rows.assign(x=1.0)).to_numpy(), rel=1e-6)
    logs = dp_lm("breaks ~ wool + log(z)", table, table, **_NOISELESS)
    with pytest.raises(ArgumentError, match=r"at=\{'z': ...\}"):
        logs.emmeans("wool")
    assert len(logs.emmeans("wool", at={"z": 2.0}).frame) == 2


_SKEWED = pd.DataFrame(
    {"x": np.minimum(np.arange(6000) ** 2 / 4e6, 10), "z": np.arange(6000) % 7 - 9.0}
).assign(g=np.tile(["u", "v"], 3000), y=lambda t: 1 + t.x - 0.2 * t.x**2 + (t.g == "v") + t.z)
_WHERE = {"limits": {"x": (0, 100), "z": (-20, 20), "g": ["u", "v"]}}


@pytest.mark.parametrize(
    "term", ["x", "poly(x, 2)", "poly(x, 2, raw=True)", "scale(x)", "center(x)"]
)
def test_means_of_private_rows_are_no_middles_of_limits(term: str) -> None:
    fit = dp_lm(f"y ~ {term} + g + z", _SKEWED, **_WHERE, **_NOISELESS)
    assert fit.emmeans("g").grid.at == pytest.approx({"x": _SKEWED.x.mean(), "z": -6.0}, abs=0.05)
    assert fit.update("~ . - z").emmeans("g").grid.at["x"] == pytest.approx(
        _SKEWED.x.mean(), abs=0.05
    )


def test_a_smaller_model_has_its_own_columns_means() -> None:
    """They were those of the first columns of the larger one."""
    fit = dp_lm("y ~ x + z + g", _SKEWED, _SKEWED, **_NOISELESS)
    assert fit.update("~ . - x").emmeans("g").grid.at == pytest.approx({"z": _SKEWED.z.mean()})


@pytest.mark.parametrize("limits", [_WHERE["limits"], {"g": ["u", "v"]}])
def test_means_of_a_generalised_linear_model_do_not_weigh_rows(limits: dict[str, Any]) -> None:
    table = _SKEWED.assign(k=np.round(np.exp(0.5 * _SKEWED.x)))
    fit = dp_glm("k ~ x + z + g", table, family="poisson", mu=30, limits=limits, seed=1)
    where = {"x": _SKEWED.x.mean(), "z": -6.0}
    assert fit.emmeans("g").grid.at == pytest.approx(where, abs=0.3)
    assert fit.update("~ . - x").emmeans("g").grid.at == pytest.approx({"z": -6.0}, abs=0.3)


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (lambda: _lm().emmeans("breaks"), "reads no column `breaks`; its factors are 'wool'"),
        (lambda: _lm().emmeans("tension", at={"wool": ["A", "C"]}), "has the levels"),
        (lambda: _lm().emmeans("tension", at={"wool": "C"}), "has the levels"),
        (lambda: _lm().emmeans("tension", at={"q": 1}), "reads no column `q`"),
        (
            lambda: dp_lm(
                "breaks ~ wool + x",
                WARP.assign(x=1.0 * WARP.index),
                mu=50,
                seed=1,
                limits={"wool": ["A", "B"]},
            ).emmeans("x"),
            r"`x` is a number: say at which values, emmeans\('x', at=",
        ),
        (lambda: _lm().emmeans([]), "name a factor"),
        (lambda: _lm().emmeans("wool", by="wool"), "stands in factors and in by"),
        (lambda: _lm().emmeans("wool", by="breaks"), "reads no column"),
        (lambda: _lm().emmeans("tension", type="odds"), "'link' or 'response'"),
        (lambda: _lm().emmeans("tension").contrasts("sidak"), "adjust must be"),
        (lambda: _lm().emmeans("tension").contrasts(method="dunnett"), "method must be"),
        (lambda: _lm().emmeans("tension").contrasts("tukey", method="eff"), "for all pairs"),
    ],
)
def test_what_cannot_be_answered_says_why(asked: Any, says: str) -> None:
    with pytest.raises(ArgumentError, match=says):
        asked()


# -- t distributions --------------------------------------------------------------------------------


def test_few_degrees_of_freedom_are_those_of_r() -> None:
    theirs = smf.ols("breaks ~ wool * C(tension, Treatment('L'))", WARP).fit()
    assert _lm().confint().to_numpy() == pytest.approx(theirs.conf_int().to_numpy(), rel=1e-4)
    p_values = theirs.pvalues.to_numpy()
    assert _lm().tidy().p_value.to_numpy() == pytest.approx(p_values, rel=1e-3)
    assert "Pr(>|t|)" in str(_lm().summary())
    rows = WARP.iloc[::9]
    exact = theirs.get_prediction(rows).summary_frame()
    for kind, names in (
        ("confidence", ["mean_ci_lower", "mean_ci_upper"]),
        ("prediction", ["obs_ci_lower", "obs_ci_upper"]),
    ):
        found = _lm().predict(rows, interval=kind)
        assert found[["lwr", "upr"]].to_numpy() == pytest.approx(exact[names].to_numpy(), rel=1e-4)
    ours = _lm().predictions(rows).frame
    assert ours.conf_low.to_numpy() == pytest.approx(exact.mean_ci_lower.to_numpy(), rel=1e-4)


def test_noise_has_a_known_variance_and_adds_degrees_of_freedom() -> None:
    """By Satterthwaite: with noise as large as the sampling errors there are four times as many."""
    noisy = dp_lm("breaks ~ wool", WARP, WARP, mu=8, vcov="iid", seed=1)
    c = noisy.coefficients
    share = np.diag(c.sampling) / np.diag(c.vcov)
    assert c.freedom_of(np.eye(2)) == pytest.approx(52 / share**2)
    half = stats.t.ppf(0.975, 52 / share**2) * c.std_error
    assert noisy.confint()["97.5%"].to_numpy() == pytest.approx(c.coef + half)


def test_where_they_are_many_or_the_variance_is_known_the_law_is_normal() -> None:
    many = pd.concat([WARP] * 20, ignore_index=True)
    fit = dp_lm("breaks ~ wool", many, many, **_NOISELESS)
    for one in (fit, _poisson()):
        half = stats.norm.ppf(0.975) * one.se()
        assert one.confint()["97.5%"].to_numpy() == pytest.approx((one.coef() + half).to_numpy())
        assert "Pr(>|z|)" in str(one.summary())


def test_tests_of_few_degrees_of_freedom_are_f_tests() -> None:
    """Those of R's anova, of car's linearHypothesis, and at the foot of summary(lm)."""
    theirs = smf.ols("breaks ~ wool * C(tension, Treatment('L'))", WARP).fit()
    found = _lm().wald_test(["tension[T.M] = 0", "tension[T.H] = 0"])
    mine = theirs.f_test(np.eye(6)[[2, 3]])
    assert found.chi2 / 2 == pytest.approx(float(mine.fvalue), rel=1e-4)
    assert found.p_value == pytest.approx(float(mine.pvalue), rel=1e-3)
    assert "Pr(>F)" in str(found)
    # anova(lm(breaks ~ wool * tension, warpbreaks)): 3.7653, 8.4980, 4.1891
    table = anova(_lm())
    assert table.frame.p_value.to_numpy() == pytest.approx(
        [0.0582130, 0.0006926, 0.02104], rel=0.01
    )
    assert "Pr(>F)" in str(table)
    assert f"F = {theirs.fvalue:.3f} on 5 and 48 df" in str(_lm().summary())
    nested = anova(_lm(), _lm().update("~ . - wool:tension"))
    assert nested.p_value == pytest.approx(0.02104, rel=0.01)
    assert "Pr(>F)" in str(nested)


def test_intervals_of_rows_stay_on_the_scale_of_the_response() -> None:
    """predictions(glm(...), newdata), whose intervals are those of the link: R's marginaleffects."""
    table = WARP.assign(high=WARP.breaks > 25)
    fit = dp_glm("high ~ tension", table, table, mu=2, seed=1)
    shown = fit.predictions(pd.DataFrame({"tension": ["L", "M", "H"]})).frame
    means = fit.emmeans("tension", type="response").frame
    assert shown.conf_low.to_numpy() == pytest.approx(means.conf_low.to_numpy())
    assert shown.conf_high.to_numpy() == pytest.approx(means.conf_high.to_numpy())
    assert (shown.conf_low > 0).all()
    assert (shown.conf_high < 1).all()


def test_what_stands_on_a_page_has_all_its_forms() -> None:
    public, private = fair()
    fit = dp_lm("rate_marriage ~ age + C(children)", private, public, mu=1, seed=1)
    means = fit.emmeans("children")
    for shown in (
        means,
        means.contrasts(),
        fit.slopes(public.head()),
        anova(fit, fit.update("~ . - age")),
    ):
        assert "\\begin{table}" in shown.to_latex(caption="A caption", label="tab:one")
        assert "<table" in shown.to_html()
        assert shown.to_csv().count("\n") > 1
        assert shown.to_markdown().count("|") > 4


def test_without_a_constant_the_levels_of_a_factor_make_one() -> None:
    table = WARP.assign(x=np.arange(54) / 10.0 + 2)
    with_one = dp_lm("breaks ~ tension + x", table, table, **_NOISELESS).emmeans("tension").frame
    without = dp_lm("breaks ~ tension + x - 1", table, table, **_NOISELESS).emmeans("tension").frame
    assert without.emmean.to_numpy() == pytest.approx(with_one.emmean.to_numpy(), rel=1e-6)
    fit = dp_lm("breaks ~ x:tension - 1", table, table, **_NOISELESS)
    with pytest.raises(ArgumentError, match="as the formula has no constant: say at which value"):
        fit.emmeans("tension")
