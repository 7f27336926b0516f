"""Estimates of Gaussians and mixtures that the package is measured against, each from its paper.

Sources: Biswas, Dong, Kamath and Ullman (2020), "CoinPress: Practical Private Mean and Covariance
Estimation"; Bie, Kamath and Singhal (2022), "Private Estimation with Public Data".

Plain functions on arrays with floating-point numpy noise: for benchmarks, NOT for release. Names
that begin with ``nonprivate`` or end in ``not_private`` read the rows without protection or were
told the truth.

Shapes: ``x`` is (n, d), ``public`` is (m, d). Neighbouring data sets differ by the replacement of
one row; ``n`` is public; ``rho`` is the budget of zero-concentrated differential privacy.
"""

import math
import warnings
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.stats import chi2

from .competitors import symmetric_noise
from .eptr_competitors import into_ball
from .gaussian_settings import Labels
from .settings import Array

COARSE_SHARE = 0.25
"""CoinPress's experiments: a quarter of the budget in equal parts to all rounds but the last."""
DRAWS = 2000


class Estimate(NamedTuple):
    """Mean, shape (d,), and covariance, shape (d, d)."""

    mean: Array
    cov: Array


class Components(NamedTuple):
    """Weights (k,), means (k, d) and covariances (k, d, d) of a mixture."""

    weights: Array
    means: Array
    covariances: Array


# How far off --------------------------------------------------------------------------------------


def root_and_inverse(matrix: Array) -> tuple[Array, Array]:
    """Symmetric square root of a positive definite matrix, and its inverse."""
    values, vectors = np.linalg.eigh(matrix)
    if values[0] <= 0:
        raise ValueError("the matrix must be positive definite")
    return (vectors * np.sqrt(values)) @ vectors.T, (vectors / np.sqrt(values)) @ vectors.T


def covariance_error(found: Array, cov: Array, norm: Literal["fro", 2] = "fro") -> float:
    """``|Sigma^-1/2 S Sigma^-1/2 - I|`` in the Frobenius norm, or with 2 in the spectral norm."""
    white = root_and_inverse(cov)[1]
    return float(np.linalg.norm(white @ found @ white - np.eye(len(cov)), norm))


def mean_error(found: Array, mean: Array, cov: Array) -> float:
    """Mahalanobis distance from the true mean in the true covariance."""
    return float(np.linalg.norm(root_and_inverse(cov)[1] @ (found - mean)))


def total_variation(found: Estimate, truth: Estimate, draws: int, seed: int = 0) -> float:
    """Total variation distance of two normal laws, by Monte Carlo; 1 if ``found`` is singular."""
    white = root_and_inverse(truth.cov)[1]
    mean, cov = white @ (found.mean - truth.mean), white @ found.cov @ white
    sign, logdet = np.linalg.slogdet(cov)
    if sign <= 0 or np.linalg.eigvalsh(cov)[0] <= 0:
        return 1.0
    z = np.random.default_rng(seed).standard_normal((draws, len(mean)))
    scaled = np.linalg.solve(np.linalg.cholesky(cov), (z - mean).T)
    log_ratio = 0.5 * (np.sum(z**2, axis=1) - np.sum(scaled**2, axis=0) - logdet)
    return float(np.mean(-np.expm1(np.minimum(log_ratio, 0.0))))


def match(means: Array, truth: Components) -> list[tuple[int, int, float]]:
    """Pairs (true component, estimate, Mahalanobis mean error), each estimate used once at most.

    As many pairs as possible have an error below 1; among those choices the sum is smallest.
    """
    errors = np.array(
        [
            [mean_error(found, mean, cov) for found in means]
            for mean, cov in zip(truth.means, truth.covariances, strict=True)
        ]
    )
    # A miss costs more than all hits together, and how far it misses matters least.
    misses = len(errors) + 1 + np.log1p(np.minimum(errors, 1e12)) / 1e3
    pairs = linear_sum_assignment(np.where(errors < 1, errors, misses))
    return [(int(j), int(i), float(errors[j, i])) for j, i in zip(*pairs, strict=True)]


class MixtureErrors(NamedTuple):
    """Whether every component was found, and the worst component's errors (nan if not)."""

    found: bool
    mean: float
    cov: float
    tv: float
    weight: float


def mixture_errors(found: Components, truth: Components, draws: int = DRAWS) -> MixtureErrors:
    """Errors after `match`: found means a Mahalanobis mean error below 1 for every component."""
    pairs = match(found.means, truth)
    if len(pairs) < len(truth.means) or max(error for _, _, error in pairs) >= 1:
        return MixtureErrors(False, *[math.nan] * 4)
    covs, tvs, weights = [], [], []
    for j, i, _ in pairs:
        estimate = Estimate(found.means[i], found.covariances[i])
        covs.append(covariance_error(estimate.cov, truth.covariances[j]))
        tvs.append(total_variation(estimate, Estimate(truth.means[j], truth.covariances[j]), draws))
        weights.append(abs(float(found.weights[i] - truth.weights[j])))
    return MixtureErrors(True, max(error for *_, error in pairs), max(covs), max(tvs), max(weights))


# Without privacy, without private rows, with the truth --------------------------------------------


def nonprivate_mean(x: Array) -> Array:
    """The sample mean."""
    return np.asarray(np.mean(x, axis=0))


def nonprivate_covariance(x: Array) -> Array:
    """The sample covariance, divisor n - 1."""
    return np.asarray(np.atleast_2d(np.cov(x, rowvar=False)))


def nonprivate(x: Array) -> Estimate:
    """Sample mean and covariance: the reference of all error ratios."""
    return Estimate(nonprivate_mean(x), nonprivate_covariance(x))


def public_only(public: Array) -> Estimate:
    """Mean and covariance of the public rows: no private row is read, nothing is spent."""
    return nonprivate(public)


class Lift(NamedTuple):
    """Clipping radius and the constant coordinate that rows are extended by."""

    radius: float
    constant: float


def clipping_loss(squared: float, d: int) -> float:
    """What clipping at this squared radius takes from every eigenvalue of an identity covariance."""
    return float(chi2.sf(squared, d + 2) - squared / d * chi2.sf(squared, d))


@lru_cache(maxsize=64)
def best_lift(n: int, d: int, rho: float) -> Lift:
    """The radius and constant with the least clipping bias and noise at an identity covariance."""
    tails = np.geomspace(min(0.1 / n, 0.05), 0.5, 60)
    squares = np.asarray(chi2.isf(tails, d))
    choices = []
    for squared in map(float, squares):
        bias = d * clipping_loss(squared, d) ** 2
        for share in map(float, np.geomspace(0.02, 1, 12)):
            variance = squared**2 * (1 + share) ** 2 / (n**2 * rho)
            noise = variance * d * (d + 1) / 2
            cost = (bias + noise) / 2 + variance * d / (2 * share * squared)
            choices.append((cost, math.sqrt(squared), math.sqrt(share * squared)))
    return Lift(*min(choices)[1:])


def lifted_release(w: Array, rho: float, lift: Lift, rng: np.random.Generator) -> Estimate:
    """Mean and SECOND MOMENT of clipped rows in one Gaussian mechanism.

    A row becomes ``(b, w)``; the average of the outer products moves by at most
    ``sqrt(2) (g^2 + b^2) / n`` in the Frobenius norm. Its corner is constant.
    """
    n, d = w.shape
    w = into_ball(w, lift.radius)
    sd = (lift.radius**2 + lift.constant**2) / (n * math.sqrt(rho))
    noise = rng.normal(0.0, sd, (d, d))
    mean = np.mean(w, axis=0) + rng.normal(0.0, sd / (math.sqrt(2) * lift.constant), d)
    return Estimate(mean, w.T @ w / n + (noise + noise.T) / 2)


def oracle_release_not_private(
    x: Array, mean: Array, cov: Array, rho: float, rng: np.random.Generator
) -> Estimate:
    """One lifted release with all of ``rho``, told the TRUE mean and covariance to whiten with.

    No estimate that has to find its way there can expect to do better.
    """
    n, d = x.shape
    root, white = root_and_inverse(cov)
    lift = best_lift(n, d, rho)
    centre, second = lifted_release((x - mean) @ white, rho, lift, rng)
    values, vectors = np.linalg.eigh(second - np.outer(centre, centre))
    floor = 0.5 * (lift.radius**2 + lift.constant**2) / (n * math.sqrt(rho))
    inner = (vectors * np.maximum(values, floor)) @ vectors.T
    return Estimate(mean + centre @ root, root @ inner @ root)


# CoinPress ----------------------------------------------------------------------------------------


def norm_limit(d: int, beta: float) -> float:
    """Bound on the length of a standard normal vector, exceeded with probability ``beta``."""
    log = math.log(1 / beta)
    return math.sqrt(d + 2 * math.sqrt(d * log) + 2 * log)


def coinpress_budgets(rho: float, steps: int) -> list[float]:
    """A quarter of ``rho`` in equal parts to all rounds but the last, as in the experiments."""
    if steps == 1:
        return [rho]
    return [COARSE_SHARE * rho / (steps - 1)] * (steps - 1) + [(1 - COARSE_SHARE) * rho]


def coinpress_mean(
    x: Array,
    rho: float,
    radius: float,
    steps: int,
    rng: np.random.Generator,
    eta: float = 0.01,
) -> Array:
    """Mean of rows with identity covariance: shrinking balls around noisy means.

    Parameters
    ----------
    x : array, shape (n, d)
        Rows; their covariance must be the identity or less.
    rho : float
        Budget, divided as in `coinpress_budgets`.
    radius : float
        Bound on the length of the mean.
    steps : int
        Rounds.
    rng : Generator
        Source of the noise.
    eta : float
        Failure probability behind the length of a row and of the next ball, 0.01 in the
        experiments. Rows are clipped where this share is cut: the theorem has ``eta / n``.
    """
    n, d = x.shape
    centre, length = np.zeros(d), norm_limit(d, eta)
    across = math.sqrt(2 * math.log(1 / eta))
    for budget in coinpress_budgets(rho, steps):
        # A row's noise is almost orthogonal to the centre's error.
        limit = min(radius + length, math.sqrt(radius**2 + 2 * radius * across + length**2))
        sd = 2 * limit / (n * math.sqrt(2 * budget))
        centre = centre + np.mean(into_ball(x - centre, limit), axis=0) + rng.normal(0.0, sd, d)
        radius = math.sqrt(1 / n + sd**2) * length
    return centre


def paired_differences(x: Array) -> Array:
    """Differences of neighbouring rows over sqrt(2): mean 0, same covariance, half as many."""
    n = len(x) // 2 * 2
    return np.asarray((x[0:n:2] - x[1:n:2]) / math.sqrt(2))


def coinpress_covariance(
    x: Array,
    rho: float,
    K: float,
    steps: int,
    rng: np.random.Generator,
    eta: float = 0.1,
    centred: bool = False,
) -> Array:
    """Covariance between ``I`` and ``K I``: shrinking ellipsoids from noisy second moments.

    Rows are whitened by ``w = x A``. A round that finds the upper bound ``U`` for their covariance
    continues with ``A U^-1/2``, in this order, and the answer is ``A^-T Z A^-1``. The authors'
    program has ``U^-1/2 A``, which is wrong from the third round on unless the matrices commute.

    As in the authors' experiments, ``U`` is the round's estimate plus half of a bound on the
    sampling error. Their theorem adds a bound on the noise too, with which the ellipsoids may grow
    instead of shrink at the sizes of these benchmarks.

    Parameters
    ----------
    x : array, shape (n, d)
        Rows, replaced by `paired_differences` unless they are ``centred``.
    rho : float
        Budget, divided as in `coinpress_budgets`.
    K : float
        Upper bound on the covariance's eigenvalues where the smallest is at least 1.
    steps : int
        Rounds.
    rng : Generator
        Source of the noise.
    eta : float
        Share of rows that is clipped at most, 0.1 in the experiments.
    centred : bool
        Whether the mean is known to be 0.
    """
    if not centred:
        x = paired_differences(x)
    n, d = x.shape
    whiten, back = np.eye(d) / math.sqrt(K), np.eye(d) * math.sqrt(K)
    gamma, margin = norm_limit(d, eta), math.sqrt(d / n) + d / n / 2
    values, vectors = np.ones(d), np.eye(d)
    for step, budget in enumerate(coinpress_budgets(rho, steps)):
        w = into_ball(x @ whiten, gamma)
        # Sensitivity sqrt(2) gamma^2 / n in the upper triangle with the diagonal.
        sd = gamma**2 / (n * math.sqrt(budget))
        values, vectors = np.linalg.eigh(w.T @ w / n + symmetric_noise(d, sd, rng))
        values = np.maximum(values, 0.0)
        if step < steps - 1:
            upper = np.sqrt(values + margin)
            whiten = whiten @ (vectors / upper) @ vectors.T
            back = (vectors * upper) @ vectors.T @ back
    found = back.T @ ((vectors * values) @ vectors.T) @ back
    return np.asarray((found + found.T) / 2)


def coinpress(
    x: Array, rho: float, radius: float, K: float, steps: int, rng: np.random.Generator
) -> Estimate:
    """Mean and covariance: half of ``rho`` each, the covariance first, from paired differences.

    The mean is then estimated from rows that the estimate has whitened. Each half is divided
    over the rounds as in `coinpress_budgets`. The smallest eigenvalue of the covariance must be at
    least 1, so no smaller one is used to whiten; ``radius`` bounds the mean in units of the TRUE
    covariance and is doubled, since the estimate may be too small by a factor up to four.
    """
    cov = coinpress_covariance(x, rho / 2, K, steps, rng)
    values, vectors = np.linalg.eigh(cov)
    length = np.sqrt(np.maximum(values, 1.0))
    white, root = (vectors / length) @ vectors.T, (vectors * length) @ vectors.T
    return Estimate(coinpress_mean(x @ white, rho / 2, 2 * radius, steps, rng) @ root, cov)


# Public rows in the paper's way -------------------------------------------------------------------


class Preconditioner(NamedTuple):
    """Algorithm 1: public mean and covariance, and the range ``[low, high]`` of the private one."""

    mean: Array
    cov: Array
    low: float
    high: float


@lru_cache(maxsize=32)
def simulated_range(d: int, m: int, beta: float, draws: int = 1000) -> tuple[float, float]:
    """Smallest and largest eigenvalue of ``Shat^-1/2 Sigma Shat^-1/2``, each failing at beta / 3.

    ``Shat`` is the covariance of m rows; its eigenvalues in units of the truth do not depend on it.
    """
    rng = np.random.default_rng(20220)
    ends = []
    for _ in range(draws):
        singular = np.linalg.svd(rng.standard_normal((m - 1, d)), compute_uv=False)
        ends.append(singular[[0, -1]] ** 2 / (m - 1))
    largest, smallest = np.array(ends).T
    low = 1 / float(np.quantile(largest, 1 - beta / 3))
    return low, 1 / float(np.quantile(smallest, beta / 3))


def paper_preconditioner(public: Array, eta: float) -> Preconditioner:
    """Algorithm 1. The closed form for d + 1 rows, the simulated range for more."""
    m, d = public.shape
    log = math.log(3 / eta)
    low = d / (4 * d + 4 * math.sqrt(2 * d * log) + 2 * log)
    high = 9 * d**2 / eta**2
    if m > d + 1:
        low, high = simulated_range(d, m, eta)
    return Preconditioner(*nonprivate(public), low, high)


def papers_pipeline(
    x: Array,
    public: Array,
    rho: float,
    steps: int,
    eta: float,
    rng: np.random.Generator,
) -> Estimate:
    """Algorithm 2 with CoinPress as the estimator of the bounded Gaussian.

    Rows become ``L^-1/2 (x - mean) S^-1/2`` with the public mean and covariance; their covariance
    lies between ``I`` and ``U/L I``, their mean within ``sqrt(U/L)`` times the bound on the error
    of the public mean. ``eta`` is the failure probability of Algorithm 1.
    """
    found = paper_preconditioner(public, eta)
    root, white = root_and_inverse(found.cov)
    root, white = root * math.sqrt(found.low), white / math.sqrt(found.low)
    m, d = public.shape
    K = found.high / found.low
    radius = math.sqrt(K / m) * norm_limit(d, eta / 3)
    mean, cov = coinpress((x - found.mean) @ white, rho, radius, K, steps, rng)
    return Estimate(found.mean + mean @ root, root @ cov @ root)


def paper_mean_radius(n: int, d: int, m: int, eta: float) -> float:
    """Claim 2.1 for the mean of m public rows plus the clip-and-noise radius of a row."""
    return norm_limit(d, eta / 2) / math.sqrt(m) + norm_limit(d, eta / 2 / n)


def paper_mean(x: Array, public: Array, rho: float, eta: float, rng: np.random.Generator) -> Array:
    """Theorem 2.3: identity covariance, one round of clip-and-noise around the public mean."""
    n, d = x.shape
    centre = nonprivate_mean(public)
    radius = paper_mean_radius(n, d, len(public), eta)
    noise = rng.normal(0.0, 2 * radius / (n * math.sqrt(2 * rho)), d)
    return np.asarray(centre + np.mean(into_ball(x - centre, radius), axis=0) + noise)


def laplace_mean(
    x: Array, public: Array, epsilon: float, eta: float, rng: np.random.Generator
) -> Array:
    """`paper_mean` under pure epsilon: Laplace noise in every coordinate, l1 sensitivity."""
    n, d = x.shape
    centre = nonprivate_mean(public)
    radius = paper_mean_radius(n, d, len(public), eta)
    noise = rng.laplace(0.0, 2 * math.sqrt(d) * radius / (n * epsilon), d)
    return np.asarray(centre + np.mean(into_ball(x - centre, radius), axis=0) + noise)


# Mixtures without privacy -------------------------------------------------------------------------


def labelled_oracle_not_private(x: Array, labels: Labels, k: int) -> Components:
    """Weight, mean and covariance of every component, told where each row comes from."""
    parts = [x[labels == j] for j in range(k)]
    return Components(
        np.array([len(part) / len(x) for part in parts]),
        np.array([nonprivate_mean(part) for part in parts]),
        np.array([nonprivate_covariance(part) for part in parts]),
    )


def gaussian_mixture_not_private(x: Array, k: int, n_init: int = 1, seed: int = 0) -> Components:
    """Scikit-learn's GaussianMixture, full covariances, ``n_init`` starts (its default is 1)."""
    from sklearn.mixture import GaussianMixture

    # The offset costs digits of the moments and nothing else.
    centre = nonprivate_mean(x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # says that it has not converged
        fit = GaussianMixture(k, n_init=n_init, random_state=seed).fit(x - centre)
    return Components(fit.weights_, fit.means_ + centre, fit.covariances_)
