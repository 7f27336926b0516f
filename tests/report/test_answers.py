"""The pages of tested releases, classifiers and curves as people see them, letter by letter."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from dpstats.models.eptr_bayes.page import BayesPage, print_bayes, summary_bayes
from dpstats.models.eptr_own.page import eptr_page

from dpstats.accounting.privacy import ApproximatePrivacy, Privacy
from dpstats.models.eptr_nw.page import KernelPage, print_kernel, summary_kernel
from dpstats.propose_test.bounds import (
    clipping_bias,
    no_reply_error,
    noise_error,
    noise_radius,
    sampling_error,
)
from dpstats.propose_test.curve import Levels
from dpstats.propose_test.paper import papers_plan
from dpstats.propose_test.plan import plan_release
from dpstats.report.answers import Answers, answers_table
from dpstats.report.privacy import PrivacyStatement, Spent
from dpstats.report.released import Diagnostic
from dpstats.report.table import Page
from tests.report.snapshots import FORMS, as_last_looked_at, renew

ANSWERS = Answers(
    "rows & <b>",
    "gdp",
    ((0.01, 12.0), (0.05, 17.0), (0.5, 28.0), (0.95, 37.0), (0.999, None)),
    0.20857,
)
PRIVACY = PrivacyStatement(
    Privacy(0.2664, 1e-6),
    (Spent("means_of <classes>, if the test passes", 9, 0.00532, 0.0202, 0.2664),),
    seeded=True,
)
SINGLE = PrivacyStatement(
    ApproximatePrivacy(1.0, 1e-5),
    (Spent("the estimate, if the test passes", 2, 0.05, 0.4841, float("nan")),),
    seeded=False,
)
BOUNDS = (
    noise_radius(2, 0.2, 0.05, "l2"),
    sampling_error(None, "l2"),
    noise_error(2, 0.2, "l2"),
    no_reply_error(4.0, 1e-3, "l2"),
    clipping_bias(1e-4, "l2"),
)
DIAGNOSTICS = (
    Diagnostic("smallest class", 1955.04, 7.46, "rows"),
    Diagnostic("target", None, None, "100 % of <them>"),
)
BAYES = BayesPage(
    call='eptr_bayes("g ~ x_1 + <b>", epsilon = 1, delta = 1e-05, method = "ptr")',
    method="ptr",
    covariance="diagonal, from public rows",
    classes=("a & b", "<c>", "d_1"),
    terms=("x_1", "log(<b>)"),
    priors=np.array([0.6772, 0.32277, 0.00003]),
    priors_sd=np.array([0.00614, 0.00614, 0.00003]),
    means=np.array([[28.37, -2504.0], [30.571, 0.000252], [0.0, 1e9]]),
    means_sd=np.array([[0.112, 14.4], [0.169, 0.0218], [2.0, 1e7]]),
    n=6048,
    m=318,
    privacy=PRIVACY,
    bounds=BOUNDS,
    diagnostics=DIAGNOSTICS,
    notes=("A note in words.",),
    answers=ANSWERS,
    released=True,
)
_X = np.linspace(17.5, 42, 30)
KERNEL = KernelPage(
    call='eptr_nw("y ~ x_1", epsilon = 1, delta = 1e-05, method = "gp")',
    method="gp",
    covariates=("x_1",),
    bandwidth=(8.241,),
    chosen=True,
    centre="a constant",
    curve=pd.DataFrame(
        {
            "x_1": _X,
            "fit": 4.2 - 0.01 * _X,
            "std. error": 0.04 + 0 * _X,
            "2.5%": 4.12 - 0.01 * _X,
            "97.5%": 4.28 - 0.01 * _X,
        }
    ),
    n=6048,
    m=None,
    privacy=PRIVACY,
    bounds=BOUNDS,
    diagnostics=DIAGNOSTICS,
    notes=(),
    answers=(),
    released=True,
)


def _own(**changes: object) -> Page:
    items: dict[str, object] = {
        "call": "eptr(data, estimate, safety, alpha = 0.05, epsilon = 1, delta = 1e-05)",
        "numbers": [1.1714, -20.689],
        "released": True,
        "privacy": PRIVACY,
        "bounds": BOUNDS[:4],
        "diagnostics": DIAGNOSTICS,
        "notes": ("A note in words.",),
        "answers": ANSWERS,
        "whole": True,
    }
    return eptr_page(**items | changes)  # type: ignore[arg-type]


PAGES = {
    "eptr_summary": _own(),
    "bayes_summary": summary_bayes(BAYES),
    "kernel_summary": summary_kernel(KERNEL),
}


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("form", FORMS)
def test_pages_are_as_they_were_last_looked_at(name: str, form: str) -> None:
    """To renew: python -m tests.report.test_answers, then read the difference."""
    as_last_looked_at(name, PAGES[name], form)


def test_prints_are_the_short_pages() -> None:
    lines = print_bayes(BAYES).to_text().splitlines()
    assert lines[3] == "Priors and means by class:"
    assert lines[4].split() == ["prior", "x_1", "log(<b>)"]
    lines = print_kernel(KERNEL).to_text().splitlines()
    assert lines[3] == "Bandwidth: x_1 8.24 (chosen on public rows)"
    assert "18 more points in .curve" in lines
    for page in (print_bayes(BAYES), print_kernel(KERNEL), _own(whole=False)):
        assert "Error bounds" not in page.to_text()
        assert "Privacy: " in page.to_text()


def test_a_guarantee_at_one_epsilon_says_so() -> None:
    text = _own(privacy=SINGLE).to_text()
    assert "Total: epsilon = 1 at delta = 1e-05 (for this release by itself)" in text
    assert "GDP" not in text
    assert "cryptographic" in text


def test_no_reply_is_shown_as_what_it_is() -> None:
    nothing = _own(numbers=[], released=False).to_text()
    assert "no reply" in nothing
    assert "There was an answer" not in nothing
    public = _own(released=False).to_text()
    assert "public answer" in public
    assert "noise sd" in public.split("Note")[0]
    assert "0.209" not in public.split("Note")[0]


def test_missing_numbers_print_as_na() -> None:
    gaps = KERNEL.curve.assign(fit=np.nan)
    assert summary_kernel(replace(KERNEL, curve=gaps)).to_text().count("NA") == 12 + 1


def test_missing_errors_of_classes_print_as_na() -> None:
    unknown = replace(BAYES, priors_sd=np.full(3, np.nan), means_sd=np.full((3, 2), np.nan))
    text = summary_bayes(unknown).to_text()
    assert "NaN" not in text
    assert text.count("NA") >= 9


def test_the_table_of_answers_is_that_of_the_plan() -> None:
    plan = plan_release(Levels.flat(1.0), 1.0, 1e-5, target=44)
    answers = Answers.of(plan, "safety", lambda k: 10 * k)
    levels = [int(v / 10) for _, v in answers.rows if v is not None]
    for (probability, _), level in zip(answers.rows, levels, strict=True):
        assert plan.probability(level) >= probability > plan.probability(level - 1)
    assert answers.surely_above == dict(answers.rows)[0.05]
    text = Page(tuple(answers_table(answers, True))).to_text()
    assert "with confidence 0.95, safety:" in text
    assert "with confidence" not in Page(tuple(answers_table(answers, False))).to_text()
    papers = Answers.of(papers_plan(1.0, 1.0, 1e-2), "safety", float)
    assert papers.calibration == "paper"
    assert dict(papers.rows)[0.999] == pytest.approx(24, abs=1)


def test_a_probability_that_is_never_reached_says_so() -> None:
    assert "never" in Page(tuple(answers_table(ANSWERS, True))).to_text()


if __name__ == "__main__":
    for _name, _page in PAGES.items():
        renew(_name, _page)
