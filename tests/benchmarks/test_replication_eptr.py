"""Every figure of the ePTR and the public-data paper runs, small, and every claim can be checked."""

import math
from itertools import islice

import numpy as np
import pandas as pd
import pytest

from . import eptr_competitors as ec
from . import eptr_settings as es
from .competitors import ols
from .replication import eptr, gaussian
from .replication.curves import at_most, below_one, curve, first, listed, reached
from .replication.figure import Figure, Sizes, gathered

FAST = Sizes(fast=True)
MODULES = (eptr, gaussian)
SLOW = ("gaussian-1", "gaussian-5", "gaussian-6", "eptr-3-simulated")


def simulated() -> list[object]:
    """Figures that need no real data."""
    return [
        pytest.param(
            module,
            figure,
            id=figure.name,
            marks=[pytest.mark.slow] if figure.name in SLOW else [],
        )
        for module in MODULES
        for figure in module.FIGURES
        if not figure.real
    ]


@pytest.mark.parametrize(("module", "figure"), simulated())
def test_a_figure_has_its_panels_and_its_claims_are_checked(module: object, figure: Figure) -> None:
    if figure.needs:
        pytest.importorskip(figure.needs)
    found = [point for seed in range(2) for point in figure.points(seed, FAST)]
    table = gathered(figure.name, found, 2)
    assert tuple(dict.fromkeys(table["panel"])) == figure.panels
    assert table["missing"].max() <= 2
    assert not table.duplicated(["panel", "series", "x"]).any()
    assert list(islice(figure.points(0, FAST), 4)) == found[:4]
    for claim in module.CLAIMS:  # type: ignore[attr-defined]
        if claim.figure == figure.name:
            finding = claim.check(table)
            assert finding.agrees in ("yes", "partly", "no")
            assert any(letter.isdigit() for letter in finding.measured)


def test_every_claim_belongs_to_a_figure_and_says_why() -> None:
    for module in MODULES:
        names = [figure.name for figure in module.FIGURES]
        assert len(set(names)) == len(names)
        for claim in module.CLAIMS:
            assert claim.figure in names
            assert claim.why.endswith(".")


def test_baselines_are_the_fit_without_privacy_at_a_huge_budget() -> None:
    s = es.simulated_ols(0, 2000)
    rng = np.random.default_rng(0)
    limits = ec.OlsLimits(100.0, 1.2, 0.1)
    base = ols(s.x, s.y)
    found = ec.functional_mechanism(s.x, s.y, 100.0, 120.0, 1e12, rng)
    np.testing.assert_allclose(found, base, atol=1e-4)
    found = ec.noisy_descent(s.x, s.y, limits, 1e12, 0.01, rng)
    np.testing.assert_allclose(found, base, atol=1e-3)
    t = es.simulated_bayes(0, 2000, test=300)
    classes = np.unique(t.private.y)
    fit = ec.laplace_bayes(t.private.x, t.private.y, classes, 100.0, 1e12, rng)
    base_fit = ec.nonprivate_bayes(t.private.x, t.private.y)
    np.testing.assert_allclose(fit.centres, base_fit.centres, atol=1e-6)
    np.testing.assert_allclose(fit.priors, base_fit.priors, atol=1e-6)


def test_curves_are_read_as_they_are_written() -> None:
    rows = [("f", "", "a", x, y) for x, y in ((1, 4.0), (100, 1.0), (10, 2.0))]
    table = pd.DataFrame(rows, columns=["figure", "panel", "series", "x", "mean"])
    values = curve(table, "a")
    assert listed(values) == "4 at 1, 2 at 10, 1 at 100"
    assert reached(values, 2.0) == pytest.approx(10)
    assert reached(values, math.sqrt(8)) == pytest.approx(math.sqrt(10))
    assert math.isnan(reached(values, 0.5))
    assert first(1 / values, 0.5) == 10
    assert math.isnan(first(values, 2.0))
    assert below_one(values / 3) == "partly"
    assert at_most(math.nan, 1, 2) == "no"
    with pytest.raises(KeyError):
        curve(table, "b")
