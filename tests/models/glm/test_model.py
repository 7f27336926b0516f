"""What a model of the rows says of information, and of where steps land."""

import numpy as np
import pytest

from dpstats.models.glm.estimate import ReleasedInformation
from dpstats.models.glm.family import resolve_family
from dpstats.models.glm.model import Model, evened, informed

_Z = np.column_stack([np.ones(4000), np.random.default_rng(0).normal(size=(4000, 3))])
_FIT = np.array([-2.0, 2.0, -0.5, 0.0])


def _model(family: str) -> Model:
    return Model(resolve_family(family), _Z, np.ones(len(_Z)), 1.0)


@pytest.mark.parametrize("family", ["binomial", "probit", "cloglog"])
@pytest.mark.parametrize("penalty", [0.0, 0.05])
def test_a_step_lands_on_the_fit_of_rows_that_are_like_the_model(
    family: str, penalty: float
) -> None:
    """A Newton step falls short of it, or goes too far."""
    model, anchor, ridge = _model(family), np.array([-0.3, 0.2, 0.0, 0.1]), penalty * np.eye(4)
    mean = model.family.mean(_Z @ _FIT)
    score = (_Z * model.family.working(_Z @ anchor, mean)[0][:, None]).mean(axis=0)
    at = anchor + np.linalg.solve(model.information(anchor) + ridge, score - ridge @ anchor)
    found = anchor + model.landing(anchor, at - anchor, ridge, 100.0)
    if not penalty:
        assert found == pytest.approx(_FIT, abs=5e-3)
        assert np.abs(at - _FIT).max() > 0.2
    rest = (_Z * model.family.working(_Z @ anchor, model.family.mean(_Z @ found))[0][:, None]).mean(
        0
    )
    assert score - rest == pytest.approx(ridge @ found, abs=1e-3)


def test_a_step_goes_no_farther_than_it_may() -> None:
    model = _model("binomial")
    move = model.landing(np.zeros(4), np.array([0.0, 50.0, 0.0, 0.0]), np.zeros((4, 4)), 4.0)
    assert model.largest(move) == pytest.approx(4.0)
    same = model.landing(np.zeros(4), np.full(4, np.nan), np.zeros((4, 4)), 4.0)
    assert np.isnan(same).all()


def test_released_information_is_moved_towards_the_model_as_far_as_noise_goes() -> None:
    """A Frobenius distance in units of the model, against that of what was released last."""
    model, rng = _model("binomial"), np.random.default_rng(1)
    anchors = [np.zeros(4), 0.5 * _FIT, _FIT]
    true = [model.information(at) for at in anchors]

    def distance(found: np.ndarray) -> float:
        root = np.linalg.inv(np.linalg.cholesky(true[-1]))
        return float(np.linalg.norm(root @ found @ root.T - np.eye(4)))

    shrunk, last = [], []
    for _ in range(50):
        seen = []
        for each, drift in zip(true, (2.0, 1.0, 0.0), strict=True):
            noise = 0.01 * np.triu(rng.normal(size=(4, 4)))
            matrix = each + (noise + noise.T) / 2**0.5
            seen.append(ReleasedInformation(matrix, 0.01, drift, each))
        found = informed(seen, true[-1], False)
        shrunk.append(distance(found.used))
        last.append(distance(seen[-1].matrix))
        assert np.linalg.eigvalsh(found.used)[0] > 0
    assert np.mean(shrunk) < 0.5 * np.mean(last)


def test_what_the_model_does_not_foresee_stays_where_it_stands_out() -> None:
    expected = np.diag([0.1, 0.1, 0.1, 0.02])
    true = np.diag([0.1, 0.1, 0.1, 0.08])
    found = informed([ReleasedInformation(true, 1e-4, 0.0, expected)], expected, False)
    assert found.used == pytest.approx(true, abs=1e-3)


def test_what_has_clearly_changed_since_is_not_averaged() -> None:
    expected = np.diag([0.1, 0.1, 0.1, 0.02])
    before, now = np.diag([0.1, 0.1, 0.1, 0.06]), np.diag([0.1, 0.1, 0.1, 0.03])
    seen = [ReleasedInformation(one, 1e-4, 0.05, expected) for one in (before, now)]
    assert informed(seen, expected, False).used == pytest.approx(now, abs=1e-3)


def test_coordinates_in_which_information_is_even() -> None:
    information = _model("binomial").information(2 * _FIT)
    metric = _Z.T @ _Z / len(_Z)
    turn = evened(information, metric, 4.0)
    assert turn is not None
    assert turn.back @ turn.root == pytest.approx(np.eye(4), abs=1e-12)
    assert turn.back == pytest.approx(turn.back.T)
    values = np.linalg.eigvalsh(turn.back @ information @ turn.back)
    before = np.linalg.eigvalsh(information)
    assert 3 * values[-1] / values[0] < before[-1] / before[0]
    assert evened(metric, metric, 4.0) is None
    assert evened(np.full((4, 4), np.inf), metric, 4.0) is None


def test_columns_that_are_not_there_have_no_part_in_coordinates() -> None:
    """Their next to no second moments made all other coordinates hundreds of times too large."""
    information = _model("binomial").information(2 * _FIT)
    metric = _Z.T @ _Z / len(_Z)
    there = np.array([True, True, True, False])
    information[3, :3] = information[:3, 3] = metric[3, :3] = metric[:3, 3] = 0.0
    information[3, 3], metric[3, 3] = 1.0, 1e-6
    turn = evened(information, metric, 4.0, there)
    alone = evened(information[:3, :3], metric[:3, :3], 4.0)
    assert turn is not None
    assert alone is not None
    assert turn.back[:3, :3] == pytest.approx(alone.back)
    assert turn.back[3] == pytest.approx([0, 0, 0, 1])
    assert turn.back @ turn.root == pytest.approx(np.eye(4), abs=1e-12)


@pytest.mark.parametrize("far", [1e200, np.inf, np.nan])
@np.errstate(all="ignore")
def test_what_noise_makes_of_coefficients_has_some_information(far: float) -> None:
    expected = _model("binomial").information(np.full(4, far))
    assert np.linalg.eigvalsh(expected)[0] > 0
    for matrix, sd in ((np.full((4, 4), far), 1.0), (np.eye(4), 1e200)):
        found = informed([ReleasedInformation(matrix, sd, 0.0, expected)], expected, False)
        assert np.isfinite(found.used).all()
