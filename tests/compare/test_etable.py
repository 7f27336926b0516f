"""Tables of several fits: the numbers are the fits', in every format, and compile where they go."""

import csv
import io
import math
import shutil
import subprocess
import types
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf

import dpstats
from dpstats import anova, dp_glm, dp_lm, dp_mean, dp_mixture, eptr_lm, etable, public_moments
from dpstats.compare.terms import Terms
from dpstats.datasets import fair
from dpstats.errors import ArgumentError, NotReleasedError

FORMULA = "rate_marriage ~ age + religious"


@cache
def fits() -> tuple[Any, Any, Any]:
    public, private = (t.assign(affair=t.affairs > 0) for t in fair())
    one = dp_lm(FORMULA, private, public=public, mu=1, seed=1)
    two = dp_glm("affair ~ age + children", private, public=public, mu=0.5, seed=2)
    return one, one.update("~ . - age"), two


def cells(page: Any) -> dict[str, list[str]]:
    rows = list(csv.reader(io.StringIO(page.to_csv())))
    return {row[0]: row[1:] for row in rows}


def test_the_numbers_are_those_of_the_fits() -> None:
    table = cells(etable(fits()))
    assert table["term"] == ["(1)", "(2)", "(3)"]
    for j, fit in enumerate(fits()):
        for row in fit.tidy().itertuples():
            assert float(table[row.term][j]) == row.estimate
            assert float(table[f"{row.term} (std. error)"][j]) == row.std_error
    assert table["children"][:2] == ["NA", "NA"]
    assert table["Rows"] == ["6048", "6048", "6048"]
    assert [float(v) for v in table["mu (GDP)"]] == [1, 1, 0.5]
    assert table["epsilon (delta)"][0] == "4.38 (1e-05)"
    assert float(table["Residual std. error"][0]) == fits()[0].sigma
    assert table["Family"] == ["", "", "binomial, logit"]
    assert table["Response"] == ["rate_marriage", "rate_marriage", "affair"]


def test_averages_over_private_rows_and_means_stand_beside_fits() -> None:
    public, private = fair()
    fit = dp_lm("rate_marriage ~ age * religious", private, public=public, mu=1, seed=1)
    average = fit.comparisons(data=private, variables={"age": (20, 30)}, mu=1, seed=3)
    mean = dp_mean(["age", "religious"], private, public=public, mu=1, seed=4)
    page = etable([fit, average, mean], names=["fit", "average", "mean"])
    table = cells(page)
    assert float(table["age: 30 - 20"][1]) == average.frame.estimate[0]
    assert float(table["age: 30 - 20 (std. error)"][1]) == average.frame.std_error[0]
    assert [float(v) for v in table["age"][::2]] == [fit.coef()["age"], mean.mean["age"]]
    assert table["Method"] == ["anchored", "average comparisons", "dp_mean"]
    assert table["Public rows"] == ["318", "", "318"]
    assert "the 3 releases cost mu = 1.732 together" in str(page)
    assert "do not release" not in str(page)
    alone = str(etable(mean))
    assert "Response" not in alone
    assert "*" not in alone
    assert "sampling and privacy noise" in str(etable(average))


def test_intervals_stars_digits_and_names() -> None:
    fit = fits()[0]
    text = str(etable([fit], names=["model A"], interval=True, level=0.9, digits=2, stars=False))
    low, high = fit.confint(0.9).loc["religious"]
    assert f"[{low:.3f}, {high:.3f}]" in text
    assert "model A" in text
    assert "*" not in text
    assert "90 % intervals in brackets" in text
    starred = str(etable({"A": fit}, stars=(0.1, 0.001)))
    assert "** p < 0.001, * p < 0.1" in starred
    assert "***" not in starred


def test_exponentials_are_those_of_the_coefficients_and_of_their_intervals() -> None:
    logit = fits()[2]
    page = etable(logit, exponentiate=True, level=0.9)
    table, ratios = cells(page), logit.odds_ratios(0.9)
    for term, (ratio, low, high, _) in ratios.iterrows():
        assert float(table[term][0]) == pytest.approx(ratio)
        ends = [float(end) for end in table[f"{term} (interval)"][0].strip("[]").split(",")]
        assert ends == pytest.approx([low, high])
    assert "Exponentials of coefficients: (1) odds ratios." in str(page)
    public, private = fair()
    logs = dp_lm("log(rate_marriage) ~ age", private, public, mu=1, seed=3)
    open_fit = smf.poisson("affairs ~ age", private.assign(affairs=private.affairs.round())).fit(
        disp=0
    )
    both = str(etable(logs, open_fit, exponentiate=True))
    assert "(1), (2) rate or mean ratios" in both
    with pytest.raises(ArgumentError, match="identity link"):
        etable(fits()[0], exponentiate=True)


def test_the_public_fit_is_least_squares_of_the_public_rows() -> None:
    public, _ = fair()
    theirs = smf.ols(FORMULA, public).fit()
    table = cells(etable(fits()[:2], public=True))
    assert table["term"][2:] == ["public alone (1)", "public alone (2)"]
    for term in theirs.params.index:
        assert np.isclose(float(table[term][2]), theirs.params[term])
        assert np.isclose(float(table[f"{term} (std. error)"][2]), theirs.bse[term])
    assert np.isclose(float(table["Residual std. error"][2]), np.sqrt(theirs.scale))
    smaller = smf.ols("rate_marriage ~ religious", public).fit()
    assert np.isclose(float(table["religious"][3]), smaller.params["religious"])
    assert np.isclose(float(table["religious (std. error)"][3]), smaller.bse["religious"])


def test_the_public_fit_of_a_family_is_near_maximum_likelihood() -> None:
    public = fair()[0].assign(affair=lambda t: (t.affairs > 0).astype(float))
    theirs = smf.logit("affair ~ age + children", public).fit(disp=0)
    table = cells(etable(fits()[2], public=True))
    for term in theirs.params.index:
        near = abs(float(table[term][1]) - theirs.params[term])
        assert near < 0.3 * theirs.bse[term]
        assert np.isclose(float(table[f"{term} (std. error)"][1]), theirs.bse[term], rtol=0.1)


def test_a_note_names_fits_whose_public_data_are_too_few() -> None:
    public, private = fair()
    moments = public_moments("~ age + religious", public)
    fit = dp_lm(FORMULA, private, public=moments, mu=1, seed=1)
    assert "No fit of public rows alone stands beside (1)" in str(etable(fit, public=True))


def test_a_fit_without_privacy_stands_beside_with_a_warning() -> None:
    private = fair()[1]
    theirs = smf.ols(FORMULA, private).fit()
    page = etable(fits()[0], nonprivate=theirs)
    table = cells(page)
    assert np.isclose(float(table["age"][1]), theirs.params["age"])
    assert np.isclose(float(table["age (std. error)"][1]), theirs.bse["age"])
    assert float(table["R-squared"][1]) == theirs.rsquared
    assert "do not release this table" in str(page)
    among = etable([fits()[0], theirs])
    assert "do not release this table" in str(among)
    arrays = cells(etable(fits()[0], nonprivate=[theirs, theirs]))
    assert arrays["term"][1:] == ["not private 1", "not private 2"]
    robust = theirs.get_robustcov_results("HC1")
    named = cells(etable(fits()[0], nonprivate={"OLS": theirs, "robust": robust}))
    assert named["term"][1:] == ["OLS (not private)", "robust (not private)"]
    assert float(named["age (std. error)"][2]) == robust.bse[1]
    counts = smf.glm("children ~ age", private, family=sm.families.Poisson()).fit(scale="X2")
    loose = cells(etable(fits()[2], nonprivate=counts))
    assert loose["Family"][1] == "poisson, log"
    assert float(loose["Dispersion"][1]) == counts.scale
    logit = smf.logit("affair ~ age", private.assign(affair=(private.affairs > 0).astype(float)))
    assert "not private" in str(etable(fits()[2], nonprivate=logit.fit(disp=0)))


def test_a_fit_without_privacy_has_its_own_quantiles_and_says_what_it_is() -> None:
    one, _, _ = fits()
    private = fair()[1]
    few = private.sample(10, random_state=132)
    ols = smf.ols("rate_marriage ~ educ", few).fit()
    assert 0.05 < ols.pvalues["educ"] < 0.1  # and below 0.05 by a normal law
    body = str(etable(ols, interval=True)).split("---")[0]
    assert "*" not in body
    low, high = ols.conf_int().loc["educ"]
    assert f"[{low:.3f}, {high:.3f}]" in body
    table = private.assign(affair=(private.affairs > 0).astype(float))
    logit = smf.logit("affair ~ age", table).fit(disp=0)
    robust = smf.ols("affair ~ age", table).fit(cov_type="HC3")
    text = str(etable(one, nonprivate=[logit, robust]))
    assert "not private, Logit" in text
    errors = cells(etable(one, nonprivate=[logit, robust]))["Errors"]
    assert errors == ["sandwich", "iid", "HC3"]


def test_what_was_spent_is_added_up_where_it_adds_up() -> None:
    one, small, other = fits()
    text = " ".join(str(etable([one, small, other])).split())
    assert "(1), (2) are computed from one release, which was paid for once" in text
    assert f"cost mu = {np.hypot(1, 0.5):.4g} together" in text
    assert "seeded: not for release" in text
    public, private = fair()
    answer = eptr_lm(FORMULA, private, public, epsilon=1, delta=1e-5, seed=1)
    text = " ".join(str(etable([one, answer])).split())
    assert "0.2645 up to 2e-06" in text
    assert f"mu = {np.hypot(1, answer.privacy.mu):.4g} up to 2e-06 together" in text
    person = dp_lm(FORMULA, private, public=public, mu=1, rows_per_person=2, seed=1)
    text = " ".join(str(etable([one, person])).split())
    assert "protect different units; what they cost together is not stated" in text
    assert "(2): the unit of privacy is one person replaced by another" in text
    alike = private.iloc[:400].assign(age=30.0)
    silent = eptr_lm(FORMULA, alike, public, epsilon=0.3, delta=1e-5, method="ptr", seed=1)
    assert not silent.released
    assert "no reply; what is shown is the public fit" in str(etable(silent))


def test_notes_on_the_guarantee_stand_with_sub_models_and_in_tables() -> None:
    private = fair()[1]
    fit = dp_lm(FORMULA, private, public=private, mu=1, seed=1)
    small = fit.update("~ . - age")
    for page in (str(small), str(small.summary()), str(etable([fit, small]))):
        assert "The public sample is the private table itself" in " ".join(page.split())


def test_moments_of_a_family_are_no_least_squares_fit() -> None:
    public, private = (t.assign(affair=(t.affairs > 0).astype(float)) for t in fair())
    moments = public_moments("affair ~ age", public)
    fit = dp_glm("affair ~ age", private, public=moments, mu=1, seed=1)
    assert fit.public_fit is None
    assert "No fit of public rows alone stands" in str(etable(fit, public=True))


def test_options_in_a_with_block_are_of_its_thread_alone() -> None:
    import threading

    inside, seen = threading.Event(), threading.Event()

    def other() -> None:
        with dpstats.options(digits=2):
            inside.set()
            seen.wait(5)

    thread = threading.Thread(target=other)
    thread.start()
    inside.wait(5)
    with dpstats.options(stars=False):
        assert dpstats.options.digits is None
    seen.set()
    thread.join()
    assert (dpstats.options.digits, dpstats.options.stars) == (None, True)


def test_digits_are_those_of_every_page() -> None:
    fit = fits()[0]
    one = fit.update("~ religious")
    with dpstats.options(digits=3):
        three, four = (f"{fit.coef()['religious']:.{digits}g}" for digits in (3, 4))
        for page in (
            fit,
            fit.summary(),
            etable(fit),
            fit.slopes({"age": [30.0], "religious": [2.0]}),
        ):
            assert three in str(page) or four in str(page)  # a shorter number may need the fourth
            assert three + "0" not in str(page)
    tested = anova(fit, one)
    assert f"{tested.p_value:.3g}" in str(tested)
    of_age = fit.tidy().p_value[1]
    for page in (fit.summary(), fit.slopes({"age": [30.0], "religious": [2.0]})):
        assert f"{of_age:.3g}" in str(page) or f"{of_age:.2e}" in str(page)


def test_options_are_the_defaults_and_come_back() -> None:
    fit = fits()[0]
    plain = str(fit.summary())
    with dpstats.options(digits=2, stars=False):
        assert "*" not in str(etable(fit))
        assert "***" not in str(fit.summary())
        assert "Signif. codes" not in str(fit.summary())
        assert str(etable(fit)) == str(etable(fit, digits=2, stars=False))
    assert str(fit.summary()) == plain
    dpstats.options.digits = 6
    try:
        assert str(fit.coef()["religious"])[:7] in str(etable(fit))
    finally:
        dpstats.options.digits = None
    with dpstats.options(stars=(0.01,)):
        assert "\n* p < 0.01" in str(etable(fit))
        with dpstats.options(digits=5):
            assert dpstats.options.stars == (0.01,)
        assert dpstats.options.digits is None
    dpstats.options(digits=5)  # as in R, without a with block
    assert dpstats.options.digits == 5
    with pytest.raises(ArgumentError, match="stars"):
        dpstats.options(digits=3, stars="many")
    assert dpstats.options.digits == 5
    dpstats.options(digits=None)
    for name, value in [("digits", 0), ("digits", "3"), ("stars", (2,)), ("stars", "yes")]:
        with pytest.raises(ArgumentError, match=name):
            setattr(dpstats.options, name, value)
    with pytest.raises(ArgumentError, match="no option 'digit'"):
        dpstats.options.digit = 3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"fits": []}, "at least one fit"),
        ({"fits": 3}, "takes fits"),
        ({"fits": pd.DataFrame()}, "takes fits"),
        ({"names": ["a", "b"]}, "list of 1 headings"),
        ({"names": "a"}, "list of 1 headings"),
        ({"digits": 99}, "digits"),
        ({"stars": 0.05}, "stars"),
        ({"interval": True, "level": 95}, "level"),
        ({"nonprivate": "ols"}, "takes fits"),
        ({"level": 0.9}, "goes with interval"),
        ({"public": fair()[0]}, "public must be True or False"),
    ],
)
def test_errors_say_what_to_do(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        etable(**{"fits": fits()[0]} | arguments)


def test_every_format_holds_the_table() -> None:
    page = etable(fits()[:2], public=True)
    assert page.to_markdown().count("\n|") > 8
    assert page.to_latex().count(r"\midrule") == 2
    assert page.to_html().count("border-top: 1px solid") > len(page.parts)
    assert "Response: rate_marriage\n" in str(page)
    lines = str(page).splitlines()
    assert "" in lines  # between coefficients and facts


DOCUMENT = r"""\documentclass{article}\usepackage{booktabs}\begin{document}
%s
\end{document}
"""


def test_latex_compiles(tmp_path: Path) -> None:
    """Where LaTeX is there; elsewhere braces, columns and ends are counted."""
    text = etable(fits(), public=True).to_latex() + fits()[0].summary().to_latex()
    assert text.count("{") == text.count("}")
    assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}")
    if shutil.which("pdflatex"):
        (tmp_path / "t.tex").write_text(DOCUMENT % text)
        done = subprocess.run(
            ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"],
            cwd=tmp_path,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-2000:]
        assert b"Overfull" not in done.stdout


def test_terms_are_named_chosen_and_put_in_order() -> None:
    fit = fits()[0]
    terms = list(fit.coef().index)
    page = etable(fit, labels={"religious": "Religious", "rate_marriage": "Rating"}, order="^rel")
    lines = str(page).splitlines()
    assert lines[0] == "Response: Rating"
    assert lines[3].startswith("Religious")
    kept = str(etable(fit, keep=["^age$", "Intercept"]))
    assert "religious" not in kept
    assert str(etable(fit, drop=["religious", "educ", "children", "yrs"])).count("\n  ") > 0
    with pytest.raises(ArgumentError, match="leave no term"):
        etable(fit, keep="nothing like it")
    with pytest.raises(ArgumentError, match="not a regular expression"):
        etable(fit, drop="(")
    with pytest.raises(ArgumentError, match="labels must"):
        etable(fit, labels={"age": 1})
    with pytest.raises(ArgumentError, match="notes must"):
        etable(fit, notes=3)
    assert "Ours." in str(etable(fit, notes="Ours."))
    assert list(fit.coef().index) == terms


def test_the_unit_of_privacy_stands_below_each_column() -> None:
    line = next(t for t in str(etable(fits()[:1])).splitlines() if t.startswith("Unit of privacy"))
    assert line.split()[-2:] == ["one", "row"]


def test_markdown_is_a_table_to_pandoc() -> None:
    """Where pandoc is there; elsewhere every row has as many cells as the header."""
    text = etable(fits(), public=True).to_markdown()
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len({line.count("|") for line in rows}) == 1
    if shutil.which("pandoc"):
        html = subprocess.run(
            ["pandoc", "-f", "markdown", "-t", "html"],
            input=text,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        assert html.count("<tr") == len(rows) - 1
        assert "***" in html


def test_maketables_finds_what_it_asks_for() -> None:
    fit = fits()[0]
    frame = fit.__maketables_coef_table__
    assert frame.index.name == "Coefficient"
    assert frame.columns.tolist() == ["b", "se", "t", "p", "ci95l", "ci95u"]
    assert frame.loc["age", "se"] == fit.se()["age"]
    assert fit.__maketables_depvar__ == "rate_marriage"
    assert fit.__maketables_stat__("N") == 6048
    assert fit.__maketables_stat__("mu") == 1
    assert fit.__maketables_stat__("r2") == fit.glance().r_squared.iloc[0]
    assert fit.__maketables_stat__("aic") is None
    keys = fits()[2].__maketables_default_stat_keys__
    assert "r2" not in keys
    assert all(fits()[2].__maketables_stat__(k) is not None for k in keys)
    assert "seeded" in keys  # these fits are


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"interval": np.array([1, 2])}, "interval must be True or False"),
        ({"public": "yes"}, "public must be True or False"),
        ({"stars": range(10**12)}, "up to five levels"),
        ({"names": 3}, "a list of 1 headings"),
        ({"names": iter(int, 1)}, "a list of 1 headings"),
    ],
)
def test_odd_arguments_are_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        etable(fits()[0], **given)


def _alike(params: Any, bse: Any, **more: Any) -> Any:
    return types.SimpleNamespace(params=pd.Series(params), bse=pd.Series(bse), **more)


@pytest.mark.parametrize(
    "odd",
    [
        _alike({"x": 1j}, {"x": 1.0}),
        _alike({"x": 1.0, "z": 1.0}, {"x": 1.0}),
        types.SimpleNamespace(params=pd.DataFrame({"a": [1.0]}), bse=pd.DataFrame({"a": [1.0]})),
        _alike([1.0, 2.0], [1.0, 1.0]).params,
    ],
)
def test_what_only_looks_like_a_fit_is_refused(odd: Any) -> None:
    with pytest.raises(
        ArgumentError, match="etable takes fits of dp_lm, dp_glm, dp_feols and eptr_lm"
    ):
        etable([fits()[0], odd])


def test_results_that_are_no_regressions_are_sent_to_tidy() -> None:
    public, private = fair()
    mixture = dp_mixture(["age"], private, public, k=1, mu=1, seed=1)
    with pytest.raises(ArgumentError, match=r"not a MixtureModel. Other results have tidy\(\)"):
        etable([fits()[0], mixture])


def test_sizes_that_floats_hardly_hold_are_printed() -> None:
    odd = _alike({"x": 5e-324, "z": 1e308}, {"x": 5e-324, "z": 1e308}, nobs=math.inf, scale=1.0)
    text = str(etable(odd))
    assert "4.94e-324" in text
    assert "1e+308" in text
    many = _alike(np.ones(1000), np.ones(1000))
    assert len(str(etable(many)).splitlines()) > 2000


@pytest.mark.parametrize(("unit", "shown"), [(1.0, "e+09"), (1e-12, "e-03")])
def test_large_and_small_numbers_have_the_digits_of_their_error(unit: float, shown: str) -> None:
    fit = _alike({"x": 1.23456789e9 * unit}, {"x": 5.03e5 * unit}, df_resid=100)
    assert f"1.234568{shown}***" in str(etable(fit))
    assert f"[1.233582{shown}, 1.235554{shown}]" in str(etable(fit, interval=True))


def test_a_note_that_cutting_may_have_moved_coefficients_marks_its_column() -> None:
    public, private = fair()
    tight = dp_lm(FORMULA, private, public=public, mu=0.05, seed=1)
    assert len(tight.cautions) == 1
    assert tight.cautions[0] in tight.notes
    page = etable([fits()[0], tight, tight.update("~ . - age")])
    head, *_ = (line for line in str(page).splitlines() if "(1)" in line)
    assert head.split() == ["(1)", "(2)", "!", "(3)", "!"]
    flat = " ".join(str(page).split())
    assert f"(2) !: {tight.cautions[0]}" in flat
    assert f"(3) !: Of the larger model: {tight.cautions[0]}" in flat
    assert cells(page)["term"] == ["(1)", "(2)", "(3)"]


def test_whatever_a_fit_says_of_its_coefficients_stands_below_a_table() -> None:
    public, private = fair()
    shrunk = dp_lm(FORMULA, private, public=public, mu=1, ridge=0.1, seed=1)
    page = etable([fits()[0], shrunk, shrunk.update("~ . - age"), fits()[0].update("~ . - age")])
    head, *_ = (line for line in str(page).splitlines() if "(1)" in line)
    assert head.split() == ["(1)", "(2)", "!", "(3)", "!", "(4)"]
    flat = " ".join(str(page).split())
    assert "(2) !: Ridge estimates are shrunk" in flat
    assert "(3) !: Of the larger model: Ridge estimates are shrunk" in flat


def test_a_missing_standard_error_has_a_footnote_where_its_term_is_shown() -> None:
    rows = pd.DataFrame({"x": np.arange(4000.0) % 7, "g": ["b", "b", *["a"] * 3998]})
    rows["y"] = rows.x + np.arange(4000) % 3
    fit = dp_lm("y ~ x + g", rows, limits={"g": ["a", "b"]}, mu=1, seed=1)
    assert math.isnan(fit.se()["g[T.b]"])
    footnote = "NA: the fit gives no standard error; its summary says why."
    assert footnote in str(etable(fit))
    assert "NA" not in str(etable(fit, keep=["x"]))


def test_errors_are_named_and_can_be_exchanged_for_those_of_constant_variance() -> None:
    private = fair()[1]
    one, small, _ = fits()
    plain = one.update(vcov="iid")
    assert cells(etable([one, plain]))["Errors"] == ["sandwich", "iid"]
    assert plain.coef().equals(one.coef())
    assert plain.vcov("privacy").equals(one.vcov("privacy"))
    assert plain.notes == one.notes
    assert (one.glance().vcov[0], plain.glance().vcov[0]) == ("hetero", "iid")
    theirs = smf.ols(FORMULA, private).fit().bse
    assert np.allclose(np.sqrt(np.diag(plain.vcov("sampling"))), theirs, rtol=0.05)
    smaller = one.update("~ . - age", vcov="iid")
    assert smaller.se().equals(plain.update("~ . - age").se())
    assert smaller.coef().equals(small.coef())
    with pytest.raises(NotReleasedError, match="call again with vcov='hetero'"):
        plain.update(vcov="hetero")
    with pytest.raises(ArgumentError, match="vcov must be"):
        one.update(vcov="HC3")


@pytest.mark.parametrize(
    ("term", "label"),
    [
        ("year::2018:treat", "Year: 2018 x Treated"),
        ("factor(year)[T.2019]", "Year: 2019"),
        ("C(year, contr.sum)[2018]", "Year: 2018"),
        ("poly(exper, 2)[1]:treat", "poly(Experience, 2)[1] x Treated"),
        ("bs(exper, df=4)[2]", "bs(Experience, df=4)[2]"),
        ("Intercept", "Intercept"),
    ],
)
def test_labels_name_columns_wherever_a_term_reads_them(term: str, label: str) -> None:
    names = {"year": "Year", "treat": "Treated", "exper": "Experience", "df": "no column"}
    assert Terms.of(names, None, None, None).label(term) == label
