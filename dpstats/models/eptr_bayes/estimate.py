"""The Gaussian Bayes classifier: public scales and cuts, released sums to means and priors, prediction.

Features are scaled, z = W'x, so that within a class their covariance is taken to be the identity.
Rows are centred at public class centres and cut to a length R before they are summed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from dpstats.arrays import Floats
from dpstats.models.eptr_bayes.planning import QUANTILES, MomentCut
from dpstats.numerics.matrices import symmetric_power


@dataclass(frozen=True)
class LabelledRows:
    """Public rows z (m, p), scaled, and the numbers (m,) of their classes."""

    z: Floats
    code: np.ndarray

    def __repr__(self) -> str:
        return f"<{len(self.z)} public rows>"


@dataclass(frozen=True)
class ClassGeometry:
    """Coordinates and cuts of a classification; public.

    Attributes
    ----------
    back : (p, p) array
        W: z = W'x.
    centres : (K, p) array
        Of the classes, in scaled coordinates.
    radius : float
        R.
    slope : float
        Share of a shift of the class means that cut rows still follow.
    frequency : (K,) array or None
        Public class frequencies.
    counts : (K,) array or None
        Public rows by class.
    lost : float or None
        Largest length by which the cut moves a public class mean, after the division by the slope.
    cut : MomentCut or None
        Where covariances are released.
    public : LabelledRows or None
        The public rows, for the choice between such covariances.
    scale : (p,) array or None
        Public variances within classes, of coordinates along their principal axes.
    """

    back: Floats
    centres: Floats
    radius: float
    slope: float
    frequency: Floats | None
    counts: Floats | None
    lost: float | None
    cut: MomentCut | None = None
    public: LabelledRows | None = None
    scale: Floats | None = None


def pooled_covariance(x: Floats, code: np.ndarray, classes: int) -> tuple[Floats, Floats]:
    """Class means (K, p) and the pooled within-class covariance (p, p) of public rows."""
    means = np.array([x[code == k].mean(axis=0) for k in range(classes)])
    rest = x - means[code]
    covariance: Floats = rest.T @ rest / max(len(x) - classes, 1)
    return means, covariance


def feature_scaling(covariance: Floats, kind: str, m: int) -> Floats:
    """W of a kind: "identity", "diagonal", or "full" (shrunk to its diagonal by p / (m + p)).

    A feature that does not vary within the public classes keeps its unit.
    """
    p = len(covariance)
    if kind == "identity":
        return np.eye(p)
    sd = np.sqrt(np.diag(covariance))
    sd = np.where(sd > 0, sd, 1.0)
    if kind == "diagonal":
        return np.diag(1 / sd)
    correlation = covariance / np.outer(sd, sd)
    np.fill_diagonal(correlation, 1.0)
    kept = m / (m + p)
    whitening: Floats = symmetric_power(kept * correlation + (1 - kept) * np.eye(p), -0.5)
    return whitening / sd[:, None]


def principal_axes(covariance: Floats, m: int) -> tuple[Floats, Floats]:
    """`feature_scaling` "full", turned to principal axes, and variances (p,) along them.

    Of variances what p columns of m rows can tell: they are moved towards 1 by p / (m + p).
    """
    back = feature_scaling(covariance, "full", m)
    p = len(back)
    values, vectors = np.linalg.eigh(back.T @ covariance @ back)
    return back @ vectors, (m * np.maximum(values, 0.0) + p) / (m + p)


def choose_class_radius(
    z: Floats, code: np.ndarray, classes: int, n: int, mu: float
) -> tuple[float, float, float]:
    """Radius, slope and the bias that is left: least expected squared error of the class means.

    Parameters
    ----------
    z : (m, p) array
        Public rows less the centre of their class, scaled.
    n : int
        Private rows.
    mu : float

    Notes
    -----
    Noise: sd 2 R / (mu n_k slope) per coordinate. Bias: what the cut moves the public class means by,
    less what it would by chance. Slope: the mean derivative of the cut, p-th part of the trace.
    """
    m, p = z.shape
    length = np.linalg.norm(z, axis=1)
    share = np.bincount(code, minlength=classes) / m
    best, least = (max(float(length.max()), 1e-12), 1.0, 0.0), math.inf
    for radius in dict.fromkeys(np.quantile(length, QUANTILES)):
        if not radius > 0:
            continue
        out = length > radius
        derivative = np.where(out, radius / np.where(out, length, 1.0) * (p - 1) / p, 1.0)
        slope = max(float(derivative.mean()), 0.05)
        moved = z * (np.minimum(1.0, radius / np.where(length > 0, length, 1.0)) - 1)[:, None]
        error, worst = 0.0, 0.0
        for k in range(classes):
            rows = moved[code == k]
            bias = float((rows.mean(axis=0) ** 2).sum()) / slope**2
            chance = float((rows**2).sum()) / len(rows) ** 2 / slope**2
            noise = p * (2 * radius / (mu * n * share[k] * slope)) ** 2
            doubt = (1 - slope) / (slope * m) * p / len(rows)
            error += noise + max(bias - chance, 0.0) + doubt
            worst = max(worst, bias)
        if error < least:
            best, least = (float(radius), slope, math.sqrt(worst)), error
    return best


def shrunk_shift(shift: Floats, sd: float) -> tuple[Floats, float]:
    """A noisy shift from the public centre, and the factor it was shrunk by: James and Stein.

    (1 - (p - 2) sd^2 / |shift|^2)_+ : better than the shift itself whatever the truth, for p >= 3.
    """
    p, size = len(shift), float(shift @ shift)
    if p < 3 or size == 0:
        return shift, 1.0
    factor = max(1 - (p - 2) * sd**2 / size, 0.0)
    return factor * shift, factor


def priors_from_counts(counts: Floats, n: int) -> Floats:
    """Probabilities from noisy counts, none below one row."""
    kept = np.clip(counts, 1.0, float(n))
    probabilities: Floats = kept / kept.sum()
    return probabilities


def log_joint(z: Floats, means: Floats, priors: Floats, spread: Floats | None = None) -> Floats:
    """Log prior and density (k, K) of scaled rows, less p log(2 pi) / 2.

    ``spread``: covariances (K, p, p) of the classes, or one (1, p, p) of all; None: identities.
    """
    score = np.empty((len(z), len(means)))
    roots = None if spread is None else [_precision_root(matrix) for matrix in spread]
    with np.errstate(all="ignore"):  # NaN where a row is too far from all to tell
        for k, mean in enumerate(means):
            away, size = z - mean, 0.0
            if roots is not None:
                root, size = roots[k % len(roots)]
                away = away @ root
            score[:, k] = np.log(priors[k]) - size / 2 - (away**2).sum(axis=1) / 2
    return score


def _precision_root(matrix: Floats) -> tuple[Floats, float]:
    """A with AA' the inverse of a covariance, and the log of its determinant."""
    if not np.any(matrix - np.diag(np.diag(matrix))):
        variances = np.diag(matrix)
        return np.diag(1 / np.sqrt(variances)), float(np.log(variances).sum())
    values, vectors = np.linalg.eigh(matrix)
    return vectors / np.sqrt(values), float(np.log(values).sum())


def log_posterior(z: Floats, means: Floats, priors: Floats, spread: Floats | None = None) -> Floats:
    """Log posterior probabilities (k, K) of scaled rows; see `log_joint`."""
    score = log_joint(z, means, priors, spread)
    with np.errstate(all="ignore"):
        result: Floats = score - special.logsumexp(score, axis=1, keepdims=True)
    return result


def smallest_class(n: int, rarest: float, m: int, beta: float) -> int:
    """A count that the rarest class has with probability 1 - 2 beta, from public rows.

    The Clopper-Pearson lower limit of its frequency, then the beta quantile of a binomial.
    """
    from scipy import stats

    seen = round(rarest * m)
    lower = float(stats.beta.ppf(beta, seen, m - seen + 1)) if seen else 0.0
    return int(stats.binom.ppf(beta, n, lower)) if lower > 0 else 0
