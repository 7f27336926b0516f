"""The pages of tested releases, classifiers and curves as people see them, letter by letter."""

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpstats.accounting.privacy import ApproximatePrivacy, Privacy
from dpstats.models.eptr_bayes.result import BayesModel
from dpstats.models.eptr_nw.estimate import Smoothing, constant_centre
from dpstats.models.eptr_nw.public import CurveSetting
from dpstats.models.eptr_nw.result import KernelModel
from dpstats.models.eptr_own.result import EptrResult
from dpstats.propose_test.bounds import clipping_bias, decomposition, noise_radius
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
    *decomposition("l2", None, 2, 0.2, 4.0, 1e-3),
    clipping_bias(1e-4, "l2"),
)
DIAGNOSTICS = (
    Diagnostic("smallest class", 1955.04, 7.46, "rows"),
    Diagnostic("target", None, None, "100 % of <them>"),
)
_NONE: Any = None


@dataclass(frozen=True, repr=False, eq=False)
class _Kernel(KernelModel):
    """A curve of given points."""

    covariates: tuple[str, ...] = ("x_1",)
    curve: pd.DataFrame = _NONE


BAYES = BayesModel(
    call='eptr_bayes("g ~ x_1 + <b>", epsilon = 1, delta = 1e-05, method = "ptr")',
    method="ptr",
    covariance="diagonal, from public rows",
    formula="",
    design=_NONE,
    levels=("a & b", "<c>", "d_1"),
    terms=("x_1", "log(<b>)"),
    back=np.eye(2),
    scaled_means=np.array([[28.37, -2504.0], [30.571, 0.000252], [0.0, 1e9]]),
    prior=np.array([0.6772, 0.32277, 0.00003]),
    prior_sd=np.array([0.00614, 0.00614, 0.00003]),
    mean_sd=np.array([[0.112, 14.4], [0.169, 0.0218], [2.0, 1e7]]),
    spread=None,
    n=6048,
    m=318,
    privacy=PRIVACY,
    error=BOUNDS,
    details=DIAGNOSTICS,
    notes=("A note in words.",),
    answers=ANSWERS,
    released=True,
)
_X = np.linspace(17.5, 42, 30)
_UNSEEN = {f.name for f in fields(CurveSetting)} - {"smoothing", "chosen", "centre"}
KERNEL = _Kernel(
    call='eptr_nw("y ~ x_1", epsilon = 1, delta = 1e-05, method = "gp")',
    method="gp",
    formula="",
    design=_NONE,
    setting=CurveSetting(
        smoothing=Smoothing(np.array([8.241]), 1.0, 1.0, 2.0, 0.0, 0.0),
        chosen=True,
        centre=constant_centre(0.0, 1),
        **dict.fromkeys(_UNSEEN),
    ),
    values=_NONE,
    curve=pd.DataFrame(
        {
            "x_1": _X,
            "fit": 4.2 - 0.01 * _X,
            "std_error": 0.04 + 0 * _X,
            "lwr": 4.12 - 0.01 * _X,
            "upr": 4.28 - 0.01 * _X,
        }
    ),
    n=6048,
    m=None,
    privacy=PRIVACY,
    error=BOUNDS,
    details=DIAGNOSTICS,
    notes=(),
    answers=(),
    released=True,
)
OWN = EptrResult(
    call="eptr(data, estimate, safety, alpha = 0.05, epsilon = 1, delta = 1e-05)",
    method="gdp",
    released=True,
    value=np.array([1.1714, -20.689]),
    noise_sd=ANSWERS.noise_sd,
    size=2,
    privacy=PRIVACY,
    n=None,
    m=None,
    error=BOUNDS[:4],
    details=DIAGNOSTICS,
    notes=("A note in words.",),
    answers=ANSWERS,
)
PAGES = {
    "eptr_summary": OWN.summary(),
    "bayes_summary": BAYES.summary(),
    "kernel_summary": KERNEL.summary(),
}


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("form", FORMS)
def test_pages_are_as_they_were_last_looked_at(name: str, form: str) -> None:
    """To renew: python -m tests.report.test_answers, then read the difference."""
    as_last_looked_at(name, PAGES[name], form)


def test_prints_are_the_short_pages() -> None:
    lines = BAYES._printed().to_text().splitlines()
    assert lines[3] == "Note: A note in words."  # before the numbers
    assert lines[5] == "Priors and means by class:"
    assert lines[6].split() == ["prior", "x_1", "log(<b>)"]
    lines = KERNEL._printed().to_text().splitlines()
    assert lines[3] == "Bandwidth: x_1 8.24 (from released scales)"
    assert "18 more points in .curve" in lines
    for page in (BAYES._printed(), KERNEL._printed(), OWN._printed()):
        assert "Error bounds" not in page.to_text()
        assert "Privacy: " in page.to_text()


def test_a_guarantee_at_one_epsilon_says_so() -> None:
    text = replace(OWN, privacy=SINGLE).summary().to_text()
    assert "Total: epsilon = 1 at delta = 1e-05 (for this release by itself)" in text
    assert "GDP" not in text
    assert "cryptographic" in text


def test_no_reply_is_shown_as_what_it_is() -> None:
    nothing = replace(OWN, value=None, released=False).summary().to_text()
    assert "no reply" in nothing
    assert "There was an answer" not in nothing
    public = replace(OWN, released=False).summary().to_text()
    assert "public answer" in public
    assert "noise sd" in public.split("Privacy:")[0]
    assert "0.209" not in public.split("Privacy:")[0]


def test_missing_numbers_print_as_na() -> None:
    gaps = KERNEL.curve.assign(fit=np.nan)
    assert replace(KERNEL, curve=gaps).summary().to_text().count("NA") == 12 + 1


def test_missing_errors_of_classes_print_as_na() -> None:
    unknown = replace(BAYES, prior_sd=np.full(3, np.nan), mean_sd=np.full((3, 2), np.nan))
    text = unknown.summary().to_text()
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
