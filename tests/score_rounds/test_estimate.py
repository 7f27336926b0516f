"""Steps, covariances and post-processing agree with direct computations."""

import math
from dataclasses import replace

import numpy as np
import pytest

from dpstats.arrays import Floats
from dpstats.models.linear.planning import plan_linear
from dpstats.numerics.matrices import (
    Curvature,
    equilibrated_whitening,
    floored,
    shrink_second_moment,
    symmetric_whitening,
    with_inverse,
)
from dpstats.report.result import Coefficients
from dpstats.report.wald import WaldTest, wald_lines
from dpstats.score_rounds.cuts import (
    choose_clip,
    choose_square_clip,
    cut_for_intervals,
    cut_of_moments,
    cut_of_squares,
)
from dpstats.score_rounds.estimate import (
    Estimate,
    Step,
    in_user_units,
    matrix_noise_covariance,
    newton_step,
    pool_steps,
    pool_weighed,
    r_squared,
    r_squared_range,
    residual_variance,
    share_left,
)
from dpstats.score_rounds.path import penalised_path
from dpstats.score_rounds.submodel import restrict
from dpstats.score_rounds.tails import Tail

_RNG = np.random.default_rng(0)
_X = _RNG.normal(size=(400, 4)) @ _RNG.normal(size=(4, 4)) * [1, 10, 1e3, 1e-3]
_S = _X.T @ _X / 400


@pytest.mark.parametrize("make", [equilibrated_whitening, symmetric_whitening])
def test_whitening_makes_the_public_moment_the_identity(make) -> None:  # type: ignore[no-untyped-def]
    w = make(_S)
    assert w.back.T @ _S @ w.back == pytest.approx(np.eye(4), abs=1e-8)
    assert w.root.T @ w.root == pytest.approx(_S, rel=1e-8)
    assert w.root @ w.back == pytest.approx(np.eye(4), abs=1e-8)


def test_the_papers_whitening_is_the_symmetric_root() -> None:
    w = symmetric_whitening(_S)
    assert w.back == pytest.approx(w.back.T)
    assert np.linalg.eigvalsh(w.back).min() > 0


def test_a_newton_step_from_anywhere_is_the_ridge_solution() -> None:
    w = equilibrated_whitening(_S)
    z, y = _X @ w.back, _RNG.normal(size=400)
    penalty = 0.1 * w.back.T @ w.back
    expected = np.linalg.solve(z.T @ z / 400 + penalty, z.T @ y / 400)
    curvature = Curvature(z.T @ z / 400, 1e-9, z.T @ z / 400, 1e-9, 1.0)
    for anchor in (np.zeros(4), _RNG.normal(size=4)):
        score = z.T @ (y - z @ anchor) / 400
        step = newton_step(curvature, penalty, anchor, score, 0.1, 1.0)
        assert step.anchor + step.move == pytest.approx(expected)


def test_pooling_weighs_by_inverse_variance() -> None:
    curvature = Curvature(np.eye(2), 1e-9, np.eye(2), 1e-9, 1.0)
    steps = [
        newton_step(curvature, np.zeros((2, 2)), np.zeros(2), np.full(2, v), sd, 1.0)
        for v, sd in ((1e-6, 1.0), (2e-6, 2.0))
    ]
    pooled = pool_steps(steps)
    assert pooled.coef == pytest.approx(np.full(2, (4 * 1e-6 + 2e-6) / 5), rel=1e-6)
    assert pooled.noise_sd == pytest.approx(np.sqrt((0.8 * 1) ** 2 + (0.2 * 2) ** 2), rel=1e-6)


def test_what_earlier_rounds_cut_is_counted_with_their_weights() -> None:
    """A first round that cut more than the last one: its estimate has three quarters of the weight."""
    curvature = Curvature(np.eye(2), 1e-9, np.eye(2), 1e-9, 1.0)
    steps = [
        replace(
            newton_step(curvature, np.zeros((2, 2)), np.zeros(2), np.full(2, 1e-6), sd, 1.0),
            excess=excess,
            most=3 * excess,
        )
        for sd, excess in ((1.0, 0.8), (np.sqrt(3), 0.2))
    ]
    pooled = pool_steps(steps)
    assert pooled.excess == pytest.approx(0.75 * 0.8 + 0.25 * 0.2)
    assert pooled.most == pytest.approx(3 * pooled.excess)


def test_what_a_cut_leaves_of_the_way_is_told_by_the_next_step() -> None:
    """A score that follows moves to three quarters: a quarter of the first step is left, and found."""
    rng, d, truth = np.random.default_rng(3), 3, np.array([1.0, -2.0, 0.5])
    curvature = Curvature(np.eye(d), 1e-9, np.eye(d), 1e-9, 1.0)
    penalty, sd, off = np.zeros((d, d)), 1e-3, []
    for followed in (0.75, 1.0):
        anchor, steps = np.zeros(d), []
        for _ in range(2):
            score = followed * (truth - anchor) + sd * rng.normal(size=d)
            steps.append(newton_step(curvature, penalty, anchor, score, sd, 1.0))
            anchor = steps[-1].anchor + steps[-1].move
        pooled = pool_steps(steps)
        off.append((np.linalg.norm(pooled.coef - truth), np.linalg.norm(pooled.left)))
    (short, told), (_, nothing) = off
    assert short <= 1.05 * told
    assert told < 3 * short
    assert nothing < 10 * sd


def test_a_long_step_counts_less_along_its_way_than_across_it() -> None:
    """The first step may be off by a tenth of 50; across it noise is all that the two differ by."""
    curvature, zero = Curvature(np.eye(3), 1e-9, np.eye(3), 1e-9, 1.0), np.zeros((3, 3))
    first = newton_step(curvature, zero, np.zeros(3), np.array([50.0, 1.0, 0.0]), 1.0, 1.0)
    first = replace(first, off=0.1, variance=1.0)
    last = newton_step(curvature, zero, first.move, np.array([-5.0, -1.0, 0.0]), 1.0, 1.0)
    last = replace(last, variance=1.0)
    pooled = pool_steps([first, last])
    # variances of 1 and of 1 + 25 along the way, of 1 and 1 across it
    assert pooled.coef == pytest.approx([45 + 5 / 27, 0.5, 0.0], abs=0.1)
    assert pooled.noise_sd == pytest.approx(math.sqrt(0.5))
    beside, _ = pooled.left
    assert beside @ beside == pytest.approx((26**2 + 1) / 27**2 - 0.5, rel=0.01)
    assert abs(beside[0]) > 0.99 * np.linalg.norm(beside)


def test_what_is_left_of_the_way_lies_where_the_last_step_went() -> None:
    """Along one direction steps overshoot; errors of the others do not grow for it."""
    curvature, zero = Curvature(np.eye(3), 1e-9, np.eye(3), 1e-9, 1.0), np.zeros((3, 3))
    moves = np.array([4.0, 0.0, 0.0]), np.array([-3.0, 0.0, 0.0])
    steps = [newton_step(curvature, zero, np.zeros(3), move, 1e-3, 1.0) for move in moves]
    (left,) = pool_steps(steps).left
    assert abs(left[0]) > 2
    assert left[1:] == pytest.approx([0.0, 0.0])


def test_one_step_that_noise_made_long_is_not_taken_for_what_a_cut_left() -> None:
    """What a cut leaves of the way shows in every pair of steps."""
    curvature, zero = Curvature(np.eye(2), 1e-9, np.eye(2), 1e-9, 1.0), np.zeros((2, 2))

    def steps(*lengths: float) -> list[Step]:
        made = [(np.array([length, 0.0]), zero[0]) for length in lengths]
        return [newton_step(curvature, zero, at, score, 1e-3, 1.0) for score, at in made]

    assert share_left(steps(8.0, 1.0, 0.9)) == pytest.approx(1 / 7, rel=1e-2)
    assert share_left(steps(8.0, 2.0, 0.5)) == pytest.approx(1 / 3, rel=1e-2)
    assert share_left(steps(1.0, 0.9)) == 1.0
    assert share_left(steps(8.0, 1.0, 1.1)) == 1.0, "far rows count in the last step only"
    assert share_left(steps(1.0)) == 0.0


def test_a_step_that_far_rows_alone_ask_for_counts_as_a_bias() -> None:
    """A bias that is much longer than noise lengthens an interval by half of what an error would."""
    curvature, zero = Curvature(np.eye(2), 1e-9, np.eye(2), 1e-9, 1.0), np.zeros((2, 2))
    first = newton_step(curvature, zero, np.zeros(2), np.zeros(2), 0.01, 1.0)
    last = newton_step(curvature, zero, np.zeros(2), np.array([3.0, 4.0]), 0.01, 1.0)
    pooled = pool_weighed([first, last], np.eye(2), 0.3, apart=True)
    assert pooled.coef == pytest.approx([3.0, 4.0])
    assert pooled.far == pytest.approx([3 * 0.516, 4 * 0.516], rel=0.02)
    assert not pooled.left
    quiet = pool_weighed([first, replace(last, move=np.full(2, 0.009))], np.eye(2), 0.3, apart=True)
    assert quiet.far == pytest.approx([0.0, 0.0])
    weighed = pool_weighed([first, last], np.eye(2), 0.3)
    assert weighed.far is None
    assert weighed.left[0] == pytest.approx([0.9, 1.2], rel=0.01)


def test_a_step_that_ends_elsewhere_is_not_averaged_in() -> None:
    """A quiet round that cut the rows of a rare level was, and weighed more than the last two."""
    curvature, zero = Curvature(np.eye(2), 1e-9, np.eye(2), 1e-9, 1.0), np.zeros((2, 2))
    early = newton_step(curvature, zero, np.zeros(2), np.array([0.0, 1.0]), 0.001, 1.0)
    loud = newton_step(curvature, zero, np.array([0.0, 1.0]), np.array([0.0, 4.0]), 0.2, 1.0)
    last = newton_step(curvature, zero, np.array([0.0, 5.0]), np.array([0.0, 0.1]), 0.05, 1.0)
    pooled = pool_weighed([early, loud, last], np.eye(2), 0.0)
    assert pooled.coef[1] == pytest.approx(5.1, abs=0.03)


def test_one_step_tells_nothing_of_what_is_left() -> None:
    curvature = Curvature(np.eye(2), 1e-9, np.eye(2), 1e-9, 1.0)
    step = newton_step(curvature, np.zeros((2, 2)), np.zeros(2), np.ones(2), 0.1, 1.0)
    assert pool_steps([step]).left == ()


@pytest.mark.parametrize("isometric", [True, False])
def test_covariance_of_matrix_noise_times_a_vector(isometric: bool) -> None:
    # 2e5 draws: six standard errors of each entry
    rng, d, draws = np.random.default_rng(1), 3, 200_000
    vector = np.array([1.0, -2.0, 0.5])
    upper = np.triu(rng.normal(size=(draws, d, d)), 1) / (np.sqrt(2) if isometric else 1)
    noise = upper + upper.transpose(0, 2, 1)
    noise[:, range(d), range(d)] = rng.normal(size=(draws, d))
    found = np.cov((noise @ vector).T)
    expected = matrix_noise_covariance(vector, 1.0, isometric)
    assert found == pytest.approx(expected, abs=6 * 2 * expected.max() / np.sqrt(draws))


def test_shrinkage_keeps_a_clear_matrix_and_drops_a_noisy_one() -> None:
    rng = np.random.default_rng(2)
    noise = rng.normal(size=(5, 5))
    noise = (noise + noise.T) / 2
    clear = np.diag([3.0, 1.0, 1.0, 0.5, 2.0])
    assert shrink_second_moment(clear + 1e-4 * noise, 1e-4).used == pytest.approx(clear, abs=1e-3)
    lost = shrink_second_moment(np.eye(5) + 5.0 * noise, 5.0)
    assert np.linalg.eigvalsh(lost.used).min() > 0
    assert lost.used_sd < 5.0
    assert not lost.positive_definite


def test_floored_matrices_have_no_smaller_eigenvalue() -> None:
    found = floored(np.array([[1.0, 2.0], [2.0, 1.0]]), 0.25)
    assert np.linalg.eigvalsh(found) == pytest.approx([0.25, 3.0])


def _estimate() -> tuple[Estimate, np.ndarray, np.ndarray]:
    x = np.column_stack([np.ones(400), _RNG.normal(size=(400, 3))])
    y = x @ [1.0, 2.0, 0.0, -1.0] + _RNG.normal(size=400)
    w = equilibrated_whitening(x.T @ x / 400)
    z = x @ w.back
    moments = z.T @ z / 400
    coef = np.linalg.solve(moments, z.T @ y / 400)
    sigma2 = float(((y - z @ coef) ** 2).sum() / 396)
    return in_user_units(coef, moments, moments, 0 * moments, sigma2, 1.0, w, 0.0, 400, 0.0), x, y


@pytest.mark.parametrize("size", [1e-200, 1.0, 1e200])
def test_a_step_can_be_made_where_a_penalty_is_all_that_floats_hold(size: float) -> None:
    """Curvature and penalty add up to a singular matrix, whatever the rows are."""
    curvature = Curvature(np.zeros((2, 2)), 1e-9, np.zeros((2, 2)), 1e-9, 1.0)
    with np.errstate(all="ignore"):  # as in a fit
        step = newton_step(curvature, size * np.ones((2, 2)), np.zeros(2), np.zeros(2), 0.1, 1.0)
    assert np.isfinite(step.move).all()
    assert with_inverse(size * np.ones((2, 2)))[1].shape == (2, 2)


def test_sub_models_are_the_least_squares_fits_of_the_sub_models() -> None:
    estimate, x, y = _estimate()
    kept = [0, 1, 3]
    found = restrict(estimate, kept)
    expected, rest, *_ = np.linalg.lstsq(x[:, kept], y)
    assert found.coef == pytest.approx(expected)
    assert found.dispersion == pytest.approx(float(rest[0]) / 397)
    assert found.sampling == pytest.approx(
        float(rest[0]) / 397 * np.linalg.inv(x[:, kept].T @ x[:, kept]), rel=1e-2
    )
    assert found.root.T @ found.root == pytest.approx(
        (estimate.root.T @ estimate.root)[np.ix_(kept, kept)]
    )


def test_a_range_of_r_squared_knows_the_noise_of_coefficients_and_moments() -> None:
    """Of 2000 draws 95 in 100 hold at least; fewer than 1800 at a chance below 1e-20."""
    rng = np.random.default_rng(1)
    n, root = 2000, np.array([[1.0, 0.3, 0.0], [0.0, 1.0, 0.5], [0.0, 0.0, 2.0]])
    moments, b = root.T @ root, np.array([2.0, 0.2, -0.05])
    noise, sd = 0.02**2 * np.linalg.inv(moments), 0.05

    def fit(moments: Floats, coef: Floats) -> Estimate:
        return Estimate(
            coef, noise, noise, 1.0, moments, root, sd, n, 0.0, dispersion_range=(0.98, 1.02)
        )

    truth = r_squared(fit(moments, b), 0)
    assert truth is not None
    held = alone = 0
    for _ in range(2000):
        e = np.triu(rng.normal(size=(3, 3)) * sd / math.sqrt(2), 1)
        e = e + e.T + np.diag(rng.normal(size=3) * sd)
        drawn = fit(moments + root.T @ e @ root, rng.multivariate_normal(b, noise))
        low, high = r_squared_range(drawn, 0)  # type: ignore[misc]
        held += low <= truth[0] <= high
        low, high = r_squared_range(replace(drawn, privacy=0 * noise, moments_sd=0.0), 0)  # type: ignore[misc]
        alone += low <= truth[0] <= high
    assert held > 1800 > 1000 > alone
    unknown = replace(fit(moments, b), privacy=np.full((3, 3), np.nan))
    assert r_squared_range(unknown, 0) is None


def test_r_squared_is_rs_with_and_without_intercept() -> None:
    estimate, x, y = _estimate()
    rest = float(((y - x @ estimate.coef) ** 2).sum())
    plain, adjusted = r_squared(estimate, 0)  # type: ignore[misc]
    assert plain == pytest.approx(1 - rest / ((y - y.mean()) ** 2).sum())
    assert adjusted == pytest.approx(1 - (1 - plain) * 399 / 396)
    assert r_squared(estimate, None)[0] == pytest.approx(1 - rest / (y**2).sum())  # type: ignore[index]


def test_wald_of_one_coefficient_is_z_squared() -> None:
    estimate, _, _ = _estimate()
    z = estimate.coef[2] / np.sqrt(estimate.vcov[2, 2])
    c = Coefficients((), estimate.coef, estimate.sampling, estimate.privacy)
    assert WaldTest.that_are_zero(c, [2]).chi2 == pytest.approx(z**2)


def test_a_wald_test_of_what_is_no_number_is_none() -> None:
    """Of columns of 1e-100 the covariance is singular to the computer."""
    tiny = np.diag([1e-320, 0.0])
    test = WaldTest.that_is_zero(np.zeros(2), tiny, tiny, np.inf)
    assert np.isnan(test.chi2)
    assert "p = NA" in wald_lines(test)[0]


def test_a_ridge_path_solves_the_ridge_equations() -> None:
    estimate, x, y = _estimate()
    size = np.append(1.0, x[:, 1:].std(axis=0))
    scaled = x / size
    for strength, coef in zip(*penalised_path(estimate, 0, "ridge", [0.5, 0.01], 0.5), strict=True):
        penalty = strength * np.diag([0.0, 1, 1, 1])
        expected = np.linalg.solve(scaled.T @ scaled / 400 + penalty, scaled.T @ y / 400) / size
        assert coef == pytest.approx(expected, abs=1e-8)


def test_a_lasso_path_meets_the_optimality_conditions() -> None:
    estimate, x, y = _estimate()
    size = np.append(1.0, x[:, 1:].std(axis=0))
    grid, path = penalised_path(estimate, 0, "lasso", None, 0.5)
    for strength, coef in zip(grid, path, strict=True):
        gradient = (x / size).T @ (y - x @ coef) / 400
        assert abs(gradient[0]) < 1e-7
        assert (np.abs(gradient[1:]) <= strength + 1e-7).all()
        active = coef[1:] != 0
        assert gradient[1:][active] == pytest.approx(strength * np.sign(coef[1:][active]), abs=1e-7)


def test_a_path_does_not_know_where_a_column_has_its_zero() -> None:
    estimate, *_ = _estimate()
    shift = np.eye(4)
    shift[0, 2] = 1000.0  # the third column is a thousand larger everywhere
    back = np.linalg.inv(shift)
    moved = replace(estimate, moments=shift.T @ estimate.moments @ shift, coef=back @ estimate.coef)
    for penalty in ("lasso", "ridge"):
        (grid, path), (other, far) = (
            penalised_path(one, 0, penalty, None, 0.5) for one in (estimate, moved)
        )
        assert other == pytest.approx(grid)
        assert far[:, 1:] == pytest.approx(path[:, 1:], abs=1e-6)


def test_correlated_columns_reach_the_end_of_a_path() -> None:
    """Coordinates by themselves would take ten thousand sweeps to it."""
    estimate, *_ = _estimate()
    mixed = np.eye(4)
    mixed[1, 2:] = 0.9999
    moments = mixed.T @ estimate.moments @ mixed
    alike = replace(estimate, moments=moments, coef=np.linalg.solve(mixed, estimate.coef))
    for alpha in (0.3, 1.0):
        _, path = penalised_path(alike, 0, "elasticnet", [1e-9], alpha)
        assert path[0] == pytest.approx(alike.coef, rel=1e-4)


def test_residual_variance_takes_off_the_move_and_counts_filled_rows() -> None:
    move = np.array([0.3, -0.1])
    found = residual_variance(2.1, 1.0, np.eye(2), move, 0 * np.eye(2), 100, 0.0)
    assert found == pytest.approx(2.0 * 100 / 98)
    half = residual_variance(1.0, 0.5, np.eye(2), 0 * move, 0 * np.eye(2), 100, 0.0)
    assert half == pytest.approx(1.0 * 100 / 48)
    assert residual_variance(-1.0, 1.0, np.eye(2), 0 * move, 0 * np.eye(2), 100, 0.2) == 0.2


def test_choices_loosen_as_noise_falls() -> None:
    clips = [
        choose_clip(1.0, lambda t: 0 * t, 10_000, 5, mu).multiple for mu in (0.1, 1.0, 10.0, 1e5)
    ]
    assert clips == sorted(clips)
    tail = Tail(np.geomspace(0.6, 4000, 400), 0.1 * np.geomspace(0.6, 4000, 400) ** -4)
    totals = (0.1, 1.0, 10.0, 1e5)
    radii = [cut_of_moments(tail, 10_000, 5, mu) for mu in totals]
    lengths = [cut_for_intervals(tail, 10_000, 5, mu, 0.4).length for mu in totals]
    squares = [cut_of_squares(tail, 10_000, 5, mu) for mu in totals]
    for each in (radii, lengths, squares):
        assert each == sorted(each)
    assert lengths[-1] > 20
    short = choose_clip(1.0, lambda t: 0 * t, 1000, 5, 0.1)
    assert choose_square_clip(short, 1000, 0.1) == 4.0 * short.unit
    long = choose_clip(1.0, lambda t: 100 * (t < 8), 1000, 5, 1.0)
    assert long.multiple > choose_clip(1.0, lambda t: 0 * t, 1000, 5, 1.0).multiple
    ratios = [plan_linear(10_000, 5, mu, 100, True).predicted_ratio for mu in (0.1, 1.0, 10.0)]
    assert ratios == sorted(ratios, reverse=True)
    assert 1.0 < ratios[-1] < 1.05


def test_second_moments_cost_more_where_they_tell_a_first_stage() -> None:
    shares = [
        [
            plan_linear(n, 8, mu, 300, True, instruments=told).stages[0][1]
            for n, mu in ((10_000, 0.5), (10**5, 1.0), (10**7, 3.0))
        ]
        for told in (False, True)
    ]
    assert shares[0] == [0.05] * 3  # beside sampling their noise is nothing in a step
    assert shares[1] == [0.3, 0.2, 0.05]
