"""The pages of generalised linear models as people see them, letter by letter."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from dpstats import dp_glm
from dpstats.accounting.privacy import Privacy
from dpstats.models.glm.page import GlmPage, ratio_page, summary_page
from dpstats.report.bound import Bound
from dpstats.report.model import Diagnostic, print_page
from dpstats.report.privacy import PrivacyStatement, Spent
from dpstats.report.result import Coefficients, limit_names
from dpstats.report.wald import WaldTest
from tests.report.snapshots import FORMS, as_last_looked_at, renew

BINOMIAL = GlmPage(
    call='dp_glm("affair ~ age + C(occ)", family = "binomial", mu = 1, method = "anchored")',
    method="anchored",
    coefficients=Coefficients(
        ("Intercept", "age", "C(occ)[T.2]"),
        np.array([-3.98998, 0.01230, 0.80410]),
        np.diag([0.0780, 1.6e-5, 0.0900]),
        np.diag([0.0120, 0.1e-5, 0.0100]),
    ),
    privacy=PrivacyStatement(
        Privacy(1.0),
        (
            Spent("mean score, step 1", 3, 0.00331, 0.00573, 0.577),
            Spent("weighted second moments", 9, 0.00861, 0.01055, 0.816),
        ),
        seeded=False,
    ),
    bounds=(Bound("distance to the noiseless fit", "l2", 0.308, 0.95, "exact", "bound"),),
    diagnostics=(Diagnostic("truncated rows", 0.0119, 0.0018, "share that was cut"),),
    n=6048,
    filled=5900,
    m=318,
    errors="hetero",
    dropped=0,
    left_out=False,
    notes=("A note in words.",),
    family="binomial",
    link="logit",
    dispersion=1.0,
    dispersion_source="fixed",
    pearson=None,
    pearson_sd=None,
    pearson_range=None,
    wald=WaldTest(123.4321, 2),
    iterations=3,
)
POISSON = replace(
    BINOMIAL,
    call='dp_glm("visits ~ age + C(occ)", family = "poisson", rho = 0.5, method = "pmt")',
    method="pmt",
    filled=6048,
    notes=(),
    family="poisson",
    link="log",
    pearson=6.30512,
    pearson_sd=0.02034,
    pearson_range=(6.26, 7.1),
    wald=WaldTest(8.7654, 2),
    iterations=1,
)
QUASIPOISSON = replace(
    POISSON, family="quasipoisson", dispersion=6.30512, dispersion_source="private"
)
_RATIO = np.array([0.0185, 1.0123, 2.2345, math.nan])
_HALF = np.array([1.2, 0.0022, 0.62, math.nan])
ODDS = ratio_page(
    "Odds ratio",
    ("Intercept", "age", "C(occ)[T.2]", "C(occ)[T.3]"),
    _RATIO,
    _RATIO * np.exp(-_HALF),
    _RATIO * np.exp(_HALF),
    limit_names(0.95),
    [3e-11, 1e-20, 0.0114, math.nan],
    ("Limits cover sampling and privacy noise.", "No further privacy spent."),
)
PAGES = {
    "glm_summary": (summary_page(BINOMIAL), FORMS),
    "glm_print": (print_page(BINOMIAL), ("text",)),
    "glm_overdispersed": (summary_page(POISSON), ("text",)),
    "odds_ratio": (ODDS, FORMS),
}


@pytest.mark.parametrize(
    ("name", "form"), [(name, form) for name, (_, forms) in PAGES.items() for form in forms]
)
def test_the_page_is_as_it_was_last_looked_at(name: str, form: str) -> None:
    """To renew: python -m tests.models.glm.test_page, then read the difference."""
    as_last_looked_at(name, PAGES[name][0], form)


@pytest.mark.parametrize(
    ("source", "dispersion", "said"),
    [
        ("fixed", 1.0, "taken to be 1"),
        ("private", 6.30512, "estimated as 6.305, private"),
        ("public rows", 6.30512, "estimated as 6.305, public rows"),
        ("not released", math.nan, "not released"),
    ],
)
def test_the_dispersion_says_where_it_is_from(source: str, dispersion: float, said: str) -> None:
    page = replace(BINOMIAL, dispersion=dispersion, dispersion_source=source)
    assert f"\n(Dispersion parameter for binomial family {said})\n" in str(summary_page(page))


def test_pearson_is_shown_only_beside_a_fixed_dispersion() -> None:
    assert "Pearson" in str(summary_page(POISSON))
    assert "Pearson" not in str(summary_page(QUASIPOISSON))
    assert "(private; 6.26 to 7.1 with noise and cuts)" in str(summary_page(POISSON))
    assert "private; 6.26" in " ".join(str(summary_page(QUASIPOISSON)).split())
    released = replace(POISSON, pearson_range=None)
    assert "(private; noise sd 0.02)" in str(summary_page(released))
    few = replace(POISSON, pearson_range=(6.26, 25.0))
    assert "(private; at least 6.26, as long residuals were cut)" in str(summary_page(few))


@pytest.mark.parametrize(
    ("wald", "said"),
    [
        (WaldTest(123.4321, 2), "chi2 = 123.4 on 2 df, p < 2e-16\n"),
        (WaldTest(8.7654, 2), "chi2 = 8.765 on 2 df, p = 0.0125\n"),
        (WaldTest(8.7654, 2, 30.0), "Wald test of all terms: F = 4.383 on 2 and 30 df, p = 0.0214"),
    ],
)
def test_the_wald_test_reads_as_rs(wald: WaldTest, said: str) -> None:
    assert said in str(summary_page(replace(BINOMIAL, wald=wald)))


def test_without_a_wald_test_there_is_no_line() -> None:
    assert "Wald" not in str(summary_page(replace(BINOMIAL, wald=None)))


def test_lines_fit_the_page() -> None:
    long = replace(
        BINOMIAL, family="inverse.gaussian", dispersion=0.12346, dispersion_source="public rows"
    )
    lines = str(summary_page(long)).splitlines()[2:]
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize(
    ("row", "cells"),
    [
        ((1.0000123, 1.0000101, 1.0000145), "1.0000123 1.0000101 1.0000145"),
        ((2.0, 1.1, 3.6), "2.0 1.1 3.6"),
        ((1.85e-6, 1.2e-7, 3.1e-5), "1.85e-06 1.20e-07 3.10e-05"),
        ((2981.2, 2514.7, 3533.8), "2981 2515 3534"),
        ((8e307, 1.2, math.inf), "8.0e+307 1.2e+00 Inf"),
        ((1.0, 1.0, 1.0), "1 1 1"),
        ((0.0, 0.0, math.inf), "0 0 Inf"),
    ],
)
def test_ratios_show_their_interval(row: tuple[float, float, float], cells: str) -> None:
    columns = [[v] for v in row]
    page = ratio_page("Rate ratio", ["x"], *columns, limit_names(0.9), [0.5], ())
    assert page.to_text().splitlines()[1].split() == ["x", *cells.split(), "0.5"]


if __name__ == "__main__":
    for name, (page, forms) in PAGES.items():
        renew(name, page, forms)


def test_the_page_of_ratios_has_the_notes_of_its_fit() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=2000), "rare": (rng.random(2000) < 0.01) * 1.0})
    table["y"] = (rng.random(2000) < 1 / (1 + np.exp(-table.x))) * 1.0
    fit = dp_glm("y ~ x + rare", table, mu=1, seed=1)
    said = " ".join(str(fit.ratio_table()).split())
    assert fit.notes
    assert all(note in said for note in fit.notes)
