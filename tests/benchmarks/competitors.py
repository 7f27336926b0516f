"""Published algorithms that the package is measured against, each written from its paper.

Plain functions on arrays with floating-point numpy noise: for benchmarks, NOT for release. Some of
them are calibrated with values that only the private rows know; their names end in ``oracle`` or
``oracle_bounds`` and they are NOT private.

Shapes: ``x`` is (n, d), ``y`` is (n,), estimates are (d,). ``n`` is public. Neighbouring data sets
differ by the replacement of one row, unless a docstring says otherwise.
"""

import math
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
import statsmodels.api as sm
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit, log_ndtr, ndtr

Array = NDArray[np.float64]


# Privacy units ----------------------------------------------------------------------------------


def gdp_delta(mu: float, epsilon: float) -> float:
    """The delta at which ``mu``-GDP implies (epsilon, delta); Dong, Roth and Su (2022), Cor. 1."""
    upper = ndtr(-epsilon / mu + mu / 2)
    lower = math.exp(epsilon + float(log_ndtr(-epsilon / mu - mu / 2)))
    return float(upper) - lower


def gdp_mu(epsilon: float, delta: float) -> float:
    """Largest ``mu`` for which ``mu``-GDP implies (epsilon, delta), solved numerically.

    A Gaussian mechanism is (epsilon, delta) exactly when its sensitivity / noise sd is at most
    this number, so ``sensitivity / gdp_mu(epsilon, delta)`` is the analytic Gaussian calibration
    of Balle and Wang (2018).
    """
    if not (epsilon >= 0 and 0 < delta < 1):
        raise ValueError("epsilon must be at least 0 and delta inside (0, 1)")
    high = 1.0
    while gdp_delta(high, epsilon) < delta:
        high *= 2
    low = high
    while gdp_delta(low, epsilon) > delta:
        low /= 2
    if low == high:
        return low
    return float(brentq(lambda mu: gdp_delta(mu, epsilon) - delta, low, high, xtol=1e-14))


# Fits without privacy ---------------------------------------------------------------------------


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


def symmetric_noise(d: int, sd: float, rng: np.random.Generator) -> Array:
    """Symmetric (d, d) matrix, upper triangle and diagonal iid N(0, sd^2)."""
    upper = np.triu(rng.normal(0.0, sd, (d, d)))
    return upper + np.triu(upper, 1).T


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


def per_mechanism_mu(mu_each: float | None, rho_each: float | None) -> float:
    """``mu`` of one Gaussian mechanism; under zCDP it is ``sqrt(2 rho)``."""
    if mu_each is not None and rho_each is None:
        return mu_each
    if rho_each is not None and mu_each is None:
        return math.sqrt(2 * rho_each)
    raise ValueError("give exactly one of mu_each and rho_each")


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


# AdaSSP -----------------------------------------------------------------------------------------


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


# TukeyEM ----------------------------------------------------------------------------------------


def tukey_em(
    x: Array,
    y: Array,
    epsilon: float,
    delta: float,
    models: int,
    rng: np.random.Generator,
    *,
    weight: Literal["reference", "replace-one"] = "reference",
) -> Array | None:
    """TukeyEM: a private point of high depth among many least-squares fits.

    Source: Amin, Joseph, Ribero and Vassilvitskii, "Easy Differentially Private Linear Regression"
    (2022; ICLR 2023). The rows are split at random into ``models`` groups and each is fitted by
    least squares. The depth of a point is the smallest over the coordinates of its
    one-dimensional Tukey depth, so points of depth at least ``h`` form a box. Half of
    ``epsilon`` goes to the test that the exponential mechanism restricted to depth at least
    ``models/4`` is stable (`distance_to_unsafety` plus Laplace noise of scale ``2/epsilon``,
    against ``log(1/(2 delta)) 2/epsilon``), half to that mechanism, which draws a point with
    density ``exp(c depth)``.

    One row touches one fit, so every depth moves by at most 1. ``c = epsilon/2`` in the authors'
    published program ("reference"); with replacement of one row as the unit, depths and the
    normaliser can move in opposite directions and ``c = epsilon/4`` is what the argument of Brown
    et al. (2021) covers ("replace-one"): "reference" then spends up to 1.5 epsilon, to the
    competitor's advantage. The probability of a release on an unstable data set is at most
    ``delta``, and on a stable one the mechanism's own delta is at most ``delta/2``.

    Parameters
    ----------
    models : int
        Number of groups; each has ``n // models`` rows, of which it needs at least ``d``. Rows
        that are left over after the random split are not used.

    Returns
    -------
    array or None
        None: the stability test failed and nothing is released.
    """
    n, d = x.shape
    size = n // models
    if size < d:
        raise ValueError(f"{models} groups of {size} rows: each needs at least {d}")
    if models < 8:
        raise ValueError("at least 8 groups are needed")
    order = rng.permutation(n)[: size * models]
    groups_x = x[order].reshape(models, size, d)
    groups_y = y[order].reshape(models, size, 1)
    fits = (np.linalg.pinv(groups_x) @ groups_y)[:, :, 0]
    return deep_point(fits, epsilon, delta, rng, weight=weight)


def deep_point(
    points: Array,
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
    *,
    weight: Literal["reference", "replace-one"] = "reference",
) -> Array | None:
    """The private part of `tukey_em` on points of shape (models, d)."""
    models = len(points)
    ordered = np.sort(points, axis=0)
    deepest = models // 2
    restriction = deepest // 2
    half = epsilon / 2
    lower, upper = ordered[:deepest], ordered[::-1][:deepest]
    with np.errstate(divide="ignore"):
        log_volume = np.sum(np.log(upper - lower), axis=1)
    if not np.all(np.isfinite(log_volume)):
        return None

    distance = distance_to_unsafety(log_volume, half, delta, restriction)
    if distance + rng.laplace(0.0, 1 / half) <= math.log(1 / (2 * delta)) / half:
        return None

    depths = np.arange(restriction, deepest + 1)
    volumes = np.append(log_volume[restriction - 1 :], -np.inf)
    with np.errstate(divide="ignore"):
        log_shell = volumes[:-1] + np.log(-np.expm1(volumes[1:] - volumes[:-1]))
    c = half if weight == "reference" else half / 2
    # The largest of independent Gumbel-shifted log weights is a draw from the weights.
    drawn = int(np.argmax(log_shell + c * depths + rng.gumbel(size=len(depths))))
    outer = depths[drawn] - 1
    if outer + 1 == deepest:
        point: Array = rng.uniform(lower[outer], upper[outer])
        return point
    return uniform_in_shell(lower[outer], upper[outer], lower[outer + 1], upper[outer + 1], rng)


def distance_to_unsafety(log_volume: Array, epsilon: float, delta: float, restriction: int) -> int:
    """Lower bound on the number of points to replace before the mechanism becomes unstable.

    With ``V_h`` the volume of depth at least ``h`` (``log_volume[h - 1]``) and ``t`` the
    restriction: the largest ``k`` for which some ``g > 0`` has
    ``V_{t-k-1} / V_{t+k+g+1} exp(-epsilon g / 2) <= delta / (8 exp(epsilon))``, and -1 if there is
    none. Replacing one point moves the boxes by one depth, so the number changes by at most 1; and
    within that distance the restricted mechanism is (epsilon, delta/2)-stable (Brown, Gaboardi,
    Smith, Ullman and Zakynthinou 2021, "Covariance-Aware Private Mean Estimation Without Private
    Covariance Estimation", as used by Amin et al.).
    """
    deepest = len(log_volume)
    threshold = math.log(delta / 8) - epsilon
    distance = -1
    for k in range(restriction - 1):
        inner = log_volume[restriction + k + 1 :]  # V_{t+k+g+1} for g = 1, 2, ...
        if restriction + k + 2 > deepest:
            break
        gaps = np.arange(1, len(inner) + 1)
        ratios = log_volume[restriction - k - 2] - inner - epsilon * gaps / 2
        if float(np.min(ratios)) > threshold:
            break
        distance = k
    return distance


def uniform_in_shell(
    outer_low: Array,
    outer_high: Array,
    inner_low: Array,
    inner_high: Array,
    rng: np.random.Generator,
) -> Array:
    """Uniform draw from a box without a smaller box inside it; all arrays have shape (d,).

    The shell is cut by the first coordinate that leaves the inner box: the coordinates before it
    are inside, it is in one of the two margins, those after it are anywhere in the outer box.
    """
    d = len(outer_low)
    inner, outer = inner_high - inner_low, outer_high - outer_low
    left, right = inner_low - outer_low, outer_high - inner_high
    share = inner / outer
    # Volumes of the pieces over the outer volume.
    pieces = np.append(1.0, np.cumprod(share)[:-1]) * (left + right) / outer
    first = int(rng.choice(d, p=pieces / np.sum(pieces)))
    point = rng.uniform(outer_low, outer_high)
    point[:first] = rng.uniform(inner_low[:first], inner_high[:first])
    offset = rng.uniform(0.0, left[first] + right[first])
    if offset < left[first]:
        point[first] = outer_low[first] + offset
    else:
        point[first] = inner_high[first] + offset - left[first]
    return point
