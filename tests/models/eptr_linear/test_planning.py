"""Cuts are what they are said to be, and chosen for the error that they lead to."""

import numpy as np
import pytest

from dpstats.models.eptr_linear.planning import (
    choose_cuts,
    cut_at,
    eigenvalue_share,
)

_RNG = np.random.default_rng(0)
_Z = _RNG.normal(size=(400, 4))
_E = _RNG.normal(size=400)


def _residual(z: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.asarray(y - z @ np.linalg.lstsq(z, y, rcond=None)[0])


_R = _residual(_Z, _E)


def test_wide_cuts_are_none() -> None:
    plan = cut_at(_Z, _R, 100.0, 100.0)
    assert plan.slope == 1
    assert plan.lost == pytest.approx(0, abs=1e-12)
    gram = _Z.T @ _Z / 400
    assert plan.smallest == pytest.approx(np.linalg.eigvalsh(gram)[0])
    # the sandwich of the residuals, or the plain formula where it is larger
    plain = float(_R @ _R) / 396 * np.linalg.inv(gram)
    assert np.trace(plan.sampling) >= np.trace(plain) * (1 - 1e-6)
    assert np.trace(plan.sampling) == pytest.approx(np.trace(plain), rel=0.2)


def test_the_consequences_of_a_cut_are_those_of_a_direct_computation() -> None:
    radius, response = 2.0, 1.0
    plan = cut_at(_Z, _R, radius, response)
    factor = np.minimum(1, radius / np.linalg.norm(_Z, axis=1))
    z, whole = _Z * factor[:, None], _R * factor
    kept = np.clip(whole, -response, response)
    assert np.linalg.norm(z, axis=1).max() <= radius * (1 + 1e-12)
    gram = z.T @ z / 400
    assert plan.smallest == pytest.approx(np.linalg.eigvalsh(gram)[0])
    moved = np.linalg.solve(gram, z.T @ (kept - whole) / 400)
    inverse, off = np.linalg.inv(gram), kept - whole
    chance = inverse @ (z.T @ (z * (off**2)[:, None])) @ inverse / 400**2
    lost = (float(moved @ moved) - float(np.trace(chance))) / plan.slope**2
    assert plan.lost == pytest.approx(max(lost, 0.0), rel=1e-6, abs=1e-12)
    # the slope: how far cut responses follow when the coefficients change a little, on average
    follow = []
    for direction in np.eye(4):
        change = np.clip(whole + 1e-4 * z @ direction, -response, response) - kept
        follow.append(float(direction @ np.linalg.solve(gram, z.T @ change / 400)) / 1e-4)
    assert np.mean(follow) == pytest.approx(plan.slope, rel=0.1)


def test_the_slope_undoes_the_cut() -> None:
    # rows whose coefficients differ from the public ones: cut responses follow the slope's share
    rng = np.random.default_rng(2)
    z, e = rng.normal(size=(60_000, 4)), rng.normal(size=60_000)
    plan = cut_at(_Z, _R, 1.5, 0.8)
    shift = np.array([0.05, -0.02, 0.0, 0.03])
    factor = np.minimum(1, 1.5 / np.linalg.norm(z, axis=1))
    cut = z * factor[:, None]
    y = np.clip((z @ shift + e) * factor, -0.8, 0.8)
    found = np.linalg.solve(cut.T @ cut, cut.T @ y) / plan.slope
    assert found == pytest.approx(shift, abs=0.03)


def test_noise_makes_cuts_tight_and_none_makes_them_wide() -> None:
    def noise(scale: float):  # type: ignore[no-untyped-def]
        return lambda radius, response, smallest: scale * radius * response / smallest

    loud, quiet = choose_cuts(_Z, _R, 2000, noise(0.2)), choose_cuts(_Z, _R, 2000, noise(1e-9))
    assert loud.response < quiet.response
    assert loud.radius <= quiet.radius
    assert loud.smallest > 1e-6
    assert quiet.response >= np.quantile(np.abs(_R), 0.9)


def test_no_cut_is_credited_with_less_spread_than_none() -> None:
    heavy = _residual(_Z, _E * np.where(_RNG.uniform(size=400) < 0.02, 10, 1))
    uncut = cut_at(_Z, heavy, 100.0, 1000.0)
    plan = choose_cuts(_Z, heavy, 2000, lambda radius, response, smallest: 1e-3 * response)
    assert np.trace(plan.sampling) >= np.trace(uncut.sampling) * (1 - 1e-9)


def test_cuts_never_leave_a_singular_design() -> None:
    z = np.zeros((60, 3))
    z[np.arange(60), np.arange(60) % 3] = 1.0
    z[:40, 2] = 0.0
    plan = choose_cuts(z, np.ones(60), 1000, lambda radius, response, smallest: 1.0)
    assert plan.smallest > 1e-6
    assert np.isfinite(plan.sampling).all()
    zero = choose_cuts(z, np.zeros(60), 1000, lambda radius, response, smallest: 1.0)
    assert np.isfinite(zero.lost)


def test_a_symmetric_law_loses_little_to_a_cut_and_a_skewed_one_is_found_out() -> None:
    rng = np.random.default_rng(8)
    z = np.column_stack([np.ones(2000), rng.normal(size=2000)])
    even, skewed = rng.normal(size=2000), rng.exponential(size=2000) - 1
    assert cut_at(z, even, 10.0, 1.0).lost < 0.01
    assert cut_at(z, skewed, 10.0, 1.0).lost > 0.01


def test_the_eigenvalues_share_is_near_its_best() -> None:
    for z, count, mu in ((4.0, 50.0, 1.0), (4.0, 1000.0, 0.3), (3.0, 1e6, 2.0)):
        grid = np.linspace(0.01, 0.5, 500)
        with np.errstate(divide="ignore", invalid="ignore"):
            room = 1 - z / (count * mu * np.sqrt(grid))
            loss = np.where(room > 0, 1 / room / np.sqrt(1 - grid), np.inf)
        share = eigenvalue_share(z, count, mu)
        assert np.interp(share, grid, loss) <= 1.05 * loss.min()
    assert eigenvalue_share(4.0, 1e-9, 1.0) == 0.5
    assert eigenvalue_share(4.0, 1e12, 1.0) == 0.01
