"""The summary as people see it, letter by letter, in every form."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest

from dpstats.accounting.privacy import Privacy
from dpstats.models.linear.page import LinearPage, summary_page
from dpstats.report.bound import Bound, Premise
from dpstats.report.format import LEGEND
from dpstats.report.model import Diagnostic, print_page
from dpstats.report.privacy import PrivacyStatement, Spent
from dpstats.report.result import Coefficients
from dpstats.report.wald import WaldTest, nested_page
from tests.report.snapshots import FORMS, as_last_looked_at, renew

_NUMBER = re.compile(r"-?\d+\.?\d*(?:e-?\d+)?")

PAGE = LinearPage(
    call='dp_lm("log(y) ~ x_1 + g & <b>", mu = 1, method = "anchored")',
    method="anchored",
    coefficients=Coefficients(
        ("Intercept", "x_1", "g[T.<b>]"),
        np.array([3.69225, -0.00309, 0.40010]),
        np.diag([0.0110, 1.6e-5, 0.0400]),
        np.diag([0.0010, 0.1e-5, 0.0100]),
    ),
    privacy=PrivacyStatement(
        Privacy(1.0),
        (
            Spent("second moments of the design", 9, 0.00861, 0.0385, 0.224),
            Spent("mean score", 3, 0.00246, 0.00285, 0.863),
        ),
        seeded=True,
    ),
    bounds=(
        Bound(
            "distance to the noiseless fit",
            "l2",
            0.308,
            0.95,
            "exact",
            "bound",
            (Premise("room is left", False),),
        ),
        Bound("distance to the non-private fit", "l2", 90582.0, 0.95, "Theorem 8", "rate"),
    ),
    diagnostics=(
        Diagnostic("truncated rows", 0.0119, 0.0018, "share that was cut"),
        Diagnostic("condition before", None, None, "average"),
    ),
    sigma=0.93349,
    sigma_source="private",
    r_squared=(0.030250, 0.029450),
    n=6048,
    filled=5900,
    m=318,
    errors="hetero",
    dropped=2,
    left_out=False,
    notes=("A note in words.",),
)


@pytest.mark.parametrize("form", FORMS)
def test_the_summary_is_as_it_was_last_looked_at(form: str) -> None:
    """To renew: python -m tests.models.linear.test_page, then read the difference."""
    as_last_looked_at("summary", summary_page(PAGE), form)


def test_the_full_summary_is_as_it_was_last_looked_at() -> None:
    as_last_looked_at("summary_full", summary_page(PAGE).full(), "text")


def test_releases_of_one_kind_have_one_line() -> None:
    """Numbers and shares add, mu adds in squares, noise is a range."""
    spent = (
        Spent("histogram of row lengths", 74, 1.4, 10.0, 0.3, 0.09),
        Spent("mean score", 3, 0.002, 0.007, 0.4, 0.16),
        Spent("histogram of score lengths", 126, 1.4, 5.0, 0.4, 0.16),
        Spent("mean score", 3, 0.002, 0.004, 0.768, 0.59),
    )
    privacy = PrivacyStatement(Privacy(1.0), spent, seeded=True)
    histograms, score = privacy.by_kind()
    assert (histograms.released, histograms.numbers) == ("histograms of lengths", 200)
    assert histograms.mu == pytest.approx(0.5)
    assert histograms.share + score.share == pytest.approx(1.0)
    page = summary_page(replace(PAGE, privacy=privacy))
    assert re.search(r"mean score \(2 times\) +6 +0.004 to 0.007 +0.866 +75%", page.to_text())
    assert page.full().to_text().count("mean score") == 2


def test_notes_come_before_numbers_and_bounds_have_names_of_their_own() -> None:
    same = [
        Bound("distance", "l2", v, 0.95, "theorem", k)
        for v, k in ((2.0, "bound"), (1.0, "simulated"))
    ]
    page = summary_page(
        replace(PAGE, notes=("Intervals may fail.", "So may this."), bounds=tuple(same))
    )
    for form in FORMS[:-1]:
        made = getattr(page, f"to_{form}")()
        assert made.index("Intervals may fail") < made.index("So may this") < made.index("Estimate")
        assert "distance, at most" in made
        assert "distance, as simulated" in made


def test_wide_pages_fit_and_many_levels_do_not_flood() -> None:
    names = ["Intercept", "x", *(f"C(g)[T.a rather long name {k}]" for k in range(60))]
    names += [f"x:C(g)[T.a rather long name {k}]" for k in range(60)]
    k = len(names)
    many = Coefficients(tuple(names), np.arange(k) * 1.5, np.eye(k), np.eye(k))
    page = summary_page(replace(PAGE, coefficients=many))
    assert max(map(len, page.to_text().splitlines())) <= 80
    assert len(page.to_text().splitlines()) < 80
    assert "Not shown: 56 more of C(g), 56 more of x:C(g)" in page.to_text()
    assert all(f"name {j}]" in page.full().to_text().replace("\n  ", " ") for j in range(60))
    assert page.to_csv().count("\n") == k + 1
    assert len(print_page(replace(PAGE, coefficients=many)).to_text().splitlines()) < 22


def test_print_is_rs() -> None:
    assert print_page(replace(PAGE, notes=())).to_text().splitlines()[3:6] == [
        "Coefficients:",
        "Intercept       x_1  g[T.<b>]",
        "  3.69225  -0.00309   0.40010",
    ]


def test_long_coefficient_lines_are_folded_as_in_r() -> None:
    k = 15
    many = Coefficients(
        tuple(f"variable{j}" for j in range(k)), np.arange(k) * 1.5, np.eye(k), np.eye(k)
    )
    lines = print_page(replace(PAGE, coefficients=many)).to_text().splitlines()
    assert max(len(line) for line in lines[3:10]) <= 80
    assert sum("variable" in line for line in lines) == 3


def test_missing_standard_errors_print_as_na() -> None:
    c = PAGE.coefficients
    unknown = replace(c, sampling=c.sampling * np.nan)
    text = summary_page(replace(PAGE, coefficients=unknown, sigma=None, r_squared=None)).to_text()
    assert "NA" in text
    assert "not released by this method" in text
    assert "Signif. codes" not in text


def test_anova_reads_as_rs() -> None:
    text = nested_page(["y ~ x", "y ~ x + z"], WaldTest(3.5, 1), "From one release.").to_text()
    assert "Model 1: y ~ x\nModel 2: y ~ x + z" in text
    assert re.search(r"2\s+1\s+3.5\s+0.0614\s+\.", text)
    assert LEGEND in text
    assert text.endswith("\n\nFrom one release.")


def test_a_test_without_errors_is_na_and_says_why() -> None:
    text = nested_page(["y ~ x", "y ~ x + z"], WaldTest(math.nan, 1), None).to_text()
    assert re.search(r"2\s+1\s+NA\s+NA\n", text)
    assert "NA: a coefficient that is tested has no standard error" in text
    assert LEGEND not in text


if __name__ == "__main__":
    renew("summary", summary_page(PAGE))
    renew("summary_full", summary_page(PAGE).full(), ["text"])


def test_with_an_offset_r_squared_says_of_what_it_is() -> None:
    said = "R-squared is that of the response less the offset"
    assert said not in str(summary_page(PAGE))
    assert said in str(summary_page(replace(PAGE, offset=True)))
