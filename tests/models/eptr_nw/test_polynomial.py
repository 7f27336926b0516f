"""The polynomial behind a released curve, from sums without and with noise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpstats import eptr_nw
from dpstats.models.eptr_nw.estimate import polynomial_terms
from dpstats.models.eptr_nw.places import Places
from dpstats.models.eptr_nw.polynomial import _averaged, _bends, _powers

_AT = np.array([0.0, 0.05, 0.5, 0.95, 1.0])


def rows(n: int, seed: int, slope: float = 4.0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=n)
    return pd.DataFrame({"x": x, "y": 3 + slope * x + 0.3 * rng.normal(size=n)})


def test_terms_go_on_as_straight_lines() -> None:
    powers = ((0,), (1,), (3,))
    z = np.array([[-2.0, -1.0, 0.5, 1.0, 3.0]])
    one, line, cube = polynomial_terms(z, powers, np.zeros(1), np.ones(1))
    assert one.tolist() == [1.0] * 5
    assert line.tolist() == z[0].tolist()
    assert cube.tolist() == [-4.0, -1.0, 0.125, 1.0, 7.0]


@pytest.mark.parametrize("d", [1, 2, 3])
def test_lines_do_not_bend(d: int) -> None:
    powers = _powers(d)
    bends = _bends(powers)
    for p, row in zip(powers, bends, strict=True):
        assert (np.abs(row).max() < 1e-9) == (sum(p) < 2)
    square = powers.index((2,) + (0,) * (d - 1))
    assert bends[square, square] == pytest.approx(4.0, rel=1e-6)


def test_bends_are_believed_as_far_as_they_are_seen() -> None:
    """Of a line with little noise no bend is left; of a square all of it."""
    powers = _powers(1)
    u = np.linspace(-1, 1, 40)
    terms = np.array(list(polynomial_terms(u[None], powers, np.zeros(1), np.ones(1)))).T
    noise = np.random.default_rng(1).normal(size=40)
    for sd, truth in ((0.1, 2 + u), (0.1, 2 + u + u**2)):
        coef, covariance = _averaged(
            terms / sd, (truth + sd * noise) / sd, _bends(powers), 10.0 ** np.arange(-2, 3)
        )
        off = terms @ coef - truth
        assert np.abs(off).max() < 0.15
        spread = np.sqrt(np.einsum("ij,jk,ik->i", terms, covariance, terms))
        assert (np.abs(off) < 5 * spread).all()


def test_smoothing_does_not_flatten_a_line() -> None:
    """A kernel mean is a tenth of the range off at the ends; its polynomial is not."""
    fit = eptr_nw("y ~ x", rows(5000, 1), mu=20, bandwidth=0.15, seed=1)
    truth = 3 + 4 * _AT
    assert np.abs(fit.predict({"x": _AT}) - truth).max() < 0.1
    assert fit.setting.centre(_AT[None] / 0.15) == pytest.approx(truth, abs=0.15)


def test_a_curve_is_shown_from_end_to_end_of_the_rows_and_no_farther() -> None:
    data = rows(5000, 2)
    for scale in (1e-6, 1.0, 1e6):
        fit: Any = eptr_nw("y ~ x", data.assign(x=data.x * scale), mu=1, seed=2)
        h = float(fit.bandwidth.iloc[0])
        ends = fit.curve.x.iloc[[0, -1]].to_numpy()
        assert np.abs(ends - [0, scale]).max() < h
        among = Places.of(fit.values, fit.setting).among[:, 0] * h
        assert among.min() > -h
        assert among.max() < scale + h
