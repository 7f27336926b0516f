"""Rows of which nothing but the scale of columns is known are whitened by their own second moments."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from dpstats import dp_lm
from dpstats.accounting.privacy import Privacy
from dpstats.mechanism.noise import SeededNoise
from dpstats.score_rounds.releases import ScoreSession, Shares
from dpstats.score_rounds.rows import LeastSquares, RoundCuts, ScoreRows
from dpstats.score_rounds.whitening import Whitened, share_of_moments, whiten
from tests.mechanism.sources import Arrays, NonPrivateSilence

Floats = np.ndarray


def _seen(x: Floats, mu: float, seed: int = 1) -> tuple[Whitened, ScoreSession]:
    d = x.shape[1]
    source, zero = Arrays(x, np.zeros(len(x))), np.zeros(d)
    noise = SeededNoise(seed)
    with ScoreSession(source, LeastSquares(), np.eye(d), zero, Privacy(mu), noise) as session:
        return whiten(session, np.eye(d), np.zeros(d, dtype=bool)), session


def _spread(x: Floats, seen: Whitened) -> Floats:
    """Eigenvalues of the true second moments of whitened rows."""
    z = x @ seen.whitening.back
    return np.linalg.eigvalsh(z.T @ z / len(z))


def _columns(n: int, d: int, seed: int = 3) -> Floats:
    z = np.random.default_rng(seed).normal(size=(n, d))
    z[:, 0] = 1.0
    return z


@pytest.mark.parametrize("condition", [1.0, 1e2, 1e4, 1e8])
def test_collinear_columns_are_told_apart_where_the_budget_is_large(condition: float) -> None:
    """Each stage stretches by what the noise of the last one left unseen."""
    x = _columns(5000, 4)
    x[:, 3] = x[:, 2] + x[:, 3] / math.sqrt(condition)
    seen, _ = _seen(x, 100.0)
    values = _spread(x, seen)
    assert 0.25 < values[0] <= values[-1] < 4
    assert not seen.hidden.any()
    assert np.allclose(seen.whitening.back @ seen.whitening.root, np.eye(4), atol=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_what_is_used_are_the_second_moments_of_the_rows_that_were_cut(seed: int) -> None:
    x = _columns(4000, 3, seed)
    seen, _ = _seen(x, 10.0, seed)
    z = x @ seen.whitening.back
    length = np.linalg.norm(z, axis=1)
    z *= np.minimum(1.0, seen.radius / length)[:, None]
    assert np.abs(seen.curvature.used - z.T @ z / len(z)).max() < 0.05


def test_a_rare_level_does_not_run_away() -> None:
    """Three rows of five thousand: stretched as one may, they are cut, and the level stays hidden."""
    x = _columns(5000, 4)
    x[:, 3] = 0.0
    x[:3, 3] = 1.0
    for seed in range(5):
        seen, session = _seen(x, 1.0, seed)
        assert seen.hidden.tolist() == [False, False, False, True]
        stages = [release.what for release in session.releases].count(
            "second moments of the design"
        )
        assert stages <= 6
        assert session.left > 0.4
        assert np.linalg.norm(seen.whitening.back[3]) < 1e4


def test_columns_that_no_row_differs_in_keep_to_themselves() -> None:
    x = _columns(3000, 4)
    x[:, 2] = 0.0
    source, zero = Arrays(x, np.zeros(3000)), np.zeros(4)
    nothing = np.array([False, False, True, False])
    with ScoreSession(
        source, LeastSquares(), np.eye(4), zero, Privacy(5.0), SeededNoise(1)
    ) as session:
        seen = whiten(session, np.eye(4), nothing)
    assert seen.hidden.tolist() == nothing.tolist()
    assert seen.whitening.back[2].tolist() == [0, 0, 1, 0]
    assert seen.whitening.back[:, 2].tolist() == [0, 0, 1, 0]


@pytest.mark.parametrize("n", [10, 1000, 10**7])
@pytest.mark.parametrize("d", [1, 5, 50])
def test_stages_cost_a_bounded_share(n: int, d: int) -> None:
    for mu in (1e-3, 1.0, 1e3):
        assert 0.02 <= share_of_moments(n, d, mu) <= 0.06


@pytest.mark.parametrize("kind", ["missing", "huge", "none"])
def test_whitening_ends_with_numbers_whatever_the_rows(kind: str) -> None:
    x = _columns(500, 3)
    if kind == "missing":
        x[:] = 0.0
    elif kind == "huge":
        x[:, 1:] *= 1e300
    else:
        x[:, 1:] *= 1e-300
    with np.errstate(all="ignore"):
        seen, session = _seen(x, 0.5)
    assert np.isfinite(seen.whitening.back).all()
    assert np.isfinite(seen.curvature.used).all()
    assert session.left > 0.4


# -- long rows weigh less -------------------------------------------------------------------------------


def _totals(rows: ScoreRows, clip: float) -> tuple[Floats, Floats, float, int, int]:
    sums = rows.sums(np.array([0.3, -0.2]), RoundCuts(clip, clip, clip, True))
    grid = rows.grid
    assert sums.information is not None
    assert sums.score is not None
    information = sums.information.astype(float) * (clip / grid.steps) ** 2
    score = sums.score.astype(float) * (clip / grid.fine)
    square = float(sums.squares[0]) * (clip / grid.steps) ** 2
    return information, score, square, int(sums.cut[0]), int(sums.empty[0])


_X = np.array([[0.5, 0.1], [1.0, -1.0], [3.0, 4.0], [60.0, -80.0], [0.0, 0.0]])
_Y = np.array([1.0, 0.5, -2.0, 7.0, 3.0])


@pytest.mark.parametrize("weighted", [False, True])
def test_sums_of_rows_that_weigh_less_are_those_by_hand(weighted: bool) -> None:
    """A row longer than R, with the root of its prior weight, weighs (R/|z|)^2 of that."""
    leverage, clip = 2.5, 1e4
    prior = np.array([1.0, 0.5, 2.0, 1.5, 1.0]) if weighted else np.ones(5)
    rows = ScoreRows(
        Arrays(_X, _Y, weight=prior if weighted else None), LeastSquares(), np.eye(2), np.zeros(2)
    )
    rows.leverage = leverage
    information, score, square, cut, empty = _totals(rows, clip)
    rows.close()
    length = np.sqrt(prior) * np.linalg.norm(_X, axis=1)
    w = prior * np.minimum(1.0, leverage / np.maximum(length, 1e-300)) ** 2
    residual = _Y - _X @ [0.3, -0.2]
    assert information == pytest.approx((_X * w[:, None]).T @ _X, abs=0.5)
    assert score == pytest.approx(_X.T @ (w * residual), abs=1e-2)
    assert square == pytest.approx(float((w * residual**2).sum()), rel=1e-2, abs=0.5)
    assert (cut, empty) == (2, 0), "rows that weigh less count as cut, and one of zeros is a row"


def test_a_row_that_weighs_less_is_cut_by_the_length_that_it_then_has() -> None:
    """A score of length 10^4 that weighs a thousandth is no longer than the clip."""
    rows = ScoreRows(Arrays(_X[3:4], np.array([-6.0])), LeastSquares(), np.eye(2), np.zeros(2))
    plain = _totals(rows, 10.0)[1]
    rows.leverage = 2.5
    _, weighed, *_ = _totals(rows, 10.0)
    rows.close()
    residual = -6.0 - float(_X[3] @ [0.3, -0.2])
    assert np.linalg.norm(plain) == pytest.approx(10.0, rel=1e-3), "without weights it is cut"
    assert weighed == pytest.approx(_X[3] * residual * (2.5 / 100) ** 2, rel=1e-3)


def test_weights_change_from_one_round_to_the_next() -> None:
    with ScoreSession(
        Arrays(_X, _Y),
        LeastSquares(),
        np.eye(2),
        np.zeros(2),
        Privacy(1.0),
        NonPrivateSilence(),
    ) as session:
        found = []
        for leverage in (None, 2.5, None):
            session.weigh(leverage)
            made = session.round(Shares(score=0.1), np.zeros(2), RoundCuts(1e4, None))
            lengths = session.score_lengths(0.01, np.zeros(2), ((-1, 1), (-8, 16)))
            assert made.score is not None
            found.append((made.score.value.tolist(), lengths.quantile(0.9)))
        assert found[0] == found[2]
        assert found[0] != found[1]


def test_rows_far_from_the_others_are_drawn_in() -> None:
    """Half a percent of codes such as -999: cut, they would be a sixth of what they are."""
    x = _columns(50_000, 3)
    x[:, 2] = np.where(np.arange(50_000) < 250, -65.0, x[:, 2])
    for seed in range(4):
        seen, _ = _seen(x, 1.0, seed)
        z = x @ seen.whitening.back
        longer = np.maximum(np.linalg.norm(z, axis=1) - seen.radius, 0.0)
        assert longer.max() < 0.5 * seen.radius
        assert _spread(x, seen)[-1] < 5


def test_what_is_seen_beyond_a_radius_is_about_what_is_there() -> None:
    """Rows are believed whose bins stand 5.5 noise standard deviations above zero.

    The ratio to what is there has a mean of 0.93 and a standard deviation of 0.36: that of twenty is 0.5
    off once in 10^8 times.
    """
    x, ratios = _columns(20_000, 3), []
    x[:400, 2] = 40.0
    for seed in range(20):
        seen = _seen(x, 1.0, seed)[0]
        length = np.linalg.norm(x @ seen.whitening.back, axis=1)
        there = np.maximum(length**2 - 4.0**2, 0.0).mean()
        ratios.append(seen.lengths.seen_beyond(4.0, 20_000) / there)
        assert seen.lengths.seen_beyond(100.0, 20_000) == 0.0
    assert np.mean(ratios) == pytest.approx(1.0, abs=0.5)


def _with_a_rare_cell(n: int, seed: int) -> pd.DataFrame:
    """Of the rows 0.9 % are of the cell that tells what b does where a is p: -0.7."""
    rng = np.random.default_rng(seed)
    a, b = rng.choice(["p", "q"], n, p=[0.08, 0.92]), np.where(rng.random(n) < 0.11, "s", "r")
    x, z, w, e = rng.normal(size=(4, n))
    y = 1 + 0.5 * x - 0.7 * (b == "s") + 0.3 * (a == "q") + 0.2 * z + 0.6 * e
    return pd.DataFrame({"y": y, "x": x, "z": z, "w": w, "a": a, "b": b})


def test_what_only_cut_rows_tell_has_no_error() -> None:
    """Stretched until its rows are all cut, a cell had effects of -0.4 to -7, up to five errors off."""
    off, surely = [], 0
    for seed in range(10):
        rows, public = _with_a_rare_cell(20_000, seed), _with_a_rare_cell(200, 1000 + seed)
        public = public[~((public.a == "p") & (public.b == "s"))]
        fit = dp_lm("y ~ x + z + w + a * b", rows, public=public, mu=0.3, seed=seed)
        off.append(fit.coef()["b[T.s]"] + 0.7)
        surely += abs(off[-1]) > 3.29 * fit.se()["b[T.s]"]
    assert surely == 0
    assert np.median(np.abs(off)) < 0.7
