"""The pages of private means, covariances and mixtures as people see them, letter by letter."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from dpstats.accounting.privacy import Privacy, PurePrivacy
from dpstats.models.gaussian.result import GaussianModel
from dpstats.models.mixture.result import MixtureModel, MixtureNumbers
from dpstats.report.bound import Bound, Premise
from dpstats.report.privacy import PrivacyStatement, Spent
from dpstats.report.released import Diagnostic
from dpstats.report.result import Coefficients
from tests.report.snapshots import FORMS, as_last_looked_at, renew

TERMS = ("x_1", "log(<b>)", "a & b")
MATRIX = np.array([[1.21, -13.2, 2.4e-4], [-13.2, 62500.0, 0.0], [2.4e-4, 0.0, 1e-8]])
MEAN = Coefficients(TERMS, np.array([5.0127, -2504.0, 0.000252]), MATRIX / 6048, MATRIX / 90000)
PRIVACY = PrivacyStatement(
    Privacy(1.0),
    (
        Spent("histogram of row lengths", 128, 1.4142, 8.165, 0.1732, 0.03),
        Spent("numbers, means and second moments", 16, 1.53, 1.58, 0.9798, 0.96),
        Spent("share of truncated <rows>", 1, 0.000283, 0.00283, 0.1, 0.01),
    ),
    seeded=True,
)
PURE = PrivacyStatement(
    PurePrivacy(1.5),
    (Spent("sum and number of rows", 4, 8.72, 21.2, 1.8, 1.0),),
    seeded=False,
)
RESOLVED = Premise("no direction hidden by noise", False)
BOUNDS = (
    Bound("relative error of the covariance", "Frobenius", 0.0763, 0.95, "chi-square", "bound"),
    Bound(
        "error of the mean in sd", "Mahalanobis", 0.0432, 0.95, "chi & square", "bound", (RESOLVED,)
    ),
    Bound("total variation distance", "total variation", 1.0, 0.95, "Pinsker", "bound"),
    Bound("the paper's rate", "total variation", float("inf"), None, "Theorem 1.2", "rate"),
)
DIAGNOSTICS = (
    Diagnostic("rounds", 2, None, "of private re-whitening before the last release"),
    Diagnostic("truncated rows", 0.00376, 0.00645, "share that was cut in <the> last release"),
    Diagnostic("separation", None, None, "of their means, in standard deviations"),
)


class _Noise:
    """Standard errors in proportion to the covariance."""

    def std_error(self, covariance: np.ndarray) -> np.ndarray:
        return np.abs(covariance) / 50 + 1e-9


@dataclass(frozen=True, repr=False, eq=False)
class _Gaussian(GaussianModel):
    condition: float = 6.5e12


class _Mixture(MixtureModel):
    @property
    def _conditions(self) -> list[float]:
        return [6.5e12, 6.5e12]


_DESIGN: Any = None
_NOISE: Any = _Noise()
MVNORM = _Gaussian(
    call='dp_mvnorm("~ x_1 + log(<b>) + `a & b`", rho = 0.5, method = "refined")',
    method="refined",
    coefficients=MEAN,
    formula="",
    design=_DESIGN,
    matrix=MATRIX,
    noise=_NOISE,
    cov_source="released",
    relative_error=0.0493,
    public_points=None,
    n=6048,
    m=318,
    dropped=2,
    privacy=PRIVACY,
    error=BOUNDS,
    details=DIAGNOSTICS,
    notes=("A note in words, with <b> & more.",),
)
KNOWN = replace(
    MVNORM,
    call='dp_mean("~ x_1 + log(<b>) + `a & b`", epsilon = 1.5, covariance = "stated")',
    noise=None,
    cov_source="stated in the call",
    relative_error=None,
    m=1,
    dropped=0,
    privacy=PURE,
    error=BOUNDS[1:2],
    notes=(),
)
_MIXED = np.stack([MATRIX, 4 * MATRIX])
_NUMBERS = MixtureNumbers(
    weights=np.array([0.98765, 0.01235]),
    weights_se=np.array([0.0021, 0.0021]),
    means=np.array([[5.0127, -2504.0, 0.000252], [-60.5, 1e9, -0.4]]),
    means_se=np.array([[0.0142, 3.3, 1.3e-6], [0.9, np.nan, 1e-4]]),
    covariances=_MIXED,
    relative_errors=(0.0512, 12.7),
    rows=(5973.4, 74.6),
    public_rows=(39, 3),
)
MIXTURE = _Mixture(
    call='dp_mixture("~ x_1 + log(<b>) + `a & b`", k = 3, rho = 0.5, regime = "private")',
    regime="private",
    found="2 group(s) apart among public rows; 0 split(s) at private valleys, 1 of 3 levels tried",
    asked=3,
    method="refined",
    formula="",
    design=_DESIGN,
    terms=TERMS,
    numbers=_NUMBERS,
    public_points=np.zeros((0, 3)),
    n=6048,
    m=42,
    dropped=1,
    privacy=PRIVACY,
    error=BOUNDS,
    details=DIAGNOSTICS,
    notes=("2 of 3 components were found.",),
)
PAGES = {
    "gaussian_summary": MVNORM.summary(),
    "mean_summary": KNOWN.summary(),
    "mixture_summary": MIXTURE.summary(),
}


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("form", FORMS)
def test_pages_are_as_they_were_last_looked_at(name: str, form: str) -> None:
    """To renew: python -m tests.models.gaussian.test_page, then read the difference."""
    as_last_looked_at(name, PAGES[name], form)


def test_prints_are_the_short_pages() -> None:
    lines = MVNORM._printed().to_text().splitlines()
    assert lines[3].startswith("Note: ")  # before the numbers
    assert lines[5] == "Mean:"
    assert lines[6].split() == ["Mean", "Std.", "Dev."]
    assert KNOWN._printed().to_text().startswith("Call:\ndp_mean(")
    lines = MIXTURE._printed().to_text().splitlines()
    assert lines[5] == "Weights and means by component:"
    assert [line.split()[0] for line in lines[7:9]] == ["1", "2"]
    for page in (MVNORM._printed(), KNOWN._printed(), MIXTURE._printed()):
        assert "Error bounds" not in page.to_text()
        assert "Privacy: " in page.to_text()


def test_a_pure_total_says_that_it_is_pure() -> None:
    text = KNOWN.summary().to_text()
    assert "Total: epsilon = 1.5 (pure), hence mu = " in text
    assert "delta" not in text.split("Privacy:")[1].split("Error bounds")[0]
    assert "cryptographic" in text
    assert "Gaussian" not in text.split("Noise:")[1].split("\n")[0]  # pure noise is none


def test_a_covariance_that_was_not_estimated_has_no_errors() -> None:
    text = KNOWN.summary().to_text()
    assert "Standard errors of the covariance" not in text
    assert "Expected error of the covariance" not in text
    assert "left out" not in text
    assert "clip and noise" in text


def test_wide_matrices_are_named_instead_of_printed() -> None:
    d = 13
    terms = tuple(f"x{j}" for j in range(d))
    wide = Coefficients(terms, np.zeros(d), np.eye(d), np.eye(d))
    page = replace(MVNORM, coefficients=wide, matrix=np.eye(d))
    text = page.summary().to_text()
    assert text.count("13 x 13: .cov, .corr and .cov_se hold it as a frame.") == 2
    known = replace(page, noise=None).summary().to_text()
    assert ".cov_se" not in known  # there is none


def test_covariances_of_many_columns_are_left_to_their_frames() -> None:
    d = 5
    page = replace(
        MIXTURE,
        terms=tuple(f"x{j}" for j in range(d)),
        numbers=replace(
            _NUMBERS,
            means=np.zeros((2, d)),
            means_se=np.ones((2, d)),
            covariances=np.stack([np.eye(d)] * 2),
        ),
    )
    assert "Covariance of component" not in page.summary().to_text()
    assert "Covariance of component 2" in MIXTURE.summary().to_text()


def test_missing_numbers_print_as_na() -> None:
    text = MIXTURE.summary().to_text()
    assert "nan" not in text.lower().split("bounds")[0]
    assert "NA" in text
    gaps = Coefficients(TERMS, MEAN.coef, MATRIX * np.nan, MATRIX * np.nan)
    text = replace(MVNORM, coefficients=gaps).summary().to_text()
    assert text.count("NA") == 6 + 1
    assert "nan" not in text


def test_the_number_that_was_asked_for_is_told() -> None:
    assert "2 (3 asked for)" in MIXTURE.summary().to_text()
    assert "2 (the partition decided)" in replace(MIXTURE, asked=None).summary().to_text()


if __name__ == "__main__":
    for _name, _page in PAGES.items():
        renew(_name, _page)
