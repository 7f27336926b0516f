"""Families are statsmodels' own, and nothing else gets in."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import stats

from dpstats import dp_glm
from dpstats.errors import ArgumentError
from dpstats.models.glm.family import _KINDS, Family, _Kind, _poisson_isf, resolve_family

_F, _L = sm.families, sm.families.links
_SAME = [
    ("binomial", _F.Binomial()),
    ("binomial(probit)", _F.Binomial(_L.Probit())),
    ("binomial(link = 'cloglog')", _F.Binomial(_L.CLogLog())),
    ("poisson", _F.Poisson()),
    ("Gamma", _F.Gamma(_L.Log())),
    ("gaussian", _F.Gaussian()),
    ("quasipoisson", _F.Poisson()),
    (_F.NegativeBinomial(alpha=0.7), _F.NegativeBinomial(alpha=0.7)),
]


def _named(given: object) -> str:
    return given if isinstance(given, str) else type(given).__name__


@pytest.mark.parametrize(("given", "model"), _SAME, ids=_named)
def test_scores_and_weights_are_the_derivatives_of_statsmodels_likelihood(
    given: object, model: sm.families.Family
) -> None:
    family = resolve_family(given)
    eta = np.linspace(-2.5, 2.0, 30)
    y = np.resize([0.5, 1.0, 0.25], 30)
    score, curvature, pearson = family.working(eta, y)
    step = 1e-6

    def half_deviance(at: np.ndarray) -> np.ndarray:
        mean = model.link.inverse(at)
        return np.array([model.deviance(y[[i]], mean[[i]]) / 2 for i in range(len(y))])

    derivative = -(half_deviance(eta + step) - half_deviance(eta - step)) / (2 * step)
    assert score == pytest.approx(derivative, abs=2e-5)
    mean = model.link.inverse(eta)
    weights = model.link.inverse_deriv(eta) ** 2 / model.variance(mean)
    assert curvature == pytest.approx(weights, rel=1e-9)
    assert pearson == pytest.approx((y - mean) / np.sqrt(model.variance(mean)), rel=1e-9)


def test_a_family_that_statsmodels_has_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """The example of CONTRIBUTING.md: nothing else has to know of a new family."""
    new = _Kind("InverseGaussian", ("log",), True, True, 0.0, np.inf, open_below=True)
    monkeypatch.setitem(_KINDS, "inverse gaussian", new)
    rng = np.random.default_rng(0)
    public, private = (pd.DataFrame({"x": rng.normal(size=n)}) for n in (200, 5000))
    for rows in (public, private):
        rows["y"] = rng.wald(np.exp(0.5 + 0.3 * rows["x"]), 4.0)
    fit = dp_glm("y ~ x", private, public, family="inverse gaussian", mu=2, seed=1)
    model = sm.GLM(private["y"], sm.add_constant(private["x"]), family=_F.InverseGaussian(_L.Log()))
    error = (fit.coef() - model.fit().params.to_numpy()) / fit.se()
    assert np.abs(error).max() < 5.3  # two normal errors: beyond with probability 2e-7
    assert "Family: inverse gaussian, link: log" in str(fit.summary())


@pytest.mark.parametrize("given", [g for g, _ in _SAME], ids=_named)
def test_an_entry_does_not_depend_on_its_neighbours(given: object) -> None:
    family = resolve_family(given)
    rng = np.random.default_rng(0)
    eta, y = rng.normal(0, 30, 1001), rng.uniform(0, 1, 1001)
    whole = family.working(eta, y)
    for part in (slice(0, 1), slice(3, 10), slice(17, 400)):
        for a, b in zip(whole, family.working(eta[part], y[part]), strict=True):
            assert (a[part] == b).all()
    assert all(np.isfinite(v).all() for v in whole)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("cauchy", "family must be one of"),
        ("binomial(log)", "logit, probit, cloglog"),
        ("nb", "needs its alpha"),
        (_F.NegativeBinomial, "needs its alpha"),
        (_F.Gamma(), "family='gamma'"),
        (_F.Poisson(_L.Sqrt()), "link log"),
        (_F.Tweedie(), "family must be one of"),
        (_F.NegativeBinomial(alpha=-1.0), "number > 0"),
        (3, "family must be one of"),
        (None, "family must be one of"),
    ],
)
def test_other_families_are_refused_with_what_is_offered(given: object, said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        resolve_family(given)


def test_a_subclass_or_a_changed_object_brings_no_code_of_its_own() -> None:
    class Leaky(_F.Poisson):
        pass

    with pytest.raises(ArgumentError, match="family must be one of"):
        resolve_family(Leaky())

    class Mine(Family):
        def working(self, eta: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, ...]:
            return y[0] + 0 * eta, y[0] + 0 * eta, y[0] + 0 * eta

    with pytest.raises(ArgumentError, match="family must be one of"):
        resolve_family(Mine("poisson", "log"))
    with pytest.raises(ArgumentError, match="link"):
        resolve_family(Family("poisson", "logit"))
    with pytest.raises(ArgumentError, match="number > 0"):
        resolve_family(Family("negative binomial", "log", -1.0))
    changed = _F.Poisson()
    changed.variance = lambda mean: mean.sum()
    assert resolve_family(changed) == Family("poisson", "log")


_COUNTED = [
    Family("binomial", "logit"),
    Family("binomial", "probit"),
    Family("binomial", "cloglog"),
    Family("poisson", "log"),
    Family("negative binomial", "log", 0.7),
]


@pytest.mark.parametrize("family", _COUNTED, ids=str)
def test_what_is_expected_of_long_scores_is_the_mean_over_all_responses(family: Family) -> None:
    eta = np.repeat([-3.0, -0.4, 0.9], 4)
    unit, length = np.tile([0.2, 1.0, 3.0, 12.0], 3), 1.3
    mean, size = family.mean(eta), 0.0 if family.alpha is None else 1 / family.alpha
    y = np.arange(2 if family.binary else 3000, dtype=float)[:, None]
    if family.binary:
        chance = np.where(y == 1, mean, 1 - mean)
    elif family.alpha is None:
        chance = stats.poisson.pmf(y, mean)
    else:
        chance = stats.nbinom.pmf(y, size, size / (size + mean))
    score = unit * np.array([family.working(eta, np.full_like(eta, k))[0] for k in y[:, 0]])
    beyond = np.sign(score) * np.clip(np.abs(score) - length, 0, length)
    found = family.expected_beyond(eta, unit, length)
    assert found == pytest.approx((chance * beyond).sum(axis=0), abs=1e-9)
    one = np.array([family.expected_beyond(eta[[k]], unit[[k]], length)[0] for k in range(12)])
    assert (one == found).all(), "an entry does not depend on its neighbours"


def test_nothing_is_expected_of_families_without_outcomes() -> None:
    for name, link in (("gamma", "log"), ("gaussian", "identity")):
        assert Family(name, link).expected_beyond(np.zeros(2), np.ones(2), 1.0) is None


@pytest.mark.parametrize("name", ["multinomial", "multinom"])
def test_several_classes_are_for_eptr_bayes(name: str) -> None:
    with pytest.raises(ArgumentError, match="use eptr_bayes"):
        resolve_family(name)


def test_counts_have_the_quantiles_of_poisson_laws_and_end_for_any_mean() -> None:
    mean = np.append(np.geomspace(1e-6, 1e4, 200), 0.0)
    chance = np.append(np.linspace(0.02, 0.98, 9), 0.1 * 2.0 ** -np.arange(13.0))[:, None]
    expected = stats.poisson(np.maximum(mean, 1e-300)).isf(chance)
    assert (_poisson_isf(chance, mean) == expected).all()
    with np.errstate(all="ignore"):  # what noise makes of coefficients
        found = Family("poisson", "log").outcomes(np.array([np.nan, 50.0, 700.0, -800.0]))
    assert found is not None


def test_averages_over_any_number_of_trials_have_the_mean_and_variance_of_a_binomial() -> None:
    """Beyond some thousands a search for whole numbers takes for ever; the law is as good there."""
    family, eta = resolve_family("binomial"), np.array([-3.0, 0.0, 2.0, 40.0])
    mean = family.mean(eta)
    for trials in (5e3, 2e4, 1e18, 1e28):
        made = family.outcomes(eta, np.array(trials))
        assert made is not None
        found = sum(y * p for y, p in made)
        assert found == pytest.approx(mean, abs=2e-4)
        spread = sum((y - found) ** 2 * p for y, p in made) * trials
        assert spread == pytest.approx(mean * (1 - mean), rel=0.1, abs=2e-3)
        assert all((y <= 1).all() and (y >= 0).all() for y, _ in made)
