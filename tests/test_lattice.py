"""What leaves a call: integers on a grid with integer noise, and functions of them; nothing else.

Three questions to whole calls of every method, each about bits and none about laws:

* every released value is its integer of steps, rounded once;
* data whose exact totals agree, however different their last bits, give the same bits;
* with the releases of one table put in place of another's, the other call says what the first said:
  whatever a result holds is a function of its releases and of public things.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpstats import (
    dp_glm,
    dp_lm,
    dp_mean,
    dp_mixture,
    dp_mvnorm,
    eptr,
    eptr_bayes,
    eptr_lm,
    eptr_nw,
)
from dpstats.errors import PlanWarning
from dpstats.mechanism import release as gaussian
from dpstats.mechanism.noise import SecureNoise, SeededNoise
from tests.test_engines import bits, content, make

_N = 400
PUBLIC = make(60, 1)
DATA = make(_N, 2)
_HOSTILE = make(_N, 3)
_HOSTILE[["y", "x1", "x2", "far"]] *= 40.0
_HOSTILE.loc[3, "x1"], _HOSTILE.loc[7, "y"], _HOSTILE.loc[9, "x2"] = np.nan, np.inf, -1e308
_HOSTILE.loc[11, "g"], _HOSTILE.loc[12, "b"], _HOSTILE["far"] = None, 0.5, 3.0
OTHERS = {"another sample": make(_N, 4), "hostile": _HOSTILE}

_limits: dict[str, Any] = {"x1": (-3, 3), "x2": (-3, 3)}
_linear_limits = _limits | {"y": (-10, 10)}
_mu: dict[str, Any] = {"public": PUBLIC, "mu": 1.0}
_rho: dict[str, Any] = {"public": PUBLIC, "rho": 2.0}
_pure: dict[str, Any] = {"public": PUBLIC, "epsilon": 3.0}
_single: dict[str, Any] = {"public": PUBLIC, "epsilon": 2.0, "delta": 1e-3}
_safe: dict[str, Any] = {"epsilon": 2.0, "delta": 1e-3, "alpha": 0.5, "size": 2}


def _own(data: pd.DataFrame, seed: int, **options: Any) -> Any:
    """Clipped means; many rows are always safe."""

    def estimate(rows: pd.DataFrame) -> Any:
        return np.nan_to_num(rows[["x1", "x2"]]).clip(-3, 3).mean(axis=0)

    return eptr(data, estimate, lambda rows: 40.0, seed=seed, **{**_safe, **options})


CALLS: dict[str, Callable[..., Any]] = {
    "lm anchored": partial(dp_lm, "y ~ x1 + x2 + g", **_mu),
    "lm weighted": partial(dp_lm, "y ~ x1", **_mu, weights="w", offset="o"),
    "lm pmt": partial(dp_lm, "y ~ x1 + x2", **_mu, method="pmt"),
    "lm ssp": partial(dp_lm, "y ~ x1 + x2", mu=1.0, limits=_linear_limits, method="ssp"),
    "lm alone": partial(dp_lm, "y ~ x1 + x2", mu=1.0),
    "lm alone in a box": partial(dp_lm, "y ~ x1 + x2", mu=1.0, limits=_linear_limits),
    "glm alone": partial(dp_glm, "b ~ x1 + x2", mu=1.0),
    "glm anchored": partial(dp_glm, "b ~ x1 + x2", **_mu),
    "glm pmt": partial(dp_glm, "b ~ x1 + x2", **_mu, method="pmt"),
    "glm ssp": partial(dp_glm, "b ~ x1 + x2", mu=1.0, limits=_limits | {"b": (0, 1)}, method="ssp"),
    "glm gaussian": partial(dp_glm, "y ~ x1", **_mu, family="gaussian"),
    "eptr lm adaptive": partial(eptr_lm, "y ~ x1 + x2", **_single),
    "eptr lm ptr": partial(eptr_lm, "y ~ x1", **_single, method="ptr", target=40.0),
    "eptr lm adassp": partial(eptr_lm, "y ~ x1 + x2", **_mu, method="adassp"),
    "eptr lm paper": partial(eptr_lm, "y ~ x1", **_single, method="paper"),
    "bayes sums": partial(eptr_bayes, "g ~ x1 + y", **_single),
    "bayes ptr": partial(eptr_bayes, "g ~ x1 + y", **_single, method="ptr"),
    "bayes paper": partial(eptr_bayes, "g ~ x1", **_single, method="paper"),
    "nw gp": partial(eptr_nw, "y ~ x1", **_single),
    "nw adaptive": partial(eptr_nw, "y ~ x1", **_single, method="adaptive"),
    "nw ptr": partial(eptr_nw, "y ~ x1", **_single, method="ptr"),
    "nw paper": partial(eptr_nw, "y ~ x1", **_single, method="paper", at=[0.0]),
    "eptr": _own,
    "eptr paper": partial(_own, calibration="paper"),
    "mean": partial(dp_mean, ["x1", "y"], **_rho),
    "mean pure": partial(dp_mean, ["x1", "y"], **_pure),
    "mean paper": partial(dp_mean, ["x1", "x2"], **_rho, method="paper", covariance="identity"),
    "mvnorm": partial(dp_mvnorm, ["x1", "y"], **_rho),
    "mvnorm pure": partial(dp_mvnorm, ["x1", "y"], **_pure),
    "mvnorm paper": partial(dp_mvnorm, ["x1", "y"], **_rho, method="paper"),
    "mixture": partial(dp_mixture, ["far", "x1"], **_rho, k=2, regime="public"),
    "mixture found": partial(dp_mixture, ["far", "x1"], **_rho, k=2, regime="private"),
}


@dataclass
class Watch:
    """What a call released: integers of steps, values, and the sides of coins, in order."""

    whole: list[tuple[Any, float]] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)
    coins: list[bool] = field(default_factory=list)
    releases: list[gaussian.Release] = field(default_factory=list)


_to_float = gaussian._to_float


@contextmanager
def watched(replayed: Watch | None = None) -> Iterator[Watch]:
    """Note what is released; or put what another call released in its place."""
    seen = Watch()

    @dataclass(frozen=True)
    class Noted(gaussian.Release):
        def __post_init__(self) -> None:
            seen.releases.append(self)

    def to_float(total: Any, unit: float) -> Any:
        value = _to_float(total, unit)
        if replayed is not None:
            old, old_unit = replayed.whole[len(seen.whole)]
            assert (old.shape, old_unit) == (total.shape, unit), "the grid is a public thing"
            value = replayed.values[len(seen.whole)].copy()
        seen.whole.append((total, unit))
        seen.values.append(value)
        return value

    def tossed(coin: Callable[[Any, float], bool]) -> Callable[[Any, float], bool]:
        def toss(noise: Any, probability: float) -> bool:
            side = coin(noise, probability)
            if replayed is not None:
                side = replayed.coins[len(seen.coins)]
            seen.coins.append(side)
            return side

        return toss

    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore", PlanWarning)
        patch.setattr(gaussian, "_to_float", to_float)
        patch.setattr(gaussian, "Release", Noted)
        for kind in (SeededNoise, SecureNoise):
            patch.setattr(kind, "coin", tossed(kind.coin))
        yield seen


def told(fit: Any) -> Any:
    """All that a result holds and prints, to the bit."""
    return content(fit) if hasattr(fit, "tidy") else (str(fit), bits(fit))


def same_releases(one: Watch, two: Watch) -> bool:
    """Whether every integer that left is the same."""
    return one.coins == two.coins and bits(one.whole) == bits(two.whole)


def _on_grid(value: float, step: float) -> bool:
    near = float(np.rint(value / step))
    # beyond 2^53 steps the quotient may miss its integer by one float
    return any(k * step == value for k in (near, *np.nextafter(near, [-math.inf, math.inf])))


def _check_grid(seen: Watch) -> None:
    assert seen.releases
    for release in seen.releases:
        values = np.asarray(release.value).ravel()
        assert release.step > 0
        if np.isnan(values).any():
            assert np.isnan(values).all()  # "no reply" of a test
            assert False in seen.coins
            continue
        for value in values.tolist():
            assert _on_grid(value, release.step)
            if math.frexp(release.step)[0] == 0.5:
                assert (Fraction(value) / Fraction(release.step)).denominator == 1
    for (whole, unit), value in zip(seen.whole, seen.values, strict=True):
        assert all(type(k) is int for k in whole.ravel())
        assert [float(k) * unit for k in whole.ravel()] == value.ravel().tolist()


@pytest.mark.parametrize("name", CALLS)
def test_every_released_value_is_an_integer_of_steps(name: str) -> None:
    for data in (DATA, _HOSTILE):
        with watched() as seen:
            CALLS[name](data, seed=1)
        _check_grid(seen)


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
def test_every_released_value_of_secure_noise_is_an_integer_of_steps(name: str) -> None:
    with watched() as seen:
        CALLS[name](DATA, seed=None)
    _check_grid(seen)


@pytest.mark.parametrize("name", CALLS)
def test_the_order_of_rows_leaves_no_trace(name: str) -> None:
    moved = DATA.sample(frac=1, random_state=5, ignore_index=True)
    with watched() as seen:
        before = told(CALLS[name](DATA, seed=1))
    with watched() as again:
        after = told(CALLS[name](moved, seed=1))
    assert same_releases(seen, again)
    assert before == after


def _neighbours() -> Iterator[pd.DataFrame]:
    """The table with the next floats in place of its own: all up, all down, at random, in a few rows.

    Where cuts are near, squares have steps so small that of hundreds of rows one always moves by one.
    """
    rng = np.random.default_rng(6)
    random = (rng.choice([-np.inf, np.inf], _N) for _ in range(6))
    columns = ("x1", "x2", "y", "far")
    for towards in (np.inf, -np.inf, *random):
        yield DATA.assign(**{c: np.nextafter(DATA[c], towards) for c in columns})
    for _ in range(8):
        some = rng.random(_N) < 0.02
        yield DATA.assign(
            **{c: DATA[c].where(~some, np.nextafter(DATA[c], np.inf)) for c in columns}
        )


def _check_parting(one: Watch, two: Watch) -> None:
    """Totals part, if they do, by steps of a row: a release before is the same, and its grid too."""
    for (a, unit), (b, other), release in zip(one.whole, two.whole, one.releases, strict=False):
        assert unit == other
        if bits(a) != bits(b):
            assert max(map(abs, (a - b).ravel().tolist())) * unit < 1e-9 * release.noise_sd
            return
    raise AssertionError("coins differ, or releases without totals")


@pytest.mark.parametrize("name", CALLS)
def test_data_with_the_same_totals_leave_no_trace_in_the_last_bits(name: str) -> None:
    """Floats are rounded far more coarsely than moved, so that totals agree in most moves.

    Where a row happens to lie between two steps, which differs between processors, they agree in
    about half.
    """
    with watched() as seen:
        before = told(CALLS[name](DATA, seed=1))
    for moved in _neighbours():
        with watched() as again:
            after = told(CALLS[name](moved, seed=1))
        if same_releases(seen, again):
            assert before == after
            return
        _check_parting(seen, again)
    raise AssertionError("totals part in every move")


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("name", CALLS)
def test_a_result_is_a_function_of_its_releases_and_of_public_things(name: str, other: str) -> None:
    with watched() as seen:
        first = told(CALLS[name](DATA, seed=1))
    with watched(seen) as again:
        second = told(CALLS[name](OTHERS[other], seed=1))
    assert len(again.whole) == len(seen.whole)
    assert not same_releases(seen, again)  # it is another table
    assert first == second
