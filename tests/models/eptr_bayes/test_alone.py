"""Classifiers from private rows alone: where features lie, and which classes are released."""

from __future__ import annotations

import numpy as np
import pytest

from tests.models.eptr_bayes.test_eptr_bayes import DATA, LIMITS, TEST, fit, own_error


def test_wide_limits_cost_little() -> None:
    narrow = fit(public=None, limits=LIMITS)
    wide = {"g": LIMITS["g"], "x1": (-400, 400), "x2": (-300, 500)}
    errors = [fit(public=None, limits=wide, seed=s).balanced_error(TEST) for s in range(5)]
    assert np.median(errors) < narrow.balanced_error(TEST) + 0.04
    assert np.median(errors) < own_error() + 0.05
    table = fit(public=None, limits=wide).privacy
    assert table.epsilon(1e-5) == pytest.approx(1, rel=0.02)
    assert "counts of values below points" in set(table.mechanisms.released)


def test_nothing_but_rows_and_a_budget_is_needed() -> None:
    """Classes of text are released for a part of delta, and where features lie is found."""
    scaled = DATA.assign(x1=DATA.x1 * 1e6 + 1e8, x2=DATA.x2 * 1e-6)
    test = TEST.assign(x1=TEST.x1 * 1e6 + 1e8, x2=TEST.x2 * 1e-6)
    found = fit(scaled, public=None)
    assert list(found.priors.index) == ["a", "b", "c"]
    assert found.balanced_error(test) < own_error() + 0.05
    assert any("levels of `g` with more than about" in note for note in found.notes)
    assert found.privacy.epsilon(1e-5) == pytest.approx(1, rel=0.02)
    declared = fit(scaled, public=None, limits={"g": ["a", "b", "c"]})
    assert declared.balanced_error(test) < own_error() + 0.05
    some = {"public": None, "limits": {"h": ["u", "v"]}}
    flags = fit(DATA, "flag ~ x1 + h + I(x2 ** 2)", **some)
    assert list(flags.means.columns) == ["x1", "h[T.v]", "I(x2 ** 2)"]
    assert flags.means["h[T.v]"].to_numpy() == pytest.approx([0.5, 0.5], abs=0.1)


def test_rare_classes_are_not_released() -> None:
    rare = DATA.assign(g=np.where(np.arange(len(DATA)) < 5, "secret", DATA.g))
    found = fit(rare, public=None)
    assert "secret" not in str(found.summary()) + str(found.notes)
    assert list(found.priors.index) == ["a", "b", "c"]
