"""Fits without privacy and the ePTR paper's algorithms, each written from its source.

Source: Shen, Tong and Wang (2026), "Efficient Propose-Test-Release for Optimal Differentially
Private Estimation". Plain functions on arrays with floating-point numpy noise: for benchmarks, NOT
for release. Names that begin with ``nonprivate`` read the rows without any protection; names that
end in ``oracle`` were told something that only the private rows know.

Shapes: ``x`` is (n, d), ``y`` is (n,). Neighbouring data sets differ by the replacement of one
row; ``n`` is public.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from scipy.stats import chi

from .competitors import Array, gdp_mu, solve, symmetric_noise
from .eptr_settings import Labels

CovarianceKind = Literal["identity", "diagonal", "full"]


# Algorithm 2: the test and the release ------------------------------------------------------------


def paper_shift(epsilon: float, delta: float) -> float:
    """The level M at which the paper's test is passed with probability one half."""
    return 1 + 2 / epsilon * math.log(max(1 / delta, 1 / epsilon))


def paper_pass_probability(safety: ArrayLike, epsilon: float, delta: float) -> Array:
    """Probability of a reply at a safety lower bound: logistic in ``epsilon / 2 (safety - M)``."""
    level = np.asarray(safety, dtype=np.float64) - paper_shift(epsilon, delta)
    return np.asarray(expit(epsilon / 2 * level))


def paper_noise(alpha: float, epsilon: float, delta: float) -> float:
    """Noise deviation of a reply: the classical Gaussian mechanism at half of epsilon."""
    return 2 * alpha / epsilon * math.sqrt(2 * math.log(1.25 / delta))


def paper_eptr(
    estimate: Array,
    safety: float,
    alpha: float,
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
) -> Array | None:
    """Algorithm 2: the estimate with noise, or None for "no reply"."""
    if rng.random() >= paper_pass_probability(safety, epsilon, delta):
        return None
    return estimate + paper_noise(alpha, epsilon, delta) * rng.standard_normal(estimate.shape)


def into_ball(x: Array, radius: float) -> Array:
    """Rows scaled down to length ``radius`` where they are longer."""
    length = np.linalg.norm(x, axis=-1, keepdims=True)
    return np.asarray(x * (radius / np.maximum(length, radius)))


# Algorithm 4: least squares -----------------------------------------------------------------------


class OlsLimits(NamedTuple):
    """What Algorithm 4 has to be told.

    Attributes
    ----------
    x : float
        Bound on the length of a row.
    theta : float
        Bound on the length of the coefficients; responses are clipped at ``x * theta``.
    level : float
        c0: the smallest eigenvalue of x'x is expected above ``c0 n``.
    """

    x: float
    theta: float
    level: float


def tuned_ols_limits(p: int = 5) -> OlsLimits:
    """Limits that suit section 4.3: the 99 % quantile of a row's length, 1 and 0.75.

    The paper does not say which it used. The true coefficients have length 1: an oracle.
    """
    return OlsLimits(float(chi.ppf(0.99, p)), 1.0, 0.75)


def theory_ols_limits(n: int, p: int = 5) -> OlsLimits:
    """Limits of Theorem 4.3 at an identity covariance: ``2 sqrt(p log n)``, 1 and 1/4."""
    return OlsLimits(2 * math.sqrt(p * math.log(n)), 1.0, 0.25)


def paper_ols(
    x: Array,
    y: Array,
    limits: OlsLimits,
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
) -> Array | None:
    """Algorithm 4; None for "no reply". Rows are clipped, responses are not scaled with them."""
    n = len(y)
    x = into_ball(x, limits.x)
    y = np.clip(y, -limits.x * limits.theta, limits.x * limits.theta)
    gram = x.T @ x
    smallest = float(np.linalg.eigvalsh(gram)[0])
    estimate = np.asarray(np.linalg.lstsq(gram, x.T @ y)[0])
    estimate = into_ball(estimate, limits.theta)
    safety = max(0.0, (smallest - limits.level * n - 2 * limits.x**2) / (2 * limits.x**2))
    alpha = 4 * limits.x**2 * limits.theta / (limits.level * n)
    return paper_eptr(estimate, safety, alpha, epsilon, delta, rng)


def adassp_published(
    x: Array,
    y: Array,
    x_bound: float,
    y_bound: float,
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
    *,
    failure: float = 0.05,
) -> Array:
    """AdaSSP with the constants of its paper: Wang (2018), Algorithm 2.

    Smallest eigenvalue, ``x'x`` and ``x'y`` take a third of the budget each, at noise
    ``sqrt(log(6/delta)) / (epsilon/3)`` times the sensitivity. Wang's neighbours add or remove a
    row; here a row is replaced, so that ``x'x`` has sensitivity ``sqrt(2) x_bound^2`` and ``x'y``
    has ``2 x_bound y_bound`` (the eigenvalue keeps ``x_bound^2``).

    Parameters
    ----------
    x_bound, y_bound : float
        Rows and responses are clipped there.
    failure : float
        Wang's rho.
    """
    d = x.shape[1]
    x, y = into_ball(x, x_bound), np.clip(y, -y_bound, y_bound)
    unit = math.sqrt(math.log(6 / delta)) / (epsilon / 3)
    sd_value = unit * x_bound**2
    sd_gram = unit * math.sqrt(2) * x_bound**2
    gram = x.T @ x
    smallest = float(np.linalg.eigvalsh(gram)[0]) + sd_value * rng.standard_normal()
    smallest = max(0.0, smallest - math.sqrt(math.log(6 / delta)) * sd_value)
    penalty = max(0.0, math.sqrt(d * math.log(2 * d**2 / failure)) * sd_gram - smallest)
    noisy_gram = gram + symmetric_noise(d, sd_gram, rng) + penalty * np.eye(d)
    noisy_cross = x.T @ y + unit * 2 * x_bound * y_bound * rng.standard_normal(d)
    return solve(noisy_gram, noisy_cross)


def functional_mechanism(
    x: Array,
    y: Array,
    x_bound: float,
    y_bound: float,
    epsilon: float,
    rng: np.random.Generator,
) -> Array:
    """Least squares of Zhang, Zhang, Xiao, Yang and Winslett (2012): the loss itself gets noise.

    Rows and responses are divided by their bounds; the coefficients of the quadratic loss then move
    by at most ``2 (1 + 2 d + d^2)`` in the l1 norm, and each gets Laplace noise of pure epsilon.
    Their repair: a ridge of four noise deviations, and eigenvalues that stay negative are left out.
    """
    d = x.shape[1]
    x, y = into_ball(x, x_bound) / x_bound, np.clip(y, -y_bound, y_bound) / y_bound
    scale = 2 * (1 + 2 * d + d**2) / epsilon
    upper = np.triu(rng.laplace(0.0, scale, (d, d)))
    gram = x.T @ x + upper + np.triu(upper, 1).T + 4 * math.sqrt(2) * scale * np.eye(d)
    linear = -2 * x.T @ y + rng.laplace(0.0, scale, d)
    values, vectors = np.linalg.eigh(gram)
    kept = vectors[:, values > 0]
    found = -kept @ ((kept.T @ linear) / (2 * values[values > 0]))
    return np.asarray(found * y_bound / x_bound)


def noisy_descent(
    x: Array,
    y: Array,
    limits: OlsLimits,
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
) -> Array:
    """Gradient descent with noise: Cai, Wang and Zhang (2021), Algorithm 4.1.

    ``log n`` steps of length 1, which suits an identity covariance, each of ``(epsilon, delta)`` over
    their number, with the noise ``B sqrt(2 log(2 T / delta)) T / (n epsilon)``. B is the most that a
    row can move the sum of the gradients, ``2 x (y + x theta)`` at the bounds; theirs is larger.
    """
    n, d = x.shape
    y_bound = limits.x * limits.theta
    x, y = into_ball(x, limits.x), np.clip(y, -y_bound, y_bound)
    steps = math.ceil(math.log(n))
    size = 2 * limits.x * (y_bound + limits.x * limits.theta)
    sd = size * math.sqrt(2 * math.log(2 * steps / delta)) * steps / (n * epsilon)
    found = np.zeros(d)
    for _ in range(steps):
        gradient = x.T @ (x @ found - y) / n
        found = into_ball(found - gradient + sd * rng.standard_normal(d), limits.theta)
    return found


# Algorithm 3: Bayes' classifier -------------------------------------------------------------------


@dataclass(frozen=True)
class Classifier:
    """A Gaussian classifier with one covariance for all classes.

    Attributes
    ----------
    classes : array, shape (k,)
        Labels.
    priors : array, shape (k,)
        Probabilities.
    centres : array, shape (k, d)
        Class means.
    covariance : array, shape (d, d)
        Of every class.
    """

    classes: Labels
    priors: Array
    centres: Array
    covariance: Array

    def predict(self, x: Array) -> Labels:
        """Most probable classes, shape (n,). A singular covariance counts in its range only."""
        inverse = np.linalg.pinv(self.covariance, hermitian=True)
        weights = self.centres @ inverse
        constant = np.log(self.priors) - np.sum(weights * self.centres, axis=1) / 2
        return np.asarray(self.classes[np.argmax(x @ weights.T + constant, axis=1)])


def balanced_error(truth: Labels, predicted: Labels) -> float:
    """Mean over the classes of the share of their rows that are misclassified."""
    return float(np.mean([np.mean(predicted[truth == k] != k) for k in np.unique(truth)]))


def class_moments(x: Array, labels: Labels, classes: Labels) -> tuple[Array, Array]:
    """Numbers of rows, shape (k,), and means, shape (k, d), of the classes; 0 for an empty one."""
    member = (labels == classes[:, None]).astype(np.float64)
    counts = np.sum(member, axis=1)
    return counts, member @ x / np.maximum(counts, 1)[:, None]


def nonprivate_bayes(
    x: Array,
    labels: Labels,
    covariance: CovarianceKind = "identity",
    *,
    equal_priors: bool = False,
) -> Classifier:
    """Frequencies, class means and the pooled covariance without privacy."""
    classes = np.unique(labels)
    counts, centres = class_moments(x, labels, classes)
    priors = np.full(len(classes), 1 / len(classes)) if equal_priors else counts / np.sum(counts)
    rest = x - centres[np.searchsorted(classes, labels)]
    return Classifier(classes, priors, centres, pooled_covariance(rest, covariance))


def pooled_covariance(rest: Array, kind: CovarianceKind) -> Array:
    """Covariance of the rows around their class means, shape (d, d)."""
    if kind == "identity":
        return np.eye(rest.shape[1])
    full = rest.T @ rest / len(rest)
    return np.diag(np.diag(full)) if kind == "diagonal" else full


def paper_bayes(
    x: Array,
    labels: Labels,
    classes: Labels,
    radius: float,
    level: float,
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
) -> Classifier | None:
    """Algorithm 3; None for "no reply".

    Parameters
    ----------
    radius : float
        Rows are clipped to this length.
    level : float
        c0: every class is expected to have more than ``c0 n + 1`` rows. Also the floor of the
        released priors.
    """
    n, d = x.shape
    k = len(classes)
    counts, centres = class_moments(into_ball(x, radius), labels, classes)
    safety = max(0.0, float(np.min(counts)) - level * n - 1)
    alpha = 2 / n * math.sqrt(2 * radius**2 / level**2 + 2)
    estimate = np.concatenate([counts / n, centres.ravel()])
    found = paper_eptr(estimate, safety, alpha, epsilon, delta, rng)
    if found is None:
        return None
    priors = np.maximum(found[:k], level)
    return Classifier(classes, priors / np.sum(priors), found[k:].reshape(k, d), np.eye(d))


def sums_bayes(
    x: Array,
    labels: Labels,
    classes: Labels,
    radius: float,
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
    covariance: Array,
) -> Classifier:
    """Noisy class sums and counts without any test, at the exact Gaussian calibration.

    ``(sum of the rows, radius * count)`` of all classes moves by at most ``2 radius`` when a row
    is replaced. ``covariance``, shape (d, d), must be public.
    """
    x = into_ball(x, radius)
    counts, centres = class_moments(x, labels, classes)
    sd = 2 * radius / gdp_mu(epsilon, delta)
    sums = centres * counts[:, None] + sd * rng.standard_normal(centres.shape)
    counts = np.maximum(counts + sd / radius * rng.standard_normal(len(classes)), 1.0)
    centres = into_ball(sums / counts[:, None], radius)
    return Classifier(classes, counts / np.sum(counts), centres, covariance)


def laplace_bayes(
    x: Array,
    labels: Labels,
    classes: Labels,
    radius: float,
    epsilon: float,
    rng: np.random.Generator,
) -> Classifier:
    """Naive Bayes of Vaidya, Shafiq, Basu and Hong (2013), told that all variances are 1.

    Laplace noise of pure epsilon on counts and on each feature's class sums, which share the budget
    equally: features are columns of the same row, so their costs add up. Theirs takes the private
    count into the sensitivity of a mean; here the sum has one that holds for all data, ``2 radius``.
    """
    x = into_ball(x, radius)
    counts, centres = class_moments(x, labels, classes)
    share = epsilon / (x.shape[1] + 1)
    sums = centres * counts[:, None] + rng.laplace(0.0, 2 * radius / share, centres.shape)
    counts = np.maximum(counts + rng.laplace(0.0, 2 / share, len(classes)), 1.0)
    centres = np.clip(sums / counts[:, None], -radius, radius)
    return Classifier(classes, counts / np.sum(counts), centres, np.eye(x.shape[1]))


# Algorithm 5: kernel regression -------------------------------------------------------------------


def exponents(
    points: Array, x: Array, bandwidth: ArrayLike, block: int = 1024
) -> Iterator[tuple[slice, Array]]:
    """Blocks of points with ``|| (point - x) / bandwidth ||^2 / 2``, shape (block, n)."""
    a, b = points / np.asarray(bandwidth), x / np.asarray(bandwidth)
    length = np.sum(b**2, axis=1) / 2
    for start in range(0, len(a), block):
        part = a[start : start + block]
        half = np.sum(part**2, axis=1)[:, None] / 2 + length - part @ b.T
        yield slice(start, start + len(part)), np.maximum(half, 0.0)


def kernel_sums(points: Array, x: Array, y: Array, bandwidth: ArrayLike) -> tuple[Array, Array]:
    """Numerator and degree of the kernel fit, shape (m,) each; Gaussian kernel, at most 1."""
    both = np.empty((len(points), 2))
    columns = np.column_stack([y, np.ones(len(y))])
    for part, half in exponents(points, x, bandwidth):
        both[part] = np.exp(-half) @ columns
    return both[:, 0], both[:, 1]


def nonprivate_nw(points: Array, x: Array, y: Array, bandwidth: ArrayLike) -> Array:
    """Nadaraya and Watson's estimate at the points, shape (m,).

    The largest weight of each point is divided out: far from all rows the estimate is that of
    the nearest one, never 0/0.
    """
    found = np.empty(len(points))
    for part, half in exponents(points, x, bandwidth):
        weight = np.exp(np.min(half, axis=1, keepdims=True) - half)
        found[part] = weight @ y / np.sum(weight, axis=1)
    return found


def nonprivate_left_out_error(x: Array, y: Array, bandwidth: ArrayLike) -> float:
    """Mean squared error of predicting each row from all others."""
    found = np.empty(len(y))
    for part, half in exponents(x, x, bandwidth):
        index = np.arange(part.start, part.stop)
        half[index - part.start, index] = np.inf
        weight = np.exp(np.min(half, axis=1, keepdims=True) - half)
        found[part] = weight @ y / np.sum(weight, axis=1)
    return float(np.mean((found - y) ** 2))


def nonprivate_bandwidth(x: Array, y: Array, candidates: Sequence[float]) -> float:
    """The candidate with the smallest leave-one-out error, the same for all covariates."""
    return min(candidates, key=lambda h: nonprivate_left_out_error(x, y, h))


def nonprivate_bandwidths(
    x: Array, y: Array, start: float, factor: float = 1.5, rounds: int = 20
) -> Array:
    """One bandwidth for each covariate, shape (d,), by descent of the leave-one-out error.

    Each is multiplied or divided by ``factor`` as long as the error falls by a millionth.
    """
    found = np.full(x.shape[1], start)
    best = nonprivate_left_out_error(x, y, found)
    for _ in range(rounds):
        before = best
        for j in range(x.shape[1]):
            for step in (factor, 1 / factor):
                while True:
                    trial = found.copy()
                    trial[j] *= step
                    error = nonprivate_left_out_error(x, y, trial)
                    if error >= best * (1 - 1e-6) or not 1e-3 < trial[j] < 1e3:
                        break
                    found, best = trial, error
        if best == before:
            break
    return found


class NwLimits(NamedTuple):
    """What Algorithm 5 has to be told.

    Attributes
    ----------
    response : float
        R_f: responses and estimates are clipped at plus and minus this.
    degree : float
        The paper's ``c0 n`` for a kernel of maximum 1, ``c0 n sigma^d / C_K``: how large the sum
        of the weights is expected to be at least.
    """

    response: float
    degree: float


def paper_degree(level: float, n: int, bandwidth: float, d: int) -> float:
    """The paper's ``c0 n``, for a Gaussian density kernel, in units of a kernel of maximum 1."""
    return level * n * (bandwidth * math.sqrt(2 * math.pi)) ** d


def paper_nw(
    num: Array,
    den: Array,
    limits: NwLimits,
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
    *,
    compose: bool = False,
) -> tuple[Array, NDArray[np.bool_]]:
    """Algorithm 5 once at each of m points: the estimates (NaN for "no reply") and the replies.

    The paper proves privacy of ONE point. All m together cost ``(m epsilon, m delta)``, or with
    ``compose`` the m uses get ``(epsilon / m, delta / m)`` each.

    Parameters
    ----------
    num, den : array, shape (m,)
        `kernel_sums` of responses that were clipped at ``limits.response``.
    """
    m = len(den)
    if compose:
        epsilon, delta = epsilon / m, delta / m
    estimate = np.divide(num, den, out=np.zeros(m), where=den > 0)
    estimate = np.clip(estimate, -limits.response, limits.response)
    # One record moves the degree by 2 in the paper (1 would do), the kernel's maximum being 1.
    safety = np.maximum(0.0, (den - limits.degree - 2) / 2)
    sd = paper_noise(4 * limits.response / limits.degree, epsilon, delta)
    reply = rng.random(m) < paper_pass_probability(safety, epsilon, delta)
    return np.where(reply, estimate + sd * rng.standard_normal(m), np.nan), reply


def sums_nw_marginals(
    num: Array, den: Array, response: float, epsilon: float, delta: float, rng: np.random.Generator
) -> Array:
    """What a Gaussian process of noise on both sums gives at each point by itself, shape (m,).

    Hall, Rinaldo and Wasserman (2013): noise with the kernel's covariance, deviations
    ``2 response / mu`` and ``2 / mu``, protects the sums at all points of space at once. Here the
    noise is independent between points: mean squared errors are the same, but the result is NOT
    a release.
    """
    mu = gdp_mu(epsilon, delta)
    noise = 2 / mu * rng.standard_normal((2, len(den)))
    fit = (num + response * noise[0]) / np.maximum(den + noise[1], 4 / mu)
    return np.asarray(np.clip(fit, -response, response))


class KernelPlan(NamedTuple):
    """How to smooth under noise, chosen on public rows.

    Attributes
    ----------
    bandwidth : array, shape (d,)
        One for each covariate.
    ridge : float
        Added to the noisy degree: it pulls the fit to 0 where there are few rows.
    """

    bandwidth: Array
    ridge: float


def public_kernel_plan(
    x: Array, rest: Array, n: int, response: float, mu: float, bandwidths: Sequence[Array]
) -> KernelPlan:
    """Bandwidths and ridge with the smallest predicted error; no private row is read.

    Prediction: the leave-one-out fit of the public responses ``rest``, its sums multiplied to
    ``n`` rows, and the noise of `sums_nw_ridge_marginals` at these degrees. The public fit has
    more sampling error than ``n`` rows will have, so bandwidths are rather too large.

    Parameters
    ----------
    x, rest : array, shapes (m, d) and (m,)
        Public rows; ``rest`` should be left-out residuals around whatever is subtracted.
    n : int
        Number of private rows.
    """
    best = math.inf, KernelPlan(bandwidths[0], 0.0)
    for bandwidth in bandwidths:
        num, den = kernel_sums(x, x, rest, bandwidth)
        scale = n / len(rest)
        num, den = (num - rest) * scale, (den - 1) * scale
        for multiple in 4.0, 8.0, 16.0, 32.0:
            degree = den + multiple / mu
            fit = num / degree
            noise = (2 / mu / degree) ** 2 * (response**2 + fit**2)
            error = float(np.mean((rest - fit) ** 2 + noise))
            if error < best[0]:
                best = error, KernelPlan(bandwidth, multiple / mu)
    return best[1]


def sums_nw_ridge_marginals(
    num: Array,
    den: Array,
    response: float,
    ridge: float,
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
) -> Array:
    """`sums_nw_marginals` with a ridge on the degree in place of its floor. NOT a release."""
    mu = gdp_mu(epsilon, delta)
    noise = 2 / mu * rng.standard_normal((2, len(den)))
    fit = (num + response * noise[0]) / (np.maximum(den + noise[1], 0.0) + ridge)
    return np.asarray(np.clip(fit, -response, response))
