"""AdaSSP, one of `tests.benchmarks.competitors`: NOT PRIVATE because of its bounds."""

import math
from typing import Literal

import numpy as np

from .noise_scales import gdp_mu, symmetric_noise
from .plain_fits import Array, solve


def adassp_oracle_bounds(
    x: Array,
    y: Array,
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
    *,
    accounting: Literal["published", "gdp"] = "gdp",
    failure: float = 0.05,
) -> Array:
    """AdaSSP with bounds read off the private rows. NOT PRIVATE because of these bounds.

    Source: Wang (2018), "Revisiting differentially private linear regression", Algorithm 2. Three
    Gaussian mechanisms release the smallest eigenvalue of ``x'x``, then ``x'x`` and ``x'y``; the
    eigenvalue, lowered by ``sqrt(log(6/delta))`` noise deviations, sets the ridge penalty.

    Two departures, both documented because they matter: the norm bounds ``B``, ``C`` that a user
    would have to state are the largest private row norm and absolute response (an ORACLE in favour
    of the algorithm, and not private), and the noise has the exact analytic scale instead of
    ``sqrt(log(6/delta)) 3/epsilon``. Given the bounds, the guarantee is for replacing one row; the
    sensitivities are ``B^2`` (smallest eigenvalue, by Weyl's inequality), ``sqrt(2) B^2`` (``x'x``)
    and ``2 B C`` (``x'y``).

    Parameters
    ----------
    epsilon, delta : float
        Total budget.
    accounting : {"published", "gdp"}
        "published" gives each mechanism (epsilon/3, delta/3), calibrated exactly; "gdp" gives each
        ``mu/sqrt(3)`` of the exact total ``mu``, which is better. Take the better result.
    failure : float
        Wang's rho, 0.05 in the paper.
    """
    d = x.shape[1]
    if accounting == "published":
        mu = gdp_mu(epsilon / 3, delta / 3)
    else:
        mu = gdp_mu(epsilon, delta) / math.sqrt(3)
    bound = float(np.max(np.linalg.norm(x, axis=1)))
    response_bound = float(np.max(np.abs(y)))
    sd_value = bound**2 / mu
    sd_gram = math.sqrt(2) * bound**2 / mu
    sd_cross = 2 * bound * response_bound / mu

    gram = x.T @ x
    smallest = float(np.linalg.eigvalsh(gram)[0]) + sd_value * rng.standard_normal()
    smallest = max(0.0, smallest - math.sqrt(math.log(6 / delta)) * sd_value)
    penalty = max(0.0, math.sqrt(d * math.log(2 * d**2 / failure)) * sd_gram - smallest)
    noisy_gram = gram + symmetric_noise(d, sd_gram, rng) + penalty * np.eye(d)
    noisy_cross = x.T @ y + rng.normal(0.0, sd_cross, d)
    return solve(noisy_gram, noisy_cross)
