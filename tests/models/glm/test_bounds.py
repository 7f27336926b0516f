"""The rates are the papers' formulas, their premises switch, and the last step's bound holds."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from scipy.special import expit

from dpstats.models.glm.bounds import (
    GlmFacts,
    convergence,
    convergence_family,
    convergence_private_only,
    equivalence,
    glm_bounds,
    hessian_lipschitz,
    last_step_bounds,
    privacy,
    recovered,
    strong_convexity,
)
from dpstats.report.bound import Bound
from dpstats.score_rounds.bounds import NOISELESS_FIT, ReleasedSystem, distance_to_noiseless_fit

Floats = NDArray[np.float64]


def _facts(**changes: Any) -> GlmFacts:
    public, released = np.diag([4.0, 9.0]), np.diag([0.8, 1.35])
    facts = GlmFacts(
        n=1_000_000,
        d=2,
        m=100,
        mu=2.0,
        eta=0.1,
        ridge=0.0,
        steps=5,
        public=public,
        released=released,
        whitened=np.diag([0.2, 0.15]),
        c1=1.0,
        c2=0.25,
    )
    return replace(facts, **changes)


def _met(bound: Bound, words: str) -> bool | None:
    (premise,) = [p for p in bound.premises if words in p.condition]
    return premise.met


def _weights(rows: Floats, coef: Floats) -> Floats:
    p = expit(rows @ coef)
    return np.asarray(p * (1 - p))


def _information(rows: Floats, coef: Floats) -> Floats:
    return np.asarray((rows.T * _weights(rows, coef)) @ rows / len(rows))


def test_theorem_11_and_remark_5_are_the_formulas_of_the_paper() -> None:
    # mu of a mechanism is sqrt(2), gamma 0.15; 2Td/eta = 200 and 2n/eta = 2e7
    noise = math.sqrt(5 * 8 * math.log(200)) * (1 + math.log(2e7)) / (math.sqrt(2) * 1e6)
    assert convergence(_facts()).value == pytest.approx(noise / 0.15**2)
    # |S^-1/2| = 1/2
    assert recovered(convergence(_facts()), _facts()).value == pytest.approx(noise / 0.15**2 / 2)
    # a ridge adds ridge/|S| = 0.9/9
    assert convergence(_facts(ridge=0.9)).value == pytest.approx(noise / 0.25**2)


def test_theorem_5_4_takes_scale_and_convexity_of_the_plain_design() -> None:
    noise = math.sqrt(40 * math.log(200)) * (6.5 + math.log(1e7)) / (math.sqrt(2) * 1e6)
    assert convergence_private_only(_facts()).value == pytest.approx(noise / 0.8**2)
    assert convergence_private_only(_facts(ridge=0.2)).value == pytest.approx(noise)


def test_theorem_5_5_has_one_noise_per_constant() -> None:
    log_n, unit = 1 + math.log(2e7), math.sqrt(10 * math.log(200)) / (math.sqrt(2) * 1e6)
    facts = _facts(c1=3.0, c2=7.0)
    expected = unit * (7 * 2 * log_n + 3 * math.sqrt(2 * log_n)) / 0.15**2
    assert convergence_family(facts).value == pytest.approx(expected)
    score_only = convergence_family(replace(facts, c2=0.0, whitened=4 * np.eye(2))).value
    assert score_only == pytest.approx(unit * 3 * math.sqrt(2 * log_n) / 4)
    assert convergence_family(_facts()).value < convergence(_facts()).value


def test_lemmas_are_the_formulas_of_the_preprint() -> None:
    whitened, plain = strong_convexity(_facts(ridge=0.9))
    assert whitened.value == pytest.approx(0.15 + 0.9 / 9)
    assert plain.value == pytest.approx(0.8 + 0.9)
    expected = 0.25 * (2 * (1 + math.log(2e7))) ** 1.5
    assert hessian_lipschitz(_facts()).value == pytest.approx(expected)


def test_the_hessian_of_truncated_rows_is_that_lipschitz() -> None:
    rng, facts = np.random.default_rng(0), _facts(n=200)
    radius = math.sqrt(2 * (1 + math.log(2 * 200 / 0.1)))
    rows = rng.normal(size=(200, 2))
    rows *= radius / np.linalg.norm(rows, axis=1, keepdims=True)  # the longest that can be
    for _ in range(50):
        one, two = rng.normal(size=(2, 2)) * 0.3
        change = np.linalg.norm(_information(rows, one) - _information(rows, two), 2)
        assert change <= hessian_lipschitz(facts).value * np.linalg.norm(one - two)


def test_theorem_10_composes_to_the_total() -> None:
    n, d, steps, c1, c2, each = 1000, 3, 4, 2.0, 5.0, 0.7
    size = d * (1 + math.log(2 * n / 0.1))
    sigma1 = 2 * math.sqrt(steps) * size * c2 / (each * n)
    sigma2 = 2 * math.sqrt(steps * size) * c1 / (each * n)
    one = ((2 * size * c2 / n) / sigma1) ** 2 + ((2 * math.sqrt(size) * c1 / n) / sigma2) ** 2
    facts = _facts(n=n, d=d, steps=steps, mu=each * math.sqrt(2), c1=c1, c2=c2)
    assert privacy(facts).value == pytest.approx(math.sqrt(steps * one))
    assert privacy(facts).value == pytest.approx(facts.mu)
    assert privacy(facts).kind == "identity"


def test_theorem_9_newton_iterates_map_onto_each_other() -> None:
    rng, ridge = np.random.default_rng(1), 0.3
    rows = rng.normal(size=(80, 3)) @ np.array([[2.0, 0, 0], [1, 1, 0], [0, 0.5, 0.2]])
    y = (rng.random(80) < 0.4).astype(float)
    values, vectors = np.linalg.eigh(rows[:30].T @ rows[:30] / 30)
    back = (vectors / np.sqrt(values)) @ vectors.T
    plain, white = np.zeros(3), np.zeros(3)
    for _ in range(4):
        for_plain = rows.T @ (expit(rows @ plain) - y) / 80 + ridge * plain
        plain = plain - np.linalg.solve(_information(rows, plain) + ridge * np.eye(3), for_plain)
        w = rows @ back
        penalty = ridge * back @ back
        for_white = w.T @ (expit(w @ white) - y) / 80 + penalty @ white
        white = white - np.linalg.solve(_information(w, white) + penalty, for_white)
        assert back @ white == pytest.approx(plain, rel=1e-8)
    assert equivalence(_facts()).value == 0.0


def test_rates_fall_with_budget_and_rows() -> None:
    for statement in (convergence, convergence_private_only, convergence_family):
        by_mu = [statement(_facts(mu=mu)).value for mu in (0.5, 1.0, 2.0)]
        by_n = [statement(_facts(n=n)).value for n in (10_000, 100_000, 1_000_000)]
        assert by_mu == sorted(by_mu, reverse=True)
        assert by_n == sorted(by_n, reverse=True)
        assert by_mu[0] == pytest.approx(4 * by_mu[2])


def test_premises_switch() -> None:
    small = "at most half the smallest"
    for statement in (convergence, convergence_private_only, convergence_family):
        assert _met(statement(_facts()), small) is True
        assert _met(statement(_facts(n=100)), small) is False
        assert _met(statement(_facts()), "region") is None
        assert _met(statement(_facts(steps=3)), "log log n") is True
        assert _met(statement(_facts(steps=2)), "log log n") is False
    assert _met(convergence(_facts()), "sqrt(m)") is True
    assert _met(convergence(_facts(m=4)), "sqrt(m)") is False
    assert _met(convergence(_facts(m=None)), "sqrt(m)") is None
    assert _met(convergence(_facts()), "logistic") is True
    assert _met(convergence(_facts(c2=0.26)), "logistic") is False
    assert _met(convergence_family(_facts(c1=None)), "c1 and c2") is False
    assert _met(privacy(_facts()), "bounded") is True
    assert _met(privacy(_facts(c2=None)), "bounded") is None
    assert _met(equivalence(_facts()), "positive definite") is True
    assert _met(equivalence(_facts(public=np.diag([1.0, 0.0]))), "positive definite") is False


def test_without_convexity_or_constants_a_rate_says_nothing() -> None:
    flat = _facts(whitened=np.diag([0.2, -0.3]), released=np.diag([0.2, -0.3]))
    for statement in (convergence, convergence_private_only, convergence_family):
        assert statement(flat).value == math.inf
        assert _met(statement(flat), "at most half the smallest") is False
    assert convergence_family(_facts(c1=None)).value == math.inf
    assert hessian_lipschitz(_facts(c2=None)).value == math.inf
    singular = _facts(public=np.diag([1.0, 0.0]))
    assert recovered(convergence(singular), singular).value == math.inf


def _last_step(
    rng: np.random.Generator, d: int, isometric: bool, share: float = 1.0
) -> tuple[ReleasedSystem, float]:
    """A noisy logistic step of truncated rows, and its true distance to the step without noise."""
    n, sd, noise_sd, clip = 400, 0.004, 0.01, math.sqrt(2 * d)
    back = np.linalg.inv(np.eye(d) + 0.2 * rng.normal(size=(d, d)))
    rows = rng.normal(size=(n, d))
    y = (rng.random(n) < expit(rows @ np.ones(d) / math.sqrt(d))).astype(float)
    anchor = rng.normal(size=d) / math.sqrt(d)
    length = np.linalg.norm(rows, axis=1)
    scores = rows * (y - expit(rows @ anchor))[:, None]
    scores *= np.minimum(1, clip / 2 / np.linalg.norm(scores, axis=1))[:, None]
    score = scores.mean(axis=0)
    cut = rows * np.minimum(1, clip / length)[:, None]
    information = (cut.T * _weights(rows, anchor)) @ cut / n
    noise = np.triu(rng.normal(size=(d, d)), 1) * (sd / math.sqrt(2) if isometric else sd)
    noise = noise + noise.T + np.diag(rng.normal(size=d) * sd)
    g = rng.normal(size=d) * noise_sd
    penalty = 0.05 * back.T @ back
    exact = np.linalg.solve(information + penalty, score - penalty @ anchor)
    used = 0.95 * (information + noise) + 0.01 * np.eye(d)
    move = share * np.linalg.solve(used + penalty, score + g - penalty @ anchor)
    used = (used + penalty) / share - penalty
    system = ReleasedSystem(information + noise, used, sd, isometric, penalty, move, noise_sd, back)
    return system, float(np.linalg.norm(back @ (move - exact)))


@pytest.mark.parametrize("share", [1.0, 0.9])
@pytest.mark.parametrize("isometric", [True, False])
@pytest.mark.parametrize("d", [1, 3, 8])
def test_the_bound_of_the_last_step_covers(d: int, isometric: bool, share: float) -> None:
    # P(fail) <= 0.05 each; more than 40 failures of 300 have probability below 1e-6
    assert stats.binom.sf(40, 300, 0.05) < 1e-6
    rng, missed, finite = np.random.default_rng(d), 0, 0
    for _ in range(300):
        system, distance = _last_step(rng, d, isometric, share)
        value = distance_to_noiseless_fit(system, 0.05).value
        missed += distance > value
        finite += math.isfinite(value)
    assert missed <= 40
    assert finite == 300  # the bound speaks, it is not saved by infinities


def test_the_simulated_last_step_is_sharper_and_repeats() -> None:
    system, _ = _last_step(np.random.default_rng(5), 4, True)
    loose, sharp = last_step_bounds(system, 0.05)
    assert sharp.value < loose.value
    assert sharp == last_step_bounds(system, 0.05)[1]
    assert {sharp.kind, loose.kind} == {"simulated", "bound"}


def test_the_last_step_says_what_it_bounds() -> None:
    system, _ = _last_step(np.random.default_rng(0), 2, True)
    (step, simulated), fit = last_step_bounds(system, 0.1), distance_to_noiseless_fit(system, 0.1)
    assert step.value == fit.value
    assert "last Newton step" in step.statement
    assert simulated.statement == step.statement
    assert fit.statement == NOISELESS_FIT


def test_every_bound_names_its_source_and_the_sharpest_come_first() -> None:
    system, _ = _last_step(np.random.default_rng(0), 2, True)
    bounds = glm_bounds(_facts(), system)
    assert [b.kind for b in bounds[:3]] == ["bound", "simulated", "rate"]
    assert "Remark 5" in bounds[2].source
    sources = " ".join(b.source for b in bounds)
    for theorem in ("Theorem 9", "Theorem 10", "Theorem 11"):
        assert f"ridge paper, {theorem}" in sources
    for statement in ("Lemma 5.1", "Lemma 5.2", "Theorem 5.3", "Theorem 5.4", "Theorem 5.5"):
        assert f"preprint, {statement}" in sources


def test_rates_are_given_for_the_families_they_speak_of() -> None:
    system, _ = _last_step(np.random.default_rng(0), 2, True)

    def sources(facts: GlmFacts) -> str:
        return " ".join(b.source for b in glm_bounds(facts, system))

    poisson = sources(_facts(c1=20.0, c2=20.0))
    assert "Theorem 11" not in poisson
    assert "Theorem 5.5; ridge paper, Remark 5" in poisson
    unbounded = sources(_facts(c1=None, c2=None))
    for absent in ("Theorem 11", "Theorem 5.4", "Remark 5", "Lemma 5.2"):
        assert absent not in unbounded
    assert "Theorem 10" in unbounded
