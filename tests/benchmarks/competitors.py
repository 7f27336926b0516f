"""Published algorithms that the package is measured against, each written from its paper.

Plain functions on arrays with floating-point numpy noise: for benchmarks, NOT for release. Some of
them are calibrated with values that only the private rows know; their names end in ``oracle`` or
``oracle_bounds`` and they are NOT private.

Shapes: ``x`` is (n, d), ``y`` is (n,), estimates are (d,). ``n`` is public. Neighbouring data sets
differ by the replacement of one row, unless a docstring says otherwise.

Written here are public-moment-guided truncation and its papers' comparators without public data. What
is written elsewhere has its name here too: AdaSSP (`tests.benchmarks.adassp`), TukeyEM
(`tests.benchmarks.tukey_em`), fits without privacy (`tests.benchmarks.plain_fits`), and units and noise
(`tests.benchmarks.noise_scales`).
"""

import math
from collections.abc import Callable

import numpy as np
from scipy.special import expit

from .adassp import adassp_oracle_bounds
from .noise_scales import gdp_delta, gdp_mu, per_mechanism_mu, symmetric_noise
from .plain_fits import (
    Array,
    GlmFit,
    family_of,
    glm_fit,
    ols,
    public_glm,
    public_ols,
    ridge_fit,
    solve,
)
from .tukey_em import deep_point, distance_to_unsafety, tukey_em, uniform_in_shell

__all__ = [
    "Array",
    "GlmFit",
    "adassp_oracle_bounds",
    "deep_point",
    "distance_to_unsafety",
    "dp_lr_nonprivate_oracle",
    "dp_olse_nonprivate_oracle",
    "dp_rr_nonprivate_oracle",
    "family_of",
    "gdp_delta",
    "gdp_mu",
    "glm_fit",
    "inverse_root",
    "logistic_weight",
    "ols",
    "per_mechanism_mu",
    "pmt",
    "pmt_glm",
    "pmt_glm_scales",
    "pmt_moments",
    "public_glm",
    "public_ols",
    "ridge_fit",
    "solve",
    "symmetric_noise",
    "truncate",
    "tukey_em",
    "uniform_in_shell",
]


# Public-moment-guided truncation ----------------------------------------------------------------


def truncate(rows: Array, radius: float) -> Array:
    """Scale the rows (or numbers) whose norm exceeds ``radius`` to that norm."""
    norms = np.abs(rows) if rows.ndim == 1 else np.linalg.norm(rows, axis=1, keepdims=True)
    return rows * np.minimum(1.0, radius / np.maximum(norms, np.finfo(np.float64).tiny))


def inverse_root(second_moment: Array) -> Array:
    """Symmetric inverse square root of a positive definite matrix."""
    values, vectors = np.linalg.eigh(second_moment)
    if values[0] <= 0:
        raise ValueError("the public second moment must be positive definite")
    root: Array = (vectors / np.sqrt(values)) @ vectors.T
    return root


def pmt_moments(x: Array, y: Array, S: Array, s2: float, eta: float) -> tuple[Array, Array]:
    """The two statistics of `pmt` before noise, ``X~'X~/n`` (d, d) and ``X~'y~/n`` (d,).

    Replacing one row moves them by at most ``2 d L/n`` and ``2 sqrt(d) L/n`` in the Frobenius
    and Euclidean norm, ``L = 1 + log(2n/eta)``.
    """
    n, d = x.shape
    level = 1 + math.log(2 * n / eta)
    white = truncate(x @ inverse_root(S), math.sqrt(d * level))
    response = truncate(y / math.sqrt(s2), math.sqrt(level))
    return white.T @ white / n, white.T @ response / n


def pmt(
    x: Array,
    y: Array,
    S: Array,
    s2: float,
    *,
    mu_each: float | None = None,
    rho_each: float | None = None,
    ridge: float = 0.0,
    eta: float = 0.05,
    rng: np.random.Generator,
) -> Array:
    """Sufficient statistics perturbation after public-moment-guided truncation, to the letter.

    Source: Cao, Bi and Zhang, "Differentially Private Truncation of Unbounded Data Via Public
    Second Moments", Algorithm 2 (``mu_each``), and Algorithm 3 of their paper on ordinary least
    squares (``rho_each``, ``ridge = 0``). The papers' budget is that of each of the two Gaussian
    mechanisms: the total is ``sqrt(2) mu_each``-GDP or ``2 rho_each``-zCDP.

    Parameters
    ----------
    S : array, shape (d, d)
        Public second moment of the design.
    s2 : float
        Public second moment of the response.
    mu_each, rho_each : float
        Exactly one: the budget of each mechanism.
    ridge : float
        Penalty on ``|beta|^2`` in the original coordinates.
    eta : float
        Failure probability in the truncation radii.
    """
    n, d = x.shape
    mu = per_mechanism_mu(mu_each, rho_each)
    level = 1 + math.log(2 * n / eta)
    sd_gram = 2 * d * level / (mu * n)
    sd_cross = 2 * math.sqrt(d) * level / (mu * n)
    gram, cross = pmt_moments(x, y, S, s2, eta)
    noisy_gram = gram + ridge * np.linalg.inv(S) + symmetric_noise(d, sd_gram, rng)
    noisy_cross = cross + rng.normal(0.0, sd_cross, d)
    return math.sqrt(s2) * inverse_root(S) @ solve(noisy_gram, noisy_cross)


def logistic_weight(linear: Array) -> Array:
    """``b''`` of the Bernoulli family, ``p (1 - p)``, at most 1/4."""
    p = expit(linear)
    return np.asarray(p * (1 - p))


def pmt_glm_scales(
    n: int, d: int, *, mu_each: float, iterations: int, eta: float, c1: float, c2: float
) -> tuple[float, float]:
    """Noise standard deviations of `pmt_glm`: of an entry of the Hessian and of the gradient.

    The sensitivities ``2 d L c2/n`` and ``2 sqrt(d L) c1/n``, ``L = 1 + log(2n/eta)``, times
    ``sqrt(iterations)/mu_each``.
    """
    level = 1 + math.log(2 * n / eta)
    sd_hessian = 2 * math.sqrt(iterations) * d * level * c2 / (mu_each * n)
    sd_gradient = 2 * math.sqrt(iterations * d * level) * c1 / (mu_each * n)
    return sd_hessian, sd_gradient


def pmt_glm(
    x: Array,
    y: Array,
    S: Array,
    *,
    mu_each: float,
    iterations: int = 5,
    ridge: float = 0.0,
    eta: float = 0.05,
    rng: np.random.Generator,
    c1: float = 1.0,
    c2: float = 0.25,
    mean: Callable[[Array], Array] = expit,
    weight: Callable[[Array], Array] = logistic_weight,
    noise: bool = True,
    iterates: bool = False,
) -> Array:
    """Noisy Newton steps after public-moment-guided truncation, to the letter.

    Source: Cao, Bi and Zhang, "Differentially Private Truncation of Unbounded Data Via Public
    Second Moments", Algorithm 3 (DP-PMTLR: logistic, the defaults) and, in its preprint,
    Algorithm 4 (DP-PMTGLM: canonical exponential families). Rows are whitened by ``S^(-1/2)`` and
    truncated at radius ``sqrt(d L)``, ``L = 1 + log(2n/eta)``; from 0, each step solves with the
    Hessian and the gradient of the truncated rows, both perturbed (see `pmt_glm_scales`). No step
    is damped and nothing keeps a noisy Hessian positive definite: neither is in the paper.

    ``mu_each`` is the budget of each of the two kinds of release over all steps: the total is
    ``sqrt(2) mu_each``-GDP. The printed loop ``t = 0, ..., T`` makes one step more than the noise
    is calibrated for, but the output is the iterate ``T``, so ``T`` steps are made.

    The sensitivities need ``|mean(linear) - y| <= c1`` and ``weight(linear) <= c2`` for every
    possible row. The logistic model has them. For the Poisson and gamma families no such numbers
    exist unless responses and linear predictors are bounded; that is left to the caller, and
    without it the result is NOT private.

    Parameters
    ----------
    S : array, shape (d, d)
        Public second moment of the design.
    mu_each : float
        Budget of each kind of release.
    iterations : int
        Number of Newton steps, the paper's ``T = O(log log n)``.
    ridge : float
        Penalty ``ridge/2 |beta|^2`` in the original coordinates.
    eta : float
        Failure probability in the truncation radius.
    c1, c2 : float
        Bounds on the residual and on the weight of a row.
    mean, weight : callable
        ``b'`` and ``b''`` of the canonical family as functions of the linear predictors.
    noise : bool
        False: no noise at all, NOT PRIVATE; for tests of Theorem 9.
    iterates : bool
        Return every iterate.

    Returns
    -------
    array, shape (d,) or (iterations, d)
        The last iterate in the original coordinates, or all of them after the starting point 0.
    """
    n, d = x.shape
    sd_hessian, sd_gradient = pmt_glm_scales(
        n, d, mu_each=mu_each, iterations=iterations, eta=eta, c1=c1, c2=c2
    )
    root = inverse_root(S)
    white = truncate(x @ root, math.sqrt(d * (1 + math.log(2 * n / eta))))
    penalty = ridge * np.linalg.inv(S)
    beta = np.zeros(d)
    path = []
    for _ in range(iterations):
        linear = white @ beta
        hessian = (white.T * weight(linear)) @ white / n + penalty
        gradient = white.T @ (mean(linear) - y) / n + penalty @ beta
        if noise:
            hessian = hessian + symmetric_noise(d, sd_hessian, rng)
            gradient = gradient + rng.normal(0.0, sd_gradient, d)
        beta = beta - solve(hessian, gradient)
        path.append(root @ beta)
    return np.array(path) if iterates else path[-1]


# The papers' private-only comparators -----------------------------------------------------------


def dp_rr_nonprivate_oracle(
    x: Array,
    y: Array,
    *,
    mu_each: float | None = None,
    rho_each: float | None = None,
    ridge: float = 0.0,
    eta: float = 0.05,
    rng: np.random.Generator,
) -> Array:
    """The papers' comparator without public data (DP-RR). NOT PRIVATE.

    Source: Algorithm 4 (DP-OLSE) of the paper on ordinary least squares with the penalty of the
    ridge paper. Rows are truncated at radius^2 ``tr(Sigma) + d log(2n/eta)``, responses at
    ``sigma^2 + log(2n/eta)``; noise as in `pmt` with these radii. ``Sigma`` and ``sigma^2`` are the
    second moments of the FULL PRIVATE SAMPLE, released without noise through the radii and the
    noise scales: no privacy guarantee holds, whatever ``mu_each`` is. An oracle for benchmarks.
    """
    n, d = x.shape
    mu = per_mechanism_mu(mu_each, rho_each)
    level = math.log(2 * n / eta)
    radius = math.sqrt(float(np.sum(x**2)) / n + d * level)
    response_radius = math.sqrt(float(np.mean(y**2)) + level)
    rows, response = truncate(x, radius), truncate(y, response_radius)
    gram = rows.T @ rows / n + ridge * np.eye(d)
    gram = gram + symmetric_noise(d, 2 * radius**2 / (mu * n), rng)
    cross = rows.T @ response / n + rng.normal(0.0, 2 * radius * response_radius / (mu * n), d)
    return solve(gram, cross)


def dp_olse_nonprivate_oracle(
    x: Array, y: Array, *, rho_each: float, eta: float = 0.05, rng: np.random.Generator
) -> Array:
    """The comparator of the paper on ordinary least squares (DP-OLSE, Algorithm 4). NOT PRIVATE.

    `dp_rr_nonprivate_oracle` without a penalty and under zCDP: its radii and noise scales are
    computed from the full private sample, so no privacy guarantee holds.
    """
    return dp_rr_nonprivate_oracle(x, y, rho_each=rho_each, eta=eta, rng=rng)


def dp_lr_nonprivate_oracle(
    x: Array,
    y: Array,
    *,
    mu_each: float,
    iterations: int = 5,
    ridge: float = 0.0,
    eta: float = 0.05,
    rng: np.random.Generator,
    iterates: bool = False,
) -> Array:
    """The papers' logistic comparator without public data (DP-LR). NOT PRIVATE.

    The noisy Newton steps of `pmt_glm` on rows that are truncated at the radius of
    `dp_rr_nonprivate_oracle`, which the FULL PRIVATE SAMPLE sets: no privacy guarantee holds,
    whatever ``mu_each`` is. Not whitening is whitening by a multiple of the identity, the one that
    turns this radius into that of `pmt_glm`; Newton steps, penalty and noise scale with it.
    """
    n, d = x.shape
    level = math.log(2 * n / eta)
    radius_2 = float(np.sum(x**2)) / n + d * level
    return pmt_glm(
        x,
        y,
        radius_2 / (d * (1 + level)) * np.eye(d),
        mu_each=mu_each,
        iterations=iterations,
        ridge=ridge,
        eta=eta,
        rng=rng,
        iterates=iterates,
    )
