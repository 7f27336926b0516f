"""Fits without privacy, of private rows or of public ones: what private fits are compared with.

Shapes are those of `tests.benchmarks.competitors`.
"""

from typing import Any, NamedTuple

import numpy as np
import statsmodels.api as sm
from numpy.typing import NDArray

Array = NDArray[np.float64]


def solve(matrix: Array, vector: Array) -> Array:
    """Solution of ``matrix z = vector``."""
    return np.asarray(np.linalg.solve(matrix, vector), dtype=np.float64)


def ols(x: Array, y: Array) -> Array:
    """Least squares without privacy: the reference of all error ratios."""
    return np.asarray(np.linalg.lstsq(x, y)[0], dtype=np.float64)


def ridge_fit(x: Array, y: Array, ridge: float) -> Array:
    """Ridge regression without privacy, ``(x'x/n + ridge I)^-1 x'y/n``."""
    n, d = x.shape
    return solve(x.T @ x / n + ridge * np.eye(d), x.T @ y / n)


def public_ols(public_x: Array, public_y: Array) -> Array:
    """Least squares on the public rows alone: no private row is read, nothing is spent."""
    return ols(public_x, public_y)


class GlmFit(NamedTuple):
    """A generalised linear model without privacy.

    Attributes
    ----------
    coef : array, shape (d,)
        Maximum likelihood estimate.
    information : array, shape (d, d)
        ``x' diag(h) x`` at the estimate with the expected weights ``h``, at dispersion 1: the
        covariance of the estimate is ``dispersion * inv(information)``.
    dispersion : float
        Pearson's statistic over ``n - d``, whatever the family.
    """

    coef: Array
    information: Array
    dispersion: float


def family_of(name: str) -> Any:
    """Statsmodels family: "binomial" (logit), "poisson" (log) or "gamma" (log, not canonical)."""
    if name == "gamma":
        return sm.families.Gamma(sm.families.links.Log())
    return {"binomial": sm.families.Binomial, "poisson": sm.families.Poisson}[name]()


def glm_fit(x: Array, y: Array, family: str) -> GlmFit:
    """Maximum likelihood without privacy, by statsmodels; see `family_of` for the families."""
    model = sm.GLM(y, x, family=family_of(family))
    # The default stops on the deviance, which is too early for comparisons of coefficients.
    fit = model.fit(maxiter=200, tol=1e-10, tol_criterion="params")
    weights = model.hessian_factor(fit.params, scale=1.0, observed=False)
    information = (x.T * weights) @ x
    return GlmFit(np.asarray(fit.params), information, float(fit.pearson_chi2 / fit.df_resid))


def public_glm(public_x: Array, public_y: Array, family: str) -> Array:
    """Fit of the public rows alone: no private row is read, nothing is spent.

    Minimises ``deviance / 2 + b'Sb / 2`` with ``S`` the second moment of ``public_x``: a normal
    prior of variance 1 on each whitened coefficient ``S^(1/2) b``, which weighs as much as one
    row of weight 1. It keeps the fit finite when the few public rows can be separated. Fisher
    scoring, the steps halved until the objective falls.
    """
    kind = family_of(family)
    prior = public_x.T @ public_x / len(public_y)

    def objective(b: Array) -> float:
        mean = kind.link.inverse(public_x @ b)
        return float(kind.deviance(public_y, mean) + b @ prior @ b) / 2

    beta = np.zeros(public_x.shape[1])
    for _ in range(200):
        linear = public_x @ beta
        mean = kind.link.inverse(linear)
        slope = kind.link.inverse_deriv(linear)
        per_slope = slope / kind.variance(mean)
        score = public_x.T @ (per_slope * (public_y - mean)) - prior @ beta
        step = solve((public_x.T * (per_slope * slope)) @ public_x + prior, score)
        if np.linalg.norm(step) <= 1e-10 * (1 + np.linalg.norm(beta)):
            break
        before = objective(beta)
        # Written so that an objective that is not a number counts as no progress.
        while not objective(beta + step) <= before and np.linalg.norm(step) > 1e-12:
            step = step / 2
        beta = beta + step
    return beta
