"""Steps, starts and plans of generalised linear models on numbers without noise."""

import math
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

from dpstats import public_moments
from dpstats.arrays import Floats
from dpstats.models.glm.estimate import (
    Expected,
    GlmStep,
    ReleasedInformation,
    StepRange,
    expected_scores,
    half_back,
    information_whitening,
    loss_by_imbalance,
    loss_with_unseen,
    moments_fit,
    near_enough,
    pool_information,
    public_fit,
    trusted_step,
)
from dpstats.models.glm.family import Family, RareOutcome, resolve_family
from dpstats.models.glm.planning import (
    COUNTS,
    INFORMATION,
    RoundShares,
    choose_information_radius,
    coarse_enough,
    plan_glm_rounds,
)
from dpstats.models.glm.typical import few_values, typical_rows, with_levels
from dpstats.numerics.matrices import Curvature, equilibrated_whitening, shrink_second_moment
from dpstats.numerics.public_rows import PublicRows
from dpstats.score_rounds.levels import levels_of
from dpstats.score_rounds.tails import Tail

_RNG = np.random.default_rng(0)
_X = np.column_stack([np.ones(300), _RNG.normal(size=(300, 2))])
_Y = (_RNG.uniform(size=300) < 1 / (1 + np.exp(-_X @ [0.2, 1.0, -0.5]))).astype(float)
_ROWS = PublicRows(_X, _Y, np.zeros(300), np.ones(300))
_LOGIT = resolve_family("binomial")
_MOMENT = _X.T @ _X / 300


def test_the_public_fit_is_the_fit_under_its_prior() -> None:
    whitening = equilibrated_whitening(_MOMENT)
    found = public_fit(_LOGIT, _ROWS, whitening, np.zeros(3))
    score, _, _ = _ROWS.working(_LOGIT, found)
    reach = _ROWS.reach().T @ _ROWS.reach() / 2.5**2
    gradient = whitening.back.T @ (_X.T @ score - reach @ found) - whitening.root @ found
    assert np.abs(gradient).max() < 1e-4
    mle = sm.GLM(_Y, _X, family=sm.families.Binomial()).fit().params
    assert found == pytest.approx(mle, rel=0.1, abs=0.02)


@pytest.mark.parametrize("y", [np.zeros(300), (_X[:, 1] > 0).astype(float)])
def test_the_public_fit_is_finite_where_responses_are_separated(y: np.ndarray) -> None:
    rows = PublicRows(_X, y, np.zeros(300), np.ones(300))
    found = public_fit(_LOGIT, rows, equilibrated_whitening(_MOMENT), np.zeros(3))
    assert np.abs(found).max() < 30


def test_a_step_from_moments_is_the_newton_step_from_the_null_model() -> None:
    mean = _Y.mean()
    null = np.array([np.log(mean / (1 - mean)), 0.0, 0.0])
    slope = mean * (1 - mean)
    found = moments_fit(_MOMENT, _X.T @ _Y / 300, 0, null, slope)
    expected = null + np.linalg.solve(slope * _MOMENT, _X.T @ (_Y - mean) / 300)
    assert found == pytest.approx(expected)
    assert (moments_fit(_MOMENT, _X.T @ _Y, None, null, slope) == null).all()


def test_whitened_information_is_near_the_identity() -> None:
    """A fifth of it is the second moment, as if all rows had the mean curvature."""
    information = _ROWS.information(_LOGIT, np.array([0.2, 1.0, -0.5]))
    whitening = information_whitening(information, _MOMENT, 0 * _MOMENT)
    level = np.trace(np.linalg.solve(_MOMENT, information)) / 3
    mixed = 0.8 * information + 0.2 * level * _MOMENT
    assert whitening.back.T @ mixed @ whitening.back == pytest.approx(np.eye(3), abs=1e-9)


def _exact(matrix: np.ndarray) -> Curvature:
    return shrink_second_moment(matrix, 1e-12)


def test_newton_steps_without_noise_reach_the_maximum_of_the_likelihood() -> None:
    t = np.zeros(3)
    reach = StepRange(_MOMENT, _X, False)
    for _ in range(8):
        score, h, _ = _ROWS.working(_LOGIT, t)
        information = _exact((_X * h[:, None]).T @ _X / 300)
        step = trusted_step(
            information, np.zeros((3, 3)), t, _X.T @ score / 300, 1e-12, 1.0, reach, 0.0
        )
        t = t + step.step.move
    mle = sm.GLM(_Y, _X, family=sm.families.Binomial()).fit(tol=1e-12).params
    assert t == pytest.approx(mle, abs=1e-8)
    assert step.arrived
    assert near_enough(step, reach, 1.0, 300, 0.25, 0.25)


def test_a_step_that_moves_linear_predictors_too_far_is_damped() -> None:
    information = _exact(1e-3 * np.eye(3))
    score = np.array([0.0, 0.1, 0.0])
    step = trusted_step(
        information,
        np.zeros((3, 3)),
        np.zeros(3),
        score,
        1e-6,
        1.0,
        StepRange(_MOMENT, _X, False),
        0.0,
    )
    assert step.damped
    assert np.quantile(np.abs(_X @ step.step.move), 0.998) <= 3.0
    assert not near_enough(step, StepRange(_MOMENT, _X, False), 1e6, 300, 0.25, 0.25)
    linear = trusted_step(
        information,
        np.zeros((3, 3)),
        np.zeros(3),
        score,
        1e-6,
        1.0,
        StepRange(_MOMENT, _X, True),
        0.0,
    )
    assert not linear.damped
    assert linear.step.move == pytest.approx([0.0, 100.0, 0.0])


def test_information_is_pooled_by_noise_and_drift() -> None:
    one, two = np.diag([1.0, 2.0, 3.0]), np.diag([3.0, 2.0, 1.0])
    same = pool_information([ReleasedInformation(one, 1e-9), ReleasedInformation(two, 1e-9)], 1.0)
    assert same.used == pytest.approx(2 * np.eye(3), abs=1e-6)
    assert same.used_sd <= 1e-9
    old = pool_information(
        [ReleasedInformation(one, 1e-9, drift=1.0), ReleasedInformation(two, 1e-9)], 1.0
    )
    assert old.used == pytest.approx(two, abs=1e-6)
    # what was seven times as large on the way has drifted by seven times as much
    way, end = ReleasedInformation(7 * two, 0.01, drift=0.5), ReleasedInformation(two, 1.0)
    assert np.trace(pool_information([way, end], 1.0).used) < 1.6 * np.trace(two)
    # and what was next to nothing by a share of what there is
    way = ReleasedInformation(0.01 * two, 0.01, drift=0.5)
    assert np.trace(pool_information([way, end], 1.0).used) > 0.4 * np.trace(two)


def test_the_expected_loss_is_that_of_simulated_responses() -> None:
    coef = np.array([-2.0, 1.0, 0.5])
    whitening = equilibrated_whitening(_MOMENT)
    expected = expected_scores(_LOGIT, _ROWS, whitening, coef)
    assert expected is not None
    loss = expected.loss()
    mean = 1 / (1 + np.exp(-_X @ coef))
    z = _X @ whitening.back
    for length in (0.5, 1.0, 2.0):
        total = np.zeros(3)
        for y, chance in ((0.0, 1 - mean), (1.0, mean)):
            score = z * (y - mean)[:, None]
            size = np.linalg.norm(score, axis=1)
            total += (score * (np.maximum(1 - length / size, 0) * chance)[:, None]).mean(axis=0)
        assert expected.lost(length) == pytest.approx(total)
        size = float(np.linalg.norm(total))
        assert float(loss(np.array(length))) == pytest.approx(size, rel=0.1, abs=2e-3)
    assert float(loss(np.array(1e6))) == 0.0


def test_long_scores_have_their_share_of_the_information() -> None:
    expected = Expected(np.array([[1.0, 0.0], [0.0, 4.0]]), np.array([0.9, 0.1]))
    assert expected.information_beyond(2.0) == pytest.approx(0.1 * 4 * 2 / (0.9 + 0.1 * 16))
    assert expected.information_beyond(1e-9) == pytest.approx(0.0, abs=1e-8)
    turned = expected.turned(np.diag([1.0, 0.5]))
    assert turned.lost(1.0) == pytest.approx([0.0, 0.1])
    assert expected.lost(1.0) == pytest.approx([0.0, 0.3])


@pytest.mark.parametrize("used", [1.0, 0.4])
def test_typical_rows_are_like_those_that_are_there(used: float) -> None:
    x = np.column_stack([np.ones(4000), np.random.default_rng(2).normal(3.0, 2.0, (4000, 2))])
    there = np.arange(4000) < used * 4000
    whitening = equilibrated_whitening(x.T @ x / 4000)
    z = (x * there[:, None]) @ whitening.back
    typical = typical_rows(z.T @ z / 4000, whitening, 0, 300)
    assert typical.used == pytest.approx(used)
    rows, x = typical.rows, x[there]
    assert (rows.x[:, 0] == 1).all()
    assert rows.x.mean(axis=0) == pytest.approx(x.mean(axis=0))
    assert rows.x.std(axis=0) == pytest.approx(x.std(axis=0), rel=0.01)


def test_typical_rows_have_levels_and_what_goes_with_them() -> None:
    rng = np.random.default_rng(5)
    table = pd.DataFrame({"g": rng.choice(["a", "b", "c"], 20_000, p=[0.6, 0.385, 0.015])})
    table["h"] = np.where(rng.random(20_000) < np.where(table.g == "b", 0.8, 0.2), "y", "n")
    table["x"] = rng.normal(size=20_000) + 2 * (table.g == "c") + (table.h == "y")
    moments = public_moments("~ g * x + h", table)
    whitening = equilibrated_whitening(moments.gram)
    plain = typical_rows(np.eye(len(moments.terms)), whitening, 0, 2000).rows.x
    groups = levels_of(moments.design)
    assert [[moments.terms[j] for j in group.columns] for group in groups] == [
        ["g[T.b]", "g[T.c]"],
        ["h[T.y]"],
    ]
    found = pd.DataFrame(with_levels(plain, moments.design, groups), columns=moments.terms)
    assert set(found["g[T.c]"]) == set(found["h[T.y]"]) == {0.0, 1.0}
    assert found["g[T.c]"].mean() == pytest.approx(0.015, abs=0.003)
    assert found["h[T.y]"][found["g[T.b]"] == 1].mean() == pytest.approx(0.8, abs=0.05)
    assert found.x[found["g[T.c]"] == 1].mean() == pytest.approx(2.2, abs=0.4)
    assert (found["g[T.b]:x"] == found["g[T.b]"] * found.x).all()


def test_values_that_few_rows_have_lie_on_the_side_that_their_mean_tells() -> None:
    """They have the mean square of those of the rows."""
    rng = np.random.default_rng(0)
    some = np.where(np.arange(1000) < 40, rng.choice([2.0, 3.0], 1000), 0.0)
    size = math.sqrt((some**2).sum() / 40)
    for away, values in (
        (some, [0.0, size]),
        (-some, [0.0, -size]),
        (some * np.where(np.arange(1000) % 2, 1, -1), [0.0, -size, size]),
    ):
        found = few_values(3, (7.0, 0.04), 7 + away)
        assert found.columns == [3]
        assert found.codes[:, 0] == pytest.approx(7 + np.array(values))


def test_a_step_that_turns_back_goes_half_of_the_way() -> None:
    """And the others to where the quadratic is best beside it; but not where noise explains it."""
    hessian = np.array([[1.0, 0.2, 0.0], [0.2, 0.5, 0.1], [0.0, 0.1, 0.3]])
    curvature = Curvature(hessian, 0.0, hessian, 0.0, 0.2)
    reach, back = (
        StepRange(np.eye(3), None, False),
        np.array([[1.0, 0, 0], [0, 1, 0.02], [0, 0, 2]]),
    )
    wanted = np.array([0.1, 4.0, -9.0])

    def step(move: Floats, noise: float) -> GlmStep:
        return trusted_step(
            curvature, 0 * hessian, np.zeros(3), hessian @ move, noise, 1.0, reach, 0.0
        )

    now, before = step(wanted, 1e-3), step(np.array([0.5, 0.1, 2.0]), 1e-3)
    found = half_back(now, before.step, hessian, back)
    move = found.step.move
    assert found.damped
    assert (back @ move)[2] == pytest.approx(-(back @ before.step.move)[2] / 2)
    asked = hessian @ (now.step.move - move)  # the gradient that is left
    assert np.linalg.solve(back.T, asked)[:2] == pytest.approx(0, abs=1e-12)
    noisy = step(wanted, 10.0)
    assert half_back(noisy, before.step, hessian, back) is noisy


def test_large_counts_have_quantiles_too() -> None:
    for family in (Family("poisson", "log"), Family("negative binomial", "log", 0.5)):
        many = family.outcomes(np.log([2e4, 1e13]))
        assert many is not None
        total = sum(y * p for y, p in many)
        assert total == pytest.approx([2e4, 1e13], rel=0.02)
    coef = np.array([800.0, 0.0, 0.0])
    assert expected_scores(_LOGIT, _ROWS, equilibrated_whitening(_MOMENT), np.nan * coef) is None


@pytest.mark.parametrize(
    ("family", "variance"),
    [
        (_LOGIT, lambda mean: mean * (1 - mean)),
        (Family("poisson", "log"), lambda mean: mean),
        (Family("negative binomial", "log", 0.5), lambda mean: mean + 0.5 * mean**2),
    ],
    ids=["ones", "counts", "dispersed counts"],
)
def test_averages_over_trials_have_their_mean_and_variance(
    family: Family, variance: Callable[[Floats], Floats]
) -> None:
    trials, mean = np.array([1.0, 7.0, 400.0]), np.array([0.3, 0.3, 0.02])
    averages = family.outcomes(np.array([family.predictor(m) for m in mean]), trials)
    assert averages is not None
    assert sum(y * p for y, p in averages) == pytest.approx(mean, rel=0.1)
    spread = sum((y - mean) ** 2 * p for y, p in averages)
    assert spread == pytest.approx(variance(mean) / trials, rel=0.2)


def test_public_responses_tell_whether_they_are_averages() -> None:
    x, nothing = np.ones((2, 1)), np.zeros(2)
    weight = np.array([4.0, 9.0])
    assert not PublicRows(x, np.array([0.0, 1.0]), nothing, weight).averages()
    assert not PublicRows(x, np.array([0.3, 1.0]), nothing, np.ones(2)).averages()
    rows = PublicRows(x, np.array([0.5, 1.0]), nothing, weight)
    assert rows.averages()
    found = expected_scores(_LOGIT, rows, equilibrated_whitening(np.eye(1)), np.zeros(1), weight)
    assert found is not None
    assert found.share @ found.scores[:, 0] ** 2 == pytest.approx(weight.mean() / 4, rel=0.2)


def test_a_cut_loses_the_rare_outcomes_that_noise_may_hide() -> None:
    length = np.array([0.5, 1.0, 2.0, 4.0])
    bare = StepRange(np.eye(4), None, False)  # rows of length 2 or so, without public ones
    rows = StepRange(np.eye(1), np.array([[1.0], [-3.0]]), False)
    lost = loss_with_unseen(None, bare, 0.01, RareOutcome.of_row(0.0))(length)
    far = np.linalg.norm(np.random.default_rng(1).normal(size=(100_000, 4)), axis=1)
    assert lost == pytest.approx(
        [0.04 * np.maximum(far - c, 0).mean() for c in length], rel=0.05, abs=1e-4
    )
    assert loss_with_unseen(None, rows, 0.01, RareOutcome.of_row(0.0))(length) == pytest.approx(
        [0.06, 0.04, 0.02, 0.0]
    )
    more = loss_with_unseen(lambda c: 0.05 + 0 * c, bare, 0.01, RareOutcome.of_row(0.0))(length)
    assert more == pytest.approx(np.maximum(lost, 0.05))


def test_a_cut_loses_rare_outcomes_as_often_as_the_fit_expects_them() -> None:
    """One in ten: 0.1 x 0.8 of the rows, with scores of 0.9 of a row's length; of even ones, none."""
    length = np.array([0.5, 1.0, 2.0, 4.0])
    rows = StepRange(np.eye(1), np.array([[1.0], [-3.0]]), False)
    asked = [0.08 * np.maximum(np.array([0.9, 2.7]) - c, 0).mean() for c in length]
    assert loss_with_unseen(None, rows, 1e-6, RareOutcome.of_row(0.1))(length) == pytest.approx(
        asked
    )
    assert loss_with_unseen(None, rows, 0.0, RareOutcome.of_row(0.5))(length) == pytest.approx(
        np.zeros(4)
    )


def test_ones_and_zeros_of_long_rows_are_cut_unlike_each_other() -> None:
    """In root mean square over all probabilities, by trying them all, for rows of one length."""
    p, long = np.linspace(0, 1, 20_001), 5.8
    tail = Tail(np.array([long - 1e-9, long + 1e-9]), np.array([0.03, 0.0]))
    for cut in np.array([0.3, 0.4, 0.5, 0.7, 0.95, 1.1]) * long:
        ones = p * np.maximum((1 - p) * long - cut, 0)
        zeros = (1 - p) * np.maximum(p * long - cut, 0)
        usual = 0.03 * math.sqrt(float(np.mean((ones - zeros) ** 2)))
        assert loss_by_imbalance(tail)(np.array([cut]))[0] == pytest.approx(usual, abs=1e-6)


def _rarer(family: Family, mean: float) -> RareOutcome:
    found = family.rarer(family.information(family.predictor(mean)), mean)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("name", "link"),
    [("binomial", "logit"), ("binomial", "probit"), ("binomial", "cloglog"), ("poisson", "log")],
)
def test_the_rarer_outcome_is_told_by_the_information_of_a_row(name: str, link: str) -> None:
    family = Family(name, link)
    for mean in (0.01, 0.2):
        rare, eta = _rarer(family, mean), np.array([family.predictor(mean)])
        assert rare.share == pytest.approx(mean, rel=1e-3)
        score = 1 - mean if family.counts else family.working(eta, np.ones(1))[0][0]
        assert rare.score == pytest.approx(score, rel=1e-3)
    if family.binary:
        eta = np.array([family.predictor(0.97)])
        assert _rarer(family, 0.97).share == pytest.approx(0.03, rel=1e-2)
        zero = abs(family.working(eta, np.zeros(1))[0][0])
        assert _rarer(family, 0.97).score == pytest.approx(zero, rel=1e-2)


def test_counts_that_are_not_rare_balance_and_other_families_have_none() -> None:
    counts = resolve_family(sm.families.NegativeBinomial(alpha=2.0))
    assert _rarer(counts, 0.2).share == pytest.approx(0.2)
    assert _rarer(counts, 30.0).share == 0.5
    assert resolve_family("gamma").rarer(0.1, 1.0) is None


def test_nothing_is_expected_of_continuous_families() -> None:
    whitening = equilibrated_whitening(_MOMENT)
    assert expected_scores(resolve_family("gamma"), _ROWS, whitening, np.zeros(3)) is None


def test_plans_spend_no_more_than_there_is() -> None:
    for iterations in (None, 1, 2, 3, 10, 50):
        for start in (0.0, 0.03, 0.18):
            plan = plan_glm_rounds(iterations, start, True)
            rounds = plan.most_rounds if iterations else 1
            early = (rounds - 1) * max(plan.far.total, plan.near.total) + start
            assert early + plan.near.lengths < 0.75
            assert INFORMATION + plan.squares + COUNTS < 0.2


def test_rounds_are_coarse_only_where_they_see_something() -> None:
    shares = RoundShares(0.02, 0.02, 0.03)
    assert coarse_enough(100_000, 5, 1.0, shares)
    assert not coarse_enough(500, 5, 1.0, shares)


def test_rows_of_information_are_cut_where_noise_and_loss_balance() -> None:
    def above(threshold: np.ndarray) -> np.ndarray:
        return 1000 * np.minimum(1, (2 / threshold) ** 3)

    radius = [choose_information_radius(2.0, above, 1000, 4, mu) for mu in (0.1, 1.0, 10.0)]
    assert radius == sorted(radius)
    assert radius[0] < radius[2]


def test_the_prior_is_the_same_for_a_square_about_any_place() -> None:
    """What one column takes back of what another adds is no effect."""
    rng = np.random.default_rng(2)
    age = rng.uniform(20, 80, 200)
    y = (rng.random(200) < 1 / (1 + np.exp(5 - 0.1 * age))) * 1.0
    fits = []
    for square in (age**2, (age - 50) ** 2, 1e4 * (age - 20) ** 2):
        x = np.column_stack([np.ones(200), age, square])
        rows = PublicRows(x, y, np.zeros(200), np.ones(200))
        whitening = equilibrated_whitening(x.T @ x / 200)
        wide = rows.reach() @ whitening.back
        assert np.linalg.eigvalsh(wide.T @ wide).min() > -1e-9
        fits.append(x @ public_fit(_LOGIT, rows, whitening, np.zeros(3)))
    assert fits[1] == pytest.approx(fits[0], abs=0.02)
    assert fits[2] == pytest.approx(fits[0], abs=0.02)


def test_a_column_that_follows_from_others_reaches_nowhere() -> None:
    x = np.column_stack([np.ones(50), np.arange(50.0), 2 * np.arange(50.0) + 1])
    reach = PublicRows(x, np.zeros(50), np.zeros(50), np.ones(50)).reach()
    assert np.isfinite(reach).all()
    assert reach[2] == pytest.approx(np.zeros(3))
